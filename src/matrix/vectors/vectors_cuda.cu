// trine_vectors_permute and _add on the GPU: one kernel, a thread an element, neighbours along the contiguous direction
// of Y. trine_vectors_residual: a few lanes a row, sums in two words.
#include "core/gpu_grid.cuh"
#include "core/gpu_two_words.cuh"
#include "matrix/vectors/vectors.h"

namespace {

template <typename R> __device__ R scaled(R s, R x) { return s * x; }
template <typename R> __device__ complex_of<R> scaled(R s, complex_of<R> x) { return {s * x.x, s * x.y}; }

/** x runs along the rows of the block if by_columns (Y column-major), else along its columns; y over the other
 *  direction. */
template <typename T> __global__ void permute_rows(vectors_move m, bool by_columns)
{
    const T *from = static_cast<const T *>(m.from);
    T *to = static_cast<T *>(m.to);
    const real_of<T> *scale = static_cast<const real_of<T> *>(m.scale);
    const int64_t x0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, dx = gridDim.x * (int64_t)blockDim.x;
    const int64_t y0 = blockIdx.y * (int64_t)blockDim.y + threadIdx.y, dy = gridDim.y * (int64_t)blockDim.y;
    const int64_t i0 = by_columns ? x0 : y0, di = by_columns ? dx : dy, j0 = by_columns ? y0 : x0,
                  dj = by_columns ? dy : dx;
    for (int64_t i = i0; i < m.rows; i += di) {
        const int64_t p = m.perm ? m.perm[i] : i;
        const T *source = from + (m.inverse ? i : p) * m.from_row;
        T *target = to + (m.inverse ? p : i) * m.to_row;
        for (int64_t j = j0; j < m.cols; j += dj) {
            const T given = source[j * m.from_col], x = m.conjugate ? conjugate_of(given) : given,
                    y = scale ? scaled(scale[i], x) : x;
            target[j * m.to_col] = m.add ? target[j * m.to_col] + y : y;
        }
    }
}

constexpr int MOVE_THREADS = 256, MOVE_ROWS = 8;

/** Columns without gaps, MOVE_ROWS rows a thread: with one, two loads of which the second needs the first are too
 *  little in flight. */
template <typename T> __global__ void __launch_bounds__(MOVE_THREADS) permute_columns(vectors_move m)
{
    const int64_t first = blockIdx.x * (int64_t)(MOVE_THREADS * MOVE_ROWS) + threadIdx.x;
    int64_t p[MOVE_ROWS];
#pragma unroll
    for (int e = 0; e < MOVE_ROWS; e++) {
        const int64_t i = first + e * MOVE_THREADS;
        p[e] = i < m.rows ? m.perm[i] : 0;
    }
    for (int64_t j = blockIdx.y; j < m.cols; j += gridDim.y) {
        const T *from = static_cast<const T *>(m.from) + j * m.from_col;
        T *to = static_cast<T *>(m.to) + j * m.to_col;
        T x[MOVE_ROWS];
#pragma unroll
        for (int e = 0; e < MOVE_ROWS; e++) {
            const int64_t i = first + e * MOVE_THREADS;
            if (i < m.rows) x[e] = from[m.inverse ? i : p[e]];
            if (i < m.rows && m.add) x[e] = x[e] + to[m.inverse ? p[e] : i];
        }
#pragma unroll
        for (int e = 0; e < MOVE_ROWS; e++) {
            const int64_t i = first + e * MOVE_THREADS;
            if (i < m.rows) to[m.inverse ? p[e] : i] = x[e];
        }
    }
}

template <typename T> trine_status permute_whole(trine_context ctx, const vectors_move *m, void *stream)
{
    const int64_t blocks = (m->rows + MOVE_THREADS * MOVE_ROWS - 1) / (MOVE_THREADS * MOVE_ROWS);
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(m->cols < 65535 ? m->cols : 65535));
    int saved;
    trine_device_enter(ctx, &saved);
    permute_columns<T><<<grid, MOVE_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(*m);
    const trine_status status = GPU_LAUNCHED("permute_columns");
    trine_device_leave(ctx, saved);
    return status;
}

template <typename T> trine_status permute(trine_context ctx, const vectors_move *m, void *stream)
{
    const bool by_columns = m->to_row == 1;
    if (by_columns && m->from_row == 1 && m->perm && !m->scale && !m->conjugate && m->rows > 0 && m->cols > 0)
        return permute_whole<T>(ctx, m, stream);
    const int64_t nx = by_columns ? m->rows : m->cols, ny = by_columns ? m->cols : m->rows;
    const element_grid g = grid_of_elements(nx, ny);
    int saved;
    trine_device_enter(ctx, &saved);
    permute_rows<T><<<g.grid, g.block, 0, static_cast<gpuStream_t>(stream)>>>(*m, by_columns);
    const trine_status status = GPU_LAUNCHED("permute_rows");
    trine_device_leave(ctx, saved);
    return status;
}

/* ------------------------------------------------------------------ residuals */

constexpr int LANES = 8; // of a row

template <typename T> __global__ void residual_rows(vectors_residual v)
{
    const int lane = threadIdx.x % LANES;
    const int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / LANES;
    const int64_t begin = i < v.rows ? v.offsets[i] : 0, end = i < v.rows ? v.offsets[i + 1] : 0;
    for (int64_t j = blockIdx.y; j < v.cols; j += gridDim.y) {
        const T *x = static_cast<const T *>(v.x) + j * v.x_col;
        row_sum<T> sum;
        if (lane == 0 && i < v.rows) sum.add(static_cast<const T *>(v.b)[i * v.b_row + j * v.b_col]);
        for (int64_t k = begin + lane; k < end; k += LANES)
            sum.subtract_product(static_cast<const T *>(v.values)[k], x[v.columns[k] * v.x_row]);
        for (int mask = LANES / 2; mask; mask /= 2) sum.add_lane(mask);
        if (lane == 0 && i < v.rows) static_cast<T *>(v.r)[i * v.r_row + j * v.r_col] = sum.rounded();
    }
}

template <typename T> trine_status residual(trine_context ctx, const vectors_residual *v, void *stream)
{
    constexpr int THREADS = 256;
    const dim3 grid(static_cast<unsigned>((v->rows * LANES + THREADS - 1) / THREADS),
                    static_cast<unsigned>(v->cols < 65535 ? v->cols : 65535));
    int saved;
    trine_device_enter(ctx, &saved);
    residual_rows<T><<<grid, THREADS, 0, static_cast<gpuStream_t>(stream)>>>(*v);
    const trine_status status = GPU_LAUNCHED("residual_rows");
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct vectors_backend vectors_cuda = {
    {nullptr, permute<float>, permute<double>, permute<complex_of<float>>, permute<complex_of<double>>},
    {nullptr, residual<float>, residual<double>, residual<complex_of<float>>, residual<complex_of<double>>}};
