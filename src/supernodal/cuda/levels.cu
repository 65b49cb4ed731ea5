/* The level-by-level variants on the GPU (Yamazaki et al. 2020, Sections 4.1 to 4.3 and 5.1): kernels that are told
 * what to do by slices (common/levels.h), launched stage after stage as one CUDA graph. Right-hand side j is column
 * j of t and x; blocks with blockIdx.y = j work on it. */
#include <algorithm>

#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32;

template <typename T> struct level_args {
    const supernodal_panel *panels;
    const int32_t *rows;
    const int64_t *segment_start;
    const supernodal_segment *segments;
    const T *values;
    T *t, *x;
    int64_t n;
};

template <typename T> __device__ inline T sum_over_warp(T a)
{
#pragma unroll
    for (int mask = 16; mask; mask /= 2) a = a + shuffle_xor(a, mask);
    return a;
}

/** The diagonal block by blocks of 32 columns: a warp solves with the 32 x 32 triangle, all warps apply it to what
 *  is left. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    substitute(const level_args<T> a, const supernodal_slice *slices)
{
    const supernodal_panel p = a.panels[slices[blockIdx.x].panel];
    const T *D = a.values + p.values;
    T *t = a.t + blockIdx.y * a.n + p.first, *x = a.x + blockIdx.y * a.n + p.first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int c0 = 0; c0 < p.width; c0 += 32) {
        const int c1 = min(p.width, c0 + 32), row = c0 + lane;
        if (warp == 0) {
            T mine = row < c1 ? t[row] : zero_of<T>();
            for (int c = c0; c < c1; c++) {
                if (row == c) mine = mine / D[c + (int64_t)c * p.ld];
                const T solved = shuffle_from(mine, c - c0);
                if (row > c && row < c1) mine = mine - D[row + (int64_t)c * p.ld] * solved;
            }
            if (row < c1) x[row] = mine;
        }
        __syncthreads();
        for (int r = c1 + threadIdx.x; r < p.width; r += THREADS) {
            T sum = zero_of<T>();
            for (int c = c0; c < c1; c++) multiply_add(sum, D[r + (int64_t)c * p.ld], x[c]);
            t[r] = t[r] - sum;
        }
        __syncthreads();
    }
}

/** The same with the transposed block, last columns first; sums over a column are a warp's. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    substitute_transposed(const level_args<T> a, const supernodal_slice *slices)
{
    const supernodal_panel p = a.panels[slices[blockIdx.x].panel];
    const T *D = a.values + p.values;
    T *t = a.t + blockIdx.y * a.n + p.first, *x = a.x + blockIdx.y * a.n + p.first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int c0 = (p.width - 1) / 32 * 32; c0 >= 0; c0 -= 32) {
        const int c1 = min(p.width, c0 + 32), column = c0 + lane;
        for (int c = c0 + warp; c < c1; c += WARPS) {
            T sum = zero_of<T>();
            for (int r = c1 + lane; r < p.width; r += 32) multiply_add(sum, D[r + (int64_t)c * p.ld], x[r]);
            sum = sum_over_warp(sum);
            if (lane == 0) t[c] = t[c] - sum;
        }
        __syncthreads();
        if (warp == 0) {
            T mine = column < c1 ? t[column] : zero_of<T>();
            for (int c = c1 - 1; c >= c0; c--) {
                if (column == c) mine = mine / D[c + (int64_t)c * p.ld];
                const T solved = shuffle_from(mine, c - c0);
                if (column < c) mine = mine - D[c + (int64_t)column * p.ld] * solved;
            }
            if (column < c1) x[column] = mine;
        }
        __syncthreads();
    }
}

/** Rows of the panel times v_s, a lane a row, the columns dealt to the warps: x_s in the diagonal block, t_rows -=
 *  below it. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    multiply_rows(const level_args<T> a, const supernodal_slice *slices, bool from_x)
{
    __shared__ T partial[WARPS][32];
    const supernodal_slice slice = slices[blockIdx.x];
    const supernodal_panel p = a.panels[slice.panel];
    const int64_t vector = blockIdx.y * a.n;
    const T *v = (from_x ? a.x : a.t) + vector + p.first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r0 = slice.begin; r0 < slice.end; r0 += 32) {
        const int r = r0 + lane, columns = min(p.width, r0 + 32); /* nothing above the diagonal */
        T sum = zero_of<T>();
        if (r < slice.end)
            for (int c = warp; c < columns; c += WARPS)
                multiply_add(sum, a.values[p.values + r + (int64_t)c * p.ld], v[c]);
        partial[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && r < slice.end) {
            for (int w = 1; w < WARPS; w++) sum = sum + partial[w][lane];
            if (r < p.width) a.x[vector + p.first + r] = sum;
            else subtract_atomically(a.t + vector + a.rows[p.rows + r], sum);
        }
        __syncthreads();
    }
}

/** t_s -= block row times v. Columns of all blocks are dealt to the warps, a lane a row; warps add up in a fixed
 *  order. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    gather(const level_args<T> a, const supernodal_slice *slices, bool from_x)
{
    constexpr int CHUNK = 64;
    __shared__ T partial[WARPS][CHUNK];
    const supernodal_slice slice = slices[blockIdx.x];
    const supernodal_panel p = a.panels[slice.panel];
    const int64_t vector = blockIdx.y * a.n;
    const T *v = (from_x ? a.x : a.t) + vector;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int chunk = slice.begin; chunk < slice.end; chunk += CHUNK) {
        const int first = p.first + chunk, end = p.first + min(slice.end, chunk + CHUNK);
        for (int i = lane; i < CHUNK; i += 32) partial[warp][i] = zero_of<T>();
        __syncwarp();
        for (int64_t k = a.segment_start[slice.panel]; k < a.segment_start[slice.panel + 1]; k++) {
            const supernodal_segment segment = a.segments[k];
            const supernodal_panel q = a.panels[segment.panel];
            const int32_t *rows = a.rows + q.rows;
            if (rows[segment.begin] >= end || rows[segment.end - 1] < first) continue;
            for (int r = segment.begin + lane; r < segment.end; r += 32) {
                const int row = rows[r];
                if (row < first || row >= end) continue;
                T sum = zero_of<T>();
                for (int c = warp; c < q.width; c += WARPS)
                    multiply_add(sum, a.values[q.values + r + (int64_t)c * q.ld], v[q.first + c]);
                partial[warp][row - first] = partial[warp][row - first] + sum;
            }
            __syncwarp();
        }
        __syncthreads();
        for (int i = threadIdx.x; i < end - first; i += THREADS) {
            T sum = partial[0][i];
            for (int w = 1; w < WARPS; w++) sum = sum + partial[w][i];
            a.t[vector + first + i] = a.t[vector + first + i] - sum;
        }
        __syncthreads();
    }
}

/** Columns of the panel, a warp each, times t_s (top) and -x_rows (bottom). */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    multiply_columns(const level_args<T> a, const supernodal_slice *slices, supernodal_level_kernel kernel)
{
    const supernodal_slice slice = slices[blockIdx.x];
    const supernodal_panel p = a.panels[slice.panel];
    T *t = a.t + blockIdx.y * a.n, *x = a.x + blockIdx.y * a.n;
    const int32_t *rows = a.rows + p.rows;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int c = slice.begin + warp; c < slice.end; c += WARPS) {
        const T *column = a.values + p.values + (int64_t)c * p.ld;
        T sum = zero_of<T>(), below = zero_of<T>();
        if (kernel != LEVEL_COLUMNS_BOTTOM)
            for (int r = c + lane; r < p.width; r += 32) multiply_add(sum, column[r], t[p.first + r]);
        if (kernel == LEVEL_COLUMNS_BOTTOM || kernel == LEVEL_COLUMNS_BOTH)
            for (int r = p.width + lane; r < p.height; r += 32) multiply_add(below, column[r], x[rows[r]]);
        sum = sum_over_warp(sum - below);
        if (lane) continue;
        if (kernel == LEVEL_COLUMNS_BOTTOM) t[p.first + c] = t[p.first + c] + sum;
        else x[p.first + c] = kernel == LEVEL_COLUMNS_TOP_ADD ? x[p.first + c] + sum : sum;
    }
}

/** Into t or x of every panel with a block in this block row: minus the transposed block times x_s. No two panels of
 *  a level reach the same one. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    scatter(const level_args<T> a, const supernodal_slice *slices, bool into_x)
{
    const supernodal_slice slice = slices[blockIdx.x];
    const int64_t start = a.segment_start[slice.panel];
    const T *x = a.x + blockIdx.y * a.n;
    T *to = (into_x ? a.x : a.t) + blockIdx.y * a.n;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = slice.begin; k < slice.end; k++) {
        const supernodal_segment segment = a.segments[start + k];
        const supernodal_panel q = a.panels[segment.panel];
        const int32_t *rows = a.rows + q.rows;
        for (int c = warp; c < q.width; c += WARPS) {
            T sum = zero_of<T>();
            for (int r = segment.begin + lane; r < segment.end; r += 32)
                multiply_add(sum, a.values[q.values + r + (int64_t)c * q.ld], x[rows[r]]);
            sum = sum_over_warp(sum);
            if (lane == 0) to[q.first + c] = to[q.first + c] - sum;
        }
    }
}

/** t := alpha B in the plan's numbering, x := 0. */
template <typename T> __global__ void take(const solve_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= a.n) return;
    a.t[j * a.n + i] = right_hand_side(a, i, j);
    a.x[j * a.n + i] = zero_of<T>();
}

template <typename T> __global__ void give(const solve_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= a.n) return;
    store_at(a, a.original[i], j, a.x[j * a.n + i]);
}

template <typename T>
trine_status launch(const level_args<T> &a, const supernodal_slice *slices, const supernodal_launch *l, bool forward,
                    int64_t nrhs, gpuStream_t s)
{
    const dim3 grid((unsigned)l->count, (unsigned)nrhs);
    slices += l->first;
    switch (l->kernel) {
    case LEVEL_SUBSTITUTE:
        if (forward) substitute<T><<<grid, THREADS, 0, s>>>(a, slices);
        else substitute_transposed<T><<<grid, THREADS, 0, s>>>(a, slices);
        break;
    case LEVEL_ROWS_FROM_T:
    case LEVEL_ROWS_FROM_X: multiply_rows<T><<<grid, THREADS, 0, s>>>(a, slices, l->kernel == LEVEL_ROWS_FROM_X); break;
    case LEVEL_GATHER_T:
    case LEVEL_GATHER_X: gather<T><<<grid, THREADS, 0, s>>>(a, slices, l->kernel == LEVEL_GATHER_X); break;
    case LEVEL_SCATTER_T:
    case LEVEL_SCATTER_X: scatter<T><<<grid, THREADS, 0, s>>>(a, slices, l->kernel == LEVEL_SCATTER_X); break;
    default: multiply_columns<T><<<grid, THREADS, 0, s>>>(a, slices, l->kernel);
    }
    return GPU_LAUNCHED("a level of the supernodal solve");
}

/** Streams and events that belong to a work, and its two solves as graphs for as many right-hand sides as it has
 *  room for. */
struct level_work {
    int n_streams;
    gpuStream_t capture, streams[32];
    gpuEvent_t fork, joined[32];
    gpuGraphExec_t graph[DIRECTIONS];
};
static_assert(sizeof(level_work) <= SUPERNODAL_WORK_PART, "trine_supernodal_memory counts it");

/** All launches of one direction on `stream`; those of a stage are dealt to the work's streams where there are
 *  several. */
template <typename T>
trine_status enqueue(trine_supernodal plan, const level_args<T> &a, int direction, int64_t nrhs, level_work *w,
                     gpuStream_t stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const level_side *side = &d->levels[direction];
    trine_status status = TRINE_SUCCESS;
    int64_t level = 0; /* of the way, not of the tree */
    for (int64_t begin = 0, end; begin < side->n_launches; begin = end) {
        if (plan->watch && (begin == 0 || side->launches[begin].level != side->launches[begin - 1].level))
            plan->watch(plan->watch_user, level++, stream);
        for (end = begin + 1; end < side->n_launches && side->launches[end].stage == side->launches[begin].stage;)
            end++;
        const int used = (int)std::min<int64_t>(end - begin, w->n_streams);
        if (used > 1) TRY(GPU(gpuEventRecord(w->fork, stream)));
        for (int k = 0; used > 1 && k < used; k++) TRY(GPU(gpuStreamWaitEvent(w->streams[k], w->fork, 0)));
        for (int64_t l = begin; l < end; l++) {
            const gpuStream_t s = used > 1 ? w->streams[(l - begin) % used] : stream;
            TRY(side->launches[l].kernel >= LEVEL_LINES_OWN
                    ? supernodal_launch_lines(plan, &side->launches[l], direction, a.t, a.x, nrhs, s)
                    : launch(a, side->slices, &side->launches[l], direction == FORWARD, nrhs, s));
        }
        for (int k = 0; used > 1 && k < used; k++) {
            TRY(GPU(gpuEventRecord(w->joined[k], w->streams[k])));
            TRY(GPU(gpuStreamWaitEvent(stream, w->joined[k], 0)));
        }
    }
    if (plan->watch) plan->watch(plan->watch_user, level, stream);
done:
    return status;
}

template <typename T> level_args<T> arguments(trine_supernodal plan, T *t, T *x)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    return {d->panels, d->rows, d->segment_start, d->segments, static_cast<const T *>(plan->values), t, x, plan->S.n};
}

void free_level_work(trine_context ctx, supernodal_work *work)
{
    level_work *w = static_cast<level_work *>(work->device);
    if (!w) return;
    int saved;
    trine_device_enter(ctx, &saved);
    for (int k = 0; k < 32; k++) {
        if (w->streams[k]) gpuStreamDestroy(w->streams[k]);
        if (w->joined[k]) gpuEventDestroy(w->joined[k]);
    }
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (w->graph[direction]) gpuGraphExecDestroy(w->graph[direction]);
    if (w->fork) gpuEventDestroy(w->fork);
    if (w->capture) gpuStreamDestroy(w->capture);
    trine_device_leave(ctx, saved);
    trine_free(ctx, TRINE_HOST, w);
    work->device = nullptr;
}

template <typename T> trine_status capture(trine_supernodal plan, int64_t nrhs, T *t, T *x, level_work *w)
{
    trine_status status = TRINE_SUCCESS;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        gpuGraph_t graph = nullptr;
        TRY(GPU(gpuStreamBeginCapture(w->capture, gpuStreamCaptureModeThreadLocal)));
        status = enqueue(plan, arguments(plan, t, x), direction, nrhs, w, w->capture);
        const trine_status ended = GPU(gpuStreamEndCapture(w->capture, &graph)); /* also after a failure */
        if (!status) status = ended;
        if (!status) status = GPU(gpuGraphInstantiate(&w->graph[direction], graph, 0));
        if (graph) gpuGraphDestroy(graph);
        TRY(status);
    }
done:
    return status;
}

} // namespace

void supernodal_levels_work_free(trine_context ctx, supernodal_work *work) { free_level_work(ctx, work); }

template <typename T> trine_status supernodal_levels_work_init(trine_supernodal plan, supernodal_work *work, T *t, T *x)
{
    trine_status status = TRINE_SUCCESS;
    level_work *w = static_cast<level_work *>(trine_host_calloc(plan->base.ctx, 1, sizeof *w));
    if (!w) return TRINE_ERR_MEMORY;
    work->device = w;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    w->n_streams = plan->options.variant == TRINE_VARIANT_DEFAULT ? 1 : plan->options.streams;
    for (int k = 0; w->n_streams > 1 && k < w->n_streams; k++) {
        TRY(GPU(gpuStreamCreateWithFlags(&w->streams[k], gpuStreamNonBlocking)));
        TRY(GPU(gpuEventCreateWithFlags(&w->joined[k], gpuEventDisableTiming)));
    }
    TRY(GPU(gpuEventCreateWithFlags(&w->fork, gpuEventDisableTiming)));
    TRY(GPU(gpuStreamCreateWithFlags(&w->capture, gpuStreamNonBlocking)));
    if (work->base.max_nrhs && !plan->options.no_graph) TRY(capture(plan, work->base.max_nrhs, t, x, w));
done:
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

template <typename T>
trine_status supernodal_solve_levels(trine_supernodal plan, const solve_args<T> &a, int direction,
                                     supernodal_work *work, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    level_work *w = static_cast<level_work *>(work->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const dim3 grid((unsigned)((a.n + THREADS - 1) / THREADS), (unsigned)a.nrhs);
    if (a.nrhs > 65535)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "%lld right-hand sides in one call; this variant takes 65535",
                          (long long)a.nrhs);
    take<T><<<grid, THREADS, 0, s>>>(a);
    TRY(GPU_LAUNCHED("the supernodal solve"));
    if (w->graph[direction] && a.nrhs == work->base.max_nrhs && !trine_device_is_capturing(plan->base.ctx, stream))
        TRY(GPU(gpuGraphLaunch(w->graph[direction], s)));
    else /* a graph cannot be launched into one that is being captured */
        TRY(enqueue(plan, arguments(plan, a.t, a.x), direction, a.nrhs, w, s));
    give<T><<<grid, THREADS, 0, s>>>(a);
    TRY(GPU_LAUNCHED("the supernodal solve"));
done:
    return status;
}

#define INSTANTIATE(T)                                                                                             \
    template trine_status supernodal_levels_work_init(trine_supernodal, supernodal_work *, T *, T *);              \
    template trine_status supernodal_solve_levels(trine_supernodal, const solve_args<T> &, int, supernodal_work *, \
                                                  void *);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(complex_of<float>)
INSTANTIATE(complex_of<double>)
