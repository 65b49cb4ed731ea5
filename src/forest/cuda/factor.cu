// Rounds of proposals and confirmations (Klein 2024, Algorithm 8): two launches a round, or a loop in a graph. A few
// lanes of a warp share a row; each keeps the strongest entries that it has seen, and then they merge their lists.
// Lists of candidates are made in the same way.
#include "forest/common/rounds.h"
#include "forest/cuda/device.cuh"

namespace {

/** Up to N entries of row v in decreasing order; column -1: none. */
template <typename R, int N> struct strongest {
    R weight[N];
    uint64_t tie[N];
    int32_t column[N];

    __device__ strongest()
    {
#pragma unroll
        for (int s = 0; s < N; s++) weight[s] = 0, tie[s] = 0, column[s] = -1;
    }
    /** Is an edge of weight w worth a closer look? */
    __device__ bool may_take(R w) const { return w > 0 && w >= weight[N - 1]; }
    __device__ void insert(R w, uint64_t t, int32_t u)
    {
        bool found = false;
#pragma unroll
        for (int s = 0; s < N; s++) {
            found = found || w > weight[s] || (w == weight[s] && t > tie[s]);
            if (!found) continue;
            const R weaker = weight[s];
            const uint64_t lower = tie[s];
            const int32_t other = column[s];
            weight[s] = w, tie[s] = t, column[s] = u;
            w = weaker, t = lower, u = other;
        }
    }
    /** With those of the lane `mask` away; both have the same afterwards. */
    __device__ void merge(int mask)
    {
        strongest other;
#pragma unroll
        for (int s = 0; s < N; s++) {
            other.weight[s] = shuffle_xor(weight[s], mask);
            other.tie[s] = shuffle_xor((unsigned long long)tie[s], mask);
            other.column[s] = shuffle_xor(column[s], mask);
        }
#pragma unroll
        for (int s = 0; s < N; s++)
            if (may_take(other.weight[s])) insert(other.weight[s], other.tie[s], other.column[s]);
    }
};

/** The strongest of all threads of a block; thread 0 has them afterwards. All threads call it. */
template <typename R, int N> __device__ void merge_block(strongest<R, N> &best)
{
    constexpr int WARPS = FOREST_THREADS / 32;
    __shared__ R weight[WARPS][N];
    __shared__ uint64_t tie[WARPS][N];
    __shared__ int32_t column[WARPS][N];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int mask = 1; mask < 32; mask *= 2) best.merge(mask);
    __syncthreads(); /* what was there before has been read */
#pragma unroll
    for (int s = 0; s < N; s++)
        if (lane == 0) weight[warp][s] = best.weight[s], tie[warp][s] = best.tie[s], column[warp][s] = best.column[s];
    __syncthreads();
    if (warp) return;
    best = strongest<R, N>();
#pragma unroll
    for (int s = 0; s < N; s++)
        if (lane < WARPS)
            best.weight[s] = weight[lane][s], best.tie[s] = tie[lane][s], best.column[s] = column[lane][s];
    for (int mask = 1; mask < WARPS; mask *= 2) best.merge(mask);
}

constexpr int64_t LANE_ENTRIES = 64; // rows with more for every lane are taken by a block

/** body(v) for the rows with more than `most` entries, by all threads of a block together. */
template <typename Body> __device__ void for_long_rows(const forest_graph &g, int64_t most, const Body &body)
{
    __shared__ int32_t rows[FOREST_THREADS];
    __shared__ int found;
    for (int64_t first = blockIdx.x * (int64_t)FOREST_THREADS; first < g.n;
         first += gridDim.x * (int64_t)FOREST_THREADS) {
        const int64_t v = first + threadIdx.x;
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        if (v < g.n && g.end[v] - g.begin[v] > most) rows[atomicAdd(&found, 1)] = (int32_t)v;
        __syncthreads();
        const int count = found;
        for (int i = 0; i < count; i++) body(rows[i]);
        __syncthreads();
    }
}

/** Rows by turns for groups of `lanes` threads, a power of two up to 32, without the long ones; the threads of a warp
 *  go through the loop together. */
struct row_loop {
    const forest_graph &g;
    int lane;
    int64_t row, step, in_warp, most;

    __device__ row_loop(const forest_graph &graph, int lanes)
        : g(graph), lane(threadIdx.x % lanes), row((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / lanes),
          step((int64_t)gridDim.x * blockDim.x / lanes), in_warp(row % (32 / lanes)), most(lanes * LANE_ENTRIES)
    {}
    __device__ bool goes_on() const { return row - in_warp < g.n; }
    __device__ bool has_row() const { return row < g.n && g.end[row] - g.begin[row] <= most; }
};

/** What a thread of `step`, number `first`, finds of row v for its list of candidates. */
template <typename R> __device__ strongest<R, FOREST_CANDIDATES> list_part(const forest_graph &g, const forest_view &p,
                                                                           int32_t v, int first, int step)
{
    const R *weights = static_cast<const R *>(g.weights);
    strongest<R, FOREST_CANDIDATES> best;
    for (int64_t k = g.begin[v] + first, end = g.end[v]; k < end; k += step)
        if (best.may_take(weights[k]))
            best.insert(weights[k], forest_tie_number(p.ties, v, g.columns[k]), g.columns[k]);
    return best;
}
template <typename R>
__device__ void write_list(const forest_view &p, int32_t v, const strongest<R, FOREST_CANDIDATES> &best)
{
    int32_t *list = p.candidates + (int64_t)v * FOREST_CANDIDATES;
#pragma unroll
    for (int c = 0; c < FOREST_CANDIDATES; c++) list[c] = best.column[c]; /* -1: FOREST_LIST_ENDS */
}

/** Candidates of every vertex. */
template <typename R> __global__ void __launch_bounds__(FOREST_THREADS)
    list_candidates(const forest_graph g, const forest_view p, int lanes, const forest_counts *counts)
{
    if (forest_has_candidates(counts, p.ties)) return;
    for (row_loop i(g, lanes); i.goes_on(); i.row += i.step) {
        const bool has_row = i.has_row();
        strongest<R, FOREST_CANDIDATES> best;
        if (has_row) best = list_part<R>(g, p, (int32_t)i.row, i.lane, lanes);
        for (int mask = 1; mask < lanes; mask *= 2) best.merge(mask);
        if (has_row && i.lane == 0) write_list(p, (int32_t)i.row, best);
    }
}
template <typename R> __global__ void __launch_bounds__(FOREST_THREADS)
    list_long_rows(const forest_graph g, const forest_view p, int lanes, const forest_counts *counts)
{
    if (forest_has_candidates(counts, p.ties)) return;
    for_long_rows(g, lanes * LANE_ENTRIES, [&](int32_t v) {
        strongest<R, FOREST_CANDIDATES> best = list_part<R>(g, p, v, (int)threadIdx.x, (int)FOREST_THREADS);
        merge_block(best);
        if (threadIdx.x == 0) write_list(p, v, best);
    });
}
__global__ void note_candidates(forest_ties ties, forest_counts *counts)
{
    counts->has_candidates = 1;
    counts->listed_ties = ties;
}

/** The round that the device has come to. Launches do not depend on it, so that a loop in a graph may repeat them. */
__device__ forest_round round_of(const forest_counts *counts) { return {counts->charges, counts->rounds == 0}; }

/** What one vertex proposes in a round, n <= N edges: the same in all threads that share its row. */
template <typename R, int N> struct proposal {
    const forest_graph &g;
    const forest_view &p;
    const forest_round &round;
    int32_t v;
    int n, room, count;              /* count: of the proposals to candidates; -1: the row is looked at */
    bool positive;

    /** has_row: else there is nothing to propose; writes: this thread of them. */
    __device__ proposal(const forest_graph &graph, const forest_view &view, const forest_round &r, bool has_lists,
                        bool has_row, int32_t vertex, bool writes)
        : g(graph), p(view), round(r), v(vertex), n(N <= 4 ? N : view.n), room(has_row ? n : 0), count(-1),
          positive(has_row && r.charges.charged && forest_is_positive(r.charges, vertex))
    {
        if (!has_row) return;
        const int32_t *mine = p.neighbours + (int64_t)v * n;
        if (!round.first)
            while (room && mine[n - room] >= 0) room--;
        if (has_lists) count = forest_propose_listed(&p, round, n, v, positive, room, g.end[v] - g.begin[v], writes);
    }
    /** What thread `first` of `step` finds of the row. */
    __device__ strongest<R, N> part(int first, int step) const
    {
        const R *weights = static_cast<const R *>(g.weights);
        constexpr int AT_ONCE = 4; /* entries, and then their vertices, that are on their way together */
        strongest<R, N> best;
        if (count >= 0 || !room) return best;
        for (int64_t k = g.begin[v] + first, end = g.end[v]; k < end; k += AT_ONCE * step) {
            int32_t u[AT_ONCE];
            R w[AT_ONCE];
            bool full[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                const int64_t at = k + j * step;
                u[j] = at < end ? g.columns[at] : 0;
                w[j] = at < end ? weights[at] : 0;
            }
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                full[j] = !best.may_take(w[j]) || (!round.first && forest_is_full(&p, n, u[j]));
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if (!full[j] && best.may_take(w[j]) && forest_is_open(&p, round, n, v, positive, u[j]))
                    best.insert(w[j], forest_tie_number(p.ties, v, u[j]), u[j]);
        }
        return best;
    }
    /** By the thread that writes, once all parts are in best. Does it propose anything? */
    __device__ bool write(const strongest<R, N> &best)
    {
        if (count < 0) {
            int32_t *proposals = p.proposals + (int64_t)v * n;
#pragma unroll
            for (int s = 0; s < N; s++)
                if (s < n) proposals[s] = s < room ? best.column[s] : -1;
            count = room && best.column[0] >= 0;
        }
        return count != 0;
    }
};

/** By all threads of a block: one of them notes it. */
__device__ void note_proposed(bool proposed, forest_counts *counts)
{
    if (__syncthreads_or(proposed) && threadIdx.x == 0) counts->proposed = 1;
}

/** Proposals of every vertex: to candidates, or after a look at the whole row. */
template <typename R, int N> __global__ void __launch_bounds__(FOREST_THREADS)
    propose(const forest_graph g, const forest_view p, int lanes, forest_counts *counts)
{
    __shared__ listed_chunk open; /* vertices that are not full */
    if (counts->stopped) return;
    const forest_round round = round_of(counts);
    const bool has_lists = forest_has_candidates(counts, p.ties), has_long = g.longest > lanes * LANE_ENTRIES;
    const int n = N <= 4 ? N : p.n;
    const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, in_warp = group % (32 / lanes);
    bool proposed = false;
    for (int64_t begin = blockIdx.x * (int64_t)FOREST_CHUNK; begin < g.n; begin += gridDim.x * (int64_t)FOREST_CHUNK) {
        open.list(begin, g.n, [&](int32_t v) {
            if (round.first || !forest_is_full(&p, n, v))
                return !has_long || g.end[v] - g.begin[v] <= lanes * LANE_ENTRIES;
            for (int s = 0; s < n; s++) p.proposals[(int64_t)v * n + s] = -1;
            return false;
        });
        for (int i = group; i - in_warp < open.count; i += FOREST_THREADS / lanes) {
            const bool has_row = i < open.count, writes = has_row && lane == 0;
            proposal<R, N> mine(g, p, round, has_lists, has_row, has_row ? open.vertices[i] : 0, writes);
            strongest<R, N> best = mine.part(lane, lanes);
            for (int mask = 1; mask < lanes; mask *= 2) best.merge(mask);
            if (writes) proposed |= mine.write(best);
        }
    }
    note_proposed(proposed, counts);
}
template <typename R, int N> __global__ void __launch_bounds__(FOREST_THREADS)
    propose_long_rows(const forest_graph g, const forest_view p, int lanes, forest_counts *counts)
{
    if (counts->stopped) return;
    const forest_round round = round_of(counts);
    const bool has_lists = forest_has_candidates(counts, p.ties), writes = threadIdx.x == 0;
    bool proposed = false;
    for_long_rows(g, lanes * LANE_ENTRIES, [&](int32_t v) {
        proposal<R, N> mine(g, p, round, has_lists, true, v, writes);
        strongest<R, N> best = mine.part((int)threadIdx.x, (int)FOREST_THREADS);
        merge_block(best);
        if (writes) proposed |= mine.write(best);
    });
    note_proposed(proposed, counts);
}

__device__ void begin_round(const forest_rounds &r, int64_t k, forest_counts *counts)
{
    counts->rounds = k;
    counts->charges = forest_charges_of(&r, k);
    counts->proposed = 0;
    counts->confirmed = 0;
}

__global__ void begin_rounds(const forest_rounds r, int64_t first, forest_counts *counts)
{
    counts->edges = counts->idle = 0;
    counts->confirming = 0;
    counts->maximal = counts->stopped = 0;
    begin_round(r, first, counts);
}

/** What the round has come to; then the next one begins. */
__device__ void finish_round(const forest_rounds &r, forest_counts *counts)
{
    if (counts->stopped) return;
    counts->edges += (int64_t)counts->confirmed;
    counts->idle = counts->confirmed ? 0 : counts->idle + 1;
    counts->maximal = !counts->charges.charged && !counts->proposed;
    counts->stopped = counts->maximal || counts->idle >= r.m || counts->rounds + 1 >= r.most;
    begin_round(r, counts->rounds + 1, counts);
}
struct end_round {
    forest_rounds r;
    __device__ void operator()(forest_counts *counts) const { finish_round(r, counts); }
};
struct end_round_of_loop {
    forest_rounds r;
    gpuCondition again;
    __device__ void operator()(forest_counts *counts) const
    {
        finish_round(r, counts);
        set_condition(again, !counts->stopped);
    }
};

/** And the end of the round, by the last block. */
template <typename End> __global__ void __launch_bounds__(FOREST_THREADS)
    confirm(const forest_view p, forest_counts *counts, const End end)
{
    __shared__ unsigned edges;
    if (counts->stopped) return;
    const forest_round round = round_of(counts);
    if (threadIdx.x == 0) edges = 0;
    __syncthreads();
    unsigned found = 0;
    for (int64_t v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; v < p.vertices;
         v += (int64_t)gridDim.x * blockDim.x)
        found += forest_confirm(&p, round, v);
    if (found) atomicAdd(&edges, found);
    __syncthreads();
    if (threadIdx.x) return;
    if (edges) atomicAdd(&counts->confirmed, (unsigned long long)edges);
    __threadfence(); /* the last block finds what all have added */
    if (atomicInc(&counts->confirming, gridDim.x - 1) < gridDim.x - 1) return;
    __threadfence();
    end(counts);
}

/** Lanes a row: some four entries for each. */
int lanes_of(const forest_graph &g)
{
    int lanes = 1;
    while (lanes < 32 && g.n * lanes * 4 < g.entries) lanes *= 2;
    return lanes;
}

bool has_long_rows(const forest_graph &g) { return g.longest > lanes_of(g) * LANE_ENTRIES; }

template <typename R, int N>
void launch_propose(const forest_graph &g, const forest_view &p, forest_counts *counts, gpuStream_t stream)
{
    const int lanes = lanes_of(g);
    propose<R, N><<<forest_blocks((g.n + 3) / 4), FOREST_THREADS, 0, stream>>>(g, p, lanes, counts);
    if (has_long_rows(g))
        propose_long_rows<R, N><<<forest_blocks(g.n), FOREST_THREADS, 0, stream>>>(g, p, lanes, counts);
}

template <typename R> void propose_round_of(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    static constexpr decltype(&launch_propose<R, 1>) table[] = {nullptr, launch_propose<R, 1>, launch_propose<R, 2>,
                                                                launch_propose<R, 3>, launch_propose<R, 4>};
    (p.n <= 4 ? table[p.n] : launch_propose<R, FOREST_MAX_N>)(f->graph, p, f->counts, stream);
}
void propose_round(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    (trine_dtype_is_single(f->dtype) ? propose_round_of<float> : propose_round_of<double>)(f, p, stream);
}

/** Lists of candidates, if they are wanted; kernels return at once where there are some. */
template <typename R> void launch_lists(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    const forest_graph &g = f->graph;
    const int lanes = lanes_of(g);
    list_candidates<R><<<forest_blocks(g.n * lanes), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
    if (has_long_rows(g)) list_long_rows<R><<<forest_blocks(g.n), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
}
trine_status list_all(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    if (!f->wants_candidates || !f->graph.n) return TRINE_SUCCESS;
    (trine_dtype_is_single(f->dtype) ? launch_lists<float> : launch_lists<double>)(f, p, stream);
    note_candidates<<<1, 1, 0, stream>>>(p.ties, f->counts);
    return GPU_LAUNCHED("list_candidates");
}

template <typename End>
trine_status run_round(trine_forest f, const forest_view &p, const End &end, gpuStream_t stream)
{
    propose_round(f, p, stream);
    confirm<<<forest_blocks(f->graph.n, FOREST_FEW_BLOCKS), FOREST_THREADS, 0, stream>>>(p, f->counts, end);
    return GPU_LAUNCHED("propose, confirm");
}

/** Do the rounds end before round k? Read back, after a few rounds at a time. */
trine_status has_stopped(trine_forest f, int64_t k, void *stream, bool *stopped)
{
    constexpr int64_t AT_A_TIME = 4;
    forest_counts counts;
    if (k % AT_A_TIME) return TRINE_SUCCESS;
    trine_status status = trine_device_synchronize(f->ctx, stream);
    if (!status) status = trine_copy(f->ctx, &counts, TRINE_HOST, f->counts, TRINE_DEVICE, sizeof counts);
    *stopped = !status && counts.stopped;
    return status;
}

forest_view view_of(trine_forest f, const struct forest_rounds *r)
{
    forest_view p = forest_view_of(f);
    p.n = r->n;
    p.ties = r->ties;
    return p;
}

} // namespace

trine_status forest_cuda_propose(trine_forest f, const struct forest_rounds *r, int64_t k, void *stream)
{
    const device_scope scope(f->ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const forest_view p = view_of(f, r);
    begin_rounds<<<1, 1, 0, s>>>(*r, k, f->counts);
    propose_round(f, p, s);
    return GPU_LAUNCHED("propose");
}

trine_status forest_cuda_factor(trine_forest f, const struct forest_rounds *r, void *stream)
{
    const device_scope scope(f->ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream), inner = static_cast<forest_device *>(f->own)->loop;
    const forest_view p = view_of(f, r);
    const bool loops = r->until_maximal && trine_device_is_capturing(f->ctx, stream);
    if (loops && !inner)
        return trine_fail(TRINE_ERR_STATE,
                          "rounds until the factor is maximal cannot be captured: that takes CUDA 12.4, "
                          "in the library and in the driver (trine_forest_info.capturable)");
    begin_rounds<<<1, 1, 0, s>>>(*r, 0, f->counts);
    trine_status status = GPU_LAUNCHED("begin_rounds");
    if (!status) status = list_all(f, p, s);
    if (status) return status;
    if (loops)
        return record_loop(s, inner, [&](gpuStream_t body, gpuCondition loop) {
            return run_round(f, p, end_round_of_loop{*r, loop}, body);
        });
    bool stopped = false;
    for (int64_t k = 0; !status && !stopped && k < r->most; k++) {
        status = run_round(f, p, end_round{*r}, s);
        if (!status && r->until_maximal) status = has_stopped(f, k + 1, stream, &stopped);
    }
    return status;
}
