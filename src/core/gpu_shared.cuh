/* Shared memory whose size a launch gives. */
#ifndef TRINE_CORE_GPU_SHARED_CUH
#define TRINE_CORE_GPU_SHARED_CUH

#include "core/gpu.h"

__device__ inline unsigned char *dynamic_shared()
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    return shared_memory;
}

#endif
