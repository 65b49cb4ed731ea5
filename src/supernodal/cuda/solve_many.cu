/* The supernodal solve on the GPU with several right-hand sides: as with one (solve_one.cu), but a tile is work for
 * matrix units, done for all right-hand sides of a block at once, so that the factor is read once.
 *
 * Right-hand sides are kept interleaved, n rows of WIDTH. A tile is a few times panel_product::ROWS rows (forward)
 * or columns (backward) of a panel; where the sum over the panel's other dimension is long, the warps of a block
 * share it. Results meet in shared memory and leave from there: additions to t and stores to X are coalesced. */
#include "core/gpu_limits.h"
#include "supernodal/cuda/panel_product.cuh"

namespace {

constexpr int THREADS = SUPERNODAL_BLOCK_THREADS, WARPS = SUPERNODAL_WARPS;
constexpr int PER_MULTIPROCESSOR = 2; /* blocks, by shared memory */
constexpr int MOST_STAGES = 3;        /* of a warp's product: two under way while one is worked on; one where shared
                                         memory is small */

/** `rows` results at `from`, `stride` apart, which are rows (forward) or columns (backward) first.. of the panel. */
template <typename T, int WIDTH, bool IS_FORWARD, int GROUP>
__device__ inline void emit(const solve_args<T> &a, const supernodal_tile &tile, int block, int thread, const T *from,
                            int stride, int parts, int part_stride, int first, int rows)
{
    auto sum_of = [&](int r, int j) {
        T value = from[r * stride + j];
        for (int k = 1; k < parts; k++) value = value + from[k * part_stride + r * stride + j];
        return value;
    };
    const int solved = min(rows, tile.width - first); /* of these rows; may be negative */
    const int columns = (int)min((int64_t)WIDTH, a.nrhs - (int64_t)block * WIDTH);
    const bool by_column = a.x_row == 1 && a.x_col != 1;
    for (int i = thread; i < (IS_FORWARD && tile.kind == TILE_BOTTOM ? 0 : solved * WIDTH); i += GROUP) {
        const int r = by_column ? i % solved : i / WIDTH, j = by_column ? i / solved : i % WIDTH;
        const T value = sum_of(r, j);
        const int64_t row = (int64_t)tile.first + first + r;
        const int64_t at = ((int64_t)block * a.n + row) * WIDTH + j;
        if (!IS_FORWARD && tile.kind == TILE_BOTTOM) {
            a.t[at] = load_shared_result(a.t + at) + value;
            continue;
        }
        if (!IS_FORWARD) a.x[at] = zero_of<T>() - value;
        else if (tile.kind == TILE_TOP) a.x[at] = value;
        if (j < columns) store_at(a, a.original[row], (int64_t)block * WIDTH + j, value);
    }
    if (IS_FORWARD)
        for (int i = max(solved, 0) * WIDTH + thread; i < rows * WIDTH; i += GROUP) {
            const int r = i / WIDTH, j = i % WIDTH;
            update<WIDTH>(a, a.t, block, a.rows[tile.rows + first + r], tile.rows + first + r, j, sum_of(r, j));
        }
}

/** Shared memory of a warp, in elements: the stages of its product, later the result. */
template <typename product, int STAGES> struct warp_room {
    static constexpr int RESULT = product::ROWS * product::RIGHT_STRIDE,
                         ELEMENTS = STAGES * product::SIZE > RESULT ? STAGES * product::SIZE : RESULT;
};

/** One tile, by a warp (GROUP 32) or by all warps of a block. */
template <typename T, int WIDTH, bool IS_FORWARD, int STAGES, int GROUP>
__device__ void work_on(const solve_args<T> &a, const supernodal_tile &tile, int block, int thread, T *shared)
{
    using product = panel_product<T, WIDTH, IS_FORWARD>;
    /* rows in different banks */
    constexpr int ROWS = product::ROWS, STEP = product::STEP, STRIDE = product::RIGHT_STRIDE;
    constexpr int WARP_ROOM = warp_room<panel_product<T, WIDTH, IS_FORWARD>, STAGES>::ELEMENTS;
    const int lane = thread % 32, warp = thread / 32, parts = GROUP == 32 ? 1 : tile.lanes;
    const int group = warp / parts, part = warp % parts;
    const int first = tile.begin + group * ROWS, end = min(tile.end, first + ROWS);
    T *mine = shared + warp * WARP_ROOM;

    /* forward: columns of the panel, none above the diagonal; backward: rows, from the diagonal on */
    const bool bottom = tile.kind == TILE_BOTTOM;
    const int from = IS_FORWARD ? 0 : bottom ? tile.width / product::PACK * product::PACK : first; /* on 16 bytes */
    const int length = (IS_FORWARD ? min(tile.width, end) : tile.kind == TILE_TOP ? tile.width : tile.height) - from;
    const int share = (length + parts * STEP - 1) / (parts * STEP) * STEP;
    const int k_begin = from + part * share, k_end = first < tile.end ? min(from + length, k_begin + share) : 0;
    const int steps = (k_end - k_begin + STEP - 1) / STEP;

    const T *P = a.values + tile.values;
    const T *x = a.x + (int64_t)block * a.n * WIDTH, *t = IS_FORWARD && bottom ? x : a.t + (int64_t)block * a.n * WIDTH;
    auto fetch_left = [&](int step) {
        if (step < steps)
            product::fetch_left(mine + step % STAGES * product::SIZE, P, tile.ld, lane, first, end,
                                k_begin + step * STEP, k_end);
    };
    /* Each lane knows where one of 32 rows of right-hand sides is, and of the next 32: a row of t, from n on one of
     * x. */
    auto place_of = [&](int k) {
        return k >= k_end || (bottom && k < tile.width) ? -1
               : k < tile.width                         ? tile.first + k
                                                        : (int32_t)a.n + a.rows[tile.rows + k];
    };
    int32_t places = place_of(k_begin + lane), next_places = IS_FORWARD ? 0 : place_of(k_begin + 32 + lane);
    auto fetch_right = [&](int step) {
        if (step < steps)
            product::fetch_right(mine + step % STAGES * product::SIZE, t, lane, [&](int i) {
                const int k = step * STEP + i;
                const int32_t at = IS_FORWARD ? (k_begin + k < k_end ? tile.first + k_begin + k : -1)
                                              : __shfl_sync(~0u, places, k % 32);
                return at < 0 ? nullptr : at < a.n ? t + (int64_t)at * WIDTH : x + (at - a.n) * WIDTH;
            });
        end_copies();
        if (!IS_FORWARD && (step + 1) * STEP % 32 == 0) {
            places = next_places;
            next_places = place_of(k_begin + (step + 1) * STEP + 32 + lane);
        }
    };
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) fetch_left(step);
    constexpr int SECTOR = 32 / sizeof(T);
    const int ahead = k_begin + (STAGES - 1) * STEP;
    if constexpr (IS_FORWARD) { /* what follows, into the L2 cache */
        constexpr int SECTORS = ROWS / SECTOR;
        const int row = first + lane % SECTORS * SECTOR;
        if (row < end)
            for (int k = ahead + lane / SECTORS; k < k_end; k += 32 / SECTORS) prefetch(P + row + (int64_t)k * tile.ld);
    } else {
        for (int c = first; c < end; c++)
            for (int k = ahead + lane * SECTOR; k < k_end; k += 32 * SECTOR) prefetch(P + k + (int64_t)c * tile.ld);
    }
    wait_for<GROUP>(a, tile, block, thread);
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) fetch_right(step);

    product p;
    p.clear();
    for (int step = 0; step < steps; step++) {
        wait_for_copies<STAGES - 2>();
        __syncwarp();
        p.multiply(mine + step % STAGES * product::SIZE, lane);
        __syncwarp();
        fetch_left(step + STAGES - 1);
        fetch_right(step + STAGES - 1);
    }
    wait_for_copies<0>();
    __syncwarp();
    p.store(mine, STRIDE, lane);
    meet<GROUP>();
    if (parts == 1) {
        if (first < end) emit<T, WIDTH, IS_FORWARD, 32>(a, tile, block, lane, mine, STRIDE, 1, 0, first, end - first);
    } else {
        for (int g = 0; g < WARPS / parts; g++) {
            const int begin = tile.begin + g * ROWS, rows = min(ROWS, tile.end - begin);
            if (rows > 0)
                emit<T, WIDTH, IS_FORWARD, GROUP>(a, tile, block, thread, shared + g * parts * WARP_ROOM, STRIDE, parts,
                                                  WARP_ROOM, begin, rows);
        }
    }
    signal_done<GROUP>(a, tile.signal, block, thread);
}

/** x_s := op(L_ss)^-1 t_s by substitution, for at most SUPERNODAL_SMALL columns. A block brings the triangle and t_s
 *  to shared memory; thread (i, j) keeps what row i of every ROWS leaves of right-hand side j. */
template <typename T, int WIDTH, bool IS_FORWARD> __device__ void
substitute(const solve_args<T> &a, const supernodal_tile &tile, int block, T *shared)
{
    constexpr int N = SUPERNODAL_SMALL;
    const int width = tile.width;
    T *D = shared, *t = shared + N * N;
    for (int i = threadIdx.x; i < N * N; i += THREADS)
        if (i % N >= i / N && i % N < width) D[i] = a.values[tile.values + i % N + (int64_t)(i / N) * tile.ld];
    wait_for<THREADS>(a, tile, block, threadIdx.x);
    const int64_t start = ((int64_t)block * a.n + tile.first) * WIDTH;
    for (int i = threadIdx.x; i < width * WIDTH; i += THREADS) t[i] = load_shared_result(a.t + start + i);
    __syncthreads();
    for (int step = 0; step < width; step++) {
        const int c = IS_FORWARD ? step : width - 1 - step;
        if (threadIdx.x < WIDTH) t[c * WIDTH + threadIdx.x] = t[c * WIDTH + threadIdx.x] / D[c * N + c];
        __syncthreads();
        const int first = IS_FORWARD ? c + 1 : 0, end = IS_FORWARD ? width : c;
        for (int i = first * WIDTH + threadIdx.x; i < end * WIDTH; i += THREADS) {
            const int r = i / WIDTH;
            t[i] = t[i] - D[IS_FORWARD ? c * N + r : r * N + c] * t[c * WIDTH + i % WIDTH];
        }
        __syncthreads();
    }
    const bool by_column = a.x_row == 1 && a.x_col != 1;
    for (int i = threadIdx.x; i < width * WIDTH; i += THREADS) {
        const int r = by_column ? i % width : i / WIDTH, j = by_column ? i / width : i % WIDTH;
        const T value = t[r * WIDTH + j];
        const int64_t column = (int64_t)block * WIDTH + j;
        a.x[start + r * WIDTH + j] = IS_FORWARD ? value : zero_of<T>() - value;
        if (column < a.nrhs) store_at(a, a.original[(int64_t)tile.first + r], column, value);
    }
    signal_done<THREADS>(a, tile.signal, block, threadIdx.x);
}

/** A warp takes what products have left for its rows. */
template <int WIDTH, bool BOTH_WAYS, typename T> __device__ void
assemble(const solve_args<T> &a, const way_args &ways, const supernodal_tile &tile, int block, int lane)
{
    wait_for<32>(a, tile, block, lane);
    for (int r = tile.begin; r < tile.end; r++) {
        const int64_t row = (int64_t)tile.first + r;
        const T sum = gathered<WIDTH, BOTH_WAYS>(a, ways, row, block, lane);
        if (lane >= WIDTH) continue;
        T *t = a.t + ((int64_t)block * a.n + row) * WIDTH + lane;
        *t = load_shared_result(t) - sum;
    }
    signal_done<32>(a, tile.signal, block, lane);
}

/** Part `part` of t := alpha B, in the plan's numbering, by way of shared memory where B is stored by columns. */
template <typename T, int WIDTH> __device__ void set_up(const solve_args<T> &a, int part, int block, T *shared)
{
    constexpr int CHUNK = 32, STRIDE = WIDTH + 1;
    const int64_t begin = a.n * part / a.n_init, end = a.n * (part + 1) / a.n_init;
    const bool by_column = a.b_row == 1 && a.b_col != 1;
    T *t = a.t + (int64_t)block * a.n * WIDTH;
    for (int64_t chunk = begin; chunk < end; chunk += CHUNK) {
        const int rows = (int)min((int64_t)CHUNK, end - chunk);
        __syncthreads();
        for (int i = threadIdx.x; i < CHUNK * WIDTH; i += THREADS) {
            const int r = by_column ? i % CHUNK : i / WIDTH, j = by_column ? i / CHUNK : i % WIDTH;
            const int64_t column = (int64_t)block * WIDTH + j;
            T value = zero_of<T>();
            if (r < rows && column < a.nrhs) value = right_hand_side(a, chunk + r, column);
            shared[r * STRIDE + j] = value;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < rows * WIDTH; i += THREADS)
            t[chunk * WIDTH + i] = shared[i / WIDTH * STRIDE + i % WIDTH];
    }
    signal_done<THREADS>(a, a.n_panels, block, threadIdx.x);
}

/** A block's tickets; thread 0 has the first one in `next`. */
template <typename T, int WIDTH, bool IS_FORWARD, int STAGES, bool BOTH_WAYS>
__device__ __forceinline__ void work_through(const solve_args<T> &a, const way_args &ways, unsigned next)
{
    constexpr int WARP_ROOM = warp_room<panel_product<T, WIDTH, IS_FORWARD>, STAGES>::ELEMENTS;
    extern __shared__ __align__(16) unsigned char room[];
    T *shared = reinterpret_cast<T *>(room);
    const int warp = threadIdx.x / 32, set_up_tickets = a.n_init * a.n_blocks,
              all_tickets = set_up_tickets + a.n_tickets * a.n_blocks;
    for (int ticket; (ticket = take_ticket(a.state, ticket_room(), next, all_tickets)) < all_tickets;) {
        const int block = ticket % a.n_blocks;
        if (ticket < set_up_tickets) {
            set_up<T, WIDTH>(a, ticket / a.n_blocks, block, shared);
            continue;
        }
        const int64_t at = (int64_t)((ticket - set_up_tickets) / a.n_blocks) * SUPERNODAL_WARPS + warp;
        const supernodal_tile tile = a.tiles[at];
        if (BOTH_WAYS && passed_over(a, ways, tile, at, block, threadIdx.x)) continue;
        const int lane = threadIdx.x % 32;
        if (tile.kind == TILE_SUBSTITUTE) substitute<T, WIDTH, IS_FORWARD>(a, tile, block, shared);
        else if (tile.kind == TILE_PREPARE) assemble<WIDTH, BOTH_WAYS>(a, ways, tile, block, lane);
        else if (tile.wide) work_on<T, WIDTH, IS_FORWARD, STAGES, THREADS>(a, tile, block, threadIdx.x, shared);
        else if (tile.kind != TILE_NONE)
            work_on<T, WIDTH, IS_FORWARD, STAGES, 32>(a, tile, block, lane, shared + warp * WARP_ROOM);
    }
    leave(a);
}

/** Apart from the way that is taken where all inverses are accurate, so as not to share its registers. */
template <typename T, int WIDTH, bool IS_FORWARD, int STAGES> __device__ __noinline__ void
work_both_ways(const solve_args<T> a, const way_args ways, unsigned next)
{
    work_through<T, WIDTH, IS_FORWARD, STAGES, true>(a, ways, next);
}

template <typename T, int WIDTH, bool IS_FORWARD, int STAGES>
__global__ void __launch_bounds__(THREADS, PER_MULTIPROCESSOR) solve_panels(const solve_choice<T> choice)
{
    unsigned next = 0;
    if (threadIdx.x == 0) next = atomicAdd(&choice.schedules[0].state->ticket, 1u);
    if (choice.ways.panels.least_grade && *choice.ways.panels.least_grade)
        work_both_ways<T, WIDTH, IS_FORWARD, STAGES>(choice.schedules[1], choice.ways, next);
    else work_through<T, WIDTH, IS_FORWARD, STAGES, false>(choice.schedules[0], choice.ways, next);
}

template <typename T, int WIDTH, bool IS_FORWARD, int STAGES = MOST_STAGES> trine_status
launch(trine_supernodal plan, const solve_choice<T> &a, void *stream)
{
    constexpr int BYTES = WARPS * warp_room<panel_product<T, WIDTH, IS_FORWARD>, STAGES>::ELEMENTS * (int)sizeof(T),
                  STATIC_BYTES = 64;
    const auto kernel = solve_panels<T, WIDTH, IS_FORWARD, STAGES>;
    trine_status status = TRINE_SUCCESS;
    gpu_limits limits;
    TRY(trine_gpu_limits(&limits));
    if constexpr (BYTES + STATIC_BYTES > GPU_LEAST_SHARED_BYTES) {
        static_assert(STAGES > 2, "two stages fit any device");
        if (BYTES + STATIC_BYTES > limits.shared_bytes)
            return launch<T, WIDTH, IS_FORWARD, STAGES - 1>(plan, a, stream);
    }
    TRY(trine_gpu_allow_shared(reinterpret_cast<const void *>(kernel), BYTES));
    status = launch_tickets(plan, kernel, PER_MULTIPROCESSOR, a, stream, BYTES);
done:
    return status;
}

} // namespace

template <typename T> trine_status supernodal_solve_many(trine_supernodal plan, const solve_choice<T> &a, bool forward,
                                                         void *stream)
{
    constexpr int MOST = sizeof(T) == 16 ? 16 : 32;
    if (supernodal_block_width(sizeof(T), a.schedules[0].nrhs) == 8)
        return forward ? launch<T, 8, true>(plan, a, stream) : launch<T, 8, false>(plan, a, stream);
    return forward ? launch<T, MOST, true>(plan, a, stream) : launch<T, MOST, false>(plan, a, stream);
}

template trine_status supernodal_solve_many(trine_supernodal, const solve_choice<float> &, bool, void *);
template trine_status supernodal_solve_many(trine_supernodal, const solve_choice<double> &, bool, void *);
template trine_status supernodal_solve_many(trine_supernodal, const solve_choice<complex_of<float>> &, bool, void *);
template trine_status supernodal_solve_many(trine_supernodal, const solve_choice<complex_of<double>> &, bool, void *);
