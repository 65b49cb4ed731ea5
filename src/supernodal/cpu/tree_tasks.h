/* The elimination tree cut into tasks for CPU threads. */
#ifndef TRINE_SUPERNODAL_CPU_TREE_TASKS_H
#define TRINE_SUPERNODAL_CPU_TREE_TASKS_H

#include "supernodal/supernodal.h"

/** Panels first..last-1: whole subtrees, or a chain of panels above subtrees. Its columns are consecutive. In a
 *  forward solve it subtracts from rows of its own directly. What it has for the n_out rows above stays in places
 *  out..out+n_out-1 of the contributions, in the order of these rows; the task that a row belongs to adds it up. */
typedef struct {
    int32_t first, last;
    int32_t parent, children; /* tasks; parent -1: none */
    int32_t column, end_column;
    int32_t n_out;
    bool is_large;            /* one panel, whose work is shared */
    int64_t out, sums;        /* sums: of row i of this task are sum_start[sums+i]..sum_start[sums+i+1]-1; only with
                                 children */
} tree_task;

typedef enum { STEP_WHOLE, STEP_HEAD, STEP_TILE } tree_step_kind;

/** What a thread takes at a time. All of a task; or of a large panel its columns a..e-1: their triangle (HEAD), or
 *  of what lies below it the rows (forward) or columns (backward) begin..end-1 (TILE). Starts when `expected` steps
 *  of the same task are done, and those of the tasks below (forward) or above (backward). */
typedef struct {
    tree_step_kind kind;
    int32_t task, a, e, begin, end, expected;
} tree_step;

typedef struct {
    int threads;               /* worth their while */
    int64_t n_tasks, n_out;
    tree_task *tasks;
    int32_t *places;           /* beside S->rows: where a forward solve subtracts, row of the vectors or of the
                                  task's contributions */
    int32_t *own;              /* of a panel: how many of its rows are the task's own */
    int64_t *sum_start;
    int32_t *sum_places;       /* contributions by ascending task */
    tree_step *steps[2];       /* forward, backward: nothing waits for a later one */
    int64_t n_steps[2];
    int32_t *task_steps[2];    /* of a task */
} tree_tasks;

/** Cut S's tree and renumber S so that a task's panels are consecutive. The cut depends on `split` (whether large
 *  panels can be shared) and on whether there is more than one thread, not on how many: sums are made in the same
 *  order by any number. */
trine_status tree_tasks_build(supernodal_structure *S, int threads, bool split, tree_tasks *out);
void tree_tasks_free(trine_context ctx, tree_tasks *tasks);

#endif
