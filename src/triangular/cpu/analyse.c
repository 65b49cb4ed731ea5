/* The analysis of a side on the CPU: serial or by tasks, in which order, and what is special about its rows. */
#include <string.h>

#include "core/team.h"
#include "triangular/common/levels.h"
#include "triangular/cpu/side.h"

static const double least_gain = 1.15; /* of tasks that nobody has asked for */

/** Whether tasks by level cannot win, however well they share their work, against tasks of rows as given or, where
 *  nothing else was asked for, one thread. */
static bool is_too_slow_by_level(trine_triangular plan, const struct triangular_side *side, const struct cpu_side *t)
{
    const double least = tasks_least_seconds_by_level(plan, &t->form, t->threads);
    return least >= t->tasks->seconds || (plan->options.method == TRINE_TRI_AUTO && side->seconds < least_gain * least);
}

/** Serial, or tasks of rows as given or by level: what the simulation of a solve expects to be fastest, with
 *  something in hand for tasks, whose expectation assumes that every thread has a core to itself. */
static trine_status choose(trine_triangular plan, struct triangular_side *side, struct cpu_side *t)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_method asked = plan->options.method;
    const int asked_order = plan->options.tune.row_order;
    struct level_sets levels = {0};
    struct task_schedule *by_level = NULL;
    plan->method = TRINE_TRI_SERIAL;
    side->seconds = tasks_serial_seconds(plan, &t->form);
    t->threads = trine_threads_with_cores(plan->base.ctx);
    t->step = t->form.n > 1 ? t->form.order[1] - t->form.order[0] : 1;
    if (asked == TRINE_TRI_SERIAL) goto done;
    trine_team_start(plan->base.ctx);
    plan->reason = "there is one thread";
    if (asked == TRINE_TRI_AUTO && !asked_order && t->threads > 1 && cpu_shares_columns(t, plan->options.max_nrhs)) {
        plan->reason = "the threads take right-hand sides, and nobody waits";
    } else if (asked == TRINE_TRI_LEVELSET || t->threads > 1) {
        if (asked_order != 2) TRY(tasks_schedule(plan, &t->form, NULL, t->threads, &t->tasks));
        const bool try_levels = asked_order != 1 && !(t->tasks && is_too_slow_by_level(plan, side, t));
        TRY(level_sets_find(plan->base.ctx, &t->form, try_levels, &levels));
        level_sets_report(t->form.n, &levels, side);
        if (try_levels) TRY(tasks_schedule(plan, &t->form, &levels, t->threads, &by_level));
        const bool sort = !t->tasks || (by_level && by_level->seconds < t->tasks->seconds);
        if (sort) {
            tasks_free(plan, t->tasks);
            t->tasks = by_level;
            by_level = NULL;
        }
        plan->method = TRINE_TRI_LEVELSET;
        plan->reason =
            sort ? "rows by level keep the threads busy" : "tasks of neighbouring rows keep the threads busy";
        const double gain = side->seconds / t->tasks->seconds;
        trine_log(plan->base.ctx, 3, "triangular: %.3g times as fast as one thread expected", gain);
        if (asked == TRINE_TRI_AUTO && gain < least_gain) {
            tasks_free(plan, t->tasks);
            t->tasks = NULL;
            plan->method = TRINE_TRI_SERIAL;
            plan->reason = "the threads would wait for each other";
        } else {
            side->seconds = t->tasks->seconds;
        }
        if (t->tasks && sort) {
            TRY(gather_form_reorder(plan->base.ctx, &t->form, levels.positions));
            t->step = 0;
        }
    }
    if (asked != TRINE_TRI_AUTO) plan->reason = "by name";
done:
    level_sets_free(plan->base.ctx, &levels);
    tasks_free(plan, by_level);
    return status;
}

enum { SHORTEST_NESTED = 4 };

/** Row p + 1 has the columns of row p, and p. */
static bool is_nested(const struct gather_form *t, int64_t p)
{
    const int64_t first = t->offsets[p], next = t->offsets[p + 1], count = next - first;
    return t->offsets[p + 2] - next == count + 1 && t->columns[next + count] == p &&
           memcmp(t->columns + first, t->columns + next, (size_t)count * sizeof *t->columns) == 0;
}

/** Cut positions first .. last - 1 into nested rows, up to MOST_NESTED each; returns how many rows are not alone. */
static int64_t find_nested(struct cpu_side *t, int64_t first, int64_t last)
{
    int64_t together = 0;
    for (int64_t p = first, rows; p < last; p += rows) {
        rows = 1;
        if (t->form.offsets[p + 1] - t->form.offsets[p] >= SHORTEST_NESTED)
            while (rows < MOST_NESTED && p + rows < last && is_nested(&t->form, p + rows - 1)) rows++;
        t->nested[p] = (int8_t)rows;
        if (rows > 1) together += rows;
    }
    return together;
}

/** t->nested, if half of the rows or more are; columns are positions, in solve order. */
static trine_status use_nested(trine_triangular plan, struct cpu_side *t)
{
    trine_status status = TRINE_SUCCESS;
    int64_t together = 0, long_rows = 0;
    if (!t->step) return TRINE_SUCCESS; /* by level: no row needs its neighbour */
    for (int64_t p = 0; p < t->form.n; p++) long_rows += t->form.offsets[p + 1] - t->form.offsets[p] >= SHORTEST_NESTED;
    if (2 * long_rows < t->form.n) return TRINE_SUCCESS;
    TRY(ALLOC(plan->base.ctx, t->nested, t->form.n));
    if (!t->tasks) together = find_nested(t, 0, t->form.n);
    for (int64_t k = 0; t->tasks && k < t->tasks->n_tasks; k++)
        together += find_nested(t, t->tasks->slots[k].first, t->tasks->slots[k].last);
    if (2 * together < t->form.n) {
        trine_free(plan->base.ctx, TRINE_HOST, t->nested);
        t->nested = NULL;
    }
done:
    return status;
}

/** t->kinds and t->mostly_long, unless rows are solved several at a time. */
static trine_status find_kinds(trine_triangular plan, struct cpu_side *t)
{
    trine_status status = TRINE_SUCCESS;
    if (t->nested) return TRINE_SUCCESS;
    int64_t long_rows = 0;
    TRY(ALLOC(plan->base.ctx, t->kinds, t->form.n));
    for (int64_t p = 0; p < t->form.n; p++) {
        const int64_t end = t->form.offsets[p + 1], count = end - t->form.offsets[p];
        const bool near = count && t->form.columns[end - 1] == p - 1;
        t->kinds[p] = (uint8_t)((count <= MOST_SHORT ? count : ROW_LONG) | (near ? ROW_NEAR : 0));
        long_rows += count > MOST_SHORT;
    }
    t->mostly_long = 2 * long_rows > t->form.n;
    plan->info.bytes += t->form.n;
done:
    return status;
}

trine_status cpu_read_pattern(trine_triangular plan, trine_matrix T, void **pattern)
{
    trine_status status = TRINE_SUCCESS;
    struct pattern *m = NULL;
    trine_matrix_info info;
    TRY(CALLOC(plan->base.ctx, m, 1));
    *pattern = m;
    trine_matrix_get_info(T, &info);
    trine_matrix_get_arrays(T, &m->offsets, &m->indices, NULL);
    m->csr = info.format == TRINE_CSR;
    TRY(trine_matrix_check(T, 0));
    if (plan->options.uplo == TRINE_UPLO_AUTO) TRY(pattern_find_uplo(plan, m));
    m->lower_major = m->csr == (plan->options.uplo == TRINE_LOWER);
    TRY(pattern_check(plan, m));
done:
    return status;
}

void cpu_drop_pattern(trine_triangular plan, void *pattern) { trine_free(plan->base.ctx, TRINE_HOST, pattern); }

trine_status cpu_analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const struct pattern *m = pattern;
    const size_t size = trine_dtype_size(plan->base.dtype);
    struct cpu_side *t = NULL;
    TRY(CALLOC(ctx, t, 1));
    plan->side[side].part = t;
    TRY(gather_form_build(plan, &t->form, m, m->csr != (side == SIDE_N))); /* across the compressed rows: transposed */
    TRY(choose(plan, &plan->side[side], t));
    TRY(use_nested(plan, t));
    TRY(find_kinds(plan, t));
    if (t->step != 1) /* else positions are rows */
        for (int64_t k = 0; k < t->form.nnz; k++) t->form.columns[k] = t->form.order[t->form.columns[k]];
    TRY((t->values = trine_host_alloc(ctx, t->form.nnz, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((t->pivots = trine_host_alloc(ctx, t->form.n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    plan->info.bytes += (t->form.n + 1) * 8 + t->form.n * (4 + 8) + t->form.nnz * 4 +
                        gather_form_place_bytes(&t->form) + (t->form.n + t->form.nnz) * (int64_t)size;
done:
    return status;
}

void cpu_release(trine_triangular plan, struct triangular_side *side)
{
    trine_context ctx = plan->base.ctx;
    struct cpu_side *t = side->part;
    gather_form_free(ctx, &t->form);
    tasks_free(plan, t->tasks);
    trine_free(ctx, TRINE_HOST, t->nested);
    trine_free(ctx, TRINE_HOST, t->kinds);
    trine_free(ctx, TRINE_HOST, t->values);
    trine_free(ctx, TRINE_HOST, t->pivots);
    trine_free(ctx, TRINE_HOST, t);
    side->part = NULL;
}
