/* The ways in which `trine solve` solves: one table for all. */
#ifndef TRINE_SOLVERS_H
#define TRINE_SOLVERS_H

#include "command.h"
#include "direct_loader.h"

enum method { METHOD_AUTO, METHOD_CHOLESKY, METHOD_LU, METHOD_TRIANGULAR, METHOD_TRIDIAGONAL, METHOD_BANDED };
extern const struct choice method_choices[];

struct problem {
    trine_context ctx;
    trine_matrix A; /* on the host, CSR, square */
    trine_matrix_info info;
    trine_matrix_structure structure;
    int64_t n, nrhs;
    int threads;
    bool on_gpu;
    bool single_factor; /* the direct methods' panels in single precision */
    bool adjoint;       /* A^H is to be solved with as well */
    trine_ordering ordering;
};

/** What a setup found out. Seconds are -1 where the method has no such phase. */
struct outcome {
    const char *method;    /* what runs: "cholesky", ... */
    char reason[256];      /* why */
    char kernel[512];      /* which triangular solve runs; "" where there is none */
    const char *ordering;  /* NULL where nothing was ordered */
    int64_t nnz_factor;    /* entries of L + U, the diagonal once; of the matrix itself where it is not factored */
    double fill;           /* nnz_factor / nnz; 1 where nothing is factored */
    bool supernodal;       /* the triangular solves are by panels; levels_... count levels of panels */
    int64_t levels_lower, levels_upper; /* level sets; -1 where they were not needed */
    double order_seconds, factor_seconds, analyse_seconds, numeric_seconds;
};

struct solver {
    /** Everything before the first right-hand side. *state belongs to the solver, also after a failure. */
    trine_status (*setup)(const struct problem *p, void **state, struct outcome *o);
    /** X = op(A)^-1 B, op N or H, for n x nrhs vectors or fewer in the context's space, column-major; may be asynchronous. */
    trine_status (*solve)(void *state, trine_transpose op, const trine_dense *B, const trine_dense *X);
    /** What solves with A^H need beyond setup: once, before the first of them, where problem.adjoint was set. NULL: nothing. */
    trine_status (*set_up_adjoint)(const struct problem *p, void *state);
    void (*destroy)(void *state); /* accepts NULL */
    /** Set up the general triangular solve on the factor of `state`, to compare with: *other is another state, set-up time as
     *  analyse_seconds + numeric_seconds would be. NULL where there is nothing to compare with. */
    trine_status (*set_up_general)(const struct problem *p, void *state, void **other, double *seconds);
};

enum { MAX_BANDS = 8 }; /* on either side of the diagonal, of the banded solve */
extern const struct solver tridiagonal_solver, banded_solver;

/** The solver for a method; AUTO: triangular, then tridiagonal or banded, then Cholesky or LU by what A is. */
const struct solver *choose_solver(const struct problem *p, enum method method, enum method *chosen, const char **reason);

#endif
