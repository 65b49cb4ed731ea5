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

/** From splitter i through place s to the next one: link and distance. For vertices u in between seen[u] = 1, or
 *  steps[u] says which way of which splitter has come there, 2 i + s, and after how many steps, in its lower half; a
 *  way from the other end may overwrite it. Both may be NULL. */
FOREST_INLINE void forest_walk(const forest_view *p, int64_t i, int s, int32_t *seen, uint64_t *steps)
{
    const int64_t at = 2 * i + s;
    int32_t from = p->list[i], v = forest_neighbour(p, from, s), distance = 1;
    p->link[at] = FOREST_NO_LINK;
    p->distance[at] = 0;
    if (v < 0) return;
    for (; p->index[v] < 0; distance++) {
        const int32_t next = forest_neighbour(p, v, forest_place_onward(p, v, from));
        if (seen) FOREST_MARK(&seen[v]);
        if (steps) steps[v] = (uint64_t)at << 32 | (uint32_t)distance;
        from = v;
        v = next;
    }
    p->link[at] = 2 * (uint32_t)p->index[v] + (uint32_t)(1 - forest_place_onward(p, v, from));
    p->distance[at] = distance;
}

/** Is v, which no walk has come to, the lowest vertex of its cycle, which is short? */
FOREST_INLINE bool forest_leads_cycle(const forest_view *p, int32_t v)
{
    int32_t from = v, at = forest_neighbour(p, v, 0);
    while (at > v) {
        const int32_t next = forest_neighbour(p, at, forest_place_onward(p, at, from));
        from = at;
        at = next;
    }
    return at == v;
}
#endif
