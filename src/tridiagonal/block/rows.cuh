/* The rows in play of a partition, a lane a row: for factorizations and coarse systems.
 *
 * (2 + GROUP) N rows are in play at once. The pivot row of a column is found by comparing over the lanes, and read from its lane
 * by shuffles wherever that is, so that no rows are exchanged: a pivot row leaves the game (its rank among the pivot rows says
 * so), and its lane takes the row of that number of the next group. Few instructions a column and few registers a lane, which
 * is what counts for wide blocks and where few partitions are left. */
#ifndef TRINE_BLOCK_ROWS_CUH
#define TRINE_BLOCK_ROWS_CUH

#include "tridiagonal/block/tile.cuh"

namespace trine_block {

/** Where a stage's factors begin; see block/layout.h. Multipliers lie a lane a row: of column k at k ROWS. */
template <typename T, int N, int GROUP> struct factors_of {
    static constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N, COLUMNS = (WINDOW + 2) * N;
    T *lower, *upper;
    uint8_t *pivots; /* lane of each pivot row */

    __device__ factors_of(const stage_of<T> &s, int64_t block)
        : lower(s.chunks + block * N * ROWS), upper(s.chunks + s.groups * GROUP * N * ROWS + block * (N * COLUMNS + N)), pivots(s.pivots + block * (N + 1)) {}
    /** Of the block column j further on. */
    __device__ T *lower_of(int j) const { return lower + (int64_t)j * N * ROWS; }
    __device__ T *upper_of(int j) const { return upper + (int64_t)j * (N * COLUMNS + N); }
    __device__ uint8_t *pivots_of(int j) const { return pivots + (int64_t)j * (N + 1); }
};

/** The largest of the values of ROWS lanes: windows of lanes, doubled until they reach around. */
template <int ROWS> __device__ __forceinline__ unsigned largest_of_rows(unsigned value, int q, int first_lane)
{
#pragma unroll
    for (int reach = 1, step; reach < ROWS; reach += step) {
        step = reach < ROWS - reach ? reach : ROWS - reach;
        const int other = q + step < ROWS ? q + step : q + step - ROWS;
        value = max(value, __shfl_sync(~0u, value, first_lane + other));
    }
    return value;
}

/** The leading bits of a number >= 0: they order like it. */
__device__ inline unsigned leading_bits(float a) { return __float_as_uint(a); }
__device__ inline unsigned leading_bits(double a) { return (unsigned)__double2hiint(a); }

/** SPIKES: the coefficients in left and first are kept, else they have been subtracted from y. */
template <typename T, int N, int GROUP, int RHS, bool SPIKES> struct lane_row {
    static constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N, COLUMNS = (WINDOW + 2 * SPIKES) * N;
    T u[COLUMNS]; /* coefficients in the window, in left and in first */
    T y[RHS ? RHS : 1];
    T inverse;             /* of the pivot, of a pivot row */
    real_of<T> weight;
    int id;                /* its number in the partition */
    int rank;              /* -1: in play; else among the pivot rows of this group */

    /** A row: element(side, c) is its coefficient in column c of its block `side`. The first EARLY blocks lie before the window:
     *  they go to left and first. */
    template <int EARLY, typename ELEMENT> __device__ __forceinline__ void enter(int number, const ELEMENT &element)
    {
        real_of<T> largest = 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) u[c] = T{};
#pragma unroll
        for (int side = 0; side < WINDOW; side++)
#pragma unroll
            for (int c = 0; c < N; c++) {
                const T x = element(side, c);
                largest = size_of(x) > largest ? size_of(x) : largest;
                if (side >= EARLY) u[(side - EARLY) * N + c] = x;
                else if constexpr (SPIKES) u[(side - EARLY == -1 ? WINDOW + 1 : WINDOW) * N + c] = x;
            }
        weight = panel_weight<T>(largest);
        id = number;
        rank = -1;
    }

    /** The block of lanes whose rows have the largest determinant in the window's first block column. */
    __device__ __forceinline__ int choose_block(const stage_of<T> &s, const place<ROWS> &at, int in_place) const
    {
        real_of<T> most = -1;
        int chosen = 0;
#pragma unroll 1
        for (int b = 0; b < WINDOW; b++) {
            T block[N * N];
            real_of<T> weights[N];
            const int from = at.first_lane + b * N;
            const bool inside = __shfl_sync(~0u, rank, from) < 0, preferred = __shfl_sync(~0u, id, from) / N == in_place;
#pragma unroll
            for (int i = 0; i < N; i++) {
                weights[i] = shuffle_from(weight, from + i);
#pragma unroll
                for (int c = 0; c < N; c++) block[c * N + i] = shuffle_from(u[c], from + i);
            }
            const real_of<T> size = panel_determinant(N, block, s.pivot == TRINE_PIVOT_SCALED_DETERMINANT ? weights : nullptr);
            if (inside && (size > most || (size == most && preferred))) most = size, chosen = b;
        }
        return chosen;
    }

    /** Eliminate the window's first block column; the pivot rows' ranks begin at `base`, the rows in place are number
     *  `in_place` N and following. Multipliers, unless that is NULL, go to lower; the lanes of the pivot rows to pivots. */
    __device__ __forceinline__ void eliminate(const stage_of<T> &s, const place<ROWS> &at, int in_place, int base, T *lower, uint8_t *pivots)
    {
        const bool scaled = s.pivot == TRINE_PIVOT_SCALED_PARTIAL || s.pivot == TRINE_PIVOT_SCALED_DETERMINANT;
        bool allowed = true;
        if (s.pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT) allowed = at.q / N == choose_block(s, at, in_place);
#pragma unroll
        for (int k = 0; k < N; k++) {
            const bool playing = rank < 0, preferred = id == in_place * N + k;
            const T v = size_of(u[k]) <= s.epsilon ? T{} : u[k];
            unsigned key = leading_bits(size_of(v) * (scaled ? weight : real_of<T>(1))) & ~127u;
            if (s.pivot == TRINE_PIVOT_NONE) key = 0;
            key = playing && allowed ? key | 64u | (preferred ? 32u : 0u) | (31u - (unsigned)at.q) : 0u; /* among nearly equal ones the row in place */
            const int p = 31 - (int)(largest_of_rows<ROWS>(key, at.q, at.first_lane) & 31u), from = at.first_lane + p;
            T pivot = shuffle_from(v, from);
            if (__any_sync(~0u, size_of(pivot) < SMALLEST<T>)) { /* a pivot that vanishes becomes a rounding error of its row */
                const real_of<T> error = EPSILON<T> / shuffle_from(weight, from);
                if (size_of(pivot) < SMALLEST<T>) pivot = panel_real<T>(error > SMALLEST<T> ? error : SMALLEST<T>);
            }
            const T r = reciprocal_of(pivot);
            const T f = playing && at.q != p ? v * (T{} - r) : T{};
#pragma unroll
            for (int c = k + 1; c < COLUMNS; c++) u[c] = u[c] + f * shuffle_from(u[c], from);
#pragma unroll
            for (int c = 0; c < RHS; c++) y[c] = y[c] + f * shuffle_from(y[c], from);
            if (at.q == p) rank = base + k, inverse = r;
            if (lower && at.there) lower[k * ROWS + at.q] = f;
            if (lower && at.there && at.q == p) pivots[k] = (uint8_t)p;
        }
    }

    /** Store the pivot rows whose ranks begin at `base`; their right-hand sides go to x. */
    __device__ __forceinline__ void keep(const place<ROWS> &at, int base, T *upper, T *x) const
    {
        const int k = rank - base;
        if (!at.there || k < 0 || k >= N) return;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) upper[c * N + k] = u[c];
        upper[COLUMNS * N + k] = inverse;
        if (RHS) x[k] = y[0];
    }
    /** Move the window on by one block column. */
    __device__ __forceinline__ void advance()
    {
#pragma unroll
        for (int c = 0; c < WINDOW * N; c++) u[c] = c + N < WINDOW * N ? u[c + N] : T{};
    }
};

/** Which row of what is left of a partition, 2 N rows, this lane's is. */
template <int ROWS> __device__ __forceinline__ int number_of_row(const place<ROWS> &at, bool playing)
{
    const unsigned all = __ballot_sync(~0u, playing) >> at.first_lane;
    return __popc(all & ((1u << at.q) - 1));
}

} // namespace trine_block

#endif
