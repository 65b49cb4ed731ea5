/* The arithmetic of one partition of the recursive partitioned Schur complement (RPTS): which of two rows becomes the
 * pivot row, what is left of the other one. C includes it for each precision (core/each_dtype.h), CUDA includes it for
 * each scalar type as overloads (gtsv/cuda/scalar_partition.cuh). No include guard.
 *
 * Who computes so: the CPU always (gtsv/cpu, batch); a GPU by stages (gtsv/cuda/thesis), in batches of systems that a
 * thread or a block solves (batch/batch_cuda.cu), and, of the functions here, rpts_safe_pivot alone where wide rows are
 * eliminated (common/wide_rows.h). The other GPU paths, which a solve takes unless it is told otherwise, eliminate the
 * same unknowns from the same rows by gtsv/cuda/row_elimination.cuh: here every row waits for a reciprocal and a
 * comparison of the row before it, and on a GPU that dependency latency is the time of a short system. CPU and GPU
 * solutions therefore agree to rounding errors, not to the bit, and tests on the CPU say nothing about
 * row_elimination.cuh.
 *
 * Needs T, R, FN(name), ZERO, FROM_REAL(r), ABS1(x) (|re| + |im|), RECIPROCAL(x), SCALE_RECIPROCAL(r) (need not be
 * accurate), SMALLEST_NORMAL and ROUNDING of R, and RPTS_INLINE.
 *
 * A partition of m rows has the interface unknowns x[0] and x[m-1]; x[-1] and x[m] are the neighbours' ones.
 * Downward elimination: the carried row starts as row 1, that is
 *     spike x[0] + diag x[1] + right x[2] = rhs,
 * and row j = 2, 3, ... removes x[j-1] from it: one of the two rows becomes the pivot row of column j-1, the other one
 * is freed of x[j-1] and carried on. After j = m-1 it holds only x[0], x[m-1], x[m]: a row of the coarse system. Upward
 * elimination is the same with rows and bands reversed. Substitution repeats the downward elimination with x[0] known
 * (only right and rhs matter then), and solves the pivot rows backwards.
 *
 * Differences to Klein 2024, Algorithms 1 and 2, neither of which changes what is eliminated: scaled pivoting uses
 * the scales of the original rows (the scale stays with the row), so that reduction and substitution decide alike
 * and the known interface coefficients count; pivot rows are kept by column, not in place, so that no pivot index is
 * needed. */

/** The scale of a row, its largest coefficient; and the weight of its coefficients in pivot decisions. */
RPTS_INLINE R FN(rpts_scale)(int pivoting, T a, T b, T c, R *weight)
{
    R largest = ABS1(a), next = ABS1(b), last = ABS1(c);
    largest = next > largest ? next : largest;
    largest = last > largest ? last : largest;
    largest = SMALLEST_NORMAL > largest ? SMALLEST_NORMAL : largest;
    *weight = pivoting == TRINE_PIVOT_NONE ? (R)0 : pivoting == TRINE_PIVOT_PARTIAL ? (R)1 : SCALE_RECIPROCAL(largest);
    return largest;
}

/** A coefficient taken for zero where it is noise. */
RPTS_INLINE T FN(rpts_above_noise)(T x, R epsilon) { return epsilon > 0 && ABS1(x) <= epsilon ? ZERO : x; }

/** A pivot that vanishes becomes a rounding error of its row. */
RPTS_INLINE T FN(rpts_safe_pivot)(T pivot, R scale)
{
    const R error = scale * ROUNDING > SMALLEST_NORMAL ? scale * ROUNDING : SMALLEST_NORMAL;
    return ABS1(pivot) < SMALLEST_NORMAL ? FROM_REAL(error) : pivot;
}

/** Does row (a, ...) rather than the carried row (diag, ...) become the pivot row? */
RPTS_INLINE bool FN(rpts_exchanges)(T diag, R weight, T a, R weight_row)
{
    return ABS1(a) * weight_row > ABS1(diag) * weight;
}

/** Remove column j-1 from the carried row and row j = (a, b, c). Afterwards the carried row is what is left, and the
 *  pivot row reads x[j-1] = inverse * (rhs - u1 x[j] - u2 x[j+1]). *exchanged and the multiplier *factor go to
 *  rpts_eliminate_rhs. */
RPTS_INLINE void FN(rpts_eliminate)(T *spike, T *diag, T *right, R *weight, R *scale, T a, T b, T c, R weight_row,
                                    R scale_row, R epsilon, bool *exchanged, T *factor, T *inverse, T *u1, T *u2)
{
    const T s0 = *spike, s1 = *diag, s2 = *right;
    const R w = *weight, sc = *scale;
    const T above = FN(rpts_above_noise)(s1, epsilon), below = FN(rpts_above_noise)(a, epsilon);
    const bool e = FN(rpts_exchanges)(above, w, below, weight_row);
    const T pivot = e ? below : above, other = e ? above : below, p1 = e ? b : s2;
    const T r = RECIPROCAL(FN(rpts_safe_pivot)(pivot, e ? scale_row : sc)), f = ZERO - other * r;
    /* what is left = their combination */
    const T times_carried = e ? FROM_REAL(1) : f, times_row = e ? f : FROM_REAL(1);
    *exchanged = e;
    *factor = f;
    *inverse = r;
    *u1 = p1;
    *u2 = e ? c : ZERO;
    *spike = times_carried * s0;
    *diag = times_carried * s2 + times_row * b;
    *right = times_row * c;
    *weight = e ? w : weight_row;
    *scale = e ? sc : scale_row;
}

/** The same for a right-hand side: *pivot_rhs belongs to the pivot row, *rhs to the row carried on. */
RPTS_INLINE void FN(rpts_eliminate_rhs)(bool exchanged, T factor, T d, T *rhs, T *pivot_rhs)
{
    const T s = *rhs, p = exchanged ? d : s, o = exchanged ? s : d;
    *pivot_rhs = p;
    *rhs = o + factor * p;
}

/** Inner unknowns of a partition whose interface unknowns are known, once more, where the usual way has left large
 *  rounding errors. m - 2 rows give m - 2 unknowns, and two are left out: row 0 and what the last elimination carries
 *  on, which hold as well as the coarse system was solved. Where the solution grows by orders of magnitude from row to
 *  row, that need not be to rounding errors of their own terms. Here row 0 too is carried through the elimination, a
 *  third candidate for every pivot, so that the rows left out are those with the smallest coefficients (as in
 *  block/common/panel.h): twice the work. False if an unknown has no pivot but zero: all rows that hold it are here, so
 *  that the matrix is singular.
 *  a, b, c: the rows; d: right-hand sides, then the solution; u1, u2: m elements of memory each. */
RPTS_INLINE bool FN(rpts_solve_carefully)(int pivoting, int m, const T *a, const T *b, const T *c, T *d, T *u1, T *u2,
                                          T before, T first, T last, T after)
{
    /* x[j], x[j+1], x[j+2] = rhs of rows that hold x[j], known unknowns moved to the right: carried on, row j + 1,
     * from row 0 */
    struct {
        T own, next, second, rhs;
        R weight, scale;
    } row[3], pivot;
    row[0].own = b[1], row[0].next = c[1], row[0].second = ZERO, row[0].rhs = d[1] - a[1] * first;
    row[2].own = c[0], row[2].next = ZERO, row[2].second = ZERO, row[2].rhs = d[0] - b[0] * first - a[0] * before;
    row[0].scale = FN(rpts_scale)(pivoting, a[1], b[1], c[1], &row[0].weight);
    row[2].scale = FN(rpts_scale)(pivoting, a[0], b[0], c[0], &row[2].weight);
    bool regular = true;
    for (int j = 1; j <= m - 2; j++) {
        int best = 0;
        row[1].own = a[j + 1], row[1].next = b[j + 1], row[1].second = c[j + 1], row[1].rhs = d[j + 1];
        row[1].scale = FN(rpts_scale)(pivoting, a[j + 1], b[j + 1], c[j + 1], &row[1].weight);
        for (int i = 1; i < 3; i++)
            if (FN(rpts_exchanges)(row[best].own, row[best].weight, row[i].own, row[i].weight)) best = i;
        pivot = row[best], row[best] = row[1];
        regular = regular && !(ABS1(pivot.own) < SMALLEST_NORMAL);
        const T inverse = RECIPROCAL(FN(rpts_safe_pivot)(pivot.own, pivot.scale));
        u1[j] = pivot.next * inverse, u2[j] = pivot.second * inverse, d[j] = pivot.rhs * inverse;
        for (int i = 0; i < 3; i += 2) {
            const T own = row[i].own;
            row[i].own = row[i].next - own * u1[j], row[i].next = row[i].second - own * u2[j], row[i].second = ZERO,
            row[i].rhs = row[i].rhs - own * d[j];
        }
    }
    d[0] = first, d[m - 1] = last;
    for (int j = m - 2; j >= 1; j--) d[j] = d[j] - u1[j] * d[j + 1] - u2[j] * (j + 2 < m ? d[j + 2] : after);
    return regular;
}
