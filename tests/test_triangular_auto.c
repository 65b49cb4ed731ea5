/* AUTO between partitioned inverses and the method without them: what is predicted, what is chosen, and that solves are
 * right whatever happens to the values. Where the device's own model would never take inverses of such small
 * triangles, other methods are taken for slow ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"
#include "triangular_support.h"

enum { SLOW = 1000000 };

static trine_triangular_info info_of(const struct fixture *f)
{
    trine_triangular_info info;
    OK(trine_triangular_get_info(f->plan, &info));
    return info;
}
static trine_triangular_prediction prediction_of(const struct fixture *f, trine_triangular_method method)
{
    trine_triangular_prediction p;
    memset(&p, 0xFF, sizeof p);
    OK(trine_triangular_get_prediction(f->plan, method, &p));
    for (int k = 0; k < 4; k++) assert_true(p.reserved[k] == 0);
    return p;
}
static bool takes_inverses(const struct fixture *f) { return info_of(f).method == TRINE_TRI_PARTITIONED_INVERSE; }
static trine_triangular_method plain_method(const struct fixture *f)
{
    for (int m = TRINE_TRI_SERIAL; m < TRINE_TRI_PARTITIONED_INVERSE; m++)
        if (prediction_of(f, (trine_triangular_method)m).solve_seconds > 0) return (trine_triangular_method)m;
    fail_msg("no method was predicted");
    return TRINE_TRI_AUTO;
}
/** What AUTO compares in the end, when both have been analysed: a plan takes values for the method without inverses
 *  whatever it solves by. */
static double total(const trine_triangular_prediction *p, bool inverses, int sides, double solves)
{
    return (inverses ? p->numeric_seconds : 0) + solves * p->solve_seconds / sides;
}

static void the_least_total_is_taken(void **state)
{
    (void)state;
    static const double slowness[] = {1, 30, 1000, 1e5};
    static const unsigned ops[] = {TRINE_N, TRINE_T, TRINE_N | TRINE_T};
    int taken = 0, left = 0;
    for (int s = 0; s < 4; s++)
        for (int o = 0; o < 3; o++) {
            struct fixture f = open_problem(make_rows(2500, 2, grid), TRINE_D, false);
            bool before = false;
            for (int64_t solves = 1; solves <= 10000000; solves *= 10) {
                trine_triangular_pretend(slowness[s]);
                set_plan(&f, (trine_triangular_options){.ops = ops[o], .expected_solves = solves});
                trine_triangular_pretend(0);
                const bool inverses = takes_inverses(&f);
                const trine_triangular_method method = plain_method(&f);
                const trine_triangular_prediction with = prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE),
                                                  without = prediction_of(&f, method);
                assert_true(without.analyse_seconds > 0 && without.numeric_seconds > 0);
                assert_non_null(with.reason);
                if (with.solve_seconds > 0) {
                    const int sides = o == 2 ? 2 : 1;
                    const double ratio =
                        total(&without, false, sides, (double)solves) / total(&with, true, sides, (double)solves);
                    assert_true(inverses ? ratio > 1.09 : ratio < 1.11);
                }
                assert_true(inverses || !before); /* more solves never turn away from inverses */
                if (inverses) {
                    assert_string_equal(info_of(&f).reason, with.reason);
                    assert_true(info_of(&f).steps > 0 && info_of(&f).steps < 99);
                }
                before = inverses;
                taken += inverses, left += !inverses;
                OK(trine_triangular_check(f.plan, NULL));
                solve_and_check(&f, ops[o] & TRINE_N ? TRINE_N : TRINE_T, 1, TRINE_COLMAJOR, solves % 3 == 1, 1, true);
            }
            close_fixture(&f);
        }
    assert_true(taken > 10 && left > 10);
}

/** The decision on a fine scale: inverses of which analysis has got to its end are taken from 1.1 times as fast on. */
static void the_turning_point_is_where_the_numbers_say(void **state)
{
    (void)state;
    struct fixture f = open_problem(make_rows(900, 2, grid), TRINE_D, false);
    int taken = 0;
    for (int64_t solves = 100; solves <= 10000; solves *= 10)
        for (double slower = 1; slower < 1e4; slower *= 1.1) {
            trine_triangular_pretend(slower);
            set_plan(&f, (trine_triangular_options){.expected_solves = solves});
            trine_triangular_pretend(0);
            const trine_triangular_prediction with = prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE),
                                              without = prediction_of(&f, plain_method(&f));
            const bool inverses = takes_inverses(&f);
            if (!(with.solve_seconds > 0)) continue; /* not tried, or given up */
            const double ratio = total(&without, false, 1, (double)solves) / total(&with, true, 1, (double)solves);
            assert_true(inverses ? ratio > 1.0999 : ratio < 1.1001);
            taken += inverses;
        }
    assert_true(taken > 20);
    close_fixture(&f);
}

/** With more solves ahead, entries of the inverses are worth more. */
static void groups_grow_with_the_number_of_solves(void **state)
{
    (void)state;
    struct fixture f = open_problem(make_rows(8100, 2, grid), TRINE_D, false);
    int32_t steps = INT32_MAX, first = 0;
    trine_triangular_pretend(SLOW);
    for (int64_t solves = 1; solves <= 100000; solves *= 100) {
        set_plan(&f, (trine_triangular_options){.expected_solves = solves});
        assert_true(takes_inverses(&f) && info_of(&f).steps <= steps);
        steps = info_of(&f).steps;
        if (solves == 1) first = steps;
    }
    assert_true(steps < first);
    /* 0 is 100 */
    set_plan(&f, (trine_triangular_options){.expected_solves = 100});
    steps = info_of(&f).steps;
    set_plan(&f, (trine_triangular_options){0});
    assert_int_equal(info_of(&f).steps, steps);
    trine_triangular_pretend(0);
    close_fixture(&f);
}

/** Plans for several right-hand sides, on a GPU: more of them, fewer entries; solves of any number are right. */
static void several_right_hand_sides_have_fewer_entries(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        struct fixture f = open_problem(make_rows(8100, 2, grid), t, false);
        int64_t entries = INT64_MAX, first = 0;
        for (int64_t nrhs = 1; nrhs <= 64; nrhs *= 8) {
            trine_triangular_pretend(SLOW);
            set_plan(&f, (trine_triangular_options){.max_nrhs = nrhs, .expected_solves = 10000});
            trine_triangular_pretend(0);
            assert_true(takes_inverses(&f) && info_of(&f).entries <= entries);
            entries = info_of(&f).entries;
            if (nrhs == 1) first = entries;
            const trine_triangular_prediction p = prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE);
            assert_true(p.solve_seconds > 0 && p.numeric_seconds > 0);
            for (int64_t k = 1; k <= nrhs; k = 3 * k + 1)
                solve_and_check(&f, TRINE_N, k, k % 2 ? TRINE_COLMAJOR : TRINE_ROWMAJOR, k == 4, 1, true);
        }
        assert_true(entries < first);
        close_fixture(&f);
    }
}

static void what_forbids_inverses_is_said(void **state)
{
    (void)state;
    const trine_triangular_options options[] = {
        {.max_nrhs = 2}, {.tune.row_order = 1}, {.tune.blocks = 3}, {.partition.memory = 1000}, {.expected_solves = 1}};
    static const char *const reasons[] = {"one right-hand side only on a CPU", "by hand", "by hand", "fit", "analysis"};
    struct fixture f = open_problem(make_rows(2500, 2, grid), TRINE_D, false);
    for (int k = test_on_gpu() ? 1 : 0; k < 5; k++) {
        trine_triangular_pretend(k < 4 ? SLOW : 1);
        set_plan(&f, options[k]);
        assert_false(takes_inverses(&f));
        assert_non_null(strstr(prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE).reason, reasons[k]));
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
    }
    set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_LEVELSET});
    assert_string_equal(prediction_of(&f, TRINE_TRI_LEVELSET).reason, "by name");
    assert_string_equal(prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE).reason, "not considered");
    assert_true(prediction_of(&f, TRINE_TRI_LEVELSET).solve_seconds == 0);
    trine_triangular_prediction p;
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_get_prediction(NULL, TRINE_TRI_SERIAL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "prediction is NULL", trine_triangular_get_prediction(f.plan, TRINE_TRI_SERIAL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "method 17 does not",
          trine_triangular_get_prediction(f.plan, (trine_triangular_method)17, &p));
    trine_triangular plan;
    FAILS(TRINE_ERR_ARGUMENT, "expected_solves is -1",
          trine_triangular_analyse(f.ctx, &plan, f.A, &(trine_triangular_options){.expected_solves = -1}));
    trine_triangular_pretend(0);
    close_fixture(&f);
}

/** Inverses that would take more than the solves they save are given up while they are made: all levels of a chain at
 *  once have a dense one, which a CPU is slower with. */
static void a_dense_inverse_is_given_up(void **state)
{
    (void)state;
    struct fixture f = open_problem(make_rows(3000, 1, chain), TRINE_D, false);
    trine_triangular_pretend(20);
    for (int32_t levels = 1; levels <= 10000; levels *= 100) {
        set_plan(&f, (trine_triangular_options){.expected_solves = 100, .partition.levels = levels});
        const char *const reason = prediction_of(&f, TRINE_TRI_PARTITIONED_INVERSE).reason;
        if (!test_on_gpu() && levels == 10000) assert_non_null(strstr(reason, "would take longer"));
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, true, 1, true);
    }
    trine_triangular_pretend(0);
    close_fixture(&f);
}

/* ------------------------------------------------------------------ growth */

static int64_t all_before(int64_t i, int64_t k, int64_t n) { return (void)n, k < i ? k : -1; }

/** Unit triangle with -1 below the diagonal, or a benign one. */
static void set_values(struct fixture *f, bool grows)
{
    struct problem *P = &f->P;
    char *values = malloc((size_t)P->nnz * trine_dtype_size(f->t));
    for (int64_t i = 0; i < P->n; i++)
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++)
            P->values[k] = P->indices[k] == i ? 1 : grows ? -1 : 0.5 / (double)P->n;
    for (int64_t k = 0; k < P->nnz; k++) put(f->t, values, k, P->values[k]);
    OK(trine_triangular_numeric(f->plan, TRINE_HOST, values, NULL));
    free(values);
}

static void values_that_grow_are_solved_without_inverses(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        struct fixture f = open_problem(make_rows(100, 100, all_before), t, false);
        trine_triangular_pretend(SLOW);
        set_plan(&f, (trine_triangular_options){.ops = TRINE_N | TRINE_T | TRINE_H});
        trine_triangular_pretend(0);
        /* a work of the caller's, in a buffer of its own */
        size_t bytes = 0;
        trine_work work;
        OK(trine_triangular_work(f.plan, 1, NULL, &bytes, NULL));
        char *noise = malloc(bytes + 256);
        memset(noise, 0x5A, bytes + 256);
        char *const buffer = test_to_device(f.ctx, noise, bytes + 256);
        void *const aligned = buffer + (256 - (uintptr_t)buffer % 256) % 256;
        free(noise);
        for (int round = 0; round < 4; round++) {
            const bool grows = round % 2 == 1;
            set_values(&f, grows);
            if (round == 3) assert_true(test_on_gpu() || !takes_inverses(&f));
            OK(trine_triangular_check(f.plan, NULL));
            assert_int_equal(takes_inverses(&f), !grows);
            assert_int_equal(strstr(info_of(&f).reason, "digits") != NULL, grows);
            assert_int_equal(info_of(&f).substituted_rows > 50, grows);
            for (int in_place = 0; in_place < 2; in_place++) {
                solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, in_place, 2, false);
                solve_and_check(&f, TRINE_N, 1, TRINE_ROWMAJOR, in_place, 1, true);
                solve_and_check(&f, TRINE_H, 1, TRINE_ROWMAJOR, in_place, 1, true);
            }
            OK(trine_triangular_work(f.plan, 1, round < 2 ? NULL : aligned, &bytes, &work));
            const size_t size = (size_t)f.P.n * trine_dtype_size(t);
            void *x = calloc(1, size), *d = test_to_device(f.ctx, x, size);
            const trine_dense block = {d, f.P.n, 1, f.P.n, TRINE_COLMAJOR};
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, &(trine_exec){.work = work}));
            test_from_device(f.ctx, x, d, size);
            for (int64_t i = 0; i < f.P.n; i++) assert_true(get(t, x, i) == 0);
            test_release(f.ctx, d);
            free(x);
            OK(trine_work_destroy(&work));
        }
        test_release(f.ctx, buffer);
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------- sizes */

static void small_plans_and_batches_of_triangles(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 33, 3000};
    trine_triangular_pretend(SLOW);
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int s = 0; s < 5; s++) {
            struct fixture f = open_problem(make_rows(sizes[s], 29, dense_groups), t, false); /* 30 rows each */
            set_plan(&f, (trine_triangular_options){.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_H});
            OK(trine_triangular_check(f.plan, NULL));
            const trine_triangular_info info = info_of(&f);
            if (info.method == TRINE_TRI_PARTITIONED_INVERSE) assert_true(info.steps <= 30);
            if (sizes[s]) assert_true(test_on_gpu() || info.method == TRINE_TRI_PARTITIONED_INVERSE);
            solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, true, 1, true);
            solve_and_check(&f, TRINE_H, 1, TRINE_COLMAJOR, false, 3, false);
            close_fixture(&f);
        }
    trine_triangular_pretend(0);
}

/* ------------------------------------------- inside preconditioned iterations */

static int groups_made;
static void count_groups(void *user, int level, const char *message)
{
    (void)user, (void)level;
    const char *const levels = strstr(message, " levels in ");
    groups_made += levels && strstr(levels, " groups, ");
}

/** Steps of CG or GMRES on a grid with an exactly applied incomplete factorization, to a hundred eps. groups_made: how
 *  many triangles have been put into groups. */
static int64_t steps_of(trine_context ctx, trine_dtype t, trine_precond_method method, int64_t applications,
                        double *residual)
{
    enum { SIDE = 40, SIZE = SIDE * SIDE };
    const size_t bytes = SIZE * trine_dtype_size(t);
    const bool cholesky = method == TRINE_PRECOND_IC0;
    trine_matrix A;
    trine_spmv product;
    trine_precond p;
    trine_op a, m;
    trine_krylov k;
    trine_krylov_result r;
    char *host = malloc(bytes);
    for (int64_t i = 0; i < SIZE; i++) put(t, host, i, random_element(t, 5, (uint64_t)i));
    void *b = test_to_device(ctx, host, bytes), *x = test_to_device(ctx, host, bytes);
    OK(trine_matrix_gallery(ctx, &A, cholesky ? "laplace2d:nx=40,ny=40" : "rotate7:n=40", t));
    OK(trine_spmv_analyse(ctx, &product, A, NULL));
    OK(trine_spmv_numeric(product, TRINE_HOST, NULL, NULL));
    groups_made = 0;
    OK(trine_context_set_log(ctx, count_groups, NULL, 3));
    OK(trine_precond_analyse(ctx, &p, A, &(trine_precond_options){.method = method, .expected_solves = applications}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    OK(trine_precond_check(p, NULL));
    OK(trine_context_set_log(ctx, NULL, NULL, 0));
    OK(trine_spmv_as_op(product, &a));
    OK(trine_precond_as_op(p, &m));
    OK(trine_krylov_create(ctx, &k, a, m,
                           &(trine_krylov_options){.method = cholesky ? TRINE_KRYLOV_CG : TRINE_KRYLOV_GMRES,
                                                   .restart = 30,
                                                   .rtol = 100 * eps_of(t)}));
    const trine_dense B = {b, SIZE, 1, SIZE, TRINE_COLMAJOR}, X = {x, SIZE, 1, SIZE, TRINE_COLMAJOR};
    OK(trine_krylov_solve(k, &B, &X, NULL));
    OK(trine_krylov_get_result(k, 0, &r, NULL));
    *residual = r.residual / r.rhs_norm;
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&a));
    OK(trine_op_destroy(&m));
    OK(trine_precond_destroy(&p));
    OK(trine_spmv_destroy(&product));
    OK(trine_matrix_destroy(&A));
    test_release(ctx, b);
    test_release(ctx, x);
    free(host);
    return r.iterations;
}

/** Triangles of ILU(0) and IC(0) are inverted where many applications are expected, and solvers take the same steps. */
static void incomplete_factors_are_applied_exactly(void **state)
{
    (void)state;
    static const trine_precond_method methods[] = {TRINE_PRECOND_ILU0, TRINE_PRECOND_IC0};
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int m = 0; m < 2; m++) {
            double residuals[2];
            trine_triangular_pretend(SLOW);
            const int64_t with = steps_of(ctx, t, methods[m], 0, &residuals[0]); /* 0: 1000 */
            trine_triangular_pretend(0);
            assert_int_equal(groups_made, 2); /* L and U; L and L^H */
            const int64_t without = steps_of(ctx, t, methods[m], 1, &residuals[1]);
            assert_int_equal(groups_made, 0);
            for (int k = 0; k < 2; k++) assert_true(residuals[k] <= 100 * eps_of(t));
            assert_true(without > 5 && llabs((long long)(with - without)) <= 1 + without / 20);
        }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_total_is_taken),
        cmocka_unit_test(the_turning_point_is_where_the_numbers_say),
        cmocka_unit_test(groups_grow_with_the_number_of_solves),
        cmocka_unit_test(several_right_hand_sides_have_fewer_entries),
        cmocka_unit_test(what_forbids_inverses_is_said),
        cmocka_unit_test(a_dense_inverse_is_given_up),
        cmocka_unit_test(values_that_grow_are_solved_without_inverses),
        cmocka_unit_test(small_plans_and_batches_of_triangles),
        cmocka_unit_test(incomplete_factors_are_applied_exactly),
    };
    return TEST_MAIN(tests);
}
