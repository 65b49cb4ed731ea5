/* Incomplete factorizations: factors against their definitions in long double, applications against the factors,
 * approximate inverses, the same bits on any number of threads, every failure with its row, iterations of GMRES. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/team.h"
#include "elements.h"
#include "precond_support.h"

static const trine_precond_method methods[] = {TRINE_PRECOND_ILU0, TRINE_PRECOND_ILUK, TRINE_PRECOND_ILUT,
                                               TRINE_PRECOND_IC0, TRINE_PRECOND_ISAI};
enum { METHODS = sizeof methods / sizeof *methods };

/* ------------------------------------------------------------------- samples */

/** A small dense matrix and its pattern; A has the same entries. */
typedef struct {
    trine_dtype t;
    int64_t n;
    wide *a;
    bool *has;
    trine_matrix A;
} sample;

enum { HERMITIAN = 1, BY_COLUMNS = 2, SHUFFLED = 4 };

/** A from the dense entries. SHUFFLED: lines are not sorted. */
static void compress(trine_context ctx, sample *s, int kind)
{
    const int64_t n = s->n;
    int64_t nnz = 0, *offsets;
    int32_t *indices;
    void *values;
    for (int64_t k = 0; k < n * n; k++) nnz += s->has[k];
    OK(trine_matrix_allocate(ctx, &s->A, kind & BY_COLUMNS ? TRINE_CSC : TRINE_CSR, s->t, n, n, nnz, &offsets, &indices,
                             &values));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t q = 0; q < n; q++) {
            const int64_t j = kind & SHUFFLED ? (q * 7 + i) % n : q, k = kind & BY_COLUMNS ? j * n + i : i * n + j;
            if (!s->has[k]) continue;
            indices[at] = (int32_t)j;
            put(s->t, values, at++, s->a[k]);
        }
        offsets[i + 1] = at;
    }
}

/** Random entries, the diagonal somewhat larger than the rest of its row; n is no multiple of 7. */
static sample make_sample(trine_context ctx, trine_dtype t, int64_t n, double density, uint64_t seed, int kind)
{
    sample s = {t, n, calloc((size_t)(n * n + 1), sizeof(wide)), calloc((size_t)(n * n + 1), sizeof(bool)), NULL};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const uint64_t k = (uint64_t)(i * n + j);
            if (i == j || test_uniform(seed, k) > density || (kind & HERMITIAN && i < j)) continue;
            s.a[i * n + j] = random_element(t, seed + 1, k);
            s.has[i * n + j] = true;
            if (kind & HERMITIAN) s.a[j * n + i] = conjl(s.a[i * n + j]), s.has[j * n + i] = true;
        }
    char rounded[16];
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0.5L;
        for (int64_t j = 0; j < n; j++) sum += cabsl(s.a[i * n + j]);
        wide phase = random_element(t, seed + 2, (uint64_t)i);
        phase = kind & HERMITIAN ? 1 : phase / cabsl(phase);
        s.a[i * n + i] = phase * sum;
        s.has[i * n + i] = true;
    }
    for (int64_t k = 0; k < n * n; k++) put(t, rounded, 0, s.a[k]), s.a[k] = get(t, rounded, 0);
    compress(ctx, &s, kind);
    return s;
}

static void end_sample(sample *s)
{
    free(s->a), free(s->has);
    OK(trine_matrix_destroy(&s->A));
}

static trine_precond plan_of(trine_context ctx, trine_matrix A, const trine_precond_options *o)
{
    trine_precond p;
    OK(trine_precond_analyse(ctx, &p, A, o));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_check(p, NULL));
    return p;
}

/** L (with its unit diagonal) and U of a plan, dense; of IC0 L and L^H. pattern: where they have entries. */
static void get_factors(trine_precond p, trine_precond_method method, const sample *s, wide *L, wide *U, bool *pattern)
{
    const int64_t n = s->n, *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_precond_get_triangles(p, NULL, &offsets, &columns, &values));
    memset(L, 0, (size_t)(n * n) * sizeof *L);
    memset(U, 0, (size_t)(n * n) * sizeof *U);
    memset(pattern, 0, (size_t)(n * n) * sizeof *pattern);
    for (int64_t i = 0; i < n; i++) {
        if (method != TRINE_PRECOND_IC0) L[i * n + i] = 1;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t j = columns[k];
            assert_true(k == offsets[i] || columns[k - 1] < j);
            const wide v = get(s->t, values, k);
            pattern[i * n + j] = true;
            if (method == TRINE_PRECOND_IC0) {
                assert_true(j <= i);
                L[i * n + j] = v;
                U[j * n + i] = conjl(v);
            } else if (j < i) {
                L[i * n + j] = v;
            } else {
                U[i * n + j] = v;
            }
        }
    }
}

/** Room for three dense matrices. */
typedef struct {
    wide *L, *U;
    bool *pattern;
} factors;
static factors new_factors(int64_t n)
{
    const size_t count = (size_t)(n * n + 1);
    return (factors){malloc(count * sizeof(wide)), malloc(count * sizeof(wide)), malloc(count * sizeof(bool))};
}
static void end_factors(factors *f) { free(f->L), free(f->U), free(f->pattern); }

/* ---------------------------------------------------------------- definitions */

/** (L U)_ij = a_ij on the pattern: to the rounding errors of a sum of n products. */
static void assert_factors(const sample *s, const factors *f)
{
    const int64_t n = s->n;
    const long double bound = 4 * (long double)(n + 2) * eps_of(s->t);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (!f->pattern[i * n + j]) continue;
            wide rest = s->a[i * n + j];
            long double size = 0;
            for (int64_t k = 0; k < n; k++) {
                rest -= f->L[i * n + k] * f->U[k * n + j];
                size += cabsl(f->L[i * n + k]) * cabsl(f->U[k * n + j]);
            }
            assert_true(cabsl(rest) <= bound * size);
        }
}

/** Fill levels by paths: (i,j) has the length of the shortest path from i to j through vertices before both, less 1
 *  (Hysom and Pothen 2002, A New Parallel Algorithm for Incomplete Factor Preconditioning, Theorem 1). */
static int level_of(const sample *s, int64_t i, int64_t j)
{
    const int64_t n = s->n, least = i < j ? i : j;
    int64_t queue[64], tail = 0;
    int distance[64];
    for (int64_t v = 0; v < n; v++) distance[v] = -1;
    if (i == j) return 0;
    distance[i] = 0;
    queue[tail++] = i;
    for (int64_t head = 0; head < tail; head++)
        for (int64_t w = 0; w < n; w++) {
            const int64_t v = queue[head];
            if (!s->has[v * n + w] || distance[w] >= 0 || (w != j && w >= least)) continue;
            distance[w] = distance[v] + 1;
            if (w == j) return distance[w] - 1;
            queue[tail++] = w;
        }
    return 1000;
}

static const int kinds[] = {0, BY_COLUMNS, SHUFFLED, BY_COLUMNS | SHUFFLED};

static void test_lu_on_a_pattern(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int level = 0; level <= 48; level = level < 4 ? level + 1 : level * 2) {
            const sample s =
                make_sample(test_cpu(1), all_dtypes[t], 48, 0.06, (uint64_t)(10 * t + level), kinds[(t + level) % 4]);
            const trine_precond_options o = {.method = level ? TRINE_PRECOND_ILUK : TRINE_PRECOND_ILU0,
                                             .fill_level = level};
            trine_precond p = plan_of(test_cpu(1), s.A, &o);
            factors f = new_factors(s.n);
            get_factors(p, o.method, &s, f.L, f.U, f.pattern);
            for (int64_t i = 0; i < s.n; i++)
                for (int64_t j = 0; j < s.n; j++) assert_int_equal(f.pattern[i * s.n + j], level_of(&s, i, j) <= level);
            assert_factors(&s, &f);
            if (level == 48) /* no fill is left out: A itself */
                for (int64_t k = 0; k < s.n * s.n; k++) f.pattern[k] = true;
            assert_factors(&s, &f);
            end_factors(&f);
            OK(trine_precond_destroy(&p));
            end_sample((sample *)&s);
        }
}

static void test_cholesky(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int kind = 0; kind < 4; kind++) {
            sample s = make_sample(test_cpu(1), all_dtypes[t], 41, 0.1, (uint64_t)(50 + t), HERMITIAN | kinds[kind]);
            trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0});
            factors f = new_factors(s.n);
            get_factors(p, TRINE_PRECOND_IC0, &s, f.L, f.U, f.pattern);
            for (int64_t i = 0; i < s.n; i++) {
                for (int64_t j = 0; j <= i; j++) assert_int_equal(f.pattern[i * s.n + j], s.has[i * s.n + j]);
                assert_true(creall(f.L[i * s.n + i]) > 0 && cimagl(f.L[i * s.n + i]) == 0);
            }
            assert_factors(&s, &f);
            end_factors(&f);
            OK(trine_precond_destroy(&p));
            end_sample(&s);
        }
}

/** What is left of a row with the largest entries alone: of `most` in columns begin .. end - 1, lower ones first. */
static void keep_largest(wide *row, const long double *size, int64_t begin, int64_t end, int64_t most)
{
    for (int64_t j = begin; j < end; j++) {
        int64_t larger = 0;
        for (int64_t k = begin; k < end; k++)
            larger += row[k] != 0 && (size[k] > size[j] || (size[k] == size[j] && k < j));
        if (larger >= most) row[j] = 0;
    }
}

/** ILUT by definition, in long double (Saad 2003, Algorithm 10.6, with l_ik u_kk in place of l_ik). */
static void threshold_by_definition(const sample *s, double tolerance, int64_t most, wide *L, wide *U)
{
    const int64_t n = s->n;
    wide *w = malloc((size_t)n * sizeof *w);
    long double *size = malloc((size_t)n * sizeof *size);
    for (int64_t i = 0; i < n; i++) {
        long double norm = 0;
        for (int64_t j = 0; j < n; j++) {
            w[j] = s->a[i * n + j];
            norm += cabsl(w[j]) * cabsl(w[j]);
        }
        const long double least = tolerance * sqrtl(norm);
        for (int64_t k = 0; k < i; k++) {
            size[k] = cabsl(w[k]);
            if (size[k] < least) w[k] = 0;
            if (w[k] == 0) continue;
            w[k] /= U[k * n + k];
            for (int64_t j = k + 1; j < n; j++) w[j] -= w[k] * U[k * n + j];
        }
        for (int64_t j = i + 1; j < n; j++) {
            size[j] = cabsl(w[j]);
            if (size[j] < least) w[j] = 0;
        }
        keep_largest(w, size, 0, i, most);
        keep_largest(w, size, i + 1, n, most);
        for (int64_t j = 0; j < n; j++) {
            L[i * n + j] = j < i ? w[j] : i == j;
            U[i * n + j] = j < i ? 0 : w[j];
        }
    }
    free(w), free(size);
}

static void test_threshold(void **state)
{
    static const double tolerances[] = {1e-12, 0.01, 0.05, 0.3};
    static const int64_t most[] = {1000, 6, 2, 1};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 16; k++) {
            sample s = make_sample(test_cpu(1), all_dtypes[t], 45, 0.1, (uint64_t)(100 + t), kinds[k % 4]);
            const trine_precond_options o = {
                .method = TRINE_PRECOND_ILUT, .drop_tolerance = tolerances[k % 4], .row_entries = most[k / 4]};
            trine_precond p = plan_of(test_cpu(1), s.A, &o);
            factors f = new_factors(s.n), g = new_factors(s.n);
            get_factors(p, o.method, &s, f.L, f.U, f.pattern);
            threshold_by_definition(&s, o.drop_tolerance, o.row_entries, g.L, g.U);
            for (int64_t i = 0; i < s.n; i++) {
                long double largest = 0;
                for (int64_t j = 0; j < s.n; j++) largest = fmaxl(largest, cabsl(s.a[i * s.n + j]));
                for (int64_t j = 0; j < s.n; j++) {
                    const int64_t at = i * s.n + j;
                    const wide found = j < i ? f.L[at] : f.U[at], right = j < i ? g.L[at] : g.U[at];
                    if (k % 4) assert_int_equal(f.pattern[at], right != 0);
                    assert_true(cabsl(found - right) <= 100 * eps_of(s.t) * largest);
                }
            }
            end_factors(&f), end_factors(&g);
            OK(trine_precond_destroy(&p));
            end_sample(&s);
        }
}

/* --------------------------------------------------------------- applications */

/** Row-major dense op(A). */
static wide entry_of(const wide *A, int64_t n, trine_transpose op, int64_t i, int64_t j)
{
    return op == TRINE_N ? A[i * n + j] : op == TRINE_T ? A[j * n + i] : conjl(A[j * n + i]);
}

/** W T = I on the pattern of T, row by row: m T(J,J) = e by elimination, without a thought of T's form. */
static void invert_on_pattern(int64_t n, const wide *T, wide *W)
{
    memset(W, 0, (size_t)(n * n) * sizeof *W);
    for (int64_t i = 0; i < n; i++) {
        int64_t J[64], count = 0;
        wide G[64][65], m[64];
        for (int64_t j = 0; j < n; j++)
            if (T[i * n + j] != 0) J[count++] = j;
        for (int64_t r = 0; r < count; r++) {
            for (int64_t c = 0; c < count; c++) G[r][c] = T[J[c] * n + J[r]];
            G[r][count] = J[r] == i;
        }
        for (int64_t c = 0; c < count; c++) {
            int64_t best = c;
            for (int64_t r = c; r < count; r++)
                if (cabsl(G[r][c]) > cabsl(G[best][c])) best = r;
            for (int64_t q = 0; q <= count; q++) {
                const wide swap = G[c][q];
                G[c][q] = G[best][q];
                G[best][q] = swap;
            }
            for (int64_t r = c + 1; r < count; r++) {
                const wide l = G[r][c] / G[c][c];
                for (int64_t q = c; q <= count; q++) G[r][q] -= l * G[c][q];
            }
        }
        for (int64_t r = count; r-- > 0;) {
            m[r] = G[r][count];
            for (int64_t c = r + 1; c < count; c++) m[r] -= G[r][c] * m[c];
            m[r] /= G[r][r];
            W[i * n + J[r]] = m[r];
        }
    }
}

/** y of op(T) y = z by so many steps y := y + op(W) (z - op(T) y); sweeps 0: exactly, by n of them. */
static void iterate_by_definition(int64_t n, const wide *T, trine_transpose op, int64_t sweeps, const wide *z, wide *y)
{
    wide *W = malloc((size_t)(n * n + 1) * sizeof *W), *r = malloc((size_t)(n + 1) * sizeof *r);
    invert_on_pattern(n, T, W);
    for (int64_t i = 0; i < n; i++) y[i] = 0;
    for (int64_t step = 0; step < (sweeps ? sweeps : n); step++) { /* I - W T is nilpotent */
        for (int64_t i = 0; i < n; i++) {
            r[i] = z[i];
            for (int64_t j = 0; j < n; j++) r[i] -= entry_of(T, n, op, i, j) * y[j];
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) y[i] += entry_of(W, n, op, i, j) * r[j];
    }
    free(W), free(r);
}

/** x := op(M)^-1 b from dense factors. */
static void apply_by_definition(int64_t n, const factors *f, trine_transpose op, int64_t sweeps, const wide *b, wide *x)
{
    wide *y = malloc((size_t)(n + 1) * sizeof *y);
    iterate_by_definition(n, op == TRINE_N ? f->L : f->U, op, sweeps, b, y);
    iterate_by_definition(n, op == TRINE_N ? f->U : f->L, op, sweeps, y, x);
    free(y);
}

/** Position of element (i,j). */
static int64_t place(const trine_dense *X, int64_t i, int64_t j)
{
    return X->layout == TRINE_COLMAJOR ? i + j * X->ld : i * X->ld + j;
}

/** X := alpha op(M)^-1 B: columns of random numbers, layouts, works, in place or not. */
static void try_apply(trine_precond p, const sample *s, const factors *f, trine_transpose op, int64_t sweeps,
                      int64_t nrhs, int variant)
{
    const int64_t n = s->n;
    const bool rows = variant & 1, in_place = variant & 2, own_work = variant & 4;
    const int64_t ld = rows ? nrhs + 2 : n + 3, count = ld * (rows ? n : nrhs);
    char *b = calloc((size_t)count + 1, 16), *x = calloc((size_t)count + 1, 16), alpha[16];
    const trine_dense B = {b, n, nrhs, ld, rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
    trine_dense X = {in_place ? b : x, n, nrhs, ld, B.layout};
    if (!in_place && variant & 8) {
        X.layout = rows ? TRINE_COLMAJOR : TRINE_ROWMAJOR;
        X.ld = 0;
    }
    wide *right = malloc((size_t)(n + 1) * sizeof *right), *column = malloc((size_t)(n + 1) * sizeof *column),
         *given = malloc((size_t)(n * nrhs + 1) * sizeof *given);
    put(s->t, alpha, 0, -1.5L);
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) {
            put(s->t, b, place(&B, i, j), random_element(s->t, 77, (uint64_t)(i + n * j)));
            given[i + n * j] = get(s->t, b, place(&B, i, j));
        }
    trine_exec exec = {0};
    if (!own_work) OK(trine_precond_work(p, nrhs, NULL, NULL, &exec.work));
    OK(trine_precond_apply(p, op, alpha, &B, &X, &exec));
    trine_work_destroy(&exec.work);
    if (!X.ld) X.ld = rows ? n : nrhs;
    for (int64_t j = 0; j < nrhs; j++) {
        long double largest = 0;
        memcpy(column, given + n * j, (size_t)n * sizeof *column);
        apply_by_definition(n, f, op, sweeps, column, right);
        for (int64_t i = 0; i < n; i++) largest = fmaxl(largest, cabsl(right[i]));
        for (int64_t i = 0; i < n; i++)
            assert_true(cabsl(get(s->t, X.data, place(&X, i, j)) + 1.5L * right[i]) <= 60 * eps_of(s->t) * largest);
    }
    free(b), free(x), free(right), free(column), free(given);
}

static void test_apply(void **state)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    static const int64_t sizes[] = {0, 1, 2, 31};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < METHODS; k++)
            for (int q = 0; q < 4; q++) {
                sample s = make_sample(test_cpu(1), all_dtypes[t], sizes[q], 0.15, (uint64_t)(200 + 10 * k + t),
                                       methods[k] == TRINE_PRECOND_IC0 ? HERMITIAN : kinds[k % 4]);
                const int sweeps = methods[k] == TRINE_PRECOND_ISAI ? 1 + t : 0;
                const trine_precond_options o = {
                    .method = methods[k], .ops = TRINE_N | TRINE_T | TRINE_H, .max_nrhs = 3, .sweeps = sweeps};
                trine_precond p = plan_of(test_cpu(q ? 2 : 1), s.A, &o);
                factors f = new_factors(s.n);
                get_factors(p, methods[k], &s, f.L, f.U, f.pattern);
                for (int op = 0; op < 3; op++)
                    for (int variant = 0; variant < 16; variant += 1 + (variant + op + t) % 3)
                        try_apply(p, &s, &f, ops[op], sweeps, variant % 5 ? 1 : 3, variant);
                end_factors(&f);
                OK(trine_precond_destroy(&p));
                end_sample(&s);
            }
}

/** The error of the steps is nilpotent: after as many as there are rows they are exact. */
static void test_many_sweeps_are_exact(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_D, 20, 0.4, 3, 0);
    trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_ISAI, .sweeps = 20});
    factors f = new_factors(s.n);
    get_factors(p, TRINE_PRECOND_ISAI, &s, f.L, f.U, f.pattern);
    try_apply(p, &s, &f, TRINE_N, 0, 1, 0);
    end_factors(&f);
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/* -------------------------------------------------------- threads and values */

typedef struct {
    int64_t n, nnz;
    void *values;
    size_t bytes;
    int64_t *offsets;
} triangles;

/** A copy of what a plan has. */
static triangles copy_triangles(trine_precond p, trine_dtype t, int64_t n)
{
    triangles c = {.n = n};
    const int64_t *offsets;
    const void *values;
    OK(trine_precond_get_triangles(p, &c.nnz, &offsets, NULL, &values));
    c.bytes = (size_t)c.nnz * trine_dtype_size(t);
    c.values = malloc(c.bytes + 1);
    c.offsets = malloc((size_t)(n + 1) * 8);
    memcpy(c.values, values, c.bytes);
    memcpy(c.offsets, offsets, (size_t)(n + 1) * 8);
    return c;
}

static void assert_same(const triangles *a, const triangles *b)
{
    assert_int_equal(a->nnz, b->nnz);
    assert_memory_equal(a->offsets, b->offsets, (size_t)(a->n + 1) * 8);
    if (a->bytes) assert_memory_equal(a->values, b->values, a->bytes);
}

static void end_triangles(triangles *c) { free(c->values), free(c->offsets); }

/** Large enough for several threads, some by lines and some by planes; the last one has rows that nobody shares. */
static const char *const large[] = {"laplace2d:nx=151,ny=80", "laplace3d:n=40",   "aniso2:nx=90,ny=60",
                                    "elasticity3d:n=6",       "laplace3d27:n=20", "powerlaw:n=4000,degree=9"};
enum { LARGE = sizeof large / sizeof *large };

static trine_matrix large_matrix(int k, trine_dtype t)
{
    char spec[96];
    trine_matrix A, B;
    snprintf(spec, sizeof spec, "%s%s", large[k], is_complex(t) ? ",phase=3" : "");
    OK(trine_matrix_gallery(test_cpu(1), &A, spec, t));
    OK(trine_matrix_sort(A, &B, 1));
    OK(trine_matrix_destroy(&A));
    return B;
}

/** Ways to share rows that a log has spoken of. */
static void note_way(void *user, int level, const char *message)
{
    bool *ways = user;
    (void)level;
    if (strstr(message, "rows by lines")) ways[0] = true;
    if (strstr(message, "rows by bandwidths")) ways[1] = true;
}

static void test_threads_agree(void **state)
{
    trine_context ctx;
    bool ways[2] = {false, false};
    (void)state;
    OK(trine_context_create(&ctx, "cpu:3"));
    OK(trine_context_set_log(ctx, note_way, ways, 3));
    for (int k = 0; k < LARGE; k++)
        for (int m = 0; m < METHODS; m++) {
            const trine_dtype t = all_dtypes[(k + m) % 4];
            if (!test_is_to_do()) continue;
            trine_matrix A = large_matrix(k, t);
            trine_matrix_info info;
            trine_matrix_get_info(A, &info);
            /* a shift, since not all of these have factors */
            const trine_precond_options o = {.method = methods[m], .shift = 2, .row_entries = 8};
            trine_precond alone, p;
            OK(trine_precond_analyse(test_cpu(1), &alone, A, &o));
            OK(trine_precond_numeric(alone, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            triangles right = copy_triangles(alone, t, info.n_rows);
            OK(trine_precond_analyse(ctx, &p, A, &o));
            for (int run = 0; run < (methods[m] == TRINE_PRECOND_ILU0 ? 20 : 2); run++) {
                OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
                triangles found = copy_triangles(p, t, info.n_rows);
                assert_same(&right, &found);
                end_triangles(&found);
            }
            const trine_status status = trine_precond_check(alone, NULL);
            assert_int_equal(trine_precond_check(p, NULL), status);
            end_triangles(&right);
            OK(trine_precond_destroy(&alone));
            OK(trine_precond_destroy(&p));
            OK(trine_matrix_destroy(&A));
        }
    if (omp_get_num_procs() > 1 && !getenv("TRINE_TEST_PART")) assert_true(ways[0] && ways[1]);
    OK(trine_context_destroy(&ctx));
}

/** (L U)_ij = a_ij on the pattern of a large matrix, whose rows several threads factor. */
static void test_large_factors(void **state)
{
    (void)state;
    for (int k = 0; k < LARGE - 1; k++) {
        trine_matrix A = large_matrix(k, TRINE_D);
        trine_precond p = plan_of(test_cpu(2), A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0});
        trine_matrix_info info;
        const int64_t *offsets, *factor_offsets;
        const int32_t *columns;
        const void *given, *found;
        trine_matrix_get_info(A, &info);
        OK(trine_matrix_get_arrays(A, &offsets, &columns, &given));
        OK(trine_precond_get_triangles(p, NULL, &factor_offsets, NULL, &found));
        assert_memory_equal(offsets, factor_offsets, (size_t)(info.n_rows + 1) * 8);
        const double *a = given, *lu = found;
        long double *row = calloc((size_t)info.n_rows, sizeof *row), *size = calloc((size_t)info.n_rows, sizeof *size);
        for (int64_t i = 0; i < info.n_rows; i++) {
            for (int64_t q = offsets[i]; q < offsets[i + 1]; q++) {
                const int64_t m = columns[q];
                const long double l = m < i ? lu[q] : 1;
                if (m > i) break;
                for (int64_t r = offsets[m]; r < offsets[m + 1]; r++) {
                    if (columns[r] < m) continue;
                    row[columns[r]] += l * lu[r];
                    size[columns[r]] += fabsl(l * lu[r]);
                }
            }
            for (int64_t q = offsets[i]; q < offsets[i + 1]; q++)
                assert_true(fabsl(row[columns[q]] - a[q]) <= 100 * eps_of(TRINE_D) * size[columns[q]]);
            memset(row, 0, (size_t)info.n_rows * sizeof *row);
            memset(size, 0, (size_t)info.n_rows * sizeof *size);
        }
        free(row), free(size);
        OK(trine_precond_destroy(&p));
        OK(trine_matrix_destroy(&A));
    }
}

/** Keeps a context's helpers until it is told to end. */
struct hold {
    trine_context ctx;
    int begun, ended; /* atomic */
};

static bool hold_helpers(void *user, int me)
{
    struct hold *h = user;
    __atomic_store_n(&h->begun, 1, __ATOMIC_RELEASE);
    while (!me && !__atomic_load_n(&h->ended, __ATOMIC_ACQUIRE)) sched_yield();
    return false;
}

static void *run_hold(void *user)
{
    trine_team_run(((struct hold *)user)->ctx, 2, true, hold_helpers, user);
    return NULL;
}

/** While another thread has the helpers, the one that is there does what was meant for all. */
static void test_without_helpers(void **state)
{
    (void)state;
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu:2"));
    for (int k = 0; k < LARGE; k++) {
        trine_matrix A = large_matrix(k, TRINE_D);
        const trine_precond_options o = {.method = k % 2 ? TRINE_PRECOND_IC0 : TRINE_PRECOND_ILU0, .shift = 2};
        trine_precond p = plan_of(ctx, A, &o);
        trine_matrix_info info;
        trine_matrix_get_info(A, &info);
        triangles before = copy_triangles(p, TRINE_D, info.n_rows);
        struct hold hold = {.ctx = ctx};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_hold, &hold), 0);
        while (!__atomic_load_n(&hold.begun, __ATOMIC_ACQUIRE)) sched_yield();
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        __atomic_store_n(&hold.ended, 1, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(thread, NULL), 0);
        triangles after = copy_triangles(p, TRINE_D, info.n_rows);
        assert_same(&before, &after);
        end_triangles(&before), end_triangles(&after);
        OK(trine_precond_destroy(&p));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/** New values on one pattern give what a new plan gives; a power of two as a factor does not change a bit of L. */
static void test_new_values(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < METHODS; m++) {
            const int kind = methods[m] == TRINE_PRECOND_IC0 ? HERMITIAN : kinds[m % 4];
            sample s = make_sample(test_cpu(1), all_dtypes[t], 40, 0.1, 300, kind);
            const trine_precond_options o = {.method = methods[m], .drop_tolerance = 0.02};
            trine_precond p = plan_of(test_cpu(2), s.A, &o), fresh;
            trine_work work;
            OK(trine_precond_work(p, 1, NULL, NULL, &work));
            trine_matrix_info info;
            trine_matrix_get_info(s.A, &info);
            const void *given;
            OK(trine_matrix_get_arrays(s.A, NULL, NULL, &given));
            char *values = malloc((size_t)info.nnz * 16);
            for (int64_t k = 0; k < info.nnz; k++) put(s.t, values, k, ldexpl(1, 60) * get(s.t, given, k));
            OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
            OK(trine_precond_check(p, NULL));
            triangles scaled = copy_triangles(p, s.t, s.n);
            memcpy((void *)given, values, (size_t)info.nnz * trine_dtype_size(s.t));
            fresh = plan_of(test_cpu(1), s.A, &o);
            triangles right = copy_triangles(fresh, s.t, s.n);
            assert_same(&right, &scaled);
            for (int64_t k = 0; k < s.n * s.n; k++) s.a[k] *= ldexpl(1, 60);
            factors f = new_factors(s.n);
            get_factors(p, methods[m], &s, f.L, f.U, f.pattern);
            if (methods[m] != TRINE_PRECOND_ILUT) assert_factors(&s, &f);
            /* a work that is older than the values */
            char b[40 * 16], x[40 * 16], y[40 * 16];
            for (int64_t i = 0; i < s.n; i++) put(s.t, b, i, random_element(s.t, 9, (uint64_t)i));
            const trine_dense B = {b, s.n, 1, 0, 0}, X = {x, s.n, 1, 0, 0}, Y = {y, s.n, 1, 0, 0};
            OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, &(trine_exec){.work = work}));
            OK(trine_precond_apply(fresh, TRINE_N, NULL, &B, &Y, NULL));
            for (int64_t i = 0; i < s.n; i++)
                assert_true(cabsl(get(s.t, x, i) - get(s.t, y, i)) <= 60 * eps_of(s.t) * ldexpl(1, -58));
            end_factors(&f), end_triangles(&scaled), end_triangles(&right);
            free(values);
            OK(trine_work_destroy(&work));
            OK(trine_precond_destroy(&p));
            OK(trine_precond_destroy(&fresh));
            end_sample(&s);
        }
}

/* ------------------------------------------------------------------- failures */

/** A matrix of n rows from a dense row-major one, entries that are 99 missing. */
static sample given_sample(trine_dtype t, int64_t n, const double *a)
{
    sample s = {t, n, malloc((size_t)(n * n) * sizeof(wide)), malloc((size_t)(n * n)), NULL};
    for (int64_t k = 0; k < n * n; k++) s.a[k] = a[k], s.has[k] = a[k] != 99;
    compress(test_cpu(1), &s, 0);
    return s;
}

static void test_missing_diagonals(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        trine_precond p;
        const trine_precond_options o = {.method = methods[m]};
        sample s = given_sample(TRINE_D, 3, (const double[]){1, 2, 99, 3, 99, 4, 99, 5, 6});
        FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_analyse(test_cpu(2), &p, s.A, &o));
        assert_null(p);
        end_sample(&s);
        s = given_sample(TRINE_D, 3, (const double[]){1, 2, 99, 3, 4, 99, 99, 99, 99}); /* an empty row */
        FAILS(TRINE_ERR_SINGULAR, "row 2 ", trine_precond_analyse(test_cpu(2), &p, s.A, &o));
        end_sample(&s);
    }
}

/** Numeric succeeds, check says `text`, and nothing finite comes out. Then, with a shift, all is well. */
static void try_bad(trine_dtype t, trine_precond_method method, const double *a, trine_status status, const char *text)
{
    sample s = given_sample(t, 3, a);
    for (int shifted = 0; shifted < 2; shifted++) {
        trine_precond p;
        char b[64], x[64];
        for (int64_t i = 0; i < 3; i++) put(t, b, i, 1);
        const trine_dense B = {b, 3, 1, 0, 0}, X = {x, 3, 1, 0, 0};
        OK(trine_precond_analyse(test_cpu(2), &p, s.A,
                                 &(trine_precond_options){.method = method, .shift = 3 * shifted}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
        if (shifted) OK(trine_precond_check(p, NULL));
        else FAILS(status, text, trine_precond_check(p, NULL));
        OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, NULL));
        bool finite = true;
        for (int64_t i = 0; i < 3; i++) finite &= isfinite((double)cabsl(get(t, x, i)));
        assert_int_equal(finite, shifted);
        OK(trine_precond_destroy(&p));
    }
    end_sample(&s);
}

static void test_bad_pivots(void **state)
{
    static const double zero_first[] = {0, 2, 99, 3, 4, 5, 99, 6, 7}, zero_inside[] = {1, 2, 99, 3, 6, 5, 99, 6, 7},
                        zero_last[] = {1, 2, 99, 3, 4, 1, 99, 4, -2}, indefinite[] = {4, 99, 2, 99, -1, 99, 2, 99, 5},
                        vanishing[] = {4, 2, 99, 2, 1, 1, 99, 1, 9};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int m = 0; m < METHODS; m++) {
            if (methods[m] == TRINE_PRECOND_IC0) continue;
            try_bad(all_dtypes[t], methods[m], zero_first, TRINE_ERR_SINGULAR, "row 0 ");
            try_bad(all_dtypes[t], methods[m], zero_inside, TRINE_ERR_SINGULAR, "row 1 ");
            try_bad(all_dtypes[t], methods[m], zero_last, TRINE_ERR_SINGULAR, "row 2 ");
        }
        sample s = given_sample(all_dtypes[t], 3, indefinite);
        trine_precond p;
        OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_NOT_DEFINITE, "row 1 ", trine_precond_check(p, NULL));
        OK(trine_precond_destroy(&p));
        end_sample(&s);
        try_bad(all_dtypes[t], TRINE_PRECOND_IC0, vanishing, TRINE_ERR_NOT_DEFINITE, "row 1 ");
    }
}

/** The shift: a_ii and the largest |a_ij| of its row times the shift, with the sign of a_ii. */
static void test_shift(void **state)
{
    (void)state;
    sample s = given_sample(TRINE_D, 3, (const double[]){-4, 99, 8, 99, 0, 99, 99, 99, 2});
    trine_precond p;
    const void *values;
    OK(trine_precond_analyse(test_cpu(1), &p, s.A,
                             &(trine_precond_options){.method = TRINE_PRECOND_ILU0, .shift = 0.5}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_get_triangles(p, NULL, NULL, NULL, &values));
    FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_check(p, NULL)); /* nothing in the row to shift by */
    assert_true(((const double *)values)[0] == -8 && ((const double *)values)[3] == 3);
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

static void test_not_finite(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < METHODS; m++)
            for (int k = 0; k < 4; k++) {
                const int kind = methods[m] == TRINE_PRECOND_IC0 ? HERMITIAN : 0;
                sample s = make_sample(test_cpu(1), all_dtypes[t], 30, 0.2, 400, kind);
                trine_precond p = plan_of(test_cpu(2), s.A, &(trine_precond_options){.method = methods[m]});
                trine_matrix_info info;
                const void *given;
                const int64_t *offsets;
                trine_matrix_get_info(s.A, &info);
                OK(trine_matrix_get_arrays(s.A, &offsets, NULL, &given));
                char *values = malloc((size_t)info.nnz * 16);
                memcpy(values, given, (size_t)info.nnz * trine_dtype_size(s.t));
                const int64_t row = 7 * k + 2; /* its first entry, of L */
                put(s.t, values, offsets[row], k % 2 ? (wide)NAN : (wide)INFINITY);
                OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
                char text[32];
                snprintf(text, sizeof text, "row %d ", (int)row);
                FAILS(TRINE_ERR_ARGUMENT, text, trine_precond_check(p, NULL));
                OK(trine_precond_numeric(p, TRINE_HOST, given, TRINE_REUSE_FORESTS, NULL)); /* and good ones again */
                OK(trine_precond_check(p, NULL));
                free(values);
                OK(trine_precond_destroy(&p));
                end_sample(&s);
            }
}

/** Finite values whose factors are not: of L alone, so that no pivot shows it. */
static void test_overflow(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        if (methods[m] == TRINE_PRECOND_IC0) continue;
        sample s = given_sample(TRINE_S, 3, (const double[]){1e-30, 99, 99, 1e30, 1, 99, 99, 99, 1});
        trine_precond p;
        OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = methods[m]}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_check(p, NULL));
        OK(trine_precond_destroy(&p));
        end_sample(&s);
    }
    /* a sum of entries may overflow where no entry does */
    sample s = given_sample(TRINE_S, 2, (const double[]){3e38, 3e38, 99, 3e38});
    trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0});
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/** IC(0) of a matrix whose diagonal is not real. */
static void test_not_hermitian(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_Z, 12, 0.3, 5, HERMITIAN);
    s.a[4 * 12 + 4] += 1e-3L * csqrtl(-1);
    OK(trine_matrix_destroy(&s.A));
    compress(test_cpu(1), &s, 0);
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_NOT_DEFINITE, "row 4 ", trine_precond_check(p, NULL));
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

static void test_arguments(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_D, 10, 0.3, 6, 0);
    trine_precond p;
    const trine_precond_options bad[] = {
        {.method = TRINE_PRECOND_ILUK, .fill_level = -1},      {.method = TRINE_PRECOND_ILUT, .drop_tolerance = -1},
        {.method = TRINE_PRECOND_ILUT, .drop_tolerance = NAN}, {.method = TRINE_PRECOND_ILUT, .drop_tolerance = 2},
        {.method = TRINE_PRECOND_ILUT, .row_entries = -3},     {.method = TRINE_PRECOND_ILU0, .shift = -1},
        {.method = TRINE_PRECOND_IC0, .shift = NAN},           {.method = TRINE_PRECOND_ISAI, .sweeps = -1}};
    static const char *const texts[] = {"fill_level",  "drop_tolerance", "drop_tolerance", "drop_tolerance",
                                        "row_entries", "shift",          "shift",          "sweeps"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        FAILS(TRINE_ERR_ARGUMENT, texts[k], trine_precond_analyse(test_cpu(1), &p, s.A, &bad[k]));
    const int64_t *offsets;
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_get_triangles(NULL, NULL, &offsets, NULL, NULL));
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP0}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "diagp0", trine_precond_get_triangles(p, NULL, &offsets, NULL, NULL));
    OK(trine_precond_destroy(&p));
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_ILUT}));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_get_triangles(p, NULL, &offsets, NULL, NULL));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_check(p, NULL));
    double x[10] = {0};
    const trine_dense X = {x, 10, 1, 0, 0};
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_apply(p, TRINE_T, NULL, &X, &X, NULL));
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/** Every k-th allocation fails, in analyse, numeric, work and apply: a status, and nothing is lost. */
static void test_allocations(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        trine_context ctx;
        test_memory memory = {0};
        OK(trine_context_create(&ctx, "cpu:2"));
        test_fail_allocations(ctx, &memory);
        trine_matrix A;
        OK(trine_matrix_gallery(ctx, &A, "laplace2d:n=40", TRINE_D));
        double *x = calloc(1600, sizeof *x);
        const trine_dense X = {x, 1600, 1, 0, 0};
        const int64_t before = memory.live;
        bool failed = true;
        for (int64_t k = 1; failed; k++) {
            trine_precond p = NULL;
            trine_work work = NULL;
            memory.calls = 0;
            memory.fail_at = k;
            trine_status status = trine_precond_analyse(ctx, &p, A, &(trine_precond_options){.method = methods[m]});
            if (!status) status = trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL);
            if (!status) status = trine_precond_work(p, 1, NULL, NULL, &work);
            if (!status) status = trine_precond_apply(p, TRINE_N, NULL, &X, &X, &(trine_exec){.work = work});
            if (!status) status = trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL);
            memory.fail_at = 0;
            assert_true(status == TRINE_SUCCESS || status == TRINE_ERR_MEMORY);
            failed = status;
            if (p) OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL)); /* the plan goes on */
            if (p) OK(trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
            trine_work_destroy(&work);
            OK(trine_precond_destroy(&p));
            assert_int_equal(memory.live, before);
        }
        free(x);
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
    }
}

/* ----------------------------------------------------------------- convergence */

/** Independent values of the iterations at 100 x 100 (Klein 2024, Section 5.3.2): exact ILU(0); ISAI, 1 and 2 sweeps. */
static void test_convergence(void **state)
{
    static const struct {
        const char *spec;
        int ilu, isai[2];
    } rows[] = {
        {"laplace2d:n=100", 41, {76, 48}},
        {"aniso2:n=100", 24, {68, 37}},
        {"rotate7:n=100", 11, {123, 59}},
        {"grounded2d:n=100", 133, {236, 121}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        trine_matrix A;
        OK(trine_matrix_gallery(test_cpu(2), &A, rows[k].spec, TRINE_D));
        for (int sweeps = 0; sweeps <= 2; sweeps++) {
            trine_precond p = plan_of(
                test_cpu(2), A,
                &(trine_precond_options){.method = sweeps ? TRINE_PRECOND_ISAI : TRINE_PRECOND_ILU0, .sweeps = sweeps});
            const int right = sweeps ? rows[k].isai[sweeps - 1] : rows[k].ilu;
            assert_in_range(test_gmres(A, p, 0, 1000), right - 1, right + 1);
            OK(trine_precond_destroy(&p));
        }
        OK(trine_matrix_destroy(&A));
    }
}

/** More entries, fewer iterations: ILU(k) and ILUT. */
static void test_fill_helps(void **state)
{
    (void)state;
    trine_matrix A;
    int64_t last = 1000, entries = 0;
    OK(trine_matrix_gallery(test_cpu(2), &A, "laplace2d:n=60", TRINE_D));
    const trine_precond_options options[] = {{.method = TRINE_PRECOND_ILU0},
                                             {.method = TRINE_PRECOND_ILUK, .fill_level = 1},
                                             {.method = TRINE_PRECOND_ILUK, .fill_level = 4},
                                             {.method = TRINE_PRECOND_ILUT, .drop_tolerance = 1e-3}};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        trine_precond p = plan_of(test_cpu(2), A, &options[k]);
        trine_precond_info info;
        OK(trine_precond_get_info(p, &info));
        const int64_t iterations = test_gmres(A, p, 0, 1000);
        assert_true(iterations > 0 && iterations < last && info.factor_entries > entries && info.bytes > 0);
        last = iterations;
        entries = info.factor_entries;
        OK(trine_precond_destroy(&p));
    }
    OK(trine_matrix_destroy(&A));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lu_on_a_pattern),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_many_sweeps_are_exact),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_large_factors),
        cmocka_unit_test(test_without_helpers),
        cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_missing_diagonals),
        cmocka_unit_test(test_bad_pivots),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_not_hermitian),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_convergence),
        cmocka_unit_test(test_fill_helps),
    };
    return TEST_MAIN(tests);
}
