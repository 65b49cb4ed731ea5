/* One vertex in the passes of the bidirectional scan (Klein 2024, Algorithm 7). */
#ifndef TRINE_FOREST_COMMON_SCAN_H
#define TRINE_FOREST_COMMON_SCAN_H

#include "forest/common/view.h"

/** Both copies of what passes read and write: for vertex v at [2 v] and [2 v + 1]. The end e of a path is -(e + 1). */
typedef struct {
    int32_t *at[2], *distance[2];
    uint32_t *edge[2];
    int from;                        /* the copy that is read */
    bool wants_edges;                /* the weakest edge, else the distance */
} forest_scan;

static inline forest_scan forest_scan_of(const forest_view *p, bool wants_edges)
{
    const int64_t half = 2 * p->vertices;
    const forest_scan s = {{(int32_t *)p->link, (int32_t *)p->link + half},
                           {p->distance, p->distance + half},
                           {p->edge, p->edge + half},
                           0,
                           wants_edges};
    return s;
}

FOREST_INLINE void forest_scan_start(const forest_view *p, const forest_scan *s, int32_t v)
{
    for (int i = 0; i < 2; i++) {
        const int64_t e = 2 * (int64_t)v + i;
        const int32_t u = forest_neighbour(p, v, i);
        s->at[0][e] = u >= 0 ? u : -v - 1;
        if (!s->wants_edges) s->distance[0][e] = 1;
        else s->edge[0][e] = u >= 0 ? forest_edge_name(p, v, i) : 0;
    }
}

/** The weaker of two edges, whose weights were looked up. */
FOREST_INLINE uint32_t forest_scan_weaker(const forest_view *p, uint32_t e, uint32_t f)
{
    const forest_weighed one = {e, p->weight[e]}, other = {f, p->weight[f]};
    return forest_is_weaker(p, other, one) ? f : e;
}

/** Does v not know both ends of its path yet? */
FOREST_INLINE bool forest_scan_pass(const forest_view *p, const forest_scan *s, int32_t v)
{
    const int32_t *at = s->at[s->from], *distance = s->distance[s->from];
    const uint32_t *edge = s->edge[s->from];
    const int to = 1 - s->from;
    bool goes_on = false;
    for (int64_t e = 2 * (int64_t)v; e < 2 * (int64_t)v + 2; e++) {
        const int32_t w = at[e];
        int32_t next = w, d = s->wants_edges ? 0 : distance[e];
        uint32_t weakest = s->wants_edges ? edge[e] : 0;
        for (int64_t j = 2 * (int64_t)w; w >= 0 && j < 2 * (int64_t)w + 2; j++) {
            if (at[j] == v) continue;
            next = at[j];
            if (!s->wants_edges) d += distance[j];
            else if (next >= 0) weakest = forest_scan_weaker(p, edge[j], weakest);
        }
        goes_on |= next >= 0;
        s->at[to][e] = next;
        if (s->wants_edges) s->edge[to][e] = weakest;
        else s->distance[to][e] = d;
    }
    return goes_on;
}

/** After all passes: the edge that v takes out, as the lower end of the weakest edge of its cycle; else FOREST_NO_LINK.
 *  The minima of both directions together are the cycle's. */
FOREST_INLINE uint32_t forest_scan_victim(const forest_view *p, const forest_scan *s, int32_t v)
{
    const int64_t e = 2 * (int64_t)v;
    if (s->at[s->from][e] < 0 || s->at[s->from][e + 1] < 0) return FOREST_NO_LINK;
    const uint32_t weakest = forest_scan_weaker(p, s->edge[s->from][e], s->edge[s->from][e + 1]);
    return weakest / 2 == (uint32_t)v ? weakest : FOREST_NO_LINK;
}

/** The end with the lower number names the path. */
FOREST_INLINE void forest_scan_name(const forest_view *p, const forest_scan *s, int32_t v)
{
    const int64_t e = 2 * (int64_t)v;
    const int i = s->at[s->from][e] >= s->at[s->from][e + 1] ? 0 : 1; /* the larger one is the lower end */
    p->path[v] = -(s->at[s->from][e + i] + 1);
    p->position[v] = s->distance[s->from][e + i];
}

#endif
