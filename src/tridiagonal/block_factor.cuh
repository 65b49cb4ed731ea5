/* Factorization of a stage of block rows on the GPU, and solves with it. */
#ifndef TRINE_BLOCK_FACTOR_CUH
#define TRINE_BLOCK_FACTOR_CUH

#include "tridiagonal/block_sweep.cuh"

namespace trine_block {

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

} // namespace trine_block

#endif
