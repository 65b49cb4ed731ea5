/* What the kernels of block tridiagonal and banded solves work on: a stage, the partition of a few neighbouring
 * lanes, and the caller's matrix element by element. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_STAGE_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_STAGE_CUH

#include "tridiagonal/block/block.h"
#include "tridiagonal/common/system.cuh"

namespace trine_block {

/** One stage: kernels get it by value. */
template <typename T> struct stage_of {
    block_matrix A;               /* the caller's matrix: of the first stage */
    const T *matrix;              /* the groups of a coarse stage */
    T *coarse; /* the groups of the next one; of the first stage NULL where they are there already */
    int64_t partitions, base, groups, nrhs;
    /* the partitions that a launch does, of which the first `larger` have base + 1 groups; the first one's first
     * group */
    int64_t first, count, larger, first_group;
    bool cyclic;
    int pivot;
    real_of<T> epsilon;
    const T *D;
    T *X; /* also the pivot rows' right-hand sides, in between */
    int64_t ldd, ldx;
    T *coarse_x; /* right-hand sides of the coarse system, then its solution; NULL where they are to
                    stay */
    int64_t coarse_ld;
    bool has_multipliers; /* the factors: else pivot rows only */
    T *chunks; /* of the partitions that a launch does; of the first stage NULL where nothing is
                  kept, X and D included */
    uint8_t *pivots;
    bool is_scaled; /* are rows taken times powers of two when they enter; have the right-hand sides
                       been already? */
    bool rhs_is_scaled;
    uint16_t *scales; /* exponent bits of these powers, where a factorization keeps them: `width` of a
                         block row */
};

/** The partition of LANES neighbouring lanes. The partitions of a warp follow each other and have the same number of
 *  groups. */
template <int LANES> struct place {
    static constexpr int TOGETHER = WARP / LANES; /* partitions of a warp */
    int q, first_lane, slot; /* this lane's number; the partition's first lane and its number in
                                the warp */
    int count; /* partitions that are there */
    int64_t p, group; /* the partition; its first group */
    int64_t first_group; /* of the warp */
    int m; /* groups of a partition */
    bool there;
    bool left_over; /* does what a lane of the last partition does, and writes nothing */

    /** Of warp `block` of a stage. */
    template <typename T> __device__ place(const stage_of<T> &s, int64_t block)
    {
        const int lane = (int)threadIdx.x % WARP;
        const int64_t large = (s.larger + TOGETHER - 1) / TOGETHER;
        const bool is_large = block < large;
        /* of those that the launch does */
        const int64_t begin = is_large ? block * TOGETHER : s.larger + (block - large) * TOGETHER;
        const int64_t left = (is_large ? s.larger : s.count) - begin;
        left_over = WARP % LANES != 0 && lane / LANES >= TOGETHER;
        slot = left_over ? TOGETHER - 1 : lane / LANES;
        q = lane % LANES;
        first_lane = slot * LANES;
        m = (int)s.base + is_large;
        count = (int)(left < TOGETHER ? left : TOGETHER);
        there = lane / LANES < count;
        const int mine = slot < count ? slot : count - 1;
        p = s.first + begin + mine;
        first_group = s.first_group + begin * s.base + (begin < s.larger ? begin : s.larger);
        group = first_group + (int64_t)mine * m;
    }
};
template <int LANES, typename T> __host__ __device__ int64_t blocks_of(const stage_of<T> &s)
{
    constexpr int64_t TOGETHER = WARP / LANES;
    return (s.larger + TOGETHER - 1) / TOGETHER + (s.count - s.larger + TOGETHER - 1) / TOGETHER;
}

/* --------------------------------------------------------------- the matrix */

__device__ inline int64_t first_unknown(const block_matrix &A, int64_t j)
{
    return j * A.size + (j < A.larger ? j : A.larger);
}
__device__ inline int unknowns_of(const block_matrix &A, int64_t j)
{
    const int64_t left = A.n - first_unknown(A, j), size = A.size + (j < A.larger);
    return (int)(left < 0 ? 0 : left < size ? left : size);
}

/** Element q of block column j in right-hand side `column`, wherever it is. */
template <typename T, int N, int GROUP> __device__ __forceinline__ T
load_one(const stage_of<T> &s, const T *data, int64_t ld, int64_t j, int q, int64_t column)
{
    if (column >= s.nrhs) return T{};
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    return GROUP == 2 || q < unknowns_of(s.A, j) ? data[column * ld + first + q] : T{};
}
template <typename T, int N, int GROUP> __device__ __forceinline__ void
store_one(const stage_of<T> &s, int64_t j, int q, int64_t column, bool there, T value)
{
    if (!there || column >= s.nrhs) return;
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    if (GROUP == 2 || q < unknowns_of(s.A, j)) s.X[column * s.ldx + first + q] = value;
}

/** op(A)'s element in `row` on its band k, wherever that lies. */
template <typename T> __device__ inline T given_band(const block_matrix &A, int64_t row, int k)
{
    if (A.op == TRINE_N) return ((const T *)A.a)[(A.kl + k) * A.n + row];
    int64_t from = row + k;
    if (from < 0 || from >= A.n) from = (from % A.n + A.n) % A.n;
    const T value = ((const T *)A.a)[(A.kl - k) * A.n + from];
    return A.op == TRINE_H ? conjugate_of(value) : value;
}
/** Element (i, q) of the caller's block beside (-1, 1) or on the diagonal of block row j of op(A). */
template <typename T> __device__ inline T given_block(const block_matrix &A, int64_t j, int side, int i, int q)
{
    const bool transposed = A.op != TRINE_N;
    int64_t from = j;
    if (transposed) {
        from += side;
        from = from < 0 ? from + A.rows_given : from >= A.rows_given ? from - A.rows_given : from;
    }
    const T *band = (const T *)(side == 0 ? A.b : (side < 0) != transposed ? A.a : A.c);
    const int n = A.n_given;
    const T value = band[from * n * n + (transposed ? i * n + q : q * n + i)];
    return A.op == TRINE_H ? conjugate_of(value) : value;
}

/** Element (i, q) of block row j in block column j + side; see given_row in block/cpu/given.inc. */
template <typename T> __device__ __noinline__ T given_element(const block_matrix &A, int64_t j, int side, int i, int q)
{
    const int64_t first = first_unknown(A, j), unknown = first + i;
    const int rows = A.size + (j < A.larger);
    if (i >= rows || unknown >= A.n) return side == 0 && i == q ? one_of<T>() : T{};
    if (!A.banded) {
        if (q >= A.n_given) return T{};
        const int64_t last = A.rows_given - 1;
        if (A.wrapped) {
            if (last == 0)
                return side ? T{}
                            : given_block<T>(A, j, 0, i, q) + given_block<T>(A, j, -1, i, q) +
                                  given_block<T>(A, j, 1, i, q);
            if (side == 0) return given_block<T>(A, j, 0, i, q);
            return side == (j == 0 ? 1 : -1) ? given_block<T>(A, j, 1, i, q) + given_block<T>(A, j, -1, i, q) : T{};
        }
        if (!A.cyclic && ((side < 0 && j == 0) || (side > 0 && j == last))) return T{};
        return given_block<T>(A, j, side, i, q);
    }
    const int below = A.op == TRINE_N ? A.kl : A.ku, above = A.op == TRINE_N ? A.ku : A.kl;
    if (A.wrapped) {
        const int64_t column = (j + side) * A.width + q;
        T sum{};
        if (j + side < 0 || j + side > 1 || column >= A.n) return sum;
        for (int k = -below; k <= above; k++)
            if (((unknown + k - column) % A.n) == 0) sum = sum + given_band<T>(A, unknown, k);
        return sum;
    }
    const int64_t neighbour = j + side < 0 ? A.rows - 1 : j + side >= A.rows ? 0 : j + side;
    if (q >= A.size + (neighbour < A.larger)) return T{};
    if (A.rows == 3 && A.cyclic) { /* every block column is a neighbour; a band may reach past a short one */
        const int64_t distance = first_unknown(A, neighbour) + q - unknown;
        T sum{};
        for (int k = -below; k <= above; k++)
            if ((distance - k) % A.n == 0) sum = sum + given_band<T>(A, unknown, k);
        return sum;
    }
    const int64_t column = (side < 0 ? first - A.size - (neighbour < A.larger) : side == 0 ? first : first + rows) + q;
    const int64_t k = column - unknown;
    if (k < -below || k > above || ((column < 0 || column >= A.n) && !A.cyclic)) return T{};
    return given_band<T>(A, unknown, (int)k);
}

} // namespace trine_block

#endif
