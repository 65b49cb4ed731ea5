/* Workspace of blocks and bands: what TRINE_MEMORY_SMALL needs, and that it changes no bit. */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

#include "banded_support.h"

/* ---------------------------------------------------------------------- bits */

/** Solve s in both ways, and in the second one also in place: the same bits, but of a GPU's factorization, where
 *  other kernels go through the first stage: as small backward errors. Frees s. */
static void check_both(linear_system s, double dominance)
{
    const size_t bytes = (size_t)(s.ldx * s.nrhs) * trine_dtype_size(s.t),
                 d_bytes = (size_t)(s.ldd * s.nrhs) * trine_dtype_size(s.t);
    const bool same_bits = !(s.factor_first && test_on_gpu());
    void *fast = malloc(bytes), *d = malloc(d_bytes);
    if (test_is_small(s.n) && test_is_to_do()) {
        fill_system(&s, (uint64_t)(3 * s.n + s.nrhs), dominance);
        poison_outside(&s);
        s.options.memory = TRINE_MEMORY_FAST;
        OK(solve_system(&s));
        memcpy(fast, s.X, bytes), memcpy(d, s.D, d_bytes);
        const double fast_error = same_bits ? 0 : backward_error(&s, d);
        memset(s.X, 0, bytes);
        s.options.memory = TRINE_MEMORY_SMALL;
        check_in_place_and_inputs(&s);
        if (!same_bits) assert_true(backward_error(&s, d) <= 4 * fast_error + 8 * trine_dtype_eps(s.t));
        for (int64_t c = 0; same_bits && c < s.nrhs; c++) {
            const size_t first = (size_t)(c * s.ldx) * trine_dtype_size(s.t);
            if (memcmp((char *)fast + first, (char *)s.X + first, (size_t)s.n * trine_dtype_size(s.t)))
                fail_msg(
                    "dtype %d, n %lld, block size %d, kl %d, ku %d, nrhs %lld, pivot %d, cyclic %d, op %d, partition %d, refine %d, factor first %d: column %lld differs",
                    (int)s.t, (long long)s.n, s.m, s.kl, s.ku, (long long)s.nrhs, (int)s.options.pivot,
                    s.options.cyclic, (int)s.options.op, s.options.partition, s.options.refine, s.factor_first,
                    (long long)c);
        }
    }
    free(fast), free(d);
    free_system(&s);
}

/** Partitions that a GPU gives a lane each; on a CPU, more than slots, and enough rows that sleeping threads are
 *  woken. */
static int64_t many_partitions(void) { return test_on_gpu() ? 4100 : 1100; }
/** A GPU solves these in one kernel, stage by stage, and with a lane a partition. */
static const int64_t block_rows[] = {1, 2, 37, 128 * 8 + 300};
enum { BLOCK_ROWS = 5 };
static int64_t block_rows_of(int k) { return k < 4 ? block_rows[k] : many_partitions() * 8 + 3; }

static void blocks_are_solved_to_the_same_bits(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int m = 1; m <= 8; m++)
            for (int k = 0; k < BLOCK_ROWS; k++)
                for (int way = 0; way < 6; way++) {
                    const int64_t rows = block_rows_of(k);
                    const trine_gtsv_options options = {.op = (trine_transpose)(1 << (m + way) % 3),
                                                        .pivot = (trine_pivot)((way + d) % 6),
                                                        .cyclic = (k + m + way) % 2,
                                                        .refine = way == 1 || way == 4,
                                                        .partition = 8 + 8 * (way % 2)};
                    if (k > 2 && (way + 2 * m + d) % (k > 3 ? 12 : 3)) continue;
                    linear_system s = new_blocks(all_dtypes[d], rows, m, way < 3 ? 1 : way, options);
                    s.factor_first = !options.refine && way % 3 == 2;
                    check_both(s, 3 * m);
                }
}

static void narrow_blocks_and_bands_are_solved_to_the_same_bits(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 8; k++) {
            const trine_gtsv_options options = {.cyclic = k % 2, .partition = 8 + k / 4 * 8, .refine = k == 6};
            check_both(
                new_blocks(all_dtypes[d], (many_partitions() + k) * options.partition, 2 + k / 2 % 2, 1, options), 7);
            check_both(new_bands(all_dtypes[d], (many_partitions() + k) * options.partition * 2, 2, k % 3, 1, options),
                       4);
        }
}

static void bands_are_solved_to_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 9, 300, 2600, 9001};
    for (int d = 0; d < 4; d++)
        for (int kl = 0; kl <= 8; kl++)
            for (int ku = 0; ku <= 8; ku++)
                for (int k = 0; k < 5; k++) {
                    const int way = kl + 2 * ku + k;
                    const trine_gtsv_options options = {.op = (trine_transpose)(1 << way % 3),
                                                        .pivot = (trine_pivot)(way % 6),
                                                        .cyclic = way / 3 % 2,
                                                        .refine = way % 4 == 1,
                                                        .partition = 8 * (1 + way % 2)};
                    if (sizes[k] > 1000 && way % 4 != d) continue;
                    check_both(new_bands(all_dtypes[d], sizes[k], kl, ku, way % 5 ? 1 : 6, options), kl + ku);
                }
}

static void automatic_partitions_are_backward_stable(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int m = 1; m <= 8; m++)
            for (int64_t n = 3; n <= 30000; n = 10 * n + m)
                for (int way = 0; way < 4; way++) {
                    const trine_gtsv_options options = {
                        .memory = TRINE_MEMORY_SMALL, .cyclic = way == 1, .refine = way == 2};
                    linear_system s = new_blocks(all_dtypes[d], n / m + 1, m, 1 + 2 * (way == 1), options);
                    s.factor_first = way == 3;
                    check_random(s, 3 * m + 1, 50);
                    check_random(new_bands(all_dtypes[d], n, m, way * 2, 1 + 2 * (way == 2), options), m + 2 * way + 2,
                                 50);
                }
}

/* kl = 0: solutions grow by many orders of magnitude */
static void bands_that_need_rows_one_by_one_are_solved(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int ku = 1; ku <= 8; ku++) {
            const trine_gtsv_options options = {.memory = TRINE_MEMORY_SMALL, .refine = 1};
            check_random(new_bands(all_dtypes[d], eps_of(all_dtypes[d]) > 1e-10 ? 30 : 300, 0, ku, 2, options), 0, 50);
        }
}

/* --------------------------------------------------------------------- bytes */

/** So many that what one slot takes does not matter. */
enum { UNKNOWNS = 40000000 };
static size_t half(trine_dtype t, double elements) { return (size_t)(elements / 2 * (double)trine_dtype_size(t)); }
/** Coarse right-hand sides, at most 1/10 of the given ones (blocks of 6 rows count as 8); with refinement two more
 *  vectors and two errors. */
static size_t vectors(trine_dtype t, double n, int64_t nrhs, int refine)
{
    return (size_t)(((.1 + 2 * refine) * n + 3) * (double)nrhs * (double)trine_dtype_size(t));
}

static void blocks_take_half_of_the_matrix(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int m = 1 + test_on_gpu(); m <= 8; m++) /* blocks of one row are trine_gtsv's on a GPU */
            for (int64_t nrhs = 1; nrhs <= 5; nrhs += 2)
                for (int refine = 0; refine < 2; refine++) {
                    const trine_gtsv_options options = {.memory = TRINE_MEMORY_SMALL, .refine = refine};
                    const int64_t rows = UNKNOWNS / m;
                    size_t bytes;
                    OK(trine_bgtsv_work_size(test_shared(1), all_dtypes[d], rows, m, nrhs, &options, &bytes));
                    assert_in_range(bytes, 1,
                                    half(all_dtypes[d], 3. * (double)rows * m * m) +
                                        vectors(all_dtypes[d], (double)rows * m, nrhs, refine));
                }
}

static void bands_take_half_of_the_matrix(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int kl = 0; kl <= 8; kl++)
            for (int ku = 0; ku <= 8; ku++)
                for (int way = 0; way < 6; way++) {
                    const int refine = way % 2, most = kl > ku ? kl : ku;
                    const trine_gtsv_options options = {
                        .memory = TRINE_MEMORY_SMALL, .refine = refine, .cyclic = way > 3};
                    /* rows one by one */
                    const double sequential = refine && !options.cyclic ? (double)(kl + ku + most + 4) : 0;
                    const int64_t nrhs = 1 + 2 * (way / 2 % 2);
                    size_t bytes;
                    /* as above, and where kl or ku is 0, blocks are wider than bands */
                    if (test_on_gpu() && most <= 1) continue;
                    OK(trine_gbsv_work_size(test_shared(1), all_dtypes[d], UNKNOWNS, nrhs, kl, ku, &options, &bytes));
                    assert_in_range(bytes, 1,
                                    half(all_dtypes[d], (double)UNKNOWNS * (kl + ku + 1 + 2 * sequential)) +
                                        vectors(all_dtypes[d], UNKNOWNS, nrhs, refine));
                }
}

static void a_small_factorization_takes_one_and_a_half_times_the_matrix(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int m = 1; m <= 8; m++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                const trine_gtsv_options options = {.memory = TRINE_MEMORY_SMALL, .cyclic = cyclic};
                const double matrix = 3. * (UNKNOWNS / m) * m * m;
                size_t bytes, work;
                OK(trine_bgtf_size(test_shared(1), all_dtypes[d], UNKNOWNS / m, m, &options, &bytes));
                OK(trine_bgtfs_work_size(test_shared(1), all_dtypes[d], UNKNOWNS / m, m, 1, &options, &work));
                assert_in_range(bytes, 1, 3 * half(all_dtypes[d], matrix));
                assert_in_range(work, 1, half(all_dtypes[d], matrix) + vectors(all_dtypes[d], UNKNOWNS, 1, 0));
            }
}

static void an_unknown_choice_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    for (int wrong = -1; wrong <= 3; wrong += 4) {
        const trine_gtsv_options options = {.memory = (trine_gtsv_memory)wrong};
        FAILS(TRINE_ERR_ARGUMENT, "choice of memory",
              trine_bgtsv_work_size(test_cpu(1), TRINE_D, 10, 2, 1, &options, &bytes));
        FAILS(TRINE_ERR_ARGUMENT, "choice of memory",
              trine_gbsv_work_size(test_cpu(1), TRINE_D, 10, 1, 2, 2, &options, &bytes));
        FAILS(TRINE_ERR_ARGUMENT, "choice of memory", trine_bgtf_size(test_cpu(1), TRINE_D, 10, 2, &options, &bytes));
    }
}

/* ------------------------------------------------------------------ oddities */

static void singular_systems_return(void **state)
{
    (void)state;
    check_singular(new_blocks(TRINE_D, 500, 2, 1, (trine_gtsv_options){.memory = TRINE_MEMORY_SMALL}));
    check_singular(new_bands(TRINE_D, 1000, 1, 2, 1, (trine_gtsv_options){.memory = TRINE_MEMORY_SMALL}));
    check_singular(new_bands(TRINE_D, 1000, 1, 2, 1, (trine_gtsv_options){.memory = TRINE_MEMORY_SMALL, .refine = 1}));
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    check_threads(new_blocks(TRINE_C, 5001, 3, 3, (trine_gtsv_options){.memory = TRINE_MEMORY_SMALL}));
    check_threads(new_bands(TRINE_D, 50001, 3, 3, 1, (trine_gtsv_options){.memory = TRINE_MEMORY_SMALL, .refine = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_solved_to_the_same_bits),
        cmocka_unit_test(narrow_blocks_and_bands_are_solved_to_the_same_bits),
        cmocka_unit_test(bands_are_solved_to_the_same_bits),
        cmocka_unit_test(automatic_partitions_are_backward_stable),
        cmocka_unit_test(bands_that_need_rows_one_by_one_are_solved),
        cmocka_unit_test(blocks_take_half_of_the_matrix),
        cmocka_unit_test(bands_take_half_of_the_matrix),
        cmocka_unit_test(a_small_factorization_takes_one_and_a_half_times_the_matrix),
        cmocka_unit_test(an_unknown_choice_is_refused),
        cmocka_unit_test(singular_systems_return),
        cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
    };
    return TEST_MAIN(tests);
}
