/* Products of matrices whose rows, GROUP neighbours at a time, mostly have the same columns, as where a node of a mesh
 * has several unknowns. Blocks copy their entries to shared memory as those of rows.cuh do; the threads that have a
 * group take its rows together, and an element of x is asked for once. Whether columns are the same is looked at entry
 * by entry: a group of which some are not is gone over once more, row by row.
 *
 * Op: a plain_product (product.cuh). */
#ifndef TRINE_SPMV_ALIKE_CUH
#define TRINE_SPMV_ALIKE_CUH

#include "spmv/cuda/product.cuh"
#include "spmv/cuda/rows.cuh"

/** Method adaptive, whose starts are known, and best with rows that are multiples of GROUP. LANES threads a group;
 *  STEP: entries of a row that a thread has on their way; FULL: without a condition, as long as there are so many. */
template <class Op, int BLOCK, int TILE, int GROUP, int LANES, int STEP, int THREADS, bool FULL>
__global__ void __launch_bounds__(BLOCK, THREADS / BLOCK)
    reduce_rows_alike(const __grid_constant__ segmented_arguments a, const __grid_constant__ Op op)
{
    using T = typename Op::product;
    using stored = typename Op::stored;
    using memory_type = rows_memory<Op, BLOCK, TILE, ROWS_BY_THREADS>;
    __shared__ memory_type m;
    const int me = threadIdx.x, lane = me % LANES;
    const part_of_rows part = begin_rows(m, a);
    const int rows = part.rows, base = (int)part.from.nz, offset_shift = part.offset_shift;
    const long long row = part.from.row;

    const auto multiply_groups = [&](const stored *entries, const int *columns, const unsigned char *offsets) {
        const auto begin_of = [&](int r) { return *(const int *)(offsets + ((long long)r << offset_shift)) - base; };
        for (int first = 0; first < rows; first += GROUP * (BLOCK / LANES)) {
            const int r = first + GROUP * (me / LANES), here = rows - r < GROUP ? rows - r : GROUP;
            int begin = 0, length = 0;
            int differ = here != GROUP; /* not zero: yes */
            if (!differ) {
                begin = begin_of(r), length = begin_of(r + 1) - begin;
#pragma unroll
                for (int g = 1; g < GROUP; g++) differ |= begin_of(r + g + 1) ^ (begin + (g + 1) * length);
            }
            const int end = differ ? begin : begin + length;
            T sum[GROUP];
#pragma unroll
            for (int g = 0; g < GROUP; g++) sum[g] = op.identity();
            int k = begin + lane;
            const auto ask = [&](int own) {
                const int column = columns[own];
#pragma unroll
                for (int g = 1; g < GROUP; g++) differ |= columns[own + g * length] ^ column;
                /* neither is negative, and a product of unsigned numbers takes one instruction */
                const unsigned long long place = (unsigned)column * (unsigned long long)(unsigned)op.x_bytes;
                return *(const T *)((const char *)op.x + place);
            };
            const auto take = [&](int own, const T &operand) {
#pragma unroll
                for (int g = 0; g < GROUP; g++) sum[g] = op.add(sum[g], op.combine(entries, own + g * length, operand));
            };
            T operand[STEP]; /* all of them on their way before the first is waited for */
            if (FULL) {
#pragma unroll 1
                for (; k + (STEP - 1) * LANES < end; k += STEP * LANES) {
#pragma unroll
                    for (int j = 0; j < STEP; j++) operand[j] = ask(k + j * LANES);
#pragma unroll
                    for (int j = 0; j < STEP; j++) take(k + j * LANES, operand[j]);
                }
            }
#pragma unroll 1
            for (; k < end; k += STEP * LANES) {
#pragma unroll
                for (int j = 0; j < STEP; j++)
                    if (k + j * LANES < end) operand[j] = ask(k + j * LANES);
#pragma unroll
                for (int j = 0; j < STEP; j++)
                    if (k + j * LANES < end) take(k + j * LANES, operand[j]);
            }
            /* sums come out the same, whether the group was taken together or not */
            const unsigned others = __ballot_sync(~0u, differ != 0) >> (me % 32 / LANES * LANES);
            if (others & (0xFFFFFFFFu >> (32 - LANES))) {
#pragma unroll
                for (int g = 0; g < GROUP; g++) {
                    const int stop = g < here ? begin_of(r + g + 1) : 0;
                    sum[g] = op.identity();
#pragma unroll 1
                    for (int k = g < here ? begin_of(r + g) + lane : 0; k < stop; k += LANES)
                        sum[g] = op.add(sum[g], op.combine(entries, k, op.fetch(entries, k, columns[k], 0, 0)));
                }
            }
#pragma unroll
            for (int d = LANES / 2; d > 0; d /= 2)
#pragma unroll
                for (int g = 0; g < GROUP; g++) {
                    const T other = shuffle_down(sum[g], d);
                    if (lane < d) sum[g] = op.add(sum[g], other);
                }
#pragma unroll
            for (int g = 0; g < GROUP; g++)
                if (lane == 0 && g < here) op.store(row, r + g, sum[g], false);
        }
    };
    with_entries<BLOCK>(m, a, op, part, multiply_groups);
}

#endif
