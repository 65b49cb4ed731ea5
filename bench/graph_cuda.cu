/* Solves captured in CUDA graphs, and what can be measured of them there: empty launches in the same order, marks
 * inside. */
#include <algorithm>
#include <vector>

#include "cuda.h"
#include "graph.h"

namespace {

__global__ void nothing() {}

struct executable {
    cudaGraphExec_t graph;
    cudaStream_t stream;
};

trine_status launch_graph(void *self)
{
    const executable *e = static_cast<const executable *>(self);
    return CUDA(cudaGraphLaunch(e->graph, e->stream));
}

cudaStream_t stream_of(bench *b) { return static_cast<cudaStream_t>(b->stream); }

trine_status capture(bench *b, bench_call call, void *self, cudaGraph_t *graph)
{
    trine_status status = TRINE_SUCCESS;
    TRY(CUDA(cudaStreamBeginCapture(stream_of(b), cudaStreamCaptureModeThreadLocal)));
    {
        status = call(self);
        const trine_status ended = CUDA(cudaStreamEndCapture(stream_of(b), graph)); /* also after a failure */
        if (!status) status = ended;
    }
done:
    return status;
}

cudaError_t dependencies(cudaGraphNode_t node, cudaGraphNode_t *on, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphNodeGetDependencies(node, on, nullptr, count);
#else
    return cudaGraphNodeGetDependencies(node, on, count);
#endif
}

/** `copy`: as `graph`, an empty kernel for every kernel and nothing for the rest. */
trine_status empty_copy(cudaGraph_t graph, cudaGraph_t copy, int *kernels)
{
    trine_status status = TRINE_SUCCESS;
    size_t count = 0, n_on;
    std::vector<cudaGraphNode_t> nodes, copies, on, copied;
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void *>(nothing);
    launch.gridDim = launch.blockDim = dim3(1);
    *kernels = 0;
    TRY(CUDA(cudaGraphGetNodes(graph, nullptr, &count)));
    nodes.resize(count);
    copies.resize(count);
    TRY(CUDA(cudaGraphGetNodes(graph, nodes.data(), &count)));
    for (size_t i = 0; i < count; i++) { /* in the order of capture: what a node depends on comes before it */
        cudaGraphNodeType type;
        TRY(CUDA(cudaGraphNodeGetType(nodes[i], &type)));
        TRY(CUDA(dependencies(nodes[i], nullptr, &n_on)));
        on.resize(n_on);
        copied.clear();
        if (n_on) TRY(CUDA(dependencies(nodes[i], on.data(), &n_on)));
        for (cudaGraphNode_t other : on) {
            const size_t at = (size_t)(std::find(nodes.begin(), nodes.begin() + (long)i, other) - nodes.begin());
            if (at == i) {
                status =
                    trine_fail(TRINE_ERR_STATE, "node %lld of a captured graph depends on a later one", (long long)i);
                goto done;
            }
            copied.push_back(copies[at]);
        }
        if (type == cudaGraphNodeTypeKernel)
            TRY(CUDA(cudaGraphAddKernelNode(&copies[i], copy, copied.data(), copied.size(), &launch)));
        else TRY(CUDA(cudaGraphAddEmptyNode(&copies[i], copy, copied.data(), copied.size())));
        *kernels += type == cudaGraphNodeTypeKernel;
    }
done:
    return status;
}

std::vector<cudaEvent_t> marks; /* of the capture that is going on */

trine_status make_marks(int64_t count)
{
    trine_status status = TRINE_SUCCESS;
    marks.assign((size_t)count, nullptr);
    for (cudaEvent_t &mark : marks) TRY(CUDA(cudaEventCreate(&mark)));
done:
    return status;
}

void drop_marks()
{
    for (cudaEvent_t mark : marks)
        if (mark) cudaEventDestroy(mark);
    marks.clear();
}

/** Two marks, nothing between them. */
trine_status mark_twice(void *self)
{
    bench_mark(nullptr, 0, stream_of(static_cast<bench *>(self)));
    bench_mark(nullptr, 1, stream_of(static_cast<bench *>(self)));
    return TRINE_SUCCESS;
}

} // namespace

trine_status bench_count_launches(bench *b, bench_call call, void *self, int *kernels, double *launch_ms)
{
    trine_status status = TRINE_SUCCESS;
    cudaGraph_t graph = nullptr, empty = nullptr;
    executable e = {nullptr, stream_of(b)};
    bench_time time;
    TRY(capture(b, call, self, &graph));
    TRY(CUDA(cudaGraphCreate(&empty, 0)));
    TRY(empty_copy(graph, empty, kernels));
    TRY(CUDA(cudaGraphInstantiate(&e.graph, empty, 0)));
    TRY(bench_measure(b, launch_graph, &e, &time));
    *launch_ms = time.median;
done:
    if (e.graph) cudaGraphExecDestroy(e.graph);
    if (empty) cudaGraphDestroy(empty);
    if (graph) cudaGraphDestroy(graph);
    return status;
}

void bench_mark(void *unused, int64_t k, void *stream)
{
    (void)unused;
    if (k >= 0 && k < (int64_t)marks.size())
        cudaEventRecordWithFlags(marks[(size_t)k], static_cast<cudaStream_t>(stream), cudaEventRecordExternal);
}

trine_status bench_time_marks(bench *b, bench_call call, void *self, int64_t count, double *times, double *between)
{
    trine_status status = TRINE_SUCCESS;
    cudaGraph_t graph = nullptr;
    executable e = {nullptr, stream_of(b)};
    std::vector<std::vector<double>> all((size_t)count);
    if (between) TRY(bench_time_marks(b, mark_twice, b, 1, between, nullptr));
    TRY(make_marks(count + 1));
    TRY(capture(b, call, self, &graph));
    TRY(CUDA(cudaGraphInstantiate(&e.graph, graph, 0)));
    for (int r = -3; r < b->reps; r++) {
        TRY(launch_graph(&e));
        TRY(CUDA(cudaStreamSynchronize(e.stream)));
        for (int64_t k = 0; k < count && r >= 0; k++) {
            float ms;
            TRY(CUDA(cudaEventElapsedTime(&ms, marks[(size_t)k], marks[(size_t)k + 1])));
            all[(size_t)k].push_back(1e3 * ms);
        }
    }
    for (int64_t k = 0; k < count; k++) times[k] = bench_median(all[(size_t)k].data(), (int)all[(size_t)k].size());
done:
    if (e.graph) cudaGraphExecDestroy(e.graph);
    if (graph) cudaGraphDestroy(graph);
    drop_marks();
    return status;
}
