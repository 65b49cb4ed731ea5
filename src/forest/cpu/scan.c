/* The bidirectional scan (Klein 2024, Algorithm 7): in pass k every vertex knows the vertices 2^k places away on either
 * side, or the end of its path, and takes from them what they know of what lies beyond. Nobody needs to know which
 * side is forward. */
#include "forest/common/scan.h"
#include "forest/cpu/paths.h"

struct scan {
    trine_forest f;
    forest_scan s;
    uint32_t *victims; /* FOREST_NO_LINK: none */
    bool goes_on; /* somebody does not know both ends */
    int64_t cycles;
};

static void start(void *user, int64_t begin, int64_t end, int me)
{
    const struct scan *s = user;
    const forest_view p = forest_view_of(s->f);
    (void)me;
    for (int64_t v = begin; v < end; v++) forest_scan_start(&p, &s->s, (int32_t)v);
}

static void pass(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_view p = forest_view_of(s->f);
    bool goes_on = false;
    (void)me;
    for (int64_t v = begin; v < end; v++) goes_on |= forest_scan_pass(&p, &s->s, (int32_t)v);
    if (goes_on) __atomic_store_n(&s->goes_on, true, __ATOMIC_RELAXED);
}

trine_status forest_cpu_scan_pass(trine_forest f, bool wants_edges, int k, void *stream)
{
    const forest_view p = forest_view_of(f);
    struct scan s = {.f = f, .s = forest_scan_of(&p, wants_edges)};
    (void)stream;
    if (k < 0 && wants_edges) forest_look_up_all(f);
    s.s.from = k > 0 ? k % 2 : 0;
    forest_for(f, k < 0 ? start : pass, &s);
    return TRINE_SUCCESS;
}

/** All passes: after them a vertex that does not know both ends is on a cycle. */
static void run(struct scan *s)
{
    forest_for(s->f, start, s);
    s->goes_on = true;
    for (int64_t reach = 1; s->goes_on && reach < s->f->graph.n; reach *= 2) {
        s->goes_on = false;
        forest_for(s->f, pass, s);
        s->s.from = 1 - s->s.from;
    }
}

static void find_victims(void *user, int64_t begin, int64_t end, int me)
{
    struct scan *s = user;
    const forest_view p = forest_view_of(s->f);
    int64_t cycles = 0;
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        s->victims[v] = forest_scan_victim(&p, &s->s, (int32_t)v);
        cycles += s->victims[v] != FOREST_NO_LINK;
    }
    __atomic_add_fetch(&s->cycles, cycles, __ATOMIC_RELAXED);
}

/** Once all are found: names of edges are places, which move. */
static void remove_victims(void *user, int64_t begin, int64_t end, int me)
{
    const struct scan *s = user;
    const forest_view p = forest_view_of(s->f);
    (void)me;
    for (int64_t v = begin; v < end; v++)
        if (s->victims[v] != FOREST_NO_LINK) forest_remove_edge(&p, s->victims[v]);
}

int64_t forest_scan_cycles(trine_forest f)
{
    const forest_view p = forest_view_of(f);
    struct scan s = {.f = f, .s = forest_scan_of(&p, true)};
    forest_look_up_all(f);
    run(&s);
    s.victims = s.s.edge[1 - s.s.from];
    forest_for(f, find_victims, &s);
    if (s.cycles) forest_for(f, remove_victims, &s);
    return s.cycles;
}

static void name_paths(void *user, int64_t begin, int64_t end, int me)
{
    const struct scan *s = user;
    const forest_view p = forest_view_of(s->f);
    (void)me;
    for (int64_t v = begin; v < end; v++) forest_scan_name(&p, &s->s, (int32_t)v);
}

void forest_scan_paths(trine_forest f)
{
    const forest_view p = forest_view_of(f);
    struct scan s = {.f = f, .s = forest_scan_of(&p, false)};
    run(&s);
    forest_for(f, name_paths, &s);
}
