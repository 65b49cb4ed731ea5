/* What kernels may count on, on the current device: asked of the device and of the code that was compiled for it. */
#ifndef TRINE_CORE_GPU_LIMITS_H
#define TRINE_CORE_GPU_LIMITS_H

#include "core/internal.h"
#include "core/test_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of every supported device (compute capability 8.0 and later), the least shared memory of a block: that of 8.6,
 *  8.9 and 12.0. */
#define GPU_LEAST_SHARED_BYTES (99 * 1024)

struct gpu_limits {
    int device;          /* ordinal */
    int multiprocessors;
    int shared_bytes;    /* of a block, static and dynamic */
    int capability;      /* 10 major + minor of the device, or of the code that runs on it if that is less: 80 for
                            PTX of compute_80 on a 9.0 */
    bool clusters;       /* blocks in clusters, of 8 if the device has as many multiprocessors in a group */
    bool cooperative;    /* cooperative launches */
    bool programmatic;   /* a kernel may start while the one before it ends */
};

/** Of the current device. Asked for once per device: a short system is solved in the time of a few such questions.
 *  TRINE_ERR_DEVICE if nothing in this library was compiled for it. Does not synchronize. */
trine_status trine_gpu_limits(struct gpu_limits *limits);

/** Let a kernel have `bytes` of dynamic shared memory a block on the current device, before its launch.
 *  TRINE_ERR_DEVICE if it has less. */
trine_status trine_gpu_allow_shared(const void *kernel, size_t bytes);
/** The same, where several blocks share a multiprocessor: shared memory is preferred to cache, too. A kernel is
 *  always allowed in one of the two ways. */
trine_status trine_gpu_prefer_shared(const void *kernel, size_t bytes);

/** The capability to show of a device of `capability`. */
int trine_gpu_shown_capability(int capability);

#ifdef __cplusplus
}
#endif
#endif
