/* Many systems on the GPU: small ones by a thread each, medium ones by a block each, in shared memory; longer ones
 * are brought one below the other. */
#include <algorithm>

#include "core/gpu_limits.h"
#include "tridiagonal/batch/short_systems.h"
#include "tridiagonal/common/hierarchy.h"
#include "tridiagonal/gtsv/cuda/thesis/fused.cuh"

namespace {

constexpr int STAGING = 128;          /* threads of a block that copies SYSTEMS (32 or 16) systems, which its first
                                         warp solves */
/* from row to row in shared memory: no bank conflicts along either direction */
__host__ __device__ constexpr int pitch_of(int systems) { return systems + 1; }
/** Blocks of solve_staged on a multiprocessor at once, registers permitting: what is rarely called must not take
 *  more of them. */
template <typename T> constexpr int STAGED_BLOCKS = sizeof(T) == 4            ? 10
                                                    : sizeof(T) == 16         ? 4
                                                    : sizeof(real_of<T>) == 8 ? 7
                                                                              : 8;
constexpr size_t MOST_SHARED = 200 * 1024;
constexpr int INTERLEAVED = 128;      /* threads of a block where each reads for itself */
constexpr int TILE = 32, TILE_Y = 8, COPY_THREADS = 256;

/** gtsv_batch for the device. */
template <typename T> struct batch_of {
    int64_t n, systems;
    int pivot;
    bool cyclic, transposed, conjugate;
    real_of<T> epsilon;
    float lost; /* fused_lost */
    const T *bands[3], *D;
    T *X;
    trine_strides matrix, vector;
};

/** Coefficient k (0, 1, 2: below, on, above the diagonal) in row i of op(A_s); the corners only where they are used. */
template <typename T> __device__ inline T coefficient(const batch_of<T> &batch, int64_t s, int64_t i, int k)
{
    const int64_t column = i + k - 1;
    if (!batch.cyclic && (column < 0 || column >= batch.n)) return T{};
    const int64_t row = !batch.transposed ? i : column < 0 ? batch.n - 1 : column >= batch.n ? 0 : column;
    const T value = batch.bands[batch.transposed ? 2 - k : k][row * batch.matrix.row + s * batch.matrix.system];
    return batch.conjugate ? conjugate_of(value) : value;
}

/* ------------------------------------------------------------- small systems */

/** One thread's system: row i at a[i * PITCH] and so on. */
template <typename T, int PITCH> struct thread_rows {
    T *a, *b, *c, *d;
    scheme_of<T> scheme;
};

/** The row that an elimination carries on. */
template <typename T> struct carried_of {
    T spike, diag, right, rhs;
    real_of<T> weight, scale;
    T factor, inverse, u1, u2, pivot_rhs; /* of the last pivot row */
    bool exchanged;
    real_of<T> part = 1; /* of the row added last, its multiple in this one */
    __device__ carried_of(const scheme_of<T> &scheme, T below, T on, T above, T d)
        : spike(below), diag(on), right(above), rhs(d)
    {
        scale = rpts_scale(scheme.pivot, below, on, above, &weight);
    }
    __device__ void eliminate(const scheme_of<T> &scheme, T below, T on, T above, T d)
    {
        real_of<T> weight_row;
        const real_of<T> scale_row = rpts_scale(scheme.pivot, below, on, above, &weight_row);
        rpts_eliminate(&spike, &diag, &right, &weight, &scale, below, on, above, weight_row, scale_row, scheme.epsilon,
                       &exchanged, &factor, &inverse, &u1, &u2);
        rpts_eliminate_rhs(exchanged, factor, d, &rhs, &pivot_rhs);
        part = exchanged ? size_of(factor) : real_of<T>(1);
    }
    /** Is that row, of this scale, no longer to be seen? */
    __device__ bool is_lost(real_of<T> scale_of_row, float lost) const
    {
        return !(fmax(fmax(size_of(spike), size_of(diag)), size_of(right)) < lost * part * scale_of_row);
    }
};

/** Unknowns from .. to - 1, those before (in the right-hand side already) and `next` behind them known: pivot rows
 *  replace the rows just eliminated as x[j] = d[j] - b[j] x[j+1] - c[j] x[j+2], then d becomes x. Returns what the
 *  last row was worth. */
template <typename T, int PITCH> __device__ inline real_of<T> solve_rows(const thread_rows<T, PITCH> &r, int from,
                                                                         int to, T first_rhs, T next)
{
    int at = from * PITCH;
    carried_of<T> carried(r.scheme, r.a[at], r.b[at], r.c[at], first_rhs);
    for (int j = from + 1; j < to; j++, at += PITCH) {
        carried.eliminate(r.scheme, r.a[at + PITCH], r.b[at + PITCH], r.c[at + PITCH], r.d[at + PITCH]);
        r.b[at] = carried.inverse * carried.u1;
        r.c[at] = carried.inverse * carried.u2;
        r.d[at] = carried.inverse * carried.pivot_rhs;
    }
    T x = reciprocal(rpts_safe_pivot(rpts_above_noise(carried.diag, r.scheme.epsilon), carried.scale)) *
          (carried.rhs - carried.right * next),
      after = next;
    r.d[at] = x;
    while (at > from * PITCH) {
        at -= PITCH;
        const T before = r.d[at] - r.b[at] * x - r.c[at] * after;
        after = x;
        r.d[at] = x = before;
    }
    return size_of(carried.diag) * carried.weight;
}

/** Do row (near, own, far) with right-hand side d, of known unknowns x_near and x_own, and pivot rows, which say
 *  x_far, disagree? */
template <typename T> __device__ inline bool disagree(T near, T own, T far, T d, T x_near, T x_own, T x_far, float lost)
{
    constexpr real_of<T> rounding = precision_of<real_of<T>>::ROUNDING_UNIT;
    const T p = near * x_near, q = own * x_own, r = far * x_far;
    return !(size_of(d - p - q - r) <= lost * rounding * (size_of(d) + size_of(p) + size_of(q) + size_of(r)));
}

/** n >= 3: both eliminations give two rows for x[0] and x[n-1]; then the others. Where row 0 or row n - 1 has the
 *  larger coefficient, x[1] and x[n-2] come from there: the rows between need not be regular in themselves. True if
 *  digits may be lost: where these rows are nearly the same (lost: fused_lost), or rows disagree. */
template <typename T, int PITCH> __device__ inline bool solve_cyclic(const thread_rows<T, PITCH> &r, int n, float lost)
{
    const int end = (n - 1) * PITCH;
    carried_of<T> down(r.scheme, r.a[PITCH], r.b[PITCH], r.c[PITCH], r.d[PITCH]);
    for (int at = 2 * PITCH; at <= end; at += PITCH) down.eliminate(r.scheme, r.a[at], r.b[at], r.c[at], r.d[at]);
    carried_of<T> up(r.scheme, r.c[end - PITCH], r.b[end - PITCH], r.a[end - PITCH], r.d[end - PITCH]);
    for (int at = end - 2 * PITCH; at >= 0; at -= PITCH) up.eliminate(r.scheme, r.c[at], r.b[at], r.a[at], r.d[at]);
    carried_of<T> both(r.scheme, T{}, up.diag, up.right + up.spike, up.rhs);
    both.eliminate(r.scheme, down.spike + down.right, down.diag, T{}, down.rhs);
    const T last = reciprocal(rpts_safe_pivot(both.diag, both.scale)) * both.rhs;
    const T first = both.inverse * (both.pivot_rhs - both.u1 * last);
    real_of<T> weight_0, weight_1, weight_2, weight_n;
    const T a0 = r.a[0], b0 = r.b[0], c0 = r.c[0], d0 = r.d[0], an = r.a[end], bn = r.b[end], cn = r.c[end],
            dn = r.d[end];
    const real_of<T> scale_0 = rpts_scale(r.scheme.pivot, a0, b0, c0, &weight_0),
                     scale_n = rpts_scale(r.scheme.pivot, an, bn, cn, &weight_n);
    rpts_scale(r.scheme.pivot, r.a[PITCH], r.b[PITCH], r.c[PITCH], &weight_1);
    rpts_scale(r.scheme.pivot, r.a[2 * PITCH], r.b[2 * PITCH], r.c[2 * PITCH], &weight_2);
    const real_of<T> diag_1 = size_of(r.b[PITCH]) * weight_1, below_1 = size_of(r.a[2 * PITCH]) * weight_2;
    const real_of<T> last_pivot = solve_rows(r, 1, n - 1, r.d[PITCH] - r.a[PITCH] * first, last);
    const bool is_lost = lost < INFINITY && ((down.is_lost(scale_n, lost) && up.is_lost(scale_0, lost)) ||
                                             disagree(a0, b0, c0, d0, last, first, r.d[PITCH], lost) ||
                                             disagree(cn, bn, an, dn, first, last, r.d[end - PITCH], lost));
    if (size_of(an) * weight_n > last_pivot)
        r.d[end - PITCH] = reciprocal(rpts_safe_pivot(an, scale_n)) * (dn - bn * last - cn * first);
    if (size_of(c0) * weight_0 > (diag_1 > below_1 ? diag_1 : below_1))
        r.d[PITCH] = reciprocal(rpts_safe_pivot(c0, scale_0)) * (d0 - b0 * first - a0 * last);
    r.d[0] = first;
    r.d[end] = last;
    return is_lost;
}

/** System s of the batch once more, carefully, by a warp; the solution goes to x[i * PITCH]. */
template <typename T, int PITCH> __device__ __noinline__ void
solve_cyclic_carefully(const batch_of<T> &batch, int64_t s, T (&row)[4][SMALL_ROWS], T *x)
{
    constexpr int EACH = 4;
    const int n = (int)batch.n, lane = (int)threadIdx.x;
    for (int i = lane; i < n; i += WARP) {
        for (int k = 0; k < 3; k++) row[k][i] = coefficient(batch, s, i, k);
        row[3][i] = batch.D[i * batch.vector.row + s * batch.vector.system];
    }
    __syncwarp();
    const system_of<T> A = {n, 0, 0, true, false, row[0], row[1], row[2]};
    const lane_range<T> rows = range_of_lane<EACH>(A, lane * EACH, 0, 1);
    const given_columns<T> rhs = {{row[3], n}, {}};
    const wide_union<T, 1> all = reduce_carefully<T, 1>(A, rhs, rows);
    solve_carefully<T, 1, EACH>(A, rhs, {row[3], n}, rows, 1, close_carefully(all, true));
    __syncwarp();
    for (int i = lane; i < n; i += WARP) x[i * PITCH] = row[3][i];
    __syncwarp();
}

/** Visit the elements of `systems` systems of n rows in the order they lie in memory, one thread beside the other. */
template <int SYSTEMS, typename V> __device__ inline void for_elements(int n, int systems, bool by_rows, V visit)
{
    const int tid = (int)threadIdx.x;
    int i = by_rows ? tid % n : tid / SYSTEMS, s = by_rows ? tid / n : tid % SYSTEMS;
    const int rows_on = by_rows ? STAGING % n : STAGING / SYSTEMS, systems_on = by_rows ? STAGING / n : 0;
#pragma unroll 4
    for (int k = tid; k < n * SYSTEMS; k += STAGING) {
        if (s < systems) visit(i, s);
        i += rows_on, s += systems_on;
        if (by_rows && i >= n) i -= n, s++;
    }
}

/** Contiguous or cyclic systems: a block brings SYSTEMS of them into shared memory, and solves them by a thread
 *  each. */
template <typename T, int SYSTEMS> __global__ void __launch_bounds__(STAGING, STAGED_BLOCKS<T>)
    solve_staged(const batch_of<T> batch)
{
    __shared__ T row[4][SMALL_ROWS];
    constexpr int PITCH = pitch_of(SYSTEMS);
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int n = (int)batch.n, tid = (int)threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * SYSTEMS;
    const int systems = batch.systems - first < SYSTEMS ? (int)(batch.systems - first) : SYSTEMS;
    T *a = (T *)shared_memory, *b = a + n * PITCH, *c = b + n * PITCH, *d = c + n * PITCH;
    const bool matrix_by_rows = batch.matrix.row < batch.matrix.system,
               vector_by_rows = batch.vector.row < batch.vector.system;
    for_elements<SYSTEMS>(n, systems, matrix_by_rows, [&](int i, int s) {
        a[i * PITCH + s] = coefficient(batch, first + s, i, 0);
        b[i * PITCH + s] = coefficient(batch, first + s, i, 1);
        c[i * PITCH + s] = coefficient(batch, first + s, i, 2);
    });
    for_elements<SYSTEMS>(n, systems, vector_by_rows, [&](int i, int s) {
        d[i * PITCH + s] = batch.D[i * batch.vector.row + (first + s) * batch.vector.system];
    });
    __syncthreads();
    bool again = false;
    if (tid < systems) {
        const thread_rows<T, PITCH> r = {a + tid, b + tid, c + tid, d + tid, {batch.pivot, batch.epsilon}};
        if (batch.cyclic && n == 1) r.b[0] = r.a[0] + r.b[0] + r.c[0], r.a[0] = r.c[0] = T{};
        if (batch.cyclic && n == 2) { /* both neighbours of a row are the other one */
            r.c[0] = r.c[0] + r.a[0], r.a[PITCH] = r.a[PITCH] + r.c[PITCH];
            r.a[0] = r.c[PITCH] = T{};
        }
        if (batch.cyclic && n > 2) again = solve_cyclic(r, n, batch.lost);
        else solve_rows(r, 0, n, r.d[0], T{});
    }
    if (tid < WARP)
        for (unsigned left = __ballot_sync(~0u, again); left; left &= left - 1) {
            const int s = __ffs(left) - 1;
            solve_cyclic_carefully<T, PITCH>(batch, first + s, row, d + s);
        }
    __syncthreads();
    for_elements<SYSTEMS>(n, systems, vector_by_rows, [&](int i, int s) {
        batch.X[i * batch.vector.row + (first + s) * batch.vector.system] = d[i * PITCH + s];
    });
}

/** Interleaved systems that are not cyclic: every thread reads its own rows, neighbouring threads neighbouring
 *  elements, a few rows ahead of the elimination. Pivot rows x[j] = g[j] - h1[j] x[j+1] - h2[j] x[j+2] wait in
 *  shared memory. */
template <typename T> __global__ void __launch_bounds__(INTERLEAVED) solve_interleaved(const batch_of<T> batch)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int AHEAD = 4;
    const int n = (int)batch.n, tid = (int)threadIdx.x;
    const int64_t s = (int64_t)blockIdx.x * INTERLEAVED + tid, row = batch.matrix.row;
    if (s >= batch.systems) return;
    T *g = (T *)shared_memory + tid, *h1 = g + n * INTERLEAVED, *h2 = h1 + n * INTERLEAVED;
    /* row i of the transposed matrix: c[i-1], b[i], a[i+1] */
    const T *lower = batch.bands[batch.transposed ? 2 : 0] + s * batch.matrix.system - (batch.transposed ? row : 0);
    const T *upper = batch.bands[batch.transposed ? 0 : 2] + s * batch.matrix.system + (batch.transposed ? row : 0);
    const T *diag = batch.bands[1] + s * batch.matrix.system, *d = batch.D + s * batch.vector.system;
    T a[AHEAD], b[AHEAD], c[AHEAD], rhs[AHEAD];
    const auto read = [&](int from) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = from + k;
            a[k] = i > 0 && i < n ? lower[i * row] : T{};
            b[k] = i < n ? diag[i * row] : one_of<T>();
            c[k] = i < n - 1 ? upper[i * row] : T{};
            rhs[k] = i < n ? d[i * batch.vector.row] : T{};
            if (batch.conjugate) a[k] = conjugate_of(a[k]), b[k] = conjugate_of(b[k]), c[k] = conjugate_of(c[k]);
        }
    };
    const scheme_of<T> scheme = {batch.pivot, batch.epsilon};
    read(0);
    carried_of<T> carried(scheme, a[0], b[0], c[0], rhs[0]);
    int slot = 0;
    for (int from = 1; from < n; from += AHEAD) {
        T a_now[AHEAD], b_now[AHEAD], c_now[AHEAD], rhs_now[AHEAD];
        if (from == 1) read(1);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) a_now[k] = a[k], b_now[k] = b[k], c_now[k] = c[k], rhs_now[k] = rhs[k];
        if (from + AHEAD < n) read(from + AHEAD);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (from + k >= n) break;
            carried.eliminate(scheme, a_now[k], b_now[k], c_now[k], rhs_now[k]);
            h1[slot] = carried.inverse * carried.u1;
            h2[slot] = carried.inverse * carried.u2;
            g[slot] = carried.inverse * carried.pivot_rhs;
            slot += INTERLEAVED;
        }
    }
    T x = reciprocal(rpts_safe_pivot(rpts_above_noise(carried.diag, batch.epsilon), carried.scale)) * carried.rhs,
      after = T{};
    T *out = batch.X + (n - 1) * batch.vector.row + s * batch.vector.system;
    *out = x;
    while (slot > 0) {
        slot -= INTERLEAVED;
        out -= batch.vector.row;
        const T before = g[slot] - h1[slot] * x - h2[slot] * after;
        after = x;
        *out = x = before;
    }
}

/* -------------------------------------------------------------- long systems */

/** Arrays 0, 1, 2: bands of op(A), or one array: the vectors. */
template <typename T> struct packed_of {
    T *array[3];
    bool vectors;
};

template <typename T> __device__ inline T element_of(const batch_of<T> &batch, const packed_of<T> &to, int64_t s,
                                                     int64_t i)
{
    return to.vectors ? batch.D[i * batch.vector.row + s * batch.vector.system]
                      : coefficient(batch, s, i, (int)blockIdx.y);
}

/** Array blockIdx.y where rows are next to each other. */
template <typename T> __global__ void pack_rows(const batch_of<T> batch, const packed_of<T> to, int64_t count)
{
    for (int64_t k = blockIdx.x * (int64_t)COPY_THREADS + threadIdx.x; k < count;
         k += (int64_t)gridDim.x * COPY_THREADS)
        to.array[blockIdx.y][k] = element_of(batch, to, k / batch.n, k % batch.n);
}

/** Array blockIdx.y where systems are next to each other: transposed in tiles. */
template <typename T> __global__ void pack_systems(const batch_of<T> batch, const packed_of<T> to, int64_t row_tiles,
                                                   int64_t systems)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t row = blockIdx.x % row_tiles * TILE, system = blockIdx.x / row_tiles * TILE;
    for (int y = (int)threadIdx.y; y < TILE; y += TILE_Y)
        if (row + y < batch.n && system + threadIdx.x < systems)
            tile[y][threadIdx.x] = element_of(batch, to, system + threadIdx.x, row + y);
    __syncthreads();
    for (int y = (int)threadIdx.y; y < TILE; y += TILE_Y)
        if (row + threadIdx.x < batch.n && system + y < systems)
            to.array[blockIdx.y][(system + y) * batch.n + row + threadIdx.x] = tile[threadIdx.x][y];
}

template <typename T> __global__ void unpack_rows(const batch_of<T> batch, const T *x, int64_t count)
{
    for (int64_t k = blockIdx.x * (int64_t)COPY_THREADS + threadIdx.x; k < count;
         k += (int64_t)gridDim.x * COPY_THREADS)
        batch.X[k % batch.n * batch.vector.row + k / batch.n * batch.vector.system] = x[k];
}

template <typename T> __global__ void unpack_systems(const batch_of<T> batch, const T *x, int64_t row_tiles)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t row = blockIdx.x % row_tiles * TILE, system = blockIdx.x / row_tiles * TILE;
    for (int y = (int)threadIdx.y; y < TILE; y += TILE_Y)
        if (row + threadIdx.x < batch.n && system + y < batch.systems)
            tile[threadIdx.x][y] = x[(system + y) * batch.n + row + threadIdx.x];
    __syncthreads();
    for (int y = (int)threadIdx.y; y < TILE; y += TILE_Y)
        if (row + y < batch.n && system + threadIdx.x < batch.systems)
            batch.X[(row + y) * batch.vector.row + (system + threadIdx.x) * batch.vector.system] = tile[y][threadIdx.x];
}

/* ------------------------------------------------------------------ launches */

template <typename T> batch_of<T> typed(const gtsv_batch *b)
{
    return {b->n,
            b->systems,
            b->o.pivot,
            b->o.cyclic,
            b->o.op != TRINE_N,
            b->o.op == TRINE_H,
            (real_of<T>)b->o.epsilon,
            fused_lost(b->o.pivot, b->o.epsilon, b->n),
            {(const T *)b->a, (const T *)b->b, (const T *)b->c},
            (const T *)b->D,
            (T *)b->X,
            b->matrix,
            b->vector};
}

template <typename T> trine_status launch_small(void (*kernel)(batch_of<T>), int systems, int threads, size_t bytes,
                                                gpuStream_t stream, const batch_of<T> &batch)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_gpu_prefer_shared((const void *)kernel, bytes));
    kernel<<<(unsigned)((batch.systems + systems - 1) / systems), (unsigned)threads, bytes, stream>>>(batch);
    TRY(GPU_LAUNCHED("gtsv_batch"));
done:
    return status;
}

template <typename T> constexpr size_t staged_bytes(int64_t n, int systems)
{
    return 4 * (size_t)n * pitch_of(systems) * sizeof(T);
}
/** Beside those: solve_cyclic_carefully's. */
template <typename T> constexpr size_t STAGED_MORE = 4 * SMALL_ROWS * sizeof(T);

/** Systems whose rows are next to each other, a block each, or a cluster of blocks. */
template <typename T> trine_status medium_of(gpuStream_t stream, const gtsv_batch *b)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = fused_bytes<T>((int)b->n, b->o.cyclic);
    const scheme_of<T> scheme = {b->o.pivot, (real_of<T>)b->o.epsilon};
    gtsv_call<T> call = {};
    call.A = op_of<T>(&b->o, b->n, b->a, b->b, b->c);
    call.p = tiled_pivoting(&b->o, b->n);
    call.nrhs = b->systems, call.D = {{(const T *)b->D, b->vector.system}, {}}, call.X = {(T *)b->X, b->vector.system};
    call.route = ROUTE_TILES, call.stream = stream;
    TRY(trine_gpu_limits(&call.limits));
    if (b->o.epsilon == 0 && b->o.path != TRINE_GTSV_STAGES && takes_systems<T>(call))
        return solve_systems<T>(call, b->matrix.system);
    TRY(trine_gpu_allow_shared((const void *)solve_fused<T>, bytes));
    solve_fused<T><<<(unsigned)b->systems, FUSED_THREADS, bytes, stream>>>(
        call.A, b->matrix.system, scheme, fused_lost(b->o.pivot, b->o.epsilon, b->n), call.D, call.X);
    TRY(GPU_LAUNCHED("solve_fused"));
done:
    return status;
}

/** As many systems of a block as fit. */
template <typename T> trine_status small_of(gpuStream_t stream, const gtsv_batch *b)
{
    trine_status status = TRINE_SUCCESS;
    const bool interleaved = (b->matrix.system == 1 || b->matrix.system == 0) && b->vector.system == 1 && !b->o.cyclic;
    const size_t interleaved_bytes = 3 * (size_t)b->n * INTERLEAVED * sizeof(T);
    gpu_limits limits;
    TRY(trine_gpu_limits(&limits));
    if (interleaved && interleaved_bytes <= std::min(MOST_SHARED, (size_t)limits.shared_bytes))
        return launch_small(solve_interleaved<T>, INTERLEAVED, INTERLEAVED, interleaved_bytes, stream, typed<T>(b));
    static_assert(staged_bytes<T>(SMALL_ROWS, 16) + STAGED_MORE<T> <= GPU_LEAST_SHARED_BYTES, "fits any device");
    if (staged_bytes<T>(b->n, 32) + STAGED_MORE<T> <= (size_t)limits.shared_bytes)
        return launch_small(solve_staged<T, 32>, 32, STAGING, staged_bytes<T>(b->n, 32), stream, typed<T>(b));
    return launch_small(solve_staged<T, 16>, 16, STAGING, staged_bytes<T>(b->n, 16), stream, typed<T>(b));
done:
    return status;
}

unsigned copy_blocks(int64_t count)
{
    const int64_t blocks = (count + COPY_THREADS - 1) / COPY_THREADS;
    return (unsigned)(blocks < 8192 ? blocks : 8192);
}

template <typename T> trine_status pack_of(gpuStream_t stream, const gtsv_batch *b, void *const *to)
{
    trine_status status = TRINE_SUCCESS;
    const batch_of<T> batch = typed<T>(b);
    const int64_t row_tiles = (b->n + TILE - 1) / TILE;
    for (int k = 0; k < 2; k++) { /* bands and vectors may lie differently */
        const trine_strides strides = k ? b->vector : b->matrix;
        const int64_t systems = strides.system ? b->systems : 1;
        const packed_of<T> arrays = {{(T *)to[k ? 3 : 0], (T *)to[1], (T *)to[2]}, k == 1};
        const unsigned count = k ? 1 : 3;
        if (strides.row < strides.system || systems == 1)
            pack_rows<T>
                <<<dim3(copy_blocks(b->n * systems), count), COPY_THREADS, 0, stream>>>(batch, arrays, b->n * systems);
        else
            pack_systems<T>
                <<<dim3((unsigned)(row_tiles * ((systems + TILE - 1) / TILE)), count), dim3(TILE, TILE_Y), 0, stream>>>(
                    batch, arrays, row_tiles, systems);
        TRY(GPU_LAUNCHED("pack"));
    }
done:
    return status;
}

template <typename T> trine_status unpack_of(gpuStream_t stream, const gtsv_batch *b, const void *x)
{
    const int64_t row_tiles = (b->n + TILE - 1) / TILE;
    if (b->vector.row < b->vector.system || b->systems == 1)
        unpack_rows<T>
            <<<copy_blocks(b->n * b->systems), COPY_THREADS, 0, stream>>>(typed<T>(b), (const T *)x, b->n * b->systems);
    else
        unpack_systems<T><<<(unsigned)(row_tiles * ((b->systems + TILE - 1) / TILE)), dim3(TILE, TILE_Y), 0, stream>>>(
            typed<T>(b), (const T *)x, row_tiles);
    return GPU_LAUNCHED("unpack");
}

trine_status solve_small_systems(void *stream, const gtsv_batch *b)
{
    static trine_status (*const run[])(gpuStream_t, const gtsv_batch *) = {
        nullptr, small_of<float>, small_of<double>, small_of<complex_of<float>>, small_of<complex_of<double>>};
    return run[b->t]((gpuStream_t)stream, b);
}

trine_status solve_medium(void *stream, const gtsv_batch *b)
{
    static trine_status (*const run[])(gpuStream_t, const gtsv_batch *) = {
        nullptr, medium_of<float>, medium_of<double>, medium_of<complex_of<float>>, medium_of<complex_of<double>>};
    return run[b->t]((gpuStream_t)stream, b);
}

trine_status pack(void *stream, const gtsv_batch *batch, void *a, void *b, void *c, void *d)
{
    static trine_status (*const run[])(gpuStream_t, const gtsv_batch *, void *const *) = {
        nullptr, pack_of<float>, pack_of<double>, pack_of<complex_of<float>>, pack_of<complex_of<double>>};
    void *const to[] = {a, b, c, d};
    return run[batch->t]((gpuStream_t)stream, batch, to);
}

trine_status unpack(void *stream, const gtsv_batch *b, const void *x)
{
    static trine_status (*const run[])(gpuStream_t, const gtsv_batch *, const void *) = {
        nullptr, unpack_of<float>, unpack_of<double>, unpack_of<complex_of<float>>, unpack_of<complex_of<double>>};
    return run[b->t]((gpuStream_t)stream, b, x);
}

} // namespace

extern "C" const struct gtsv_batch_backend gtsv_batch_cuda = {solve_small_systems, solve_medium, pack, unpack};
