/* The synchronization-free solve in scatter form on the GPU: a warp a column, one launch.
 *
 * Warp p waits until every column that row p depends on has arrived, x[p] := (alpha b[p] - left_sum[p]) / pivot, and
 * the products of x[p] with the entries of column p are added to the left sums of later rows. Additions are made
 * visible by a release before they are counted; the count is read with acquire (core/gpu_scalar.cuh). A fence costs
 * about as much as a trip to L2, so additions are counted in batches behind one fence. Counters run up from zero to the
 * in-degree, so that one byte fill resets them and the left sums. A block takes the next columns by an atomic ticket:
 * the first unfinished column is always held by a running warp, so progress depends on no scheduling order. The order
 * of additions, and with it the last digits of the result, changes from run to run.
 * Liu, Li, Hogg, Duff, Vinter (2017), Algorithms 3 and 4. */
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/triangle.h"

namespace {

constexpr int MAX_WARPS = 32;
constexpr int BATCH = 4;      /* entries of a lane behind one fence (a thread an entry) */
constexpr int RHS_BATCH = 16; /* entries of a warp behind one fence (a thread a right-hand side) */

struct device_side {
    device_triangle base; /* by columns: base.columns are the positions of the rows that column p adds to, ascending */
    int32_t *in_degree;
    int32_t *near_degree; /* how much of it comes from columns of the same block; NULL without scratchpad */
    arena degrees; /* holds both */
};

template <typename T> struct solve_args {
    int64_t n, nrhs, b_row, b_col, x_row, x_col;
    const int64_t *offsets;
    const int32_t *rows, *order, *in_degree, *near_degree;
    const T *values, *pivots, *B;
    T *X, *left_sum; /* left_sum: n x nrhs, row-major; starts at zero, like arrived and ticket */
    unsigned *ticket, *arrived; /* arrived[p]: dependences of row p whose products are in its left sums */
    T alpha;
    bool conjugate;
    trine_csc_variant variant;
    int64_t p, q;
};

template <typename T> __device__ inline T matrix_value(const solve_args<T> &a, int64_t k)
{
    return a.conjugate ? conjugate_of(a.values[k]) : a.values[k];
}
template <typename T> __device__ inline divisor<T> pivot_of(const solve_args<T> &a, int64_t p)
{
    if (!a.pivots) return divisor<T>(one_of<T>());
    return divisor<T>(a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p]);
}

/** Algorithm 3, one right-hand side. SCRATCHPAD: what the block's columns add to each other's rows stays in shared
 *  memory, where the latency from warp to warp is a quarter. The paper compares the sum of both counters with the
 *  in-degree; here each has its own target, so that a warp does not go to global memory for every look at shared
 *  memory. */
template <typename T, bool SCRATCHPAD> __global__ void __launch_bounds__(32 * MAX_WARPS)
    solve_columns(const solve_args<T> a)
{
    __shared__ T near_sum[MAX_WARPS];
    __shared__ unsigned near_arrived[MAX_WARPS], block;
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) block = atomicAdd(a.ticket, 1u);
    if (threadIdx.x < warps) near_sum[threadIdx.x] = zero_of<T>(), near_arrived[threadIdx.x] = 0;
    __syncthreads();
    const int64_t base = (int64_t)block * warps, p = base + warp;
    const int64_t near_end = SCRATCHPAD ? base + warps : 0;
    if (p >= a.n) return;

    /* Everything that can be had before the wait: the row's data and the first entries. */
    const int64_t end = a.offsets[p + 1], row = a.order[p];
    int64_t k = a.offsets[p] + lane;
    int32_t to[BATCH];
    T v[BATCH];
    auto load_batch = [&] {
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const bool there = k + 32 * u < end;
            to[u] = there ? a.rows[k + 32 * u] : -1;
            v[u] = there ? matrix_value(a, k + 32 * u) : zero_of<T>();
        }
    };
    load_batch();
    const divisor<T> pivot = pivot_of(a, p);
    const T b = a.alpha * a.B[row * a.b_row];
    const unsigned near_needed = SCRATCHPAD ? a.near_degree[p] : 0, far_needed = (unsigned)a.in_degree[p] - near_needed;

    /* Every lane waits, and works out the same x: each is then ordered behind the additions by its own acquire. */
    T left = zero_of<T>();
    if (far_needed) {
        while (load_acquire(&a.arrived[p]) != far_needed) {}
        left = poll(&a.left_sum[p]);
    }
    if (near_needed) {
        while (load_acquire_in_block(&near_arrived[warp]) != near_needed) {}
        left = left + poll(&near_sum[warp]);
    }
    __syncwarp();
    const T x = pivot.divide(b - left);
    if (lane == 0) a.X[row * a.x_row] = x;

    while (k < end) {
        bool near = false, far = false;
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            if (to[u] < 0) continue;
            if (to[u] < near_end) {
                add_atomically(&near_sum[to[u] - base], v[u] * x);
                near = true;
            } else {
                add_atomically(&a.left_sum[to[u]], v[u] * x);
                far = true;
            }
        }
        if (near) {
            release_fence_in_block();
#pragma unroll
            for (int u = 0; u < BATCH; u++)
                if (to[u] >= 0 && to[u] < near_end) count_up(&near_arrived[to[u] - base]);
        }
        if (far) {
            release_fence();
#pragma unroll
            for (int u = 0; u < BATCH; u++)
                if (to[u] >= 0 && to[u] >= near_end) count_up(&a.arrived[to[u]]);
        }
        k += 32 * BATCH;
        load_batch();
    }
}

/** Algorithm 4, several right-hand sides. An entry counts once, when the products of all right-hand sides are
 *  visible. Once row p is solved, x stands in the place of its left sums, where all lanes find it whatever the
 *  layout of X. */
template <typename T> __global__ void __launch_bounds__(32 * MAX_WARPS) solve_columns_many(const solve_args<T> a)
{
    __shared__ unsigned block;
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) block = atomicAdd(a.ticket, 1u);
    __syncthreads();
    const int64_t p = (int64_t)block * warps + warp;
    if (p >= a.n) return;

    const int64_t first = a.offsets[p], end = a.offsets[p + 1], row = a.order[p], length = end - first, nrhs = a.nrhs;
    const divisor<T> pivot = pivot_of(a, p);
    const unsigned needed = (unsigned)a.in_degree[p];
    T *const x = a.left_sum + p * nrhs;

    while (load_acquire(&a.arrived[p]) != needed) {}
    __syncwarp();
    for (int64_t j = lane; j < nrhs; j += 32) {
        x[j] = pivot.divide(a.alpha * a.B[row * a.b_row + j * a.b_col] - poll(&x[j]));
        a.X[row * a.x_row + j * a.x_col] = x[j];
    }
    __syncwarp();

    const bool by_rhs =
        a.variant == TRINE_CSC_ADAPTIVE ? (length <= nrhs || nrhs > a.p) && length < a.q : a.variant == TRINE_CSC_OPT2;
    if (by_rhs)
        for (int64_t k = first; k < end; k += RHS_BATCH) {
            const int count = end - k < RHS_BATCH ? (int)(end - k) : RHS_BATCH;
            const int32_t to = lane < count ? a.rows[k + lane] : 0;
            const T v = lane < count ? matrix_value(a, k + lane) : zero_of<T>();
            for (int u = 0; u < count; u++) {
                const T value = shuffle_from(v, u);
                T *const sums = a.left_sum + (int64_t)__shfl_sync(~0u, to, u) * nrhs;
                for (int64_t j = lane; j < nrhs; j += 32) add_atomically(&sums[j], value * x[j]);
            }
            __syncwarp(); /* every lane's additions come before any lane's release */
            if (lane < count) {
                release_fence();
                count_up(&a.arrived[to]);
            }
        }
    else
        for (int64_t k = first + lane; k < end; k += 32) {
            const int32_t to = a.rows[k];
            const T v = matrix_value(a, k);
            T *const sums = a.left_sum + (int64_t)to * nrhs;
            for (int64_t j = 0; j < nrhs; j++) add_atomically(&sums[j], v * x[j]);
            release_fence();
            count_up(&a.arrived[to]);
        }
}

int warps_per_block(trine_triangular plan)
{
    return plan->options.csc.warps_per_block ? plan->options.csc.warps_per_block : 16;
}

/* ------------------------------------------------------------------- solve */

/** State of one solve in flight, in this order: the ticket in a slot of its own, counters, left sums. */
constexpr size_t SLOT = 256;
size_t counter_bytes(int64_t n) { return ((size_t)n * sizeof(unsigned) + SLOT - 1) / SLOT * SLOT; }

size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    return SLOT + counter_bytes(plan->base.n) +
           (size_t)plan->base.n * (size_t)nrhs * trine_dtype_size(plan->base.dtype);
}

trine_status memory(trine_triangular plan, const triangular_extent *e, triangular_bytes *host, triangular_bytes *device,
                    int64_t *work)
{
    *work = (int64_t)work_bytes(plan, plan->options.max_nrhs);
    return device_memory(plan, e, BY_COLUMNS, memory_of_syncfree_columns, host, device);
}

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s)
{
    const device_side *d = (const device_side *)s->part;
    const trine_triangular_options *o = &plan->options;
    gpuStream_t stream = (gpuStream_t)s->stream;
    char *buffer = (char *)s->work->base.buffer;
    trine_status status = trine_device_fill_async(plan->base.ctx, buffer, 0, work_bytes(plan, s->nrhs), stream);
    if (status) return status;
    solve_args<T> a = {};
    a.n = plan->base.n, a.nrhs = s->nrhs;
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.offsets = d->base.offsets, a.rows = d->base.columns, a.order = d->base.order, a.in_degree = d->in_degree,
    a.near_degree = d->near_degree;
    a.values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.B = (const T *)s->B, a.X = (T *)s->X;
    a.ticket = (unsigned *)buffer, a.arrived = (unsigned *)(buffer + SLOT),
    a.left_sum = (T *)(buffer + SLOT + counter_bytes(plan->base.n));
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    a.variant = o->csc.variant;
    a.p = o->csc.p ? o->csc.p : 8, a.q = o->csc.q ? o->csc.q : 8192;
    const int warps = warps_per_block(plan);
    const unsigned blocks = (unsigned)((plan->base.n + warps - 1) / warps);
    if (s->nrhs > 1) solve_columns_many<T><<<blocks, 32 * warps, 0, stream>>>(a);
    else if (!d->near_degree) solve_columns<T, false><<<blocks, 32 * warps, 0, stream>>>(a);
    else solve_columns<T, true><<<blocks, 32 * warps, 0, stream>>>(a);
    return GPU_LAUNCHED("the synchronization-free solve by columns");
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static const device_solve run[] = {nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>,
                                       solve_side<complex_of<double>>};
    return device_solve_run(plan, s, run);
}

/* ---------------------------------------------------------------- analysis */

trine_status analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    device_side *const d = (device_side *)(plan->side[side].part = trine_host_calloc(plan->base.ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    TRY(device_form_build(plan, (device_pattern *)pattern, side, BY_COLUMNS, &d->base));
    TRY(arena_allocate(plan->base.ctx, &d->degrees, [&](arena &a) {
        d->in_degree = a.take<int32_t>(plan->base.n);
        d->near_degree = plan->options.csc.scratchpad != 2 ? a.take<int32_t>(plan->base.n) : nullptr;
    }));
    plan->info.bytes += (int64_t)d->degrees.used;
    TRY(device_form_count_in_degrees(plan, &d->base, warps_per_block(plan), d->in_degree, d->near_degree));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
done:
    return status; /* what has been allocated so far goes with the plan */
}

void release(trine_triangular plan, struct triangular_side *side)
{
    device_side *d = (device_side *)side->part;
    trine_free(plan->base.ctx, TRINE_DEVICE, d->degrees.base);
    device_part_release(plan, side);
}

} // namespace

extern "C" const struct triangular_backend triangular_syncfree_csc = {device_pattern_read,
                                                                      analyse_side,
                                                                      device_pattern_drop,
                                                                      release,
                                                                      device_triangle_numeric,
                                                                      device_triangle_bad_row,
                                                                      work_bytes,
                                                                      memory,
                                                                      nullptr,
                                                                      solve,
                                                                      true};
