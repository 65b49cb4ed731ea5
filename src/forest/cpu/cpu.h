/* What the files of the CPU backend share. */
#ifndef TRINE_FOREST_CPU_CPU_H
#define TRINE_FOREST_CPU_CPU_H

#include "core/team.h"
#include "forest/forest.h"

enum { FOREST_GRAIN = 2048 };        /* vertices of a chunk; sums are made by chunks, so it is part of results */

/** range(user, begin, end, me) over all vertices. */
static inline void forest_for(trine_forest f, trine_team_range range, void *user)
{
    trine_team_for(f->ctx, trine_threads_with_cores(f->ctx), f->graph.n, FOREST_GRAIN, range, user);
}

trine_status forest_cpu_set_weights(trine_forest f, const void *values, void *stream);
trine_status forest_cpu_factor(trine_forest f, const struct forest_rounds *r, void *stream);
trine_status forest_cpu_propose(trine_forest f, const struct forest_rounds *r, int64_t k, void *stream);
trine_status forest_cpu_scan_pass(trine_forest f, bool wants_edges, int k, void *stream);
trine_status forest_cpu_break_cycles(trine_forest f, void *stream);
trine_status forest_cpu_order(trine_forest f, void *stream);
trine_status forest_cpu_exchange(trine_forest f, uint64_t salt, void *stream);
trine_status forest_cpu_scale(trine_forest f, double omega, void *stream);
trine_status forest_cpu_extract(trine_forest f, const void *values, void *const bands[3], const double *omega,
                                void *stream);
trine_status forest_cpu_coarsen(trine_forest f, void *stream);
trine_status forest_cpu_extract_blocks(trine_forest f, const void *values, void *const bands[3], int32_t *permutation,
                                       void *stream);
trine_status forest_cpu_add_up(trine_forest f, const void *values, double *sums, void *stream);

#endif
