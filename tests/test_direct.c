/* Direct solves, against LAPACK's dense solve and products in long double. */
#include <complex.h>

#include "core/internal.h"
#include "direct_support.h"

static void solves_agree_with_dense_lapack(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 31, 70};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for EACH(s, sizes) {
                const int n = sizes[s];
                trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 4, is_hermitian(methods[m]), 11 * m + t);
                trine_direct plan;
                /* UMFPACK and KLU take pivots down to a tenth of the largest: growth that one step of refinement makes
                 * good. */
                OK(trine_direct_create(ctx, &plan, A,
                                       &(trine_direct_options){.factor.method = methods[m],
                                                               .ops = TRINE_N | TRINE_T | TRINE_H,
                                                               .triangular.max_nrhs = 3,
                                                               .refine = is_relaxed(methods[m])}));
                char x[70 * 3 * 16], b[70 * 3 * 16];
                for EACH(o, ops)
                    for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
                        for EACH(l, layouts)
                            for (int in_place = 0; in_place < 2; in_place++) {
                                solve(ctx, plan, all_dtypes[t], ops[o], n, nrhs, layouts[l], in_place, b, x);
                                assert_true(backward_error(A, ops[o], nrhs, x, b) < 10);
                                assert_like_lapack(A, all_dtypes[t], ops[o], n, (int)nrhs, x, b);
                            }
                OK(trine_direct_destroy(&plan));
                trine_matrix_destroy(&A);
            }
    OK(trine_context_destroy(&ctx));
}

static void new_values_give_a_new_solution(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            enum { n = 50 };
            trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 3, is_hermitian(methods[m]), t);
            trine_matrix B = rescaled(ctx, A, 4);
            trine_direct plan;
            char x[n * 16], b[n * 16];
            /* UMFPACK's own pivots, a tenth of the largest, would let the rounded factor grow */
            OK(trine_direct_create(ctx, &plan, A,
                                   &(trine_direct_options){.factor = {.method = methods[m], .pivot_threshold = 1},
                                                           .ops = TRINE_N | TRINE_T,
                                                           .refine = (int)t % 2}));
            for (int times = 0; times < 3; times++) {
                OK(trine_direct_update(plan, times == 1 ? A : B));
                solve(ctx, plan, all_dtypes[t], TRINE_T, n, 1, TRINE_COLMAJOR, false, b, x);
                assert_true(backward_error(times == 1 ? A : B, TRINE_T, 1, x, b) < 10);
            }
            OK(trine_direct_destroy(&plan));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

static void an_automatic_plan_follows_its_values_from_cholesky_to_lu(void **state)
{
    (void)state;
    enum { n = 40 };
    trine_context ctx = test_context();
    char x[n * 16], b[n * 16];
    for EACH(t, all_dtypes) {
        trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 3, true, 6), B;
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, all_dtypes[t]));
        OK(trine_matrix_get_arrays(B, &offsets, &columns, &values));
        for (int64_t i = 0; i < n; i += 2) /* every second row: still dominant, no longer Hermitian */
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                put(all_dtypes[t], (void *)values, k, -(double complex)get(all_dtypes[t], values, k));
        trine_direct plan;
        trine_direct_info info;
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H}));
        OK(trine_direct_get_info(plan, &info));
        assert_true(is_cholesky(info.factor.method));
        OK(trine_direct_update(plan, B));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.factor.method, test_on_gpu() ? TRINE_DIRECT_LU : TRINE_DIRECT_LU_KLU);
        for EACH(o, ops) {
            solve(ctx, plan, all_dtypes[t], ops[o], n, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(B, ops[o], 1, x, b) < 10);
        }
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
        trine_matrix_destroy(&B);
    }
    OK(trine_context_destroy(&ctx));
}

static void refinement_repairs_careless_pivoting(void **state)
{
    (void)state;
    enum { n = 70 };
    trine_context ctx = test_context();
    char x[n * 2 * 16], b[n * 2 * 16];
    for EACH(t, all_dtypes) {
        /* Hardly any diagonal, and a threshold that takes it all the same. */
        trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 5, true, 3);
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                if (columns[k] == i) put(all_dtypes[t], (void *)values, k, 1e-3);
        for EACH(o, ops) {
            double error[2];
            for (int refine = 0; refine < 2; refine++) {
                trine_direct plan;
                OK(trine_direct_create(ctx, &plan, A,
                                       &(trine_direct_options){.factor = {.method = TRINE_DIRECT_LU,
                                                                          .ordering = TRINE_ORDERING_NATURAL,
                                                                          .pivot_threshold = 1e-12},
                                                               .ops = ops[o],
                                                               .refine = 3 * refine,
                                                               .triangular.max_nrhs = 2}));
                solve(ctx, plan, all_dtypes[t], ops[o], n, 2, layouts[o % 2], o == 1, b, x);
                error[refine] = backward_error(A, ops[o], 2, x, b);
                OK(trine_direct_destroy(&plan));
            }
            assert_true(error[0] > 10);
            assert_true(error[1] < 2);
        }
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** A quasidefinite matrix whose L D L^H grows to 1e9: [e I, B; B^H, -e I] with e = 1e-9 and a sparse B. */
static trine_matrix small_diagonal(trine_context ctx, trine_dtype t, int half)
{
    trine_matrix A;
    int64_t *offsets, nnz = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, 2 * half, 2 * half, 6 * half - 2, &offsets, &columns, &values));
    for (int i = 0; i < 2 * half; i++) {
        const int k = i % half;
        for (int32_t j = 0; j < 2 * half; j++) {
            const int l = j % half;
            double complex v;
            if (i == j) v = i < half ? 1e-9 : -1e-9;
            else if (i / half == j / half) continue;
            else if (i < half ? l == k || l == k + 1 : l == k || l == k - 1)
                v = 1 + test_uniform(5, (uint64_t)(i < half ? i * half + l : l * half + k)) +
                    (i < half ? _Complex_I : -_Complex_I);
            else continue;
            columns[nnz] = j;
            put(t, values, nnz++, v);
        }
        offsets[i + 1] = nnz;
    }
    assert_int_equal(nnz, 6 * half - 2);
    return A;
}

/** A factorization without pivoting that grows is repaired by refinement which nobody asked for, as the trial solve
 *  found necessary; with new values as well. */
static void a_factor_that_needs_refinement_gets_it(void **state)
{
    (void)state;
    enum { half = 60, n = 2 * half };
    trine_context ctx = test_context();
    for (int complex_t = 0; complex_t < 2; complex_t++) {
        const trine_dtype t = complex_t ? TRINE_Z : TRINE_D;
        trine_matrix A = small_diagonal(ctx, t, half);
        trine_direct plan;
        trine_direct_info info;
        char x[n * 3 * 16], b[n * 3 * 16];
        OK(trine_direct_create(ctx, &plan, A,
                               &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H, .triangular.max_nrhs = 3}));
        for (int times = 0; times < 2; times++) {
            OK(trine_direct_get_info(plan, &info));
            assert_int_equal(info.factor.method, TRINE_DIRECT_LDL);
            assert_true(info.factor.refine >= 1);
            assert_true(info.factor.trial_error >= 0 && info.factor.trial_error <= 10);
            for EACH(o, ops) {
                solve(ctx, plan, t, ops[o], n, 3, layouts[o % 2], false, b, x);
                assert_true(backward_error(A, ops[o], 3, x, b) < 10);
            }
            OK(trine_direct_update(plan, A));
        }
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** Who asks for no refinement has none, whatever the trial solve took, and works without room for it. */
static void refinement_can_be_turned_off(void **state)
{
    (void)state;
    enum { half = 60, n = 2 * half };
    trine_context ctx = test_context();
    for (int library = 0; library < 2; library++) {
        trine_matrix A = small_diagonal(ctx, TRINE_D, half);
        size_t bytes[2];
        for (int off = 0; off < 2; off++) {
            const trine_direct_options options = {
                .refine = -off, .ops = TRINE_N | TRINE_T, .solver = library ? TRINE_SOLVER_LIBRARY : TRINE_SOLVER_AUTO};
            trine_direct plan;
            trine_direct_info info;
            double x[n], b[n];
            OK(trine_direct_create(ctx, &plan, A, &options));
            OK(trine_direct_work(plan, 1, NULL, &bytes[off], NULL));
            for (int times = 0; times < 2; times++) {
                OK(trine_direct_get_info(plan, &info));
                assert_true(info.factor.refine >= 1);
                solve(ctx, plan, TRINE_D, TRINE_N, n, 1, TRINE_COLMAJOR, false, b, x);
                assert_int_equal(backward_error(A, TRINE_N, 1, x, b) < 10, !off);
                OK(trine_direct_update(plan, A));
            }
            OK(trine_direct_destroy(&plan));
        }
        assert_true(bytes[1] < bytes[0]);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void an_empty_system_is_solved(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_C, 0, 0, 0, NULL, NULL, NULL));
    for (int refine = 0; refine < 2; refine++) {
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = refine}));
        const trine_dense X = {.rows = 0, .cols = 1};
        OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
        OK(trine_direct_destroy(&plan));
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void every_wrong_argument_of_a_solve_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}), other, single;
    trine_matrix singular = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1});
    other = MATRIX(ctx, 3, {0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2});
    OK(trine_matrix_copy(A, &single, TRINE_HOST, TRINE_CSR, TRINE_S));
    trine_direct plan = (trine_direct)1;
    trine_direct_info info;
    double host[4] = {1, 2, 3, 4};
    void *data = test_to_device(ctx, host, sizeof host);
    const trine_dense V = {data, 2, 1, 2, TRINE_COLMAJOR}, W = {data, 2, 2, 2, TRINE_COLMAJOR},
                      tall = {data, 3, 1, 3, TRINE_COLMAJOR};
    struct trine_work_s work = {0}; /* of no plan */
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_create(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_direct_create(NULL, &plan, A, NULL));
    assert_null(plan);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_direct_create(ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ops 0x8", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.ops = 8}));
    FAILS(TRINE_ERR_ARGUMENT, "-2 steps", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = -2}));
    FAILS(TRINE_ERR_ARGUMENT, "max_nrhs",
          trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.max_nrhs = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "no method",
          trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = (trine_direct_method)9}));
    FAILS(
        TRINE_ERR_ARGUMENT, NULL,
        trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.method = (trine_triangular_method)999}));
    FAILS(TRINE_ERR_SINGULAR, NULL, trine_direct_create(ctx, &plan, singular, NULL));
    assert_null(plan);
    OK(trine_direct_create(
        ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU, .solver = TRINE_SOLVER_SUPERNODAL}));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_solve(NULL, TRINE_N, &V, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_direct_solve(plan, (trine_transpose)3, &V, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B is NULL", trine_direct_solve(plan, TRINE_N, NULL, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", trine_direct_solve(plan, TRINE_N, &V, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 3 rows", trine_direct_solve(plan, TRINE_N, &tall, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 1 columns, X has 2", trine_direct_solve(plan, TRINE_N, &V, &W, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "another plan", trine_direct_solve(plan, TRINE_N, &V, &V, &(trine_exec){.work = &work}));
    FAILS(TRINE_ERR_STATE, "not announced", trine_direct_solve(plan, TRINE_T, &V, &V, NULL));
    FAILS(TRINE_ERR_STATE, "2 right-hand sides", trine_direct_solve(plan, TRINE_N, &W, &W, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_get_info(NULL, &info));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_direct_get_info(plan, NULL));
    OK(trine_direct_get_info(plan, &info));
    assert_int_equal(info.factor.method, TRINE_DIRECT_LU);
    assert_int_equal(info.solver, TRINE_SOLVER_SUPERNODAL);
    assert_int_equal(info.lower_panels.n, info.factor.n);
    assert_int_equal(info.upper_panels.n, info.factor.n);
    assert_true(info.analyse_seconds >= 0 && info.numeric_seconds >= 0);
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_update(NULL, A));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_direct_update(plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "dtype", trine_direct_update(plan, single));
    OK(trine_direct_solve(plan, TRINE_N, &V, &V, NULL)); /* still whole */
    FAILS(TRINE_ERR_SINGULAR, NULL, trine_direct_update(plan, singular));
    FAILS(TRINE_ERR_STATE, "update failed", trine_direct_solve(plan, TRINE_N, &V, &V, NULL));
    FAILS(TRINE_ERR_STATE, "update failed", trine_direct_get_info(plan, &info));
    OK(trine_direct_update(plan, A));
    OK(trine_direct_solve(plan, TRINE_N, &V, &V, NULL));
    OK(trine_direct_destroy(&plan));
    OK(trine_direct_destroy(&plan));
    OK(trine_direct_destroy(NULL));
    test_release(ctx, data);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&other);
    trine_matrix_destroy(&single);
    trine_matrix_destroy(&singular);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_agree_with_dense_lapack),
        cmocka_unit_test(new_values_give_a_new_solution),
        cmocka_unit_test(an_automatic_plan_follows_its_values_from_cholesky_to_lu),
        cmocka_unit_test(refinement_repairs_careless_pivoting),
        cmocka_unit_test(a_factor_that_needs_refinement_gets_it),
        cmocka_unit_test(refinement_can_be_turned_off),
        cmocka_unit_test(an_empty_system_is_solved),
        cmocka_unit_test(every_wrong_argument_of_a_solve_is_refused),
    };
    return TEST_MAIN(tests);
}
