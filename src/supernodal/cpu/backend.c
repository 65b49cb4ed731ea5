/* The supernodal solve on CPU threads. The elimination tree is cut into tasks (tree_tasks.c) that threads take one after another and
 * start when those below (forward) or above (backward) are done. The dense work is in panel_kernels/, the variants that go
 * level by level in levels.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/scalar.h"
#include "supernodal/cpu/backend.h"

enum {
    INVERT_SMALL = 32,         /* columns inverted by substitution */
    ROWS = 16,                 /* of an inverted block that are multiplied together, zeros above the diagonal included */
    TEAM_WORTHWHILE = 200000   /* elements of all panels: below, threads wait for each other longer than they compute */
};

typedef struct panel_kernels panel_kernels;

/** Panel s; `rows`: all row lists, or where a forward solve subtracts. */
static inline panel_view view_panel(trine_supernodal plan, int64_t s, const int32_t *rows, size_t element)
{
    const supernodal_panel *p = &plan->S.panels[s];
    return (panel_view){.values = (const char *)plan->values + (size_t)p->values * element, .rows = rows + p->rows, .ld = p->ld,
                        .width = p->width, .height = p->height, .own = ((const cpu_part *)plan->device)->tasks.own[s]};
}

/** A ticket, and of every task its finished steps and its finished children. */
static inline int64_t cpu_counters(const tree_tasks *tasks) { return 1 + 2 * tasks->n_tasks; }

#define TEMPLATE "supernodal/cpu/backend.inc"
#include "core/each_dtype.h"

static bool is_by_level(trine_supernodal plan) { return plan->options.variant != TRINE_VARIANT_DYNAMIC; }

static void cpu_destroy(trine_supernodal plan)
{
    cpu_part *part = plan->device;
    levels_cpu_free(plan);
    tree_tasks_free(plan->ctx, &part->tasks);
    trine_free(plan->ctx, TRINE_HOST, part);
    plan->device = NULL;
}

static trine_status cpu_analyse(trine_supernodal plan)
{
    trine_context ctx = plan->ctx;
    cpu_part *part = trine_host_calloc(ctx, 1, sizeof *part);
    if (!part) return TRINE_ERR_MEMORY;
    plan->device = part;
    part->bad_row = -1;
    part->kernels = panel_kernels_for(plan->dtype);
    part->threads = plan->S.n_values < TEAM_WORTHWHILE ? 1 : trine_threads_with_cores(ctx);
    return is_by_level(plan) ? levels_cpu_build(plan) : tree_tasks_build(&plan->S, part->threads, plan->invert == TRINE_INVERT_NONE, &part->tasks);
}

static trine_status cpu_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    (void)space;
    (void)stream;
    static int64_t (*const copy_values[])(trine_supernodal, const void *) = TABLE(copy_values);
    static void (*const invert_panel[])(trine_supernodal, const supernodal_panel *, bool, void *) = TABLE(invert_panel);
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const supernodal_structure *S = &plan->S;
    cpu_part *part = plan->device;
    char *scratch = NULL;
    growth_trial trial = {0};
    const size_t half = (size_t)(S->max_width + 1) / 2, bytes = (half * half * trine_dtype_size(plan->dtype) + 63) / 64 * 64;
    if (plan->invert != TRINE_INVERT_NONE) {
        scratch = trine_host_alloc(ctx, ctx->threads, bytes);
        if (!scratch) return TRINE_ERR_MEMORY;
        TRY(growth_cpu_begin(plan, values, &trial));
    }
    part->bad_row = copy_values[plan->dtype](plan, values);
    if (plan->invert != TRINE_INVERT_NONE) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx->threads)
        for (int64_t s = S->n_panels - 1; s >= 0; s--) /* the large ones are at the end */
            invert_panel[plan->dtype](plan, &S->panels[s], plan->invert == TRINE_INVERT_OFF, scratch + (size_t)omp_get_thread_num() * bytes);
        growth_cpu_measure(plan, values, &trial);
    }
    if (plan->options.variant == TRINE_VARIANT_SPMV) levels_cpu_numeric(plan);
done:
    trine_free(ctx, TRINE_HOST, scratch);
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
    const int64_t element = (int64_t)trine_dtype_size(plan->dtype), most = PANEL_MOST_BYTES / element, unit = PANEL_VECTOR / element;
    const int64_t cols = nrhs <= 1 ? 1 : nrhs >= most ? most : (nrhs + unit - 1) / unit * unit;
    const int64_t rows = is_by_level(plan) ? levels_cpu_rows(plan) : plan->S.n + tasks->n_out + tasks->threads * plan->S.max_height;
    return (size_t)cpu_counters(tasks) * sizeof(trine_counter) + (size_t)(rows * cols * element) + 256;
}

static trine_status cpu_work_init(trine_supernodal plan, supernodal_work *work)
{
    (void)plan;
    (void)work;
    return TRINE_SUCCESS;
}

static trine_status cpu_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                              supernodal_work *work, void *stream)
{
    (void)stream;
    static void (*const solve[])(trine_supernodal, trine_transpose, const void *, const trine_dense *, const trine_dense *, void *) = TABLE(solve);
    if (is_by_level(plan)) levels_cpu_solve(plan, op, alpha, B, X, work->buffer);
    else solve[plan->dtype](plan, op, alpha, B, X, work->buffer);
    return TRINE_SUCCESS;
}

const struct supernodal_backend supernodal_cpu = {
    .analyse = cpu_analyse, .destroy = cpu_destroy, .numeric = cpu_numeric, .examine = cpu_examine,
    .work_bytes = cpu_work_bytes, .work_init = cpu_work_init, .solve = cpu_solve};
