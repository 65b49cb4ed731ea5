/* Conjugate gradients for A x = b with the preconditioner of symmetric Gauss-Seidel, M^-1 = L^-T D L^-1, L and D the
 * lower triangle of A and its diagonal: a product of operators. */
#include <math.h>
#include <stdio.h>
#include <trine/trine.h>

enum { n = 900 };

/* Y := alpha A X + beta Y, for one vector. */
static trine_status multiply(void *A, trine_transpose op, const void *alpha, const trine_dense *X, const void *beta,
                             const trine_dense *Y, const trine_exec *exec)
{
    (void)exec;
    return trine_matrix_multiply(A, op, alpha, X->data, beta, Y->data);
}
static trine_status apply(trine_op op, double alpha, double *x, double beta, double *y)
{
    return trine_op_apply(op, TRINE_N, &alpha, &(trine_dense){.data = x, .rows = n, .cols = 1}, &beta,
                          &(trine_dense){.data = y, .rows = n, .cols = 1}, NULL);
}
static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

int main(void)
{
    static double d[n], x[n], r[n], z[n], p[n], q[n], ones[n];
    trine_context ctx = NULL;
    trine_matrix matrix = NULL;
    trine_triangular plan = NULL;
    trine_op A = NULL, forward = NULL, backward = NULL, diagonal = NULL, M = NULL;
    for (int i = 0; i < n; i++) d[i] = 4, ones[i] = 1;
    int steps = 0;
    int failed =
        trine_context_create(&ctx, "cpu") || trine_matrix_gallery(ctx, &matrix, "laplace2d:nx=30,ny=30", TRINE_D) ||
        trine_op_from_callback(ctx, &A, &(trine_op_info){.dtype = TRINE_D, .rows = n, .cols = n, .max_nrhs = 1},
                               multiply, matrix, NULL) ||
        trine_triangular_analyse(ctx, &plan, matrix,
                                 &(trine_triangular_options){.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T}) ||
        trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL) || trine_triangular_as_op(plan, &forward) ||
        trine_op_transpose(forward, &backward, TRINE_T) || trine_op_diagonal(ctx, &diagonal, TRINE_D, n, d) ||
        trine_op_product(ctx, &M, 3, (trine_op[]){backward, diagonal, forward}) || apply(A, 1, ones, 0, r) ||
        apply(M, 1, r, 0, p); /* b = A (1, ..., 1); x = 0, r = b, p = M^-1 r */
    double rz = dot(r, p);
    for (; !failed && sqrt(dot(r, r)) > 1e-10 && steps < 200; steps++) {
        failed = apply(A, 1, p, 0, q) != 0;
        const double step = rz / dot(p, q), before = rz;
        for (int i = 0; i < n; i++) x[i] += step * p[i], r[i] -= step * q[i];
        failed = failed || apply(M, 1, r, 0, z);
        rz = dot(r, z);
        for (int i = 0; i < n; i++) p[i] = z[i] + rz / before * p[i];
    }
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else printf("%d steps, x[0] = %.6f, x[450] = %.6f\n", steps, x[0], x[450]);
    trine_op_destroy(&M); /* in any order: operators keep their parts */
    trine_op_destroy(&diagonal);
    trine_op_destroy(&backward);
    trine_op_destroy(&forward);
    trine_op_destroy(&A);
    trine_triangular_destroy(&plan);
    trine_matrix_destroy(&matrix);
    trine_context_destroy(&ctx);
    return failed;
}
