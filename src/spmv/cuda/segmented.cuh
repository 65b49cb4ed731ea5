/* Generalized products of compressed rows with a vector by segmented reductions on unmodified arrays (thesis, Chapter
 * 3): for every row i, store(i, multiply(k_0) add multiply(k_1) add ...) over its entries k. No row is treated in a
 * way of its own, be it long, short or empty.
 *
 * This file is all that a kernel needs. nvcc compiles it for the library, NVRTC for callers' operators: it includes
 * nothing.
 *
 * A block takes the entries from one block_start to the next in tiles of BLOCK * TILE (Figure 21):
 *   (a) threads load entries side by side, multiply, and put the products into shared memory;
 *   (b) threads that look at rows set a bit at each row's last entry;
 *   (c) every thread goes through TILE neighbouring products, add by add; a bit ends a sum. What is left at the end of
 *       a thread belongs to the next threads: a segmented scan hands it on;
 *   (d) sums lie where the last entry of their row was. Threads that look at rows store them, empty rows too.
 *
 * The operator Op, passed by value, has
 *     using entry, product, accumulator, result;    trivially copyable
 *     static constexpr bool NEEDS_ROW;       multiply looks at its row
 *     static constexpr bool HAS_ATOMIC;      it has prepare and accumulate, for SCHEME_ATOMIC
 *     static constexpr int THREADS;          that registers of a multiprocessor are to do for
 *     entry load(long long nz) const;        what multiply needs of entry nz and nobody has to wait for: value, column.
 *                                            Entries of other blocks are loaded and multiplied as well, for nothing
 *     product multiply(entry, long long nz, long long row) const;    row: -1 unless NEEDS_ROW
 *     accumulator lift(product) const;
 *     accumulator add(accumulator before, accumulator after) const;    associative; the order of a row is kept
 *     accumulator identity() const;          of an empty row
 *     result project(accumulator) const;
 *     void store(long long row, int r, result z, bool empty) const;      of row row + r
 *     static constexpr bool FUSED;           stores carry sums over rows along, in registers: it has type local,
 *                                            begin(), store(row, r, z, empty, local &) and finish(local &), which every
 *                                            thread calls once, in the second launch too
 * and, for atomics,
 *     void prepare(long long row) const;     store what a row has before anything is accumulated
 *     void accumulate(long long row, accumulator) const;      by atomics
 */
#ifndef TRINE_SPMV_SEGMENTED_CUH
#define TRINE_SPMV_SEGMENTED_CUH

enum { SCHEME_ADAPTIVE = 1, SCHEME_ATOMIC = 2, SCHEME_POSTPROCESS = 3 };                    /* as trine_spmv_method */
enum { SCAN_RAKING = 1, SCAN_RAKING_MEMOIZE = 2, SCAN_WARPS = 3, SCAN_TRANSPOSED = 4 }; /* as trine_spmv_reduction */

/** Where a block begins: at entry nz, in row `row`. Adaptive: with the row's first entry. */
struct alignas(16) block_start { long long nz, row; };

struct segmented_arguments {
    const void *offsets; /* n_rows + 1, of 32 or 64 bits */
    const struct block_start *starts; /* n_blocks + 2, of which two are the end; NULL: a block searches for its own */
    void *partials; /* postprocess: 2 accumulators a block: of the row that another block began, and
                       of the row that it leaves open */
    void *left_open; /* postprocess by warps (warps.cuh): a slot a warp */
    long long n_rows, nnz;
    long long row_begin, row_end; /* rows to be stored */
    long long entries_per_block; /* w; an entry counts 1, a row row_weight */
    int row_weight;
    int wide_offsets; /* 64 bits */
    int scheme;
    int n_blocks; /* of a launch for all rows */
    int first_block, end_block; /* those of this launch: block b of the grid is block first_block + b */
    int rows_together; /* adaptive: blocks begin with rows that are multiples of it, if it is more than 1 */
    int starts_each; /* from one block to the next: 1, or 2 where blocks have whole rows (rows.cuh) */
};

#ifdef __CUDACC__

/* ------------------------------------------------------------------ bytes as words */

template <int BYTES> struct word_of_bytes { using type = unsigned char; };
template <> struct word_of_bytes<2> { using type = unsigned short; };
template <> struct word_of_bytes<4> { using type = unsigned; };
template <> struct word_of_bytes<8> { using type = unsigned long long; };

/** A value of type V seen as words. */
template <class V, class Word> union seen_as {
    V value;
    Word word[(sizeof(V) + sizeof(Word) - 1) / sizeof(Word)];
    static constexpr int WORDS = (sizeof(V) + sizeof(Word) - 1) / sizeof(Word);
    __device__ seen_as() {}
};

template <class V> __device__ inline V shuffle_up(V v, int distance)
{
    seen_as<V, unsigned> s;
    s.value = v;
#pragma unroll
    for (int k = 0; k < s.WORDS; k++) s.word[k] = __shfl_up_sync(~0u, s.word[k], distance);
    return s.value;
}
template <class V> __device__ inline V shuffle_down(V v, int distance)
{
    seen_as<V, unsigned> s;
    s.value = v;
#pragma unroll
    for (int k = 0; k < s.WORDS; k++) s.word[k] = __shfl_down_sync(~0u, s.word[k], distance);
    return s.value;
}

/** Slots of shared memory for products, and later for results: word k of all slots lies together (a struct of
 *  arrays), and TILE slots of a thread take an odd number of words, so that no two lanes meet in a bank. */
template <class Product, class Result, int BLOCK, int TILE> struct slots {
    static constexpr int gcd8(int a) { return a % 8 == 0 ? 8 : a % 4 == 0 ? 4 : a % 2 == 0 ? 2 : 1; }
    static constexpr int UNIT =
        gcd8((int)sizeof(Product)) < gcd8((int)sizeof(Result)) ? gcd8((int)sizeof(Product)) : gcd8((int)sizeof(Result));
    using word = typename word_of_bytes<UNIT>::type;
    static constexpr int MOST = sizeof(Product) > sizeof(Result) ? (int)sizeof(Product) : (int)sizeof(Result);
    static constexpr int STEP = TILE | 1;
    static constexpr int CAPACITY = BLOCK * STEP;
    static constexpr int BYTES = MOST / UNIT * CAPACITY * UNIT;

    static __device__ int place(int i) { return STEP == TILE ? i : i + i / TILE; }
    template <class V> static __device__ void put(void *memory, int place, V v)
    {
        seen_as<V, word> s;
        s.value = v;
#pragma unroll
        for (int k = 0; k < s.WORDS; k++) ((word *)memory)[k * CAPACITY + place] = s.word[k];
    }
    template <class V> static __device__ V get(const void *memory, int place)
    {
        seen_as<V, word> s;
#pragma unroll
        for (int k = 0; k < s.WORDS; k++) s.word[k] = ((const word *)memory)[k * CAPACITY + place];
        return s.value;
    }
};

/* ------------------------------------------------------------------ rows */

__device__ inline long long offset_at(const segmented_arguments &a, long long i)
{
    return a.wide_offsets ? ((const long long *)a.offsets)[i] : ((const int *)a.offsets)[i];
}
/** What rows 0 .. i-1 count. */
__device__ inline long long key_at(const segmented_arguments &a, long long i)
{
    return offset_at(a, i) + a.row_weight * i;
}

/** Adaptive: the first start with row i or one behind it. */
__device__ inline block_start start_at_row(const segmented_arguments &a, long long i)
{
    if (a.rows_together > 1) i += (a.rows_together - i % a.rows_together) % a.rows_together;
    if (i > a.n_rows) i = a.n_rows;
    return {offset_at(a, i), i};
}

/** The start of block b as a block of a whole matrix has it, from i, the first row with key(i) >= b w (adaptive) or
 *  the last with key(i) <= b w. */
__device__ inline block_start start_from(const segmented_arguments &a, long long b, long long i)
{
    if (a.scheme == SCHEME_ADAPTIVE) return start_at_row(a, i);
    if (i >= a.n_rows) return {a.nnz, a.n_rows};
    const long long begin = offset_at(a, i), end = offset_at(a, i + 1);
    const long long nz = b * a.entries_per_block - a.row_weight * i;
    /* all of the row's entries are before the boundary: its end is, too */
    if (nz >= end && end > begin) return {end, i + 1};
    return {nz < end ? nz : end, i};
}

/** The same by the whole warp: 32 samples a step. */
static __device__ __noinline__ block_start search_start(const segmented_arguments &a, long long b, int lane)
{
    if (b == 0) return {0, 0};
    if (b >= a.n_blocks) return {a.nnz, a.n_rows};
    const long long wanted = b * a.entries_per_block + (a.scheme == SCHEME_ADAPTIVE ? 0 : 1);
    long long low = 0, high = a.n_rows + 1; /* the first i with key(i) >= wanted is in [low, high] */
    while (low < high) {
        const long long step = (high - low + 31) / 32, i = low + lane * step;
        const unsigned before = __ballot_sync(~0u, i < high && key_at(a, i < high ? i : low) < wanted);
        const int count = __popc(before); /* samples below: the first `count` lanes */
        if (count == 0) {
            high = low;
        } else {
            const long long last = low + (long long)(count - 1) * step;
            const long long next = last + step;
            high = next < high ? next : high;
            low = last + 1;
        }
    }
    return start_from(a, b, a.scheme == SCHEME_ADAPTIVE ? low : low - 1);
}

/** What of a block belongs to the rows that are to be stored. */
__device__ inline void clip_to_rows(const segmented_arguments &a, block_start &from, block_start &to)
{
    if (from.row < a.row_begin) from = {offset_at(a, a.row_begin), a.row_begin};
    if (to.row >= a.row_end && a.row_end < a.n_rows) {
        const long long end = offset_at(a, a.row_end);
        to.row = a.row_end;
        if (end < to.nz) to.nz = end;
    }
}

template <class P, class Q> struct same_type { static constexpr bool value = false; };
template <class P> struct same_type<P, P> { static constexpr bool value = true; };

/* ------------------------------------------------------------------ segmented sums */

/** The end of a stretch of products: what has come since the last row's end. */
template <class A> struct open_sum {
    A value;
    bool exists; /* else nothing has come */
    bool after_end; /* a row has ended in the stretch */
};

/** Two neighbouring stretches as one. */
template <class Op, class A> __device__ inline open_sum<A> join(const Op &op, const open_sum<A> &p,
                                                                const open_sum<A> &q)
{
    if (q.after_end) return q;
    open_sum<A> r = p;
    if (q.exists) r.value = p.exists ? op.add(p.value, q.value) : q.value;
    r.exists = p.exists || q.exists;
    return r;
}
/** p, then q, of which the accumulator is wanted. */
template <class Op, class A> __device__ inline A join_value(const Op &op, const open_sum<A> &p, A q)
{
    return p.exists ? op.add(p.value, q) : q;
}

template <class Op, int BLOCK, int TILE, int SCAN> struct segmented_memory {
    using A = typename Op::accumulator;
    using items = slots<typename Op::product, typename Op::result, BLOCK, TILE>;
    static constexpr int WARPS = BLOCK / 32;
    static constexpr bool PER_THREAD = SCAN == SCAN_RAKING || SCAN == SCAN_RAKING_MEMOIZE;

    static constexpr int ROWS = 4 * BLOCK; /* whose ends are kept */

    unsigned ends[BLOCK]; /* a bit for every entry of a thread's that is a row's last */
    alignas(16) unsigned char item[items::BYTES];
    int row_end[ROWS + 1]; /* where row r - 1 ends and row r begins, in the tile's entries */
    int rows_before[Op::NEEDS_ROW ? BLOCK : 1]; /* rows that end before a thread's entries */
    int row_of[Op::NEEDS_ROW ? BLOCK * TILE + 1 : 1]; /* the k-th row with entries, counted from the tile's first */
    alignas(16) unsigned char sum_bytes[(PER_THREAD ? BLOCK : 1) * sizeof(open_sum<A>)];
    alignas(16) unsigned char warp_bytes[WARPS * sizeof(open_sum<A>)]; /* what warps leave open */
    alignas(16) unsigned char first_bytes[WARPS * sizeof(A)]; /* the first sum that ends in a warp, without what is
                                                                 before the warp */
    int first_end[WARPS]; /* its last entry; -1: no row ends in the warp */
    alignas(16) unsigned char carry_bytes[2 * sizeof(open_sum<A>)]; /* what the last tile left open, by parity */
    int next_row;
    block_start range[2];

    __device__ open_sum<A> *sums() { return (open_sum<A> *)sum_bytes; }
    __device__ open_sum<A> *warps() { return (open_sum<A> *)warp_bytes; }
    __device__ A *firsts() { return (A *)first_bytes; }
    __device__ open_sum<A> *carries() { return (open_sum<A> *)carry_bytes; }
};

/** Sum of the lanes up to and with this one since the last end; `flags`, `tails`: lanes in which a row ends, and that
 *  leave something open. Only the lane in which a row ends may leave nothing open, and lanes behind the last entry. */
template <class Op, class A> __device__ inline open_sum<A> scan_lanes(const Op &op, A value, unsigned flags,
                                                                      unsigned tails, int lane)
{
    const unsigned upto = flags & (0xFFFFFFFFu >> (31 - lane));
    const int head = upto ? 31 - __clz(upto) : -1;
    const int low = head < 0 ? 0 : head + !(tails >> head & 1);
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        if (!__any_sync(~0u, lane - d >= low)) break; /* rows shorter than a thread's entries: nothing goes far */
        const A before = shuffle_up(value, d);
        if (lane - d >= low) value = op.add(before, value);
    }
    return {value, low <= lane, head >= 0};
}

/** What is open before warp w: what the warps before it leave, back to the last in which a row ends, or to the last
 *  tile. */
template <class Op, class A> __device__ inline open_sum<A> open_before(const Op &op, const open_sum<A> *warps,
                                                                       const open_sum<A> &carry, int w)
{
    open_sum<A> r = {carry.value, false, false};
    while (--w >= 0 && !r.after_end) {
        const open_sum<A> s = warps[w];
        if (s.exists) r.value = r.exists ? op.add(s.value, r.value) : s.value;
        r.exists |= s.exists;
        r.after_end = s.after_end;
    }
    if (!r.after_end) {
        if (carry.exists) r.value = r.exists ? op.add(carry.value, r.value) : carry.value;
        r.exists |= carry.exists;
        r.after_end = carry.after_end;
    }
    return r;
}

/** What is open before every thread's entries, by one warp that goes over the sums of all threads (raking). */
template <class Op, class A, int BLOCK, bool MEMOIZE>
__device__ inline void rake(const Op &op, open_sum<A> *sums, const open_sum<A> &carry)
{
    constexpr int EACH = BLOCK / 32;
    const int lane = threadIdx.x;
    open_sum<A> kept[MEMOIZE ? EACH : 1], total = sums[lane * EACH];
    if (MEMOIZE) kept[0] = total;
#pragma unroll
    for (int k = 1; k < EACH; k++) {
        const open_sum<A> s = sums[lane * EACH + k];
        if (MEMOIZE) kept[k] = s;
        total = join(op, total, s);
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const open_sum<A> before = shuffle_up(total, d);
        if (lane >= d) total = join(op, before, total);
    }
    open_sum<A> before = shuffle_up(total, 1);
    before = lane ? join(op, carry, before) : carry;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const open_sum<A> s = MEMOIZE ? kept[k] : sums[lane * EACH + k];
        sums[lane * EACH + k] = before;
        before = join(op, before, s);
    }
}

/* ------------------------------------------------------------------ the kernel */

template <class Op, bool FUSED = Op::FUSED> struct local_of {
    struct type {};
    static __device__ type begin(const Op &) { return {}; }
};
template <class Op> struct local_of<Op, true> {
    using type = typename Op::local;
    static __device__ type begin(const Op &op) { return op.begin(); }
};

constexpr int ENTRIES_IN_FLIGHT = 6; /* of a thread */
template <class Op, int BLOCK, int TILE, int SCAN>
__global__ void __launch_bounds__(BLOCK, (Op::THREADS > BLOCK ? Op::THREADS / BLOCK : 1))
    reduce_rows(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op)
{
    using A = typename Op::accumulator;
    using memory_type = segmented_memory<Op, BLOCK, TILE, SCAN>;
    using items = typename memory_type::items;
    constexpr int CAPACITY = BLOCK * TILE;
    constexpr int KEPT = memory_type::ROWS / BLOCK;
    constexpr int CHUNK = ENTRIES_IN_FLIGHT < TILE ? ENTRIES_IN_FLIGHT : TILE;
    constexpr bool REREADS = same_type<A, typename Op::result>::value; /* sums are in shared memory as they are */
    const int offset_shift = a.wide_offsets ? 3 : 2;
    __shared__ memory_type m;
    const int me = threadIdx.x, lane = me % 32, warp = me / 32;
    const long long b = a.first_block + (long long)blockIdx.x;

    m.ends[me] = 0;
    if (me == 0) m.carries()[0].exists = m.carries()[0].after_end = false;
    block_start from, to;
    if (a.starts) {
        from = a.starts[b], to = a.starts[b + 1];
    } else {
        for (int k = warp; k < 2; k += memory_type::WARPS) {
            const block_start s = search_start(a, b + k, lane);
            if (lane == 0) m.range[k] = s;
        }
        __syncthreads();
        from = m.range[0], to = m.range[1];
    }
    const bool shares = a.scheme != SCHEME_ADAPTIVE;
    clip_to_rows(a, from, to);
    if (from.row > to.row || (from.row == to.row && from.nz >= to.nz)) {
        if (a.scheme == SCHEME_POSTPROCESS && me == 0) {
            open_sum<A> *p = (open_sum<A> *)a.partials + 2 * b;
            p[0].exists = p[1].exists = false;
        }
        if constexpr (Op::FUSED) {
            typename local_of<Op>::type nothing = local_of<Op>::begin(op);
            op.finish(nothing);
        }
        return;
    }
    typename local_of<Op>::type local = local_of<Op>::begin(op);
    long long row = from.row; /* the first that has not been stored */
    const auto store = [&](int r, typename Op::result z, bool empty) {
        if constexpr (Op::FUSED) op.store(row, r, z, empty, local);
        else op.store(row, r, z, empty);
    };

    /* another block has the beginning of the first row */
    const bool began = shares && from.row < to.row && offset_at(a, from.row) < from.nz;
    int parity = 0;
    for (long long base = from.nz;; base += CAPACITY) {
        const bool last = to.nz - base <= CAPACITY;
        const int count = last ? (int)(to.nz - base) : CAPACITY;
        const int rows = (int)(to.row - row); /* at most */
        /* Where row r ends, in the tile's entries. A block has fewer than 2^31 entries: the lower halves of offsets
         * do. */
        const unsigned char *ends_of_rows = (const unsigned char *)a.offsets + ((row + 1) << offset_shift);
        const auto end_of = [&](int r) {
            const unsigned long long place = r; /* of row -1 as well, and a negative number is not to be shifted */
            return *(const int *)(ends_of_rows + (long long)(place << offset_shift)) - (int)base;
        };
        int end[KEPT]; /* of the rows that the thread looks at first: the longest wait, so it begins here */
#pragma unroll
        for (int k = 0; k < KEPT; k++) end[k] = k * BLOCK + me < rows ? end_of(k * BLOCK + me) : 0x7FFFFFFF;
        const int first_begin = me == 0 && rows > 0 ? end_of(-1) : 0;

        if (!last && me == 0) m.next_row = rows;
        __syncthreads(); /* S0: ends are cleared, results of the last tile stored */

        /* (a) products. The loads of some entries of a thread come before the first store of a product, else they
         * would wait for each other */
        const auto multiply_all = [&](auto row_of_entry) {
            if (base + CAPACITY <= a.nnz && 2 * count >= CAPACITY) {
#pragma unroll
                for (int j0 = 0; j0 < TILE; j0 += CHUNK) {
                    typename Op::entry entry[CHUNK];
                    typename Op::product product[CHUNK];
#pragma unroll
                    for (int j = j0; j < j0 + CHUNK && j < TILE; j++) entry[j - j0] = op.load(base + me + j * BLOCK);
#pragma unroll
                    for (int j = j0; j < j0 + CHUNK && j < TILE; j++)
                        product[j - j0] =
                            op.multiply(entry[j - j0], base + me + j * BLOCK, row_of_entry(j * BLOCK + me));
#pragma unroll
                    for (int j = j0; j < j0 + CHUNK && j < TILE; j++)
                        items::put(m.item, items::place(j * BLOCK + me), product[j - j0]);
                }
            } else {
#pragma unroll 2
                for (int i = me; i < count; i += BLOCK)
                    items::put(m.item, items::place(i), op.multiply(op.load(base + i), base + i, row_of_entry(i)));
            }
        };
        if (!Op::NEEDS_ROW) multiply_all([](int) { return -1ll; });

        /* (b) ends of rows; rows without entries set the bit of the row before them once more */
        const auto mark_end = [&](int r, int e) {
            if (e <= count) {
                if (e > 0) atomicOr(&m.ends[(e - 1) / TILE], 1u << (e - 1) % TILE);
                return true;
            }
            if (!last && r < rows && (r == 0 || end_of(r - 1) <= count)) m.next_row = r;
            return false;
        };
        if (me == 0) m.row_end[0] = first_begin;
        bool goes_on = true;
#pragma unroll
        for (int k = 0; k < KEPT; k++) {
            m.row_end[k * BLOCK + me + 1] = end[k];
            goes_on = goes_on && mark_end(k * BLOCK + me, end[k]);
        }
#pragma unroll 1
        for (int r = KEPT * BLOCK + me; goes_on && r < rows; r += BLOCK) goes_on = mark_end(r, end_of(r));
        int next = rows; /* rows that end in the tile */
        if (Op::NEEDS_ROW) {
            __syncthreads();
            if (!last) next = m.next_row;
            /* number of ends before each thread's entries, then the row of every end */
            if (warp == 0) {
                int before = 0;
                for (int k = lane; k < BLOCK; k += 32) {
                    const int own = __popc(m.ends[k]);
                    int inclusive = own;
#pragma unroll
                    for (int d = 1; d < 32; d *= 2) {
                        const int o = __shfl_up_sync(~0u, inclusive, d);
                        if (lane >= d) inclusive += o;
                    }
                    m.rows_before[k] = before + inclusive - own;
                    before += __shfl_sync(~0u, inclusive, 31);
                }
                if (lane == 0) m.row_of[before] = next; /* the row that is left open */
            }
            __syncthreads();
            for (int r = me; r < next; r += BLOCK) {
                const int e = end_of(r), p = e - 1;
                if (p >= 0 && ((r == 0 && began && row == from.row) || end_of(r - 1) != e))
                    m.row_of[m.rows_before[p / TILE] + __popc(m.ends[p / TILE] & ((1u << p % TILE) - 1))] = r;
            }
            __syncthreads();
            multiply_all([&](int i) {
                const int k = i / TILE;
                return i < count ? row + m.row_of[m.rows_before[k] + __popc(m.ends[k] & ((1u << i % TILE) - 1))] : row;
            });
        }
        __syncthreads(); /* S1: products and ends are there */

        /* (c) sums of a thread's entries */
        const unsigned ends = m.ends[me];
        m.ends[me] = 0;
        if (!last) next = m.next_row;
        A sum, first_sum;
        bool exists;
        const int first = __ffs(ends) - 1;
        const auto add_entry = [&](int j) {
            const A p = op.lift(items::template get<typename Op::product>(m.item, me * items::STEP + j));
            sum = j == 0 || (ends << 1 >> j & 1) ? p : op.add(sum, p);
            if (ends >> j & 1) items::put(m.item, me * items::STEP + j, op.project(sum));
            if (!REREADS && j == first) first_sum = sum;
        };
        if (count >= (me + 1) * TILE) {
#pragma unroll
            for (int j = 0; j < TILE; j++) add_entry(j);
            exists = !(ends >> (TILE - 1) & 1);
        } else {
            const int mine = count - me * TILE; /* the entries that are there */
#pragma unroll 1
            for (int j = 0; j < mine; j++) add_entry(j);
            exists = mine > 0 && !(ends >> (mine - 1) & 1);
        }
        if constexpr (REREADS)
            if (first >= 0) first_sum = items::template get<A>(m.item, me * items::STEP + first);

        /* what is open goes on to the next threads */
        open_sum<A> carry = m.carries()[parity];
        open_sum<A> before; /* open before this thread's entries; transposed: since the warp's first */
        if (SCAN == SCAN_RAKING || SCAN == SCAN_RAKING_MEMOIZE) {
            m.sums()[me] = {sum, exists, first >= 0};
            __syncthreads();
            if (warp == 0) rake<Op, A, BLOCK, SCAN == SCAN_RAKING_MEMOIZE>(op, m.sums(), carry);
            __syncthreads();
            before = m.sums()[me];
            if (me == BLOCK - 1) m.carries()[parity ^ 1] = join(op, before, open_sum<A>{sum, exists, first >= 0});
        } else {
            const unsigned flags = __ballot_sync(~0u, first >= 0), tails = __ballot_sync(~0u, exists);
            const open_sum<A> upto = scan_lanes(op, sum, flags, tails, lane);
            const unsigned open_lanes = __ballot_sync(~0u, upto.exists);
            before.value = shuffle_up(upto.value, 1);
            before.exists = open_lanes << 1 >> lane & 1;
            before.after_end = (flags & ((1u << lane) - 1)) != 0;
            const int entries = count - warp * 32 * TILE; /* of the warp and those behind it */
            const int last_lane = entries >= 32 * TILE ? 31 : entries <= 0 ? -1 : (entries - 1) / TILE;
            if (lane == (last_lane < 0 ? 0 : last_lane))
                m.warps()[warp] = last_lane < 0 ? open_sum<A>{sum, false, false} : upto;
            if (SCAN == SCAN_WARPS) {
                __syncthreads();
                before = join(op, open_before(op, m.warps(), carry, warp), before);
                if (me == 0) m.carries()[parity ^ 1] = open_before(op, m.warps(), carry, memory_type::WARPS);
            } else if (flags == 0) {
                if (lane == 0) m.first_end[warp] = -1;
            } else if (lane == __ffs(flags) - 1) {
                m.first_end[warp] = me * TILE + first;
                m.firsts()[warp] = join_value(op, before, first_sum);
            }
        }
        if (first >= 0 && before.exists)
            items::put(m.item, me * items::STEP + first, op.project(op.add(before.value, first_sum)));
        if (SCAN != SCAN_TRANSPOSED && first >= 0 && !before.after_end)
            m.firsts()[0] = join_value(op, before, first_sum); /* of the block's first end */
        __syncthreads(); /* S2: sums lie at their rows' ends */

        if (SCAN == SCAN_TRANSPOSED) { /* the first sum of every warp is completed by what is open before the warp */
            if (me < memory_type::WARPS && m.first_end[me] >= 0) {
                const A whole = join_value(op, open_before(op, m.warps(), carry, me), m.firsts()[me]);
                items::put(m.item, items::place(m.first_end[me]), op.project(whole));
                m.firsts()[me] = whole;
            }
            __syncthreads();
        }

        /* (d) rows. The sum of one that another block began is not the whole row */
        const bool leaves_first = began && row == from.row && next > 0;
        if (leaves_first && me == 0) {
            int w = 0;
            if (SCAN == SCAN_TRANSPOSED)
                while (m.first_end[w] < 0) w++;
            if (a.scheme == SCHEME_POSTPROCESS) ((open_sum<A> *)a.partials)[2 * b] = {m.firsts()[w], true, true};
            else if constexpr (Op::HAS_ATOMIC) op.accumulate(row, m.firsts()[w]);
        }
        const auto store_row = [&](int r, int begin, int end) {
            if (r == 0 && leaves_first) return;
            if (begin == end) store(r, op.project(op.identity()), true);
            else store(r, items::template get<typename Op::result>(m.item, items::place(end - 1)), false);
        };
        const int kept = next < memory_type::ROWS ? next : memory_type::ROWS;
#pragma unroll 1
        for (int r = me; r < kept; r += BLOCK) store_row(r, m.row_end[r], m.row_end[r + 1]);
#pragma unroll 1
        for (int r = memory_type::ROWS + me; r < next; r += BLOCK) store_row(r, end_of(r - 1), end_of(r));
        if (SCAN == SCAN_TRANSPOSED && me == 0 && (!last || shares))
            m.carries()[parity ^ 1] = open_before(op, m.warps(), carry, memory_type::WARPS);
        row += next;
        parity ^= 1;
        if (last) break;
    }

    if constexpr (Op::FUSED) op.finish(local);
    if (!shares || me) return;
    /* what the block leaves open */
    const open_sum<A> rest = m.carries()[parity];
    if (a.scheme == SCHEME_POSTPROCESS) {
        open_sum<A> *p = (open_sum<A> *)a.partials + 2 * b;
        p[1] = rest;
        if (!began) p[0].exists = false;
    } else if constexpr (Op::HAS_ATOMIC) {
        if (rest.exists) op.accumulate(to.row, rest.value);
    }
}

constexpr int FEW_BLOCKS = 8; /* of which a thread puts a row together; of more, a warp does */

/** The second launch of postprocess: a thread for every block looks whether a row that another block began ended in it,
 *  and stores the sum of what all of them had of it, in order. Without starts, for which a warp searches, a warp for
 *  every block. */
template <class Op, int BLOCK> __global__ void __launch_bounds__(BLOCK)
    join_shared_rows(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op)
{
    using A = typename Op::accumulator;
    const int lane = threadIdx.x % 32, shift = a.starts ? 0 : 5, mine = a.starts ? lane : 0;
    const long long b = a.first_block + (((long long)blockIdx.x * BLOCK + threadIdx.x) >> shift), first = b - mine;
    const open_sum<A> *partials = (const open_sum<A> *)a.partials;
    typename local_of<Op>::type local = local_of<Op>::begin(op);
    const bool ends = mine == lane && b > 0 && b < a.end_block && partials[2 * b].exists;
    long long row = ends && a.starts ? a.starts[b].row : 0;
    if (!a.starts && __any_sync(~0u, ends)) row = search_start(a, b, lane).row;
    const long long low = ends ? key_at(a, row) / a.entries_per_block : b; /* the block in which the row begins */
    /* of blocks from .. end - 1 */
    constexpr int STEP = sizeof(A) <= 16 ? 4 : 1; /* on their way */
    const auto open_from = [&](long long from, long long end, const A &any) {
        open_sum<A> sum = {any, false, false};
        for (long long k = from; k < end; k += STEP) {
            open_sum<A> p[STEP];
#pragma unroll
            for (int q = 0; q < STEP; q++)
                if (k + q < end) p[q] = partials[2 * (k + q) + 1];
#pragma unroll
            for (int q = 0; q < STEP; q++)
                if (k + q < end) {
                    p[q].after_end = false;
                    sum = join(op, sum, p[q]);
                }
        }
        return sum;
    };
    const auto store = [&](long long i, const open_sum<A> &before, const A &end) {
        const typename Op::result z = op.project(join_value(op, before, end));
        if constexpr (Op::FUSED) op.store(i, 0, z, false, local);
        else op.store(i, 0, z, false);
    };
    const bool is_long = b - low > FEW_BLOCKS;
    if (ends && !is_long) {
        const A end = partials[2 * b].value;
        store(row, open_from(low, b, end), end);
    }
    for (unsigned left = __ballot_sync(~0u, is_long); left; left &= left - 1) {
        const int which = __ffs(left) - 1;
        const long long last = first + which, begin = __shfl_sync(~0u, low, which), i = __shfl_sync(~0u, row, which);
        /* 32 neighbouring stretches */
        const A end = partials[2 * last].value;
        const long long each = (last - begin + 31) / 32, from = begin + lane * each;
        open_sum<A> sum = open_from(from, from + each < last ? from + each : last, end);
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const open_sum<A> before = shuffle_up(sum, d);
            if (lane >= d) sum = join(op, before, sum);
        }
        if (lane == 31) store(i, sum, end);
    }
    if constexpr (Op::FUSED) op.finish(local);
}

/** The launch before one with atomics: rows that blocks share get what they have without the product. A warp a block,
 *  so that it can search. */
template <class Op, int BLOCK> __global__ void __launch_bounds__(BLOCK)
    prepare_shared_rows(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op)
{
    const int lane = threadIdx.x % 32;
    const long long b = a.first_block + (long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    if (b == 0 || b >= a.end_block) return;
    const block_start from = a.starts ? a.starts[b] : search_start(a, b, lane);
    const block_start before = a.starts ? a.starts[b - 1] : search_start(a, b - 1, lane);
    if (lane || from.row >= a.row_end || from.row < a.row_begin) return;
    const long long begin = offset_at(a, from.row);
    /* once: by the block after the one in which the row begins */
    if (begin < from.nz && (before.row < from.row || before.nz <= begin)) op.prepare(from.row);
}
#endif
#endif
