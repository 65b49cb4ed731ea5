/* The tile of a warp: 32 neighbouring partitions of M rows in shared memory (gtsv/cuda/tile_memory.cuh), a lane a
 * partition (gtsv/cuda/tile_partition.cuh).
 *
 *   load_tile        rows from global memory, coalesced
 *   reduce_tile every lane eliminates the inner rows of its partition, downwards and upwards at once; then pairs of
 *                    partitions are joined, five times, until two rows are left for the whole tile
 *   eliminate_tile the same, and the pivot rows of the downward elimination replace the rows; unions of partitions are
 *   kept
 *   find_interfaces the unknowns between partitions from those at the ends of unions, which only back substitution
 *   needs
 *   substitute_tile  back substitution, from the unknowns at the ends of the tile to every row
 *   store_tile       the solution, coalesced (add_tile: added to something) */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_WARP_TILE_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_WARP_TILE_CUH

#include "tridiagonal/gtsv/cuda/careful_partition.cuh"
#include "tridiagonal/gtsv/cuda/tile_partition.cuh"
#include "tridiagonal/gtsv/cuda/wide_warp.cuh"

/** The two rows that are left of the tile at `row`, in all lanes. *lost: these do not tell all, since rows of a
 *  partition, or of a union of some, are nearly the same; gtsv/cuda/wide_warp.cuh. */
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR>
reduce_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row, bool *lost)
{
    int by_partition, by_union;
    const rows_of<T, NR> mine = reduce_partition<T, NR, M>(p, t.data, lane_rows<T, NR, M>(n, row), &by_partition),
                         left = join_lanes(p, mine, WARP, &by_union);
    *lost = is_any_lost<real_of<T>>(p, by_partition, by_union);
    return left;
}

/** What back substitution from a tile's two rows needs besides the pivot rows in the tile. */
template <typename T, int NR> struct substitution_of {
    rows_of<T, NR> mine;           /* of the lane's partition */
    row_of<T, NR> row0;            /* its first row */
    interface_of<T, NR> interface; /* behind it: find_interfaces */
    int rows, lost;                /* lost by that partition */
    bool from_row0;
};

/** What is left of a union of partitions, its first row reversed. The union of the halves that meet behind partition
 *  i stands where rows 0 and 1 of partition i were: two numbers in each array. */
template <typename T, int NR, int M> __device__ __forceinline__ T *union_slot(const tile<T, NR, M> &t, int i,
                                                                              int number)
{
    using tile = tile<T, NR, M>;
    return t.array(number / 2) + i * M + (number % 2 / tile::PER_VECTOR ^ tile::swizzle(i)) * tile::PER_VECTOR +
           number % 2 % tile::PER_VECTOR;
}
template <typename T, int NR, int M> constexpr bool IN_PAIRS = NR % 2 == 1 && tile<T, NR, M>::PER_VECTOR >= 2;
template <typename T> struct alignas(2 * sizeof(T)) pair_of { T v[2]; };

template <typename T, int NR, int M> __device__ __forceinline__ void put_union(const tile<T, NR, M> &t, int i,
                                                                               bool last, const row_of<T, NR> &row)
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
template <typename T, int NR, int M> __device__ __forceinline__ row_of<T, NR> get_union(const tile<T, NR, M> &t, int i,
                                                                                        bool last)
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
template <typename T, int NR, int M> __device__ __forceinline__ rows_of<T, NR>
eliminate_tile(pivoting p, const tile<T, NR, M> &t, int64_t n, int64_t row, substitution_of<T, NR> &back, bool *lost)
{
    const int lane = threadIdx.x % WARP;
    back.rows = lane_rows<T, NR, M>(n, row);
    back.row0 = read_row<T, NR, M>(t.data, 0);
    back.mine = eliminate_partition<T, NR, M>(p, t.data, back.rows, &back.from_row0, &back.lost);
    bool second = lane & 1, is_any_cut = false;
    /* outer row, as in join_lanes */
    row_of<T, NR> half_row = either(second, back.mine.last, reversed(back.mine.first));
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
        row_left = get_union(t, half ^ 2 * bit, second), meeting = reversed(get_union(t, half, !second)),
        half_row = get_union(t, half, second);
    }
    int by_union = NOTHING_LOST;
    if (lane < WARP - 1)
        by_union = lost_by_union<real_of<T>>(largest_logarithm(get_union(t, lane, false)),
                                             largest_logarithm(get_union(t, lane, true)));
    *lost = is_any_lost<real_of<T>>(p, back.lost, is_any_cut ? ALL_LOST : by_union);
    return {reversed(shuffle_from(row_left, 0)), shuffle_from(row_left, WARP / 2)};
}
/** Lane i finds the unknowns behind partition i, whatever the level of the union they are removed in. */
template <typename T, int NR, int M> __device__ __forceinline__ void
find_interfaces(pivoting p, const tile<T, NR, M> &t, substitution_of<T, NR> &back)
{
    const int lane = min(threadIdx.x % WARP, WARP - 2), distance = (lane + 1 & -(lane + 1)) / 2;
    rows_of<T, NR> A = back.mine, B = {shuffle_from(back.mine.first, lane + 1), shuffle_from(back.mine.last, lane + 1)};
    if (distance) {
        A = {reversed(get_union(t, lane - distance, false)), get_union(t, lane - distance, true)};
        B = {reversed(get_union(t, lane + distance, false)), get_union(t, lane + distance, true)};
    }
    back.interface = find_interface(p, A, B);
    __syncwarp();
}
/** Of a tile that eliminate_tile has lost: what is left of it, in all lanes. all: every lane starts from its rows,
 *  not only those that have lost. */
template <typename T, int NR, int M, bool P> __device__ __forceinline__ wide_union<T, NR>
join_tile_carefully(const gtsv_solve<T, P> &s, const lane_range<T> &range, bool all, careful_lane<T, NR, M> &kept,
                    substitution_of<T, NR> &back)
{
    if (all) back.lost = ALL_LOST;
    kept.again = is_suspect<real_of<T>>(strict(s.p), back.lost);
    return join_lanes_carefully<T, NR, M>(s, range, back.mine, kept);
}
/** The lane's partition carefully, from the elimination of its rows to the solution in the tile. */
template <typename T, int NR, int M> __device__ inline void substitute_carefully(const system_of<T> &A, T *data,
                                                                                 const lane_range<T> &range,
                                                                                 const T (*elimination)[4 + NR],
                                                                                 const known_of<T, NR> &known)
{
    using tile = tile<T, NR, M>;
    substitute_lane<T, NR>(A, range, elimination, known,
                           [&](int i, int k, T value) { data[(3 + k) * tile::ROWS + tile::row_slot(i)] = value; });
}
/** ... from the system, where the equations of the second unknown disagree; by the warp. */
template <typename T, int NR, int M, bool P>
__device__ __noinline__ void look_at_partition(const gtsv_solve<T, P> &s, pivoting p, T *data, lane_range<T> range,
                                               known_of<T, NR> known, second_unknown<T, NR> second)
{
    T elimination[M][4 + NR];
    shared_leaves<T, NR, M> shared;
    agreement agrees = AGREE;
    if (second.apart != AGREE) {
        T single[3];
        row_of<T, NR> row0;
        read_single(s.A, s.D, range, range.start, single, row0.rhs);
        row0.lower = single[0], row0.diag = single[1], row0.upper = single[2];
        const row_of<T, NR> x0 = read_row<T, NR, M>(data, 0), pivot = read_row<T, NR, M>(data, 2),
                            x3 = read_row<T, NR, M>(data, 3);
        agrees = second.look(p, row0, pivot, x0.rhs, pivot.rhs, x3.rhs);
    }
    __syncwarp();
    const bool again = is_apart(agrees) && range.rows > 0;
    if (!__any_sync(~0u, again)) return;
    if (shared.take(again, range.rows)) {
        shared.join(s.A, s.D, range);
        shared.substitute(data, known);
    } else if (again) {
        reduce_lane<T, NR>(s.A, s.D, range, elimination);
        substitute_carefully<T, NR, M>(s.A, data, range, elimination, known);
    }
}
/** The solution in place of the right-hand sides first .. first + count - 1 of the tile at `row`. */
template <typename T, int NR, int M, bool P>
__device__ __forceinline__ void substitute_tile(const gtsv_solve<T, P> &s, const tile<T, NR, M> &t, int64_t row,
                                                int64_t first, int count, const substitution_of<T, NR> &back,
                                                known_of<T, NR> known)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll(NR == 1 ? 5 : 1)
    for (int bit = WARP / 2; bit >= 1; bit /= 2) {
        const int middle = lane & ~(2 * bit - 1) | (bit - 1);
        T left[NR], right[NR];
        meet_right(back.interface, known, right), meet_left(back.interface, known, right, left);
#pragma unroll
        for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], middle), right[k] = shuffle_from(right[k], middle);
        narrow(known, lane & bit, left, right);
    }
    const second_unknown<T, NR> second =
        substitute_partition<T, NR, M>(s.p, t.data, back.rows, known, back.row0, back.from_row0);
    if (__builtin_expect(is_any_apart(second.apart), 0))
        look_at_partition<T, NR, M>(s, s.p, t.data, {row + lane * M, back.rows, first, count}, known, second);
}
/** ... of a tile whose unions join_tile_carefully has joined. */
template <typename T, int NR, int M, bool P>
__device__ __noinline__ void substitute_tile_carefully(const gtsv_solve<T, P> &s, const tile<T, NR, M> t,
                                                       lane_range<T> range, substitution_of<T, NR> back,
                                                       known_of<T, NR> known, const careful_lane<T, NR, M> &kept)
{
    split_unions(back.rows > 0, kept.meeting, known, WARP);
    second_unknown<T, NR> second;
    if (kept.shared.any()) kept.shared.substitute(t.data, known);
    if (kept.again) {
        if (!kept.shared.any()) substitute_carefully<T, NR, M>(s.A, t.data, range, kept.elimination, known);
    } else second = substitute_partition<T, NR, M>(strict(s.p), t.data, back.rows, known, back.row0, back.from_row0);
    __syncwarp();
    look_at_partition<T, NR, M>(s, strict(s.p), t.data, range, known, second);
}

#endif
