/* M = diag(m_ii) of Eqs. 39 to 42. */
#include "precond/paths.h"

struct diagonal_state {
    void *T;         /* n, on the host */
    void *on_device; /* the same there; NULL on a CPU */
};

static size_t bytes_of(trine_precond p) { return (size_t)p->base.n * trine_dtype_size(p->base.dtype); }

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct diagonal_state *s;
    TRY(CALLOC(ctx, s, 1));
    p->state = s;
    s->T = trine_host_alloc(ctx, p->base.n, trine_dtype_size(p->base.dtype));
    if (!s->T) return TRINE_ERR_MEMORY;
    if (ctx->cuda) {
        TRY(trine_alloc(ctx, TRINE_DEVICE, bytes_of(p), &s->on_device));
        TRY(precond_open_device(p));
    }
done:
    return status;
}

static trine_status numeric(trine_precond p, trine_reuse reuse)
{
    struct diagonal_state *s = p->state;
    trine_context ctx = p->base.ctx;
    const struct precond_rows rows = {p->base.n, p->offsets, p->columns, p->values};
    const int64_t row = precond_cpu.diagonal[p->base.dtype](&rows, p->options.method, s->T, ctx->threads);
    (void)reuse;
    if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
    return s->on_device ? trine_copy(ctx, s->T, TRINE_HOST, s->on_device, TRINE_DEVICE, bytes_of(p)) : TRINE_SUCCESS;
}

static trine_status numeric_on_device(trine_precond p, trine_reuse reuse)
{
    struct diagonal_state *s = p->state;
    (void)reuse;
    return precond_device_numeric_of(p)->diagonal[p->base.dtype](p, &p->device->rows, p->options.method, s->on_device,
                                                                 p->base.ctx->stream);
}

static trine_status apply(trine_precond p, const struct precond_call *call)
{
    const size_t size = trine_dtype_size(p->base.dtype);
    const struct diagonal_state *s = p->state;
    const trine_dense *B = call->B, *X = call->X;
    const struct precond_device *device = precond_device_of(p);
    if (device) return device->divide[p->base.dtype](p, s->on_device, call->op == TRINE_H, B, X, call->stream);
    for (int64_t j = 0; j < B->cols; j++)
        precond_cpu.divide[p->base.dtype](p->base.n, s->T, call->op == TRINE_H,
                                          (const char *)B->data + (size_t)(j * B->ld) * size,
                                          (char *)X->data + (size_t)(j * X->ld) * size, p->base.ctx);
    return TRINE_SUCCESS;
}

static const void *diagonal(trine_precond p)
{
    const struct diagonal_state *s = p->state;
    return p->base.ctx->cuda ? s->on_device : s->T;
}

static int64_t memory(trine_precond p) { return (p->base.ctx->cuda ? 2 : 1) * (int64_t)bytes_of(p); }

static void release(trine_precond p)
{
    struct diagonal_state *s = p->state;
    if (!s) return;
    trine_free(p->base.ctx, TRINE_DEVICE, s->on_device);
    trine_free(p->base.ctx, TRINE_HOST, s->T);
    trine_free(p->base.ctx, TRINE_HOST, s);
}

const void *precond_get_diagonal_T(trine_precond p) { return ((struct diagonal_state *)p->state)->T; }

const struct precond_method precond_diagonal = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                                .analyse = analyse,
                                                .numeric = numeric,
                                                .numeric_on_device = numeric_on_device,
                                                .apply = apply,
                                                .diagonal = diagonal,
                                                .memory = memory,
                                                .release = release};
