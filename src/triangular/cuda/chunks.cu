/* Chunks of rows for the kernel by rows, where a few rows are far longer than the others: those are chunks by
 * themselves. */
#include "core/gpu_cub.cuh"
#include "triangular/cuda/triangle.h"

namespace {

constexpr int THREADS = 512, ITEMS = 4;
static_assert(THREADS * ITEMS == MOST_LONG_ROWS, "one block holds all long rows");

/** found: in any order; count starts at 0. */
__global__ void list_long_rows(int64_t n, const int64_t *offsets, int64_t long_row, int32_t *found, unsigned *count)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x)
        if (offsets[p + 1] - offsets[p] >= long_row) found[atomicAdd(count, 1u)] = (int32_t)p;
}

/** One block: the rows between two long ones make a stretch, of chunks of `rows` rows. Chunks beyond the last are
 *  empty. */
__global__ void __launch_bounds__(THREADS)
    cut_stretches(int32_t n, int32_t rows, const int32_t *found, int n_long, int32_t *chunks, int64_t n_chunks)
{
    using sort = gpucub::BlockRadixSort<int32_t, THREADS, ITEMS>;
    using scan = gpucub::BlockScan<int32_t, THREADS>;
    __shared__ union {
        typename sort::TempStorage sort;
        typename scan::TempStorage scan;
    } temporary;
    __shared__ int32_t long_at[MOST_LONG_ROWS + 2]; /* [q]: the q-th long row; before it stands -1, behind it n */
    __shared__ int32_t before[MOST_LONG_ROWS + 1];  /* [q]: chunks before stretch q */
    int32_t row[ITEMS], count[ITEMS], total;
    for (int u = 0; u < ITEMS; u++) {
        const int q = threadIdx.x * ITEMS + u;
        row[u] = q < n_long ? found[q] : n;
    }
    sort(temporary.sort).Sort(row);
    if (threadIdx.x == 0) long_at[0] = -1, long_at[MOST_LONG_ROWS + 1] = n;
    for (int u = 0; u < ITEMS; u++) long_at[threadIdx.x * ITEMS + u + 1] = row[u];
    __syncthreads();
    for (int u = 0; u < ITEMS; u++) { /* of a stretch and the long row that ends it */
        const int q = threadIdx.x * ITEMS + u;
        count[u] = q < n_long ? (row[u] - long_at[q] - 1 + rows - 1) / rows + 1 : 0;
    }
    scan(temporary.scan).ExclusiveSum(count, count, total);
    for (int u = 0; u < ITEMS; u++) before[threadIdx.x * ITEMS + u] = count[u];
    if (threadIdx.x == 0) before[MOST_LONG_ROWS] = total;
    __syncthreads();
    for (int64_t c = threadIdx.x; c <= n_chunks; c += THREADS) {
        int low = 0, high = n_long; /* the last stretch that does not begin behind chunk c */
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (before[middle] <= c) low = middle;
            else high = middle - 1;
        }
        const int64_t first = long_at[low] + 1 + (c - before[low]) * rows;
        const int32_t end = long_at[low + 1];
        chunks[c] = first < end ? (int32_t)first : low < n_long ? ~end : n;
    }
}

} // namespace

trine_status device_chunks_make(trine_triangular plan, const device_triangle *d, int64_t rows, int32_t **chunks,
                                int64_t *n_chunks)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int64_t most = d->n / rows + 2 * d->long_rows + 1;
    arena kept;
    int32_t *found;
    unsigned *count;
    *chunks = nullptr;
    TRY(arena_allocate(ctx, &kept, [&](arena &a) {
        *chunks = a.take<int32_t>(most + 1); /* first, so that its address is the allocation's */
        found = a.take<int32_t>(d->long_rows);
        count = a.take<unsigned>(1);
    }));
    TRY(trine_device_fill_async(ctx, count, 0, sizeof *count, ctx->stream));
    list_long_rows<<<device_blocks_for(plan, d->n), 256, 0, stream>>>(d->n, d->offsets, LONG_ROW, found, count);
    cut_stretches<<<1, THREADS, 0, stream>>>((int32_t)d->n, (int32_t)rows, found, (int)d->long_rows, *chunks, most);
    TRY(GPU_LAUNCHED("cutting rows into chunks"));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    *n_chunks = most;
done:
    return status;
}
