/* Helpers wait for a job at a door: a word with the number of the job, whether it is open, and how many are inside.
 * They go in by counting themselves, which succeeds only while their job is open, and look at nothing of it from
 * outside. The caller shuts the door when there is nothing left to begin, and waits for those inside. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/team.h"

#define INSIDE ((uint64_t)0xFFFF)
#define OPEN ((uint64_t)1 << 16)
#define NUMBER_SHIFT 32
enum { MANY = 16 };
/* after the last job; a helper that polls is there at once, and lets whoever wants its core have it */
static const double awake_seconds = 5e-3;

struct helper {
    pthread_t thread;
    struct trine_team_s *team;
    int me;
};

struct trine_team_s {
    _Alignas(64) uint64_t door; /* atomic */
    trine_team_work work;       /* of the job inside */
    void *job;
    int threads;
    int core;                   /* atomic: that the caller runs on; -1: not known */
    int missed;                 /* jobs not worth waking for, one after another, while somebody slept */
    _Alignas(64) int busy;      /* atomic: somebody's job is open, or being shut */
    int sleepers;               /* atomic; changed under the lock */
    int quits;                  /* atomic */
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    pid_t process;              /* whose threads they are */
    int count;
    struct helper helpers[];
};

static uint32_t number_of(uint64_t door) { return (uint32_t)(door >> NUMBER_SHIFT); }

/* ------------------------------------------------------------------- helpers */

/** Whether there is something else at the door than job `seen`, or nothing will ever be. */
static bool is_news(const struct trine_team_s *team, uint32_t seen)
{
    return number_of(__atomic_load_n(&team->door, __ATOMIC_SEQ_CST)) != seen ||
           __atomic_load_n(&team->quits, __ATOMIC_ACQUIRE);
}

/** Poll, then sleep, until there is. */
static void wait_for_news(struct trine_team_s *team, uint32_t seen)
{
    const double start = trine_wall_time();
    for (int polls = 0; !is_news(team, seen); trine_poll(&polls)) {
        if (polls <= TRINE_POLLS || trine_wall_time() - start < awake_seconds) continue;
        pthread_mutex_lock(&team->lock);
        __atomic_add_fetch(&team->sleepers, 1, __ATOMIC_SEQ_CST);
        while (!is_news(team, seen)) pthread_cond_wait(&team->wakes, &team->lock);
        __atomic_sub_fetch(&team->sleepers, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&team->lock);
    }
}

/** Be counted inside, if the job is still the one seen and open. */
static bool enter(struct trine_team_s *team, uint32_t seen)
{
    uint64_t door = __atomic_load_n(&team->door, __ATOMIC_RELAXED);
    while (number_of(door) == seen && door & OPEN)
        if (__atomic_compare_exchange_n(&team->door, &door, door + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    return false;
}

static int this_core(void)
{
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/** Leave the caller's core for another one. The scheduler may put a helper that wakes up there, and leave it there for
 *  tens of milliseconds, while other cores have nothing to do: it takes threads that run often for hard to move. */
static void leave_core(int core)
{
#if defined(__linux__)
    cpu_set_t all, others;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all)) return;
    others = all;
    CPU_CLR((size_t)core, &others);
    if (!CPU_COUNT(&others) || pthread_setaffinity_np(pthread_self(), sizeof others, &others)) return;
    pthread_setaffinity_np(pthread_self(), sizeof all, &all);
#else
    (void)core;
#endif
}

static void *help(void *argument)
{
    const struct helper *self = argument;
    struct trine_team_s *team = self->team;
    for (uint32_t seen = 0;;) {
        wait_for_news(team, seen);
        if (__atomic_load_n(&team->quits, __ATOMIC_ACQUIRE)) return NULL;
        seen = number_of(__atomic_load_n(&team->door, __ATOMIC_RELAXED));
        const int core = __atomic_load_n(&team->core, __ATOMIC_RELAXED);
        if (core >= 0 && core == this_core()) leave_core(core);
        for (bool again = true; again && enter(team, seen);) {
            again = self->me < team->threads && team->work(team->job, self->me);
            __atomic_sub_fetch(&team->door, 1, __ATOMIC_RELEASE);
            if (again) sched_yield();
        }
    }
}

/* ------------------------------------------------------------- life of a team */

/** A thread inherits the cores of the one that made it, which OpenMP may have bound to one of them (OMP_PROC_BIND):
 *  allow all places. */
static void leave_place(pthread_t thread)
{
#if defined(__linux__)
    cpu_set_t cores;
    if (omp_get_proc_bind() == omp_proc_bind_false || !omp_get_num_places()) return;
    CPU_ZERO(&cores);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int numbers[CPU_SETSIZE];
        const int count = omp_get_place_num_procs(place);
        if (count > CPU_SETSIZE) return;
        omp_get_place_proc_ids(place, numbers);
        for (int i = 0; i < count; i++)
            if (numbers[i] >= 0 && numbers[i] < CPU_SETSIZE) CPU_SET(numbers[i], &cores);
    }
    pthread_setaffinity_np(thread, sizeof cores, &cores);
#else
    (void)thread;
#endif
}

static void end(struct trine_team_s *team)
{
    if (team->process == getpid()) { /* in the child of a fork there is nobody to wait for */
        pthread_mutex_lock(&team->lock);
        __atomic_store_n(&team->quits, 1, __ATOMIC_SEQ_CST);
        pthread_cond_broadcast(&team->wakes);
        pthread_mutex_unlock(&team->lock);
        for (int i = 0; i < team->count; i++) pthread_join(team->helpers[i].thread, NULL);
        pthread_mutex_destroy(&team->lock);
        pthread_cond_destroy(&team->wakes);
    }
    free(team);
}

void trine_team_start(trine_context ctx)
{
    const int wanted = trine_threads_with_cores(ctx) - 1;
    if (wanted < 1 || __atomic_load_n(&ctx->team, __ATOMIC_ACQUIRE)) return;
    const size_t bytes = sizeof(struct trine_team_s) + (size_t)wanted * sizeof(struct helper);
    struct trine_team_s *team = aligned_alloc(64, (bytes + 63) / 64 * 64), *none = NULL;
    if (!team) return;
    *team = (struct trine_team_s){
        .lock = PTHREAD_MUTEX_INITIALIZER, .wakes = PTHREAD_COND_INITIALIZER, .process = getpid()};
    sigset_t all, before; /* signals are for the caller's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < wanted; i++) {
        struct helper *h = &team->helpers[team->count];
        *h = (struct helper){.team = team, .me = i + 1};
        if (pthread_create(&h->thread, NULL, help, h)) break;
        leave_place(h->thread);
        team->count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* another thread was first */
    if (!__atomic_compare_exchange_n(&ctx->team, &none, team, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) end(team);
}

void trine_team_end(trine_context ctx)
{
    if (ctx->team) end(ctx->team);
    ctx->team = NULL;
}

/* ---------------------------------------------------------------------- jobs */

/** Wake who sleeps, for a job that is worth it, or one of many that are not by themselves; unless those were threads
 *  of the process that this one was forked from. Where the lock is not free somebody is about to fall asleep; the
 *  job then goes without, it needs nobody. */
static void wake(struct trine_team_s *team, bool worth_it)
{
    if (!__atomic_load_n(&team->sleepers, __ATOMIC_SEQ_CST) || (!worth_it && ++team->missed < MANY)) return;
    team->missed = 0;
    if (team->process != getpid() || pthread_mutex_trylock(&team->lock)) return;
    pthread_cond_broadcast(&team->wakes);
    pthread_mutex_unlock(&team->lock);
}

void trine_team_run(trine_context ctx, int threads, bool wakes, trine_team_work work, void *job)
{
    struct trine_team_s *team = threads > 1 ? __atomic_load_n(&ctx->team, __ATOMIC_ACQUIRE) : NULL;
    if (!team || __atomic_exchange_n(&team->busy, 1, __ATOMIC_ACQUIRE)) { /* none, or with another thread's job */
        work(job, 0);
        return;
    }
    team->work = work;
    team->job = job;
    team->threads = threads;
    __atomic_store_n(&team->core, this_core(), __ATOMIC_RELAXED);
    const uint32_t number = number_of(__atomic_load_n(&team->door, __ATOMIC_RELAXED)) + 1;
    __atomic_store_n(&team->door, (uint64_t)number << NUMBER_SHIFT | OPEN, __ATOMIC_SEQ_CST);
    wake(team, wakes);
    work(job, 0);
    __atomic_and_fetch(&team->door, ~OPEN, __ATOMIC_ACQ_REL);
    for (int polls = 0; __atomic_load_n(&team->door, __ATOMIC_ACQUIRE) & INSIDE;) trine_poll(&polls);
    __atomic_store_n(&team->busy, 0, __ATOMIC_RELEASE);
}

/* -------------------------------------------------------------------- OpenMP */

int trine_openmp_limit(void)
{
    const int before = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    return before;
}

void trine_openmp_restore(int before) { omp_set_max_active_levels(before); }

/* -------------------------------------------------------------------- ranges */

struct ranges {
    _Alignas(64) int64_t next; /* atomic */
    int64_t count, grain;
    trine_team_range range;
    void *user;
};

static bool take_ranges(void *job, int me)
{
    struct ranges *r = job;
    for (int64_t at; (at = __atomic_fetch_add(&r->next, r->grain, __ATOMIC_RELAXED)) < r->count;)
        r->range(r->user, at, r->count - at < r->grain ? r->count : at + r->grain, me);
    return false;
}

static void run_ranges(trine_context ctx, int threads, bool wakes, int64_t count, int64_t grain, trine_team_range range,
                       void *user)
{
    struct ranges r = {0, count, grain, range, user};
    if (count <= grain) threads = 1;
    trine_team_run(ctx, threads, wakes, take_ranges, &r);
}

void trine_team_for(trine_context ctx, int threads, int64_t count, int64_t grain, trine_team_range range, void *user)
{
    run_ranges(ctx, threads, true, count, grain, range, user);
}

void trine_team_for_short(trine_context ctx, int threads, int64_t count, int64_t grain, trine_team_range range,
                          void *user)
{
    run_ranges(ctx, threads, false, count, grain, range, user);
}

void trine_team_for_rows(trine_context ctx, int64_t rows, double cost, trine_team_range range, void *user)
{
    enum { CHUNK = 1 << 16 }; /* numbers: some 50 us, of which waking a helper takes a tenth */
    const int64_t grain = cost >= CHUNK ? 1 : (int64_t)(CHUNK / (cost > 1 ? cost : 1));
    if (rows <= 2 * grain) {
        if (rows) range(user, 0, rows, 0);
        return;
    }
    trine_team_start(ctx);
    run_ranges(ctx, trine_threads_with_cores(ctx), true, rows, grain, range, user);
}
