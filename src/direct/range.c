/* Solves on the host whose numbers come near the ends of the precision's range. A column of B that is so small that
 * digits are lost on the way, or whose solution is not finite, is solved for again, scaled by a power of two. A
 * solution that is not finite then has no place in the range, or A is singular. */
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "direct/plan.h"

enum { COLUMNS = 16 }; /* of a block by rows, looked at together */

#define TEMPLATE "direct/range.inc"
#include "core/each_dtype.h"
static void (*const look[])(const trine_dense *, int64_t, int, double *) = TABLE(look);
static int64_t (*const find[])(const trine_dense *) = TABLE(find);
static void (*const scale[])(const trine_dense *, int, const trine_dense *) = TABLE(scale);

/** Columns whose largest number is between least and most are solved for as they are. Smaller ones are scaled up to
 *  2^target, solutions that are not finite are tried for with a right-hand side that is 2^down smaller, step by step,
 *  and have lost digits when they are below `lost`. */
static const struct limits {
    double least, most, lost;
    int target, down[3];
} wide = {0x1p-500, 0x1p+300, 0x1p-960, -200, {60, 300, 700}},
  single = {0x1p-60, 0x1p+40, 0x1p-100, -20, {24, 60, 100}};

static bool is_inside(const struct limits *l, double size)
{
    return size == 0 || (size >= l->least && size <= l->most);
}

static trine_dense column_of(trine_direct D, const trine_dense *V, int64_t c)
{
    trine_dense column = *V;
    const int64_t at = V->layout == TRINE_ROWMAJOR ? c : c * V->ld;
    column.data = (char *)V->data + (size_t)at * trine_dtype_size(D->base.dtype);
    column.cols = 1;
    return column;
}

/** Whether the largest numbers of all columns are inside of the limits, or with NULL for them finite. */
static bool all_inside(trine_direct D, const struct limits *l, const trine_dense *V)
{
    double sizes[COLUMNS];
    const int64_t step = V->layout == TRINE_ROWMAJOR ? COLUMNS : 1;
    for (int64_t c = 0; c < V->cols; c += step) {
        const int count = (int)(V->cols - c < step ? V->cols - c : step);
        look[D->base.dtype](V, c, count, sizes);
        for (int k = 0; k < count; k++)
            if (l ? !is_inside(l, sizes[k]) : !isfinite(sizes[k])) return false;
    }
    return true;
}

static double size_of(trine_direct D, const trine_dense *column)
{
    double size;
    look[D->base.dtype](column, 0, 1, &size);
    return size;
}

/** x := op(A)^-1 2^exponent b, 2^exponent smaller; *good: it is finite, and has its digits. */
static trine_status solve_scaled(trine_direct D, direct_work *work, trine_transpose op, const struct limits *l,
                                 int exponent, const trine_dense *b, const trine_dense *x, bool *good)
{
    scale[D->base.dtype](b, exponent, x);
    const trine_status status = solve_and_refine(D, work, op, x, x, NULL);
    const double size = size_of(D, x);
    *good = isfinite(size) && (exponent > 0 || size >= l->lost);
    scale[D->base.dtype](x, -exponent, x);
    *good = *good && isfinite(size_of(D, x));
    return status;
}

/** Column c again, if its b is small or its x not finite. NaN and Inf of b are x's. b is gone where it is x: then it
 *  was inside of the limits. */
static trine_status solve_column(trine_direct D, direct_work *work, trine_transpose op, const struct limits *l,
                                 int64_t c, const trine_dense *B, const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dense b = column_of(D, B, c), x = column_of(D, X, c);
    const bool is_gone = b.data == x.data;
    const double size = is_gone ? 1 : size_of(D, &b);
    bool good = isfinite(size_of(D, &x));
    if (!isfinite(size) || (good && (size >= l->least || size == 0))) goto done;
    if (size < l->least && size > 0) {
        const int up = l->target - ilogb(size);
        TRY(solve_scaled(D, work, op, l, up, &b, &x, &good));
        if (!good) TRY(solve_scaled(D, work, op, l, up / 2, &b, &x, &good));
    }
    for (int k = 0; k < 3 && !good && size >= l->least && !is_gone; k++)
        TRY(solve_scaled(D, work, op, l, -l->down[k], &b, &x, &good));
    if (!good)
        FAIL(
            TRINE_ERR_NO_CONVERGENCE,
            "column %lld of X leaves the range of %s precision in row %lld: the solution does, or A is singular to working precision",
            (long long)c, trine_dtype_is_single(D->base.dtype) ? "single" : "double",
            (long long)find[D->base.dtype](&x));
done:
    return status;
}

trine_status solve_in_range(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                            const trine_dense *X, void *stream)
{
    if (D->space == TRINE_DEVICE) return solve_and_refine(D, work, op, B, X, stream);
    trine_status status = TRINE_SUCCESS;
    const struct limits *l = trine_dtype_is_single(D->base.dtype) ? &single : &wide;
    const bool inside = all_inside(D, l, B);
    void *copy = NULL;
    trine_dense kept = *B;
    if (!inside && B->data == X->data) {
        TRY(trine_alloc(D->base.ctx, TRINE_HOST, (size_t)D->base.n * (size_t)B->cols * trine_dtype_size(D->base.dtype),
                        &copy));
        kept =
            (trine_dense){.data = copy, .rows = D->base.n, .cols = B->cols, .ld = D->base.n, .layout = TRINE_COLMAJOR};
        TRY(trine_vectors_permute(D->base.ctx, D->base.dtype, NULL, NULL, 0, B, &kept, NULL));
    }
    TRY(solve_and_refine(D, work, op, B, X, stream));
    if (inside && all_inside(D, NULL, X)) goto done;
    for (int64_t c = 0; c < B->cols; c++) TRY(solve_column(D, work, op, l, c, &kept, X));
done:
    trine_free(D->base.ctx, TRINE_HOST, copy);
    return status;
}
