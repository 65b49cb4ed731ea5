/* Kernels of partitioned inverses: the values of the inverses, and the solve. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_CUH

#include "core/gpu_scalar.cuh"

/** A triangle by level and the inverses of its groups (common/partition.h), in device memory. */
template <typename T> struct partitioned_arrays {
    int64_t n;
    const int64_t *own_offsets;          /* T's own rows, */
    const int32_t *own_columns, *order;
    const T *own_values, *pivots;        /* pivots NULL: all are 1 */
    const int64_t *offsets, *middle;     /* and those of the inverses */
    const int32_t *columns;
    T *values;                           /* those of x are negative already */
    uint8_t *substituted;
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

/** A warp has row p: e_p minus T's entries in the group times their inverses' rows, and minus T's entries elsewhere,
 *  over the pivot. */
template <typename T> __device__ void invert_row(const partitioned_arrays<T> &a, int64_t p, int lane)
{
    const int64_t first = a.offsets[p], end = a.offsets[p + 1], own = a.own_offsets[p], own_end = a.own_offsets[p + 1];
    const int32_t start = a.columns[a.middle[p]]; /* no column of T is between the group's first position and this */
    for (int64_t i = first + lane; i < end; i += 32) a.values[i] = i == end - 1 ? one_of<T>() : T{};
    __syncwarp();
    for (int64_t k = own + lane; k < own_end; k += 32) {
        const int32_t c = a.own_columns[k];
        if (c < start) a.values[place_of(a.columns, first, end, c)] = T{} - a.own_values[k];
    }
    __syncwarp();
    for (int64_t k = own; k < own_end; k++) {
        const int32_t c = a.own_columns[k];
        if (c < start) continue;
        const T factor = a.own_values[k];
        for (int64_t i = a.offsets[c] + lane; i < a.offsets[c + 1]; i += 32) {
            const int64_t to = place_of(a.columns, first, end, a.columns[i]);
            a.values[to] = a.values[to] - factor * a.values[i];
        }
        __syncwarp();
    }
    const T inverse = a.pivots ? one_of<T>() / a.pivots[p] : one_of<T>();
    for (int64_t i = first + lane; i < end; i += 32) a.values[i] = a.values[i] * inverse;
    __syncwarp();
}

/** The growth of row p (PARTITION_MOST_GROWTH), with the whole warp. */
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

/** Rows of one rank, which need rows of lower ranks of their group; a warp each. */
template <typename T> __global__ void __launch_bounds__(256)
    invert_rows(const partitioned_arrays<T> a, const int32_t *rows, int64_t count, double most, growth_report *report)
{
    const int lane = threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * (blockDim.x / 32);
    for (int64_t q = blockIdx.x * (int64_t)(blockDim.x / 32) + threadIdx.x / 32; q < count; q += warps) {
        const int64_t p = rows[q];
        invert_row(a, p, lane);
        const double growth = measure_row(a, p, lane);
        if (lane == 0) {
            const bool substituted = !(growth <= most);
            a.substituted[p] = substituted;
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
    unsigned *ticket;        /* starts at all bits set, like x */
    T alpha;
    bool conjugate;
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

constexpr int ENTRIES_AT_ONCE = 4; /* of a lane */

/** Entries of a lane in flight. */
template <typename T> struct entry_batch {
    T value[ENTRIES_AT_ONCE];
    int32_t column[ENTRIES_AT_ONCE];
    /** Entries k, k + step, ... below end. */
    __device__ inline void load(const int32_t *columns, const T *values, int64_t k, int64_t end, int step)
    {
#pragma unroll
        for (int u = 0; u < ENTRIES_AT_ONCE; u++)
            if (k + u * step < end) column[u] = columns[k + u * step], value[u] = values[k + u * step];
    }
};

/** E lanes share a row of entries for each of R right-hand sides. Warps take rows in the order of positions by
 *  tickets, so that the first row that is not finished always belongs to a running warp. Right-hand sides are summed
 *  without waiting, then solution values of earlier groups, oldest first. A row that is substituted waits for values
 *  of its own group. Where a warp has several rows they may depend on each other, so that its lanes step together;
 *  sums run in a fixed order. While a batch of values is waited for, the entries of the next one are on their way. */
template <typename T, int R, int E> __global__ void __launch_bounds__(256) solve_groups(const partitioned_args<T> a)
{
    constexpr int LANES = R * E, ROWS = 32 / LANES;
    constexpr unsigned ROW_MASK = LANES == 32 ? ~0u : (1u << LANES % 32) - 1;
    const int lane = threadIdx.x % 32, r = lane % R, e = lane % LANES / R, in_warp = lane / LANES;
    const unsigned tiles = (unsigned)((a.nrhs + R - 1) / R);
    const int64_t total = (a.d.n + ROWS - 1) / ROWS * tiles;
    auto draw = [&] { return lane == 0 ? atomicAdd(a.ticket, 1u) + 1u : 0u; };
    for (unsigned number = __shfl_sync(~0u, draw(), 0), drawn; number < total;
         number = __shfl_sync(~0u, drawn, 0)) {
        drawn = draw();
        const int64_t p = (int64_t)(number / tiles) * ROWS + in_warp, j = (int64_t)(number % tiles) * R + r;
        const bool active = p < a.d.n && j < a.nrhs, substituted = active && a.d.substituted[p];
        const int32_t *const columns = substituted ? a.d.own_columns : a.d.columns;
        const T *const values = substituted ? a.d.own_values : a.d.values;
        int64_t k = 0, middle = 0, end = 0; /* entries of x are before `middle` */
        if (active) {
            k = (substituted ? a.d.own_offsets[p] : a.d.offsets[p]) + e;
            end = substituted ? a.d.own_offsets[p + 1] : a.d.offsets[p + 1];
            middle = substituted ? end : a.d.middle[p];
        }
        entry_batch<T> now, next;
        next.load(columns, values, k, middle, E);
        T sum{};
        for (int64_t i = middle + e; i < end; i += ENTRIES_AT_ONCE * E) {
            T y[ENTRIES_AT_ONCE];
            now.load(columns, values, i, end, E);
#pragma unroll
            for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                if (i + u * E < end) y[u] = a.b[now.column[u] * a.nrhs + j];
#pragma unroll
            for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                if (i + u * E < end) sum = sum + (a.conjugate ? conjugate_of(now.value[u]) : now.value[u]) * y[u];
        }
        unsigned missing = 0, batch = 0;
        T y[ENTRIES_AT_ONCE];
        bool written = !active;
        while (!__all_sync(~0u, written)) {
            if (!missing && k < middle) {
                now = next;
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if (k + u * E < middle) missing |= 1u << u;
                batch = missing;
                k += ENTRIES_AT_ONCE * E;
                next.load(columns, values, k, middle, E);
            }
            if (missing) {
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if (missing >> u & 1) y[u] = poll(&a.x[now.column[u] * a.nrhs + j]);
#pragma unroll
                for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                    if ((missing >> u & 1) && !is_missing(y[u])) missing &= ~(1u << u);
                if (!missing)
#pragma unroll
                    for (int u = 0; u < ENTRIES_AT_ONCE; u++)
                        if (batch >> u & 1)
                            sum = sum + (a.conjugate ? conjugate_of(now.value[u]) : now.value[u]) * y[u];
            }
            const unsigned done = __ballot_sync(~0u, !missing && k >= middle);
            const bool complete = !written && (done >> in_warp * LANES & ROW_MASK) == ROW_MASK;
            if (!__any_sync(~0u, complete)) continue;
            T whole = sum;
#pragma unroll
            for (int o = LANES / 2; o >= R; o /= 2) whole = whole + shuffle_xor(whole, o);
            if (complete) {
                if (e == 0) {
                    if (substituted) {
                        const T pivot = a.d.pivots ? a.d.pivots[p] : one_of<T>();
                        whole = (a.b[p * a.nrhs + j] - whole) / (a.conjugate ? conjugate_of(pivot) : pivot);
                    }
                    whole = missing_or(whole);
                    publish(&a.x[p * a.nrhs + j], whole);
                    a.X[a.d.order[p] * a.x_row + j * a.x_col] = whole;
                }
                written = true;
            }
        }
    }
}

#endif
