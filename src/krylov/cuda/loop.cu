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

/** Is there a column that runs? One block. */
__global__ void decide(gpuCondition condition, gpuCondition taken, krylov_column *columns, int64_t nrhs,
                       unsigned long long *decisions, unsigned long long most)
{
    const bool is_over = *decisions >= most;
    bool mine = false;
    for (int64_t i = threadIdx.x; i < nrhs; i += blockDim.x) {
        krylov_column *c = &columns[i];
        if (!(c->flags & KRYLOV_RUNNING)) continue;
        mine = !is_over;
        if (is_over) end_too_late(c);
    }
    const bool any = __syncthreads_or(mine);
    if (threadIdx.x) return;
    ++*decisions;
    if (taken) set_condition(taken, false);
    set_condition(condition, any);
}

trine_status launch_decide(struct krylov_work *w, gpuCondition condition, gpuCondition taken)
{
    decide<<<1, THREADS_THAT_DECIDE, 0, (gpuStream_t)w->stream>>>(condition, taken, w->own_columns, w->nrhs,
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

/** For measurements: the steps of a solve that takes as many as it may, one after another, with no condition. */
trine_status unroll(struct krylov_work *w, int period, krylov_body body)
{
    trine_status status = TRINE_SUCCESS;
    const krylov_parameters *p = &w->plan->parameters;
    recording *r = (recording *)w->recording;
    const int64_t of_cycle = krylov_is_gmres(p) && p->restart < p->max_steps ? p->restart : p->max_steps,
                  cycles = (p->max_steps + of_cycle - 1) / of_cycle;
    const bool in_cycle = r->is_in_cycle;
    r->is_in_cycle = true;
    for (int64_t k = 0; k < (in_cycle ? of_cycle : cycles) && !status; k++) status = body(w, (int)(k % period));
    r->is_in_cycle = in_cycle;
    return status;
}

/** The body number j, which leaves the condition of the next one set if a column runs, and its own not. */
trine_status record_body(struct krylov_work *w, int j, krylov_body body, gpuCondition own, gpuCondition next)
{
    w->condition = next;
    w->taken = own == next ? 0 : own;
    w->has_decided = false;
    trine_status status = body(w, j);
    if (!status && !w->has_decided) status = launch_decide(w, next, w->taken);
    return status;
}

/** A node that repeats, of a body and then nodes of the others. A body after which no column runs is the last one: the
 *  conditions of those behind it are not set, and the one of the whole is not either. */
trine_status loop(struct krylov_work *w, int period, krylov_body body)
{
    if (w->plan->unrolls) return unroll(w, period, body);
    trine_status status = TRINE_SUCCESS;
    const uint64_t around = w->condition, around_taken = w->taken;
    gpuCondition again;
    gpuGraph_t whole;
    TRY(GPU(new_condition((gpuStream_t)w->stream, &again)));
    TRY(launch_decide(w, again, 0));
    TRY(GPU(add_conditional((gpuStream_t)w->stream, again, true, &whole)));
    TRY(record_part(w, whole, [=] {
        trine_status status = TRINE_SUCCESS;
        gpuCondition own = again, next;
        for (int j = 0; j < period; j++, own = next) {
            gpuGraph_t part;
            next = again;
            if (j + 1 < period) TRY(GPU(new_condition((gpuStream_t)w->stream, &next)));
            if (j) {
                TRY(GPU(add_conditional((gpuStream_t)w->stream, own, false, &part)));
                TRY(record_part(w, part, [=] { return record_body(w, j, body, own, next); }));
            } else {
                TRY(record_body(w, j, body, own, next));
            }
        }
done:
        return status;
    }));
done:
    w->condition = around, w->taken = around_taken;
    w->has_decided = false;
    return status;
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
