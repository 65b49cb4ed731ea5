/* Bands row by row: residuals, and elimination from one end to the other, as LAPACK's gbsv does it. That is for systems
 * whose solutions grow or fade by so many orders of magnitude that a cut into partitions costs their small entries all
 * digits, or leaves nothing of a row. Written once; included by C for each precision and by CUDA as templates. No
 * include guard.
 *
 * Rows are taken times the power of two that makes their largest coefficient 2 to 4, and the largest coefficient of a
 * column is its pivot, so that nothing depends on how rows were scaled. A row that is no pivot row for long may lose
 * its digits where solutions grow: the weights of rows with large residuals are raised then. So may rows
 * whose largest coefficient is in a column of another scale than the others: rows count by the median of their
 * coefficients then. Of the factors,
 * SEQUENTIAL_STRIDE elements a row, row j has the pivot row of column j from the diagonal on (below + above + 1
 * elements; below, above: bands), the multipliers of the rows behind (below) and how far behind row j its pivot row
 * was.
 *
 * Needs block/common/panel.h and what that needs, and SMALLER_POWER(r), the largest power of two that is at most r;
 * GIVEN_BAND(A, row, k), an element of op(A); FN_OF_T(name), FN(name) with its template argument; TIMES(x, r), T
 * times R; LANE of LANES threads that factor together, and TOGETHER(), where they wait for each other. */

#define SEQUENTIAL_ROWS (BLOCK_MAX + 1)
#define SEQUENTIAL_COLUMNS (2 * BLOCK_MAX + 2) /* the last one in use has the rows' weights in pivot decisions */
#define SEQUENTIAL_ATTEMPTS 12 /* the last two with weights by medians */
#define SEQUENTIAL_STRIDE(s) (2 * (s)->below + (s)->above + 2)

/** The bands of op(A) on which row i has elements. */
PANEL_INLINE int FN(first_band)(const block_matrix *A, int64_t i)
{
    const int below = A->op == TRINE_N ? A->kl : A->ku;
    return i < below && !A->cyclic && !A->wrapped ? -(int)i : -below;
}
PANEL_INLINE int FN(last_band)(const block_matrix *A, int64_t i)
{
    const int above = A->op == TRINE_N ? A->ku : A->kl;
    return A->n - 1 - i < above && !A->cyclic && !A->wrapped ? (int)(A->n - 1 - i) : above;
}
/** The power of two that row i is taken times. */
PANEL_TEMPLATE PANEL_INLINE R FN(row_scale)(const block_matrix *A, int64_t i)
{
    R largest = 0;
    for (int k = FN(first_band)(A, i); k <= FN(last_band)(A, i); k++) {
        const R size = ABS1(GIVEN_BAND(A, i, k));
        largest = size > largest ? size : largest;
    }
    return SMALLER_POWER(FN_OF_T(panel_weight)(largest));
}
/** scale (d - op(A) x) in row i, its terms times `shrink`; *size: of its terms together; *given: of d and op(A). */
PANEL_TEMPLATE PANEL_INLINE T FN(sum_of_row)(const block_matrix *A, R scale, R shrink, int64_t i, const T *x, T d,
                                             R *size, R *given)
{
    T residual = TIMES(TIMES(d, shrink), scale);
    *given = *size = ABS1(residual);
    for (int k = FN(first_band)(A, i); k <= FN(last_band)(A, i); k++) {
        int64_t column = i + k;
        if (column < 0 || column >= A->n) column = (column % A->n + A->n) % A->n;
        const T coefficient = TIMES(GIVEN_BAND(A, i, k), scale), term = coefficient * TIMES(x[column], shrink);
        residual = residual - term;
        *size += ABS1(term);
        *given += ABS1(coefficient);
    }
    return residual;
}
/** scale (d - op(A) x) in row i. *error: what that says of the solution, the backward error of the row in rounding
 *  errors; NaN where it is not finite, -1 if the row itself is not. Terms may leave the range where the solution nearly
 *  does: they are shrunk then. */
PANEL_TEMPLATE PANEL_INLINE T FN(row_residual)(const block_matrix *A, R scale, int64_t i, const T *x, T d, R *error)
{
    const R shrink = (R)1 / 1024;
    R size, given;
    T residual = FN_OF_T(sum_of_row)(A, scale, (R)1, i, x, d, &size, &given);
    const bool leaves_range = !(size - size == 0);
    if (leaves_range) residual = FN_OF_T(sum_of_row)(A, scale, shrink, i, x, d, &size, &given);
    *error = !(given - given == 0) ? -1 : ABS1(residual) == 0 ? 0 : ABS1(residual) / size / ROUNDING;
    return leaves_range ? TIMES(residual, 1 / shrink) : residual;
}

/** The order in which rows are eliminated: from the first to the last, or reversed; the bands below and above the
 *  diagonal as that sees them. */
PANEL_INLINE sequence_of_rows FN(new_sequence)(const block_matrix *A, bool reversed)
{
    const bool swapped = reversed != (A->op != TRINE_N);
    sequence_of_rows s = {reversed, swapped ? A->ku : A->kl, swapped ? A->kl : A->ku};
    return s;
}
PANEL_INLINE int64_t FN(row_of)(const block_matrix *A, const sequence_of_rows *s, int64_t i)
{
    return s->reversed ? A->n - 1 - i : i;
}

/** Factor op(A); `rows`: two windows of SEQUENTIAL_ROWS x SEQUENTIAL_COLUMNS elements; weights: of the rows in pivot
 *  decisions. Returns the row without a pivot, or -1; replaced: a rounding error takes its place. */
PANEL_TEMPLATE PANEL_INLINE int64_t FN(factor_sequentially)(const block_matrix *A, const sequence_of_rows *s,
                                                            const T *weights, T *factors,
                                                            T (*rows)[SEQUENTIAL_ROWS][SEQUENTIAL_COLUMNS],
                                                            bool replaced)
{
    const int below = s->below, columns = s->below + s->above + 1;
    int64_t entered = 0;
    for (int64_t j = 0; j < A->n; j++, factors += SEQUENTIAL_STRIDE(s)) {
        T (*const here)[SEQUENTIAL_COLUMNS] = rows[j % 2], (*const next)[SEQUENTIAL_COLUMNS] = rows[1 - j % 2];
        const int there = A->n - j > below ? below + 1 : (int)(A->n - j); /* rows in play: of columns j, j + 1, ... */
        for (; entered < j + there; entered++) {
            const int64_t row = FN(row_of)(A, s, entered);
            const R scale = FN_OF_T(row_scale)(A, row);
            if (LANE == 0) here[entered - j][columns] = weights[row];
            for (int c = LANE; c < columns; c += LANES) {
                const int64_t k = s->reversed ? entered - j - c : j + c - entered;
                here[entered - j][c] = k >= FN(first_band)(A, row) && k <= FN(last_band)(A, row)
                                           ? TIMES(GIVEN_BAND(A, row, (int)k), scale)
                                           : ZERO;
            }
        }
        TOGETHER();
        int pivot = 0;
        for (int r = 1; r < there; r++)
            if (ABS1(here[r][0]) * ABS1(here[r][columns]) > ABS1(here[pivot][0]) * ABS1(here[pivot][columns]))
                pivot = r;
        if (ABS1(here[pivot][0]) == 0) {
            if (!replaced) return FN(row_of)(A, s, j);
            TOGETHER();
            if (LANE == 0) here[pivot][0] = FROM_REAL(ROUNDING);
            TOGETHER();
        }
        for (int c = LANE; c < columns; c += LANES) factors[c] = here[pivot][c];
        if (LANE == 0) factors[columns + below] = FROM_REAL((R)pivot);
        const T inverse = FROM_REAL(1) / here[pivot][0];
        for (int r = 1; r < there; r++) {
            const T *row = here[r == pivot ? 0 : r];
            const T f = row[0] * inverse;
            if (LANE == 0) factors[columns + r - 1] = f;
            for (int c = LANE; c <= columns; c += LANES)
                next[r - 1][c] = c + 1 < columns ? row[c + 1] - f * here[pivot][c + 1] : c == columns ? row[c] : ZERO;
        }
    }
    return -1;
}
/** x := op(A)^-1 x with these factors; x has been taken times the rows' scales. */
PANEL_TEMPLATE PANEL_INLINE void FN(substitute_sequentially)(const block_matrix *A, const sequence_of_rows *s,
                                                             const T *factors, T *x)
{
    const int columns = s->below + s->above + 1, step = s->reversed ? -1 : 1;
    x += FN(row_of)(A, s, 0);
    for (int64_t j = 0; j < A->n; j++) {
        const T *row = factors + j * SEQUENTIAL_STRIDE(s);
        const int64_t pivot = j + (int)ABS1(row[columns + s->below]);
        const T kept = x[pivot * step];
        x[pivot * step] = x[j * step];
        x[j * step] = kept;
        for (int r = 1; r <= s->below && j + r < A->n; r++)
            x[(j + r) * step] = x[(j + r) * step] - row[columns + r - 1] * kept;
    }
    for (int64_t j = A->n - 1; j >= 0; j--) {
        const T *row = factors + j * SEQUENTIAL_STRIDE(s);
        T value = x[j * step];
        for (int c = columns - 1; c > 0; c--)
            if (j + c < A->n) value = value - row[c] * x[(j + c) * step];
        x[j * step] = value / row[0];
    }
}
/** residual := d - op(A) x, times the rows' scales. Returns the largest error of a row, 1 / SMALLEST_NORMAL at most.
 *  The weights of rows whose errors are large are raised by about these errors. */
PANEL_TEMPLATE PANEL_INLINE R FN(sequential_error)(const block_matrix *A, const T *d, const T *x, T *residual,
                                                   T *weights)
{
    const R none = 1 / SMALLEST_NORMAL;
    R worst = 0;
    for (int64_t i = 0; i < A->n; i++) {
        R error;
        residual[i] = FN_OF_T(row_residual)(A, FN_OF_T(row_scale)(A, i), i, x, d[i], &error);
        if (!(error <= worst)) worst = error <= none ? error : none;
        if (weights && error > BLOCK_LARGE_ERROR && ABS1(weights[i]) < 1 / ROUNDING)
            weights[i] = TIMES(weights[i], SMALLER_POWER(error / 16));
    }
    return worst;
}
/** The weights by which rows count by the median of their coefficients that are not zero, whatever a column of another
 *  scale than the others has in them. */
PANEL_TEMPLATE PANEL_INLINE void FN(weigh_by_medians)(const block_matrix *A, T *weights)
{
    for (int64_t i = 0; i < A->n; i++) {
        const R scale = FN_OF_T(row_scale)(A, i);
        const int first = FN(first_band)(A, i), last = FN(last_band)(A, i);
        R median = 1;
        for (int k = first; k <= last; k++) {
            const R size = ABS1(TIMES(GIVEN_BAND(A, i, k), scale));
            int smaller = 0, larger = 0;
            for (int j = first; j <= last; j++) {
                const R other = ABS1(TIMES(GIVEN_BAND(A, i, j), scale));
                smaller += other > 0 && (other < size || (other == size && j < k));
                larger += other > size || (other == size && j > k);
            }
            if (size > 0 && (larger == smaller || larger == smaller + 1)) median = size;
        }
        weights[i] = FROM_REAL(SMALLER_POWER(1 / median));
    }
}
/** best := x if its error is less. */
PANEL_TEMPLATE PANEL_INLINE void FN(keep_better)(const block_matrix *A, const T *x, R error, T *best, R *least)
{
    if (!(error < *least)) return;
    *least = error;
    for (int64_t i = 0; i < A->n; i++) best[i] = x[i];
}
/** x := op(A)^-1 d with these factors, by way of d times `shrink`, a power of two; d may be x. */
PANEL_TEMPLATE PANEL_INLINE void FN(solve_shrunk)(const block_matrix *A, const sequence_of_rows *s, const T *factors,
                                                  R shrink, const T *d, T *x)
{
    for (int64_t i = 0; i < A->n; i++) x[i] = TIMES(TIMES(d[i], shrink), FN_OF_T(row_scale)(A, i));
    FN(substitute_sequentially)(A, s, factors, x);
    for (int64_t i = 0; i < A->n && shrink < 1; i++) x[i] = TIMES(x[i], 1 / shrink);
}
/** Solve for one right-hand side d, which may be x, with these factors. If `residual` is not NULL, d is not x, a
 *  step of refinement follows where it is needed, and the better one of the two solutions is kept if it is better
 *  than best, whose error is *least. Terms of scaled rows may leave the range where the solution nearly does: d is
 *  shrunk then. Returns the error before refinement. */
PANEL_TEMPLATE PANEL_INLINE R FN(solve_sequence)(const block_matrix *A, const sequence_of_rows *s, const T *factors,
                                                 const T *d, T *x, T *residual, T *weights, T *best, R *least)
{
    const R none = 1 / SMALLEST_NORMAL;
    R error = none;
    for (int shrunk = 0; shrunk < 2 && !(error < none); shrunk++) {
        FN_OF_T(solve_shrunk)(A, s, factors, shrunk ? (R)1 / 1024 : (R)1, d, x);
        if (!residual) return 0;
        error = FN_OF_T(sequential_error)(A, d, x, residual, weights);
    }
    FN_OF_T(keep_better)(A, x, error, best, least);
    if (*least <= BLOCK_LARGE_ERROR) return error;
    FN(substitute_sequentially)(A, s, factors, residual);
    for (int64_t i = 0; i < A->n; i++) x[i] = x[i] + residual[i];
    FN_OF_T(keep_better)(A, x, FN_OF_T(sequential_error)(A, d, x, residual, (T *)NULL), best, least);
    return error;
}
/** Solve for d, from the end where fewer rows are in play; if that leaves a zero pivot or a large error, from the
 *  other one, then again from the better one, with pivot decisions that weigh the rows whose errors were large, and
 *  last from both with weights by medians.
 *  Of all solutions the best one is kept. factors: SEQUENTIAL_STRIDE + 2 elements a row. given: x is a solution
 *  already. `shared`: errors, of the best solution and of the last one, that the lanes tell each other. Returns the
 *  row without a pivot, or -1. */
PANEL_TEMPLATE PANEL_INLINE int64_t FN(solve_sequentially)(const block_matrix *A, T *factors,
                                                           T (*rows)[SEQUENTIAL_ROWS][SEQUENTIAL_COLUMNS], R *shared,
                                                           const T *d, T *x, T *residual, bool given)
{
    const bool reversed = FN(new_sequence)(A, false).below > FN(new_sequence)(A, false).above;
    const R none = 1 / SMALLEST_NORMAL;
    T *const best = factors, *const weights = best + A->n;
    R error[2] = {none, none}; /* of the two orders */
    int64_t zero = -1;
    int last = -1;
    bool is_solved = given;
    factors += 2 * A->n;
    if (LANE == 0) {
        shared[0] = none;
        if (given) FN_OF_T(keep_better)(A, x, FN_OF_T(sequential_error)(A, d, x, residual, (T *)NULL), best, shared);
    }
    for (int attempt = 0; attempt < SEQUENTIAL_ATTEMPTS; attempt++) {
        const bool first_is_better = error[0] < error[1] && FN(new_sequence)(A, reversed).below > 0;
        const bool by_medians = attempt >= SEQUENTIAL_ATTEMPTS - 2;
        const int order = attempt < 2 || by_medians ? attempt % 2 : !first_is_better;
        const sequence_of_rows s = FN(new_sequence)(A, order ? !reversed : reversed);
        if (attempt >= 2 && (s.below == 0 || !residual || (!by_medians && !(error[order] < none))))
            continue; /* nothing to choose from */
        for (int64_t i = LANE; i < A->n && order != last; i += LANES) weights[i] = FROM_REAL(1);
        TOGETHER();
        if (LANE == 0 && by_medians) FN_OF_T(weigh_by_medians)(A, weights);
        TOGETHER();
        last = order;
        /* regular from one end: what vanishes from the other one is a rounding error */
        const bool replaced = given || (is_solved && attempt >= 2);
        const int64_t row = FN(factor_sequentially)(A, &s, weights, factors, rows, replaced);
        TOGETHER();
        if (row >= 0) {
            zero = row;
            continue;
        }
        if (LANE == 0) shared[1] = FN_OF_T(solve_sequence)(A, &s, factors, d, x, residual, weights, best, shared);
        TOGETHER();
        is_solved = true;
        if (!residual || shared[0] <= BLOCK_LARGE_ERROR) break;
        if (attempt < 2) error[order] = shared[1];
    }
    if (residual && shared[0] < none)
        for (int64_t i = LANE; i < A->n; i += LANES) x[i] = best[i];
    TOGETHER();
    return is_solved ? -1 : zero;
}
