/* What the files of the CPU backend share: its part of a plan, blocks of right-hand sides, shares of a team. */
#ifndef TRINE_SUPERNODAL_CPU_BACKEND_H
#define TRINE_SUPERNODAL_CPU_BACKEND_H

#include "core/team.h"
#include "supernodal/common/levels.h"
#include "supernodal/cpu/panel_kernels/kernels.h"
#include "supernodal/cpu/tree_tasks.h"

/** The variants that go level by level: what common/levels.c lists for a GPU, worked through by threads. */
typedef struct {
    supernodal_level_plan steps;  /* slices of panels, or */
    supernodal_lines lines;       /* sparse lines (TRINE_VARIANT_SPMV), */
    int64_t *line_start;          /* line k has the entries line_start[k]..line_start[k+1]-1, */
    int32_t *line_index;          /* of this row of the vectors */
    void *line_values;
} cpu_direction;
enum { FORWARD, BACKWARD, DIRECTIONS };

typedef struct {
    const struct panel_kernels *kernels;
    int threads;
    tree_tasks tasks;                        /* TRINE_VARIANT_DYNAMIC */
    cpu_direction directions[DIRECTIONS];    /* the others */
    int64_t *segment_start;
    supernodal_segment *segments;
    int64_t bad_row;
} cpu_part;

/** Columns first..first+count-1 of the right-hand sides, stored `cols` wide. */
typedef struct {
    int64_t first, count;
    int cols;
} cpu_block;

/** The next block of B's columns from column `first` on. */
static inline cpu_block cpu_next_block(const trine_dense *B, int64_t first, int64_t element)
{
    const int64_t most = PANEL_MOST_BYTES / element, unit = PANEL_VECTOR / element;
    const int64_t left = B->cols - first, count = left < most ? left : most;
    return (cpu_block){first, count, count == 1 ? 1 : (int)((count + unit - 1) / unit * unit)};
}

/** Part `me` of `team` of [begin, end), cut at multiples of `grain` from begin. */
static inline void cpu_share(int64_t begin, int64_t end, int64_t grain, int me, int team, int64_t *from, int64_t *to)
{
    const int64_t units = end > begin ? (end - begin + grain - 1) / grain : 0;
    *from = begin + units * me / team * grain;
    *to = begin + units * (me + 1) / team * grain;
    if (*from > end) *from = end;
    if (*to > end) *to = end;
}

/* growth.c: the trial of inverses. `from`: the caller's values. */

/** Vectors of a trial of n rows, one after the other; elements are wide (growth.inc). */
typedef struct {
    double *norms;          /* sums of moduli of the n rows of L, then of its n columns */
    void *b, *bt, *x, *xt;  /* right-hand sides for L and L^T, solutions made of them */
    void *r, *rt;           /* residuals */
} growth_trial;
/** Before the inversion: room, and the right-hand sides. */
trine_status growth_cpu_begin(trine_supernodal plan, const void *from, growth_trial *trial);
/** After it: plan->growth. */
void growth_cpu_measure(trine_supernodal plan, const void *from, growth_trial *trial);
void growth_cpu_free(trine_context ctx, growth_trial *trial);

/* levels.c */
trine_status levels_cpu_build(trine_supernodal plan);
void levels_cpu_free(trine_supernodal plan);
/** The sparse lines from the panels, for TRINE_VARIANT_SPMV. */
void levels_cpu_numeric(trine_supernodal plan);
/** Rows of a block that a work has room for. */
int64_t levels_cpu_rows(trine_supernodal plan);
void levels_cpu_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                      const trine_dense *X, void *buffer);

#endif
