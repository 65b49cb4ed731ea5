/* Rounds of exchanges on a forest: every end of a path chooses one, and of those that want the same path one is
 * made. */
#include "forest/common/improve.h"
#include "forest/cpu/paths.h"

struct improvement {
    forest_exchange exchange;
    int64_t edges;                   /* more than before */
};

static void choose(void *user, int64_t begin, int64_t end, int me)
{
    const struct improvement *m = user;
    (void)me;
    for (int64_t u = begin; u < end; u++) forest_choose(&m->exchange, (int32_t)u);
}

static void claim(void *user, int64_t begin, int64_t end, int me)
{
    const struct improvement *m = user;
    (void)me;
    for (int64_t u = begin; u < end; u++) forest_claim(&m->exchange, (int32_t)u);
}

static void apply(void *user, int64_t begin, int64_t end, int me)
{
    struct improvement *m = user;
    int64_t edges = 0;
    (void)me;
    for (int64_t u = begin; u < end; u++) edges += forest_apply(&m->exchange, (int32_t)u);
    if (edges) __atomic_add_fetch(&m->edges, edges, __ATOMIC_RELAXED);
}

trine_status forest_cpu_exchange(trine_forest f, uint64_t salt, void *stream)
{
    struct improvement m = {{forest_view_of(f), f->graph, trine_dtype_is_single(f->dtype), salt}, 0};
    (void)stream;
    forest_look_up_all(f);
    forest_for(f, choose, &m);
    forest_for(f, claim, &m);
    forest_for(f, apply, &m);
    f->counts->edges += 2 * m.edges;
    f->counts->maximal = 0;
    return TRINE_SUCCESS;
}
