/* Block tridiagonal and banded solves on the GPU; block/layout.h says what is computed, block/panel.h holds the arithmetic.
 *
 * Two ways to put the rows in play of a partition on lanes: all in the registers of one lane, for narrow blocks (here and in
 * block/sweep.cuh), or a lane a row (block/rows.cuh, block/wide.cuh, block/factor.cuh). A warp is a block; its partitions follow
 * each other and have the same number of groups.
 *
 *   reduce, substitute  the first stage of a solve: eliminate and write a group of the coarse system; later, with the interface
 *                       known, eliminate again, leaving the pivot rows where the rows were in shared memory, and solve
 *                       backwards. The given matrix is read twice and nothing of its size is written but X;
 *   factor              reduces and stores the factors: the first stage of a factorization, and all coarse stages;
 *   forward, backward   solve with them. */
#ifndef TRINE_BLOCK_PANEL_CUH
#define TRINE_BLOCK_PANEL_CUH

#include <cfloat>

#include "tridiagonal/block/stage.cuh"

namespace trine_block {

template <typename T> __device__ inline T panel_real(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}
template <typename T> constexpr real_of<T> SMALLEST = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_MIN) : real_of<T>(DBL_MIN);
template <typename T> constexpr real_of<T> EPSILON = sizeof(real_of<T>) == 4 ? real_of<T>(FLT_EPSILON) : real_of<T>(DBL_EPSILON);

/** 1 / x to the last digit or two, for |x| that is neither denormal nor so large that 1 / x is. */
__device__ inline float reciprocal_of(float x) { return reciprocal_approximation(x); }
__device__ inline double reciprocal_of(double x)
{
    double r = reciprocal_approximation(x);
    r = r + r * (1 - x * r);
    return r + r * (1 - x * r);
}
template <typename R> __device__ inline complex_of<R> reciprocal_of(complex_of<R> x) { return one_of<complex_of<R>>() / x; }

#define PANEL_TEMPLATE template <typename T>
#define PANEL_INLINE __device__ __forceinline__
#define PANEL_IN_REGISTERS 1
#define R real_of<T>
#define FN(name) name
#define ZERO (T{})
#define FROM_REAL(r) (panel_real<T>(r))
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) reciprocal_of(x)
#define SMALLEST_NORMAL (SMALLEST<T>)
#define ROUNDING (EPSILON<T>)
#include "tridiagonal/block/panel.h"
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

/* ---------------------------------------------------------------- the panel */

/** The 3 N rows in play while a block column of the given matrix is eliminated, all in the registers of a lane: the three block
 *  columns of the window, left and first if they are kept, then right-hand sides. */
template <typename T, int N, int COLUMNS> struct panel {
    static constexpr int ROWS = 3 * N, TOP = N;
    T u[COLUMNS][ROWS];
    real_of<T> weight[ROWS];

    /** Of the three block rows the one whose block in the first block column has the largest determinant. */
    __device__ __forceinline__ int choose_block(const stage_of<T> &s) const
    {
        real_of<T> most = -1;
        int chosen = 1;
#pragma unroll 1
        for (int b = 0; b < 3; b++) {
            T block[N * N];
            real_of<T> weights[N];
#pragma unroll
            for (int i = 0; i < N; i++) {
                weights[i] = b == 0 ? weight[i] : b == 1 ? weight[N + i] : weight[2 * N + i];
#pragma unroll
                for (int c = 0; c < N; c++) block[c * N + i] = b == 0 ? u[c][i] : b == 1 ? u[c][N + i] : u[c][2 * N + i];
            }
            const real_of<T> size = panel_determinant(N, block, s.pivot == TRINE_PIVOT_SCALED_DETERMINANT ? weights : nullptr);
            if (size > most || (size == most && b == 1)) most = size, chosen = b;
        }
        return chosen;
    }
    __device__ __forceinline__ void exchange_blocks(int chosen)
    {
#pragma unroll
        for (int b = 0; b < 3; b += 2)
            if (b == chosen)
#pragma unroll
                for (int i = 0; i < N; i++) {
                    const real_of<T> heavy = weight[TOP + i];
                    weight[TOP + i] = weight[b * N + i];
                    weight[b * N + i] = heavy;
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++) {
                        const T kept = u[c][TOP + i];
                        u[c][TOP + i] = u[c][b * N + i];
                        u[c][b * N + i] = kept;
                    }
                }
    }

    /** Eliminate the first block column. Pivot row k ends in row TOP + k; its coefficients up to the pivot are not kept up. */
    __device__ __forceinline__ void eliminate(const stage_of<T> &s, T (&inverse)[N])
    {
        if (s.pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT) exchange_blocks(choose_block(s));
#pragma unroll
        for (int k = 0; k < N; k++) {
            T f[ROWS];
            const int p = panel_choose(s.pivot, s.epsilon, N, TOP, k, ROWS, u[k], weight);
            if (__any_sync(~0u, p != TOP + k)) {
                panel_exchange(TOP, k, ROWS, p, weight);
#pragma unroll
                for (int c = k; c < COLUMNS; c++) panel_exchange(TOP, k, ROWS, p, u[c]);
            }
            panel_multipliers(s.epsilon, TOP, k, ROWS, u[k], weight, f, &inverse[k]);
#pragma unroll
            for (int c = k + 1; c < COLUMNS; c++) panel_update(TOP, k, ROWS, f, u[c]);
        }
    }

    /** Drop the pivot rows and the first block column of the window. */
    __device__ __forceinline__ void advance()
    {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const bool enters = c / N == 2; /* the window's last block column is a new one */
            const int from = c / N < 2 ? c + N : c;
#pragma unroll
            for (int i = 0; i < 2 * N; i++) u[c][i] = enters ? T{} : u[from][i < N ? i : i + N];
        }
#pragma unroll
        for (int i = N; i < 2 * N; i++) weight[i] = weight[i + N];
    }

    /** Put a block row into rows AT ...: its blocks go to block columns 0, 1, ... of the window, but the first EARLY ones lie before
     *  it: with SPIKES they go to left and first, without they have been subtracted from the right-hand sides d. */
    template <int AT, int EARLY, bool SPIKES, int RHS> __device__ __forceinline__ void enter(const T (&x)[3][N][N], const T (&d)[RHS][N])
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            real_of<T> largest = 0;
#pragma unroll
            for (int c = 0; c < (SPIKES ? 5 : 3) * N; c++) u[c][AT + i] = T{};
#pragma unroll
            for (int side = 0; side < 3; side++)
#pragma unroll
                for (int l = 0; l < N; l++) {
                    const int b = side - EARLY;
                    const real_of<T> size = size_of(x[side][l][i]);
                    largest = size > largest ? size : largest;
                    if (b >= 0) u[b * N + l][AT + i] = x[side][l][i];
                    else if constexpr (SPIKES) u[(b == -1 ? 4 : 3) * N + l][AT + i] = x[side][l][i];
                }
#pragma unroll
            for (int r = 0; r < RHS; r++) u[COLUMNS - RHS + r][AT + i] = d[r][i];
            weight[AT + i] = panel_weight<T>(largest);
        }
    }
};

} // namespace trine_block

#endif
