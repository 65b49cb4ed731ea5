/* Kernels for the values of partitioned inverses. Rows wait for the values of their group that they need, which are
 * their own flags, in one launch: tasks are taken in the order of levels within groups, so that all groups are inverted
 * side by side. */
#ifndef TRINE_TRIANGULAR_CUDA_INVERT_GROUPS_CUH
#define TRINE_TRIANGULAR_CUDA_INVERT_GROUPS_CUH

#include "triangular/cuda/partitioned.cuh"

constexpr int INVERT_THREADS = 256, INVERT_WARPS = INVERT_THREADS / 32;
/** Entries that a block makes at a time: a part of a row. Every warp may have a sum of its own for each. */
template <typename T> constexpr int PART_OF_ROW = 4096 / (int)sizeof(T);

/** Part `part` of the row of index `first`, for a block; or -part rows from there on, for a warp each. */
struct alignas(8) invert_task { int32_t first, part; };

template <typename T> struct invert_args {
    partitioned_arrays<T> d;
    const int32_t *sorted;               /* rows by level within their group */
    const invert_task *tasks;
    int64_t n_tasks;
    unsigned *ticket;                    /* starts at zero, and the inverses' values with all bits set */
    int32_t widest;                      /* parts that are wider have hash tables: MOST_WIDTH, or less */
};
constexpr int32_t MOST_WIDTH = INT32_MAX;

/** Parts of a row of so many entries. */
__host__ __device__ constexpr int64_t parts_of_row(int64_t entries, int64_t part)
{
    return (entries + part - 1) / part;
}

/** Rows of one warp have no part of it. heavy: the work that makes a row one for blocks. */
__host__ __device__ constexpr bool is_for_block(int64_t own, int64_t entries, int64_t part, int64_t heavy)
{
    return entries > part || own * entries > heavy;
}

template <typename T> __device__ double absolute(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot((double)a.x, (double)a.y);
    else return fabs((double)a);
}
/** Over neighbouring lanes, a power of two. */
__device__ inline double sum_over_lanes(double a, int lanes)
{
    for (int o = 16; o > 0; o /= 2) {
        const double other = __shfl_xor_sync(~0u, a, o);
        if (o < lanes) a += other;
    }
    return a;
}

/** Where column c is among the ascending columns first .. end - 1, or the first larger one. */
__device__ inline int64_t place_of(const int32_t *columns, int64_t first, int64_t end, int32_t c)
{
    while (first < end) {
        const int64_t half = (first + end) / 2;
        if (columns[half] < c) first = half + 1;
        else end = half;
    }
    return first;
}

/** Entries *first .. *end - 1 of ascending columns become those between columns least and most, by a warp: 32 places
 *  are looked at in a step, for either end at once. */
__device__ inline void narrow_by_warp(const int32_t *columns, int32_t least, int32_t most, int64_t *first, int64_t *end)
{
    const int lane = threadIdx.x % 32;
    int64_t low = *first, low_end = *end, high = *first, high_end = *end;
    while (low < low_end || high < high_end) { /* what is before is smaller, what is from the end on is not */
        const int64_t step = (low_end - low + 31) / 32, high_step = (high_end - high + 31) / 32,
                      at = low + (lane + 1) * step - 1, high_at = high + (lane + 1) * high_step - 1;
        const bool is_less = low < low_end && at < low_end && columns[at] < least,
                   is_no_more = high < high_end && high_at < high_end && columns[high_at] <= most;
        const int64_t count = __popc(__ballot_sync(~0u, is_less)), high_count = __popc(__ballot_sync(~0u, is_no_more)),
                      next = low + (count + 1) * step - 1, high_next = high + (high_count + 1) * high_step - 1;
        if (low < low_end) low += count * step, low_end = next < low_end ? next : low_end;
        if (high < high_end) high += high_count * high_step, high_end = high_next < high_end ? high_next : high_end;
    }
    *first = low, *end = high;
}

/** value[u] := p[u * step] of those that are wanted, as soon as they are there. */
template <typename T, int N> __device__ inline void wait_for_values(unsigned wanted, const T *p, int step, T *value)
{
    while (wanted) {
#pragma unroll
        for (int u = 0; u < N; u++)
            if (wanted >> u & 1) value[u] = poll(p + u * step);
#pragma unroll
        for (int u = 0; u < N; u++)
            if ((wanted >> u & 1) && !is_missing(value[u])) wanted &= ~(1u << u);
    }
}

/** Row p by a warp: e_p minus T's entries in the group times their inverses' rows, and minus T's entries elsewhere,
 *  over the pivot. A lane has entries of the row, and looks for their columns in the rows needed. */
template <typename T> __device__ void invert_short_row(const invert_args<T> &args, int64_t p)
{
    constexpr int AHEAD = 4;
    const partitioned_arrays<T> &a = args.d;
    const int lane = threadIdx.x % 32;
    const int64_t first = a.offsets[p], end = a.offsets[p + 1], own = a.own_offsets[p], own_end = a.own_offsets[p + 1];
    const int32_t start = a.columns[a.middle[p]]; /* no column of T is between the group's first position and this */
    const T inverse = a.pivots ? one_of<T>() / a.pivots[p] : one_of<T>();
    for (int64_t i = first + lane; i < end; i += 32) {
        const int32_t column = a.columns[i];
        T sum = i == end - 1 ? one_of<T>() : T{};
        for (int64_t k0 = own; k0 < own_end; k0 += AHEAD) {
            int64_t at[AHEAD]; /* of values that are waited for; NONE: the entry adds nothing; ONE: itself */
            T value[AHEAD], factor[AHEAD];
            enum { NONE = -1, ONE = -2 };
            unsigned wanted = 0;
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                at[u] = NONE, value[u] = one_of<T>();
                if (k0 + u >= own_end) continue;
                const int32_t c = a.own_columns[k0 + u];
                factor[u] = a.own_values[k0 + u];
                if (c < start ? c != column : c < column) continue;
                at[u] = ONE;
                if (c < start) continue;
                const int64_t last = a.offsets[c + 1];
                at[u] = place_of(a.columns, a.offsets[c], last, column);
                if (at[u] == last || a.columns[at[u]] != column) at[u] = NONE;
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++) wanted |= at[u] >= 0 ? 1u << u : 0;
            while (wanted) {
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if (wanted >> u & 1) value[u] = poll(&a.values[at[u]]);
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if ((wanted >> u & 1) && !is_missing(value[u])) wanted &= ~(1u << u);
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                if (at[u] != NONE) sum = sum - factor[u] * value[u];
        }
        publish(&a.values[i], missing_or(sum * inverse));
    }
}

/** What a block has of a part of a row: sums, several for each entry, and where its columns are. Where the part is no
 *  wider than that, keys are bits of columns, and places where each word of bits begins; or else a hash table. */
template <typename T> struct part_of_row {
    static constexpr int ENTRIES = PART_OF_ROW<T>, SLOTS = 2 * ENTRIES;
    T sums[INVERT_WARPS][ENTRIES];
    int32_t keys[SLOTS];
    uint16_t places[SLOTS];
    int in_group;

    /** A part from column least to column largest. */
    __device__ static bool has_bits(int32_t least, int32_t largest, int32_t widest)
    {
        return largest - least < (widest < 32 * SLOTS ? widest : 32 * SLOTS);
    }
    __device__ static unsigned slot_of(int32_t column)
    {
        constexpr int BITS = SLOTS == 2048 ? 11 : SLOTS == 1024 ? 10 : 9;
        static_assert(1 << BITS == SLOTS, "a power of two");
        return (unsigned)column * 2654435769u >> (32 - BITS);
    }
    /** before: the column before it, or -1. */
    __device__ void put(bool bits, int32_t least, int32_t column, int32_t before, int place)
    {
        if (bits) {
            const int at = column - least;
            atomicOr((unsigned *)&keys[at / 32], 1u << at % 32);
            if (before < 0 || (before - least) / 32 != at / 32) places[at / 32] = (uint16_t)place;
            return;
        }
        for (unsigned s = slot_of(column);; s = (s + 1) % SLOTS)
            if (atomicCAS(&keys[s], -1, column) == -1) {
                places[s] = (uint16_t)place;
                return;
            }
    }
    /** -1: not in this part. */
    __device__ int find(bool bits, int32_t least, int32_t column) const
    {
        if (bits) {
            const unsigned at = (unsigned)column - (unsigned)least;
            if (at >= 32u * SLOTS) return -1;
            const unsigned word = (unsigned)keys[at / 32], bit = 1u << at % 32;
            return word & bit ? places[at / 32] + __popc(word & (bit - 1)) : -1;
        }
        for (unsigned s = slot_of(column);; s = (s + 1) % SLOTS) {
            if (keys[s] == column) return places[s];
            if (keys[s] == -1) return -1;
        }
    }
};

/** Part `part` of row p by a block. Rows needed are added to sums of their own, to as many as there are warps; sums
 *  then are added in a fixed order. */
template <typename T>
__device__ void invert_part(const invert_args<T> &args, int64_t p, int32_t part, part_of_row<T> *shared)
{
    constexpr int ENTRIES = part_of_row<T>::ENTRIES, AHEAD = 4;
    const partitioned_arrays<T> &a = args.d;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int64_t row = a.offsets[p], end = a.offsets[p + 1], first = row + (int64_t)part * ENTRIES,
                  own = a.own_offsets[p], own_end = a.own_offsets[p + 1];
    const int count = (int)(end - first < ENTRIES ? end - first : ENTRIES);
    const bool whole = end - row <= ENTRIES;
    const int32_t start = a.columns[a.middle[p]];
    const int32_t least = a.columns[first], largest = a.columns[first + count - 1];
    const bool bits = part_of_row<T>::has_bits(least, largest, args.widest);
    for (int s = thread; s < part_of_row<T>::SLOTS; s += INVERT_THREADS) shared->keys[s] = bits ? 0 : -1;
    if (thread == 0) shared->in_group = 0;
    __syncthreads();
    int in_group = 0;
    for (int64_t k = own + thread; k < own_end; k += INVERT_THREADS) in_group += a.own_columns[k] >= start;
    if (in_group) atomicAdd(&shared->in_group, in_group);
    for (int i = thread; i < count; i += INVERT_THREADS) {
        shared->put(bits, least, a.columns[first + i], i ? a.columns[first + i - 1] : -1, i);
        for (int w = 0; w < INVERT_WARPS; w++) shared->sums[w][i] = T{};
    }
    __syncthreads();
    in_group = shared->in_group;
    for (int64_t k = own + thread; k < own_end; k += INVERT_THREADS) {
        const int at = a.own_columns[k] < start ? shared->find(bits, least, a.own_columns[k]) : -1;
        if (at >= 0) shared->sums[0][at] = T{} - a.own_values[k];
    }
    if (thread == 0 && first + count == end) shared->sums[0][count - 1] = one_of<T>();
    __syncthreads();
    /* With fewer rows than warps, several warps take entries of one row, which is their team's only one: rows of a team
     * have sums in common, and its warps do not wait for each other. */
    const int teams = in_group > INVERT_WARPS / 2 ? INVERT_WARPS : in_group > 2 ? 4 : in_group > 1 ? 2 : 1;
    const int team = warp % teams, in_team = warp / teams * 32 + lane, team_size = INVERT_WARPS / teams * 32;
    T *const sums = shared->sums[team];
    int number = 0;
    for (int64_t k0 = own; k0 < own_end && in_group; k0 += 32) {
        const int32_t mine = k0 + lane < own_end ? a.own_columns[k0 + lane] : -1;
        const bool is_needed = mine >= start;
        const int64_t my_first = is_needed ? a.offsets[mine] : 0, my_end = is_needed ? a.offsets[mine + 1] : 0;
        const T my_factor = is_needed ? a.own_values[k0 + lane] : T{};
        for (unsigned left = __ballot_sync(~0u, is_needed); left; left &= left - 1) {
            const int from = __ffs((int)left) - 1;
            if (number++ % teams != team) continue;
            int64_t i = __shfl_sync(~0u, my_first, from), last = __shfl_sync(~0u, my_end, from);
            const T factor = shuffle_from(my_factor, from);
            if (!whole) narrow_by_warp(a.columns, least, largest, &i, &last);
            if (last - i == count) { /* row p has all columns of row c, and so these are the same */
                for (int at = in_team; at < count; at += AHEAD * team_size) {
                    T value[AHEAD];
                    unsigned wanted = 0;
#pragma unroll
                    for (int u = 0; u < AHEAD; u++)
                        if (at + u * team_size < count) wanted |= 1u << u;
                    wait_for_values<T, AHEAD>(wanted, &a.values[i + at], team_size, value);
#pragma unroll
                    for (int u = 0; u < AHEAD; u++)
                        if (at + u * team_size < count)
                            sums[at + u * team_size] = sums[at + u * team_size] - factor * value[u];
                }
                __syncwarp();
                continue;
            }
            for (i += in_team; i < last; i += AHEAD * team_size) {
                T value[AHEAD];
                int at[AHEAD];
                unsigned wanted = 0;
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if (i + u * team_size < last) wanted |= 1u << u;
#pragma unroll
                for (int u = 0; u < AHEAD; u++) /* while columns are looked up */
                    if (wanted >> u & 1) value[u] = poll(&a.values[i + u * team_size]);
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    at[u] = wanted >> u & 1 ? shared->find(bits, least, a.columns[i + u * team_size]) : -1;
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if (at[u] >= 0 && !is_missing(value[u])) wanted &= ~(1u << u);
                wait_for_values<T, AHEAD>(wanted, &a.values[i], team_size, value);
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if (at[u] >= 0) sums[at[u]] = sums[at[u]] - factor * value[u];
            }
            __syncwarp();
        }
    }
    __syncthreads();
    const T inverse = a.pivots ? one_of<T>() / a.pivots[p] : one_of<T>();
    for (int i = thread; i < count; i += INVERT_THREADS) {
        T sum = shared->sums[0][i];
        for (int w = 1; w < teams; w++) sum = sum + shared->sums[w][i];
        publish(&a.values[first + i], missing_or(sum * inverse));
    }
}

/** All rows of all groups. Blocks take tasks by tickets, so that what a task waits for is finished or in a running
 *  block. */
template <typename T> __global__ void __launch_bounds__(INVERT_THREADS, 4) invert_groups(const invert_args<T> a)
{
    __shared__ part_of_row<T> shared;
    __shared__ unsigned ticket[2];
    if (threadIdx.x == 0) ticket[0] = atomicAdd(a.ticket, 1u);
    for (int turn = 0;; turn ^= 1) {
        __syncthreads();
        const unsigned now = ticket[turn];
        if (now >= a.n_tasks) return;
        if (threadIdx.x == 0) ticket[turn ^ 1] = atomicAdd(a.ticket, 1u);
        const invert_task task = a.tasks[now];
        if (task.part >= 0) invert_part(a, a.sorted[task.first], task.part, &shared);
        else
            for (int q = threadIdx.x / 32; q < -task.part; q += INVERT_WARPS)
                invert_short_row(a, a.sorted[task.first + q]);
    }
}

/* ------------------------------------------------------------------ growth */

/** visit(row, lane) by `lanes` lanes for each row; all lanes of a warp visit or have row n. */
template <typename Visit> __device__ void for_rows(int64_t n, int lanes, const Visit &visit)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x / lanes;
    const int64_t mine = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / lanes,
                  first = mine - threadIdx.x % 32 / lanes;
    for (int64_t base = first; base < n; base += step) {
        const int64_t p = base + threadIdx.x % 32 / lanes;
        visit(p < n ? p : n, (int)threadIdx.x % lanes);
    }
}

/** (|T| 1)_p. */
template <typename T> __global__ void __launch_bounds__(256) measure_rows_of_t(const invert_args<T> args, int lanes)
{
    const partitioned_arrays<T> &a = args.d;
    for_rows(a.n, lanes, [&](int64_t p, int lane) {
        double size = 0;
        for (int64_t k = p < a.n ? a.own_offsets[p] + lane : 0, end = p < a.n ? a.own_offsets[p + 1] : 0; k < end;
             k += lanes)
            size += absolute(a.own_values[k]);
        size = sum_over_lanes(size, lanes);
        if (lane || p == a.n) return;
        a.sizes[p] = size + (a.pivots ? absolute(a.pivots[p]) : 1);
    });
}

/** G_p (PARTITION_MOST_GROWTH). */
template <typename T> __global__ void __launch_bounds__(256) measure_inverses(const invert_args<T> args, int lanes)
{
    using R = real_of<T>;
    constexpr double EPS = sizeof(R) == 4 ? FLT_EPSILON : DBL_EPSILON, LEAST = sizeof(R) == 4 ? FLT_MIN : DBL_MIN,
                     MOST = sizeof(R) == 4 ? FLT_MAX : DBL_MAX;
    const partitioned_arrays<T> &a = args.d;
    for_rows(a.n, lanes, [&](int64_t p, int lane) {
        double inverse = 0;
        const int64_t end = p < a.n ? a.offsets[p + 1] : 0, middle = p < a.n ? a.middle[p] : 0;
        for (int64_t i = p < a.n ? a.offsets[p] + lane : 0; i < end; i += lanes)
            inverse += absolute(a.values[i]) * (i < middle ? 1 : a.sizes[a.columns[i]]);
        inverse = sum_over_lanes(inverse, lanes);
        if (lane || p == a.n) return;
        const double of_pivot = a.pivots ? absolute(a.pivots[p]) : 1;
        /* where the reciprocal, or an eps-th part of it, has lost digits */
        if (!(of_pivot > 1 / (MOST * EPS) && of_pivot < EPS / LEAST)) inverse = INFINITY;
        a.inverses[p] = inverse;
    });
}

/** Which rows are substituted, and how solves read every row. */
template <typename T> __global__ void __launch_bounds__(256)
    judge_rows(const invert_args<T> args, int lanes, double most, growth_report *report)
{
    const partitioned_arrays<T> &a = args.d;
    for_rows(a.n, lanes, [&](int64_t p, int lane) {
        double growth = 0;
        const int64_t own = p < a.n ? a.own_offsets[p] : 0, end = p < a.n ? a.own_offsets[p + 1] : 0;
        const int32_t start = p < a.n ? a.columns[a.middle[p]] : 0;
        for (int64_t k = own + lane; k < end; k += lanes)
            if (a.own_columns[k] >= start) growth += absolute(a.own_values[k]) * a.inverses[a.own_columns[k]];
        growth = sum_over_lanes(growth, lanes);
        if (lane || p == a.n) return;
        growth = (growth + (a.pivots ? absolute(a.pivots[p]) : 1) * a.inverses[p]) / a.sizes[p];
        const bool substituted = !(growth <= most);
        a.rows[p] = substituted ? solved_row{~own, (int32_t)(end - own), (int32_t)(end - own)}
                                : solved_row{a.offsets[p], (int32_t)(a.middle[p] - a.offsets[p]),
                                             (int32_t)(a.offsets[p + 1] - a.offsets[p])};
        if (substituted) atomicAdd(&report->substituted, 1ull);
        const unsigned long long bits = __double_as_longlong(growth == growth ? growth : INFINITY);
        if (bits > report->most) atomicMax(&report->most, bits);
    });
}

#endif
