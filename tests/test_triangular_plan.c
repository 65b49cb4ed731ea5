/* The life of a triangular plan: new values, pivots, NaN, determinism, threads, errors. */
#include "triangular_support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void check_that_values_are_replaced_without_a_new_analysis(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N | TRINE_T, 1);
    for (int round = 0; round < 3; round++) {
        double *values = malloc((size_t)f.P.nnz * sizeof *values);
        for (int64_t k = 0; k < f.P.nnz; k++) values[k] = creal(f.P.values[k] *= round == 1 ? -0.75 : 1.25);
        if (round == 2 && test_on_gpu()) {
            void *device = test_to_device(f.ctx, values, (size_t)f.P.nnz * sizeof *values);
            OK(trine_triangular_numeric(f.plan, TRINE_DEVICE, device, NULL));
            OK(trine_context_synchronize(f.ctx));
            test_release(f.ctx, device);
        } else {
            OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
        }
        free(values);
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
    }
    close_fixture(&f);
}
static void values_are_replaced_without_a_new_analysis(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_values_are_replaced_without_a_new_analysis(methods[m]);
}

static void check_that_zero_and_nan_pivots_are_found_and_do_not_hang(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N | TRINE_T, 1);
    double *values = malloc((size_t)f.P.nnz * sizeof *values), *x = malloc(300 * sizeof *x);
    for (int bad = 0; bad < 3; bad++) {
        for (int64_t k = 0; k < f.P.nnz; k++) values[k] = creal(f.P.values[k]);
        for (int64_t row = 17; row < 300; row += 100)
            for (int64_t k = f.P.offsets[row]; k < f.P.offsets[row + 1]; k++)
                if (f.P.indices[k] == row) values[k] = bad == 0 ? 0.0 : bad == 1 ? NAN : -0.0;
        OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
        FAILS(TRINE_ERR_SINGULAR, "row 17 is zero or NaN", trine_triangular_check(f.plan, NULL));
        for (int i = 0; i < 300; i++) x[i] = 1;
        void *d = test_to_device(f.ctx, x, 300 * sizeof *x);
        const trine_dense block = {d, 300, 1, 300, TRINE_COLMAJOR};
        OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
        test_from_device(f.ctx, x, d, 300 * sizeof *x);
        assert_false(isfinite(x[17]));
        assert_true(isfinite(x[0]));
        test_release(f.ctx, d);
    }
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_check(f.plan, NULL));
    free(values);
    free(x);
    close_fixture(&f);
}
static void zero_and_nan_pivots_are_found_and_do_not_hang(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_zero_and_nan_pivots_are_found_and_do_not_hang(methods[m]);
}

static void tiny_and_huge_pivots_keep_their_digits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const double pivots[] = {1e-310, 0x1p-1074, 0x1p1023, 1.7e308, 3.0};
    for (int i = 0; i < 5; i++) {
        const int64_t offsets[] = {0, 1};
        const int32_t column = 0;
        const double b = pivots[i] * 0.5;
        double x;
        trine_matrix A;
        trine_triangular plan;
        OK(trine_matrix_csr(ctx, &A, TRINE_D, 1, 1, 1, TRINE_HOST, 64, offsets, 32, &column, &pivots[i]));
        OK(trine_triangular_analyse(ctx, &plan, A, NULL));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        OK(trine_triangular_check(plan, NULL));
        void *d = test_to_device(ctx, &b, sizeof b);
        const trine_dense block = {d, 1, 1, 1, TRINE_COLMAJOR};
        OK(trine_triangular_solve(plan, TRINE_N, NULL, &block, &block, NULL));
        test_from_device(ctx, &x, d, sizeof x);
        assert_true(fabs(x - b / pivots[i]) <= 2 * 0x1p-52 * fabs(b / pivots[i]));
        test_release(ctx, d);
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void check_that_every_nan_in_a_right_hand_side_flows_through(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N, 2);
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    static const uint64_t patterns[] = {0xFFFFFFFFFFFFFFFFu, 0x7FFFFFFFFFFFFFFFu, 0x7FF8000000000000u,
                                        0xFFF8000000000001u, 0x7FF0000000000000u};
    for (int64_t nrhs = 1; nrhs <= 2; nrhs++)
        for (size_t c = 0; c < sizeof patterns / sizeof *patterns; c++) {
            double x[600];
            for (int i = 0; i < 600; i++) x[i] = 1;
            memcpy(&x[5], &patterns[c], sizeof x[5]);
            void *d = test_to_device(f.ctx, x, sizeof x);
            const trine_dense block = {d, 300, nrhs, 300, TRINE_COLMAJOR};
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
            test_from_device(f.ctx, x, d, sizeof x);
            assert_false(isfinite(x[5]));
            assert_true(isfinite(x[0]));
            if (nrhs == 2)
                for (int i = 300; i < 600; i++) assert_true(isfinite(x[i]));
            test_release(f.ctx, d);
        }
    close_fixture(&f);
}
static void every_nan_in_a_right_hand_side_flows_through(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_every_nan_in_a_right_hand_side_flows_through(methods[m]);
}

static void check_repeated_solves(trine_triangular_method method)
{
    struct fixture f = open_problem(make_rows(90000, 2, grid), TRINE_D, false);
    const int64_t n = f.P.n;
    trine_triangular_info info;
    set_plan(&f, (trine_triangular_options){.method = method, .summation = TRINE_ORDER_DETERMINISTIC, .max_nrhs = 3});
    OK(trine_triangular_get_info(f.plan, &info));
    assert_true(info.deterministic);
    const size_t bytes = (size_t)n * 3 * sizeof(double);
    double *B = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
    for (int64_t i = 0; i < 3 * n; i++) B[i] = test_uniform(1, (uint64_t)i);
    void *b = test_to_device(f.ctx, B, bytes), *x = test_to_device(f.ctx, B, bytes);
    for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
        for (int run = 0; run < 20; run++) {
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){b, n, nrhs, 0, TRINE_COLMAJOR},
                                      &(trine_dense){x, n, nrhs, 0, TRINE_COLMAJOR}, NULL));
            test_from_device(f.ctx, run ? again : first, x, bytes);
            if (run) assert_memory_equal(first, again, bytes);
        }
    test_release(f.ctx, b);
    test_release(f.ctx, x);
    free(B);
    free(first);
    free(again);
    close_fixture(&f);
}

static void repeated_solves_are_bitwise_equal(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++)
        if (methods[m] != TRINE_TRI_SYNCFREE_CSC) check_repeated_solves(methods[m]);
}
static void the_method_by_columns_does_not_promise_determinism(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    struct fixture f = open_fixture_with(TRINE_TRI_SYNCFREE_CSC, 33, TRINE_N, 1);
    trine_triangular plan;
    trine_triangular_info info;
    OK(trine_triangular_get_info(f.plan, &info));
    assert_false(info.deterministic);
    assert_int_equal(info.method, TRINE_TRI_SYNCFREE_CSC);
    FAILS(TRINE_ERR_UNSUPPORTED, "cannot be deterministic",
          trine_triangular_analyse(
              f.ctx, &plan, f.A,
              &(trine_triangular_options){.method = TRINE_TRI_SYNCFREE_CSC, .summation = TRINE_ORDER_DETERMINISTIC}));
    assert_null(plan);
    close_fixture(&f);
}

struct job {
    struct fixture *f;
    const double *expected;
    bool good;
};
static void *solve_in_a_thread(void *argument)
{
    struct job *job = argument;
    struct fixture *f = job->f;
    trine_work work = NULL;
    size_t bytes = 0;
    void *x = NULL;
    double result[300], ones[300];
    trine_context_info info;
    trine_context_get_info(f->ctx, &info);
    for (int i = 0; i < 300; i++) ones[i] = 1;
    if (trine_triangular_work(f->plan, 1, NULL, &bytes, &work)) return NULL;
    if (trine_alloc(f->ctx, info.space, sizeof ones, &x)) return NULL;
    for (int round = 0; round < 50; round++) {
        const trine_dense block = {x, 300, 1, 300, TRINE_COLMAJOR};
        if (trine_copy(f->ctx, x, info.space, ones, TRINE_HOST, sizeof ones)) return NULL;
        if (trine_triangular_solve(f->plan, TRINE_N, NULL, &block, &block, &(trine_exec){.work = work})) return NULL;
        if (trine_context_synchronize(f->ctx)) return NULL;
        if (trine_copy(f->ctx, result, TRINE_HOST, x, info.space, sizeof ones)) return NULL;
        if (memcmp(result, job->expected, sizeof result)) return NULL;
    }
    trine_free(f->ctx, info.space, x);
    trine_work_destroy(&work);
    job->good = true;
    return NULL;
}
static void eight_threads_share_one_plan(void **state)
{
    (void)state;
    struct fixture f = open_fixture(300, TRINE_N, 1);
    double expected[300];
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    for (int i = 0; i < 300; i++) expected[i] = 1;
    void *x = test_to_device(f.ctx, expected, sizeof expected);
    const trine_dense block = {x, 300, 1, 300, TRINE_COLMAJOR};
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
    test_from_device(f.ctx, expected, x, sizeof expected);
    test_release(f.ctx, x);
    pthread_t threads[8];
    struct job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct job){&f, expected, false};
        assert_int_equal(pthread_create(&threads[i], NULL, solve_in_a_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++) assert_true(jobs[i].good);
    close_fixture(&f);
}

static void handles_may_be_destroyed_in_any_order(void **state)
{
    (void)state;
    struct fixture f = open_fixture(33, TRINE_N, 1);
    trine_context copy = f.ctx;
    trine_work work;
    size_t bytes;
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_work(f.plan, 5, NULL, &bytes, &work));
    OK(trine_context_destroy(&copy));
    OK(trine_matrix_destroy(&f.A));
    OK(trine_triangular_destroy(&f.plan));
    OK(trine_work_destroy(&work));
    assert_null(work);
    OK(trine_work_destroy(&work));
    free_arrays(&f.a);
    problem_free(&f.P);
}

/* ------------------------------------------------------------------ errors */

static trine_status analyse_entries(trine_context ctx, int n, int nnz, const int32_t *offsets, const int32_t *columns,
                                    trine_triangular_options options)
{
    double values[16] = {1, 1, 1, 1, 1, 1, 1, 1};
    trine_matrix A;
    trine_triangular plan;
    OK(trine_matrix_csr(ctx, &A, TRINE_D, n, n, nnz, TRINE_HOST, 32, offsets, 32, columns, values));
    const trine_status status = trine_triangular_analyse(ctx, &plan, A, &options);
    if (status) assert_null(plan);
    OK(trine_triangular_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    return status;
}

static void wrong_patterns_are_refused_with_the_row(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const trine_triangular_options lower = {.uplo = TRINE_LOWER},
                                   strict = {.uplo = TRINE_LOWER, .other_triangle_is_error = 1}, any = {0};
    FAILS(TRINE_ERR_SINGULAR, "row 1 has no diagonal",
          analyse_entries(ctx, 2, 2, (int32_t[]){0, 1, 2}, (int32_t[]){0, 0}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "row 1 has two entries in column 0",
          analyse_entries(ctx, 2, 4, (int32_t[]){0, 1, 4}, (int32_t[]){0, 0, 0, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "entry (0, 1) is not in the lower",
          analyse_entries(ctx, 2, 3, (int32_t[]){0, 2, 3}, (int32_t[]){0, 1, 1}, strict));
    FAILS(TRINE_ERR_STRUCTURE, "both triangles",
          analyse_entries(ctx, 2, 4, (int32_t[]){0, 2, 4}, (int32_t[]){0, 1, 0, 1}, any));
    FAILS(TRINE_ERR_STRUCTURE, "column index 7 in row 1 is outside 0..1",
          analyse_entries(ctx, 2, 3, (int32_t[]){0, 1, 3}, (int32_t[]){0, 7, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "column index -1 in row 0",
          analyse_entries(ctx, 2, 3, (int32_t[]){0, 1, 3}, (int32_t[]){-1, 0, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "offsets fall",
          analyse_entries(ctx, 3, 3, (int32_t[]){0, 2, 1, 3}, (int32_t[]){0, 1, 2}, lower));
    OK(analyse_entries(ctx, 2, 4, (int32_t[]){0, 2, 4}, (int32_t[]){0, 1, 0, 1}, lower));
    FAILS(TRINE_ERR_UNSUPPORTED, "only",
          analyse_entries(
              ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0},
              (trine_triangular_options){.method = test_on_gpu() ? TRINE_TRI_SERIAL : TRINE_TRI_SYNCFREE_CSR}));
    if (!test_on_gpu())
        FAILS(TRINE_ERR_UNSUPPORTED, "syncfree-csc runs on a GPU only",
              analyse_entries(ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0},
                              (trine_triangular_options){.method = TRINE_TRI_SYNCFREE_CSC}));
    static const trine_triangular_options wrong[] = {{.uplo = 3},
                                                     {.diag = 2},
                                                     {.ops = 8},
                                                     {.method = 99},
                                                     {.summation = 9},
                                                     {.max_nrhs = -1},
                                                     {.tune.lanes_per_row = 3},
                                                     {.tune.lanes_per_row = 64},
                                                     {.tune.warps_per_block = 17},
                                                     {.tune.blocks = -1},
                                                     {.tune.row_order = 3},
                                                     {.csc.warps_per_block = 33},
                                                     {.csc.warps_per_block = -1},
                                                     {.csc.scratchpad = 3},
                                                     {.csc.variant = 3},
                                                     {.csc.p = -1},
                                                     {.csc.q = -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(TRINE_ERR_ARGUMENT, NULL, analyse_entries(ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0}, wrong[i]));

    trine_matrix A;
    trine_triangular plan;
    OK(trine_matrix_csr(ctx, &A, TRINE_D, 1, 2, 1, TRINE_HOST, 32, (int32_t[]){0, 1}, 32, (int32_t[]){0},
                        (double[]){1}));
    FAILS(TRINE_ERR_STRUCTURE, "1 x 2, not square", trine_triangular_analyse(ctx, &plan, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_analyse(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_triangular_analyse(ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_triangular_analyse(NULL, &plan, A, NULL));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void more_right_hand_sides_than_fit_in_memory_are_refused(void **state)
{
    (void)state;
    static const int64_t absurd[] = {INT64_MAX, INT64_MAX / 2, INT64_MAX / 8 - 1, INT64_C(1) << 55};
    trine_context ctx = test_context();
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    size_t bytes = 77;
    trine_work work = (trine_work)1;
    for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++) {
        for (int m = 0; m < n_methods; m++) {
            const trine_triangular_options options = {.method = methods[m], .max_nrhs = absurd[k]};
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  analyse_entries(ctx, 0, 0, (int32_t[]){0}, (int32_t[]){0}, options));
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  analyse_entries(ctx, 2, 2, (int32_t[]){0, 1, 2}, (int32_t[]){0, 1}, options));
        }
        struct fixture f = open_fixture(33, TRINE_N, 2);
        FAILS(TRINE_ERR_MEMORY, "of 33 rows is more than any memory has",
              trine_triangular_work(f.plan, absurd[k], NULL, &bytes, NULL));
        FAILS(TRINE_ERR_MEMORY, "of 33 rows is more than any memory has",
              trine_triangular_work(f.plan, absurd[k], NULL, &bytes, &work));
        assert_true(bytes == 77 && !work);
        close_fixture(&f);
    }
    OK(trine_context_destroy(&ctx));
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    struct fixture f = open_fixture(33, TRINE_N, 2);
    double zeros[33 * 4] = {0};
    void *d = test_to_device(f.ctx, zeros, sizeof zeros);
    const trine_dense good = {d, 33, 1, 33, TRINE_COLMAJOR};
    size_t bytes;
    trine_work work;
    FAILS(TRINE_ERR_STATE, "after numeric", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_STATE, "after numeric", trine_triangular_check(f.plan, NULL));
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "not announced", trine_triangular_solve(f.plan, TRINE_T, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_triangular_solve(f.plan, (trine_transpose)3, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_STATE, "3 right-hand sides",
          trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){d, 33, 3, 33, TRINE_COLMAJOR},
                                 &(trine_dense){d, 33, 3, 33, TRINE_COLMAJOR}, NULL));
    static const struct {
        trine_dense block;
        const char *text;
    } wrong[] = {{{(void *)64, 32, 1, 33, TRINE_COLMAJOR}, "32 rows, not 33"},
                 {{(void *)64, 33, -1, 33, TRINE_COLMAJOR}, "-1 columns"},
                 {{(void *)64, 33, 1, 32, TRINE_COLMAJOR}, "leading dimension 32"},
                 {{(void *)64, 33, 2, 1, TRINE_ROWMAJOR}, "leading dimension 1"},
                 {{(void *)64, 33, 1, 33, (trine_layout)5}, "layout 5"},
                 {{NULL, 33, 1, 33, TRINE_COLMAJOR}, "no data"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text,
              trine_triangular_solve(f.plan, TRINE_N, NULL, &wrong[i].block, &good, NULL));
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text,
              trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &wrong[i].block, NULL));
    }
    FAILS(TRINE_ERR_ARGUMENT, "B is NULL", trine_triangular_solve(f.plan, TRINE_N, NULL, NULL, &good, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "not their layout",
          trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &(trine_dense){d, 33, 1, 1, TRINE_ROWMAJOR}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_solve(NULL, TRINE_N, NULL, &good, &good, NULL));
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){NULL, 33, 0, 33, TRINE_COLMAJOR},
                              &(trine_dense){NULL, 33, 0, 33, TRINE_COLMAJOR}, NULL));
    OK(trine_triangular_work(f.plan, 7, NULL, &bytes, NULL));
    if (bytes) {
        void *small = test_to_device(f.ctx, zeros, 8);
        bytes = 8;
        FAILS(TRINE_ERR_ARGUMENT, "the buffer has 8", trine_triangular_work(f.plan, 7, small, &bytes, &work));
        test_release(f.ctx, small);
    }
    struct fixture other = open_fixture(33, TRINE_N, 2);
    OK(trine_triangular_work(other.plan, 7, NULL, &bytes, &work));
    FAILS(TRINE_ERR_ARGUMENT, "another plan",
          trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &good, &(trine_exec){.work = work}));
    OK(trine_work_destroy(&work));
    close_fixture(&other);
    test_release(f.ctx, d);
    close_fixture(&f);
}

static void check_failing_allocations(trine_triangular_method method)
{
    struct problem P = make_problem(40, sparse_random, true, false, false, false, 5);
    for (int k = 1;; k++) {
        test_memory memory = {0};
        struct arrays a;
        trine_context ctx = test_context();
        trine_triangular plan;
        test_fail_allocations(ctx, &memory);
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
        memory.fail_at = memory.calls + k;
        trine_status status = trine_triangular_analyse(
            ctx, &plan, A, &(trine_triangular_options){.ops = TRINE_N | TRINE_T, .method = method});
        if (status) assert_null(plan);
        else OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
        free_arrays(&a);
        assert_int_equal(memory.live, 0);
        if (!status) break;
        assert_int_equal(status, TRINE_ERR_MEMORY);
        assert_true(k < 500);
    }
    problem_free(&P);
}
static void every_allocation_may_fail(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_failing_allocations(methods[m]);
}

static void method_names_are_there(void **state)
{
    (void)state;
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SERIAL), "serial");
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SYNCFREE_CSR), "syncfree-csr");
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SYNCFREE_CSC), "syncfree-csc");
    assert_string_equal(trine_triangular_method_name((trine_triangular_method)77), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_replaced_without_a_new_analysis),
        cmocka_unit_test(zero_and_nan_pivots_are_found_and_do_not_hang),
        cmocka_unit_test(tiny_and_huge_pivots_keep_their_digits),
        cmocka_unit_test(every_nan_in_a_right_hand_side_flows_through),
        cmocka_unit_test(repeated_solves_are_bitwise_equal),
        cmocka_unit_test(the_method_by_columns_does_not_promise_determinism),
        cmocka_unit_test(eight_threads_share_one_plan),
        cmocka_unit_test(handles_may_be_destroyed_in_any_order),
        cmocka_unit_test(wrong_patterns_are_refused_with_the_row),
        cmocka_unit_test(more_right_hand_sides_than_fit_in_memory_are_refused),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(method_names_are_there),
    };
    return TEST_MAIN(tests);
}
