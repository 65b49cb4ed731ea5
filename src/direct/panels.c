/* From dense panels to compressed columns: what CHOLMOD's and SuperLU's supernodal factors have in common. */
#include <string.h>

#include "direct/direct.h"

int64_t factor_panels_count(trine_factor F)
{
    const trine_panels *P = &F->panels;
    const size_t size = trine_dtype_size(F->dtype);
    int64_t count = 0;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int64_t width = P->first_column[s + 1] - P->first_column[s],
                      height = P->row_offsets[s + 1] - P->row_offsets[s];
        for (int64_t j = 0; j < width; j++) {
            const char *column = entry_at(P->values, P->value_offsets[s] + j * height, size);
            count++;
            for (int64_t i = j + 1; i < height; i++) count += !entry_is_zero(column + (size_t)i * size, F->dtype);
        }
    }
    return count;
}

trine_status factor_panels_to_csc(trine_factor F, trine_matrix *L)
{
    const trine_panels *P = &F->panels;
    const size_t size = trine_dtype_size(F->dtype);
    const double one_d[2] = {1, 0};
    const float one_s[2] = {1, 0};
    const void *one = trine_dtype_is_single(F->dtype) ? (const void *)one_s : one_d;
    const bool unit = P->diag == TRINE_UNIT;
    int64_t *offsets, next = 0;
    int32_t *rows;
    void *values;
    *L = NULL;
    const trine_status status =
        trine_matrix_allocate(F->ctx, L, TRINE_CSC, F->dtype, F->n, F->n, F->nnz_L, &offsets, &rows, &values);
    if (status) return status;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int32_t first = P->first_column[s];
        const int64_t width = P->first_column[s + 1] - first, height = P->row_offsets[s + 1] - P->row_offsets[s];
        const int32_t *list = P->rows + P->row_offsets[s];
        for (int64_t j = 0; j < width; j++) {
            const char *column = entry_at(P->values, P->value_offsets[s] + j * height, size);
            for (int64_t i = j; i < height; i++) {
                const char *v = column + (size_t)i * size;
                if (i > j && entry_is_zero(v, F->dtype)) continue;
                rows[next] = list[i];
                /* U's pivot is stored there */
                memcpy((char *)values + (size_t)next * size, i == j && unit ? one : v, size);
                next++;
            }
            offsets[first + j + 1] = next;
        }
    }
    return TRINE_SUCCESS;
}
