/* Entries of A and weights of edges. */
#ifndef TRINE_FOREST_CUDA_ENTRIES_CUH
#define TRINE_FOREST_CUDA_ENTRIES_CUH

#include "forest/cuda/device.cuh"

/** The value of entry k, 0 where A has none. */
template <typename T> __device__ T value_of(const T *values, int64_t k) { return k < 0 ? zero_of<T>() : values[k]; }

/** The weight of an edge that is in the forest. */
template <typename R> __device__ void adjust(R &w, R omega)
{
    w = omega == 0 ? R(0) : w * omega; /* infinity times 0 would be NaN, which has no order */
}
#endif
