/* Steps of CG on the rows of a matrix, in one cooperative launch: the product, two sums and the updates of a step are
 * divided by meetings of all blocks, which is all that a step of few rows takes time for. Every block has the same rows
 * of all columns, which warps share out; it has copies of the columns, adds up the sums of all blocks in one order, and
 * takes the same steps. M is a diagonal or none. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_CONJUGATE_CUH
#define TRINE_KRYLOV_CONJUGATE_CUH

#include "krylov/cuda/rows_here.cuh"

namespace {

constexpr int CONJUGATE_THREADS = 512, CONJUGATE_WARPS = CONJUGATE_THREADS / 32, CONJUGATE_COLUMNS = 8;
constexpr size_t CONJUGATE_SHARED = 112 << 10; /* of rows of A, at most: as much is left to the L1 cache */

struct conjugate_arguments {
    krylov_parameters parameters;
    krylov_column *columns;
    meeting *met;
    krylov_sum *partials;            /* 2 of a column and all blocks: by turns in one half and in the other */
    decision decides;
    matrix_rows A;
    const void *diagonal;            /* of M, or of its inverse; NULL: no M */
    bool divides;
    void *r, *p, *q, *z, *d, *kept;
    int64_t n, stride, chunk_rows;
    int nrhs, steps;                 /* steps: at most */
};
static_assert(sizeof(conjugate_arguments) <= 4096, "more than a kernel takes with every driver");

/** Rows of a block: of as many blocks as there may be partial sums of a basis (MEETING_CHUNKS), a warp or more each. */
int64_t conjugate_rows(int64_t n)
{
    const int64_t each = (n + MEETING_CHUNKS - 1) / MEETING_CHUNKS;
    return (each + 31) / 32 * 32;
}

/** A block's copies of columns, and the places that their steps read and write. */
struct conjugate_room {
    krylov_column column[CONJUGATE_COLUMNS];
    krylov_scalar coefficients[CONJUGATE_COLUMNS][C_BETA + 1];
    krylov_sum sums[CONJUGATE_COLUMNS][2], of_warp[2][CONJUGATE_WARPS];
};

template <typename T> struct conjugate_block {
    const conjugate_arguments &a;
    conjugate_room &room;
    const rows_here<T> &A;
    int of_column; /* warps that share a column */
    unsigned meetings;

    __device__ int column() const { return (int)threadIdx.x / 32 / of_column; }
    __device__ bool runs(int c) const { return c < a.nrhs && room.column[c].flags & KRYLOV_RUNNING; }

    /** All blocks come here; afterwards room.sums are those of all blocks, of columns that run. */
    template <int SUMS> __device__ void meet()
    {
        const int me = (int)threadIdx.x, blocks = (int)gridDim.x, count = SUMS * a.nrhs;
        krylov_sum *const partials = a.partials + (meetings & 1) * 2 * a.nrhs * blocks;
        __syncthreads();
        if (me < count && runs(me % a.nrhs)) {
            const krylov_sum *of_warp = room.of_warp[me / a.nrhs] + me % a.nrhs * of_column;
            krylov_sum sum = of_warp[0];
            for (int w = 1; w < of_column; w++) sum = krylov_sum_add(sum, of_warp[w]);
            partials[me * blocks + blockIdx.x] = sum;
            __threadfence();
        }
        __syncthreads();
        ++meetings;
        if (me == 0) {
            __threadfence();
            atomicAdd(&a.met->arrived, 1u);
            while (*(const volatile unsigned *)&a.met->arrived < meetings * (unsigned)blocks) {}
            __threadfence();
        }
        __syncthreads();
        for (int k = me / 32; k < count; k += CONJUGATE_WARPS) {
            if (!runs(k % a.nrhs)) continue;
            const krylov_sum sum = add_partials(partials + k * blocks, blocks);
            if (me % 32 == 0) room.sums[k % a.nrhs][k / a.nrhs] = sum;
        }
        __syncthreads();
    }

    /** Of all columns that run; whether one still does. */
    __device__ bool take_step_here(const krylov_parameters &p, krylov_step step)
    {
        const int me = (int)threadIdx.x;
        __syncthreads(); /* all have read what the last step left */
        if (me < a.nrhs && runs(me)) take_step(step, &room.column[me], &p, 0);
        return __syncthreads_or(me < a.nrhs && runs(me));
    }

    template <int EACH> __device__ void take_steps()
    {
        const krylov_scalar one = krylov_real(1);
        constexpr int AT_ONCE = sizeof(T) > 8 ? 3 : 5;
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, c = column(), step = of_column * 32;
        const int64_t at = c * a.stride, begin = A.begin + warp % of_column * 32, end = A.end;
        T *const r = (T *)a.r + at, *const p = (T *)a.p + at, *const q = (T *)a.q + at, *const d = (T *)a.d + at,
                 *const kept = (T *)a.kept + at, *const z = a.diagonal ? (T *)a.z + at : r;
        const T *const diagonal = (const T *)a.diagonal;
        krylov_parameters parameters = a.parameters;
        if (blockIdx.x) parameters.history = 0; /* one block writes it */
        for (int s = 0; s < a.steps; s++) {
            krylov_sum first = {0, 0, 0}, second = {0, 0, 0};
            int64_t stop = runs(c) ? A.end : 0;
            for (int64_t tile = begin; tile < stop; tile += EACH * step) {
                T x[EACH], y[EACH];
                A.template product<EACH, AT_ONCE>(tile + lane, step, p, y);
#pragma unroll
                for (int e = 0; e < EACH; e++) {
                    const int64_t i = tile + lane + e * step;
                    x[e] = i < end ? p[i] : zero_of<T>();
                    if (i < end) q[i] = y[e];
                }
                first = krylov_sum_add(first, warp_dot(x, y));
            }
            if (lane == 0) room.of_warp[0][warp] = first;
            meet<1>();
            if (!take_step_here(parameters, KRYLOV_CG_ALPHA)) return;

            first = {0, 0, 0};
            stop = runs(c) ? A.end : 0;
            const krylov_scalar minus_alpha = stop ? room.coefficients[c][C_MINUS_ALPHA] : one;
            for (int64_t tile = begin; tile < stop; tile += EACH * step) {
                T x[EACH], y[EACH];
#pragma unroll
                for (int e = 0; e < EACH; e++) {
                    const int64_t i = tile + lane + e * step;
                    x[e] = y[e] = zero_of<T>();
                    if (i >= end) continue;
                    r[i] = x[e] = combined(minus_alpha, q[i], one, r[i], true);
                    if (diagonal) z[i] = y[e] = a.divides ? x[e] / diagonal[i] : x[e] * diagonal[i];
                }
                first = krylov_sum_add(first, warp_dot(x, x));
                if (diagonal) second = krylov_sum_add(second, warp_dot(x, y));
            }
            if (lane == 0) room.of_warp[0][warp] = first, room.of_warp[1][warp] = second;
            meet<2>();
            if (!take_step_here(parameters, KRYLOV_CG_BETA)) return;

            if (runs(c)) {
                const krylov_scalar alpha = room.coefficients[c][C_ALPHA], beta = room.coefficients[c][C_BETA];
                const bool keeps = room.column[c].flags & KRYLOV_KEEPS;
#pragma unroll EACH
                for (int64_t i = begin + lane; i < end; i += step) {
                    const T old = d[i], x = p[i];
                    if (keeps) kept[i] = old;
                    d[i] = combined(alpha, x, one, old, true);
                    p[i] = combined(beta, x, one, z[i], true);
                }
            }
            const bool any = take_step_here(parameters, KRYLOV_ADVANCE);
            meet<0>();
            if (!any) return;
        }
    }
};

/** All blocks are on the device. EACH: rows that a thread has under way. */
template <typename T, int EACH> __global__ void __launch_bounds__(CONJUGATE_THREADS, 1)
    conjugate_steps(const __grid_constant__ conjugate_arguments a)
{
    __shared__ conjugate_room room;
    const int me = (int)threadIdx.x;
    for (int c = 0; c < a.nrhs; c++) copy_column(&room.column[c], &a.columns[c]);
    krylov_column *const mine = &room.column[me < a.nrhs ? me : 0];
    krylov_scalar *const coefficients = mine->coefficients;
    krylov_sum *const sums = mine->sums;
    if (__syncthreads_or(me < a.nrhs && mine->flags & KRYLOV_RUNNING)) {
        const int64_t begin = blockIdx.x * a.chunk_rows;
        const rows_here<T> A(a.A, begin, begin + a.chunk_rows < a.n ? begin + a.chunk_rows : a.n, dynamic_shared(),
                             CONJUGATE_THREADS);
        if (me < a.nrhs) {
            for (int k = 0; k <= C_BETA; k++) room.coefficients[me][k] = coefficients[k];
            mine->coefficients = room.coefficients[me], mine->sums = room.sums[me];
        }
        __syncthreads();
        conjugate_block<T> block = {a, room, A, CONJUGATE_WARPS / a.nrhs, 0};
        block.template take_steps<EACH>();
        __syncthreads();
        if (me < a.nrhs) {
            mine->coefficients = coefficients, mine->sums = sums;
            for (int k = 0; k <= C_BETA && !blockIdx.x; k++) coefficients[k] = room.coefficients[me][k];
        }
        if (me == 0 && atomicAdd(&a.met->left, 1u) == gridDim.x - 1) a.met->arrived = a.met->left = 0;
        __syncthreads();
        for (int c = 0; c < a.nrhs && !blockIdx.x; c++) copy_column(&a.columns[c], &room.column[c]);
    }
    if (me < a.nrhs && blockIdx.x == 0) decide_after(a.decides, &a.columns[me]);
}

/** For so many steps at most; rows: of A; shared: bytes of shared memory for them. */
conjugate_arguments conjugate_of(const struct krylov_work *w, const struct spmv_rows *rows, int steps, size_t shared)
{
    conjugate_arguments a = {};
    a.parameters = w->plan->parameters;
    a.columns = w->own_columns;
    a.met = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    a.partials = (krylov_sum *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    a.A = matrix_of(rows);
    if (w->plan->parameters.has_M) a.diagonal = w->plan->M[0]->diagonal, a.divides = w->plan->M[0]->divides;
    a.r = w->V[V_R], a.p = w->V[V_P], a.q = w->V[V_Q], a.z = w->plan->parameters.has_M ? w->V[V_Z] : nullptr;
    a.d = w->d, a.kept = w->kept;
    a.n = w->plan->base.n, a.stride = w->stride, a.chunk_rows = conjugate_rows(a.n);
    a.A.room = room_of_rows(trine_dtype_size(w->plan->inner), shared, a.chunk_rows, rows);
    a.nrhs = (int)w->nrhs, a.steps = steps;
    return a;
}

} // namespace

#endif
