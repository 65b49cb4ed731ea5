// Rounds of proposals and confirmations (Klein 2024, Algorithm 8). First every vertex lists its strongest edges; then
// all rounds are one cooperative launch, in which vertices propose to those of their lists, and to others of the row
// where these do not suffice.
#include <stdlib.h>

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

/* ------------------------------------------------------- lists of candidates */

/** Adds entry k of row v, of weight w. */
template <typename R, int C>
__device__ void consider(strongest<R, C> &best, const forest_view &p, int32_t v, R w, int32_t u)
{
    if (best.may_take(w)) best.insert(w, forest_tie_number(p.ties, v, u), u);
}
/** What a thread of `step`, number `first`, finds of row v for its list of C candidates. */
template <typename R, int C>
__device__ strongest<R, C> list_part(const forest_graph &g, const forest_view &p, int32_t v, int first, int step)
{
    constexpr int AT_ONCE = 4; /* entries that are on their way together */
    const R *weights = static_cast<const R *>(g.weights);
    strongest<R, C> best;
    for (int64_t k = g.begin[v] + first, end = g.end[v]; k < end; k += AT_ONCE * step) {
        int32_t u[AT_ONCE];
        R w[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int64_t at = k + j * step;
            u[j] = at < end ? g.columns[at] : 0;
            w[j] = at < end ? weights[at] : 0;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) consider(best, p, v, w[j], u[j]);
    }
    return best;
}
template <typename R, int C> __device__ void write_list(const forest_view &p, int32_t v, const strongest<R, C> &best)
{
    int4 *list = reinterpret_cast<int4 *>(p.candidates + (int64_t)v * C);
#pragma unroll
    for (int c = 0; c < C; c += 4) /* column -1: FOREST_LIST_ENDS */
        list[c / 4] = make_int4(best.column[c], best.column[c + 1], best.column[c + 2], best.column[c + 3]);
}

/** Candidates of every vertex: a few lanes of a warp share a row; each keeps the strongest entries that it has seen,
 *  and then they merge their lists. */
template <typename R, int C> __global__ void __launch_bounds__(FOREST_THREADS)
    list_candidates(const forest_graph g, const forest_view p, int lanes, const forest_counts *counts)
{
    if (forest_has_candidates(counts, p.ties)) return;
    for (row_loop i(g, lanes); i.goes_on(); i.row += i.step) {
        const bool has_row = i.has_row();
        strongest<R, C> best;
        if (has_row) best = list_part<R, C>(g, p, (int32_t)i.row, i.lane, lanes);
        for (int mask = 1; mask < lanes; mask *= 2) best.merge(mask);
        if (has_row && i.lane == 0) write_list(p, (int32_t)i.row, best);
    }
}
template <typename R, int C> __global__ void __launch_bounds__(FOREST_THREADS)
    list_long_rows(const forest_graph g, const forest_view p, int lanes, const forest_counts *counts)
{
    if (forest_has_candidates(counts, p.ties)) return;
    for_long_rows(g, lanes * LANE_ENTRIES, [&](int32_t v) {
        strongest<R, C> best = list_part<R, C>(g, p, v, (int)threadIdx.x, (int)FOREST_THREADS);
        merge_block(best);
        if (threadIdx.x == 0) write_list(p, v, best);
    });
}

/** The same where rows are alike: a warp copies the entries of its 32 rows, a tile at a time, and then a lane has a
 *  row. Entries k of a tile are at [k + k / 32], so that lanes with rows of 2^i entries do not meet in a bank. */
constexpr int TILE_THREADS = 128, TILE_WARPS = TILE_THREADS / 32;
__host__ __device__ constexpr int tile_room(int tile) { return tile + tile / 32; }
template <typename R, int C> __global__ void __launch_bounds__(TILE_THREADS)
    list_by_tiles(const forest_graph g, const forest_view p, int tile, const forest_counts *counts)
{
    extern __shared__ double tiles[];
    if (forest_has_candidates(counts, p.ties)) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, room = tile_room(tile);
    R *const tile_weights = reinterpret_cast<R *>(tiles) + warp * room;
    int32_t *const tile_columns =
        reinterpret_cast<int32_t *>(reinterpret_cast<R *>(tiles) + TILE_WARPS * room) + warp * room;
    const R *weights = static_cast<const R *>(g.weights);
    for (int64_t first = (blockIdx.x * (int64_t)TILE_WARPS + warp) * 32; first < g.n;
         first += gridDim.x * (int64_t)TILE_THREADS) {
        const int64_t v = first + lane;
        const int64_t begin = v < g.n ? g.begin[v] : 0, end = v < g.n ? g.end[v] : 0;
        const int last = (int)(g.n - first < 32 ? g.n - first : 32) - 1;
        const int64_t from = __shfl_sync(~0u, begin, 0), to = __shfl_sync(~0u, end, last);
        strongest<R, C> best;
        for (int64_t t = from; t < to; t += tile) {
            const int count = (int)(to - t < tile ? to - t : tile);
            constexpr int AT_ONCE = 8;
            for (int k = lane; k < count; k += 32 * AT_ONCE) {
                int32_t u[AT_ONCE];
                R w[AT_ONCE];
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (k + 32 * j < count) u[j] = g.columns[t + k + 32 * j], w[j] = weights[t + k + 32 * j];
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (k + 32 * j < count) {
                        const int at = k + 32 * j + (k + 32 * j) / 32;
                        tile_columns[at] = u[j], tile_weights[at] = w[j];
                    }
            }
            __syncwarp();
            const int mine = (int)(begin > t ? begin - t < count ? begin - t : count : 0);
            const int stop = (int)(end > t ? end - t < count ? end - t : count : 0);
            for (int k = mine; k < stop; k++)
                consider(best, p, (int32_t)v, tile_weights[k + k / 32], tile_columns[k + k / 32]);
            __syncwarp();
        }
        if (v < g.n) write_list(p, (int32_t)v, best);
    }
}
__global__ void note_candidates(forest_ties ties, int candidates, forest_counts *counts)
{
    if (forest_has_candidates(counts, ties)) return;
    counts->has_candidates = candidates;
    counts->listed_ties = ties;
}

/* -------------------------------------------------------------------- rounds */

/** Where a round finds who is full. */
struct by_flags {
    const uint8_t *full;
    __device__ bool operator()(int32_t u) const { return full[u]; }
};
template <int N> struct by_neighbours {
    const int32_t *neighbours;
    int n;
    __device__ bool operator()(int32_t u) const { return neighbours[(int64_t)u * n + n - 1] >= 0; }
};

/** A vertex that proposes, to n <= N others. */
template <int N> struct proposer {
    int32_t vertex, mine[N], to[N]; /* of the factor; proposals */
    int n, room, count; /* places that are free; proposals, -1: the row has to be looked at */
    bool positive;

    __device__ proposer(const forest_view &p, const forest_round &round, int size, int32_t v)
        : vertex(v), n(size), room(v >= 0 ? size : 0), count(0),
          positive(v >= 0 && round.charges.charged && forest_is_positive(round.charges, v))
    {
#pragma unroll
        for (int s = 0; s < N; s++) {
            mine[s] = v >= 0 && !round.first && s < n ? p.neighbours[(int64_t)v * n + s] : -1;
            to[s] = -1;
            if (mine[s] >= 0) room--;
        }
    }
    /** May it propose to u, which is not full? */
    __device__ bool may_ask(const forest_round &round, int32_t u) const
    {
        bool may = !round.charges.charged || forest_is_positive(round.charges, u) != positive;
#pragma unroll
        for (int s = 0; s < N; s++) may = may && mine[s] != u;
        return may;
    }
    __device__ void ask(int32_t u)
    {
#pragma unroll
        for (int s = 0; s < N; s++)
            if (s == count) to[s] = u;
        count++;
    }
    /** To those of its list, which holds up to C. */
    template <int C, typename Full>
    __device__ void ask_listed(const forest_graph &g, const forest_view &p, const forest_round &round,
                               const Full &is_full)
    {
        if (!room) return;
        const int4 *list = reinterpret_cast<const int4 *>(p.candidates + (int64_t)vertex * C);
        int32_t u[C];
        bool open[C];
#pragma unroll
        for (int c = 0; c < C; c += 4) {
            const int4 four = list[c / 4];
            u[c] = four.x, u[c + 1] = four.y, u[c + 2] = four.z, u[c + 3] = four.w;
        }
#pragma unroll
        for (int c = 0; c < C; c++) open[c] = u[c] >= 0 && (round.first || !is_full(u[c]));
        int32_t ends = 0; /* how the list ends; 0: it is full */
#pragma unroll
        for (int c = 0; c < C; c++) {
            if (ends == 0 && u[c] < 0) ends = u[c];
            if (ends == 0 && count < room && open[c] && may_ask(round, u[c])) ask(u[c]);
        }
        if (count < room && (ends ? ends == FOREST_LIST_BREAKS : g.end[vertex] - g.begin[vertex] > C)) count = -1;
    }
    __device__ void write(const forest_view &p) const
    {
#pragma unroll
        for (int s = 0; s < N; s++)
            if (s < n) p.proposals[(int64_t)vertex * n + s] = to[s];
    }
};

/** What thread `first` of `step` finds of the row of vertex v, which has some room. */
template <typename R, int N, typename Full>
__device__ strongest<R, N> part_of_row(const forest_graph &g, const forest_view &p, const forest_round &round,
                                       const Full &is_full, const proposer<N> &who, int first, int step)
{
    constexpr int AT_ONCE = 2;
    const R *weights = static_cast<const R *>(g.weights);
    const int32_t v = who.vertex;
    strongest<R, N> best;
    for (int64_t k = g.begin[v] + first, end = g.end[v]; k < end; k += AT_ONCE * step) {
        int32_t u[AT_ONCE];
        R w[AT_ONCE];
        bool open[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int64_t at = k + j * step;
            u[j] = at < end ? g.columns[at] : 0;
            w[j] = at < end ? weights[at] : 0;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) open[j] = best.may_take(w[j]) && (round.first || !is_full(u[j]));
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (open[j] && best.may_take(w[j]) && who.may_ask(round, u[j]))
                best.insert(w[j], forest_tie_number(p.ties, v, u[j]), u[j]);
    }
    return best;
}

/** Proposals of the vertices of a warp, v < 0: none; all lanes call it. Does this lane's vertex propose anything? */
template <typename R, int N, typename Full>
__device__ bool propose_all(const forest_graph &g, const forest_view &p, const forest_round &round, int n, int listed,
                            int lanes, const Full &is_full, int32_t v)
{
    proposer<N> mine(p, round, n, v);
    if (listed == 4) mine.template ask_listed<4>(g, p, round, is_full);
    else mine.template ask_listed<FOREST_CANDIDATES>(g, p, round, is_full);
    const bool looks = mine.count < 0;
    if (v >= 0 && !looks) mine.write(p);
    const int lane = threadIdx.x % 32;
    bool found = false;
    for (unsigned left = __ballot_sync(~0u, looks); left;) { /* groups of `lanes` look at one row each */
        int owner = -1;
        for (int group = 0; group < 32 / lanes && left; group++, left &= left - 1)
            if (group == lane / lanes) owner = __ffs(left) - 1;
        const int32_t row = __shfl_sync(~0u, v, owner < 0 ? 0 : owner);
        proposer<N> who(p, round, n, owner < 0 ? -1 : row);
        strongest<R, N> best;
        if (owner >= 0) best = part_of_row<R, N>(g, p, round, is_full, who, lane % lanes, lanes);
        for (int mask = 1; mask < lanes; mask *= 2) best.merge(mask);
        if (owner >= 0 && lane % lanes == 0) {
#pragma unroll
            for (int s = 0; s < N; s++)
                if (s < who.room && s < n) who.to[s] = best.column[s];
            who.write(p);
        }
        /* who proposes something is told so */
        const unsigned some = __ballot_sync(~0u, owner >= 0 && lane % lanes == 0 && best.column[0] >= 0);
        for (int group = 0; group < 32 / lanes; group++) {
            const int its = __shfl_sync(~0u, owner, group * lanes);
            if (its == lane) found = some >> (group * lanes) & 1;
        }
    }
    return looks ? found : mine.count > 0;
}

/** Take v's proposals that are mutual; returns how many there are, in all places, afterwards. */
template <int N> __device__ int confirm(const forest_view &p, const forest_round &round, int n, int32_t v, int *added)
{
    int32_t *const mine = p.neighbours + (int64_t)v * n;
    int32_t to[N];
    int count = 0;
#pragma unroll
    for (int s = 0; s < N; s++) {
        to[s] = s < n ? p.proposals[(int64_t)v * n + s] : -1;
        if (round.first) {
            if (s < n) mine[s] = -1;
        } else if (s < n && mine[s] >= 0) count++;
    }
    bool mutual[N];
#pragma unroll
    for (int s = 0; s < N; s++) {
        mutual[s] = false;
        if (to[s] < 0) continue;
#pragma unroll
        for (int t = 0; t < N; t++)
            if (t < n && p.proposals[(int64_t)to[s] * n + t] == v) mutual[s] = true;
    }
#pragma unroll
    for (int s = 0; s < N; s++)
        if (mutual[s]) mine[count++] = to[s], ++*added;
    return count;
}

/* All rounds. A block has vertices of its own and lists those that may still propose: who is full never does again,
 * nor who has had nobody to ask in a round without charges. Proposals of those that are not listed stay as they were;
 * nobody asks them again. */
#ifndef ROUND_THREADS
#define ROUND_THREADS 1024
#define ROUND_BLOCKS 1 /* of a multiprocessor */
#endif

template <typename R, int N, int BLOCKS> __global__ void __launch_bounds__(ROUND_THREADS, BLOCKS)
    run_rounds(const forest_graph g, const forest_view p, const forest_rounds r, int lanes, forest_counts *counts)
{
    __shared__ int open_before, open_after;
    __shared__ unsigned added;
    __shared__ int64_t confirmed;
    __shared__ bool proposed;
    const int n = N <= 4 ? N : p.n, listed = counts->has_candidates, lane = threadIdx.x % 32;
    const int64_t share = ((g.n + gridDim.x - 1) / gridDim.x + 31) / 32 * 32,
                  begin = min((int64_t)blockIdx.x * share, g.n), end = min(begin + share, g.n);
    uint8_t *const full = reinterpret_cast<uint8_t *>(p.edge);
    int32_t *now = p.list + begin, *next = p.index + begin;
    int64_t edges = 0, idle = 0, k = 0;
    bool maximal = false;
    if (threadIdx.x == 0) open_before = (int)(end - begin);
    for (bool goes_on = true; goes_on; k++) {
        const forest_round round = {forest_charges_of(&r, k), k == 0};
        forest_turn *const turn = &counts->turns[k % 3];
        if (threadIdx.x == 0) {
            open_after = 0;
            added = 0;
            if (blockIdx.x == 0) counts->turns[(k + 1) % 3] = {};
        }
        __syncthreads();
        const int open = open_before;
        bool any = false;
        for (int i = threadIdx.x; i - lane < open; i += ROUND_THREADS) {
            const int32_t v = i >= open ? -1 : round.first ? (int32_t)(begin + i) : now[i];
            any |= propose_all<R, N>(g, p, round, n, listed, lanes, by_flags{full}, v);
        }
        if (__syncthreads_or(any) && threadIdx.x == 0) turn->proposed = 1;
        wait_for_grid();
        int mine = 0;
        for (int i = threadIdx.x; i - lane < open; i += ROUND_THREADS) {
            const int32_t v = i >= open ? -1 : round.first ? (int32_t)(begin + i) : now[i];
            bool stays = false;
            if (v >= 0) {
                const bool is_full = confirm<N>(p, round, n, v, &mine) == n;
                if (round.first || is_full) full[v] = is_full;
                stays = !is_full && (round.charges.charged || p.proposals[(int64_t)v * n] >= 0);
            }
            const unsigned staying = __ballot_sync(~0u, stays);
            int slot = 0;
            if (lane == 0 && staying) slot = atomicAdd(&open_after, __popc(staying));
            slot = __shfl_sync(~0u, slot, 0) + __popc(staying & ((1u << lane) - 1));
            if (stays) next[slot] = v;
        }
        mine = __reduce_add_sync(~0u, mine);
        if (lane == 0 && mine) atomicAdd(&added, (unsigned)mine);
        __syncthreads();
        if (threadIdx.x == 0 && added) atomicAdd(&turn->confirmed, (unsigned long long)added);
        wait_for_grid();
        if (threadIdx.x == 0) {
            confirmed = (int64_t)((volatile forest_turn *)turn)->confirmed;
            proposed = ((volatile forest_turn *)turn)->proposed;
            open_before = open_after;
        }
        __syncthreads();
        edges += confirmed;
        idle = confirmed ? 0 : idle + 1;
        maximal = !round.charges.charged && !proposed;
        goes_on = !maximal && idle < r.m && k + 1 < r.most;
        int32_t *const old = now;
        now = next, next = old;
    }
    if (blockIdx.x || threadIdx.x) return;
    counts->edges = edges;
    counts->rounds = k;
    counts->maximal = maximal;
}

/** One round's proposals of every vertex. */
template <typename R, int N> __global__ void __launch_bounds__(FOREST_THREADS)
    propose_once(const forest_graph g, const forest_view p, const forest_round round, int lanes, forest_counts *counts)
{
    const int n = N <= 4 ? N : p.n, listed = counts->has_candidates, lane = threadIdx.x % 32;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i - lane < g.n;
         i += (int64_t)gridDim.x * blockDim.x)
        propose_all<R, N>(g, p, round, n, listed, lanes, by_neighbours<N>{p.neighbours, n}, i < g.n ? (int32_t)i : -1);
}

/** Lanes a row: some four entries for each. */
int lanes_of(const forest_graph &g)
{
    int lanes = 1;
    while (lanes < 32 && g.n * lanes * 4 < g.entries) lanes *= 2;
    return lanes;
}

/** Lists of C candidates; kernels return at once where there are some. */
template <typename R, int C> trine_status launch_lists(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    constexpr int MOST_TILE = 1024, LEAST_TILE = 128; /* entries; 4 warps have 48 KB of them */
    const forest_graph &g = f->graph;
    int lanes = lanes_of(g);
    if (getenv("FOREST_LANES")) lanes = atoi(getenv("FOREST_LANES"));
    const int64_t in_warp = 32 * g.entries / g.n;
    const char *how = getenv("FOREST_LISTS");
    if (!(how && *how == 'l') && g.longest <= LANE_ENTRIES && in_warp <= MOST_TILE &&
        g.longest * g.n <= 3 * g.entries) {
        int64_t tile = (in_warp + in_warp / 16 + 31) / 32 * 32;
        tile = tile < LEAST_TILE ? LEAST_TILE : tile > 992 ? 992 : tile;
        const size_t bytes = (size_t)TILE_WARPS * tile_room((int)tile) * (sizeof(R) + sizeof(int32_t));
        const int64_t blocks = (g.n + TILE_THREADS - 1) / TILE_THREADS;
        list_by_tiles<R, C><<<(unsigned)(blocks < 1 << 20 ? blocks : 1 << 20), TILE_THREADS, bytes, stream>>>(
            g, p, (int)tile, f->counts);
    } else {
        list_candidates<R, C><<<forest_blocks(g.n * lanes), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
        if (g.longest > lanes * LANE_ENTRIES)
            list_long_rows<R, C><<<forest_blocks(g.n), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
    }
    note_candidates<<<1, 1, 0, stream>>>(p.ties, C, f->counts);
    return GPU_LAUNCHED("list_candidates");
}
template <typename R> trine_status list_all_of(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    return f->wants_candidates || p.n > 2 || getenv("FOREST_EIGHT") ? launch_lists<R, FOREST_CANDIDATES>(f, p, stream)
                                                                    : launch_lists<R, 4>(f, p, stream);
}
trine_status list_all(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    return (trine_dtype_is_single(f->dtype) ? list_all_of<float> : list_all_of<double>)(f, p, stream);
}

template <typename R, int N, int BLOCKS>
trine_status launch_rounds_of(trine_forest f, const forest_view &p, const forest_rounds &r, gpuStream_t stream)
{
    const forest_graph &g = f->graph;
    int lanes = lanes_of(g);
    const unsigned together = forest_blocks_together(f, BLOCKS, stream),
                   enough = (unsigned)((g.n + ROUND_THREADS - 1) / ROUND_THREADS),
                   blocks = together < enough ? together : enough; /* none for no vertices */
#ifndef __HIP__
    if (blocks > 1) {
        void *arguments[] = {(void *)&g, (void *)&p, (void *)&r, (void *)&lanes, (void *)&f->counts};
        return GPU(cudaLaunchCooperativeKernel((const void *)run_rounds<R, N, BLOCKS>, blocks, ROUND_THREADS, arguments,
                                               0, stream));
    }
#endif
    run_rounds<R, N, BLOCKS><<<1, ROUND_THREADS, 0, stream>>>(g, p, r, lanes, f->counts);
    return GPU_LAUNCHED("run_rounds");
}
template <typename R, int N>
trine_status launch_rounds(trine_forest f, const forest_view &p, const forest_rounds &r, gpuStream_t stream)
{
    if (N == 2 && MULTIPROCESSOR_THREADS >= 2 * ROUND_THREADS && getenv("FOREST_TWO"))
        return launch_rounds_of<R, 2, MULTIPROCESSOR_THREADS / ROUND_THREADS>(f, p, r, stream);
    return launch_rounds_of<R, N, 1>(f, p, r, stream);
}
template <typename R, int N>
trine_status launch_propose(trine_forest f, const forest_view &p, const forest_rounds &r, int64_t k, gpuStream_t stream)
{
    const forest_round round = {forest_charges_of(&r, k), k == 0};
    propose_once<R, N>
        <<<forest_blocks(f->graph.n), FOREST_THREADS, 0, stream>>>(f->graph, p, round, lanes_of(f->graph), f->counts);
    return GPU_LAUNCHED("propose_once");
}

/** launch<R, N> for the forest's type and p.n. */
#define FOR_TYPE_AND_DEGREE(launch, R)                                                                                 \
    {nullptr, launch<R, 1>, launch<R, 2>, launch<R, 3>, launch<R, 4>, launch<R, FOREST_MAX_N>}

__global__ void begin_rounds(forest_counts *counts)
{
    counts->turns[0] = {};
    counts->edges = counts->rounds = 0;
    counts->maximal = 0;
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
    static constexpr decltype(&launch_propose<float, 1>) table[2][6] = {FOR_TYPE_AND_DEGREE(launch_propose, float),
                                                                        FOR_TYPE_AND_DEGREE(launch_propose, double)};
    const device_scope scope(f->ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const forest_view p = view_of(f, r);
    if (!f->graph.n) return TRINE_SUCCESS;
    trine_status status = k ? TRINE_SUCCESS : forest_cuda_forget_candidates(f, stream);
    if (!status) status = list_all(f, p, s);
    return status ? status : table[!trine_dtype_is_single(f->dtype)][p.n <= 4 ? p.n : 5](f, p, *r, k, s);
}

trine_status forest_cuda_factor(trine_forest f, const struct forest_rounds *r, void *stream)
{
    static constexpr decltype(&launch_rounds<float, 1>) table[2][6] = {FOR_TYPE_AND_DEGREE(launch_rounds, float),
                                                                       FOR_TYPE_AND_DEGREE(launch_rounds, double)};
    const device_scope scope(f->ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const forest_view p = view_of(f, r);
    begin_rounds<<<1, 1, 0, s>>>(f->counts);
    trine_status status = GPU_LAUNCHED("begin_rounds");
    if (!status && f->graph.n) status = list_all(f, p, s);
    return status ? status : table[!trine_dtype_is_single(f->dtype)][p.n <= 4 ? p.n : 5](f, p, *r, s);
}
