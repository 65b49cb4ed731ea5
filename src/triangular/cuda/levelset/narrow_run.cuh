/* A run of narrow levels in one launch: by one block, or by a cluster of blocks whose solution values travel through
 * distributed shared memory. cuda/levelset/levelset.cu says where this belongs. */
#ifndef TRINE_TRIANGULAR_CUDA_LEVELSET_NARROW_RUN_CUH
#define TRINE_TRIANGULAR_CUDA_LEVELSET_NARROW_RUN_CUH

#include "core/gpu_cluster.cuh"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/levelset/levelset.h"

/** What differs from solve to solve. */
template <typename T> struct level_call {
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const T *B;
    T *X;
    T alpha;
    bool conjugate;
};

template <typename T> struct level_args {
    const int64_t *offsets, *bounds;
    const int32_t *columns, *near_columns, *order;
    const T *values, *pivots;
    const level_call<T> *posted; /* in the work object: a recorded launch finds its solve there. NULL: it is `call` */
    level_call<T> call;

    /** A kernel that asks when it runs which of the two it is takes 0.4 us longer with either: it is compiled for
     *  one of them. */
    template <bool POSTED> __device__ level_call<T> get_call() const
    {
        if constexpr (POSTED) return *posted;
        else return call;
    }
};

/** Entries of a lane that are fetched ahead of the levels that they wait for. */
template <typename T, int BLOCKS> struct run_batch {
    T v[LEVELSET_BATCH], x[LEVELSET_BATCH];
    int32_t c[LEVELSET_BATCH];
    unsigned here = 0; /* entries of the batch that there are */

    /** From k on, every so-many-th before end. */
    __device__ __forceinline__ void fetch(const level_args<T> &a, int64_t *k, int64_t end, int sharers)
    {
#pragma unroll
        for (int u = 0; u < LEVELSET_BATCH; u++)
            if (*k + u * sharers < end) {
                c[u] = a.near_columns[*k + u * sharers];
                v[u] = a.values[*k + u * sharers];
                here |= 1u << u;
            }
        *k += LEVELSET_BATCH * sharers;
    }
    /** Solution values that are older than the ring. */
    __device__ __forceinline__ void fetch_old(const level_call<T> &call)
    {
#pragma unroll
        for (int u = 0; u < LEVELSET_BATCH; u++)
            if (here >> u & 1 && c[u] >= 0)
                x[u] = BLOCKS > 1 ? poll(&call.X[c[u] * call.x_row]) : call.X[c[u] * call.x_row];
    }
    __device__ __forceinline__ T term(int u, const level_call<T> &call, const T *ring) const
    {
        return (call.conjugate ? conjugate_of(v[u]) : v[u]) * (c[u] >= 0 ? x[u] : ring[~c[u]]);
    }
};

/** Write a value to every block: lanes e, e + sharers, ... to blocks e, e + sharers, ... */
template <int BLOCKS, typename T> __device__ __forceinline__ void spread(T *to, T value, int e, int sharers)
{
    if constexpr (BLOCKS > 1)
        for (int block = e; block < BLOCKS; block += sharers) *in_block(to, block) = value;
    else if (e == 0) *to = value;
}

/** Every warp has every so-many-th round of the run. It takes a round in steps: rows and offsets are fetched, then
 *  entries and right-hand sides, then old solution values, with barriers between, if there are any before the
 *  round's own, so that nothing is waited for while other warps work on the levels between. All threads meet at the
 *  one barrier at the end of a stage. */
template <typename T, bool POSTED, int BLOCKS>
__global__ void __launch_bounds__(32 * RUN_WARPS, 1)
    run_levels(const level_args<T> a, int ring_length, const level_round *rounds, int n_rounds, int n_stages)
{
    extern __shared__ __align__(16) char shared[];
    T *const ring = (T *)shared, *const part_sums = ring + ring_length;
    const int lane = threadIdx.x % 32, rank = BLOCKS > 1 ? cluster_rank() : 0;
    const level_call<T> call = a.template get_call<POSTED>();
    const int warps = min(RUN_WARPS * BLOCKS, ring_length / 64), warp = threadIdx.x / 32 * BLOCKS + rank;
    if constexpr (BLOCKS > 1) cluster_barrier(); /* all blocks run */

    enum { ROWS, ENTRIES, OLD_VALUES, SOLVE } step = ROWS;
    int q = warp < warps ? warp : n_rounds, due = 0, apart = 0; /* due: the stage of the next step */
    level_round r = {}, next = {};
    if (q < n_rounds) next = rounds[q];
    int64_t p = 0, row = 0, row_begin = 0, row_end = 0, k = 0, end = 0;
    int sharers = 1, e = 0;
    bool active = false;
    T b = zero_of<T>(), pivot = one_of<T>();
    run_batch<T, BLOCKS> batch;
    divisor<T> divide(pivot);
    for (int stage = 0;; stage++) {
        while (q < n_rounds && stage >= due) {
            if (step == ROWS) {
                r = next;
                if (q + warps < n_rounds) next = rounds[q + warps];
                sharers = 1 << r.log_lanes, e = lane & (sharers - 1);
                p = r.row + (lane >> r.log_lanes);
                active = lane >> r.log_lanes < r.rows;
                row_begin = row_end = 0;
                if (active) {
                    row = a.order[p];
                    if (r.kind != level_round::FINISH) row_begin = a.offsets[p], row_end = a.offsets[p + 1];
                }
                apart = max(1, (r.stage - stage) / 4), due = min(r.stage, stage + apart);
                step = ENTRIES;
            } else if (step == ENTRIES) {
                k = row_begin + r.first + e;
                end = r.kind == level_round::PART ? min(row_end, row_begin + r.first + r.count) : row_end;
                if (active && r.kind != level_round::PART) {
                    b = call.B[row * call.b_row];
                    if (a.pivots) pivot = a.pivots[p];
                }
                batch.fetch(a, &k, end, sharers);
                due = min(r.stage, stage + apart);
                step = OLD_VALUES;
            } else if (step == OLD_VALUES) {
                batch.fetch_old(call);
                divide = divisor<T>(call.conjugate ? conjugate_of(pivot) : pivot);
                due = r.stage;
                step = SOLVE;
            } else {
                T sum = zero_of<T>();
                for (;;) {
#pragma unroll
                    for (int u = 0; u < LEVELSET_BATCH; u++)
                        if (batch.here >> u & 1) sum = sum + batch.term(u, call, ring);
                    batch.here = 0;
                    if (k >= end) break;
                    batch.fetch(a, &k, end, sharers);
                    batch.fetch_old(call);
                }
                if (r.kind == level_round::FINISH)
                    for (int i = lane; i < r.count; i += 32) sum = sum + part_sums[r.part + i];
                __syncwarp();
                for (int o = sharers / 2; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
                if (r.kind == level_round::PART) {
                    spread<BLOCKS>(&part_sums[r.part], sum, lane, 32);
                } else if (active) {
                    const T result = divide.divide(call.alpha * b - sum);
                    spread<BLOCKS>(&ring[p & (ring_length - 1)], result, e, sharers);
                    if (e == 0) call.X[row * call.x_row] = result;
                }
                __syncwarp();
                q += warps, step = ROWS;
            }
        }
        if (stage == n_stages) break;
        if constexpr (BLOCKS > 1) cluster_barrier();
        else __syncthreads();
    }
}

#endif
