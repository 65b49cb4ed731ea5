/* A tridiagonal system on the device of a context: the call behind cuSPARSE's gtsv2 and LAPACK's gtsv.
 *     tridiagonal [cpu | cuda | auto]                                                              */
#include <stdio.h>
#include <trine/trine.h>

#define TRY(call) do { if (call) { fprintf(stderr, "tridiagonal: %s\n", trine_last_error()); goto done; } } while (0)

enum { n = 10000 };

int main(int argc, char **argv)
{
    static double a[n], b[n], c[n], d[n]; /* a[i], b[i], c[i]: row i's coefficients of x[i-1], x[i], x[i+1] */
    for (int i = 0; i < n; i++) {
        a[i] = 1, b[i] = i % 2 ? 0 : 3, c[i] = 1; /* every other pivot is zero: rows have to be exchanged */
        d[i] = (i > 0) * a[i] + b[i] + (i < n - 1) * c[i];
    }
    const trine_gtsv_options options = {.refine = 1}; /* NULL for the defaults */
    trine_context ctx = NULL;
    trine_context_info device = {0};
    void *all = NULL, *work = NULL; /* all: a, b, c, d, x, and the backward error */
    size_t bytes;
    double error;
    int failed = 1;
    TRY(trine_context_create(&ctx, argc > 1 ? argv[1] : "auto"));
    TRY(trine_context_get_info(ctx, &device));
    TRY(trine_alloc(ctx, device.space, (5 * n + 1) * sizeof(double), &all));
    double *at_a = all, *at_b = at_a + n, *at_c = at_b + n, *at_d = at_c + n, *at_x = at_d + n, *at_error = at_x + n;
    TRY(trine_copy(ctx, at_a, device.space, a, TRINE_HOST, sizeof a));
    TRY(trine_copy(ctx, at_b, device.space, b, TRINE_HOST, sizeof b));
    TRY(trine_copy(ctx, at_c, device.space, c, TRINE_HOST, sizeof c));
    TRY(trine_copy(ctx, at_d, device.space, d, TRINE_HOST, sizeof d));
    TRY(trine_gtsv_work_size(ctx, TRINE_D, n, 1, &options, &bytes));
    TRY(trine_alloc(ctx, device.space, bytes, &work));
    /* NULL: on the context's stream */
    TRY(trine_gtsv(ctx, TRINE_D, n, 1, &options, at_a, at_b, at_c, at_d, n, at_x, n, work, bytes, NULL));
    TRY(trine_gtsv_backward_error(ctx, TRINE_D, n, 1, &options, at_a, at_b, at_c, at_d, n, at_x, n, at_error, NULL));
    TRY(trine_copy(ctx, &error, TRINE_HOST, at_error, device.space, sizeof error)); /* waits for the context's stream */
    printf("componentwise backward error: %.1e\n", error);
    failed = !(error < 1e-14);
done:
    if (ctx) trine_free(ctx, device.space, work), trine_free(ctx, device.space, all);
    trine_context_destroy(&ctx);
    return failed;
}
