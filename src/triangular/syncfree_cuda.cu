/* The synchronization-free solve in gather form on the GPU: one launch, no barrier between levels.
 *
 * Every row waits for exactly the values it needs. A solution value is its own ready flag (core/gpu_scalar.cuh), so one
 * relaxed load brings flag and data in a single trip to L2: 0.31 us from producer to consumer on an H200, which times the
 * number of levels is this method's floor. Rows go out in chunks by an atomic ticket, in solve order: the first unfinished
 * chunk is always held by a running block, so progress depends on no scheduling order. Within a chunk, values travel
 * through shared memory (0.08 us). Sums run in a fixed order: results are bitwise the same every time.
 * After Liu, Li, Hogg, Duff, Vinter (2017), Section 3; value-as-flag instead of counters. */
#include <cfloat>

#include "core/gpu_scalar.cuh"
#include "triangular/triangular.h"

namespace {

struct device_side {
    int64_t *offsets, *source, *pivot_source;
    int32_t *columns, *order;
    void *values, *pivots;
    long long *bad_row;
    int lanes, warps, blocks, many_blocks; /* many_blocks: with several right-hand sides */
};

constexpr int MAX_WARPS = 16;
constexpr int BATCH = 4; /* entries of a lane in flight */

template <typename T> struct solve_args {
    int64_t n, nrhs, b_row, b_col, x_row, x_col;
    const int64_t *offsets;
    const int32_t *columns, *order;
    const T *values, *pivots, *B;
    T *X, *x;          /* x: values as flags, n x nrhs, row-major, in solve order */
    unsigned *ticket;  /* starts at all bits set, like x */
    T alpha;
    bool conjugate;
};

/** E lanes share a row of entries for each of R right-hand sides. A warp holds 32 / (R E) rows, which may depend on each
 *  other: its lanes therefore step together, each trying its pending loads once a round, and never wait by themselves. */
template <typename T, int R, int E> __global__ void __launch_bounds__(32 * MAX_WARPS) solve_rows(const solve_args<T> a)
{
    constexpr int LANES = R * E, ROWS = 32 / LANES;
    constexpr unsigned ROW_MASK = LANES == 32 ? ~0u : (1u << LANES) - 1;
    __shared__ T window[2][MAX_WARPS * ROWS * R]; /* this chunk's and the next one's values */
    __shared__ unsigned chunk_of[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / LANES, e = lane % LANES / R, r = lane % R;
    const int slot = (warp * ROWS + group) * R + r, chunk_rows = blockDim.x / 32 * ROWS;
    const unsigned tiles = (unsigned)((a.nrhs + R - 1) / R);

    if (threadIdx.x == 0) chunk_of[0] = atomicAdd(a.ticket, 1u) + 1u;
    if (e == 0) window[0][slot] = missing_value<T>();
    __syncthreads();
    for (int parity = 0;; parity ^= 1) {
        const unsigned chunk = chunk_of[parity];
        const int64_t base = (int64_t)(chunk / tiles) * chunk_rows;
        if (base >= a.n) break;
        unsigned next_chunk;
        if (threadIdx.x == 0) next_chunk = atomicAdd(a.ticket, 1u) + 1u;

        const int64_t p = base + warp * ROWS + group, j = (int64_t)(chunk % tiles) * R + r;
        const bool active = p < a.n && j < a.nrhs;
        int64_t k = active ? a.offsets[p] + e : 0;
        const int64_t end = active ? a.offsets[p + 1] : 0;
        int64_t row = 0;
        T b = zero_of<T>(), pivot = one_of<T>(), inverse = one_of<T>();
        bool invertible = true;
        if (active && e == 0) {
            row = a.order[p];
            b = a.alpha * a.B[row * a.b_row + j * a.b_col];
            if (a.pivots) {
                pivot = a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p];
                inverse = one_of<T>() / pivot;
                const real_of<T> size = size_of(pivot), tiny = sizeof(real_of<T>) == 4 ? real_of<T>(4 * FLT_MIN) : real_of<T>(4 * DBL_MIN);
                invertible = size > tiny && size < real_of<T>(1) / tiny;
            }
        }

        T sum = zero_of<T>(), v[BATCH], x[BATCH];
        const T *from[BATCH];
        unsigned missing = 0, batch = 0;
        bool written = !active;
        while (!__all_sync(~0u, written)) {
            if (!missing && k < end) {
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (k + u * E < end) {
                        const int64_t c = a.columns[k + u * E];
                        v[u] = a.conjugate ? conjugate_of(a.values[k + u * E]) : a.values[k + u * E];
                        from[u] = c >= base ? &window[parity][(c - base) * R + r] : &a.x[c * a.nrhs + j];
                        missing |= 1u << u;
                    }
                batch = missing;
                k += BATCH * E;
            }
            if (missing) {
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (missing >> u & 1) x[u] = poll(from[u]);
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if ((missing >> u & 1) && !is_missing(x[u])) missing &= ~(1u << u);
                if (!missing)
#pragma unroll
                    for (int u = 0; u < BATCH; u++)
                        if (batch >> u & 1) sum = sum + v[u] * x[u];
            }
            const unsigned done = __ballot_sync(~0u, !missing && k >= end);
            const bool complete = !written && (done >> (group * LANES) & ROW_MASK) == ROW_MASK;
            if (__any_sync(~0u, complete)) {
                T total = sum;
#pragma unroll
                for (int o = LANES / 2; o >= R; o /= 2) total = total + shuffle_xor(total, o);
                if (complete) {
                    if (e == 0) {
                        const T rest = b - total;
                        const T value = missing_or(invertible ? rest * inverse : rest / pivot);
                        publish(&window[parity][slot], value);
                        publish(&a.x[p * a.nrhs + j], value);
                        a.X[row * a.x_row + j * a.x_col] = value;
                    }
                    written = true;
                }
            }
        }
        if (e == 0) window[parity ^ 1][slot] = missing_value<T>();
        if (threadIdx.x == 0) chunk_of[parity ^ 1] = next_chunk;
        __syncthreads();
    }
}

/* ----------------------------------------------------------------- numeric */

template <typename T> __global__ void gather_values(int64_t count, const int64_t *source, const T *from, T *values)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < count; k += (int64_t)gridDim.x * blockDim.x) values[k] = from[source[k]];
}

template <typename T>
__global__ void gather_pivots(int64_t n, const int64_t *source, const int32_t *order, const T *from, T *pivots, long long *bad_row)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) {
        pivots[p] = from[source[p]];
        if (!(size_of(pivots[p]) > 0)) atomicMin(bad_row, (long long)order[p]);
    }
}

int blocks_for(trine_triangular plan, int64_t items)
{
    const int64_t blocks = (items + 255) / 256, most = plan->ctx->info.multiprocessors * 8;
    return (int)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

template <typename T> trine_status numeric_side(trine_triangular plan, struct triangle *t, const void *from, gpuStream_t stream)
{
    device_side *d = (device_side *)t->device;
    trine_status status = trine_device_fill_async(plan->ctx, d->bad_row, 0x7F, sizeof *d->bad_row, stream);
    if (status) return status;
    if (t->nnz) gather_values<T><<<blocks_for(plan, t->nnz), 256, 0, stream>>>(t->nnz, d->source, (const T *)from, (T *)d->values);
    if (d->pivot_source)
        gather_pivots<T><<<blocks_for(plan, t->n), 256, 0, stream>>>(t->n, d->pivot_source, d->order, (const T *)from, (T *)d->pivots, d->bad_row);
    return GPU_LAUNCHED("the value update");
}

/* ------------------------------------------------------------------- solve */

template <typename T, int R, int E> void launch(const device_side *d, const solve_args<T> &args, gpuStream_t stream)
{
    /* With several right-hand sides a warp has one to eight rows, and all the blocks that fit find work. */
    const int blocks = R == 1 ? d->blocks : d->many_blocks;
    solve_rows<T, R, E><<<blocks, 32 * d->warps, 0, stream>>>(args);
}

/* State of one solve in flight: the ticket (in a 256-byte slot), then x. One byte fill resets both. */
constexpr size_t STATE_BYTES = 256;

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s)
{
    const struct triangle *t = s->side;
    const device_side *d = (const device_side *)t->device;
    gpuStream_t stream = (gpuStream_t)s->stream;
    char *buffer = (char *)s->work->buffer;
    trine_status status = trine_device_fill_async(plan->ctx, buffer, 0xFF, STATE_BYTES + (size_t)t->n * s->nrhs * sizeof(T), stream);
    if (status) return status;
    solve_args<T> args = {};
    args.n = t->n, args.nrhs = s->nrhs;
    args.b_row = s->b_row, args.b_col = s->b_col, args.x_row = s->x_row, args.x_col = s->x_col;
    args.offsets = d->offsets, args.columns = d->columns, args.order = d->order;
    args.values = (const T *)d->values, args.pivots = d->pivot_source ? (const T *)d->pivots : nullptr;
    args.B = (const T *)s->B, args.X = (T *)s->X;
    args.ticket = (unsigned *)buffer, args.x = (T *)(buffer + STATE_BYTES);
    args.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    args.conjugate = s->conjugate;
    const bool short_rows = d->lanes <= 2;
    if (s->nrhs > 8) launch<T, 32, 1>(d, args, stream);
    else if (s->nrhs > 4) short_rows ? launch<T, 8, 1>(d, args, stream) : launch<T, 8, 4>(d, args, stream);
    else if (s->nrhs > 1) short_rows ? launch<T, 4, 1>(d, args, stream) : launch<T, 4, 8>(d, args, stream);
    else switch (d->lanes) {
        case 1: launch<T, 1, 1>(d, args, stream); break;
        case 2: launch<T, 1, 2>(d, args, stream); break;
        case 4: launch<T, 1, 4>(d, args, stream); break;
        case 8: launch<T, 1, 8>(d, args, stream); break;
        case 16: launch<T, 1, 16>(d, args, stream); break;
        default: launch<T, 1, 32>(d, args, stream); break;
    }
    return GPU_LAUNCHED("the synchronization-free solve");
}

/* ------------------------------------------------------------- the backend */

void release(trine_triangular plan, struct triangle *t)
{
    device_side *d = (device_side *)t->device;
    if (!d) return;
    void *const arrays[] = {d->offsets, d->source, d->pivot_source, d->columns, d->order, d->values, d->pivots, d->bad_row};
    for (void *p : arrays) trine_free(plan->ctx, TRINE_DEVICE, p);
    trine_free(plan->ctx, TRINE_HOST, d);
    t->device = nullptr;
}

/* ------------------------------------------------- shape, from the structure
 * The rules and the constants are read off measurements on an H200: docs/triangular.md. */

enum { ORDER_GIVEN = 1, ORDER_LEVELS = 2 };

/** Threads that share a row: by the length of the row in which an entry stands on average, which long rows dominate. */
int lanes_for(const struct triangle *t)
{
    double squares = 0;
    for (int64_t p = 0; p < t->n; p++) {
        const double length = (double)(t->offsets[p + 1] - t->offsets[p]);
        squares += length * length;
    }
    const double length = t->nnz ? squares / (double)t->nnz : 0;
    return length < 4 ? 1 : length < 6 ? 2 : length < 32 ? 4 : length < 128 ? 8 : 16;
}

/** Blocks in flight. Sorted by level, rows wait for the level just before them, and long rows that wait early only poll;
 *  in the given order, dependencies are anywhere, and more rows in flight find more parallelism. */
int blocks_for_order(trine_triangular plan, int order, int lanes)
{
    const int sms = plan->ctx->info.multiprocessors;
    return order == ORDER_GIVEN ? 4 * sms : lanes >= 16 ? sms / 2 : 2 * sms;
}

/** Microseconds until the last row is done when chunks of `rows` rows start in order on `blocks` slots: a chunk starts when
 *  the one `blocks` before it has ended, a row is done one hop after the last value it needs. sorted NULL: order as given. */
trine_status estimate(trine_triangular plan, const struct triangle *t, const int32_t *sorted, int64_t rows, int64_t blocks, double *time)
{
    const double start_cost = 1.0, near_hop = 0.25, far_hop = 0.45;
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const int64_t chunks = (t->n + rows - 1) / rows;
    int32_t *chunk_of = nullptr;
    float *done = (float *)trine_host_alloc(ctx, t->n, sizeof *done), *chunk_done = (float *)trine_host_alloc(ctx, chunks, sizeof *chunk_done);
    if (done && chunk_done) chunk_of = (int32_t *)trine_host_alloc(ctx, t->n, sizeof *chunk_of);
    if (!chunk_of) status = TRINE_ERR_MEMORY;
    *time = 0;
    if (!status) {
        for (int64_t s = 0; s < t->n; s++) chunk_of[sorted ? sorted[s] : s] = (int32_t)(s / rows);
        for (int64_t c = 0; c < chunks; c++) {
            const double start = (c >= blocks ? chunk_done[c - blocks] : 0) + start_cost;
            double last = start;
            for (int64_t s = c * rows; s < (c + 1) * rows && s < t->n; s++) {
                const int64_t p = sorted ? sorted[s] : s;
                double ready = start;
                for (int64_t k = t->offsets[p]; k < t->offsets[p + 1]; k++) {
                    const double value = done[t->columns[k]] + (chunk_of[t->columns[k]] == c ? near_hop : far_hop);
                    if (value > ready) ready = value;
                }
                done[p] = (float)ready;
                if (ready > last) last = ready;
            }
            chunk_done[c] = (float)last;
            if (last > *time) *time = last;
        }
    }
    trine_free(ctx, TRINE_HOST, done);
    trine_free(ctx, TRINE_HOST, chunk_done);
    trine_free(ctx, TRINE_HOST, chunk_of);
    return status;
}

/** Settle order, lanes, warps and blocks; sort the rows if so decided. */
trine_status choose_shape(trine_triangular plan, struct triangle *t, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    int order = plan->options.tune.row_order;
    d->lanes = plan->options.tune.lanes_per_row ? plan->options.tune.lanes_per_row : lanes_for(t);
    d->warps = plan->options.tune.warps_per_block ? plan->options.tune.warps_per_block : 8;
    TRY(triangle_find_levels(plan, t));
    /* Several right-hand sides leave few rows in flight: those must be the next ones due. */
    if (!order && plan->options.max_nrhs > 1) order = ORDER_LEVELS;
    if (!order) {
        const int64_t rows = d->warps * (32 / d->lanes);
        double given, by_level;
        TRY(estimate(plan, t, nullptr, rows, blocks_for_order(plan, ORDER_GIVEN, d->lanes), &given));
        TRY(estimate(plan, t, t->by_level, rows, blocks_for_order(plan, ORDER_LEVELS, d->lanes), &by_level));
        order = given < by_level ? ORDER_GIVEN : ORDER_LEVELS;
        trine_log(plan->ctx, 3, "triangular: %.0f us expected in the given order, %.0f us by level", given, by_level);
    }
    d->many_blocks = plan->options.tune.blocks ? plan->options.tune.blocks : 4 * plan->ctx->info.multiprocessors;
    d->blocks = plan->options.tune.blocks ? plan->options.tune.blocks : blocks_for_order(plan, order, d->lanes);
    if (order == ORDER_LEVELS) TRY(triangle_reorder(plan, t, t->by_level));
    if (plan->method == TRINE_TRI_AUTO) {
        plan->method = TRINE_TRI_SYNCFREE_CSR;
        plan->reason = order == ORDER_GIVEN ? "one launch, no barrier between levels; rows as given" : "one launch, no barrier between levels; rows by level";
    }
done:
    return status;
}

trine_status prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const size_t size = trine_dtype_size(plan->dtype), n = (size_t)t->n, nnz = (size_t)t->nnz;
    device_side *d = (device_side *)trine_host_calloc(ctx, 1, sizeof *d);
    if (!d) return TRINE_ERR_MEMORY;
    t->device = d;
    TRY(choose_shape(plan, t, d));
    TRY(trine_device_upload(ctx, t->offsets, (n + 1) * sizeof *d->offsets, (void **)&d->offsets));
    TRY(trine_device_upload(ctx, t->columns, nnz * sizeof *d->columns, (void **)&d->columns));
    TRY(trine_device_upload(ctx, t->order, n * sizeof *d->order, (void **)&d->order));
    TRY(trine_device_upload(ctx, t->source, nnz * sizeof *d->source, (void **)&d->source));
    if (t->pivot_source) TRY(trine_device_upload(ctx, t->pivot_source, n * sizeof *d->pivot_source, (void **)&d->pivot_source));
    TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * size, &d->values));
    TRY(trine_alloc(ctx, TRINE_DEVICE, n * size, &d->pivots));
    TRY(trine_alloc(ctx, TRINE_DEVICE, sizeof *d->bad_row, (void **)&d->bad_row));
    plan->info.bytes += (int64_t)((n + 1) * 8 + nnz * 12 + n * 12 + (n + nnz) * size);
    /* The host copy has served. */
    for (void **p : {(void **)&t->offsets, (void **)&t->columns, (void **)&t->order, (void **)&t->source, (void **)&t->pivot_source,
                     (void **)&t->level_offsets, (void **)&t->by_level}) {
        trine_free(ctx, TRINE_HOST, *p);
        *p = nullptr;
    }
done:
    return status;
}

trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    static trine_status (*const run[])(trine_triangular, struct triangle *, const void *, gpuStream_t) = {
        nullptr, numeric_side<float>, numeric_side<double>, numeric_side<complex_of<float>>, numeric_side<complex_of<double>>};
    trine_context ctx = plan->ctx;
    trine_status status = TRINE_SUCCESS;
    void *staged = nullptr;
    int saved;
    trine_device_enter(ctx, &saved);
    if (space == TRINE_HOST) {
        const size_t bytes = (size_t)plan->nnz_matrix * trine_dtype_size(plan->dtype);
        TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, &staged));
        if (bytes) TRY(trine_device_copy_async(ctx, staged, values, bytes, stream));
        values = staged;
    }
    for (int side = 0; side < SIDES; side++)
        if (plan->side[side].device) TRY(run[plan->dtype](plan, &plan->side[side], values, (gpuStream_t)stream));
    if (staged) TRY(trine_device_synchronize(ctx, stream));
done:
    trine_free(ctx, TRINE_DEVICE, staged);
    trine_device_leave(ctx, saved);
    return status;
}

trine_status bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = (const device_side *)plan->side[plan->side[SIDE_N].device ? SIDE_N : SIDE_T].device;
    long long first = 0;
    TRY(trine_device_copy_async(plan->ctx, &first, d->bad_row, sizeof first, stream));
    TRY(trine_device_synchronize(plan->ctx, stream));
    *row = first < plan->n ? first : -1;
done:
    return status;
}

size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    return STATE_BYTES + (size_t)plan->n * (size_t)nrhs * trine_dtype_size(plan->dtype);
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static trine_status (*const run[])(trine_triangular, const struct triangular_solve *) = {
        nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    int saved;
    trine_device_enter(plan->ctx, &saved);
    trine_status status = run[plan->dtype](plan, s);
    trine_device_leave(plan->ctx, saved);
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_syncfree_csr = {prepare, release, numeric, bad_row, work_bytes, solve, false};
