/* Vectors whose rows stand in another order than those of the system: gathered where a kernel loads them, scattered
 * where it stores them. The kernels that keep a system on the chip are the same; what they do otherwise is here. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_PERMUTED_ROWS_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_PERMUTED_ROWS_CUH

#include "tridiagonal/gtsv/cuda/tile_memory.cuh"

/** Row i of the system is row at[i] of them; NULL: row i. adds: what is put there is added to what is there. */
template <typename T> struct columns_of<T, true> {
    T *data;
    int64_t ld;
    const int32_t *at;
    bool adds;
    __device__ int64_t place(int64_t i) const { return at ? at[i] : i; }
    __device__ void put_there(int64_t there, int64_t k, T x) const
    {
        T *to = data + k * ld + there;
        *to = adds ? *to + x : x;
    }
    __device__ void put(int64_t i, int64_t k, T x) const { put_there(place(i), k, x); }
};

/** Places are read 16 bytes at a time. */
template <typename T> inline uintptr_t addresses_of(const gtsv_call<T, true> &call, int64_t)
{
    return (uintptr_t)call.D.at | (uintptr_t)call.X.at;
}

/** Where the rows of a tile stand of which the lane moves every 32nd; -1: there is none. */
template <int M> struct tile_places { int32_t at[M]; };
template <int M>
__device__ __forceinline__ tile_places<M> read_places(const int32_t *at, int64_t n, int64_t row)
{
    tile_places<M> places;
#pragma unroll
    for (int j = 0; j < M; j++) {
        const int64_t i = row + j * WARP + threadIdx.x % WARP;
        places.at[j] = i >= n ? -1 : at ? at[i] : (int32_t)i;
    }
    return places;
}

/** A number to shared memory; of a double complex, which need not lie on 16 bytes, the halves. */
template <typename T> __device__ __forceinline__ void copy_number(T *shared, const T *global)
{
    constexpr int BYTES = sizeof(T) < 8 ? 4 : 8;
#pragma unroll
    for (int part = 0; part < (int)sizeof(T) / BYTES; part++)
        copy_async<BYTES>((char *)shared + part * BYTES, (const char *)global + part * BYTES);
}

template <typename T, int NR, int M>
__device__ inline void load_tile(const tile<T, NR, M> &t, const system_of<T> &A, columns_of<const T, true> D,
                                 int64_t row, int64_t first, int count)
{
    const tile_places<M> places = read_places<M>(D.at, A.n, row); /* on their way together with the bands */
    load_bands(t, A, row, is_plain(t, A, row));
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T *rhs = D.data + (first + k) * D.ld;
#pragma unroll
        for (int j = 0; j < M; j++) {
            T *to = t.array(3 + k) + t.slot(j * WARP + threadIdx.x % WARP);
            if (k < count && places.at[j] >= 0) copy_number(to, rhs + places.at[j]);
            else *to = T{};
        }
    }
}

template <typename T, int NR, int M>
__device__ inline void store_tile(const tile<T, NR, M> &t, int64_t n, columns_of<T, true> X, int64_t row, int64_t first,
                                  int count)
{
    const tile_places<M> places = read_places<M>(X.at, n, row);
    __syncwarp();
    for (int k = 0; k < count; k++)
#pragma unroll
        for (int j = 0; j < M; j++)
            if (places.at[j] >= 0)
                X.put_there(places.at[j], first + k, t.array(3 + k)[t.slot(j * WARP + threadIdx.x % WARP)]);
}

#endif
