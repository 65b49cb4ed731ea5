/* A child of fork() after its parent has used several threads. A child that hangs ends by an alarm, and the test
 * fails. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>
#endif

/* ------------------------------------------- teams that GCC's OpenMP runtime starts */

static int regions, teams; /* atomic: parallel regions entered, and those with more than one thread */

#if defined(__GNUC__) && !defined(__clang__)
#include <omp.h>
#define COUNTS_REGIONS
/** In place of the runtime's, for every library of the program. */
__attribute__((visibility("default"))) void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads,
                                                          unsigned flags)
{
    static void (*next)(void (*)(void *), void *, unsigned, unsigned);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "GOMP_parallel");
    __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
    if (threads != 1 && omp_get_max_active_levels() > 0) __atomic_add_fetch(&teams, 1, __ATOMIC_RELAXED);
    next(fn, data, threads, flags);
}
#endif

/* ---------------------------------------------------------------------- work */

/* What may fail in a child: it says so and ends, cmocka's assertions would go back to the parent's tests. */
#define NEED(condition)                                                           \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: not %s (%s)\n", __FILE__, __LINE__, #condition, trine_last_error()); \
            _exit(3);                                                             \
        }                                                                         \
    } while (0)
#define GOOD(call) NEED((call) == TRINE_SUCCESS)

enum { FACTORS = 4 };
struct plans {
    trine_context ctx;
    trine_matrix A, L;
    int64_t n;
    double *b, *x, *exact; /* exact: what the first solve gave */
    trine_panels panels;
    trine_triangular triangular;
    trine_supernodal supernodal;
#ifdef TRINE_TEST_DIRECT
    trine_direct direct;
#endif
};

static struct plans make_plans(const char *device)
{
    struct plans p = {0};
    trine_matrix_info info;
    GOOD(trine_context_create(&p.ctx, device));
    GOOD(trine_matrix_gallery(p.ctx, &p.A, "laplace3d:n=18", TRINE_D));
    GOOD(trine_matrix_get_info(p.A, &info));
    p.n = info.n_rows;
    p.b = malloc((size_t)(FACTORS * p.n) * sizeof *p.b);
    p.x = malloc((size_t)(FACTORS * p.n) * sizeof *p.x);
    for (int64_t i = 0; i < FACTORS * p.n; i++) p.b[i] = 1 + (double)(i % 7);
    GOOD(trine_matrix_triangle(p.A, &p.L, TRINE_LOWER, TRINE_NONUNIT, 0));
    GOOD(trine_panels_detect(p.ctx, p.L, &(trine_panels_options){.fill = 0.8}, &p.panels));
    const trine_panels factors[FACTORS] = {p.panels, p.panels, p.panels, p.panels};
    GOOD(
        trine_triangular_analyse(p.ctx, &p.triangular, p.L, &(trine_triangular_options){.method = TRINE_TRI_LEVELSET}));
    GOOD(trine_supernodal_analyse_batch(p.ctx, &p.supernodal, factors, FACTORS, NULL));
    return p;
}

/** The first solution is judged by its residual, for which matrices use OpenMP; a later one has to be the same. */
static void check_solution(struct plans *p)
{
    trine_accuracy accuracy;
    if (!p->exact) {
        GOOD(trine_matrix_accuracy(p->L, 1, p->x, p->b, NULL, &accuracy));
        NEED(accuracy.componentwise < 1e-14);
        p->exact = malloc((size_t)p->n * sizeof *p->exact);
        memcpy(p->exact, p->x, (size_t)p->n * sizeof *p->exact);
    }
    for (int64_t i = 0; i < p->n; i++) NEED(fabs(p->x[i] - p->exact[i]) <= 1e-13 * fabs(p->exact[i]));
}

/** L x = b by every plan; also numeric, which shares its work out. */
/** Large enough for several threads. */
static void solve_tridiagonal(trine_context ctx)
{
    enum { n = 300000 };
    double *v = malloc(4 * n * sizeof *v);
    void *work;
    size_t bytes;
    for (int64_t i = 0; i < n; i++) v[i] = v[2 * n + i] = -1, v[n + i] = 3, v[3 * n + i] = 3 - (i > 0) - (i < n - 1);
    GOOD(trine_gtsv_work_size(ctx, TRINE_D, n, 1, NULL, &bytes));
    NEED((work = malloc(bytes)));
    GOOD(trine_gtsv(ctx, TRINE_D, n, 1, NULL, v, v + n, v + 2 * n, v + 3 * n, n, v + 3 * n, n, work, bytes, NULL));
    for (int64_t i = 0; i < n; i++) NEED(fabs(v[3 * n + i] - 1) < 1e-13);
    free(work);
    free(v);
}

static void use_plans(struct plans *p)
{
    solve_tridiagonal(p->ctx);
    const void *values[FACTORS] = {p->panels.values, p->panels.values, p->panels.values, p->panels.values};
    GOOD(trine_triangular_numeric(p->triangular, TRINE_HOST, NULL, NULL));
    GOOD(trine_supernodal_numeric_batch(p->supernodal, TRINE_HOST, values, NULL));
    const trine_dense B = {p->b, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->x, p->n, 1, p->n, TRINE_COLMAJOR};
    const trine_dense C = {p->b, FACTORS * p->n, 1, FACTORS * p->n, TRINE_COLMAJOR},
                      Y = {p->x, FACTORS * p->n, 1, FACTORS * p->n, TRINE_COLMAJOR};
    GOOD(trine_triangular_solve(p->triangular, TRINE_N, NULL, &B, &X, NULL));
    check_solution(p);
    GOOD(trine_supernodal_solve(p->supernodal, TRINE_N, NULL, &C, &Y, NULL));
    check_solution(p);
}

static void free_plans(struct plans *p)
{
    trine_triangular_destroy(&p->triangular);
    trine_supernodal_destroy(&p->supernodal);
    trine_panels_free(p->ctx, &p->panels);
    trine_matrix_destroy(&p->L);
    trine_matrix_destroy(&p->A);
    trine_context_destroy(&p->ctx);
    free(p->b);
    free(p->x);
    free(p->exact);
}

/** Everything else that runs on several threads where there are several, large enough that it would. */
static void use_everything(const char *device)
{
    struct plans p = make_plans(device);
    use_plans(&p);
    for (trine_supernodal_variant v = TRINE_VARIANT_DEFAULT; v <= TRINE_VARIANT_SPMV; v++) {
        trine_supernodal plan;
        const trine_dense B = {p.b, p.n, 1, p.n, TRINE_COLMAJOR}, X = {p.x, p.n, 1, p.n, TRINE_COLMAJOR};
        GOOD(trine_supernodal_analyse(
            p.ctx, &plan, &p.panels,
            &(trine_supernodal_options){.variant = v, .invert = TRINE_INVERT_DIAG, .single = v == TRINE_VARIANT_TEAM}));
        GOOD(trine_supernodal_numeric(plan, TRINE_HOST, p.panels.values, NULL));
        GOOD(trine_supernodal_solve(plan, TRINE_N, NULL, &B, &X, NULL));
        trine_supernodal_destroy(&plan);
    }
    GOOD(trine_matrix_multiply(p.A, TRINE_N, NULL, p.b, NULL, p.x));
    trine_matrix R;
    GOOD(trine_matrix_gallery(p.ctx, &R, "random_triangular:n=5000,levels=9,row=9", TRINE_D));
    trine_matrix_destroy(&R);
    const int64_t long_one = 300000;
    double *v = calloc((size_t)(4 * long_one), sizeof *v);
    const trine_dense V = {v, long_one, 2, long_one, TRINE_COLMAJOR},
                      W = {v + 2 * long_one, long_one, 2, long_one, TRINE_COLMAJOR};
    GOOD(trine_vectors_permute(p.ctx, TRINE_D, NULL, NULL, 0, &V, &W, NULL));
    free(v);
    free_plans(&p);
}

#ifdef TRINE_TEST_DIRECT
static void use_direct(const char *device)
{
    struct plans p = make_plans(device);
    const trine_dense B = {p.b, p.n, 1, p.n, TRINE_COLMAJOR}, X = {p.x, p.n, 1, p.n, TRINE_COLMAJOR};
    for (trine_direct_method m = TRINE_DIRECT_CHOLESKY; m <= TRINE_DIRECT_LDL; m++) {
        trine_direct plan;
        trine_accuracy accuracy;
        GOOD(trine_direct_create(p.ctx, &plan, p.A, &(trine_direct_options){.factor.method = m, .refine = 1}));
        GOOD(trine_direct_solve(plan, TRINE_N, &B, &X, NULL));
        GOOD(trine_matrix_accuracy(p.A, 1, p.x, p.b, NULL, &accuracy));
        NEED(accuracy.backward_error < 10);
        trine_direct_destroy(&plan);
    }
    free_plans(&p);
}
#endif

/* --------------------------------------------------------------------- tests */

/** Run in a child with a minute to live. */
static void in_a_child(void (*body)(void *user), void *user)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(60);
        body(user);
#if defined(__SANITIZE_ADDRESS__)
        _exit(0); /* it would look for leaks in threads that are the parent's */
#else
        exit(0); /* by way of everybody's destructors */
#endif
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child ended by signal %d%s", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void go_on_with_plans(void *user)
{
    struct plans *p = user;
    use_plans(p); /* on the thread that is there */
    free_plans(p);
}

static void use_one_thread(void *user)
{
    (void)user;
    regions = teams = 0;
    use_everything("cpu:1");
#ifdef TRINE_TEST_DIRECT
    use_direct("cpu:1");
#endif
    NEED(!teams);
}

static void a_child_solves_after_parallel_solves_of_its_parent(void **state)
{
    (void)state;
    struct plans p = make_plans("cpu:2");
    use_plans(&p);
    use_everything("cpu:2");
#ifdef COUNTS_REGIONS
    assert_true(teams > 0); /* the parent has an OpenMP team, and here is where it is seen */
#endif
    in_a_child(go_on_with_plans, &p);
    in_a_child(use_one_thread, NULL);
    use_plans(&p); /* and the parent goes on */
    free_plans(&p);
}

#ifdef TRINE_TEST_DIRECT
/** One more solve with a plan that has solved before. */
static void go_on_with_direct(void *user)
{
    struct plans *p = user;
    const trine_dense B = {p->b, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->x, p->n, 1, p->n, TRINE_COLMAJOR};
    trine_accuracy accuracy;
    memset(p->x, 0, (size_t)p->n * sizeof *p->x);
    GOOD(trine_direct_solve(p->direct, TRINE_N, &B, &X, NULL));
    GOOD(trine_matrix_accuracy(p->A, 1, p->x, p->b, NULL, &accuracy));
    NEED(accuracy.backward_error < 10);
}
#endif

/** A context of one thread and its plans, made and used before the fork, in a parent that has used several threads
 *  elsewhere. */
static void a_child_goes_on_with_plans_of_one_thread(void **state)
{
    (void)state;
    use_everything("cpu:2");
    struct plans p = make_plans("cpu:1");
    use_plans(&p);
#ifdef TRINE_TEST_DIRECT
    OK(trine_direct_create(p.ctx, &p.direct, p.A, &(trine_direct_options){.refine = 1}));
    go_on_with_direct(&p);
    in_a_child(go_on_with_direct, &p);
    go_on_with_direct(&p);
    OK(trine_direct_destroy(&p.direct));
#endif
    in_a_child(go_on_with_plans, &p);
    use_plans(&p); /* and the parent goes on */
    free_plans(&p);
}

/** One thread: no team anywhere, and what is trine's own solves does not ask OpenMP at all. */
static void a_context_of_one_thread_starts_no_team(void **state)
{
    (void)state;
#ifdef COUNTS_REGIONS
    regions = teams = 0;
    use_everything("cpu:1");
    assert_int_equal(teams, 0);
#ifdef TRINE_TEST_DIRECT
    use_direct("cpu:1");
    assert_int_equal(teams, 0);
#endif
    struct plans p = make_plans("cpu:1");
    const trine_dense B = {p.b, p.n, 1, p.n, TRINE_COLMAJOR}, X = {p.x, p.n, 1, p.n, TRINE_COLMAJOR};
    regions = 0;
    OK(trine_triangular_numeric(p.triangular, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_solve(p.triangular, TRINE_N, NULL, &B, &X, NULL));
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        trine_supernodal plan;
        OK(trine_supernodal_analyse(p.ctx, &plan, &p.panels,
                                    &(trine_supernodal_options){.variant = v, .invert = TRINE_INVERT_DIAG}));
        OK(trine_supernodal_numeric(plan, TRINE_HOST, p.panels.values, NULL));
        OK(trine_supernodal_solve(plan, TRINE_T, NULL, &B, &X, NULL));
        OK(trine_supernodal_destroy(&plan));
    }
    assert_int_equal(regions, 0);
    free_plans(&p);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_of_one_thread_starts_no_team),
        cmocka_unit_test(a_child_solves_after_parallel_solves_of_its_parent),
        cmocka_unit_test(a_child_goes_on_with_plans_of_one_thread),
    };
    return TEST_MAIN(tests);
}
