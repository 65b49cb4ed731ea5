/* Krylov solvers of A x = b: A and the preconditioner M are operators (operator.h), so that both may be plans, callers'
 * functions, or anything put together of them. */
#ifndef TRINE_KRYLOV_H
#define TRINE_KRYLOV_H

#include <trine/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_krylov_s *trine_krylov;

typedef enum {
    TRINE_KRYLOV_AUTO, /* FGMRES if M varies or alternates, else GMRES */
    TRINE_KRYLOV_GMRES, /* restarted; any regular A (Saad and Schultz 1986) */
    TRINE_KRYLOV_FGMRES, /* the same for an M that varies from call to call (Saad 1993) */
    TRINE_KRYLOV_BICGSTAB, /* two products an iteration, no basis; any regular A (van der Vorst 1992) */
    TRINE_KRYLOV_CG, /* Hermitian positive definite A and M (Hestenes and Stiefel 1952) */
    TRINE_KRYLOV_MINRES /* Hermitian A, positive definite M (Paige and Saunders 1975) */
} trine_krylov_method;

typedef enum {
    TRINE_SIDE_AUTO, /* right */
    TRINE_SIDE_RIGHT, /* A M y = b, x = M y: residuals are those of A x = b */
    TRINE_SIDE_LEFT /* M A x = M b: GMRES and BiCGStab only */
} trine_krylov_side; /* CG and MINRES keep their symmetry with M between the two, and look at no side */

/** How a right-hand side ended. Only CONVERGED was checked against b - A x and found good. */
typedef enum {
    TRINE_OUTCOME_CONVERGED, /* ||b - A x|| <= max(rtol ||b||, atol) */
    TRINE_OUTCOME_MAX_ITERATIONS,
    TRINE_OUTCOME_STAGNATION, /* two restarts in a row, or two thirds of all iterations, that bring nothing: A is
                                 singular, the restart too short, or rtol beyond what the precision can give */
    TRINE_OUTCOME_BREAKDOWN_RHO, /* BiCGStab: the shadow residual has become orthogonal to the residual or to A p */
    TRINE_OUTCOME_BREAKDOWN_OMEGA, /* BiCGStab: A s is orthogonal to s, as with a skew-symmetric A */
    TRINE_OUTCOME_INDEFINITE, /* CG: p^H A p or r^H M r is not positive; MINRES: r^H M r is not */
    TRINE_OUTCOME_NOT_FINITE, /* NaN or Inf in A, M, b or x, or numbers beyond the range of the precision */
    TRINE_OUTCOME_CALLBACK_FAILED /* A, M or the monitor returned an error */
} trine_krylov_outcome;

typedef struct {
    trine_krylov_method method;
    int restart; /* GMRES, FGMRES: basis vectors; 0 = 20. The others: most iterations between two
                    computations of b - A x; 0 = no limit */
    int64_t max_iterations; /* steps in all; 0 = 1000. A step is one product with A; two of BiCGStab */
    double rtol, atol; /* both 0: rtol = 1e-6. In the 2-norm, of b - A x with any side */
    trine_krylov_side side;
    trine_dtype inner; /* of the cycle: basis, recurrences, applications of M; 0 = that of A. S with an A
                          of D, C with Z: x and b - A x stay in A's precision, each restart is a step of
                          refinement (thesis, 5.3.2) */
    trine_op inner_A; /* A in that precision; NULL: A itself, through trine_op_cast */
    int64_t max_nrhs; /* of the plan's own work; 0 = 1 */
    int64_t history; /* norms to keep for each right-hand side, the first ones; 0 = none */
    int use_guess; /* 1: X holds initial guesses. 0: zero, and X is not read */
    double stagnation; /* a restart that reduces the residual by less than this factor of it brings
                          nothing; 0 = 1e-6 */
    int64_t reserved[4]; /* zeros */
} trine_krylov_options;

/** Prepare solves with an n x n operator A and a preconditioner M, an approximation of A^-1 (NULL: none), of A's dtype
 *  or of options.inner; both with op N. Keeps them alive; new values of theirs show through. The basis is allocated
 *  here, and no solve allocates. options NULL = all automatic.
 *  TRINE_ERR_ARGUMENT: operators that do not fit, or that vary in a method that is not flexible. */
TRINE_API trine_status trine_krylov_create(trine_context ctx, trine_krylov *plan, trine_op A, trine_op M,
                                           const trine_krylov_options *options);

/** The same with m preconditioners that take turns: step s of FGMRES uses M[s mod m], and s goes on across restarts
 *  (ALT-o; thesis, Eqs. 29 and 35). options.restart and max_iterations count single steps. */
TRINE_API trine_status trine_krylov_create_alternating(trine_context ctx, trine_krylov *plan, trine_op A, int m,
                                                       const trine_op *M, const trine_krylov_options *options);

/** Upper bounds of what either takes with the same arguments (m = 1; M = NULL: none), and of what A's and M's works
 *  take (trine_op_work). What works of plans allocate beside that, their own queries tell. */
TRINE_API trine_status trine_krylov_memory(trine_context ctx, trine_op A, int m, const trine_op *M,
                                           const trine_krylov_options *options, trine_memory *memory);

/** One more solve in flight, of up to nrhs right-hand sides, with results of its own. As trine_triangular_work. */
TRINE_API trine_status trine_krylov_work(trine_krylov plan, int64_t nrhs, void *buffer, size_t *bytes,
                                         trine_work *work);

/** Called after each step, and with step 0 before the first, for each right-hand side that is still iterated: the
 *  norm of its residual, as the method's recurrence has it. A status that is not TRINE_SUCCESS ends the solve, which
 *  returns it. Threads that solve with one plan call it at the same time. */
typedef trine_status (*trine_krylov_monitor)(void *user, int64_t rhs, int64_t step, double residual);
/** monitor NULL: none. TRINE_ERR_STATE beside a solve. */
TRINE_API trine_status trine_krylov_set_monitor(trine_krylov plan, trine_krylov_monitor monitor, void *user);
/** Known solutions, n x nrhs of A's dtype in the context's space (X->data NULL: none), to keep ||x - X||_2 / ||X||_2 of
 *  every step beside the residuals (options.history). X is not copied, and must stay. Forms x in every step: for
 *  study, not for speed. TRINE_ERR_STATE beside a solve. */
TRINE_API trine_status trine_krylov_set_reference(trine_krylov plan, const trine_dense *X);

/** Solve A X = B for n x nrhs blocks of A's dtype in the context's space, in either layout; X is not B. All
 *  right-hand sides go through the same steps; those that have converged are frozen. A zero column of B gives a zero
 *  column of X without a step. Returns the status of a callback that failed, even if all have converged by then;
 *  TRINE_SUCCESS if all have converged, else TRINE_ERR_NO_CONVERGENCE with a sentence on the first right-hand side that
 *  did not. X is then the iterate with the smallest residual of each. Results are the same bits in every run with the
 *  same operators, and do not depend on the number of threads. Allocates nothing. On a GPU it waits for its end,
 *  but for the last writing of X, which is in order on exec's stream; it cannot be recorded in a CUDA graph
 *  (TRINE_ERR_STATE). Where A and M can be (info.capturable), the device makes the loop from CUDA 12.4 on, and the
 *  host waits once: the first solve with so many right-hand sides records it, which allocates. */
TRINE_API trine_status trine_krylov_solve(trine_krylov plan, const trine_dense *B, const trine_dense *X,
                                          const trine_exec *exec);

typedef struct {
    trine_krylov_outcome outcome;
    int64_t steps; /* of this right-hand side */
    int64_t iterations; /* ceil(steps / m) where m preconditioners alternate; else steps */
    int64_t restarts; /* computations of b - A x after the first */
    int64_t best_step; /* after which x was the one returned */
    int64_t row; /* NOT_FINITE: a row of b, x or b - A x where it is so; else -1 */
    double residual; /* ||b - A x|| of the x returned, computed, not estimated (CALLBACK_FAILED: may be
                        the estimate; NaN where the first product with A failed, of an initial guess) */
    double first_residual; /* of the initial guess; NaN likewise */
    double rhs_norm; /* ||b|| */
    int64_t reserved[4]; /* zeros */
} trine_krylov_result;

/** Of the last solve with exec's work (NULL: the plan's own). TRINE_ERR_STATE: there was none. */
TRINE_API trine_status trine_krylov_get_result(trine_krylov plan, int64_t rhs, trine_krylov_result *result,
                                               const trine_exec *exec);
/** Its history: *count numbers, those of steps 0, 1, ..., at most options.history; residuals are estimates within a
 *  restart, and computed at its end. residuals, errors: room for options.history, NULL = not wanted. errors: NaN
 *  where there is no reference. */
TRINE_API trine_status trine_krylov_get_history(trine_krylov plan, int64_t rhs, double *residuals, double *errors,
                                                int64_t *count, const trine_exec *exec);

/** The operator B -> X from a zero guess, for an FGMRES around it: it varies. A solve that ends without convergence
 *  (a limit on its iterations is the usual case) gives its best iterate; NOT_FINITE and CALLBACK_FAILED are errors. */
TRINE_API trine_status trine_krylov_as_op(trine_krylov plan, trine_op *op);

typedef struct {
    trine_krylov_method method; /* what runs */
    int restart, m;
    trine_dtype dtype, inner;
    int64_t n, max_nrhs;
    int64_t vectors; /* of n elements kept for each right-hand side */
    int64_t bytes; /* of a work for max_nrhs, without what A and M need */
    const char *loop; /* "device: ..." or "host: ", and why */
    int64_t reserved[4]; /* zeros */
} trine_krylov_info;
TRINE_API trine_status trine_krylov_get_info(trine_krylov plan, trine_krylov_info *info);

/** "gmres"; "converged", "maximum of iterations", ... */
TRINE_API const char *trine_krylov_method_name(trine_krylov_method method);
TRINE_API const char *trine_krylov_outcome_name(trine_krylov_outcome outcome);
TRINE_API trine_status trine_krylov_destroy(trine_krylov *plan);

#ifdef __cplusplus
}
#endif
#endif
