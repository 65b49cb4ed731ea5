/* Solves by partitioned inverses on the GPU: tasks of warps, which the analysis makes, and the launches. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_SOLVE_H
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_SOLVE_H

#include "triangular/cuda/partition.h"
#include "triangular/cuda/partitioned.cuh"
#include "triangular/cuda/triangle.h"

constexpr int WAYS = 3; /* with one right-hand side, up to 8, and more */

/** What the warps of all blocks do (partitioned_once.cuh). */
struct partitioned_tasks {
    struct {
        warp_task *slots;
        int64_t n_blocks;
    } of[WAYS];
    int32_t longest;         /* solution values of a row, at most */
    arena memory;            /* holds the slots */
};
/** part: groups and their patterns. Ends with an idle stream. */
trine_status partitioned_tasks_make(trine_triangular plan, int64_t n, const device_partition *part,
                                    partitioned_tasks *out);
void partitioned_tasks_release(trine_triangular plan, partitioned_tasks *tasks);
/** An upper bound of their bytes, with so many entries. */
int64_t partitioned_tasks_bytes(int64_t n, int64_t entries);

/** Of a work for nrhs right-hand sides. */
size_t partitioned_work_bytes(trine_triangular plan, int64_t nrhs);
/** As probe in struct triangular_backend, of one side. */
template <typename T>
trine_status partitioned_probe(trine_triangular plan, const partitioned_arrays<T> &d, const partitioned_tasks *tasks,
                               void *stream, double *error);
template <typename T> trine_status partitioned_solve(trine_triangular plan, const struct triangular_solve *s,
                                                     const partitioned_arrays<T> &d, const partitioned_tasks *tasks);

#endif
