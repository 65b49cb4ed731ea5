/* The backends of trine_vectors_permute; seen by src/matrix only. */
#ifndef TRINE_MATRIX_VECTORS_H
#define TRINE_MATRIX_VECTORS_H

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
    bool inverse, conjugate;
} vectors_move;

typedef trine_status (*vectors_permute_fn)(trine_context ctx, const vectors_move *m, void *stream);
/** Indexed by dtype. */
struct vectors_backend {
    vectors_permute_fn permute[TRINE_Z + 1];
};
extern const struct vectors_backend vectors_cpu, vectors_cuda;

#ifdef __cplusplus
}
#endif
#endif
