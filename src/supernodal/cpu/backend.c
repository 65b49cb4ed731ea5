/* The supernodal solve on CPU threads. The elimination tree is cut into tasks (tree_tasks.c) that threads take one
 * after another and start when those below (forward) or above (backward) are done. The dense work is in
 * panel_kernels/, the variants that go level by level in levels.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/consume.h"
#include "core/scalar.h"
#include "supernodal/cpu/backend.h"

enum {
    INVERT_SMALL = 32,         /* columns inverted by substitution */
    PANELS_AT_ONCE = 8,        /* of numeric, by one thread */
    ROWS = 16,                 /* of an inverted block that are multiplied together, zeros above the diagonal
                                  included */
    TEAM_WORTHWHILE = 200000 /* elements of all panels: below, threads wait for each other longer than they compute */
};

typedef struct panel_kernels panel_kernels;

/** Panel s; `rows`: all row lists, or where a forward solve subtracts. */
static inline panel_view view_panel(trine_supernodal plan, int64_t s, const int32_t *rows, size_t element)
{
    const supernodal_panel *p = &plan->S.panels[s];
    return (panel_view){.values = (const char *)plan->values + (size_t)p->values * element,
                        .rows = rows + p->rows,
                        .ld = p->ld,
                        .width = p->width,
                        .height = p->height,
                        .own = ((const cpu_part *)plan->device)->tasks.own[s]};
}

/** What a solve counts: the steps before which all are taken, of every task its finished steps and its finished
 *  children, and, behind these, a byte for each step: it is taken. */
static inline int64_t cpu_counters(const tree_tasks *tasks)
{
    const int64_t steps = tasks->n_steps[0] > tasks->n_steps[1] ? tasks->n_steps[0] : tasks->n_steps[1];
    return 1 + 2 * tasks->n_tasks + (steps + (int64_t)sizeof(trine_counter) - 1) / (int64_t)sizeof(trine_counter);
}

/** Steps in their order, as threads take them. */
typedef struct {
    const tree_tasks *tasks;
    bool forward;
    /* all before `first` are taken; of a task: its finished steps; its finished children */
    trine_counter *first, *done, *arrived;
    uint8_t *taken;
} cpu_steps;

static inline cpu_steps cpu_steps_of(const tree_tasks *tasks, bool forward, trine_counter *counters)
{
    return (cpu_steps){tasks,
                       forward,
                       counters,
                       counters + 1,
                       counters + 1 + tasks->n_tasks,
                       (uint8_t *)(counters + 1 + 2 * tasks->n_tasks)};
}

/** Whether what the step needs is done; what was written there is then seen. */
static bool cpu_is_free(const cpu_steps *o, const tree_step *step)
{
    const tree_task *task = &o->tasks->tasks[step->task];
    if (step->expected) return trine_counted(&o->done[step->task]) >= step->expected;
    if (o->forward) return trine_counted(&o->arrived[step->task]) >= task->children;
    return task->parent < 0 || trine_counted(&o->done[task->parent]) >= o->tasks->task_steps[1][task->parent];
}

/** Take a step that is free, of the first ones that are not taken; -1: none of them is, -2: all are taken. Nobody
 *  keeps a step that he cannot begin: another thread may be able to, later, when this one has no core. */
static int64_t cpu_take_step(const cpu_steps *o)
{
    enum { LOOK_AHEAD = 64 };
    const int direction = !o->forward;
    const int64_t n_steps = o->tasks->n_steps[direction], first = trine_counted(o->first);
    for (int64_t k = first; k < n_steps && k < first + LOOK_AHEAD; k++) {
        if (!__atomic_load_n(&o->taken[k], __ATOMIC_RELAXED)) {
            if (!cpu_is_free(o, &o->tasks->steps[direction][k]) ||
                __atomic_exchange_n(&o->taken[k], 1, __ATOMIC_RELAXED))
                continue;
            return k;
        }
        int32_t here = (int32_t)k;
        __atomic_compare_exchange_n(&o->first->value, &here, here + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return trine_counted(o->first) < n_steps ? -1 : -2;
}

static void cpu_end_step(const cpu_steps *o, const tree_step *step)
{
    const int32_t parent = o->tasks->tasks[step->task].parent;
    const bool last = trine_count(&o->done[step->task]) + 1 == o->tasks->task_steps[!o->forward][step->task];
    if (o->forward && last && parent >= 0) trine_count(&o->arrived[parent]);
}

#define TEMPLATE "supernodal/cpu/backend.inc"
#include "core/each_dtype.h"

static bool is_by_level(trine_supernodal plan) { return plan->options.variant != TRINE_VARIANT_DYNAMIC; }

static void cpu_destroy(trine_supernodal plan)
{
    cpu_part *part = plan->device;
    levels_cpu_free(plan);
    tree_tasks_free(plan->base.ctx, &part->tasks);
    trine_free(plan->base.ctx, TRINE_HOST, part);
    plan->device = NULL;
}

static trine_status cpu_analyse(trine_supernodal plan)
{
    trine_context ctx = plan->base.ctx;
    cpu_part *part = trine_host_calloc(ctx, 1, sizeof *part);
    if (!part) return TRINE_ERR_MEMORY;
    plan->device = part;
    part->bad_row = -1;
    part->kernels = panel_kernels_for(plan->dtype);
    part->threads = plan->S.n_values < TEAM_WORTHWHILE ? 1 : trine_threads_with_cores(ctx);
    if (part->threads > 1) trine_team_start(ctx);
    return is_by_level(plan)
               ? levels_cpu_build(plan)
               : tree_tasks_build(&plan->S, part->threads, plan->invert == TRINE_INVERT_NONE, &part->tasks);
}

typedef struct {
    trine_supernodal plan;
    char *scratch; /* `bytes` for each thread */
    size_t bytes;
} inversion;

static void invert_panels(void *job, int64_t begin, int64_t end, int me)
{
    static void (*const invert_panel[])(trine_supernodal, const supernodal_panel *, bool, void *) = TABLE(invert_panel);
    const inversion *o = job;
    trine_supernodal plan = o->plan;
    for (int64_t s = begin; s < end; s++) /* the large ones are at the end: first */
        invert_panel[plan->dtype](plan, &plan->S.panels[plan->S.n_panels - 1 - s], plan->invert == TRINE_INVERT_OFF,
                                  o->scratch + (size_t)me * o->bytes);
}

/** The sources of each target, one after another. */
static trine_status sort_sources(trine_supernodal plan, int64_t **first, int32_t **sources)
{
    const supernodal_structure *S = &plan->S;
    trine_status status = TRINE_SUCCESS;
    TRY(CALLOC(plan->base.ctx, *first, S->n_panels + 2));
    TRY(ALLOC(plan->base.ctx, *sources, S->n_sources));
    for (int64_t s = 0; s < S->n_sources; s++) (*first)[S->target[s] + 2]++;
    for (int64_t p = 0; p < S->n_panels; p++) (*first)[p + 2] += (*first)[p + 1];
    for (int64_t s = 0; s < S->n_sources; s++) (*sources)[(*first)[S->target[s] + 1]++] = (int32_t)s;
done:
    return status;
}

static trine_status cpu_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    (void)space;
    (void)stream;
    static int64_t (*const copy_values[])(trine_supernodal, const void *, const int64_t *, const int32_t *) =
        TABLE(copy_values);
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const supernodal_structure *S = &plan->S;
    cpu_part *part = plan->device;
    char *scratch = NULL;
    int64_t *first = NULL;
    int32_t *sources = NULL;
    growth_trial trial = {0};
    const size_t half = (size_t)(S->max_width + 1) / 2,
                 bytes = (half * half * trine_dtype_size(plan->dtype) + 63) / 64 * 64;
    if (plan->invert != TRINE_INVERT_NONE) {
        scratch = trine_host_alloc(ctx, part->threads, bytes);
        if (!scratch) return TRINE_ERR_MEMORY;
        TRY(growth_cpu_begin(plan, values, &trial));
    }
    if (trine_values_may_go() && plan->invert == TRINE_INVERT_NONE && plan->dtype == plan->base.dtype)
        TRY(sort_sources(plan, &first, &sources));
    part->bad_row = copy_values[plan->dtype](plan, values, first, sources);
    if (plan->invert != TRINE_INVERT_NONE) {
        trine_team_for(ctx, part->threads, S->n_panels, 1, invert_panels, &(inversion){plan, scratch, bytes});
        growth_cpu_measure(plan, values, &trial);
    }
    if (plan->options.variant == TRINE_VARIANT_SPMV) levels_cpu_numeric(plan);
done:
    trine_free(ctx, TRINE_HOST, scratch);
    trine_free(ctx, TRINE_HOST, sources);
    trine_free(ctx, TRINE_HOST, first);
    growth_cpu_free(ctx, &trial);
    return status;
}

static trine_status cpu_examine(trine_supernodal plan, void *stream, int64_t *row)
{
    (void)stream;
    *row = ((const cpu_part *)plan->device)->bad_row;
    return TRINE_SUCCESS;
}

static size_t cpu_work_bytes(trine_supernodal plan, int64_t nrhs)
{
    const tree_tasks *tasks = &((const cpu_part *)plan->device)->tasks;
    const int64_t element = (int64_t)trine_dtype_size(plan->dtype), most = PANEL_MOST_BYTES / element,
                  unit = PANEL_VECTOR / element;
    const int64_t cols = nrhs <= 1 ? 1 : nrhs >= most ? most : (nrhs + unit - 1) / unit * unit;
    const int64_t rows =
        is_by_level(plan) ? levels_cpu_rows(plan) : plan->S.n + tasks->n_out + tasks->threads * plan->S.max_height;
    return (size_t)cpu_counters(tasks) * sizeof(trine_counter) + (size_t)(rows * cols * element) + 256;
}

static trine_status cpu_work_init(trine_supernodal plan, supernodal_work *work)
{
    (void)plan;
    (void)work;
    return TRINE_SUCCESS;
}

static trine_status cpu_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                              const trine_dense *X, supernodal_work *work, void *stream)
{
    (void)stream;
    static void (*const solve[])(trine_supernodal, trine_transpose, const void *, const trine_dense *,
                                 const trine_dense *, void *) = TABLE(solve);
    if (is_by_level(plan)) levels_cpu_solve(plan, op, alpha, B, X, work->base.buffer);
    else solve[plan->dtype](plan, op, alpha, B, X, work->base.buffer);
    return TRINE_SUCCESS;
}

const struct supernodal_backend supernodal_cpu = {.analyse = cpu_analyse,
                                                  .destroy = cpu_destroy,
                                                  .numeric = cpu_numeric,
                                                  .examine = cpu_examine,
                                                  .work_bytes = cpu_work_bytes,
                                                  .work_init = cpu_work_init,
                                                  .solve = cpu_solve,
                                                  .place = supernodal_triangle_place};
