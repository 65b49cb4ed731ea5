#include "supernodal/cpu/tree_tasks.h"

#include <stdlib.h>

enum {
    PARTS = 64,           /* subtrees are cut down to this part of all work */
    SMALL_TASK = 32768,   /* work of a chain above subtrees that is worth a task of its own */
    LARGE_PANEL = 131072, /* entries of a panel that threads share */
    BLOCK_COLUMNS = 256,  /* of a large panel, solved by one thread */
    TILE_ENTRIES = 32768  /* of what lies below them, by one thread */
};
static const double least_gain = 1.2; /* of several threads, as the tree allows it */

/** Time of a panel in the unit of one entry: what is not proportional to its entries counts as some more. */
static int64_t panel_work(const supernodal_panel *p) { return (int64_t)p->width * p->height + 2 * p->height + 32; }
static bool is_large(const supernodal_panel *p) { return (int64_t)p->width * p->height >= LARGE_PANEL; }

/** What is known of a panel while the tree is cut. */
typedef struct {
    int64_t work;        /* of its subtree */
    int64_t group_work;  /* of the subtrees in the group that is open below it */
    int32_t group;       /* that group's task, -1 if there is none */
    int32_t above;       /* children that are above the subtrees, */
    int32_t last_above;  /* and the last of them */
} node;

/** Subtrees of at most `limit` below the same panel in groups of at most `limit`, chains of panels above in tasks of
 *  SMALL_TASK, large panels by themselves. task_of: in no order yet. Returns the number of tasks. */
static int32_t assign(const supernodal_structure *S, int64_t limit, bool split, node *nodes, int64_t *task_work,
                      int32_t *task_of)
{
    const int64_t m = S->n_panels;
    int32_t n_tasks = 0;
    for (int64_t s = 0; s < m; s++) {
        const supernodal_panel *p = &S->panels[s];
        node *v = &nodes[s];
        const int64_t own = panel_work(p);
        v->work += own;
        if (p->parent >= 0) nodes[p->parent].work += v->work;
        if (v->work <= limit) continue;
        if (p->parent >= 0) nodes[p->parent].above++, nodes[p->parent].last_above = (int32_t)s;
        const int32_t below = v->above == 1 ? v->last_above : -1;
        const bool joins = below >= 0 && task_work[task_of[below]] + own <= SMALL_TASK &&
                           !(split && (is_large(p) || is_large(&S->panels[below])));
        task_of[s] = joins ? task_of[below] : n_tasks;
        if (!joins) task_work[n_tasks++] = 0;
        task_work[task_of[s]] += own;
    }
    node *forest = &nodes[m]; /* where roots have their groups */
    for (int64_t s = 0; s < m; s++) {
        const int32_t parent = S->panels[s].parent;
        if (nodes[s].work > limit || (parent >= 0 && nodes[parent].work <= limit)) continue;
        node *home = parent >= 0 ? &nodes[parent] : forest;
        if (home->group < 0 || home->group_work + nodes[s].work > limit) {
            home->group = n_tasks;
            task_work[n_tasks++] = 0;
            home->group_work = 0;
        }
        home->group_work += nodes[s].work;
        task_of[s] = home->group;
        task_work[home->group] += nodes[s].work;
    }
    for (int64_t s = m - 1; s >= 0; s--) {
        const int32_t parent = S->panels[s].parent;
        if (parent >= 0 && nodes[s].work <= limit && nodes[parent].work <= limit) task_of[s] = task_of[parent];
    }
    return n_tasks;
}

/** Tasks in the order of their last panels, so that children come before parents; renumber S so. */
static trine_status number_tasks(supernodal_structure *S, int32_t n_tasks, int32_t *task_of, tree_tasks *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    const int64_t m = S->n_panels;
    int32_t *last = NULL, *number = NULL, *order = NULL, *next = NULL;
    TRY(ALLOC(ctx, last, n_tasks));
    TRY(ALLOC(ctx, number, n_tasks));
    TRY(ALLOC(ctx, order, m));
    TRY(CALLOC(ctx, next, n_tasks + 1));
    TRY(CALLOC(ctx, out->tasks, n_tasks));
    for (int32_t s = 0; s < m; s++) last[task_of[s]] = s;
    for (int32_t s = 0; s < m; s++) {
        if (last[task_of[s]] != s) continue;
        const int32_t parent = S->panels[s].parent;
        number[task_of[s]] = (int32_t)out->n_tasks;
        out->tasks[out->n_tasks++].parent = parent >= 0 ? task_of[parent] : -1;
    }
    for (int32_t k = 0; k < n_tasks; k++)
        if (out->tasks[k].parent >= 0)
            out->tasks[k].parent = number[out->tasks[k].parent], out->tasks[out->tasks[k].parent].children++;
    for (int32_t s = 0; s < m; s++) next[number[task_of[s]] + 1]++;
    for (int32_t k = 0; k < n_tasks; k++) {
        next[k + 1] += next[k];
        out->tasks[k].first = next[k];
        out->tasks[k].last = next[k + 1];
    }
    for (int32_t s = 0; s < m; s++) order[next[number[task_of[s]]]++] = s;
    TRY(supernodal_reorder(S, order));
    for (int32_t k = 0; k < n_tasks; k++) {
        const supernodal_panel *p = &S->panels[out->tasks[k].last - 1];
        out->tasks[k].column = S->panels[out->tasks[k].first].first;
        out->tasks[k].end_column = p->first + p->width;
    }
done:
    trine_free(ctx, TRINE_HOST, last);
    trine_free(ctx, TRINE_HOST, number);
    trine_free(ctx, TRINE_HOST, order);
    trine_free(ctx, TRINE_HOST, next);
    return status;
}

static int ascending(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/** The rows above each task, and where its panels find them. */
static trine_status place_contributions(const supernodal_structure *S, tree_tasks *out, int32_t **out_rows)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int32_t *seen = NULL, *index = NULL; /* of a row: the last task that has it, and as which of its rows above */
    TRY(ALLOC(ctx, seen, S->n));
    TRY(ALLOC(ctx, index, S->n));
    TRY(ALLOC(ctx, out->places, S->n_rows));
    TRY(ALLOC(ctx, out->own, S->n_panels));
    for (int64_t i = 0; i < S->n; i++) seen[i] = -1;
    for (int fill = 0; fill < 2; fill++) {
        out->n_out = 0;
        for (int32_t k = 0; k < out->n_tasks; k++) {
            tree_task *task = &out->tasks[k];
            task->out = out->n_out;
            for (int32_t s = task->first; s < task->last; s++) {
                const supernodal_panel *p = &S->panels[s];
                const int32_t *rows = S->rows + p->rows;
                int32_t own = p->height;
                while (own > p->width && rows[own - 1] >= task->end_column) own--;
                out->own[s] = own;
                for (int32_t r = own; r < p->height; r++) {
                    if (seen[rows[r]] == 2 * k + fill) continue;
                    seen[rows[r]] = 2 * k + fill;
                    if (fill) (*out_rows)[out->n_out] = rows[r];
                    out->n_out++;
                }
            }
            if (!fill) continue;
            task->n_out = (int32_t)(out->n_out - task->out);
            int32_t *mine = *out_rows + task->out, *places = out->places;
            qsort(mine, (size_t)task->n_out, sizeof *mine, ascending);
            for (int32_t i = 0; i < task->n_out; i++) index[mine[i]] = i;
            for (int32_t s = task->first; s < task->last; s++) {
                const supernodal_panel *p = &S->panels[s];
                for (int64_t r = p->rows; r < p->rows + p->height; r++)
                    places[r] = r - p->rows < out->own[s] ? S->rows[r] : index[S->rows[r]];
            }
        }
        if (fill) break;
        if (out->n_out > INT32_MAX)
            FAIL(TRINE_ERR_UNSUPPORTED, "%lld rows of contributions; fewer than 2^31 are possible",
                 (long long)out->n_out);
        TRY(ALLOC(ctx, *out_rows, out->n_out));
    }
done:
    trine_free(ctx, TRINE_HOST, seen);
    trine_free(ctx, TRINE_HOST, index);
    return status;
}

/** For every row of a task with children, which contributions it takes. */
static trine_status list_sums(const supernodal_structure *S, const int32_t *out_rows, tree_tasks *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int64_t count = 0, *place = NULL; /* of a row in sum_start */
    TRY(ALLOC(ctx, place, S->n));
    for (int32_t k = 0; k < out->n_tasks; k++) {
        tree_task *task = &out->tasks[k];
        if (!task->children) continue;
        task->sums = count;
        for (int32_t i = task->column; i < task->end_column; i++) place[i] = count++;
    }
    TRY(CALLOC(ctx, out->sum_start, count + 2));
    TRY(ALLOC(ctx, out->sum_places, out->n_out));
    for (int64_t i = 0; i < out->n_out; i++) out->sum_start[place[out_rows[i]] + 2]++;
    for (int64_t i = 0; i < count; i++) out->sum_start[i + 2] += out->sum_start[i + 1];
    for (int64_t i = 0; i < out->n_out; i++) out->sum_places[out->sum_start[place[out_rows[i]] + 1]++] = (int32_t)i;
done:
    trine_free(ctx, TRINE_HOST, place);
    return status;
}

/* ------------------------------------------------------------------- steps */

typedef struct {
    int64_t way;   /* work from here to the end of the solve */
    int32_t task;
} priority;

static int longest_way_first(const void *a, const void *b)
{
    const priority *x = a, *y = b;
    return x->way != y->way ? (x->way < y->way) - (x->way > y->way) : (x->task > y->task) - (x->task < y->task);
}

static void add_step(tree_tasks *out, int direction, tree_step step, int32_t expected)
{
    step.expected = expected;
    if (out->steps[direction]) out->steps[direction][out->n_steps[direction]] = step;
    out->n_steps[direction]++;
    out->task_steps[direction][step.task]++;
}

/** The steps of a large panel: block after block of columns, a triangle before (forward) or behind (backward) its
 *  tiles. */
static void split_panel(const supernodal_panel *p, int32_t task, bool forward, tree_tasks *out)
{
    const int32_t blocks = (p->width + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    const int direction = !forward;
    const int32_t *done = &out->task_steps[direction][task];
    for (int32_t k = 0; k < blocks; k++) {
        const int32_t a = (forward ? k : blocks - 1 - k) * BLOCK_COLUMNS,
                      e = a + BLOCK_COLUMNS < p->width ? a + BLOCK_COLUMNS : p->width;
        const int32_t begin = forward ? e : a, end = forward ? p->height : e, length = forward ? e - a : p->height - e;
        int32_t size = (TILE_ENTRIES / (length + 1) + 16) / 16 * 16;
        if (forward) add_step(out, direction, (tree_step){STEP_HEAD, task, a, e, a, e, 0}, *done);
        const int32_t before = *done;
        for (int32_t at = begin; at < end; at += size)
            add_step(out, direction, (tree_step){STEP_TILE, task, a, e, at, end - at > size ? at + size : end, 0},
                     before);
        if (!forward) add_step(out, direction, (tree_step){STEP_HEAD, task, a, e, a, e, 0}, *done);
    }
}

/** Tasks with the longest way to the end of the solve first: forward up to the root, backward down to the farthest
 *  leaf. */
static trine_status list_steps(const supernodal_structure *S, bool forward, tree_tasks *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    priority *order = NULL;
    const int direction = !forward;
    TRY(ALLOC(ctx, order, out->n_tasks));
    TRY(CALLOC(ctx, out->task_steps[direction], out->n_tasks));
    for (int32_t k = 0; k < out->n_tasks; k++) order[k] = (priority){0, k};
    for (int32_t i = 0; i < out->n_tasks; i++) {
        const int32_t k = forward ? (int32_t)out->n_tasks - 1 - i : i, parent = out->tasks[k].parent;
        if (forward && parent >= 0) order[k].way = order[parent].way;
        for (int32_t s = out->tasks[k].first; s < out->tasks[k].last; s++) order[k].way += panel_work(&S->panels[s]);
        if (!forward && parent >= 0 && order[k].way > order[parent].way) order[parent].way = order[k].way;
    }
    qsort(order, (size_t)out->n_tasks, sizeof *order, longest_way_first);
    for (int write = 0; write < 2; write++) {
        out->n_steps[direction] = 0;
        for (int32_t i = 0; i < out->n_tasks; i++) {
            const tree_task *task = &out->tasks[order[i].task];
            out->task_steps[direction][order[i].task] = 0;
            if (task->is_large) split_panel(&S->panels[task->first], order[i].task, forward, out);
            else add_step(out, direction, (tree_step){STEP_WHOLE, order[i].task, 0, 0, 0, 0, 0}, 0);
        }
        if (!write) TRY(ALLOC(ctx, out->steps[direction], out->n_steps[direction]));
    }
done:
    trine_free(ctx, TRINE_HOST, order);
    return status;
}

/** Work of all panels over that of the longest way from a leaf to a root, large panels shared by two threads: what
 *  threads can gain, asked for the same way whatever their number, so that the cut does not depend on it. way:
 *  cleared before. */
static double gain_of(const supernodal_structure *S, const int32_t *task_of, const int64_t *task_work, bool split,
                      int64_t *way)
{
    int64_t total = 0, longest = 0;
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        const bool last = p->parent < 0 || task_of[p->parent] != task_of[s]; /* of its task, or of a subtree of it */
        const int64_t own = panel_work(p);
        total += own;
        if (!last) continue;
        const int32_t k = task_of[s], parent = p->parent < 0 ? -1 : task_of[p->parent];
        const int64_t here = way[k] + (split && is_large(p) ? own / 2 : task_work[k]);
        if (here > longest) longest = here;
        if (parent >= 0 && here > way[parent]) way[parent] = here;
    }
    return longest ? (double)total / (double)longest : 1;
}

trine_status tree_tasks_build(supernodal_structure *S, int threads, bool split, tree_tasks *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    const int64_t m = S->n_panels;
    node *nodes = NULL;
    int64_t *task_work = NULL, *way = NULL, total = 0;
    int32_t *task_of = NULL, *out_rows = NULL, n_tasks;
    *out = (tree_tasks){.threads = threads};
    for (int64_t s = 0; s < m; s++) total += panel_work(&S->panels[s]);
    TRY(ALLOC(ctx, nodes, m + 1));
    TRY(ALLOC(ctx, task_work, m + 1));
    TRY(CALLOC(ctx, way, m + 1));
    TRY(ALLOC(ctx, task_of, m));
    for (bool again = true; again;) {
        again = false;
        for (int64_t s = 0; s <= m; s++) nodes[s] = (node){.group = -1};
        n_tasks =
            assign(S, out->threads > 1 ? total / PARTS : total, split && out->threads > 1, nodes, task_work, task_of);
        if (out->threads > 1 && gain_of(S, task_of, task_work, split, way) < least_gain) again = true, out->threads = 1;
    }
    split = split && out->threads > 1;
    TRY(number_tasks(S, n_tasks, task_of, out));
    for (int32_t k = 0; k < n_tasks; k++)
        out->tasks[k].is_large =
            split && out->tasks[k].last - out->tasks[k].first == 1 && is_large(&S->panels[out->tasks[k].first]);
    TRY(place_contributions(S, out, &out_rows));
    TRY(list_sums(S, out_rows, out));
    TRY(list_steps(S, true, out));
    TRY(list_steps(S, false, out));
done:
    trine_free(ctx, TRINE_HOST, nodes);
    trine_free(ctx, TRINE_HOST, task_work);
    trine_free(ctx, TRINE_HOST, way);
    trine_free(ctx, TRINE_HOST, task_of);
    trine_free(ctx, TRINE_HOST, out_rows);
    return status;
}

void tree_tasks_free(trine_context ctx, tree_tasks *tasks)
{
    trine_free(ctx, TRINE_HOST, tasks->tasks);
    trine_free(ctx, TRINE_HOST, tasks->places);
    trine_free(ctx, TRINE_HOST, tasks->own);
    trine_free(ctx, TRINE_HOST, tasks->sum_start);
    trine_free(ctx, TRINE_HOST, tasks->sum_places);
    for (int direction = 0; direction < 2; direction++) {
        trine_free(ctx, TRINE_HOST, tasks->steps[direction]);
        trine_free(ctx, TRINE_HOST, tasks->task_steps[direction]);
    }
    *tasks = (tree_tasks){0};
}
