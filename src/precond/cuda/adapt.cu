// The adaptive construction (MOS_A) on a GPU: launches of adapt.cuh.
#include "precond/cuda/adapt.cuh"
#include "precond/cuda/launch.cuh"

namespace {

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

template <typename T> trine_status rows(trine_precond p, const precond_device_rows *from,
                                        const precond_device_factor *f, const precond_device_adaption *a, int to,
                                        double threshold, double *sums, void *stream)
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
                                                        PRECOND_TABLE(sums_of), add_up, PRECOND_TABLE(finish)};
