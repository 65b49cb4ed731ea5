/* The hierarchy of systems that the partitioned solve walks down and up; the same on the CPU and on the GPU.
 *
 * Words of this module:
 *   partition     consecutive rows whose inner unknowns are eliminated together; a thread's, a lane's or a warp's work
 *   interface where two neighbours meet: the last unknown of the one, the first unknown of the other, and the interface
 *   rows, which
 *                 hold these. Two rows are left of a partition, one for each of its own two interface unknowns
 *   coarse system the system of all interface rows
 *   union neighbouring partitions taken as one, once the unknowns where they meet are eliminated: two rows are left of
 *   it as well.
 *                 Unions of unions are a binary tree; its leaves are the partitions of single lanes
 *   tile the partitions of the 32 lanes of a warp (on the CPU: LANES of them), side by side in shared memory or in a
 *   cache
 *   known the four unknowns from which a partition is solved, x[before], x[first], x[last], x[after]: its own ends, and
 *   those
 *                 of its neighbours that are next to it
 *   lost, suspect digits are lost where the two rows that are left of a partition or a union are nearly the same row
 *   (rpts_lost_digits)
 *   wide rows what is kept instead of two such rows: two rows with four coefficients, over all of known; a pair of them
 *   is a wide pair
 *                 (common/wide_rows.h)
 *   carefully with all rows of a partition competing for pivots, and with wide rows: the slow way, where digits have
 *   been lost
 *   stage on the GPU by stages, and on the CPU: one reduction to a coarse system, and the substitution from its
 *   solution */
#ifndef TRINE_TRIDIAGONAL_COMMON_HIERARCHY_H
#define TRINE_TRIDIAGONAL_COMMON_HIERARCHY_H

#include <trine/tridiagonal.h>

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RPTS_MAX_STAGES 64

/** One reduction: n rows in `partitions` partitions of `partition` rows leave coarse_n rows. If that does not divide
 *  n, the last partition has last_rows rows and only `full` of them are whole. Its inner block should be of even
 *  order as the others' are (tridiag(1, tiny, 1) of odd order is nearly singular), so that last_rows is rounded up
 *  to an even number by a row of the identity; not so in a cyclic system, where the last row has a neighbour, and
 *  where a single row is its own coarse row. */
typedef struct {
    int64_t n, partitions, full, coarse_n;
    int64_t coarse_ld; /* coarse_n rounded up, so that every coarse array starts on 16 bytes */
    int partition, last_rows;
} rpts_stage;

/** Stages until at most direct_rows are left, and the elements of all coarse systems with their right-hand sides. */
typedef struct {
    int64_t n;
    int stages;
    rpts_stage stage[RPTS_MAX_STAGES];
    int64_t elements;
} rpts_plan;

/** Binary digits that the two rows of a partition, or of a union of some, may lose by being nearly the same. Beyond,
 *  they are taken for wide rows (common/wide_rows.h): what one such place costs then does not show in the norm of
 *  the error of a system of n rows. */
static inline int rpts_lost_digits(int64_t n)
{
    int digits = 4;
    for (int64_t rows = 64; rows < n && digits < 16; rows *= rows < 16384 ? 4 : 2) digits++;
    return digits;
}

/** Digits from which on two such places among a warp's rows are too much. */
static inline int rpts_suspect_digits(int digits) { return digits < 8 ? digits : 8; }

void rpts_make_plan(int64_t n, int64_t nrhs, bool cyclic, int partition, int64_t direct_rows, rpts_plan *plan);

/** The caller's options with every default filled in. */
typedef struct {
    int64_t nrhs;
    double epsilon;
    int pivot, partition, refine;
    int threads;       /* CPU: so many of */
    trine_context ctx; /* at most */
    trine_gtsv_path path; /* on the GPU, never TRINE_GTSV_AUTO where stages must be used */
    trine_gtsv_final final_stage;
    trine_transpose op;
    bool cyclic;
} rpts_options;

/** Many systems of n rows, arguments checked; plan of one of them. */
typedef struct {
    trine_dtype t;
    int64_t n, systems;
    rpts_options o;
    rpts_plan plan;
    const void *a, *b, *c, *D;
    void *X;
    trine_strides matrix, vector;
} gtsv_batch;

/** The GPU's side of trine_gtsv_batch: */
enum { SMALL_ROWS = 64 }; /* up to so many, a thread solves a system */
struct gtsv_batch_backend {
    /** n <= SMALL_ROWS */
    trine_status (*solve_small)(void *stream, const gtsv_batch *batch);
    /** gtsv_backend.fused_rows at most; systems whose rows are next to each other, a block each. */
    trine_status (*solve_medium)(void *stream, const gtsv_batch *batch);
    /** op(A) without gaps, the systems one below the other, zeros where two meet; and the vectors. */
    trine_status (*pack)(void *stream, const gtsv_batch *batch, void *a, void *b, void *c, void *d);
    trine_status (*unpack)(void *stream, const gtsv_batch *batch, const void *x);
};
extern const struct gtsv_batch_backend gtsv_batch_cuda;
trine_status rpts_check_batch(const void *a, const void *b, const void *c, trine_strides matrix, const void *D, void *X,
                              trine_strides vector, gtsv_batch *batch);

/** The GPU's side of trine_gtsv, behind arguments that have been checked. */
struct gtsv_device_call {
    void *stream;
    trine_dtype t;
    const void *a, *b, *c, *D;
    void *X, *work;
    int64_t ldd, ldx;
    int64_t order; /* of the systems that are one below the other, if that is what n rows are; else 0 */
};
struct gtsv_backend {
    /** Rows that one block solves: the last, fused stage, and systems of a batch. On the current device; on the
     *  smallest supported one. */
    int64_t (*fused_rows)(trine_dtype t), (*least_fused_rows)(trine_dtype t);
    /** Elements of workspace where the system is not solved by stages. */
    int64_t (*tiled_elements)(trine_dtype t, int64_t n, int64_t nrhs, bool cyclic);
    trine_status (*solve)(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call);
};
extern const struct gtsv_backend gtsv_cuda;
/** trine_gtsv for systems of `order` rows one below the other, zeros where two meet; X are the right-hand sides
 *  first. */
trine_status gtsv_packed(void *stream, trine_dtype t, int64_t n, int64_t order, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, void *X,
                         void *work, size_t work_bytes);

trine_status rpts_check_options(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                rpts_options *out);
/** Leading dimensions and pointers of D and X. */
trine_status rpts_check_vectors(int64_t n, int64_t nrhs, const void *D, int64_t ldd, const void *X, int64_t ldx);
trine_status rpts_check_work(const void *work, size_t bytes, size_t needed);
/** elements * size in *bytes; TRINE_ERR_MEMORY if that overflows. */
trine_status rpts_bytes(int64_t n, int64_t nrhs, int64_t elements, int64_t vectors, trine_dtype t, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
