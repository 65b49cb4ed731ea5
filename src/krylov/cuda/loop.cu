/* The loop on the device: a solve is recorded in a CUDA graph, each loop a conditional node around what it repeats, and
 * the host waits for nothing until the end. */
#include "core/gpu_condition.cuh"
#include "krylov/cuda/program.cuh"

namespace {

const char *const too_old = "host: the driver or the runtime has no conditional nodes (CUDA 12.4)";

#ifdef TRINE_HAS_CONDITIONS

/** Parts within parts: a round, the cycle in it, a step of that, and M in it. And the whole. */
constexpr int MOST_LEVELS = 5, THREADS_THAT_DECIDE = 256;

struct recording {
    gpuStream_t streams[MOST_LEVELS];
    gpuStream_t own; /* of the solve, while it is recorded */
    int level;
    bool is_in_cycle; /* of a solve that is unrolled */
    gpuGraphExec_t ready;
};

/** No solve decides so often: what goes round all the same ends here, and is told. */
uint64_t most_decisions(const struct krylov_work *w)
{
    const uint64_t of_a_column = 6 * (uint64_t)w->plan->parameters.max_steps + 64, most = UINT64_MAX / 8;
    return of_a_column < most / (uint64_t)w->nrhs ? of_a_column * (uint64_t)w->nrhs : most;
}

/** Is there a column that runs? One block. */
__global__ void decide(gpuCondition condition, krylov_column *columns, int64_t nrhs, unsigned long long *decisions,
                       unsigned long long most)
{
    const bool is_over = *decisions >= most;
    bool mine = false;
    for (int64_t i = threadIdx.x; i < nrhs; i += blockDim.x) {
        krylov_column *c = &columns[i];
        if (!(c->flags & KRYLOV_RUNNING)) continue;
        mine = !is_over;
        if (!is_over) continue;
        krylov_choose_x(c, INFINITY);
        krylov_end(c, TRINE_OUTCOME_MAX_ITERATIONS);
    }
    const bool any = __syncthreads_or(mine);
    if (threadIdx.x) return;
    ++*decisions;
    set_condition(condition, any);
}

/** Of a solve. */
enum { DECISIONS, TURNS, COUNTERS };
unsigned long long *counters_of(const struct krylov_work *w)
{
    return (unsigned long long *)((char *)w->scratch + counters_at(w->base.max_nrhs));
}

trine_status launch_decide(struct krylov_work *w, gpuCondition condition)
{
    decide<<<1, THREADS_THAT_DECIDE, 0, (gpuStream_t)w->stream>>>(condition, w->own_columns, w->nrhs,
                                                                  counters_of(w) + DECISIONS, most_decisions(w));
    return GPU_LAUNCHED("decide");
}

/** Also after a failure, whose sentence stays. */
trine_status end_recording(gpuStream_t stream, gpuGraph_t *graph, trine_status status)
{
    const gpuError_t error = gpuStreamEndCapture(stream, graph);
    if (!status) return GPU(error);
    (void)gpuGetLastError();
    return status;
}

/** What contents() puts on w->stream becomes a part of what is recorded. */
template <class Contents> trine_status record_part(struct krylov_work *w, gpuGraph_t part, Contents contents)
{
    trine_status status = TRINE_SUCCESS;
    recording *r = (recording *)w->recording;
    void *const around = w->stream;
    gpuGraph_t same;
    if (r->level + 1 == MOST_LEVELS) return trine_fail(TRINE_ERR_DEVICE, "too many loops within each other");
    const gpuStream_t stream = r->streams[r->level + 1];
    TRY(GPU(begin_part(stream, part)));
    r->level++;
    w->stream = stream;
    status = contents();
    w->stream = around;
    r->level--;
    status = end_recording(stream, &same, status);
done:
    return status;
}

/** What contents(condition) puts there, if a column runs then, and again as long as one does, if `repeats`: it sets the
 *  condition then. */
template <class Contents> trine_status record_conditional(struct krylov_work *w, bool repeats, Contents contents)
{
    trine_status status = TRINE_SUCCESS;
    gpuCondition condition;
    gpuGraph_t part;
    TRY(GPU(new_condition((gpuStream_t)w->stream, &condition)));
    TRY(launch_decide(w, condition));
    TRY(GPU(add_conditional((gpuStream_t)w->stream, condition, repeats, &part)));
    TRY(record_part(w, part, [=] { return contents(condition); }));
done:
    return status;
}

/** For measurements: the steps of a solve that takes as many as it may, one after another, with no condition. */
trine_status unroll(struct krylov_work *w, int period, krylov_body body)
{
    trine_status status = TRINE_SUCCESS;
    const krylov_parameters *p = &w->plan->parameters;
    recording *r = (recording *)w->recording;
    const int64_t of_cycle = krylov_is_gmres(p) && p->restart < p->max_steps ? p->restart : p->max_steps,
                  cycles = (p->max_steps + of_cycle - 1) / of_cycle, count = r->is_in_cycle ? of_cycle : cycles;
    r->is_in_cycle = true;
    for (int64_t k = 0; k < count && !status; k++) status = body(w, (int)(k % period));
    r->is_in_cycle = false;
    return status;
}

trine_status loop(struct krylov_work *w, int period, krylov_body body)
{
    if (w->plan->unrolls) return unroll(w, period, body);
    return record_conditional(w, true, [=](gpuCondition again) {
        trine_status status = body(w, 0);
        for (int j = 1; !status && j < period; j++)
            status = record_conditional(w, false, [=](gpuCondition) { return body(w, j); });
        return status ? status : launch_decide(w, again);
    });
}

/* ------------------------------------------------------------------------------- turns */

struct turns {
    gpuCondition of[KRYLOV_MOST_TURNS];
    int count;
};

/** Whose turn it is, and the next one's then. One thread. */
__global__ void decide_turn(const __grid_constant__ turns t, unsigned long long *taken)
{
    const int turn = (int)((*taken)++ % (unsigned)t.count);
    for (int i = 0; i < t.count; i++) set_condition(t.of[i], i == turn);
}

trine_status take_turns(struct krylov_work *w, int m, krylov_body body)
{
    trine_status status = TRINE_SUCCESS;
    turns t = {};
    t.count = m;
    for (int i = 0; i < m; i++) TRY(GPU(new_condition((gpuStream_t)w->stream, &t.of[i])));
    decide_turn<<<1, 1, 0, (gpuStream_t)w->stream>>>(t, counters_of(w) + TURNS);
    TRY(GPU_LAUNCHED("decide_turn"));
    for (int i = 0; i < m; i++) {
        gpuGraph_t part;
        TRY(GPU(add_conditional((gpuStream_t)w->stream, t.of[i], false, &part)));
        TRY(record_part(w, part, [=] { return body(w, i); }));
    }
done:
    return status;
}

/* ------------------------------------------------------------------ beginning and end */

const char *why_not() { return driver_has_conditions() ? nullptr : too_old; }

void forget(struct krylov_work *w)
{
    trine_context ctx = w->plan->base.ctx;
    recording *r = (recording *)w->recording;
    int saved;
    w->recording = nullptr;
    if (!r) return;
    trine_device_enter(ctx, &saved);
    if (r->ready) gpuGraphExecDestroy(r->ready);
    for (int i = 0; i < MOST_LEVELS; i++)
        if (r->streams[i]) gpuStreamDestroy(r->streams[i]);
    trine_device_leave(ctx, saved);
    trine_free(ctx, TRINE_HOST, r);
}

trine_status begin(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = w->plan->base.ctx;
    int saved;
    forget(w);
    recording *r = (recording *)trine_host_calloc(ctx, 1, sizeof *r);
    if (!r) return TRINE_ERR_MEMORY;
    w->recording = r;
    trine_device_enter(ctx, &saved);
    for (int i = 0; i < MOST_LEVELS; i++) TRY(GPU(gpuStreamCreateWithFlags(&r->streams[i], gpuStreamNonBlocking)));
    TRY(GPU(gpuStreamBeginCapture(r->streams[0], gpuStreamCaptureModeThreadLocal)));
    r->own = (gpuStream_t)w->stream;
    w->stream = r->streams[0];
    TRY(trine_device_fill_async(ctx, counters_of(w), 0, COUNTERS * sizeof *counters_of(w), w->stream));
done:
    trine_device_leave(ctx, saved);
    if (status) forget(w);
    return status;
}

trine_status end(struct krylov_work *w, trine_status status)
{
    trine_context ctx = w->plan->base.ctx;
    recording *r = (recording *)w->recording;
    gpuGraph_t graph = nullptr;
    int saved;
    w->stream = r->own;
    trine_device_enter(ctx, &saved);
    status = end_recording(r->streams[0], &graph, status);
    if (!status) status = GPU(gpuGraphInstantiate(&r->ready, graph, 0));
    if (!status) status = GPU(gpuGraphUpload(r->ready, (gpuStream_t)w->stream));
    if (graph) gpuGraphDestroy(graph);
    trine_device_leave(ctx, saved);
    return status;
}

trine_status replay(struct krylov_work *w)
{
    trine_context ctx = w->plan->base.ctx;
    int saved;
    trine_device_enter(ctx, &saved);
    const trine_status status = GPU(gpuGraphLaunch(((const recording *)w->recording)->ready, (gpuStream_t)w->stream));
    trine_device_leave(ctx, saved);
    return status;
}

} // namespace

const struct krylov_recorder krylov_cuda_recorder = {why_not, begin, end, loop, take_turns, replay, forget};

#else

const char *why_not() { return too_old; }

} // namespace

const struct krylov_recorder krylov_cuda_recorder = {why_not, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

#endif
