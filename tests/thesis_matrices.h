/* The test matrices of Klein 2024, Tables 4 (tridiagonal) and 6 (pentadiagonal), as ../shared/numerics defines them. */
#ifndef TRINE_THESIS_MATRICES_H
#define TRINE_THESIS_MATRICES_H

#include <stdbool.h>
#include <stdint.h>

/** Bands of matrix `id` of Table 4 (bands[0..2]: below, diagonal, above) or of Table 6 (bands[0..4], from the lowest
 *  on), n elements each, zero outside the matrix. False for 8 to 11, which are made from singular values: those are
 *  in files. */
bool make_table4(int id, uint64_t seed, int64_t n, double *bands[3]);
bool make_table6(int id, uint64_t seed, int64_t n, double *bands[5]);

/** N(3,1) */
void make_solution(uint64_t seed, int64_t n, double *x);

#endif
