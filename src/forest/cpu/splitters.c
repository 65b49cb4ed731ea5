/* Ranking in O(N): ends of paths and one in 16 other vertices are splitters. Each walks both ways to the next one, in
 * parallel; the list that is left is short enough for one thread. */
#include "forest/common/splitters.h"

#include <string.h>

#include "forest/cpu/paths.h"

/** Splitters in f->list, ascending; f->index says where, -1: none. Returns how many. */
static int64_t list_splitters(trine_forest f)
{
    const forest_view p = forest_view_of(f);
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
    int32_t *seen;                   /* as forest_walk takes it */
};

static void walk(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    const forest_view p = forest_view_of(w->f);
    (void)me;
    for (int64_t i = begin; i < end; i++)
        for (int s = 0; s < 2; s++) forest_walk(&p, i, s, w->seen);
}

enum { SPLITTER_GRAIN = 256 };
static void for_splitters(trine_forest f, int64_t count, trine_team_range range, void *user)
{
    trine_team_for(f->ctx, trine_threads_with_cores(f->ctx), count, SPLITTER_GRAIN, range, user);
}

/* ------------------------------------------------------------------- cycles */

/** The weakest edge of the cycle of splitter i, whose splitters are marked as done. */
static uint32_t weakest_around(const forest_view *p, int64_t i, int32_t *done)
{
    uint32_t weakest = p->edge[2 * i];
    for (uint32_t at = p->link[2 * i]; at / 2 != i; at = p->link[forest_through(at)]) {
        done[at / 2] = 1;
        weakest = forest_weaker(p, p->edge[forest_through(at)], weakest);
    }
    return weakest;
}

/** Cycles that have a splitter. */
static int64_t break_listed(const forest_view *p, int64_t count, int32_t *done)
{
    int64_t cycles = 0;
    memset(done, 0, (size_t)count * sizeof *done);
    for (int64_t i = 0; i < count; i++) { /* paths are not cycles */
        if (done[i] || !forest_is_end(p, p->list[i])) continue;
        done[i] = 1;
        for (uint32_t at = p->link[2 * i]; at != FOREST_NO_LINK; at = p->link[forest_through(at)]) done[at / 2] = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        if (done[i]) continue;
        forest_remove_edge(p, weakest_around(p, i, done));
        cycles++;
    }
    return cycles;
}

/** seen[v] = -1 for the lowest vertices of cycles without a splitter. */
static void find_unlisted(void *user, int64_t begin, int64_t end, int me)
{
    const struct walks *w = user;
    const forest_view p = forest_view_of(w->f);
    (void)me;
    for (int64_t v = begin; v < end; v++)
        if (forest_leads_cycle(&p, w->seen, (int32_t)v)) w->seen[v] = -1;
}

int64_t forest_split_cycles(trine_forest f)
{
    struct walks w = {f, f->path};
    const forest_view p = forest_view_of(f);
    const int64_t count = list_splitters(f);
    memset(w.seen, 0, (size_t)f->graph.n * sizeof *w.seen);
    for_splitters(f, count, walk, &w);
    int64_t cycles = break_listed(&p, count, f->position);
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
static void rank_splitters(const forest_view *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++) p->path[p->list[i]] = -1;
    for (int64_t i = 0; i < count; i++) {
        const int32_t name = p->list[i];
        if (p->path[name] >= 0 || !forest_is_end(p, name)) continue;
        uint32_t leave = 2 * (uint32_t)i; /* an end's neighbour is in place 0 */
        for (int32_t position = 1;;) {
            const int32_t v = p->list[leave / 2];
            p->path[v] = name;
            p->position[v] = position;
            p->edge[leave / 2] = leave % 2;
            if (p->link[leave] == FOREST_NO_LINK) break;
            position += p->distance[leave];
            leave = forest_through(p->link[leave]);
        }
    }
}

static void tell(void *user, int64_t begin, int64_t end, int me)
{
    const forest_view p = forest_view_of(user);
    (void)me;
    for (int64_t i = begin; i < end; i++) forest_tell(&p, i, (int)p.edge[i]);
}

void forest_split_paths(trine_forest f)
{
    struct walks w = {f, NULL};
    const forest_view p = forest_view_of(f);
    const int64_t count = list_splitters(f);
    for_splitters(f, count, walk, &w);
    rank_splitters(&p, count);
    for_splitters(f, count, tell, f);
}
