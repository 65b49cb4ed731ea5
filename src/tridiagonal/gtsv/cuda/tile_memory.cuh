/* The memory of a tile: rows of 32 neighbouring partitions of M rows each in shared memory, a lane a partition, and
 * their way from and to global memory. Rows are moved in 16-byte vectors. Those of a partition are stored in an
 * order of their own, an XOR swizzle of their number by the lane, so that eight lanes reading the same vector of
 * their partitions touch all 32 banks once, without padding. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_TILE_MEMORY_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_TILE_MEMORY_CUH

#include "tridiagonal/gtsv/cuda/call.cuh"

template <typename T, int NR, int M> struct tile {
    static constexpr int PER_VECTOR = 16 / sizeof(T), VECTORS = M / PER_VECTOR, ROWS = WARP * M;
    static constexpr size_t BYTES = (3 + NR) * ROWS * sizeof(T);
    static_assert(VECTORS >= 2 && WARP % VECTORS == 0, "the swizzle makes eight lanes touch all banks");
    static constexpr int FIRST = PER_VECTOR == 1 ? 2 : 1; /* vectors that hold rows 0 and 1 */
    struct alignas(16) vector16 { T v[PER_VECTOR]; };

    T *data; /* lower, diag, upper, right-hand sides: ROWS elements each */

    __device__ T *array(int k) const { return data + k * ROWS; }
    /** Vector k of a partition stands where vector k ^ swizzle would. */
    static constexpr unsigned SWIZZLES = VECTORS < 8 ? VECTORS : 8, PERIOD = VECTORS < 16 ? 2 : VECTORS / 4;
    static __device__ unsigned swizzle(unsigned partition) { return partition * SWIZZLES / 8 % SWIZZLES; }
    static __device__ unsigned slot(unsigned r)
    {
        return (r / PER_VECTOR ^ swizzle(r / M)) * PER_VECTOR + r % PER_VECTOR;
    }
    /** Of the first row of vector i * WARP + lane, counted through the tile: swizzles repeat after PERIOD times WARP
     *  vectors. */
    static __device__ unsigned coalesced_slot(unsigned i)
    {
        return slot((i % PERIOD * WARP + threadIdx.x % WARP) * PER_VECTOR) + i / PERIOD * PERIOD * WARP * PER_VECTOR;
    }
    /** Where vector k, or row j, of the lane's partition stands. */
    static __device__ unsigned vector_slot(unsigned k)
    {
        const unsigned lane = threadIdx.x % WARP;
        return (lane * M + swizzle(lane) * PER_VECTOR) ^ k * PER_VECTOR;
    }
    static __device__ unsigned row_slot(unsigned j) { return vector_slot(j / PER_VECTOR) + j % PER_VECTOR; }
};

template <typename T, int NR, int M> __device__ __forceinline__ void load_aligned_band(const tile<T, NR, M> &t, int k,
                                                                                       const T *global)
{
    using tile = tile<T, NR, M>;
    const T *from = global + threadIdx.x % WARP * tile::PER_VECTOR;
#pragma unroll
    for (int i = 0; i < tile::VECTORS; i++)
        copy_async<16>(t.array(k) + tile::coalesced_slot(i), from + i * WARP * tile::PER_VECTOR);
}
template <typename T, int NR, int M> __device__ inline void load_band(const tile<T, NR, M> &t, int k, const T *global)
{
    using tile = tile<T, NR, M>;
    if (is_aligned(global)) {
        load_aligned_band(t, k, global);
    } else {
        constexpr int BYTES = sizeof(T) < 8 ? 4 : 8; /* of a double complex, the halves */
        for (int r = threadIdx.x % WARP; r < tile::ROWS; r += WARP)
            for (int part = 0; part < (int)sizeof(T) / BYTES; part++)
                copy_async<BYTES>((char *)(t.array(k) + tile::slot(r)) + part * BYTES,
                                  (const char *)(global + r) + part * BYTES);
    }
}

template <typename T, int NR, int M> __device__ inline void load_bands(const tile<T, NR, M> &t, const system_of<T> &A,
                                                                       int64_t row, bool plain)
{
    using tile = tile<T, NR, M>;
    if (plain) {
        load_band(t, 0, A.lower + row + A.lower_shift);
        load_band(t, 1, A.diag + row);
        load_band(t, 2, A.upper + row + A.upper_shift);
    } else {
        for (int r = threadIdx.x % WARP; r < tile::ROWS; r += WARP) {
            const int64_t i = row + r;
            const int slot = tile::slot(r);
            t.array(0)[slot] = i < A.n ? lower_of(A, i) : T{};
            t.array(1)[slot] = i < A.n ? diag_of(A, i) : one_of<T>();
            t.array(2)[slot] = i < A.n ? upper_of(A, i) : T{};
        }
    }
}
/** Are these rows of the system, with bands that are taken as they are? */
template <typename T, int NR, int M> __device__ __forceinline__ bool is_plain(const tile<T, NR, M> &,
                                                                              const system_of<T> &A, int64_t row)
{
    constexpr int ROWS = tile<T, NR, M>::ROWS;
    return row + ROWS <= A.n && !A.conjugate && row + A.lower_shift >= 0 && row + ROWS + A.upper_shift <= A.n;
}

/** Rows row .. row + 32 M - 1 with right-hand sides first .. first + count - 1; rows outside the system are the
 *  identity's. The copies may still be under way: wait_for_tile. The usual case comes first and without branches: in
 *  short kernels every jump waits for instructions. */
template <typename T, int NR, int M> __device__ inline void
load_tile(const tile<T, NR, M> &t, const system_of<T> &A, columns_of<const T> D, int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    const int lane = threadIdx.x % WARP;
    const bool whole = row + tile::ROWS <= A.n, plain = is_plain(t, A, row);
    const T *lower = A.lower + row + A.lower_shift, *diag = A.diag + row, *upper = A.upper + row + A.upper_shift,
            *rhs = D.data + first * D.ld + row;
    if (__builtin_expect(plain && count == NR &&
                             (((uintptr_t)lower | (uintptr_t)diag | (uintptr_t)upper | (uintptr_t)rhs |
                               (NR > 1 ? D.ld * sizeof(T) : 0)) &
                              15) == 0,
                         1)) {
        load_aligned_band(t, 0, lower);
        load_aligned_band(t, 1, diag);
        load_aligned_band(t, 2, upper);
#pragma unroll
        for (int k = 0; k < NR; k++) load_aligned_band(t, 3 + k, rhs + k * D.ld);
        return;
    }
    load_bands(t, A, row, plain);
    for (int k = 0; k < NR; k++) {
        if (k < count && whole) load_band(t, 3 + k, rhs + k * D.ld);
        else
            for (int r = lane; r < tile::ROWS; r += WARP)
                t.array(3 + k)[tile::slot(r)] = k < count && row + r < A.n ? rhs[k * D.ld + r] : T{};
    }
}
/** ... and the corners, which are nobody's: they are never read as numbers. */
template <typename T, int NR, int M> __device__ inline void wait_for_tile(const tile<T, NR, M> &t,
                                                                          const system_of<T> &A, int64_t row)
{
    using tile = tile<T, NR, M>;
    wait_for_copies();
    __syncwarp();
    if (!A.cyclic && (row == 0 || row + tile::ROWS == A.n)) {
        if (threadIdx.x % WARP == 0) {
            if (row == 0) t.array(0)[0] = T{};
            if (row + tile::ROWS == A.n) t.array(2)[tile::slot(tile::ROWS - 1)] = T{};
        }
        __syncwarp();
    }
}

/** wait_for_tile, and the product of the rows and a guess is subtracted from the right-hand sides, a lane every 32nd
 *  row. */
template <typename T, int NR, int M>
__device__ __noinline__ void wait_for_residual(const tile<T, NR, M> t, const system_of<T> &A, columns_of<const T> guess,
                                               int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    const int lane = threadIdx.x % WARP;
    for (int k = 0; k < count; k++) {
        const T *x = guess.data + (first + k) * guess.ld;
        T own[M]; /* on its way together with the tile */
#pragma unroll
        for (int j = 0; j < M; j++) {
            const int64_t i = row + j * WARP + lane;
            own[j] = i < A.n ? x[i] : i == A.n && A.cyclic ? x[0] : T{};
        }
        T before = {}, behind = {}; /* the tile, for the first and the last lane */
        if (lane == 0) before = row > 0 && row <= A.n ? x[row - 1] : A.cyclic ? x[A.n - 1] : T{};
        if (lane == WARP - 1) behind = row + tile::ROWS < A.n ? x[row + tile::ROWS] : A.cyclic ? x[0] : T{};
        if (k == 0) wait_for_tile(t, A, row);
        T right = shuffle_from(own[0], lane + 1 & WARP - 1);
#pragma unroll
        for (int j = 0; j < M; j++) {
            /* the first lane's neighbour is the last lane, 32 rows before; the last lane's is the first one, 32 rows
             * on */
            const T around = shuffle_from(own[j], lane - 1 & WARP - 1),
                    next = j + 1 < M ? shuffle_from(own[j + 1 < M ? j + 1 : j], lane + 1 & WARP - 1) : behind;
            const T at_left = lane ? around : before, at_right = lane < WARP - 1 ? right : next;
            const int slot = tile::slot(j * WARP + lane);
            T &d = t.array(3 + k)[slot];
            if (row + j * WARP + lane < A.n)
                d = d - t.array(1)[slot] * own[j] - t.array(0)[slot] * at_left - t.array(2)[slot] * at_right;
            before = around, right = next;
        }
    }
    if (count == 0) wait_for_tile(t, A, row);
    __syncwarp();
}

template <typename T, int NR, int M> __device__ inline void
store_tile(const tile<T, NR, M> &t, int64_t n, columns_of<T> X, int64_t row, int64_t first, int count)
{
    using tile = tile<T, NR, M>;
    using vector16 = typename tile::vector16;
    const int lane = threadIdx.x % WARP;
    __syncwarp();
    for (int k = 0; k < count; k++) {
        const T *x = t.array(3 + k);
        T *global = X.data + (first + k) * X.ld + row;
        if (row + tile::ROWS <= n && is_aligned(global)) {
            vector16 *to = (vector16 *)global + lane;
#pragma unroll
            for (int i = 0; i < tile::VECTORS; i++) to[i * WARP] = *(const vector16 *)(x + tile::coalesced_slot(i));
        } else {
            for (int r = lane; r < tile::ROWS && row + r < n; r += WARP) global[r] = x[tile::slot(r)];
        }
    }
}

/** X := to + the solution in the tile; X may be `to`. */
template <typename T, int NR, int M> __device__ inline void add_tile(const tile<T, NR, M> &t, int64_t n,
                                                                     columns_of<const T> to, columns_of<T> X,
                                                                     int64_t row, int64_t first, int count)
{
    __syncwarp();
    for (int k = 0; k < count; k++) {
        const T *before = to.data + (first + k) * to.ld + row;
        T *global = X.data + (first + k) * X.ld + row;
        for (int r = threadIdx.x % WARP; r < tile<T, NR, M>::ROWS && row + r < n; r += WARP)
            global[r] = before[r] + t.array(3 + k)[t.slot(r)];
    }
}

/** How many rows of the lane's partition there are. A last, short partition gets an even number by a row of the
 *  identity, as the others have it: tridiag(1, tiny, 1) of odd order is nearly singular. */
template <typename T, int NR, int M> __device__ __forceinline__ int lane_rows(int64_t n, int64_t row)
{
    const int64_t left = n - row - (int64_t)(threadIdx.x % WARP) * M;
    return left >= M ? M : left <= 0 ? 0 : (int)(left + left % 2);
}

#endif
