/* Backward errors of tridiagonal, block tridiagonal and banded solves: the arguments, then the device. */
#include "tridiagonal/error/error.h"

#include "tridiagonal/block/block.h"

/** What all have in common; the matrix has been checked, its bands are there unless it has no rows. */
static trine_status measure(const solve_place *at, const block_matrix *A, const rpts_options *o, bool banded,
                            error_call *call)
{
    const banded_system *c = &call->s;
    for (int k = 0; k <= c->kl + c->ku; k++)
        REQUIRE(!A->n || c->band[k], "%s is NULL", banded ? "AB" : k == 0 ? "a" : k == 1 ? "b" : "c");
    trine_status status = rpts_check_vectors(A->n, o->nrhs, c->D, c->ldd, c->X, c->ldx);
    if (status) return status;
    REQUIRE(!o->nrhs || call->errors, "errors is NULL");
    const struct error_backend *backend = at->cuda ? TRINE_CUDA_TABLE(&error_cuda) : &error_cpu;
    return o->nrhs ? backend->backward_errors(at, call) : TRINE_SUCCESS;
}

static void set_vectors(int64_t nrhs, const void *D, int64_t ldd, const void *X, int64_t ldx, banded_system *s)
{
    s->nrhs = nrhs, s->D = D, s->ldd = ldd, s->X = X, s->ldx = ldx;
}

trine_status blocks_backward_error(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                   const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    trine_status status = TRINE_SUCCESS;
    rpts_options o;
    block_matrix A;
    error_call call = {.errors = errors};
    TRY(block_check_options(t, rows, nrhs, options, &o));
    TRY(block_group_blocks(rows, n, &o, block_cpu.widths, &A));
    call.s = banded_of_blocks(t, rows, n, options, a, b, c);
    set_vectors(nrhs, D, ldd, X, ldx, &call.s);
    TRY(measure(at, &A, &o, false, &call));
done:
    return status;
}

trine_status bands_backward_error(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                  const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd,
                                  const void *X, int64_t ldx, double *errors)
{
    trine_status status = TRINE_SUCCESS;
    rpts_options o;
    block_matrix A;
    error_call call = {.errors = errors};
    TRY(block_check_options(t, n, nrhs, options, &o));
    TRY(block_group_bands(n, kl, ku, &o, block_cpu.widths, &A));
    call.s = banded_of_bands(t, n, kl, ku, options, AB);
    set_vectors(nrhs, D, ldd, X, ldx, &call.s);
    TRY(measure(at, &A, &o, true, &call));
done:
    return status;
}
