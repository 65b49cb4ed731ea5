/* Where rounding errors would add up: long rows in a triangular solve, and hubs in a factorization. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "harness.h"

#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>
#endif

/** The residual of the last row of a lower triangle with n - 1 entries 0.1 there and the identity above, in units of
 *  eps times the sum of magnitudes: x = (1, ..., 1, b - sum). */
static double error_of_a_long_row(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, trine_layout layout,
                                  trine_triangular_method method)
{
    const bool single = trine_dtype_is_single(t), complex_values = trine_dtype_is_complex(t);
    const size_t size = trine_dtype_size(t);
    trine_matrix A;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, n, n, 2 * n - 1, &offsets, &columns, &values));
    char *b = calloc((size_t)(n * nrhs), size);
#define PUT(array, k, v)                                                              \
    (single ? (void)(((float *)(array))[complex_values ? 2 * (k) : (k)] = (float)(v)) \
            : (void)(((double *)(array))[complex_values ? 2 * (k) : (k)] = (v)))
#define GET(array, k)                                                         \
    (single ? (long double)((float *)(array))[complex_values ? 2 * (k) : (k)] \
            : (long double)((double *)(array))[complex_values ? 2 * (k) : (k)])
    memset(values, 0, (size_t)(2 * n - 1) * size);
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = i;
        columns[i < n - 1 ? i : 2 * n - 2] = (int32_t)i;
        PUT(values, i < n - 1 ? i : 2 * n - 2, 1);
        for (int64_t j = 0; j < nrhs; j++) PUT(b, layout == TRINE_COLMAJOR ? i + j * n : i * nrhs + j, 1);
    }
    for (int64_t k = 0; k < n - 1; k++) {
        columns[n - 1 + k] = (int32_t)k;
        PUT(values, n - 1 + k, 0.1);
    }
    offsets[n] = 2 * n - 1;
    trine_triangular plan;
    OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = method, .max_nrhs = nrhs}));
    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    void *X = test_to_device(ctx, b, (size_t)(n * nrhs) * size);
    const trine_dense x = {X, n, nrhs, layout == TRINE_COLMAJOR ? n : nrhs, layout};
    OK(trine_triangular_solve(plan, TRINE_N, NULL, &x, &x, NULL));
    test_from_device(ctx, b, X, (size_t)(n * nrhs) * size);
    const long double sum = (n - 1) * GET(values, n - 1);
    double worst = 0;
    for (int64_t j = 0; j < nrhs; j++) {
        const long double last = GET(b, layout == TRINE_COLMAJOR ? n - 1 + j * n : (n - 1) * nrhs + j);
        worst = fmax(worst, (double)(fabsl(1 - sum - last) / (trine_dtype_eps(t) * sum)));
    }
    test_release(ctx, X);
    OK(trine_triangular_destroy(&plan));
    trine_matrix_destroy(&A);
    free(b);
    return worst;
}

static void long_rows_keep_their_digits(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    static const trine_triangular_method methods[] = {TRINE_TRI_SERIAL, TRINE_TRI_LEVELSET,
                                                      TRINE_TRI_PARTITIONED_INVERSE};
    enum { n = 40001 };
    trine_context ctx = test_context();
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < 3; m++)
            for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
                for (int layout = 0; layout < 2; layout++)
                    /* One chain of n additions would be allowed n / 2 units, and takes hundreds to thousands of
                     * them; blocks of 64 are allowed (64 + n / 64) / 2. */
                    assert_true(error_of_a_long_row(ctx, dtypes[t], n, nrhs, (trine_layout)layout, methods[m]) <
                                (64 + n / 64.0) / 2);
    OK(trine_context_destroy(&ctx));
}

#ifdef TRINE_TEST_DIRECT
/** The gallery's arrow: a diagonal with one full row and column. Complex: a_ij w_i conj(w_j) with |w| = 1. */
static trine_matrix arrow(trine_context ctx, trine_dtype t, int64_t n)
{
    trine_matrix A;
    char name[40];
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    snprintf(name, sizeof name, "arrow:n=%lld", (long long)n);
    OK(trine_matrix_gallery(ctx, &A, name, t));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    for (int64_t i = 0; t == TRINE_Z && i < n; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
            if (columns[k] != i)
                ((double complex *)values)[k] *= cexp(I * (double)(i % 7)) * cexp(-I * (double)(columns[k] % 7));
    return A;
}

static void hubs_do_not_spoil_a_cholesky_factor(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_D, TRINE_Z};
    enum { n = 30000 };
    trine_context ctx = test_context();
    for (int k = 0; k < 2; k++) {
        const trine_dtype t = dtypes[k];
        const size_t bytes = n * trine_dtype_size(t);
        trine_matrix A = arrow(ctx, t, n);
        double *s = calloc(1, bytes), *b = calloc(1, bytes);
        for (int64_t i = 0; i < n; i++) {
            if (t == TRINE_D) s[i] = 1;
            else
                ((double complex *)s)[i] = cexp(I * (double)(i % 7)); /* to the phases of A what ones are to the
                                                                         real matrix */
        }
        OK(trine_matrix_multiply(A, TRINE_N, NULL, s, NULL, b));
        trine_direct plan;
        OK(trine_direct_create(
            ctx, &plan, A,
            &(trine_direct_options){.factor.method = TRINE_DIRECT_CHOLESKY, .solver = TRINE_SOLVER_GENERAL}));
        void *X = test_to_device(ctx, b, bytes);
        const trine_dense x = {.data = X, .rows = n, .cols = 1};
        OK(trine_direct_solve(plan, TRINE_N, &x, &x, NULL));
        test_from_device(ctx, s, X, bytes);
        trine_accuracy accuracy;
        OK(trine_matrix_accuracy(A, 1, s, b, NULL, &accuracy));
        assert_true(accuracy.backward_error < 10); /* simplicial Cholesky, whose rows are not summed again: 1200 */
        test_release(ctx, X);
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
        free(s);
        free(b);
    }
    OK(trine_context_destroy(&ctx));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_rows_keep_their_digits),
#ifdef TRINE_TEST_DIRECT
        cmocka_unit_test(hubs_do_not_spoil_a_cholesky_factor),
#endif
    };
    return TEST_MAIN(tests);
}
