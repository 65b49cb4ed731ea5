/* The plain product with several vectors: Y := alpha op(A) X + beta Y. A block has the entries that a block of
 * segmented.cuh has, and takes them in tiles: values and columns go to shared memory once for up to LANES vectors. The
 * tile's entries are shared out evenly to groups of LANES threads, and a thread of a group has a vector: it goes along
 * the entries, row by row. What a group has of a row that began or goes on elsewhere is put together in the order of
 * entries: those of groups at the end of a tile, those of blocks by a second launch. */
#ifndef TRINE_SPMV_MANY_CUH
#define TRINE_SPMV_MANY_CUH

#include "core/gpu_follow.cuh"
#include "core/gpu_number.cuh"
#include "spmv/cuda/segmented.cuh"
#include "spmv/cuda/stretch.cuh"

/** P: a plain_product (product.cuh), whose x and y are vector 0. */
template <class P> struct several_products {
    using T = typename P::product;
    P p;
    long long x_step, y_step; /* bytes from one vector to the next */
    int nrhs;
    T *partials; /* [2 * block + which][nrhs]: of the row that another block began (0), of the one left open (1) */
};

template <class T, int BLOCK, int TILE, int LANES, int EACH> struct many_memory {
    static constexpr int GROUPS = BLOCK / LANES;
    using several = stretch<T, EACH>;
    T value[BLOCK * TILE];
    int column[BLOCK * TILE];
    several head[GROUPS][LANES], tail[GROUPS][LANES]; /* of the group's first row, if it began before; what is open */
    several carry[2][LANES];                          /* what the last tile left open, by parity */
    bool ends_head[GROUPS], has_end[GROUPS];    /* that row ends in the group; any row does */
    long long next_row;
    block_start range[2];
};

/** EACH: neighbouring vectors of a thread; more than one: elements of a row of X lie side by side, those of Y too, each
 *  EACH in a place that is a multiple of their bytes, and nrhs is a multiple. */
template <class P, int BLOCK, int TILE, int LANES, int EACH>
__global__ void __launch_bounds__(BLOCK, EACH > 1 ? 1024 / BLOCK : 1)
    multiply_several(const __grid_constant__ segmented_arguments a, const __grid_constant__ several_products<P> m)
{
    using T = typename P::product;
    using several = stretch<T, EACH>;
    constexpr int CAPACITY = BLOCK * TILE, GROUPS = BLOCK / LANES, STEP = 6;
    __shared__ many_memory<T, BLOCK, TILE, LANES, EACH> s;
    const int me = threadIdx.x, group = me / LANES, lane = me % LANES;
    let_follower_start();
    const long long b = a.first_block + (long long)blockIdx.x, vector = ((long long)blockIdx.y * LANES + lane) * EACH;
    const bool active = vector < m.nrhs;
    block_start from, to;
    if (a.starts) {
        from = a.starts[b * a.starts_each], to = a.starts[(b + 1) * a.starts_each];
    } else {
        for (int k = me / 32; k < 2; k += BLOCK / 32) {
            const block_start found = search_start(a, b + k, me % 32);
            if (me % 32 == 0) s.range[k] = found;
        }
        __syncthreads();
        from = s.range[0], to = s.range[1];
    }
    wait_for_predecessor(); /* what it wrote is read behind this, and what it reads is written */
    clip_to_rows(a, from, to);
    if (from.row > to.row || (from.row == to.row && from.nz >= to.nz)) return;

    const char *x = (const char *)m.p.x + (active ? vector : 0) * m.x_step;
    P out = m.p;
    out.y = (T *)((char *)m.p.y + (active ? vector : 0) * m.y_step);
    T *partial = m.partials ? m.partials + (2 * b) * m.nrhs + vector : nullptr;
    /* another block has the beginning of the first row */
    const bool began = a.scheme != SCHEME_ADAPTIVE && from.row < to.row && offset_at(a, from.row) < from.nz;
    const auto finish_row = [&](long long r, several sum) {
        if (!active) return;
        if (began && r == from.row) {
            *(several *)partial = sum;
        } else if constexpr (EACH == 1) {
            out.store(r, 0, sum.at[0], false);
        } else {
            several *to_store = (several *)out.at(r), old;
            if (out.reads_y) old = *to_store;
#pragma unroll
            for (int q = 0; q < EACH; q++) sum.at[q] = out.new_y(&old.at[q], sum.at[q]);
            *to_store = sum;
        }
    };

    long long row = from.row; /* the first that has not ended */
    int parity = 0;
    if (group == 0) s.carry[0][lane] = zeros<several>();
    for (long long base = from.nz;; base += CAPACITY) {
        const bool last = to.nz - base <= CAPACITY;
        const int count = last ? (int)(to.nz - base) : CAPACITY;
        __syncthreads(); /* the last tile has been read */
        for (int i = me; i < count; i += BLOCK) {
            const auto e = m.p.load(base + i);
            s.value[i] = m.p.value_of(e), s.column[i] = e.column;
        }
        /* the group's entries, and the first row that ends among them: rows without entries end at their beginning,
         * so those before the first entry of all belong to the group that has it */
        const int begin = (int)((long long)count * group / GROUPS),
                  end = (int)((long long)count * (group + 1) / GROUPS);
        const bool works = begin < end || (group == 0 && count == 0);
        const long long least = base + begin + (begin == 0 && base == from.nz ? 0 : 1);
        long long low = row, high = to.row;
        while (works && low < high) {
            const long long middle = low + (high - low) / 2;
            if (offset_at(a, middle + 1) < least) low = middle + 1;
            else high = middle;
        }
        __syncthreads(); /* the tile is there */

        several sum = zeros<several>();
        bool ends_head = false, has_end = false;
        long long r = low;
        if (works) {
            const bool head_began = r < a.n_rows && offset_at(a, r) < base + begin;
            for (int k = begin;;) {
                const long long row_end = r < to.row ? offset_at(a, r + 1) - base : (long long)end + 1;
                const int stop = row_end < end ? (int)row_end : end;
                if constexpr (EACH == 1) {
#pragma unroll 4
                    for (; k < stop; k++)
                        sum = added(sum, s.value[k], *(const several *)(x + (long long)s.column[k] * m.p.x_bytes));
                } else {
#pragma unroll 1
                    for (; k < stop; k += STEP) {
                        several operand[STEP]; /* all of them on their way before the first is waited for */
#pragma unroll
                        for (int j = 0; j < STEP; j++)
                            if (k + j < stop)
                                operand[j] = *(const several *)(x + (long long)s.column[k + j] * m.p.x_bytes);
#pragma unroll
                        for (int j = 0; j < STEP; j++)
                            if (k + j < stop) sum = added(sum, s.value[k + j], operand[j]);
                    }
                    k = stop;
                }
                if (row_end > end) break;
                if (!has_end && head_began) ends_head = true, s.head[group][lane] = sum;
                else finish_row(r, sum);
                has_end = true, sum = zeros<several>(), r++;
            }
            if (end == count && lane == 0) s.next_row = r;
        }
        s.tail[group][lane] = sum;
        if (lane == 0) s.ends_head[group] = ends_head, s.has_end[group] = has_end;
        __syncthreads(); /* sums of groups are there */

        const auto open_before = [&](int g) { /* what is open before group g, in the order of entries */
                                              int k = g - 1;
                                              while (k >= 0 && !s.has_end[k]) k--;
                                              several open = k < 0 ? s.carry[parity][lane] : s.tail[k][lane];
                                              for (k++; k < g; k++) open = open + s.tail[k][lane];
                                              return open;
        };
        if (ends_head) finish_row(low, open_before(group) + s.head[group][lane]);
        if (group == 0) s.carry[parity ^ 1][lane] = open_before(GROUPS);
        row = s.next_row;
        parity ^= 1;
        if (last) break;
    }
    if (a.scheme != SCHEME_ADAPTIVE && group == 0 && active) *(several *)(partial + m.nrhs) = s.carry[parity][lane];
}

/** to := vectors 0 .. count - 1 of X by rows, EACH places a row: threads that look at neighbouring vectors of a row
 *  then read neighbouring places. x_bytes, x_step: from one element to the next, from one vector to the next. */
template <class T, int BLOCK, int EACH> __global__ void __launch_bounds__(BLOCK)
    turn_vectors(const T *x, long long x_bytes, long long x_step, long long n, int count, T *to)
{
    __shared__ T tile[BLOCK * (EACH + 1)];
    const int me = threadIdx.x;
    const long long first = blockIdx.x * (long long)BLOCK;
    for (int v = 0; v < count && first + me < n; v++)
        tile[me * (EACH + 1) + v] = *(const T *)((const char *)x + (first + me) * x_bytes + v * x_step);
    __syncthreads();
    for (int k = me; k < BLOCK * EACH; k += BLOCK)
        if (first + k / EACH < n && k % EACH < count) to[first * EACH + k] = tile[k / EACH * (EACH + 1) + k % EACH];
}

/** The second launch: a thread for every block and vector looks whether a row that another block began ended in the
 *  block, and stores the sum of what all of them had of it, in order. */
template <class P, int BLOCK> __global__ void __launch_bounds__(BLOCK)
    join_several(const __grid_constant__ segmented_arguments a, const __grid_constant__ several_products<P> m)
{
    using T = typename P::product;
    const int lane = threadIdx.x % 32;
    const long long b = a.first_block + (long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    let_follower_start();
    wait_for_predecessor();
    if (b == 0 || b >= a.end_block) return;
    const block_start from = a.starts ? a.starts[b] : search_start(a, b, lane);
    const block_start to = a.starts ? a.starts[b + 1] : search_start(a, b + 1, lane);
    if (to.row <= from.row || from.row < a.row_begin || from.row >= a.row_end) return;
    if (offset_at(a, from.row) >= from.nz) return;
    const long long first = key_at(a, from.row) / a.entries_per_block; /* the block in which the row begins */
    for (long long v = lane; v < m.nrhs; v += 32) {
        T sum = m.partials[(2 * first + 1) * m.nrhs + v];
        for (long long k = first + 1; k < b; k++) sum = sum + m.partials[(2 * k + 1) * m.nrhs + v];
        P out = m.p;
        out.y = (T *)((char *)m.p.y + v * m.y_step);
        out.store(from.row, 0, sum + m.partials[2 * b * m.nrhs + v], false);
    }
}

#endif
