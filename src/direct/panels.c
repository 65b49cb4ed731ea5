/* From dense panels to compressed columns: what CHOLMOD's and SuperLU's supernodal factors have in common. */
#include <stdlib.h>
#include <string.h>

#include "direct/direct.h"

int64_t factor_panels_count(trine_factor F)
{
    const trine_panels *P = &F->panels;
    const int parts = factor_parts(F);
    int64_t count = 0;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int64_t width = P->first_column[s + 1] - P->first_column[s], height = P->row_offsets[s + 1] - P->row_offsets[s];
        for (int64_t j = 0; j < width; j++) {
            const double *column = value_at(P->values, P->value_offsets[s] + j * height, parts);
            count++;
            for (int64_t i = j + 1; i < height; i++) count += !value_is_zero(column + i * parts, parts);
        }
    }
    return count;
}

struct row_at { int32_t row, position; };
static int compare_rows(const void *a, const void *b)
{
    const int32_t x = ((const struct row_at *)a)->row, y = ((const struct row_at *)b)->row;
    return (x > y) - (x < y);
}

trine_status factor_panels_to_csc(trine_factor F, trine_matrix *L)
{
    trine_status status = TRINE_SUCCESS;
    const trine_panels *P = &F->panels;
    const int parts = factor_parts(F);
    const bool unit = P->diag == TRINE_UNIT;
    struct row_at *order = NULL;
    int64_t *offsets, tallest = 0, next = 0;
    int32_t *rows;
    void *out;
    *L = NULL;
    for (int64_t s = 0; s < P->n_panels; s++)
        if (P->row_offsets[s + 1] - P->row_offsets[s] > tallest) tallest = P->row_offsets[s + 1] - P->row_offsets[s];
    TRY(ALLOC(F->ctx, order, tallest));
    TRY(trine_matrix_allocate(F->ctx, L, TRINE_CSC, F->dtype, F->n, F->n, F->nnz_L, &offsets, &rows, &out));
    double *values = out;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int32_t first = P->first_column[s];
        const int64_t width = P->first_column[s + 1] - first, height = P->row_offsets[s + 1] - P->row_offsets[s];
        /* SuperLU's row lists are not sorted; one sort serves all columns of a panel. */
        for (int64_t i = 0; i < height; i++) order[i] = (struct row_at){P->rows[P->row_offsets[s] + i], (int32_t)i};
        qsort(order + width, (size_t)(height - width), sizeof *order, compare_rows);
        for (int64_t j = 0; j < width; j++) {
            const double *column = value_at(P->values, P->value_offsets[s] + j * height, parts);
            for (int64_t i = j; i < height; i++) {
                const double *v = column + (int64_t)order[i].position * parts;
                if (i > j && value_is_zero(v, parts)) continue;
                rows[next] = order[i].row;
                memcpy(values + next * parts, v, (size_t)parts * sizeof *v);
                if (i == j && unit) { /* U's pivot is stored there */
                    values[next * parts] = 1;
                    if (parts == 2) values[next * parts + 1] = 0;
                }
                next++;
            }
            offsets[first + j + 1] = next;
        }
    }
done:
    trine_free(F->ctx, TRINE_HOST, order);
    if (status) trine_matrix_destroy(L);
    return status;
}
