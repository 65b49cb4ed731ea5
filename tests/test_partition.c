/* Plans from triangles in CSR and CSC with a given partition into supernodes: solves are judged by the triangle, in
 * long double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "panels_support.h"

/** Columns 0..n-1 in supernodes of a random width up to `most`; returns how many there are. */
static int64_t random_partition(int64_t n, int64_t most, uint64_t seed, int32_t *first)
{
    int64_t count = 0;
    for (int64_t j = 0; j < n; count++) {
        first[count] = (int32_t)j;
        j += 1 + (int64_t)(test_uniform(seed, (uint64_t)count) * (double)most);
    }
    first[count] = (int32_t)n;
    return count;
}

static const void *values_of(trine_matrix A)
{
    const void *values;
    OK(trine_matrix_get_arrays(A, NULL, NULL, &values));
    return values;
}

static int64_t entries_of(trine_matrix A)
{
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    return info.nnz;
}

/** op(T)^-1 b for one and three right-hand sides by a plan that has values, with alpha = 1 and another one. */
static void check_solves(trine_context ctx, trine_supernodal plan, trine_matrix A, trine_uplo uplo, trine_diag diag,
                         trine_dtype t, int64_t n)
{
    const size_t element = trine_dtype_size(t);
    char *b = malloc((size_t)n * 3 * element + 1), *x = malloc((size_t)n * 3 * element + 1),
         *scaled = malloc((size_t)n * 3 * element + 1), alpha[16];
    const double complex factor = trine_dtype_is_complex(t) ? 0.5 - 2 * _Complex_I : -2;
    put(t, alpha, 0, factor);
    for (int64_t i = 0; i < 3 * n; i++) {
        put(t, b, i, 2 * test_uniform(9, (uint64_t)i) - 1 + test_uniform(10, (uint64_t)i) * _Complex_I);
        put(t, scaled, i, factor * (double complex)get(t, b, i));
    }
    for EACH(o, ops)
        for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
            for (int in_place = 0; in_place < 2; in_place++) {
                const size_t bytes = (size_t)(n * nrhs) * element;
                void *from = test_to_device(ctx, b, bytes), *to = in_place ? from : test_to_device(ctx, b, bytes);
                const trine_dense B = {.data = from, .rows = n, .cols = nrhs},
                                  X = {.data = to, .rows = n, .cols = nrhs};
                OK(trine_supernodal_solve(plan, ops[o], in_place ? alpha : NULL, &B, &X, NULL));
                test_from_device(ctx, x, to, bytes);
                assert_solved(A, uplo, diag, t, ops[o], nrhs, x, in_place ? scaled : b);
                if (!in_place) {
                    test_from_device(ctx, x, from, bytes);
                    assert_memory_equal(x, b, bytes);
                    test_release(ctx, to);
                }
                test_release(ctx, from);
            }
    free(b);
    free(x);
    free(scaled);
}

/** A plan from `given` (A in any format), values from the host and, on a GPU, from the device. */
static void solve_with_partition(trine_context ctx, trine_matrix A, trine_matrix given, trine_dtype t,
                                 int64_t n_supernodes, const int32_t *first, trine_uplo uplo,
                                 const trine_panels_options *how, const trine_supernodal_options *options)
{
    trine_supernodal plan;
    trine_matrix_info info;
    trine_supernodal_info plan_info;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_supernodal_analyse_triangle(ctx, &plan, given, n_supernodes, first, how, options));
    OK(trine_supernodal_numeric(plan, TRINE_HOST, values_of(given), NULL));
    OK(trine_supernodal_check(plan, NULL));
    check_solves(ctx, plan, A, uplo, how ? how->diag : TRINE_NONUNIT, t, info.n_rows);
    OK(trine_supernodal_get_info(plan, &plan_info));
    assert_true(plan_info.nnz_triangle <= plan_info.nnz && plan_info.nnz <= plan_info.nnz_merged);
    if (test_on_gpu()) {
        const size_t bytes = (size_t)info.nnz * trine_dtype_size(t);
        void *device = test_to_device(ctx, values_of(given), bytes);
        OK(trine_supernodal_numeric(plan, TRINE_DEVICE, device, NULL));
        OK(trine_supernodal_check(plan, NULL));
        test_release(ctx, device);
        check_solves(ctx, plan, A, uplo, how ? how->diag : TRINE_NONUNIT, t, info.n_rows);
    }
    trine_supernodal_destroy(&plan);
}

static void every_triangle_is_solved(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 33, 90};
    trine_context ctx = test_context();
    int32_t first[100];
    for EACH(t, all_dtypes)
        for EACH(s, sizes)
            for (int upper = 0; upper < 2; upper++) {
                const trine_uplo uplo = upper ? TRINE_UPPER : TRINE_LOWER;
                trine_matrix A = random_triangle(ctx, all_dtypes[t], sizes[s], uplo, 20 + s), by_columns;
                OK(trine_matrix_copy(A, &by_columns, TRINE_HOST, TRINE_CSC, all_dtypes[t]));
                /* single columns, small ones, all of them */
                for (int64_t most = 1; most <= 100; most = most == 1 ? 9 : most + 91) {
                    const int64_t count = most == 100 ? (first[0] = 0, first[1] = sizes[s], 1)
                                                      : random_partition(sizes[s], most, s, first);
                    const trine_panels_options how = {.uplo = sizes[s] > 2 ? TRINE_UPLO_AUTO : uplo};
                    const trine_supernodal_options options = {.max_nrhs = 3, .fill = most == 9 ? -1 : 0};
                    solve_with_partition(ctx, A, most == 9 ? by_columns : A, all_dtypes[t], count, first, uplo, &how,
                                         &options);
                }
                trine_matrix_destroy(&A);
                trine_matrix_destroy(&by_columns);
            }
    OK(trine_context_destroy(&ctx));
}

static void every_way_of_solving_takes_it(void **state)
{
    (void)state;
    static const trine_supernodal_options options[] = {
        {.max_nrhs = 3, .invert = TRINE_INVERT_OFF},    {.max_nrhs = 3, .invert = TRINE_INVERT_DIAG},
        {.max_nrhs = 3, .invert = TRINE_INVERT_FULL},   {.max_nrhs = 3, .variant = TRINE_VARIANT_TEAM},
        {.max_nrhs = 3, .variant = TRINE_VARIANT_SPMV}, {.max_nrhs = 3, .access = TRINE_ACCESS_PULL}};
    trine_context ctx = test_context();
    int32_t first[100];
    const int64_t count = random_partition(80, 12, 4, first);
    for EACH(o, options)
        for (int upper = 0; upper < 2; upper++) {
            const trine_uplo uplo = upper ? TRINE_UPPER : TRINE_LOWER;
            trine_matrix A = random_triangle(ctx, TRINE_Z, 80, uplo, 31);
            solve_with_partition(ctx, A, A, TRINE_Z, count, first, uplo, NULL, &options[o]);
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

static void combined_factors_give_both_triangles(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int32_t first[100];
    const int64_t count = random_partition(60, 7, 1, first);
    for EACH(t, all_dtypes) {
        trine_matrix A = random_triangle(ctx, all_dtypes[t], 60, TRINE_UPLO_AUTO, 77);
        const trine_supernodal_options options = {.max_nrhs = 3};
        solve_with_partition(ctx, A, A, all_dtypes[t], count, first, TRINE_LOWER,
                             &(trine_panels_options){.uplo = TRINE_LOWER, .diag = TRINE_UNIT}, &options);
        solve_with_partition(ctx, A, A, all_dtypes[t], count, first, TRINE_UPPER,
                             &(trine_panels_options){.uplo = TRINE_UPPER}, &options);
        solve_with_partition(ctx, A, A, all_dtypes[t], 0, NULL, TRINE_UPPER,
                             &(trine_panels_options){.uplo = TRINE_UPPER, .diag = TRINE_UNIT}, &options);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** The pattern alone, in any order, from the host or the device; values that change. */
static void numeric_takes_values_in_the_order_of_T(void **state)
{
    (void)state;
    enum { n = 50 };
    trine_context ctx = test_context();
    int32_t first[n + 1];
    const int64_t count = random_partition(n, 6, 2, first);
    trine_matrix L = random_triangle(ctx, TRINE_D, n, TRINE_LOWER, 12), turned, pattern;
    const int64_t nnz = entries_of(L), *offsets;
    const int32_t *columns;
    int64_t *to_offsets;
    int32_t *to_columns;
    void *to;
    OK(trine_matrix_get_arrays(L, &offsets, &columns, NULL));
    OK(trine_matrix_allocate(ctx, &turned, TRINE_CSR, TRINE_D, n, n, nnz, &to_offsets, &to_columns, &to));
    memcpy(to_offsets, offsets, (n + 1) * sizeof *offsets);
    const double *from = values_of(L);
    double *values = to;
    for (int i = 0; i < n; i++) /* rows from right to left */
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            to_columns[offsets[i] + offsets[i + 1] - 1 - k] = columns[k];
            values[offsets[i] + offsets[i + 1] - 1 - k] = from[k];
        }
    void *device_offsets = test_to_device(ctx, to_offsets, (n + 1) * sizeof *to_offsets);
    void *device_columns = test_to_device(ctx, to_columns, (size_t)nnz * sizeof *to_columns);
    OK(trine_matrix_csr(ctx, &pattern, TRINE_D, n, n, nnz, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, 64,
                        device_offsets, 32, device_columns, NULL));
    trine_supernodal plan;
    OK(trine_supernodal_analyse_triangle(ctx, &plan, pattern, count, first, NULL,
                                         &(trine_supernodal_options){.max_nrhs = 3}));
    trine_matrix_destroy(&pattern);
    test_release(ctx, device_offsets);
    test_release(ctx, device_columns);
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_supernodal_check(plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "values is NULL", trine_supernodal_numeric(plan, TRINE_HOST, NULL, NULL));
    for (int round = 0; round < 3; round++) {
        for (int64_t k = 0; k < nnz; k++) values[k] *= 1 + test_uniform(3, (uint64_t)(k + round * nnz));
        OK(trine_supernodal_numeric(plan, TRINE_HOST, values, NULL));
        check_solves(ctx, plan, turned, TRINE_LOWER, TRINE_NONUNIT, TRINE_D, n);
    }
    values[offsets[37]] = 0; /* the diagonal comes first */
    OK(trine_supernodal_numeric(plan, TRINE_HOST, values, NULL));
    FAILS(TRINE_ERR_SINGULAR, "row 37", trine_supernodal_check(plan, NULL));
    trine_supernodal_destroy(&plan);
    trine_matrix_destroy(&turned);
    trine_matrix_destroy(&L);
    OK(trine_context_destroy(&ctx));
}

/** Panels of a given partition are those of the plan, whose update takes them. */
static void an_update_takes_panels_of_the_same_partition(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int32_t first[100], other[100];
    const int64_t count = random_partition(70, 6, 2, first), others = random_partition(70, 6, 3, other);
    trine_matrix U = random_triangle(ctx, TRINE_C, 70, TRINE_UPPER, 6);
    trine_panels panels;
    trine_supernodal plan;
    OK(trine_supernodal_analyse_triangle(ctx, &plan, U, count, first, NULL,
                                         &(trine_supernodal_options){.max_nrhs = 3}));
    OK(trine_panels_from_partition(ctx, U, others, other, NULL, &panels));
    FAILS(TRINE_ERR_STRUCTURE, NULL, trine_supernodal_update(plan, &panels, NULL));
    trine_panels_free(ctx, &panels);
    OK(trine_panels_from_partition(ctx, U, count, first, NULL, &panels));
    assert_int_equal(panels.n_panels, count);
    assert_memory_equal(panels.first_column, first, (size_t)(count + 1) * sizeof *first);
    OK(trine_supernodal_update(plan, &panels, NULL));
    check_solves(ctx, plan, U, TRINE_UPPER, TRINE_NONUNIT, TRINE_C, 70);
    trine_panels_free(ctx, &panels);
    trine_supernodal_destroy(&plan);
    trine_matrix_destroy(&U);
    OK(trine_context_destroy(&ctx));
}

/** Zeros are counted; options bound them by cutting supernodes, never across the boundaries given. */
static void padding_is_counted_and_bounded(void **state)
{
    (void)state;
    enum { n = 90 };
    static const double fills[] = {0, -1, 0.1, 0.5};
    static const int64_t widths[] = {0, 3};
    trine_context ctx = test_context();
    int32_t first[n + 1];
    const int64_t count = random_partition(n, 20, 8, first);
    trine_matrix L = random_triangle(ctx, TRINE_D, n, TRINE_LOWER, 15);
    for EACH(f, fills)
        for EACH(w, widths) {
            const trine_panels_options how = {.fill = fills[f], .max_width = widths[w]};
            trine_panels panels;
            trine_supernodal plan;
            trine_supernodal_info info;
            OK(trine_panels_from_partition(ctx, L, count, first, &how, &panels));
            OK(trine_supernodal_analyse_triangle(ctx, &plan, L, count, first, &how,
                                                 &(trine_supernodal_options){.fill = -1}));
            OK(trine_supernodal_get_info(plan, &info));
            int64_t zeros = 0, entries = 0, boundary = 0;
            for (int64_t s = 0; s < panels.n_panels; s++) {
                const int64_t width = panels.first_column[s + 1] - panels.first_column[s],
                              height = panels.row_offsets[s + 1] - panels.row_offsets[s];
                const double *v = (const double *)panels.values + panels.value_offsets[s];
                int64_t own = 0;
                for (int64_t c = 0; c < width; c++)
                    for (int64_t r = c; r < height; r++) own += v[r + c * height] == 0; /* no stored entry is zero */
                zeros += own;
                entries += width * height - width * (width - 1) / 2;
                if (widths[w]) assert_true(width <= widths[w]);
                if (fills[f] != 0)
                    assert_true((double)own <=
                                (fills[f] > 0 ? fills[f] : 0) * (double)(width * height - width * (width - 1) / 2));
                assert_true(panels.first_column[s] <= first[boundary]);
                boundary += panels.first_column[s] == first[boundary];
            }
            assert_int_equal(boundary, count);
            assert_int_equal(info.panels, panels.n_panels);
            assert_int_equal(info.nnz, entries);
            assert_int_equal(info.nnz_triangle, entries_of(L));
            assert_int_equal(info.nnz - info.nnz_triangle, zeros);
            if (fills[f] < 0) assert_int_equal(zeros, 0);
            if (fills[f] == 0) assert_true(zeros > 0 && (widths[w] || panels.n_panels == count));
            trine_panels_free(ctx, &panels);
            trine_supernodal_destroy(&plan);
        }
    trine_matrix_destroy(&L);
    OK(trine_context_destroy(&ctx));
}

static void malformed_partitions_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        int32_t first[4];
        const char *sentence;
    } bad[] = {{2, {1, 3, 5}, "starts at column 1, not at 0"},
               {2, {0, 3, 4}, "ends at column 4, but T has 5"},
               {2, {0, 3, 6}, "ends at column 6, but T has 5"},
               {3, {0, 3, 3, 5}, "supernode 1 starts at column 3 and the next one at 3"},
               {3, {0, 4, 2, 5}, "supernode 1 starts at column 4 and the next one at 2"},
               {3, {0, 2, -7, 5}, "supernode 1 starts at column 2 and the next one at -7"},
               {0, {0}, "no supernodes for 5 columns"}};
    static const int32_t whole[] = {0, 2, 5};
    trine_context ctx = test_context();
    trine_matrix L = random_triangle(ctx, TRINE_D, 5, TRINE_LOWER, 3),
                 full = random_triangle(ctx, TRINE_D, 5, TRINE_UPLO_AUTO, 77), gap, twice, wide_one;
    trine_panels p;
    trine_supernodal plan;
    for EACH(k, bad) {
        FAILS(TRINE_ERR_STRUCTURE, bad[k].sentence,
              trine_panels_from_partition(ctx, L, bad[k].count, bad[k].first, NULL, &p));
        FAILS(TRINE_ERR_STRUCTURE, bad[k].sentence,
              trine_supernodal_analyse_triangle(ctx, &plan, L, bad[k].count, bad[k].first, NULL, NULL));
        assert_null(p.values);
        assert_null(plan);
    }
    int64_t offsets[] = {0, 1, 2, 3, 4, 5};
    int32_t missing[] = {0, 1, 2, 0, 4}, doubled_rows[] = {0, 1, 2, 3, 1, 1, 4};
    int64_t doubled[] = {0, 1, 2, 3, 4, 7};
    double values[7] = {1, 1, 1, 1, 1, 1, 1};
    OK(trine_matrix_csr(ctx, &gap, TRINE_D, 5, 5, 5, TRINE_HOST, 64, offsets, 32, missing, values));
    OK(trine_matrix_csr(ctx, &twice, TRINE_D, 5, 5, 7, TRINE_HOST, 64, doubled, 32, doubled_rows, values));
    OK(trine_matrix_allocate(ctx, &wide_one, TRINE_CSR, TRINE_D, 2, 3, 0, NULL, NULL, NULL));
    const char *no_diagonal =
        "row 3 has no diagonal entry: the diagonal block of supernode 1 (columns 2 to 4) is singular";
    FAILS(TRINE_ERR_SINGULAR, no_diagonal, trine_panels_from_partition(ctx, gap, 2, whole, NULL, &p));
    FAILS(TRINE_ERR_SINGULAR, no_diagonal, trine_supernodal_analyse_triangle(ctx, &plan, gap, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_STRUCTURE, "row 4 of T has column 1 twice",
          trine_supernodal_analyse_triangle(ctx, &plan, twice, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_STRUCTURE, "neither lower nor upper",
          trine_supernodal_analyse_triangle(ctx, &plan, full, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "2 x 3", trine_supernodal_analyse_triangle(ctx, &plan, wide_one, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "first_column is NULL", trine_panels_from_partition(ctx, L, 2, NULL, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "first_column is NULL",
          trine_supernodal_analyse_triangle(ctx, &plan, L, 2, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "-1 supernodes", trine_panels_from_partition(ctx, L, -1, whole, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "-1 supernodes", trine_supernodal_analyse_triangle(ctx, &plan, L, -1, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_supernodal_analyse_triangle(NULL, &plan, L, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_supernodal_analyse_triangle(ctx, &plan, NULL, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_supernodal_analyse_triangle(ctx, NULL, L, 2, whole, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "fill limit of 1",
          trine_supernodal_analyse_triangle(ctx, &plan, L, 2, whole, &(trine_panels_options){.fill = 1}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "streams",
          trine_supernodal_analyse_triangle(ctx, &plan, L, 2, whole, NULL, &(trine_supernodal_options){.streams = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_panels_from_partition(NULL, L, 2, whole, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_panels_from_partition(ctx, NULL, 2, whole, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_panels_from_partition(ctx, L, 2, whole, NULL, NULL));
    /* a unit triangle needs no diagonal entries, and duplicates of panels with values are summed */
    OK(trine_supernodal_analyse_triangle(ctx, &plan, gap, 2, whole, &(trine_panels_options){.diag = TRINE_UNIT}, NULL));
    trine_supernodal_destroy(&plan);
    OK(trine_panels_from_partition(ctx, twice, 2, whole, NULL, &p));
    assert_true(((const double *)p.values)[p.value_offsets[0] + (p.row_offsets[1] - p.row_offsets[0]) + 2] == 2);
    trine_panels_free(ctx, &p);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&full);
    trine_matrix_destroy(&gap);
    trine_matrix_destroy(&twice);
    trine_matrix_destroy(&wide_one);
    OK(trine_context_destroy(&ctx));
}

static void an_empty_triangle_is_solved(void **state)
{
    (void)state;
    static const int32_t none[] = {0};
    trine_context ctx = test_context();
    trine_matrix A;
    trine_supernodal plan;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSC, TRINE_D, 0, 0, 0, NULL, NULL, NULL));
    OK(trine_supernodal_analyse_triangle(ctx, &plan, A, 0, none, NULL, NULL));
    OK(trine_supernodal_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_supernodal_solve(plan, TRINE_H, NULL, &(trine_dense){.cols = 1}, &(trine_dense){.cols = 1}, NULL));
    trine_supernodal_destroy(&plan);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_triangle_is_solved),
        cmocka_unit_test(every_way_of_solving_takes_it),
        cmocka_unit_test(combined_factors_give_both_triangles),
        cmocka_unit_test(numeric_takes_values_in_the_order_of_T),
        cmocka_unit_test(an_update_takes_panels_of_the_same_partition),
        cmocka_unit_test(padding_is_counted_and_bounded),
        cmocka_unit_test(malformed_partitions_are_refused),
        cmocka_unit_test(an_empty_triangle_is_solved),
    };
    return TEST_MAIN(tests);
}
