/* A product P (product.cuh) that makes sums over all rows of the new y in the same launch: results[0] := u^H y,
 * results[1] := y^H y, z := z + gamma y. Each block leaves its sums in slots (left_open.cuh), which the last block of
 * the last launch adds up in their order. */
#ifndef TRINE_SPMV_FUSED_CUH
#define TRINE_SPMV_FUSED_CUH

#include "core/gpu_number.cuh"
#include "spmv/cuda/left_open.cuh"
#include "spmv/cuda/segmented.cuh"

/** AHEAD: elements of u and axpy are asked for ahead (ring.cuh), which pays unless u is x. */
template <class P, bool AHEAD> struct fused_product : P {
    using T = typename P::product;
    static constexpr bool HAS_ATOMIC = false, FUSED = true, LOOKS_AHEAD = AHEAD;
    static constexpr int THREADS = 1024, AT_ONCE = 9; /* slots of a thread of the last block */

    const T *u;              /* NULL: no dot product */
    T *axpy;                 /* NULL: none */
    T gamma;
    T *results;
    left_open<T> *slots;     /* 2 a block */
    int first_slot, n_slots; /* of this launch; of all, 0: others follow */
    bool norm;

    struct local { T dot, norm; };
    struct before { T y, u, axpy; };
    __device__ local begin() const { return {zero_of<T>(), zero_of<T>()}; }
    __device__ void store(long long row, int r, T z, bool, local &sums) const
    {
        T *y_i = this->at(row, r);
        const T y = this->new_y(y_i, z);
        *y_i = y;
        take(row + r, y, sums);
    }
    /** u may be y. */
    __device__ before look(long long row, int r) const
    {
        const T zero = zero_of<T>();
        return {this->reads_y ? *this->at(row, r) : zero, u ? u[row + r] : zero, axpy ? axpy[row + r] : zero};
    }
    __device__ void store(long long row, int r, T z, bool, local &sums, before old) const
    {
        T *y_i = this->at(row, r);
        const T y = this->new_y(&old.y, z);
        *y_i = y;
        take(row + r, y, sums, u && u + (row + r) == y_i ? y : old.u, old.axpy);
    }
    /** A new y that is stored, and what u and axpy have there. */
    __device__ void take(long long row, T y, local &sums, T u_i, T axpy_i) const
    {
        if (u) sums.dot = sums.dot + conjugate(u_i) * y;
        if (norm) sums.norm = sums.norm + conjugate(y) * y;
        if (axpy) axpy[row] = axpy_i + gamma * y;
    }
    __device__ void take(long long row, T y, local &sums) const
    {
        take(row, y, sums, u ? u[row] : y, axpy ? axpy[row] : y);
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
        const int me = threadIdx.x, threads = blockDim.x, of_all = 2 * n_slots;
        sums = add_up(sums);
        if (me == 0) {
            left_open<T> *own = slots + 2 * (first_slot + (long long)blockIdx.x);
            leave(own, sums.dot), leave(own + 1, sums.norm);
        }
        if (!n_slots || blockIdx.x != gridDim.x - 1) return;
        __syncthreads();
        T sum = zero_of<T>(); /* a thread has dot products or norms alone, for threads are an even number */
        for (int first = me; first < of_all; first += AT_ONCE * threads) {
            left_open<T> of[AT_ONCE]; /* on their way before the first is waited for */
            bool all;
            do {
                all = true;
#pragma unroll
                for (int q = 0; q < AT_ONCE; q++)
                    of[q] = look_at(slots + (first + q * threads < of_all ? first + q * threads : first));
#pragma unroll
                for (int q = 0; q < AT_ONCE; q++) all = all && of[q].is_there;
            } while (!all);
#pragma unroll
            for (int q = 0; q < AT_ONCE; q++)
                if (first + q * threads < of_all) {
                    sum = sum + of[q].value;
                    slots[first + q * threads].is_there = 0;
                }
        }
        sums = begin();
        if (me % 2) sums.norm = sum;
        else sums.dot = sum;
        sums = add_up(sums);
        if (me) return;
        if (u) results[0] = sums.dot;
        if (norm) results[1] = sums.norm;
    }
};

#endif
