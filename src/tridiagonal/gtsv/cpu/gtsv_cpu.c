/* Tridiagonal solve on the CPU by recursive partitioned Schur complements; the arithmetic is common/partition.h. */
#include <float.h>
#include <pthread.h>
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/common/finite.h"
#include "tridiagonal/common/hierarchy.h"
#include "tridiagonal/common/loops.h"
#include "tridiagonal/common/wide_row_types.h"

enum {
    LANES = 16,                       /* partitions eliminated together */
    WHOLE_ROWS = 64,                  /* systems of a batch, and cyclic ones, up to this size are one partition of a
                                         tile */
    SERIAL_ROWS = 256,                /* other systems up to this size are solved row by row, unless a partition is
                                         asked for */
    TILE_ROWS = WHOLE_ROWS + 2,
    ROWS_AT_ONCE = 8192,              /* of a loop over rows; */
    GROUPS_AT_ONCE = 4,               /* over groups of LANES partitions */
    RPTS_CPU_PARTITION = 32,
    TOLERANCE = 16,                   /* rounding errors of a row's terms that its residual may have before a
                                         partition is solved again, */
    LARGE_ERROR = 24,                 /* and before another step of refinement, */
    MOST_STEPS = 8                    /* of which there are no more */
};

/* The loops over the lanes of a tile: functions of their own, where GCC vectorizes them best, compiled for wider
 * vectors too. The arithmetic is the same in each (no fused multiply-add), so that results do not depend on the
 * processor. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LANE_LOOP __attribute__((noinline, target_clones("default", "avx2", "avx512f")))
#define LANE_LOOP_AVX2 __attribute__((noinline, target_clones("default", "avx2")))
#else
#define LANE_LOOP __attribute__((noinline))
#define LANE_LOOP_AVX2 LANE_LOOP
#endif
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* to[j][l] = from[l][j] for `rows` values of j and `lanes` of l: elements of `size` bytes (4, 8 or 16), `from` in
 * columns that are from_step bytes apart, `to` in rows that are to_step bytes apart; in squares of 4 x 4 elements
 * (of 16 bytes: one by one). */
typedef float four_floats __attribute__((vector_size(16)));
typedef double two_doubles __attribute__((vector_size(16)));
typedef double four_doubles __attribute__((vector_size(32)));

static inline void transpose_floats(const char *from, int64_t from_step, char *to, int64_t to_step)
{
    four_floats a, b, c, d, row[4];
    memcpy(&a, from, 16);
    memcpy(&b, from + from_step, 16);
    memcpy(&c, from + 2 * from_step, 16);
    memcpy(&d, from + 3 * from_step, 16);
    const four_floats ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const four_floats ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                      cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    row[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    row[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    row[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
    for (int k = 0; k < 4; k++) memcpy(to + k * to_step, &row[k], 16);
}

static inline void join(const char *left, const char *right, four_doubles *both)
{
    two_doubles a, b;
    memcpy(&a, left, 16);
    memcpy(&b, right, 16);
    *both = __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

static inline void transpose_doubles(const char *from, int64_t from_step, char *to, int64_t to_step)
{
    for (int half = 0; half < 2; half++, from += 16, to += 2 * to_step) {
        four_doubles even, odd;
        join(from, from + 2 * from_step, &even);
        join(from + from_step, from + 3 * from_step, &odd);
        const four_doubles low = __builtin_shufflevector(even, odd, 0, 4, 2, 6),
                           high = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
        memcpy(to, &low, 32);
        memcpy(to + to_step, &high, 32);
    }
}

enum { STRIP = 8 }; /* rows: a cache line of doubles */

/** One strip of rows. lanes divide by 4. */
static ALWAYS_INLINE void transpose_strip(size_t size, const char *from, int64_t from_step, char *to, int64_t to_step,
                                          int lanes)
{
    for (int l = 0; l < lanes; l += 4, from += 4 * from_step, to += 4 * size)
        for (int j = 0; j < STRIP; j += 4) {
            const char *here = from + j * (int64_t)size;
            char *there = to + j * to_step;
            if (size == 4) transpose_floats(here, from_step, there, to_step);
            else if (size == 8) transpose_doubles(here, from_step, there, to_step);
            else
                for (int k = 0; k < 16; k++)
                    memcpy(there + k / 4 * to_step + k % 4 * 16, here + k % 4 * from_step + k / 4 * 16, 16);
        }
}

/** rows divide by STRIP, lanes by 4. */
static LANE_LOOP void transpose(size_t size, const void *from, int64_t from_step, void *to, int64_t to_step, int rows,
                                int lanes)
{
    for (int j = 0; j < rows; j += STRIP)
        transpose_strip(size, (const char *)from + j * size, from_step, (char *)to + j * to_step, to_step, lanes);
}

enum { REGULAR = -1 };
enum { WIDE = 1, SINGULAR = 2 };
/** Where a pivot was zero, or (is_infinite) an unknown is not finite although all that was given is; system -1:
 *  nowhere. */
typedef struct {
    int64_t system, row;
    bool is_infinite;
} batch_pivot;
static const batch_pivot no_zero_pivot = {-1, -1, false};

#define TEMPLATE "tridiagonal/gtsv/cpu/gtsv_cpu.inc"
#include "core/each_dtype.h"

typedef int64_t (*gtsv_fn)(const rpts_options *, const rpts_plan *, const void *, const void *, const void *,
                           const void *, int64_t, void *, int64_t, void *);
static const gtsv_fn gtsv[] = TABLE(gtsv);

typedef batch_pivot (*gtsv_batch_fn)(const gtsv_batch *, int, void *);
static const gtsv_batch_fn batch_of[] = TABLE(gtsv_batch);

static trine_status prepare(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, rpts_options *o,
                            rpts_plan *plan, size_t *bytes)
{
    trine_status status = rpts_check_options(t, n, nrhs, options, o);
    if (status) return status;
    const int direct_rows = o->cyclic || o->partition ? WHOLE_ROWS : SERIAL_ROWS;
    if (!o->partition) o->partition = RPTS_CPU_PARTITION;
    rpts_make_plan(n, nrhs, o->cyclic, o->partition, direct_rows, plan);
    return rpts_bytes(n, nrhs, plan->elements, 2 * o->refine, t, bytes); /* right-hand sides, corrections */
}

trine_status gtsv_on_cpu_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                   const trine_gtsv_options *options, size_t *bytes)
{
    rpts_options o;
    rpts_plan plan;
    const trine_status status = prepare(t, n, nrhs, options, &o, &plan, bytes);
    if (!status) rpts_start_team(at, n * nrhs);
    return status;
}

trine_status gtsv_on_cpu(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    rpts_options o;
    rpts_plan plan;
    size_t needed = 0;
    trine_status status = TRINE_SUCCESS;
    TRY(prepare(t, n, nrhs, options, &o, &plan, &needed));
    REQUIRE(!n || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    TRY(rpts_check_vectors(n, nrhs, D, ldd, X, ldx));
    TRY(rpts_check_work(work, work_bytes, needed));
    o.ctx = at->ctx, o.threads = at->ctx->threads;
    banded_system given = banded_of_blocks(t, n, 1, options, a, b, c);
    given.nrhs = n ? nrhs : 0, given.D = D, given.ldd = ldd, given.X = X, given.ldx = ldx;
    const bool was_finite = finite_before(at->ctx, &given);
    const int64_t row = n && nrhs ? gtsv[t](&o, &plan, a, b, c, D, ldd, X, ldx, work) : REGULAR;
    if (row != REGULAR)
        FAIL(
            TRINE_ERR_SINGULAR,
            "the pivot in row %lld is exactly zero: the matrix of n = %lld rows is singular, or rounding or underflow made it so",
            (long long)row, (long long)n);
    TRY(finite_after(at->ctx, &given, was_finite));
done:
    return status;
}

/** A copy of a system and the stages of its solve for each thread. */
static trine_status prepare_batch(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                                  const trine_gtsv_options *options, gtsv_batch *batch, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    *batch = (gtsv_batch){.t = t, .n = n, .systems = systems};
    REQUIRE(systems >= 0 && (!n || systems <= INT64_MAX / 256 / (n > 0 ? n : 1)), "systems is %lld",
            (long long)systems);
    TRY(prepare(t, n, 1, options, &batch->o, &batch->plan, bytes));
    batch->o.ctx = at->ctx, batch->o.threads = at->ctx->threads;
    *bytes = 0;
    if (n > WHOLE_ROWS) TRY(rpts_bytes(4 * n + batch->plan.elements, batch->o.threads, 0, 1, t, bytes));
done:
    return status;
}

trine_status batch_on_cpu_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                                    const trine_gtsv_options *options, size_t *bytes)
{
    gtsv_batch batch;
    const trine_status status = prepare_batch(at, t, n, systems, options, &batch, bytes);
    if (!status) rpts_start_team(at, n * systems);
    return status;
}

trine_status batch_on_cpu(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                          const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                          trine_strides matrix_strides, const void *D, void *X, trine_strides vector_strides,
                          void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    gtsv_batch batch;
    size_t needed = 0;
    TRY(prepare_batch(at, t, n, systems, options, &batch, &needed));
    TRY(rpts_check_batch(a, b, c, matrix_strides, D, X, vector_strides, &batch));
    TRY(rpts_check_work(work, work_bytes, needed));
    const int threads = batch.o.threads;
    batch.o.threads = 1; /* of one system */
    if (n && systems) {
        const batch_pivot zero = batch_of[t](&batch, threads, work);
        if (zero.is_infinite)
            FAIL(
                TRINE_ERR_SINGULAR,
                "unknown %lld of system %lld of %lld is not finite, while all that was given is: the system is singular to working precision, or its solution beyond the range of that",
                (long long)zero.row, (long long)zero.system, (long long)systems);
        if (zero.system >= 0)
            FAIL(
                TRINE_ERR_SINGULAR,
                "the pivot in row %lld is exactly zero: system %lld of %lld is singular, or rounding or underflow made it so",
                (long long)zero.row, (long long)zero.system, (long long)systems);
    }
done:
    return status;
}
