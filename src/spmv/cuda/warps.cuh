/* Generalized products of compressed rows with a vector by segmented reductions, a warp for itself: nothing of a block
 * is shared, so no warp waits for another, and the columns of its next entries are on their way while it waits for
 * elements of x. For rows of any lengths, where gathers bind.
 *
 * "Block" b of the launch, whose start is a.starts[b], is a warp here. It takes its entries in tiles of 32 * EACH:
 *   (a) lanes load entries side by side, multiply, and put the products into shared memory;
 *   (b) lanes that look at rows set a bit at each row's last entry;
 *   (c) every lane goes through EACH neighbouring products, a scan over the warp hands on what is left open;
 *   (d) sums lie where the last entry of their row was. Lanes that look at rows store them, empty rows too.
 * A warp leaves what it has of a row that ends in another one (left_open.cuh). The warp in which the row ends waits for
 * that, and puts it together in order.
 *
 * The operator Op is one of segmented.cuh, not FUSED and without NEEDS_ROW; besides, it has
 *     int load_column(long long nz) const;
 *     entry load(long long nz, int column) const;         with this column */
#ifndef TRINE_SPMV_WARPS_CUH
#define TRINE_SPMV_WARPS_CUH

#include "core/gpu_follow.cuh"
#include "spmv/cuda/left_open.cuh"
#include "spmv/cuda/segmented.cuh"

template <class V> __device__ inline V broadcast_from(V v, int lane)
{
    seen_as<V, unsigned> s;
    s.value = v;
#pragma unroll
    for (int k = 0; k < s.WORDS; k++) s.word[k] = __shfl_sync(~0u, s.word[k], lane);
    return s.value;
}

template <class Op, int EACH> struct warp_memory {
    using A = typename Op::accumulator;
    using items = slots<typename Op::product, typename Op::result, 32, EACH>;
    alignas(16) unsigned char item[items::BYTES];
    unsigned ends[32]; /* a bit for every entry of a lane's that is a row's last */
    alignas(16) unsigned char head[sizeof(A)]; /* of the row that other warps began */
};

/** By a warp: the sum of what `count` warps have left, in order, in lane 0. The slots are zero again. */
template <class Op, class A> __device__ inline A take_left_open(const Op &op, left_open<A> *slots, int count, int lane)
{
    constexpr int AT_ONCE = 4; /* neighbours, of a lane */
    A sum;
    for (int first = 0; first < count; first += 32 * AT_ONCE) {
        const int own = first + lane * AT_ONCE, lanes = (count - first + AT_ONCE - 1) / AT_ONCE; /* that have one */
        left_open<A> open[AT_ONCE];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int q = 0; q < AT_ONCE; q++) open[q] = look_at(slots + (own + q < count ? own + q : first));
#pragma unroll
            for (int q = 0; q < AT_ONCE; q++) all = all && open[q].is_there;
        } while (!__all_sync(~0u, all));
        A mine = open[0].value;
#pragma unroll
        for (int q = 0; q < AT_ONCE; q++)
            if (own + q < count) {
                if (q) mine = op.add(mine, open[q].value);
                slots[own + q].is_there = 0;
            }
        for (int d = 1; d < 32 && d < lanes; d *= 2) { /* neighbours, then neighbouring pairs of them, ... */
            const A next = shuffle_down(mine, d);
            if (lane % (2 * d) == 0 && lane + d < lanes) mine = op.add(mine, next);
        }
        sum = first ? op.add(sum, mine) : mine;
    }
    return sum;
}

/** Methods adaptive and postprocess, starts known. THREADS: of a multiprocessor. AHEAD: columns of the next tile are
 *  asked for while this one is worked on. */
template <class Op, int BLOCK, int EACH, int THREADS, bool AHEAD>
__global__ void __launch_bounds__(BLOCK, THREADS / BLOCK)
    reduce_by_warps(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op)
{
    using A = typename Op::accumulator;
    using memory_type = warp_memory<Op, EACH>;
    using items = typename memory_type::items;
    constexpr int CAPACITY = 32 * EACH, NEVER = 0x7FFFFFFF;
    __shared__ memory_type of_warps[BLOCK / 32];
    const int lane = threadIdx.x % 32;
    memory_type &m = of_warps[threadIdx.x / 32];
    const long long b = a.first_block + (long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    let_follower_start();
    if (b >= a.end_block) return;
    block_start from = a.starts[b], to = a.starts[b + 1];
    m.ends[lane] = 0;
    __syncwarp();
    wait_for_predecessor(); /* what it wrote is read behind this; starts are the plan's own */
    clip_to_rows(a, from, to);
    if (from.row > to.row || (from.row == to.row && from.nz >= to.nz)) return;

    /* A warp has fewer than 2^31 entries: positions count from its first, and lower halves of offsets do. */
    const int offset_shift = a.wide_offsets ? 3 : 2;
    const int rows = (int)(to.row - from.row), all = (int)(to.nz - from.nz);
    const unsigned char *ends_of_rows = (const unsigned char *)a.offsets + ((from.row + 1) << offset_shift);
    const auto end_of = [&](int r) {
        const unsigned long long place = r; /* of row -1 as well, and a negative number is not to be shifted */
        return *(const int *)(ends_of_rows + (long long)(place << offset_shift)) - (int)from.nz;
    };
    const auto end_if = [&](int r) { return r < rows ? end_of(r) : NEVER; };
    int row = 0;                                              /* the first that has not ended, from from.row */
    int row_begin = from.row < a.n_rows ? end_of(-1) : 0; /* where it begins; before 0: in another block */
    const bool began = a.scheme == SCHEME_POSTPROCESS && rows > 0 && row_begin < 0;
    int end = end_if(lane), column[EACH];
    const auto load_columns = [&](int base) {
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int k = base + lane + 32 * j;
            column[j] = k < all ? op.load_column(from.nz + k) : 0;
        }
    };
    if (AHEAD) load_columns(0);

    open_sum<A> carry; /* what the last tile left open, in all lanes */
    carry.exists = carry.after_end = false;
    for (int base = 0;; base += CAPACITY) {
        const bool last = all - base <= CAPACITY;
        const int count = last ? all - base : CAPACITY;

        /* (a), with the next tile's columns. Where there are no more entries the first is taken once more: loads under
         * a condition each need registers that there are not */
        typename Op::product product[EACH];
        if (!AHEAD) load_columns(base);
        if (count > 0) {
            typename Op::entry entry[EACH];
            if (!last) {
                const long long first_number = from.nz + base + lane;
#pragma unroll
                for (int j = 0; j < EACH; j++) entry[j] = op.load(first_number + 32 * j, column[j]);
#pragma unroll
                for (int j = 0; j < EACH; j++) product[j] = op.multiply(entry[j], first_number + 32 * j, -1);
            } else {
                const int own = lane < count ? lane : 0;
                const auto place = [&](int j) { return own + 32 * j < count ? own + 32 * j : own; };
                if (lane >= count) column[0] = op.load_column(from.nz + base);
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    entry[j] = op.load(from.nz + base + place(j), own + 32 * j < count ? column[j] : column[0]);
#pragma unroll
                for (int j = 0; j < EACH; j++) product[j] = op.multiply(entry[j], from.nz + base + place(j), -1);
            }
        }
        if (AHEAD && !last) load_columns(base + CAPACITY);

        /* (b); rows without entries set the bit of the row before them once more */
        int next = 0; /* rows that end in the tile */
        for (int e = end;; e = end_if(row + next + lane)) {
            const bool ends = e <= base + count;
            if (ends && e > base) atomicOr(&m.ends[(e - base - 1) / EACH], 1u << (e - base - 1) % EACH);
            const unsigned which = __ballot_sync(~0u, ends);
            next += __popc(which);
            if (which != ~0u) break;
        }
        const int next_end = last ? NEVER : end_if(row + next + lane);
#pragma unroll
        for (int j = 0; j < EACH; j++) items::put(m.item, items::place(lane + 32 * j), product[j]);
        __syncwarp();

        /* (c) */
        const unsigned ends = m.ends[lane];
        m.ends[lane] = 0;
        const int first = __ffs(ends) - 1;
        A sum, first_sum;
        bool exists;
        const auto add_entry = [&](int j) {
            const A p = op.lift(items::template get<typename Op::product>(m.item, lane * items::STEP + j));
            sum = j == 0 || (ends << 1 >> j & 1) ? p : op.add(sum, p);
            if (ends >> j & 1) items::put(m.item, lane * items::STEP + j, op.project(sum));
            if (j == first) first_sum = sum;
        };
        if (count >= (lane + 1) * EACH) {
#pragma unroll
            for (int j = 0; j < EACH; j++) add_entry(j);
            exists = !(ends >> (EACH - 1) & 1);
        } else {
            const int mine = count - lane * EACH; /* the entries that are there */
#pragma unroll 1
            for (int j = 0; j < mine; j++) add_entry(j);
            exists = mine > 0 && !(ends >> (mine - 1) & 1);
        }
        __syncwarp();
        const unsigned flags = __ballot_sync(~0u, first >= 0), tails = __ballot_sync(~0u, exists);
        const open_sum<A> upto = scan_lanes(op, sum, flags, tails, lane);
        const unsigned open_lanes = __ballot_sync(~0u, upto.exists);
        open_sum<A> before;
        before.value = shuffle_up(upto.value, 1);
        before.exists = open_lanes << 1 >> lane & 1;
        before.after_end = (flags & ((1u << lane) - 1)) != 0;
        before = join(op, carry, before);
        if (first >= 0 && before.exists) {
            first_sum = op.add(before.value, first_sum);
            items::put(m.item, lane * items::STEP + first, op.project(first_sum));
        }
        const bool leaves_first = began && row == 0 && next > 0; /* its sum is not that of the whole row */
        if (leaves_first && first >= 0 && !before.after_end) *(A *)m.head = first_sum;
        /* what is open behind the last lane that has entries */
        const int last_lane = count >= CAPACITY ? 31 : count <= 0 ? 0 : (count - 1) / EACH;
        open_sum<A> open = join(op, carry, open_sum<A>{upto.value, upto.exists, upto.after_end});
        if (count > 0) {
            carry.value = broadcast_from(open.value, last_lane);
            carry.exists = __shfl_sync(~0u, (int)open.exists, last_lane);
        }
        __syncwarp();

        /* (d) */
        for (int done = 0, e = end; done < next; done += 32, e = end_if(row + done + lane)) {
            int begin = __shfl_up_sync(~0u, e, 1);
            if (lane == 0) begin = row_begin;
            const int r = row + done + lane;
            if (done + lane < next && !(leaves_first && r == 0)) {
                if (begin == e) op.store(from.row, r, op.project(op.identity()), true);
                else
                    op.store(from.row, r, items::template get<typename Op::result>(m.item, items::place(e - base - 1)),
                             false);
            }
            row_begin = __shfl_sync(~0u, e, next - done < 32 ? next - done - 1 : 31);
        }
        row += next;
        end = next_end;
        if (last) break;
        __syncwarp();
    }
    if (a.scheme != SCHEME_POSTPROCESS) return;
    left_open<A> *slots = (left_open<A> *)a.left_open;
    if (lane == 0 && carry.exists) leave(slots + b, carry.value);
    if (!began || row == 0) return;
    const long long low = key_at(a, from.row) / a.entries_per_block; /* the warp in which the row begins */
    const A sum = take_left_open(op, slots + low, (int)(b - low), lane);
    if (lane == 0) op.store(from.row, 0, op.project(op.add(sum, *(const A *)m.head)), false);
}

#endif
