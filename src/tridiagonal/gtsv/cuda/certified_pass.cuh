/* The certified one-pass solve of long systems: every warp reduces one tile to two rows and hands them to its
 * neighbours; where the tiles around it decouple it from the rest of the system, it solves its tile then and there. The
 * system is read once, 5 elements a row with one right-hand side. No row is read twice: what a tile needs of its
 * surroundings is in the neighbours' two rows each, which are exact.
 *
 * The certificate. At the interface of tiles t - 1 and t, the last row of the one and the first row of the other are a
 * system for the two unknowns that meet there, in which the outside shows as two unknowns: L, the first one of tile t -
 * 1, and H, the last one of tile t. Its solution with L = H = 0 and its two spikes give for either of the two, u,
 *     u = u~ + s_L(u) L + s_H(u) H,
 * and u~ is used for u. L and H are not known, but L~ and H~ are, the same approximations at the next interfaces; a
 * warp computes those of four interfaces, a lane each, from the rows of tiles t - 2 .. t + 2. The tile is certified if
 * for the unknowns at its two interfaces
 *     |s_L| |L~| + |s_H| |H~| <= eta |u~| + (smallest normal number) and |s_L| + |s_H| <= 1/2, eta = eps / 8.
 * If all tiles are, every u~ is within eta / (1 - eta) of u, relatively: let x be the vector of all tiles' f and l, e =
 * x - x~, and S the matrix of the |s|. Then |e| <= S |x| <= S |x~| + S |e| <= eta |x~| + S |e|. S has row sums of at
 * most 1/2, so that inserting this into itself ends: |e| <= (eta + eta^2 + ...) |x~|, but for underflow. A large
 * neighbour behind a small spike thus counts at its size, and an unknown that is zero is so exactly. This takes A to be
 * regular and the rows of tiles for exact; their rounding errors are those of the exact path. So the ends of tiles are
 * as the exact path gets them, rounded once more in the third bit behind the last, and the rows inside follow from them
 * as there. |.| is |re| + |im| for complex numbers, at most sqrt(2) too large on the right. NaN and Inf are never
 * certified.
 *
 * One tile that fails, or whose wait for its neighbours ends without them, raises the fallback flag: the kernels that
 * follow solve the system of all tiles' rows, as in two passes. With that the other tiles' certificates are put to the
 * test: L and H are known now. Tiles that do not stand it, tiles that failed, and the neighbours of both, are
 * substituted as in two passes; the others stay. If nobody raises the flag these kernels leave at once. Where many
 * tiles are expected to fail, all but the first ones are reduced only.
 *
 * X may be D: nobody but its own warp needs the right-hand side of a tile, and where it is stored, X takes its place. A
 * tile that failed still has it. One that has been solved from ends x~ and gets others, x, is corrected: its inner
 * equations hold for X, so the solution of the homogeneous ones with ends x - x~ is added to it. That leaves a backward
 * error of eps (|A||X before| + |A||X after|), as good as any unless X before was large and cancels. For ends to change
 * as much as that, what was taken for L or H must have been 1 / eta times too small. In place spikes are therefore
 * counted 2^24 times: to lose digits there takes an L or H of 2^50 (in double 2^80) times its estimate, and a sum that
 * happens to vanish.
 *
 * Tiles of 256 rows (the shortest there are) with coefficients from U(-1,1) damp by e^-114 on average. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_CERTIFIED_PASS_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_CERTIFIED_PASS_CUH

#include <cstring>

#include "tridiagonal/gtsv/cuda/two_pass.cuh"

/** How often a warp asks for its neighbours' rows (about a microsecond each) before it gives up: they are on their
 *  way unless blocks start in an order that nothing forbids but no device has. */
constexpr int MOST_POLLS = 1 << 16;

/** How many times smaller spikes must be where X is stored over D. */
constexpr float IN_PLACE_TIMES = 0x1p24f;

/* ------------------------------------------------------- rows handed around
 * They carry their own "not ready" mark, number by number. The rows of a tile are together in memory, apart from
 * others': where several tiles' shared a line, every store to it held up the warps that asked for the others
 * (measured: a quarter of the time). */

__device__ __forceinline__ void poll_vector(const float *p, float *v)
{
    asm volatile("ld.relaxed.gpu.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(p)
                 : "memory");
}
__device__ __forceinline__ void poll_vector(const double *p, double *v)
{
    asm volatile("ld.relaxed.gpu.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "l"(p) : "memory");
}
__device__ __forceinline__ void publish_vector(float *p, const float *v)
{
    asm volatile("st.relaxed.gpu.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                 : "memory");
}
__device__ __forceinline__ void publish_vector(double *p, const double *v)
{
    asm volatile("st.relaxed.gpu.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(v[0]), "d"(v[1]) : "memory");
}

/** Elements for a row of a tile, and for both. */
template <int NR> constexpr int HANDED_ROW = (3 + NR + 3) / 4 * 4;
template <int NR> constexpr int HANDED = 2 * HANDED_ROW<NR>;

/** A row as real numbers, in 16-byte vectors. */
template <typename T, int NR> struct handed_row {
    using R = real_of<T>;
    static constexpr int EACH = 16 / sizeof(R), COUNT = sizeof(row_of<T, NR>) / sizeof(R),
                         VECTORS = (COUNT + EACH - 1) / EACH;
    R v[VECTORS * EACH];

    __device__ __forceinline__ void publish(T *where, const row_of<T, NR> &row)
    {
        memcpy(v, &row, sizeof row);
#pragma unroll
        for (int i = 0; i < VECTORS * EACH; i++) v[i] = i < COUNT ? missing_or(v[i]) : R(0);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) publish_vector((R *)where + i * EACH, v + i * EACH);
    }
    /** False: not all is there. */
    __device__ __forceinline__ bool poll(const T *where, row_of<T, NR> &row)
    {
        bool there = true;
#pragma unroll
        for (int i = 0; i < VECTORS; i++) poll_vector((const R *)where + i * EACH, v + i * EACH);
#pragma unroll
        for (int i = 0; i < COUNT; i++) there = there & !is_missing(v[i]);
        memcpy(&row, v, sizeof row);
        return there;
    }
};

/** Where the first, or last, row of tile `number` is handed out. */
template <typename T, int NR> __device__ __forceinline__ T *handed_at(const two_pass<T> &s, int64_t number,
                                                                      int64_t first, bool last)
{
    return s.handed + (first / NR * s.tiles + number) * HANDED<NR> + (last ? HANDED_ROW<NR> : 0);
}

template <typename T, int NR> __device__ __forceinline__ void hand_out(const two_pass<T> &s, int64_t number,
                                                                       int64_t first, const rows_of<T, NR> &rows)
{
    if (threadIdx.x >= 2) return;
    handed_row<T, NR> handed;
    handed.publish(handed_at<T, NR>(s, number, first, threadIdx.x == 1),
                   either(threadIdx.x == 1, rows.last, rows.first));
}

/** Lanes 0 .. 3 get the rows that meet at the interfaces of tiles number - 2 .. number + 2: the last row of the tile
 *  before the interface, the first one of that behind it, of the identity where there is no such tile. `rows` are
 *  those of the tile itself, or NULL if they are to be collected too. False if they do not come. */
template <typename T, int NR>
__device__ __forceinline__ bool collect_rows(const two_pass<T> &s, int64_t number, int64_t first,
                                             const rows_of<T, NR> *rows, row_of<T, NR> &before, row_of<T, NR> &behind)
{
    const int lane = threadIdx.x % WARP;
    const int64_t interface = number - 1 + lane;
    bool has_before = lane > 3 || interface < 1 || interface > s.tiles,
         has_behind = lane > 3 || interface < 0 || interface >= s.tiles;
    before = behind = identity_row<T, NR>();
    if (rows) {
        before = either(lane == 2, rows->last, before), behind = either(lane == 1, rows->first, behind);
        has_before = has_before || lane == 2, has_behind = has_behind || lane == 1;
    }
    for (int polls = 0; polls < MOST_POLLS; polls++) {
        handed_row<T, NR> handed;
        if (!has_before) has_before = handed.poll(handed_at<T, NR>(s, interface - 1, first, true), before);
        if (!has_behind) has_behind = handed.poll(handed_at<T, NR>(s, interface, first, false), behind);
        if (__all_sync(~0u, has_before & has_behind)) return true;
    }
    return false;
}

/** A row with two more right-hand sides, the spikes. */
template <typename T, int NR> __device__ __forceinline__ row_of<T, NR + 2> with_spikes(const row_of<T, NR> &r,
                                                                                       T spike_low, T spike_high)
{
    row_of<T, NR + 2> s = {r.lower, r.diag, r.upper};
#pragma unroll
    for (int k = 0; k < NR; k++) s.rhs[k] = r.rhs[k];
    s.rhs[NR] = spike_low, s.rhs[NR + 1] = spike_high;
    return s;
}

/** Is X stored over D? */
template <typename T> __device__ __forceinline__ bool is_in_place(const two_pass<T> &s) { return s.X.data == s.D.data; }

/** The certificate for one unknown; low, high: L~ and H~; spikes count `times` their size. */
template <typename T, int NR> __device__ __forceinline__ bool is_certain(const T (&u)[NR + 2], const T (&low)[NR],
                                                                         const T (&high)[NR], real_of<T> times)
{
    using R = real_of<T>;
    constexpr R eta = sizeof(R) == 4 ? R(FLT_EPSILON / 8) : R(DBL_EPSILON / 8),
                least = sizeof(R) == 4 ? R(FLT_MIN) : R(DBL_MIN);
    constexpr R underflow = sizeof(R) == 4 ? R(FLT_TRUE_MIN) : R(DBL_TRUE_MIN); /* of a spike */
    const R spike_low = times * size_of(u[NR]) + underflow, spike_high = times * size_of(u[NR + 1]) + underflow;
    bool certain = spike_low + spike_high <= R(0.5);
#pragma unroll
    for (int k = 0; k < NR; k++)
        certain =
            certain & (spike_low * size_of(low[k]) + spike_high * size_of(high[k]) <= eta * size_of(u[k]) + least);
    return certain;
}

/** What meets at the lane's interface: u~ and the spikes. */
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR + 2>
close_interface(const two_pass<T> &s, const row_of<T, NR> &before, const row_of<T, NR> &behind)
{
    return close_system(s.p, rows_of<T, NR + 2>{with_spikes(before, T{} - before.lower, T{}),
                                                with_spikes(behind, T{}, T{} - behind.upper)});
}

/** The unknowns at the ends of the tile and of its neighbours; false if they are not certain. */
template <typename T, int NR> __device__ __forceinline__ bool
know_ends(const two_pass<T> &s, int64_t number, int64_t first, const rows_of<T, NR> &rows, known_of<T, NR> &known)
{
    const int lane = threadIdx.x % WARP;
    row_of<T, NR> before, behind;
    if (!collect_rows(s, number, first, &rows, before, behind)) return false;
    const known_of<T, NR + 2> u = close_interface(s, before, behind);
    T low[NR], high[NR]; /* the first unknown of the tile before the interface, the last one of the tile behind it */
#pragma unroll
    for (int k = 0; k < NR; k++)
        low[k] = shuffle_from(u.last[k], lane - 1 & WARP - 1), high[k] = shuffle_from(u.first[k], lane + 1 & WARP - 1);
    const real_of<T> times = is_in_place(s) ? IN_PLACE_TIMES : 1;
    const bool certain = is_certain<T, NR>(u.first, low, high, times) & is_certain<T, NR>(u.last, low, high, times);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.before[k] = shuffle_from(u.first[k], 1), known.first[k] = shuffle_from(u.last[k], 1);
        known.last[k] = shuffle_from(u.first[k], 2), known.after[k] = shuffle_from(u.last[k], 2);
    }
    return (__ballot_sync(~0u, certain) & 6) == 6;
}

/** The ends from which a tile has been solved; missing if it has not been. */
template <typename T, int NR> __device__ __forceinline__ known_of<T, NR> &used_at(const two_pass<T> &s, int64_t number,
                                                                                  int64_t first)
{
    return ((known_of<T, NR> *)s.used)[first / NR * s.tiles + number];
}

/** The certificates of tiles number - 1, number and number + 1 (bits 0, 1, 2) with the exact L and H in place of L~
 *  and H~; of tiles that have not been solved they do not hold, of tiles outside the system they do. */
template <typename T, int NR> __device__ __forceinline__ unsigned judge_tiles(const two_pass<T> &s, int64_t number,
                                                                              int64_t first, int count)
{
    const int lane = threadIdx.x % WARP;
    const int64_t interface = number - 1 + lane;
    row_of<T, NR> before, behind;
    if (!collect_rows<T, NR>(s, number, first, nullptr, before, behind)) return 0;
    const known_of<T, NR + 2> u = close_interface(s, before, behind);
    T low[NR], high[NR];
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T *x = s.coarse.data + (first + k) * s.coarse.ld;
        low[k] = k < count && lane < 4 && interface >= 1 && interface <= s.tiles ? x[2 * interface - 2] : T{};
        high[k] = k < count && lane < 4 && interface >= 0 && interface < s.tiles ? x[2 * interface + 1] : T{};
    }
    const unsigned certain =
        __ballot_sync(~0u, is_certain<T, NR>(u.first, low, high, 1) & is_certain<T, NR>(u.last, low, high, 1));
    const bool solved =
        lane > 2 || interface < 0 || interface >= s.tiles || !is_missing(used_at<T, NR>(s, interface, first).before[0]);
    return certain & certain >> 1 & __ballot_sync(~0u, solved) & 7;
}

/* ---------------------------------------------------------------------- kernels */

/** Ask for memory that will be read soon to be brought into the cache that all multiprocessors share. */
__device__ __forceinline__ void prefetch(const void *global, int bytes)
{
#if __CUDA_ARCH__ >= 900
    const int before = (int)((uintptr_t)global & 15);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((const char *)global - before),
                 "r"((before + bytes) & ~15)
                 : "memory");
#endif
}
/** Tile `number`, a lane an array. It is a matter of time only: the ends of the system are left out. */
template <typename T, int NR, int M> __device__ __forceinline__ void prefetch_tile(const two_pass<T> &s, int64_t number,
                                                                                   int64_t first, int count)
{
    constexpr int ROWS = tile<T, NR, M>::ROWS;
    const int lane = threadIdx.x % WARP;
    const int64_t row = number * ROWS;
    if (row == 0 || row + ROWS >= s.A.n || lane >= 3 + count) return;
    const T *from = lane == 0   ? s.A.lower + s.A.lower_shift
                    : lane == 1 ? s.A.diag
                    : lane == 2 ? s.A.upper + s.A.upper_shift
                                : s.D.data + (first + lane - 3) * s.D.ld;
    prefetch(from + row, ROWS * (int)sizeof(T));
}

/** Does the tile hand less than a rounding error on from its one end to the other? */
template <typename T, int NR> __device__ __forceinline__ bool decays(const rows_of<T, NR> &rows)
{
    using R = real_of<T>;
    constexpr R eps = sizeof(R) == 4 ? R(FLT_EPSILON) : R(DBL_EPSILON);
    return (size_of(rows.first.upper) <= eps * size_of(rows.first.diag)) &
           (size_of(rows.last.lower) <= eps * size_of(rows.last.diag));
}

/** The most tiles that are looked at beforehand: the samples. */
constexpr int MOST_SAMPLES = 32;

/** Bytes of all ones, in 16-byte vectors: no row is there yet, no tile is solved or looked at, the fallback flag is
 *  not raised. While the next kernel is on its way, its first tiles are brought into the cache. */
template <typename T, int NR, int M> __global__ void clear_rows(const __grid_constant__ two_pass<T> s, int64_t vectors,
                                                                int4 *data)
{
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, threads = (int64_t)gridDim.x * blockDim.x;
    let_follower_start();
    for (int64_t number = thread / WARP; number < s.ahead / 2; number += threads / WARP)
        prefetch_tile<T, NR, M>(s, number, 0, s.columns_from(0, NR));
    for (int64_t i = thread; i < vectors; i += threads) data[i] = make_int4(-1, -1, -1, -1);
}

/** Is it worth while to try one pass? Not if more than an eighth of the samples say no. The answer is the same
 *  whoever asks, so that a system comes out the same each time. */
template <typename T> __device__ __forceinline__ bool is_worth_trying(const two_pass<T> &s)
{
    const int lane = threadIdx.x % WARP;
    int32_t failed = 0;
    if (lane < s.samples)
        for (int polls = 0; polls < MOST_POLLS && is_missing(failed = poll(s.verdicts + lane)); polls++) {}
    return __popc(__ballot_sync(~0u, failed > 0)) <= s.samples / 8;
}

/** Does the tile start together with the samples? */
template <typename T> __device__ __forceinline__ bool is_eager(const two_pass<T> &s, int64_t number, int64_t first)
{
    return number < s.eager && first == 0;
}

__device__ __forceinline__ void raise_fallback(int32_t *fallback)
{
    if (threadIdx.x == 0) publish(fallback, 0);
}

/** A tile that reduce_tile has lost to the coarse system and to its neighbours. */
template <typename T, int NR, int M> __device__ __noinline__ void reduce_lost(const two_pass<T> &s, int64_t number,
                                                                              int64_t first, int count)
{
    hand_out(s, number, first,
             keep_carefully(s, number, first, count,
                            reduce_carefully<T, NR>(s.A, s.D, rows_of_lane<T, NR, M>(s, number, first, count))));
}
/** One pass for a tile that eliminate_tile has lost. */
template <typename T, int NR, int M> __device__ __noinline__ void
solve_lost(const two_pass<T> &s, const tile<T, NR, M> t, int64_t number, int64_t first, substitution_of<T, NR> back)
{
    const int count = s.columns_from(first, NR);
    const lane_range<T> range = rows_of_lane<T, NR, M>(s, number, first, count);
    careful_lane<T, NR, M> kept;
    known_of<T, NR> known;
    const rows_of<T, NR> rows =
        keep_carefully(s, number, first, count, join_tile_carefully(s, range, false, kept, back));
    hand_out(s, number, first, rows);
    prefetch_tile<T, NR, M>(s, number + s.ahead, first, count);
    if (know_ends(s, number, first, rows, known)) { /* never of wide rows, nor beside them */
        if (threadIdx.x == 0) used_at<T, NR>(s, number, first) = known;
        substitute_tile_carefully<T, NR, M>(s, t, range, back, known, kept);
        store_tile(t, s.A.n, s.X, number * tile<T, NR, M>::ROWS, first, count);
    } else raise_fallback(s.fallback);
}

/** The first blocks only look at tiles all over the system, so that where it does not decay few tiles are speculated
 *  on and fail. Tiles that start together with them do not wait for what they find. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP, (resident_tiles<T, NR, M>()))
    solve_or_reduce_tiles(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const tile t = {(T *)shared_memory};
    const bool is_sample = (int)blockIdx.x < s.samples;
    const int64_t number =
        is_sample ? (2 * blockIdx.x + 1) * s.tiles / (2 * s.samples) : (int64_t)blockIdx.x - s.samples;
    const int64_t row = number * tile::ROWS, first = blockIdx.y * (int64_t)NR;
    const int count = s.columns_from(first, NR);
    if (is_sample && first > 0) return;
    load_tile(t, s.A, s.D, row, first, count); /* the predecessor only clears workspace */
    wait_for_predecessor();
    let_follower_start();
    const bool worth_trying = is_sample || is_eager(s, number, first) || is_worth_trying(s);
    wait_for_tile(t, s.A, row);
    bool lost;
    if (is_sample | !worth_trying) {
        const rows_of<T, NR> left = reduce_tile(s.p, t, s.A.n, row, &lost);
        if (!is_sample) {
            if (__builtin_expect(lost, 0)) reduce_lost<T, NR, M>(s, number, first, count);
            else keep_rows(s, number, first, count, left), hand_out(s, number, first, left);
            if (number == s.tiles - 1) raise_fallback(s.fallback);
        } else if (threadIdx.x == 0) publish(s.verdicts + blockIdx.x, !lost && decays(left) ? 0 : 1);
        return;
    }
    substitution_of<T, NR> back;
    known_of<T, NR> known;
    const rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back, &lost);
    if (__builtin_expect(lost, 0)) return solve_lost<T, NR, M>(s, t, number, first, back);
    hand_out(s, number, first, rows);
    keep_rows(s, number, first, count, rows);
    prefetch_tile<T, NR, M>(s, number + s.ahead, first, count);
    find_interfaces(s.p, t, back); /* while the neighbours' rows are on their way */
    if (know_ends(s, number, first, rows, known)) { /* never beside wide rows */
        if (threadIdx.x == 0) used_at<T, NR>(s, number, first) = known;
        substitute_tile<T, NR, M>(s, t, row, first, count, back, known);
        store_tile(t, s.A.n, s.X, row, first, count);
    } else raise_fallback(s.fallback);
}

/** The ends at either side again those from which the tile has been solved? */
template <typename T, int NR> __device__ __forceinline__ void
keep_ends(known_of<T, NR> &known, const known_of<T, NR> &used, bool low, bool high)
{
#pragma unroll
    for (int k = 0; k < NR; k++) {
        if (low) known.before[k] = used.before[k], known.first[k] = used.first[k];
        if (high) known.last[k] = used.last[k], known.after[k] = used.after[k];
    }
}

/** The most warps, a tile each, of a block of substitute_uncertified: as many as fit on a multiprocessor, since few
 *  blocks find that nobody has raised the fallback flag in less time than many. */
template <typename T, int NR, int M> constexpr int FALLBACK_WARPS = (int)(227 * 1024 / tile<T, NR, M>::BYTES);

/** What is left to do if the fallback flag is raised: substitute_tiles, by as many warps as are on the
 *  multiprocessors at once, since most often they have nothing to do. Tiles are dealt out one by one, in order, for
 *  the sake of the cache. A tile stays as it is if its own certificate and those of its neighbours hold. If only its
 *  own one does, it gets the exact ends where it meets a tile without; the ends where it meets the other one, which
 *  has been solved with the same, stay: they differ by rounding errors, which may be large, and would not fit
 *  together. Those of the tile's own two ends need not fit, since nothing is handed on from the one to the other. */
template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP *FALLBACK_WARPS<T, NR, M>, 1)
    substitute_uncertified(const __grid_constant__ two_pass<T> s)
{
    using tile = tile<T, NR, M>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int warp = threadIdx.x / WARP, warps = (int)(gridDim.x * blockDim.x / WARP);
    const tile t = {(T *)(shared_memory + warp * tile::BYTES)};
    const int64_t all = s.tiles * ((s.nrhs + NR - 1) / NR);
    if (is_not_needed(s.fallback)) return;
    const bool worth_trying = is_worth_trying(s);
    for (int64_t i = blockIdx.x + (int64_t)warp * gridDim.x; i < all;) {
        int64_t next = 0;
        /* there when it is needed */
        if (threadIdx.x % WARP == 0) next = warps + 1 + (int64_t)atomicAdd((unsigned long long *)s.fallback + 1, 1ull);
        const int64_t number = s.tiles - 1 - i % s.tiles, first = i / s.tiles * NR;
        const int count = s.columns_from(first, NR);
        const known_of<T, NR> *used = nullptr;
        unsigned valid = 0;
        if (worth_trying || is_eager(s, number, first)) {
            wait_for_predecessor(); /* the tile may be on its way to X until then */
            used = &used_at<T, NR>(s, number, first);
            if (is_missing(used->before[0])) used = nullptr;
            else valid = judge_tiles<T, NR>(s, number, first, count);
        }
        if (valid != 7)
            substitute_one(s, t, number, first, used && is_in_place(s), [=](known_of<T, NR> &known) {
                if (valid & 2) keep_ends(known, *used, valid & 1, valid & 4);
                if (used && is_in_place(s)) known = difference(known, *used);
            });
        i = __shfl_sync(~0u, next, 0);
    }
}

#endif
