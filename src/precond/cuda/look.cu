// Launches of look.cuh.
#include "precond/cuda/look.cuh"

#include "precond/cuda/launch.cuh"

namespace {

/** body(i, sums) for all rows, and the sums of each block. */
template <typename Body> __global__ void __launch_bounds__(PRECOND_THREADS)
    add_rows(int64_t n, const Body body, double *parts)
{
    __shared__ double shared[PRECOND_THREADS];
    double sums[LOOK_SUMS] = {};
    for (int64_t i = blockIdx.x * (int64_t)PRECOND_THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * PRECOND_THREADS)
        body(i, sums);
    for (int k = 0; k < LOOK_SUMS; k++) {
        shared[threadIdx.x] = sums[k];
        for (unsigned half = PRECOND_THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        if (threadIdx.x == 0) parts[LOOK_SUMS * blockIdx.x + k] = shared[0];
        __syncthreads();
    }
}

template <typename Body> trine_status launch(trine_precond p, const Body &body, double *parts)
{
    const device_scope scope(p->base.ctx);
    add_rows<<<LOOK_PARTS, PRECOND_THREADS, 0, static_cast<gpuStream_t>(p->base.ctx->stream)>>>(p->base.n, body, parts);
    return GPU_LAUNCHED("add_rows");
}

template <typename T> rows_seen<T> rows_of(const precond_device_rows *r)
{
    return {r->offsets, r->ends, r->columns, static_cast<const T *>(r->values)};
}

template <typename T> trine_status look_rows(trine_precond p, const precond_device_look *l)
{
    return launch(p, look_at_row<T>{rows_of<T>(l->rows), l->y, l->largest}, l->parts);
}
template <typename T> trine_status look_sweep(trine_precond p, const precond_device_look *l)
{
    return launch(p, look_at_sweep<T>{rows_of<T>(l->rows), l->x, l->y}, l->parts);
}
template <typename T> trine_status look_paths(trine_precond p, const precond_device_look *l)
{
    return launch(p, look_along_paths<T>{rows_of<T>(l->rows), l->largest}, l->parts);
}

} // namespace

const struct precond_device_looks precond_cuda_looks = {PRECOND_TABLE(look_rows), PRECOND_TABLE(look_sweep),
                                                        PRECOND_TABLE(look_paths)};
