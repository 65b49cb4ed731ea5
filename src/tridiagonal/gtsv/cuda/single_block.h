/* gtsv on the GPU for small systems (gtsv/cuda/single_block.cu): what the launching code and the rest of the module know of each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_SINGLE_BLOCK_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_SINGLE_BLOCK_H

#include "tridiagonal/common/system.cuh"

template <typename T> struct small_call {
    system_of<T> A;
    int pivot;
    int64_t nrhs;
    given_columns<T> D;
    columns_of<T> X; /* may be D */
    gpuStream_t stream;
};

/** For double and complex double. Is it solved here? */
template <typename T> bool is_small(const system_of<T> &A);
template <typename T> trine_status solve_small(const small_call<T> &call);

#endif
