/* Several threads of the caller: contexts of their own, one plan for all, handles that end anywhere. Also built with
 * ThreadSanitizer (TRINE_THREAD_SANITIZE, clang), which sees what teams of the OpenMP runtime synchronize through
 * Archer. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/internal.h"
#include "harness.h"

#define DEVICE "cpu:2"
enum { THREADS = 4, N = 2000, NRHS = 3 };

static char folder[] = "/tmp/trine-threads-XXXXXX";

/** What a thread computes, all of it from its seed. */
struct job {
    int seed;
    trine_context ctx;
    trine_matrix A;            /* shared ones; NULL: the thread makes its own */
    trine_triangular plan;
    bool keeps_plan;           /* the caller's: it does not end with the thread */
    double triangular[N * NRHS], tridiagonal[N], read_back[64];
    int32_t forest[4][80 * 60];
    bool forests_only;         /* of ctx */
    const char *failed;        /* the first thing that went wrong */
};
#define NEED(condition) do { if (!(condition)) { job->failed = #condition; goto done; } } while (0)

static void solve_triangular(struct job *job, trine_triangular plan)
{
    trine_work work = NULL;
    size_t bytes;
    const trine_dense x = {job->triangular, N, NRHS, N, TRINE_COLMAJOR};
    NEED(!trine_triangular_work(plan, NRHS, NULL, &bytes, &work));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N * NRHS; i++) job->triangular[i] = test_uniform((uint64_t)job->seed, (uint64_t)i);
        NEED(!trine_triangular_solve(plan, TRINE_N, NULL, &x, &x, &(trine_exec){.work = work}));
    }
done:
    trine_work_destroy(&work);
}

static void solve_tridiagonal(struct job *job, trine_context ctx)
{
    double *bands = malloc(3 * N * sizeof *bands);
    void *work = NULL;
    size_t bytes;
    for (int i = 0; i < 3 * N; i++)
        bands[i] = test_uniform((uint64_t)job->seed + 1, (uint64_t)i) + (i / N == 1 ? 2 : 0);
    for (int i = 0; i < N; i++) job->tridiagonal[i] = 1;
    NEED(!trine_gtsv_work_size(ctx, TRINE_D, N, 1, NULL, &bytes));
    NEED((work = malloc(bytes + 1)));
    NEED(!trine_gtsv(ctx, TRINE_D, N, 1, NULL, bands, bands + N, bands + 2 * N, job->tridiagonal, N, job->tridiagonal,
                     N, work, bytes, NULL));
done:
    free(work);
    free(bands);
}

/** Write a matrix, read it back, and miss a file: the folder is shared, the sentence is the thread's own. */
static void use_files(struct job *job, trine_context ctx)
{
    trine_matrix A = NULL, B = NULL;
    char path[80], nowhere[80];
    const void *values;
    snprintf(path, sizeof path, "%s/%d.mtx.gz", folder, job->seed);
    snprintf(nowhere, sizeof nowhere, "%s/nowhere-%d", folder, job->seed);
    NEED(!trine_matrix_gallery(ctx, &A, "laplace2d:nx=20,ny=20", TRINE_D));
    NEED(!trine_matrix_write(A, path, TRINE_SYMMETRIC));
    NEED(!trine_matrix_read(ctx, &B, path, TRINE_D));
    NEED(!trine_matrix_get_arrays(B, NULL, NULL, &values));
    memcpy(job->read_back, values, sizeof job->read_back);
    trine_matrix_destroy(&B);
    NEED(trine_matrix_read(ctx, &B, nowhere, TRINE_D) == TRINE_ERR_IO);
    NEED(strstr(trine_last_error(), nowhere));
done:
    unlink(path);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&B);
}

/** Forests of a context, one with each way to number paths; exchanges and a decomposition. */
static void use_forests(struct job *job, trine_context ctx)
{
    trine_matrix A = NULL;
    trine_forest forest[2] = {NULL, NULL}, coarse = NULL;
    trine_forest_arrays arrays;
    const void *values;
    const trine_factor_rounds rounds = {.seed = (uint64_t)job->seed};
    NEED(!trine_matrix_gallery(ctx, &A, "laplace2d:nx=80,ny=60", TRINE_D));
    NEED(!trine_matrix_get_arrays(A, NULL, NULL, &values));
    for (int k = 0; k < 2; k++) {
        const trine_forest_options options = {.ranking = k ? TRINE_RANKING_SCAN : TRINE_RANKING_SPLITTERS, .blocks = 1};
        NEED(!trine_forest_create(ctx, &forest[k], A, &options));
        NEED(!trine_forest_decompose(forest[k], TRINE_HOST, values, &rounds,
                                     &(trine_forest_decomposition){.count = 2, .permutation = job->forest[2 * k]},
                                     NULL));
        NEED(!trine_forest_run(forest[k], TRINE_HOST, values, &rounds, NULL));
        NEED(!trine_forest_improve(forest[k], 3, NULL));
        NEED(!trine_forest_get_arrays(forest[k], &arrays));
        memcpy(job->forest[2 * k], arrays.permutation, sizeof job->forest[0]);
        NEED(!trine_forest_factor(forest[k], &(trine_factor_rounds){.n = 1}, NULL));
        NEED(!trine_forest_coarsen(forest[k], &coarse, NULL));
        NEED(!trine_forest_run(coarse, TRINE_HOST, NULL, &rounds, NULL));
        trine_forest_destroy(&coarse);
    }
    NEED(!memcmp(job->forest[0], job->forest[2], 2 * sizeof job->forest[0]));
done:
    trine_forest_destroy(&coarse);
    trine_forest_destroy(&forest[0]);
    trine_forest_destroy(&forest[1]);
    trine_matrix_destroy(&A);
}

static trine_status make_plan(trine_context ctx, int seed, trine_matrix *A, trine_triangular *plan)
{
    char spec[80];
    snprintf(spec, sizeof spec, "random_triangular:n=%d,levels=12,row=9,seed=%d", (int)N, seed);
    trine_status status = trine_matrix_gallery(ctx, A, spec, TRINE_D);
    if (!status)
        status = trine_triangular_analyse(ctx, plan, *A,
                                          &(trine_triangular_options){.method = TRINE_TRI_LEVELSET, .max_nrhs = NRHS});
    return status ? status : trine_triangular_numeric(*plan, TRINE_HOST, NULL, NULL);
}

static void *run_job(void *argument)
{
    struct job *job = argument;
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_triangular plan = NULL;
    if (job->plan) {
        solve_triangular(job, job->plan);
        goto done;
    }
    if (job->forests_only) {
        use_forests(job, job->ctx);
        goto done;
    }
    NEED(!trine_context_create(&ctx, DEVICE));
    use_forests(job, ctx);
    NEED(!make_plan(ctx, job->seed, &A, &plan));
    solve_triangular(job, plan);
    solve_tridiagonal(job, ctx);
    use_files(job, ctx);
done:
    trine_context_destroy(&ctx);
    trine_matrix_destroy(job->A ? &job->A : &A);
    if (!job->keeps_plan) trine_triangular_destroy(job->plan ? &job->plan : &plan);
    return NULL;
}

static void run_in_threads(struct job *jobs)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (jobs[i].failed) fail_msg("thread %d: not %s", i, jobs[i].failed);
}

static void contexts_in_different_threads_are_independent(void **state)
{
    (void)state;
    struct job *jobs = calloc(THREADS, sizeof *jobs), *alone = calloc(1, sizeof *alone);
    for (int i = 0; i < THREADS; i++) jobs[i].seed = 10 * i;
    run_in_threads(jobs);
    for (int i = 0; i < THREADS; i++) { /* the same, one after another */
        *alone = (struct job){.seed = 10 * i};
        run_job(alone);
        assert_null(alone->failed);
        assert_memory_equal(alone->triangular, jobs[i].triangular, sizeof alone->triangular);
        assert_memory_equal(alone->tridiagonal, jobs[i].tridiagonal, sizeof alone->tridiagonal);
        assert_memory_equal(alone->forest, jobs[i].forest, sizeof alone->forest);
        assert_memory_equal(alone->read_back, jobs[i].read_back, sizeof alone->read_back);
    }
    free(jobs);
    free(alone);
}

/** One helps whoever comes first; the others go on alone. */
static void threads_share_one_context_in_forests(void **state)
{
    (void)state;
    struct job *jobs = calloc(THREADS, sizeof *jobs), *alone = calloc(1, sizeof *alone);
    trine_context shared, one;
    OK(trine_context_create(&shared, "cpu:3"));
    OK(trine_context_create(&one, "cpu:1"));
    for (int i = 0; i < THREADS; i++) jobs[i] = (struct job){.seed = i, .ctx = shared, .forests_only = true};
    run_in_threads(jobs);
    for (int i = 0; i < THREADS; i++) {
        *alone = (struct job){.seed = i, .ctx = one, .forests_only = true};
        run_job(alone);
        assert_null(alone->failed);
        assert_memory_equal(alone->forest, jobs[i].forest, sizeof alone->forest);
    }
    free(jobs);
    free(alone);
    OK(trine_context_destroy(&shared));
    OK(trine_context_destroy(&one));
}

/** Every thread holds the last use of a plan or a matrix of one context, which ends first. */
static void plans_of_one_context_may_end_in_different_threads(void **state)
{
    (void)state;
    struct job *jobs = calloc(THREADS, sizeof *jobs);
    trine_context ctx;
    OK(trine_context_create(&ctx, DEVICE));
    for (int i = 0; i < THREADS; i++) {
        jobs[i].seed = i;
        OK(make_plan(ctx, i, &jobs[i].A, &jobs[i].plan));
    }
    OK(trine_context_destroy(&ctx));
    run_in_threads(jobs);
    free(jobs);
}

static void threads_share_one_plan_with_work_of_their_own(void **state)
{
    (void)state;
    struct job *jobs = calloc(THREADS, sizeof *jobs);
    trine_context ctx;
    trine_matrix A;
    trine_triangular plan;
    OK(trine_context_create(&ctx, DEVICE));
    OK(make_plan(ctx, 5, &A, &plan));
    for (int i = 0; i < THREADS; i++) jobs[i] = (struct job){.plan = plan, .keeps_plan = true};
    run_in_threads(jobs);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(jobs[i].triangular, jobs[0].triangular, sizeof jobs[0].triangular);
    trine_matrix_destroy(&A);
    OK(trine_triangular_destroy(&plan));
    OK(trine_context_destroy(&ctx));
    free(jobs);
}

/* ---------------------------------------------------------- tridiagonal solves */

enum { SOLVERS = 8, LONG = 70000, BLOCK = 3, SHORT = 500, SYSTEMS = LONG / SHORT, SOLVES = 6 };

/** A thread's systems, made from its number, and what every function makes of them. */
struct solver {
    int number;
    trine_context ctx;
    double *bands, *x[SOLVES], error; /* bands: 3 BLOCK LONG */
    const char *failed;
};

static void *solve_every_way(void *argument)
{
    struct solver *job = argument;
    const int64_t rows = LONG / BLOCK, blocks = rows * BLOCK, step = blocks * BLOCK;
    const trine_strides strides = {1, SHORT};
    const trine_gtsv_options refined = {.refine = 1}, small = {.memory = TRINE_MEMORY_SMALL};
    const double *a = job->bands, *b = a + LONG, *c = b + LONG, *B = a + step, *C = B + step;
    double *const *x = job->x;
    void *work = NULL, *factor = NULL;
    size_t bytes, most = 0, factor_bytes;
    NEED(!trine_gtsv_work_size(job->ctx, TRINE_D, LONG, 1, &refined, &most));
    NEED(!trine_bgtsv_work_size(job->ctx, TRINE_D, rows, BLOCK, 1, &small, &bytes));
    most = bytes > most ? bytes : most;
    NEED(!trine_bgtfs_work_size(job->ctx, TRINE_D, rows, BLOCK, 1, NULL, &bytes));
    most = bytes > most ? bytes : most;
    NEED(!trine_gbsv_work_size(job->ctx, TRINE_D, LONG, 1, 2, 2, &refined, &bytes));
    most = bytes > most ? bytes : most;
    NEED(!trine_gtsv_batch_work_size(job->ctx, TRINE_D, SHORT, SYSTEMS, NULL, &bytes));
    most = bytes > most ? bytes : most;
    NEED(!trine_bgtf_size(job->ctx, TRINE_D, rows, BLOCK, NULL, &factor_bytes));
    NEED((work = malloc(most)) && (factor = malloc(factor_bytes)));
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < SOLVES; k++)
            for (int i = 0; i < LONG; i++) x[k][i] = 1 + (i + job->number) % 7;
        NEED(!trine_gtsv(job->ctx, TRINE_D, LONG, 1, &refined, a, b, c, x[0], LONG, x[0], LONG, work, most, NULL));
        NEED(!trine_gtsv_batch(job->ctx, TRINE_D, SHORT, SYSTEMS, NULL, a, b, c, strides, x[1], x[1], strides, work,
                               most, NULL));
        NEED(!trine_bgtsv(job->ctx, TRINE_D, rows, BLOCK, 1, &small, a, B, C, x[2], blocks, x[2], blocks, work, most,
                          NULL));
        NEED(!trine_bgtf(job->ctx, TRINE_D, rows, BLOCK, NULL, a, B, C, factor, factor_bytes, NULL));
        NEED(!trine_bgtfs(job->ctx, TRINE_D, rows, BLOCK, 1, NULL, factor, factor_bytes, x[3], blocks, x[3], blocks,
                          work, most, NULL));
        NEED(!trine_gbsv(job->ctx, TRINE_D, LONG, 1, 2, 2, &refined, a, x[4], LONG, x[4], LONG, work, most, NULL));
        NEED(!trine_gtsv_backward_error(job->ctx, TRINE_D, LONG, 1, NULL, a, b, c, x[5], LONG, x[0], LONG, &job->error,
                                        NULL));
    }
done:
    free(work);
    free(factor);
    return NULL;
}

/** The helpers of the context are for one solve at a time; the others go on without, and get the same bits. */
static void threads_share_one_context_in_tridiagonal_solves(void **state)
{
    (void)state;
    static struct solver together[SOLVERS], alone[SOLVERS];
    trine_context shared, one;
    pthread_t threads[SOLVERS];
    OK(trine_context_create(&shared, "cpu:3"));
    OK(trine_context_create(&one, "cpu:1"));
    for (int i = 0; i < SOLVERS; i++) {
        double *bands = malloc(3 * BLOCK * LONG * sizeof *bands);
        for (int k = 0; k < 3 * BLOCK * LONG; k++) bands[k] = 2 * test_uniform((uint64_t)i, (uint64_t)k) - 1;
        together[i] = (struct solver){.number = i, .ctx = shared, .bands = bands};
        alone[i] = (struct solver){.number = i, .ctx = one, .bands = bands};
        for (int k = 0; k < SOLVES; k++)
            together[i].x[k] = malloc(LONG * sizeof(double)), alone[i].x[k] = malloc(LONG * sizeof(double));
    }
    for (int i = 0; i < SOLVERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, solve_every_way, &together[i]), 0);
    for (int i = 0; i < SOLVERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < SOLVERS; i++) {
        if (i % 2) solve_every_way(&together[i]); /* again, with the helpers for itself */
        solve_every_way(&alone[i]);
        if (together[i].failed || alone[i].failed)
            fail_msg("thread %d: not %s", i, together[i].failed ? together[i].failed : alone[i].failed);
        for (int k = 0; k < SOLVES; k++) assert_memory_equal(together[i].x[k], alone[i].x[k], LONG * sizeof(double));
        assert_memory_equal(&together[i].error, &alone[i].error, sizeof(double));
        assert_true(alone[i].error < 1e-14 * 1e4);
        for (int k = 0; k < SOLVES; k++) free(together[i].x[k]), free(alone[i].x[k]);
        free(together[i].bands);
    }
    OK(trine_context_destroy(&shared));
    OK(trine_context_destroy(&one));
}

/* ------------------------------------------------- without a work of the caller's */

typedef trine_status (*solve_fn)(void *plan, const trine_dense *x);
static trine_status solve_by_triangular(void *plan, const trine_dense *x)
{
    return trine_triangular_solve(plan, TRINE_N, NULL, x, x, NULL);
}
static trine_status solve_by_supernodal(void *plan, const trine_dense *x)
{
    return trine_supernodal_solve(plan, TRINE_N, NULL, x, x, NULL);
}

enum { GRID = 60, ROWS = GRID * GRID, ROUNDS = 200 };
struct contest {
    solve_fn solve;
    void *plan;
    const double *exact;
    int right, refused, wrong;
};

static void *solve_with_the_plans_own_work(void *argument)
{
    struct contest *c = argument;
    double *x = malloc(ROWS * sizeof *x);
    const trine_dense X = {x, ROWS, 1, ROWS, TRINE_COLMAJOR};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) x[i] = 1 + i % 7;
        const trine_status status = c->solve(c->plan, &X);
        bool right = !status;
        for (int i = 0; right && i < ROWS; i++) right = fabs(x[i] - c->exact[i]) <= 1e-12 * fabs(c->exact[i]);
        if (right) c->right++;
        else if (status == TRINE_ERR_STATE && strstr(trine_last_error(), "work of its own")) c->refused++;
        else c->wrong++;
    }
    free(x);
    return NULL;
}

static void solve_in_threads(solve_fn solve, void *plan)
{
    struct contest contests[THREADS];
    pthread_t threads[THREADS];
    double *exact = malloc(ROWS * sizeof *exact);
    const trine_dense X = {exact, ROWS, 1, ROWS, TRINE_COLMAJOR};
    for (int i = 0; i < ROWS; i++) exact[i] = 1 + i % 7;
    OK(solve(plan, &X));
    for (int i = 0; i < THREADS; i++) {
        contests[i] = (struct contest){.solve = solve, .plan = plan, .exact = exact};
        assert_int_equal(pthread_create(&threads[i], NULL, solve_with_the_plans_own_work, &contests[i]), 0);
    }
    int right = 0, refused = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(contests[i].wrong, 0);
        right += contests[i].right;
        refused += contests[i].refused;
    }
    assert_true(right > 0);
    print_message("%d solves, %d refused\n", right, refused);
    OK(solve(plan, &X)); /* nothing is left behind */
    free(exact);
}

/** Several threads solve with the work of the plan itself, which has room for one: each solution is right, or the
 *  solve was refused. The plans have two threads also under ThreadSanitizer: their helpers are no OpenMP team. */
static void solves_without_a_work_are_right_or_refused(void **state)
{
    (void)state;
    trine_context ctx, two;
    trine_matrix A, L;
    trine_panels panels;
    trine_triangular triangular;
    trine_supernodal supernodal;
    char spec[40];
    OK(trine_context_create(&ctx, DEVICE));
    OK(trine_context_create(&two, "cpu:2"));
    snprintf(spec, sizeof spec, "laplace2d:nx=%d,ny=%d", GRID, GRID);
    OK(trine_matrix_gallery(ctx, &A, spec, TRINE_D));
    OK(trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_triangular_analyse(two, &triangular, L, &(trine_triangular_options){.method = TRINE_TRI_LEVELSET}));
    OK(trine_triangular_numeric(triangular, TRINE_HOST, NULL, NULL));
    solve_in_threads(solve_by_triangular, triangular);
    OK(trine_triangular_destroy(&triangular));

    OK(trine_panels_detect(ctx, L, NULL, &panels));
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV;
         v = (trine_supernodal_variant)(v + TRINE_VARIANT_SPMV - TRINE_VARIANT_DYNAMIC)) {
        OK(trine_supernodal_analyse(v == TRINE_VARIANT_DYNAMIC ? two : ctx, &supernodal, &panels,
                                    &(trine_supernodal_options){.variant = v}));
        OK(trine_supernodal_numeric(supernodal, TRINE_HOST, panels.values, NULL));
        solve_in_threads(solve_by_supernodal, supernodal);
        OK(trine_supernodal_destroy(&supernodal));
    }
    OK(trine_supernodal_analyse_batch(two, &supernodal, &panels, 1, NULL));
    OK(trine_supernodal_numeric_batch(supernodal, TRINE_HOST, &panels.values, NULL));
    solve_in_threads(solve_by_supernodal, supernodal);
    OK(trine_supernodal_destroy(&supernodal));
    trine_panels_free(ctx, &panels);
    OK(trine_matrix_destroy(&L));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&two));
    OK(trine_context_destroy(&ctx));
}

/** The rules behind it, one call after another. */
static void objects_take_readers_or_one_writer(void **state)
{
    (void)state;
    trine_usage plan = {0}, memory = {0};
    OK(trine_solve_begin(&plan, &memory, "module"));
    FAILS(TRINE_ERR_STATE, "trine_module_work", trine_solve_begin(&plan, &memory, "module"));
    trine_usage other = {0};
    OK(trine_solve_begin(&plan, &other, "")); /* with other memory */
    FAILS(TRINE_ERR_STATE, "new values have to wait", trine_update_begin(&plan));
    trine_solve_end(&plan, &other);
    trine_solve_end(&plan, &memory);
    OK(trine_update_begin(&plan));
    FAILS(TRINE_ERR_STATE, "new values", trine_solve_begin(&plan, &memory, ""));
    FAILS(TRINE_ERR_STATE, "new values have to wait", trine_update_begin(&plan));
    trine_leave_alone(&plan);
    OK(trine_solve_begin(&plan, &memory, "")); /* a refused solve has left nothing behind */
    trine_solve_end(&plan, &memory);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
} /* it is empty */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_in_different_threads_are_independent),
        cmocka_unit_test(threads_share_one_plan_with_work_of_their_own),
        cmocka_unit_test(threads_share_one_context_in_tridiagonal_solves),
        cmocka_unit_test(threads_share_one_context_in_forests),
        cmocka_unit_test(plans_of_one_context_may_end_in_different_threads),
        cmocka_unit_test(solves_without_a_work_are_right_or_refused),
        cmocka_unit_test(objects_take_readers_or_one_writer),
    };
    return cmocka_run_group_tests_name("threads", tests, make_folder, remove_folder);
}
