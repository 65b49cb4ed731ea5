/* The graph of a matrix for its forest: weights w_ij = |b_ij| + |b_ji|, of a B whose pattern need not be symmetric, a
 * few threads a row. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_PRECOND_CUDA_GRAPH_CUH
#define TRINE_PRECOND_CUDA_GRAPH_CUH

#include <cmath>
#include <cstdint>

#include "core/gpu_number.cuh"

namespace {

/** |a| as forests have it: in double, rounded after every step. */
template <typename T> __device__ inline real_of<T> graph_modulus(T a)
{
    if constexpr (scalar<T>::is_complex) {
        const double x = a.x, y = a.y;
        return (real_of<T>)__dsqrt_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)));
    } else {
        return fabs(a);
    }
}

constexpr int GRAPH_LANES = 8; // threads that share a row

/** The first of the columns [begin, end) that is not below j. */
__device__ int64_t lower_bound(const int32_t *columns, int64_t begin, int64_t end, int32_t j)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (columns[middle] < j) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

struct rows_view {
    const int64_t *begin, *end;
    const int32_t *columns;
    /** Where entry (i,j) stands, -1: nowhere. */
    __device__ int64_t find(int32_t i, int32_t j) const
    {
        const int64_t k = lower_bound(columns, begin[i], end[i], j);
        return k < end[i] && columns[k] == j ? k : -1;
    }
};

/** Entries without one opposite: how many a row has, and how many it gets. */
struct count_missing {
    rows_view B;
    unsigned long long *missing, *extra;
    __device__ void operator()(int64_t at) const
    {
        const int32_t i = (int32_t)(at / GRAPH_LANES);
        for (int64_t k = B.begin[i] + at % GRAPH_LANES; k < B.end[i]; k += GRAPH_LANES) {
            const int32_t j = B.columns[k];
            if (j == i || B.find(j, i) >= 0) continue;
            atomicAdd(&missing[i], 1ull);
            atomicAdd(&extra[j], 1ull);
        }
    }
};
/** What a row of the graph has. */
struct count_row {
    rows_view B;
    const int64_t *extra;
    int64_t *rows;
    unsigned long long *longest;
    int64_t n;
    __device__ void operator()(int64_t i) const
    {
        rows[i] = i < n ? B.end[i] - B.begin[i] - (B.find((int32_t)i, (int32_t)i) >= 0 ? 1 : 0) + extra[i] : 0;
        const unsigned long long count = (unsigned long long)rows[i];
        if (count > *(volatile unsigned long long *)longest) atomicMax(longest, count);
    }
};
struct list_missing {
    rows_view B;
    const int64_t *missing; /* where a row's begin */
    int32_t *filled, *keys, *sources;
    __device__ void operator()(int64_t at) const
    {
        const int32_t i = (int32_t)(at / GRAPH_LANES);
        for (int64_t k = B.begin[i] + at % GRAPH_LANES; k < B.end[i]; k += GRAPH_LANES) {
            const int32_t j = B.columns[k];
            if (j == i || B.find(j, i) >= 0) continue;
            const int64_t to = missing[i] + atomicAdd(&filled[i], 1);
            keys[to] = j;
            sources[to] = i;
        }
    }
};
template <typename T> struct merge_row {
    using R = real_of<T>;
    rows_view B;
    const T *values, *by; /* by NULL: ones */
    const uint8_t *kept; /* NULL: all entries count */
    const int64_t *extra, *rows; /* where a row's begin */
    const int32_t *sources;
    int64_t *begin, *end;
    int32_t *columns;
    R *weights;
    R least; /* weights of entries below it are zero */

    __device__ R weight(int32_t i, int64_t k) const
    {
        if (k < 0 || (kept && !kept[k])) return R(0);
        if (by && graph_modulus(by[i]) == 0) return R(0);
        const R size = graph_modulus(by ? values[k] / by[i] : values[k]);
        return size < least ? R(0) : size;
    }
    __device__ void put(int64_t to, int32_t j, R weight) const
    {
        columns[to] = j;
        weights[to] = weight == weight ? weight : R(0);
    }
    __device__ void operator()(int64_t at) const
    {
        const int32_t i = (int32_t)(at / GRAPH_LANES);
        const int lane = (int)(at % GRAPH_LANES);
        const int64_t first = rows[i], e0 = extra[i], e1 = extra[i + 1];
        const int diagonals = B.find(i, i) >= 0 ? 1 : 0;
        for (int64_t k = B.begin[i] + lane; k < B.end[i]; k += GRAPH_LANES) {
            const int32_t j = B.columns[k];
            if (j == i) continue;
            const int64_t before = k - B.begin[i] - (j > i ? diagonals : 0) + lower_bound(sources, e0, e1, j) - e0;
            put(first + before, j, weight(i, k) + weight(j, B.find(j, i)));
        }
        for (int64_t e = e0 + lane; e < e1; e += GRAPH_LANES) {
            const int32_t j = sources[e];
            const int64_t before =
                lower_bound(B.columns, B.begin[i], B.end[i], j) - B.begin[i] - (j > i ? diagonals : 0);
            put(first + before + e - e0, j, weight(j, B.find(j, i)));
        }
        if (lane) return;
        begin[i] = first;
        end[i] = rows[i + 1];
    }
};

} // namespace

#endif
