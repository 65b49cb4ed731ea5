/* The trial of inverses (supernodal.h) in the GPU's numeric phase, and substitution's values in their place where it fails. All sums
 * are made by the same walk over tiles of panels: of the caller's (right-hand sides and norms, later the residuals) and of the
 * inverted ones (the solutions). */
#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = SUPERNODAL_ROWS, K = SUPERNODAL_TRIALS;

/** What sums are made in. */
template <typename T> struct wide_of { using type = double; };
template <typename R> struct wide_of<complex_of<R>> { using type = complex_of<double>; };
template <typename T> using wide = typename wide_of<T>::type;

/** In d->trial, K vectors of n rows each, interleaved; norms: sums of moduli of the n rows of L, then of its n columns. */
template <typename T> struct trial_args {
    const supernodal_panel *panels;
    const source_panel *sources;
    const int32_t *rows, *source_rows;
    const void *from;
    const T *values;
    wide<T> *b, *bt, *x, *xt, *r, *rt; /* right-hand sides for L and L^T, solutions made of them, residuals */
    double *norms;
    growth_outcome *outcome;
    int64_t n;
    bool unit, off, converts, chooses;
    double eps;
};

template <typename W> __device__ inline W scalar_from_real(double a)
{
    if constexpr (scalar<W>::is_complex) return {a, 0};
    else return a;
}
template <typename T> __device__ inline T signed_by(T a, double sign) { return sign < 0 ? zero_of<T>() - a : a; }

/** Rows job.x + thread and columns job.a..job.b-1 of a panel, from the diagonal down: each(row, column, N sums of the row, N of the column),
 *  then the sums' addition(row or column, sums). */
template <typename U, int N, typename EACH, typename COLUMN, typename ROW>
__device__ inline void walk_tile(const supernodal_job &job, int height, const EACH &each, const COLUMN &add_column, const ROW &add_row)
{
    const int row = job.x + threadIdx.x;
    U of_row[N];
#pragma unroll
    for (int k = 0; k < N; k++) of_row[k] = zero_of<U>();
    for (int c = job.a; c < min(job.b, job.x + THREADS); c++) {
        U of_column[N];
#pragma unroll
        for (int k = 0; k < N; k++) of_column[k] = zero_of<U>();
        if (row < height && row >= c) each(row, c, of_row, of_column);
        for (int mask = 16; mask; mask /= 2)
#pragma unroll
            for (int k = 0; k < N; k++) of_column[k] = of_column[k] + shuffle_xor(of_column[k], mask);
        if (threadIdx.x % 32 == 0) add_column(c, of_column);
    }
    if (row < height && row >= job.a) add_row(row, of_row);
}

/** Right-hand sides and norms from L, or the residuals. */
template <typename T, bool RESIDUAL> __global__ void __launch_bounds__(THREADS) factor_products(const trial_args<T> a, const supernodal_job *jobs)
{
    using W = wide<T>;
    constexpr int N = RESIDUAL ? K : K + 1; /* the last: moduli */
    const supernodal_job job = jobs[blockIdx.x];
    const source_panel s = a.sources[job.panel];
    const supernodal_panel p = a.panels[s.target];
    const int32_t *place = a.source_rows + s.rows, *list = a.rows + p.rows;
    const int first = p.first + s.column;
    auto each = [&](int r, int c, W *of_row, W *of_column) {
        W value = scalar_from<W>(load_converted<T>(a.from, s.values + r + (int64_t)c * s.height, a.converts));
        if (r == c && a.unit) value = one_of<W>();
        const bool block = place[r] < p.width;
        const int64_t i = list[place[r]], j = first + c;
#pragma unroll
        for (int k = 0; k < K; k++) {
            if constexpr (!RESIDUAL) {
                if (block) of_row[k] = of_row[k] + signed_by(value, supernodal_trial(j, k));
                if (block || a.off) of_column[k] = of_column[k] + signed_by(value, supernodal_trial(i, k));
            } else if (block) {
                of_row[k] = of_row[k] + value * (signed_by(one_of<W>(), supernodal_trial(j, k)) - a.x[j * K + k]);
                of_column[k] = of_column[k] + value * (signed_by(one_of<W>(), supernodal_trial(i, k)) - a.xt[i * K + k]);
            } else if (a.off) {
                of_row[k] = of_row[k] - value * a.x[j * K + k];
            }
        }
        if constexpr (!RESIDUAL) {
            const double size = size_of(value);
            of_row[K] = of_row[K] + scalar_from_real<W>(size);
            of_column[K] = of_column[K] + scalar_from_real<W>(size);
        }
    };
    auto add = [&](int64_t i, const W *sums, bool column) {
        W *to = RESIDUAL ? (column ? a.rt : a.r) : column ? a.bt : a.b;
#pragma unroll
        for (int k = 0; k < K; k++) add_atomically(to + i * K + k, sums[k]);
        if constexpr (!RESIDUAL) add_atomically(a.norms + (column ? a.n : 0) + i, size_of(sums[K]));
    };
    walk_tile<W, N>(job, s.height, each, [&](int c, const W *sums) { add(first + c, sums, true); },
                    [&](int r, const W *sums) { add(list[place[r]], sums, false); });
}

/** Solutions by the inverted panels; what they make of the rows below diagonal blocks is added to the residuals. */
template <typename T> __global__ void __launch_bounds__(THREADS) inverse_products(const trial_args<T> a, const supernodal_job *jobs)
{
    using W = wide<T>;
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    const int32_t *list = a.rows + p.rows;
    auto each = [&](int r, int c, T *of_row, T *of_column) {
        const T value = a.values[p.values + r + (int64_t)c * p.ld];
#pragma unroll
        for (int k = 0; k < K; k++) {
            multiply_add(of_row[k], value, scalar_from<T>(a.b[((int64_t)p.first + c) * K + k]));
            multiply_add(of_column[k], value, r < p.width ? scalar_from<T>(a.bt[((int64_t)p.first + r) * K + k])
                                                          : signed_by(zero_of<T>() - one_of<T>(), supernodal_trial(list[r], k)));
        }
    };
    auto add = [&](W *to, int64_t i, const T *sums) {
#pragma unroll
        for (int k = 0; k < K; k++) add_atomically(to + i * K + k, scalar_from<W>(sums[k]));
    };
    walk_tile<T, K>(job, a.off ? p.height : p.width, each, [&](int c, const T *sums) { add(a.xt, p.first + c, sums); },
                    [&](int r, const T *sums) { add(r < p.width ? a.x : a.r, list[r], sums); });
}

/** Solutions as a solve would store them. */
template <typename T> __global__ void __launch_bounds__(256) round_solutions(const trial_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= a.n * K) return;
    a.x[i] = scalar_from<wide<T>>(scalar_from<T>(a.x[i]));
    a.xt[i] = scalar_from<wide<T>>(scalar_from<T>(a.xt[i]));
}

/** *most := the largest of it and a value of every lane, none of them negative: their bits have their order, and NaN is above all. */
__device__ inline void raise(unsigned long long *most, double value)
{
    unsigned long long mine = (unsigned long long)__double_as_longlong(fabs(value));
    for (int mask = 16; mask; mask /= 2) {
        const unsigned long long other = __shfl_xor_sync(~0u, mine, mask);
        if (other > mine) mine = other;
    }
    if (threadIdx.x % 32 == 0) atomicMax(most, mine);
}

template <typename T> __global__ void __launch_bounds__(256) largest_sums(const trial_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < K; k++) {
        raise(&a.outcome->most[0], i < a.n ? size_of(a.r[i * K + k]) : 0);
        raise(&a.outcome->most[1], i < a.n ? size_of(a.rt[i * K + k]) : 0);
    }
    raise(&a.outcome->most[2], i < a.n ? a.norms[i] : 0);
    raise(&a.outcome->most[3], i < a.n ? a.norms[a.n + i] : 0);
}

template <typename T> __global__ void judge(const trial_args<T> a)
{
    auto most = [&](int k) { return __longlong_as_double((long long)a.outcome->most[k]); };
    const double forward = most(0) / most(2), backward = most(1) / most(3);
    const double growth = (backward <= forward || forward != forward ? forward : backward) / a.eps;
    a.outcome->growth = growth;
    a.outcome->substitutes = a.chooses && !(growth <= SUPERNODAL_MOST_GROWTH);
}

} // namespace

size_t supernodal_trial_bytes(trine_supernodal plan)
{
    const size_t element = trine_dtype_is_complex(plan->dtype) ? 2 * sizeof(double) : sizeof(double);
    return (size_t)plan->S.n * (6 * K * element + 2 * sizeof(double));
}

template <typename T> static trial_args<T> arguments(trine_supernodal plan, const void *from)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const int64_t count = plan->S.n * K;
    wide<T> *v = static_cast<wide<T> *>(d->trial);
    return {d->panels, d->sources, d->rows, d->source_rows, from, static_cast<const T *>(plan->values),
            v, v + count, v + 2 * count, v + 3 * count, v + 4 * count, v + 5 * count, reinterpret_cast<double *>(v + 6 * count), d->outcome,
            plan->S.n, plan->diag == TRINE_UNIT, plan->invert == TRINE_INVERT_OFF, plan->given != plan->dtype, plan->chooses, trine_dtype_eps(plan->dtype)};
}

template <typename T> trine_status supernodal_trial_begin(trine_supernodal plan, const void *from, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = static_cast<const device_side *>(plan->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    TRY(GPU(gpuMemsetAsync(d->trial, 0, supernodal_trial_bytes(plan), s)));
    TRY(GPU(gpuMemsetAsync(d->outcome, 0, sizeof *d->outcome, s)));
    factor_products<T, false><<<(unsigned)d->n_trial_jobs[0], THREADS, 0, s>>>(arguments<T>(plan, from), d->trial_jobs);
    TRY(GPU_LAUNCHED("the trial of inverted panels"));
done:
    return status;
}

template <typename T> trine_status supernodal_trial_end(trine_supernodal plan, const void *from, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = static_cast<const device_side *>(plan->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const trial_args<T> a = arguments<T>(plan, from);
    inverse_products<T><<<(unsigned)d->n_trial_jobs[1], THREADS, 0, s>>>(a, d->trial_jobs + d->n_trial_jobs[0]);
    round_solutions<T><<<(unsigned)((a.n * K + 255) / 256), 256, 0, s>>>(a);
    factor_products<T, true><<<(unsigned)d->n_trial_jobs[0], THREADS, 0, s>>>(a, d->trial_jobs);
    largest_sums<T><<<(unsigned)((a.n + 255) / 256), 256, 0, s>>>(a);
    judge<T><<<1, 1, 0, s>>>(a);
    TRY(GPU_LAUNCHED("the trial of inverted panels"));
done:
    return status;
}

#define INSTANTIATE(T) \
    template trine_status supernodal_trial_begin<T>(trine_supernodal, const void *, void *); \
    template trine_status supernodal_trial_end<T>(trine_supernodal, const void *, void *);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(complex_of<float>)
INSTANTIATE(complex_of<double>)
