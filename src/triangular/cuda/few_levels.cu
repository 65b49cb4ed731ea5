/* The solve by rows with one right-hand side where there are few levels: nobody waits, so values need no flags and come
 * through L1.
 *
 * A launch has the rows of a level. Two levels are one launch where that is worth it: the first level's values are
 * right-hand sides over pivots, which a row of the second one divides itself, entry by entry, to the same bits. In
 * place that would read what others have overwritten, so there are two launches then. Long rows are cut into parts,
 * a block each: the block that finds all other parts of its row done brings their sums together, in their order. */
#include "core/gpu_launch.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/few_levels.h"

namespace {

constexpr int THREADS = 256;
constexpr int64_t PART = FEW_LEVELS_PART;
/* two gathers an entry instead of one: where launches are what takes the time */
constexpr int64_t MOST_ENTRIES_AT_ONCE = 1 << 20;

template <typename T> struct level_rows {
    int64_t n, first, end, b_row, x_row; /* of rows first .. end - 1 those of the level */
    const int64_t *offsets;
    const int32_t *columns, *order, *levels; /* order: NULL: see forward; levels: NULL: all rows that a launch has */
    const T *values, *pivots, *B;
    T *X, *x; /* x: in solve order */
    next_state next;
    const long_part *parts;
    T *sums;
    unsigned *counters; /* of long rows; zero, and zero again at the end */
    T alpha;
    int level;
    unsigned row_blocks; /* the blocks behind them have a part of a long row each */
    bool conjugate, forward;

    __device__ int64_t row_at(int64_t p) const { return order ? order[p] : forward ? p : n - 1 - p; }
    __device__ T as_stored(T a) const { return conjugate ? conjugate_of(a) : a; }
    __device__ T divide(int64_t p, T a) const { return pivots ? divisor<T>(as_stored(pivots[p])).divide(a) : a; }
};

/** Sum over the block, in a fixed order; thread 0 has it. */
template <typename T> __device__ T sum_of_block(T sum)
{
    __shared__ T sums[THREADS / 32];
    for (int o = 16; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < THREADS / 32; w++) sum = sum + sums[w];
    return sum;
}

/** Blocks of a multiprocessor: levels are as fast as there are loads under way, so real numbers get as many as a
 *  multiprocessor holds. */
template <typename T, bool AT_ONCE> constexpr int blocks_at_once =
    AT_ONCE || scalar<T>::is_complex ? 1 : MULTIPROCESSOR_THREADS / THREADS;

/** E lanes a row. AT_ONCE: all rows, and a row's entries are in rows without any. */
template <typename T, int E, bool AT_ONCE>
__global__ void __launch_bounds__(THREADS, (blocks_at_once<T, AT_ONCE>)) solve_level(const level_rows<T> a)
{
    auto term = [&](int64_t k) {
        const int32_t c = a.columns[k];
        const T v = a.as_stored(a.values[k]);
        if constexpr (AT_ONCE) return v * a.divide(c, a.alpha * a.B[a.row_at(c) * a.b_row]);
        else return v * a.x[c];
    };
    auto finish = [&](int64_t p, T sum) {
        const int64_t row = a.row_at(p);
        /* rows of other steps may wait for it */
        const T x = missing_or(a.divide(p, a.alpha * a.B[row * a.b_row] - sum));
        if constexpr (!AT_ONCE) {
            a.x[p] = x;
            if (a.next.x) ((T *)a.next.x)[p] = missing_value<T>();
        }
        a.X[row * a.x_row] = x;
    };
    if constexpr (!AT_ONCE) a.next.reset_tickets();
    if (blockIdx.x >= a.row_blocks) {
        __shared__ bool last;
        const long_part part = a.parts[blockIdx.x - a.row_blocks];
        if (!AT_ONCE && a.levels[part.row] != a.level) return;
        T sum = zero_of<T>();
#pragma unroll 4
        for (int64_t k = part.first + threadIdx.x; k < part.end; k += THREADS) sum = sum + term(k);
        sum = sum_of_block(sum);
        if (threadIdx.x == 0) {
            publish(&a.sums[part.slot + part.index], sum);
            __threadfence();
            last = atomicAdd(&a.counters[part.number], 1u) == (unsigned)part.count - 1;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();
        T total = zero_of<T>();
        for (int i = threadIdx.x; i < part.count; i += THREADS) total = total + poll(&a.sums[part.slot + i]);
        total = sum_of_block(total);
        if (threadIdx.x == 0) {
            finish(part.row, total);
            a.counters[part.number] = 0;
        }
        return;
    }
    const int64_t p = a.first + (blockIdx.x * (int64_t)THREADS + threadIdx.x) / E;
    const int e = threadIdx.x % E;
    bool active = p < a.end && (AT_ONCE || !a.levels || a.levels[p] == a.level);
    int64_t k = active ? a.offsets[p] : 0, last = active ? a.offsets[p + 1] : 0;
    if (a.parts && last - k >= LONG_ROW) active = false, last = k;
    T sum = zero_of<T>();
#pragma unroll 4
    for (k += e; k < last; k += E) sum = sum + term(k);
#pragma unroll
    for (int o = E / 2; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
    if (active && e == 0) finish(p, sum);
}

/** A level whose rows are among first .. end - 1. */
template <int E, bool AT_ONCE, typename T> trine_status launch_level(level_rows<T> &a, int64_t first, int64_t end,
                                                                     int64_t n_parts, gpuStream_t stream)
{
    a.first = first, a.end = end;
    a.row_blocks = (unsigned)(((end - first) * E + THREADS - 1) / THREADS);
    return GPU((launch_kernel<solve_level<T, E, AT_ONCE>>(a.row_blocks + (unsigned)n_parts, THREADS, stream, a)));
}

template <int E, typename T> trine_status launch(const level_launches *l, level_rows<T> &a, bool at_once,
                                                 gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    if (at_once) return launch_level<E, true>(a, 0, a.n, l->n_parts, stream);
    for (a.level = 0; a.level < l->count && !status; a.level++) {
        const bool without_entries = l->levels && a.level == 0; /* a lane a row then, and none is long */
        status = without_entries ? launch_level<1, false>(a, l->first[0], l->end[0], 0, stream)
                                 : launch_level<E, false>(a, l->first[a.level], l->end[a.level], l->n_parts, stream);
    }
    return status;
}

template <typename T>
trine_status solve_side(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                        const level_launches *l, void *x, char *room, next_state next)
{
    gpuStream_t stream = (gpuStream_t)s->stream;
    level_rows<T> a = {};
    a.n = plan->base.n, a.b_row = s->b_row, a.x_row = s->x_row;
    a.offsets = d->offsets, a.columns = d->columns;
    if (l->levels) a.levels = device_levels_of(l->levels);
    else a.order = d->order;
    a.values = (const T *)d->values, a.pivots = (const T *)d->pivots;
    a.B = (const T *)s->B, a.X = (T *)s->X, a.x = (T *)x, a.next = next;
    if (l->n_parts) a.parts = l->parts, a.counters = (unsigned *)room, a.sums = (T *)(room + FEW_LEVELS_COUNTERS);
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate, a.forward = l->forward;
    const bool at_once = few_levels_at_once(s, l);
    switch (l->lanes) {
    case 1: return launch<1>(l, a, at_once, stream);
    case 2: return launch<2>(l, a, at_once, stream);
    case 4: return launch<4>(l, a, at_once, stream);
    case 8: return launch<8>(l, a, at_once, stream);
    case 16: return launch<16>(l, a, at_once, stream);
    default: return launch<32>(l, a, at_once, stream);
    }
}

/* ---------------------------------------------------------------- analysis */

struct long_row_bounds {
    int64_t first, end;
    int64_t row;
};

/** found: in any order; count starts at 0. */
__global__ void find_long_rows(int64_t n, const int64_t *offsets, long_row_bounds *found, unsigned *count)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x)
        if (offsets[p + 1] - offsets[p] >= LONG_ROW) found[atomicAdd(count, 1u)] = {offsets[p], offsets[p + 1], p};
}

/** Parts of the long rows, cut on the host: there are at most MOST_LONG_ROWS. *squares: of their lengths, *entries:
 *  all of theirs. */
trine_status cut_long_rows(trine_triangular plan, const device_triangle *d, level_launches *out, double *squares,
                           int64_t *entries)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n_rows = d->long_rows;
    arena scratch = {};
    long_row_bounds *on_device, *rows = nullptr;
    unsigned *count;
    long_part *parts = nullptr;
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        on_device = a.take<long_row_bounds>(n_rows);
        count = a.take<unsigned>(1);
    }));
    rows = (long_row_bounds *)trine_host_alloc(ctx, n_rows, sizeof *rows);
    if (!rows) FAIL(TRINE_ERR_MEMORY, "no memory for %lld long rows", (long long)n_rows);
    TRY(trine_device_fill_async(ctx, count, 0, sizeof *count, ctx->stream));
    find_long_rows<<<device_blocks_for(plan, d->n), THREADS, 0, (gpuStream_t)ctx->stream>>>(d->n, d->offsets, on_device,
                                                                                            count);
    TRY(GPU_LAUNCHED("finding the long rows"));
    TRY(trine_device_copy_async(ctx, rows, on_device, (size_t)n_rows * sizeof *rows, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    out->n_parts = 0;
    for (int64_t i = 0; i < n_rows; i++) out->n_parts += (rows[i].end - rows[i].first + PART - 1) / PART;
    if (out->n_parts > INT32_MAX / 2)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld parts of long rows are too many", (long long)out->n_parts);
    parts = (long_part *)trine_host_alloc(ctx, out->n_parts, sizeof *parts);
    if (!parts) FAIL(TRINE_ERR_MEMORY, "no memory for %lld parts of long rows", (long long)out->n_parts);
    for (int64_t i = 0, slot = 0; i < n_rows; i++) {
        const int64_t length = rows[i].end - rows[i].first;
        const int32_t n_parts = (int32_t)((length + PART - 1) / PART);
        for (int32_t k = 0; k < n_parts; k++) {
            const int64_t first = rows[i].first + k * PART,
                          end = first + PART < rows[i].end ? first + PART : rows[i].end;
            parts[slot + k] = {first, end, (int32_t)rows[i].row, (int32_t)i, k, n_parts, (int32_t)slot};
        }
        slot += n_parts;
        *squares += (double)length * (double)length;
        *entries += length;
    }
    TRY(trine_device_upload(ctx, parts, (size_t)out->n_parts * sizeof *parts, (void **)&out->parts));
    plan->info.bytes += out->n_parts * (int64_t)sizeof *parts;
done:
    trine_free(ctx, TRINE_HOST, rows);
    trine_free(ctx, TRINE_HOST, parts);
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

} // namespace

trine_status few_levels_make(trine_triangular plan, const device_triangle *d, const levels_found *found, void *levels,
                             bool chunked, bool forward, level_launches *out)
{
    trine_status status = TRINE_SUCCESS;
    device_triangle others = *d; /* the rows that are not long */
    double squares = 0;
    int64_t entries = 0;
    if (chunked) TRY(cut_long_rows(plan, d, out, &squares, &entries));
    others.squares -= squares, others.nnz -= entries;
    out->lanes = plan->options.tune.lanes_per_row ? plan->options.tune.lanes_per_row : row_shape_lanes(&others);
    for (int l = 0; l < found->n_levels; l++) out->first[l] = found->first[l], out->end[l] = found->end[l];
    out->forward = forward;
    out->at_once = found->n_levels <= 2 && d->nnz <= MOST_ENTRIES_AT_ONCE;
    out->levels = levels;
    out->count = (int)found->n_levels;
    plan->info.bytes += device_levels_bytes(d->n);
done:
    return status;
}

void few_levels_release(trine_triangular plan, level_launches *l)
{
    trine_free(plan->base.ctx, TRINE_DEVICE, l->levels);
    trine_free(plan->base.ctx, TRINE_DEVICE, l->parts);
}

void row_steps_choose(trine_triangular plan, int64_t n_levels, const int64_t *bounds, int lanes, row_steps *out)
{
    /* rows: half of the threads that the device holds */
    const int64_t broad = plan->base.ctx->info.multiprocessors * (int64_t)1024 / lanes;
    bool any = false;
    out->count = 0;
    for (int64_t l = 0; l < n_levels; l++) {
        const bool is_broad = bounds[l + 1] - bounds[l] >= broad;
        if (is_broad || l == 0 || out->steps[out->count - 1].broad) {
            if (out->count == MOST_STEPS) any = false;
            if (out->count == MOST_STEPS) break;
            out->steps[out->count++] = {bounds[l], bounds[l + 1], is_broad};
        } else {
            out->steps[out->count - 1].end = bounds[l + 1];
        }
        any |= is_broad;
    }
    if (!any) out->count = 0;
}

static trine_status run(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                        const level_launches *l, void *x, char *room, next_state next)
{
    static trine_status (*const solves[])(trine_triangular, const struct triangular_solve *, const device_triangle *,
                                          const level_launches *, void *, char *, next_state) = {
        nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    return solves[plan->base.dtype](plan, s, d, l, x, room, next);
}

trine_status broad_level_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                               int lanes, const row_step *step, void *x, next_state next)
{
    level_launches level = {};
    level.count = 1, level.lanes = lanes, level.first[0] = step->first, level.end[0] = step->end;
    return run(plan, s, d, &level, x, nullptr, next);
}

size_t few_levels_room(trine_triangular plan, const level_launches *l)
{
    return l->n_parts ? FEW_LEVELS_COUNTERS + (size_t)l->n_parts * trine_dtype_size(plan->base.dtype) : 0;
}

trine_status few_levels_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                              const level_launches *l, void *x, char *room)
{
    return run(plan, s, d, l, x, room, {});
}
