/* The certified one-pass solve of long systems: every warp reduces one tile to two rows and hands them to its neighbours; where
 * the tiles around it decouple it from the rest of the system, it solves its tile then and there. The system is read once, 5
 * elements a row with one right-hand side. No row is read twice: what a tile needs of its surroundings is in the neighbours' two
 * rows each, which are exact.
 *
 * The certificate. Let tile t have the unknowns f (first) and l (last). The rows of tiles t - R .. t + R are a system for the ends
 * of these tiles, in which the outside shows as two unknowns: L, the last one of tile t - R - 1, and H, the first one of tile
 * t + R + 1. Its solution with L = H = 0 and its two spikes give for u = f, l
 *     u = u~ + s_L(u) L + s_H(u) H,
 * and u~ is used for u. L and H are not known, but L~ and H~ are, the same approximations in their own tiles; a warp computes all
 * of them, a tile a lane, from the rows of tiles t - 2R - 1 .. t + 2R + 1. The tile is certified if for its two unknowns
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
 * reduced only. If the gate stays shut they leave at once. D is still needed then: X must not be D. */
#ifndef TRINE_RPTS_ONE_PASS_CUH
#define TRINE_RPTS_ONE_PASS_CUH

#include <cstring>

#include "tridiagonal/rpts/two_pass.cuh"

/** R above: of small tiles, several. 512 rows with coefficients from U(-1,1) damp by e^-228 on average, by e^-135 at least in
 *  20 000 tries. */
template <typename T, int NR, int M> constexpr int REACH = tile<T, NR, M>::ROWS >= 512 ? 1 : 512 / tile<T, NR, M>::ROWS;

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

/** Elements for the rows of a tile. */
template <int NR> constexpr int HANDED = (2 * (3 + NR) + 3) / 4 * 4;

/** The rows of a tile as real numbers, in pieces of 16 bytes. */
template <typename T, int NR> struct handed_rows {
    using R = real_of<T>;
    static constexpr int EACH = 16 / sizeof(R), COUNT = sizeof(rows_of<T, NR>) / sizeof(R), PIECES = (COUNT + EACH - 1) / EACH;
    R v[PIECES * EACH];

    __device__ __forceinline__ void publish(T *where, const rows_of<T, NR> &rows)
    {
        memcpy(v, &rows, sizeof rows);
#pragma unroll
        for (int i = 0; i < PIECES * EACH; i++) v[i] = i < COUNT ? missing_or(v[i]) : R(0);
#pragma unroll
        for (int i = 0; i < PIECES; i++) publish_piece((R *)where + i * EACH, v + i * EACH);
    }
    /** False: not all are there. */
    __device__ __forceinline__ bool poll(const T *where, rows_of<T, NR> &rows)
    {
        bool there = true;
#pragma unroll
        for (int i = 0; i < PIECES; i++) poll_piece((const R *)where + i * EACH, v + i * EACH);
#pragma unroll
        for (int i = 0; i < COUNT; i++) there = there & !is_missing(v[i]);
        memcpy(&rows, v, sizeof rows);
        return there;
    }
};

/** Where the rows of tile `number` are handed out. */
template <int NR, typename T> __device__ __forceinline__ T *handed_at(const two_pass<T> &s, int64_t number) { return s.handed + (blockIdx.y * s.tiles + number) * HANDED<NR>; }

/** Lane i gets the rows of tile `number` + i - OWN, of the identity where there is no such tile; lane OWN has its own. False if they do not come. */
template <int OWN, typename T, int NR> __device__ __forceinline__ bool collect_rows(const two_pass<T> &s, int64_t number, rows_of<T, NR> &rows)
{
    const int lane = threadIdx.x % WARP;
    const int64_t wanted = number + lane - OWN;
    bool there = lane == OWN;
    if (!there && (wanted < 0 || wanted >= s.tiles || lane > 2 * OWN)) rows = {identity_row<T, NR>(), identity_row<T, NR>()}, there = true;
    for (int polls = 1;; polls++) {
        handed_rows<T, NR> handed;
        if (!there) there = handed.poll(handed_at<NR>(s, wanted), rows);
        if (__all_sync(~0u, there)) return true;
        if (polls % 8 == 0 && (polls >= MOST_POLLS || !is_missing(poll(s.gate)))) return false;
    }
}

/* -------------------------------------------------------------------- a window */

/** A row with two more right-hand sides, the spikes. */
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR + 2> with_spikes(const row_of<T, NR> &r, T spike_low, T spike_high)
{
    row_of<T, NR + 2> s = {r.lower, r.diag, r.upper};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = r.rhs[k];
    s.rhs[NR] = spike_low, s.rhs[NR + 1] = spike_high;
    return s;
}

/** The unknowns at the ends of each lane's tile, from the rows of the R lanes on either side, with the spikes; of use in lanes
 *  R .. 31 - R. */
template <int R, typename T, int NR> __device__ __forceinline__ known_of<T, NR + 2> solve_window(pivoting p, const rows_of<T, NR> &rows)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> low, high; /* carried towards the tile from either side */
#pragma unroll
    for (int k = R; k >= 1; k--) {
        const row_of<T, NR> next_low = shuffle_from(rows.first, lane - k & WARP - 1), next_high = reversed(shuffle_from(rows.last, lane + k & WARP - 1));
        if (k == R) low = next_low, high = next_high;
        else eliminate<true>(low, next_low), eliminate<true>(high, next_high);
        eliminate<true>(low, shuffle_from(rows.last, lane - k & WARP - 1));
        eliminate<true>(high, reversed(shuffle_from(rows.first, lane + k & WARP - 1)));
    }
    eliminate<true>(low, rows.first), eliminate<true>(high, reversed(rows.last));
    return close_system(p, rows_of<T, NR + 2>{with_spikes(low, T{} - low.lower, T{}), with_spikes(reversed(high), T{}, T{} - high.lower)});
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
template <typename T, int NR, int M> __device__ __forceinline__ bool know_ends(const two_pass<T> &s, int64_t number, rows_of<T, NR> rows, known_of<T, NR> &known)
{
    constexpr int R = REACH<T, NR, M>, OWN = 2 * R + 1;
    static_assert(2 * OWN < WARP, "");
    if (!collect_rows<OWN>(s, number, rows)) return false;
    const known_of<T, NR + 2> window = solve_window<R>(s.p, rows);
    T low[NR], high[NR];
#pragma unroll
    for (int k = 0; k < NR; k++) low[k] = shuffle_from(window.last[k], OWN - R - 1), high[k] = shuffle_from(window.first[k], OWN + R + 1);
    const bool certain = is_certain<T, NR>(window.first, low, high) & is_certain<T, NR>(window.last, low, high);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.before[k] = shuffle_from(window.last[k], OWN - 1), known.first[k] = shuffle_from(window.first[k], OWN);
        known.last[k] = shuffle_from(window.last[k], OWN), known.after[k] = shuffle_from(window.first[k], OWN + 1);
    }
    return __shfl_sync(~0u, certain, OWN);
}

/* ---------------------------------------------------------------------- kernels */

/** Bytes of all ones, in pieces of 16: no row is there yet, the gate is shut. */
static __global__ void clear_rows(int64_t pieces, int4 *data)
{
    let_follower_start();
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < pieces; i += (int64_t)gridDim.x * blockDim.x) data[i] = make_int4(-1, -1, -1, -1);
}

template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>())) solve_or_reduce_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const int64_t number = blockIdx.x, row = number * tile::ROWS, first = blockIdx.y * (int64_t)NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    load_tile(t, s.A, s.D, row, first, count); /* the predecessor only clears workspace */
    wait_for_predecessor();
    let_follower_start();
    const bool shut = is_missing(poll(s.gate));
    wait_for_tile(t, s.A, row);
    if (!shut) {
        keep_rows(s, number, first, count, reduce_tile(s.p, t, s.A.n, row));
        return;
    }
    way_back<T, NR> back;
    known_of<T, NR> known;
    const rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back);
    handed_rows<T, NR> handed;
    if (threadIdx.x == 0) handed.publish(handed_at<NR>(s, number), rows);
    keep_rows(s, number, first, count, rows);
    if (know_ends<T, NR, M>(s, number, rows, known)) {
        substitute_tile(t, back, known);
        store_tile(t, s.A.n, s.X, row, first, count);
    } else if (threadIdx.x == 0 && is_missing(poll(s.gate))) publish(s.gate, 0);
}

/** What is left to do if the gate is open: substitute_tiles with fewer blocks, since most often they have nothing to do. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>())) substitute_behind_gate(const __grid_constant__ two_pass<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile<T, NR, M> t = {(T *)shared_memory};
    if (is_shut(s.gate)) return;
    for (int64_t number = s.tiles - 1 - blockIdx.x; number >= 0; number -= gridDim.x) substitute_one(s, t, number);
}

#endif
