/* What the suite precond shares: a system, a method for it, what came out. */
#ifndef TRINE_BENCH_PRECOND_H
#define TRINE_BENCH_PRECOND_H

#include "bench.h"

/** Of the thesis's protocol, Section 5.3.2. */
enum { PRECOND_RESTART = 20, PRECOND_MOST_STEPS = 5000 };
#define PRECOND_TOLERANCE 1e-6

/** A x = b; the matrix on the host and in the context's space, which are the same on a CPU, as vectors are. */
typedef struct {
    bench *b;
    const char *name;
    trine_matrix host_A, A;
    trine_op product;
    double product_ms; /* its set-up */
    int64_t n, nnz;
    double *solution, *host_b, *host_x, rhs_norm;
    void *rhs, *x, *room; /* in the context's space; room: a vector for anything */
    double seconds;       /* that a solve may take */
} precond_problem;

/** "name:n=1000", of bench_read_matrix. A failure is followed by precond_close as well. */
trine_status precond_open(bench *b, const char *name, precond_problem *p);
void precond_close(precond_problem *p);
/** ||x - minus||_2, minus NULL: ||x||_2. */
double precond_norm(int64_t n, const double *x, const double *minus);
/** Fetch x. error: ||b - A x|| / ||b||, forward: ||x - x_t|| / ||x_t||. */
trine_status precond_check(precond_problem *p, double *error, double *forward);

/** "cg/ic0", "alt-i:m=3": a solver (GMRES else), a preconditioner, its m (steps of isai, level of iluk). */
typedef struct {
    trine_krylov_method solver;
    bool has_precond;
    trine_precond_options options;
} precond_recipe;
trine_status precond_parse(const precond_problem *p, const char *text, precond_recipe *r);

/** One preconditioner, and solvers with it. */
typedef struct {
    trine_precond plan;
    trine_op M[TRINE_PRECOND_MAX_M];
    int count;
    trine_krylov solver;
    trine_precond_info info;
    double start, seconds; /* of a solve, and what it may take */
} precond_run;
trine_status precond_set_up(const precond_problem *p, const precond_recipe *r, precond_run *run);
/** Make run->solver. Where the host makes the loop, a monitor ends solves that are late. */
trine_status precond_make_solver(const precond_problem *p, const precond_recipe *r, const trine_krylov_options *more,
                                 precond_run *run);
void precond_end(precond_run *run);
/** The least that a step of nrhs columns reads and writes (schema.json); NAN: not known of this method. */
double precond_step_bytes(const precond_problem *p, const precond_recipe *r, const precond_run *run, int64_t nrhs);

/** What a method did on a matrix: for the claims. */
typedef struct {
    const char *matrix;
    char method[32];
    bool converged;
    double steps, step_ms, setup_ms, solve_ms;
} precond_outcome;

typedef struct {
    precond_outcome *of;
    int count, room;
} precond_outcomes;
void precond_keep(precond_outcomes *all, const char *method, precond_outcome one);
void precond_forget(precond_outcomes *all);

/** With nothing measured yet. */
bench_record precond_record(const precond_problem *p, const char *impl, const char *method, const char *chosen);
/** One of trine's methods, timed: a record, a line of the table. */
trine_status precond_measure(precond_problem *p, const char *method, precond_outcomes *all);
/** A peer's: "gmres+ilu0" or "cg+ic0" of cuSPARSE. */
trine_status precond_measure_peer(precond_problem *p, const char *method);

/** What Sections 4.6 and 5.3 claim, beside what was found: held, not held or not testable, each with its numbers. A
 *  line; and a record, unless this run cannot test it. covered: what is claimed with as many factors as cover 0.99 of
 *  A, which sweep figure40 has; else the rest. */
trine_status precond_judge(bench *b, const precond_outcomes *all, bool covered);

/* Sweeps, of b->matrices or their own. */
trine_status precond_table_17(bench *b);
/** Residuals and errors of every step (Figures 30 and 36 to 39). */
trine_status precond_histories(bench *b);
/** The same with as many factors as cover 0.99 of A. */
trine_status precond_figure_40(bench *b);
/** Steps alone, of one right-hand side and of several (b->nrhs). */
trine_status precond_steps(bench *b);

/* precond_cusparse.c: set-up and solve, which wait for the device, as a user of the libraries writes them. */
typedef struct precond_cusparse_s *precond_cusparse;
/** Handles and vectors. TRINE_ERR_NOT_BUILT: no library. */
trine_status precond_cusparse_create(precond_problem *p, const char *method, precond_cusparse *out);
/** Factors and analyses, anew in every call. TRINE_ERR_SINGULAR: a zero pivot. */
trine_status precond_cusparse_set_up(void *peer);
/** x := A^-1 b from zero, at most `most` steps. *residual: as the recurrence has it, over ||b||. */
trine_status precond_cusparse_solve(precond_cusparse s, int64_t most, int64_t *steps, double *residual);
const char *precond_cusparse_version(precond_cusparse s);
void precond_cusparse_destroy(precond_cusparse *s);

#endif
