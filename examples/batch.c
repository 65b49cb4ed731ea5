/* Many small tridiagonal systems of one size, interleaved: row i of system s at i * systems + s. */
#include <stdio.h>
#include <trine/trine.h>

#define TRY(call) do { if (call) { fprintf(stderr, "batch: %s\n", trine_last_error()); goto done; } } while (0)

enum { n = 32, systems = 1000, all = n * systems };

int main(int argc, char **argv)
{
    static double a[all], b[all], c[all], x[all]; /* x: right-hand sides, then solutions */
    for (int i = 0; i < n; i++) {
        for (int s = 0; s < systems; s++) {
            const int at = i * systems + s;
            a[at] = -1, b[at] = 2 + 0.01 * s, c[at] = -1;
            x[at] = (s + 1) * ((i > 0) * a[at] + b[at] + (i < n - 1) * c[at]); /* the solution: all s + 1 */
        }
    }
    /* contiguous: {1, n}; one matrix for all: .system = 0 */
    const trine_strides interleaved = {.row = systems, .system = 1};
    trine_context ctx = NULL;
    trine_context_info device = {0};
    void *there = NULL, *work = NULL;
    size_t bytes;
    int wrong = 0, failed = 1;
    TRY(trine_context_create(&ctx, argc > 1 ? argv[1] : "auto"));
    TRY(trine_context_get_info(ctx, &device));
    TRY(trine_alloc(ctx, device.space, 4 * sizeof a, &there));
    double *at_a = there, *at_b = at_a + all, *at_c = at_b + all, *at_x = at_c + all;
    TRY(trine_copy(ctx, at_a, device.space, a, TRINE_HOST, sizeof a));
    TRY(trine_copy(ctx, at_b, device.space, b, TRINE_HOST, sizeof b));
    TRY(trine_copy(ctx, at_c, device.space, c, TRINE_HOST, sizeof c));
    TRY(trine_copy(ctx, at_x, device.space, x, TRINE_HOST, sizeof x));
    TRY(trine_gtsv_batch_work_size(ctx, TRINE_D, n, systems, NULL, &bytes));
    TRY(trine_alloc(ctx, device.space, bytes, &work)); /* none for systems of up to 64 rows */
    TRY(trine_gtsv_batch(ctx, TRINE_D, n, systems, NULL, at_a, at_b, at_c, interleaved, at_x, at_x, interleaved, work,
                         bytes, NULL));
    TRY(trine_copy(ctx, x, TRINE_HOST, at_x, device.space, sizeof x)); /* waits for the context's stream */
    for (int k = 0; k < all; k++)
        wrong += !(x[k] / (k % systems + 1) > 1 - 1e-10 && x[k] / (k % systems + 1) < 1 + 1e-10);
    printf("%d systems of %d rows, wrong values: %d\n", systems, n, wrong);
    failed = wrong > 0;
done:
    if (ctx) trine_free(ctx, device.space, work), trine_free(ctx, device.space, there);
    trine_context_destroy(&ctx);
    return failed;
}
