/* Walks between splitters: what each does by itself. */
#ifndef TRINE_FOREST_COMMON_SPLITTERS_H
#define TRINE_FOREST_COMMON_SPLITTERS_H

#include "forest/common/view.h"

/* Marks that several threads may set. */
#ifdef __CUDA_ARCH__
#define FOREST_MARK(p) (*(volatile int32_t *)(p) = 1)
#else
#define FOREST_MARK(p) __atomic_store_n((p), 1, __ATOMIC_RELAXED)
#endif

/** A splitter is met at place s: its link says 2 i + s. It is left through the other one. */
FOREST_INLINE uint32_t forest_through(uint32_t link) { return link ^ 1; }

/** From splitter i through place s to the next one: link, distance, and, with seen, the weakest edge on the way;
 *  seen[u] = 1 for vertices in between. */
FOREST_INLINE void forest_walk(const forest_view *p, int64_t i, int s, int32_t *seen)
{
    const int64_t at = 2 * i + s;
    int32_t from = p->list[i], v = forest_neighbour(p, from, s), distance = 1;
    p->link[at] = FOREST_NO_LINK;
    p->distance[at] = 0;
    if (v < 0) return;
    uint32_t weakest = seen ? forest_edge_name(p, from, s) : 0;
    for (; p->index[v] < 0; distance++) {
        const int place = forest_place_onward(p, v, from);
        if (seen) {
            weakest = forest_weaker(p, forest_edge_name(p, v, place), weakest);
            FOREST_MARK(&seen[v]);
        }
        from = v;
        v = forest_neighbour(p, v, place);
    }
    p->link[at] = 2 * (uint32_t)p->index[v] + (uint32_t)(1 - forest_place_onward(p, v, from));
    p->distance[at] = distance;
    p->edge[at] = weakest;
}

/** Cycles without a splitter, which are short, are found by their lowest vertex: if v is that, edge[v] is the weakest
 *  one, and true. */
FOREST_INLINE bool forest_leads_cycle(const forest_view *p, const int32_t *seen, int32_t v)
{
    if (p->index[v] >= 0 || seen[v]) return false;
    uint32_t weakest = forest_edge_name(p, v, 0);
    int32_t from = v, at = forest_neighbour(p, v, 0);
    while (at > v) {
        const int place = forest_place_onward(p, at, from);
        weakest = forest_weaker(p, forest_edge_name(p, at, place), weakest);
        from = at;
        at = forest_neighbour(p, at, place);
    }
    if (at < v) return false;
    p->edge[v] = weakest;
    return true;
}

/** Splitter i, whose name and position are known, tells the vertices from its place s to the next splitter. */
FOREST_INLINE void forest_tell(const forest_view *p, int64_t i, int s)
{
    int32_t from = p->list[i], at = forest_neighbour(p, from, s);
    const int32_t name = p->path[from];
    for (int32_t position = p->position[from] + 1; at >= 0 && p->index[at] < 0; position++) {
        const int32_t next = forest_neighbour(p, at, forest_place_onward(p, at, from));
        p->path[at] = name;
        p->position[at] = position;
        from = at;
        at = next;
    }
}

#endif
