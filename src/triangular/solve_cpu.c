/* Triangular solves on the CPU: serial, and level sets on OpenMP threads with thin levels merged. */
#include <float.h>
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "triangular/triangular.h"

/* Pivots of this size have reciprocals with all their digits. */
static const float smallest_s = 4 * FLT_MIN, largest_s = 0.25f / FLT_MIN, smallest_c = 4 * FLT_MIN, largest_c = 0.25f / FLT_MIN;
static const double smallest_d = 4 * DBL_MIN, largest_d = 0.25 / DBL_MIN, smallest_z = 4 * DBL_MIN, largest_z = 0.25 / DBL_MIN;

#define TEMPLATE "triangular/solve_cpu.inc"
#include "core/each_dtype.h"

/* A level is worth a barrier when its share saves more than the barrier costs: about 1 us against 1 ns an entry. */
enum { ENTRIES_PER_BARRIER = 1500 };

/** Level l as a parallel step, runs of thin levels as one step of thread 0; how many entries are in parallel steps. */
static trine_status make_steps(trine_triangular plan, struct triangle *t, int64_t *parallel_entries)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t threads = plan->ctx->threads;
    bool open = false; /* the last step is a run of thin levels */
    TRY(ALLOC(plan->ctx, t->step_levels, t->n_levels + 1));
    t->n_steps = *parallel_entries = 0;
    for (int64_t l = 0; l < t->n_levels; l++) {
        const int64_t first = t->level_offsets[l], last = t->level_offsets[l + 1];
        int64_t entries = 2 * (last - first);
        for (int64_t s = first; s < last; s++) entries += t->offsets[t->by_level[s] + 1] - t->offsets[t->by_level[s]];
        const bool wide = last - first >= threads && entries * (threads - 1) > ENTRIES_PER_BARRIER * threads;
        if (wide || !open) t->step_levels[t->n_steps++] = l;
        open = !wide;
        if (wide) *parallel_entries += entries;
    }
    t->step_levels[t->n_steps] = t->n_levels;
done:
    return status;
}

/** Serial or level sets, and rows in that order. */
static trine_status choose(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    if (plan->method != TRINE_TRI_SERIAL) {
        const int64_t threads = plan->ctx->threads, all = t->nnz + 2 * t->n;
        int64_t parallel_entries;
        TRY(triangle_find_levels(plan, t));
        TRY(make_steps(plan, t, &parallel_entries));
        if (plan->method == TRINE_TRI_AUTO) {
            const int64_t saved = parallel_entries / threads * (threads - 1) - t->n_steps * (ENTRIES_PER_BARRIER / 2);
            const bool pays = threads > 1 && saved > all / 10;
            plan->method = pays ? TRINE_TRI_LEVELSET : TRINE_TRI_SERIAL;
            plan->reason = pays ? "the levels are wide enough for the threads" : threads > 1 ? "the levels are too thin for the threads" : "there is one thread";
        }
        if (plan->method == TRINE_TRI_LEVELSET) TRY(triangle_reorder(plan, t, t->by_level));
    }
done:
    return status;
}

static trine_status prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = choose(plan, t);
    if (status) return status;
    const size_t size = trine_dtype_size(plan->dtype);
    for (int64_t k = 0; k < t->nnz; k++) t->columns[k] = t->order[t->columns[k]]; /* solves read x by row */
    trine_free(plan->ctx, TRINE_HOST, t->by_level);
    t->by_level = NULL;
    if (!(t->values = trine_host_alloc(plan->ctx, t->nnz, size))) return TRINE_ERR_MEMORY;
    if (!(t->pivots = trine_host_alloc(plan->ctx, t->n, size))) return TRINE_ERR_MEMORY;
    plan->info.bytes += (t->n + 1) * 8 + t->n * (4 + 8) + t->nnz * (4 + 8) + (t->n + t->nnz) * (int64_t)size;
    return TRINE_SUCCESS;
}

static void release(trine_triangular plan, struct triangle *t) { (void)plan, (void)t; }

static trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    (void)space, (void)stream;
    static void (*const take[])(trine_triangular, struct triangle *, const void *) = TABLE(numeric);
    static void (*const invert[])(struct triangle *) = TABLE(invert);
    plan->bad_row = -1;
    plan->divide = false;
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].offsets) take[plan->dtype](plan, &plan->side[s], values);
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].offsets && !plan->divide) invert[plan->dtype](&plan->side[s]);
    return TRINE_SUCCESS;
}

static trine_status bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    (void)stream;
    *row = plan->bad_row;
    return TRINE_SUCCESS;
}

static size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    (void)plan, (void)nrhs;
    return 0;
}

static trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static void (*const run[])(trine_triangular, const struct triangular_solve *) = TABLE(solve);
    run[plan->dtype](plan, s);
    return TRINE_SUCCESS;
}

const struct triangular_backend triangular_cpu = {prepare, release, numeric, bad_row, work_bytes, solve, false};
