/* The certified one-pass solve of long systems: every warp reduces one tile to two rows and hands them to its neighbours; where
 * the tiles around it decouple it from the rest of the system, it solves its tile then and there. The system is read once, 5
 * elements a row with one right-hand side. No row is read twice: what a tile needs of its surroundings is in the neighbours' two
 * rows each, which are exact.
 *
 * The certificate. At the joint of tiles t - 1 and t, the last row of the one and the first row of the other are a system for the
 * two unknowns that meet there, in which the outside shows as two unknowns: L, the first one of tile t - 1, and H, the last one of tile t.
 * Its solution with L = H = 0 and its two spikes give for either of the two, u,
 *     u = u~ + s_L(u) L + s_H(u) H,
 * and u~ is used for u. L and H are not known, but L~ and H~ are, the same approximations at the next joints; a warp computes those
 * of four joints, a lane each, from the rows of tiles t - 2 .. t + 2. The tile is certified if for the unknowns at its two joints
 *     |s_L| |L~| + |s_H| |H~| <= eta |u~| + (smallest normal number)     and     |s_L| + |s_H| <= 1/2,    eta = eps / 8.
 * If all tiles are, every u~ is within eta / (1 - eta) of u, relatively: let x be the vector of all tiles' f and l, e = x - x~, and S
 * the matrix of the |s|. Then |e| <= S |x| <= S |x~| + S |e| <= eta |x~| + S |e|. S has row sums of at most 1/2, so that inserting
 * this into itself ends: |e| <= (eta + eta^2 + ...) |x~|, but for underflow. A large neighbour behind a small spike thus
 * counts at its size, and an unknown that is zero is so exactly. This takes A to be regular and the rows of tiles for exact;
 * their rounding errors are those of the exact path. So the ends of tiles are as the exact path gets them, rounded once more in the
 * third bit behind the last, and the rows inside follow from them as there. |.| is |re| + |im| for complex numbers, at most
 * sqrt(2) too large on the right. NaN and Inf are never certified.
 *
 * One tile that fails, or that has waited in vain, opens the gate: from then on tiles are only reduced, all are reduced in the
 * end, and the kernels that follow solve the system of these rows and substitute every tile, as if the tiles had been
 * reduced only. If the gate stays shut they leave at once. D is still needed behind an open gate: X must not be D. Tiles of 256 rows
 * (the shortest there are) with coefficients from U(-1,1) damp by e^-114 on average. */
#ifndef TRINE_RPTS_ONE_PASS_CUH
#define TRINE_RPTS_ONE_PASS_CUH

#include <cstring>

#include "tridiagonal/rpts/two_pass.cuh"

/** How often a warp asks for its neighbours' rows (about a microsecond each) before it gives up: they are on their way unless
 *  blocks start in an order that nothing forbids but no device has. */
constexpr int MOST_POLLS = 1 << 16;

/* ------------------------------------------------------- rows handed around
 * They carry their own "not ready" mark, number by number. The rows of a tile are together in memory, apart from others':
 * where several tiles' shared a line, every store to it held up the warps that asked for the others (measured: a quarter of the time). */

__device__ __forceinline__ void poll_piece(const float *p, float *v)
{
    asm volatile("ld.relaxed.gpu.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "l"(p) : "memory");
}
__device__ __forceinline__ void poll_piece(const double *p, double *v) { asm volatile("ld.relaxed.gpu.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "l"(p) : "memory"); }
__device__ __forceinline__ void publish_piece(float *p, const float *v)
{
    asm volatile("st.relaxed.gpu.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
}
__device__ __forceinline__ void publish_piece(double *p, const double *v) { asm volatile("st.relaxed.gpu.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(v[0]), "d"(v[1]) : "memory"); }

/** Elements for a row of a tile, and for both. */
template <int NR> constexpr int HANDED_ROW = (3 + NR + 3) / 4 * 4;
template <int NR> constexpr int HANDED = 2 * HANDED_ROW<NR>;

/** A row as real numbers, in pieces of 16 bytes. */
template <typename T, int NR> struct handed_row {
    using R = real_of<T>;
    static constexpr int EACH = 16 / sizeof(R), COUNT = sizeof(row_of<T, NR>) / sizeof(R), PIECES = (COUNT + EACH - 1) / EACH;
    R v[PIECES * EACH];

    __device__ __forceinline__ void publish(T *where, const row_of<T, NR> &row)
    {
        memcpy(v, &row, sizeof row);
#pragma unroll
        for (int i = 0; i < PIECES * EACH; i++) v[i] = i < COUNT ? missing_or(v[i]) : R(0);
#pragma unroll
        for (int i = 0; i < PIECES; i++) publish_piece((R *)where + i * EACH, v + i * EACH);
    }
    /** False: not all is there. */
    __device__ __forceinline__ bool poll(const T *where, row_of<T, NR> &row)
    {
        bool there = true;
#pragma unroll
        for (int i = 0; i < PIECES; i++) poll_piece((const R *)where + i * EACH, v + i * EACH);
#pragma unroll
        for (int i = 0; i < COUNT; i++) there = there & !is_missing(v[i]);
        memcpy(&row, v, sizeof row);
        return there;
    }
};

/** Where the first, or last, row of tile `number` is handed out. */
template <typename T, int NR> __device__ __forceinline__ T *handed_at(const two_pass<T> &s, int64_t number, bool last) { return s.handed + (blockIdx.y * s.tiles + number) * HANDED<NR> + (last ? HANDED_ROW<NR> : 0); }

/** Lanes 0 .. 3 get the rows that meet at the joints of tiles number - 2 .. number + 2: the last row of the tile before the joint, the
 *  first one of that behind it, of the identity where there is no such tile. False if they do not come. */
template <typename T, int NR> __device__ __forceinline__ bool collect_rows(const two_pass<T> &s, int64_t number, const rows_of<T, NR> &rows, row_of<T, NR> &before, row_of<T, NR> &behind)
{
    const int lane = threadIdx.x % WARP;
    const int64_t joint = number - 1 + lane;
    bool has_before = lane > 3 || lane == 2 || joint < 1 || joint > s.tiles, has_behind = lane > 3 || lane == 1 || joint < 0 || joint >= s.tiles;
    before = either(lane == 2, rows.last, identity_row<T, NR>()), behind = either(lane == 1, rows.first, identity_row<T, NR>());
    for (int polls = 1;; polls++) {
        handed_row<T, NR> handed;
        if (!has_before) has_before = handed.poll(handed_at<T, NR>(s, joint - 1, true), before);
        if (!has_behind) has_behind = handed.poll(handed_at<T, NR>(s, joint, false), behind);
        if (__all_sync(~0u, has_before & has_behind)) return true;
        if (polls % 8 == 0 && (polls >= MOST_POLLS || !is_missing(poll(s.gate)))) return false;
    }
}

/** A row with two more right-hand sides, the spikes. */
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR + 2> with_spikes(const row_of<T, NR> &r, T spike_low, T spike_high)
{
    row_of<T, NR + 2> s = {r.lower, r.diag, r.upper};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = r.rhs[k];
    s.rhs[NR] = spike_low, s.rhs[NR + 1] = spike_high;
    return s;
}

/** The certificate for one unknown; low, high: L~ and H~. */
template <typename T, int NR> __device__ __forceinline__ bool is_certain(const T (&u)[NR + 2], const T (&low)[NR], const T (&high)[NR])
{
    using R = real_of<T>;
    constexpr R eta = sizeof(R) == 4 ? R(FLT_EPSILON / 8) : R(DBL_EPSILON / 8), least = sizeof(R) == 4 ? R(FLT_MIN) : R(DBL_MIN);
    constexpr R underflow = sizeof(R) == 4 ? R(FLT_TRUE_MIN) : R(DBL_TRUE_MIN); /* of a spike */
    const R spike_low = size_of(u[NR]) + underflow, spike_high = size_of(u[NR + 1]) + underflow;
    bool certain = spike_low + spike_high <= R(0.5);
#pragma unroll
    for (int k = 0; k < NR; k++) certain = certain & (spike_low * size_of(low[k]) + spike_high * size_of(high[k]) <= eta * size_of(u[k]) + least);
    return certain;
}

/** The unknowns at the ends of the tile and of its neighbours; false if they are not certain. */
template <typename T, int NR> __device__ __forceinline__ bool know_ends(const two_pass<T> &s, int64_t number, const rows_of<T, NR> &rows, known_of<T, NR> &known)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> before, behind;
    if (!collect_rows(s, number, rows, before, behind)) return false;
    const known_of<T, NR + 2> u = close_system(s.p, rows_of<T, NR + 2>{with_spikes(before, T{} - before.lower, T{}), with_spikes(behind, T{}, T{} - behind.upper)});
    T low[NR], high[NR]; /* the first unknown of the tile before the joint, the last one of the tile behind it */
#pragma unroll
    for (int k = 0; k < NR; k++) low[k] = shuffle_from(u.last[k], lane - 1 & WARP - 1), high[k] = shuffle_from(u.first[k], lane + 1 & WARP - 1);
    const bool certain = is_certain<T, NR>(u.first, low, high) & is_certain<T, NR>(u.last, low, high);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.before[k] = shuffle_from(u.first[k], 1), known.first[k] = shuffle_from(u.last[k], 1);
        known.last[k] = shuffle_from(u.first[k], 2), known.after[k] = shuffle_from(u.last[k], 2);
    }
    return (__ballot_sync(~0u, certain) & 6) == 6;
}

/* ---------------------------------------------------------------------- kernels */

/** Ask for memory that will be read soon to be brought into the cache that all multiprocessors share. */
__device__ __forceinline__ void prefetch(const void *global, int bytes)
{
#if __CUDA_ARCH__ >= 900
    const int before = (int)((uintptr_t)global & 15);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((const char *)global - before), "r"((before + bytes) & ~15) : "memory");
#endif
}
/** Tile `number`, a lane an array. It is a matter of time only: the ends of the system are left out. */
template <typename T, int NR, int M> __device__ __forceinline__ void prefetch_tile(const two_pass<T> &s, int64_t number, int64_t first, int count)
{
    constexpr int ROWS = tile<T, NR, M>::ROWS;
    const int lane = threadIdx.x % WARP;
    const int64_t row = number * ROWS;
    if (row == 0 || row + ROWS >= s.A.n || lane >= 3 + count) return;
    const T *from = lane == 0 ? s.A.lower + s.A.lower_shift : lane == 1 ? s.A.diag : lane == 2 ? s.A.upper + s.A.upper_shift : s.D.data + (first + lane - 3) * s.D.ld;
    prefetch(from + row, ROWS * (int)sizeof(T));
}

/** Bytes of all ones, in pieces of 16: no row is there yet, the gate is shut. While the next kernel is on its way, its first tiles are
 *  brought into the cache. */
template <typename T, int NR, int M> __global__ void clear_rows(const __grid_constant__ two_pass<T> s, int64_t pieces, int4 *data)
{
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, threads = (int64_t)gridDim.x * blockDim.x;
    let_follower_start();
    for (int64_t number = thread / WARP; number < s.ahead / 2; number += threads / WARP) prefetch_tile<T, NR, M>(s, number, 0, s.columns_from(0, NR));
    for (int64_t i = thread; i < pieces; i += threads) data[i] = make_int4(-1, -1, -1, -1);
}

__device__ __forceinline__ void open_gate(int32_t *gate)
{
    if (threadIdx.x == 0 && is_missing(poll(gate))) publish(gate, 0); /* stored once: others are asking for it */
}

/** Does the tile hand less than a rounding error on from its one end to the other? */
template <typename T, int NR> __device__ __forceinline__ bool decays(const rows_of<T, NR> &rows)
{
    using R = real_of<T>;
    constexpr R eps = sizeof(R) == 4 ? R(FLT_EPSILON) : R(DBL_EPSILON);
    return (size_of(rows.first.upper) <= eps * size_of(rows.first.diag)) & (size_of(rows.last.lower) <= eps * size_of(rows.last.diag));
}

/** The first blocks only look at tiles all over the system, lest most of it is solved in vain where it does not decay. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>())) solve_or_reduce_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const bool probe = (int)blockIdx.x < s.probes;
    const int64_t number = probe ? (2 * blockIdx.x + 1) * s.tiles / (2 * s.probes) : (int64_t)blockIdx.x - s.probes;
    const int64_t row = number * tile::ROWS, first = blockIdx.y * (int64_t)NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    load_tile(t, s.A, s.D, row, first, count); /* the predecessor only clears workspace */
    wait_for_predecessor();
    let_follower_start();
    const bool shut = is_missing(poll(s.gate));
    wait_for_tile(t, s.A, row);
    if (probe | !shut) {
        const rows_of<T, NR> left = reduce_tile(s.p, t, s.A.n, row);
        if (!probe) keep_rows(s, number, first, count, left);
        else if (!decays(left)) open_gate(s.gate);
        return;
    }
    way_back<T, NR> back;
    known_of<T, NR> known;
    const rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back);
    if (threadIdx.x < 2) {
        handed_row<T, NR> handed;
        handed.publish(handed_at<T, NR>(s, number, threadIdx.x == 1), either(threadIdx.x == 1, rows.last, rows.first));
    }
    keep_rows(s, number, first, count, rows);
    prefetch_tile<T, NR, M>(s, number + s.ahead, first, count);
    find_joints(s.p, t, back); /* while the neighbours' rows are on their way */
    if (know_ends(s, number, rows, known)) {
        substitute_tile(t, back, known);
        store_tile(t, s.A.n, s.X, row, first, count);
    } else open_gate(s.gate);
}

/** The most warps, a tile each, of a block of substitute_behind_gate: as many as fit on a multiprocessor, since few blocks find the gate
 *  shut in less time than many. */
template <typename T, int NR, int M> constexpr int GATED_WARPS = (int)(227 * 1024 / tile<T, NR, M>::BYTES);

/** What is left to do if the gate is open: substitute_tiles, by as many warps as are on the multiprocessors at once, since most often
 *  they have nothing to do. Tiles are dealt out one by one, in order, for the sake of the cache. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP *GATED_WARPS<T, NR, M>, 1) substitute_behind_gate(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int warp = threadIdx.x / WARP, warps = (int)(gridDim.x * blockDim.x / WARP);
    const tile t = {(T *)(shared_memory + warp * tile::BYTES)};
    const int64_t all = s.tiles * ((s.nrhs + NR - 1) / NR);
    if (is_shut(s.gate)) return;
    for (int64_t i = blockIdx.x + (int64_t)warp * gridDim.x; i < all;) {
        int64_t next = 0;
        if (threadIdx.x % WARP == 0) next = warps + 1 + (int64_t)atomicAdd((unsigned long long *)s.gate + 1, 1ull); /* there when it is needed */
        substitute_one(s, t, s.tiles - 1 - i % s.tiles, i / s.tiles * NR);
        i = __shfl_sync(~0u, next, 0);
    }
}

#endif
