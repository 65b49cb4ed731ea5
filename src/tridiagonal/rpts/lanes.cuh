/* Partitions of the lanes of a warp, joined pairwise by shuffles until two rows are left for all of them; and the way back. All lanes
 * take part in every join, so that each knows the result without another exchange. */
#ifndef TRINE_RPTS_LANES_CUH
#define TRINE_RPTS_LANES_CUH

#include "tridiagonal/rpts/rows.cuh"
#include "tridiagonal/rpts/system.cuh"

template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> shuffle_from(const row_of<T, NR> &r, int lane)
{
    row_of<T, NR> s = {shuffle_from(r.lower, lane), shuffle_from(r.diag, lane), shuffle_from(r.upper, lane)};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = shuffle_from(r.rhs[k], lane);
    return s;
}
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR> shuffle_from(const known_of<T, NR> &known, int lane)
{
    known_of<T, NR> s;
#pragma unroll
    for (int k = 0; k < NR; k++) {
        s.before[k] = shuffle_from(known.before[k], lane), s.first[k] = shuffle_from(known.first[k], lane);
        s.last[k] = shuffle_from(known.last[k], lane), s.after[k] = shuffle_from(known.after[k], lane);
    }
    return s;
}
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> either(bool condition, const row_of<T, NR> &yes, const row_of<T, NR> &no)
{
    row_of<T, NR> r;
    r.lower = condition ? yes.lower : no.lower;
    r.diag = condition ? yes.diag : no.diag;
    r.upper = condition ? yes.upper : no.upper;
#pragma unroll
    for (int k = 0; k < NR; k++) r.rhs[k] = condition ? yes.rhs[k] : no.rhs[k];
    return r;
}

/** The unknown that a lane's half of a union has where the halves meet: of the second half its first one, of the first half its
 *  last one. x1, x2, x3: the meeting row of the other half, that of the lane's half, the outer row of the lane's half, in the
 *  second half as they are, in the first half reversed. carried: x1 after x2 has removed from it the unknown of the other half. */
template <typename T, int NR> __device__ __forceinline__ solved_of<T, NR> meeting_unknown(pivoting p, bool second, const row_of<T, NR> &x1, const row_of<T, NR> &x2,
    const row_of<T, NR> &x3, const row_of<T, NR> &carried, T times_row, T times_carried, int *other)
{
    const int scale1 = scale_of(p, x1), scale2 = scale_of(p, x2), scale3 = scale_of(p, x3);
    /* the unknown on the left, from the first half's row or from the second half's */
    const T in_first = second ? x1.diag : x2.diag, in_second = second ? x2.lower : x1.upper;
    const int of_first = logarithm(in_first) - (second ? scale1 : scale2), of_second = logarithm(in_second) - (second ? scale2 : scale1);
    const bool exchanged = exceeds(p, in_second, second ? scale2 : scale1, of_first);
    const int inner = second ? logarithm(carried.diag) - scale_left(exchanged, times_row, times_carried, scale1, scale2) : max(of_first, of_second);
    const bool outer = exceeds(p, x3.lower, scale3, inner), straight = !second & !exchanged;
    T pivot = second ? carried.diag : x1.upper, next = second ? carried.upper : x1.diag, last = second ? carried.lower : x1.lower, rhs[NR];
    pivot = outer ? x3.lower : straight ? x2.diag : pivot;
    next = outer ? x3.diag : straight ? x2.lower : next;
    last = outer ? x3.upper : straight ? x2.upper : last;
#pragma unroll
    for (int k = 0; k < NR; k++) rhs[k] = outer ? x3.rhs[k] : straight ? x2.rhs[k] : second ? carried.rhs[k] : x1.rhs[k];
    *other = second ? (outer ? AFTER : FIRST) : outer ? BEFORE : exchanged ? LAST : FIRST;
    return solve_row(pivot, next, last, rhs);
}

/** The union of the partitions of lanes 0 .. count - 1: of the first 2, 4, ... of them and, last, of all; every lane below
 *  `count` rounded up to a power of two gets the result. The two halves of a union share the work: lanes of the second half
 *  make its last row; lanes of the first half make its first row, reversed, so that it is the same work.
 *  KEPT: of the join in which lane i is the last of the first half it keeps `left`, of that in which it is the first of the
 *  second half `right`. */
template <bool KEPT, typename T, int NR> __device__ __forceinline__ rows_of<T, NR> join_lanes(pivoting p, const rows_of<T, NR> &mine, joint_of<T, NR> &kept, int count)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> row; /* of the union so far: in its first half its first row, reversed, in its second half its last row */
    int bit = 1;
    if (count <= 1) return mine;
#pragma unroll 1
    for (; bit < count; bit *= 2) {
        const bool second = lane & bit;
        row_of<T, NR> x1, x2, x3; /* as in meeting_unknown */
        if (bit == 1) {
            x2 = either(second, mine.first, reversed(mine.last)), x3 = either(second, mine.last, reversed(mine.first));
            x1 = shuffle_from(reversed(x2), lane ^ 1);
        } else {
            const int outer = second ? lane | bit / 2 : lane & ~(bit / 2);
            x1 = shuffle_from(row, outer ^ bit), x2 = reversed(shuffle_from(row, outer ^ (bit / 2))), x3 = shuffle_from(row, outer);
        }
        row = x1;
        T times_row, times_carried;
        eliminate<true>(row, x2, times_row, times_carried);
        if constexpr (KEPT) {
            int other;
            const solved_of<T, NR> unknown = meeting_unknown(p, second, x1, x2, x3, row, times_row, times_carried, &other);
            if ((lane & (2 * bit - 1)) == bit - 1) kept.left = unknown, kept.left_other = other;
            if ((lane & (2 * bit - 1)) == bit) kept.right = unknown, kept.right_other = other;
        }
        eliminate<true>(row, x3);
        if (((lane & ~(2 * bit - 1)) | bit) >= count) row = either(second, x1, x3); /* there is no second half */
    }
    return {reversed(shuffle_from(row, lane & ~(bit / 2))), shuffle_from(row, lane | bit / 2)};
}
/** From the known unknowns of the union to those of the lane's partition. */
template <typename T, int NR> __device__ __forceinline__ void split_lanes(const joint_of<T, NR> &kept, known_of<T, NR> &known, int count)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int bit = WARP / 2; bit >= 1; bit /= 2) {
        if (bit >= count) continue;
        T left[NR], right[NR];
        const int base = lane & ~(2 * bit - 1);
        meet_right(kept, known, right);
#pragma unroll
        for (int k = 0; k < NR; k++) right[k] = shuffle_from(right[k], base | bit);
        meet_left(kept, known, right, left);
#pragma unroll
        for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], base | (bit - 1));
        if ((base | bit) < count) narrow(known, lane & bit, left, right);
    }
}

#endif
