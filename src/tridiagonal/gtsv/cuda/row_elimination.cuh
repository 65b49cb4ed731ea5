/* Rows of tridiagonal systems on the GPU: what is left of two rows without an unknown, and the unknown from one of
 * them.
 *
 * Who computes so: the paths by tiles (cluster.cuh, cooperative.cuh, two_pass.cuh, certified_pass.cuh) and in a single
 * block (single_block.cu), one of which a solve on a GPU takes by default. The CPU, the GPU by stages and the small
 * systems of batches have the arithmetic of common/partition.h, which follows the thesis. The reason for two is
 * dependency latency: there, a row waits for a division and a pivot decision of the row before it; here it waits for
 * neither.
 *
 * Two rows that share an unknown leave, without it, one row; which of the two is called the pivot row changes that
 * row by a factor only. So it is formed without a division, as times_row * row + times_carried * carried with
 * multipliers that are the two coefficients scaled by one power of two (exact) into [1/2, 1): it grows as little as
 * with partial pivoting, and the chain of dependent operations from row to row is a maximum, a scaling and two
 * products. Pivoting is a matter of the substitution: the unknown comes from the row where its coefficient is the
 * larger one, relative to the row's scale (scaled partial pivoting) or to that of the row as given (partial
 * pivoting). The decision compares logarithms: the high bits of a floating-point number, taken for an integer, are
 * one, accurate to 9 %. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_ROW_ELIMINATION_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_ROW_ELIMINATION_CUH

#include <cfloat>
#include <climits>
#include <type_traits>

#include <trine/tridiagonal.h>

#include "tridiagonal/common/hierarchy.h"
#include "tridiagonal/gtsv/cuda/logarithms.cuh"

/** lower x[left] + diag x[own] + upper x[right] = rhs; while carried through an elimination: lower is the
 *  coefficient of the unknown where the elimination started, diag that of the unknown to be removed next, upper that
 *  of the one after it. */
template <typename T, int NR> struct row_of { T lower, diag, upper, rhs[NR]; };

template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> identity_row()
{
    row_of<T, NR> r = {};
    r.diag = one_of<T>();
    return r;
}
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> reversed(const row_of<T, NR> &r)
{
    row_of<T, NR> s = r;
    s.lower = r.upper, s.upper = r.lower;
    return s;
}

/** Binary digits by which a row may grow at once. */
constexpr int MOST_GROWTH = 40;

/** a b + c d, to two rounding errors of the sum however much cancels (Kahan). */
__device__ __forceinline__ double sum_of_products(double a, double b, double c, double d)
{
    const double ab = a * b;
    return fma(c, d, ab) + fma(a, b, -ab);
}

/** Remove from the carried row the unknown that has coefficient carried.diag there and row.lower in `row`. If both
 *  vanish, the row itself is left.
 *  GUARDED, where partitions meet: a new diagonal that is all cancellation counts as its rounding error, so that a
 *  singular system gives large numbers, but not arbitrarily large ones. The two rows there are eliminated in both
 *  directions, each time with the determinant of two unknowns as the new diagonal. Where that is nearly singular,
 *  both must give these unknowns the same multiple of its null vector: in double, sums are taken to their last
 *  digits, and where nothing is left of the determinant, both diagonals count as larger by two rounding errors, on
 *  the right as well. (In single precision it costs 2 % of the time of long systems, and is left out.) GROWTH: `row`
 *  counts about once in what is left, though that grows by as many binary digits; 0: neither row more than once. */
template <bool GUARDED = false, int GROWTH = 0, typename T, int NR> __device__ __forceinline__ void
eliminate(row_of<T, NR> &carried, const row_of<T, NR> &row, T &times_row, T &times_carried)
{
    using R = real_of<T>;
    const int bits = GROWTH ? max(logarithm(carried.diag) - layout_of<R>::STEP / 2,
                                  max(logarithm(row.lower) - GROWTH * layout_of<R>::STEP, 0))
                            : largest_logarithm(carried.diag, row.lower);
    const R g = balance<R>(bits);
    times_row = scaled(carried.diag, g) + of_real<T>(one_if_zero<R>(bits));
    times_carried = scaled(row.lower, -g);
    const T fresh = times_row * row.diag;
    carried.lower = times_carried * carried.lower;
    if constexpr (GUARDED && !scalar<T>::is_complex && sizeof(T) == sizeof(double)) {
        using L = layout_of<R>;
        const T left = sum_of_products(times_row, row.diag, times_carried, carried.upper);
        const R one_more = logarithm(left) < logarithm(fresh) - (L::MANTISSA - 1) * L::STEP
                               ? exponential<R>(L::ONE - (L::MANTISSA - 1) * L::STEP)
                               : R(0);
        carried.diag = left + 2 * one_more * fresh;
#pragma unroll
        for (int k = 0; k < NR; k++)
            carried.rhs[k] = sum_of_products(times_row, row.rhs[k], times_carried, carried.rhs[k]) +
                             one_more * (times_row * row.rhs[k]);
    } else {
        carried.diag = fresh + times_carried * carried.upper;
        if constexpr (GUARDED) {
            const int noise = logarithm(fresh) - layout_of<R>::MANTISSA * layout_of<R>::STEP;
            if (logarithm(carried.diag) < noise) carried.diag = of_real<T>(exponential<R>(noise));
        }
#pragma unroll
        for (int k = 0; k < NR; k++) carried.rhs[k] = times_row * row.rhs[k] + times_carried * carried.rhs[k];
    }
    carried.upper = times_row * row.upper;
}
template <bool GUARDED = false, typename T, int NR> __device__ __forceinline__ void eliminate(row_of<T, NR> &carried,
                                                                                              const row_of<T, NR> &row)
{
    T times_row, times_carried;
    eliminate<GUARDED>(carried, row, times_row, times_carried);
}

/** Pivoting as the kernels take it: may rows be exchanged, do their scales count; how many binary digits more than a
 *  partition's own row others may count in a row of it until that is suspect (one such place does not matter,
 *  several in a warp do), until it is lost (rpts_lost_digits); `normalized`: the system's rows are those that
 *  normalize() has left. */
struct pivoting {
    bool exchanges, scaled, normalized;
    int suspect, lost;
};
static inline pivoting pivoting_of(int pivot, int64_t n, bool normalized)
{
    const int digits = rpts_lost_digits(n);
    return {pivot != TRINE_PIVOT_NONE, pivot == TRINE_PIVOT_SCALED_PARTIAL, normalized, rpts_suspect_digits(digits),
            digits};
}

/** ... where a warp's rows are eliminated carefully anyway: a lane that has lost less takes part as well. */
__device__ __forceinline__ pivoting strict(pivoting p)
{
    p.suspect = p.lost = min(p.suspect, 4);
    return p;
}

/** Logarithm of a row's scale. */
template <typename T> __device__ __forceinline__ int scale_of(pivoting p, T a, T b, T c)
{
    using L = layout_of<real_of<T>>;
    return p.scaled ? max(largest_logarithm(a, b, c), L::STEP) : L::ONE;
}
template <typename T, int NR> __device__ __forceinline__ int scale_of(pivoting p, const row_of<T, NR> &r)
{
    return scale_of(p, r.lower, r.diag, r.upper);
}

/** The scale of what eliminate() left, that of the row which was not the pivot row. */
template <typename T> __device__ __forceinline__ int scale_left(bool exchanged, T times_row, T times_carried,
                                                                int carried_scale, int row_scale)
{
    using R = real_of<T>;
    const R base = exponential<R>(exchanged ? carried_scale : row_scale);
    R times;
    if constexpr (scalar<T>::is_complex) times = exchanged ? size_of(times_carried) : size_of(times_row);
    else times = exchanged ? times_carried : times_row;
    return max(logarithm(times * base), layout_of<R>::STEP);
}

/** Is coefficient x, of a row with this scale, relatively larger than a coefficient with logarithm `other` minus its
 *  scale? */
template <typename T> __device__ __forceinline__ bool exceeds(pivoting p, T x, int scale, int other)
{
    return (logarithm(x) - scale > other) & (logarithm(x) != 0) & p.exchanges; /* no branches */
}

/** x[own] = rhs - next x[next] - other x[other] */
template <typename T, int NR> struct solved_of { T next, other, rhs[NR]; };

template <typename T> __device__ __forceinline__ bool vanishes(T pivot)
{
    if constexpr (std::is_same<T, float>::value) return fabsf(pivot) < FLT_MIN;
    else return logarithm(pivot) < layout_of<real_of<T>>::STEP;
}
/** A rounding error of a row, which its pivot becomes if it vanishes. */
template <typename T> __device__ __forceinline__ T rounding_error(T next, T other)
{
    using R = real_of<T>;
    using L = layout_of<R>;
    if constexpr (std::is_same<T, float>::value) return fmaxf(fmaxf(fabsf(next), fabsf(other)) * FLT_EPSILON, FLT_MIN);
    else return of_real<T>(exponential<R>(max(largest_logarithm(next, other) - L::MANTISSA * L::STEP, L::STEP)));
}
template <typename T> __device__ __forceinline__ T pivot_reciprocal(T pivot, T next, T other)
{
    if (vanishes(pivot)) pivot = rounding_error(next, other);
    return fast_reciprocal(pivot);
}
template <typename T, int NR> __device__ __forceinline__ solved_of<T, NR> solve_row(T pivot, T next, T other,
                                                                                    const T (&rhs)[NR])
{
    solved_of<T, NR> s;
    const T inverse = pivot_reciprocal(pivot, next, other);
    s.next = next * inverse, s.other = other * inverse;
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = rhs[k] * inverse;
    return s;
}

/** The scale of a row that is carried through an elimination: a number, or where numbers have double precision its
 *  logarithm, which integer units see to. */
template <typename T> using weight_of = std::conditional_t<sizeof(real_of<T>) == 4, float, int>;

/* Rows of partitions are scaled, by powers of two, so that the partition's own first or last row counts in them as
 * if its largest coefficient were 1. Where rows of unions are made of them, the outermost one counts once: so it is
 * known how much of it is left after any number of unions. Where little is, these rows are nearly a combination of
 * inner rows alone; if that is so of the first and of the last row of a union, they are nearly the same row
 * (common/wide_rows.h). */

template <typename T, int NR> __device__ __forceinline__ int largest_logarithm(const row_of<T, NR> &row)
{
    return largest_logarithm(row.lower, row.diag, row.upper);
}

/** The logarithm of the size of a row of the system that is solved, which has logarithm `row`, times `times`. */
template <typename T> __device__ __forceinline__ int part_of(pivoting p, T times, int row)
{
    return max(logarithm(times) + (p.normalized ? 0 : row - layout_of<real_of<T>>::ONE), 0);
}
/** part, largest: logarithms of what the outermost row contributes, and of the row's largest coefficient. */
template <typename T, int NR> __device__ __forceinline__ void normalize(row_of<T, NR> &row, int part, int largest)
{
    using R = real_of<T>;
    using L = layout_of<R>;
    const R g = 2 * balance<R>(max(part - L::STEP / 2, max(largest - MOST_GROWTH * L::STEP, 0)));
    row.lower = scaled(row.lower, g), row.diag = scaled(row.diag, g), row.upper = scaled(row.upper, g);
#pragma unroll
    for (int k = 0; k < NR; k++) row.rhs[k] = scaled(row.rhs[k], g);
}
/* What has been lost by two rows for which one would do: logarithms, by STEP for a binary digit; what matters is the
 * row that has lost less. */
constexpr int NOTHING_LOST = 0, ALL_LOST = INT_MAX;

/** The first (reversed) and the last row of a partition. What they have lost. */
template <typename T, int NR> __device__ __forceinline__ int normalize_both(row_of<T, NR> &first, int part_first,
                                                                            row_of<T, NR> &last, int part_last)
{
    const int of_first = largest_logarithm(first), of_last = largest_logarithm(last);
    normalize(first, part_first, of_first), normalize(last, part_last, of_last);
    return min(of_first - part_first, of_last - part_last);
}
/** ... of a union of which the largest coefficients have these logarithms; all, where one has grown beyond
 *  everything. */
template <typename R> __device__ __forceinline__ int lost_by_union(int largest_of_first, int largest_of_last)
{
    using L = layout_of<R>;
    return max(largest_of_first, largest_of_last) > L::ONE + 60 * L::STEP
               ? ALL_LOST
               : min(largest_of_first, largest_of_last) - L::ONE;
}
/** Has an elimination that was to keep `row` as it is not been able to, so much would it have grown? */
template <typename T> __device__ __forceinline__ bool is_cut(T times_row)
{
    return logarithm(times_row) < layout_of<real_of<T>>::ONE - layout_of<real_of<T>>::STEP;
}

template <typename R> __device__ __forceinline__ bool is_suspect(pivoting p, int lost)
{
    return (lost > p.suspect * layout_of<R>::STEP) & p.exchanges;
}
template <typename R> __device__ __forceinline__ bool is_lost(pivoting p, int lost)
{
    return (lost > p.lost * layout_of<R>::STEP) & p.exchanges;
}

/** Where scales do not count, all rows have one weight, larger than any other. */
template <typename T, int NR> __device__ __forceinline__ weight_of<T> weigh(pivoting p, const row_of<T, NR> &r)
{
    using L = layout_of<real_of<T>>;
    if constexpr (sizeof(real_of<T>) == 4)
        return fmaxf(fmaxf(size_of(r.lower), size_of(r.diag)), fmaxf(size_of(r.upper), p.scaled ? FLT_MIN : 0x1p120f));
    else return max(largest_logarithm(r.lower, r.diag, r.upper), p.scaled ? L::STEP : L::EXPONENT - 8 * L::STEP);
}

/** Is `row` the pivot row of the elimination that had these factors? It is if |times_carried| weight > |times_row|
 *  row_weight, the larger of which is also the weight of what is left. */
template <typename T> __device__ __forceinline__ bool prefers_row(pivoting p, T times_row, T times_carried,
                                                                  weight_of<T> &weight, weight_of<T> row_weight)
{
    if constexpr (sizeof(real_of<T>) == 4) {
        const float of_carried = size_of(times_carried) * weight, of_row = size_of(times_row) * row_weight;
        weight = fmaxf(of_carried, of_row);
        return of_carried > (p.exchanges ? of_row : INFINITY);
    } else { /* the sum of two such logarithms is too small by 0 to 0.17, here as often too large */
        constexpr int ONE = layout_of<double>::ONE, STEP = layout_of<double>::STEP;
        constexpr unsigned UNIT = ONE - STEP / 18; /* sums pass 2^31 on the way */
        const int size = logarithm(scaled(times_carried, real_of<T>(-1))); /* which is at hand */
        const int of_carried = (int)((unsigned)size + weight - UNIT),
                  of_row = (int)((unsigned)logarithm(times_row) + row_weight - UNIT);
        weight = max(max(of_carried, of_row), STEP);
        return (of_carried > of_row) & (size > (p.exchanges ? 0 : INT_MAX));
    }
}

/** The equation of the unknown that was eliminated, j - 1, with row j: pivot x[j-1] + next x[j] + other x[j+1] = rhs
 *  if that was the pivot row, else with x[0] instead of x[j+1]. */
template <typename T, int NR> struct chosen_row {
    T pivot, next, other, rhs[NR];
    bool exchanged;
};

template <typename T, int NR> __device__ __forceinline__ chosen_row<T, NR>
eliminate_choosing(pivoting p, row_of<T, NR> &carried, weight_of<T> &weight, const row_of<T, NR> &row, T &times_row)
{
    const row_of<T, NR> before = carried;
    chosen_row<T, NR> c;
    T times_carried;
    eliminate(carried, row, times_row, times_carried);
    c.exchanged = prefers_row(p, times_row, times_carried, weight, weigh(p, row));
    c.pivot = c.exchanged ? row.lower : before.diag, c.next = c.exchanged ? row.diag : before.upper,
    c.other = c.exchanged ? row.upper : before.lower;
#pragma unroll
    for (int k = 0; k < NR; k++) c.rhs[k] = c.exchanged ? row.rhs[k] : before.rhs[k];
    return c;
}
/** The equation for back substitution, in place of row j: lower, diag, upper are the coefficients of x[j], x[j+1],
 *  x[0]. */
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR> pivot_row(const chosen_row<T, NR> &c)
{
    const T inverse = fast_reciprocal(c.pivot), other = c.other * inverse;
    row_of<T, NR> row = {c.next * inverse, c.exchanged ? other : T{}, c.exchanged ? T{} : other};
#pragma unroll
    for (int k = 0; k < NR; k++) row.rhs[k] = c.rhs[k] * inverse;
    return row;
}
template <typename T, int NR> __device__ __forceinline__ void guard_pivot(chosen_row<T, NR> &c)
{
    if (vanishes(c.pivot)) c.pivot = rounding_error(c.next, c.other);
}
/** The elimination of the next unknown with `row`, which becomes the pivot row. */
template <typename T, int NR> __device__ __forceinline__ void
eliminate_keeping(pivoting p, row_of<T, NR> &carried, weight_of<T> &weight, row_of<T, NR> &row, T &times_row)
{
    chosen_row<T, NR> c = eliminate_choosing(p, carried, weight, row, times_row);
    guard_pivot(c);
    row = pivot_row(c);
}

/* --------------------------------------------------- neighbouring partitions */

/** What a reduction leaves of a partition: the row of its first unknown (which has the last one as its upper
 *  neighbour) and the row of its last unknown (which has the first one as its lower neighbour). */
template <typename T, int NR> struct rows_of { row_of<T, NR> first, last; };

/** The unknowns at the ends of a partition and of its neighbours: x[-1], x[0], x[m-1], x[m]. */
template <typename T, int NR> struct known_of { T before[NR], first[NR], last[NR], after[NR]; };

/** Do two equations agree about an unknown? */
enum agreement { AGREE, DOUBTFUL, DISAGREE };

/** The second unknown of a partition, which can be had from row 0 and, as the last one of the substitution, from a
 *  pivot row. One of these equations is not used; it should hold, but for what may be lost (pivoting) and to
 *  rounding errors of its own terms. Most often the two unknowns agree to rounding errors of their own and of one
 *  term of row 0, and the others are not looked at. */
template <typename T, int NR> struct second_unknown {
    using R = real_of<T>;
    bool from_row0;
    agreement apart = AGREE; /* by that */
    T x[NR];                 /* from row 0 */
    R term[NR], difference[NR]; /* one of row 0 */

    /** So many rounding errors. */
    static __device__ __forceinline__ R rounding(int digits)
    {
        using L = layout_of<R>;
        return exponential<R>(L::ONE + (digits - L::MANTISSA) * L::STEP);
    }
    __device__ __forceinline__ void from(const row_of<T, NR> &row0, bool use, const known_of<T, NR> &known)
    {
        const T inverse = pivot_reciprocal(row0.upper, row0.diag, row0.lower);
        from_row0 = use;
#pragma unroll
        for (int k = 0; k < NR; k++) {
            const T own = row0.diag * known.first[k];
            x[k] = inverse * (row0.rhs[k] - own - row0.lower * known.before[k]), term[k] = size_of(inverse * own);
        }
    }
    /** values: from the pivot row; afterwards those that are taken. */
    __device__ __forceinline__ void choose(pivoting p, T (&values)[NR])
    {
#pragma unroll
        for (int k = 0; k < NR; k++) {
            difference[k] = size_of(x[k] - values[k]);
            values[k] = from_row0 ? x[k] : values[k];
            const R size = size_of(values[k]) + term[k];
            if (!(difference[k] <= rounding(p.suspect) * size))
                apart = difference[k] <= rounding(p.lost) * size && apart != DISAGREE ? DOUBTFUL : DISAGREE;
        }
    }
    /** Where they are apart: row 0; the pivot row that the unknown comes from, without right-hand sides; x[0], x[2],
     *  x[3]. */
    __device__ __forceinline__ agreement look(pivoting p, const row_of<T, NR> &row0, const row_of<T, NR> &pivot,
                                              const T (&x0)[NR], const T (&x2)[NR], const T (&x3)[NR]) const
    {
        const R inverse = size_of(pivot_reciprocal(row0.upper, row0.diag, row0.lower));
        agreement all = AGREE;
#pragma unroll
        for (int k = 0; k < NR; k++) { /* all terms but one, which is at most the sum of the others */
            const R of_row0 = inverse * (size_of(row0.rhs[k]) + size_of(row0.diag * x0[k]));
            const R of_pivot =
                size_of(pivot.upper * x0[k]) + size_of(pivot.lower * x2[k]) + size_of(pivot.diag * x3[k]);
            const R size = size_of(x[k]) + difference[k] + (from_row0 ? of_pivot : of_row0);
            const bool is_finite = size < R(INFINITY);
            if (p.exchanges & !((difference[k] <= rounding(p.suspect) * size) & is_finite))
                all = difference[k] <= rounding(p.lost) * size && is_finite && all != DISAGREE ? DOUBTFUL : DISAGREE;
        }
        return all;
    }
};

/** The interface of partitions A and B: its two unknowns from those at the ends of their union: `right` is B's first
 *  one, with next = x[last], other = x[after] or x[first], and `before`, the coefficient of x[before]; `left` is A's
 *  last one, with next = right's and other = x[first] or x[last], or, from A's first row, next = x[first], other =
 *  x[before]. */
template <typename T, int NR> struct interface_of {
    solved_of<T, NR> left, right;
    T before;
    int left_other, right_other;
};
/** What `other` is the coefficient of, in the row of left (FIRST, LAST, or BEFORE, with next = x[first]), of right
 *  (FIRST, AFTER). */
enum { FIRST, LAST, BEFORE, AFTER };

/** The unknowns where A and the partition B that follows it meet, each from the best of the rows that hold it. */
template <typename T, int NR> __device__ __forceinline__ interface_of<T, NR>
find_interface(pivoting p, const rows_of<T, NR> &A, const rows_of<T, NR> &B)
{
    interface_of<T, NR> j;
    T times_row, times_carried, rhs[NR];
    row_of<T, NR> down = A.last;
    const int scale_a = scale_of(p, A.last), scale_b = scale_of(p, B.first);
    eliminate<true>(down, B.first, times_row, times_carried);

    const int of_a = logarithm(A.last.diag) - scale_a, of_b = logarithm(B.first.lower) - scale_b;
    const bool exchanged = exceeds(p, B.first.lower, scale_b, of_a);
    const bool from_first = exceeds(p, A.first.upper, scale_of(p, A.first), max(of_a, of_b));
#pragma unroll
    for (int k = 0; k < NR; k++) rhs[k] = from_first ? A.first.rhs[k] : exchanged ? B.first.rhs[k] : A.last.rhs[k];
    j.left = solve_row(from_first  ? A.first.upper
                       : exchanged ? B.first.lower
                                   : A.last.diag,
                       from_first  ? A.first.diag
                       : exchanged ? B.first.diag
                                   : A.last.upper,
                       from_first  ? A.first.lower
                       : exchanged ? B.first.upper
                                   : A.last.lower,
                       rhs);
    j.left_other = from_first ? BEFORE : exchanged ? LAST : FIRST;

    /* right: if left comes from A's first row, A's last one and B's first one are both left for it, with left
     * removed from them */
    const bool of_b_first = exceeds(p, B.first.diag, scale_b, logarithm(A.last.upper) - scale_a);
    const T times_left = from_first ? (of_b_first ? B.first.lower : A.last.diag) : T{};
    const T pivot = from_first ? (of_b_first ? B.first.diag : A.last.upper) : down.diag,
            next = from_first ? (of_b_first ? B.first.upper : T{}) : down.upper;
    const T first = from_first ? (of_b_first ? T{} : A.last.lower) : down.lower;
    const int scale = from_first ? (of_b_first ? scale_b : scale_a)
                                 : scale_left(exchanged, times_row, times_carried, scale_a, scale_b);
    const bool from_last = exceeds(p, B.last.lower, scale_of(p, B.last), logarithm(pivot) - scale);
#pragma unroll
    for (int k = 0; k < NR; k++)
        rhs[k] = from_last ? B.last.rhs[k]
                           : (from_first ? (of_b_first ? B.first.rhs[k] : A.last.rhs[k]) : down.rhs[k]) -
                                 times_left * j.left.rhs[k];
    const T inverse = pivot_reciprocal(from_last ? B.last.lower : pivot, from_last ? B.last.diag : next,
                                       from_last ? B.last.upper : first);
    j.right.next = (from_last ? B.last.diag : next) * inverse;
    j.right.other = (from_last ? B.last.upper : first - times_left * j.left.next) * inverse;
    j.before = from_last ? T{} : (T{} - times_left * j.left.other) * inverse;
#pragma unroll
    for (int k = 0; k < NR; k++) j.right.rhs[k] = rhs[k] * inverse;
    j.right_other = from_last ? AFTER : FIRST;

    /* where those are all small, A's first row with left removed from it */
    const T from_left = A.first.upper * j.left.next;
    const int of_right = max(logarithm(B.last.lower) - scale_of(p, B.last), logarithm(pivot) - scale);
    if (__builtin_expect(!from_first & exceeds(p, from_left, scale_of(p, A.first), of_right), 0)) {
        const T times = pivot_reciprocal(T{} - from_left, A.first.diag, A.first.lower),
                minus_left = T{} - A.first.upper * j.left.other;
        j.right.next = (exchanged ? minus_left : T{}) * times;
        j.right.other = (exchanged ? A.first.diag : A.first.diag + minus_left) * times;
        j.before = A.first.lower * times;
#pragma unroll
        for (int k = 0; k < NR; k++) j.right.rhs[k] = (A.first.rhs[k] - A.first.upper * j.left.rhs[k]) * times;
        j.right_other = FIRST;
    }
    return j;
}

/** The unknowns where A and B meet; the left one follows from the right one. */
template <typename T, int NR> __device__ __forceinline__ void meet_right(const interface_of<T, NR> &j,
                                                                         const known_of<T, NR> &known, T (&right)[NR])
{
#pragma unroll
    for (int k = 0; k < NR; k++)
        right[k] = j.right.rhs[k] - j.before * known.before[k] -
                   j.right.other * (j.right_other == AFTER ? known.after[k] : known.first[k]) -
                   j.right.next * known.last[k];
}
template <typename T, int NR> __device__ __forceinline__ void
meet_left(const interface_of<T, NR> &j, const known_of<T, NR> &known, const T (&right)[NR], T (&left)[NR])
{
#pragma unroll
    for (int k = 0; k < NR; k++)
        left[k] = j.left.rhs[k] -
                  j.left.other * (j.left_other == BEFORE ? known.before[k]
                                  : j.left_other == LAST ? known.last[k]
                                                         : known.first[k]) -
                  j.left.next * (j.left_other == BEFORE ? known.first[k] : right[k]);
}

/** Narrow the known unknowns of a union to those of its second or first part. */
template <typename T, int NR> __device__ __forceinline__ void narrow(known_of<T, NR> &known, bool second,
                                                                     const T (&left)[NR], const T (&right)[NR])
{
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.before[k] = second ? left[k] : known.before[k];
        known.first[k] = second ? right[k] : known.first[k];
        known.last[k] = second ? known.last[k] : left[k];
        known.after[k] = second ? known.after[k] : right[k];
    }
}

/** A whole system that is one partition: its two unknowns, which are each other's neighbours on either side if it is
 *  cyclic. */
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR>
close_system(pivoting p, const rows_of<T, NR> &whole, bool cyclic = false)
{
    known_of<T, NR> known = {};
    row_of<T, NR> carried = whole.first, row = whole.last; /* of unknowns first, last: diag, upper and lower, diag */
    T rhs[NR];
    if (cyclic) carried.upper = carried.upper + carried.lower, row.lower = row.lower + row.upper;
    carried.lower = row.upper = T{};
    const bool exchanged = exceeds(p, row.lower, scale_of(p, row), logarithm(carried.diag) - scale_of(p, carried));
#pragma unroll
    for (int k = 0; k < NR; k++) rhs[k] = exchanged ? row.rhs[k] : carried.rhs[k];
    const solved_of<T, NR> first =
        solve_row(exchanged ? row.lower : carried.diag, exchanged ? row.diag : carried.upper, T{}, rhs);
    eliminate<true>(carried, row);
    const solved_of<T, NR> last = solve_row(carried.diag, T{}, T{}, carried.rhs);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.last[k] = last.rhs[k];
        known.first[k] = first.rhs[k] - first.next * last.rhs[k];
        if (cyclic) known.before[k] = known.last[k], known.after[k] = known.first[k];
    }
    return known;
}

#endif
