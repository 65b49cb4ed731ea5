/* A lane's partition in the memory of a tile: the two rows that are left of it, and from the unknowns around it back
 * to its own. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_TILE_PARTITION_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_TILE_PARTITION_CUH

#include "tridiagonal/gtsv/cuda/warp_join.cuh"
#include "tridiagonal/gtsv/cuda/tile_memory.cuh"

/** A 16-byte vector of each array. */
template <typename T, int NR, int M> struct vectors_of {
    typename tile<T, NR, M>::vector16 v[3 + NR];
    __device__ __forceinline__ void read(const T *data, int k)
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++)
            v[i] = *(const typename tile::vector16 *)(data + i * tile::ROWS + tile::vector_slot(k));
    }
    __device__ __forceinline__ void write(T *data, int k) const
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++)
            *(typename tile::vector16 *)(data + i * tile::ROWS + tile::vector_slot(k)) = v[i];
    }
    __device__ __forceinline__ void set(int i, const row_of<T, NR> &r)
    {
        v[0].v[i] = r.lower, v[1].v[i] = r.diag, v[2].v[i] = r.upper;
#pragma unroll
        for (int k = 0; k < NR; k++) v[3 + k].v[i] = r.rhs[k];
    }
    __device__ __forceinline__ row_of<T, NR> row(int i) const
    {
        row_of<T, NR> r = {v[0].v[i], v[1].v[i], v[2].v[i]};
#pragma unroll
        for (int k = 0; k < NR; k++) r.rhs[k] = v[3 + k].v[i];
        return r;
    }
};

/** Rows of a partition of which not all are there. */
template <typename T, int NR, int M> __device__ __forceinline__ row_of<T, NR> read_row(const T *data, int j)
{
    using tile = tile<T, NR, M>;
    const T *own = data + tile::row_slot(j);
    row_of<T, NR> r = {own[0], own[tile::ROWS], own[2 * tile::ROWS]};
#pragma unroll
    for (int k = 0; k < NR; k++) r.rhs[k] = own[(3 + k) * tile::ROWS];
    return r;
}

template <typename T, int NR, int M> __device__ __forceinline__ int row_size(const T *data, int j)
{
    const T *own = data + tile<T, NR, M>::row_slot(j);
    return largest_logarithm(own[0], own[tile<T, NR, M>::ROWS], own[2 * tile<T, NR, M>::ROWS]);
}

/** The two rows that are left of a partition of m rows, an even number or none; the two chains of operations
 *  overlap. *lost: by both. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR>
reduce_partition(pivoting p, const T *data, int m, int *lost)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PER_VECTOR;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    T times_last = one_of<T>(), times_first = one_of<T>(), times_carried;
    if (m == M) {
        const auto take_vector = [&](int k) {
            vectors_of<T, NR, M> top, bottom;
            top.read(data, k);
            bottom.read(data, tile::VECTORS - 1 - k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> next_down = top.row(i), next_up = reversed(bottom.row(C - 1 - i));
                /* the first row stays out, the second one starts */
                if (k < tile::FIRST && k * C + i < 2) down = next_down, up = next_up;
                else
                    eliminate(down, next_down, times_last, times_carried),
                        eliminate(up, next_up, times_first, times_carried);
            }
        };
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) take_vector(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::VECTORS; k++) take_vector(k);
    } else if (m > 0) {
        down = read_row<T, NR, M>(data, 1), up = reversed(read_row<T, NR, M>(data, m - 2));
#pragma unroll 1
        for (int j = 2; j < m; j++) {
            eliminate(down, read_row<T, NR, M>(data, j), times_last, times_carried);
            eliminate(up, reversed(read_row<T, NR, M>(data, m - 1 - j)), times_first, times_carried);
        }
    }
    *lost = m == 0 ? NOTHING_LOST
                   : normalize_both(up, part_of(p, times_first, row_size<T, NR, M>(data, 0)), down,
                                    part_of(p, times_last, row_size<T, NR, M>(data, m - 1)));
    return {reversed(up), down};
}

/* Back substitution needs the pivot rows of the downward elimination. They replace the rows just read: that of
 * unknown j - 1 takes the place of row j, with the coefficients of x[j], x[j+1] and x[0] and its right-hand sides
 * where the row had its own. Rows 0 and 1 stay as they are. */

/** reduce_partition, keeping the pivot rows; the first inner unknown comes from row 0, *from_row0, if its
 *  coefficient is relatively larger there than in rows 1 and 2. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR>
eliminate_partition(pivoting p, T *data, int m, bool *from_row0, int *lost)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PER_VECTOR;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    T times_last = one_of<T>(), times_first = one_of<T>(), times_carried;
    int size_first = 0, size_last = 0;
    *from_row0 = false;
    /* before rows are overwritten */
    if (m > 0) size_first = row_size<T, NR, M>(data, 0), size_last = row_size<T, NR, M>(data, m - 1);
    if (m > 2) {
        const row_of<T, NR> row0 = read_row<T, NR, M>(data, 0), row1 = read_row<T, NR, M>(data, 1),
                            row2 = read_row<T, NR, M>(data, 2);
        *from_row0 = exceeds(p, row0.upper, scale_of(p, row0),
                             max(logarithm(row1.diag) - scale_of(p, row1), logarithm(row2.lower) - scale_of(p, row2)));
    }
    weight_of<T> weight = {};
    if (m == M) {
        const auto go_up = [&](int k) { /* counted from the end */
                                        vectors_of<T, NR, M> rows;
                                        rows.read(data, tile::VECTORS - 1 - k);
#pragma unroll
                                        for (int i = 0; i < C; i++) {
                                            const row_of<T, NR> next = reversed(rows.row(C - 1 - i));
                                            if (k < tile::FIRST && k * C + i < 2) up = next;
                                            else eliminate(up, next, times_first, times_carried);
                                        }
        };
        const auto go_down = [&](int k) {
            const int skipped = k < tile::FIRST ? 2 - k * C : 0; /* rows 0 and 1 */
            vectors_of<T, NR, M> rows;
            chosen_row<T, NR> chosen[C];
            bool any_vanishes = false;
            rows.read(data, k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> row = rows.row(i);
                if (i < skipped) {
                    down = row, weight = weigh(p, row);
                } else {
                    chosen[i] = eliminate_choosing(p, down, weight, row, times_last);
                    if constexpr (sizeof(real_of<T>) == 4) guard_pivot(chosen[i]);
                    else
                        any_vanishes = any_vanishes | vanishes(chosen[i].pivot); /* a guard is longer: one question
                                                                                    for all of them */
                }
            }
            if (__builtin_expect(any_vanishes, 0)) {
#pragma unroll
                for (int i = 0; i < C; i++)
                    if (i >= skipped) guard_pivot(chosen[i]);
            }
#pragma unroll
            for (int i = 0; i < C; i++)
                if (i >= skipped) rows.set(i, pivot_row(chosen[i]));
            rows.write(data, k);
        };
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) go_up(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::VECTORS; k++) go_up(k);
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) go_down(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::VECTORS; k++) go_down(k);
    } else if (m > 0) {
        up = reversed(read_row<T, NR, M>(data, m - 2));
#pragma unroll 1
        for (int j = m - 3; j >= 0; j--)
            eliminate(up, reversed(read_row<T, NR, M>(data, j)), times_first, times_carried);
        down = read_row<T, NR, M>(data, 1), weight = weigh(p, down);
#pragma unroll 1
        for (int j = 2; j < m; j++) {
            row_of<T, NR> row = read_row<T, NR, M>(data, j);
            eliminate_keeping(p, down, weight, row, times_last);
            T *own = data + tile::row_slot(j);
            own[0] = row.lower, own[tile::ROWS] = row.diag, own[2 * tile::ROWS] = row.upper;
#pragma unroll
            for (int k = 0; k < NR; k++) own[(3 + k) * tile::ROWS] = row.rhs[k];
        }
    }
    *lost = m == 0 ? NOTHING_LOST
                   : normalize_both(up, part_of(p, times_first, size_first), down, part_of(p, times_last, size_last));
    return {reversed(up), down};
}

/** The solution of the partition in place of its right-hand sides. Its second unknown could come from row 0 and from
 *  a pivot row. Do these disagree? Then the inner rows, with the ends known, are nearly singular, and more than that
 *  unknown is wrong. */
template <typename T, int NR, int M> __device__ __forceinline__ second_unknown<T, NR>
substitute_partition(pivoting p, T *data, int m, const known_of<T, NR> &known, const row_of<T, NR> &row0,
                     bool from_row0)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PER_VECTOR;
    using vector16 = typename tile::vector16;
    T next[NR], next2[NR]; /* x[j], x[j+1] */
    T *rhs = data + 3 * tile::ROWS;
    second_unknown<T, NR> second;
    if (m == 0) return second;
    second.from(row0, from_row0, known);
#pragma unroll
    for (int k = 0; k < NR; k++) next[k] = known.last[k], next2[k] = known.after[k];
    if (m == M) {
        const auto substitute_vector = [&](int k) {
            vectors_of<T, NR, M> pivots;
            vector16 x[NR];
            pivots.read(data, k);
#pragma unroll
            for (int i = C - 1; i >= 0; i--) {
                const int j = k * C + i; /* x[j] is known, x[j-1] follows from the pivot row at j */
                const row_of<T, NR> pivot = pivots.row(i);
                if (k < tile::FIRST && j == 1) second.choose(p, next);
#pragma unroll
                for (int r = 0; r < NR; r++) {
                    x[r].v[i] = k < tile::FIRST && j == 0 ? known.first[r] : next[r];
                    const T value =
                        pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                    next2[r] = next[r], next[r] = value;
                }
            }
#pragma unroll
            for (int r = 0; r < NR; r++) *(vector16 *)(rhs + r * tile::ROWS + tile::vector_slot(k)) = x[r];
        };
#pragma unroll 1
        for (int k = tile::VECTORS - 1; k >= tile::FIRST; k--) substitute_vector(k);
#pragma unroll
        for (int k = tile::FIRST - 1; k >= 0; k--) substitute_vector(k);
    } else {
#pragma unroll 1
        for (int j = m - 1; j >= 2; j--) {
            const row_of<T, NR> pivot = read_row<T, NR, M>(data, j);
#pragma unroll
            for (int r = 0; r < NR; r++) {
                const T value =
                    pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                rhs[r * tile::ROWS + tile::row_slot(j)] = next[r];
                next2[r] = next[r], next[r] = value;
            }
        }
        if (m > 2) second.choose(p, next);
#pragma unroll
        for (int r = 0; r < NR; r++)
            rhs[r * tile::ROWS + tile::row_slot(0)] = known.first[r], rhs[r * tile::ROWS + tile::row_slot(1)] = next[r];
    }
    return second;
}

#endif
