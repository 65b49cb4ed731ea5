/* Several right-hand sides of one row in one lane: neighbours in memory, loaded and published together. */
#ifndef TRINE_TRIANGULAR_CUDA_PACK_CUH
#define TRINE_TRIANGULAR_CUDA_PACK_CUH

#include "core/gpu_scalar.cuh"

/** Aligned as one load takes them. */
template <typename T, int V> struct alignas(sizeof(T) * V > 16 ? 16 : sizeof(T) * V) pack { T v[V]; };

template <typename T, int V> __device__ inline pack<T, V> poll_pack(const T *p)
{
    pack<T, V> a;
    if constexpr (V % 2 == 0 && !scalar<T>::is_complex) {
#pragma unroll
        for (int i = 0; i < V; i += 2) {
            const complex_of<T> both = poll((const complex_of<T> *)(p + i)); /* as far as memory is concerned */
            a.v[i] = both.x, a.v[i + 1] = both.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) a.v[i] = poll(p + i);
    }
    return a;
}
template <typename T, int V> __device__ inline void publish_pack(T *p, const pack<T, V> &a)
{
    if constexpr (V % 2 == 0 && !scalar<T>::is_complex) {
#pragma unroll
        for (int i = 0; i < V; i += 2) publish((complex_of<T> *)(p + i), complex_of<T>{a.v[i], a.v[i + 1]});
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) publish(p + i, a.v[i]);
    }
}
template <typename T, int V> __device__ inline bool is_missing(const pack<T, V> &a)
{
    bool missing = false;
#pragma unroll
    for (int i = 0; i < V; i++) missing |= is_missing(a.v[i]);
    return missing;
}

#endif
