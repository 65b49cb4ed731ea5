// Bands from the values of a sparse matrix: a thread a position.
#include "core/gpu_scalar.cuh"
#include "tridiagonal/plan/plan.h"

namespace {

template <typename T> __global__ void gather_bands(bands_map m, const T *__restrict__ values, T *__restrict__ bands)
{
    const int b = static_cast<int>(blockIdx.y);
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < m.n; i += gridDim.x * (int64_t)blockDim.x) {
        const int64_t at = b * m.n + i;
        const int slot = m.slots[at];
        bands[at] = slot == BANDS_NO_ENTRY ? zero_of<T>() : values[m.starts[bands_line(&m, b, i)] + slot];
    }
}

template <typename T> void launch(const bands_map *m, const void *values, void *bands, void *stream)
{
    constexpr int threads = 256;
    constexpr int64_t most = 1 << 20;
    const int64_t needed = (m->n + threads - 1) / threads;
    const dim3 grid(static_cast<unsigned>(needed < most ? needed : most), static_cast<unsigned>(m->bands));
    gather_bands<<<grid, threads, 0, static_cast<gpuStream_t>(stream)>>>(*m, static_cast<const T *>(values),
                                                                         static_cast<T *>(bands));
}

trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands, void *stream)
{
    static void (*const launches[])(const bands_map *, const void *, void *, void *) = {
        nullptr, launch<float>, launch<double>, launch<complex_of<float>>, launch<complex_of<double>>};
    if (!m->n) return TRINE_SUCCESS;
    int saved;
    trine_device_enter(ctx, &saved);
    launches[t](m, values, bands, stream);
    const trine_status status = GPU_LAUNCHED("gather_bands");
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct bands_backend bands_cuda = {gather};
