/* Kernel launches by the driver itself: the runtime takes about a microsecond to find a kernel's handle and to look at its arguments,
 * which is a tenth of the time of a short solve. */
#ifndef TRINE_GPU_LAUNCH_CUH
#define TRINE_GPU_LAUNCH_CUH

#include <cuda.h>

#include "core/gpu.h"

#if CUDART_VERSION >= 12050
using driver_launch = CUresult (*)(const CUlaunchConfig *, CUfunction, void **, void **);

/** cuLaunchKernelEx; NULL if there is none. */
inline driver_launch find_driver_launch()
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    const gpuError_t error = cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &entry, 12000, cudaEnableDefault, &found);
    return error == gpuSuccess && found == cudaDriverEntryPointSuccess ? (driver_launch)entry : nullptr;
}
/** A handle for all devices. */
template <auto KERNEL> CUfunction find_kernel()
{
    cudaKernel_t kernel = nullptr;
    return cudaGetKernel(&kernel, (const void *)KERNEL) == gpuSuccess ? (CUfunction)kernel : nullptr;
}
#endif

/** As gpuLaunchKernelEx, of a kernel with one argument. */
template <auto KERNEL, typename Argument> gpuError_t launch_kernel(const gpuLaunchConfig_t &c, const Argument &argument)
{
    void *arguments[] = {(void *)&argument};
#if CUDART_VERSION >= 12050
    static const driver_launch launch = find_driver_launch();
    static const CUfunction kernel = find_kernel<KERNEL>();
    static_assert(sizeof(CUlaunchAttribute) == sizeof(gpuLaunchAttribute), "the driver's attributes are the runtime's");
    const CUlaunchConfig config = {c.gridDim.x, c.gridDim.y, c.gridDim.z, c.blockDim.x, c.blockDim.y, c.blockDim.z, (unsigned)c.dynamicSmemBytes, c.stream,
                                   (CUlaunchAttribute *)c.attrs, c.numAttrs};
    if (launch && kernel && launch(&config, kernel, arguments, nullptr) == CUDA_SUCCESS) return gpuSuccess;
    /* a thread without a context yet gets one from the runtime, whose words on failures are those of all other calls */
#endif
    return cudaLaunchKernelExC(&c, (const void *)KERNEL, arguments);
}

#endif
