/* Numbers as their logarithms: the high bits of a floating-point number, taken for an integer, are one, accurate to
 * 9 %. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_LOGARITHMS_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_LOGARITHMS_CUH

#include <cmath>

#include "core/gpu_scalar.cuh"

/** Layout of the high word: exponent field, number 1, one step of the exponent (also the smallest normal number);
 *  mantissa bits. */
template <typename R> struct layout_of;
template <> struct layout_of<float> {
    static constexpr int EXPONENT = 0x7f800000, ONE = 0x3f800000, STEP = 1 << 23, MANTISSA = 23;
};
template <> struct layout_of<double> {
    static constexpr int EXPONENT = 0x7ff00000, ONE = 0x3ff00000, STEP = 1 << 20, MANTISSA = 52;
};

/** The high bits of |x| (of |re| + |im|): grow as log |x| does, by STEP for a factor of two. */
__device__ __forceinline__ int logarithm(float x) { return __float_as_int(x) & 0x7fffffff; }
__device__ __forceinline__ int logarithm(double x) { return __double2hiint(x) & 0x7fffffff; }
template <typename R> __device__ __forceinline__ int logarithm(complex_of<R> z)
{
    return logarithm(fabs(z.x) + fabs(z.y));
}

/** Of the largest of several numbers. */
__device__ __forceinline__ int largest_logarithm(float a, float b) { return __float_as_int(fmaxf(fabsf(a), fabsf(b))); }
template <typename T> __device__ __forceinline__ int largest_logarithm(T a, T b)
{
    return max(logarithm(a), logarithm(b));
}
template <typename T> __device__ __forceinline__ int largest_logarithm(T a, T b, T c)
{
    return max(largest_logarithm(a, b), logarithm(c));
}
__device__ __forceinline__ int largest_logarithm(float a, float b, float c)
{
    return __float_as_int(fmaxf(fmaxf(fabsf(a), fabsf(b)), fabsf(c)));
}

template <typename R> __device__ __forceinline__ R exponential(int bits)
{
    if constexpr (sizeof(R) == 4) return __int_as_float(bits);
    else return __hiloint2double(bits, 0);
}

template <typename R> __device__ __forceinline__ R scaled(R x, R factor) { return x * factor; }
template <typename R> __device__ __forceinline__ complex_of<R> scaled(complex_of<R> z, R factor)
{
    return {z.x * factor, z.y * factor};
}
template <typename T> __device__ __forceinline__ T of_real(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}

/** The power of two that brings a normal number with these high bits into [1/2, 1). */
template <typename R> __device__ __forceinline__ R balance(int bits)
{
    using L = layout_of<R>;
    return exponential<R>(max(((bits & L::EXPONENT) ^ L::EXPONENT) - 2 * L::STEP, L::STEP));
}

/** 1 where the high bits are those of zero, else 0. */
template <typename R> __device__ __forceinline__ R one_if_zero(int bits)
{
#ifndef __HIP__
    if constexpr (sizeof(R) == 4) { /* one instruction, which the compiler does not find */
        R one;
        asm("set.eq.f32.f32 %0, %1, 0f00000000;" : "=f"(one) : "f"(exponential<R>(bits)));
        return one;
    }
#endif
    return R(bits == 0);
}

/** 1 / x to one or two units in the last place, for normal x whose reciprocal is normal. */
__device__ __forceinline__ float fast_reciprocal(float x) { return reciprocal_approximation(x); }
__device__ __forceinline__ double fast_reciprocal(double x)
{
    const double r = reciprocal_approximation(x); /* 20 bits; the step below triples them */
    const double e = fma(-x, r, 1.0);
    return fma(r, fma(e, e, e), r);
}
template <typename R> __device__ __forceinline__ complex_of<R> fast_reciprocal(complex_of<R> z)
{
    const R g = balance<R>(logarithm(z)), x = z.x * g, y = z.y * g, q = g * fast_reciprocal(x * x + y * y);
    return {x * q, -y * q};
}

#endif
