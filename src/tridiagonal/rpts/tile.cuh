/* The tile of a warp: 32 neighbouring partitions of M rows in shared memory, a lane a partition.
 *
 *   load_tile        rows from global memory, coalesced
 *   reduce_tile      every lane eliminates the inner rows of its partition, downwards and upwards at once; then pairs of
 *                    partitions are joined, five times, until two rows are left for the whole tile
 *   eliminate_tile   the same, and the pivot rows of the downward elimination replace the rows; unions of partitions are kept
 *   find_joints      the unknowns between partitions from those at the ends of unions, which only the way back needs
 *   substitute_tile  the way back, from the unknowns at the ends of the tile to every row
 *   store_tile       the solution, coalesced (add_tile: added to something)
 * Rows are moved in pieces of 16 bytes. The pieces of a partition stand in an order of their own (twist), so that eight lanes
 * reading the same piece of their partitions touch all 32 banks once, without padding. */
#ifndef TRINE_RPTS_TILE_CUH
#define TRINE_RPTS_TILE_CUH

#include "tridiagonal/rpts/lanes.cuh"
#include "tridiagonal/rpts/rows.cuh"
#include "tridiagonal/rpts/system.cuh"
#include "tridiagonal/rpts/wide.cuh"

/** A X = D as all kernels get it. */
template <typename T> struct tiled_solve {
    system_of<T> A;
    pivoting p;
    int64_t nrhs;
    given_columns<T> D;
    columns_of<T> X;

    /** How many right-hand sides there are from `first` on, `most` at most. */
    __device__ __forceinline__ int columns_from(int64_t first, int most) const { return nrhs - first < most ? (int)(nrhs - first) : most; }
};

template <typename T, int NR, int M> struct tile {
    static constexpr int PIECE = 16 / sizeof(T), PIECES = M / PIECE, ROWS = WARP * M;
    static constexpr size_t BYTES = (3 + NR) * ROWS * sizeof(T);
    static_assert(PIECES >= 2 && WARP % PIECES == 0, "the twist makes eight lanes touch all banks");
    static constexpr int FIRST = PIECE == 1 ? 2 : 1; /* pieces that hold rows 0 and 1 */
    struct alignas(16) piece { T v[PIECE]; };

    T *data; /* lower, diag, upper, right-hand sides: ROWS elements each */

    __device__ T *array(int k) const { return data + k * ROWS; }
    /** Piece k of a partition stands where piece k ^ twist would. */
    static constexpr unsigned TWISTS = PIECES < 8 ? PIECES : 8, PERIOD = PIECES < 16 ? 2 : PIECES / 4;
    static __device__ unsigned twist(unsigned partition) { return partition * TWISTS / 8 % TWISTS; }
    static __device__ unsigned slot(unsigned r) { return (r / PIECE ^ twist(r / M)) * PIECE + r % PIECE; }
    /** Of the first row of piece i * WARP + lane, counted through the tile: twists repeat after PERIOD times WARP pieces. */
    static __device__ unsigned coalesced_slot(unsigned i)
    {
        return slot((i % PERIOD * WARP + threadIdx.x % WARP) * PIECE) + i / PERIOD * PERIOD * WARP * PIECE;
    }
    /** Where piece k, or row j, of the lane's partition stands. */
    static __device__ unsigned piece_slot(unsigned k)
    {
        const unsigned lane = threadIdx.x % WARP;
        return (lane * M + twist(lane) * PIECE) ^ k * PIECE;
    }
    static __device__ unsigned row_slot(unsigned j) { return piece_slot(j / PIECE) + j % PIECE; }
};

template <typename T, int NR, int M> __device__ __forceinline__ void load_aligned_band(const tile<T, NR, M> &t, int k, const T *global)
{
    using tile = tile<T, NR, M>;
    const T *from = global + threadIdx.x % WARP * tile::PIECE;
#pragma unroll
    for (int i = 0; i < tile::PIECES; i++) copy_async<16>(t.array(k) + tile::coalesced_slot(i), from + i * WARP * tile::PIECE);
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
    if (!A.cyclic && (row == 0 || row + tile::ROWS == A.n)) {
        if (threadIdx.x % WARP == 0) {
            if (row == 0) t.array(0)[0] = T{};
            if (row + tile::ROWS == A.n) t.array(2)[tile::slot(tile::ROWS - 1)] = T{};
        }
        __syncwarp();
    }
}

/** wait_for_tile, and the product of the rows and a guess is subtracted from the right-hand sides, a lane every 32nd row. */
template <typename T, int NR, int M>
__device__ __noinline__ void wait_for_residual(const tile<T, NR, M> t, const system_of<T> &A, columns_of<const T> guess, int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    const int lane = threadIdx.x % WARP;
    for (int k = 0; k < count; k++) {
        const T *x = guess.data + (first + k) * guess.ld;
        T own[M]; /* on its way together with the tile */
#pragma unroll
        for (int j = 0; j < M; j++) {
            const int64_t i = row + j * WARP + lane;
            own[j] = i < A.n ? x[i] : i == A.n && A.cyclic ? x[0] : T{};
        }
        T before = {}, behind = {}; /* the tile, for the first and the last lane */
        if (lane == 0) before = row > 0 ? x[row - 1] : A.cyclic ? x[A.n - 1] : T{};
        if (lane == WARP - 1) behind = row + tile::ROWS < A.n ? x[row + tile::ROWS] : A.cyclic ? x[0] : T{};
        if (k == 0) wait_for_tile(t, A, row);
        T right = shuffle_from(own[0], lane + 1 & WARP - 1);
#pragma unroll
        for (int j = 0; j < M; j++) {
            /* the first lane's neighbour is the last lane, 32 rows before; the last lane's is the first one, 32 rows on */
            const T around = shuffle_from(own[j], lane - 1 & WARP - 1), next = j + 1 < M ? shuffle_from(own[j + 1 < M ? j + 1 : j], lane + 1 & WARP - 1) : behind;
            const T at_left = lane ? around : before, at_right = lane < WARP - 1 ? right : next;
            const int slot = tile::slot(j * WARP + lane);
            T &d = t.array(3 + k)[slot];
            if (row + j * WARP + lane < A.n) d = d - t.array(1)[slot] * own[j] - t.array(0)[slot] * at_left - t.array(2)[slot] * at_right;
            before = around, right = next;
        }
    }
    if (count == 0) wait_for_tile(t, A, row);
    __syncwarp();
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
            piece *to = (piece *)global + lane;
#pragma unroll
            for (int i = 0; i < tile::PIECES; i++) to[i * WARP] = *(const piece *)(x + tile::coalesced_slot(i));
        } else {
            for (int r = lane; r < tile::ROWS && row + r < n; r += WARP) global[r] = x[tile::slot(r)];
        }
    }
}

/** X := to + the solution in the tile; X may be `to`. */
template <typename T, int NR, int M> __device__ inline void add_tile(const tile<T, NR, M> &t, int64_t n, columns_of<const T> to, columns_of<T> X, int64_t row, int64_t first, int count)
{
    __syncwarp();
    for (int k = 0; k < count; k++) {
        const T *before = to.data + (first + k) * to.ld + row;
        T *global = X.data + (first + k) * X.ld + row;
        for (int r = threadIdx.x % WARP; r < tile<T, NR, M>::ROWS && row + r < n; r += WARP) global[r] = before[r] + t.array(3 + k)[t.slot(r)];
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
    __device__ __forceinline__ void read(const T *data, int k)
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++) v[i] = *(const typename tile::piece *)(data + i * tile::ROWS + tile::piece_slot(k));
    }
    __device__ __forceinline__ void write(T *data, int k) const
    {
        using tile = tile<T, NR, M>;
#pragma unroll
        for (int i = 0; i < 3 + NR; i++) *(typename tile::piece *)(data + i * tile::ROWS + tile::piece_slot(k)) = v[i];
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

/** The two rows that are left of a partition of m rows, an even number or none; the two chains of operations overlap. *lost: by both. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> reduce_partition(pivoting p, const T *data, int m, int *lost)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    T times_last = one_of<T>(), times_first = one_of<T>(), times_carried;
    if (m == M) {
        const auto take_piece = [&](int k) {
            pieces_of<T, NR, M> top, bottom;
            top.read(data, k);
            bottom.read(data, tile::PIECES - 1 - k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> next_down = top.row(i), next_up = reversed(bottom.row(C - 1 - i));
                if (k < tile::FIRST && k * C + i < 2) down = next_down, up = next_up; /* the first row stays out, the second one starts */
                else eliminate(down, next_down, times_last, times_carried), eliminate(up, next_up, times_first, times_carried);
            }
        };
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) take_piece(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::PIECES; k++) take_piece(k);
    } else if (m > 0) {
        down = read_row<T, NR, M>(data, 1), up = reversed(read_row<T, NR, M>(data, m - 2));
#pragma unroll 1
        for (int j = 2; j < m; j++) {
            eliminate(down, read_row<T, NR, M>(data, j), times_last, times_carried);
            eliminate(up, reversed(read_row<T, NR, M>(data, m - 1 - j)), times_first, times_carried);
        }
    }
    *lost = m == 0 ? NOTHING_LOST : normalize_both(up, part_of(p, times_first, row_size<T, NR, M>(data, 0)), down, part_of(p, times_last, row_size<T, NR, M>(data, m - 1)));
    return {reversed(up), down};
}

/* The way back needs the pivot rows of the downward elimination. They replace the rows just read: that of unknown j - 1 takes
 * the place of row j, with the coefficients of x[j], x[j+1] and x[0] and its right-hand sides where the row had its own. Rows 0
 * and 1 stay as they are. */

/** reduce_partition, keeping the pivot rows; the first inner unknown comes from row 0, *from_row0, if its coefficient is
 *  relatively larger there than in rows 1 and 2. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> eliminate_partition(pivoting p, T *data, int m, bool *from_row0, int *lost)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    row_of<T, NR> down = identity_row<T, NR>(), up = down;
    T times_last = one_of<T>(), times_first = one_of<T>(), times_carried;
    int size_first = 0, size_last = 0;
    *from_row0 = false;
    if (m > 0) size_first = row_size<T, NR, M>(data, 0), size_last = row_size<T, NR, M>(data, m - 1); /* before rows are overwritten */
    if (m > 2) {
        const row_of<T, NR> row0 = read_row<T, NR, M>(data, 0), row1 = read_row<T, NR, M>(data, 1), row2 = read_row<T, NR, M>(data, 2);
        *from_row0 = exceeds(p, row0.upper, scale_of(p, row0), max(logarithm(row1.diag) - scale_of(p, row1), logarithm(row2.lower) - scale_of(p, row2)));
    }
    weight_of<T> weight = {};
    if (m == M) {
        const auto go_up = [&](int k) { /* counted from the end */
            pieces_of<T, NR, M> rows;
            rows.read(data, tile::PIECES - 1 - k);
#pragma unroll
            for (int i = 0; i < C; i++) {
                const row_of<T, NR> next = reversed(rows.row(C - 1 - i));
                if (k < tile::FIRST && k * C + i < 2) up = next;
                else eliminate(up, next, times_first, times_carried);
            }
        };
        const auto go_down = [&](int k) {
            const int skipped = k < tile::FIRST ? 2 - k * C : 0; /* rows 0 and 1 */
            pieces_of<T, NR, M> rows;
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
                    else any_vanishes = any_vanishes | vanishes(chosen[i].pivot); /* a guard is longer: one question for all of them */
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
        for (int k = tile::FIRST; k < tile::PIECES; k++) go_up(k);
#pragma unroll
        for (int k = 0; k < tile::FIRST; k++) go_down(k);
#pragma unroll 1
        for (int k = tile::FIRST; k < tile::PIECES; k++) go_down(k);
    } else if (m > 0) {
        up = reversed(read_row<T, NR, M>(data, m - 2));
#pragma unroll 1
        for (int j = m - 3; j >= 0; j--) eliminate(up, reversed(read_row<T, NR, M>(data, j)), times_first, times_carried);
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
    *lost = m == 0 ? NOTHING_LOST : normalize_both(up, part_of(p, times_first, size_first), down, part_of(p, times_last, size_last));
    return {reversed(up), down};
}

/** The solution of the partition in place of its right-hand sides. Its second unknown could come from row 0 and from a pivot row. Do these
 *  disagree? Then the inner rows, with the ends known, are nearly singular, and more than that unknown is wrong. */
template <typename T, int NR, int M> __device__ __forceinline__ second_unknown<T, NR> substitute_partition(pivoting p, T *data, int m, const known_of<T, NR> &known, const row_of<T, NR> &row0, bool from_row0)
{
    using tile = tile<T, NR, M>;
    constexpr int C = tile::PIECE;
    using piece = typename tile::piece;
    T next[NR], next2[NR]; /* x[j], x[j+1] */
    T *rhs = data + 3 * tile::ROWS;
    second_unknown<T, NR> second;
    if (m == 0) return second;
    second.from(row0, from_row0, known);
#pragma unroll
    for (int k = 0; k < NR; k++) next[k] = known.last[k], next2[k] = known.after[k];
    if (m == M) {
        const auto substitute_piece = [&](int k) {
            pieces_of<T, NR, M> pivots;
            piece x[NR];
            pivots.read(data, k);
#pragma unroll
            for (int i = C - 1; i >= 0; i--) {
                const int j = k * C + i; /* x[j] is known, x[j-1] follows from the pivot row at j */
                const row_of<T, NR> pivot = pivots.row(i);
                if (k < tile::FIRST && j == 1) second.choose(p, next);
#pragma unroll
                for (int r = 0; r < NR; r++) {
                    x[r].v[i] = k < tile::FIRST && j == 0 ? known.first[r] : next[r];
                    const T value = pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                    next2[r] = next[r], next[r] = value;
                }
            }
#pragma unroll
            for (int r = 0; r < NR; r++) *(piece *)(rhs + r * tile::ROWS + tile::piece_slot(k)) = x[r];
        };
#pragma unroll 1
        for (int k = tile::PIECES - 1; k >= tile::FIRST; k--) substitute_piece(k);
#pragma unroll
        for (int k = tile::FIRST - 1; k >= 0; k--) substitute_piece(k);
    } else {
#pragma unroll 1
        for (int j = m - 1; j >= 2; j--) {
            const row_of<T, NR> pivot = read_row<T, NR, M>(data, j);
#pragma unroll
            for (int r = 0; r < NR; r++) {
                const T value = pivot.rhs[r] - pivot.upper * known.first[r] - pivot.diag * next2[r] - pivot.lower * next[r];
                rhs[r * tile::ROWS + tile::row_slot(j)] = next[r];
                next2[r] = next[r], next[r] = value;
            }
        }
        if (m > 2) second.choose(p, next);
#pragma unroll
        for (int r = 0; r < NR; r++) rhs[r * tile::ROWS + tile::row_slot(0)] = known.first[r], rhs[r * tile::ROWS + tile::row_slot(1)] = next[r];
    }
    return second;
}

/* --------------------------------------------------------------------- the tile */

/** The two rows that are left of the tile at `row`, in all lanes. *lost: these do not tell all, since rows of a partition, or of a union of some,
 *  are nearly the same; rpts/wide.cuh. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> reduce_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row, bool *lost)
{
    int by_partition, by_union;
    const rows_of<T, NR> mine = reduce_partition<T, NR, M>(p, t.data, lane_rows<T, NR, M>(n, row), &by_partition), left = join_lanes(p, mine, WARP, &by_union);
    *lost = is_any_lost<real_of<T>>(p, by_partition, by_union);
    return left;
}

/** What the way back from a tile's two rows needs besides the pivot rows in the tile. */
template <typename T, int NR> struct way_back {
    rows_of<T, NR> mine;   /* of the lane's partition */
    row_of<T, NR> row0;    /* its first row */
    joint_of<T, NR> joint; /* behind it: find_joints */
    int rows, lost;        /* lost by that partition */
    bool from_row0;
};

/** What is left of a union of partitions, its first row reversed. The union of the halves that meet behind partition i stands where
 *  rows 0 and 1 of partition i were: two numbers in each array. */
template <typename T, int NR, int M> __device__ __forceinline__ T *union_slot(const tile<T, NR, M> &t, int i, int number)
{
    using tile = tile<T, NR, M>;
    return t.array(number / 2) + i * M + (number % 2 / tile::PIECE ^ tile::twist(i)) * tile::PIECE + number % 2 % tile::PIECE;
}
template <typename T, int NR, int M> constexpr bool IN_PAIRS = NR % 2 == 1 && tile<T, NR, M>::PIECE >= 2;
template <typename T> struct alignas(2 * sizeof(T)) pair_of { T v[2]; };

template <typename T, int NR, int M> __device__ __forceinline__ void put_union(const tile<T, NR, M> &t, int i, bool last, const row_of<T, NR> &row)
{
    T v[4 + NR] = {row.lower, row.diag, row.upper};
#pragma unroll
    for (int k = 0; k < NR; k++) v[3 + k] = row.rhs[k];
    if constexpr (IN_PAIRS<T, NR, M>) {
        T *to = union_slot(t, i, last ? 3 + NR : 0);
#pragma unroll
        for (int k = 0; k < 3 + NR; k += 2) *(pair_of<T> *)(to + k / 2 * tile<T, NR, M>::ROWS) = {v[k], v[k + 1]};
    } else {
#pragma unroll
        for (int k = 0; k < 3 + NR; k++) *union_slot(t, i, last ? 3 + NR + k : k) = v[k];
    }
}
template <typename T, int NR, int M> __device__ __forceinline__ row_of<T, NR> get_union(const tile<T, NR, M> &t, int i, bool last)
{
    T v[4 + NR];
    if constexpr (IN_PAIRS<T, NR, M>) {
        const T *from = union_slot(t, i, last ? 3 + NR : 0);
#pragma unroll
        for (int k = 0; k < 3 + NR; k += 2) {
            const pair_of<T> pair = *(const pair_of<T> *)(from + k / 2 * tile<T, NR, M>::ROWS);
            v[k] = pair.v[0], v[k + 1] = pair.v[1];
        }
    } else {
#pragma unroll
        for (int k = 0; k < 3 + NR; k++) v[k] = *union_slot(t, i, last ? 3 + NR + k : k);
    }
    row_of<T, NR> row = {v[0], v[1], v[2]};
#pragma unroll
    for (int k = 0; k < NR; k++) row.rhs[k] = v[3 + k];
    return row;
}

/** The same as reduce_tile, keeping the pivot rows and the unions in the tile. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR> eliminate_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row, way_back<T, NR> &back, bool *lost)
{
    const int lane = threadIdx.x % WARP;
    back.rows = lane_rows<T, NR, M>(n, row);
    back.row0 = read_row<T, NR, M>(t.data, 0);
    back.mine = eliminate_partition<T, NR, M>(p, t.data, back.rows, &back.from_row0, &back.lost);
    bool second = lane & 1, is_any_cut = false;
    row_of<T, NR> half_row = either(second, back.mine.last, reversed(back.mine.first)); /* outer row, as in join_lanes */
    row_of<T, NR> meeting = either(second, back.mine.first, reversed(back.mine.last));
    row_of<T, NR> row_left = shuffle_from(reversed(meeting), lane ^ 1);
    __syncwarp();
#pragma unroll(NR == 1 ? 5 : 1)
    for (int bit = 1; bit < WARP; bit *= 2) {
        T times_row, times_carried;
        eliminate<true>(row_left, meeting);
        eliminate<true, MOST_GROWTH>(row_left, half_row, times_row, times_carried);
        is_any_cut = is_any_cut | is_cut(times_row);
        if ((lane & (bit - 1)) == 0) put_union(t, lane & ~(2 * bit - 1) | (bit - 1), second, row_left);
        __syncwarp();
        if (bit == WARP / 2) break;
        second = lane & 2 * bit;
        const int half = lane & ~(2 * bit - 1) | (bit - 1);
        row_left = get_union(t, half ^ 2 * bit, second), meeting = reversed(get_union(t, half, !second)), half_row = get_union(t, half, second);
    }
    int by_union = NOTHING_LOST;
    if (lane < WARP - 1) by_union = lost_by_union<real_of<T>>(largest_logarithm(get_union(t, lane, false)), largest_logarithm(get_union(t, lane, true)));
    *lost = is_any_lost<real_of<T>>(p, back.lost, is_any_cut ? ALL_LOST : by_union);
    return {reversed(shuffle_from(row_left, 0)), shuffle_from(row_left, WARP / 2)};
}
/** Lane i finds the unknowns behind partition i, whatever the level of the union they are removed in. */
template <typename T, int NR, int M> __device__ __forceinline__ void find_joints(pivoting p, const tile<T, NR, M> &t, way_back<T, NR> &back)
{
    const int lane = min(threadIdx.x % WARP, WARP - 2), distance = (lane + 1 & -(lane + 1)) / 2;
    rows_of<T, NR> A = back.mine, B = {shuffle_from(back.mine.first, lane + 1), shuffle_from(back.mine.last, lane + 1)};
    if (distance) {
        A = {reversed(get_union(t, lane - distance, false)), get_union(t, lane - distance, true)};
        B = {reversed(get_union(t, lane + distance, false)), get_union(t, lane + distance, true)};
    }
    back.joint = find_joint(p, A, B);
    __syncwarp();
}
/** What a lane keeps of a tile that is eliminated carefully: the meeting behind its partition; are its own rows eliminated carefully, and how. */
template <typename T, int NR, int M> struct careful_tile {
    wide_meeting<T, NR> meeting;
    bool again;
    T elimination[M][4 + NR];
};
/** Of a tile that eliminate_tile has lost: what is left of it, in all lanes. all: every lane starts from its rows, not only those that have lost. */
template <typename T, int NR, int M>
__device__ __forceinline__ wide_union<T, NR> join_tile_carefully(const tiled_solve<T> &s, const lane_range<T> &range, bool all, careful_tile<T, NR, M> &kept, way_back<T, NR> &back)
{
    const rows_of<T, NR> mine = back.mine;
    if (all) back.lost = ALL_LOST;
    kept.again = is_suspect<real_of<T>>(strict(s.p), back.lost);
    return join_carefully(s.A, s.D, range, kept.again ? nullptr : &mine, kept.elimination, kept.meeting);
}
/** The lane's partition carefully, from the elimination of its rows to the solution in the tile. */
template <typename T, int NR, int M> __device__ inline void substitute_carefully(const system_of<T> &A, T *data, const lane_range<T> &range, const T (*elimination)[4 + NR], const known_of<T, NR> &known)
{
    using tile = tile<T, NR, M>;
    substitute_lane<T, NR>(A, range, elimination, known, [&](int i, int k, T value) { data[(3 + k) * tile::ROWS + tile::row_slot(i)] = value; });
}
/** ... from the system, where the equations of the second unknown disagree; by the warp. */
template <typename T, int NR, int M> __device__ __noinline__ void look_at_partition(const tiled_solve<T> &s, pivoting p, T *data, lane_range<T> range, known_of<T, NR> known, second_unknown<T, NR> second)
{
    T elimination[M][4 + NR];
    agreement agrees = AGREE;
    if (second.apart != AGREE) {
        T single[3];
        row_of<T, NR> row0;
        read_single(s.A, s.D, range, range.start, single, row0.rhs);
        row0.lower = single[0], row0.diag = single[1], row0.upper = single[2];
        const row_of<T, NR> x0 = read_row<T, NR, M>(data, 0), pivot = read_row<T, NR, M>(data, 2), x3 = read_row<T, NR, M>(data, 3);
        agrees = second.look(p, row0, pivot, x0.rhs, pivot.rhs, x3.rhs);
    }
    __syncwarp();
    if (!is_apart(agrees)) return;
    reduce_lane<T, NR>(s.A, s.D, range, elimination);
    substitute_carefully<T, NR, M>(s.A, data, range, elimination, known);
}
/** The solution in place of the right-hand sides first .. first + count - 1 of the tile at `row`. */
template <typename T, int NR, int M>
__device__ __forceinline__ void substitute_tile(const tiled_solve<T> &s, const tile<T, NR, M> &t, int64_t row, int64_t first, int count, const way_back<T, NR> &back, known_of<T, NR> known)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll(NR == 1 ? 5 : 1)
    for (int bit = WARP / 2; bit >= 1; bit /= 2) {
        const int middle = lane & ~(2 * bit - 1) | (bit - 1);
        T left[NR], right[NR];
        meet_right(back.joint, known, right), meet_left(back.joint, known, right, left);
#pragma unroll
        for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], middle), right[k] = shuffle_from(right[k], middle);
        narrow(known, lane & bit, left, right);
    }
    const second_unknown<T, NR> second = substitute_partition<T, NR, M>(s.p, t.data, back.rows, known, back.row0, back.from_row0);
    if (__builtin_expect(is_any_apart(second.apart), 0)) look_at_partition<T, NR, M>(s, s.p, t.data, {row + lane * M, back.rows, first, count}, known, second);
}
/** ... of a tile whose unions join_tile_carefully has joined. */
template <typename T, int NR, int M>
__device__ __noinline__ void substitute_tile_carefully(const tiled_solve<T> &s, const tile<T, NR, M> t, lane_range<T> range, way_back<T, NR> back, known_of<T, NR> known, const careful_tile<T, NR, M> &kept)
{
    split_unions(back.rows > 0, kept.meeting, known);
    second_unknown<T, NR> second;
    if (kept.again) substitute_carefully<T, NR, M>(s.A, t.data, range, kept.elimination, known);
    else second = substitute_partition<T, NR, M>(strict(s.p), t.data, back.rows, known, back.row0, back.from_row0);
    __syncwarp();
    look_at_partition<T, NR, M>(s, strict(s.p), t.data, range, known, second);
}

#endif
