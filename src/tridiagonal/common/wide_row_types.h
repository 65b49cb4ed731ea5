/* Members of the types of common/wide_rows.h, in terms of T and its real type R. */
#ifndef TRINE_TRIDIAGONAL_COMMON_WIDE_ROW_TYPES_H
#define TRINE_TRIDIAGONAL_COMMON_WIDE_ROW_TYPES_H

/** Two rows: coefficients of x[before], x[first], x[last], x[after]. */
#define WIDE_PAIR_MEMBERS T c[2][4];

/** An elimination of one or two unknowns from three or four rows: what right-hand sides need to follow it, and back
 *  substitution. For unknown u, the last of the rows left, `last`, is exchanged with row i, or not, for i = 0, 1,
 *  ...; then row i becomes row i - factor[u][i] row last; next: the coefficient of the second unknown in the first
 *  one's pivot row, times inverse[0]. Unknown u is inverse[u] times the right-hand side of its pivot row - known[u]
 *  (x[before], x[first], x[last], x[after]). Of the two rows that remain, row 0 is multiplied by scale[0]; row 1,
 *  less separated[1] row 0, by scale[1]; then row 0 loses separated[0] row 1. regular: false where an unknown has no
 *  pivot but zero. */
#define WIDE_ELIMINATION_MEMBERS                                 \
    int unknowns;                                                \
    bool exchanged[2][3];                                        \
    T factor[2][3], next, inverse[2], known[2][4], separated[2]; \
    R scale[2];                                                  \
    bool regular;

#endif
