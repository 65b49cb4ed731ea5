/* The first look at a pattern in device memory: offsets and indices in range, every row (compressed row or column of T)
 * ascending, its diagonal entry there, the triangle's entries counted. Only a few numbers come back to the host, and
 * the first wrong row, for the sentence about it. Unsorted patterns are sorted. */
#include "core/gpu_cub.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/pattern.h"

namespace {

constexpr int THREADS = PATTERN_THREADS;
constexpr int AHEAD = 4; /* entries of a lane */

struct pattern_args {
    const int64_t *offsets;
    const int32_t *indices;
    int64_t n, nnz;
    bool lower, need_diagonal, need_triangle;
    int lanes; /* threads a row, a power of two up to 32 */
};

__global__ void find_triangles(const pattern_args a, pattern_report *found)
{
    bool lower = false, upper = false;
    const int lane = threadIdx.x % a.lanes;
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / a.lanes; i < a.n;
         i += (int64_t)gridDim.x * blockDim.x / a.lanes)
        for (int64_t k = max(a.offsets[i], (int64_t)0) + lane, end = min(a.offsets[i + 1], a.nnz); k < end;
             k += a.lanes) {
            if (a.indices[k] < i) lower = true;
            if (a.indices[k] > i) upper = true;
        }
    if (lower) found->lower = 1;
    if (upper) found->upper = 1;
}

/** Where a row's entries go in a form along the compressed rows, if the triangle stands alone with its whole
 *  diagonal: its offsets then say where everything is, before anything has been counted. */
struct placement {
    device_triangle d;
    int64_t n, total;
    bool lower, forward;

    __device__ int64_t position(int64_t i) const { return forward ? i : n - 1 - i; }
    __device__ void put_entry(int64_t i, int64_t k, int64_t j) const
    {
        const int64_t before = k - i - (lower ? 0 : 1), at = forward ? before : total - 1 - before;
        if ((uint64_t)at >= (uint64_t)total) return; /* it does not stand alone */
        d.columns[at] = (int32_t)position(j);
        d.source[at] = k;
    }
    __device__ void put_row(int64_t i, int64_t first, int64_t end) const
    {
        const int64_t p = position(i);
        d.order[p] = (int32_t)i;
        d.pivot_source[p] = lower ? end - 1 : first;
        d.offsets[p + 1] = forward ? end - (i + 1) : total - (first - i);
        if (p == 0) d.offsets[0] = 0;
    }
};

/** What a thread has found. */
struct row_findings {
    unsigned long long bad = 0, n_strict = 0, n_diagonal = 0, squares = 0, longest = 0, long_rows = 0;
    int reach = 0;
    bool unsorted = false;

    /** The whole warp's findings, to the block's. */
    __device__ __forceinline__ void add_to(pattern_report *all)
    {
        n_strict = sum_over(n_strict, 32);
        n_diagonal = sum_over(n_diagonal, 32);
        squares = sum_over(squares, 32);
        long_rows = sum_over(long_rows, 32);
        for (int o = 16; o > 0; o /= 2) {
            bad = max(bad, __shfl_xor_sync(~0u, bad, o));
            longest = max(longest, __shfl_xor_sync(~0u, longest, o));
        }
        reach = __reduce_max_sync(~0u, reach);
        if (__any_sync(~0u, unsorted)) all->unsorted = 1;
        if (threadIdx.x % 32 == 0) {
            atomicMax(&all->bad, bad);
            atomicAdd(&all->n_strict, n_strict);
            atomicAdd(&all->n_diagonal, n_diagonal);
            atomicAdd(&all->squares, squares);
            atomicMax(&all->longest, longest);
            atomicAdd(&all->long_rows, long_rows);
            atomicMax(&all->reach, reach);
        }
    }
};

/** A block's findings, to those of all. */
__device__ __forceinline__ void add_block(const pattern_report &all, pattern_report *found)
{
    if (all.bad) atomicMax(&found->bad, all.bad);
    atomicAdd(&found->n_strict, all.n_strict);
    atomicAdd(&found->n_diagonal, all.n_diagonal);
    atomicAdd(&found->squares, all.squares);
    atomicMax(&found->longest, all.longest);
    atomicMax(&found->reach, all.reach);
    if (all.long_rows) atomicAdd(&found->long_rows, all.long_rows);
    if (all.unsorted) found->unsorted = 1;
}

/** strict: entries of every row in the strict triangle, and a 0 behind them. PLACE: into a form at once instead. */
template <bool PLACE>
__global__ void __launch_bounds__(THREADS)
    inspect_rows(const pattern_args a, int64_t *strict, const placement form, pattern_report *found)
{
    __shared__ pattern_report all;
    __shared__ int block_count, block_diagonal; /* of a long row */
    if (threadIdx.x == 0) all = {};
    __syncthreads();
    row_findings mine;
    auto bounded = [&](int64_t i) {
        return a.offsets[i] >= 0 && a.offsets[i + 1] <= a.nnz ? a.offsets[i + 1] - a.offsets[i] : (int64_t)-1;
    };
    for_each_row(a.n, a.lanes, bounded, [&](int64_t i, int lane, int lanes) {
        const int64_t first = a.offsets[i], end = first + bounded(i);
        int count = 0, diagonal = 0;
        bool wrong = end < first;
        for (int64_t k0 = first + lane; k0 < end; k0 += AHEAD * lanes) {
            int32_t here[AHEAD], behind[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) { /* so many loads at once */
                const int64_t k = k0 + u * lanes;
                here[u] = k < end ? __ldg(&a.indices[k]) : 0;
                behind[u] = k + 1 < end ? __ldg(&a.indices[k + 1]) : INT32_MAX;
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                const int64_t k = k0 + u * lanes, j = here[u];
                if (k >= end) break;
                wrong |= behind[u] == j;
                mine.unsorted |= behind[u] < j;
                const bool inside = a.lower ? j < i : j > i;
                wrong |= j < 0 || j >= a.n || (a.need_triangle && !inside && j != i);
                diagonal += j == i;
                count += inside;
                if (inside) mine.reach = max(mine.reach, abs((int)(i - j)));
                if constexpr (PLACE)
                    if (inside) form.put_entry(i, k, j);
            }
        }
        if (lanes > 32) {
            if (lane == 0) block_count = block_diagonal = 0;
            __syncthreads();
            count = sum_over(count, 32);
            if (lane % 32 == 0) atomicAdd(&block_count, count);
            if (diagonal) atomicAdd(&block_diagonal, diagonal);
            __syncthreads();
            count = block_count, diagonal = block_diagonal;
            __syncthreads();
        } else {
            count = sum_over(count, lanes);
            diagonal = sum_over(diagonal, lanes);
        }
        if (wrong || (a.need_diagonal && !diagonal)) mine.bad = max(mine.bad, (unsigned long long)(a.n - i));
        if (lane == 0) {
            if constexpr (PLACE) form.put_row(i, first, end);
            else strict[i] = count;
            mine.n_strict += count;
            mine.n_diagonal += diagonal;
            mine.squares += (unsigned long long)count * count;
            mine.longest = max(mine.longest, (unsigned long long)count);
            mine.long_rows += count >= LONG_ROW;
        }
    });
    mine.add_to(&all);
    __syncthreads();
    if (threadIdx.x == 0) {
        add_block(all, found);
        if (!PLACE && blockIdx.x == 0) strict[a.n] = 0;
    }
}

/** Keys that put the entries of every row in ascending order. */
__global__ void make_entry_keys(const pattern_args a, unsigned long long *keys, int64_t *source)
{
    const int lane = threadIdx.x % a.lanes;
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / a.lanes; i < a.n;
         i += (int64_t)gridDim.x * blockDim.x / a.lanes)
        for (int64_t k = a.offsets[i] + lane; k < a.offsets[i + 1]; k += a.lanes) {
            keys[k] = (unsigned long long)i << 32 | (unsigned)a.indices[k];
            source[k] = k;
        }
}
__global__ void take_indices(int64_t nnz, const unsigned long long *keys, int32_t *indices)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * blockDim.x)
        indices[k] = (int32_t)keys[k];
}

/** The sentence about the row that the device found wrong. */
trine_status explain(trine_triangular plan, const device_pattern *m, int64_t row)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int64_t ends[2], nnz = 0;
    int32_t *seen = nullptr, *indices = nullptr;
    const struct pattern pattern = {nullptr, nullptr, m->csr, m->lower_major};
    TRY(trine_copy(ctx, ends, TRINE_HOST, m->offsets + row, TRINE_DEVICE, sizeof ends));
    seen = (int32_t *)trine_host_calloc(ctx, plan->base.n, sizeof *seen);
    indices = (int32_t *)trine_host_alloc(ctx, ends[1] > ends[0] ? ends[1] - ends[0] : 0, sizeof *indices);
    if (!seen || !indices) status = TRINE_ERR_MEMORY;
    if (!status && ends[0] >= 0 && ends[0] < ends[1] && ends[1] <= m->nnz)
        status = trine_copy(ctx, indices, TRINE_HOST, m->indices + ends[0], TRINE_DEVICE,
                            (size_t)(ends[1] - ends[0]) * sizeof *indices);
    if (!status) status = pattern_check_row(plan, &pattern, row, ends[0], ends[1], indices, seen, &nnz);
    if (!status) status = trine_fail(TRINE_ERR_STRUCTURE, "row %lld changed during the analysis", (long long)row);
done:
    trine_free(ctx, TRINE_HOST, seen);
    trine_free(ctx, TRINE_HOST, indices);
    return status;
}

/** The pattern with every row ascending, in memory of its own. */
trine_status sort_rows(trine_triangular plan, device_pattern *m, const pattern_args &a)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    arena kept, scratch = {};
    unsigned long long *keys[2];
    int64_t *source[2];
    int32_t *indices;
    char *temporary;
    size_t bytes = 0;
    const int end_bit = 32 + pattern_bits(m->n);
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (unsigned long long *)nullptr,
                                               (unsigned long long *)nullptr, (int64_t *)nullptr, (int64_t *)nullptr,
                                               m->nnz, 0, end_bit, stream)));
    status = arena_allocate(ctx, &kept, [&](arena &s) {
        indices = s.take<int32_t>(m->nnz);
        source[1] = s.take<int64_t>(m->nnz);
    });
    m->owned[2] = kept.base;
    TRY(status);
    TRY(arena_allocate(ctx, &scratch, [&](arena &s) {
        keys[0] = s.take<unsigned long long>(m->nnz), keys[1] = s.take<unsigned long long>(m->nnz);
        source[0] = s.take<int64_t>(m->nnz);
        temporary = s.take<char>((int64_t)bytes);
    }));
    make_entry_keys<<<device_blocks_for(plan, m->n * a.lanes), THREADS, 0, stream>>>(a, keys[0], source[0]);
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, keys[0], keys[1], source[0], source[1], m->nnz, 0,
                                               end_bit, stream)));
    take_indices<<<device_blocks_for(plan, m->nnz), THREADS, 0, stream>>>(m->nnz, keys[1], indices);
    TRY(GPU_LAUNCHED("sorting the rows"));
    m->indices = indices;
    m->source = source[1];
    TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

} // namespace

int64_t pattern_sort_bytes(int64_t n, int64_t nnz)
{
    size_t bytes = 0;
    gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (unsigned long long *)nullptr, (unsigned long long *)nullptr,
                                       (int64_t *)nullptr, (int64_t *)nullptr, nnz, 0, 32 + pattern_bits(n));
    return (int64_t)bytes + 256;
}

int pattern_bits(int64_t count)
{
    int bits = 1;
    while (bits < 62 && (int64_t)1 << bits < count) bits++;
    return bits;
}

trine_status pattern_read_back(trine_triangular plan, const pattern_report *from, pattern_report *to)
{
    trine_status status = trine_device_copy_async(plan->base.ctx, to, from, sizeof *to, plan->base.ctx->stream);
    return status ? status : trine_device_synchronize(plan->base.ctx, plan->base.ctx->stream);
}

/** Lower or upper, where the options leave it to the pattern. */
static trine_status settle_uplo(trine_triangular plan, device_pattern *m)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const trine_uplo *uplo = &plan->options.uplo;
    pattern_report found, *on_device = nullptr;
    if (*uplo == TRINE_UPLO_AUTO) {
        const pattern_args a = {m->offsets, m->indices, m->n,  m->nnz,
                                false,      false,      false, device_lanes_for(m->nnz, m->n)};
        TRY(trine_alloc(ctx, TRINE_DEVICE, sizeof found, (void **)&on_device));
        TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
        find_triangles<<<device_blocks_for(plan, m->n * a.lanes), THREADS, 0, (gpuStream_t)ctx->stream>>>(a, on_device);
        TRY(GPU_LAUNCHED("the look for triangles"));
        TRY(pattern_read_back(plan, on_device, &found));
        TRY(pattern_set_uplo(plan, m->csr, found.lower, found.upper));
    }
    m->lower_major = m->csr == (*uplo == TRINE_LOWER);
done:
    trine_free(ctx, TRINE_DEVICE, on_device);
    return status;
}

trine_status device_pattern_read(trine_triangular plan, trine_matrix T, void **pattern)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    trine_matrix_info info;
    device_pattern *const m = (device_pattern *)(*pattern = trine_host_calloc(ctx, 1, sizeof *m));
    if (!m) return TRINE_ERR_MEMORY;
    trine_matrix_get_info(T, &info);
    trine_matrix_get_arrays(T, &m->offsets, &m->indices, nullptr);
    m->n = info.n_rows, m->nnz = info.nnz;
    m->csr = info.format == TRINE_CSR;
    if (info.space == TRINE_HOST) {
        TRY(trine_device_upload(ctx, m->offsets, (size_t)(m->n + 1) * sizeof *m->offsets, &m->owned[0]));
        TRY(trine_device_upload(ctx, m->indices, (size_t)m->nnz * sizeof *m->indices, &m->owned[1]));
        m->offsets = (const int64_t *)m->owned[0];
        m->indices = (const int32_t *)m->owned[1];
    }
    TRY(settle_uplo(plan, m));
done:
    return status;
}

void device_pattern_drop(trine_triangular plan, void *pattern)
{
    device_pattern *const m = (device_pattern *)pattern;
    if (!m) return;
    for (void *p : m->owned) trine_free(plan->base.ctx, TRINE_DEVICE, p);
    trine_free(plan->base.ctx, TRINE_HOST, m);
}

/** Where the entries of every row start, where the offsets do not say it: by counting. */
static trine_status count_starts(trine_triangular plan, device_pattern *m, int64_t *strict)
{
    trine_status status = TRINE_SUCCESS;
    gpuStream_t stream = (gpuStream_t)plan->base.ctx->stream;
    arena counted;
    int64_t *start;
    char *temporary;
    size_t bytes = 0;
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, strict, strict, m->n + 1, stream)));
    status = arena_allocate(plan->base.ctx, &counted, [&](arena &s) {
        start = s.take<int64_t>(m->n + 1);
        temporary = s.take<char>((int64_t)bytes);
    });
    m->owned[4] = counted.base;
    TRY(status);
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, strict, start, m->n + 1, stream)));
    m->start = start;
    m->step = 0;
done:
    return status;
}

trine_status pattern_inspect(trine_triangular plan, device_pattern *m, pattern_placement *place)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const trine_triangular_options *o = &plan->options;
    const bool need_diagonal = o->diag == TRINE_NONUNIT;
    pattern_args a = {m->offsets,
                      m->indices,
                      m->n,
                      m->nnz,
                      m->lower_major,
                      need_diagonal,
                      o->other_triangle_is_error != 0,
                      device_lanes_for(m->nnz, m->n)};
    const int blocks = device_blocks_for(plan, m->n * a.lanes);
    arena kept;
    pattern_report found, *on_device;
    int64_t *strict;
    /* no entries of the other triangle, and all of the diagonal or none: the offsets say it all */
    bool alone;
    status = arena_allocate(ctx, &kept, [&](arena &s) {
        on_device = s.take<pattern_report>(1);
        strict = s.take<int64_t>(m->n + 1);
    });
    m->owned[3] = kept.base;
    TRY(status);
    place->done = place->d && need_diagonal && m->n && m->nnz >= m->n;
    if (place->done) TRY(device_triangle_allocate(plan, place->d, m->n, m->nnz - m->n));
    for (;;) {
        TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
        if (place->done)
            inspect_rows<true><<<blocks, THREADS, 0, stream>>>(
                a, nullptr, {*place->d, m->n, m->nnz - m->n, m->lower_major, place->forward}, on_device);
        else inspect_rows<false><<<blocks, THREADS, 0, stream>>>(a, strict, {}, on_device);
        TRY(GPU_LAUNCHED("the look at the pattern"));
        TRY(pattern_read_back(plan, on_device, &found));
        if (found.bad) TRY(explain(plan, m, m->n - (int64_t)found.bad));
        alone = (int64_t)found.n_strict == m->nnz ||
                ((int64_t)found.n_strict + m->n == m->nnz && (int64_t)found.n_diagonal == m->n);
        if (!found.unsorted && (alone || !place->done)) break;
        if (found.unsorted) TRY(sort_rows(plan, m, a));
        if (place->done) device_triangle_release(plan, place->d);
        place->done = false;
        a.indices = m->indices;
    }
    m->n_strict = (int64_t)found.n_strict;
    m->squares = (double)found.squares, m->longest = (int64_t)found.longest, m->long_rows = (int64_t)found.long_rows;
    m->reach = found.reach;
    m->start = m->offsets;
    m->step = m->n_strict == m->nnz ? 0 : 1;
    if (!alone) TRY(count_starts(plan, m, strict));
    m->inspected = true;
    plan->info.nnz = m->n_strict + m->n;
done:
    return status;
}
