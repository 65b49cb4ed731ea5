/* The bidirectional scan (Klein 2024, Algorithm 7): in pass k every vertex knows the vertices 2^k places away on either
 * side, or the end of its path, and takes from them what they know of what lies beyond. Nobody needs to know which
 * side is forward. */
#include "forest/cpu/paths.h"

/** Both copies of what the passes read and write. The end e of a path is -(e + 1). */
struct scan {
    trine_forest f;
    int32_t *at[2], *distance[2];
    uint32_t *edge[2];
    int from;                        /* the copy that is read */
    bool wants_edges;                /* the weakest edge, else the distance */
    bool goes_on;                    /* somebody has not seen both ends */
    int64_t cycles;
};

static void start(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_factor p = forest_factor_of(s->f);
    (void)me;
    for (int64_t v = begin; v < end; v++)
        for (int i = 0; i < 2; i++) {
            const int32_t u = forest_neighbour(&p, (int32_t)v, i);
            s->at[0][2 * v + i] = u >= 0 ? u : (int32_t)-v - 1;
            if (!s->wants_edges) s->distance[0][2 * v + i] = 1;
            else if (u >= 0) s->edge[0][2 * v + i] = forest_edge_name(&p, (int32_t)v, i);
        }
}

static void pass(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_factor p = forest_factor_of(s->f);
    const int32_t *at = s->at[s->from], *distance = s->distance[s->from];
    const uint32_t *edge = s->edge[s->from];
    const int to = 1 - s->from;
    bool goes_on = false;
    (void)me;
    for (int64_t v = begin; v < end; v++)
        for (int64_t e = 2 * v; e < 2 * v + 2; e++) {
            const int32_t w = at[e];
            int32_t next = w, d = s->wants_edges ? 0 : distance[e];
            uint32_t weakest = s->wants_edges ? edge[e] : 0;
            for (int64_t j = 2 * (int64_t)w; w >= 0 && j < 2 * (int64_t)w + 2; j++) {
                if (at[j] == v) continue;
                next = at[j];
                if (!s->wants_edges) d += distance[j];
                else if (next >= 0) weakest = forest_weaker(&p, edge[j], weakest);
            }
            goes_on |= next >= 0;
            s->at[to][e] = next;
            if (s->wants_edges) s->edge[to][e] = weakest;
            else s->distance[to][e] = d;
        }
    if (goes_on) __atomic_store_n(&s->goes_on, true, __ATOMIC_RELAXED);
}

/** All passes: after them a vertex that has not seen both ends is on a cycle. */
static void run(struct scan *s)
{
    trine_forest f = s->f;
    const int64_t n = f->graph.n;
    for (int k = 0; k < 2; k++) {
        s->at[k] = (int32_t *)f->link + k * 2 * n;
        s->distance[k] = f->distance + k * 2 * n;
        s->edge[k] = f->edge + k * 2 * n;
    }
    forest_for(f, start, s);
    s->goes_on = true;
    for (int64_t reach = 1; s->goes_on && reach < n; reach *= 2) {
        s->goes_on = false;
        forest_for(f, pass, s);
        s->from = 1 - s->from;
    }
}

/** The lower end of the weakest edge of a cycle takes it out: the minima of both directions together are the cycle's. */
static void break_cycles(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_factor p = forest_factor_of(s->f);
    int64_t cycles = 0;
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        s->edge[1 - s->from][v] = FOREST_NO_LINK;
        if (s->at[s->from][2 * v] < 0 || s->at[s->from][2 * v + 1] < 0) continue;
        const uint32_t weakest = forest_weaker(&p, s->edge[s->from][2 * v], s->edge[s->from][2 * v + 1]);
        if (weakest / 2 != (uint32_t)v) continue;
        s->edge[1 - s->from][v] = weakest;
        cycles++;
    }
    __atomic_add_fetch(&s->cycles, cycles, __ATOMIC_RELAXED);
}

/** Once all are found: names of edges are places, which move. */
static void remove_edges(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_factor p = forest_factor_of(s->f);
    (void)me;
    for (int64_t v = begin; v < end; v++)
        if (s->edge[1 - s->from][v] != FOREST_NO_LINK) forest_remove_edge(&p, s->edge[1 - s->from][v]);
}

int64_t forest_scan_cycles(trine_forest f)
{
    struct scan s = {.f = f, .wants_edges = true};
    run(&s);
    forest_for(f, break_cycles, &s);
    if (s.cycles) forest_for(f, remove_edges, &s);
    return s.cycles;
}

/** The end with the lower number names the path. */
static void name_paths(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        const int32_t *at = s->at[s->from] + 2 * v; /* the larger one is the lower end */
        const int64_t e = 2 * v + (at[0] >= at[1] ? 0 : 1);
        s->f->path[v] = -(s->at[s->from][e] + 1);
        s->f->position[v] = s->distance[s->from][e];
    }
}

void forest_scan_paths(trine_forest f)
{
    struct scan s = {.f = f};
    run(&s);
    forest_for(f, name_paths, &s);
}
