/* The kernel of the synchronization-free solve by rows for several right-hand sides: a warp a row, and no barrier at
 * all.
 *
 * A row of up to 32 (64) right-hand sides takes one load of the whole warp for each entry. A warp depends on other
 * warps only, so its lanes wait for their values by themselves, without votes. Warp w of every block draws its tasks
 * from counter w: each running block serves all counters, so the first unfinished task is always held by a running
 * warp, or next in line for one. Two tasks are drawn ahead, so that neither the counter nor the task's description
 * is waited for. */
#include "core/gpu_copy.cuh"
#include "triangular/cuda/pack.cuh"
#include "triangular/cuda/syncfree_rows_many.h"

namespace {

constexpr int MOST_WARPS = 8;       /* of a block: one counter each */
constexpr int COUNTER_SPACING = STATE_BYTES / MOST_WARPS / sizeof(unsigned);

template <typename T> struct many_args {
    int64_t nrhs, b_row, b_col, x_row, x_col;
    unsigned y_row, total, tiles; /* total: tasks times tiles of right-hand sides */
    const row_task *tasks;
    const int32_t *rows;     /* where the value that an entry needs stands */
    const T *values, *pivots, *inverses, *B;
    T *X;                    /* NULL: Y is the result */
    T *Y;                    /* values as flags, by row number, row-major; starts at all bits set, like partial and
                                counters */
    T *partial;              /* sums of parts of long rows, likewise, nrhs a slot */
    const int32_t *lenders;  /* not NULL: Y's rows of these are the slots, */
    const uint8_t *lends;    /* and such a row's result goes to X alone */
    unsigned *counters;
    T alpha;
    bool conjugate;
};

/** What a warp needs of up to 32 entries of a task, and to finish the task: brought to shared memory ahead of its
 *  turn. */
constexpr int PART = 32;
template <typename T, int V> struct alignas(16) stage {
    T values[PART];
    T b[32 * V];
    T inverse;
    int32_t rows[PART];
};

/** A task and a tile of right-hand sides, as the description is in memory: nothing is computed from one that may
 *  still be on its way. */
struct assignment {
    int64_t first, end;
    unsigned number;
    int32_t row, position;
};

template <typename T> __device__ __forceinline__ unsigned task_of(const many_args<T> &a, unsigned number)
{
    return a.tiles == 1 ? number : number / a.tiles;
}
template <typename T> __device__ __forceinline__ assignment look_up(const many_args<T> &a, unsigned number)
{
    assignment t = {0, 0, number, 0, 0};
    if (number < a.total) {
        const row_task *const task = a.tasks + task_of(a, number);
        const row_task found = task[0];
        t.first = found.first, t.end = task[1].first, t.row = found.row, t.position = found.position;
    }
    return t;
}
/** Where the sum of a part of a long row stands. */
template <typename T> __device__ __forceinline__ T *sums_of(const many_args<T> &a, int32_t slot)
{
    return a.partial + (int64_t)(a.lenders ? a.lenders[slot] : slot) * a.nrhs;
}

/** A lane's part in the tasks of its warp: right-hand sides of tile column r, entries e, e + E, ... */
template <typename T, int R, int V> struct task_lane {
    static constexpr int E = 32 / R;
    const many_args<T> &a;
    const int lane, r, e;

    __device__ __forceinline__ unsigned column_of(const assignment &t) const
    {
        return (a.tiles == 1 ? 0 : t.number % a.tiles) * (R *V) + r * V;
    }

    /** Bring entries from `at` on of task t; with the first ones, what finishing takes. */
    __device__ __forceinline__ void prepare(stage<T, V> *to, const assignment &t, int at) const
    {
        if (t.number < a.total) {
            const unsigned j = column_of(t);
            if (t.first + at + lane < t.end) {
                copy_async(&to->rows[lane], a.rows + t.first + at + lane);
                copy_async(&to->values[lane], a.values + t.first + at + lane);
            }
            if (at == 0 && t.row >= 0) {
                if (e == 0 && j < a.nrhs) {
                    const T *const b = a.B + t.row * a.b_row + j * a.b_col;
                    if constexpr (V == 2 && !scalar<T>::is_complex)
                        copy_async((complex_of<T> *)&to->b[r * V], (const complex_of<T> *)b);
                    else
                        for (int i = 0; i < V; i++) copy_async(&to->b[r * V + i], b + i * a.b_col);
                }
                if (lane == 0 && a.inverses) copy_async(&to->inverse, a.inverses + (t.position & INT32_MAX));
            }
        }
        end_copies();
    }

    /** The sums of the parts before the last one of a long row, which stand side by side. */
    __device__ __forceinline__ void add_parts(pack<T, V> &sum, const assignment &now, unsigned j, bool active) const
    {
        const row_task before = a.tasks[task_of(a, now.number) - 1];
        for (int i = e; i <= before.position; i += E)
            if (active) {
                const T *const from = sums_of(a, ~before.row - i) + j;
                pack<T, V> x;
                do x = poll_pack<T, V>(from);
                while (is_missing(x));
#pragma unroll
                for (int u = 0; u < V; u++) sum.v[u] = sum.v[u] + x.v[u];
            }
    }

    /** The value of a row, or the sum of a part: published, unless nobody needs it (lends), and given to X. */
    __device__ __forceinline__ void finish(pack<T, V> &sum, const pack<T, V> &b, T inverse, const assignment &now,
                                           unsigned j, bool lends) const
    {
        const bool whole = now.row >= 0;
        T *to = a.Y + (int64_t)now.row * a.y_row + j;
        if (!whole) {
            to = sums_of(a, ~now.row) + j;
        } else if (!is_missing(inverse)) {
            const T factor = a.conjugate ? conjugate_of(inverse) : inverse;
#pragma unroll
            for (int i = 0; i < V; i++) sum.v[i] = (b.v[i] - sum.v[i]) * factor;
        } else { /* a reciprocal would lose digits */
            T pivot = a.pivots[now.position & INT32_MAX];
            if (a.conjugate) pivot = conjugate_of(pivot);
#pragma unroll
            for (int i = 0; i < V; i++) sum.v[i] = (b.v[i] - sum.v[i]) / pivot;
        }
#pragma unroll
        for (int i = 0; i < V; i++) sum.v[i] = missing_or(sum.v[i]);
        if (!lends) publish_pack(to, sum);
        if (whole && a.X) {
#pragma unroll
            for (int i = 0; i < V; i++) a.X[now.row * a.x_row + (j + i) * a.x_col] = sum.v[i];
        }
    }
};

/** E lanes share the entries of a task for each of R V right-hand sides, V of them in a lane (nrhs is a multiple of
 *  V). */
template <typename T, int R, int V> __global__ void __launch_bounds__(32 * MOST_WARPS, sizeof(T) * V <= 8 ? 4 : 3)
    solve_tasks(const many_args<T> a)
{
    constexpr int E = 32 / R, BATCH = 4;
    __shared__ stage<T, V> stages[MOST_WARPS][2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, r = lane % R, e = lane / R;
    unsigned *const counter = a.counters + warp * COUNTER_SPACING;
    const task_lane<T, R, V> my = {a, lane, r, e};
    auto draw = [&] { return lane == 0 ? atomicAdd(counter, 1u) + 1u : 0u; };
    auto numbered = [&](unsigned drawn) { return __shfl_sync(~0u, drawn, 0) * (blockDim.x / 32) + warp; };

    assignment now = look_up(a, numbered(draw())), ahead = look_up(a, numbered(draw()));
    unsigned number = numbered(draw());
    assignment third = look_up(a, number);
    unsigned drawn = draw();
    pack<T, V> sum = {}, b = {};
    T inverse = one_of<T>();
    bool lends = false;
    int at = 0;
    my.prepare(&stages[warp][0], now, 0);
    for (int parity = 0; now.number < a.total; parity ^= 1) {
        const stage<T, V> *const s = &stages[warp][parity];
        const int left = (int)(now.end - now.first) - at;
        const bool last = left <= PART;
        if (last) my.prepare(&stages[warp][parity ^ 1], ahead, 0);
        else my.prepare(&stages[warp][parity ^ 1], now, at + PART);
        wait_for_copies<1>();
        __syncwarp();
        const unsigned j = my.column_of(now);
        const bool active = j < a.nrhs, whole = now.row >= 0;
        if (at == 0 && whole) {
#pragma unroll
            for (int i = 0; i < V; i++) b.v[i] = a.alpha * s->b[r * V + i];
            if (a.inverses) inverse = s->inverse;
            lends = a.lends && a.lends[now.row];
        }
        if (at == 0 && now.position < 0) my.add_parts(sum, now, j, active);
        const int count = last ? left : PART;
        const T *const y = a.Y + j;
        /* This loop as a function would spill registers of complex double. */
        if (active)
            for (int k = e; k < count; k += BATCH * E) {
                pack<T, V> x[BATCH];
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (k + u * E < count) x[u] = poll_pack<T, V>(y + (int64_t)s->rows[k + u * E] * a.y_row);
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (k + u * E < count) { /* one after the other: all at once would be more traffic than the L2
                                                cache takes */
                        while (is_missing(x[u])) x[u] = poll_pack<T, V>(y + (int64_t)s->rows[k + u * E] * a.y_row);
                        const T v = a.conjugate ? conjugate_of(s->values[k + u * E]) : s->values[k + u * E];
#pragma unroll
                        for (int i = 0; i < V; i++) sum.v[i] = sum.v[i] + v * x[u].v[i];
                    }
            }
        if (!last) {
            at += PART;
            __syncwarp();
            continue;
        }
        __syncwarp();
#pragma unroll
        for (int o = 16; o >= R; o /= 2)
#pragma unroll
            for (int i = 0; i < V; i++) sum.v[i] = sum.v[i] + shuffle_xor(sum.v[i], o);
        if (active && e == 0) my.finish(sum, b, inverse, now, j, lends);
        now = ahead, ahead = third;
        number = numbered(drawn);
        drawn = draw();
        third = look_up(a, number);
        at = 0;
        sum = {}, lends = false;
    }
    wait_for_copies();
}

/** Reciprocals of the pivots; the mark of a missing value where one would not keep all digits. */
template <typename T> __global__ void invert(int64_t n, const T *pivots, T *inverses)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) {
        const divisor<T> pivot(pivots[p]);
        inverses[p] = pivot.invertible ? pivot.inverse : missing_value<T>();
    }
}

/* ------------------------------------------------------------------- solve */

template <int R, int V, typename T> void launch(const task_list *list, many_args<T> &a, gpuStream_t stream)
{
    a.tiles = (unsigned)((a.nrhs + R *V - 1) / (R *V));
    a.total = (unsigned)list->count * a.tiles;
    solve_tasks<T, R, V><<<list->blocks, 32 * list->warps, 0, stream>>>(a);
}

/** out(i, j) := in(i, j), between row- and column-major: tiles of 32 x 32 go through shared memory. */
template <typename T>
__global__ void __launch_bounds__(256) change_layout(int64_t n, int64_t nrhs, const T *in, int64_t in_row,
                                                     int64_t in_col, T *out, int64_t out_row, int64_t out_col)
{
    __shared__ T tile[32][33];
    const int64_t i0 = blockIdx.x * (int64_t)32;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int64_t j0 = blockIdx.y * (int64_t)32; j0 < nrhs; j0 += gridDim.y * (int64_t)32) {
        for (int u = y; u < 32; u += 8) {
            const int64_t i = i0 + (in_col == 1 ? u : x), j = j0 + (in_col == 1 ? x : u);
            if (i < n && j < nrhs) tile[u][x] = in[i * in_row + j * in_col];
        }
        __syncthreads();
        for (int u = y; u < 32; u += 8) {
            const int64_t i = i0 + (out_col == 1 ? u : x), j = j0 + (out_col == 1 ? x : u);
            if (i < n && j < nrhs) out[i * out_row + j * out_col] = tile[x][u];
        }
        __syncthreads();
    }
}

template <typename T> __global__ void mark_missing(int64_t n, int64_t nrhs, int64_t row, T *X)
{
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < n * nrhs; k += (int64_t)gridDim.x * blockDim.x)
        X[k / nrhs * row + k % nrhs] = missing_value<T>();
}

template <typename T> bool is_aligned(const T *p, int64_t row, int values)
{
    return (uintptr_t)p % (values * sizeof(T)) == 0 && row % values == 0;
}

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s,
                                              const device_triangle *d, const task_list *list)
{
    trine_status status = TRINE_SUCCESS;
    gpuStream_t stream = (gpuStream_t)s->stream;
    const int64_t n = plan->base.n, nrhs = s->nrhs;
    char *const buffer = (char *)s->work->base.buffer;
    const size_t slot_bytes = (size_t)list->slots * nrhs * sizeof(T), vector_bytes = (size_t)n * nrhs * sizeof(T);
    size_t fill_bytes = STATE_BYTES;
    T *const room = (T *)(buffer + STATE_BYTES);
    const dim3 tiles((unsigned)((n + 31) / 32), (unsigned)(nrhs < 65535 * 32 ? (nrhs + 31) / 32 : 65535));
    many_args<T> a = {};
    a.nrhs = nrhs, a.tasks = list->tasks, a.rows = list->rows;
    a.values = (const T *)d->values, a.pivots = (const T *)d->pivots, a.inverses = (const T *)list->inverses;
    a.B = (const T *)s->B, a.b_row = s->b_row, a.b_col = s->b_col;
    a.counters = (unsigned *)buffer;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    const bool by_column = s->x_col != 1 && s->x_row == 1 && s->x_col == n && s->b_row == 1;
    if (by_column) { /* the buffer is X by rows, in place; X's own memory holds the flags */
        change_layout<T><<<tiles, 256, 0, stream>>>(n, nrhs, a.B, s->b_row, s->b_col, room, nrhs, 1);
        a.B = room, a.b_row = nrhs, a.b_col = 1;
        a.X = room, a.x_row = nrhs, a.x_col = 1;
        a.Y = (T *)s->X, a.y_row = (unsigned)nrhs;
        TRY(trine_device_fill_async(plan->base.ctx, s->X, 0xFF, vector_bytes, stream));
    } else if (x_holds_flags(s)) {
        a.Y = (T *)s->X, a.y_row = (unsigned)s->x_row;
        a.partial = room;
        fill_bytes += slot_bytes;
        if (s->x_row == nrhs) TRY(trine_device_fill_async(plan->base.ctx, s->X, 0xFF, vector_bytes, stream));
        else mark_missing<T><<<device_blocks_for(plan, n * nrhs), 256, 0, stream>>>(n, nrhs, s->x_row, (T *)s->X);
    } else {
        a.X = (T *)s->X, a.x_row = s->x_row, a.x_col = s->x_col;
        a.Y = room, a.y_row = (unsigned)nrhs;
        fill_bytes += vector_bytes;
    }
    if (!a.partial && list->slots) a.partial = a.Y, a.lenders = list->lenders, a.lends = list->lends;
    TRY(trine_device_fill_async(plan->base.ctx, buffer, 0xFF, fill_bytes, stream));
    {
        constexpr int PAIR = sizeof(T) <= 8 ? 2 : 1; /* neighbours in a row that one load brings */
        const bool pairs = nrhs % 2 == 0 && a.b_col == 1 && is_aligned(a.B, a.b_row, PAIR) &&
                           is_aligned(a.Y, a.y_row, PAIR) && is_aligned(a.partial, nrhs, PAIR);
        if (nrhs > 32) pairs ? launch<32, PAIR>(list, a, stream) : launch<32, 1>(list, a, stream);
        else if (nrhs > 16) launch<32, 1>(list, a, stream);
        else if (nrhs > 8) launch<16, 1>(list, a, stream);
        else if (nrhs > 4) launch<8, 1>(list, a, stream);
        else launch<4, 1>(list, a, stream);
    }
    TRY(GPU_LAUNCHED("the synchronization-free solve"));
    if (by_column) change_layout<T><<<tiles, 256, 0, stream>>>(n, nrhs, room, nrhs, 1, (T *)s->X, 1, n);
    TRY(GPU_LAUNCHED("the change of layout"));
done:
    return status;
}

} // namespace

trine_status syncfree_csr_invert_pivots(trine_triangular plan, const device_triangle *d, const task_list *list,
                                        void *stream)
{
    const gpuStream_t on = (gpuStream_t)stream;
    const int blocks = device_blocks_for(plan, plan->base.n);
    if (!list->inverses) return TRINE_SUCCESS;
    switch (plan->base.dtype) {
    case TRINE_S:
        invert<<<blocks, 256, 0, on>>>(plan->base.n, (const float *)d->pivots, (float *)list->inverses);
        break;
    case TRINE_D:
        invert<<<blocks, 256, 0, on>>>(plan->base.n, (const double *)d->pivots, (double *)list->inverses);
        break;
    case TRINE_C:
        invert<<<blocks, 256, 0, on>>>(plan->base.n, (const complex_of<float> *)d->pivots,
                                       (complex_of<float> *)list->inverses);
        break;
    case TRINE_Z:
        invert<<<blocks, 256, 0, on>>>(plan->base.n, (const complex_of<double> *)d->pivots,
                                       (complex_of<double> *)list->inverses);
        break;
    }
    return GPU_LAUNCHED("the reciprocals of the pivots");
}

trine_status syncfree_csr_solve_many(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                                     const task_list *list)
{
    static trine_status (*const run[])(trine_triangular, const struct triangular_solve *, const device_triangle *,
                                       const task_list *) = {
        nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    /* Tasks are numbered with 32 bits. */
    const int64_t tiles = list->count ? INT32_MAX / list->count : 1, most = (tiles < 1         ? 1
                                                                             : tiles > 1 << 20 ? 1 << 20
                                                                                               : tiles) *
                                                                            32;
    const size_t size = trine_dtype_size(plan->base.dtype);
    trine_status status = TRINE_SUCCESS;
    for (int64_t j = 0; j < s->nrhs && !status; j += most) {
        struct triangular_solve slice = *s;
        slice.nrhs = s->nrhs - j < most ? s->nrhs - j : most;
        slice.B = (const char *)s->B + j * s->b_col * (int64_t)size;
        slice.X = (char *)s->X + j * s->x_col * (int64_t)size;
        status = run[plan->base.dtype](plan, &slice, d, list);
    }
    return status;
}
