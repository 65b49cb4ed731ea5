/* Rounds of proposals and confirmations (Klein 2024, Algorithm 8). A chunk of vertices at a time; every vertex writes
 * to its own places alone, so that threads do not change the result. */
#include "core/scalar.h"
#include "forest/common/rounds.h"
#include "forest/cpu/cpu.h"

struct round {
    const struct forest_graph *graph;
    forest_view view;
    forest_round round;
    bool makes_lists, has_lists;     /* of candidates; made now */
    bool proposed;                   /* anything; set by any thread */
    int64_t confirmed;               /* edges, from both ends */
};

_Static_assert(FOREST_CANDIDATES <= FOREST_MAX_N, "room for the strongest of a row");

#define TEMPLATE "forest/cpu/factor.inc"
#include "core/each_dtype.h"

static void confirm_rows(void *user, int64_t begin, int64_t end, int me)
{
    struct round *r = user;
    int64_t edges = 0;
    (void)me;
    for (int64_t v = begin; v < end; v++) edges += forest_confirm(&r->view, r->round, v);
    if (edges) __atomic_add_fetch(&r->confirmed, edges, __ATOMIC_RELAXED);
}

/** Round k with nothing proposed yet. */
static struct round begin_round(trine_forest f, const struct forest_rounds *rounds, int64_t k)
{
    struct round r = {.graph = &f->graph, .view = forest_view_of(f), .round = {forest_charges_of(rounds, k), k == 0}};
    r.view.n = rounds->n;
    r.view.ties = rounds->ties;
    r.has_lists = f->wants_candidates || forest_has_candidates(f->counts, rounds->ties);
    r.makes_lists = r.has_lists && !forest_has_candidates(f->counts, rounds->ties);
    return r;
}

static void propose(trine_forest f, struct round *r)
{
    static const trine_team_range ranges[] = TABLE(propose_rows);
    forest_for(f, ranges[f->dtype], r);
    if (!r->makes_lists) return;
    f->counts->has_candidates = FOREST_CANDIDATES;
    f->counts->listed_ties = r->view.ties;
}

trine_status forest_cpu_propose(trine_forest f, const struct forest_rounds *rounds, int64_t k, void *stream)
{
    struct round r = begin_round(f, rounds, k);
    (void)stream;
    propose(f, &r);
    return TRINE_SUCCESS;
}

trine_status forest_cpu_factor(trine_forest f, const struct forest_rounds *rounds, void *stream)
{
    struct forest_counts *counts = f->counts;
    (void)stream;
    int64_t idle = 0; /* rounds in which nothing was confirmed */
    counts->rounds = counts->edges = counts->maximal = 0;
    for (int64_t k = 0; k < rounds->most && !counts->maximal && idle < rounds->m; k++) {
        struct round r = begin_round(f, rounds, k);
        propose(f, &r);
        forest_for(f, confirm_rows, &r);
        counts->rounds = k + 1;
        counts->edges += r.confirmed;
        counts->maximal = !r.round.charges.charged && !r.proposed;
        idle = r.confirmed ? 0 : idle + 1;
    }
    return TRINE_SUCCESS;
}
