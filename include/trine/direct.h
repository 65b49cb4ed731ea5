/* Direct solves on factors of well-kept libraries (CHOLMOD, KLU, SuperLU, UMFPACK); the triangular solves are trine's
 * own.
 * Header of the optional library libtrine_direct, which (unlike libtrine) links GPL code: CHOLMOD's supernodal
 * module, UMFPACK. */
#ifndef TRINE_DIRECT_H
#define TRINE_DIRECT_H

#include <trine/matrix.h>
#include <trine/operator.h>
#include <trine/supernodal.h>
#include <trine/triangular.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRINE_DIRECT_AUTO,                 /* By structure, a symbolic count and a trial solve
                                          (docs/howto/choosing-a-factorization.md): Cholesky if Hermitian with a
                                          positive diagonal; LDL^H if Hermitian with a diagonal without zeros, and
                                          sparse; else LU. info.reason says why */
    TRINE_DIRECT_CHOLESKY,             /* CHOLMOD, supernodal LL^H; the densest rows of L summed again in long double
                                          (docs/explanation/factorizations.md) */
    TRINE_DIRECT_CHOLESKY_SIMPLICIAL,  /* CHOLMOD, simplicial LL^H */
    TRINE_DIRECT_LU,                   /* SuperLU, partial pivoting; UMFPACK where SuperLU's 32-bit indices do not
                                          suffice, or SuperLU was loaded before this library
                                          (docs/explanation/factorizations.md) */
    TRINE_DIRECT_LU_UMFPACK,           /* UMFPACK, with its row scaling, and a symmetric or an unsymmetric strategy as
                                          the pattern is */
    TRINE_DIRECT_LU_KLU,               /* KLU: block triangular form, and no dense blocks; for circuits and power
                                          grids. New values keep the pivots where these still do */
    TRINE_DIRECT_LDL,                  /* CHOLMOD, simplicial L D L^H without pivoting, D of both signs: for
                                          quasidefinite matrices. TRINE_ERR_NOT_DEFINITE: a pivot is zero */
    TRINE_DIRECT_CUDSS                 /* NVIDIA cuDSS on a GPU, loaded at run time; see below */
} trine_direct_method;
typedef enum {
    TRINE_ORDERING_AUTO,
    TRINE_ORDERING_METIS,
    TRINE_ORDERING_AMD,
    TRINE_ORDERING_COLAMD,
    TRINE_ORDERING_NATURAL,
    TRINE_ORDERING_GIVEN /* by options.permutation, which asks for it by itself */
} trine_ordering;
/* TRINE_DIRECT_CUDSS: ordering, factorization and solve are those of cuDSS 1. Its factors stay there: no permutations,
 * triangles or panels. Vectors are in double precision and X by columns; solves may allocate, go one at a time, and are
 * not for CUDA graphs. TRINE_ERR_NOT_BUILT: it cannot be loaded; TRINE_ERR_UNSUPPORTED: a context on the CPU. */
TRINE_API const char *trine_direct_method_name(trine_direct_method method); /* "cholesky", ... */
TRINE_API const char *trine_ordering_name(trine_ordering ordering);

/* ------------------------------------------------------- a factor, borrowed */

/** Factorization of a host matrix, held by the library that made it:
 *      diag(row_scale) A(row_perm, col_perm) diag(col_scale) = L U, with both scales indexed AFTER permutation
 *  (Cholesky: row_perm = col_perm, U = L^H is not stored). Computed in double (complex), whatever A's dtype. One
 *  thread at a time: updates of a factor, and of the plans that share it, are the caller's to put one after another. */
typedef struct trine_factor_s *trine_factor;

typedef struct {
    trine_direct_method method;
    trine_ordering ordering;
    double pivot_threshold; /* LU: 0 = the library's default (SuperLU 1.0: partial pivoting; UMFPACK 0.1; KLU 0.1) */
    int keep_zeros; /* reserved for the supernode partition: 0 */
    int need_panels; /* AUTO: 1 = a factor with supernodal panels. A plan with TRINE_SOLVER_SUPERNODAL asks for
                        it by itself */
    const int32_t *permutation; /* the order of the columns (Cholesky and LDL^H: and rows), n of them, which is copied:
                                   column permutation[k] of A is the k-th. NULL: ordering says how it is found */
    int64_t reserved[3]; /* zeros */
} trine_factor_options;

/** Order and factor the square host matrix A. Synchronous. TRINE_ERR_STRUCTURE: arrays that do not fit (as
 *  trine_matrix_check), a value that is not finite, Cholesky or LDL^H asked for and A not Hermitian.
 *  TRINE_ERR_NOT_DEFINITE: Cholesky broke down, or LDL^H met a zero (names the column). TRINE_ERR_SINGULAR: an exactly
 *  zero pivot or a structurally singular matrix (names the column or row). Both may be rounding's doing where the
 *  matrix is ill-conditioned or badly scaled. TRINE_ERR_NO_CONVERGENCE: numbers left the range of double precision on
 *  the way; scale the matrix. TRINE_ERR_MEMORY: the factor does not fit; SuperLU,
 *  which by itself ends the process then, does not (docs/explanation/factorizations.md). AUTO falls back as its
 *  comment says and logs it. */
TRINE_API trine_status trine_factor_create(trine_context ctx, trine_factor *F, trine_matrix A,
                                           const trine_factor_options *options);
/** New values on the same pattern (same nnz and order of entries): the ordering and symbolic part are used again.
 *  TRINE_ERR_UNSUPPORTED: the factor was taken from the caller's program. */
TRINE_API trine_status trine_factor_update(trine_factor F, trine_matrix A);

typedef struct {
    int64_t n, nnz_matrix, nnz_L, nnz_U; /* explicit entries, diagonals included; Cholesky: nnz_U = nnz_L;
                                            nnz_matrix = 0 where A is not known */
    double fill; /* (nnz_L + nnz_U - n) / nnz(A), both triangles counted; 0 likewise */
    trine_direct_method method;
    trine_ordering ordering;
    trine_dtype dtype; /* of the factor: TRINE_D or TRINE_Z; TRINE_S or TRINE_C as well where
                          SuperLU's was taken */
    trine_diag diag_L; /* UNIT for LU and LDL^H, NONUNIT for Cholesky */
    double order_seconds, factor_seconds; /* ordering, and where symbolic_seconds is 0 the symbolic part; numeric
                                             part */
    const char *reason; /* one clause: why this method; valid until the factor's next update, or its end */
    double symbolic_seconds; /* CHOLMOD; the other libraries do not tell it from the ordering */
    double trial_error; /* backward error of a trial solve after `refine` steps of refinement, or
                           a bound of it below 10, in eps of F's dtype; -1: Cholesky and SuperLU,
                           of which none is made. New values for which KLU's pivots are as good
                           as they were, by the growth of L and U, keep their last trial's */
    int64_t refine; /* steps of refinement that it took to come to 10 eps; a plan makes as
                       many */
    int64_t reserved[1]; /* zeros */
} trine_factor_info;
TRINE_API trine_status trine_factor_get_info(trine_factor F, trine_factor_info *info);

/** The parts as the library holds them, borrowed while F lives (any output may be NULL; a part that is not there
 *  gives NULL): row_perm, col_perm: n each; row_scale, col_scale: doubles, n each, in the permuted order. */
TRINE_API trine_status trine_factor_get_permutations(trine_factor F, const int32_t **row_perm, const int32_t **col_perm,
                                                     const double **row_scale, const double **col_scale);
/** L (TRINE_LOWER) or U (TRINE_UPPER) as a CSC matrix on the host, explicit zeros of the panels left out (but never a
 *  diagonal; KLU's stay); Cholesky's U is refused: use op TRINE_H on L. The caller owns it. */
TRINE_API trine_status trine_factor_get_triangle(trine_factor F, trine_uplo which, trine_matrix *T);
/** The supernodal panels of L (TRINE_LOWER), or of U^T (TRINE_UPPER, LU only: U^T is lower triangular, and op T of a
 *  supernodal plan solves with U). L's are the library's own arrays; U^T's are made at the first call, on the
 *  supernodes of L: a panel's row list is the union of the columns in which its rows of U have entries.
 *  TRINE_ERR_UNSUPPORTED for simplicial factors, UMFPACK and KLU; TRINE_ERR_MEMORY says how much the panels of U^T
 *  need. */
TRINE_API trine_status trine_factor_get_panels(trine_factor F, trine_uplo which, trine_panels *panels);
TRINE_API trine_status trine_factor_destroy(trine_factor *F);

/* ------------------------------------- factors that the caller's own program made */

/** F from a factor that the caller made with CHOLMOD: P A P^T = L L^H supernodal, or L L^H or L D L^H simplicial; real
 *  or complex, of int or long indices, in double. All of it is copied, L may go at once. F has permutations, panels
 *  (supernodal) and triangles as above; an L D L^H has unit L and U = D L^H, whose triangle trine_factor_get_triangle
 *  gives with TRINE_UPPER. A simplicial factor has no panels; trine_panels_detect finds some in its triangle. Solve
 *  with trine_direct_create_from_factor, or with trine_supernodal or trine_triangular alone. `L` is the library's
 *  cholmod_factor, of the CHOLMOD that libtrine_direct was built with (5.12: version 3 of the library's interface); no
 *  header of it is needed here.
 *  TRINE_ERR_ARGUMENT: a symbolic factor. TRINE_ERR_NOT_DEFINITE: its factorization broke down (L->minor < n).
 *  TRINE_ERR_STRUCTURE: arrays that do not fit. TRINE_ERR_UNSUPPORTED: single precision. */
struct cholmod_factor_struct;
TRINE_API trine_status trine_factor_from_cholmod(trine_context ctx, trine_factor *F,
                                                 const struct cholmod_factor_struct *L);
/** F from factors that the caller made with SuperLU (SLU_SC and SLU_NC) or SuperLU_MT (SLU_SCP and SLU_NCP), in S, D, C
 *  or Z, with int indices: L and U point to the SuperMatrix structures that dgstrf, dgssv or dgssvx filled, perm_r and
 *  perm_c are SuperLU's own (n each: row i of A became row perm_r[i]; NULL = identity), R and C the scales of dgssvx, n
 *  numbers of the values' real type, NULL where its `equed` says that rows or columns were not scaled:
 *      L U = (diag(R) A diag(C))(p, q), with p and q the inverses of perm_r and perm_c,
 *  where A is the matrix by columns that was factored (SuperLU's drivers factor A^T of one stored by rows). All of it
 *  is copied. F has the dtype of L and U.
 *  TRINE_ERR_ARGUMENT: L or U of other kinds, no permutation. TRINE_ERR_STRUCTURE: arrays that do not fit. */
TRINE_API trine_status trine_factor_from_superlu(trine_context ctx, trine_factor *F, const void *L, const void *U,
                                                 const int *perm_r, const int *perm_c, const void *R, const void *C);

/* ------------------------------------------------- the whole solve as a plan */

typedef struct trine_direct_s *trine_direct;

typedef enum {
    TRINE_SOLVER_AUTO, /* LIBRARY where that can be and few solves are expected (triangular.expected_solves). Else
                          SUPERNODAL where the factor has panels, there is memory for them, and on a CPU they have
                          16 entries on average, and on one thread columns are long. Not if `triangular` asks for
                          a method, or on a GPU for a fixed order of summation. Else GENERAL; info.reason says
                          why. On a GPU, where nothing is asked of the factorization, LU whose panels cannot be
                          inverted or make hundreds of levels is factored anew by UMFPACK, for GENERAL or,
                          for 8 right-hand sides and more, panels found in that factor */
    TRINE_SOLVER_SUPERNODAL, /* trine_supernodal on the factor's panels. Where supernodal.invert is AUTO and panels
                                are inverted (on a GPU), a trial solve with each op at set-up decides: with a backward
                                error above 10 eps (LU: 4) nothing is inverted in triangles that had some panels
                                inverted, then nothing at all; info.reason says so */
    TRINE_SOLVER_GENERAL, /* trine_triangular on the factor's entries */
    TRINE_SOLVER_LIBRARY /* that of the library which factored: for few solves with one factor, which do not pay for
                            plans of triangles. On a CPU in double precision by CHOLMOD, KLU and UMFPACK, one solve at
                            a time, which may allocate; where that cannot be, as AUTO. TRINE_DIRECT_CUDSS has no other.
                            Not of a factor made before (trine_direct_create_from_factor) */
} trine_direct_solver;

typedef struct {
    trine_factor_options factor;
    trine_triangular_options triangular; /* method, summation (of either solver), max_nrhs (of the plan's own work) and
                                            expected_solves are used; the rest is set by the factor. expected_solves:
                                            with each factor, that is until the next update, of max_nrhs right-hand
                                            sides each; 0 = 100. If plans of triangles cost more than they save in so
                                            many, AUTO takes LIBRARY, unless a method, a summation, inverted panels or
                                            panels in single precision are asked for */
    unsigned ops; /* mask of op(A) to be solved; 0 = TRINE_N; with real numbers T and H are
                     one */
    int refine; /* steps of iterative refinement in A's dtype, residuals summed to about
                   twice its precision; the plan then keeps op(A) as CSR in the context's
                   space. At least as many as the factor's trial solve took
                   (trine_factor_info.refine) are made. -1: none, whatever the trial solve took, as
                   suits a preconditioner */
    trine_direct_solver solver;
    trine_supernodal_options supernodal; /* of SUPERNODAL; triangular.max_nrhs holds for both */
    int64_t reserved[4]; /* zeros */
} trine_direct_options;

/* The memory of a direct plan is not known before the factorization, in which LU chooses its pivots. With a factor
 * the greatest part of it can be told: trine_supernodal_memory of trine_factor_get_panels, or
 * trine_triangular_memory of trine_factor_get_triangle. */

/** Order, factor (on the host) and set up the triangular plans on ctx's device. A: host, any format and dtype, of
 *  this or another context; kept by reference, and where the library that factors solves too, its arrays may be read
 *  instead of a copy.
 *  Errors as of trine_factor_create, and for A in single precision (or supernodal.single) TRINE_ERR_NO_CONVERGENCE
 *  or TRINE_ERR_SINGULAR where the factor, which is in double, has entries beyond that range or pivots that it makes
 *  zero; with supernodal.single also where trial solutions leave the range; with TRINE_DIRECT_CUDSS where its solves
 *  stay above 10 eps, three steps of refinement or not. TRINE_ERR_NO_CONVERGENCE also where the factor's trial solve,
 *  refined, ends with a backward error above 1e-10, as that of an LDL^H which was asked for by name may, where pivots
 *  would have been needed; not with refine = -1. */
TRINE_API trine_status trine_direct_create(trine_context ctx, trine_direct *plan, trine_matrix A,
                                           const trine_direct_options *options);
/** The same with a factor that is there: F is A's, is kept by reference (an update of this plan updates it), and
 *  options->factor is not used. Several plans may share one factor. A is checked as by trine_factor_create, and is
 *  of the factor's precision or another; NULL: vectors are of the factor's dtype and A is what F was made of; of a
 *  factor that was taken from the caller's program nobody knows it, and the plan cannot refine and makes no trial
 *  solve. */
TRINE_API trine_status trine_direct_create_from_factor(trine_context ctx, trine_direct *plan, trine_factor F,
                                                       trine_matrix A, const trine_direct_options *options);
/** New values on the same pattern; works that are there solve with them. On a GPU in order on the context's stream:
 *  what solves have put on other streams must have ended, and CUDA graphs that hold solves are to be captured again.
 *  TRINE_ERR_STATE: beside another thread's solve. TRINE_ERR_UNSUPPORTED: the factor was taken from the caller's
 *  program (trine_direct_replace_factor). */
TRINE_API trine_status trine_direct_update(trine_direct plan, trine_matrix A);
/** Go on with another factor F of the same order, of A (NULL as in trine_direct_create_from_factor; the plan's dtype
 *  stays): new values that the caller's program has factored. Where the structure of F's triangles is that of the
 *  last one, nothing is analysed anew. */
TRINE_API trine_status trine_direct_replace_factor(trine_direct plan, trine_factor F, trine_matrix A);
/** One more solve in flight, of up to nrhs right-hand sides (more or fewer than max_nrhs): room for permuted right-hand
 *  sides and, where the plan refines, residuals, and works of both triangular solves. Threads with a work each solve
 *  with one plan at the same time; where the plan's solves are bitwise the same every time, theirs are too. Keeps the
 *  plan alive, and fits no other. Ended by trine_work_destroy. buffer NULL and work NULL: only *bytes is set. buffer
 *  NULL: memory of the context's allocator; bytes may then be NULL. Else `buffer` (the context's space, *bytes long,
 *  256-byte aligned) is used and must outlive the work. May synchronize. After trine_direct_update or
 *  trine_direct_replace_factor a work solves with the new values. Where these changed the structure of the factor, its
 *  part of the triangular solves is made anew by that call, in the same buffer: if that has become too small, solves
 *  with the work are refused (TRINE_ERR_STATE) until the structure fits again.
 *  TRINE_ERR_ARGUMENT: a buffer that is too short or not aligned. TRINE_ERR_STATE: beside another thread's update,
 *  or after a failed one. */
TRINE_API trine_status trine_direct_work(trine_direct plan, int64_t nrhs, void *buffer, size_t *bytes,
                                         trine_work *work);
/** X := op(A)^-1 B, refined if asked, vectors of A's dtype in the context's space; B == X (same data, ld, layout) is
 *  allowed, other overlap is not. Runs trine's triangular solves only, never the factorization library's, but where
 *  info.solver is TRINE_SOLVER_LIBRARY. Asynchronous, allocates nothing (but on a CPU a copy of B, where X is B and
 *  the largest number of a column is not between 2^-500 and 2^300, or for S and C 2^-60 and 2^40). Runs with
 *  exec->work, or with the plan's own work, which is for one solve at a time and for max_nrhs right-hand sides. NaN and
 *  Inf flow through to their columns of X. TRINE_ERR_ARGUMENT: a work of another plan.
 *  TRINE_ERR_NO_CONVERGENCE, on a CPU: the solution of a column without them leaves the range of the precision, or A is
 *  singular to working precision; X is then of no use. On a GPU such a column of X is not finite.
 *  TRINE_ERR_STATE: beside another thread's solve with the same work (or also without one) or its update of the
 *  plan, an op not announced, more right-hand sides than the work was made for, a failed update. */
TRINE_API trine_status trine_direct_solve(trine_direct plan, trine_transpose op, const trine_dense *B,
                                          const trine_dense *X, const trine_exec *exec);
/** The operator op(A)^-1 (operator.h), refined as the plan's solves are: its op is the solve's; Y := alpha op(A)^-1
 *  X + beta Y. Has the ops that were announced. Keeps the plan alive, and new values show through. Its works hold
 *  one of the plan's each. */
TRINE_API trine_status trine_direct_as_op(trine_direct plan, trine_op *op);
typedef struct {
    trine_factor_info factor;
    trine_direct_solver solver; /* what runs: SUPERNODAL, GENERAL or LIBRARY */
    const char *reason; /* why; valid until the plan's next update */
    trine_triangular_info lower, upper; /* GENERAL; Cholesky without a plan for U: both L's. Else zeros */
    trine_supernodal_info lower_panels, upper_panels; /* SUPERNODAL: L and U^T; Cholesky: both L's. Else zeros */
    double analyse_seconds, numeric_seconds; /* of both triangular solves together */
    int deterministic; /* bitwise the same every run, as both triangular solves are */
    int64_t reserved[4]; /* zeros */
} trine_direct_info;
TRINE_API trine_status trine_direct_get_info(trine_direct plan, trine_direct_info *info);
/** trine_factor_get_permutations of the plan's factor, borrowed until the plan's next update or end: col_perm is what
 *  trine_factor_options.permutation takes, to order the next matrix of that pattern likewise. TRINE_ERR_STATE: after a
 *  failed update. */
TRINE_API trine_status trine_direct_get_permutations(trine_direct plan, const int32_t **row_perm,
                                                     const int32_t **col_perm, const double **row_scale,
                                                     const double **col_scale);
TRINE_API trine_status trine_direct_destroy(trine_direct *plan);

#ifdef __cplusplus
}
#endif
#endif
