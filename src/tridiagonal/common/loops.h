/* Loops of a solve on the CPU, for the caller and whoever of its context's team comes (core/team.h). What an
 * iteration computes does not depend on who does it, and what comes of several together (the least, the largest, one
 * of them) not on their order: so no result depends on the number of threads. */
#ifndef TRINE_TRIDIAGONAL_COMMON_LOOPS_H
#define TRINE_TRIDIAGONAL_COMMON_LOOPS_H

#include "core/team.h"
#include "tridiagonal/tridiagonal.h"

/** Work is counted in rows of a tridiagonal system, times right-hand sides: from how many on a loop is for several
 *  threads, and worth waking them. */
enum { RPTS_TEAM_ROWS = 1 << 13, RPTS_WAKE_ROWS = 1 << 16, RPTS_BLOCK_ROWS = 8 /* a block row is as many, or more */ };

/** range(job, begin, end, me) for chunks of [0, count), me < threads; a thread finds some chunks, of `least`
 *  iterations or more. */
static inline void rpts_for(trine_context ctx, int threads, int64_t work, int64_t count, int64_t least,
                            trine_team_range range, void *job)
{
    enum { CHUNKS = 8 }; /* a thread */
    if (threads == 1 || work < RPTS_TEAM_ROWS) {
        range(job, 0, count, 0);
        return;
    }
    const int64_t share = count / (CHUNKS * (int64_t)threads), grain = share > least ? share : least;
    if (work < RPTS_WAKE_ROWS) trine_team_for_short(ctx, threads, count, grain, range, job);
    else trine_team_for(ctx, threads, count, grain, range, job);
}

/** For the query of a workspace: the team is there when the solve begins, which allocates nothing. */
static inline void rpts_start_team(const solve_place *at, int64_t work)
{
    if (!at->cuda && at->ctx->threads > 1 && work >= RPTS_TEAM_ROWS) trine_team_start(at->ctx);
}

static inline void rpts_take_least(int64_t *least, int64_t value)
{
    int64_t before = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < before &&
           !__atomic_compare_exchange_n(least, &before, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static inline void rpts_take_largest(double *largest, double value)
{
    double before;
    __atomic_load(largest, &before, __ATOMIC_RELAXED);
    while (value > before &&
           !__atomic_compare_exchange(largest, &before, &value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

#endif
