/* A product P (product.cuh) that makes sums over all rows of the new y in the same launch: results[0] := u^H y,
 * results[1] := y^H y, z := z + gamma y. Each block leaves its sums in a slot; the last block of the last launch adds
 * up the slots in their order. */
#ifndef TRINE_SPMV_FUSED_CUH
#define TRINE_SPMV_FUSED_CUH

#include "core/gpu_number.cuh"
#include "spmv/cuda/segmented.cuh"

template <class P> struct fused_product : P {
    using T = typename P::product;
    static constexpr bool HAS_ATOMIC = false, FUSED = true;
    static constexpr int THREADS = 1024;

    const T *u;              /* NULL: no dot product */
    T *axpy;                 /* NULL: none */
    T gamma;
    T *results;
    T *slots;                /* 2 a block */
    unsigned *arrived;       /* blocks of the last launch; zero before and after */
    int first_slot, n_slots; /* of this launch; of all, 0: others follow */
    bool norm;

    struct local { T dot, norm; };
    __device__ local begin() const { return {zero_of<T>(), zero_of<T>()}; }
    __device__ void store(long long row, int r, T z, bool, local &sums) const
    {
        T *y_i = this->at(row, r);
        const T y = this->new_y(y_i, z);
        *y_i = y;
        take(row + r, y, sums);
    }
    /** A new y that is stored. */
    __device__ void take(long long row, T y, local &sums) const
    {
        if (u) sums.dot = sums.dot + conjugate(u[row]) * y;
        if (norm) sums.norm = sums.norm + conjugate(y) * y;
        if (axpy) axpy[row] = axpy[row] + gamma * y;
    }
    __device__ static T conjugate(T a)
    {
        if constexpr (scalar<T>::is_complex) a.y = -a.y;
        return a;
    }
    /** The sum of the block's threads, in all of them. */
    __device__ static local add_up(local sums)
    {
        __shared__ local of_warp[32];
        const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            const local other = shuffle_down(sums, d);
            sums = {sums.dot + other.dot, sums.norm + other.norm};
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0) of_warp[warp] = sums;
        __syncthreads();
        sums = of_warp[0];
        for (int w = 1; w < warps; w++) sums = {sums.dot + of_warp[w].dot, sums.norm + of_warp[w].norm};
        return sums;
    }
    __device__ void finish(local sums) const
    {
        __shared__ bool is_last;
        const int me = threadIdx.x, threads = blockDim.x;
        sums = add_up(sums);
        if (me == 0) {
            T *slot = slots + 2 * (first_slot + (long long)blockIdx.x);
            slot[0] = sums.dot, slot[1] = sums.norm;
            __threadfence();
            is_last = n_slots && atomicAdd(arrived, 1u) == gridDim.x - 1;
        }
        __syncthreads();
        if (!is_last) return;
        __threadfence();
        sums = begin();
        for (int k = me; k < n_slots; k += threads) {
            const volatile T *slot = slots + 2 * (long long)k;
            sums = {sums.dot + seen(slot), sums.norm + seen(slot + 1)};
        }
        sums = add_up(sums);
        if (me) return;
        if (u) results[0] = sums.dot;
        if (norm) results[1] = sums.norm;
        *arrived = 0;
    }
    __device__ static T seen(const volatile T *p)
    {
        if constexpr (scalar<T>::is_complex) return T{p->x, p->y};
        else return *p;
    }
};

#endif
