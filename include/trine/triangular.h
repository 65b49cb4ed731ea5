/* Sparse triangular solves X := alpha op(T)^-1 B, one plan for every method. */
#ifndef TRINE_TRIANGULAR_H
#define TRINE_TRIANGULAR_H

#include <trine/matrix.h>
#include <trine/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_triangular_s *trine_triangular;

typedef enum {
    TRINE_TRI_AUTO,
    TRINE_TRI_SERIAL,       /* one CPU thread, row after row */
    TRINE_TRI_LEVELSET,     /* rows by level; a barrier (or a point-to-point wait) between levels */
    TRINE_TRI_SYNCFREE_CSR, /* GPU: gather; a solution value is its own ready flag, one launch */
    TRINE_TRI_SYNCFREE_CSC, /* GPU: scatter; a warp a column, atomic sums and in-degree counters, one launch */
    TRINE_TRI_PARTITIONED_INVERSE /* groups of levels by the sparse inverses of their diagonal blocks: fewer steps,
                                     more entries. For many solves with one plan */
} trine_triangular_method;

/** How syncfree-csc spreads a column's work on several right-hand sides over the threads of a warp (Liu et al.,
 *  Section 4). */
typedef enum {
    TRINE_CSC_ADAPTIVE,     /* column by column, by p and q */
    TRINE_CSC_OPT1,         /* a thread an entry of the column */
    TRINE_CSC_OPT2          /* a thread a right-hand side */
} trine_csc_variant;

typedef struct {
    trine_uplo uplo;                 /* AUTO: from the pattern (a diagonal matrix counts as lower) */
    trine_diag diag;                 /* UNIT: the diagonal is 1, whatever is stored */
    int other_triangle_is_error;     /* 0: entries of the other triangle are ignored (combined LU storage) */
    unsigned ops;                    /* mask of the op(T) that will be solved; 0 = TRINE_N. Another one later:
                                        TRINE_ERR_STATE; with real numbers T and H are one */
    trine_triangular_method method;
    trine_summation summation;       /* DETERMINISTIC: bitwise equal run to run, or TRINE_ERR_UNSUPPORTED */
    int64_t max_nrhs;                /* what the plan's own work is sized for; 0 = 1. More needs a bigger trine_work;
                                        more than any memory holds is TRINE_ERR_MEMORY, here and in
                                        trine_triangular_work */
    struct {                         /* tuning of the synchronization-free kernels; 0 = by measured structure */
        int lanes_per_row;           /* 1, 2, 4, 8, 16, 32: threads that share a row (one right-hand side) */
        int warps_per_block;         /* 1 .. 16 */
        int blocks;                  /* of the grid */
        int row_order;               /* 1: as given, 2: sorted by level */
    } tune;
    struct {                         /* tuning of syncfree-csc, in the terms of Liu et al. 2017 */
        int warps_per_block;         /* 1 .. 32; 0 = 16 */
        int scratchpad;              /* sums and counters of the block's own columns (one right-hand side) in 1:
                                        shared memory, 2: global memory; 0 = 1 */
        trine_csc_variant variant;
        int64_t p, q; /* adaptive: OPT2 if (length <= nrhs or nrhs > p) and length < q; 0 = 8 and 8192 */
    } csc;
    struct {                         /* of partitioned inverses */
        int64_t memory;              /* bytes of their entries, at most; 0: 16 times those of the triangle or 256 MB,
                                        whichever is more, but no more than an eighth of the device's memory. Less of
                                        it makes more steps; less than the triangle takes is TRINE_ERR_MEMORY. The
                                        analysis takes more meanwhile: see trine_triangular_memory */
        int32_t levels;              /* of a step; 0: chosen by a model of the costs */
        int32_t refine;              /* 1: a step of iterative refinement in every solve, which costs a second one and
                                        brings componentwise backward errors down to those of substitution */
    } partition;
    int64_t expected_solves; /* with this plan, of max_nrhs vectors, 0 = 100: AUTO takes the method with the least that
                                analysis, one numeric and so many solves are predicted to take together. Inverses are
                                considered for plans that nothing in `tune` is asked of, on a CPU for one right-hand
                                side. Groups of a method asked for by name are chosen for solves alone */
    int64_t reserved[1]; /* zeros */
} trine_triangular_options;

/** Analyse the pattern of the square T (values are not read) and keep a copy of what is needed of it. T: CSR or CSC,
 *  host or device, rows sorted or not. May synchronize. On a GPU the analysis runs on the device, wherever the pattern
 *  is, and a few numbers come back to the host: for partitioned inverses, of every level and group. options NULL = all
 *  automatic.
 *  TRINE_ERR_STRUCTURE: not square; offsets or indices that do not fit (as trine_matrix_check); an entry in the
 *  other triangle (if that is an error); a duplicate (each names the row); uplo AUTO on a matrix with both
 *  triangles. TRINE_ERR_SINGULAR: missing diagonal (names the row). TRINE_ERR_UNSUPPORTED: a method that this
 *  context's device does not have. */
TRINE_API trine_status trine_triangular_analyse(trine_context ctx, trine_triangular *plan, trine_matrix T,
                                                const trine_triangular_options *options);

/** What trine_triangular_analyse may take with the same arguments, in *memory: upper bounds; tests/test_memory.c
 *  says how close they are. Least close: partitioned inverses, which are counted as the limit on their memory allows,
 *  also with AUTO where it may look at them; level sets on a GPU, where every row is counted as a level; and what CPU
 *  threads share in solves of many right-hand sides. Reads the pattern once, on the host: one in device memory in
 *  parts of n indices, which synchronizes. Needs no other memory, and nothing stays allocated. Errors: as of
 *  trine_triangular_analyse, but for duplicates, missing entries of the diagonal and other_triangle_is_error, which
 *  are not looked for. */
TRINE_API trine_status trine_triangular_memory(trine_context ctx, trine_matrix T,
                                               const trine_triangular_options *options, trine_memory *memory);

/** Take values: nnz of them, in T's order, of T's dtype, in `space`. NULL = the values of the T given to analyse,
 *  which must still be alive. Asynchronous on exec's stream for device values; any number of times; never
 *  re-analyses. TRINE_ERR_STATE: beside another thread's solve. */
TRINE_API trine_status trine_triangular_numeric(trine_triangular plan, trine_space space, const void *values,
                                                const trine_exec *exec);

/** Synchronizes exec's stream. TRINE_ERR_SINGULAR with the first row whose pivot was exactly zero or NaN in the last
 *  numeric; TRINE_ERR_STATE before numeric. Unit-diagonal plans always pass. With partitioned inverses solves are
 *  tried in each direction announced, of pseudorandom solutions and right-hand sides, the same every time: where their
 *  componentwise backward error is beyond 32 eps on a GPU, 8 on a CPU (in the median of five of a kind; one suffices
 *  where it has 4 eps or less), solves take a step of refinement from here on, as if options.partition.refine had asked
 *  for it, until the check of other values. TRINE_ERR_MEMORY: no memory for that. Where AUTO has taken partitioned
 *  inverses and these lose digits in too many rows, solves on a GPU go by the other method from here on (on the CPU
 *  from numeric on). */
TRINE_API trine_status trine_triangular_check(trine_triangular plan, const trine_exec *exec);

/** One more solve in flight, of up to nrhs right-hand sides: scratch and state. Keeps the plan alive, and fits no
 *  other. buffer NULL and work NULL: only *bytes is set. buffer NULL: from the context's allocator. Else `buffer`
 *  (the context's space, *bytes long, 256-byte aligned) is used and must outlive the work. Level sets on a GPU
 *  record their launches here, which synchronizes. */
TRINE_API trine_status trine_triangular_work(trine_triangular plan, int64_t nrhs, void *buffer, size_t *bytes,
                                             trine_work *work);

/** X := alpha op(T)^-1 B for n x nrhs vectors of T's dtype in the context's space; B == X (same data, ld, layout) is
 *  allowed, other overlap is not. alpha: host scalar of T's dtype, read at the call; NULL = 1, and 0 makes X = 0
 *  without a look at B. Asynchronous, allocates nothing, capturable in a CUDA graph. NaN and Inf flow through to X.
 *  TRINE_ERR_STATE: before numeric, an op not announced, more right-hand sides than the work was sized for, beside
 *  another thread's solve with the same work or its numeric. Liu et al. 2017 (synchronization-free), Anderson and
 *  Saad 1989 (level sets), Alvarado and Schreiber 1993 (partitioned inverses). */
TRINE_API trine_status trine_triangular_solve(trine_triangular plan, trine_transpose op, const void *alpha,
                                              const trine_dense *B, const trine_dense *X, const trine_exec *exec);

/** The operator op(T)^-1 (operator.h): its op is the solve's; Y := alpha op(T)^-1 X + beta Y. Has the ops that were
 *  announced, of real T also H with T. Keeps the plan alive; may be made before numeric, and is applied with the
 *  values of the last one. Its works hold one of the plan's each. Beside another thread's numeric an apply is
 *  refused, as a solve is. */
TRINE_API trine_status trine_triangular_as_op(trine_triangular plan, trine_op *op);

typedef struct {
    int64_t n, nnz; /* of the triangle, diagonal included */
    int64_t levels; /* -1 where the method did not need them */
    int64_t min_rows_per_level, max_rows_per_level; /* 0 where rows were not sorted by level */
    int64_t bytes; /* kept by the plan, in the context's space */
    double analyse_seconds, numeric_seconds; /* host time; numeric: of the last one, up to its return */
    trine_uplo uplo;
    trine_triangular_method method; /* what runs for op N */
    int deterministic; /* bitwise the same every run */
    int refined; /* of partitioned inverses: solves take a step of refinement, asked for or decided by check */
    const char *reason; /* one clause: why this method */
    /* Partitioned inverses; zeros for other methods. */
    int32_t steps; /* instead of levels */
    int32_t substituted_rows; /* in the last numeric: solved by substitution, since their inverse would lose digits;
                                 of a GPU known after check */
    int64_t entries; /* of all inverses, in place of nnz */
    double growth; /* of the last numeric: the largest that a row's inverse can make of rounding errors, over those of
                      substitution; substituted rows included. Of a GPU known after check */
    int64_t reserved[1]; /* zeros */
} trine_triangular_info;
TRINE_API trine_status trine_triangular_get_info(trine_triangular plan, trine_triangular_info *info);

/** What AUTO has predicted of a method, by a model of few constants (docs/notes/partitioned-inverses.md). */
typedef struct {
    double analyse_seconds, numeric_seconds; /* of all sides */
    double solve_seconds; /* one with each side */
    const char *reason; /* one clause: why the method was taken or not */
    int64_t reserved[4]; /* zeros */
} trine_triangular_prediction;
/** In *prediction. Zeros and a reason, where the method was not considered or asked for by name. */
TRINE_API trine_status trine_triangular_get_prediction(trine_triangular plan, trine_triangular_method method,
                                                       trine_triangular_prediction *prediction);
TRINE_API const char *trine_triangular_method_name(trine_triangular_method method); /* "syncfree-csr", ... */
TRINE_API trine_status trine_triangular_destroy(trine_triangular *plan);

/** Level sets of one triangle of a host matrix: rows[level_offsets[k] .. level_offsets[k+1]) depend only on earlier
 *  levels. Missing diagonals do not matter here; the other triangle is ignored. rows and level_of may be NULL;
 *  arrays are n long, level_offsets n + 1; the caller owns them. TRINE_ERR_STRUCTURE: offsets or indices of T that
 *  do not fit. */
TRINE_API trine_status trine_level_sets(trine_context ctx, trine_matrix T, trine_uplo uplo, int64_t *n_levels,
                                        int64_t *level_offsets, int32_t *rows, int32_t *level_of);

/* --------------------------------------------------------- supernodal panels */

/** A triangular factor as dense panels, the way CHOLMOD and SuperLU hold it. Panel s covers columns
 *  first_column[s] .. first_column[s+1] (width w); its row list is rows[row_offsets[s] .. row_offsets[s+1]) (height
 *  h), the first w of which are the panel's own columns; its values are a column-major h x w rectangle with leading
 *  dimension h at values[value_offsets[s]]. Borrowed memory of the factor's owner. */
typedef struct {
    int64_t n, n_panels;
    const int32_t *first_column; /* n_panels + 1 */
    const int64_t *row_offsets; /* n_panels + 1 */
    const int32_t *rows;
    const int64_t *value_offsets; /* n_panels + 1 */
    const void *values;
    trine_dtype dtype;
    /* TRINE_UNIT: the diagonal block's strict lower triangle is L; its upper one belongs to U */
    trine_diag diag;
} trine_panels;

#ifdef __cplusplus
}
#endif
#endif
