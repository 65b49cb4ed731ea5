/* Incomplete sparse approximate inverses of the triangles of an incomplete factorization. */
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "precond/ilu/ilu.h"

enum { ROWS_AT_ONCE = 256 };

void ilu_inverse_free(trine_context ctx, struct ilu_inverse *v)
{
    trine_free(ctx, TRINE_HOST, v->offsets);
    trine_free(ctx, TRINE_HOST, v->columns);
    trine_free(ctx, TRINE_HOST, v->t);
    trine_free(ctx, TRINE_HOST, v->w);
    trine_free(ctx, TRINE_HOST, v->scratch);
    memset(v, 0, sizeof *v);
}

trine_status ilu_inverse_make(trine_context ctx, const struct ilu_pattern *p, trine_uplo uplo, trine_dtype dtype,
                              struct ilu_inverse *out)
{
    trine_status status = TRINE_SUCCESS;
    const bool lower = uplo == TRINE_LOWER;
    const size_t size = trine_dtype_size(dtype);
    *out = (struct ilu_inverse){.uplo = uplo, .n = p->n, .threads = ilu_threads(ctx, p->n, p->nnz)};
    TRY(CALLOC(ctx, out->offsets, p->n + 1));
    for (int64_t i = 0; i < p->n; i++)
        out->offsets[i + 1] =
            out->offsets[i] + (lower ? p->diagonal[i] + 1 - p->offsets[i] : p->offsets[i + 1] - p->diagonal[i]);
    out->nnz = out->offsets[p->n];
    TRY(ALLOC(ctx, out->columns, out->nnz));
    for (int64_t i = 0; i < p->n; i++)
        memcpy(out->columns + out->offsets[i], p->columns + (lower ? p->offsets[i] : p->diagonal[i]),
               (size_t)(out->offsets[i + 1] - out->offsets[i]) * sizeof *out->columns);
    TRY((out->t = trine_host_alloc(ctx, out->nnz, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((out->w = trine_host_alloc(ctx, out->nnz, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((out->scratch = trine_host_alloc(ctx, out->threads * p->n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
done:
    if (status) ilu_inverse_free(ctx, out);
    return status;
}

struct inverse_job {
    const struct ilu_pattern *pattern;
    const void *values;
    struct ilu_inverse *v;
};

#define TEMPLATE "precond/ilu/inverse.inc"
#include "core/each_dtype.h"

void ilu_inverse_numeric(trine_context ctx, const struct ilu_pattern *p, const void *values, trine_dtype dtype,
                         struct ilu_inverse *v)
{
    static const trine_team_range take[] = TABLE(take_triangle), invert[] = TABLE(invert_rows);
    struct inverse_job job = {p, values, v};
    trine_team_for(ctx, v->threads, v->n, ROWS_AT_ONCE, take[dtype], &job);
    trine_team_for(ctx, v->threads, v->n, ROWS_AT_ONCE, invert[dtype], &job);
}
