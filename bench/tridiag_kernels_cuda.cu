/* The kernels of gtsv's two passes by themselves: as they are, and without their arithmetic, which is the time of
 * the same accesses through shared memory (Klein 2024, Figure 12, left). */
#include "tridiag_kernels.h"

#include "tridiagonal/gtsv/cuda/tuning.h"
#include "tridiagonal/gtsv/cuda/two_pass.cuh"

namespace {

__global__ void copy(int64_t vectors, const int4 *from, int4 *to)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < vectors; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/** The accesses of reduce_tiles and, if STORING, of substitute_tiles. */
template <typename T, int M, bool STORING> __global__ void __launch_bounds__(WARP, (resident_tiles<T, 1, M>()))
    move_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, 1, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const int64_t row = blockIdx.x * (int64_t)tile::ROWS;
    load_tile(t, s.A, s.D, row, 0, 1);
    wait_for_tile(t, s.A, row);
    if constexpr (STORING) {
        store_tile(t, s.A.n, s.X, row, 0, 1);
    } else if (threadIdx.x < 2) {
        const int64_t i = 2 * (int64_t)blockIdx.x + threadIdx.x;
        s.lower[i] = t.array(0)[threadIdx.x], s.diag[i] = t.array(1)[threadIdx.x], s.upper[i] = t.array(2)[threadIdx.x],
        s.coarse.data[i] = t.array(3)[threadIdx.x];
    }
}

template <typename T> int launch(tridiag_kernel kernel, const tridiag_arrays *arrays)
{
    constexpr int M = LONG<T, 1>;
    using tile = tile<T, 1, M>;
    const int64_t n = arrays->n, tiles = (n + tile::ROWS - 1) / tile::ROWS, ld = (2 * tiles + 3) / 4 * 4;
    const auto stream = (gpuStream_t)arrays->stream;
    T *work = (T *)arrays->work;
    two_pass<T> s = {{{n, 0, 0, false, false, (const T *)arrays->a, (const T *)arrays->b, (const T *)arrays->c},
                      pivoting_of(TRINE_PIVOT_SCALED_PARTIAL, n, false),
                      1,
                      {(const T *)arrays->d, n},
                      {(T *)arrays->x, n}},
                     work,
                     work + ld,
                     work + 2 * ld,
                     work + 3 * ld,
                     {work + 4 * ld, ld},
                     tiles};
    s.coarse_n = 2 * tiles;
    void (*const kernels[])(two_pass<T>) = {nullptr, reduce_tiles<T, 1, M>, move_tiles<T, M, false>,
                                            substitute_tiles<T, 1, M>, move_tiles<T, M, true>};
    if (kernel == TRIDIAG_COPY) {
        const int64_t vectors = n * (int64_t)sizeof(T) / 16, blocks = (vectors + 255) / 256;
        copy<<<(unsigned)blocks, 256, 0, stream>>>(vectors, (const int4 *)arrays->d, (int4 *)arrays->x);
        return gpuGetLastError();
    }
    gpuError_t error = gpuFuncSetAttribute((const void *)kernels[kernel], gpuFuncAttributePreferredSharedMemoryCarveout,
                                           gpuSharedmemCarveoutMaxShared);
    kernels[kernel]<<<(unsigned)tiles, WARP, tile::BYTES, stream>>>(s);
    return error ? error : gpuGetLastError();
}

} // namespace

int tridiag_kernel_launch(tridiag_kernel kernel, const tridiag_arrays *arrays)
{
    return arrays->is_double ? launch<double>(kernel, arrays) : launch<float>(kernel, arrays);
}
