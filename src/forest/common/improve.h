/* Exchanges that make paths longer. An end u of a path takes an edge {u,w}. Where w is inside a path, its edge {w,x}
 * goes out, and x, now an end, may take an edge {x,y} to an end of a path. So the weight changes by
 * |uw| - |wx| + |xy|, which is never negative. What stays is a forest: of every path at most one change a round has
 * a part, the one that has claimed all of its paths. */
#ifndef TRINE_FOREST_COMMON_IMPROVE_H
#define TRINE_FOREST_COMMON_IMPROVE_H

#include <string.h>

#include "forest/common/view.h"

#ifdef __CUDA_ARCH__
#define FOREST_ATOMIC_MAX(p, x) atomicMax((unsigned long long *)(p), (unsigned long long)(x))
#else
#define FOREST_ATOMIC_MAX(p, x) \
    do { \
        uint64_t seen_ = __atomic_load_n((p), __ATOMIC_RELAXED); \
        while (seen_ < (x) && \
               !__atomic_compare_exchange_n((p), &seen_, (x), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {} \
    } while (0)
#endif

/** A round: the forest and its graph, weights at their places in neighbours. */
typedef struct {
    forest_view p;
    struct forest_graph graph;
    bool single;
    uint64_t salt;                   /* of the round */
} forest_exchange;

/* A change as it lies in p.link: u's at [4 u]. x, y < 0: none. */
typedef struct {
    int32_t w, x, y;
    double gain;
    uint64_t rank;                   /* of changes with the same gain the larger one */
} forest_change;

FOREST_INLINE double forest_weight_at(const forest_exchange *e, int64_t k)
{
    return e->single ? (double)((const float *)e->graph.weights)[k] : ((const double *)e->graph.weights)[k];
}
FOREST_INLINE bool forest_are_linked(const forest_view *p, int32_t v, int32_t u)
{
    return forest_neighbour(p, v, 0) == u || forest_neighbour(p, v, 1) == u;
}

/** One to one on 32-bit numbers (the end of MurmurHash3). */
FOREST_INLINE uint32_t forest_mix_short(uint32_t z)
{
    z = (z ^ (z >> 16)) * 0x85EBCA6Bu;
    z = (z ^ (z >> 13)) * 0xC2B2AE35u;
    return z ^ (z >> 16);
}
/** What decides between changes that want the same path, another number for every u: the gain in single precision,
 *  which as a number of bits is ordered alike, and a hash. */
FOREST_INLINE uint64_t forest_claim_of(const forest_exchange *e, int32_t u, double gain)
{
    const float rounded = (float)gain;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return (uint64_t)bits << 32 | forest_mix_short((uint32_t)u + (uint32_t)e->salt);
}

/** The end y that x may take an edge to, once {u,w} is in and {w,x} out: the strongest; -1: none. */
FOREST_INLINE int32_t forest_next_end(const forest_exchange *e, int32_t u, int32_t w, int32_t x, double *weight)
{
    const forest_view *p = &e->p;
    const int32_t *path = p->path, *position = p->position;
    int32_t best = -1;
    *weight = 0;
    for (int64_t k = e->graph.begin[x]; k < e->graph.end[x]; k++) {
        const int32_t y = e->graph.columns[k];
        const double wy = forest_weight_at(e, k);
        if (!(wy > *weight) || y == u || y == w || !forest_is_end(p, y) || forest_are_linked(p, x, y)) continue;
        /* y on the path of x as it is then would close a cycle */
        if (path[w] == path[u] && path[y] == path[u]) continue;
        if (path[w] != path[u] && path[y] == path[w] && (position[x] > position[w]) == (position[y] > position[w]))
            continue;
        best = y;
        *weight = wy;
    }
    return best;
}

FOREST_INLINE void forest_keep_better(forest_change *best, forest_change c)
{
    if (c.gain > best->gain || (c.gain == best->gain && c.rank > best->rank)) *best = c;
}

/** The best change that begins at u; w < 0: none. */
FOREST_INLINE forest_change forest_best_change(const forest_exchange *e, int32_t u)
{
    const forest_view *p = &e->p;
    forest_change best = {-1, -1, -1, -1, 0};
    if (!forest_is_end(p, u)) return best;
    for (int64_t k = e->graph.begin[u]; k < e->graph.end[u]; k++) {
        const int32_t w = e->graph.columns[k];
        const double in = forest_weight_at(e, k);
        const bool is_same = p->path[w] == p->path[u];
        const uint64_t rank = forest_mix(forest_edge_key(p->ties, u, w) ^ e->salt);
        if (!(in > 0) || forest_are_linked(p, u, w)) continue;
        if (forest_is_end(p, w)) {
            if (!is_same) forest_keep_better(&best, (forest_change){w, -1, -1, in, rank});
            continue;
        }
        for (int s = 0; s < 2; s++) {
            const int32_t x = forest_neighbour(p, w, s);
            /* of u's own path the edge on u's side, else a cycle would be cut off */
            if (is_same && (p->position[x] < p->position[w]) != (p->position[u] < p->position[w])) continue;
            double more;
            const int32_t y = forest_next_end(e, u, w, x, &more);
            const double gain = in - p->weight[2 * (int64_t)w + s] + more;
            if (gain >= 0) forest_keep_better(&best, (forest_change){w, x, y, gain, rank + (uint64_t)s});
        }
    }
    return best;
}

FOREST_INLINE uint64_t *forest_claims(const forest_view *p) { return (uint64_t *)p->distance; }
FOREST_INLINE uint64_t *forest_claim_at(const forest_view *p, int32_t u)
{
    return (uint64_t *)p->edge + 2 * (int64_t)u;
}

/** u's change, if it has one; and nobody has claimed the path named u yet. */
FOREST_INLINE void forest_choose(const forest_exchange *e, int32_t u)
{
    const forest_view *p = &e->p;
    const forest_change c = forest_best_change(e, u);
    uint32_t *to = p->link + 4 * (int64_t)u;
    forest_claims(p)[u] = 0;
    to[0] = (uint32_t)c.w, to[1] = (uint32_t)c.x, to[2] = (uint32_t)c.y;
    *forest_claim_at(p, u) = c.w < 0 ? 0 : forest_claim_of(e, u, c.gain);
}

/** u's change as it was chosen. */
FOREST_INLINE forest_change forest_chosen(const forest_view *p, int32_t u)
{
    const uint32_t *from = p->link + 4 * (int64_t)u;
    const forest_change c = {(int32_t)from[0], (int32_t)from[1], (int32_t)from[2], 0, 0};
    return c;
}

FOREST_INLINE void forest_claim(const forest_exchange *e, int32_t u)
{
    const forest_view *p = &e->p;
    const forest_change c = forest_chosen(p, u);
    const uint64_t mine = *forest_claim_at(p, u);
    if (c.w < 0) return;
    FOREST_ATOMIC_MAX(&forest_claims(p)[p->path[u]], mine);
    FOREST_ATOMIC_MAX(&forest_claims(p)[p->path[c.w]], mine);
    if (c.y >= 0) FOREST_ATOMIC_MAX(&forest_claims(p)[p->path[c.y]], mine);
}

FOREST_INLINE void forest_link(const forest_view *p, int32_t v, int32_t u)
{
    p->neighbours[2 * (int64_t)v + (forest_neighbour(p, v, 0) < 0 ? 0 : 1)] = u;
}
FOREST_INLINE void forest_unlink(const forest_view *p, int32_t v, int32_t u)
{
    forest_drop(p, v, forest_neighbour(p, v, 0) == u ? 0 : 1);
}

/** u's change, if all of its paths are its own; returns by how many edges there are more. */
FOREST_INLINE int forest_apply(const forest_exchange *e, int32_t u)
{
    const forest_view *p = &e->p;
    const forest_change c = forest_chosen(p, u);
    const uint64_t mine = *forest_claim_at(p, u), *claims = forest_claims(p);
    if (c.w < 0 || claims[p->path[u]] != mine || claims[p->path[c.w]] != mine) return 0;
    if (c.y >= 0 && claims[p->path[c.y]] != mine) return 0;
    if (c.x >= 0) {
        forest_unlink(p, c.w, c.x);
        forest_unlink(p, c.x, c.w);
    }
    forest_link(p, u, c.w);
    forest_link(p, c.w, u);
    if (c.y >= 0) {
        forest_link(p, c.x, c.y);
        forest_link(p, c.y, c.x);
    }
    return (c.x < 0) + (c.y >= 0);
}

#endif
