/* The elimination of a partition on the GPU, and the two kernels of a solve's first stage. */
#ifndef TRINE_BLOCK_SWEEP_CUH
#define TRINE_BLOCK_SWEEP_CUH

#include "tridiagonal/block_panel.cuh"

namespace trine_block {

/* -------------------------------------------------------------- elimination */

/** What the elimination of a partition reads besides its rows, and where it leaves what it finds. */
enum sweep_kind { REDUCE, SUBSTITUTE, FACTOR };

/** Bytes of shared memory that hold a block column's pivot rows, of all partitions of a warp. */
template <typename T, int N, int GROUP> constexpr size_t pivot_row_bytes() { return ((GROUP + 2) * N * N + N) * (size_t)(WARP / N) * sizeof(T); }

/** Pivot row k, block column c of the window, column q of block column j of the warp's partition `slot`; c = GROUP + 2, q = 0:
 *  the inverses. */
template <int N, int GROUP> __device__ inline int pivot_row_index(int j, int c, int k, int q, int slot)
{
    constexpr int WINDOW = GROUP + 2, TOGETHER = WARP / N;
    return (j * (WINDOW * N * N + N) + (c < WINDOW ? (c * N + k) * N + q : WINDOW * N * N + k)) * TOGETHER + slot;
}

/** d := d - block x, the block's columns being those of the lanes, d and x vectors of each lane. */
template <typename T, int N, int ROWS> __device__ __forceinline__ void subtract_block(int first_lane, const T *block, const T *x, T *d)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int q = 0; q < N; q++) d[i] = d[i] - shuffle_from(block[i], first_lane + q) * x[q];
}

/** Store what an elimination leaves of block column j of a partition. */
template <typename T, int N, int GROUP, int KIND, int COLUMNS, int ROWS>
__device__ __forceinline__ void keep_pivot_rows(const stage_of<T> &s, const place<N> &at, int j, const panel<T, N, ROWS, COLUMNS> &panel, const T (&inverse)[N],
                                                T *shared, T *x, bool column_there)
{
    constexpr int WINDOW = GROUP + 2;
    if constexpr (KIND == SUBSTITUTE) {
#pragma unroll
        for (int c = 0; c < WINDOW; c++)
#pragma unroll
            for (int k = 0; k < N; k++) shared[pivot_row_index<N, GROUP>(j, c, k, at.q, at.slot)] = panel.u[c][N + k];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (at.q == k) shared[pivot_row_index<N, GROUP>(j, WINDOW, k, 0, at.slot)] = inverse[k];
        store_block<T, N, GROUP>(s, x, at.group * GROUP + j, column_there, &panel.u[COLUMNS - 1][N]);
    } else if constexpr (KIND == FACTOR) {
        if (!at.there) return;
        T *upper = s.chunks + (at.group * GROUP + j) * (N * N * (6 + 2 * GROUP) + N) + N * ROWS, *inverses = upper + (WINDOW + 2) * N * N;
#pragma unroll
        for (int c = 0; c < WINDOW + 2; c++)
#pragma unroll
            for (int k = 0; k < N; k++) upper[(c * N + at.q) * N + k] = panel.u[c][N + k];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (at.q == k) inverses[k] = inverse[k];
    }
}

/** Eliminate the inner block columns of a partition. Afterwards 2 N rows are left in the panel: last and right are block columns
 *  0 and 1, then left and first if they are kept. d: this lane's right-hand side; x: its solution; left, first: known. */
template <typename T, int N, int GROUP, int KIND, int COLUMNS, int ROWS>
__device__ __forceinline__ void sweep(const stage_of<T> &s, const place<N> &at, panel<T, N, ROWS, COLUMNS> &panel, const T *d, T *x, bool column_there,
                                      const T (&left)[N], const T (&first)[N], T *shared)
{
    constexpr bool SPIKES = KIND != SUBSTITUTE, RHS = KIND != FACTOR, STORE = KIND == FACTOR;
    constexpr int WINDOW = GROUP + 2;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const int64_t block = at.group * GROUP;
    T next[GROUP + 2][GROUP * N], rhs[GROUP * N], inverse[N];
    const auto load = [&](int g) {
        load_group<T, N, GROUP>(s, at.group + g, at.q, next);
        if constexpr (RHS) {
#pragma unroll
            for (int b = 0; b < GROUP; b++) load_block<T, N, GROUP>(s, d, block + g * GROUP + b, column_there, rhs + b * N);
        }
    };
    load(0);
    if constexpr (!SPIKES) {
        subtract_block<T, N, GROUP * N>(at.first_lane, next[0], left, rhs);
        subtract_block<T, N, GROUP * N>(at.first_lane, next[1], first, rhs);
    }
    panel.template enter<0, GROUP, 2, SPIKES, RHS>(s, at.first_lane, next, rhs);
    if constexpr (GROUP == 1) {
        load(1);
        if constexpr (!SPIKES) subtract_block<T, N, N>(at.first_lane, next[0], first, rhs);
        panel.template enter<N, 1, 1, SPIKES, RHS>(s, at.first_lane, next, rhs);
        if (at.m > 2) load(2);
#pragma unroll 1
        for (int j = 1; j < at.m - 1; j++) {
            panel.template enter<2 * N, 1, 0, SPIKES, RHS>(s, at.first_lane, next, rhs);
            if (j + 2 < at.m) load(j + 2);
            panel.template eliminate<N, 3 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j) * CHUNK, s.pivots + (block + j) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j, panel, inverse, shared, x, column_there);
            panel.template advance<3 * N, WINDOW>(s);
        }
    } else {
        if (at.m > 1) load(1);
#pragma unroll 1
        for (int g = 1; g < at.m; g++) {
            const int j = 2 * g - 1;
            panel.template enter<2 * N, 2, 0, SPIKES, RHS>(s, at.first_lane, next, rhs);
            if (g + 1 < at.m) load(g + 1);
            panel.template eliminate<N, 4 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j) * CHUNK, s.pivots + (block + j) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j, panel, inverse, shared, x, column_there);
            panel.template advance<4 * N, WINDOW>(s);
            panel.template eliminate<N, 3 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j + 1) * CHUNK, s.pivots + (block + j + 1) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j + 1, panel, inverse, shared, x, column_there);
            panel.template advance<3 * N, WINDOW>(s);
        }
    }
}

/** Solve backwards from the pivot rows in shared memory and their right-hand sides in x; `last` and `right` are known. */
template <typename T, int N, int GROUP>
__device__ __forceinline__ void solve_backwards(const stage_of<T> &s, const place<N> &at, const T *shared, const T (&last)[N], const T (&right)[N], T *x, bool column_there)
{
    constexpr int WINDOW = GROUP + 2;
    const int64_t block = at.group * GROUP;
    T known[WINDOW - 1][N], y[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        known[0][i] = last[i];
        known[1][i] = right[i];
        if constexpr (WINDOW == 4) known[2][i] = T{};
    }
    __syncwarp();
#pragma unroll 1
    for (int j = at.m * GROUP - 2; j > 0; j--) {
        load_block<T, N, GROUP>(s, x, block + j, column_there, y);
#pragma unroll
        for (int c = 1; c < WINDOW; c++)
#pragma unroll
            for (int q = 0; q < N; q++)
#pragma unroll
                for (int k = 0; k < N; k++) y[k] = y[k] - shared[pivot_row_index<N, GROUP>(j, c, k, q, at.slot)] * known[c - 1][q];
#pragma unroll
        for (int q = N - 1; q >= 0; q--) {
            y[q] = y[q] * shared[pivot_row_index<N, GROUP>(j, WINDOW, q, 0, at.slot)];
#pragma unroll
            for (int k = 0; k < q; k++) y[k] = y[k] - shared[pivot_row_index<N, GROUP>(j, 0, k, q, at.slot)] * y[q];
        }
        store_block<T, N, GROUP>(s, x, block + j, column_there, y);
#pragma unroll
        for (int i = 0; i < N; i++) {
#pragma unroll
            for (int c = WINDOW - 2; c > 0; c--) known[c][i] = known[c - 1][i];
            known[0][i] = y[i];
        }
    }
}

/* ------------------------------------------------------------------- kernels */

template <typename T, int N, int GROUP> __global__ void __launch_bounds__(WARP) reduce(const __grid_constant__ stage_of<T> s)
{
    constexpr int ROWS = (GROUP + 2) * N, WINDOW = GROUP + 2, COLUMNS = WINDOW + 3;
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * N + at.q;
    const bool column_there = at.there && column < s.nrhs;
    panel<T, N, ROWS, COLUMNS> panel;
    const T none[N] = {};
    sweep<T, N, GROUP, REDUCE>(s, at, panel, s.D + (column_there ? column : 0) * s.ldd, (T *)nullptr, column_there, none, none, (T *)nullptr);
    if (at.there && blockIdx.y == 0) {
        T *coarse = s.coarse + at.p * 8 * N * N + at.q * 2 * N;
#pragma unroll
        for (int side = 0; side < 4; side++) {
            constexpr int from[4] = {WINDOW, WINDOW + 1, 0, 1};
#pragma unroll
            for (int i = 0; i < 2 * N; i++) coarse[side * 2 * N * N + i] = panel.u[from[side]][i];
        }
    }
    if (column_there) {
        T *rhs = s.coarse_x + column * s.coarse_ld + at.p * 2 * N;
#pragma unroll
        for (int i = 0; i < 2 * N; i++) rhs[i] = panel.u[COLUMNS - 1][i];
    }
}

template <typename T, int N, int GROUP>
__device__ __forceinline__ void substitute_partition(const stage_of<T> &s, const place<N> &at, const T *d, T *x, bool column_there,
                                                     const T (&left)[N], const T (&first)[N], const T (&last)[N], const T (&right)[N], T *shared)
{
    constexpr int ROWS = (GROUP + 2) * N, COLUMNS = GROUP + 3;
    const int64_t block = at.group * GROUP;
    panel<T, N, ROWS, COLUMNS> panel;
    sweep<T, N, GROUP, SUBSTITUTE>(s, at, panel, d, x, column_there, left, first, shared);
    solve_backwards<T, N, GROUP>(s, at, shared, last, right, x, column_there);
    store_block<T, N, GROUP>(s, x, block, column_there, first);
    store_block<T, N, GROUP>(s, x, block + at.m * GROUP - 1, column_there, last);
}

template <typename T, int N, int GROUP> __global__ void __launch_bounds__(WARP) substitute(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * N + at.q, from = (column < s.nrhs ? column : 0);
    const bool column_there = at.there && column < s.nrhs;
    const T *known = s.coarse_x + from * s.coarse_ld;
    const int64_t end = 2 * s.partitions, p = 2 * at.p;
    T left[N], first[N], last[N], right[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        left[i] = p > 0 ? known[(p - 1) * N + i] : s.cyclic ? known[(end - 1) * N + i] : T{};
        first[i] = known[p * N + i];
        last[i] = known[(p + 1) * N + i];
        right[i] = p + 2 < end ? known[(p + 2) * N + i] : s.cyclic ? known[i] : T{};
    }
    substitute_partition<T, N, GROUP>(s, at, s.D + from * s.ldd, s.X + from * s.ldx, column_there, left, first, last, right, (T *)shared_memory);
}

} // namespace trine_block

#endif
