// trine_vectors_permute on the GPU: one kernel, a thread an element, neighbours along the contiguous direction of Y.
#include "core/gpu.h"
#include "matrix/vectors.h"

namespace {

__device__ float scaled(float s, float x) { return s * x; }
__device__ double scaled(double s, double x) { return s * x; }
__device__ float2 scaled(float s, float2 x) { return make_float2(s * x.x, s * x.y); }
__device__ double2 scaled(double s, double2 x) { return make_double2(s * x.x, s * x.y); }

__device__ float conjugated(float x) { return x; }
__device__ double conjugated(double x) { return x; }
__device__ float2 conjugated(float2 x) { return make_float2(x.x, -x.y); }
__device__ double2 conjugated(double2 x) { return make_double2(x.x, -x.y); }

/** x runs along the rows of the block if by_columns (Y column-major), else along its columns; y over the other direction. */
template <typename T, typename R> __global__ void permute_rows(vectors_move m, bool by_columns)
{
    const T *from = static_cast<const T *>(m.from);
    T *to = static_cast<T *>(m.to);
    const R *scale = static_cast<const R *>(m.scale);
    const int64_t x0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, dx = gridDim.x * (int64_t)blockDim.x;
    const int64_t y0 = blockIdx.y * (int64_t)blockDim.y + threadIdx.y, dy = gridDim.y * (int64_t)blockDim.y;
    const int64_t i0 = by_columns ? x0 : y0, di = by_columns ? dx : dy, j0 = by_columns ? y0 : x0, dj = by_columns ? dy : dx;
    for (int64_t i = i0; i < m.rows; i += di) {
        const int64_t p = m.perm ? m.perm[i] : i;
        const T *source = from + (m.inverse ? i : p) * m.from_row;
        T *target = to + (m.inverse ? p : i) * m.to_row;
        for (int64_t j = j0; j < m.cols; j += dj) {
            const T given = source[j * m.from_col], x = m.conjugate ? conjugated(given) : given;
            target[j * m.to_col] = scale ? scaled(scale[i], x) : x;
        }
    }
}

unsigned blocks(int64_t count, int64_t a_block, int64_t most)
{
    const int64_t needed = (count + a_block - 1) / a_block;
    return static_cast<unsigned>(needed < most ? needed : most);
}

template <typename T, typename R> trine_status permute(trine_context ctx, const vectors_move *m, void *stream)
{
    const bool by_columns = m->to_row == 1;
    const int64_t nx = by_columns ? m->rows : m->cols, ny = by_columns ? m->cols : m->rows;
    unsigned width = 1;
    while (width < 256 && width < nx) width *= 2;
    const dim3 block(width, 256 / width);
    const dim3 grid(blocks(nx, block.x, 1 << 20), blocks(ny, block.y, 65535));
    int saved;
    trine_device_enter(ctx, &saved);
    permute_rows<T, R><<<grid, block, 0, static_cast<gpuStream_t>(stream)>>>(*m, by_columns);
    const trine_status status = GPU_LAUNCHED("permute_rows");
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct vectors_backend vectors_cuda = {
    {nullptr, permute<float, float>, permute<double, double>, permute<float2, float>, permute<double2, double>}};
