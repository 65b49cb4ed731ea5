/* The arithmetic of block/panel.h on the GPU: what it needs of a scalar type. Kernels use the weights and the determinants; how
 * they choose a pivot row and eliminate, on rows that lie on several lanes, is in block/rows.cuh. */
#ifndef TRINE_BLOCK_PANEL_CUH
#define TRINE_BLOCK_PANEL_CUH

#include <cfloat>

#include "tridiagonal/block/stage.cuh"

namespace trine_block {

template <typename T> __device__ inline T panel_real(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}
template <typename T> constexpr real_of<T> SMALLEST = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_MIN) : real_of<T>(DBL_MIN);
template <typename T> constexpr real_of<T> EPSILON = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_EPSILON) : real_of<T>(DBL_EPSILON);

/** 1 / x to the last digit or two, for |x| that is neither denormal nor so large that 1 / x is. */
__device__ inline float reciprocal_of(float x) { return reciprocal_approximation(x); }
__device__ inline double reciprocal_of(double x)
{
    double r = reciprocal_approximation(x);
    r = r + r * (1 - x * r);
    return r + r * (1 - x * r);
}
template <typename R> __device__ inline complex_of<R> reciprocal_of(complex_of<R> x) { return one_of<complex_of<R>>() / x; }

#define PANEL_TEMPLATE template <typename T>
#define PANEL_INLINE __device__ __forceinline__
#define R real_of<T>
#define FN(name) name
#define ZERO (T{})
#define FROM_REAL(r) (panel_real<T>(r))
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) reciprocal_of(x)
#define SMALLEST_NORMAL (SMALLEST<T>)
#define ROUNDING (EPSILON<T>)
#include "tridiagonal/block/panel.h"
#undef PANEL_TEMPLATE
#undef PANEL_INLINE
#undef R
#undef FN
#undef ZERO
#undef FROM_REAL
#undef ABS1
#undef RECIPROCAL
#undef SMALLEST_NORMAL
#undef ROUNDING

} // namespace trine_block

#endif
