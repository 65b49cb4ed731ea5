/* Tridiagonal, block tridiagonal, cyclic and banded solves X := alpha op(A)^-1 B as a plan, for A given as a sparse
 * matrix. The same solves without a plan, for diagonals in arrays of the caller's: tridiagonal.h. */
#ifndef TRINE_TRIDIAGONAL_PLAN_H
#define TRINE_TRIDIAGONAL_PLAN_H

#include <trine/matrix.h>
#include <trine/operator.h>
#include <trine/tridiagonal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_tridiagonal_s *trine_tridiagonal;

/** What solves. Bands are counted as they are first, and only where that is too many around the corners: A is then
 *  cyclic. */
typedef enum {
    TRINE_BANDS_AUTO,        /* TRIDIAGONAL where A has at most one band on either side, else GENERAL */
    TRINE_BANDS_TRIDIAGONAL, /* trine_gtsv */
    TRINE_BANDS_GENERAL,     /* trine_gbsv: at most 8 bands on either side */
    TRINE_BANDS_BLOCKS       /* trine_bgtsv: blocks on the diagonal and beside it, of `block` rows (in the options),
                                which divide n. AUTO takes them only where that is given */
} trine_bands;

typedef struct {
    trine_bands bands;
    trine_pivot pivot;         /* this and what follows: as in trine_gtsv_options */
    double epsilon;
    int refine, partition;
    trine_gtsv_path path;
    trine_gtsv_memory memory;
    int64_t max_nrhs;          /* what the plan's own work is sized for; 0 = 1. More needs a bigger trine_work; more
                                  than any memory holds is TRINE_ERR_MEMORY, here and in trine_tridiagonal_work */
    int block; /* rows of a block, 1 to 8, with BLOCKS or AUTO, which is BLOCKS then; 0 with BLOCKS: the smallest size
                  that divides n and that the pattern fits */
    int64_t reserved[3]; /* zeros */
} trine_tridiagonal_options;

/** Find the bands or blocks of the square A (values are not read) and where each entry goes. A: CSR or CSC, host or
 *  device, rows sorted or not. A pass on the host, and one for each size of blocks that is tried; a pattern in device
 *  memory is copied there, which synchronizes. Solves take every op. options NULL = all automatic.
 *  TRINE_ERR_STRUCTURE: not square; offsets or indices that do not fit (as trine_matrix_check); a duplicate (names the
 *  row); more bands than what solves takes; blocks that do not divide n; an entry outside the blocks' pattern (names
 *  its row and block column). TRINE_ERR_ARGUMENT, TRINE_ERR_UNSUPPORTED: options that the solve would refuse. */
TRINE_API trine_status trine_tridiagonal_analyse(trine_context ctx, trine_tridiagonal *plan, trine_matrix A,
                                                 const trine_tridiagonal_options *options);

/** What trine_tridiagonal_analyse will take with the same arguments, in *memory, to the byte. Runs the analysis, in
 *  host memory of a byte for each place in the bands or blocks and, of a pattern in device memory, of its copy, which
 *  analyse makes as well and which is not in *memory. Nothing stays allocated. */
TRINE_API trine_status trine_tridiagonal_memory(trine_context ctx, trine_matrix A,
                                                const trine_tridiagonal_options *options, trine_memory *memory);

/** Take values: nnz of them, in A's order, of A's dtype, in `space`; they are copied into the bands or blocks that
 *  the solve reads. NULL = the values of the A given to analyse, which must still be alive. Any number of times; never
 *  re-analyses. On a GPU one kernel: device values are taken asynchronously on exec's stream; host values pass
 *  through device memory that is allocated meanwhile, and synchronize it. TRINE_ERR_STATE: beside another thread's
 *  solve. */
TRINE_API trine_status trine_tridiagonal_numeric(trine_tridiagonal plan, trine_space space, const void *values,
                                                 const trine_exec *exec);

/** TRINE_ERR_SINGULAR where trine_gbsv (trine_bgtsv of BLOCKS) on a CPU meets a column without a pivot but zero in the
 *  values of the last numeric; the sentence names the row. It runs here once, with partial pivoting and a right-hand
 *  side of zeros, on the context's threads and in host memory that is allocated meanwhile; of a GPU's plan on a copy of
 *  its bands or blocks, which synchronizes exec's stream. A matrix that is singular to working precision only need not
 *  show. TRINE_ERR_STATE before numeric. */
TRINE_API trine_status trine_tridiagonal_check(trine_tridiagonal plan, const trine_exec *exec);

/** One more solve in flight, of up to nrhs right-hand sides: the workspace of the function that solves, and n x nrhs
 *  elements for row-major blocks. Keeps the plan alive, and fits no other. buffer NULL and work NULL: only *bytes is
 *  set. buffer NULL: from the context's allocator. Else `buffer` (the context's space, *bytes long, 256-byte
 *  aligned) is used and must outlive the work. */
TRINE_API trine_status trine_tridiagonal_work(trine_tridiagonal plan, int64_t nrhs, void *buffer, size_t *bytes,
                                              trine_work *work);

/** X := alpha op(A)^-1 B for n x nrhs vectors of A's dtype in the context's space; B == X (same data, ld, layout) is
 *  allowed, other overlap is not. alpha: host scalar of A's dtype, read at the call; NULL = 1, and 0 makes X = 0
 *  without a look at B. Allocates nothing; on a GPU asynchronous and capturable in a CUDA graph. Row-major blocks of
 *  several columns are copied on the way. NaN and Inf flow through to X. TRINE_ERR_SINGULAR, on a CPU only: as
 *  the function that solves says; X is then undefined. TRINE_ERR_STATE: before numeric, more right-hand sides than the
 *  work was sized for, beside another thread's solve with the same work or its numeric.
 *  Recursive partitioned Schur complement (Klein 2024, Section 2.5). */
TRINE_API trine_status trine_tridiagonal_solve(trine_tridiagonal plan, trine_transpose op, const void *alpha,
                                               const trine_dense *B, const trine_dense *X, const trine_exec *exec);

/** The operator op(A)^-1 (operator.h): its op is the solve's; Y := alpha op(A)^-1 X + beta Y. Keeps the plan alive;
 *  may be made before numeric, and is applied with the values of the last one. Its works hold one of the plan's
 *  each. Beside another thread's numeric an apply is refused, as a solve is. */
TRINE_API trine_status trine_tridiagonal_as_op(trine_tridiagonal plan, trine_op *op);

typedef struct {
    int64_t n, nnz;                          /* of A */
    int64_t bytes;                           /* kept by the plan, in the context's space, without its work */
    double analyse_seconds, numeric_seconds; /* host time; numeric: of the last one, up to its return */
    int kl, ku; /* bands (of BLOCKS: bands of blocks) below and above the diagonal; if cyclic, around the corners */
    int cyclic; /* 1: A has entries in the corners, beyond these bands */
    trine_bands bands; /* what solves; not AUTO */
    const char *method; /* one clause: what solves */
    int deterministic; /* bitwise the same every run: 1 */
    int block; /* rows of a block where BLOCKS solves, else 0 */
    int64_t reserved[4]; /* zeros */
} trine_tridiagonal_info;
TRINE_API trine_status trine_tridiagonal_get_info(trine_tridiagonal plan, trine_tridiagonal_info *info);
TRINE_API trine_status trine_tridiagonal_destroy(trine_tridiagonal *plan);

#ifdef __cplusplus
}
#endif
#endif
