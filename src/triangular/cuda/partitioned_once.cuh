/* The solve by partitioned inverses in one launch: a task for every warp, blocks by ticket. */
#ifndef TRINE_TRIANGULAR_CUDA_PARTITIONED_ONCE_CUH
#define TRINE_TRIANGULAR_CUDA_PARTITIONED_ONCE_CUH

#include "triangular/cuda/pack.cuh"
#include "triangular/cuda/partitioned.cuh"

constexpr int SLOTS = 8; /* warps of a block */

/* ------------------------------------------------------- who has which row */

constexpr int SEGMENT = 512; /* rows that are packed into blocks of their own */

/** How rows share warps. */
struct packing {
    int least;               /* lanes of a row, at least */
    int of_a_row, of_a_first_row; /* entries of a lane, at most; in rows of the first group, which wait for nothing, so
                                     that all others wait for them, unless they are many */
};

constexpr int64_t MOST_FIRST =
    8192; /* more rows of a first group have no more lanes than others: they fill the device */

__device__ inline int lanes_of(const packing &how, int64_t entries, bool of_the_first)
{
    const int64_t each = of_the_first ? how.of_a_first_row : how.of_a_row;
    int lanes = how.least;
    while (lanes < 32 * SLOTS && lanes * each < entries) lanes *= 2;
    return lanes;
}

/** Where groups begin, by position, and where right-hand sides begin in rows. */
struct group_starts {
    const int32_t *at;
    int64_t count;
    const int64_t *middle;
};
constexpr int FREE = 8; /* rows with fewer solution values do without a gate: they ask for little, and a trip is long */
__device__ inline int32_t gate_of(const group_starts &starts, const int64_t *offsets, int64_t p)
{
    if (starts.middle[p] - offsets[p] < FREE) return -1;
    int64_t low = 0, high = starts.count; /* at[low] <= p < at[high] */
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (starts.at[middle] <= p) low = middle;
        else high = middle;
    }
    return low ? (int32_t)(((int64_t)starts.at[low - 1] + starts.at[low]) / 2) : -1;
}

/** A warp packs a segment: neighbouring rows, with the lanes that the longest of them asks for. n_blocks[segment]: how
 *  many blocks these are; slots: where they go, from block n_blocks[segment] on, or NULL. longest: starts at zero, of
 *  all rows the most solution values. */
__global__ void pack_rows(const packing how, int64_t n, const int64_t *offsets, const group_starts starts,
                          int32_t *n_blocks, warp_task *slots, int32_t *longest)
{
    const int lane = threadIdx.x;
    const int64_t rows_of_first = starts.count > 1 ? starts.at[1] : n,
                  end_of_first = rows_of_first <= MOST_FIRST ? rows_of_first : 0;
    int most_of_x = 0;
    const int64_t end = (blockIdx.x + (int64_t)1) * SEGMENT < n ? (blockIdx.x + (int64_t)1) * SEGMENT : n;
    warp_task *const out = slots ? slots + (int64_t)n_blocks[blockIdx.x] * SLOTS : nullptr;
    int count = 0;
    auto pad = [&](int multiple) {
        const int to = (count + multiple - 1) / multiple * multiple;
        if (out && count + lane < to) out[count + lane] = warp_task{0, 0, 1, -1};
        count = to;
    };
    for (int64_t p = blockIdx.x * (int64_t)SEGMENT; p < end;) {
        const int64_t q = p + lane;
        const int asks = q < end ? lanes_of(how, offsets[q + 1] - offsets[q], q < end_of_first) : 0,
                  own = __shfl_sync(~0u, asks, 0), warps = own > 32 ? own / 32 : 1,
                  of_x = q < end ? (int)(starts.middle[q] - offsets[q]) : 0;
        if (of_x > most_of_x) most_of_x = of_x;
        int lanes = own, rows = 1;
        if (own < 32) {
            for (; lanes < 32; lanes *= 2) {
                rows = 32 / lanes;
                if (!(__ballot_sync(~0u, asks > lanes) & (unsigned)((1ull << rows) - 1))) break;
            }
            if (lanes == 32) rows = 1;
            if (rows > end - p) rows = (int)(end - p);
        }
        pad(warps);
        if (out && lane < warps)
            out[count + lane] = warp_task{(int32_t)p, (int16_t)rows, (int16_t)lanes, gate_of(starts, offsets, p)};
        count += warps;
        p += rows;
    }
    pad(SLOTS);
    if (!out && lane == 0) n_blocks[blockIdx.x] = count / SLOTS;
    most_of_x = __reduce_max_sync(~0u, most_of_x);
    if (lane == 0 && most_of_x > *longest) atomicMax(longest, most_of_x);
}

/* ------------------------------------------------------------------- solve */

template <typename T> struct once_args {
    partitioned_arrays<T> d;
    /* SLOTS for each block: rows in the order of positions; count 0: nothing to do. lanes: as many threads share a
     * row; 64 and more are that many warps of a block, side by side, with a multiple of lanes / 32 before them. */
    const warp_task *slots;
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const T *b; /* alpha B, n x nrhs by position, or NULL: */
    const T *B; /* read where the order says */
    T *X;
    void *x; /* n x nrhs kept values by position, which are flags */
    unsigned *ticket; /* starts at all bits set, like x */
    void *next_x; /* what the next solve starts with, made ready by this one; NULL: not wanted */
    unsigned *next_ticket;
    const void *before; /* kept like x: what the solution corrects; NULL: nothing */
    T alpha;
    bool conjugate;
};

/** Entries of a lane in flight. */
template <typename T, int U> struct entries_of_lane {
    T value[U];
    int32_t column[U];
    __device__ inline void load(const int32_t *columns, const T *values, int k, int end, int step)
    {
#pragma unroll
        for (int u = 0; u < U; u++)
            if (k + u * step < end) column[u] = columns[k + u * step], value[u] = values[k + u * step];
    }
};

enum { ASK_ALL, ASK_BY_ROW, ASK_NEWEST };

/** Kept values of V neighbours, as they arrive. */
template <typename T, int N, int V> __device__ inline bool poll_kept(const typename kept<T, N>::type *x, pack<T, V> &to)
{
    if constexpr (N == 1) {
        const typename kept<T, N>::type found = poll(x);
        to.v[0] = kept<T, N>::value(found);
        return !is_missing(found);
    } else {
        to = poll_pack<T, V>(x);
        return !is_missing(to);
    }
}

/** R lanes for right-hand sides, V neighbours each (nrhs is a multiple of V); of a row's lanes, one in R has other
 *  entries. IS_LONG: where rows are long, with many batches of entries in a lane. A block's number is its ticket, so
 *  that what is not finished first always belongs to a running block. Rows of a warp may depend on each other, where
 *  they are substituted: its lanes step together. Values of x that are missing are asked for again: all of them; the
 *  newest of a row; or the newest of a lane. */
template <typename T, int R, int V, int U, int ASK, bool AHEAD, bool IS_LONG, int LEAST_BLOCKS>
__global__ void __launch_bounds__(32 * SLOTS, LEAST_BLOCKS) solve_once(const once_args<T> a)
{
    using keep = kept<T, R *V>;
    using X = typename keep::type;
    __shared__ unsigned block_number, arrived[SLOTS];
    __shared__ T part[SLOTS][R *V];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, r = lane % R;
    if (threadIdx.x == 0) block_number = atomicAdd(a.ticket, 1u) + 1u;
    if (threadIdx.x < SLOTS) arrived[threadIdx.x] = 0;
    __syncthreads();
    if (a.next_x && block_number == 0 && threadIdx.x == 0) *a.next_ticket = ~0u;
    const unsigned tiles = R *V == 1 ? 1 : (unsigned)((a.nrhs + R *V - 1) / (R *V));
    const warp_task task = a.slots[(int64_t)(block_number / tiles) * SLOTS + warp];
    if (task.count == 0) return;
    const int lanes = task.lanes < 32 ? task.lanes : 32, warps = task.lanes / 32, step = task.lanes / R;
    const int of_row = warps > 1 ? warp % warps : 0, base = lane / lanes * lanes;
    const unsigned row_mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
    const bool has_row = lane / lanes < task.count;
    X *const x = (X *)a.x;
    const int64_t p = has_row ? task.first + lane / lanes : 0, nrhs = R *V == 1 ? 1 : a.nrhs,
                  j = R *V == 1 ? 0 : (int64_t)(block_number % tiles) * (R *V) + r * V;
    solved_row row = {0, 0, 0};
    if (has_row && j < nrhs) row = a.d.rows[p];
    const int32_t place = has_row ? a.d.order[p] : 0; /* early: the last rows' solution waits for nothing else */
    const bool substituted = row.first < 0;
    const int32_t *const columns = substituted ? a.d.own_columns + ~row.first : a.d.columns + row.first;
    const T *const values = substituted ? a.d.own_values + ~row.first : a.d.values + row.first;
    const int middle = row.of_x;
    int k = (lane % lanes + of_row * 32) / R;
    auto right_hand_sides = [&](int64_t position) {
        pack<T, V> b;
#pragma unroll
        for (int i = 0; i < V; i++)
            b.v[i] = a.b ? a.b[position * nrhs + j + i] : a.B[a.d.order[position] * a.b_row + (j + i) * a.b_col];
        return b;
    };
    entries_of_lane<T, U> batch, later;
    if (AHEAD) later.load(columns, values, k, middle, step);
    pack<T, V> sum = {}, y[U];
    for (int i = middle + k; i < row.all; i += U * step) {
        batch.load(columns, values, i, row.all, step);
#pragma unroll
        for (int u = 0; u < U; u++)
            if (i + u * step < row.all) y[u] = right_hand_sides(batch.column[u]);
#pragma unroll
        for (int u = 0; u < U; u++)
            if (i + u * step < row.all) {
                const T factor = a.conjugate ? conjugate_of(batch.value[u]) : batch.value[u];
#pragma unroll
                for (int v = 0; v < V; v++) sum.v[v] = sum.v[v] + factor * y[u].v[v];
            }
    }
#pragma unroll
    for (int v = 0; v < V; v++)
        if (!a.b) sum.v[v] = a.alpha * sum.v[v];
    unsigned missing = 0, wanted = 0;
    bool written = !has_row, eager = true;
    auto next_batch = [&] {
        if (missing || k >= middle) return;
        if (AHEAD) batch = later;
        else batch.load(columns, values, k, middle, step);
#pragma unroll
        for (int u = 0; u < U; u++)
            if (k + u * step < middle) missing |= 1u << u;
        wanted = missing;
        k += U * step;
        if (AHEAD) later.load(columns, values, k, middle, step);
        eager = true;
    };
    next_batch();
    /* Warps ask for one value only, until it is there: all that are on the device asking for all of theirs take more of
     * L2's time than a step does. Meanwhile long rows sum what is older, batch by batch, each as soon as the newest
     * value of it is there. */
    auto is_there = [&](int32_t position) {
        pack<T, V> ignored;
        return poll_kept<T, R *V, V>(&x[position * nrhs + j], ignored);
    };
    bool shut = task.gate >= 0;
    const bool looks_at_older = IS_LONG && lanes == 32 && __any_sync(~0u, middle > U * step);
    if (!IS_LONG)
        while (__any_sync(~0u, lane == 0 && shut && !is_there(task.gate)));
    while (!__all_sync(~0u, written)) {
        next_batch();
        if (IS_LONG && shut) {
            int32_t newest = looks_at_older ? -1 : task.gate;
            if (looks_at_older) {
#pragma unroll
                for (int u = 0; u < U; u++)
                    if (missing >> u & 1) newest = batch.column[u];
                newest = __reduce_max_sync(~0u, newest);
            }
            bool closed = false, older_is_there = newest < 0;
            if (lane == 0 && newest >= 0) {
                closed = !is_there(task.gate);
                if (newest < task.gate) older_is_there = is_there(newest);
            }
            shut = __any_sync(~0u, closed) || newest < 0;
            if (shut && !__any_sync(~0u, older_is_there)) continue;
        }
        bool asks = missing != 0, found = false;
        if (ASK == ASK_BY_ROW) {
            const unsigned waiting = __ballot_sync(~0u, missing != 0) >> base & row_mask;
            asks = missing && (eager || (lane - base) / R == (31 - __clz(waiting)) / R);
        }
        if (asks) {
            const unsigned which = ASK == ASK_ALL || eager ? missing : 1u << (31 - __clz(missing));
            unsigned arrived_now = 0;
#pragma unroll
            for (int u = 0; u < U; u++)
                if ((which >> u & 1) && poll_kept<T, R *V, V>(&x[batch.column[u] * nrhs + j], y[u]))
                    arrived_now |= 1u << u;
            missing &= ~arrived_now, found = arrived_now != 0;
            if (!missing)
#pragma unroll
                for (int u = 0; u < U; u++)
                    if (wanted >> u & 1) {
                        const T factor = a.conjugate ? conjugate_of(batch.value[u]) : batch.value[u];
#pragma unroll
                        for (int v = 0; v < V; v++) sum.v[v] = sum.v[v] + factor * y[u].v[v];
                    }
        }
        if (ASK == ASK_BY_ROW) eager = (__ballot_sync(~0u, found) >> base & row_mask) != 0;
        if (ASK == ASK_NEWEST) eager = found;
        const unsigned done = __ballot_sync(~0u, !missing && k >= middle);
        const bool complete = !written && (done >> base & row_mask) == row_mask;
        if (!__any_sync(~0u, complete)) continue;
        pack<T, V> whole = sum;
#pragma unroll
        for (int o = 16; o >= R; o /= 2)
#pragma unroll
            for (int v = 0; v < V; v++) {
                const T other = shuffle_xor(whole.v[v], o);
                if (o < lanes) whole.v[v] = whole.v[v] + other;
            }
        written = written || complete;
        bool publishes = complete && lane - base < R &&j < nrhs;
        if (warps > 1) { /* the warp that comes last adds the sums, in their order; all lanes are of one row */
            const int first = warp - of_row;
            unsigned before_me = 0;
            if (lane < R)
#pragma unroll
                for (int v = 0; v < V; v++) part[warp][r * V + v] = whole.v[v];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) before_me = atomicAdd(&arrived[first], 1u);
            before_me = __shfl_sync(~0u, before_me, 0);
            __threadfence_block();
            publishes = publishes && before_me + 1 == (unsigned)warps;
            if (publishes)
#pragma unroll
                for (int v = 0; v < V; v++) {
                    whole.v[v] = part[first][r * V + v];
                    for (int w = 1; w < warps; w++) whole.v[v] = whole.v[v] + part[first + w][r * V + v];
                }
        }
        if (!publishes) continue;
        if (substituted) {
            const T pivot = a.d.pivots ? a.d.pivots[p] : one_of<T>();
            const pack<T, V> own = right_hand_sides(p);
#pragma unroll
            for (int v = 0; v < V; v++)
                whole.v[v] =
                    ((a.b ? own.v[v] : a.alpha * own.v[v]) - whole.v[v]) / (a.conjugate ? conjugate_of(pivot) : pivot);
        }
        if constexpr (R *V == 1) {
            publish(&x[p], keep::of(whole.v[0]));
        } else {
#pragma unroll
            for (int v = 0; v < V; v++) whole.v[v] = missing_or(whole.v[v]);
            publish_pack(&x[p * nrhs + j], whole);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            const int64_t at = p * nrhs + j + v;
            if (a.next_x) ((X *)a.next_x)[at] = missing_value<X>();
            if (a.before) whole.v[v] = keep::value(((const X *)a.before)[at]) + whole.v[v];
            a.X[place * a.x_row + (j + v) * a.x_col] = whole.v[v];
        }
    }
}

/* ------------------------------------------------------- what solves lose */

/** A number in -0.5 .. 0.5, of position p. */
template <typename R> __device__ inline R number_of_position(uint32_t p, uint32_t seed)
{
    uint32_t bits = (p ^ seed) * 0x9E3779B9u;
    bits = (bits ^ bits >> 16) * 0x85EBCA6Bu;
    bits = (bits ^ bits >> 13) * 0xC2B2AE35u;
    bits ^= bits >> 16;
    return ((R)(bits >> 8) + (R)0.5) / (R)(1 << 24) - (R)0.5;
}
/** trial: numbers of its own. */
template <typename T> __device__ inline T probe_value(int64_t p, uint32_t trial)
{
    using R = real_of<T>;
    const uint32_t seed = 2 * trial + 1;
    if constexpr (scalar<T>::is_complex)
        return {number_of_position<R>((uint32_t)p, seed), number_of_position<R>((uint32_t)p, seed + 1)};
    else return number_of_position<T>((uint32_t)p, seed);
}
template <typename T> __device__ inline double size_as_double(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot((double)a.x, (double)a.y);
    else return fabs((double)a);
}

/** b := T times the pseudorandom solution, or the pseudorandom numbers themselves, by position; no value of x there
 *  yet. */
template <typename T> __global__ void __launch_bounds__(256)
    probe_right_hand_sides(const partitioned_arrays<T> d, bool by_solution, uint32_t trial, T *b,
                           typename kept<T, 1>::type *x, unsigned *ticket)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *ticket = ~0u;
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < d.n; p += (int64_t)gridDim.x * blockDim.x) {
        T sum = by_solution && d.pivots ? d.pivots[p] * probe_value<T>(p, trial) : probe_value<T>(p, trial);
        for (int64_t k = d.own_offsets[p]; by_solution && k < d.own_offsets[p + 1]; k++)
            sum = sum + d.own_values[k] * probe_value<T>(d.own_columns[k], trial);
        b[p] = sum;
        x[p] = missing_value<typename kept<T, 1>::type>();
    }
}

/** The largest componentwise backward error of x, as bits; infinite and undefined ones do not count. */
template <typename T> __global__ void __launch_bounds__(256)
    probe_errors(const partitioned_arrays<T> d, const T *b, const typename kept<T, 1>::type *x,
                 unsigned long long *most)
{
    double largest = 0;
    auto solution = [&](int64_t p) { return kept<T, 1>::value(x[p]); };
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < d.n; p += (int64_t)gridDim.x * blockDim.x) {
        T residual = b[p], term = d.pivots ? d.pivots[p] * solution(p) : solution(p);
        double size = size_as_double(residual) + size_as_double(term);
        residual = residual - term;
        for (int64_t k = d.own_offsets[p]; k < d.own_offsets[p + 1]; k++) {
            term = d.own_values[k] * solution(d.own_columns[k]);
            size += size_as_double(term);
            residual = residual - term;
        }
        const double error = size_as_double(residual) / size;
        if (error > largest && error < INFINITY) largest = error;
    }
    const unsigned long long bits = (unsigned long long)__double_as_longlong(largest);
    if (bits > *most) atomicMax(most, bits);
}

#endif
