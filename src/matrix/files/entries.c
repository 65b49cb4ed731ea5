/* From a file's entries to a matrix: count, scatter, sort and sum where needed. */
#include <string.h>

#include "matrix/files/entries.h"

#define TEMPLATE "matrix/files/entries.inc"
#include "core/each_dtype.h"

static void (*const scatter[])(const struct entries *, bool, int64_t *, int32_t *, void *) = TABLE(scatter);
static void (*const make_up_values[])(int64_t, const int64_t *, const int32_t *, void *) = TABLE(make_up_values);

void entries_free(trine_context ctx, struct entries *e)
{
    trine_free(ctx, TRINE_HOST, e->rows);
    trine_free(ctx, TRINE_HOST, e->cols);
    trine_free(ctx, TRINE_HOST, e->values);
    *e = (struct entries){0};
}

/** Finite duplicates whose sum is not are no matrix of finite values. */
static trine_status check_sums(trine_matrix A, const char *path)
{
    int64_t i;
    const int64_t k = matrix_find_not_finite(A, &i);
    if (k < 0) return TRINE_SUCCESS;
    return trine_fail(
        TRINE_ERR_FORMAT, "%.300s: the sum of the duplicate entries at (%lld,%lld) is not finite in %s precision", path,
        (long long)i + 1, (long long)A->indices[k] + 1, trine_dtype_is_single(A->dtype) ? "single" : "double");
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

trine_status entries_to_matrix(trine_context ctx, trine_matrix *A, trine_dtype t, const struct entries *e,
                               const char *path)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *next = NULL;
    trine_matrix M = NULL, sorted = NULL;
    const bool mirror = e->symmetry != TRINE_GENERAL;
    TRY(ALLOC(ctx, next, e->n_rows + 1));
    const int64_t nnz = count_rows(e, next);
    TRY(matrix_new(ctx, &M, TRINE_CSR, t, e->n_rows, e->n_cols, nnz, e->values != NULL));
    memcpy(M->offsets, next, (size_t)(e->n_rows + 1) * sizeof *next);
    /* the triangle left of the diagonal first: rows of a file sorted by columns or rows come out sorted */
    if (mirror && e->upper) scatter[t](e, true, next, M->indices, M->values);
    scatter[t](e, false, next, M->indices, M->values);
    if (mirror && !e->upper) scatter[t](e, true, next, M->indices, M->values);
    if (!matrix_is_sorted(M, true)) {
        TRY(trine_matrix_sort(M, &sorted, 1));
        trine_matrix_destroy(&M);
        M = sorted;
        if (M->nnz < nnz) {
            TRY(check_sums(M, path));
            trine_log(ctx, 1, "%s: %lld duplicate entries were added to others of the same place, %lld remain", path,
                      (long long)(nnz - M->nnz), (long long)M->nnz);
        }
    }
    if (!e->values) {
        M->owns_values = true;
        M->values = trine_host_alloc(ctx, M->nnz, trine_dtype_size(t));
        if (!M->values) TRY(TRINE_ERR_MEMORY);
        make_up_values[t](M->n_rows, M->offsets, M->indices, M->values);
        M->made_up_values = true;
    }
    M->symmetry = e->symmetry;
    *A = M;
    M = NULL;
done:
    trine_free(ctx, TRINE_HOST, next);
    trine_matrix_destroy(&M);
    return status;
}
