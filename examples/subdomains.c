/* Cholesky factors of many subdomains as one plan: one solve, on a GPU one launch, for all of them.
 *     subdomains [cpu | cuda | auto]                                                               */
#include <math.h>
#include <stdio.h>
#include <trine/direct.h>

#define TRY(call) do { if (call) { fprintf(stderr, "subdomains: %s\n", trine_last_error()); goto done; } } while (0)

enum { domains = 3, all = 10 * 10 + 15 * 20 + 30 * 30 };

int main(int argc, char **argv)
{
    const char *const names[domains] = {"laplace2d:nx=10,ny=10", "laplace2d:nx=15,ny=20", "laplace2d:nx=30,ny=30"};
    const trine_factor_options natural = {.method = TRINE_DIRECT_CHOLESKY, .ordering = TRINE_ORDERING_NATURAL};
    static double x[all], ones[all];
    trine_context ctx = NULL;
    trine_context_info device = {0};
    trine_matrix A[domains] = {NULL};
    trine_factor F[domains] = {NULL};
    trine_panels L[domains];
    const void *values[domains];
    trine_supernodal plan = NULL;
    void *there = NULL;
    double error = 0;
    int failed = 1;
    TRY(trine_context_create(&ctx, argc > 1 ? argv[1] : "auto"));
    TRY(trine_context_get_info(ctx, &device));
    for (int i = 0; i < all; i++) ones[i] = 1;
    for (int k = 0, first = 0; k < domains; k++) {
        TRY(trine_matrix_gallery(ctx, &A[k], names[k], TRINE_D));
        TRY(trine_factor_create(ctx, &F[k], A[k], &natural)); /* other orderings: trine_factor_get_permutations */
        TRY(trine_factor_get_panels(F[k], TRINE_LOWER, &L[k])); /* borrowed from F[k] */
        values[k] = L[k].values;
        TRY(trine_matrix_multiply(A[k], TRINE_N, NULL, ones, NULL, x + first)); /* vectors: domain after domain */
        first += (int)L[k].n;
    }
    TRY(trine_supernodal_analyse_batch(ctx, &plan, L, domains, NULL));
    TRY(trine_supernodal_numeric_batch(plan, TRINE_HOST, values, NULL));
    TRY(trine_alloc(ctx, device.space, sizeof x, &there));
    TRY(trine_copy(ctx, there, device.space, x, TRINE_HOST, sizeof x));
    const trine_dense X = {.data = there, .rows = all, .cols = 1};
    TRY(trine_supernodal_solve(plan, TRINE_N, NULL, &X, &X, NULL)); /* L of every domain */
    TRY(trine_supernodal_solve(plan, TRINE_H, NULL, &X, &X, NULL)); /* L^H of every domain */
    TRY(trine_copy(ctx, x, TRINE_HOST, there, device.space, sizeof x));
    for (int i = 0; i < all; i++) error = fmax(error, fabs(x[i] - 1));
    printf("largest error: %.1e\n", error);
    failed = !(error < 1e-11);
done:
    if (ctx) trine_free(ctx, device.space, there);
    trine_supernodal_destroy(&plan);
    for (int k = 0; k < domains; k++) {
        trine_factor_destroy(&F[k]);
        trine_matrix_destroy(&A[k]);
    }
    trine_context_destroy(&ctx);
    return failed;
}
