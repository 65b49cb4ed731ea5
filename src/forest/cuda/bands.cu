// The bands of a forest, in the order of its paths.
#include "forest/common/rounds.h"
#include "forest/cuda/entries.cuh"
#include "forest/cuda/lists.cuh"

namespace {

template <typename T> struct extract {
    forest_graph g;
    forest_view p;
    const T *values;
    T *a, *b, *c;
    bool adjusts; /* weights of the forest's edges: times omega */
    real_of<T> omega;
    const forest_counts *counts;

    /** Where row v has columns x and y; -1: nowhere. A short row is read once, with loads on their way together. */
    __device__ void find_both(int32_t v, int32_t x, int32_t y, int64_t *at_x, int64_t *at_y) const
    {
        constexpr int AT_ONCE = 4, SHORT = 32;
        const int64_t begin = g.begin[v], end = g.end[v];
        *at_x = *at_y = -1;
        if (end - begin > SHORT) {
            *at_x = forest_find(g.columns, begin, end, x);
            *at_y = forest_find(g.columns, begin, end, y);
            return;
        }
        for (int64_t k = begin; k < end; k += AT_ONCE) {
            int32_t u[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) u[j] = k + j < end ? g.columns[k + j] : -2;
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                if (u[j] == x) *at_x = k + j;
                if (u[j] == y) *at_y = k + j;
            }
        }
    }
    __device__ void adjust_both(int32_t v, int64_t at_x, int64_t at_y) const
    {
        if (!adjusts) return;
        real_of<T> *const weights = static_cast<real_of<T> *>(g.weights);
        const int room = counts->has_candidates;
        if (at_x >= 0) adjust(weights[at_x], omega);
        if (at_y >= 0) adjust(weights[at_y], omega);
        if (room) forest_purge_candidates(&p, room, v, g.end[v] - g.begin[v]);
    }
    __device__ void operator()(int64_t i) const
    {
        const int32_t v = p.permutation[i], one = forest_neighbour(&p, v, 0), two = forest_neighbour(&p, v, 1);
        const int32_t before = i > 0 ? p.permutation[i - 1] : -1, after = i + 1 < g.n ? p.permutation[i + 1] : -1;
        const int64_t diagonal = forest_place_at(&g, g.diagonal, v);
        /* on one path they are neighbours, and else they are not */
        int64_t at_a = before == one || before == two ? before : -1, at_c = after == one || after == two ? after : -1;
        find_both(v, (int32_t)at_a, (int32_t)at_c, &at_a, &at_c);
        adjust_both(v, at_a, at_c);
        at_a = at_a < 0 ? -1 : forest_place_at(&g, g.there, at_a);
        at_c = at_c < 0 ? -1 : forest_place_at(&g, g.there, at_c);
        a[i] = value_of(values, at_a);
        b[i] = value_of(values, diagonal);
        c[i] = value_of(values, at_c);
    }
};

/* Rows one by one in the order of the paths, as above, read five sectors of memory or more for every vertex where
 * neighbours on a path lie apart. Rows in their own order are read once, what bands need of each is packed, and one
 * sector of a vertex is read in the order of the paths. */

/** What the bands need of a vertex, whole sectors of memory: its neighbours on its path, -1: none, the entries there, 0
 *  where there are none, and the diagonal. */
template <typename T> struct alignas(32) packed_row {
    int32_t x, y;
    T at_x, at_y, diagonal;
};
template <typename T> __device__ packed_row<T> *packed_rows(const forest_view &p)
{
    static_assert(sizeof(packed_row<T>) <= 64, "link has 64 bytes for every vertex");
    return reinterpret_cast<packed_row<T> *>(p.link);
}

template <typename Row> __device__ void copy_row(Row *to, const Row *from)
{
#pragma unroll
    for (size_t k = 0; k < sizeof(Row) / 16; k++)
        reinterpret_cast<int4 *>(to)[k] = reinterpret_cast<const int4 *>(from)[k];
}

/** Packs row v, which has its neighbours x and y at these places. */
template <typename T>
__device__ void pack_row(const extract<T> &e, int32_t v, int32_t x, int32_t y, int64_t at_x, int64_t at_y)
{
    const int64_t diagonal = forest_place_at(&e.g, e.g.diagonal, v);
    e.adjust_both(v, at_x, at_y);
    at_x = at_x < 0 ? -1 : forest_place_at(&e.g, e.g.there, at_x);
    at_y = at_y < 0 ? -1 : forest_place_at(&e.g, e.g.there, at_y);
    packed_row<T> row;
    row.x = x, row.y = y;
    row.at_x = value_of(e.values, at_x);
    row.at_y = value_of(e.values, at_y);
    row.diagonal = value_of(e.values, diagonal);
    copy_row(packed_rows<T>(e.p) + v, &row);
}

/** Rows in their order, in which those of A lie. */
template <typename T> struct pack_rows {
    extract<T> e;
    __device__ void operator()(int64_t i) const
    {
        const int32_t v = (int32_t)i, x = forest_neighbour(&e.p, v, 0), y = forest_neighbour(&e.p, v, 1);
        int64_t at_x, at_y;
        e.find_both(v, x, y, &at_x, &at_y);
        pack_row(e, v, x, y, at_x, at_y);
    }
};

/** The same: a warp copies the columns of its 32 rows, a tile at a time, and then a lane looks through a row. */
template <typename T> __global__ void __launch_bounds__(TILE_THREADS) pack_by_tiles(const extract<T> e, int tile)
{
    constexpr int AT_ONCE = 8; /* columns of a lane that are on their way together */
    extern __shared__ int32_t column_tiles[];
    const forest_graph &g = e.g;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t *const columns = column_tiles + warp * tile_room(tile);
    for (int64_t first = (blockIdx.x * (int64_t)TILE_WARPS + warp) * 32; first < g.n;
         first += gridDim.x * (int64_t)TILE_THREADS) {
        const int64_t v = first + lane;
        const bool is_there = v < g.n;
        const int64_t begin = is_there ? g.begin[v] : 0, end = is_there ? g.end[v] : 0;
        const int32_t x = is_there ? forest_neighbour(&e.p, (int32_t)v, 0) : -1,
                      y = is_there ? forest_neighbour(&e.p, (int32_t)v, 1) : -1;
        const int last = (int)(g.n - first < 32 ? g.n - first : 32) - 1;
        const int64_t from = __shfl_sync(~0u, begin, 0), to = __shfl_sync(~0u, end, last);
        int64_t at_x = -1, at_y = -1;
        for (int64_t t = from; t < to; t += tile) {
            const int count = (int)(to - t < tile ? to - t : tile);
            for (int k = lane; k < count; k += 32 * AT_ONCE) {
                int32_t u[AT_ONCE];
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (k + 32 * j < count) u[j] = g.columns[t + k + 32 * j];
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (k + 32 * j < count) columns[k + 32 * j + (k + 32 * j) / 32] = u[j];
            }
            __syncwarp();
            const int mine = (int)(begin > t ? begin - t < count ? begin - t : count : 0);
            const int stop = (int)(end > t ? end - t < count ? end - t : count : 0);
            for (int k = mine; k < stop; k++) {
                const int32_t u = columns[k + k / 32];
                if (u == x) at_x = t + k;
                if (u == y) at_y = t + k;
            }
            __syncwarp();
        }
        if (is_there) pack_row(e, (int32_t)v, x, y, at_x, at_y);
    }
}

/** Rows in the order of the paths. */
template <typename T> __global__ void __launch_bounds__(FOREST_THREADS, sizeof(T) > 8 ? 5 : 8)
    unpack_rows(const forest_view p, T *a, T *b, T *c)
{
#pragma unroll 1
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.vertices;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int32_t v = p.permutation[i], before = i > 0 ? p.permutation[i - 1] : -1,
                      after = i + 1 < p.vertices ? p.permutation[i + 1] : -1;
        packed_row<T> row;
        copy_row(&row, packed_rows<T>(p) + v);
        /* on one path they are neighbours, and else they are not */
        a[i] = before < 0 ? zero_of<T>() : before == row.x ? row.at_x : before == row.y ? row.at_y : zero_of<T>();
        b[i] = row.diagonal;
        c[i] = after < 0 ? zero_of<T>() : after == row.x ? row.at_x : after == row.y ? row.at_y : zero_of<T>();
    }
}

template <typename T>
trine_status extract_bands(trine_forest f, const void *values, void *const bands[3], const double *omega, void *stream)
{
    const extract<T> body = {f->graph,
                             forest_view_of(f),
                             static_cast<const T *>(values),
                             static_cast<T *>(bands[0]),
                             static_cast<T *>(bands[1]),
                             static_cast<T *>(bands[2]),
                             omega != nullptr,
                             omega ? static_cast<real_of<T>>(*omega) : real_of<T>(1),
                             f->counts};
    const int tile = is_long(f->graph) ? tile_of(f->graph) : 0;
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    trine_status status = TRINE_SUCCESS;
    if (!tile && !f->graph.is_scattered && !f->is_later) return launch_each(f->graph.n, stream, body);
    if (tile) {
        const size_t bytes = (size_t)TILE_WARPS * tile_room(tile) * sizeof(int32_t);
        pack_by_tiles<T><<<tile_blocks(f->graph), TILE_THREADS, bytes, s>>>(body, tile);
        status = GPU_LAUNCHED("pack_by_tiles");
    } else {
        status = launch_each(f->graph.n, stream, pack_rows<T>{body});
    }
    if (status || !f->graph.n) return status;
    unpack_rows<T><<<forest_blocks(f->graph.n), FOREST_THREADS, 0, s>>>(body.p, body.a, body.b, body.c);
    return GPU_LAUNCHED("unpack_rows");
}

} // namespace

trine_status forest_cuda_extract(trine_forest f, const void *values, void *const bands[3], const double *omega,
                                 void *stream)
{
    static constexpr decltype(&extract_bands<float>) table[] = {nullptr, extract_bands<float>, extract_bands<double>,
                                                                extract_bands<complex_of<float>>,
                                                                extract_bands<complex_of<double>>};
    const device_scope scope(f->ctx);
    if (omega && *omega != 0) {
        const trine_status status = forest_cuda_forget_candidates(f, stream);
        if (status) return status;
    }
    return table[f->dtype](f, values, bands, omega, stream);
}
