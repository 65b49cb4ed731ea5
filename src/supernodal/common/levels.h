/* What the level-by-level variants launch (Yamazaki et al. 2020, Section 5.1), built on the host. C11 and C++17. */
#ifndef TRINE_SUPERNODAL_COMMON_LEVELS_H
#define TRINE_SUPERNODAL_COMMON_LEVELS_H

#include "supernodal/supernodal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One block's share of a launch: rows, columns or segments begin..end-1 of a panel. */
typedef struct { int32_t panel, begin, end; } supernodal_slice;

/** Rows begin..end-1 of `panel` are columns of the panel that has this segment in its list: a nonempty block of its
 *  block row. */
typedef struct { int32_t panel, begin, end; } supernodal_segment;

/** Products and substitutions; t is the right-hand side in the making, x the solution. */
typedef enum {
    LEVEL_SUBSTITUTE,      /* x_s := op(L_ss)^-1 t_s; a slice a panel */
    LEVEL_ROWS_FROM_T,     /* slices are rows: x_s := P_top t_s in the diagonal block, t_rows -= P_bottom t_s below
                              it */
    LEVEL_ROWS_FROM_X,     /* the same from x_s */
    LEVEL_GATHER_T,        /* slices are columns of a panel: t_s -= the block row of s times t */
    LEVEL_GATHER_X,        /* the same times x */
    LEVEL_COLUMNS_TOP,     /* slices are columns: x_s := P_top^T t_s */
    LEVEL_COLUMNS_TOP_ADD, /* x_s += P_top^T t_s */
    LEVEL_COLUMNS_BOTTOM,  /* t_s -= P_bottom^T x_rows */
    LEVEL_COLUMNS_BOTH,    /* x_s := P_top^T t_s - P_bottom^T x_rows */
    LEVEL_SCATTER_T,       /* slices are segments: t of their panels -= their transpose times x_s */
    LEVEL_SCATTER_X,       /* the same into x */
    LEVEL_LINES_OWN,       /* first, count are lines: x := sparse line times t */
    LEVEL_LINES_T_FROM_T,  /* t -= sparse line times t */
    LEVEL_LINES_T_FROM_X,
    LEVEL_LINES_X_FROM_X
} supernodal_level_kernel;

/** One kernel launch: slices first..first+count-1. Launches of one stage may overlap; stages follow each other. */
typedef struct {
    supernodal_level_kernel kernel;
    int32_t level, stage;
    int64_t first, count;
} supernodal_launch;

typedef struct {
    supernodal_slice *slices;
    int64_t n_slices;
    supernodal_launch *launches;
    int64_t n_launches;
} supernodal_level_plan;

/** One direction. `threshold`: panels of more columns have launches of their own, in which many blocks share the
 *  panel; all other panels of a level are one launch, one block each. */
trine_status supernodal_levels_build(const supernodal_structure *S, bool forward, bool pull,
                                     trine_supernodal_invert invert, int64_t threshold, supernodal_level_plan *out);
void supernodal_levels_free(trine_context ctx, supernodal_level_plan *plan);

/** The matrices of the SpMV variant, one a level, as sparse lines: rows of the level's columns (forward) or columns
 *  (backward). A line is put together from runs, each a row or column of a panel, within the diagonal block or below
 *  it. */
typedef struct {
    /* forward: row `at` of the panel, up to the diagonal; backward: column `at`, from the diagonal on */
    int32_t panel, at;
} supernodal_run;
typedef struct {
    int32_t *targets;   /* entry of x or t that a line makes */
    int32_t *own;       /* of the diagonal block? */
    int64_t *run_start; /* runs run_start[k]..run_start[k+1]-1 make line k */
    supernodal_run *runs;
    int64_t n_lines, n_runs;
    supernodal_launch *launches;
    int64_t n_launches;
} supernodal_lines;
trine_status supernodal_lines_build(const supernodal_structure *S, bool forward, trine_supernodal_invert invert,
                                    supernodal_lines *out);
void supernodal_lines_free(trine_context ctx, supernodal_lines *lines);

/** Panels by level: those of level l are panels[start[l]]..panels[start[l+1]-1]. */
typedef struct {
    int64_t *start;
    int32_t *panels;
} supernodal_by_level;
trine_status supernodal_by_level_build(const supernodal_structure *S, supernodal_by_level *out);
void supernodal_by_level_free(trine_context ctx, supernodal_by_level *by_level);

/** The block rows: segments of panel s are start[s]..start[s+1]-1, by ascending panel. */
trine_status supernodal_segments_build(const supernodal_structure *S, int64_t **start, supernodal_segment **segments);

#ifdef __cplusplus
}
#endif
#endif
