/* Neighbouring elements that a thread has of several vectors. */
#ifndef TRINE_SPMV_STRETCH_CUH
#define TRINE_SPMV_STRETCH_CUH

#include "core/gpu_number.cuh"

/** EACH elements side by side, loaded and stored in pieces of 16 bytes if they fill them. */
template <class T, int EACH> struct alignas(sizeof(T) * EACH < 16 ? sizeof(T) * EACH : 16) stretch {
    using element = T;
    static constexpr int COUNT = EACH;
    T at[EACH];
};

template <class S> __device__ inline S zeros()
{
    S s;
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) s.at[q] = zero_of<typename S::element>();
    return s;
}
template <class T, int EACH> __device__ inline stretch<T, EACH> operator+(stretch<T, EACH> a, const stretch<T, EACH> &b)
{
#pragma unroll
    for (int q = 0; q < EACH; q++) a.at[q] = a.at[q] + b.at[q];
    return a;
}
/** sum + value * operand. */
template <class T, int EACH> __device__ inline stretch<T, EACH> added(stretch<T, EACH> sum, T value,
                                                                      const stretch<T, EACH> &operand)
{
#pragma unroll
    for (int q = 0; q < EACH; q++) sum.at[q] = sum.at[q] + value * operand.at[q];
    return sum;
}

#endif
