/* SciPy's solve_banded((kl, ku), ab, b): ab[ku + i - j][j] = A[i][j]. trine keeps bands by row: AB[kl + k][i] =
 * A[i][i + k]. */
#include <stdio.h>
#include <stdlib.h>
#include <trine/trine.h>

#define TRY(call) do { if (call) { fprintf(stderr, "banded: %s\n", trine_last_error()); goto done; } } while (0)

/** Bands as SciPy and LAPACK have them, one row of ab a diagonal (row-major), to bands by row. */
static void bands_by_row(int64_t n, int kl, int ku, const double *ab, double *AB)
{
    for (int k = -kl; k <= ku; k++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t j = i + k;
            AB[(kl + k) * n + i] = j >= 0 && j < n ? ab[(ku - k) * n + j] : 0;
        }
    }
}

int main(void)
{
    enum { n = 5, kl = 1, ku = 2 };
    /* The example of SciPy's documentation. */
    const double ab[] = {0, 0, -1, -1, -1, 0, 2, 2, 2, 2, 5, 4, 3, 2, 1, 1, 1, 1, 1, 0}, b[n] = {0, 1, 2, 2, 3};
    double AB[(kl + 1 + ku) * n], x[n], error;
    size_t bytes;
    void *work = NULL;
    trine_context ctx = NULL;
    int failed = 1;
    bands_by_row(n, kl, ku, ab, AB);
    TRY(trine_context_create(&ctx, "cpu"));
    TRY(trine_gbsv_work_size(ctx, TRINE_D, n, 1, kl, ku, NULL, &bytes));
    work = malloc(bytes);
    if (!work) goto done;
    TRY(trine_gbsv(ctx, TRINE_D, n, 1, kl, ku, NULL, AB, b, n, x, n, work, bytes, NULL));
    TRY(trine_gbsv_backward_error(ctx, TRINE_D, n, 1, kl, ku, NULL, AB, b, n, x, n, &error, NULL));
    for (int i = 0; i < n; i++) printf("%.8f\n", x[i]);
    failed = !(error < 1e-14);
done:
    free(work);
    trine_context_destroy(&ctx);
    return failed;
}
