/* Sparse columns expanded and pruned on the GPU; a block works on one column. */
#include "core/gpu_scalar.cuh"
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

namespace {

constexpr int EXPAND_THREADS = 256, SELECT_THREADS = 1024, WARPS = SELECT_THREADS / 32, BINS = 256;

/** Zeros in X, 16 bytes at a time but for the ends of a column, and in the marks. */
template <typename T> __global__ void clear(T *X, int64_t n, int64_t ldx, int64_t mark_count, int32_t *marks)
{
    constexpr int EACH = 16 / sizeof(T);
    T *x = X + blockIdx.y * ldx;
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t bytes = (16 - ((uintptr_t)x & 15)) % 16,
                  unaligned = bytes % sizeof(T) ? n : bytes / (int64_t)sizeof(T);
    const int64_t head = unaligned < n ? unaligned : n, vectors = (n - head) / EACH;
    for (int64_t i = thread; i < vectors; i += threads) ((int4 *)(x + head))[i] = make_int4(0, 0, 0, 0);
    for (int64_t i = thread; i < head; i += threads) x[i] = T{};
    if (thread < n - head - vectors * EACH) x[head + vectors * EACH + thread] = T{};
    for (int64_t i = blockIdx.y * threads + thread; i < mark_count; i += threads * gridDim.y) marks[i] = 0;
}

template <typename T> __global__ void scatter(T *X, int64_t n, int64_t ldx, const T *values, const int32_t *rows,
                                              const int32_t *offsets, gtsv_tile tile, int64_t tiles, int32_t *marks)
{
    T *x = X + blockIdx.x * ldx;
    int32_t *mark = marks + blockIdx.x / tile.columns * tiles;
    for (int64_t k = offsets[blockIdx.x] + (int64_t)threadIdx.x; k < offsets[blockIdx.x + 1]; k += EXPAND_THREADS)
        if (rows[k] >= 0 && rows[k] < n) x[rows[k]] = values[k], mark[rows[k] / tile.rows] = 1;
}

/** |x| as an integer that orders like it. */
__device__ inline uint32_t key_of(float x) { return __float_as_uint(fabsf(x)); }
__device__ inline unsigned long long key_of(double x) { return (unsigned long long)__double_as_longlong(fabs(x)); }
__device__ inline uint32_t key_of(complex_of<float> x) { return __float_as_uint(hypotf(x.x, x.y)); }
__device__ inline unsigned long long key_of(complex_of<double> x)
{
    return (unsigned long long)__double_as_longlong(hypot(x.x, x.y));
}

/** Keep the largest entries of a column: find the key of the last one that is kept, byte by byte from the top, then
 *  gather in the order of rows. */
template <typename T> __global__ void __launch_bounds__(SELECT_THREADS)
    select_largest(const T *X, unsigned n, int64_t ldx, T *values, int32_t *rows, const int32_t *offsets)
{
    using key_type = decltype(key_of(T{}));
    __shared__ int count[BINS], warp_kept[WARPS];
    __shared__ int chosen_bin, left;
    const T *x = X + blockIdx.x * ldx;
    const int tid = (int)threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int first = offsets[blockIdx.x], wanted = offsets[blockIdx.x + 1] - first;
    if (wanted <= 0) return;
    if (tid == 0) left = wanted < (int)n ? wanted : (int)n;
    key_type prefix = 0, mask = 0;
    for (int shift = 8 * (int)sizeof(key_type) - 8; shift >= 0; shift -= 8) {
        if (tid < BINS) count[tid] = 0;
        __syncthreads();
        for (unsigned base = 0; base < n; base += SELECT_THREADS) {
            const unsigned i = base + tid;
            const key_type key = i < n ? key_of(x[i]) : key_type(0);
            const bool counts = i < n && (key & mask) == prefix;
            const int bin = counts ? (int)(key >> shift & 255) : BINS;
            /* leading bytes are much alike: one addition for all of a warp */
            const unsigned same = __match_any_sync(~0u, bin);
            if (counts && lane == __ffs((int)same) - 1) atomicAdd(&count[bin], __popc(same));
        }
        __syncthreads();
        if (tid == 0) {
            int bin = BINS - 1, rest = left;
            for (; count[bin] < rest; bin--) rest -= count[bin];
            chosen_bin = bin;
            left = rest;
        }
        __syncthreads();
        prefix |= (key_type)chosen_bin << shift;
        mask |= (key_type)255 << shift;
        const bool whole_bin = count[chosen_bin] == left; /* all that have this prefix are kept */
        __syncthreads();
        if (whole_bin) break;
    }
    int at = 0, ties_left = left; /* the same in all threads */
    for (unsigned base = 0; base < n; base += SELECT_THREADS) {
        const unsigned i = base + tid;
        const key_type key = i < n ? key_of(x[i]) & mask : key_type(0);
        const bool above = i < n && key > prefix, tie = i < n && key == prefix;
        const unsigned below_me = (1u << lane) - 1, ties = __ballot_sync(~0u, tie);
        if (lane == 0) warp_kept[warp] = __popc(ties);
        __syncthreads();
        int ties_before = 0, ties_here = 0;
        for (int w = 0; w < WARPS; w++) ties_before += w < warp ? warp_kept[w] : 0, ties_here += warp_kept[w];
        const bool kept = above || (tie && ties_before + __popc(ties & below_me) < ties_left);
        const unsigned all = __ballot_sync(~0u, kept);
        __syncthreads();
        if (lane == 0) warp_kept[warp] = __popc(all);
        __syncthreads();
        int before = at, here = 0;
        for (int w = 0; w < WARPS; w++) before += w < warp ? warp_kept[w] : 0, here += warp_kept[w];
        if (kept) {
            values[first + before + __popc(all & below_me)] = x[i];
            rows[first + before + __popc(all & below_me)] = (int32_t)i;
        }
        at += here;
        ties_left -= ties_here < ties_left ? ties_here : ties_left;
        __syncthreads();
    }
    for (int64_t k = at + tid; k < wanted; k += SELECT_THREADS) values[first + k] = T{}, rows[first + k] = -1;
}

template <typename T> trine_status expand_of(gpuStream_t stream, const sparse_columns *c)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t vectors = c->n * (int64_t)sizeof(T) / 16, blocks = vectors / (4 * EXPAND_THREADS) + 1;
    const int64_t tiles = gtsv_tiles(c->n, c->tile), mark_count = gtsv_mark_count(c->n, c->count, c->tile);
    clear<T><<<dim3((unsigned)(blocks < 1024 ? blocks : 1024), (unsigned)c->count), EXPAND_THREADS, 0, stream>>>(
        (T *)c->X, c->n, c->ldx, mark_count, c->marks);
    TRY(GPU_LAUNCHED("clear"));
    scatter<T><<<(unsigned)c->count, EXPAND_THREADS, 0, stream>>>(
        (T *)c->X, c->n, c->ldx, (const T *)c->values, c->rows, c->offsets + c->first, c->tile, tiles, c->marks);
    TRY(GPU_LAUNCHED("scatter"));
done:
    return status;
}

template <typename T> trine_status keep_largest_of(gpuStream_t stream, const sparse_columns *c)
{
    select_largest<T><<<(unsigned)c->count, SELECT_THREADS, 0, stream>>>(
        (const T *)c->X, (unsigned)c->n, c->ldx, (T *)c->values, c->rows, c->offsets + c->first);
    return GPU_LAUNCHED("select_largest");
}

using columns_fn = trine_status (*)(gpuStream_t, const sparse_columns *);

trine_status expand(const solve_place *at, const sparse_columns *c)
{
    static const columns_fn run[] = {nullptr, expand_of<float>, expand_of<double>, expand_of<complex_of<float>>,
                                     expand_of<complex_of<double>>};
    return run[c->t]((gpuStream_t)at->stream, c);
}

trine_status keep_largest(const solve_place *at, const sparse_columns *c)
{
    static const columns_fn run[] = {nullptr, keep_largest_of<float>, keep_largest_of<double>,
                                     keep_largest_of<complex_of<float>>, keep_largest_of<complex_of<double>>};
    return run[c->t]((gpuStream_t)at->stream, c);
}

} // namespace

extern "C" const struct sparse_rhs_backend sparse_rhs_cuda = {expand, keep_largest};
