/* Triangular solves: every method x triangle x op x diagonal x precision x layout against the definition, in long double. */
#include "harness.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef double complex value;

/* ------------------------------------------------------- values of a dtype */

static void put(trine_dtype t, void *p, int64_t i, value v)
{
    switch (t) {
    case TRINE_S: ((float *)p)[i] = (float)creal(v); break;
    case TRINE_D: ((double *)p)[i] = creal(v); break;
    case TRINE_C: ((float complex *)p)[i] = (float complex)v; break;
    case TRINE_Z: ((double complex *)p)[i] = v; break;
    }
}
static value get(trine_dtype t, const void *p, int64_t i)
{
    switch (t) {
    case TRINE_S: return ((const float *)p)[i];
    case TRINE_D: return ((const double *)p)[i];
    case TRINE_C: return ((const float complex *)p)[i];
    case TRINE_Z: return ((const double complex *)p)[i];
    }
    return 0;
}
static double eps_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? 0x1p-23 : 0x1p-52; }

/* ----------------------------------------------------------------- problem */

/** A square matrix in compressed rows, or the same arrays read as compressed columns. */
struct problem {
    int64_t n, nnz;
    int64_t *offsets;
    int32_t *indices;
    value *values;
    bool csc;
};

static void problem_free(struct problem *P)
{
    free(P->offsets);
    free(P->indices);
    free(P->values);
}

static value random_value(uint64_t seed, uint64_t k) { return 2 * test_uniform(seed, 2 * k) - 1 + (2 * test_uniform(seed, 2 * k + 1) - 1) * _Complex_I; }

/** n rows, row i with the columns that wants(i, j) accepts; well conditioned; the other triangle holds NaN if `poison`. */
typedef bool (*pattern_fn)(int64_t i, int64_t j, int64_t n);
static struct problem make_problem(int64_t n, pattern_fn wants, bool lower, bool csc, bool poison, bool poison_diagonal, uint64_t seed)
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
                P.values[P.nnz] = i == j ? (poison_diagonal ? NAN : 1.5 + random_value(seed, (uint64_t)P.nnz) / 4)
                                  : inside ? random_value(seed, (uint64_t)P.nnz) / 4 : NAN;
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
static bool sparse_random(int64_t i, int64_t j, int64_t n)
{
    return test_uniform(99, (uint64_t)(i * n + j)) < (n < 70 ? 0.25 : 10.0 / (double)n);
}

/** The problem in dtype t as a matrix of ctx: host view when view_on_device is false. Arrays are kept in *arrays for release. */
struct arrays { void *offsets, *indices, *values; trine_context ctx; bool device; };
static trine_matrix make_matrix(trine_context ctx, const struct problem *P, trine_dtype t, bool on_device, struct arrays *a)
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
    OK((P->csc ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, t, P->n, P->n, P->nnz, on_device ? TRINE_DEVICE : TRINE_HOST, 64,
                                                      a->offsets, 32, a->indices, a->values));
    return A;
}
static void free_arrays(struct arrays *a)
{
    if (a->device) {
        test_release(a->ctx, a->offsets);
        test_release(a->ctx, a->indices);
        test_release(a->ctx, a->values);
    } else {
        free(a->values);
    }
}

/** Componentwise: |alpha b - op(T) x| <= c (entries + 4) eps (|op(T)| |x| + |alpha b|), everything rounded to t first. */
static void check_solution(const struct problem *P, trine_dtype t, bool lower, bool unit, trine_transpose op, value alpha,
                           const void *B, const trine_dense *b, const void *X, const trine_dense *x)
{
    char scalar[16];
    const int64_t n = P->n;
    long double complex *residual = malloc((size_t)(n + 1) * sizeof *residual);
    long double *size = malloc((size_t)(n + 1) * sizeof *size);
    int64_t *count = malloc((size_t)(n + 1) * sizeof *count);
    put(t, scalar, 0, alpha);
    alpha = get(t, scalar, 0);
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < n; i++) {
            residual[i] = (long double complex)alpha * get(t, B, b->layout == TRINE_ROWMAJOR ? i * b->ld + j : i + j * b->ld);
            size[i] = cabsl(residual[i]);
            count[i] = 4;
        }
        for (int64_t major = 0; major < n; major++)
            for (int64_t k = P->offsets[major]; k < P->offsets[major + 1]; k++) {
                const int64_t row = P->csc ? P->indices[k] : major, column = P->csc ? major : P->indices[k];
                if (lower ? column > row : column < row) continue;
                put(t, scalar, 0, P->values[k]);
                value v = row == column && unit ? 1 : get(t, scalar, 0);
                if (op == TRINE_H) v = conj(v);
                const int64_t to = op == TRINE_N ? row : column, from = op == TRINE_N ? column : row;
                const long double complex term = (long double complex)v * get(t, X, x->layout == TRINE_ROWMAJOR ? from * x->ld + j : from + j * x->ld);
                residual[to] -= term;
                size[to] += cabsl(term);
                count[to]++;
            }
        for (int64_t i = 0; i < n; i++)
            if (!(cabsl(residual[i]) <= 2 * (long double)count[i] * eps_of(t) * size[i])) {
                print_error("row %lld, column %lld: residual %Lg, size %Lg, %lld entries, dtype %d op %d\n", (long long)i, (long long)j,
                            cabsl(residual[i]), size[i], (long long)count[i], (int)t, (int)op);
                fail();
            }
    }
    free(residual);
    free(size);
    free(count);
}

/** Solve with random right-hand sides in one shape and check. Memory outside the block must stay as it was. */
static void solve_and_check(trine_context ctx, trine_triangular plan, const struct problem *P, trine_dtype t, bool lower, bool unit,
                            trine_transpose op, int64_t nrhs, trine_layout layout, bool in_place, value alpha, bool null_alpha)
{
    const size_t size = trine_dtype_size(t);
    const int64_t ld = (layout == TRINE_COLMAJOR ? P->n : nrhs) + 3, lines = layout == TRINE_COLMAJOR ? nrhs : P->n;
    const size_t bytes = (size_t)(ld * lines + 1) * size;
    void *B = malloc(bytes), *X = malloc(bytes), *X0 = malloc(bytes);
    char scalar[16];
    for (int64_t i = 0; i < ld * lines + 1; i++) put(t, B, i, random_value(7, (uint64_t)i)), put(t, X0, i, 1e30);
    if (in_place) memcpy(X0, B, bytes);
    put(t, scalar, 0, alpha);
    void *b = test_to_device(ctx, B, bytes), *x = test_to_device(ctx, X0, bytes);
    const trine_dense b_block = {in_place ? x : b, P->n, nrhs, ld, layout}, x_block = {x, P->n, nrhs, ld, layout};
    OK(trine_triangular_solve(plan, op, null_alpha ? NULL : scalar, &b_block, &x_block, NULL));
    test_from_device(ctx, X, x, bytes);
    check_solution(P, t, lower, unit, op, null_alpha ? 1 : alpha, B, &b_block, X, &x_block);
    for (int64_t line = 0; line < lines; line++) /* the padding is untouched */
        assert_memory_equal((char *)X + (size_t)(line * ld + ld - 3) * size, (char *)X0 + (size_t)(line * ld + ld - 3) * size, 3 * size);
    test_release(ctx, b);
    test_release(ctx, x);
    free(B);
    free(X);
    free(X0);
}

/* ----------------------------------------------------------- the big table */

static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};

/** The methods that the device of this run has; AUTO first. */
static int methods_here(trine_triangular_method *list)
{
    static const trine_triangular_method cpu[] = {TRINE_TRI_AUTO, TRINE_TRI_SERIAL, TRINE_TRI_LEVELSET},
                                         gpu[] = {TRINE_TRI_AUTO, TRINE_TRI_LEVELSET, TRINE_TRI_SYNCFREE_CSR, TRINE_TRI_SYNCFREE_CSC};
    memcpy(list, test_on_gpu() ? gpu : cpu, test_on_gpu() ? sizeof gpu : sizeof cpu);
    return test_on_gpu() ? 4 : 3;
}

static void product_of_everything(trine_triangular_method method, const int64_t *sizes, int n_sizes)
{
    trine_context ctx = test_context();
    for (int is = 0; is < n_sizes; is++)
        for (int id = 0; id < 4; id++)
            for (int mask = 0; mask < 8; mask++) {
                const bool lower = mask & 1, unit = mask & 2, csc = mask & 4;
                const trine_dtype t = dtypes[id];
                struct problem P = make_problem(sizes[is], sparse_random, lower, csc, true, unit, (uint64_t)(10 * is + mask + 1));
                struct arrays a;
                trine_matrix A = make_matrix(ctx, &P, t, test_on_gpu() && mask % 3 == 1, &a);
                trine_triangular plan;
                OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                    .uplo = lower ? TRINE_LOWER : TRINE_UPPER, .diag = unit ? TRINE_UNIT : TRINE_NONUNIT,
                    .ops = TRINE_N | TRINE_T | TRINE_H, .method = method, .max_nrhs = 33}));
                OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                OK(trine_triangular_check(plan, NULL));
                for (int io = 0; io < 3; io++)
                    for (int64_t nrhs = 1; nrhs <= 33; nrhs += nrhs == 1 ? 2 : nrhs == 3 ? 4 : 26)
                        for (int shape = 0; shape < 4; shape++)
                            solve_and_check(ctx, plan, &P, t, lower, unit, ops[io], nrhs, shape & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                            shape & 2, shape & 1 ? -0.5 + 0.25 * _Complex_I : 2, shape == 2);
                OK(trine_triangular_destroy(&plan));
                OK(trine_matrix_destroy(&A));
                free_arrays(&a);
                problem_free(&P);
            }
    OK(trine_context_destroy(&ctx));
}

static const int64_t small_sizes[] = {0, 1, 2, 31, 32, 33}, big_sizes[] = {1000};

static void auto_solves_every_combination(void **state) { (void)state; product_of_everything(TRINE_TRI_AUTO, small_sizes, 6); }
static void auto_solves_every_combination_with_a_thousand_rows(void **state) { (void)state; product_of_everything(TRINE_TRI_AUTO, big_sizes, 1); }
static void the_serial_method_solves_every_combination(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SERIAL, small_sizes, 6);
}
static void level_sets_solve_every_combination(void **state)
{
    (void)state;
    product_of_everything(TRINE_TRI_LEVELSET, small_sizes, 6);
    product_of_everything(TRINE_TRI_LEVELSET, big_sizes, 1);
}
static void the_method_by_rows_solves_every_combination(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SYNCFREE_CSR, small_sizes, 6);
}
static void the_method_by_columns_solves_every_combination(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    product_of_everything(TRINE_TRI_SYNCFREE_CSC, small_sizes, 6);
    product_of_everything(TRINE_TRI_SYNCFREE_CSC, big_sizes, 1);
}

/* -------------------------------------------------------------- structures */

/** Rows given one by one: row i depends on from(i, 0), from(i, 1), ... until -1. */
static struct problem make_rows(int64_t n, int64_t per_row, int64_t (*from)(int64_t i, int64_t k, int64_t n))
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
static int64_t chain(int64_t i, int64_t k, int64_t n) { (void)n; return k == 0 ? i - 1 : -1; }
static int64_t diagonal(int64_t i, int64_t k, int64_t n) { (void)i, (void)k, (void)n; return -1; }
static int64_t dense_last_row(int64_t i, int64_t k, int64_t n) { return i == n - 1 && k < n - 1 ? k : -1; }
static int64_t dense_first_column(int64_t i, int64_t k, int64_t n) { (void)n; return i > 0 && k == 0 ? 0 : -1; }
static int64_t arrow(int64_t i, int64_t k, int64_t n) { return i == n - 1 ? (k < n - 1 ? k : -1) : i > 0 && k == 0 ? 0 : -1; }
static int64_t grid(int64_t i, int64_t k, int64_t n)
{
    int64_t side = (int64_t)sqrt((double)n), found[2], count = 0;
    if (i >= side) found[count++] = i - side;
    if (i % side) found[count++] = i - 1;
    return k < count ? found[k] : -1;
}

static void extreme_structures_are_solved(void **state)
{
    (void)state;
    static const struct { const char *name; int64_t n, per_row, levels; int64_t (*from)(int64_t, int64_t, int64_t); } cases[] = {
        {"chain", 1000000, 1, 1000000, chain}, {"diagonal", 100000, 0, 1, diagonal}, {"dense last row", 100000, 1, 2, dense_last_row},
        {"dense first column", 100000, 1, 2, dense_first_column}, {"arrow", 100000, 2, 3, arrow}, {"grid", 90000, 2, 599, grid}};
    trine_triangular_method methods[4];
    const int n_methods = test_on_gpu() ? methods_here(methods) : (methods[0] = TRINE_TRI_AUTO, 1);
    trine_context ctx = test_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        print_message("%s\n", cases[c].name);
        struct problem P = make_rows(cases[c].n, cases[c].per_row, cases[c].from);
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
        trine_triangular plan;
        trine_triangular_info info;
        int64_t levels, *level_offsets = malloc((size_t)(P.n + 1) * sizeof *level_offsets);
        OK(trine_level_sets(ctx, A, TRINE_LOWER, &levels, level_offsets, NULL, NULL));
        assert_int_equal(levels, cases[c].levels);
        assert_int_equal(level_offsets[levels], P.n);
        for (int m = 0; m < n_methods; m++) {
            OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_T, .max_nrhs = 2}));
            OK(trine_triangular_get_info(plan, &info));
            assert_int_equal(info.uplo, TRINE_LOWER);
            assert_int_equal(info.nnz, P.nnz);
            assert_true(info.levels == levels || info.levels == -1);
            OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
            for (int64_t nrhs = 1; nrhs <= 2; nrhs++) {
                solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_T, nrhs, TRINE_ROWMAJOR, true, 1, true);
            }
            OK(trine_triangular_destroy(&plan));
        }
        OK(trine_matrix_destroy(&A));
        free(level_offsets);
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

static void every_tuning_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    struct problem P = make_problem(1000, sparse_random, true, false, false, false, 5);
    struct arrays a;
    trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
    for (int lanes = 1; lanes <= 32; lanes *= 2)
        for (int warps = 1; warps <= 16; warps += 15)
            for (int blocks = 1; blocks <= 500; blocks += 499)
                for (int order = 1; order <= 2; order++) {
                    trine_triangular plan;
                    OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                        .method = TRINE_TRI_SYNCFREE_CSR, .max_nrhs = 40, .tune = {lanes, warps, blocks, order}}));
                    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                    for (int64_t nrhs = 1; nrhs <= 40; nrhs += 39)
                        solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, nrhs, TRINE_COLMAJOR, false, 1, true);
                    OK(trine_triangular_destroy(&plan));
                }
    OK(trine_matrix_destroy(&A));
    free_arrays(&a);
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

static void every_tuning_of_the_method_by_columns_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    for (int complex_too = 0; complex_too < 2; complex_too++) {
        const trine_dtype t = complex_too ? TRINE_Z : TRINE_D;
        struct problem P = make_problem(1000, sparse_random, true, complex_too, false, false, 5);
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, t, false, &a);
        static const int warps[] = {0, 1, 3, 32};
        static const struct { int64_t p, q; } limits[] = {{0, 0}, {1, 1}, {64, 4}, {2, 6}};
        for (int w = 0; w < 4; w++)
            for (int scratchpad = 0; scratchpad <= 2; scratchpad++)
                for (int variant = 0; variant <= 2; variant++)
                    for (int limit = 0; limit < (variant == TRINE_CSC_ADAPTIVE ? 4 : 1); limit++) {
                        trine_triangular plan;
                        OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){
                            .method = TRINE_TRI_SYNCFREE_CSC, .ops = TRINE_N | TRINE_H, .max_nrhs = 40,
                            .csc = {warps[w], scratchpad, (trine_csc_variant)variant, limits[limit].p, limits[limit].q}}));
                        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
                        static const int64_t counts[] = {1, 5, 40};
                        for (int c = 0; c < 3; c++) {
                            solve_and_check(ctx, plan, &P, t, true, false, TRINE_N, counts[c], TRINE_COLMAJOR, false, 1, true);
                            solve_and_check(ctx, plan, &P, t, true, false, TRINE_H, counts[c], TRINE_ROWMAJOR, true, 2, false);
                        }
                        OK(trine_triangular_destroy(&plan));
                    }
        OK(trine_matrix_destroy(&A));
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

static void every_width_of_level_sets_gives_the_same_solution(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    struct problem P = make_rows(90000, 2, grid); /* narrow levels, wide ones, narrow ones */
    struct arrays a;
    trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        trine_triangular plan;
        OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = TRINE_TRI_LEVELSET, .max_nrhs = 70, .tune.lanes_per_row = lanes}));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        if (lanes == 1) solve_and_check(ctx, plan, &P, TRINE_D, true, false, TRINE_N, 70, TRINE_ROWMAJOR, true, 1, true);
        OK(trine_triangular_destroy(&plan));
    }
    OK(trine_matrix_destroy(&A));
    free_arrays(&a);
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------ life of a plan */

struct fixture { trine_context ctx; struct problem P; struct arrays a; trine_matrix A; trine_triangular plan; };
static struct fixture open_fixture_with(trine_triangular_method method, int64_t n, unsigned mask, int64_t max_nrhs)
{
    struct fixture f = {.ctx = test_context(), .P = make_problem(n, sparse_random, true, false, false, false, 5)};
    f.A = make_matrix(f.ctx, &f.P, TRINE_D, false, &f.a);
    OK(trine_triangular_analyse(f.ctx, &f.plan, f.A, &(trine_triangular_options){.method = method, .ops = mask, .max_nrhs = max_nrhs}));
    return f;
}
static struct fixture open_fixture(int64_t n, unsigned mask, int64_t max_nrhs) { return open_fixture_with(TRINE_TRI_AUTO, n, mask, max_nrhs); }
static void close_fixture(struct fixture *f)
{
    OK(trine_triangular_destroy(&f->plan));
    OK(trine_matrix_destroy(&f->A));
    OK(trine_context_destroy(&f->ctx));
    free_arrays(&f->a);
    problem_free(&f->P);
}

static void check_that_values_are_replaced_without_a_new_analysis(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N | TRINE_T, 1);
    for (int round = 0; round < 3; round++) {
        double *values = malloc((size_t)f.P.nnz * sizeof *values);
        for (int64_t k = 0; k < f.P.nnz; k++) values[k] = creal(f.P.values[k] *= round == 1 ? -0.75 : 1.25);
        if (round == 2 && test_on_gpu()) {
            void *device = test_to_device(f.ctx, values, (size_t)f.P.nnz * sizeof *values);
            OK(trine_triangular_numeric(f.plan, TRINE_DEVICE, device, NULL));
            OK(trine_context_synchronize(f.ctx));
            test_release(f.ctx, device);
        } else {
            OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
        }
        free(values);
        solve_and_check(f.ctx, f.plan, &f.P, TRINE_D, true, false, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        solve_and_check(f.ctx, f.plan, &f.P, TRINE_D, true, false, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
    }
    close_fixture(&f);
}
static void values_are_replaced_without_a_new_analysis(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_values_are_replaced_without_a_new_analysis(methods[m]);
}

static void check_that_zero_and_nan_pivots_are_found_and_do_not_hang(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N | TRINE_T, 1);
    double *values = malloc((size_t)f.P.nnz * sizeof *values), *x = malloc(300 * sizeof *x);
    for (int bad = 0; bad < 3; bad++) {
        for (int64_t k = 0; k < f.P.nnz; k++) values[k] = creal(f.P.values[k]);
        for (int64_t row = 17; row < 300; row += 100)
            for (int64_t k = f.P.offsets[row]; k < f.P.offsets[row + 1]; k++)
                if (f.P.indices[k] == row) values[k] = bad == 0 ? 0.0 : bad == 1 ? NAN : -0.0;
        OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
        FAILS(TRINE_ERR_SINGULAR, "row 17 is zero or NaN", trine_triangular_check(f.plan, NULL));
        for (int i = 0; i < 300; i++) x[i] = 1;
        void *d = test_to_device(f.ctx, x, 300 * sizeof *x);
        const trine_dense block = {d, 300, 1, 300, TRINE_COLMAJOR};
        OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
        test_from_device(f.ctx, x, d, 300 * sizeof *x);
        assert_false(isfinite(x[17]));
        assert_true(isfinite(x[0]));
        test_release(f.ctx, d);
    }
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_check(f.plan, NULL));
    free(values);
    free(x);
    close_fixture(&f);
}
static void zero_and_nan_pivots_are_found_and_do_not_hang(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_zero_and_nan_pivots_are_found_and_do_not_hang(methods[m]);
}

static void tiny_and_huge_pivots_keep_their_digits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const double pivots[] = {1e-310, 0x1p-1074, 0x1p1023, 1.7e308, 3.0};
    for (int i = 0; i < 5; i++) {
        const int64_t offsets[] = {0, 1};
        const int32_t column = 0;
        const double b = pivots[i] * 0.5;
        double x;
        trine_matrix A;
        trine_triangular plan;
        OK(trine_matrix_csr(ctx, &A, TRINE_D, 1, 1, 1, TRINE_HOST, 64, offsets, 32, &column, &pivots[i]));
        OK(trine_triangular_analyse(ctx, &plan, A, NULL));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        OK(trine_triangular_check(plan, NULL));
        void *d = test_to_device(ctx, &b, sizeof b);
        const trine_dense block = {d, 1, 1, 1, TRINE_COLMAJOR};
        OK(trine_triangular_solve(plan, TRINE_N, NULL, &block, &block, NULL));
        test_from_device(ctx, &x, d, sizeof x);
        assert_true(fabs(x - b / pivots[i]) <= 2 * 0x1p-52 * fabs(b / pivots[i]));
        test_release(ctx, d);
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void check_that_every_nan_in_a_right_hand_side_flows_through(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method, 300, TRINE_N, 2);
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    static const uint64_t patterns[] = {0xFFFFFFFFFFFFFFFFu, 0x7FFFFFFFFFFFFFFFu, 0x7FF8000000000000u, 0xFFF8000000000001u, 0x7FF0000000000000u};
    for (int64_t nrhs = 1; nrhs <= 2; nrhs++)
        for (size_t c = 0; c < sizeof patterns / sizeof *patterns; c++) {
            double x[600];
            for (int i = 0; i < 600; i++) x[i] = 1;
            memcpy(&x[5], &patterns[c], sizeof x[5]);
            void *d = test_to_device(f.ctx, x, sizeof x);
            const trine_dense block = {d, 300, nrhs, 300, TRINE_COLMAJOR};
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
            test_from_device(f.ctx, x, d, sizeof x);
            assert_false(isfinite(x[5]));
            assert_true(isfinite(x[0]));
            if (nrhs == 2)
                for (int i = 300; i < 600; i++) assert_true(isfinite(x[i]));
            test_release(f.ctx, d);
        }
    close_fixture(&f);
}
static void every_nan_in_a_right_hand_side_flows_through(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_that_every_nan_in_a_right_hand_side_flows_through(methods[m]);
}

static void check_repeated_solves(trine_triangular_method method)
{
    trine_context ctx = test_context();
    struct problem P = make_rows(90000, 2, grid);
    struct arrays a;
    trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
    trine_triangular plan;
    trine_triangular_info info;
    OK(trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.method = method, .summation = TRINE_ORDER_DETERMINISTIC, .max_nrhs = 3}));
    OK(trine_triangular_get_info(plan, &info));
    assert_true(info.deterministic);
    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    const size_t bytes = (size_t)P.n * 3 * sizeof(double);
    double *B = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
    for (int64_t i = 0; i < 3 * P.n; i++) B[i] = test_uniform(1, (uint64_t)i);
    void *b = test_to_device(ctx, B, bytes), *x = test_to_device(ctx, B, bytes);
    for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
        for (int run = 0; run < 20; run++) {
            OK(trine_triangular_solve(plan, TRINE_N, NULL, &(trine_dense){b, P.n, nrhs, 0, TRINE_COLMAJOR}, &(trine_dense){x, P.n, nrhs, 0, TRINE_COLMAJOR}, NULL));
            test_from_device(ctx, run ? again : first, x, bytes);
            if (run) assert_memory_equal(first, again, bytes);
        }
    test_release(ctx, b);
    test_release(ctx, x);
    free(B);
    free(first);
    free(again);
    OK(trine_triangular_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    free_arrays(&a);
    problem_free(&P);
    OK(trine_context_destroy(&ctx));
}

static void repeated_solves_are_bitwise_equal(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++)
        if (methods[m] != TRINE_TRI_SYNCFREE_CSC) check_repeated_solves(methods[m]);
}
static void the_method_by_columns_does_not_promise_determinism(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    struct fixture f = open_fixture_with(TRINE_TRI_SYNCFREE_CSC, 33, TRINE_N, 1);
    trine_triangular plan;
    trine_triangular_info info;
    OK(trine_triangular_get_info(f.plan, &info));
    assert_false(info.deterministic);
    assert_int_equal(info.method, TRINE_TRI_SYNCFREE_CSC);
    FAILS(TRINE_ERR_UNSUPPORTED, "cannot be deterministic", trine_triangular_analyse(f.ctx, &plan, f.A, &(trine_triangular_options){
        .method = TRINE_TRI_SYNCFREE_CSC, .summation = TRINE_ORDER_DETERMINISTIC}));
    assert_null(plan);
    close_fixture(&f);
}

struct job { struct fixture *f; const double *expected; bool good; };
static void *solve_in_a_thread(void *argument)
{
    struct job *job = argument;
    struct fixture *f = job->f;
    trine_work work = NULL;
    size_t bytes = 0;
    void *x = NULL;
    double result[300], ones[300];
    trine_context_info info;
    trine_context_get_info(f->ctx, &info);
    for (int i = 0; i < 300; i++) ones[i] = 1;
    if (trine_triangular_work(f->plan, 1, NULL, &bytes, &work)) return NULL;
    if (trine_alloc(f->ctx, info.space, sizeof ones, &x)) return NULL;
    for (int round = 0; round < 50; round++) {
        const trine_dense block = {x, 300, 1, 300, TRINE_COLMAJOR};
        if (trine_copy(f->ctx, x, info.space, ones, TRINE_HOST, sizeof ones)) return NULL;
        if (trine_triangular_solve(f->plan, TRINE_N, NULL, &block, &block, &(trine_exec){.work = work})) return NULL;
        if (trine_context_synchronize(f->ctx)) return NULL;
        if (trine_copy(f->ctx, result, TRINE_HOST, x, info.space, sizeof ones)) return NULL;
        if (memcmp(result, job->expected, sizeof result)) return NULL;
    }
    trine_free(f->ctx, info.space, x);
    trine_work_destroy(&work);
    job->good = true;
    return NULL;
}
static void eight_threads_share_one_plan(void **state)
{
    (void)state;
    struct fixture f = open_fixture(300, TRINE_N, 1);
    double expected[300];
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    for (int i = 0; i < 300; i++) expected[i] = 1;
    void *x = test_to_device(f.ctx, expected, sizeof expected);
    const trine_dense block = {x, 300, 1, 300, TRINE_COLMAJOR};
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
    test_from_device(f.ctx, expected, x, sizeof expected);
    test_release(f.ctx, x);
    pthread_t threads[8];
    struct job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct job){&f, expected, false};
        assert_int_equal(pthread_create(&threads[i], NULL, solve_in_a_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++) assert_true(jobs[i].good);
    close_fixture(&f);
}

static void handles_may_be_destroyed_in_any_order(void **state)
{
    (void)state;
    struct fixture f = open_fixture(33, TRINE_N, 1);
    trine_context copy = f.ctx;
    trine_work work;
    size_t bytes;
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_work(f.plan, 5, NULL, &bytes, &work));
    OK(trine_context_destroy(&copy));
    OK(trine_matrix_destroy(&f.A));
    OK(trine_triangular_destroy(&f.plan));
    OK(trine_work_destroy(&work));
    assert_null(work);
    OK(trine_work_destroy(&work));
    free_arrays(&f.a);
    problem_free(&f.P);
}

/* ------------------------------------------------------------------ errors */

static trine_status analyse_entries(trine_context ctx, int n, int nnz, const int32_t *offsets, const int32_t *columns, trine_triangular_options options)
{
    double values[16] = {1, 1, 1, 1, 1, 1, 1, 1};
    trine_matrix A;
    trine_triangular plan;
    OK(trine_matrix_csr(ctx, &A, TRINE_D, n, n, nnz, TRINE_HOST, 32, offsets, 32, columns, values));
    const trine_status status = trine_triangular_analyse(ctx, &plan, A, &options);
    if (status) assert_null(plan);
    OK(trine_triangular_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    return status;
}

static void wrong_patterns_are_refused_with_the_row(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const trine_triangular_options lower = {.uplo = TRINE_LOWER}, strict = {.uplo = TRINE_LOWER, .other_triangle_is_error = 1}, any = {0};
    FAILS(TRINE_ERR_SINGULAR, "row 1 has no diagonal", analyse_entries(ctx, 2, 2, (int32_t[]){0, 1, 2}, (int32_t[]){0, 0}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "row 1 has two entries in column 0", analyse_entries(ctx, 2, 4, (int32_t[]){0, 1, 4}, (int32_t[]){0, 0, 0, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "entry (0, 1) is not in the lower", analyse_entries(ctx, 2, 3, (int32_t[]){0, 2, 3}, (int32_t[]){0, 1, 1}, strict));
    FAILS(TRINE_ERR_STRUCTURE, "both triangles", analyse_entries(ctx, 2, 4, (int32_t[]){0, 2, 4}, (int32_t[]){0, 1, 0, 1}, any));
    FAILS(TRINE_ERR_STRUCTURE, "column index 7 in row 1 is outside 0..1", analyse_entries(ctx, 2, 3, (int32_t[]){0, 1, 3}, (int32_t[]){0, 7, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "column index -1 in row 0", analyse_entries(ctx, 2, 3, (int32_t[]){0, 1, 3}, (int32_t[]){-1, 0, 1}, lower));
    FAILS(TRINE_ERR_STRUCTURE, "offsets fall", analyse_entries(ctx, 3, 3, (int32_t[]){0, 2, 1, 3}, (int32_t[]){0, 1, 2}, lower));
    OK(analyse_entries(ctx, 2, 4, (int32_t[]){0, 2, 4}, (int32_t[]){0, 1, 0, 1}, lower));
    FAILS(TRINE_ERR_UNSUPPORTED, "only", analyse_entries(ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0},
          (trine_triangular_options){.method = test_on_gpu() ? TRINE_TRI_SERIAL : TRINE_TRI_SYNCFREE_CSR}));
    if (!test_on_gpu())
        FAILS(TRINE_ERR_UNSUPPORTED, "syncfree-csc runs on a GPU only", analyse_entries(ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0},
              (trine_triangular_options){.method = TRINE_TRI_SYNCFREE_CSC}));
    static const trine_triangular_options wrong[] = {
        {.uplo = 3}, {.diag = 2}, {.ops = 8}, {.method = 99}, {.summation = 9}, {.max_nrhs = -1}, {.tune.lanes_per_row = 3},
        {.tune.lanes_per_row = 64}, {.tune.warps_per_block = 17}, {.tune.blocks = -1}, {.tune.row_order = 3},
        {.csc.warps_per_block = 33}, {.csc.warps_per_block = -1}, {.csc.scratchpad = 3}, {.csc.variant = 3}, {.csc.p = -1}, {.csc.q = -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(TRINE_ERR_ARGUMENT, NULL, analyse_entries(ctx, 1, 1, (int32_t[]){0, 1}, (int32_t[]){0}, wrong[i]));

    trine_matrix A;
    trine_triangular plan;
    OK(trine_matrix_csr(ctx, &A, TRINE_D, 1, 2, 1, TRINE_HOST, 32, (int32_t[]){0, 1}, 32, (int32_t[]){0}, (double[]){1}));
    FAILS(TRINE_ERR_STRUCTURE, "1 x 2, not square", trine_triangular_analyse(ctx, &plan, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_analyse(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_triangular_analyse(ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_triangular_analyse(NULL, &plan, A, NULL));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    struct fixture f = open_fixture(33, TRINE_N, 2);
    double zeros[33 * 4] = {0};
    void *d = test_to_device(f.ctx, zeros, sizeof zeros);
    const trine_dense good = {d, 33, 1, 33, TRINE_COLMAJOR};
    size_t bytes;
    trine_work work;
    FAILS(TRINE_ERR_STATE, "after numeric", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_STATE, "after numeric", trine_triangular_check(f.plan, NULL));
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "not announced", trine_triangular_solve(f.plan, TRINE_T, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_triangular_solve(f.plan, (trine_transpose)3, NULL, &good, &good, NULL));
    FAILS(TRINE_ERR_STATE, "3 right-hand sides", trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){d, 33, 3, 33, TRINE_COLMAJOR},
                                                                       &(trine_dense){d, 33, 3, 33, TRINE_COLMAJOR}, NULL));
    static const struct { trine_dense block; const char *text; } wrong[] = {
        {{(void *)64, 32, 1, 33, TRINE_COLMAJOR}, "32 rows, not 33"}, {{(void *)64, 33, -1, 33, TRINE_COLMAJOR}, "-1 columns"},
        {{(void *)64, 33, 1, 32, TRINE_COLMAJOR}, "leading dimension 32"}, {{(void *)64, 33, 2, 1, TRINE_ROWMAJOR}, "leading dimension 1"},
        {{(void *)64, 33, 1, 33, (trine_layout)5}, "layout 5"}, {{NULL, 33, 1, 33, TRINE_COLMAJOR}, "no data"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text, trine_triangular_solve(f.plan, TRINE_N, NULL, &wrong[i].block, &good, NULL));
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text, trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &wrong[i].block, NULL));
    }
    FAILS(TRINE_ERR_ARGUMENT, "B is NULL", trine_triangular_solve(f.plan, TRINE_N, NULL, NULL, &good, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "not their layout", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &(trine_dense){d, 33, 1, 1, TRINE_ROWMAJOR}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_solve(NULL, TRINE_N, NULL, &good, &good, NULL));
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){NULL, 33, 0, 33, TRINE_COLMAJOR}, &(trine_dense){NULL, 33, 0, 33, TRINE_COLMAJOR}, NULL));
    OK(trine_triangular_work(f.plan, 7, NULL, &bytes, NULL));
    if (bytes) {
        void *small = test_to_device(f.ctx, zeros, 8);
        bytes = 8;
        FAILS(TRINE_ERR_ARGUMENT, "the buffer has 8", trine_triangular_work(f.plan, 7, small, &bytes, &work));
        test_release(f.ctx, small);
    }
    struct fixture other = open_fixture(33, TRINE_N, 2);
    OK(trine_triangular_work(other.plan, 7, NULL, &bytes, &work));
    FAILS(TRINE_ERR_ARGUMENT, "another plan", trine_triangular_solve(f.plan, TRINE_N, NULL, &good, &good, &(trine_exec){.work = work}));
    OK(trine_work_destroy(&work));
    close_fixture(&other);
    test_release(f.ctx, d);
    close_fixture(&f);
}

static void check_failing_allocations(trine_triangular_method method)
{
    struct problem P = make_problem(40, sparse_random, true, false, false, false, 5);
    for (int k = 1;; k++) {
        test_memory memory = {0};
        struct arrays a;
        trine_context ctx = test_context();
        trine_triangular plan;
        test_fail_allocations(ctx, &memory);
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, false, &a);
        memory.fail_at = memory.calls + k;
        trine_status status = trine_triangular_analyse(ctx, &plan, A, &(trine_triangular_options){.ops = TRINE_N | TRINE_T, .method = method});
        if (status) assert_null(plan);
        else OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
        free_arrays(&a);
        assert_int_equal(memory.live, 0);
        if (!status) break;
        assert_int_equal(status, TRINE_ERR_MEMORY);
        assert_true(k < 500);
    }
    problem_free(&P);
}
static void every_allocation_may_fail(void **state)
{
    (void)state;
    trine_triangular_method methods[4];
    const int n_methods = methods_here(methods);
    for (int m = 0; m < n_methods; m++) check_failing_allocations(methods[m]);
}

static void method_names_are_there(void **state)
{
    (void)state;
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SERIAL), "serial");
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SYNCFREE_CSR), "syncfree-csr");
    assert_string_equal(trine_triangular_method_name(TRINE_TRI_SYNCFREE_CSC), "syncfree-csc");
    assert_string_equal(trine_triangular_method_name((trine_triangular_method)77), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_solves_every_combination),
        cmocka_unit_test(auto_solves_every_combination_with_a_thousand_rows),
        cmocka_unit_test(the_serial_method_solves_every_combination),
        cmocka_unit_test(level_sets_solve_every_combination),
        cmocka_unit_test(the_method_by_rows_solves_every_combination),
        cmocka_unit_test(the_method_by_columns_solves_every_combination),
        cmocka_unit_test(extreme_structures_are_solved),
        cmocka_unit_test(every_tuning_gives_the_same_solution),
        cmocka_unit_test(every_tuning_of_the_method_by_columns_gives_the_same_solution),
        cmocka_unit_test(every_width_of_level_sets_gives_the_same_solution),
        cmocka_unit_test(values_are_replaced_without_a_new_analysis),
        cmocka_unit_test(zero_and_nan_pivots_are_found_and_do_not_hang),
        cmocka_unit_test(tiny_and_huge_pivots_keep_their_digits),
        cmocka_unit_test(every_nan_in_a_right_hand_side_flows_through),
        cmocka_unit_test(repeated_solves_are_bitwise_equal),
        cmocka_unit_test(the_method_by_columns_does_not_promise_determinism),
        cmocka_unit_test(eight_threads_share_one_plan),
        cmocka_unit_test(handles_may_be_destroyed_in_any_order),
        cmocka_unit_test(wrong_patterns_are_refused_with_the_row),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(method_names_are_there),
    };
    return TEST_MAIN(tests);
}
