/* A binary tree of partitions in shared memory, walked by one warp: joined pairwise, level by level, until two rows are left for all
 * of them; and the way back. For short systems, where the number of instructions is the time: what only the way back needs is
 * found afterwards, lane i seeing to the joint of leaves i and i + 1 alone, whatever its level, instead of all lanes on each level. */
#ifndef TRINE_RPTS_TREE_CUH
#define TRINE_RPTS_TREE_CUH

#include "tridiagonal/rpts_rows.cuh"
#include "tridiagonal/rpts_system.cuh"

/** A partition's two rows in shared memory, in words of 16 bytes. The first one is reversed, as most who read it want it. */
template <typename T, int NR> struct alignas(16) stored_row { row_of<T, NR> row; };
template <typename T, int NR> struct stored_rows { stored_row<T, NR> reversed_first, last; };

template <typename T, int NR> __device__ __forceinline__ void store_rows(stored_rows<T, NR> *to, const rows_of<T, NR> &rows)
{
    to->reversed_first.row = reversed(rows.first), to->last.row = rows.last;
}
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR> read_rows(const stored_rows<T, NR> *from)
{
    return {reversed(from->reversed_first.row), from->last.row};
}

/** 2^levels leaves, at most 32. */
template <typename T, int NR> struct shared_tree {
    using rows = stored_rows<T, NR>;
    const rows *leaves;
    rows *unions; /* 2^levels - 1 of them, this warp's own: level 1 first, the root last */
    int levels;
    joint_of<T, NR> joint; /* of leaves lane and lane + 1 */

    static constexpr int UNIONS(int leaves) { return leaves - 1; }
    __device__ __forceinline__ const rows *of_level(int level) const { return level == 0 ? leaves : unions + ((1 << levels) - (2 << (levels - level))); }
    __device__ __forceinline__ const rows *root() const { return of_level(levels); }

    /** The leaves are there and seen by this warp; afterwards the root is. Lanes of the second half of a union make its last row; lanes
     *  of the first half its first row, reversed, so that it is the same work. */
    __device__ __forceinline__ void join()
    {
        const int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int level = 0; level < levels; level++) {
            const int second = lane >> level & 1, pair = (lane & ((1 << levels) - 1)) >> (level + 1);
            const stored_row<T, NR> *four = &of_level(level)[2 * pair].reversed_first; /* of the first half, then of the second half */
            row_of<T, NR> row = four[2 - second].row;              /* the meeting row of the other half */
            eliminate<true>(row, reversed(four[1 + second].row));  /* that of this half */
            eliminate<true>(row, four[3 * second].row);            /* this half's outer row */
            if (lane < 1 << levels && (lane & ((1 << level) - 1)) == 0) {
                stored_row<T, NR> *two = &unions[((1 << levels) - (1 << (levels - level))) + pair].reversed_first;
                two[second].row = row;
            }
            __syncwarp();
        }
    }
    __device__ __forceinline__ void find_joints(pivoting p)
    {
        const int lane = threadIdx.x % WARP, i = min(lane, (1 << levels) - 2), level = __ffs(i + 1) - 1;
        if (levels == 0) return;
        const rows *two = of_level(level) + 2 * (i >> (level + 1));
        joint = find_joint(p, read_rows(two), read_rows(two + 1));
    }
    /** From the known unknowns of the root to those of leaf number `lane`; every lane knows the former. */
    __device__ __forceinline__ void split(known_of<T, NR> &known) const
    {
        const int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int level = levels - 1; level >= 0; level--) {
            const int bit = 1 << level, middle = (lane & ((1 << levels) - 1) & ~(2 * bit - 1)) | (bit - 1);
            T left[NR], right[NR];
            meet_right(joint, known, right), meet_left(joint, known, right, left);
#pragma unroll
            for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], middle), right[k] = shuffle_from(right[k], middle);
            narrow(known, lane & bit, left, right);
        }
    }
};

#endif
