/* The work object of a direct plan: memory of one solve in flight, works of the two triangular plans among it. */
#ifndef TRINE_DIRECT_WORK_H
#define TRINE_DIRECT_WORK_H

#include <pthread.h>

#include "direct/direct.h"

typedef struct direct_work {
    struct trine_work_s base;
    struct direct_work *next;            /* of the plan's works */
    int64_t nrhs;
    void *vectors;                       /* n x nrhs in the context's space: the permuted right-hand sides */
    void *right, *residual;              /* the same, for refinement; else NULL */
    trine_work triangles[2];             /* of the plans for L and U; NULL, as in the plan's own work: those plans' own */
    void *buffer;                        /* the caller's, which holds all of it; NULL: the vectors and each triangle's work have their own */
    size_t buffer_bytes, needed;         /* the buffer's length and what a solve needs of it: with new values that may become more */
} direct_work;

/** The callers' works of one plan. An update, which runs alone, takes away works of triangular plans that end and makes those of new ones; the lock
 *  is for works that are made or destroyed meanwhile in other threads. */
typedef struct {
    pthread_mutex_t lock;
    direct_work *first;
} direct_works;

/** The plan for L (which = 0) or U (1) ends: so do the works made for it. */
void works_drop(direct_works *works, int which);

/** The plan's own work: no list has it, and it keeps nothing alive. */
trine_status work_of_plan(trine_direct D, int64_t nrhs, direct_work **work);
/** Works for the triangular plans that are there now, in all of the callers' works that lack one. */
trine_status works_complete(trine_direct D);

#endif
