// Rows of incomplete factors, level by level: a few lanes a row, which go over the entries of the rows that it needs.
#include <cfloat>

#include "precond/cuda/launch.cuh"

namespace {

constexpr int LANES = 8; // of a row; they are neighbours in a warp

/** The lanes of this thread's row. */
__device__ unsigned lanes_of_row() { return ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES); }

template <typename R> __device__ R exchanged(R a, int mask) { return __shfl_xor_sync(lanes_of_row(), a, mask); }
template <typename R> __device__ complex_of<R> exchanged(complex_of<R> a, int mask)
{
    return {exchanged(a.x, mask), exchanged(a.y, mask)};
}
/** The sum over the row's lanes, in each of them. */
template <typename T> __device__ T sum_of_row(T a)
{
    for (int mask = LANES / 2; mask; mask /= 2) a = a + exchanged(a, mask);
    return a;
}

/** Where column j stands between low and high; -1: nowhere. */
__device__ int64_t find(const int32_t *columns, int64_t low, int64_t high, int32_t j)
{
    const int64_t end = high;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < j) low = middle + 1;
        else high = middle;
    }
    return low < end && columns[low] == j ? low : -1;
}

template <typename T> struct take_entry {
    const int64_t *source;
    const T *a;
    T *to;
    __device__ void operator()(int64_t k) const
    {
        const int64_t from = source ? source[k] : k;
        to[k] = from >= 0 ? a[from] : zero_of<T>();
    }
};

/** Row i minus multiples of the rows that its L names, in this order. */
template <typename T> struct lu_row {
    precond_device_pattern q;
    const int32_t *order;
    T *lu;
    __device__ void operator()(int64_t at) const
    {
        const int64_t i = order[at / LANES], middle = q.diagonal[i], end = q.offsets[i + 1];
        const int lane = (int)(at % LANES);
        for (int64_t k = q.offsets[i]; k < middle; k++) {
            const int32_t j = q.columns[k];
            const int64_t pivot = q.diagonal[j], end_j = q.offsets[j + 1];
            const T l = lu[k] / lu[pivot];
            __syncwarp(lanes_of_row()); /* all have read lu[k] */
            if (lane == 0) lu[k] = l;
            for (int64_t m = pivot + 1 + lane; m < end_j; m += LANES) {
                const int64_t to = find(q.columns, k + 1, end, q.columns[m]);
                if (to >= 0) lu[to] = lu[to] - l * lu[m];
            }
            __syncwarp(lanes_of_row());
        }
    }
};

__device__ double root_of(double a) { return sqrt(a); }
__device__ float root_of(float a) { return sqrtf(a); }
template <typename T> __device__ real_of<T> square_of(T a)
{
    if constexpr (scalar<T>::is_complex) return a.x * a.x + a.y * a.y;
    else return a * a;
}
/** The real part of what must be real. */
template <typename T> __device__ real_of<T> real_of_pivot(T a)
{
    if constexpr (scalar<T>::is_complex) {
        constexpr real_of<T> eps = sizeof(real_of<T>) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
        return fabs(a.y) <= PRECOND_MOST_ROUNDING * eps * fabs(a.x) ? a.x : real_of<T>(NAN);
    } else {
        return a;
    }
}
template <typename T> __device__ T real_as(real_of<T> a)
{
    if constexpr (scalar<T>::is_complex) return T{a, 0};
    else return a;
}

/** l_ij = (a_ij - sum l_im conj(l_jm)) / l_jj. */
template <typename T> struct cholesky_row {
    precond_device_pattern q;
    const int32_t *order;
    T *l;
    __device__ void operator()(int64_t at) const
    {
        const int64_t i = order[at / LANES], first = q.offsets[i], last = q.diagonal[i];
        const int lane = (int)(at % LANES);
        real_of<T> pivot = real_of_pivot(l[last]);
        for (int64_t k = first; k < last; k++) {
            const int32_t j = q.columns[k];
            const int64_t end_j = q.diagonal[j];
            T sum = zero_of<T>();
            for (int64_t m = q.offsets[j] + lane; m < end_j; m += LANES) {
                const int64_t there = find(q.columns, first, k, q.columns[m]);
                if (there >= 0) sum = sum + l[there] * conjugate_of(l[m]);
            }
            const T entry = (l[k] - sum_of_row(sum)) / l[end_j];
            __syncwarp(lanes_of_row()); /* all have read l[k] */
            if (lane == 0) l[k] = entry;
            __syncwarp(lanes_of_row());
            pivot -= square_of(entry);
        }
        __syncwarp(lanes_of_row()); /* all have read l[last] */
        if (lane == 0) l[last] = real_as<T>(root_of(pivot));
    }
};

/* --------------------------------------------------------- the four precisions */

template <typename T> trine_status begin(trine_precond p, const precond_device_pattern *q, const void *a, void *values,
                                         void *stream)
{
    return launch_each(p, q->nnz, stream,
                       take_entry<T>{q->source, static_cast<const T *>(a), static_cast<T *>(values)});
}

template <typename T> trine_status lu(trine_precond p, const precond_device_pattern *q, int64_t first, int64_t last,
                                      void *values, void *stream)
{
    return launch_each(p, (last - first) * LANES, stream, lu_row<T>{*q, q->order + first, static_cast<T *>(values)});
}

template <typename T> trine_status cholesky(trine_precond p, const precond_device_pattern *q, int64_t first,
                                            int64_t last, void *values, void *stream)
{
    return launch_each(p, (last - first) * LANES, stream,
                       cholesky_row<T>{*q, q->order + first, static_cast<T *>(values)});
}

} // namespace

const struct precond_device_incomplete precond_cuda_incomplete = {PRECOND_TABLE(begin), PRECOND_TABLE(lu),
                                                                  PRECOND_TABLE(cholesky)};
