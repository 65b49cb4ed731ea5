/* The names of gpu.h for HIP, with which hipcc compiles the kernels (tools/check-hip); nothing has run on an AMD
 * GPU. The kernels count on warps of 32 threads: wave32 devices (RDNA). */
#ifndef TRINE_CORE_GPU_HIP_H
#define TRINE_CORE_GPU_HIP_H

#include <hip/hip_runtime.h>

#define gpuError_t hipError_t
#define gpuSuccess hipSuccess
#define gpuErrorMemoryAllocation hipErrorOutOfMemory
#define gpuGetErrorString hipGetErrorString
#define gpuGetLastError hipGetLastError
#define gpuStream_t hipStream_t
#define gpuStreamCreateWithFlags hipStreamCreateWithFlags
#define gpuStreamNonBlocking hipStreamNonBlocking
#define gpuStreamDestroy hipStreamDestroy
#define gpuStreamSynchronize hipStreamSynchronize
#define gpuStreamIsCapturing hipStreamIsCapturing
#define gpuStreamCaptureStatus hipStreamCaptureStatus
#define gpuStreamCaptureStatusNone hipStreamCaptureStatusNone
#define gpuStreamWaitEvent hipStreamWaitEvent
#define gpuStreamBeginCapture hipStreamBeginCapture
#define gpuStreamEndCapture hipStreamEndCapture
#define gpuStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define gpuGraph_t hipGraph_t
#define gpuGraphDestroy hipGraphDestroy
#define gpuGraphExec_t hipGraphExec_t
#define gpuGraphInstantiate(exec, graph, flags) hipGraphInstantiateWithFlags(exec, graph, flags)
#define gpuGraphUpload hipGraphUpload
#define gpuGraphLaunch hipGraphLaunch
#define gpuGraphExecDestroy hipGraphExecDestroy
#define gpuEvent_t hipEvent_t
#define gpuEventCreate hipEventCreate
#define gpuEventCreateWithFlags hipEventCreateWithFlags
#define gpuEventDisableTiming hipEventDisableTiming
#define gpuEventDestroy hipEventDestroy
#define gpuEventRecord hipEventRecord
#define gpuEventSynchronize hipEventSynchronize
#define gpuEventElapsedTime hipEventElapsedTime
#define gpuMalloc hipMalloc
#define gpuFree hipFree
#define gpuMemcpyAsync hipMemcpyAsync
#define gpuMemcpyDefault hipMemcpyDefault
#define gpuMemcpy2DAsync hipMemcpy2DAsync
#define gpuMemset2DAsync hipMemset2DAsync
#define gpuMemsetAsync hipMemsetAsync
#define gpuGetDevice hipGetDevice
#define gpuSetDevice hipSetDevice
#define gpuDeviceGetAttribute hipDeviceGetAttribute
#define gpuDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define gpuDevAttrMaxSharedMemoryPerBlockOptin hipDeviceAttributeMaxSharedMemoryPerBlock
#define gpuDevAttrComputeCapabilityMajor hipDeviceAttributeComputeCapabilityMajor
#define gpuDevAttrComputeCapabilityMinor hipDeviceAttributeComputeCapabilityMinor
#define gpuDevAttrCooperativeLaunch hipDeviceAttributeCooperativeLaunch
#define gpuGetDeviceCount hipGetDeviceCount
#define gpuGetDeviceProperties hipGetDeviceProperties
#define gpuDeviceProp hipDeviceProp_t
#define gpuRuntimeGetVersion hipRuntimeGetVersion
#define gpuFuncSetAttribute hipFuncSetAttribute
#define gpuFuncGetAttributes hipFuncGetAttributes
#define gpuFuncAttributes hipFuncAttributes
#define gpuFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define gpuFuncAttributePreferredSharedMemoryCarveout hipFuncAttributePreferredSharedMemoryCarveout
#define gpuSharedmemCarveoutMaxShared 100
#define gpuOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor

#ifdef __cplusplus
#define __grid_constant__
/* A wave has one program counter: what CUDA's warp functions synchronize is in step already. */
template <typename T> __device__ inline T __shfl_sync(unsigned, T a, int lane) { return __shfl(a, lane, 32); }
template <typename T> __device__ inline T __shfl_xor_sync(unsigned, T a, int mask) { return __shfl_xor(a, mask, 32); }
template <typename T> __device__ inline T __shfl_up_sync(unsigned, T a, unsigned by) { return __shfl_up(a, by, 32); }
template <typename T> __device__ inline T __shfl_down_sync(unsigned, T a, unsigned by)
{
    return __shfl_down(a, by, 32);
}
__device__ inline void __syncwarp(unsigned = ~0u)
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
__device__ inline unsigned __ballot_sync(unsigned mask, int p) { return (unsigned)__ballot(p) & mask; }
__device__ inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
__device__ inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }
__device__ inline unsigned __match_any_sync(unsigned mask, int a)
{
    unsigned same = 0;
    for (int lane = 0; lane < 32; lane++) same |= (unsigned)(__shfl(a, lane, 32) == a) << lane;
    return same & mask;
}
__device__ inline int __reduce_max_sync(unsigned, int a)
{
    for (int by = 16; by; by /= 2) a = max(a, __shfl_xor(a, by, 32));
    return a;
}
__device__ inline unsigned __reduce_add_sync(unsigned, unsigned a)
{
    for (int by = 16; by; by /= 2) a += __shfl_xor(a, by, 32);
    return a;
}
namespace { /* where HIP's own one for half precision hides the others */
template <typename T> __device__ inline T __ldg(const T *p) { return *p; }
}
/* HIP 5.2 has atomicMin for unsigned 64-bit integers only; row numbers are not negative. */
__device__ inline long long atomicMin(long long *p, long long a)
{
    return (long long)atomicMin((unsigned long long *)p, (unsigned long long)a);
}
#endif

#endif
