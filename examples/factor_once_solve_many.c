/* Factor a matrix once, solve with it many times: the trace of A^-1, column by column. */
#include <stdio.h>
#include <string.h>
#include <trine/direct.h>

int main(void)
{
    enum { n = 900 };
    double x[n], trace = 0;
    trine_dense X = {.data = x, .rows = n, .cols = 1}; /* the right-hand side comes, the solution goes */
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_direct plan = NULL;
    int failed = trine_context_create(&ctx, "cpu") || trine_matrix_gallery(ctx, &A, "laplace2d:nx=30,ny=30", TRINE_D) ||
                 trine_direct_create(ctx, &plan, A, NULL); /* order, factor, set up the triangular solves: once */
    for (int i = 0; i < n && !failed; i++) {
        memset(x, 0, sizeof x);
        x[i] = 1;
        failed = trine_direct_solve(plan, TRINE_N, &X, &X, NULL); /* both triangles, permutations included */
        trace += x[i];
    }
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else printf("trace of the inverse: %.10g\n", trace);
    trine_direct_destroy(&plan);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return failed;
}
