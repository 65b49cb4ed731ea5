/* Products of rows that are short and of similar lengths: a block copies the values, columns and offsets of its rows to
 * shared memory, and 1, 2, 4, ... or 32 neighbouring threads take a row. Threads of neighbouring rows read neighbouring
 * elements of x, where a matrix comes from a grid; nothing is handed on from thread to thread but within a row.
 *
 * The operator is one of segmented.cuh, not FUSED; besides, it has
 *     using stored, operand;                  of values; of x
 *     const stored *values; const int *columns;
 *     operand gather(int column) const;
 *     product combine(stored, operand) const;
 *     Op for_vector(long long v) const;       v = 0: itself; the same for another vector */
#ifndef TRINE_SPMV_ROWS_CUH
#define TRINE_SPMV_ROWS_CUH

#include "core/gpu_follow.cuh"
#include "spmv/cuda/copies.cuh"
#include "spmv/cuda/segmented.cuh"

constexpr int MOST_THREADS_BY_ROWS = 1280; /* that registers of a multiprocessor are to do for */

template <class Op, int BLOCK, int TILE> struct rows_memory {
    static constexpr int CAPACITY = BLOCK * TILE, ROWS = CAPACITY / 4; /* of a block that there is room for */
    alignas(16) unsigned char value[staged<typename Op::stored, CAPACITY>::BYTES];
    alignas(16) unsigned char column[staged<int, CAPACITY>::BYTES];
    alignas(16) unsigned char offset[staged<long long, ROWS + 1>::BYTES];
    copies parts;
};

/** Method adaptive, whose starts are known. 2^lanes_shift threads take a row, STEP entries of each at a time. SEVERAL:
 *  block y has vectors_each of the n_vectors vectors; else there is one. */
template <class Op, int BLOCK, int TILE, int STEP, bool SEVERAL>
__global__ void __launch_bounds__(BLOCK,
                                  (Op::THREADS < MOST_THREADS_BY_ROWS ? Op::THREADS : MOST_THREADS_BY_ROWS) / BLOCK)
    reduce_whole_rows(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op, int lanes_shift,
                      int n_vectors, int vectors_each)
{
    using A = typename Op::accumulator;
    using stored = typename Op::stored;
    using memory_type = rows_memory<Op, BLOCK, TILE>;
    __shared__ memory_type m;
    const int me = threadIdx.x, lanes = 1 << lanes_shift, lane = me & (lanes - 1);
    const int offset_shift = a.wide_offsets ? 3 : 2;
    if (me == 0) m.parts.begin();
    __syncthreads();
    let_follower_start();
    const block_start *starts = a.starts + a.first_block + blockIdx.x;
    block_start from = starts[0], to = starts[1];
    wait_for_predecessor(); /* what it wrote is read behind this; starts are the plan's own */
    clip_to_rows(a, from, to);
    const int rows = (int)(to.row - from.row), count = (int)(to.nz - from.nz);
    const int base = (int)from.nz; /* a block has fewer than 2^31 entries: the lower halves of offsets do */

    const auto multiply_rows = [&](const Op &mine, const stored *values, const int *columns,
                                   const unsigned char *offsets) {
        for (int first = 0; first < rows; first += BLOCK >> lanes_shift) {
            const int r = first + (me >> lanes_shift);
            int begin = 0, end = 0;
            if (r < rows) {
                begin = *(const int *)(offsets + ((long long)r << offset_shift)) - base;
                end = *(const int *)(offsets + ((long long)(r + 1) << offset_shift)) - base;
            }
            A sum = op.identity();
#pragma unroll 1
            for (int k = begin + lane; k < end; k += STEP << lanes_shift) {
                typename Op::operand operand[STEP]; /* all of them on their way before the first is waited for */
#pragma unroll
                for (int j = 0; j < STEP; j++)
                    if (k + (j << lanes_shift) < end) operand[j] = mine.gather(columns[k + (j << lanes_shift)]);
#pragma unroll
                for (int j = 0; j < STEP; j++)
                    if (k + (j << lanes_shift) < end)
                        sum = op.add(sum, op.lift(op.combine(values[k + (j << lanes_shift)], operand[j])));
            }
            for (int d = lanes / 2; d > 0; d /= 2) {
                const A other = shuffle_down(sum, d);
                if (lane < d) sum = op.add(sum, other);
            }
            if (lane == 0 && r < rows) {
                mine.store(from.row, r, op.project(sum), begin == end);
            }
        }
    };
    const auto multiply_vectors = [&](const stored *values, const int *columns, const unsigned char *offsets) {
        if constexpr (SEVERAL) {
            const int first = (int)blockIdx.y * vectors_each;
            for (int v = first; v < n_vectors && v < first + vectors_each; v++)
                multiply_rows(op.for_vector(v), values, columns, offsets);
        } else {
            multiply_rows(op, values, columns, offsets);
        }
    };

    const unsigned char *offsets = (const unsigned char *)a.offsets + (from.row << offset_shift);
    const stored *values = op.values + from.nz;
    const int *columns = op.columns + from.nz;
    /* where entries or rows are denser than on average there may be no room: then they come from the arrays */
    if (count <= memory_type::CAPACITY && rows <= memory_type::ROWS && rows > 0) {
#pragma unroll 1
        for (int part = copies::IN_BULK ? me : 0; part < copies::PARTS; part += copies::IN_BULK ? BLOCK : 1) {
            wanted_part p = {(const unsigned char *)op.values, m.value, a.nnz * (long long)sizeof(stored),
                             from.nz * (long long)sizeof(stored), count * (int)sizeof(stored)};
            if (part == 1) p = {(const unsigned char *)op.columns, m.column, a.nnz * 4, from.nz * 4, count * 4};
            if (part == 2)
                p = {(const unsigned char *)a.offsets, m.offset, (a.n_rows + 1) << offset_shift,
                     from.row << offset_shift, (rows + 1) << offset_shift};
            m.parts.template ask<BLOCK>(p);
        }
        if (!copies::IN_BULK) m.parts.wait(0);
        __syncthreads(); /* array ends, which threads copied */
        if (copies::IN_BULK) m.parts.wait(0);
        multiply_vectors((const stored *)(m.value + ((unsigned long long)values & 15)),
                         (const int *)(m.column + ((unsigned long long)columns & 15)),
                         m.offset + ((unsigned long long)offsets & 15));
    } else {
        multiply_vectors(values, columns, offsets);
    }
}

#endif
