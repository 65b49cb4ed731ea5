/* Factorizations: L U is the matrix, permuted and scaled; new values; whatever shape it has. */
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
                    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering}));
                    OK(trine_factor_get_info(F, &info));
                    assert_int_equal(info.method, methods[m]);
                    /* UMFPACK takes singletons out first, and another ordering where the diagonal is no pivot sequence. */
                    if (ordering && methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_int_equal(info.ordering, ordering);
                    assert_int_equal(info.dtype, all_dtypes[t] == TRINE_S || all_dtypes[t] == TRINE_D ? TRINE_D : TRINE_Z);
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

    A = MATRIX(ctx, 2, {0, 1, 2}, {1, 0, 3});
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_multiply_to_the_permuted_and_scaled_matrix),
        cmocka_unit_test(wide_supernodes_keep_the_identity),
        cmocka_unit_test(a_symmetric_grid_gives_cholesky_by_itself),
        cmocka_unit_test(an_empty_matrix_has_an_empty_factor),
        cmocka_unit_test(duplicates_are_summed_and_unsorted_rows_allowed),
        cmocka_unit_test(new_values_give_a_new_factor_with_the_same_ordering),
    };
    return TEST_MAIN(tests);
}
