/* Who solves which rows when: the rows of a triangle in tasks, dealt to threads that wait for each other's tasks
 * only. */
#ifndef TRINE_TRIANGULAR_CPU_SCHEDULE_H
#define TRINE_TRIANGULAR_CPU_SCHEDULE_H

#include "triangular/common/levels.h"

/** Wait until `count` tasks of a list are finished. */
struct task_wait { int32_t list, count; };

/** Task number `slot` of a list. */
struct task_place { int32_t list, slot; };

/** A list in a solve; both are atomic. */
struct task_list {
    _Alignas(64) int64_t state; /* twice the number of finished tasks, and one more while somebody is at the next one */
    int32_t attended; /* its thread is there, and comes back to it soon */
};

/** A task: positions first .. last - 1, one after another, when waits[first_wait] .. waits[first_wait + n_waits - 1]
 *  are over. */
struct task_slot {
    int64_t first, last, first_wait;
    int32_t n_waits;
};

/** List i is slots[slot_offsets[i]] .. slots[slot_offsets[i+1] - 1], one after another in this order: meant for
 *  thread i, but any other may go on with it. */
struct task_schedule {
    int threads;
    int64_t n_tasks, n_waits;
    struct task_slot *slots; /* n_tasks */
    struct task_place *places; /* n_tasks, by rows: in this order they need nobody */
    int64_t *slot_offsets; /* threads + 1 */
    struct task_wait *waits; /* n_waits */
    double seconds; /* of a solve, as simulated */
};

/** Cut the rows into tasks, find which task needs which, and deal them out to `threads` threads so that a simulated
 *  solve ends early; the best of several sizes of tasks. levels: rows in the order of these, tasks ending with a
 *  level unless that is thin; NULL: as they stand. Park, Smelyanskiy, Sundaram and Dubey 2014: point-to-point waits,
 *  and only those that another one does not imply. */
trine_status tasks_schedule(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                            int threads, struct task_schedule **out);
/** Seconds of a solve by one thread, rows as they stand, on the scale of task_schedule.seconds. */
double tasks_serial_seconds(trine_triangular plan, const struct gather_form *t);
/** What tasks by level take at least, on that scale: all their work, shared without a wait. */
double tasks_least_seconds_by_level(trine_triangular plan, const struct gather_form *t, int threads);
/** Upper bounds for a triangle of n rows and nnz off-diagonal entries: bytes of a schedule, and of what
 *  tasks_schedule takes beside it. */
void tasks_bound(trine_triangular plan, int64_t n, int64_t nnz, int64_t *kept, int64_t *meanwhile);
void tasks_free(trine_triangular plan, struct task_schedule *schedule);

#endif
