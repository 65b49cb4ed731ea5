/* The trial of inverses (supernodal.h) in the GPU's numeric phase, and the choice of the panels that are substituted.
 * All sums are made by the same walk over tiles of panels: of the caller's (right-hand sides and norms, later the
 * residuals) and of the inverted ones (the solutions).
 *
 * What a panel contributes to the residuals is kept apart at first: to its own rows and columns, and to each row
 * below its diagonal block. The largest of it, over eps ||L||, gives the panel its grade. A row's residual is the
 * sum of what panels contribute to it, so it is made for each grade of the panels of that grade and higher ones; if
 * all of them are over SUPERNODAL_MOST_GROWTH, those of the lowest grade that keep residuals within
 * SUPERNODAL_KEPT_GROWTH stay inverted. */
#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = SUPERNODAL_ROWS, K = SUPERNODAL_TRIALS;
/** Of the growth that may be kept, what panels may contribute to be above the lowest grade; half of it for each
 *  grade more. Where panels are substituted at all, a few more of them leave a factor that is good enough for whole
 *  solves by L and U. */
constexpr double LARGEST_SHARE = 0.25;
static_assert(GRADES <= 4, "their sums take the place of b, bt, x and xt");

/** What sums are made in. */
template <typename T> struct wide_of { using type = double; };
template <typename R> struct wide_of<complex_of<R>> { using type = complex_of<double>; };
template <typename T> using wide = typename wide_of<T>::type;

/** In d->trial, K vectors of n rows each, interleaved; norms: sums of moduli of the n rows of L, then of its n
 *  columns. */
template <typename T> struct trial_args {
    const supernodal_panel *panels;
    const source_panel *sources;
    const int32_t *rows, *source_rows;
    const void *from;
    const T *values;
    wide<T> *b, *bt, *x, *xt; /* right-hand sides for L and L^T, and solutions made of them; later sums of residuals
                                 with L, for each grade */
    wide<T> *r, *rt;          /* residuals in a panel's own rows */
    wide<T> *below;           /* TRINE_INVERT_OFF: what a panel leaves in the rows of its list that are below its
                                 diagonal block */
    double *norms;
    growth_outcome *outcome;
    unsigned char *grades;
    int64_t n;
    bool unit, off, converts, chooses;
    double eps;
};

template <typename W> __device__ inline W scalar_from_real(double a)
{
    if constexpr (scalar<W>::is_complex) return {a, 0};
    else return a;
}
/** Entry i of trial k, as a number of type W. */
template <typename W> __device__ inline W trial(int64_t i, int k)
{
    return scalar_from_real<W>(supernodal_trial(i, k));
}

/** Rows job.x + thread and columns job.a..job.b-1 of a panel, from the diagonal down: each(row, column, N sums of
 *  the row, N of the column), then the sums' addition(row or column, sums). */
template <typename U, int N, typename EACH, typename COLUMN, typename ROW>
__device__ inline void walk_tile(const supernodal_job &job, int height, const EACH &each, const COLUMN &add_column,
                                 const ROW &add_row)
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
template <typename T, bool RESIDUAL> __global__ void __launch_bounds__(THREADS)
    factor_products(const trial_args<T> a, const supernodal_job *jobs)
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
                if (block) of_row[k] = of_row[k] + value * trial<W>(j, k);
                if (block || a.off) of_column[k] = of_column[k] + value * trial<W>(i, k);
            } else if (block) {
                of_row[k] = of_row[k] + value * (trial<W>(j, k) - a.x[j * K + k]);
                of_column[k] = of_column[k] + value * (trial<W>(i, k) - a.xt[i * K + k]);
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
    auto add = [&](W *to, int64_t i, const W *sums, double *norms) {
#pragma unroll
        for (int k = 0; k < K; k++) add_atomically(to + i * K + k, sums[k]);
        if constexpr (!RESIDUAL) add_atomically(norms + i, size_of(sums[K]));
    };
    walk_tile<W, N>(
        job, s.height, each, [&](int c, const W *sums) { add(RESIDUAL ? a.rt : a.bt, first + c, sums, a.norms + a.n); },
        [&](int r, const W *sums) {
            if (!RESIDUAL) add(a.b, list[place[r]], sums, a.norms);
            else if (place[r] < p.width) add(a.r, list[place[r]], sums, nullptr);
            else if (a.off) add(a.below, p.rows + place[r], sums, nullptr);
        });
}

/** Solutions by the inverted panels, and what they make of the rows below diagonal blocks. */
template <typename T> __global__ void __launch_bounds__(THREADS)
    inverse_products(const trial_args<T> a, const supernodal_job *jobs)
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
            multiply_add(of_column[k], value,
                         r < p.width ? scalar_from<T>(a.bt[((int64_t)p.first + r) * K + k])
                                     : scalar_from<T>(zero_of<W>() - trial<W>(list[r], k)));
        }
    };
    auto add = [&](W *to, int64_t i, const T *sums) {
#pragma unroll
        for (int k = 0; k < K; k++) add_atomically(to + i * K + k, scalar_from<W>(sums[k]));
    };
    walk_tile<T, K>(
        job, a.off ? p.height : p.width, each, [&](int c, const T *sums) { add(a.xt, p.first + c, sums); },
        [&](int r, const T *sums) {
            if (r < p.width) add(a.x, p.first + r, sums);
            else add(a.below, p.rows + r, sums);
        });
}

/** Bits of a number that is not negative: they have the order of numbers, and NaN is above all. */
__device__ inline unsigned long long bits_of(double value)
{
    return (unsigned long long)__double_as_longlong(fabs(value));
}
__device__ inline double from_bits(unsigned long long bits) { return __longlong_as_double((long long)bits); }

/** most[k] := the largest of it and of mine[k] of every thread of the block; all threads call. */
template <int N> __device__ inline void raise(unsigned long long *most, const unsigned long long *mine)
{
    __shared__ unsigned long long largest[N];
    if (threadIdx.x < N) largest[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        unsigned long long bits = mine[k];
        for (int mask = 16; mask; mask /= 2) {
            const unsigned long long other = __shfl_xor_sync(~0u, bits, mask);
            if (other > bits) bits = other;
        }
        if (threadIdx.x % 32 == 0) atomicMax(&largest[k], bits);
    }
    __syncthreads();
    if (threadIdx.x < N) atomicMax(&most[threadIdx.x], largest[threadIdx.x]);
}

/** Solutions as a solve would store them; norms. */
template <typename T> __global__ void __launch_bounds__(256) round_solutions(const trial_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < a.n * K) {
        a.x[i] = scalar_from<wide<T>>(scalar_from<T>(a.x[i]));
        a.xt[i] = scalar_from<wide<T>>(scalar_from<T>(a.xt[i]));
    }
    const unsigned long long sums[2] = {bits_of(i < a.n ? a.norms[i] : 0), bits_of(i < a.n ? a.norms[a.n + i] : 0)};
    raise<2>(a.outcome->norms, sums);
}

/** A block grades a panel, and adds what it contributes to the residuals to its grade's. */
template <typename T> __global__ void __launch_bounds__(THREADS) grade_panels(const trial_args<T> a)
{
    __shared__ unsigned long long most[2];
    const supernodal_panel p = a.panels[blockIdx.x];
    const int height = a.off ? p.height : p.width;
    auto entry = [&](int r, int k) {
        return r < p.width ? a.r[((int64_t)p.first + r) * K + k] : a.below[(p.rows + r) * K + k];
    };
    unsigned long long mine[2] = {0, 0};
    auto take = [](unsigned long long &largest, unsigned long long bits) {
        if (bits > largest) largest = bits;
    };
    if (threadIdx.x < 2) most[threadIdx.x] = 0;
    for (int r = threadIdx.x; r < height; r += THREADS)
#pragma unroll
        for (int k = 0; k < K; k++) {
            take(mine[0], bits_of(size_of(entry(r, k))));
            if (r < p.width) take(mine[1], bits_of(size_of(a.rt[((int64_t)p.first + r) * K + k])));
        }
    raise<2>(most, mine);
    __syncthreads();

    const double unit = a.eps * SUPERNODAL_KEPT_GROWTH;
    const double forward = from_bits(most[0]) / (from_bits(a.outcome->norms[0]) * unit),
                 backward = from_bits(most[1]) / (from_bits(a.outcome->norms[1]) * unit);
    int grade = 0;
    for (double share = LARGEST_SHARE; grade < GRADES - 1 && forward <= share && backward <= share; share /= 2) grade++;
    if (threadIdx.x == 0) {
        a.grades[blockIdx.x] = (unsigned char)grade;
        atomicAdd(&a.outcome->panels[grade], 1u);
        atomicMax(&a.outcome->backward[grade], most[1]);
    }
    wide<T> *sums = a.b + grade * a.n * K;
    for (int r = threadIdx.x; r < height; r += THREADS)
#pragma unroll
        for (int k = 0; k < K; k++) add_atomically(sums + (int64_t)a.rows[p.rows + r] * K + k, entry(r, k));
}

template <typename T> __global__ void __launch_bounds__(256) largest_sums(const trial_args<T> a)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    unsigned long long most[GRADES];
#pragma unroll
    for (int g = 0; g < GRADES; g++) most[g] = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
        wide<T> sum = zero_of<wide<T>>();
#pragma unroll
        for (int g = GRADES - 1; g >= 0; g--) {
            if (i < a.n) sum = sum + a.b[(g * a.n + i) * K + k];
            const unsigned long long bits = bits_of(size_of(sum));
            if (bits > most[g]) most[g] = bits;
        }
    }
    raise<GRADES>(a.outcome->forward, most);
}

/** Substitute as few panels as needed, of the lowest grades. */
template <typename T> __global__ void judge(const trial_args<T> a)
{
    growth_outcome *out = a.outcome;
    const double row_norm = from_bits(out->norms[0]), column_norm = from_bits(out->norms[1]);
    unsigned long long most = 0;
    double growth[GRADES];
    for (int g = GRADES - 1; g >= 0; g--) {
        if (out->backward[g] > most) most = out->backward[g];
        const double forward = from_bits(out->forward[g]) / row_norm, backward = from_bits(most) / column_norm;
        growth[g] = (backward <= forward || forward != forward ? forward : backward) / a.eps;
    }
    int least = growth[0] <= SUPERNODAL_MOST_GROWTH ? 0 : 1;
    while (least > 0 && least < GRADES && !(growth[least] <= SUPERNODAL_KEPT_GROWTH)) least++;
    out->growth = growth[0];
    out->least_grade = a.chooses ? least : 0;
    out->substituted = 0;
    for (int g = 0; g < out->least_grade; g++) out->substituted += (int32_t)out->panels[g];
}

} // namespace

size_t supernodal_trial_bytes(trine_supernodal plan)
{
    const size_t element = trine_dtype_is_complex(plan->dtype) ? 2 * sizeof(double) : sizeof(double);
    const size_t below = plan->invert == TRINE_INVERT_OFF ? (size_t)plan->S.n_rows : 0;
    return (6 * (size_t)plan->S.n + below) * K * element + 2 * (size_t)plan->S.n * sizeof(double);
}

template <typename T> static trial_args<T> arguments(trine_supernodal plan, const void *from)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const int64_t count = plan->S.n * K, below = plan->invert == TRINE_INVERT_OFF ? plan->S.n_rows * K : 0;
    wide<T> *v = static_cast<wide<T> *>(d->trial);
    return {d->panels,
            d->sources,
            d->rows,
            d->source_rows,
            from,
            static_cast<const T *>(plan->values),
            v,
            v + count,
            v + 2 * count,
            v + 3 * count,
            v + 4 * count,
            v + 5 * count,
            v + 6 * count,
            reinterpret_cast<double *>(v + 6 * count + below),
            d->outcome,
            d->grades,
            plan->S.n,
            plan->diag == TRINE_UNIT,
            plan->invert == TRINE_INVERT_OFF,
            plan->base.dtype != plan->dtype,
            plan->chooses,
            trine_dtype_eps(plan->dtype)};
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
    TRY(GPU(gpuMemsetAsync(a.b, 0, (size_t)(GRADES * a.n * K) * sizeof *a.b, s)));
    grade_panels<T><<<(unsigned)plan->S.n_panels, THREADS, 0, s>>>(a);
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
