// Graphs of matrices on a GPU: launches of graph.cuh, with prefix sums and a sort by where entries belong.
#include <limits>

#include "core/gpu_cub.cuh"
#include "precond/cuda/graph.cuh"
#include "precond/cuda/launch.cuh"

namespace {

int bits_of(int64_t n)
{
    int bits = 1;
    while (bits < 31 && (int64_t)1 << bits < n) bits++;
    return bits;
}

rows_view view_of(const precond_device_rows *B) { return {B->offsets, B->ends, B->columns}; }

trine_status scratch(int64_t n, int64_t most, size_t *bytes)
{
    size_t scan = 0, sort = 0;
    gpucub::DoubleBuffer<int32_t> none(nullptr, nullptr);
    trine_status status = GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, scan, static_cast<int64_t *>(nullptr),
                                                               static_cast<int64_t *>(nullptr), n + 1, nullptr));
    if (!status)
        status = GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, sort, none, none, most, 0, bits_of(n), nullptr));
    *bytes = scan > sort ? scan : sort;
    return status;
}

/** Prefix sums of n + 1 numbers, in place. */
trine_status add_before(const precond_device_lists *l, int64_t n, int64_t *numbers, gpuStream_t s)
{
    size_t bytes = l->scratch_bytes;
    return GPU(gpucub::DeviceScan::ExclusiveSum(l->scratch, bytes, numbers, numbers, n + 1, s));
}

trine_status count(trine_precond p, const precond_device_rows *B, const precond_device_lists *l, void *stream)
{
    const int64_t n = p->base.n;
    const size_t bytes = static_cast<size_t>(n + 1) * sizeof *l->missing;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_device_fill_async(p->base.ctx, l->missing, 0, bytes, stream));
    TRY(trine_device_fill_async(p->base.ctx, l->extra, 0, bytes, stream));
    TRY(launch_each(p, n * GRAPH_LANES, stream,
                    count_missing{view_of(B), reinterpret_cast<unsigned long long *>(l->missing),
                                  reinterpret_cast<unsigned long long *>(l->extra)}));
    TRY(trine_device_fill_async(p->base.ctx, l->longest, 0, sizeof *l->longest, stream));
    TRY(launch_each(p, n + 1, stream,
                    count_row{view_of(B), l->extra, l->rows, reinterpret_cast<unsigned long long *>(l->longest), n}));
    {
        const device_scope scope(p->base.ctx);
        const gpuStream_t s = static_cast<gpuStream_t>(stream);
        TRY(add_before(l, n, l->missing, s));
        TRY(add_before(l, n, l->extra, s));
        TRY(add_before(l, n, l->rows, s));
    }
done:
    return status;
}

trine_status sort(trine_precond p, const precond_device_rows *B, precond_device_lists *l, int64_t missing, void *stream)
{
    const int64_t n = p->base.n;
    trine_status status = TRINE_SUCCESS;
    l->sorted = l->sources[0];
    if (!missing) return TRINE_SUCCESS;
    TRY(trine_device_fill_async(p->base.ctx, l->filled, 0, static_cast<size_t>(n) * sizeof *l->filled, stream));
    TRY(launch_each(p, n * GRAPH_LANES, stream,
                    list_missing{view_of(B), l->missing, l->filled, l->keys[0], l->sources[0]}));
    {
        const device_scope scope(p->base.ctx);
        size_t bytes = l->scratch_bytes;
        gpucub::DoubleBuffer<int32_t> keys(l->keys[0], l->keys[1]), from(l->sources[0], l->sources[1]);
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(l->scratch, bytes, keys, from, missing, 0, bits_of(n),
                                                   static_cast<gpuStream_t>(stream))));
        l->sorted = from.Current();
    }
done:
    return status;
}

template <typename T> trine_status merge(trine_precond p, const precond_device_rows *B, const void *by,
                                         const uint8_t *kept, bool drops, const precond_device_lists *l,
                                         const precond_device_graph *g, void *stream)
{
    using R = real_of<T>;
    const R least = drops ? PRECOND_ROUNDING * std::numeric_limits<R>::epsilon() : R(0);
    return launch_each(p, p->base.n * GRAPH_LANES, stream,
                       merge_row<T>{view_of(B), static_cast<const T *>(B->values), static_cast<const T *>(by), kept,
                                    l->extra, l->rows, l->sorted, g->begin, g->end, g->columns,
                                    static_cast<R *>(g->weights), least});
}

} // namespace

const struct precond_device_graphs precond_cuda_graphs = {scratch, count, sort, PRECOND_TABLE(merge)};
