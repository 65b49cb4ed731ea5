/* Solve L x = b for L = [2 0 0; 1 4 0; 1 0 8] and b = (2, 5, 9). */
#include <stdio.h>
#include <trine/trine.h>

int main(void)
{
    int offsets[] = {0, 1, 3, 5}, columns[] = {0, 0, 1, 0, 2};
    double values[] = {2, 1, 4, 1, 8}, b[] = {2, 5, 9}, x[3];
    trine_dense B = {.data = b, .rows = 3, .cols = 1}, X = {.data = x, .rows = 3, .cols = 1};
    trine_context ctx = NULL;
    trine_matrix L = NULL;
    trine_triangular plan = NULL;
    int failed = trine_context_create(&ctx, "cpu") ||
                 trine_matrix_csr(ctx, &L, TRINE_D, 3, 3, 5, TRINE_HOST, 32, offsets, 32, columns, values) ||
                 trine_triangular_analyse(ctx, &plan, L, NULL) ||          /* the pattern: once */
                 trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL) || /* the values: whenever they change */
                 trine_triangular_solve(plan, TRINE_N, NULL, &B, &X, NULL);
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else printf("x = (%g, %g, %g)\n", x[0], x[1], x[2]);
    trine_triangular_destroy(&plan);
    trine_matrix_destroy(&L);
    trine_context_destroy(&ctx);
    return failed;
}
