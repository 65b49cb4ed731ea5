/* Entries of a row in decreasing order, by sorting networks. */
#ifndef TRINE_FOREST_CUDA_BATCH_CUH
#define TRINE_FOREST_CUDA_BATCH_CUH

#include "forest/common/edge_order.h"

namespace {

/** A weight, positive or none, as an integer of the same order. */
__device__ inline unsigned order_of(float w) { return w > 0 ? __float_as_uint(w) : 0; }
__device__ inline unsigned long long order_of(double w)
{
    return w > 0 ? (unsigned long long)__double_as_longlong(w) : 0;
}

/** C entries of a row; column -1: none. Sorted by comparisons that do not depend on what is in them: lanes of a warp
 *  have rows of their own, and would not take the same branches. */
template <typename R, int C> struct batch {
    static_assert(C == 4 || C == 8, "networks are of 4 and of 8");
    decltype(order_of(R())) weight[C];
    unsigned long long tie[C];
    int32_t column[C];

    /** Entry j: the edge {v,u} of weight w. */
    __device__ void put(forest_ties ties, int32_t v, int j, R w, int32_t u)
    {
        weight[j] = order_of(w);
        tie[j] = weight[j] ? forest_tie_number(ties, v, u) : 0;
        column[j] = weight[j] ? u : -1;
    }
    __device__ static bool is_less(const batch &x, int i, const batch &y, int j)
    {
        return x.weight[i] < y.weight[j] || (x.weight[i] == y.weight[j] && x.tie[i] < y.tie[j]);
    }
    /** The stronger of i and j to place i. */
    __device__ void compare(int i, int j)
    {
        if (!is_less(*this, i, *this, j)) return;
        const auto w = weight[i];
        const unsigned long long t = tie[i];
        const int32_t u = column[i];
        weight[i] = weight[j], tie[i] = tie[j], column[i] = column[j];
        weight[j] = w, tie[j] = t, column[j] = u;
    }
    /** The strongest first (Batcher 1968, odd-even merge sort). */
    __device__ void sort()
    {
#pragma unroll
        for (int half = 0; half < C; half += 4) {
            compare(half, half + 1), compare(half + 2, half + 3);
            compare(half, half + 2), compare(half + 1, half + 3);
            compare(half + 1, half + 2);
        }
        if constexpr (C == 8) {
            compare(0, 4), compare(1, 5), compare(2, 6), compare(3, 7);
            compare(2, 4), compare(3, 5);
            compare(1, 2), compare(3, 4), compare(5, 6);
        }
    }
    /** The C strongest of this one and another one, which are sorted. */
    __device__ void merge(const batch &other)
    {
#pragma unroll
        for (int i = 0; i < C; i++)
            if (is_less(*this, i, other, C - 1 - i)) {
                weight[i] = other.weight[C - 1 - i];
                tie[i] = other.tie[C - 1 - i];
                column[i] = other.column[C - 1 - i];
            }
#pragma unroll
        for (int stride = C / 2; stride; stride /= 2) /* they rise and fall, or fall and rise */
#pragma unroll
            for (int i = 0; i < C; i++)
                if (!(i & stride)) compare(i, i + stride);
    }
};

} // namespace

#endif
