/* The arithmetic of block/common/panel.h and block/common/sequential.h on the GPU: what it needs of a scalar type.
 * Kernels use the weights and the determinants; how they choose a pivot row and eliminate, on rows that lie on
 * several lanes, is in block/cuda/panel_rows.cuh. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_PANEL_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_PANEL_CUH

#include <cfloat>

#include "tridiagonal/block/cuda/stage.cuh"

namespace trine_block {

template <typename T> __device__ inline T panel_real(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}
/** The leading bits of a number >= 0: they order like it. */
__device__ inline unsigned leading_bits(float a) { return __float_as_uint(a); }
__device__ inline unsigned leading_bits(double a) { return (unsigned)__double2hiint(a); }

template <typename R> __device__ inline R from_leading_bits(unsigned bits)
{
    if constexpr (sizeof(R) == 4) return __uint_as_float(bits);
    else return __hiloint2double((int)bits, 0);
}
/** The exponent bits of a number > 0, and the power of two with these; of what is no normal number: of 1. */
__device__ inline unsigned exponent_bits(float a)
{
    const unsigned bits = leading_bits(a) >> 23;
    return bits - 1 < 254 ? bits : 127;
}
__device__ inline unsigned exponent_bits(double a)
{
    const unsigned bits = leading_bits(a) >> 20;
    return bits - 1 < 2046 ? bits : 1023;
}
template <typename R> __device__ inline R power_of_two(unsigned bits)
{
    return from_leading_bits<R>(bits << (sizeof(R) == 4 ? 23 : 20));
}
template <typename R> __device__ inline R smaller_power(R a) { return power_of_two<R>(exponent_bits(a)); }
/** What a number > 0 is of that: 1 to 2. */
__device__ inline float fraction_of(float a) { return __uint_as_float((__float_as_uint(a) & 0x7fffffu) | 0x3f800000u); }
__device__ inline double fraction_of(double a)
{
    return __hiloint2double((__double2hiint(a) & 0xfffff) | 0x3ff00000, __double2loint(a));
}
template <typename T> __device__ inline T times(T a, real_of<T> scale)
{
    if constexpr (scalar<T>::is_complex) return {a.x * scale, a.y * scale};
    else return a * scale;
}

template <typename T> constexpr real_of<T> SMALLEST =
    sizeof(real_of<T>) == 4 ? real_of<T>(FLT_MIN) : real_of<T>(DBL_MIN);
template <typename T> constexpr real_of<T> EPSILON =
    sizeof(real_of<T>) == 4 ? real_of<T>(FLT_EPSILON) : real_of<T>(DBL_EPSILON);

/** 1 / x to the last digit or two, for |x| that is neither denormal nor so large that 1 / x is. */
__device__ inline float reciprocal_of(float x) { return reciprocal_approximation(x); }
__device__ inline double reciprocal_of(double x)
{
    double r = reciprocal_approximation(x);
    r = r + r * (1 - x * r);
    return r + r * (1 - x * r);
}
template <typename R> __device__ inline complex_of<R> reciprocal_of(complex_of<R> x)
{
    return one_of<complex_of<R>>() / x;
}

#define PANEL_TEMPLATE template <typename T>
#define PANEL_INLINE __device__ __forceinline__
#define R real_of<T>
#define FN(name) name
#define FN_OF_T(name) name<T>
#define SMALLER_POWER(r) smaller_power(r)
#define ZERO (T{})
#define FROM_REAL(r) (panel_real<T>(r))
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) reciprocal_of(x)
#define SMALLEST_NORMAL (SMALLEST<T>)
#define ROUNDING (EPSILON<T>)
#define TIMES(x, r) times<T>(x, r)
#define GIVEN_BAND(A, row, k) given_band<T>(*(A), row, k)
#define LANE ((int)threadIdx.x)
#define LANES WARP
#define TOGETHER() __syncwarp()
#include "tridiagonal/block/common/panel.h"
#include "tridiagonal/block/common/sequential.h"
#undef PANEL_TEMPLATE
#undef PANEL_INLINE
#undef R
#undef FN
#undef FN_OF_T
#undef SMALLER_POWER
#undef TIMES
#undef GIVEN_BAND
#undef LANE
#undef LANES
#undef TOGETHER
#undef ZERO
#undef FROM_REAL
#undef ABS1
#undef RECIPROCAL
#undef SMALLEST_NORMAL
#undef ROUNDING

} // namespace trine_block

#endif
