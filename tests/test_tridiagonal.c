/* Tridiagonal solves against LAPACK on the same data, and residuals in long double. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banded_support.h"
#include "core/test_interface.h"
#include "thesis_matrices.h"

static double *band(const linear_system *s, int k) { return (double *)s->matrix + element_of_band(s, 0, k); }

/* ------------------------------------------------------------- as LAPACK does */

/** Condition numbers above 1e15: judged by the backward error. */
static bool is_hopeless(int id) { return id == 12 || id == 13 || id == 15; }

static void the_made_matrices_of_table_4_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    static const trine_pivot pivots[] = {TRINE_PIVOT_DEFAULT, TRINE_PIVOT_PARTIAL};
    for (int id = 1; id <= 20; id++)
        for (int k = 0; k < 2; k++)
            for (int partition = 0; partition <= 32; partition += 16) {
                if (!test_is_to_do()) continue;
                error_samples e = {.count = 0};
                char name[64];
                /* a chosen partition means, on a GPU, stages as in the thesis, which need the step for these */
                const bool refine = is_hopeless(id) && (k > 0 || (partition && test_on_gpu()));
                const trine_gtsv_options options = {.pivot = pivots[k], .partition = partition, .refine = refine};
                for (uint64_t seed = 1; seed <= (uint64_t)test_samples(SEEDS); seed++) {
                    linear_system s = new_tridiagonal(TRINE_D, 512, 1, options);
                    double x[512], *bands[3] = {band(&s, -1), band(&s, 0), band(&s, 1)};
                    if (make_table4(id, seed, 512, bands)) {
                        make_solution(seed, 512, x);
                        multiply_system(&s, x);
                        compare_with_lapack(&s, x, &e);
                    }
                    free_system(&s);
                }
                snprintf(name, sizeof name, "matrix %d, pivot %d, partition %d", id, (int)pivots[k], partition);
                if (e.count) check_errors(name, &e, is_hopeless(id));
            }
}

static void cyclic_versions_of_table_4_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    enum { n = 256 };
    for (int id = 1; id <= 20; id++) {
        error_samples e = {.count = 0};
        char name[32];
        /* its rows add up to zero: with corners like their neighbours it is singular */
        if (id == 13 || !test_is_to_do()) continue;
        for (uint64_t seed = 1; seed <= (uint64_t)test_samples(SEEDS); seed++) {
            linear_system s = new_tridiagonal(TRINE_D, n, 1, (trine_gtsv_options){.cyclic = 1});
            double x[n], *bands[3] = {band(&s, -1), band(&s, 0), band(&s, 1)};
            if (make_table4(id, seed, n, bands)) {
                bands[0][0] = bands[0][1], bands[2][n - 1] = bands[2][n - 2];
                make_solution(seed, n, x);
                multiply_system(&s, x);
                compare_with_lapack(&s, x, &e);
            }
            free_system(&s);
        }
        snprintf(name, sizeof name, "cyclic matrix %d", id);
        if (e.count) check_errors(name, &e, false);
    }
}

static void the_recorded_matrices_of_table_4_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    for (int id = 1; id <= 20; id++) {
        if (!test_is_to_do()) continue;
        error_samples e = {.count = 0};
        char name[16];
        double *x;
        linear_system s;
        snprintf(name, sizeof name, "T4_%02d", id);
        if (!read_sample(name, &s, &x)) skip();
        s.tridiagonal = true;
        compare_with_lapack(&s, x, &e);
        check_errors(name, &e, is_hopeless(id));
        free(x);
        free_system(&s);
    }
}

static void long_systems_with_a_tiny_diagonal_keep_their_digits(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1 << 17, (1 << 17) + 2, (1 << 17) + 30, 1 << 20};
    for (int k = 0; k < 4; k++) {
        if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
        error_samples e = {.count = 0};
        linear_system s = new_tridiagonal(TRINE_D, sizes[k], 1, (trine_gtsv_options){0});
        double *x = malloc((size_t)s.n * 8);
        for (int64_t i = 0; i < s.n; i++) {
            band(&s, -1)[i] = i > 0, band(&s, 0)[i] = 1e-8, band(&s, 1)[i] = i < s.n - 1;
            x[i] = 3 + test_uniform(5, (uint64_t)i);
        }
        multiply_system(&s, x);
        compare_with_lapack(&s, x, &e);
        check_errors("tridiag(1, 1e-8, 1)", &e, false);
        free(x);
        free_system(&s);
    }
}

/* ------------------------------------------------------------- as the reference does */

/** x: the solution of the right-hand sides in s->D by the reference, columns ldx apart. */
static void solve_by_reference(const linear_system *s, void *x)
{
    static void (*const solve[])(trine_transpose, int, int64_t, const void *const[3], void *,
                                 void *) = {[TRINE_S] = trine_tridiagonal_reference_s,
                                            [TRINE_D] = trine_tridiagonal_reference_d,
                                            [TRINE_C] = trine_tridiagonal_reference_c,
                                            [TRINE_Z] = trine_tridiagonal_reference_z};
    const size_t size = trine_dtype_size(s->t);
    const char *matrix = s->matrix, *bands[] = {matrix + (size_t)element_of_band(s, 0, -1) * size,
                                                matrix + (size_t)element_of_band(s, 0, 0) * size,
                                                matrix + (size_t)element_of_band(s, 0, 1) * size};
    void *work = malloc(4 * (size_t)s->n * size);
    for (int64_t k = 0; k < s->nrhs; k++) {
        void *column = (char *)x + (size_t)(k * s->ldx) * size;
        memcpy(column, (const char *)s->D + (size_t)(k * s->ldd) * size, (size_t)s->n * size);
        solve[s->t](s->options.op, s->options.cyclic, s->n, (const void *const *)bands, column, work);
    }
    free(work);
}

static void for_systems(double dominance, const int64_t *sizes, void (*check)(linear_system *))
{
    for (; *sizes; sizes++)
        for (int d = 0; d < 4; d++)
            for (int op = TRINE_N; op <= TRINE_H; op *= 2)
                for (int cyclic = 0; cyclic < 2; cyclic++) {
                    if (!test_is_small(*sizes) || !test_is_to_do()) continue;
                    linear_system s = new_tridiagonal(
                        all_dtypes[d], *sizes, 2, (trine_gtsv_options){.op = (trine_transpose)op, .cyclic = cyclic});
                    fill_system(&s, (uint64_t)*sizes + 7, dominance);
                    poison_outside(&s);
                    check(&s);
                    free_system(&s);
                }
}

/** Componentwise, which partial pivoting does not promise: n is the growth that a row of a random matrix may have
 *  seen. */
static void check_reference_once(const linear_system *s)
{
    solve_by_reference(s, s->X);
    const double error = backward_error(s, s->D) / eps_of(s->t);
    if (!(error <= 10 + (double)s->n))
        fail_msg("dtype %d, n %lld, cyclic %d, op %d: backward error %.3g eps", (int)s->t, (long long)s->n,
                 s->options.cyclic, (int)s->options.op, error);
}
static void check_reference(linear_system *s)
{
    check_reference_once(s);
    if (s->n % 2 || s->options.cyclic) return;
    for (int64_t i = 0; i < s->n; i++) put(s->t, s->matrix, element_of_band(s, i, 0), 0); /* every row is exchanged */
    check_reference_once(s);
}
static void the_reference_is_backward_stable(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 33, 1000, 0};
    for_systems(0, sizes, check_reference);
}

/** |x - y| <= 100 eps max |y|: the diagonal exceeds the rest of rows and columns by 2 at least, and is 9 at most, so
 *  that the condition is below 6. */
static void check_against_reference(linear_system *s)
{
    void *y = malloc((size_t)(s->nrhs * s->ldx) * trine_dtype_size(s->t));
    solve_by_reference(s, y);
    OK(solve_system(s));
    for (int64_t k = 0; k < s->nrhs; k++) {
        double largest = 0, difference = 0;
        for (int64_t i = k * s->ldx; i < k * s->ldx + s->n; i++) {
            const double of_row = (double)absolute(get(s->t, s->X, i) - get(s->t, y, i));
            largest = fmax(largest, (double)absolute(get(s->t, y, i)));
            difference = of_row <= difference ? difference : of_row;
        }
        if (!(difference <= 100 * eps_of(s->t) * largest))
            fail_msg("dtype %d, n %lld, cyclic %d, op %d, right-hand side %d: off by %.3g of %.3g", (int)s->t,
                     (long long)s->n, s->options.cyclic, (int)s->options.op, (int)k, difference, largest);
    }
    free(y);
}
static void solutions_are_those_of_the_reference(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 31, 32, 33, 64, 65, 255, 1000, 1025, 16385, 40000, 300001, 0};
    for_systems(6, sizes, check_against_reference);
}

/* ------------------------------------------------------------- every option */

static const int64_t sizes[] = {1,    2,    3,    4,    5,    7,    8,    9,    31,    32,    33,    62,    63,   64,
                                65,   66,   67,   95,   96,   97,   127,  128,  129,   255,   257,   511,   512,  513,
                                1023, 1024, 1025, 1026, 2049, 4096, 5000, 8193, 16383, 16384, 16385, 33333, 40000};

static void every_size_precision_and_pivoting_scheme_is_backward_stable(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int d = 0; d < 4; d++)
            for (trine_pivot pivot = TRINE_PIVOT_DEFAULT; pivot <= TRINE_PIVOT_SCALED_PARTIAL; pivot++)
                check_random(new_tridiagonal(all_dtypes[d], sizes[k], 1, (trine_gtsv_options){.pivot = pivot}), 3.5,
                             50);
}

static void every_path_of_a_gpu_is_backward_stable_in_every_precision_and_pivoting_scheme(void **state)
{
    (void)state;
    static const trine_gtsv_path paths[] = {TRINE_GTSV_TWO_PASS, TRINE_GTSV_ONE_PASS, TRINE_GTSV_STAGES};
    if (!test_on_gpu()) skip();
    for (int p = 0; p < 3; p++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int d = 0; d < 4; d++)
                for (trine_pivot pivot = TRINE_PIVOT_NONE; pivot <= TRINE_PIVOT_SCALED_PARTIAL; pivot++)
                    check_random(new_tridiagonal(all_dtypes[d], sizes[k],
                                                 1 + (int64_t)(7 * k) % (sizes[k] < 5000 ? 33 : 6),
                                                 (trine_gtsv_options){.pivot = pivot, .path = paths[p]}),
                                 3.5, 50);
}

static void systems_and_coarse_systems_just_too_long_for_one_kernel_are_solved_by_two_passes(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    check_random(new_tridiagonal(TRINE_D, (1 << 23) + 2, 1, (trine_gtsv_options){0}), 3.5, 50);
    check_random(new_tridiagonal(TRINE_Z, (1 << 21) + 1, 1, (trine_gtsv_options){0}), 3.5, 50);
    for (int64_t n = 32767; n <= 32769; n++) /* where two passes begin */
        for (int d = 0; d < 4; d++)
            check_random(new_tridiagonal(all_dtypes[d], n, 3, (trine_gtsv_options){0}), 3.5, 50);
}

static void refinement_makes_general_systems_componentwise_backward_stable(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int d = 0; d < 4; d++)
            for (trine_pivot pivot = TRINE_PIVOT_PARTIAL; pivot <= TRINE_PIVOT_SCALED_PARTIAL; pivot++)
                check_random(
                    new_tridiagonal(all_dtypes[d], sizes[k], 1, (trine_gtsv_options){.pivot = pivot, .refine = 1}), 0,
                    100);
}

/** One column of op(A) in a unit of its own, with any pivoting. A GPU makes one step, which is not enough. */
static void refinement_mends_what_a_column_of_another_scale_costs(void **state)
{
    (void)state;
    static const int64_t few[] = {3, 31, 33, 64, 65, 255, 257, 1000, 20000};
    if (test_on_gpu()) skip();
    for (size_t k = 0; k < sizeof few / sizeof *few; k++)
        for (int variant = 0; variant < 32; variant++) {
            const trine_dtype t = all_dtypes[variant % 4];
            const int exponent = (variant & 4 ? 1 : -1) * (eps_of(t) > 1e-10 ? 80 : 900);
            const trine_gtsv_options options = {
                .refine = 1, .cyclic = variant >> 3 & 1, .op = variant & 16 ? TRINE_H : TRINE_N};
            linear_system s = new_tridiagonal(t, few[k], 2, options);
            const int64_t column = 2 * s.n / 3;
            fill_system(&s, (uint64_t)variant, 1);
            for (int b = -1; b <= 1; b++) {
                const int64_t at = element_of_band(&s, options.op == TRINE_N ? (column - b + s.n) % s.n : column, b);
                put(t, s.matrix, at, ldexpl(1, exponent) * get(t, s.matrix, at));
            }
            OK(solve_system(&s));
            const double error = backward_error(&s, s.D) / eps_of(t);
            if (!(error <= 50))
                fail_msg("dtype %d, n %lld, variant %d: backward error %.3g eps", (int)t, (long long)s.n, variant,
                         error);
            free_system(&s);
        }
}

/** In two passes 2 rows are left of a tile, and what is behind the last whole one stays as it is: here one to three
 *  rows, for as many tiles as make the coarse system one row longer than a partition. */
static void cyclic_systems_with_a_row_behind_their_tiles_are_solved(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    for (int d = 0; d < 4; d++)
        for (int64_t tiles = 2; tiles <= 8; tiles += 2)
            for (int64_t nrhs = 1; nrhs <= 2; nrhs++)
                for (uint64_t seed = 0; seed < 60; seed++) {
                    if (!test_is_to_do()) continue;
                    const int64_t rows = all_dtypes[d] == TRINE_S ? 1024 : all_dtypes[d] == TRINE_Z ? 256 : 512;
                    linear_system s = new_tridiagonal(all_dtypes[d], tiles * rows + 1 + (int64_t)(seed % 3), nrhs,
                                                      (trine_gtsv_options){.cyclic = 1, .path = TRINE_GTSV_TWO_PASS});
                    fill_system(&s, seed, 3.5);
                    OK(solve_system(&s));
                    const double error = backward_error(&s, s.D) / eps_of(s.t);
                    if (!(error <= 50))
                        fail_msg("dtype %d, n %lld, nrhs %lld, seed %d: backward error %.3g eps", (int)s.t,
                                 (long long)s.n, (long long)nrhs, (int)seed, error);
                    free_system(&s);
                }
}

/** Residuals are computed by the kernels of the second solve, those of lost partitions and of the ends of the system
 *  too. In single precision some of the random systems are too ill-conditioned for one step. */
static void refinement_holds_on_every_path_of_a_gpu_with_every_shape(void **state)
{
    (void)state;
    static const trine_gtsv_path paths[] = {TRINE_GTSV_AUTO, TRINE_GTSV_STAGES, TRINE_GTSV_TWO_PASS,
                                            TRINE_GTSV_ONE_PASS, TRINE_GTSV_ON_CHIP};
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    int shared_bytes;
    const bool smaller = test_shape(&shared_bytes) != 0;
    if (!test_on_gpu()) skip();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int p = 0; p < 5; p++)
            for (int d = 0; d < 4; d++)
                for (int cyclic = 0; cyclic < 2; cyclic++) {
                    const trine_gtsv_options options = {
                        .path = paths[p], .cyclic = cyclic, .op = ops[(k + (size_t)p) % 3], .refine = 1};
                    if (paths[p] == TRINE_GTSV_ON_CHIP && (cyclic || smaller)) continue; /* which need not fit */
                    check_random(new_tridiagonal(all_dtypes[d], sizes[k], 1 + (int64_t)(k + (size_t)d) % 5, options),
                                 eps_of(all_dtypes[d]) < 1e-10 ? 0 : .5, 50);
                }
}

static void cyclic_and_transposed_systems_of_every_size_are_solved(void **state)
{
    (void)state;
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int d = 0; d < 4; d++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                for (int op = 0; op < 3; op++)
                    check_random(new_tridiagonal(all_dtypes[d], sizes[k], 2,
                                                 (trine_gtsv_options){.cyclic = cyclic, .op = ops[op]}),
                                 3.5, 50);
}

/** Tiles of long partitions in double complex do not fit every device's shared memory with several right-hand sides. */
static void every_partition_size_is_solved_in_every_precision_with_several_right_hand_sides(void **state)
{
    (void)state;
    for (int partition = 8; partition <= 64; partition += 8)
        for (int d = 0; d < 4; d++)
            for (int64_t nrhs = 1; nrhs <= 5; nrhs += nrhs == 1 ? 1 : 3)
                for (int cyclic = 0; cyclic < 2; cyclic++) {
                    check_random(new_tridiagonal(all_dtypes[d], 49 * partition, nrhs,
                                                 (trine_gtsv_options){.partition = partition, .cyclic = cyclic}),
                                 3.5, 50);
                    check_random(new_tridiagonal(all_dtypes[d], 70 * partition + 13, nrhs,
                                                 (trine_gtsv_options){.partition = partition, .cyclic = cyclic}),
                                 3.5, 50);
                }
}

static void every_partition_size_solves_cyclic_and_other_systems(void **state)
{
    (void)state;
    for (int partition = 8; partition <= 64; partition += 8)
        for (int64_t rest = 0; rest < partition; rest++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                check_random(
                    new_tridiagonal(TRINE_D, 11 * partition + rest, 1,
                                    (trine_gtsv_options){.partition = partition, .cyclic = cyclic, .refine = 1}),
                    0.5, 100);
}

static void any_number_of_right_hand_sides_is_solved_with_any_leading_dimension(void **state)
{
    (void)state;
    for (int64_t nrhs = 0; nrhs <= 33; nrhs++)
        for (int d = 0; d < 4; d++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                check_random(new_tridiagonal(all_dtypes[d], 1000 + nrhs, nrhs,
                                             (trine_gtsv_options){.cyclic = cyclic, .refine = (int)(nrhs % 2)}),
                             3.5, 50);
}

static void more_right_hand_sides_than_a_grid_has_blocks_are_solved(void **state)
{
    (void)state;
    static const trine_gtsv_options options[] = {{0}, {.refine = 1}, {.partition = 16, .cyclic = 1}};
    for (int k = 0; k < 3; k++)
        check_random(new_tridiagonal(all_dtypes[k], k ? 17 : 5, k ? 65533 : 131100, options[k]), 3.5, 50);
}

static void the_solution_may_replace_the_right_hand_side_and_inputs_stay(void **state)
{
    (void)state;
    static const int64_t few[] = {1, 2, 50, 65, 2000, 5001, 40000};
    for (size_t k = 0; k < sizeof few / sizeof *few; k++)
        for (int refine = 0; refine < 2; refine++) {
            linear_system s = new_tridiagonal(TRINE_Z, few[k], 3, (trine_gtsv_options){.refine = refine});
            fill_system(&s, 3, 0);
            check_in_place_and_inputs(&s);
            free_system(&s);
        }
}

static void scaling_rows_by_powers_of_two_does_not_change_a_bit(void **state)
{
    (void)state;
    static const int64_t few[] = {60, 1000, 10000, 100000};
    for (size_t f = 0; f < sizeof few / sizeof *few; f++)
        for (int d = 0; d < 4; d++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                check_scaled_rows(new_tridiagonal(all_dtypes[d], few[f], 1, (trine_gtsv_options){.cyclic = cyclic}));
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    check_threads(new_tridiagonal(TRINE_S, 100003, 1, (trine_gtsv_options){0}));
}

static void zero_and_tiny_pivots_are_exchanged_away(void **state)
{
    (void)state;
    /* pairs of rows [0 1; 1 0], and the same with a denormal or tiny diagonal */
    static const double diagonals[2][4] = {{0, 1e-320, 1e-300, 1e-30}, {0, 1e-42, 1e-37, 1e-15}};
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 4; k++)
            for (trine_pivot pivot = TRINE_PIVOT_PARTIAL; pivot <= TRINE_PIVOT_SCALED_PARTIAL; pivot++)
                for (int64_t n = 2; n <= 200000; n = n * 3 + 2 - n % 2) {
                    linear_system s = new_tridiagonal(all_dtypes[d], n, 1, (trine_gtsv_options){.pivot = pivot});
                    for (int64_t i = 0; i < n; i++) {
                        put(s.t, s.matrix, element_of_band(&s, i, 0),
                            diagonals[all_dtypes[d] == TRINE_S || all_dtypes[d] == TRINE_C][k]);
                        put(s.t, s.matrix, element_of_band(&s, i, i % 2 ? -1 : 1), 1);
                    }
                    check_exchanges(s);
                }
}

static void singular_systems_return_and_nan_flows_through(void **state)
{
    (void)state;
    linear_system s = new_tridiagonal(TRINE_D, 3000, 1, (trine_gtsv_options){0});
    assert_int_equal(solve_system(&s), test_on_gpu() ? TRINE_SUCCESS : TRINE_ERR_SINGULAR); /* the zero matrix */
    const double *x = s.X;
    double *d = s.D;
    fill_system(&s, 4, 3);
    d[1234] = NAN;
    OK(solve_system(&s));
    assert_true(isnan(x[1234]));
    d[1234] = 1;
    band(&s, 0)[77] = NAN;
    OK(solve_system(&s));
    assert_true(isnan(x[77]));
    free_system(&s);
}

static void a_column_of_zeros_is_seen_on_the_cpu(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    static const int64_t sizes[] = {1, 2, 100, 5000, 100000};
    for (int d = 0; d < 4; d++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int where = 0; where < 3; where++) { /* within a partition of 32 rows, its first row, its last row */
                const int64_t n = sizes[k], column = n < 64 ? n / 2
                                                            : n / 64 * 32 + (where == 0   ? 5
                                                                             : where == 1 ? 0
                                                                                          : 31);
                linear_system s = new_tridiagonal(all_dtypes[d], n, 2, (trine_gtsv_options){0});
                fill_system(&s, 6 + where, 3);
                OK(solve_system(&s));
                put(s.t, s.matrix, element_of_band(&s, column, 0), 0);
                if (column > 0) put(s.t, s.matrix, element_of_band(&s, column - 1, 1), 0);
                if (column < n - 1) put(s.t, s.matrix, element_of_band(&s, column + 1, -1), 0);
                assert_int_equal(solve_system(&s), TRINE_ERR_SINGULAR);
                free_system(&s);
            }
}

static void epsilon_takes_noise_for_zero(void **state)
{
    (void)state;
    /* diag = noise in row 0 of [noise 1; 1 noise]: with and without the noise the solution is the same to its size */
    linear_system s = new_tridiagonal(TRINE_D, 2, 1, (trine_gtsv_options){.epsilon = 1e-6});
    double *b = band(&s, 0), *d = s.D;
    const double *x = s.X;
    band(&s, -1)[1] = band(&s, 1)[0] = 1;
    b[0] = b[1] = 1e-7;
    d[0] = 2, d[1] = 3;
    OK(solve_system(&s));
    assert_true(fabs(x[0] - 3) < 1e-6 && fabs(x[1] - 2) < 1e-6);
    free_system(&s);
}

static void epsilon_takes_noise_for_zero_in_every_partition(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int64_t n = 2; n <= 100000; n = n * 7 + n % 4)
            for (int op = TRINE_N; op <= TRINE_T; op++)
                check_epsilon(new_tridiagonal(all_dtypes[d], n, 2, (trine_gtsv_options){.op = (trine_transpose)op}));
}

static void the_backward_error_sees_one_wrong_digit_and_nan(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int64_t n = 1; n <= 200000; n = n * 60 + 1) {
            if (!test_is_small(n) || !test_is_to_do()) continue;
            linear_system s = new_tridiagonal(all_dtypes[d], n, 3, (trine_gtsv_options){.cyclic = n % 2, .refine = 1});
            double errors[3];
            fill_system(&s, 5, 4);
            OK(solve_system(&s));
            find_errors(&s, errors);
            for (int c = 0; c < 3; c++) assert_true(errors[c] < 10 * eps_of(s.t));
            put(s.t, s.X, n / 2 + s.ldx, 1.01L * get(s.t, s.X, n / 2 + s.ldx));
            put(s.t, s.X, n - 1 + 2 * s.ldx, (wide)NAN);
            find_errors(&s, errors);
            assert_true(errors[0] < 10 * eps_of(s.t) && errors[1] > 1e-4 && errors[1] < .01 && isnan(errors[2]));
            put(s.t, s.X, n - 1 + 2 * s.ldx, (wide)INFINITY);
            find_errors(&s, errors);
            assert_true(isnan(errors[2]));
            for (int64_t i = 0; i < n; i++) put(s.t, s.X, i, 0), put(s.t, s.D, i, 0);
            find_errors(&s, errors);
            assert_true(errors[0] == 0);
            free_system(&s);
        }
}

static void workspace_is_a_small_part_of_a_long_system(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int64_t n = 1 << 16; n <= INT64_C(1) << 30; n = n * 3 + 1)
            for (int64_t nrhs = 1; nrhs <= 33; nrhs += nrhs < 5 ? 1 : 7)
                for (int cyclic = 0; cyclic < 2; cyclic++)
                    for (int path = 0; path < 5; path++) {
                        const trine_gtsv_options options = {.path = (trine_gtsv_path)path, .cyclic = cyclic};
                        const double most = .11 * (double)(n * (nrhs + 3)) * (double)trine_dtype_size(all_dtypes[d]);
                        size_t bytes;
                        OK(trine_gtsv_work_size(test_shared(1), all_dtypes[d], n, nrhs, &options, &bytes));
                        assert_true((double)bytes <= most);
                    }
}

static void sizes_that_no_memory_holds_are_refused(void **state)
{
    (void)state;
    static const int64_t n[] = {INT64_MAX / 256, INT64_C(1) << 40, 1000, 10},
                         nrhs[] = {INT64_MAX, INT64_C(1) << 40, INT64_MAX, INT64_MAX / 2};
    size_t bytes;
    for (int k = 0; k < 4; k++) {
        FAILS(TRINE_ERR_MEMORY, "does not fit",
              trine_gtsv_work_size(test_cpu(1), TRINE_S, n[k], nrhs[k], NULL, &bytes));
        FAILS(TRINE_ERR_MEMORY, "does not fit",
              trine_bgtsv_work_size(test_cpu(1), TRINE_S, n[k] / 64 + 2, 2, nrhs[k], NULL, &bytes));
        FAILS(TRINE_ERR_MEMORY, "does not fit",
              trine_bgtfs_work_size(test_cpu(1), TRINE_S, n[k] / 64 + 2, 2, nrhs[k], NULL, &bytes));
        FAILS(TRINE_ERR_MEMORY, "does not fit",
              trine_gbsv_work_size(test_cpu(1), TRINE_S, n[k] / 64 + 2, nrhs[k], 1, 2, NULL, &bytes));
    }
    FAILS(TRINE_ERR_MEMORY, "9007199254740984 unknowns do not fit",
          trine_bgtf_size(test_cpu(1), TRINE_Z, INT64_MAX / 8192, 8, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "n is 2147483648",
          trine_gtsv_csc2dense_work_size(test_cpu(1), TRINE_S, INT64_C(1) << 31, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "n is 2147483648",
          trine_gtsv_csc2csc_work_size(test_cpu(1), TRINE_S, INT64_C(1) << 31, 1, NULL, &bytes));
}

/** What has no place to run, or brings memory that these functions do not use. */
static void a_context_is_needed_and_a_work_object_refused(void **state)
{
    (void)state;
    const trine_context ctx = test_shared(1);
    const trine_strides strides = {1, 4};
    trine_matrix A;
    trine_tridiagonal plan;
    trine_work work = NULL;
    size_t bytes = 7;
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_gtsv_work_size(NULL, TRINE_D, 4, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_bgtf_size(NULL, TRINE_D, 4, 2, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL",
          trine_gtsv(NULL, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL));
    assert_int_equal(bytes, 7);
    OK(trine_matrix_gallery(test_cpu(1), &A, "tridiag:n=4", TRINE_D));
    OK(trine_tridiagonal_analyse(test_cpu(1), &plan, A, NULL));
    OK(trine_tridiagonal_work(plan, 1, NULL, &bytes, &work));
    const trine_exec exec = {.work = work};
#define REFUSED(call) FAILS(TRINE_ERR_ARGUMENT, "exec->work is given", call)
    REFUSED(trine_gtsv(ctx, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, &exec));
    REFUSED(trine_bgtsv(ctx, TRINE_D, 0, 2, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, &exec));
    REFUSED(trine_bgtf(ctx, TRINE_D, 0, 2, NULL, NULL, NULL, NULL, NULL, 0, &exec));
    REFUSED(trine_bgtfs(ctx, TRINE_D, 0, 2, 1, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, &exec));
    REFUSED(trine_gbsv(ctx, TRINE_D, 0, 1, 2, 2, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, &exec));
    REFUSED(trine_gtsv_batch(ctx, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, strides, NULL, NULL, strides, NULL, 0, &exec));
    REFUSED(
        trine_gtsv_csc2dense(ctx, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, &exec));
    REFUSED(trine_gtsv_csc2csc(ctx, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,
                               &exec));
    REFUSED(trine_gtsv_backward_error(ctx, TRINE_D, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, &exec));
    REFUSED(trine_bgtsv_backward_error(ctx, TRINE_D, 0, 2, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, &exec));
    REFUSED(trine_gbsv_backward_error(ctx, TRINE_D, 0, 0, 2, 2, NULL, NULL, NULL, 0, NULL, 0, NULL, &exec));
    OK(trine_gtsv(ctx, TRINE_D, 0, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, &(trine_exec){0}));
    OK(trine_work_destroy(&work));
    OK(trine_tridiagonal_destroy(&plan));
    OK(trine_matrix_destroy(&A));
}

static void sizes_and_workspace_are_checked_on_every_device(void **state)
{
    (void)state;
    const trine_context ctx = test_shared(1);
    double bytes[2];
    size_t size;
    OK(trine_gtsv_work_size(ctx, TRINE_D, 1 << 24, 1, NULL, &size));
    FAILS(TRINE_ERR_ARGUMENT, "are needed",
          trine_gtsv(ctx, TRINE_D, 1 << 20, 1, NULL, bytes, bytes, bytes, bytes, 1 << 20, bytes + 1, 1 << 20, bytes, 8,
                     NULL));
    FAILS(TRINE_ERR_ARGUMENT, "bytes is NULL", trine_gtsv_work_size(ctx, TRINE_D, 4, 1, NULL, NULL));
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    double v[4] = {1, 1, 1, 1}, x[4];
    size_t bytes;
    char work[4096];
#define SOLVE(t, n, nrhs, o, a, D, ldd, X, ldx, work, size) \
    trine_gtsv(test_cpu(1), t, n, nrhs, o, a, v, v, D, ldd, X, ldx, work, size, NULL)
    FAILS(TRINE_ERR_ARGUMENT, "dtype", SOLVE((trine_dtype)9, 4, 1, NULL, v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "n is -1", SOLVE(TRINE_D, -1, 1, NULL, v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "nrhs is -2", SOLVE(TRINE_D, 4, -2, NULL, v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "a is NULL", SOLVE(TRINE_D, 4, 1, NULL, NULL, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "D is NULL", SOLVE(TRINE_D, 4, 1, NULL, v, NULL, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", SOLVE(TRINE_D, 4, 1, NULL, v, v, 4, NULL, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "ldd is 3", SOLVE(TRINE_D, 4, 1, NULL, v, v, 3, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "ldx is 3", SOLVE(TRINE_D, 4, 1, NULL, v, v, 4, x, 3, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "X is D", SOLVE(TRINE_D, 4, 1, NULL, v, v, 4, v, 5, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "are needed", SOLVE(TRINE_D, 1000, 1, NULL, v, v, 1000, x, 1000, work, 8));
    FAILS(TRINE_ERR_ARGUMENT, "work is NULL", SOLVE(TRINE_D, 1000, 1, NULL, v, v, 1000, x, 1000, NULL, 1 << 20));
    FAILS(TRINE_ERR_ARGUMENT, "pivoting scheme 7",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.pivot = (trine_pivot)7}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "epsilon",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.epsilon = -1}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "epsilon",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.epsilon = NAN}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "refine",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.refine = 2}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "op 3",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.op = (trine_transpose)3}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "partition is 33",
          SOLVE(TRINE_D, 4, 1, (&(trine_gtsv_options){.partition = 33}), v, v, 4, x, 4, work, sizeof work));
    FAILS(TRINE_ERR_ARGUMENT, "bytes is NULL", trine_gtsv_work_size(test_cpu(1), TRINE_D, 4, 1, NULL, NULL));
    FAILS(TRINE_ERR_MEMORY, "does not fit",
          trine_gtsv_work_size(test_cpu(1), TRINE_Z, INT64_C(1) << 40, INT64_C(1) << 20,
                               &(trine_gtsv_options){.refine = 1}, &bytes));
#define ERRORS(a, D, X, errors) \
    trine_gtsv_backward_error(test_cpu(1), TRINE_D, 4, 1, NULL, a, v, v, D, 4, X, 4, errors, NULL)
    FAILS(TRINE_ERR_ARGUMENT, "a is NULL", ERRORS(NULL, v, x, x));
    FAILS(TRINE_ERR_ARGUMENT, "D is NULL", ERRORS(v, NULL, x, x));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", ERRORS(v, v, NULL, x));
    FAILS(TRINE_ERR_ARGUMENT, "errors is NULL", ERRORS(v, v, x, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "AB is NULL",
          trine_gbsv_backward_error(test_cpu(1), TRINE_D, 4, 1, 2, 2, NULL, NULL, v, 4, x, 4, x, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "kl is 9",
          trine_gbsv_backward_error(test_cpu(1), TRINE_D, 4, 1, 9, 2, NULL, v, v, 4, x, 4, x, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "n is 9",
          trine_bgtsv_backward_error(test_cpu(1), TRINE_D, 4, 9, 1, NULL, v, v, v, v, 36, x, 36, x, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ldx is 3",
          trine_gtsv_backward_error(test_cpu(1), TRINE_D, 4, 1, NULL, v, v, v, v, 4, x, 3, x, NULL));
    OK(SOLVE(TRINE_D, 0, 1, NULL, NULL, NULL, 0, NULL, 0, NULL, 0));
    OK(SOLVE(TRINE_D, 4, 0, NULL, v, NULL, 4, NULL, 4, NULL, 0));
}

static void an_info_is_ignored_on_the_cpu(void **state)
{
    (void)state;
    const trine_gtsv_options options = {.info = (trine_gtsv_info *)8}; /* nothing is there */
    const double off[] = {0, 0, 0, 0}, b[] = {2, 2, 2, 2}, D[] = {2, 4, 6, 8},
                 AB[] = {0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    const double block[] = {2, 0, 0, 2, 2, 0, 0, 2}, zero[8] = {0};
    const int32_t rows[] = {0, 1, 2, 3}, offsets[] = {0, 4};
    const trine_strides strides = {1, 2};
    double work[2048], factor[2048], X[4], values[4];
    int32_t X_rows[4];
    for (int k = 0; k < 7; k++) {
        memset(X, 0, sizeof X);
        switch (k) {
        case 0:
            OK(trine_gtsv(test_cpu(1), TRINE_D, 4, 1, &options, off, b, off, D, 4, X, 4, work, sizeof work, NULL));
            break;
        case 1:
            OK(trine_bgtsv(test_cpu(1), TRINE_D, 2, 2, 1, &options, zero, block, zero, D, 4, X, 4, work, sizeof work,
                           NULL));
            break;
        case 2:
            OK(trine_gbsv(test_cpu(1), TRINE_D, 4, 1, 1, 2, &options, AB, D, 4, X, 4, work, sizeof work, NULL));
            break;
        case 3:
            OK(trine_gtsv_batch(test_cpu(1), TRINE_D, 2, 2, &options, off, b, off, strides, D, X, strides, work,
                                sizeof work, NULL));
            break;
        case 4:
            OK(trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, &options, off, b, off, D, rows, offsets, X, 4, work,
                                    sizeof work, NULL));
            break;
        case 5:
            OK(trine_gtsv_csc2csc(test_cpu(1), TRINE_D, 4, 1, &options, off, b, off, D, rows, offsets, X, X_rows,
                                  offsets, work, sizeof work, NULL));
            break;
        default:
            OK(trine_bgtf(test_cpu(1), TRINE_D, 2, 2, &options, zero, block, zero, factor, sizeof factor, NULL));
            OK(trine_bgtfs(test_cpu(1), TRINE_D, 2, 2, 1, &options, factor, sizeof factor, D, 4, X, 4, work,
                           sizeof work, NULL));
        }
        for (int i = 0; i < 4; i++) assert_true(X[i] == i + 1);
    }
    OK(trine_gtsv_backward_error(test_cpu(1), TRINE_D, 4, 1, &options, off, b, off, D, 4, X, 4, values, NULL));
    assert_true(values[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_made_matrices_of_table_4_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(cyclic_versions_of_table_4_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(the_recorded_matrices_of_table_4_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(long_systems_with_a_tiny_diagonal_keep_their_digits),
        cmocka_unit_test(the_reference_is_backward_stable),
        cmocka_unit_test(solutions_are_those_of_the_reference),
        cmocka_unit_test(every_size_precision_and_pivoting_scheme_is_backward_stable),
        cmocka_unit_test(every_path_of_a_gpu_is_backward_stable_in_every_precision_and_pivoting_scheme),
        cmocka_unit_test(systems_and_coarse_systems_just_too_long_for_one_kernel_are_solved_by_two_passes),
        cmocka_unit_test(refinement_makes_general_systems_componentwise_backward_stable),
        cmocka_unit_test(refinement_mends_what_a_column_of_another_scale_costs),
        cmocka_unit_test(cyclic_systems_with_a_row_behind_their_tiles_are_solved),
        cmocka_unit_test(refinement_holds_on_every_path_of_a_gpu_with_every_shape),
        cmocka_unit_test(cyclic_and_transposed_systems_of_every_size_are_solved),
        cmocka_unit_test(every_partition_size_is_solved_in_every_precision_with_several_right_hand_sides),
        cmocka_unit_test(every_partition_size_solves_cyclic_and_other_systems),
        cmocka_unit_test(any_number_of_right_hand_sides_is_solved_with_any_leading_dimension),
        cmocka_unit_test(more_right_hand_sides_than_a_grid_has_blocks_are_solved),
        cmocka_unit_test(the_solution_may_replace_the_right_hand_side_and_inputs_stay),
        cmocka_unit_test(scaling_rows_by_powers_of_two_does_not_change_a_bit),
        cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(zero_and_tiny_pivots_are_exchanged_away),
        cmocka_unit_test(singular_systems_return_and_nan_flows_through),
        cmocka_unit_test(a_column_of_zeros_is_seen_on_the_cpu),
        cmocka_unit_test(epsilon_takes_noise_for_zero),
        cmocka_unit_test(epsilon_takes_noise_for_zero_in_every_partition),
        cmocka_unit_test(the_backward_error_sees_one_wrong_digit_and_nan),
        cmocka_unit_test(workspace_is_a_small_part_of_a_long_system),
        cmocka_unit_test(sizes_that_no_memory_holds_are_refused),
        cmocka_unit_test(a_context_is_needed_and_a_work_object_refused),
        cmocka_unit_test(sizes_and_workspace_are_checked_on_every_device),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(an_info_is_ignored_on_the_cpu),
    };
    return TEST_MAIN(tests);
}
