/* Level sets: rows that depend on earlier levels only. In linear time. */
#include "triangular/common/levels.h"

#include <string.h>

#include "triangular/common/pattern.h"

/** level[p] of every position in natural order, and how many levels. */
static int64_t count_levels(const struct gather_form *t, int32_t *level)
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

/** Where levels begin in a list by level: n_levels + 1 starts. */
static void count_rows(int64_t n, int64_t n_levels, const int32_t *level, int64_t *starts)
{
    memset(starts, 0, (size_t)(n_levels + 1) * sizeof *starts);
    for (int64_t p = 0; p < n; p++) starts[level[p] + 1]++;
    for (int64_t l = 0; l < n_levels; l++) starts[l + 1] += starts[l];
}

/** Stable counting sort of 0..n-1 by level, from its starts. */
static void sort_by_level(int64_t n, int64_t n_levels, const int32_t *level, int64_t *starts, int32_t *sorted)
{
    for (int64_t p = 0; p < n; p++) sorted[starts[level[p]]++] = (int32_t)p;
    memmove(starts + 1, starts, (size_t)n_levels * sizeof *starts);
    starts[0] = 0;
}

trine_status level_sets_find(trine_context ctx, const struct gather_form *t, bool sorted, struct level_sets *out)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *level = NULL;
    TRY(ALLOC(ctx, level, t->n));
    out->count = count_levels(t, level);
    TRY(ALLOC(ctx, out->offsets, out->count + 1));
    count_rows(t->n, out->count, level, out->offsets);
    if (sorted) {
        TRY(ALLOC(ctx, out->positions, t->n));
        sort_by_level(t->n, out->count, level, out->offsets, out->positions);
    }
done:
    trine_free(ctx, TRINE_HOST, level);
    return status;
}

void level_sets_report(int64_t n, const struct level_sets *levels, struct triangular_side *side)
{
    side->n_levels = levels->count;
    side->min_rows_per_level = n;
    side->max_rows_per_level = 0;
    for (int64_t l = 0; l < levels->count; l++) {
        const int64_t rows = levels->offsets[l + 1] - levels->offsets[l];
        if (rows < side->min_rows_per_level) side->min_rows_per_level = rows;
        if (rows > side->max_rows_per_level) side->max_rows_per_level = rows;
    }
}

void level_sets_free(trine_context ctx, struct level_sets *l)
{
    trine_free(ctx, TRINE_HOST, l->offsets);
    trine_free(ctx, TRINE_HOST, l->positions);
    memset(l, 0, sizeof *l);
}

trine_status trine_level_sets(trine_context ctx, trine_matrix T, trine_uplo uplo, int64_t *n_levels,
                              int64_t *level_offsets, int32_t *rows, int32_t *level_of)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    REQUIRE(n_levels && level_offsets, "n_levels or level_offsets is NULL");
    REQUIRE(uplo == TRINE_LOWER || uplo == TRINE_UPPER, "uplo must say lower or upper");
    trine_matrix_info info;
    trine_matrix_get_info(T, &info);
    REQUIRE(info.n_rows == info.n_cols, "the matrix is %lld x %lld, not square", (long long)info.n_rows,
            (long long)info.n_cols);
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
    /* In CSR a row takes the maximum of the rows it needs; in CSC a column, once final, raises the rows that need
     * it. */
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
    count_rows(n, *n_levels, level, level_offsets);
    sort_by_level(n, *n_levels, level, level_offsets, rows);
done:
    trine_free(ctx, TRINE_HOST, own_level);
    trine_free(ctx, TRINE_HOST, own_rows);
    return status;
}
