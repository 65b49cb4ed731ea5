/* A context's helpers: threads that join in where there is work. A job is written so that whoever comes can take
 * chunks of it and nobody has to come: the thread that called gets to the end alone where helpers have no core, are
 * asleep, help another thread, or are not there any more (in the child of a fork). So what it ever waits for is a
 * chunk that somebody has begun. What is marked TRINE_API is exported for tests alone, as what core/test_interface.h
 * declares. */
#ifndef TRINE_CORE_TEAM_H
#define TRINE_CORE_TEAM_H

#include <omp.h>
#include <sched.h>

#include "core/internal.h"

/** A thread's part of a job. The one that called trine_team_run is me = 0, and returns when no chunk is left to
 *  begin. Helpers are 1, 2, ... below the number of threads asked for. A helper holds the job up while it is inside:
 *  so it returns when there is nothing left to begin (false), or when what it needs takes long (true: to be called
 *  again, after others had the core). */
typedef bool (*trine_team_work)(void *job, int me);

/** Start ctx's helpers, one less than it has threads, cores permitting; where that fails there are fewer. Once:
 *  later calls do nothing. */
TRINE_API void trine_team_start(trine_context ctx);
/** End them; the context is about to be freed. */
void trine_team_end(trine_context ctx);

/** Run a job by up to `threads` threads, this one included, and return when all that began something have ended it.
 *  wakes: the job is worth the 5 to 10 us that it takes to wake helpers; else only those come that are awake, as
 *  they are for some milliseconds after a job, and after every so many jobs. */
TRINE_API void trine_team_run(trine_context ctx, int threads, bool wakes, trine_team_work work, void *job);

/** range(user, begin, end) for chunks of [0, count), each of `grain` elements but for the last, by up to `threads`
 *  threads. me: as above. */
typedef void (*trine_team_range)(void *user, int64_t begin, int64_t end, int me);
TRINE_API void trine_team_for(trine_context ctx, int threads, int64_t count, int64_t grain, trine_team_range range,
                              void *user);
/** trine_team_for of `rows` rows of `cost` numbers each that are read and written, by all of the context's threads
 *  where that is worth it. No OpenMP: its threads wait spinning for a while after their part, and a helper that is
 *  asked for next then has no core. */
TRINE_API void trine_team_for_rows(trine_context ctx, int64_t rows, double cost, trine_team_range range, void *user);
/** trine_team_for, not worth waking anybody for. */
TRINE_API void trine_team_for_short(trine_context ctx, int threads, int64_t count, int64_t grain,
                                    trine_team_range range, void *user);

/** The context's threads, as far as there are cores for them: a team whose threads share cores waits longer than it
 *  computes. */
static inline int trine_threads_with_cores(trine_context ctx)
{
    const int cores = omp_get_num_procs();
    return ctx->threads < cores ? ctx->threads : cores;
}

/* ------------------------------------------------------------------- waiting */

/** A counter with a cache line to itself. */
typedef struct { _Alignas(64) int32_t value; } trine_counter;

enum { TRINE_POLLS = 200 }; /* some 10 us */

/** Once more around a loop that waits for another thread: for some 10 us the processor is told so, then the core is
 *  offered to other threads, again and again: the one waited for may have none. */
static inline void trine_poll(int *polls)
{
    if (++*polls > TRINE_POLLS) sched_yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#endif
}

/** What the counter has come to; what was written before it was counted is seen. */
static inline int32_t trine_counted(const trine_counter *counter)
{
    return __atomic_load_n(&counter->value, __ATOMIC_ACQUIRE);
}

/** One more; returns how many there were. */
static inline int32_t trine_count(trine_counter *counter)
{
    return __atomic_fetch_add(&counter->value, 1, __ATOMIC_ACQ_REL);
}

#endif
