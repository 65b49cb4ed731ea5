/* From dense panels to compressed columns: what CHOLMOD's and SuperLU's supernodal factors have in common. */
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

trine_status factor_panels_to_csc(trine_factor F, trine_matrix *L)
{
    const trine_panels *P = &F->panels;
    const int parts = factor_parts(F);
    const bool unit = P->diag == TRINE_UNIT;
    int64_t *offsets, next = 0;
    int32_t *rows;
    void *out;
    *L = NULL;
    const trine_status status = trine_matrix_allocate(F->ctx, L, TRINE_CSC, F->dtype, F->n, F->n, F->nnz_L, &offsets, &rows, &out);
    if (status) return status;
    double *values = out;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int32_t first = P->first_column[s];
        const int64_t width = P->first_column[s + 1] - first, height = P->row_offsets[s + 1] - P->row_offsets[s];
        const int32_t *list = P->rows + P->row_offsets[s];
        for (int64_t j = 0; j < width; j++) {
            const double *column = value_at(P->values, P->value_offsets[s] + j * height, parts);
            for (int64_t i = j; i < height; i++) {
                const double *v = column + i * parts;
                if (i > j && value_is_zero(v, parts)) continue;
                rows[next] = list[i];
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
    return TRINE_SUCCESS;
}
