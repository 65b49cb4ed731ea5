/* The exact solve of long systems: every warp reduces one tile to two rows, the system of these rows is solved,
 * every warp reduces its tile again and substitutes. The system is read twice, 9 elements a row with one right-hand
 * side; the coarse system has two rows for 32 M, so that nothing else counts. A cyclic system leaves a cyclic one;
 * the rows behind its last whole tile are rows of that as they are, since every tile must have a neighbour on either
 * side. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_TWO_PASS_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_TWO_PASS_CUH

#include "tridiagonal/gtsv/cuda/warp_tile.cuh"

template <typename T> struct two_pass : gtsv_solve<T> {
    T *lower, *diag, *upper; /* the coarse system: rows 2t and 2t + 1 come from tile t */
    T *extra;                /* their fourth coefficients */
    columns_of<T> coarse;    /* its right-hand sides, then its solution */
    int64_t tiles;
    int32_t *fallback;       /* flag: is_not_needed; of the one pass, the tiles that are dealt out behind it are
                                counted 8 bytes on, from -1 */
    T *handed;               /* of the one pass: the rows of tiles for their neighbours */
    T *used;                 /* of the one pass: for every tile that it has solved, the ends from which it did so
                                (known_of) */
    int32_t *verdicts;       /* of the one pass: of samples, 0 where a tile decays, else 1 */
    const int32_t *marks;    /* NULL, or zero for the tiles of D, which is X, that are zero */
    int samples;             /* of the one pass: so many tiles are looked at beforehand */
    int64_t coarse_n;        /* 2 tiles, and in a cyclic system the rows behind them */
    int64_t eager;           /* of the one pass: so many tiles are tried whatever the samples say */
    int ahead;               /* of the one pass: the tile that is to be fetched next is so many tiles behind one that
                                is eliminated */
};

template <typename T> __device__ __forceinline__ bool is_zero(const two_pass<T> &s, int64_t number)
{
    return s.marks && s.marks[blockIdx.y * s.tiles + number] == 0;
}

/** Rows of tile `number` to the coarse system. */
template <typename T, int NR> __device__ __forceinline__ void
keep_rows(const two_pass<T> &s, int64_t number, int64_t first, int count, const rows_of<T, NR> &rows)
{
    const int64_t i = 2 * number;
    if (threadIdx.x < 2) {
        const row_of<T, NR> mine = either(threadIdx.x == 0, rows.first, rows.last);
        if (blockIdx.y == 0)
            s.lower[i + threadIdx.x] = mine.lower, s.diag[i + threadIdx.x] = mine.diag,
                        s.upper[i + threadIdx.x] = mine.upper, s.extra[i + threadIdx.x] = T{};
#pragma unroll
        for (int k = 0; k < NR; k++)
            if (k < count) s.coarse.data[(first + k) * s.coarse.ld + i + threadIdx.x] = mine.rhs[k];
    }
}

/** The lane's rows of tile `number`; right-hand sides first .. first + count - 1. */
template <typename T, int NR, int M> __device__ inline lane_range<T> rows_of_lane(const two_pass<T> &s, int64_t number,
                                                                                  int64_t first, int count)
{
    const int64_t row = number * tile<T, NR, M>::ROWS;
    return {row + (int64_t)(threadIdx.x % WARP) * M, lane_rows<T, NR, M>(s.A.n, row), first, count};
}
/** Has the tile rows with a fourth coefficient? */
template <typename T, int NR, int M> __device__ __forceinline__ bool is_tile_wide(const two_pass<T> &s, int64_t number)
{
    return s.A.wide_rows > 0 &&
           has_wide_rows(s.A, number * tile<T, NR, M>::ROWS + (int64_t)(threadIdx.x % WARP) * M, M);
}
/** keep_rows for a tile of which u is left. What the tile's neighbours get to see of it. */
template <typename T, int NR> __device__ __noinline__ rows_of<T, NR>
keep_carefully(const two_pass<T> &s, int64_t number, int64_t first, int count, wide_union<T, NR> u)
{
    const bool fits = fit_tridiagonal(u);
    const rows_of<T, NR> rows = tridiagonal_rows(u, fits);
    keep_rows(s, number, first, count, rows);
    if (!fits && threadIdx.x < 2 && blockIdx.y == 0)
        s.extra[2 * number + threadIdx.x] = u.pair.c[threadIdx.x][3 - 3 * threadIdx.x];
    return fits ? rows : marked_wide(rows);
}

/** The rows behind the tiles of a cyclic system to the coarse system, and their solution from there. */
template <typename T, int NR, int M> __device__ inline void keep_rest(const two_pass<T> &s, int64_t first, int count)
{
    const int64_t row = s.tiles * tile<T, NR, M>::ROWS;
    for (int64_t i = threadIdx.x; i < s.A.n - row; i += WARP) {
        const int64_t to = 2 * s.tiles + i;
        for (int k = 0; k < count; k++) {
            const T extra = row + i < s.A.wide_rows ? s.A.extra[row + i] : T{};
            row_of<T, 2> own = {lower_of(s.A, row + i),
                                diag_of(s.A, row + i),
                                upper_of(s.A, row + i),
                                {s.D.data[(first + k) * s.D.ld + row + i], extra}};
            const int largest = max(largest_logarithm(own), logarithm(extra));
            normalize(own, largest, largest);
            if (first + k == 0)
                s.lower[to] = own.lower, s.diag[to] = own.diag, s.upper[to] = own.upper, s.extra[to] = own.rhs[1];
            s.coarse.data[(first + k) * s.coarse.ld + to] = own.rhs[0];
        }
    }
}
template <typename T, int NR, int M> __device__ inline void copy_rest(const two_pass<T> &s, int64_t first, int count)
{
    const int64_t row = s.tiles * tile<T, NR, M>::ROWS;
    for (int64_t i = threadIdx.x; i < s.A.n - row; i += WARP)
        for (int k = 0; k < count; k++)
            s.X.data[(first + k) * s.X.ld + row + i] = s.coarse.data[(first + k) * s.coarse.ld + 2 * s.tiles + i];
}

/** Blocks that fit on a multiprocessor: registers are given out accordingly. */
template <typename T, int NR, int M> constexpr int resident_tiles()
{
    return (int)(227 * 1024 / (tile<T, NR, M>::BYTES + 1024));
}

template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>()))
    reduce_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const int64_t row = blockIdx.x * (int64_t)tile::ROWS, first = blockIdx.y * (int64_t)NR;
    const int count = s.columns_from(first, NR);
    wait_for_predecessor();
    let_follower_start(); /* not before: the follower's follower may read what the predecessor wrote */
    if (is_not_needed(s.fallback)) return;
    if (s.A.cyclic && blockIdx.x == s.tiles) return keep_rest<T, NR, M>(s, first, count);
    if (blockIdx.y > 0 && is_zero(s, blockIdx.x)) { /* the first right-hand sides bring the coefficients */
        if (threadIdx.x < 2)
            for (int k = 0; k < count; k++)
                s.coarse.data[(first + k) * s.coarse.ld + 2 * blockIdx.x + threadIdx.x] = T{};
        return;
    }
    load_tile(t, s.A, s.D, row, first, count);
    wait_for_tile(t, s.A, row);
    bool lost;
    const rows_of<T, NR> left = reduce_tile(s.p, t, s.A.n, row, &lost);
    if (__builtin_expect(lost || is_tile_wide<T, NR, M>(s, blockIdx.x), 0))
        keep_carefully(s, blockIdx.x, first, count,
                       reduce_carefully<T, NR>(s.A, s.D, rows_of_lane<T, NR, M>(s, blockIdx.x, first, count)));
    else keep_rows(s, blockIdx.x, first, count, left);
}

/** The unknowns at the ends of tile `number` and of its neighbours. */
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR>
known_ends(const two_pass<T> &s, int64_t number, int64_t first, int count)
{
    known_of<T, NR> known;
    const int64_t i = 2 * number;
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T *x = s.coarse.data + (first + k) * s.coarse.ld;
        known.before[k] = k < count && (number > 0 || s.A.cyclic) ? x[(number > 0 ? i : s.coarse_n) - 1] : T{};
        known.first[k] = k < count ? x[i] : T{};
        known.last[k] = k < count ? x[i + 1] : T{};
        known.after[k] = k < count && (i + 2 < s.coarse_n || s.A.cyclic) ? x[i + 2 < s.coarse_n ? i + 2 : 0] : T{};
    }
    return known;
}
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR> difference(const known_of<T, NR> &a,
                                                                                    const known_of<T, NR> &b)
{
    known_of<T, NR> d;
#pragma unroll
    for (int k = 0; k < NR; k++)
        d.before[k] = a.before[k] - b.before[k], d.first[k] = a.first[k] - b.first[k],
        d.last[k] = a.last[k] - b.last[k], d.after[k] = a.after[k] - b.after[k];
    return d;
}
template <typename T, int NR> __device__ __forceinline__ bool are_zero(const known_of<T, NR> &known)
{
    bool zero = true;
#pragma unroll
    for (int k = 0; k < NR; k++)
        zero = zero & size_of(known.before[k]) == 0 & size_of(known.first[k]) == 0 & size_of(known.last[k]) == 0 &
               size_of(known.after[k]) == 0;
    return zero;
}

/** substitute_one for a tile that eliminate_tile has lost, or has found to be wide. */
template <typename T, int NR, int M, typename Adjust>
__device__ __noinline__ void substitute_lost(const two_pass<T> &s, const tile<T, NR, M> t, int64_t number,
                                             int64_t first, bool correct, bool wide, substitution_of<T, NR> back,
                                             Adjust adjust)
{
    const int64_t row = number * tile<T, NR, M>::ROWS;
    const int count = s.columns_from(first, NR);
    const lane_range<T> range = rows_of_lane<T, NR, M>(s, number, first, correct ? 0 : count);
    careful_lane<T, NR, M> kept;
    join_tile_carefully(s, range, wide, kept, back);
    wait_for_predecessor();
    known_of<T, NR> known = known_ends<T, NR>(s, number, first, count);
    adjust(known);
    substitute_tile_carefully<T, NR, M>(s, t, range, back, known, kept);
    if (correct) add_tile(t, s.A.n, {s.X.data, s.X.ld}, s.X, row, first, count);
    else store_tile(t, s.A.n, s.X, row, first, count);
}
/** The tile `number`, from the ends of tiles, as `adjust` changes them; right-hand sides from `first` on. `correct`:
 *  X, which is D, holds a solution with other ends; the homogeneous equations' one with the differences for ends is
 *  added to it. */
template <typename T, int NR, int M, typename Adjust>
__device__ __forceinline__ void substitute_one(const two_pass<T> &s, const tile<T, NR, M> &t, int64_t number,
                                               int64_t first, bool correct, const Adjust &adjust)
{
    const int64_t row = number * tile<T, NR, M>::ROWS;
    const int count = s.columns_from(first, NR);
    bool lost;
    substitution_of<T, NR> back;
    if (is_zero(s, number)) { /* nothing comes from D; from outside neither, if the solution has faded away */
        wait_for_predecessor();
        if (are_zero(known_ends<T, NR>(s, number, first, count))) return; /* X is D */
    }
    __syncwarp(); /* an earlier tile has been stored */
    load_tile(t, s.A, s.D, row, first, correct ? 0 : count);
    wait_for_tile(t, s.A, row);
    eliminate_tile(s.p, t, s.A.n, row, back, &lost);
    const bool wide = is_tile_wide<T, NR, M>(s, number);
    if (__builtin_expect(lost || wide, 0))
        return substitute_lost<T, NR, M>(s, t, number, first, correct, wide, back, adjust);
    find_interfaces(s.p, t, back);
    wait_for_predecessor(); /* so far nothing depended on the coarse system's solution */
    known_of<T, NR> known = known_ends<T, NR>(s, number, first, count);
    adjust(known);
    substitute_tile<T, NR, M>(s, t, row, first, correct ? 0 : count, back, known);
    if (correct) add_tile(t, s.A.n, {s.X.data, s.X.ld}, s.X, row, first, count);
    else store_tile(t, s.A.n, s.X, row, first, count);
}

/** Blocks run through the tiles backwards: those read last by reduce_tiles are still in the cache. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>()))
    substitute_tiles(const __grid_constant__ two_pass<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int64_t number = gridDim.x - 1 - (int64_t)blockIdx.x;
    if (is_not_needed(s.fallback)) return;
    const int64_t first = blockIdx.y * (int64_t)NR;
    if (s.A.cyclic && number == s.tiles) {
        wait_for_predecessor();
        return copy_rest<T, NR, M>(s, first, s.columns_from(first, NR));
    }
    substitute_one(s, tile<T, NR, M>{(T *)shared_memory}, number, first, false, [](known_of<T, NR> &) {});
}

#endif
