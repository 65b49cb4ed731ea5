/* Factorization of a stage of block rows on the GPU, and solves with it. */
#ifndef TRINE_BLOCK_FACTOR_CUH
#define TRINE_BLOCK_FACTOR_CUH

#include "tridiagonal/block/rows.cuh"

namespace trine_block {

/** Row r of a group as a partition's lanes read it: of the first stage from a tile, of the others from global memory by way of
 *  shared memory, a group ahead. */
template <typename T, int N, int GROUP> struct group_source {
    tile<T, N, 3 * N, 0> here;
    const T *mine;

    bool begins;
    int end; /* corners are never read as numbers */

    __device__ group_source(const stage_of<T> &s, const place<3 * N> &at, T *shared)
        : here(s, at, s.base + (s.larger > 0), ~0, shared, 0), begins(!s.cyclic && at.p == 0), end(!s.cyclic && at.p == s.partitions - 1 ? at.m - 1 : -1)
    {
        here.load_matrix(s, at, 0, at.m);
        wait_for_copies();
        __syncwarp();
        mine = shared + at.slot * here.at_hand.partition;
    }
    static __device__ void ask(int) {}
    static __device__ void wait() {}
    __device__ __forceinline__ T element(int g, int r, int side, int c) const
    {
        if ((side == 0 && g == 0 && begins) || (side == 2 && g == end)) return T{};
        return mine[side * here.at_hand.length + (g * N + c) * N + r];
    }
};
template <typename T, int N> struct group_source<T, N, 2> {
    static constexpr int LENGTH = 8 * N * N, TOGETHER = WARP / (4 * N);
    const T *from;
    T *mine; /* two groups */
    int q;

    __device__ group_source(const stage_of<T> &s, const place<4 * N> &at, T *shared) : from(s.matrix + at.group * LENGTH), mine(shared + at.slot * 2 * LENGTH), q(at.q) {}
    __device__ __forceinline__ void ask(int g) const
    {
        constexpr int SMALL = sizeof(T) < 8 ? 4 : 8, BYTES = LENGTH * (int)sizeof(T);
        for (int at = q * SMALL; at < BYTES; at += 4 * N * SMALL) copy_async<SMALL>((char *)(mine + g % 2 * LENGTH) + at, (const char *)(from + (int64_t)g * LENGTH) + at);
    }
    static __device__ __forceinline__ void wait()
    {
        wait_for_copies();
        __syncwarp();
    }
    __device__ __forceinline__ T element(int g, int r, int side, int c) const { return mine[g % 2 * LENGTH + (side * N + c) * 2 * N + r]; }
};
template <typename T, int N> constexpr size_t group_source_bytes() { return 2 * 8 * N * N * (WARP / (4 * N)) * sizeof(T); }

/** Factor a stage: the coarse system's groups go to s.coarse, and what its solution needs to s.chunks. RHS = 1: the right-hand
 *  side of a coarse stage is eliminated on the way, so that no multipliers are kept. */
template <typename T, int N, int GROUP, int RHS> __global__ void __launch_bounds__(WARP) factor(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int WINDOW = GROUP + 2, ROWS = WINDOW * N;
    const place<ROWS> at(s);
    const int64_t block = at.group * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    group_source<T, N, GROUP> source(s, at, (T *)shared_memory);
    lane_row<T, N, GROUP, RHS, true> row;
    T *x = s.X + block * N;
    const auto enter = [&](auto early, int g, int r) {
        row.template enter<decltype(early)::value>(g * GROUP * N + r, [&](int side, int c) { return source.element(g, r, side, c); });
        if (RHS) row.y[0] = x[g * GROUP * N + r];
    };
    const auto eliminate = [&](int j, int in_place, int base) {
        row.eliminate(s, at, in_place, base, RHS ? nullptr : factors.lower_of(j), factors.pivots_of(j));
        row.keep(at, base, factors.upper_of(j), x + j * N);
        row.advance();
    };
    source.ask(0);
    source.wait();
    if (at.q < GROUP * N) enter(std::integral_constant<int, 2>(), 0, at.q);
    else if (GROUP == 1 && at.q < 2 * N) enter(std::integral_constant<int, 1>(), 1, at.q - N);
    else row.rank = at.q - 2 * N;
    if (at.m > 1) source.ask(1);
#pragma unroll 1
    for (int g = GROUP == 1 ? 2 : 1; g < at.m; g++) {
        const int j = GROUP == 1 ? g - 1 : 2 * g - 1; /* the block column in front */
        source.wait();
        if (g + 1 < at.m) source.ask(g + 1);
        if (row.rank >= 0) enter(std::integral_constant<int, 0>(), g, row.rank);
#pragma unroll 1
        for (int b = 0; b < GROUP; b++) eliminate(j + b, j + b, b * N);
    }
    const int number = number_of_row<ROWS>(at, row.rank < 0);
    if (s.coarse) {
        T *coarse = s.coarse + at.p * 8 * N * N + number;
        if (!at.there || row.rank >= 0) return;
#pragma unroll
        for (int side = 0; side < 4; side++)
#pragma unroll
            for (int c = 0; c < N; c++) coarse[(side * N + c) * 2 * N] = row.u[(side < 2 ? WINDOW + side : side - 2) * N + c];
        if (RHS) s.coarse_x[at.p * 2 * N + number] = row.y[0];
    } else if constexpr (GROUP == 2) { /* the last stage: last | right | left | first, but left is last and right is first if cyclic */
#pragma unroll
        for (int c = 0; c < N; c++) {
            const T last = row.u[c], right = row.u[N + c], left = row.u[WINDOW * N + c], first = row.u[(WINDOW + 1) * N + c];
            row.u[c] = s.cyclic ? first + right : first;
            row.u[N + c] = s.cyclic ? last + left : last;
#pragma unroll
            for (int b = 2; b < WINDOW + 2; b++) row.u[b * N + c] = T{};
        }
#pragma unroll 1
        for (int b = 0; b < 2; b++) {
            const int j = b ? at.m * GROUP - 1 : 0;
            eliminate(j, j, (2 + b) * N); /* ranks that no other row has */
        }
    }
}

/** Element q of block column j in right-hand side `column`, wherever it is. */
template <typename T, int N, int GROUP> __device__ __forceinline__ T load_one(const stage_of<T> &s, const T *data, int64_t ld, int64_t j, int q, int64_t column)
{
    if (column >= s.nrhs) return T{};
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    return GROUP == 2 || q < unknowns_of(s.A, j) ? data[column * ld + first + q] : T{};
}
template <typename T, int N, int GROUP> __device__ __forceinline__ void store_one(const stage_of<T> &s, int64_t j, int q, int64_t column, bool there, T value)
{
    if (!there || column >= s.nrhs) return;
    const int64_t first = GROUP == 2 ? j * N : first_unknown(s.A, j);
    if (GROUP == 2 || q < unknowns_of(s.A, j)) s.X[column * s.ldx + first + q] = value;
}

/** A block column's multipliers of a lane's row, and the lanes of its pivot rows. */
template <typename T, int N, int ROWS> struct lower_row {
    T f[N];
    int pivot[N];

    __device__ __forceinline__ void read(const T *lower, const uint8_t *pivots, int q)
    {
#pragma unroll
        for (int k = 0; k < N; k++) f[k] = lower[k * ROWS + q], pivot[k] = pivots[k];
    }
};

/** Eliminate NR right-hand sides, a lane a row as in `factor`: those of the pivot rows go to X, the others to the coarse system. */
template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP) forward(const __grid_constant__ stage_of<T> s)
{
    constexpr int ROWS = (GROUP + 2) * N;
    const place<ROWS> at(s);
    const int64_t column = (int64_t)blockIdx.y * NR, block = at.group * GROUP;
    const int B = at.m * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    T y[NR], next[NR]; /* of the next group, lane r has row r */
    int rank = at.q < 2 * N ? -1 : at.q - 2 * N; /* -1: in play */
    lower_row<T, N, ROWS> rows[GROUP], next_rows[GROUP];
    const auto load = [&](int j, T (&values)[NR]) {
#pragma unroll
        for (int c = 0; c < NR; c++) values[c] = at.q < 2 * N && j + at.q / N < B ? load_one<T, N, GROUP>(s, s.D, s.ldd, block + j + at.q / N, at.q % N, column + c) : T{};
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
    const int number = number_of_row<ROWS>(at, rank < 0);
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

/** A block column's factors, lane q's row of them. */
template <typename T, int N, int WINDOW> struct upper_row {
    T block[WINDOW + 2][N], inverse;

    __device__ __forceinline__ void read(const T *upper, int q)
    {
#pragma unroll
        for (int b = 0; b < WINDOW + 2; b++)
#pragma unroll
            for (int c = 0; c < N; c++) block[b][c] = upper[(b * N + c) * N + q];
        inverse = upper[(WINDOW + 2) * N * N + q];
    }
    /** x := x - block b known, each lane with its element of both. */
    template <int NR> __device__ __forceinline__ void subtract(int b, int first_lane, const T (&known)[NR], T (&x)[NR]) const
    {
#pragma unroll
        for (int c = 0; c < N; c++)
#pragma unroll
            for (int r = 0; r < NR; r++) x[r] = x[r] - block[b][c] * shuffle_from(known[r], first_lane + c);
    }
    template <int NR> __device__ __forceinline__ void solve_triangle(int q, int first_lane, T (&x)[NR]) const
    {
#pragma unroll
        for (int c = N - 1; c >= 0; c--)
#pragma unroll
            for (int r = 0; r < NR; r++) {
                if (q == c) x[r] = x[r] * inverse;
                const T known = shuffle_from(x[r], first_lane + c);
                if (q < c) x[r] = x[r] - block[0][c] * known;
            }
    }
};

/** Solve backwards, from the solution of the coarse system; in the last stage that is found first. Lane q of N has element q of
 *  every block column. */
template <typename T, int N, int GROUP, int NR> __global__ void __launch_bounds__(WARP) backward(const __grid_constant__ stage_of<T> s)
{
    constexpr int WINDOW = GROUP + 2;
    const place<N> at(s);
    const int64_t column = (int64_t)blockIdx.y * NR, end = 2 * s.partitions, p = 2 * at.p, block = at.group * GROUP;
    const int B = at.m * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    T left[NR], first[NR], known[WINDOW - 1][NR], x[NR], next[NR]; /* known of the block columns behind: last and right at first */
    upper_row<T, N, WINDOW> row, next_row;
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
        next_row.read(factors.upper_of(B - 2), at.q);
        load(B - 2, next);
    }
    if (GROUP == 2 && !s.coarse) {
        load(0, first);
        load(B - 1, known[0]);
        row.read(factors.upper_of(B - 1), at.q);
        row.template solve_triangle<NR>(at.q, at.first_lane, known[0]);
        row.read(factors.upper_of(0), at.q);
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
            next_row.read(factors.upper_of(j - 1), at.q);
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

} // namespace trine_block

#endif
