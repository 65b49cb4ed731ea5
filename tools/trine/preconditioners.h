/* The preconditioners of `trine solve`, by name. */
#ifndef TRINE_PRECONDITIONERS_H
#define TRINE_PRECONDITIONERS_H

#include "solvers.h"

extern const struct choice preconditioner_choices[];

enum { MOST_PRECONDITIONERS = 16 };

/** Approximations of A^-1: none, one, or several that take turns. */
struct preconditioner {
    int count;
    trine_op M[MOST_PRECONDITIONERS];
    double analyse_seconds, numeric_seconds;
};

/** Of p's matrix. which: a value of the list above. */
trine_status make_preconditioner(const struct problem *p, int which, struct preconditioner *made);
void destroy_preconditioner(struct preconditioner *made);

#endif
