/* The supernodal solve on the GPU with one right-hand side: one launch, no barrier between levels.
 *
 * With the partitioned inverse a panel is one matrix P = [L_ss^-1; L_off L_ss^-1] and the whole work on it one product:
 *     forward:   x_s := P_top t_s,  t_rows -= P_bottom t_s       (push: atomic additions)
 *     backward:  x_s := P^T [t_s; -x_rows]                       (pull: a fixed order of summation)
 * where t starts as the right-hand side. Panels are cut into tiles of some tens of kilobytes, so that the few wide panels at
 * the top of the tree occupy all multiprocessors as well as the many small ones at its leaves. Blocks take tiles by an atomic
 * ticket in an order in which nothing waits for a later tile: progress depends on no scheduling order. A tile loads its first
 * panel values into registers, then waits until the counter that its panel depends on is full. Counters only grow; how often
 * they have been filled is kept beside them in device memory, so that nothing is reset between solves and a captured graph
 * can be replayed.
 * After Yamazaki, Rajamanickam, Ellingwood (2020), Sections 4 and 5.1 ("invert-off"). */
#include <algorithm>

#include "supernodal/device.cuh"

namespace {

constexpr int THREADS = SUPERNODAL_BLOCK_THREADS;
constexpr int PER_MULTIPROCESSOR = 3; /* blocks, by registers */
constexpr int COLUMNS = 4; /* columns of a thread in the backward solve */

template <typename T> __device__ inline void store_solution(const solve_args<T> &a, int64_t i, T x)
{
    a.X[a.original[i] * a.x_row] = a.conjugate ? conjugate_of(x) : x;
}

/** Rows of a panel times t_s. Thread (group, lane): rows begin + lane * PACK .., columns group, group + groups, ... */
template <typename T, int GROUP, int ROOM>
__device__ void forward_tile(const solve_args<T> &a, const supernodal_tile &tile, int thread, T *shared)
{
    constexpr int PACK = 16 / sizeof(T), BATCH = 8;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const int row = tile.begin + lane * PACK, columns = min(tile.width, tile.end); /* nothing above the diagonal */
    const bool active = row < tile.end;
    const T *P = a.values + tile.values + row;

    pack<T> v[BATCH];
    auto load = [&](int c) {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (active && c + u * groups < columns) v[u] = load_pack(P + (int64_t)(c + u * groups) * tile.ld);
    };
    load(group);
    for (int c = group + BATCH * groups; c < columns; c += groups) /* what does not fit into registers */
        if (active && lane % 2 == 0) prefetch(P + (int64_t)c * tile.ld);
    wait_for<GROUP>(a, tile, 0, thread);

    T sum[PACK];
#pragma unroll
    for (int q = 0; q < PACK; q++) sum[q] = zero_of<T>();
    for (int begin = 0; begin < columns; begin += ROOM) {
        const int end = min(columns, begin + ROOM);
        if (begin) meet<GROUP>();
        for (int i = thread; i < end - begin; i += GROUP) shared[i] = load_shared_result(a.t + (int64_t)tile.first + begin + i);
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

    auto emit = [&](int r, T value) {
        if (r < tile.width) store_solution(a, (int64_t)tile.first + r, value);
        else update<1>(a, 0, a.rows[tile.rows + r], tile.rows + r, 0, value);
    };
    for (int mask = lanes; mask < 32; mask *= 2)
#pragma unroll
        for (int q = 0; q < PACK; q++) sum[q] = sum[q] + shuffle_xor(sum[q], mask);
    if constexpr (GROUP == 32) {
        if (group == 0)
#pragma unroll
            for (int q = 0; q < PACK; q++)
                if (row + q < tile.end) emit(row + q, sum[q]);
    } else {
        const int parts = lanes >= 32 ? groups : GROUP / 32, part = lanes >= 32 ? group : thread / 32, rows = lanes * PACK;
        meet<GROUP>();
        if (lanes >= 32 || thread % 32 < lanes)
#pragma unroll
            for (int q = 0; q < PACK; q++) shared[part * rows + lane * PACK + q] = sum[q];
        meet<GROUP>();
        for (int i = thread; i < tile.end - tile.begin; i += GROUP) {
            T value = shared[i];
            for (int k = 1; k < parts; k++) value = value + shared[k * rows + i];
            emit(tile.begin + i, value);
        }
    }
    signal_done<GROUP>(a, tile.signal, 0, thread);
}

/** Columns of a panel times [t_s; -x_rows]. Thread (group, lane): COLUMNS columns from begin + COLUMNS * group, then every
 *  COLUMNS * groups further; rows lane * PACK .., every lanes * PACK. */
template <typename T, int GROUP, int ROOM>
__device__ void backward_tile(const solve_args<T> &a, const supernodal_tile &tile, int thread, T *shared)
{
    constexpr int PACK = 16 / sizeof(T), AHEAD = 2;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const int top = tile.begin / PACK * PACK; /* zeros above the diagonal */
    const T *P = a.values + tile.values;

    pack<T> v[AHEAD][COLUMNS];
    auto load = [&](int u, int first_column, int row) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (row < tile.ld && first_column + c < tile.end) v[u][c] = load_pack(P + (int64_t)(first_column + c) * tile.ld + row);
    };
#pragma unroll
    for (int u = 0; u < AHEAD; u++) load(u, tile.begin + COLUMNS * group, top + (lane + u * lanes) * PACK);
    for (int row = top + (lane + AHEAD * lanes) * PACK; row < tile.ld; row += lanes * PACK)
        for (int c = tile.begin + COLUMNS * group; c < min(tile.end, tile.begin + COLUMNS * (group + 1)); c++)
            if (lane % 2 == 0) prefetch(P + (int64_t)c * tile.ld + row);
    wait_for<GROUP>(a, tile, 0, thread);

    for (int pass = tile.begin; pass < tile.end; pass += COLUMNS * groups) {
        const int first_column = pass + COLUMNS * group;
        T sum[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) sum[c] = zero_of<T>();
        for (int begin = top; begin < tile.ld; begin += ROOM) {
            const int end = min(tile.ld, begin + ROOM);
            if (pass == tile.begin || tile.ld - top > ROOM) { /* else what the first pass gathered is still there */
                meet<GROUP>();
                for (int r = begin + thread; r < end; r += GROUP) {
                    T value = zero_of<T>();
                    if (r < tile.width) value = load_shared_result(a.t + (int64_t)tile.first + r);
                    else if (r < tile.height) value = zero_of<T>() - load_shared_result(a.x + a.rows[tile.rows + r]);
                    shared[r - begin] = value;
                }
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
            a.x[(int64_t)tile.first + column] = value;
            store_solution(a, (int64_t)tile.first + column, value);
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
    signal_done<GROUP>(a, tile.signal, 0, thread);
}

/** Part `part` of t := alpha b, in the plan's numbering. */
template <typename T> __device__ void set_up(const solve_args<T> &a, int part)
{
    const int64_t begin = a.n * part / a.n_init, end = a.n * (part + 1) / a.n_init;
    for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) {
        const T value = a.alpha * a.B[a.original[i] * a.b_row];
        a.t[i] = a.conjugate ? conjugate_of(value) : value;
    }
    signal_done<THREADS>(a, a.n_panels, 0, threadIdx.x);
}

template <typename T, bool IS_FORWARD> __global__ void __launch_bounds__(THREADS, PER_MULTIPROCESSOR) solve_panels(const solve_args<T> a)
{
    constexpr int ROOM = 16384 / (int)sizeof(T), WARP_ROOM = ROOM / SUPERNODAL_WARPS;
    __shared__ __align__(16) unsigned char room[ROOM * sizeof(T)];
    __shared__ int shared_ticket;
    T *shared = reinterpret_cast<T *>(room);
    const int warp = threadIdx.x / 32, all_tickets = a.n_init + a.n_tickets;
    unsigned next = 0;
    if (threadIdx.x == 0) next = atomicAdd(&a.state->ticket, 1u);
    for (int ticket; (ticket = take_ticket(a.state, &shared_ticket, next, all_tickets)) < all_tickets;) {
        if (ticket < a.n_init) {
            set_up(a, ticket);
            continue;
        }
        const int first = a.tickets[ticket - a.n_init], end = a.tickets[ticket - a.n_init + 1];
        if (a.tiles[first].wide) {
            const supernodal_tile tile = a.tiles[first];
            if constexpr (IS_FORWARD) forward_tile<T, THREADS, ROOM>(a, tile, threadIdx.x, shared);
            else backward_tile<T, THREADS, ROOM>(a, tile, threadIdx.x, shared);
        } else if (first + warp < end) {
            const supernodal_tile tile = a.tiles[first + warp];
            T *mine = shared + warp * WARP_ROOM;
            if (tile.assembles) assemble<1>(a, tile, 0, threadIdx.x % 32);
            else if constexpr (IS_FORWARD) forward_tile<T, 32, WARP_ROOM>(a, tile, threadIdx.x % 32, mine);
            else backward_tile<T, 32, WARP_ROOM>(a, tile, threadIdx.x % 32, mine);
        }
    }
    leave(a);
}

} // namespace

template <typename T> trine_status supernodal_solve_one(trine_supernodal plan, const solve_args<T> &a, bool forward, void *stream)
{
    return launch_tickets(plan, forward ? solve_panels<T, true> : solve_panels<T, false>, PER_MULTIPROCESSOR, a, stream);
}

template trine_status supernodal_solve_one(trine_supernodal, const solve_args<float> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_args<double> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_args<complex_of<float>> &, bool, void *);
template trine_status supernodal_solve_one(trine_supernodal, const solve_args<complex_of<double>> &, bool, void *);
