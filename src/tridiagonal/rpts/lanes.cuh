/* Partitions of the lanes of a warp, joined pairwise by shuffles until two rows are left for all of them. All lanes
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

/** What a lane knows of losses: of its partition; of the rows of unions that it makes, suspect ones below, lost ones from LOST_ROWS on, by the
 *  bit in which the lanes of the union's halves differ; is a row beyond everything? */
constexpr unsigned LOST_ROWS = 1 << 8, SUSPECT_LANE = 1 << 16, LOST_LANE = 1 << 17, BEYOND = 1u << 31;
__device__ __forceinline__ unsigned lane_losses(loss of_lane) { return of_lane == KEPT ? 0 : of_lane == SUSPECT ? SUSPECT_LANE : SUSPECT_LANE | LOST_LANE; }
template <typename T, int NR> __device__ __forceinline__ unsigned union_losses(pivoting p, T times_row, const row_of<T, NR> &row, int bit)
{
    const loss of_row = loss_of(p, times_row, row);
    return (of_row == KEPT ? 0 : of_row == SUSPECT ? bit : bit + bit * LOST_ROWS) | (is_beyond(p, row) ? BEYOND : 0);
}
/** Are rows lost that would be needed? Of a union both rows must have lost theirs, which the lanes of its halves know. Several suspect ones are as
 *  bad. The same answer for all lanes. */
__device__ __forceinline__ bool is_any_lost(unsigned losses)
{
    if (__builtin_expect(!__any_sync(~0u, losses), 1)) return false;
    const unsigned lane = threadIdx.x % WARP, my_unions = (lane & -lane) - 1; /* whose first lane this one is */
    unsigned both = 0;
#pragma unroll
    for (unsigned bit = 1; bit < WARP; bit *= 2) both |= losses & __shfl_xor_sync(~0u, losses, (int)bit) & (bit | bit * LOST_ROWS);
    const int suspects = __popc(both & my_unions & (WARP - 1)) + ((losses & SUSPECT_LANE) != 0);
    const unsigned some = __ballot_sync(~0u, suspects > 0);
    return __any_sync(~0u, (losses & (LOST_LANE | BEYOND)) | (both / LOST_ROWS) | (suspects > 1)) || __popc(some) > 1;
}

/** Is the substitution in the lane's partition to be done again, carefully? Where it has lost something, or is suspect as another lane's is. */
__device__ __forceinline__ bool is_to_do_again(loss disagreement)
{
    const unsigned some = __ballot_sync(~0u, disagreement != KEPT);
    return disagreement == LOST || (disagreement == SUSPECT && __popc(some) > 1);
}

/** The union of the partitions of lanes 0 .. count - 1: of the first 2, 4, ... of them and, last, of all; every lane below
 *  `count` rounded up to a power of two gets the result. The two halves of a union share the work: lanes of the second half
 *  make its last row; lanes of the first half make its first row, reversed, so that it is the same work. losses: is_any_lost. */
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR> join_lanes(pivoting p, const rows_of<T, NR> &mine, int count, unsigned &losses)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> row; /* of the union so far: in its first half its first row, reversed, in its second half its last row */
    int bit = 1;
    if (count <= 1) return mine;
#pragma unroll 1
    for (; bit < count; bit *= 2) {
        const bool second = lane & bit;
        row_of<T, NR> x1, x2, x3; /* the meeting row of the other half, that of the lane's half, its outer row; in the first half reversed */
        if (bit == 1) {
            x2 = either(second, mine.first, reversed(mine.last)), x3 = either(second, mine.last, reversed(mine.first));
            x1 = shuffle_from(reversed(x2), lane ^ 1);
        } else {
            const int outer = second ? lane | bit / 2 : lane & ~(bit / 2);
            x1 = shuffle_from(row, outer ^ bit), x2 = reversed(shuffle_from(row, outer ^ (bit / 2))), x3 = shuffle_from(row, outer);
        }
        T times_row, times_carried;
        row = x1;
        eliminate<true>(row, x2);
        eliminate<true>(row, x3, times_row, times_carried, p.growth);
        if (((lane & ~(2 * bit - 1)) | bit) >= count) row = either(second, x1, x3); /* there is no second half */
        else losses |= union_losses(p, times_row, row, bit);
    }
    return {reversed(shuffle_from(row, lane & ~(bit / 2))), shuffle_from(row, lane | bit / 2)};
}

#endif
