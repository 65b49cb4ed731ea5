/* M = diag(m_ii) of Eqs. 39 to 42. */
#include "precond/paths.h"

static trine_status analyse(trine_precond p)
{
    p->state = trine_host_alloc(p->base.ctx, p->base.n, trine_dtype_size(p->base.dtype));
    return p->state ? TRINE_SUCCESS : TRINE_ERR_MEMORY;
}

static trine_status numeric(trine_precond p, trine_reuse reuse, void *stream)
{
    (void)reuse, (void)stream;
    const struct precond_rows rows = {p->base.n, p->offsets, p->columns, p->values};
    const int64_t row = precond_cpu.diagonal[p->base.dtype](&rows, p->options.method, p->state, p->base.ctx->threads);
    if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
    return TRINE_SUCCESS;
}

static trine_status apply(trine_precond p, const struct precond_call *call)
{
    const size_t size = trine_dtype_size(p->base.dtype);
    const trine_dense *B = call->B, *X = call->X;
    for (int64_t j = 0; j < B->cols; j++)
        precond_cpu.divide[p->base.dtype](p->base.n, p->state, call->op == TRINE_H,
                                          (const char *)B->data + (size_t)(j * B->ld) * size,
                                          (char *)X->data + (size_t)(j * X->ld) * size, p->base.ctx);
    return TRINE_SUCCESS;
}

static int64_t memory(trine_precond p) { return p->base.n * (int64_t)trine_dtype_size(p->base.dtype); }
static void release(trine_precond p) { trine_free(p->base.ctx, TRINE_HOST, p->state); }
const void *precond_get_diagonal_T(trine_precond p) { return p->state; }

const struct precond_method precond_diagonal = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                                .analyse = analyse,
                                                .numeric = numeric,
                                                .apply = apply,
                                                .memory = memory,
                                                .release = release};
