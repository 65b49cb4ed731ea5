/* Block tridiagonal and banded solves on the GPU; block_layout.h says what is computed, panel.h holds the arithmetic.
 *
 * A partition is the work of N neighbouring lanes, N the width of a block column: lane q keeps column q of every block column of
 * the panel, and right-hand side q, in registers. The column that is about to be eliminated is broadcast by shuffles, so that all
 * lanes decide and multiply alike. Rows come straight from global memory, one group ahead of their use. A warp is a block; its
 * partitions all have the same number of groups.
 *
 *   reduce, substitute  the first stage of a solve: eliminate and write a group of the coarse system; later, with the interface
 *                       known, eliminate again, with the pivot rows in shared memory (their right-hand sides in X), and solve
 *                       backwards. The given matrix is read twice and nothing of its size is written but X;
 *   factor              reduces and stores the factors: the first stage of a factorization, and all coarse stages;
 *   forward, backward, solve_last   solve with them. */
#ifndef TRINE_BLOCK_PANEL_CUH
#define TRINE_BLOCK_PANEL_CUH

#include <cfloat>

#include "core/gpu_scalar.cuh"
#include "tridiagonal/block.h"

namespace trine_block {

constexpr int WARP = 32;

template <typename T> __device__ inline T panel_real(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}
template <typename T> constexpr real_of<T> SMALLEST = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_MIN) : real_of<T>(DBL_MIN);
template <typename T> constexpr real_of<T> EPSILON = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_EPSILON) : real_of<T>(DBL_EPSILON);

#define PANEL_TEMPLATE template <typename T>
#define PANEL_INLINE __device__ __forceinline__
#define PANEL_IN_REGISTERS 1
#define R real_of<T>
#define FN(name) name
#define ZERO (T{})
#define FROM_REAL(r) (panel_real<T>(r))
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) (one_of<T>() / (x))
#define SMALLEST_NORMAL (SMALLEST<T>)
#define ROUNDING (EPSILON<T>)
#include "tridiagonal/panel.h"
#undef PANEL_TEMPLATE
#undef PANEL_INLINE
#undef PANEL_IN_REGISTERS
#undef R
#undef FN
#undef ZERO
#undef FROM_REAL
#undef ABS1
#undef RECIPROCAL
#undef SMALLEST_NORMAL
#undef ROUNDING

/* ------------------------------------------------------------ the arguments */

/** One stage: kernels get it by value. */
template <typename T> struct stage_of {
    block_matrix A;               /* the caller's matrix: of the first stage */
    const T *matrix;              /* the groups of a coarse stage */
    T *coarse;                    /* the groups of the next one */
    int64_t partitions, base, larger, groups, nrhs;
    bool cyclic;
    int pivot;
    real_of<T> epsilon;
    const T *D;
    T *X;                         /* also the pivot rows' right-hand sides, in between */
    int64_t ldd, ldx;
    T *coarse_x;                  /* right-hand sides of the coarse system, then its solution */
    int64_t coarse_ld;
    T *chunks;                    /* of a factorization */
    uint8_t *pivots;
};

/** The partition of a group of N lanes. */
template <int N> struct place {
    static constexpr int TOGETHER = WARP / N; /* partitions of a warp */
    int q, first_lane, slot;                  /* this lane's column; the partition's first lane and number in the warp */
    int64_t p, group;                         /* the partition; its first group */
    int m;                                    /* its groups */
    bool there;

    template <typename T> __device__ explicit place(const stage_of<T> &s)
    {
        const int lane = (int)threadIdx.x;
        const int64_t large = (s.larger + TOGETHER - 1) / TOGETHER, block = blockIdx.x;
        there = lane / N < TOGETHER;
        slot = there ? lane / N : TOGETHER - 1; /* lanes that are left over do what the last partition's do, and store nothing */
        q = lane % N;
        first_lane = slot * N;
        if (block < large) {
            p = block * TOGETHER + slot;
            there = there && p < s.larger;
            p = p < s.larger ? p : s.larger - 1;
            m = (int)s.base + 1;
        } else {
            p = s.larger + (block - large) * TOGETHER + slot;
            there = there && p < s.partitions;
            p = p < s.partitions ? p : s.partitions - 1;
            m = (int)s.base;
        }
        group = p * s.base + (p < s.larger ? p : s.larger);
    }
};
template <int N, typename T> int64_t blocks_of(const stage_of<T> &s)
{
    constexpr int64_t TOGETHER = WARP / N;
    return (s.larger + TOGETHER - 1) / TOGETHER + (s.partitions - s.larger + TOGETHER - 1) / TOGETHER;
}

/* --------------------------------------------------------------- the matrix */

__device__ inline int64_t first_unknown(const block_matrix &A, int64_t j) { return j * A.size + (j < A.larger ? j : A.larger); }
__device__ inline int unknowns_of(const block_matrix &A, int64_t j)
{
    const int64_t left = A.n - first_unknown(A, j), size = A.size + (j < A.larger);
    return (int)(left < 0 ? 0 : left < size ? left : size);
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

/** Element (i, q) of block row j in block column j + side; see given_row in block_cpu.inc. */
template <typename T> __device__ __noinline__ T given_element(const block_matrix &A, int64_t j, int side, int i, int q)
{
    const int64_t first = first_unknown(A, j), unknown = first + i;
    const int rows = A.size + (j < A.larger);
    if (i >= rows || unknown >= A.n) return side == 0 && i == q ? one_of<T>() : T{};
    if (!A.banded) {
        if (q >= A.n_given) return T{};
        const int64_t last = A.rows_given - 1;
        if (A.wrapped) {
            if (last == 0) return side ? T{} : given_block<T>(A, j, 0, i, q) + given_block<T>(A, j, -1, i, q) + given_block<T>(A, j, 1, i, q);
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
    const int64_t column = (side < 0 ? first - A.size - (neighbour < A.larger) : side == 0 ? first : first + rows) + q;
    const int64_t k = column - unknown;
    if (k < -below || k > above || ((column < 0 || column >= A.n) && !A.cyclic)) return T{};
    return given_band<T>(A, unknown, (int)k);
}

/** Lane q's column of every block of a group: rows x[side][0 .. GROUP N - 1]. */
template <typename T, int N, int GROUP> __device__ __forceinline__ void load_group(const stage_of<T> &s, int64_t group, int q, T (&x)[GROUP + 2][GROUP * N])
{
    if constexpr (GROUP == 2) {
        const T *columns = s.matrix + group * 8 * N * N + q * 2 * N;
#pragma unroll
        for (int side = 0; side < 4; side++)
#pragma unroll
            for (int i = 0; i < 2 * N; i++) x[side][i] = columns[side * 2 * N * N + i];
    } else if (!s.A.banded && s.A.op == TRINE_N && s.A.n_given == N && !s.A.wrapped && (s.A.cyclic || (group > 0 && group < s.A.rows_given - 1))) {
        const int64_t at = (group * N + q) * N;
#pragma unroll
        for (int i = 0; i < N; i++) {
            x[0][i] = ((const T *)s.A.a)[at + i];
            x[1][i] = ((const T *)s.A.b)[at + i];
            x[2][i] = ((const T *)s.A.c)[at + i];
        }
    } else if (s.A.banded && s.A.op == TRINE_N && s.A.size == N && !s.A.larger && group > 0 && (group + 2) * N <= s.A.n) {
        const T *row = (const T *)s.A.a + group * N;
        const int bands = s.A.kl + s.A.ku;
#pragma unroll
        for (int side = 0; side < 3; side++)
#pragma unroll
            for (int i = 0; i < N; i++) {
                const int band = s.A.kl + (side - 1) * N + q - i;
                x[side][i] = band >= 0 && band <= bands ? row[band * s.A.n + i] : T{};
            }
    } else {
#pragma unroll
        for (int side = 0; side < 3; side++)
#pragma unroll
            for (int i = 0; i < N; i++) x[side][i] = given_element<T>(s.A, group, side - 1, i, q);
    }
}

/** N elements of block column j in one vector, and back. */
template <typename T, int N, int GROUP> __device__ __forceinline__ void load_block(const stage_of<T> &s, const T *vector, int64_t j, bool there, T *x)
{
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    const int count = !there ? 0 : GROUP == 2 ? N : unknowns_of(s.A, j);
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = i < count ? vector[first + i] : T{};
}
template <typename T, int N, int GROUP> __device__ __forceinline__ void store_block(const stage_of<T> &s, T *vector, int64_t j, bool there, const T *x)
{
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    const int count = !there ? 0 : GROUP == 2 ? N : unknowns_of(s.A, j);
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i < count) vector[first + i] = x[i];
}

/* ---------------------------------------------------------------- the panel */

/** Columns of the window, [left, first,] [right-hand side], as far as there are COLUMNS; up to ROWS rows. */
/** N, but not to the compiler where loops over the rows of a panel should stay loops: wide panels live in local memory. */
template <int N, typename T> __device__ __forceinline__ int width_for_loops(const stage_of<T> &s) { return N <= 4 ? N : s.A.width; }

template <typename T, int N, int ROWS, int COLUMNS> struct panel {
    T u[COLUMNS][ROWS];
    real_of<T> weight[ROWS];

    __device__ __forceinline__ void choose_block(const stage_of<T> &s, int n, int first_lane, int top, int rows, int &chosen)
    {
        real_of<T> most = -1;
        chosen = top / N;
        for (int b = 0; b < rows / N; b++) {
            T block[N * N];
            real_of<T> weights[N];
#pragma unroll
            for (int i = 0; i < n; i++) {
                T x{};
                real_of<T> w{};
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    x = r == b * N + i ? u[0][r] : x;
                    w = r == b * N + i ? weight[r] : w;
                }
                weights[i] = w;
#pragma unroll
                for (int c = 0; c < n; c++) block[c * N + i] = shuffle_from(x, first_lane + c);
            }
            const real_of<T> size = panel_determinant(N, block, s.pivot == TRINE_PIVOT_SCALED_DETERMINANT ? weights : nullptr);
            if (size > most || (size == most && b == top / N)) most = size, chosen = b;
        }
    }

    /** Eliminate the first block column among `rows` rows. Pivot row k ends in row TOP + k. */
    template <int TOP, int ACTIVE, bool STORE>
    __device__ __forceinline__ void eliminate(const stage_of<T> &s, int q, int first_lane, bool there, T (&inverse)[N], T *multipliers, uint8_t *pivots)
    {
        const int n = width_for_loops<N>(s), active = ACTIVE / N * n;
        if (s.pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT) {
            int chosen;
            choose_block(s, n, first_lane, TOP, active, chosen);
            if (STORE && there && q == 0) pivots[N] = (uint8_t)chosen;
#pragma unroll
            for (int b = 0; b < ACTIVE / N; b++)
                if (b != TOP / N && b == chosen) {
#pragma unroll
                    for (int i = 0; i < n; i++) {
#pragma unroll
                        for (int c = 0; c < COLUMNS; c++) {
                            const T kept = u[c][TOP + i];
                            u[c][TOP + i] = u[c][b * N + i];
                            u[c][b * N + i] = kept;
                        }
                        const real_of<T> kept = weight[TOP + i];
                        weight[TOP + i] = weight[b * N + i];
                        weight[b * N + i] = kept;
                    }
                }
        } else if (STORE && there && q == 0) {
            pivots[N] = (uint8_t)(TOP / N);
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            T v[ACTIVE], f[ACTIVE];
#pragma unroll
            for (int i = 0; i < active; i++) {
                v[i] = f[i] = T{};
                if (i < TOP || i >= TOP + k) v[i] = shuffle_from(u[0][i], first_lane + k);
            }
            const int p = panel_choose(s.pivot, s.epsilon, n, TOP, k, active, v, weight);
            if (__any_sync(~0u, p != TOP + k)) {
                panel_exchange(TOP, k, active, p, v);
                panel_exchange(TOP, k, active, p, weight);
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) panel_exchange(TOP, k, active, p, u[c]);
            }
            T r;
            panel_multipliers(s.epsilon, TOP, k, active, v, weight, f, &r);
#pragma unroll
            for (int i = 0; i < n; i++)
                if (i == k) inverse[i] = r;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) panel_update(TOP, k, active, f, u[c]);
            if (STORE && there && q == k) {
                pivots[k] = (uint8_t)p;
#pragma unroll
                for (int i = 0; i < active; i++) multipliers[k * ROWS + i] = f[i];
            }
        }
    }

    /** Drop the pivot rows and the first of WINDOW block columns. */
    template <int ACTIVE, int WINDOW> __device__ __forceinline__ void advance(const stage_of<T> &s)
    {
        const int n = width_for_loops<N>(s), active = ACTIVE / N * n;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const int from = c < WINDOW - 1 ? c + 1 : c;
#pragma unroll
            for (int i = 0; i < active - n; i++) u[c][i] = c == WINDOW - 1 ? T{} : u[from][i < N ? i : i + N];
        }
#pragma unroll
        for (int i = N; i < active - n; i++) weight[i] = weight[i + N];
    }

    /** Put a group into rows AT ...: its blocks go to columns c0, c0 + 1, ..., and where `early` says so, to left and first. */
    template <int AT, int GROUP, int EARLY, bool SPIKES, bool RHS>
    __device__ __forceinline__ void enter(const stage_of<T> &s, int first_lane, const T (&x)[GROUP + 2][GROUP * N], const T (&d)[GROUP * N])
    {
        constexpr int WINDOW = GROUP + 2;
        const int n = width_for_loops<N>(s);
#pragma unroll
        for (int i = 0; i < GROUP * n; i++) {
#pragma unroll
            for (int c = 0; c < WINDOW; c++) u[c][AT + i] = T{};
            if constexpr (SPIKES) u[WINDOW][AT + i] = u[WINDOW + 1][AT + i] = T{};
            real_of<T> largest = 0;
#pragma unroll
            for (int side = 0; side < GROUP + 2; side++) {
                const int c = side - EARLY; /* EARLY: blocks before the window */
                const real_of<T> size = size_of(x[side][i]);
                largest = size > largest ? size : largest;
                if (c >= 0) u[c][AT + i] = x[side][i];
                else if constexpr (SPIKES) u[c == -1 ? WINDOW + 1 : WINDOW][AT + i] = x[side][i];
            }
            if constexpr (RHS) u[COLUMNS - 1][AT + i] = d[i];
            real_of<T> most = largest;
#pragma unroll
            for (int lane = 0; lane < n; lane++) {
                const real_of<T> other = shuffle_from(largest, first_lane + lane);
                most = other > most ? other : most;
            }
            weight[AT + i] = panel_weight<T>(most);
        }
    }
};

} // namespace trine_block

#endif
