/* The gather form of a triangle, in solve order: made in linear time. */
#include "triangular/common/gather_form.h"

#include <string.h>

/** Entry k of T, in column j of the row at position p, which is n-1-row if a solve goes backward. */
static inline void put(struct gather_form *t, bool forward, int64_t at, int64_t k, int64_t j)
{
    t->columns[at] = (int32_t)(forward ? j : t->n - 1 - j);
    t->source[at] = k;
}

/** Along the compressed rows: one pass, along or against their storage. */
static void gather_rows(struct gather_form *t, const struct pattern *m, bool forward)
{
    int64_t at = 0;
    t->offsets[0] = 0;
    for (int64_t p = 0; p < t->n; p++) {
        const int64_t i = forward ? p : t->n - 1 - p, first = m->offsets[i], last = m->offsets[i + 1];
        for (int64_t s = first; s < last; s++) {
            const int64_t k = forward ? s : last - 1 - (s - first), j = m->indices[k];
            if (in_triangle(m->lower_major, i, j)) put(t, forward, at++, k, j);
            else if (j == i && t->pivot_source) t->pivot_source[p] = k;
        }
        t->offsets[p + 1] = at;
    }
}

/** Across the compressed rows. */
static void scatter_rows(struct gather_form *t, const struct pattern *m, bool forward)
{
    const int64_t n = t->n;
    memset(t->offsets, 0, (size_t)(n + 1) * sizeof *t->offsets);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++) {
            const int64_t j = m->indices[k], p = forward ? j : n - 1 - j;
            if (in_triangle(m->lower_major, i, j)) t->offsets[p + 1]++;
            else if (j == i && t->pivot_source) t->pivot_source[p] = k;
        }
    for (int64_t p = 0; p < n; p++) t->offsets[p + 1] += t->offsets[p];

    /* Major indices are visited in solve order, so that rows come out ascending in position. offsets[p] runs to the
     * end of row p and is shifted back afterwards. */
    for (int64_t q = 0; q < n; q++) {
        const int64_t i = forward ? q : n - 1 - q;
        const int64_t first = m->offsets[i], last = m->offsets[i + 1];
        for (int64_t s = first; s < last; s++) {
            const int64_t k = forward ? s : last - 1 - (s - first), j = m->indices[k];
            if (in_triangle(m->lower_major, i, j)) put(t, forward, t->offsets[forward ? j : n - 1 - j]++, k, i);
        }
    }
    memmove(t->offsets + 1, t->offsets, (size_t)n * sizeof *t->offsets);
    t->offsets[0] = 0;
}

/* Natural solve order: position = row forward, n-1-row backward. */
trine_status gather_form_build(trine_triangular plan, struct gather_form *t, const struct pattern *m, bool transposed)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    const bool forward = transposed ? !m->lower_major : m->lower_major; /* what is solved is lower */
    t->n = n;
    t->nnz = plan->info.nnz - n;
    TRY(ALLOC(ctx, t->offsets, n + 1));
    TRY(ALLOC(ctx, t->columns, t->nnz));
    TRY(ALLOC(ctx, t->source, t->nnz));
    if (plan->options.diag == TRINE_NONUNIT) TRY(ALLOC(ctx, t->pivot_source, n));
    (transposed ? scatter_rows : gather_rows)(t, m, forward);
    TRY(ALLOC(ctx, t->order, n));
    for (int64_t p = 0; p < n; p++) t->order[p] = (int32_t)(forward ? p : n - 1 - p);
done:
    return status;
}

trine_status gather_form_reorder(trine_context ctx, struct gather_form *t, const int32_t *sorted)
{
    trine_status status = TRINE_SUCCESS;
    struct gather_form old = *t;
    int32_t *position = NULL;
    t->offsets = NULL, t->columns = NULL, t->order = NULL, t->source = NULL, t->pivot_source = NULL;
    TRY(ALLOC(ctx, position, t->n));
    TRY(ALLOC(ctx, t->offsets, t->n + 1));
    TRY(ALLOC(ctx, t->columns, t->nnz));
    TRY(ALLOC(ctx, t->order, t->n));
    TRY(ALLOC(ctx, t->source, t->nnz));
    if (old.pivot_source) TRY(ALLOC(ctx, t->pivot_source, t->n));
    for (int64_t s = 0; s < t->n; s++) position[sorted[s]] = (int32_t)s;
    t->offsets[0] = 0;
    for (int64_t s = 0; s < t->n; s++) {
        const int64_t p = sorted[s];
        int64_t at = t->offsets[s];
        for (int64_t k = old.offsets[p]; k < old.offsets[p + 1]; k++, at++) {
            t->columns[at] = position[old.columns[k]];
            t->source[at] = old.source[k];
        }
        t->offsets[s + 1] = at;
        t->order[s] = old.order[p];
        if (old.pivot_source) t->pivot_source[s] = old.pivot_source[p];
    }
done:
    trine_free(ctx, TRINE_HOST, position);
    trine_free(ctx, TRINE_HOST, old.offsets);
    trine_free(ctx, TRINE_HOST, old.columns);
    trine_free(ctx, TRINE_HOST, old.order);
    trine_free(ctx, TRINE_HOST, old.source);
    trine_free(ctx, TRINE_HOST, old.pivot_source);
    return status;
}

void gather_form_free(trine_context ctx, struct gather_form *t)
{
    trine_free(ctx, TRINE_HOST, t->offsets);
    trine_free(ctx, TRINE_HOST, t->columns);
    trine_free(ctx, TRINE_HOST, t->order);
    trine_free(ctx, TRINE_HOST, t->source);
    trine_free(ctx, TRINE_HOST, t->pivot_source);
    memset(t, 0, sizeof *t);
}
