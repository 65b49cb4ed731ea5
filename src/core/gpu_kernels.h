/* Kernels that were compiled at run time, on the current device. */
#ifndef TRINE_CORE_GPU_KERNELS_H
#define TRINE_CORE_GPU_KERNELS_H

#include "core/kernel_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/** trine_kernels_get of the caller's program, for a capability. */
typedef trine_status (*trine_get_kernels)(trine_context ctx, const void *program, int capability, bool portable,
                                          bool anew, struct trine_kernels **kernels);

/** Compile or find the program for ctx's device, or for the smaller one that it is taken for (trine_gpu_pretend), which
 *  is PTX; load it, and find its first `count` kernels, handles[0 .. count-1]. To be released with trine_kernels_drop,
 *  after a failure too (*kernels may be NULL). Several threads may call at the same time. TRINE_ERR_NOT_BUILT: the
 *  driver cannot load kernels at run time. */
trine_status trine_gpu_get_kernels(trine_context ctx, trine_get_kernels get, const void *program, int count,
                                   struct trine_kernels **kernels, void **handles);

/** Launch such a kernel; no blocks: nothing is launched. early: it waits for what it needs of the launch before it
 *  (core/gpu_follow.cuh), and the device has that. arguments: a pointer to each. */
trine_status trine_gpu_launch(void *handle, unsigned blocks, int threads, bool early, void *stream, void **arguments);

#ifdef __cplusplus
}
#endif
#endif
