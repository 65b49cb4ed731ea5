/* Cyclic bands in pairs of block columns on the GPU (block/common/pairs.h): what stands in for the first stage. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_PAIRS_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_PAIRS_CUH

#include "tridiagonal/block/cuda/stage.cuh"

namespace trine_block {

#define PAIRS_INLINE __device__ inline
#include "tridiagonal/block/common/pairs.h"
#undef PAIRS_INLINE

/** The groups of the first coarse stage, a thread an element. */
template <typename T> __global__ void gather_pairs(const __grid_constant__ stage_of<T> s)
{
    const int w = s.A.width, rows = 2 * w, length = 4 * w * rows;
    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < s.partitions * length;
         e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t pair = e / length;
        const int position = (int)(e % rows), column = (int)(e % length) / rows;
        const int band = pair_band(&s.A, pair, position, column / w, column % w);
        T value = band == PAIR_NOTHING ? T{} : one_of<T>();
        if (band == PAIR_COPIED) value = T{} - value;
        if (band < PAIR_NOTHING)
            value = given_band<T>(s.A, pair_first(&s.A, pair) + pair_unknown(&s.A, pair, position), band);
        s.coarse[e] = value;
    }
}

/** Their right-hand sides from D; the solution from what these have become. */
template <typename T, bool TO_X> __global__ void move_pairs(const __grid_constant__ stage_of<T> s)
{
    const int rows = 2 * s.A.width;
    T *group = s.coarse_x + blockIdx.y * s.coarse_ld;
    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < s.partitions * rows;
         e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t pair = e / rows, unknown = pair_first(&s.A, pair) + pair_unknown(&s.A, pair, (int)(e % rows));
        const bool is_copy = pair_is_copy(&s.A, pair, (int)(e % rows));
        if (!TO_X) group[e] = is_copy ? T{} : s.D[blockIdx.y * s.ldd + unknown];
        else if (!is_copy) s.X[blockIdx.y * s.ldx + unknown] = group[e];
    }
}

} // namespace trine_block

#endif
