/* The synchronization-free solve by rows with several right-hand sides: rows as tasks of bounded length
 * (cuda/tasks.cu), and the solve with them (cuda/syncfree_rows_many.cu). */
#ifndef TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_MANY_H
#define TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_MANY_H

#include "triangular/cuda/triangle.h"

/** Entries first .. (the next task's first) - 1. A short row is one task: row = its number, position = its position.
 *  A long row is several, side by side: parts with row = ~(a slot of its own, ascending), position = how many parts
 *  of the row came before, and then a last one with the row's number and position | INT32_MIN. */
struct alignas(16) row_task {
    int64_t first;
    int32_t row, position;
};

struct task_list {
    row_task *tasks;         /* count + 1: the last one ends the last but one */
    int32_t *rows;           /* of every entry: the number of the row whose value it needs */
    void *inverses;          /* reciprocals of the pivots, made by every numeric; NULL: the diagonal is 1 */
    int64_t count, slots;
    int32_t *lenders;        /* of every slot: the number of a row that no other needs and that is no long one; NULL:
                                too few */
    uint8_t *lends;          /* of every row, by its number: it is one of those */
    arena memory;            /* holds all of these */
    int warps, blocks;       /* how the solve is launched */
};

/** Entries of every row in solve order: what is ready last comes last. */
trine_status device_rows_sort(trine_triangular plan, device_triangle *d);
/** d's rows as tasks of at most `most` entries. */
trine_status device_tasks_make(trine_triangular plan, const device_triangle *d, int64_t most, task_list *out);
void device_tasks_release(trine_triangular plan, task_list *list);

/** State of one solve in flight at the start of its work: counters, a cache line each. Room for one X follows, or
 *  for the slots: where X's values as flags stand in that room or take X's own, a lender's place there is free,
 *  since nobody waits for it: a slot. */
constexpr size_t STATE_BYTES = 1024;
/** X itself can hold them, being no B and row-major. */
inline bool x_holds_flags(const struct triangular_solve *s)
{
    return s->x_col == 1 && s->B != s->X && s->x_row <= UINT32_MAX;
}
trine_status syncfree_csr_solve_many(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                                     const task_list *list);
trine_status syncfree_csr_invert_pivots(trine_triangular plan, const device_triangle *d, const task_list *list,
                                        void *stream);

#endif
