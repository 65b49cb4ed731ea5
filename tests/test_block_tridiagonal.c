/* Block tridiagonal solves against LAPACK on the same data, and residuals in long double. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banded_support.h"
#include "thesis_matrices.h"

static const double EPS = 0x1p-52;

static void check_random_blocks(trine_dtype t, int64_t rows, int m, int64_t nrhs, trine_gtsv_options options,
                                bool factor_first, double dominance)
{
    linear_system s = new_blocks(t, rows, m, nrhs, options);
    s.factor_first = factor_first;
    check_random(s, dominance, 50);
}

static void systems_of_every_block_size_and_precision_are_backward_stable(void **state)
{
    (void)state;
    static const int64_t few[] = {1, 2, 3, 7, 9, 17, 40, 333};
    for (int d = 0; d < 4; d++)
        for (int m = 1; m <= 8; m++)
            for (int k = 0; k < 8; k++)
                for (int pivot = 0; pivot < 6; pivot++) {
                    const trine_gtsv_options options = {.op = (trine_transpose)(1 << (d + m + k + pivot) % 3),
                                                        .pivot = (trine_pivot)pivot,
                                                        .refine = k % 2 && pivot != TRINE_PIVOT_NONE,
                                                        .partition = 8 * ((m + pivot) % 3)};
                    check_random_blocks(all_dtypes[d], few[k], m, 2, options, !options.refine, 3 * m + 1);
                }
}

static void cyclic_systems_of_every_size_are_solved(void **state)
{
    (void)state;
    for (int m = 1; m <= 8; m++)
        for (int64_t rows = 1; rows <= 200; rows += rows < 40 ? 1 : 23) {
            const trine_gtsv_options options = {.cyclic = 1,
                                                .op = (trine_transpose)(1 << (m + rows) % 3),
                                                .pivot = (trine_pivot)(rows % 6),
                                                .partition = 8 * ((m + rows) % 3)};
            check_random_blocks(all_dtypes[(rows + m) % 4], rows, m, 1, options, rows % 2 == 1, 3 * m + 1);
        }
}

static void sizes_around_every_stage_boundary_are_solved(void **state)
{
    (void)state;
    for (int m = 1; m <= 4; m++)
        for (int64_t edge = 8; edge <= 8 * 64; edge *= 8)
            for (int64_t rows = edge - 1; rows <= edge + 2; rows++)
                for (int cyclic = 0; cyclic <= 1; cyclic++)
                    check_random_blocks(TRINE_D, rows, m, 1, (trine_gtsv_options){.cyclic = cyclic, .partition = 8},
                                        cyclic, 3 * m);
}

/** A GPU has other kernels for these. */
enum { MANY_PARTITIONS = 4096 };

static void many_partitions_of_narrow_blocks_are_solved(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int partition = 8; partition <= 24; partition += 16)
            for (int k = 0; k < 6; k++) {
                const trine_gtsv_options options = {.cyclic = k % 2,
                                                    .partition = partition,
                                                    .refine = k > 2,
                                                    .pivot = k == 4 ? TRINE_PIVOT_PARTIAL : TRINE_PIVOT_DEFAULT};
                check_random_blocks(all_dtypes[d], (MANY_PARTITIONS + k) * partition - k % 4, 2, 1, options, k == 2, 7);
            }
}

static void any_number_of_right_hand_sides_is_solved(void **state)
{
    (void)state;
    for (int64_t nrhs = 0; nrhs <= 33; nrhs++) {
        check_random_blocks(all_dtypes[nrhs % 4], 300 + nrhs, 1 + (int)nrhs % 5, nrhs,
                            (trine_gtsv_options){.refine = 1}, false, 9);
        check_random_blocks(all_dtypes[(nrhs + 1) % 4], 300 + nrhs, 1 + (int)nrhs % 5, nrhs, (trine_gtsv_options){0},
                            true, 15);
    }
    for (int factor_first = 0; factor_first < 2; factor_first++) /* more than a grid has blocks */
        check_random_blocks(TRINE_S, 9, 2, 65533, (trine_gtsv_options){.refine = !factor_first}, factor_first, 9);
}

static void the_solution_may_replace_the_right_hand_side_and_inputs_stay(void **state)
{
    (void)state;
    for (int mode = 0; mode <= 2; mode++) {
        linear_system s = new_blocks(TRINE_D, 500, 3, 4, (trine_gtsv_options){.refine = mode == 1});
        s.factor_first = mode == 2;
        fill_system(&s, 5, 3);
        check_in_place_and_inputs(&s);
        free_system(&s);
    }
    linear_system many = new_blocks(TRINE_S, 8 * MANY_PARTITIONS, 2, 1, (trine_gtsv_options){.partition = 8});
    fill_system(&many, 5, 3);
    check_in_place_and_inputs(&many);
    free_system(&many);
}

static void corners_are_ignored_unless_cyclic(void **state)
{
    (void)state;
    /* the tests above poison them: here they are inputs that matter */
    for (int64_t rows = 1; rows <= 100; rows = rows * 2 + 1)
        for (int cyclic = 0; cyclic <= 1; cyclic++) {
            linear_system s = new_blocks(TRINE_D, rows, 2, 1, (trine_gtsv_options){.cyclic = cyclic});
            fill_system(&s, 11, 5);
            OK(solve_system(&s));
            assert_true(backward_error(&s, s.D) <= 50 * EPS);
            s.options.cyclic = !cyclic;
            assert_true(backward_error(&s, s.D) > 1e-6);
            free_system(&s);
        }
}

/* ------------------------------------------------------------- as LAPACK does */

/** The 2x2 block version of a tridiagonal matrix of order `rows` (Klein 2024, Equations 16 to 18): A[i] (x) I
 *  between rotations. */
static void make_blocks(linear_system *s, double *const bands[3], uint64_t seed)
{
    for (int64_t j = 0; j < s->rows; j++) {
        const double left = M_PI * test_uniform(7000000 + seed, (uint64_t)j);
        for (int side = -1; side <= 1; side++) {
            const int64_t to = j + side;
            if (to < 0 || to >= s->rows) continue;
            const double right = M_PI * test_uniform(8000000 + seed, (uint64_t)to), sum = left + right,
                         value = bands[side + 1][j];
            const double block[2][2] = {{value * cos(sum), -value * sin(sum)}, {value * sin(sum), value * cos(sum)}};
            for (int i = 0; i < 2; i++)
                for (int q = 0; q < 2; q++) ((double *)s->matrix)[element_of_block(s, j, side, i, q)] = block[i][q];
        }
    }
}

static void the_block_versions_of_table_4_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    for (int id = 1; id <= 20; id++)
        for (int k = 0; k < 4; k++) {
            if (!test_is_to_do()) continue;
            double x[1024];
            char name[64];
            error_samples e = {.count = 0};
            /* condition above 1e15: judged by the backward error */
            const bool hopeless = id == 12 || id == 13 || id == 15;
            const trine_gtsv_options options = {.pivot = k % 2 ? TRINE_PIVOT_PARTIAL : TRINE_PIVOT_DEFAULT,
                                                .partition = k / 2 * 16};
            for (uint64_t seed = 1; seed <= (uint64_t)test_samples(SEEDS); seed++) {
                linear_system s = new_blocks(TRINE_D, 512, 2, 1, options), scalar;
                double storage[3][512], *bands[3] = {storage[0], storage[1], storage[2]};
                if (!make_table4(id, seed, 512, bands)) { /* recorded, one sample */
                    double *unused;
                    snprintf(name, sizeof name, "T4_%02d", id);
                    if (seed > 1 || !read_sample(name, &scalar, &unused)) {
                        free_system(&s);
                        continue;
                    }
                    memcpy(storage, scalar.matrix, sizeof storage);
                    free(unused);
                    free_system(&scalar);
                }
                make_blocks(&s, bands, seed);
                make_solution(seed, 1024, x);
                multiply_system(&s, x);
                s.factor_first = !hopeless && seed % 2;
                compare_with_lapack(&s, x, &e);
                free_system(&s);
            }
            snprintf(name, sizeof name, "matrix %d, options %d", id, k);
            if (e.count) check_errors(name, &e, hopeless);
        }
}

/* ------------------------------------------------------------------- oddities */

static void zero_and_singular_blocks_are_exchanged_away(void **state)
{
    (void)state;
    for (int m = 1; m <= 8; m++)
        for (int64_t rows = 4; rows <= (m == 2 ? 16 * MANY_PARTITIONS : 256);
             rows *= 4) { /* even: a zero diagonal of odd order is singular */
            linear_system s =
                new_blocks(TRINE_D, rows, m, 1, (trine_gtsv_options){.refine = 1, .partition = rows > 256 ? 8 : 0});
            fill_system(&s, 8, 0);
            for (int64_t j = 0; j < rows; j++)
                for (int i = 0; i < m; i++) {
                    for (int q = 0; q < m; q++)
                        ((double *)s.matrix)[element_of_block(&s, j, 0, i, q)] = j % 2 || i != q ? 0 : 1e-300;
                    /* row j is good for column j +- 1 */
                    ((double *)s.matrix)[element_of_block(&s, j, j % 2 ? -1 : 1, i, i)] += 2 * m;
                }
            check_exchanges(s);
        }
}

static void epsilon_takes_noise_for_zero(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int64_t rows = 1; rows <= 5000; rows = rows * 5 + rows % 4)
            for (int m = 1; m <= 8; m++) {
                linear_system s =
                    new_blocks(all_dtypes[d], rows, m, 2,
                               (trine_gtsv_options){.pivot = m % 2 ? TRINE_PIVOT_PARTIAL : TRINE_PIVOT_DEFAULT});
                s.factor_first = (d + m) % 3 == 0;
                check_epsilon(s);
            }
}

static void scaling_rows_by_powers_of_two_does_not_change_a_bit(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int cyclic = 0; cyclic < 2; cyclic++)
            for (int m = 1; m <= 8; m++)
                check_scaled_rows(new_blocks(all_dtypes[d], 300 + m, m, 1, (trine_gtsv_options){.cyclic = cyclic}));
}

static void singular_systems_return(void **state)
{
    (void)state;
    for (int factor_first = 0; factor_first < 2; factor_first++) {
        linear_system s = new_blocks(TRINE_D, 500, 2, 1, (trine_gtsv_options){0});
        s.factor_first = factor_first;
        check_singular(s);
    }
}

static void nan_flows_through(void **state)
{
    (void)state;
    check_nan(new_blocks(TRINE_D, 500, 2, 2, (trine_gtsv_options){0}));
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    check_threads(new_blocks(TRINE_C, 5001, 3, 3, (trine_gtsv_options){0}));
}

static void workspace_on_a_gpu_is_what_the_solve_keeps(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    for (int n = 2; n <= 8; n++)
        for (int rows = 100000; rows <= 1000000; rows *= 10) { /* elements for each n of an unknown; blocks of 5 to 7
                                                                  rows count as 8 */
            const double width = n > 4 ? 8 : n, unit = 8 * (double)rows * width * width;
            size_t one, two, factor;
            OK(trine_bgtsv_work_size(test_shared(1), TRINE_D, rows, n, 1, NULL, &one));
            OK(trine_bgtsv_work_size(test_shared(1), TRINE_D, rows, n, 2, NULL, &two));
            OK(trine_bgtf_size(test_shared(1), TRINE_D, rows, n, NULL, &factor));
            const bool large = n == 2 && rows > 1 << 18;
            assert_true((double)one <= (large ? 5.8 : 6.55) * unit);
            assert_true((double)two <= (large ? 6.15 : 7.3) * unit);
            /* powers of two, 2 bytes a row */
            assert_true((double)factor <= (large ? 9.7 : 10.75) * unit + 2 * (double)rows * width);
        }
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    double v[64] = {0}, x[64];
    char work[8192], factor[8192];
    size_t bytes;
    const trine_gtsv_options refine = {.refine = 1};
    FAILS(TRINE_ERR_ARGUMENT, "bytes is NULL", trine_bgtsv_work_size(test_cpu(1), TRINE_D, 4, 2, 1, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "bytes is NULL", trine_bgtf_size(test_cpu(1), TRINE_D, 4, 2, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "bytes is NULL", trine_bgtfs_work_size(test_cpu(1), TRINE_D, 4, 2, 1, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "n is 0", trine_bgtsv_work_size(test_cpu(1), TRINE_D, 4, 0, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "n is 9", trine_bgtsv_work_size(test_cpu(1), TRINE_D, 4, 9, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "n is -1", trine_bgtsv_work_size(test_cpu(1), TRINE_D, -1, 2, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "a is NULL",
          trine_bgtsv(test_cpu(1), TRINE_D, 4, 2, 1, NULL, NULL, v, v, v, 8, x, 8, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "b is NULL",
          trine_bgtf(test_cpu(1), TRINE_D, 4, 2, NULL, v, NULL, v, factor, sizeof factor, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "c is NULL",
          trine_bgtf(test_cpu(1), TRINE_D, 4, 2, NULL, v, v, NULL, factor, sizeof factor, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "factor is NULL",
          trine_bgtf(test_cpu(1), TRINE_D, 4, 2, NULL, v, v, v, NULL, sizeof factor, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "factorization has 3 bytes",
          trine_bgtf(test_cpu(1), TRINE_D, 4, 2, NULL, v, v, v, factor, 3, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "factorization has 3 bytes",
          trine_bgtfs(test_cpu(1), TRINE_D, 4, 2, 1, NULL, factor, 3, v, 8, x, 8, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "refine",
          trine_bgtf(test_cpu(1), TRINE_D, 4, 2, &refine, v, v, v, factor, sizeof factor, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "refine",
          trine_bgtfs(test_cpu(1), TRINE_D, 4, 2, 1, &refine, factor, sizeof factor, v, 8, x, 8, work, sizeof work,
                      NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ldx is 7",
          trine_bgtsv(test_cpu(1), TRINE_D, 4, 2, 1, NULL, v, v, v, v, 8, x, 7, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "bytes; ",
          trine_bgtsv(test_cpu(1), TRINE_D, 4, 2, 1, NULL, v, v, v, v, 8, x, 8, work, 3, NULL));
    OK(trine_bgtsv(test_cpu(1), TRINE_D, 0, 2, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL));
    OK(trine_bgtf(test_cpu(1), TRINE_D, 0, 2, NULL, NULL, NULL, NULL, NULL, 0, NULL));
    OK(trine_bgtfs(test_cpu(1), TRINE_D, 0, 2, 1, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_of_every_block_size_and_precision_are_backward_stable),
        cmocka_unit_test(cyclic_systems_of_every_size_are_solved),
        cmocka_unit_test(sizes_around_every_stage_boundary_are_solved),
        cmocka_unit_test(many_partitions_of_narrow_blocks_are_solved),
        cmocka_unit_test(any_number_of_right_hand_sides_is_solved),
        cmocka_unit_test(the_solution_may_replace_the_right_hand_side_and_inputs_stay),
        cmocka_unit_test(corners_are_ignored_unless_cyclic),
        cmocka_unit_test(the_block_versions_of_table_4_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(zero_and_singular_blocks_are_exchanged_away),
        cmocka_unit_test(epsilon_takes_noise_for_zero),
        cmocka_unit_test(scaling_rows_by_powers_of_two_does_not_change_a_bit),
        cmocka_unit_test(singular_systems_return),
        cmocka_unit_test(nan_flows_through),
        cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(workspace_on_a_gpu_is_what_the_solve_keeps),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return TEST_MAIN(tests);
}
