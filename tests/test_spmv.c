/* Products with vectors against the reference in long double: precisions, ops, formats, layouts, rows, epilogues. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmv_support.h"

static const trine_transpose all_ops[] = {TRINE_N, TRINE_T, TRINE_H};
static const int64_t counts[] = {1, 3, 8, 33};
static const unsigned every_op = TRINE_N | TRINE_T | TRINE_H;

/** The alpha and beta of product number k. */
static void pick_scalars(int k, trine_dtype t, question *q)
{
    static wide scalars[4];
    scalars[0] = 0;
    scalars[1] = 1;
    scalars[2] = -0.75L;
    scalars[3] = is_complex(t) ? __builtin_complex(0.5L, 2.0L) : 1.5L;
    static const struct { int alpha, beta; } pairs[] = {{-1, -1}, {3, 2}, {1, 1}, {0, 3}, {2, 0}, {1, 3}, {0, 0}};
    const int p = k % (int)(sizeof pairs / sizeof *pairs);
    q->alpha = pairs[p].alpha < 0 ? NULL : &scalars[pairs[p].alpha];
    q->beta = pairs[p].beta < 0 ? NULL : &scalars[pairs[p].beta];
}

/** All numbers of vectors with one plan and op, in layouts that take turns; all of them with every seventh plan
 *  and op, or where TRINE_TEST_FULL is set. */
static void check_plan(trine_context ctx, trine_spmv plan, trine_dtype t, const rows *op_A, const row_sum *sums,
                       trine_transpose op, int *k, const char *what)
{
    static int turn = 0;
    const int most = turn++ % 7 == 0 || getenv("TRINE_TEST_FULL") ? 4 : 3;
    for (int c = 0; c < most; c++) {
        const int layout = (*k / 4 + c) % 4;
        question q = {.op = op,
                      .nrhs = counts[c],
                      .x_layout = layout & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                      .y_layout = layout & 2 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                      .row_end = -1};
        pick_scalars((*k)++, t, &q);
        char all[200];
        snprintf(all, sizeof all, "%s, op %d, %lld vectors, layouts %d", what, (int)op, (long long)q.nrhs, layout);
        check_product(ctx, plan, t, op_A, sums, &q, all);
    }
}

/** One pattern in one precision, in the forms that a caller may have. */
static void check_pattern(trine_context ctx, int which, trine_dtype t, int *k)
{
    rows A = make_rows(which, t), op_A[3];
    row_sum *sums[3];
    for (int o = 0; o < 3; o++) {
        op_A[o] = transposed(&A, all_ops[o]);
        sums[o] = reference_sums(&op_A[o], t, MOST_VECTORS);
    }
    const int stored_forms = t == TRINE_C   ? 1
                             : t == TRINE_Z ? 2
                                            : 3; /* no complex half; single of single is the same */
    for (int variant = 0; variant < 4; variant++)
        for (int s = 0; s < stored_forms; s++) {
            char what[100];
            snprintf(what, sizeof what, "%s, dtype %d, variant %d, stored %d", pattern_name(which), (int)t, variant, s);
            const trine_spmv_options o = {
                .ops = every_op, .max_nrhs = MOST_VECTORS, .values = (trine_spmv_values)s, .check = variant % 2};
            form f = make_form(ctx, &A, t, variant & 1 ? TRINE_CSC : TRINE_CSR, variant & 2 ? 64 : 32, o.values);
            trine_spmv plan = make_plan(ctx, &f, &o);
            for (int op = 0; op < 3; op++) check_plan(ctx, plan, t, &op_A[op], sums[op], all_ops[op], k, what);
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
        }
    for (int o = 0; o < 3; o++) {
        free_rows(&op_A[o]);
        free(sums[o]);
    }
    free_rows(&A);
}

static void products_are_right_to_the_last_digits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int k = 0;
    for (int which = 0; pattern_name(which); which++)
        for (int t = 0; t < 4; t++)
            if (test_is_to_do()) check_pattern(ctx, which, all_dtypes[t], &k);
    OK(trine_context_destroy(&ctx));
}

/* --------------------------------------------------------------------- rows */

static void ranges_of_rows_leave_the_others_alone(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int which = 0; pattern_name(which); which++) {
        rows A = make_rows(which, TRINE_D);
        row_sum *sums = reference_sums(&A, TRINE_D, MOST_VECTORS);
        for (int variant = 0; variant < 3; variant++) { /* the last one: by an index */
            form f =
                make_form(ctx, &A, TRINE_D, variant == 2 ? TRINE_CSC : TRINE_CSR, variant ? 32 : 64, TRINE_VALUES_SAME);
            trine_spmv plan = make_plan(ctx, &f, &(trine_spmv_options){.max_nrhs = 3});
            const int64_t n = A.n_rows, middle = n / 3;
            const int64_t ranges[][2] = {{0, n},      {0, 0},      {n, n},     {middle, middle},
                                         {0, middle}, {middle, n}, {40, 41},   {3, 5},
                                         {53, 54},    {54, 103},   {n - 1, n}, {middle, middle + 1}};
            for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
                if (ranges[r][0] < 0 || ranges[r][1] > n) continue;
                question q = {.op = TRINE_N, .nrhs = r % 2 ? 3 : 1, .row_begin = ranges[r][0], .row_end = ranges[r][1]};
                pick_scalars((int)r, TRINE_D, &q);
                char what[100];
                snprintf(what, sizeof what, "%s, variant %d, rows %lld to %lld", pattern_name(which), variant,
                         (long long)q.row_begin, (long long)q.row_end);
                check_product(ctx, plan, TRINE_D, &A, sums, &q, what);
            }
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
        }
        free(sums);
        free_rows(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** The bits of y := A x, or of y := alpha A x + beta y with complex factors, by products of ranges of `step` rows, into
 *  every `gap`th element. */
static char *bits_by_ranges(trine_context ctx, trine_spmv plan, trine_dtype t, const rows *A, bool has_factors,
                            int64_t gap, int64_t step)
{
    const size_t size = trine_dtype_size(t), bytes = (size_t)(A->n_rows * gap) * size;
    char *x = malloc((size_t)A->n_cols * size), *y = calloc(1, bytes), alpha[16], beta[16];
    for (int64_t i = 0; i < A->n_cols; i++) put(t, x, i, x_element(t, i, 0));
    for (int64_t i = 0; i < A->n_rows * gap; i++) put(t, y, i, y_element(t, i, 0));
    put(t, alpha, 0, x_element(t, 1, 1));
    put(t, beta, 0, x_element(t, 2, 1));
    const trine_dense X = {x, A->n_cols, 1, 0, TRINE_COLMAJOR}, Y = {y, A->n_rows, 1, gap, TRINE_ROWMAJOR};
    for (int64_t i = 0; i < A->n_rows; i += step) {
        const int64_t end = i + step < A->n_rows ? i + step : A->n_rows;
        OK(trine_spmv_apply_rows(plan, i, end, has_factors ? alpha : NULL, &X, has_factors ? beta : NULL, &Y, NULL));
    }
    OK(trine_context_synchronize(ctx));
    free(x);
    return y;
}

/** On a CPU a row's bits do not depend on the range that it is in. */
static void ranges_of_rows_give_the_same_bits(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    trine_context ctx = test_context();
    for (int which = 0; pattern_name(which); which++)
        for (int t = 0; t < 4; t++) {
            rows A = make_rows(which, all_dtypes[t]);
            form f = make_form(ctx, &A, all_dtypes[t], TRINE_CSR, t % 2 ? 64 : 32, TRINE_VALUES_SAME);
            trine_spmv plan = make_plan(ctx, &f, NULL);
            const int64_t steps[] = {1, 3, 7, 8, 11, 50};
            for (int how = 0; A.nnz && how < 4; how++) {
                const int64_t gap = 1 + how / 2;
                char *all = bits_by_ranges(ctx, plan, all_dtypes[t], &A, how % 2, gap, A.n_rows);
                for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
                    char *parts = bits_by_ranges(ctx, plan, all_dtypes[t], &A, how % 2, gap, steps[k]);
                    assert_memory_equal(parts, all, (size_t)(A.n_rows * gap) * trine_dtype_size(all_dtypes[t]));
                    free(parts);
                }
                free(all);
            }
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
            free_rows(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** x_i := c_i - sum over j != i of m_ij x_j on a grid of two colours, rows sorted by colour, c as one more column
 *  whose x is 1: a sweep by colours is the sweep row after row (thesis, 3.5.7). */
static void a_sweep_by_colours_is_the_serial_one(void **state)
{
    (void)state;
    enum { SIDE = 90, N = SIDE * SIDE, HALF = N / 2 };
    trine_context ctx = test_context();
    rows M = {.n_rows = N + 1, .n_cols = N + 1};
    M.offsets = calloc(N + 2, sizeof *M.offsets);
    M.columns = malloc(5 * N * sizeof *M.columns);
    M.values = malloc(5 * N * sizeof *M.values);
    int *place = malloc(N * sizeof *place), *point = malloc(N * sizeof *point), red = 0, black = HALF;
    for (int p = 0; p < N; p++) point[place[p] = (p / SIDE + p % SIDE) % 2 ? black++ : red++] = p;
    for (int i = 0; i < N; i++) {
        const int p = point[i], row = p / SIDE, column = p % SIDE;
        const bool there[] = {row > 0, row < SIDE - 1, column > 0, column < SIDE - 1};
        const int neighbours[] = {p - SIDE, p + SIDE, p - 1, p + 1};
        for (int k = 0; k < 4; k++)
            if (there[k]) {
                M.columns[M.nnz] = place[neighbours[k]];
                M.values[M.nnz++] = (k + 1) / 16.0L;
            }
        M.columns[M.nnz] = N; /* c */
        M.values[M.nnz++] = (p % 13) / 16.0L;
        M.offsets[i + 1] = M.nnz;
    }
    M.offsets[N + 1] = M.nnz;
    double *x = malloc((N + 1) * sizeof *x), *by_rows = malloc((N + 1) * sizeof *x),
           *serial = malloc((N + 1) * sizeof *x);
    for (int i = 0; i <= N; i++) x[i] = serial[i] = i == N ? 1 : test_uniform(3, (uint64_t)i);
    form f = make_form(ctx, &M, TRINE_D, TRINE_CSR, 32, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, NULL);
    const trine_dense X = {test_to_device(ctx, x, (N + 1) * sizeof *x), N + 1, 1, 0, TRINE_COLMAJOR},
                      Z = {test_to_device(ctx, x, (N + 1) * sizeof *x), N + 1, 1, 0, TRINE_COLMAJOR};
    for (int sweep = 0; sweep < 3; sweep++) {
        OK(trine_spmv_apply_rows(plan, 0, HALF, NULL, &X, NULL, &X, NULL));
        OK(trine_spmv_apply_rows(plan, HALF, N, NULL, &X, NULL, &X, NULL));
        for (int i = 0; i < N; i++) {
            OK(trine_spmv_apply_rows(plan, i, i + 1, NULL, &Z, NULL, &Z, NULL));
            double sum = 0;
            for (int64_t k = M.offsets[i]; k < M.offsets[i + 1]; k++) sum += (double)M.values[k] * serial[M.columns[k]];
            serial[i] = sum;
        }
    }
    test_from_device(ctx, x, X.data, (N + 1) * sizeof *x);
    test_from_device(ctx, by_rows, Z.data, (N + 1) * sizeof *x);
    for (int i = 0; i <= N; i++) assert_true(fabs(x[i] - serial[i]) <= 30 * 0x1p-52 * fabs(serial[i]));
    for (int i = 0; i <= N; i++) assert_true(fabs(x[i] - by_rows[i]) <= (test_on_gpu() ? 30 * 0x1p-52 * x[i] : 0));
    test_release(ctx, X.data);
    test_release(ctx, Z.data);
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&M);
    free(place), free(point), free(x), free(by_rows), free(serial);
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- epilogues */

static void check_epilogue(trine_context ctx, int which, trine_dtype t, int what)
{
    const size_t size = trine_dtype_size(t);
    rows A = make_rows(which, t);
    row_sum *sums = reference_sums(&A, t, 1);
    form f = make_form(ctx, &A, t, TRINE_CSR, 32, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, NULL);
    const int64_t n = A.n_rows;
    const bool with_dot = what & 1, with_norm = what & 2, with_axpy = what & 4, of_y = what & 8;
    const size_t bytes = (size_t)n * size, some = bytes ? bytes : size; /* no array is NULL */
    char *x = malloc((size_t)A.n_cols * size + 1), *y = calloc(1, some), *u = calloc(1, some), *z = calloc(1, some),
         alpha[16], beta[16], gamma[16], results[32];
    for (int64_t i = 0; i < A.n_cols; i++) put(t, x, i, x_element(t, i, 0));
    for (int64_t i = 0; i < n; i++) {
        put(t, y, i, y_element(t, i, 0));
        put(t, u, i, y_element(t, i, 1));
        put(t, z, i, y_element(t, i, 2));
    }
    put(t, alpha, 0, what >= 16 ? 0 : 0.5L);
    put(t, beta, 0, -2);
    put(t, gamma, 0, is_complex(t) ? __builtin_complex(0.25L, 1.0L) : 1.25L);
    memset(results, 0x55, sizeof results);
    void *X = test_to_device(ctx, x, (size_t)A.n_cols * size), *Y = test_to_device(ctx, y, some),
         *U = test_to_device(ctx, u, some), *Z = test_to_device(ctx, z, some),
         *R = test_to_device(ctx, results, 2 * size);
    const trine_dense X1 = {X, A.n_cols, 1, 0, TRINE_COLMAJOR}, Y1 = {Y, n, 1, 0, TRINE_COLMAJOR};
    const trine_spmv_epilogue e = {.dot = !with_dot ? NULL
                                          : of_y    ? Y
                                                    : U,
                                   .norm = with_norm,
                                   .axpy = with_axpy ? Z : NULL,
                                   .gamma = of_y ? NULL : gamma,
                                   .results = with_dot || with_norm ? R : NULL};
    OK(trine_spmv_apply_fused(plan, TRINE_N, alpha, &X1, beta, &Y1, &e, NULL));
    OK(trine_context_synchronize(ctx));
    char *old = malloc(some), *z_old = malloc(some), untouched[32];
    memcpy(old, y, some);
    memcpy(z_old, z, some);
    memcpy(untouched, results, sizeof untouched);
    test_from_device(ctx, y, Y, some);
    test_from_device(ctx, z, Z, some);
    test_from_device(ctx, results, R, 2 * size);
    wide dot = 0, norm = 0;
    long double dot_m = 0, norm_m = 0;
    const long double eps = eps_of(t);
    for (int64_t i = 0; i < n; i++) {
        const wide exact = get(t, alpha, 0) * sums[i].z - 2 * get(t, old, i), mine = get(t, y, i);
        assert_true(magnitude(mine - exact) <=
                    2 * (long double)(sums[i].length + 3) * eps * (sums[i].m + 2 * magnitude(get(t, old, i))));
        const wide v = of_y ? mine : get(t, u, i);
        dot += conjl(v) * mine;
        dot_m += magnitude(v) * magnitude(mine);
        norm += conjl(mine) * mine;
        norm_m += magnitude(mine) * magnitude(mine);
        const wide factor = of_y ? 1 : get(t, gamma, 0), sum = get(t, z_old, i) + (with_axpy ? factor : 0) * mine;
        assert_true(magnitude(get(t, z, i) - sum) <= 4 * eps * (magnitude(get(t, z_old, i)) + 2 * magnitude(mine)));
    }
    if (with_dot) assert_true(magnitude(get(t, results, 0) - dot) <= (long double)(n + 2) * eps * dot_m);
    else assert_memory_equal(results, untouched, size);
    if (with_norm) assert_true(magnitude(get(t, results, 1) - norm) <= (long double)(n + 2) * eps * norm_m);
    else assert_memory_equal(results + size, untouched + size, size);
    void *arrays[] = {X, Y, U, Z, R};
    for (int k = 0; k < 5; k++) test_release(ctx, arrays[k]);
    char *copies[] = {x, y, u, z, old, z_old};
    for (int k = 0; k < 6; k++) free(copies[k]);
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&A);
    free(sums);
}

static void epilogues_see_the_new_y(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int which = 0; pattern_name(which); which++)
        for (int t = 0; t < 4; t++)
            for (int what = 0; what < 32; what++)
                if (test_is_to_do()) check_epilogue(ctx, which, all_dtypes[t], what);
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------- determinism */

/** The bits of a product with an epilogue, several vectors and rows by an index, all in one block of memory. */
static char *bits_of(trine_context ctx, const rows *A, const trine_spmv_options *options, size_t *bytes)
{
    form f = make_form(ctx, A, TRINE_S, TRINE_CSR, 64, TRINE_VALUES_SAME);
    trine_spmv_options o = *options;
    o.ops = every_op;
    o.max_nrhs = 5;
    trine_spmv plan = make_plan(ctx, &f, &o);
    const int64_t most = A->n_rows > A->n_cols ? A->n_rows : A->n_cols;
    const size_t block = (size_t)most * 5 * sizeof(float);
    float *x = malloc(block);
    for (int64_t i = 0; i < 5 * most; i++) x[i] = (float)test_uniform(1, (uint64_t)i);
    *bytes = 3 * block + 2 * sizeof(float);
    char *all = calloc(1, *bytes);
    void *X = test_to_device(ctx, x, block), *Y[3] = {NULL}, *R = test_to_device(ctx, all, 2 * sizeof(float));
    for (int k = 0; k < 3; k++) {
        const bool is_T = k == 1;
        Y[k] = test_to_device(ctx, all, block);
        const int64_t in = is_T ? A->n_rows : A->n_cols, out = is_T ? A->n_cols : A->n_rows, cols = k == 2 ? 1 : 5;
        const trine_dense from = {X, in, cols, 0, TRINE_COLMAJOR}, to = {Y[k], out, cols, 0, TRINE_ROWMAJOR};
        const trine_spmv_epilogue e = {.dot = Y[2], .norm = 1, .results = R};
        if (k < 2) OK(trine_spmv_apply(plan, is_T ? TRINE_T : TRINE_N, NULL, &from, NULL, &to, NULL));
        else OK(trine_spmv_apply_fused(plan, TRINE_N, NULL, &from, NULL, &to, &e, NULL));
        test_from_device(ctx, all + (size_t)k * block, Y[k], block);
        test_release(ctx, Y[k]);
    }
    test_from_device(ctx, all + 3 * block, R, 2 * sizeof(float));
    test_release(ctx, R);
    test_release(ctx, X);
    free(x);
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    return all;
}

static void twenty_runs_give_the_same_bits(void **state)
{
    (void)state;
    static const trine_spmv_method methods[] = {TRINE_SPMV_AUTO, TRINE_SPMV_ADAPTIVE, TRINE_SPMV_BALANCED_POSTPROCESS};
    for (int which = 0; which < 4; which++)
        for (int m = 0; m < 3; m++) {
            rows A = make_rows(which, TRINE_S);
            size_t bytes;
            const trine_spmv_options o = {.method = methods[m], .summation = TRINE_ORDER_DETERMINISTIC};
            char *first = bits_of(test_shared(2), &A, &o, &bytes);
            for (int run = 1; run < 20; run++) { /* CPU: by one, two and three threads */
                char *again = bits_of(test_shared(1 + run % 3), &A, &o, &bytes);
                assert_memory_equal(again, first, bytes);
                free(again);
            }
            free(first);
            free_rows(&A);
        }
}

static void every_scheme_and_reduction_is_right(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int which = 0; pattern_name(which); which++) {
        rows A = make_rows(which, TRINE_D), AT = transposed(&A, TRINE_T);
        row_sum *sums = reference_sums(&A, TRINE_D, 3), *sums_T = reference_sums(&AT, TRINE_D, 3);
        int k = which;
        for (int method = 0; method <= TRINE_SPMV_BALANCED_POSTPROCESS; method++)
            for (int reduction = 0; reduction <= TRINE_REDUCTION_WARPS; reduction++)
                for (int blocks = 0; blocks < 4; blocks++) {
                    static const int threads[] = {0, 64, 128, 512}, tiles[] = {0, 4, 7, 16}, weights[] = {0, -1, 1, 4};
                    static const int64_t entries[] = {0, 1, 100, 5000};
                    const trine_spmv_options o = {.ops = TRINE_N | TRINE_T,
                                                  .method = (trine_spmv_method)method,
                                                  .max_nrhs = 3,
                                                  .no_preprocess = blocks % 2,
                                                  .tune = {.block = threads[blocks],
                                                           .tile = tiles[blocks],
                                                           .entries_per_block = entries[blocks],
                                                           .reduction = (trine_spmv_reduction)reduction,
                                                           .row_weight = weights[blocks]}};
                    form f = make_form(ctx, &A, TRINE_D, TRINE_CSR, blocks & 1 ? 32 : 64, TRINE_VALUES_SAME);
                    trine_spmv plan = make_plan(ctx, &f, &o);
                    for (int op = 0; op < 2; op++) {
                        question q = {.op = op ? TRINE_T : TRINE_N, .nrhs = op && k % 3 ? 3 : 1, .row_end = -1};
                        pick_scalars(k++, TRINE_D, &q);
                        check_product(ctx, plan, TRINE_D, op ? &AT : &A, op ? sums_T : sums, &q, pattern_name(which));
                    }
                    OK(trine_spmv_destroy(&plan));
                    free_form(ctx, &f);
                }
        free(sums);
        free(sums_T);
        free_rows(&A);
        free_rows(&AT);
    }
    OK(trine_context_destroy(&ctx));
}

/* ----------------------------------------------------------------- accuracy */

static void long_rows_keep_their_digits(void **state)
{
    (void)state;
    enum { N = 100001, VECTORS = 4 };
    trine_context ctx = test_context();
    int32_t *columns = malloc(N * sizeof *columns);
    float *numbers = malloc(VECTORS * N * sizeof *numbers);
    const int32_t offsets[] = {0, N};
    for (int k = 0; k < N; k++) columns[k] = k;
    for (int k = 0; k < VECTORS * N; k++) numbers[k] = 0.1F;
    void *there[] = {test_to_device(ctx, offsets, sizeof offsets), test_to_device(ctx, columns, N * sizeof *columns),
                     test_to_device(ctx, numbers, VECTORS * N * sizeof *numbers),
                     test_to_device(ctx, numbers, VECTORS * sizeof *numbers)};
    trine_matrix A;
    trine_spmv plan;
    OK(trine_matrix_csr(ctx, &A, TRINE_S, 1, N, N, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, 32, there[0], 32,
                        there[1], there[2]));
    OK(trine_spmv_analyse(ctx, &plan, A, &(trine_spmv_options){.max_nrhs = VECTORS}));
    OK(trine_spmv_numeric(plan, TRINE_DEVICE, NULL, NULL));
    for (int cols = 1; cols <= VECTORS; cols++)
        for (int layout = 0; layout < 2; layout++) {
            const trine_dense X = {there[2], N, cols, 0, (trine_layout)layout},
                              Y = {there[3], 1, cols, 0, (trine_layout)layout};
            float y[VECTORS];
            OK(trine_spmv_apply(plan, TRINE_N, NULL, &X, NULL, &Y, NULL));
            test_from_device(ctx, y, there[3], sizeof y);
            /* one chain of N additions may be wrong by N / 2 units, and is by thousands; blocks of 256 by less */
            const double exact = (double)0.1F * 0.1F * N, bound = (256 + N / 256.0) / 2 * 0x1p-23 * exact;
            for (int j = 0; j < cols; j++) assert_true(fabs(y[j] - exact) <= bound);
        }
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    for (int k = 0; k < 4; k++) test_release(ctx, there[k]);
    free(columns);
    free(numbers);
    OK(trine_context_destroy(&ctx));
}

/** More empty rows than a run or a block has room for, and an entry behind them. */
static void a_chunk_of_empty_rows_is_stored(void **state)
{
    enum { N = 70001 };
    (void)state;
    trine_context ctx = test_context();
    int32_t *offsets = calloc(N + 1, sizeof *offsets), column = 1;
    const double value = 3, x[2] = {NAN, 5};
    double *y = malloc(N * sizeof *y);
    trine_matrix A;
    trine_spmv plan;
    offsets[N] = 1;
    memset(y, 0xFF, N * sizeof *y);
    void *there[5] = {test_to_device(ctx, offsets, (N + 1) * sizeof *offsets),
                      test_to_device(ctx, &column, sizeof column), test_to_device(ctx, &value, sizeof value),
                      test_to_device(ctx, x, sizeof x), test_to_device(ctx, y, N * sizeof *y)};
    OK(trine_matrix_csr(ctx, &A, TRINE_D, N, 2, 1, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, 32, there[0], 32,
                        there[1], there[2]));
    OK(trine_spmv_analyse(ctx, &plan, A, NULL));
    OK(trine_spmv_numeric(plan, TRINE_DEVICE, NULL, NULL));
    const trine_dense X = {there[3], 2, 1, 0, TRINE_COLMAJOR}, Y = {there[4], N, 1, 0, TRINE_COLMAJOR};
    OK(trine_spmv_apply(plan, TRINE_N, NULL, &X, NULL, &Y, NULL));
    test_from_device(ctx, y, there[4], N * sizeof *y);
    for (int i = 0; i < N; i++) assert_true(y[i] == (i == N - 1 ? 15 : 0));
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    for (int k = 0; k < 5; k++) test_release(ctx, there[k]);
    free(offsets);
    free(y);
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- adversary */

/** Rows of lengths around widths of vectors, in stretches that are alike or not, with whole numbers for values. */
static rows hostile_rows(uint64_t seed, trine_dtype t)
{
    static const int lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 257};
    enum { ROWS = 420, COLUMNS = 900, STRETCH = 21, LENGTHS = sizeof lengths / sizeof *lengths };
    rows A = {.n_rows = ROWS, .n_cols = COLUMNS};
    A.offsets = calloc(ROWS + 1, sizeof *A.offsets);
    A.columns = malloc((size_t)ROWS * 257 * sizeof *A.columns);
    A.values = malloc((size_t)ROWS * 257 * sizeof *A.values);
    for (int i = 0; i < ROWS; i++) {
        const uint64_t stretch = (uint64_t)(i / STRETCH);
        const int kind = (int)(4 * test_uniform(seed, stretch)), group = 2 + (int)(stretch % 3);
        const double pick = test_uniform(seed + 1, kind ? stretch : (uint64_t)i);
        const int length = kind ? lengths[(int)(14 * pick)] : lengths[(int)(LENGTHS * pick * pick)];
        for (int j = 0; j < length; j++) {
            const uint64_t at = kind ? stretch << 20 | (uint64_t)j : (uint64_t)A.nnz;
            A.columns[A.nnz] =
                (int32_t)(COLUMNS / 2.0 * test_uniform(seed + 2, at)) + (kind == 1   ? i % STRETCH
                                                                         : kind == 3 ? i % STRETCH / group * group
                                                                                     : 0);
            wide v = rintl(7 * creall(random_element(t, seed + 3, (uint64_t)A.nnz)));
            __imag__ v = rintl(7 * cimagl(random_element(t, seed + 3, (uint64_t)A.nnz)));
            A.values[A.nnz++] = v;
        }
        A.offsets[i + 1] = A.nnz;
    }
    return A;
}

/** An array in the context's space that begins one element after a boundary and has NaN on both sides. */
typedef struct {
    char *base, *first;
    size_t size, bytes;
} guarded;
static guarded guard(trine_context ctx, const void *elements, int64_t count, size_t size)
{
    guarded g = {.size = size, .bytes = (size_t)(count + 2) * size};
    char *host = malloc(g.bytes);
    memset(host, 0xFF, g.bytes);
    memcpy(host + size, elements, (size_t)count * size);
    g.base = test_to_device(ctx, host, g.bytes);
    g.first = g.base + size;
    free(host);
    return g;
}

/** Rows of X that are NaN or infinite though rows of op(A) read them: those come out so, and no others. */
static bool is_poison(int64_t column) { return column % 151 == 40; }

/** Products with whole numbers, those of X times x_scale and those of Y times y_scale, powers of two: there is no
 *  rounding. What no row reads of X is NaN or infinite as well. */
static void check_hostile(trine_context ctx, trine_spmv plan, trine_dtype t, const rows *A, long double x_scale,
                          long double y_scale, question q)
{
    const size_t size = trine_dtype_size(t);
    const bool x_by_rows = q.x_layout == TRINE_ROWMAJOR, y_by_rows = q.y_layout == TRINE_ROWMAJOR;
    const int64_t x_count = A->n_cols * q.nrhs, y_count = A->n_rows * q.nrhs;
    const int64_t x_ld = x_by_rows ? q.nrhs : A->n_cols, y_ld = y_by_rows ? q.nrhs : A->n_rows;
    wide *x = malloc((size_t)x_count * sizeof *x);
    char *given = malloc((size_t)x_count * size), *old = malloc((size_t)y_count * size),
         *all = malloc((size_t)(y_count + 2) * size), alpha[16], beta[16];
    for (int64_t k = 0; k < x_count; k++) {
        wide v = rintl(7 * creall(random_element(t, 900, (uint64_t)k)));
        __imag__ v = rintl(7 * cimagl(random_element(t, 900, (uint64_t)k)));
        x[k] = x_scale * v;
        put(t, given, k, k % 2 ? NAN : INFINITY);
    }
    for (int64_t k = 0; k < A->nnz; k++)
        for (int64_t j = 0; j < q.nrhs; j++) {
            const int64_t place = x_by_rows ? A->columns[k] * x_ld + j : A->columns[k] + j * x_ld;
            if (!is_poison(A->columns[k])) put(t, given, place, x[place]);
        }
    for (int64_t k = 0; k < y_count; k++) put(t, old, k, *q.beta == 0 ? NAN : (wide)(y_scale * (k % 19)));
    put(t, alpha, 0, *q.alpha);
    put(t, beta, 0, *q.beta);
    const guarded gx = guard(ctx, given, x_count, size), gy = guard(ctx, old, y_count, size);
    const trine_dense X = {gx.first, A->n_cols, q.nrhs, x_ld, q.x_layout},
                      Y = {gy.first, A->n_rows, q.nrhs, y_ld, q.y_layout};
    OK(trine_spmv_apply(plan, q.op, alpha, &X, beta, &Y, NULL));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, all, gy.base, gy.bytes);
    for (size_t b = 0; b < size; b++) assert_true(all[b] == (char)0xFF && all[gy.bytes - 1 - b] == (char)0xFF);
    for (int64_t i = 0; i < A->n_rows; i++)
        for (int64_t j = 0; j < q.nrhs; j++) {
            const int64_t place = y_by_rows ? i * y_ld + j : i + j * y_ld;
            wide sum = 0;
            bool poisoned = false;
            for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
                sum += A->values[k] * x[x_by_rows ? A->columns[k] * x_ld + j : A->columns[k] + j * x_ld];
                poisoned |= is_poison(A->columns[k]);
            }
            const wide exact = *q.alpha * sum + (*q.beta == 0 ? 0 : *q.beta * (wide)(y_scale * (place % 19))),
                       found = get(t, all + size, place);
            const bool is_finite = isfinite(creall(found)) && isfinite(cimagl(found));
            if (poisoned ? is_finite : found != exact)
                fail_msg("dtype %d, op %d, %lld vectors, layouts %d %d, beta %g: row %lld (%lld entries), vector %lld",
                         (int)t, (int)q.op, (long long)q.nrhs, (int)q.x_layout, (int)q.y_layout,
                         (double)creall(*q.beta), (long long)i, (long long)(A->offsets[i + 1] - A->offsets[i]),
                         (long long)j);
        }
    test_release(ctx, gx.base);
    test_release(ctx, gy.base);
    free(x), free(given), free(old), free(all);
}

/** Values times 2^exponent, X times 2^(exponent / 3 the other way). */
static void check_hostile_matrix(trine_context ctx, uint64_t seed, trine_dtype t, int exponent,
                                 trine_spmv_options options)
{
    static wide two = 2, minus = -3, zero = 0;
    const long double scale = ldexpl(1, exponent), x_scale = ldexpl(1, -exponent / 3);
    static const int64_t vectors[] = {1, 2, 7, 16, 33};
    rows A = hostile_rows(seed, t), op_A[3];
    const size_t size = trine_dtype_size(t);
    char *values = malloc((size_t)A.nnz * size);
    int32_t *offsets = malloc((size_t)(A.n_rows + 1) * sizeof *offsets);
    for (int64_t k = 0; k < A.nnz; k++) put(t, values, k, A.values[k] *= scale);
    for (int64_t i = 0; i <= A.n_rows; i++) offsets[i] = (int32_t)A.offsets[i];
    const bool is_32 = seed % 2;
    const guarded go = is_32 ? guard(ctx, offsets, A.n_rows + 1, 4) : guard(ctx, A.offsets, A.n_rows + 1, 8),
                  gc = guard(ctx, A.columns, A.nnz, sizeof *A.columns), gv = guard(ctx, values, A.nnz, size);
    trine_matrix M;
    trine_spmv plan;
    OK(trine_matrix_csr(ctx, &M, t, A.n_rows, A.n_cols, A.nnz, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST,
                        is_32 ? 32 : 64, go.first, 32, gc.first, gv.first));
    options.ops = every_op, options.max_nrhs = 33;
    OK(trine_spmv_analyse(ctx, &plan, M, &options));
    OK(trine_spmv_numeric(plan, TRINE_DEVICE, NULL, NULL));
    for (int op = 0; op < 3; op++) {
        op_A[op] = transposed(&A, all_ops[op]);
        for (int k = 0; k < 16; k++) {
            const int v = k < 4 ? 0 : 1 + k % 4;
            const question q = {.op = all_ops[op],
                                .nrhs = vectors[v],
                                .x_layout = k & 4 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                .y_layout = k & 8 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                .alpha = &two,
                                .beta = k & 1 ? &minus : &zero};
            check_hostile(ctx, plan, t, &op_A[op], x_scale, x_scale * scale, q);
        }
        free_rows(&op_A[op]);
    }
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&M));
    test_release(ctx, go.base), test_release(ctx, gc.base), test_release(ctx, gv.base);
    free(values), free(offsets);
    free_rows(&A);
}

static void what_no_row_reads_may_be_anything(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (uint64_t seed = 1500; seed < 1504; seed++)
        for (int t = 0; t < 4; t++)
            if (test_is_to_do()) check_hostile_matrix(ctx, seed, all_dtypes[t], 0, (trine_spmv_options){0});
    OK(trine_context_destroy(&ctx));
}

/** Values near 1e30 and 1e-30 in single, 1e200 and 1e-200 in double precision, by any method with blocks of any size.
 *  TRINE_TEST_SEED: other matrices and options. */
static void powers_of_two_pass_through(void **state)
{
    (void)state;
    static const trine_spmv_reduction reductions[] = {TRINE_REDUCTION_AUTO, TRINE_REDUCTION_ROWS,
                                                      TRINE_REDUCTION_WARPS};
    const char *given = getenv("TRINE_TEST_SEED");
    const uint64_t first = given ? strtoull(given, NULL, 10) : 2000;
    trine_context ctx = test_context();
    for (uint64_t seed = first; seed < first + 6; seed++)
        for (int t = 0; t < 4; t++) {
            const bool is_single = all_dtypes[t] == TRINE_S || all_dtypes[t] == TRINE_C;
            const int exponent = (seed % 2 ? 1 : -1) * (is_single ? 99 : 666);
            const trine_spmv_options options = {
                .method = (trine_spmv_method)(4 * test_uniform(seed, 1)),
                .no_preprocess = test_uniform(seed, 2) < 0.3,
                .tune = {.reduction = reductions[(int)(3 * test_uniform(seed, 3))],
                         .entries_per_block = (int64_t)(3000 * test_uniform(seed, 4) * test_uniform(seed, 5)),
                         .row_weight = (int)(4 * test_uniform(seed, 6)) - 1}};
            if (test_is_to_do()) check_hostile_matrix(ctx, seed, all_dtypes[t], exponent, options);
        }
    OK(trine_context_destroy(&ctx));
}

/** Rows of `length` entries, fewer at the ends, around the diagonal. */
static rows band(int64_t n, int64_t length)
{
    rows A = {.n_rows = n, .n_cols = n};
    A.offsets = calloc((size_t)n + 1, sizeof *A.offsets);
    A.columns = malloc((size_t)(n * length) * sizeof *A.columns);
    A.values = malloc((size_t)(n * length) * sizeof *A.values);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - length / 2; j < i - length / 2 + length; j++)
            if (j >= 0 && j < n) A.columns[A.nnz] = (int32_t)j, A.values[A.nnz++] = (wide)((i + 3 * j) % 17 - 8) / 16;
        A.offsets[i + 1] = A.nnz;
    }
    return A;
}

/** Matrices so large that a GPU's blocks take several tiles each: all rows, some of them, sums over all of them. */
static void large_products_are_right(void **state)
{
    (void)state;
    static const struct {
        int64_t n, length;
        trine_dtype t;
        trine_spmv_values stored;
    } cases[] = {{370000, 5, TRINE_D, TRINE_VALUES_SAME},   {370000, 5, TRINE_S, TRINE_VALUES_HALF},
                 {370000, 5, TRINE_C, TRINE_VALUES_SAME},   {350000, 6, TRINE_S, TRINE_VALUES_SAME},
                 {72000, 48, TRINE_S, TRINE_VALUES_SAME},   {72000, 48, TRINE_D, TRINE_VALUES_HALF},
                 {72000, 48, TRINE_D, TRINE_VALUES_SINGLE}, {72000, 48, TRINE_D, TRINE_VALUES_SAME}};
    trine_context ctx = test_context();
    for (int k = 0; k < 8; k++) {
        if (!test_is_to_do() || !test_is_small(cases[k].n)) continue;
        const trine_dtype t = cases[k].t;
        rows A = band(cases[k].n, cases[k].length);
        row_sum *sums = reference_sums(&A, t, 1);
        form f = make_form(ctx, &A, t, TRINE_CSR, 32, cases[k].stored);
        trine_spmv plan = make_plan(ctx, &f, &(trine_spmv_options){.values = cases[k].stored});
        for (int part = 0; part < 2; part++) {
            question q = {
                .op = TRINE_N, .nrhs = 1, .row_begin = part ? A.n_rows / 3 : 0, .row_end = part ? A.n_rows / 2 : -1};
            pick_scalars(part + 1, t, &q);
            check_product(ctx, plan, t, &A, sums, &q, "a band");
        }
        if (t == TRINE_D) { /* whole numbers: sums of squares are exact */
            const size_t bytes = (size_t)A.n_rows * sizeof(double);
            double *x = malloc(bytes), results[2], exact[2] = {0, 0};
            for (int64_t i = 0; i < A.n_rows; i++) x[i] = (double)(i % 5 - 2);
            double *gx = test_to_device(ctx, x, bytes), *gy = test_to_device(ctx, x, bytes),
                   *found = test_to_device(ctx, results, sizeof results);
            const trine_dense X = {gx, A.n_rows, 1, 0, TRINE_COLMAJOR}, Y = {gy, A.n_rows, 1, 0, TRINE_COLMAJOR};
            for (int again = 0; again < 2; again++)
                OK(trine_spmv_apply_fused(plan, TRINE_N, NULL, &X, NULL, &Y,
                                          &(trine_spmv_epilogue){.dot = gx, .norm = 1, .results = found}, NULL));
            OK(trine_context_synchronize(ctx));
            test_from_device(ctx, results, found, sizeof results);
            for (int64_t i = 0; i < A.n_rows; i++) {
                double y = 0;
                for (int64_t e = A.offsets[i]; e < A.offsets[i + 1]; e++) y += (double)A.values[e] * x[A.columns[e]];
                exact[0] += x[i] * y, exact[1] += y * y;
            }
            assert_true(results[0] == exact[0] && results[1] == exact[1]);
            test_release(ctx, gx), test_release(ctx, gy), test_release(ctx, found);
            free(x);
        }
        OK(trine_spmv_destroy(&plan));
        free_form(ctx, &f);
        free_rows(&A);
        free(sums);
    }
    OK(trine_context_destroy(&ctx));
}

/** Vectors by rows that can be taken some at a time, and those that cannot: rows of X and Y begin anywhere, or where 16
 *  bytes do; one vector more than fits; short rows, rows that several threads take, rows of several blocks. */
static void vectors_by_rows_are_right_however_they_lie(void **state)
{
    (void)state;
    static const int which[] = {7, 8, 9, 4, 2, 3};
    static const int64_t some[] = {2, 4, 5, 8, 12, 32, 33};
    trine_context ctx = test_context();
    int k = 0;
    for (int w = 0; w < 6; w++)
        for (int t = 0; t < 4; t++) {
            if (!test_is_to_do()) continue;
            const trine_dtype dtype = all_dtypes[t];
            rows A = make_rows(which[w], dtype);
            form f = make_form(ctx, &A, dtype, TRINE_CSR, 32, TRINE_VALUES_SAME);
            trine_spmv plan = make_plan(ctx, &f, &(trine_spmv_options){.ops = every_op, .max_nrhs = MOST_VECTORS});
            for (int op = 0; op < 3; op++) {
                rows op_A = transposed(&A, all_ops[op]);
                row_sum *sums = reference_sums(&op_A, dtype, MOST_VECTORS);
                for (int v = 0; v < 7; v++) {
                    question q = {.op = all_ops[op],
                                  .nrhs = some[v],
                                  .x_layout = TRINE_ROWMAJOR,
                                  .y_layout = TRINE_ROWMAJOR,
                                  .row_begin = v == 3 && op == 0 ? op_A.n_rows / 3 : 0,
                                  .row_end = v == 3 && op == 0 ? op_A.n_rows / 3 * 2 : -1,
                                  .is_tight = (v + w + op) % 3 != 0};
                    char what[100];
                    snprintf(what, sizeof what, "%s, dtype %d, op %d, %lld vectors", pattern_name(which[w]), (int)dtype,
                             (int)q.op, (long long)q.nrhs);
                    pick_scalars(k++, dtype, &q);
                    check_product(ctx, plan, dtype, &op_A, sums, &q, what);
                }
                free_rows(&op_A);
                free(sums);
            }
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
            free_rows(&A);
        }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_to_the_last_digits),
        cmocka_unit_test(ranges_of_rows_leave_the_others_alone),
        cmocka_unit_test(ranges_of_rows_give_the_same_bits),
        cmocka_unit_test(a_chunk_of_empty_rows_is_stored),
        cmocka_unit_test(a_sweep_by_colours_is_the_serial_one),
        cmocka_unit_test(epilogues_see_the_new_y),
        cmocka_unit_test(twenty_runs_give_the_same_bits),
        cmocka_unit_test(every_scheme_and_reduction_is_right),
        cmocka_unit_test(long_rows_keep_their_digits),
        cmocka_unit_test(what_no_row_reads_may_be_anything),
        cmocka_unit_test(powers_of_two_pass_through),
        cmocka_unit_test(vectors_by_rows_are_right_however_they_lie),
        cmocka_unit_test(large_products_are_right),
    };
    return TEST_MAIN(tests);
}
