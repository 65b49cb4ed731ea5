/* Triangles for tests of panels, and a judge of solves with them. */
#ifndef TRINE_PANELS_SUPPORT_H
#define TRINE_PANELS_SUPPORT_H

#include "core/internal.h"
#include "elements.h"
#include "harness.h"

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)
extern const trine_transpose ops[3]; /* N, T, H */

/** A random n x n matrix in CSR: clusters of rows share most of their columns, as supernodes do. which: the entries
 *  on that side of the diagonal only, or (AUTO) on both. Off-diagonal entries are small against the diagonal. */
trine_matrix random_triangle(trine_context ctx, trine_dtype t, int64_t n, trine_uplo which, uint64_t seed);
/** |b - op(T) x| <= 4 (n + 4) eps (|op(T)| |x| + |b|) in every row, with T the triangle `uplo` of the CSR matrix A. */
void assert_solved(trine_matrix A, trine_uplo uplo, trine_diag diag, trine_dtype t, trine_transpose op, int64_t nrhs,
                   const void *x, const void *b);

#endif
