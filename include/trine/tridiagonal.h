/* Tridiagonal, block tridiagonal and banded solves: stateless functions in the style of LAPACK (a context, pointers,
 * sizes, a workspace query). Plans of sparse matrices on top of them: tridiagonal_plan.h.
 *
 * One function for both devices. Everywhere below:
 * - ctx: all arrays and the workspace are in its space. On a GPU the call runs on its device, and the caller's current
 *   device stays as it was. On a CPU it runs on up to as many threads as the context has, which join in where they have
 *   a core; small systems take the caller's alone. The result does not depend on their number. Any number of host
 *   threads may call with one context at once; its helpers are for one of them at a time.
 * - ..._work_size: bytes of workspace for a solve with the same ctx, sizes and options, on whatever device of its kind.
 *   On a CPU it starts the context's helpers where the system is large enough for them; a solve starts none.
 * - work: work_bytes of memory, as the query says, from an address that divides by 16 (as of malloc and cudaMalloc), in
 *   use until the solve is over: on a GPU until the stream has passed.
 * - exec: its stream; NULL = the context's (the legacy default stream is cudaStreamLegacy). exec->work belongs to
 *   plans, and must be NULL.
 * - On a GPU a call is asynchronous, allocates nothing and can be captured in a CUDA graph. On a CPU it allocates
 *   nothing, and is over when it returns.
 * - TRINE_ERR_ARGUMENT: what is asked for is wrong, on both devices. TRINE_ERR_DEVICE, TRINE_ERR_UNSUPPORTED (a path
 *   that does not fit): on a GPU. TRINE_ERR_MEMORY: sizes that no memory has.
 * - Singular matrices. On a CPU: TRINE_ERR_SINGULAR, with pivoting and epsilon = 0, where an unknown had no pivot
 *   but zero, which can happen to a matrix that is singular to working precision only; the sentence names the row.
 *   What X then is, each function says. The same status, whatever the options, where a solution is not finite although
 *   matrix and right-hand side are (X over D: all right-hand sides); it names the first unknown. (trine_bgtfs: the
 *   matrix that trine_bgtf had.) options.info is not read. On a GPU: no status; a vanishing pivot becomes a
 *   rounding error of its row, and options.info tells (trine_gtsv_info). Not every singular matrix shows. NaN and
 *   Inf flow through. */
#ifndef TRINE_TRIDIAGONAL_H
#define TRINE_TRIDIAGONAL_H

#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How an eliminated coefficient chooses between the two rows it stands in. A row's scale is its largest |coefficient|
 *  before the elimination; complex coefficients count as |re| + |im|. */
typedef enum {
    TRINE_PIVOT_DEFAULT,        /* SCALED_PARTIAL */
    TRINE_PIVOT_NONE,           /* never exchange: diagonally dominant or positive definite systems only */
    TRINE_PIVOT_PARTIAL,        /* the larger coefficient, as LAPACK does */
    TRINE_PIVOT_SCALED_PARTIAL, /* the larger coefficient relative to its row's scale: invariant under scaling of
                                   rows. A column of op(A) far larger than the others makes its rows count too little:
                                   small then are residuals beside their largest coefficient times the largest
                                   unknown, no more, without refine. PARTIAL is invariant under scaling of columns */
    /* Blocks and bands only: whole block rows compete by the determinants of their blocks (Klein 2024, Section
     * 2.5.3). These lose digits that row exchanges inside a panel, which the schemes above do, keep. */
    TRINE_PIVOT_PARTIAL_DETERMINANT,
    TRINE_PIVOT_SCALED_DETERMINANT
} trine_pivot;

/** How trine_gtsv goes about it on a GPU; on a CPU it is ignored. With epsilon > 0, a chosen partition or a chosen
 *  final stage systems are solved by stages, whatever is automatic; asked for another path they are
 *  TRINE_ERR_UNSUPPORTED. */
typedef enum {
    TRINE_GTSV_AUTO,       /* up to 512 rows in D (Z: 256; cyclic ones of even order) the most accurate, else the
                              fastest: in one pass where tiles, times groups of four right-hand sides, are four times
                              as many as fit on the chip (H200, nrhs = 1: 7 million rows in S, 3.5 in D and C, 1.8 in
                              Z; up to four: half as many; in S not with two or three) */
    TRINE_GTSV_STAGES,     /* stage by stage as in the thesis */
    TRINE_GTSV_TWO_PASS,   /* tiles are reduced to two rows each, that system is solved, tiles are read again and
                              substituted */
    TRINE_GTSV_ON_CHIP,    /* one kernel that reads the system once and keeps it in shared memory;
                              TRINE_ERR_UNSUPPORTED where it does not fit (on an H200 about 1.5 million rows in S,
                              750 000 in D; cyclic ones 32 768) */
    TRINE_GTSV_ONE_PASS    /* two passes, but the second one only if the first one could not settle everything: it
                              solves the tiles there and then where the spikes of their surroundings prove that what
                              lies beyond cannot matter, as it is where rows are dominated by their diagonal or
                              random. What the second pass finds to be wrong of that, it solves again. Cyclic
                              systems: two passes */
} trine_gtsv_path;

/** How the solve by stages on the GPU ends. */
typedef enum {
    TRINE_GTSV_FUSED,      /* a system that fits into one block's shared memory is solved there, all of its stages in
                              one kernel */
    TRINE_GTSV_ONE_THREAD, /* stages down to 32 rows, which one thread solves */
    TRINE_GTSV_TWO_ROWS    /* stages down to two rows */
} trine_gtsv_final;

/** Blocks and bands only: what is kept of the elimination, which makes solves fast and takes memory; X is the same to
 *  the last bit, where partitions are (with a factorization on a GPU, but for rounding errors).
 *  Cyclic bands that cannot be cut (below) are TRINE_MEMORY_FAST. */
typedef enum {
    TRINE_MEMORY_AUTO,  /* FAST */
    TRINE_MEMORY_FAST,  /* the eliminated rows of every partition are kept for the back substitution: twice the
                           matrix and more */
    TRINE_MEMORY_SMALL  /* partitions are eliminated again during the back substitution: with automatic partitions
                           the workspace is half of the matrix, and at most 0.1 elements an unknown and right-hand
                           side beside it. Small systems need more than that: a slot for one partition on a CPU, 4 MB
                           on a GPU, where up to 128 partitions with one right-hand side are solved as with FAST.
                           With refine = 1 the two vectors of refinement and, for bands that are not cyclic, n (kl +
                           ku + max(kl, ku) + 4) elements come to it. A factorization is the matrix and coarse
                           systems; it is not fast to solve with: two eliminations. */
} trine_gtsv_memory;

/** What the right-hand sides and solutions of a solve on a GPU say of its matrix. With the rows of op(A) times
 *  powers of two that make their largest coefficients 1 to 2, and then its columns, condition is a lower bound of
 *  the condition number in the maximum norm: the largest unknown over the largest right-hand side, both scaled
 *  alike, over all right-hand sides together. Scaling rows or columns by powers of two does not change it; a bound
 *  for a matrix that differs from A by rounding errors, since the solution does; rounded down by at most 2^-11 of
 *  it. Complex numbers count as the larger of |re| and |im|, which may make it larger by a factor of 1.5. It is no
 *  estimate: right-hand sides to which what is singular adds nothing are solved well, and do not show it; of random
 *  ones few do not, of several together hardly any (docs/notes/gtsv-info.md). */
typedef struct {
    double condition; /* Inf: a row or column of zeros, or a solution that is not finite from numbers that are; NaN:
                         NaN or Inf was given; 0: no right-hand side, or all zero */
    int64_t row;      /* -1: nothing was found. Else op(A) is singular to working precision, as far as this solve can
                         tell: condition >= 2^19 (S, C) or 2^48 (D, Z), which is 1/16 of the reciprocal of eps, so
                         that a digit of the solution is right at best; and this is the unknown that is largest after
                         the scaling (to within 2^-11). If condition is NaN or Inf, the first row given with NaN or
                         Inf, else the first row of zeros, else the first column of zeros, else the first unknown
                         that is not finite */
} trine_gtsv_info;

/** NULL or zeroed: a non-cyclic system, scaled partial pivoting, everything else automatic. */
typedef struct {
    trine_pivot pivot;
    double epsilon;        /* >= 0: coefficients with |x| <= epsilon count as zero when they are about to be
                              eliminated or to become pivots (noisy input). A pivot that vanishes becomes a rounding
                              error of its row, so that a singular system gives huge solutions; a GPU reports no
                              error, unless info is given */
    int cyclic;            /* 1: row 0 also has a[0] in column n-1, row n-1 has c[n-1] in column 0; 0: both are never
                              used */
    int refine;            /* 1: a step of iterative refinement in working precision, which makes the componentwise
                              backward error small. Costs another solve and n*nrhs elements of workspace. On a CPU
                              trine_gtsv takes twice those elements, and goes on, with the other pivoting too, where
                              the error is above 24 eps after that step */
    trine_transpose op;    /* solve op(A) X = D; 0 = TRINE_N */
    int partition;         /* rows of a partition: 0 = automatic, else a multiple of 8 from 8 to 64 */
    trine_gtsv_path path;  /* 0 = TRINE_GTSV_AUTO */
    trine_gtsv_final final_stage; /* trine_gtsv by stages; others are TRINE_GTSV_STAGES even where the path is
                                     automatic (Klein 2024, Figure 13) */
    trine_gtsv_memory memory; /* blocks and bands; 0 = TRINE_MEMORY_AUTO */
    trine_gtsv_info *info; /* GPU: device memory, 8-byte aligned, or NULL: written when the stream has passed the
                              solve, without a synchronization. One for a call of trine_gtsv, trine_bgtsv and
                              trine_gbsv, one for each system of trine_gtsv_batch; other functions that solve refuse
                              it. Reads matrix and right-hand sides once before the solve, matrix and solution once
                              after it; no workspace. A CPU does not look at it, and returns TRINE_ERR_SINGULAR */
    int64_t reserved[4]; /* zeros */
} trine_gtsv_options;

/** Bytes of workspace for trine_gtsv. GPU: about 1 % of n (4 + nrhs) elements and 60 KB (7 % of n (3 + nrhs) where the
 *  system is solved by stages); CPU: about 7 % of n (4 + nrhs) elements with automatic partitions. With refinement n
 *  nrhs more, on a CPU twice that. */
TRINE_API trine_status trine_gtsv_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                            const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A) X = D: A tridiagonal, n x n; a (below the diagonal; a[i] in row i), b (diagonal),
 *  c (above), n elements of t each; a[0] and c[n-1] are read only in cyclic systems. D and X: column-major n x nrhs
 *  with leading dimensions ldd, ldx >= n; X == D with ldx == ldd is allowed, other overlap is not; on a GPU more than
 *  65 532 right-hand sides are solved in parts. a, b, c and (unless it is X) D are not changed. A GPU is fastest where
 *  a, b, c, D, X start on 16 bytes and ldd, ldx are multiples of 16 bytes. TRINE_ERR_SINGULAR (CPU): X is written all
 *  the same, with a rounding error for that pivot. Recursive partitioned Schur complement (Klein 2024, Section 2.5,
 *  Algorithms 1 and 2). CPU: n <= 256 row by row (cyclic: n <= 64 as one partition). GPU: where the rows of a partition
 *  would lose
 *  digits, those of many are eliminated once more with all rows as candidates for pivots
 *  (docs/explanation/partitioned-tridiagonal.md); only a path by stages, chosen partitions and final stages are
 *  without that. */
TRINE_API trine_status trine_gtsv(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                  const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                  const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes,
                                  const trine_exec *exec);

/* ------------------------------------------------------------------- blocks
 * A is block tridiagonal: `rows` block rows of n rows each, n = 1 to 8. a (below the diagonal; block a_i stands in
 * block row i), b (diagonal) and c (above) have `rows` blocks of n x n elements, each block column-major; a_0 and
 * c_{rows-1} are read only in cyclic systems. D and X have rows * n rows. partition in the options counts block
 * rows. Recursive partitioned Schur complements (Klein 2024, Section 2.5); inside a partition Gaussian elimination
 * with row exchanges, from which the rows of the interface are not excluded, so that no partition has to be regular
 * in itself. With the default pivoting and epsilon = 0 each row is taken times the power of two that makes its
 * largest coefficient 2 to 4 when it enters, and its right-hand side with it: scaling rows by powers of two, short
 * of over- and underflow of coefficients, right-hand sides and solution, changes no bit of X. (Residuals of refine =
 * 1 are taken so for bands alone; PARTIAL and PARTIAL_DETERMINANT compare coefficients as they are; cyclic bands
 * that cannot be cut, below, are not scaled, nor are blocks of one row on a GPU without refinement.) */

/** Bytes of workspace for trine_bgtsv (for less see trine_gtsv_memory). GPU: pivot rows and coarse systems, with
 *  automatic partitions about 7 n elements for each of the rows * n unknowns, 6.5 n with one right-hand side (6.1 n,
 *  5.8 n if n = 2 and rows > 2^18; n = 2, 3, 4, 8; other n as much as the next of these); CPU: about three times the
 *  matrix. 2 rows * n * nrhs and 2 nrhs more with refinement. */
TRINE_API trine_status trine_bgtsv_work_size(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                             const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A) X = D, A block tridiagonal; everything else as in trine_gtsv, which solves n = 1 on a GPU.
 *  TRINE_ERR_SINGULAR (CPU): X is undefined. */
TRINE_API trine_status trine_bgtsv(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                   const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes,
                                   const trine_exec *exec);

/** Bytes that hold a factorization of trine_bgtf. GPU: 3.2 (n = 2, rows > 2^18) to 3.5 times the three bands for n =
 *  2, 3, 4, 8, and as much as the next of these takes for other n. With memory = TRINE_MEMORY_SMALL op(A) and the
 *  factors of coarse systems alone, with automatic partitions at most 1.5 times the three bands; trine_bgtfs is many
 *  times as slow then. */
TRINE_API trine_status trine_bgtf_size(trine_context ctx, trine_dtype t, int64_t rows, int n,
                                       const trine_gtsv_options *options, size_t *bytes);

/** Factor op(A), A block tridiagonal: `factor`, factor_bytes in the context's space from an address that divides by
 *  16, gets all that trine_bgtfs needs. a, b, c are not changed and not needed afterwards. refine must be 0.
 *  TRINE_ERR_SINGULAR (CPU): the factorization is of no use. Klein 2024, Section 2.5.4. */
TRINE_API trine_status trine_bgtf(trine_context ctx, trine_dtype t, int64_t rows, int n,
                                  const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                  void *factor, size_t factor_bytes, const trine_exec *exec);

/** Bytes of workspace for trine_bgtfs: coarse right-hand sides, and if memory is TRINE_MEMORY_SMALL pivot rows of
 *  some partitions, with which it is half of the three bands at most, or, on a GPU, 4 MB. */
TRINE_API trine_status trine_bgtfs_work_size(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                             const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A) X = D with the factorization of op(A) by trine_bgtf; t, rows, n and options as there. The
 *  factorization is only read: several streams and threads may use it at once. D and X as in trine_gtsv. */
TRINE_API trine_status trine_bgtfs(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, const void *factor, size_t factor_bytes,
                                   const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes,
                                   const trine_exec *exec);

/* -------------------------------------------------------------------- bands
 * A is banded, n x n, with kl bands below and ku above the diagonal, 0 to 8 each: band k (-kl..ku) starts at AB + (kl +
 * k) n and holds A[i,i+k] at its position i; positions outside the matrix are read only in cyclic systems, where they
 * hold A[i,(i+k) mod n] (several that meet in one column add up). The bands are taken as blocks of max(kl, ku) rows,
 * and solved like those; on a GPU kl = ku = 1, and blocks of one row, are solved by trine_gtsv, which takes rows as
 * they are. With refine = 1 it gets a copy whose rows are taken times powers of two (not where coefficients are
 * compared as they are), so that rows near the ends of the range keep their digits; that takes as much time again.
 * Cyclic systems take blocks of up to 8 rows to come out even; where that
 * fails (max(kl, ku) = 8 and n > 24 no multiple of 8; 7 and n = 25-27, 33, 34, 41) they are slower. On a CPU systems
 * that are not cyclic are eliminated from the first row to the last, as in LAPACK's gbsv, with DEFAULT, PARTIAL and
 * SCALED_PARTIAL pivots and epsilon = 0, unless a partition or a small workspace is asked for; one right-hand side
 * runs on one thread then. Blocks take over where that meets a zero pivot, or is not good after refinement.
 *
 * refine = 1, systems that are not cyclic, row exchanges allowed, epsilon = 0: where the componentwise backward
 * error is more than 24 eps after the step of refinement, that right-hand side is solved row by row in one sequence,
 * by Gaussian elimination of the bands as in LAPACK's gbsv, from either end and with other pivot rows if need be,
 * and the best of these solutions is kept: slow (one thread, on a GPU one warp, up to twelve eliminations), but it
 * keeps small entries of solutions that grow or fade by many orders of magnitude, as those of random bands with kl
 * unlike ku do. Right-hand sides whose error is at most eps are not corrected at all. */

/** Bytes of workspace for trine_gbsv. GPU: as for trine_bgtsv with blocks of w rows, w being max(kl, ku) or the next
 *  of 2, 3, 4, 8 (in cyclic systems perhaps a larger one of these); for kl = ku = 1 what trine_gtsv needs, with
 *  refine = 1 the scaled system too, n (3 + nrhs) elements, and no less than 8 n elements beside it. CPU: three to
 *  four and a half times the bands, of cyclic systems up to six (S, C: eight), or half (trine_gtsv_memory). */
TRINE_API trine_status trine_gbsv_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                            const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A) X = D, A banded; everything else as in trine_gtsv. TRINE_ERR_SINGULAR (CPU): cyclic systems as in
 *  trine_bgtsv; others (with row exchanges, epsilon = 0) where elimination row by row, from the first row and from
 *  the last, meets a column whose candidates are all exactly zero each time. X is then undefined. With
 *  TRINE_MEMORY_SMALL and refine = 0 there is no room for that: as cyclic systems. */
TRINE_API trine_status trine_gbsv(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                  const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd,
                                  void *X, int64_t ldx, void *work, size_t work_bytes, const trine_exec *exec);

/* ------------------------------------------------------------- backward errors
 * errors[j] is the componentwise backward error of column j, max_i |d - op(A) x|_i / (|op(A)| |x| + |d|)_i, where 0
 * / 0 counts as 0: the least relative change of coefficients and right-hand sides that makes X a solution (Oettli,
 * Prager 1964). NaN where x is not finite. Residuals are computed in twice the precision of t (on the CPU in long
 * double), so that rounding errors of the solution alone are seen. D must be what it was before the solve, so X was
 * not D. Of the options, cyclic and op count; all else as in the solve. A rounding error is 1.1e-16 (D, Z) or 6e-8
 * (S, C). Where an error is much larger than that, refine = 1 may help. */

/** nrhs errors in the context's space, for op(A) X = D of trine_gtsv, trine_bgtsv (and trine_bgtfs), trine_gbsv. No
 *  workspace. */
TRINE_API trine_status trine_gtsv_backward_error(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                                 const trine_gtsv_options *options, const void *a, const void *b,
                                                 const void *c, const void *D, int64_t ldd, const void *X, int64_t ldx,
                                                 double *errors, const trine_exec *exec);
TRINE_API trine_status trine_bgtsv_backward_error(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                                  const trine_gtsv_options *options, const void *a, const void *b,
                                                  const void *c, const void *D, int64_t ldd, const void *X, int64_t ldx,
                                                  double *errors, const trine_exec *exec);
TRINE_API trine_status trine_gbsv_backward_error(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl,
                                                 int ku, const trine_gtsv_options *options, const void *AB,
                                                 const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors,
                                                 const trine_exec *exec);

/* ---------------------------------------------------------------- many systems */

/** Where row i of system s lies, in elements: at i * row + s * system. Contiguous: {1, ld} with ld >= n.
 *  Interleaved: {ld, 1} with ld >= systems, the fastest for n <= 64. system = 0: all systems share one. */
typedef struct { int64_t row, system; } trine_strides;

/** Bytes of workspace for trine_gtsv_batch: none for n <= 64. Beyond, GPU: four packed arrays of n * systems
 *  elements and more; CPU: a system with its workspace for each thread of the context. */
TRINE_API trine_status trine_gtsv_batch_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t systems,
                                                  const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A_s) x_s = d_s for `systems` systems of n rows each; a, b, c and options as in
 *  trine_gtsv. a, b, c lie as matrix_strides says, D and X as vector_strides says (system > 0 there). X == D is
 *  allowed. refine must be 0. GPU: n <= 64: a thread a system, in shared memory; n up to 8192 in S, 4096 in D and C,
 *  2048 in Z: a block a system, or a cluster of blocks. Beyond: the systems are put one below the other and solved
 *  as one by trine_gtsv, so that a NaN in one may reach others. Cyclic ones one by one. CPU: n <= 64: 16 systems at
 *  a time; longer ones one by one, a thread each. TRINE_ERR_SINGULAR (CPU): the sentence names the first such system
 *  and the row; all systems are solved all the same. */
TRINE_API trine_status trine_gtsv_batch(trine_context ctx, trine_dtype t, int64_t n, int64_t systems,
                                        const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                        trine_strides matrix_strides, const void *D, void *X,
                                        trine_strides vector_strides, void *work, size_t work_bytes,
                                        const trine_exec *exec);

/* --------------------------------------------------- sparse right-hand sides
 * D is a sparse n x nrhs matrix in compressed sparse columns: column j has its values at D_values and its row
 * indices, each once and in any order, at D_rows, from position D_offsets[j] to D_offsets[j+1] - 1. Row indices
 * outside 0..n-1 are left out; n < 2^31. A, t and options as in trine_gtsv; all arrays are in the context's space.
 * Klein 2024, Section 2.6.12. */

/** Bytes of workspace for trine_gtsv_csc2dense. */
TRINE_API trine_status trine_gtsv_csc2dense_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                                      const trine_gtsv_options *options, size_t *bytes);

/** Solve op(A) X = D, D sparse, X dense (column-major, ldx >= n). TRINE_ERR_SINGULAR (CPU): as in trine_gtsv. */
TRINE_API trine_status trine_gtsv_csc2dense(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                            const trine_gtsv_options *options, const void *a, const void *b,
                                            const void *c, const void *D_values, const int32_t *D_rows,
                                            const int32_t *D_offsets, void *X, int64_t ldx, void *work,
                                            size_t work_bytes, const trine_exec *exec);

/** Bytes of workspace for trine_gtsv_csc2csc: the solutions of min(nrhs, 128) right-hand sides (CPU: 16) and what
 *  their solve needs. */
TRINE_API trine_status trine_gtsv_csc2csc_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                                    const trine_gtsv_options *options, size_t *bytes);

/** The largest entries of the solution of op(A) X = D, D sparse: X_offsets (given, nrhs + 1 of them) says how many
 *  of each column are kept, X_values and X_rows get those of largest |x|, by ascending row. Of equal |x| the upper
 *  rows are kept. Where a column asks for more than n, the rest gets row -1 and value 0. 128 right-hand sides at a
 *  time (CPU: 16), a histogram of 256 bins for each byte of |x|. TRINE_ERR_SINGULAR (CPU): X_values and X_rows are
 *  undefined. */
TRINE_API trine_status trine_gtsv_csc2csc(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                          const trine_gtsv_options *options, const void *a, const void *b,
                                          const void *c, const void *D_values, const int32_t *D_rows,
                                          const int32_t *D_offsets, void *X_values, int32_t *X_rows,
                                          const int32_t *X_offsets, void *work, size_t work_bytes,
                                          const trine_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
