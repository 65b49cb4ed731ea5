/* The one place that names the GPU runtime, with gpu_launch.cuh for the driver of CUDA; another runtime is another
 * list of aliases. */
#ifndef TRINE_CORE_GPU_H
#define TRINE_CORE_GPU_H

#include "core/internal.h"

#ifdef __HIP__
#include "core/gpu_hip.h"
#else
#include <cuda_runtime_api.h>

#define gpuError_t cudaError_t
#define gpuSuccess cudaSuccess
#define gpuErrorMemoryAllocation cudaErrorMemoryAllocation
#define gpuGetErrorString cudaGetErrorString
#define gpuGetLastError cudaGetLastError
#define gpuStream_t cudaStream_t
#define gpuStreamCreateWithFlags cudaStreamCreateWithFlags
#define gpuStreamNonBlocking cudaStreamNonBlocking
#define gpuStreamDestroy cudaStreamDestroy
#define gpuStreamSynchronize cudaStreamSynchronize
#define gpuStreamIsCapturing cudaStreamIsCapturing
#define gpuStreamCaptureStatus cudaStreamCaptureStatus
#define gpuStreamCaptureStatusNone cudaStreamCaptureStatusNone
#define gpuStreamWaitEvent cudaStreamWaitEvent
#define gpuStreamBeginCapture cudaStreamBeginCapture
#define gpuStreamEndCapture cudaStreamEndCapture
#define gpuStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define gpuGraph_t cudaGraph_t
#define gpuGraphCreate cudaGraphCreate
#define gpuGraphNode_t cudaGraphNode_t
#define gpuGraphAddKernelNode cudaGraphAddKernelNode
#define gpuGraphKernelNodeSetAttribute cudaGraphKernelNodeSetAttribute
#define gpuKernelNodeParams cudaKernelNodeParams
#define gpuGraphDestroy cudaGraphDestroy
#define gpuGraphExec_t cudaGraphExec_t
#define gpuGraphInstantiate cudaGraphInstantiate
#define gpuGraphUpload cudaGraphUpload
#define gpuGraphLaunch cudaGraphLaunch
#define gpuGraphExecDestroy cudaGraphExecDestroy
#define gpuGraphExecKernelNodeSetParams cudaGraphExecKernelNodeSetParams
#define gpuEvent_t cudaEvent_t
#define gpuEventCreate cudaEventCreate
#define gpuEventCreateWithFlags cudaEventCreateWithFlags
#define gpuEventDisableTiming cudaEventDisableTiming
#define gpuEventDestroy cudaEventDestroy
#define gpuEventRecord cudaEventRecord
#define gpuEventSynchronize cudaEventSynchronize
#define gpuEventElapsedTime cudaEventElapsedTime
#define gpuMalloc cudaMalloc
#define gpuFree cudaFree
#define gpuMemcpyAsync cudaMemcpyAsync
#define gpuMemcpyDefault cudaMemcpyDefault
#define gpuMemcpy2DAsync cudaMemcpy2DAsync
#define gpuMemset2DAsync cudaMemset2DAsync
#define gpuMemsetAsync cudaMemsetAsync
#define gpuGetDevice cudaGetDevice
#define gpuSetDevice cudaSetDevice
#define gpuDeviceGetAttribute cudaDeviceGetAttribute
#define gpuDevAttrMultiProcessorCount cudaDevAttrMultiProcessorCount
#define gpuDevAttrMaxSharedMemoryPerBlockOptin cudaDevAttrMaxSharedMemoryPerBlockOptin
#define gpuDevAttrComputeCapabilityMajor cudaDevAttrComputeCapabilityMajor
#define gpuDevAttrComputeCapabilityMinor cudaDevAttrComputeCapabilityMinor
#define gpuDevAttrClusterLaunch cudaDevAttrClusterLaunch
#define gpuDevAttrCooperativeLaunch cudaDevAttrCooperativeLaunch
#define gpuGetDeviceCount cudaGetDeviceCount
#define gpuGetDeviceProperties cudaGetDeviceProperties
#define gpuDeviceProp cudaDeviceProp
#define gpuRuntimeGetVersion cudaRuntimeGetVersion
#define gpuFuncSetAttribute cudaFuncSetAttribute
#define gpuFuncGetAttributes cudaFuncGetAttributes
#define gpuFuncAttributes cudaFuncAttributes
#define gpuFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define gpuFuncAttributePreferredSharedMemoryCarveout cudaFuncAttributePreferredSharedMemoryCarveout
#define gpuSharedmemCarveoutMaxShared cudaSharedmemCarveoutMaxShared
#define gpuFuncAttributeNonPortableClusterSizeAllowed cudaFuncAttributeNonPortableClusterSizeAllowed
#define gpuLaunchConfig_t cudaLaunchConfig_t
#define gpuLaunchAttribute cudaLaunchAttribute
#define gpuLaunchAttributeClusterDimension cudaLaunchAttributeClusterDimension
#define gpuLaunchAttributeCooperative cudaLaunchAttributeCooperative
#define gpuLaunchAttributeID cudaLaunchAttributeID
#define gpuLaunchAttributeValue cudaLaunchAttributeValue
#define gpuLaunchAttributeProgrammaticStreamSerialization cudaLaunchAttributeProgrammaticStreamSerialization
#define gpuLaunchKernelEx cudaLaunchKernelEx
#define gpuOccupancyMaxActiveClusters cudaOccupancyMaxActiveClusters
#define gpuOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#endif /* __HIP__ */

/** The runtime's error -> trine_status with the runtime's own words and the call's name. */
static inline trine_status trine_gpu_status(gpuError_t error, const char *what)
{
    if (error == gpuSuccess) return TRINE_SUCCESS;
    (void)gpuGetLastError(); /* a failed call must not show up again at somebody else's */
    return trine_fail(error == gpuErrorMemoryAllocation ? TRINE_ERR_MEMORY : TRINE_ERR_DEVICE, "%s: %s", what,
                      gpuGetErrorString(error));
}
#define GPU(call) trine_gpu_status((call), #call)
/** Status of the kernel launch just made. */
#define GPU_LAUNCHED(kernel) trine_gpu_status(gpuGetLastError(), "launch of " kernel)

#endif
