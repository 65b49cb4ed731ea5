/* The backends of trine_vectors_permute, and of sums and residuals of blocks of vectors (direct_interface.h), for
 * iterative refinement. */
#ifndef TRINE_MATRIX_VECTORS_VECTORS_H
#define TRINE_MATRIX_VECTORS_VECTORS_H

#include <trine/matrix.h>

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** Y(i,:) += X(perm[i],:), else as trine_vectors_permute. */
trine_status vectors_gather_add(trine_context ctx, trine_dtype t, const int32_t *perm, const trine_dense *X,
                                const trine_dense *Y, void *stream);

#ifdef __cplusplus
}
#endif
#endif
