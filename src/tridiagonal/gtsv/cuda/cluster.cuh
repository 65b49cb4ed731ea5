/* The solve of short systems in one kernel, by one block or by a cluster of blocks. Partitions are joined within
 * warps, what is left of warps within their block, and what is left of blocks within the cluster, each of these in
 * all warps, which takes less time than handing results around. The time is the chain of dependent operations, and
 * where another kernel ran before, that of instructions on their way; so there are as few warps on a multiprocessor
 * as it has schedulers, and rows stay in registers. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_CLUSTER_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_CLUSTER_CUH

#include "core/gpu_cluster.cuh"
#include "tridiagonal/gtsv/cuda/careful_partition.cuh"
#include "tridiagonal/gtsv/cuda/warp_tile.cuh"
#include "tridiagonal/gtsv/cuda/interface_tree.cuh"

/** The most blocks of a cluster, and warps of a block; there always is a power of two of each. */
constexpr int SHORT_BLOCKS = 16, SHORT_WARPS = 8;

template <typename T, bool PERMUTED = false> struct short_solve : gtsv_solve<T, PERMUTED> {
    const int32_t *fallback; /* flag: is_not_needed */
    int lanes;               /* that have rows */
    bool plain;              /* everything is 16-byte aligned, and bands are taken as they are */
    int64_t next;            /* solve_short_systems: elements from the bands of a system to those of the next one */
};

/* ---------------------------------------------------------- a lane's partition */

/** residual_at, once in a kernel. */
template <typename T> __device__ __noinline__ T residual_apart(const system_of<T> &A, const T *x, int64_t i, T d)
{
    return residual_at(A, x, i, d);
}

/** The partitions of lanes that are kept.again, from what they keep, and of those that are `apart`, from the system,
 *  to x[row][right-hand side]; by the warp. */
template <typename T, int NR, int M, bool P> __device__ __noinline__ void
solve_lanes_carefully(const gtsv_solve<T, P> &s, lane_range<T> range, bool again, bool apart,
                      careful_lane<T, NR, M> &kept, known_of<T, NR> known, T (&x)[M][NR])
{
    const auto write = [&](int i, int k, T value) { x[i][k] = value; };
    shared_leaves<T, NR, M> shared;
    if (__any_sync(~0u, again)) {
        if (kept.shared.any()) kept.shared.give(known, x);
        else if (again) substitute_lane<T, NR>(s.A, range, kept.elimination, known, write);
        __syncwarp();
    }
    const bool left = apart && !again;
    if (!__any_sync(~0u, left)) return;
    if (shared.take(left, range.rows)) {
        shared.join(s.A, s.D, range);
        T own[M][NR];
        shared.give(known, own);
        for (int j = 0; shared.has_own() && j < M; j++)
            for (int k = 0; k < NR; k++) x[j][k] = own[j][k];
    } else if (left) {
        reduce_lane<T, NR>(s.A, s.D, range, kept.elimination);
        substitute_lane<T, NR>(s.A, range, kept.elimination, known, write);
    }
}

/** The M rows of a lane in registers, unrolled. */
template <typename T, int NR, int M, bool RING> struct lane_partition {
    static constexpr int C = 16 / sizeof(T); /* numbers are moved in 16-byte vectors where they lie so */
    struct alignas(16) vector16 { T v[C]; };

    /** Of a lane's rows; M of them are a multiple of four, and begin at one. */
    struct places_of {
        int32_t at[M];
        __device__ __forceinline__ void read(const int32_t *places, int64_t index)
        {
#pragma unroll
            for (int j = 0; j < M; j += 4) {
                const int4 four =
                    places ? *(const int4 *)(places + index + j)
                           : make_int4((int)index + j, (int)index + j + 1, (int)index + j + 2, (int)index + j + 3);
                at[j] = four.x, at[j + 1] = four.y, at[j + 2] = four.z, at[j + 3] = four.w;
            }
        }
    };

    row_of<T, NR> row[M]; /* after reduce, row j >= 2 is as eliminate_keeping leaves it */
    int64_t first;        /* the first row's index */
    int rows;             /* M; at the end of the system fewer, an even number, or 0 */
    bool from_row0;       /* the first inner unknown comes from row 0 */
    int lost;             /* by both rows that reduce leaves */
    bool is_wide;         /* a row of the warp has a fourth coefficient */
    bool lends, borrows;  /* In a cyclic system a single row at the end is no partition, having two neighbours: its
                             lane borrows the last row of the lane before it, which goes first. */

    /** Rows `index` and following, as many as there are, with right-hand sides column .. column + count - 1. */
    template <bool P> __device__ __forceinline__ void load(bool plain, const system_of<T> &A, columns_of<const T, P> D,
                                                           int64_t index, int64_t column, int count)
    {
        const int64_t left = A.n - index;
        first = index;
        lends = RING && left == M + 1, borrows = RING && left == 1;
        rows = lends ? M - 1 : left >= M ? M : left <= 0 ? 0 : (int)(RING && left > 1 ? left : left + left % 2);
        is_wide = A.wide_rows > 0 && has_wide_rows(A, index, M);
        if (__builtin_expect(plain && left >= M, 1)) {
            const T *lower = A.lower + index, *diag = A.diag + index, *upper = A.upper + index,
                    *rhs = D.data + column * D.ld + (P ? 0 : index);
            places_of places;
            if constexpr (P) places.read(D.at, index);
#pragma unroll
            for (int k = 0; k < M / C; k++) {
                const vector16 l = ((const vector16 *)lower)[k], d = ((const vector16 *)diag)[k],
                               u = ((const vector16 *)upper)[k];
#pragma unroll
                for (int i = 0; i < C; i++)
                    row[k * C + i].lower = l.v[i], row[k * C + i].diag = d.v[i], row[k * C + i].upper = u.v[i];
            }
#pragma unroll
            for (int r = 0; r < NR; r++) {
                if constexpr (P) {
#pragma unroll
                    for (int j = 0; j < M; j++) row[j].rhs[r] = rhs[r * D.ld + places.at[j]];
                } else {
#pragma unroll
                    for (int k = 0; k < M / C; k++) {
                        const vector16 b = ((const vector16 *)(rhs + r * D.ld))[k];
#pragma unroll
                        for (int i = 0; i < C; i++) row[k * C + i].rhs[r] = b.v[i];
                    }
                }
            }
            if (!A.cyclic) { /* the corners are nobody's: they are never read as numbers */
                if (index == 0) row[0].lower = T{};
                if (left == M) row[M - 1].upper = T{};
            }
        } else {
#pragma unroll
            for (int j = 0; j < M; j++) {
                const int64_t i = index + j - borrows;
                row[j] = identity_row<T, NR>();
                if (i >= A.n) continue;
                row[j].lower = lower_of(A, i), row[j].diag = diag_of(A, i), row[j].upper = upper_of(A, i);
#pragma unroll
                for (int r = 0; r < NR; r++)
                    if (r < count) row[j].rhs[r] = D.data[(column + r) * D.ld + D.place(i)];
            }
        }
    }
    /** The guess in what load has loaded, and in what store is about to store. */
    __device__ __forceinline__ void subtract_product(const system_of<T> &A, columns_of<const T> guess, int64_t column,
                                                     int count)
    {
#pragma unroll
        for (int j = 0; j < M; j++)
#pragma unroll
            for (int r = 0; r < NR; r++)
                if (first + j - borrows < A.n && r < count)
                    row[j].rhs[r] =
                        residual_apart(A, guess.data + (column + r) * guess.ld, first + j - borrows, row[j].rhs[r]);
    }
    __device__ __forceinline__ void add_guess(int64_t n, columns_of<const T> guess, int64_t column, int count)
    {
#pragma unroll
        for (int j = 0; j < M; j++)
#pragma unroll
            for (int r = 0; r < NR; r++)
                if (first + j < n && r < count)
                    row[j].rhs[r] = guess.data[(column + r) * guess.ld + first + j] + row[j].rhs[r];
    }
    /** The solution, which stands where the right-hand sides were. */
    __device__ __forceinline__ void store(bool plain, int64_t n, columns_of<T> X, int64_t column, int count) const
    {
#pragma unroll
        for (int r = 0; r < NR; r++) {
            T *x = X.data + (column + r) * X.ld + first;
            if (r >= count) continue;
            if (__builtin_expect(plain && n - first >= M, 1)) {
#pragma unroll
                for (int k = 0; k < M / C; k++) {
                    vector16 p;
#pragma unroll
                    for (int i = 0; i < C; i++) p.v[i] = row[k * C + i].rhs[r];
                    ((vector16 *)x)[k] = p;
                }
            } else {
#pragma unroll
                for (int j = 0; j < M; j++)
                    if (first + j < n) x[j] = row[j].rhs[r];
            }
        }
    }
    __device__ __forceinline__ void store(bool plain, int64_t n, columns_of<T, true> X, int64_t column, int count) const
    {
        if (__builtin_expect(plain && n - first >= M, 1)) {
            places_of places;
            places.read(X.at, first);
#pragma unroll
            for (int r = 0; r < NR; r++)
#pragma unroll
                for (int j = 0; j < M; j++)
                    if (r < count) X.put_there(places.at[j], column + r, row[j].rhs[r]);
            return;
        }
#pragma unroll
        for (int r = 0; r < NR; r++)
#pragma unroll
            for (int j = 0; j < M; j++)
                if (r < count && first + j < n) X.put(first + j, column + r, row[j].rhs[r]);
    }

    /** What is left of the rows without the inner unknowns, removed from below and from above in step; the pivot
     *  rows from above replace the rows. */
    __device__ __forceinline__ rows_of<T, NR> reduce(pivoting p)
    {
        return __builtin_expect(rows == M, 1) ? reduce_rows<true>(p) : reduce_rows<false>(p);
    }
    template <bool WHOLE> __device__ __forceinline__ rows_of<T, NR> reduce_rows(pivoting p)
    {
        row_of<T, NR> down = identity_row<T, NR>(), up = down, kept[M];
        if (WHOLE || rows) down = row[1];
        weight_of<T> weight = weigh(p, down);
        T times_last = one_of<T>(), times_first = times_last, times_carried;
        int size_last = largest_logarithm(row[1]);
        const int size_first = largest_logarithm(row[0]);
        kept[0] = row[0], kept[1] = row[1];
        from_row0 = (WHOLE || rows > 2) && exceeds(p, row[0].upper, scale_of(p, row[0]),
                                                   max(logarithm(row[1].diag) - scale_of(p, row[1]),
                                                       logarithm(row[2].lower) - scale_of(p, row[2])));
#pragma unroll
        for (int j = M - 2; j >= 0; j--) {
            const int k = M - j;
            if (k < M && k >= 2) {
                kept[k] = row[k];
                if (WHOLE || k < rows)
                    eliminate_keeping(p, down, weight, kept[k], times_last), size_last = largest_logarithm(row[k]);
            }
            if (WHOLE ? j == M - 2 : j == rows - 2) up = reversed(row[j]);
            else if (WHOLE || j < rows - 2) eliminate(up, reversed(row[j]), times_first, times_carried);
        }
        lost = !WHOLE && rows == 0
                   ? NOTHING_LOST
                   : normalize_both(up, part_of(p, times_first, size_first), down, part_of(p, times_last, size_last));
#pragma unroll
        for (int j = 0; j < M; j++) row[j] = kept[j];
        return {reversed(up), down};
    }

    /** The solution in place of the right-hand sides; careful: the warp has eliminated so. */
    template <bool P> __device__ __forceinline__ void substitute(const short_solve<T, P> &s, pivoting p,
                                                                 const lane_range<T> &range,
                                                                 const known_of<T, NR> &known, bool careful,
                                                                 careful_lane<T, NR, M> &kept)
    {
        const agreement agrees =
            __builtin_expect(rows == M, 1) ? substitute_rows<true>(p, known) : substitute_rows<false>(p, known);
        if (__builtin_expect(is_any_apart(agrees) | careful, 0)) {
            const bool again = careful && kept.again, apart = is_any_apart(agrees) && is_apart(agrees);
            T x[M][NR];
            solve_lanes_carefully<T, NR, M>(s, range, again, apart, kept, known, x);
            if (again | apart)
#pragma unroll
                for (int j = 0; j < M; j++)
#pragma unroll
                    for (int k = 0; k < NR; k++) row[j].rhs[k] = x[j][k];
        }
        if (RING && (lends | borrows)) {
#pragma unroll
            for (int k = 0; k < NR; k++) {
                if (lends) row[M - 1].rhs[k] = known.after[k];
                if (borrows) row[0].rhs[k] = row[1].rhs[k];
            }
        }
    }
    /** Do a pivot row and row 0 agree? second_unknown. */
    template <bool WHOLE> __device__ __forceinline__ agreement substitute_rows(pivoting p, const known_of<T, NR> &known)
    {
        second_unknown<T, NR> second;
        const row_of<T, NR> row0 = row[0];
        T next[NR], next2[NR]; /* x[j], x[j+1] */
        second.from(row[0], from_row0, known);
#pragma unroll
        for (int k = 0; k < NR; k++) next[k] = known.last[k], next2[k] = known.after[k];
#pragma unroll
        for (int j = M - 1; j >= 2; j--) {
            if (!WHOLE && j >= rows) continue;
#pragma unroll
            for (int k = 0; k < NR; k++) {
                const T value =
                    row[j].rhs[k] - row[j].upper * known.first[k] - row[j].diag * next2[k] - row[j].lower * next[k];
                row[j].rhs[k] = next[k];
                next2[k] = next[k], next[k] = value;
            }
        }
        if (WHOLE || rows > 2) second.choose(p, next);
#pragma unroll
        for (int k = 0; k < NR; k++) row[1].rhs[k] = next[k], row[0].rhs[k] = known.first[k];
        if (__builtin_expect(second.apart == AGREE, 1)) return AGREE;
        T x3[NR];
#pragma unroll
        for (int k = 0; k < NR; k++) x3[k] = WHOLE || rows > 3 ? row[3].rhs[k] : known.after[k];
        return second.look(p, row0, row[2], known.first, row[2].rhs, x3);
    }
};

/* ------------------------------------------------------ what blocks send each other */

/** The mailbox of a block, of which each block of the cluster fills one slot; data and notice travel together. */
template <typename T, int NR> struct mailbox {
    stored_pair<T, NR> slots[SHORT_BLOCKS / 2];
    uint64_t arrived;

    /** By one thread, before any block sends: wait_for_mailboxes. */
    __device__ void open()
    {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&arrived))
                     : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    /** By one thread, once: what is to come. Until then the wait does not end, however much is there. */
    __device__ void expect(int blocks)
    {
#if __CUDA_ARCH__ >= 900
        const unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"((unsigned)(blocks * sizeof(stored_rows<T, NR>)))
                     : "memory");
#endif
    }
    /** Put rows into slot `from` of block `to`. */
    __device__ __forceinline__ void send(int to, int from, const stored_rows<T, NR> &rows)
    {
#if __CUDA_ARCH__ >= 900
        unsigned there, barrier;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(there)
            : "r"((unsigned)__cvta_generic_to_shared(&leaf_of(slots, from))), "r"(to));
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(barrier)
            : "r"((unsigned)__cvta_generic_to_shared(&arrived)), "r"(to));
#pragma unroll
        for (int i = 0; i < (int)sizeof rows / 16; i++) {
            const int4 word = ((const int4 *)&rows)[i];
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                    there + 16 * i),
                "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "r"(barrier)
                : "memory");
        }
#endif
    }
    /** Until every block has sent. */
    __device__ void wait()
    {
#if __CUDA_ARCH__ >= 900
        const unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived);
        unsigned done;
        do
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(barrier)
                         : "memory");
        while (!done);
#endif
    }
};
__device__ inline void mailbox_is_open() { SINCE_HOPPER("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ inline void wait_for_mailboxes() { SINCE_HOPPER("barrier.cluster.wait.acquire.aligned;"); }

/* ------------------------------------------------------------------- the kernel */

/** Shared memory of a tile: what is left of its lanes, and unions. */
template <typename T, int NR> struct warp_memory {
    stored_pair<T, NR> lanes[WARP / 2], of_lanes[WARP / 2], of_warps[SHORT_WARPS / 2], of_blocks[SHORT_BLOCKS / 2];
};
/** ... and of a block beside that of its warps. */
template <typename T, int NR> struct block_memory {
    stored_pair<T, NR> warps[SHORT_WARPS / 2];
    mailbox<T, NR> blocks;
};

/** Where the trees end: lane i has the interface behind leaf i, the last lane that of the whole system's two rows,
 *  which are taken for the meeting rows of two partitions with nothing around them. */
template <typename T, int NR, bool RING> __device__ __forceinline__ interface_of<T, NR>
find_interface_or_close(pivoting p, const stored_pair<T, NR> &pair, const stored_rows<T, NR> &root)
{
    rows_of<T, NR> A = read_rows(pair.half[0]), B = read_rows(pair.half[1]);
    if (threadIdx.x % WARP == WARP - 1) {
        const rows_of<T, NR> whole = read_rows(root);
        A.last = whole.first, B.first = whole.last;
        /* each other's neighbours on either side */
        if (RING) A.last.upper = A.last.upper + A.last.lower, B.first.lower = B.first.lower + B.first.upper;
        A.last.lower = B.first.upper = A.first.upper = B.last.lower = T{};
    }
    return find_interface(p, A, B);
}
/** The unknowns at the ends of the whole system, from the last lane's interface. */
template <typename T, int NR, bool RING> __device__ __forceinline__ known_of<T, NR>
known_ends_of_system(const interface_of<T, NR> &interface)
{
    known_of<T, NR> known = {};
    T first[NR], last[NR];
    meet_right(interface, known, last), meet_left(interface, known, last, first);
#pragma unroll
    for (int k = 0; k < NR; k++) {
        known.first[k] = shuffle_from(first[k], WARP - 1), known.last[k] = shuffle_from(last[k], WARP - 1);
        if (RING) known.before[k] = known.last[k], known.after[k] = known.first[k];
    }
    return known;
}

/** Where a system is solved once more, carefully, shared memory is given out anew. */
template <typename T, int NR> struct careful_memory {
    parts_of<T, NR, SHORT_WARPS> tiles;
    parts_of<T, NR, SHORT_BLOCKS> blocks;
};

/** The rows of a tile that has been joined carefully, or a mark if they do not fit a tridiagonal system. */
template <typename T, int NR> __device__ __noinline__ void store_carefully(stored_rows<T, NR> &left,
                                                                           wide_union<T, NR> u, bool may_fit)
{
    if (threadIdx.x % WARP == 0)
        store_rows(left, may_fit && fit_tridiagonal(u) ? tridiagonal_rows(u, true) : marked_wide(read_rows(left)));
    __syncwarp();
}

/** The system of solve_short, carefully; lanes have the rows that they have there. By all threads of the cluster. */
template <typename T, int NR, int M, bool P> __device__ __noinline__ void
solve_short_carefully(const short_solve<T, P> &s, void *shared, lane_range<T> mine)
{
    static_assert(sizeof(careful_memory<T, NR>) <= sizeof(warp_memory<T, NR>), "it fits");
    careful_memory<T, NR> &memory = *(careful_memory<T, NR> *)shared;
    const int tiles = blockDim.x / WARP, number = threadIdx.x / WARP, lane = threadIdx.x % WARP, blocks = gridDim.x,
              block = blockIdx.x;
    const int tiles_there = max(0, min(tiles, (s.lanes + WARP - 1) / WARP - block * tiles)),
              blocks_there = (s.lanes + WARP * tiles - 1) / (WARP * tiles);
    const auto wait = [&] {
        if (blocks > 1) cluster_barrier();
        else __syncthreads();
    };
    known_of<T, NR> around = {};
    wait(); /* nobody needs shared memory for anything else any more */
    const wide_union<T, NR> of_tile = reduce_carefully<T, NR>(s.A, s.D, mine);
    if (lane == 0 && of_tile.there) memory.tiles.put(number, of_tile);
    __syncthreads();
    if (number == 0) {
        const wide_union<T, NR> of_block = memory.tiles.reduce(tiles_there);
        if (lane < blocks && of_block.there)
            (blocks > 1 ? in_block(&memory, lane) : &memory)->blocks.put(block, of_block);
    }
    wait();
    if (number == 0) memory.blocks.solve(blocks_there, close_carefully(memory.blocks.reduce(blocks_there), s.A.cyclic));
    __syncthreads();
    if (s.A.cyclic)
        for (int k = 0; k < NR; k++)
            around.before[k] = memory.blocks.v[4 + k][2 * blocks_there - 1],
            around.after[k] = memory.blocks.v[4 + k][0];
    if (tiles_there == 0) return;
    around = memory.blocks.known(block, blocks_there, around);
    if (number == 0) memory.tiles.solve(tiles_there, around);
    __syncthreads();
    solve_carefully<T, NR, M>(s.A, s.D, s.X, mine, mine.count,
                              memory.tiles.known(min(number, tiles_there - 1), tiles_there, around));
}

/** The right-hand sides from `column` on, by all threads of the cluster. */
template <typename T, int NR, int M, bool RING, bool P> __device__ __forceinline__ void
solve_short_columns(const short_solve<T, P> &s, int64_t column)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    __shared__ block_memory<T, NR> left_of;
    using tree = shared_tree<T, NR, RING>;
    const int tiles = blockDim.x / WARP, number = threadIdx.x / WARP, lane = threadIdx.x % WARP, blocks = gridDim.x,
              block = blockIdx.x;
    warp_memory<T, NR> &memory = ((warp_memory<T, NR> *)shared_memory)[number];
    const int count = s.columns_from(column, NR);
    lane_partition<T, NR, M, RING> mine;
    let_follower_start();
    wait_for_predecessor();
    if (is_not_needed(s.fallback)) return;
    mine.load(s.plain, s.A, s.D, (block * (int64_t)blockDim.x + threadIdx.x) * M, column, count);
    if (__builtin_expect(has_guess(s.D), 0)) mine.subtract_product(s.A, s.D.guess, column, count);
    const tree of_lanes = {memory.lanes, memory.of_lanes, 5, s.lanes - (block * tiles + number) * WARP},
               of_warps = {left_of.warps, memory.of_warps, __ffs(tiles) - 1,
                           (s.lanes + WARP - 1) / WARP - block * tiles},
               of_blocks = {left_of.blocks.slots, memory.of_blocks, __ffs(blocks) - 1,
                            (s.lanes + WARP * tiles - 1) / (WARP * tiles)};
    stored_rows<T, NR> *left = &of_lanes.root();
    if (blocks > 1) {
        if (threadIdx.x == 0) left_of.blocks.open();
        __syncwarp();
        mailbox_is_open();
        if (threadIdx.x == 0) left_of.blocks.expect(blocks);
    }
    store_rows(leaf_of(memory.lanes, lane), mine.reduce(s.p));
    __syncwarp();
    const lane_range<T> range = {mine.first - mine.borrows, mine.rows, column, count};
    careful_lane<T, NR, M> kept;
    const bool careful = !of_lanes.join(s.p, mine.lost) | mine.is_wide;
    if (__builtin_expect(careful, 0)) {
        kept.again = is_suspect<real_of<T>>(strict(s.p), mine.lost) | mine.is_wide;
        store_carefully(*left, join_lanes_carefully(s, range, read_rows(leaf_of(memory.lanes, lane)), kept),
                        !RING && !mine.is_wide);
    }
    if (tiles > 1) {
        if (lane == 0) leaf_of(left_of.warps, number) = *left;
        __syncthreads();
        const bool fits = of_warps.join(s.p, NOTHING_LOST);
        left = &of_warps.root();
        if (!fits) mark_wide(*left);
    }
    if (blocks > 1) {
        wait_for_mailboxes();
        if (threadIdx.x < blocks) left_of.blocks.send(lane, block, *left);
    }
    const interface_of<T, NR> lower = find_interface(s.p, of_lanes.joined_behind(lane));
    if (blocks > 1) {
        left_of.blocks.wait();
        const bool fits = of_blocks.join(s.p, NOTHING_LOST);
        left = &of_blocks.root();
        if (!fits) mark_wide(*left);
    }
    if (__builtin_expect(is_marked_wide(left->last.row), 0))
        return solve_short_carefully<T, NR, M>(s, shared_memory, range);
    /* half a warp sees to the interfaces of blocks, the other half to those of warps */
    const interface_of<T, NR> upper = find_interface_or_close<T, NR, RING>(
        s.p, lane < WARP / 2 ? of_blocks.joined_behind(lane) : of_warps.joined_behind(lane - WARP / 2), *left);
    known_of<T, NR> known = known_ends_of_system<T, NR, RING>(upper);
    if (tiles * blocks > 1) {
        of_blocks.template split<4>(upper, known, 0);
        known = shuffle_from(known, block);
        of_warps.template split<3>(upper, known, WARP / 2);
        known = shuffle_from(known, number);
    }
    if (__builtin_expect(careful, 0)) known = split_carefully(range.rows > 0, kept.meeting, known);
    else of_lanes.template split<5>(lower, known, 0);
    mine.substitute(s, careful ? strict(s.p) : s.p, range, known, careful, kept);
    if (__builtin_expect(has_guess(s.D), 0)) mine.add_guess(s.A.n, s.D.guess, column, count);
    mine.store(s.plain, s.A.n, s.X, column, count);
}

template <typename T, int NR, int M, bool RING, bool P> __global__ void __launch_bounds__(WARP *SHORT_WARPS)
    solve_short(const __grid_constant__ short_solve<T, P> s)
{
    solve_short_columns<T, NR, M, RING>(s, blockIdx.y * (int64_t)NR);
}

/** System k of a batch has right-hand side and solution k. */
template <typename T, int M, bool RING> __global__ void __launch_bounds__(WARP *SHORT_WARPS)
    solve_short_systems(const __grid_constant__ short_solve<T> batch)
{
    short_solve<T> s = batch;
    const int64_t first = blockIdx.y * batch.next;
    s.A.lower += first, s.A.diag += first, s.A.upper += first;
    solve_short_columns<T, 1, M, RING>(s, blockIdx.y);
}

#endif
