/* The level-set solve on the GPU: rows sorted by level, a barrier between levels.
 *
 * A wide level is one launch: the end of a kernel is its barrier. A run of narrow levels is one launch. For one
 * right-hand side a single block or a cluster of blocks goes through it (cuda/levelset/narrow_run.cuh), with a ring of
 * the latest solution values in the shared memory of every block. For several, a block for each tile of right-hand
 * sides does, with a block barrier between levels; what one level writes, the next one reads from the multiprocessor's
 * own cache, and a thread fetches its next row's entries before the barrier that it waits at. Solution values stand in
 * X itself, so no memory besides X and B is needed. Sums run in a fixed order: results are bitwise the same every time.
 * The launches of a solve are put into graphs when a work object is made: a node of a graph costs 0.5 us, a launch 3.5
 * us.
 * Anderson and Saad (1989); Naumov (2011) for the runs of narrow levels. */
#include <cstring>
#include <tuple>

#include "core/gpu_limits.h"
#include "triangular/cuda/levelset/narrow_run.cuh"
#include "triangular/cuda/memory.h"

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
    __device__ row_part(const level_args<T> &a, const level_call<T> &call, int64_t p, int64_t last, int64_t j, int e)
        : row(0), k(0), end(0), b(zero_of<T>()), pivot(one_of<T>())
    {
        active = p < last && j < call.nrhs;
        if (active) {
            k = a.offsets[p] + e;
            end = a.offsets[p + 1];
            row = a.order[p];
            b = call.alpha * call.B[row * call.b_row + j * call.b_col];
            if (a.pivots) pivot = divisor<T>(call.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p]);
        }
        fetch(a, call);
    }
    __device__ void fetch(const level_args<T> &a, const level_call<T> &call)
    {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (k + u * E < end) {
                c[u] = a.columns[k + u * E];
                v[u] = call.conjugate ? conjugate_of(a.values[k + u * E]) : a.values[k + u * E];
            }
    }
    /** All lanes of the warp together, once the earlier levels are done. */
    __device__ void solve(const level_args<T> &a, const level_call<T> &call, int64_t j, int e)
    {
        T sum = zero_of<T>();
        while (k < end) {
#pragma unroll
            for (int u = 0; u < BATCH; u++)
                if (k + u * E < end) sum = sum + v[u] * call.X[c[u] * call.x_row + j * call.x_col];
            k += BATCH * E;
            fetch(a, call);
        }
#pragma unroll
        for (int o = R *E / 2; o >= R; o /= 2) sum = sum + shuffle_xor(sum, o);
        if (active && e == 0) call.X[row * call.x_row + j * call.x_col] = pivot.divide(b - sum);
    }
};

__host__ __device__ inline unsigned blocks_of(int64_t rows, int lanes)
{
    return (unsigned)((rows * lanes + WIDE_THREADS - 1) / WIDE_THREADS);
}

/** The block's threads share row p, for one right-hand side. */
template <typename T> __device__ void solve_long_row(const level_args<T> &a, const level_call<T> &call, int64_t p)
{
    __shared__ T sums[WIDE_THREADS / 32];
    T sum = zero_of<T>();
    for (int64_t k = a.offsets[p] + threadIdx.x; k < a.offsets[p + 1]; k += WIDE_THREADS)
        sum = sum + (call.conjugate ? conjugate_of(a.values[k]) : a.values[k]) * call.X[a.columns[k] * call.x_row];
    for (int o = 16; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < WIDE_THREADS / 32; w++) sum = sum + sums[w];
    const int64_t row = a.order[p];
    divisor<T> pivot(a.pivots ? call.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p] : one_of<T>());
    call.X[row * call.x_row] = pivot.divide(call.alpha * call.B[row * call.b_row] - sum);
}

/** E lanes share a row of entries for each of R right-hand sides; blockIdx.y: tile of R right-hand sides. The blocks
 *  behind those that rows first .. last - 1 take have one of the rows from last on, which are long. */
template <typename T, bool POSTED, int R, int E> __global__ void __launch_bounds__(WIDE_THREADS)
    solve_wide_level(const level_args<T> a, int64_t first, int64_t last)
{
    const level_call<T> call = a.template get_call<POSTED>();
    const unsigned blocks = blocks_of(last - first, R *E);
    if (R == 1 && blockIdx.x >= blocks) return solve_long_row(a, call, last + blockIdx.x - blocks);
    const int lane = threadIdx.x % (R *E), e = lane / R;
    const int64_t p = first + (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / (R *E),
                  j = (int64_t)blockIdx.y * R + lane % R;
    row_part<T, R, E>(a, call, p, last, j, e).solve(a, call, j, e);
}

/** One block a tile of right-hand sides goes through the levels; tiles do not depend on each other. */
template <typename T, bool POSTED, int R, int E> __global__ void __launch_bounds__(NARROW_THREADS)
    solve_narrow_levels(const level_args<T> a, int64_t level, int64_t last_level)
{
    constexpr int ROWS = NARROW_THREADS / (R *E);
    const level_call<T> call = a.template get_call<POSTED>();
    const int lane = threadIdx.x % (R *E), group = threadIdx.x / (R *E), e = lane / R;
    const int64_t j = (int64_t)blockIdx.x * R + lane % R;
    int64_t base = a.bounds[2 * level], end = a.bounds[2 * level + 2];
    row_part<T, R, E> now(a, call, base + group, end, j, e);
    while (level < last_level) { /* a round: ROWS rows of one level */
        base += ROWS;
        const bool level_ends = base >= end;
        if (level_ends) {
            base = end;
            if (++level < last_level) end = a.bounds[2 * level + 2];
        }
        const row_part<T, R, E> ahead(a, call, base + group, end, j, e);
        now.solve(a, call, j, e);
        if (level_ends) __syncthreads();
        now = ahead;
    }
}

/* ---------------------------------------------------------------- launches */

/** The launches of a solve, one after the other, as a graph. */
struct recording {
    gpuGraph_t graph;
    gpuGraphExec_t runnable;
    gpuGraphNode_t *nodes;
};

/** Where the launches of a solve go. */
struct launch_sink {
    enum { TO_STREAM, TO_GRAPH, NEW_ARGUMENTS } mode;
    gpuStream_t stream;
    recording *graph;
    int64_t next; /* node */

    template <typename... P, typename... Q> trine_status add(void (*kernel)(P...), dim3 grid, unsigned threads,
                                                             size_t bytes, int cluster, const Q &...arguments)
    {
        trine_status status = TRINE_SUCCESS;
        std::tuple<P...> values(arguments...);
        void *at[sizeof...(P)];
        gpuKernelNodeParams node = {(void *)kernel, grid, dim3(threads), (unsigned)bytes, at, nullptr};
        gpuLaunchAttribute clustered = {};
        gpuLaunchConfig_t config = {};
        int count = 0;
        std::apply([&](auto &...value) { ((at[count++] = &value), ...); }, values);
        clustered.id = gpuLaunchAttributeClusterDimension;
        clustered.val.clusterDim = {(unsigned)cluster, 1, 1};
        if (mode == TO_STREAM) {
            config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = bytes,
            config.stream = stream;
            if (cluster > 1) config.attrs = &clustered, config.numAttrs = 1;
            return GPU(gpuLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...));
        }
        gpuGraphNode_t *own = &graph->nodes[next++];
        if (mode == NEW_ARGUMENTS) return GPU(gpuGraphExecKernelNodeSetParams(graph->runnable, *own, &node));
        TRY(GPU(gpuGraphAddKernelNode(own, graph->graph, next > 1 ? own - 1 : nullptr, next > 1, &node)));
        if (cluster > 1)
            TRY(GPU(gpuGraphKernelNodeSetAttribute(*own, gpuLaunchAttributeClusterDimension, &clustered.val)));
done:
        return status;
    }
};

template <typename T, bool POSTED, int BLOCKS> trine_status launch_run(const levelset_side *d, const level_step *s,
                                                                       const level_args<T> &a, launch_sink *to)
{
    const size_t bytes = (size_t)(d->ring + PARTS) * sizeof(T);
    trine_status status = trine_gpu_allow_shared((const void *)run_levels<T, POSTED, BLOCKS>, bytes);
    if (!status)
        status =
            to->add(run_levels<T, POSTED, BLOCKS>, dim3(BLOCKS), 32 * RUN_WARPS, bytes, BLOCKS, a, (int)d->ring,
                    (const level_round *)d->rounds + s->first_round, (int)(s->last_round - s->first_round), s->stages);
    return status;
}

template <typename T, bool POSTED, int E> trine_status launch_wide(const level_step *s, const level_args<T> &a,
                                                                   launch_sink *to)
{
    const unsigned blocks = blocks_of(s->first_long - s->first, E) + (unsigned)(s->last - s->first_long);
    return to->add(solve_wide_level<T, POSTED, 1, E>, dim3(blocks), WIDE_THREADS, 0, 1, a, s->first, s->first_long);
}

/** One right-hand side. */
template <typename T, bool POSTED> trine_status launch_steps_one(const levelset_side *d, const level_args<T> &a,
                                                                 launch_sink *to)
{
    trine_status status = TRINE_SUCCESS;
    for (int64_t i = 0; i < d->schedules[ONE_RHS].count && !status; i++) {
        const level_step *s = &d->schedules[ONE_RHS].steps[i];
        if (s->kind == level_step::BLOCK) status = launch_run<T, POSTED, 1>(d, s, a, to);
        else if (s->kind == level_step::CLUSTER) status = launch_run<T, POSTED, RUN_CLUSTER>(d, s, a, to);
        else switch (d->lanes) {
            case 1: status = launch_wide<T, POSTED, 1>(s, a, to); break;
            case 4: status = launch_wide<T, POSTED, 4>(s, a, to); break;
            case 16: status = launch_wide<T, POSTED, 16>(s, a, to); break;
            default: status = launch_wide<T, POSTED, 32>(s, a, to); break;
            }
    }
    return status;
}

/** Several: tiles of R, E lanes a row of entries. */
template <typename T, bool POSTED, int R, int E> trine_status launch_steps(const level_schedule *schedule,
                                                                           const level_args<T> &a, launch_sink *to)
{
    const unsigned tiles = (unsigned)((a.call.nrhs + R - 1) / R);
    trine_status status = TRINE_SUCCESS;
    for (int64_t i = 0; i < schedule->count && !status; i++) {
        const level_step *s = &schedule->steps[i];
        const unsigned blocks = blocks_of(s->last - s->first, R *E);
        if (s->kind == level_step::WIDE)
            status = to->add(solve_wide_level<T, POSTED, R, E>, dim3(blocks, tiles), WIDE_THREADS, 0, 1, a, s->first,
                             s->last);
        else
            status = to->add(solve_narrow_levels<T, POSTED, R, E>, dim3(tiles), NARROW_THREADS, 0, 1, a, s->first_level,
                             s->last_level);
    }
    return status;
}

/** Right-hand sides of a tile, several in all. */
int tile_of(const levelset_side *d, int64_t nrhs)
{
    const bool long_rows = d->lanes >= 16; /* more threads for the entries, more tiles of right-hand sides */
    return nrhs > 8 && !long_rows ? 32 : nrhs > 4 && !long_rows ? 8 : 4;
}
constexpr int64_t MOST_TILES = 65535; /* a grid's second extent ends there */

template <typename T> level_call<T> call_of(const struct triangular_solve *s)
{
    level_call<T> call = {};
    call.nrhs = s->nrhs, call.b_row = s->b_row, call.b_col = s->b_col, call.x_row = s->x_row, call.x_col = s->x_col;
    call.B = (const T *)s->B, call.X = (T *)s->X;
    call.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    call.conjugate = s->conjugate;
    return call;
}

/** The launches of a solve. posted: where they find it, if it is not s itself, of which they then take the number of
 *  right-hand sides. */
template <typename T, bool POSTED> trine_status launch_side(const struct triangular_solve *s, const void *posted,
                                                            launch_sink *to)
{
    const levelset_side *d = (const levelset_side *)s->part;
    trine_status status = TRINE_SUCCESS;
    level_args<T> a = {};
    a.offsets = d->base.offsets, a.columns = d->base.columns, a.order = d->base.order, a.bounds = d->bounds;
    a.near_columns = d->near_columns;
    a.values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.posted = (const level_call<T> *)posted;
    if (s->nrhs == 1) {
        a.call = call_of<T>(s);
        return launch_steps_one<T, POSTED>(d, a, to);
    }
    const int64_t most = MOST_TILES * 4;
    for (int64_t j = 0; j < s->nrhs && !status; j += most) {
        struct triangular_solve slice = *s;
        slice.nrhs = s->nrhs - j < most ? s->nrhs - j : most;
        slice.B = (const T *)s->B + j * s->b_col, slice.X = (T *)s->X + j * s->x_col;
        a.call = call_of<T>(&slice);
        switch (tile_of(d, slice.nrhs)) {
        case 32: status = launch_steps<T, POSTED, 32, 1>(&d->schedules[MANY_RHS], a, to); break;
        case 8: status = launch_steps<T, POSTED, 8, 4>(&d->schedules[MANY_RHS], a, to); break;
        default: status = launch_steps<T, POSTED, 4, 8>(&d->schedules[MANY_RHS], a, to); break;
        }
    }
    return status;
}
trine_status launch(trine_triangular plan, const struct triangular_solve *s, const void *posted, launch_sink *to)
{
    static trine_status (*const run[2][5])(const struct triangular_solve *, const void *, launch_sink *) = {
        {nullptr, launch_side<float, false>, launch_side<double, false>, launch_side<complex_of<float>, false>,
         launch_side<complex_of<double>, false>},
        {nullptr, launch_side<float, true>, launch_side<double, true>, launch_side<complex_of<float>, true>,
         launch_side<complex_of<double>, true>}};
    return run[posted != nullptr][plan->base.dtype](s, posted, to);
}

/* --------------------------------------------------------------------- work
 * A work object holds solves of either side as graphs: of one right-hand side, and of as many as the work is for;
 * two of each. The kernels of one find what differs from solve to solve in the work's device memory, where a kernel
 * ahead of the graph puts it. When a solve comes with the same arguments again, they become the arguments of the
 * other one's kernels, which saves each of these a trip to memory and the host a launch: giving a node new arguments
 * takes the host as long as a launch does, so it must pay more than once. */

constexpr size_t POST_BYTES = 256;
constexpr int64_t FEW_LAUNCHES = 4; /* gain nothing from a graph */

enum { FROM_POST, FROM_ARGUMENTS, GRAPHS };
struct recorded_side {
    recording graphs[SCHEDULES][GRAPHS]; /* without nodes: as many launches */
    bool embedded[SCHEDULES];            /* the arguments of the last solve */
    bool known;                          /* are these: */
    struct triangular_solve arguments;
    char alpha[sizeof(complex_of<double>)];
};

size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    (void)plan, (void)nrhs;
    return SIDES * POST_BYTES;
}
trine_status memory(trine_triangular plan, const triangular_extent *e, triangular_bytes *host, triangular_bytes *device,
                    int64_t *work)
{
    bytes_add(host, SIDES * (int64_t)sizeof(recorded_side), 0);
    *work = (int64_t)work_bytes(plan, plan->options.max_nrhs);
    return device_memory(plan, e, BY_ROWS, memory_of_levelset, host, device);
}
char *post_of(const struct triangular_work *work, int side) { return (char *)work->base.buffer + side * POST_BYTES; }

template <typename T> __global__ void post(const level_call<T> call, level_call<T> *to) { *to = call; }

template <typename T> trine_status post_side(const struct triangular_solve *s, char *to)
{
    static_assert(sizeof(level_call<T>) <= POST_BYTES, "a side's calls fit in their place");
    post<T><<<1, 1, 0, (gpuStream_t)s->stream>>>(call_of<T>(s), (level_call<T> *)to);
    return GPU_LAUNCHED("the level-set solve");
}

/** Are these the arguments of the last solve of s's side, which went through a graph? */
bool is_repeated(trine_triangular plan, const struct triangular_solve *s, const recorded_side *r)
{
    const struct triangular_solve *o = &r->arguments;
    return r->known && o->conjugate == s->conjugate && !o->alpha == !s->alpha && o->B == s->B && o->X == s->X &&
           o->nrhs == s->nrhs && o->b_row == s->b_row && o->b_col == s->b_col && o->x_row == s->x_row &&
           o->x_col == s->x_col && (!s->alpha || memcmp(r->alpha, s->alpha, trine_dtype_size(plan->base.dtype)) == 0);
}

/** Have the graphs of s's side find s. */
trine_status post_call(trine_triangular plan, const struct triangular_solve *s, recorded_side *r)
{
    static trine_status (*const run[])(const struct triangular_solve *, char *) = {
        nullptr, post_side<float>, post_side<double>, post_side<complex_of<float>>, post_side<complex_of<double>>};
    r->known = r->embedded[ONE_RHS] = r->embedded[MANY_RHS] = false;
    if (trine_status status = run[plan->base.dtype](s, post_of(s->work, s->side))) return status;
    r->arguments = *s, r->known = true;
    if (s->alpha) memcpy(r->alpha, s->alpha, trine_dtype_size(plan->base.dtype));
    return TRINE_SUCCESS;
}

/** The schedule whose graphs have the launches of so many right-hand sides; SCHEDULES: none. */
int schedule_for(const levelset_side *d, const recorded_side *r, int64_t nrhs, int64_t most)
{
    const int tile = tile_of(d, nrhs), schedule = nrhs == 1 ? ONE_RHS : MANY_RHS;
    const bool fits = nrhs == 1 || (tile == tile_of(d, most) && (nrhs + tile - 1) / tile == (most + tile - 1) / tile);
    return fits && r->graphs[schedule][FROM_POST].nodes ? schedule : SCHEDULES;
}

trine_status solve_by_graph(trine_triangular plan, const struct triangular_solve *s, recorded_side *r, int schedule)
{
    trine_status status = TRINE_SUCCESS;
    recording *const graphs = r->graphs[schedule];
    if (!is_repeated(plan, s, r)) {
        TRY(post_call(plan, s, r));
    } else if (!r->embedded[schedule]) {
        launch_sink to = {launch_sink::NEW_ARGUMENTS, nullptr, &graphs[FROM_ARGUMENTS], 0};
        TRY(launch(plan, s, nullptr, &to));
        r->embedded[schedule] = true;
    }
    TRY(GPU(
        gpuGraphLaunch(graphs[r->embedded[schedule] ? FROM_ARGUMENTS : FROM_POST].runnable, (gpuStream_t)s->stream)));
done:
    return status;
}

/** posted: NULL for a graph whose kernels get their arguments later. */
trine_status record(trine_triangular plan, const struct triangular_solve *s, const void *posted, int64_t count,
                    recording *out)
{
    trine_status status = TRINE_SUCCESS;
    launch_sink to = {launch_sink::TO_GRAPH, nullptr, out, 0};
    out->nodes = (gpuGraphNode_t *)trine_host_calloc(plan->base.ctx, (size_t)count, sizeof *out->nodes);
    if (!out->nodes) FAIL(TRINE_ERR_MEMORY, "no memory for a solve's graph of %lld launches", (long long)count);
    TRY(GPU(gpuGraphCreate(&out->graph, 0)));
    TRY(launch(plan, s, posted, &to));
    TRY(GPU(gpuGraphInstantiate(&out->runnable, out->graph, 0)));
    /* what the device keeps of it, before the first solve */
    TRY(GPU(gpuGraphUpload(out->runnable, (gpuStream_t)s->stream)));
done:
    return status;
}

void forget_recordings(struct triangular_work *work)
{
    recorded_side *recorded = (recorded_side *)work->recorded;
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < SCHEDULES * GRAPHS; i++) {
            const recording &graph = recorded[side].graphs[i / GRAPHS][i % GRAPHS];
            if (graph.runnable) gpuGraphExecDestroy(graph.runnable);
            if (graph.graph) gpuGraphDestroy(graph.graph);
            trine_free(work->base.base.ctx, TRINE_HOST, graph.nodes);
        }
    trine_free(work->base.base.ctx, TRINE_HOST, recorded);
    work->recorded = nullptr;
}

trine_status make_work(trine_triangular plan, struct triangular_work *work)
{
    const int64_t numbers[SCHEDULES] = {1, work->base.max_nrhs};
    trine_status status = TRINE_SUCCESS;
    recorded_side *recorded = nullptr;
    gpuStream_t stream = nullptr;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    for (int side = 0; side < SIDES; side++) {
        const levelset_side *d = (const levelset_side *)plan->side[side].part;
        for (int i = 0; i < SCHEDULES && d; i++) {
            if (d->schedules[i].count <= FEW_LAUNCHES ||
                (i == ONE_RHS ? !work->base.max_nrhs : work->base.max_nrhs < 2 || work->base.max_nrhs > MOST_TILES * 4))
                continue;
            if (!recorded) {
                work->recorded = recorded = (recorded_side *)trine_host_calloc(plan->base.ctx, SIDES, sizeof *recorded);
                if (!recorded) FAIL(TRINE_ERR_MEMORY, "no memory for a solve's graphs");
                work->forget = forget_recordings;
                TRY(GPU(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking)));
            }
            struct triangular_solve s = {};
            s.side = side, s.part = d, s.nrhs = numbers[i], s.stream = stream;
            for (int g = 0; g < GRAPHS; g++)
                TRY(record(plan, &s, g == FROM_POST ? post_of(work, side) : nullptr, d->schedules[i].count,
                           &recorded[side].graphs[i][g]));
        }
    }
    if (stream) TRY(GPU(gpuStreamSynchronize(stream)));
done:
    if (stream) gpuStreamDestroy(stream);
    trine_device_leave(plan->base.ctx, saved);
    return status; /* what has been made so far goes with the work */
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    const levelset_side *d = (const levelset_side *)s->part;
    recorded_side *r = (recorded_side *)s->work->recorded;
    trine_status status = TRINE_SUCCESS;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    if (r) r += s->side;
    const int schedule = r ? schedule_for(d, r, s->nrhs, s->work->base.max_nrhs) : SCHEDULES;
    /* no graph goes into a graph */
    if (schedule == SCHEDULES || trine_device_is_capturing(plan->base.ctx, s->stream)) {
        launch_sink to = {launch_sink::TO_STREAM, (gpuStream_t)s->stream, nullptr, 0};
        status = launch(plan, s, nullptr, &to);
    } else {
        status = solve_by_graph(plan, s, r, schedule);
    }
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_levelset = {device_pattern_read,
                                                                  levelset_analyse_side,
                                                                  device_pattern_drop,
                                                                  levelset_release,
                                                                  device_triangle_numeric,
                                                                  device_triangle_bad_row,
                                                                  work_bytes,
                                                                  memory,
                                                                  make_work,
                                                                  solve,
                                                                  false};
