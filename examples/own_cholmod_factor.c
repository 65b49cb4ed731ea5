/* A program that factors with CHOLMOD itself, and solves with trine: on a GPU if there is one.
 *     cc own_cholmod_factor.c -I/usr/include/suitesparse $(pkg-config --cflags --libs trine-direct) -lcholmod */
#include <cholmod.h>
#include <stdio.h>
#include <trine/direct.h>

/** A row of beads on a string: tridiagonal, 2 and -1; the lower triangle. */
static cholmod_sparse *make_matrix(int n, cholmod_common *c)
{
    cholmod_sparse *A = cholmod_allocate_sparse((size_t)n, (size_t)n, 2 * (size_t)n - 1, 1, 1, -1, CHOLMOD_REAL, c);
    int *p = A->p, *i = A->i, next = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = next;
        i[next] = j;
        x[next++] = 2;
        if (j == n - 1) continue;
        i[next] = j + 1;
        x[next++] = -1;
    }
    p[n] = next;
    return A;
}

int main(void)
{
    enum { n = 1000 };
    static double b[n], x[n];
    cholmod_common c;
    cholmod_start(&c);
    cholmod_sparse *A = make_matrix(n, &c);
    cholmod_factor *L = cholmod_analyze(A, &c);
    cholmod_factorize(A, L, &c);

    trine_context ctx = NULL;
    trine_context_info device;
    trine_factor F = NULL;
    trine_direct plan = NULL;
    void *there = NULL; /* the vector where the plan solves */
    for (int i = 0; i < n; i++) b[i] = i == 0 || i == n - 1; /* x = 1 */
    int failed = trine_context_create(&ctx, "auto") || trine_context_get_info(ctx, &device) ||
                 trine_factor_from_cholmod(ctx, &F, L) || trine_direct_create_from_factor(ctx, &plan, F, NULL, NULL) ||
                 trine_alloc(ctx, device.space, sizeof b, &there);
    cholmod_free_factor(&L, &c); /* trine has a copy */
    if (!failed) {
        const trine_dense X = {.data = there, .rows = n, .cols = 1};
        failed = trine_copy(ctx, there, device.space, b, TRINE_HOST, sizeof b) ||
                 trine_direct_solve(plan, TRINE_N, &X, &X, NULL) || trine_context_synchronize(ctx) ||
                 trine_copy(ctx, x, TRINE_HOST, there, device.space, sizeof x);
    }
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else printf("x[0] = %.6f, x[%d] = %.6f\n", x[0], n / 2, x[n / 2]);
    if (ctx) trine_free(ctx, device.space, there);
    trine_direct_destroy(&plan);
    trine_factor_destroy(&F);
    trine_context_destroy(&ctx);
    cholmod_free_sparse(&A, &c);
    cholmod_finish(&c);
    return failed;
}
