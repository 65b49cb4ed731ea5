/* Kernels that were compiled at run time, loaded by the driver. */
#include "core/gpu_kernels.h"

#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"

#if !defined(__HIP__) && CUDART_VERSION >= 12050

namespace {

struct driver {
    PFN_cuLibraryLoadData_v12000 load;
    PFN_cuLibraryUnload_v12000 unload;
    PFN_cuLibraryGetKernel_v12000 get_kernel;
    PFN_cuLaunchKernelEx_v11060 launch;
    PFN_cuGetErrorString_v6000 error_string;
};

const driver &the_driver()
{
    static const driver d = {
        (PFN_cuLibraryLoadData_v12000)find_driver_call("cuLibraryLoadData", 12000),
        (PFN_cuLibraryUnload_v12000)find_driver_call("cuLibraryUnload", 12000),
        (PFN_cuLibraryGetKernel_v12000)find_driver_call("cuLibraryGetKernel", 12000),
        (PFN_cuLaunchKernelEx_v11060)find_driver_call("cuLaunchKernelEx", 12000),
        (PFN_cuGetErrorString_v6000)find_driver_call("cuGetErrorString", 6000),
    };
    return d;
}

trine_status driver_status(CUresult result, const char *what)
{
    const char *text = nullptr;
    if (result == CUDA_SUCCESS) return TRINE_SUCCESS;
    if (the_driver().error_string) the_driver().error_string(result, &text);
    return trine_fail(result == CUDA_ERROR_OUT_OF_MEMORY ? TRINE_ERR_MEMORY : TRINE_ERR_DEVICE, "%s: %s", what,
                      text ? text : "an error of the driver");
}

void unload(void *library) { the_driver().unload((CUlibrary)library); }

/** The library of the kernels, loaded once; another thread may do so at the same time. */
trine_status load(struct trine_kernels *k)
{
    CUlibrary library = nullptr;
    void *nobody = nullptr;
    if (__atomic_load_n(&k->loaded, __ATOMIC_ACQUIRE)) return TRINE_SUCCESS;
    const trine_status status = driver_status(
        the_driver().load(&library, k->code.image, nullptr, nullptr, 0, nullptr, nullptr, 0), "loading kernels");
    if (status) return status;
    k->unload = unload;
    if (!__atomic_compare_exchange_n(&k->loaded, &nobody, library, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        the_driver().unload(library);
    return TRINE_SUCCESS;
}

/** The driver's handles of the first kernels. */
trine_status find(const struct trine_kernels *k, int count, void **handles)
{
    trine_status status = TRINE_SUCCESS;
    const char *name = k->code.names;
    for (int i = 0; i < count && !status; i++, name += strlen(name) + 1)
        status = driver_status(the_driver().get_kernel((CUkernel *)&handles[i], (CUlibrary)k->loaded, name),
                               "finding the kernel");
    return status;
}

} // namespace

trine_status trine_gpu_get_kernels(trine_context ctx, trine_get_kernels get, const void *program, int count,
                                   struct trine_kernels **kernels, void **handles)
{
    const driver &d = the_driver();
    const int shown = ctx->info.compute_capability;
    int major = 0, minor = 0;
    *kernels = nullptr;
    if (!d.load || !d.unload || !d.get_kernel || !d.launch)
        return trine_fail(TRINE_ERR_NOT_BUILT, "the driver cannot load kernels made at run time: CUDA 12 is needed");
    trine_status status = GPU(gpuDeviceGetAttribute(&major, gpuDevAttrComputeCapabilityMajor, ctx->device));
    if (!status) status = GPU(gpuDeviceGetAttribute(&minor, gpuDevAttrComputeCapabilityMinor, ctx->device));
    if (status) return status;
    const bool portable = shown != 10 * major + minor;
    status = get(ctx, program, shown, portable, false, kernels);
    if (!status) status = load(*kernels);
    if (status && *kernels && (*kernels)->from_file) { /* of a later NVRTC than the driver can load */
        trine_kernels_drop(ctx, *kernels);
        *kernels = nullptr;
        status = get(ctx, program, shown, portable, true, kernels);
        if (!status) status = load(*kernels);
    }
    return status ? status : find(*kernels, count, handles);
}

trine_status trine_gpu_launch(void *handle, unsigned blocks, int threads, bool early, void *stream, void **arguments)
{
    if (!blocks) return TRINE_SUCCESS;
    CUlaunchConfig config = {};
    config.gridDimX = blocks, config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = (unsigned)threads, config.blockDimY = config.blockDimZ = 1;
    config.hStream = (CUstream)stream;
    CUlaunchAttribute follows = {};
    follows.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    follows.value.programmaticStreamSerializationAllowed = 1;
    if (early) config.attrs = &follows, config.numAttrs = 1;
    return driver_status(the_driver().launch(&config, (CUfunction)handle, arguments, nullptr),
                         "launch of a kernel that was compiled at run time");
}

#else

static trine_status refuse()
{
    return trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without what loads kernels at run time");
}
trine_status trine_gpu_get_kernels(trine_context, trine_get_kernels, const void *, int, struct trine_kernels **kernels,
                                   void **)
{
    *kernels = nullptr;
    return refuse();
}
trine_status trine_gpu_launch(void *, unsigned, int, bool, void *, void **) { return refuse(); }

#endif
