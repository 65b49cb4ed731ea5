/* Groups of levels and the patterns of their inverses (common/partition.h) of a triangle in device memory, and the
 * order in which numeric makes their rows. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITION_H
#define TRINE_TRIANGULAR_CUDA_PARTITION_H

#include "triangular/common/partition.h"
#include "triangular/cuda/triangle.h"

struct invert_task;

struct device_partition {
    int64_t n_groups, entries, n_tasks;
    int64_t *offsets, *middle; /* as in struct partition */
    int32_t *columns;
    int32_t *starts; /* of groups */
    int32_t *sorted; /* rows by level within their group */
    invert_task *tasks; /* of numeric */
    arena patterns, order; /* hold the arrays above */
};

/** Choose groups of d, which is by level: level l has positions levels[l] .. levels[l+1] - 1. Ends with an idle
 *  stream. What has been allocated so far stays in *out, also after a failure. */
trine_status device_partition_make(trine_triangular plan, const device_triangle *d, const int64_t *levels,
                                   int64_t n_levels, const partition_costs *costs, device_partition *out);
void device_partition_release(trine_triangular plan, device_partition *p);
/** An upper bound of what it takes on the device, for at most so many entries of the inverses. */
void device_partition_memory(int64_t n, int64_t entries, triangular_bytes *device);

#endif
