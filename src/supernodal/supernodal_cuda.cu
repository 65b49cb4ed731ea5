/* The supernodal solve on the GPU: one launch, no barrier between levels.
 *
 * With the partitioned inverse a panel is one matrix P = [L_ss^-1; L_off L_ss^-1] and the whole work on it one product:
 *     forward:   x_s := P_top t_s,  t_rows -= P_bottom t_s       (push: atomic additions)
 *     backward:  x_s := P^T [t_s; -x_rows]                       (pull: a fixed order of summation)
 * where t starts as the right-hand side. Panels are cut into tiles of some tens of kilobytes, so that the few wide panels at
 * the top of the tree occupy all multiprocessors as well as the many small ones at its leaves. Blocks take tiles by an atomic
 * ticket in an order in which nothing waits for a later tile: progress depends on no scheduling order. A tile loads its first
 * panel values into registers, then waits until the counter that its panel depends on is full. Counters only grow; how often
 * they have been filled is kept beside them in device memory, so that nothing is reset between solves and a captured graph
 * can be replayed. Blocks of up to `width` right-hand sides are independent of each other, stored interleaved.
 * After Yamazaki, Rajamanickam, Ellingwood (2020), Sections 4 and 5.1 ("invert-off"). */
#include <algorithm>
#include <cstring>

#include "core/gpu_scalar.cuh"
#include "supernodal/schedule.h"

namespace {

constexpr int THREADS = SUPERNODAL_BLOCK_THREADS;
constexpr int COLUMNS = 4; /* columns of a thread in the backward solve */

/** What stands at the head of a work's buffer, once for each direction; the arrays follow it. */
struct solve_state {
    unsigned ticket, finished_blocks, unused[30];
};

template <typename T> struct solve_args {
    const supernodal_tile *tiles;
    const int32_t *tickets, *rows, *original;
    const T *values, *B;
    T *X, *t, *x;                   /* t, x: blocks of right-hand sides, each n x width */
    int64_t b_row, b_col, x_row, x_col, n, nrhs;
    solve_state *state;
    unsigned *epochs, *counters;    /* epochs: one a block of right-hand sides; counters: n_panels + 1 for each */
    int32_t n_panels, n_init, n_tickets, n_blocks;
    T alpha;
    bool conjugate;
};

/** As many scalars as one 16-byte load brings. */
template <typename T> struct alignas(16) pack { T e[16 / sizeof(T)]; };

template <typename T> __device__ inline pack<T> load_pack(const T *p)
{
    union { uint4 raw; pack<T> values; } u;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(u.raw.x), "=r"(u.raw.y), "=r"(u.raw.z), "=r"(u.raw.w) : "l"(p));
    return u.values;
}
/** Ask for the 32 bytes at p. */
__device__ inline void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
/** From L2, where other multiprocessors' results are. */
__device__ inline float load_shared_result(const float *p) { return __ldcg(p); }
__device__ inline double load_shared_result(const double *p) { return __ldcg(p); }
__device__ inline complex_of<float> load_shared_result(const complex_of<float> *p)
{
    const float2 a = __ldcg(reinterpret_cast<const float2 *>(p));
    return {a.x, a.y};
}
__device__ inline complex_of<double> load_shared_result(const complex_of<double> *p)
{
    const double2 a = __ldcg(reinterpret_cast<const double2 *>(p));
    return {a.x, a.y};
}
template <typename R> __device__ inline void subtract_atomically(R *p, R a) { atomicAdd(p, -a); }
template <typename R> __device__ inline void subtract_atomically(complex_of<R> *p, complex_of<R> a)
{
    atomicAdd(&p->x, -a.x);
    atomicAdd(&p->y, -a.y);
}
template <typename R> __device__ inline void multiply_add(R &sum, R a, R b) { sum = fma(a, b, sum); }
template <typename R> __device__ inline void multiply_add(complex_of<R> &sum, complex_of<R> a, complex_of<R> b)
{
    sum.x = fma(a.x, b.x, fma(-a.y, b.y, sum.x));
    sum.y = fma(a.x, b.y, fma(a.y, b.x, sum.y));
}

__device__ inline unsigned load_acquire(const unsigned *p)
{
    unsigned a;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
    return a;
}
__device__ inline void add_release(unsigned *p, unsigned a)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(a) : "memory");
}

/** Barrier of the GROUP threads that share a tile. */
template <int GROUP> __device__ inline void meet()
{
    if constexpr (GROUP == 32) __syncwarp();
    else __syncthreads();
}

/** Wait until what the tile depends on is done. Counters grow by `expected` in every solve: they stand at exactly
 *  (solves before this one + 1) * expected, modulo 2^32, when this solve's share is complete. */
template <int GROUP, typename T> __device__ inline void wait_for(const solve_args<T> &a, const supernodal_tile &tile, int block, int thread)
{
    if (thread == 0) {
        const unsigned *counter = a.counters + (int64_t)block * (a.n_panels + 1) + tile.wait;
        const unsigned target = (a.epochs[block] + 1) * tile.expected;
        while (load_acquire(counter) != target) { }
    }
    meet<GROUP>();
}

template <int GROUP, typename T> __device__ inline void signal_done(const solve_args<T> &a, int32_t counter, int block, int thread)
{
    meet<GROUP>();
    if (thread == 0 && counter >= 0) {
        __threadfence();
        add_release(a.counters + (int64_t)block * (a.n_panels + 1) + counter, 1);
    }
}

template <int WIDTH, typename T> __device__ inline void store_solution(const solve_args<T> &a, int64_t i, int64_t column, T x)
{
    if (WIDTH == 1 || column < a.nrhs) a.X[a.original[i] * a.x_row + column * a.x_col] = a.conjugate ? conjugate_of(x) : x;
}

/** Rows of a panel times t_s. Thread (group, lane): rows begin + lane * PACK .., columns group, group + groups, ... */
template <typename T, int WIDTH, int GROUP, int ROOM>
__device__ void forward_tile(const solve_args<T> &a, const supernodal_tile &tile, int block, int thread, T *shared)
{
    constexpr int PACK = 16 / sizeof(T), BATCH = WIDTH == 1 ? 8 : 4, CHUNK = ROOM / WIDTH;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const int row = tile.begin + lane * PACK, columns = min(tile.width, tile.end); /* nothing above the diagonal */
    const bool active = row < tile.end;
    const T *P = a.values + tile.values + row;
    T *t = a.t + (int64_t)block * a.n * WIDTH;

    pack<T> v[BATCH];
    auto load = [&](int c) {
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (active && c + u * groups < columns) v[u] = load_pack(P + (int64_t)(c + u * groups) * tile.ld);
    };
    load(group);
    for (int c = group + BATCH * groups; c < columns; c += groups) /* what does not fit into registers */
        if (active && lane % 2 == 0) prefetch(P + (int64_t)c * tile.ld);
    wait_for<GROUP>(a, tile, block, thread);

    T sum[PACK][WIDTH];
#pragma unroll
    for (int q = 0; q < PACK; q++)
#pragma unroll
        for (int j = 0; j < WIDTH; j++) sum[q][j] = zero_of<T>();
    for (int begin = 0; begin < columns; begin += CHUNK) {
        const int end = min(columns, begin + CHUNK);
        if (begin) meet<GROUP>();
        for (int i = thread; i < (end - begin) * WIDTH; i += GROUP)
            shared[i] = load_shared_result(t + ((int64_t)tile.first + begin) * WIDTH + i);
        meet<GROUP>();
        for (int c = begin + group; c < end; c += BATCH * groups) {
            if (c != group) load(c);
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                const int column = c + u * groups;
                if (active && column < end) {
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) {
                        const T factor = shared[(column - begin) * WIDTH + j];
#pragma unroll
                        for (int q = 0; q < PACK; q++) multiply_add(sum[q][j], v[u].e[q], factor);
                    }
                }
            }
        }
    }

    auto emit = [&](int r, int j, T value) {
        if (r < tile.width) store_solution<WIDTH>(a, (int64_t)tile.first + r, (int64_t)block * WIDTH + j, value);
        else subtract_atomically(t + (int64_t)a.rows[tile.rows + r] * WIDTH + j, value);
    };
    for (int mask = lanes; mask < 32; mask *= 2)
#pragma unroll
        for (int q = 0; q < PACK; q++)
#pragma unroll
            for (int j = 0; j < WIDTH; j++) sum[q][j] = sum[q][j] + shuffle_xor(sum[q][j], mask);
    if constexpr (GROUP == 32) {
        if (group == 0)
#pragma unroll
            for (int q = 0; q < PACK; q++)
#pragma unroll
                for (int j = 0; j < WIDTH; j++)
                    if (row + q < tile.end) emit(row + q, j, sum[q][j]);
    } else {
        const int parts = lanes >= 32 ? groups : GROUP / 32, part = lanes >= 32 ? group : thread / 32, rows = lanes * PACK;
        meet<GROUP>();
        if (lanes >= 32 || thread % 32 < lanes)
#pragma unroll
            for (int q = 0; q < PACK; q++)
#pragma unroll
                for (int j = 0; j < WIDTH; j++) shared[(part * rows + lane * PACK + q) * WIDTH + j] = sum[q][j];
        meet<GROUP>();
        for (int i = thread; i < (tile.end - tile.begin) * WIDTH; i += GROUP) {
            T value = shared[i];
            for (int k = 1; k < parts; k++) value = value + shared[k * rows * WIDTH + i];
            emit(tile.begin + i / WIDTH, i % WIDTH, value);
        }
    }
    signal_done<GROUP>(a, tile.signal, block, thread);
}

/** Columns of a panel times [t_s; -x_rows]. Thread (group, lane): COLUMNS columns from begin + COLUMNS * group, then every
 *  COLUMNS * groups further; rows lane * PACK .., every lanes * PACK. */
template <typename T, int WIDTH, int GROUP, int ROOM>
__device__ void backward_tile(const solve_args<T> &a, const supernodal_tile &tile, int block, int thread, T *shared)
{
    constexpr int PACK = 16 / sizeof(T), AHEAD = WIDTH == 1 ? 2 : 1, CHUNK = ROOM / WIDTH;
    const int lanes = tile.lanes, lane = thread & (lanes - 1), group = thread / lanes, groups = GROUP / lanes;
    const int top = tile.begin / PACK * PACK; /* zeros above the diagonal */
    const T *P = a.values + tile.values;
    const T *t = a.t + (int64_t)block * a.n * WIDTH;
    T *x = a.x + (int64_t)block * a.n * WIDTH;

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
    wait_for<GROUP>(a, tile, block, thread);

    for (int pass = tile.begin; pass < tile.end; pass += COLUMNS * groups) {
        const int first_column = pass + COLUMNS * group;
        T sum[COLUMNS][WIDTH];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
#pragma unroll
            for (int j = 0; j < WIDTH; j++) sum[c][j] = zero_of<T>();
        for (int begin = top; begin < tile.ld; begin += CHUNK) {
            const int end = min(tile.ld, begin + CHUNK);
            if (pass == tile.begin || tile.ld - top > CHUNK) { /* else what the first pass gathered is still there */
                meet<GROUP>();
                for (int i = thread; i < (end - begin) * WIDTH; i += GROUP) {
                    const int r = begin + i / WIDTH, j = i % WIDTH;
                    T value = zero_of<T>();
                    if (r < tile.width) value = load_shared_result(t + ((int64_t)tile.first + r) * WIDTH + j);
                    else if (r < tile.height) value = zero_of<T>() - load_shared_result(x + (int64_t)a.rows[tile.rows + r] * WIDTH + j);
                    shared[i] = value;
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
                        for (int q = 0; q < PACK; q++)
#pragma unroll
                            for (int j = 0; j < WIDTH; j++) {
                                const T factor = shared[(row + q - begin) * WIDTH + j];
#pragma unroll
                                for (int c = 0; c < COLUMNS; c++)
                                    if (first_column + c < tile.end) multiply_add(sum[c][j], v[u][c].e[q], factor);
                            }
                    }
                }
            }
        }

        auto emit = [&](int column, int j, T value) {
            if (column >= tile.end) return;
            x[((int64_t)tile.first + column) * WIDTH + j] = value;
            store_solution<WIDTH>(a, (int64_t)tile.first + column, (int64_t)block * WIDTH + j, value);
        };
        for (int mask = 1; mask < 32 && mask < lanes; mask *= 2)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
#pragma unroll
                for (int j = 0; j < WIDTH; j++) sum[c][j] = sum[c][j] + shuffle_xor(sum[c][j], mask);
        if constexpr (GROUP == 32) {
            if (lane == 0)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) emit(first_column + c, j, sum[c][j]);
        } else { /* lanes >= 32 here, and a single pass */
            const int warps = lanes / 32, results = COLUMNS * WIDTH;
            meet<GROUP>();
            if (thread % 32 == 0)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) shared[thread / 32 * results + c * WIDTH + j] = sum[c][j];
            meet<GROUP>();
            for (int i = thread; i < groups * results; i += GROUP) {
                const int g = i / results, k = i % results;
                T value = shared[g * warps * results + k];
                for (int w = 1; w < warps; w++) value = value + shared[(g * warps + w) * results + k];
                emit(pass + COLUMNS * g + k / WIDTH, k % WIDTH, value);
            }
        }
    }
    signal_done<GROUP>(a, tile.signal, block, thread);
}

/** Part `part` of t := alpha B, in the plan's numbering. */
template <typename T, int WIDTH> __device__ void set_up(const solve_args<T> &a, int part, int block)
{
    const int64_t begin = a.n * part / a.n_init, end = a.n * (part + 1) / a.n_init;
    T *t = a.t + (int64_t)block * a.n * WIDTH;
    for (int64_t i = begin * WIDTH + threadIdx.x; i < end * WIDTH; i += THREADS) {
        const int64_t row = i / WIDTH, column = (int64_t)block * WIDTH + i % WIDTH;
        T value = zero_of<T>();
        if (WIDTH == 1 || column < a.nrhs) value = a.alpha * a.B[a.original[row] * a.b_row + column * a.b_col];
        t[i] = a.conjugate ? conjugate_of(value) : value;
    }
    signal_done<THREADS>(a, a.n_panels, block, threadIdx.x);
}

template <typename T, int WIDTH, bool FORWARD>
__global__ void __launch_bounds__(THREADS, WIDTH == 1 ? 3 : 2) solve_panels(const solve_args<T> a)
{
    constexpr int BYTES = WIDTH == 1 ? 16384 : 32768, ROOM = BYTES / (int)sizeof(T), WARP_ROOM = ROOM / SUPERNODAL_WARPS;
    __shared__ __align__(16) unsigned char room[BYTES];
    __shared__ int shared_ticket;
    T *shared = reinterpret_cast<T *>(room);
    const int warp = threadIdx.x / 32;
    const int set_up_tickets = a.n_init * a.n_blocks, all_tickets = set_up_tickets + a.n_tickets * a.n_blocks;
    unsigned next = 0;
    if (threadIdx.x == 0) next = atomicAdd(&a.state->ticket, 1u);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) shared_ticket = (int)next;
        __syncthreads();
        const int ticket = shared_ticket;
        if (ticket >= all_tickets) break;
        if (threadIdx.x == 0) next = atomicAdd(&a.state->ticket, 1u); /* arrives while this one is worked on */
        if (ticket < set_up_tickets) {
            set_up<T, WIDTH>(a, ticket / a.n_blocks, ticket % a.n_blocks);
            continue;
        }
        const int k = (ticket - set_up_tickets) / a.n_blocks, block = (ticket - set_up_tickets) % a.n_blocks;
        const int first = a.tickets[k], end = a.tickets[k + 1];
        if (a.tiles[first].wide) {
            const supernodal_tile tile = a.tiles[first];
            if constexpr (FORWARD) forward_tile<T, WIDTH, THREADS, ROOM>(a, tile, block, threadIdx.x, shared);
            else backward_tile<T, WIDTH, THREADS, ROOM>(a, tile, block, threadIdx.x, shared);
        } else if (first + warp < end) {
            const supernodal_tile tile = a.tiles[first + warp];
            T *mine = shared + warp * WARP_ROOM;
            if constexpr (FORWARD) forward_tile<T, WIDTH, 32, WARP_ROOM>(a, tile, block, threadIdx.x % 32, mine);
            else backward_tile<T, WIDTH, 32, WARP_ROOM>(a, tile, block, threadIdx.x % 32, mine);
        }
    }
    if (threadIdx.x == 0 && atomicAdd(&a.state->finished_blocks, 1u) == gridDim.x - 1) { /* every block has its last ticket */
        a.state->ticket = 0;
        a.state->finished_blocks = 0;
        for (int b = 0; b < a.n_blocks; b++) a.epochs[b]++;
    }
}

/* --------------------------------------------------------------- numeric */

struct source_panel {
    int64_t values, rows;
    int32_t target, column, width, height;
};

template <typename T> struct numeric_args {
    const supernodal_panel *panels;
    const source_panel *sources;
    const int32_t *source_rows, *original;
    const T *from;
    T *values;
    unsigned *bad_row;
    bool unit;
};

template <typename T> __global__ void __launch_bounds__(128) copy_columns(const numeric_args<T> a, const supernodal_job *jobs)
{
    const supernodal_job job = jobs[blockIdx.x];
    const source_panel s = a.sources[job.panel];
    const supernodal_panel p = a.panels[s.target];
    const int32_t *rows = a.source_rows + s.rows;
    for (int c = job.a + threadIdx.x / 32; c < job.b; c += 4) {
        const T *from = a.from + s.values + (int64_t)c * s.height;
        T *to = a.values + p.values + (int64_t)(s.column + c) * p.ld;
        for (int r = c + threadIdx.x % 32; r < s.height; r += 32) {
            T value = from[r];
            if (r == c) {
                if (a.unit) value = one_of<T>();
                else if (!(size_of(value) > 0)) atomicMin(a.bad_row, (unsigned)a.original[p.first + rows[r]]);
            }
            to[rows[r]] = value;
        }
    }
}

/** A warp; lane j makes column j of the inverse by substitution. */
template <typename T> __global__ void __launch_bounds__(32) invert_diagonal(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int N = SUPERNODAL_SMALL;
    __shared__ T L[N][N + 1], X[N][N + 1];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    const int k = job.e - job.a, lane = threadIdx.x;
    T *D = a.values + p.values + job.a + (int64_t)job.a * p.ld;
    for (int j = 0; j < k; j++)
        if (lane < k) L[lane][j] = D[lane + (int64_t)j * p.ld];
    __syncwarp();
    if (lane < k) {
        for (int i = lane; i < k; i++) {
            T sum = i == lane ? one_of<T>() : zero_of<T>();
            for (int l = lane; l < i; l++) sum = sum - L[i][l] * X[l][lane];
            X[i][lane] = sum / L[i][i];
        }
    }
    __syncwarp();
    for (int j = 0; j < k; j++)
        if (lane >= j && lane < k) D[lane + (int64_t)j * p.ld] = X[lane][j];
}

/** A thread a row: row := row D. */
template <typename T> __global__ void __launch_bounds__(SUPERNODAL_ROWS) multiply_below(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int N = SUPERNODAL_SMALL;
    __shared__ T D[N][N];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int k = job.e - job.a;
    for (int i = threadIdx.x; i < N * N; i += SUPERNODAL_ROWS) {
        const int r = i % N, c = i / N;
        D[r][c] = r >= c && r < k ? P[job.a + r + (int64_t)(job.a + c) * p.ld] : zero_of<T>();
    }
    __syncthreads();
    const int row = job.x + threadIdx.x;
    if (row >= p.height) return;
    T v[N];
#pragma unroll
    for (int c = 0; c < N; c++) v[c] = c < k ? P[row + (int64_t)(job.a + c) * p.ld] : zero_of<T>();
#pragma unroll
    for (int c = 0; c < N; c++) {
        T sum = zero_of<T>();
#pragma unroll
        for (int l = c; l < N; l++) multiply_add(sum, v[l], D[l][c]);
        if (c < k) P[row + (int64_t)(job.a + c) * p.ld] = sum;
    }
}

/** P(b.., a..) also to above the diagonal, transposed. */
template <typename T> __global__ void __launch_bounds__(256) transpose_piece(const numeric_args<T> a, const supernodal_job *jobs)
{
    __shared__ T piece[32][33];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int lane = threadIdx.x % 32;
    for (int c = threadIdx.x / 32; c < 32; c += 8)
        if (job.x + lane < job.e && job.y + c < job.b) piece[lane][c] = P[job.x + lane + (int64_t)(job.y + c) * p.ld];
    __syncthreads();
    for (int r = threadIdx.x / 32; r < 32; r += 8)
        if (job.x + r < job.e && job.y + lane < job.b) P[job.y + lane + (int64_t)(job.x + r) * p.ld] = piece[r][lane];
}

/** With [Da; M; Ga] the columns a..b-1 and [Db; Gb] the columns b..e-1, both inverted: M := -Db M, Ga := Ga - Gb M. M is read
 *  from where transpose_piece put it. */
template <typename T> __global__ void __launch_bounds__(256) combine_columns(const numeric_args<T> a, const supernodal_job *jobs)
{
    constexpr int SIDE = SUPERNODAL_TILE, DEPTH = 16, EACH = 4;
    __shared__ T left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    T sum[EACH][EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) sum[i][j] = zero_of<T>();
    const int depth_end = min(job.e, job.x + SIDE); /* Db is lower triangular */
    for (int k0 = job.b; k0 < depth_end; k0 += DEPTH) {
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += 256) {
            const int s = i % SIDE, k = k0 + i / SIDE, r = job.x + s, c = job.y + s;
            const bool inside = k < job.e;
            left[i / SIDE][s] = inside && r < p.height && r >= k ? P[r + (int64_t)k * p.ld] : zero_of<T>();
            right[i / SIDE][s] = inside && c < job.b ? P[c + (int64_t)k * p.ld] : zero_of<T>();
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            T l[EACH], r[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) l[i] = left[k][tx + 16 * i];
#pragma unroll
            for (int j = 0; j < EACH; j++) r[j] = right[k][ty + 16 * j];
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) multiply_add(sum[i][j], l[i], r[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int c = job.y + ty + 16 * j;
        if (c >= job.b) continue;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int r = job.x + tx + 16 * i;
            if (r >= p.height) continue;
            T *out = P + r + (int64_t)c * p.ld;
            *out = (r < job.e ? zero_of<T>() : *out) - sum[i][j];
        }
    }
}

template <typename T> __global__ void __launch_bounds__(256) clear_above(const numeric_args<T> a, const supernodal_job *jobs)
{
    const supernodal_job job = jobs[blockIdx.x];
    const supernodal_panel p = a.panels[job.panel];
    T *P = a.values + p.values;
    for (int c = job.a + threadIdx.x / 32; c < job.b; c += 8)
        for (int r = threadIdx.x % 32; r < job.a; r += 32) P[r + (int64_t)c * p.ld] = zero_of<T>();
}

/* ------------------------------------------------------------- host side */

template <typename T> constexpr int block_width() { return sizeof(T) == 16 ? 4 : 8; }
int block_width_of(trine_dtype t) { return t == TRINE_Z ? 4 : 8; }

struct device_side {
    supernodal_panel *panels;
    source_panel *sources;
    int32_t *rows, *original, *source_rows;
    supernodal_job *jobs;
    int n_stages;
    int64_t stages[80];
    supernodal_tile *tiles[2]; /* forward, backward */
    int32_t *tickets[2];
    int64_t n_tickets[2], n_init, n_source_values;
    int blocks[2][2];          /* resident: [direction][many right-hand sides] */
    unsigned *bad_row;
};

void cuda_destroy(trine_supernodal plan)
{
    device_side *d = static_cast<device_side *>(plan->device);
    void *const all[] = {d->panels, d->sources, d->rows, d->original, d->source_rows, d->jobs, d->tiles[0], d->tiles[1],
                         d->tickets[0], d->tickets[1], d->bad_row};
    for (void *p : all) trine_free(plan->ctx, TRINE_DEVICE, p);
    trine_free(plan->ctx, TRINE_HOST, d);
    plan->device = nullptr;
}

template <typename U> trine_status upload(trine_supernodal plan, const U *from, int64_t count, U **to)
{
    const size_t bytes = (size_t)count * sizeof(U);
    trine_status status = trine_alloc(plan->ctx, TRINE_DEVICE, bytes, reinterpret_cast<void **>(to));
    if (!status && count) status = trine_copy(plan->ctx, *to, TRINE_DEVICE, from, TRINE_HOST, bytes);
    if (!status) plan->bytes += (int64_t)bytes;
    return status;
}

template <typename T> trine_status resident_blocks(trine_supernodal plan, int blocks[2][2])
{
    const void *const kernels[2][2] = {{(const void *)solve_panels<T, 1, true>, (const void *)solve_panels<T, block_width<T>(), true>},
                                       {(const void *)solve_panels<T, 1, false>, (const void *)solve_panels<T, block_width<T>(), false>}};
    for (int direction = 0; direction < 2; direction++) {
        for (int many = 0; many < 2; many++) {
            int per_multiprocessor = 0;
            trine_status status = GPU(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernels[direction][many], THREADS, 0));
            if (status) return status;
            blocks[direction][many] = std::max(1, per_multiprocessor) * plan->ctx->info.multiprocessors;
        }
    }
    return TRINE_SUCCESS;
}

trine_status cuda_analyse(trine_supernodal plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const supernodal_structure *S = &plan->S;
    supernodal_schedule schedule = {};
    supernodal_inversion inversion = {};
    source_panel *sources = nullptr;
    int saved;
    device_side *d = static_cast<device_side *>(trine_host_calloc(ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    plan->device = d;
    trine_device_enter(ctx, &saved);
    d->n_init = std::max<int64_t>(1, std::min<int64_t>((S->n + 511) / 512, ctx->info.multiprocessors));

    sources = static_cast<source_panel *>(trine_host_alloc(ctx, S->n_sources, sizeof *sources));
    if (!sources) FAIL(TRINE_ERR_MEMORY, "no memory for %lld panels", (long long)S->n_sources);
    for (int64_t s = 0; s < S->n_sources; s++) {
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s];
        sources[s] = {S->source_value_offsets[s], S->source_row_offsets[s], S->target[s], S->target_column[s], S->source_width[s], (int32_t)height};
        d->n_source_values = std::max(d->n_source_values, S->source_value_offsets[s] + height * S->source_width[s]);
    }
    TRY(upload(plan, sources, S->n_sources, &d->sources));
    TRY(upload(plan, S->panels, S->n_panels, &d->panels));
    TRY(upload(plan, S->rows, S->n_rows, &d->rows));
    TRY(upload(plan, S->original, S->n, &d->original));
    TRY(upload(plan, S->source_rows, S->n_sources ? S->source_row_offsets[S->n_sources] : 0, &d->source_rows));
    for (int direction = 0; direction < 2; direction++) {
        TRY(supernodal_schedule_build(S, direction == 0, trine_dtype_size(plan->dtype), d->n_init, &schedule));
        d->n_tickets[direction] = schedule.n_tickets;
        TRY(upload(plan, schedule.tiles, schedule.n_tiles, &d->tiles[direction]));
        TRY(upload(plan, schedule.tickets, schedule.n_tickets + 1, &d->tickets[direction]));
        supernodal_schedule_free(ctx, &schedule);
    }
    TRY(supernodal_inversion_build(S, &inversion));
    d->n_stages = inversion.n_stages;
    memcpy(d->stages, inversion.stages, sizeof d->stages);
    TRY(upload(plan, inversion.jobs, inversion.n_jobs, &d->jobs));
    TRY(trine_alloc(ctx, TRINE_DEVICE, sizeof *d->bad_row, reinterpret_cast<void **>(&d->bad_row)));
    switch (plan->dtype) {
    case TRINE_S: TRY(resident_blocks<float>(plan, d->blocks)); break;
    case TRINE_D: TRY(resident_blocks<double>(plan, d->blocks)); break;
    case TRINE_C: TRY(resident_blocks<complex_of<float>>(plan, d->blocks)); break;
    case TRINE_Z: TRY(resident_blocks<complex_of<double>>(plan, d->blocks)); break;
    }
done:
    trine_device_leave(ctx, saved);
    supernodal_schedule_free(ctx, &schedule);
    trine_free(ctx, TRINE_HOST, inversion.jobs);
    trine_free(ctx, TRINE_HOST, sources);
    return status;
}

template <typename T> trine_status numeric(trine_supernodal plan, const void *from, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    const numeric_args<T> a = {d->panels, d->sources, d->source_rows, d->original, static_cast<const T *>(from),
                               static_cast<T *>(plan->values), d->bad_row, plan->diag == TRINE_UNIT};
    trine_status status = TRINE_SUCCESS;
    TRY(GPU(gpuMemsetAsync(d->bad_row, 0xFF, sizeof *d->bad_row, s)));
    TRY(GPU(gpuMemsetAsync(plan->values, 0, (size_t)plan->S.n_values * sizeof(T), s)));
    for (int k = 0; k < d->n_stages; k++) {
        const supernodal_job *jobs = d->jobs + d->stages[k];
        const unsigned count = (unsigned)(d->stages[k + 1] - d->stages[k]);
        if (!count) continue;
        if (k == 0) copy_columns<T><<<count, 128, 0, s>>>(a, jobs);
        else if (k == 1) invert_diagonal<T><<<count, 32, 0, s>>>(a, jobs);
        else if (k == 2) multiply_below<T><<<count, SUPERNODAL_ROWS, 0, s>>>(a, jobs);
        else if (k == d->n_stages - 1) clear_above<T><<<count, 256, 0, s>>>(a, jobs);
        else if (k % 2 == 1) transpose_piece<T><<<count, 256, 0, s>>>(a, jobs);
        else combine_columns<T><<<count, 256, 0, s>>>(a, jobs);
        TRY(GPU_LAUNCHED("the panel inversion"));
    }
done:
    return status;
}

trine_status cuda_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = static_cast<const device_side *>(plan->device);
    void *copied = nullptr;
    int saved;
    trine_device_enter(plan->ctx, &saved);
    if (space == TRINE_HOST) {
        const size_t bytes = (size_t)d->n_source_values * trine_dtype_size(plan->dtype);
        TRY(trine_alloc(plan->ctx, TRINE_DEVICE, bytes, &copied));
        TRY(trine_device_copy_async(plan->ctx, copied, values, bytes, stream));
        values = copied;
    }
    switch (plan->dtype) {
    case TRINE_S: TRY(numeric<float>(plan, values, stream)); break;
    case TRINE_D: TRY(numeric<double>(plan, values, stream)); break;
    case TRINE_C: TRY(numeric<complex_of<float>>(plan, values, stream)); break;
    case TRINE_Z: TRY(numeric<complex_of<double>>(plan, values, stream)); break;
    }
    if (copied) TRY(trine_device_synchronize(plan->ctx, stream));
done:
    if (copied) trine_free(plan->ctx, TRINE_DEVICE, copied);
    trine_device_leave(plan->ctx, saved);
    return status;
}

trine_status cuda_singular_row(trine_supernodal plan, void *stream, int64_t *row)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    unsigned bad = 0;
    trine_status status = trine_device_copy_async(plan->ctx, &bad, d->bad_row, sizeof bad, stream);
    if (!status) status = trine_device_synchronize(plan->ctx, stream);
    *row = bad == 0xFFFFFFFFu ? -1 : (int64_t)bad;
    return status;
}

/** Parts of a work's buffer, each on 256 bytes. */
struct layout {
    int64_t n_blocks;
    size_t epochs[2], counters[2], t, x, bytes;
};
layout layout_of(trine_supernodal plan, int64_t nrhs)
{
    const int width = nrhs > 1 ? block_width_of(plan->dtype) : 1;
    layout l = {};
    l.n_blocks = (nrhs + width - 1) / width;
    size_t at = 2 * sizeof(solve_state);
    auto take = [&](size_t bytes) {
        const size_t begin = at;
        at += (bytes + 255) / 256 * 256;
        return begin;
    };
    for (int direction = 0; direction < 2; direction++) {
        l.epochs[direction] = take((size_t)l.n_blocks * sizeof(unsigned));
        l.counters[direction] = take((size_t)l.n_blocks * (size_t)(plan->S.n_panels + 1) * sizeof(unsigned));
    }
    const size_t vectors = (size_t)l.n_blocks * (size_t)width * (size_t)plan->S.n * trine_dtype_size(plan->dtype);
    l.t = take(vectors);
    l.x = take(vectors);
    l.bytes = at;
    return l;
}

size_t cuda_work_bytes(trine_supernodal plan, int64_t nrhs) { return layout_of(plan, nrhs).bytes; }

trine_status cuda_work_init(trine_supernodal plan, supernodal_work *work)
{
    trine_status status = trine_device_fill_async(plan->ctx, work->buffer, 0, layout_of(plan, work->nrhs).t, plan->ctx->stream);
    return status ? status : trine_device_synchronize(plan->ctx, plan->ctx->stream);
}

template <typename T, int WIDTH> trine_status launch(trine_supernodal plan, const solve_args<T> &a, bool forward, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const int64_t tickets = (d->n_init + a.n_tickets) * a.n_blocks;
    const unsigned blocks = (unsigned)std::min<int64_t>(tickets, d->blocks[!forward][WIDTH > 1]);
    if (forward) solve_panels<T, WIDTH, true><<<blocks, THREADS, 0, static_cast<gpuStream_t>(stream)>>>(a);
    else solve_panels<T, WIDTH, false><<<blocks, THREADS, 0, static_cast<gpuStream_t>(stream)>>>(a);
    return GPU_LAUNCHED("the supernodal solve");
}

template <typename T>
trine_status solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                   supernodal_work *work, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const int direction = op == TRINE_N ? 0 : 1;
    const layout l = layout_of(plan, work->nrhs);
    char *buffer = static_cast<char *>(work->buffer);
    const bool b_by_column = B->layout == TRINE_COLMAJOR, x_by_column = X->layout == TRINE_COLMAJOR;
    solve_args<T> a = {};
    a.tiles = d->tiles[direction];
    a.tickets = d->tickets[direction];
    a.rows = d->rows;
    a.original = d->original;
    a.values = static_cast<const T *>(plan->values);
    a.B = static_cast<const T *>(B->data);
    a.X = static_cast<T *>(X->data);
    a.t = reinterpret_cast<T *>(buffer + l.t);
    a.x = reinterpret_cast<T *>(buffer + l.x);
    a.b_row = b_by_column ? 1 : B->ld;
    a.b_col = b_by_column ? B->ld : 1;
    a.x_row = x_by_column ? 1 : X->ld;
    a.x_col = x_by_column ? X->ld : 1;
    a.n = plan->S.n;
    a.nrhs = B->cols;
    a.state = reinterpret_cast<solve_state *>(buffer) + direction;
    a.epochs = reinterpret_cast<unsigned *>(buffer + l.epochs[direction]);
    a.counters = reinterpret_cast<unsigned *>(buffer + l.counters[direction]);
    a.n_panels = (int32_t)plan->S.n_panels;
    a.n_init = (int32_t)d->n_init;
    a.n_tickets = (int32_t)d->n_tickets[direction];
    memcpy(&a.alpha, alpha, sizeof(T));
    a.conjugate = op == TRINE_H;
    const int width = B->cols > 1 ? block_width<T>() : 1;
    a.n_blocks = (int32_t)((B->cols + width - 1) / width);
    if ((d->n_init + d->n_tickets[direction]) * a.n_blocks > INT32_MAX / 2)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "%lld right-hand sides in one call are too many for this factor", (long long)B->cols);
    int saved;
    trine_device_enter(plan->ctx, &saved);
    const trine_status status = width == 1 ? launch<T, 1>(plan, a, direction == 0, stream)
                                           : launch<T, block_width<T>()>(plan, a, direction == 0, stream);
    trine_device_leave(plan->ctx, saved);
    return status;
}

trine_status cuda_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                        supernodal_work *work, void *stream)
{
    switch (plan->dtype) {
    case TRINE_S: return solve<float>(plan, op, alpha, B, X, work, stream);
    case TRINE_D: return solve<double>(plan, op, alpha, B, X, work, stream);
    case TRINE_C: return solve<complex_of<float>>(plan, op, alpha, B, X, work, stream);
    case TRINE_Z: return solve<complex_of<double>>(plan, op, alpha, B, X, work, stream);
    }
    return TRINE_ERR_ARGUMENT;
}

} // namespace

extern "C" const struct supernodal_backend supernodal_cuda = {
    cuda_analyse, cuda_destroy, cuda_numeric, cuda_singular_row, cuda_work_bytes, cuda_work_init, cuda_solve};
