#include "direct/superlu_panels.h"

#include <stdlib.h>
#include <string.h>

struct row_at { int32_t row, position; };
static int compare_rows(const void *a, const void *b)
{
    const int32_t x = ((const struct row_at *)a)->row, y = ((const struct row_at *)b)->row;
    return (x > y) - (x < y);
}

/** Sort the rows of one panel below its own columns, values along with them. */
static void sort_rows(int32_t *rows, char *values, int64_t width, int64_t height, size_t size, struct row_at *order,
                      char *column)
{
    bool ascending = true;
    for (int64_t i = width; i < height; i++) {
        order[i] = (struct row_at){rows[i], (int32_t)i};
        ascending = ascending && (i == width || rows[i] > rows[i - 1]);
    }
    if (ascending) return;
    qsort(order + width, (size_t)(height - width), sizeof *order, compare_rows);
    for (int64_t i = width; i < height; i++) rows[i] = order[i].row;
    for (int64_t j = 0; j < width; j++) {
        char *at = values + (size_t)(j * height) * size;
        for (int64_t i = width; i < height; i++)
            memcpy(column + (size_t)i * size, at + (size_t)order[i].position * size, size);
        memcpy(at + (size_t)width * size, column + (size_t)width * size, (size_t)(height - width) * size);
    }
}

trine_status superlu_take_panels(trine_factor F, SuperMatrix *matrix)
{
    trine_status status = TRINE_SUCCESS;
    const SCformat *L = matrix->Store;
    const int64_t n_panels = L->nsuper + 1;
    const size_t size = trine_dtype_size(F->dtype);
    int64_t tallest = 0;
    struct row_at *order = NULL;
    char *column = NULL;
    TRY(ALLOC(F->ctx, F->first_column, n_panels + 1));
    TRY(ALLOC(F->ctx, F->row_offsets, n_panels + 1));
    TRY(ALLOC(F->ctx, F->value_offsets, n_panels + 1));
    /* Row lists and values are contiguous from panel to panel; SuperLU's offsets count from each panel's first
     * column. */
    for (int64_t s = 0; s <= n_panels; s++) {
        const int32_t first = s < n_panels ? L->sup_to_col[s] : (int32_t)F->n;
        F->first_column[s] = first;
        F->row_offsets[s] = L->rowind_colptr[first];
        F->value_offsets[s] = L->nzval_colptr[first];
        if (s && F->row_offsets[s] - F->row_offsets[s - 1] > tallest)
            tallest = F->row_offsets[s] - F->row_offsets[s - 1];
    }
    TRY(ALLOC(F->ctx, order, tallest));
    TRY(ALLOC(F->ctx, column, tallest * (int64_t)size));
    for (int64_t s = 0; s < n_panels; s++)
        sort_rows(L->rowind + F->row_offsets[s], (char *)L->nzval + (size_t)F->value_offsets[s] * size,
                  F->first_column[s + 1] - F->first_column[s], F->row_offsets[s + 1] - F->row_offsets[s], size, order,
                  column);
    F->panels = (trine_panels){.n = F->n,
                               .n_panels = n_panels,
                               .first_column = F->first_column,
                               .row_offsets = F->row_offsets,
                               .rows = L->rowind,
                               .value_offsets = F->value_offsets,
                               .values = L->nzval,
                               .dtype = F->dtype,
                               .diag = TRINE_UNIT};
    F->nnz_L = factor_panels_count(F);
done:
    trine_free(F->ctx, TRINE_HOST, order);
    trine_free(F->ctx, TRINE_HOST, column);
    return status;
}

trine_status superlu_make_upper_panels(trine_factor F, const SuperMatrix *matrix)
{
    trine_status status = TRINE_SUCCESS;
    const NCformat *U = matrix->Store;
    const trine_panels *L = &F->panels;
    const int64_t m = L->n_panels, n = F->n;
    const size_t size = trine_dtype_size(F->dtype);
    int32_t *panel_of = NULL, *last = NULL, *first_column = NULL, *rows = NULL;
    int64_t *row_offsets = NULL, *value_offsets = NULL, *height = NULL;
    char *values = NULL;
    TRY(ALLOC(F->ctx, panel_of, n));
    TRY(ALLOC(F->ctx, last, m)); /* the last column of U in which an entry of panel s was found */
    TRY(ALLOC(F->ctx, height, m));
    TRY(ALLOC(F->ctx, first_column, m + 1));
    TRY(ALLOC(F->ctx, row_offsets, m + 1));
    TRY(ALLOC(F->ctx, value_offsets, m + 1));
    memcpy(first_column, L->first_column, (size_t)(m + 1) * sizeof *first_column);
    for (int32_t s = 0; s < m; s++) {
        for (int32_t i = first_column[s]; i < first_column[s + 1]; i++) panel_of[i] = s;
        height[s] = first_column[s + 1] - first_column[s];
        last[s] = -1;
    }
    for (int32_t j = 0; j < n; j++) {
        for (int64_t k = U->colptr[j]; k < U->colptr[j + 1]; k++) {
            const int32_t s = panel_of[U->rowind[k]];
            if (last[s] != j) height[s]++;
            last[s] = j;
        }
    }
    row_offsets[0] = value_offsets[0] = 0;
    for (int64_t s = 0; s < m; s++) {
        row_offsets[s + 1] = row_offsets[s] + height[s];
        value_offsets[s + 1] = value_offsets[s] + height[s] * (first_column[s + 1] - first_column[s]);
    }
    values = trine_host_calloc(F->ctx, value_offsets[m], size);
    if (!values)
        FAIL(TRINE_ERR_MEMORY, "no memory for the panels of U, %lld values (%lld bytes)", (long long)value_offsets[m],
             (long long)value_offsets[m] * (long long)size);
    TRY(ALLOC(F->ctx, rows, row_offsets[m]));

    for (int32_t s = 0; s < m; s++) { /* the diagonal blocks lie above the diagonals of L's panels */
        const int64_t width = first_column[s + 1] - first_column[s], h = height[s],
                      h_L = L->row_offsets[s + 1] - L->row_offsets[s];
        for (int64_t j = 0; j < width; j++) {
            rows[row_offsets[s] + j] = first_column[s] + (int32_t)j;
            for (int64_t i = 0; i <= j; i++)
                memcpy(values + (size_t)(value_offsets[s] + i * h + j) * size,
                       entry_at(L->values, L->value_offsets[s] + j * h_L + i, size), size);
        }
        last[s] = -1;
        height[s] = width; /* from here on: rows found so far */
    }
    for (int32_t j = 0; j < n; j++) {
        for (int64_t k = U->colptr[j]; k < U->colptr[j + 1]; k++) {
            const int32_t i = U->rowind[k], s = panel_of[i];
            if (last[s] != j) rows[row_offsets[s] + height[s]++] = j;
            last[s] = j;
            const int64_t column = value_offsets[s] + (i - first_column[s]) * (row_offsets[s + 1] - row_offsets[s]);
            memcpy(values + (size_t)(column + height[s] - 1) * size, entry_at(U->nzval, k, size), size);
        }
    }
    F->upper = (trine_panels){.n = n,
                              .n_panels = m,
                              .first_column = first_column,
                              .row_offsets = row_offsets,
                              .rows = rows,
                              .value_offsets = value_offsets,
                              .values = values,
                              .dtype = F->dtype,
                              .diag = TRINE_NONUNIT};
    first_column = rows = NULL;
    row_offsets = value_offsets = NULL;
    values = NULL;
done:
    trine_free(F->ctx, TRINE_HOST, panel_of);
    trine_free(F->ctx, TRINE_HOST, last);
    trine_free(F->ctx, TRINE_HOST, height);
    trine_free(F->ctx, TRINE_HOST, first_column);
    trine_free(F->ctx, TRINE_HOST, row_offsets);
    trine_free(F->ctx, TRINE_HOST, value_offsets);
    trine_free(F->ctx, TRINE_HOST, rows);
    trine_free(F->ctx, TRINE_HOST, values);
    return status;
}

void superlu_each_upper(trine_factor F, const SuperMatrix *matrix, superlu_upper_fn fn, void *user)
{
    const NCformat *U = matrix->Store;
    const trine_panels *P = &F->panels;
    const size_t size = trine_dtype_size(F->dtype);
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int64_t height = P->row_offsets[s + 1] - P->row_offsets[s];
        for (int64_t j = P->first_column[s]; j < P->first_column[s + 1]; j++) {
            for (int64_t k = U->colptr[j]; k < U->colptr[j + 1]; k++) {
                const char *v = entry_at(U->nzval, k, size);
                if (!entry_is_zero(v, F->dtype)) fn(user, U->rowind[k], j, v);
            }
            const char *column = entry_at(P->values, P->value_offsets[s] + (j - P->first_column[s]) * height, size);
            for (int64_t i = P->first_column[s]; i <= j; i++, column += size)
                if (i == j || !entry_is_zero(column, F->dtype)) fn(user, (int32_t)i, j, column);
        }
    }
}

struct upper_output {
    int64_t next;
    size_t size;
    int64_t *offsets;
    int32_t *rows;
    void *values;
};
static void append(void *user, int32_t row, int64_t column, const void *value)
{
    struct upper_output *out = user;
    out->rows[out->next] = row;
    memcpy((char *)out->values + (size_t)out->next * out->size, value, out->size);
    out->offsets[column + 1] = ++out->next;
}

trine_status superlu_triangle(trine_factor F, const SuperMatrix *matrix, trine_uplo which, trine_matrix *T)
{
    if (which == TRINE_LOWER) return factor_panels_to_csc(F, T);
    trine_matrix U = NULL;
    struct upper_output out = {.size = trine_dtype_size(F->dtype)};
    trine_status status = trine_matrix_allocate(F->ctx, &U, TRINE_CSC, F->dtype, F->n, F->n, F->nnz_U, &out.offsets,
                                                &out.rows, &out.values);
    if (status) return status;
    superlu_each_upper(F, matrix, append, &out);
    status = trine_matrix_sort(U, T, 0);
    trine_matrix_destroy(&U);
    return status;
}
