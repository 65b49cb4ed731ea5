/* Cycles broken, paths put one behind the other. Which vertices follow one another is found by splitters (splitters.c)
 * or by the scan of the thesis (scan.c). */
#include "forest/cpu/paths.h"

#include <string.h>

/** The weight of every edge of the factor, at its place in neighbours. */
static void look_up_weights(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const struct forest_graph *g = &f->graph;
    const bool single = trine_dtype_is_single(f->dtype);
    (void)me;
    for (int64_t v = begin; v < end; v++)
        for (int64_t e = 2 * v; e < 2 * v + 2 && f->neighbours[e] >= 0; e++) {
            const int64_t k = forest_find(g->columns, g->begin[v], g->end[v], f->neighbours[e]);
            f->weight[e] = single ? (double)((const float *)g->weights)[k] : ((const double *)g->weights)[k];
        }
}

trine_status forest_cpu_break_cycles(trine_forest f, void *stream)
{
    (void)stream;
    f->counts->cycles = 0;
    if (f->n < 2) return TRINE_SUCCESS;
    forest_for(f, look_up_weights, f);
    f->counts->cycles = f->info.ranking == TRINE_RANKING_SCAN ? forest_scan_cycles(f) : forest_split_cycles(f);
    return TRINE_SUCCESS;
}

/** The last vertex of a path knows how long it is: index[name] = length. */
static void note_lengths(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const forest_factor p = forest_factor_of(f);
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        if (f->absent && f->absent[v]) {
            f->path[v] = -1;
            f->position[v] = 0;
            continue;
        }
        const bool is_alone = forest_neighbour(&p, (int32_t)v, 0) < 0;
        if (is_alone || (forest_is_end(&p, (int32_t)v) && f->position[v] > 1)) f->index[f->path[v]] = f->position[v];
    }
}

/** Lengths to first places: the sum of the lengths of paths before. */
static void add_lengths(trine_forest f)
{
    struct forest_counts *counts = f->counts;
    counts->paths = counts->longest = 0;
    int32_t sum = 0;
    for (int64_t v = 0; v < f->graph.n; v++) {
        const int32_t length = f->index[v];
        f->index[v] = sum;
        sum += length;
        if (length) counts->paths++;
        if (length > counts->longest) counts->longest = length;
    }
    counts->vertices = sum;
    for (int64_t i = sum; i < f->graph.n; i++) f->permutation[i] = -1;
}

static void place(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    (void)me;
    for (int64_t v = begin; v < end; v++)
        if (f->path[v] >= 0) f->permutation[f->index[f->path[v]] + f->position[v] - 1] = (int32_t)v;
}

trine_status forest_cpu_order(trine_forest f, void *stream)
{
    (void)stream;
    (f->info.ranking == TRINE_RANKING_SCAN ? forest_scan_paths : forest_split_paths)(f);
    memset(f->index, 0, (size_t)f->graph.n * sizeof *f->index);
    forest_for(f, note_lengths, f);
    add_lengths(f);
    forest_for(f, place, f);
    return TRINE_SUCCESS;
}
