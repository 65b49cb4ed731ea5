/* Rows times one vector in vectors of AVX-512, which CMakeLists.txt asks for; lanes.inc has the loops. A vector holds
 * LANES elements: 8, of double complex 4. Compiled twice: lanes_gathers.c defines LANES_BY_GATHERS. */
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#include "core/scalar.h"
#include "spmv/cpu/rows.h"

#define NEVER_INLINE __attribute__((noinline)) /* what has registers for itself alone */

enum { BLOCK = 256 }; /* entries that are added up by themselves; no more in rows that are alike */

/* Entries to come: the prefetchers of processors stop at the ends of pages, and rows are short. Bytes ahead. Not of
 * matrices of at most NEAR_BYTES, which a last-level cache holds: prefetches then only take the place of loads. */
enum { NEAR_BYTES = 1 << 23, VALUES_AHEAD = 8192, COLUMNS_AHEAD = 2048, SHIFTED_AHEAD = 4096 };
/* Values to the second-level cache: the few misses that the first may have at a time are left to elements of x. */
#define PREFETCH_VALUES(p) __builtin_prefetch((const char *)(p) + VALUES_AHEAD, 0, 2)
#define PREFETCH_COLUMNS(p) __builtin_prefetch((const char *)(p) + COLUMNS_AHEAD)

#define FIRST(n) ((__mmask8)_bzhi_u32(0xFF, (unsigned)(n)))

/** Two columns, loaded as one: loads are what a product waits for. No column is negative. */
INLINE_ALWAYS uint64_t two_columns(const int32_t *columns)
{
    uint64_t both;
    memcpy(&both, columns, sizeof both);
    return both;
}
#define LOW(both) ((int64_t)(uint32_t)(both))
#define HIGH(both) ((int64_t)((both) >> 32))

/* ------------------------------------------------------------------- float */

typedef __m256 vector_s;
enum { LANES_s = 8 };

INLINE_ALWAYS vector_s zero_s(void) { return _mm256_setzero_ps(); }
INLINE_ALWAYS vector_s load_s(const float *p) { return _mm256_loadu_ps(p); }
INLINE_ALWAYS vector_s load_some_s(int64_t n, const float *p) { return _mm256_maskz_loadu_ps(FIRST(n), p); }
INLINE_ALWAYS void store_some_s(int64_t n, float *p, vector_s a) { _mm256_mask_storeu_ps(p, FIRST(n), a); }
INLINE_ALWAYS vector_s keep_s(int64_t n, vector_s a) { return _mm256_maskz_mov_ps(FIRST(n), a); }
INLINE_ALWAYS vector_s plus_s(vector_s a, vector_s b) { return _mm256_add_ps(a, b); }
INLINE_ALWAYS vector_s scale_s(const double *factor, vector_s a)
{
    return _mm256_mul_ps(_mm256_set1_ps((float)factor[0]), a);
}

#ifndef LANES_BY_GATHERS
INLINE_ALWAYS __m128 pick_4_s(const int32_t *columns, const float *x)
{
    const uint64_t first = two_columns(columns), second = two_columns(columns + 2);
    __m128 a = _mm_insert_ps(_mm_load_ss(x + LOW(first)), _mm_load_ss(x + HIGH(first)), 0x10);
    a = _mm_insert_ps(a, _mm_load_ss(x + LOW(second)), 0x20);
    return _mm_insert_ps(a, _mm_load_ss(x + HIGH(second)), 0x30);
}
#endif
INLINE_ALWAYS vector_s pick_s(const int32_t *columns, const float *x)
{
#ifdef LANES_BY_GATHERS
    const __m256i at = _mm256_loadu_si256((const void *)columns);
    return _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), FIRST(8), at, x, sizeof *x);
#else
    return _mm256_insertf128_ps(_mm256_castps128_ps256(pick_4_s(columns, x)), pick_4_s(columns + 4, x), 1);
#endif
}

/** Lane j: the sum of all lanes of rows[j]. */
INLINE_ALWAYS vector_s add_lanes_s(const vector_s *rows)
{
    const vector_s a = _mm256_hadd_ps(_mm256_hadd_ps(rows[0], rows[1]), _mm256_hadd_ps(rows[2], rows[3])),
                   b = _mm256_hadd_ps(_mm256_hadd_ps(rows[4], rows[5]), _mm256_hadd_ps(rows[6], rows[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

INLINE_ALWAYS void transpose_s(const vector_s *rows, vector_s *columns)
{
    __m256d pairs[8], fours[8];
    for (int j = 0; j < 4; j++) {
        pairs[2 * j] = _mm256_castps_pd(_mm256_unpacklo_ps(rows[2 * j], rows[2 * j + 1]));
        pairs[2 * j + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(rows[2 * j], rows[2 * j + 1]));
    }
    for (int j = 0; j < 8; j += 4)
        for (int k = 0; k < 2; k++) {
            fours[j + 2 * k] = _mm256_unpacklo_pd(pairs[j + k], pairs[j + 2 + k]);
            fours[j + 2 * k + 1] = _mm256_unpackhi_pd(pairs[j + k], pairs[j + 2 + k]);
        }
    for (int j = 0; j < 4; j++) {
        columns[j] = _mm256_castpd_ps(_mm256_permute2f128_pd(fours[j], fours[4 + j], 0x20));
        columns[4 + j] = _mm256_castpd_ps(_mm256_permute2f128_pd(fours[j], fours[4 + j], 0x31));
    }
}

typedef vector_s sum_s;
INLINE_ALWAYS sum_s no_sum_s(void) { return _mm256_setzero_ps(); }
INLINE_ALWAYS void add_products_s(sum_s *sum, vector_s a, vector_s x) { *sum = _mm256_fmadd_ps(a, x, *sum); }
INLINE_ALWAYS void add_sum_s(sum_s *sum, const sum_s *more) { *sum = _mm256_add_ps(*sum, *more); }
INLINE_ALWAYS vector_s result_s(const sum_s *sum) { return *sum; }

/* Sixteen shifted rows at a time take half the shuffles of eight and eight. Products and sums are those of
 * FN(shifted_rows), lane by lane. */

/** Columns 0 <= . < 8 of sixteen rows of `length` entries that begin at `values`, as vectors of rows; where a row has
 *  fewer, the first `width` of them. */
INLINE_ALWAYS void load_16_rows(const float *values, int64_t length, int width, __m512 *columns)
{
    __m512d pairs[8], fours[8];
    __m512 rows[8]; /* 0 and 4, ..., 3 and 7; 8 and 12, ..., 11 and 15: halves of a vector */
    for (int q = 0; q < 8; q++) {
        const float *first = values + (q < 4 ? q : q + 4) * length, *second = first + 4 * length;
        rows[q] = width == 8
                      ? _mm512_insertf32x8(_mm512_zextps256_ps512(_mm256_loadu_ps(first)), _mm256_loadu_ps(second), 1)
                      : _mm512_mask_loadu_ps(_mm512_zextps256_ps512(_mm256_maskz_loadu_ps(FIRST(width), first)),
                                             (__mmask16)(FIRST(width) << 8), second - 8);
    }
    for (int j = 0; j < 4; j++) {
        pairs[2 * j] = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2 * j], rows[2 * j + 1]));
        pairs[2 * j + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2 * j], rows[2 * j + 1]));
    }
    for (int j = 0; j < 8; j += 4)
        for (int k = 0; k < 2; k++) {
            fours[j + 2 * k] = _mm512_unpacklo_pd(pairs[j + k], pairs[j + 2 + k]);
            fours[j + 2 * k + 1] = _mm512_unpackhi_pd(pairs[j + k], pairs[j + 2 + k]);
        }
    for (int j = 0; j < 4; j++) {
        columns[j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(fours[j], fours[4 + j], 0x88));
        columns[4 + j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(fours[j], fours[4 + j], 0xDD));
    }
}

INLINE_ALWAYS void add_16_rows(bool is_far, const float *values, int64_t length, int width, const int32_t *columns,
                               const float *x, __m512 *sums)
{
    __m512 by_column[8];
    load_16_rows(values, length, width, by_column);
#pragma GCC unroll 8
    for (int c = 0; c < width; c++) {
        if (is_far) PREFETCH_VALUES(values + 16 * c);
        sums[c % 2] = _mm512_fmadd_ps(by_column[c], _mm512_loadu_ps(x + columns[c]), sums[c % 2]);
    }
}

/** sums: of sixteen rows, eight in each. columns: of the run's first row; x: as many elements on as that is back. */
INLINE_ALWAYS void sum_16_rows_s(bool is_far, const float *values, int64_t length, const int32_t *columns,
                                 const float *x, vector_s *sums)
{
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    int64_t j = 0;
    for (; length - j >= 8; j += 8) add_16_rows(is_far, values + j, length, 8, columns + j, x, sum);
    switch (length - j) {
#define WIDTH(w) \
    case w: add_16_rows(is_far, values + j, length, w, columns + j, x, sum); break;
        /* clang-format off */
        WIDTH(1) WIDTH(2) WIDTH(3) WIDTH(4) WIDTH(5) WIDTH(6) WIDTH(7)
#undef WIDTH
        default: break;
        /* clang-format on */
    }
    const __m512 all = _mm512_add_ps(sum[0], sum[1]);
    sums[0] = _mm512_castps512_ps256(all);
    sums[1] = _mm512_extractf32x8_ps(all, 1);
}

/* ------------------------------------------------------------------ double */

typedef __m512d vector_d;
enum { LANES_d = 8 };

INLINE_ALWAYS vector_d zero_d(void) { return _mm512_setzero_pd(); }
INLINE_ALWAYS vector_d load_d(const double *p) { return _mm512_loadu_pd(p); }
INLINE_ALWAYS vector_d load_some_d(int64_t n, const double *p) { return _mm512_maskz_loadu_pd(FIRST(n), p); }
INLINE_ALWAYS void store_some_d(int64_t n, double *p, vector_d a) { _mm512_mask_storeu_pd(p, FIRST(n), a); }
INLINE_ALWAYS vector_d keep_d(int64_t n, vector_d a) { return _mm512_maskz_mov_pd(FIRST(n), a); }
INLINE_ALWAYS vector_d plus_d(vector_d a, vector_d b) { return _mm512_add_pd(a, b); }
INLINE_ALWAYS vector_d scale_d(const double *factor, vector_d a) { return _mm512_mul_pd(_mm512_set1_pd(factor[0]), a); }

#ifndef LANES_BY_GATHERS
INLINE_ALWAYS __m256d pick_4_d(const int32_t *columns, const double *x)
{
    const uint64_t first = two_columns(columns), second = two_columns(columns + 2);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadh_pd(_mm_load_sd(x + LOW(first)), x + HIGH(first))),
                                _mm_loadh_pd(_mm_load_sd(x + LOW(second)), x + HIGH(second)), 1);
}
#endif
INLINE_ALWAYS vector_d pick_d(const int32_t *columns, const double *x)
{
#ifdef LANES_BY_GATHERS
    const __m256i at = _mm256_loadu_si256((const void *)columns);
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), FIRST(8), at, x, sizeof *x);
#else
    return _mm512_insertf64x4(_mm512_castpd256_pd512(pick_4_d(columns, x)), pick_4_d(columns + 4, x), 1);
#endif
}

/* Of 128-bit parts of two vectors: those with even and with odd numbers. */
#define EVEN(a, b) _mm512_shuffle_f64x2(a, b, 0x88)
#define ODD(a, b) _mm512_shuffle_f64x2(a, b, 0xDD)

INLINE_ALWAYS vector_d add_lanes_d(const vector_d *rows)
{
    vector_d pairs[4], fours[2];
    for (int j = 0; j < 4; j++)
        pairs[j] = _mm512_add_pd(_mm512_unpacklo_pd(rows[2 * j], rows[2 * j + 1]),
                                 _mm512_unpackhi_pd(rows[2 * j], rows[2 * j + 1]));
    for (int j = 0; j < 2; j++)
        fours[j] = _mm512_add_pd(EVEN(pairs[2 * j], pairs[2 * j + 1]), ODD(pairs[2 * j], pairs[2 * j + 1]));
    return _mm512_add_pd(EVEN(fours[0], fours[1]), ODD(fours[0], fours[1]));
}

INLINE_ALWAYS void transpose_d(const vector_d *rows, vector_d *columns)
{
    for (int k = 0; k < 2; k++) { /* even columns, odd columns */
        vector_d pairs[4];
        for (int j = 0; j < 4; j++)
            pairs[j] =
                k ? _mm512_unpackhi_pd(rows[2 * j], rows[2 * j + 1]) : _mm512_unpacklo_pd(rows[2 * j], rows[2 * j + 1]);
        const vector_d low[2] = {EVEN(pairs[0], pairs[1]), EVEN(pairs[2], pairs[3])},
                       high[2] = {ODD(pairs[0], pairs[1]), ODD(pairs[2], pairs[3])};
        columns[k] = EVEN(low[0], low[1]);
        columns[2 + k] = EVEN(high[0], high[1]);
        columns[4 + k] = ODD(low[0], low[1]);
        columns[6 + k] = ODD(high[0], high[1]);
    }
}

typedef vector_d sum_d;
INLINE_ALWAYS sum_d no_sum_d(void) { return _mm512_setzero_pd(); }
INLINE_ALWAYS void add_products_d(sum_d *sum, vector_d a, vector_d x) { *sum = _mm512_fmadd_pd(a, x, *sum); }
INLINE_ALWAYS void add_sum_d(sum_d *sum, const sum_d *more) { *sum = _mm512_add_pd(*sum, *more); }
INLINE_ALWAYS vector_d result_d(const sum_d *sum) { return *sum; }

/* ----------------------------------------------------------- float complex */

/* Pairs of floats move as doubles do. */
typedef vector_d vector_c;
enum { LANES_c = 8 };
#define FLOATS(a) _mm512_castpd_ps(a)
#define DOUBLES(a) _mm512_castps_pd(a)
#define AS_DOUBLES(p) ((const double *)(const void *)(p))

INLINE_ALWAYS vector_c zero_c(void) { return _mm512_setzero_pd(); }
INLINE_ALWAYS vector_c load_c(const float complex *p) { return _mm512_loadu_pd(p); }
INLINE_ALWAYS vector_c load_some_c(int64_t n, const float complex *p) { return _mm512_maskz_loadu_pd(FIRST(n), p); }
INLINE_ALWAYS void store_some_c(int64_t n, float complex *p, vector_c a) { _mm512_mask_storeu_pd(p, FIRST(n), a); }
INLINE_ALWAYS vector_c keep_c(int64_t n, vector_c a) { return _mm512_maskz_mov_pd(FIRST(n), a); }
INLINE_ALWAYS vector_c plus_c(vector_c a, vector_c b) { return DOUBLES(_mm512_add_ps(FLOATS(a), FLOATS(b))); }
INLINE_ALWAYS vector_c pick_c(const int32_t *columns, const float complex *x) { return pick_d(columns, AS_DOUBLES(x)); }
INLINE_ALWAYS void transpose_c(const vector_c *rows, vector_c *columns) { transpose_d(rows, columns); }

INLINE_ALWAYS vector_c add_lanes_c(const vector_c *rows)
{
    vector_c pairs[4], fours[2];
    for (int j = 0; j < 4; j++)
        pairs[j] =
            plus_c(_mm512_unpacklo_pd(rows[2 * j], rows[2 * j + 1]), _mm512_unpackhi_pd(rows[2 * j], rows[2 * j + 1]));
    for (int j = 0; j < 2; j++)
        fours[j] = plus_c(EVEN(pairs[2 * j], pairs[2 * j + 1]), ODD(pairs[2 * j], pairs[2 * j + 1]));
    return plus_c(EVEN(fours[0], fours[1]), ODD(fours[0], fours[1]));
}

/** A real factor leaves infinite parts as they are. */
INLINE_ALWAYS vector_c scale_c(const double *factor, vector_c a)
{
    const __m512 real = _mm512_set1_ps((float)factor[0]), imaginary = _mm512_set1_ps((float)factor[1]);
    if (factor[1] == 0) return DOUBLES(_mm512_mul_ps(real, FLOATS(a)));
    return DOUBLES(_mm512_fmaddsub_ps(real, FLOATS(a), _mm512_mul_ps(imaginary, _mm512_permute_ps(FLOATS(a), 0xB1))));
}

/** Both parts of a times the real part of x, and times the imaginary part. */
typedef struct { __m512 by_real, by_imaginary; } sum_c;
INLINE_ALWAYS sum_c no_sum_c(void) { return (sum_c){_mm512_setzero_ps(), _mm512_setzero_ps()}; }
INLINE_ALWAYS void add_products_c(sum_c *sum, vector_c a, vector_c x)
{
    sum->by_real = _mm512_fmadd_ps(FLOATS(a), _mm512_moveldup_ps(FLOATS(x)), sum->by_real);
    sum->by_imaginary = _mm512_fmadd_ps(FLOATS(a), _mm512_movehdup_ps(FLOATS(x)), sum->by_imaginary);
}
INLINE_ALWAYS void add_sum_c(sum_c *sum, const sum_c *more)
{
    sum->by_real = _mm512_add_ps(sum->by_real, more->by_real);
    sum->by_imaginary = _mm512_add_ps(sum->by_imaginary, more->by_imaginary);
}
INLINE_ALWAYS vector_c result_c(const sum_c *sum)
{
    return DOUBLES(_mm512_fmaddsub_ps(sum->by_real, _mm512_set1_ps(1), _mm512_permute_ps(sum->by_imaginary, 0xB1)));
}

/* ---------------------------------------------------------- double complex */

typedef vector_d vector_z;
enum { LANES_z = 4 };
#define FIRST_PAIRS(n) FIRST(2 * (n))

INLINE_ALWAYS vector_z zero_z(void) { return _mm512_setzero_pd(); }
INLINE_ALWAYS vector_z load_z(const double complex *p) { return _mm512_loadu_pd(p); }
INLINE_ALWAYS vector_z load_some_z(int64_t n, const double complex *p)
{
    return _mm512_maskz_loadu_pd(FIRST_PAIRS(n), p);
}
INLINE_ALWAYS void store_some_z(int64_t n, double complex *p, vector_z a)
{
    _mm512_mask_storeu_pd(p, FIRST_PAIRS(n), a);
}
INLINE_ALWAYS vector_z keep_z(int64_t n, vector_z a) { return _mm512_maskz_mov_pd(FIRST_PAIRS(n), a); }
INLINE_ALWAYS vector_z plus_z(vector_z a, vector_z b) { return _mm512_add_pd(a, b); }
INLINE_ALWAYS __m256d pick_2_z(const int32_t *columns, const double complex *x)
{
    const uint64_t both = two_columns(columns);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(AS_DOUBLES(x + LOW(both)))),
                                _mm_loadu_pd(AS_DOUBLES(x + HIGH(both))), 1);
}
INLINE_ALWAYS vector_z pick_z(const int32_t *columns, const double complex *x)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(pick_2_z(columns, x)), pick_2_z(columns + 2, x), 1);
}

INLINE_ALWAYS vector_z add_lanes_z(const vector_z *rows)
{
    const vector_z a = _mm512_add_pd(EVEN(rows[0], rows[1]), ODD(rows[0], rows[1])),
                   b = _mm512_add_pd(EVEN(rows[2], rows[3]), ODD(rows[2], rows[3]));
    return _mm512_add_pd(EVEN(a, b), ODD(a, b));
}

INLINE_ALWAYS void transpose_z(const vector_z *rows, vector_z *columns)
{
    const vector_z even[2] = {EVEN(rows[0], rows[1]), EVEN(rows[2], rows[3])},
                   odd[2] = {ODD(rows[0], rows[1]), ODD(rows[2], rows[3])};
    columns[0] = EVEN(even[0], even[1]);
    columns[1] = EVEN(odd[0], odd[1]);
    columns[2] = ODD(even[0], even[1]);
    columns[3] = ODD(odd[0], odd[1]);
}

INLINE_ALWAYS vector_z scale_z(const double *factor, vector_z a)
{
    const __m512d real = _mm512_set1_pd(factor[0]), imaginary = _mm512_set1_pd(factor[1]);
    if (factor[1] == 0) return _mm512_mul_pd(real, a);
    return _mm512_fmaddsub_pd(real, a, _mm512_mul_pd(imaginary, _mm512_permute_pd(a, 0x55)));
}

typedef struct { __m512d by_real, by_imaginary; } sum_z;
INLINE_ALWAYS sum_z no_sum_z(void) { return (sum_z){_mm512_setzero_pd(), _mm512_setzero_pd()}; }
INLINE_ALWAYS void add_products_z(sum_z *sum, vector_z a, vector_z x)
{
    sum->by_real = _mm512_fmadd_pd(a, _mm512_movedup_pd(x), sum->by_real);
    sum->by_imaginary = _mm512_fmadd_pd(a, _mm512_permute_pd(x, 0xFF), sum->by_imaginary);
}
INLINE_ALWAYS void add_sum_z(sum_z *sum, const sum_z *more)
{
    sum->by_real = _mm512_add_pd(sum->by_real, more->by_real);
    sum->by_imaginary = _mm512_add_pd(sum->by_imaginary, more->by_imaginary);
}
INLINE_ALWAYS vector_z result_z(const sum_z *sum)
{
    return _mm512_fmaddsub_pd(sum->by_real, _mm512_set1_pd(1), _mm512_permute_pd(sum->by_imaginary, 0x55));
}

/* --------------------------------------------------------------- the loops */

/* Not called: floats alone have room for sixteen rows. */
#define NO_16_ROWS(letter, T)                                                                                       \
    INLINE_ALWAYS void sum_16_rows_##letter(bool is_far, const T *values, int64_t length, const int32_t *columns,   \
                                            const T *x, vector_##letter *sums)                                      \
    {                                                                                                               \
        (void)is_far, (void)values, (void)length, (void)columns, (void)x, (void)sums;                               \
    }
NO_16_ROWS(d, double)
NO_16_ROWS(c, float complex)
NO_16_ROWS(z, double complex)

#define TEMPLATE "spmv/cpu/times.inc"
#include "core/each_dtype.h"
#define TEMPLATE "spmv/cpu/lanes.inc"
#include "core/each_dtype.h"

#ifdef LANES_BY_GATHERS
const cpu_rows_fn cpu_lanes_by_gathers[] = TABLE(lanes);
#else
/** Whether a gather of 8 elements takes less than 8 loads and the shuffles behind them: on Intel's processors from
 *  Sapphire Rapids on, which have AVX512-FP16. On earlier ones microcode against a leak makes gathers slow, on AMD's
 *  they are. */
static bool has_fast_gathers(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_is("intel") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 23 & 1;
}

const cpu_rows_fn *cpu_lanes(void)
{
    static const cpu_rows_fn lanes[] = TABLE(lanes);
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2") &&
          __builtin_cpu_supports("fma")))
        return NULL;
    static int gathers; /* 0: not asked yet; 1, 2: no, yes. Asking is slow: the machine below may answer */
    int found = __atomic_load_n(&gathers, __ATOMIC_RELAXED);
    if (!found) __atomic_store_n(&gathers, found = 1 + has_fast_gathers(), __ATOMIC_RELAXED);
    return found == 2 ? cpu_lanes_by_gathers : lanes;
}
#endif
