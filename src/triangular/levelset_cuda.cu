/* The level-set solve on the GPU: rows sorted by level, a barrier between levels.
 *
 * A wide level is one launch: the end of a kernel is its barrier. A run of narrow levels is one launch. For one right-hand side
 * a single block or a cluster of blocks goes through it (levelset_run.cuh), with a ring of the latest solution values in the
 * shared memory of every block. For several, a block for each tile of right-hand sides does, with a block barrier between
 * levels; what one level writes, the next one reads from the multiprocessor's own cache, and a thread fetches its next row's
 * entries before the barrier that it waits at. Solution values stand in X itself, so no memory besides X and B is needed. Sums
 * run in a fixed order: results are bitwise the same every time. The launches of a solve are recorded as a graph in the work
 * object and replayed as long as the solve's arguments stay the same: a node of a graph costs 0.5 us, a launch 3.5 us.
 * Anderson and Saad (1989); Naumov (2011) for the runs of narrow levels. */
#include <cstring>

#include "core/gpu_limits.h"
#include "triangular/levelset_run.cuh"

namespace {

constexpr int WIDE_THREADS = 256;
constexpr int BATCH = LEVELSET_BATCH;

/** A thread's part of one row and one right-hand side: lane e of E that share the row's entries. */
template <typename T, int R, int E> struct row_part {
    int64_t row, k, end;
    T b, v[BATCH];
    int32_t c[BATCH];
    divisor<T> pivot;
    bool active;

    /** Fetch all that does not wait for other rows. */
    __device__ row_part(const level_args<T> &a, int64_t p, int64_t last, int64_t j, int e) : row(0), k(0), end(0), b(zero_of<T>()), pivot(one_of<T>())
    {
        active = p < last && j < a.nrhs;
        if (active) {
            k = a.offsets[p] + e;
            end = a.offsets[p + 1];
            row = a.order[p];
            b = a.alpha * a.B[row * a.b_row + j * a.b_col];
            if (a.pivots) pivot = divisor<T>(a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p]);
        }
        fetch(a);
    }
    __device__ void fetch(const level_args<T> &a)
    {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (k + u * E < end) {
                c[u] = a.columns[k + u * E];
                v[u] = a.conjugate ? conjugate_of(a.values[k + u * E]) : a.values[k + u * E];
            }
    }
    /** All lanes of the warp together, once the earlier levels are done. */
    __device__ void solve(const level_args<T> &a, int64_t j, int e)
    {
        T sum = zero_of<T>();
        while (k < end) {
#pragma unroll
            for (int u = 0; u < BATCH; u++)
                if (k + u * E < end) sum = sum + v[u] * a.X[c[u] * a.x_row + j * a.x_col];
            k += BATCH * E;
            fetch(a);
        }
#pragma unroll
        for (int o = R * E / 2; o >= R; o /= 2) sum = sum + shuffle_xor(sum, o);
        if (active && e == 0) a.X[row * a.x_row + j * a.x_col] = pivot.divide(b - sum);
    }
};

__host__ __device__ inline unsigned blocks_of(int64_t rows, int lanes) { return (unsigned)((rows * lanes + WIDE_THREADS - 1) / WIDE_THREADS); }

/** The block's threads share row p, for one right-hand side. */
template <typename T> __device__ void solve_long_row(const level_args<T> &a, int64_t p)
{
    __shared__ T sums[WIDE_THREADS / 32];
    T sum = zero_of<T>();
    for (int64_t k = a.offsets[p] + threadIdx.x; k < a.offsets[p + 1]; k += WIDE_THREADS)
        sum = sum + (a.conjugate ? conjugate_of(a.values[k]) : a.values[k]) * a.X[a.columns[k] * a.x_row];
    for (int o = 16; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < WIDE_THREADS / 32; w++) sum = sum + sums[w];
    const int64_t row = a.order[p];
    divisor<T> pivot(a.pivots ? a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p] : one_of<T>());
    a.X[row * a.x_row] = pivot.divide(a.alpha * a.B[row * a.b_row] - sum);
}

/** E lanes share a row of entries for each of R right-hand sides; blockIdx.y: tile of R right-hand sides. The blocks behind those
 *  that rows first .. last - 1 take have one of the rows from last on, which are long. */
template <typename T, int R, int E> __global__ void __launch_bounds__(WIDE_THREADS) solve_wide_level(const level_args<T> a, int64_t first, int64_t last)
{
    const unsigned blocks = blocks_of(last - first, R * E);
    if (R == 1 && blockIdx.x >= blocks) return solve_long_row(a, last + blockIdx.x - blocks);
    const int lane = threadIdx.x % (R * E), e = lane / R;
    const int64_t p = first + (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / (R * E), j = (int64_t)blockIdx.y * R + lane % R;
    row_part<T, R, E>(a, p, last, j, e).solve(a, j, e);
}

/** One block a tile of right-hand sides goes through the levels; tiles do not depend on each other. */
template <typename T, int R, int E> __global__ void __launch_bounds__(NARROW_THREADS) solve_narrow_levels(const level_args<T> a, int64_t level, int64_t last_level)
{
    constexpr int ROWS = NARROW_THREADS / (R * E);
    const int lane = threadIdx.x % (R * E), group = threadIdx.x / (R * E), e = lane / R;
    const int64_t j = (int64_t)blockIdx.x * R + lane % R;
    int64_t base = a.bounds[2 * level], end = a.bounds[2 * level + 2];
    row_part<T, R, E> now(a, base + group, end, j, e);
    while (level < last_level) { /* a round: ROWS rows of one level */
        base += ROWS;
        const bool level_ends = base >= end;
        if (level_ends) {
            base = end;
            if (++level < last_level) end = a.bounds[2 * level + 2];
        }
        const row_part<T, R, E> ahead(a, base + group, end, j, e);
        now.solve(a, j, e);
        if (level_ends) __syncthreads();
        now = ahead;
    }
}

/* ------------------------------------------------------------------- solve */

template <typename T, int BLOCKS> trine_status launch_run(const levelset_side *d, const level_step *s, const level_args<T> &a, gpuStream_t stream)
{
    const size_t bytes = (size_t)(d->ring + PARTS) * sizeof(T);
    const auto kernel = run_levels<T, BLOCKS>;
    gpuLaunchAttribute cluster = {};
    gpuLaunchConfig_t config = {};
    config.gridDim = BLOCKS, config.blockDim = 32 * RUN_WARPS, config.dynamicSmemBytes = bytes, config.stream = stream;
    if (BLOCKS > 1) {
        cluster.id = gpuLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {BLOCKS, 1, 1};
        config.attrs = &cluster, config.numAttrs = 1;
    }
    trine_status status = trine_gpu_allow_shared((const void *)kernel, bytes);
    if (!status) status = GPU(gpuLaunchKernelEx(&config, kernel, a, (int)d->ring, (const level_round *)d->rounds + s->first_round, (int)(s->last_round - s->first_round), s->stages));
    return status;
}

template <typename T, int E> void launch_wide(const level_step *s, const level_args<T> &a, gpuStream_t stream)
{
    const unsigned blocks = blocks_of(s->first_long - s->first, E) + (unsigned)(s->last - s->first_long);
    solve_wide_level<T, 1, E><<<blocks, WIDE_THREADS, 0, stream>>>(a, s->first, s->first_long);
}

/** One right-hand side. */
template <typename T> trine_status run_steps_one(const levelset_side *d, const level_args<T> &a, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    for (int64_t i = 0; i < d->schedules[ONE_RHS].count && !status; i++) {
        const level_step *s = &d->schedules[ONE_RHS].steps[i];
        if (s->kind == level_step::BLOCK) status = launch_run<T, 1>(d, s, a, stream);
        else if (s->kind == level_step::CLUSTER) status = launch_run<T, RUN_CLUSTER>(d, s, a, stream);
        else switch (d->lanes) {
            case 1: launch_wide<T, 1>(s, a, stream); break;
            case 4: launch_wide<T, 4>(s, a, stream); break;
            case 16: launch_wide<T, 16>(s, a, stream); break;
            default: launch_wide<T, 32>(s, a, stream); break;
        }
    }
    return status;
}

/** Several: tiles of R, E lanes a row of entries. */
template <typename T, int R, int E> void run_steps(const level_schedule *schedule, const level_args<T> &a, gpuStream_t stream)
{
    const unsigned tiles = (unsigned)((a.nrhs + R - 1) / R);
    for (int64_t i = 0; i < schedule->count; i++) {
        const level_step *s = &schedule->steps[i];
        const unsigned blocks = blocks_of(s->last - s->first, R * E);
        if (s->kind == level_step::WIDE) solve_wide_level<T, R, E><<<dim3(blocks, tiles), WIDE_THREADS, 0, stream>>>(a, s->first, s->last);
        else solve_narrow_levels<T, R, E><<<tiles, NARROW_THREADS, 0, stream>>>(a, s->first_level, s->last_level);
    }
}

template <typename T> trine_status solve_side(const struct triangular_solve *s)
{
    const levelset_side *d = (const levelset_side *)s->side->device;
    gpuStream_t stream = (gpuStream_t)s->stream;
    level_args<T> a = {};
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.offsets = d->base.offsets, a.columns = d->base.columns, a.order = d->base.order, a.bounds = d->bounds;
    a.near_columns = d->near_columns;
    a.values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    /* The grid's second extent ends at 65535 tiles. */
    const int64_t most = 65535 * 32;
    for (int64_t j = 0; j < s->nrhs; j += most) {
        a.nrhs = s->nrhs - j < most ? s->nrhs - j : most;
        a.B = (const T *)s->B + j * s->b_col, a.X = (T *)s->X + j * s->x_col;
        const bool long_rows = d->lanes >= 16; /* more threads for the entries, more tiles of right-hand sides */
        if (a.nrhs > 8 && !long_rows) run_steps<T, 32, 1>(&d->schedules[MANY_RHS], a, stream);
        else if (a.nrhs > 4 && !long_rows) run_steps<T, 8, 4>(&d->schedules[MANY_RHS], a, stream);
        else if (a.nrhs > 1) run_steps<T, 4, 8>(&d->schedules[MANY_RHS], a, stream);
        else if (trine_status status = run_steps_one(d, a, stream)) return status;
    }
    return GPU_LAUNCHED("the level-set solve");
}

size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    (void)plan, (void)nrhs;
    return 0;
}

trine_status launch_solve(trine_triangular plan, const struct triangular_solve *s)
{
    static trine_status (*const run[])(const struct triangular_solve *) = {
        nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    return run[plan->dtype](s);
}

/** A solve as a graph, and the arguments that are fixed in it. */
struct recording {
    gpuGraphExec_t graph;
    struct triangular_solve arguments;
    char alpha[sizeof(complex_of<double>)];
};

void forget_recordings(struct triangular_work *work)
{
    recording *recorded = (recording *)work->recorded;
    for (int side = 0; side < SIDES; side++)
        if (recorded[side].graph) gpuGraphExecDestroy(recorded[side].graph);
    trine_free(work->base.ctx, TRINE_HOST, recorded);
    work->recorded = nullptr;
}

bool is_same(const struct triangular_solve *a, const struct triangular_solve *b)
{
    return a->side == b->side && a->conjugate == b->conjugate && !a->alpha == !b->alpha && a->B == b->B && a->X == b->X && a->nrhs == b->nrhs &&
           a->b_row == b->b_row && a->b_col == b->b_col && a->x_row == b->x_row && a->x_col == b->x_col;
}

/** Record s in r: again if its graph is another one's. The stream only lends its name to the capture; nothing runs yet. */
trine_status record(trine_triangular plan, const struct triangular_solve *s, recording *r)
{
    gpuStream_t stream = (gpuStream_t)s->stream;
    gpuGraph_t graph = nullptr;
    gpuGraphExecUpdateResultInfo ignored;
    trine_status status = GPU(gpuStreamBeginCapture(stream, gpuStreamCaptureModeThreadLocal));
    if (status) return status;
    const trine_status launched = launch_solve(plan, s);
    status = GPU(gpuStreamEndCapture(stream, &graph));
    if (launched) status = launched;
    if (!status && r->graph && gpuGraphExecUpdate(r->graph, graph, &ignored) != gpuSuccess) {
        gpuGetLastError();
        gpuGraphExecDestroy(r->graph);
        r->graph = nullptr;
    }
    if (!status && !r->graph) status = GPU(gpuGraphInstantiate(&r->graph, graph, 0));
    if (graph) gpuGraphDestroy(graph);
    if (status) return status;
    r->arguments = *s;
    if (s->alpha) memcpy(r->alpha, s->alpha, trine_dtype_size(plan->dtype));
    return TRINE_SUCCESS;
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    enum { FEW = 4 }; /* launches that gain nothing from a graph */
    const levelset_side *d = (const levelset_side *)s->side->device;
    trine_status status = TRINE_SUCCESS;
    int saved;
    trine_device_enter(plan->ctx, &saved);
    if (!s->work->recorded && d->schedules[s->nrhs > 1].count > FEW) {
        s->work->recorded = trine_host_calloc(plan->ctx, SIDES, sizeof(recording));
        if (s->work->recorded) s->work->forget = forget_recordings;
    }
    if (!s->work->recorded || trine_device_is_capturing(plan->ctx, s->stream)) {
        status = launch_solve(plan, s);
    } else {
        recording *r = (recording *)s->work->recorded + (s->side - plan->side);
        if (!r->graph || !is_same(&r->arguments, s) || (s->alpha && memcmp(r->alpha, s->alpha, trine_dtype_size(plan->dtype)) != 0))
            status = record(plan, s, r);
        status = status ? launch_solve(plan, s) : GPU(gpuGraphLaunch(r->graph, (gpuStream_t)s->stream)); /* some streams cannot be captured */
    }
    trine_device_leave(plan->ctx, saved);
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_levelset = {
    device_analyse, levelset_prepare, levelset_release, device_triangle_numeric, device_triangle_bad_row, work_bytes, solve, false};
