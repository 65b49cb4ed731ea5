// The GPU backend's table, what it keeps, and prefix sums.
#include "core/gpu_cub.cuh"
#include "forest/cuda/device.cuh"

trine_status forest_cuda_scan_bytes(int64_t n, size_t *bytes)
{
    size_t narrow = 0, wide = 0;
    const trine_status status =
        GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, narrow, (int32_t *)nullptr, (int32_t *)nullptr, n, nullptr));
    if (status) return status;
    *bytes = narrow;
    const trine_status wider =
        GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, wide, (int64_t *)nullptr, (int64_t *)nullptr, n, nullptr));
    if (wide > narrow) *bytes = wide;
    return wider;
}

namespace {

template <typename T> trine_status add_before(trine_forest f, const T *values, T *sums, int64_t n, void *stream)
{
    forest_device *own = static_cast<forest_device *>(f->own);
    return GPU(gpucub::DeviceScan::ExclusiveSum(own->scratch, own->scratch_bytes, values, sums, n,
                                                static_cast<gpuStream_t>(stream)));
}

trine_status create(trine_forest f)
{
    const device_scope scope(f->ctx);
    forest_device *own = static_cast<forest_device *>(trine_host_calloc(f->ctx, 1, sizeof *own));
    static_assert(sizeof *own <= FOREST_OWN_BYTES, "what forest_create_open tells");
    if (!own) return TRINE_ERR_MEMORY;
    f->own = own;
    trine_status status = forest_cuda_scan_bytes(f->graph.n, &own->scratch_bytes);
    if (!status) status = trine_alloc(f->ctx, TRINE_DEVICE, own->scratch_bytes, &own->scratch);
    if (!status)
        status = trine_alloc(f->ctx, TRINE_DEVICE, (FOREST_PASSES + 1) * sizeof *own->goes_on, (void **)&own->goes_on);
    if (!status) status = forest_cuda_count_together(own);
    f->info.capturable = 2;
    return status;
}

trine_status count_bytes(trine_forest f, int64_t *bytes)
{
    const device_scope scope(f->ctx);
    size_t scratch = 0;
    const trine_status status = forest_cuda_scan_bytes(f->graph.n, &scratch);
    *bytes = (int64_t)scratch + (FOREST_PASSES + 1) * (int64_t)sizeof(int32_t);
    return status;
}

void release(trine_forest f)
{
    forest_device *own = static_cast<forest_device *>(f->own);
    if (!own) return;
    const device_scope scope(f->ctx);
    trine_free(f->ctx, TRINE_DEVICE, own->scratch);
    trine_free(f->ctx, TRINE_DEVICE, own->goes_on);
    trine_free(f->ctx, TRINE_HOST, own);
}

} // namespace

trine_status forest_cuda_add_before(trine_forest f, const int32_t *values, int32_t *sums, int64_t n, void *stream)
{
    return add_before(f, values, sums, n, stream);
}
trine_status forest_cuda_add_before(trine_forest f, const int64_t *values, int64_t *sums, int64_t n, void *stream)
{
    return add_before(f, values, sums, n, stream);
}

const struct forest_backend forest_cuda = {create,
                                           count_bytes,
                                           release,
                                           forest_cuda_set_weights,
                                           forest_cuda_factor,
                                           forest_cuda_propose,
                                           forest_cuda_scan_pass,
                                           forest_cuda_break_cycles,
                                           forest_cuda_order,
                                           forest_cuda_exchange,
                                           forest_cuda_scale,
                                           forest_cuda_extract,
                                           forest_cuda_coarsen,
                                           forest_cuda_extract_blocks,
                                           forest_cuda_add_up};
