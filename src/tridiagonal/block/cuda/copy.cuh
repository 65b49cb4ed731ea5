/* The matrix in a factorization that keeps it. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_COPY_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_COPY_CUH

#include "tridiagonal/block/cuda/stage.cuh"

namespace trine_block {

/** The caller's blocks of op(A), as three bands of blocks: before, on and behind the diagonal; a thread an element
 *  of each. */
template <typename T> __global__ void copy_blocks(const __grid_constant__ block_matrix A, T *blocks)
{
    const int n = A.n_given, size = n * n;
    const int64_t rows = A.rows_given, band = rows * size;
    const bool corners = A.cyclic || A.wrapped;
    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < band; e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t j = e / size;
        const int place = (int)(e % size);
#pragma unroll
        for (int side = -1; side <= 1; side++)
            blocks[(side + 1) * band + e] =
                corners || (j + side >= 0 && j + side < rows) ? given_block<T>(A, j, side, place % n, place / n) : T{};
    }
}

} // namespace trine_block

#endif
