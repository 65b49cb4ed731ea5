/* The preconditioners of `trine solve`, by name. */
#ifndef TRINE_PRECONDITIONERS_H
#define TRINE_PRECONDITIONERS_H

#include "solvers.h"

extern const struct choice preconditioner_choices[];

/** The value of "none". */
int preconditioner_none(void);

struct preconditioner_options {
    int method;                 /* a value of the list above */
    int m;                      /* factors; of isai its steps, of iluk its level; 0: as the library has it */
    int nx, ny;                 /* the grid of adi */
};

/** Approximations of A^-1: none, one, or several that take turns. */
struct preconditioner {
    int count;
    trine_op M[TRINE_PRECOND_MAX_M];
    const char *name;           /* what runs: "mos-d", ... */
    char reason[200];           /* why */
    int m;                      /* factors; 0: the method has none */
    bool hermitian;             /* where A is: what cg and minres need */
    double analyse_seconds, numeric_seconds;
};

/** Of p's matrix. */
trine_status make_preconditioner(const struct problem *p, const struct preconditioner_options *o,
                                 struct preconditioner *made);
void destroy_preconditioner(struct preconditioner *made);

#endif
