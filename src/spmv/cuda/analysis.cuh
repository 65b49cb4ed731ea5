/* What an analysis finds of rows: starts of all blocks, the longest row, whether neighbours have the same columns. */
#ifndef TRINE_SPMV_ANALYSIS_CUH
#define TRINE_SPMV_ANALYSIS_CUH

#include "spmv/cuda/segmented.cuh"

/** Starts of all blocks (Algorithms 4 and 5, without their gaps). n_threads of the grid look at rows by turns, and
 *  write the starts that lie in them. */
template <int BLOCK> __global__ void __launch_bounds__(BLOCK)
    find_starts(const segmented_arguments a, block_start *starts, int n_threads)
{
    const long long w = a.entries_per_block, me = (long long)blockIdx.x * BLOCK + threadIdx.x;
    const bool adaptive = a.scheme == SCHEME_ADAPTIVE;
    const auto write = [&](long long b, long long i, long long end) {
        if (b < a.n_blocks && b > 0)
            starts[b] = !adaptive             ? start_from(a, b, i)
                        : a.rows_together > 1 ? start_at_row(a, i + 1)
                                              : block_start{end, i + 1};
    };
    /* adaptive: b w in (k0, k1], start at the next row. Balanced: b w in [k0, k1), start in this one */
    if (a.nnz + a.row_weight * a.n_rows < 0x7FFFFFFF && w < 0x40000000) { /* b w + w fits into 32 bits */
        const unsigned v = (unsigned)w, inverse = 0xFFFFFFFFu / v;
        for (long long i = me; i < a.n_rows; i += n_threads) {
            const unsigned begin = (unsigned)offset_at(a, i), end = (unsigned)offset_at(a, i + 1);
            const unsigned k0 = begin + a.row_weight * (unsigned)i, k1 = end + a.row_weight * ((unsigned)i + 1);
            unsigned b = __umulhi(k0, inverse); /* k0 / v, or one less */
            if ((b + 1) * v <= k0) b++;
            if (adaptive || b * v < k0) b++;
            for (; adaptive ? b * v <= k1 : b * v < k1; b++) write(b, i, end);
        }
    } else {
        for (long long i = me; i < a.n_rows; i += n_threads) {
            const long long begin = offset_at(a, i), end = offset_at(a, i + 1);
            const long long k0 = begin + a.row_weight * i, k1 = end + a.row_weight * (i + 1);
            long long b = k0 / w;
            if (adaptive || b * w < k0) b++;
            for (; adaptive ? b * w <= k1 : b * w < k1; b++) write(b, i, end);
        }
    }
    if (me == 0) starts[0] = {0, 0};
    if (me < 2) starts[a.n_blocks + me] = {a.nnz, a.n_rows};
}

/** What is found of rows. */
struct row_facts {
    long long first, last; /* offsets */
    int longest; /* the most entries that a row has; zero before */
    unsigned alike; /* blocks that looked at GROUP_OF_ROWS rows which all have the same columns; zero before */
};
constexpr int GROUP_OF_ROWS = 3;
/** An atomic for each block. columns: NULL: rows are not compared. */
template <int BLOCK> __global__ void __launch_bounds__(BLOCK)
    measure_rows(const segmented_arguments a, const int *columns, row_facts *facts, int n_threads)
{
    __shared__ int of_block;
    long long most = 0;
    if (columns && a.n_rows >= GROUP_OF_ROWS) {
        const long long row = a.n_rows / GROUP_OF_ROWS * blockIdx.x / gridDim.x * GROUP_OF_ROWS;
        const long long begin = offset_at(a, row), length = offset_at(a, row + 1) - begin;
        bool differ = length <= 0 || begin < 0 || begin + GROUP_OF_ROWS * length > a.nnz;
        for (int g = 1; g < GROUP_OF_ROWS; g++)
            differ = differ || offset_at(a, row + g + 1) != begin + (g + 1) * length;
        for (long long k = threadIdx.x; !differ && k < length; k += BLOCK)
            for (int g = 1; g < GROUP_OF_ROWS; g++)
                differ = differ || columns[begin + k] != columns[begin + g * length + k];
        if (!__syncthreads_or(differ) && threadIdx.x == 0) atomicAdd(&facts->alike, 1);
    }
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
#pragma unroll 4
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < a.n_rows; i += n_threads) {
        const long long length = offset_at(a, i + 1) - offset_at(a, i);
        most = length > most ? length : most;
    }
    const int of_warp = __reduce_max_sync(~0u, most < 0x7FFFFFFF ? (int)most : 0x7FFFFFFF);
    if (threadIdx.x % 32 == 0) atomicMax(&of_block, of_warp);
    __syncthreads();
    if (threadIdx.x == 0 && of_block > 0) atomicMax(&facts->longest, of_block);
    if (threadIdx.x == 0 && blockIdx.x == 0) facts->first = offset_at(a, 0), facts->last = offset_at(a, a.n_rows);
}

#endif
