/* Triangles that factorizations make: the generator of the accuracy tests of partitioned inverses. */
#ifndef TRINE_FACTOR_SUPPORT_H
#define TRINE_FACTOR_SUPPORT_H

#include "triangular_support.h"

/** L (unit diagonal, which is stored) and U of A, row by row (Saad, ILUT, Numer. Linear Algebra Appl. 1, 1994): row i
 *  of A is eliminated in ascending order of columns; multipliers l_ik, and at the end all entries of the row but the
 *  diagonal, are dropped where they are at most `threshold` times the 2-norm of A's row i; of either triangle's part
 *  of the row the `more` largest beyond A's own number in that part stay. threshold 0 and more n: exact L and U; 0 and
 *  ZERO_FILL: ILU(0), entries outside A's pattern are dropped as they arise. No pivoting. A: compressed rows, all
 *  values there. */
enum { ZERO_FILL = -1 };
struct factors { struct problem L, U; };
struct factors incomplete_factors(const struct problem *A, double threshold, int64_t more);

/** Five-point convection and diffusion on a side x side grid, strong convection in both directions; complex: with an
 *  imaginary shift of the diagonal. Rows carry random scales between 1/2 and 2. */
struct problem convection(int64_t side, bool complex_shift, uint64_t seed);
/** About `row` entries beside the diagonal anywhere in a row, symmetric pattern, the diagonal 0.6 of the row's sum. */
struct problem scattered(int64_t n, int64_t row, bool complex_values, uint64_t seed);

#endif
