/* The plain product as an operator of segmented.cuh: y := alpha op(A) x + beta y. */
#ifndef TRINE_SPMV_PRODUCT_CUH
#define TRINE_SPMV_PRODUCT_CUH

#ifndef __CUDACC_RTC__ /* there, their texts come first */
#include "core/gpu_number.cuh"
#include "spmv/cuda/segmented.cuh"
#endif

struct half_bits { unsigned short bits; };

/** What is read once: past the first-level cache. */
__device__ inline int load_streaming(const int *p)
{
    int v;
    asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
__device__ inline long long load_streaming(const long long *p)
{
    long long v;
    asm volatile("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(v) : "l"(p));
    return v;
}
__device__ inline float load_streaming(const float *p)
{
    float v;
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
__device__ inline double load_streaming(const double *p)
{
    double v;
    asm volatile("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}
__device__ inline complex_of<float> load_streaming(const complex_of<float> *p)
{
    complex_of<float> v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
    return v;
}
__device__ inline complex_of<double> load_streaming(const complex_of<double> *p)
{
    complex_of<double> v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
    return v;
}
__device__ inline half_bits load_streaming(const half_bits *p)
{
    half_bits v;
    asm volatile("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(v.bits) : "l"(p));
    return v;
}

/** A stored value in the precision of vectors. */
template <class T, class V> __device__ inline T widened(V v)
{
    if constexpr (sizeof(V) == sizeof(half_bits)) {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
        return (T)f;
    } else if constexpr (scalar<T>::is_complex) {
        return T{(real_of<T>)v.x, (real_of<T>)v.y};
    } else {
        return (T)v;
    }
}

template <class V, bool INDEXED> struct stored_of { using type = V; };
template <class V> struct stored_of<V, true> { using type = int; };

/** T: of vectors; V: of stored values; INDEXED: entry k has value values[positions[k]] (op T and H). */
template <class T, class V, bool INDEXED> struct plain_product {
    using product = T;
    using accumulator = T;
    using result = T;
    static constexpr bool NEEDS_ROW = false, HAS_ATOMIC = true, FUSED = false, INDEXES = INDEXED, LOOKS_AHEAD = true;
    static constexpr int THREADS = sizeof(T) <= 8 ? 1536 : 1024;
    /* the same for warps.cuh: what spills to local memory costs more than the threads bring */
    static constexpr int WARPS_THREADS = INDEXED || scalar<T>::is_complex ? 768 : 896;

    const V *values;
    const int *columns;
    const void *positions;
    const T *x;
    T *y;
    int x_bytes, y_bytes;     /* from one element to the next */
    long long x_step, y_step; /* bytes from one vector to the next, for rows.cuh */
    bool wide_positions;      /* 64 bits */
    bool conjugates;          /* values */
    bool reads_y;             /* beta is not zero */
    T alpha, beta;

    struct entry {
        T value;
        int column;
    };
    __device__ int load_column(long long nz) const { return load_streaming(columns + nz); }
    __device__ entry load(long long nz, int column) const
    {
        long long k = nz;
        if constexpr (INDEXED)
            k = wide_positions ? load_streaming((const long long *)positions + nz)
                               : load_streaming((const int *)positions + nz);
        return {widened<T>(INDEXED ? values[k] : load_streaming(values + k)), column};
    }
    __device__ entry load(long long nz) const { return load(nz, load_column(nz)); }
    __device__ T value_of(entry e) const
    {
        if constexpr (scalar<T>::is_complex) e.value.y = conjugates ? -e.value.y : e.value.y;
        return e.value;
    }
    __device__ T gather(int column) const { return *(const T *)((const char *)x + (long long)column * x_bytes); }
    __device__ product multiply(entry e, long long, long long) const { return value_of(e) * gather(e.column); }

    /* for rows.cuh; with an index, its numbers are what is stored, of 32 bits */
    using stored = typename stored_of<V, INDEXED>::type;
    using operand = T;
    static constexpr bool STAGED = true, COMMUTES = true, OPAQUE = false;
    __device__ const stored *first_stored() const
    {
        if constexpr (INDEXED) return (const int *)positions;
        else return values;
    }
    __device__ const int *first_column() const { return columns; }
    __device__ T entry_value(const stored *s, int k) const
    {
        if constexpr (INDEXED) return value_of({widened<T>(values[s[k]]), 0});
        else return value_of({widened<T>(s[k]), 0});
    }
    __device__ operand fetch(const stored *s, int k, int column, long long, long long) const
    {
        if constexpr (INDEXED) return entry_value(s, k) * gather(column);
        else return gather(column);
    }
    __device__ product combine(const stored *s, int k, operand o) const
    {
        if constexpr (INDEXED) return o;
        else return entry_value(s, k) * o;
    }
    using before = T; /* the old y, if it is read */
    __device__ before look(long long row, int r) const { return reads_y ? *at(row, r) : zero_of<T>(); }
    __device__ void store(long long row, int r, result z, bool, before old) const { *at(row, r) = new_y(&old, z); }
    __device__ plain_product for_vector(long long v) const
    {
        plain_product other = *this;
        other.x = (const T *)((const char *)x + v * x_step);
        other.y = (T *)((char *)y + v * y_step);
        return other;
    }
    __device__ accumulator lift(product p) const { return p; }
    __device__ accumulator add(accumulator a, accumulator b) const { return a + b; }
    __device__ accumulator identity() const { return zero_of<T>(); }
    __device__ result project(accumulator a) const { return a; }
    __device__ T *at(long long row, int r = 0) const
    {
        return (T *)((char *)y + row * y_bytes + (long long)r * y_bytes);
    }
    /** A real factor leaves infinite parts as they are. */
    __device__ static T times(T factor, T z)
    {
        if constexpr (scalar<T>::is_complex)
            if (factor.y == 0) return T{factor.x * z.x, factor.x * z.y};
        return factor * z;
    }
    /** What y_i becomes where the sum is z. */
    __device__ T new_y(const T *y_i, T z) const
    {
        return reads_y ? times(alpha, z) + times(beta, *y_i) : times(alpha, z);
    }
    __device__ void store(long long row, int r, result z, bool) const { *at(row, r) = new_y(at(row, r), z); }
    __device__ void prepare(long long row) const { *at(row) = reads_y ? times(beta, *at(row)) : zero_of<T>(); }
    __device__ void accumulate(long long row, accumulator z) const { add_atomically(at(row), times(alpha, z)); }
};

#endif
