/* Tridiagonal solves with sparse right-hand sides, against dense ones and a selection by sorting. */
#include "elements.h"
#include "harness.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/** A dominant system, D by columns (column j has entries in j % 4 of every 5 rows, but for its second half; where
 *  there are more than 50000 rows, a few entries) and what is to be kept of X. */
typedef struct {
    trine_dtype t;
    int64_t n, nrhs, ldx;
    void *bands, *dense, *values, *X, *kept_values;
    int32_t *rows, *offsets, *kept_rows, *kept_offsets;
} problem;

static problem make_problem(trine_dtype t, int64_t n, int64_t nrhs)
{
    problem p = {.t = t, .n = n, .nrhs = nrhs, .ldx = n + 2};
    const size_t size = trine_dtype_size(t);
    p.bands = calloc((size_t)(3 * n) + 1, size);
    p.dense = calloc((size_t)(p.ldx * nrhs) + 1, size);
    p.X = calloc((size_t)(p.ldx * nrhs) + 1, size);
    p.values = calloc((size_t)(n * nrhs) + 1, size);
    p.kept_values = calloc((size_t)((n + 2) * nrhs) + 1, size);
    p.rows = calloc((size_t)(n * nrhs) + 1, sizeof(int32_t));
    p.kept_rows = calloc((size_t)((n + 2) * nrhs) + 1, sizeof(int32_t));
    p.offsets = calloc((size_t)nrhs + 1, sizeof(int32_t));
    p.kept_offsets = calloc((size_t)nrhs + 1, sizeof(int32_t));
    for (int64_t i = 0; i < 3 * n; i++) put(t, p.bands, i, random_element(t, 1, (uint64_t)i) + (i / n == 1 ? 3 : 0));
    int32_t nnz = 0, kept = 0;
    for (int64_t j = 0; j < nrhs; j++) {
        for (int64_t i = n - 1; i >= 0; i--) { /* rows downwards: any order is allowed */
            if (n > 50000 && i % 20011 != j % 7) continue;
            if (n <= 50000 && i % 5 >= j % 4 + (n > 100 && i > n / 2 ? -4 : 0)) continue;
            const double complex d = random_element(t, 2, (uint64_t)(i + j * n));
            put(t, p.values, nnz, d);
            put(t, p.dense, i + j * p.ldx, d);
            p.rows[nnz++] = (int32_t)i;
        }
        p.offsets[j + 1] = nnz;
        kept += (int32_t)(j % 3 == 2 ? n + 2 : (j * 7) % (n + 1)); /* none, some, more than there are */
        p.kept_offsets[j + 1] = kept;
    }
    return p;
}
static void free_problem(problem *p)
{
    free(p->bands), free(p->dense), free(p->values), free(p->X), free(p->kept_values);
    free(p->rows), free(p->offsets), free(p->kept_rows), free(p->kept_offsets);
}

static const void *band(const problem *p, const void *bands, int k)
{
    return (const char *)bands + (size_t)(k * p->n) * trine_dtype_size(p->t);
}

static void solve_on_cpu(problem *p, int threads, const trine_gtsv_options *options)
{
    size_t bytes;
    OK(trine_gtsv_csc2dense_work_size(test_cpu(threads), p->t, p->n, p->nrhs, options, &bytes));
    void *work = malloc(bytes + 1);
    OK(trine_gtsv_csc2dense(test_cpu(threads), p->t, p->n, p->nrhs, options, band(p, p->bands, 0), band(p, p->bands, 1),
                            band(p, p->bands, 2), p->values, p->rows, p->offsets, p->X, p->ldx, work, bytes, NULL));
    free(work);
    OK(trine_gtsv_csc2csc_work_size(test_cpu(threads), p->t, p->n, p->nrhs, options, &bytes));
    work = malloc(bytes + 1);
    OK(trine_gtsv_csc2csc(test_cpu(threads), p->t, p->n, p->nrhs, options, band(p, p->bands, 0), band(p, p->bands, 1),
                          band(p, p->bands, 2), p->values, p->rows, p->offsets, p->kept_values, p->kept_rows,
                          p->kept_offsets, work, bytes, NULL));
    free(work);
}

static void solve_on_gpu(problem *p, const trine_gtsv_options *options)
{
    const size_t size = trine_dtype_size(p->t), x_bytes = (size_t)(p->ldx * p->nrhs) * size,
                 nnz = (size_t)p->offsets[p->nrhs], kept = (size_t)p->kept_offsets[p->nrhs];
    const size_t offset_bytes = (size_t)(p->nrhs + 1) * sizeof(int32_t);
    trine_context ctx = test_context();
    void *work;
    size_t bytes;
    void *bands = test_to_device(ctx, p->bands, (size_t)(3 * p->n) * size),
         *values = test_to_device(ctx, p->values, nnz * size), *X = test_to_device(ctx, p->X, x_bytes);
    int32_t *rows = test_to_device(ctx, p->rows, nnz * sizeof(int32_t)),
            *offsets = test_to_device(ctx, p->offsets, offset_bytes);
    void *kept_values = test_to_device(ctx, p->kept_values, kept * size);
    int32_t *kept_rows = test_to_device(ctx, p->kept_rows, kept * sizeof(int32_t)),
            *kept_offsets = test_to_device(ctx, p->kept_offsets, offset_bytes);
    OK(trine_gtsv_csc2dense_work_size(ctx, p->t, p->n, p->nrhs, options, &bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &work));
    OK(trine_gtsv_csc2dense(ctx, p->t, p->n, p->nrhs, options, band(p, bands, 0), band(p, bands, 1), band(p, bands, 2),
                            values, rows, offsets, X, p->ldx, work, bytes, NULL));
    test_from_device(ctx, p->X, X, x_bytes);
    trine_free(ctx, TRINE_DEVICE, work);
    OK(trine_gtsv_csc2csc_work_size(ctx, p->t, p->n, p->nrhs, options, &bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &work));
    OK(trine_gtsv_csc2csc(ctx, p->t, p->n, p->nrhs, options, band(p, bands, 0), band(p, bands, 1), band(p, bands, 2),
                          values, rows, offsets, kept_values, kept_rows, kept_offsets, work, bytes, NULL));
    test_from_device(ctx, p->kept_values, kept_values, kept * size);
    test_from_device(ctx, p->kept_rows, kept_rows, kept * sizeof(int32_t));
    trine_free(ctx, TRINE_DEVICE, work);
    void *mine[] = {bands, values, X, rows, offsets, kept_values, kept_rows, kept_offsets};
    for (size_t k = 0; k < sizeof mine / sizeof *mine; k++) test_release(ctx, mine[k]);
    OK(trine_context_destroy(&ctx));
}

static void solve(problem *p, const trine_gtsv_options *options)
{
    test_on_gpu() ? solve_on_gpu(p, options) : solve_on_cpu(p, 2, options);
}

/** |d - op(A)x| <= bound eps (|op(A)||x| + |d|) in every row, but for underflow: far from the entries of D the
 *  solution fades away. */
static void check_dense(const problem *p, const trine_gtsv_options *options, double bound)
{
    const bool transposed = options->op == TRINE_T || options->op == TRINE_H;
    for (int64_t j = 0; j < p->nrhs; j++)
        for (int64_t i = 0; i < p->n; i++) {
            double complex r = get(p->t, p->dense, i + j * p->ldx);
            double size = cabs(r);
            for (int k = -1; k <= 1; k++) {
                int64_t c = i + k;
                if (!options->cyclic && (c < 0 || c >= p->n)) continue;
                c = (c + p->n) % p->n;
                const double complex a = get(p->t, p->bands, transposed ? (1 - k) * p->n + c : (k + 1) * p->n + i);
                const double complex term = (options->op == TRINE_H ? conj(a) : a) * get(p->t, p->X, c + j * p->ldx);
                r -= term;
                size += cabs(term);
            }
            if (!(cabs(r) <= bound * eps_of(p->t) * size + (eps_of(p->t) > 1e-10 ? 10 * FLT_MIN : 10 * DBL_MIN)))
                fail_msg("dtype %d, n %lld, op %d, cyclic %d, refine %d: row %lld of column %lld: residual %g of %g",
                         (int)p->t, (long long)p->n, (int)options->op, options->cyclic, options->refine, (long long)i,
                         (long long)j, cabs(r), size);
        }
}

/** What is kept of a column, against X: both solves do the same arithmetic, so that the values agree to the last
 *  bit. */
static void check_kept(const problem *p)
{
    bool *kept = calloc((size_t)p->n + 1, sizeof *kept);
    for (int64_t j = 0; j < p->nrhs; j++) {
        const int32_t first = p->kept_offsets[j], asked = p->kept_offsets[j + 1] - first,
                      count = asked < p->n ? asked : (int32_t)p->n;
        double least = INFINITY;
        memset(kept, 0, (size_t)p->n * sizeof *kept);
        for (int32_t k = first; k < first + count; k++) {
            const int64_t i = p->kept_rows[k];
            assert_true(i >= 0 && i < p->n && (k == first || i > p->kept_rows[k - 1]));
            assert_true(get(p->t, p->kept_values, k) == get(p->t, p->X, i + j * p->ldx));
            kept[i] = true;
            least = fmin(least, (double)cabsl(get(p->t, p->kept_values, k)));
        }
        for (int64_t i = 0; i < p->n; i++)
            assert_true(kept[i] || cabsl(get(p->t, p->X, i + j * p->ldx)) <= least * (1 + 4 * eps_of(p->t)));
        for (int32_t k = first + count; k < first + asked; k++)
            assert_true(p->kept_rows[k] == -1 && get(p->t, p->kept_values, k) == 0);
    }
    free(kept);
}

static void sparse_right_hand_sides_are_solved_and_the_largest_entries_kept(void **state)
{
    (void)state;
    static const struct {
        int64_t n, nrhs;
    } sizes[] = {{1, 1},    {1, 5},    {2, 3},     {3, 7},      {33, 33},   {500, 17},
                 {9000, 5}, {70, 300}, {40000, 9}, {150000, 9}, {150001, 1}};
    for (int d = 0; d < 4; d++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_small(sizes[k].n) || !test_is_to_do()) continue;
                problem p = make_problem(all_dtypes[d], sizes[k].n, sizes[k].nrhs);
                const trine_gtsv_options options = {.cyclic = cyclic};
                solve(&p, &options);
                check_dense(&p, &options, 50);
                check_kept(&p);
                free_problem(&p);
            }
}

static void every_op_scheme_and_option_solves_sparse_right_hand_sides(void **state)
{
    (void)state;
    static const trine_gtsv_options options[] = {{.op = TRINE_T},
                                                 {.op = TRINE_H, .pivot = TRINE_PIVOT_PARTIAL},
                                                 {.op = TRINE_T, .cyclic = 1, .pivot = TRINE_PIVOT_NONE},
                                                 {.refine = 1},
                                                 {.op = TRINE_H, .partition = 16, .cyclic = 1},
                                                 {.pivot = TRINE_PIVOT_PARTIAL, .refine = 1}};
    for (int d = 0; d < 4; d++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            for (int64_t n = 50; n <= 50000; n *= 30) {
                if (!test_is_small(n) || !test_is_to_do()) continue;
                problem p = make_problem(all_dtypes[d], n, 11);
                solve(&p, &options[k]);
                /* small entries carry the rounding errors of large ones */
                check_dense(&p, &options[k], options[k].refine ? 10 : 200);
                check_kept(&p);
                free_problem(&p);
            }
}

static void more_right_hand_sides_than_a_grid_has_blocks_are_solved(void **state)
{
    (void)state;
    problem p = make_problem(TRINE_S, 6, 65533);
    solve(&p, NULL);
    check_dense(&p, &(trine_gtsv_options){0}, 50);
    check_kept(&p);
    free_problem(&p);
}

static void empty_systems_and_no_columns_are_fine(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        problem p = make_problem(TRINE_D, k ? 0 : 4, k ? 3 : 0);
        for (int64_t j = 0; j <= p.nrhs; j++) p.kept_offsets[j] = 0;
        solve(&p, NULL);
        free_problem(&p);
    }
}

static void rows_outside_the_matrix_are_left_out(void **state)
{
    (void)state;
    problem p = make_problem(TRINE_D, 50, 4);
    for (int32_t k = 0; k < p.offsets[4]; k += 3) {
        const int64_t j = k < p.offsets[1] ? 0 : k < p.offsets[2] ? 1 : k < p.offsets[3] ? 2 : 3;
        put(TRINE_D, p.dense, p.rows[k] + j * p.ldx, 0);
        p.rows[k] = k % 2 ? -1 : 50;
    }
    solve(&p, NULL);
    check_dense(&p, &(trine_gtsv_options){0}, 50);
    free_problem(&p);
}

static void equal_entries_are_kept_from_above(void **state)
{
    (void)state;
    problem p = make_problem(TRINE_S, 2000, 2);
    for (int64_t i = 0; i < 3 * p.n; i++) put(TRINE_S, p.bands, i, i / p.n == 1);
    for (int32_t k = 0; k < 2000; k++) p.rows[k] = k, put(TRINE_S, p.values, k, k % 2 ? -1 : 1);
    p.offsets[1] = p.offsets[2] = 2000;
    p.kept_offsets[1] = 700, p.kept_offsets[2] = 720;
    solve(&p, NULL);
    for (int32_t k = 0; k < 700; k++) assert_int_equal(p.kept_rows[k], k);
    for (int32_t k = 0; k < 20; k++) assert_int_equal(p.kept_rows[700 + k], k); /* a column of zeros */
    free_problem(&p);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    if (test_on_gpu()) return; /* the checks are the same code */
    double x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int32_t rows[4] = {0}, offsets[2] = {0, 1};
    double work[64];
    size_t bytes;
    FAILS(TRINE_ERR_ARGUMENT, NULL, trine_gtsv_csc2csc_work_size(test_cpu(1), TRINE_D, 4, 1, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL, trine_gtsv_csc2csc_work_size(test_cpu(1), TRINE_D, -1, 1, NULL, &bytes));
    OK(trine_gtsv_csc2csc_work_size(test_cpu(1), TRINE_D, 4, 1, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, NULL, rows, offsets, x, 4, work, sizeof work,
                               NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, NULL, offsets, x, 4, work, sizeof work,
                               NULL));
    FAILS(
        TRINE_ERR_ARGUMENT, NULL,
        trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, NULL, x, 4, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, NULL, x, x, x, rows, offsets, x, 4, work, sizeof work,
                               NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, offsets, NULL, 4, work, sizeof work,
                               NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, offsets, x, 3, work, sizeof work,
                               NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2csc(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, offsets, NULL, rows, offsets, work,
                             sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2csc(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, NULL, x, rows, offsets, x, rows, offsets, work,
                             sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2csc(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, offsets, x, rows, offsets, work,
                             bytes - 1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2csc(test_cpu(1), TRINE_D, 4, 1, NULL, x, x, x, x, rows, offsets, x, rows, offsets, NULL, bytes,
                             NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_gtsv_csc2dense(test_cpu(1), TRINE_D, INT64_C(1) << 31, 1, NULL, x, x, x, x, rows, offsets, x,
                               INT64_C(1) << 31, work, sizeof work, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_right_hand_sides_are_solved_and_the_largest_entries_kept),
        cmocka_unit_test(every_op_scheme_and_option_solves_sparse_right_hand_sides),
        cmocka_unit_test(more_right_hand_sides_than_a_grid_has_blocks_are_solved),
        cmocka_unit_test(empty_systems_and_no_columns_are_fine),
        cmocka_unit_test(rows_outside_the_matrix_are_left_out),
        cmocka_unit_test(equal_entries_are_kept_from_above),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return TEST_MAIN(tests);
}
