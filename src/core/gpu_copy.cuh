/* Copies from global to shared memory that go on while the threads that asked for them do something else. Elsewhere
 * than on CUDA devices they are plain copies, and there is nothing to wait for. */
#ifndef TRINE_CORE_GPU_COPY_CUH
#define TRINE_CORE_GPU_COPY_CUH

#include <cstdint>

#include "core/gpu.h"

/** BYTES (4, 8, 16), aligned as such; 16 go past the multiprocessor's own cache. */
template <int BYTES> __device__ inline void copy_async(void *shared, const void *global)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "one copy of a thread");
#ifdef __HIP__
    struct alignas(BYTES) vector { unsigned word[BYTES / 4]; };
    *(vector *)shared = *(const vector *)global;
#else
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(global), "n"(BYTES) : "memory");
#endif
}
/** A number, or whatever else of 4, 8 or 16 bytes. */
template <typename T> __device__ inline void copy_async(T *shared, const T *global)
{
    copy_async<(int)sizeof(T)>(shared, global);
}
/** 16 bytes, zeros if not `valid`; `global` is an address that may be read all the same. */
__device__ inline void copy_async_or_zero(void *shared, const void *global, bool valid)
{
#ifdef __HIP__
    *(uint4 *)shared = valid ? *(const uint4 *)global : uint4{0, 0, 0, 0};
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(valid ? 16 : 0)
                 : "memory");
#endif
}
/** The thread's copies since the last call are a group. */
__device__ inline void end_copies()
{
#ifndef __HIP__
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/** Until at most COUNT groups of the thread's copies are under way. Other threads see them after a barrier. */
template <int COUNT> __device__ inline void wait_for_copies()
{
#ifndef __HIP__
    asm volatile("cp.async.wait_group %0;" ::"n"(COUNT) : "memory");
#endif
}
/** Until all of the thread's copies are there. */
__device__ inline void wait_for_copies()
{
#ifndef __HIP__
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
