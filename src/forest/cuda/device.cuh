/* What the files of the GPU backend share. Kernels are told by the forest's counts, in device memory, whether there is
 * anything left to do: the host reads nothing back. */
#ifndef TRINE_FOREST_CUDA_DEVICE_CUH
#define TRINE_FOREST_CUDA_DEVICE_CUH

#ifndef __HIP__
#include <cooperative_groups.h>
#endif

#include "core/gpu_launch.cuh"
#include "core/gpu_scalar.cuh"
#include "forest/common/view.h"

constexpr unsigned FOREST_THREADS = 256;
constexpr int FOREST_PASSES = 32; // of pointer jumping, as many as N has bits

/** What the backend keeps. */
struct forest_device {
    void *scratch;                   /* of prefix sums */
    size_t scratch_bytes;
    int32_t *goes_on;                /* FOREST_PASSES + 1: is pass k to be run? */
    int multiprocessors;             /* of the device */
    int of_multiprocessor;           /* blocks on each that can wait for all others; 0: none can */
};

/** Of an array that is read once: it does not displace in the cache what is read at random. */
__device__ inline int32_t load_streamed(const int32_t *p)
{
#ifdef __HIP__
    return __builtin_nontemporal_load(p);
#else
    return __ldcs(p);
#endif
}

/** The forest's device is current while it lives. */
class device_scope {
    trine_context ctx;
    int saved;

  public:
    explicit device_scope(trine_context c) : ctx(c) { trine_device_enter(ctx, &saved); }
    ~device_scope() { trine_device_leave(ctx, saved); }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;
};

/** Blocks for so many threads; kernels go on a grid further where these are not enough. */
inline unsigned forest_blocks(int64_t threads, int64_t most = 1 << 20)
{
    const int64_t blocks = (threads + FOREST_THREADS - 1) / FOREST_THREADS;
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/** Blocks of kernels in which every block adds to a number that all share. */
constexpr int64_t FOREST_FEW_BLOCKS = 1 << 10;

/** Blocks of a kernel that waits for all of them, at most so many on a multiprocessor; 1 where the device does not
 *  say. */
inline unsigned forest_blocks_together(trine_forest f, int most, gpuStream_t stream)
{
#ifdef __HIP__
    return 1;
#else
    const forest_device *own = static_cast<forest_device *>(f->own);
    const int each = own->of_multiprocessor < most ? own->of_multiprocessor : most;
    return each ? each * multiprocessors_of(stream, own->multiprocessors) : 1;
#endif
}
/** All blocks of the grid. */
__device__ inline void wait_for_grid()
{
#ifndef __HIP__
    if (gridDim.x > 1) cooperative_groups::this_grid().sync();
#endif
    __syncthreads();
}

/** body(i) for 0 <= i < count, each by a thread. */
template <typename Body> __global__ void __launch_bounds__(FOREST_THREADS) for_each(int64_t count, const Body body)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        body(i);
}
template <typename Body> trine_status launch_each(int64_t count, void *stream, const Body &body)
{
    for_each<<<forest_blocks(count), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(count, body);
    return GPU_LAUNCHED("for_each");
}

/** The same for the splitters that there are, times `each`. */
template <typename Body> __global__ void __launch_bounds__(FOREST_THREADS)
    for_each_listed(const forest_counts *counts, int each, const Body body)
{
    const int64_t count = counts->listed * each;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        body(i);
}
template <typename Body> trine_status launch_listed(trine_forest f, int each, void *stream, const Body &body)
{
    const unsigned blocks = forest_blocks(f->graph.n * each, 1 << 13);
    for_each_listed<<<blocks, FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(f->counts, each, body);
    return GPU_LAUNCHED("for_each_listed");
}

/** Which of FOREST_CHUNK vertices is something to be done for? Few of a warp often, so a block lists them and takes
 *  them one behind the other. */
constexpr int FOREST_CHUNK = 4 * FOREST_THREADS;
struct listed_chunk {
    int32_t vertices[FOREST_CHUNK];
    int count;

    /** By all threads of a block: those from begin on, below n, with is_listed(v), which is called once for each. */
    template <typename Test> __device__ void list(int64_t begin, int64_t n, const Test &is_listed)
    {
        const unsigned lane = threadIdx.x % 32;
        __syncthreads(); /* what was there before has been read */
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < FOREST_CHUNK; k += FOREST_THREADS) {
            const int64_t v = begin + k + threadIdx.x;
            const bool mine = v < n && is_listed((int32_t)v);
            const unsigned all = __ballot_sync(~0u, mine);
            int slot = 0;
            if (lane == 0 && all) slot = atomicAdd(&count, __popc(all));
            slot = __shfl_sync(~0u, slot, 0) + __popc(all & ((1u << lane) - 1));
            if (mine) vertices[slot] = (int32_t)v;
        }
        __syncthreads();
    }
};
/** body(v) for 0 <= v < n where body.is_listed(v), if body.is_needed(). */
template <typename Body> __global__ void __launch_bounds__(FOREST_THREADS) for_each_of_few(int64_t n, const Body body)
{
    __shared__ listed_chunk chunk;
    if (!body.is_needed()) return;
    for (int64_t begin = blockIdx.x * (int64_t)FOREST_CHUNK; begin < n; begin += gridDim.x * (int64_t)FOREST_CHUNK) {
        chunk.list(begin, n, [&](int32_t v) { return body.is_listed(v); });
        for (int i = threadIdx.x; i < chunk.count; i += FOREST_THREADS) body(chunk.vertices[i]);
    }
}
template <typename Body> trine_status launch_each_of_few(int64_t n, void *stream, const Body &body)
{
    const unsigned blocks = forest_blocks((n + 3) / 4);
    for_each_of_few<<<blocks, FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(n, body);
    return GPU_LAUNCHED("for_each_of_few");
}

/** A sum over the block's threads, in one order; valid in thread 0. shared: FOREST_THREADS. */
template <typename T> __device__ T block_sum(T mine, T *shared)
{
    __syncthreads();
    shared[threadIdx.x] = mine;
    for (unsigned half = FOREST_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    return shared[0];
}

trine_status forest_cuda_set_weights(trine_forest f, const void *values, void *stream);
trine_status forest_cuda_factor(trine_forest f, const struct forest_rounds *r, void *stream);
trine_status forest_cuda_propose(trine_forest f, const struct forest_rounds *r, int64_t k, void *stream);
trine_status forest_cuda_scan_pass(trine_forest f, bool wants_edges, int k, void *stream);
trine_status forest_cuda_break_cycles(trine_forest f, void *stream);
trine_status forest_cuda_order(trine_forest f, void *stream);
trine_status forest_cuda_exchange(trine_forest f, uint64_t salt, void *stream);
trine_status forest_cuda_scale(trine_forest f, double omega, void *stream);
trine_status forest_cuda_extract(trine_forest f, const void *values, void *const bands[3], const double *omega,
                                 void *stream);
trine_status forest_cuda_coarsen(trine_forest f, void *stream);
trine_status forest_cuda_extract_blocks(trine_forest f, const void *values, void *const bands[3], int32_t *permutation,
                                        void *stream);
trine_status forest_cuda_add_up(trine_forest f, const void *values, double *sums, void *stream);
/** How many blocks of a kernel that waits for all of its blocks are on the device together. */
trine_status forest_cuda_count_together(forest_device *own);
/** f->weight, of a [0,2]-factor. */
trine_status forest_cuda_look_up(trine_forest f, void *stream);
/** There are no lists of candidates any more. */
trine_status forest_cuda_forget_candidates(trine_forest f, void *stream);
/** Bytes of scratch for a prefix sum over n lengths of paths, or n + 1 rows of a coarse graph. */
trine_status forest_cuda_scan_bytes(int64_t n, size_t *bytes);
/** sums[i] := values[0] + ... + values[i - 1]; they may be the same. */
trine_status forest_cuda_add_before(trine_forest f, const int32_t *values, int32_t *sums, int64_t n, void *stream);
trine_status forest_cuda_add_before(trine_forest f, const int64_t *values, int64_t *sums, int64_t n, void *stream);

#endif
