/* The supernodal solve on the GPU with one right-hand side: one launch, no barrier between levels.
 *
 * With the partitioned inverse a panel is one matrix P = [L_ss^-1; L_off L_ss^-1] and the whole work on it one product:
 *     forward:   x_s := P_top t_s,  t_rows -= P_bottom t_s       (push: atomic additions)
 *     backward:  x_s := P^T [t_s; -x_rows]                       (pull: a fixed order of summation)
 * where t starts as the right-hand side. Without it the diagonal block and the rest have tiles of their own
 * (schedule.h). Panels are cut into tiles of some tens of kilobytes, so that the few wide panels at the top of the tree
 * occupy all multiprocessors as well as the many small ones at its leaves. Blocks take tiles by an atomic ticket in an
 * order in which nothing waits for a later tile: progress depends on no scheduling order. A tile asks for its first
 * panel values before it waits.
 *
 * Forward, a tile waits until a counter is full: that its panel's children are done. Counters only grow; how often they
 * have been filled is kept beside them in device memory, so that nothing is reset between solves and a captured graph
 * can be replayed. Backward, values say themselves that they are there: entries of x, and of t where several tiles need
 * them, start as "missing" (gpu_scalar.cuh), which saves a fence and a round trip through memory a level. The vectors
 * of odd and even solves are different ones, and a solve makes the next one's ready: t zero (forward: it takes the
 * products' results only, a panel of one tile reads its right-hand side itself), t and x missing (backward).
 * After Yamazaki, Rajamanickam, Ellingwood (2020), Sections 4 and 5.1 ("invert-off"). */
#include "supernodal/cuda/device.cuh"

namespace {

constexpr int THREADS = SUPERNODAL_BLOCK_THREADS;
constexpr int PER_MULTIPROCESSOR = 3; /* blocks, by registers */
constexpr int COLUMNS = 4; /* columns of a thread in the backward solve */

/** This solve's. */
template <typename T> struct vectors { T *t, *x; };

template <typename T> __device__ inline void store_solution(const solve_args<T> &a, int64_t i, T x)
{
    store_at(a, a.original[i], 0, x);
}

/* A tile is one function, here and backward, though long: the panel values asked for before the wait (v), the sums
 * and the rows' places stay in registers from its first step to its last, under a bound of PER_MULTIPROCESSOR
 * blocks. Arrays that steps hand on by address are in registers only as long as the compiler inlines and unrolls all
 * of them. */

/** Rows of a panel times t_s (TILE_BOTTOM: x_s). Thread (group, lane): rows begin + lane * PACK .., columns group,
 *  group + groups, ... */
template <typename T, int GROUP, int ROOM>
__device__ void forward_tile(const solve_args<T> &a, const vectors<T> &vectors, const supernodal_tile &tile, int thread,
                             T *shared)
{
    constexpr int PACK = 16 / sizeof(T), BATCH = 8;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const int row = tile.begin + lane * PACK, columns = min(tile.width, tile.end); /* nothing above the diagonal */
    const bool active = row < tile.end, bottom = tile.kind == TILE_BOTTOM;
    const T *P = a.values + tile.values + row;

    pack<T> v[BATCH];
    auto load = [&](int c) {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (active && c + u * groups < columns) v[u] = load_pack(P + (int64_t)(c + u * groups) * tile.ld);
    };
    load(group);
    int32_t place[PACK]; /* where the results of row + q, or begin + thread + q GROUP, go */
    auto result_row = [&](int q) { return GROUP == 32 ? row + q : tile.begin + thread + q * GROUP; };
#pragma unroll
    for (int q = 0; q < PACK; q++) {
        const int r = result_row(q);
        place[q] = r >= tile.end || (GROUP == 32 && group) ? 0
                   : r < tile.width                        ? a.original[tile.first + r]
                                                           : a.rows[tile.rows + r];
    }
    for (int c = group + BATCH * groups; c < columns; c += groups) /* what does not fit into registers */
        if (active && lane % 2 == 0) prefetch(P + (int64_t)c * tile.ld);
    for (int i = thread; i < min(columns, ROOM); i += GROUP)
        shared[i] = tile.direct ? right_hand_side(a, (int64_t)tile.first + i, 0) : zero_of<T>();
    wait_for<GROUP>(a, tile, 0, thread);

    T sum[PACK];
#pragma unroll
    for (int q = 0; q < PACK; q++) sum[q] = zero_of<T>();
    const T *source = (bottom ? vectors.x : vectors.t) + tile.first;
    for (int begin = 0; begin < columns; begin += ROOM) {
        const int end = min(columns, begin + ROOM);
        if (begin) meet<GROUP>();
        for (int i = thread; i < end - begin; i += GROUP) {
            T value = begin == 0    ? shared[i]
                      : tile.direct ? right_hand_side(a, (int64_t)tile.first + begin + i, 0)
                                    : zero_of<T>();
            if (tile.wait >= 0) value = value + load_shared_result(source + begin + i);
            shared[i] = value;
        }
        meet<GROUP>();
        for (int c = begin + group; c < end; c += BATCH * groups) {
            if (c != group) load(c);
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                const int column = c + u * groups;
                if (active && column < end) {
                    const T factor = shared[column - begin];
#pragma unroll
                    for (int q = 0; q < PACK; q++) multiply_add(sum[q], v[u].e[q], factor);
                }
            }
        }
    }

    auto emit = [&](int q, T value) {
        const int r = result_row(q);
        if (r >= tile.width) {
            update<1>(a, vectors.t, 0, place[q], tile.rows + r, 0, value);
        } else if (!bottom) {
            store_at(a, place[q], 0, value);
            if (tile.kind == TILE_TOP) vectors.x[(int64_t)tile.first + r] = value;
        }
    };
    for (int mask = lanes; mask < 32; mask *= 2)
#pragma unroll
        for (int q = 0; q < PACK; q++) sum[q] = sum[q] + shuffle_xor(sum[q], mask);
    if constexpr (GROUP == 32) {
        if (group == 0)
#pragma unroll
            for (int q = 0; q < PACK; q++)
                if (row + q < tile.end) emit(q, sum[q]);
    } else {
        const int parts = lanes >= 32 ? groups : GROUP / 32, part = lanes >= 32 ? group : thread / 32,
                  rows = lanes * PACK;
        meet<GROUP>();
        if (lanes >= 32 || thread % 32 < lanes)
#pragma unroll
            for (int q = 0; q < PACK; q++) shared[part * rows + lane * PACK + q] = sum[q];
        meet<GROUP>();
#pragma unroll
        for (int q = 0; q < PACK; q++) {
            const int i = thread + q * GROUP;
            if (i >= tile.end - tile.begin) break;
            T value = shared[i];
            for (int k = 1; k < parts; k++) value = value + shared[k * rows + i];
            emit(q, value);
        }
    }
    signal_done<GROUP>(a, tile.signal, 0, thread);
}

/** shared[r - begin] := entry r of [t_s; -x_rows], as soon as it is there; zero where the tile's kind has no
 *  business. */
template <typename T, int GROUP>
__device__ inline void gather_rows(const solve_args<T> &a, const vectors<T> &vectors, const supernodal_tile &tile,
                                   int thread, int begin, int end, T *shared)
{
    constexpr int EACH = 4;
    const int lowest = tile.kind == TILE_BOTTOM ? tile.width : 0,
              highest = tile.kind == TILE_TOP ? tile.width : tile.height;
    for (int first = begin + thread; first < end; first += EACH * GROUP) {
        const T *from[EACH];
        T value[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int r = first + k * GROUP;
            from[k] = nullptr;
            value[k] = zero_of<T>();
            if (r >= end || r < lowest || r >= highest) continue;
            if (r >= tile.width) from[k] = vectors.x + a.rows[tile.rows + r];
            else if (tile.direct) value[k] = right_hand_side(a, (int64_t)tile.first + r, 0);
            else from[k] = vectors.t + tile.first + r;
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (from[k]) value[k] = poll(from[k]);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int r = first + k * GROUP;
            while (from[k] && is_missing(value[k])) value[k] = poll(from[k]);
            if (r < end) shared[r - begin] = r < tile.width ? value[k] : zero_of<T>() - value[k];
        }
    }
}

/** Columns of a panel times [t_s; -x_rows]. Thread (group, lane): COLUMNS columns from begin + COLUMNS * group, then
 *  every COLUMNS * groups further; rows lane * PACK .., every lanes * PACK. */
template <typename T, int GROUP, int ROOM>
__device__ void backward_tile(const solve_args<T> &a, const vectors<T> &vectors, const supernodal_tile &tile,
                              int thread, T *shared)
{
    constexpr int PACK = 16 / sizeof(T), AHEAD = 2;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const bool bottom = tile.kind == TILE_BOTTOM;
    const int top = (bottom ? tile.width : tile.begin) / PACK * PACK; /* zeros above the diagonal */
    const int rows_end = ((tile.kind == TILE_TOP ? tile.width : tile.height) + PACK - 1) / PACK * PACK;
    const T *P = a.values + tile.values;

    pack<T> v[AHEAD][COLUMNS];
    auto load = [&](int u, int first_column, int row) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (row < rows_end && first_column + c < tile.end)
                v[u][c] = load_pack(P + (int64_t)(first_column + c) * tile.ld + row);
    };
#pragma unroll
    for (int u = 0; u < AHEAD; u++) load(u, tile.begin + COLUMNS * group, top + (lane + u * lanes) * PACK);
    for (int row = top + (lane + AHEAD * lanes) * PACK; row < rows_end; row += lanes * PACK)
        for (int c = tile.begin + COLUMNS * group; c < min(tile.end, tile.begin + COLUMNS * (group + 1)); c++)
            if (lane % 2 == 0) prefetch(P + (int64_t)c * tile.ld + row);

    for (int pass = tile.begin; pass < tile.end; pass += COLUMNS * groups) {
        const int first_column = pass + COLUMNS * group;
        T sum[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) sum[c] = zero_of<T>();
        for (int begin = top; begin < rows_end; begin += ROOM) {
            const int end = min(rows_end, begin + ROOM);
            if (pass == tile.begin || rows_end - top > ROOM) { /* else what the first pass gathered is still there */
                meet<GROUP>();
                gather_rows<T, GROUP>(a, vectors, tile, thread, begin, end, shared);
                meet<GROUP>();
            }
            for (int r = begin + lane * PACK; r < end; r += AHEAD * lanes * PACK) {
                if (pass != tile.begin || r != top + lane * PACK)
#pragma unroll
                    for (int u = 0; u < AHEAD; u++) load(u, first_column, r + u * lanes * PACK);
#pragma unroll
                for (int u = 0; u < AHEAD; u++) {
                    const int row = r + u * lanes * PACK;
                    if (row < end) {
#pragma unroll
                        for (int q = 0; q < PACK; q++) {
                            const T factor = shared[row + q - begin];
#pragma unroll
                            for (int c = 0; c < COLUMNS; c++)
                                if (first_column + c < tile.end) multiply_add(sum[c], v[u][c].e[q], factor);
                        }
                    }
                }
            }
        }

        auto emit = [&](int column, T value) {
            if (column >= tile.end) return;
            const int64_t i = (int64_t)tile.first + column;
            if (bottom) {
                publish(vectors.t + i, missing_or(right_hand_side(a, i, 0) + value));
            } else {
                publish(vectors.x + i, missing_or(value));
                store_solution(a, i, value);
            }
        };
        for (int mask = 1; mask < 32 && mask < lanes; mask *= 2)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) sum[c] = sum[c] + shuffle_xor(sum[c], mask);
        if constexpr (GROUP == 32) {
            if (lane == 0)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) emit(first_column + c, sum[c]);
        } else { /* lanes >= 32 here, and a single pass */
            const int warps = lanes / 32;
            meet<GROUP>();
            if (thread % 32 == 0)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) shared[thread / 32 * COLUMNS + c] = sum[c];
            meet<GROUP>();
            for (int i = thread; i < groups * COLUMNS; i += GROUP) {
                const int g = i / COLUMNS, c = i % COLUMNS;
                T value = shared[g * warps * COLUMNS + c];
                for (int w = 1; w < warps; w++) value = value + shared[(g * warps + w) * COLUMNS + c];
                emit(pass + COLUMNS * g + c, value);
            }
        }
    }
}

/** x_s := op(L_ss)^-1 t_s by substitution, for at most SUPERNODAL_SMALL columns: a block brings the triangle to
 *  shared memory, as columns (forward) or rows, and a warp solves with it, a lane an unknown. */
template <typename T, bool IS_FORWARD>
__device__ void substitute_tile(const solve_args<T> &a, const vectors<T> &vectors, const supernodal_tile &tile,
                                T *shared)
{
    constexpr int N = SUPERNODAL_SMALL;
    const int lane = threadIdx.x % 32, width = tile.width;
    for (int c = threadIdx.x / 32; c < width; c += SUPERNODAL_WARPS)
        if (lane >= c && lane < width)
            shared[IS_FORWARD ? c * N + lane : lane * N + c] = a.values[tile.values + lane + (int64_t)c * tile.ld];
    __syncthreads();
    const bool active = lane < width;
    const int64_t i = (int64_t)tile.first + lane;
    const divisor<T> pivot(active ? shared[lane * N + lane] : one_of<T>());
    T mine = active && tile.direct ? right_hand_side(a, i, 0) : zero_of<T>();
    if constexpr (IS_FORWARD) {
        wait_for<THREADS>(a, tile, 0, threadIdx.x);
        if (threadIdx.x < 32) {
            if (active && tile.wait >= 0) mine = mine + load_shared_result(vectors.t + i);
            for (int c = 0; c < width; c++) {
                if (lane == c) mine = pivot.divide(mine);
                const T solved = shuffle_from(mine, c);
                if (lane > c && active) mine = mine - shared[c * N + lane] * solved;
            }
            if (active) vectors.x[i] = mine;
        }
    } else if (threadIdx.x < 32) {
        if (active) do
                mine = poll(vectors.t + i);
            while (is_missing(mine));
        __syncwarp();
        for (int c = width - 1; c >= 0; c--) {
            if (lane == c) mine = pivot.divide(mine);
            const T solved = shuffle_from(mine, c);
            if (lane < c) mine = mine - shared[c * N + lane] * solved;
        }
        if (active) publish(vectors.x + i, missing_or(mine));
    }
    if (threadIdx.x < 32 && active) store_solution(a, i, mine);
    signal_done<THREADS>(a, tile.signal, 0, threadIdx.x);
}

/** A warp brings rows of the right-hand side to t. */
template <typename T, bool IS_FORWARD, bool BOTH_WAYS>
__device__ void prepare(const solve_args<T> &a, const way_args &ways, const vectors<T> &vectors,
                        const supernodal_tile &tile, int lane)
{
    if (IS_FORWARD && a.updates) {
        wait_for<32>(a, tile, 0, lane);
        for (int r = tile.begin; r < tile.end; r++) {
            const int64_t i = (int64_t)tile.first + r;
            const T value = right_hand_side(a, i, 0) - gathered<1, BOTH_WAYS>(a, ways, i, 0, lane);
            if (lane == 0) vectors.t[i] = value;
        }
    } else {
        for (int r = tile.begin + lane; r < tile.end; r += 32) {
            const int64_t i = (int64_t)tile.first + r;
            const T value = right_hand_side(a, i, 0);
            if (IS_FORWARD) add_atomically(vectors.t + i, value);
            else publish(vectors.t + i, missing_or(value));
        }
    }
    signal_done<32>(a, tile.signal, 0, lane);
}

/** Part `part` of what makes the next solve's vectors ready. */
template <typename T, bool IS_FORWARD> __device__ void make_ready(const solve_args<T> &a, const vectors<T> &next,
                                                                  int part)
{
    const T value = IS_FORWARD ? zero_of<T>() : missing_value<T>();
    const int64_t begin = a.n * part / a.n_init, end = a.n * (part + 1) / a.n_init;
    for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) {
        next.t[i] = value;
        if (!IS_FORWARD) next.x[i] = value;
    }
}

/** A block's shared memory, whichever schedule it goes by. */
constexpr int ROOM_BYTES = 16384;
__device__ inline unsigned char *room()
{
    __shared__ __align__(16) unsigned char bytes[ROOM_BYTES];
    return bytes;
}

/** A block's tickets; thread 0 has the first one in `next`. */
template <typename T, bool IS_FORWARD, bool BOTH_WAYS> __device__ __forceinline__ void
work_through(const solve_args<T> &a, const way_args &ways, unsigned next)
{
    constexpr int ROOM = ROOM_BYTES / (int)sizeof(T), WARP_ROOM = ROOM / SUPERNODAL_WARPS;
    T *shared = reinterpret_cast<T *>(room());
    const int warp = threadIdx.x / 32, all_tickets = a.n_tickets + a.n_init;
    const int64_t odd = a.state->solves % 2 * a.n;
    const vectors<T> mine = {a.t + odd, a.x + odd}, others = {a.t + a.n - odd, a.x + a.n - odd};
    for (int ticket; (ticket = take_ticket(a.state, ticket_room(), next, all_tickets)) < all_tickets;) {
        if (ticket >= a.n_tickets) {
            make_ready<T, IS_FORWARD>(a, others, ticket - a.n_tickets);
            continue;
        }
        const supernodal_tile tile = a.tiles[(int64_t)ticket * SUPERNODAL_WARPS + warp];
        if (BOTH_WAYS && passed_over(a, ways, tile, (int64_t)ticket * SUPERNODAL_WARPS + warp, 0, threadIdx.x))
            continue;
        const int lane = threadIdx.x % 32;
        T *own = shared + warp * WARP_ROOM;
        if (tile.kind == TILE_SUBSTITUTE) substitute_tile<T, IS_FORWARD>(a, mine, tile, shared);
        else if (tile.kind == TILE_PREPARE) prepare<T, IS_FORWARD, BOTH_WAYS>(a, ways, mine, tile, lane);
        else if (tile.kind == TILE_NONE) continue;
        else if constexpr (IS_FORWARD)
            tile.wide ? forward_tile<T, THREADS, ROOM>(a, mine, tile, threadIdx.x, shared)
                      : forward_tile<T, 32, WARP_ROOM>(a, mine, tile, lane, own);
        else
            tile.wide ? backward_tile<T, THREADS, ROOM>(a, mine, tile, threadIdx.x, shared)
                      : backward_tile<T, 32, WARP_ROOM>(a, mine, tile, lane, own);
    }
    leave(a);
}

/** Apart from the way that is taken where all inverses are accurate, so as not to share its registers. */
template <typename T, bool IS_FORWARD> __device__ __noinline__ void work_both_ways(const solve_args<T> a,
                                                                                   const way_args ways, unsigned next)
{
    work_through<T, IS_FORWARD, true>(a, ways, next);
}

/** Which schedule a solve goes by is known on the device. EITHER: this kernel goes by the one that is meant; else it
 *  goes by the first, or BOTH_WAYS by the second, if that one is meant, and ends at once otherwise. Forward two
 *  kernels are launched: the first then needs 6 us of 136 less (laplace3d:n=40, H200), and the one that ends at once
 *  takes 2. Backward the kernel for either is the faster one, by 4 of 125. */
enum schedule_meant { EITHER, FIRST, SECOND };
template <typename T, bool IS_FORWARD, schedule_meant MEANT> __global__ void __launch_bounds__(THREADS,
                                                                                               PER_MULTIPROCESSOR)
    solve_panels(const solve_choice<T> choice)
{
    const int32_t *const least_grade = choice.ways.panels.least_grade;
    unsigned next = 0;
    if (MEANT != EITHER && (least_grade && *least_grade) != (MEANT == SECOND)) return;
    if (threadIdx.x == 0) next = atomicAdd(&choice.schedules[0].state->ticket, 1u);
    if constexpr (MEANT == SECOND) work_through<T, IS_FORWARD, true>(choice.schedules[1], choice.ways, next);
    else if (MEANT == EITHER && least_grade && *least_grade)
        work_both_ways<T, IS_FORWARD>(choice.schedules[1], choice.ways, next);
    else work_through<T, IS_FORWARD, false>(choice.schedules[0], choice.ways, next);
}

} // namespace

template <typename T> trine_status supernodal_solve_one(trine_supernodal plan, const solve_choice<T> &a, bool forward,
                                                        void *stream)
{
    if (!forward) return launch_tickets(plan, solve_panels<T, false, EITHER>, PER_MULTIPROCESSOR, a, stream);
    trine_status status = launch_tickets(plan, solve_panels<T, true, FIRST>, PER_MULTIPROCESSOR, a, stream);
    if (!status && a.ways.panels.least_grade)
        status = launch_tickets(plan, solve_panels<T, true, SECOND>, PER_MULTIPROCESSOR, a, stream);
    return status;
}

template trine_status supernodal_solve_one(trine_supernodal, const solve_choice<float> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_choice<double> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_choice<complex_of<float>> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_choice<complex_of<double>> &, bool, void *);
