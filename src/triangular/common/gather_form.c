/* Host analysis of a triangle: checks, gather form in solve order, level sets. All in linear time. */
#include <string.h>

#include "triangular/triangular.h"

/** Does entry (major i, minor j) belong to the strict triangle? */
static inline bool in_triangle(bool lower, int64_t i, int64_t j) { return lower ? j < i : j > i; }

trine_status triangle_set_uplo(trine_triangular plan, bool csr, bool before, bool behind)
{
    if (before && behind)
        return trine_fail(TRINE_ERR_STRUCTURE, "the matrix has entries in both triangles; say which one is meant (uplo)");
    plan->options.uplo = (csr ? behind : before) ? TRINE_UPPER : TRINE_LOWER;
    return TRINE_SUCCESS;
}

trine_status triangle_check_row(trine_triangular plan, const struct pattern *m, int64_t i, int64_t first, int64_t last, const int32_t *indices,
                                int32_t *seen, int64_t *nnz)
{
    const int64_t n = plan->base.n;
    const bool csr = m->csr;
    const char *row = csr ? "row" : "column", *column = csr ? "column" : "row";
    bool diagonal = false;
    if (first > last)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets fall from %lld to %lld at %s %lld", (long long)first, (long long)last, row, (long long)i);
    if (first < 0 || last > plan->nnz_matrix)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets %lld and %lld at %s %lld are outside 0..%lld", (long long)first, (long long)last, row,
                          (long long)i, (long long)plan->nnz_matrix);
    for (int64_t k = 0; k < last - first; k++) {
        const int64_t j = indices[k];
        if (j < 0 || j >= n)
            return trine_fail(TRINE_ERR_STRUCTURE, "%s index %lld in %s %lld is outside 0..%lld", column, (long long)j, row, (long long)i, (long long)(n - 1));
        if (seen[j] == i + 1)
            return trine_fail(TRINE_ERR_STRUCTURE, "%s %lld has two entries in %s %lld; sum duplicates first", row, (long long)i, column, (long long)j);
        seen[j] = (int32_t)(i + 1);
        if (j == i)
            diagonal = true;
        else if (in_triangle(m->lower_major, i, j))
            ++*nnz;
        else if (plan->options.other_triangle_is_error)
            return trine_fail(TRINE_ERR_STRUCTURE, "entry (%lld, %lld) is not in the %s triangle", (long long)(csr ? i : j), (long long)(csr ? j : i),
                              plan->options.uplo == TRINE_LOWER ? "lower" : "upper");
    }
    if (!diagonal && plan->options.diag == TRINE_NONUNIT)
        return trine_fail(TRINE_ERR_SINGULAR, "row %lld has no diagonal entry", (long long)i);
    return TRINE_SUCCESS;
}

trine_status triangle_check(trine_triangular plan, const struct pattern *m)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int32_t *seen = NULL; /* last compressed row that used this index, + 1 */
    int64_t nnz = 0;
    TRY(CALLOC(ctx, seen, plan->base.n));
    for (int64_t i = 0; i < plan->base.n; i++)
        TRY(triangle_check_row(plan, m, i, m->offsets[i], m->offsets[i + 1], m->indices + m->offsets[i], seen, &nnz));
    plan->info.nnz = nnz + plan->base.n;
done:
    trine_free(ctx, TRINE_HOST, seen);
    return status;
}

/* Natural solve order: position = row forward, n-1-row backward. */
trine_status triangle_analyse(trine_triangular plan, struct triangle *t, const struct pattern *m, bool transposed)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    const bool forward = transposed ? !m->lower_major : m->lower_major; /* what is solved is lower */
    const bool unit = plan->options.diag == TRINE_UNIT;
    t->n = n;
    t->nnz = plan->info.nnz - n;
    t->n_levels = -1;
    TRY(CALLOC(ctx, t->offsets, n + 1));
    TRY(ALLOC(ctx, t->columns, t->nnz));
    TRY(ALLOC(ctx, t->source, t->nnz));
    if (!unit) TRY(ALLOC(ctx, t->pivot_source, n));

    for (int64_t i = 0; i < n; i++)
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++) {
            const int64_t j = m->indices[k], row = transposed ? j : i, p = forward ? row : n - 1 - row;
            if (in_triangle(m->lower_major, i, j))
                t->offsets[p + 1]++;
            else if (j == i && !unit)
                t->pivot_source[p] = k;
        }
    for (int64_t p = 0; p < n; p++) t->offsets[p + 1] += t->offsets[p];

    /* Major indices are visited in solve order, so that scattered rows come out ascending in position; gathered rows are
     * read along or against their storage. offsets[p] runs to the end of row p and is shifted back afterwards. */
    for (int64_t q = 0; q < n; q++) {
        const int64_t i = forward ? q : n - 1 - q;
        const int64_t first = m->offsets[i], last = m->offsets[i + 1];
        for (int64_t s = first; s < last; s++) {
            const int64_t k = forward ? s : last - 1 - (s - first);
            const int64_t j = m->indices[k];
            if (!in_triangle(m->lower_major, i, j)) continue;
            const int64_t row = transposed ? j : i, column = transposed ? i : j;
            const int64_t at = t->offsets[forward ? row : n - 1 - row]++;
            t->columns[at] = (int32_t)(forward ? column : n - 1 - column);
            t->source[at] = k;
        }
    }
    memmove(t->offsets + 1, t->offsets, (size_t)n * sizeof *t->offsets);
    t->offsets[0] = 0;
    TRY(ALLOC(ctx, t->order, n));
    for (int64_t p = 0; p < n; p++) t->order[p] = (int32_t)(forward ? p : n - 1 - p);
done:
    return status; /* what was allocated so far goes with the plan */
}

/** level[p] of every position in natural order, and how many levels. */
static int64_t count_levels(const struct triangle *t, int32_t *level)
{
    int32_t n_levels = 0;
    for (int64_t p = 0; p < t->n; p++) {
        int32_t l = 0;
        for (int64_t k = t->offsets[p]; k < t->offsets[p + 1]; k++) {
            const int32_t below = level[t->columns[k]] + 1;
            if (below > l) l = below;
        }
        level[p] = l;
        if (l >= n_levels) n_levels = l + 1;
    }
    return n_levels;
}

/** Stable counting sort of 0..n-1 by level: starts (n_levels + 1) and the sorted list. */
static void sort_by_level(int64_t n, int64_t n_levels, const int32_t *level, int64_t *starts, int32_t *sorted)
{
    memset(starts, 0, (size_t)(n_levels + 1) * sizeof *starts);
    for (int64_t p = 0; p < n; p++) starts[level[p] + 1]++;
    for (int64_t l = 0; l < n_levels; l++) starts[l + 1] += starts[l];
    for (int64_t p = 0; p < n; p++) sorted[starts[level[p]]++] = (int32_t)p;
    memmove(starts + 1, starts, (size_t)n_levels * sizeof *starts);
    starts[0] = 0;
}

trine_status triangle_find_levels(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int32_t *level = NULL;
    TRY(ALLOC(ctx, level, t->n));
    t->n_levels = count_levels(t, level);
    TRY(ALLOC(ctx, t->level_offsets, t->n_levels + 1));
    TRY(ALLOC(ctx, t->by_level, t->n));
    sort_by_level(t->n, t->n_levels, level, t->level_offsets, t->by_level);
    t->min_rows_per_level = t->n;
    for (int64_t l = 0; l < t->n_levels; l++) {
        const int64_t rows = t->level_offsets[l + 1] - t->level_offsets[l];
        if (rows < t->min_rows_per_level) t->min_rows_per_level = rows;
        if (rows > t->max_rows_per_level) t->max_rows_per_level = rows;
    }
done:
    trine_free(ctx, TRINE_HOST, level);
    return status;
}

trine_status triangle_reorder(trine_triangular plan, struct triangle *t, const int32_t *sorted)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    struct triangle old = *t;
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

/** uplo from the first off-diagonal entries. */
static trine_status find_uplo(trine_triangular plan, const int64_t *offsets, const int32_t *indices, bool csr)
{
    bool before = false, behind = false;
    for (int64_t i = 0; i < plan->base.n && !(before && behind); i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            if (indices[k] < i) before = true;
            if (indices[k] > i) behind = true;
        }
    return triangle_set_uplo(plan, csr, before, behind);
}

trine_status host_analyse(trine_triangular plan, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info m;
    const int64_t *offsets;
    const int32_t *indices;
    trine_matrix_get_info(T, &m);
    trine_matrix_get_arrays(T, &offsets, &indices, NULL);
    const bool csr = m.format == TRINE_CSR;
    TRY(trine_matrix_check(T, 0));
    if (plan->options.uplo == TRINE_UPLO_AUTO) TRY(find_uplo(plan, offsets, indices, csr));
    const struct pattern pattern = {offsets, indices, csr, csr == (plan->options.uplo == TRINE_LOWER)};
    TRY(triangle_check(plan, &pattern));
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        TRY(triangle_analyse(plan, &plan->side[side], &pattern, csr != (side == SIDE_N))); /* across the compressed rows: transposed */
        TRY(plan->backend->prepare(plan, &plan->side[side]));
    }
done:
    return status;
}

void triangle_free(trine_triangular plan, struct triangle *t)
{
    trine_context ctx = plan->base.ctx;
    trine_free(ctx, TRINE_HOST, t->offsets);
    trine_free(ctx, TRINE_HOST, t->columns);
    trine_free(ctx, TRINE_HOST, t->order);
    trine_free(ctx, TRINE_HOST, t->source);
    trine_free(ctx, TRINE_HOST, t->pivot_source);
    trine_free(ctx, TRINE_HOST, t->level_offsets);
    trine_free(ctx, TRINE_HOST, t->by_level);
    trine_free(ctx, TRINE_HOST, t->nested);
    trine_free(ctx, TRINE_HOST, t->kinds);
    trine_free(ctx, TRINE_HOST, t->values);
    trine_free(ctx, TRINE_HOST, t->pivots);
    memset(t, 0, sizeof *t);
}

trine_status trine_level_sets(trine_context ctx, trine_matrix T, trine_uplo uplo, int64_t *n_levels, int64_t *level_offsets,
                              int32_t *rows, int32_t *level_of)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    REQUIRE(n_levels && level_offsets, "n_levels or level_offsets is NULL");
    REQUIRE(uplo == TRINE_LOWER || uplo == TRINE_UPPER, "uplo must say lower or upper");
    trine_matrix_info info;
    trine_matrix_get_info(T, &info);
    REQUIRE(info.n_rows == info.n_cols, "the matrix is %lld x %lld, not square", (long long)info.n_rows, (long long)info.n_cols);
    REQUIRE(info.space == TRINE_HOST, "the matrix is in device memory; copy it to the host first");

    trine_status status = TRINE_SUCCESS;
    int32_t *level = level_of, *own_level = NULL, *own_rows = NULL;
    const int64_t n = info.n_rows, *offsets;
    const int32_t *indices;
    trine_matrix_get_arrays(T, &offsets, &indices, NULL);
    TRY(trine_matrix_check(T, 0));
    if (!level) {
        TRY(ALLOC(ctx, own_level, n));
        level = own_level;
    }
    if (!rows) {
        TRY(ALLOC(ctx, own_rows, n));
        rows = own_rows;
    }
    memset(level, 0, (size_t)n * sizeof *level);
    /* In CSR a row takes the maximum of the rows it needs; in CSC a column, once final, raises the rows that need it. */
    const bool forward = uplo == TRINE_LOWER, csr = info.format == TRINE_CSR;
    int32_t highest = -1;
    for (int64_t q = 0; q < n; q++) {
        const int64_t i = forward ? q : n - 1 - q;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t j = indices[k];
            if (csr && in_triangle(forward, i, j) && level[j] >= level[i]) level[i] = level[j] + 1;
            if (!csr && in_triangle(!forward, i, j) && level[i] >= level[j]) level[j] = level[i] + 1;
        }
        if (level[i] > highest) highest = level[i];
    }
    *n_levels = highest + 1;
    sort_by_level(n, *n_levels, level, level_offsets, rows);
done:
    trine_free(ctx, TRINE_HOST, own_level);
    trine_free(ctx, TRINE_HOST, own_rows);
    return status;
}
