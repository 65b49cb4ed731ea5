/* Work of a product for the context's threads. Each begins with a stretch of its own, the same in every product, so
 * that a matrix that fits in the cores' caches stays there; then it takes from those of others. */
#ifndef TRINE_SPMV_CPU_SPLIT_H
#define TRINE_SPMV_CPU_SPLIT_H

#include "core/team.h"

/** range(user, begin, end, me) for parts of [0, count) of `grain` elements, at least one element; threads, wakes: as
 *  trine_team_run. */
void cpu_split(trine_context ctx, int threads, bool wakes, int64_t count, int64_t grain, trine_team_range range,
               void *user);

#endif
