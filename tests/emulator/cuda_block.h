/* Enough of CUDA to run a kernel on the CPU, block after block, its threads by turns: for kernels that include nothing.
 * Where threads of a block or a warp wait for each other and not all of them come, as would hang a device, the
 * program ends with a sentence. Names are CUDA's. */
#ifndef TRINE_TESTS_CUDA_BLOCK_H
#define TRINE_TESTS_CUDA_BLOCK_H

#undef _FORTIFY_SOURCE /* whose longjmp takes another stack for a broken one */
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __CUDACC__ 1
#define __global__ static
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__
#define __forceinline__ inline

struct index_of_block { unsigned x, y; };
static index_of_block threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

constexpr int MOST_THREADS = 1024, STACK = 64 * 1024;
/** All threads of a group wait here for each other. */
struct barrier {
    int members, arrived;
    unsigned generation;
};

/* A thread begins by its context; later it is left and resumed by jumps, which make no system call. */
static ucontext_t fiber[MOST_THREADS];
static jmp_buf scheduler, left_at[MOST_THREADS];
static bool begun[MOST_THREADS], ended[MOST_THREADS];
static barrier of_block, of_warp[MOST_THREADS / 32];
static struct {
    const barrier *at;
    unsigned generation; /* of it, as long as the thread has to wait */
} awaited[MOST_THREADS];
static unsigned long long exchanged[MOST_THREADS];
static std::function<void()> kernel_call;
static long long steps; /* threads that went on after a wait, or ended */

static inline void wait(barrier &b)
{
    const unsigned generation = b.generation;
    const index_of_block me = threadIdx;
    if (++b.arrived == b.members) {
        b.arrived = 0;
        b.generation++;
    }
    if (b.generation == generation) {
        awaited[me.x] = {&b, generation};
        if (!_setjmp(left_at[me.x])) _longjmp(scheduler, 1);
        threadIdx = me;
    }
    steps++;
}

static inline void run_fiber()
{
    const unsigned me = threadIdx.x;
    kernel_call();
    ended[me] = true;
    steps++;
    /* threads that have ended are not waited for */
    for (barrier *b : {&of_block, &of_warp[me / 32]})
        if (--b->members && b->arrived == b->members) {
            b->arrived = 0;
            b->generation++;
        }
    _longjmp(scheduler, 1);
}

/** Thread t, until it waits or ends. */
__attribute__((noinline)) static void resume(unsigned t)
{
    if (_setjmp(scheduler)) return;
    threadIdx.x = t;
    if (begun[t]) _longjmp(left_at[t], 1);
    begun[t] = true;
    setcontext(&fiber[t]);
}
static inline bool has_to_wait(int t) { return awaited[t].at && awaited[t].at->generation == awaited[t].generation; }

/** kernel() in `blocks` blocks of `threads` threads, a multiple of 32. */
static inline void launch(int blocks, int threads, std::function<void()> kernel)
{
    static std::vector<char> stacks(MOST_THREADS * (size_t)STACK);
    kernel_call = kernel;
    blockDim.x = (unsigned)threads, gridDim.x = (unsigned)blocks;
    for (int b = 0; b < blocks; b++) {
        blockIdx.x = (unsigned)b;
        of_block = {threads, 0, 0};
        for (int w = 0; w < threads / 32; w++) of_warp[w] = {32, 0, 0};
        for (int t = 0; t < threads; t++) {
            begun[t] = ended[t] = false, awaited[t].at = nullptr;
            getcontext(&fiber[t]);
            fiber[t].uc_stack.ss_sp = stacks.data() + (size_t)t * STACK;
            fiber[t].uc_stack.ss_size = STACK;
            fiber[t].uc_link = nullptr;
            makecontext(&fiber[t], run_fiber, 0);
        }
        for (bool all_ended = false; !all_ended;) {
            const long long before = steps;
            all_ended = true;
            for (int t = 0; t < threads; t++) {
                if (ended[t]) continue;
                if (!has_to_wait(t)) resume((unsigned)t);
                all_ended = all_ended && ended[t];
            }
            if (!all_ended && steps == before) {
                fprintf(stderr, "block %d: threads wait for others that do not come\n", b);
                exit(1);
            }
        }
    }
}

static inline int lane() { return (int)threadIdx.x % 32; }
/** value of lane `from`. */
template <class V> inline V exchange(V value, int from)
{
    static_assert(sizeof(V) <= 8, "one word");
    const int warp = (int)threadIdx.x / 32;
    memcpy(&exchanged[threadIdx.x], &value, sizeof value);
    wait(of_warp[warp]);
    V other;
    memcpy(&other, &exchanged[warp * 32 + from], sizeof other);
    wait(of_warp[warp]);
    return other;
}

} // namespace emulator

/** As that of core/gpu_shared.cuh: as much as a block may have. */
static inline unsigned char *dynamic_shared()
{
    alignas(16) static unsigned char memory[227 * 1024];
    return memory;
}

static inline void __syncthreads() { emulator::wait(emulator::of_block); }
static inline void __syncwarp() { emulator::wait(emulator::of_warp[threadIdx.x / 32]); }
template <class V> inline V __shfl_sync(unsigned, V value, int from) { return emulator::exchange(value, from); }
template <class V> inline V __shfl_xor_sync(unsigned, V value, int mask)
{
    return emulator::exchange(value, emulator::lane() ^ mask);
}
template <class V> inline V __shfl_down_sync(unsigned, V value, int distance)
{
    const int from = emulator::lane() + distance;
    return emulator::exchange(value, from > 31 ? emulator::lane() : from);
}
template <class V> inline V __shfl_up_sync(unsigned, V value, int distance)
{
    const int from = emulator::lane() - distance;
    return emulator::exchange(value, from < 0 ? emulator::lane() : from);
}
/** f of the values of all lanes. */
template <class F> inline auto over_lanes(unsigned long long value, F f)
{
    const unsigned first = threadIdx.x / 32 * 32;
    emulator::exchanged[threadIdx.x] = value;
    emulator::wait(emulator::of_warp[first / 32]);
    const auto result = f(emulator::exchanged + first);
    emulator::wait(emulator::of_warp[first / 32]);
    return result;
}
static inline unsigned __ballot_sync(unsigned, bool predicate)
{
    return over_lanes(predicate, [](const unsigned long long *lanes) {
        unsigned mask = 0;
        for (int k = 0; k < 32; k++) mask |= (unsigned)lanes[k] << k;
        return mask;
    });
}
static inline bool __any_sync(unsigned mask, bool predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline bool __all_sync(unsigned mask, bool predicate) { return !__any_sync(mask, !predicate); }
static inline bool __syncthreads_or(bool predicate)
{
    bool any = false;
    emulator::exchanged[threadIdx.x] = predicate;
    __syncthreads();
    for (unsigned t = 0; t < blockDim.x; t++) any = any || emulator::exchanged[t];
    __syncthreads();
    return any;
}
static inline int __reduce_max_sync(unsigned, int value)
{
    return over_lanes((unsigned long long)value, [](const unsigned long long *lanes) {
        int most = (int)lanes[0];
        for (int k = 1; k < 32; k++) most = (int)lanes[k] > most ? (int)lanes[k] : most;
        return most;
    });
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __clz(unsigned a) { return a ? __builtin_clz(a) : 32; }
static inline int __ffs(unsigned a) { return __builtin_ffs((int)a); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
template <class V> inline V __ldcg(const V *p) { return *p; }
static inline unsigned atomicAdd(unsigned *p, unsigned a) { return __atomic_fetch_add(p, a, __ATOMIC_RELAXED); }
static inline long long atomicMin(long long *p, long long a)
{
    const long long before = *p;
    *p = a < before ? a : before;
    return before;
}
static inline void atomicOr(unsigned *p, unsigned a) { __atomic_fetch_or(p, a, __ATOMIC_RELAXED); }
static inline void atomicMax(int *p, int a)
{
    int seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (seen < a && !__atomic_compare_exchange_n(p, &seen, a, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

#endif
