/* Products of rows that are short and of similar lengths: a block copies what is stored of its entries, and columns and
 * offsets of its rows, to shared memory, and 1, 2, 4, ... or 32 neighbouring threads take a row. Threads of
 * neighbouring rows read neighbouring elements of x, where a matrix comes from a grid; nothing is handed on from thread
 * to thread but within a row.
 *
 * The operator is one of segmented.cuh, not FUSED; besides, it has
 *     using stored, operand;                 of entries; what an entry is multiplied from, or its product
 *     static constexpr bool STAGED;          what is stored of entries is to be copied; else it is read where it lies
 *     static constexpr bool COMMUTES;        add does, and identity is neutral: threads of a row may take entries by
 *                                            turns
 *     static constexpr bool OPAQUE;          fetch does more than to load: the compiler would wait for one entry
 *                                            before it asks for the next, were the next asked for under a condition
 *     const stored *first_stored() const; const int *first_column() const;       of all entries
 *     operand fetch(const stored *s, int k, int column, long long nz, long long row) const;   nz: stored as s[k]
 *     product combine(const stored *s, int k, operand) const;
 *     using before; before look(long long row, int r) const;         what store needs of row row + r and may wait for
 *     void store(long long row, int r, result z, bool empty, before) const;
 *     Op for_vector(long long v) const;      SEVERAL: v = 0: itself; the same for another vector */
#ifndef TRINE_SPMV_ROWS_CUH
#define TRINE_SPMV_ROWS_CUH

#ifndef __CUDACC_RTC__ /* there, their texts come first */
#include "core/gpu_follow.cuh"
#include "spmv/cuda/copies.cuh"
#include "spmv/cuda/segmented.cuh"
#endif

/** Who takes rows: 2^given_shift threads each; one thread each, which has the old y on its way meanwhile (with more it
 *  would need registers that there are not); one thread the next of several, which mostly have no entries. */
enum { ROWS_BY_THREADS, ROWS_BY_THREAD, ROWS_MOSTLY_EMPTY };
constexpr int MOST_THREADS_BY_ROWS = 1280; /* that registers of a multiprocessor are to do for */

/** A block's room: for BLOCK * TILE entries and half as many rows; where these are mostly empty, for half as many
 *  entries and BLOCK * TILE rows. Offsets of 64 bits: half as many rows. */
template <class Op, int BLOCK, int TILE, int HOW> struct rows_memory {
    static constexpr bool MOSTLY_EMPTY = HOW == ROWS_MOSTLY_EMPTY;
    static constexpr int ENTRIES = MOSTLY_EMPTY ? BLOCK * TILE / 2 : BLOCK * TILE;
    static constexpr int OFFSETS = BLOCK * TILE / (MOSTLY_EMPTY ? 2 : 4) + 1; /* of 64 bits */
    alignas(16) unsigned char stored[staged < typename Op::stored, Op::STAGED ? ENTRIES : 0 > ::BYTES];
    alignas(16) unsigned char column[staged<int, ENTRIES>::BYTES];
    alignas(16) unsigned char offset[staged<long long, OFFSETS>::BYTES];
    copies parts;

    /** Where entries or rows are denser than on average there may be none: then they come from the arrays. */
    __device__ static bool has_room(int count, int rows, int offset_shift)
    {
        return count <= ENTRIES && rows < OFFSETS * (8 >> offset_shift) && rows > 0;
    }
};

/** By all threads of a block, which have met since m.parts.begin(), or in bulk by the first PARTS: ask for what is
 *  stored of `count` entries, for their columns, and for n_offsets offsets of rows, from `from` on, to shared memory,
 *  each to its address modulo 16. */
template <int BLOCK, bool AGAIN, class Memory, class Op>
__device__ __forceinline__ void ask_for_entries(Memory &m, const segmented_arguments &a, const Op &op,
                                                const block_start &from, int count, int n_offsets, int offset_shift)
{
    const int me = threadIdx.x, EACH = Op::STAGED ? (int)sizeof(typename Op::stored) : 0;
#pragma unroll 1
    for (int part = copies::IN_BULK ? me : 0; part < copies::PARTS; part += copies::IN_BULK ? BLOCK : 1) {
        wanted_part p = {(const unsigned char *)op.first_stored(), m.stored, a.nnz * EACH, from.nz * EACH,
                         count * EACH};
        if (part == 1) p = {(const unsigned char *)op.first_column(), m.column, a.nnz * 4, from.nz * 4, count * 4};
        if (part == 2)
            p = {(const unsigned char *)a.offsets, m.offset, (a.n_rows + 1) << offset_shift, from.row << offset_shift,
                 n_offsets << offset_shift};
        m.parts.template ask<BLOCK, AGAIN>(p);
    }
}
/** The same, and they are there. */
template <int BLOCK, class Memory, class Op>
__device__ __forceinline__ void copy_entries(Memory &m, const segmented_arguments &a, const Op &op,
                                             const block_start &from, int count, int rows, int offset_shift)
{
    ask_for_entries<BLOCK, false>(m, a, op, from, count, rows + 1, offset_shift);
    if (!copies::IN_BULK) m.parts.wait(0);
    __syncthreads(); /* array ends, which threads copied */
    if (copies::IN_BULK) m.parts.wait(0);
}

/** The block's part of the matrix, when what was launched before has been waited for; m is ready to be asked for it. */
struct part_of_rows {
    block_start from;
    int rows, count; /* entries, fewer than 2^31 */
    int offset_shift; /* of bytes */
};
template <class Memory> __device__ __forceinline__ part_of_rows begin_rows(Memory &m, const segmented_arguments &a)
{
    if (threadIdx.x == 0) m.parts.begin();
    __syncthreads();
    let_follower_start();
    const block_start *starts = a.starts + (a.first_block + (long long)blockIdx.x) * a.starts_each;
    block_start from = starts[0], to = starts[a.starts_each];
    wait_for_predecessor(); /* what it wrote is read behind this; starts are the plan's own */
    clip_to_rows(a, from, to);
    return {from, (int)(to.row - from.row), (int)(to.nz - from.nz), a.wide_offsets ? 3 : 2};
}
/** multiply(entries, columns, offsets of the part's rows) on copies in shared memory if there is room, else where they
 *  lie. */
template <int BLOCK, class Memory, class Op, class F>
__device__ __forceinline__ void with_entries(Memory &m, const segmented_arguments &a, const Op &op,
                                             const part_of_rows &part, const F &multiply)
{
    using stored = typename Op::stored;
    const unsigned char *offsets = (const unsigned char *)a.offsets + (part.from.row << part.offset_shift);
    const stored *entries = op.first_stored() + part.from.nz;
    const int *columns = op.first_column() + part.from.nz;
    if (!m.has_room(part.count, part.rows, part.offset_shift)) return multiply(entries, columns, offsets);
    copy_entries<BLOCK>(m, a, op, part.from, part.count, part.rows, part.offset_shift);
    const int *own_columns = (const int *)(m.column + ((unsigned long long)columns & 15));
    const unsigned char *own_offsets = m.offset + ((unsigned long long)offsets & 15);
    if constexpr (Op::STAGED)
        multiply((const stored *)(m.stored + ((unsigned long long)entries & 15)), own_columns, own_offsets);
    else multiply(entries, own_columns, own_offsets);
}

/** Method adaptive, whose starts are known. STEP: entries that a thread has on their way, of so many rows where these
 *  are mostly empty. SEVERAL: block y has vectors_each of the n_vectors vectors; else there is one. */
template <class Op, int BLOCK, int TILE, int HOW, int STEP, bool SEVERAL>
__global__ void __launch_bounds__(BLOCK,
                                  (Op::THREADS < MOST_THREADS_BY_ROWS ? Op::THREADS : MOST_THREADS_BY_ROWS) / BLOCK)
    reduce_whole_rows(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op, int given_shift,
                      int n_vectors, int vectors_each)
{
    using A = typename Op::accumulator;
    using stored = typename Op::stored;
    using memory_type = rows_memory<Op, BLOCK, TILE, HOW>;
    __shared__ memory_type m;
    const int me = threadIdx.x, lanes_shift = HOW == ROWS_BY_THREADS ? given_shift : 0;
    const int lanes = 1 << lanes_shift, lane = me & (lanes - 1);
    const part_of_rows part = begin_rows(m, a);
    const block_start from = part.from;
    const int rows = part.rows, offset_shift = part.offset_shift;
    const int base = (int)from.nz; /* the lower halves of offsets do */

    const auto fetch = [&](const Op &mine, const stored *entries, const int *columns, int k, int r) {
        return mine.fetch(entries, k, columns[k], from.nz + k, from.row + r);
    };
    const auto multiply_rows = [&](const Op &mine, const stored *entries, const int *columns,
                                   const unsigned char *offsets) {
        for (int first = 0; first < rows; first += BLOCK >> lanes_shift) {
            const int r = first + (me >> lanes_shift);
            int begin = 0, end = 0;
            if (r < rows) {
                begin = *(const int *)(offsets + ((long long)r << offset_shift)) - base;
                end = *(const int *)(offsets + ((long long)(r + 1) << offset_shift)) - base;
            }
            typename Op::before old;
            if (HOW == ROWS_BY_THREAD && r < rows) old = mine.look(from.row, r);
            const bool is_empty = begin == end;
            A sum = op.identity();
            if constexpr (Op::COMMUTES) { /* entries by turns */
#pragma unroll 1
                for (int k = begin + lane; k < end; k += STEP << lanes_shift) {
                    typename Op::operand operand[STEP]; /* all of them on their way before the first is waited for */
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        if (Op::OPAQUE) /* the first once more where there are no more */
                            operand[j] = fetch(mine, entries, columns,
                                               k + (j << lanes_shift) < end ? k + (j << lanes_shift) : k, r);
                        else if (k + (j << lanes_shift) < end)
                            operand[j] = fetch(mine, entries, columns, k + (j << lanes_shift), r);
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        if (k + (j << lanes_shift) < end)
                            sum = op.add(sum, op.lift(op.combine(entries, k + (j << lanes_shift), operand[j])));
                }
                for (int d = lanes / 2; d > 0; d /= 2) {
                    const A other = shuffle_down(sum, d);
                    if (lane < d) sum = op.add(sum, other);
                }
            } else { /* entries side by side */
                const int length = end - begin, each = (length + lanes - 1) >> lanes_shift, own = begin + lane * each;
                if (own + each < end) end = own + each;
#pragma unroll 1
                for (int k = own; k < end; k += STEP) {
                    typename Op::operand operand[STEP];
                    /* the first once more where there are no more: what is not asked for under a condition is asked for
                     * all at once, whatever the operator does */
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        operand[j] = fetch(mine, entries, columns, k + j < end ? k + j : k, r);
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        if (k + j < end) {
                            const A p = op.lift(op.combine(entries, k + j, operand[j]));
                            sum = j == 0 && k == own ? p : op.add(sum, p);
                        }
                }
                for (int d = 1; d < lanes; d *= 2) { /* neighbours, then neighbouring pairs of them, ... */
                    const A next = shuffle_down(sum, d);
                    if (lane % (2 * d) == 0 && (lane + d) * each < length) sum = op.add(sum, next);
                }
            }
            if (lane == 0 && r < rows)
                mine.store(from.row, r, op.project(sum), is_empty,
                           HOW == ROWS_BY_THREAD ? old : mine.look(from.row, r));
        }
    };
    const auto multiply_few = [&](const stored *entries, const int *columns, const unsigned char *offsets) {
        const int count_rows = rows - me; /* from the thread's first on */
        const unsigned char *own = offsets + ((long long)me << offset_shift);
        const int next = 1 << offset_shift, across = BLOCK << offset_shift;
        for (int first = 0; first < count_rows; first += STEP * BLOCK, own += STEP * across) {
            int begin[STEP], end[STEP];
            typename Op::operand operand[STEP];
            typename Op::before old[STEP];
#pragma unroll
            for (int q = 0; q < STEP; q++) {
                begin[q] = end[q] = 0;
                if (first + q * BLOCK < count_rows) {
                    begin[q] = *(const int *)(own + q * across) - base;
                    end[q] = *(const int *)(own + q * across + next) - base;
                    old[q] = op.look(from.row, me + first + q * BLOCK);
                }
                if (begin[q] < end[q]) operand[q] = fetch(op, entries, columns, begin[q], me + first + q * BLOCK);
            }
#pragma unroll
            for (int q = 0; q < STEP; q++) {
                const int r = me + first + q * BLOCK;
                A sum = op.identity();
                if (begin[q] < end[q]) sum = op.lift(op.combine(entries, begin[q], operand[q]));
#pragma unroll 1
                for (int k = begin[q] + 1; k < end[q]; k++)
                    sum = op.add(sum, op.lift(op.combine(entries, k, fetch(op, entries, columns, k, r))));
                if (first + q * BLOCK < count_rows) op.store(from.row, r, op.project(sum), begin[q] == end[q], old[q]);
            }
        }
    };
    const auto multiply_vectors = [&](const stored *entries, const int *columns, const unsigned char *offsets) {
        if constexpr (SEVERAL) {
            const int first = (int)blockIdx.y * vectors_each;
            for (int v = first; v < n_vectors && v < first + vectors_each; v++)
                multiply_rows(op.for_vector(v), entries, columns, offsets);
        } else if constexpr (HOW == ROWS_MOSTLY_EMPTY) {
            multiply_few(entries, columns, offsets);
        } else {
            multiply_rows(op, entries, columns, offsets);
        }
    };

    with_entries<BLOCK>(m, a, op, part, multiply_vectors);
}

#endif
