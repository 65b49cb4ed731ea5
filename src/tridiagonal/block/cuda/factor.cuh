/* Factorization of the coarse stages on the GPU, and solves with what was kept of any stage. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_FACTOR_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_FACTOR_CUH

#include "tridiagonal/block/cuda/panel_rows.cuh"

namespace trine_block {

/** The groups of a coarse stage as a partition's lanes read them: by way of shared memory, a group ahead. */
template <typename T, int N, int LANES> struct group_source {
    static constexpr int LENGTH = 8 * N * N;
    const T *from;
    T *mine; /* two groups */
    int q;
    bool idle;

    __device__ group_source(const stage_of<T> &s, const place<LANES> &at, T *shared)
        : from(s.matrix + at.group * LENGTH), mine(shared + at.slot * 2 * LENGTH), q(at.q), idle(at.left_over)
    {}
    __device__ __forceinline__ void ask(int g) const
    {
        constexpr int SMALL = sizeof(T) < 8 ? 4 : 8, BYTES = LENGTH * (int)sizeof(T);
        if (idle) return;
        for (int at = q * SMALL; at < BYTES; at += LANES * SMALL)
            copy_async<SMALL>((char *)(mine + g % 2 * LENGTH) + at, (const char *)(from + (int64_t)g * LENGTH) + at);
    }
    static __device__ __forceinline__ void wait()
    {
        wait_for_copies();
        __syncwarp();
    }
    __device__ __forceinline__ T element(int g, int r, int side, int c) const
    {
        return mine[g % 2 * LENGTH + (side * N + c) * 2 * N + r];
    }
};
/** Shared memory of a warp that factors a coarse stage: for groups, and in all. */
template <typename T, int N> __host__ __device__ constexpr size_t group_bytes()
{
    return 2 * 8 * N * N * (WARP / (4 * N / COARSE_ROWS_A_LANE<T, N>)) * sizeof(T);
}
template <typename T, int N> __host__ __device__ constexpr size_t factor_bytes()
{
    return (group_bytes<T, N>() + lane_rows<T, N, 2, 1, COARSE_ROWS_A_LANE<T, N>>::SHARED_BYTES + 15) / 16 * 16;
}

/** Factor what a warp has of a coarse stage: the next one's groups go to s.coarse, and what the solution needs to
 *  s.chunks. RHS = 1: the right-hand side is eliminated on the way, and no multipliers are kept. */
template <typename T, int N, int RHS> __device__ __forceinline__ void factor_warp(const stage_of<T> &s, int64_t block,
                                                                                  T *shared)
{
    constexpr int R = COARSE_ROWS_A_LANE<T, N>, ROWS = 4 * N, LANES = ROWS / R, from[4] = {4, 5, 0, 1};
    static_assert(LANES >= 2 * N, "a lane a row that enters");
    const place<LANES> at(s, block);
    const factors_of<T, N, 2> factors(s, 2 * at.group);
    group_source<T, N, LANES> source(s, at, shared);
    lane_rows<T, N, 2, RHS, R> rows(at, (char *)shared + group_bytes<T, N>());
    T *x = s.X + at.group * 2 * N;
    const auto row_of = [&](int g, int r) {
        return [&source, g, r](int side, int c) { return source.element(g, r, side, c); };
    };
    const auto enter = [&](auto early, int slot, int g, int r, real_of<T> weight) {
        rows.template enter<decltype(early)::value>(slot, g * 2 * N + r, weight, row_of(g, r));
        if (RHS) rows.y[slot][0] = x[g * 2 * N + r];
    };
    const auto eliminate = [&](int j, int base) {
        rows.eliminate(s, at, j, base, [&](int k, const auto &step) {
            if (!RHS && at.there) {
#pragma unroll
                /* a pivot row keeps its right-hand side */
                for (int i = 0; i < R; i++)
                    factors.lower_of(j)[k * ROWS + rows.position(i, at.q)] =
                        at.q == step.lane && i == step.slot ? T{} : step.f[i];
                if (at.q == step.lane) factors.pivots_of(j)[k] = (uint8_t)rows.position(step.slot, step.lane);
            }
            if (RHS && at.there && at.q == k) x[j * N + k] = step.y[0];
        });
        if (at.there) factors.template keep<LANES>(j, at.q, rows.pivot_rows);
        rows.advance();
    };
    source.ask(0);
    source.wait();
#pragma unroll
    for (int i = 0; i < R; i++) {
        const int position = rows.position(i, at.q);
        rows.y[i][0] = T{};
        if (position < 2 * N)
            enter(std::integral_constant<int, 2>(), i, 0, position, rows.weight_of(row_of(0, position)));
        else rows.leave_empty(i, position - 2 * N);
    }
    if (at.m > 1) source.ask(1);
#pragma unroll 1
    for (int g = 1; g < at.m; g++) {
        source.wait();
        if (g + 1 < at.m) source.ask(g + 1);
        const real_of<T> weight = rows.weight_of(row_of(g, at.q % (2 * N))); /* lane r has that of row r */
#pragma unroll
        for (int i = 0; i < R; i++) {
            const int r = rows.rank[i];
            const real_of<T> its_weight = shuffle_from(weight, at.first_lane + (r < 0 ? 0 : r));
            if (r >= 0) enter(std::integral_constant<int, 0>(), i, g, r, its_weight);
        }
#pragma unroll 1
        for (int b = 0; b < 2; b++) eliminate(2 * g - 1 + b, b * N);
    }
    if (s.coarse) {
#pragma unroll
        for (int i = 0; i < R; i++) {
            const int number = number_of_row(at, rows.rank, i);
            T *coarse = s.coarse + at.p * 8 * N * N + number;
            if (!at.there || rows.rank[i] >= 0) continue;
#pragma unroll
            for (int side = 0; side < 4; side++)
#pragma unroll
                for (int c = 0; c < N; c++) coarse[(side * N + c) * 2 * N] = rows.u[i][from[side] * N + c];
            if (RHS) s.coarse_x[at.p * 2 * N + number] = rows.y[i][0];
        }
    } else { /* the last stage: last | right | left | first, but left is last and right is first if cyclic */
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int c = 0; c < N; c++) {
                T *u = rows.u[i] + c;
                const T last = u[0], right = u[N], left = u[4 * N], first = u[5 * N];
                u[0] = s.cyclic ? first + right : first;
                u[N] = s.cyclic ? last + left : last;
#pragma unroll
                for (int b = 2; b < 6; b++) u[b * N] = T{};
            }
#pragma unroll 1
        for (int b = 0; b < 2; b++) eliminate(b ? at.m * 2 - 1 : 0, (2 + b) * N); /* ranks that no other row has */
    }
}
template <typename T, int N, int RHS> __global__ void __launch_bounds__(WARP)
    factor(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    factor_warp<T, N, RHS>(s, blockIdx.x, (T *)shared_memory);
}

/** A block column's multipliers of the row at position q, and the positions of its pivot rows. */
template <typename T, int N, int ROWS> struct lower_row {
    T f[N];
    int pivot[N];

    __device__ __forceinline__ void read(const T *lower, const uint8_t *pivots, int q)
    {
#pragma unroll
        for (int k = 0; k < N; k++) f[k] = lower[k * ROWS + q], pivot[k] = pivots[k];
    }
};

/** Eliminate NR right-hand sides, a lane a position of `reduce` or `factor`: those of the pivot rows go to X, the
 *  others to the coarse system. */
template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP)
    forward(const __grid_constant__ stage_of<T> s)
{
    constexpr int ROWS = (GROUP + 2) * N;
    const place<ROWS> at(s, blockIdx.x);
    const int64_t column = (int64_t)blockIdx.y * NR, block = at.group * GROUP;
    const int B = at.m * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    T y[NR], next[NR]; /* of the next group, lane r has row r */
    int rank = at.q < 2 * N ? -1 : at.q - 2 * N; /* -1: in play */
    lower_row<T, N, ROWS> rows[GROUP], next_rows[GROUP];
    const auto load = [&](int j, T (&values)[NR]) {
#pragma unroll
        for (int c = 0; c < NR; c++)
            values[c] = at.q < 2 * N && j + at.q / N < B
                            ? load_one<T, N, GROUP>(s, s.D, s.ldd, block + j + at.q / N, at.q % N, column + c)
                            : T{};
        if (GROUP == 1 && s.is_scaled && at.q < 2 * N && j + at.q / N < B) {
            const real_of<T> scale = power_of_two<real_of<T>>(s.scales[(block + j) * N + at.q]);
#pragma unroll
            for (int c = 0; c < NR; c++) values[c] = times(values[c], scale);
        }
    };
    const auto read = [&](int j) {
        if (j + GROUP > B - 1) return;
#pragma unroll
        for (int b = 0; b < GROUP; b++) next_rows[b].read(factors.lower_of(j + b), factors.pivots_of(j + b), at.q);
        load(j + 1, next);
    };
    const auto eliminate = [&](const lower_row<T, N, ROWS> &row, int j, int base) {
#pragma unroll
        for (int k = 0; k < N; k++) {
#pragma unroll
            for (int c = 0; c < NR; c++) y[c] = y[c] + row.f[k] * shuffle_from(y[c], at.first_lane + row.pivot[k]);
            rank = at.q == row.pivot[k] ? base + k : rank;
        }
        if (rank >= base && rank < base + N)
#pragma unroll
            for (int c = 0; c < NR; c++) store_one<T, N, GROUP>(s, block + j, rank - base, column + c, at.there, y[c]);
    };
    load(0, y);
    read(1);
#pragma unroll 1
    for (int j = 1; j < B - 1; j += GROUP) {
#pragma unroll
        for (int b = 0; b < GROUP; b++) rows[b] = next_rows[b];
#pragma unroll
        for (int c = 0; c < NR; c++) {
            const T entering = shuffle_from(next[c], at.first_lane + (rank < 0 ? 0 : rank));
            y[c] = rank < 0 ? y[c] : entering;
        }
        rank = -1;
        read(j + GROUP); /* well before it is used */
#pragma unroll
        for (int b = 0; b < GROUP; b++) eliminate(rows[b], j + b, b * N);
    }
    const int ranks[1] = {rank}, number = number_of_row(at, ranks, 0);
    if (GROUP == 2 && !s.coarse) {
#pragma unroll
        for (int b = 0; b < 2; b++) {
            const int j = b ? B - 1 : 0;
            rows[0].read(factors.lower_of(j), factors.pivots_of(j), at.q);
            eliminate(rows[0], j, (2 + b) * N);
        }
    } else if (at.there && rank < 0) {
#pragma unroll
        for (int c = 0; c < NR; c++)
            if (column + c < s.nrhs) s.coarse_x[(column + c) * s.coarse_ld + at.p * 2 * N + number] = y[c];
    }
}

/** Lane q's pivot row of a block column. */
template <typename T, int N, int GROUP> struct upper_row {
    T u[(GROUP + 4) * N];

    /** x := x - block b known, each lane with its element of both. */
    template <int NR> __device__ __forceinline__ void subtract(int b, int first_lane, const T (&known)[NR],
                                                               T (&x)[NR]) const
    {
#pragma unroll
        for (int c = 0; c < N; c++)
#pragma unroll
            for (int r = 0; r < NR; r++) x[r] = x[r] - u[b * N + c] * shuffle_from(known[r], first_lane + c);
    }
    template <int NR> __device__ __forceinline__ void solve_triangle(int q, int first_lane, T (&x)[NR]) const
    {
#pragma unroll
        for (int c = N - 1; c >= 0; c--)
#pragma unroll
            for (int r = 0; r < NR; r++) {
                if (q == c) x[r] = x[r] * u[c];
                const T known = shuffle_from(x[r], first_lane + c);
                if (q < c) x[r] = x[r] - u[c] * known;
            }
    }
};

/** Solve backwards, from the solution of the coarse system; in the last stage that is found first. Lane q of N has
 *  element q of every block column. */
template <typename T, int N, int GROUP, int NR> __device__ __forceinline__ void
backward_warp(const stage_of<T> &s, int64_t warp, int64_t column)
{
    constexpr int WINDOW = GROUP + 2;
    const place<N> at(s, warp);
    const int64_t end = 2 * s.partitions, p = 2 * at.p, block = at.group * GROUP;
    const int B = at.m * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    /* known of the block columns behind: last and right at first */
    T left[NR], first[NR], known[WINDOW - 1][NR], x[NR], next[NR];
    upper_row<T, N, GROUP> row, next_row;
    const auto load = [&](int64_t j, T (&values)[NR]) {
#pragma unroll
        for (int r = 0; r < NR; r++) values[r] = load_one<T, N, GROUP>(s, s.X, s.ldx, block + j, at.q, column + r);
    };
    const auto store = [&](int64_t j, const T (&values)[NR]) {
#pragma unroll
        for (int r = 0; r < NR; r++) store_one<T, N, GROUP>(s, block + j, at.q, column + r, at.there, values[r]);
    };
#pragma unroll
    for (int c = 0; c < WINDOW - 1; c++)
#pragma unroll
        for (int r = 0; r < NR; r++) known[c][r] = T{};
    if (B > 2) {
        factors.read(B - 2, at.q, next_row.u);
        load(B - 2, next);
    }
    if (GROUP == 2 && !s.coarse) {
        load(0, first);
        load(B - 1, known[0]);
        factors.read(B - 1, at.q, row.u);
        row.template solve_triangle<NR>(at.q, at.first_lane, known[0]);
        factors.read(0, at.q, row.u);
        row.template subtract<NR>(1, at.first_lane, known[0], first);
        row.template solve_triangle<NR>(at.q, at.first_lane, first);
#pragma unroll
        for (int r = 0; r < NR; r++) {
            left[r] = s.cyclic ? known[0][r] : T{};
            known[1][r] = s.cyclic ? first[r] : T{};
        }
    } else {
#pragma unroll
        for (int r = 0; r < NR; r++) {
            const T *coarse = s.coarse_x + (column + r < s.nrhs ? column + r : 0) * s.coarse_ld + at.q;
            left[r] = p > 0 ? coarse[(p - 1) * N] : s.cyclic ? coarse[(end - 1) * N] : T{};
            first[r] = coarse[p * N];
            known[0][r] = coarse[(p + 1) * N];
            known[1][r] = p + 2 < end ? coarse[(p + 2) * N] : s.cyclic ? coarse[0] : T{};
        }
    }
    store(0, first);
    store(B - 1, known[0]);
#pragma unroll 1
    for (int j = B - 2; j > 0; j--) {
        row = next_row;
#pragma unroll
        for (int r = 0; r < NR; r++) x[r] = next[r];
        if (j > 1) { /* well before it is used */
            factors.read(j - 1, at.q, next_row.u);
            load(j - 1, next);
        }
        row.template subtract<NR>(WINDOW, at.first_lane, left, x);
        row.template subtract<NR>(WINDOW + 1, at.first_lane, first, x);
#pragma unroll
        for (int c = WINDOW - 1; c > 0; c--) row.template subtract<NR>(c, at.first_lane, known[c - 1], x);
        row.template solve_triangle<NR>(at.q, at.first_lane, x);
        store(j, x);
#pragma unroll
        for (int r = 0; r < NR; r++) {
#pragma unroll
            for (int c = WINDOW - 2; c > 0; c--) known[c][r] = known[c - 1][r];
            known[0][r] = x[r];
        }
    }
}
template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP)
    backward(const __grid_constant__ stage_of<T> s)
{
    backward_warp<T, N, GROUP, NR>(s, blockIdx.x, (int64_t)blockIdx.y * NR);
}

} // namespace trine_block

#endif
