/* What the tests of sparse containers share: elements, random matrices, dense copies, and the same matrix in every
 * space. */
#ifndef TRINE_MATRIX_SUPPORT_H
#define TRINE_MATRIX_SUPPORT_H

#include "elements.h"
#include "harness.h"

static const trine_format all_formats[] = {TRINE_CSR, TRINE_CSC};
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define EACH(i, a) for (size_t i = 0; i < COUNT(a); i++)

/** re + i im, exact for NaN and Inf too. */
wide make(long double re, long double im);
/** A multiple of 1/64 in (-1, 1), never 0: sums and products of a few are exact in every precision. */
long double small_fraction(uint64_t seed, uint64_t k);
wide random_value(trine_dtype t, uint64_t seed, uint64_t k);
/** Unsorted, with duplicates and empty rows. */
trine_matrix random_matrix(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols,
                           uint64_t seed);
/** A host matrix from triplets in row-major (CSR) or column-major (CSC) order of the list's first coordinate. */
typedef struct {
    int row, col;
    double re, im;
} triplet;
trine_matrix from_triplets(trine_context ctx, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols,
                           int64_t nnz, const triplet *list);
/** out[i] = a random permutation of 0..n-1, inverse its inverse. */
void random_permutation(int64_t n, uint64_t seed, int32_t *out, int32_t *inverse);
trine_matrix_info info_of(trine_matrix A);
/** The arrays of a matrix on the host, wherever it lives. */
typedef struct {
    int64_t *offsets;
    int32_t *indices;
    void *values;
} arrays;
arrays fetch(trine_context ctx, trine_matrix A);
void release(arrays a);
/** Dense column-major long double, duplicates summed; ones for a pattern. */
wide *dense(trine_context ctx, trine_matrix A);
void assert_dense_equal(const wide *a, const wide *b, int64_t count);
/** Format, type, shape and every array the same, bit by bit. */
void assert_same(trine_context ctx, trine_matrix A, trine_matrix B);
/** A and, on a GPU, the same in device memory: what every operation must take alike. */
#define EACH_SPACE(ctx, A, V) \
    for (trine_matrix V = A; V; V = (V == A && test_on_gpu()) ? on_device(ctx, A) : drop(A, V))
trine_matrix on_device(trine_context ctx, trine_matrix A);
trine_matrix drop(trine_matrix A, trine_matrix V);
/** body(ctx, A, D): for random matrices of every type, format, shape and space; D is A dense. */
typedef void (*body)(trine_context ctx, trine_matrix A, const wide *D);
void for_random_matrices(body test);

#endif
