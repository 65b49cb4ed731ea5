/* One band on either side, and blocks of one row, on the GPU with refine = 1: by trine_gtsv, from a copy of op(A)
 * whose rows are taken times their powers of two, so that nothing depends on how they are scaled. The residual is
 * looked at, as that of other bands is. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_ONE_BAND_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_ONE_BAND_CUH

#include "tridiagonal/block/cuda/refine.cuh"
#include "tridiagonal/tridiagonal.h"

namespace trine_block {

/** Where a solve has what, in bytes: three bands, D and the columns' errors first, then what trine_gtsv needs, in
 *  whose place the elimination row by row may go. */
struct scalar_layout { size_t vectors, errors, gtsv, gtsv_bytes, bytes; };
trine_status lay_out_scalar(const block_call *call, scalar_layout *layout);

/** bands := the rows of op(A), d := D, both times powers of two that leave 1/8 to 1/4 of a row's largest coefficient,
 *  so that d is in range where the solution is; a column of right-hand sides for each blockIdx.y. */
template <typename T>
__global__ void scale_system(const __grid_constant__ block_matrix A, const T *D, int64_t ldd, T *bands, T *d,
                             column_errors *errors)
{
    const T *const a = (const T *)A.a, *const b = (const T *)A.b, *const c = (const T *)A.c;
    const int64_t n = A.n;
    /* to be looked at */
    if (blockIdx.x == 0 && threadIdx.x == 0) errors[blockIdx.y] = {__float_as_uint(2.f * BLOCK_SMALL_ERROR), 0};
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const bool begins = i == 0, ends = i == n - 1;
        T row[3] = {T{}, b[i], T{}};
        if (!begins || A.cyclic) row[0] = A.op == TRINE_N ? a[i] : c[begins ? n - 1 : i - 1];
        if (!ends || A.cyclic) row[2] = A.op == TRINE_N ? c[i] : a[ends ? 0 : i + 1];
        const real_of<T> largest = fmax(size_of(row[1]), fmax(size_of(row[0]), size_of(row[2]))),
                         scale = smaller_power(panel_weight<T>(largest)) / 16;
        d[i + blockIdx.y * n] = times(D[i + blockIdx.y * ldd], scale);
        if (blockIdx.y) continue;
#pragma unroll
        for (int k = 0; k < 3; k++) bands[k * n + i] = times(A.op == TRINE_H ? conjugate_of(row[k]) : row[k], scale);
    }
}

template <typename T> trine_status solve_scalar_of(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = call->A.n, nrhs = call->o.nrhs, blocks = (n + 255) / 256;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)nrhs);
    const gpuStream_t stream = (gpuStream_t)call->stream;
    char *const work = (char *)call->work;
    T *const X = (T *)call->X, *const bands = (T *)work;
    block_matrix scaled = call->A;
    scalar_layout at;
    TRY(lay_out_scalar(call, &at));
    {
        T *const d = (T *)(work + at.vectors), *const factors = (T *)(work + at.gtsv);
        column_errors *const errors = (column_errors *)(work + at.errors);
        scale_system<T><<<grid, 256, 0, stream>>>(call->A, (const T *)call->D, call->ldd, bands, d, errors);
        TRY(GPU_LAUNCHED("scale_system"));
        const solve_place here = place_on_gpu(call->stream);
        TRY(gtsv_solve(&here, call->t, n, nrhs, &call->given, bands, bands + n, bands + 2 * n, d, n, X, call->ldx,
                       factors, at.gtsv_bytes));
        if (block_may_be_sequential(&call->A, call->o.pivot, call->o.epsilon)) {
            scaled.a = bands, scaled.op = TRINE_N;
            subtract_product<T, true><<<grid, 256, 0, stream>>>(scaled, true, d, X, call->ldx, nullptr, errors);
            TRY(GPU_LAUNCHED("subtract_product"));
            solve_by_rows<T><<<1, WARP, 0, stream>>>(scaled, nrhs, factors, d, X, call->ldx,
                                                     factors + block_sequential_elements(&scaled), errors);
            TRY(GPU_LAUNCHED("solve_by_rows"));
        }
    }
done:
    return status;
}

extern template trine_status solve_scalar_of<float>(const block_call *);
extern template trine_status solve_scalar_of<double>(const block_call *);
extern template trine_status solve_scalar_of<complex_of<float>>(const block_call *);
extern template trine_status solve_scalar_of<complex_of<double>>(const block_call *);

} // namespace trine_block

#endif
