// Launches of the GPU's part: a thread a row or entry, on the plan's device.
#ifndef TRINE_PRECOND_CUDA_LAUNCH_CUH
#define TRINE_PRECOND_CUDA_LAUNCH_CUH

#include "core/gpu_scalar.cuh"
#include "precond/cuda/cuda.h"

constexpr unsigned PRECOND_THREADS = 256;

/** The context's device is current while it lives. */
class device_scope {
    trine_context ctx;
    int saved;

  public:
    explicit device_scope(trine_context c) : ctx(c) { trine_device_enter(ctx, &saved); }
    ~device_scope() { trine_device_leave(ctx, saved); }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;
};

/** A template's four precisions, by dtype. */
#define PRECOND_TABLE(name) {nullptr, name<float>, name<double>, name<complex_of<float>>, name<complex_of<double>>}

/** body(i) for 0 <= i < count. */
template <typename Body> __global__ void __launch_bounds__(PRECOND_THREADS) for_each(int64_t count, const Body body)
{
    for (int64_t i = blockIdx.x * (int64_t)PRECOND_THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * PRECOND_THREADS)
        body(i);
}

template <typename Body> trine_status launch_each(trine_precond p, int64_t count, void *stream, const Body &body)
{
    constexpr int64_t MOST = 1 << 20; // blocks; threads go a grid further where these are not enough
    const int64_t blocks = (count + PRECOND_THREADS - 1) / PRECOND_THREADS;
    if (count <= 0) return TRINE_SUCCESS;
    int saved;
    trine_device_enter(p->base.ctx, &saved);
    for_each<<<static_cast<unsigned>(blocks < MOST ? blocks : MOST), PRECOND_THREADS, 0,
               static_cast<gpuStream_t>(stream)>>>(count, body);
    const trine_status status = GPU_LAUNCHED("for_each");
    trine_device_leave(p->base.ctx, saved);
    return status;
}

#endif
