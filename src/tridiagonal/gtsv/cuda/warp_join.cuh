/* Partitions of the lanes of a warp, joined pairwise by shuffles until two rows are left for all of them. All lanes
 * take part in every join, so that each knows the result without another exchange. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_WARP_JOIN_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_WARP_JOIN_CUH

#include "tridiagonal/gtsv/cuda/row_elimination.cuh"
#include "tridiagonal/common/system.cuh"

template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> shuffle_from(const row_of<T, NR> &r, int lane)
{
    row_of<T, NR> s = {shuffle_from(r.lower, lane), shuffle_from(r.diag, lane), shuffle_from(r.upper, lane)};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = shuffle_from(r.rhs[k], lane);
    return s;
}
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR> shuffle_from(const known_of<T, NR> &known,
                                                                                      int lane)
{
    known_of<T, NR> s;
#pragma unroll
    for (int k = 0; k < NR; k++) {
        s.before[k] = shuffle_from(known.before[k], lane), s.first[k] = shuffle_from(known.first[k], lane);
        s.last[k] = shuffle_from(known.last[k], lane), s.after[k] = shuffle_from(known.after[k], lane);
    }
    return s;
}
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> either(bool condition, const row_of<T, NR> &yes,
                                                                              const row_of<T, NR> &no)
{
    row_of<T, NR> r;
    r.lower = condition ? yes.lower : no.lower;
    r.diag = condition ? yes.diag : no.diag;
    r.upper = condition ? yes.upper : no.upper;
#pragma unroll
    for (int k = 0; k < NR; k++) r.rhs[k] = condition ? yes.rhs[k] : no.rhs[k];
    return r;
}

/** Has the lane's partition, or the union whose halves meet behind it, lost too much? Several suspect ones are as
 *  bad as one that is lost. The same answer for all lanes. */
template <typename R> __device__ __forceinline__ bool is_any_lost(pivoting p, int by_partition, int by_union)
{
    const bool partition = is_suspect<R>(p, by_partition), of_union = is_suspect<R>(p, by_union);
    if (__builtin_expect(!__any_sync(~0u, partition | of_union), 1)) return false;
    return __popc(__ballot_sync(~0u, partition)) + __popc(__ballot_sync(~0u, of_union)) > 1 ||
           __any_sync(~0u, is_lost<R>(p, max(by_partition, by_union)));
}

/** Is a lane's answer to be looked at, or to be found again? Where equations disagree, or are doubtful in several
 *  lanes. */
__device__ __forceinline__ bool is_any_apart(agreement of_lane)
{
    return __popc(__ballot_sync(~0u, of_lane != AGREE)) > 1 || __any_sync(~0u, of_lane == DISAGREE);
}
__device__ __forceinline__ bool is_apart(agreement of_lane)
{
    const unsigned some = __ballot_sync(~0u, of_lane != AGREE);
    return of_lane == DISAGREE || (of_lane == DOUBTFUL && __popc(some) > 1);
}

/** The union of the partitions of lanes 0 .. count - 1: of the first 2, 4, ... of them and, last, of all; every lane
 *  below `count` rounded up to a power of two gets the result. The two halves of a union share the work: lanes of
 *  the second half make its last row; lanes of the first half make its first row, reversed, so that it is the same
 *  work. *lost: by the union of the halves that meet behind the lane. */
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR>
join_lanes(pivoting p, const rows_of<T, NR> &mine, int count, int *lost)
{
    const int lane = threadIdx.x % WARP;
    /* of the union so far: in its first half its first row, reversed, in its second half its last row */
    row_of<T, NR> row;
    int bit = 1;
    *lost = NOTHING_LOST;
    if (count <= 1) return mine;
#pragma unroll 1
    for (; bit < count; bit *= 2) {
        const bool second = lane & bit;
        /* the meeting row of the other half, that of the lane's half, its outer row; in the first half reversed */
        row_of<T, NR> x1, x2, x3;
        if (bit == 1) {
            x2 = either(second, mine.first, reversed(mine.last)), x3 = either(second, mine.last, reversed(mine.first));
            x1 = shuffle_from(reversed(x2), lane ^ 1);
        } else {
            const int outer = second ? lane | bit / 2 : lane & ~(bit / 2);
            x1 = shuffle_from(row, outer ^ bit), x2 = reversed(shuffle_from(row, outer ^ (bit / 2))),
            x3 = shuffle_from(row, outer);
        }
        T times_row, times_carried;
        row = x1;
        eliminate<true>(row, x2);
        eliminate<true, MOST_GROWTH>(row, x3, times_row, times_carried);
        if (((lane & ~(2 * bit - 1)) | bit) >= count) row = either(second, x1, x3); /* there is no second half */
        else {
            const int largest = is_cut(times_row) ? ALL_LOST : largest_logarithm(row),
                      other = __shfl_xor_sync(~0u, largest, bit);
            if ((lane & (2 * bit - 1)) == bit - 1) *lost = lost_by_union<real_of<T>>(largest, other);
        }
    }
    return {reversed(shuffle_from(row, lane & ~(bit / 2))), shuffle_from(row, lane | bit / 2)};
}

#endif
