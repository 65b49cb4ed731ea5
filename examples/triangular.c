/* One sparse triangle, solved with many times: the calls behind cuSPARSE's SpSV and SpSM. Arrays lie where the device
 * is.
 *     triangular [cpu | cuda | auto] */
#include <math.h>
#include <stdio.h>
#include <trine/trine.h>

#define TRY(call) do { if (call) { fprintf(stderr, "triangular: %s\n", trine_last_error()); goto done; } } while (0)

enum { n = 1000, nnz = 3 * n - 11, nrhs = 4 };

/** Memory of the context's device with a copy of `from` in it. */
static trine_status place(trine_context ctx, trine_space space, const void *from, size_t bytes, void **there)
{
    const trine_status status = trine_alloc(ctx, space, bytes, there);
    return status ? status : trine_copy(ctx, *there, space, from, TRINE_HOST, bytes);
}

int main(int argc, char **argv)
{
    static int offsets[n + 1], columns[nnz]; /* row i: -0.5 in column i - 10, -1 in column i - 1, 2 on the diagonal */
    static double values[nnz], doubled[nnz], b[nrhs * n], x[nrhs * n];
    int next = 0, failed = 1;
    for (int i = 0; i < n; i++) {
        double sum = 2;
        if (i >= 10) columns[next] = i - 10, values[next++] = -0.5, sum -= 0.5;
        if (i >= 1) columns[next] = i - 1, values[next++] = -1, sum -= 1;
        columns[next] = i, values[next++] = 2;
        offsets[i + 1] = next;
        for (int j = 0; j < nrhs; j++) b[i + j * n] = (j + 1) * sum; /* column j of the solution: all j + 1 */
    }
    for (int k = 0; k < nnz; k++) doubled[k] = 2 * values[k];

    trine_context ctx = NULL;
    trine_context_info device = {0};
    trine_matrix L = NULL;
    trine_triangular plan = NULL;
    void *at_offsets = NULL, *at_columns = NULL, *at_values = NULL, *at_doubled = NULL, *at_b = NULL, *at_x = NULL;
    double error = 0;
    TRY(trine_context_create(&ctx, argc > 1 ? argv[1] : "auto"));
    TRY(trine_context_get_info(ctx, &device));
    TRY(place(ctx, device.space, offsets, sizeof offsets, &at_offsets));
    TRY(place(ctx, device.space, columns, sizeof columns, &at_columns));
    TRY(place(ctx, device.space, values, sizeof values, &at_values));
    TRY(place(ctx, device.space, doubled, sizeof doubled, &at_doubled));
    TRY(place(ctx, device.space, b, sizeof b, &at_b));
    TRY(place(ctx, device.space, x, sizeof x, &at_x));

    /* cusparseCreateCsr; fill mode, diagonal type, operation and number of right-hand sides are the plan's */
    const trine_triangular_options options = {
        .uplo = TRINE_LOWER, .diag = TRINE_NONUNIT, .ops = TRINE_N, .max_nrhs = nrhs};
    TRY(trine_matrix_csr(ctx, &L, TRINE_D, n, n, nnz, device.space, 32, at_offsets, 32, at_columns, at_values));
    TRY(trine_triangular_analyse(ctx, &plan, L, &options));            /* ..._analysis: the pattern */
    TRY(trine_triangular_numeric(plan, device.space, at_values, NULL)); /* its values */
    TRY(trine_triangular_check(plan, NULL));                           /* a zero pivot? waits */
    const trine_dense B1 = {.data = at_b, .rows = n, .cols = 1}, X1 = {.data = at_x, .rows = n, .cols = 1};
    TRY(trine_triangular_solve(plan, TRINE_N, NULL, &B1, &X1, NULL)); /* SpSV_solve; NULL for alpha is 1 */

    TRY(trine_triangular_numeric(plan, device.space, at_doubled, NULL)); /* SpSV_updateMatrix */
    const double alpha = 2;
    const trine_dense B = {.data = at_b, .rows = n, .cols = nrhs}, X = {.data = at_x, .rows = n, .cols = nrhs};
    TRY(trine_triangular_solve(plan, TRINE_N, &alpha, &B, &X, NULL)); /* SpSM_solve */
    TRY(trine_copy(ctx, x, TRINE_HOST, at_x, device.space, sizeof x)); /* waits */
    for (int j = 0; j < nrhs; j++) {
        for (int i = 0; i < n; i++) error = fmax(error, fabs(x[i + j * n] - (j + 1)));
    }
    printf("largest error: %.1e\n", error);
    failed = !(error < 1e-12);
done:
    trine_triangular_destroy(&plan);
    trine_matrix_destroy(&L);
    void *all[] = {at_offsets, at_columns, at_values, at_doubled, at_b, at_x};
    for (int k = 0; ctx && k < 6; k++) trine_free(ctx, device.space, all[k]);
    trine_context_destroy(&ctx);
    return failed;
}
