/* Triangular solves of extreme structures, and with every tuning of a method. */
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void extreme_structures_are_solved(void **state)
{
    (void)state;
    static const struct { const char *name; int64_t n, per_row, levels; int64_t (*from)(int64_t, int64_t, int64_t); } cases[] = {
        {"chain", 1000000, 1, 1000000, chain}, {"diagonal", 100000, 0, 1, diagonal}, {"dense last row", 100000, 1, 2, dense_last_row},
        {"dense first column", 100000, 1, 2, dense_first_column}, {"arrow", 100000, 2, 3, arrow}, {"grid", 90000, 2, 599, grid},
        {"hubs", 90000, 3, 3623, hubs}, {"layers", 100000, 3, 50, layers}};
    trine_triangular_method methods[4];
    const int n_methods = test_on_gpu() ? methods_here(methods) : (methods[0] = TRINE_TRI_AUTO, 1);
    trine_context ctx = test_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        print_message("%s\n", cases[c].name);
        struct problem P = make_rows(cases[c].n, cases[c].per_row, cases[c].from);
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
        trine_triangular plan;
        trine_triangular_info info;
        int64_t levels, *level_offsets = malloc((size_t)(P.n + 1) * sizeof *level_offsets);
        OK(trine_level_sets(ctx, A, TRINE_LOWER, &levels, level_offsets, NULL, NULL));
        assert_int_equal(levels, cases[c].levels);
        assert_int_equal(level_offsets[levels], P.n);
        for (int m = 0; m < n_methods; m++) {
            OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_T, .max_nrhs = 2}));
            OK(trine_triangular_get_info(plan, &info));
            assert_int_equal(info.uplo, TRINE_LOWER);
            assert_int_equal(info.nnz, P.nnz);
            assert_true(info.levels == levels || info.levels == -1);
            OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
            for (int64_t nrhs = 1; nrhs <= 2; nrhs++) {
                solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_T, nrhs, TRINE_ROWMAJOR, true, 1, true);
            }
            OK(trine_triangular_destroy(&plan));
        }
        OK(trine_matrix_destroy(&A));
        free(level_offsets);
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

/** Groups of 7 rows with the same columns elsewhere, and dense among themselves: as in factors, or with several unknowns a node. */
static bool in_groups(int64_t i, int64_t j, int64_t n)
{
    const int64_t group = i / 7;
    return group == j / 7 || test_uniform(98, (uint64_t)(group * n + j)) < (n < 70 ? 0.2 : 10.0 / (double)n);
}

static void groups_of_rows_with_the_same_columns_are_solved(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        for (int mask = 0; mask < 8; mask++) {
            const bool lower = mask & 1, unit = mask & 2, small = mask & 4;
            struct problem P = make_problem(small ? 40 : 500, in_groups, lower, false, true, unit, 7);
            struct arrays a;
            trine_matrix A = make_matrix(ctx, &P, t, false, &a);
            for (int m = 0; m < n_methods; m++) {
                trine_triangular plan;
                OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                    .uplo = lower ? TRINE_LOWER : TRINE_UPPER, .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                    .ops = TRINE_N | TRINE_T | TRINE_H, .method = methods[m], .max_nrhs = 9}));
                OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op)) {
                    solve_and_check(ctx, plan, &P, t, lower, unit, op, 1, TRINE_COLMAJOR, m % 2, 2, false);
                    solve_and_check(ctx, plan, &P, t, lower, unit, op, 9, TRINE_ROWMAJOR, m % 2, 1, true);
                }
                OK(trine_triangular_destroy(&plan));
            }
            OK(trine_matrix_destroy(&A));
            free_arrays(&a);
            problem_free(&P);
        }
    }
    OK(trine_context_destroy(&ctx));
}

/** Up to 8 entries a row, close to the diagonal: rows of every kind that short rows are told apart by. */
static bool close_to_the_diagonal(int64_t i, int64_t j, int64_t n)
{
    return llabs(i - j) <= 8 && test_uniform(97, (uint64_t)(i * n + j)) < (i / 50 % 2 ? 0.7 : 0.2);
}

/** Chains of up to 37 rows, each waiting for the one before it, and now and then for another. */
static bool in_chains(int64_t i, int64_t j, int64_t n)
{
    return llabs(i - j) == 1 ? (i > j ? i : j) % 37 != 0 : test_uniform(96, (uint64_t)(i * n + j)) < 0.3 / (double)n;
}

static void check_that_a_narrow_pattern_is_solved(pattern_fn pattern)
{
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        for (int mask = 0; mask < 4; mask++) {
            const bool lower = mask & 1, unit = mask & 2;
            struct problem P = make_problem(700, pattern, lower, t % 2, true, unit, 8);
            struct arrays a;
            trine_matrix A = make_matrix(ctx, &P, t, false, &a);
            for (int m = 0; m < n_methods; m++) {
                trine_triangular plan;
                OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                    .uplo = lower ? TRINE_LOWER : TRINE_UPPER, .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                    .ops = TRINE_N | TRINE_T | TRINE_H, .method = methods[m]}));
                OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op))
                    solve_and_check(ctx, plan, &P, t, lower, unit, op, 1, TRINE_COLMAJOR, m % 2, 2, false);
                OK(trine_triangular_destroy(&plan));
            }
            OK(trine_matrix_destroy(&A));
            free_arrays(&a);
            problem_free(&P);
        }
    }
    OK(trine_context_destroy(&ctx));
}

static void narrow_bands_are_solved(void **state)
{
    (void)state;
    check_that_a_narrow_pattern_is_solved(close_to_the_diagonal);
}

static void chains_of_rows_are_solved(void **state)
{
    (void)state;
    check_that_a_narrow_pattern_is_solved(in_chains);
}

/** A quotient of an entry and its pivot is no number of the precision, although the solution is. */
static void entries_far_smaller_or_larger_than_their_pivots_keep_their_digits(void **state)
{
    (void)state;
    static const double chains[][3] = { /* first pivot, entry, second pivot */
        {1e-300, 1e-200, 1e200}, {1e300, 1e200, 1e-200}, {1e-100, 1e-120, 1e200}, {1e-3, 1e-150, 1e160}};
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct problem P = make_rows(60, 1, chain);
        for (int64_t i = 0; i < P.n; i++) {
            const double scale = chains[c][i % 2 ? 2 : 0];
            P.values[P.offsets[i + 1] - 1] *= scale;
            if (i) P.values[P.offsets[i]] *= i % 2 ? chains[c][1] : 0;
        }
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
        for (int m = 0; m < n_methods; m++) {
            trine_triangular plan;
            OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_T}));
            OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
            solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
            if (chains[c][1] < chains[c][2]) /* the transposed solution overflows otherwise */
                solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_T, 1, TRINE_COLMAJOR, true, 1, true);
            OK(trine_triangular_destroy(&plan));
        }
        OK(trine_matrix_destroy(&A));
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

static void every_tuning_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    struct problem P = make_problem(1000, sparse_random, true, false, false, false, 5);
    struct arrays a;
    trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
    for (int lanes = 1; lanes <= 32; lanes *= 2)
        for (int warps = 1; warps <= 16; warps += 15)
            for (int blocks = 1; blocks <= 500; blocks += 499)
                for (int order = 1; order <= 2; order++) {
                    trine_triangular plan;
                    OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                        .method = TRINE_TRI_SYNCFREE_CSR, .max_nrhs = 40, .tune = {lanes, warps, blocks, order}}));
                    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                    for (int64_t nrhs = 1; nrhs <= 40; nrhs += 39)
                        solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                    OK(trine_triangular_destroy(&plan));
                }
    OK(trine_matrix_destroy(&A));
    free_arrays(&a);
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

static void long_rows_of_several_right_hand_sides_are_solved(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    static const int64_t counts[] = {2, 4, 8, 16, 32, 64, 97};
    trine_context ctx = test_context();
    struct problem P = make_rows(9000, 3, hubs); /* rows of 2000 entries that depend on each other */
    for (int id = 0; id < 4; id++) {
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, dtypes[id], false, &a);
        trine_triangular plan;
        OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.ops = TRINE_N | TRINE_T, .max_nrhs = 97}));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        for (int c = 0; c < 7; c++)
            for (int shape = (id + c) % 2; shape < 4; shape += test_on_gpu() ? 1 : 2)
                solve_and_check_padded(ctx, plan, &P, dtypes[id], true, false, c % 3 ? TRINE_N : TRINE_T, counts[c],
                                       shape & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, shape & 2, 1, true, c % 2 ? 0 : 2, 0);
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
        free_arrays(&a);
    }
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

static void every_tuning_of_the_method_by_columns_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    for (int complex_too = 0; complex_too < 2; complex_too++) {
        const trine_dtype t = complex_too ? TRINE_Z : TRINE_D;
        struct problem P = make_problem(1000, sparse_random, true, complex_too, false, false, 5);
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, t, false, &a);
        static const int warps[] = {0, 1, 3, 32};
        static const struct { int64_t p, q; } limits[] = {{0, 0}, {1, 1}, {64, 4}, {2, 6}};
        for (int w = 0; w < 4; w++)
            for (int scratchpad = 0; scratchpad <= 2; scratchpad++)
                for (int variant = 0; variant <= 2; variant++)
                    for (int limit = 0; limit < (variant == TRINE_CSC_ADAPTIVE ? 4 : 1); limit++) {
                        trine_triangular plan;
                        OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                            .method = TRINE_TRI_SYNCFREE_CSC, .ops = TRINE_N | TRINE_H, .max_nrhs = 40,
                            .csc = {warps[w], scratchpad, (trine_csc_variant)variant, limits[limit].p, limits[limit].q}}));
                        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                        static const int64_t counts[] = {1, 5, 40};
                        for (int c = 0; c < 3; c++) {
                            solve_and_check(ctx, plan, &P, t, true, false, TRINE_N, counts[c], TRINE_COLMAJOR, false, 1, true);
                            solve_and_check(ctx, plan, &P, t, true, false, TRINE_H, counts[c], TRINE_ROWMAJOR, true, 2, false);
                        }
                        OK(trine_triangular_destroy(&plan));
                    }
        OK(trine_matrix_destroy(&A));
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

static void every_width_of_level_sets_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    struct problem P = make_rows(90000, 2, grid); /* narrow levels, wide ones, narrow ones */
    struct arrays a;
    trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        trine_triangular plan;
        OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = TRINE_TRI_LEVELSET, .max_nrhs = 70, .tune.lanes_per_row = lanes}));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        if (lanes == 1) solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, 70, TRINE_ROWMAJOR, true, 1, true);
        OK(trine_triangular_destroy(&plan));
    }
    OK(trine_matrix_destroy(&A));
    free_arrays(&a);
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extreme_structures_are_solved),
        cmocka_unit_test(groups_of_rows_with_the_same_columns_are_solved),
        cmocka_unit_test(narrow_bands_are_solved),
        cmocka_unit_test(chains_of_rows_are_solved),
        cmocka_unit_test(entries_far_smaller_or_larger_than_their_pivots_keep_their_digits),
        cmocka_unit_test(every_tuning_gives_the_same_solution),
        cmocka_unit_test(long_rows_of_several_right_hand_sides_are_solved),
        cmocka_unit_test(every_tuning_of_the_method_by_columns_gives_the_same_solution),
        cmocka_unit_test(every_width_of_level_sets_gives_the_same_solution),
    };
    return TEST_MAIN(tests);
}
