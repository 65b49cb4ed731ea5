/* The kernel of the synchronization-free solve by rows; its file, cuda/syncfree_rows.cu, says how it works. With T =
 * int32_t the same kernel finds level sets: the level of a row is the largest level it depends on, plus one, so that
 * sums become maxima and there are no values. Its time is the time of a solve with the same rows in flight. */
#ifndef TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_CUH
#define TRINE_TRIANGULAR_CUDA_SYNCFREE_ROWS_CUH

#include <type_traits>

#include "triangular/cuda/few_levels.h"
#include "triangular/cuda/pack.cuh"

constexpr int MAX_WARPS = 16;
constexpr int BATCH = 4; /* entries of a lane in flight */

/** What a search for level sets reports: when the kernel ran, and what it found. All bits set at the start, like the
 *  levels, so that one fill resets both. */
struct level_report {
    unsigned long long start, before_end; /* nanoseconds: end = 2^64 - 1 - before_end, so that both fall */
    int highest;                          /* level */
    unsigned followers;                   /* what measure_levels found: rows that wait for one of their own warp,
                                             less one, */
    unsigned first[FEW_LEVELS], before_last[FEW_LEVELS]; /* and the first and 2^32 - 1 - the last row of the first
                                                            levels */
};

template <typename T> struct rows_args {
    int64_t first, n;        /* rows first .. n - 1; those before are solved */
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const int64_t *offsets;
    const int32_t *columns, *order;
    /* first row of every chunk, or ~row where one long row is a chunk; NULL: chunks of equal size */
    const int32_t *chunks;
    int64_t n_chunks;
    const T *values, *pivots, *B;
    T *X, *x;                /* x: values as flags, n x nrhs, row-major, in solve order */
    unsigned *ticket;        /* starts at all bits set, like x */
    next_state next;         /* reset by this solve */
    level_report *report;
    T alpha;
    bool conjugate;
};

/** As many blocks as s says, but not more than there are tickets. */
inline unsigned blocks_for_tickets(const row_shape *s, int64_t tickets)
{
    return (unsigned)(tickets < 1 ? 1 : tickets < s->blocks ? tickets : s->blocks);
}

/** E lanes share a row of entries for each of R V right-hand sides, V of them in a lane (nrhs is a multiple of V). A
 *  warp holds 32 / (R E) rows, which may depend on each other: its lanes therefore step together, each trying its
 *  pending loads once a round, and never wait by themselves. CHUNKED: a.chunks says what the chunks are, and all
 *  lanes of the block share a long row. CHAINS: up to three last entries whose rows are in the same warp are left to
 *  the row's first lane, which takes their values from registers once everything else has been summed: chains of
 *  rows run through a warp between two rounds. One function, though long: with the row's state in a struct of
 *  inlined functions, many of its instances take more registers and some spill them (nvcc 13, sm_90), and the
 *  latency of this loop is the time of a solve. Split it only with registers, spills and instruction counts of every
 *  instance beside it (cuobjdump). */
template <typename T, int R, int E, int V, bool CHUNKED, bool CHAINS = false> __global__ void
    __launch_bounds__(32 * MAX_WARPS) solve_rows(const rows_args<T> a)
{
    constexpr bool LEVELS = std::is_same<T, int32_t>::value;
    constexpr int LANES = R *E, ROWS = 32 / LANES;
    constexpr unsigned ROW_MASK = LANES == 32 ? ~0u : (1u << LANES) - 1;
    __shared__ __align__(16) T window[2][MAX_WARPS * ROWS * R *V]; /* this chunk's and the next one's values */
    __shared__ __align__(16) T part[CHUNKED ? MAX_WARPS * R * V : 1]; /* a long row's sums, warp by warp */
    __shared__ unsigned chunk_of[2];
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / LANES,
              r = lane % R;
    const int slot = (warp * ROWS + group) * R *V + r * V, chunk_rows = warps * ROWS;
    const unsigned tiles = (unsigned)((a.nrhs + R *V - 1) / (R *V));
    int highest = -1;

    auto clear_window = [&](int parity) {
        if (lane % LANES / R == 0)
#pragma unroll
            for (int i = 0; i < V; i++) window[parity][slot + i] = missing_value<T>();
    };
    if (threadIdx.x == 0) {
        chunk_of[0] = atomicAdd(a.ticket, 1u) + 1u;
        if constexpr (LEVELS) atomicMin(&a.report->start, nanoseconds());
    }
    if constexpr (!LEVELS) a.next.reset_tickets();
    clear_window(0);
    __syncthreads();
    for (int parity = 0;; parity ^= 1) {
        const int64_t chunk = chunk_of[parity] / tiles;
        if (chunk >= a.n_chunks) break;
        int64_t base = a.first + chunk * chunk_rows, base_end = a.n;
        bool long_row = false;
        if (CHUNKED) {
            const int32_t first = a.chunks[chunk], next = a.chunks[chunk + 1];
            long_row = first < 0;
            base = long_row ? ~first : first;
            base_end = next < 0 ? ~next : next;
        }
        unsigned next_chunk;
        if (threadIdx.x == 0) next_chunk = atomicAdd(a.ticket, 1u) + 1u;

        /* Lane e of `sharers` has entries e, e + sharers, ... of row p. */
        const int e = long_row ? threadIdx.x / R : lane % LANES / R, sharers = long_row ? blockDim.x / R : E;
        const int64_t p = long_row ? base : base + warp * ROWS + group,
                      j = (int64_t)(chunk_of[parity] % tiles) * (R *V) + r * V;
        const bool active = p < base_end && j < a.nrhs;
        const unsigned row_mask = long_row ? ~0u : ROW_MASK;
        int64_t k = active ? a.offsets[p] + e : 0;
        int64_t end = active ? a.offsets[p + 1] : 0;
        constexpr int INSIDE = CHAINS ? 3 : 1;
        int inside = 0, producer[INSIDE]; /* entries left to the first lane, the lanes that have their rows, */
        T factor[INSIDE];                 /* and their values */
        if constexpr (CHAINS) {
            static_assert(!CHUNKED && !LEVELS, "chains are sums, and of rows that a warp holds");
            const int64_t base_of_warp = p - group;
            if (active)
                while (inside < INSIDE && k - e < end && a.columns[end - 1] >= base_of_warp) inside++, end--;
#pragma unroll
            for (int u = 0; u < INSIDE; u++)
                if (u < inside) {
                    producer[u] = (int)(a.columns[end + u] - base_of_warp) * LANES + r;
                    if (e == 0) factor[u] = a.conjugate ? conjugate_of(a.values[end + u]) : a.values[end + u];
                }
        }
        int64_t row = 0;
        pack<T, V> b = {};
        using number = std::conditional_t<LEVELS, float, T>;
        divisor<number> pivot(one_of<number>());
        if constexpr (!LEVELS)
            if (active && e == 0) {
                row = a.order[p];
#pragma unroll
                for (int i = 0; i < V; i++) b.v[i] = a.alpha * a.B[row * a.b_row + (j + i) * a.b_col];
                if (a.pivots) pivot = divisor<T>(a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p]);
            }
        auto finish = [&](const pack<T, V> &total) {
            pack<T, V> x;
#pragma unroll
            for (int i = 0; i < V; i++)
                if constexpr (LEVELS) x.v[i] = total.v[i];
                else x.v[i] = missing_or(pivot.divide(b.v[i] - total.v[i]));
            if (!long_row) publish_pack(&window[parity][slot], x);
            publish_pack(&a.x[p * a.nrhs + j], x);
            if constexpr (LEVELS) {
                if (x.v[0] > highest) highest = x.v[0];
            } else {
#pragma unroll
                for (int i = 0; i < V; i++) a.X[row * a.x_row + (j + i) * a.x_col] = x.v[i];
                if constexpr (R *V == 1)
                    if (a.next.x) ((T *)a.next.x)[p] = missing_value<T>();
            }
            return x;
        };

        pack<T, V> sum = {}, x[BATCH];
        T v[BATCH];
        const T *from[BATCH];
        unsigned missing = 0, batch = 0;
        bool written = !active, waits = false; /* waits: for rows of its own warp, and nothing else */
        pack<T, V> own = {}, open = {};
        while (!__all_sync(~0u, written)) {
            if (!missing && k < end) {
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (k + u * sharers < end) {
                        const int64_t c = a.columns[k + u * sharers];
                        if constexpr (!LEVELS)
                            v[u] = a.conjugate ? conjugate_of(a.values[k + u * sharers]) : a.values[k + u * sharers];
                        from[u] = c >= base ? &window[parity][(c - base) * (R *V) + r * V] : &a.x[c * a.nrhs + j];
                        missing |= 1u << u;
                    }
                batch = missing;
                k += BATCH * sharers;
            }
            if (missing) {
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if (missing >> u & 1) x[u] = poll_pack<T, V>(from[u]);
#pragma unroll
                for (int u = 0; u < BATCH; u++)
                    if ((missing >> u & 1) && !is_missing(x[u])) missing &= ~(1u << u);
                if (!missing)
#pragma unroll
                    for (int u = 0; u < BATCH; u++)
                        if (batch >> u & 1)
#pragma unroll
                            for (int i = 0; i < V; i++)
                                if constexpr (LEVELS) sum.v[i] = max(sum.v[i], x[u].v[i] + 1);
                                else sum.v[i] = sum.v[i] + v[u] * x[u].v[i];
            }
            const unsigned done = __ballot_sync(~0u, !missing && k >= end);
            const bool complete = !written && !waits && (done >> (long_row ? 0 : group * LANES) & row_mask) == row_mask;
            if (__any_sync(~0u, complete)) {
                pack<T, V> total = sum;
#pragma unroll
                for (int o = CHUNKED ? 16 : LANES / 2; o >= R; o /= 2)
                    if (o < LANES || long_row)
#pragma unroll
                        for (int i = 0; i < V; i++) {
                            const T other = shuffle_xor(total.v[i], o);
                            if constexpr (LEVELS) total.v[i] = max(total.v[i], other);
                            else total.v[i] = total.v[i] + other;
                        }
                if constexpr (CHAINS) {
                    if (complete) open = total, waits = true;
                    unsigned known = __ballot_sync(~0u, written);
                    for (bool steps = true; steps;) {
                        const int from = inside ? producer[0] : lane;
                        pack<T, V> x;
#pragma unroll
                        for (int i = 0; i < V; i++) x.v[i] = shuffle_from(own.v[i], from);
                        bool moves = waits && !written && inside && (known >> from & 1);
                        if (moves) {
#pragma unroll
                            for (int i = 0; i < V; i++) open.v[i] = open.v[i] + factor[0] * x.v[i];
                            inside--;
#pragma unroll
                            for (int u = 0; u + 1 < INSIDE; u++)
                                producer[u] = producer[u + 1], factor[u] = factor[u + 1];
                        }
                        if (waits && !written && !inside) {
                            if (e == 0) own = finish(open);
                            written = moves = true;
                        }
                        steps = __any_sync(~0u, moves);
                        known = __ballot_sync(~0u, written);
                    }
                } else if (complete) {
                    if (!long_row) {
                        if (e == 0) finish(total);
                    } else if (lane < R) {
#pragma unroll
                        for (int i = 0; i < V; i++) part[(warp * R + r) * V + i] = total.v[i];
                    }
                    written = true;
                }
            }
        }
        if (long_row) {
            __syncthreads();
            if (active && threadIdx.x < R) {
                pack<T, V> total = {};
                for (int w = 0; w < warps; w++)
#pragma unroll
                    for (int i = 0; i < V; i++) {
                        const T one = part[(w * R + r) * V + i];
                        if constexpr (LEVELS) total.v[i] = max(total.v[i], one);
                        else total.v[i] = total.v[i] + one;
                    }
                finish(total);
            }
        }
        clear_window(parity ^ 1);
        if (threadIdx.x == 0) chunk_of[parity ^ 1] = next_chunk;
        __syncthreads();
    }
    if constexpr (LEVELS) {
        highest = __reduce_max_sync(~0u, highest);
        if (lane == 0) {
            atomicMax(&a.report->highest, highest);
            atomicMin(&a.report->before_end, ~nanoseconds());
        }
    }
}

#endif
