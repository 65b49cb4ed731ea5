/* The rows of a warp's partitions on their way through shared memory, some block rows at a time: they come from
 * global memory coalesced, with their right-hand sides, and bands become blocks on the way. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_STREAMED_ROWS_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_STREAMED_ROWS_CUH

#include "tridiagonal/block/cuda/panel.cuh"

namespace trine_block {

/** Where a tile keeps what. A partition has three arrays, of the blocks before, on and behind the diagonal, one
 *  block row after the other, each column-major; right-hand sides have an array each. Partitions are an odd number
 *  of vectors (of 4, 8 or 16 bytes) apart, so that lanes that read the same vector of theirs hit different banks. */
template <typename T, int N, int LANES, int RHS> struct tile_shape {
    static constexpr int TOGETHER = WARP / LANES;
    static constexpr int BLOCK_BYTES = N * N * (int)sizeof(T);
    static constexpr int VECTOR_BYTES = BLOCK_BYTES % 16 == 0 ? 16 : BLOCK_BYTES % 8 == 0 ? 8 : 4;
    /* elements of an array, of a partition's three, of a right-hand side; right-hand sides of a partition */
    int length, partition, column, columns;

    __host__ __device__ tile_shape(int64_t block_rows, int64_t nrhs)
    {
        length = (int)block_rows * N * N;
        partition =
            ((3 * length * (int)sizeof(T) + VECTOR_BYTES - 1) / VECTOR_BYTES | 1) * VECTOR_BYTES / (int)sizeof(T);
        column = (int)block_rows * N | 1;
        columns = (int)(nrhs < RHS ? nrhs : RHS);
    }
    __host__ __device__ size_t bytes() const { return (size_t)TOGETHER * (partition + columns * column) * sizeof(T); }
};

/** op(partition, from, to) for each of `per` vectors of `count` partitions, a warp together: the byte offsets of the
 *  vector in arrays whose partitions are from_step and to_step apart. */
template <int VECTOR_BYTES, typename OP> __device__ __forceinline__ void
for_each_vector(int per, int count, int from_step, int to_step, const OP &op)
{
    if (per == 0) return;
    const int lane = threadIdx.x % WARP, step = WARP / per, rest = WARP % per;
    int partition = lane / per, vector = lane % per;
    int from = partition * from_step + vector * VECTOR_BYTES, to = partition * to_step + vector * VECTOR_BYTES;
#pragma unroll 4
    while (partition < count) {
        op(partition, from, to);
        partition += step, vector += rest;
        from += step * from_step + rest * VECTOR_BYTES, to += step * to_step + rest * VECTOR_BYTES;
        if (vector >= per) {
            partition++, vector -= per;
            from += from_step - per * VECTOR_BYTES, to += to_step - per * VECTOR_BYTES;
        }
    }
}

template <typename T, int N, int LANES, int RHS> struct tile {
    using shape = tile_shape<T, N, LANES, RHS>;
    static constexpr int SMALL = sizeof(T) < 8 ? 4 : 8; /* bytes that can be copied from wherever an element lies */
    const shape at_hand;
    const int mask;   /* block row j is at j & mask: a tile may be smaller than its partitions */
    T *data, *rhs;    /* of the warp */
    T *mine, *my_rhs; /* of the lane's partition */
    int rhs_there;    /* right-hand sides */

    __device__ tile(const stage_of<T> &s, const place<LANES> &at, int64_t block_rows, int mask, T *memory,
                    int64_t column)
        : at_hand(block_rows, s.nrhs), mask(mask), data(memory), rhs(memory + shape::TOGETHER * at_hand.partition)
    {
        mine = data + at.slot * at_hand.partition;
        my_rhs = rhs + at.slot * at_hand.columns * at_hand.column;
        rhs_there = s.nrhs - column < RHS ? (int)(s.nrhs - column) : RHS;
    }

    /* ------------------------------------------------------ from and to memory */

    /** The unknowns of the caller's matrix are numbered like positions in block columns, as far as there are n. */
    static __host__ __device__ bool is_plain(const block_matrix &A)
    {
        return A.op == TRINE_N && A.size == N && !A.larger && !A.wrapped &&
               (A.banded || (A.n_given == N && A.rows_given == A.rows));
    }

    /** Block rows j ... j + rows - 1 of all partitions of the warp, VECTOR_BYTES bytes at a time. */
    template <int VECTOR_BYTES> __device__ __forceinline__ void load_blocks(const stage_of<T> &s,
                                                                            const place<LANES> &at, int j, int rows)
    {
        constexpr int BYTES = N * N * (int)sizeof(T);
        const int64_t first = (at.first_group + j) * BYTES;
        const char *a = (const char *)s.A.a + first, *b = (const char *)s.A.b + first, *c = (const char *)s.A.c + first;
        char *here = (char *)(data + (j & mask) * N * N);
        const int next = at_hand.length * (int)sizeof(T);
        for_each_vector<VECTOR_BYTES>(rows * BYTES / VECTOR_BYTES, at.count, at.m * BYTES,
                                      at_hand.partition * (int)sizeof(T), [&](int, int from, int to) {
                                          copy_async<VECTOR_BYTES>(here + to, a + from);
                                          copy_async<VECTOR_BYTES>(here + to + next, b + from);
                                          copy_async<VECTOR_BYTES>(here + to + 2 * next, c + from);
                                      });
    }
    /** Bands of block rows j ... j + rows - 1: element k of row i of a block row stands in column i + k of the three
     *  blocks. */
    __device__ __forceinline__ void load_bands(const stage_of<T> &s, const place<LANES> &at, int j, int rows)
    {
        const int64_t n = s.A.n, first = (at.first_group + j) * N;
        const int bands = s.A.kl + s.A.ku + 1;
        T *here = data + (j & mask) * N * N;
        for_each_vector<1>(rows * N, at.count, at.m * N, 0, [&](int partition, int from, int r) {
            const int i = r % N;
            const int64_t number = first + from;
            const bool inside = s.A.cyclic || (number >= N && number < n - N);
            T *row = here + partition * at_hand.partition + (r - i) * N + i;
            const T *band = (const T *)s.A.a + (s.A.kl - N - i) * n + number;
#pragma unroll
            for (int c = 0; c < 3 * N; c++) { /* columns of the three blocks */
                const int64_t column = number + c - N - i;
                T *to = row + c / N * at_hand.length + c % N * N;
                if (number < n && (unsigned)(s.A.kl - N - i + c) < (unsigned)bands &&
                    (inside || (column >= 0 && column < n)))
#pragma unroll
                    for (int part = 0; part < (int)sizeof(T) / SMALL; part++)
                        copy_async<SMALL>((char *)to + part * SMALL, (const char *)(band + c * n) + part * SMALL);
                else *to = number >= n && c == N + i ? one_of<T>() : T{}; /* behind the end: unknowns of the identity */
            }
        });
    }
    /** Block rows of one partition, element by element. Static: a tile that has an address would live in memory, and
     *  nothing would be known of its pointers. */
    static __device__ __noinline__ void load_elements(const stage_of<T> &s, T *to, int length, int64_t group, int rows)
    {
        for (int e = threadIdx.x % WARP; e < rows * N * N; e += WARP)
            for (int side = 0; side < 3; side++)
                to[side * length + e] = given_element<T>(s.A, group + e / (N * N), side - 1, e % N, e / N % N);
    }
    template <bool PLAIN> __device__ __forceinline__ void load_matrix(const stage_of<T> &s, const place<LANES> &at,
                                                                      int j, int rows)
    {
        if constexpr (!PLAIN) {
            for (int slot = 0; slot < at.count; slot++)
                load_elements(s, data + slot * at_hand.partition + (j & mask) * N * N, at_hand.length,
                              at.first_group + (int64_t)slot * at.m + j, rows);
        } else if (!s.A.banded) {
            if (shape::VECTOR_BYTES == 16 && is_aligned(s.A.a) && is_aligned(s.A.b) && is_aligned(s.A.c))
                load_blocks<shape::VECTOR_BYTES>(s, at, j, rows);
            else load_blocks<SMALL>(s, at, j, rows);
        } else {
            load_bands(s, at, j, rows);
        }
    }

    /** op(here, column, row) for each element of the right-hand sides of block rows j ... that is there;
     *  absent(here) for others. */
    template <bool PLAIN, typename OP, typename ABSENT>
    __device__ __forceinline__ void for_vectors(const stage_of<T> &s, const place<LANES> &at, int64_t column, int j,
                                                int rows, const OP &op, const ABSENT &absent)
    {
        const bool plain = PLAIN && (at.first_group + (int64_t)(at.count - 1) * at.m + j + rows) * N <= s.A.n;
        T *here = rhs + (j & mask) * N;
        for (int r = 0; r < at_hand.columns && column + r < s.nrhs; r++, here += at_hand.column) {
            const int64_t first = (at.first_group + j) * N;
            const int step = at_hand.columns * at_hand.column;
            if (plain)
                for_each_vector<(int)sizeof(T)>(
                    rows * N, at.count, at.m * N * (int)sizeof(T), step * (int)sizeof(T), [&](int, int from, int to) {
                        op(*(T *)((char *)here + to), column + r, first + from / (int)sizeof(T));
                    });
            else
                for (int slot = 0; slot < at.count; slot++)
                    for (int e = threadIdx.x % WARP; e < rows * N; e += WARP) {
                        const int64_t block = at.first_group + (int64_t)slot * at.m + j + e / N;
                        if (e % N < unknowns_of(s.A, block))
                            op(here[slot * step + e], column + r, first_unknown(s.A, block) + e % N);
                        else absent(here[slot * step + e]);
                    }
        }
    }
    /** Have block rows j ... j + rows - 1 brought, with their right-hand sides; wait_for_copies, __syncwarp. */
    template <bool PLAIN> __device__ __forceinline__ void load(const stage_of<T> &s, const place<LANES> &at,
                                                               int64_t column, int j, int rows)
    {
        load_matrix<PLAIN>(s, at, j, rows);
        for_vectors<PLAIN>(
            s, at, column, j, rows,
            [&](T &here, int64_t c, int64_t row) {
#pragma unroll
                for (int part = 0; part < (int)sizeof(T) / SMALL; part++)
                    copy_async<SMALL>((char *)&here + part * SMALL,
                                      (const char *)(s.D + c * s.ldd + row) + part * SMALL);
            },
            [](T &here) { here = T{}; });
    }

    /* ------------------------------------------------------------ a partition's */

    /** Set a block of block row j to zero, by the lanes of its partition. */
    __device__ __forceinline__ void clear(const place<LANES> &at, int side, int j) const
    {
        for (int e = at.left_over ? N * N : at.q; e < N * N; e += LANES)
            mine[side * at_hand.length + (j & mask) * N * N + e] = T{};
    }
};

constexpr int CHUNK = 4; /* block rows that `reduce` asks for at once; two times that are in its tile */

/** For `reduce`: arrive(j) before block row j is read, 1 first; block rows 0 ... CHUNK - 1 have been asked for. */
template <bool PLAIN, int CHUNK, typename T, int N, int LANES, int RHS>
__device__ __forceinline__ void arrive(tile<T, N, LANES, RHS> &tile, const stage_of<T> &s, const place<LANES> &at,
                                       int64_t column, int j)
{
    if (j > 1 && j % CHUNK) return;
    const int next = j / CHUNK * CHUNK + CHUNK;
    wait_for_copies();
    __syncwarp();
    /* in place of those that have been read */
    if (next < at.m) tile.template load<PLAIN>(s, at, column, next, at.m - next < CHUNK ? at.m - next : CHUNK);
}

} // namespace trine_block

#endif
