/* The work object of a direct plan: memory of one solve in flight, works of the two triangular plans among it. */
#ifndef TRINE_DIRECT_WORK_H
#define TRINE_DIRECT_WORK_H

#include <pthread.h>

#include "direct/direct.h"

typedef struct direct_work {
    trine_plan_work base;
    struct direct_work *next;            /* of the plan's works */
    void *vectors;                       /* n x nrhs in the context's space: the permuted right-hand sides */
    void *right, *residual;              /* the same, for refinement; else NULL */
    trine_work triangles[2];             /* of the plans for L and U; NULL, as in the plan's own work: those plans'
                                            own */
    size_t needed;                       /* what a solve needs of a caller's buffer: with new values that may become
                                            more than it has */
} direct_work;

/** The callers' works of one plan. An update, which runs alone, takes away works of triangular plans that end and
 *  makes those of new ones; the lock is for works that are made or destroyed meanwhile in other threads. */
typedef struct {
    pthread_mutex_t lock;
    direct_work *first;
} direct_works;

/** The plan for L (which = 0) or U (1) ends: so do the works made for it. */
void works_drop(direct_works *works, int which);

/** Works for the triangular plans that are there now, in all of the callers' works that lack one. */
trine_status works_complete(trine_direct D);

#endif
