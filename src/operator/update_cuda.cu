// op_update on the GPU: one kernel, a thread an element, neighbours along the contiguous direction of y.
#include "core/gpu_grid.cuh"
#include "core/gpu_precision.cuh"
#include "core/gpu_scalar.cuh"
#include "operator/operator.h"

namespace {

/** From doubles, or from the other precision. */
template <typename T> __device__ T scalar_of(const double a[2])
{
    if constexpr (scalar<T>::is_complex) return T{static_cast<real_of<T>>(a[0]), static_cast<real_of<T>>(a[1])};
    else return static_cast<T>(a[0]);
}
template <typename T, typename X> __device__ T converted(X x)
{
    if constexpr (scalar<T>::is_complex) return T{static_cast<real_of<T>>(x.x), static_cast<real_of<T>>(x.y)};
    else return static_cast<T>(x);
}
/** a x; a real factor leaves infinite parts as they are. */
template <typename T> __device__ T times(T a, T x)
{
    if constexpr (scalar<T>::is_complex) {
        if (a.y == 0) return T{a.x * x.x, a.x * x.y};
    }
    return a * x;
}

/** X: type of u.x. The grid's x runs along the rows of the block if by_columns (y column-major), else along its
 *  columns; y over the other direction. */
template <typename T, typename X> __global__ void update_block(op_update u, bool by_columns)
{
    const X *from = static_cast<const X *>(u.x);
    const T *diagonal = static_cast<const T *>(u.d);
    T *to = static_cast<T *>(u.y);
    const bool reads_x = u.alpha[0] != 0 || u.alpha[1] != 0, reads_y = u.beta[0] != 0 || u.beta[1] != 0;
    const T alpha = scalar_of<T>(u.alpha), beta = scalar_of<T>(u.beta);
    const int64_t x0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, dx = gridDim.x * (int64_t)blockDim.x;
    const int64_t y0 = blockIdx.y * (int64_t)blockDim.y + threadIdx.y, dy = gridDim.y * (int64_t)blockDim.y;
    const int64_t i0 = by_columns ? x0 : y0, di = by_columns ? dx : dy, j0 = by_columns ? y0 : x0,
                  dj = by_columns ? dy : dx;
    for (int64_t i = i0; i < u.rows; i += di) {
        T d = diagonal && reads_x ? diagonal[i] : one_of<T>();
        if (u.conjugate) d = conjugate_of(d);
        for (int64_t j = j0; j < u.cols; j += dj) {
            T *y = to + i * u.y_row + j * u.y_col, sum = zero_of<T>();
            if (reads_x) {
                T x = converted<T>(from[i * u.x_row + j * u.x_col]);
                if (diagonal) x = d * x;
                sum = times(alpha, x);
            }
            if (reads_y) sum = reads_x ? sum + times(beta, *y) : times(beta, *y);
            *y = sum;
        }
    }
}

template <typename T> trine_status update(trine_context ctx, const op_update *u, void *stream)
{
    const bool by_columns = u->y_row == 1;
    const int64_t nx = by_columns ? u->rows : u->cols, ny = by_columns ? u->cols : u->rows;
    const element_grid g = grid_of_elements(nx, ny);
    int saved;
    trine_device_enter(ctx, &saved);
    if (u->other)
        update_block<T, typename other_precision<T>::type>
            <<<g.grid, g.block, 0, static_cast<gpuStream_t>(stream)>>>(*u, by_columns);
    else update_block<T, T><<<g.grid, g.block, 0, static_cast<gpuStream_t>(stream)>>>(*u, by_columns);
    const trine_status status = GPU_LAUNCHED("update_block");
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct operator_backend operator_cuda = {
    {nullptr, update<float>, update<double>, update<complex_of<float>>, update<complex_of<double>>}};
