// The adaptive construction (MOS_A) on a GPU: launches of adapt.cuh, and the graph of a B_l for its forest, whose
// pattern is made symmetric by the entries that have none opposite, sorted by where they belong.
#include "core/gpu_cub.cuh"
#include "precond/cuda/adapt.cuh"
#include "precond/cuda/launch.cuh"

namespace {

/** The kernels' device is current while it lives. */
class device_scope {
    trine_context ctx;
    int saved;

  public:
    explicit device_scope(trine_context c) : ctx(c) { trine_device_enter(ctx, &saved); }
    ~device_scope() { trine_device_leave(ctx, saved); }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;
};

struct invert {
    const int32_t *permutation;
    int32_t *inverse;
    __device__ void operator()(int64_t i) const { inverse[permutation[i]] = (int32_t)i; }
};

/* ------------------------------------------------------------------ one step */

unsigned blocks_for(int64_t threads) { return static_cast<unsigned>((threads + ADAPT_THREADS - 1) / ADAPT_THREADS); }

template <typename T> trine_status generate(trine_precond p, const precond_device_factor *f,
                                            const precond_device_adaption *a, void *stream)
{
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const int64_t n = p->base.n, chunks = (n + ADAPT_CHUNK - 1) / ADAPT_CHUNK;
    trine_status status = launch_each(p, n, stream, invert{f->permutation, a->position});
    if (status || !n) return status;
    const device_scope scope(p->base.ctx);
    const generator_arguments<T> g = {n,
                                      chunks,
                                      static_cast<const T *>(f->a),
                                      static_cast<const T *>(f->b),
                                      static_cast<const T *>(f->c),
                                      f->joined,
                                      static_cast<fractional<wide<T>> *>(a->maps),
                                      static_cast<fractional<wide<T>> *>(a->maps) + chunks,
                                      a->last,
                                      static_cast<T *>(a->before),
                                      static_cast<T *>(a->after),
                                      static_cast<T *>(a->centre),
                                      a->start,
                                      a->bad};
    adapt_compose<<<blocks_for(chunks), ADAPT_THREADS, 0, s>>>(g);
    adapt_scan<<<2, ADAPT_SCAN, 0, s>>>(g);
    adapt_generate<<<blocks_for(chunks), ADAPT_THREADS, 0, s>>>(g);
    const product_levels levels = lay_products(n);
    for (int l = 0; l + 1 < levels.levels; l++)
        adapt_multiply_up<<<blocks_for(levels.level[l + 2] - levels.level[l + 1]), ADAPT_THREADS, 0, s>>>(
            levels, l, g.before, g.after);
    return GPU_LAUNCHED("adapt_generate");
}

template <typename T, int LANES> void launch_rows(row_arguments<T> r, const int32_t *list, int64_t count, gpuStream_t s)
{
    constexpr int64_t ROWS = team<LANES>::THREADS / LANES;
    if (!count) return;
    r.list = list;
    r.count = count;
    adapt_rows<T, LANES><<<static_cast<unsigned>((count + ROWS - 1) / ROWS), team<LANES>::THREADS, 0, s>>>(r);
}

template <typename T> trine_status rows(trine_precond p, const precond_device_rows *from, const precond_device_factor *f,
                                        const precond_device_adaption *a, int to, double threshold, double *sums,
                                        void *stream)
{
    const device_scope scope(p->base.ctx);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const precond_device_room *room = to >= 0 ? &a->to[to] : nullptr;
    const row_arguments<T> r = {0,
                                nullptr,
                                from->offsets,
                                from->ends,
                                from->columns,
                                static_cast<const T *>(from->values),
                                p->base.n,
                                a->position,
                                f->permutation,
                                a->start,
                                f->joined,
                                static_cast<const T *>(a->before),
                                static_cast<const T *>(a->after),
                                static_cast<const T *>(a->centre),
                                lay_products(p->base.n),
                                threshold,
                                a->room,
                                room ? room->ends : nullptr,
                                room ? room->columns : nullptr,
                                room ? static_cast<T *>(room->values) : nullptr,
                                static_cast<T *>(a->diagonal),
                                sums};
    const int64_t *b = a->tier;
    const auto tier = [&](int k) { return a->list + b[k]; };
    launch_rows<T, 8>(r, tier(0), b[1] - b[0], s);
    launch_rows<T, 16>(r, tier(1), b[2] - b[1], s);
    launch_rows<T, 32>(r, tier(2), b[3] - b[2], s);
    launch_rows<T, 64>(r, tier(3), b[4] - b[3], s);
    launch_rows<T, 128>(r, tier(4), b[5] - b[4], s);
    launch_rows<T, 256>(r, tier(5), b[6] - b[5], s);
    launch_rows<T, 512>(r, tier(6), b[7] - b[6], s);
    launch_rows<T, 1024>(r, tier(7), b[8] - b[7], s);
    return GPU_LAUNCHED("adapt_rows");
}

/* --------------------------------------------------------------------- sums */

template <typename T> struct sum_row {
    precond_device_rows rows;
    double *sums;
    __device__ void operator()(int64_t i) const
    {
        const T *values = static_cast<const T *>(rows.values);
        double centre = 0, all = 0;
        for (int64_t k = rows.offsets[i]; k < rows.ends[i]; k++) {
            const double size = (double)adapt_modulus(values[k]);
            all += size;
            if (rows.columns[k] == i) centre = size;
        }
        sums[2 * i] = centre;
        sums[2 * i + 1] = all;
    }
};

template <typename T> trine_status sums_of(trine_precond p, const precond_device_rows *rows, double *sums, void *stream)
{
    return launch_each(p, rows->n, stream, sum_row<T>{*rows, sums});
}

/** Sums of PRECOND_PARTS parts, in one order. */
__global__ void __launch_bounds__(PRECOND_THREADS) add_parts(int64_t n, const double *sums, double *parts)
{
    __shared__ double shared[2][PRECOND_THREADS];
    double one = 0, all = 0;
    for (int64_t i = blockIdx.x * (int64_t)PRECOND_THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * PRECOND_THREADS)
        one += sums[2 * i], all += sums[2 * i + 1];
    shared[0][threadIdx.x] = one;
    shared[1][threadIdx.x] = all;
    for (unsigned half = PRECOND_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        for (int k = 0; k < 2; k++) shared[k][threadIdx.x] += shared[k][threadIdx.x + half];
    }
    if (threadIdx.x < 2) parts[2 * blockIdx.x + threadIdx.x] = shared[threadIdx.x][0];
}

trine_status add_up(trine_precond p, const double *sums, double *parts, void *stream)
{
    const device_scope scope(p->base.ctx);
    add_parts<<<PRECOND_PARTS, PRECOND_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p->base.n, sums, parts);
    return GPU_LAUNCHED("add_parts");
}

/* -------------------------------------------------------------------- graphs */

int bits_of(int64_t n)
{
    int bits = 1;
    while (bits < 31 && (int64_t)1 << bits < n) bits++;
    return bits;
}

trine_status graph_scratch(int64_t n, int64_t most, size_t *bytes)
{
    size_t scan = 0, sort = 0;
    gpucub::DoubleBuffer<int32_t> none(nullptr, nullptr);
    trine_status status = GPU(gpucub::DeviceScan::ExclusiveSum(nullptr, scan, (int64_t *)nullptr, (int64_t *)nullptr,
                                                               n + 1, nullptr));
    if (!status)
        status = GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, sort, none, none, most, 0, bits_of(n), nullptr));
    *bytes = scan > sort ? scan : sort;
    return status;
}

/** Prefix sums of n + 1 numbers, in place. */
trine_status add_before(const precond_device_adaption *a, int64_t n, int64_t *numbers, gpuStream_t s)
{
    size_t bytes = a->scratch_bytes;
    return GPU(gpucub::DeviceScan::ExclusiveSum(a->scratch, bytes, numbers, numbers, n + 1, s));
}

trine_status count_graph(trine_precond p, const precond_device_rows *B, const precond_device_adaption *a, void *stream)
{
    const int64_t n = p->base.n;
    const rows_view view = {B->offsets, B->ends, B->columns};
    trine_status status = TRINE_SUCCESS;
    TRY(trine_device_fill_async(p->base.ctx, a->missing, 0, (size_t)(n + 1) * sizeof *a->missing, stream));
    TRY(trine_device_fill_async(p->base.ctx, a->extra, 0, (size_t)(n + 1) * sizeof *a->extra, stream));
    TRY(trine_device_fill_async(p->base.ctx, a->filled, 0, (size_t)n * sizeof *a->filled, stream));
    TRY(launch_each(p, n * ADAPT_ROW_LANES, stream,
                    count_missing{view, reinterpret_cast<unsigned long long *>(a->missing),
                                  reinterpret_cast<unsigned long long *>(a->extra)}));
    TRY(launch_each(p, n + 1, stream, count_row{view, a->extra, a->rows, n}));
    {
        const device_scope scope(p->base.ctx);
        const gpuStream_t s = static_cast<gpuStream_t>(stream);
        TRY(add_before(a, n, a->missing, s));
        TRY(add_before(a, n, a->extra, s));
        TRY(add_before(a, n, a->rows, s));
    }
done:
    return status;
}

template <typename T> trine_status fill_graph(trine_precond p, const precond_device_rows *B,
                                              const precond_device_adaption *a, int64_t missing,
                                              const struct precond_device_graph *g, void *stream)
{
    const int64_t n = p->base.n;
    const rows_view view = {B->offsets, B->ends, B->columns};
    trine_status status = TRINE_SUCCESS;
    int32_t *sources = a->sources[0];
    if (missing) {
        TRY(launch_each(p, n * ADAPT_ROW_LANES, stream,
                        list_missing{view, a->missing, a->filled, a->keys[0], a->sources[0]}));
        const device_scope scope(p->base.ctx);
        size_t bytes = a->scratch_bytes;
        gpucub::DoubleBuffer<int32_t> keys(a->keys[0], a->keys[1]), from(a->sources[0], a->sources[1]);
        TRY(GPU(gpucub::DeviceRadixSort::SortPairs(a->scratch, bytes, keys, from, missing, 0, bits_of(n),
                                                   static_cast<gpuStream_t>(stream))));
        sources = from.Current();
    }
    TRY(launch_each(p, n * ADAPT_ROW_LANES, stream,
                    merge_row<T>{view, static_cast<const T *>(B->values), static_cast<const T *>(a->diagonal), a->extra,
                                 a->rows, sources, g->begin, g->end, g->columns,
                                 static_cast<real_of<T> *>(g->weights)}));
done:
    return status;
}

/* ---------------------------------------------------------------------- T */

template <typename T> struct multiply {
    const T *by;
    T *t;
    __device__ void operator()(int64_t i) const { t[i] = t[i] * by[i]; }
};
template <typename T> struct fold_row {
    precond_device_factor f;
    const T *t;
    __device__ void operator()(int64_t i) const
    {
        const T by = t[f.permutation[i]];
        T *a = static_cast<T *>(f.a), *b = static_cast<T *>(f.b), *c = static_cast<T *>(f.c);
        a[i] = a[i] * by;
        b[i] = b[i] * by;
        c[i] = c[i] * by;
    }
};

template <typename T> trine_status finish(trine_precond p, const precond_device_factor *f,
                                          const precond_device_adaption *a, bool multiplies, void *t, void *stream)
{
    const int64_t n = p->base.n;
    trine_status status = TRINE_SUCCESS;
    if (multiplies)
        TRY(launch_each(p, n, stream, multiply<T>{static_cast<const T *>(a->diagonal), static_cast<T *>(t)}));
    else if (n) TRY(trine_device_copy_async(p->base.ctx, t, a->diagonal, (size_t)n * sizeof(T), stream));
    TRY(launch_each(p, n, stream, fold_row<T>{*f, static_cast<const T *>(t)}));
done:
    return status;
}

} // namespace

const struct precond_device_adapt precond_cuda_adapt = {PRECOND_TABLE(generate), PRECOND_TABLE(rows),
                                                        PRECOND_TABLE(sums_of),  add_up,
                                                        graph_scratch,           count_graph,
                                                        PRECOND_TABLE(fill_graph), PRECOND_TABLE(finish)};
