/* A binary tree of partitions in shared memory, walked by one warp: joined pairwise, level by level, until two rows
 * are left for all of them; and back substitution. For short systems, where the number of instructions is the time:
 * what only back substitution needs is found afterwards, lane i seeing to the interface between leaves i and i + 1
 * alone, whatever its level, instead of all lanes on each level. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_INTERFACE_TREE_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_INTERFACE_TREE_CUH

#include "tridiagonal/gtsv/cuda/warp_join.cuh"
#include "tridiagonal/gtsv/cuda/row_elimination.cuh"
#include "tridiagonal/common/system.cuh"

/** A row in words of 16 bytes. */
template <typename T, int NR> struct alignas(16) stored_row { row_of<T, NR> row; };
/** What is left of a partition. The first row is reversed, as most who read it want it. */
template <typename T, int NR> struct stored_rows { stored_row<T, NR> reversed_first, last; };
/** Of two neighbours; an odd number of words, so that lanes reading the same row of several pairs touch all banks. */
template <typename T, int NR> struct stored_pair {
    stored_rows<T, NR> half[2];
    int4 padding;
};

template <typename T, int NR> __device__ __forceinline__ void store_rows(stored_rows<T, NR> &to,
                                                                         const rows_of<T, NR> &rows)
{
    to.reversed_first.row = reversed(rows.first), to.last.row = rows.last;
}
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR> read_rows(const stored_rows<T, NR> &from)
{
    return {reversed(from.reversed_first.row), from.last.row};
}
template <typename T, int NR> __device__ __forceinline__ stored_rows<T, NR> &leaf_of(stored_pair<T, NR> *leaves, int i)
{
    return leaves[i >> 1].half[i & 1];
}
template <typename T, int NR> __device__ __forceinline__ interface_of<T, NR>
find_interface(pivoting p, const stored_pair<T, NR> &pair)
{
    return find_interface(p, read_rows(pair.half[0]), read_rows(pair.half[1]));
}

/** 2^levels leaves, at most 32; PARTIAL: only the first `count` of them are there. (Rows of the identity can stand
 *  for the others at the end of a system, but not where the last row has a neighbour in the first one.) */
template <typename T, int NR, bool PARTIAL> struct shared_tree {
    using pair = stored_pair<T, NR>;
    const pair *leaves;
    pair *unions; /* half as many as leaves, 1 or more, this warp's own: level 1 first, the root last */
    int levels, count;

    __device__ __forceinline__ int offset_of(int level) const { return (1 << levels >> 1) - (1 << (levels - level)); }
    __device__ __forceinline__ const pair *of_level(int level) const
    {
        return level == 0 ? leaves : unions + offset_of(level);
    }
    __device__ __forceinline__ stored_rows<T, NR> &root() const
    {
        return const_cast<pair *>(of_level(levels))->half[0];
    }

    /** The leaves are there and seen by this warp; afterwards the root is. Lanes of the second half of a union make
     *  its last row; lanes of the first half its first row, reversed, so that it is the same work. False if too much
     *  is lost by a union, or by a lane's leaf, as it says itself. */
    __device__ __forceinline__ bool join(pivoting p, int lost_by_leaf) const
    {
        bool is_any_cut = false;
        const int lane = threadIdx.x % WARP & ((1 << levels) - 1);
        const pair *from = leaves + (lane >> 1);
        int offset = 0, step = 1 << levels >> 1;
#pragma unroll 1
        for (int level = 0; level < levels; level++) {
            const int second = lane >> level & 1, number = lane >> (level + 1);
            const stored_row<T, NR> *four = &from->half[0].reversed_first; /* of the first half, then of the second
                                                                              half */
            row_of<T, NR> row = four[2 - second].row;                      /* the meeting row of the other half */
            /* of this half */
            const row_of<T, NR> meeting = reversed(four[1 + second].row), outer = four[3 * second].row;
            pair *const to = unions + offset + (number >> 1);
            T times_row, times_carried;
            eliminate<true>(row, meeting);
            eliminate<true, MOST_GROWTH>(row, outer, times_row, times_carried);
            if (PARTIAL && (2 * number + 1) << level >= count) row = four[second].row; /* there is no second half */
            else is_any_cut = is_any_cut | is_cut(times_row);
            (&to->half[number & 1].reversed_first)[second].row = row; /* by all lanes that have made it */
            from = to;
            step >>= 1, offset += step;
            __syncwarp();
        }
        return !is_any_lost<real_of<T>>(p, lost_by_leaf, is_any_cut ? ALL_LOST : lost_behind(threadIdx.x % WARP));
    }
    /** By the union of the halves that meet behind leaf i. */
    __device__ __forceinline__ int lost_behind(int i) const
    {
        const int level = __ffs(i + 1), number = i >> level;
        if (i + 1 >= (PARTIAL ? min(count, 1 << levels) : 1 << levels)) return NOTHING_LOST;
        const stored_rows<T, NR> &rows = of_level(level)[number >> 1].half[number & 1];
        return lost_by_union<real_of<T>>(largest_logarithm(rows.reversed_first.row), largest_logarithm(rows.last.row));
    }
    /** The pair that is joined between leaves i and i + 1; for the last leaf, and one behind it, any pair. */
    __device__ __forceinline__ const pair &joined_behind(int i) const
    {
        i = max(min(i, (1 << levels) - 2), 0);
        const int level = __ffs(i + 1) - 1;
        return of_level(level)[i >> (level + 1)];
    }
    /** From the known unknowns of the root, which every lane knows, to those of leaf number `lane`. Lane shift + i
     *  has the interface behind leaf i; shift is a multiple of the number of leaves. MOST: levels that there may be. */
    template <int MOST> __device__ __forceinline__ void split(const interface_of<T, NR> &interface,
                                                              known_of<T, NR> &known, int shift) const
    {
        const int lane = threadIdx.x % WARP & ((1 << levels) - 1);
#pragma unroll
        for (int level = MOST - 1; level >= 0; level--) {
            if (level >= levels) continue;
            const int bit = 1 << level, middle = shift + ((lane & ~(2 * bit - 1)) | (bit - 1));
            T left[NR], right[NR];
            meet_right(interface, known, right), meet_left(interface, known, right, left);
#pragma unroll
            for (int k = 0; k < NR; k++)
                left[k] = shuffle_from(left[k], middle), right[k] = shuffle_from(right[k], middle);
            if (!PARTIAL || ((lane & ~(2 * bit - 1)) | bit) < count) narrow(known, lane & bit, left, right);
        }
    }
};

#endif
