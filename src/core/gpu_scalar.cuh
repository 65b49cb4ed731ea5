/* Scalars on the GPU: real and complex numbers in one notation, and values that carry their own "not ready" mark. */
#ifndef TRINE_CORE_GPU_SCALAR_CUH
#define TRINE_CORE_GPU_SCALAR_CUH

#include <cfloat>
#include <cstdint>

#include "core/gpu.h"
#include "core/gpu_number.cuh"

template <typename T> __device__ inline T conjugate_of(T a)
{
    if constexpr (scalar<T>::is_complex) return T{a.x, -a.y};
    else return a;
}
/** Largest absolute part: zero or NaN exactly when a is. */
template <typename T> __device__ inline real_of<T> size_of(T a)
{
    if constexpr (scalar<T>::is_complex) return fabs(a.x) + fabs(a.y);
    else return fabs(a);
}
template <typename T> __device__ inline T shuffle_xor(T a, int mask)
{
    if constexpr (scalar<T>::is_complex) return T{__shfl_xor_sync(~0u, a.x, mask), __shfl_xor_sync(~0u, a.y, mask)};
    else return __shfl_xor_sync(~0u, a, mask);
}
template <typename T> __device__ inline T shuffle_from(T a, int lane)
{
    if constexpr (scalar<T>::is_complex) return T{__shfl_sync(~0u, a.x, lane), __shfl_sync(~0u, a.y, lane)};
    else return __shfl_sync(~0u, a, lane);
}

/** A pivot to divide by: its reciprocal is made while the dividend is waited for, and used where it keeps all
 *  digits. */
template <typename T> struct divisor {
    T pivot, inverse;
    bool invertible;
    __device__ explicit divisor(T a) : pivot(a), inverse(one_of<T>() / a)
    {
        constexpr real_of<T> tiny = sizeof(real_of<T>) == 4 ? real_of<T>(4 * FLT_MIN) : real_of<T>(4 * DBL_MIN);
        invertible = size_of(a) > tiny && size_of(a) < 1 / tiny;
    }
    __device__ T divide(T a) const { return invertible ? a * inverse : a / pivot; }
};

/* ------------------------------------------------- values as their own flags
 * "Not ready" is the NaN with all bits set, so that a byte fill makes it. Arithmetic makes other NaNs; publish()
 * replaces the pattern all the same if a caller's NaN carried it here. A double complex is two words that arrive one
 * by one: it is ready when both are. Relaxed loads and stores suffice, since the value is all that is communicated. */

template <typename R> struct bits_of;
template <> struct bits_of<float> { using type = uint32_t; };
template <> struct bits_of<double> { using type = unsigned long long; };

__device__ inline bool is_missing(float a) { return __float_as_uint(a) == 0xFFFFFFFFu; }
__device__ inline bool is_missing(double a) { return __double_as_longlong(a) == -1LL; }
__device__ inline bool is_missing(int32_t a) { return a == -1; } /* levels and other counts are never negative */
template <typename R> __device__ inline bool is_missing(complex_of<R> a) { return is_missing(a.x) || is_missing(a.y); }

__device__ inline float missing_or(float a) { return is_missing(a) ? __uint_as_float(0x7FFFFFFFu) : a; }
__device__ inline double missing_or(double a) { return is_missing(a) ? __longlong_as_double(0x7FFFFFFFFFFFFFFFLL) : a; }
template <typename R> __device__ inline complex_of<R> missing_or(complex_of<R> a)
{
    return {missing_or(a.x), missing_or(a.y)};
}

template <typename T> __device__ inline T missing_value()
{
    if constexpr (scalar<T>::is_complex) return T{missing_value<real_of<T>>(), missing_value<real_of<T>>()};
    else if constexpr (T(0.5) == T(0)) return T(-1);
    else if constexpr (sizeof(T) == 4) return __uint_as_float(0xFFFFFFFFu);
    else return __longlong_as_double(-1LL);
}

#ifdef __HIP__
#include "core/gpu_scalar_hip.cuh"
#else
/** 1 / x for normal x and 1 / x: to the last digit or two in single precision, to 20 bits or more in double. */
__device__ inline float reciprocal_approximation(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ inline double reciprocal_approximation(double x)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}

/** Relaxed load that sees stores of other blocks (generic address: global or shared). */
__device__ inline float poll(const float *p)
{
    float a;
    asm volatile("ld.relaxed.gpu.f32 %0, [%1];" : "=f"(a) : "l"(p) : "memory");
    return a;
}
__device__ inline double poll(const double *p)
{
    double a;
    asm volatile("ld.relaxed.gpu.f64 %0, [%1];" : "=d"(a) : "l"(p) : "memory");
    return a;
}
__device__ inline complex_of<float> poll(const complex_of<float> *p)
{
    complex_of<float> a;
    asm volatile("ld.relaxed.gpu.v2.f32 {%0, %1}, [%2];" : "=f"(a.x), "=f"(a.y) : "l"(p) : "memory");
    return a;
}
__device__ inline complex_of<double> poll(const complex_of<double> *p)
{
    complex_of<double> a;
    asm volatile("ld.relaxed.gpu.v2.f64 {%0, %1}, [%2];" : "=d"(a.x), "=d"(a.y) : "l"(p) : "memory");
    return a;
}
__device__ inline int32_t poll(const int32_t *p)
{
    int32_t a;
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
    return a;
}
/** Relaxed store of a value that is now ready. */
__device__ inline void publish(int32_t *p, int32_t a)
{
    asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(p), "r"(a) : "memory");
}
__device__ inline void publish(float *p, float a)
{
    asm volatile("st.relaxed.gpu.f32 [%0], %1;" ::"l"(p), "f"(a) : "memory");
}
__device__ inline void publish(double *p, double a)
{
    asm volatile("st.relaxed.gpu.f64 [%0], %1;" ::"l"(p), "d"(a) : "memory");
}
__device__ inline void publish(complex_of<float> *p, complex_of<float> a)
{
    asm volatile("st.relaxed.gpu.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(a.x), "f"(a.y) : "memory");
}
__device__ inline void publish(complex_of<double> *p, complex_of<double> a)
{
    asm volatile("st.relaxed.gpu.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(a.x), "d"(a.y) : "memory");
}

/* ------------------------------------------------ counters as flags of data
 * A producer adds to a sum, makes its additions visible, and counts up; a consumer that has seen the full count sees
 * all additions. Fence and relaxed addition are together a release, and every acquiring load synchronizes with the
 * whole chain of additions to a counter. Generic addresses: global memory, or shared memory for the block's own
 * counters. */

__device__ inline unsigned load_acquire(const unsigned *p)
{
    unsigned a;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
    return a;
}
__device__ inline unsigned load_acquire_in_block(const unsigned *p)
{
    unsigned a;
    asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
    return a;
}
__device__ inline void release_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ inline void release_fence_in_block() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
__device__ inline void count_up(unsigned *p) { asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(p) : "memory"); }

__device__ inline void add_release(unsigned *p, unsigned a)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(a) : "memory");
}

/** What no kernel in flight changes and nobody needs twice. */
__device__ inline uint4 load_once(const uint4 *p)
{
    uint4 a;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w)
                 : "l"(p));
    return a;
}
/** Ask for the 32 bytes at p. */
__device__ inline void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

/** The device's clock, the same for all multiprocessors. */
__device__ inline unsigned long long nanoseconds()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#endif /* __HIP__ */

#endif
