/* Level sets on the device, and orders of rows that are made of them. */
#include "core/gpu_cub.cuh"
#include "triangular/syncfree_csr.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void number_rows(int64_t n, int32_t *rows)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) rows[p] = (int32_t)p;
}

/** offsets[l]: the first of n ascending levels that is not below l. */
__global__ void find_level_offsets(int64_t n, const int32_t *level, int64_t n_levels, int64_t *offsets)
{
    for (int64_t l = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; l <= n_levels; l += (int64_t)gridDim.x * blockDim.x) {
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (level[middle] < l) low = middle + 1;
            else high = middle;
        }
        offsets[l] = low;
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

__global__ void move_rows(const device_triangle from, const device_triangle to, const int32_t *sorted, const int32_t *position, int lanes)
{
    for_each_row(from.n, lanes, [&](int64_t s) { return to.offsets[s + 1] - to.offsets[s]; }, [&](int64_t s, int lane, int sharers) {
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
    if constexpr (E >= 4)
        if (s->chunks) return solve_rows<int32_t, 1, E, 1, true><<<s->blocks, 32 * s->warps, 0, stream>>>(a);
    solve_rows<int32_t, 1, E, 1, false><<<s->blocks, 32 * s->warps, 0, stream>>>(a);
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
    row_shape s = {row_shape_lanes(d), MAX_WARPS, 2 * plan->ctx->info.multiprocessors, nullptr, 0};
    s.n_chunks = (d->n + row_shape_rows(&s) - 1) / row_shape_rows(&s);
    return s;
}

trine_status device_levels_find(trine_triangular plan, const device_triangle *d, const row_shape *s, void *state, const int32_t **level,
                                int64_t *n_levels, double *microseconds)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    level_report found;
    rows_args<int32_t> a = {};
    a.n = d->n, a.nrhs = 1;
    a.offsets = d->offsets, a.columns = d->columns;
    a.chunks = s->chunks, a.n_chunks = s->n_chunks;
    a.ticket = (unsigned *)state, a.report = (level_report *)((char *)state + 128), a.x = (int32_t *)((char *)state + 256);
    TRY(trine_device_fill_async(ctx, state, 0xFF, 256 + (size_t)d->n * sizeof(int32_t), ctx->stream));
    TRY(trine_device_fill_async(ctx, a.report, 0, sizeof *a.report, ctx->stream));
    switch (s->lanes) {
    case 1: run<1>(a, s, stream); break;
    case 2: run<2>(a, s, stream); break;
    case 4: run<4>(a, s, stream); break;
    case 8: run<8>(a, s, stream); break;
    case 16: run<16>(a, s, stream); break;
    default: run<32>(a, s, stream); break;
    }
    TRY(GPU_LAUNCHED("the search for level sets"));
    TRY(trine_device_copy_async(ctx, &found, a.report, sizeof found, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    *level = a.x;
    *n_levels = found.levels;
    *microseconds = 1e-3 * (double)(found.end - ~found.before);
done:
    return status;
}

trine_status device_levels_sort(trine_triangular plan, int64_t n, int64_t n_levels, const int32_t *level, int32_t *sorted, int64_t *level_offsets)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    arena scratch = {};
    int32_t *sorted_level, *rows;
    int64_t *offsets;
    char *temporary;
    size_t bytes = 0;
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, level, sorted, sorted, sorted, n, 0, bits_for(n_levels), stream)));
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        sorted_level = a.take<int32_t>(n);
        rows = a.take<int32_t>(n);
        offsets = a.take<int64_t>(n_levels + 1);
        temporary = a.take<char>((int64_t)bytes);
    }));
    if (n) {
        number_rows<<<device_blocks_for(plan, n), THREADS, 0, stream>>>(n, rows);
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, level, sorted_level, rows, sorted, n, 0, bits_for(n_levels), stream)));
    }
    if (level_offsets) {
        find_level_offsets<<<device_blocks_for(plan, n_levels + 1), THREADS, 0, stream>>>(n, sorted_level, n_levels, offsets);
        TRY(GPU_LAUNCHED("the level offsets"));
        TRY(trine_device_copy_async(ctx, level_offsets, offsets, (size_t)(n_levels + 1) * sizeof *offsets, ctx->stream));
    }
    TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

trine_status device_triangle_reorder(trine_triangular plan, const device_triangle *d, const int32_t *sorted, device_triangle *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int lanes = device_lanes_for(d->nnz, d->n);
    arena scratch = {};
    int32_t *position;
    int64_t *lengths;
    char *temporary;
    size_t bytes = 0;
    *out = *d;
    out->structure = out->numbers = {};
    TRY(device_triangle_allocate(plan, out, d->n, d->nnz));
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, out->offsets, out->offsets, d->n + 1, stream)));
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        position = a.take<int32_t>(d->n);
        lengths = a.take<int64_t>(d->n + 1);
        temporary = a.take<char>((int64_t)bytes);
    }));
    if (d->n) {
        place_rows<<<device_blocks_for(plan, d->n), THREADS, 0, stream>>>(*d, sorted, position, lengths);
        TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, lengths, out->offsets, d->n + 1, stream)));
        move_rows<<<device_blocks_for(plan, d->n * lanes), THREADS, 0, stream>>>(*d, *out, sorted, position, lanes);
        TRY(GPU_LAUNCHED("moving the rows"));
    } else {
        TRY(trine_device_fill_async(ctx, out->offsets, 0, sizeof *out->offsets, ctx->stream));
    }
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* the scratch memory goes */
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}
