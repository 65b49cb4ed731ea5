/* Tridiagonal, pentadiagonal and banded matrices, among them the two test sets of the thesis. */
#include <limits.h>
#include <string.h>

#include "core/scalar.h"
#include "matrix/gallery/gallery.h"

/** Band k of -kl..ku holds A(i, i+k) at band[(k + kl) n + i]. */
typedef struct {
    int64_t n;
    int kl, ku;
    double *band;
} banded;

/** Every position inside the bands is stored, zero or not. */
static int64_t banded_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const banded *s = state;
    int64_t count = 0;
    for (int k = -s->kl; k <= s->ku; k++) {
        if (i + k < 0 || i + k >= s->n) continue;
        if (columns) {
            columns[count] = (int32_t)(i + k);
            values[count] = s->band[(k + s->kl) * s->n + i];
        }
        count++;
    }
    return count;
}

static trine_status new_bands(const gallery *g, banded *s)
{
    return ALLOC(g->ctx, s->band, (int64_t)(s->kl + s->ku + 1) * s->n);
}

static void fill(double *x, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++) x[i] = value;
}

/** Constant bands, one parameter each. */
static trine_status make_toeplitz(gallery *g, int half, const char *const *keys)
{
    trine_status status = TRINE_SUCCESS;
    banded s = {.kl = half, .ku = half, .band = NULL};
    TRY(gallery_integer(g, "n", 0, INT_MAX, &s.n));
    TRY(new_bands(g, &s));
    for (int k = 0; k <= 2 * half; k++) fill(s.band + k * s.n, s.n, gallery_real(g, keys[k]));
    TRY(gallery_rows(g, s.n, banded_row, &s));
done:
    trine_free(g->ctx, TRINE_HOST, s.band);
    return status;
}

/** a below, b on, c above the diagonal; eigenvalues b + 2 sqrt(ac) cos(k pi / (n+1)). */
trine_status gallery_tridiag(gallery *g)
{
    static const char *const keys[] = {"a", "b", "c"};
    return make_toeplitz(g, 1, keys);
}

/** Five constant bands from the lowest to the highest. */
trine_status gallery_pentadiag(gallery *g)
{
    static const char *const keys[] = {"a2", "a1", "b", "c1", "c2"};
    return make_toeplitz(g, 2, keys);
}

/* -------------------------------------------------------------- random numbers */

/** One stream, drawn in order. */
typedef struct { uint64_t seed, next; } stream;

static double uniform(stream *r) { return gallery_uniform(r->seed, r->next++); }

/** Box and Muller, two uniform numbers for one. */
static double normal(stream *r)
{
    const double u = uniform(r), v = uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

static void symmetric_uniform(stream *r, double *x, int64_t n) /* in (-1,1) */
{
    for (int64_t i = 0; i < n; i++) x[i] = 2 * uniform(r) - 1;
}

static void zero_half(stream *r, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (uniform(r) < 0.5) x[i] = 0;
}

static void scale(double *x, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

/** Values uniform in (-1,1) off the diagonal; the diagonal is kl + ku + 1: strictly diagonally dominant. */
trine_status gallery_random_banded(gallery *g)
{
    trine_status status = TRINE_SUCCESS;
    banded s = {.band = NULL};
    int64_t kl, ku, seed;
    TRY(gallery_integer(g, "n", 0, INT_MAX, &s.n));
    TRY(gallery_integer(g, "kl", 0, 1000, &kl));
    TRY(gallery_integer(g, "ku", 0, 1000, &ku));
    TRY(gallery_integer(g, "seed", 0, INT_MAX, &seed));
    s.kl = (int)kl;
    s.ku = (int)ku;
    TRY(new_bands(g, &s));
    stream r = {.seed = (uint64_t)seed};
    symmetric_uniform(&r, s.band, (kl + ku + 1) * s.n);
    fill(s.band + kl * s.n, s.n, (double)(kl + ku + 1));
    TRY(gallery_rows(g, s.n, banded_row, &s));
done:
    trine_free(g->ctx, TRINE_HOST, s.band);
    return status;
}

/* --------------------------------------------------------------------- randsvd */

static double norm2(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/** rows[0..count) of the n-column A: A -= v (v^T A) / pivot; work has n elements. */
static void reflect_rows(double *A, int64_t n, int64_t first_column, const double *v, int64_t count, double pivot,
                         double *work)
{
    for (int64_t j = first_column; j < n; j++) work[j] = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = first_column; j < n; j++) work[j] += v[i] * A[i * n + j];
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = first_column; j < n; j++) A[i * n + j] -= v[i] * (work[j] / pivot);
}

/** A := Q A with Q Haar distributed, a product of Householder reflections of normal vectors and signs (Stewart
 *  1980). */
static void multiply_haar(stream *r, double *A, int64_t n, double *v, double *sign, double *work)
{
    for (int64_t k = n - 2; k >= 0; k--) {
        for (int64_t i = 0; i < n - k; i++) v[i] = normal(r);
        const double s = copysign(norm2(v, n - k), v[0]);
        sign[k] = s >= 0 ? -1 : 1;
        v[0] += s;
        reflect_rows(A + k * n, n, 0, v, n - k, s * v[0], work);
    }
    sign[n - 1] = normal(r) >= 0 ? 1 : -1;
    for (int64_t i = 0; i < n; i++) scale(A + i * n, n, sign[i]);
}

static void transpose(double *A, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            const double x = A[i * n + j];
            A[i * n + j] = A[j * n + i];
            A[j * n + i] = x;
        }
}

/** Bring row or column `x` of length m to a multiple of e_1: v and pivot of the reflection I - v v^T / pivot; false
 *  if x = 0. */
static bool householder(const double *x, int64_t step, int64_t m, double *v, double *pivot)
{
    for (int64_t i = 0; i < m; i++) v[i] = x[i * step];
    const double s = copysign(norm2(v, m), v[0]);
    if (s == 0) return false;
    v[0] += s;
    *pivot = s * v[0];
    return true;
}

/** Two-sided Householder reduction to bandwidths half, half. */
static void reduce_to_band(double *A, int64_t n, int half, double *v, double *work)
{
    double pivot;
    for (int64_t j = 0; j < n - half - 1; j++) {
        const int64_t k = j + half, m = n - k;
        if (householder(A + k * n + j, n, m, v, &pivot)) reflect_rows(A + k * n, n, j, v, m, pivot, work);
        for (int64_t i = k + 1; i < n; i++) A[i * n + j] = 0;
        if (householder(A + j * n + k, 1, m, v, &pivot))
            for (int64_t i = j; i < n; i++) {
                double sum = 0;
                for (int64_t l = 0; l < m; l++) sum += A[i * n + k + l] * v[l];
                for (int64_t l = 0; l < m; l++) A[i * n + k + l] -= sum / pivot * v[l];
            }
        for (int64_t i = k + 1; i < n; i++) A[j * n + i] = 0;
    }
}

/** Higham's randsvd with condition 1e15: A = U diag(sigma) V reduced to the bands of s. mode 1: 1 and then all
 *  1/cond; 2: all 1, the last 1/cond; 3: geometric; 4: arithmetic. Dense work: O(n^3). */
static trine_status make_randsvd(const gallery *g, banded *s, int mode, stream *r)
{
    enum { MAX_ORDER = 8192 };
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = g->ctx;
    const int64_t n = s->n;
    const double inverse = 1e-15, last = (double)(n - 1);
    double *A = NULL, *v = NULL, *sign = NULL, *work = NULL;
    if (n > MAX_ORDER)
        FAIL(TRINE_ERR_ARGUMENT, "%s: n = %lld is above %d, the largest order of the randsvd matrices (id 8 to 11)",
             g->name, (long long)n, MAX_ORDER);
    TRY(CALLOC(ctx, A, n * n));
    TRY(ALLOC(ctx, v, n));
    TRY(ALLOC(ctx, sign, n));
    TRY(ALLOC(ctx, work, n));
    for (int64_t i = 0; i < n; i++) {
        double *sigma = &A[i * n + i];
        if (mode == 1) *sigma = i == 0 ? 1 : inverse;
        else if (mode == 2) *sigma = i < n - 1 ? 1 : inverse;
        else if (mode == 3) *sigma = pow(1e15, -(double)i / last);
        else *sigma = 1 - (double)i / last * (1 - inverse);
    }
    multiply_haar(r, A, n, v, sign, work);
    transpose(A, n);
    multiply_haar(r, A, n, v, sign, work);
    reduce_to_band(A, n, s->kl, v, work);
    for (int k = -s->kl; k <= s->ku; k++)
        for (int64_t i = 0; i < n; i++) s->band[(k + s->kl) * n + i] = i + k >= 0 && i + k < n ? A[i * n + i + k] : 0;
done:
    trine_free(ctx, TRINE_HOST, A);
    trine_free(ctx, TRINE_HOST, v);
    trine_free(ctx, TRINE_HOST, sign);
    trine_free(ctx, TRINE_HOST, work);
    return status;
}

/* ---------------------------------------------------- test sets of the thesis */

static const int randsvd_mode[] = {2, 3, 1, 4}; /* of id 8 to 11 in both sets */

/** Id 13 of Table 4: Dorr's matrix, theta = 1e-4 (1971; Higham's gallery). i counts from 1. */
static void make_dorr(int64_t n, double *a, double *b, double *c)
{
    const double h = 1.0 / (double)(n + 1), t = 1e-4 / (h * h);
    const int64_t middle = (n + 1) / 2;
    for (int64_t i = 1; i <= n; i++) {
        const double drift = (0.5 - (double)i * h) / h;
        a[i - 1] = i <= middle ? -t : -t + drift;
        c[i - 1] = i <= middle ? -t - drift : -t;
        b[i - 1] = -(a[i - 1] + c[i - 1]);
    }
}

/** Read id, n, seed; draw all bands uniform in (-1,1), lowest first. Ids whose bit is set in `derived` start from
 *  the bands of id 1 with that seed. The stream is base + 1000 id + seed. */
static trine_status begin_set(const gallery *g, banded *s, int ids, unsigned derived, int base, int64_t *id, stream *r)
{
    trine_status status = TRINE_SUCCESS;
    int64_t seed;
    TRY(gallery_integer(g, "id", 1, ids, id));
    TRY(gallery_integer(g, "n", 3, INT_MAX, &s->n));
    TRY(gallery_integer(g, "seed", 0, INT_MAX, &seed));
    TRY(new_bands(g, s));
    *r = (stream){.seed = (uint64_t)(base + 1000 * (derived >> *id & 1 ? 1 : *id) + seed)};
    symmetric_uniform(r, s->band, (int64_t)(s->kl + s->ku + 1) * s->n);
done:
    return status;
}

/** Table 4 of Klein's thesis (Algebraic, Block and Multiplicative Preconditioners based on Fast Tridiagonal Solves
 *  on GPUs, Heidelberg; taken from Venetis et al. 2015) for any n and seed; n = 512 there. Bands a, b, c below, on
 *  and above the diagonal are drawn from the stream 1000 id + seed (ids 4, 5 and 12: of id 1), masks and Haar
 *  vectors after them. Zeros are stored: 3n - 2 entries. */
trine_status gallery_thesis_tridiag(gallery *g)
{
    trine_status status = TRINE_SUCCESS;
    banded s = {.kl = 1, .ku = 1, .band = NULL};
    stream r;
    int64_t id;
    TRY(begin_set(g, &s, 20, 1u << 4 | 1u << 5 | 1u << 12, 0, &id, &r));
    const int64_t n = s.n;
    double *a = s.band, *b = a + n, *c = b + n;
    switch (id) {
    case 2: fill(b, n, 1e8); break;
    case 3: /* lesp */
        for (int64_t i = 0; i < n; i++) {
            a[i] = 1.0 / (double)(i + 1);
            b[i] = -(2.0 * (double)(i + 1) + 3);
            c[i] = (double)(i + 1) + 1;
        }
        break;
    case 4: a[n / 2] *= 1e-50; break;
    case 5:
        zero_half(&r, a, n);
        zero_half(&r, c, n);
        break;
    case 6: fill(b, n, 64); break;
    case 7: /* inverse of the Kac-Murdock-Szegoe matrix, rho = 1/2 */
        fill(a, n, -0.5 / 0.75);
        fill(b, n, 1.25 / 0.75);
        fill(c, n, -0.5 / 0.75);
        b[0] = b[n - 1] = 1 / 0.75;
        break;
    case 8:
    case 9:
    case 10:
    case 11: TRY(make_randsvd(g, &s, randsvd_mode[id - 8], &r)); break;
    case 12: scale(a, n, 1e-50); break;
    case 13: make_dorr(n, a, b, c); break;
    case 14: fill(b, n, 1e-8); break;
    case 15: fill(b, n, 0); break;
    case 16:
        fill(a, n, 1);
        fill(b, n, 1e-8);
        fill(c, n, 1);
        break;
    case 17:
        fill(a, n, 1);
        fill(b, n, 1e8);
        fill(c, n, 1);
        break;
    case 18:
        fill(a, n, -1);
        fill(b, n, 4);
        fill(c, n, -1);
        break;
    case 19:
        fill(a, n, -1);
        fill(b, n, 4);
        fill(c, n, 1);
        break;
    case 20:
        fill(a, n, -1);
        fill(b, n, 4);
        break;
    default: break; /* 1: as drawn */
    }
    TRY(gallery_rows(g, n, banded_row, &s));
done:
    trine_free(g->ctx, TRINE_HOST, s.band);
    return status;
}

/** Table 6 of the thesis: bands a2, a1, b, c1, c2, lowest first, from the stream 500000 + 1000 id + seed (ids 3 to
 *  6, 12 and 13: of id 1). 5n - 6 entries. */
trine_status gallery_thesis_pentadiag(gallery *g)
{
    static const double constant[][5] = {
        /* ids with constant bands */
        [14] = {1, -10, 0, 10, 1}, [17] = {1, 1, 1e-8, 1, 1}, [18] = {1, 1, 1e8, 1, 1}, [19] = {-1, -1, 8, -1, -1},
        [20] = {-1, 1, 8, 1, -1},  [21] = {-1, 1, 8, 1, 1},   [22] = {-1, -1, 8, 1, 0}, [23] = {-1, -1, 8, 0, 0}};
    trine_status status = TRINE_SUCCESS;
    banded s = {.kl = 2, .ku = 2, .band = NULL};
    stream r;
    int64_t id;
    TRY(begin_set(g, &s, 23, 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 12 | 1u << 13, 500000, &id, &r));
    const int64_t n = s.n, half = n / 2;
    double *a2 = s.band, *a1 = a2 + n, *b = a1 + n, *c1 = b + n, *c2 = c1 + n;
    switch (id) {
    case 2: fill(b, n, 1e8); break;
    case 4: a1[half] *= 1e-50; a2[half + 1] *= 1e-50; /* and, as in 3: */ /* fall through */
    case 3: a2[half] *= 1e-50; break;
    case 5:
        zero_half(&r, a2, n);
        zero_half(&r, c2, n);
        break;
    case 6:
        zero_half(&r, a2, n);
        zero_half(&r, a1, n);
        zero_half(&r, c1, n);
        zero_half(&r, c2, n);
        break;
    case 7: fill(b, n, 64); break;
    case 8:
    case 9:
    case 10:
    case 11: TRY(make_randsvd(g, &s, randsvd_mode[id - 8], &r)); break;
    case 13: scale(a1, n, 1e-50); /* and, as in 12: */ /* fall through */
    case 12: scale(a2, n, 1e-50); break;
    case 15: fill(b, n, 1e-8); break;
    case 16: fill(b, n, 0); break;
    case 14:
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
    case 23:
        for (int k = 0; k < 5; k++) { /* 22 and 23 keep the random bands of c2, and of c1 and c2 */
            const int random_from = id == 22 ? 4 : id == 23 ? 3 : 5;
            if (k < random_from) fill(s.band + k * n, n, constant[id][k]);
        }
        break;
    default: break; /* 1: as drawn */
    }
    TRY(gallery_rows(g, n, banded_row, &s));
done:
    trine_free(g->ctx, TRINE_HOST, s.band);
    return status;
}
