/* Rows as tasks: made on the device, from the triangle's offsets. */
#include "core/gpu_cub.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/syncfree_rows_many.h"

namespace {

constexpr int THREADS = 256;

__device__ int32_t parts_before_last(int64_t length, int64_t most)
{
    return length > most ? (int32_t)((length - 1) / most) : 0;
}

__global__ void count_slots(int64_t n, const int64_t *offsets, int64_t most, int32_t *slots)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p <= n; p += (int64_t)gridDim.x * blockDim.x)
        slots[p] = p < n ? parts_before_last(offsets[p + 1] - offsets[p], most) : 0;
}

__global__ void mark_needed(int64_t nnz, const int32_t *columns, int32_t *needed)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * blockDim.x)
        needed[columns[k]] = 1;
}

__device__ bool can_lend(const device_triangle &d, int64_t most, const int32_t *needed, int64_t p)
{
    return p < d.n && !needed[p] && parts_before_last(d.offsets[p + 1] - d.offsets[p], most) == 0;
}

__global__ void count_lenders(const device_triangle d, int64_t most, const int32_t *needed, int32_t *lends)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p <= d.n; p += (int64_t)gridDim.x * blockDim.x)
        lends[p] = can_lend(d, most, needed, p);
}

/** before: how many rows before each could lend; the first ones do. */
__global__ void write_lenders(const device_triangle d, int64_t most, const int32_t *needed, const int32_t *before,
                              const task_list out)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < d.n; p += (int64_t)gridDim.x * blockDim.x) {
        const bool lends = before[p] < out.slots && can_lend(d, most, needed, p);
        out.lends[d.order[p]] = lends;
        if (lends) out.lenders[before[p]] = d.order[p];
    }
}

/** first_slot: of every row, ascending; NULL: there are none. */
__global__ void write_tasks(const device_triangle d, int64_t most, const int32_t *first_slot, row_task *tasks)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p <= d.n; p += (int64_t)gridDim.x * blockDim.x) {
        const int64_t first = d.offsets[p], slot = first_slot ? first_slot[p] : 0;
        row_task *const task = tasks + p + slot;
        if (p == d.n) {
            *task = {first, 0, 0};
            continue;
        }
        const int32_t parts = parts_before_last(d.offsets[p + 1] - first, most);
        for (int32_t i = 0; i < parts; i++) task[i] = {first + i * most, (int32_t)~(slot + i), i};
        task[parts] = {first + parts * most, d.order[p], (int32_t)(parts ? p | INT32_MIN : p)};
    }
}

__global__ void find_rows(int64_t nnz, const int32_t *columns, const int32_t *order, int32_t *rows)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * blockDim.x)
        rows[k] = order[columns[k]];
}

} // namespace

int64_t device_rows_sort_bytes(int64_t n, int64_t nnz)
{
    size_t bytes = 0;
    gpucub::DeviceSegmentedSort::SortPairs(nullptr, bytes, (int32_t *)nullptr, (int32_t *)nullptr, (int64_t *)nullptr,
                                           (int64_t *)nullptr, nnz, n, (int64_t *)nullptr, (int64_t *)nullptr);
    return (int64_t)bytes + 256;
}

trine_status device_rows_sort(trine_triangular plan, device_triangle *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    arena scratch = {};
    int32_t *columns = nullptr;
    int64_t *source = nullptr;
    char *temporary;
    size_t bytes = 0;
    TRY(GPU(gpucub::DeviceSegmentedSort::SortPairs(nullptr, bytes, columns, d->columns, source, d->source, d->nnz, d->n,
                                                   d->offsets, d->offsets + 1, stream)));
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        columns = a.take<int32_t>(d->nnz);
        source = a.take<int64_t>(d->nnz);
        temporary = a.take<char>((int64_t)bytes);
    }));
    TRY(trine_device_copy_async(ctx, columns, d->columns, (size_t)d->nnz * sizeof *columns, ctx->stream));
    TRY(trine_device_copy_async(ctx, source, d->source, (size_t)d->nnz * sizeof *source, ctx->stream));
    TRY(GPU(gpucub::DeviceSegmentedSort::SortPairs(temporary, bytes, columns, d->columns, source, d->source, d->nnz,
                                                   d->n, d->offsets, d->offsets + 1, stream)));
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* the scratch memory goes */
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

/* No more slots than rows, if need be with longer tasks. */
trine_status device_tasks_make(trine_triangular plan, const device_triangle *d, int64_t most, task_list *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int64_t n = d->n;
    const int blocks = device_blocks_for(plan, n + 1);
    arena scratch = {};
    int32_t *counts = nullptr, *first_slot = nullptr, *needed = nullptr, *lenders_before = nullptr, n_slots = 0,
            n_lenders = 0;
    bool lent;
    char *temporary;
    size_t bytes = 0;
    *out = {};
    if (d->longest_row > most) {
        TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, counts, first_slot, n + 1, stream)));
        TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
            counts = a.take<int32_t>(n + 1);
            first_slot = a.take<int32_t>(n + 1);
            needed = a.take<int32_t>(n);
            lenders_before = a.take<int32_t>(n + 1);
            temporary = a.take<char>((int64_t)bytes);
        }));
        TRY(trine_device_fill_async(ctx, needed, 0, (size_t)n * sizeof *needed, ctx->stream));
        mark_needed<<<device_blocks_for(plan, d->nnz), THREADS, 0, stream>>>(d->nnz, d->columns, needed);
        do {
            if (n_slots > n) most *= 2;
            count_slots<<<blocks, THREADS, 0, stream>>>(n, d->offsets, most, counts);
            TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, counts, first_slot, n + 1, stream)));
            count_lenders<<<blocks, THREADS, 0, stream>>>(*d, most, needed, counts);
            TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, counts, lenders_before, n + 1, stream)));
            TRY(trine_device_copy_async(ctx, &n_slots, first_slot + n, sizeof n_slots, ctx->stream));
            TRY(trine_device_copy_async(ctx, &n_lenders, lenders_before + n, sizeof n_lenders, ctx->stream));
            TRY(trine_device_synchronize(ctx, ctx->stream));
        } while (n_slots > n);
    }
    lent = n_slots && n_slots <= n_lenders;
    out->slots = n_slots;
    out->count = n + n_slots;
    TRY(arena_allocate(ctx, &out->memory, [&](arena &a) {
        out->tasks = a.take<row_task>(out->count + 1);
        out->rows = a.take<int32_t>(d->nnz);
        out->lenders = lent ? a.take<int32_t>(n_slots) : nullptr;
        out->lends = lent ? a.take<uint8_t>(n) : nullptr;
        out->inverses = d->pivot_source ? a.take<char>(n * (int64_t)trine_dtype_size(plan->base.dtype)) : nullptr;
    }));
    plan->info.bytes += (int64_t)out->memory.used;
    write_tasks<<<blocks, THREADS, 0, stream>>>(*d, most, first_slot, out->tasks);
    if (lent) write_lenders<<<blocks, THREADS, 0, stream>>>(*d, most, needed, lenders_before, *out);
    if (d->nnz)
        find_rows<<<device_blocks_for(plan, d->nnz), THREADS, 0, stream>>>(d->nnz, d->columns, d->order, out->rows);
    TRY(GPU_LAUNCHED("making the tasks"));
    if (scratch.base) TRY(trine_device_synchronize(ctx, ctx->stream)); /* the scratch memory goes */
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

void device_tasks_release(trine_triangular plan, task_list *list)
{
    trine_free(plan->base.ctx, TRINE_DEVICE, list->memory.base);
    *list = {};
}
