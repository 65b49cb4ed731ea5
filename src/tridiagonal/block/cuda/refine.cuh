/* Iterative refinement on the GPU: residuals, errors of columns, corrections, and bands solved row by row where
 * these do not suffice. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_REFINE_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_REFINE_CUH

#include "tridiagonal/block/cuda/panel.cuh"

namespace trine_block {

/** Backward errors of the columns, before and after refinement, as bits of a float >= 0, which order like it. before
 *  = NOT_TO_MEND: of blocks, and where the system itself is not finite. */
struct column_errors { unsigned before, after; };
constexpr unsigned NOT_TO_MEND = ~0u;
__device__ inline bool exceeds(unsigned error, int bound) { return error > __float_as_uint((float)bound); }

/** kept := D; the errors of bands are still to be found. */
template <typename T> __global__ void keep_columns(int64_t n, const T *D, int64_t ldd, T *kept, bool banded,
                                                   column_errors *errors)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) errors[blockIdx.y] = {banded ? 0 : NOT_TO_MEND, 0};
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        kept[i + blockIdx.y * n] = D[i + blockIdx.y * ldd];
}
/** X := X + correction, in columns that are not good already. */
template <typename T> __global__ void add_columns(int64_t n, const T *correction, T *X, int64_t ldx,
                                                  const column_errors *errors)
{
    if (!exceeds(errors[blockIdx.y].before, BLOCK_SMALL_ERROR)) return;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        X[i + blockIdx.y * ldx] = X[i + blockIdx.y * ldx] + correction[i + blockIdx.y * n];
}
/** d - op(A) x in a row. */
template <typename T> __device__ inline T given_residual(const block_matrix &A, int64_t row, const T *x, T d)
{
    const int64_t j = row / A.size;
    for (int side = -1; side <= 1; side++) {
        const int64_t neighbour = j + side < 0         ? A.rows - 1
                                  : j + side >= A.rows ? 0
                                                       : j + side,
                      first = first_unknown(A, neighbour);
        for (int q = 0; q < unknowns_of(A, neighbour); q++)
            d = d - given_element<T>(A, j, side, (int)(row % A.size), q) * x[first + q];
    }
    return d;
}
/** residual := d - op(A) x, of bands times their rows' scales if they are scaled, and the columns' errors, a thread
 *  a row; AGAIN: only the errors, of columns that have been corrected. */
template <typename T, bool AGAIN>
__global__ void subtract_product(const __grid_constant__ block_matrix A, bool is_scaled, const T *D, const T *X,
                                 int64_t ldx, T *residual, column_errors *errors)
{
    const T *x = X + blockIdx.y * ldx, *d = D + blockIdx.y * A.n;
    unsigned worst = 0;
    if (AGAIN && (!exceeds(errors[blockIdx.y].before, BLOCK_SMALL_ERROR) || errors[blockIdx.y].before == NOT_TO_MEND))
        return;
    for (int64_t row = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; row < A.n;
         row += (int64_t)gridDim.x * blockDim.x) {
        if (!A.banded) {
            residual[row + blockIdx.y * A.n] = given_residual(A, row, x, d[row]);
            continue;
        }
        real_of<T> error;
        const T r = row_residual(&A, is_scaled ? row_scale<T>(&A, row) : 1, row, x, d[row], &error);
        worst = max(worst, error < 0 ? NOT_TO_MEND : __float_as_uint(fabsf((float)error)));
        if (!AGAIN) residual[row + blockIdx.y * A.n] = r;
    }
    worst = __reduce_max_sync(~0u, worst);
    if (threadIdx.x % WARP == 0 && worst)
        atomicMax(AGAIN ? &errors[blockIdx.y].after : &errors[blockIdx.y].before, worst);
}
/** Solve bands row by row where a column's error is large: one warp. */
template <typename T>
__global__ void __launch_bounds__(WARP)
    solve_by_rows(const __grid_constant__ block_matrix A, int64_t nrhs, T *factors, const T *D, T *X, int64_t ldx,
                  T *residual, const column_errors *errors)
{
    __shared__ __align__(16) unsigned char memory[2 * SEQUENTIAL_ROWS * SEQUENTIAL_COLUMNS * sizeof(T)];
    __shared__ real_of<T> shared[2];
    bool is_large = false;
    const auto is_to_mend = [&](int64_t c) {
        return exceeds(errors[c].after, BLOCK_LARGE_ERROR) && errors[c].after != NOT_TO_MEND;
    };
    for (int64_t c = threadIdx.x; c < nrhs; c += WARP) is_large |= is_to_mend(c);
    if (!__any_sync(~0u, is_large)) return;
    for (int64_t c = 0; c < nrhs; c++)
        if (is_to_mend(c))
            solve_sequentially(&A, factors, (T (*)[SEQUENTIAL_ROWS][SEQUENTIAL_COLUMNS])memory, shared, D + c * A.n,
                               X + c * ldx, residual, true);
}

} // namespace trine_block

#endif
