/* What a row of a system says of its condition. For any scaling of rows by r_i and columns by 1 / c_j, with A' = R A
 * C^-1 and x' = C x,
 *     max_j |x'_j| / max_i |d'_i| <= |A'^-1|,
 * in maximum norms. Here r_i is the power of two 2^-e_i that makes the largest coefficient of row i 1 to 2, and c_j the
 * one that makes the largest of column j 1 to 2 after that: an entry of A' is 1 at least, so that |A'| >= 1, and the
 * quotient is a lower bound of the condition number of A'. With E(v) = floor(log2 |v|),
 *     c_j |x_j| = max_i |x_j| 2^(E(a_ij) - e_i),
 * so that each row gives its part, without a look at its neighbours. Exponents are added and compared as integers:
 * nothing over- or underflows. Complex numbers count as the larger of |re| and |im|. */
#ifndef TRINE_TRIDIAGONAL_INFO_INFO_ROWS_CUH
#define TRINE_TRIDIAGONAL_INFO_INFO_ROWS_CUH

#include <cfloat>
#include <cmath>
#include <cstring>

#include "core/gpu_scalar.cuh"
#include "tridiagonal/info/info.h"

namespace trine_info {

using word = unsigned long long;

/* Numbers v > 0 as words that order like them: an exponent of 13 bits, 50 bits of the mantissa. Above all of these,
 * in a look at what is given, is a row of zeros, and above that a row with NaN or Inf. The words of solutions have
 * the upper 24 bits of those, then the row; above all numbers is an unknown that is NaN or Inf, and above that one
 * in a column of zeros. Of equal ones the first row is the largest. */
constexpr int MANTISSA = 50, BIAS = 4096, ROW = 40;
constexpr word ZERO_ROW = word(1) << 63, NOT_FINITE = word(3) << 62, LAST_ROW = (word(1) << ROW) - 1;
constexpr word NOT_FINITE_SOLUTION = word(0xFFFFFE) << ROW, ZERO_COLUMN = word(0xFFFFFF) << ROW;

/** A number > 0 as normal one times a power of two. */
__host__ __device__ inline double normal(double v, int *exponent)
{
    *exponent = v < DBL_MIN ? -54 : 0;
    return v < DBL_MIN ? v * 0x1p54 : v;
}
__host__ __device__ inline word bits_of_double(double v)
{
    word bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
/** E(v), v > 0. */
__host__ __device__ inline int exponent_of(double v)
{
    int exponent;
    const double normal_v = normal(v, &exponent);
    return (int)(bits_of_double(normal_v) >> 52) - 1023 + exponent;
}
/** The word of v 2^shift, v > 0. */
__host__ __device__ inline word ordered(double v, int shift)
{
    int exponent;
    const double normal_v = normal(v, &exponent);
    return (bits_of_double(normal_v) >> (52 - MANTISSA)) + ((word)(BIAS - 1023 + exponent + shift) << MANTISSA);
}
__host__ __device__ inline double mantissa_of(word w)
{
    return 1 + (double)(w & ((word(1) << MANTISSA) - 1)) / (double)(word(1) << MANTISSA);
}
__host__ __device__ inline int exponent_of_word(word w) { return (int)(w >> MANTISSA) - BIAS; }

__host__ __device__ inline double real_part(float a) { return a; }
__host__ __device__ inline double real_part(double a) { return a; }
template <typename R> __host__ __device__ inline double real_part(complex_of<R> a) { return a.x; }
__host__ __device__ inline double imaginary_part(float) { return 0; }
__host__ __device__ inline double imaginary_part(double) { return 0; }
template <typename R> __host__ __device__ inline double imaginary_part(complex_of<R> a) { return a.y; }

/** The larger of |re| and |im|; NaN if one of them is. */
__host__ __device__ inline double size_of_parts(double re, double im)
{
    re = fabs(re), im = fabs(im);
    return re != re || re > im ? re : im;
}
template <typename T> __host__ __device__ inline double size_of_number(T a)
{
    return size_of_parts(real_part(a), imaginary_part(a));
}
__host__ __device__ inline bool is_finite(double size) { return size <= DBL_MAX; }

/** Three bands of numbers, whose entries are the coefficients. */
__host__ __device__ inline bool is_tridiagonal(const info_call &c)
{
    return c.s.m == 1 && c.s.kl == 1 && c.s.ku == 1 && !(c.s.cyclic && c.s.rows < 3);
}

/** visit(column, |coefficient|) for each entry of row `row` of A, which is c.s or c.transpose, of system `system`;
 *  until it returns false. */
template <typename T, typename V> __host__ __device__ inline void
visit_tridiagonal(const info_call &c, const banded_system &A, int64_t system, int64_t row, V visit)
{
    const bool transposed = A.transposed;
#pragma unroll
    for (int side = -1; side <= 1; side++) {
        const int64_t to = row + side, wrapped = to < 0 ? A.rows - 1 : to >= A.rows ? 0 : to;
        if (wrapped != to && !A.cyclic) continue;
        const T a = ((const T *)A.band[transposed ? 1 - side : 1 + side])[(transposed ? wrapped : row) * c.matrix.row +
                                                                          system * c.matrix.system];
        if (!visit(wrapped, size_of_parts(real_part(a), imaginary_part(a)))) return;
    }
}

/** The same for any system; TRIDIAGONAL: for which is_tridiagonal holds. In small cyclic systems several
 *  coefficients meet in one entry. */
template <typename T, bool TRIDIAGONAL, typename V> __host__ __device__ inline void
visit_row(const info_call &c, const banded_system &A, int64_t system, int64_t row, V visit)
{
    if constexpr (TRIDIAGONAL) {
        visit_tridiagonal<T>(c, A, system, row, visit);
        return;
    }
    const int64_t j = row / A.m;
    const int i = (int)(row % A.m), first = banded_first(&A), last = banded_last(&A);
    const int period = A.cyclic && A.rows <= last - first ? (int)A.rows : last - first + 1;
    for (int k = first; k < first + period; k++)
        for (int q = 0; q < A.m; q++) {
            double re = 0, im = 0;
            int64_t column = -1;
            for (int wrapped = k; wrapped <= last; wrapped += period) {
                const banded_block b = banded_block_at(&A, j, wrapped);
                if (b.column < 0) continue;
                const T a =
                    ((const T *)
                         A.band[b.band])[banded_entry(&A, b.position, i, q) * c.matrix.row + system * c.matrix.system];
                re += real_part(a), im += imaginary_part(a);
                column = b.column;
            }
            if (column >= 0 && !visit(column * A.m + q, size_of_parts(re, im))) return;
        }
}

/** The largest coefficient of a row; NaN or Inf if one is. */
template <typename T, bool TRIDIAGONAL> __host__ __device__ inline double
largest_coefficient(const info_call &c, int64_t system, int64_t row)
{
    double largest = 0;
    visit_row<T, TRIDIAGONAL>(c, c.s, system, row, [&](int64_t, double size) {
        if (!(size <= largest)) largest = size;
        return is_finite(size);
    });
    return largest;
}
template <typename T, bool TRIDIAGONAL> __host__ __device__ inline bool is_zero_column(const info_call &c,
                                                                                       int64_t system, int64_t column)
{
    bool is_zero = true;
    visit_row<T, TRIDIAGONAL>(c, c.transpose, system, column,
                              [&](int64_t, double size) { return is_zero = size == 0; });
    return is_zero;
}

/** The word of a row and its right-hand sides first, first + step, ... */
template <typename T, bool TRIDIAGONAL> __host__ __device__ inline word
word_of_given(const info_call &c, int64_t system, int64_t row, int64_t first, int64_t step)
{
    const double largest = largest_coefficient<T, TRIDIAGONAL>(c, system, row);
    const T *d = (const T *)c.s.D + row * c.vector.row + system * c.vector.system;
    double largest_d = 0;
    for (int64_t column = first; column < c.s.nrhs && is_finite(largest_d); column += step) {
        const double size = size_of_number(d[column * c.s.ldd]);
        if (!(size <= largest_d)) largest_d = size;
    }
    if (!is_finite(largest) || !is_finite(largest_d)) return NOT_FINITE | (LAST_ROW - (word)row);
    if (largest == 0) return ZERO_ROW | (LAST_ROW - (word)row);
    return largest_d > 0 ? ordered(largest_d, -exponent_of(largest)) : 0;
}

/** The word of a row's terms with solutions first, first + step, ...; what is not finite in the matrix has been seen
 *  before. */
template <typename T, bool TRIDIAGONAL> __host__ __device__ inline word
word_of_solutions(const info_call &c, int64_t system, int64_t row, int64_t first, int64_t step)
{
    const double largest = largest_coefficient<T, TRIDIAGONAL>(c, system, row);
    const T *x = (const T *)c.s.X + system * c.vector.system;
    word best = 0;
    if (first == 0 && is_zero_column<T, TRIDIAGONAL>(c, system, row)) return ZERO_COLUMN | (LAST_ROW - (word)row);
    const int scale = largest > 0 ? exponent_of(largest) : 0;
    for (int64_t column = first; column < c.s.nrhs; column += step) {
        const T *const solution = x + column * c.s.ldx;
        if (!is_finite(size_of_number(solution[row * c.vector.row])))
            return NOT_FINITE_SOLUTION | (LAST_ROW - (word)row);
        visit_row<T, TRIDIAGONAL>(c, c.s, system, row, [&](int64_t unknown, double size) {
            const double value = size_of_number(solution[unknown * c.vector.row]);
            if (size > 0 && value > 0) { /* what is not finite has a larger word elsewhere */
                const word term =
                    ordered(value, exponent_of(size) - scale) >> (63 - 24) << ROW | (LAST_ROW - (word)unknown);
                best = term > best ? term : best;
            }
            return true;
        });
    }
    return best;
}

/* ---------------------------------------------------------------- ordinary rows */

/** Moduli as the bits of their representation: they order like numbers, and what is not finite is above all. */
template <typename R> struct representation;
template <> struct representation<float> {
    using bits = unsigned;
    static constexpr int MANTISSA_BITS = 23, EXPONENT_BIAS = 127;
};
template <> struct representation<double> {
    using bits = word;
    static constexpr int MANTISSA_BITS = 52, EXPONENT_BIAS = 1023;
};
template <typename T> using bits_of = typename representation<real_of<T>>::bits;

template <typename R> __host__ __device__ inline typename representation<R>::bits bits_of_real(R v)
{
    typename representation<R>::bits bits;
    memcpy(&bits, &v, sizeof bits);
    return bits & ~(typename representation<R>::bits(1) << (8 * sizeof bits - 1));
}
__host__ __device__ inline unsigned bits_of_number(float a) { return bits_of_real(a); }
__host__ __device__ inline word bits_of_number(double a) { return bits_of_real(a); }
template <typename R> __host__ __device__ inline typename representation<R>::bits bits_of_number(complex_of<R> a)
{
    const typename representation<R>::bits re = bits_of_real(a.x), im = bits_of_real(a.y);
    return re > im ? re : im;
}
/** Zero or a normal number. */
template <typename T> __host__ __device__ inline bool is_ordinary(bits_of<T> bits)
{
    using rep = representation<real_of<T>>;
    constexpr bits_of<T> least = bits_of<T>(1) << rep::MANTISSA_BITS, infinite = bits_of<T>(2 * rep::EXPONENT_BIAS + 1)
                                                                                 << rep::MANTISSA_BITS;
    return bits == 0 || bits - least < infinite - least;
}
template <typename T> __host__ __device__ inline int exponent_of_bits(bits_of<T> bits)
{
    return (int)(bits >> representation<real_of<T>>::MANTISSA_BITS) - representation<real_of<T>>::EXPONENT_BIAS;
}
/** `ordered` of an ordinary number that is not zero. */
template <typename T> __host__ __device__ inline word ordered_bits(bits_of<T> bits, int shift)
{
    using rep = representation<real_of<T>>;
    const word aligned = rep::MANTISSA_BITS > MANTISSA
                             ? (word)bits >> (rep::MANTISSA_BITS > MANTISSA ? rep::MANTISSA_BITS - MANTISSA : 0)
                             : (word)bits << (rep::MANTISSA_BITS > MANTISSA ? 0 : MANTISSA - rep::MANTISSA_BITS);
    return aligned + ((word)(BIAS - rep::EXPONENT_BIAS + shift) << MANTISSA);
}

/** Rows of three bands of which all is ordinary that a word depends on, as nearly all rows are: the words of
 *  word_of_given and word_of_solutions by a few integer operations. false: ask those, because something is not, the
 *  row or its column is zero, or it is one of a cyclic system's ends. Right-hand sides and solutions first, first +
 *  step, ...; there is one at least. */
template <typename T> struct ordinary_rows {
    using bits = bits_of<T>;
    const T *band[3]; /* of the entries in columns row - 1, row, row + 1: at row * band_row */
    const T *vector;  /* first; at row * vector_row */
    int64_t rows, band_row, vector_row, vector_step, vectors;
    bool cyclic;

    __host__ __device__ ordinary_rows(const info_call &c, int64_t system, const void *vectors_of_call, int64_t ld,
                                      int64_t first, int64_t step)
        : vector((const T *)vectors_of_call + system * c.vector.system + first * ld), rows(c.s.rows),
          band_row(c.matrix.row), vector_row(c.vector.row), vector_step(step * ld),
          vectors((c.s.nrhs - first + step - 1) / step), cyclic(c.s.cyclic)
    {
#pragma unroll
        for (int k = 0; k < 3; k++)
            band[k] = (const T *)c.s.band[c.s.transposed ? 2 - k : k] + system * c.matrix.system +
                      (c.s.transposed ? (k - 1) * c.matrix.row : 0);
    }
    /** The moduli of a row; 0 where there is no entry. Returns the largest, or 0 if the row is not ordinary. */
    __host__ __device__ bits load(int64_t row, bits (&entry)[3]) const
    {
        const bool is_first = row == 0, is_last = row == rows - 1;
#pragma unroll
        for (int k = 0; k < 3; k++)
            entry[k] = (k == 0 && is_first) || (k == 2 && is_last) ? 0 : bits_of_number(band[k][row * band_row]);
        bits largest = entry[0] > entry[1] ? entry[0] : entry[1];
        largest = entry[2] > largest ? entry[2] : largest;
        const bool ordinary = is_ordinary<T>(entry[0]) && is_ordinary<T>(entry[1]) && is_ordinary<T>(entry[2]) &&
                              !(cyclic && (is_first || is_last));
        return ordinary ? largest : 0;
    }
    __host__ __device__ bool has_column(int64_t row) const
    {
        return (row > 0 && bits_of_number(band[2][(row - 1) * band_row])) ||
               (row < rows - 1 && bits_of_number(band[0][(row + 1) * band_row]));
    }
    __host__ __device__ bool given(int64_t row, word *out) const
    {
        bits entry[3], most = bits_of_number(vector[row * vector_row]);
        const bits largest = load(row, entry);
        bool ordinary = largest && is_ordinary<T>(most);
        for (int64_t j = 1; j < vectors; j++) {
            const bits next = bits_of_number(vector[row * vector_row + j * vector_step]);
            ordinary &= is_ordinary<T>(next);
            most = next > most ? next : most;
        }
        *out = ordinary && most ? ordered_bits<T>(most, -exponent_of_bits<T>(largest)) : 0;
        return ordinary;
    }
    /** Moduli of unknowns row - 1, row, row + 1; 0 where there is none. */
    __host__ __device__ void load_unknowns(int64_t row, int64_t j, bits (&value)[3]) const
    {
        const T *x = vector + row * vector_row + j * vector_step;
        value[0] = row > 0 ? bits_of_number(x[-vector_row]) : 0;
        value[1] = bits_of_number(x[0]);
        value[2] = row < rows - 1 ? bits_of_number(x[vector_row]) : 0;
    }
    __host__ __device__ bool solutions(int64_t row, word *out) const
    {
        bits entry[3], value[3];
        load_unknowns(row, 0, value); /* under way beside the row */
        const bits largest = load(row, entry);
        bool ordinary = largest && (entry[1] || has_column(row));
        const int scale = exponent_of_bits<T>(largest);
        word best = 0;
        for (int64_t j = 0;;) {
#pragma unroll
            for (int k = 0; k < 3; k++) {
                ordinary &= is_ordinary<T>(value[k]);
                const word term = ordered_bits<T>(value[k], exponent_of_bits<T>(entry[k]) - scale) >> (63 - 24) << ROW |
                                  (LAST_ROW - (word)(row + k - 1));
                best = entry[k] && value[k] && term > best ? term : best;
            }
            if (++j >= vectors) break;
            load_unknowns(row, j, value);
        }
        *out = best;
        return ordinary;
    }
};

/** How rows are shared out: `lanes` of a warp, a power of two, take rows lane, lane + lanes, ... of a chunk; a chunk
 *  has lanes * rows_of_lane rows. With several lanes neighbouring threads have neighbouring rows, with one lane a
 *  chunk neighbouring systems. Of the right-hand sides, group k of column_groups takes k, k + column_groups, ... */
struct share {
    int lanes, rows_of_lane;
    int64_t chunks /* of a system */, column_groups;
};
struct lane_rows { int64_t system, begin, end; };

__host__ __device__ inline share share_out(const info_call &c)
{
    constexpr int WARP_LANES = 32, MOST_ROWS_OF_LANE = 64, COLUMNS_OF_GROUP = 16, MOST_GROUPS = 65535;
    constexpr int64_t MANY_LANES = 1 << 17; /* as many as a device runs at once: beyond, a lane takes several rows */
    const int64_t n = c.s.rows * c.s.m, wanted = (n * c.systems + MANY_LANES - 1) / MANY_LANES,
                  groups = (c.s.nrhs + COLUMNS_OF_GROUP - 1) / COLUMNS_OF_GROUP;
    const bool by_systems = c.systems > 1 && c.vector.system < c.vector.row;
    share s = {1, (int)(wanted < MOST_ROWS_OF_LANE ? wanted : MOST_ROWS_OF_LANE), 1,
               groups < MOST_GROUPS ? groups : MOST_GROUPS};
    while (!by_systems && s.lanes < WARP_LANES && s.lanes < n) s.lanes *= 2;
    s.chunks = (n + s.lanes * s.rows_of_lane - 1) / (s.lanes * s.rows_of_lane);
    return s;
}

/** Rows begin, begin + lanes, ... before `end` of a system; none for threads beyond the last chunk. */
__host__ __device__ inline lane_rows rows_of_thread(const info_call &c, const share &s, int64_t thread)
{
    const int64_t n = c.s.rows * c.s.m, group = thread / s.lanes, rows_of_chunk = s.lanes * s.rows_of_lane;
    const int64_t system = s.lanes == 1 ? group % c.systems : group / s.chunks,
                  chunk = s.lanes == 1 ? group / c.systems : group % s.chunks;
    const int64_t begin = chunk * rows_of_chunk, end = begin + rows_of_chunk;
    if (group >= c.systems * s.chunks) return {0, 0, 0};
    return {system, begin + thread % s.lanes, end < n ? end : n};
}

/** The condition from which on a matrix is taken for singular. A random right-hand side shows less than there is: of
 *  exactly singular matrices, whose vanishing pivot has become a rounding error, many stay below 1 / eps, few below
 *  this (docs/notes/gtsv-info.md). */
__host__ __device__ inline double limit_of(double eps) { return 1 / (16 * eps); }

/** What the largest words of a system say. */
__host__ __device__ inline trine_gtsv_info judgement(word given, word solutions, double limit)
{
    const int64_t row = (int64_t)(LAST_ROW - (solutions & LAST_ROW)),
                  row_given = (int64_t)(LAST_ROW - (given & LAST_ROW));
    if (given >= NOT_FINITE) return {NAN, row_given};
    if (given >= ZERO_ROW) return {INFINITY, row_given};
    if (solutions >= NOT_FINITE_SOLUTION) return {INFINITY, row};
    if (!solutions) return {0, -1};
    if (!given) return {INFINITY, row};
    const word size = solutions >> ROW << (63 - 24);
    const double condition =
        ldexp(mantissa_of(size) / mantissa_of(given), exponent_of_word(size) - exponent_of_word(given));
    return {condition, condition >= limit ? row : -1};
}

} // namespace trine_info

#endif
