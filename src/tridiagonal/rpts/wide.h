/* Partitions whose two rows do not fit a tridiagonal coarse system. Written once, as rpts/partition.h: needs what that needs, and the types
 * WIDE_PAIR and WIDE_JOINT with the members of rpts/wide_types.h. No include guard.
 *
 * The rows of a partition without its inner unknowns are combinations from a space of two dimensions, over x[before], x[first], x[last],
 * x[after]. A tridiagonal coarse system takes the one without x[after] and the one without x[before]. Where the inner block (the rows and
 * columns between the first and the last one) is singular, these two are the same row: a combination of inner rows alone, which holds
 * x[first] and x[last] only; what the first and the last row of the partition say is lost. Where it is nearly singular, digits are.
 * So there any two rows of the space are kept, as they come out of an elimination in which all rows of the partition compete for
 * pivots (as in block/panel.h), by their scaled coefficients: a wide pair, with a fourth coefficient each. A system of which some rows are wide is a sequence of such pairs, and
 * is solved by joining them one after the other: the two unknowns where two pairs meet are eliminated from their four rows. */

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
    const R largest = FN(wide_largest)(c, count);
    return SCALE_RECIPROCAL(largest > SMALLEST_NORMAL ? largest : SMALLEST_NORMAL);
}

/** Take the best column of row 0 out of row 1, then that of row 1 out of row 0: rows that have a large part in common would lose what they
 *  differ in, a digit with every join. Rows whose scale drifts are brought back. */
RPTS_INLINE void FN(wide_separate)(WIDE_PAIR *pair, WIDE_JOINT *j)
{
    for (int from = 0; from < 2; from++) {
        T *const row = pair->c[from], *const other = pair->c[1 - from];
        int best = 0;
        for (int k = 1; k < 4; k++)
            if (ABS1(row[k]) > ABS1(row[best])) best = k;
        const R largest = ABS1(row[best]);
        j->scale[from] = largest < (R)0x1p-16 ? (R)0x1p16 : largest > (R)0x1p16 ? (R)0x1p-16 : (R)1;
        for (int k = 0; k < 4; k++) row[k] = row[k] * FROM_REAL(j->scale[from]);
        const T f = ABS1(row[best]) > SMALLEST_NORMAL ? other[best] * RECIPROCAL(row[best]) : ZERO;
        j->separated[1 - from] = f;
        if (ABS1(f) == 0) continue;
        for (int k = 0; k < 4; k++) other[k] = other[k] - f * row[k];
        other[best] = ZERO;
    }
}

/** Join the union, whose last unknown is own and whose after is next, with rows that follow: one row over (own, next, after), or a pair over
 *  (own, next, last, after). row[2..] are those, over 3 or 4 unknowns; afterwards the union reaches to their last one. */
RPTS_INLINE void FN(wide_eliminate)(WIDE_PAIR *pair, int rows, const T (*added)[4], WIDE_JOINT *j)
{
    const int unknowns = rows - 2, columns = 4 + unknowns; /* before, first, own, next, ... */
    T m[4][6];
    R weight[4], scale[4];
    bool used[4] = {false, false, false, false};
    j->rows = rows, j->unknowns = unknowns, j->regular = true;
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < columns; k++) m[i][k] = ZERO;
        if (i < 2) for (int k = 0; k < 4; k++) m[i][k] = pair->c[i][k];
        else for (int k = 0; k < 2 + unknowns; k++) m[i][2 + k] = added[i - 2][k];
        weight[i] = FN(wide_weight)(m[i], columns);
        scale[i] = FN(wide_largest)(m[i], columns);
    }
    for (int u = 0; u < unknowns; u++) {
        const int own = 2 + u;
        int best = -1;
        R largest = 0;
        for (int i = 0; i < rows; i++) {
            const R size = ABS1(m[i][own]) * weight[i];
            if (!used[i] && (best < 0 || size > largest || size != size)) best = i, largest = size; /* NaN is for all to see */
        }
        used[best] = true, j->pivot[u] = best;
        j->regular = j->regular && !(ABS1(m[best][own]) == 0);
        const T inverse = RECIPROCAL(FN(rpts_safe_pivot)(m[best][own], scale[best]));
        j->inverse[u] = inverse;
        for (int i = 0; i < rows; i++) {
            const T f = used[i] ? ZERO : m[i][own] * inverse;
            j->factor[u][i] = f;
            if (used[i] || ABS1(f) == 0) continue;
            for (int k = 0; k < columns; k++) m[i][k] = m[i][k] - f * m[best][k];
            m[i][own] = ZERO;
        }
    }
    for (int u = unknowns - 1; u >= 0; u--)
        for (int k = 0; k < 4; k++) j->known[u][k] = m[j->pivot[u]][k < 2 ? k : k + unknowns] * j->inverse[u];
    j->next = ZERO;
    if (unknowns == 2) {
        j->next = m[j->pivot[0]][3] * j->inverse[0];
        for (int k = 0; k < 4; k++) j->known[0][k] = j->known[0][k] - j->next * j->known[1][k];
    }
    int count = 0;
    for (int i = 0; i < rows; i++) {
        if (used[i]) continue;
        j->left[count] = i;
        for (int k = 0; k < 4; k++) pair->c[count][k] = m[i][k < 2 ? k : k + unknowns];
        count++;
    }
    FN(wide_separate)(pair, j);
}

/** The same for right-hand sides: rhs of the union's rows and of those that joined it; the union's afterwards in rhs[0], rhs[1], what
 *  back substitution needs of the eliminated unknowns in eliminated[0], [1]. */
RPTS_INLINE void FN(wide_eliminate_rhs)(const WIDE_JOINT *j, T *rhs, T *eliminated)
{
    for (int u = 0; u < j->unknowns; u++)
        for (int i = 0; i < j->rows; i++) rhs[i] = rhs[i] - j->factor[u][i] * rhs[j->pivot[u]];
    const T second = j->unknowns == 2 ? rhs[j->pivot[1]] * j->inverse[1] : ZERO, first = rhs[j->pivot[0]] * j->inverse[0] - j->next * second;
    const T left0 = rhs[j->left[0]] * FROM_REAL(j->scale[0]), left1 = (rhs[j->left[1]] - j->separated[1] * left0) * FROM_REAL(j->scale[1]);
    eliminated[0] = first, eliminated[1] = second;
    rhs[0] = left0 - j->separated[0] * left1, rhs[1] = left1;
}

/** Combinations of the two rows that fit a tridiagonal system: (times[0][0], times[0][1]) without x[after], (times[1][0], times[1][1]) without
 *  x[before]. False if these are nearly the same row, the sine of the angle between them below `least`: then they are the rows themselves. */
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
        else if (ABS1(pair->c[0][3 - column]) * scale[1] < ABS1(pair->c[1][3 - column]) * scale[0]) f = ZERO, g = FROM_REAL(1);
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

/** A whole system that is one pair: its first and its last unknown. In a cyclic system x[before] is the last one and x[after] the first one.
 *  False if it is singular. */
RPTS_INLINE bool FN(wide_close)(const WIDE_PAIR *pair, bool cyclic, WIDE_JOINT *j)
{
    WIDE_PAIR none;
    T added[2][4];
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) none.c[i][k] = added[i][k] = ZERO; /* the rows come as those of a pair over (first, last) that joins nothing */
        added[i][0] = cyclic ? pair->c[i][1] + pair->c[i][3] : pair->c[i][1];
        added[i][1] = cyclic ? pair->c[i][2] + pair->c[i][0] : pair->c[i][2];
    }
    FN(wide_eliminate)(&none, 4, (const T(*)[4])added, j);
    return j->regular;
}
