/* Rows that are short and of similar lengths, as in rows.cuh, by blocks that go on: there are as many as the device has
 * room for, and block b takes tiles b, b + G, b + 2 G, ... of G blocks. Copies of the next RING - 1 tiles are on their
 * way while one is worked on, so that memory does not wait for gathers, nor these for the next block. Sums over all
 * rows are made once for a block, not once for a tile.
 *
 * Op: a plain_product (product.cuh), or that with an epilogue (fused.cuh). */
#ifndef TRINE_SPMV_RING_CUH
#define TRINE_SPMV_RING_CUH

#include "core/gpu_follow.cuh"
#include "spmv/cuda/rows.cuh"

/** Method adaptive, whose starts are known; offsets of 32 bits, all rows. 2^given_shift threads a row; ONE: one. STEP:
 *  entries that a thread has on their way. THREADS: of a multiprocessor. */
template <class Op, int BLOCK, int TILE, int RING, int STEP, int THREADS, bool ONE>
__global__ void __launch_bounds__(BLOCK, THREADS / BLOCK)
    reduce_rows_on_and_on(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op, int given_shift)
{
    using T = typename Op::product;
    using stored = typename Op::stored;
    using memory_type = rows_memory<Op, BLOCK, TILE, ONE ? ROWS_BY_THREAD : ROWS_BY_THREADS>;
    constexpr int OFFSET_SHIFT = 2;
    __shared__ memory_type ring[RING];
    const int me = threadIdx.x, lanes_shift = ONE ? 0 : given_shift, step = gridDim.x;
    const int lanes = 1 << lanes_shift, lane = me & (lanes - 1);
    if (me < RING) ring[me].parts.begin();
    __syncthreads();
    let_follower_start();
    const auto ask = [&](int t, memory_type &m) { /* without room, for nothing: every tile is waited for */
                                                  if (t >= a.n_blocks || (copies::IN_BULK && me >= copies::PARTS))
                                                      return;
                                                  const block_start from = a.starts[t], to = a.starts[t + 1];
                                                  const int rows = (int)(to.row - from.row),
                                                            count = (int)(to.nz - from.nz);
                                                  const bool room = m.has_room(count, rows, OFFSET_SHIFT);
                                                  ask_for_entries<BLOCK, true>(m, a, op, from, room ? count : 0,
                                                                               room ? rows + 1 : 0, OFFSET_SHIFT);
    };
    int slot = 0, parity = 0;
    block_start from = a.starts[blockIdx.x], to = a.starts[blockIdx.x + 1];
    wait_for_predecessor(); /* what it wrote is read behind this; starts are the plan's own */
#pragma unroll
    for (int q = 0; q < RING; q++) ask(blockIdx.x + q * step, ring[q]);
    __syncthreads(); /* array ends, which threads copied; those of later tiles are there when their turn comes */

    typename local_of<Op>::type local = local_of<Op>::begin(op);
    typename Op::before old, next_old; /* of the thread's first row; on its way while the tile before is worked on */
    const auto look_ahead = [&] {
        if (Op::LOOKS_AHEAD && ONE && me < (int)(to.row - from.row)) next_old = op.look(from.row, me);
    };
    look_ahead();
    for (int tile = blockIdx.x; tile < a.n_blocks; tile += step) {
        memory_type &m = ring[slot];
        const int rows = (int)(to.row - from.row), count = (int)(to.nz - from.nz), base = (int)from.nz;
        const long long row = from.row;
        const auto multiply_rows = [&](const stored *entries, const int *columns, const unsigned char *offsets) {
            for (int first = 0; first < rows; first += BLOCK >> lanes_shift) {
                const int r = first + (me >> lanes_shift);
                int begin = 0, end = 0;
                if (r < rows) {
                    begin = *(const int *)(offsets + (r << OFFSET_SHIFT)) - base;
                    end = *(const int *)(offsets + ((r + 1) << OFFSET_SHIFT)) - base;
                }
                T sum = op.identity();
#pragma unroll 1
                for (int k = begin + lane; k < end; k += STEP << lanes_shift) {
                    T operand[STEP]; /* all of them on their way before the first is waited for */
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        if (k + (j << lanes_shift) < end)
                            operand[j] =
                                op.fetch(entries, k + (j << lanes_shift), columns[k + (j << lanes_shift)], 0, 0);
#pragma unroll
                    for (int j = 0; j < STEP; j++)
                        if (k + (j << lanes_shift) < end)
                            sum = op.add(sum, op.combine(entries, k + (j << lanes_shift), operand[j]));
                }
                for (int d = lanes / 2; d > 0; d /= 2) {
                    const T other = shuffle_down(sum, d);
                    if (lane < d) sum = op.add(sum, other);
                }
                if (lane != 0 || r >= rows) continue;
                if constexpr (Op::LOOKS_AHEAD) {
                    const typename Op::before b = ONE && first == 0 ? old : op.look(row, r);
                    if constexpr (Op::FUSED) op.store(row, r, sum, begin == end, local, b);
                    else op.store(row, r, sum, begin == end, b);
                } else {
                    op.store(row, r, sum, begin == end, local);
                }
            }
        };
        const unsigned char *offsets = (const unsigned char *)a.offsets + (from.row << OFFSET_SHIFT);
        const stored *entries = op.first_stored() + from.nz;
        const int *columns = op.first_column() + from.nz;
        old = next_old;
        if (tile + step < a.n_blocks) {
            from = a.starts[tile + step], to = a.starts[tile + step + 1];
            look_ahead();
        }
        m.parts.wait(parity);
        if (!copies::IN_BULK) __syncthreads();
        if (m.has_room(count, rows, OFFSET_SHIFT))
            multiply_rows((const stored *)(m.stored + ((unsigned long long)entries & 15)),
                          (const int *)(m.column + ((unsigned long long)columns & 15)),
                          m.offset + ((unsigned long long)offsets & 15));
        else multiply_rows(entries, columns, offsets);
        __syncthreads(); /* the tile has been read */
        ask(tile + RING * step, m);
        if (++slot == RING) slot = 0, parity ^= 1;
    }
    if constexpr (Op::FUSED) op.finish(local);
}

#endif
