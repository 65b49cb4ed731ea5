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
/** re + i im, exact for NaN and Inf too. */
static wide make(long double re, long double im)
{
    const long double parts[2] = {re, im};
    wide z;
    memcpy(&z, parts, sizeof z);
    return z;
}

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

/** out[i] = a random permutation of 0..n-1, inverse its inverse. */
static void random_permutation(int64_t n, uint64_t seed, int32_t *out, int32_t *inverse)
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

static void check_permute(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    int32_t rows[64], rows_back[64], cols[64], cols_back[64];
    random_permutation(a.n_rows, 1, rows, rows_back);
    random_permutation(a.n_cols, 2, cols, cols_back);
    trine_matrix sorted;
    OK(trine_matrix_sort(A, &sorted, 0));
    for (int c = 0; c < 4; c++) {
        const bool r = c & 1, q = c & 2;
        trine_matrix B, C;
        OK(trine_matrix_permute(A, &B, r ? rows : NULL, q ? cols : NULL));
        assert_int_equal(info_of(B).format, a.format);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++)
                assert_true(E[i + j * a.n_rows] == D[(r ? rows[i] : i) + (q ? cols[j] : j) * a.n_rows]);
        OK(trine_matrix_permute(B, &C, r ? rows_back : NULL, q ? cols_back : NULL));
        assert_same(ctx, C, sorted);
        free(E);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&C));
    }
    OK(trine_matrix_destroy(&sorted));
}
static void a_permutation_and_its_inverse_cancel(void **state)
{
    (void)state;
    for_random_matrices(check_permute);
}

static void what_is_not_a_permutation_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet list[] = {{0, 0, 1, 0}, {1, 2, -2, 0}};
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, 3, 4, 2, list), B;
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[1] = 3 is outside 0..2", trine_matrix_permute(A, &B, (int32_t[]){0, 3, 1}, NULL));
    assert_null(B);
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[2] = -1 is outside 0..2", trine_matrix_permute(A, &B, (int32_t[]){0, 2, -1}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[2] = 0 was already at 0", trine_matrix_permute(A, &B, (int32_t[]){0, 2, 0}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "col_perm[3] = 1 was already at 2", trine_matrix_permute(A, &B, (int32_t[]){2, 1, 0}, (int32_t[]){0, 2, 1, 1}));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void check_expand(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    trine_matrix L, S, again, sorted;
    if (a.n_rows != a.n_cols) {
        FAILS(TRINE_ERR_STRUCTURE, "is not square", trine_matrix_expand(A, &S, TRINE_SYMMETRIC));
        return;
    }
    const int64_t n = a.n_rows;
    for (int c = 0; c < 6; c++) {
        const trine_symmetry symmetry = (trine_symmetry)(TRINE_SYMMETRIC + c / 2);
        const bool lower = c % 2;
        const trine_uplo uplo = lower ? TRINE_LOWER : TRINE_UPPER;
        /* the diagonal: as it is (symmetric), absent (skew), ones (Hermitian) */
        OK(trine_matrix_triangle(A, &L, uplo, symmetry == TRINE_SYMMETRIC ? TRINE_NONUNIT : TRINE_UNIT, symmetry == TRINE_HERMITIAN));
        OK(trine_matrix_expand(L, &S, symmetry));
        assert_int_equal(info_of(S).symmetry, symmetry);
        wide *E = dense(ctx, S);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const wide here = D[i + j * n], across = D[j + i * n];
                wide expected = symmetry == TRINE_SYMMETRIC ? here : symmetry == TRINE_SKEW ? 0 : 1;
                if (i != j && (i > j) == lower) expected = here;
                if (i != j && (i > j) != lower) expected = symmetry == TRINE_SYMMETRIC ? across : symmetry == TRINE_SKEW ? -across : conjl(across);
                assert_true(E[i + j * n] == expected);
            }
        free(E);
        OK(trine_matrix_destroy(&L));
        /* either triangle of it holds everything, in the same order */
        OK(trine_matrix_sort(S, &sorted, 0));
        for (int other = 0; other < 2; other++) {
            OK(trine_matrix_triangle(sorted, &L, other ? TRINE_LOWER : TRINE_UPPER, TRINE_NONUNIT, 0));
            OK(trine_matrix_expand(L, &again, symmetry));
            assert_same(ctx, again, sorted);
            OK(trine_matrix_destroy(&again));
            OK(trine_matrix_destroy(&L));
        }
        OK(trine_matrix_destroy(&sorted));
        OK(trine_matrix_destroy(&S));
    }
}
static void a_triangle_expands_to_the_whole_matrix(void **state)
{
    (void)state;
    for_random_matrices(check_expand);
}

static void what_is_not_a_triangle_is_not_expanded(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet both[] = {{0, 0, 1, 0}, {1, 0, 2, 0}, {1, 2, 3, 0}}, lower[] = {{0, 0, 1, 0.5}, {1, 0, 2, 0}, {2, 2, 0, 0}};
    EACH(f, all_formats) {
        trine_matrix A = from_triplets(ctx, all_formats[f], TRINE_Z, 3, 3, 3, both), B;
        FAILS(TRINE_ERR_STRUCTURE, "entries (1,0) and (1,2) lie on both sides of the diagonal", trine_matrix_expand(A, &B, TRINE_SYMMETRIC));
        assert_null(B);
        OK(trine_matrix_destroy(&A));
        A = from_triplets(ctx, all_formats[f], TRINE_Z, 3, 3, 3, lower);
        FAILS(TRINE_ERR_STRUCTURE, "diagonal entry 0 is not zero in a skew", trine_matrix_expand(A, &B, TRINE_SKEW));
        FAILS(TRINE_ERR_STRUCTURE, "diagonal entry 0 is not real in a Hermitian", trine_matrix_expand(A, &B, TRINE_HERMITIAN));
        OK(trine_matrix_expand(A, &B, TRINE_SYMMETRIC));
        assert_int_equal(info_of(B).nnz, 4);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/** The same 4 x 3 matrix with a duplicate and an empty row, by hand. */
static void small_answers_are_right_to_the_last_entry(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    /* [ 0  5  2 ]      A^T: [ 0   -1+2i  0  0 ]
       [ -1+2i 0 0 ]         [ 5    0     0  3+4 ]
       [ 0  0  0 ]           [ 2    0     0  0 ]
       [ 0 3+4 0 ]                               */
    static const triplet list[] = {{0, 2, 2, 0}, {0, 1, 5, 0}, {1, 0, -1, 2}, {3, 1, 3, 0}, {3, 1, 4, 0}};
    EACH(t, all_types) {
        trine_matrix A = from_triplets(ctx, TRINE_CSR, all_types[t], 4, 3, 5, list), B;
        EACH_SPACE(ctx, A, V) {
            OK(trine_matrix_transpose(V, &B, TRINE_H));
            arrays b = fetch(ctx, B);
            assert_memory_equal(b.offsets, ((int64_t[]){0, 1, 4, 5}), 4 * sizeof(int64_t));
            assert_memory_equal(b.indices, ((int32_t[]){1, 0, 3, 3, 0}), 5 * sizeof(int32_t));
            const long double im = is_complex(all_types[t]) ? -2 : 0;
            const wide values[] = {make(-1, im), 5, 3, 4, 2};
            for (int k = 0; k < 5; k++) assert_true(element(all_types[t], b.values, k) == values[k]);
            release(b);
            OK(trine_matrix_destroy(&B));
            OK(trine_matrix_sort(V, &B, 1));
            b = fetch(ctx, B);
            assert_int_equal(info_of(B).nnz, 4);
            assert_memory_equal(b.offsets, ((int64_t[]){0, 2, 3, 3, 4}), 5 * sizeof(int64_t));
            assert_memory_equal(b.indices, ((int32_t[]){1, 2, 0, 1}), 4 * sizeof(int32_t));
            assert_true(element(all_types[t], b.values, 3) == 7);
            release(b);
            OK(trine_matrix_destroy(&B));
            double norm;
            OK(trine_matrix_norm(V, TRINE_NORM_INF, &norm));
            assert_true(norm == 7);
            OK(trine_matrix_norm(V, TRINE_NORM_ONE, &norm));
            assert_true(norm == 12);
            OK(trine_matrix_norm(V, TRINE_NORM_MAX, &norm));
            assert_true(norm == 5);
            OK(trine_matrix_norm(V, TRINE_NORM_FROBENIUS, &norm));
            assert_true(fabs(norm - sqrt(is_complex(all_types[t]) ? 59 : 55)) < 1e-14);
        }
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* A = [1 2; 0 3] in every width that a view takes. */
static void views_take_offsets_and_indices_of_32_and_64_bits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_context_info where;
    OK(trine_context_get_info(ctx, &where));
    const double values[] = {1, 2, 3};
    const int64_t wide_offsets[] = {0, 2, 3}, wide_indices[] = {0, 1, 1}, large[] = {0, INT64_C(1) << 31, 1}, negative[] = {0, 1, -1};
    const int32_t offsets[] = {0, 2, 3}, indices[] = {0, 1, 1};
    for (int device = 0; device <= (where.space == TRINE_DEVICE); device++) {
        const trine_space space = device ? TRINE_DEVICE : TRINE_HOST;
        for (int c = 0; c < 8; c++) {
            const int offset_bits = c & 1 ? 64 : 32, index_bits = c & 2 ? 64 : 32;
            const void *o = offset_bits == 64 ? (const void *)wide_offsets : offsets, *j = index_bits == 64 ? (const void *)wide_indices : indices, *v = values;
            if (device) {
                o = test_to_device(ctx, o, 3 * (size_t)offset_bits / 8);
                j = test_to_device(ctx, j, 3 * (size_t)index_bits / 8);
                v = test_to_device(ctx, v, sizeof values);
            }
            trine_matrix A;
            OK((c & 4 ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, TRINE_D, 2, 2, 3, space, offset_bits, o, index_bits, j, v));
            assert_int_equal(info_of(A).space, space);
            OK(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
            wide *D = dense(ctx, A);
            assert_true(D[0] == 1 && D[c & 4 ? 1 : 2] == 2 && D[c & 4 ? 2 : 1] == 0 && D[3] == 3);
            free(D);
            OK(trine_matrix_destroy(&A));
            if (device) {
                test_release(ctx, (void *)o);
                test_release(ctx, (void *)j);
                test_release(ctx, (void *)v);
            }
        }
    }
    trine_matrix A;
    FAILS(TRINE_ERR_ARGUMENT, "index 2147483648 at position 1 does not fit", trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 3, TRINE_HOST, 32, offsets, 64, large, values));
    assert_null(A);
    FAILS(TRINE_ERR_ARGUMENT, "index -1 at position 2 does not fit", trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 3, TRINE_HOST, 64, wide_offsets, 64, negative, values));
    FAILS(TRINE_ERR_ARGUMENT, "offsets run from 0 to 3, not from 0 to nnz = 2", trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(TRINE_ERR_ARGUMENT, "offsets run from 2 to 3", trine_matrix_csr(ctx, &A, TRINE_D, 1, 2, 3, TRINE_HOST, 64, wide_offsets + 1, 32, indices, values));
    OK(trine_context_destroy(&ctx));
}

static void a_pattern_stays_a_pattern(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int32_t offsets[] = {0, 3, 3, 5}, indices[] = {2, 0, 2, 1, 0};
    trine_matrix A, B;
    OK(trine_matrix_csr(ctx, &A, TRINE_C, 3, 3, 5, TRINE_HOST, 32, offsets, 32, indices, NULL));
    EACH_SPACE(ctx, A, V) for (int op = 0; op < 6; op++) {
        if (op == 0) OK(trine_matrix_copy(V, &B, TRINE_HOST, TRINE_CSC, TRINE_D));
        if (op == 1) OK(trine_matrix_transpose(V, &B, TRINE_H));
        if (op == 2) OK(trine_matrix_triangle(V, &B, TRINE_LOWER, TRINE_NONUNIT, 1));
        if (op == 3) OK(trine_matrix_permute(V, &B, (int32_t[]){2, 0, 1}, NULL));
        if (op == 4) OK(trine_matrix_sort(V, &B, 1));
        if (op == 5) {
            trine_matrix L;
            OK(trine_matrix_triangle(V, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
            OK(trine_matrix_expand(L, &B, TRINE_SKEW));
            OK(trine_matrix_destroy(&L));
        }
        const void *values;
        OK(trine_matrix_get_arrays(B, NULL, NULL, &values));
        assert_null(values);
        assert_int_equal(info_of(B).pattern, 1);
        assert_int_equal(info_of(B).nnz, ((int[]){5, 5, 5, 5, 4, 5})[op]);
        OK(trine_matrix_destroy(&B));
        double norm;
        float complex x[3] = {0}, y[3];
        trine_accuracy accuracy;
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_norm(V, TRINE_NORM_INF, &norm));
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_multiply(V, TRINE_N, NULL, x, NULL, y));
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_accuracy(V, 1, x, y, NULL, &accuracy));
        OK(trine_matrix_check(V, TRINE_CHECK_FINITE));
        trine_matrix_structure s;
        OK(trine_matrix_get_structure(V, &s));
        assert_true(s.norm_inf == 2 && s.duplicates == 1 && s.nnz == 5);
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------- checks */

static void a_check_names_the_first_offence(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const double values[] = {1, 2, 0, 4, NAN, 6};
    const struct {
        int32_t offsets[5], indices[6];
        unsigned flags;
        trine_status status;
        const char *by_row, *by_column;
    } cases[] = {
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 2, 3}, TRINE_CHECK_SORTED | TRINE_CHECK_DIAGONAL, TRINE_SUCCESS, "", ""},
        {{0, 3, 2, 4, 6}, {0, 1, 1, 2, 2, 3}, 0, TRINE_ERR_STRUCTURE, "offsets fall from 3 to 2 in row 1", "offsets fall from 3 to 2 in column 1"},
        {{0, 9, 9, 9, 6}, {0, 1, 1, 2, 2, 3}, 0, TRINE_ERR_STRUCTURE, "offsets fall from 9 to 6 in row 3", "offsets fall from 9 to 6 in column 3"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 40, 3}, 0, TRINE_ERR_STRUCTURE, "column index 40 in row 3 is outside 0..3", "row index 40 in column 3 is outside 0..3"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, -2, 2, 3}, 0, TRINE_ERR_STRUCTURE, "column index -2 in row 2 is outside 0..3", "row index -2 in column 2 is outside 0..3"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 3, 2}, 0, TRINE_SUCCESS, "", ""},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 3, 2}, TRINE_CHECK_SORTED, TRINE_ERR_STRUCTURE, "column index 2 follows 3 in row 3", "row index 2 follows 3 in column 3"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 1, 2, 3}, TRINE_CHECK_SORTED, TRINE_ERR_STRUCTURE, "column index 1 follows 1 in row 2", "row index 1 follows 1 in column 2"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 2, 3}, TRINE_CHECK_FINITE, TRINE_ERR_STRUCTURE, "the value at column 2 in row 3 is NaN", "the value at row 2 in column 3 is NaN"},
        {{0, 1, 2, 4, 6}, {0, 3, 1, 2, 2, 3}, TRINE_CHECK_DIAGONAL, TRINE_ERR_SINGULAR, "diagonal entry of row 1 is missing", "diagonal entry of row 1 is missing"},
        {{0, 1, 2, 4, 6}, {0, 1, 2, 0, 2, 3}, TRINE_CHECK_DIAGONAL, TRINE_ERR_SINGULAR, "diagonal entry of row 2 is zero", "diagonal entry of row 2 is zero"},
        {{0, 1, 2, 4, 6}, {0, 1, 2, 2, 2, 3}, TRINE_CHECK_DIAGONAL, TRINE_SUCCESS, "", ""}, /* 0 + 4, duplicates */
    };
    EACH(c, cases) EACH(t, all_types) for (int columns = 0; columns < 2; columns++) {
        double complex converted[6];
        for (int k = 0; k < 6; k++) set_element(all_types[t], converted, k, values[k]);
        trine_matrix A;
        OK((columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, all_types[t], 4, 4, 6, TRINE_HOST, 32, cases[c].offsets, 32, cases[c].indices, converted));
        EACH_SPACE(ctx, A, V) {
            const trine_status status = trine_matrix_check(V, cases[c].flags);
            FAILS(cases[c].status, cases[c].status ? columns ? cases[c].by_column : cases[c].by_row : NULL, status);
        }
        OK(trine_matrix_destroy(&A));
    }
    static const triplet infinite[] = {{0, 0, 1, 0}, {1, 0, 1, INFINITY}};
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_C, 2, 1, 2, infinite);
    FAILS(TRINE_ERR_STRUCTURE, "the value at column 0 in row 1 is NaN or Inf", trine_matrix_check(A, TRINE_CHECK_FINITE));
    FAILS(TRINE_ERR_STRUCTURE, "2 x 1 is not square", trine_matrix_check(A, TRINE_CHECK_DIAGONAL));
    FAILS(TRINE_ERR_ARGUMENT, "flags 0x8 are unknown", trine_matrix_check(A, 8));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSC, TRINE_S, 0, 0, 0, NULL, NULL, NULL));
    OK(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/** Everything that makes a matrix of a matrix, and everything that measures one; used where all must behave alike. */
enum { OPERATIONS = 11 };
static trine_status operation(int which, trine_matrix A, trine_matrix *B)
{
    static const int32_t perm[] = {2, 0, 3, 1};
    const double complex x[4] = {1, 2, 3, 4};
    double complex y[4] = {0};
    double norm;
    trine_accuracy accuracy;
    trine_matrix_structure structure;
    *B = NULL;
    switch (which) {
    case 0: return trine_matrix_copy(A, B, TRINE_HOST, TRINE_CSC, TRINE_D);
    case 1: return trine_matrix_copy(A, B, TRINE_HOST, TRINE_CSR, TRINE_Z);
    case 2: return trine_matrix_transpose(A, B, TRINE_T);
    case 3: return trine_matrix_expand(A, B, TRINE_SYMMETRIC);
    case 4: return trine_matrix_triangle(A, B, TRINE_LOWER, TRINE_NONUNIT, 1);
    case 5: return trine_matrix_permute(A, B, perm, perm);
    case 6: return trine_matrix_sort(A, B, 1);
    case 7: return trine_matrix_norm(A, TRINE_NORM_ONE, &norm);
    case 8: return trine_matrix_multiply(A, TRINE_T, NULL, x, NULL, y);
    case 9: return trine_matrix_accuracy(A, 1, x, x, y, &accuracy);
    default: return trine_matrix_get_structure(A, &structure);
    }
}

static void mangled_arrays_are_noticed_by_every_operation(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const double values[] = {1, 2, 3, 4};
    static const int64_t good[] = {0, 1, 2, 3, 4}, falling[] = {0, 3, 2, 3, 4}, beyond[] = {0, INT64_C(1) << 40, INT64_C(1) << 40, 3, 4},
                         negative[] = {0, -5, 2, 3, 4};
    static const int32_t fine[] = {0, 0, 1, 2}, large[] = {0, 0, 1, INT_MAX}, below[] = {0, -1, 1, 2};
    const struct { const int64_t *offsets; const int32_t *indices; } mangled[] = {{falling, fine}, {beyond, fine}, {negative, fine}, {good, large}, {good, below}};
    EACH(m, mangled) for (int which = 0; which < OPERATIONS; which++) for (int columns = 0; columns < 2; columns++) {
        trine_matrix A, B;
        OK((columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, TRINE_S, 4, 4, 4, TRINE_HOST, 64, mangled[m].offsets, 32, mangled[m].indices, values));
        FAILS(TRINE_ERR_STRUCTURE, NULL, operation(which, A, &B));
        assert_null(B);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void every_allocation_of_every_operation_may_fail(void **state)
{
    (void)state;
    static const triplet lower[] = {{0, 0, 1, 0}, {1, 0, 2, 0}, {2, 1, 3, 0}, {3, 3, 4, 0}, {3, 0, 5, 0}};
    for (int which = 0; which < OPERATIONS; which++) EACH(f, all_formats) for (int device = 0; device <= test_on_gpu(); device++) {
        for (int k = 1;; k++) {
            trine_context ctx = test_context();
            trine_matrix A, B;
            test_memory memory = {0};
            test_fail_allocations(ctx, &memory);
            A = from_triplets(ctx, all_formats[f], TRINE_D, 4, 4, 5, lower);
            trine_matrix V = device ? on_device(ctx, A) : A;
            const int64_t before = memory.live;
            memory.fail_at = memory.calls + k;
            const trine_status status = operation(which, V, &B);
            const bool reached = memory.calls >= memory.fail_at;
            memory.fail_at = 0;
            if (status) {
                assert_int_equal(status, TRINE_ERR_MEMORY);
                assert_non_null(strstr(trine_last_error(), "memory"));
                assert_null(B);
                assert_int_equal(memory.live, before);
            }
            OK(trine_matrix_destroy(&B));
            drop(A, V);
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
            assert_int_equal(memory.live, 0);
            assert_int_equal(status != TRINE_SUCCESS, reached);
            if (!status) break;
        }
    }
}

static void every_allocation_of_a_view_may_fail(void **state)
{
    (void)state;
    static const int32_t offsets[] = {0, 1, 2};
    static const int64_t indices[] = {0, 1};
    static const double values[] = {1, 2};
    for (int k = 1;; k++) {
        trine_context ctx;
        trine_matrix A;
        test_memory memory = {.fail_at = k};
        OK(trine_context_create(&ctx, "cpu"));
        test_fail_allocations(ctx, &memory);
        const trine_status status = trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 64, indices, values);
        if (status) assert_null(A);
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
        assert_int_equal(memory.live, 0);
        if (!status) break;
        assert_int_equal(status, TRINE_ERR_MEMORY);
    }
}

static void every_wrong_argument_is_named(void **state)
{
    (void)state;
    trine_context ctx, cpu;
    OK(trine_context_create(&ctx, "cpu"));
    cpu = ctx;
    static const triplet list[] = {{0, 0, 1, 0}, {1, 1, 2, 0}};
    static const int32_t offsets[] = {0, 1, 2}, indices[] = {0, 1};
    const double values[] = {1, 2};
    double x[2] = {1, 1}, y[2] = {0};
    double norm;
    trine_accuracy accuracy;
    trine_matrix_structure structure;
    trine_matrix_info info;
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, 2, 2, 2, list), B = A;
    const trine_status wrong = TRINE_ERR_ARGUMENT;

    FAILS(wrong, "A is NULL", trine_matrix_csr(ctx, NULL, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "ctx is NULL", trine_matrix_csr(NULL, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    assert_null(B);
    FAILS(wrong, "dtype 0", trine_matrix_csr(ctx, &B, (trine_dtype)0, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "-2 rows", trine_matrix_csr(ctx, &B, TRINE_D, -2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "2147483648 columns", trine_matrix_csr(ctx, &B, TRINE_D, 2, INT64_C(1) << 31, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "-1 entries", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, -1, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "no device memory", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_DEVICE, 32, offsets, 32, indices, values));
    FAILS(wrong, "offset_bits is 16", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 16, offsets, 32, indices, values));
    FAILS(wrong, "index_bits is 8", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 8, indices, values));
    FAILS(wrong, "offsets is NULL", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, NULL, 32, indices, values));
    FAILS(wrong, "indices is NULL", trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, NULL, values));
    FAILS(wrong, "A is NULL", trine_matrix_allocate(ctx, NULL, TRINE_CSR, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "ctx is NULL", trine_matrix_allocate(NULL, &B, TRINE_CSR, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "format 7", trine_matrix_allocate(ctx, &B, (trine_format)7, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_info(NULL, &info));
    FAILS(wrong, "info is NULL", trine_matrix_get_info(A, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_arrays(NULL, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_check(NULL, 0));

    FAILS(wrong, "B is NULL", trine_matrix_copy(A, NULL, TRINE_HOST, TRINE_CSR, TRINE_D));
    FAILS(wrong, "A is NULL", trine_matrix_copy(NULL, &B, TRINE_HOST, TRINE_CSR, TRINE_D));
    FAILS(wrong, "space 5", trine_matrix_copy(A, &B, (trine_space)5, TRINE_CSR, TRINE_D));
    FAILS(wrong, "a CPU context has no device memory", trine_matrix_copy(A, &B, TRINE_DEVICE, TRINE_CSR, TRINE_D));
    FAILS(wrong, "format 3", trine_matrix_copy(A, &B, TRINE_HOST, (trine_format)3, TRINE_D));
    FAILS(wrong, "dtype 5", trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, (trine_dtype)5));
    FAILS(wrong, "B is NULL", trine_matrix_transpose(A, NULL, TRINE_T));
    FAILS(wrong, "A is NULL", trine_matrix_transpose(NULL, &B, TRINE_T));
    FAILS(wrong, "op 1 is neither T nor H", trine_matrix_transpose(A, &B, TRINE_N));
    FAILS(wrong, "B is NULL", trine_matrix_expand(A, NULL, TRINE_SKEW));
    FAILS(wrong, "A is NULL", trine_matrix_expand(NULL, &B, TRINE_SKEW));
    FAILS(wrong, "symmetry 0", trine_matrix_expand(A, &B, TRINE_GENERAL));
    FAILS(wrong, "B is NULL", trine_matrix_triangle(A, NULL, TRINE_LOWER, TRINE_UNIT, 0));
    FAILS(wrong, "A is NULL", trine_matrix_triangle(NULL, &B, TRINE_LOWER, TRINE_UNIT, 0));
    FAILS(wrong, "uplo 0", trine_matrix_triangle(A, &B, TRINE_UPLO_AUTO, TRINE_UNIT, 0));
    FAILS(wrong, "diag 2", trine_matrix_triangle(A, &B, TRINE_LOWER, (trine_diag)2, 0));
    FAILS(wrong, "B is NULL", trine_matrix_permute(A, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_permute(NULL, &B, NULL, NULL));
    FAILS(wrong, "B is NULL", trine_matrix_sort(A, NULL, 0));
    FAILS(wrong, "A is NULL", trine_matrix_sort(NULL, &B, 0));
    assert_null(B);

    FAILS(wrong, "A is NULL", trine_matrix_norm(NULL, TRINE_NORM_INF, &norm));
    FAILS(wrong, "norm is NULL", trine_matrix_norm(A, TRINE_NORM_INF, NULL));
    FAILS(wrong, "norm 4", trine_matrix_norm(A, (trine_norm)4, &norm));
    FAILS(wrong, "A is NULL", trine_matrix_multiply(NULL, TRINE_N, NULL, x, NULL, y));
    FAILS(wrong, "op 3", trine_matrix_multiply(A, (trine_transpose)3, NULL, x, NULL, y));
    FAILS(wrong, "x is NULL", trine_matrix_multiply(A, TRINE_N, NULL, NULL, NULL, y));
    FAILS(wrong, "y is NULL", trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, NULL));
    FAILS(wrong, "x and y are the same", trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, x));
    FAILS(wrong, "A is NULL", trine_matrix_accuracy(NULL, 1, x, y, NULL, &accuracy));
    FAILS(wrong, "-1 right-hand sides", trine_matrix_accuracy(A, -1, x, y, NULL, &accuracy));
    FAILS(wrong, "x is NULL", trine_matrix_accuracy(A, 1, NULL, y, NULL, &accuracy));
    FAILS(wrong, "b is NULL", trine_matrix_accuracy(A, 1, x, NULL, NULL, &accuracy));
    FAILS(wrong, "x and r are the same", trine_matrix_accuracy(A, 1, x, y, x, &accuracy));
    FAILS(wrong, "accuracy is NULL", trine_matrix_accuracy(A, 1, x, y, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_structure(NULL, &structure));
    FAILS(wrong, "s is NULL", trine_matrix_get_structure(A, NULL));

    const trine_dense X = {x, 2, 1, 0, TRINE_COLMAJOR}, Y = {y, 2, 1, 0, TRINE_COLMAJOR};
    trine_dense bad = Y;
    FAILS(wrong, "ctx is NULL", trine_vectors_permute(NULL, TRINE_D, NULL, NULL, 0, &X, &Y, NULL));
    FAILS(wrong, "dtype 9", trine_vectors_permute(cpu, (trine_dtype)9, NULL, NULL, 0, &X, &Y, NULL));
    FAILS(wrong, "X is NULL", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, NULL, &Y, NULL));
    FAILS(wrong, "Y is NULL", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, NULL, NULL));
    FAILS(wrong, "same array", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &X, NULL));
    bad.rows = 3;
    FAILS(wrong, "Y has 3 rows, not 2", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad.rows = -1;
    FAILS(wrong, "X has -1 rows", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &bad, &Y, NULL));
    bad = Y, bad.cols = 2, bad.layout = TRINE_ROWMAJOR;
    FAILS(wrong, "Y has 2 columns, not 1", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = Y, bad.ld = 1;
    FAILS(wrong, "leading dimension 1", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = Y, bad.data = NULL;
    FAILS(wrong, "Y has no data", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(NULL));
    OK(trine_context_destroy(&ctx));
}

static void a_matrix_outlives_its_context_handle(void **state)
{
    (void)state;
    trine_context ctx = test_context(), kept = ctx;
    trine_matrix A = random_matrix(ctx, TRINE_CSR, TRINE_D, 5, 7, 1), B;
    OK(trine_context_destroy(&ctx));
    OK(trine_matrix_transpose(A, &B, TRINE_T));
    OK(trine_matrix_destroy(&A));
    wide *D = dense(kept, B); /* B still holds the context */
    free(D);
    OK(trine_matrix_destroy(&B));
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

static void check_norm(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)D;
    const trine_matrix_info a = info_of(A);
    arrays v = fetch(ctx, A);
    long double rows[64] = {0}, cols[64] = {0}, squares = 0, most = 0, row_norm = 0, col_norm = 0;
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
            const long double size = cabsl(element(a.dtype, v.values, k));
            rows[a.format == TRINE_CSR ? i : v.indices[k]] += size;
            cols[a.format == TRINE_CSR ? v.indices[k] : i] += size;
            squares += size * size;
            most = fmaxl(most, size);
        }
    for (int i = 0; i < 64; i++) row_norm = fmaxl(row_norm, rows[i]), col_norm = fmaxl(col_norm, cols[i]);
    const long double expected[] = {[TRINE_NORM_INF] = row_norm, [TRINE_NORM_ONE] = col_norm, [TRINE_NORM_FROBENIUS] = sqrtl(squares), [TRINE_NORM_MAX] = most};
    EACH(n, expected) {
        double norm = -1;
        OK(trine_matrix_norm(A, (trine_norm)n, &norm));
        assert_true(fabsl(norm - expected[n]) <= 1e-14L * expected[n]);
    }
    if (info_of(A).space == TRINE_HOST && a.nnz) { /* NaN and Inf are never lost, wherever they are */
        trine_matrix B;
        const void *values;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, a.format, a.dtype));
        OK(trine_matrix_get_arrays(B, NULL, NULL, &values));
        set_element(a.dtype, (void *)values, a.nnz / 2, INFINITY);
        EACH(n, expected) {
            double norm;
            OK(trine_matrix_norm(B, (trine_norm)n, &norm));
            assert_true(isinf(norm));
        }
        set_element(a.dtype, (void *)values, a.nnz / 2, NAN);
        EACH(n, expected) {
            double norm;
            OK(trine_matrix_norm(B, (trine_norm)n, &norm));
            assert_true(isnan(norm));
        }
        OK(trine_matrix_destroy(&B));
    }
    release(v);
}
static void norms_are_what_long_double_says_and_keep_nan(void **state)
{
    (void)state;
    for_random_matrices(check_norm);
}

static void the_frobenius_norm_neither_overflows_nor_underflows(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet big[] = {{0, 0, 3e300, 0}, {1, 0, 4e300, 0}}, tiny[] = {{0, 0, 3e-300, 0}, {1, 0, 4e-300, 0}};
    double norm;
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_Z, 2, 1, 2, big), B = from_triplets(ctx, TRINE_CSC, TRINE_D, 2, 1, 2, tiny);
    OK(trine_matrix_norm(A, TRINE_NORM_FROBENIUS, &norm));
    assert_true(fabs(norm / 5e300 - 1) < 1e-15);
    OK(trine_matrix_norm(B, TRINE_NORM_FROBENIUS, &norm));
    assert_true(fabs(norm / 5e-300 - 1) < 1e-15);
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&B));
    OK(trine_context_destroy(&ctx));
}

/** The parallel loops: 60 000 entries, by rows and by columns, one thread and three. */
static void threads_do_not_change_a_single_bit(void **state)
{
    (void)state;
    const int64_t n = 20000;
    EACH(t, all_types) EACH(f, all_formats) {
        const trine_dtype type = all_types[t];
        void *x = random_vector(type, n, 1), *b = random_vector(type, n, 2), *y[2], *z[2], *r[2];
        trine_accuracy accuracy[2];
        for (int threads = 0; threads < 2; threads++) {
            trine_context ctx;
            OK(trine_context_create(&ctx, threads ? "cpu:3" : "cpu:1"));
            trine_matrix A = random_matrix(ctx, all_formats[f], type, n, n, 4);
            assert_true(info_of(A).nnz > 30000);
            y[threads] = random_vector(type, n, 3);
            z[threads] = random_vector(type, n, 3);
            r[threads] = random_vector(type, n, 3);
            OK(trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, y[threads]));
            OK(trine_matrix_multiply(A, TRINE_H, NULL, x, NULL, z[threads]));
            OK(trine_matrix_accuracy(A, 1, x, b, r[threads], &accuracy[threads]));
            arrays v = fetch(ctx, A); /* r = b - A x, entry by entry */
            wide *residual = malloc((size_t)n * sizeof *residual);
            for (int64_t i = 0; i < n; i++) residual[i] = element(type, b, i);
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
                    const int64_t row = f ? v.indices[k] : i, col = f ? i : v.indices[k];
                    residual[row] -= element(type, v.values, k) * element(type, x, col);
                }
            for (int64_t i = 0; i < n; i++) {
                assert_true(cabsl(element(type, r[threads], i) - residual[i]) <= eps_of(type) * cabsl(residual[i]));
                assert_true(cabsl(element(type, b, i) - element(type, y[threads], i) - residual[i]) <= 100 * eps_of(type));
            }
            free(residual);
            release(v);
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
        }
        const size_t bytes = (size_t)n * trine_dtype_size(type);
        assert_memory_equal(y[0], y[1], bytes);
        assert_memory_equal(z[0], z[1], bytes);
        assert_memory_equal(r[0], r[1], bytes);
        assert_memory_equal(&accuracy[0], &accuracy[1], sizeof accuracy[0]);
        for (int i = 0; i < 2; i++) free(y[i]), free(z[i]), free(r[i]);
        free(x);
        free(b);
    }
}

static void accuracy_of_known_errors_is_known(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    /* A = diag(2, 4), x = (1, 1 + eps): r = (0, -4 eps), ||A|| = 4, ||x|| = 1 + eps, ||b|| = 4 */
    static const triplet list[] = {{0, 0, 2, 0}, {1, 1, 4, 0}};
    EACH(t, all_types) {
        const trine_dtype type = all_types[t];
        const double eps = eps_of(type);
        trine_matrix A = from_triplets(ctx, TRINE_CSC, type, 2, 2, 2, list);
        double complex x[4], b[4], r[4];
        for (int i = 0; i < 4; i++) set_element(type, x, i, 1), set_element(type, b, i, i % 2 ? 4 : 2);
        set_element(type, x, 3, 1 + eps); /* the second column */
        trine_accuracy a;
        OK(trine_matrix_accuracy(A, 2, x, b, r, &a));
        assert_true(fabs(a.backward_error - 0.5) < 1e-6);
        assert_true(fabs(a.residual / eps - 1) < 1e-6);
        assert_true(fabs(a.componentwise / (eps / 2) - 1) < 1e-6);
        assert_true(element(type, r, 2) == 0 && element(type, r, 3) == -4 * eps);
        for (int i = 0; i < 2; i++) set_element(type, b, i, 0); /* b = 0: the residual itself */
        OK(trine_matrix_accuracy(A, 1, x, b, NULL, &a));
        assert_true(a.residual == 4 && fabs(a.backward_error * eps - 1) < 1e-15 && a.componentwise == 1);
        set_element(type, x, 0, INFINITY);
        OK(trine_matrix_accuracy(A, 1, x, b, NULL, &a));
        assert_true(!(a.backward_error < 1 / eps)); /* NaN or Inf: nothing that looks right */
        OK(trine_matrix_accuracy(A, 0, NULL, NULL, NULL, &a));
        assert_true(a.backward_error == 0 && a.residual == 0 && a.componentwise == 0);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- structure */

static void check_structure(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    const int64_t n = a.n_rows, m = a.n_cols;
    arrays v = fetch(ctx, A);
    int *count = calloc((size_t)(n * m) + 1, sizeof *count);
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? n : m); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++)
            count[a.format == TRINE_CSR ? i + v.indices[k] * n : v.indices[k] + i * n]++;
    trine_matrix_structure e = {.n_rows = n, .n_cols = m, .nnz = a.nnz, .min_row = n ? INT64_MAX : 0, .pattern_symmetric = n == m, .symmetric = n == m,
                                .hermitian = n == m, .positive_diagonal = 1, .cyclic_tridiagonal = n == m}, s;
    int64_t distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t entries = 0, bin = 0;
        long double sum = 0;
        for (int64_t j = 0; j < m; j++) {
            const int here = count[i + j * n];
            const wide value = D[i + j * n];
            if (here) {
                entries++;
                e.explicit_zeros += value == 0;
                e.lower_bandwidth = i - j > e.lower_bandwidth ? i - j : e.lower_bandwidth;
                e.upper_bandwidth = j - i > e.upper_bandwidth ? j - i : e.upper_bandwidth;
                if (llabs((long long)(i - j)) > 1 && llabs((long long)(i - j)) != n - 1) e.cyclic_tridiagonal = 0;
                sum += cabsl(value);
            }
            if (i == j) {
                e.diagonal_present += here > 0;
                e.diagonal_zero += here > 0 && value == 0;
                if (!here || cimagl(value) != 0 || creall(value) <= 0) e.positive_diagonal = 0;
            }
            if (n == m) {
                if (!here != !count[j + i * n]) e.pattern_symmetric = e.symmetric = e.hermitian = 0;
                if (value != D[j + i * n]) e.symmetric = 0;
                if (value != conjl(D[j + i * n])) e.hermitian = 0;
            }
        }
        distinct += entries;
        e.empty_rows += entries == 0;
        e.min_row = entries < e.min_row ? entries : e.min_row;
        e.max_row = entries > e.max_row ? entries : e.max_row;
        while (entries > (INT64_C(1) << bin)) bin++;
        e.row_histogram[bin]++;
        e.norm_inf = fmax(e.norm_inf, (double)sum);
    }
    e.duplicates = a.nnz - distinct;
    e.mean_row = n ? (double)distinct / (double)n : 0;
    e.lower_triangular = e.upper_bandwidth == 0;
    e.upper_triangular = e.lower_bandwidth == 0;
    OK(trine_matrix_get_structure(A, &s));
    assert_true(fabs(s.norm_inf - e.norm_inf) <= 1e-14 * e.norm_inf);
    s.norm_inf = e.norm_inf;
    assert_int_equal(s.duplicates, e.duplicates);
    assert_int_equal(s.explicit_zeros, e.explicit_zeros);
    assert_int_equal(s.diagonal_present, e.diagonal_present);
    assert_int_equal(s.diagonal_zero, e.diagonal_zero);
    assert_int_equal(s.lower_bandwidth, e.lower_bandwidth);
    assert_int_equal(s.upper_bandwidth, e.upper_bandwidth);
    assert_int_equal(s.pattern_symmetric, e.pattern_symmetric);
    assert_int_equal(s.symmetric, e.symmetric);
    assert_int_equal(s.hermitian, e.hermitian);
    assert_int_equal(s.positive_diagonal, e.positive_diagonal);
    assert_int_equal(s.cyclic_tridiagonal, e.cyclic_tridiagonal);
    assert_int_equal(s.min_row, e.min_row);
    assert_memory_equal(s.row_histogram, e.row_histogram, sizeof s.row_histogram);
    assert_true(s.max_row == e.max_row && s.empty_rows == e.empty_rows && s.mean_row == e.mean_row && s.nnz == e.nnz);
    assert_true(s.n_rows == n && s.n_cols == m && s.lower_triangular == e.lower_triangular && s.upper_triangular == e.upper_triangular);
    free(count);
    release(v);
}
static void check_structure_of_symmetric(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)D;
    if (info_of(A).n_rows != info_of(A).n_cols) return;
    for (int symmetry = TRINE_SYMMETRIC; symmetry <= TRINE_HERMITIAN; symmetry++) {
        trine_matrix L, S;
        OK(trine_matrix_triangle(A, &L, TRINE_UPPER, symmetry == TRINE_SYMMETRIC ? TRINE_NONUNIT : TRINE_UNIT, symmetry == TRINE_HERMITIAN));
        OK(trine_matrix_expand(L, &S, (trine_symmetry)symmetry));
        wide *E = dense(ctx, S);
        check_structure(ctx, S, E);
        trine_matrix_structure s;
        OK(trine_matrix_get_structure(S, &s));
        assert_true(s.pattern_symmetric && (symmetry == TRINE_SKEW || (symmetry == TRINE_SYMMETRIC ? s.symmetric : s.hermitian)));
        free(E);
        OK(trine_matrix_destroy(&S));
        OK(trine_matrix_destroy(&L));
    }
}
static void structure_is_what_the_dense_matrix_shows(void **state)
{
    (void)state;
    for_random_matrices(check_structure);
    for_random_matrices(check_structure_of_symmetric);
}

static void tridiagonal_and_cyclic_matrices_are_recognized(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet list[] = {{0, 0, 2, 0}, {0, 1, -1, 0}, {0, 3, -1, 1}, {1, 0, -1, 0}, {1, 1, 0, 0}, {1, 2, -1, 0}, {2, 1, -1, 0},
                                   {2, 2, 2, 0}, {2, 3, -1, 0}, {3, 0, -1, -1}, {3, 2, -1, 0}, {3, 3, 2, 0}};
    EACH(f, all_formats) {
        trine_matrix A = from_triplets(ctx, all_formats[f], TRINE_C, 4, 4, 12, list);
        trine_matrix_structure s;
        EACH_SPACE(ctx, A, V) {
            OK(trine_matrix_get_structure(V, &s));
            assert_true(s.cyclic_tridiagonal && s.lower_bandwidth == 3 && s.upper_bandwidth == 3 && s.hermitian && !s.symmetric);
            assert_true(s.diagonal_present == 4 && s.diagonal_zero == 1 && s.explicit_zeros == 1 && !s.positive_diagonal);
            assert_true(s.row_histogram[2] == 4 && s.min_row == 3 && s.max_row == 3 && s.mean_row == 3 && s.duplicates == 0);
        }
        OK(trine_matrix_destroy(&A));
        A = from_triplets(ctx, all_formats[f], TRINE_D, 4, 4, 3, list); /* its first row: (0,3) is a corner, (1,*) are empty */
        OK(trine_matrix_get_structure(A, &s));
        assert_true(s.cyclic_tridiagonal && s.upper_triangular && !s.lower_triangular && s.empty_rows == 3 && !s.pattern_symmetric);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
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
        int32_t *inverse_perm = malloc((size_t)n * sizeof *perm + 1);
        random_permutation(n, 77, perm, inverse_perm);
        free(inverse_perm);
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
        cmocka_unit_test(a_permutation_and_its_inverse_cancel),
        cmocka_unit_test(what_is_not_a_permutation_is_refused),
        cmocka_unit_test(a_triangle_expands_to_the_whole_matrix),
        cmocka_unit_test(what_is_not_a_triangle_is_not_expanded),
        cmocka_unit_test(small_answers_are_right_to_the_last_entry),
        cmocka_unit_test(views_take_offsets_and_indices_of_32_and_64_bits),
        cmocka_unit_test(a_pattern_stays_a_pattern),
        cmocka_unit_test(a_check_names_the_first_offence),
        cmocka_unit_test(mangled_arrays_are_noticed_by_every_operation),
        cmocka_unit_test(every_allocation_of_every_operation_may_fail),
        cmocka_unit_test(every_allocation_of_a_view_may_fail),
        cmocka_unit_test(every_wrong_argument_is_named),
        cmocka_unit_test(a_matrix_outlives_its_context_handle),
        cmocka_unit_test(a_product_is_as_right_as_its_precision),
        cmocka_unit_test(accuracy_is_what_long_double_says),
        cmocka_unit_test(norms_are_what_long_double_says_and_keep_nan),
        cmocka_unit_test(the_frobenius_norm_neither_overflows_nor_underflows),
        cmocka_unit_test(threads_do_not_change_a_single_bit),
        cmocka_unit_test(accuracy_of_known_errors_is_known),
        cmocka_unit_test(structure_is_what_the_dense_matrix_shows),
        cmocka_unit_test(tridiagonal_and_cyclic_matrices_are_recognized),
        cmocka_unit_test(permuted_vectors_have_the_right_rows_in_every_layout),
    };
    return TEST_MAIN(tests);
}
