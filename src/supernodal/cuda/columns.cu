/* Factors kept in single precision: the scale of each column of a right-hand side in double, before it is rounded. */
#include <algorithm>

#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = 256, NEIGHBOURS = 32, BLOCKS = 256;

/** largest[j] := max(largest[j], numbers of column j). Numbers that neighbouring lanes read lie next to each other:
 *  of one column, or by rows of 32 columns. parts: numbers of an entry. */
__global__ void __launch_bounds__(THREADS)
    column_maxima(const double *B, int64_t rows, int64_t columns, int64_t row, int64_t column, int parts, bool by_rows,
                  unsigned long long *largest)
{
    const int lane = threadIdx.x % NEIGHBOURS, group = threadIdx.x / NEIGHBOURS, groups = THREADS / NEIGHBOURS;
    const int64_t step = by_rows ? groups : THREADS;
    const int64_t first_column = by_rows ? (int64_t)blockIdx.y * NEIGHBOURS + lane : blockIdx.y;
    for (int64_t j = first_column; j < columns; j += (by_rows ? NEIGHBOURS : 1) * (int64_t)gridDim.y) {
        unsigned long long most = 0;
        for (int64_t i = blockIdx.x * step + (by_rows ? group : threadIdx.x); i < rows; i += gridDim.x * step)
            for (int p = 0; p < parts; p++) {
                const double number = fabs(B[(i * row + j * column) * parts + p]);
                most = max(most, (unsigned long long)__double_as_longlong(number)); /* NaN is more than all others */
            }
        if (!by_rows)
            for (int mask = NEIGHBOURS / 2; mask; mask /= 2) most = max(most, __shfl_xor_sync(~0u, most, mask));
        if (by_rows || lane == 0) atomicMax(largest + j, most);
    }
}

} // namespace

trine_status supernodal_column_maxima(trine_supernodal plan, const trine_dense *B, unsigned long long *largest,
                                      void *stream)
{
    const bool by_rows = B->layout != TRINE_COLMAJOR;
    const int64_t rows_of_block = by_rows ? THREADS / NEIGHBOURS : THREADS;
    const int64_t across = by_rows ? (B->cols + NEIGHBOURS - 1) / NEIGHBOURS : B->cols;
    const dim3 grid((unsigned)std::min<int64_t>((B->rows + rows_of_block - 1) / rows_of_block, BLOCKS),
                    (unsigned)std::min<int64_t>(across, 65535));
    trine_status status = TRINE_SUCCESS;
    TRY(trine_device_fill_async(plan->base.ctx, largest, 0, (size_t)B->cols * sizeof *largest, stream));
    column_maxima<<<grid, THREADS, 0, static_cast<gpuStream_t>(stream)>>>(
        static_cast<const double *>(B->data), B->rows, B->cols, by_rows ? B->ld : 1, by_rows ? 1 : B->ld,
        trine_dtype_is_complex(plan->base.dtype) ? 2 : 1, by_rows, largest);
    TRY(GPU_LAUNCHED("the scales of right-hand sides"));
done:
    return status;
}
