/* One side of a plan for the synchronization-free solve by rows: what its analysis (cuda/syncfree_rows_shape.cu)
 * settles and its solve (cuda/syncfree_rows.cu) goes by. */
#ifndef TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_H
#define TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_H

#include "triangular/cuda/few_levels.h"
#include "triangular/cuda/syncfree_rows_many.h"

constexpr int MOST_CHAIN_LANES = 4; /* that share a row, where chains run through registers */

struct syncfree_csr_side {
    device_triangle base;
    row_shape one, many;     /* one right-hand side, several */
    bool chains;             /* many rows wait for rows of the same warp; with several right-hand sides, if these are
                                few */
    level_launches launches; /* one, where there are few levels */
    row_steps steps;         /* one, by level, where some levels are broad */
    row_groups groups;       /* one, where rows come in small groups */
    bool long_rows, slim;    /* several: lanes go to entries, and other warps take more right-hand sides */
    task_list tasks;         /* several, where levels are wide or a few rows very long; empty: not used */
    int64_t least_for_tasks; /* right-hand sides */
};

/** All of it but base, which is there, and the numbers: lanes a row, chunks, the order of rows, what waits for what.
 *  forward: the row at position p of d->base is row p, or n - 1 - p. */
trine_status syncfree_csr_choose_shape(trine_triangular plan, bool forward, struct triangular_side *side,
                                       syncfree_csr_side *d);

#endif
