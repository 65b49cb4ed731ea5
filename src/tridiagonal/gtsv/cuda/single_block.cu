/* gtsv for small systems in double precision: in one block, every unknown from the best of four rows.
 *
 * Where a solution grows by orders of magnitude from row to row, rows that have been combined no longer know the
 * small terms: an unknown from such a row does not fit the rows it came from to rounding errors of their own terms.
 * So here rows are not eliminated one after the other but joined in pairs, pairs of pairs, ..., as partitions of two
 * rows; where two parts meet, two unknowns are found from all four rows that hold them; and known unknowns are moved
 * to the right before a row is used, not after, so that what one row loses by rounding is the same for both
 * unknowns. On matrices 12 and 15 of the thesis's Table 4 the componentwise backward error is one or two rounding
 * errors, in place of 2e-10 and 7e-15. */
#include "tridiagonal/gtsv/cuda/single_block.h"
#include "tridiagonal/gtsv/cuda/permuted_rows.cuh"
#include "tridiagonal/gtsv/cuda/row_elimination.cuh"
#include "tridiagonal/gtsv/cuda/wide_warp.cuh"

namespace {

/** Pairs of rows, each the care of a thread. */
template <typename T> constexpr int PAIRS = sizeof(T) == 8 ? 256 : 128;

/** One of the four rows that hold the two unknowns where parts A and B meet, A's last one on the left and B's first one
 *  on the right:
 *      at_left left + at_right right + near x[first of A, or last of B] + far x[before A, or after B] = rhs */
template <typename T> struct meeting_row {
    T at_left, at_right, near, far, rhs;
    int scale;
    bool of_b;
};

template <typename T> __device__ __forceinline__ meeting_row<T> either(bool condition, const meeting_row<T> &yes,
                                                                       const meeting_row<T> &no)
{
    return {condition ? yes.at_left : no.at_left, condition ? yes.at_right : no.at_right,
            condition ? yes.near : no.near,       condition ? yes.far : no.far,
            condition ? yes.rhs : no.rhs,         condition ? yes.scale : no.scale,
            condition ? yes.of_b : no.of_b};
}

/** The two pivot rows that such unknowns come from. With known unknowns moved to the right of each:
 *      left + left_right right = its rhs,  right_left (left row's rhs) + right = its rhs. */
template <typename T> struct pivots_of {
    meeting_row<T> left, right;
    T left_right, right_left;

    static __device__ __forceinline__ T known_rhs(const meeting_row<T> &m, const known_of<T, 1> &known)
    {
        return m.rhs - m.near * (m.of_b ? known.last[0] : known.first[0]) -
               m.far * (m.of_b ? known.after[0] : known.before[0]);
    }
    __device__ __forceinline__ void solve(const known_of<T, 1> &known, T (&at_left)[1], T (&at_right)[1]) const
    {
        const T rhs = known_rhs(left, known);
        at_right[0] = known_rhs(right, known) - right_left * rhs;
        at_left[0] = rhs - left_right * at_right[0];
    }
};
template <typename T> __device__ __forceinline__ void scale_known(meeting_row<T> &m, T inverse)
{
    m.near = m.near * inverse, m.far = m.far * inverse, m.rhs = m.rhs * inverse;
}

template <typename T> __device__ __forceinline__ pivots_of<T> find_pivots(pivoting p, const rows_of<T, 1> &A,
                                                                          const rows_of<T, 1> &B)
{
    using row = meeting_row<T>;
    const row a = {A.last.diag, A.last.upper, A.last.lower, T{}, A.last.rhs[0], scale_of(p, A.last), false},
              b = {B.first.lower, B.first.diag, B.first.upper, T{}, B.first.rhs[0], scale_of(p, B.first), true},
              outer_a = {A.first.upper, T{}, A.first.diag, A.first.lower, A.first.rhs[0], scale_of(p, A.first), false},
              outer_b = {T{}, B.last.lower, B.last.diag, B.last.upper, B.last.rhs[0], scale_of(p, B.last), true};
    const bool b_first = exceeds(p, b.at_left, b.scale, logarithm(a.at_left) - a.scale);
    const row inner = either(b_first, b, a);
    const bool outer_first = exceeds(p, outer_a.at_left, outer_a.scale, logarithm(inner.at_left) - inner.scale);
    row left = either(outer_first, outer_a, inner), x = either(b_first, a, b), y = either(outer_first, inner, outer_a);
    const T inverse = pivot_reciprocal(left.at_left, left.at_right, left.near), left_right = left.at_right * inverse;
    x.at_right = x.at_right - x.at_left * left_right;
    y.at_right = y.at_right - y.at_left * left_right;
    x = either(exceeds(p, y.at_right, y.scale, logarithm(x.at_right) - x.scale), y, x);
    x = either(exceeds(p, outer_b.at_right, outer_b.scale, logarithm(x.at_right) - x.scale), outer_b, x);
    const T right_inverse = pivot_reciprocal(x.at_right, x.near, x.far);
    scale_known(left, inverse), scale_known(x, right_inverse);
    return {left, x, left_right, x.at_left * right_inverse};
}

/** 16 bytes more, so that eight threads reading neighbours touch all banks. */
template <typename T> struct alignas(16) stored_part {
    rows_of<T, 1> rows;
    int4 padding;
};

/** Parts of level l, of 2^l pairs each, stand from here on. */
template <typename T> __device__ __forceinline__ int first_of_level(int level)
{
    return 2 * PAIRS<T> - (2 * PAIRS<T> >> level);
}

template <typename T, bool P> __global__ void __launch_bounds__(PAIRS<T>)
    solve_in_a_block(const system_of<T> A, const pivoting p, given_columns<T, P> D, columns_of<T, P> X)
{
    __shared__ stored_part<T> part[2 * PAIRS<T>];
    __shared__ known_of<T, 1> known[PAIRS<T>]; /* of the part that begins with this pair */
    bool lost = false;                        /* rows of a part are nearly the same */
    const int n = (int)A.n, pairs = (n + 1) / 2, i = threadIdx.x;
    row_of<T, 1> own[2];
    for (int k = 0; k < 2; k++) {
        own[k] = identity_row<T, 1>();
        if (2 * i + k < n)
            own[k] = {lower_of(A, 2 * i + k),
                      diag_of(A, 2 * i + k),
                      upper_of(A, 2 * i + k),
                      {right_hand_side(A, D, 2 * i + k, blockIdx.x)}};
        normalize(own[k], largest_logarithm(own[k]), largest_logarithm(own[k]));
    }
    part[i].rows = {own[0], own[1]};
    __syncthreads();

    /* up: a part's last row is made by one thread, its first row, reversed, by another one, which is the same work */
    int levels = 0;
    for (; pairs > 1 << levels; levels++) {
        const int second = i & 1, number = i >> 1, parts = (pairs + (1 << levels) - 1) >> levels;
        int largest = 0; /* ONE and less if nothing is lost */
        if (2 * number < parts) {
            const stored_part<T> *of_level = part + first_of_level<T>(levels) + 2 * number;
            const rows_of<T, 1> half = of_level[second].rows, other = of_level[1 - second].rows;
            row_of<T, 1> row = second ? half.last : reversed(half.first);
            if (2 * number + 1 < parts) {
                const row_of<T, 1> outer = row;
                row = second ? other.last : reversed(other.first);
                T times_row, times_carried;
                eliminate<true>(row, second ? half.first : reversed(half.last));
                eliminate<true, MOST_GROWTH>(row, outer, times_row, times_carried);
                largest = is_cut(times_row) ? ALL_LOST : largest_logarithm(row);
            } else if (second) row = other.last; /* there is no second half */
            rows_of<T, 1> &to = part[first_of_level<T>(levels + 1) + number].rows;
            if (second) to.last = row;
            else to.first = reversed(row);
        }
        lost = lost | is_lost<real_of<T>>(p, lost_by_union<real_of<T>>(largest, __shfl_xor_sync(~0u, largest, 1)));
        __syncthreads();
    }
    if (__builtin_expect(__syncthreads_or(lost), 0)) {
        constexpr int EACH = 2 * PAIRS<T> / WARP;
        const lane_range<T> rows = range_of_lane<EACH>(A, (int64_t)i * EACH, blockIdx.x, 1);
        if (i >= WARP) return;
        const wide_union<T, 1> all = reduce_carefully<T, 1>(A, D, rows);
        return solve_carefully<T, 1, EACH>(A, D, X, rows, 1, close_carefully(all, A.cyclic));
    }

    /* where parts meet between pairs i and i + 1, whatever the level */
    const int level = __ffs(i + 1) - 1, half = 1 << level;
    pivots_of<T> pivots = {};
    if (i + 1 < pairs) {
        const stored_part<T> *meeting = part + first_of_level<T>(level) + (i >> (level + 1)) * 2;
        pivots = find_pivots(p, meeting[0].rows, meeting[1].rows);
    }
    if (i == 0) known[0] = close_system(p, part[first_of_level<T>(levels)].rows, A.cyclic);
    for (int l = levels - 1; l >= 0; l--) {
        __syncthreads();
        if (level == l && i + 1 < pairs) {
            known_of<T, 1> first = known[i + 1 - half], second = first;
            T left[1], right[1];
            pivots.solve(first, left, right);
            narrow(first, false, left, right), narrow(second, true, left, right);
            known[i + 1 - half] = first, known[i + 1] = second;
        }
    }
    __syncthreads();
    if (2 * i < n) X.put(2 * i, blockIdx.x, with_guess(D, 2 * i, blockIdx.x, known[i].first[0]));
    if (2 * i + 1 < n) X.put(2 * i + 1, blockIdx.x, with_guess(D, 2 * i + 1, blockIdx.x, known[i].last[0]));
}

} // namespace

/** A cyclic system of odd order has a row that cannot be paired. */
template <typename T> bool is_small(const system_of<T> &A)
{
    return A.n <= 2 * PAIRS<T> && !(A.cyclic && A.n % 2 == 1);
}

template <typename T, bool P> trine_status solve_small(const gtsv_call<T, P> &call)
{
    int threads = WARP;
    while (2 * threads < call.A.n) threads *= 2;
    solve_in_a_block<<<(unsigned)call.nrhs, (unsigned)threads, 0, call.stream>>>(call.A, call.p, call.D, call.X);
    return GPU_LAUNCHED("solve_in_a_block");
}

template bool is_small<double>(const system_of<double> &);
template bool is_small<complex_of<double>>(const system_of<complex_of<double>> &);
template trine_status solve_small<double>(const gtsv_call<double> &);
template trine_status solve_small<complex_of<double>>(const gtsv_call<complex_of<double>> &);
template trine_status solve_small<double>(const gtsv_call<double, true> &);
template trine_status solve_small<complex_of<double>>(const gtsv_call<complex_of<double>, true> &);
