/* Triangular solves on the CPU: serial, and level sets on threads, with thin levels merged. */
#include <float.h>
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "triangular/cpu/schedule.h"

/* Pivots of this size have reciprocals with all their digits. */
static const float smallest_s = 4 * FLT_MIN, largest_s = 0.25f / FLT_MIN, smallest_c = 4 * FLT_MIN, largest_c = 0.25f / FLT_MIN;
static const double smallest_d = 4 * DBL_MIN, largest_d = 0.25 / DBL_MIN, smallest_z = 4 * DBL_MIN, largest_z = 0.25 / DBL_MIN;

/* With as many right-hand sides for each thread, threads take right-hand sides instead of rows. */
enum { COLUMNS_A_THREAD = 16, VECTOR = 64 /* bytes of right-hand sides that are worked on together */, MOST_NESTED = 4 };
static const double worth_waking = 40e-6; /* seconds of a solve, as simulated */
enum { VALUES_AT_ONCE = 1 << 15 }; /* of numeric, by one thread */

/* What kind of row it is: its entries or, of more than MOST_SHORT, ROW_LONG; and whether the last one belongs to the row just before. */
enum { MOST_SHORT = 3, ROW_LONG = 4, ROW_NEAR = 8 };

/** Whether somebody is at the next task of a list, or will be soon: then it can be waited for. */
static inline bool is_cared_for(const struct task_list *l, int64_t state) { return state & 1 || __atomic_load_n(&l->attended, __ATOMIC_RELAXED); }

/** Whether what a task waits for is finished, or is within a few microseconds. */
static bool waits_are_over(const struct task_schedule *tasks, const struct task_slot *slot, const struct task_list *lists)
{
    int polls = 0;
    for (int32_t w = 0; w < slot->n_waits; w++) {
        const struct task_wait wait = tasks->waits[slot->first_wait + w];
        const struct task_list *l = &lists[wait.list];
        for (int64_t state; (state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE)) < 2 * (int64_t)wait.count; trine_poll(&polls))
            if (polls == TRINE_POLLS || !is_cared_for(l, state)) return false;
    }
    return true;
}

/** So many times the calling thread does what another one was meant to, before it goes on without any. */
static int64_t patience_of(const struct task_schedule *tasks) { return tasks->n_tasks > 4096 ? tasks->n_tasks / 64 : 64; }

static int64_t length_of_list(const struct task_schedule *tasks, int list) { return tasks->slot_offsets[list + 1] - tasks->slot_offsets[list]; }

/** Be at the next task of every list at once; not if somebody else is at one. */
static bool lists_take_all(const struct task_schedule *tasks, struct task_list *lists)
{
    for (int i = 0; i < tasks->threads; i++) {
        int64_t state = __atomic_load_n(&lists[i].state, __ATOMIC_RELAXED) & ~(int64_t)1;
        if (__atomic_compare_exchange_n(&lists[i].state, &state, state + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
        while (i-- > 0) __atomic_fetch_sub(&lists[i].state, 1, __ATOMIC_RELEASE);
        return false;
    }
    return true;
}

static void lists_end_all(const struct task_schedule *tasks, struct task_list *lists)
{
    for (int i = 0; i < tasks->threads; i++) __atomic_store_n(&lists[i].state, 2 * length_of_list(tasks, i), __ATOMIC_RELEASE);
}

#define TEMPLATE "triangular/cpu/solve.inc"
#include "core/each_dtype.h"

/** Serial, or tasks of rows as given or by level: what the simulation of a solve expects to be fastest, with something in hand
 *  for tasks, whose expectation assumes that every thread has a core to itself. */
static trine_status choose(trine_triangular plan, struct triangle *t)
{
    static const double least_gain = 1.15;
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_method asked = plan->options.method;
    const int asked_order = plan->options.tune.row_order;
    struct task_schedule *by_level = NULL;
    plan->method = TRINE_TRI_SERIAL;
    plan->threads = trine_threads_with_cores(plan->base.ctx);
    t->step = t->n > 1 ? t->order[1] - t->order[0] : 1;
    if (asked == TRINE_TRI_SERIAL) goto done;
    trine_team_start(plan->base.ctx);
    plan->reason = "there is one thread";
    if (asked == TRINE_TRI_LEVELSET || plan->threads > 1) {
        TRY(triangle_find_levels(plan, t));
        if (asked_order != 2) TRY(tasks_schedule(plan, t, false, &t->tasks));
        if (asked_order != 1) TRY(tasks_schedule(plan, t, true, &by_level));
        const bool sort = !t->tasks || (by_level && by_level->seconds < t->tasks->seconds);
        if (sort) {
            tasks_free(plan, t->tasks);
            t->tasks = by_level;
            by_level = NULL;
        }
        plan->method = TRINE_TRI_LEVELSET;
        plan->reason = sort ? "rows by level keep the threads busy" : "tasks of neighbouring rows keep the threads busy";
        const double gain = tasks_serial_seconds(plan, t) / t->tasks->seconds;
        trine_log(plan->base.ctx, 3, "triangular: %.3g times as fast as one thread expected", gain);
        if (asked == TRINE_TRI_AUTO && gain < least_gain) {
            tasks_free(plan, t->tasks);
            t->tasks = NULL;
            plan->method = TRINE_TRI_SERIAL;
            plan->reason = "the threads would wait for each other";
        } else if (sort) {
            TRY(triangle_reorder(plan, t, t->by_level));
            t->step = 0;
        }
    }
    if (asked != TRINE_TRI_AUTO) plan->reason = "asked for";
done:
    tasks_free(plan, by_level);
    return status;
}

/** Row p + 1 has the columns of row p, and p. */
static bool is_nested(const struct triangle *t, int64_t p)
{
    const int64_t first = t->offsets[p], next = t->offsets[p + 1], count = next - first;
    return t->offsets[p + 2] - next == count + 1 && t->columns[next + count] == p &&
           memcmp(t->columns + first, t->columns + next, (size_t)count * sizeof *t->columns) == 0;
}

/** Cut positions first .. last - 1 into nested rows, up to MOST_NESTED each; returns how many rows are not alone. */
static int64_t find_nested(struct triangle *t, int64_t first, int64_t last)
{
    enum { SHORTEST = 4 };
    int64_t together = 0;
    for (int64_t p = first, rows; p < last; p += rows) {
        rows = 1;
        if (t->offsets[p + 1] - t->offsets[p] >= SHORTEST)
            while (rows < MOST_NESTED && p + rows < last && is_nested(t, p + rows - 1)) rows++;
        t->nested[p] = (int8_t)rows;
        if (rows > 1) together += rows;
    }
    return together;
}

/** t->nested, if half of the rows or more are; columns are positions, in solve order. */
static trine_status use_nested(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    int64_t together = 0;
    if (!t->step) return TRINE_SUCCESS; /* by level: no row needs its neighbour */
    TRY(ALLOC(plan->base.ctx, t->nested, t->n));
    if (!t->tasks) together = find_nested(t, 0, t->n);
    for (int64_t k = 0; t->tasks && k < t->tasks->n_tasks; k++) together += find_nested(t, t->tasks->slots[k].first, t->tasks->slots[k].last);
    if (2 * together < t->n) {
        trine_free(plan->base.ctx, TRINE_HOST, t->nested);
        t->nested = NULL;
    }
done:
    return status;
}

/** t->kinds and t->mostly_long, unless rows are solved several at a time. */
static trine_status find_kinds(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    if (t->nested) return TRINE_SUCCESS;
    int64_t long_rows = 0;
    TRY(ALLOC(plan->base.ctx, t->kinds, t->n));
    for (int64_t p = 0; p < t->n; p++) {
        const int64_t end = t->offsets[p + 1], count = end - t->offsets[p];
        const bool near = count && t->columns[end - 1] == p - 1;
        t->kinds[p] = (uint8_t)((count <= MOST_SHORT ? count : ROW_LONG) | (near ? ROW_NEAR : 0));
        long_rows += count > MOST_SHORT;
    }
    t->mostly_long = 2 * long_rows > t->n;
    plan->info.bytes += t->n;
done:
    return status;
}

static trine_status prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = choose(plan, t);
    if (!status) status = use_nested(plan, t);
    if (!status) status = find_kinds(plan, t);
    if (status) return status;
    const size_t size = trine_dtype_size(plan->base.dtype);
    for (int64_t k = 0; k < t->nnz; k++) t->columns[k] = t->order[t->columns[k]]; /* solves read x by row */
    trine_free(plan->base.ctx, TRINE_HOST, t->by_level);
    t->by_level = NULL;
    if (!(t->values = trine_host_alloc(plan->base.ctx, t->nnz, size))) return TRINE_ERR_MEMORY;
    if (!(t->pivots = trine_host_alloc(plan->base.ctx, t->n, size))) return TRINE_ERR_MEMORY;
    plan->info.bytes += (t->n + 1) * 8 + t->n * (4 + 8) + t->nnz * (4 + 8) + (t->n + t->nnz) * (int64_t)size;
    return TRINE_SUCCESS;
}

static void release(trine_triangular plan, struct triangle *t)
{
    tasks_free(plan, t->tasks);
    t->tasks = NULL;
}

static trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    (void)space, (void)stream;
    static void (*const take[])(trine_triangular, struct triangle *, const void *) = TABLE(numeric);
    static void (*const invert[])(struct triangle *) = TABLE(invert);
    plan->bad_row = -1;
    plan->divide = false;
    plan->side[SIDE_N].scaled = plan->side[SIDE_T].scaled = false;
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].offsets) take[plan->base.dtype](plan, &plan->side[s], values);
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].offsets && !plan->divide) invert[plan->base.dtype](&plan->side[s]);
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
    (void)nrhs;
    return plan->side[SIDE_N].tasks || plan->side[SIDE_T].tasks ? (size_t)plan->threads * sizeof(struct task_list) : 0;
}

static trine_status memory(trine_triangular plan, const struct triangular_extent *e, struct triangular_bytes *host, struct triangular_bytes *device, int64_t *work)
{
    (void)device;
    const int threads = trine_threads_with_cores(plan->base.ctx);
    const trine_triangular_method asked = plan->options.method;
    const bool has_tasks = asked == TRINE_TRI_LEVELSET || (asked == TRINE_TRI_AUTO && threads > 1);
    const int64_t n = e->n, m = e->nnz, size = (int64_t)trine_dtype_size(plan->base.dtype);
    const int64_t structure = (n + 1) * 8 + (m + 1) * 12 + (plan->options.diag == TRINE_UNIT ? 0 : (n + 1) * 8) + (n + 1) * 4;
    int64_t schedule = 0, meanwhile = 0, levels = 0;
    if (has_tasks) {
        tasks_bound(plan, n, m, &schedule, &meanwhile);
        levels = (n + 1) * 8 + (n + 1) * 4; /* with the rows by level, which go */
    }
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        bytes_add(host, structure, 0);
        bytes_add(host, levels, levels + n * 4);
        /* Two schedules, the second one in the making; or one and the structure by levels. */
        const int64_t reordered = plan->options.tune.row_order == 1 || !has_tasks ? 0 : structure + n * 4;
        bytes_add(host, schedule, schedule + (schedule + meanwhile > reordered ? schedule + meanwhile : reordered));
        host->kept -= has_tasks ? (n + 1) * 4 : 0;
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

const struct triangular_backend triangular_cpu = {host_analyse, prepare, release, numeric, bad_row, work_bytes, memory, NULL, solve, false};
