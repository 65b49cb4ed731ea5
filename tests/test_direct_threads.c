/* Several threads with works of their own on one direct plan: the bits that one thread gets, also beside new values.
 * Also built with ThreadSanitizer (TRINE_THREAD_SANITIZE). */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <trine/direct.h>

#include "elements.h"
#include "harness.h"

enum { THREADS = 4, ROUNDS = 1000, MOST_NRHS = 3, CASES = 12 };

/** Sanitizers see in a few rounds what there is to see, and take long for each. */
static int rounds(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return ROUNDS / 20;
#else
    return test_is_reduced() ? ROUNDS / 50 : ROUNDS;
#endif
}

/** Case c: every op, one right-hand side and several, by columns and by rows. */
static trine_transpose op_of_case(int c) { return (trine_transpose)(1 << c % 3); }
static int64_t nrhs_of_case(int c) { return c / 3 % 2 ? MOST_NRHS : 1; }
static trine_dense block_of_case(int c, void *data, int64_t n)
{
    return (trine_dense){
        .data = data, .rows = n, .cols = nrhs_of_case(c), .layout = c / 6 ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
}

struct shared {
    trine_direct plan;
    int64_t n;
    size_t vector;                 /* bytes */
    const char *b;                 /* MOST_NRHS vectors, host; the cases take the first of them as they lie */
    char *exact[CASES];            /* host: what one thread gets */
};
struct job {
    const struct shared *shared;
    trine_context ctx;
    int me;
    const char *failed;
};
#define NEED(condition) do { if (!(condition)) { job->failed = #condition; goto done; } } while (0)

static void *solve_many(void *argument)
{
    struct job *job = argument;
    const struct shared *s = job->shared;
    trine_context_info info = {0};
    trine_exec exec = {0};
    void *b = NULL, *x = NULL, *room = NULL;
    char *found = malloc(MOST_NRHS * s->vector);
    size_t bytes;
    NEED(!trine_context_get_info(job->ctx, &info) && !trine_context_get_stream(job->ctx, &exec.stream));
    NEED(!trine_alloc(job->ctx, info.space, MOST_NRHS * s->vector, &b) &&
         !trine_alloc(job->ctx, info.space, MOST_NRHS * s->vector, &x));
    NEED(!trine_copy(job->ctx, b, info.space, s->b, TRINE_HOST, MOST_NRHS * s->vector));
    NEED(!trine_direct_work(s->plan, MOST_NRHS, NULL, &bytes, NULL));
    if (job->me % 2) { /* memory of the caller's */
        NEED(!trine_alloc(job->ctx, info.space, bytes + 256, &room));
        NEED(!trine_direct_work(s->plan, MOST_NRHS, (char *)room + (256 - (uintptr_t)room % 256), &bytes, &exec.work));
    } else {
        NEED(!trine_direct_work(s->plan, MOST_NRHS, NULL, NULL, &exec.work));
    }
    for (int round = 0; round < rounds(); round++) {
        /* 5 and 12 are coprime: all of them, in another order in each thread */
        const int c = (5 * round + job->me) % CASES;
        const size_t size = (size_t)nrhs_of_case(c) * s->vector;
        const bool in_place = round % 3 == 0;
        const trine_dense B = block_of_case(c, in_place ? x : b, s->n), X = block_of_case(c, x, s->n);
        if (in_place) NEED(!trine_copy(job->ctx, x, info.space, s->b, TRINE_HOST, size));
        NEED(!trine_direct_solve(s->plan, op_of_case(c), &B, &X, &exec));
        NEED(!trine_copy(job->ctx, found, TRINE_HOST, x, info.space, size));
        NEED(!memcmp(found, s->exact[c], size));
    }
done:
    trine_work_destroy(&exec.work);
    trine_free(job->ctx, info.space, b);
    trine_free(job->ctx, info.space, x);
    trine_free(job->ctx, info.space, room);
    free(found);
    return NULL;
}

static void solve_in_threads(trine_context ctx, trine_direct plan, trine_dtype t, int64_t n)
{
    struct shared s = {.plan = plan, .n = n, .vector = (size_t)n * trine_dtype_size(t)};
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    char *b = malloc(MOST_NRHS * s.vector);
    for (int64_t i = 0; i < MOST_NRHS * n; i++) put(t, b, i, random_element(t, 3, (uint64_t)i));
    s.b = b;
    for (int c = 0; c < CASES; c++) {
        const size_t size = (size_t)nrhs_of_case(c) * s.vector;
        s.exact[c] = malloc(size);
        void *x = test_to_device(ctx, b, size);
        const trine_dense X = block_of_case(c, x, n);
        OK(trine_direct_solve(plan, op_of_case(c), &X, &X, NULL));
        test_from_device(ctx, s.exact[c], x, size);
        test_release(ctx, x);
    }
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.shared = &s, .ctx = test_context(), .me = i};
        assert_int_equal(pthread_create(&threads[i], NULL, solve_many, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (jobs[i].failed) fail_msg("thread %d: not %s", i, jobs[i].failed);
        OK(trine_context_destroy(&jobs[i].ctx));
    }
    for (int c = 0; c < CASES; c++) free(s.exact[c]);
    free(b);
}

static void threads_with_works_get_the_bits_of_one(void **state)
{
    (void)state;
    static const struct {
        trine_direct_method method;
        const char *matrix;
    } some[] = {{TRINE_DIRECT_CHOLESKY, "laplace2d:nx=12,ny=11"}, {TRINE_DIRECT_LU, "convection3d:n=5"}};
    trine_context ctx = test_context();
    for (size_t m = 0; m < 2; m++)
        for (size_t t = 0; t < 4; t++)
            for (int solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++)
                for (int refine = 0; refine <= 2; refine += 2) {
                    trine_matrix A;
                    trine_matrix_info info;
                    trine_direct plan;
                    OK(trine_matrix_gallery(ctx, &A, some[m].matrix, all_dtypes[t]));
                    OK(trine_matrix_get_info(A, &info));
                    OK(trine_direct_create(
                        ctx, &plan, A,
                        &(trine_direct_options){
                            .factor.method = some[m].method,
                            .solver = (trine_direct_solver)solver,
                            .ops = TRINE_N | TRINE_T | TRINE_H,
                            .refine = refine,
                            .triangular = {.max_nrhs = MOST_NRHS, .summation = TRINE_ORDER_DETERMINISTIC},
                            .supernodal = {.access = TRINE_ACCESS_PULL, .single = all_dtypes[t] == TRINE_D}}));
                    OK(trine_matrix_destroy(&A));
                    solve_in_threads(ctx, plan, all_dtypes[t], info.n_rows);
                    OK(trine_direct_destroy(&plan));
                }
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------- beside new values */

enum { ROWS = 90, UPDATES = 20 };
struct contest {
    trine_context ctx;
    trine_direct plan;
    trine_matrix A[2];
    double (*exact)[ROWS]; /* with either matrix */
    int right, *updates;
    const char *failed;
};

static bool is_near(const double *x, const double *exact)
{
    double error = 0, size = 0;
    for (int i = 0; i < ROWS; i++) {
        const double e = x[i] > exact[i] ? x[i] - exact[i] : exact[i] - x[i], a = exact[i] < 0 ? -exact[i] : exact[i];
        error = e > error ? e : error;
        size = a > size ? a : size;
    }
    return error <= 1e-8 * size;
}

/** Works come and go while new values do; each solve is of one matrix or of the other. All on the context's stream,
 *  as the updates are. */
static void *solve_beside_updates(void *argument)
{
    struct contest *job = argument;
    trine_context_info info = {0};
    trine_exec exec = {0};
    double x[ROWS];
    void *at = NULL;
    NEED(!trine_context_get_info(job->ctx, &info) && !trine_alloc(job->ctx, info.space, sizeof x, &at));
    const trine_dense X = {at, ROWS, 1, ROWS, TRINE_COLMAJOR};
    /* Where every solve is refused the updates get on, and then they end; where no update is let in the rounds do. */
    for (int round = 0; job->right < rounds() / 4 ||
                        (__atomic_load_n(job->updates, __ATOMIC_RELAXED) < UPDATES && round < 10 * rounds());
         round++) {
        if (!exec.work) {
            const trine_status made = trine_direct_work(job->plan, 1, NULL, NULL, &exec.work);
            if (made) NEED(made == TRINE_ERR_STATE && strstr(trine_last_error(), "new values") && !exec.work);
            if (made) sched_yield();
            if (made) continue;
        }
        for (int i = 0; i < ROWS; i++) x[i] = 1 + i % 7;
        NEED(!trine_copy(job->ctx, at, info.space, x, TRINE_HOST, sizeof x));
        const trine_status status = trine_direct_solve(job->plan, TRINE_N, &X, &X, &exec);
        if (status) NEED(status == TRINE_ERR_STATE && strstr(trine_last_error(), "new values"));
        if (status) sched_yield();
        if (status) continue;
        NEED(!trine_copy(job->ctx, x, TRINE_HOST, at, info.space, sizeof x));
        NEED(is_near(x, job->exact[0]) || is_near(x, job->exact[1]));
        job->right++;
        if (round % 10 == 9) NEED(!trine_work_destroy(&exec.work));
        if (round % 16 == 15) sched_yield(); /* a moment without a solve, for the update */
    }
done:
    trine_work_destroy(&exec.work);
    trine_free(job->ctx, info.space, at);
    return NULL;
}

static void *update_beside_solves(void *argument)
{
    struct contest *job = argument;
    while (*job->updates < UPDATES) { /* at the latest when the other threads have ended */
        const trine_status status = trine_direct_update(job->plan, job->A[*job->updates % 2]);
        if (status) NEED(status == TRINE_ERR_STATE && strstr(trine_last_error(), "in use by another thread"));
        else __atomic_add_fetch(job->updates, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
done:
    return NULL;
}

/** Values of one pattern whose pivots differ, so that the updates end triangular plans and make others. */
static trine_matrix random_values(trine_context ctx, trine_matrix pattern, uint64_t seed)
{
    trine_matrix A, B;
    trine_matrix_info info;
    double *values;
    OK(trine_matrix_copy(pattern, &A, TRINE_HOST, TRINE_CSR, TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    const int64_t *offsets;
    const int32_t *columns;
    int64_t *to_offsets;
    int32_t *to_columns;
    OK(trine_matrix_get_arrays(A, &offsets, &columns, NULL));
    OK(trine_matrix_allocate(ctx, &B, TRINE_CSR, TRINE_D, info.n_rows, info.n_cols, info.nnz, &to_offsets, &to_columns,
                             (void **)&values));
    memcpy(to_offsets, offsets, (size_t)(info.n_rows + 1) * sizeof *offsets);
    memcpy(to_columns, columns, (size_t)info.nnz * sizeof *columns);
    for (int64_t k = 0; k < info.nnz; k++) values[k] = 2 * test_uniform(seed, (uint64_t)k) - 1;
    OK(trine_matrix_destroy(&A));
    return B;
}

static void works_come_and_go_beside_new_values(void **state)
{
    (void)state;
    static double exact[2][ROWS];
    trine_context ctx = test_context();
    trine_matrix pattern;
    OK(trine_matrix_gallery(ctx, &pattern, "laplace2d:nx=10,ny=9", TRINE_D));
    trine_matrix A[2] = {random_values(ctx, pattern, 1), random_values(ctx, pattern, 2)};
    for (int solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++) {
        trine_direct plan;
        struct contest contests[THREADS + 1];
        pthread_t threads[THREADS + 1];
        int updates = 0;
        OK(trine_direct_create(ctx, &plan, A[1],
                               &(trine_direct_options){.factor.method = TRINE_DIRECT_LU,
                                                       .solver = (trine_direct_solver)solver,
                                                       .refine = 1}));
        for (int m = 2; m-- > 0;) {
            for (int i = 0; i < ROWS; i++) exact[m][i] = 1 + i % 7;
            void *x = test_to_device(ctx, exact[m], sizeof exact[m]);
            const trine_dense X = {x, ROWS, 1, ROWS, TRINE_COLMAJOR};
            OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
            test_from_device(ctx, exact[m], x, sizeof exact[m]);
            test_release(ctx, x);
            if (m) OK(trine_direct_update(plan, A[0]));
        }
        assert_false(is_near(exact[0], exact[1]));
        for (int i = 0; i <= THREADS; i++) {
            contests[i] =
                (struct contest){.ctx = ctx, .plan = plan, .A = {A[0], A[1]}, .exact = exact, .updates = &updates};
            assert_int_equal(pthread_create(&threads[i], NULL,
                                            i < THREADS ? solve_beside_updates : update_beside_solves, &contests[i]),
                             0);
        }
        for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i <= THREADS; i++) {
            if (contests[i].failed) fail_msg("thread %d, solver %d: not %s", i, solver, contests[i].failed);
            if (i < THREADS) assert_true(contests[i].right > 0);
        }
        print_message("%d updates beside the solves of %d threads\n", updates, (int)THREADS);
        OK(trine_direct_destroy(&plan));
    }
    for (int m = 0; m < 2; m++) OK(trine_matrix_destroy(&A[m]));
    OK(trine_matrix_destroy(&pattern));
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_works_get_the_bits_of_one),
        cmocka_unit_test(works_come_and_go_beside_new_values),
    };
    return TEST_MAIN(tests);
}
