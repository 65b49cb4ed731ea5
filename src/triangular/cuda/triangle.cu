/* A triangle in device memory: structure at analyse, values and pivots at every numeric. */
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/triangle.h"

namespace {

template <typename T> __global__ void gather_values(int64_t count, const int64_t *source, const T *from, T *values)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < count; k += (int64_t)gridDim.x * blockDim.x)
        values[k] = from[source[k]];
}

template <typename T>
__global__ void gather_pivots(int64_t n, const int64_t *source, const int32_t *order, const T *from, T *pivots,
                              long long *bad_row)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) {
        pivots[p] = from[source[p]];
        if (!(size_of(pivots[p]) > 0)) atomicMin(bad_row, (long long)order[p]);
    }
}

template <typename T> trine_status numeric_side(trine_triangular plan, const device_triangle *d, const void *from,
                                                gpuStream_t stream)
{
    trine_status status = trine_device_fill_async(plan->base.ctx, d->bad_row, 0x7F, sizeof *d->bad_row, stream);
    if (status) return status;
    if (d->nnz)
        gather_values<T>
            <<<device_blocks_for(plan, d->nnz), 256, 0, stream>>>(d->nnz, d->source, (const T *)from, (T *)d->values);
    if (d->pivot_source && d->n)
        gather_pivots<T><<<device_blocks_for(plan, d->n), 256, 0, stream>>>(
            d->n, d->pivot_source, d->order, (const T *)from, (T *)d->pivots, d->bad_row);
    return GPU_LAUNCHED("the value update");
}

} // namespace

int device_blocks_for(trine_triangular plan, int64_t items)
{
    const int64_t blocks = (items + 255) / 256, most = plan->base.ctx->info.multiprocessors * 8;
    return (int)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

int device_lanes_for(int64_t nnz, int64_t n)
{
    const int64_t mean = n ? nnz / n : 0;
    return mean < 4 ? 1 : mean < 8 ? 4 : mean < 16 ? 8 : mean < 32 ? 16 : 32;
}

trine_status device_triangle_allocate(trine_triangular plan, device_triangle *d, int64_t n, int64_t nnz)
{
    const bool unit = plan->options.diag == TRINE_UNIT;
    d->n = n, d->nnz = nnz;
    trine_status status = arena_allocate(plan->base.ctx, &d->structure, [&](arena &a) {
        d->offsets = a.take<int64_t>(n + 1);
        d->source = a.take<int64_t>(nnz);
        d->pivot_source = unit ? nullptr : a.take<int64_t>(n);
        d->columns = a.take<int32_t>(nnz);
        d->order = a.take<int32_t>(n);
    });
    return status;
}

trine_status device_triangle_allocate_numbers(trine_triangular plan, device_triangle *d)
{
    const size_t size = trine_dtype_size(plan->base.dtype);
    trine_status status = arena_allocate(plan->base.ctx, &d->numbers, [&](arena &a) {
        d->values = a.take<char>((int64_t)size * d->nnz);
        d->pivots = d->pivot_source ? a.take<char>((int64_t)size * d->n) : nullptr;
        d->bad_row = a.take<long long>(1);
    });
    plan->info.bytes += (int64_t)(d->structure.used + d->numbers.used);
    return status;
}

void device_triangle_release(trine_triangular plan, device_triangle *d)
{
    trine_free(plan->base.ctx, TRINE_DEVICE, d->structure.base);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->numbers.base);
    d->structure.base = d->numbers.base = nullptr;
}

void device_part_release(trine_triangular plan, struct triangular_side *side)
{
    device_triangle_release(plan, (device_triangle *)side->part);
    trine_free(plan->base.ctx, TRINE_HOST, side->part);
    side->part = nullptr;
}

trine_status device_solve_run(trine_triangular plan, const struct triangular_solve *s, const device_solve *run)
{
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    trine_status status = run[plan->base.dtype](plan, s);
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

trine_status device_triangle_numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    static trine_status (*const run[])(trine_triangular, const device_triangle *, const void *, gpuStream_t) = {
        nullptr, numeric_side<float>, numeric_side<double>, numeric_side<complex_of<float>>,
        numeric_side<complex_of<double>>};
    trine_context ctx = plan->base.ctx;
    trine_status status = TRINE_SUCCESS;
    void *staged = nullptr;
    int saved;
    trine_device_enter(ctx, &saved);
    if (space == TRINE_HOST) {
        const size_t bytes = (size_t)plan->nnz_matrix * trine_dtype_size(plan->base.dtype);
        TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, &staged));
        if (bytes) TRY(trine_device_copy_async(ctx, staged, values, bytes, stream));
        values = staged;
    }
    for (const struct triangular_side &side : plan->side)
        if (side.part)
            TRY(run[plan->base.dtype](plan, (const device_triangle *)side.part, values, (gpuStream_t)stream));
    if (staged) TRY(trine_device_synchronize(ctx, stream));
done:
    trine_free(ctx, TRINE_DEVICE, staged);
    trine_device_leave(ctx, saved);
    return status;
}

trine_status device_triangle_bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    trine_status status = TRINE_SUCCESS;
    const device_triangle *d = (const device_triangle *)plan->side[plan->side[SIDE_N].part ? SIDE_N : SIDE_T].part;
    long long first = 0;
    TRY(trine_device_copy_async(plan->base.ctx, &first, d->bad_row, sizeof first, stream));
    TRY(trine_device_synchronize(plan->base.ctx, stream));
    *row = first < plan->base.n ? first : -1;
done:
    return status;
}
