/* How blocks and bands are cut into partitions; the same on the CPU and on the GPU.
 *
 * Unknowns are grouped into block columns of `width` positions, each coupled with its two neighbours only: bands become
 * blocks. The matrix of a stage comes in groups of `group` block rows: one in the given matrix, two in every coarse
 * system. A group's rows have coefficients in its own block columns and in one more on each side. A partition of m
 * groups, B = m group block columns, keeps the unknowns of its first and last block column as interface; Gaussian
 * elimination of the B - 2 others leaves 2 width rows with coefficients in four block columns,
 *     left (the previous partition's last one) | first | last | right (the next partition's first one),
 * and these are one group of the coarse system. The last stage, a coarse one, is one partition, whose 2 width rows are
 * eliminated as well; in a cyclic system it is its own neighbour: left is last, right is first.
 *
 * A block column's factors ("chunk") are, with R = (2 + group) width rows in play:
 *     multipliers  width x R          of column k at k R
 *     pivot rows width x (4 + group) width: of block column 0, 1, ... to the right (2 + group), of left and of first;
 *     row k of
 *                  column c at c width + k
 *     inverses     width              of the pivots
 * and, as bytes, the pivot rows' numbers and the number of the block row that a determinant chose; before these bytes
 * the scales of the given rows (two bytes each, in their block columns' order), powers of two that make the largest
 * coefficient of each row 2 to 4, so that nothing depends on how a row is scaled. A GPU has another order: the
 * multipliers of a stage together, then its pivot rows, each stored together with the inverse on the diagonal; the
 * bytes are the positions of the pivot rows on the lanes (block/cuda/panel_rows.cuh). */
#ifndef TRINE_TRIDIAGONAL_BLOCK_COMMON_LAYOUT_H
#define TRINE_TRIDIAGONAL_BLOCK_COMMON_LAYOUT_H

#include "tridiagonal/common/hierarchy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BLOCK_MAX = 8,
    BLOCK_MAX_STAGES = 48,
    BLOCK_SMALL_ERROR = 1,  /* componentwise backward errors as working precision sees them, in units of FLT_EPSILON
                               and DBL_EPSILON: needs no refinement, */
    BLOCK_LARGE_ERROR = 24  /* and is more than refinement leaves */
};

/** The given matrix. Block column j has size + (j < larger) unknowns from j size + min(j, larger) on, as far as
 *  there are n; its other positions are unknowns of the identity. In pairs (block/common/pairs.h), pair j has these. */
typedef struct {
    int64_t n, rows;         /* unknowns; block rows */
    int64_t larger;
    int width, size;
    bool banded, cyclic;
    bool wrapped;            /* a cyclic system so small that block columns meet themselves: coefficients are added
                                up, and the system is not cyclic any more */
    bool paired;             /* cyclic bands that have no other block columns: stage 0 only copies them, in
                                partitions of two */
    int kl, ku, n_given;     /* bands; rows of the caller's blocks */
    int64_t rows_given;
    trine_transpose op;
    const void *a, *b, *c;   /* blocks; of bands, a is AB */
} block_matrix;

/** What is kept of a stage: nothing but pivot rows suffices where the right-hand sides are eliminated with it. */
typedef enum { BLOCK_KEEP_NOTHING, BLOCK_KEEP_PIVOT_ROWS, BLOCK_KEEP_FACTORS } block_keep;

typedef struct {
    int group;
    block_keep keeps;
    int64_t groups, partitions;
    int64_t base, larger;     /* partition p has base + (p < larger) groups, from p base + min(p, larger) on */
    int64_t chunk;            /* elements of a chunk */
    int64_t factor, pivots;   /* where the stage's chunks begin in a factorization, in elements; and its pivots, in
                                 bytes */
    int64_t matrix;           /* where its groups begin, in elements: 8 width^2 each, the four block columns one
                                 after the other, each 2 width x width, column-major. Stage 0 reads the caller's
                                 matrix */
    int64_t rhs;              /* where its right-hand sides begin in the workspace, in vectors; stage 0 has the
                                 caller's */
} block_stage;

typedef struct {
    int width, stages;
    bool cyclic;
    block_stage stage[BLOCK_MAX_STAGES];
    int64_t factor_elements, pivot_bytes, matrix_elements, rhs_elements; /* the last for one right-hand side */
    bool is_small;            /* nothing is kept of stage 0: its partitions are eliminated again on the way up, each
                                 in a slot of the workspace */
    int64_t slots;
    size_t slot_bytes;
} block_plan;

static inline int64_t block_first_group(const block_stage *s, int64_t p)
{
    return p * s->base + (p < s->larger ? p : s->larger);
}
static inline int block_group_count(const block_stage *s, int64_t p) { return (int)(s->base + (p < s->larger)); }

/** Are the given rows scaled? Where pivot decisions compare coefficients as they are, and where these are compared
 *  with epsilon, they are not, nor where stage 0 only copies them. */
static inline bool block_is_scaled(const block_matrix *A, int pivot, double epsilon)
{
    return !A->paired && !(epsilon > 0) && pivot != TRINE_PIVOT_PARTIAL && pivot != TRINE_PIVOT_PARTIAL_DETERMINANT;
}

/** May bands be eliminated from the first row to the last instead? */
static inline bool block_may_be_sequential(const block_matrix *A, int pivot, double epsilon)
{
    return A->banded && !A->cyclic && !A->wrapped && !(epsilon > 0) && pivot != TRINE_PIVOT_NONE;
}

/** Elements of the caller's matrix in a block row. */
static inline int64_t block_given_elements(const block_matrix *A)
{
    return A->banded ? (int64_t)A->width * (A->kl + A->ku + 1) : 3 * (int64_t)A->n_given * A->n_given;
}

/** Elements of what elimination row by row keeps: SEQUENTIAL_STRIDE and two of a row, from whichever end. */
static inline int64_t block_sequential_elements(const block_matrix *A)
{
    return A->n * (A->kl > A->ku ? 2 * A->kl + A->ku + 4 : A->kl + 2 * A->ku + 4);
}

/** Bands row by row (block/common/sequential.h): from the first row to the last or reversed; bands below and above
 *  the diagonal, as that order sees them. */
typedef struct {
    bool reversed;
    int below, above;
} sequence_of_rows;

/** First unknown of a block column of the given matrix; the block column of an unknown. */
static inline int64_t block_first(const block_matrix *A, int64_t j)
{
    return j * A->size + (j < A->larger ? j : A->larger);
}
static inline int64_t block_column(const block_matrix *A, int64_t unknown)
{
    const int64_t in_larger = A->larger * (A->size + 1);
    return unknown < in_larger ? unknown / (A->size + 1) : A->larger + (unknown - in_larger) / A->size;
}

/** Options as in rpts_check_options, and any pivoting scheme. */
trine_status block_check_options(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                 rpts_options *out);

/** Check the shape and group the unknowns; widths[n] is the width used for blocks of n rows. */
trine_status block_group_blocks(int64_t rows, int n, const rpts_options *o, const int *widths, block_matrix *A);
trine_status block_group_bands(int64_t n, int kl, int ku, const rpts_options *o, const int *widths, block_matrix *A);

/** Partitions of `partition` block rows in stage 0 and of coarse_partition groups in the others; two stages at
 *  least. Of bands in pairs, where stage 0 only copies, stage 1 has those of `partition` block rows, of
 *  coarse_partition groups if that is 0. */
void block_make_plan(const block_matrix *A, int64_t partition, int64_t coarse_partition, block_keep keeps,
                     block_keep coarse_keeps, block_plan *plan);

/** Block rows of a partition of stage 0 if nothing is kept of it: `suitable` times the power of two that makes the
 *  coarse stages take at most three sevenths of the given matrix. */
int64_t block_small_partition(const block_matrix *A, int64_t suitable, block_keep coarse_keeps);

/** Give a plan slots of so many bytes each: as many as half of the given matrix leaves room for beside the coarse
 *  stages, but `least` to `most`. Their number depends on nothing else, so that a query and a solve agree. */
void block_add_slots(const block_matrix *A, trine_dtype t, size_t factor_bytes, size_t slot_bytes, int64_t least,
                     int64_t most, block_plan *plan);

/** Bytes of a factorization: chunks, coarse matrices, pivots. */
trine_status block_factor_bytes(const block_plan *plan, trine_dtype t, size_t *bytes);

/** The unknown of the given matrix behind position k of block column j of a stage. */
int64_t block_unknown(const block_matrix *A, const block_plan *plan, int stage, int64_t j, int k);

#ifdef __cplusplus
}
#endif
#endif
