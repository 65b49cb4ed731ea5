/* Which levels are solved together, and where the rows of their inverses have entries. */
#include "triangular/common/partition.h"

#include "triangular/common/costs.h"

#include <string.h>

/* ---------------------------------------------- a set that comes out sorted */

/** Positions as bits, and over every 64 words of bits a word of which are not zero, up to one word: adding takes a
 *  step or two, and emptying the set in ascending order a step an element. */
enum { MOST_DEPTH = 6 };
struct sorted_set {
    int depth;
    uint64_t *words[MOST_DEPTH];
};

static trine_status set_make(trine_context ctx, int64_t n, struct sorted_set *set)
{
    trine_status status = TRINE_SUCCESS;
    int64_t words = n;
    do {
        words = (words + 63) / 64;
        TRY(CALLOC(ctx, set->words[set->depth], words));
        set->depth++;
    } while (words > 1);
done:
    return status;
}
static void set_free(trine_context ctx, struct sorted_set *set)
{
    for (int d = 0; d < MOST_DEPTH; d++) trine_free(ctx, TRINE_HOST, set->words[d]);
}
static inline void set_add(struct sorted_set *set, int64_t element)
{
    for (int d = 0; d < set->depth; d++) {
        uint64_t *const word = &set->words[d][element / 64], before = *word;
        *word |= UINT64_C(1) << element % 64;
        if (before) return;
        element /= 64;
    }
}
/** The elements below word `index` of a depth go to *out; the set is without them afterwards. */
static int32_t *set_empty(struct sorted_set *set, int depth, int64_t index, int32_t *out)
{
    uint64_t bits = set->words[depth][index];
    set->words[depth][index] = 0;
    for (; bits; bits &= bits - 1) {
        const int64_t element = 64 * index + __builtin_ctzll(bits);
        if (depth) out = set_empty(set, depth - 1, element, out);
        else *out++ = (int32_t)element;
    }
    return out;
}

/* ------------------------------------------------------------------ groups */

struct maker {
    trine_triangular plan;
    trine_context ctx;
    const struct gather_form *t;
    struct partition *out;
    struct sorted_set set;
    int64_t room; /* for columns */
};

/** Room for `entries` columns. */
static trine_status make_room(struct maker *m, int64_t entries)
{
    trine_status status = TRINE_SUCCESS;
    if (entries > m->room) {
        const int64_t room = entries + entries / 2 + 1024;
        int32_t *columns;
        TRY(ALLOC(m->ctx, columns, room));
        if (m->room) memcpy(columns, m->out->columns, (size_t)m->room * sizeof *columns);
        trine_free(m->ctx, TRINE_HOST, m->out->columns);
        m->out->columns = columns;
        m->room = room;
    }
done:
    return status;
}

/** Row p of a group that begins at position `start`; the rows before it are there. */
static trine_status add_row(struct maker *m, int64_t start, int64_t p)
{
    trine_status status = TRINE_SUCCESS;
    const struct gather_form *t = m->t;
    struct partition *out = m->out;
    const int64_t first = out->offsets[p];
    int64_t most = 1 + t->offsets[p + 1] - t->offsets[p], k;
    for (k = t->offsets[p]; k < t->offsets[p + 1]; k++) {
        const int64_t c = t->columns[k];
        if (c >= start) most += out->offsets[c + 1] - out->offsets[c];
    }
    TRY(make_room(m, first + (most < p + 1 ? most : p + 1)));
    for (k = t->offsets[p]; k < t->offsets[p + 1]; k++) {
        const int64_t c = t->columns[k];
        if (c < start) set_add(&m->set, c);
        else
            for (int64_t i = out->offsets[c]; i < out->offsets[c + 1]; i++) set_add(&m->set, out->columns[i]);
    }
    set_add(&m->set, p);
    out->offsets[p + 1] = set_empty(&m->set, m->set.depth - 1, 0, out->columns + first) - out->columns;
    for (k = out->offsets[p + 1]; k > first && out->columns[k - 1] >= start;) k--;
    out->middle[p] = k;
done:
    return status;
}

/** Rows first .. end - 1, or as many of them as take no more than `most` entries: *complete. */
static trine_status add_rows(struct maker *m, int64_t start, int64_t first, int64_t end, int64_t most, bool *complete)
{
    trine_status status = TRINE_SUCCESS;
    *complete = true;
    for (int64_t p = first; p < end && *complete; p++) {
        TRY(add_row(m, start, p));
        *complete = m->out->offsets[p + 1] - m->out->offsets[first] <= most;
    }
done:
    return status;
}

static int64_t longest_row(const struct partition *part, int64_t first, int64_t end, int64_t least)
{
    int64_t longest = least;
    for (int64_t p = first; p < end; p++)
        if (part->offsets[p + 1] - part->offsets[p] > longest) longest = part->offsets[p + 1] - part->offsets[p];
    return longest;
}

/** Is there a row whose values take too long? For every entry of its own in the group, whose first row is `start`, a
 *  row of as many entries as its own is added. Such a row begins a group. */
static bool has_broad_row(const struct maker *m, int64_t start, int64_t first, int64_t end)
{
    static const int64_t most = INT64_C(1) << 20; /* as BROAD_ROW in cuda/merge_groups.cuh */
    const struct gather_form *t = m->t;
    const int64_t *own = t->offsets, *all = m->out->offsets;
    for (int64_t p = first; p < end; p++) {
        const int64_t entries = all[p + 1] - all[p];
        int64_t in_group = 0;
        if ((own[p + 1] - own[p]) * entries <= most) continue;
        for (int64_t k = own[p]; k < own[p + 1]; k++) in_group += t->columns[k] >= start;
        if (in_group * entries > most) return true;
    }
    return false;
}

/** Whether the levels before level l are going to take longer than the plan may: what they take already; or, with a
 *  part of the levels done that tells something, what all levels are going to take if it goes on like this. */
static bool is_too_slow(const struct maker *m, const struct level_sets *levels, int64_t l)
{
    enum { TELLING = 8 };
    const trine_triangular plan = m->plan;
    const struct gather_form *t = m->t;
    const int64_t rows = levels->offsets[l], own = t->offsets[rows] + rows, all = t->nnz + t->n;
    const bool tells = TELLING * l >= levels->count && TELLING * own >= all;
    const double of_levels = tells ? (double)levels->count / (double)l : 1,
                 of_own = tells ? (double)all / (double)own : 1;
    trine_triangular_prediction p = {0};
    if (!(plan->most_seconds > 0) || !l) return false;
    costs_add_inverse(plan,
                      &(struct inverse_extent){.n = t->n,
                                               .nnz = all,
                                               .levels = levels->count,
                                               .steps = (int64_t)(of_levels * (double)m->out->n_groups),
                                               .entries = (int64_t)(of_own * (double)m->out->offsets[rows])},
                      &p);
    return costs_total(&p, 1, plan->solves) > plan->most_seconds * (tells ? 2 : 1);
}

/** A group takes one more level as long as that adds less than what a level of the group costs on average, which is
 *  where the average is least if the entries of deeper levels grow. Memory is shared out along the triangle: up to
 *  every level the same part of the limit as of the triangle's entries. */
static trine_status make_groups(struct maker *m, const struct level_sets *levels, const struct partition_costs *costs)
{
    trine_status status = TRINE_SUCCESS;
    const struct gather_form *t = m->t;
    struct partition *out = m->out;
    const double slack = (double)costs->most_entries / (double)(t->nnz + t->n);
    double spent = costs->step; /* by the group, beyond the triangle's own entries */
    int64_t start = 0, depth = 0, longest = 0;
    for (int64_t l = 0; l < levels->count; l++) {
        const int64_t first = levels->offsets[l], end = levels->offsets[l + 1];
        const int64_t own = t->offsets[end] - t->offsets[first] + end - first;
        const double share = slack * (double)(t->offsets[end] + end) - (double)out->offsets[first];
        bool fits = true;
        if (is_too_slow(m, levels, l)) {
            m->plan->is_too_slow = true;
            goto done;
        }
        if (depth) {
            const double most = costs->levels ? share : (double)own + spent / (double)depth;
            fits = !costs->levels || depth < costs->levels;
            if (fits) TRY(add_rows(m, start, first, end, (int64_t)(most < share ? most : share), &fits));
            fits = fits && !has_broad_row(m, start, first, end);
        }
        if (depth && fits) {
            const int64_t longer = longest_row(out, first, end, longest);
            double added = (double)(out->offsets[end] - out->offsets[first] - own);
            added += costs->long_row * (double)(longer - longest);
            if (costs->levels || added <= spent / (double)depth) {
                spent += added;
                longest = longer;
                depth++;
                continue;
            }
        }
        start = first, depth = 1, spent = costs->step;
        out->bounds[out->n_groups++] = start;
        TRY(add_rows(m, start, first, end, INT64_MAX, &fits));
        longest = longest_row(out, first, end, costs->long_from);
    }
    out->bounds[out->n_groups] = t->n;
    out->entries = out->offsets[t->n];
done:
    return status;
}

trine_status partition_make(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                            const struct partition_costs *costs, struct partition *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    struct maker m = {.plan = plan, .ctx = ctx, .t = t, .out = out};
    TRY(ALLOC(ctx, out->bounds, levels->count + 1));
    TRY(CALLOC(ctx, out->offsets, t->n + 1));
    TRY(ALLOC(ctx, out->middle, t->n));
    TRY(set_make(ctx, t->n, &m.set));
    TRY(make_groups(&m, levels, costs));
done:
    set_free(ctx, &m.set);
    return status;
}

void partition_free(trine_context ctx, struct partition *p)
{
    trine_free(ctx, TRINE_HOST, p->bounds);
    trine_free(ctx, TRINE_HOST, p->offsets);
    trine_free(ctx, TRINE_HOST, p->middle);
    trine_free(ctx, TRINE_HOST, p->columns);
    memset(p, 0, sizeof *p);
}

/* ------------------------------------------------------------------ a side */

void partition_find_costs(trine_triangular plan, struct partition_costs *costs)
{
    const struct inverse_costs *c = &triangular_costs_of(plan)->inverse;
    const double entry = costs_of_next_entry(plan);
    *costs = (struct partition_costs){.step = c->next_step / entry,
                                      .long_row = c->long_row / entry,
                                      .long_from = c->long_from,
                                      .levels = plan->options.partition.levels};
}

trine_status partition_most_entries(trine_triangular plan, int64_t n, int64_t nnz, int64_t device, int64_t *entries)
{
    enum { TIMES_THE_TRIANGLE = 16, PART_OF_THE_DEVICE = 8 };
    static const int64_t least = INT64_C(256) << 20, most = INT64_C(1) << 50; /* sums of bytes stay in range */
    const int64_t entry = (int64_t)trine_dtype_size(plan->base.dtype) + (int64_t)sizeof(int32_t);
    const int64_t triangle = (nnz + n) * entry;
    int64_t bytes = plan->options.partition.memory;
    if (!bytes) {
        bytes = TIMES_THE_TRIANGLE * triangle > least ? TIMES_THE_TRIANGLE * triangle : least;
        if (device && bytes > device / PART_OF_THE_DEVICE) bytes = device / PART_OF_THE_DEVICE;
    }
    if (bytes > most) bytes = most;
    *entries = bytes / entry;
    if (bytes < triangle)
        return trine_fail(TRINE_ERR_MEMORY, "partitioned inverses of this triangle take %lld bytes at least, not %lld",
                          (long long)triangle, (long long)bytes);
    return TRINE_SUCCESS;
}

void partition_memory(trine_triangular plan, const struct triangular_extent *e, int64_t most_entries,
                      struct triangular_bytes *host)
{
    const int64_t n = e->n, structure = gather_form_bytes(e, plan->options.diag == TRINE_UNIT, true);
    const int64_t levels = (n + 1) * 12, set = n / 8 + n / 256 + 64 * MOST_DEPTH;
    /* make_room copies from one array into another, half as large again. A level that does not fit is there too: at
     * most as much again. */
    const int64_t columns = (3 * partition_full(n, most_entries) + 2048) * (int64_t)sizeof(int32_t);
    bytes_add(host, structure, 0);
    bytes_add(host, 0, levels + n * 4);
    bytes_add(host, 0, levels + gather_form_reorder_bytes(e));
    bytes_add(host, columns + (n + 1) * 24, 2 * columns + (n + 1) * 24 + levels + set);
}

trine_status partition_of_side(trine_triangular plan, const struct pattern *m, int side,
                               const struct partition_costs *costs, struct gather_form *t, struct partition *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    struct level_sets levels = {0};
    struct triangular_side *s = &plan->side[side];
    TRY(gather_form_build(plan, t, m, m->csr != (side == SIDE_N)));
    TRY(level_sets_find(ctx, t, true, &levels));
    level_sets_report(t->n, &levels, s);
    TRY(gather_form_reorder(ctx, t, levels.positions));
    TRY(partition_make(plan, t, &levels, costs, out));
    if (plan->is_too_slow) goto done;
    s->n_steps = out->n_groups;
    s->entries = out->entries;
    trine_log(ctx, 3, "triangular: %lld levels in %lld groups, %lld entries for %lld", (long long)levels.count,
              (long long)out->n_groups, (long long)out->entries, (long long)(t->nnz + t->n));
done:
    level_sets_free(ctx, &levels);
    return status;
}
