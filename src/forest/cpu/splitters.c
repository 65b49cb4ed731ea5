/* Ranking in O(N): ends of paths and one in 16 other vertices are splitters. Each walks both ways to the next one, in
 * parallel; the list that is left is short enough for one thread. */
#include <string.h>

#include "forest/cpu/paths.h"

/** Splitters in f->list, ascending; f->index says where, -1: none. Returns how many. */
static int64_t list_splitters(trine_forest f)
{
    const forest_factor p = forest_factor_of(f);
    int64_t count = 0;
    for (int64_t i = 0; i < f->graph.n; i++) {
        const int32_t v = (int32_t)i;
        const bool is_one = forest_is_end(&p, v) || forest_is_splitter(v);
        f->index[v] = is_one ? (int32_t)count : -1;
        if (is_one) f->list[count++] = v;
    }
    return count;
}

struct walks {
    trine_forest f;
    int32_t *seen;                   /* as forest_walk_from takes it */
};

static void walk(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    trine_forest f = w->f;
    const forest_factor p = forest_factor_of(f);
    (void)me;
    for (int64_t i = begin; i < end; i++)
        for (int s = 0; s < 2; s++) {
            const forest_walk found = forest_walk_from(&p, f->index, f->list[i], s, w->seen);
            f->link[2 * i + s] = found.link;
            f->distance[2 * i + s] = found.distance;
            f->edge[2 * i + s] = found.edge;
        }
}

enum { SPLITTER_GRAIN = 256 };
static void for_splitters(trine_forest f, int64_t count, trine_team_range range, void *user)
{
    trine_team_for(f->ctx, trine_threads_with_cores(f->ctx), count, SPLITTER_GRAIN, range, user);
}

/* ------------------------------------------------------------------- cycles */

/** Leave the splitter that `link` arrives at through its other place. */
static uint32_t through(uint32_t link) { return link ^ 1; }

/** The weakest edge of the cycle of splitter i, whose splitters are marked as done. */
static uint32_t weakest_around(trine_forest f, const forest_factor *p, int64_t i, int32_t *done)
{
    uint32_t weakest = f->edge[2 * i];
    for (uint32_t at = f->link[2 * i]; at / 2 != i; at = f->link[through(at)]) {
        done[at / 2] = 1;
        weakest = forest_weaker(p, f->edge[through(at)], weakest);
    }
    return weakest;
}

/** Cycles that have a splitter. */
static int64_t break_listed(trine_forest f, int64_t count, int32_t *done)
{
    const forest_factor p = forest_factor_of(f);
    int64_t cycles = 0;
    memset(done, 0, (size_t)count * sizeof *done);
    for (int64_t i = 0; i < count; i++) { /* paths are not cycles */
        if (done[i] || !forest_is_end(&p, f->list[i])) continue;
        done[i] = 1;
        for (uint32_t at = f->link[2 * i]; at != FOREST_NO_LINK; at = f->link[through(at)]) done[at / 2] = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        if (done[i]) continue;
        forest_remove_edge(&p, weakest_around(f, &p, i, done));
        cycles++;
    }
    return cycles;
}

/** Cycles without a splitter, which are short: found by their lowest vertex v, whose seen[v] becomes -1. */
static void find_unlisted(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    trine_forest f = w->f;
    const forest_factor p = forest_factor_of(f);
    (void)me;
    for (int64_t i = begin; i < end; i++) {
        if (f->index[i] >= 0 || w->seen[i]) continue;
        const int32_t v = (int32_t)i;
        uint32_t weakest = forest_edge_name(&p, v, 0);
        int32_t from = v, at = forest_neighbour(&p, v, 0);
        while (at > v) {
            const int32_t next = forest_onward(&p, at, from);
            weakest = forest_weaker(&p, forest_edge_name(&p, at, forest_neighbour(&p, at, 0) == next ? 0 : 1), weakest);
            from = at;
            at = next;
        }
        if (at < v) continue;
        f->edge[v] = weakest;
        w->seen[v] = -1;
    }
}

int64_t forest_split_cycles(trine_forest f)
{
    struct walks w = {f, f->path};
    const forest_factor p = forest_factor_of(f);
    const int64_t count = list_splitters(f);
    memset(w.seen, 0, (size_t)f->graph.n * sizeof *w.seen);
    for_splitters(f, count, walk, &w);
    int64_t cycles = break_listed(f, count, f->position);
    forest_for(f, find_unlisted, &w);
    for (int64_t v = 0; v < f->graph.n; v++)
        if (w.seen[v] < 0) {
            forest_remove_edge(&p, f->edge[v]);
            cycles++;
        }
    return cycles;
}

/* -------------------------------------------------------------------- paths */

/** Name and position of the splitters of paths, in the order of their lower ends; edge[i] becomes the place that leads
 *  on. */
static void rank_splitters(trine_forest f, int64_t count, const forest_factor *p)
{
    for (int64_t i = 0; i < count; i++) f->path[f->list[i]] = -1;
    for (int64_t i = 0; i < count; i++) {
        const int32_t name = f->list[i];
        if (f->path[name] >= 0 || !forest_is_end(p, name)) continue;
        uint32_t leave = 2 * (uint32_t)i; /* an end's neighbour is in place 0 */
        for (int32_t position = 1;;) {
            const int32_t v = f->list[leave / 2];
            f->path[v] = name;
            f->position[v] = position;
            f->edge[leave / 2] = leave % 2;
            if (f->link[leave] == FOREST_NO_LINK) break;
            position += f->distance[leave];
            leave = through(f->link[leave]);
        }
    }
}

/** Every splitter tells the vertices up to the next one. */
static void tell(void *user, int64_t begin, int64_t end, int me)
{
    trine_forest f = user;
    const forest_factor p = forest_factor_of(f);
    (void)me;
    for (int64_t i = begin; i < end; i++) {
        int32_t from = f->list[i], at = forest_neighbour(&p, from, (int)f->edge[i]);
        const int32_t name = f->path[from];
        for (int32_t position = f->position[from] + 1; at >= 0 && f->index[at] < 0; position++) {
            const int32_t next = forest_onward(&p, at, from);
            f->path[at] = name;
            f->position[at] = position;
            from = at;
            at = next;
        }
    }
}

void forest_split_paths(trine_forest f)
{
    struct walks w = {f, NULL};
    const forest_factor p = forest_factor_of(f);
    const int64_t count = list_splitters(f);
    for_splitters(f, count, walk, &w);
    rank_splitters(f, count, &p);
    for_splitters(f, count, tell, f);
}
