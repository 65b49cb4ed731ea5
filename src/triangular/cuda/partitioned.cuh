/* Partitioned inverses in device memory, and the kernel of the solve. Values are made in invert_groups.cuh. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH

#include "core/gpu_scalar.cuh"

/** A row as a solve reads it: entries first .. first + all - 1 of the inverse, those of x first; or ~first and so on
 *  of T, where the row is solved by substitution. */
struct alignas(16) solved_row {
    int64_t first;
    int32_t of_x, all;
};

/** `count` rows from position `first` on, for one warp: `lanes` lanes each. gate: a position in the middle of the group
 *  before theirs, for which they wait first; -1: there is none. */
struct alignas(16) warp_task {
    int32_t first;
    int16_t count, lanes;
    int32_t gate;
};

/** A triangle by level and the inverses of its groups (common/partition.h), in device memory. */
template <typename T> struct partitioned_arrays {
    int64_t n;
    const int64_t *own_offsets;          /* T's own rows, */
    const int32_t *own_columns, *order;
    const T *own_values, *pivots;        /* pivots NULL: all are 1 */
    const int64_t *offsets, *middle;     /* and those of the inverses */
    const int32_t *columns;
    T *values;                           /* those of x are negative already */
    solved_row *rows;                    /* which of the two */
    double *sizes, *inverses;            /* of numeric: (|T| 1), growth of the inverse's row */
};

/** What numeric has found. Starts at zero. */
struct growth_report {
    unsigned long long most;             /* bits of the largest growth; NaN counts as infinite */
    unsigned long long substituted;
};

/* ------------------------------------------------------------------- solve */

/** How the solution is kept by position. Eight single precision values of one right-hand side would share a sector,
 *  which is asked for as long as one of them is missing: each has a word of 8 bytes, the second half of which says that
 *  it is there. */
template <typename T, int N> struct kept {
    using type = T;
    __device__ static inline type of(T a) { return missing_or(a); }
    __device__ static inline T value(type a) { return a; }
};
template <> struct kept<float, 1> {
    using type = complex_of<float>;
    __device__ static inline type of(float a) { return {a, 0}; }
    __device__ static inline float value(type a) { return a.x; }
};

template <typename T> struct partitioned_args {
    partitioned_arrays<T> d;
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const T *B;
    T *X;
    T *b, *x;                /* by position, n x nrhs: alpha B, and the solution, whose values are flags */
    const T *before;         /* n x nrhs: what the solution corrects; NULL: nothing */
    unsigned *ticket;        /* starts at all bits set, like x */
    const warp_task *tasks;   /* of one right-hand side */
    int64_t n_tasks;
    T alpha;
    bool conjugate, sparing;
};

/** Right-hand sides in the order of positions, and no value of x there yet, which is kept as of N right-hand sides. */
template <typename T, int N> __global__ void __launch_bounds__(256) take_right_hand_sides(const partitioned_args<T> a)
{
    using X = typename kept<T, N>::type;
    if (blockIdx.x == 0 && threadIdx.x == 0) *a.ticket = ~0u;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < a.d.n * a.nrhs;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t p = a.nrhs == 1 ? i : i / a.nrhs, j = i - p * a.nrhs;
        a.b[i] = a.alpha * a.B[a.d.order[p] * a.b_row + j * a.b_col];
        ((X *)a.x)[i] = missing_value<X>();
    }
}

/** to.b := the residuals of the solution that `from` has found, as right-hand sides of a correction. */
template <typename T, int N>
__global__ void __launch_bounds__(256) take_residuals(const partitioned_args<T> from, const partitioned_args<T> to)
{
    using X = typename kept<T, N>::type;
    const partitioned_arrays<T> &d = from.d;
    auto solution = [&](int64_t at) { return kept<T, N>::value(((const X *)from.x)[at]); };
    if (blockIdx.x == 0 && threadIdx.x == 0) *to.ticket = ~0u;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < d.n * from.nrhs;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t p = from.nrhs == 1 ? i : i / from.nrhs, j = i - p * from.nrhs;
        T sum = solution(i);
        if (d.pivots) sum = (from.conjugate ? conjugate_of(d.pivots[p]) : d.pivots[p]) * sum;
        for (int64_t k = d.own_offsets[p]; k < d.own_offsets[p + 1]; k++) {
            const T factor = from.conjugate ? conjugate_of(d.own_values[k]) : d.own_values[k];
            sum = sum + factor * solution(d.own_columns[k] * from.nrhs + j);
        }
        to.b[i] = from.b[i] - sum;
        ((X *)to.x)[i] = missing_value<X>();
    }
}

constexpr int ENTRIES_AT_ONCE = 4; /* of a lane */

/** Entries of a lane in flight. */
template <typename T> struct entry_batch {
    T value[ENTRIES_AT_ONCE];
    int32_t column[ENTRIES_AT_ONCE];
    /** Entries k, k + step, ... below end. */
    __device__ inline void load(const int32_t *columns, const T *values, int k, int end, int step)
    {
#pragma unroll
        for (int u = 0; u < ENTRIES_AT_ONCE; u++)
            if (k + u * step < end) column[u] = columns[k + u * step], value[u] = values[k + u * step];
    }
};

/** What a lane has of a task: row p, if that is not negative, for right-hand side j. */
struct lane_task {
    solved_row row;
    int32_t p, j, lanes;                 /* that share the row */
};

/** One right-hand side (R = 1): a warp takes a task, rows of which have as many lanes as the task says; several: a
 *  row, with R lanes for right-hand sides. Tasks go to warps in the order of positions by tickets, so that the first
 *  row that is not finished always belongs to a running warp. Tickets are drawn three tasks ahead, and what a task
 *  is has been read when it begins.
 *  Right-hand sides are summed without waiting, then solution values of earlier groups, oldest first. A row that is
 *  substituted waits for values of its own group. Where a warp has several rows they may depend on each other, so
 *  that its lanes step together; sums run in a fixed order. While a batch of values is waited for, the entries of the
 *  next one are on their way, and one lane of the row alone asks for the newest value that is missing. */
template <typename T, int R> __global__ void __launch_bounds__(256) solve_groups(const partitioned_args<T> a)
{
    const int lane = threadIdx.x % 32, r = lane % R;
    const unsigned tiles = R == 1 ? 1 : (unsigned)((a.nrhs + R - 1) / R);
    const int64_t total = R == 1 ? a.n_tasks : a.d.n * tiles;
    auto draw = [&] { return lane == 0 ? atomicAdd(a.ticket, 1u) + 1u : 0u; };
    auto number_of = [&](unsigned drawn) { return __shfl_sync(~0u, drawn, 0); };
    auto task_of = [&](unsigned number) {
        warp_task t = {0, 0, 32, -1};
        if (number < total) t = R == 1 ? a.tasks[number] : warp_task{(int32_t)(number / tiles), 1, 32, -1};
        return t;
    };
    auto look_up = [&](unsigned number, const warp_task &task) {
        const int32_t lanes = task.lanes, in_warp = lane / lanes;
        lane_task t = {{0, 0, 0}, -1, (int32_t)(number % tiles) * R + r, lanes};
        if (in_warp < task.count && t.j < a.nrhs) {
            t.p = task.first + in_warp;
            t.row = a.d.rows[t.p];
        }
        return t;
    };
    unsigned first = number_of(draw()), second = number_of(draw()), third = number_of(draw());
    lane_task now = look_up(first, task_of(first));
    warp_task ahead = task_of(second);
    while (first < total) {
        const unsigned drawn = draw();
        const lane_task next = look_up(second, ahead);
        ahead = task_of(third);

        const int lanes = now.lanes, E = lanes / R, base = lane / lanes * lanes;
        const unsigned row_mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
        const bool substituted = now.row.first < 0;
        const int32_t *const columns = substituted ? a.d.own_columns + ~now.row.first : a.d.columns + now.row.first;
        const T *const values = substituted ? a.d.own_values + ~now.row.first : a.d.values + now.row.first;
        const int middle = now.row.of_x;
        int k = lane % lanes / R;
        entry_batch<T> batch, later;
        later.load(columns, values, k, middle, E);
        T sum{};
        for (int i = middle + lane % lanes / R; i < now.row.all; i += ENTRIES_AT_ONCE * E) {
            T y[ENTRIES_AT_ONCE];
            batch.load(columns, values, i, now.row.all, E);
#pragma unroll
            for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                if (i + u * E < now.row.all) y[u] = a.b[batch.column[u] * a.nrhs + now.j];
#pragma unroll
            for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                if (i + u * E < now.row.all)
                    sum = sum + (a.conjugate ? conjugate_of(batch.value[u]) : batch.value[u]) * y[u];
        }
        unsigned missing = 0, wanted = 0;
        T y[ENTRIES_AT_ONCE];
        bool written = now.p < 0, eager = true;
        while (!__all_sync(~0u, written)) {
            if (!missing && k < middle) {
                batch = later;
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if (k + u * E < middle) missing |= 1u << u;
                wanted = missing;
                k += ENTRIES_AT_ONCE * E;
                later.load(columns, values, k, middle, E);
                eager = true;
            }
            const unsigned waiting = __ballot_sync(~0u, missing != 0) >> base & row_mask;
            const bool asks = missing && (eager || !a.sparing || lane - base == 31 - __clz(waiting));
            bool found = false;
            if (asks) {
                const unsigned which = eager || !a.sparing ? missing : 1u << (31 - __clz(missing));
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if (which >> u & 1) y[u] = poll(&a.x[batch.column[u] * a.nrhs + now.j]);
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if ((which >> u & 1) && !is_missing(y[u])) missing &= ~(1u << u), found = true;
                if (!missing)
#pragma unroll
                    for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                        if (wanted >> u & 1)
                            sum = sum + (a.conjugate ? conjugate_of(batch.value[u]) : batch.value[u]) * y[u];
            }
            eager = (__ballot_sync(~0u, found) >> base & row_mask) != 0;
            const unsigned done = __ballot_sync(~0u, !missing && k >= middle);
            const bool complete = !written && (done >> base & row_mask) == row_mask;
            if (!__any_sync(~0u, complete)) continue;
            T whole = sum;
#pragma unroll
            for (int o = 16; o >= R; o /= 2) {
                const T other = shuffle_xor(whole, o);
                if (o < lanes) whole = whole + other;
            }
            if (complete) {
                if (lane - base < R) {
                    if (substituted) {
                        const T pivot = a.d.pivots ? a.d.pivots[now.p] : one_of<T>();
                        whole = (a.b[(int64_t)now.p * a.nrhs + now.j] - whole) /
                                (a.conjugate ? conjugate_of(pivot) : pivot);
                    }
                    whole = missing_or(whole);
                    publish(&a.x[(int64_t)now.p * a.nrhs + now.j], whole);
                    if (a.before) whole = a.before[(int64_t)now.p * a.nrhs + now.j] + whole;
                    a.X[a.d.order[now.p] * a.x_row + now.j * a.x_col] = whole;
                }
                written = true;
            }
        }
        now = next;
        first = second, second = third, third = number_of(drawn);
    }
}

#endif
