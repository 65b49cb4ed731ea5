/* What stages do with one vertex, on the host and on a GPU: a forest's arrays by value, and its edges. */
#ifndef TRINE_FOREST_COMMON_VIEW_H
#define TRINE_FOREST_COMMON_VIEW_H

#include "forest/common/edge_order.h"
#include "forest/forest.h"

#define FOREST_NO_LINK UINT32_MAX

/** trine_forest_s has the comments. */
typedef struct {
    int64_t vertices;
    int n;
    forest_ties ties;
    int32_t *neighbours, *proposals, *candidates, *path, *position, *permutation, *distance, *list, *index;
    const uint8_t *absent;
    uint32_t *link, *edge;
    double *weight;
} forest_view;

static inline forest_view forest_view_of(const struct trine_forest_s *f)
{
    const forest_view p = {f->graph.n, f->n,        f->ties,        f->neighbours, f->proposals, f->candidates,
                           f->path,    f->position, f->permutation, f->distance,   f->list,      f->index,
                           f->absent,  f->link,     f->edge,        f->weight};
    return p;
}

/* -------------------------------------------------------------------- edges */

/** The neighbour in place s, 0 or 1, of a [0,2]- or [0,1]-factor; -1: there is none. */
FOREST_INLINE int32_t forest_neighbour(const forest_view *p, int32_t v, int s)
{
    return s < p->n ? p->neighbours[(int64_t)v * p->n + s] : -1;
}
/** A vertex with fewer than two neighbours. */
FOREST_INLINE bool forest_is_end(const forest_view *p, int32_t v) { return forest_neighbour(p, v, 1) < 0; }
/** The place of v that leads away from its neighbour `from`. */
FOREST_INLINE int forest_place_onward(const forest_view *p, int32_t v, int32_t from)
{
    return forest_neighbour(p, v, 0) == from ? 1 : 0;
}

/* An edge of a [0,2]-factor is named by its place in neighbours at its lower end. */

/** The edge from v to its neighbour in place s. */
FOREST_INLINE uint32_t forest_edge_name(const forest_view *p, int32_t v, int s)
{
    const int32_t u = p->neighbours[2 * (int64_t)v + s];
    if (v < u) return 2 * (uint32_t)v + (uint32_t)s;
    return 2 * (uint32_t)u + (p->neighbours[2 * (int64_t)u] == v ? 0 : 1);
}
/** An edge and what it weighs. */
typedef struct {
    uint32_t edge;
    double weight;
} forest_weighed;

/** Is e weaker than f? */
FOREST_INLINE bool forest_is_weaker(const forest_view *p, forest_weighed e, forest_weighed f)
{
    if (e.weight != f.weight) return e.weight < f.weight;
    if (e.edge == f.edge) return false;
    return forest_loses_tie(p->ties, (int32_t)(e.edge / 2), p->neighbours[e.edge], (int32_t)(f.edge / 2),
                            p->neighbours[f.edge]);
}
/** The edge from v to its neighbour in place s, with what the graph says that it weighs. */
FOREST_INLINE forest_weighed forest_weigh(const forest_view *p, const struct forest_graph *g, bool single, int32_t v,
                                          int s)
{
    const uint32_t edge = forest_edge_name(p, v, s);
    const int32_t low = (int32_t)(edge / 2);
    const int64_t k = forest_find(g->columns, g->begin[low], g->end[low], p->neighbours[edge]);
    const forest_weighed e = {edge, single ? (double)((const float *)g->weights)[k] : ((const double *)g->weights)[k]};
    return e;
}

/** Take v's neighbour in place s away; places are filled from the first one on. */
FOREST_INLINE void forest_drop(const forest_view *p, int32_t v, int s)
{
    int32_t *mine = p->neighbours + 2 * (int64_t)v;
    if (s == 0) mine[0] = mine[1];
    mine[1] = -1;
}
FOREST_INLINE void forest_remove_edge(const forest_view *p, uint32_t e)
{
    const int32_t low = (int32_t)(e / 2), high = p->neighbours[e];
    forest_drop(p, high, 1 - forest_place_onward(p, high, low));
    forest_drop(p, low, (int)(e % 2));
}

#endif
