/* The sparse container behind trine_matrix; seen by src/matrix only. */
#ifndef TRINE_MATRIX_INTERNAL_H
#define TRINE_MATRIX_INTERNAL_H

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
    int32_t *indices;
    void *values;                  /* NULL for a pattern */
    bool owns_offsets, owns_indices, owns_values;
};

/** Rows of a CSR matrix, columns of a CSC one. */
static inline int64_t matrix_major(trine_matrix A) { return A->format == TRINE_CSR ? A->n_rows : A->n_cols; }
static inline int64_t matrix_minor(trine_matrix A) { return A->format == TRINE_CSR ? A->n_cols : A->n_rows; }

/** The owned host matrix of trine_matrix_allocate; with_values = false makes a pattern. */
trine_status matrix_new(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t, int64_t n_rows, int64_t n_cols,
                        int64_t nnz, bool with_values);

#endif
