/* Kernels that products are measured against: the merge-path product as its authors describe it, the loads of a
 * product alone, and CUB's segmented reduction with the two largest entries of each row. */
#include "spmv_kernels.h"

#include <cub/block/block_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/std/iterator>
#include <cuda/std/limits>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

enum { THREADS = 128, ITEMS = 7, TILE = THREADS * ITEMS };

template <typename T> struct product {
    int32_t n_rows, nnz;
    const int32_t *offsets, *columns;
    const T *values, *x;
    T alpha, beta, *y;
};

/* -------------------------------------------------------------- merge paths */

/* The ends of the rows, offsets[1..n], are merged with the numbers of the entries, 0..nnz-1: a path through a grid
 * of rows by entries. A step down ends a row, a step to the right takes an entry. Every block and every thread takes
 * equally many steps, whatever the rows are like. */

/** Rows ended before step `diagonal` of the merge of row_ends[0..rows) with first, first + 1, ... (count of them). */
__device__ int32_t rows_before(int32_t diagonal, const int32_t *row_ends, int32_t rows, int32_t first, int32_t count)
{
    int32_t low = diagonal > count ? diagonal - count : 0, high = diagonal < rows ? diagonal : rows;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (row_ends[middle] <= first + diagonal - 1 - middle) low = middle + 1;
        else high = middle;
    }
    return low;
}

/** What a block or thread leaves of the row that it did not end. */
template <typename T> struct carry {
    int32_t row;
    T sum;
};

/** Sums of one row, from left to right: a segmented scan over (row, sum). */
template <typename T> struct add_same_row {
    __device__ carry<T> operator()(const carry<T> &a, const carry<T> &b) const
    {
        return {b.row, a.row == b.row ? a.sum + b.sum : b.sum};
    }
};

/** First rows of all tiles, one thread a tile. */
template <typename T> __global__ void find_tiles(const __grid_constant__ product<T> p, int32_t tiles,
                                                 int32_t *first_row)
{
    const int32_t tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile > tiles) return;
    const int64_t steps = (int64_t)p.n_rows + p.nnz, at = (int64_t)tile * TILE;
    first_row[tile] = rows_before((int32_t)(at < steps ? at : steps), p.offsets + 1, p.n_rows, 0, p.nnz);
}

template <typename T> __global__ void __launch_bounds__(THREADS)
    multiply_tiles(const __grid_constant__ product<T> p, const int32_t *first_row, carry<T> *carries)
{
    using scan = cub::BlockScan<carry<T>, THREADS>;
    __shared__ union {
        typename scan::TempStorage scan;
        struct {
            int32_t row_ends[TILE + 1];
            T products[TILE];
        } tile;
    } shared;
    const int64_t steps = (int64_t)p.n_rows + p.nnz;
    const int32_t begin = blockIdx.x * TILE,
                  end = (int32_t)(begin + (int64_t)TILE < steps ? begin + (int64_t)TILE : steps);
    const int32_t row = first_row[blockIdx.x], last_row = first_row[blockIdx.x + 1];
    const int32_t entry = begin - row, rows = last_row - row, entries = end - last_row - entry;

    for (int32_t k = threadIdx.x; k < entries; k += THREADS)
        shared.tile.products[k] = __ldg(p.values + entry + k) * __ldg(p.x + __ldg(p.columns + entry + k));
    /* and the end of the row that the tile does not end, if there is one */
    for (int32_t k = threadIdx.x; k <= rows; k += THREADS)
        shared.tile.row_ends[k] = row + k < p.n_rows ? p.offsets[row + k + 1] : INT32_MAX;
    __syncthreads();

    const int32_t from = min((int32_t)threadIdx.x * ITEMS, end - begin), to = min(from + ITEMS, end - begin);
    int32_t i = rows_before(from, shared.tile.row_ends, rows, entry, entries), k = from - i;
    carry<T> open = {row + i, T(0)};
    carry<T> ended[ITEMS]; /* rows that this thread ends */
#pragma unroll
    for (int step = 0; step < ITEMS; step++) {
        ended[step].row = -1;
        if (from + step < to) {
            if (k < entries && entry + k < shared.tile.row_ends[i]) {
                open.sum += shared.tile.products[k++];
            } else {
                ended[step] = open;
                open = {row + ++i, T(0)};
            }
        }
    }
    __syncthreads();
    carry<T> before, all;
    scan(shared.scan).ExclusiveScan(open, before, carry<T>{-1, T(0)}, add_same_row<T>(), all);
#pragma unroll
    for (int step = 0; step < ITEMS; step++) {
        const int32_t done = ended[step].row;
        if (done < 0) continue;
        const T sum = ended[step].sum + (before.row == done ? before.sum : T(0));
        p.y[done] = p.beta == T(0) ? p.alpha * sum : p.alpha * sum + p.beta * p.y[done];
    }
    if (threadIdx.x == 0) carries[blockIdx.x] = all;
}

/** Add what tiles have left to the rows that later ones have ended: one block, a segment of tiles a thread. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    add_carries(const __grid_constant__ product<T> p, int32_t tiles, const carry<T> *carries)
{
    using scan = cub::BlockScan<carry<T>, THREADS>;
    __shared__ typename scan::TempStorage storage;
    const int32_t share = (tiles + THREADS - 1) / THREADS, begin = min((int32_t)threadIdx.x * share, tiles),
                  end = min(begin + share, tiles);
    carry<T> open = {-1, T(0)}, before;
    for (int32_t t = begin; t < end; t++) open = add_same_row<T>()(open, carries[t]);
    scan(storage).ExclusiveScan(open, before, carry<T>{-1, T(0)}, add_same_row<T>());
    open = before;
    for (int32_t t = begin; t < end; t++) {
        const carry<T> here = carries[t];
        open = add_same_row<T>()(open, here);
        /* the last tile that leaves something of a row has all of it */
        if ((t + 1 == tiles || carries[t + 1].row != here.row) && here.row < p.n_rows && open.sum != T(0))
            p.y[here.row] += p.alpha * open.sum;
    }
}

int64_t tiles_of(const spmv_arrays *a) { return (a->n_rows + a->nnz + TILE - 1) / TILE; }

template <typename T> size_t merge_path_bytes(const spmv_arrays *a)
{
    const size_t tiles = (size_t)tiles_of(a), starts = ((tiles + 1) * sizeof(int32_t) + 15) / 16 * 16;
    return starts + tiles * sizeof(carry<T>);
}

template <typename T> product<T> product_of(const spmv_arrays *a)
{
    return {(int32_t)a->n_rows, (int32_t)a->nnz, a->offsets, a->columns, (const T *)a->values,
            (const T *)a->x,    (T)a->alpha,     (T)a->beta, (T *)a->y};
}

template <typename T> int merge_path(const spmv_arrays *a)
{
    const int32_t tiles = (int32_t)tiles_of(a);
    const auto stream = (cudaStream_t)a->stream;
    const product<T> p = product_of<T>(a);
    if (tiles == 0) return 0;
    int32_t *first_row = (int32_t *)a->work;
    carry<T> *carries = (carry<T> *)((char *)a->work + ((size_t)(tiles + 1) * sizeof(int32_t) + 15) / 16 * 16);
    find_tiles<T><<<tiles / THREADS + 1, THREADS, 0, stream>>>(p, tiles, first_row);
    multiply_tiles<T><<<tiles, THREADS, 0, stream>>>(p, first_row, carries);
    add_carries<T><<<1, THREADS, 0, stream>>>(p, tiles, carries);
    return cudaGetLastError();
}

/* ------------------------------------------------------------------ gathers */

/** All loads of a product but those of rows and of y. The sum is stored only if it is a number that none is. */
template <typename T> __global__ void __launch_bounds__(256) gather(const __grid_constant__ product<T> p)
{
    enum { TOGETHER = 8 };
    const int64_t all = (int64_t)gridDim.x * blockDim.x;
    T sum = T(0);
    for (int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; first < p.nnz; first += TOGETHER * all) {
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            const int64_t k = first + u * all;
            if (k < p.nnz) sum += __ldcs(p.values + k) * __ldg(p.x + __ldcs(p.columns + k));
        }
    }
    if (sum == cuda::std::numeric_limits<T>::max()) p.y[0] = sum;
}

template <typename T> int launch_gather(const spmv_arrays *a)
{
    int device = 0, processors = 1, resident = 1;
    cudaError_t error = cudaGetDevice(&device);
    if (!error) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (!error) error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, gather<T>, 256, 0);
    if (error) return error;
    gather<T><<<processors * resident, 256, 0, (cudaStream_t)a->stream>>>(product_of<T>(a));
    return cudaGetLastError();
}

/* ------------------------------------------------------------ two largest */

/** The two largest (value, column) of a set; column -1: there is none. Ties: the lower column. */
template <typename T> struct two_largest {
    T first, second;
    int32_t first_column, second_column;
};

template <typename T> __device__ bool is_before(T a, int32_t column_a, T b, int32_t column_b)
{
    return column_b < 0 || (column_a >= 0 && (a > b || (a == b && column_a < column_b)));
}

template <typename T> struct merge_largest {
    __device__ two_largest<T> operator()(const two_largest<T> &a, const two_largest<T> &b) const
    {
        const bool wins = is_before(a.first, a.first_column, b.first, b.first_column);
        /* second is the best of what the loser begins with and of what the winner goes on with */
        const T loser = wins ? b.first : a.first, next = wins ? a.second : b.second;
        const int32_t loser_column = wins ? b.first_column : a.first_column,
                      next_column = wins ? a.second_column : b.second_column;
        const bool goes_on = is_before(next, next_column, loser, loser_column);
        return {wins ? a.first : b.first, goes_on ? next : loser, wins ? a.first_column : b.first_column,
                goes_on ? next_column : loser_column};
    }
};

template <typename T> struct entry_at {
    const T *values;
    const int32_t *columns;
    __device__ two_largest<T> operator()(int32_t k) const { return {values[k], T(0), columns[k], -1}; }
};

/** Where CUB stores results: of each the columns alone. */
template <typename T> struct column_writer {
    struct reference {
        int2 *at;
        __device__ const reference &operator=(const two_largest<T> &found) const
        {
            *at = make_int2(found.first_column, found.second_column);
            return *this;
        }
    };
    using value_type = two_largest<T>;
    using difference_type = ptrdiff_t;
    using pointer = void;
    using iterator_category = cuda::std::random_access_iterator_tag;
    int2 *at;
    __host__ __device__ column_writer operator+(ptrdiff_t rows) const { return {at + rows}; }
    __host__ __device__ column_writer &operator+=(ptrdiff_t rows)
    {
        at += rows;
        return *this;
    }
    __device__ reference operator*() const { return {at}; }
    __device__ reference operator[](ptrdiff_t row) const { return {at + row}; }
};

template <typename T> cudaError_t top2(const spmv_arrays *a, void *work, size_t *bytes)
{
    const auto entries = thrust::make_transform_iterator(thrust::make_counting_iterator<int32_t>(0),
                                                         entry_at<T>{(const T *)a->values, a->columns});
    const two_largest<T> none = {T(0), T(0), -1, -1};
    return cub::DeviceSegmentedReduce::Reduce(work, *bytes, entries, column_writer<T>{(int2 *)a->y}, a->n_rows,
                                              a->offsets, a->offsets + 1, merge_largest<T>(), none,
                                              (cudaStream_t)a->stream);
}

} // namespace

int spmv_kernel_work(spmv_kernel kernel, const spmv_arrays *a, size_t *bytes)
{
    *bytes = 0;
    if (kernel == SPMV_KERNEL_MERGE_PATH)
        *bytes = a->is_double ? merge_path_bytes<double>(a) : merge_path_bytes<float>(a);
    if (kernel == SPMV_KERNEL_TOP2)
        return a->is_double ? top2<double>(a, nullptr, bytes) : top2<float>(a, nullptr, bytes);
    return 0;
}

int spmv_kernel_launch(spmv_kernel kernel, const spmv_arrays *a)
{
    size_t bytes = a->work_bytes;
    switch (kernel) {
    case SPMV_KERNEL_MERGE_PATH: return a->is_double ? merge_path<double>(a) : merge_path<float>(a);
    case SPMV_KERNEL_GATHER: return a->is_double ? launch_gather<double>(a) : launch_gather<float>(a);
    default: return a->is_double ? top2<double>(a, a->work, &bytes) : top2<float>(a, a->work, &bytes);
    }
}
