/* What a warp does where its rows, or those of a union of partitions, would not fit a tridiagonal system to working
 * precision (common/wide_rows.h): everything once more, from the rows themselves, by eliminations in which all rows
 * compete. Every lane goes through its rows; then unions are joined as elsewhere, with four coefficients a row. Rare
 * and slow, and out of the way of the fast code: functions of their own. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_WIDE_WARP_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_WIDE_WARP_CUH

#include "tridiagonal/gtsv/cuda/warp_join.cuh"
#include "tridiagonal/gtsv/cuda/scalar_partition.cuh"
#include "tridiagonal/gtsv/cuda/row_elimination.cuh"
#include "tridiagonal/common/system.cuh"
#include "tridiagonal/gtsv/cuda/interface_tree.cuh"

/** What is left of some partitions. */
template <typename T, int NR> struct wide_union {
    wide_pair<T> pair;
    T rhs[2][NR];
    bool there;
};
/** The two unknowns where two unions meet: rhs - known (x[before], x[first], x[last], x[after]). */
template <typename T, int NR> struct wide_meeting { T known[2][4], rhs[2][NR]; };

template <typename T, int NR> __device__ inline T from_known(const T (&c)[4], const known_of<T, NR> &known, int k)
{
    return c[0] * known.before[k] + c[1] * known.first[k] + c[2] * known.last[k] + c[3] * known.after[k];
}

template <typename T, int NR> __device__ inline wide_union<T, NR> shuffle_from(const wide_union<T, NR> &u, int lane)
{
    wide_union<T, NR> v;
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 4; k++) v.pair.c[r][k] = shuffle_from(u.pair.c[r][k], lane);
        for (int k = 0; k < NR; k++) v.rhs[r][k] = shuffle_from(u.rhs[r][k], lane);
    }
    v.there = __shfl_sync(~0u, u.there, lane);
    return v;
}

/** A := the union of A and ROWS - 2 rows that follow it, right-hand sides rhs. */
template <int ROWS, typename T, int NR> __device__ __forceinline__ void
join(wide_union<T, NR> &A, const T (*added)[4], const T (&rhs)[2][NR], wide_meeting<T, NR> &meeting)
{
    wide_elimination<T> elimination = {};
    wide_eliminate(&A.pair, ROWS, added, &elimination);
    for (int u = 0; u < 2; u++)
        for (int k = 0; k < 4; k++) meeting.known[u][k] = elimination.known[u][k];
    for (int k = 0; k < NR; k++) {
        T values[4] = {A.rhs[0][k], A.rhs[1][k], rhs[0][k], rhs[1][k]}, eliminated[2];
        wide_eliminate_rhs(&elimination, ROWS, values, eliminated);
        A.rhs[0][k] = values[0], A.rhs[1][k] = values[1];
        meeting.rhs[0][k] = eliminated[0], meeting.rhs[1][k] = eliminated[1];
    }
}

/** Rows of a system as a lane takes them: `rows` of them from `start` on, right-hand sides first .. first + count -
 *  1 (count 0: they are zero). */
template <typename T> struct lane_range {
    int64_t start;
    int rows;
    int64_t first;
    int count;
};

/** Row i of the system over its own unknown and its neighbours'; rows behind the end are the identity's. */
template <typename T, int NR, bool P>
__device__ inline void read_single(const system_of<T> &A, given_columns<T, P> D, const lane_range<T> &range, int64_t i,
                                   T (&c)[3], T (&rhs)[NR])
{
    const bool there = i < A.n;
    c[0] = there ? lower_of(A, i) : T{}, c[1] = there ? diag_of(A, i) : one_of<T>(),
    c[2] = there ? upper_of(A, i) : T{};
    for (int k = 0; k < NR; k++) rhs[k] = there && k < range.count ? right_hand_side(A, D, i, range.first + k) : T{};
}
/** Rows i and i + 1, a pair. */
template <typename T, int NR, bool P>
__device__ inline void read_pair(const system_of<T> &A, given_columns<T, P> D, const lane_range<T> &range, int64_t i,
                                 T (&c)[2][4], T (&rhs)[2][NR])
{
    T first[3], second[3];
    read_single(A, D, range, i, first, rhs[0]), read_single(A, D, range, i + 1, second, rhs[1]);
    const bool wide = i < A.wide_rows;
    c[0][0] = first[0], c[0][1] = first[1], c[0][2] = first[2], c[0][3] = wide ? A.extra[i] : T{};
    c[1][0] = wide ? A.extra[i + 1] : T{}, c[1][1] = second[0], c[1][2] = second[1], c[1][3] = second[2];
}

/** Scale a row by a power of two, so that its largest coefficient is near 1: reciprocals are of normal numbers then. */
template <typename T, int NR> __device__ inline void scale_row(T (&c)[4], T (&rhs)[NR])
{
    const real_of<T> g = balance<real_of<T>>(max(largest_logarithm(c[0], c[1], c[2]), logarithm(c[3])));
    for (int k = 0; k < 4; k++) c[k] = scaled(c[k], g);
    for (int k = 0; k < NR; k++) rhs[k] = scaled(rhs[k], g);
}
/** What is added to a union: a pair of rows, or a single one. */
template <typename T, int NR> struct added_rows {
    T c[2][4], rhs[2][NR];
    bool pair;
};
template <typename T, int NR, bool P> __device__ inline added_rows<T, NR>
read_added(const system_of<T> &A, given_columns<T, P> D, const lane_range<T> &range, int i)
{
    added_rows<T, NR> added = {};
    added.pair = range.start + i < A.wide_rows;
    if (i >= range.rows) return added;
    if (added.pair) read_pair(A, D, range, range.start + i, added.c, added.rhs);
    else {
        T single[3];
        read_single(A, D, range, range.start + i, single, added.rhs[0]);
        added.c[0][0] = single[0], added.c[0][1] = single[1], added.c[0][2] = single[2];
    }
    return added;
}

/** The lane's rows without all unknowns but the first and the last one. back, unless NULL: known and right-hand
 *  sides of unknown i, 0 < i < rows - 1. */
template <typename T, int NR, bool P>
__device__ __noinline__ wide_union<T, NR> reduce_lane(const system_of<T> &A, given_columns<T, P> D, lane_range<T> range,
                                                      T (*back)[4 + NR])
{
    wide_union<T, NR> left = {};
    left.there = range.rows > 0;
    if (!left.there) return left;
    read_pair(A, D, range, range.start, left.pair.c, left.rhs);
    added_rows<T, NR> next = read_added<T, NR>(A, D, range, 2);
    scale_row(left.pair.c[0], left.rhs[0]), scale_row(left.pair.c[1], left.rhs[1]);
#pragma unroll 1
    for (int i = 2; i < range.rows;) {
        wide_meeting<T, NR> meeting;
        added_rows<T, NR> now = next;
        next = read_added<T, NR>(A, D, range, i + 1 + now.pair); /* on its way in the meantime */
        scale_row(now.c[0], now.rhs[0]);
        if (now.pair) scale_row(now.c[1], now.rhs[1]), join<4>(left, now.c, now.rhs, meeting);
        else join<3>(left, now.c, now.rhs, meeting);
        for (int u = 0; back && u <= now.pair; u++) {
            for (int k = 0; k < 4; k++) back[i - 1 + u][k] = meeting.known[u][k];
            for (int k = 0; k < NR; k++) back[i - 1 + u][4 + k] = meeting.rhs[u][k];
        }
        i += now.pair ? 2 : 1;
    }
    return left;
}

/** The solution of the lane's rows from the unknowns at its ends and its neighbours': write(i, k, value). */
template <typename T, int NR, typename Write>
__device__ inline void substitute_lane(const system_of<T> &A, const lane_range<T> &range, const T (*back)[4 + NR],
                                       known_of<T, NR> known, const Write &write)
{
    const auto unknown = [&](int i, int k) {
        const T c[4] = {back[i][0], back[i][1], back[i][2], back[i][3]};
        return back[i][4 + k] - from_known(c, known, k);
    };
    if (range.rows == 0) return;
    for (int i = range.rows - 1; i > 1;) { /* x[i] is known.last */
        const bool pair = range.start + i < A.wide_rows;
        for (int k = 0; k < NR; k++) {
            const T before = unknown(i - 1, k), last = pair ? unknown(i - 2, k) : before;
            write(i, k, known.last[k]);
            if (pair) write(i - 1, k, before);
            known.after[k] = pair ? before : known.last[k], known.last[k] = last;
        }
        i -= pair ? 2 : 1;
    }
    for (int k = 0; k < NR; k++) write(1, k, known.last[k]), write(0, k, known.first[k]);
}

/** The unions of every `lanes` neighbouring lanes' ones, in all of these; lanes that have nothing come last. Lane i
 *  keeps the meeting behind it. */
template <typename T, int NR> __device__ __noinline__ wide_union<T, NR>
join_unions(wide_union<T, NR> mine, wide_meeting<T, NR> &meeting, int lanes)
{
    const int lane = threadIdx.x % WARP;
    meeting = {};
#pragma unroll 1
    for (int bit = 1; bit < lanes; bit *= 2) {
        const bool second = lane & bit;
        const wide_union<T, NR> other = shuffle_from(mine, lane ^ bit), B = second ? mine : other;
        wide_union<T, NR> A = second ? other : mine;
        wide_meeting<T, NR> here = {};
        if (B.there) join<4>(A, B.pair.c, B.rhs, here);
        if ((lane & (2 * bit - 1)) == bit - 1) meeting = here;
        mine = A;
    }
    return mine;
}
/** From the known unknowns of the lanes' union to the lane's own. */
template <typename T, int NR> __device__ inline void split_unions(bool there, const wide_meeting<T, NR> &meeting,
                                                                  known_of<T, NR> &known, int lanes)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int bit = lanes / 2; bit >= 1; bit /= 2) {
        const int middle = (lane & ~(2 * bit - 1)) | (bit - 1);
        T left[NR], right[NR];
        for (int k = 0; k < NR; k++)
            left[k] = meeting.rhs[0][k] - from_known(meeting.known[0], known, k),
            right[k] = meeting.rhs[1][k] - from_known(meeting.known[1], known, k);
        for (int k = 0; k < NR; k++) left[k] = shuffle_from(left[k], middle), right[k] = shuffle_from(right[k], middle);
        if (__shfl_sync(~0u, there, middle + 1)) narrow(known, lane & bit, left, right);
    }
}

/** Two tridiagonal rows that are left of a partition, if there is one. */
template <typename T, int NR> __device__ inline wide_union<T, NR> union_of(const rows_of<T, NR> &left, bool there)
{
    wide_union<T, NR> u = {};
    u.there = there;
    u.pair.c[0][0] = left.first.lower, u.pair.c[0][1] = left.first.diag, u.pair.c[0][2] = left.first.upper;
    u.pair.c[1][1] = left.last.lower, u.pair.c[1][2] = left.last.diag, u.pair.c[1][3] = left.last.upper;
    for (int k = 0; k < NR; k++) u.rhs[0][k] = left.first.rhs[k], u.rhs[1][k] = left.last.rhs[k];
    return u;
}
/** What is left of the warp's rows, from what is left of the lane's ones, tridiagonal, or from these themselves,
 *  where `leaf` is NULL; back: as for reduce_lane. Lane i keeps the meeting behind it, for split_carefully. */
template <typename T, int NR, bool P> __device__ __noinline__ wide_union<T, NR>
join_carefully(const system_of<T> &A, given_columns<T, P> D, lane_range<T> range, const rows_of<T, NR> *leaf,
               T (*back)[4 + NR], wide_meeting<T, NR> &meeting)
{
    const wide_union<T, NR> mine = leaf ? union_of(*leaf, range.rows > 0) : reduce_lane<T, NR>(A, D, range, back);
    __syncwarp();
    return join_unions(mine, meeting, WARP);
}
/** (Values: what a call takes by reference would be in memory everywhere else too.) */
template <typename T, int NR> __device__ __noinline__ known_of<T, NR>
split_carefully(bool there, const wide_meeting<T, NR> &meeting, known_of<T, NR> known)
{
    split_unions(there, meeting, known, WARP);
    return known;
}

/** What is left of the warp's rows. */
template <typename T, int NR, bool P> __device__ inline wide_union<T, NR>
reduce_carefully(const system_of<T> &A, given_columns<T, P> D, const lane_range<T> &range)
{
    wide_meeting<T, NR> meeting;
    return join_carefully<T, NR>(A, D, range, nullptr, nullptr, meeting);
}

/** The solution of the warp's rows, at most MOST a lane, to X. D may be X. */
template <typename T, int NR, int MOST, bool P>
__device__ __noinline__ void solve_carefully(const system_of<T> &A, given_columns<T, P> D, columns_of<T, P> X,
                                             lane_range<T> range, int columns, known_of<T, NR> known)
{
    T back[MOST][4 + NR];
    wide_meeting<T, NR> meeting;
    const wide_union<T, NR> mine = reduce_lane<T, NR>(A, D, range, back);
    __syncwarp();
    join_unions(mine, meeting, WARP);
    split_unions(mine.there, meeting, known, WARP);
    substitute_lane<T, NR>(A, range, back, known, [&](int i, int k, T value) {
        if (range.start + i >= A.n || k >= columns) return;
        X.put(range.start + i, range.first + k, with_guess(D, range.start + i, range.first + k, value));
    });
}

/** The unknowns at the ends of a system of which this is left. */
template <typename T, int NR> __device__ inline known_of<T, NR> close_carefully(const wide_union<T, NR> &all,
                                                                                bool cyclic)
{
    known_of<T, NR> known = {};
    wide_elimination<T> elimination = {};
    wide_close(&all.pair, cyclic, &elimination);
    for (int k = 0; k < NR; k++) {
        T values[4] = {T{}, T{}, all.rhs[0][k], all.rhs[1][k]}, ends[2];
        wide_eliminate_rhs(&elimination, 4, values, ends);
        known.first[k] = ends[0], known.last[k] = ends[1];
        if (cyclic) known.before[k] = ends[1], known.after[k] = ends[0];
    }
    return known;
}

/** Rows that fit a tridiagonal system and are not similar at all, if there are such: else false, and the union stays
 *  as it is. A far coefficient that may be all rounding error is zero: a union whose ends do not depend on each
 *  other shows it. */
template <typename T, int NR> __device__ inline bool fit_tridiagonal(wide_union<T, NR> &u)
{
    T times[2][2];
    if (!wide_to_tridiagonal(&u.pair, real_of<T>(0.125), times)) return false;
    for (int k = 0; k < NR; k++) {
        const T a = u.rhs[0][k], b = u.rhs[1][k];
        u.rhs[0][k] = times[0][0] * a + times[0][1] * b, u.rhs[1][k] = times[1][0] * a + times[1][1] * b;
    }
    using L = layout_of<real_of<T>>;
    for (int r = 0; r < 2; r++)
        if (logarithm(u.pair.c[r][2 - r]) <
            largest_logarithm(u.pair.c[r][2 * r], u.pair.c[r][1 + r]) - (L::MANTISSA - 3) * L::STEP)
            u.pair.c[r][2 - r] = T{};
    return true;
}
/** Those, or of wide rows all but the fourth coefficients. */
template <typename T, int NR> __device__ inline rows_of<T, NR> tridiagonal_rows(const wide_union<T, NR> &u, bool fits)
{
    rows_of<T, NR> rows = {{u.pair.c[0][0], u.pair.c[0][1], u.pair.c[0][2]},
                           {u.pair.c[1][1], u.pair.c[1][2], u.pair.c[1][3]}};
    for (int k = 0; k < NR; k++) rows.first.rhs[k] = u.rhs[0][k], rows.last.rhs[k] = u.rhs[1][k];
    if (fits)
        normalize(rows.first, largest_logarithm(rows.first), largest_logarithm(rows.first)),
            normalize(rows.last, largest_logarithm(rows.last), largest_logarithm(rows.last));
    return rows;
}

/** Has one of the rows start .. start + rows - 1 a fourth coefficient? For all lanes together, each with rows of its
 *  own. */
template <typename T> __device__ inline bool has_wide_rows(const system_of<T> &A, int64_t start, int rows)
{
    bool wide = false;
    for (int i = 0; i < rows && start + i < A.wide_rows; i++) wide = wide | !(size_of(A.extra[start + i]) == 0);
    return __any_sync(~0u, wide);
}

/** A mark in the rows of a partition: it is wide, so that whoever solves with them starts again, carefully. It
 *  spreads to all unions. */
template <typename T> __device__ inline T wide_mark()
{
    using R = real_of<T>;
    return of_real<T>(sizeof(R) == 4 ? R(__int_as_float(0x7fffffff)) : R(__longlong_as_double(0x7fffffffffffffffLL)));
}
template <typename T, int NR> __device__ inline rows_of<T, NR> marked_wide(rows_of<T, NR> rows)
{
    rows.first.diag = rows.last.diag = wide_mark<T>();
    return rows;
}
/** The warp's own copy. */
template <typename T, int NR> __device__ inline void mark_wide(stored_rows<T, NR> &rows)
{
    __syncwarp();
    if (threadIdx.x % WARP == 0) rows.reversed_first.row.diag = rows.last.row.diag = wide_mark<T>();
    __syncwarp();
}
template <typename T, int NR> __device__ inline bool is_marked_wide(const row_of<T, NR> &row)
{
    return !(size_of(row.diag) >= 0);
}

/* ------------------------------------------------------- parts of a system together */

/** What is left of up to PARTS parts of a system, in memory that all who solve with it share: a coarse system with
 *  wide rows and its right-hand sides, which become its solution. A lane has EACH rows of it. */
template <typename T, int NR, int PARTS> struct parts_of {
    static constexpr int ROWS = 2 * PARTS, EACH = 8;
    T v[4 + NR][ROWS];

    /** With neighbours on either side, which only a cyclic system's first and last row have otherwise. */
    __device__ system_of<T> system(int count)
    {
        return {2 * count, 0, 0, true, false, v[0], v[1], v[2], v[3], 2 * count};
    }
    __device__ columns_of<T> rhs() { return {v[4], ROWS}; }
    static __device__ lane_range<T> range(int count)
    {
        static_assert(ROWS <= WARP * EACH, "a warp does it");
        const int lane = threadIdx.x % WARP;
        return {EACH * lane, max(0, min(EACH, 2 * count - EACH * lane)), 0, NR};
    }
    __device__ void put(int i, const wide_union<T, NR> &u)
    {
        for (int r = 0; r < 2; r++) {
            v[0][2 * i + r] = u.pair.c[r][r], v[1][2 * i + r] = u.pair.c[r][1 + r],
                         v[2][2 * i + r] = u.pair.c[r][2 + r], v[3][2 * i + r] = u.pair.c[r][3 - 3 * r];
            for (int k = 0; k < NR; k++) v[4 + k][2 * i + r] = u.rhs[r][k];
        }
    }
    /** What is left of `count` parts; by a warp. */
    __device__ wide_union<T, NR> reduce(int count)
    {
        return reduce_carefully<T, NR>(system(count), given_columns<T>{{v[4], ROWS}, {}}, range(count));
    }
    /** Solve, with known unknowns around; by a warp. */
    __device__ void solve(int count, const known_of<T, NR> &known)
    {
        solve_carefully<T, NR, EACH>(system(count), given_columns<T>{{v[4], ROWS}, {}}, rhs(), range(count), NR, known);
        __syncwarp();
    }
    /** The unknowns at the ends of part i of a solved system and of its neighbours. */
    __device__ known_of<T, NR> known(int i, int count, const known_of<T, NR> &around) const
    {
        known_of<T, NR> known;
        for (int k = 0; k < NR; k++) {
            const T *x = v[4 + k];
            known.before[k] = i > 0 ? x[2 * i - 1] : around.before[k], known.first[k] = x[2 * i];
            known.last[k] = x[2 * i + 1], known.after[k] = i + 1 < count ? x[2 * i + 2] : around.after[k];
        }
        return known;
    }
};

/** M rows of a system of n from `index` on, as a lane has them: a system that is not cyclic ends with a row of the
 *  identity if it is of odd order; in a cyclic one a single row at the end is joined by the last row of the lane
 *  before. */
template <int M, typename T> __device__ inline lane_range<T> range_of_lane(const system_of<T> &A, int64_t index,
                                                                           int64_t first, int count)
{
    const int64_t left = A.n - index;
    if (A.cyclic && left == M + 1) return {index, M - 1, first, count};
    if (A.cyclic && left == 1) return {index - 1, 2, first, count};
    return {index, left >= M ? M : left <= 0 ? 0 : (int)(A.cyclic ? left : left + left % 2), first, count};
}

/** A whole system, carefully, by a block whose warps have WARP M rows each; right-hand sides first .. first + count
 *  - 1. */
template <typename T, int NR, int M, int PARTS>
__device__ __noinline__ void solve_block_carefully(const system_of<T> &A, given_columns<T> D, columns_of<T> X,
                                                   int64_t first, int count, parts_of<T, NR, PARTS> &parts)
{
    const int number = threadIdx.x / WARP, there = (int)((A.n + WARP * M - 1) / (WARP * M));
    const lane_range<T> mine = range_of_lane<M>(A, threadIdx.x * (int64_t)M, first, count);
    known_of<T, NR> around = {};
    __syncthreads(); /* nobody needs the memory for anything else any more */
    const wide_union<T, NR> u = reduce_carefully<T, NR>(A, D, mine);
    if (threadIdx.x % WARP == 0 && u.there) parts.put(number, u);
    __syncthreads();
    if (number == 0) parts.solve(there, close_carefully(parts.reduce(there), A.cyclic));
    __syncthreads();
    if (A.cyclic)
        for (int k = 0; k < NR; k++)
            around.before[k] = parts.v[4 + k][2 * there - 1], around.after[k] = parts.v[4 + k][0];
    solve_carefully<T, NR, M>(A, D, X, mine, count, parts.known(min(number, there - 1), there, around));
}

#endif
