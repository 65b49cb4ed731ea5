/* `trine solve` by a Krylov solver: set-up, progress on a terminal, what came out. */
#ifndef TRINE_ITERATIVE_H
#define TRINE_ITERATIVE_H

#include <stdio.h>

#include "preconditioners.h"

struct iteration_options {
    struct preconditioner_options precond;
    bool precond_given, mixed;
    int restart, most_steps;
    double tolerance;
    const char *plot;
    const char *given; /* one of the options was: its name */
};

/** The options, for the table of `trine solve` and its parser: ARGP_ERR_UNKNOWN if key is none of them. */
enum { KEY_PRECOND = 600, KEY_RESTART, KEY_TOLERANCE, KEY_MOST_STEPS, KEY_MIXED, KEY_PLOT, KEY_FACTORS, KEY_GRID };
#define ITERATION_OPTIONS                                                                                           \
    {NULL, 0, NULL, 0, "Iterative methods:", 3},                                                                    \
    {"precond", KEY_PRECOND, "NAME", 0,                                                                             \
     "preconditioner: none (default), auto, jacobi (diagp0), diagp1, diagp2, l1, tridiag, alg-tri, alg-tri-block, "    \
     "alt-o, alt-i, mos-d, mos-a, adi, ilu0, iluk, ilut, ic0, isai, multilevel; with --method auto, GMRES", 0},      \
    {"m", KEY_FACTORS, "M", 0,                                                                                      \
     "factors of alt-o, alt-i, mos-d, mos-a (default 4); steps of isai and multilevel, level of iluk (default 1)", 0}, \
    {"grid", KEY_GRID, "NXxNY", 0, "adi: the grid, x fastest", 0},                                                  \
    {"restart", KEY_RESTART, "K", 0,                                                                                \
     "gmres, fgmres: basis vectors (default 20); the others: steps between two computations of b - A x", 0},         \
    {"tol", KEY_TOLERANCE, "T", 0, "iterate until ||b - A x|| <= T ||b|| in the 2-norm (default 1e-6)", 0},          \
    {"maxit", KEY_MOST_STEPS, "N", 0, "most steps (default 10000)", 0},                                             \
    {"mixed", KEY_MIXED, NULL, 0,                                                                                   \
     "iterate in single precision, x and b - A x in double: each restart is a step of refinement", 0},               \
    {"plot", KEY_PLOT, "FILE", 0, "draw residuals, and errors where the solution is known, as an SVG picture", 0}
error_t parse_iteration(int key, char *arg, struct argp_state *state, struct iteration_options *o);

/** A Krylov solver of p's matrix, and what it did. */
struct iteration {
    const struct iteration_options *o;
    trine_krylov solver;
    trine_krylov_info info;
    int64_t nrhs;
    char precond[64];           /* what runs, with its factors */
    double shown;               /* when progress was shown last; 0: not at all */
    bool is_shown;              /* on a terminal */
    char advice[120];           /* what may be the cause, should a solve not converge; "": nothing is known */
    char failure[640];          /* why the last solve did not converge; "": it did */
};

bool is_iterative(enum method method);
trine_status set_up_iteration(const struct problem *p, enum method method, const struct iteration_options *options,
                              struct iteration **out, struct outcome *o);
/** X = A^-1 B as far as it goes; a solve that does not converge leaves its sentence. */
trine_status iterate(struct iteration *it, const trine_dense *B, const trine_dense *X);
/** After the last solve. */
void print_iteration_text(const struct iteration *it);
void print_iteration_json(const struct iteration *it);
/** Solve once more, with errors from the known solutions X (data NULL: none), and draw the first right-hand side. */
trine_status plot_iteration(struct iteration *it, const trine_dense *B, const trine_dense *X, const trine_dense *known);
void destroy_iteration(struct iteration **it);

#endif
