/* The numeric phase on the GPU: values into the merged panels, and the partitioned inverse by doubling. All products
 * of one width are one launch. */
#include <cfloat>

#include "supernodal/cuda/device.cuh"

namespace {

template <typename T> struct numeric_args {
    const supernodal_panel *panels;
    const source_panel *sources;
    const int32_t *source_rows, *original;
    const void *from;
    T *values;
    unsigned *bad_row;
    bool unit, off, converts; /* converts: `from` is double where T is single */
    panel_choice substituted; /* what the copy of panels in place of their inverses is for */
};

template <typename T> __global__ void __launch_bounds__(128)
    copy_columns(const numeric_args<T> a, const supernodal_job *jobs)
{
    const supernodal_job job = jobs[blockIdx.x];
    const source_panel s = a.sources[job.panel];
    if (a.substituted.grades && !a.substituted.substitutes(s.target)) return;
    const supernodal_panel p = a.panels[s.target];
    const int32_t *rows = a.source_rows + s.rows;
    for (int c = job.a + threadIdx.x / 32; c < job.b; c += 4) {
        const int64_t from = s.values + (int64_t)c * s.height;
        T *to = a.values + p.values + (int64_t)(s.column + c) * p.ld;
        for (int r = c + threadIdx.x % 32; r < s.height; r += 32) {
            T value = load_converted<T>(a.from, from + r, a.converts);
            if (a.converts && size_of(value) > FLT_MAX && !(a.unit && r == c)) a.bad_row[1] = 0;
            if (r == c) {
                if (a.unit) value = one_of<T>();
                else if (!(size_of(value) > 0) || (a.converts && size_of(value) < FLT_MIN))
                    atomicMin(a.bad_row, (unsigned)a.original[p.first + rows[r]]);
            }
            to[rows[r]] = value;
        }
    }
}

/** A warp; lane j makes column j of the inverse by substitution. */
template <typename T> __global__ void __launch_bounds__(32)
    invert_diagonal(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int N = SUPERNODAL_SMALL;
    __shared__ T L[N][N + 1], X[N][N + 1];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    const int k = job.e - job.a, lane = threadIdx.x;
    T *D = a.values + p.values + job.a + (int64_t)job.a * p.ld;
    for (int j = 0; j < k; j++)
        if (lane < k) L[lane][j] = D[lane + (int64_t)j * p.ld];
    __syncwarp();
    if (lane < k) {
        for (int i = lane; i < k; i++) {
            T sum = i == lane ? one_of<T>() : zero_of<T>();
            for (int l = lane; l < i; l++) sum = sum - L[i][l] * X[l][lane];
            X[i][lane] = sum / L[i][i];
        }
    }
    __syncwarp();
    for (int j = 0; j < k; j++)
        if (lane >= j && lane < k) D[lane + (int64_t)j * p.ld] = X[lane][j];
}

/** A thread a row: row := row D. */
template <typename T> __global__ void __launch_bounds__(SUPERNODAL_ROWS)
    multiply_below(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int N = SUPERNODAL_SMALL;
    __shared__ T D[N][N];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int k = job.e - job.a;
    for (int i = threadIdx.x; i < N * N; i += SUPERNODAL_ROWS) {
        const int r = i % N, c = i / N;
        D[r][c] = r >= c && r < k ? P[job.a + r + (int64_t)(job.a + c) * p.ld] : zero_of<T>();
    }
    __syncthreads();
    const int row = job.x + threadIdx.x;
    if (row >= (a.off ? p.height : p.width)) return;
    T v[N];
#pragma unroll
    for (int c = 0; c < N; c++) v[c] = c < k ? P[row + (int64_t)(job.a + c) * p.ld] : zero_of<T>();
#pragma unroll
    for (int c = 0; c < N; c++) {
        T sum = zero_of<T>();
#pragma unroll
        for (int l = c; l < N; l++) multiply_add(sum, v[l], D[l][c]);
        if (c < k) P[row + (int64_t)(job.a + c) * p.ld] = sum;
    }
}

/** P(b.., a..) also to above the diagonal, transposed. */
template <typename T> __global__ void __launch_bounds__(256)
    transpose_square(const numeric_args<T> a, const supernodal_job *jobs)
{
    __shared__ T square[32][33];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int lane = threadIdx.x % 32;
    for (int c = threadIdx.x / 32; c < 32; c += 8)
        if (job.x + lane < job.e && job.y + c < job.b) square[lane][c] = P[job.x + lane + (int64_t)(job.y + c) * p.ld];
    __syncthreads();
    for (int r = threadIdx.x / 32; r < 32; r += 8)
        if (job.x + r < job.e && job.y + lane < job.b) P[job.y + lane + (int64_t)(job.x + r) * p.ld] = square[r][lane];
}

/** With [Da; M; Ga] the columns a..b-1 and [Db; Gb] the columns b..e-1, both inverted: M := -Db M, Ga := Ga - Gb M.
 *  M is read from where transpose_square put it. */
template <typename T> __global__ void __launch_bounds__(256)
    combine_columns(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int SIDE = SUPERNODAL_TILE, DEPTH = 16, EACH = 4;
    __shared__ T left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    T sum[EACH][EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) sum[i][j] = zero_of<T>();
    const int depth_end = min(job.e, job.x + SIDE); /* Db is lower triangular */
    const int height = a.off ? p.height : p.width;
    for (int k0 = job.b; k0 < depth_end; k0 += DEPTH) {
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += 256) {
            const int s = i % SIDE, k = k0 + i / SIDE, r = job.x + s, c = job.y + s;
            const bool inside = k < job.e;
            left[i / SIDE][s] = inside && r < height && r >= k ? P[r + (int64_t)k * p.ld] : zero_of<T>();
            right[i / SIDE][s] = inside && c < job.b ? P[c + (int64_t)k * p.ld] : zero_of<T>();
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            T l[EACH], r[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) l[i] = left[k][tx + 16 * i];
#pragma unroll
            for (int j = 0; j < EACH; j++) r[j] = right[k][ty + 16 * j];
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) multiply_add(sum[i][j], l[i], r[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int c = job.y + ty + 16 * j;
        if (c >= job.b) continue;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int r = job.x + tx + 16 * i;
            if (r >= height) continue;
            T *out = P + r + (int64_t)c * p.ld;
            *out = (r < job.e ? zero_of<T>() : *out) - sum[i][j];
        }
    }
}

template <typename T> __global__ void __launch_bounds__(256)
    clear_above(const numeric_args<T> a, const supernodal_job *jobs)
{
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    for (int c = job.a + threadIdx.x / 32; c < job.b; c += 8)
        for (int r = threadIdx.x % 32; r < job.a; r += 32) P[r + (int64_t)c * p.ld] = zero_of<T>();
}

/** Zeros in place of inverses that are not wanted, which have zeros above the diagonal: a tile of the trial. */
template <typename T> __global__ void __launch_bounds__(SUPERNODAL_ROWS)
    clear_inverses(const numeric_args<T> a, const supernodal_job *jobs)
{
    const supernodal_job job = jobs[blockIdx.x];
    if (!a.substituted.substitutes(job.panel)) return;
    const supernodal_panel p = a.panels[job.panel];
    const int row = job.x + threadIdx.x;
    for (int c = job.a; row < p.height && c < job.b; c++) a.values[p.values + row + (int64_t)c * p.ld] = zero_of<T>();
}

} // namespace

template <typename T> trine_status supernodal_numeric_on_gpu(trine_supernodal plan, const void *from, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    numeric_args<T> a = {d->panels,
                         d->sources,
                         d->source_rows,
                         d->original,
                         from,
                         static_cast<T *>(plan->values),
                         d->bad_row,
                         plan->diag == TRINE_UNIT,
                         plan->invert == TRINE_INVERT_OFF,
                         plan->base.dtype != plan->dtype,
                         {}};
    const bool inverts = plan->invert != TRINE_INVERT_NONE;
    trine_status status = TRINE_SUCCESS;
    TRY(GPU(gpuMemsetAsync(d->bad_row, 0xFF, 2 * sizeof *d->bad_row, s)));
    TRY(GPU(gpuMemsetAsync(plan->values, 0, (size_t)plan->S.n_values * sizeof(T), s)));
    if (inverts) TRY(supernodal_trial_begin<T>(plan, from, stream));
    for (int k = 0; k < d->n_stages; k++) {
        const supernodal_job *jobs = d->jobs + d->stages[k];
        const unsigned count = (unsigned)(d->stages[k + 1] - d->stages[k]);
        if (!count) continue;
        if (k == 0) copy_columns<T><<<count, 128, 0, s>>>(a, jobs);
        else if (k == 1) invert_diagonal<T><<<count, 32, 0, s>>>(a, jobs);
        else if (k == 2) multiply_below<T><<<count, SUPERNODAL_ROWS, 0, s>>>(a, jobs);
        else if (k == d->n_stages - 1) clear_above<T><<<count, 256, 0, s>>>(a, jobs);
        else if (k % 2 == 1) transpose_square<T><<<count, 256, 0, s>>>(a, jobs);
        else combine_columns<T><<<count, 256, 0, s>>>(a, jobs);
        TRY(GPU_LAUNCHED("the panel inversion"));
    }
    if (inverts) TRY(supernodal_trial_end<T>(plan, from, stream));
    if (plan->chooses) { /* the values as they are, where the trial says so */
        a.substituted = {d->grades, &d->outcome->least_grade};
        clear_inverses<T>
            <<<(unsigned)d->n_trial_jobs[1], SUPERNODAL_ROWS, 0, s>>>(a, d->trial_jobs + d->n_trial_jobs[0]);
        copy_columns<T><<<(unsigned)d->stages[1], 128, 0, s>>>(a, d->jobs);
        TRY(GPU_LAUNCHED("the copy of panels"));
    }
    if (plan->options.variant == TRINE_VARIANT_SPMV) TRY(supernodal_lines_numeric<T>(plan, stream));
done:
    return status;
}

template trine_status supernodal_numeric_on_gpu<float>(trine_supernodal, const void *, void *);
template trine_status supernodal_numeric_on_gpu<double>(trine_supernodal, const void *, void *);
template trine_status supernodal_numeric_on_gpu<complex_of<float>>(trine_supernodal, const void *, void *);
template trine_status supernodal_numeric_on_gpu<complex_of<double>>(trine_supernodal, const void *, void *);
