/* The matrix to be factored, as the libraries take it. */
#include <string.h>

#include "direct/direct.h"

static struct factor_input input_of(trine_matrix A)
{
    struct factor_input in = {0};
    trine_matrix_info info;
    const void *values;
    trine_matrix_get_info(A, &info);
    trine_matrix_get_arrays(A, &in.offsets, &in.indices, &values);
    in.n = info.n_rows;
    in.nnz = info.nnz;
    in.values = values;
    return in;
}

struct factor_input factor_get_input(trine_factor F)
{
    return F->A ? input_of(F->A) : (struct factor_input){.n = F->n};
}

trine_status factor_widen(trine_context ctx, int64_t count, const int32_t *narrow, int64_t **wide)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *wide, count));
    for (int64_t k = 0; k < count; k++) (*wide)[k] = narrow[k];
done:
    return status;
}

/* --------------------------------------------------------------- structure */

/** What the values v at (i,j) and w at (j,i) leave of s. */
static void compare(const double *v, const double *w, int parts, struct factor_structure *s)
{
    s->symmetric = s->symmetric && v[0] == w[0] && (parts == 1 || v[1] == w[1]);
    s->hermitian = s->hermitian && v[0] == w[0] && (parts == 1 || v[1] == -w[1]);
}

trine_status factor_find_structure(trine_context ctx, trine_matrix A, struct factor_structure *s)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = input_of(A);
    trine_matrix_info info;
    trine_matrix_get_info(A, &info);
    const int parts = trine_dtype_is_complex(info.dtype) ? 2 : 1;
    /* Columns ascend, so the entries (i,j) below the diagonal meet those above it, (j,i), in the order of column i:
     * next[i] is the first that was not met. */
    int64_t *next;
    TRY(ALLOC(ctx, next, in.n));
    memcpy(next, in.offsets, (size_t)in.n * sizeof *next);
    *s = (struct factor_structure){true, true, true, true, true, true};
    for (int64_t j = 0; j < in.n && s->pattern_symmetric; j++) {
        int64_t k = next[j];
        const int64_t end = in.offsets[j + 1];
        const bool there = k < end && in.indices[k] == j;
        const double *diagonal = there ? value_at(in.values, k++, parts) : NULL;
        s->full_diagonal = s->full_diagonal && there && !value_is_zero(diagonal, parts);
        s->positive_diagonal = s->positive_diagonal && there && diagonal[0] > 0 && (parts == 1 || diagonal[1] == 0);
        if (there) compare(diagonal, diagonal, parts, s);
        for (; k < end && s->pattern_symmetric; k++) {
            const int32_t i = in.indices[k];
            if (i > j && next[i] < in.offsets[i + 1] && in.indices[next[i]] == j)
                compare(value_at(in.values, k, parts), value_at(in.values, next[i]++, parts), parts, s);
            else s->pattern_symmetric = false;
        }
    }
    if (!s->pattern_symmetric) *s = (struct factor_structure){.known = true};
done:
    trine_free(ctx, TRINE_HOST, next);
    return status;
}

trine_status factor_know_structure(trine_factor F)
{
    return F->structure.known ? TRINE_SUCCESS : factor_find_structure(F->ctx, F->A, &F->structure);
}
