/* One vertex on its way into the permutation, once its path and position are known. */
#ifndef TRINE_FOREST_COMMON_ORDER_H
#define TRINE_FOREST_COMMON_ORDER_H

#include "forest/common/view.h"

/** The weights of v's edges, n = 2, at their places in neighbours. */
FOREST_INLINE void forest_look_up(const forest_view *p, const struct forest_graph *g, bool single, int64_t v)
{
    for (int64_t e = 2 * v; e < 2 * v + 2 && p->neighbours[e] >= 0; e++) {
        const int64_t k = forest_find(g->columns, g->begin[v], g->end[v], p->neighbours[e]);
        p->weight[e] = single ? (double)((const float *)g->weights)[k] : ((const double *)g->weights)[k];
    }
}

/** The last vertex of a path says how long it is: index[name] = length, 0 before. Returns the length, or 0. */
FOREST_INLINE int32_t forest_note_length(const forest_view *p, int32_t v)
{
    if (p->absent && p->absent[v]) {
        p->path[v] = -1;
        p->position[v] = 0;
        return 0;
    }
    const bool is_alone = forest_neighbour(p, v, 0) < 0;
    if (!is_alone && !(forest_is_end(p, v) && p->position[v] > 1)) return 0;
    p->index[p->path[v]] = p->position[v];
    return p->position[v];
}

/** index[name]: vertices on paths before. */
FOREST_INLINE void forest_place(const forest_view *p, int32_t v)
{
    if (p->path[v] >= 0) p->permutation[p->index[p->path[v]] + p->position[v] - 1] = v;
}

#endif
