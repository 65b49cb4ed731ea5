/* Triangular solves: every method x triangle x op x diagonal x precision x layout against the definition, in long double. */
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
static const int64_t counts[] = {1, 3, 7, 20, 33, 64};
static const int64_t paddings[] = {3, 0, 2, 2}, skips[] = {0, 0, 0, 1}; /* what vector loads can take, and what not */
enum { N_COUNTS = sizeof counts / sizeof *counts, SHAPES = 4 };

/** All matrices, ops and numbers of right-hand sides; of the four shapes of X and B one each, in turn, so that every pair of
 *  choices comes up. With TRINE_TEST_FULL in the environment, all four. */
static void product_of_everything(trine_triangular_method method, const int64_t *sizes, int n_sizes)
{
    const int step = getenv("TRINE_TEST_FULL") ? 1 : SHAPES;
    for (int is = 0; is < n_sizes; is++)
        for (int id = 0; id < 4; id++)
            for (int mask = 0; mask < 8; mask++) {
                const bool lower = mask & 1, unit = mask & 2, csc = mask & 4;
                if (!test_is_to_do()) continue;
                struct fixture f = open_problem(make_problem(sizes[is], sparse_random, lower, csc, true, unit, (uint64_t)(10 * is + mask + 1)),
                                                dtypes[id], test_on_gpu() && mask % 3 == 1);
                set_plan(&f, (trine_triangular_options){.uplo = lower ? TRINE_LOWER : TRINE_UPPER, .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                                                        .ops = TRINE_N | TRINE_T | TRINE_H, .method = method, .max_nrhs = 64});
                OK(trine_triangular_check(f.plan, NULL));
                for (int io = 0; io < 3; io++)
                    for (int c = 0; c < N_COUNTS; c++)
                        for (int first = (is + id + mask + io + c) % step, shape = first; shape < SHAPES; shape += step)
                            solve_and_check_padded(&f, ops[io], counts[c], shape & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, shape & 2,
                                                   shape & 1 ? -0.5 + 0.25 * _Complex_I : 2, shape == 2,
                                                   paddings[(mask + io + c / 2) % 4], skips[(mask + io + c / 2) % 4]);
                close_fixture(&f);
            }
}

static const int64_t small_sizes[] = {0, 1, 2, 31, 32, 33}, big_sizes[] = {1000};

static void auto_solves_every_combination(void **state) { (void)state; product_of_everything(TRINE_TRI_AUTO, small_sizes, 6); }
static void auto_solves_every_combination_with_a_thousand_rows(void **state) { (void)state; product_of_everything(TRINE_TRI_AUTO, big_sizes, 1); }
static void the_serial_method_solves_every_combination(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SERIAL, small_sizes, 6);
}
static void level_sets_solve_every_combination(void **state)
{
    (void)state;
    product_of_everything(TRINE_TRI_LEVELSET, small_sizes, 6);
    product_of_everything(TRINE_TRI_LEVELSET, big_sizes, 1);
}
static void the_method_by_rows_solves_every_combination(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SYNCFREE_CSR, small_sizes, 6);
    product_of_everything(TRINE_TRI_SYNCFREE_CSR, big_sizes, 1);
}
static void the_method_by_columns_solves_every_combination(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SYNCFREE_CSC, small_sizes, 6);
    product_of_everything(TRINE_TRI_SYNCFREE_CSC, big_sizes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_solves_every_combination),
        cmocka_unit_test(auto_solves_every_combination_with_a_thousand_rows),
        cmocka_unit_test(the_serial_method_solves_every_combination),
        cmocka_unit_test(level_sets_solve_every_combination),
        cmocka_unit_test(the_method_by_rows_solves_every_combination),
        cmocka_unit_test(the_method_by_columns_solves_every_combination),
    };
    return TEST_MAIN(tests);
}
