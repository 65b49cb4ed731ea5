/* Plans of tridiagonal, block tridiagonal, cyclic and banded matrices against the matrix itself, in long double: every
 * shape, op, layout and precision; and their life. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"

/** A band or block matrix with a heavy diagonal, rows in no order, as CSR or CSC arrays on the host. */
typedef struct {
    trine_dtype t;
    int64_t n, nnz, *offsets;
    int32_t *indices;
    void *values;
    bool by_columns;
} sparse;

/** Is there an entry in diagonal k of blocks? Around the corners, if cyclic; some inner ones are left out. */
static bool has_entry(int64_t row, int64_t column, int64_t n, int block, int kl, int ku, bool cyclic, uint64_t seed)
{
    const int64_t rows = n / block, k = column / block - row / block;
    if (row == column) return true;
    if (k >= -kl && k <= ku) return test_uniform(seed, (uint64_t)(row * n + column)) < 0.8 || k == -kl || k == ku;
    return cyclic && (k - rows >= -kl || k + rows <= ku);
}

static sparse make_blocks(trine_dtype t, int64_t n, int block, int kl, int ku, bool cyclic, bool by_columns,
                          uint64_t seed)
{
    sparse s = {.t = t, .n = n, .by_columns = by_columns};
    s.offsets = calloc((size_t)n + 1, sizeof *s.offsets);
    const int64_t most = n * (2 * (kl + ku) + 1) * block + 1;
    s.indices = malloc((size_t)most * sizeof *s.indices);
    s.values = malloc((size_t)most * trine_dtype_size(t));
    for (int64_t line = 0; line < n; line++) {
        for (int64_t at = 0; at < n; at++) {
            const int64_t other = line % 3 ? at : n - 1 - at, row = by_columns ? other : line,
                          column = by_columns ? line : other;
            if (!has_entry(row, column, n, block, kl, ku, cyclic, seed)) continue;
            s.indices[s.nnz] = (int32_t)other;
            put(t, s.values, s.nnz,
                random_element(t, seed + 1, (uint64_t)s.nnz) + (row == column ? (kl + ku + 1) * block + 1 : 0));
            s.nnz++;
        }
        s.offsets[line + 1] = s.nnz;
    }
    return s;
}
static sparse make_bands(trine_dtype t, int64_t n, int kl, int ku, bool cyclic, bool by_columns, uint64_t seed)
{
    return make_blocks(t, n, 1, kl, ku, cyclic, by_columns, seed);
}
static void free_bands(sparse *s)
{
    free(s->offsets);
    free(s->indices);
    free(s->values);
}

/** The same on the device or the host of ctx. */
typedef struct {
    trine_matrix A;
    void *offsets, *indices, *values;
} view;
static view make_view(trine_context ctx, const sparse *s, bool on_device)
{
    view v = {0};
    const void *offsets = s->offsets, *indices = s->indices, *values = s->values;
    if (on_device) {
        offsets = v.offsets = test_to_device(ctx, s->offsets, (size_t)(s->n + 1) * sizeof *s->offsets);
        indices = v.indices = test_to_device(ctx, s->indices, (size_t)(s->nnz + 1) * sizeof *s->indices);
        values = v.values = test_to_device(ctx, s->values, (size_t)(s->nnz + 1) * trine_dtype_size(s->t));
    }
    OK((s->by_columns ? trine_matrix_csc : trine_matrix_csr)(
        ctx, &v.A, s->t, s->n, s->n, s->nnz, on_device ? TRINE_DEVICE : TRINE_HOST, 64, offsets, 32, indices, values));
    return v;
}
static void free_view(trine_context ctx, view *v)
{
    OK(trine_matrix_destroy(&v->A));
    test_release(ctx, v->offsets);
    test_release(ctx, v->indices);
    test_release(ctx, v->values);
}

typedef struct {
    trine_transpose op;
    int64_t nrhs;
    trine_layout layout_b, layout_x;
    bool in_place, null_alpha;
    wide alpha;
    int64_t padding;
} shape;

static int64_t place(const trine_dense *X, int64_t i, int64_t j)
{
    return X->layout == TRINE_COLMAJOR ? i + j * X->ld : i * X->ld + j;
}

/** Componentwise: |alpha b - op(A) x| <= bound eps (|op(A)| |x| + |alpha b|). */
static void check_residual(const sparse *s, const shape *c, wide alpha, const void *B, const trine_dense *b,
                           const void *X, const trine_dense *x)
{
    wide *r = calloc((size_t)s->n + 1, sizeof *r);
    long double *scale = calloc((size_t)s->n + 1, sizeof *scale);
    for (int64_t j = 0; j < c->nrhs; j++) {
        for (int64_t i = 0; i < s->n; i++) {
            r[i] = alpha * get(s->t, B, place(b, i, j));
            scale[i] = absolute(r[i]);
        }
        for (int64_t line = 0; line < s->n; line++)
            for (int64_t e = s->offsets[line]; e < s->offsets[line + 1]; e++) {
                const int64_t row = s->by_columns ? s->indices[e] : line, column = s->by_columns ? line : s->indices[e];
                wide a = get(s->t, s->values, e);
                if (c->op == TRINE_H) a = conjl(a);
                const int64_t to = c->op == TRINE_N ? row : column;
                const wide term = a * get(s->t, X, place(x, c->op == TRINE_N ? column : row, j));
                r[to] -= term;
                scale[to] += absolute(term);
            }
        for (int64_t i = 0; i < s->n; i++)
            if (!(absolute(r[i]) <= 60 * eps_of(s->t) * scale[i]))
                fail_msg("n %lld, row %lld, column %lld: residual %Lg of %Lg", (long long)s->n, (long long)i,
                         (long long)j, absolute(r[i]), scale[i]);
    }
    free(r);
    free(scale);
}

/** By the plan, or by its operator. */
static void solve_and_check(trine_context ctx, trine_tridiagonal plan, trine_op op, const sparse *s, const shape *c,
                            const trine_exec *exec)
{
    const bool b_rows = c->layout_b == TRINE_ROWMAJOR, x_rows = c->layout_x == TRINE_ROWMAJOR;
    const size_t element = trine_dtype_size(s->t);
    const int64_t longest = (s->n > c->nrhs ? s->n : c->nrhs) + c->padding, room = longest * longest + 1;
    char *B = malloc((size_t)room * element), *X = malloc((size_t)room * element),
         *before = malloc((size_t)room * element);
    for (int64_t i = 0; i < room; i++) put(s->t, B, i, random_element(s->t, 9, (uint64_t)i)), put(s->t, X, i, 17);
    memcpy(before, c->in_place ? B : X, (size_t)room * element);
    void *b_there = test_to_device(ctx, B, (size_t)room * element),
         *x_there = c->in_place ? b_there : test_to_device(ctx, X, (size_t)room * element);
    const trine_dense b = {b_there, s->n, c->nrhs, (b_rows ? c->nrhs : s->n) + c->padding, c->layout_b};
    const trine_dense x = {x_there, s->n, c->nrhs, (x_rows ? c->nrhs : s->n) + c->padding, c->layout_x};
    double alpha[2];
    put(s->t, alpha, 0, c->alpha);
    if (op) OK(trine_op_apply(op, c->op, c->null_alpha ? NULL : alpha, &b, NULL, &x, exec));
    else OK(trine_tridiagonal_solve(plan, c->op, c->null_alpha ? NULL : alpha, &b, &x, exec));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, X, x_there, (size_t)room * element);
    check_residual(s, c, c->null_alpha ? 1 : get(s->t, alpha, 0), B, &b, X, &x);
    for (int64_t at = 0; at < room; at++) { /* what is no element of X stays */
        const int64_t major = x.ld ? at / x.ld : 0, minor = x.ld ? at % x.ld : 0;
        const bool inside = x_rows ? major < s->n && minor < c->nrhs : major < c->nrhs && minor < s->n;
        if (!inside) assert_memory_equal(X + (size_t)at * element, before + (size_t)at * element, element);
    }
    test_release(ctx, b_there);
    if (!c->in_place) test_release(ctx, x_there);
    free(B);
    free(X);
    free(before);
}

enum { MOST = 5 };
static trine_tridiagonal make_plan(trine_context ctx, trine_matrix A, const trine_tridiagonal_options *options)
{
    trine_tridiagonal plan;
    OK(trine_tridiagonal_analyse(ctx, &plan, A, options));
    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_tridiagonal_check(plan, NULL));
    return plan;
}

/** Every op, layout, in place or not. Returns what the plan says of itself. */
static trine_tridiagonal_info check_all_shapes(trine_context ctx, sparse s, bool on_device,
                                               trine_tridiagonal_options options)
{
    view v = make_view(ctx, &s, on_device);
    trine_tridiagonal_info info;
    options.max_nrhs = MOST;
    trine_tridiagonal plan = make_plan(ctx, v.A, &options);
    OK(trine_tridiagonal_get_info(plan, &info));
    assert_int_equal(info.n, s.n);
    assert_int_equal(info.nnz, s.nnz);
    assert_true(info.analyse_seconds >= 0 && info.numeric_seconds >= 0 && info.method && (!s.n || info.bytes > 0));
    for (int op = TRINE_N; op <= TRINE_H; op *= 2)
        for (int nrhs = 1; nrhs <= MOST; nrhs += 2)
            for (int layouts = 0; layouts < 4; layouts++) {
                shape c = {.op = (trine_transpose)op,
                           .nrhs = nrhs,
                           .layout_b = (trine_layout)(layouts % 2),
                           .layout_x = (trine_layout)(layouts / 2),
                           .null_alpha = nrhs == 1,
                           .alpha = 0.25L * _Complex_I - 1.5L,
                           .padding = op == TRINE_T ? 2 : 0};
                solve_and_check(ctx, plan, NULL, &s, &c, NULL);
                c.in_place = c.layout_b == c.layout_x;
                if (c.in_place) solve_and_check(ctx, plan, NULL, &s, &c, NULL);
            }
    trine_tridiagonal_destroy(&plan);
    assert_null(plan);
    free_view(ctx, &v);
    free_bands(&s);
    return info;
}

static void expect(trine_tridiagonal_info info, trine_bands bands, int kl, int ku, bool cyclic)
{
    assert_int_equal(info.bands, bands);
    assert_int_equal(info.kl, kl);
    assert_int_equal(info.ku, ku);
    assert_int_equal(info.cyclic, cyclic);
}

static void tridiagonal_matrices(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int64_t sizes[] = {3, 4, 5, 40, 321};
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 5; k++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_to_do()) continue;
                const sparse s = make_bands(all_dtypes[t], sizes[k], 1, 1, cyclic, (k + t) % 2, 10);
                const trine_tridiagonal_info info =
                    check_all_shapes(ctx, s, test_on_gpu() && k % 2, (trine_tridiagonal_options){.refine = t % 2});
                expect(info, TRINE_BANDS_TRIDIAGONAL, 1, 1, cyclic);
            }
    expect(check_all_shapes(ctx, make_bands(TRINE_D, 50, 1, 0, false, false, 3), false, (trine_tridiagonal_options){0}),
           TRINE_BANDS_TRIDIAGONAL, 1, 0, false);
    expect(check_all_shapes(ctx, make_bands(TRINE_D, 50, 0, 0, false, false, 3), false, (trine_tridiagonal_options){0}),
           TRINE_BANDS_TRIDIAGONAL, 0, 0, false);
    expect(check_all_shapes(ctx, make_bands(TRINE_D, 50, 1, 1, false, false, 3), false,
                            (trine_tridiagonal_options){.bands = TRINE_BANDS_GENERAL}),
           TRINE_BANDS_GENERAL, 1, 1, false);
    expect(check_all_shapes(ctx, make_bands(TRINE_D, 50, 1, 1, true, false, 3), false,
                            (trine_tridiagonal_options){.bands = TRINE_BANDS_GENERAL}),
           TRINE_BANDS_GENERAL, 1, 1, true);
    OK(trine_context_destroy(&ctx));
}

static void banded_matrices(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int kl = 0; kl <= 8; kl++)
        for (int ku = 0; ku <= 8; ku++) {
            if (kl <= 1 && ku <= 1) continue;
            const trine_dtype t = all_dtypes[(kl + ku) % 4];
            const int64_t n = 30 + 7 * kl + ku;
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_to_do()) continue;
                const sparse s = make_bands(t, n, kl, ku, cyclic, kl % 2, 20);
                const trine_tridiagonal_options options = {.refine = ku % 2,
                                                           .memory = kl == 5 ? TRINE_MEMORY_SMALL : TRINE_MEMORY_AUTO};
                expect(check_all_shapes(ctx, s, test_on_gpu() && ku % 2, options), TRINE_BANDS_GENERAL, kl, ku, cyclic);
            }
        }
    OK(trine_context_destroy(&ctx));
}

static void block_tridiagonal_matrices(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 23, 90};
    for (int block = 1; block <= 8; block++)
        for (int k = 0; k < 7; k++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_to_do()) continue;
                const trine_dtype t = all_dtypes[(block + k + cyclic) % 4];
                const int64_t rows = lengths[k];
                const int side = rows > 1;
                const trine_tridiagonal_options options = {.bands = k % 2 ? TRINE_BANDS_BLOCKS : TRINE_BANDS_AUTO,
                                                           .block = block,
                                                           .refine = k % 3 == 1,
                                                           .pivot = k == 5 ? TRINE_PIVOT_PARTIAL : TRINE_PIVOT_DEFAULT,
                                                           .memory = k == 6 ? TRINE_MEMORY_SMALL : TRINE_MEMORY_AUTO};
                const sparse s = make_blocks(t, rows * block, block, side, side, cyclic, (block + k / 2) % 2, 70);
                const trine_tridiagonal_info info = check_all_shapes(ctx, s, test_on_gpu() && k % 2, options);
                expect(info, TRINE_BANDS_BLOCKS, side, side, cyclic && rows > 2);
                assert_int_equal(info.block, block);
                assert_non_null(strstr(info.method, info.cyclic ? "cyclic block tridiagonal" : "block tridiagonal"));
            }
    const trine_tridiagonal_options two = {.block = 2};
    expect(check_all_shapes(ctx, make_blocks(TRINE_D, 50, 2, 1, 0, false, false, 3), false, two), TRINE_BANDS_BLOCKS, 1,
           0, false);
    expect(check_all_shapes(ctx, make_blocks(TRINE_D, 50, 2, 0, 0, false, true, 3), false, two), TRINE_BANDS_BLOCKS, 0,
           0, false);
    expect(check_all_shapes(ctx, make_bands(TRINE_D, 0, 0, 0, false, false, 3), false, two), TRINE_BANDS_BLOCKS, 0, 0,
           false);
    OK(trine_context_destroy(&ctx));
}

/** The smallest size that divides n and that the pattern fits; bands stay bands where nobody asks for blocks. */
static void sizes_of_blocks_are_found(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    static const int found[][3] = {{1, 24, 1}, {2, 24, 2}, {3, 24, 3}, {4, 24, 4}, {5, 25, 5},
                                   {6, 48, 6}, {7, 42, 7}, {8, 40, 8}, {2, 10, 2}, {3, 9, 3}};
    for (size_t k = 0; k < sizeof found / sizeof *found; k++)
        for (int cyclic = 0; cyclic < 2; cyclic++) {
            const sparse s = make_blocks(all_dtypes[k % 4], found[k][1], found[k][0], 1, 1, cyclic, k % 2, 80);
            const trine_tridiagonal_info info =
                check_all_shapes(ctx, s, false, (trine_tridiagonal_options){.bands = TRINE_BANDS_BLOCKS});
            expect(info, TRINE_BANDS_BLOCKS, 1, 1, cyclic);
            assert_int_equal(info.block, found[k][2]);
        }
    const trine_tridiagonal_info bands = check_all_shapes(ctx, make_blocks(TRINE_D, 40, 4, 1, 1, false, false, 80),
                                                          false, (trine_tridiagonal_options){0});
    expect(bands, TRINE_BANDS_GENERAL, 7, 7, false);
    assert_int_equal(bands.block, 0);
    const trine_tridiagonal_info penta = check_all_shapes(ctx, make_bands(TRINE_D, 42, 2, 2, false, false, 80), false,
                                                          (trine_tridiagonal_options){.bands = TRINE_BANDS_BLOCKS});
    assert_int_equal(penta.block, 2);
    const trine_tridiagonal_info odd = check_all_shapes(ctx, make_bands(TRINE_D, 45, 2, 2, false, false, 80), false,
                                                        (trine_tridiagonal_options){.bands = TRINE_BANDS_BLOCKS});
    assert_int_equal(odd.block, 3);
    OK(trine_context_destroy(&ctx));
}

/** Dense matrices have bands too, around the corners up to 17 rows. */
static void small_matrices(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    for (int t = 0; t < 4; t++)
        for (int64_t n = 0; n <= 17; n++) {
            const int k = n ? (int)n - 1 : 0;
            const trine_tridiagonal_info info = check_all_shapes(
                ctx, make_bands(all_dtypes[t], n, k, k, false, n % 2, 5), false, (trine_tridiagonal_options){0});
            if (n <= 2) expect(info, TRINE_BANDS_TRIDIAGONAL, k, k, false);
            else if (n == 3) expect(info, TRINE_BANDS_TRIDIAGONAL, 1, 1, true);
            else if (n <= 9) expect(info, TRINE_BANDS_GENERAL, k, k, false);
            else expect(info, TRINE_BANDS_GENERAL, (int)(n / 2), (int)(n / 2), true);
        }
    OK(trine_context_destroy(&ctx));
}

static void new_values_need_no_analysis(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    for (int t = 0; t < 4; t++)
        for (int kind = 0; kind < 4; kind++) {
            const int block = kind < 2 ? 0 : kind == 2 ? 3 : 4;
            sparse s = block ? make_blocks(all_dtypes[t], 204, block, 1, 1, kind == 3, t % 2, 30)
                             : make_bands(all_dtypes[t], 200, 1 + 2 * kind, 1, false, t % 2, 30);
            view v = make_view(ctx, &s, false);
            trine_tridiagonal plan = make_plan(ctx, v.A, &(trine_tridiagonal_options){.block = block});
            const shape c = {.op = TRINE_T, .nrhs = 1, .null_alpha = true};
            for (int round = 0; round < 3; round++) {
                const size_t bytes = (size_t)s.nnz * trine_dtype_size(s.t);
                void *values = malloc(bytes);
                for (int64_t e = 0; e < s.nnz; e++)
                    put(s.t, s.values, e, get(s.t, s.values, e) * (round == 1 ? -0.75L : 1.25L));
                memcpy(values, s.values, bytes);
                if (round == 2 && test_on_gpu()) {
                    void *device = test_to_device(ctx, values, bytes);
                    OK(trine_tridiagonal_numeric(plan, TRINE_DEVICE, device, NULL));
                    OK(trine_context_synchronize(ctx));
                    test_release(ctx, device);
                } else {
                    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, values, NULL));
                }
                free(values);
                solve_and_check(ctx, plan, NULL, &s, &c, NULL);
            }
            trine_tridiagonal_destroy(&plan);
            free_view(ctx, &v);
            free_bands(&s);
        }
    OK(trine_context_destroy(&ctx));
}

static void singular_values_are_found(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    for (int kind = 0; kind < 5; kind++) {
        const int block = kind < 3 ? 0 : 4;
        sparse s = block ? make_blocks(TRINE_D, 100, block, 1, 1, kind == 4, false, 40)
                         : make_bands(TRINE_D, 100, kind == 2 ? 3 : 1, 1, kind == 1, false, 40);
        view v = make_view(ctx, &s, false);
        trine_tridiagonal plan = make_plan(ctx, v.A, &(trine_tridiagonal_options){.block = block});
        double *values = malloc((size_t)s.nnz * sizeof *values);
        memcpy(values, s.values, (size_t)s.nnz * sizeof *values);
        for (int64_t row = 0; row < s.n; row++)
            for (int64_t e = s.offsets[row]; e < s.offsets[row + 1]; e++)
                if (s.indices[e] == 37) values[e] = 0;
        OK(trine_tridiagonal_numeric(plan, TRINE_HOST, values, NULL));
        FAILS(TRINE_ERR_SINGULAR, "row", trine_tridiagonal_check(plan, NULL));
        OK(trine_tridiagonal_numeric(plan, TRINE_HOST, s.values, NULL));
        OK(trine_tridiagonal_check(plan, NULL));
        free(values);
        trine_tridiagonal_destroy(&plan);
        free_view(ctx, &v);
        free_bands(&s);
    }
    OK(trine_context_destroy(&ctx));
}

/** Twice the shift of all rows by so many; the rest of the pattern is zeros. */
static void make_shift(const sparse *s, int by)
{
    for (int64_t row = 0; row < s->n; row++)
        for (int64_t e = s->offsets[row]; e < s->offsets[row + 1]; e++)
            ((double *)s->values)[e] = s->indices[e] == (row + by) % s->n ? 2 : 0;
}

/** A shift of all rows by one is regular by its corner alone. */
static void corners_are_part_of_the_matrix(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    sparse s = make_bands(TRINE_D, 60, 1, 1, true, false, 45);
    make_shift(&s, 1);
    view v = make_view(ctx, &s, false);
    trine_tridiagonal plan = make_plan(ctx, v.A, NULL);
    solve_and_check(ctx, plan, NULL, &s, &(shape){.op = TRINE_N, .nrhs = 1, .null_alpha = true}, NULL);
    for (int64_t e = s.offsets[s.n - 1]; e < s.nnz; e++) ((double *)s.values)[e] = 0;
    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, s.values, NULL));
    FAILS(TRINE_ERR_SINGULAR, "row", trine_tridiagonal_check(plan, NULL));
    trine_tridiagonal_destroy(&plan);
    free_view(ctx, &v);
    free_bands(&s);
    OK(trine_context_destroy(&ctx));
}

/** A shift of all rows by one block is regular by its corner block alone, and no row of it has its own diagonal. */
static void corner_blocks_are_part_of_the_matrix(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    sparse s = make_blocks(TRINE_D, 60, 3, 1, 1, true, false, 45);
    make_shift(&s, 3);
    for (int64_t row = 0; row < s.n; row++) { /* the corner blocks are full, others are not */
        int64_t e = s.offsets[row];
        while (e < s.offsets[row + 1] && s.indices[e] != (row + 3) % s.n) e++;
        assert_true(e < s.offsets[row + 1]);
    }
    view v = make_view(ctx, &s, false);
    trine_tridiagonal plan = make_plan(ctx, v.A, &(trine_tridiagonal_options){.block = 3});
    for (int op = TRINE_N; op <= TRINE_H; op *= 2)
        solve_and_check(ctx, plan, NULL, &s, &(shape){.op = (trine_transpose)op, .nrhs = 1, .null_alpha = true}, NULL);
    for (int64_t e = s.offsets[s.n - 3]; e < s.nnz; e++) ((double *)s.values)[e] = 0;
    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, s.values, NULL));
    FAILS(TRINE_ERR_SINGULAR, "row", trine_tridiagonal_check(plan, NULL));
    trine_tridiagonal_destroy(&plan);
    free_view(ctx, &v);
    free_bands(&s);
    OK(trine_context_destroy(&ctx));
}

static void refuse(trine_context ctx, sparse s, trine_status status, const char *sentence,
                   trine_tridiagonal_options options)
{
    trine_tridiagonal plan = (trine_tridiagonal)&ctx;
    view v = make_view(ctx, &s, false);
    FAILS(status, sentence, trine_tridiagonal_analyse(ctx, &plan, v.A, &options));
    assert_null(plan);
    free_view(ctx, &v);
    free_bands(&s);
}

static void what_is_no_band_matrix_is_refused(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    const trine_tridiagonal_options any = {0}, tridiagonal = {.bands = TRINE_BANDS_TRIDIAGONAL};
    refuse(ctx, make_bands(TRINE_D, 40, 9, 2, false, false, 1), TRINE_ERR_STRUCTURE,
           "9 bands below and 2 above the diagonal; the banded solve takes 8", any);
    refuse(ctx, make_bands(TRINE_D, 40, 2, 9, true, false, 1), TRINE_ERR_STRUCTURE, "the banded solve takes 8", any);
    refuse(ctx, make_bands(TRINE_D, 18, 17, 17, false, false, 1), TRINE_ERR_STRUCTURE, "17 bands below and 17 above",
           any);
    refuse(ctx, make_bands(TRINE_D, 40, 2, 1, false, true, 1), TRINE_ERR_STRUCTURE,
           "not tridiagonal: its bandwidth is 2 below and 1 above", tridiagonal);
    sparse s = make_bands(TRINE_D, 40, 1, 1, false, false, 1);
    s.indices[s.offsets[7]] = s.indices[s.offsets[7] + 1];
    refuse(ctx, s, TRINE_ERR_STRUCTURE, "row 7 has two entries in column", any);
    s = make_bands(TRINE_D, 40, 1, 1, false, true, 1);
    s.indices[s.offsets[7]] = 40;
    refuse(ctx, s, TRINE_ERR_STRUCTURE, "40", any);
    const sparse good = make_bands(TRINE_D, 40, 1, 1, false, false, 1);
    for (int k = 0; k < 6; k++) {
        static const trine_tridiagonal_options wrong[] = {
            {.bands = (trine_bands)4}, {.max_nrhs = -1}, {.pivot = (trine_pivot)17},
            {.epsilon = -1},           {.refine = 2},    {.partition = 7}};
        static const char *const sentences[] = {"bands 4", "max_nrhs is -1", "17", "epsilon", "refine", "partition"};
        refuse(ctx, make_bands(TRINE_D, 40, 1, 1, false, false, 1), TRINE_ERR_ARGUMENT, sentences[k], wrong[k]);
    }
    trine_matrix wide_matrix, pattern;
    trine_tridiagonal plan;
    OK(trine_matrix_csr(ctx, &wide_matrix, TRINE_D, 40, 41, good.nnz, TRINE_HOST, 64, good.offsets, 32, good.indices,
                        good.values));
    FAILS(TRINE_ERR_STRUCTURE, "40 x 41, not square", trine_tridiagonal_analyse(ctx, &plan, wide_matrix, NULL));
    OK(trine_matrix_csr(ctx, &pattern, TRINE_D, 40, 40, good.nnz, TRINE_HOST, 64, good.offsets, 32, good.indices,
                        NULL));
    OK(trine_tridiagonal_analyse(ctx, &plan, pattern, NULL));
    FAILS(TRINE_ERR_STATE, "a pattern without values", trine_tridiagonal_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, good.values, NULL));
    solve_and_check(ctx, plan, NULL, &good, &(shape){.op = TRINE_N, .nrhs = 1, .null_alpha = true}, NULL);
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_tridiagonal_get_info(plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_tridiagonal_numeric(NULL, TRINE_HOST, good.values, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_tridiagonal_check(NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_tridiagonal_analyse(ctx, &(trine_tridiagonal){NULL}, NULL, NULL));
    OK(trine_tridiagonal_destroy(&plan));
    OK(trine_tridiagonal_destroy(NULL));
    OK(trine_matrix_destroy(&wide_matrix));
    OK(trine_matrix_destroy(&pattern));
    free_bands((sparse *)&good);
    OK(trine_context_destroy(&ctx));
}

/** Numbers of a sentence: the row and the block columns. */
static void what_is_not_block_tridiagonal_is_refused(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    const trine_tridiagonal_options any = {.bands = TRINE_BANDS_BLOCKS}, four = {.block = 4};
    refuse(ctx, make_bands(TRINE_D, 42, 1, 1, false, false, 1), TRINE_ERR_STRUCTURE,
           "blocks of 4 rows do not divide the n = 42 rows", four);
    refuse(ctx, make_blocks(TRINE_D, 40, 4, 1, 2, false, false, 1), TRINE_ERR_STRUCTURE,
           "not block tridiagonal with blocks of 4 rows: row 0 has an entry in block column 2, not in 9, 0 or 1", four);
    refuse(ctx, make_blocks(TRINE_D, 40, 4, 2, 1, false, false, 1), TRINE_ERR_STRUCTURE,
           "row 8 has an entry in block column 0, not in 1, 2 or 3", four);
    refuse(ctx, make_blocks(TRINE_D, 40, 4, 2, 1, false, true, 1), TRINE_ERR_STRUCTURE,
           "has an entry in block column 0, not in 1, 2 or 3", four);
    refuse(ctx, make_bands(TRINE_D, 40, 1, 12, false, false, 1), TRINE_ERR_STRUCTURE,
           "blocks of 8 rows, nor with smaller ones: row", any);
    refuse(ctx, make_bands(TRINE_D, 41, 2, 2, false, false, 1), TRINE_ERR_STRUCTURE,
           "blocks of 1 rows, nor with smaller ones: row 0 has an entry in block column 2", any);
    sparse s = make_blocks(TRINE_D, 40, 4, 1, 1, false, false, 1);
    s.indices[s.offsets[7]] = s.indices[s.offsets[7] + 1];
    refuse(ctx, s, TRINE_ERR_STRUCTURE, "row 7 has two entries in column", four);
    for (int k = 0; k < 6; k++) {
        static const trine_tridiagonal_options wrong[] = {{.block = -1},
                                                          {.block = 9},
                                                          {.block = 2, .bands = TRINE_BANDS_GENERAL},
                                                          {.block = 1, .bands = TRINE_BANDS_TRIDIAGONAL},
                                                          {.block = 4, .refine = 2},
                                                          {.block = 4, .epsilon = -1}};
        static const char *const sentences[] = {
            "block is -1", "block is 9", "block is 2, which belongs to bands blocks", "block is 1, which belongs",
            "refine",      "epsilon"};
        refuse(ctx, make_bands(TRINE_D, 40, 1, 1, false, false, 1), TRINE_ERR_ARGUMENT, sentences[k], wrong[k]);
    }
    OK(trine_context_destroy(&ctx));
}

/* ----------------------------------------------------------------- threads */

typedef struct {
    trine_context ctx;
    trine_tridiagonal plan;
    const sparse *s;
    trine_work work;
} user;

static void *solve_often(void *argument)
{
    const user *u = argument;
    for (int round = 0; round < 10; round++)
        for (int layout = 0; layout < 2; layout++)
            solve_and_check(u->ctx, u->plan, NULL, u->s,
                            &(shape){.op = (trine_transpose)(1 << (round % 3)),
                                     .nrhs = 2,
                                     .layout_b = (trine_layout)layout,
                                     .layout_x = (trine_layout)layout,
                                     .null_alpha = true},
                            &(trine_exec){.work = u->work});
    return NULL;
}

static void threads_with_works_of_their_own(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    enum { THREADS = 4 };
    trine_context ctx = test_context();
    for (int kind = 0; kind < 3; kind++) {
        const int block = kind < 2 ? 0 : 5;
        sparse s = block ? make_blocks(TRINE_Z, 150, block, 1, 1, true, false, 50)
                         : make_bands(TRINE_Z, 150, 1 + 3 * kind, 1, kind == 0, false, 50);
        view v = make_view(ctx, &s, false);
        trine_tridiagonal plan = make_plan(ctx, v.A, &(trine_tridiagonal_options){.block = block});
        pthread_t threads[THREADS];
        user users[THREADS];
        for (int k = 0; k < THREADS; k++) {
            users[k] = (user){ctx, plan, &s, NULL};
            OK(trine_tridiagonal_work(plan, 2, NULL, NULL, &users[k].work));
        }
        for (int k = 0; k < THREADS; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, solve_often, &users[k]), 0);
        for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
        trine_tridiagonal_destroy(&plan);
        for (int k = 0; k < THREADS; k++) OK(trine_work_destroy(&users[k].work));
        free_view(ctx, &v);
        free_bands(&s);
    }
    OK(trine_context_destroy(&ctx));
}

static void as_an_operator(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    for (int kind = 0; kind < 8; kind++) {
        const int t = kind % 4, block = kind < 4 ? 0 : 3;
        sparse s = block ? make_blocks(all_dtypes[t], 90, block, 1, 1, t % 2, false, 60)
                         : make_bands(all_dtypes[t], 90, 2, 1, t % 2, false, 60);
        view v = make_view(ctx, &s, false);
        trine_tridiagonal plan = make_plan(ctx, v.A, &(trine_tridiagonal_options){.block = block});
        trine_op op;
        trine_op_info info;
        OK(trine_tridiagonal_as_op(plan, &op));
        OK(trine_op_get_info(op, &info));
        assert_true(info.dtype == s.t && info.rows == s.n && info.cols == s.n &&
                    info.ops == (TRINE_N | TRINE_T | TRINE_H));
        OK(trine_tridiagonal_destroy(&plan)); /* the operator keeps it */
        for (int trans = TRINE_N; trans <= TRINE_H; trans *= 2)
            for (int layout = 0; layout < 2; layout++)
                solve_and_check(ctx, NULL, op, &s,
                                &(shape){.op = (trine_transpose)trans,
                                         .nrhs = 3,
                                         .layout_b = (trine_layout)layout,
                                         .alpha = 2 - _Complex_I},
                                NULL);
        OK(trine_op_destroy(&op));
        free_view(ctx, &v);
        free_bands(&s);
    }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tridiagonal_matrices),
        cmocka_unit_test(banded_matrices),
        cmocka_unit_test(block_tridiagonal_matrices),
        cmocka_unit_test(sizes_of_blocks_are_found),
        cmocka_unit_test(small_matrices),
        cmocka_unit_test(new_values_need_no_analysis),
        cmocka_unit_test(singular_values_are_found),
        cmocka_unit_test(corners_are_part_of_the_matrix),
        cmocka_unit_test(corner_blocks_are_part_of_the_matrix),
        cmocka_unit_test(what_is_no_band_matrix_is_refused),
        cmocka_unit_test(what_is_not_block_tridiagonal_is_refused),
        cmocka_unit_test(threads_with_works_of_their_own),
        cmocka_unit_test(as_an_operator),
    };
    return TEST_MAIN(tests);
}
