/* The elimination of a partition on the GPU, and the two kernels of a solve's stage. */
#ifndef TRINE_BLOCK_SWEEP_CUH
#define TRINE_BLOCK_SWEEP_CUH

#include "tridiagonal/block/tile.cuh"

namespace trine_block {

/* -------------------------------------------------------------- elimination */

/** d := d - block x. */
template <typename T, int N> __device__ __forceinline__ void subtract_block(const T (&block)[N][N], const T (&x)[N], T (&d)[N])
{
#pragma unroll
    for (int c = 0; c < N; c++)
#pragma unroll
        for (int i = 0; i < N; i++) d[i] = d[i] - block[c][i] * x[c];
}

template <typename T, int N> __device__ __forceinline__ void clear_block(T (&block)[N][N])
{
#pragma unroll
    for (int c = 0; c < N; c++)
#pragma unroll
        for (int i = 0; i < N; i++) block[c][i] = T{};
}

/** Eliminate the inner block columns of a partition. Afterwards 2 N rows are left in the panel: last and right are block columns
 *  0 and 1, then left and first if they are kept; if not, left and first are known. arrive(j) is called before
 *  block row j is read, keep(j, inverse) when block column j's pivot rows are in rows N ... of the panel. */
template <bool SPIKES, typename T, int N, int RHS, int COLUMNS, typename ARRIVE, typename KEEP>
__device__ __forceinline__ void sweep(const stage_of<T> &s, const place<1> &at, const tile<T, N, 1, RHS> &tile, panel<T, N, COLUMNS> &panel,
                                      const T (&left)[RHS][N], const T (&first)[RHS][N], const ARRIVE &arrive, const KEEP &keep)
{
    const bool begins = !s.cyclic && at.p == 0, ends = !s.cyclic && at.p == s.partitions - 1; /* corners are never read as numbers */
    T x[3][N][N], d[RHS][N], inverse[N];
    arrive(1);
    tile.read(0, x, d);
    if (begins) clear_block(x[0]);
    if constexpr (!SPIKES)
#pragma unroll
        for (int r = 0; r < RHS; r++) {
            subtract_block(x[0], left[r], d[r]);
            subtract_block(x[1], first[r], d[r]);
        }
    panel.template enter<0, 2, SPIKES, RHS>(x, d);
    tile.read(1, x, d);
    if (ends && at.m == 2) clear_block(x[2]);
    if constexpr (!SPIKES)
#pragma unroll
        for (int r = 0; r < RHS; r++) subtract_block(x[0], first[r], d[r]);
    panel.template enter<N, 1, SPIKES, RHS>(x, d);
#pragma unroll 1
    for (int j = 1; j < at.m - 1; j++) {
        arrive(j + 1);
        tile.read(j + 1, x, d);
        if (ends && j + 2 == at.m) clear_block(x[2]);
        panel.template enter<2 * N, 0, SPIKES, RHS>(x, d);
        panel.eliminate(s, inverse);
        keep(j, inverse);
        panel.advance();
    }
}

/* ------------------------------------------------------------------- kernels */

template <typename T, int N, int RHS> __global__ void __launch_bounds__(WARP) reduce(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int COLUMNS = 5 * N + RHS, from[4] = {3, 4, 0, 1};
    const place<1> at(s);
    const int64_t column = (int64_t)blockIdx.y * RHS;
    tile<T, N, 1, RHS> tile(s, at, 2 * CHUNK, 2 * CHUNK - 1, (T *)shared_memory, column);
    panel<T, N, COLUMNS> panel;
    const T none[RHS][N] = {};
    tile.load(s, at, column, 0, at.m < CHUNK ? at.m : CHUNK);
    sweep<true>(s, at, tile, panel, none, none, [&](int j) { arrive(tile, s, at, column, j); }, [](int, const T(&)[N]) {});
    if (!at.there) return;
    T *coarse = s.coarse + at.p * 8 * N * N;
    if (blockIdx.y == 0)
#pragma unroll
        for (int side = 0; side < 4; side++)
#pragma unroll
            for (int l = 0; l < N; l++)
#pragma unroll
                for (int i = 0; i < 2 * N; i++) coarse[(side * N + l) * 2 * N + i] = panel.u[from[side] * N + l][i];
#pragma unroll
    for (int r = 0; r < RHS; r++)
        if (r < tile.rhs_there) {
            T *rhs = s.coarse_x + (column + r) * s.coarse_ld + at.p * 2 * N;
#pragma unroll
            for (int i = 0; i < 2 * N; i++) rhs[i] = panel.u[COLUMNS - RHS + r][i];
        }
}

template <typename T, int N, int RHS> __global__ void __launch_bounds__(WARP) substitute(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int COLUMNS = 3 * N + RHS;
    const place<1> at(s);
    const int64_t column = (int64_t)blockIdx.y * RHS, end = 2 * s.partitions, p = 2 * at.p;
    tile<T, N, 1, RHS> tile(s, at, s.base + (s.larger > 0), ~0, (T *)shared_memory, column);
    panel<T, N, COLUMNS> panel;
    T left[RHS][N], first[RHS][N], known[RHS][2][N], y[RHS][N]; /* known: last and right, later the two solved before */
    tile.load(s, at, column, 0, at.m);
#pragma unroll
    for (int r = 0; r < RHS; r++) {
        const T *coarse = s.coarse_x + (r < tile.rhs_there ? column + r : 0) * s.coarse_ld;
#pragma unroll
        for (int i = 0; i < N; i++) {
            left[r][i] = p > 0 ? coarse[(p - 1) * N + i] : s.cyclic ? coarse[(end - 1) * N + i] : T{};
            first[r][i] = coarse[p * N + i];
            known[r][0][i] = coarse[(p + 1) * N + i];
            known[r][1][i] = p + 2 < end ? coarse[(p + 2) * N + i] : s.cyclic ? coarse[i] : T{};
        }
    }
    wait_for_copies();
    __syncwarp();
    sweep<false>(s, at, tile, panel, left, first, [](int) {}, [&](int j, const T(&inverse)[N]) { tile.keep(j, panel, inverse, COLUMNS - RHS); });
    __syncwarp();
    tile.write(0, first);
#pragma unroll
    for (int r = 0; r < RHS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) y[r][i] = known[r][0][i];
    tile.write(at.m - 1, y);
#pragma unroll 1
    for (int j = at.m - 2; j > 0; j--) {
        tile.read_rhs(j, y);
        tile.solve(j, known, y);
        tile.write(j, y);
#pragma unroll
        for (int r = 0; r < RHS; r++)
#pragma unroll
            for (int i = 0; i < N; i++) known[r][1][i] = known[r][0][i], known[r][0][i] = y[r][i];
    }
    tile.store(s, at, column);
}

} // namespace trine_block

#endif
