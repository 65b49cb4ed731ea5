/* Helpers of a context (core/team.h), by themselves and under the solves: every piece is done once, whoever comes,
 * and nobody has to come. Also built with ThreadSanitizer. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/team.h"
#include "harness.h"

static trine_context team_context(void)
{
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu:2"));
    trine_team_start(ctx); /* on one core there is no helper: then everything is done alone */
    trine_team_start(ctx); /* once is enough */
    return ctx;
}

/* ---------------------------------------------------------------------- jobs */

static void count_elements(void *user, int64_t begin, int64_t end, int me)
{
    int *times = user;
    assert_in_range(me, 0, 1);
    for (int64_t i = begin; i < end; i++) __atomic_add_fetch(&times[i], 1, __ATOMIC_RELAXED);
}

static void every_piece_is_done_once(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 7, 100, 4096}, grains[] = {1, 3, 64, 5000};
    trine_context ctx = team_context();
    int times[4096];
    for (int round = 0; round < 300; round++) {
        const int64_t count = counts[round % 6], grain = grains[round / 6 % 4];
        memset(times, 0, sizeof times);
        (round % 3 ? trine_team_for : trine_team_for_short)(ctx, 1 + round % 2, count, grain, count_elements, times);
        for (int64_t i = 0; i < 4096; i++) assert_int_equal(times[i], i < count);
    }
    OK(trine_context_destroy(&ctx));
}

/** A job of two pieces: the caller takes the first at once, and the second when a helper has not taken it. */
struct meeting { int caller_done, helper_inside, helper_done, taken; };
static bool meet(void *job, int me)
{
    struct meeting *m = job;
    if (me && !__atomic_exchange_n(&m->taken, 1, __ATOMIC_ACQ_REL)) {
        __atomic_store_n(&m->helper_inside, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&m->caller_done, __ATOMIC_ACQUIRE)) sched_yield();
        usleep(1000);
        __atomic_store_n(&m->helper_done, 1, __ATOMIC_RELEASE);
    }
    if (!me) {
        for (int i = 0; i < 1000 && !__atomic_load_n(&m->helper_inside, __ATOMIC_ACQUIRE); i++) usleep(100);
        __atomic_store_n(&m->caller_done, 1, __ATOMIC_RELEASE);
        __atomic_exchange_n(&m->taken, 1, __ATOMIC_ACQ_REL);
    }
    return false;
}

static void who_has_begun_is_waited_for(void **state)
{
    (void)state;
    trine_context ctx = team_context();
    int came = 0;
    for (int round = 0; round < 20; round++) {
        struct meeting m = {0};
        trine_team_run(ctx, 2, true, meet, &m);
        assert_true(m.caller_done);
        assert_int_equal(m.helper_inside, m.helper_done);
        came += m.helper_inside;
        if (round % 5 == 4) usleep(10000); /* helpers fall asleep, and wake */
    }
    cpu_set_t cores;
    assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
    if (CPU_COUNT(&cores) > 1) assert_true(came); /* a job of two threads is one for the first helper */
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------- solves without their helpers */

enum { ROWS = 40 * 40 * 3, FACTORS = 4, ALL = FACTORS * ROWS };

/** Plans of two threads for a triangle, and for several of them in one, their right-hand side and its solution by
 *  one thread. */
struct scene {
    trine_context ctx, one;
    trine_matrix L;
    trine_panels panels;
    trine_triangular triangular, serial;
    trine_supernodal supernodal, alone;
    double b[ALL], x[ALL], exact[2][ALL];
};

/** By the triangular plans, or the supernodal ones; by two threads, or one. */
static void solve(struct scene *s, int kind, bool two, double *x)
{
    const int64_t n = kind ? ALL : ROWS;
    const trine_dense B = {s->b, n, 1, n, TRINE_COLMAJOR}, X = {x, n, 1, n, TRINE_COLMAJOR};
    if (kind) OK(trine_supernodal_solve(two ? s->supernodal : s->alone, TRINE_N, NULL, &B, &X, NULL));
    else OK(trine_triangular_solve(two ? s->triangular : s->serial, TRINE_N, NULL, &B, &X, NULL));
}

static struct scene *open_scene(void)
{
    struct scene *s = calloc(1, sizeof *s);
    trine_matrix A;
    s->ctx = team_context();
    OK(trine_context_create(&s->one, "cpu:1"));
    OK(trine_matrix_gallery(s->one, &A, "laplace3d:nx=40,ny=40,nz=3", TRINE_D));
    OK(trine_matrix_triangle(A, &s->L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_matrix_destroy(&A));
    /* many zeros: enough work for two */
    OK(trine_panels_detect(s->one, s->L, &(trine_panels_options){.fill = 0.9, .max_width = 48}, &s->panels));
    const trine_panels factors[FACTORS] = {s->panels, s->panels, s->panels, s->panels};
    const void *values[FACTORS] = {s->panels.values, s->panels.values, s->panels.values, s->panels.values};
    OK(trine_triangular_analyse(s->ctx, &s->triangular, s->L,
                                &(trine_triangular_options){.method = TRINE_TRI_LEVELSET, .max_nrhs = 40}));
    OK(trine_triangular_analyse(s->one, &s->serial, s->L, NULL));
    OK(trine_supernodal_analyse_batch(s->ctx, &s->supernodal, factors, FACTORS, NULL));
    OK(trine_supernodal_analyse_batch(s->one, &s->alone, factors, FACTORS, NULL));
    OK(trine_triangular_numeric(s->triangular, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_numeric(s->serial, TRINE_HOST, NULL, NULL));
    OK(trine_supernodal_numeric_batch(s->supernodal, TRINE_HOST, values, NULL));
    OK(trine_supernodal_numeric_batch(s->alone, TRINE_HOST, values, NULL));
    for (int i = 0; i < ALL; i++) s->b[i] = 1 + i % 7;
    solve(s, 0, false, s->exact[0]);
    solve(s, 1, false, s->exact[1]);
    return s;
}

static void close_scene(struct scene *s)
{
    OK(trine_triangular_destroy(&s->triangular));
    OK(trine_triangular_destroy(&s->serial));
    OK(trine_supernodal_destroy(&s->supernodal));
    OK(trine_supernodal_destroy(&s->alone));
    trine_panels_free(s->one, &s->panels);
    OK(trine_matrix_destroy(&s->L));
    OK(trine_context_destroy(&s->one));
    OK(trine_context_destroy(&s->ctx));
    free(s);
}

static void solve_and_check(struct scene *s)
{
    for (int kind = 0; kind < 2; kind++) {
        solve(s, kind, true, s->x);
        for (int i = 0; i < (kind ? ALL : ROWS); i++)
            assert_true(fabs(s->x[i] - s->exact[kind][i]) <= 1e-12 * fabs(s->exact[kind][i]));
    }
}

/** A job that keeps the team until it is told to end. */
struct occupation {
    trine_context ctx;
    int begun, ends;
};
static bool occupy(void *job, int me)
{
    struct occupation *o = job;
    if (!me) __atomic_store_n(&o->begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&o->ends, __ATOMIC_ACQUIRE)) usleep(100);
    return false;
}
static void *occupy_in_a_thread(void *argument)
{
    struct occupation *o = argument;
    trine_team_run(o->ctx, 2, true, occupy, o);
    return NULL;
}

/** The helpers are with another thread's job all the time: every solve comes to its end without them. */
static void solves_do_without_helpers(void **state)
{
    (void)state;
    struct scene *s = open_scene();
    struct occupation o = {.ctx = s->ctx};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, occupy_in_a_thread, &o), 0);
    while (!__atomic_load_n(&o.begun, __ATOMIC_ACQUIRE)) usleep(100);
    for (int round = 0; round < 5; round++) solve_and_check(s);
    double *many = calloc(40 * ROWS, sizeof *many); /* right-hand sides shared out */
    for (int64_t i = 0; i < 40 * ROWS; i++) many[i] = s->b[i % ROWS];
    const trine_dense M = {many, ROWS, 40, ROWS, TRINE_COLMAJOR};
    OK(trine_triangular_solve(s->triangular, TRINE_N, NULL, &M, &M, NULL));
    for (int64_t i = 0; i < 40 * ROWS; i++)
        assert_true(fabs(many[i] - s->exact[0][i % ROWS]) <= 1e-13 * fabs(s->exact[0][i % ROWS]));
    free(many);
    OK(trine_supernodal_numeric_batch(
        s->supernodal, TRINE_HOST,
        (const void *[]){s->panels.values, s->panels.values, s->panels.values, s->panels.values}, NULL));
    __atomic_store_n(&o.ends, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    for (int round = 0; round < 200; round++) solve_and_check(s); /* with them again */
    close_scene(s);
}

/* ------------------------------------------------------ beside other programs */

#if defined(RUSAGE_THREAD) && !defined(__SANITIZE_THREAD__) /* which does not go on behind a fork */
#define ON_BUSY_CORES
static int64_t switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/** Programs that want every core: a thread that has to wait for another one loses its core as often as it waits. A
 *  solve must not wait for threads that hold nothing. Counted, not timed: how often the calling thread was taken
 *  from its core or gave it away. */
static void solves_on_busy_cores_rarely_give_theirs_away(void **state)
{
    (void)state;
    enum { SOLVES = 120 };
    struct scene *s = open_scene();
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int programs = cores < 8 ? 2 * cores : 16;
    pid_t busy[16];
    for (int i = 0; i < programs; i++)
        if ((busy[i] = fork()) == 0) {
            alarm(120); /* whatever becomes of the test */
            for (volatile int forever = 1; forever;) {}
            _exit(0);
        }
    usleep(20000);
    int64_t count[2][2]; /* triangular, supernodal; by one thread, by two */
    for (int kind = 0; kind < 2; kind++)
        for (int two = 0; two < 2; two++) {
            const int64_t before = switches();
            for (int i = 0; i < SOLVES; i++) solve(s, kind, two, s->x);
            count[kind][two] = switches() - before;
        }
    for (int i = 0; i < programs; i++) kill(busy[i], SIGKILL);
    for (int i = 0; i < programs; i++) waitpid(busy[i], NULL, 0);
    for (int kind = 0; kind < 2; kind++) {
        print_message("%s: %d switches by one thread, %d by two, in %d solves\n", kind ? "supernodal" : "triangular",
                      (int)count[kind][0], (int)count[kind][1], (int)SOLVES);
        assert_true(count[kind][1] <= 3 * count[kind][0] + SOLVES / 5);
    }
    close_scene(s);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once),
        cmocka_unit_test(who_has_begun_is_waited_for),
        cmocka_unit_test(solves_do_without_helpers),
#ifdef ON_BUSY_CORES
        cmocka_unit_test(solves_on_busy_cores_rarely_give_theirs_away),
#endif
    };
    return TEST_MAIN(tests);
}
