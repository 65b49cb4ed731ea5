/* The arithmetic of one column of a panel: which of its rows becomes the pivot row, and what that leaves of the others.
 * Written once: C includes it for each precision (core/each_dtype.h), CUDA once as templates over the scalar type. No
 * include guard.
 *
 * A panel is what is in play while a partition's inner unknowns are eliminated from left to right
 * (block/common/layout.h). Its rows are numbered
 *     0 .. top-1 rows of the partition's first block row, which end in the coarse system unless they become pivots;
 *     top .. top+n-1      the rows that become the pivot rows of this block column's n columns, one after the other;
 *     top+n .. rows-1     the rows behind them.
 * Column k of the block column takes its pivot from row top+k, from the rows behind it and from the top rows: this is
 * Gaussian elimination with row exchanges on the whole partition, interface rows included, with the interface columns
 * ordered last. The kernels of a GPU do the same without exchanging rows (block/cuda/panel_rows.cuh); they use the
 * weights and determinants only.
 *
 * Needs T, R (its real type), FN(name), PANEL_TEMPLATE, PANEL_INLINE, ZERO, FROM_REAL(r), ABS1(x) (|re| + |im|),
 * RECIPROCAL(x) of T or R, SMALLEST_NORMAL, ROUNDING of R. */

/** The weight of a row's coefficients in scaled pivot decisions: four times the reciprocal of the largest one, which
 *  is neither denormal nor infinite wherever that is a normal number four times the smallest one. */
PANEL_TEMPLATE PANEL_INLINE R FN(panel_weight)(R largest)
{
    const R quarter = largest * (R)0.25;
    return RECIPROCAL(quarter > SMALLEST_NORMAL ? quarter : SMALLEST_NORMAL);
}
/** A rounding error of a row of that weight: what becomes of a pivot that vanishes. */
PANEL_TEMPLATE PANEL_INLINE R FN(panel_rounding)(R weight)
{
    const R error = 4 * ROUNDING / weight;
    return error > SMALLEST_NORMAL ? error : SMALLEST_NORMAL;
}

/** The pivot row of column k, whose coefficients are v. Ties keep the row in place. */
PANEL_TEMPLATE PANEL_INLINE int FN(panel_choose)(int pivot, R epsilon, int n, int top, int k, int rows, const T *v,
                                                 const R *weight)
{
    const bool scaled = pivot == TRINE_PIVOT_SCALED_PARTIAL || pivot == TRINE_PIVOT_SCALED_DETERMINANT;
    const bool in_block = pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT; /* the block row has been chosen */
    int best = top + k;
    R most = ABS1(v[top + k]) <= epsilon ? 0 : ABS1(v[top + k]) * (scaled ? weight[top + k] : (R)1);
    if (pivot == TRINE_PIVOT_NONE) return best;
#pragma unroll
    for (int i = 0; i < rows; i++) {
        if (i >= top && i <= top + k) continue;
        const R size = ABS1(v[i]) <= epsilon ? 0 : ABS1(v[i]) * (scaled ? weight[i] : (R)1);
        if (size > most && (!in_block || (i >= top && i < top + n))) {
            most = size;
            best = i;
        }
    }
    return best;
}

/** Rows top+k and p trade places. */
PANEL_TEMPLATE PANEL_INLINE void FN(panel_exchange)(int top, int k, int p, T *u)
{
    const T kept = u[top + k];
    u[top + k] = u[p];
    u[p] = kept;
}

/** The multipliers f of column k, after the exchange: row i of any column becomes u[i] + f[i] u[top+k]. *inverse is the
 *  reciprocal of the pivot; a pivot that vanishes becomes a rounding error of its row. */
PANEL_TEMPLATE PANEL_INLINE void FN(panel_multipliers)(R epsilon, int top, int k, int rows, const T *v, const R *weight,
                                                       T *f, T *inverse)
{
    T pivot = ABS1(v[top + k]) <= epsilon ? ZERO : v[top + k];
    if (ABS1(pivot) < SMALLEST_NORMAL) pivot = FROM_REAL(FN(panel_rounding)(weight[top + k]));
    const T r = RECIPROCAL(pivot), negative = ZERO - r;
#pragma unroll
    for (int i = 0; i < rows; i++)
        if (i < top || i > top + k) f[i] = ABS1(v[i]) <= epsilon ? ZERO : v[i] * negative;
    *inverse = r;
}

/** Column k's elimination in any column u of the panel, which has been exchanged. */
PANEL_TEMPLATE PANEL_INLINE void FN(panel_update)(int top, int k, int rows, const T *f, T *u)
{
    const T pivot = u[top + k];
#pragma unroll
    for (int i = 0; i < top; i++) u[i] = u[i] + f[i] * pivot;
#pragma unroll
    for (int i = top + k + 1; i < rows; i++) u[i] = u[i] + f[i] * pivot;
}

/** |det| of the n x n block m (column-major, overwritten), its rows taken times weight if that is not NULL. */
PANEL_TEMPLATE PANEL_INLINE R FN(panel_determinant)(int n, T *m, const R *weight)
{
    R det = 1;
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (ABS1(m[k * n + i]) > ABS1(m[k * n + p])) p = i;
        const R size = ABS1(m[k * n + p]);
        if (weight) det = det * weight[k];
        det = det * size;
        if (size < SMALLEST_NORMAL) return 0;
        const T r = RECIPROCAL(m[k * n + p]);
        for (int c = k; c < n; c++) {
            const T kept = m[c * n + k];
            m[c * n + k] = m[c * n + p];
            m[c * n + p] = kept;
        }
        for (int i = k + 1; i < n; i++) {
            const T f = m[k * n + i] * r;
            for (int c = k + 1; c < n; c++) m[c * n + i] = m[c * n + i] - f * m[c * n + k];
        }
    }
    return det;
}
