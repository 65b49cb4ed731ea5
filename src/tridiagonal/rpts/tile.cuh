/* The tile of a warp: 32 neighbouring partitions of M rows in shared memory, a lane a partition.
 *
 *   load_tile        rows from global memory, coalesced
 *   reduce_tile      every lane eliminates the inner rows of its partition, downwards and upwards at once; then pairs of
 *                    partitions are joined, five times, until two rows are left for the whole tile. All lanes take part in
 *                    every join, so that each knows the result without another exchange
 *   eliminate_tile   the same, and the pivot rows of the downward elimination replace the rows
 *   substitute_tile  the way back, from the unknowns at the ends of the tile to every row
 *   store_tile       the solution, coalesced
 * Rows are moved in pieces of 16 bytes; a partition is followed by one piece of padding, which makes its length an odd number
 * of pieces, so that eight lanes reading the same piece of their partitions touch all 32 banks once. */
#ifndef TRINE_RPTS_TILE_CUH
#define TRINE_RPTS_TILE_CUH

#include "tridiagonal/rpts/rows.cuh"
#include "tridiagonal/rpts/system.cuh"

template <typename T, int NR, int M> struct tile {
    static constexpr int PIECE = 16 / sizeof(T), PIECES = M / PIECE, STRIDE = M + PIECE, LENGTH = WARP * STRIDE, ROWS = WARP * M;
    static constexpr size_t BYTES = (3 + NR) * LENGTH * sizeof(T);
    static_assert(PIECES % 2 == 0 && WARP % PIECES == 0, "padding makes an odd number of pieces");
    static constexpr int FIRST = PIECE == 1 ? 2 : 1; /* pieces that hold rows 0 and 1 */
    struct alignas(16) piece { T v[PIECE]; };

    T *data; /* lower, diag, upper, right-hand sides: LENGTH elements each */

    __device__ T *array(int k) const { return data + k * LENGTH; }
    static __device__ int slot(int r) { return r + r / M * PIECE; }
};

template <typename T, int NR, int M> __device__ __forceinline__ void load_aligned_band(const tile<T, NR, M> &t, int k, const T *global)
{
    using tile = tile<T, NR, M>;
    constexpr int STEP = (WARP + WARP / tile::PIECES) * tile::PIECE;
    const int lane = threadIdx.x % WARP;
    T *to = t.array(k) + (lane + lane / tile::PIECES) * tile::PIECE;
    const T *from = global + lane * tile::PIECE;
#pragma unroll
    for (int i = 0; i < tile::PIECES; i++) copy_async<16>(to + i * STEP, from + i * WARP * tile::PIECE);
}
template <typename T, int NR, int M> __device__ inline void load_band(const tile<T, NR, M> &t, int k, const T *global)
{
    using tile = tile<T, NR, M>;
    if (is_aligned(global)) {
        load_aligned_band(t, k, global);
    } else {
        constexpr int BYTES = sizeof(T) < 8 ? 4 : 8; /* of a double complex, the halves */
        for (int r = threadIdx.x % WARP; r < tile::ROWS; r += WARP)
            for (int part = 0; part < (int)sizeof(T) / BYTES; part++)
                copy_async<BYTES>((char *)(t.array(k) + tile::slot(r)) + part * BYTES, (const char *)(global + r) + part * BYTES);
    }
}

/** Rows row .. row + 32 M - 1 with right-hand sides first .. first + count - 1; rows outside the system are the identity's.
 *  The copies may still be under way: wait_for_tile. The usual case comes first and without branches: in short kernels every
 *  jump waits for instructions. */
template <typename T, int NR, int M> __device__ inline void load_tile(const tile<T, NR, M> &t, const system_of<T> &A, columns_of<const T> D, int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    const int lane = threadIdx.x % WARP;
    const bool whole = row + tile::ROWS <= A.n, plain = whole && !A.conjugate && row + A.lower_shift >= 0 && row + tile::ROWS + A.upper_shift <= A.n;
    const T *lower = A.lower + row + A.lower_shift, *diag = A.diag + row, *upper = A.upper + row + A.upper_shift, *rhs = D.data + first * D.ld + row;
    if (__builtin_expect(plain && count == NR && (((uintptr_t)lower | (uintptr_t)diag | (uintptr_t)upper | (uintptr_t)rhs | (NR > 1 ? D.ld * sizeof(T) : 0)) & 15) == 0, 1)) {
        load_aligned_band(t, 0, lower);
        load_aligned_band(t, 1, diag);
        load_aligned_band(t, 2, upper);
#pragma unroll
        for (int k = 0; k < NR; k++) load_aligned_band(t, 3 + k, rhs + k * D.ld);
        return;
    }
    if (plain) {
        load_band(t, 0, lower);
        load_band(t, 1, diag);
        load_band(t, 2, upper);
    } else {
        for (int r = lane; r < tile::ROWS; r += WARP) {
            const int64_t i = row + r;
            const int slot = tile::slot(r);
            t.array(0)[slot] = i < A.n ? lower_of(A, i) : T{};
            t.array(1)[slot] = i < A.n ? diag_of(A, i) : one_of<T>();
            t.array(2)[slot] = i < A.n ? upper_of(A, i) : T{};
        }
    }
    for (int k = 0; k < NR; k++) {
        if (k < count && whole) load_band(t, 3 + k, rhs + k * D.ld);
        else
            for (int r = lane; r < tile::ROWS; r += WARP)
                t.array(3 + k)[tile::slot(r)] = k < count && row + r < A.n ? rhs[k * D.ld + r] : T{};
    }
}
/** ... and the corners, which are nobody's: they are never read as numbers. */
template <typename T, int NR, int M> __device__ inline void wait_for_tile(const tile<T, NR, M> &t, const system_of<T> &A, int64_t row)
{
    using tile = tile<T, NR, M>;
    wait_for_copies();
    __syncwarp();
    if (row == 0 || row + tile::ROWS == A.n) {
        if (threadIdx.x % WARP == 0) {
            if (row == 0) t.array(0)[0] = T{};
            if (row + tile::ROWS == A.n) t.array(2)[tile::slot(tile::ROWS - 1)] = T{};
        }
        __syncwarp();
    }
}

template <typename T, int NR, int M> __device__ inline void store_tile(const tile<T, NR, M> &t, int64_t n, columns_of<T> X, int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    using piece = typename tile::piece;
    const int lane = threadIdx.x % WARP;
    __syncwarp();
    for (int k = 0; k < count; k++) {
        const T *x = t.array(3 + k);
        T *global = X.data + (first + k) * X.ld + row;
        if (row + tile::ROWS <= n && is_aligned(global)) {
            constexpr int STEP = WARP + WARP / tile::PIECES;
            const piece *from = (const piece *)x + lane + lane / tile::PIECES;
            piece *to = (piece *)global + lane;
#pragma unroll
            for (int i = 0; i < tile::PIECES; i++) to[i * WARP] = from[i * STEP];
        } else {
            for (int r = lane; r < tile::ROWS && row + r < n; r += WARP) global[r] = x[tile::slot(r)];
        }
    }
}

/** How many rows of the lane's partition there are. A last, short partition gets an even number by a row of the identity, as
 *  the others have it: tridiag(1, tiny, 1) of odd order is nearly singular. */
template <typename T, int NR, int M> __device__ __forceinline__ int lane_rows(int64_t n, int64_t row)
{
    const int64_t left = n - row - (int64_t)(threadIdx.x % WARP) * M;
    return left >= M ? M : left <= 0 ? 0 : (int)(left + left % 2);
}

/* ---------------------------------------------------------- a lane's partition */

/** One piece of each array. */
template <typename T, int NR, int M> struct pieces_of {
    typename tile<T, NR, M>::piece v[3 + NR];
    __device__ __forceinline__ void read(const T *lane_data, int k)
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++) v[i] = *(const typename tile::piece *)(lane_data + i * tile::LENGTH + k * tile::PIECE);
    }
    __device__ __forceinline__ void write(T *lane_data, int k) const
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++) *(typename tile::piece *)(lane_data + i * tile::LENGTH + k * tile::PIECE) = v[i];
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
template <typename T, int NR, int M> __device__ __forceinline__ row_of<T, NR> read_row(const T *lane_data, int j)
{
    using tile = tile<T, NR, M>;
    row_of<T, NR> r = {lane_data[j], lane_data[tile::LENGTH + j], lane_data[2 * tile::LENGTH + j]};
#pragma unroll
    for (int k = 0; k < NR; k++) r.rhs[k] = lane_data[(3 + k) * tile::LENGTH + j];
    return r;
}

/** The two rows that are left of a partition of m rows, an even number or none; the two chains of operations overlap. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> reduce_partition(const T *lane_data, int m)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    if (m == M) {
        const auto take_piece = [&](int k) {
            pieces_of<T, NR, M> top, bottom;
            top.read(lane_data, k);
            bottom.read(lane_data, tile::PIECES - 1 - k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> next_down = top.row(i), next_up = reversed(bottom.row(C - 1 - i));
                if (k < tile::FIRST && k * C + i < 2) down = next_down, up = next_up; /* the first row stays out, the second one starts */
                else eliminate(down, next_down), eliminate(up, next_up);
            }
        };
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) take_piece(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::PIECES; k++) take_piece(k);
    } else if (m > 0) {
        down = read_row<T, NR, M>(lane_data, 1), up = reversed(read_row<T, NR, M>(lane_data, m - 2));
#pragma unroll 1
        for (int j = 2; j < m; j++) {
            eliminate(down, read_row<T, NR, M>(lane_data, j));
            eliminate(up, reversed(read_row<T, NR, M>(lane_data, m - 1 - j)));
        }
    }
    return {reversed(up), down};
}

/* The way back needs the pivot rows of the downward elimination. They replace the rows just read: that of unknown j - 1 takes
 * the place of row j, with the coefficients of x[j], x[j+1] and x[0] and its right-hand sides where the row had its own. Rows 0
 * and 1 stay as they are. */

/** reduce_partition, keeping the pivot rows; the first inner unknown comes from row 0, *from_row0, if its coefficient is
 *  relatively larger there than in rows 1 and 2. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> eliminate_partition(pivoting p, T *lane_data, int m, bool *from_row0)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    *from_row0 = false;
    if (m > 2) { /* ask before row 2 is overwritten */
        const row_of<T, NR> row0 = read_row<T, NR, M>(lane_data, 0), row1 = read_row<T, NR, M>(lane_data, 1), row2 = read_row<T, NR, M>(lane_data, 2);
        *from_row0 = exceeds(p, row0.upper, scale_of(p, row0), max(logarithm(row1.diag) - scale_of(p, row1), logarithm(row2.lower) - scale_of(p, row2)));
    }
    int scale = 0;
    if (m == M) {
        const auto go_up = [&](int k) { /* counted from the end */
            pieces_of<T, NR, M> rows;
            rows.read(lane_data, tile::PIECES - 1 - k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> next = reversed(rows.row(C - 1 - i));
                if (k < tile::FIRST && k * C + i < 2) up = next;
                else eliminate(up, next);
            }
        };
        const auto go_down = [&](int k) {
            pieces_of<T, NR, M> rows;
            rows.read(lane_data, k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                row_of<T, NR> row = rows.row(i);
                if (k < tile::FIRST && k * C + i < 2) {
                    down = row, scale = scale_of(p, row);
                } else {
                    eliminate_keeping(p, down, scale, row);
                    rows.set(i, row);
                }
            }
            rows.write(lane_data, k);
        };
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) go_up(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::PIECES; k++) go_up(k);
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) go_down(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::PIECES; k++) go_down(k);
    } else if (m > 0) {
        up = reversed(read_row<T, NR, M>(lane_data, m - 2));
#pragma unroll 1
        for (int j = m - 3; j >= 0; j--) eliminate(up, reversed(read_row<T, NR, M>(lane_data, j)));
        down = read_row<T, NR, M>(lane_data, 1), scale = scale_of(p, down);
#pragma unroll 1
        for (int j = 2; j < m; j++) {
            row_of<T, NR> row = read_row<T, NR, M>(lane_data, j);
            eliminate_keeping(p, down, scale, row);
            lane_data[j] = row.lower, lane_data[tile::LENGTH + j] = row.diag, lane_data[2 * tile::LENGTH + j] = row.upper;
#pragma unroll
            for (int k = 0; k < NR; k++) lane_data[(3 + k) * tile::LENGTH + j] = row.rhs[k];
        }
    }
    return {reversed(up), down};
}

/** The solution of the partition in place of its right-hand sides. */
template <typename T, int NR, int M> __device__ __forceinline__ void substitute_partition(T *lane_data, int m, const known_of<T, NR> &known, bool from_row0)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    using piece = typename tile::piece;
    T next[NR], next2[NR], x1[NR]; /* x[j], x[j+1], and x[1] from row 0 */
    T *rhs = lane_data + 3 * tile::LENGTH;
    if (m == 0) return;
    const row_of<T, NR> row0 = read_row<T, NR, M>(lane_data, 0);
    const T inverse = pivot_reciprocal(row0.upper, row0.diag, row0.lower);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        x1[k] = inverse * (row0.rhs[k] - row0.diag * known.first[k] - row0.lower * known.before[k]);
        next[k] = known.last[k], next2[k] = known.after[k];
    }
    if (m == M) {
        const auto substitute_piece = [&](int k) {
            pieces_of<T, NR, M> pivots;
            piece x[NR];
            pivots.read(lane_data, k);
#pragma unroll
            for (int i = C - 1; i >= 0; i--) {
                const int j = k * C + i; /* x[j] is known, x[j-1] follows from the pivot row at j */
                const row_of<T, NR> pivot = pivots.row(i);
#pragma unroll
                for (int r = 0; r < NR; r++) {
                    x[r].v[i] = next[r];
                    if (k < tile::FIRST && j == 1 && from_row0) x[r].v[i] = x1[r];
                    if (k < tile::FIRST && j == 0) x[r].v[i] = known.first[r];
                    const T value = pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                    next2[r] = next[r], next[r] = value;
                }
            }
#pragma unroll
            for (int r = 0; r < NR; r++) *(piece *)(rhs + r * tile::LENGTH + k * C) = x[r];
        };
#pragma unroll 1
        for (int k = tile::PIECES - 1; k >= tile::FIRST; k--) substitute_piece(k);
#pragma unroll
        for (int k = tile::FIRST - 1; k >= 0; k--) substitute_piece(k);
    } else {
#pragma unroll 1
        for (int j = m - 1; j >= 2; j--) {
            const row_of<T, NR> pivot = read_row<T, NR, M>(lane_data, j);
#pragma unroll
            for (int r = 0; r < NR; r++) {
                const T value = pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                rhs[r * tile::LENGTH + j] = next[r];
                next2[r] = next[r], next[r] = value;
            }
        }
#pragma unroll
        for (int r = 0; r < NR; r++) rhs[r * tile::LENGTH] = known.first[r], rhs[r * tile::LENGTH + 1] = from_row0 ? x1[r] : next[r];
    }
}

/* ------------------------------------------------------------------- a warp's tree */

template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> shuffle_from(const row_of<T, NR> &r, int lane)
{
    row_of<T, NR> s = {shuffle_from(r.lower, lane), shuffle_from(r.diag, lane), shuffle_from(r.upper, lane)};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = shuffle_from(r.rhs[k], lane);
    return s;
}
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR> shuffle_from(const known_of<T, NR> &known, int lane)
{
    known_of<T, NR> s;
#pragma unroll
    for (int k = 0; k < NR; k++) {
        s.before[k] = shuffle_from(known.before[k], lane), s.first[k] = shuffle_from(known.first[k], lane);
        s.last[k] = shuffle_from(known.last[k], lane), s.after[k] = shuffle_from(known.after[k], lane);
    }
    return s;
}
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> either(bool condition, const row_of<T, NR> &yes, const row_of<T, NR> &no)
{
    row_of<T, NR> r;
    r.lower = condition ? yes.lower : no.lower;
    r.diag = condition ? yes.diag : no.diag;
    r.upper = condition ? yes.upper : no.upper;
#pragma unroll
    for (int k = 0; k < NR; k++) r.rhs[k] = condition ? yes.rhs[k] : no.rhs[k];
    return r;
}

/** The unknown that a lane's half of a union has where the halves meet: of the second half its first one, of the first half its
 *  last one. x1, x2, x3: the meeting row of the other half, that of the lane's half, the outer row of the lane's half, in the
 *  second half as they are, in the first half reversed. carried: x1 after x2 has removed from it the unknown of the other half. */
template <typename T, int NR> __device__ __forceinline__ solved_of<T, NR> meeting_unknown(pivoting p, bool second, const row_of<T, NR> &x1, const row_of<T, NR> &x2,
    const row_of<T, NR> &x3, const row_of<T, NR> &carried, T times_row, T times_carried, int *other)
{
    const int scale1 = scale_of(p, x1), scale2 = scale_of(p, x2), scale3 = scale_of(p, x3);
    /* the unknown on the left, from the first half's row or from the second half's */
    const T in_first = second ? x1.diag : x2.diag, in_second = second ? x2.lower : x1.upper;
    const int of_first = logarithm(in_first) - (second ? scale1 : scale2), of_second = logarithm(in_second) - (second ? scale2 : scale1);
    const bool exchanged = exceeds(p, in_second, second ? scale2 : scale1, of_first);
    const int inner = second ? logarithm(carried.diag) - scale_left(exchanged, times_row, times_carried, scale1, scale2) : max(of_first, of_second);
    const bool outer = exceeds(p, x3.lower, scale3, inner), straight = !second & !exchanged;
    T pivot = second ? carried.diag : x1.upper, next = second ? carried.upper : x1.diag, last = second ? carried.lower : x1.lower, rhs[NR];
    pivot = outer ? x3.lower : straight ? x2.diag : pivot;
    next = outer ? x3.diag : straight ? x2.lower : next;
    last = outer ? x3.upper : straight ? x2.upper : last;
#pragma unroll
    for (int k = 0; k < NR; k++) rhs[k] = outer ? x3.rhs[k] : straight ? x2.rhs[k] : second ? carried.rhs[k] : x1.rhs[k];
    *other = second ? (outer ? AFTER : FIRST) : outer ? BEFORE : exchanged ? LAST : FIRST;
    return solve_row(pivot, next, last, rhs);
}

/** The union of the partitions of lanes 0 .. count - 1: of the first 2, 4, ... of them and, last, of all; every lane below
 *  `count` rounded up to a power of two gets the result. The two halves of a union share the work: lanes of the second half
 *  make its last row; lanes of the first half make its first row, reversed, so that it is the same work.
 *  KEPT: of the join in which lane i is the last of the first half it keeps `left`, of that in which it is the first of the
 *  second half `right`. */
template <bool KEPT, typename T, int NR> __device__ __forceinline__ rows_of<T, NR> join_lanes(pivoting p, const rows_of<T, NR> &mine, joint_of<T, NR> &kept, int count)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> row; /* of the union so far: in its first half its first row, reversed, in its second half its last row */
    int bit = 1;
    if (count <= 1) return mine;
#pragma unroll 1
    for (; bit < count; bit *= 2) {
        const bool second = lane & bit;
        row_of<T, NR> x1, x2, x3; /* as in meeting_unknown */
        if (bit == 1) {
            x2 = either(second, mine.first, reversed(mine.last)), x3 = either(second, mine.last, reversed(mine.first));
            x1 = shuffle_from(reversed(x2), lane ^ 1);
        } else {
            const int outer = second ? lane | bit / 2 : lane & ~(bit / 2);
            x1 = shuffle_from(row, outer ^ bit), x2 = reversed(shuffle_from(row, outer ^ (bit / 2))), x3 = shuffle_from(row, outer);
        }
        row = x1;
        T times_row, times_carried;
        eliminate<true>(row, x2, times_row, times_carried);
        if constexpr (KEPT) {
            int other;
            const solved_of<T, NR> unknown = meeting_unknown(p, second, x1, x2, x3, row, times_row, times_carried, &other);
            if ((lane & (2 * bit - 1)) == bit - 1) kept.left = unknown, kept.left_other = other;
            if ((lane & (2 * bit - 1)) == bit) kept.right = unknown, kept.right_other = other;
        }
        eliminate<true>(row, x3);
        if (((lane & ~(2 * bit - 1)) | bit) >= count) row = either(second, x1, x3); /* there is no second half */
    }
    return {reversed(shuffle_from(row, lane & ~(bit / 2))), shuffle_from(row, lane | bit / 2)};
}
/** From the known unknowns of the union to those of the lane's partition. */
template <typename T, int NR> __device__ __forceinline__ void split_lanes(const joint_of<T, NR> &kept, known_of<T, NR> &known, int count)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int bit = WARP / 2; bit >= 1; bit /= 2) {
        if (bit >= count) continue;
        T left[NR], right[NR];
        const int base = lane & ~(2 * bit - 1);
        meet_right(kept, known, right);
#pragma unroll
        for (int k = 0; k < NR; k++) right[k] = shuffle_from(right[k], base | bit);
        meet_left(kept, known, right, left);
#pragma unroll
        for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], base | (bit - 1));
        if ((base | bit) < count) narrow(known, lane & bit, left, right);
    }
}

/* --------------------------------------------------------------------- the tile */

/** The two rows that are left of the tile at `row`, in all lanes. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> reduce_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row)
{
    joint_of<T, NR> kept;
    return join_lanes<false>(p, reduce_partition<T, NR, M>(t.data + threadIdx.x % WARP * tile<T, NR, M>::STRIDE, lane_rows<T, NR, M>(n, row)), kept, WARP);
}

/** What the way back from a tile's two rows needs besides the pivot rows in the tile. */
template <typename T, int NR> struct way_back { joint_of<T, NR> kept; int rows; bool from_row0; };

/** The same, keeping the pivot rows in the tile. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> eliminate_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row, way_back<T, NR> &back)
{
    back.rows = lane_rows<T, NR, M>(n, row);
    const rows_of<T, NR> mine = eliminate_partition<T, NR, M>(p, t.data + threadIdx.x % WARP * tile<T, NR, M>::STRIDE, back.rows, &back.from_row0);
    return join_lanes<true>(p, mine, back.kept, WARP);
}
/** The solution in place of the right-hand sides. */
template <typename T, int NR, int M> __device__ __forceinline__ void substitute_tile(const tile<T, NR, M> &t, const way_back<T, NR> &back, known_of<T, NR> known)
{
    split_lanes(back.kept, known, WARP);
    substitute_partition<T, NR, M>(t.data + threadIdx.x % WARP * tile<T, NR, M>::STRIDE, back.rows, known, back.from_row0);
}

#endif
