/* The solve of short systems in one kernel, by one block or by a cluster of blocks. Partitions are joined within warps, what is
 * left of warps within their block, and what is left of blocks within the cluster, each of these in all warps, which takes less
 * time than handing results around. The time is the chain of dependent operations; so there are as few warps on a multiprocessor as
 * it has schedulers, and what only the way back needs, pivot decisions and reciprocals, is put off until the warps wait for
 * the rows of the other blocks. */
#ifndef TRINE_RPTS_SHORT_CUH
#define TRINE_RPTS_SHORT_CUH

#include "tridiagonal/rpts/tile.cuh"
#include "tridiagonal/rpts/tree.cuh"

/** The most blocks of a cluster, and warps of a block; there always is a power of two of each. */
constexpr int SHORT_BLOCKS = 16, SHORT_WARPS = 8;

template <typename T> struct short_solve : tiled_solve<T> {
    const int32_t *gate; /* is_shut */
    int lanes;           /* that have rows */
};

/* ---------------------------------------------------------- a lane's partition */

/** The M rows of a lane in registers, unrolled. */
template <typename T, int NR, int M, bool RING> struct lane_partition {
    row_of<T, NR> row[M]; /* after keep_pivots, row j >= 2 is as eliminate_keeping leaves it */
    int rows;             /* M; at the end of the system fewer, an even number, or 0 */
    bool from_row0;       /* the first inner unknown comes from row 0 */
    bool lends, borrows;  /* its last row; one from the lane before: rows_of_lane */

    /** How many rows the lane has of those from `first` on, a tile's. In a cyclic system a single row at the end is no partition, having
     *  two neighbours: its lane borrows the last row of the lane before it. */
    __device__ __forceinline__ void count_rows(const system_of<T> &A, int64_t first)
    {
        lends = borrows = false;
        rows = lane_rows<T, NR, M>(A.n, first);
        if (RING) {
            const int64_t left = A.n - first - (int64_t)(threadIdx.x % WARP) * M;
            lends = left == M + 1, borrows = left == 1;
            if (lends) rows = M - 1;
            else if (left < M && left > 1) rows = (int)left;
        }
    }
    /** The row that is borrowed goes first. */
    __device__ inline void borrow_row(const tile<T, NR, M> &t, const system_of<T> &A, columns_of<const T> D, int64_t first, int count) const
    {
        if (borrows) {
            const int64_t i = A.n - 2;
            const int r = threadIdx.x % WARP * M, to[2] = {t.slot(r), t.slot(r + 1)};
            for (int k = 0; k < 3 + count; k++) {
                t.array(k)[to[1]] = t.array(k)[to[0]];
                t.array(k)[to[0]] = k == 0 ? lower_of(A, i) : k == 1 ? diag_of(A, i) : k == 2 ? upper_of(A, i) : D.data[(first + k - 3) * D.ld + i];
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ void read(const T *lane_data)
    {
        constexpr int C = tile<T, NR, M>::PIECE;
#pragma unroll
        for (int k = 0; k < M / C; k++) {
            pieces_of<T, NR, M> pieces;
            pieces.read(lane_data, k);
#pragma unroll
            for (int i = 0; i < C; i++) row[k * C + i] = pieces.row(i);
        }
    }

    /** The inner unknowns removed, from below and from above. */
    __device__ __forceinline__ rows_of<T, NR> reduce() const { return __builtin_expect(rows == M, 1) ? reduce_rows<true>() : reduce_rows<false>(); }
    template <bool WHOLE> __device__ __forceinline__ rows_of<T, NR> reduce_rows() const
    {
        row_of<T, NR> down = identity_row<T, NR>(), up = down;
        if (WHOLE || rows) down = row[1];
#pragma unroll
        for (int j = M - 2; j >= 0; j--) {
            const int k = M - j; /* the way down, in step */
            if (k < M && k >= 2 && (WHOLE || k < rows)) eliminate(down, row[k]);
            if (WHOLE ? j == M - 2 : j == rows - 2) up = reversed(row[j]);
            else if (WHOLE || j < rows - 2) eliminate(up, reversed(row[j]));
        }
        return {reversed(up), down};
    }

    /** The way from above once more, for its pivot rows. */
    __device__ __forceinline__ void keep_pivots(pivoting p)
    {
        if (__builtin_expect(rows == M, 1)) keep_pivot_rows<true>(p);
        else keep_pivot_rows<false>(p);
    }
    template <bool WHOLE> __device__ __forceinline__ void keep_pivot_rows(pivoting p)
    {
        row_of<T, NR> down = row[1];
        const int scale = scale_of(p, down);
        weight_of<T> weight = weigh(p, down);
        from_row0 = (WHOLE || rows > 2) && exceeds(p, row[0].upper, scale_of(p, row[0]), max(logarithm(down.diag) - scale, logarithm(row[2].lower) - scale_of(p, row[2])));
#pragma unroll
        for (int j = 2; j < M; j++)
            if (WHOLE || j < rows) eliminate_keeping(p, down, weight, row[j]);
    }

    /** The solution, column k of it in place of column k of the right-hand sides. */
    __device__ __forceinline__ void substitute(T *lane_data, const known_of<T, NR> &known)
    {
        if (__builtin_expect(rows == M, 1)) {
            substitute_rows<true>(known);
        } else {
            substitute_rows<false>(known);
#pragma unroll
            for (int k = 0; k < NR; k++) {
                if (RING && lends) row[M - 1].rhs[k] = known.after[k];
                if (RING && borrows) row[0].rhs[k] = row[1].rhs[k];
            }
        }
        constexpr int C = tile<T, NR, M>::PIECE;
#pragma unroll
        for (int k = 0; k < NR; k++)
#pragma unroll
            for (int i = 0; i < M / C; i++) {
                typename tile<T, NR, M>::piece x;
#pragma unroll
                for (int j = 0; j < C; j++) x.v[j] = row[i * C + j].rhs[k];
                *(typename tile<T, NR, M>::piece *)(lane_data + (3 + k) * tile<T, NR, M>::ROWS + tile<T, NR, M>::piece_slot(i)) = x;
            }
    }
    template <bool WHOLE> __device__ __forceinline__ void substitute_rows(const known_of<T, NR> &known)
    {
        const T inverse = pivot_reciprocal(row[0].upper, row[0].diag, row[0].lower);
#pragma unroll
        for (int k = 0; k < NR; k++) {
            const T x1 = inverse * (row[0].rhs[k] - row[0].diag * known.first[k] - row[0].lower * known.before[k]);
            T next = known.last[k], next2 = known.after[k]; /* x[j], x[j+1] */
#pragma unroll
            for (int j = M - 1; j >= 2; j--) {
                if (!WHOLE && j >= rows) continue;
                const T value = row[j].rhs[k] - row[j].upper * known.first[k] - row[j].diag * next2 - row[j].lower * next;
                row[j].rhs[k] = next;
                next2 = next, next = value;
            }
            row[1].rhs[k] = from_row0 ? x1 : next;
            row[0].rhs[k] = known.first[k];
        }
    }
};

/* ------------------------------------------------------ what blocks send each other */

/** The mailbox of a block, of which each block of the cluster fills one slot; data and notice travel together. */
template <typename T, int NR> struct mailbox {
    stored_pair<T, NR> slots[SHORT_BLOCKS / 2];
    uint64_t arrived;

    /** By one thread, before any block sends: wait_for_mailboxes. */
    __device__ void open(int blocks)
    {
#if __CUDA_ARCH__ >= 900
        const unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"((unsigned)(blocks * sizeof(stored_rows<T, NR>))) : "memory");
#endif
    }
    /** Put rows into slot `from` of block `to`. */
    __device__ __forceinline__ void send(int to, int from, const stored_rows<T, NR> &rows)
    {
#if __CUDA_ARCH__ >= 900
        unsigned there, barrier;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&leaf_of(slots, from))), "r"(to));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"((unsigned)__cvta_generic_to_shared(&arrived)), "r"(to));
#pragma unroll
        for (int i = 0; i < (int)sizeof rows / 16; i++) {
            const int4 word = ((const int4 *)&rows)[i];
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(there + 16 * i), "r"(word.x), "r"(word.y),
                         "r"(word.z), "r"(word.w), "r"(barrier) : "memory");
        }
#endif
    }
    /** Until every block has sent. */
    __device__ void wait()
    {
#if __CUDA_ARCH__ >= 900
        const unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived);
        unsigned done;
        do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
        while (!done);
#endif
    }
};
__device__ inline void mailbox_is_open()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_mailboxes()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* ------------------------------------------------------------------- the kernel */

/** Shared memory of a tile: its rows, what is left of its lanes, and unions. */
template <typename T, int NR, int M> struct warp_memory {
    unsigned char tile_rows[tile<T, NR, M>::BYTES];
    stored_pair<T, NR> lanes[WARP / 2], of_lanes[WARP / 2], of_warps[SHORT_WARPS / 2], of_blocks[SHORT_BLOCKS / 2];
    known_of<T, NR> known; /* of the root */
};
/** ... and of a block beside that of its warps. */
template <typename T, int NR> struct block_memory {
    stored_pair<T, NR> warps[SHORT_WARPS / 2];
    mailbox<T, NR> blocks;
};

/** One warp a tile; two, where a block has one tile; one in a cyclic system. */
enum short_kind { ONE_WARP, TWO_WARPS, CYCLIC };

/** What a warp goes through with its tile: the way up to the root of all trees, and what the way back needs, which waits for it. One
 *  warp does both, or two share them: then one goes up while the other one makes pivot rows and joints. */
template <short_kind KIND> struct warp_roles {
    static constexpr bool TWO = KIND == TWO_WARPS;
    bool up = !TWO || threadIdx.x < WARP, back = !TWO || threadIdx.x >= WARP;

    __device__ __forceinline__ tile_share share() const { return !TWO ? WHOLE_TILE : up ? FIRST_HALF : SECOND_HALF; }

    /** Named barriers, one for each time that the two meet. */
    enum { ROWS_LOADED = 1, LANES_JOINED, ROOT_FOUND, UNKNOWNS_FOUND };
    template <int BARRIER> __device__ __forceinline__ void wait_for_each_other() const
    {
        if (TWO) asm volatile("barrier.cta.sync %0, %1;" ::"n"(BARRIER), "n"(2 * WARP) : "memory");
    }
    /** What the warp going up has written is seen by the other one; it does not wait. */
    template <int BARRIER> __device__ __forceinline__ void meet() const
    {
        if (TWO && up) asm volatile("barrier.cta.arrive %0, %1;" ::"n"(BARRIER), "n"(2 * WARP) : "memory");
        else wait_for_each_other<BARRIER>();
    }
};

template <typename T, int NR, int M, short_kind KIND> __global__ void __launch_bounds__(WARP * SHORT_WARPS) solve_short(const __grid_constant__ short_solve<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    __shared__ block_memory<T, NR> left_of;
    using tree = shared_tree<T, NR, KIND == CYCLIC>;
    using roles = warp_roles<KIND>;
    const roles role;
    const int tiles = roles::TWO ? 1 : blockDim.x / WARP, number = roles::TWO ? 0 : threadIdx.x / WARP, lane = threadIdx.x % WARP, blocks = gridDim.x, block = blockIdx.x;
    warp_memory<T, NR, M> &memory = ((warp_memory<T, NR, M> *)shared_memory)[number];
    const tile<T, NR, M> t = {(T *)memory.tile_rows};
    T *const lane_data = t.data;
    const int64_t first = (block * (int64_t)tiles + number) * tile<T, NR, M>::ROWS, column = blockIdx.y * (int64_t)NR;
    const int count = s.columns_from(column, NR);
    const tree of_lanes = {memory.lanes, memory.of_lanes, 5, s.lanes - (block * tiles + number) * WARP},
               of_warps = {left_of.warps, memory.of_warps, __ffs(tiles) - 1, (s.lanes + WARP - 1) / WARP - block * tiles},
               of_blocks = {left_of.blocks.slots, memory.of_blocks, __ffs(blocks) - 1, (s.lanes + WARP * tiles - 1) / (WARP * tiles)};
    lane_partition<T, NR, M, KIND == CYCLIC> mine;
    known_of<T, NR> known;
    joint_of<T, NR> lower, upper;
    const stored_rows<T, NR> *left;
    let_follower_start();
    wait_for_predecessor();
    if (is_shut(s.gate)) return;
    load_tile(t, s.A, s.D, first, column, count, role.share());
    if (blocks > 1) {
        if (threadIdx.x == 0) left_of.blocks.open(blocks);
        __syncwarp();
        mailbox_is_open();
    }
    if (role.up) wait_for_tile(t, s.A, first);
    else wait_for_copies();
    role.template wait_for_each_other<roles::ROWS_LOADED>();
    mine.count_rows(s.A, first);
    if (KIND == CYCLIC && s.A.n % M == 1) mine.borrow_row(t, s.A, s.D, column, count);
    if (role.up) {
        mine.read(lane_data);
        store_rows(leaf_of(memory.lanes, lane), mine.reduce());
        __syncwarp();
        of_lanes.join();
        left = &of_lanes.root();
        role.template meet<roles::LANES_JOINED>();
        if (tiles > 1) {
            if (lane == 0) leaf_of(left_of.warps, number) = *left;
            __syncthreads();
            of_warps.join();
            left = &of_warps.root();
        }
        if (blocks > 1) {
            wait_for_mailboxes();
            if (threadIdx.x < blocks) left_of.blocks.send(lane, block, *left);
        }
    }
    if (role.back) {
        mine.read(lane_data); /* once more, which spares registers until here */
        mine.keep_pivots(s.p);
        if (!role.up) role.template meet<roles::LANES_JOINED>();
        lower = find_joint(s.p, of_lanes.joined_behind(lane));
    }
    if (role.up) {
        if (blocks > 1) {
            left_of.blocks.wait();
            of_blocks.join();
            left = &of_blocks.root();
        }
        role.template meet<roles::ROOT_FOUND>();
        known = close_system(s.p, read_rows(*left), KIND == CYCLIC);
        if (!role.back) {
            if (lane == 0) memory.known = known;
            role.template meet<roles::UNKNOWNS_FOUND>();
            return;
        }
    } else role.template meet<roles::ROOT_FOUND>();
    if (tiles * blocks > 1) /* half a warp sees to the joints of blocks, the other half to those of warps */
        upper = find_joint(s.p, lane < WARP / 2 ? of_blocks.joined_behind(lane) : of_warps.joined_behind(lane - WARP / 2));
    if (!role.up) {
        role.template meet<roles::UNKNOWNS_FOUND>();
        known = memory.known;
    }
    if (tiles * blocks > 1) {
        of_blocks.split(upper, known, 0);
        known = shuffle_from(known, block);
        of_warps.split(upper, known, WARP / 2);
        known = shuffle_from(known, number);
    }
    of_lanes.split(lower, known, 0);
    mine.substitute(lane_data, known);
    store_tile(t, s.A.n, s.X, first, column, count);
}

#endif
