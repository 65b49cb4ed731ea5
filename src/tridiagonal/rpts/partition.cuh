/* rpts/partition.h for the four scalar types of the GPU, as overloads. */
#ifndef TRINE_RPTS_PARTITION_CUH
#define TRINE_RPTS_PARTITION_CUH

#include <cfloat>

#include <trine/tridiagonal.h>

#include "core/gpu_scalar.cuh"

/* To one unit in the last place, for normal x whose reciprocal is normal: pivots are made so. */
__device__ inline float reciprocal(float x) { return reciprocal_approximation(x); }
__device__ inline double reciprocal(double x)
{
    double r = reciprocal_approximation(x);
    r = fma(r, fma(-x, r, 1.0), r);
    return fma(r, fma(-x, r, 1.0), r);
}
template <typename R> __device__ inline complex_of<R> reciprocal(complex_of<R> z)
{
    const R s = reciprocal(fabs(z.x) + fabs(z.y)), x = z.x * s, y = z.y * s, q = s * reciprocal(x * x + y * y);
    return {x * q, -y * q};
}

#define RPTS_INLINE __device__ __forceinline__
#define FN(name) name
#define ZERO (T{})
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) reciprocal(x)
#define SCALE_RECIPROCAL(r) reciprocal_approximation(r)

#define T float
#define R float
#define SMALLEST_NORMAL FLT_MIN
#define ROUNDING FLT_EPSILON
#define FROM_REAL(r) (T(r))
#include "tridiagonal/rpts/partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#define T double
#define R double
#define SMALLEST_NORMAL DBL_MIN
#define ROUNDING DBL_EPSILON
#include "tridiagonal/rpts/partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#undef FROM_REAL
#define T complex_of<float>
#define R float
#define SMALLEST_NORMAL FLT_MIN
#define ROUNDING FLT_EPSILON
#define FROM_REAL(r) (T{R(r), 0})
#include "tridiagonal/rpts/partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#define T complex_of<double>
#define R double
#define SMALLEST_NORMAL DBL_MIN
#define ROUNDING DBL_EPSILON
#include "tridiagonal/rpts/partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#undef FROM_REAL
#undef FN
#undef ZERO
#undef ABS1
#undef RECIPROCAL
#undef SCALE_RECIPROCAL
#endif
