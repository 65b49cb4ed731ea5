/* Some vectors at a time for rows.cuh, wherever their elements are: an entry and its column are looked at once for all
 * of them. */
#ifndef TRINE_SPMV_TOGETHER_CUH
#define TRINE_SPMV_TOGETHER_CUH

#include "spmv/cuda/product.cuh"
#include "spmv/cuda/stretch.cuh"

/** P: a plain_product. "Vector" v of for_vector are vectors EACH v .. EACH v + EACH - 1; behind the last one,
 *  that is read again, as loads under a condition are slower, and nothing is stored. */
template <class P, int EACH, int REGISTERS_FOR> struct products_together {
    using T = typename P::product;
    using product = stretch<T, EACH>;
    using accumulator = product;
    using result = product;
    using stored = typename P::stored;
    using operand = product;
    using before = product;
    static constexpr bool STAGED = true, COMMUTES = true, OPAQUE = false, FUSED = false, NEEDS_ROW = false;
    static constexpr int THREADS = REGISTERS_FOR;

    P p;
    int n_vectors;

    __device__ const stored *first_stored() const { return p.first_stored(); }
    __device__ const int *first_column() const { return p.first_column(); }
    __device__ operand fetch(const stored *s, int k, int column, long long, long long) const
    {
        const char *x = (const char *)p.x + (long long)column * p.x_bytes;
        operand o;
#pragma unroll
        for (int q = 0; q < EACH; q++) o.at[q] = *(const T *)(x + (q < n_vectors ? q : n_vectors - 1) * p.x_step);
        if constexpr (P::INDEXES) o = added(zeros<product>(), p.entry_value(s, k), o);
        return o;
    }
    __device__ product combine(const stored *s, int k, operand o) const
    {
        if constexpr (P::INDEXES) return o;
        else return added(zeros<product>(), p.entry_value(s, k), o);
    }
    __device__ product lift(product a) const { return a; }
    __device__ product add(product a, product b) const { return a + b; }
    __device__ product identity() const { return zeros<product>(); }
    __device__ product project(product a) const { return a; }
    __device__ before look(long long, int) const { return identity(); }
    __device__ void store(long long row, int r, result z, bool, before) const
    {
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (q < n_vectors) {
                T *y = (T *)((char *)p.at(row, r) + q * p.y_step);
                *y = p.new_y(y, z.at[q]);
            }
    }
    __device__ products_together for_vector(long long v) const
    {
        return {p.for_vector(v * EACH), n_vectors - (int)v * EACH};
    }
};

#endif
