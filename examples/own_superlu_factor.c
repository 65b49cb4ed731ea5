/* A program that factors with SuperLU itself, and solves with trine: on a GPU if there is one.
 *     cc own_superlu_factor.c $(pkg-config --cflags --libs trine-direct superlu)        */
#include <slu_ddefs.h>
#include <stdio.h>
#include <trine/direct.h>

enum { n = 1000, nnz = 3 * n - 2 };

/** An unsymmetric tridiagonal matrix by columns, whose row sums are b. */
static void write_matrix(int *colptr, int *rowind, double *values, double *b)
{
    int next = 0;
    for (int j = 0; j < n; j++) {
        colptr[j] = next;
        for (int i = j > 0 ? j - 1 : 0; i <= j + 1 && i < n; i++) {
            rowind[next] = i;
            values[next] = i == j ? 3 : i < j ? -2 : 1;
            b[i] += values[next++];
        }
    }
    colptr[n] = next;
}

int main(void)
{
    static int colptr[n + 1], rowind[nnz], perm_r[n], perm_c[n], etree[n];
    static double values[nnz], b[n], x[n], nothing[n], R[n], C[n], errors[2];
    write_matrix(colptr, rowind, values, b);

    superlu_options_t options;
    SuperLUStat_t statistics;
    GlobalLU_t global;
    mem_usage_t memory;
    SuperMatrix A, B, X, L, U;
    double growth, condition;
    char equed[1] = {'N'};
    int info;
    set_default_options(&options);
    StatInit(&statistics);
    dCreate_CompCol_Matrix(&A, n, n, nnz, values, rowind, colptr, SLU_NC, SLU_D, SLU_GE);
    dCreate_Dense_Matrix(&B, n, 0, nothing, n, SLU_DN, SLU_D, SLU_GE); /* no right-hand side: dgssvx only factors */
    dCreate_Dense_Matrix(&X, n, 0, nothing, n, SLU_DN, SLU_D, SLU_GE);
    dgssvx(&options, &A, perm_c, perm_r, etree, equed, R, C, &L, &U, NULL, 0, &B, &X, &growth, &condition, errors,
           errors + 1, &global, &memory, &statistics, &info);
    if (info) return fprintf(stderr, "dgssvx: %d\n", info), 1;

    trine_context ctx = NULL;
    trine_context_info device = {0};
    trine_factor F = NULL;
    trine_direct plan = NULL;
    void *there = NULL;
    int failed =
        trine_context_create(&ctx, "auto") || trine_context_get_info(ctx, &device) ||
        trine_factor_from_superlu(ctx, &F, &L, &U, perm_r, perm_c, equed[0] == 'R' || equed[0] == 'B' ? R : NULL,
                                  equed[0] == 'C' || equed[0] == 'B' ? C : NULL) ||
        trine_direct_create_from_factor(ctx, &plan, F, NULL, NULL) || trine_alloc(ctx, device.space, sizeof b, &there);
    Destroy_SuperNode_Matrix(&L); /* trine has a copy */
    Destroy_CompCol_Matrix(&U);
    if (!failed) {
        const trine_dense V = {.data = there, .rows = n, .cols = 1};
        failed = trine_copy(ctx, there, device.space, b, TRINE_HOST, sizeof b) ||
                 trine_direct_solve(plan, TRINE_N, &V, &V, NULL) ||
                 trine_copy(ctx, x, TRINE_HOST, there, device.space, sizeof x);
    }
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else printf("x[0] = %.6f, x[%d] = %.6f\n", x[0], n / 2, x[n / 2]);
    if (ctx) trine_free(ctx, device.space, there);
    trine_direct_destroy(&plan);
    trine_factor_destroy(&F);
    trine_context_destroy(&ctx);
    Destroy_SuperMatrix_Store(&A);
    Destroy_SuperMatrix_Store(&B);
    Destroy_SuperMatrix_Store(&X);
    StatFree(&statistics);
    return failed;
}
