/* The same kind of number in the other precision. */
#ifndef TRINE_CORE_GPU_PRECISION_CUH
#define TRINE_CORE_GPU_PRECISION_CUH

#include "core/gpu_number.cuh"

template <typename T> struct other_precision;
template <> struct other_precision<float> { using type = double; };
template <> struct other_precision<double> { using type = float; };
template <> struct other_precision<complex_of<float>> { using type = complex_of<double>; };
template <> struct other_precision<complex_of<double>> { using type = complex_of<float>; };

#endif
