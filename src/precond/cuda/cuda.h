/* The arithmetic of preconditioners on a GPU, in four precisions. Arrays and blocks in device memory, blocks
 * column-major; asynchronous on the stream, without allocation, so that an apply made of these can be captured. */
#ifndef TRINE_PRECOND_CUDA_CUDA_H
#define TRINE_PRECOND_CUDA_CUDA_H

#include "precond/precond.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Indexed by dtype. */
struct precond_device {
    /** X := B / T, row by row, or / conj(T). X may be B. */
    trine_status (*divide[TRINE_Z + 1])(trine_precond p, const void *T, bool conjugate, const trine_dense *B,
                                        const trine_dense *X, void *stream);
    /** Row i of X := row from[i] of B, or ones where from[i] is -1, for the rows of X. */
    trine_status (*pick[TRINE_Z + 1])(trine_precond p, const int32_t *from, const trine_dense *B, const trine_dense *X,
                                      void *stream);
    /** Row to[i] of X := row i of B, where to[i] is not -1, for the rows of B. */
    trine_status (*place[TRINE_Z + 1])(trine_precond p, const int32_t *to, const trine_dense *B, const trine_dense *X,
                                       void *stream);
};
extern const struct precond_device precond_cuda;

#ifdef __cplusplus
}
#endif

/** NULL on a CPU. */
static inline const struct precond_device *precond_device_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda) : NULL;
}

#endif
