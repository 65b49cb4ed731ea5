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
#ifndef TRINE_BLOCK_CUDA_CUH
#define TRINE_BLOCK_CUDA_CUH

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

/* -------------------------------------------------------------- elimination */

/** What the elimination of a partition reads besides its rows, and where it leaves what it finds. */
enum sweep_kind { REDUCE, SUBSTITUTE, FACTOR };

/** Bytes of shared memory that hold a block column's pivot rows, of all partitions of a warp. */
template <typename T, int N, int GROUP> constexpr size_t pivot_row_bytes() { return ((GROUP + 2) * N * N + N) * (size_t)(WARP / N) * sizeof(T); }

/** Pivot row k, block column c of the window, column q of block column j of the warp's partition `slot`; c = GROUP + 2, q = 0:
 *  the inverses. */
template <int N, int GROUP> __device__ inline int pivot_row_index(int j, int c, int k, int q, int slot)
{
    constexpr int WINDOW = GROUP + 2, TOGETHER = WARP / N;
    return (j * (WINDOW * N * N + N) + (c < WINDOW ? (c * N + k) * N + q : WINDOW * N * N + k)) * TOGETHER + slot;
}

/** d := d - block x, the block's columns being those of the lanes, d and x vectors of each lane. */
template <typename T, int N, int ROWS> __device__ __forceinline__ void subtract_block(int first_lane, const T *block, const T *x, T *d)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int q = 0; q < N; q++) d[i] = d[i] - shuffle_from(block[i], first_lane + q) * x[q];
}

/** Store what an elimination leaves of block column j of a partition. */
template <typename T, int N, int GROUP, int KIND, int COLUMNS, int ROWS>
__device__ __forceinline__ void keep_pivot_rows(const stage_of<T> &s, const place<N> &at, int j, const panel<T, N, ROWS, COLUMNS> &panel, const T (&inverse)[N],
                                                T *shared, T *x, bool column_there)
{
    constexpr int WINDOW = GROUP + 2;
    if constexpr (KIND == SUBSTITUTE) {
#pragma unroll
        for (int c = 0; c < WINDOW; c++)
#pragma unroll
            for (int k = 0; k < N; k++) shared[pivot_row_index<N, GROUP>(j, c, k, at.q, at.slot)] = panel.u[c][N + k];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (at.q == k) shared[pivot_row_index<N, GROUP>(j, WINDOW, k, 0, at.slot)] = inverse[k];
        store_block<T, N, GROUP>(s, x, at.group * GROUP + j, column_there, &panel.u[COLUMNS - 1][N]);
    } else if constexpr (KIND == FACTOR) {
        if (!at.there) return;
        T *upper = s.chunks + (at.group * GROUP + j) * (N * N * (6 + 2 * GROUP) + N) + N * ROWS, *inverses = upper + (WINDOW + 2) * N * N;
#pragma unroll
        for (int c = 0; c < WINDOW + 2; c++)
#pragma unroll
            for (int k = 0; k < N; k++) upper[(c * N + at.q) * N + k] = panel.u[c][N + k];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (at.q == k) inverses[k] = inverse[k];
    }
}

/** Eliminate the inner block columns of a partition. Afterwards 2 N rows are left in the panel: last and right are block columns
 *  0 and 1, then left and first if they are kept. d: this lane's right-hand side; x: its solution; left, first: known. */
template <typename T, int N, int GROUP, int KIND, int COLUMNS, int ROWS>
__device__ __forceinline__ void sweep(const stage_of<T> &s, const place<N> &at, panel<T, N, ROWS, COLUMNS> &panel, const T *d, T *x, bool column_there,
                                      const T (&left)[N], const T (&first)[N], T *shared)
{
    constexpr bool SPIKES = KIND != SUBSTITUTE, RHS = KIND != FACTOR, STORE = KIND == FACTOR;
    constexpr int WINDOW = GROUP + 2;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const int64_t block = at.group * GROUP;
    T next[GROUP + 2][GROUP * N], rhs[GROUP * N], inverse[N];
    const auto load = [&](int g) {
        load_group<T, N, GROUP>(s, at.group + g, at.q, next);
        if constexpr (RHS) {
#pragma unroll
            for (int b = 0; b < GROUP; b++) load_block<T, N, GROUP>(s, d, block + g * GROUP + b, column_there, rhs + b * N);
        }
    };
    load(0);
    if constexpr (!SPIKES) {
        subtract_block<T, N, GROUP * N>(at.first_lane, next[0], left, rhs);
        subtract_block<T, N, GROUP * N>(at.first_lane, next[1], first, rhs);
    }
    panel.template enter<0, GROUP, 2, SPIKES, RHS>(s, at.first_lane, next, rhs);
    if constexpr (GROUP == 1) {
        load(1);
        if constexpr (!SPIKES) subtract_block<T, N, N>(at.first_lane, next[0], first, rhs);
        panel.template enter<N, 1, 1, SPIKES, RHS>(s, at.first_lane, next, rhs);
        if (at.m > 2) load(2);
#pragma unroll 1
        for (int j = 1; j < at.m - 1; j++) {
            panel.template enter<2 * N, 1, 0, SPIKES, RHS>(s, at.first_lane, next, rhs);
            if (j + 2 < at.m) load(j + 2);
            panel.template eliminate<N, 3 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j) * CHUNK, s.pivots + (block + j) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j, panel, inverse, shared, x, column_there);
            panel.template advance<3 * N, WINDOW>(s);
        }
    } else {
        if (at.m > 1) load(1);
#pragma unroll 1
        for (int g = 1; g < at.m; g++) {
            const int j = 2 * g - 1;
            panel.template enter<2 * N, 2, 0, SPIKES, RHS>(s, at.first_lane, next, rhs);
            if (g + 1 < at.m) load(g + 1);
            panel.template eliminate<N, 4 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j) * CHUNK, s.pivots + (block + j) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j, panel, inverse, shared, x, column_there);
            panel.template advance<4 * N, WINDOW>(s);
            panel.template eliminate<N, 3 * N, STORE>(s, at.q, at.first_lane, at.there, inverse, s.chunks + (block + j + 1) * CHUNK, s.pivots + (block + j + 1) * (N + 1));
            keep_pivot_rows<T, N, GROUP, KIND>(s, at, j + 1, panel, inverse, shared, x, column_there);
            panel.template advance<3 * N, WINDOW>(s);
        }
    }
}

/** Solve backwards from the pivot rows in shared memory and their right-hand sides in x; `last` and `right` are known. */
template <typename T, int N, int GROUP>
__device__ __forceinline__ void solve_backwards(const stage_of<T> &s, const place<N> &at, const T *shared, const T (&last)[N], const T (&right)[N], T *x, bool column_there)
{
    constexpr int WINDOW = GROUP + 2;
    const int64_t block = at.group * GROUP;
    T known[WINDOW - 1][N], y[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        known[0][i] = last[i];
        known[1][i] = right[i];
        if constexpr (WINDOW == 4) known[2][i] = T{};
    }
    __syncwarp();
#pragma unroll 1
    for (int j = at.m * GROUP - 2; j > 0; j--) {
        load_block<T, N, GROUP>(s, x, block + j, column_there, y);
#pragma unroll
        for (int c = 1; c < WINDOW; c++)
#pragma unroll
            for (int q = 0; q < N; q++)
#pragma unroll
                for (int k = 0; k < N; k++) y[k] = y[k] - shared[pivot_row_index<N, GROUP>(j, c, k, q, at.slot)] * known[c - 1][q];
#pragma unroll
        for (int q = N - 1; q >= 0; q--) {
            y[q] = y[q] * shared[pivot_row_index<N, GROUP>(j, WINDOW, q, 0, at.slot)];
#pragma unroll
            for (int k = 0; k < q; k++) y[k] = y[k] - shared[pivot_row_index<N, GROUP>(j, 0, k, q, at.slot)] * y[q];
        }
        store_block<T, N, GROUP>(s, x, block + j, column_there, y);
#pragma unroll
        for (int i = 0; i < N; i++) {
#pragma unroll
            for (int c = WINDOW - 2; c > 0; c--) known[c][i] = known[c - 1][i];
            known[0][i] = y[i];
        }
    }
}

/* ------------------------------------------------------------------- kernels */

template <typename T, int N, int GROUP> __global__ void __launch_bounds__(WARP) reduce(const __grid_constant__ stage_of<T> s)
{
    constexpr int ROWS = (GROUP + 2) * N, WINDOW = GROUP + 2, COLUMNS = WINDOW + 3;
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * N + at.q;
    const bool column_there = at.there && column < s.nrhs;
    panel<T, N, ROWS, COLUMNS> panel;
    const T none[N] = {};
    sweep<T, N, GROUP, REDUCE>(s, at, panel, s.D + (column_there ? column : 0) * s.ldd, (T *)nullptr, column_there, none, none, (T *)nullptr);
    if (at.there && blockIdx.y == 0) {
        T *coarse = s.coarse + at.p * 8 * N * N + at.q * 2 * N;
#pragma unroll
        for (int side = 0; side < 4; side++) {
            constexpr int from[4] = {WINDOW, WINDOW + 1, 0, 1};
#pragma unroll
            for (int i = 0; i < 2 * N; i++) coarse[side * 2 * N * N + i] = panel.u[from[side]][i];
        }
    }
    if (column_there) {
        T *rhs = s.coarse_x + column * s.coarse_ld + at.p * 2 * N;
#pragma unroll
        for (int i = 0; i < 2 * N; i++) rhs[i] = panel.u[COLUMNS - 1][i];
    }
}

template <typename T, int N, int GROUP>
__device__ __forceinline__ void substitute_partition(const stage_of<T> &s, const place<N> &at, const T *d, T *x, bool column_there,
                                                     const T (&left)[N], const T (&first)[N], const T (&last)[N], const T (&right)[N], T *shared)
{
    constexpr int ROWS = (GROUP + 2) * N, COLUMNS = GROUP + 3;
    const int64_t block = at.group * GROUP;
    panel<T, N, ROWS, COLUMNS> panel;
    sweep<T, N, GROUP, SUBSTITUTE>(s, at, panel, d, x, column_there, left, first, shared);
    solve_backwards<T, N, GROUP>(s, at, shared, last, right, x, column_there);
    store_block<T, N, GROUP>(s, x, block, column_there, first);
    store_block<T, N, GROUP>(s, x, block + at.m * GROUP - 1, column_there, last);
}

template <typename T, int N, int GROUP> __global__ void __launch_bounds__(WARP) substitute(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * N + at.q, from = (column < s.nrhs ? column : 0);
    const bool column_there = at.there && column < s.nrhs;
    const T *known = s.coarse_x + from * s.coarse_ld;
    const int64_t end = 2 * s.partitions, p = 2 * at.p;
    T left[N], first[N], last[N], right[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        left[i] = p > 0 ? known[(p - 1) * N + i] : s.cyclic ? known[(end - 1) * N + i] : T{};
        first[i] = known[p * N + i];
        last[i] = known[(p + 1) * N + i];
        right[i] = p + 2 < end ? known[(p + 2) * N + i] : s.cyclic ? known[i] : T{};
    }
    substitute_partition<T, N, GROUP>(s, at, s.D + from * s.ldd, s.X + from * s.ldx, column_there, left, first, last, right, (T *)shared_memory);
}

/** Fold what is left of the last stage: block columns first and last of 2 N rows. */
template <typename T, int N, int GROUP, int ROWS, int COLUMNS>
__device__ __forceinline__ void fold(bool cyclic, const panel<T, N, ROWS, COLUMNS> &panel, trine_block::panel<T, N, 2 * N, 2> &end)
{
    constexpr int WINDOW = GROUP + 2;
#pragma unroll
    for (int i = 0; i < 2 * N; i++) {
        end.u[0][i] = cyclic ? panel.u[WINDOW + 1][i] + panel.u[1][i] : panel.u[WINDOW + 1][i];
        end.u[1][i] = cyclic ? panel.u[0][i] + panel.u[WINDOW][i] : panel.u[0][i];
        end.weight[i] = panel.weight[i];
    }
}
/** What is left after the pivot rows of block column `first`. */
template <typename T, int N, int COLUMNS> __device__ __forceinline__ void drop_first(const panel<T, N, 2 * N, COLUMNS> &end, panel<T, N, N, COLUMNS - 1> &rest)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int c = 1; c < COLUMNS; c++) rest.u[c - 1][i] = end.u[c][N + i];
        rest.weight[i] = end.weight[N + i];
    }
}

/* ------------------------------------------------- with a factorization */

template <typename T, int N, int GROUP> __global__ void __launch_bounds__(WARP) factor(const __grid_constant__ stage_of<T> s)
{
    constexpr int ROWS = (GROUP + 2) * N, WINDOW = GROUP + 2, COLUMNS = WINDOW + 2;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const place<N> at(s);
    panel<T, N, ROWS, COLUMNS> whole;
    const T none[N] = {};
    sweep<T, N, GROUP, FACTOR>(s, at, whole, (const T *)nullptr, (T *)nullptr, false, none, none, (T *)nullptr);
    if (GROUP == 1 || s.coarse) {
        if (!at.there) return;
        T *coarse = s.coarse + at.p * 8 * N * N + at.q * 2 * N;
#pragma unroll
        for (int side = 0; side < 4; side++) {
            constexpr int from[4] = {WINDOW, WINDOW + 1, 0, 1};
#pragma unroll
            for (int i = 0; i < 2 * N; i++) coarse[side * 2 * N * N + i] = whole.u[from[side]][i];
        }
        return;
    }
    panel<T, N, 2 * N, 2> end;
    panel<T, N, N, 1> rest;
    T inverse[N];
    const int64_t last = at.m * GROUP - 1;
    T *chunk = s.chunks, *other = s.chunks + last * CHUNK; /* multipliers are ROWS apart, as in the other chunks */
    T lower[2 * N * N];
    fold<T, N, GROUP>(s.cyclic, whole, end);
    end.template eliminate<0, 2 * N, true>(s, at.q, at.first_lane, at.there, inverse, lower, s.pivots);
    for (int i = 0; i < 2 * N; i++)
        if (at.there) chunk[at.q * ROWS + i] = lower[at.q * 2 * N + i];
    for (int k = 0; k < N && at.there; k++) {
        chunk[N * ROWS + at.q * N + k] = end.u[0][k];
        chunk[N * ROWS + (N + at.q) * N + k] = end.u[1][k];
        if (at.q == k) chunk[N * ROWS + (WINDOW + 2) * N * N + k] = inverse[k];
    }
    drop_first<T, N>(end, rest);
    rest.template eliminate<0, N, true>(s, at.q, at.first_lane, at.there, inverse, lower, s.pivots + last * (N + 1));
    for (int i = 0; i < N; i++)
        if (at.there) other[at.q * ROWS + i] = lower[at.q * N + i];
    for (int k = 0; k < N && at.there; k++) {
        other[N * ROWS + at.q * N + k] = rest.u[0][k];
        if (at.q == k) other[N * ROWS + (WINDOW + 2) * N * N + k] = inverse[k];
    }
}

/** The rows in play of NR right-hand sides: lane q has rows q, N + q, 2 N + q, ... */
template <typename T, int N, int BLOCKS, int NR> struct rows_of {
    T y[NR][BLOCKS];

    /** Exchange rows `row` (of lane row % N) and p. */
    __device__ __forceinline__ void exchange(int q, int first_lane, int row, int p)
    {
#pragma unroll
        for (int r = 0; r < NR; r++) {
            T mine{}, theirs{};
#pragma unroll
            for (int b = 0; b < BLOCKS; b++) {
                mine = b == row / N ? y[r][b] : mine;
                theirs = b == p / N ? y[r][b] : theirs;
            }
            mine = shuffle_from(mine, first_lane + row % N);
            theirs = shuffle_from(theirs, first_lane + p % N);
#pragma unroll
            for (int b = 0; b < BLOCKS; b++) {
                if (q == row % N && b == row / N) y[r][b] = theirs;
                else if (q == p % N && b == p / N) y[r][b] = mine;
            }
        }
    }
    /** Eliminate with a chunk's multipliers among the first ACTIVE blocks of rows; pivot rows end in block TOP. */
    template <int TOP, int ACTIVE> __device__ __forceinline__ void forward(int q, int first_lane, int capacity, const T *chunk, const uint8_t *pivots)
    {
        const int chosen = pivots[N];
        if (__any_sync(~0u, chosen != TOP))
            for (int i = 0; i < N; i++) exchange(q, first_lane, TOP * N + i, chosen * N + i);
#pragma unroll
        for (int k = 0; k < N; k++) {
            T f[ACTIVE];
            const int p = pivots[k];
#pragma unroll
            for (int b = 0; b < ACTIVE; b++) f[b] = chunk[k * capacity + b * N + q];
            if (__any_sync(~0u, p != TOP * N + k)) exchange(q, first_lane, TOP * N + k, p);
#pragma unroll
            for (int r = 0; r < NR; r++) {
                const T pivot = shuffle_from(y[r][TOP], first_lane + k);
#pragma unroll
                for (int b = 0; b < ACTIVE; b++)
                    if (b != TOP || q > k) y[r][b] = y[r][b] + f[b] * pivot;
            }
        }
    }
    /** Drop the pivot rows, which go to `out`. */
    template <int TOP, int ACTIVE> __device__ __forceinline__ void drop(T (&out)[NR])
    {
#pragma unroll
        for (int r = 0; r < NR; r++) {
            out[r] = y[r][TOP];
#pragma unroll
            for (int b = TOP; b < ACTIVE - 1; b++) y[r][b] = y[r][b + 1];
        }
    }
};

/** Element q of block column j in right-hand side `column`, wherever it is. */
template <typename T, int N, int GROUP> __device__ __forceinline__ T load_one(const stage_of<T> &s, const T *data, int64_t ld, int64_t j, int q, int64_t column, bool there)
{
    if (!there || column >= s.nrhs) return T{};
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    return GROUP == 2 || q < unknowns_of(s.A, j) ? data[column * ld + first + q] : T{};
}
template <typename T, int N, int GROUP> __device__ __forceinline__ void store_one(const stage_of<T> &s, int64_t j, int q, int64_t column, bool there, T value)
{
    if (!there || column >= s.nrhs) return;
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    if (GROUP == 2 || q < unknowns_of(s.A, j)) s.X[column * s.ldx + first + q] = value;
}

/** Forward elimination; the rows left are the first two blocks of `rows`. */
template <typename T, int N, int GROUP, int NR> __device__ __forceinline__ void forward_partition(const stage_of<T> &s, const place<N> &at, int64_t column, rows_of<T, N, GROUP + 2, NR> &rows)
{
    constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const int64_t block = at.group * GROUP;
    T out[NR];
#pragma unroll
    for (int r = 0; r < NR; r++) {
        rows.y[r][0] = load_one<T, N, GROUP>(s, s.D, s.ldd, block, at.q, column + r, at.there);
        rows.y[r][1] = load_one<T, N, GROUP>(s, s.D, s.ldd, block + 1, at.q, column + r, at.there);
    }
#pragma unroll 1
    for (int j = 1; j < at.m * GROUP - 1; j += GROUP) {
#pragma unroll
        for (int b = 0; b < GROUP; b++)
#pragma unroll
            for (int r = 0; r < NR; r++) rows.y[r][2 + b] = load_one<T, N, GROUP>(s, s.D, s.ldd, block + j + 1 + b, at.q, column + r, at.there);
        rows.template forward<1, WINDOW>(at.q, at.first_lane, ROWS, s.chunks + (block + j) * CHUNK, s.pivots + (block + j) * (N + 1));
        rows.template drop<1, WINDOW>(out);
#pragma unroll
        for (int r = 0; r < NR; r++) store_one<T, N, GROUP>(s, block + j, at.q, column + r, at.there, out[r]);
        if constexpr (GROUP == 2) {
            rows.template forward<1, 3>(at.q, at.first_lane, ROWS, s.chunks + (block + j + 1) * CHUNK, s.pivots + (block + j + 1) * (N + 1));
            rows.template drop<1, 3>(out);
#pragma unroll
            for (int r = 0; r < NR; r++) store_one<T, N, GROUP>(s, block + j + 1, at.q, column + r, at.there, out[r]);
        }
    }
}

/** x := U^-1 (x - sum of `blocks` known block columns); lane q has element q of each block. */
template <typename T, int N, int NR> __device__ __forceinline__ void add_known(const T *upper, int q, int first_lane, const T (&known)[NR], T (&x)[NR])
{
#pragma unroll
    for (int c = 0; c < N; c++) {
        const T u = upper[c * N + q];
#pragma unroll
        for (int r = 0; r < NR; r++) x[r] = x[r] - u * shuffle_from(known[r], first_lane + c);
    }
}
template <typename T, int N, int NR> __device__ __forceinline__ void solve_triangle(const T *upper, const T *inverses, int q, int first_lane, T (&x)[NR])
{
    const T inverse = inverses[q];
#pragma unroll
    for (int c = N - 1; c >= 0; c--) {
        const T u = upper[c * N + q];
#pragma unroll
        for (int r = 0; r < NR; r++) {
            if (q == c) x[r] = x[r] * inverse;
            const T known = shuffle_from(x[r], first_lane + c);
            if (q < c) x[r] = x[r] - u * known;
        }
    }
}

template <typename T, int N, int GROUP, int NR>
__device__ __forceinline__ void backward_partition(const stage_of<T> &s, const place<N> &at, int64_t column, const T (&left)[NR], const T (&first)[NR],
                                                   const T (&last)[NR], const T (&right)[NR])
{
    constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const int64_t block = at.group * GROUP;
    T known[WINDOW - 1][NR], x[NR];
#pragma unroll
    for (int r = 0; r < NR; r++) {
        known[0][r] = last[r];
        known[1][r] = right[r];
        if constexpr (WINDOW == 4) known[2][r] = T{};
    }
#pragma unroll 1
    for (int j = at.m * GROUP - 2; j > 0; j--) {
        const T *upper = s.chunks + (block + j) * CHUNK + N * ROWS;
#pragma unroll
        for (int r = 0; r < NR; r++) x[r] = load_one<T, N, GROUP>(s, s.X, s.ldx, block + j, at.q, column + r, at.there);
#pragma unroll
        for (int c = 1; c < WINDOW; c++) add_known<T, N, NR>(upper + c * N * N, at.q, at.first_lane, known[c - 1], x);
        add_known<T, N, NR>(upper + WINDOW * N * N, at.q, at.first_lane, left, x);
        add_known<T, N, NR>(upper + (WINDOW + 1) * N * N, at.q, at.first_lane, first, x);
        solve_triangle<T, N, NR>(upper, upper + (WINDOW + 2) * N * N, at.q, at.first_lane, x);
#pragma unroll
        for (int r = 0; r < NR; r++) {
            store_one<T, N, GROUP>(s, block + j, at.q, column + r, at.there, x[r]);
#pragma unroll
            for (int c = WINDOW - 2; c > 0; c--) known[c][r] = known[c - 1][r];
            known[0][r] = x[r];
        }
    }
#pragma unroll
    for (int r = 0; r < NR; r++) {
        store_one<T, N, GROUP>(s, block, at.q, column + r, at.there, first[r]);
        store_one<T, N, GROUP>(s, block + at.m * GROUP - 1, at.q, column + r, at.there, last[r]);
    }
}

template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP) forward(const __grid_constant__ stage_of<T> s)
{
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * NR;
    rows_of<T, N, GROUP + 2, NR> rows;
    forward_partition<T, N, GROUP, NR>(s, at, column, rows);
#pragma unroll
    for (int r = 0; r < NR; r++)
#pragma unroll
        for (int b = 0; b < 2; b++)
            if (at.there && column + r < s.nrhs) s.coarse_x[(column + r) * s.coarse_ld + at.p * 2 * N + b * N + at.q] = rows.y[r][b];
}

template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP) backward(const __grid_constant__ stage_of<T> s)
{
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * NR, end = 2 * s.partitions, p = 2 * at.p;
    T left[NR], first[NR], last[NR], right[NR];
#pragma unroll
    for (int r = 0; r < NR; r++) {
        const T *known = s.coarse_x + (column + r < s.nrhs ? column + r : 0) * s.coarse_ld + at.q;
        left[r] = p > 0 ? known[(p - 1) * N] : s.cyclic ? known[(end - 1) * N] : T{};
        first[r] = known[p * N];
        last[r] = known[(p + 1) * N];
        right[r] = p + 2 < end ? known[(p + 2) * N] : s.cyclic ? known[0] : T{};
    }
    backward_partition<T, N, GROUP, NR>(s, at, column, left, first, last, right);
}

/** Forward and backward of the last stage. */
template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP) solve_last(const __grid_constant__ stage_of<T> s)
{
    constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N;
    constexpr int64_t CHUNK = N * N * (6 + 2 * GROUP) + N;
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * NR, end = at.m * GROUP - 1;
    rows_of<T, N, GROUP + 2, NR> rows;
    T left[NR], first[NR], last[NR], right[NR];
    const T *upper = s.chunks + N * ROWS, *upper_last = s.chunks + end * CHUNK + N * ROWS;
    forward_partition<T, N, GROUP, NR>(s, at, column, rows);
    rows.template forward<0, 2>(at.q, at.first_lane, ROWS, s.chunks, s.pivots);
    rows.template drop<0, 2>(first);
    rows.template forward<0, 1>(at.q, at.first_lane, ROWS, s.chunks + end * CHUNK, s.pivots + end * (N + 1));
    rows.template drop<0, 1>(last);
    solve_triangle<T, N, NR>(upper_last, upper_last + (WINDOW + 2) * N * N, at.q, at.first_lane, last);
    add_known<T, N, NR>(upper + N * N, at.q, at.first_lane, last, first);
    solve_triangle<T, N, NR>(upper, upper + (WINDOW + 2) * N * N, at.q, at.first_lane, first);
#pragma unroll
    for (int r = 0; r < NR; r++) {
        left[r] = s.cyclic ? last[r] : T{};
        right[r] = s.cyclic ? first[r] : T{};
    }
    backward_partition<T, N, GROUP, NR>(s, at, column, left, first, last, right);
}

/* ---------------------------------------------------------------- refinement */

template <typename T> __global__ void copy_columns(int64_t n, const T *from, int64_t from_ld, T *to, int64_t to_ld)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        to[i + blockIdx.y * to_ld] = from[i + blockIdx.y * from_ld];
}
template <typename T> __global__ void add_columns(int64_t n, const T *from, int64_t from_ld, T *to, int64_t to_ld)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        to[i + blockIdx.y * to_ld] = to[i + blockIdx.y * to_ld] + from[i + blockIdx.y * from_ld];
}
/** r := r - op(A) x, a thread a row. */
template <typename T> __global__ void subtract_product(const __grid_constant__ block_matrix A, const T *X, int64_t ldx, T *residual)
{
    const T *x = X + blockIdx.y * ldx;
    T *r = residual + blockIdx.y * A.n;
    for (int64_t row = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; row < A.rows * A.width; row += (int64_t)gridDim.x * blockDim.x) {
        const int64_t j = row / A.width;
        const int i = (int)(row % A.width);
        if (i >= unknowns_of(A, j)) continue;
        T sum = r[first_unknown(A, j) + i];
        for (int side = -1; side <= 1; side++) {
            const int64_t neighbour = j + side < 0 ? A.rows - 1 : j + side >= A.rows ? 0 : j + side, first = first_unknown(A, neighbour);
            for (int q = 0; q < unknowns_of(A, neighbour); q++) sum = sum - given_element<T>(A, j, side, i, q) * x[first + q];
        }
        r[first_unknown(A, j) + i] = sum;
    }
}

/* ------------------------------------------------------------------ launches */

/** Stage k, its factors in `factorization` and its right-hand sides in `rhs`. */
template <typename T> stage_of<T> make_stage(const block_call *call, int k, T *factorization, T *rhs)
{
    const block_stage *b = &call->plan.stage[k];
    T *matrices = factorization + call->plan.factor_elements;
    const bool last = k == call->plan.stages - 1;
    stage_of<T> s = {};
    s.A = call->A;
    s.matrix = matrices + b->matrix;
    s.coarse = last ? nullptr : matrices + call->plan.stage[k + 1].matrix;
    s.partitions = b->partitions, s.base = b->base, s.larger = b->larger, s.groups = b->groups;
    s.nrhs = call->o.nrhs;
    s.cyclic = call->plan.cyclic;
    s.pivot = call->o.pivot;
    s.epsilon = (real_of<T>)call->o.epsilon;
    s.X = rhs + b->rhs * s.nrhs; /* stage 0 has the caller's: see set_vectors */
    s.ldx = b->groups * 2 * call->plan.width;
    s.D = s.X, s.ldd = s.ldx;
    s.coarse_x = last ? nullptr : rhs + call->plan.stage[k + 1].rhs * s.nrhs;
    s.coarse_ld = b->partitions * 2 * call->plan.width;
    s.chunks = factorization + b->factor;
    s.pivots = (uint8_t *)(matrices + call->plan.matrix_elements) + b->pivots;
    return s;
}

/** All kernels of one width. */
template <typename T, int N> struct width_of {
    static trine_status allow(const void *kernel, size_t bytes)
    {
        trine_status status = TRINE_SUCCESS;
        if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute(kernel, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
        if (bytes) TRY(GPU(gpuFuncSetAttribute(kernel, gpuFuncAttributePreferredSharedMemoryCarveout, gpuSharedmemCarveoutMaxShared)));
    done:
        return status;
    }
    /** Run a kernel for each partition (by N lanes) and `batch` right-hand sides. */
    static trine_status launch(void (*kernel)(stage_of<T>), const stage_of<T> &s, int batch, size_t bytes, gpuStream_t stream)
    {
        trine_status status = TRINE_SUCCESS;
        const dim3 grid((unsigned)blocks_of<N>(s), (unsigned)((s.nrhs + batch - 1) / batch));
        TRY(allow((const void *)kernel, bytes));
        kernel<<<grid, WARP, bytes, stream>>>(s);
        TRY(GPU_LAUNCHED("a stage of a block tridiagonal solve"));
    done:
        return status;
    }

    /** Factor stages from `first` on; `factor` is a factorization as in block_layout.h. */
    static trine_status factor_stages(const block_call *call, int first, T *factorization)
    {
        trine_status status = TRINE_SUCCESS;
        for (int k = first; k < call->plan.stages; k++) {
            stage_of<T> s = make_stage<T>(call, k, factorization, (T *)nullptr);
            s.nrhs = 1;
            TRY(launch(k == 0 ? factor<T, N, 1> : factor<T, N, 2>, s, 1, 0, (gpuStream_t)call->stream));
        }
    done:
        return status;
    }
    /** Solve on stages from `first` on, with what their right-hand sides are; stage 0 has D and X. */
    static trine_status solve_stages(const block_call *call, int first, T *factorization, T *rhs, const T *D, int64_t ldd, T *X, int64_t ldx)
    {
        trine_status status = TRINE_SUCCESS;
        const int last = call->plan.stages - 1;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        for (int k = first; k <= 2 * last - first; k++) { /* down, the last stage, up */
            const int at = k <= last ? k : 2 * last - k;
            stage_of<T> s = make_stage<T>(call, at, factorization, rhs);
            if (at == 0) s.D = D, s.ldd = ldd, s.X = X, s.ldx = ldx;
            if (k < last) TRY(launch(at == 0 ? forward<T, N, 1, 1> : forward<T, N, 2, 1>, s, 1, 0, stream));
            else if (k == last) TRY(launch(solve_last<T, N, 2, 1>, s, 1, 0, stream));
            else TRY(launch(at == 0 ? backward<T, N, 1, 1> : backward<T, N, 2, 1>, s, 1, 0, stream));
        }
    done:
        return status;
    }

    /** X := op(A)^-1 D. */
    static trine_status solve(const block_call *call, const T *D, int64_t ldd, T *X, int64_t ldx, T *factorization, T *rhs)
    {
        trine_status status = TRINE_SUCCESS;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        const block_stage *b = &call->plan.stage[0];
        stage_of<T> s = make_stage<T>(call, 0, factorization, rhs);
        s.D = D, s.ldd = ldd, s.X = X, s.ldx = ldx;
        TRY(launch(reduce<T, N, 1>, s, N, 0, stream));
        TRY(factor_stages(call, 1, factorization));
        TRY(solve_stages(call, 1, factorization, rhs, nullptr, 0, nullptr, 0));
        TRY(launch(substitute<T, N, 1>, s, N, (size_t)(b->base + (b->larger > 0)) * pivot_row_bytes<T, N, 1>(), stream));
    done:
        return status;
    }
    static trine_status factorize(const block_call *call) { return factor_stages(call, 0, (T *)call->factor); }
    static trine_status substitute_all(const block_call *call)
    {
        return solve_stages(call, 0, (T *)call->factor, (T *)call->work, (const T *)call->D, call->ldd, (T *)call->X, call->ldx);
    }
};

template <typename T> trine_status solve_with(const block_call *call, const T *D, int64_t ldd, T *X, int64_t ldx, T *factorization, T *rhs)
{
    switch (call->A.width) {
    case 2: return width_of<T, 2>::solve(call, D, ldd, X, ldx, factorization, rhs);
    case 4: return width_of<T, 4>::solve(call, D, ldd, X, ldx, factorization, rhs);
    default: return width_of<T, 8>::solve(call, D, ldd, X, ldx, factorization, rhs);
    }
}

/** The entry points of one precision: see struct block_backend. */
template <typename T> trine_status solve_of(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = call->A.n, nrhs = call->o.nrhs, blocks = (n + 255) / 256;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)nrhs);
    const gpuStream_t stream = (gpuStream_t)call->stream;
    const T *D = (const T *)call->D;
    T *X = (T *)call->X, *factorization = (T *)call->work, *rhs = (T *)((char *)call->work + call->factor_bytes), *residual = rhs + call->plan.rhs_elements * nrhs;
    if (call->o.refine) {
        copy_columns<T><<<grid, 256, 0, stream>>>(n, D, call->ldd, residual, n);
        TRY(GPU_LAUNCHED("copy_columns"));
    }
    TRY(solve_with<T>(call, D, call->ldd, X, call->ldx, factorization, rhs));
    if (call->o.refine) {
        subtract_product<T><<<grid, 256, 0, stream>>>(call->A, X, call->ldx, residual);
        TRY(GPU_LAUNCHED("subtract_product"));
        TRY(solve_with<T>(call, residual, n, residual, n, factorization, rhs));
        add_columns<T><<<grid, 256, 0, stream>>>(n, residual, n, X, call->ldx);
        TRY(GPU_LAUNCHED("add_columns"));
    }
done:
    return status;
}
template <typename T> trine_status factor_of(const block_call *call)
{
    switch (call->A.width) {
    case 2: return width_of<T, 2>::factorize(call);
    case 4: return width_of<T, 4>::factorize(call);
    default: return width_of<T, 8>::factorize(call);
    }
}
template <typename T> trine_status substitute_of(const block_call *call)
{
    switch (call->A.width) {
    case 2: return width_of<T, 2>::substitute_all(call);
    case 4: return width_of<T, 4>::substitute_all(call);
    default: return width_of<T, 8>::substitute_all(call);
    }
}

extern template trine_status solve_of<float>(const block_call *);
extern template trine_status solve_of<double>(const block_call *);
extern template trine_status solve_of<complex_of<float>>(const block_call *);
extern template trine_status solve_of<complex_of<double>>(const block_call *);
extern template trine_status factor_of<float>(const block_call *);
extern template trine_status factor_of<double>(const block_call *);
extern template trine_status factor_of<complex_of<float>>(const block_call *);
extern template trine_status factor_of<complex_of<double>>(const block_call *);
extern template trine_status substitute_of<float>(const block_call *);
extern template trine_status substitute_of<double>(const block_call *);
extern template trine_status substitute_of<complex_of<float>>(const block_call *);
extern template trine_status substitute_of<complex_of<double>>(const block_call *);

} // namespace trine_block

#endif
