/* Cycles and paths of a [0,2]-factor by one thread of the host: what the extraction of a forest is compared with; and
 * graphs of paths. */
#include <string.h>

#include "core/test_interface.h"
#include "forest.h"

trine_status forest_lines(bench *b, int64_t paths, int64_t length, trine_matrix *A)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = paths * length;
    int64_t *offsets;
    int32_t *columns, *number = NULL;
    void *values;
    TRY(ALLOC(b->ctx, number, n));
    for (int64_t i = 0; i < n; i++) number[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(bench_uniform(17, (uint64_t)i) * (double)(i + 1));
        const int32_t v = number[i];
        number[i] = number[j];
        number[j] = v;
    }
    TRY(trine_matrix_allocate(b->ctx, A, TRINE_CSR, TRINE_D, n, n, 2 * (n - paths), &offsets, &columns, &values));
    for (int64_t i = 0; i < n; i++) offsets[number[i] + 1] = (i % length > 0) + (i % length < length - 1);
    for (int64_t i = 0; i < n; i++) offsets[i + 1] += offsets[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t k = offsets[number[i]];
        for (int64_t j = i - 1; j <= i + 1; j += 2) { /* the edge {i - 1, i} has number i */
            if (j < 0 || j >= n || j / length != i / length) continue;
            columns[k] = number[j];
            ((double *)values)[k++] = 1 + bench_uniform(3, (uint64_t)(j < i ? i : j));
        }
    }
    trine_matrix sorted = NULL;
    TRY(trine_matrix_sort(*A, &sorted, 0));
    trine_matrix_destroy(A);
    *A = sorted;
done:
    trine_free(b->ctx, TRINE_HOST, number);
    return status;
}

trine_status forest_walk_reset(void *walk)
{
    forest_walk *w = walk;
    memcpy(w->neighbours, w->factor, (size_t)w->n * 2 * sizeof *w->neighbours);
    return TRINE_SUCCESS;
}

static void drop(forest_walk *w, int32_t v, int32_t u)
{
    int32_t *mine = w->neighbours + 2 * (int64_t)v;
    if (mine[0] == u) mine[0] = mine[1];
    mine[1] = -1;
}

/** v is on a cycle: take its weakest edge out. */
static void open_cycle(forest_walk *w, int32_t v)
{
    int32_t at = v, place = 0, low = -1, high = -1;
    double least = 0;
    do {
        const int32_t from = at, next = w->neighbours[2 * (int64_t)at + place];
        const double weight = w->weights[2 * (int64_t)at + place];
        if (low < 0 || weight < least ||
            (weight == least && trine_forest_edge_key(w->seed, at, next) < trine_forest_edge_key(w->seed, low, high)))
            low = at, high = next, least = weight;
        at = next;
        w->seen[at] = 1;
        place = w->neighbours[2 * (int64_t)at] == from ? 1 : 0;
    } while (at != v);
    drop(w, low, high);
    drop(w, high, low);
    w->cycles++;
}

/** All paths one after another; of each the first vertex that is met is its lower end. */
static void follow_paths(forest_walk *w)
{
    memset(w->seen, 0, (size_t)w->n);
    int64_t i = 0;
    for (int32_t v = 0; v < w->n; v++) {
        if (w->seen[v] || w->neighbours[2 * (int64_t)v + 1] >= 0) continue;
        for (int32_t from = -1, at = v; at >= 0;) {
            const int32_t *next = w->neighbours + 2 * (int64_t)at;
            const int32_t onward = next[0] == from ? next[1] : next[0];
            w->seen[at] = 1;
            w->permutation[i++] = at;
            from = at;
            at = onward;
        }
    }
}

trine_status forest_walk_once(void *walk)
{
    forest_walk *w = walk;
    w->cycles = 0;
    follow_paths(w);
    for (int32_t v = 0; v < w->n; v++) /* what no path has met */
        if (!w->seen[v]) open_cycle(w, v);
    if (w->cycles) follow_paths(w);
    return TRINE_SUCCESS;
}
