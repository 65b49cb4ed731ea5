/* Block tridiagonal and banded solves on the CPU: a factorization, kept in the workspace, and a solve with it. */
#include <float.h>
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/block/block.h"
#include "tridiagonal/common/loops.h"

enum {
    ROWS_MAX = 4 * BLOCK_MAX,    /* rows and columns of a panel */
    COLUMNS_MAX = 6 * BLOCK_MAX,
    ROWS_AT_ONCE = 1024,         /* of a loop over rows */
    ROW_SHIFT = 4,               /* of bands from the first row to the last: see cpu/rows.inc; */
    ROW_WIDTH = 2 * BLOCK_MAX + ROW_SHIFT,
    ROWS_LOADED = 32,
    LANES_MAX = 8
};

#define PAIRS_INLINE static inline
#include "tridiagonal/block/common/pairs.h"

#define TEMPLATE "tridiagonal/block/cpu/block_cpu.inc"
#include "core/each_dtype.h"

typedef int64_t (*bgtf_fn)(const block_matrix *, const rpts_options *, const block_plan *, void *, void *);
typedef void (*bgtfs_fn)(const block_matrix *, const rpts_options *, const block_plan *, void *, const void *,
                         const void *, int64_t, void *, int64_t, void *, char *);
typedef int64_t (*bgtsv_fn)(const block_matrix *, const rpts_options *, const block_plan *, const block_work *, void *,
                            const void *, int64_t, void *, int64_t);
static const bgtf_fn bgtf[] = TABLE(bgtf);
static const bgtfs_fn bgtfs[] = TABLE(bgtfs);
static const bgtsv_fn bgtsv[] = TABLE(bgtsv);

/** Pivots may grow by a factor of two a row of a partition. Bands that are not cyclic are solved from the first row to
 *  the last where that takes the digits; others have short partitions, of which no more is lost than a step of
 *  refinement mends: where that is asked for, and where corners close the system. */
static void partition_rows(const block_call *call, int64_t *suitable, int64_t *small, int64_t *most)
{
    const bool may_lose = call->A.cyclic || (call->o.refine && !call->A.banded);
    const int rows = may_lose ? (trine_dtype_is_single(call->t) ? 32 : 64) : 256;
    *small = *suitable = rows / call->A.width;
    *most = 1 << 20;
}
/** A slot has a partition's chunks, scales and pivots; a thread needs one. */
static void add_slots(block_call *call)
{
    enum { MOST_SLOTS = 256 };
    const block_stage *s = &call->plan.stage[0];
    const size_t rows = (size_t)block_group_count(s, 0), w = (size_t)call->plan.width;
    const size_t bytes = rows * ((size_t)s->chunk * trine_dtype_size(call->t) + w * sizeof(uint16_t) + w + 1);
    block_add_slots(&call->A, call->t, call->factor_bytes, (bytes + 15) / 16 * 16, 1,
                    s->partitions < MOST_SLOTS ? s->partitions : MOST_SLOTS, &call->plan);
}

static trine_status substitute_bytes(const block_call *call, size_t *bytes)
{
    return block_lay_out(call, 0, 0, NULL, bytes);
}
static trine_status solve_bytes(const block_call *call, size_t *bytes)
{
    return block_lay_out(call, call->factor_bytes, 0, NULL, bytes);
}

static trine_status check_column(int64_t column)
{
    return column < 0
               ? TRINE_SUCCESS
               : trine_fail(
                     TRINE_ERR_SINGULAR,
                     "the pivot in row %lld is exactly zero: the matrix is singular, or rounding or underflow made it so",
                     (long long)column);
}
static trine_status solve(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    block_work at;
    size_t bytes;
    TRY(block_lay_out(call, call->factor_bytes, 0, &at, &bytes));
    status = check_column(
        bgtsv[call->t](&call->A, &call->o, &call->plan, &at, call->work, call->D, call->ldd, call->X, call->ldx));
done:
    return status;
}
static trine_status factor(const block_call *call)
{
    return check_column(
        bgtf[call->t](&call->A, &call->o, &call->plan, call->factor, (char *)call->factor + call->factor_bytes));
}
static trine_status substitute(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    block_work at;
    size_t bytes;
    TRY(block_lay_out(call, 0, 0, &at, &bytes));
    bgtfs[call->t](&call->A, &call->o, &call->plan, call->factor, (char *)call->factor + call->factor_bytes, call->D,
                   call->ldd, call->X, call->ldx, at.rhs, at.slots);
done:
    return status;
}

static const int every_width[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

const struct block_backend block_cpu = {
    .widths = every_width,
    .coarse_partition = 16,
    .solve_keeps = BLOCK_KEEP_FACTORS,
    .partition_rows = partition_rows,
    .add_slots = add_slots,
    .solve_bytes = solve_bytes,
    .substitute_bytes = substitute_bytes,
    .solve = solve,
    .factor = factor,
    .substitute = substitute,
    .cuts_pairs = true,
};
