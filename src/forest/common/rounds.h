/* Confirmation of proposals (Klein 2024, Algorithm 8). */
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

/** May v, which is not full, propose to u? */
FOREST_INLINE bool forest_is_open(const forest_view *p, forest_round round, int n, int32_t v, bool positive, int32_t u)
{
    if (round.charges.charged && forest_is_positive(round.charges, u) == positive) return false;
    if (round.first) return true;
    if (p->neighbours[(int64_t)u * n + n - 1] >= 0) return false; /* full */
    for (int s = 0; s < n - 1; s++) /* v's last place is free */
        if (p->neighbours[(int64_t)v * n + s] == u) return false;
    return true;
}

#endif
