/* Plans whose solves are those of the library that factored (TRINE_SOLVER_LIBRARY). */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "direct_support.h"

enum { N = 70, MOST_NRHS = 33 };

static trine_direct_options by_library(trine_direct_method method, int refine)
{
    trine_direct_options options = options_of(method, TRINE_SOLVER_LIBRARY, refine, MOST_NRHS);
    options.supernodal = (trine_supernodal_options){0};
    return options;
}

/** On a CPU and in double precision; SuperLU's factors have trine's solves. */
static bool library_solves(trine_direct_method method, trine_dtype t)
{
    return !test_on_gpu() && (t == TRINE_D || t == TRINE_Z) && method != TRINE_DIRECT_LU;
}

static void assert_solver(trine_direct plan, trine_direct_method method, trine_dtype t)
{
    trine_direct_info info;
    OK(trine_direct_get_info(plan, &info));
    assert_int_equal(info.solver == TRINE_SOLVER_LIBRARY, library_solves(method, t));
    assert_true(info.factor.nnz_L >= N && info.factor.nnz_U >= N);
    if (info.solver == TRINE_SOLVER_LIBRARY) assert_int_equal(info.deterministic, 1);
}

static void solves_are_those_of_lapack(void **state)
{
    (void)state;
    static const int64_t nrhs[] = {1, 3, MOST_NRHS};
    trine_context ctx = test_context();
    char x[N * MOST_NRHS * 16], b[N * MOST_NRHS * 16];
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for (int refine = 0; refine <= 1; refine++) {
                trine_matrix A = random_matrix(ctx, all_dtypes[t], N, 4, is_hermitian(methods[m]), 71 + t),
                             B = rescaled(ctx, A, 5);
                trine_direct plan;
                const trine_direct_options options = by_library(methods[m], refine);
                OK(trine_direct_create(ctx, &plan, A, &options));
                for (int update = 0; update <= 1; update++) {
                    if (update) OK(trine_direct_update(plan, B));
                    assert_solver(plan, methods[m], all_dtypes[t]);
                    for EACH(o, ops)
                        for EACH(k, nrhs) {
                            const int64_t count = nrhs[k];
                            solve(ctx, plan, all_dtypes[t], ops[o], N, count, layouts[(o + k) % 2], k == 1, b, x);
                            const double error = backward_error(update ? B : A, ops[o], count, x, b);
                            assert_true(error < (is_relaxed(methods[m]) && !refine ? 1000 : 10));
                            assert_like_lapack(update ? B : A, all_dtypes[t], ops[o], N, (int)count, x, b);
                        }
                }
                OK(trine_direct_destroy(&plan));
                OK(trine_matrix_destroy(&A));
                OK(trine_matrix_destroy(&B));
            }
    OK(trine_context_destroy(&ctx));
}

/** AUTO's choices; values of every size. */
static void small_and_scaled_matrices_are_solved(void **state)
{
    (void)state;
    static const double scales[] = {1, 1e30, 1e-30};
    static const int64_t sizes[] = {0, 1, 2, 31};
    trine_context ctx = test_context();
    double x[31], b[31];
    for EACH(n, sizes)
        for EACH(s, scales)
            for (int hermitian = 0; hermitian <= 1; hermitian++) {
                trine_matrix A = random_matrix(ctx, TRINE_D, sizes[n], 3, hermitian, 7 + s);
                trine_matrix_info info;
                const void *values;
                trine_direct plan;
                OK(trine_matrix_get_info(A, &info));
                OK(trine_matrix_get_arrays(A, NULL, NULL, &values));
                for (int64_t k = 0; k < info.nnz; k++) ((double *)values)[k] *= scales[s]; /* A is the test's own */
                OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.solver = TRINE_SOLVER_LIBRARY}));
                solve(ctx, plan, TRINE_D, TRINE_N, sizes[n], 1, TRINE_COLMAJOR, false, b, x);
                if (sizes[n]) assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
                OK(trine_direct_destroy(&plan));
                OK(trine_matrix_destroy(&A));
            }
    OK(trine_context_destroy(&ctx));
}

/** A random matrix whose columns are scaled by 1e-30, 1 or 1e30. */
static trine_matrix scaled_columns(trine_context ctx, trine_dtype t, int64_t n, uint64_t seed)
{
    static const double scales[] = {1e-30, 1, 1e30};
    int64_t nnz = 0, *offsets;
    int32_t *columns;
    void *values;
    trine_matrix A;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, n, n, n * n, &offsets, &columns, &values));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const uint64_t counter = (uint64_t)(3 * (i * n + j));
            if (j != (i + 1) % n && test_uniform(seed, counter) > 3.0 / (double)n) continue;
            const double scale = scales[(int)(3 * test_uniform(seed + 1, (uint64_t)j))];
            columns[nnz] = (int32_t)j;
            put(t, values, nnz++,
                scale * (2 * test_uniform(seed, counter + 1) - 1 + test_uniform(seed, counter + 2) * _Complex_I));
        }
        offsets[i + 1] = nnz;
    }
    trine_matrix fitting, whole;
    OK(trine_matrix_csr(ctx, &fitting, t, n, n, nnz, TRINE_HOST, 64, offsets, 32, columns, values));
    OK(trine_matrix_copy(fitting, &whole, TRINE_HOST, TRINE_CSR, t));
    OK(trine_matrix_destroy(&fitting));
    OK(trine_matrix_destroy(&A));
    return whole;
}

/** Norms of A see its largest columns alone, those of A^T all: a factor may do for one and not for the other. */
static void transposed_solves_are_tried_by_themselves(void **state)
{
    (void)state;
    enum { MOST = 40, SYSTEMS = 250 };
    static const trine_direct_method lu[] = {TRINE_DIRECT_AUTO, TRINE_DIRECT_LU_KLU, TRINE_DIRECT_LU_UMFPACK};
    trine_context ctx = test_context();
    double x[2 * MOST], b[2 * MOST];
    int solved = 0;
    for (int k = 0; k < SYSTEMS; k++) {
        const trine_dtype t = k % 4 ? TRINE_D : TRINE_Z;
        const int64_t n = 2 + k % (MOST - 1);
        trine_matrix A = scaled_columns(ctx, t, n, 1000 + 3 * (uint64_t)k), B = rescaled(ctx, A, (uint64_t)k);
        for EACH(m, lu)
            for (int once = 0; once <= 1; once++) {
                const trine_direct_options options = {.factor.method = lu[m],
                                                      .ops = k % 2 ? TRINE_T : TRINE_N | TRINE_T | TRINE_H,
                                                      .triangular.expected_solves = once};
                trine_direct plan;
                if (trine_direct_create(ctx, &plan, A, &options)) continue; /* singular by chance, and said so */
                for (int update = 0; update <= 1; update++) {
                    if (update) OK(trine_direct_update(plan, B));
                    for EACH(o, ops) {
                        if (!(options.ops & (unsigned)ops[o])) continue;
                        solve(ctx, plan, t, ops[o], n, 1, TRINE_COLMAJOR, false, b, x);
                        const double error = backward_error(update ? B : A, ops[o], 1, x, b);
                        if (!(error < 100))
                            print_error("system %d, n %lld, method %d, once %d, update %d, op %d: %g eps\n", k,
                                        (long long)n, (int)lu[m], once, update, (int)ops[o], error);
                        assert_true(error < 100);
                    }
                }
                solved++;
                OK(trine_direct_destroy(&plan));
            }
        OK(trine_matrix_destroy(&A));
        OK(trine_matrix_destroy(&B));
    }
    assert_true(solved > 5 * SYSTEMS); /* of six plans a system */
    OK(trine_context_destroy(&ctx));
}

/** New values that the old pivots of KLU are no good for, or that are singular. */
static void new_values_have_pivots_of_their_own(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3}, {1, 2, 1}, {2, 1, 1}, {2, 2, 5}),
                 zero = MATRIX(ctx, 3, {0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3}, {1, 2, 1}, {2, 1, 1}, {2, 2, 5}),
                 tiny = MATRIX(ctx, 3, {0, 0, 1e-20}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3}, {1, 2, 1}, {2, 1, 1}, {2, 2, 5}),
                 singular = MATRIX(ctx, 3, {0, 0, 0}, {0, 1, 0}, {1, 0, 1}, {1, 1, 3}, {1, 2, 1}, {2, 1, 1}, {2, 2, 5});
    const trine_matrix given[] = {zero, tiny, A, tiny};
    for (int named = 0; named <= 1; named++) {
        trine_direct plan;
        double x[3], b[3];
        OK(trine_direct_create(ctx, &plan, A,
                               &(trine_direct_options){.factor.method = named ? TRINE_DIRECT_LU_KLU : TRINE_DIRECT_AUTO,
                                                       .solver = TRINE_SOLVER_LIBRARY}));
        for EACH(k, given) {
            OK(trine_direct_update(plan, given[k]));
            solve(ctx, plan, TRINE_D, TRINE_N, 3, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(given[k], TRINE_N, 1, x, b) < 10);
            assert_like_lapack(given[k], TRINE_D, TRINE_N, 3, 1, x, b);
        }
        assert_int_equal(trine_direct_update(plan, singular), TRINE_ERR_SINGULAR);
        const trine_dense X = {.data = x, .rows = 3, .cols = 1};
        if (!test_on_gpu()) assert_int_equal(trine_direct_solve(plan, TRINE_N, &X, &X, NULL), TRINE_ERR_STATE);
        OK(trine_direct_update(plan, A));
        OK(trine_direct_destroy(&plan));
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&zero));
    OK(trine_matrix_destroy(&tiny));
    OK(trine_matrix_destroy(&singular));
    OK(trine_context_destroy(&ctx));
}

/** New values with a zero on the diagonal, in blocks of KLU's of one row, whose pivots its refactorization does not
 *  check. */
static void new_values_that_are_singular_are_refused(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_D, TRINE_Z};
    static const trine_direct_solver solvers[] = {TRINE_SOLVER_LIBRARY, TRINE_SOLVER_GENERAL};
    trine_context ctx = test_context();
    for EACH(t, dtypes)
        for EACH(s, solvers)
            for (int zero = 0; zero < 3; zero++) {
                trine_matrix real[2], A[2];
                trine_direct plan;
                trine_factor F;
                for (int k = 0; k < 2; k++) {
                    const double d = k ? 0 : 5;
                    real[k] = MATRIX(ctx, 3, {0, 0, zero == 0 ? d : 2}, {0, 1, 1}, {1, 1, zero == 1 ? d : 3}, {1, 2, 1},
                                     {2, 2, zero == 2 ? d : 4});
                    OK(trine_matrix_copy(real[k], &A[k], TRINE_HOST, TRINE_CSR, dtypes[t]));
                }
                OK(trine_direct_create(
                    ctx, &plan, A[0],
                    &(trine_direct_options){.factor.method = TRINE_DIRECT_LU_KLU, .solver = solvers[s]}));
                assert_int_equal(trine_direct_update(plan, A[1]), TRINE_ERR_SINGULAR);
                OK(trine_direct_update(plan, A[0]));
                OK(trine_direct_destroy(&plan));
                OK(trine_factor_create(ctx, &F, A[0], &(trine_factor_options){.method = TRINE_DIRECT_LU_KLU}));
                assert_int_equal(trine_factor_update(F, A[1]), TRINE_ERR_SINGULAR);
                OK(trine_factor_destroy(&F));
                for (int k = 0; k < 2; k++) OK(trine_matrix_destroy(&real[k])), OK(trine_matrix_destroy(&A[k]));
            }
    OK(trine_context_destroy(&ctx));
}

/** A plan for few solves has the caller's arrays, by reference: new values may stand in them, another pattern is seen.
 *  Rows of a symmetric matrix, columns of any. */
static void new_values_may_stand_in_the_same_arrays(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int symmetric = 0; symmetric <= 1; symmetric++) {
        const int64_t offsets[] = {0, 2, 5, 7};
        int32_t indices[] = {0, 1, 0, 1, 2, 1, 2};
        double values[] = {4, 1, symmetric ? 1 : 3, 5, 2, symmetric ? 2 : 1, 6}, x[3], b[3];
        trine_matrix A;
        trine_direct plan;
        OK((symmetric ? trine_matrix_csr : trine_matrix_csc)(ctx, &A, TRINE_D, 3, 3, 7, TRINE_HOST, 64, offsets, 32,
                                                             indices, values));
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.expected_solves = 1}));
        for (int k = 0; k < 3; k++) {
            if (k) values[0] += k, values[3] *= 2;
            if (k) OK(trine_direct_update(plan, A));
            solve(ctx, plan, TRINE_D, TRINE_N, 3, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
            if (symmetric) assert_like_lapack(A, TRINE_D, TRINE_N, 3, 1, x, b); /* which takes rows */
        }
        OK(trine_direct_destroy(&plan));
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.expected_solves = 1}));
        indices[1] = 2;
        assert_int_equal(trine_direct_update(plan, A), TRINE_ERR_ARGUMENT);
        assert_non_null(strstr(trine_last_error(), "pattern"));
        OK(trine_direct_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static trine_direct_solver solver_with(trine_matrix A, const trine_direct_options *options)
{
    trine_context ctx = test_context();
    trine_direct plan;
    trine_direct_info info;
    OK(trine_direct_create(ctx, &plan, A, options));
    OK(trine_direct_get_info(plan, &info));
    OK(trine_direct_destroy(&plan));
    OK(trine_context_destroy(&ctx));
    return info.solver;
}

/** AUTO takes the library for few right-hand sides with one factor, and not for the hundred that are expected if
 *  nobody says; between the two there is one number from which on plans are taken. */
static void few_solves_are_the_librarys(void **state)
{
    (void)state;
    static const int64_t expected[] = {1, 2, 5, 10, 25, 45, 60, 100, 0};
    trine_context ctx = test_context();
    char x[N * 16], b[N * 16];
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], N, 4, is_hermitian(methods[m]), 11 + t),
                         B = rescaled(ctx, A, 5);
            bool plans = !library_solves(methods[m], all_dtypes[t]);
            for EACH(e, expected) {
                trine_direct plan;
                trine_direct_info info;
                const trine_direct_options options = {
                    .factor.method = methods[m], .triangular.expected_solves = expected[e], .ops = TRINE_N | TRINE_H};
                OK(trine_direct_create(ctx, &plan, A, &options));
                OK(trine_direct_get_info(plan, &info));
                const bool library = info.solver == TRINE_SOLVER_LIBRARY;
                assert_int_equal(strstr(info.reason, "right-hand sides expected") != NULL, library);
                if (info.solver == TRINE_SOLVER_GENERAL && !test_on_gpu())
                    assert_non_null(strstr(info.lower.reason, "few entries"));
                if (expected[e] == 1) assert_int_equal(library, library_solves(methods[m], all_dtypes[t]));
                if (expected[e] >= 10 && methods[m] == TRINE_DIRECT_CHOLESKY)
                    assert_false(library); /* panels are cheap */
                assert_false(plans && library);
                plans = !library;
                for (int update = 0; update <= 1; update++) {
                    if (update) OK(trine_direct_update(plan, B));
                    for (int h = 0; h <= 1; h++) {
                        solve(ctx, plan, all_dtypes[t], h ? TRINE_H : TRINE_N, N, 1, TRINE_COLMAJOR, false, b, x);
                        const double error = backward_error(update ? B : A, h ? TRINE_H : TRINE_N, 1, x, b);
                        assert_true(error < (is_relaxed(methods[m]) ? 1000 : 10));
                    }
                }
                OK(trine_direct_destroy(&plan));
            }
            assert_true(plans);
            OK(trine_matrix_destroy(&A));
            OK(trine_matrix_destroy(&B));
        }
    OK(trine_context_destroy(&ctx));
}

/** What is asked of plans of triangles, many right-hand sides in a solve, and a factor that was made before have
 *  plans. */
static void what_is_asked_of_plans_is_kept(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = random_matrix(ctx, TRINE_D, N, 4, true, 5);
    trine_factor F;
    trine_direct plan;
    trine_direct_info info;
    const trine_direct_options once = {.triangular.expected_solves = 1};
    trine_direct_options asked[7];
    for EACH(k, asked) asked[k] = once;
    asked[0].triangular.method = test_on_gpu() ? TRINE_TRI_LEVELSET : TRINE_TRI_SERIAL;
    asked[1].triangular.summation = TRINE_ORDER_DETERMINISTIC;
    asked[2].supernodal.invert = TRINE_INVERT_NONE;
    asked[3].supernodal.single = 1;
    asked[4].triangular.max_nrhs = 64;
    asked[5].solver = TRINE_SOLVER_GENERAL;
    asked[6].triangular.expected_solves = INT64_MAX;
    assert_int_equal(solver_with(A, &once) == TRINE_SOLVER_LIBRARY, !test_on_gpu());
    for EACH(k, asked) assert_int_not_equal(solver_with(A, &asked[k]), TRINE_SOLVER_LIBRARY);
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_direct_create_from_factor(ctx, &plan, F, A, &once));
    OK(trine_direct_get_info(plan, &info));
    assert_int_not_equal(info.solver, TRINE_SOLVER_LIBRARY);
    OK(trine_direct_destroy(&plan));
    const trine_direct_options negative = {.triangular.expected_solves = -1};
    FAILS(TRINE_ERR_ARGUMENT, "expected_solves is -1", trine_direct_create(ctx, &plan, A, &negative));
    FAILS(TRINE_ERR_ARGUMENT, "expected_solves is -1", trine_direct_create_from_factor(ctx, &plan, F, A, &negative));
    OK(trine_factor_destroy(&F));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/** Permutations are handed out all the same, once they are asked for. */
static void permutations_are_there(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods) {
        trine_matrix A = random_matrix(ctx, TRINE_D, N, 4, is_hermitian(methods[m]), 3);
        trine_direct plan;
        const trine_direct_options options = by_library(methods[m], 0);
        OK(trine_direct_create(ctx, &plan, A, &options));
        for (int update = 0; update <= 1; update++) {
            const int32_t *rows, *columns;
            int seen[2][N] = {{0}};
            if (update) OK(trine_direct_update(plan, A));
            OK(trine_direct_get_permutations(plan, &rows, &columns, NULL, NULL));
            for (int k = 0; k < N; k++) {
                assert_true(rows[k] >= 0 && rows[k] < N && !seen[0][rows[k]]++);
                assert_true(columns[k] >= 0 && columns[k] < N && !seen[1][columns[k]]++);
            }
            assert_solver(plan, methods[m], TRINE_D);
        }
        OK(trine_direct_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

struct job {
    trine_direct plan;
    const double *b;
    double x[N * 3];
    trine_status status;
};

static void *solve_twenty_times(void *argument)
{
    struct job *job = argument;
    trine_work work = NULL;
    job->status = trine_direct_work(job->plan, 3, NULL, NULL, &work);
    for (int i = 0; i < 20 && !job->status; i++) {
        const trine_dense B = {.data = (void *)job->b, .rows = N, .cols = 3},
                          X = {.data = job->x, .rows = N, .cols = 3};
        job->status = trine_direct_solve(job->plan, TRINE_N, &B, &X, &(trine_exec){.work = work});
    }
    trine_work_destroy(&work);
    return NULL;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    trine_context ctx = test_context();
    double b[N * 3];
    if (test_on_gpu()) skip();
    for (int i = 0; i < N * 3; i++) b[i] = sin(i + 1);
    for EACH(m, methods) {
        trine_matrix A = random_matrix(ctx, TRINE_D, N, 4, is_hermitian(methods[m]), 9);
        struct job *jobs = calloc(THREADS, sizeof *jobs);
        pthread_t threads[THREADS];
        trine_direct plan;
        const trine_direct_options options = by_library(methods[m], (int)(m % 2));
        OK(trine_direct_create(ctx, &plan, A, &options));
        for (int i = 0; i < THREADS; i++) {
            jobs[i].plan = plan;
            jobs[i].b = b;
            assert_int_equal(pthread_create(&threads[i], NULL, solve_twenty_times, &jobs[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            OK(jobs[i].status);
        }
        for (int i = 0; i < THREADS; i++) assert_memory_equal(jobs[i].x, jobs[0].x, sizeof jobs[i].x);
        assert_true(backward_error(A, TRINE_N, 3, jobs[0].x, b) < 10);
        free(jobs);
        OK(trine_direct_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for EACH(m, methods)
        for (int k = 1;; k++) {
            trine_context ctx;
            test_memory memory = {0};
            OK(trine_context_create(&ctx, "cpu"));
            test_fail_allocations(ctx, &memory);
            trine_matrix A = random_matrix(ctx, TRINE_Z, 12, 4, is_hermitian(methods[m]), 5);
            double complex x[12] = {1};
            const trine_dense X = {x, 12, 1, 12, TRINE_COLMAJOR};
            const int32_t *order;
            trine_direct plan;
            const trine_direct_options options = by_library(methods[m], 1);
            memory.fail_at = memory.calls + k;
            trine_status status = trine_direct_create(ctx, &plan, A, &options);
            if (status) assert_null(plan);
            if (!status) status = trine_direct_update(plan, A);
            if (!status) status = trine_direct_solve(plan, TRINE_T, &X, &X, NULL);
            if (!status) status = trine_direct_get_permutations(plan, &order, NULL, NULL, NULL);
            const bool failed = memory.calls >= memory.fail_at;
            /* without memory for SuperLU's panels a plan goes on with its triangles */
            if (!failed || methods[m] != TRINE_DIRECT_LU || status)
                assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
            OK(trine_direct_destroy(&plan));
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
            assert_int_equal(memory.live, 0);
            if (!failed) break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solves_are_those_of_lapack),
                                       cmocka_unit_test(small_and_scaled_matrices_are_solved),
                                       cmocka_unit_test(transposed_solves_are_tried_by_themselves),
                                       cmocka_unit_test(new_values_have_pivots_of_their_own),
                                       cmocka_unit_test(new_values_that_are_singular_are_refused),
                                       cmocka_unit_test(new_values_may_stand_in_the_same_arrays),
                                       cmocka_unit_test(few_solves_are_the_librarys),
                                       cmocka_unit_test(what_is_asked_of_plans_is_kept),
                                       cmocka_unit_test(permutations_are_there),
                                       cmocka_unit_test(threads_share_a_plan),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
