/* Cycles broken, paths put one behind the other. Which vertices follow one another is found by splitters (splitters.c)
 * or by the scan of the thesis (scan.c). */
#include <string.h>

#include "forest/common/order.h"
#include "forest/cpu/paths.h"

static void look_up(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const forest_view p = forest_view_of(f);
    const bool single = trine_dtype_is_single(f->dtype);
    (void)me;
    for (int64_t v = begin; v < end; v++) forest_look_up(&p, &f->graph, single, v);
}

void forest_look_up_all(trine_forest f) { forest_for(f, look_up, f); }

trine_status forest_cpu_break_cycles(trine_forest f, void *stream)
{
    (void)stream;
    f->counts->cycles = 0;
    if (f->n < 2 || !f->graph.n) return TRINE_SUCCESS;
    f->counts->cycles = f->info.ranking == TRINE_RANKING_SCAN ? forest_scan_cycles(f) : forest_split_cycles(f);
    return TRINE_SUCCESS;
}

static void note_lengths(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    (void)me;
    for (int64_t v = begin; v < end; v++) forest_note_length(&p, (int32_t)v);
}

/** Lengths to first places: the sum of the lengths of paths before. */
static void add_lengths(trine_forest f)
{
    struct forest_counts *counts = f->counts;
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
    const forest_view p = forest_view_of(user);
    (void)me;
    for (int64_t v = begin; v < end; v++) forest_place(&p, (int32_t)v);
}

trine_status forest_cpu_order(trine_forest f, void *stream)
{
    struct forest_counts *counts = f->counts;
    (void)stream;
    counts->paths = counts->longest = counts->vertices = 0;
    if (!f->graph.n) return TRINE_SUCCESS;
    (f->info.ranking == TRINE_RANKING_SCAN ? forest_scan_paths : forest_split_paths)(f);
    memset(f->index, 0, (size_t)f->graph.n * sizeof *f->index);
    forest_for(f, note_lengths, f);
    add_lengths(f);
    forest_for(f, place, f);
    return TRINE_SUCCESS;
}
