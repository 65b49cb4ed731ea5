/* Block tridiagonal and banded solves on the CPU: a factorization, kept in the workspace, and a solve with it. */
#include <float.h>
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/block/block.h"

enum {
    ROWS_MAX = 4 * BLOCK_MAX,    /* rows and columns of a panel */
    COLUMNS_MAX = 6 * BLOCK_MAX,
    SERIAL_BLOCKS = 1024         /* fewer block rows are not worth a parallel region */
};

#define PAIRS_INLINE static inline
#include "tridiagonal/block/pairs.h"

#define TEMPLATE "tridiagonal/block/cpu.inc"
#include "core/each_dtype.h"

typedef int64_t (*bgtf_fn)(const block_matrix *, const rpts_options *, const block_plan *, void *);
typedef void (*bgtfs_fn)(const block_matrix *, const rpts_options *, const block_plan *, const void *, const void *, int64_t, void *, int64_t, void *);
typedef int64_t (*bgtsv_fn)(const block_matrix *, const rpts_options *, const block_plan *, size_t, const void *, int64_t, void *, int64_t, void *);
static const bgtf_fn bgtf[] = TABLE(bgtf);
static const bgtfs_fn bgtfs[] = TABLE(bgtfs);
static const bgtsv_fn bgtsv[] = TABLE(bgtsv);

static void partition_rows(const block_call *call, int64_t *suitable, int64_t *most)
{
    *suitable = 256 / call->A.width;
    *most = 1 << 20;
}
static trine_status substitute_bytes(const block_call *call, size_t *bytes)
{
    return rpts_bytes(call->plan.rhs_elements, call->o.nrhs, 0, 1, call->t, bytes);
}
static trine_status solve_bytes(const block_call *call, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    size_t rhs, residual;
    TRY(substitute_bytes(call, &rhs));
    TRY(rpts_bytes(call->A.n, call->o.nrhs, 0, 2 * call->o.refine, call->t, &residual));
    *bytes = call->factor_bytes + rhs + residual;
done:
    return status;
}

static trine_status check_column(int64_t column)
{
    return column < 0 ? TRINE_SUCCESS : trine_fail(TRINE_ERR_SINGULAR, "the pivot in row %lld is exactly zero: the matrix is singular, or rounding or underflow made it so",
                                                       (long long)column);
}
static trine_status solve(const block_call *call)
{
    return check_column(bgtsv[call->t](&call->A, &call->o, &call->plan, call->factor_bytes, call->D, call->ldd, call->X, call->ldx, call->work));
}
static trine_status factor(const block_call *call)
{
    return check_column(bgtf[call->t](&call->A, &call->o, &call->plan, call->factor));
}
static trine_status substitute(const block_call *call)
{
    bgtfs[call->t](&call->A, &call->o, &call->plan, call->factor, call->D, call->ldd, call->X, call->ldx, call->work);
    return TRINE_SUCCESS;
}

static const int every_width[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

const struct block_backend block_cpu = {
    .widths = every_width,
    .coarse_partition = 16,
    .solve_keeps = BLOCK_KEEP_FACTORS,
    .partition_rows = partition_rows,
    .solve_bytes = solve_bytes,
    .substitute_bytes = substitute_bytes,
    .solve = solve,
    .factor = factor,
    .substitute = substitute,
};
