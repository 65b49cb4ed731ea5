/* Sums and residuals of blocks of vectors, for iterative refinement, and the backends of them and of trine_vectors_permute. */
#ifndef TRINE_MATRIX_VECTORS_H
#define TRINE_MATRIX_VECTORS_H

#include <trine/matrix.h>

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Y := Y + X, in the context's space, where the layouts may differ; X != Y. Asynchronous on stream (NULL = the context's), capturable. */
TRINE_API trine_status trine_vectors_add(trine_context ctx, trine_dtype t, const trine_dense *X, const trine_dense *Y, void *stream);
/** R := B - A X with a CSR matrix A in its context's space, for vectors of A's dtype there. Every row is summed to about twice the
 *  precision (on a CPU in long double) and rounded once. R may be B, not X. Asynchronous as well. */
TRINE_API trine_status trine_vectors_residual(trine_matrix A, const trine_dense *X, const trine_dense *B, const trine_dense *R, void *stream);

/** One permutation of rows, with element (i,j) at i*row + j*col of each block. */
typedef struct {
    int64_t rows, cols;
    const void *from;
    void *to;
    int64_t from_row, from_col, to_row, to_col; /* strides in elements */
    const int32_t *perm;                        /* NULL: identity */
    const void *scale;                          /* real type; NULL: 1 */
    bool inverse, conjugate, add;
} vectors_move;

/** r := b - A x for every column, strides as above. */
typedef struct {
    int64_t rows, cols;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values, *x, *b;
    void *r;
    int64_t x_row, x_col, b_row, b_col, r_row, r_col;
} vectors_residual;

typedef trine_status (*vectors_permute_fn)(trine_context ctx, const vectors_move *m, void *stream);
typedef trine_status (*vectors_residual_fn)(trine_context ctx, const vectors_residual *v, void *stream);
/** Indexed by dtype. */
struct vectors_backend {
    vectors_permute_fn permute[TRINE_Z + 1];
    vectors_residual_fn residual[TRINE_Z + 1];
};
extern const struct vectors_backend vectors_cpu, vectors_cuda;

#ifdef __cplusplus
}
#endif
#endif
