/* Partitions of 8 rows and more that are eliminated carefully, by lanes that help each other: M / 2 of them have two
 * rows each of one partition and join these as they join unions. A lane alone would take M - 2 steps one after the
 * other, and the warp waits for it. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_CAREFUL_PARTITION_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_CAREFUL_PARTITION_CUH

#include "tridiagonal/gtsv/cuda/tile_memory.cuh"
#include "tridiagonal/gtsv/cuda/wide_warp.cuh"

template <typename T, int NR, int M> struct shared_leaves {
    /* lanes of a partition, partitions at once */
    static constexpr int GROUP = M / 2, AT_ONCE = WARP / GROUP, ROUNDS = 2;
    static constexpr bool PAYS = M >= 8;
    static_assert(GROUP >= 1 && GROUP <= WARP && (GROUP & (GROUP - 1)) == 0, "groups of lanes");

    unsigned taken;                  /* lanes whose partitions are eliminated so; 0: none */
    wide_meeting<T, NR> inner[PAYS ? ROUNDS : 1];
    int lane_rows_of[PAYS ? ROUNDS : 1]; /* rows of the partition that the lane helps with; 0: none */

    __device__ __forceinline__ bool any() const { return PAYS && taken; }
    /** Which lanes want it, with so many rows? False if that are none, more than pays, or one of them has an odd
     *  number of rows. */
    __device__ __forceinline__ bool take(bool wanted, int rows)
    {
        taken = 0;
        if constexpr (!PAYS) return false;
        const unsigned all = __ballot_sync(~0u, wanted && rows > 0);
        if (__popc(all) <= AT_ONCE * ROUNDS && !__any_sync(~0u, wanted && rows % 2)) taken = all;
        return taken != 0;
    }
    __device__ __forceinline__ bool has_own() const { return taken >> threadIdx.x % WARP & 1; }
    /** The lane whose partition this lane helps with in a round; -1: nobody's. */
    __device__ __forceinline__ int helped(int round) const
    {
        unsigned left = taken;
        for (int i = round * AT_ONCE + (int)(threadIdx.x % WARP) / GROUP; i > 0; i--) left &= left - 1;
        return left ? __ffs(left) - 1 : -1;
    }
    __device__ __forceinline__ int rounds() const { return (__popc(taken) + AT_ONCE - 1) / AT_ONCE; }
    /** Unknowns of the partition that the lane helps with, two, from this one on. */
    static __device__ __forceinline__ int own_row() { return 2 * (threadIdx.x % GROUP); }

    /** What is left of the lane's partition, if it is one of those. */
    template <bool P> __device__ __forceinline__ wide_union<T, NR>
    join(const system_of<T> &A, const given_columns<T, P> &D, const lane_range<T> &range)
    {
        const int lane = threadIdx.x % WARP, number = __popc(taken & (1u << lane) - 1);
        wide_union<T, NR> left = {};
#pragma unroll 1
        for (int round = 0; round < rounds(); round++) {
            const int source = helped(round), from = source < 0 ? 0 : source;
            const int64_t start = shuffle_from(range.start, from);
            const int rows = __shfl_sync(~0u, range.rows, from);
            wide_union<T, NR> mine = {};
            lane_rows_of[round] = source < 0 ? 0 : rows;
            mine.there = own_row() < lane_rows_of[round];
            if (mine.there) {
                read_pair(A, D, range, start + own_row(), mine.pair.c, mine.rhs);
                scale_row(mine.pair.c[0], mine.rhs[0]), scale_row(mine.pair.c[1], mine.rhs[1]);
            }
            __syncwarp();
            mine = join_unions(mine, inner[round], GROUP);
            const wide_union<T, NR> here = shuffle_from(mine, number % AT_ONCE * GROUP);
            if (number / AT_ONCE == round) left = here;
        }
        return left;
    }
    /** The solution of these partitions, from the unknowns at the ends of every lane's one, to the lanes that have
     *  them: x[row][right-hand side]. */
    __device__ __forceinline__ void give(const known_of<T, NR> &known, T (&x)[M][NR]) const
    {
        const int number = __popc(taken & (1u << threadIdx.x % WARP) - 1), group = number % AT_ONCE * GROUP;
#pragma unroll 1
        for (int round = 0; round < rounds(); round++) {
            const int source = helped(round);
            known_of<T, NR> own = shuffle_from(known, source < 0 ? 0 : source);
            split_unions(own_row() < lane_rows_of[round], inner[round], own, GROUP);
#pragma unroll
            for (int j = 0; j < M; j++)
#pragma unroll
                for (int k = 0; k < NR; k++) {
                    const T value = shuffle_from(j % 2 ? own.last[k] : own.first[k], group + j / 2);
                    if (has_own() && number / AT_ONCE == round) x[j][k] = value;
                }
        }
    }
    /** The solution of these partitions in the tile, from the unknowns at the ends of every lane's partition. */
    __device__ __forceinline__ void substitute(T *data, const known_of<T, NR> &known) const
    {
        using tile = tile<T, NR, M>;
#pragma unroll 1
        for (int round = 0; round < rounds(); round++) {
            const int source = helped(round);
            const bool there = own_row() < lane_rows_of[round];
            known_of<T, NR> own = shuffle_from(known, source < 0 ? 0 : source);
            split_unions(there, inner[round], own, GROUP);
            for (int k = 0; there && k < NR; k++) {
                data[(3 + k) * tile::ROWS + tile::slot(source * M + own_row())] = own.first[k];
                data[(3 + k) * tile::ROWS + tile::slot(source * M + own_row() + 1)] = own.last[k];
            }
        }
        __syncwarp();
    }
};

/** What a lane keeps where its warp eliminates carefully: the meeting behind its partition; are its own rows
 *  eliminated carefully, and how. */
template <typename T, int NR, int M> struct careful_lane {
    wide_meeting<T, NR> meeting;
    bool again;
    shared_leaves<T, NR, M> shared;
    T elimination[M][4 + NR];
};
/** What is left of the warp's rows, in all lanes, from `leaf`, what is left of the lane's ones, or where kept.again
 *  says so from these themselves. */
template <typename T, int NR, int M, bool P> __device__ __noinline__ wide_union<T, NR>
join_lanes_carefully(const gtsv_solve<T, P> &s, lane_range<T> range, rows_of<T, NR> leaf, careful_lane<T, NR, M> &kept)
{
    if (!kept.shared.take(kept.again, range.rows))
        return join_carefully(s.A, s.D, range, kept.again ? nullptr : &leaf, kept.elimination, kept.meeting);
    const wide_union<T, NR> mine = kept.shared.join(s.A, s.D, range);
    return join_unions(kept.shared.has_own() ? mine : union_of(leaf, range.rows > 0), kept.meeting, WARP);
}

#endif
