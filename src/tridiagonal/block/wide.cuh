/* The first stage of a solve with wide blocks on the GPU: a lane has a row (block/rows.cuh), 3 N lanes are a partition. */
#ifndef TRINE_BLOCK_WIDE_CUH
#define TRINE_BLOCK_WIDE_CUH

#include "tridiagonal/block/rows.cuh"

namespace trine_block {

/** Eliminate the inner block columns of a partition in a tile; the 2 N rows left have last and right in front, then left and
 *  first if they are kept. left, first: known otherwise. arrive(j) is called before block row j is read, keep(j) when block
 *  column j has been eliminated. */
template <bool SPIKES, typename T, int N, int RHS, typename ARRIVE, typename KEEP>
__device__ __forceinline__ void sweep_rows(const stage_of<T> &s, const place<3 * N> &at, const tile<T, N, 3 * N, RHS> &tile, lane_row<T, N, 1, RHS, SPIKES> &row,
                                           const T (&left)[RHS][N], const T (&first)[RHS][N], const ARRIVE &arrive, const KEEP &keep)
{
    const bool begins = !s.cyclic && at.p == 0, ends = !s.cyclic && at.p == s.partitions - 1; /* corners are never read as numbers */
    const auto enter = [&](auto early, int j, int r) {
        constexpr int EARLY = decltype(early)::value;
        const int position = (j & tile.mask) * N;
        const T *here = tile.mine + position * N + r;
#pragma unroll
        for (int c = 0; c < RHS; c++) row.y[c] = c < tile.rhs_there ? tile.my_rhs[c * tile.at_hand.column + position + r] : T{};
        row.template enter<EARLY>(j * N + r, [&](int side, int c) {
            const T x = (side == 0 && j == 0 && begins) || (side == 2 && ends && j == at.m - 1) ? T{} : here[side * tile.at_hand.length + c * N];
            if constexpr (!SPIKES)
#pragma unroll
                for (int k = 0; k < RHS; k++)
                    if (side < EARLY) row.y[k] = row.y[k] - x * (side == EARLY - 1 ? first[k][c] : left[k][c]);
            return x;
        });
    };
    arrive(1);
    if (at.q < N) enter(std::integral_constant<int, 2>(), 0, at.q);
    else if (at.q < 2 * N) enter(std::integral_constant<int, 1>(), 1, at.q - N);
    else row.rank = at.q - 2 * N;
#pragma unroll 1
    for (int j = 1; j < at.m - 1; j++) {
        arrive(j + 1);
        if (row.rank >= 0) enter(std::integral_constant<int, 0>(), j + 1, row.rank);
        row.eliminate(s, at, j, 0, nullptr, nullptr);
        keep(j);
        row.advance();
    }
}

template <typename T, int N, int RHS> __global__ void __launch_bounds__(WARP) reduce_wide(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int ROWS = 3 * N, from[4] = {3, 4, 0, 1};
    const place<ROWS> at(s);
    const int64_t column = (int64_t)blockIdx.y * RHS;
    tile<T, N, ROWS, RHS> tile(s, at, 2 * CHUNK, 2 * CHUNK - 1, (T *)shared_memory, column);
    lane_row<T, N, 1, RHS, true> row = {};
    const T none[RHS][N] = {};
    tile.load(s, at, column, 0, at.m < CHUNK ? at.m : CHUNK);
    sweep_rows<true>(s, at, tile, row, none, none, [&](int j) { arrive(tile, s, at, column, j); }, [](int) {});
    const int number = number_of_row<ROWS>(at, row.rank < 0);
    if (!at.there || row.rank >= 0) return;
    T *coarse = s.coarse + at.p * 8 * N * N + number;
    if (blockIdx.y == 0)
#pragma unroll
        for (int side = 0; side < 4; side++)
#pragma unroll
            for (int c = 0; c < N; c++) coarse[(side * N + c) * 2 * N] = row.u[from[side] * N + c];
#pragma unroll
    for (int r = 0; r < RHS; r++)
        if (r < tile.rhs_there) s.coarse_x[(column + r) * s.coarse_ld + at.p * 2 * N + number] = row.y[r];
}

/** On the way back, lane r N + i has element i of every block column of right-hand side r. */
template <typename T, int N, int RHS> __global__ void __launch_bounds__(WARP) substitute_wide(const __grid_constant__ stage_of<T> s)
{
    static_assert(RHS <= 3, "there are 3 N lanes");
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int ROWS = 3 * N;
    const place<ROWS> at(s);
    const int64_t column = (int64_t)blockIdx.y * RHS, end = 2 * s.partitions, p = 2 * at.p;
    tile<T, N, ROWS, RHS> tile(s, at, s.base + (s.larger > 0), ~0, (T *)shared_memory, column);
    lane_row<T, N, 1, RHS, false> row = {};
    T left[RHS][N], first[RHS][N];
    const auto interface = [&](int r, int64_t k, int i) { /* block column k of the coarse system; cyclic or not there */
        const T *x = s.coarse_x + (r < tile.rhs_there ? column + r : column) * s.coarse_ld + i;
        return k >= 0 && k < end ? x[k * N] : s.cyclic ? x[(k < 0 ? end - 1 : 0) * N] : T{};
    };
    tile.load(s, at, column, 0, at.m);
#pragma unroll
    for (int r = 0; r < RHS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) left[r][i] = interface(r, p - 1, i), first[r][i] = interface(r, p, i);
    wait_for_copies();
    __syncwarp();
    sweep_rows<false>(s, at, tile, row, left, first, [](int) {}, [&](int j) {
        const int k = row.rank;
        T *here = tile.mine + j * N * N + k;
        if (k < 0) return;
#pragma unroll
        for (int c = 0; c < ROWS; c++) here[c / N * tile.at_hand.length + c % N * N] = c == k ? row.inverse : row.u[c];
#pragma unroll
        for (int r = 0; r < RHS; r++)
            if (r < tile.rhs_there) tile.my_rhs[r * tile.at_hand.column + j * N + k] = row.y[r];
    });
    __syncwarp();
    const int r = at.q / N, i = at.q % N, lanes = at.first_lane + r * N;
    const bool there = r < tile.rhs_there && (int)threadIdx.x < at.first_lane + ROWS;
    T *x = tile.my_rhs + (there ? r : 0) * tile.at_hand.column + i;
    T next = interface(there ? r : 0, p + 1, i), behind = interface(there ? r : 0, p + 2, i);
    if (there) x[0] = interface(r, p, i), x[(at.m - 1) * N] = next;
#pragma unroll 1
    for (int j = at.m - 2; j > 0; j--) {
        const T *rows = tile.mine + j * N * N + i;
        T y = x[j * N];
#pragma unroll
        for (int c = 0; c < N; c++) y = y - rows[2 * tile.at_hand.length + c * N] * shuffle_from(behind, lanes + c);
#pragma unroll
        for (int c = 0; c < N; c++) y = y - rows[tile.at_hand.length + c * N] * shuffle_from(next, lanes + c);
#pragma unroll
        for (int c = N - 1; c >= 0; c--) {
            const T u = rows[c * N];
            if (i == c) y = y * u;
            const T known = shuffle_from(y, lanes + c);
            if (i < c) y = y - u * known;
        }
        if (there) x[j * N] = y;
        behind = next, next = y;
    }
    tile.store(s, at, column);
}

} // namespace trine_block

#endif
