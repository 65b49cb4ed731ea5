/* Preconditioners M of a sparse A: diagonals, tridiagonal parts along paths, operator splittings, incomplete
 * factorizations. One plan type for every method. (Klein 2024, Section 4.6 and Chapter 5; the equations below are its.)
 *
 *     analyse (pattern) -> numeric (values, as often as they change) -> apply X := alpha op(M)^-1 B
 *
 * A stands in analyse and numeric only: what apply needs of it is copied. Applications of a plan may run in several
 * threads at once, each with a work of its own, as solves of the other plans (core.h).
 *
 * On a GPU an apply runs there, asynchronous and without allocation, and can be captured in a CUDA graph; one that has
 * been captured is replayed with the values of later numerics (not of ILUT, MULTILEVEL, of ALG_TRI_BLOCK with new
 * forests, or with another m). The pattern is analysed on the host. Numeric synchronizes. It runs on the GPU for
 * diagonals, for factors along paths, with forests found there, and for ILU0, ILUK and IC0 without a shift whose rows
 * have few levels. It runs on the host, from a copy of the values, for MOS_A if it is exact_inverse, its pattern is
 * GIVEN, a row has more than 1024 entries, or pivots of a factor's paths lose half of their digits without row
 * exchanges; of the other splittings for patterns MAX_N and MAX_T and for forests that `coverage` ends; for MULTILEVEL,
 * and the other incomplete factors. check, and what is asked for of
 * factors that a GPU has made, copy values to the host and factor there. Paths are solved by trine_gtsv: a singular
 * factor gives numbers that are huge or not finite, and NaN in one path may reach others. */
#ifndef TRINE_PRECOND_H
#define TRINE_PRECOND_H

#include <trine/forest.h>
#include <trine/matrix.h>
#include <trine/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_precond_s *trine_precond;

/* unit(x) = x/|x|, and 1 of 0. s_i = the sum of |a_ij| over j != i. */
typedef enum {
    TRINE_PRECOND_AUTO,     /* chosen in analyse from the values of A, which it must have; info.reason says why */
    TRINE_PRECOND_DIAGP0,   /* Jacobi: M = diag(A) (Eq. 39) */
    TRINE_PRECOND_DIAGP1,   /* m_ii = unit(a_ii) max(|a_ii|, s_i) (Eq. 40) */
    TRINE_PRECOND_DIAGP2,   /* m_ii = unit(a_ii) (|a_ii| + s_i) (Eq. 41) */
    TRINE_PRECOND_L1,       /* l1-Jacobi: m_ii = a_ii + s_i (Eq. 42) */
    TRINE_PRECOND_TRIDIAG,  /* the three middle diagonals of A as it stands */
    TRINE_PRECOND_ALG_TRI, /* the diagonal of A and its entries along a linear forest's paths (AlgTriScalPrecond) */
    TRINE_PRECOND_ALG_TRI_BLOCK, /* 2 x 2 blocks of pairs, and between pairs along the paths of the coarse forest */
    TRINE_PRECOND_ALT_O, /* m splittings M_l = A along the l-th forest, for one step each of a flexible Krylov method
                            (Eqs. 29, 35, 72): trine_precond_part. Itself applied only if m = 1 */
    TRINE_PRECOND_ALT_I, /* x := M_0^-1 b, then x := x + M_l^-1 (b - A x), l = 1..m-1 (Eqs. 28, 30, 72) */
    TRINE_PRECOND_MOS_D, /* M = T M_{m-1} ... M_0, constructed from A's entries along disjoint forests (Eqs. 57-67) */
    TRINE_PRECOND_MOS_A, /* the same form, constructed from what the factors before leave of A (Eqs. 68, 69, 74-76) */
    TRINE_PRECOND_ADI, /* ALT_I with the lines in x and in y of an nx x ny grid, x fastest: each line's entries and
                          A's whole diagonal (Section 5.3.4) */
    TRINE_PRECOND_PRODUCT, /* operators of the caller's: trine_precond_product alone makes these */
    /* M = L U or L L^H, whose triangles are solved exactly. A's diagonal must be there, zero or not. */
    TRINE_PRECOND_ILU0, /* incomplete LU: (L U)_ij = a_ij on A's pattern */
    TRINE_PRECOND_ILUK, /* the same on A's pattern and fill up to level fill_level (Saad 2003, Section 10.3.3) */
    TRINE_PRECOND_ILUT, /* with threshold: drop_tolerance, row_entries (Saad 1994). Every numeric makes a new pattern,
                           and allocates; so does the first apply after it, with each work. On one thread */
    TRINE_PRECOND_IC0, /* incomplete Cholesky on the pattern of the lower triangle, which alone is read */
    TRINE_PRECOND_ISAI, /* ILU0 whose triangles T are solved by `sweeps` steps y := y + W (z - T y) from y = 0, with
                           W T = I on the pattern of T */
    TRINE_PRECOND_MULTILEVEL, /* a V-cycle of smoothed aggregation: aggregates are pairs of pairs of strongly coupled
                                 rows, by [0,1]-factors; smoothing is `sweeps` steps of l1-Jacobi before and after the
                                 next level. For A with a positive definite Hermitian part, diffusion above all. Every
                                 numeric makes its levels anew, of the same aggregates with REUSE_FORESTS, and
                                 allocates, on the host; so does the first apply after it, with each work */
    TRINE_PRECOND_METHODS /* how many there are */
} trine_precond_method;

/** Which entries of a matrix count (Eqs. 49, 50); the diagonal always does. Rows choose for themselves; of equal
 *  entries those of lower columns. */
typedef enum {
    TRINE_PATTERN_AUTO, /* MOS_A: as many off-diagonal entries a row as A has there; else all */
    TRINE_PATTERN_MAX_N, /* the pattern_entries largest off-diagonal ones (MOS_A: or as many as A has) */
    TRINE_PATTERN_MAX_T, /* those with |a_ij| >= pattern_threshold max_k |a_ik| (MOS_A: at most as many as A has) */
    TRINE_PATTERN_GIVEN /* those of pattern_matrix */
} trine_pattern;

typedef enum {
    TRINE_REUSE_FORESTS, /* keep forests (and ILUT's pattern, if the method says so) that an earlier numeric has made */
    TRINE_REUSE_NOTHING
} trine_reuse;

/** NULL or zeroed: AUTO. Members that the method does not know are not looked at. */
typedef struct {
    trine_precond_method method;
    unsigned ops; /* that apply may ask for; 0 = TRINE_N */
    int64_t max_nrhs; /* what the plan's own work is made for; 0 = 1 */

    /* forests and splittings */
    int m; /* factors, 1..32, at most so many with coverage > 0; 0 = 4 (ADI: 2, and nothing else) */
    double omega; /* edges of a forest count omega times their weight in the next one (Eq. 71); 0 = automatic:
                     0.01 of ALT_O and ALT_I, of MOS_D 0: with omega > 0 an edge's entries belong to its
                     first forest alone. < 0 stands for 0 */
    double coverage; /* > 0: stop at the first l where the forests' entries and the diagonal are this part of
                        the sum of all |a_ij| (MOS_A: the diagonal of B_l, of B_l), or where that grows by less
                        than `stagnation` (Sections 5.2.2, 5.2.3); 0 = m factors */
    double stagnation; /* 0 = 0.01; < 0: no such end */
    trine_pattern pattern; /* ALT_O, ALT_I, MOS_D, ALG_TRI: the entries that edges are made of (S_0 of Eq. 66).
                              MOS_A: what is kept of each B_l, l > 0 (S^B_l) */
    int pattern_entries;
    double pattern_threshold;
    trine_matrix pattern_matrix; /* n x n; read in analyse */
    int exact_inverse; /* MOS_A, 1: all entries of B_l M_l^-1 are candidates, not only those within two path
                          positions of an entry of B_l; set-up in O(N^2) if paths are long */
    int homogeneous; /* MOS_A, 1: constructed from diagp1(A)^-1 A, so that scaling rows of A scales M. 0: as in the
                        thesis, for rows of like size: where they differ by many orders of magnitude, T is of no use,
                        and solvers stagnate. AUTO sets it */
    trine_factor_rounds forest; /* n is not looked at */
    int64_t nx, ny; /* ADI: the grid; nx ny = n */

    /* incomplete factorizations */
    int fill_level; /* ILUK; 0 = 1 */
    double drop_tolerance; /* ILUT: entries u_ij and l_ik u_kk below this part of the 2-norm of A's row i are dropped;
                              0 = 1e-3 */
    int64_t row_entries; /* ILUT: the largest off-diagonal entries of a row that stay, in either triangle; 0 = 20 */
    double shift; /* added to a_ii, times the largest |a_ij| of the row (IC0: of its lower triangle), with the sign of
                     a_ii (1 of 0), against zero pivots; 0 = none */
    int sweeps; /* ISAI, MULTILEVEL; 0 = 1 */
    int64_t expected_solves; /* applications of ILU0, ILUK, ILUT and IC0 with this plan, by which the triangular plans
                                choose their method (triangular.h); 0 = 1000 (ILUT: 100), or 1 with max_nrhs > 1 */
    int64_t reserved[7]; /* zeros */
} trine_precond_options;

/** Pattern of the square A (CSR or CSC, host or device, without duplicates), copied. options NULL = automatic. May
 *  synchronize. Allocates all that numeric and apply need, unless the method says that its patterns depend on values
 *  (MOS_A, ILUT).
 *  TRINE_ERR_STRUCTURE: not square, offsets or indices that do not fit, duplicates (names the row).
 *  TRINE_ERR_ARGUMENT: options that make no sense. TRINE_ERR_UNSUPPORTED: an op that the method lacks */
TRINE_API trine_status trine_precond_analyse(trine_context ctx, trine_precond *plan, trine_matrix A,
                                             const trine_precond_options *options);
/** Upper bounds of what trine_precond_analyse takes with the same arguments, without what numeric allocates (MOS_A's
 *  forests meanwhile; ILUT's factors, MULTILEVEL's levels and their plans). Makes the host's part of the analysis: A is
 *  read, of AUTO its values too. May synchronize. */
TRINE_API trine_status trine_precond_memory(trine_context ctx, trine_matrix A, const trine_precond_options *options,
                                            trine_memory *memory);

/** Take values: nnz of them, in A's order, of A's dtype, in `space`. NULL = the values of the A given to analyse, which
 *  must still be alive. Zero and NaN pivots are noted for check, and give results that are not finite (on a GPU: see
 *  above); on a CPU apply refuses those of ALG_TRI_BLOCK (TRINE_ERR_SINGULAR).
 *  TRINE_ERR_STATE: beside another thread's apply. */
TRINE_API trine_status trine_precond_numeric(trine_precond plan, trine_space space, const void *values,
                                             trine_reuse reuse, const trine_exec *exec);
/** TRINE_ERR_SINGULAR (IC0: _NOT_DEFINITE) with the row of the first zero pivot of the last numeric, TRINE_ERR_ARGUMENT
 *  of a NaN or Inf in its values. Zero pivots of ALG_TRI_BLOCK are not seen on a GPU. Checks the triangular plans of
 *  factors as well (triangular.h; TRINE_ERR_MEMORY). Synchronizes. TRINE_ERR_STATE before numeric. */
TRINE_API trine_status trine_precond_check(trine_precond plan, const trine_exec *exec);

/** One more application in flight, of up to nrhs vectors; as trine_tridiagonal_work. */
TRINE_API trine_status trine_precond_work(trine_precond plan, int64_t nrhs, void *buffer, size_t *bytes,
                                          trine_work *work);
/** X := alpha op(M)^-1 B for n x nrhs vectors of A's dtype; B == X (same data, ld, layout) is allowed, other overlap is
 *  not. alpha: host scalar, NULL = 1. Allocates nothing. NaN and Inf flow through. TRINE_ERR_STATE: before numeric, an
 *  op that was not announced, more vectors than the work was made for, beside another thread's apply with the same work
 *  or its numeric. TRINE_ERR_UNSUPPORTED: ALT_O with m > 1. */
TRINE_API trine_status trine_precond_apply(trine_precond plan, trine_transpose op, const void *alpha,
                                           const trine_dense *B, const trine_dense *X, const trine_exec *exec);
/** The operator op(M)^-1 (operator.h). Keeps the plan alive; new values show through. */
TRINE_API trine_status trine_precond_as_op(trine_precond plan, trine_op *op);

/** The operator op(M_l)^-1 of one factor, 0 <= l < info.m, of a method that has factors (TRIDIAG, ALG_TRI, ALT_O,
 *  ALT_I, MOS_D, MOS_A, ADI); keeps the plan alive. After the first numeric, which says how many there are. Of MOS_D
 *  and MOS_A the last factor is T M_{m-1}: M is the product of all. */
TRINE_API trine_status trine_precond_part(trine_precond plan, int l, trine_op *op);
/** Factor l of these methods: bands in path order, n elements each (a[i] of row permutation[i] and column
 *  permutation[i-1], b[i] its diagonal, c[i] of column permutation[i+1]), on the host. Any output may be NULL. After
 *  numeric. */
TRINE_API trine_status trine_precond_get_factor(trine_precond plan, int l, void *a, void *b, void *c,
                                                int32_t *permutation);
/** The diagonal T (of a diagonal method: M itself), n elements on the host; after numeric. TRINE_ERR_UNSUPPORTED: the
 *  method has none. */
TRINE_API trine_status trine_precond_get_diagonal(trine_precond plan, void *T);

/** The factors of ILU0, ILUK, ILUT and ISAI: L and U in one matrix in compressed rows with ascending columns, L's unit
 *  diagonal not stored; of IC0: L. n + 1 offsets, nnz columns and values of A's dtype, on the host, which belong to the
 *  plan and are valid until its next numeric. Any output may be NULL. After numeric. TRINE_ERR_UNSUPPORTED: another
 *  method. */
TRINE_API trine_status trine_precond_get_triangles(trine_precond plan, int64_t *nnz, const int64_t **offsets,
                                                   const int32_t **columns, const void **values);

/** M = (T + M'_{m-1}) T^-1 (T + M'_{m-2}) T^-1 ... T^-1 (T + M'_0) (Eq. 37) of operators: inverse_factors[l] applies
 *  (T + M'_l)^-1. T: n elements of the factors' dtype in the context's space, copied. Needs no numeric, and has none.
 *  ops: those that all factors have. */
TRINE_API trine_status trine_precond_product(trine_context ctx, trine_precond *plan, const void *T, int m,
                                             const trine_op *inverse_factors, int64_t max_nrhs);

enum { TRINE_PRECOND_MAX_M = 32 };
/** Sums of |a_ij| (Eqs. 53, 54), in double. */
typedef struct {
    int m; /* factors */
    double diagonal; /* coverage of A by its diagonal */
    double coverage[TRINE_PRECOND_MAX_M]; /* of A by the diagonal and the forests 0..l; of MOS_A NaN */
    double c_diag[TRINE_PRECOND_MAX_M + 1]; /* MOS_A: c_diag(B_l), l = 0..m; else NaN */
    double R_norm; /* ||M - A|| / ||A||, Frobenius (Eqs. 63, 64), of MOS_D and MOS_A, from sparse products of m
                      factors; else NaN */
    int64_t reserved[4]; /* zeros */
} trine_precond_diagnosis;
/** After numeric. Takes the time of a product of m + 1 sparse matrices. Synchronizes. */
TRINE_API trine_status trine_precond_diagnose(trine_precond plan, trine_precond_diagnosis *diagnosis);

typedef struct {
    int64_t n, nnz; /* of A */
    int64_t bytes; /* kept by the plan, without its work */
    double analyse_seconds, numeric_seconds;
    trine_precond_method method; /* not AUTO */
    const char *reason; /* one clause: why this method, and why m factors */
    int m; /* factors of the last numeric; 0: none, or not yet */
    int64_t factor_entries; /* of incomplete factors; of MULTILEVEL's coarse matrices and transfers; 0: none */
    int deterministic; /* bitwise the same every run; 1 on a CPU */
    int64_t levels; /* MULTILEVEL: of the last numeric, A's own included; else 0 */
    int64_t reserved[3]; /* zeros */
} trine_precond_info;
TRINE_API trine_status trine_precond_get_info(trine_precond plan, trine_precond_info *info);
TRINE_API const char *trine_precond_method_name(trine_precond_method method); /* "diagp0", ..., "unknown" */
TRINE_API trine_status trine_precond_destroy(trine_precond *plan);

#ifdef __cplusplus
}
#endif
#endif
