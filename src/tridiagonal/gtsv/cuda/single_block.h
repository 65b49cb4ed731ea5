/* gtsv on the GPU for small systems (gtsv/cuda/single_block.cu): what the launching code and the rest of the module
 * know of each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_SINGLE_BLOCK_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_SINGLE_BLOCK_H

#include "tridiagonal/gtsv/cuda/call.cuh"

/** For double and complex double. Is it solved here? */
template <typename T> bool is_small(const system_of<T> &A);
/** X may be D, which may have a guess. */
template <typename T, bool P> trine_status solve_small(const gtsv_call<T, P> &call);

#endif
