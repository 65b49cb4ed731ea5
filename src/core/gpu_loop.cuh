/* A loop on the device, in a graph that a stream is being captured to: its body is run again while a kernel of it says
 * so. CUDA 12.4, in the runtime and in the driver. */
#ifndef TRINE_CORE_GPU_LOOP_CUH
#define TRINE_CORE_GPU_LOOP_CUH

#include "core/gpu.h"

#ifdef GPU_HAS_LOOPS

using gpu_loop = gpuGraphConditionalHandle;

inline bool gpu_has_loops()
{
    int version = 0;
    return gpuDriverGetVersion(&version) == gpuSuccess && version >= 12040;
}

/** Is the body to be run again? Called once in it, by one thread. */
__device__ inline void gpu_loop_goes_on(gpu_loop loop, bool again) { gpuGraphSetConditional(loop, again ? 1 : 0); }

/** Append a loop to what `stream` has captured. launch(inner, loop) launches the body, on another stream of the same
 *  device, which nothing else is using. The body is run at least once. */
template <typename Launch> trine_status gpu_capture_loop(gpuStream_t stream, gpuStream_t inner, const Launch &launch)
{
    gpuStreamCaptureStatus capture;
    gpuGraph_t graph = nullptr;
    const gpuGraphNode_t *before = nullptr;
    const gpuGraphEdgeData *edges = nullptr;
    size_t count = 0;
    gpuGraphNode_t node;
    gpuGraphNodeParams params = {};
    trine_status status = GPU(gpuStreamGetCaptureInfo(stream, &capture, nullptr, &graph, &before, &edges, &count));
    if (status) return status;
    params.type = gpuGraphNodeTypeConditional;
    params.conditional.type = gpuGraphCondTypeWhile;
    params.conditional.size = 1;
    status = GPU(gpuGraphConditionalHandleCreate(&params.conditional.handle, graph, 1, gpuGraphCondAssignDefault));
    if (!status) status = GPU(gpuGraphAddNode(&node, graph, before, edges, count, &params));
    if (status) return status;
    gpuGraph_t body = params.conditional.phGraph_out[0];
    status = GPU(gpuStreamBeginCaptureToGraph(inner, body, nullptr, nullptr, 0, gpuStreamCaptureModeThreadLocal));
    if (status) return status;
    status = launch(inner, params.conditional.handle);
    const trine_status ended = GPU(gpuStreamEndCapture(inner, &body));
    if (status || ended) return status ? status : ended;
    return GPU(gpuStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, gpuStreamSetCaptureDependencies));
}

#else

using gpu_loop = uint64_t;
inline bool gpu_has_loops() { return false; }
__device__ inline void gpu_loop_goes_on(gpu_loop, bool) {}
template <typename Launch> trine_status gpu_capture_loop(gpuStream_t, gpuStream_t, const Launch &)
{
    return trine_fail(TRINE_ERR_UNSUPPORTED, "this runtime has no loops in graphs");
}

#endif
#endif
