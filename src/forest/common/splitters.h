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

/** From splitter i through place s to the next one: link and distance. With seen, seen[u] = 1 for vertices in between. */
FOREST_INLINE void forest_walk(const forest_view *p, int64_t i, int s, int32_t *seen)
{
    const int64_t at = 2 * i + s;
    int32_t from = p->list[i], v = forest_neighbour(p, from, s), distance = 1;
    p->link[at] = FOREST_NO_LINK;
    p->distance[at] = 0;
    if (v < 0) return;
    for (; p->index[v] < 0; distance++) {
        const int32_t next = forest_neighbour(p, v, forest_place_onward(p, v, from));
        if (seen) FOREST_MARK(&seen[v]);
        from = v;
        v = next;
    }
    p->link[at] = 2 * (uint32_t)p->index[v] + (uint32_t)(1 - forest_place_onward(p, v, from));
    p->distance[at] = distance;
}

/** The weakest edge on the way from splitter i, of a cycle, through place s to the next one. */
FOREST_INLINE forest_weighed forest_weakest_onward(const forest_view *p, const struct forest_graph *g, bool single,
                                                   int64_t i, int s)
{
    int32_t from = p->list[i], v = forest_neighbour(p, from, s);
    forest_weighed weakest = forest_weigh(p, g, single, from, s);
    while (p->index[v] < 0) {
        const int place = forest_place_onward(p, v, from);
        const forest_weighed e = forest_weigh(p, g, single, v, place);
        if (forest_is_weaker(p, e, weakest)) weakest = e;
        from = v;
        v = forest_neighbour(p, v, place);
    }
    return weakest;
}

/** Is v the lowest vertex of a cycle without a splitter, which is short? */
FOREST_INLINE bool forest_leads_cycle(const forest_view *p, const int32_t *seen, int32_t v)
{
    if (p->index[v] >= 0 || seen[v]) return false;
    int32_t from = v, at = forest_neighbour(p, v, 0);
    while (at > v) {
        const int32_t next = forest_neighbour(p, at, forest_place_onward(p, at, from));
        from = at;
        at = next;
    }
    return at == v;
}
/** The weakest edge of v's cycle. */
FOREST_INLINE uint32_t forest_weakest_around(const forest_view *p, const struct forest_graph *g, bool single, int32_t v)
{
    int32_t from = v, at = forest_neighbour(p, v, 0);
    forest_weighed weakest = forest_weigh(p, g, single, v, 0);
    while (at != v) {
        const int place = forest_place_onward(p, at, from);
        const forest_weighed e = forest_weigh(p, g, single, at, place);
        if (forest_is_weaker(p, e, weakest)) weakest = e;
        from = at;
        at = forest_neighbour(p, at, place);
    }
    return weakest.edge;
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
