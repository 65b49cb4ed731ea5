/* From a file's entries to a matrix: count, scatter, sort, sum. */
#include <string.h>

#include "matrix/entries.h"

#define TEMPLATE "matrix/entries.inc"
#include "core/each_dtype.h"

static void (*const scatter[])(const struct entries *, bool, int64_t *, int32_t *, void *) = TABLE(scatter);
static void (*const flip[])(int64_t, const int64_t *, const int32_t *, const void *, int64_t *, int32_t *, void *) = TABLE(flip);
static int64_t (*const sum_duplicates[])(int64_t, int64_t *, int32_t *, void *) = TABLE(sum_duplicates);
static void (*const make_up_values[])(int64_t, const int64_t *, const int32_t *, void *) = TABLE(make_up_values);

void entries_free(trine_context ctx, struct entries *e)
{
    trine_free(ctx, TRINE_HOST, e->rows);
    trine_free(ctx, TRINE_HOST, e->cols);
    trine_free(ctx, TRINE_HOST, e->values);
    *e = (struct entries){0};
}

/** Entries a row after expansion, as offsets. */
static int64_t count_rows(const struct entries *e, int64_t *offsets)
{
    const bool mirror = e->symmetry != TRINE_GENERAL;
    memset(offsets, 0, (size_t)(e->n_rows + 1) * sizeof *offsets);
    for (int64_t k = 0; k < e->count; k++) {
        offsets[e->rows[k] + 1]++;
        if (mirror && e->rows[k] != e->cols[k]) offsets[e->cols[k] + 1]++;
    }
    for (int64_t i = 0; i < e->n_rows; i++) offsets[i + 1] += offsets[i];
    return offsets[e->n_rows];
}

static void look_at_order(trine_matrix M, bool *sorted, bool *duplicates)
{
    *sorted = true;
    *duplicates = false;
    for (int64_t i = 0; i < M->n_rows; i++) {
        for (int64_t k = M->offsets[i] + 1; k < M->offsets[i + 1]; k++) {
            if (M->indices[k] < M->indices[k - 1]) *sorted = false;
            if (M->indices[k] == M->indices[k - 1]) *duplicates = true;
        }
    }
}

/** Sort the rows of M, and own_values with them if there are any: to columns and back. */
static trine_status sort_rows(trine_matrix M, void *own_values)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = M->ctx;
    int64_t *offsets = NULL, *next = NULL;
    int32_t *indices = NULL;
    void *values = NULL;
    const int64_t longest = M->n_rows > M->n_cols ? M->n_rows : M->n_cols;
    TRY(CALLOC(ctx, offsets, M->n_cols + 1));
    TRY(ALLOC(ctx, next, longest + 1));
    TRY(ALLOC(ctx, indices, M->nnz));
    if (own_values) {
        values = trine_host_alloc(ctx, M->nnz, trine_dtype_size(M->dtype));
        if (!values) TRY(TRINE_ERR_MEMORY);
    }
    for (int64_t k = 0; k < M->nnz; k++) offsets[M->indices[k] + 1]++;
    for (int64_t j = 0; j < M->n_cols; j++) offsets[j + 1] += offsets[j];
    memcpy(next, offsets, (size_t)(M->n_cols + 1) * sizeof *next);
    flip[M->dtype](M->n_rows, M->offsets, M->indices, own_values, next, indices, values);
    memcpy(next, M->offsets, (size_t)(M->n_rows + 1) * sizeof *next);
    flip[M->dtype](M->n_cols, offsets, indices, values, next, M->indices, own_values);
done:
    trine_free(ctx, TRINE_HOST, offsets);
    trine_free(ctx, TRINE_HOST, next);
    trine_free(ctx, TRINE_HOST, indices);
    trine_free(ctx, TRINE_HOST, values);
    return status;
}

trine_status entries_to_matrix(trine_context ctx, trine_matrix *A, trine_dtype t, const struct entries *e, const char *path)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *next = NULL;
    const bool mirror = e->symmetry != TRINE_GENERAL;
    bool sorted, duplicates;
    *A = NULL;
    TRY(ALLOC(ctx, next, e->n_rows + 1));
    const int64_t nnz = count_rows(e, next);
    TRY(matrix_new(ctx, A, TRINE_CSR, t, e->n_rows, e->n_cols, nnz, true));
    trine_matrix M = *A;
    memcpy(M->offsets, next, (size_t)(e->n_rows + 1) * sizeof *next);
    /* the triangle left of the diagonal first: rows of a file sorted by columns or rows come out sorted */
    if (mirror && e->upper) scatter[t](e, true, next, M->indices, M->values);
    scatter[t](e, false, next, M->indices, M->values);
    if (mirror && !e->upper) scatter[t](e, true, next, M->indices, M->values);
    look_at_order(M, &sorted, &duplicates);
    if (!sorted) {
        TRY(sort_rows(M, e->values ? M->values : NULL));
        look_at_order(M, &sorted, &duplicates);
    }
    if (duplicates) {
        M->nnz -= sum_duplicates[t](M->n_rows, M->offsets, M->indices, e->values ? M->values : NULL);
        trine_log(ctx, 1, "%s: %lld duplicate entries were added to others of the same place, %lld remain", path,
                  (long long)(nnz - M->nnz), (long long)M->nnz);
    }
    if (!e->values) make_up_values[t](M->n_rows, M->offsets, M->indices, M->values);
    M->made_up_values = !e->values;
    M->symmetry = e->symmetry;
done:
    trine_free(ctx, TRINE_HOST, next);
    if (status) trine_matrix_destroy(A);
    return status;
}
