/* Patterns of incomplete factors. */
#include <string.h>

#include "precond/ilu/ilu.h"

trine_status ilu_pattern_allocate(trine_context ctx, int64_t n, int64_t nnz, struct ilu_pattern *out)
{
    trine_status status = TRINE_SUCCESS;
    out->n = n;
    out->nnz = nnz;
    TRY(CALLOC(ctx, out->offsets, n + 1));
    TRY(ALLOC(ctx, out->columns, nnz));
    TRY(ALLOC(ctx, out->diagonal, n));
done:
    return status;
}

void ilu_pattern_free(trine_context ctx, struct ilu_pattern *p)
{
    if (!p->is_lent) {
        trine_free(ctx, TRINE_HOST, p->offsets);
        trine_free(ctx, TRINE_HOST, p->columns);
        trine_free(ctx, TRINE_HOST, p->diagonal);
        trine_free(ctx, TRINE_HOST, p->source);
    }
    memset(p, 0, sizeof *p);
}

trine_status ilu_grow(trine_context ctx, void **array, int64_t count, int64_t room, size_t size)
{
    void *larger = trine_host_alloc(ctx, room, size);
    if (!larger) return TRINE_ERR_MEMORY;
    memcpy(larger, *array, (size_t)count * size);
    trine_free(ctx, TRINE_HOST, *array);
    *array = larger;
    return TRINE_SUCCESS;
}

trine_status ilu_pattern_lower(trine_context ctx, const struct ilu_pattern *a, struct ilu_pattern *out)
{
    trine_status status = TRINE_SUCCESS;
    int64_t nnz = 0;
    for (int64_t i = 0; i < a->n; i++) nnz += a->diagonal[i] + 1 - a->offsets[i];
    TRY(ilu_pattern_allocate(ctx, a->n, nnz, out));
    TRY(ALLOC(ctx, out->source, nnz));
    for (int64_t i = 0, to = 0; i < a->n; i++) {
        for (int64_t k = a->offsets[i]; k <= a->diagonal[i]; k++, to++) {
            out->columns[to] = a->columns[k];
            out->source[to] = a->source ? a->source[k] : k;
        }
        out->diagonal[i] = to - 1;
        out->offsets[i + 1] = to;
    }
done:
    if (status) ilu_pattern_free(ctx, out);
    return status;
}

/* ------------------------------------------------------------------- ILU(k) */

/** The row that is being made: a list of its columns, ascending, from next[n] on to n. */
struct open_row {
    int32_t *next;   /* n + 1 */
    int32_t *level;  /* n: -1 for columns that the row does not have */
    int64_t *source; /* n */
};

/** Put a column that the row does not have behind `before`, a column before it (n: the list's head). */
static int32_t insert(struct open_row *row, int32_t before, int32_t column, int32_t level, int64_t source)
{
    while (row->next[before] < column) before = row->next[before];
    row->next[column] = row->next[before];
    row->next[before] = column;
    row->level[column] = level;
    row->source[column] = source;
    return column;
}

/** Fill from all earlier rows that the open one has an entry of L for. levels: of entries that are finished. */
static void fill_row(const struct ilu_pattern *p, const int32_t *levels, int most, int64_t i, struct open_row *row)
{
    for (int32_t k = row->next[p->n]; k < i; k = row->next[k]) {
        int32_t before = k;
        for (int64_t m = p->diagonal[k] + 1; m < p->offsets[k + 1]; m++) {
            const int32_t j = p->columns[m];
            const int64_t level = (int64_t)row->level[k] + levels[m] + 1;
            if (level > most) continue;
            if (row->level[j] < 0) before = insert(row, before, j, (int32_t)level, -1);
            else if (level < row->level[j]) row->level[j] = (int32_t)level;
        }
    }
}

trine_status ilu_pattern_fill(trine_context ctx, const struct ilu_pattern *a, int level, struct ilu_pattern *out)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = a->n;
    int64_t room = a->nnz, count = 0;
    int32_t *levels = NULL;
    struct open_row row = {0};
    TRY(ilu_pattern_allocate(ctx, n, room, out));
    TRY(ALLOC(ctx, out->source, room));
    TRY(ALLOC(ctx, levels, room));
    TRY(ALLOC(ctx, row.next, n + 1));
    TRY(ALLOC(ctx, row.level, n));
    TRY(ALLOC(ctx, row.source, n));
    for (int64_t j = 0; j < n; j++) row.level[j] = -1;
    for (int64_t i = 0; i < n; i++) {
        row.next[n] = (int32_t)n;
        int32_t before = (int32_t)n;
        for (int64_t k = a->offsets[i]; k < a->offsets[i + 1]; k++)
            before = insert(&row, before, a->columns[k], 0, a->source ? a->source[k] : k);
        fill_row(out, levels, level, i, &row);
        for (int32_t j = row.next[n]; j < n; j = row.next[j]) {
            if (count == room) {
                const int64_t more = 2 * room + 1;
                TRY(ilu_grow(ctx, (void **)&levels, room, more, sizeof *levels));
                TRY(ilu_grow(ctx, (void **)&out->columns, room, more, sizeof *out->columns));
                TRY(ilu_grow(ctx, (void **)&out->source, room, more, sizeof *out->source));
                room = more;
            }
            if (j == i) out->diagonal[i] = count;
            out->columns[count] = j;
            out->source[count] = row.source[j];
            levels[count++] = row.level[j];
            row.level[j] = -1;
        }
        out->offsets[i + 1] = count;
    }
    out->nnz = count;
done:
    trine_free(ctx, TRINE_HOST, levels);
    trine_free(ctx, TRINE_HOST, row.next);
    trine_free(ctx, TRINE_HOST, row.level);
    trine_free(ctx, TRINE_HOST, row.source);
    if (status) ilu_pattern_free(ctx, out);
    return status;
}
