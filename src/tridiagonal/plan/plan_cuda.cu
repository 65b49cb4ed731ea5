// Bands or blocks from the values of a sparse matrix: a thread a position.
#include "core/gpu_scalar.cuh"
#include "tridiagonal/plan/plan.h"

namespace {

// BLOCK: m.block.
template <typename T, int BLOCK> __global__ void gather_bands(bands_map m, const T *__restrict__ values,
                                                              T *__restrict__ bands)
{
    constexpr int SIZE = BLOCK * BLOCK;
    const int b = static_cast<int>(blockIdx.y);
    const int64_t positions = m.rows * SIZE;
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < positions;
         k += gridDim.x * (int64_t)blockDim.x) {
        const int64_t row = k / SIZE, at = b * positions + k;
        const int element = static_cast<int>(k - row * SIZE), slot = m.slots[at];
        bands[at] = slot == BANDS_NO_ENTRY
                        ? zero_of<T>()
                        : values[m.starts[bands_line(&m, BLOCK, b, row, element % BLOCK, element / BLOCK)] + slot];
    }
}

template <typename T, int BLOCK> void launch_block(const bands_map *m, const void *values, void *bands, void *stream)
{
    constexpr int threads = 256;
    constexpr int64_t most = 1 << 20;
    const int64_t needed = (bands_positions(m) + threads - 1) / threads;
    const dim3 grid(static_cast<unsigned>(needed < most ? needed : most), static_cast<unsigned>(m->bands));
    gather_bands<T, BLOCK><<<grid, threads, 0, static_cast<gpuStream_t>(stream)>>>(*m, static_cast<const T *>(values),
                                                                                   static_cast<T *>(bands));
}

using launch_fn = void (*)(const bands_map *, const void *values, void *bands, void *stream);

template <typename T> void launch(const bands_map *m, const void *values, void *bands, void *stream)
{
    static const launch_fn launches[] = {nullptr,
                                         launch_block<T, 1>,
                                         launch_block<T, 2>,
                                         launch_block<T, 3>,
                                         launch_block<T, 4>,
                                         launch_block<T, 5>,
                                         launch_block<T, 6>,
                                         launch_block<T, 7>,
                                         launch_block<T, 8>};
    launches[m->block](m, values, bands, stream);
}

trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands, void *stream)
{
    static const launch_fn launches[] = {nullptr, launch<float>, launch<double>, launch<complex_of<float>>,
                                         launch<complex_of<double>>};
    if (!m->rows) return TRINE_SUCCESS;
    int saved;
    trine_device_enter(ctx, &saved);
    launches[t](m, values, bands, stream);
    const trine_status status = GPU_LAUNCHED("gather_bands");
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct bands_backend bands_cuda = {gather};
