#include "core/gpu_limits.h"
#include "core/gpu.h"

#include <algorithm>
#include <atomic>

namespace {

/* What tests say that a device is. */
int most_capability, most_shared_bytes;
/* Of a device: shared_bytes << 32 | multiprocessors << 16 | capability << 3 | clusters << 2 | cooperative << 1 |
 * programmatic; 0: not asked yet. */
std::atomic<uint64_t> known[64];

/** Stands for all kernels, which are compiled for the same architectures. */
__global__ void any_kernel() {}

uint64_t pack(const gpu_limits &l)
{
    return (uint64_t)l.shared_bytes << 32 | (uint64_t)l.multiprocessors << 16 | (uint64_t)l.capability << 3 |
           l.clusters << 2 | l.cooperative << 1 | l.programmatic;
}
gpu_limits unpack(int device, uint64_t p)
{
    return {device,
            (int)(p >> 16 & 0xffff),
            (int)(p >> 32),
            (int)(p >> 3 & 0x1fff),
            (p >> 2 & 1) != 0,
            (p >> 1 & 1) != 0,
            (p & 1) != 0};
}

trine_status ask(int device, gpu_limits *limits)
{
    trine_status status = TRINE_SUCCESS;
    int major = 0, minor = 0, clusters = 0, cooperative = 0;
    gpuFuncAttributes compiled = {};
    limits->device = device;
    TRY(GPU(gpuDeviceGetAttribute(&limits->multiprocessors, gpuDevAttrMultiProcessorCount, device)));
    TRY(GPU(gpuDeviceGetAttribute(&limits->shared_bytes, gpuDevAttrMaxSharedMemoryPerBlockOptin, device)));
    TRY(GPU(gpuDeviceGetAttribute(&major, gpuDevAttrComputeCapabilityMajor, device)));
    TRY(GPU(gpuDeviceGetAttribute(&minor, gpuDevAttrComputeCapabilityMinor, device)));
#ifndef __HIP__
    TRY(GPU(gpuDeviceGetAttribute(&clusters, gpuDevAttrClusterLaunch, device)));
#endif
    TRY(GPU(gpuDeviceGetAttribute(&cooperative, gpuDevAttrCooperativeLaunch, device)));
    if (gpuFuncGetAttributes(&compiled, (const void *)any_kernel) != gpuSuccess) {
        trine_build_info build;
        (void)gpuGetLastError();
        trine_get_build_info(&build);
        FAIL(TRINE_ERR_DEVICE, "this libtrine has no code for compute capability %d.%d; it was compiled for %s", major,
             minor, build.cuda_architectures);
    }
    limits->capability = std::min(trine_gpu_shown_capability(10 * major + minor), compiled.ptxVersion);
    if (most_shared_bytes) limits->shared_bytes = std::min(limits->shared_bytes, most_shared_bytes);
    limits->clusters = clusters && limits->capability >= 90;
    limits->cooperative = cooperative;
    limits->programmatic = limits->capability >= 90;
done:
    return status;
}

/** Kernels that have been allowed all there is, and on which devices: a launch should not ask the runtime again, and
 *  calls with different sizes in different threads must not take from each other what they need. */
struct allowed_kernel {
    std::atomic<const void *> kernel;
    std::atomic<uint64_t> devices;
};
allowed_kernel allowed[1024];

/** Where the kernel is, or becomes, known; NULL if the table is full. */
allowed_kernel *find_allowed(const void *kernel)
{
    constexpr size_t ROOM = sizeof allowed / sizeof *allowed;
    for (size_t i = 0, at = ((uintptr_t)kernel >> 4) * 0x9E3779B97F4A7C15ull >> 54; i < ROOM;
         i++, at = (at + 1) % ROOM) {
        const void *there = allowed[at].kernel.load(std::memory_order_relaxed);
        if (there == kernel) return &allowed[at];
        if (!there &&
            (allowed[at].kernel.compare_exchange_strong(there, kernel, std::memory_order_relaxed) || there == kernel))
            return &allowed[at];
    }
    return nullptr;
}

trine_status allow_shared(const void *kernel, size_t bytes, bool prefer)
{
    trine_status status = TRINE_SUCCESS;
    gpu_limits limits;
    gpuFuncAttributes attributes = {};
    allowed_kernel *const entry = find_allowed(kernel);
    TRY(trine_gpu_limits(&limits));
    if (entry && limits.device < 64 && entry->devices.load(std::memory_order_relaxed) >> limits.device & 1 &&
        !most_shared_bytes)
        return TRINE_SUCCESS;
    TRY(GPU(gpuFuncGetAttributes(&attributes, kernel)));
    if (bytes + attributes.sharedSizeBytes > (size_t)limits.shared_bytes)
        FAIL(TRINE_ERR_DEVICE, "a kernel needs %zu bytes of shared memory a block; the device has %d",
             bytes + attributes.sharedSizeBytes, limits.shared_bytes);
    TRY(GPU(gpuFuncSetAttribute(kernel, gpuFuncAttributeMaxDynamicSharedMemorySize,
                                limits.shared_bytes - (int)attributes.sharedSizeBytes)));
    if (prefer)
        TRY(GPU(
            gpuFuncSetAttribute(kernel, gpuFuncAttributePreferredSharedMemoryCarveout, gpuSharedmemCarveoutMaxShared)));
    if (entry && limits.device < 64) entry->devices.fetch_or(UINT64_C(1) << limits.device, std::memory_order_relaxed);
done:
    return status;
}

} // namespace

extern "C" {

void trine_gpu_pretend(int capability, int shared_bytes)
{
    most_capability = capability, most_shared_bytes = shared_bytes;
    for (auto &device : known) device.store(0, std::memory_order_relaxed);
}

int trine_gpu_shown_capability(int capability)
{
    return most_capability ? std::min(capability, most_capability) : capability;
}

trine_status trine_gpu_limits(struct gpu_limits *limits)
{
    trine_status status = TRINE_SUCCESS;
    int device;
    TRY(GPU(gpuGetDevice(&device)));
    if (const uint64_t packed = device < 64 ? known[device].load(std::memory_order_relaxed) : 0) {
        *limits = unpack(device, packed);
        return TRINE_SUCCESS;
    }
    TRY(ask(device, limits));
    if (device < 64) known[device].store(pack(*limits), std::memory_order_relaxed);
done:
    return status;
}

trine_status trine_gpu_allow_shared(const void *kernel, size_t bytes) { return allow_shared(kernel, bytes, false); }
trine_status trine_gpu_prefer_shared(const void *kernel, size_t bytes) { return allow_shared(kernel, bytes, true); }

} // extern "C"
