/* The rows in play of a partition on the lanes of a warp, R rows a lane.
 *
 * (2 + GROUP) N rows are in play at once, at positions slot LANES + lane. The pivot row of a column is found by
 * comparing in lanes and over lanes, and becomes known to all by way of shared memory wherever it is, so that no
 * rows are exchanged: a pivot row leaves the game (its rank among the pivot rows says so), and its place takes the
 * row of that number of the next group. What is read of it serves the R rows of a lane; a lane with all rows would
 * read nothing, but needs all registers. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_PANEL_ROWS_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_PANEL_ROWS_CUH

#include "tridiagonal/block/cuda/streamed_rows.cuh"

namespace trine_block {

/** Where a stage's factors begin; see block/common/layout.h. Multipliers lie in the order of positions: of column k
 *  at k ROWS. */
template <typename T, int N, int GROUP> struct factors_of {
    static constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N, COLUMNS = (WINDOW + 2) * N;
    /* Elements of a pivot row are read and written together: of a block, or as many as can be. */
    static constexpr int BYTES = N * (int)sizeof(T),
                         VECTOR_BYTES = BYTES % 16 == 0  ? 16
                                        : BYTES % 8 == 0 ? 8
                                                         : 4,
                         PER_VECTOR = VECTOR_BYTES / (int)sizeof(T);
    struct alignas(VECTOR_BYTES) vector { T v[PER_VECTOR]; };
    T *lower, *upper;
    uint8_t *pivots; /* position of each pivot row */

    __device__ factors_of(const stage_of<T> &s, int64_t block)
        : lower(s.chunks + block * N * ROWS), upper(s.chunks + (s.has_multipliers ? s.groups * GROUP * N * ROWS : 0) +
                                                    (block - s.first_group * GROUP) * N * COLUMNS),
          pivots(s.pivots + block * (N + 1))
    {}
    /** Of the block column j further on. */
    __device__ T *lower_of(int j) const { return lower + (int64_t)j * N * ROWS; }
    __device__ uint8_t *pivots_of(int j) const { return pivots + (int64_t)j * (N + 1); }
    /** Pivot row k of block column j: its coefficients in the window, in left and in first; on the diagonal the
     *  pivot's inverse. */
    __device__ vector *pivot_row(int j, int k) const { return (vector *)(upper + ((int64_t)j * N + k) * COLUMNS); }
    /** Keep a block column's pivot rows, by the LANES lanes of the partition. */
    template <int LANES> __device__ __forceinline__ void keep(int j, int q, const vector *rows) const
    {
        vector *to = pivot_row(j, 0);
#pragma unroll
        for (int e = 0; e < N * COLUMNS / PER_VECTOR; e += LANES)
            if (e + q < N * COLUMNS / PER_VECTOR) to[e + q] = rows[e + q];
    }
    __device__ __forceinline__ void read(int j, int k, T (&row)[COLUMNS]) const
    {
        const vector *from = pivot_row(j, k);
#pragma unroll
        for (int e = 0; e < COLUMNS; e += PER_VECTOR) {
            const vector here = from[e / PER_VECTOR];
#pragma unroll
            for (int i = 0; i < PER_VECTOR; i++) row[e + i] = here.v[i];
        }
    }
};

/** The largest of the values of LANES lanes: windows of lanes, doubled until they reach around. */
template <int LANES> __device__ __forceinline__ unsigned largest_of_lanes(unsigned value, int q, int first_lane)
{
#pragma unroll
    for (int reach = 1, step; reach < LANES; reach += step) {
        step = reach < LANES - reach ? reach : LANES - reach;
        const int other = q + step < LANES ? q + step : q + step - LANES;
        value = max(value, __shfl_sync(~0u, value, first_lane + other));
    }
    return value;
}

/** Which row of what is left of a partition, 2 N rows, that of a slot is; rank as in lane_rows. */
template <int LANES, int R> __device__ __forceinline__ int number_of_row(const place<LANES> &at, const int (&rank)[R],
                                                                         int slot)
{
    constexpr unsigned ALL = (unsigned)((1ull << LANES) - 1);
    int number = 0;
#pragma unroll
    for (int i = 0; i < R; i++) {
        const unsigned in_play = __ballot_sync(~0u, rank[i] < 0) >> at.first_lane;
        if (i <= slot) number += __popc(in_play & (i < slot ? ALL : (1u << at.q) - 1));
    }
    return number;
}

/** A pivot row, once it is found. */
template <typename T, int RHS, int R> struct pivot_step {
    T y[RHS ? RHS : 1], f[R]; /* its right-hand sides; the multipliers of a lane's rows */
    int slot, lane;           /* where it was */
};

/** A pivot row becomes zero where it was, so that the row that takes its place need not clear it. */
template <typename T, int N, int GROUP, int RHS, int R> struct lane_rows {
    static constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N, LANES = ROWS / R, COLUMNS = (WINDOW + 2) * N;
    static constexpr int LANE_BITS = LANES <= 2 ? 1 : LANES <= 4 ? 2 : LANES <= 8 ? 3 : LANES <= 16 ? 4 : 5;
    static_assert(ROWS % R == 0 && (R - 1) << LANE_BITS <= 31, "five bits say where a row is");
    using step = pivot_step<T, RHS, R>;
    using factors = factors_of<T, N, GROUP>;
    using vector = typename factors::vector;
    /* partitions hit different banks */
    static constexpr int PER_VECTOR = factors::PER_VECTOR, SHARED_VECTORS = N * COLUMNS / PER_VECTOR | 1;
    static constexpr size_t SHARED_BYTES = SHARED_VECTORS * sizeof(vector) * (WARP / LANES);
    vector *pivot_rows;     /* of the block column, in shared memory: by these a lane's row becomes known to the
                               others */
    T u[R][COLUMNS];       /* coefficients in the window, in left and in first */
    T y[R][RHS ? RHS : 1];
    real_of<T> weight[R];
    int id[R];             /* its number in the partition */
    int rank[R];           /* -1: in play; else among the pivot rows of this group */

    __device__ lane_rows(const place<LANES> &at, void *shared) : lane_rows((vector *)shared + at.slot * SHARED_VECTORS)
    {}
    __device__ explicit lane_rows(void *pivot_rows) : pivot_rows((vector *)pivot_rows) {}
    static __host__ __device__ constexpr int position(int slot, int lane) { return slot * LANES + lane; }
    /** The scale of a row: element(side, c) is its coefficient in column c of its block `side`. */
    template <typename ELEMENT> static __device__ __forceinline__ real_of<T> weight_of(const ELEMENT &element)
    {
        unsigned largest = 0;
#pragma unroll
        for (int side = 0; side < WINDOW; side++)
#pragma unroll
            for (int c = 0; c < N; c++) largest = max(largest, leading_bits(size_of(element(side, c))));
        return panel_weight<T>(from_leading_bits<real_of<T>>(largest));
    }
    __device__ __forceinline__ void leave_empty(int slot, int number)
    {
        rank[slot] = number;
        id[slot] = -1;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) u[slot][c] = T{};
    }
    /** A row: its first EARLY blocks lie before the window and go to left and first. */
    template <int EARLY, typename ELEMENT> __device__ __forceinline__ void
    enter(int slot, int number, real_of<T> its_weight, const ELEMENT &element)
    {
        if constexpr (EARLY > 0)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) u[slot][c] = T{};
#pragma unroll
        for (int side = 0; side < WINDOW; side++)
#pragma unroll
            for (int c = 0; c < N; c++) {
                const T x = element(side, c);
                if (side >= EARLY) u[slot][(side - EARLY) * N + c] = x;
                else u[slot][(side - EARLY == -1 ? WINDOW + 1 : WINDOW) * N + c] = x;
            }
        weight[slot] = its_weight;
        id[slot] = number;
        rank[slot] = -1;
    }
    /** Take the row that has entered a slot times its scale, and its right-hand sides if these have not been. */
    __device__ __forceinline__ void scale_row(const stage_of<T> &s, int slot)
    {
        if (!s.is_scaled) return;
        const real_of<T> scale = smaller_power(weight[slot]);
        weight[slot] = fraction_of(weight[slot]);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) u[slot][c] = times(u[slot][c], scale);
        if (!s.rhs_is_scaled)
#pragma unroll
            for (int c = 0; c < RHS; c++) y[slot][c] = times(y[slot][c], scale);
    }

    /** What the lane `from` of the warp has in a slot. */
    static __device__ __forceinline__ int pick(const int (&x)[R], int slot, int from)
    {
        int mine = x[0];
#pragma unroll
        for (int i = 1; i < R; i++) mine = slot == i ? x[i] : mine;
        return __shfl_sync(~0u, mine, from);
    }
    template <typename S, typename GET> static __device__ __forceinline__ S pick_of(int slot, int from, const GET &get)
    {
        S mine = get(0);
#pragma unroll
        for (int i = 1; i < R; i++) {
            const S other = get(i);
            mine = slot == i ? other : mine;
        }
        return shuffle_from(mine, from);
    }

    /** The block of positions whose rows have the largest determinant in the window's first block column. */
    __device__ __forceinline__ int choose_block(const stage_of<T> &s, int first_lane, int in_place) const
    {
        real_of<T> most = -1;
        int chosen = 0;
#pragma unroll 1
        for (int b = 0; b < WINDOW; b++) {
            T block[N * N];
            real_of<T> weights[N];
            const int head = b * N / LANES, head_lane = first_lane + b * N % LANES;
            const bool inside = pick(rank, head, head_lane) < 0, preferred = pick(id, head, head_lane) / N == in_place;
#pragma unroll
            for (int i = 0; i < N; i++) {
                const int slot = (b * N + i) / LANES, from = first_lane + (b * N + i) % LANES;
                weights[i] = pick_of<real_of<T>>(slot, from, [&](int r) { return weight[r]; });
#pragma unroll
                for (int c = 0; c < N; c++) block[c * N + i] = pick_of<T>(slot, from, [&](int r) { return u[r][c]; });
            }
            const real_of<T> size =
                panel_determinant(N, block, s.pivot == TRINE_PIVOT_SCALED_DETERMINANT ? weights : nullptr);
            if (inside && (size > most || (size == most && preferred))) most = size, chosen = b;
        }
        return chosen;
    }

    /** Eliminate the window's first block column; the pivot rows' ranks begin at `base`, the rows in place are number
     *  `in_place` N and following. found(k, step) is called for each. */
    template <typename FOUND> __device__ __forceinline__ void eliminate(const stage_of<T> &s, const place<LANES> &at,
                                                                        int in_place, int base, const FOUND &found)
    {
        const bool scaled = s.pivot == TRINE_PIVOT_SCALED_PARTIAL || s.pivot == TRINE_PIVOT_SCALED_DETERMINANT;
        unsigned barred = 0; /* slots */
        __syncwarp(); /* the last block column's pivot rows have been read */
        if (s.pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT) {
            const int chosen = choose_block(s, at.first_lane, in_place);
#pragma unroll
            for (int i = 0; i < R; i++) barred |= (position(i, at.q) / N != chosen) << i;
        }
#pragma unroll
        for (int k = 0; k < N; k++) {
            step found_row;
            unsigned size[R], best = 0;
            if (s.epsilon > 0)
#pragma unroll
                for (int i = 0; i < R; i++) u[i][k] = size_of(u[i][k]) <= s.epsilon ? T{} : u[i][k];
            if (scaled)
#pragma unroll
                for (int i = 0; i < R; i++) size[i] = leading_bits(size_of(u[i][k]) * weight[i]);
            else
#pragma unroll
                for (int i = 0; i < R; i++) size[i] = s.pivot == TRINE_PIVOT_NONE ? 0 : leading_bits(size_of(u[i][k]));
#pragma unroll
            for (int i = 0; i < R; i++) { /* among nearly equal ones the row in place */
                const unsigned here = 64u + 31u - (unsigned)((i << LANE_BITS) + at.q),
                               preferred = id[i] == in_place * N + k ? 32u : 0u;
                const bool in_play = rank[i] < 0 && !(barred & 1u << i);
                best = max(best, in_play ? (size[i] & ~127u) | here | preferred : 0u);
            }
            best = 31u - (largest_of_lanes<LANES>(best, at.q, at.first_lane) & 31u);
            const int slot = (int)best >> LANE_BITS, lane = (int)best & ((1 << LANE_BITS) - 1),
                      from = at.first_lane + lane;
            T pivot = pick_of<T>(slot, from, [&](int i) { return u[i][k]; });
            /* a pivot that vanishes becomes a rounding error of its row */
            if (__any_sync(~0u, size_of(pivot) < SMALLEST<T>)) {
                const real_of<T> error =
                    panel_rounding<T>(pick_of<real_of<T>>(slot, from, [&](int i) { return weight[i]; }));
                if (size_of(pivot) < SMALLEST<T>) pivot = panel_real<T>(error);
            }
            const T r = reciprocal_of(pivot), negative = T{} - r;
            T (&f)[R] = found_row.f;
#pragma unroll
            for (int i = 0; i < R; i++) {
                const bool is_pivot = at.q == lane && slot == i;
                f[i] = is_pivot ? T{} - one_of<T>() : u[i][k] * negative; /* 0 of a row that has been one */
                if (is_pivot) rank[i] = base + k;
            }
            vector *row = pivot_rows + k * (COLUMNS / PER_VECTOR);
#pragma unroll
            for (int i = 0; i < R; i++)
                if (at.q == lane && slot == i && !at.left_over)
#pragma unroll
                    for (int e = k / PER_VECTOR; e < COLUMNS / PER_VECTOR; e++) {
                        vector here;
#pragma unroll
                        for (int c = 0; c < PER_VECTOR; c++)
                            here.v[c] = e * PER_VECTOR + c == k ? r : u[i][e * PER_VECTOR + c];
                        row[e] = here;
                    }
            __syncwarp();
#pragma unroll
            for (int e = (k + 1) / PER_VECTOR; e < COLUMNS / PER_VECTOR; e++) {
                const vector here = row[e];
#pragma unroll
                for (int c = 0; c < PER_VECTOR; c++)
#pragma unroll
                    for (int i = 0; i < R; i++)
                        if (e * PER_VECTOR + c > k)
                            u[i][e * PER_VECTOR + c] = u[i][e * PER_VECTOR + c] + f[i] * here.v[c];
            }
#pragma unroll
            for (int c = 0; c < RHS; c++) {
                const T pivot_row = pick_of<T>(slot, from, [&](int i) { return y[i][c]; });
                found_row.y[c] = pivot_row;
#pragma unroll
                for (int i = 0; i < R; i++) y[i][c] = y[i][c] + f[i] * pivot_row;
            }
            found_row.slot = slot, found_row.lane = lane;
            found(k, found_row);
        }
    }

    /** Move the window on by one block column. */
    __device__ __forceinline__ void advance()
    {
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int c = 0; c < WINDOW * N; c++) u[i][c] = c + N < WINDOW * N ? u[i][c + N] : T{};
    }
};

template <typename T, int N> constexpr int COARSE_ROWS_A_LANE = 6 * N * sizeof(T) <= 100 ? 2 : 1;
/** Two rows of narrow blocks, three of others where these and what else a lane needs fit into its registers, else
 *  one. */
template <typename T, int N> constexpr int ROWS_A_LANE = 3 * (5 * N + 4) * sizeof(T) > 600 ? 1 : N == 2 ? 2 : 3;

} // namespace trine_block

#endif
