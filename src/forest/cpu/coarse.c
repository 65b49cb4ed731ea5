/* The graph of the pairs of a [0,1]-factor (Klein 2024, Section 4.6). */
#include "core/scalar.h"
#include "forest/common/blocks.h"
#include "forest/cpu/cpu.h"

/** Room for the rows of all pairs: those of their two vertices. Numbers that are not used are marked. */
static void make_room(trine_forest f)
{
    const int32_t *mate = f->neighbours;
    const struct forest_graph *fine = &f->graph;
    int64_t sum = 0;
    for (int64_t v = 0; v < fine->n; v++) {
        const bool is_used = forest_coarse_vertex(mate, (int32_t)v) == v;
        f->coarse->graph.begin[v] = sum;
        f->coarse->absent[v] = !is_used;
        if (is_used) sum += fine->end[v] - fine->begin[v];
        if (is_used && mate[v] >= 0) sum += fine->end[mate[v]] - fine->begin[mate[v]];
    }
}

#define TEMPLATE "forest/cpu/coarse.inc"
#include "core/each_dtype.h"

trine_status forest_cpu_coarsen(trine_forest f, void *stream)
{
    static const trine_team_range ranges[] = TABLE(coarsen);
    (void)stream;
    f->coarse->counts->has_candidates = 0;
    make_room(f);
    forest_for(f, ranges[f->dtype], f);
    return TRINE_SUCCESS;
}
