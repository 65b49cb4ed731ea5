/* Values of a triangle in CSR or CSC to their places in the panels: a thread an entry. */
#include "supernodal/cuda/device.cuh"

namespace {

template <typename T> __global__ void __launch_bounds__(256)
    place_entries(const int64_t *places, int64_t count, const T *from, T *to)
{
    for (int64_t k = (int64_t)blockIdx.x * 256 + threadIdx.x; k < count; k += (int64_t)gridDim.x * 256)
        if (places[k] >= 0) to[places[k]] = from[k];
}

template <typename T> trine_status place(trine_supernodal plan, const void *values, void *stream)
{
    const int64_t count = plan->places.count, needed = (count + 255) / 256,
                  most = 16 * (int64_t)plan->base.ctx->info.multiprocessors;
    if (!count) return TRINE_SUCCESS;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    place_entries<T><<<(unsigned)(needed < most ? needed : most), 256, 0, static_cast<gpuStream_t>(stream)>>>(
        plan->places.of_entry, count, static_cast<const T *>(values), static_cast<T *>(plan->panel_values));
    const trine_status status = GPU_LAUNCHED("place_entries");
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

} // namespace

extern "C" trine_status supernodal_place_on_gpu(trine_supernodal plan, const void *values, void *stream)
{
    switch (plan->base.dtype) {
    case TRINE_S: return place<float>(plan, values, stream);
    case TRINE_D: return place<double>(plan, values, stream);
    case TRINE_C: return place<complex_of<float>>(plan, values, stream);
    case TRINE_Z: return place<complex_of<double>>(plan, values, stream);
    }
    return TRINE_ERR_ARGUMENT;
}
