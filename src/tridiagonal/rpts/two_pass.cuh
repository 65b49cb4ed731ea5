/* The exact solve of long systems: every warp reduces one tile to two rows, the system of these rows is solved, every warp
 * reduces its tile again and substitutes. The system is read twice, 9 elements a row with one right-hand side; the coarse
 * system has two rows for 32 M, so that nothing else counts. */
#ifndef TRINE_RPTS_TWO_PASS_CUH
#define TRINE_RPTS_TWO_PASS_CUH

#include "tridiagonal/rpts/tile.cuh"

template <typename T> struct two_pass {
    system_of<T> A;
    pivoting p;
    int64_t nrhs;
    columns_of<const T> D;
    columns_of<T> X;
    T *lower, *diag, *upper; /* the coarse system: rows 2t and 2t + 1 come from tile t */
    columns_of<T> coarse;    /* its right-hand sides, then its solution */
    int64_t tiles;
    int32_t *gate;           /* is_shut */
    T *handed;               /* of the one pass: the rows of tiles for their neighbours */
};

/** Rows of tile `number` to the coarse system. */
template <typename T, int NR> __device__ __forceinline__ void keep_rows(const two_pass<T> &s, int64_t number, int64_t first, int count, const rows_of<T, NR> &rows)
{
    const int64_t i = 2 * number;
    if (threadIdx.x < 2) {
        const row_of<T, NR> mine = either(threadIdx.x == 0, rows.first, rows.last);
        if (blockIdx.y == 0) s.lower[i + threadIdx.x] = mine.lower, s.diag[i + threadIdx.x] = mine.diag, s.upper[i + threadIdx.x] = mine.upper;
#pragma unroll
        for (int k = 0; k < NR; k++)
            if (k < count) s.coarse.data[(first + k) * s.coarse.ld + i + threadIdx.x] = mine.rhs[k];
    }
}

/** Blocks that fit on a multiprocessor: registers are given out accordingly. */
template <typename T, int NR, int M> constexpr int resident_tiles() { return (int)(227 * 1024 / (tile<T, NR, M>::BYTES + 1024)); }

template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>())) reduce_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const int64_t row = blockIdx.x * (int64_t)tile::ROWS, first = blockIdx.y * (int64_t)NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    wait_for_predecessor();
    let_follower_start(); /* not before: the follower's follower may read what the predecessor wrote */
    if (is_shut(s.gate)) return;
    load_tile(t, s.A, s.D, row, first, count);
    wait_for_tile(t, s.A, row);
    keep_rows(s, blockIdx.x, first, count, reduce_tile(s.p, t, s.A.n, row));
}

/** The tile `number`, from the ends of tiles. */
template <typename T, int NR, int M> __device__ __forceinline__ void substitute_one(const two_pass<T> &s, const tile<T, NR, M> &t, int64_t number)
{
    const int64_t row = number * tile<T, NR, M>::ROWS, first = blockIdx.y * (int64_t)NR, i = 2 * number;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    way_back<T, NR> back;
    known_of<T, NR> known;
    __syncwarp(); /* an earlier tile has been stored */
    load_tile(t, s.A, s.D, row, first, count);
    wait_for_tile(t, s.A, row);
    eliminate_tile(s.p, t, s.A.n, row, back);
    wait_for_predecessor(); /* so far nothing depended on the coarse system's solution */
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T *x = s.coarse.data + (first + k) * s.coarse.ld;
        known.before[k] = k < count && number > 0 ? x[i - 1] : T{};
        known.first[k] = k < count ? x[i] : T{};
        known.last[k] = k < count ? x[i + 1] : T{};
        known.after[k] = k < count && number + 1 < s.tiles ? x[i + 2] : T{};
    }
    substitute_tile(t, back, known);
    store_tile(t, s.A.n, s.X, row, first, count);
}

/** Blocks run through the tiles backwards: those read last by reduce_tiles are still in the cache. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>())) substitute_tiles(const __grid_constant__ two_pass<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    if (is_shut(s.gate)) return;
    substitute_one(s, tile<T, NR, M>{(T *)shared_memory}, s.tiles - 1 - blockIdx.x);
}

#endif
