/* Waiting for another thread of a team on the CPU. */
#ifndef TRINE_WAIT_H
#define TRINE_WAIT_H

#include <omp.h>
#include <sched.h>

#include "core/internal.h"

/** A counter with a cache line to itself. */
typedef struct {
    _Alignas(64) int32_t value;
} trine_counter;

/** Return when the counter has come to `value`; what its thread wrote before is seen. Polls for some 10 us, then offers the core
 *  to other threads again and again: the one waited for may have none. */
static inline void trine_wait_for(const trine_counter *counter, int32_t value)
{
    enum { SPINS = 200 };
    for (int spins = 0; __atomic_load_n(&counter->value, __ATOMIC_ACQUIRE) < value; spins++) {
        if (spins > SPINS) sched_yield();
#if defined(__x86_64__)
        else __builtin_ia32_pause();
#endif
    }
}

/** One more; returns how many there were. */
static inline int32_t trine_count(trine_counter *counter) { return __atomic_fetch_add(&counter->value, 1, __ATOMIC_ACQ_REL); }

/** The context's threads, as far as there are cores for them: a team whose threads share cores waits longer than it computes. */
static inline int trine_threads_with_cores(trine_context ctx)
{
    const int cores = omp_get_num_procs();
    return ctx->threads < cores ? ctx->threads : cores;
}

#endif
