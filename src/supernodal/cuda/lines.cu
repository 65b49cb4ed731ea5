/* The SpMV variant on the GPU (Yamazaki et al. 2020, Section 4.3): each level's part of the partitioned inverse as
 * sparse lines without explicit zeros, made from the panels by numeric, and a warp a line to multiply with them. */
#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32, SCAN_THREADS = 1024;

template <typename T> struct lines_args {
    sparse_side side;
    const supernodal_panel *panels;
    const int32_t *rows;
    const T *panel_values;
    bool forward;
};

/** Call each(valid, index, value) for the elements of a line, 32 at a time, by all lanes of a warp. */
template <typename T, typename F> __device__ inline void for_each_element(const lines_args<T> &a, int64_t line,
                                                                          int lane, const F &each)
{
    for (int64_t k = a.side.run_start[line]; k < a.side.run_start[line + 1]; k++) {
        const supernodal_run run = a.side.runs[k];
        const supernodal_panel p = a.panels[run.panel];
        const bool own = a.side.own[line];
        const int begin = a.forward ? 0 : own ? run.at : p.width;
        const int end = a.forward ? (own ? run.at + 1 : p.width) : own ? p.width : p.height;
        for (int at = begin; at < end; at += 32) {
            const int i = at + lane;
            T value = zero_of<T>();
            int32_t index = 0;
            if (i < end) {
                value =
                    a.panel_values[p.values + (a.forward ? run.at + (int64_t)i * p.ld : i + (int64_t)run.at * p.ld)];
                index = a.forward ? p.first + i : a.rows[p.rows + i];
            }
            each(i < end && !(size_of(value) == 0), index, value);
        }
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS) count_entries(const lines_args<T> a)
{
    const int64_t line = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (line >= a.side.n_lines) return;
    int count = 0;
    for_each_element(a, line, threadIdx.x % 32,
                     [&](bool valid, int32_t, T) { count += __popc(__ballot_sync(~0u, valid)); });
    if (threadIdx.x % 32 == 0) a.side.start[line] = count;
}

/** start: counts to the sums of all before, in place, by one block. */
__global__ void __launch_bounds__(SCAN_THREADS) sum_up(int64_t *start, int64_t n)
{
    __shared__ int64_t sums[SCAN_THREADS];
    const int64_t begin = n * threadIdx.x / SCAN_THREADS, end = n * (threadIdx.x + 1) / SCAN_THREADS;
    int64_t sum = 0;
    for (int64_t i = begin; i < end; i++) sum += start[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 1; step < SCAN_THREADS; step *= 2) {
        const int64_t before = (int)threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    sum = sums[threadIdx.x] - sum;
    for (int64_t i = begin; i < end; i++) {
        const int64_t count = start[i];
        start[i] = sum;
        sum += count;
    }
    if (threadIdx.x == SCAN_THREADS - 1) start[n] = sum;
}

template <typename T> __global__ void __launch_bounds__(THREADS) fill_entries(const lines_args<T> a)
{
    const int64_t line = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (line >= a.side.n_lines) return;
    const int lane = threadIdx.x % 32;
    T *values = static_cast<T *>(a.side.values);
    int64_t at = a.side.start[line];
    for_each_element(a, line, lane, [&](bool valid, int32_t index, T value) {
        const unsigned kept = __ballot_sync(~0u, valid);
        if (valid) {
            const int64_t place = at + __popc(kept & ((1u << lane) - 1));
            a.side.index[place] = index;
            values[place] = value;
        }
        at += __popc(kept);
    });
}

template <typename T>
__global__ void __launch_bounds__(THREADS) multiply_lines(const sparse_side side, int64_t first, int64_t count,
                                                          supernodal_level_kernel kernel, T *t, T *x, int64_t n)
{
    const int64_t line = first + (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (line >= first + count) return;
    t += blockIdx.y * n;
    x += blockIdx.y * n;
    const T *values = static_cast<const T *>(side.values),
            *from = kernel == LEVEL_LINES_OWN || kernel == LEVEL_LINES_T_FROM_T ? t : x;
    T sum = zero_of<T>();
    for (int64_t k = side.start[line] + threadIdx.x % 32; k < side.start[line + 1]; k += 32)
        multiply_add(sum, values[k], from[side.index[k]]);
#pragma unroll
    for (int mask = 16; mask; mask /= 2) sum = sum + shuffle_xor(sum, mask);
    if (threadIdx.x % 32) return;
    const int32_t i = side.targets[line];
    if (kernel == LEVEL_LINES_OWN) x[i] = sum;
    else if (kernel == LEVEL_LINES_X_FROM_X) x[i] = x[i] - sum;
    else t[i] = t[i] - sum;
}

} // namespace

template <typename T> trine_status supernodal_lines_numeric(trine_supernodal plan, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = static_cast<const device_side *>(plan->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const lines_args<T> a = {d->sparse[direction], d->panels, d->rows, static_cast<const T *>(plan->values),
                                 direction == FORWARD};
        const unsigned blocks = (unsigned)((a.side.n_lines + WARPS - 1) / WARPS);
        count_entries<T><<<blocks, THREADS, 0, s>>>(a);
        sum_up<<<1, SCAN_THREADS, 0, s>>>(a.side.start, a.side.n_lines);
        fill_entries<T><<<blocks, THREADS, 0, s>>>(a);
        TRY(GPU_LAUNCHED("the sparse lines of the supernodal solve"));
    }
done:
    return status;
}

template <typename T>
trine_status supernodal_launch_lines(trine_supernodal plan, const supernodal_launch *l, int direction, T *t, T *x,
                                     int64_t nrhs, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const dim3 grid((unsigned)((l->count + WARPS - 1) / WARPS), (unsigned)nrhs);
    multiply_lines<T><<<grid, THREADS, 0, static_cast<gpuStream_t>(stream)>>>(d->sparse[direction], l->first, l->count,
                                                                              l->kernel, t, x, plan->S.n);
    return GPU_LAUNCHED("a level of the supernodal solve");
}

#define INSTANTIATE(T)                                                                                                 \
    template trine_status supernodal_lines_numeric<T>(trine_supernodal, void *);                                       \
    template trine_status supernodal_launch_lines(trine_supernodal, const supernodal_launch *, int, T *, T *, int64_t, \
                                                  void *);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(complex_of<float>)
INSTANTIATE(complex_of<double>)
