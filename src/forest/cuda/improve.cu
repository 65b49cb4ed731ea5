// Rounds of exchanges on a forest: three launches each, a thread a vertex, beside those that order the paths again.
#include "forest/common/improve.h"
#include "forest/cuda/device.cuh"

namespace {

struct choose {
    forest_exchange exchange;
    __device__ void operator()(int64_t u) const { forest_choose(&exchange, (int32_t)u); }
};
struct claim {
    forest_exchange exchange;
    __device__ void operator()(int64_t u) const { forest_claim(&exchange, (int32_t)u); }
};
struct apply {
    forest_exchange exchange;
    forest_counts *counts;
    __device__ void operator()(int64_t u) const
    {
        const int edges = forest_apply(&exchange, (int32_t)u);
        if (edges) atomicAdd((unsigned long long *)&counts->edges, 2ull * (unsigned)edges);
        if (u == 0) counts->maximal = 0;
    }
};

} // namespace

trine_status forest_cuda_exchange(trine_forest f, uint64_t salt, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_exchange exchange = {forest_view_of(f), f->graph, trine_dtype_is_single(f->dtype), salt};
    const int64_t n = f->graph.n;
    if (!n) return TRINE_SUCCESS;
    trine_status status = forest_cuda_look_up(f, stream);
    if (!status) status = launch_each(n, stream, choose{exchange});
    if (!status) status = launch_each(n, stream, claim{exchange});
    return status ? status : launch_each(n, stream, apply{exchange, f->counts});
}
