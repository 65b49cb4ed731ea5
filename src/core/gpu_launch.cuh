/* What the driver is asked itself: kernel launches, since the runtime takes about a microsecond to find a kernel's
 * handle and to look at its arguments, which is a tenth of the time of a short solve; and what a stream has of the
 * device. */
#ifndef TRINE_CORE_GPU_LAUNCH_CUH
#define TRINE_CORE_GPU_LAUNCH_CUH

#include "core/gpu.h"

/** Threads that a multiprocessor holds, for launch bounds: of the architecture that is compiled. */
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int MULTIPROCESSOR_THREADS = 1536;
#else
constexpr int MULTIPROCESSOR_THREADS = 2048;
#endif

#ifndef __HIP__
#include <cudaTypedefs.h>

#if CUDART_VERSION >= 12050
using driver_launch = CUresult (*)(const CUlaunchConfig *, CUfunction, void **, void **);

/** A function of the driver; NULL if there is none. */
inline void *find_driver_call(const char *name, unsigned version)
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    const gpuError_t error = cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found);
    return error == gpuSuccess && found == cudaDriverEntryPointSuccess ? entry : nullptr;
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
    static const driver_launch launch = (driver_launch)find_driver_call("cuLaunchKernelEx", 12000);
    static const CUfunction kernel = find_kernel<KERNEL>();
    static_assert(sizeof(CUlaunchAttribute) == sizeof(gpuLaunchAttribute), "the driver's attributes are the runtime's");
    const CUlaunchConfig config = {c.gridDim.x,
                                   c.gridDim.y,
                                   c.gridDim.z,
                                   c.blockDim.x,
                                   c.blockDim.y,
                                   c.blockDim.z,
                                   (unsigned)c.dynamicSmemBytes,
                                   c.stream,
                                   (CUlaunchAttribute *)c.attrs,
                                   c.numAttrs};
    if (launch && kernel && launch(&config, kernel, arguments, nullptr) == CUDA_SUCCESS) return gpuSuccess;
    /* a thread without a context yet gets one from the runtime, whose words on failures are those of all other calls */
#endif
    return cudaLaunchKernelExC(&c, (const void *)KERNEL, arguments);
}

/** Multiprocessors that kernels in a stream can have: those of its green context or, if it has none, `all` of the
 *  device. */
inline int multiprocessors_of(gpuStream_t stream, int all)
{
#if CUDART_VERSION >= 12050
    static const auto get_green = (PFN_cuStreamGetGreenCtx_v12040)find_driver_call("cuStreamGetGreenCtx", 12040);
    static const auto get_resource =
        (PFN_cuGreenCtxGetDevResource_v12040)find_driver_call("cuGreenCtxGetDevResource", 12040);
    CUgreenCtx green = nullptr;
    CUdevResource part;
    if (!get_green || !get_resource || get_green(stream, &green) != CUDA_SUCCESS || !green) return all;
    if (get_resource(green, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS) return (int)part.sm.smCount;
#endif
    return all;
}
#endif /* __HIP__ */

/** The same, of so many blocks and threads. */
template <auto KERNEL, typename Argument> gpuError_t launch_kernel(unsigned blocks, unsigned threads,
                                                                   gpuStream_t stream, const Argument &argument)
{
#ifdef __HIP__
    KERNEL<<<blocks, threads, 0, stream>>>(argument);
    return gpuGetLastError();
#else
    gpuLaunchConfig_t config = {};
    config.gridDim = blocks, config.blockDim = threads, config.stream = stream;
    return launch_kernel<KERNEL>(config, argument);
#endif
}

#endif
