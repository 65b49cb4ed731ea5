/* Kernels whose blocks are one cluster, so that they run at the same time and can wait for each other. Where there
 * are no clusters (gpu_limits.clusters), or one is refused, there is one block: kernels take any number of them
 * (gridDim.x). */
#ifndef TRINE_CORE_GPU_CLUSTER_CUH
#define TRINE_CORE_GPU_CLUSTER_CUH

#include "core/gpu.h"

/** Wait for all threads of the cluster, and see what they have written. */
__device__ inline void cluster_barrier()
{
#if !defined(__HIP__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

/** The block's number in its cluster. */
__device__ inline int cluster_rank()
{
    unsigned rank = 0;
#if !defined(__HIP__) && __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return (int)rank;
}
/** What `shared` is in block `rank` of the cluster. */
template <typename T> __device__ inline T *in_block(T *shared, int rank)
{
#if !defined(__HIP__) && __CUDA_ARCH__ >= 900
    return (T *)__cluster_map_shared_rank(shared, (unsigned)rank);
#else
    return rank ? nullptr : shared;
#endif
}

/** Launch a kernel of one argument with a cluster of `blocks` blocks, at most 8, or with one block. Neither
 *  synchronizes nor leaves an error behind where the cluster is refused. */
template <typename Argument> gpuError_t launch_cluster(void (*kernel)(Argument), const Argument &argument, int blocks,
                                                       int threads, size_t bytes, gpuStream_t stream)
{
#ifndef __HIP__
    gpuLaunchAttribute cluster = {};
    gpuLaunchConfig_t config = {};
    cluster.id = gpuLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {(unsigned)blocks, 1, 1};
    config.gridDim = blocks, config.blockDim = threads, config.dynamicSmemBytes = bytes, config.stream = stream;
    config.attrs = &cluster, config.numAttrs = 1;
    if (blocks > 1 && gpuLaunchKernelEx(&config, kernel, argument) == gpuSuccess) return gpuSuccess;
    if (blocks > 1) (void)gpuGetLastError();
#endif
    kernel<<<1, threads, bytes, stream>>>(argument);
    return gpuGetLastError();
}

#endif
