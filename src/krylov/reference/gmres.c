/* What GMRES (and MINRES, where A is symmetric) computes in exact arithmetic: step k has the x of the Krylov space of
 * dimension k whose residual is smallest. Here by generalized conjugate residuals (Eisenstat, Elman and Schultz 1983):
 * directions p whose images q = A p are made orthonormal, each a line search. Read this first; the rest of this module
 * computes the same with half the vectors, for matrices that this breaks down on, and for four precisions. */
#include <math.h>

#include "core/test_interface.h"

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}
static void add(int64_t n, double factor, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] += factor * x[i];
}

void trine_krylov_reference(int64_t n, void (*multiply)(void *user, const double *x, double *y), void *user,
                            const double *b, double *x, int steps, double *work, double *residuals)
{
    double *r = work, *p = work + n, *q = p + n * steps;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
        r[i] = b[i];
    }
    residuals[0] = sqrt(dot(n, r, r));
    for (int k = 0; k < steps; k++) {
        double *pk = p + n * k, *qk = q + n * k;
        for (int64_t i = 0; i < n; i++) pk[i] = r[i];
        multiply(user, pk, qk);
        for (int pass = 0; pass < 2; pass++)
            for (int l = 0; l < k; l++) {
                const double beta = dot(n, q + n * l, qk);
                add(n, -beta, q + n * l, qk);
                add(n, -beta, p + n * l, pk);
            }
        const double norm = sqrt(dot(n, qk, qk));
        for (int64_t i = 0; i < n; i++) {
            pk[i] /= norm;
            qk[i] /= norm;
        }
        const double alpha = dot(n, qk, r);
        add(n, alpha, pk, x);
        add(n, -alpha, qk, r);
        residuals[k + 1] = sqrt(dot(n, r, r));
    }
}
