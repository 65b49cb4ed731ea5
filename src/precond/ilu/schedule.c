/* Schedules of rows: candidates, and a simulation that chooses. */
#include <string.h>

#include "core/team.h"
#include "precond/ilu/ilu.h"

/* What the simulation reckons with; only ratios of sums of them decide anything. */
static const double row_seconds = 6e-9;       /* a row */
static const double update_seconds = 0.8e-9;  /* a product that is subtracted */
static const double remote_seconds = 0.15e-6; /* a row of another thread's that is read: its cache lines come over */
static const double latency_seconds = 0.3e-6; /* from the end of a row to one that waits for it on another thread */
static const double task_seconds = 0.05e-6;   /* a task of its own */
static const double team_seconds = 10e-6;     /* until the helpers are there */
static const double stall_seconds = 0.5e-3;   /* longer than threads that have cores are held up */
enum { SHORTEST_TASK = 8 };

int ilu_threads(trine_context ctx, int64_t n, int64_t nnz)
{
    const int64_t most = n > 0 ? 2 * nnz / n : 1;
    const int threads = trine_threads_with_cores(ctx);
    return threads < most ? threads : (int)(most > 1 ? most : 1);
}

void ilu_schedule_free(trine_context ctx, struct ilu_schedule *s)
{
    trine_free(ctx, TRINE_HOST, s->tasks);
    trine_free(ctx, TRINE_HOST, s->ready);
    trine_free(ctx, TRINE_HOST, s->lists);
    memset(s, 0, sizeof *s);
}

/* --------------------------------------------------------------- candidates */

/* Threads take tasks in turn: where there are as many tasks to a line of a grid as there are threads, each has its part
 * of all lines, and two of them meet at one row of a line only. */

/** Cut rows begin .. end - 1, behind which all tasks are, in a part for each thread. Parts may be empty. */
static void cut(struct ilu_schedule *s, int64_t begin, int64_t end)
{
    for (int t = 0; t < s->threads; t++) s->tasks[s->n_tasks++] = begin + (end - begin) * t / s->threads;
    s->tasks[s->n_tasks] = end;
}

/** Of tasks that are cut from at least SHORTEST_TASK rows for each thread at once, the last ones apart. */
static int64_t room_for(const struct ilu_schedule *s, int64_t n) { return n / SHORTEST_TASK + s->threads + 1; }

/** Lines: a line ends where a row does not need the one before. */
static trine_status cut_lines(trine_context ctx, const struct ilu_pattern *p, struct ilu_schedule *s)
{
    trine_status status = TRINE_SUCCESS;
    int64_t first = 0;
    TRY(ALLOC(ctx, s->tasks, room_for(s, p->n)));
    for (int64_t i = 0; i < p->n; i++) {
        const bool needs = p->diagonal[i] > p->offsets[i] && p->columns[p->diagonal[i] - 1] == i - 1;
        if (needs || i - first < s->threads * SHORTEST_TASK) continue;
        cut(s, first, i);
        first = i;
    }
    cut(s, first, p->n);
done:
    return status;
}

/** Lots of as many rows as lie between a row and the first that it needs: lines of a grid, and in three dimensions
 *  planes. */
static trine_status cut_bandwidths(trine_context ctx, const struct ilu_pattern *p, struct ilu_schedule *s)
{
    trine_status status = TRINE_SUCCESS;
    int64_t width = s->threads * SHORTEST_TASK;
    TRY(ALLOC(ctx, s->tasks, room_for(s, p->n)));
    for (int64_t i = 0; i < p->n; i++)
        if (i - p->columns[p->offsets[i]] > width) width = i - p->columns[p->offsets[i]];
    for (int64_t first = 0; first < p->n; first += width) cut(s, first, first + width < p->n ? first + width : p->n);
done:
    return status;
}

/* --------------------------------------------------------------- simulation */

static double seconds_of(const struct ilu_pattern *p, int64_t i)
{
    int64_t updates = 0;
    for (int64_t k = p->offsets[i]; k < p->diagonal[i]; k++) {
        const int64_t j = p->columns[k], after = p->offsets[j + 1] - p->diagonal[j] - 1;
        updates += after ? after : p->diagonal[j] - p->offsets[j]; /* of IC(0), products of rows of L */
    }
    return row_seconds + update_seconds * (double)updates;
}

/** Memory of a simulation. */
struct simulation {
    double *alone;  /* n: seconds of each row */
    double *end;    /* n: of each row */
    uint64_t *seen; /* n: a bit for each thread that has the row in its cache, one for several of more than 64 */
    double *clock;  /* of each thread */
};

/** Seconds of a factorization; sets s->patience. */
static double simulate(const struct ilu_pattern *p, struct ilu_schedule *s, const struct simulation *m)
{
    double last = 0;
    s->patience = 0;
    for (int t = 0; t < s->threads; t++) m->clock[t] = team_seconds;
    for (int64_t task = 0; task < s->n_tasks; task++) {
        const int me = (int)(task % s->threads);
        const uint64_t mine = (uint64_t)1 << me % 64;
        double now = m->clock[me] + task_seconds, task_alone = 0;
        for (int64_t i = s->tasks[task]; i < s->tasks[task + 1]; i++) {
            for (int64_t k = p->offsets[i]; k < p->diagonal[i]; k++) {
                const int32_t j = p->columns[k];
                if (m->seen[j] & mine) continue;
                if (m->end[j] + latency_seconds > now) now = m->end[j] + latency_seconds;
                now += remote_seconds;
                m->seen[j] |= mine;
            }
            task_alone += m->alone[i];
            now += m->alone[i];
            m->end[i] = now;
            m->seen[i] = mine;
        }
        m->clock[me] = now;
        if (now > last) last = now;
        if (task_alone > s->patience) s->patience = task_alone;
    }
    s->patience = stall_seconds + 4 * s->patience;
    return last;
}

trine_status ilu_schedule_make(trine_context ctx, const struct ilu_pattern *p, struct ilu_schedule *out)
{
    /* n_tasks is 0 and threads set before */
    static trine_status (*const candidates[])(trine_context, const struct ilu_pattern *,
                                              struct ilu_schedule *) = {cut_lines, cut_bandwidths};
    static const char *const names[] = {"lines", "bandwidths"};
    trine_status status = TRINE_SUCCESS;
    const int threads = ilu_threads(ctx, p->n, p->nnz);
    struct ilu_schedule s = {0};
    struct simulation m = {0};
    double alone = 0, best;
    *out = (struct ilu_schedule){.threads = 1};
    if (threads == 1) return TRINE_SUCCESS;
    TRY(ALLOC(ctx, m.alone, p->n));
    for (int64_t i = 0; i < p->n; i++) alone += m.alone[i] = seconds_of(p, i);
    best = 0.75 * alone; /* less is not worth other threads' time */
    if (best < team_seconds) goto done;
    TRY(ALLOC(ctx, m.end, p->n));
    TRY(ALLOC(ctx, m.seen, p->n));
    TRY(ALLOC(ctx, m.clock, threads));
    for (int c = 0; c < 2; c++) {
        s.threads = threads;
        TRY(candidates[c](ctx, p, &s));
        const double seconds = simulate(p, &s, &m);
        if (seconds < best) {
            trine_log(ctx, 3, "precond: rows by %s, %d threads: %.4g ms expected, %.4g ms on one", names[c], threads,
                      1e3 * seconds, 1e3 * alone);
            best = seconds;
            ilu_schedule_free(ctx, out);
            *out = s;
            memset(&s, 0, sizeof s);
        }
        ilu_schedule_free(ctx, &s);
    }
    if (out->n_tasks) {
        TRY(ALLOC(ctx, out->ready, p->n));
        TRY(ALLOC(ctx, out->lists, threads));
        trine_team_start(ctx);
    }
done:
    trine_free(ctx, TRINE_HOST, m.alone);
    trine_free(ctx, TRINE_HOST, m.end);
    trine_free(ctx, TRINE_HOST, m.seen);
    trine_free(ctx, TRINE_HOST, m.clock);
    ilu_schedule_free(ctx, &s);
    if (status) ilu_schedule_free(ctx, out);
    return status;
}
