/* Backward errors of tridiagonal, block tridiagonal and banded solves: the arguments, then the device. */
#include "tridiagonal/error/error.h"

#include "tridiagonal/block/block.h"

/** Where the work is done. */
typedef struct {
    const struct error_backend *backend; /* NULL: not built */
    void *stream;
    int threads;
} place;

static place gpu(void *stream) { return (place){TRINE_CUDA_TABLE(&error_cuda), stream, 0}; }
static place cpu(int threads) { return (place){&error_cpu, NULL, threads}; }

/** What all have in common; the matrix has been checked, its bands are there unless it has no rows. */
static trine_status measure(const place *at, const block_matrix *A, const rpts_options *o, bool banded, error_call *call)
{
    const banded_system *c = &call->s;
    REQUIRE(at->threads >= 0, "threads is %d", at->threads);
    for (int k = 0; k <= c->kl + c->ku; k++) REQUIRE(!A->n || c->band[k], "%s is NULL", banded ? "AB" : k == 0 ? "a" : k == 1 ? "b" : "c");
    trine_status status = rpts_check_vectors(A->n, o->nrhs, c->D, c->ldd, c->X, c->ldx);
    if (status) return status;
    REQUIRE(!o->nrhs || call->errors, "errors is NULL");
    if (!at->backend) return trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without CUDA; the functions whose names end in _cpu take host memory");
    return o->nrhs ? at->backend->backward_errors(at->stream, at->threads, call) : TRINE_SUCCESS;
}

static void set_vectors(int64_t nrhs, const void *D, int64_t ldd, const void *X, int64_t ldx, banded_system *s)
{
    s->nrhs = nrhs, s->D = D, s->ldd = ldd, s->X = X, s->ldx = ldx;
}

static trine_status blocks_error(place at, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                                 const void *a, const void *b, const void *c, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    trine_status status = TRINE_SUCCESS;
    rpts_options o;
    block_matrix A;
    error_call call = {.errors = errors};
    TRY(block_check_options(t, rows, nrhs, options, &o));
    TRY(block_group_blocks(rows, n, &o, block_cpu.widths, &A));
    call.s = banded_of_blocks(t, rows, n, options, a, b, c);
    set_vectors(nrhs, D, ldd, X, ldx, &call.s);
    TRY(measure(&at, &A, &o, false, &call));
done:
    return status;
}

static trine_status bands_error(place at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                                const void *AB, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    trine_status status = TRINE_SUCCESS;
    rpts_options o;
    block_matrix A;
    error_call call = {.errors = errors};
    TRY(block_check_options(t, n, nrhs, options, &o));
    TRY(block_group_bands(n, kl, ku, &o, block_cpu.widths, &A));
    call.s = banded_of_bands(t, n, kl, ku, options, AB);
    set_vectors(nrhs, D, ldd, X, ldx, &call.s);
    TRY(measure(&at, &A, &o, true, &call));
done:
    return status;
}

trine_status trine_gtsv_backward_error(void *stream, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                       const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return blocks_error(gpu(stream), t, n, 1, nrhs, options, a, b, c, D, ldd, X, ldx, errors);
}
trine_status trine_gtsv_backward_error_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                           const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return blocks_error(cpu(threads), t, n, 1, nrhs, options, a, b, c, D, ldd, X, ldx, errors);
}
trine_status trine_bgtsv_backward_error(void *stream, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                                        const void *a, const void *b, const void *c, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return blocks_error(gpu(stream), t, rows, n, nrhs, options, a, b, c, D, ldd, X, ldx, errors);
}
trine_status trine_bgtsv_backward_error_cpu(int threads, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                                            const void *a, const void *b, const void *c, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return blocks_error(cpu(threads), t, rows, n, nrhs, options, a, b, c, D, ldd, X, ldx, errors);
}
trine_status trine_gbsv_backward_error(void *stream, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                                       const void *AB, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return bands_error(gpu(stream), t, n, nrhs, kl, ku, options, AB, D, ldd, X, ldx, errors);
}
trine_status trine_gbsv_backward_error_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                                           const void *AB, const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors)
{
    TRINE_RANGE;
    return bands_error(cpu(threads), t, n, nrhs, kl, ku, options, AB, D, ldd, X, ldx, errors);
}
