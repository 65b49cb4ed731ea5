/* Factors kept in single precision on the CPU: values, right-hand sides and solutions are converted on their way,
 * and the backend sees a plan of single precision. (The GPU's kernels convert as they load and store.) */
#include "core/team.h"
#include "supernodal/supernodal.h"

enum { NUMBERS_AT_ONCE = 1 << 16 }; /* that one thread rounds */

static int parts_of(trine_supernodal plan) { return trine_dtype_is_complex(plan->base.dtype) ? 2 : 1; }

typedef struct {
    const double *values;
    float *rounded;
} rounding;

static void round_numbers(void *job, int64_t begin, int64_t end, int me)
{
    const rounding *r = job;
    (void)me;
    for (int64_t k = begin; k < end; k++) r->rounded[k] = (float)r->values[k];
}

trine_status supernodal_single_numeric(trine_supernodal plan, const double *values)
{
    trine_status status = TRINE_SUCCESS;
    const supernodal_structure *S = &plan->S;
    const int parts = parts_of(plan);
    int64_t count = 0;
    float *rounded = NULL;
    for (int64_t s = 0; s < S->n_sources; s++) {
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s],
                      end = S->source_value_offsets[s] + height * S->source_width[s];
        if (end > count) count = end;
    }
    TRY(ALLOC(plan->base.ctx, rounded, count * parts));
    trine_team_for(plan->base.ctx, plan->base.ctx->threads, count * parts, NUMBERS_AT_ONCE, round_numbers,
                   &(rounding){values, rounded});
    status = plan->backend->numeric(plan, TRINE_HOST, rounded, NULL);
done:
    trine_free(plan->base.ctx, TRINE_HOST, rounded);
    return status;
}

size_t supernodal_single_work_bytes(trine_supernodal plan, int64_t nrhs)
{
    return (size_t)(plan->S.n * nrhs) * trine_dtype_size(plan->dtype);
}

/** Entry (i, j) in numbers of one element's parts. */
static inline int64_t place(const trine_dense *D, int64_t i, int64_t j, int parts)
{
    return parts * (D->layout == TRINE_COLMAJOR ? i + j * D->ld : i * D->ld + j);
}

trine_status supernodal_single_solve(trine_supernodal plan, trine_transpose op, const double *alpha,
                                     const trine_dense *B, const trine_dense *X, supernodal_work *work)
{
    const int parts = parts_of(plan);
    const int64_t n = plan->S.n, own = (int64_t)plan->backend->work_bytes(plan, work->base.max_nrhs);
    const float factor[2] = {(float)alpha[0], parts == 2 ? (float)alpha[1] : 0};
    float *z = (float *)((char *)work->base.buffer + own);
    const trine_dense Z = {.data = z, .rows = n, .cols = B->cols, .ld = n, .layout = TRINE_COLMAJOR};
    for (int64_t j = 0; j < B->cols; j++)
        for (int64_t i = 0; i < n; i++)
            for (int p = 0; p < parts; p++)
                z[parts * (i + j * n) + p] = (float)((const double *)B->data)[place(B, i, j, parts) + p];
    const trine_status status = plan->backend->solve(plan, op, factor, &Z, &Z, work, NULL);
    if (status) return status;
    for (int64_t j = 0; j < B->cols; j++)
        for (int64_t i = 0; i < n; i++)
            for (int p = 0; p < parts; p++)
                ((double *)X->data)[place(X, i, j, parts) + p] = (double)z[parts * (i + j * n) + p];
    return TRINE_SUCCESS;
}
