/* Values that a warp or a block leaves for a later one of the same launch, which waits for them. Blocks begin in the
 * order of their numbers, so those with lower numbers have begun, and do not depend on the one that waits. */
#ifndef TRINE_SPMV_LEFT_OPEN_CUH
#define TRINE_SPMV_LEFT_OPEN_CUH

/** A slot. Between launches all its bytes are zero. */
template <class A> struct alignas(16) left_open {
    A value;
    unsigned is_there;
};

/* A slot of 16 bytes is written and read at once, where the compiler knows how. */
#if defined(__CUDA_ARCH__) && 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1203
#define TRINE_SLOTS_AT_ONCE
template <class A> union words_left_open {
    left_open<A> slot;
    unsigned long long word[2];
    __device__ words_left_open() : word{0, 0} {}
};
#endif

template <class A> __device__ inline void leave(left_open<A> *slot, A value)
{
#ifdef TRINE_SLOTS_AT_ONCE
    if constexpr (sizeof(left_open<A>) == 16) {
        words_left_open<A> s;
        s.slot.value = value, s.slot.is_there = 1;
        asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }"
                     :
                     : "l"(slot), "l"(s.word[0]), "l"(s.word[1])
                     : "memory");
        return;
    }
#endif
    slot->value = value;
    __threadfence();
    *(volatile unsigned *)&slot->is_there = 1;
}
/** The slot as it is now. */
template <class A> __device__ inline left_open<A> look_at(const left_open<A> *slot)
{
#ifdef TRINE_SLOTS_AT_ONCE
    if constexpr (sizeof(left_open<A>) == 16) {
        words_left_open<A> s;
        asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                     : "=l"(s.word[0]), "=l"(s.word[1])
                     : "l"(slot)
                     : "memory");
        return s.slot;
    }
#endif
    left_open<A> open;
    open.is_there = *(const volatile unsigned *)&slot->is_there;
    __threadfence();
    open.value = slot->value;
    return open;
}

#endif
