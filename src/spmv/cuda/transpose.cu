/* The transposed index: entries sorted by column, those of a column in the order of rows, with their positions. */
#include "core/gpu_cub.cuh"
#include "spmv/cuda/cuda.h"

namespace {

constexpr int THREADS = 256;

unsigned blocks_for(int64_t threads)
{
    const int64_t blocks = (threads + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < (1 << 20) ? blocks : 1 << 20);
}

/** Entry k is entry k: what the sort carries along. */
template <class Position> __global__ void __launch_bounds__(THREADS) number_entries(int64_t nnz, Position *positions)
{
    for (int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x; k < nnz; k += gridDim.x * (int64_t)THREADS)
        positions[k] = (Position)k;
}

/** offsets[c] = number of sorted columns before c. */
__global__ void __launch_bounds__(THREADS)
    find_columns(int64_t n_cols, int64_t nnz, const int32_t *sorted, int64_t *offsets)
{
    for (int64_t c = blockIdx.x * (int64_t)THREADS + threadIdx.x; c <= n_cols; c += gridDim.x * (int64_t)THREADS) {
        int64_t low = 0, high = c < n_cols ? nnz : 0;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (sorted[middle] < c) low = middle + 1;
            else high = middle;
        }
        offsets[c] = c < n_cols ? low : nnz;
    }
}

/** columns[k] = the row of `from` in which entry positions[k] is. */
template <class Offset, class Position> __global__ void __launch_bounds__(THREADS)
    find_rows(int64_t n_rows, int64_t nnz, const Offset *offsets, const Position *positions, int32_t *columns)
{
    for (int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x; k < nnz; k += gridDim.x * (int64_t)THREADS) {
        const int64_t wanted = (int64_t)positions[k];
        int64_t low = 0, high = n_rows; /* the last row with offset <= wanted is in [low, high) */
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if ((int64_t)offsets[middle] <= wanted) low = middle;
            else high = middle;
        }
        columns[k] = (int32_t)low;
    }
}

int column_bits(int64_t n_cols)
{
    int bits = 1;
    while (bits < 31 && n_cols > (int64_t)1 << bits) bits++;
    return bits;
}

size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

template <class Position> size_t sort_bytes(int64_t nnz, int bits)
{
    size_t bytes = 0;
    gpucub::DeviceRadixSort::SortPairs(nullptr, bytes, (const int32_t *)nullptr, (int32_t *)nullptr,
                                       (const Position *)nullptr, (Position *)nullptr, nnz, 0, bits);
    return padded(bytes);
}

template <class Position> size_t scratch_bytes(const struct spmv_side *to, int64_t nnz)
{
    return padded((size_t)nnz * sizeof(Position)) + padded((size_t)nnz * sizeof(int32_t)) +
           sort_bytes<Position>(nnz, column_bits(to->n_rows));
}

template <class Position>
trine_status sort_entries(trine_spmv plan, const struct spmv_side *from, struct spmv_side *to, char *scratch)
{
    trine_status status = TRINE_SUCCESS;
    const gpuStream_t stream = (gpuStream_t)plan->base.ctx->stream;
    const int64_t nnz = plan->nnz;
    Position *unsorted = (Position *)scratch, *positions = (Position *)to->owned_positions;
    int32_t *sorted = (int32_t *)(scratch + padded((size_t)nnz * sizeof(Position)));
    char *temporary = (char *)sorted + padded((size_t)nnz * sizeof(int32_t));
    size_t bytes = sort_bytes<Position>(nnz, column_bits(to->n_rows));
    number_entries<<<blocks_for(nnz), THREADS, 0, stream>>>(nnz, unsorted);
    TRY(GPU_LAUNCHED("numbering the entries"));
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(temporary, bytes, from->columns, sorted, unsorted, positions, nnz, 0,
                                               column_bits(to->n_rows), stream)));
    find_columns<<<blocks_for(to->n_rows + 1), THREADS, 0, stream>>>(to->n_rows, nnz, sorted,
                                                                     (int64_t *)to->owned_offsets);
    if (from->offset_bits == 32)
        find_rows<<<blocks_for(nnz), THREADS, 0, stream>>>(from->n_rows, nnz, (const int32_t *)from->offsets, positions,
                                                           (int32_t *)to->owned_columns);
    else
        find_rows<<<blocks_for(nnz), THREADS, 0, stream>>>(from->n_rows, nnz, (const int64_t *)from->offsets, positions,
                                                           (int32_t *)to->owned_columns);
    TRY(GPU_LAUNCHED("the transposition"));
    TRY(trine_device_synchronize(plan->base.ctx, stream)); /* the scratch is freed */
done:
    return status;
}

} // namespace

size_t spmv_cuda_transpose_bytes(const struct spmv_side *to, int64_t nnz)
{
    if (!nnz) return 0;
    return to->position_bits == 32 ? scratch_bytes<int32_t>(to, nnz) : scratch_bytes<int64_t>(to, nnz);
}

trine_status spmv_cuda_transpose(trine_spmv plan, const struct spmv_side *from, struct spmv_side *to)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const size_t nnz = (size_t)plan->nnz, offset_bytes = (size_t)(to->n_rows + 1) * sizeof(int64_t);
    void *scratch = nullptr;
    to->offset_bits = 64;
    TRY(trine_alloc(ctx, TRINE_DEVICE, offset_bytes, &to->owned_offsets));
    to->offsets = to->owned_offsets;
    to->bytes = (int64_t)offset_bytes;
    if (!nnz) {
        TRY(trine_device_fill_async(ctx, to->owned_offsets, 0, offset_bytes, ctx->stream));
        return trine_device_synchronize(ctx, ctx->stream);
    }
    TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * sizeof(int32_t), &to->owned_columns));
    TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * (size_t)to->position_bits / 8, &to->owned_positions));
    to->columns = (const int32_t *)to->owned_columns;
    to->positions = to->owned_positions;
    to->bytes += (int64_t)(nnz * (sizeof(int32_t) + (size_t)to->position_bits / 8));
    TRY(trine_alloc(ctx, TRINE_DEVICE, spmv_cuda_transpose_bytes(to, plan->nnz), &scratch));
    status = to->position_bits == 32 ? sort_entries<int32_t>(plan, from, to, (char *)scratch)
                                     : sort_entries<int64_t>(plan, from, to, (char *)scratch);
done:
    trine_free(ctx, TRINE_DEVICE, scratch);
    return status;
}
