/* Proposals from lists of candidates, and their confirmation (Klein 2024, Algorithm 8). */
#ifndef TRINE_FOREST_COMMON_ROUNDS_H
#define TRINE_FOREST_COMMON_ROUNDS_H

#include "forest/common/view.h"

/** One round: which it is, and what it does not look at. */
typedef struct {
    forest_charges charges;
    bool first;                      /* nothing is confirmed yet, and neighbours are not read (Table 12) */
} forest_round;

/** Take v's proposals that are mutual; returns how many. */
FOREST_INLINE int forest_confirm(const forest_view *p, forest_round round, int64_t v)
{
    const int n = p->n;
    int32_t *mine = p->neighbours + v * n;
    const int32_t *proposals = p->proposals + v * n;
    int count = 0, before;
    if (round.first)
        for (int s = 0; s < n; s++) mine[s] = -1;
    while (count < n && mine[count] >= 0) count++;
    before = count;
    for (int s = 0; s < n && proposals[s] >= 0; s++) {
        const int32_t *theirs = p->proposals + (int64_t)proposals[s] * n;
        for (int t = 0; t < n; t++)
            if (theirs[t] == v) mine[count++] = proposals[s];
    }
    return count - before;
}

FOREST_INLINE bool forest_is_full(const forest_view *p, int n, int32_t u)
{
    return p->neighbours[(int64_t)u * n + n - 1] >= 0;
}

/** May v, which is not full, propose to u? */
FOREST_INLINE bool forest_is_open(const forest_view *p, forest_round round, int n, int32_t v, bool positive, int32_t u)
{
    if (round.charges.charged && forest_is_positive(round.charges, u) == positive) return false;
    if (round.first) return true;
    if (forest_is_full(p, n, u)) return false;
    for (int s = 0; s < n - 1; s++) /* v's last place is free */
        if (p->neighbours[(int64_t)v * n + s] == u) return false;
    return true;
}

/* Candidates: a vertex keeps its strongest edges in decreasing order, so that a round need not look at weights. Where
 * they do not suffice, and the row has others, it is looked at as a whole. */

/** Propose to v's candidates, FOREST_CANDIDATES at most. entries: of its row. Returns how many it proposes to, -1: the
 *  row has to be looked at. */
FOREST_INLINE int forest_propose_listed(const forest_view *p, forest_round round, int n, int32_t v, bool positive,
                                        int room, int64_t entries)
{
    const int32_t *list = p->candidates + (int64_t)v * FOREST_CANDIDATES;
    int32_t *proposals = p->proposals + (int64_t)v * n;
    int count = 0, c = 0;
    for (; c < FOREST_CANDIDATES && count < room && list[c] >= 0; c++) {
        if (!forest_is_open(p, round, n, v, positive, list[c])) continue;
        proposals[count++] = list[c];
    }
    if (count < room && (c < FOREST_CANDIDATES ? list[c] == FOREST_LIST_BREAKS : entries > FOREST_CANDIDATES))
        return -1;
    for (int s = count; s < n; s++) proposals[s] = -1;
    return count;
}

/** v's edges of the factor are no candidates any more. room: of each list. */
FOREST_INLINE void forest_purge_candidates(const forest_view *p, int room, int32_t v, int64_t entries)
{
    int32_t *list = p->candidates + (int64_t)v * room;
    const int32_t *mine = p->neighbours + (int64_t)v * p->n;
    int32_t end = entries > room ? FOREST_LIST_BREAKS : FOREST_LIST_ENDS;
    int count = 0;
    for (int c = 0; c < room; c++) {
        const int32_t u = list[c];
        if (u < 0) {
            end = u;
            break;
        }
        bool is_taken = false;
        for (int s = 0; s < p->n; s++) is_taken |= mine[s] == u;
        if (!is_taken) list[count++] = u;
    }
    if (count < room) list[count] = end;
}

#endif
