/* Direct solves on a CPU whose numbers come near the ends of the range: right where the solution is a number of the
 * precision, refused where it is not. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "direct_support.h"

enum { N = 12, NRHS = 3 };

static double largest_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? FLT_MAX : DBL_MAX; }
static const char *name_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? "single" : "double"; }

/** A of type t. */
static trine_matrix typed(trine_matrix A, trine_dtype t)
{
    trine_matrix B;
    OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, t));
    trine_matrix_destroy(&A);
    return B;
}

static trine_direct plan_of(trine_context ctx, trine_matrix A, trine_direct_method method, int refine)
{
    trine_direct plan;
    const trine_direct_options options = options_of(method, TRINE_SOLVER_AUTO, refine, NRHS);
    OK(trine_direct_create(ctx, &plan, A, &options));
    return plan;
}

/** b and x are packed by columns, and pass through blocks of the layout. */
static trine_status solve_packed(trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs,
                                 trine_layout layout, bool in_place, const void *b, void *x)
{
    char from[N * NRHS * 16], to[N * NRHS * 16];
    const bool by_rows = layout == TRINE_ROWMAJOR;
    const int64_t ld = by_rows ? nrhs : n;
    const trine_dense B = {from, n, nrhs, ld, layout}, X = {in_place ? from : to, n, nrhs, ld, layout};
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < nrhs; c++) put(t, from, by_rows ? i * ld + c : i + c * ld, get(t, b, i + c * n));
    const trine_status status = trine_direct_solve(plan, op, &B, &X, NULL);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < nrhs; c++) put(t, x, i + c * n, get(t, X.data, by_rows ? i * ld + c : i + c * ld));
    return status;
}

/** Columns of any size side by side, each with a solution that is a number. */
static void right_hand_sides_of_any_size_are_solved_for(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(k, all_dtypes) {
            const trine_dtype t = all_dtypes[k];
            const size_t element = trine_dtype_size(t);
            const double sizes[NRHS] = {largest_of(t) / 64, 1, t == TRINE_S || t == TRINE_C ? 1e-36 : 1e-300};
            trine_matrix A = random_matrix(ctx, t, N, 4, is_hermitian(methods[m]), 5 + k);
            trine_direct plan = plan_of(ctx, A, methods[m], (int)k % 2);
            for EACH(o, ops)
                for EACH(l, layouts)
                    for (int in_place = 0; in_place < 2; in_place++) {
                        char b[N * NRHS * 16], x[N * NRHS * 16];
                        for (int64_t c = 0; c < NRHS; c++)
                            for (int64_t i = 0; i < N; i++)
                                put(t, b, i + c * N, sizes[c] * random_element(t, 7 + o, (uint64_t)(i + c * N)));
                        OK(solve_packed(plan, t, ops[o], N, NRHS, layouts[l], in_place, b, x));
                        for (int64_t c = 0; c < NRHS; c++)
                            assert_true(backward_error(A, ops[o], 1, x + (size_t)(c * N) * element,
                                                       b + (size_t)(c * N) * element) < 100);
                    }
            trine_direct_destroy(&plan);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** Forward, -m - m overflows; the solution is (0, m). */
static void overflows_on_the_way_do_no_harm(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(k, all_dtypes) {
            if (is_hermitian(methods[m]) && methods[m] != TRINE_DIRECT_LDL) continue;
            const trine_dtype t = all_dtypes[k];
            const double most = largest_of(t) * 0.9;
            trine_matrix A = typed(MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, -1}), t);
            trine_direct plan = plan_of(ctx, A, methods[m], 0);
            for (int in_place = 0; in_place < 2; in_place++) {
                char b[2 * 16], x[2 * 16];
                put(t, b, 0, most);
                put(t, b, 1, -most);
                OK(solve_packed(plan, t, TRINE_N, 2, 1, TRINE_COLMAJOR, in_place, b, x));
                assert_true(get(t, x, 0) == 0 && get(t, x, 1) == get(t, b, 0));
            }
            trine_direct_destroy(&plan);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** Denormal right-hand sides of a matrix as small: the solution is not, and has all its digits. */
static void denormal_right_hand_sides_keep_their_digits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(k, all_dtypes) {
            const trine_dtype t = all_dtypes[k];
            const bool single = t == TRINE_S || t == TRINE_C;
            if (methods[m] == TRINE_DIRECT_LDL && t == TRINE_Z) continue; /* CHOLMOD squares A's entries: 2^-2000 */
            const long double a = single ? 0x1p-120 : 0x1p-1000, b0 = single ? 0x1p-142 : 0x1p-1067;
            trine_matrix A = typed(
                MATRIX(ctx, 2, {0, 0, (double)(4 * a)}, {0, 1, (double)a}, {1, 0, (double)a}, {1, 1, (double)(3 * a)}),
                t);
            trine_direct plan = plan_of(ctx, A, methods[m], -1);
            for (int in_place = 0; in_place < 2; in_place++) {
                char b[2 * 16], x[2 * 16];
                put(t, b, 0, 5 * b0);
                put(t, b, 1, 7 * b0);
                OK(solve_packed(plan, t, TRINE_N, 2, 1, TRINE_COLMAJOR, in_place, b, x));
                assert_true(fabsl(creall(get(t, x, 0)) * 11 * a / (8 * b0) - 1) < 10 * eps_of(t));
                assert_true(fabsl(creall(get(t, x, 1)) * 11 * a / (23 * b0) - 1) < 10 * eps_of(t));
            }
            trine_direct_destroy(&plan);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** One of three columns has a solution beyond the range: in a block by columns, by rows, in place or not. */
static void solutions_beyond_the_range_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(k, all_dtypes) {
            const trine_dtype t = all_dtypes[k];
            trine_matrix A = typed(MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 0.5}, {1, 0, 0.5}, {1, 1, 1}, {2, 2, 0x1p-100}), t);
            trine_direct plan = plan_of(ctx, A, methods[m], (int)k % 2);
            char says[100];
            snprintf(says, sizeof says, "column 1 of X leaves the range of %s precision in row 2", name_of(t));
            for EACH(o, ops)
                for EACH(l, layouts)
                    for (int in_place = 0; in_place < 2; in_place++) {
                        char b[3 * NRHS * 16], x[3 * NRHS * 16];
                        for (int64_t i = 0; i < 3 * NRHS; i++) put(t, b, i, 1);
                        put(t, b, 5, largest_of(t) / 2);
                        FAILS(TRINE_ERR_NO_CONVERGENCE, says,
                              solve_packed(plan, t, ops[o], 3, NRHS, layouts[l], in_place, b, x));
                        put(t, b, 5, 1); /* and the plan goes on */
                        OK(solve_packed(plan, t, ops[o], 3, NRHS, layouts[l], in_place, b, x));
                        assert_true(get(t, x, 5) == 0x1p100);
                    }
            trine_direct_destroy(&plan);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** A matrix that is singular but for rounding: its solution has no place in single precision. */
static void matrices_singular_to_working_precision_are_named(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A =
        typed(MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1 + 0x1p-23}, {2, 1, 1}, {2, 2, 1}), TRINE_S);
    trine_direct plan = plan_of(ctx, A, TRINE_DIRECT_LU_KLU, 0);
    const float large[3] = {1e35f, -1e35f, 0}, one[3] = {1, 2, 3};
    float x[3];
    FAILS(TRINE_ERR_NO_CONVERGENCE, "or A is singular to working precision",
          solve_packed(plan, TRINE_S, TRINE_N, 3, 1, TRINE_COLMAJOR, false, large, x));
    OK(solve_packed(plan, TRINE_S, TRINE_N, 3, 1, TRINE_COLMAJOR, false, one, x));
    assert_true(backward_error(A, TRINE_N, 1, x, one) < 10);
    trine_direct_destroy(&plan);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** NaN and Inf in a column of B are in that column of X, and in no other. */
static void what_is_not_finite_in_b_flows_through(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(k, all_dtypes) {
            const trine_dtype t = all_dtypes[k];
            trine_matrix A = random_matrix(ctx, t, N, 4, is_hermitian(methods[m]), 11 + k);
            trine_direct plan = plan_of(ctx, A, methods[m], (int)k % 2);
            for EACH(l, layouts)
                for (int in_place = 0; in_place < 2; in_place++) {
                    char b[N * NRHS * 16], x[N * NRHS * 16];
                    for (int64_t i = 0; i < N * NRHS; i++) put(t, b, i, 1);
                    put(t, b, N + 4, in_place ? NAN : INFINITY);
                    put(t, b, 2 * N, largest_of(t) / 64);
                    OK(solve_packed(plan, t, TRINE_N, N, NRHS, layouts[l], in_place, b, x));
                    int finite[NRHS] = {0};
                    for (int64_t i = 0; i < N * NRHS; i++) finite[i / N] += isfinite(creall(get(t, x, i)));
                    assert_true(finite[0] == N && finite[1] < N && finite[2] == N);
                }
            trine_direct_destroy(&plan);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** In place a large B is copied first, for which there may be no memory. */
static void the_copy_of_a_large_b_may_find_no_memory(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    test_memory memory = {0};
    test_fail_allocations(ctx, &memory);
    trine_matrix A = MATRIX(ctx, 2, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3});
    trine_direct plan = plan_of(ctx, A, TRINE_DIRECT_LU, 0);
    double x[2] = {1e305, 1e300};
    const trine_dense X = {x, 2, 1, 2, TRINE_COLMAJOR};
    memory.fail_at = memory.calls + 1;
    FAILS(TRINE_ERR_MEMORY, NULL, trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
    assert_true(x[0] == 1e305 && x[1] == 1e300);
    memory.fail_at = 0;
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
    const int64_t calls = memory.calls;
    x[0] = x[1] = 1;
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
    assert_int_equal(memory.calls, calls); /* others need none */
    trine_direct_destroy(&plan);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_hand_sides_of_any_size_are_solved_for),
        cmocka_unit_test(overflows_on_the_way_do_no_harm),
        cmocka_unit_test(denormal_right_hand_sides_keep_their_digits),
        cmocka_unit_test(solutions_beyond_the_range_are_refused),
        cmocka_unit_test(matrices_singular_to_working_precision_are_named),
        cmocka_unit_test(what_is_not_finite_in_b_flows_through),
        cmocka_unit_test(the_copy_of_a_large_b_may_find_no_memory),
    };
    return TEST_MAIN(tests);
}
