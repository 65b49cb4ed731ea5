/* Analysis of a triangle where the pattern is in device memory: checks, and the two forms in solve order. Only a few numbers
 * come back to the host, and the first wrong row, for the sentence about it.
 *
 * One pass looks at every row (compressed row or column of T): offsets and indices in range, ascending, its diagonal entry
 * there, its entries in the triangle counted. In a sorted row these stand side by side, so that a second pass moves them to
 * where they belong: along the compressed rows at once, across them by a stable radix sort. Unsorted patterns are sorted by
 * the same means first. Entries of a backward solve come in reverse, so that a form in solve order is the natural one read
 * from its end. */
#include "core/gpu_cub.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/device_triangle.h"

/** T's pattern on the device. */
struct device_pattern {
    const int64_t *offsets;
    const int32_t *indices;
    const int64_t *source;     /* entry k is T's source[k]-th; NULL: its k-th */
    int64_t n, nnz, n_strict;
    bool csr, lower_major;     /* lower_major: lower, as the compressed rows see it */
    const int64_t *start;      /* off-diagonal entries of the triangle before row i: start[i] - i * step */
    int64_t step;
    int64_t longest, long_rows;
    double squares;
    bool along_rows, forward;  /* of the side that is being analysed: compressed rows are rows of what is solved; it is lower */
    void *owned[5];
};

namespace {

constexpr int THREADS = 256;

/** What the first pass found, over all rows. Starts at zero. */
struct report {
    unsigned long long bad;    /* n - the first wrong row, or 0 */
    unsigned long long n_strict, n_diagonal, squares, longest, long_rows;
    unsigned unsorted, lower, upper;
};

struct pattern_args {
    const int64_t *offsets;
    const int32_t *indices;
    int64_t n, nnz;
    bool lower, need_diagonal, need_triangle;
    int lanes;                 /* threads a row, a power of two up to 32 */
};

/** Sum over the lanes of a row that fits a warp, or over a warp. */
template <typename V> __device__ V sum_over(V v, int lanes)
{
    const unsigned row = lanes == 32 ? ~0u : ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
    for (int o = lanes / 2; o > 0; o /= 2) v += __shfl_xor_sync(row, v, o);
    return v;
}

__global__ void find_triangles(const pattern_args a, report *found)
{
    bool lower = false, upper = false;
    const int lane = threadIdx.x % a.lanes;
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / a.lanes; i < a.n; i += (int64_t)gridDim.x * blockDim.x / a.lanes)
        for (int64_t k = max(a.offsets[i], (int64_t)0) + lane, end = min(a.offsets[i + 1], a.nnz); k < end; k += a.lanes) {
            if (a.indices[k] < i) lower = true;
            if (a.indices[k] > i) upper = true;
        }
    if (lower) found->lower = 1;
    if (upper) found->upper = 1;
}

/** The first pass. strict: entries of every row in the strict triangle, and a 0 behind them. */
__global__ void __launch_bounds__(THREADS) inspect_rows(const pattern_args a, int64_t *strict, report *found)
{
    __shared__ report all;
    __shared__ int block_count, block_diagonal; /* of a long row */
    if (threadIdx.x == 0) all = {};
    __syncthreads();
    unsigned long long bad = 0, n_strict = 0, n_diagonal = 0, squares = 0, longest = 0, long_rows = 0;
    bool unsorted = false;
    auto bounded = [&](int64_t i) { return a.offsets[i] >= 0 && a.offsets[i + 1] <= a.nnz ? a.offsets[i + 1] - a.offsets[i] : (int64_t)-1; };
    for_each_row(a.n, a.lanes, bounded, [&](int64_t i, int lane, int lanes) {
        const int64_t first = a.offsets[i], end = first + bounded(i);
        int count = 0, diagonal = 0;
        bool wrong = end < first;
        for (int64_t k = first + lane; k < end; k += lanes) {
            const int64_t j = a.indices[k];
            if (k + 1 < end) {
                wrong |= a.indices[k + 1] == j;
                unsorted |= a.indices[k + 1] < j;
            }
            const bool inside = a.lower ? j < i : j > i;
            wrong |= j < 0 || j >= a.n || (a.need_triangle && !inside && j != i);
            diagonal += j == i;
            count += inside;
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
        if (wrong || (a.need_diagonal && !diagonal)) bad = max(bad, (unsigned long long)(a.n - i));
        if (lane == 0) {
            strict[i] = count;
            n_strict += count;
            n_diagonal += diagonal;
            squares += (unsigned long long)count * count;
            longest = max(longest, (unsigned long long)count);
            long_rows += count >= LONG_ROW;
        }
    });
    n_strict = sum_over(n_strict, 32);
    n_diagonal = sum_over(n_diagonal, 32);
    squares = sum_over(squares, 32);
    long_rows = sum_over(long_rows, 32);
    for (int o = 16; o > 0; o /= 2) {
        bad = max(bad, __shfl_xor_sync(~0u, bad, o));
        longest = max(longest, __shfl_xor_sync(~0u, longest, o));
    }
    if (__any_sync(~0u, unsorted)) all.unsorted = 1;
    if (threadIdx.x % 32 == 0) {
        atomicMax(&all.bad, bad);
        atomicAdd(&all.n_strict, n_strict);
        atomicAdd(&all.n_diagonal, n_diagonal);
        atomicAdd(&all.squares, squares);
        atomicMax(&all.longest, longest);
        atomicAdd(&all.long_rows, long_rows);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (all.bad) atomicMax(&found->bad, all.bad);
        atomicAdd(&found->n_strict, all.n_strict);
        atomicAdd(&found->n_diagonal, all.n_diagonal);
        atomicAdd(&found->squares, all.squares);
        atomicMax(&found->longest, all.longest);
        if (all.long_rows) atomicAdd(&found->long_rows, all.long_rows);
        if (all.unsorted) found->unsorted = 1;
        if (blockIdx.x == 0) strict[a.n] = 0;
    }
}

/** Keys that put the entries of every row in ascending order. */
__global__ void make_entry_keys(const pattern_args a, unsigned long long *keys, int64_t *source)
{
    const int lane = threadIdx.x % a.lanes;
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / a.lanes; i < a.n; i += (int64_t)gridDim.x * blockDim.x / a.lanes)
        for (int64_t k = a.offsets[i] + lane; k < a.offsets[i + 1]; k += a.lanes) {
            keys[k] = (unsigned long long)i << 32 | (unsigned)a.indices[k];
            source[k] = k;
        }
}
__global__ void take_indices(int64_t nnz, const unsigned long long *keys, int32_t *indices)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * blockDim.x) indices[k] = (int32_t)keys[k];
}

/** An entry on its way across the compressed rows: where it comes from, and its row there, as a position. */
struct entry {
    int64_t source;
    int32_t major;
};

struct form_args {
    device_pattern m;
    device_triangle d;
    bool lower;
    int32_t *keys;             /* NULL: the form goes along the compressed rows */
    entry *entries;
    int lanes;
};

/** The second pass: entries in solve order, along the compressed rows or as pairs to be sorted; pivots and rows. */
__global__ void __launch_bounds__(THREADS) place_entries(const form_args a)
{
    const int64_t n = a.m.n, total = a.m.n_strict;
    auto before = [&](int64_t i) { return a.m.start[i] - i * a.m.step; };
    for_each_row(n, a.lanes, [&](int64_t i) { return before(i + 1) - before(i); }, [&](int64_t i, int lane, int lanes) {
        const int64_t earlier = before(i), count = before(i + 1) - earlier;
        const int64_t first = a.lower ? a.m.offsets[i] : a.m.offsets[i + 1] - count, p = a.m.forward ? i : n - 1 - i;
        for (int64_t s = lane; s < count; s += lanes) {
            const int64_t k = first + s, j = a.m.indices[k], at = a.m.forward ? earlier + s : total - 1 - earlier - s;
            const int32_t minor = (int32_t)(a.m.forward ? j : n - 1 - j);
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
            if (!a.keys) a.d.offsets[p + 1] = a.m.forward ? earlier + count : total - earlier;
            if (p == 0) a.d.offsets[0] = 0;
        }
    });
}

/** Sorted pairs into the form across the compressed rows; the first entry of row p is the first key that is not below p. */
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

__global__ void measure_rows(int64_t n, const int64_t *offsets, report *found)
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
            for (int64_t k = d.offsets[c]; k < d.offsets[c + 1] && d.columns[k] < c - c % group + group; k++) atomicAdd(&near_degree[d.columns[k]], 1);
}

int bits_for(int64_t count)
{
    int bits = 1;
    while (bits < 62 && (int64_t)1 << bits < count) bits++;
    return bits;
}
int lanes_for_mean(int64_t nnz, int64_t n)
{
    const int64_t mean = n ? nnz / n : 0;
    return mean < 4 ? 2 : mean < 8 ? 4 : mean < 16 ? 8 : mean < 32 ? 16 : 32;
}

trine_status read_back(trine_triangular plan, const report *from, report *to)
{
    trine_status status = trine_device_copy_async(plan->ctx, to, from, sizeof *to, plan->ctx->stream);
    return status ? status : trine_device_synchronize(plan->ctx, plan->ctx->stream);
}

/** The sentence about the row that the device found wrong. */
trine_status explain(trine_triangular plan, const device_pattern *m, int64_t row)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    int64_t ends[2], nnz = 0;
    int32_t *seen = nullptr, *indices = nullptr;
    const struct pattern pattern = {nullptr, nullptr, m->csr, m->lower_major};
    TRY(trine_copy(ctx, ends, TRINE_HOST, m->offsets + row, TRINE_DEVICE, sizeof ends));
    seen = (int32_t *)trine_host_calloc(ctx, plan->n, sizeof *seen);
    indices = (int32_t *)trine_host_alloc(ctx, ends[1] > ends[0] ? ends[1] - ends[0] : 0, sizeof *indices);
    if (!seen || !indices) status = TRINE_ERR_MEMORY;
    if (!status && ends[0] >= 0 && ends[0] < ends[1] && ends[1] <= m->nnz)
        status = trine_copy(ctx, indices, TRINE_HOST, m->indices + ends[0], TRINE_DEVICE, (size_t)(ends[1] - ends[0]) * sizeof *indices);
    if (!status) status = triangle_check_row(plan, &pattern, row, ends[0], ends[1], indices, seen, &nnz);
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
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    arena kept, scratch = {};
    unsigned long long *keys[2];
    int64_t *source[2];
    int32_t *indices;
    char *temporary;
    size_t bytes = 0;
    const int end_bit = 32 + bits_for(m->n);
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (unsigned long long *)nullptr, (unsigned long long *)nullptr, (int64_t *)nullptr,
                                               (int64_t *)nullptr, m->nnz, 0, end_bit, stream)));
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
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, keys[0], keys[1], source[0], source[1], m->nnz, 0, end_bit, stream)));
    take_indices<<<device_blocks_for(plan, m->nnz), THREADS, 0, stream>>>(m->nnz, keys[1], indices);
    TRY(GPU_LAUNCHED("sorting the rows"));
    m->indices = indices;
    m->source = source[1];
    TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

/** Look at the pattern; sort it if need be; where every row's entries start. */
trine_status inspect(trine_triangular plan, device_pattern *m)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const trine_triangular_options *o = &plan->options;
    arena kept, counted;
    report found, *on_device;
    int64_t *strict, *start;
    char *temporary;
    size_t bytes = 0;
    status = arena_allocate(ctx, &kept, [&](arena &s) {
        on_device = s.take<report>(1);
        strict = s.take<int64_t>(m->n + 1);
    });
    m->owned[3] = kept.base;
    TRY(status);
    {
        pattern_args a = {m->offsets, m->indices, m->n, m->nnz, false, o->diag == TRINE_NONUNIT, o->other_triangle_is_error != 0, lanes_for_mean(m->nnz, m->n)};
        const int blocks = device_blocks_for(plan, m->n * a.lanes);
        if (o->uplo == TRINE_UPLO_AUTO) {
            TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
            find_triangles<<<blocks, THREADS, 0, stream>>>(a, on_device);
            TRY(GPU_LAUNCHED("the look for triangles"));
            TRY(read_back(plan, on_device, &found));
            TRY(triangle_set_uplo(plan, m->csr, found.lower, found.upper));
        }
        a.lower = m->lower_major = m->csr == (o->uplo == TRINE_LOWER);
        for (int pass = 0; pass < 2; pass++) {
            TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
            inspect_rows<<<blocks, THREADS, 0, stream>>>(a, strict, on_device);
            TRY(GPU_LAUNCHED("the look at the pattern"));
            TRY(read_back(plan, on_device, &found));
            if (found.bad) TRY(explain(plan, m, m->n - (int64_t)found.bad));
            if (!found.unsorted) break;
            TRY(sort_rows(plan, m, a));
            a.indices = m->indices;
        }
    }
    m->n_strict = (int64_t)found.n_strict;
    m->squares = (double)found.squares, m->longest = (int64_t)found.longest, m->long_rows = (int64_t)found.long_rows;
    plan->info.nnz = m->n_strict + m->n;
    /* Offsets of a triangle that stands alone say where its entries start; else they are counted. */
    if (m->n_strict == m->nnz || (m->n_strict + m->n == m->nnz && (int64_t)found.n_diagonal == m->n)) {
        m->start = m->offsets;
        m->step = m->n_strict == m->nnz ? 0 : 1;
    } else {
        TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, strict, strict, m->n + 1, stream)));
        status = arena_allocate(ctx, &counted, [&](arena &s) {
            start = s.take<int64_t>(m->n + 1);
            temporary = s.take<char>((int64_t)bytes);
        });
        m->owned[4] = counted.base;
        TRY(status);
        TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, strict, start, m->n + 1, stream)));
        m->start = start;
        m->step = 0;
    }
done:
    return status;
}

} // namespace

trine_status device_pattern_build(trine_triangular plan, const device_pattern *m, triangle_form form, device_triangle *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const bool along = m->along_rows == (form == BY_ROWS);
    const int lanes = lanes_for_mean(m->n_strict, m->n);
    arena scratch = {};
    int32_t *keys[2] = {};
    entry *entries[2] = {};
    report *on_device = nullptr, found;
    char *temporary = nullptr;
    size_t bytes = 0;
    TRY(device_triangle_allocate(plan, d, m->n, m->n_strict));
    if (!along) {
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, keys[0], keys[1], entries[0], entries[1], m->n_strict, 0, bits_for(m->n), stream)));
        TRY(arena_allocate(ctx, &scratch, [&](arena &s) {
            for (int i = 0; i < 2; i++) keys[i] = s.take<int32_t>(m->n_strict), entries[i] = s.take<entry>(m->n_strict);
            on_device = s.take<report>(1);
            temporary = s.take<char>((int64_t)bytes);
        }));
    }
    if (m->n) {
        place_entries<<<device_blocks_for(plan, m->n * lanes), THREADS, 0, stream>>>({*m, *d, m->lower_major, keys[0], entries[0], lanes});
        TRY(GPU_LAUNCHED("placing the entries"));
    } else {
        TRY(trine_device_fill_async(ctx, d->offsets, 0, sizeof *d->offsets, ctx->stream));
    }
    d->squares = m->squares, d->longest_row = m->longest, d->long_rows = m->long_rows;
    if (!along && m->n) {
        if (m->n_strict)
            TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, keys[0], keys[1], entries[0], entries[1], m->n_strict, 0, bits_for(m->n), stream)));
        take_sorted<<<device_blocks_for(plan, m->n_strict + m->n), THREADS, 0, stream>>>(*d, keys[1], entries[1]);
        TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, ctx->stream));
        measure_rows<<<device_blocks_for(plan, m->n), THREADS, 0, stream>>>(m->n, d->offsets, on_device);
        TRY(GPU_LAUNCHED("the transposition"));
        TRY(read_back(plan, on_device, &found));
        d->squares = (double)found.squares, d->longest_row = (int64_t)found.longest, d->long_rows = (int64_t)found.long_rows;
    }
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

trine_status device_pattern_count_in_degrees(trine_triangular plan, const device_triangle *columns, int group, int32_t *in_degree, int32_t *near_degree)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const size_t bytes = (size_t)columns->n * sizeof(int32_t);
    if (!columns->n) return TRINE_SUCCESS;
    TRY(trine_device_fill_async(ctx, in_degree, 0, bytes, ctx->stream));
    if (near_degree) TRY(trine_device_fill_async(ctx, near_degree, 0, bytes, ctx->stream));
    count_in_degrees<<<device_blocks_for(plan, columns->nnz + columns->n), THREADS, 0, (gpuStream_t)ctx->stream>>>(*columns, group, in_degree, near_degree);
    TRY(GPU_LAUNCHED("counting in-degrees"));
done:
    return status;
}

trine_status device_analyse(trine_triangular plan, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    device_pattern m = {};
    trine_matrix_info info;
    int saved;
    trine_matrix_get_info(T, &info);
    trine_matrix_get_arrays(T, &m.offsets, &m.indices, nullptr);
    m.n = info.n_rows, m.nnz = info.nnz;
    m.csr = info.format == TRINE_CSR;
    plan->pattern = &m;
    trine_device_enter(ctx, &saved);
    if (info.space == TRINE_HOST) {
        TRY(trine_device_upload(ctx, m.offsets, (size_t)(m.n + 1) * sizeof *m.offsets, &m.owned[0]));
        TRY(trine_device_upload(ctx, m.indices, (size_t)m.nnz * sizeof *m.indices, &m.owned[1]));
        m.offsets = (const int64_t *)m.owned[0];
        m.indices = (const int32_t *)m.owned[1];
    }
    TRY(inspect(plan, &m));
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        struct triangle *t = &plan->side[side];
        t->n = m.n, t->nnz = m.n_strict, t->n_levels = -1;
        m.along_rows = m.csr == (side == SIDE_N);
        m.forward = m.along_rows == m.lower_major;
        TRY(plan->backend->prepare(plan, t));
    }
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* T may go now, and solves may run on any stream */
done:
    plan->pattern = nullptr;
    for (void *p : m.owned) trine_free(ctx, TRINE_DEVICE, p);
    trine_device_leave(ctx, saved);
    return status;
}
