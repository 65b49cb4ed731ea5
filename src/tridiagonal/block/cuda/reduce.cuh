/* The first stage of a solve or of a factorization on the GPU. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_REDUCE_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_REDUCE_CUH

#include "tridiagonal/block/cuda/panel_rows.cuh"

namespace trine_block {

/** Shared memory of a warp: pivot rows, and in all. */
template <typename T, int N, int RHS, int R> constexpr size_t PIVOT_ROW_BYTES =
    (lane_rows<T, N, 1, RHS, R>::SHARED_BYTES + 15) / 16 * 16;
template <typename T, int N, int RHS, int R> size_t reduce_bytes(int64_t nrhs)
{
    return PIVOT_ROW_BYTES<T, N, RHS, R> + tile_shape<T, N, 3 * N / R, RHS>(2 * CHUNK, nrhs).bytes();
}

/** Eliminate the inner block columns of a partition, R rows a lane: a group of the coarse system is left. The pivot
 *  rows go to s.chunks, their right-hand sides to X, where `backward` finds them; without right-hand sides the
 *  multipliers are kept too, for `forward`. Where s.chunks is NULL none of it is kept, and `reduce` comes again for
 *  some partitions at a time. The matrix is read once, some block rows ahead, so that X may be D. PLAIN: see
 *  tile::is_plain. */
template <typename T, int N, int RHS, int R, bool PLAIN> __global__ void __launch_bounds__(WARP)
    reduce(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int ROWS = 3 * N, LANES = ROWS / R, from[4] = {3, 4, 0, 1};
    static_assert(LANES >= N, "a lane a row that enters");
    const place<LANES> at(s, blockIdx.x);
    /* corners are never read as numbers */
    const bool begins = !s.cyclic && at.p == 0, ends = !s.cyclic && at.p == s.partitions - 1;
    const int64_t column = (int64_t)blockIdx.y * RHS;
    const bool keeps = s.chunks != nullptr;
    const factors_of<T, N, 1> factors(s, at.group);
    tile<T, N, LANES, RHS> tile(s, at, 2 * CHUNK, 2 * CHUNK - 1, (T *)(shared_memory + PIVOT_ROW_BYTES<T, N, RHS, R>),
                                column);
    lane_rows<T, N, 1, RHS, R> rows(at, shared_memory);
    const auto row_of = [&](int j, int r) {
        return [here = tile.mine + (j & tile.mask) * N * N + r, length = tile.at_hand.length](int side, int c) {
            return here[side * length + c * N];
        };
    };
    const auto enter = [&](auto early, int slot, int j, int r, real_of<T> weight) {
        rows.template enter<decltype(early)::value>(slot, j * N + r, weight, row_of(j, r));
#pragma unroll
        for (int c = 0; c < RHS; c++)
            rows.y[slot][c] =
                RHS == 1 || c < tile.rhs_there ? tile.my_rhs[c * tile.at_hand.column + (j & tile.mask) * N + r] : T{};
        if (RHS == 0 && keeps && at.there && s.is_scaled)
            s.scales[(at.group + j) * N + r] = (uint16_t)exponent_bits(weight);
        rows.scale_row(s, slot);
    };
    tile.template load<PLAIN>(s, at, column, 0, at.m < CHUNK ? at.m : CHUNK);
    arrive<PLAIN, CHUNK>(tile, s, at, column, 1);
    if (begins) tile.clear(at, 0, 0);
    if (ends && at.m == 2) tile.clear(at, 2, 1);
    __syncwarp();
#pragma unroll
    for (int slot = 0; slot < R; slot++) {
        const int position = rows.position(slot, at.q);
#pragma unroll
        for (int c = 0; c < RHS; c++) rows.y[slot][c] = T{};
        if (slot * LANES < N && position < N)
            enter(std::integral_constant<int, 2>(), slot, 0, position, rows.weight_of(row_of(0, position)));
        else if (slot * LANES < 2 * N && position < 2 * N)
            enter(std::integral_constant<int, 1>(), slot, 1, position - N, rows.weight_of(row_of(1, position - N)));
        else rows.leave_empty(slot, position - 2 * N);
    }
#pragma unroll 1
    for (int j = 1; j < at.m - 1; j++) {
        arrive<PLAIN, CHUNK>(tile, s, at, column, j + 1);
        if (j + 2 == at.m) {
            if (ends) tile.clear(at, 2, j + 1);
            __syncwarp();
        }
        const real_of<T> weight = rows.weight_of(row_of(j + 1, at.q % N)); /* lane r has that of row r */
#pragma unroll
        for (int slot = 0; slot < R; slot++) {
            const int r = rows.rank[slot];
            const real_of<T> its_weight = shuffle_from(weight, at.first_lane + (r < 0 ? 0 : r));
            if (r >= 0) enter(std::integral_constant<int, 0>(), slot, j + 1, r, its_weight);
        }
        const int64_t unknown = first_unknown(s.A, at.group + j);
        const int unknowns = at.there && keeps ? unknowns_of(s.A, at.group + j) : 0;
        rows.eliminate(s, at, j, 0, [&](int k, const auto &step) {
            if (RHS == 0 && keeps && at.there) {
#pragma unroll
                /* a pivot row keeps its right-hand side */
                for (int i = 0; i < R; i++)
                    factors.lower_of(j)[k * ROWS + rows.position(i, at.q)] =
                        at.q == step.lane && i == step.slot ? T{} : step.f[i];
                if (at.q == step.lane) factors.pivots_of(j)[k] = (uint8_t)rows.position(step.slot, step.lane);
            }
            if (at.q == k && k < unknowns) /* every lane knows it: which one stores it does not matter */
#pragma unroll
                for (int r = 0; r < RHS; r++)
                    if (r < tile.rhs_there) s.X[(column + r) * s.ldx + unknown + k] = step.y[r];
        });
        if (blockIdx.y == 0 && keeps && at.there) factors.template keep<LANES>(j, at.q, rows.pivot_rows);
        rows.advance();
    }
#pragma unroll
    for (int slot = 0; slot < R; slot++) {
        const int number = number_of_row(at, rows.rank, slot);
        if (!at.there || rows.rank[slot] >= 0) continue;
        T *coarse = s.coarse + at.p * 8 * N * N + number;
        if (blockIdx.y == 0 && s.coarse)
#pragma unroll
            for (int side = 0; side < 4; side++)
#pragma unroll
                for (int c = 0; c < N; c++) coarse[(side * N + c) * 2 * N] = rows.u[slot][from[side] * N + c];
#pragma unroll
        for (int r = 0; r < RHS; r++)
            if (r < tile.rhs_there && s.coarse_x)
                s.coarse_x[(column + r) * s.coarse_ld + at.p * 2 * N + number] = rows.y[slot][r];
    }
}

} // namespace trine_block

#endif
