/* Real and complex numbers in one notation. Includes nothing, so that what is compiled at run time has it too. */
#ifndef TRINE_CORE_GPU_NUMBER_CUH
#define TRINE_CORE_GPU_NUMBER_CUH

template <typename R> struct alignas(2 * sizeof(R)) complex_of { R x, y; };

template <typename T> struct scalar {
    using real = T;
    static constexpr bool is_complex = false;
};
template <typename R> struct scalar<complex_of<R>> {
    using real = R;
    static constexpr bool is_complex = true;
};
template <typename T> using real_of = typename scalar<T>::real;

template <typename T> __host__ __device__ inline T zero_of() { return T{}; }
template <typename T> __host__ __device__ inline T one_of()
{
    if constexpr (scalar<T>::is_complex) return T{1, 0};
    else return T(1);
}

template <typename R> __device__ inline complex_of<R> operator+(complex_of<R> a, complex_of<R> b)
{
    return {a.x + b.x, a.y + b.y};
}
template <typename R> __device__ inline complex_of<R> operator-(complex_of<R> a, complex_of<R> b)
{
    return {a.x - b.x, a.y - b.y};
}
template <typename R> __device__ inline complex_of<R> operator*(complex_of<R> a, complex_of<R> b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/** Smith's division: no overflow where the quotient does not. */
template <typename R> __device__ inline complex_of<R> operator/(complex_of<R> a, complex_of<R> b)
{
    if (fabs(b.x) >= fabs(b.y)) {
        const R r = b.y / b.x, d = b.x + b.y * r;
        return {(a.x + a.y * r) / d, (a.y - a.x * r) / d};
    }
    const R r = b.x / b.y, d = b.x * r + b.y;
    return {(a.x * r + a.y) / d, (a.y * r - a.x) / d};
}

/** Relaxed; the parts of a complex number are added one by one. */
template <typename T> __device__ inline void add_atomically(T *p, T a)
{
    if constexpr (scalar<T>::is_complex) {
        atomicAdd(&p->x, a.x);
        atomicAdd(&p->y, a.y);
    } else {
        atomicAdd(p, a);
    }
}

#endif
