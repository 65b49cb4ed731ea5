/* The state of one right-hand side: a small machine, whose steps (steps.h) read sums that a program of vector
 * operations has left, and write coefficients for the next one. It lies in the memory of the backend; nothing of it is
 * decided elsewhere. */
#ifndef TRINE_KRYLOV_COLUMN_H
#define TRINE_KRYLOV_COLUMN_H

#include <trine/krylov.h>

#include "krylov/common/numbers.h"

/** Which columns a program works on. */
enum {
    KRYLOV_OPEN = 1,     /* has no outcome yet */
    KRYLOV_RUNNING = 2,  /* is in a cycle */
    KRYLOV_SAVES = 4,    /* x is the best so far: keep it */
    KRYLOV_RESTORES = 8, /* the x that was kept is better than x */
    KRYLOV_KEEPS = 16,   /* in a cycle: d is about to become worse: keep it */
    KRYLOV_RETURNS = 32, /* at its end: the d that was kept is better than d */
    KRYLOV_CLEARS = 64,  /* x := 0 */
    KRYLOV_CYCLED = 128, /* took part in the cycle that has just ended */
    KRYLOV_EVERY = 256   /* all columns */
};

/** Places among a column's coefficients. */
enum {
    C_ZERO,
    C_ONE,
    C_MINUS_ONE,
    C_START,             /* 1 / scale: from the residual to a cycle */
    C_FINISH,            /* scale: back */
    C_FIRST              /* of the method's own */
};
enum { C_NORMALIZE = C_FIRST, C_PROJECTIONS }; /* GMRES; then restart + 1 each of those of */
/* the first and of the second pass, and y */
enum { C_ALPHA = C_FIRST, C_MINUS_ALPHA, C_BETA }; /* CG */
enum { C_OMEGA = C_BETA + 1, C_MINUS_OMEGA, C_MINUS_BETA_OMEGA }; /* BiCGStab: after those of CG */
enum { C_V = C_FIRST, C_V1, C_V2, C_W, C_W1, C_W2, C_D, C_SHORT_METHODS }; /* MINRES */

typedef struct {
    trine_krylov_method method;
    int restart, m;
    bool is_left, has_M;
    int64_t max_steps, cycle_limit, stagnant_limit;
    double rtol, atol, stagnation;
    double eps; /* of the cycle's precision */
    int64_t history;
} krylov_parameters;

typedef struct {
    unsigned flags;
    bool is_pending, is_half, is_last, is_best_current, is_exhausted, claimed;
    trine_krylov_outcome outcome, pending; /* pending: what ends the iteration unless x turns out good */
    int64_t steps, restarts, best_step, row, stagnant;
    double rhs_norm, target, first_residual, residual, best_residual;
    double reference_norm;
    /* the cycle solves A d = r / scale from d = 0, to ||r / scale - A d|| <= goal */
    double scale, goal, floor, estimate, best_estimate;
    int64_t cycle_steps, cycle_best_step;
    int size; /* GMRES: basis vectors that d is made of */
    double matrix_scale; /* largest entry of T, or of the Hessenberg matrices, in all cycles */
    double start_norm; /* of the cycle's first residual, in the norm of its estimates */
    krylov_sum rho; /* r^H z or the like, of the vectors that there are */
    double shadow_norm;
    krylov_scalar alpha, omega;
    double gamma, tau, length, last_length, eta, c, s, last_c, last_s, delta, w_norm, last_w_norm; /* MINRES */
    /* parts of arrays in the backend's memory */
    krylov_scalar *coefficients, *R, *sine, *g;
    krylov_sum *sums;
    double *cosine, *residuals, *errors;
} krylov_column;

/** What is done for all columns that it concerns, between two programs. */
typedef enum {
    KRYLOV_NO_STEP,
    KRYLOV_RESET, /* of columns with any flags */
    KRYLOV_NOTHING, /* the same: there is nothing to solve */
    KRYLOV_BEGIN, /* sum 0: ||b||^2; j: is there an initial guess? */
    KRYLOV_REFERENCE, /* sum 0: ||X||^2 of the known solution */
    KRYLOV_RESIDUAL, /* sum 0: ||b - A x||^2: converged, ended, or into a cycle; j: is it the first? */
    KRYLOV_ERROR, /* sum 0: ||x - X||^2 */
    KRYLOV_END_OF_CYCLE,
    KRYLOV_FAIL, /* a callback has failed */
    KRYLOV_END_WITHOUT_RESIDUAL, /* b - A x cannot be computed; j: after a cycle? */
    KRYLOV_GMRES_START, /* sum 0: square of the first vector's norm, with a left preconditioner */
    KRYLOV_GMRES_FIRST, /* sums 0 to j: projections */
    KRYLOV_GMRES_SECOND, /* the same of what is left */
    KRYLOV_GMRES_ROTATE, /* sum 0: square of the norm of what is left then */
    KRYLOV_GMRES_SOLVE,
    KRYLOV_GMRES_END, /* the end of a cycle, and that */
    KRYLOV_CG_START, /* sum 0: r^H z */
    KRYLOV_CG_ALPHA, /* sum 0: p^H A p */
    KRYLOV_CG_BETA, /* sum 0: ||r||^2, sum 1: r^H z; without M that is sum 0 */
    KRYLOV_ADVANCE, /* the end of a step of CG, BiCGStab */
    KRYLOV_BICGSTAB_START, /* sum 0: ||r||^2 */
    KRYLOV_BICGSTAB_ALPHA, /* sum 0: r_0^H v, sum 1: ||v||^2 */
    KRYLOV_BICGSTAB_OMEGA, /* sum 0: ||s||^2, sum 1: t^H s, sum 2: ||t||^2 */
    KRYLOV_BICGSTAB_BETA, /* sum 0: ||r||^2, sum 1: r_0^H r */
    KRYLOV_MINRES_START, /* sum 0: r^H z */
    KRYLOV_MINRES_LANCZOS, /* sum 0: z^H A z, sum 1: ||A z||^2 */
    KRYLOV_MINRES_ROTATE, /* sum 0: v^H z of the next vectors */
    KRYLOV_MINRES_ADVANCE /* the end of a step; sum 0: ||w||^2; with M sum 1: ||z||^2 */
} krylov_step;

#endif
