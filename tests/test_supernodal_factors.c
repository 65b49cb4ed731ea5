/* Supernodal solves with CHOLMOD's factors of real matrices: A x = b by L, L^T and the permutation, judged by A
 * itself. */
#include <stdlib.h>
#include <string.h>
#include <trine/direct.h>

#include "harness.h"

/** x by two solves; nrhs columns. Returns the normwise backward error in units of eps. */
static double backward_error(const char *name, double fill, int64_t nrhs)
{
    const char *path = test_real_matrix(name);
    trine_context ctx = test_context();
    trine_matrix A;
    trine_factor F;
    trine_panels panels;
    trine_supernodal plan;
    const int32_t *perm;
    OK(trine_matrix_read(ctx, &A, path, TRINE_D));
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    OK(trine_factor_get_panels(F, TRINE_LOWER, &panels));
    OK(trine_factor_get_permutations(F, &perm, NULL, NULL, NULL));
    OK(trine_supernodal_analyse(ctx, &plan, &panels, &(trine_supernodal_options){.fill = fill, .max_nrhs = nrhs}));
    OK(trine_supernodal_numeric(plan, TRINE_HOST, panels.values, NULL));
    OK(trine_supernodal_check(plan, NULL));

    const int64_t n = panels.n;
    const size_t bytes = (size_t)(n * nrhs) * sizeof(double);
    double *b = malloc(bytes), *permuted = malloc(bytes), *x = malloc(bytes);
    for (int64_t i = 0; i < n * nrhs; i++) b[i] = 2 * test_uniform(5, (uint64_t)i) - 1;
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) permuted[i + j * n] = b[perm[i] + j * n];
    void *data = test_to_device(ctx, permuted, bytes);
    const trine_dense X = {.data = data, .rows = n, .cols = nrhs};
    OK(trine_supernodal_solve(plan, TRINE_N, NULL, &X, &X, NULL));
    OK(trine_supernodal_solve(plan, TRINE_H, NULL, &X, &X, NULL));
    test_from_device(ctx, permuted, data, bytes);
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) x[perm[i] + j * n] = permuted[i + j * n];
    trine_accuracy accuracy;
    OK(trine_matrix_accuracy(A, nrhs, x, b, NULL, &accuracy));

    test_release(ctx, data);
    free(b);
    free(permuted);
    free(x);
    trine_supernodal_destroy(&plan);
    trine_factor_destroy(&F);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return accuracy.backward_error;
}

/** The bound of ten eps is the paper's measure of a good solve. */
static void check(const char *name)
{
    const double merged = backward_error(name, 0, 1), exact = backward_error(name, -1, 9);
    print_message("%s: backward error %.2f eps, without merging and for 9 right-hand sides %.2f eps\n", name, merged,
                  exact);
    assert_true(merged < 10);
    assert_true(exact < 10);
}

static void nos3_is_solved(void **state)
{
    (void)state;
    check("nos3");
}
static void bcsstk14_is_solved(void **state)
{
    (void)state;
    check("bcsstk14");
}
static void bcsstk16_is_solved(void **state)
{
    (void)state;
    check("bcsstk16");
}
static void an_elastic_rod_is_solved(void **state)
{
    (void)state;
    check("elas_rod300x33");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nos3_is_solved), cmocka_unit_test(bcsstk14_is_solved),
                                       cmocka_unit_test(bcsstk16_is_solved),
                                       cmocka_unit_test(an_elastic_rod_is_solved)};
    return TEST_MAIN(tests);
}
