/* CUDA events around a call on the context's stream. */
#include "bench.h"
#include "core/gpu.h"

static gpuEvent_t started, stopped;

trine_status bench_device_open(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    TRY(GPU(gpuSetDevice(b->device.device))); /* for this program's own copy of the runtime; the library has another */
    TRY(GPU(gpuEventCreate(&started)));
    TRY(GPU(gpuEventCreate(&stopped)));
done:
    return status;
}

void bench_device_close(void)
{
    if (started) gpuEventDestroy(started);
    if (stopped) gpuEventDestroy(stopped);
    started = stopped = NULL;
}

trine_status bench_device_timer_start(bench *b) { return GPU(gpuEventRecord(started, trine_exec_stream(b->ctx, NULL))); }

trine_status bench_device_timer_stop(bench *b, double *ms)
{
    trine_status status = TRINE_SUCCESS;
    float elapsed = 0;
    TRY(GPU(gpuEventRecord(stopped, trine_exec_stream(b->ctx, NULL))));
    TRY(GPU(gpuEventSynchronize(stopped)));
    TRY(GPU(gpuEventElapsedTime(&elapsed, started, stopped)));
    *ms = elapsed;
done:
    return status;
}
