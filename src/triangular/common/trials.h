/* Trial solves by partitioned inverses: what decides about refinement. */
#ifndef TRINE_TRIANGULAR_COMMON_TRIALS_H
#define TRINE_TRIANGULAR_COMMON_TRIALS_H

#include <stdbool.h>

/** Errors of trial solves, ascending. The largest of n rows falls off slowly: one right-hand side in a few has three
 *  times the error of the median, in one row that is small by chance. So one trial decides only where it loses next to
 *  nothing, and otherwise the median of several. */
enum { PARTITION_TRIALS = 5 };
struct partition_trials {
    int count;
    double errors[PARTITION_TRIALS];
};
/** Returns whether there has to be another one. */
static inline bool partition_add_trial(struct partition_trials *t, double error, double eps)
{
    const double next_to_nothing = 4; /* eps */
    int at = t->count++;
    for (; at > 0 && t->errors[at - 1] > error; at--) t->errors[at] = t->errors[at - 1];
    t->errors[at] = error;
    return t->count < PARTITION_TRIALS && (t->count > 1 || error > next_to_nothing * eps);
}
static inline double partition_median_of_trials(const struct partition_trials *t) { return t->errors[t->count / 2]; }

#endif
