/* The sparse container behind trine_matrix; seen by src/matrix only. */
#ifndef TRINE_MATRIX_MATRIX_H
#define TRINE_MATRIX_MATRIX_H

#include <trine/matrix.h>

#include "core/internal.h"

struct trine_matrix_s {
    int refs;
    trine_context ctx;
    trine_format format;
    trine_dtype dtype;
    trine_space space;
    trine_symmetry symmetry;       /* as the file declared it */
    bool made_up_values;           /* of a pattern file */
    int64_t n_rows, n_cols, nnz;
    int64_t *offsets;              /* major dimension + 1 */
    const int32_t *offsets32;      /* of a view that was given 32 bits: the caller's; else NULL */
    int32_t *indices;
    void *values;                  /* NULL for a pattern */
    bool owns_offsets, owns_indices, owns_values;
};

/** Rows of a CSR matrix, columns of a CSC one. */
static inline int64_t matrix_major(trine_matrix A) { return A->format == TRINE_CSR ? A->n_rows : A->n_cols; }
static inline int64_t matrix_minor(trine_matrix A) { return A->format == TRINE_CSR ? A->n_cols : A->n_rows; }

/** The owned host matrix of trine_matrix_allocate; with_values = false makes a pattern. */
trine_status matrix_new(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t, int64_t n_rows,
                        int64_t n_cols, int64_t nnz, bool with_values);
/** B = A as it is, its arrays copied to `space`. Nothing is checked. */
trine_status matrix_clone(trine_matrix A, trine_matrix *B, trine_space space);
/** H = A on the host, with offsets and indices that can be trusted (else TRINE_ERR_STRUCTURE): a copy of a matrix in
 *  device memory, A itself with one more reference otherwise. Give it back with trine_matrix_destroy. A and H must
 *  not be NULL. */
trine_status matrix_to_host(trine_matrix A, trine_matrix *H);
/** The same in `format`: A is transposed into the other one if need be. */
trine_status matrix_to_host_format(trine_matrix A, trine_matrix *H, trine_format format);

typedef enum { VALUE_KEEP, VALUE_CONJUGATE, VALUE_NEGATE } value_map;
/** B in `format`, from the host matrix A that was checked: A itself in the other format, or A^T in A's. Indices
 *  ascend in each row, duplicates keep their order. */
trine_status matrix_flip(trine_matrix A, trine_matrix *B, trine_format format, value_map map);
/** Indices ascending in each row of a host matrix; strictly: without duplicates. */
bool matrix_is_sorted(trine_matrix A, bool strictly);
/** Position of the first value of a host matrix that is NaN or Inf, -1 if all are finite; *row takes its row. */
int64_t matrix_find_not_finite(trine_matrix A, int64_t *row);

#endif
