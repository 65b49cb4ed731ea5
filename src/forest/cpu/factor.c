/* Rounds of proposals and confirmations (Klein 2024, Algorithm 8). A chunk of vertices at a time; every vertex writes
 * to its own places alone, so that threads do not change the result. */
#include "core/scalar.h"
#include "forest/cpu/cpu.h"

/** One round over f's graph. */
struct round {
    trine_forest f;
    int n;
    forest_ties ties;
    forest_charges charges;
    bool first;                      /* nothing is confirmed yet, and neighbours are not read (Table 12) */
    bool proposed;                   /* anything; set by any thread */
    int64_t confirmed;               /* edges, from both ends */
};

#define TEMPLATE "forest/cpu/factor.inc"
#include "core/each_dtype.h"
static const trine_team_range propose[] = TABLE(propose_rows);

/** Take the proposals that are mutual. */
static void confirm_rows(void *user, int64_t begin, int64_t end, int me)
{
    struct round *round = user;
    trine_forest f = round->f;
    const int n = round->n;
    int64_t edges = 0;
    (void)me;
    for (int64_t v = begin; v < end; v++) {
        int32_t *mine = f->neighbours + v * n;
        const int32_t *proposals = f->proposals + v * n;
        int count = 0;
        if (round->first)
            for (int s = 0; s < n; s++) mine[s] = -1;
        while (count < n && mine[count] >= 0) count++;
        for (int s = 0; s < n && proposals[s] >= 0; s++) {
            const int32_t *theirs = f->proposals + (int64_t)proposals[s] * n;
            for (int t = 0; t < n; t++)
                if (theirs[t] == v) mine[count++] = proposals[s], edges++;
        }
    }
    if (edges) __atomic_add_fetch(&round->confirmed, edges, __ATOMIC_RELAXED);
}

trine_status forest_cpu_factor(trine_forest f, const struct forest_rounds *r, void *stream)
{
    (void)stream;
    struct forest_counts *counts = f->counts;
    counts->maximal = 0;
    counts->rounds = counts->edges = 0;
    for (int64_t k = 0; k < r->most && !counts->maximal; k++) {
        struct round round = {f, r->n, r->ties, forest_charges_of(r, k), k == 0, false, 0};
        forest_for(f, propose[f->dtype], &round);
        forest_for(f, confirm_rows, &round);
        counts->rounds = k + 1;
        counts->edges += round.confirmed;
        counts->maximal = !round.charges.charged && !round.proposed;
        if (r->m == 1 && round.proposed && !round.confirmed) break; /* and so in all later rounds: a directed graph */
    }
    return TRINE_SUCCESS;
}
