/* Factorizations: L U is the matrix, permuted and scaled; new values; whatever shape it has. */
#include <math.h>
#include <string.h>

#include "direct_support.h"

static void factors_multiply_to_the_permuted_and_scaled_matrix(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 31, 90};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(s, sizes)
            for EACH(t, all_dtypes)
                for (int ordering = TRINE_ORDERING_AUTO; ordering <= TRINE_ORDERING_NATURAL; ordering++) {
                    if (is_cholesky(methods[m]) && ordering == TRINE_ORDERING_COLAMD) continue;
                    trine_matrix A = random_matrix(ctx, all_dtypes[t], sizes[s], 3, is_cholesky(methods[m]), 7 * s + t);
                    trine_factor F;
                    trine_factor_info info;
                    OK(trine_factor_create(
                        ctx, &F, A,
                        &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering}));
                    OK(trine_factor_get_info(F, &info));
                    assert_int_equal(info.method, methods[m]);
                    /* UMFPACK takes singletons out first, and another ordering where the diagonal is no pivot
                     * sequence. */
                    if (ordering && methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_int_equal(info.ordering, ordering);
                    assert_int_equal(info.dtype,
                                     all_dtypes[t] == TRINE_S || all_dtypes[t] == TRINE_D ? TRINE_D : TRINE_Z);
                    assert_true(info.fill > 0 && info.nnz_L >= info.n && info.nnz_U >= info.n);
                    assert_identity(F, A);
                    assert_panels(F);
                    trine_matrix_destroy(&A); /* the factor stands without it */
                    OK(trine_factor_destroy(&F));
                }
    OK(trine_context_destroy(&ctx));
}

static void wide_supernodes_keep_the_identity(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods) {
        trine_matrix A = random_matrix(ctx, TRINE_Z, 150, 40, is_cholesky(methods[m]), 3); /* nearly dense */
        trine_factor F;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
        assert_identity(F, A);
        assert_panels(F);
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void a_symmetric_grid_gives_cholesky_by_itself(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_factor F;
    trine_factor_info info;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=13,ny=17", TRINE_D));
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_CHOLESKY);
    assert_non_null(strstr(info.reason, "positive diagonal"));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);

    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}); /* indefinite */
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_non_null(strstr(info.reason, "not positive definite"));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);

    A = MATRIX(ctx, 2, {0, 0, -1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1});
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_non_null(strstr(info.reason, "a diagonal entry is not positive"));
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);

    A = MATRIX(ctx, 2, {0, 1, 2}, {1, 0, 3});
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_non_null(strstr(info.reason, "A is not Hermitian"));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void an_empty_matrix_has_an_empty_factor(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, T;
    trine_panels P;
    trine_factor_info info;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_Z, 0, 0, 0, NULL, NULL, NULL));
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LU_UMFPACK; method++) {
        trine_factor F;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = (trine_direct_method)method}));
        OK(trine_factor_get_info(F, &info));
        assert_int_equal(info.n, 0);
        assert_int_equal(info.nnz_L, 0);
        OK(trine_factor_get_triangle(F, TRINE_LOWER, &T));
        trine_matrix_destroy(&T);
        if (info.method == TRINE_DIRECT_CHOLESKY || info.method == TRINE_DIRECT_LU) {
            OK(trine_factor_get_panels(F, TRINE_LOWER, &P));
            assert_int_equal(P.n_panels, 0);
            assert_int_equal(P.first_column[0], 0);
        }
        OK(trine_factor_update(F, A));
        OK(trine_factor_destroy(&F));
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void duplicates_are_summed_and_unsorted_rows_allowed(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 1, 1}, {0, 0, 1}, {0, 0, 3}, {1, 1, 5}, {1, 0, 1});
    trine_factor F;
    trine_factor_info info;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.nnz_matrix, 4);
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void new_values_give_a_new_factor_with_the_same_ordering(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], 60, 3, is_cholesky(methods[m]), t);
            trine_matrix B = rescaled(ctx, A, 9);
            trine_factor F;
            const int32_t *q;
            int32_t before[60];
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
            OK(trine_factor_get_permutations(F, NULL, &q, NULL, NULL));
            memcpy(before, q, sizeof before);
            for (int times = 0; times < 3; times++) {
                OK(trine_factor_update(F, times == 1 ? A : B));
                assert_identity(F, times == 1 ? A : B);
                assert_panels(F);
                OK(trine_factor_get_permutations(F, NULL, &q, NULL, NULL));
                if (methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_memory_equal(before, q, sizeof before);
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

/** LU takes the ordering from SuiteSparse itself, Cholesky from CHOLMOD: with the diagonal as pivots both have as
 *  many entries. */
static void symmetric_orderings_of_lu_are_those_of_cholesky(void **state)
{
    (void)state;
    static const trine_ordering orderings[] = {TRINE_ORDERING_METIS, TRINE_ORDERING_AMD};
    trine_context ctx = test_context();
    trine_matrix A;
    int64_t entries[2][2];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=40,ny=41", TRINE_D));
    for EACH(o, orderings)
        for (int lu = 0; lu <= 1; lu++) {
            trine_factor F;
            trine_factor_info info;
            OK(trine_factor_create(
                ctx, &F, A,
                &(trine_factor_options){.method = lu ? TRINE_DIRECT_LU : TRINE_DIRECT_CHOLESKY_SIMPLICIAL,
                                        .ordering = orderings[o],
                                        .pivot_threshold = 1e-12}));
            OK(trine_factor_get_info(F, &info));
            entries[o][lu] = info.nnz_L;
            OK(trine_factor_destroy(&F));
        }
    print_message("METIS: %lld, %lld, AMD: %lld, %lld\n", (long long)entries[0][0], (long long)entries[0][1],
                  (long long)entries[1][0], (long long)entries[1][1]);
    assert_int_equal(entries[0][0], entries[0][1]);
    assert_int_equal(entries[1][0], entries[1][1]);
    assert_true(entries[0][0] != entries[1][0]);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

enum { half = 1500, hub_rows = 2 * half, hub_n = hub_rows + 3, tail_step = 75 };

static double hub_diagonal(int j) { return 1 + test_uniform(1, (uint64_t)j); }
static double hub_coupling(int j) { return test_uniform(2, (uint64_t)j) - .5; }
static double tail_coupling(int j) { return j < half && j % tail_step == 0 ? test_uniform(3, (uint64_t)j) + 1 : 0; }

/** The lower triangle's entry (i,j): diagonal, but for two dense rows, the first with entries in the first half of
 *  the columns, the second in the second half, and a last row with few, in the first half. */
static double hub_entry(int i, int j)
{
    if (i < hub_rows) return i == j ? hub_diagonal(i) : 0;
    if (j >= hub_rows && i != j) return i == hub_rows + 1 ? .25 : 0;
    if (i == hub_n - 1) return i == j ? 100 : tail_coupling(j);
    if (i != j) return j / half == i - hub_rows ? hub_coupling(j) : 0;
    double sum = 0; /* of the squares of L(i,:); little is left in the end */
    for (int k = 0; k < hub_rows; k++)
        sum += k / half == i - hub_rows ? hub_coupling(k) * hub_coupling(k) / hub_diagonal(k) : 0;
    return sum + (i == hub_rows ? 16 : .01);
}

static trine_matrix make_hubs(trine_context ctx)
{
    trine_matrix triangle, A;
    int64_t *offsets, nnz = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &triangle, TRINE_CSR, TRINE_D, hub_n, hub_n, 2 * hub_rows + half / tail_step + 4,
                             &offsets, &columns, &values));
    for (int i = 0; i < hub_n; i++) {
        for (int j = i < hub_rows ? i : 0; j <= i; j++) {
            const double v = hub_entry(i, j);
            if (v == 0) continue;
            columns[nnz] = j;
            ((double *)values)[nnz++] = v;
        }
        offsets[i + 1] = nnz;
    }
    assert_int_equal(nnz, 2 * hub_rows + half / tail_step + 4);
    OK(trine_matrix_expand(triangle, &A, TRINE_SYMMETRIC));
    trine_matrix_destroy(&triangle);
    return A;
}

/** Dense rows of L are those of the definition, in long double: y = L^-1 a, L(i,i) = sqrt(a_ii - y^T y); other rows
 *  stay as they are, also in columns in which they stand where the dense row would. */
static void dense_rows_are_summed_in_extended_precision(void **state)
{
    (void)state;
    const double eps = 0x1p-52;
    trine_context ctx = test_context();
    trine_matrix A = make_hubs(ctx), L;
    trine_factor F;
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    OK(trine_factor_create(
        ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY, .ordering = TRINE_ORDERING_NATURAL}));
    assert_identity(F, A);
    assert_panels(F);
    OK(trine_factor_get_triangle(F, TRINE_LOWER, &L));
    OK(trine_matrix_get_arrays(L, &offsets, &rows, &values));
    const double *l = values;
    long double pivots[2] = {hub_entry(hub_rows, hub_rows), hub_entry(hub_rows + 1, hub_rows + 1)};
    for (int j = 0; j < hub_rows; j++) {
        const int hub = j / half;
        const long double y = (long double)hub_coupling(j) / l[offsets[j]];
        assert_int_equal(offsets[j + 1] - offsets[j], tail_coupling(j) != 0 ? 3 : 2);
        assert_int_equal(rows[offsets[j] + 1], hub_rows + hub);
        assert_true(l[offsets[j] + 1] == (double)y);
        if (tail_coupling(j) != 0)
            assert_true(fabs(l[offsets[j] + 2] - tail_coupling(j) / l[offsets[j]]) <= 2 * eps * l[offsets[j] + 2]);
        pivots[hub] -= y * y;
    }
    const double *first = l + offsets[hub_rows], *second = l + offsets[hub_rows + 1];
    const long double between = .25L / sqrtl(pivots[0]);
    pivots[1] -= between * between;
    assert_true(fabsl(first[0] - sqrtl(pivots[0])) <= eps * first[0]);
    assert_true(fabsl(first[1] - between) <= eps * first[1]);
    assert_true(fabsl(second[0] - sqrtl(pivots[1])) <= 4 * eps * second[0]);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_multiply_to_the_permuted_and_scaled_matrix),
        cmocka_unit_test(wide_supernodes_keep_the_identity),
        cmocka_unit_test(a_symmetric_grid_gives_cholesky_by_itself),
        cmocka_unit_test(symmetric_orderings_of_lu_are_those_of_cholesky),
        cmocka_unit_test(dense_rows_are_summed_in_extended_precision),
        cmocka_unit_test(an_empty_matrix_has_an_empty_factor),
        cmocka_unit_test(duplicates_are_summed_and_unsorted_rows_allowed),
        cmocka_unit_test(new_values_give_a_new_factor_with_the_same_ordering),
    };
    return TEST_MAIN(tests);
}
