/* Edges of a [0,2]-factor, on the host and on a GPU. */
#ifndef TRINE_FOREST_COMMON_PATHS_H
#define TRINE_FOREST_COMMON_PATHS_H

#include "forest/common/edge_order.h"

#define FOREST_NO_LINK UINT32_MAX

/* Set a mark that other threads may set at the same time. */
#ifdef __CUDA_ARCH__
#define FOREST_MARK(p) (*(volatile int32_t *)(p) = 1)
#else
#define FOREST_MARK(p) __atomic_store_n((p), 1, __ATOMIC_RELAXED)
#endif

/** A [0,2]- or [0,1]-factor with the weights of its edges. */
typedef struct {
    int n;
    int32_t *neighbours;             /* of v at [v n] */
    const double *weight;            /* likewise, for n = 2 */
    forest_ties ties;
} forest_factor;

/** The neighbour in place s, 0 or 1; -1: there is none. */
FOREST_INLINE int32_t forest_neighbour(const forest_factor *p, int32_t v, int s)
{
    return s < p->n ? p->neighbours[(int64_t)v * p->n + s] : -1;
}
/** A vertex with fewer than two neighbours. */
FOREST_INLINE bool forest_is_end(const forest_factor *p, int32_t v) { return forest_neighbour(p, v, 1) < 0; }
/** The neighbour of v that is not `from`; -1: there is none. */
FOREST_INLINE int32_t forest_onward(const forest_factor *p, int32_t v, int32_t from)
{
    const int32_t u = forest_neighbour(p, v, 0);
    return u == from ? forest_neighbour(p, v, 1) : u;
}

/** The name of the edge from v to its neighbour in place s; n = 2. */
FOREST_INLINE uint32_t forest_edge_name(const forest_factor *p, int32_t v, int s)
{
    const int32_t u = p->neighbours[2 * (int64_t)v + s];
    if (v < u) return 2 * (uint32_t)v + (uint32_t)s;
    return 2 * (uint32_t)u + (p->neighbours[2 * (int64_t)u] == v ? 0 : 1);
}
/** The weaker of two edges. */
FOREST_INLINE uint32_t forest_weaker(const forest_factor *p, uint32_t e, uint32_t f)
{
    const double we = p->weight[e], wf = p->weight[f];
    if (we != wf) return we < wf ? e : f;
    return e != f && forest_loses_tie(p->ties, (int32_t)(e / 2), p->neighbours[e], (int32_t)(f / 2), p->neighbours[f])
               ? e
               : f;
}

/** Take v's neighbour in place s away; places are filled from the first one on. */
FOREST_INLINE void forest_drop(const forest_factor *p, int32_t v, int s)
{
    int32_t *mine = p->neighbours + 2 * (int64_t)v;
    if (s == 0) mine[0] = mine[1];
    mine[1] = -1;
}
FOREST_INLINE void forest_remove_edge(const forest_factor *p, uint32_t e)
{
    const int32_t low = (int32_t)(e / 2), high = p->neighbours[e];
    forest_drop(p, high, p->neighbours[2 * (int64_t)high] == low ? 0 : 1);
    forest_drop(p, low, (int)(e % 2));
}

/** A walk from v through its place s to the next vertex that is listed (index[u] >= 0), or to nothing. */
typedef struct {
    uint32_t link;                   /* twice that vertex's index, and its place that the walk came through */
    int32_t distance;                /* edges */
    uint32_t edge;                   /* the weakest of them, if that is wanted */
} forest_walk;

/** The walk; p: n = 2 where `seen` is given. seen: gets 1 for every vertex in between, and the weakest edge is found; NULL: neither. */
FOREST_INLINE forest_walk forest_walk_from(const forest_factor *p, const int32_t *index, int32_t v, int s, int32_t *seen)
{
    forest_walk walk = {FOREST_NO_LINK, 0, 0};
    int32_t from = v, at = forest_neighbour(p, v, s);
    if (at < 0) return walk;
    if (seen) walk.edge = forest_edge_name(p, v, s);
    for (walk.distance = 1; index[at] < 0; walk.distance++) {
        const int32_t next = forest_onward(p, at, from);
        if (seen) {
            const int place = forest_neighbour(p, at, 0) == next ? 0 : 1;
            walk.edge = forest_weaker(p, forest_edge_name(p, at, place), walk.edge);
            FOREST_MARK(&seen[at]);
        }
        from = at;
        at = next;
    }
    walk.link = 2 * (uint32_t)index[at] + (forest_neighbour(p, at, 0) == from ? 0 : 1);
    return walk;
}

#endif
