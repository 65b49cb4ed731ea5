/* Sums in two words: products and additions with their rounding errors (Dekker 1971; Ogita, Rump, Oishi 2005, Dot2). */
#ifndef TRINE_CORE_GPU_TWO_WORDS_CUH
#define TRINE_CORE_GPU_TWO_WORDS_CUH

#include "core/gpu_scalar.cuh"

/* with the addition that follows */
__device__ inline float unfused_product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double unfused_product(double a, double b) { return __dmul_rn(a, b); }

template <typename R> struct two_words {
    R high = 0, low = 0;
    __device__ void add(R a)
    {
        const R sum = high + a, part = sum - high;
        low += (high - (sum - part)) + (a - part);
        high = sum;
    }
    __device__ void subtract_product(R a, R b)
    {
        const R p = unfused_product(a, b);
        low -= fma(a, b, -p);
        add(-p);
    }
};

template <typename T> struct row_sum {
    two_words<T> value;
    __device__ void add(T a) { value.add(a); }
    __device__ void subtract_product(T a, T x) { value.subtract_product(a, x); }
    __device__ void add_lane(int mask)
    {
        const T high = shuffle_xor(value.high, mask), low = shuffle_xor(value.low, mask);
        value.low += low;
        value.add(high);
    }
    __device__ T rounded() const { return value.high + value.low; }
};

template <typename R> struct row_sum<complex_of<R>> {
    row_sum<R> re, im;
    __device__ void add(complex_of<R> a) { re.add(a.x), im.add(a.y); }
    __device__ void subtract_product(complex_of<R> a, complex_of<R> x)
    {
        re.subtract_product(a.x, x.x), re.subtract_product(-a.y, x.y);
        im.subtract_product(a.x, x.y), im.subtract_product(a.y, x.x);
    }
    __device__ void add_lane(int mask) { re.add_lane(mask), im.add_lane(mask); }
    __device__ complex_of<R> rounded() const { return {re.rounded(), im.rounded()}; }
};

#endif
