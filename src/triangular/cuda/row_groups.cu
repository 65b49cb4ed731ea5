/* The solve by rows with one right-hand side where rows come in small groups that need nothing of each other, as in
 * matrices of dense diagonal blocks: one launch, no flags, no memory besides X and B.
 *
 * A warp has one or several groups of at most 32 rows in all, a lane each. It brings their entries to shared memory,
 * all loads at once; then the groups' first rows are solved, their second ones, and so on: every lane hears of its
 * group's new value by a shuffle and adds it to its sum where its next entry says so. */
#include "core/gpu_copy.cuh"
#include "core/gpu_cub.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/few_levels.h"

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = 4;                                               /* of a block */
constexpr int ENTRIES = MOST_GROUP_ROWS * (MOST_GROUP_ROWS - 1) / 2;   /* off-diagonal ones of a warp, at most */
constexpr int NONE = 64;                                               /* no lane */

template <typename T> struct group_rows {
    int64_t n, b_row, x_row, n_groups, n_warps;
    const int64_t *offsets;
    const int32_t *columns, *starts;
    const T *values, *pivots, *B;
    T *X;
    T alpha;
    int longest, of_warp;
    bool conjugate, forward;
};

template <typename T> struct alignas(16) group_entries {
    T values[ENTRIES + 1];       /* one more may be read, and is not used */
    int32_t columns[ENTRIES];
};

template <typename T> __global__ void __launch_bounds__(32 * WARPS) solve_groups(const group_rows<T> a)
{
    __shared__ group_entries<T> of_warps[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t w = blockIdx.x * (int64_t)WARPS + warp;
    if (w >= a.n_warps) return;
    group_entries<T> *const entries = &of_warps[warp];
    const int64_t group = w * a.of_warp;
    const int groups = (int)min((int64_t)a.of_warp, a.n_groups - group);
    const int32_t mine = lane <= groups ? a.starts[group + lane] : 0; /* where my group begins, of so many lanes */
    const int32_t base = __shfl_sync(~0u, mine, 0);
    /* A warp of 32 groups has a row in each. */
    const int32_t end = groups < 32 ? __shfl_sync(~0u, mine, groups & 31) : base + 32;
    const int rows = end - base;
    const int64_t p = base + lane;
    const bool active = lane < rows;
    const int64_t k = active ? a.offsets[p] : 0, k_end = active ? a.offsets[p + 1] : 0;
    const int64_t first = __shfl_sync(~0u, k, 0), last = __shfl_sync(~0u, k_end, rows - 1);
    const int64_t row = a.forward ? p : a.n - 1 - p;
    for (int64_t at = first + lane; at < last; at += 32) {
        copy_async(&entries->columns[at - first], a.columns + at);
        copy_async(&entries->values[at - first], a.values + at);
    }
    end_copies();
    T b = zero_of<T>(), pivot = one_of<T>();
    if (active) {
        b = a.alpha * a.B[row * a.b_row];
        if (a.pivots) pivot = a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p];
    }
    unsigned heads = lane < groups ? 1u << (mine - base) : 0;
    for (int o = 16; o > 0; o /= 2) heads |= __shfl_xor_sync(~0u, heads, o);
    const int head = 31 - __clz((int)(heads & (~0u >> (31 - lane)))); /* the lane with my group's first row */
    const divisor<T> divide(pivot);
    wait_for_copies();
    __syncwarp();

    int at = (int)(k - first);
    const int at_end = (int)(k_end - first);
    int column = at < at_end ? entries->columns[at] - base : NONE; /* the lane that has it */
    T value = at < at_end ? entries->values[at] : zero_of<T>(), sum = zero_of<T>();
    T x = divide.divide(b); /* whose row has no entries */
    for (int step = 0; step + 1 < a.longest; step++) {
        const T found = shuffle_from(x, min(head + step, 31));
        if (column == head + step) {
            sum = sum + (a.conjugate ? conjugate_of(value) : value) * found;
            at++;
            column = at < at_end ? entries->columns[at] - base : NONE;
            value = entries->values[at];
            x = divide.divide(b - sum);
        }
    }
    if (active) a.X[row * a.x_row] = x;
}

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s,
                                              const device_triangle *d, const row_groups *g)
{
    group_rows<T> a = {};
    a.n = plan->base.n, a.b_row = s->b_row, a.x_row = s->x_row;
    a.n_groups = g->count, a.n_warps = (g->count + g->of_warp - 1) / g->of_warp;
    a.offsets = d->offsets, a.columns = d->columns, a.starts = g->starts;
    a.values = (const T *)d->values, a.pivots = (const T *)d->pivots;
    a.B = (const T *)s->B, a.X = (T *)s->X;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.longest = g->longest, a.of_warp = g->of_warp;
    a.conjugate = s->conjugate, a.forward = g->forward;
    return GPU((launch_kernel<solve_groups<T>>((unsigned)((a.n_warps + WARPS - 1) / WARPS), 32 * WARPS,
                                               (gpuStream_t)s->stream, a)));
}

/* ---------------------------------------------------------------- analysis */

/** begins[p]: no row from p on needs one before p; begins[n] = 0. *longest: rows of the longest group, or more than
 *  MOST_GROUP_ROWS. Entries of a row ascend. */
__global__ void __launch_bounds__(THREADS)
    find_groups(int64_t n, const int64_t *offsets, const int32_t *columns, int32_t *begins, int *longest)
{
    constexpr int AHEAD = 2 * MOST_GROUP_ROWS; /* rows behind those of the block */
    __shared__ int32_t needs[THREADS + AHEAD];  /* the first row that a row needs */
    __shared__ uint8_t starts[THREADS + AHEAD];
    for (int64_t base = blockIdx.x * (int64_t)THREADS; base < n; base += gridDim.x * (int64_t)THREADS) {
        __syncthreads();
        for (int i = threadIdx.x; i < THREADS + AHEAD; i += THREADS) {
            const int64_t p = base + i;
            needs[i] = p >= n ? INT32_MAX : offsets[p] < offsets[p + 1] ? columns[offsets[p]] : (int32_t)p;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < THREADS + MOST_GROUP_ROWS; i += THREADS) {
            bool begin = true;
            for (int q = i; q < i + MOST_GROUP_ROWS; q++) begin &= needs[q] >= base + i;
            starts[i] = begin;
        }
        __syncthreads();
        const int64_t p = base + threadIdx.x;
        int length = 0;
        if (p < n) {
            begins[p] = starts[threadIdx.x];
            if (starts[threadIdx.x]) do
                    length++;
                while (length <= MOST_GROUP_ROWS && !starts[threadIdx.x + min(length, MOST_GROUP_ROWS)]);
            if (p == n - 1) begins[n] = 0;
        }
        length = __reduce_max_sync(~0u, length);
        if (threadIdx.x % 32 == 0 && length > 0) atomicMax(longest, length);
    }
}

__global__ void list_groups(int64_t n, const int32_t *begins, const int32_t *before, int32_t *starts)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p <= n; p += (int64_t)gridDim.x * blockDim.x)
        if (p == n || begins[p]) starts[before[p]] = (int32_t)p;
}

} // namespace

trine_status row_groups_find(trine_triangular plan, const device_triangle *d, bool forward, row_groups *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int64_t n = d->n;
    const int blocks = device_blocks_for(plan, n + 1);
    arena scratch = {};
    int32_t *begins = nullptr, *before = nullptr, count = 0;
    int *longest, found[1];
    char *temporary;
    size_t bytes = 0;
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, bytes, begins, before, n + 1, stream)));
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        begins = a.take<int32_t>(n + 1);
        before = a.take<int32_t>(n + 1);
        longest = a.take<int>(1);
        temporary = a.take<char>((int64_t)bytes);
    }));
    TRY(trine_device_fill_async(ctx, longest, 0, sizeof *longest, ctx->stream));
    find_groups<<<blocks, THREADS, 0, stream>>>(n, d->offsets, d->columns, begins, longest);
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(temporary, bytes, begins, before, n + 1, stream)));
    TRY(trine_device_copy_async(ctx, found, longest, sizeof *longest, ctx->stream));
    TRY(trine_device_copy_async(ctx, &count, before + n, sizeof count, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    if (found[0] <= MOST_GROUP_ROWS) {
        TRY(trine_alloc(ctx, TRINE_DEVICE, (size_t)(count + 1) * sizeof *out->starts, (void **)&out->starts));
        list_groups<<<blocks, THREADS, 0, stream>>>(n, begins, before, out->starts);
        TRY(GPU_LAUNCHED("listing the groups"));
        TRY(trine_device_synchronize(ctx, ctx->stream)); /* the scratch memory goes */
        out->count = count, out->longest = found[0], out->of_warp = MOST_GROUP_ROWS / found[0];
        out->forward = forward;
        plan->info.bytes += (count + 1) * (int64_t)sizeof *out->starts;
    }
done:
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

void row_groups_release(trine_triangular plan, row_groups *g) { trine_free(plan->base.ctx, TRINE_DEVICE, g->starts); }

trine_status row_groups_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                              const row_groups *g)
{
    static trine_status (*const run[])(trine_triangular, const struct triangular_solve *, const device_triangle *,
                                       const row_groups *) = {
        nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    return run[plan->base.dtype](plan, s, d, g);
}
