/* Analysis of a triangle where the pattern is in device memory: the two forms in solve order.
 *
 * In a row that has been found ascending (cuda/pattern.cu), the entries of a triangle stand side by side, so that
 * they only have to be moved to where they belong: along the compressed rows at once, where possible by the pass
 * that looks at them; across them by a stable radix sort. Entries of a backward solve come in reverse, so that a
 * form in solve order is the natural one read from its end. */
#include "core/gpu_cub.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/pattern.h"

namespace {

constexpr int THREADS = PATTERN_THREADS;

/** An entry on its way across the compressed rows: where it comes from, and its row there, as a position. */
struct entry {
    int64_t source;
    int32_t major;
};

struct form_args {
    device_pattern m;
    device_triangle d;
    bool lower, forward;
    int32_t *keys;             /* NULL: the form goes along the compressed rows */
    entry *entries;
    int lanes;
};

/** Entries in solve order, along the compressed rows or as pairs to be sorted; pivots and rows. */
__global__ void __launch_bounds__(THREADS) place_entries(const form_args a)
{
    const int64_t n = a.m.n, total = a.m.n_strict;
    auto before = [&](int64_t i) { return a.m.start[i] - i * a.m.step; };
    for_each_row(
        n, a.lanes, [&](int64_t i) { return before(i + 1) - before(i); },
        [&](int64_t i, int lane, int lanes) {
            const int64_t earlier = before(i), count = before(i + 1) - earlier;
            const int64_t first = a.lower ? a.m.offsets[i] : a.m.offsets[i + 1] - count, p = a.forward ? i : n - 1 - i;
            for (int64_t s = lane; s < count; s += lanes) {
                const int64_t k = first + s, j = a.m.indices[k], at = a.forward ? earlier + s : total - 1 - earlier - s;
                const int32_t minor = (int32_t)(a.forward ? j : n - 1 - j);
                const int64_t source = a.m.source ? a.m.source[k] : k;
                if (a.keys) {
                    a.keys[at] = minor;
                    a.entries[at] = {source, (int32_t)p};
                } else {
                    a.d.columns[at] = minor;
                    a.d.source[at] = source;
                }
            }
            if (lane == 0) {
                a.d.order[p] = (int32_t)i;
                if (a.d.pivot_source) {
                    const int64_t k = a.lower ? first + count : first - 1;
                    a.d.pivot_source[p] = a.m.source ? a.m.source[k] : k;
                }
                if (!a.keys) a.d.offsets[p + 1] = a.forward ? earlier + count : total - earlier;
                if (p == 0) a.d.offsets[0] = 0;
            }
        });
}

/** Sorted pairs into the form across the compressed rows; the first entry of row p is the first key that is not
 *  below p. */
__global__ void take_sorted(const device_triangle d, const int32_t *keys, const entry *entries)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x, thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    for (int64_t at = thread; at < d.nnz; at += step) {
        d.columns[at] = entries[at].major;
        d.source[at] = entries[at].source;
    }
    for (int64_t p = thread; p <= d.n; p += step) {
        int64_t low = 0, high = d.nnz;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (keys[middle] < p) low = middle + 1;
            else high = middle;
        }
        d.offsets[p] = low;
    }
}

__global__ void measure_rows(int64_t n, const int64_t *offsets, pattern_report *found)
{
    unsigned long long squares = 0, longest = 0, long_rows = 0;
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) {
        const unsigned long long count = offsets[p + 1] - offsets[p];
        squares += count * count;
        longest = max(longest, count);
        long_rows += count >= LONG_ROW;
    }
    squares = sum_over(squares, 32);
    long_rows = sum_over(long_rows, 32);
    for (int o = 16; o > 0; o /= 2) longest = max(longest, __shfl_xor_sync(~0u, longest, o));
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&found->squares, squares);
        atomicAdd(&found->long_rows, long_rows);
        atomicMax(&found->longest, longest);
    }
}

/** A thread has a column of the column form; entries ascend, so that rows of its own group come first. */
__global__ void count_in_degrees(const device_triangle d, int group, int32_t *in_degree, int32_t *near_degree)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x, thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    for (int64_t k = thread; k < d.nnz; k += step) atomicAdd(&in_degree[d.columns[k]], 1);
    if (near_degree)
        for (int64_t c = thread; c < d.n; c += step)
            for (int64_t k = d.offsets[c]; k < d.offsets[c + 1] && d.columns[k] < c - c % group + group; k++)
                atomicAdd(&near_degree[d.columns[k]], 1);
}

} // namespace

int64_t pattern_transpose_bytes(int64_t n, int64_t nnz)
{
    size_t bytes = 0;
    gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (int32_t *)nullptr, (int32_t *)nullptr, (entry *)nullptr,
                                       (entry *)nullptr, nnz, 0, pattern_bits(n));
    return (int64_t)bytes + 256;
}

/** Both forms, once the pattern has been looked at. */
static trine_status place_form(trine_triangular plan, const device_pattern *m, bool along, bool forward,
                               device_triangle *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int lanes = device_lanes_for(m->n_strict, m->n);
    arena scratch = {};
    int32_t *keys[2] = {};
    entry *entries[2] = {};
    pattern_report *on_device = nullptr, found;
    char *temporary = nullptr;
    size_t bytes = 0;
    TRY(device_triangle_allocate(plan, d, m->n, m->n_strict));
    if (!m->n) {
        TRY(trine_device_fill_async(ctx, d->offsets, 0, sizeof *d->offsets, ctx->stream));
        return trine_device_synchronize(ctx, ctx->stream);
    }
    if (!along) {
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, keys[0], keys[1], entries[0], entries[1],
                                                   m->n_strict, 0, pattern_bits(m->n), stream)));
        TRY(arena_allocate(ctx, &scratch, [&](arena &s) {
            for (int i = 0; i < 2; i++) keys[i] = s.take<int32_t>(m->n_strict), entries[i] = s.take<entry>(m->n_strict);
            on_device = s.take<pattern_report>(1);
            temporary = s.take<char>((int64_t)bytes);
        }));
    }
    place_entries<<<device_blocks_for(plan, m->n * lanes), THREADS, 0, stream>>>(
        {*m, *d, m->lower_major, forward, keys[0], entries[0], lanes});
    TRY(GPU_LAUNCHED("placing the entries"));
    d->squares = m->squares, d->longest_row = m->longest, d->long_rows = m->long_rows;
    if (!along) {
        if (m->n_strict)
            TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, keys[0], keys[1], entries[0], entries[1],
                                                       m->n_strict, 0, pattern_bits(m->n), stream)));
        take_sorted<<<device_blocks_for(plan, m->n_strict + m->n), THREADS, 0, stream>>>(*d, keys[1], entries[1]);
        TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
        measure_rows<<<device_blocks_for(plan, m->n), THREADS, 0, stream>>>(m->n, d->offsets, on_device);
        TRY(GPU_LAUNCHED("the transposition"));
        TRY(pattern_read_back(plan, on_device, &found));
        d->squares = (double)found.squares, d->longest_row = (int64_t)found.longest,
        d->long_rows = (int64_t)found.long_rows;
    } else {
        TRY(trine_device_synchronize(ctx, ctx->stream));
    }
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

/** The compressed rows are rows of what is solved. */
static bool is_along_rows(const device_pattern *m, int side) { return m->csr == (side == SIDE_N); }

bool device_pattern_is_forward(const device_pattern *m, int side) { return is_along_rows(m, side) == m->lower_major; }

trine_status device_form_build(trine_triangular plan, device_pattern *m, int side, triangle_form form,
                               device_triangle *d)
{
    trine_status status = TRINE_SUCCESS;
    const bool along = is_along_rows(m, side) == (form == BY_ROWS), forward = device_pattern_is_forward(m, side);
    pattern_placement place = {along ? d : nullptr, forward, false};
    if (!m->inspected) TRY(pattern_inspect(plan, m, &place));
    if (place.done) d->squares = m->squares, d->longest_row = m->longest, d->long_rows = m->long_rows;
    else TRY(place_form(plan, m, along, forward, d));
    d->reach = m->reach;
done:
    return status;
}

trine_status device_form_count_in_degrees(trine_triangular plan, const device_triangle *columns, int group,
                                          int32_t *in_degree, int32_t *near_degree)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const size_t bytes = (size_t)columns->n * sizeof(int32_t);
    if (!columns->n) return TRINE_SUCCESS;
    TRY(trine_device_fill_async(ctx, in_degree, 0, bytes, ctx->stream));
    if (near_degree) TRY(trine_device_fill_async(ctx, near_degree, 0, bytes, ctx->stream));
    count_in_degrees<<<device_blocks_for(plan, columns->nnz + columns->n), THREADS, 0, (gpuStream_t)ctx->stream>>>(
        *columns, group, in_degree, near_degree);
    TRY(GPU_LAUNCHED("counting in-degrees"));
    TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    return status;
}
