/* Triangular solves: every method x triangle x op x diagonal x precision x layout against the definition, in long
 * double. */
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
static const int64_t counts[] = {1, 3, 7, 20, 33, 64};
static const int64_t paddings[] = {3, 0, 2, 2}, skips[] = {0, 0, 0, 1}; /* what vector loads can take, and what not */
enum { N_COUNTS = sizeof counts / sizeof *counts, SHAPES = 4 };

/** All matrices, ops and numbers of right-hand sides; of the four shapes of X and B one each, in turn, so that every
 *  pair of choices comes up. With TRINE_TEST_FULL in the environment, all four. */
static void product_of_everything(trine_triangular_method method, const int64_t *sizes, int n_sizes)
{
    const int step = getenv("TRINE_TEST_FULL") ? 1 : SHAPES;
    for (int is = 0; is < n_sizes; is++)
        for (int id = 0; id < 4; id++)
            for (int mask = 0; mask < 8; mask++) {
                const bool lower = mask & 1, unit = mask & 2, csc = mask & 4;
                if (!test_is_to_do()) continue;
                struct fixture f = open_problem(
                    make_problem(sizes[is], sparse_random, lower, csc, true, unit, (uint64_t)(10 * is + mask + 1)),
                    dtypes[id], test_on_gpu() && mask % 3 == 1);
                set_plan(&f, (trine_triangular_options){.uplo = lower ? TRINE_LOWER : TRINE_UPPER,
                                                        .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                                                        .ops = TRINE_N | TRINE_T | TRINE_H,
                                                        .method = method,
                                                        .max_nrhs = 64});
                OK(trine_triangular_check(f.plan, NULL));
                for (int io = 0; io < 3; io++)
                    for (int c = 0; c < N_COUNTS; c++)
                        for (int first = (is + id + mask + io + c) % step, shape = first; shape < SHAPES; shape += step)
                            solve_and_check_padded(&f, ops[io], counts[c], shape & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                                   shape & 2, shape & 1 ? -0.5 + 0.25 * _Complex_I : 2, shape == 2,
                                                   paddings[(mask + io + c / 2) % 4], skips[(mask + io + c / 2) % 4]);
                close_fixture(&f);
            }
}

static const int64_t small_sizes[] = {0, 1, 2, 31, 32, 33}, big_sizes[] = {1000};

static void auto_solves_every_combination(void **state)
{
    (void)state;
    product_of_everything(TRINE_TRI_AUTO, small_sizes, 6);
}
static void auto_solves_every_combination_with_a_thousand_rows(void **state)
{
    (void)state;
    product_of_everything(TRINE_TRI_AUTO, big_sizes, 1);
}
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
static void partitioned_inverses_solve_every_combination(void **state)
{
    (void)state;
    product_of_everything(TRINE_TRI_PARTITIONED_INVERSE, small_sizes, 6);
    product_of_everything(TRINE_TRI_PARTITIONED_INVERSE, big_sizes, 1);
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

/** Small integers, so that nothing is rounded: the solution of op(T) x = op(T) y is y. The other triangle holds NaN. */
static void the_reference_solves_by_definition(void **state)
{
    (void)state;
    const value y[3] = {1, 2 - _Complex_I, -3 + 2 * _Complex_I},
                v[9] = {2, NAN, NAN, 3 - _Complex_I, 4 * _Complex_I, NAN, 5, 2 * _Complex_I - 1, -1};
    int64_t offsets[] = {0, 3, 6, 9};
    int32_t indices[] = {2, 1, 0, 0, 2, 1, 1, 0, 2}; /* unsorted */
    for (int id = 0; id < 4; id++)
        for (int io = 0; io < 3; io++)
            for (int mask = 0; mask < 4; mask++) {
                const bool upper = mask & 1, unit = mask & 2, complex_type = id >= 2;
                const struct problem T = {.n = 3, .nnz = 9, .offsets = offsets, .indices = indices};
                value b[3] = {0}, stored[9], x[3];
                for (int64_t i = 0; i < 3; i++)
                    for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
                        const int64_t j = indices[k], row = ops[io] == TRINE_N ? i : j,
                                      column = ops[io] == TRINE_N ? j : i;
                        value a = upper ? v[3 * j + i] : v[3 * i + j];
                        if (!complex_type) a = creal(a) + cimag(a);
                        put(dtypes[id], stored, k, a);
                        if (upper ? j < i : j > i) continue;
                        if (i == j && unit) a = 1;
                        b[row] += (ops[io] == TRINE_H ? conj(a) : a) * (complex_type ? y[column] : creal(y[column]));
                    }
                for (int64_t i = 0; i < 3; i++) put(dtypes[id], x, i, b[i]);
                reference_solve(dtypes[id], upper ? TRINE_UPPER : TRINE_LOWER, ops[io],
                                unit ? TRINE_UNIT : TRINE_NONUNIT, &T, stored, x);
                for (int64_t i = 0; i < 3; i++)
                    assert_true(get(dtypes[id], x, i) == (complex_type ? y[i] : creal(y[i])));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_solves_by_definition),
        cmocka_unit_test(auto_solves_every_combination),
        cmocka_unit_test(auto_solves_every_combination_with_a_thousand_rows),
        cmocka_unit_test(the_serial_method_solves_every_combination),
        cmocka_unit_test(level_sets_solve_every_combination),
        cmocka_unit_test(partitioned_inverses_solve_every_combination),
        cmocka_unit_test(the_method_by_rows_solves_every_combination),
        cmocka_unit_test(the_method_by_columns_solves_every_combination),
    };
    return TEST_MAIN(tests);
}
