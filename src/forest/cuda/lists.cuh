/* Lists of candidates: the strongest edges of every vertex, in decreasing order. */
#ifndef TRINE_FOREST_CUDA_LISTS_CUH
#define TRINE_FOREST_CUDA_LISTS_CUH

#include "forest/cuda/batch.cuh"
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
/** best: sorted entries. */
template <int C, typename Entries> __device__ void write_list(const forest_view &p, int32_t v, const Entries &best)
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
        if (has_row && i.lane == 0) write_list<C>(p, (int32_t)i.row, best);
    }
}
template <typename R, int C> __global__ void __launch_bounds__(FOREST_THREADS)
    list_long_rows(const forest_graph g, const forest_view p, int lanes, const forest_counts *counts)
{
    if (forest_has_candidates(counts, p.ties)) return;
    for_long_rows(g, lanes * LANE_ENTRIES, [&](int32_t v) {
        strongest<R, C> best = list_part<R, C>(g, p, v, (int)threadIdx.x, (int)FOREST_THREADS);
        merge_block(best);
        if (threadIdx.x == 0) write_list<C>(p, v, best);
    });
}

/** The same where rows are alike: a warp copies the entries of its 32 rows, a tile at a time, and then a lane has a
 *  row. Entries k of a tile are at [k + k / 32], so that lanes with rows of 2^i entries do not meet in a bank. */
constexpr int TILE_THREADS = 128, TILE_WARPS = TILE_THREADS / 32;
__host__ __device__ constexpr int tile_room(int tile) { return tile + tile / 32; }
template <typename R, int C> __global__ void __launch_bounds__(TILE_THREADS, C == 4 ? 6 : 4)
    list_by_tiles(const forest_graph g, const forest_view p, int tile, const forest_counts *counts)
{
    constexpr int AT_ONCE = 8; /* entries of a lane that are on their way together */
    extern __shared__ double tiles[];
    if (forest_has_candidates(counts, p.ties)) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, room = tile_room(tile);
    const R *const weights = static_cast<const R *>(g.weights);
    R *const all_weights = reinterpret_cast<R *>(tiles);
    R *const tile_weights = all_weights + warp * room;
    int32_t *const tile_columns = reinterpret_cast<int32_t *>(all_weights + TILE_WARPS * room) + warp * room;
    for (int64_t first = (blockIdx.x * (int64_t)TILE_WARPS + warp) * 32; first < g.n;
         first += gridDim.x * (int64_t)TILE_THREADS) {
        const int64_t v = first + lane;
        const int64_t begin = v < g.n ? g.begin[v] : 0, end = v < g.n ? g.end[v] : 0;
        const int last = (int)(g.n - first < 32 ? g.n - first : 32) - 1;
        const int64_t from = __shfl_sync(~0u, begin, 0), to = __shfl_sync(~0u, end, last);
        batch<R, C> best;
#pragma unroll
        for (int c = 0; c < C; c++) best.weight[c] = 0, best.tie[c] = 0, best.column[c] = -1;
        for (int64_t t = from; t < to; t += tile) {
            const int count = (int)(to - t < tile ? to - t : tile);
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
            for (int k = mine; k < stop; k += C) {
                batch<R, C> next;
#pragma unroll
                for (int c = 0; c < C; c++) {
                    const int at = k + c + (k + c) / 32;
                    const bool is_there = k + c < stop;
                    next.put(p.ties, (int32_t)v, c, is_there ? tile_weights[at] : R(0),
                             is_there ? tile_columns[at] : -1);
                }
                next.sort();
                if (k == begin - t) best = next;
                else best.merge(next);
            }
            __syncwarp();
        }
        if (v < g.n) write_list<C>(p, (int32_t)v, best);
    }
}
/** Lanes a row: some four entries for each. */
int lanes_of(const forest_graph &g)
{
    int lanes = 1;
    while (lanes < 32 && g.n * lanes * 4 < g.entries) lanes *= 2;
    return lanes;
}

/** Entries of a tile; 0: rows are not alike. */
int tile_of(const forest_graph &g)
{
    constexpr int64_t LEAST = 128, MOST = 992; /* 4 warps have 48 KB for the most */
    const int64_t in_warp = g.n ? 32 * g.entries / g.n : 0, tile = (in_warp + in_warp / 16 + 31) / 32 * 32;
    if (!g.entries || g.longest > LANE_ENTRIES || in_warp > MOST || g.longest * g.n > 3 * g.entries) return 0;
    return (int)(tile < LEAST ? LEAST : tile < MOST ? tile : MOST);
}

/** Are rows long, in the mean? */
bool is_long(const forest_graph &g)
{
    constexpr int64_t LONG = 12; /* entries */
    return g.entries > LONG * g.n;
}
unsigned tile_blocks(const forest_graph &g)
{
    const int64_t blocks = (g.n + TILE_THREADS - 1) / TILE_THREADS;
    return (unsigned)(blocks < 1 << 20 ? blocks : 1 << 20);
}

/** Of every vertex, 4 or FOREST_CANDIDATES, for factors of degree n. Lists of 4 are enough for one factor where rows
 *  are short, and for all where no row has more. */
int candidates_of(const struct trine_forest_s *f, int n)
{
    const forest_graph &g = f->graph;
    return g.longest > 4 && (f->wants_candidates || n > 2 || is_long(g)) ? FOREST_CANDIDATES : 4;
}

template <typename R, int C> void launch_tiles(trine_forest f, const forest_view &p, gpuStream_t stream)
{
    const int tile = tile_of(f->graph);
    const size_t bytes = (size_t)TILE_WARPS * tile_room(tile) * (sizeof(R) + sizeof(int32_t));
    list_by_tiles<R, C><<<tile_blocks(f->graph), TILE_THREADS, bytes, stream>>>(f->graph, p, tile, f->counts);
}

} // namespace

#endif
