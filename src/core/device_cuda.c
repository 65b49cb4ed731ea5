/* The device part of a context, on the CUDA runtime. */
#include <stdio.h>

#include "core/gpu.h"
#include "core/gpu_limits.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

void trine_device_enter(trine_context ctx, int *saved)
{
    *saved = -1;
    if (!ctx->cuda || gpuGetDevice(saved) != gpuSuccess) return;
    if (*saved != ctx->device) gpuSetDevice(ctx->device);
}

void trine_device_leave(trine_context ctx, int saved)
{
    if (saved >= 0 && saved != ctx->device) gpuSetDevice(saved);
}

trine_status trine_device_open(trine_context ctx, int ordinal)
{
    int count = 0, saved = -1;
    gpuError_t error = gpuGetDeviceCount(&count);
    if (error != gpuSuccess) {
        gpuGetLastError();
        return trine_fail(TRINE_ERR_DEVICE, "no CUDA device: %s", gpuGetErrorString(error));
    }
    if (ordinal >= count)
        return trine_fail(TRINE_ERR_DEVICE, "there is no CUDA device %d, only %d of them", ordinal, count);

    trine_status status = TRINE_SUCCESS;
    struct gpuDeviceProp p;
    struct gpu_limits limits;
    gpuStream_t stream = NULL;
    gpuGetDevice(&saved);
    TRY(GPU(gpuSetDevice(ordinal)));
    TRY(GPU(gpuGetDeviceProperties(&p, ordinal)));
    if (p.major < 8)
        FAIL(TRINE_ERR_DEVICE, "%s has compute capability %d.%d; trine's kernels need 8.0", p.name, p.major, p.minor);
    TRY(trine_gpu_limits(&limits)); /* says so if nothing was compiled for this device */
    TRY(GPU(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking)));
    ctx->own_stream = stream;
    ctx->info.multiprocessors = p.multiProcessorCount;
    ctx->info.memory_bytes = (int64_t)p.totalGlobalMem;
    ctx->info.compute_capability = trine_gpu_shown_capability(10 * p.major + p.minor);
    snprintf(ctx->info.name, sizeof ctx->info.name, "%.90s", p.name);
done:
    if (saved >= 0 && saved != ordinal) gpuSetDevice(saved);
    return status;
}

void trine_device_close(trine_context ctx)
{
    int saved;
    trine_device_enter(ctx, &saved);
    gpuStreamDestroy((gpuStream_t)ctx->own_stream);
    trine_device_leave(ctx, saved);
}

/** BODY with ctx's device current; its value is the status. */
#define ON_DEVICE(call)                    \
    int saved;                             \
    trine_device_enter(ctx, &saved);       \
    trine_status status = GPU(call);       \
    trine_device_leave(ctx, saved);        \
    return status

trine_status trine_device_alloc(trine_context ctx, size_t bytes, void **p)
{
    int saved;
    trine_device_enter(ctx, &saved);
    gpuError_t error = gpuMalloc(p, bytes);
    trine_device_leave(ctx, saved);
    if (error == gpuSuccess) return TRINE_SUCCESS;
    gpuGetLastError();
    *p = NULL;
    return trine_fail(error == gpuErrorMemoryAllocation ? TRINE_ERR_MEMORY : TRINE_ERR_DEVICE,
                      "no device memory for %zu bytes: %s", bytes, gpuGetErrorString(error));
}

void trine_device_free(trine_context ctx, void *p)
{
    int saved;
    trine_device_enter(ctx, &saved);
    gpuFree(p);
    trine_device_leave(ctx, saved);
}

trine_status trine_device_copy_async(trine_context ctx, void *dst, const void *src, size_t bytes, void *stream)
{
    ON_DEVICE(gpuMemcpyAsync(dst, src, bytes, gpuMemcpyDefault, (gpuStream_t)stream));
}

trine_status trine_device_fill_async(trine_context ctx, void *dst, int byte, size_t bytes, void *stream)
{
    ON_DEVICE(gpuMemsetAsync(dst, byte, bytes, (gpuStream_t)stream));
}

static trine_status fill_rectangle(trine_context ctx, void *dst, size_t step, int byte, size_t length, int64_t lines,
                                   void *stream)
{
    ON_DEVICE(gpuMemset2DAsync(dst, step, byte, length, (size_t)lines, (gpuStream_t)stream));
}

trine_status trine_device_fill_lines_async(trine_context ctx, void *dst, size_t step, int byte, size_t length,
                                           int64_t lines, void *stream)
{
    const size_t largest_step = INT32_MAX; /* of the driver */
    if (lines == 1 || step == length) return trine_device_fill_async(ctx, dst, byte, length * (size_t)lines, stream);
    if (step <= largest_step) return fill_rectangle(ctx, dst, step, byte, length, lines, stream);
    trine_status status = TRINE_SUCCESS;
    for (int64_t i = 0; i < lines && !status; i++)
        status = trine_device_fill_async(ctx, (char *)dst + (size_t)i * step, byte, length, stream);
    return status;
}

trine_status trine_device_synchronize(trine_context ctx, void *stream)
{
    ON_DEVICE(gpuStreamSynchronize((gpuStream_t)stream));
}

bool trine_device_is_capturing(trine_context ctx, void *stream)
{
    int saved;
    enum gpuStreamCaptureStatus capture = gpuStreamCaptureStatusNone;
    trine_device_enter(ctx, &saved);
    gpuStreamIsCapturing((gpuStream_t)stream, &capture);
    trine_device_leave(ctx, saved);
    return capture != gpuStreamCaptureStatusNone;
}

void trine_fill_build_info(trine_build_info *info)
{
    info->cuda = 1;
    info->cuda_architectures = TRINE_CUDA_ARCHITECTURES;
    gpuRuntimeGetVersion(&info->cuda_runtime_version);
}

int trine_range_begin(const char *name)
{
#ifdef NVTX_VERSION
    return nvtxRangePushA(name);
#else
    (void)name;
    return 0;
#endif
}

void trine_range_end(int *range)
{
    (void)range;
#ifdef NVTX_VERSION
    nvtxRangePop();
#endif
}
