/* The solve of systems that fit on the chip: one kernel reads the system once, keeps it in shared memory, a tile a warp, and
 * writes the solution: 5 elements a row with one right-hand side. What is left of the tiles is joined within each block; what is
 * left of blocks is exchanged through global memory, in a cooperative launch, and solved by every warp for itself, since that takes
 * less time than handing the result around. */
#ifndef TRINE_RPTS_RESIDENT_CUH
#define TRINE_RPTS_RESIDENT_CUH

#include <cooperative_groups.h>

#include "tridiagonal/rpts/tile.cuh"

/** The most blocks, and warps of a block. */
constexpr int EXCHANGED = 128, GRID_WARPS = 12;

template <typename T> struct resident_solve : tiled_solve<T> {
    T *exchanged; /* room for two exchanges */
};

/** Rows that are left of up to SLOTS tiles, number by number: lower, diag, upper, rhs of the first one, then of the last one. */
template <typename T, int NR> constexpr int NUMBERS = 2 * (3 + NR);

template <typename T, int NR> __device__ __forceinline__ T number_of(const rows_of<T, NR> &rows, int i)
{
    const row_of<T, NR> &r = i < 3 + NR ? rows.first : rows.last;
    const int k = i < 3 + NR ? i : i - 3 - NR;
    return k == 0 ? r.lower : k == 1 ? r.diag : k == 2 ? r.upper : r.rhs[k - 3];
}
template <typename T, int NR, int SLOTS> __device__ __forceinline__ void put_rows(T *numbers, int slot, const rows_of<T, NR> &rows)
{
#pragma unroll
    for (int i = 0; i < NUMBERS<T, NR>; i++) numbers[i * SLOTS + slot] = number_of(rows, i);
}
template <typename T, int NR, int SLOTS> __device__ __forceinline__ rows_of<T, NR> get_rows(const T *numbers, int slot, int count)
{
    rows_of<T, NR> rows = {identity_row<T, NR>(), identity_row<T, NR>()};
    if (slot < count) {
        T v[NUMBERS<T, NR>];
#pragma unroll
        for (int i = 0; i < NUMBERS<T, NR>; i++) v[i] = numbers[i * SLOTS + slot];
        rows.first.lower = v[0], rows.first.diag = v[1], rows.first.upper = v[2];
        rows.last.lower = v[3 + NR], rows.last.diag = v[4 + NR], rows.last.upper = v[5 + NR];
#pragma unroll
        for (int k = 0; k < NR; k++) rows.first.rhs[k] = v[3 + k], rows.last.rhs[k] = v[6 + NR + k];
    }
    return rows;
}

/** The tree over up to EXCHANGED tiles: one, two or four neighbours a lane, then the lanes. */
template <typename T, int NR> struct exchanged_tree {
    static_assert(EXCHANGED == 4 * WARP, "");

    /** Solve the system of the tiles' rows; the unknowns at the ends of tile `index` and of its neighbours. */
    __device__ __forceinline__ known_of<T, NR> solve(pivoting p, const T *numbers, int count, int index)
    {
        const int lane = threadIdx.x % WARP, each = count <= WARP ? 1 : count <= 2 * WARP ? 2 : 4;
        joint_of<T, NR> inner, middle, kept = {};
        rows_of<T, NR> mine = get_rows<T, NR, EXCHANGED>(numbers, each * lane, count);
        if (each > 1) {
            rows_of<T, NR> halves[2];
#pragma unroll 1
            for (int half = 0; half < each / 2; half++) { /* the joint of the half that holds `index` is the one needed */
                const int slot = each * lane + 2 * half;
                const rows_of<T, NR> A = get_rows<T, NR, EXCHANGED>(numbers, slot, count), B = get_rows<T, NR, EXCHANGED>(numbers, slot + 1, count);
                const joint_of<T, NR> j = find_joint(p, A, B);
                mine = join(A, B);
                if (half == 0) halves[0] = mine;
                if (each == 2 || half == (index & 2) / 2) inner = j;
            }
            if (each == 4) {
                halves[1] = mine;
                middle = find_joint(p, halves[0], halves[1]);
                mine = join(halves[0], halves[1]);
            }
        }
        known_of<T, NR> known = close_system(p, join_lanes<true>(p, mine, kept, (count + each - 1) / each));
        split_lanes(kept, known, (count + each - 1) / each);
        T left[NR], right[NR];
        if (each == 4) {
            meet_right(middle, known, right), meet_left(middle, known, right, left);
            narrow(known, index & 2, left, right);
        }
        if (each > 1) {
            meet_right(inner, known, right), meet_left(inner, known, right, left);
            narrow(known, index & 1, left, right);
        }
        return shuffle_from(known, index / each);
    }
};

/** Shared memory behind the tiles. */
template <typename T, int NR> constexpr size_t exchange_bytes() { return sizeof(T) * NUMBERS<T, NR> * (EXCHANGED + WARP); }

template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP *GRID_WARPS) solve_resident(const __grid_constant__ resident_solve<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const tile t = {(T *)(shared_memory + warp * tile::BYTES)};
    T *exchanged = (T *)(shared_memory + warps * tile::BYTES), *of_block = exchanged + NUMBERS<T, NR> * EXCHANGED;
    const int64_t row = (blockIdx.x * (int64_t)warps + warp) * tile::ROWS;
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    exchanged_tree<T, NR> tree;
    int turn = 0;
    for (int64_t first = 0; first < s.nrhs; first += NR, turn ^= 1) {
        const int count = s.columns_from(first, NR);
        T *numbers = s.exchanged + turn * NUMBERS<T, NR> * EXCHANGED; /* the last turn's are still being read */
        way_back<T, NR> back;
        joint_of<T, NR> kept_by_block;
        load_tile(t, s.A, s.D, row, first, count);
        wait_for_tile(t, s.A, row);
        const rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back);
        find_joints(s.p, t, back);
        if (lane == 0) put_rows<T, NR, WARP>(of_block, warp, rows);
        __syncthreads();
        const rows_of<T, NR> block = join_lanes<true>(s.p, get_rows<T, NR, WARP>(of_block, lane, warps), kept_by_block, warps);
        if (threadIdx.x == 0) put_rows<T, NR, EXCHANGED>(numbers, blockIdx.x, block);
        grid.sync();
        for (int i = threadIdx.x; i < NUMBERS<T, NR> * EXCHANGED; i += blockDim.x)
            if (i % EXCHANGED < (int)gridDim.x) exchanged[i] = numbers[i];
        __syncthreads();
        known_of<T, NR> known = tree.solve(s.p, exchanged, gridDim.x, blockIdx.x);
        split_lanes(kept_by_block, known, warps);
        substitute_tile(t, back, shuffle_from(known, warp));
        store_tile(t, s.A.n, s.X, row, first, count);
        __syncthreads();
    }
}

#endif
