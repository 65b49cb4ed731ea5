/* Level sets on the device, and orders of rows that are made of them. */
#include "core/gpu_cub.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/syncfree_rows.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void number_rows(int64_t n, int32_t *rows)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x)
        rows[p] = (int32_t)p;
}

/** bounds[l]: the first of n ascending keys that is not below l. */
__global__ void find_bounds(int64_t n, const int32_t *keys, int64_t n_keys, int64_t *bounds)
{
    for (int64_t l = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; l <= n_keys;
         l += (int64_t)gridDim.x * blockDim.x) {
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (keys[middle] < l) low = middle + 1;
            else high = middle;
        }
        bounds[l] = low;
    }
}

/** Where every row goes, and how long the rows there are. */
__global__ void place_rows(const device_triangle d, const int32_t *sorted, int32_t *position, int64_t *lengths)
{
    for (int64_t s = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; s < d.n; s += (int64_t)gridDim.x * blockDim.x) {
        position[sorted[s]] = (int32_t)s;
        lengths[s] = d.offsets[sorted[s] + 1] - d.offsets[sorted[s]];
        if (s == 0) lengths[d.n] = 0;
    }
}

__global__ void move_rows(const device_triangle from, const device_triangle to, const int32_t *sorted,
                          const int32_t *position, int lanes)
{
    for_each_row(
        from.n, lanes, [&](int64_t s) { return to.offsets[s + 1] - to.offsets[s]; },
        [&](int64_t s, int lane, int sharers) {
            const int64_t p = sorted[s], first = from.offsets[p], at = to.offsets[s], count = to.offsets[s + 1] - at;
            for (int64_t k = lane; k < count; k += sharers) {
                to.columns[at + k] = position[from.columns[first + k]];
                to.source[at + k] = from.source[first + k];
            }
            if (lane == 0) {
                to.order[s] = from.order[p];
                if (to.pivot_source) to.pivot_source[s] = from.pivot_source[p];
            }
        });
}

int bits_for(int64_t count)
{
    int bits = 1;
    while (bits < 31 && (int64_t)1 << bits < count) bits++;
    return bits;
}

template <int E> void run(const rows_args<int32_t> &a, const row_shape *s, gpuStream_t stream)
{
    const unsigned blocks = blocks_for_tickets(s, a.n_chunks), threads = 32 * s->warps;
    if constexpr (E >= 4)
        if (s->chunks) return solve_rows<int32_t, 1, E, 1, true><<<blocks, threads, 0, stream>>>(a);
    solve_rows<int32_t, 1, E, 1, false><<<blocks, threads, 0, stream>>>(a);
}

} // namespace

int64_t row_shape_rows(const row_shape *s) { return (int64_t)s->warps * (32 / s->lanes); }

int row_shape_lanes(const device_triangle *d)
{
    const double length = d->nnz ? d->squares / (double)d->nnz : 0;
    return length < 4 ? 1 : length < 6 ? 2 : length < 32 ? 4 : length < 128 ? 8 : 16;
}

row_shape row_shape_for_search(trine_triangular plan, const device_triangle *d)
{
    row_shape s = {row_shape_lanes(d), MAX_WARPS, 2 * plan->base.ctx->info.multiprocessors, nullptr, 0};
    s.n_chunks = (d->n + row_shape_rows(&s) - 1) / row_shape_rows(&s);
    return s;
}

trine_status device_levels_search(trine_triangular plan, const device_triangle *d, const row_shape *s, void *state)
{
    trine_status status = TRINE_SUCCESS;
    gpuStream_t stream = (gpuStream_t)plan->base.ctx->stream;
    rows_args<int32_t> a = {};
    a.n = d->n, a.nrhs = 1;
    a.offsets = d->offsets, a.columns = d->columns;
    a.chunks = s->chunks, a.n_chunks = s->n_chunks;
    a.ticket = (unsigned *)state, a.report = device_levels_report(state), a.x = device_levels_of(state);
    TRY(trine_device_fill_async(plan->base.ctx, state, 0xFF, (size_t)device_levels_bytes(d->n),
                                plan->base.ctx->stream));
    switch (s->lanes) {
    case 1: run<1>(a, s, stream); break;
    case 2: run<2>(a, s, stream); break;
    case 4: run<4>(a, s, stream); break;
    case 8: run<8>(a, s, stream); break;
    case 16: run<16>(a, s, stream); break;
    default: run<32>(a, s, stream); break;
    }
    TRY(GPU_LAUNCHED("the search for level sets"));
done:
    return status;
}

trine_status device_levels_read(trine_triangular plan, void *state, levels_found *found)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    level_report report;
    TRY(trine_device_copy_async(ctx, &report, device_levels_report(state), sizeof report, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    found->n_levels = report.highest + 1;
    found->microseconds = 1e-3 * (double)(~report.before_end - report.start);
    found->followers = report.followers + 1u;
    for (int l = 0; l < FEW_LEVELS; l++)
        found->first[l] = report.first[l], found->end[l] = (int64_t)~report.before_last[l] + 1;
done:
    return status;
}

int64_t device_triangle_sort_bytes(int64_t n, int64_t n_keys)
{
    size_t bytes = 0;
    gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (const int32_t *)nullptr, (int32_t *)nullptr, (int32_t *)nullptr,
                                       (int32_t *)nullptr, n, 0, bits_for(n_keys));
    return (int64_t)bytes + 256;
}
int64_t device_scan_bytes(int64_t n)
{
    size_t bytes = 0;
    gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, (int64_t *)nullptr, (int64_t *)nullptr, n);
    return (int64_t)bytes + 256;
}

trine_status device_triangle_sort(trine_triangular plan, const device_triangle *d, int64_t n_keys, const int32_t *keys,
                                  int64_t *bounds, device_triangle *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int64_t n = d->n;
    const int lanes = d->nnz > n && d->nnz < 4 * n ? 2 : device_lanes_for(d->nnz, n); /* trips to memory side by side */
    const int blocks = device_blocks_for(plan, n), bits = bits_for(n_keys);
    arena scratch = {};
    int32_t *rows = nullptr, *sorted = nullptr, *sorted_keys = nullptr, *position;
    int64_t *lengths, *bounds_on_device;
    char *temporary;
    size_t sort_bytes = 0, scan_bytes = 0;
    *out = *d;
    out->structure = out->numbers = {};
    TRY(device_triangle_allocate(plan, out, n, d->nnz));
    TRY(GPU(
        gpucub::DeviceRadixSort::SortPairs(nullptr, sort_bytes, keys, sorted_keys, rows, sorted, n, 0, bits, stream)));
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, out->offsets, out->offsets, n + 1, stream)));
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        rows = a.take<int32_t>(n), sorted = a.take<int32_t>(n), sorted_keys = a.take<int32_t>(n),
        position = a.take<int32_t>(n);
        lengths = a.take<int64_t>(n + 1);
        bounds_on_device = a.take<int64_t>(n_keys + 1);
        temporary = a.take<char>((int64_t)(sort_bytes > scan_bytes ? sort_bytes : scan_bytes));
    }));
    if (n) {
        number_rows<<<blocks, THREADS, 0, stream>>>(n, rows);
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, sort_bytes, keys, sorted_keys, rows, sorted, n, 0, bits,
                                                   stream)));
        place_rows<<<blocks, THREADS, 0, stream>>>(*d, sorted, position, lengths);
        TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, scan_bytes, lengths, out->offsets, n + 1, stream)));
        move_rows<<<device_blocks_for(plan, n * lanes), THREADS, 0, stream>>>(*d, *out, sorted, position, lanes);
        TRY(GPU_LAUNCHED("moving the rows"));
    } else {
        TRY(trine_device_fill_async(ctx, out->offsets, 0, sizeof *out->offsets, ctx->stream));
    }
    if (bounds) {
        find_bounds<<<device_blocks_for(plan, n_keys + 1), THREADS, 0, stream>>>(n, sorted_keys, n_keys,
                                                                                 bounds_on_device);
        TRY(GPU_LAUNCHED("the bounds of levels"));
        TRY(trine_device_copy_async(ctx, bounds, bounds_on_device, (size_t)(n_keys + 1) * sizeof *bounds, ctx->stream));
    }
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* the scratch memory goes */
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}
