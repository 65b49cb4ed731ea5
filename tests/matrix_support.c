#include "matrix_support.h"

#include <stdlib.h>
#include <string.h>

static const int64_t all_shapes[][2] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {2, 2}, {5, 7}, {7, 5}, {33, 33}, {64, 41}};

wide make(long double re, long double im)
{
    const long double parts[2] = {re, im};
    wide z;
    memcpy(&z, parts, sizeof z);
    return z;
}

long double small_fraction(uint64_t seed, uint64_t k)
{
    int v = 1 + (int)(test_uniform(seed, 2 * k) * 63);
    return (test_uniform(seed, 2 * k + 1) < 0.5 ? -v : v) / 64.0L;
}

wide random_value(trine_dtype t, uint64_t seed, uint64_t k)
{
    return make(small_fraction(seed, 2 * k), is_complex(t) ? small_fraction(seed, 2 * k + 1) : 0);
}

trine_matrix random_matrix(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols,
                           uint64_t seed)
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
        put(t, values, k, random_value(t, seed + 2, (uint64_t)k));
    }
    free(counts);
    return A;
}

trine_matrix from_triplets(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols,
                           int64_t nnz, const triplet *list)
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
            put(t, values, at++, make(list[k].re, is_complex(t) ? list[k].im : 0));
        }
        offsets[i + 1] = at;
    }
    assert_int_equal(at, nnz);
    return A;
}

trine_matrix_info info_of(trine_matrix A)
{
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    return info;
}

arrays fetch(trine_context ctx, trine_matrix A)
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
    if (values)
        OK(trine_copy(ctx, a.values, TRINE_HOST, values, info.space, (size_t)info.nnz * trine_dtype_size(info.dtype)));
    return a;
}

void release(arrays a)
{
    free(a.offsets);
    free(a.indices);
    free(a.values);
}

wide *dense(trine_context ctx, trine_matrix A)
{
    const trine_matrix_info info = info_of(A);
    arrays a = fetch(ctx, A);
    wide *D = calloc((size_t)(info.n_rows * info.n_cols) + 1, sizeof *D);
    for (int64_t i = 0; i < (info.format == TRINE_CSR ? info.n_rows : info.n_cols); i++)
        for (int64_t k = a.offsets[i]; k < a.offsets[i + 1]; k++) {
            const int64_t row = info.format == TRINE_CSR ? i : a.indices[k],
                          col = info.format == TRINE_CSR ? a.indices[k] : i;
            D[row + col * info.n_rows] += a.values ? get(info.dtype, a.values, k) : 1;
        }
    release(a);
    return D;
}

void assert_dense_equal(const wide *a, const wide *b, int64_t count)
{
    for (int64_t k = 0; k < count; k++) assert_true(a[k] == b[k]);
}

void assert_same(trine_context ctx, trine_matrix A, trine_matrix B)
{
    const trine_matrix_info a = info_of(A), b = info_of(B);
    assert_int_equal(a.dtype, b.dtype);
    assert_int_equal(a.format, b.format);
    assert_int_equal(a.n_rows, b.n_rows);
    assert_int_equal(a.n_cols, b.n_cols);
    assert_int_equal(a.nnz, b.nnz);
    arrays x = fetch(ctx, A), y = fetch(ctx, B);
    assert_memory_equal(x.offsets, y.offsets,
                        (size_t)((a.format == TRINE_CSR ? a.n_rows : a.n_cols) + 1) * sizeof *x.offsets);
    assert_memory_equal(x.indices, y.indices, (size_t)a.nnz * sizeof *x.indices);
    assert_int_equal(x.values == NULL, y.values == NULL);
    if (x.values) assert_memory_equal(x.values, y.values, (size_t)a.nnz * trine_dtype_size(a.dtype));
    release(x);
    release(y);
}

trine_matrix on_device(trine_context ctx, trine_matrix A)
{
    (void)ctx;
    const trine_matrix_info info = info_of(A);
    trine_matrix B;
    OK(trine_matrix_copy(A, &B, TRINE_DEVICE, info.format, info.dtype));
    assert_int_equal(info_of(B).space, TRINE_DEVICE);
    return B;
}

trine_matrix drop(trine_matrix A, trine_matrix V)
{
    if (V != A) OK(trine_matrix_destroy(&V));
    return NULL;
}

void for_random_matrices(body test)
{
    trine_context ctx = test_context();
    EACH(t, all_dtypes)
    EACH(f, all_formats) EACH(s, all_shapes)
    {
        trine_matrix A = random_matrix(ctx, all_formats[f], all_dtypes[t], all_shapes[s][0], all_shapes[s][1],
                                       10 * s + 100 * t + 1000 * f);
        wide *D = dense(ctx, A);
        EACH_SPACE(ctx, A, V) test(ctx, V, D);
        free(D);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

void random_permutation(int64_t n, uint64_t seed, int32_t *out, int32_t *inverse)
{
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(test_uniform(seed, (uint64_t)i) * (double)(i + 1));
        const int32_t p = out[i];
        out[i] = out[j];
        out[j] = p;
    }
    for (int64_t i = 0; i < n; i++) inverse[out[i]] = (int32_t)i;
}
