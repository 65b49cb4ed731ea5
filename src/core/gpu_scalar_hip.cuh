/* The approximate reciprocals, loads, stores and counters of gpu_scalar.cuh in clang's builtins and atomics, for
 * HIP. Agent scope is CUDA's gpu scope, workgroup its cta. */
#ifndef TRINE_CORE_GPU_SCALAR_HIP_CUH
#define TRINE_CORE_GPU_SCALAR_HIP_CUH

__device__ inline float reciprocal_approximation(float x) { return __builtin_amdgcn_rcpf(x); }
__device__ inline double reciprocal_approximation(double x) { return __builtin_amdgcn_rcp(x); }

#define POLL(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define PUBLISH(p, a) __hip_atomic_store(p, a, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
__device__ inline float poll(const float *p) { return POLL(p); }
__device__ inline double poll(const double *p) { return POLL(p); }
__device__ inline int32_t poll(const int32_t *p) { return POLL(p); }
template <typename R> __device__ inline complex_of<R> poll(const complex_of<R> *p)
{
    return {POLL(&p->x), POLL(&p->y)};
}
__device__ inline void publish(int32_t *p, int32_t a) { PUBLISH(p, a); }
__device__ inline void publish(float *p, float a) { PUBLISH(p, a); }
__device__ inline void publish(double *p, double a) { PUBLISH(p, a); }
template <typename R> __device__ inline void publish(complex_of<R> *p, complex_of<R> a)
{
    PUBLISH(&p->x, a.x);
    PUBLISH(&p->y, a.y);
}
#undef POLL
#undef PUBLISH

__device__ inline unsigned load_acquire(const unsigned *p)
{
    return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline unsigned load_acquire_in_block(const unsigned *p)
{
    return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
}
__device__ inline void release_fence() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
__device__ inline void release_fence_in_block() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); }
__device__ inline void count_up(unsigned *p)
{
    __hip_atomic_fetch_add(p, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline void add_release(unsigned *p, unsigned a)
{
    __hip_atomic_fetch_add(p, a, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline uint4 load_once(const uint4 *p) { return *p; }
__device__ inline void prefetch(const void *p) { __builtin_prefetch(p); }
template <typename R> __device__ inline R __ldcg(const R *p) { return poll(p); }
__device__ inline float2 __ldcg(const float2 *p) { return {poll(&p->x), poll(&p->y)}; }
__device__ inline double2 __ldcg(const double2 *p) { return {poll(&p->x), poll(&p->y)}; }
__device__ inline unsigned long long nanoseconds() { return 10 * __builtin_amdgcn_s_memrealtime(); } /* 100 MHz */

#endif
