/* Parts of arrays copied to shared memory while a block's threads go on. */
#ifndef TRINE_SPMV_COPIES_CUH
#define TRINE_SPMV_COPIES_CUH

/** Part of an array that is wanted in shared memory. */
struct wanted_part {
    const unsigned char *array;
    unsigned char *to;      /* a multiple of 16; the part comes to to + (its address modulo 16) */
    long long size, first;  /* bytes of the array, and before the part */
    int bytes;              /* of the part; 0: nothing is wanted */
};

/** Copies of parts of arrays to shared memory while the threads go on: from compute capability 9.0 on in bulk, which a
 *  thread for each part asks for, before by all threads. */
struct copies {
    static constexpr int PARTS = 3;
    unsigned long long barrier; /* counts the parts asked for, and their bytes */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    static constexpr bool IN_BULK = true;
#else
    static constexpr bool IN_BULK = false;
#endif
#ifdef __CUDA_ARCH__
    static __device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#endif

    /** By one thread, before the block's threads meet. */
    __device__ void begin()
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(address(&barrier)), "r"(PARTS) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
    }
    /** By thread k for part k in bulk, else by all threads for part after part. Pieces of 16 bytes are copied, with
     *  what there is beside the part; at the array's ends, byte by byte. AGAIN: the thread will ask for the part once
     *  more. */
    template <int BLOCK, bool AGAIN> __device__ void ask(const wanted_part &p)
    {
        const int ahead = (int)((unsigned long long)(p.array + p.first) & 15), end = ahead + p.bytes;
        const unsigned char *from = p.array + (p.first - ahead);
        const long long there = p.size - p.first + ahead; /* bytes of the array behind `from` */
        int begin = ahead > p.first ? 16 : 0, stop = (end + 15) & ~15;
        if (stop > there) stop = (int)there & ~15;
        if (begin > end) begin = end;
        if (stop < begin) stop = begin;
        if (!p.bytes || stop - begin < 16) begin = stop = ahead;
        const int me = IN_BULK ? 0 : threadIdx.x, threads = IN_BULK ? 1 : BLOCK;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }"
                     :
                     : "r"(address(&barrier)), "r"(stop - begin)
                     : "memory");
        if (stop > begin)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         :
                         : "r"(address(p.to + begin)), "l"(from + begin), "r"(stop - begin), "r"(address(&barrier))
                         : "memory");
#else
        for (int k = begin + me * 16; k < stop; k += threads * 16) copy_16_async(p.to + k, from + k);
#endif
        for (int k = ahead + me; k < begin; k += threads) p.to[k] = from[k];
        for (int k = stop + me; k < end; k += threads) p.to[k] = from[k];
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        /* the thread's next copy in bulk to the same place comes after what it has written there */
        if (AGAIN && (ahead < begin || stop < end)) asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
    }
#if !(defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
    static __device__ void copy_16_async(unsigned char *to, const unsigned char *from)
    {
#ifdef __CUDA_ARCH__
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(address(to)), "l"(from) : "memory");
#else
        for (int k = 0; k < 16; k++) to[k] = from[k];
#endif
    }
#endif
    /** By all threads, which have met since begin(). parity: of the number of waits before. In bulk, the parts are
     *  there after it but for array ends, for which the threads must meet; else for the thread that copied, before
     *  they meet. */
    __device__ void wait(int parity)
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        unsigned done;
        do {
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(address(&barrier)), "r"(parity)
                         : "memory");
        } while (!done);
#elif defined(__CUDA_ARCH__)
        asm volatile("cp.async.wait_all;" : : : "memory");
#endif
    }
};

/** Room for MOST elements and what is copied beside them. */
template <class V, int MOST> struct staged {
    static constexpr int BYTES = (MOST * (int)sizeof(V) + 15) / 16 * 16 + 16;
};

#endif
