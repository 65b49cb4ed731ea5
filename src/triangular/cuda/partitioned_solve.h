/* Solves by partitioned inverses on the GPU: tasks of warps, which the analysis makes, and the launches. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_SOLVE_H
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_SOLVE_H

#include "triangular/cuda/partitioned.cuh"
#include "triangular/cuda/triangle.h"

/** What the warps of all blocks do, for one right-hand side and for several (partitioned_once.cuh). */
struct partitioned_tasks {
    struct {
        warp_task *slots;
        int64_t n_blocks;
    } one, many;
    arena memory;            /* holds the slots */
};
/** offsets: of the inverses' rows, n + 1 in device memory. Ends with an idle stream. */
trine_status partitioned_tasks_make(trine_triangular plan, int64_t n, const int64_t *offsets, partitioned_tasks *out);
void partitioned_tasks_release(trine_triangular plan, partitioned_tasks *tasks);
/** An upper bound of their bytes, with so many entries. */
int64_t partitioned_tasks_bytes(int64_t n, int64_t entries);

/** Of a work for nrhs right-hand sides. */
size_t partitioned_work_bytes(trine_triangular plan, int64_t nrhs);
template <typename T> trine_status partitioned_solve(trine_triangular plan, const struct triangular_solve *s,
                                                     const partitioned_arrays<T> &d, const partitioned_tasks *tasks);

#endif
