/* The first stage of a solve where block rows are narrow and partitions many: a lane a partition.
 *
 * The 3 N rows in play are in the lane's registers, in slots: first the 2 N that the last block column has left,
 * then the N that enter. Column k takes its pivot row from any of them; that in slot N + k is the one in place.
 * Where the pivot row was, the row that entered as number k goes. Registers have no address, so both are selected,
 * which for narrow blocks takes less than what lanes would have to tell each other; nothing is exchanged, and nobody
 * waits. Pivot rows are kept divided by their pivots, with their right-hand sides, in an order in which the lanes of
 * a warp write and read neighbouring vectors. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_NARROW_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_NARROW_CUH

#include "tridiagonal/block/cuda/narrow_back_substitution.cuh"

namespace trine_block {

/* block rows that are asked for at once */
template <typename T, int N> constexpr int NARROW_CHUNK = N > 2 ? 2 : sizeof(T) == 4 ? 8 : 4;

/** All rows in play. */
template <typename T, int N> struct rows_in_lane {
    static constexpr int ROWS = 3 * N, COLUMNS = 5 * N;
    T u[ROWS][COLUMNS + 1]; /* in the window, in left, in first; the right-hand side */
    unsigned weight[ROWS];  /* leading bits of it */
    bool rhs_is_scaled;

    /** The three blocks of a block row, column-major, enter in slots from `slot` on, each row times its scale; EARLY
     *  as in lane_rows. */
    template <int EARLY> __device__ __forceinline__ void enter(int slot, const T (&block)[3][N * N], const T (&y)[N])
    {
#pragma unroll
        for (int r = 0; r < N; r++) {
            unsigned largest = 0;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) u[slot + r][c] = T{};
#pragma unroll
            for (int side = 0; side < 3; side++)
#pragma unroll
                for (int c = 0; c < N; c++) largest = max(largest, leading_bits(size_of(block[side][c * N + r])));
            const real_of<T> its_weight = panel_weight<T>(from_leading_bits<real_of<T>>(largest)),
                             scale = smaller_power(its_weight);
#pragma unroll
            for (int side = 0; side < 3; side++)
#pragma unroll
                for (int c = 0; c < N; c++)
                    u[slot + r][(side >= EARLY        ? side - EARLY
                                 : side - EARLY == -1 ? 4
                                                      : 3) *
                                    N +
                                c] = times(block[side][c * N + r], scale);
            u[slot + r][COLUMNS] = rhs_is_scaled ? y[r] : times(y[r], scale);
            weight[slot + r] = leading_bits(fraction_of(its_weight));
        }
    }
    /** Eliminate the window's first block column; kept: its pivot rows. */
    __device__ __forceinline__ void eliminate(T (&kept)[kept_rows<T, N>::STRIDE])
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int entering = 2 * N + k;
            const auto is_in_play = [&](int i) { return i < 2 * N || i >= entering; };
            /* among nearly equal ones the row in place */
            const auto code = [&](int i) { return i == N + k ? 15u : (unsigned)i; };
            unsigned best = 0;
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                if (is_in_play(i))
                    best =
                        max(best, (leading_bits(size_of(u[i][k]) * from_leading_bits<real_of<T>>(weight[i])) & ~15u) |
                                      code(i));
            best &= 15u;
            const auto is_pivot = [&](int i) { return best == code(i); };
            T pivot[COLUMNS + 1], f[ROWS];
#pragma unroll
            for (int c = k; c <= COLUMNS; c++) {
                pivot[c] = u[N + k][c];
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    if (is_in_play(i) && i != N + k) pivot[c] = is_pivot(i) ? u[i][c] : pivot[c];
            }
            if (size_of(pivot[k]) < SMALLEST<T>) { /* it becomes a rounding error of its row */
                unsigned its_weight = weight[N + k];
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    if (is_in_play(i)) its_weight = is_pivot(i) ? weight[i] : its_weight;
                pivot[k] = panel_real<T>(panel_rounding<T>(from_leading_bits<real_of<T>>(its_weight)));
            }
            const T inverse = reciprocal_of(pivot[k]), negative = T{} - inverse;
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                if (is_in_play(i)) f[i] = u[i][k] * negative;
#pragma unroll
            for (int c = k + 1; c <= COLUMNS; c++) kept[kept_rows<T, N>::number(k, c)] = pivot[c] * inverse;
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                if (i < 2 * N || i > entering) { /* in place of the pivot row, what is left of the row that enters */
                    const bool replaced = is_pivot(i);
                    const T times = replaced ? f[entering] : f[i];
#pragma unroll
                    for (int c = k + 1; c <= COLUMNS; c++)
                        u[i][c] = (replaced ? u[entering][c] : u[i][c]) + times * pivot[c];
                    weight[i] = replaced ? weight[entering] : weight[i];
                }
        }
    }
    /** Move the window on by one block column. */
    __device__ __forceinline__ void advance()
    {
#pragma unroll
        for (int i = 0; i < 2 * N; i++)
#pragma unroll
            for (int c = 0; c < 3 * N; c++) u[i][c] = c < 2 * N ? u[i][c + N] : T{};
    }
};

/** Shared memory of a warp of reduce_narrow. */
template <typename T, int N> size_t narrow_bytes() { return tile_shape<T, N, 1, 1>(2 * NARROW_CHUNK<T, N>, 1).bytes(); }

/** `reduce` with one right-hand side, weighted pivot decisions and epsilon = 0, of matrices that are plain. */
template <typename T, int N> __global__ void __launch_bounds__(WARP)
    reduce_narrow(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int VECTOR_BYTES = tile_shape<T, N, 1, 1>::VECTOR_BYTES, PER_VECTOR = VECTOR_BYTES / (int)sizeof(T),
                  from[4] = {3, 4, 0, 1};
    struct alignas(VECTOR_BYTES) vector { T v[PER_VECTOR]; };
    const place<1> at(s, blockIdx.x);
    /* corners are never read as numbers */
    const bool begins = !s.cyclic && at.p == 0, ends = !s.cyclic && at.p == s.partitions - 1;
    tile<T, N, 1, 1> tile(s, at, 2 * NARROW_CHUNK<T, N>, 2 * NARROW_CHUNK<T, N> - 1, (T *)shared_memory, 0);
    const kept_rows<T, N> kept(s, at);
    rows_in_lane<T, N> rows;
    rows.rhs_is_scaled = s.rhs_is_scaled;
    const auto read = [&](int j, T (&block)[3][N *N], T (&y)[N]) {
#pragma unroll
        for (int side = 0; side < 3; side++) {
            const vector *here = (const vector *)(tile.mine + (j & tile.mask) * N * N + side * tile.at_hand.length);
            const bool absent = (side == 0 && j == 0 && begins) || (side == 2 && j == at.m - 1 && ends);
#pragma unroll
            for (int e = 0; e < N * N; e += PER_VECTOR) {
                const vector x = here[e / PER_VECTOR];
#pragma unroll
                for (int i = 0; i < PER_VECTOR; i++) block[side][e + i] = absent ? T{} : x.v[i];
            }
        }
#pragma unroll
        for (int r = 0; r < N; r++) y[r] = tile.my_rhs[(j & tile.mask) * N + r];
    };
    T block[3][N * N], y[N];
    tile.template load<true>(s, at, 0, 0, at.m < NARROW_CHUNK<T, N> ? at.m : NARROW_CHUNK<T, N>);
    arrive<true, NARROW_CHUNK<T, N>>(tile, s, at, 0, 1);
    read(0, block, y);
    rows.template enter<2>(0, block, y);
    read(1, block, y);
    rows.template enter<1>(N, block, y);
#pragma unroll 1
    for (int j = 1; j < at.m - 1; j++) {
        T pivot_rows[kept_rows<T, N>::STRIDE];
        arrive<true, NARROW_CHUNK<T, N>>(tile, s, at, 0, j + 1);
        read(j + 1, block, y);
        rows.template enter<0>(2 * N, block, y);
        rows.eliminate(pivot_rows);
        if (at.there && s.chunks) kept.write(j, pivot_rows);
        rows.advance();
    }
    if (!at.there) return;
    T *coarse = s.coarse + at.p * 8 * N * N;
    if (s.coarse)
#pragma unroll
        for (int side = 0; side < 4; side++)
#pragma unroll
            for (int c = 0; c < N; c++)
#pragma unroll
                for (int i = 0; i < 2 * N; i++) coarse[(side * N + c) * 2 * N + i] = rows.u[i][from[side] * N + c];
    if (s.coarse_x)
#pragma unroll
        for (int i = 0; i < 2 * N; i++) s.coarse_x[at.p * 2 * N + i] = rows.u[i][5 * N];
}

} // namespace trine_block

#endif
