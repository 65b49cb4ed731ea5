// What is done with values of A: weights, blocks, sums. A thread a vertex or an entry.
#include "forest/common/blocks.h"
#include "forest/common/rounds.h"
#include "forest/cuda/entries.cuh"

namespace {

/** |a|; every operation is rounded, as on the CPU. */
__device__ float modulus_of(float a) { return fabsf(a); }
__device__ double modulus_of(double a) { return fabs(a); }
__device__ double modulus_of(complex_of<double> a)
{
    return __dsqrt_rn(__dadd_rn(__dmul_rn(a.x, a.x), __dmul_rn(a.y, a.y)));
}
__device__ float modulus_of(complex_of<float> a) { return __double2float_rn(modulus_of(complex_of<double>{a.x, a.y})); }

template <typename T> struct weigh {
    forest_graph g;
    const T *values;
    bool directed;
    forest_counts *counts;

    /** The row of entry k. */
    __device__ int64_t row_of(int64_t k) const
    {
        int64_t low = 0, high = g.n;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (g.begin[middle] <= k) low = middle;
            else high = middle;
        }
        return low;
    }
    __device__ void put(int64_t k, T value, T other) const
    {
        const real_of<T> there = modulus_of(value);
        const real_of<T> w = there + (directed ? real_of<T>(0) : modulus_of(other));
        if (there != there) atomicMin((long long *)&counts->bad_row, (long long)row_of(k));
        static_cast<real_of<T> *>(g.weights)[k] = w == w ? w : real_of<T>(0);
    }
};
/** All entries; those of a thread are on their way together. */
template <typename T, typename Place>
__global__ void __launch_bounds__(FOREST_THREADS) weigh_entries(const weigh<T> body)
{
    constexpr int EACH = 4;
    const forest_graph &g = body.g;
    const Place *const places = static_cast<const Place *>(g.there), *const others = static_cast<const Place *>(g.back);
    for (int64_t first = blockIdx.x * (int64_t)(EACH * FOREST_THREADS) + threadIdx.x; first < g.entries;
         first += gridDim.x * (int64_t)(EACH * FOREST_THREADS)) {
        Place there[EACH], back[EACH];
        T value[EACH], other[EACH];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t k = first + j * (int64_t)FOREST_THREADS;
            there[j] = k < g.entries ? places[k] : -1;
            back[j] = k < g.entries && !body.directed ? others[k] : -1;
        }
#pragma unroll
        for (int j = 0; j < EACH; j++)
            value[j] = value_of(body.values, there[j]), other[j] = value_of(body.values, back[j]);
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t k = first + j * (int64_t)FOREST_THREADS;
            if (k < g.entries) body.put(k, value[j], other[j]);
        }
    }
}

/** The same, normalized: what rows are divided by, and then a thread a row. */
template <typename T> struct measure_row {
    forest_graph g;
    const T *values;
    double *scales;
    __device__ void operator()(int64_t v) const
    {
        double sum = 0;
        for (int64_t k = g.begin[v]; k < g.end[v]; k++)
            sum += modulus_of(value_of(values, forest_place_at(&g, g.there, k)));
        scales[v] = forest_row_scale(modulus_of(value_of(values, forest_place_at(&g, g.diagonal, v))), sum);
    }
};
template <typename T> struct weigh_row {
    forest_graph g;
    const T *values;
    const double *scales;
    bool directed;
    forest_counts *counts;
    __device__ void operator()(int64_t v) const
    {
        using R = real_of<T>;
        bool is_bad = false;
        for (int64_t k = g.begin[v]; k < g.end[v]; k++) {
            const R there = (R)(modulus_of(value_of(values, forest_place_at(&g, g.there, k))) / scales[v]);
            const R back =
                directed ? R(0)
                         : (R)(modulus_of(value_of(values, forest_place_at(&g, g.back, k))) / scales[g.columns[k]]);
            const R w = there + back;
            is_bad |= there != there;
            static_cast<R *>(g.weights)[k] = w == w ? w : R(0);
        }
        if (is_bad) atomicMin((long long *)&counts->bad_row, (long long)v);
    }
};

__global__ void begin_weights(forest_counts *counts)
{
    counts->bad_row = INT64_MAX;
    counts->has_candidates = 0;
}
__global__ void forget_candidates(forest_counts *counts) { counts->has_candidates = 0; }

template <typename R> struct scale {
    forest_graph g;
    forest_view p;
    R omega;
    const forest_counts *counts;
    __device__ void operator()(int64_t v) const
    {
        const int room = counts->has_candidates;
        if (room) forest_purge_candidates(&p, room, (int32_t)v, g.end[v] - g.begin[v]);
        for (int64_t e = v * p.n; e < (v + 1) * p.n && p.neighbours[e] >= 0; e++)
            adjust(static_cast<R *>(g.weights)[forest_find(g.columns, g.begin[v], g.end[v], p.neighbours[e])], omega);
    }
};

/** The entry of row v and column u of A; 0 if it has none. */
template <typename T> __device__ T entry_of(const forest_graph &g, const T *values, int32_t v, int32_t u)
{
    if (v == u) return value_of(values, forest_place_at(&g, g.diagonal, v));
    const int64_t k = forest_find(g.columns, g.begin[v], g.end[v], u);
    return value_of(values, k < 0 ? k : forest_place_at(&g, g.there, k));
}

template <typename T> struct extract_blocks {
    forest_graph g;
    const int32_t *mate;
    forest_view coarse;
    const T *values;
    T *a, *b, *c;
    int32_t *permutation;

    /** The vertices of block r, which may be one too low or too high; on the path of that name, -1: on any. */
    __device__ bool pair(int64_t r, int32_t name, int32_t *vertices) const
    {
        const int32_t v = r >= 0 && r < g.n ? coarse.permutation[r] : -1;
        vertices[0] = v;
        vertices[1] = v >= 0 ? mate[v] : -1;
        return v >= 0 && (name < 0 || coarse.path[v] == name);
    }
    __device__ void put(const int32_t *v, const int32_t *u, T *block) const
    {
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 2; i++)
                block[i + 2 * j] = v[i] >= 0 && u[j] >= 0 ? entry_of(g, values, v[i], u[j]) : zero_of<T>();
    }
    __device__ void operator()(int64_t r) const
    {
        const int32_t nobody[2] = {-1, -1};
        int32_t here[2], before[2], after[2];
        const int32_t name = pair(r, -1, here) ? coarse.path[here[0]] : -1;
        const bool has_before = name >= 0 && pair(r - 1, name, before),
                   has_after = name >= 0 && pair(r + 1, name, after);
        put(here, has_before ? before : nobody, a + 4 * r);
        put(here, here, b + 4 * r);
        put(here, has_after ? after : nobody, c + 4 * r);
        for (int k = 0; k < 2; k++) {
            permutation[2 * r + k] = here[k];
            if (here[k] < 0) b[4 * r + 3 * k] = one_of<T>();
        }
    }
};

constexpr int64_t CHUNK = 2048; // vertices of a block that adds up

/** The sums of one vertex, as FOREST_SUMS says. */
template <typename T> struct row_sums {
    forest_graph g;
    forest_view p, coarse;
    const T *values;
    bool has_blocks;

    __device__ bool in_blocks(int32_t v, int32_t u) const
    {
        const int32_t cv = forest_coarse_vertex(p.neighbours, v), cu = forest_coarse_vertex(p.neighbours, u);
        if (cv == cu) return true;
        for (int s = 0; s < coarse.n; s++)
            if (coarse.neighbours[(int64_t)cv * coarse.n + s] == cu) return true;
        return false;
    }
    __device__ void add(int32_t v, double *sums) const
    {
        sums[1] += modulus_of(value_of(values, forest_place_at(&g, g.diagonal, v)));
        for (int64_t k = g.begin[v]; k < g.end[v]; k++) {
            const int32_t u = g.columns[k];
            const double w = modulus_of(value_of(values, forest_place_at(&g, g.there, k)));
            sums[0] += w;
            if (u == v - 1 || u == v + 1) sums[2] += w;
            for (int s = 0; s < p.n; s++)
                if (p.neighbours[(int64_t)v * p.n + s] == u) sums[3] += w;
            if (has_blocks && in_blocks(v, u)) sums[4] += w;
        }
    }
};

template <typename T> __global__ void __launch_bounds__(FOREST_THREADS) add_rows(const row_sums<T> rows, double *sums)
{
    __shared__ double shared[FOREST_THREADS];
    double mine[FOREST_SUMS] = {0};
    const int64_t first = blockIdx.x * CHUNK, last = min(first + CHUNK, rows.g.n);
    for (int64_t v = first + threadIdx.x; v < last; v += FOREST_THREADS) rows.add((int32_t)v, mine);
    for (int s = 0; s < FOREST_SUMS; s++) {
        const double sum = block_sum(mine[s], shared);
        if (threadIdx.x == 0) sums[blockIdx.x * (int64_t)FOREST_SUMS + s] = sum;
    }
}

/** The sums of all chunks, behind them. */
__global__ void __launch_bounds__(FOREST_THREADS) add_chunks(int64_t chunks, double *sums)
{
    __shared__ double shared[FOREST_THREADS];
    for (int s = 0; s < FOREST_SUMS; s++) {
        double mine = 0;
        for (int64_t c = threadIdx.x; c < chunks; c += FOREST_THREADS) mine += sums[c * FOREST_SUMS + s];
        const double sum = block_sum(mine, shared);
        if (threadIdx.x == 0) sums[chunks * FOREST_SUMS + s] = sum;
    }
}

/* --------------------------------------------------------- the four precisions */

template <typename T> trine_status set_weights(trine_forest f, const void *values, void *stream)
{
    const T *of_type = static_cast<const T *>(values);
    const bool directed = f->options.directed != 0;
    if (!f->options.normalized) {
        const unsigned blocks = forest_blocks((f->graph.entries + 3) / 4);
        const weigh<T> body = {f->graph, of_type, directed, f->counts};
        const gpuStream_t s = static_cast<gpuStream_t>(stream);
        if (f->graph.wide) weigh_entries<T, int64_t><<<blocks, FOREST_THREADS, 0, s>>>(body);
        else weigh_entries<T, int32_t><<<blocks, FOREST_THREADS, 0, s>>>(body);
        return GPU_LAUNCHED("weigh_entries");
    }
    const trine_status status = launch_each(f->graph.n, stream, measure_row<T>{f->graph, of_type, f->weight});
    return status ? status
                  : launch_each(f->graph.n, stream, weigh_row<T>{f->graph, of_type, f->weight, directed, f->counts});
}

template <typename T> trine_status extract_pairs(trine_forest f, const void *values, void *const bands[3],
                                                 int32_t *permutation, void *stream)
{
    return launch_each(f->graph.n, stream,
                       extract_blocks<T>{f->graph, f->neighbours, forest_view_of(f->coarse),
                                         static_cast<const T *>(values), static_cast<T *>(bands[0]),
                                         static_cast<T *>(bands[1]), static_cast<T *>(bands[2]), permutation});
}

template <typename T> trine_status add_up(trine_forest f, const void *values, void *stream)
{
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const int64_t chunks = (f->graph.n + CHUNK - 1) / CHUNK;
    const bool has_blocks = f->coarse && f->coarse->is_acyclic;
    const row_sums<T> rows = {f->graph, forest_view_of(f), forest_view_of(has_blocks ? f->coarse : f),
                              static_cast<const T *>(values), has_blocks};
    if (chunks) add_rows<<<static_cast<unsigned>(chunks), FOREST_THREADS, 0, s>>>(rows, f->sums);
    add_chunks<<<1, FOREST_THREADS, 0, s>>>(chunks, f->sums);
    return GPU_LAUNCHED("add_rows");
}

} // namespace

trine_status forest_cuda_set_weights(trine_forest f, const void *values, void *stream)
{
    static constexpr decltype(&set_weights<float>) table[] = {nullptr, set_weights<float>, set_weights<double>,
                                                              set_weights<complex_of<float>>,
                                                              set_weights<complex_of<double>>};
    const device_scope scope(f->ctx);
    begin_weights<<<1, 1, 0, static_cast<gpuStream_t>(stream)>>>(f->counts);
    const trine_status status = GPU_LAUNCHED("begin_weights");
    return status || !f->graph.entries ? status : table[f->dtype](f, values, stream);
}

trine_status forest_cuda_forget_candidates(trine_forest f, void *stream)
{
    forget_candidates<<<1, 1, 0, static_cast<gpuStream_t>(stream)>>>(f->counts);
    return GPU_LAUNCHED("forget_candidates");
}

trine_status forest_cuda_scale(trine_forest f, double omega, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    if (omega != 0) {
        const trine_status status = forest_cuda_forget_candidates(f, stream);
        if (status) return status;
    }
    if (trine_dtype_is_single(f->dtype))
        return launch_each(p.vertices, stream, scale<float>{f->graph, p, (float)omega, f->counts});
    return launch_each(p.vertices, stream, scale<double>{f->graph, p, omega, f->counts});
}

trine_status forest_cuda_extract_blocks(trine_forest f, const void *values, void *const bands[3], int32_t *permutation,
                                        void *stream)
{
    static constexpr decltype(&extract_pairs<float>) table[] = {nullptr, extract_pairs<float>, extract_pairs<double>,
                                                                extract_pairs<complex_of<float>>,
                                                                extract_pairs<complex_of<double>>};
    const device_scope scope(f->ctx);
    return table[f->dtype](f, values, bands, permutation, stream);
}

trine_status forest_cuda_add_up(trine_forest f, const void *values, double *sums, void *stream)
{
    static constexpr decltype(&add_up<float>) table[] = {nullptr, add_up<float>, add_up<double>,
                                                         add_up<complex_of<float>>, add_up<complex_of<double>>};
    const device_scope scope(f->ctx);
    const int64_t chunks = (f->graph.n + CHUNK - 1) / CHUNK;
    trine_status status = table[f->dtype](f, values, stream);
    if (!status) status = trine_device_synchronize(f->ctx, stream);
    return status ? status
                  : trine_copy(f->ctx, sums, TRINE_HOST, f->sums + chunks * FOREST_SUMS, TRINE_DEVICE,
                               FOREST_SUMS * sizeof *sums);
}
