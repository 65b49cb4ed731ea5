/* What the tests of factorizations and direct solves share: matrices, the L U identity, and solves judged by
 * products in long double and by LAPACK's dense solve. */
#ifndef TRINE_DIRECT_SUPPORT_H
#define TRINE_DIRECT_SUPPORT_H

#include <trine/direct.h>

#include "elements.h"
#include "harness.h"

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

extern const trine_direct_method methods[6];
extern const trine_transpose ops[3];
extern const trine_layout layouts[2];
bool is_cholesky(trine_direct_method method);  /* L L^H: no U */
bool is_relaxed(trine_direct_method method);   /* UMFPACK and KLU: pivots of a tenth of the largest are taken */
bool is_hermitian(trine_direct_method method); /* that and L D L^H: for Hermitian matrices */

/** A random matrix with about `row` entries a row, with a dominant diagonal. hermitian: positive definite.
 *  Unsymmetric ones have their rows rotated by one, so that the diagonal is mostly zero and pivoting has work to do. */
trine_matrix random_matrix(trine_context ctx, trine_dtype t, int64_t n, int row, bool hermitian, uint64_t seed);

/** From entries (i, j, v), row by row. */
struct entry {
    int32_t i, j;
    double v;
};
trine_matrix matrix_of(trine_context ctx, int64_t n, int count, const struct entry *entries);
#define MATRIX(ctx, n, ...)                                                                \
    matrix_of(ctx, n, (int)(sizeof((struct entry[]){__VA_ARGS__}) / sizeof(struct entry)), \
              (struct entry[]){__VA_ARGS__})

/** B = D A D^H with D a random phase and a random scale: same pattern, other values; Hermitian stays Hermitian. */
trine_matrix rescaled(trine_context ctx, trine_matrix A, uint64_t seed);
/** B = D_r A D_c of type t, with a random phase a row and a column; D_c = D_r^H keeps a Hermitian matrix one. Real
 *  types: a copy. */
trine_matrix with_phases(trine_matrix A, trine_dtype t, bool hermitian);

/** diag(r) A(p,q) diag(c) = L U, column after column: |difference| <= 4 n eps |L||U|, the bound of a backward stable
 *  factorization (Higham 2002, theorem 9.3), plus n times the smallest normal number for underflow. */
void assert_identity(trine_factor F, trine_matrix A);
/** The panels of both triangles hold what the triangles hold. */
void assert_panels(trine_factor F);

/** One solve with a random right-hand side of nrhs columns in the given layout and ld; the solution, packed
 *  column-major, goes to x and the right-hand side to b. Storage that the call must not touch is checked. */
void solve(trine_context ctx, trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs,
           trine_layout layout, bool in_place, void *b, void *x);
/** The same with a trine_exec. */
void solve_with(trine_context ctx, trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs,
                trine_layout layout, bool in_place, void *b, void *x, const trine_exec *exec);
/** All ops, and orders of summation that are fixed on every device. */
trine_direct_options options_of(trine_direct_method method, trine_direct_solver solver, int refine, int64_t max_nrhs);
bool has_panels(trine_direct_method method);
/** A work, in memory of its own, or in a buffer with `more` bytes than it needs, in *room of the context's space;
 *  end_work releases both. */
trine_work make_work(trine_context ctx, trine_direct plan, int64_t nrhs, bool in_buffer, size_t more, void **room);
void end_work(trine_context ctx, trine_work *work, void *room);
/** Of op(A) x = b: trine_matrix_accuracy, in eps. */
double backward_error(trine_matrix A, trine_transpose op, int64_t nrhs, const void *x, const void *b);
/** x against the dense solution in double complex: well-conditioned matrices only. */
void assert_like_lapack(trine_matrix A, trine_dtype t, trine_transpose op, int n, int nrhs, const void *x,
                        const void *b);

/** Skips the test if one of the matrices is not there; before anything is made that a skip would leak. */
#define NEED_MATRICES(names) do { for EACH(i_, names) test_real_matrix(names[i_]); } while (0)

#endif
