/* common/partition.h for the four scalar types of the GPU, as overloads. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_SCALAR_PARTITION_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_SCALAR_PARTITION_CUH

#include <cfloat>

#include <trine/tridiagonal.h>

#include "core/gpu_scalar.cuh"
#include "tridiagonal/gtsv/cuda/row_elimination.cuh"
#include "tridiagonal/common/wide_row_types.h"

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

/** What partition.h asks for of a precision. */
template <typename R> struct precision_of;
template <> struct precision_of<float> {
    static constexpr float SMALLEST_NORMAL_NUMBER = FLT_MIN, ROUNDING_UNIT = FLT_EPSILON;
};
template <> struct precision_of<double> {
    static constexpr double SMALLEST_NORMAL_NUMBER = DBL_MIN, ROUNDING_UNIT = DBL_EPSILON;
};

#define RPTS_INLINE __device__ __forceinline__
#define RPTS_UNROLL _Pragma("unroll")
#define FN(name) name
#define R real_of<T>
#define ZERO (T{})
#define ABS1(x) size_of(x)
#define FROM_REAL(r) (T{r})
#define RECIPROCAL(x) reciprocal(x)
#define WIDE_RECIPROCAL(x) fast_reciprocal(x)
#define WIDE_SIZE_T int
#define WIDE_SIZE(x) logarithm(x)
#define WIDE_WEIGHED(x, weight) logarithm(scaled(x, weight))
#define WIDE_WEIGHT(size) balance<R>(size)
#define SCALE_RECIPROCAL(r) reciprocal_approximation(r)
#define SMALLEST_NORMAL precision_of<R>::SMALLEST_NORMAL_NUMBER
#define ROUNDING precision_of<R>::ROUNDING_UNIT

template <typename T> struct wide_pair { WIDE_PAIR_MEMBERS };
template <typename T> struct wide_elimination { WIDE_ELIMINATION_MEMBERS };
#define WIDE_PAIR wide_pair<T>
#define WIDE_ELIMINATION wide_elimination<T>

#define T float
#include "tridiagonal/common/partition.h"
#include "tridiagonal/common/wide_rows.h"
#undef T
#define T double
#include "tridiagonal/common/partition.h"
#include "tridiagonal/common/wide_rows.h"
#undef T
#define T complex_of<float>
#include "tridiagonal/common/partition.h"
#include "tridiagonal/common/wide_rows.h"
#undef T
#define T complex_of<double>
#include "tridiagonal/common/partition.h"
#include "tridiagonal/common/wide_rows.h"
#undef T

#undef WIDE_PAIR
#undef WIDE_ELIMINATION
#undef RPTS_INLINE
#undef RPTS_UNROLL
#undef FN
#undef R
#undef ZERO
#undef ABS1
#undef FROM_REAL
#undef RECIPROCAL
#undef WIDE_RECIPROCAL
#undef WIDE_SIZE_T
#undef WIDE_SIZE
#undef WIDE_WEIGHED
#undef WIDE_WEIGHT
#undef SCALE_RECIPROCAL
#undef SMALLEST_NORMAL
#undef ROUNDING
#endif
