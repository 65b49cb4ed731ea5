/* Block tridiagonal and banded solves: the device's side, behind arguments that have been checked. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_BLOCK_H
#define TRINE_TRIDIAGONAL_BLOCK_BLOCK_H

#include "tridiagonal/block/common/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One call: the matrix, the options, the stages, and where everything is. nrhs and threads are in the options. */
typedef struct {
    trine_dtype t;
    block_matrix A;
    rpts_options o;
    trine_gtsv_memory memory;
    block_plan plan;
    size_t factor_bytes; /* of the stages, */
    size_t copy_bytes;   /* and of the matrix, which a factorization has behind them if the plan is a small one */
    void *stream, *factor, *work;
    const void *D;
    void *X;
    int64_t ldd, ldx;
    bool rhs_is_scaled; /* has D been taken times the rows' scales? */
    bool is_scalar;     /* GPU: one band on either side, at a, b and c; by trine_gtsv with refinement. No plan */
    trine_gtsv_options given; /* for that: op is N */
} block_call;

/** Where a solve has what. */
typedef struct {
    void *rhs;        /* coarse right-hand sides */
    void *vectors;    /* with refinement: D, residuals, and what else the backend needs for it */
    void *sequential; /* elimination row by row; NULL where there is none */
    char *slots;
} block_work;

struct block_backend {
    const int *widths;                    /* see block_group_blocks */
    int coarse_partition;                 /* groups of a partition of a coarse system */
    int64_t few_partitions;               /* up to so many, a solve with one right-hand side gets no small plan */
    block_keep solve_keeps;               /* of stage 0, and with one right-hand side of all; a factorization keeps
                                             the factors */
    /** Block rows of a partition of stage 0: what suits, what suits a small plan, and the most there may be. */
    void (*partition_rows)(const block_call *call, int64_t *suitable, int64_t *small, int64_t *most);
    /** Slots of a small plan. */
    void (*add_slots)(block_call *call);
    /** Bytes of workspace of `solve`, without and with a factorization. */
    trine_status (*solve_bytes)(const block_call *call, size_t *bytes);
    trine_status (*substitute_bytes)(const block_call *call, size_t *bytes);
    trine_status (*solve)(const block_call *call);
    trine_status (*factor)(const block_call *call);
    trine_status (*substitute)(const block_call *call);
    bool cuts_pairs; /* partitions of bands that cannot be cut are of that size, too; else as of a coarse system */
};
extern const struct block_backend block_cpu, block_cuda;

/** Where the workspace of `solve` or `substitute` has what behind its first `start` bytes, if `at` is not NULL;
 *  *bytes: of all of it. extra: elements that the backend needs for refinement beside the vectors, for each
 *  right-hand side. */
trine_status block_lay_out(const block_call *call, size_t start, int extra, block_work *at, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
