/* The sequential greedy [0,n]-factor (Klein 2024, Algorithm 6): all edges in decreasing order. Sorted by merging, in
 * runs of growing length. */
#include "forest/forest.h"

struct edge {
    double weight;
    uint64_t tie;                    /* of equal weights the larger one comes first */
    int32_t low, high;
};

static bool comes_first(const struct edge *a, const struct edge *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->tie > b->tie;
}

/** Sort `from`, with room for as many in `to`; returns which of the two holds the result. */
static struct edge *sort(int64_t count, struct edge *from, struct edge *to)
{
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * run) {
            const int64_t middle = begin + run < count ? begin + run : count;
            const int64_t end = middle + run < count ? middle + run : count;
            for (int64_t i = begin, j = middle, k = begin; k < end; k++)
                to[k] = j == end || (i < middle && !comes_first(&from[j], &from[i])) ? from[i++] : from[j++];
        }
        struct edge *other = from;
        from = to;
        to = other;
    }
    return from;
}

static double weight_of(const struct forest_graph *h, bool single, int64_t k)
{
    return single ? (double)((const float *)h->weights)[k] : ((const double *)h->weights)[k];
}

/** Edges v < u; those of a directed graph need both of their entries, and have the smaller of the two weights. */
static int64_t list_edges(const struct forest_graph *h, bool single, forest_ties ties, struct edge *edges)
{
    int64_t count = 0;
    for (int64_t v = 0; v < h->n; v++)
        for (int64_t k = h->begin[v]; k < h->end[v]; k++) {
            const int32_t u = h->columns[k], low = (int32_t)v;
            if (u < v) continue;
            const double there = weight_of(h, single, k),
                         back = weight_of(h, single, forest_find(h->columns, h->begin[u], h->end[u], low));
            const double weight = there < back ? there : back;
            if (!(weight > 0)) continue;
            const uint64_t tie = ties.by_hash ? forest_edge_key(ties, low, u) : ~((uint64_t)low << 32 | (uint64_t)u);
            edges[count++] = (struct edge){weight, tie, low, u};
        }
    return count;
}

trine_status forest_greedy(trine_context ctx, const struct forest_graph *h, bool single, const struct forest_rounds *r,
                           int32_t *neighbours)
{
    trine_status status = TRINE_SUCCESS;
    struct edge *edges = NULL, *room = NULL;
    uint8_t *degree = NULL;
    TRY(ALLOC(ctx, edges, h->entries / 2));
    TRY(ALLOC(ctx, room, h->entries / 2));
    TRY(CALLOC(ctx, degree, h->n));
    const int64_t count = list_edges(h, single, r->ties, edges);
    const struct edge *sorted = sort(count, edges, room);
    for (int64_t i = 0; i < h->n * r->n; i++) neighbours[i] = -1;
    for (int64_t e = 0; e < count; e++) {
        const int32_t v = sorted[e].low, u = sorted[e].high;
        if (degree[v] == r->n || degree[u] == r->n) continue;
        neighbours[(int64_t)v * r->n + degree[v]++] = u;
        neighbours[(int64_t)u * r->n + degree[u]++] = v;
    }
done:
    trine_free(ctx, TRINE_HOST, edges);
    trine_free(ctx, TRINE_HOST, room);
    trine_free(ctx, TRINE_HOST, degree);
    return status;
}
