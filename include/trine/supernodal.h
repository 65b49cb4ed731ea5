/* Supernodal triangular solves: a factor held as dense panels, applied at memory speed. */
#ifndef TRINE_SUPERNODAL_H
#define TRINE_SUPERNODAL_H

#include <trine/matrix.h>
#include <trine/triangular.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------- panels of a triangle in CSR or CSC */

typedef struct {
    trine_uplo uplo;    /* AUTO: T must be triangular. LOWER, UPPER: entries of the other triangle are ignored */
    trine_diag diag;    /* UNIT: the diagonal is 1, whatever is stored */
    double fill;        /* a panel may hold this fraction of explicit zeros; 0 = automatic (0.2 where supernodes are
                           found, any where they are given), negative = none: only columns of the same structure
                           share a panel. A given supernode of more is cut into several panels */
    int64_t max_width;  /* columns of a panel; 0 = any number. A wider given supernode is cut */
    int64_t reserved[4]; /* zeros */
} trine_panels_options;

/** Find supernodes in a triangle T that comes without a partition (UMFPACK's factors, incomplete ones, one's own):
 *  neighbouring columns go into one panel while the union of their rows leaves at most the fraction `fill` of zeros
 *  (relaxed supernodes, Ashcraft and Grimes 1989; any structure, closed under elimination or not). T: on the host,
 *  CSR or CSC, any dtype, duplicates are summed. A lower T gives the panels of T; an upper one those of T^T, so that
 *  op T of the supernodal plan solves with T, and op N with T^T. The arrays are new: trine_panels_free. Synchronous.
 *  TRINE_ERR_STRUCTURE: T is not triangular. TRINE_ERR_SINGULAR: missing diagonal (names the row). TRINE_ERR_MEMORY
 *  says how much the panels need. */
TRINE_API trine_status trine_panels_detect(trine_context ctx, trine_matrix T, const trine_panels_options *options,
                                           trine_panels *panels);
/** The same on supernodes that are given: s has the columns first_column[s]..first_column[s + 1] - 1 of T (upper T:
 *  rows), with first_column[0] = 0 and first_column[n_supernodes] = n; first_column is host memory, read during the
 *  call. A panel's rows are the union of its columns' rows; what is not in T's pattern is an explicit zero, and
 *  options->fill and max_width bound the zeros by cutting supernodes. The entries of T and of the panels are counted
 *  by trine_supernodal_info of a plan (nnz_triangle, nnz). TRINE_ERR_STRUCTURE also for a partition that does not
 *  start at 0, ascend and end at n; TRINE_ERR_SINGULAR: missing diagonal (names the row and the supernode). */
TRINE_API trine_status trine_panels_from_partition(trine_context ctx, trine_matrix T, int64_t n_supernodes,
                                                   const int32_t *first_column, const trine_panels_options *options,
                                                   trine_panels *panels);
/** Free what trine_panels_detect, trine_panels_from_partition or the adapters of trine/direct.h made; accepts NULL. */
TRINE_API void trine_panels_free(trine_context ctx, trine_panels *panels);

/* ------------------------------------------------------------------- the plan */

typedef struct trine_supernodal_s *trine_supernodal;

/** What numeric does to a panel [L_ss; L_off] before it is solved with (Yamazaki et al. 2020, Section 4.3). An
 *  inverse of an ill-conditioned block (LU's U has them) loses what substitution does not: an inversion that is
 *  asked for is done all the same. */
typedef enum {
    TRINE_INVERT_AUTO,  /* NONE on the CPU, and on a GPU for the variants DEFAULT, STREAM and TEAM. DYNAMIC on a GPU:
                           each numeric makes the inverses (OFF), measures their growth (trine_supernodal_info) and,
                           where it is above 8, keeps the panels that contribute most to it as they are (NONE), until
                           that of the others is 4. So normwise backward errors with L, L^T and L^H stay below 10
                           eps. TRINE_VARIANT_SPMV: OFF, since it is made of inverses */
    TRINE_INVERT_NONE,  /* the panel stays as it is: substitution with L_ss, then a product with L_off */
    TRINE_INVERT_OFF,   /* partitioned inverse: L_ss := L_ss^-1 and L_off := L_off L_ss^-1; a panel is one product */
    TRINE_INVERT_DIAG,  /* L_ss := L_ss^-1 only: two products, and the accuracy of substitution by blocks */
    TRINE_INVERT_FULL   /* all panels become one, the inverse is a dense triangle: a reference for small n */
} trine_supernodal_invert;

/** How a solve goes through the panels (Section 5.1). All but DYNAMIC go level by level. On a GPU: one kernel launch
 *  or two a level for all small panels of it, one or two for each large one; the launches of a solve are one CUDA
 *  graph. On a CPU: threads deal the panels of a level, or parts of large ones, out among themselves, and meet after
 *  each stage. */
typedef enum {
    TRINE_VARIANT_AUTO,    /* DYNAMIC */
    TRINE_VARIANT_DYNAMIC, /* GPU: one launch; tiles of panels run when what they need is done. CPU: subtrees run
                              when what they need is done; access as AUTO */
    TRINE_VARIANT_DEFAULT, /* every panel by itself, shared by all blocks or threads, one after the other */
    TRINE_VARIANT_STREAM,  /* the same, those of a level on several streams; CPU: shared out together */
    TRINE_VARIANT_TEAM, /* panels of up to `threshold` columns in one launch a level, a block (CPU: a thread) each */
    TRINE_VARIANT_SPMV /* one or two sparse matrices a level, without the explicit zeros; sums in a fixed order.
                          Not with INVERT_NONE */
} trine_supernodal_variant;

/** By columns of L (scatter) or by rows (gather). PUSH for op N adds atomically, in any order; PUSH for T and H and
 *  PULL sum in a fixed order, so that results are bitwise the same every time. */
typedef enum {
    TRINE_ACCESS_AUTO, /* push for op N, pull for T and H: the panels' columns are contiguous */
    TRINE_ACCESS_PUSH, /* DYNAMIC: as AUTO */
    TRINE_ACCESS_PULL /* also op N is reproducible */
} trine_supernodal_access;

typedef struct {
    trine_supernodal_invert invert;
    double fill; /* a panel merged from several may hold this fraction of explicit zeros, on a GPU more where
                    that makes the tree of panels lower; 0 = automatic (0.1 on a GPU, 0.03 on the CPU),
                    negative = merge nothing */
    int single; /* keep a double factor in single precision, half the bytes: right-hand sides are rounded to
                   it on the way in, solutions come out in double with single accuracy, for iterative
                   refinement to mend (trine_direct does). The factor must be within the range of single
                   precision, as trine_supernodal_check says. Columns of B are taken times powers of two, so
                   that any scale of them will do. Where a solution leaves the range all the same, a CPU returns
                   TRINE_ERR_NO_CONVERGENCE, and on a GPU X is not finite */
    /* what the plan's own work is sized for; 0 = 1. More needs a bigger trine_work; more than any memory holds is
     * TRINE_ERR_MEMORY, here and in trine_supernodal_work */
    int64_t max_nrhs;
    trine_supernodal_variant variant;
    trine_supernodal_access access;
    int64_t threshold; /* TEAM: panels of more columns are worked on by many blocks or threads each; 0 = 250 */
    int streams; /* GPU: STREAM, and TEAM's large panels; 0 = 5, at most 32 */
    int64_t teams; /* GPU, DYNAMIC: blocks launched; 0 = as many as are resident at once */
    int no_graph; /* GPU: launch kernel by kernel */
    trine_summation summation; /* as in triangular.h. DETERMINISTIC: access AUTO becomes PULL where op N would add in
                                  any order; PUSH there is TRINE_ERR_UNSUPPORTED */
    int64_t reserved[4]; /* zeros */
} trine_supernodal_options;

/** Analyse the structure of a lower triangular factor L given as panels (host memory; values are not read; everything
 *  needed is copied). Panels must tile the columns 0..n-1; each row list starts with the panel's own columns and goes
 *  on strictly ascending. The strict upper triangles of the diagonal blocks are ignored. One plan solves with L, L^T
 *  and L^H. Runs on the host, may synchronize. options NULL = all automatic.
 *  TRINE_ERR_STRUCTURE names the panel and row that do not fit; TRINE_ERR_MEMORY says how much storage the panels
 *  need. */
TRINE_API trine_status trine_supernodal_analyse(trine_context ctx, trine_supernodal *plan, const trine_panels *panels,
                                                const trine_supernodal_options *options);

/** What trine_supernodal_analyse will take with the same arguments, in *memory. To the byte, but for a kilobyte
 *  on the host for works on a GPU. Runs the analysis, in host memory of the size of the panels' structure alone;
 *  the variant SPMV needs on a CPU its indices as well. Nothing stays allocated. Plans made otherwise than from
 *  panels: not known. */
TRINE_API trine_status trine_supernodal_memory(trine_context ctx, const trine_panels *panels,
                                               const trine_supernodal_options *options, trine_memory *memory);

/** A plan from a triangle T in CSR or CSC, whose values numeric then takes as T stores them: no panels to be made.
 *  first_column and n_supernodes: a partition, as trine_panels_from_partition takes it, or NULL and 0: supernodes
 *  are found as by trine_panels_detect; triangle: what it says of uplo, diag and fill, NULL = all automatic. The
 *  plan solves with T itself, upper or lower: X := alpha op(T)^-1 B. (op H of a complex upper T takes two more
 *  passes over X, which conjugate it; the summation orders of op N and T change places for an upper T.) Only T's
 *  pattern is read; T may be in device memory, whose pattern is copied to the host, and need not outlive the call.
 *  Beside the panels of any plan this one keeps 8 bytes for each entry of T and the panels once more (info.bytes).
 *  Runs on the host, synchronizes. Errors: those of trine_panels_from_partition and trine_supernodal_analyse;
 *  TRINE_ERR_STRUCTURE for an entry that is there twice (names it). */
TRINE_API trine_status trine_supernodal_analyse_triangle(trine_context ctx, trine_supernodal *plan, trine_matrix T,
                                                         int64_t n_supernodes, const int32_t *first_column,
                                                         const trine_panels_options *triangle,
                                                         const trine_supernodal_options *options);

/** One plan for `count` factors of the same dtype and diag, of any structures: the factor of a block diagonal
 *  matrix. Vectors hold the rows of factor 0, then those of factor 1, ...; a solve is one solve with all of them (on
 *  a GPU: one launch). The rest of the interface holds for it; trine_supernodal_numeric takes the values of all
 *  factors one after the other, each value_offsets[n_panels] elements. For many subdomains of a domain
 *  decomposition. */
TRINE_API trine_status trine_supernodal_analyse_batch(trine_context ctx, trine_supernodal *plan,
                                                      const trine_panels *factors, int64_t count,
                                                      const trine_supernodal_options *options);
/** Numeric with an array for each factor, all in `space`. Synchronizes; needs memory for a copy of all values. */
TRINE_API trine_status trine_supernodal_numeric_batch(trine_supernodal plan, trine_space space,
                                                      const void *const *values, const trine_exec *exec);

/** Take panel values of the analysed structure: an array laid out by value_offsets as trine_panels.values is, of the
 *  panels' dtype, in `space`. A plan of trine_supernodal_analyse_triangle: T's values in T's order. Any number of
 *  times. Device values: asynchronous on exec's stream. Host values on a GPU: copied through device memory allocated
 *  for the call; synchronizes. TRINE_ERR_STATE: beside another thread's solve. */
TRINE_API trine_status trine_supernodal_numeric(trine_supernodal plan, trine_space space, const void *values,
                                                const trine_exec *exec);

/** Numeric with panels->values on the host, after a check that the panels have the structure and dtype analysed: else
 *  TRINE_ERR_STRUCTURE names the first panel that differs, and the plan keeps its values. */
TRINE_API trine_status trine_supernodal_update(trine_supernodal plan, const trine_panels *panels,
                                               const trine_exec *exec);

/** Synchronizes exec's stream. TRINE_ERR_SINGULAR with the first row whose diagonal was exactly zero or NaN in the last
 *  numeric, or with options.single became subnormal; TRINE_ERR_NO_CONVERGENCE where options.single made numbers of the
 *  factor infinite; TRINE_ERR_STATE before numeric. Unit-diagonal factors have no diagonal to look at. From here on
 *  trine_supernodal_info has the growth of that numeric's inverses, and what TRINE_INVERT_AUTO made of it; a growth
 *  above 8 is logged (level 1; 2 where AUTO substitutes panels instead). An inversion that was asked for is done and
 *  passes, whatever its growth. */
TRINE_API trine_status trine_supernodal_check(trine_supernodal plan, const trine_exec *exec);

/** One more solve in flight, of up to nrhs right-hand sides; as trine_triangular_work, the plan's life included. A
 *  work given a `buffer` is set up synchronously, and its solves must not overlap. */
TRINE_API trine_status trine_supernodal_work(trine_supernodal plan, int64_t nrhs, void *buffer, size_t *bytes,
                                             trine_work *work);

/** X := alpha op(L)^-1 B for n x nrhs vectors of the panels' dtype in the context's space; B == X (same data, ld,
 *  layout) is allowed, other overlap is not. alpha: host scalar of that dtype, read at the call; NULL = 1, and 0 makes
 *  X = 0 without a look at B. On a GPU a launch, of a kernel or a graph (op N with one right-hand side: two; single:
 *  two more): asynchronous, allocates nothing, capturable in a CUDA graph. NaN and Inf flow through to X.
 *  TRINE_ERR_STATE: before numeric, more right-hand sides than the work was sized for, or beside another thread's solve
 *  with the same work or its numeric. Summation order: fixed for op T and H; for op N fixed with TRINE_ACCESS_PULL,
 *  with TRINE_VARIANT_SPMV and, for one number of threads, with TRINE_VARIANT_DYNAMIC on a CPU; else free (atomic
 *  additions). options.summation asks for a fixed one, info.deterministic says what is.
 *  Yamazaki, Rajamanickam and Ellingwood 2020, Sections 4 and 5.1. */
TRINE_API trine_status trine_supernodal_solve(trine_supernodal plan, trine_transpose op, const void *alpha,
                                              const trine_dense *B, const trine_dense *X, const trine_exec *exec);

/** The operator op(L)^-1 (operator.h), of a plan from a triangle op(T)^-1, for N, T and H: Y := alpha op(L)^-1 X +
 *  beta Y. Keeps the plan alive; may be made before numeric, and is applied with the values of the last one. Its
 *  works hold one of the plan's each. Beside another thread's numeric an apply is refused, as a solve is. */
TRINE_API trine_status trine_supernodal_as_op(trine_supernodal plan, trine_op *op);

typedef struct {
    int64_t n;
    int64_t nnz_triangle; /* entries of the triangle that the plan was made from; else = nnz */
    int64_t nnz; /* entries of the panels given or made of it, lower trapezoids with
                    their diagonals */
    int64_t nnz_merged; /* the same after merging: nnz plus more explicit zeros */
    int64_t panels, panels_merged;
    int64_t levels, levels_merged; /* height of the supernodal elimination tree, in panels */
    int64_t min_panels_per_level, max_panels_per_level; /* after merging */
    int64_t min_width, max_width, min_height, max_height;
    double mean_width, mean_height; /* panel columns and rows, after merging */
    int64_t bytes; /* kept by the plan, in the context's space */
    double analyse_seconds, numeric_seconds; /* host time; numeric: of the last one, up to its return */
    trine_supernodal_invert invert; /* what numeric does; AUTO on a GPU: NONE where all panels are
                                       substituted */
    int64_t substituted_panels; /* of panels_merged: those solved by substitution. All with NONE,
                                   none with inversions asked for; AUTO on a GPU: those whose
                                   inverses the last numeric did not keep; negative: not known yet,
                                   as `growth` */
    double growth; /* of all inverses that the last numeric made, kept or not: the
                      largest residual of trial solutions x (ones; signs) by them, over
                      eps ||op(L)|| ||x||, infinity norms, eps that of the panels, with
                      L and L^T. Above 10 a solve by them may lose digits. 0: nothing
                      was inverted; NaN: an inverse overflowed, or L is singular;
                      negative: not known yet, as after a numeric from device memory
                      before trine_supernodal_check */
    trine_supernodal_variant variant; /* what a solve does */
    int single; /* panels of a double factor are kept in single precision */
    int deterministic; /* bitwise the same every run, for every op; on a CPU for one number
                          of threads */
    int64_t reserved[4]; /* zeros */
} trine_supernodal_info;
TRINE_API trine_status trine_supernodal_get_info(trine_supernodal plan, trine_supernodal_info *info);

/** One level set of panels: none depends on another of its level, level 0 depends on nothing. */
typedef struct {
    int64_t panels;
    int64_t min_width, max_width, min_height, max_height; /* columns and rows of a panel */
    double mean_width, mean_height;
    int64_t entries; /* of the lower trapezoids */
} trine_supernodal_level;
/** The levels of the merged panels (Figure 5 of the paper): info.levels_merged of them go to levels[0..count-1].
 *  With options.fill < 0 nothing is merged. TRINE_ERR_ARGUMENT if count is another number. */
TRINE_API trine_status trine_supernodal_get_levels(trine_supernodal plan, int64_t count,
                                                   trine_supernodal_level *levels);
TRINE_API trine_status trine_supernodal_destroy(trine_supernodal *plan);

#ifdef __cplusplus
}
#endif
#endif
