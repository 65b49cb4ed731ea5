/* Kernels of partitioned inverses: the values of the inverses, and the solve. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH

#include "core/gpu_scalar.cuh"

/** A row as a solve reads it: entries first .. first + all - 1 of the inverse, those of x first; or ~first and so on
 *  of T, where the row is solved by substitution. */
struct alignas(16) solved_row {
    int64_t first;
    int32_t of_x, all;
};

/** `count` rows from position `first` on, for one warp: `lanes` lanes each. */
struct alignas(8) row_task {
    int32_t first;
    int16_t count, lanes;
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

/* ----------------------------------------------------------------- numeric */

/** Where column c is among the ascending columns first .. end - 1. */
__device__ inline int64_t place_of(const int32_t *columns, int64_t first, int64_t end, int32_t c)
{
    while (first < end) {
        const int64_t half = (first + end) / 2;
        if (columns[half] < c) first = half + 1;
        else end = half;
    }
    return first;
}

template <typename T> __device__ double absolute(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot((double)a.x, (double)a.y);
    else return fabs((double)a);
}
__device__ inline double sum_over_warp(double a)
{
    for (int o = 16; o > 0; o /= 2) a += __shfl_xor_sync(~0u, a, o);
    return a;
}

/** Row p by `threads` threads: e_p minus T's entries in the group times their inverses' rows, and minus T's entries
 *  elsewhere, over the pivot. A thread has entries of the row, and looks for their columns in the rows needed. */
template <typename T> __device__ void invert_row(const partitioned_arrays<T> &a, int64_t p, int thread, int threads)
{
    const int64_t first = a.offsets[p], end = a.offsets[p + 1], own = a.own_offsets[p], own_end = a.own_offsets[p + 1];
    const int32_t start = a.columns[a.middle[p]]; /* no column of T is between the group's first position and this */
    const T inverse = a.pivots ? one_of<T>() / a.pivots[p] : one_of<T>();
    if (a.middle[p] == end - 1) { /* it needs no row of its group: T's own entries, which may be many */
        for (int64_t k = own + thread; k < own_end; k += threads)
            a.values[place_of(a.columns, first, end, a.own_columns[k])] = T{} - a.own_values[k] * inverse;
        if (thread == 0) a.values[end - 1] = inverse;
        return;
    }
    for (int64_t i = first + thread; i < end; i += threads) {
        const int32_t column = a.columns[i];
        T sum = i == end - 1 ? one_of<T>() : T{};
        for (int64_t k = own; k < own_end; k++) {
            const int32_t c = a.own_columns[k];
            if (c < start ? c != column : c < column) continue;
            T value = one_of<T>();
            if (c >= start) {
                const int64_t last = a.offsets[c + 1], at = place_of(a.columns, a.offsets[c], last, column);
                if (at == last || a.columns[at] != column) continue;
                value = a.values[at];
            }
            sum = sum - a.own_values[k] * value;
        }
        a.values[i] = sum * inverse;
    }
}

/** The growth of row p (PARTITION_MOST_GROWTH), with a whole warp. */
template <typename T> __device__ double measure_row(const partitioned_arrays<T> &a, int64_t p, int lane)
{
    using R = real_of<T>;
    constexpr double EPS = sizeof(R) == 4 ? FLT_EPSILON : DBL_EPSILON, LEAST = sizeof(R) == 4 ? FLT_MIN : DBL_MIN,
                     MOST = sizeof(R) == 4 ? FLT_MAX : DBL_MAX;
    const int32_t start = a.columns[a.middle[p]];
    const double of_pivot = a.pivots ? absolute(a.pivots[p]) : 1;
    double size = 0, inverse = 0, growth = 0;
    for (int64_t k = a.own_offsets[p] + lane; k < a.own_offsets[p + 1]; k += 32) {
        const int32_t c = a.own_columns[k];
        const double factor = absolute(a.own_values[k]);
        size += factor;
        if (c >= start) growth += factor * a.inverses[c];
    }
    size = sum_over_warp(size) + of_pivot;
    if (lane == 0) a.sizes[p] = size;
    __syncwarp();
    for (int64_t i = a.offsets[p] + lane; i < a.offsets[p + 1]; i += 32)
        inverse += absolute(a.values[i]) * (i < a.middle[p] ? 1 : a.sizes[a.columns[i]]);
    inverse = sum_over_warp(inverse);
    /* where the reciprocal, or an eps-th part of it, has lost digits */
    if (!(of_pivot > 1 / (MOST * EPS) && of_pivot < EPS / LEAST)) inverse = INFINITY;
    if (lane == 0) a.inverses[p] = inverse;
    return (sum_over_warp(growth) + of_pivot * inverse) / size;
}

/** Rows of one rank, which need rows of lower ranks of their group: a block each where there are few, or a warp. */
template <typename T, bool BLOCK> __global__ void __launch_bounds__(256)
    invert_rows(const partitioned_arrays<T> a, const int32_t *rows, int64_t count, double most, growth_report *report)
{
    const int lane = threadIdx.x % 32, of_block = BLOCK ? 1 : blockDim.x / 32;
    const int64_t step = (int64_t)gridDim.x * of_block;
    for (int64_t q = blockIdx.x * (int64_t)of_block + (BLOCK ? 0 : threadIdx.x / 32); q < count; q += step) {
        const int64_t p = rows[q];
        invert_row(a, p, BLOCK ? (int)threadIdx.x : lane, BLOCK ? (int)blockDim.x : 32);
        if constexpr (BLOCK) __syncthreads();
        else __syncwarp();
        if (BLOCK && threadIdx.x >= 32) continue;
        const double growth = measure_row(a, p, lane);
        if (lane == 0) {
            const bool substituted = !(growth <= most);
            a.rows[p] = substituted ? solved_row{~a.own_offsets[p], (int32_t)(a.own_offsets[p + 1] - a.own_offsets[p]),
                                                 (int32_t)(a.own_offsets[p + 1] - a.own_offsets[p])}
                                    : solved_row{a.offsets[p], (int32_t)(a.middle[p] - a.offsets[p]),
                                                 (int32_t)(a.offsets[p + 1] - a.offsets[p])};
            if (substituted) atomicAdd(&report->substituted, 1ull);
            const unsigned long long bits = __double_as_longlong(growth == growth ? growth : INFINITY);
            if (bits > report->most) atomicMax(&report->most, bits);
        }
    }
}

/* ------------------------------------------------------------------- solve */

template <typename T> struct partitioned_args {
    partitioned_arrays<T> d;
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const T *B;
    T *X;
    T *b, *x;                /* by position, n x nrhs: alpha B, and the solution, whose values are flags */
    const T *before;         /* n x nrhs: what the solution corrects; NULL: nothing */
    unsigned *ticket;        /* starts at all bits set, like x */
    const row_task *tasks;   /* of one right-hand side */
    int64_t n_tasks;
    T alpha;
    bool conjugate, sparing;
};

/** Right-hand sides in the order of positions, and no value of x there yet. */
template <typename T> __global__ void __launch_bounds__(256) take_right_hand_sides(const partitioned_args<T> a)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *a.ticket = ~0u;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < a.d.n * a.nrhs;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t p = a.nrhs == 1 ? i : i / a.nrhs, j = i - p * a.nrhs;
        a.b[i] = a.alpha * a.B[a.d.order[p] * a.b_row + j * a.b_col];
        a.x[i] = missing_value<T>();
    }
}

/** to.b := the residuals of the solution that `from` has found, as right-hand sides of a correction. */
template <typename T>
__global__ void __launch_bounds__(256) take_residuals(const partitioned_args<T> from, const partitioned_args<T> to)
{
    const partitioned_arrays<T> &d = from.d;
    if (blockIdx.x == 0 && threadIdx.x == 0) *to.ticket = ~0u;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < d.n * from.nrhs;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t p = from.nrhs == 1 ? i : i / from.nrhs, j = i - p * from.nrhs;
        T sum = d.pivots ? (from.conjugate ? conjugate_of(d.pivots[p]) : d.pivots[p]) * from.x[i] : from.x[i];
        for (int64_t k = d.own_offsets[p]; k < d.own_offsets[p + 1]; k++) {
            const T factor = from.conjugate ? conjugate_of(d.own_values[k]) : d.own_values[k];
            sum = sum + factor * from.x[d.own_columns[k] * from.nrhs + j];
        }
        to.b[i] = from.b[i] - sum;
        to.x[i] = missing_value<T>();
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
        row_task t = {0, 0, 32};
        if (number < total) t = R == 1 ? a.tasks[number] : row_task{(int32_t)(number / tiles), 1, 32};
        return t;
    };
    auto look_up = [&](unsigned number, const row_task &task) {
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
    row_task ahead = task_of(second);
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
