/* Triangular solves on the CPU: values of the factor, and solves by one thread, by tasks of rows, or with right-hand
 * sides shared out. */
#include <float.h>

#include "core/consume.h"
#include "core/scalar.h"
#include "core/team.h"
#include "triangular/cpu/side.h"

enum { VECTOR = 64 /* bytes of right-hand sides that are worked on together */ };
static const double worth_waking = 40e-6; /* seconds of a solve, as simulated */
enum { VALUES_AT_ONCE = 1 << 15 }; /* of numeric, by one thread */

/** How a sweep goes over rows by their kinds: known at compile time, but for `divide`. */
struct sweep_kind {
    int64_t step;      /* that of the side, 0 or not */
    bool unit, divide; /* the pivot is 1; solution values are divided by it, not multiplied by its reciprocal */
    bool scaled;       /* the reciprocal multiplies right-hand side and entries before they meet solution values */
    bool mostly_long;  /* which kind to ask for first */
};

/** Whether somebody is at the next task of a list, or will be soon: then it can be waited for. */
static inline bool is_cared_for(const struct task_list *l, int64_t state)
{
    return state & 1 || __atomic_load_n(&l->attended, __ATOMIC_RELAXED);
}

/** Whether what a task waits for is finished, or is within a few microseconds. */
static bool waits_are_over(const struct task_schedule *tasks, const struct task_slot *slot,
                           const struct task_list *lists)
{
    int polls = 0;
    for (int32_t w = 0; w < slot->n_waits; w++) {
        const struct task_wait wait = tasks->waits[slot->first_wait + w];
        const struct task_list *l = &lists[wait.list];
        for (int64_t state; (state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE)) < 2 * (int64_t)wait.count;
             trine_poll(&polls))
            if (polls == TRINE_POLLS || !is_cared_for(l, state)) return false;
    }
    return true;
}

/** So many times the calling thread does what another one was meant to, before it goes on without any. */
static int64_t patience_of(const struct task_schedule *tasks)
{
    return tasks->n_tasks > 4096 ? tasks->n_tasks / 64 : 64;
}

static int64_t length_of_list(const struct task_schedule *tasks, int list)
{
    return tasks->slot_offsets[list + 1] - tasks->slot_offsets[list];
}

/** Be at the next task of every list at once; not if somebody else is at one. */
static bool lists_take_all(const struct task_schedule *tasks, struct task_list *lists)
{
    for (int i = 0; i < tasks->threads; i++) {
        int64_t state = __atomic_load_n(&lists[i].state, __ATOMIC_RELAXED) & ~(int64_t)1;
        if (__atomic_compare_exchange_n(&lists[i].state, &state, state + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        while (i-- > 0) __atomic_fetch_sub(&lists[i].state, 1, __ATOMIC_RELEASE);
        return false;
    }
    return true;
}

static void lists_end_all(const struct task_schedule *tasks, struct task_list *lists)
{
    for (int i = 0; i < tasks->threads; i++)
        __atomic_store_n(&lists[i].state, 2 * length_of_list(tasks, i), __ATOMIC_RELEASE);
}

#define TEMPLATE "triangular/cpu/solve.inc"
#include "core/each_dtype.h"

/** Whether T has the side's values in one pass over its own. */
static bool takes_in_order(const struct cpu_side *t) { return t->form.row_source && t->step; }

static trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    (void)space, (void)stream;
    static void (*const take[])(trine_context, struct cpu_side *, const void *, bool) = TABLE(numeric);
    static void (*const invert[])(struct cpu_side *) = TABLE(invert);
    struct cpu_side *sides[SIDES] = {plan->side[SIDE_N].part, plan->side[SIDE_T].part};
    int last = sides[SIDE_T] ? SIDE_T : SIDE_N; /* which may give back what it takes */
    if (sides[SIDE_N] && sides[SIDE_T] && takes_in_order(sides[SIDE_N])) last = SIDE_N;
    for (int k = 0; k < SIDES; k++) {
        struct cpu_side *t = sides[k ? last : !last];
        if (!t) continue;
        t->bad_row = -1;
        t->divide = t->scaled = false;
        take[plan->base.dtype](plan->base.ctx, t, values,
                               k && trine_values_may_go() && !plan->plain && takes_in_order(t));
        if (!t->divide) invert[plan->base.dtype](t);
    }
    return TRINE_SUCCESS;
}

static trine_status bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    /* both have the same pivots */
    const struct cpu_side *t = plan->side[plan->side[SIDE_N].part ? SIDE_N : SIDE_T].part;
    (void)stream;
    *row = t->bad_row;
    return TRINE_SUCCESS;
}

static size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    size_t lists = 0;
    (void)nrhs;
    for (int s = 0; s < SIDES; s++) {
        const struct cpu_side *t = plan->side[s].part;
        if (t && t->tasks && (size_t)t->tasks->threads > lists) lists = (size_t)t->tasks->threads;
    }
    return lists * sizeof(struct task_list);
}

static trine_status memory(trine_triangular plan, const struct triangular_extent *e, struct triangular_bytes *host,
                           struct triangular_bytes *device, int64_t *work)
{
    (void)device;
    const int threads = trine_threads_with_cores(plan->base.ctx);
    const trine_triangular_method asked = plan->options.method;
    const struct cpu_side alike = {.threads = threads};
    const bool shares = !plan->options.tune.row_order && cpu_shares_columns(&alike, plan->options.max_nrhs);
    const bool has_tasks = asked == TRINE_TRI_LEVELSET || (asked == TRINE_TRI_AUTO && threads > 1 && !shares);
    const int64_t n = e->n, m = e->nnz, size = (int64_t)trine_dtype_size(plan->base.dtype);
    int64_t schedule = 0, meanwhile = 0, levels = 0;
    if (has_tasks) {
        tasks_bound(plan, n, m, &schedule, &meanwhile);
        levels = (n + 1) * 8 + (n + 1) * 4; /* which go, once the tasks are chosen */
    }
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        const int64_t structure = gather_form_bytes(e, plan->options.diag == TRINE_UNIT, e->csr != (side == SIDE_N));
        bytes_add(host, sizeof(struct cpu_side) + structure, 0);
        bytes_add(host, levels, levels + n * 4);
        /* Two schedules, where the order is open, the second one being made; or one and an array of the structure. */
        const int64_t reordered = plan->options.tune.row_order == 1 || !has_tasks ? 0 : gather_form_reorder_bytes(e);
        const int64_t second = schedule + meanwhile - (plan->options.tune.row_order ? schedule : 0);
        bytes_add(host, schedule, schedule + (second > reordered ? second : reordered));
        host->kept -= levels;
        bytes_add(host, (n + 1) + (m + n + 2) * size, 0);
    }
    *work = has_tasks ? threads * (int64_t)sizeof(struct task_list) : 0;
    return TRINE_SUCCESS;
}

static trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static void (*const run[])(trine_triangular, const struct triangular_solve *) = TABLE(solve);
    run[plan->base.dtype](plan, s);
    return TRINE_SUCCESS;
}

const struct triangular_backend triangular_cpu = {cpu_read_pattern,
                                                  cpu_analyse_side,
                                                  cpu_drop_pattern,
                                                  cpu_release,
                                                  numeric,
                                                  bad_row,
                                                  work_bytes,
                                                  memory,
                                                  NULL,
                                                  solve,
                                                  false,
                                                  NULL};
