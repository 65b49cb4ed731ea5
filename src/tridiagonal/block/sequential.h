/* Bands row by row: residuals, and elimination from one end to the other, as LAPACK's gbsv does it. That is for systems whose solutions grow
 * or fade by so many orders of magnitude that a cut into partitions costs their small entries all digits, or leaves nothing of a row.
 * Written once; included by C for each precision and by CUDA as templates. No include guard.
 *
 * Rows are taken times the power of two that makes their largest coefficient 2 to 4, and the largest coefficient of a column is its pivot, so
 * that nothing depends on how rows were scaled. Of the factors, SEQUENTIAL_STRIDE elements a row, row j has the pivot row of column j from
 * the diagonal on (below + above + 1 elements; below, above: bands), the multipliers of the rows behind (below) and how far behind row j
 * its pivot row was.
 *
 * Needs block/panel.h and what that needs, and SMALLER_POWER(r), the largest power of two that is at most r;
 * GIVEN_BAND(A, row, k), an element of op(A); FN_OF_T(name), FN(name) with its template argument; TIMES(x, r), T times R; LANE of LANES threads
 * that factor together, and TOGETHER(), where they wait for each other. */

#define SEQUENTIAL_ROWS (BLOCK_MAX + 1)
#define SEQUENTIAL_COLUMNS (2 * BLOCK_MAX + 2) /* the last one in use has the rows' weights in pivot decisions */
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
/** scale (d - op(A) x) in row i; *size: of its terms together, -1 if the row itself is not finite. */
PANEL_TEMPLATE PANEL_INLINE T FN(row_residual)(const block_matrix *A, R scale, int64_t i, const T *x, T d, R *size)
{
    T residual = TIMES(d, scale);
    R given = ABS1(residual);
    *size = given;
    for (int k = FN(first_band)(A, i); k <= FN(last_band)(A, i); k++) {
        int64_t column = i + k;
        if (column < 0 || column >= A->n) column = (column % A->n + A->n) % A->n;
        const T coefficient = TIMES(GIVEN_BAND(A, i, k), scale), term = coefficient * x[column];
        residual = residual - term;
        *size += ABS1(term);
        given += ABS1(coefficient);
    }
    if (!(given - given == 0)) *size = -1;
    return residual;
}
/** What the residual says of the solution: the backward error of the row in rounding errors. NaN where it is not finite. */
PANEL_TEMPLATE PANEL_INLINE R FN(row_error)(T residual, R size)
{
    const R error = ABS1(residual);
    return error == 0 ? 0 : error / size / ROUNDING;
}

/** The order in which rows are eliminated: from the first to the last, or reversed; the bands below and above the diagonal as that sees them. */
PANEL_INLINE sequence_of_rows FN(new_sequence)(const block_matrix *A, bool reversed)
{
    const bool swapped = reversed != (A->op != TRINE_N);
    sequence_of_rows s = {reversed, false, swapped ? A->ku : A->kl, swapped ? A->kl : A->ku};
    return s;
}
PANEL_INLINE int64_t FN(row_of)(const block_matrix *A, const sequence_of_rows *s, int64_t i) { return s->reversed ? A->n - 1 - i : i; }

/** Factor op(A); `rows`: two windows of SEQUENTIAL_ROWS x SEQUENTIAL_COLUMNS elements. Returns the row without a pivot, or -1. */
PANEL_TEMPLATE PANEL_INLINE int64_t FN(factor_sequentially)(const block_matrix *A, const sequence_of_rows *s, T *factors, T (*rows)[SEQUENTIAL_ROWS][SEQUENTIAL_COLUMNS])
{
    const int below = s->below, columns = s->below + s->above + 1;
    R least = FN_OF_T(row_scale)(A, 0); /* of the rows' scales */
    int64_t entered = 0;
    for (int64_t i = 1; i < A->n && s->as_given; i++) {
        const R scale = FN_OF_T(row_scale)(A, i);
        least = scale < least ? scale : least;
    }
    for (int64_t j = 0; j < A->n; j++, factors += SEQUENTIAL_STRIDE(s)) {
        T(*const here)[SEQUENTIAL_COLUMNS] = rows[j % 2], (*const next)[SEQUENTIAL_COLUMNS] = rows[1 - j % 2];
        const int there = A->n - j > below ? below + 1 : (int)(A->n - j); /* rows in play: of columns j, j + 1, ... */
        for (; entered < j + there; entered++) {
            const int64_t row = FN(row_of)(A, s, entered);
            const R scale = FN_OF_T(row_scale)(A, row);
            if (LANE == 0) here[entered - j][columns] = FROM_REAL(s->as_given ? least / scale : 1);
            for (int c = LANE; c < columns; c += LANES) {
                const int64_t k = s->reversed ? entered - j - c : j + c - entered;
                here[entered - j][c] = k >= FN(first_band)(A, row) && k <= FN(last_band)(A, row) ? TIMES(GIVEN_BAND(A, row, (int)k), scale) : ZERO;
            }
        }
        TOGETHER();
        int pivot = 0;
        for (int r = 1; r < there; r++)
            if (ABS1(here[r][0]) * ABS1(here[r][columns]) > ABS1(here[pivot][0]) * ABS1(here[pivot][columns])) pivot = r;
        if (ABS1(here[pivot][0]) == 0) return FN(row_of)(A, s, j);
        for (int c = LANE; c < columns; c += LANES) factors[c] = here[pivot][c];
        if (LANE == 0) factors[columns + below] = FROM_REAL((R)pivot);
        const T inverse = FROM_REAL(1) / here[pivot][0];
        for (int r = 1; r < there; r++) {
            const T *row = here[r == pivot ? 0 : r];
            const T f = row[0] * inverse;
            if (LANE == 0) factors[columns + r - 1] = f;
            for (int c = LANE; c <= columns; c += LANES) next[r - 1][c] = c + 1 < columns ? row[c + 1] - f * here[pivot][c + 1] : c == columns ? row[c] : ZERO;
        }
    }
    return -1;
}
/** x := op(A)^-1 x with these factors; x has been taken times the rows' scales. */
PANEL_TEMPLATE PANEL_INLINE void FN(substitute_sequentially)(const block_matrix *A, const sequence_of_rows *s, const T *factors, T *x)
{
    const int columns = s->below + s->above + 1, step = s->reversed ? -1 : 1;
    x += FN(row_of)(A, s, 0);
    for (int64_t j = 0; j < A->n; j++) {
        const T *row = factors + j * SEQUENTIAL_STRIDE(s);
        const int64_t pivot = j + (int)ABS1(row[columns + s->below]);
        const T kept = x[pivot * step];
        x[pivot * step] = x[j * step];
        x[j * step] = kept;
        for (int r = 1; r <= s->below && j + r < A->n; r++) x[(j + r) * step] = x[(j + r) * step] - row[columns + r - 1] * kept;
    }
    for (int64_t j = A->n - 1; j >= 0; j--) {
        const T *row = factors + j * SEQUENTIAL_STRIDE(s);
        T value = x[j * step];
        for (int c = columns - 1; c > 0; c--)
            if (j + c < A->n) value = value - row[c] * x[(j + c) * step];
        x[j * step] = value / row[0];
    }
}
/** residual := d - op(A) x, times the rows' scales. Is its backward error large? */
PANEL_TEMPLATE PANEL_INLINE bool FN(has_large_error)(const block_matrix *A, const T *d, const T *x, T *residual)
{
    bool is_large = false;
    for (int64_t i = 0; i < A->n; i++) {
        R size;
        residual[i] = FN_OF_T(row_residual)(A, FN_OF_T(row_scale)(A, i), i, x, d[i], &size);
        is_large |= !(FN_OF_T(row_error)(residual[i], size) <= BLOCK_LARGE_ERROR);
    }
    return is_large;
}
/** Solve for one right-hand side d, which may be x, with these factors. If `residual` is not NULL, d is not x, and a step of refinement follows
 *  where it is needed. Is the backward error large then? */
PANEL_TEMPLATE PANEL_INLINE bool FN(solve_sequence)(const block_matrix *A, const sequence_of_rows *s, const T *factors, const T *d, T *x, T *residual)
{
    for (int64_t i = 0; i < A->n; i++) x[i] = TIMES(d[i], FN_OF_T(row_scale)(A, i));
    FN(substitute_sequentially)(A, s, factors, x);
    for (int step = 0; residual && FN(has_large_error)(A, d, x, residual); step++) {
        if (step == 1) return true;
        FN(substitute_sequentially)(A, s, factors, residual);
        for (int64_t i = 0; i < A->n; i++) x[i] = x[i] + residual[i];
    }
    return false;
}
/** Solve for d, from the end where fewer rows are in play; if that leaves a zero pivot or a large error, from the other one, and then as LAPACK does, from
 *  the first row on with pivot decisions by coefficients as they are given. `shared`: what the lanes tell each other. Returns the row without a pivot, or -1. */
PANEL_TEMPLATE PANEL_INLINE int64_t FN(solve_sequentially)(const block_matrix *A, T *factors, T (*rows)[SEQUENTIAL_ROWS][SEQUENTIAL_COLUMNS], bool *shared,
                                                           const T *d, T *x, T *residual)
{
    const bool first = FN(new_sequence)(A, false).below > FN(new_sequence)(A, false).above;
    int64_t zero = -1;
    bool is_solved = false;
    for (int attempt = 0; attempt < 3; attempt++) {
        sequence_of_rows s = FN(new_sequence)(A, attempt < 2 && first != (attempt == 1));
        s.as_given = attempt == 2;
        const int64_t row = FN(factor_sequentially)(A, &s, factors, rows);
        TOGETHER();
        if (row >= 0) {
            zero = row;
            continue;
        }
        if (LANE == 0) *shared = FN(solve_sequence)(A, &s, factors, d, x, residual);
        TOGETHER();
        is_solved = true;
        if (!*shared) break;
        TOGETHER();
    }
    return is_solved ? -1 : zero;
}
