/* A run of narrow levels in one launch: by one block, or by a cluster of blocks whose solution values travel through
 * distributed shared memory. levelset_cuda.cu says where this belongs. */
#ifndef TRINE_LEVELSET_RUN_CUH
#define TRINE_LEVELSET_RUN_CUH

#include <cooperative_groups.h>

#include "core/gpu_scalar.cuh"
#include "triangular/levelset.h"

template <typename T> struct level_args {
    int64_t nrhs, b_row, b_col, x_row, x_col;
    const int64_t *offsets, *level_offsets;
    const int32_t *columns, *near_columns, *order;
    const T *values, *pivots, *B;
    T *X;
    T alpha;
    bool conjugate;
};

/** Every warp has every so-many-th round of the run, so that it can fetch what its next round needs while others work on the
 *  levels between; the fetches are some barriers apart, so that no one of them is waited for. */
template <typename T, int BLOCKS> __global__ void __launch_bounds__(32 * RUN_WARPS, 1) run_levels(const level_args<T> a, const level_round *rounds, int n_rounds, int n_stages)
{
    namespace cg = cooperative_groups;
    constexpr int RING = ring_length<T>, APART = 4;
    extern __shared__ __align__(16) char shared[];
    T *const ring = (T *)shared, *const part_sums = ring + RING;
    const cg::cluster_group cluster = cg::this_cluster();
    const int lane = threadIdx.x % 32, rank = BLOCKS > 1 ? (int)cluster.block_rank() : 0;
    const int warps = min(RUN_WARPS * BLOCKS, RING / 64), warp = threadIdx.x / 32 * BLOCKS + rank;
    int stage = 0;
    auto pass_stages = [&](int until) {
        for (; stage < until; stage++)
            if constexpr (BLOCKS > 1) cluster.sync();
            else __syncthreads();
    };
    /* Lanes e, e + sharers, ... write to blocks e, e + sharers, ... */
    auto spread = [&](T *to, T x, int e, int sharers) {
        if constexpr (BLOCKS > 1)
            for (int block = e; block < BLOCKS; block += sharers) *cluster.map_shared_rank(to, block) = x;
        else if (e == 0) *to = x;
    };
    if constexpr (BLOCKS > 1) cluster.sync(); /* all blocks run */

    level_round next = {};
    if (warp < warps && warp < n_rounds) next = rounds[warp];
    for (int q = warp; q < n_rounds && warp < warps; q += warps) {
        const level_round r = next;
        if (q + warps < n_rounds) next = rounds[q + warps];
        const int sharers = 1 << r.log_lanes, e = lane & (sharers - 1);
        const int64_t p = r.row + (lane >> r.log_lanes);
        const bool active = lane >> r.log_lanes < r.rows;
        int64_t k = 0, end = 0, row = 0;
        T b = zero_of<T>(), pivot = one_of<T>(), v[LEVELSET_BATCH];
        int32_t c[LEVELSET_BATCH];
        unsigned here = 0; /* entries of the batch whose values are still to be taken from the ring */
        if (active) {
            row = a.order[p];
            if (r.kind != level_round::FINISH) k = a.offsets[p] + r.first + e, end = a.offsets[p + 1];
            if (r.kind == level_round::PART) end = min(end, a.offsets[p] + r.first + r.count);
        }
        auto fetch = [&] {
#pragma unroll
            for (int u = 0; u < LEVELSET_BATCH; u++)
                if (k + u * sharers < end) {
                    c[u] = a.near_columns[k + u * sharers];
                    v[u] = a.conjugate ? conjugate_of(a.values[k + u * sharers]) : a.values[k + u * sharers];
                    here |= 1u << u;
                }
            k += LEVELSET_BATCH * sharers;
        };
        T sum = zero_of<T>();
        auto take_far = [&] {
#pragma unroll
            for (int u = 0; u < LEVELSET_BATCH; u++)
                if (here >> u & 1 && c[u] >= 0) {
                    sum = sum + v[u] * (BLOCKS > 1 ? poll(&a.X[c[u] * a.x_row]) : a.X[c[u] * a.x_row]);
                    here &= ~(1u << u);
                }
        };
        pass_stages(min(r.stage, stage + APART));
        if (active && r.kind != level_round::PART) {
            b = a.alpha * a.B[row * a.b_row];
            if (a.pivots) pivot = a.conjugate ? conjugate_of(a.pivots[p]) : a.pivots[p];
        }
        fetch();
        pass_stages(min(r.stage, stage + APART));
        take_far();
        const divisor<T> divide(pivot);
        pass_stages(r.stage);

        for (;;) {
#pragma unroll
            for (int u = 0; u < LEVELSET_BATCH; u++)
                if (here >> u & 1) sum = sum + v[u] * ring[~c[u]];
            here = 0;
            if (k >= end) break;
            fetch();
            take_far();
        }
        if (r.kind == level_round::FINISH)
            for (int i = lane; i < r.count; i += 32) sum = sum + part_sums[r.part + i];
        __syncwarp();
        for (int o = sharers / 2; o > 0; o /= 2) sum = sum + shuffle_xor(sum, o);
        if (r.kind == level_round::PART) {
            spread(&part_sums[r.part], sum, lane, 32);
        } else if (active) {
            const T x = divide.divide(b - sum);
            spread(&ring[p % RING], x, e, sharers);
            if (e == 0) a.X[row * a.x_row] = x;
        }
        __syncwarp();
    }
    pass_stages(n_stages);
}

#endif
