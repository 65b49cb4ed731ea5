/* The direct plan, as its creation (plan.c), its works (work.c) and its solves (solve.c) see it. */
#ifndef TRINE_DIRECT_PLAN_H
#define TRINE_DIRECT_PLAN_H

#include "direct/sweeps.h"

struct trine_direct_s {
    int refs;
    trine_context ctx;
    trine_factor F;
    trine_matrix A;
    trine_matrix rows[TRINE_H + 1];          /* op(A) as CSR in the context's space, for refinement; NULL if not needed */
    trine_direct_options options;
    trine_dtype dtype;
    trine_space space;
    int64_t n, max_nrhs;
    unsigned ops;
    bool ready;                              /* false after an update that failed */
    trine_usage usage;                       /* by solves and by works being made; alone: by an update */

    direct_sweeps sweeps;
    void *row_perm, *col_perm;               /* in the context's space */
    void *row_scale, *col_scale;             /* of A's real dtype; NULL: ones */
    direct_work *own_work;                   /* of solves that bring none; for max_nrhs right-hand sides */
};

/** X := op(A)^-1 B through the work's vectors; B == X allowed. */
trine_status solve_once(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream);
/** TRINE_ERR_STATE with its sentence: an update has failed. */
trine_status plan_without_factor(void);

#endif
