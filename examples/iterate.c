/* From a file to x by GMRES with a preconditioner: iterate A.mtx. */
#include <stdio.h>
#include <stdlib.h>
#include <trine/trine.h>

int main(int argc, char **argv)
{
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_matrix_info info = {0};
    trine_spmv plan = NULL;
    trine_precond preconditioner = NULL;
    trine_precond_info chosen = {0};
    trine_op product = NULL, M = NULL; /* M: an approximation of A^-1; NULL for none */
    trine_krylov solver = NULL;
    trine_krylov_result result;
    const trine_krylov_options options = {.restart = 30, .rtol = 1e-8};
    if (argc != 2) return fprintf(stderr, "usage: %s MATRIX\n", argv[0]), 2;
    int failed = trine_context_create(&ctx, "cpu") || trine_matrix_read(ctx, &A, argv[1], TRINE_D) ||
                 trine_matrix_get_info(A, &info) || trine_spmv_analyse(ctx, &plan, A, NULL) ||
                 trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL) || trine_spmv_as_op(plan, &product) ||
                 trine_precond_analyse(ctx, &preconditioner, A, NULL) || /* chosen by the values of A */
                 trine_precond_numeric(preconditioner, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL) ||
                 trine_precond_check(preconditioner, NULL) || trine_precond_get_info(preconditioner, &chosen) ||
                 trine_precond_as_op(preconditioner, &M) || trine_krylov_create(ctx, &solver, product, M, &options);

    const int64_t n = info.n_rows;
    double *b = malloc((size_t)(2 * n + 1) * sizeof *b), *x = b + n;
    for (int64_t i = 0; i < n; i++) b[i] = 1;
    const trine_dense B = {.data = b, .rows = n, .cols = 1}, X = {.data = x, .rows = n, .cols = 1};
    failed = failed || trine_krylov_solve(solver, &B, &X, NULL) || trine_krylov_get_result(solver, 0, &result, NULL);
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else
        printf("%s: %s after %d steps, x[0] = %.6f\n", trine_precond_method_name(chosen.method),
               trine_krylov_outcome_name(result.outcome), (int)result.steps, x[0]);

    free(b);
    trine_krylov_destroy(&solver);
    trine_op_destroy(&M);
    trine_precond_destroy(&preconditioner);
    trine_op_destroy(&product);
    trine_spmv_destroy(&plan);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return failed;
}
