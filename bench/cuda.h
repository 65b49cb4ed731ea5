/* CUDA's runtime as the benchmark calls it: an error becomes a status with the runtime's own words. C11 and C++17. */
#ifndef TRINE_BENCH_CUDA_H
#define TRINE_BENCH_CUDA_H

#include <cuda_runtime_api.h>
#include <trine/core.h>

static inline trine_status cuda_status(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return TRINE_SUCCESS;
    (void)cudaGetLastError(); /* a failed call must not show up again at another one */
    return trine_fail(error == cudaErrorMemoryAllocation ? TRINE_ERR_MEMORY : TRINE_ERR_DEVICE, "%s: %s", what,
                      cudaGetErrorString(error));
}
#define CUDA(call) cuda_status((call), #call)

#endif
