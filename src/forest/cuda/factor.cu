// Rounds of proposals and confirmations (Klein 2024, Algorithm 8). First every vertex lists its strongest edges; then
// all rounds are one cooperative launch, in which vertices propose to those of their lists, and to others of the row
// where these do not suffice.
#include "forest/common/rounds.h"
#include "forest/cuda/lists.cuh"

namespace {

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
    constexpr int AT_ONCE = N <= 2 ? 4 : 2; /* entries of a lane that are on their way together */
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
constexpr int ROUND_THREADS = 1024, ROUND_BLOCKS = 1; // of a multiprocessor

template <typename R, int N> __global__ void __launch_bounds__(ROUND_THREADS, ROUND_BLOCKS)
    run_rounds(const forest_graph g, const forest_view p, const forest_rounds r, int lanes, int made,
               forest_counts *counts)
{
    __shared__ int open_before, open_after;
    __shared__ unsigned added;
    __shared__ int64_t confirmed;
    __shared__ bool proposed;
    const int n = N <= 4 ? N : p.n, lane = threadIdx.x % 32, first_turn = counts->first_turn;
    const int listed = forest_has_candidates(counts, p.ties) ? counts->has_candidates : made;
    const int64_t share = ((g.n + gridDim.x - 1) / gridDim.x + 31) / 32 * 32,
                  begin = min((int64_t)blockIdx.x * share, g.n), end = min(begin + share, g.n);
    uint8_t *const full = reinterpret_cast<uint8_t *>(p.edge);
    int32_t *now = p.list + begin, *next = p.index + begin;
    int64_t edges = 0, idle = 0, k = 0;
    bool maximal = false;
    if (threadIdx.x == 0) open_before = (int)(end - begin);
    for (bool goes_on = true; goes_on; k++) {
        const forest_round round = {forest_charges_of(&r, k), k == 0};
        forest_turn *const turn = &counts->turns[(first_turn + k) % 3];
        if (threadIdx.x == 0) {
            open_after = 0;
            added = 0;
            if (blockIdx.x == 0) counts->turns[(first_turn + k + 1) % 3] = {};
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
    counts->first_turn = (int32_t)((first_turn + k) % 3);
    counts->has_candidates = listed;
    counts->listed_ties = p.ties;
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

/** Lists of C candidates; kernels return at once where there are some. */
template <typename R, int C> trine_status launch_lists(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    const forest_graph &g = f->graph;
    const int lanes = lanes_of(g);
    if (tile_of(g)) {
        launch_tiles<R, C>(f, p, stream);
    } else {
        list_candidates<R, C><<<forest_blocks(g.n * lanes), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
        if (g.longest > lanes * LANE_ENTRIES)
            list_long_rows<R, C><<<forest_blocks(g.n), FOREST_THREADS, 0, stream>>>(g, p, lanes, f->counts);
    }
    return GPU_LAUNCHED("list_candidates");
}
template <typename R> trine_status list_all_of(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    return candidates_of(f, p.n) > 4 ? launch_lists<R, FOREST_CANDIDATES>(f, p, stream)
                                     : launch_lists<R, 4>(f, p, stream);
}
trine_status list_all(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    return (trine_dtype_is_single(f->dtype) ? list_all_of<float> : list_all_of<double>)(f, p, stream);
}

template <typename R, int N>
trine_status launch_rounds(trine_forest f, const forest_view &p, const forest_rounds &r, gpuStream_t stream)
{
    const forest_graph &g = f->graph;
    int lanes = lanes_of(g), made = candidates_of(f, p.n);
    const unsigned together = forest_blocks_together(f, ROUND_BLOCKS, stream),
                   enough = (unsigned)((g.n + ROUND_THREADS - 1) / ROUND_THREADS),
                   blocks = together < enough ? together : enough; /* none for no vertices */
#ifndef __HIP__
    if (blocks > 1) {
        void *arguments[] = {(void *)&g, (void *)&p, (void *)&r, (void *)&lanes, (void *)&made, (void *)&f->counts};
        return GPU(
            cudaLaunchCooperativeKernel((const void *)run_rounds<R, N>, blocks, ROUND_THREADS, arguments, 0, stream));
    }
#endif
    run_rounds<R, N><<<1, ROUND_THREADS, 0, stream>>>(g, p, r, lanes, made, f->counts);
    return GPU_LAUNCHED("run_rounds");
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

/** Of the lists that there are after list_all. */
__global__ void note_candidates(forest_ties ties, int candidates, forest_counts *counts)
{
    if (forest_has_candidates(counts, ties)) return;
    counts->has_candidates = candidates;
    counts->listed_ties = ties;
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
    note_candidates<<<1, 1, 0, s>>>(p.ties, candidates_of(f, p.n), f->counts);
    return status ? status : table[!trine_dtype_is_single(f->dtype)][p.n <= 4 ? p.n : 5](f, p, *r, k, s);
}

trine_status forest_cuda_factor(trine_forest f, const struct forest_rounds *r, void *stream)
{
    static constexpr decltype(&launch_rounds<float, 1>) table[2][6] = {FOR_TYPE_AND_DEGREE(launch_rounds, float),
                                                                       FOR_TYPE_AND_DEGREE(launch_rounds, double)};
    const device_scope scope(f->ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const forest_view p = view_of(f, r);
    trine_status status = TRINE_SUCCESS;
    if (f->graph.n) status = list_all(f, p, s);
    return status ? status : table[!trine_dtype_is_single(f->dtype)][p.n <= 4 ? p.n : 5](f, p, *r, s);
}
