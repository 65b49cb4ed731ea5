/* Tasks of rows for CPU threads: cut, find dependencies, simulate, deal out, keep the waits that matter. */
#include <string.h>

#include "core/team.h"
#include "triangular/cpu/schedule.h"

/* What the simulation reckons with, measured on Xeons of several years; only ratios of sums of them decide anything. */
static const double row_seconds = 2.5e-9;     /* a row: right-hand side, pivot, loop */
static const double entry_seconds = 0.5e-9;   /* an entry and its solution value, one right-hand side */
static const double order_seconds = 1e-9;     /* a row that does not stand beside the one before */
static const double scatter_seconds = 5e-9;   /* the same where vectors do not fit the cache: two cache lines of its
                                                 own */
static const double rhs_share = 0.3;          /* each further right-hand side, in entries */
static const double latency_seconds = 0.4e-6; /* from the end of a task to its successor on another thread, values
                                                 included */
static const double task_seconds = 0.03e-6;   /* a task of its own */
static const double wait_seconds = 0.1e-6;    /* a task that needs another thread's, however long ago that ended */
static const double team_seconds = 2e-6;      /* until the helpers are there */
static const double smallest_task = 0.5e-6;
enum { CACHE_BYTES = 1 << 20, COARSER = 4, BREAK = 16 };

/* ----------------------------------------------------------------- costs */

/** A row of so many entries; extra: what its place in the order costs. */
static double cost_of(trine_triangular plan, int64_t entries, double extra)
{
    return (row_seconds + entry_seconds * (double)entries + extra) *
           (1 + rhs_share * (double)(plan->options.max_nrhs - 1));
}

double tasks_serial_seconds(trine_triangular plan, const struct gather_form *t)
{
    return cost_of(plan, 0, 0) * (double)(t->n - 1) + cost_of(plan, t->nnz, 0);
}

/** What its place costs a row in an order by level. */
static double extra_by_level(trine_triangular plan, int64_t n)
{
    const int64_t size = (int64_t)trine_dtype_size(plan->base.dtype);
    return 2 * size * n * plan->options.max_nrhs > CACHE_BYTES ? scatter_seconds : order_seconds;
}

double tasks_least_seconds_by_level(trine_triangular plan, const struct gather_form *t, int threads)
{
    const double rows = cost_of(plan, 0, extra_by_level(plan, t->n)) * (double)t->n,
                 entries = cost_of(plan, t->nnz, 0) - cost_of(plan, 0, 0);
    return team_seconds + (rows + entries) / threads;
}

/* ----------------------------------------------------------- tasks and graph */

/** Tasks and what they wait for, while schedules are tried. */
struct graph {
    int64_t n_tasks, n_edges;
    int64_t *rows;           /* n_tasks + 1 */
    double *cost;            /* n_tasks */
    int64_t *needs_offsets;  /* n_tasks + 1 */
    int32_t *needs;          /* n_edges: earlier tasks, each once */
};

static void free_graph(trine_context ctx, struct graph *g)
{
    trine_free(ctx, TRINE_HOST, g->rows);
    trine_free(ctx, TRINE_HOST, g->cost);
    trine_free(ctx, TRINE_HOST, g->needs_offsets);
    trine_free(ctx, TRINE_HOST, g->needs);
    memset(g, 0, sizeof *g);
}

static void close_task(struct graph *g, int64_t last, double *open)
{
    if (g->rows[g->n_tasks] == last) return;
    g->cost[g->n_tasks++] = *open;
    g->rows[g->n_tasks] = last;
    *open = 0;
}

/** Cut positions first .. last - 1 into tasks of about `size` seconds; a rest stays open. *open: the cost of the
 *  open task. */
static void cut(struct graph *g, const double *cost, int64_t first, int64_t last, double size, double *open)
{
    for (int64_t s = first; s < last; s++) {
        *open += cost[s];
        if (*open >= size) close_task(g, s + 1, open);
    }
}

/** The same for rows as they stand, but a task ends early where a row needs nothing of it: at the end of a grid line
 *  or plane, of a branch of an elimination tree. What follows is then free to run beside it. */
static void cut_where_free(trine_triangular plan, const struct gather_form *t, double size, struct graph *g)
{
    double open = 0;
    for (int64_t p = 0; p < t->n; p++) {
        if (open >= size / BREAK) {
            bool needs = false;
            for (int64_t k = t->offsets[p + 1]; k-- > t->offsets[p] && !needs;)
                needs = t->columns[k] >= g->rows[g->n_tasks];
            if (!needs) close_task(g, p, &open);
        }
        open += cost_of(plan, t->offsets[p + 1] - t->offsets[p], 0);
        if (open >= size) close_task(g, p + 1, &open);
    }
    close_task(g, t->n, &open);
}

/** Rows in tasks. By level: a level that is worth it is cut into equal parts, a multiple of the threads; thin ones
 *  are joined. */
static trine_status cut_all(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                            int threads, struct graph *g)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    double *cost = NULL, open = 0;
    TRY(ALLOC(ctx, g->rows, t->n + 1));
    TRY(ALLOC(ctx, g->cost, t->n));
    g->rows[0] = g->n_tasks = 0;
    if (!levels) {
        cut_where_free(plan, t, smallest_task, g);
    } else {
        const double extra = extra_by_level(plan, t->n);
        TRY(ALLOC(ctx, cost, t->n));
        for (int64_t s = 0; s < t->n; s++) {
            const int64_t p = levels->positions[s];
            cost[s] = cost_of(plan, t->offsets[p + 1] - t->offsets[p], extra);
        }
        for (int64_t l = 0; l < levels->count; l++) {
            const int64_t first = levels->offsets[l], last = levels->offsets[l + 1];
            double all = 0;
            for (int64_t s = first; s < last; s++) all += cost[s];
            if (all < threads * smallest_task) { /* too thin to share */
                cut(g, cost, first, last, threads * smallest_task, &open);
                continue;
            }
            close_task(g, first, &open);
            const double parts = threads * (double)(int64_t)(1 + all / (threads * COARSER * smallest_task));
            cut(g, cost, first, last, all / parts * (1 - 1e-12), &open);
            close_task(g, last, &open);
        }
        close_task(g, t->n, &open);
    }
done:
    trine_free(ctx, TRINE_HOST, cost);
    return status;
}

/** The edges of the graph: which tasks hold the rows that a task's entries name. Each pair once. */
static trine_status find_needs(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                               struct graph *g)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int32_t *task_of = NULL, *seen = NULL;
    TRY(ALLOC(ctx, task_of, t->n));
    TRY(ALLOC(ctx, seen, g->n_tasks));
    TRY(ALLOC(ctx, g->needs_offsets, g->n_tasks + 1));
    for (int64_t k = 0; k < g->n_tasks; k++) seen[k] = -1;
    for (int64_t k = 0; k < g->n_tasks; k++)
        for (int64_t s = g->rows[k]; s < g->rows[k + 1]; s++) task_of[levels ? levels->positions[s] : s] = (int32_t)k;
    for (int pass = 0; pass < 2; pass++) { /* count, then store */
        g->n_edges = 0;
        for (int64_t k = 0; k < g->n_tasks; k++) {
            g->needs_offsets[k] = g->n_edges;
            for (int64_t s = g->rows[k]; s < g->rows[k + 1]; s++) {
                const int64_t p = levels ? levels->positions[s] : s;
                for (int64_t e = t->offsets[p]; e < t->offsets[p + 1]; e++) {
                    const int32_t q = task_of[t->columns[e]];
                    if (q == k || seen[q] == k) continue;
                    seen[q] = (int32_t)k;
                    if (pass) g->needs[g->n_edges] = q;
                    g->n_edges++;
                }
            }
        }
        g->needs_offsets[g->n_tasks] = g->n_edges;
        if (pass) break;
        TRY(ALLOC(ctx, g->needs, g->n_edges));
        for (int64_t k = 0; k < g->n_tasks; k++) seen[k] = -1;
    }
done:
    trine_free(ctx, TRINE_HOST, task_of);
    trine_free(ctx, TRINE_HOST, seen);
    return status;
}

/** Join neighbouring tasks to ones of about `size` seconds, in place; again one ends early where the next needs
 *  nothing of it. */
static trine_status coarsen(trine_context ctx, struct graph *g, double size)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *joined = NULL, *seen = NULL; /* the new task of an old one; the last new task that needs a new task */
    const int64_t old = g->n_tasks;
    int64_t n = 0, first = 0, edges = 0; /* first: old task that the open one begins with */
    double open = 0;
    TRY(ALLOC(ctx, joined, old));
    TRY(ALLOC(ctx, seen, old));
    for (int64_t k = 0; k < old; k++) {
        bool needs = open < size / BREAK;
        for (int64_t e = g->needs_offsets[k]; e < g->needs_offsets[k + 1] && !needs; e++) needs = g->needs[e] >= first;
        if (k > 0 && (!needs || open + g->cost[k] > size)) n++, first = k, open = 0;
        joined[k] = (int32_t)n;
        open += g->cost[k];
    }
    n++;
    for (int64_t k = 0; k < n; k++) seen[k] = -1;
    for (int64_t k = 0, at = 0; k < n; k++) {
        const int64_t begin = at;
        int64_t e = g->needs_offsets[at];
        double cost = 0;
        while (at < old && joined[at] == k) cost += g->cost[at++];
        const int64_t end = g->needs_offsets[at];
        g->cost[k] = cost;
        g->rows[k] = g->rows[begin];
        g->needs_offsets[k] = edges;
        for (; e < end; e++) {
            const int32_t q = joined[g->needs[e]];
            if (q == k || seen[q] == k) continue;
            seen[q] = (int32_t)k;
            g->needs[edges++] = q;
        }
    }
    g->rows[n] = g->rows[old];
    g->needs_offsets[n] = g->n_edges = edges;
    g->n_tasks = n;
done:
    trine_free(ctx, TRINE_HOST, joined);
    trine_free(ctx, TRINE_HOST, seen);
    return status;
}

/* -------------------------------------------------------------- simulation */

/** A binary heap of tasks, the smallest key first, then the first task. */
struct heap {
    int64_t count;
    int32_t *task;
    const double *key;
};

static bool before(const struct heap *h, int32_t a, int32_t b)
{
    return h->key[a] < h->key[b] || (h->key[a] == h->key[b] && a < b);
}

static void push(struct heap *h, int32_t task)
{
    int64_t at = h->count++;
    for (; at > 0 && before(h, task, h->task[(at - 1) / 2]); at = (at - 1) / 2) h->task[at] = h->task[(at - 1) / 2];
    h->task[at] = task;
}

static int32_t pop(struct heap *h)
{
    const int32_t top = h->task[0], task = h->task[--h->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && before(h, h->task[child + 1], h->task[child])) child++;
        if (!before(h, h->task[child], task)) break;
        h->task[at] = h->task[child];
    }
    if (h->count) h->task[at] = task;
    return top;
}

/** One simulated solve: what ran where, and when. */
struct simulation {
    int32_t *thread;         /* n_tasks */
    int32_t *started;        /* n_tasks: tasks in the order of their start */
    double *end;             /* n_tasks */
    double seconds;
};

struct simulator {
    int64_t *successor_offsets;
    int32_t *successors, *open, *ready_tasks, *pending_tasks;
    double *urgency, *earliest, *free_at;
};

static void free_simulator(trine_context ctx, struct simulator *m)
{
    trine_free(ctx, TRINE_HOST, m->successor_offsets);
    trine_free(ctx, TRINE_HOST, m->successors);
    trine_free(ctx, TRINE_HOST, m->open);
    trine_free(ctx, TRINE_HOST, m->ready_tasks);
    trine_free(ctx, TRINE_HOST, m->pending_tasks);
    trine_free(ctx, TRINE_HOST, m->urgency);
    trine_free(ctx, TRINE_HOST, m->earliest);
    trine_free(ctx, TRINE_HOST, m->free_at);
}

static trine_status alloc_simulator(trine_context ctx, int threads, const struct graph *g, struct simulator *m)
{
    trine_status status = TRINE_SUCCESS;
    TRY(CALLOC(ctx, m->successor_offsets, g->n_tasks + 2));
    TRY(ALLOC(ctx, m->successors, g->n_edges));
    TRY(ALLOC(ctx, m->open, g->n_tasks));
    TRY(ALLOC(ctx, m->ready_tasks, g->n_tasks));
    TRY(ALLOC(ctx, m->pending_tasks, g->n_tasks));
    TRY(ALLOC(ctx, m->urgency, g->n_tasks));
    TRY(CALLOC(ctx, m->earliest, g->n_tasks));
    TRY(CALLOC(ctx, m->free_at, threads));
done:
    return status;
}

/** When thread i could start task k: not before it is free, nor before what k needs has ended and, from elsewhere,
 *  come over. */
static int best_thread(const struct graph *g, const struct simulation *now, const double *free_at, int threads,
                       int32_t k, double *start)
{
    /* the latest arrival, the latest from another thread than that one's, its own end */
    double latest = 0, others = 0, own = 0;
    int from = -1;
    for (int64_t e = g->needs_offsets[k]; e < g->needs_offsets[k + 1]; e++) {
        const int32_t q = g->needs[e];
        const double arrival = now->end[q] + latency_seconds;
        if (now->thread[q] == from) {
            if (arrival > latest) latest = arrival, own = now->end[q];
        } else if (arrival > latest) {
            others = latest, latest = arrival, own = now->end[q], from = now->thread[q];
        } else if (arrival > others) {
            others = arrival;
        }
    }
    int best = -1;
    for (int i = 0; i < threads; i++) {
        double at = i == from ? (own > others ? own : others) : latest;
        if (free_at[i] > at) at = free_at[i];
        const bool follows = k > 0 && now->thread[k - 1] == i; /* the rows before are in this thread's cache */
        if (best < 0 || at < *start || (at == *start && follows)) best = i, *start = at;
    }
    return best;
}

/** List scheduling: whenever a thread is free, the ready task with the longest way to the end. */
static trine_status simulate(trine_context ctx, int threads, const struct graph *g, struct simulation *result)
{
    trine_status status = TRINE_SUCCESS;
    struct simulator m = {0};
    int64_t started = 0;
    TRY(alloc_simulator(ctx, threads, g, &m));
    for (int64_t e = 0; e < g->n_edges; e++) m.successor_offsets[g->needs[e] + 2]++;
    for (int64_t k = 0; k < g->n_tasks; k++) m.successor_offsets[k + 2] += m.successor_offsets[k + 1];
    for (int64_t k = 0; k < g->n_tasks; k++)
        for (int64_t e = g->needs_offsets[k]; e < g->needs_offsets[k + 1]; e++)
            m.successors[m.successor_offsets[g->needs[e] + 1]++] = (int32_t)k;
    for (int64_t k = g->n_tasks; k-- > 0;) { /* urgency: minus the longest way */
        double way = 0;
        for (int64_t e = m.successor_offsets[k]; e < m.successor_offsets[k + 1]; e++)
            if (-m.urgency[m.successors[e]] > way) way = -m.urgency[m.successors[e]];
        m.urgency[k] = -(way + g->cost[k]);
    }

    struct heap ready = {0, m.ready_tasks, m.urgency}, pending = {0, m.pending_tasks, m.earliest};
    for (int64_t k = 0; k < g->n_tasks; k++) {
        result->thread[k] = -1;
        m.open[k] = (int32_t)(g->needs_offsets[k + 1] - g->needs_offsets[k]);
        if (!m.open[k]) push(&pending, (int32_t)k);
    }
    result->seconds = 0;
    while (started < g->n_tasks) {
        double now = m.free_at[0], start = 0;
        for (int i = 1; i < threads; i++)
            if (m.free_at[i] < now) now = m.free_at[i];
        if (!ready.count && m.earliest[pending.task[0]] > now) now = m.earliest[pending.task[0]];
        while (pending.count && m.earliest[pending.task[0]] <= now) push(&ready, pop(&pending));
        const int32_t k = pop(&ready);
        const int thread = best_thread(g, result, m.free_at, threads, k, &start);
        bool waits = false;
        for (int64_t e = g->needs_offsets[k]; e < g->needs_offsets[k + 1] && !waits; e++)
            waits = result->thread[g->needs[e]] != thread;
        const double end = start + task_seconds + (waits ? wait_seconds : 0) + g->cost[k];
        result->thread[k] = thread;
        result->end[k] = m.free_at[thread] = end;
        result->started[started++] = k;
        if (end > result->seconds) result->seconds = end;
        for (int64_t e = m.successor_offsets[k]; e < m.successor_offsets[k + 1]; e++) {
            const int32_t q = m.successors[e];
            if (end > m.earliest[q]) m.earliest[q] = end;
            if (--m.open[q] == 0) push(&pending, q);
        }
    }
    result->seconds += team_seconds;
done:
    free_simulator(ctx, &m);
    return status;
}

static void free_simulation(trine_context ctx, struct simulation *s)
{
    trine_free(ctx, TRINE_HOST, s->thread);
    trine_free(ctx, TRINE_HOST, s->started);
    trine_free(ctx, TRINE_HOST, s->end);
    memset(s, 0, sizeof *s);
}

/* ---------------------------------------------------------------- schedule */

void tasks_free(trine_triangular plan, struct task_schedule *schedule)
{
    trine_context ctx = plan->base.ctx;
    if (!schedule) return;
    trine_free(ctx, TRINE_HOST, schedule->slots);
    trine_free(ctx, TRINE_HOST, schedule->places);
    trine_free(ctx, TRINE_HOST, schedule->slot_offsets);
    trine_free(ctx, TRINE_HOST, schedule->waits);
    trine_free(ctx, TRINE_HOST, schedule);
}

/** What is known while lists are made, task after task in the order of their start. */
struct knowledge {
    int32_t *place;                /* [k]: task k's number in its thread's list */
    int32_t *known;                /* [k * threads + i]: how many tasks of thread i have surely finished when task k
                                      ends */
    int32_t *needed, *needed_task; /* for find_waits: [i]: so many tasks of thread i, of which that is the last */
    int32_t *last;                 /* [i]: the last task of thread i so far, or -1 */
};

/** The waits of task k, at waits[0 ..]; how many. A thread need not wait for what it knows already: it has waited
 *  for that task or a later one of the same thread before, or for a task of a third thread that had. */
static int32_t find_waits(const struct graph *g, const struct simulation *s, int threads, int32_t k,
                          const struct knowledge *o, struct task_wait *waits)
{
    const int32_t *place = o->place, *known = o->known;
    int32_t *needed = o->needed, *needed_task = o->needed_task;
    int32_t count = 0, *mine = o->known + (int64_t)k * threads; /* holds what the thread knew after its last task */
    memset(needed, 0, (size_t)threads * sizeof *needed);
    for (int64_t e = g->needs_offsets[k]; e < g->needs_offsets[k + 1]; e++) {
        const int32_t q = g->needs[e], from = s->thread[q];
        if (place[q] + 1 > needed[from]) needed[from] = place[q] + 1, needed_task[from] = q;
    }
    for (int i = 0; i < threads; i++) {
        if (needed[i] <= mine[i]) continue;
        bool implied = false;
        for (int j = 0; j < threads && !implied; j++)
            implied = j != i && needed[j] > mine[j] && known[(int64_t)needed_task[j] * threads + i] >= needed[i];
        if (!implied) waits[count++] = (struct task_wait){i, needed[i]};
    }
    for (int32_t w = 0; w < count; w++) {
        const int32_t *theirs = known + (int64_t)needed_task[waits[w].list] * threads;
        for (int i = 0; i < threads; i++)
            if (theirs[i] > mine[i]) mine[i] = theirs[i];
    }
    return count;
}

/** What a simulated solve did, as lists of slots. */
static trine_status make_schedule(trine_context ctx, int threads, const struct graph *g, const struct simulation *s,
                                  struct task_schedule *out)
{
    trine_status status = TRINE_SUCCESS;
    struct knowledge o = {0};
    out->threads = threads;
    out->n_tasks = g->n_tasks;
    out->seconds = s->seconds;
    TRY(ALLOC(ctx, out->slots, g->n_tasks));
    TRY(ALLOC(ctx, out->places, g->n_tasks));
    TRY(CALLOC(ctx, out->slot_offsets, threads + 1));
    TRY(ALLOC(ctx, out->waits, g->n_edges));
    TRY(ALLOC(ctx, o.place, g->n_tasks));
    TRY(CALLOC(ctx, o.known, g->n_tasks * threads));
    TRY(ALLOC(ctx, o.needed, threads));
    TRY(ALLOC(ctx, o.needed_task, threads));
    TRY(ALLOC(ctx, o.last, threads));
    for (int i = 0; i < threads; i++) o.last[i] = -1;
    for (int64_t k = 0; k < g->n_tasks; k++) out->slot_offsets[s->thread[k] + 1]++;
    for (int i = 0; i < threads; i++) out->slot_offsets[i + 1] += out->slot_offsets[i];
    /* in the order of their start, so that what a task needs comes before it */
    for (int64_t at = 0; at < g->n_tasks; at++) {
        const int32_t k = s->started[at], me = s->thread[k];
        int32_t *mine = o.known + (int64_t)k * threads;
        if (o.last[me] >= 0) memcpy(mine, o.known + (int64_t)o.last[me] * threads, (size_t)threads * sizeof *mine);
        o.place[k] = mine[me];
        mine[me]++; /* nobody waits for itself */
        const int32_t n_waits = find_waits(g, s, threads, k, &o, out->waits + out->n_waits);
        out->slots[out->slot_offsets[me] + o.place[k]] =
            (struct task_slot){g->rows[k], g->rows[k + 1], out->n_waits, n_waits};
        out->n_waits += n_waits;
        out->places[k] = (struct task_place){me, o.place[k]};
        o.last[me] = k;
    }
done:
    trine_free(ctx, TRINE_HOST, o.place);
    trine_free(ctx, TRINE_HOST, o.known);
    trine_free(ctx, TRINE_HOST, o.needed);
    trine_free(ctx, TRINE_HOST, o.needed_task);
    trine_free(ctx, TRINE_HOST, o.last);
    return status;
}

/* As given, a task ends when it takes smallest_task / BREAK seconds or more; by level it takes a part of
 * smallest_task that makes fewer. */
void tasks_bound(trine_triangular plan, int64_t n, int64_t nnz, int64_t *kept, int64_t *meanwhile)
{
    const int threads = trine_threads_with_cores(plan->base.ctx);
    const double all = cost_of(plan, 0, 0) * (double)n + cost_of(plan, nnz, 0), cut = all / (smallest_task / BREAK) + 1;
    const int64_t tasks = cut < (double)n ? (int64_t)cut : n;
    const int64_t edges = (double)tasks * (double)tasks / 2 < (double)nnz ? tasks * tasks / 2 : nnz;
    const int64_t a_task = sizeof(struct task_slot) + sizeof(struct task_place);
    *kept = (int64_t)sizeof(struct task_schedule) + (tasks + 1) * a_task + (threads + 1) * 8 +
            (edges + 1) * (int64_t)sizeof(struct task_wait);
    /* struct graph, whose arrays of tasks have room for n of them; struct simulation; then the larger of struct
     * simulator and what make_schedule knows of every thread. Before these, costs and tasks of rows. */
    const int64_t graph = (n + 1) * 16 + (tasks + 1) * 8 + (edges + 1) * 4, simulation = (tasks + 1) * 16;
    const int64_t simulator = (tasks + 2) * 36 + (edges + 1) * 4 + threads * 8,
                  known = (tasks + 1) * 4 * (threads + 1) + threads * 12;
    *meanwhile = graph + n * 8 + simulation + (simulator > known ? simulator : known);
}

trine_status tasks_schedule(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                            int threads, struct task_schedule **out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    struct graph g = {0};
    struct simulation s = {0};
    struct task_schedule *best = NULL;
    *out = NULL;
    TRY(cut_all(plan, t, levels, threads, &g));
    TRY(find_needs(plan, t, levels, &g));
    TRY(ALLOC(ctx, s.thread, g.n_tasks));
    TRY(ALLOC(ctx, s.started, g.n_tasks));
    TRY(ALLOC(ctx, s.end, g.n_tasks));
    for (double size = COARSER * smallest_task;; size *= COARSER) {
        TRY(simulate(ctx, threads, &g, &s));
        trine_log(ctx, 3, "triangular: %lld tasks, %lld edges, %s: %.4g ms expected", (long long)g.n_tasks,
                  (long long)g.n_edges, levels ? "by level" : "as given", 1e3 * s.seconds);
        if (!best || s.seconds < best->seconds) {
            tasks_free(plan, best);
            TRY((best = trine_host_calloc(ctx, 1, sizeof *best)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
            TRY(make_schedule(ctx, threads, &g, &s, best));
        }
        if (g.n_tasks < COARSER * threads || size > s.seconds) break;
        TRY(coarsen(ctx, &g, size));
    }
    *out = best;
    best = NULL;
done:
    tasks_free(plan, best);
    free_graph(ctx, &g);
    free_simulation(ctx, &s);
    return status;
}
