/* Sparse containers: every operation against a dense long double oracle, in both formats and all four precisions. */
#include "harness.h"

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#undef I

typedef long double complex wide;

static const trine_dtype all_types[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
static const trine_format all_formats[] = {TRINE_CSR, TRINE_CSC};
static const int64_t all_shapes[][2] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {2, 2}, {5, 7}, {7, 5}, {33, 33}, {64, 41}};
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define EACH(i, a) for (size_t i = 0; i < COUNT(a); i++)

static bool is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }

static wide element(trine_dtype t, const void *v, int64_t k)
{
    switch (t) {
    case TRINE_S: return ((const float *)v)[k];
    case TRINE_D: return ((const double *)v)[k];
    case TRINE_C: return ((const float complex *)v)[k];
    default: return ((const double complex *)v)[k];
    }
}
static void set_element(trine_dtype t, void *v, int64_t k, wide x)
{
    switch (t) {
    case TRINE_S: ((float *)v)[k] = (float)creall(x); break;
    case TRINE_D: ((double *)v)[k] = (double)creall(x); break;
    case TRINE_C: ((float complex *)v)[k] = (float complex)x; break;
    default: ((double complex *)v)[k] = (double complex)x; break;
    }
}
static wide make(long double re, long double im) { return CMPLXL(re, im); }

/** A multiple of 1/64 in (-1, 1), never 0: sums and products of a few are exact in every precision. */
static long double small_fraction(uint64_t seed, uint64_t k)
{
    int v = 1 + (int)(test_uniform(seed, 2 * k) * 63);
    return (test_uniform(seed, 2 * k + 1) < 0.5 ? -v : v) / 64.0L;
}
static wide random_value(trine_dtype t, uint64_t seed, uint64_t k)
{
    return make(small_fraction(seed, 2 * k), is_complex(t) ? small_fraction(seed, 2 * k + 1) : 0);
}

/** Unsorted, with duplicates and empty rows. */
static trine_matrix random_matrix(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols, uint64_t seed)
{
    const int64_t n = format == TRINE_CSR ? n_rows : n_cols, m = format == TRINE_CSR ? n_cols : n_rows;
    int64_t *counts = calloc((size_t)n + 1, sizeof *counts), *offsets, nnz = 0;
    for (int64_t i = 0; i < n && m; i++) nnz += counts[i] = (int64_t)(test_uniform(seed, (uint64_t)i) * 6);
    trine_matrix A;
    int32_t *indices;
    void *values;
    OK(trine_matrix_allocate(ctx, &A, format, t, n_rows, n_cols, nnz, &offsets, &indices, &values));
    for (int64_t i = 0; i < n; i++) offsets[i + 1] = offsets[i] + counts[i];
    for (int64_t k = 0; k < nnz; k++) {
        indices[k] = (int32_t)(test_uniform(seed + 1, (uint64_t)k) * (double)m);
        set_element(t, values, k, random_value(t, seed + 2, (uint64_t)k));
    }
    free(counts);
    return A;
}

/** A host matrix from triplets in row-major (CSR) or column-major (CSC) order of the list's first coordinate. */
typedef struct { int row, col; double re, im; } triplet;
static trine_matrix from_triplets(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols, int64_t nnz,
                                  const triplet *list)
{
    trine_matrix A;
    int64_t *offsets, at = 0;
    int32_t *indices;
    void *values;
    const bool by_rows = format == TRINE_CSR;
    OK(trine_matrix_allocate(ctx, &A, format, t, n_rows, n_cols, nnz, &offsets, &indices, &values));
    for (int64_t i = 0; i < (by_rows ? n_rows : n_cols); i++) {
        for (int64_t k = 0; k < nnz; k++) {
            if ((by_rows ? list[k].row : list[k].col) != i) continue;
            indices[at] = by_rows ? list[k].col : list[k].row;
            set_element(t, values, at++, make(list[k].re, is_complex(t) ? list[k].im : 0));
        }
        offsets[i + 1] = at;
    }
    assert_int_equal(at, nnz);
    return A;
}

static trine_matrix_info info_of(trine_matrix A)
{
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    return info;
}

/** The arrays of a matrix on the host, wherever it lives. */
typedef struct { int64_t *offsets; int32_t *indices; void *values; } arrays;
static arrays fetch(trine_context ctx, trine_matrix A)
{
    const trine_matrix_info info = info_of(A);
    const int64_t n = info.format == TRINE_CSR ? info.n_rows : info.n_cols;
    const int64_t *offsets;
    const int32_t *indices;
    const void *values;
    OK(trine_matrix_get_arrays(A, &offsets, &indices, &values));
    arrays a = {malloc((size_t)(n + 1) * sizeof *a.offsets), malloc((size_t)info.nnz * sizeof *a.indices + 1),
                values ? malloc((size_t)info.nnz * trine_dtype_size(info.dtype) + 1) : NULL};
    OK(trine_copy(ctx, a.offsets, TRINE_HOST, offsets, info.space, (size_t)(n + 1) * sizeof *offsets));
    OK(trine_copy(ctx, a.indices, TRINE_HOST, indices, info.space, (size_t)info.nnz * sizeof *indices));
    if (values) OK(trine_copy(ctx, a.values, TRINE_HOST, values, info.space, (size_t)info.nnz * trine_dtype_size(info.dtype)));
    return a;
}
static void release(arrays a)
{
    free(a.offsets);
    free(a.indices);
    free(a.values);
}

/** Dense column-major long double, duplicates summed; ones for a pattern. */
static wide *dense(trine_context ctx, trine_matrix A)
{
    const trine_matrix_info info = info_of(A);
    arrays a = fetch(ctx, A);
    wide *D = calloc((size_t)(info.n_rows * info.n_cols) + 1, sizeof *D);
    for (int64_t i = 0; i < (info.format == TRINE_CSR ? info.n_rows : info.n_cols); i++)
        for (int64_t k = a.offsets[i]; k < a.offsets[i + 1]; k++) {
            const int64_t row = info.format == TRINE_CSR ? i : a.indices[k], col = info.format == TRINE_CSR ? a.indices[k] : i;
            D[row + col * info.n_rows] += a.values ? element(info.dtype, a.values, k) : 1;
        }
    release(a);
    return D;
}

static void assert_dense_equal(const wide *a, const wide *b, int64_t count)
{
    for (int64_t k = 0; k < count; k++) assert_true(a[k] == b[k]);
}

/** Format, type, shape and every array the same, bit by bit. */
static void assert_same(trine_context ctx, trine_matrix A, trine_matrix B)
{
    const trine_matrix_info a = info_of(A), b = info_of(B);
    assert_int_equal(a.dtype, b.dtype);
    assert_int_equal(a.format, b.format);
    assert_int_equal(a.n_rows, b.n_rows);
    assert_int_equal(a.n_cols, b.n_cols);
    assert_int_equal(a.nnz, b.nnz);
    arrays x = fetch(ctx, A), y = fetch(ctx, B);
    assert_memory_equal(x.offsets, y.offsets, (size_t)((a.format == TRINE_CSR ? a.n_rows : a.n_cols) + 1) * sizeof *x.offsets);
    assert_memory_equal(x.indices, y.indices, (size_t)a.nnz * sizeof *x.indices);
    assert_int_equal(x.values == NULL, y.values == NULL);
    if (x.values) assert_memory_equal(x.values, y.values, (size_t)a.nnz * trine_dtype_size(a.dtype));
    release(x);
    release(y);
}

/** A and, on a GPU, the same in device memory: what every operation must take alike. */
#define EACH_SPACE(ctx, A, V) \
    for (trine_matrix V = A; V; V = (V == A && test_on_gpu()) ? on_device(ctx, A) : drop(A, V))
static trine_matrix on_device(trine_context ctx, trine_matrix A)
{
    (void)ctx;
    const trine_matrix_info info = info_of(A);
    trine_matrix B;
    OK(trine_matrix_copy(A, &B, TRINE_DEVICE, info.format, info.dtype));
    assert_int_equal(info_of(B).space, TRINE_DEVICE);
    return B;
}
static trine_matrix drop(trine_matrix A, trine_matrix V)
{
    if (V != A) OK(trine_matrix_destroy(&V));
    return NULL;
}

/** body(ctx, A, D): for random matrices of every type, format, shape and space; D is A dense. */
typedef void (*body)(trine_context ctx, trine_matrix A, const wide *D);
static void for_random_matrices(body test)
{
    trine_context ctx = test_context();
    EACH(t, all_types) EACH(f, all_formats) EACH(s, all_shapes) {
        trine_matrix A = random_matrix(ctx, all_formats[f], all_types[t], all_shapes[s][0], all_shapes[s][1], 10 * s + 100 * t + 1000 * f);
        wide *D = dense(ctx, A);
        EACH_SPACE(ctx, A, V) test(ctx, V, D);
        free(D);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* -------------------------------------------------------------- conversions */

static void check_transpose(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    for (int h = 0; h < 2; h++) {
        trine_matrix B, C, sorted;
        OK(trine_matrix_transpose(A, &B, h ? TRINE_H : TRINE_T));
        const trine_matrix_info b = info_of(B);
        assert_int_equal(b.space, TRINE_HOST);
        assert_int_equal(b.format, a.format);
        assert_int_equal(b.n_rows, a.n_cols);
        assert_int_equal(b.nnz, a.nnz);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++)
                assert_true(E[j + i * a.n_cols] == (h ? conjl(D[i + j * a.n_rows]) : D[i + j * a.n_rows]));
        OK(trine_matrix_transpose(B, &C, h ? TRINE_H : TRINE_T));
        OK(trine_matrix_sort(A, &sorted, 0));
        assert_same(ctx, C, sorted);
        free(E);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&C));
        OK(trine_matrix_destroy(&sorted));
    }
}
static void a_matrix_transposed_twice_is_the_matrix_sorted(void **state)
{
    (void)state;
    for_random_matrices(check_transpose);
}

static void check_sort(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    trine_matrix B, C;
    OK(trine_matrix_sort(A, &B, 0));
    OK(trine_matrix_sort(A, &C, 1));
    arrays from = fetch(ctx, A), b = fetch(ctx, B);
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++) {
        int64_t at = from.offsets[i];
        assert_int_equal(b.offsets[i], at);
        for (int64_t c = 0; c < (a.format == TRINE_CSR ? a.n_cols : a.n_rows); c++) /* a stable selection sort */
            for (int64_t k = from.offsets[i]; k < from.offsets[i + 1]; k++)
                if (from.indices[k] == c) {
                    assert_int_equal(b.indices[at], c);
                    assert_true(element(a.dtype, b.values, at) == element(a.dtype, from.values, k));
                    at++;
                }
        assert_int_equal(at, from.offsets[i + 1]);
    }
    OK(trine_matrix_check(C, TRINE_CHECK_SORTED));
    wide *E = dense(ctx, C);
    assert_dense_equal(D, E, a.n_rows * a.n_cols);
    free(E);
    release(from);
    release(b);
    OK(trine_matrix_destroy(&B));
    OK(trine_matrix_destroy(&C));
}
static void sorting_is_stable_and_sums_duplicates_on_request(void **state)
{
    (void)state;
    for_random_matrices(check_sort);
}

static void check_copy(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    EACH(t, all_types) EACH(f, all_formats) for (int space = TRINE_HOST; space <= (test_on_gpu() ? TRINE_DEVICE : TRINE_HOST); space++) {
        if (is_complex(a.dtype) && !is_complex(all_types[t])) continue;
        trine_matrix B;
        OK(trine_matrix_copy(A, &B, (trine_space)space, all_formats[f], all_types[t]));
        const trine_matrix_info b = info_of(B);
        assert_int_equal(b.space, space);
        assert_int_equal(b.dtype, all_types[t]);
        assert_int_equal(b.format, all_formats[f]);
        assert_int_equal(b.nnz, a.nnz);
        assert_int_equal(b.pattern, 0);
        wide *E = dense(ctx, B);
        assert_dense_equal(D, E, a.n_rows * a.n_cols);
        free(E);
        if (b.format == a.format && b.dtype == a.dtype) assert_same(ctx, A, B);
        OK(trine_matrix_destroy(&B));
    }
}
static void a_copy_changes_format_type_and_space_and_no_entry(void **state)
{
    (void)state;
    for_random_matrices(check_copy);
}

static void a_complex_matrix_becomes_real_only_without_imaginary_parts(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet real[] = {{0, 0, 1, 0}, {1, 2, -2, 0}}, other[] = {{0, 0, 1, 0}, {1, 2, -2, 0.5}, {1, 1, 1, NAN}};
    for (int t = TRINE_C; t <= TRINE_Z; t++) {
        trine_matrix A = from_triplets(ctx, TRINE_CSR, (trine_dtype)t, 3, 3, 2, real), B;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, TRINE_S));
        wide *D = dense(ctx, B);
        assert_true(D[0] == 1 && D[1 + 2 * 3] == -2);
        free(D);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&A));
        A = from_triplets(ctx, TRINE_CSR, (trine_dtype)t, 3, 3, 3, other);
        FAILS(TRINE_ERR_ARGUMENT, "the value at column 2 in row 1 has an imaginary part", trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, TRINE_D));
        assert_null(B);
        FAILS(TRINE_ERR_ARGUMENT, "the value at row 1 in column 1 has", trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, TRINE_D));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void check_triangle(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    arrays v = fetch(ctx, A);
    bool *stored = calloc((size_t)(a.n_rows + a.n_cols) + 1, sizeof *stored); /* diagonal entries */
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++)
            if (v.indices[k] == i) stored[i] = true;
    for (int c = 0; c < 8; c++) {
        const bool lower = c & 1, unit = c & 2, fill = c & 4;
        trine_matrix B, sorted, again;
        OK(trine_matrix_triangle(A, &B, lower ? TRINE_LOWER : TRINE_UPPER, unit ? TRINE_UNIT : TRINE_NONUNIT, fill));
        assert_int_equal(info_of(B).format, a.format);
        assert_int_equal(info_of(B).dtype, a.dtype);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++) {
                wide expected = (lower ? i > j : i < j) ? D[i + j * a.n_rows] : 0;
                if (i == j && !unit) expected = D[i + j * a.n_rows];
                if (i == j && fill && (unit || !stored[i])) expected = 1;
                assert_true(E[i + j * a.n_rows] == expected);
            }
        free(E);
        /* of a sorted matrix the triangle is sorted */
        trine_matrix T;
        OK(trine_matrix_sort(A, &sorted, 0));
        OK(trine_matrix_triangle(sorted, &T, lower ? TRINE_LOWER : TRINE_UPPER, unit ? TRINE_UNIT : TRINE_NONUNIT, fill));
        OK(trine_matrix_sort(T, &again, 0));
        assert_same(ctx, T, again);
        OK(trine_matrix_destroy(&T));
        OK(trine_matrix_destroy(&again));
        OK(trine_matrix_destroy(&sorted));
        OK(trine_matrix_destroy(&B));
    }
    free(stored);
    release(v);
}
static void a_triangle_has_its_entries_and_no_others(void **state)
{
    (void)state;
    for_random_matrices(check_triangle);
}

/* ------------------------------------------------------------------ numbers */

static void *random_vector(trine_dtype t, int64_t count, uint64_t seed)
{
    void *v = malloc((size_t)count * trine_dtype_size(t) + 1);
    for (int64_t i = 0; i < count; i++) set_element(t, v, i, random_value(t, seed, (uint64_t)i));
    return v;
}

static double eps_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? FLT_EPSILON : DBL_EPSILON; }

static void check_multiply(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)ctx;
    const trine_matrix_info a = info_of(A);
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    EACH(o, ops) for (int scaled = 0; scaled < 3; scaled++) { /* y = op(A) x; alpha, beta; beta = 0 given */
        const bool n = ops[o] == TRINE_N;
        const int64_t n_in = n ? a.n_cols : a.n_rows, n_out = n ? a.n_rows : a.n_cols;
        void *x = random_vector(a.dtype, n_in, 5), *y = random_vector(a.dtype, n_out, 6), *old = random_vector(a.dtype, n_out, 6);
        double complex alpha_store, beta_store;
        set_element(a.dtype, &alpha_store, 0, make(1.5L, -0.5L));
        set_element(a.dtype, &beta_store, 0, scaled == 2 ? make(0, 0) : make(-0.25L, 2));
        const wide alpha = scaled ? element(a.dtype, &alpha_store, 0) : 1, beta = scaled ? element(a.dtype, &beta_store, 0) : 0;
        if (scaled != 1) for (int64_t i = 0; i < n_out; i++) set_element(a.dtype, y, i, make(NAN, NAN)); /* not read */
        OK(trine_matrix_multiply(A, ops[o], scaled ? &alpha_store : NULL, x, scaled ? &beta_store : NULL, y));
        for (int64_t i = 0; i < n_out; i++) {
            wide sum = 0;
            long double bound = 0;
            for (int64_t j = 0; j < n_in; j++) {
                wide v = n ? D[i + j * a.n_rows] : D[j + i * a.n_rows];
                if (ops[o] == TRINE_H) v = conjl(v);
                sum += v * element(a.dtype, x, j);
                bound += cabsl(v) * cabsl(element(a.dtype, x, j));
            }
            const wide before = beta == 0 ? 0 : element(a.dtype, old, i);
            const long double error = cabsl(element(a.dtype, y, i) - (alpha * sum + beta * before));
            assert_true(error <= 40 * eps_of(a.dtype) * (cabsl(alpha) * bound + cabsl(beta) * cabsl(before)));
        }
        free(x);
        free(y);
        free(old);
    }
}
static void a_product_is_as_right_as_its_precision(void **state)
{
    (void)state;
    for_random_matrices(check_multiply);
}

static void check_accuracy(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)ctx;
    const trine_matrix_info a = info_of(A);
    const int64_t nrhs = 3;
    void *x = random_vector(a.dtype, a.n_cols * nrhs, 7), *b = random_vector(a.dtype, a.n_rows * nrhs, 8), *r = random_vector(a.dtype, a.n_rows * nrhs, 9);
    trine_accuracy got, silent;
    OK(trine_matrix_accuracy(A, nrhs, x, b, r, &got));
    long double backward = 0, residual = 0, componentwise = 0, norm_A = 0;
    for (int64_t i = 0; i < a.n_rows; i++) { /* |A| row sums: of entries, not of sums, so from the arrays */
        arrays v = fetch(ctx, A);
        long double sum = 0;
        for (int64_t p = 0; p < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); p++)
            for (int64_t k = v.offsets[p]; k < v.offsets[p + 1]; k++)
                if ((a.format == TRINE_CSR ? p : v.indices[k]) == i) sum += cabsl(element(a.dtype, v.values, k));
        norm_A = fmaxl(norm_A, sum);
        release(v);
    }
    arrays v = fetch(ctx, A);
    for (int64_t c = 0; c < nrhs; c++) {
        long double norm_r = 0, norm_b = 0, norm_x = 0;
        for (int64_t j = 0; j < a.n_cols; j++) norm_x = fmaxl(norm_x, cabsl(element(a.dtype, x, j + c * a.n_cols)));
        for (int64_t i = 0; i < a.n_rows; i++) {
            wide sum = element(a.dtype, b, i + c * a.n_rows);
            long double bound = cabsl(sum);
            norm_b = fmaxl(norm_b, cabsl(sum));
            for (int64_t j = 0; j < a.n_cols; j++) sum -= D[i + j * a.n_rows] * element(a.dtype, x, j + c * a.n_cols);
            for (int64_t p = 0; p < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); p++)
                for (int64_t k = v.offsets[p]; k < v.offsets[p + 1]; k++) {
                    const int64_t row = a.format == TRINE_CSR ? p : v.indices[k], col = a.format == TRINE_CSR ? v.indices[k] : p;
                    if (row == i) bound += cabsl(element(a.dtype, v.values, k)) * cabsl(element(a.dtype, x, col + c * a.n_cols));
                }
            assert_true(cabsl(sum - element(a.dtype, r, i + c * a.n_rows)) <= eps_of(a.dtype) * cabsl(sum));
            norm_r = fmaxl(norm_r, cabsl(sum));
            if (bound > 0) componentwise = fmaxl(componentwise, cabsl(sum) / bound);
        }
        if (norm_r > 0) {
            backward = fmaxl(backward, norm_r / (eps_of(a.dtype) * (norm_b + norm_A * norm_x)));
            residual = fmaxl(residual, norm_b > 0 ? norm_r / norm_b : norm_r);
        }
    }
    release(v);
    assert_true(fabsl(got.backward_error - backward) <= 1e-14L * backward);
    assert_true(fabsl(got.residual - residual) <= 1e-14L * residual);
    assert_true(fabsl(got.componentwise - componentwise) <= 1e-14L * componentwise);
    OK(trine_matrix_accuracy(A, nrhs, x, b, NULL, &silent));
    assert_memory_equal(&silent, &got, sizeof got);
    /* b = A x exactly: no error at all */
    for (int64_t i = 0; i < a.n_rows; i++) {
        wide sum = 0;
        for (int64_t j = 0; j < a.n_cols; j++) sum += D[i + j * a.n_rows] * element(a.dtype, x, j);
        set_element(a.dtype, b, i, sum);
    }
    OK(trine_matrix_accuracy(A, 1, x, b, r, &got));
    assert_true(got.backward_error == 0 && got.residual == 0 && got.componentwise == 0);
    for (int64_t i = 0; i < a.n_rows; i++) assert_true(element(a.dtype, r, i) == 0);
    if (a.n_cols) { /* a NaN is not lost, even in a column without entries */
        set_element(a.dtype, x, a.n_cols - 1, NAN);
        OK(trine_matrix_accuracy(A, 1, x, b, r, &got));
        assert_true(isnan(got.backward_error) && isnan(got.residual) && isnan(got.componentwise));
    }
    free(x);
    free(b);
    free(r);
}
static void accuracy_is_what_long_double_says(void **state)
{
    (void)state;
    for_random_matrices(check_accuracy);
}

/* ------------------------------------------------------------------ vectors */

static void permuted_vectors_have_the_right_rows_in_every_layout(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int64_t shapes[][2] = {{0, 0}, {0, 2}, {3, 0}, {1, 1}, {2, 1}, {31, 3}, {33, 33}, {257, 5}, {1000, 1}, {5, 300}, {9000, 3}};
    EACH(t, all_types) EACH(s, shapes) for (int c = 0; c < 64; c++) {
        const trine_dtype type = all_types[t];
        const trine_dtype real = type == TRINE_S || type == TRINE_C ? TRINE_S : TRINE_D;
        const int64_t n = shapes[s][0], m = shapes[s][1];
        if (n * m > 5000 && c % 5) continue;
        const bool with_perm = c & 1, with_scale = c & 2, inverse = c & 4, x_rows = c & 8, y_rows = c & 16, padded = c & 32;
        trine_dense X = {.rows = n, .cols = m, .ld = padded ? (x_rows ? m : n) + 3 : 0, .layout = x_rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
        trine_dense Y = {.rows = n, .cols = m, .ld = padded ? (y_rows ? m : n) + 5 : 0, .layout = y_rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
        const int64_t ldx = padded ? X.ld : x_rows ? m : n, ldy = padded ? Y.ld : y_rows ? m : n;
        const int64_t size_x = ldx * (x_rows ? n : m), size_y = ldy * (y_rows ? n : m);
        int32_t *perm = malloc((size_t)n * sizeof *perm + 1);
        for (int64_t i = 0; i < n; i++) perm[i] = (int32_t)i;
        for (int64_t i = n - 1; i > 0; i--) {
            const int64_t j = (int64_t)(test_uniform(77, (uint64_t)i) * (double)(i + 1));
            const int32_t p = perm[i];
            perm[i] = perm[j];
            perm[j] = p;
        }
        void *x = random_vector(type, size_x, 3), *y = random_vector(type, size_y, 4), *expected = random_vector(type, size_y, 4), *scale = random_vector(real, n, 5);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                const int64_t p = with_perm ? perm[i] : i, from = inverse ? i : p, to = inverse ? p : i;
                const wide v = element(type, x, x_rows ? from * ldx + j : from + j * ldx);
                set_element(type, expected, y_rows ? to * ldy + j : to + j * ldy, with_scale ? element(real, scale, i) * v : v);
            }
        const size_t bytes = trine_dtype_size(type);
        void *d_perm = test_to_device(ctx, perm, (size_t)n * sizeof *perm), *d_scale = test_to_device(ctx, scale, (size_t)n * trine_dtype_size(real));
        X.data = test_to_device(ctx, x, (size_t)size_x * bytes);
        Y.data = test_to_device(ctx, y, (size_t)size_y * bytes);
        OK(trine_vectors_permute(ctx, type, with_perm ? d_perm : NULL, with_scale ? d_scale : NULL, inverse, &X, &Y, NULL));
        test_from_device(ctx, y, Y.data, (size_t)size_y * bytes);
        assert_memory_equal(y, expected, (size_t)size_y * bytes); /* products of fractions are exact; padding untouched */
        test_release(ctx, d_perm);
        test_release(ctx, d_scale);
        test_release(ctx, X.data);
        test_release(ctx, Y.data);
        free(perm);
        free(x);
        free(y);
        free(expected);
        free(scale);
    }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_transposed_twice_is_the_matrix_sorted),
        cmocka_unit_test(sorting_is_stable_and_sums_duplicates_on_request),
        cmocka_unit_test(a_copy_changes_format_type_and_space_and_no_entry),
        cmocka_unit_test(a_complex_matrix_becomes_real_only_without_imaginary_parts),
        cmocka_unit_test(a_triangle_has_its_entries_and_no_others),
        cmocka_unit_test(a_product_is_as_right_as_its_precision),
        cmocka_unit_test(accuracy_is_what_long_double_says),
        cmocka_unit_test(permuted_vectors_have_the_right_rows_in_every_layout),
    };
    return TEST_MAIN(tests);
}
