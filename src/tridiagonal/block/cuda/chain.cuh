/* The last stages of a solve in one kernel, and all of a small one: a matter of latency, since a stage is a chain of
 * block columns.
 *
 * A warp has a partition, a lane has a row. What a column of the elimination waits for is the choice of its pivot
 * row, the pivot's reciprocal and what these make of the next column. So every lane takes the reciprocal of its own
 * candidate while the choice, one reduction over the warp, is made; what the next choice needs comes by shuffles,
 * all else of a pivot row by way of shared memory. The substitution is done by all lanes alike, from pivot rows in
 * shared memory, so that nothing is exchanged on the way. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_CHAIN_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_CHAIN_CUH

#include "core/gpu_cluster.cuh"
#include "tridiagonal/block/cuda/entering_rows.cuh"

namespace trine_block {

/** The stages; the first one may be that of the given matrix. */
constexpr int CHAIN_STAGES = 8;
template <typename T> struct chain_of {
    int stages;
    stage_of<T> stage[CHAIN_STAGES];
};

/** A partition's rows in play, one on each of the first lanes of a warp. */
template <typename T, int N, int GROUP> struct warp_rows : lane_rows<T, N, GROUP, 1, 1> {
    using base_rows = lane_rows<T, N, GROUP, 1, 1>;
    using base_rows::u, base_rows::y, base_rows::weight, base_rows::id, base_rows::rank, base_rows::pivot_rows;
    using vector = typename base_rows::vector;
    static constexpr int COLUMNS = base_rows::COLUMNS, PER_VECTOR = base_rows::PER_VECTOR, ROWS = base_rows::ROWS;

    real_of<T> scale; /* of the row in pivot decisions */

    __device__ explicit warp_rows(void *shared) : base_rows(shared), scale(1) {}
    template <int EARLY, typename SOURCE> __device__ __forceinline__ void enter(const stage_of<T> &s,
                                                                                const SOURCE &source, int g, int r)
    {
        base_rows::template enter<EARLY>(0, g * GROUP * N + r, source.weight(g, r),
                                         [&](int side, int c) { return source.element(g, r, side, c); });
        y[0][0] = source.rhs(g, r);
        if (GROUP == 1) this->scale_row(s, 0);
        scale = s.pivot == TRINE_PIVOT_NONE                                                          ? 0
                : s.pivot == TRINE_PIVOT_SCALED_PARTIAL || s.pivot == TRINE_PIVOT_SCALED_DETERMINANT ? weight[0]
                                                                                                     : 1;
    }

    /** Eliminate block column j, as lane_rows::eliminate does. */
    __device__ __forceinline__ void eliminate(const stage_of<T> &s, const place<WARP> &at,
                                              const factors_of<T, N, GROUP> &factors, int j, int base)
    {
        T (&row)[COLUMNS] = u[0];
        T *x = s.X + (GROUP == 2 ? (at.group * 2 + j) * N : first_unknown(s.A, at.group + j));
        const int unknowns = GROUP == 2 ? N : unknowns_of(s.A, at.group + j);
        bool barred = false;
        __syncwarp(); /* the last block column's pivot rows have been read */
        if (s.pivot >= TRINE_PIVOT_PARTIAL_DETERMINANT) barred = at.q / N != this->choose_block(s, 0, j);
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (s.epsilon > 0) row[k] = size_of(row[k]) <= s.epsilon ? T{} : row[k];
            /* among nearly equal ones the row in place */
            const unsigned bits = leading_bits(size_of(row[k]) * scale), preferred = id[0] == j * N + k ? 32u : 0u;
            const int best = __reduce_max_sync(
                ~0u, (int)(rank[0] < 0 && !barred ? (bits & ~127u) | (64u + 31u - at.q) | preferred : 0u));
            const int lane = 31 - (best & 31);
            T r = shuffle_from(reciprocal_of(row[k]), lane);
            if (!(size_of(r) <= 1 / SMALLEST<T>)) { /* a pivot that vanishes becomes a rounding error of its row */
                T pivot = shuffle_from(row[k], lane);
                const real_of<T> error = panel_rounding<T>(shuffle_from(weight[0], lane));
                if (size_of(pivot) < SMALLEST<T>) pivot = panel_real<T>(error);
                r = reciprocal_of(pivot);
            }
            const bool is_pivot = at.q == lane;
            const T f = is_pivot ? T{} - one_of<T>() : row[k] * (T{} - r); /* 0 of a row that has been one */
            const T next = shuffle_from(row[k + 1], lane), pivot_rhs = shuffle_from(y[0][0], lane);
            vector *to = pivot_rows + k * (COLUMNS / PER_VECTOR);
            if (is_pivot) {
                rank[0] = base + k;
#pragma unroll
                for (int e = k / PER_VECTOR; e < COLUMNS / PER_VECTOR; e++) {
                    vector part;
#pragma unroll
                    for (int c = 0; c < PER_VECTOR; c++)
                        part.v[c] = e * PER_VECTOR + c == k ? r : row[e * PER_VECTOR + c];
                    to[e] = part;
                }
                if (k < unknowns) x[k] = pivot_rhs;
            }
            row[k + 1] = row[k + 1] + f * next;
            y[0][0] = y[0][0] + f * pivot_rhs;
            __syncwarp();
#pragma unroll
            for (int e = (k + 2) / PER_VECTOR; e < COLUMNS / PER_VECTOR; e++) {
                const vector part = to[e];
#pragma unroll
                for (int c = 0; c < PER_VECTOR; c++)
                    if (e * PER_VECTOR + c > k + 1) row[e * PER_VECTOR + c] = row[e * PER_VECTOR + c] + f * part.v[c];
            }
        }
        factors.template keep<WARP>(j, at.q, pivot_rows);
        this->advance();
    }
};

/** Eliminate a partition: the next stage's group goes to s.coarse, the pivot rows to s.chunks and their right-hand
 *  sides to X. */
template <typename T, int N, int GROUP, typename SOURCE> __device__ __forceinline__ void
eliminate_partition(const stage_of<T> &s, int64_t p, unsigned char *shared)
{
    constexpr int W = GROUP + 2, ROWS = W * N, ENTER = GROUP * N, from[4] = {W, W + 1, 0, 1};
    const place<WARP> at(s, p);
    const factors_of<T, N, GROUP> factors(s, at.group * GROUP);
    const bool is_last = GROUP == 2 && !s.coarse;
    SOURCE source(s, at, shared);
    warp_rows<T, N, GROUP> rows(shared);
    rows.y[0][0] = T{};
    rows.weight[0] = 1;
    rows.leave_empty(0, at.q < 2 * N ? -1 : at.q < ROWS ? at.q - 2 * N : ROWS); /* lanes without a row never get one */
#pragma unroll 1
    for (int g = 0; g < at.m + is_last; g++) {
        if (g < at.m) {
            source.arrive(g);
            if (g == 0 && at.q < ENTER) rows.template enter<2>(s, source, 0, at.q);
            if (GROUP == 1 && g == 1 && at.q >= N && at.q < 2 * N) rows.template enter<1>(s, source, 1, at.q - N);
            if (g * GROUP < 2) continue;
            if (rows.rank[0] >= 0 && rows.rank[0] < ENTER) rows.template enter<0>(s, source, g, rows.rank[0]);
        } else { /* of last | right | left | first is left: left is last and right is first if cyclic */
#pragma unroll
            for (int c = 0; c < N; c++) {
                T *u = rows.u[0] + c;
                const T last = u[0], right = u[N], left = u[W * N], first = u[(W + 1) * N];
                u[0] = s.cyclic ? first + right : first;
                u[N] = s.cyclic ? last + left : last;
#pragma unroll
                for (int b = 2; b < W + 2; b++) u[b * N] = T{};
            }
        }
#pragma unroll 1
        for (int b = 0; b < GROUP; b++) {
            const int j = g < at.m ? GROUP * g - 1 + b : b ? at.m * GROUP - 1 : 0;
            /* the last two have ranks that no other row has */
            rows.eliminate(s, at, factors, j, (g < at.m ? b : 2 + b) * N);
        }
    }
    const int number = number_of_row(at, rows.rank, 0);
    if (is_last || rows.rank[0] >= 0) return;
    T *coarse = s.coarse + at.p * 8 * N * N + number;
#pragma unroll
    for (int side = 0; side < 4; side++)
#pragma unroll
        for (int c = 0; c < N; c++) coarse[(side * N + c) * 2 * N] = rows.u[0][from[side] * N + c];
    s.coarse_x[at.p * 2 * N + number] = rows.y[0][0];
}

/** x := the solution of a block column with these pivot rows and right-hand sides; the first BLOCKS blocks behind it
 *  are known. */
template <int BLOCKS, int COLUMNS, typename T, int N, int MOST> __device__ __forceinline__ void
solve_block_column(const T *pivot_rows, const T *rhs, const T (&known)[MOST][N], T (&x)[N])
{
#pragma unroll
    for (int k = N - 1; k >= 0; k--) {
        const T *row = pivot_rows + k * COLUMNS;
        T t = rhs[k];
#pragma unroll
        for (int b = BLOCKS; b > 0; b--)
#pragma unroll
            for (int c = N - 1; c >= 0; c--) t = t - row[b * N + c] * known[b - 1][c];
#pragma unroll
        for (int c = N - 1; c > k; c--) t = t - row[c] * x[c];
        x[k] = t * row[k];
    }
}

/** The unknowns before a partition, its own first and last ones (known[0]), and those behind it (known[1]), from the
 *  coarse system's solution. */
template <typename T, int N, int MOST> __device__ __forceinline__ void
read_ends(const stage_of<T> &s, int64_t number, T (&left)[N], T (&first)[N], T (&known)[MOST][N])
{
    const int64_t end = 2 * s.partitions, p = 2 * number;
    const T *coarse = s.coarse_x;
#pragma unroll
    for (int k = 0; k < N; k++) {
        left[k] = p > 0 ? coarse[(p - 1) * N + k] : s.cyclic ? coarse[(end - 1) * N + k] : T{};
        first[k] = coarse[p * N + k];
        known[0][k] = coarse[(p + 1) * N + k];
        known[1][k] = p + 2 < end ? coarse[(p + 2) * N + k] : s.cyclic ? coarse[k] : T{};
    }
}

/** Solve backwards in a partition, from the solution of the coarse system; in the last stage that is found first. */
template <typename T, int N, int GROUP> __device__ __forceinline__ void
substitute_partition(const stage_of<T> &s, int64_t number, unsigned char *shared)
{
    /* elements of a block column's pivot rows */
    constexpr int W = GROUP + 2, COLUMNS = (W + 2) * N, COLUMN = N * COLUMNS;
    constexpr int BATCH = (int)(chain_shape<T, N>::BYTES / ((COLUMN + N) * sizeof(T)));
    const place<WARP> at(s, number);
    const int64_t block = at.group * GROUP;
    const int B = at.m * GROUP;
    const factors_of<T, N, GROUP> factors(s, block);
    T *pivot_rows = (T *)shared, *rhs = pivot_rows + BATCH * COLUMN; /* of a batch of block columns */
    T left[N], first[N], known[W - 1][N]; /* known of the block columns behind: last and right at first */
    const auto fetch = [&](int j, int slot, int columns) {
        constexpr int VECTOR_BYTES = factors_of<T, N, GROUP>::VECTOR_BYTES;
#pragma unroll 1
        for (int e = at.q * VECTOR_BYTES; e < columns * COLUMN * (int)sizeof(T); e += WARP * VECTOR_BYTES)
            copy_async<VECTOR_BYTES>((char *)(pivot_rows + slot * COLUMN) + e,
                                     (const char *)factors.pivot_row(j, 0) + e);
    };
    const auto store = [&](int j, const T (&x)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) store_one<T, N, GROUP>(s, block + j, k, 0, at.q == k, x[k]);
    };
#pragma unroll
    for (int c = 0; c < W - 1; c++)
#pragma unroll
        for (int k = 0; k < N; k++) known[c][k] = T{};
    if (GROUP == 2 && !s.coarse) {
        fetch(B - 1, 0, 1);
        fetch(0, 1, 1);
        if (at.q < 2 * N) rhs[at.q] = s.X[(block + (at.q < N ? B - 1 : 0)) * N + at.q % N];
        wait_for_copies();
        __syncwarp();
        solve_block_column<0, COLUMNS>(pivot_rows, rhs, known, known[0]);
        solve_block_column<1, COLUMNS>(pivot_rows + COLUMN, rhs + N, known, first);
#pragma unroll
        for (int k = 0; k < N; k++) left[k] = s.cyclic ? known[0][k] : T{}, known[1][k] = s.cyclic ? first[k] : T{};
    } else {
        read_ends(s, at.p, left, first, known);
    }
    store(0, first);
    store(B - 1, known[0]);
    for (int past = B - 1; past > 1;) { /* block columns from `low` to past - 1 */
        const int low = max(1, past - BATCH);
        __syncwarp();
        fetch(low, 0, past - low);
#pragma unroll 1
        for (int i = at.q; i < (past - low) * N; i += WARP)
            rhs[i] = load_one<T, N, GROUP>(s, s.X, s.ldx, block + low + i / N, i % N, 0);
        wait_for_copies();
        __syncwarp();
#pragma unroll 1
        for (int i = at.q; i < (past - low) * N; i += WARP) {
            const T *row = pivot_rows + i * COLUMNS;
            T t = rhs[i];
#pragma unroll
            for (int k = 0; k < N; k++) t = t - row[W * N + k] * left[k];
#pragma unroll
            for (int k = 0; k < N; k++) t = t - row[(W + 1) * N + k] * first[k];
            rhs[i] = t;
        }
        __syncwarp();
#pragma unroll(N <= 2 ? 4 : 1)
        for (int j = past - 1; j >= low; j--) {
            T x[N];
            solve_block_column<W - 1, COLUMNS>(pivot_rows + (j - low) * COLUMN, rhs + (j - low) * N, known, x);
            store(j, x);
#pragma unroll
            for (int k = 0; k < N; k++) {
#pragma unroll
                for (int c = W - 2; c > 0; c--) known[c][k] = known[c - 1][k];
                known[0][k] = x[k];
            }
        }
        past = low;
    }
}

/** Solve stages with their one right-hand side, down to the last one and back up: the warps take the partitions of a
 *  stage in turn, those of different blocks first. What the warps of one block do in one turn is the first block's
 *  alone, and waits for nobody else. */
template <typename T, int N, bool GIVEN> __global__ void __launch_bounds__((WARP * chain_shape<T, N>::WARPS))
    chain(const __grid_constant__ chain_of<T> it)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int warp = threadIdx.x / WARP, warps = blockDim.x / WARP, last = it.stages - 1;
    unsigned char *const mine = shared_memory + warp * chain_shape<T, N>::BYTES;
    const auto is_alone = [&](int k) { return gridDim.x == 1 || it.stage[k].partitions <= warps; };
    const auto for_partitions = [&](int k, const auto &op) {
        const int blocks = is_alone(k) ? 1 : gridDim.x;
        if ((int)blockIdx.x >= blocks) return;
        for (int64_t p = blockIdx.x + warp * blocks; p < it.stage[k].partitions; p += warps * blocks) {
            op(it.stage[k], p);
            __syncwarp();
        }
    };
    const auto wait = [&](int k) { /* for those who work on stage k and on the next one */
                                   if (!is_alone(k)) cluster_barrier();
                                   else if (blockIdx.x == 0) __syncthreads();
    };
    if constexpr (GIVEN) {
        for_partitions(
            0, [&](const stage_of<T> &s, int64_t p) { eliminate_partition<T, N, 1, given_source<T, N>>(s, p, mine); });
        wait(0);
    }
#pragma unroll 1
    for (int k = GIVEN; k <= last; k++) {
        for_partitions(
            k, [&](const stage_of<T> &s, int64_t p) { eliminate_partition<T, N, 2, coarse_source<T, N>>(s, p, mine); });
        if (k < last) wait(k);
    }
#pragma unroll 1
    for (int k = last; k >= GIVEN; k--) {
        for_partitions(k, [&](const stage_of<T> &s, int64_t p) { substitute_partition<T, N, 2>(s, p, mine); });
        if (k > 0) wait(k - 1);
    }
    if constexpr (GIVEN)
        for_partitions(0, [&](const stage_of<T> &s, int64_t p) { substitute_partition<T, N, 1>(s, p, mine); });
}

} // namespace trine_block

#endif
