/* Panels found in triangles that come without a partition: solves with them are judged by the triangle itself, in
 * long double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "panels_support.h"

/** Solve with the panels of a triangle for ops of the triangle itself. */
static void solve_and_check(trine_context ctx, trine_matrix A, trine_matrix given, trine_uplo uplo,
                            const trine_panels_options *options, trine_dtype t)
{
    trine_panels panels;
    trine_supernodal plan;
    OK(trine_panels_detect(ctx, given, options, &panels));
    const int64_t n = panels.n;
    for (int64_t s = 0; s < panels.n_panels; s++) {
        assert_true(panels.first_column[s + 1] > panels.first_column[s]);
        if (options && options->max_width)
            assert_true(panels.first_column[s + 1] - panels.first_column[s] <= options->max_width);
    }
    OK(trine_supernodal_analyse(ctx, &plan, &panels, &(trine_supernodal_options){.max_nrhs = 3}));
    OK(trine_supernodal_numeric(plan, TRINE_HOST, panels.values, NULL));
    OK(trine_supernodal_check(plan, NULL));
    const size_t element = trine_dtype_size(t);
    char *b = malloc((size_t)n * 3 * element + 1), *x = malloc((size_t)n * 3 * element + 1);
    for (int64_t i = 0; i < 3 * n; i++)
        put(t, b, i, 2 * test_uniform(9, (uint64_t)i) - 1 + test_uniform(10, (uint64_t)i) * _Complex_I);
    for EACH(o, ops) {
        if (uplo == TRINE_UPPER && ops[o] == TRINE_H) continue; /* conj(U^T) is no op of U^T */
        const trine_transpose plan_op = uplo == TRINE_LOWER ? ops[o] : ops[o] == TRINE_N ? TRINE_T : TRINE_N;
        for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2) {
            void *data = test_to_device(ctx, b, (size_t)(n * nrhs) * element);
            const trine_dense X = {.data = data, .rows = n, .cols = nrhs};
            OK(trine_supernodal_solve(plan, plan_op, NULL, &X, &X, NULL));
            test_from_device(ctx, x, data, (size_t)(n * nrhs) * element);
            test_release(ctx, data);
            assert_solved(A, uplo, options ? options->diag : TRINE_NONUNIT, t, ops[o], nrhs, x, b);
        }
    }
    free(b);
    free(x);
    trine_supernodal_destroy(&plan);
    trine_panels_free(ctx, &panels);
    assert_null(panels.values);
}

static void triangles_without_a_partition_are_solved(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 33, 90};
    static const double fills[] = {-1, 0, 0.6};
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for EACH(s, sizes)
            for (int upper = 0; upper < 2; upper++) {
                const trine_uplo uplo = upper ? TRINE_UPPER : TRINE_LOWER;
                trine_matrix A = random_triangle(ctx, all_dtypes[t], sizes[s], uplo, 40 + s), by_columns;
                OK(trine_matrix_copy(A, &by_columns, TRINE_HOST, TRINE_CSC, all_dtypes[t]));
                for EACH(f, fills) {
                    const trine_panels_options options = {
                        .fill = fills[f], .max_width = f == 2 ? 4 : 0, .uplo = sizes[s] > 2 ? TRINE_UPLO_AUTO : uplo};
                    solve_and_check(ctx, A, f == 1 ? by_columns : A, uplo, &options, all_dtypes[t]);
                }
                trine_matrix_destroy(&A);
                trine_matrix_destroy(&by_columns);
            }
    OK(trine_context_destroy(&ctx));
}

static void combined_factors_give_both_triangles(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(t, all_dtypes) {
        trine_matrix A = random_triangle(ctx, all_dtypes[t], 60, TRINE_UPLO_AUTO, 77);
        solve_and_check(ctx, A, A, TRINE_LOWER, &(trine_panels_options){.uplo = TRINE_LOWER, .diag = TRINE_UNIT},
                        all_dtypes[t]);
        solve_and_check(ctx, A, A, TRINE_UPPER, &(trine_panels_options){.uplo = TRINE_UPPER}, all_dtypes[t]);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void without_fill_no_zero_is_stored(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = random_triangle(ctx, TRINE_D, 80, TRINE_LOWER, 5);
    trine_matrix_info info;
    trine_panels panels;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_panels_detect(ctx, A, &(trine_panels_options){.fill = -1}, &panels));
    int64_t entries = 0;
    for (int64_t s = 0; s < panels.n_panels; s++) {
        const int64_t w = panels.first_column[s + 1] - panels.first_column[s],
                      h = panels.row_offsets[s + 1] - panels.row_offsets[s];
        entries += w * h - w * (w - 1) / 2;
    }
    assert_int_equal(entries, info.nnz);
    assert_true(panels.n_panels > 1 && panels.n_panels < 80);
    const int64_t exact = panels.n_panels;
    trine_panels_free(ctx, &panels);
    OK(trine_panels_detect(ctx, A, NULL, &panels));
    assert_true(panels.n_panels < exact);
    trine_panels_free(ctx, &panels);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void a_dense_triangle_is_one_panel(void **state)
{
    (void)state;
    enum { n = 40 };
    trine_context ctx = test_context();
    trine_matrix A;
    int64_t *offsets, at = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, n, n, n * (n + 1) / 2, &offsets, &columns, &values));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            columns[at] = j;
            ((double *)values)[at++] = i == j ? 2 : 1.0 / n;
        }
        offsets[i + 1] = at;
    }
    trine_panels panels;
    OK(trine_panels_detect(ctx, A, &(trine_panels_options){.fill = -1}, &panels));
    assert_int_equal(panels.n_panels, 1);
    trine_panels_free(ctx, &panels);
    OK(trine_panels_detect(ctx, A, &(trine_panels_options){.max_width = 7}, &panels));
    assert_int_equal(panels.n_panels, 6);
    trine_panels_free(ctx, &panels);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void a_real_factor_is_solved(void **state)
{
    (void)state;
    const char *path = test_real_matrix("ani4_amd_chol");
    trine_context ctx = test_context();
    trine_matrix A, L;
    OK(trine_matrix_read(ctx, &A, path, TRINE_D));
    OK(trine_matrix_copy(A, &L, TRINE_HOST, TRINE_CSR, TRINE_D));
    solve_and_check(ctx, L, L, TRINE_LOWER, NULL, TRINE_D);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&L);
    OK(trine_context_destroy(&ctx));
}

static void an_empty_triangle_has_no_panels(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_panels panels;
    trine_supernodal plan;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSC, TRINE_D, 0, 0, 0, NULL, NULL, NULL));
    OK(trine_panels_detect(ctx, A, NULL, &panels));
    assert_int_equal(panels.n_panels, 0);
    OK(trine_supernodal_analyse(ctx, &plan, &panels, NULL));
    trine_supernodal_destroy(&plan);
    trine_panels_free(ctx, &panels);
    trine_panels_free(ctx, NULL);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void what_is_no_triangle_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_panels p;
    trine_matrix full = random_triangle(ctx, TRINE_D, 20, TRINE_UPLO_AUTO, 3),
                 L = random_triangle(ctx, TRINE_D, 20, TRINE_LOWER, 3), wide_one, gap;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &wide_one, TRINE_CSR, TRINE_D, 2, 3, 0, NULL, NULL, NULL));
    OK(trine_matrix_allocate(ctx, &gap, TRINE_CSR, TRINE_D, 2, 2, 2, &offsets, &columns, &values));
    offsets[1] = 1;
    offsets[2] = 2;
    columns[0] = columns[1] = 0;
    ((double *)values)[0] = ((double *)values)[1] = 1;
    FAILS(TRINE_ERR_STRUCTURE, "neither lower nor upper", trine_panels_detect(ctx, full, NULL, &p));
    FAILS(TRINE_ERR_SINGULAR, "row 1 has no diagonal entry", trine_panels_detect(ctx, gap, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "2 x 3", trine_panels_detect(ctx, wide_one, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_panels_detect(NULL, L, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_panels_detect(ctx, NULL, NULL, &p));
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_panels_detect(ctx, L, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "fill limit of 1", trine_panels_detect(ctx, L, &(trine_panels_options){.fill = 1}, &p));
    FAILS(TRINE_ERR_ARGUMENT, "max_width", trine_panels_detect(ctx, L, &(trine_panels_options){.max_width = -1}, &p));
    FAILS(TRINE_ERR_ARGUMENT, "diag 5",
          trine_panels_detect(ctx, L, &(trine_panels_options){.diag = (trine_diag)5}, &p));
    FAILS(TRINE_ERR_ARGUMENT, "uplo 7",
          trine_panels_detect(ctx, L, &(trine_panels_options){.uplo = (trine_uplo)7}, &p));
    assert_null(p.values);
    OK(trine_panels_detect(ctx, gap, &(trine_panels_options){.diag = TRINE_UNIT}, &p));
    trine_panels_free(ctx, &p);
    trine_matrix_destroy(&full);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&wide_one);
    trine_matrix_destroy(&gap);
    OK(trine_context_destroy(&ctx));
}

static void bad_diagonals_are_named_by_row(void **state)
{
    (void)state;
    static const double bad[] = {0, NAN};
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for EACH(v, bad) {
            trine_matrix L = random_triangle(ctx, all_dtypes[t], 50, TRINE_LOWER, 8);
            const int64_t *offsets;
            const void *values;
            OK(trine_matrix_get_arrays(L, &offsets, NULL, &values));
            put(all_dtypes[t], (void *)values, offsets[38] - 1, bad[v]); /* the diagonal is a row's last entry */
            trine_panels panels;
            trine_supernodal plan;
            OK(trine_panels_detect(ctx, L, NULL, &panels));
            OK(trine_supernodal_analyse(ctx, &plan, &panels, NULL));
            FAILS(TRINE_ERR_STATE, "comes after numeric", trine_supernodal_check(plan, NULL));
            OK(trine_supernodal_numeric(plan, TRINE_HOST, panels.values, NULL));
            FAILS(TRINE_ERR_SINGULAR, "row 37", trine_supernodal_check(plan, NULL));
            trine_supernodal_destroy(&plan);
            trine_panels_free(ctx, &panels);
            trine_matrix_destroy(&L);
        }
    OK(trine_context_destroy(&ctx));
}

static void an_update_takes_the_analysed_structure_only(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix L = random_triangle(ctx, TRINE_D, 50, TRINE_LOWER, 8),
                 M = random_triangle(ctx, TRINE_D, 50, TRINE_LOWER, 9),
                 C = random_triangle(ctx, TRINE_C, 50, TRINE_LOWER, 8),
                 K = random_triangle(ctx, TRINE_D, 49, TRINE_LOWER, 8);
    trine_panels of_L, of_M, of_C, of_K;
    trine_supernodal plan;
    OK(trine_panels_detect(ctx, L, NULL, &of_L));
    OK(trine_panels_detect(ctx, M, NULL, &of_M));
    OK(trine_panels_detect(ctx, C, NULL, &of_C));
    OK(trine_panels_detect(ctx, K, NULL, &of_K));
    OK(trine_supernodal_analyse(ctx, &plan, &of_L, NULL));
    OK(trine_supernodal_update(plan, &of_L, NULL));
    FAILS(TRINE_ERR_STRUCTURE, NULL, trine_supernodal_update(plan, &of_M, NULL));
    FAILS(TRINE_ERR_STRUCTURE, "were analysed", trine_supernodal_update(plan, &of_K, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "dtype", trine_supernodal_update(plan, &of_C, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_supernodal_update(NULL, &of_L, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_supernodal_update(plan, NULL, NULL));
    int32_t *rows = (int32_t *)of_L.rows, *last = NULL; /* one row elsewhere, all counts the same */
    for (int64_t s = 0; s < of_L.n_panels && !last; s++) {
        int32_t *end = &rows[of_L.row_offsets[s + 1] - 1];
        if (*end < 49 &&
            of_L.row_offsets[s + 1] - of_L.row_offsets[s] > of_L.first_column[s + 1] - of_L.first_column[s])
            last = end;
    }
    assert_non_null(last);
    ++*last;
    FAILS(TRINE_ERR_STRUCTURE, "the structure of panel", trine_supernodal_update(plan, &of_L, NULL));
    --*last;
    OK(trine_supernodal_check(plan, NULL)); /* still whole */
    OK(trine_supernodal_update(plan, &of_L, NULL));
    trine_supernodal_destroy(&plan);
    trine_panels_free(ctx, &of_L);
    trine_panels_free(ctx, &of_M);
    trine_panels_free(ctx, &of_C);
    trine_panels_free(ctx, &of_K);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&M);
    trine_matrix_destroy(&C);
    trine_matrix_destroy(&K);
    OK(trine_context_destroy(&ctx));
}

static void levels_add_up_to_the_plan(void **state)
{
    (void)state;
    static const double fills[] = {-1, 0};
    trine_context ctx = test_context();
    trine_matrix L = random_triangle(ctx, TRINE_D, 90, TRINE_LOWER, 12);
    trine_panels panels;
    OK(trine_panels_detect(ctx, L, &(trine_panels_options){.fill = -1}, &panels));
    for EACH(f, fills) {
        trine_supernodal plan;
        trine_supernodal_info info;
        OK(trine_supernodal_analyse(ctx, &plan, &panels, &(trine_supernodal_options){.fill = fills[f]}));
        OK(trine_supernodal_get_info(plan, &info));
        trine_supernodal_level *levels = calloc((size_t)info.levels_merged, sizeof *levels);
        OK(trine_supernodal_get_levels(plan, info.levels_merged, levels));
        int64_t count = 0, entries = 0, fewest = INT64_MAX, most = 0;
        double columns = 0;
        for (int64_t k = 0; k < info.levels_merged; k++) {
            const trine_supernodal_level *l = &levels[k];
            count += l->panels;
            entries += l->entries;
            columns += l->mean_width * (double)l->panels;
            if (l->panels < fewest) fewest = l->panels;
            if (l->panels > most) most = l->panels;
            assert_true(l->panels > 0 && l->min_width >= 1 && l->min_width <= l->max_width &&
                        l->min_height <= l->max_height);
            assert_true((double)l->min_height <= l->mean_height && l->mean_height <= (double)l->max_height);
        }
        assert_int_equal(count, info.panels_merged);
        assert_int_equal(entries, info.nnz_merged);
        assert_int_equal(fewest, info.min_panels_per_level);
        assert_int_equal(most, info.max_panels_per_level);
        assert_true(fabs(columns - 90) < 1e-9);
        FAILS(TRINE_ERR_ARGUMENT, "levels", trine_supernodal_get_levels(plan, info.levels_merged + 1, levels));
        FAILS(TRINE_ERR_ARGUMENT, "levels is NULL", trine_supernodal_get_levels(plan, info.levels_merged, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_supernodal_get_levels(NULL, info.levels_merged, levels));
        free(levels);
        trine_supernodal_destroy(&plan);
    }
    trine_panels_free(ctx, &panels);
    trine_matrix_destroy(&L);
    OK(trine_context_destroy(&ctx));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int k = 1;; k++) {
        trine_context ctx;
        test_memory memory = {0};
        OK(trine_context_create(&ctx, "cpu"));
        test_fail_allocations(ctx, &memory);
        trine_matrix L = random_triangle(ctx, TRINE_D, 20, TRINE_LOWER, 2);
        trine_panels panels;
        memory.fail_at = memory.calls + k;
        const trine_status status = trine_panels_detect(ctx, L, NULL, &panels);
        const bool failed = memory.calls >= memory.fail_at;
        assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
        trine_panels_free(ctx, &panels);
        trine_matrix_destroy(&L);
        OK(trine_context_destroy(&ctx));
        assert_int_equal(memory.live, 0);
        if (!failed) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(triangles_without_a_partition_are_solved),
                                       cmocka_unit_test(combined_factors_give_both_triangles),
                                       cmocka_unit_test(without_fill_no_zero_is_stored),
                                       cmocka_unit_test(a_dense_triangle_is_one_panel),
                                       cmocka_unit_test(a_real_factor_is_solved),
                                       cmocka_unit_test(an_empty_triangle_has_no_panels),
                                       cmocka_unit_test(what_is_no_triangle_is_refused),
                                       cmocka_unit_test(bad_diagonals_are_named_by_row),
                                       cmocka_unit_test(an_update_takes_the_analysed_structure_only),
                                       cmocka_unit_test(levels_add_up_to_the_plan),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return TEST_MAIN(tests);
}
