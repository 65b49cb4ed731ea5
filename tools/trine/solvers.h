/* What `trine solve` solves with: a plan of each method, as the operator A^-1. */
#ifndef TRINE_SOLVERS_H
#define TRINE_SOLVERS_H

#include "factoring.h"

/* METHOD_ITERATIVE has no name: it is what METHOD_AUTO becomes where a preconditioner is asked for. */
enum method {
    METHOD_AUTO,
    METHOD_CHOLESKY,
    METHOD_CHOLESKY_SIMPLICIAL,
    METHOD_LDL,
    METHOD_LU,
    METHOD_LU_UMFPACK,
    METHOD_LU_KLU,
    METHOD_TRIANGULAR,
    METHOD_PARTITIONED_INVERSE,
    METHOD_TRIDIAGONAL,
    METHOD_BANDED,
    METHOD_CUDSS,
    METHOD_GMRES,
    METHOD_FGMRES,
    METHOD_BICGSTAB,
    METHOD_CG,
    METHOD_MINRES,
    METHOD_ITERATIVE
};
extern const struct choice method_choices[], triangle_choices[];
bool is_factorization(enum method method); /* or may become one: AUTO */

struct iteration_options;
struct iteration;

struct problem {
    trine_context ctx;
    trine_matrix A; /* on the host, CSR, square */
    trine_matrix_info info;
    trine_matrix_structure structure;
    int64_t n, nrhs;
    int64_t repeat; /* solves that are expected; 0: as the library expects */
    bool on_gpu;
    bool single_factor; /* the direct methods' panels in single precision */
    bool adjoint;       /* A^H is to be solved with as well */
    const int32_t *order; /* of the columns, from a file; or NULL */
    trine_triangular_method triangles;
    const struct factoring_options *factoring;
    const struct iteration_options *iteration;
};

/** What a set-up found out. Seconds are -1 where the method has no such phase. */
struct outcome {
    const char *method;    /* what runs: "cholesky", ... */
    char reason[256];      /* why */
    char kernel[512];      /* which triangular solve runs; "" where there is none */
    const char *ordering;  /* NULL where nothing was ordered */
    const char *solver;    /* of a factor: "supernodal", "general" or "library", and why; "" where there is none */
    char solver_reason[256];
    double trial_error;    /* of the factorization's trial solve, in eps; -1: none was made */
    int64_t plan_refine;   /* steps of refinement in every solve, which the trial solve asked for */
    int64_t nnz_factor;    /* entries of L + U, the diagonal once; of the matrix itself where it is not factored */
    double fill;           /* nnz_factor / nnz; 1 where nothing is factored */
    bool supernodal;       /* the triangular solves are by panels; levels_... count levels of panels */
    int64_t levels_lower, levels_upper; /* level sets; -1 where they were not needed */
    double order_seconds, symbolic_seconds, factor_seconds, analyse_seconds, numeric_seconds;
};

/** A^-1 as an operator, which keeps the plan behind it alive; or a solver that iterates (iterative.h). */
struct inverse {
    trine_op op;         /* NULL: there is an iteration */
    struct iteration *iteration;
    trine_work work;     /* for nrhs right-hand sides, so that solves allocate nothing */
    trine_factor factor; /* of Cholesky and LU, where other solves will be compared with it or it may be taken in
                            another precision; else NULL */
    int32_t *order; /* of the columns, which the factorization took; NULL: nobody wants it */
};

/** The method asked for; of AUTO: triangular, then tridiagonal or banded, and else AUTO, for Cholesky or LU by what
 *  A is. */
enum method choose_method(const struct problem *p, enum method method, const char **reason);
/** Everything before the first right-hand side: a plan with the values of A. ops: those of A^-1 that are needed; it
 *  may have more. inverse: zeros, or of an earlier call, whose factorization is then used again. */
trine_status set_up_inverse(const struct problem *p, enum method method, unsigned ops, struct inverse *inverse,
                            struct outcome *o);
/** The general triangular solves with the factor of `inverse`, to compare with; seconds: analysis and numeric
 *  set-up. */
trine_status set_up_general(const struct problem *p, const struct inverse *inverse, struct inverse *general,
                            double *seconds);
/** X = op(A)^-1 B for n x nrhs vectors or fewer in the context's space, column-major; may be asynchronous. */
trine_status apply_inverse(const struct inverse *inverse, trine_transpose op, const trine_dense *B,
                           const trine_dense *X);
void destroy_inverse(const struct problem *p, struct inverse *inverse); /* also of a set-up that failed, or of zeros */

#endif
