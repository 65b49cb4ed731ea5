/* Conditional nodes of graphs (CUDA 12.4): parts of a graph that are run once or again and again, as kernels before
 * them and in them decide. A part is recorded in a stream of its own while what is around it is being recorded. */
#ifndef TRINE_CORE_GPU_CONDITION_CUH
#define TRINE_CORE_GPU_CONDITION_CUH

#include "core/gpu.h"

#if !defined(__HIP__) && CUDART_VERSION >= 12040
#define TRINE_HAS_CONDITIONS 1

using gpuCondition = cudaGraphConditionalHandle;

/** The driver knows them too. */
inline bool driver_has_conditions()
{
    int version = 0;
    return cudaDriverGetVersion(&version) == gpuSuccess && version >= 12040;
}

/** The graph that is being recorded in a stream, and its nodes that the next one comes after. */
struct recorded_so_far {
    gpuGraph_t graph;
    const gpuGraphNode_t *nodes;
    const cudaGraphEdgeData *edges;
    size_t count;
};
inline gpuError_t look_at_recording(gpuStream_t stream, recorded_so_far *r)
{
    cudaStreamCaptureStatus capture;
    unsigned long long id;
#if CUDART_VERSION >= 13000
    const gpuError_t error =
        cudaStreamGetCaptureInfo(stream, &capture, &id, &r->graph, &r->nodes, &r->edges, &r->count);
#else
    const gpuError_t error =
        cudaStreamGetCaptureInfo_v3(stream, &capture, &id, &r->graph, &r->nodes, &r->edges, &r->count);
#endif
    if (error != gpuSuccess) return error;
    return capture == cudaStreamCaptureStatusActive ? gpuSuccess : cudaErrorStreamCaptureInvalidated;
}

/** A condition for a part that is to come next in the stream; at_first until a kernel sets it. */
inline gpuError_t new_condition(gpuStream_t stream, gpuCondition *condition, bool at_first = false)
{
    recorded_so_far r;
    const gpuError_t error = look_at_recording(stream, &r);
    return error == gpuSuccess
               ? cudaGraphConditionalHandleCreate(condition, r.graph, at_first, cudaGraphCondAssignDefault)
               : error;
}

/** Put the part there: run if the condition is set, and again while it is, if `repeats`. *body: its graph, empty. */
inline gpuError_t add_conditional(gpuStream_t stream, gpuCondition condition, bool repeats, gpuGraph_t *body)
{
    recorded_so_far r;
    gpuGraphNode_t node;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = condition;
    params.conditional.type = repeats ? cudaGraphCondTypeWhile : cudaGraphCondTypeIf;
    params.conditional.size = 1;
    gpuError_t error = look_at_recording(stream, &r);
    if (error != gpuSuccess) return error;
#if CUDART_VERSION >= 13000
    error = cudaGraphAddNode(&node, r.graph, r.nodes, r.edges, r.count, &params);
    if (error == gpuSuccess)
        error = cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies);
#else
    error = cudaGraphAddNode_v2(&node, r.graph, r.nodes, r.edges, r.count, &params);
    if (error == gpuSuccess)
        error = cudaStreamUpdateCaptureDependencies_v2(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies);
#endif
    if (error == gpuSuccess) *body = params.conditional.phGraph_out[0];
    return error;
}

/** Record what a part consists of; gpuStreamEndCapture ends it. */
inline gpuError_t begin_part(gpuStream_t stream, gpuGraph_t body)
{
    return cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal);
}

__device__ inline void set_condition(gpuCondition condition, bool value) { cudaGraphSetConditional(condition, value); }

/** Append a loop to what `stream` records: launch(inner, condition) launches its body, in another stream of the same
 *  device, which nothing else is using. The body is run at least once, and again while a kernel of it has set the
 *  condition. */
template <typename Launch> trine_status record_loop(gpuStream_t stream, gpuStream_t inner, const Launch &launch)
{
    gpuCondition condition;
    gpuGraph_t body;
    trine_status status = GPU(new_condition(stream, &condition, true));
    if (!status) status = GPU(add_conditional(stream, condition, true, &body));
    if (!status) status = GPU(begin_part(inner, body));
    if (status) return status;
    status = launch(inner, condition);
    const trine_status ended = GPU(gpuStreamEndCapture(inner, &body));
    return status ? status : ended;
}

#else

using gpuCondition = uint64_t;
inline bool driver_has_conditions() { return false; }
__device__ inline void set_condition(gpuCondition, bool) {}
template <typename Launch> trine_status record_loop(gpuStream_t, gpuStream_t, const Launch &)
{
    return trine_fail(TRINE_ERR_UNSUPPORTED, "this runtime has no conditional nodes of graphs");
}
#endif

#endif
