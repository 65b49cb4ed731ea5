/* trine info --steps: dependency levels of the triangles, steps of partitioned inverses, and what these cost. */
#ifndef TRINE_INFO_STEPS_H
#define TRINE_INFO_STEPS_H

#include "command.h"

struct triangle_steps {
    trine_triangular_info taken, inverse; /* by the library's choice, and by partitioned inverses */
    char reason[200];  /* of the choice */
    char problem[256]; /* why there is no plan, or no solution; "" where there is one */
};
struct step_statistics {
    char device[96];
    struct triangle_steps triangles[2]; /* lower, upper */
};

/** Of a square matrix that is not empty, for solves on `device`. */
trine_status step_statistics_make(trine_matrix A, const char *device, struct step_statistics *s);
void step_statistics_print(const struct step_statistics *s, bool json);

#endif
