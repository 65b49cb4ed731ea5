/* Triangular solves of extreme structures, and with every tuning of a method. */
#include "core/test_places.h"
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void extreme_structures_are_solved(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t n, per_row, levels;
        int64_t (*from)(int64_t, int64_t, int64_t);
    } cases[] = {{"chain", 1000000, 1, 1000000, chain},
                 {"diagonal", 100000, 0, 1, diagonal},
                 {"dense last row", 100000, 1, 2, dense_last_row},
                 {"dense first column", 100000, 1, 2, dense_first_column},
                 {"arrow", 100000, 2, 3, arrow},
                 {"grid", 90000, 2, 599, grid},
                 {"hubs", 90000, 3, 3623, hubs},
                 {"layers", 100000, 3, 50, layers}};
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = test_on_gpu() ? methods_here(methods) : (methods[0] = TRINE_TRI_AUTO, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int m = 0; m < n_methods; m++) {
            if (!test_is_to_do()) continue;
            struct fixture f = open_problem(make_rows(cases[c].n, cases[c].per_row, cases[c].from), TRINE_D, false);
            trine_triangular_info info;
            int64_t levels, *level_offsets = malloc((size_t)(f.P.n + 1) * sizeof *level_offsets);
            print_message("%s, %s\n", cases[c].name, trine_triangular_method_name(methods[m]));
            OK(trine_level_sets(f.ctx, f.A, TRINE_LOWER, &levels, level_offsets, NULL, NULL));
            assert_int_equal(levels, cases[c].levels);
            assert_int_equal(level_offsets[levels], f.P.n);
            free(level_offsets);
            set_plan(&f, (trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_T, .max_nrhs = 2});
            OK(trine_triangular_get_info(f.plan, &info));
            assert_int_equal(info.uplo, TRINE_LOWER);
            assert_int_equal(info.nnz, f.P.nnz);
            assert_true(info.levels == levels || info.levels == -1);
            for (int64_t nrhs = 1; nrhs <= 2; nrhs++) {
                solve_and_check(&f, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                solve_and_check(&f, TRINE_T, nrhs, TRINE_ROWMAJOR, true, 1, true);
            }
            close_fixture(&f);
        }
}

/** All precisions, triangles, diagonals, methods and ops: rows of the given pattern and a solve with one right-hand
 *  side; unless max_nrhs is 1, one with max_nrhs as well. */
static void check_that_a_pattern_is_solved(int64_t n, pattern_fn pattern, int64_t max_nrhs)
{
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int mask = 0; mask < 4; mask++) {
            const bool lower = mask & 1, unit = mask & 2;
            if (!test_is_to_do()) continue;
            struct fixture f = open_problem(make_problem(n, pattern, lower, t % 2, true, unit, 8), t, false);
            for (int m = 0; m < n_methods; m++) {
                set_plan(&f, (trine_triangular_options){.uplo = lower ? TRINE_LOWER : TRINE_UPPER,
                                                        .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                                                        .ops = TRINE_N | TRINE_T | TRINE_H,
                                                        .method = methods[m],
                                                        .max_nrhs = max_nrhs});
                for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op)) {
                    solve_and_check(&f, op, 1, TRINE_COLMAJOR, m % 2, 2, false);
                    if (max_nrhs > 1) solve_and_check(&f, op, max_nrhs, TRINE_ROWMAJOR, m % 2, 1, true);
                }
            }
            close_fixture(&f);
        }
}

/** In every precision, out of place and in place, several times with one work object, which both sides use by turns
 *  and twice in a row. */
static void structures_without_waits_are_solved(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t n, per_row;
        int64_t (*from)(int64_t, int64_t, int64_t);
    } cases[] = {{"dense groups", 6000, 29, dense_groups},
                 {"uneven groups", 7201, 29, uneven_groups},
                 {"single rows", 5003, 4, single_rows},
                 {"a chain of 33", 4000, 1, too_long_groups},
                 {"two levels", 20001, 4, two_levels},
                 {"three levels", 20001, 4, three_levels},
                 {"dense corner", 30000, 40, dense_corner},
                 {"broad levels", 80100, 6, broad_levels},
                 {"few levels one way", 1000, 2, few_levels_one_way}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
            for (int csc = 0; csc < 2; csc++) {
                if (!test_is_to_do() || !test_is_small(cases[c].n)) continue;
                struct problem P = make_rows(cases[c].n, cases[c].per_row, cases[c].from);
                P.csc = csc;
                struct fixture f = open_problem(P, t, false);
                set_plan(&f, (trine_triangular_options){.uplo = csc ? TRINE_UPPER : TRINE_LOWER,
                                                        .diag = c % 2 ? TRINE_UNIT : TRINE_NONUNIT,
                                                        .ops = TRINE_N | TRINE_H});
                static const trine_transpose ops[] = {TRINE_N, TRINE_H, TRINE_N, TRINE_H,
                                                      TRINE_H, TRINE_N, TRINE_N, TRINE_H};
                for (int k = 0; k < 8; k++) /* what another solve has left behind is no value of this one */
                    solve_and_check(&f, ops[k], 1, k % 2 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, k % 3 == 2, 3 - k, false);
                close_fixture(&f);
            }
}

/** Groups of 7 rows with the same columns elsewhere, and dense among themselves: as in factors, or with several
 *  unknowns a node. */
static bool in_groups(int64_t i, int64_t j, int64_t n)
{
    const int64_t group = i / 7;
    return group == j / 7 || test_uniform(98, (uint64_t)(group * n + j)) < (n < 70 ? 0.2 : 10.0 / (double)n);
}

static void groups_of_rows_with_the_same_columns_are_solved(void **state)
{
    (void)state;
    check_that_a_pattern_is_solved(40, in_groups, 9);
    check_that_a_pattern_is_solved(500, in_groups, 9);
}

static const int64_t few_right_hand_sides[] = {1, 5, 8};

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

static void narrow_bands_are_solved(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) check_that_a_pattern_is_solved(700, close_to_the_diagonal, few_right_hand_sides[c]);
}

static void chains_of_rows_are_solved(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) check_that_a_pattern_is_solved(700, in_chains, few_right_hand_sides[c]);
}

/** A quotient of an entry and the pivot of its row or of its column is no number of the precision, although the
 *  solutions are. */
static void entries_far_smaller_or_larger_than_their_pivots_keep_their_digits(void **state)
{
    (void)state;
    static const double chains[][4] = { /* first pivot, entry, second pivot, alpha */
                                       {1e-300, 1e-200, 1e200, 1},
                                       {1e100, 1e200, 1e-200, 1e-100},
                                       {1e-200, 1e200, 1e100, 1e-100},
                                       {1e-100, 1e-120, 1e200, 1},
                                       {1e-3, 1e-150, 1e160, 1}};
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct problem P = make_rows(60, 1, chain);
        for (int64_t i = 0; i < P.n; i++) {
            P.values[P.offsets[i + 1] - 1] *= chains[c][i % 2 ? 2 : 0];
            if (i) P.values[P.offsets[i]] *= i % 2 ? chains[c][1] : 0;
        }
        struct fixture f = open_problem(P, TRINE_D, false);
        for (int m = 0; m < n_methods; m++) {
            set_plan(&f, (trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_T});
            solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, chains[c][3], false);
            solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, true, chains[c][3], false);
        }
        close_fixture(&f);
    }
}

static void every_tuning_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    struct fixture f = open_problem(make_problem(1000, sparse_random, true, false, false, false, 5), TRINE_D, false);
    for (int lanes = 1; lanes <= 32; lanes *= 2)
        for (int warps = 1; warps <= 16; warps += 15)
            for (int blocks = 1; blocks <= 500; blocks += 499)
                for (int order = 1; order <= 2; order++) {
                    if (!test_is_to_do()) continue;
                    set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_SYNCFREE_CSR,
                                                            .max_nrhs = 40,
                                                            .tune = {lanes, warps, blocks, order}});
                    for (int64_t nrhs = 1; nrhs <= 40; nrhs += 39)
                        solve_and_check(&f, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                }
    close_fixture(&f);
}

static void long_rows_of_several_right_hand_sides_are_solved(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    static const int64_t counts[] = {2, 4, 8, 16, 32, 64, 97};
    for (int id = 0; id < 4; id++) {
        /* rows of 2000 entries that depend on each other */
        struct fixture f = open_problem(make_rows(9000, 3, hubs), dtypes[id], false);
        set_plan(&f, (trine_triangular_options){.ops = TRINE_N | TRINE_T, .max_nrhs = 97});
        size_t bytes, one_x = (size_t)f.P.n * 97 * trine_dtype_size(dtypes[id]);
        OK(trine_triangular_work(f.plan, 97, NULL, &bytes, NULL));
        assert_true(bytes <= one_x + 4096); /* besides B and X, one more X and some counters */
        for (int c = 0; c < 7; c++)
            for (int shape = (id + c) % 2; shape < 4; shape += test_on_gpu() ? 1 : 2)
                if (test_is_to_do())
                    solve_and_check_padded(&f, c % 3 ? TRINE_N : TRINE_T, counts[c],
                                           shape & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, shape & 2, 1, true,
                                           c % 2 ? 0 : 2, 0);
        close_fixture(&f);
    }
}

static void every_tuning_of_the_method_by_columns_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    static const int warps[] = {0, 1, 3, 32};
    static const struct { int64_t p, q; } limits[] = {{0, 0}, {1, 1}, {64, 4}, {2, 6}};
    static const int64_t counts[] = {1, 5, 40};
    for (int complex_too = 0; complex_too < 2; complex_too++) {
        struct fixture f = open_problem(make_problem(1000, sparse_random, true, complex_too, false, false, 5),
                                        complex_too ? TRINE_Z : TRINE_D, false);
        for (int w = 0; w < 4; w++)
            for (int scratchpad = 0; scratchpad <= 2; scratchpad++)
                for (int variant = 0; variant <= 2; variant++)
                    for (int limit = 0; limit < (variant == TRINE_CSC_ADAPTIVE ? 4 : 1); limit++) {
                        if (!test_is_to_do()) continue;
                        set_plan(&f,
                                 (trine_triangular_options){.method = TRINE_TRI_SYNCFREE_CSC,
                                                            .ops = TRINE_N | TRINE_H,
                                                            .max_nrhs = 40,
                                                            .csc = {warps[w], scratchpad, (trine_csc_variant)variant,
                                                                    limits[limit].p, limits[limit].q}});
                        for (int c = 0; c < 3; c++) {
                            solve_and_check(&f, TRINE_N, counts[c], TRINE_COLMAJOR, false, 1, true);
                            solve_and_check(&f, TRINE_H, counts[c], TRINE_ROWMAJOR, true, 2, false);
                        }
                    }
        close_fixture(&f);
    }
}

static void every_width_of_level_sets_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    /* narrow levels, wide ones, narrow ones */
    struct fixture f = open_problem(make_rows(90000, 2, grid), TRINE_D, false);
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        if (!test_is_to_do()) continue;
        set_plan(&f,
                 (trine_triangular_options){.method = TRINE_TRI_LEVELSET, .max_nrhs = 70, .tune.lanes_per_row = lanes});
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        if (lanes == 1) solve_and_check(&f, TRINE_N, 70, TRINE_ROWMAJOR, true, 1, true);
    }
    close_fixture(&f);
}

static bool banded(int64_t i, int64_t j, int64_t n)
{
    (void)n;
    return llabs((long long)(i - j)) <= 12;
}

/** Indices ascending in every row of what make_problem has left unsorted. */
static void sort_rows(struct problem *P)
{
    for (int64_t i = 0; i < P->n; i++)
        for (int64_t k = P->offsets[i] + 1; k < P->offsets[i + 1]; k++)
            for (int64_t at = k; at > P->offsets[i] && P->indices[at - 1] > P->indices[at]; at--) {
                const int32_t index = P->indices[at];
                const value v = P->values[at];
                P->indices[at] = P->indices[at - 1], P->values[at] = P->values[at - 1];
                P->indices[at - 1] = index, P->values[at - 1] = v;
            }
}

/** Values are found by rows, sorted or not and beside the other triangle's, and by places of 32 and of 64 bits. */
static void values_are_found_wherever_they_stand(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_D, TRINE_S, TRINE_Z};
    if (test_on_gpu()) skip();
    for (int variant = 0; variant < 32; variant++) {
        const bool lower = variant & 1, csc = variant & 2, poison = variant & 4, sorted = variant & 16;
        trine_triangular_narrow(variant & 8 ? 1 : 0);
        for (int k = 0; k < 3; k++)
            for (int order = 1; order <= 3; order++) {
                /* the largest has enough values for several threads to take */
                const int64_t n = order == 1 && k == 0 ? 3000 : 200;
                struct problem P = make_problem(n, banded, lower, csc, poison, false, 7);
                if (sorted) sort_rows(&P);
                struct fixture f = open_problem(P, dtypes[k], false);
                f.lower = lower;
                set_plan(&f, (trine_triangular_options){.uplo = lower ? TRINE_LOWER : TRINE_UPPER,
                                                        .ops = TRINE_N | TRINE_T,
                                                        .method = order == 3 ? TRINE_TRI_PARTITIONED_INVERSE
                                                                             : TRINE_TRI_LEVELSET,
                                                        .tune.row_order = order == 3 ? 0 : order});
                solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
                solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
                close_fixture(&f);
            }
    }
    trine_triangular_narrow(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found_wherever_they_stand),
        cmocka_unit_test(extreme_structures_are_solved),
        cmocka_unit_test(structures_without_waits_are_solved),
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
