/* The rows that enter a partition on a warp: their coefficients, right-hand sides and weights, a chunk of groups
 * ahead in shared memory. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_ENTERING_ROWS_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_ENTERING_ROWS_CUH

#include "tridiagonal/block/cuda/panel_rows.cuh"

namespace trine_block {

/** What a kernel of stages is made of: the warps of a block, and each one's shared memory. */
template <typename T, int N> struct chain_shape {
    static constexpr bool NARROW = 6 * N * (int)sizeof(T) <= 192;
    static constexpr int WARPS = NARROW ? 16 : 8, BYTES = NARROW ? 12 * 1024 : 24 * 1024;
};
/** The largest power of two, 32 at most, so that two times as many items fit. */
__host__ __device__ constexpr int chunk_of(size_t bytes, size_t item)
{
    int chunk = 1;
    while (chunk < 32 && 4 * chunk * item <= bytes) chunk *= 2;
    return chunk;
}

/** Wait for the chunk from `now` on, and ask for the next one; also for the first one of all. */
template <int CHUNK, typename ASK> __device__ __forceinline__ void bring(int now, int end, const ASK &ask)
{
#pragma unroll 1
    /* in one place, so that the code stays short */
    for (int next = now ? now + CHUNK : 0; next <= now + CHUNK; next += CHUNK) {
        if (next) {
            wait_for_copies();
            __syncwarp();
        }
        if (next < end) ask(next);
    }
}

/* A source has the groups of rows that enter a partition, a chunk ahead, with their right-hand sides and weights:
 * arrive(g) before group g is read, in order; element(g, r, side, c), rhs(g, r), weight(g, r). */

/** Of the given matrix. A block row is an array of its three blocks, column-major, in a ring of two chunks. */
template <typename T, int N> struct given_source {
    static constexpr size_t PIVOT_BYTES = (lane_rows<T, N, 1, 1, 1>::SHARED_BYTES + 15) / 16 * 16;
    static constexpr int MATRIX = 3 * N * N, CHUNK = chunk_of(chain_shape<T, N>::BYTES - PIVOT_BYTES,
                                                              (MATRIX + N) * sizeof(T) + N * sizeof(real_of<T>));
    static constexpr int SMALL = sizeof(T) < 8 ? 4 : 8; /* bytes that can be copied from wherever an element lies */
    const stage_of<T> &s;
    const place<WARP> &at;
    const bool plain;
    T *matrix, *right;
    real_of<T> *weights;

    __device__ given_source(const stage_of<T> &s, const place<WARP> &at, unsigned char *shared)
        : s(s), at(at), plain(tile<T, N, WARP, 1>::is_plain(s.A)), matrix((T *)(shared + PIVOT_BYTES)),
          right(matrix + 2 * CHUNK * MATRIX), weights((real_of<T> *)(right + 2 * CHUNK * N))
    {
        if (plain && s.A.banded) /* what is on no band stays so */
            for (int e = at.q; e < 2 * CHUNK * MATRIX; e += WARP) matrix[e] = T{};
        __syncwarp();
    }
    __device__ __forceinline__ T element(int j, int r, int side, int c) const
    {
        return matrix[j % (2 * CHUNK) * MATRIX + (side * N + c) * N + r];
    }
    __device__ __forceinline__ T rhs(int j, int r) const { return right[j % (2 * CHUNK) * N + r]; }
    __device__ __forceinline__ real_of<T> weight(int j, int r) const { return weights[j % (2 * CHUNK) * N + r]; }

    static __device__ __forceinline__ void copy(T &to, const T &from)
    {
#pragma unroll
        for (int part = 0; part < (int)sizeof(T); part += SMALL)
            copy_async<SMALL>((char *)&to + part, (const char *)&from + part);
    }
    /** Have block row j and those behind it in its chunk brought. */
    __device__ __forceinline__ void ask(int j) const
    {
        const int rows = min(CHUNK, at.m - j);
        const int64_t block = at.group + j, first = block * N; /* of plain ones */
        T *here = matrix + j % (2 * CHUNK) * MATRIX, *vector = right + j % (2 * CHUNK) * N;
        if (plain) {
            const int unknowns = (int)min((int64_t)rows * N, s.A.n - first);
#pragma unroll 1
            for (int i = at.q; i < rows * N; i += WARP) {
                if (i < unknowns) copy(vector[i], s.D[first + i]);
                else vector[i] = T{};
                if (!s.A.banded) continue;
                T *row = here + i / N * MATRIX + i % N;
                const T *band = (const T *)s.A.a + first + i;
#pragma unroll 1
                for (int k = -s.A.kl; k <= s.A.ku; k++, band += s.A.n) {
                    const int64_t column = first + i + k;
                    T &to = row[(N + i % N + k) * N];
                    if (i < unknowns && (s.A.cyclic || (column >= 0 && column < s.A.n))) copy(to, *band);
                    else
                        to = i >= unknowns && k == 0 ? one_of<T>() : T{}; /* behind the end: unknowns of the
                                                                             identity */
                }
            }
            if (s.A.banded) return;
#pragma unroll 1
            for (int side = 0; side < 3; side++) {
                const T *from = (const T *)(side == 0 ? s.A.a : side == 1 ? s.A.b : s.A.c) + first * N;
#pragma unroll 1
                for (int e = at.q; e < rows * N * N; e += WARP)
                    copy(here[e / (N * N) * MATRIX + side * N * N + e % (N * N)], from[e]);
            }
        } else {
#pragma unroll 1
            for (int e = at.q; e < rows * MATRIX; e += WARP)
                here[e] = given_element<T>(s.A, block + e / MATRIX, e % MATRIX / (N * N) - 1, e % N, e / N % N);
#pragma unroll 1
            for (int i = at.q; i < rows * N; i += WARP)
                vector[i] =
                    i % N < unknowns_of(s.A, block + i / N) ? s.D[first_unknown(s.A, block + i / N) + i % N] : T{};
        }
    }
    __device__ __forceinline__ void arrive(int j)
    {
        if (j % CHUNK) return;
        bring<CHUNK>(j, at.m, [&](int next) { ask(next); });
        const int rows = min(CHUNK, at.m - j);
        if (!s.A.cyclic) { /* corners are never read as numbers */
            if (j == 0 && at.p == 0) clear(0);
            if (j + rows == at.m && at.p == s.partitions - 1) clear((at.m - 1) % (2 * CHUNK) * 3 + 2);
        }
#pragma unroll 1
        for (int i = at.q; i < rows * N; i += WARP)
            weights[j % (2 * CHUNK) * N + i] = lane_rows<T, N, 1, 1, 1>::weight_of(
                [&](int side, int c) { return element(j + i / N, i % N, side, c); });
        __syncwarp();
    }
    __device__ __forceinline__ void clear(int block) const
    {
        for (int e = at.q; e < N * N; e += WARP) matrix[block * N * N + e] = T{};
        __syncwarp();
    }
};
/** Of a coarse stage. */
template <typename T, int N> struct coarse_source {
    static constexpr size_t PIVOT_BYTES = (lane_rows<T, N, 2, 1, 1>::SHARED_BYTES + 15) / 16 * 16;
    static constexpr int ROWS = 2 * N, MATRIX = 4 * N * ROWS,
                         CHUNK = chunk_of(chain_shape<T, N>::BYTES - PIVOT_BYTES,
                                          (MATRIX + ROWS) * sizeof(T) + ROWS * sizeof(real_of<T>));
    const place<WARP> &at;
    const T *from, *from_rhs;
    T *matrix, *right;
    real_of<T> *weights;

    __device__ coarse_source(const stage_of<T> &s, const place<WARP> &at, unsigned char *shared)
        : at(at), from(s.matrix + at.group * MATRIX), from_rhs(s.X + at.group * ROWS),
          matrix((T *)(shared + PIVOT_BYTES)), right(matrix + 2 * CHUNK * MATRIX),
          weights((real_of<T> *)(right + 2 * CHUNK * ROWS))
    {}
    __device__ __forceinline__ T element(int g, int r, int side, int c) const
    {
        return matrix[(g % (2 * CHUNK) * 4 * N + side * N + c) * ROWS + r];
    }
    __device__ __forceinline__ T rhs(int g, int r) const { return right[g % (2 * CHUNK) * ROWS + r]; }
    __device__ __forceinline__ real_of<T> weight(int g, int r) const { return weights[g % (2 * CHUNK) * ROWS + r]; }
    __device__ __forceinline__ void ask(int g) const
    {
        constexpr int SMALL = sizeof(T) < 8 ? 4 : 8;
        const int groups = min(CHUNK, at.m - g), here = g % (2 * CHUNK);
#pragma unroll 1
        for (int e = at.q * SMALL; e < groups * MATRIX * (int)sizeof(T); e += WARP * SMALL)
            copy_async<SMALL>((char *)(matrix + here * MATRIX) + e, (const char *)(from + (int64_t)g * MATRIX) + e);
#pragma unroll 1
        for (int e = at.q * SMALL; e < groups * ROWS * (int)sizeof(T); e += WARP * SMALL)
            copy_async<SMALL>((char *)(right + here * ROWS) + e, (const char *)(from_rhs + (int64_t)g * ROWS) + e);
    }
    __device__ __forceinline__ void arrive(int g)
    {
        if (g % CHUNK) return;
        bring<CHUNK>(g, at.m, [&](int next) { ask(next); });
#pragma unroll 1
        for (int i = at.q; i < min(CHUNK, at.m - g) * ROWS; i += WARP)
            weights[g % (2 * CHUNK) * ROWS + i] = lane_rows<T, N, 2, 1, 1>::weight_of(
                [&](int side, int c) { return element(g + i / ROWS, i % ROWS, side, c); });
        __syncwarp();
    }
};

} // namespace trine_block

#endif
