/* trine_bgtsv, trine_bgtf, trine_bgtfs, trine_gbsv: the arguments, then the backend. */
#include "tridiagonal/block/block.h"
#include "tridiagonal/common/finite.h"
#include "tridiagonal/info/info.h"
#include "tridiagonal/common/loops.h"
#include "tridiagonal/common/parts.h"

trine_status block_lay_out(const block_call *call, size_t start, int extra, block_work *at, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    const bool small = call->plan.is_small,
               may_be_sequential = block_may_be_sequential(&call->A, call->o.pivot, call->o.epsilon),
               is_apart = small && call->o.refine && may_be_sequential;
    size_t rhs, vectors, extras, sequential = 0;
    TRY(rpts_bytes(call->plan.rhs_elements, call->o.nrhs, 0, 1, call->t, &rhs));
    TRY(rpts_bytes(call->A.n, call->o.nrhs, 0, 2 * call->o.refine, call->t, &vectors));
    TRY(rpts_bytes(extra, call->o.nrhs, 0, call->o.refine, call->t, &extras));
    if (is_apart) TRY(rpts_bytes(0, 0, block_sequential_elements(&call->A), 0, call->t, &sequential));
    const size_t rows = start + rhs + vectors + extras, slots = (rows + sequential + 15) / 16 * 16;
    *bytes = small ? slots + (size_t)call->plan.slots * call->plan.slot_bytes : rows;
    if (at) {
        char *const work = call->work;
        *at = (block_work){.rhs = work + start, .vectors = work + start + rhs, .slots = work + slots};
        at->sequential = is_apart ? work + rows : may_be_sequential && !small ? work : NULL;
    }
done:
    return status;
}

/* --------------------------------------------------------------- what is asked */

static const struct block_backend *backend_of(const solve_place *at)
{
    return at->cuda ? TRINE_CUDA_TABLE(&block_cuda) : &block_cpu;
}

/** nrhs of the call: the most that go through the backend together. */
static trine_status begin(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                          const trine_gtsv_options *options, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    *call = (block_call){.t = t, .stream = at->stream};
    TRY(block_check_options(t, n, at->cuda ? rpts_part_size(nrhs) : nrhs, options, &call->o));
    call->memory = options ? options->memory : TRINE_MEMORY_AUTO;
    call->o.ctx = at->ctx, call->o.threads = at->cuda ? 1 : at->ctx->threads;
done:
    return status;
}

static trine_status make_plan(const struct block_backend *backend, bool factored, block_call *call)
{
    const block_matrix *A = &call->A;
    const int asked = call->o.partition;
    bool small = !A->paired && call->memory == TRINE_MEMORY_SMALL;
    const block_keep keeps = factored ? BLOCK_KEEP_FACTORS : backend->solve_keeps,
                     coarse_keeps = call->o.nrhs == 1 ? keeps : BLOCK_KEEP_FACTORS;
    int64_t suitable, suits_small, most;
    backend->partition_rows(call, &suitable, &suits_small, &most);
    suits_small = block_small_partition(A, suits_small, coarse_keeps);
    for (bool is_final = false; !is_final;) {
        const int64_t columns = asked ? (A->banded ? (asked + A->width - 1) / A->width : asked)
                                : A->paired && !backend->cuts_pairs ? 0
                                : small                             ? suits_small
                                                                    : suitable;
        block_make_plan(A, columns < most ? columns : most, backend->coarse_partition,
                        small ? BLOCK_KEEP_NOTHING : keeps, coarse_keeps, &call->plan);
        is_final = !small || factored || call->o.nrhs > 1 || call->plan.stage[0].partitions > backend->few_partitions;
        if (!is_final) small = false;
    }
    call->plan.is_small = small;
    if (block_factor_bytes(&call->plan, call->t, &call->factor_bytes))
        return trine_fail(TRINE_ERR_MEMORY, "the factors of %lld unknowns do not fit in memory", (long long)A->n);
    if (small) backend->add_slots(call);
    call->copy_bytes = small && factored
                           ? 3 * (size_t)A->rows_given * (size_t)(A->n_given * A->n_given) * trine_dtype_size(call->t)
                           : 0;
    call->factor_bytes = (call->factor_bytes + 15) / 16 * 16;
    return TRINE_SUCCESS;
}

static trine_status make_blocks(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                const trine_gtsv_options *options, bool factored, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    TRY(begin(at, t, rows, nrhs, options, call));
    TRY(block_group_blocks(rows, n, &call->o, backend_of(at)->widths, &call->A));
    TRY(make_plan(backend_of(at), factored, call));
done:
    return status;
}

static trine_status make_bands(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                               const trine_gtsv_options *options, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    TRY(begin(at, t, n, nrhs, options, call));
    TRY(block_group_bands(n, kl, ku, &call->o, backend_of(at)->widths, &call->A));
    TRY(make_plan(backend_of(at), false, call));
done:
    return status;
}

static trine_status set_bands(const void *a, const void *b, const void *c, block_call *call)
{
    REQUIRE(!call->A.n || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    call->A.a = a, call->A.b = b, call->A.c = c;
    return TRINE_SUCCESS;
}
/** On a CPU, whose solves return a status, a factorization ends with a note of whether the matrix was finite. */
enum { NOTE_BYTES = 16 };
static size_t bytes_of_factor(const solve_place *at, const block_call *call)
{
    return call->A.n ? call->factor_bytes + call->copy_bytes + (at->cuda ? 0 : NOTE_BYTES) : 0;
}
static bool *note_of(const block_call *call)
{
    return (bool *)((char *)call->factor + call->factor_bytes + call->copy_bytes);
}

static trine_status set_factor(const solve_place *at, const void *factor, size_t bytes, block_call *call)
{
    const size_t needed = bytes_of_factor(at, call);
    if (!call->A.n) return TRINE_SUCCESS;
    REQUIRE(!call->o.refine, "refine is 1; a factorization does not keep the matrix");
    REQUIRE(bytes >= needed, "the factorization has %zu bytes; %zu are needed", bytes, needed);
    REQUIRE(factor, "factor is NULL");
    REQUIRE((uintptr_t)factor % 16 == 0, "factor does not start on 16 bytes");
    call->factor = (void *)factor;
    return TRINE_SUCCESS;
}

static bool is_empty(const block_call *call) { return !call->A.n || !call->o.nrhs; }

static trine_status bytes_of(trine_status (*count)(const block_call *, size_t *), const block_call *call, size_t *bytes)
{
    *bytes = 0;
    return is_empty(call) ? TRINE_SUCCESS : count(call, bytes);
}

/** Solve with the matrix or, once set, with the factorization: all at once, or in parts, for which a plan is the
 *  same. info: NULL, or where one may be asked for. given: NULL, or on a CPU the system, by which a solution that is
 *  not finite is judged. */
static trine_status run(const struct block_backend *backend, block_call *call, int64_t nrhs, const void *D, int64_t ldd,
                        void *X, int64_t ldx, void *work, size_t work_bytes, info_call *info, banded_system *given)
{
    const int64_t parts = call->o.nrhs < nrhs ? rpts_parts(nrhs) : 1;
    size_t needed = 0;
    bool was_finite = true;
    trine_status status = TRINE_SUCCESS;
    TRY(rpts_check_vectors(call->A.n, nrhs, D, ldd, X, ldx));
    TRY(bytes_of(call->factor ? backend->substitute_bytes : backend->solve_bytes, call, &needed));
    TRY(rpts_check_work(work, work_bytes, needed));
    REQUIRE((uintptr_t)work % 16 == 0, "work does not start on 16 bytes");
    call->ldd = ldd, call->ldx = ldx, call->work = work;
    TRY(info_before(info, nrhs, D, ldd));
    if (given) {
        given->nrhs = call->A.n ? nrhs : 0, given->D = D, given->ldd = ldd, given->X = X, given->ldx = ldx;
        was_finite = finite_before(call->o.ctx, given);
    }
    for (int64_t part = 0; part < parts && !is_empty(call); part++) {
        const int64_t first = parts > 1 ? rpts_part(nrhs, part) : 0;
        if (parts > 1) call->o.nrhs = rpts_part(nrhs, part + 1) - first;
        call->D = rpts_column(call->t, D, ldd, first), call->X = (void *)(uintptr_t)rpts_column(call->t, X, ldx, first);
        TRY(call->factor ? backend->substitute(call) : backend->solve(call));
    }
    TRY(info_after(info, nrhs, X, ldx));
    TRY(info_end(info));
    if (given) TRY(finite_after(call->o.ctx, given, was_finite));
done:
    return status;
}

/** On a GPU, blocks of one row, and one band on either side: these are trine_gtsv's, which is faster. Not on a CPU,
 *  where a vanishing pivot is to be reported, and not for tiny cyclic systems, where coefficients meet, nor by
 *  determinants. */
static bool is_scalar(const solve_place *at, const trine_gtsv_options *options, int64_t n, int below, int above)
{
    return at->cuda && below == 1 && above == 1 &&
           (!options || (options->pivot <= TRINE_PIVOT_SCALED_PARTIAL && (!options->cyclic || n > 2)));
}
/** Are they copied for it, with scaled rows? That takes as much time as the solve: only where refinement is asked
 *  for, and not where coefficients are compared as they are. */
static bool is_copied(const trine_gtsv_options *options)
{
    return options && options->refine == 1 && options->pivot != TRINE_PIVOT_PARTIAL && !(options->epsilon > 0);
}

static trine_status make_scalar(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                const trine_gtsv_options *options, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    TRY(begin(at, t, n, nrhs, options, call));
    call->A = (block_matrix){.n = n,
                             .rows = n,
                             .width = 1,
                             .size = 1,
                             .banded = true,
                             .kl = 1,
                             .ku = 1,
                             .cyclic = call->o.cyclic,
                             .op = call->o.op};
    call->is_scalar = true;
    call->given = info_none(options);
    call->given.op = TRINE_N;
done:
    return status;
}
static trine_status scalar_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                     const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    if (!is_copied(options)) return gtsv_work_size(at, t, n, nrhs, options, bytes);
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_scalar(at, t, n, nrhs, options, &call));
    TRY(bytes_of(backend_of(at)->solve_bytes, &call, bytes));
done:
    return status;
}
static trine_status scalar_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                 const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                 const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    block_call call;
    info_call info = info_of_system(at->stream, options, banded_of_blocks(t, n, 1, options, a, b, c));
    trine_status status = TRINE_SUCCESS;
    if (!is_copied(options)) return gtsv_solve(at, t, n, nrhs, options, a, b, c, D, ldd, X, ldx, work, work_bytes);
    TRY(make_scalar(at, t, n, nrhs, options, &call));
    TRY(set_bands(a, b, c, &call));
    TRY(run(backend_of(at), &call, nrhs, D, ldd, X, ldx, work, work_bytes, &info, NULL));
done:
    return status;
}

/* ---------------------------------------------------------------------- blocks */

static trine_status blocks_work_size(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                     const trine_gtsv_options *options, bool factored, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_blocks(at, t, rows, n, nrhs, options, factored, &call));
    TRY(bytes_of(factored ? backend_of(at)->substitute_bytes : backend_of(at)->solve_bytes, &call, bytes));
    rpts_start_team(at, RPTS_BLOCK_ROWS * call.A.n * nrhs);
done:
    return status;
}

trine_status bgtsv_work_size(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                             const trine_gtsv_options *options, size_t *bytes)
{
    if (is_scalar(at, options, rows, n, n)) return scalar_work_size(at, t, rows, nrhs, options, bytes);
    return blocks_work_size(at, t, rows, n, nrhs, options, false, bytes);
}

trine_status bgtsv_solve(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    block_call call;
    banded_system given = banded_of_blocks(t, rows, n, options, a, b, c);
    info_call info = info_of_system(at->stream, options, given);
    trine_status status = TRINE_SUCCESS;
    if (is_scalar(at, options, rows, n, n))
        return scalar_solve(at, t, rows, nrhs, options, a, b, c, D, ldd, X, ldx, work, work_bytes);
    TRY(make_blocks(at, t, rows, n, nrhs, options, false, &call));
    TRY(set_bands(a, b, c, &call));
    TRY(run(backend_of(at), &call, nrhs, D, ldd, X, ldx, work, work_bytes, at->cuda ? &info : NULL,
            at->cuda ? NULL : &given));
done:
    return status;
}

/* -------------------------------------------------------------- factorizations */

trine_status bgtf_size(const solve_place *at, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                       size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_blocks(at, t, rows, n, 1, options, true, &call));
    *bytes = bytes_of_factor(at, &call);
    rpts_start_team(at, RPTS_BLOCK_ROWS * call.A.n);
done:
    return status;
}

trine_status bgtf_factor(const solve_place *at, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                         const void *a, const void *b, const void *c, void *factor, size_t factor_bytes)
{
    block_call call;
    const banded_system given = banded_of_blocks(t, rows, n, options, a, b, c);
    trine_status status = TRINE_SUCCESS;
    TRY(make_blocks(at, t, rows, n, 1, options, true, &call));
    if (at->cuda) TRY(info_refuse(options, "trine_bgtf"));
    TRY(set_bands(a, b, c, &call));
    TRY(set_factor(at, factor, factor_bytes, &call));
    if (!call.A.n) goto done;
    TRY(backend_of(at)->factor(&call));
    if (!at->cuda) *note_of(&call) = finite_matrix(at->ctx, &given);
done:
    return status;
}

trine_status bgtfs_work_size(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                             const trine_gtsv_options *options, size_t *bytes)
{
    return blocks_work_size(at, t, rows, n, nrhs, options, true, bytes);
}

trine_status bgtfs_solve(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *factor, size_t factor_bytes, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    block_call call;
    banded_system given = banded_of_blocks(t, rows, n, options, NULL, NULL, NULL);
    trine_status status = TRINE_SUCCESS;
    TRY(make_blocks(at, t, rows, n, nrhs, options, true, &call));
    if (at->cuda) TRY(info_refuse(options, "trine_bgtfs"));
    TRY(set_factor(at, factor, factor_bytes, &call));
    TRY(run(backend_of(at), &call, nrhs, D, ldd, X, ldx, work, work_bytes, NULL,
            at->cuda || (call.factor && !*note_of(&call)) ? NULL : &given));
done:
    return status;
}

/* ----------------------------------------------------------------------- bands */

trine_status gbsv_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                            const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    if (is_scalar(at, options, n, kl, ku)) return scalar_work_size(at, t, n, nrhs, options, bytes);
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_bands(at, t, n, nrhs, kl, ku, options, &call));
    TRY(bytes_of(backend_of(at)->solve_bytes, &call, bytes));
    rpts_start_team(at, RPTS_BLOCK_ROWS * n * nrhs);
done:
    return status;
}

trine_status gbsv_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                        const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd, void *X,
                        int64_t ldx, void *work, size_t work_bytes)
{
    block_call call;
    banded_system given;
    info_call info;
    trine_status status = TRINE_SUCCESS;
    if (is_scalar(at, options, n, kl, ku)) {
        const size_t band = (size_t)(n > 0 ? n : 0) * trine_dtype_size(t);
        const char *bands = AB;
        REQUIRE(n <= 0 || AB, "AB is NULL");
        return scalar_solve(at, t, n, nrhs, options, bands, bands ? bands + band : NULL,
                            bands ? bands + 2 * band : NULL, D, ldd, X, ldx, work, work_bytes);
    }
    TRY(make_bands(at, t, n, nrhs, kl, ku, options, &call));
    REQUIRE(!n || AB, "AB is NULL");
    call.A.a = AB;
    given = banded_of_bands(t, n, kl, ku, options, AB);
    info = info_of_system(at->stream, options, given);
    TRY(run(backend_of(at), &call, nrhs, D, ldd, X, ldx, work, work_bytes, at->cuda ? &info : NULL,
            at->cuda ? NULL : &given));
done:
    return status;
}
