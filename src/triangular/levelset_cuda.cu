/* The level-set solve on the GPU: rows sorted by level, a barrier between levels.
 *
 * A wide level is one launch: the end of a kernel is its barrier. A run of narrow levels is one launch of a single block for
 * each tile of right-hand sides, with a block barrier between levels; what one level writes, the next one reads from the
 * multiprocessor's own cache, and a thread fetches its next row's entries before the barrier that it waits at. Solution
 * values stand in X itself, so no memory besides X and B is needed. Sums run in a fixed order: results are bitwise the same
 * every time. The launches of a solve are recorded as a graph in the work object and replayed as long as the solve's
 * arguments stay the same: a node of a graph costs 0.5 us, a launch 3.5 us.
 * Anderson and Saad (1989); Naumov (2011) for the runs of narrow levels. */
#include <cstring>

#include "core/gpu_scalar.cuh"
#include "triangular/device_triangle.h"

namespace {

constexpr int WIDE_THREADS = 256, NARROW_THREADS = 512;
constexpr int BATCH = 4;  /* entries of a lane that are fetched ahead */
/* A level on its own costs about as much as one block needs for this many rounds of rows, or for this many entries (H200:
 * 2.5 us; 1 us a round, in which every thread has a batch of entries). */
constexpr int ROUNDS_PER_LAUNCH = 2;

/** Levels first_level .. last_level - 1, rows first .. last - 1: a run of narrow levels, or one level for many blocks. */
struct step {
    int64_t first_level, last_level, first, last;
    bool wide;
};

struct schedule {
    step *steps;
    int64_t count;
};

enum { ONE_RHS, MANY_RHS, SCHEDULES }; /* a block holds fewer rows of several right-hand sides */

struct device_side {
    device_triangle base;    /* sorted by level; base.columns are row numbers */
    int64_t *level_offsets;
    schedule schedules[SCHEDULES];
    int lanes;
};

template <typename T> struct solve_args {
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const int64_t *offsets, *level_offsets;
    const int32_t *columns, *order;
    const T *values, *pivots, *B;
    T *X;
    T alpha;
    bool conjugate;
};

/** A thread's part of one row and one right-hand side: lane e of E that share the row's entries. */
template <typename T, int R, int E> struct row_part {
    int64_t row, k, end;
    T b, v[BATCH];
    int32_t c[BATCH];
    divisor<T> pivot;
    bool active;

    /** Fetch all that does not wait for other rows. */
    __device__ row_part(const solve_args<T> &a, int64_t p, int64_t last, int64_t j, int e) : row(0), k(0), end(0), b(zero_of<T>()), pivot(one_of<T>())
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
    __device__ void fetch(const solve_args<T> &a)
    {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (k + u * E < end) {
                c[u] = a.columns[k + u * E];
                v[u] = a.conjugate ? conjugate_of(a.values[k + u * E]) : a.values[k + u * E];
            }
    }
    /** All lanes of the warp together, once the earlier levels are done. */
    __device__ void solve(const solve_args<T> &a, int64_t j, int e)
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

/** E lanes share a row of entries for each of R right-hand sides; blockIdx.y: tile of R right-hand sides. */
template <typename T, int R, int E> __global__ void __launch_bounds__(WIDE_THREADS) solve_wide_level(const solve_args<T> a, int64_t first, int64_t last)
{
    const int lane = threadIdx.x % (R * E), e = lane / R;
    const int64_t p = first + (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / (R * E), j = (int64_t)blockIdx.y * R + lane % R;
    row_part<T, R, E>(a, p, last, j, e).solve(a, j, e);
}

/** One block a tile of right-hand sides goes through the levels; tiles do not depend on each other. */
template <typename T, int R, int E> __global__ void __launch_bounds__(NARROW_THREADS) solve_narrow_levels(const solve_args<T> a, int64_t level, int64_t last_level)
{
    constexpr int ROWS = NARROW_THREADS / (R * E);
    const int lane = threadIdx.x % (R * E), group = threadIdx.x / (R * E), e = lane / R;
    const int64_t j = (int64_t)blockIdx.x * R + lane % R;
    int64_t base = a.level_offsets[level], end = a.level_offsets[level + 1];
    row_part<T, R, E> now(a, base + group, end, j, e);
    while (level < last_level) { /* a round: ROWS rows of one level */
        base += ROWS;
        const bool level_ends = base >= end;
        if (level_ends) {
            base = end;
            if (++level < last_level) end = a.level_offsets[level + 1];
        }
        const row_part<T, R, E> ahead(a, base + group, end, j, e);
        now.solve(a, j, e);
        if (level_ends) __syncthreads();
        now = ahead;
    }
}

/* ------------------------------------------------------------------- solve */

template <typename T, int R, int E> void run_steps(const schedule *schedule, const solve_args<T> &a, gpuStream_t stream)
{
    const unsigned tiles = (unsigned)((a.nrhs + R - 1) / R);
    for (int64_t i = 0; i < schedule->count; i++) {
        const step *s = &schedule->steps[i];
        const unsigned blocks = (unsigned)(((s->last - s->first) * R * E + WIDE_THREADS - 1) / WIDE_THREADS);
        if (s->wide) solve_wide_level<T, R, E><<<dim3(blocks, tiles), WIDE_THREADS, 0, stream>>>(a, s->first, s->last);
        else solve_narrow_levels<T, R, E><<<tiles, NARROW_THREADS, 0, stream>>>(a, s->first_level, s->last_level);
    }
}

template <typename T> trine_status solve_side(const struct triangular_solve *s)
{
    const device_side *d = (const device_side *)s->side->device;
    gpuStream_t stream = (gpuStream_t)s->stream;
    solve_args<T> a = {};
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.offsets = d->base.offsets, a.columns = d->base.columns, a.order = d->base.order, a.level_offsets = d->level_offsets;
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
        else switch (d->lanes) {
            case 1: run_steps<T, 1, 1>(&d->schedules[ONE_RHS], a, stream); break;
            case 4: run_steps<T, 1, 4>(&d->schedules[ONE_RHS], a, stream); break;
            case 16: run_steps<T, 1, 16>(&d->schedules[ONE_RHS], a, stream); break;
            default: run_steps<T, 1, 32>(&d->schedules[ONE_RHS], a, stream); break;
        }
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
    const device_side *d = (const device_side *)s->side->device;
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

/* ----------------------------------------------------------------- prepare */

/** Runs of levels of up to ROUNDS_PER_LAUNCH rounds of `rows` rows, and of batches of entries with `lanes` threads a row, into
 *  one step each; every other level is its own. entries[l]: those before level l. */
trine_status make_schedule(trine_triangular plan, int64_t n_levels, const int64_t *level_offsets, const int64_t *entries, int64_t rows, int64_t lanes, schedule *out)
{
    const int64_t most_rows = ROUNDS_PER_LAUNCH * rows, most_entries = ROUNDS_PER_LAUNCH * BATCH * rows * lanes;
    out->steps = (step *)trine_host_alloc(plan->ctx, n_levels, sizeof *out->steps);
    if (!out->steps) return TRINE_ERR_MEMORY;
    bool open = false; /* the last step is a run of narrow levels */
    for (int64_t l = 0; l < n_levels; l++) {
        const int64_t first = level_offsets[l], last = level_offsets[l + 1];
        const bool wide = last - first > most_rows || entries[l + 1] - entries[l] > most_entries;
        if (open && !wide) {
            out->steps[out->count - 1].last_level = l + 1;
            out->steps[out->count - 1].last = last;
        } else {
            out->steps[out->count++] = {l, l + 1, first, last, wide};
        }
        open = !wide;
    }
    /* A level without narrow neighbours gains nothing from being confined to one block. */
    for (int64_t i = 0; i < out->count; i++)
        if (out->steps[i].last_level - out->steps[i].first_level == 1) out->steps[i].wide = true;
    return TRINE_SUCCESS;
}

/** Positions to row numbers: solves read X by row. */
__global__ void take_row_numbers(int64_t nnz, const int32_t *order, int32_t *columns)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * blockDim.x) columns[k] = order[columns[k]];
}

__global__ void find_entries(int64_t n_levels, const int64_t *level_offsets, const int64_t *offsets, int64_t *entries)
{
    for (int64_t l = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; l <= n_levels; l += (int64_t)gridDim.x * blockDim.x) entries[l] = offsets[level_offsets[l]];
}

/** Levels, rows sorted by them, and the schedules. */
trine_status sort_by_level(trine_triangular plan, struct triangle *t, const device_triangle *natural, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    row_shape search = row_shape_for_search(plan, natural);
    const int32_t *level = nullptr;
    int64_t *level_offsets = nullptr, *entries = nullptr, *entries_on_device = nullptr;
    double microseconds;
    arena scratch = {};
    char *state;
    int32_t *sorted;
    size_t bytes;
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        state = a.take<char>(256 + plan->n * (int64_t)sizeof(int32_t));
        sorted = a.take<int32_t>(plan->n);
    }));
    TRY(device_levels_find(plan, natural, &search, state, &level, &t->n_levels, &microseconds));
    bytes = (size_t)(t->n_levels + 1) * sizeof *level_offsets;
    level_offsets = (int64_t *)trine_host_alloc(ctx, 1, bytes);
    entries = (int64_t *)trine_host_alloc(ctx, 1, bytes);
    if (!level_offsets || !entries) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)t->n_levels);
    TRY(device_levels_sort(plan, plan->n, t->n_levels, level, sorted, level_offsets));
    TRY(device_triangle_reorder(plan, natural, sorted, &d->base));
    if (d->base.nnz) take_row_numbers<<<device_blocks_for(plan, d->base.nnz), 256, 0, (gpuStream_t)ctx->stream>>>(d->base.nnz, d->base.order, d->base.columns);
    TRY(GPU_LAUNCHED("the row numbers"));
    t->min_rows_per_level = plan->n;
    for (int64_t l = 0; l < t->n_levels; l++) {
        const int64_t rows = level_offsets[l + 1] - level_offsets[l];
        if (rows < t->min_rows_per_level) t->min_rows_per_level = rows;
        if (rows > t->max_rows_per_level) t->max_rows_per_level = rows;
    }
    TRY(trine_device_upload(ctx, level_offsets, bytes, (void **)&d->level_offsets));
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, (void **)&entries_on_device));
    find_entries<<<device_blocks_for(plan, t->n_levels + 1), 256, 0, (gpuStream_t)ctx->stream>>>(t->n_levels, d->level_offsets, d->base.offsets, entries_on_device);
    TRY(GPU_LAUNCHED("the entries of levels"));
    TRY(trine_copy(ctx, entries, TRINE_HOST, entries_on_device, TRINE_DEVICE, bytes));
    TRY(make_schedule(plan, t->n_levels, level_offsets, entries, NARROW_THREADS / d->lanes, d->lanes, &d->schedules[ONE_RHS]));
    TRY(make_schedule(plan, t->n_levels, level_offsets, entries, NARROW_THREADS / 32, d->lanes >= 16 ? 8 : 1, &d->schedules[MANY_RHS]));
    plan->info.bytes += (t->n_levels + 1) * (int64_t)sizeof *level_offsets;
done:
    trine_free(ctx, TRINE_HOST, level_offsets);
    trine_free(ctx, TRINE_HOST, entries);
    trine_free(ctx, TRINE_DEVICE, entries_on_device);
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

trine_status prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const int64_t asked = plan->options.tune.lanes_per_row, length = asked ? asked : t->n ? t->nnz / t->n : 0;
    device_triangle natural = {};
    device_side *d = (device_side *)(t->device = trine_host_calloc(ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    d->lanes = length < 4 ? 1 : length < 16 ? 4 : length < 32 ? 16 : 32;
    TRY(device_pattern_build(plan, plan->pattern, BY_ROWS, &natural));
    TRY(sort_by_level(plan, t, &natural, d));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
done:
    device_triangle_release(plan, &natural);
    return status; /* what has been allocated so far goes with the plan */
}

void release(trine_triangular plan, struct triangle *t)
{
    device_side *d = (device_side *)t->device;
    if (!d) return;
    for (const schedule &s : d->schedules) trine_free(plan->ctx, TRINE_HOST, s.steps);
    trine_free(plan->ctx, TRINE_DEVICE, d->level_offsets);
    device_triangle_release(plan, &d->base);
    trine_free(plan->ctx, TRINE_HOST, d);
    t->device = nullptr;
}

} // namespace

extern "C" const struct triangular_backend triangular_levelset = {
    device_analyse, prepare, release, device_triangle_numeric, device_triangle_bad_row, work_bytes, solve, false};
