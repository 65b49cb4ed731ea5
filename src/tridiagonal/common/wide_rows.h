/* Partitions whose two rows do not fit a tridiagonal coarse system. Written once, as common/partition.h: needs what
 * that needs; the types WIDE_PAIR and WIDE_ELIMINATION with the members of common/wide_row_types.h; WIDE_RECIPROCAL(x)
 * of numbers that are neither tiny nor huge; what sizes are compared by: WIDE_SIZE(x) of type WIDE_SIZE_T,
 * WIDE_WEIGHED(x, weight) where WIDE_WEIGHT(size) is a weight. No include guard.
 *
 * The rows of a partition without its inner unknowns are combinations from a space of two dimensions, over
 * x[before], x[first], x[last], x[after]. A tridiagonal coarse system takes the one without x[after] and the one
 * without x[before]. Where the inner block (the rows and columns between the first and the last one) is singular,
 * these two are the same row: a combination of inner rows alone, which holds x[first] and x[last] only; what the
 * first and the last row of the partition say is lost. Where it is nearly singular, digits are. So there any two
 * rows of the space are kept, as they come out of an elimination in which all rows of the partition compete for
 * pivots (as in block/common/panel.h), by their scaled coefficients: a wide pair, with a fourth coefficient each. A
 * system of which some rows are wide is a sequence of such pairs, and is solved by joining them one after the other:
 * the two unknowns where two pairs meet are eliminated from their four rows. */

/** The largest of a row's coefficients. */
RPTS_INLINE R FN(wide_largest)(const T *c, int count)
{
    R largest = 0;
    for (int k = 0; k < count; k++) largest = ABS1(c[k]) > largest ? ABS1(c[k]) : largest;
    return largest;
}
/** What makes rows of any scale comparable. */
RPTS_INLINE R FN(wide_weight)(const T *c, int count)
{
    WIDE_SIZE_T largest = 0;
    for (int k = 0; k < count; k++) largest = WIDE_SIZE(c[k]) > largest ? WIDE_SIZE(c[k]) : largest;
    return WIDE_WEIGHT(largest);
}

/** Take the best column of row 0 out of row 1, then that of row 1 out of row 0: rows that have a large part in
 *  common would lose what they differ in, a digit with every join. Rows whose scale drifts are brought back. */
RPTS_INLINE void FN(wide_separate)(WIDE_PAIR *pair, WIDE_ELIMINATION *step)
{
    RPTS_UNROLL
    for (int from = 0; from < 2; from++) {
        T *const row = pair->c[from], *const other = pair->c[1 - from];
        T pivot = row[0], below = other[0];
        int best = 0;
        RPTS_UNROLL
        for (int k = 1; k < 4; k++) {
            const bool larger = WIDE_SIZE(row[k]) > WIDE_SIZE(pivot);
            pivot = larger ? row[k] : pivot, below = larger ? other[k] : below, best = larger ? k : best;
        }
        const R largest = ABS1(pivot), scale = largest<(R)0x1p-16 ? (R)0x1p16 : largest>(R) 0x1p16 ? (R)0x1p-16 : (R)1;
        const T f = largest * scale > SMALLEST_NORMAL ? below * WIDE_RECIPROCAL(pivot * FROM_REAL(scale)) : ZERO;
        step->scale[from] = scale, step->separated[1 - from] = f;
        RPTS_UNROLL
        for (int k = 0; k < 4; k++) {
            row[k] = row[k] * FROM_REAL(scale);
            other[k] = k == best && ABS1(f) > 0 ? ZERO : other[k] - f * row[k];
        }
    }
}

/** Join the union, whose last unknown is own and whose after is next, with rows that follow: one row over (own,
 *  next, after), or a pair over (own, next, last, after). Rows 2 .. rows - 1 are those, over 3 or 4 unknowns;
 *  afterwards the union reaches to their last one. Each pivot row is brought to the end by exchanges, so that no
 *  index depends on a pivot decision, and a GPU keeps all rows in registers. rows: a constant. */
RPTS_INLINE void FN(wide_eliminate)(WIDE_PAIR *pair, const int rows, const T (*added)[4], WIDE_ELIMINATION *step)
{
    const int unknowns = rows - 2, columns = 4 + unknowns; /* before, first, own, next, ... */
    T m[4][6];
    R weight[4];
    step->unknowns = unknowns, step->regular = true;
    RPTS_UNROLL
    for (int i = 0; i < rows; i++) {
        RPTS_UNROLL
        for (int k = 0; k < columns; k++)
            m[i][k] = i < 2 ? k < 4 ? pair->c[i][k] : ZERO : k < 2 ? ZERO : added[i - 2][k - 2];
        weight[i] = FN(wide_weight)(m[i], columns);
    }
    RPTS_UNROLL
    for (int u = 0; u < unknowns; u++) {
        const int own = 2 + u, last = rows - 1 - u;
        WIDE_SIZE_T size = WIDE_WEIGHED(m[last][own], weight[last]);
        RPTS_UNROLL
        for (int i = 0; i < last; i++) {
            const WIDE_SIZE_T of_row = WIDE_WEIGHED(m[i][own], weight[i]);
            const R w = weight[i];
            const bool e = of_row > size || of_row != of_row; /* NaN is for all to see */
            RPTS_UNROLL
            for (int k = 0; k < columns; k++) {
                const T x = m[i][k], y = m[last][k];
                m[i][k] = e ? y : x, m[last][k] = e ? x : y;
            }
            weight[i] = e ? weight[last] : w, weight[last] = e ? w : weight[last];
            size = e ? of_row : size;
            step->exchanged[u][i] = e;
        }
        step->regular = step->regular && !(ABS1(m[last][own]) == 0);
        const T inverse = WIDE_RECIPROCAL(FN(rpts_safe_pivot)(m[last][own], SCALE_RECIPROCAL(weight[last])));
        step->inverse[u] = inverse;
        RPTS_UNROLL
        for (int i = 0; i < last; i++) {
            const T f = m[i][own] * inverse;
            step->factor[u][i] = f;
            RPTS_UNROLL
            for (int k = 0; k < columns; k++) m[i][k] = ABS1(f) == 0 ? m[i][k] : m[i][k] - f * m[last][k];
            m[i][own] = ZERO;
        }
    }
    RPTS_UNROLL
    for (int u = unknowns - 1; u >= 0; u--) RPTS_UNROLL
    for (int k = 0; k < 4; k++) step->known[u][k] = m[rows - 1 - u][k < 2 ? k : k + unknowns] * step->inverse[u];
    step->next = ZERO;
    if (unknowns == 2) {
        step->next = m[rows - 1][3] * step->inverse[0];
        RPTS_UNROLL
        for (int k = 0; k < 4; k++) step->known[0][k] = step->known[0][k] - step->next * step->known[1][k];
    }
    RPTS_UNROLL
    for (int i = 0; i < 2; i++) RPTS_UNROLL
    for (int k = 0; k < 4; k++) pair->c[i][k] = m[i][k < 2 ? k : k + unknowns];
    FN(wide_separate)(pair, step);
}

/** The same for right-hand sides: rhs of the union's rows and of those that joined it, `rows` as there; the union's
 *  afterwards in rhs[0], rhs[1], what back substitution needs of the eliminated unknowns in eliminated[0], [1]. */
RPTS_INLINE void FN(wide_eliminate_rhs)(const WIDE_ELIMINATION *step, const int rows, T *rhs, T *eliminated)
{
    const int unknowns = rows - 2;
    RPTS_UNROLL
    for (int u = 0; u < unknowns; u++) {
        const int last = rows - 1 - u;
        RPTS_UNROLL
        for (int i = 0; i < last; i++) {
            const T x = rhs[i], y = rhs[last];
            rhs[i] = step->exchanged[u][i] ? y : x, rhs[last] = step->exchanged[u][i] ? x : y;
        }
        RPTS_UNROLL
        for (int i = 0; i < last; i++)
            rhs[i] = ABS1(step->factor[u][i]) == 0 ? rhs[i] : rhs[i] - step->factor[u][i] * rhs[last];
    }
    const T second = unknowns == 2 ? rhs[rows - 2] * step->inverse[1] : ZERO,
            first = rhs[rows - 1] * step->inverse[0] - step->next * second;
    const T left0 = rhs[0] * FROM_REAL(step->scale[0]),
            left1 = (rhs[1] - step->separated[1] * left0) * FROM_REAL(step->scale[1]);
    eliminated[0] = first, eliminated[1] = second;
    rhs[0] = left0 - step->separated[0] * left1, rhs[1] = left1;
}

/** Combinations of the two rows that fit a tridiagonal system: (times[0][0], times[0][1]) without x[after],
 *  (times[1][0], times[1][1]) without x[before]. False if these are nearly the same row, the sine of the angle
 *  between them below `least`: then they are the rows themselves. */
RPTS_INLINE bool FN(wide_to_tridiagonal)(WIDE_PAIR *pair, R least, T times[2][2])
{
    T c[2][4];
    R length[2] = {0, 0};
    times[0][0] = times[1][1] = FROM_REAL(1), times[0][1] = times[1][0] = ZERO;
    const R scale[2] = {FN(wide_largest)(pair->c[0], 4), FN(wide_largest)(pair->c[1], 4)};
    if (!(scale[0] > 0 && scale[1] > 0)) return false;
    for (int i = 0; i < 2; i++) {
        const int column = i == 0 ? 3 : 0; /* that is to vanish */
        const T p = pair->c[0][column] * FROM_REAL(1 / scale[0]), q = pair->c[1][column] * FROM_REAL(1 / scale[1]);
        const R largest = ABS1(p) > ABS1(q) ? ABS1(p) : ABS1(q);
        T f = FROM_REAL(1), g = ZERO; /* both rows are free of it: any that is not the other one's */
        if (largest > 0) f = q * FROM_REAL(1 / largest), g = ZERO - p * FROM_REAL(1 / largest);
        else if (ABS1(pair->c[0][3 - column]) * scale[1] < ABS1(pair->c[1][3 - column]) * scale[0])
            f = ZERO, g = FROM_REAL(1);
        times[i][0] = f * FROM_REAL(1 / scale[0]), times[i][1] = g * FROM_REAL(1 / scale[1]);
        for (int k = 0; k < 4; k++) c[i][k] = times[i][0] * pair->c[0][k] + times[i][1] * pair->c[1][k];
        c[i][column] = ZERO;
        length[i] = FN(wide_largest)(c[i], 4);
    }
    /* the largest 2 x 2 determinant of the rows, taken for the sine */
    R sine = 0;
    for (int k = 0; k < 3; k++)
        for (int l = k + 1; l < 4; l++) {
            const R determinant = ABS1(c[0][k] * c[1][l] - c[0][l] * c[1][k]);
            sine = determinant > sine ? determinant : sine;
        }
    if (!(sine > least * length[0] * length[1])) {
        times[0][0] = times[1][1] = FROM_REAL(1), times[0][1] = times[1][0] = ZERO;
        return false;
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) pair->c[i][k] = c[i][k];
    return true;
}

/** A whole system that is one pair: its first and its last unknown. In a cyclic system x[before] is the last one and
 *  x[after] the first one. False if it is singular. */
RPTS_INLINE bool FN(wide_close)(const WIDE_PAIR *pair, bool cyclic, WIDE_ELIMINATION *step)
{
    WIDE_PAIR none;
    T added[2][4];
    for (int i = 0; i < 2; i++) {
        /* the rows come as those of a pair over (first, last) that joins nothing */
        for (int k = 0; k < 4; k++) none.c[i][k] = added[i][k] = ZERO;
        added[i][0] = cyclic ? pair->c[i][1] + pair->c[i][3] : pair->c[i][1];
        added[i][1] = cyclic ? pair->c[i][2] + pair->c[i][0] : pair->c[i][2];
    }
    FN(wide_eliminate)(&none, 4, (const T (*)[4])added, step);
    return step->regular;
}
