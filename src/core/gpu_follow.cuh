/* A kernel that starts while the one before it in the stream ends. */
#ifndef TRINE_CORE_GPU_FOLLOW_CUH
#define TRINE_CORE_GPU_FOLLOW_CUH

/** An instruction that devices before compute capability 9.0 do not have, and do not need. */
#if __CUDA_ARCH__ >= 900
#define SINCE_HOPPER(instruction) asm volatile(instruction ::: "memory")
#else
#define SINCE_HOPPER(instruction) (void)0
#endif

/* Programmatic dependent launch, where the device has it: a kernel that is launched to follow another one closely
 * may start when all blocks of that one have called let_follower_start, and sees its results after
 * wait_for_predecessor. */
__device__ inline void let_follower_start() { SINCE_HOPPER("griddepcontrol.launch_dependents;"); }
__device__ inline void wait_for_predecessor() { SINCE_HOPPER("griddepcontrol.wait;"); }

#endif
