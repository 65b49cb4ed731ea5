/* Problems, matrices and the check of solutions for the tests of triangular solves. */
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"

/* ----------------------------------------------------------------- problem */

void problem_free(struct problem *P)
{
    free(P->offsets);
    free(P->indices);
    free(P->values);
}

value random_value(uint64_t seed, uint64_t k)
{
    return 2 * test_uniform(seed, 2 * k) - 1 + (2 * test_uniform(seed, 2 * k + 1) - 1) * _Complex_I;
}

struct problem make_problem(int64_t n, pattern_fn wants, bool lower, bool csc, bool poison, bool poison_diagonal,
                            uint64_t seed)
{
    struct problem P = {.n = n, .csc = csc};
    const int64_t room = n * (n < 70 ? n : 30) + 4 * n + 8;
    P.offsets = calloc((size_t)n + 1, sizeof *P.offsets);
    P.indices = malloc((size_t)room * sizeof *P.indices);
    P.values = malloc((size_t)room * sizeof *P.values);
    for (int64_t i = 0; i < n; i++) {
        const int64_t start = P.nnz;
        for (int64_t j = 0; j < n; j++) {
            const int64_t row = csc ? j : i, column = csc ? i : j;
            const bool inside = lower ? column < row : column > row;
            if (i == j || (wants(i, j, n) && (inside || poison))) {
                P.indices[P.nnz] = (int32_t)j;
                P.values[P.nnz] = i == j   ? (poison_diagonal ? NAN : 1.5 + random_value(seed, (uint64_t)P.nnz) / 4)
                                  : inside ? random_value(seed, (uint64_t)P.nnz) / 4
                                           : NAN;
                P.nnz++;
            }
            assert_true(P.nnz <= room);
        }
        /* unsorted on purpose: rotate every third row */
        if (i % 3 == 1 && P.nnz - start > 1) {
            const int32_t c = P.indices[start];
            const value v = P.values[start];
            memmove(P.indices + start, P.indices + start + 1, (size_t)(P.nnz - start - 1) * sizeof *P.indices);
            memmove(P.values + start, P.values + start + 1, (size_t)(P.nnz - start - 1) * sizeof *P.values);
            P.indices[P.nnz - 1] = c;
            P.values[P.nnz - 1] = v;
        }
        P.offsets[i + 1] = P.nnz;
    }
    return P;
}
bool sparse_random(int64_t i, int64_t j, int64_t n)
{
    return test_uniform(99, (uint64_t)(i * n + j)) < (n < 70 ? 0.25 : 10.0 / (double)n);
}

trine_matrix make_matrix(trine_context ctx, const struct problem *P, trine_dtype t, bool on_device, struct arrays *a)
{
    trine_matrix A;
    void *values = malloc((size_t)P->nnz * trine_dtype_size(t) + 1);
    for (int64_t k = 0; k < P->nnz; k++) put(t, values, k, P->values[k]);
    *a = (struct arrays){P->offsets, P->indices, values, ctx, on_device};
    if (on_device) {
        a->offsets = test_to_device(ctx, P->offsets, (size_t)(P->n + 1) * sizeof *P->offsets);
        a->indices = test_to_device(ctx, P->indices, (size_t)P->nnz * sizeof *P->indices);
        a->values = test_to_device(ctx, values, (size_t)P->nnz * trine_dtype_size(t));
        free(values);
    }
    OK((P->csc ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, t, P->n, P->n, P->nnz,
                                                      on_device ? TRINE_DEVICE : TRINE_HOST, 64, a->offsets, 32,
                                                      a->indices, a->values));
    return A;
}
void free_arrays(struct arrays *a)
{
    if (a->device) {
        test_release(a->ctx, a->offsets);
        test_release(a->ctx, a->indices);
        test_release(a->ctx, a->values);
    } else {
        free(a->values);
    }
}

/** |z| without what cabsl does about overflow, which takes most of a test's time. */
static long double size_of(long double re, long double im) { return im == 0 ? fabsl(re) : sqrtl(re * re + im * im); }

void reference_solve(trine_dtype t, trine_uplo uplo, trine_transpose op, trine_diag diag, const struct problem *csr,
                     const void *values, void *x)
{
    (t == TRINE_S   ? trine_triangular_reference_s
     : t == TRINE_D ? trine_triangular_reference_d
     : t == TRINE_C ? trine_triangular_reference_c
                    : trine_triangular_reference_z)(uplo, op, diag, csr->n, csr->offsets, csr->indices, values, x);
}

/** The oracle: values as T's precision has them, and the comparison matrix M(T), |T| with its off-diagonal entries
 *  negated, for which |T^-1| <= M(T)^-1 entry by entry. Compressed columns are read as compressed rows of the
 *  transpose. */
struct oracle {
    const struct problem *P;
    trine_dtype t;
    trine_uplo uplo;
    trine_transpose op;
    trine_diag diag;
    void *values, *x;
    double *comparison, *bound;
};

static struct oracle make_oracle(const struct problem *P, trine_dtype t, bool lower, bool unit, trine_transpose op)
{
    struct oracle o = {.P = P,
                       .t = t,
                       .uplo = lower != P->csc ? TRINE_LOWER : TRINE_UPPER,
                       .op = op,
                       .diag = unit ? TRINE_UNIT : TRINE_NONUNIT};
    const bool conjugate = P->csc && op == TRINE_H; /* conj(S) with S = T^T */
    if (P->csc) o.op = op == TRINE_N ? TRINE_T : TRINE_N;
    o.values = malloc((size_t)(P->nnz + 1) * sizeof(value)), o.x = malloc((size_t)(P->n + 1) * sizeof(value));
    o.comparison = malloc((size_t)(P->nnz + 1) * sizeof(double)), o.bound = malloc((size_t)(P->n + 1) * sizeof(double));
    for (int64_t major = 0; major < P->n; major++)
        for (int64_t k = P->offsets[major]; k < P->offsets[major + 1]; k++) {
            put(t, o.values, k, conjugate ? conj(P->values[k]) : P->values[k]);
            o.comparison[k] = (P->indices[k] == major ? 1 : -1) * cabs((value)get(t, o.values, k));
        }
    return o;
}

static void oracle_free(struct oracle *o)
{
    free(o->values);
    free(o->x);
    free(o->comparison);
    free(o->bound);
}

/** Column j of X against the reference, which has alpha b in o->x. Both have residuals of at most 2 count eps size,
 *  row by row, so they are M(T)^-1 times twice that apart; o->bound: count size. Another quarter for the sizes,
 *  which are those of X. */
static void check_against_reference(struct oracle *o, const void *X, const trine_dense *x, int64_t j)
{
    reference_solve(o->t, o->uplo, o->op, o->diag, o->P, o->values, o->x);
    reference_solve(TRINE_D, o->uplo, o->op == TRINE_N ? TRINE_N : TRINE_T, o->diag, o->P, o->comparison, o->bound);
    for (int64_t i = 0; i < o->P->n; i++) {
        const value xi = get(o->t, X, x->layout == TRINE_ROWMAJOR ? i * x->ld + j : i + j * x->ld),
                    wanted = get(o->t, o->x, i);
        if (!(cabs(xi - wanted) <= 5 * (double)eps_of(o->t) * o->bound[i])) {
            print_error("row %lld, column %lld: (%g, %g), not (%g, %g) as the reference, within %g\n", (long long)i,
                        (long long)j, creal(xi), cimag(xi), creal(wanted), cimag(wanted),
                        5 * (double)eps_of(o->t) * o->bound[i]);
            fail();
        }
    }
}

void check_solution(const struct problem *P, trine_dtype t, bool lower, bool unit, trine_transpose op, value alpha,
                    const void *B, const trine_dense *b, const void *X, const trine_dense *x)
{
    char scalar[16];
    const int64_t n = P->n;
    const bool is_real = !is_complex(t); /* imaginary parts are zeros then */
    long double *re = malloc((size_t)(n + 1) * sizeof *re), *im = malloc((size_t)(n + 1) * sizeof *im),
                *size = malloc((size_t)(n + 1) * sizeof *size), *weight = malloc((size_t)(P->nnz + 1) * sizeof *weight),
                *length = malloc((size_t)(n + 1) * sizeof *length); /* moduli of values and of the solution */
    value *solution = malloc((size_t)(n + 1) * sizeof *solution);
    int64_t *count = malloc((size_t)(n + 1) * sizeof *count);
    value *rounded = malloc((size_t)(P->nnz + 1) * sizeof *rounded);
    struct oracle o = make_oracle(P, t, lower, unit, op);
    put(t, scalar, 0, alpha);
    alpha = get(t, scalar, 0);
    for (int64_t k = 0; k < P->nnz; k++) {
        put(t, scalar, 0, P->values[k]);
        rounded[k] = op == TRINE_H ? conj(get(t, scalar, 0)) : get(t, scalar, 0);
        weight[k] = size_of(creal(rounded[k]), cimag(rounded[k]));
    }
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < n; i++) {
            const value bi = get(t, B, b->layout == TRINE_ROWMAJOR ? i * b->ld + j : i + j * b->ld);
            re[i] = (long double)creal(alpha) * creal(bi) - (long double)cimag(alpha) * cimag(bi);
            im[i] = (long double)creal(alpha) * cimag(bi) + (long double)cimag(alpha) * creal(bi);
            put(t, o.x, i, (double)re[i] + (double)im[i] * _Complex_I);
            size[i] = size_of(re[i], im[i]);
            count[i] = 4;
            solution[i] = get(t, X, x->layout == TRINE_ROWMAJOR ? i * x->ld + j : i + j * x->ld);
            length[i] = size_of(creal(solution[i]), cimag(solution[i]));
        }
        for (int64_t major = 0; major < n; major++)
            for (int64_t k = P->offsets[major]; k < P->offsets[major + 1]; k++) {
                const int64_t row = P->csc ? P->indices[k] : major, column = P->csc ? major : P->indices[k];
                if (lower ? column > row : column < row) continue;
                const value v = row == column && unit ? 1 : rounded[k];
                const int64_t to = op == TRINE_N ? row : column, from = op == TRINE_N ? column : row;
                const value xj = solution[from];
                count[to]++;
                size[to] += (row == column && unit ? 1 : weight[k]) * length[from];
                if (is_real) {
                    re[to] -= (long double)creal(v) * creal(xj);
                    continue;
                }
                const long double term_re = (long double)creal(v) * creal(xj) - (long double)cimag(v) * cimag(xj);
                const long double term_im = (long double)creal(v) * cimag(xj) + (long double)cimag(v) * creal(xj);
                re[to] -= term_re;
                im[to] -= term_im;
            }
        for (int64_t i = 0; i < n; i++) {
            o.bound[i] = (double)count[i] * (double)size[i];
            if (!(size_of(re[i], im[i]) <= 2 * (long double)count[i] * eps_of(t) * size[i])) {
                print_error("row %lld, column %lld: residual %Lg, size %Lg, %lld entries, dtype %d op %d\n",
                            (long long)i, (long long)j, size_of(re[i], im[i]), size[i], (long long)count[i], (int)t,
                            (int)op);
                fail();
            }
        }
        check_against_reference(&o, X, x, j);
    }
    oracle_free(&o);
    free(re);
    free(im);
    free(size);
    free(weight);
    free(length);
    free(solution);
    free(count);
    free(rounded);
}

/* -------------------------------------------------------------- structures */

struct problem make_rows(int64_t n, int64_t per_row, int64_t (*from)(int64_t i, int64_t k, int64_t n))
{
    struct problem P = {.n = n};
    P.offsets = calloc((size_t)n + 1, sizeof *P.offsets);
    P.indices = malloc((size_t)(n * (per_row + 1) + n) * sizeof *P.indices);
    P.values = malloc((size_t)(n * (per_row + 1) + n) * sizeof *P.values);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0;; k++) {
            const int64_t j = from(i, k, n);
            if (j < 0) break;
            P.indices[P.nnz] = (int32_t)j;
            P.values[P.nnz] = random_value(3, (uint64_t)P.nnz) / 8;
            P.nnz++;
        }
        P.indices[P.nnz] = (int32_t)i;
        P.values[P.nnz++] = 1 + random_value(4, (uint64_t)i) / 4;
        P.offsets[i + 1] = P.nnz;
    }
    return P;
}
int64_t chain(int64_t i, int64_t k, int64_t n)
{
    (void)n;
    return k == 0 ? i - 1 : -1;
}
int64_t diagonal(int64_t i, int64_t k, int64_t n)
{
    (void)i, (void)k, (void)n;
    return -1;
}
int64_t dense_last_row(int64_t i, int64_t k, int64_t n) { return i == n - 1 && k < n - 1 ? k : -1; }
int64_t dense_first_column(int64_t i, int64_t k, int64_t n)
{
    (void)n;
    return i > 0 && k == 0 ? 0 : -1;
}
int64_t arrow(int64_t i, int64_t k, int64_t n) { return i == n - 1 ? (k < n - 1 ? k : -1) : i > 0 && k == 0 ? 0 : -1; }
int64_t grid(int64_t i, int64_t k, int64_t n)
{
    int64_t side = (int64_t)sqrt((double)n), found[2], count = 0;
    if (i >= side) found[count++] = i - side;
    if (i % side) found[count++] = i - 1;
    return k < count ? found[k] : -1;
}
int64_t hubs(int64_t i, int64_t k, int64_t n)
{
    return i % 4096 == 4095 && k < 2000 ? i - 2000 + k : i % 4096 == 4095 ? -1 : grid(i, k, n);
}
int64_t layers(int64_t i, int64_t k, int64_t n)
{
    return (void)n, i < 2000 || k > 2 || i - 2000 < 7 * k ? -1 : i - 2000 - 7 * k;
}

/** Row i of a dense diagonal block that begins with row `first`. */
static int64_t in_block(int64_t i, int64_t k, int64_t first) { return k < i - first ? first + k : -1; }
int64_t dense_groups(int64_t i, int64_t k, int64_t n) { return (void)n, in_block(i, k, i - i % 30); }
int64_t uneven_groups(int64_t i, int64_t k, int64_t n)
{
    static const int64_t first[] = {0, 1, 31, 38, 70, 72};
    int64_t group = 0;
    while (first[group + 1] <= i % 72) group++;
    const int64_t begin = i - i % 72 + first[group], length = first[group + 1] - first[group];
    (void)n;
    if (length != 32) return in_block(i, k, begin);
    return i == begin || k > 1 ? -1 : k == 0 ? begin : i - 1 > begin ? i - 1 : -1; /* sparse */
}
int64_t single_rows(int64_t i, int64_t k, int64_t n)
{
    return (void)n, i % 100 < 95 ? -1 : in_block(i, k, i - i % 100 + 95);
}
int64_t too_long_groups(int64_t i, int64_t k, int64_t n) { return i > n / 2 && i <= n / 2 + 32 && k == 0 ? i - 1 : -1; }
int64_t two_levels(int64_t i, int64_t k, int64_t n)
{
    const int64_t half = n / 2;
    return i < half ? -1 : i < n - 2 ? (k < 3 ? (7 * i + 101 * k) % half : -1) : k < half ? k : -1;
}
int64_t three_levels(int64_t i, int64_t k, int64_t n) { return i == n - 1 && k == n / 2 ? n - 2 : two_levels(i, k, n); }
int64_t few_levels_one_way(int64_t i, int64_t k, int64_t n)
{
    if (i == n - 1) return 3 * k + 2 < n && k < 200 ? 3 * k + 2 : -1;
    return i % 3 && k == 0 ? i - 1 : -1;
}
int64_t dense_corner(int64_t i, int64_t k, int64_t n) { return (void)n, k < (i < 40 ? i : 40) ? k : -1; }
int64_t broad_levels(int64_t i, int64_t k, int64_t n)
{
    /* 50 rows in a chain that need some before it, then 40,000 that need six of those 50 */
    const int64_t at = i % 40050, first = i - at;
    (void)n;
    if (at >= 50) return k < 6 ? first + 8 * k + at % 3 : -1;
    return k < 3 && first ? first - 1 - (37 * at + 1009 * k) % 40000 : k == (first ? 3 : 0) && at ? i - 1 : -1;
}

int methods_here(trine_triangular_method *list)
{
    static const trine_triangular_method cpu[] = {TRINE_TRI_AUTO, TRINE_TRI_SERIAL, TRINE_TRI_LEVELSET,
                                                  TRINE_TRI_PARTITIONED_INVERSE},
                                         gpu[] = {TRINE_TRI_AUTO, TRINE_TRI_LEVELSET, TRINE_TRI_SYNCFREE_CSR,
                                                  TRINE_TRI_SYNCFREE_CSC, TRINE_TRI_PARTITIONED_INVERSE};
    memcpy(list, test_on_gpu() ? gpu : cpu, test_on_gpu() ? sizeof gpu : sizeof cpu);
    return test_on_gpu() ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
}

/* ------------------------------------------------------------------- plans */

struct fixture open_problem(struct problem P, trine_dtype t, bool on_device)
{
    struct fixture f = {.ctx = test_context(), .P = P, .t = t};
    f.A = make_matrix(f.ctx, &f.P, t, on_device, &f.a);
    return f;
}
static void analyse(struct fixture *f, trine_triangular_options options)
{
    OK(trine_triangular_destroy(&f->plan));
    OK(trine_triangular_analyse(f->ctx, &f->plan, f->A, &options));
    f->lower = options.uplo != TRINE_UPPER, f->unit = options.diag == TRINE_UNIT;
}
void set_plan(struct fixture *f, trine_triangular_options options)
{
    analyse(f, options);
    OK(trine_triangular_numeric(f->plan, TRINE_HOST, NULL, NULL));
}
struct fixture open_fixture_with(trine_triangular_method method, int64_t n, unsigned mask, int64_t max_nrhs)
{
    struct fixture f = open_problem(make_problem(n, sparse_random, true, false, false, false, 5), TRINE_D, false);
    analyse(&f, (trine_triangular_options){.method = method, .ops = mask, .max_nrhs = max_nrhs});
    return f;
}
struct fixture open_fixture(int64_t n, unsigned mask, int64_t max_nrhs)
{
    return open_fixture_with(TRINE_TRI_AUTO, n, mask, max_nrhs);
}
void close_fixture(struct fixture *f)
{
    OK(trine_triangular_destroy(&f->plan));
    OK(trine_matrix_destroy(&f->A));
    free_arrays(&f->a);
    OK(trine_context_destroy(&f->ctx));
    problem_free(&f->P);
}

void solve_and_check_padded(const struct fixture *f, trine_transpose op, int64_t nrhs, trine_layout layout,
                            bool in_place, value alpha, bool null_alpha, int64_t padding, int64_t skip)
{
    const struct problem *P = &f->P;
    const trine_dtype t = f->t;
    const size_t size = trine_dtype_size(t), skipped = (size_t)skip * size, padded = (size_t)padding * size;
    const int64_t used = layout == TRINE_COLMAJOR ? P->n : nrhs, lines = layout == TRINE_COLMAJOR ? nrhs : P->n;
    const int64_t ld = used + padding > 0 ? used + padding : 1;
    const size_t bytes = (size_t)(ld * lines + 1 + skip) * size;
    char *B = malloc(bytes), *X = malloc(bytes), *X0 = malloc(bytes);
    char scalar[16];
    for (int64_t i = 0; i < ld * lines + 1 + skip; i++) put(t, B, i, random_value(7, (uint64_t)i)), put(t, X0, i, 1e30);
    if (in_place) memcpy(X0, B, bytes);
    put(t, scalar, 0, alpha);
    char *b = test_to_device(f->ctx, B, bytes), *x = test_to_device(f->ctx, X0, bytes);
    const trine_dense b_block = {(in_place ? x : b) + skipped, P->n, nrhs, ld, layout},
                      x_block = {x + skipped, P->n, nrhs, ld, layout};
    OK(trine_triangular_solve(f->plan, op, null_alpha ? NULL : scalar, &b_block, &x_block, NULL));
    test_from_device(f->ctx, X, x, bytes);
    check_solution(P, t, f->lower, f->unit, op, null_alpha ? 1 : alpha, B + skipped, &b_block, X + skipped, &x_block);
    assert_memory_equal(X, X0, skipped);
    for (int64_t line = 0; line < lines; line++) /* the padding is untouched */
        assert_memory_equal(X + skipped + (size_t)(line * ld + used) * size,
                            X0 + skipped + (size_t)(line * ld + used) * size, padded);
    test_release(f->ctx, b);
    test_release(f->ctx, x);
    free(B);
    free(X);
    free(X0);
}
void solve_and_check(const struct fixture *f, trine_transpose op, int64_t nrhs, trine_layout layout, bool in_place,
                     value alpha, bool null_alpha)
{
    solve_and_check_padded(f, op, nrhs, layout, in_place, alpha, null_alpha, 3, 0);
}
