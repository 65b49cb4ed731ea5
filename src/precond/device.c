/* A in a GPU's memory, for methods whose numeric runs there, and what the host knows of it. */
#include "precond/common/rows.h"
#include "precond/cpu/cpu.h"
#include "precond/cuda/cuda.h"

static size_t value_bytes(trine_precond p) { return (size_t)p->nnz * trine_dtype_size(p->base.dtype); }

/** An array of A's pattern there: the one given, if that is on the GPU and in this order, or the host's. */
static trine_status take_array(trine_precond p, const void *given, const void *own, size_t bytes, void *out)
{
    void **to = out;
    if (!given) return trine_device_upload(p->base.ctx, own, bytes, to);
    const trine_status status = trine_alloc(p->base.ctx, TRINE_DEVICE, bytes, to);
    return status ? status : trine_copy(p->base.ctx, *to, TRINE_DEVICE, given, TRINE_DEVICE, bytes);
}

static trine_status open_matrix(trine_precond p, struct precond_device_matrix **out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const int64_t n = p->base.n;
    struct precond_device_matrix *d;
    trine_matrix_info m;
    const int64_t *offsets = NULL;
    const int32_t *columns = NULL;
    TRY(CALLOC(ctx, d, 1));
    *out = d;
    d->rows.n = n;
    TRY(trine_matrix_get_info(p->given, &m));
    if (m.space == TRINE_DEVICE && !p->positions) TRY(trine_matrix_get_arrays(p->given, &offsets, &columns, NULL));
    TRY(take_array(p, offsets, p->offsets, (size_t)(n + 1) * sizeof *p->offsets, &d->rows.offsets));
    d->rows.ends = d->rows.offsets + 1;
    TRY(take_array(p, columns, p->columns, (size_t)p->nnz * sizeof *p->columns, &d->rows.columns));
    TRY(trine_alloc(ctx, TRINE_DEVICE, value_bytes(p) + 1, &d->rows.values)); /* NULL would mean a pattern */
    if (p->positions)
        TRY(trine_device_upload(ctx, p->positions, (size_t)p->nnz * sizeof *p->positions, (void **)&d->positions));
    TRY(trine_matrix_csr(ctx, &d->view, p->base.dtype, n, n, p->nnz, TRINE_DEVICE, 64, d->rows.offsets, 32,
                         d->rows.columns, d->rows.values));
done:
    return status;
}

static void close_matrix(trine_precond p, struct precond_device_matrix **matrix)
{
    struct precond_device_matrix *d = *matrix;
    *matrix = NULL;
    if (!d) return;
    trine_matrix_destroy(&d->view);
    void *arrays[] = {d->rows.offsets, d->rows.columns, d->rows.values, d->positions};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
    trine_free(p->base.ctx, TRINE_HOST, d);
}

trine_status precond_open_look(trine_precond p) { return open_matrix(p, &p->looked); }
void precond_close_look(trine_precond p) { close_matrix(p, &p->looked); }

trine_status precond_open_device(trine_precond p)
{
    if (!p->looked) return open_matrix(p, &p->device);
    p->device = p->looked;
    p->looked = NULL;
    return TRINE_SUCCESS;
}

void precond_close_device(trine_precond p)
{
    close_matrix(p, &p->device);
    close_matrix(p, &p->looked);
}

int64_t precond_device_bytes(trine_precond p)
{
    if (!p->device) return 0;
    return (p->base.n + 1) * 8 + p->nnz * (4 + (p->positions ? 8 : 0)) + (int64_t)value_bytes(p);
}

trine_status precond_take_device_values(trine_precond p, trine_space space, const void *values)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct precond_device_matrix *d = p->looked ? p->looked : p->device;
    if (!p->nnz) return TRINE_SUCCESS;
    if (space == TRINE_DEVICE && d->positions)
        return precond_device_numeric_of(p)->gather[p->base.dtype](p, d->positions, values, d->rows.values,
                                                                   ctx->stream);
    if (space == TRINE_HOST && d->positions) {
        TRY(precond_take_values(p, space, values));
        values = p->values;
    }
    TRY(trine_device_copy_async(ctx, d->rows.values, values, value_bytes(p), ctx->stream));
done:
    return status;
}

trine_status precond_bring_home(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    if (!p->device) return TRINE_SUCCESS;
    pthread_mutex_lock(&p->home_lock);
    if (p->is_home) goto done;
    p->pivot_row = -1;
    TRY(trine_copy(ctx, p->values, TRINE_HOST, p->device->rows.values, TRINE_DEVICE, value_bytes(p)));
    p->not_finite_row = precond_cpu.gather[p->base.dtype](p, NULL, p->values);
    TRY(p->method->numeric(p, TRINE_REUSE_FORESTS));
    p->is_home = true;
done:
    pthread_mutex_unlock(&p->home_lock);
    return status;
}
