/* The matrix to be factored, as the libraries take it. */
#include "direct/direct.h"

struct factor_input factor_get_input(trine_factor F)
{
    struct factor_input in = {.n = F->n};
    trine_matrix_info info;
    const void *values;
    if (!F->A) return in;
    trine_matrix_get_info(F->A, &info);
    trine_matrix_get_arrays(F->A, &in.offsets, &in.indices, &values);
    in.nnz = info.nnz;
    in.values = values;
    return in;
}

trine_status factor_widen(trine_context ctx, int64_t count, const int32_t *narrow, int64_t **wide)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *wide, count));
    for (int64_t k = 0; k < count; k++) (*wide)[k] = narrow[k];
done:
    return status;
}
