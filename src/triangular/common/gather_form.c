/* The gather form of a triangle, in solve order: made in linear time. */
#include "triangular/common/gather_form.h"

#include <string.h>

#include "core/scalar.h"
#include "core/test_places.h"

static int64_t most_narrow = INT64_C(1) << 32; /* entries of T, whose places have 32 bits */

void trine_triangular_narrow(int64_t entries) { most_narrow = entries ? entries : INT64_C(1) << 32; }

static int64_t place_bytes(int64_t nnz_matrix) { return nnz_matrix > most_narrow ? 8 : 4; }

/** Whether a row's place takes less than those of its entries. */
static bool rows_take_less(int64_t n, int64_t nnz) { return nnz > 2 * n; }

int64_t gather_form_bytes(const struct triangular_extent *e, bool unit, bool transposed)
{
    const int64_t n = e->n, nnz = e->nnz;
    const bool by_rows = !transposed && e->ascending && rows_take_less(n, nnz);
    const int64_t places = by_rows ? (n + 1) * 8 : (nnz + 1) * place_bytes(e->nnz_matrix);
    return (n + 1) * 8 + (nnz + 1) * 4 + places + (unit ? 0 : (n + 1) * 8) + (n + 1) * 4;
}

int64_t gather_form_reorder_bytes(const struct triangular_extent *e)
{
    const int64_t entries = (e->nnz + 1) * place_bytes(e->nnz_matrix), rows = (e->n + 1) * 16;
    return entries > rows ? entries : rows;
}

/** With row_source: of the form's entry k, in row p, its place among T's. */
static inline int64_t place_in_row(const struct gather_form *t, int64_t p, int64_t k)
{
    return t->row_source[p] + t->row_step * (k - t->offsets[p]);
}

/** Entry k of T, in column j of the row at position p, which is n-1-row if a solve goes backward. */
static inline void put(struct gather_form *t, bool forward, int64_t at, int64_t k, int64_t j)
{
    t->columns[at] = (int32_t)(forward ? j : t->n - 1 - j);
    if (t->source) t->source[at] = (uint32_t)k;
    else if (t->wide_source) t->wide_source[at] = k;
}

/** Along the compressed rows: one pass, along or against their storage. False: with row_source, of a row whose
 *  entries do not lie side by side. */
static bool gather_rows(struct gather_form *t, const struct pattern *m, bool forward)
{
    int64_t at = 0;
    t->offsets[0] = 0;
    for (int64_t p = 0; p < t->n; p++) {
        const int64_t i = forward ? p : t->n - 1 - p, first = m->offsets[i], last = m->offsets[i + 1];
        for (int64_t s = first; s < last; s++) {
            const int64_t k = forward ? s : last - 1 - (s - first), j = m->indices[k];
            if (in_triangle(m->lower_major, i, j)) {
                if (t->row_source && at == t->offsets[p]) t->row_source[p] = k;
                if (t->row_source && place_in_row(t, p, at) != k) return false;
                put(t, forward, at++, k, j);
            } else if (j == i && t->pivot_source) {
                t->pivot_source[p] = k;
            }
        }
        t->offsets[p + 1] = at;
    }
    return true;
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

/** A place for every entry. */
static trine_status make_places(trine_context ctx, struct gather_form *t, int64_t nnz_matrix)
{
    trine_status status = TRINE_SUCCESS;
    if (place_bytes(nnz_matrix) == 8) TRY(ALLOC(ctx, t->wide_source, t->nnz));
    else TRY(ALLOC(ctx, t->source, t->nnz));
done:
    return status;
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
    t->row_step = forward ? 1 : -1;
    if (plan->options.diag == TRINE_NONUNIT) TRY(ALLOC(ctx, t->pivot_source, n));
    const bool by_rows = !transposed && rows_take_less(n, t->nnz);
    if (by_rows) TRY(ALLOC(ctx, t->row_source, n));
    if (!by_rows || !gather_rows(t, m, forward)) {
        trine_free(ctx, TRINE_HOST, t->row_source);
        t->row_source = NULL;
        TRY(make_places(ctx, t, plan->nnz_matrix));
        if (transposed) scatter_rows(t, m, forward);
        else gather_rows(t, m, forward);
    }
    TRY(ALLOC(ctx, t->order, n));
    for (int64_t p = 0; p < n; p++) t->order[p] = (int32_t)(forward ? p : n - 1 - p);
done:
    return status;
}

/** In place of *held, if it is there: its elements of `size` bytes, those of rows in the new order. offsets: of the
 *  form before, for an element an entry; NULL: for an element a row. */
static trine_status reorder(trine_context ctx, const struct gather_form *t, const int64_t *offsets,
                            const int32_t *sorted, size_t size, void **held)
{
    trine_status status = TRINE_SUCCESS;
    char *to, *at;
    if (!*held) return TRINE_SUCCESS;
    TRY((to = at = trine_host_alloc(ctx, offsets ? t->nnz : t->n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    for (int64_t s = 0; s < t->n; s++) {
        const int64_t p = sorted[s], first = offsets ? offsets[p] : p, last = offsets ? offsets[p + 1] : p + 1;
        if (last > first) memcpy(at, (const char *)*held + (size_t)first * size, (size_t)(last - first) * size);
        at += (size_t)(last - first) * size;
    }
    trine_free(ctx, TRINE_HOST, *held);
    *held = to;
done:
    return status;
}

/* One array after another, so that few are there twice. */
trine_status gather_form_reorder(trine_context ctx, struct gather_form *t, const int32_t *sorted)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *position = NULL;
    int64_t *old = t->offsets;
    t->offsets = NULL;
    TRY(ALLOC(ctx, position, t->n));
    for (int64_t s = 0; s < t->n; s++) position[sorted[s]] = (int32_t)s;
    for (int64_t k = 0; k < t->nnz; k++) t->columns[k] = position[t->columns[k]];
    trine_free(ctx, TRINE_HOST, position);
    position = NULL;
    TRY(reorder(ctx, t, old, sorted, sizeof *t->columns, (void **)&t->columns));
    TRY(reorder(ctx, t, old, sorted, sizeof *t->source, (void **)&t->source));
    TRY(reorder(ctx, t, old, sorted, sizeof *t->wide_source, (void **)&t->wide_source));
    TRY(ALLOC(ctx, t->offsets, t->n + 1));
    t->offsets[0] = 0;
    for (int64_t s = 0; s < t->n; s++) t->offsets[s + 1] = t->offsets[s] + old[sorted[s] + 1] - old[sorted[s]];
    TRY(reorder(ctx, t, NULL, sorted, sizeof *t->order, (void **)&t->order));
    TRY(reorder(ctx, t, NULL, sorted, sizeof *t->row_source, (void **)&t->row_source));
    TRY(reorder(ctx, t, NULL, sorted, sizeof *t->pivot_source, (void **)&t->pivot_source));
done:
    trine_free(ctx, TRINE_HOST, position);
    trine_free(ctx, TRINE_HOST, old);
    return status;
}

/** The row of entry k < nnz. */
static int64_t row_of(const struct gather_form *t, int64_t k)
{
    int64_t first = 0, last = t->n; /* it is from the first on, and before the last */
    while (last - first > 1) {
        const int64_t middle = first + (last - first) / 2;
        *(t->offsets[middle] <= k ? &first : &last) = middle;
    }
    return first;
}

/** size: known at compile time. */
INLINE_ALWAYS void take(const struct gather_form *t, int64_t begin, int64_t end, const size_t size, const char *from,
                        char *to)
{
    if (t->source)
        for (int64_t k = begin; k < end; k++) memcpy(to + (size_t)k * size, from + (size_t)t->source[k] * size, size);
    if (t->wide_source)
        for (int64_t k = begin; k < end; k++)
            memcpy(to + (size_t)k * size, from + (size_t)t->wide_source[k] * size, size);
    if (!t->row_source || begin >= end) return;
    for (int64_t p = row_of(t, begin), k = begin; k < end; p++) {
        const int64_t last = t->offsets[p + 1] < end ? t->offsets[p + 1] : end;
        for (int64_t place = place_in_row(t, p, k); k < last; k++, place += t->row_step)
            memcpy(to + (size_t)k * size, from + (size_t)place * size, size);
    }
}

void gather_form_span(const struct gather_form *t, int64_t begin, int64_t end, int64_t *first, int64_t *last)
{
    const int64_t a = place_in_row(t, row_of(t, begin), begin), b = place_in_row(t, row_of(t, end - 1), end - 1);
    *first = a < b ? a : b;
    *last = (a < b ? b : a) + 1;
}

void gather_form_take(const struct gather_form *t, int64_t begin, int64_t end, size_t size, const void *from, void *to)
{
    switch (size) {
    case 4: take(t, begin, end, 4, from, to); break;
    case 8: take(t, begin, end, 8, from, to); break;
    default: take(t, begin, end, 16, from, to);
    }
}

void gather_form_free(trine_context ctx, struct gather_form *t)
{
    trine_free(ctx, TRINE_HOST, t->offsets);
    trine_free(ctx, TRINE_HOST, t->columns);
    trine_free(ctx, TRINE_HOST, t->order);
    trine_free(ctx, TRINE_HOST, t->row_source);
    trine_free(ctx, TRINE_HOST, t->source);
    trine_free(ctx, TRINE_HOST, t->wide_source);
    trine_free(ctx, TRINE_HOST, t->pivot_source);
    memset(t, 0, sizeof *t);
}
