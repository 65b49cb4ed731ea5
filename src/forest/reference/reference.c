/* Forests by definition: for newcomers to read first, and the tests' oracle. A graph of n vertices in compressed rows,
 * each edge in both of its rows with one weight. */
#include "core/test_interface.h"
#include "forest/common/edge_order.h"

uint64_t trine_forest_edge_key(uint64_t seed, int32_t u, int32_t v)
{
    return forest_edge_key((forest_ties){true, forest_mix(seed)}, u, v);
}

/** Is u among the n neighbours of v? */
static bool has(const int32_t *neighbours, int n, int64_t v, int32_t u)
{
    for (int s = 0; s < n; s++)
        if (neighbours[v * n + s] == u) return true;
    return false;
}

static int count(const int32_t *neighbours, int n, int64_t v)
{
    int s = 0;
    while (s < n && neighbours[v * n + s] >= 0) s++;
    return s;
}

int64_t trine_forest_reference_factor(const trine_forest_reference_graph *g, const trine_factor_rounds *o,
                                      int32_t *neighbours, int32_t *proposed)
{
    const int n = o->n;
    const forest_ties ties = {o->ties == TRINE_TIES_HASH, forest_mix(o->seed)};
    int64_t k = 0;
    for (int64_t e = 0; e < g->n * n; e++) neighbours[e] = -1;
    for (bool any = true; any && k < o->rounds; k++) {
        const forest_charges c = {k % o->m != o->km, forest_mix(o->seed ^ forest_mix((uint64_t)k)),
                                  (uint32_t)(o->p * 0x1p32)};
        any = c.charged;
        for (int64_t e = 0; e < g->n * n; e++) proposed[e] = -1;
        for (int64_t v = 0; v < g->n; v++)
            for (int s = 0, room = n - count(neighbours, n, v); s < room; s++) { /* the strongest that is left */
                int64_t best = -1;
                for (int64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++) {
                    const int32_t u = g->columns[e];
                    if (u == v || !(g->weights[e] > 0) || count(neighbours, n, u) == n) continue;
                    if (has(neighbours, n, v, u) || has(proposed, n, v, u)) continue;
                    if (c.charged && forest_is_positive(c, u) == forest_is_positive(c, (int32_t)v)) continue;
                    if (best < 0 || g->weights[e] > g->weights[best] ||
                        (g->weights[e] == g->weights[best] && forest_wins_tie(ties, (int32_t)v, u, g->columns[best])))
                        best = e;
                }
                if (best >= 0) proposed[v * n + s] = g->columns[best], any = true;
            }
        for (int64_t v = 0; v < g->n; v++)
            for (int s = 0; s < n; s++) {
                const int32_t u = proposed[v * n + s];
                if (u >= 0 && has(proposed, n, u, (int32_t)v)) neighbours[v * n + count(neighbours, n, v)] = u;
            }
    }
    return k;
}

static double weight_between(const trine_forest_reference_graph *g, int64_t v, int32_t u)
{
    for (int64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++)
        if (g->columns[e] == u) return g->weights[e];
    return 0;
}

static void drop(int32_t *neighbours, int64_t v, int32_t u)
{
    if (neighbours[2 * v] == u) neighbours[2 * v] = neighbours[2 * v + 1];
    neighbours[2 * v + 1] = -1;
}

/** From v through its first neighbour until the path ends or comes back to v; visited[u] = name and position. Returns
 *  whether it came back. */
static bool walk(const int32_t *neighbours, int32_t v, int32_t *path, int32_t *position)
{
    int32_t from = -1, at = v;
    for (int32_t place = 1; at >= 0; place++) {
        path[at] = v;
        position[at] = place;
        const int32_t *next = neighbours + 2 * (int64_t)at;
        const int32_t onward = next[0] == from ? next[1] : next[0];
        from = at;
        at = onward;
        if (at == v) return true;
    }
    return false;
}

int64_t trine_forest_reference_paths(const trine_forest_reference_graph *g, trine_ties rule, uint64_t seed,
                                     int32_t *neighbours, int32_t *path, int32_t *position)
{
    const forest_ties ties = {rule == TRINE_TIES_HASH, forest_mix(seed)};
    int64_t cycles = 0;
    for (int32_t v = 0; v < g->n; v++) { /* as if every vertex with two neighbours were on a cycle */
        if (neighbours[2 * (int64_t)v + 1] < 0 || !walk(neighbours, v, path, position)) continue;
        int32_t low = -1, high = -1, from = v, at = neighbours[2 * (int64_t)v];
        double least = 0;
        do {
            const int32_t a = from < at ? from : at, b = from < at ? at : from;
            const double w = weight_between(g, a, b);
            if (low < 0 || w < least || (w == least && forest_loses_tie(ties, a, b, low, high)))
                low = a, high = b, least = w;
            const int32_t *next = neighbours + 2 * (int64_t)at;
            const int32_t onward = next[0] == from ? next[1] : next[0];
            from = at;
            at = onward;
        } while (from != v);
        drop(neighbours, low, high);
        drop(neighbours, high, low);
        cycles++;
    }
    for (int64_t v = 0; v < g->n; v++) path[v] = -1;
    for (int32_t v = 0; v < g->n; v++) /* the first vertex of a path that is met at an end is its lower one */
        if (path[v] < 0 && neighbours[2 * (int64_t)v + 1] < 0) walk(neighbours, v, path, position);
    return cycles;
}
