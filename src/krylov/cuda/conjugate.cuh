/* Steps of CG on the rows of a matrix, in one cooperative launch: the product, two sums and the updates of a step are
 * divided by meetings of all blocks, which is all that a step of few rows takes time for. Every block has a copy of the
 * column, adds up the sums of all blocks in the same order, and takes the same steps. For one column, and M a diagonal
 * or none. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_CONJUGATE_CUH
#define TRINE_KRYLOV_CONJUGATE_CUH

#include "krylov/cuda/program.cuh"
#include "spmv/rows_of.h"

namespace {

struct conjugate_arguments {
    krylov_parameters parameters;
    krylov_column *column;
    meeting *met;
    krylov_sum *partials;            /* 4 of all blocks: two sums, by turns in one half and in the other */
    decision decides;
    const void *offsets;
    bool wide;                       /* offsets have 64 bits */
    const int32_t *columns;
    const void *values;
    const void *diagonal;            /* of M, or of its inverse; NULL: no M */
    bool divides;
    void *r, *p, *q, *z, *d, *kept;
    int64_t n, chunk_rows;
    int steps;                       /* at most */
};
static_assert(sizeof(conjugate_arguments) <= 4096, "more than a kernel takes with every driver");

constexpr int CONJUGATE_THREADS = 512, CONJUGATE_EACH = 2, CONJUGATE_TILE = CONJUGATE_THREADS * CONJUGATE_EACH;

/** Rows of a block: of as many blocks as there may be partial sums of a basis (MEETING_CHUNKS), a warp or more each. */
int64_t conjugate_rows(int64_t n)
{
    const int64_t each = (n + MEETING_CHUNKS - 1) / MEETING_CHUNKS;
    return (each + 31) / 32 * 32;
}

/** What other blocks have written, by the L2 cache. */
template <typename T> __device__ T load_shared(const T *p)
{
    if constexpr (scalar<T>::is_complex) return {__ldcg(&p->x), __ldcg(&p->y)};
    else return __ldcg(p);
}

/** A block's copy of the column, and the places that its steps read and write. */
struct conjugate_room {
    krylov_column column;
    krylov_scalar coefficients[C_BETA + 1];
    krylov_sum sums[2], of_warp[2][CONJUGATE_THREADS / 32];
};

/** All blocks come here; afterwards room.sums are those of all blocks. */
template <int SUMS> __device__ void meet(const conjugate_arguments &a, unsigned *meetings, conjugate_room &room)
{
    const int me = (int)threadIdx.x, blocks = (int)gridDim.x;
    krylov_sum *const partials = a.partials + (*meetings & 1) * 2 * blocks;
    __syncthreads();
    if (me < SUMS) {
        krylov_sum sum = room.of_warp[me][0];
        for (int w = 1; w < CONJUGATE_THREADS / 32; w++) sum = krylov_sum_add(sum, room.of_warp[me][w]);
        partials[me * blocks + blockIdx.x] = sum;
        __threadfence();
    }
    __syncthreads();
    ++*meetings;
    if (me == 0) {
        __threadfence();
        atomicAdd(&a.met->arrived, 1u);
        while (*(const volatile unsigned *)&a.met->arrived < *meetings * (unsigned)blocks) {}
        __threadfence();
    }
    __syncthreads();
    if (me / 32 < SUMS) {
        const krylov_sum sum = add_partials(partials + me / 32 * blocks, blocks);
        if (me % 32 == 0) room.sums[me / 32] = sum;
    }
    __syncthreads();
}

/** Whether the column still runs. */
__device__ bool take_step_here(const krylov_parameters &p, krylov_step step, conjugate_room &room)
{
    __syncthreads(); /* all have read what the last step left */
    if (threadIdx.x == 0) take_step(step, &room.column, &p, 0);
    __syncthreads();
    return room.column.flags & KRYLOV_RUNNING;
}

/** Entries of rows that are loaded together. */
constexpr int CONJUGATE_AT_ONCE = 4;
template <typename T> __device__ T row_product(const conjugate_arguments &a, int64_t i)
{
    const T *values = (const T *)a.values, *p = (const T *)a.p;
    const int64_t begin = a.wide ? ((const int64_t *)a.offsets)[i] : ((const int32_t *)a.offsets)[i],
                  end = a.wide ? ((const int64_t *)a.offsets)[i + 1] : ((const int32_t *)a.offsets)[i + 1];
    T sum = zero_of<T>();
    for (int64_t k = begin; k < end; k += CONJUGATE_AT_ONCE) {
        T value[CONJUGATE_AT_ONCE], x[CONJUGATE_AT_ONCE];
        int32_t column[CONJUGATE_AT_ONCE];
#pragma unroll
        for (int e = 0; e < CONJUGATE_AT_ONCE; e++)
            if (k + e < end) column[e] = a.columns[k + e], value[e] = values[k + e];
#pragma unroll
        for (int e = 0; e < CONJUGATE_AT_ONCE; e++)
            if (k + e < end) x[e] = load_shared(p + column[e]);
#pragma unroll
        for (int e = 0; e < CONJUGATE_AT_ONCE; e++)
            if (k + e < end) sum = sum + value[e] * x[e];
    }
    return sum;
}

template <typename T> __device__ void take_steps(const conjugate_arguments &a, unsigned *meetings, conjugate_room &room)
{
    constexpr int EACH = CONJUGATE_EACH;
    const krylov_scalar one = krylov_real(1);
    const int me = (int)threadIdx.x, warp = me / 32;
    const int64_t begin = blockIdx.x * a.chunk_rows, end = begin + a.chunk_rows < a.n ? begin + a.chunk_rows : a.n;
    T *const r = (T *)a.r, *const p = (T *)a.p, *const q = (T *)a.q, *const d = (T *)a.d, *const kept = (T *)a.kept;
    T *const z = a.diagonal ? (T *)a.z : r;
    const T *const diagonal = (const T *)a.diagonal;
    krylov_parameters parameters = a.parameters;
    if (blockIdx.x) parameters.history = 0; /* one block writes it */
    for (int step = 0; step < a.steps; step++) {
        krylov_sum first = {0, 0, 0}, second = {0, 0, 0};
        for (int64_t tile = begin; tile < end; tile += CONJUGATE_TILE) {
            T x[EACH], y[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int64_t i = tile + me + e * CONJUGATE_THREADS;
                x[e] = i < end ? p[i] : zero_of<T>();
                y[e] = i < end ? row_product<T>(a, i) : zero_of<T>();
                if (i < end) q[i] = y[e];
            }
            first = krylov_sum_add(first, warp_dot(x, y));
        }
        if (me % 32 == 0) room.of_warp[0][warp] = first;
        meet<1>(a, meetings, room);
        if (!take_step_here(parameters, KRYLOV_CG_ALPHA, room)) return;

        first = {0, 0, 0};
        const krylov_scalar minus_alpha = room.coefficients[C_MINUS_ALPHA];
        for (int64_t tile = begin; tile < end; tile += CONJUGATE_TILE) {
            T x[EACH], y[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int64_t i = tile + me + e * CONJUGATE_THREADS;
                x[e] = y[e] = zero_of<T>();
                if (i >= end) continue;
                r[i] = x[e] = combined(minus_alpha, q[i], one, r[i], true);
                if (diagonal) z[i] = y[e] = a.divides ? x[e] / diagonal[i] : x[e] * diagonal[i];
            }
            first = krylov_sum_add(first, warp_dot(x, x));
            if (diagonal) second = krylov_sum_add(second, warp_dot(x, y));
        }
        if (me % 32 == 0) room.of_warp[0][warp] = first, room.of_warp[1][warp] = second;
        meet<2>(a, meetings, room);
        if (!take_step_here(parameters, KRYLOV_CG_BETA, room)) return;

        const krylov_scalar alpha = room.coefficients[C_ALPHA], beta = room.coefficients[C_BETA];
        const bool keeps = room.column.flags & KRYLOV_KEEPS;
        for (int64_t i = begin + me; i < end; i += CONJUGATE_THREADS) {
            const T old = d[i], x = p[i];
            if (keeps) kept[i] = old;
            d[i] = combined(alpha, x, one, old, true);
            p[i] = combined(beta, x, one, z[i], true);
        }
        const bool runs = take_step_here(parameters, KRYLOV_ADVANCE, room);
        meet<0>(a, meetings, room);
        if (!runs) return;
    }
}

/** All blocks are on the device. */
template <typename T> __global__ void __launch_bounds__(CONJUGATE_THREADS, 1)
    conjugate_steps(const __grid_constant__ conjugate_arguments a)
{
    __shared__ conjugate_room room;
    const int me = (int)threadIdx.x;
    krylov_column *const c = a.column;
    unsigned meetings = 0;
    copy_column(&room.column, c);
    if (room.column.flags & KRYLOV_RUNNING) {
        krylov_scalar *const coefficients = room.column.coefficients;
        krylov_sum *const sums = room.column.sums;
        if (me <= C_BETA) room.coefficients[me] = coefficients[me];
        __syncthreads();
        if (me == 0) room.column.coefficients = room.coefficients, room.column.sums = room.sums;
        __syncthreads();
        take_steps<T>(a, &meetings, room);
        __syncthreads();
        if (me == 0) {
            room.column.coefficients = coefficients, room.column.sums = sums;
            if (atomicAdd(&a.met->left, 1u) == gridDim.x - 1) a.met->arrived = a.met->left = 0;
        }
        __syncthreads();
        if (blockIdx.x) return;
        if (me <= C_BETA) coefficients[me] = room.coefficients[me];
        copy_column(c, &room.column);
    }
    if (me == 0 && blockIdx.x == 0) decide_after(a.decides, c);
}

/** For so many steps at most; rows: of A. */
conjugate_arguments conjugate_of(const struct krylov_work *w, const struct spmv_rows *rows, int steps)
{
    conjugate_arguments a = {};
    a.parameters = w->plan->parameters;
    a.column = w->own_columns;
    a.met = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    a.partials = (krylov_sum *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    a.offsets = rows->offsets, a.wide = rows->offset_bits == 64;
    a.columns = rows->columns, a.values = rows->values;
    if (w->plan->parameters.has_M) a.diagonal = w->plan->M[0]->diagonal, a.divides = w->plan->M[0]->divides;
    a.r = w->V[V_R], a.p = w->V[V_P], a.q = w->V[V_Q], a.z = w->plan->parameters.has_M ? w->V[V_Z] : nullptr;
    a.d = w->d, a.kept = w->kept;
    a.n = w->plan->base.n, a.chunk_rows = conjugate_rows(a.n);
    a.steps = steps;
    return a;
}

} // namespace

#endif
