/* Ranking in O(N): ends of paths and one in 16 other vertices are splitters. Each walks both ways to the next one, in
 * parallel; the list that is left is short enough for one thread a path. */
#include "forest/common/splitters.h"

#include <string.h>

#include "forest/cpu/paths.h"

enum { SPLITTER_BITS = 4 };          /* of other vertices, one in 2^SPLITTER_BITS is one */

/* f->list: splitters, ascending; f->index says where, -1: none. Chunks of vertices are counted, then numbered. */

static bool is_splitter(const forest_view *p, int64_t v)
{
    return forest_is_end(p, (int32_t)v) || forest_is_splitter((int32_t)v, SPLITTER_BITS);
}

static void count_splitters(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    int32_t count = 0;
    (void)me;
    for (int64_t v = begin; v < end; v++) count += is_splitter(&p, v);
    p.distance[begin / FOREST_GRAIN] = count;
}

static void number_splitters(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    int32_t next = p.distance[begin / FOREST_GRAIN];
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        p.index[v] = is_splitter(&p, v) ? next : -1;
        if (p.index[v] >= 0) p.list[next++] = (int32_t)v;
    }
}

static int64_t list_splitters(trine_forest f)
{
    int32_t sum = 0;
    forest_for(f, count_splitters, f);
    for (int64_t c = 0; c * FOREST_GRAIN < f->graph.n; c++) {
        const int32_t count = f->distance[c];
        f->distance[c] = sum;
        sum += count;
    }
    forest_for(f, number_splitters, f);
    return sum;
}

struct walks {
    trine_forest f;
    int32_t *seen;                   /* as forest_walk takes it */
};

static void walk(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    const forest_view p = forest_view_of(w->f);
    (void)me;
    for (int64_t i = begin; i < end; i++)
        for (int s = 0; s < 2; s++) forest_walk(&p, i, s, w->seen, NULL);
}

enum { SPLITTER_GRAIN = 256 };
static void for_splitters(trine_forest f, int64_t count, trine_team_range range, void *user)
{
    trine_team_for(f->ctx, trine_threads_with_cores(f->ctx), count, SPLITTER_GRAIN, range, user);
}

/* ------------------------------------------------------------------- cycles */

/** The weakest edge on the way from splitter i, of a cycle, through place s to the next one. */
static forest_weighed weakest_onward(const forest_view *p, const struct forest_graph *g, bool single, int64_t i, int s)
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

/* f->edge and f->weight at 2 i + s: the weakest edge from splitter i of a cycle through place s to the next one. */

static forest_weighed weakest_at(const forest_view *p, uint32_t at)
{
    return (forest_weighed){p->edge[at], p->weight[at]};
}

/** The weakest edge of the cycle of splitter i, whose splitters are marked as done. */
static uint32_t weakest_around(const forest_view *p, int64_t i, int32_t *done)
{
    forest_weighed weakest = weakest_at(p, 2 * (uint32_t)i);
    for (uint32_t at = p->link[2 * i]; at / 2 != i; at = p->link[forest_through(at)]) {
        const forest_weighed e = weakest_at(p, forest_through(at));
        done[at / 2] = 1;
        if (forest_is_weaker(p, e, weakest)) weakest = e;
    }
    return weakest.edge;
}

static void weigh_cycles(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const forest_view p = forest_view_of(f);
    const bool single = trine_dtype_is_single(f->dtype);
    (void)me;
    for (int64_t e = 2 * begin; e < 2 * end; e++) {
        if (f->position[e / 2]) continue;
        const forest_weighed weakest = weakest_onward(&p, &f->graph, single, e / 2, (int)(e % 2));
        p.edge[e] = weakest.edge;
        p.weight[e] = weakest.weight;
    }
}

/** Splitters of paths are not on cycles: both ends of a path mark them, as neither knows of the other. */
static void mark_paths(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const forest_view p = forest_view_of(f);
    int32_t *done = f->position;
    (void)me;
    for (int64_t i = begin; i < end; i++) {
        if (!forest_is_end(&p, p.list[i])) continue;
        FOREST_MARK(&done[i]);
        for (uint32_t at = p.link[2 * i]; at != FOREST_NO_LINK; at = p.link[forest_through(at)])
            FOREST_MARK(&done[at / 2]);
    }
}

/** Cycles that have a splitter. */
static int64_t break_listed(trine_forest f, int64_t count)
{
    const forest_view p = forest_view_of(f);
    int32_t *done = f->position;
    int64_t cycles = 0;
    memset(done, 0, (size_t)count * sizeof *done);
    for_splitters(f, count, mark_paths, f);
    for_splitters(f, count, weigh_cycles, f);
    for (int64_t i = 0; i < count; i++) {
        if (done[i]) continue;
        forest_remove_edge(&p, weakest_around(&p, i, done));
        cycles++;
    }
    return cycles;
}

/** The weakest edge of v's cycle. */
static uint32_t weakest_edge_of_cycle(const forest_view *p, const struct forest_graph *g, bool single, int32_t v)
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

/** seen[v] = -1 for the lowest vertices of cycles without a splitter. */
static void find_unlisted(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    const trine_forest f = w->f;
    const forest_view p = forest_view_of(f);
    const bool single = trine_dtype_is_single(f->dtype);
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        if (p.index[v] >= 0 || w->seen[v] || !forest_leads_cycle(&p, (int32_t)v)) continue;
        p.edge[v] = weakest_edge_of_cycle(&p, &f->graph, single, (int32_t)v);
        w->seen[v] = -1;
    }
}

int64_t forest_split_cycles(trine_forest f)
{
    struct walks w = {f, f->path};
    const forest_view p = forest_view_of(f);
    const int64_t count = list_splitters(f);
    memset(w.seen, 0, (size_t)f->graph.n * sizeof *w.seen);
    for_splitters(f, count, walk, &w);
    int64_t cycles = break_listed(f, count);
    forest_for(f, find_unlisted, &w);
    for (int64_t v = 0; v < f->graph.n; v++)
        if (w.seen[v] < 0) {
            forest_remove_edge(&p, f->edge[v]);
            cycles++;
        }
    return cycles;
}

/* -------------------------------------------------------------------- paths */

/** The other end of the path that begins with splitter i. */
static int32_t other_end(const forest_view *p, int64_t i)
{
    uint32_t leave = 2 * (uint32_t)i; /* an end's neighbour is in place 0 */
    while (p->link[leave] != FOREST_NO_LINK) leave = forest_through(p->link[leave]);
    return p->list[leave / 2];
}

/** The lower end of a path tells its splitters their name and position; edge[i] becomes the place that leads on. */
static void rank_splitters(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    (void)me;
    for (int64_t i = begin; i < end; i++) {
        const int32_t name = p.list[i];
        if (!forest_is_end(&p, name) || other_end(&p, i) < name) continue;
        uint32_t leave = 2 * (uint32_t)i;
        for (int32_t position = 1;;) {
            const int32_t v = p.list[leave / 2];
            p.path[v] = name;
            p.position[v] = position;
            p.edge[leave / 2] = leave % 2;
            if (p.link[leave] == FOREST_NO_LINK) break;
            position += p.distance[leave];
            leave = forest_through(p.link[leave]);
        }
    }
}

/** Splitter i, whose name and position are known, tells the vertices from its place s to the next splitter. */
static void tell_from(const forest_view *p, int64_t i, int s)
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

static void tell(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    (void)me;
    for (int64_t i = begin; i < end; i++) tell_from(&p, i, (int)p.edge[i]);
}

void forest_split_paths(trine_forest f)
{
    struct walks w = {f, NULL};
    const int64_t count = list_splitters(f);
    for_splitters(f, count, walk, &w);
    for_splitters(f, count, rank_splitters, f);
    for_splitters(f, count, tell, f);
}
