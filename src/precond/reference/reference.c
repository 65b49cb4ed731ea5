/* Preconditioners by definition, on dense matrices: for newcomers to read first, and the tests' oracle. (Klein 2024,
 * Chapter 5; the equations are its.) Matrices are n x n, row by row. */
#include "core/scalar.h"
#include "core/test_interface.h"

typedef long double complex entry;

static entry *row(entry *M, int64_t n, int64_t i) { return M + i * n; }

/** C := A B. */
static void multiply(int64_t n, entry *A, entry *B, entry *C)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            entry sum = 0;
            for (int64_t k = 0; k < n; k++) sum += row(A, n, i)[k] * row(B, n, k)[j];
            row(C, n, i)[j] = sum;
        }
}

/** X := M^-1 by Gauss and Jordan; M is overwritten. False: M is singular. */
static bool invert(int64_t n, entry *M, entry *X)
{
    for (int64_t i = 0; i < n * n; i++) X[i] = i / n == i % n;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (cabsl(row(M, n, i)[k]) > cabsl(row(M, n, best)[k])) best = i;
        if (row(M, n, best)[k] == 0) return false;
        for (int64_t j = 0; j < n; j++) {
            entry t = row(M, n, k)[j];
            row(M, n, k)[j] = row(M, n, best)[j];
            row(M, n, best)[j] = t;
            t = row(X, n, k)[j];
            row(X, n, k)[j] = row(X, n, best)[j];
            row(X, n, best)[j] = t;
        }
        const entry pivot = row(M, n, k)[k];
        for (int64_t j = 0; j < n; j++) {
            row(M, n, k)[j] /= pivot;
            row(X, n, k)[j] /= pivot;
        }
        for (int64_t i = 0; i < n; i++) {
            const entry factor = row(M, n, i)[k];
            if (i == k || factor == 0) continue;
            for (int64_t j = 0; j < n; j++) {
                row(M, n, i)[j] -= factor * row(M, n, k)[j];
                row(X, n, i)[j] -= factor * row(X, n, k)[j];
            }
        }
    }
    return true;
}

/** Eqs. 39 to 43. */
static entry diagonal(trine_precond_method method, int64_t n, const entry *B, int64_t i)
{
    const entry centre = B[i * n + i];
    long double others = 0;
    for (int64_t j = 0; j < n; j++)
        if (j != i) others += cabsl(B[i * n + j]);
    const entry unit = centre == 0 ? 1 : centre / cabsl(centre);
    switch (method) {
    case TRINE_PRECOND_DIAGP1: return unit * fmaxl(cabsl(centre), others);
    case TRINE_PRECOND_DIAGP2: return unit * (cabsl(centre) + others);
    case TRINE_PRECOND_L1: return centre + others;
    default: return centre;
    }
}

/** Eq. 51. */
static void prune(int64_t n, const entry *B, const uint8_t *member, entry *M)
{
    for (int64_t k = 0; k < n * n; k++) M[k] = member[k] ? B[k] : 0;
}

/** The diagonal and the q largest entries beside it, of equal ones those of lower columns (Eq. 49). */
static void keep_largest(int64_t n, entry *B, const int64_t *q)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = n - 1; j >= 0; j--) {
            int64_t larger = 0; /* of those that are still there: lower columns, and higher ones that were kept */
            for (int64_t k = 0; k < n; k++) {
                const long double a = cabsl(row(B, n, i)[k]), b = cabsl(row(B, n, i)[j]);
                larger += k != i && k != j && (k < j ? a >= b : a > b);
            }
            if (i != j && larger >= q[i]) row(B, n, i)[j] = 0;
        }
}

/** Eqs. 28 to 30: X := M^-1. */
static bool alternate(int64_t n, const entry *A, int m, const uint8_t *member, entry *room, entry *X)
{
    entry *M = room, *inverse = room + n * n, *R = room + 2 * n * n;
    for (int64_t k = 0; k < n * n; k++) X[k] = 0;
    for (int l = 0; l < m; l++) {
        multiply(n, (entry *)A, X, R);
        for (int64_t k = 0; k < n * n; k++) R[k] = (k / n == k % n) - R[k];
        prune(n, A, member + l * n * n, M);
        if (!invert(n, M, inverse)) return false;
        multiply(n, inverse, R, M);
        for (int64_t k = 0; k < n * n; k++) X[k] += M[k];
    }
    return true;
}

/** Eqs. 57 to 62: P := M. Each entry belongs to the first of the patterns that has it. */
static void multiply_directly(int64_t n, const entry *A, int m, const uint8_t *member, entry *room, entry *P)
{
    entry *M = room, *old = room + n * n;
    for (int64_t k = 0; k < n * n; k++) P[k] = k / n == k % n ? diagonal(TRINE_PRECOND_DIAGP1, n, A, k / n) : 0;
    for (int l = m - 1; l >= 0; l--) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const entry Ti = diagonal(TRINE_PRECOND_DIAGP1, n, A, i), Tj = diagonal(TRINE_PRECOND_DIAGP1, n, A, j);
                const entry Ji = 1 + (A[i * n + i] / Ti - 1) / m, Jj = 1 + (A[j * n + j] / Tj - 1) / m;
                bool is_first = member[(l * n + i) * n + j];
                for (int k = 0; k < l; k++) is_first = is_first && !member[(k * n + i) * n + j];
                entry value = is_first ? A[i * n + j] / Ti : 0;
                for (int k = 0; k < m - 1 - l; k++) value /= Ji;
                for (int k = 0; k < l; k++) value /= Jj;
                row(M, n, i)[j] = i == j ? Ji : value;
            }
        for (int64_t k = 0; k < n * n; k++) old[k] = P[k];
        multiply(n, old, M, P);
    }
}

/** Eqs. 68 and 69: P := M. */
static bool multiply_adaptively(int64_t n, const entry *A, int m, const uint8_t *member, const int64_t *q, entry *room,
                                entry *P)
{
    entry *B = room, *M = room + n * n, *inverse = room + 2 * n * n, *next = room + 3 * n * n;
    for (int64_t k = 0; k < n * n; k++) {
        B[k] = A[k];
        P[k] = k / n == k % n;
    }
    for (int l = 0; l < m; l++) {
        prune(n, B, member + l * n * n, M);
        multiply(n, M, P, next); /* M_l ... M_0 */
        for (int64_t k = 0; k < n * n; k++) P[k] = next[k];
        if (!invert(n, M, inverse)) return false;
        multiply(n, B, inverse, next);
        keep_largest(n, next, q);
        for (int64_t k = 0; k < n * n; k++) B[k] = next[k];
    }
    for (int64_t k = 0; k < n * n; k++) P[k] *= diagonal(TRINE_PRECOND_DIAGP1, n, B, k / n);
    return true;
}

bool trine_precond_reference(trine_precond_method method, int64_t n, const long double *given, int m,
                             const uint8_t *member, const int64_t *q, long double *scratch, long double *result)
{
    const entry *A = (const entry *)(const void *)given;
    entry *room = (entry *)(void *)scratch, *X = (entry *)(void *)result, *P = room + 4 * n * n;
    switch (method) {
    case TRINE_PRECOND_MOS_D: multiply_directly(n, A, m, member, room, P); break;
    case TRINE_PRECOND_MOS_A:
        if (!multiply_adaptively(n, A, m, member, q, room, P)) return false;
        break;
    case TRINE_PRECOND_DIAGP0:
    case TRINE_PRECOND_DIAGP1:
    case TRINE_PRECOND_DIAGP2:
    case TRINE_PRECOND_L1:
        for (int64_t k = 0; k < n * n; k++) P[k] = k / n == k % n ? diagonal(method, n, A, k / n) : 0;
        break;
    default: return alternate(n, A, m, member, room, X);
    }
    return invert(n, P, X);
}
