#include "precond_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESTART = 20 };

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/** z := M^-1 r of step k. */
static void precondition(trine_precond p, int parts, const trine_op *part, int64_t k, int64_t n, double *r, double *z)
{
    const trine_dense R = {r, n, 1, n, TRINE_COLMAJOR}, Z = {z, n, 1, n, TRINE_COLMAJOR};
    if (!p) memcpy(z, r, (size_t)n * sizeof *z);
    else if (!parts) OK(trine_precond_apply(p, TRINE_N, NULL, &R, &Z, NULL));
    else OK(trine_op_apply(part[k % parts], TRINE_N, NULL, &R, NULL, &Z, NULL));
}

int64_t test_gmres(trine_matrix A, trine_precond p, int parts, int64_t most)
{
    trine_matrix_info m;
    OK(trine_matrix_get_info(A, &m));
    const int64_t n = m.n_rows;
    trine_op part[32];
    for (int l = 0; l < parts; l++) OK(trine_precond_part(p, l, &part[l]));
    const size_t bytes = (size_t)n * sizeof(double);
    double *b = malloc(bytes), *x = calloc((size_t)n, sizeof *x), *V = malloc((RESTART + 1) * bytes),
           *Z = malloc(RESTART * bytes), minus = -1, one = 1;
    for (int64_t i = 0; i < n; i++) x[i] = sin(2 * 3.14159265358979323846 * 8 * (double)i / (double)n);
    OK(trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, b));
    memset(x, 0, bytes);
    const double target = 1e-6 * sqrt(dot(n, b, b));
    int64_t iterations = 0;
    for (bool converged = false; !converged;) {
        double H[RESTART + 1][RESTART], c[RESTART], s[RESTART], g[RESTART + 1] = {0};
        memcpy(V, b, bytes);
        OK(trine_matrix_multiply(A, TRINE_N, &minus, x, &one, V));
        g[0] = sqrt(dot(n, V, V));
        if (g[0] <= target) break;
        for (int64_t i = 0; i < n; i++) V[i] /= g[0];
        int k = 0;
        for (; k < RESTART && !converged; k++) {
            double *w = V + (k + 1) * n;
            precondition(p, parts, part, iterations, n, V + k * n, Z + k * n);
            OK(trine_matrix_multiply(A, TRINE_N, NULL, Z + k * n, NULL, w));
            for (int j = 0; j <= k; j++) H[j][k] = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int j = 0; j <= k; j++) {
                    const double h = dot(n, w, V + j * n);
                    H[j][k] += h;
                    for (int64_t i = 0; i < n; i++) w[i] -= h * V[j * n + i];
                }
            H[k + 1][k] = sqrt(dot(n, w, w));
            for (int64_t i = 0; i < n; i++) w[i] /= H[k + 1][k];
            for (int j = 0; j < k; j++) { /* earlier rotations */
                const double t = c[j] * H[j][k] + s[j] * H[j + 1][k];
                H[j + 1][k] = c[j] * H[j + 1][k] - s[j] * H[j][k];
                H[j][k] = t;
            }
            const double r = hypot(H[k][k], H[k + 1][k]);
            c[k] = H[k][k] / r;
            s[k] = H[k + 1][k] / r;
            H[k][k] = r;
            g[k + 1] = -s[k] * g[k];
            g[k] *= c[k];
            iterations++;
            converged = !(fabs(g[k + 1]) > target) || iterations >= most;
        }
        for (int j = k - 1; j >= 0; j--) {
            for (int i = j + 1; i < k; i++) g[j] -= H[j][i] * g[i];
            g[j] /= H[j][j];
        }
        for (int j = 0; j < k; j++)
            for (int64_t i = 0; i < n; i++) x[i] += g[j] * Z[j * n + i];
    }
    memcpy(V, b, bytes);
    OK(trine_matrix_multiply(A, TRINE_N, &minus, x, &one, V));
    const bool is_true = sqrt(dot(n, V, V)) <= 1.01 * target; /* and not only by the recurrence */
    for (int l = 0; l < parts; l++) trine_op_destroy(&part[l]);
    free(b), free(x), free(V), free(Z);
    return is_true ? iterations : -1;
}

trine_matrix test_long_row(trine_context ctx)
{
    enum { N = 200 };
    trine_matrix A;
    int64_t *offsets;
    int32_t *columns;
    double *values;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, N, N, N + 2 + 3 * (N - 2), &offsets, &columns,
                             (void **)&values));
    for (int i = 0; i < N; i++) {
        int64_t at = offsets[i];
        for (int j = 0; j < N; j++) {
            if (i && abs(i - j) > 1) continue;
            columns[at] = j;
            values[at++] = i == j ? 2 : abs(i - j) == 1 ? -1 : -1e-3;
        }
        offsets[i + 1] = at;
    }
    return A;
}
