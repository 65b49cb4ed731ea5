/* What strings of a semiring may name without a header: compiled by NVRTC alone, before segmented.cuh. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INFINITY __int_as_float(0x7f800000)

/** IEEE binary16: stored as such, computed with as float. */
struct half {
    unsigned short bits;
    half() = default;
    __device__ half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

/* Values and columns are read once, and do not change while a kernel runs: past the first-level cache. The loads have
 * no side effects, so what an expression does not use is not loaded. */
static __device__ __forceinline__ unsigned trine_word(const uint8_t *p)
{
    unsigned v;
    asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ uint16_t trine_word(const uint16_t *p)
{
    uint16_t v;
    asm("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ uint32_t trine_word(const uint32_t *p)
{
    uint32_t v;
    asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ uint64_t trine_word(const uint64_t *p)
{
    uint64_t v;
    asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(v) : "l"(p));
    return v;
}
template <int BYTES> struct trine_word_of { typedef uint64_t type; };
template <> struct trine_word_of<1> { typedef uint8_t type; };
template <> struct trine_word_of<2> { typedef uint16_t type; };
template <> struct trine_word_of<4> { typedef uint32_t type; };

template <class V> static __device__ __forceinline__ V trine_stream(const V *p)
{
    typedef typename trine_word_of<alignof(V)>::type word;
    union seen {
        V value;
        word words[sizeof(V) / sizeof(word)];
        __device__ seen() {}
    } v;
#pragma unroll
    for (int k = 0; k < int(sizeof(V) / sizeof(word)); k++) v.words[k] = trine_word((const word *)p + k);
    return v.value;
}
