/* `trine solve`: what it is asked, and what it finds out. */
#ifndef TRINE_SOLVE_H
#define TRINE_SOLVE_H

#include "host_vector.h"
#include "iterative.h"
#include "solvers.h"

struct solve_options {
    struct parse parse;
    const char *path, *rhs_path, *device, *out;
    int rhs, method, triangles, precision, refine, repeat;
    bool json, verbose, refine_given, no_condition;
    trine_read_options limits;
    struct factoring_options factoring;
    struct iteration_options iteration;
};
extern const struct choice rhs_choices[];

enum { ACCURATE_EPS = 10 }; /* a backward error of so many eps is as small as one can ask for */

/** A solve, from the file to what is known of x. */
struct run {
    const struct solve_options *o;
    struct problem p;
    trine_context_info device;
    trine_dtype t;
    enum method method;
    struct inverse inverse;
    struct inverse adjoint;        /* for the condition; zeros: `inverse` has op H as well */
    struct outcome outcome;
    int32_t *order;                /* from a file, or NULL */
    void *b, *x, *s;               /* on the host: right-hand sides, solutions, the known solution or NULL */
    void *device_b, *device_x;     /* on a GPU: where they go for the solve */
    double read_seconds, check_seconds, solve_seconds, solve_min_seconds, refine_seconds;
    /* of the general method on the same factor; -1 if not compared */
    double general_setup_seconds, general_solve_seconds;
    trine_accuracy accuracy;
    trine_accuracy before_refinement;
    int refined;                   /* steps of refinement that x has had */
    trine_condition condition;
    double condition_seconds;      /* -1: not estimated */
    bool no_digits;                /* the solution is there, and no good */
    char warnings[1024];           /* of the library, "; " between them */
    struct strings log;            /* with --verbose */
};

/** Both backward errors of x are as small as one can ask for. */
bool is_accurate(const struct run *r);
/** How many digits of x can be right, as far as the condition tells. *of_scaled: of x with A's columns
 *  scaled; a right-hand side does not tell more of columns that are small beside others. */
int right_digits(const struct run *r, bool *of_scaled);
/** After a solve that ended well, or did not converge. */
void print_solve_text(const struct run *r);
void print_solve_json(const struct run *r);

#endif
