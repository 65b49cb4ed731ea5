/* Incomplete LU and Cholesky factors on a pattern, by rows: who begins which task, and the row by row waits. */
#include <float.h>
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "precond/ilu/ilu.h"
#include "precond/precond.h"

struct rows_job;
/** Task k by thread me. */
typedef void (*rows_fn)(struct rows_job *job, int64_t k, int me);

/** A factorization by several threads. */
struct rows_job {
    struct ilu_factor *f;
    rows_fn factor;
};

/** Row i has gone wrong; the first one counts. */
static void note(struct rows_job *job, int64_t i)
{
    int64_t *first = &job->f->bad_row, seen = __atomic_load_n(first, __ATOMIC_RELAXED);
    while ((seen < 0 || i < seen) &&
           !__atomic_compare_exchange_n(first, &seen, i, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static int64_t next_of(const struct ilu_list *list) { return __atomic_load_n(&list->next, __ATOMIC_RELAXED); }

static bool is_attended(const struct ilu_list *list) { return __atomic_load_n(&list->attended, __ATOMIC_RELAXED); }

/** Begin task k, the next one of its list; not if somebody else has. */
static bool claim(const struct ilu_schedule *s, int64_t k)
{
    return k < s->n_tasks && __atomic_compare_exchange_n(&s->lists[k % s->threads].next, &k, k + s->threads, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/** The first task that nobody has begun. */
static int64_t first_open(const struct ilu_schedule *s)
{
    int64_t first = next_of(&s->lists[0]);
    for (int t = 1; t < s->threads; t++)
        if (next_of(&s->lists[t]) < first) first = next_of(&s->lists[t]);
    return first;
}

static bool is_ready(const uint8_t *row) { return __atomic_load_n(row, __ATOMIC_ACQUIRE); }

/** The task of a row. */
static int64_t task_of(const struct ilu_schedule *s, int64_t row)
{
    int64_t low = 0, high = s->n_tasks;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->tasks[middle] <= row) low = middle;
        else high = middle;
    }
    return low;
}

/** Until row j, which task k needs, is there. Meanwhile the first task of all is done if its thread has not come, or is
 *  long in coming: nothing that it needs is left to begin, so that there is an end to it. A thread that has begun what
 *  is waited for, and does not end it for as long as no task takes, has lost its core: it is to begin no more. */
static void wait_for(struct rows_job *job, int64_t j, int64_t k, int me)
{
    const struct ilu_schedule *s = job->f->schedule;
    double start = 0;
    for (int polls = 0; !is_ready(&s->ready[j]); trine_poll(&polls)) {
        const int64_t open = first_open(s);
        if (open < k && (!is_attended(&s->lists[open % s->threads]) || polls > TRINE_POLLS) && claim(s, open))
            job->factor(job, open, me);
        if (polls <= TRINE_POLLS) continue;
        if (start == 0) start = trine_wall_time();
        else if (trine_wall_time() - start > s->patience)
            __atomic_store_n(&s->lists[task_of(s, j) % s->threads].attended, 0, __ATOMIC_RELAXED);
    }
}

#define TEMPLATE "precond/ilu/factor.inc"
#include "core/each_dtype.h"

/** A thread does what is in its list, then what is in those of threads that have not come, or have left. The one that
 *  called never leaves. */
static bool factor_tasks(void *user, int me)
{
    struct rows_job *job = user;
    const struct ilu_schedule *s = job->f->schedule;
    __atomic_store_n(&s->lists[me].attended, 1, __ATOMIC_RELAXED);
    for (int64_t k; (k = next_of(&s->lists[me])) < s->n_tasks;) {
        if (me && !is_attended(&s->lists[me])) return false;
        if (claim(s, k)) job->factor(job, k, me);
    }
    for (int t = 0; t < s->threads; t++)
        for (int64_t k; (k = next_of(&s->lists[t])) < s->n_tasks && !is_attended(&s->lists[t]);)
            if (claim(s, k)) job->factor(job, k, me);
    return false;
}

static void run(struct ilu_factor *f, rows_fn factor)
{
    const struct ilu_schedule *s = f->schedule;
    struct rows_job job = {f, factor};
    f->bad_row = -1;
    if (s->threads == 1) {
        factor(&job, 0, 0);
        return;
    }
    memset(s->ready, 0, (size_t)f->pattern->n);
    for (int t = 0; t < s->threads; t++) s->lists[t] = (struct ilu_list){.next = t};
    trine_team_run(f->ctx, s->threads, true, factor_tasks, &job);
}

void ilu_factor_lu(struct ilu_factor *f)
{
    static const rows_fn rows[] = TABLE(lu_rows);
    run(f, rows[f->dtype]);
}

void ilu_factor_cholesky(struct ilu_factor *f)
{
    static const rows_fn rows[] = TABLE(cholesky_rows);
    static void (*const clear[])(struct ilu_factor *) = TABLE(clear_scratch);
    clear[f->dtype](f);
    run(f, rows[f->dtype]);
}

void ilu_shift_diagonal(const struct ilu_pattern *p, trine_dtype dtype, const void *a, double shift, void *shifted)
{
    static void (*const add[])(const struct ilu_pattern *, const void *, double, void *) = TABLE(shift_diagonal);
    add[dtype](p, a, shift, shifted);
}
