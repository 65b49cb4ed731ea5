/* Products of several vectors by rows, where rows of the matrix are short and of similar lengths: a block copies its
 * entries to shared memory as rows.cuh does. Neighbouring threads take neighbouring vectors of a row, so that an entry
 * asks for one stretch of X; where there are few vectors, 2, 4, ... groups of such threads share out a row's entries.
 *
 * P: a plain_product (product.cuh). */
#ifndef TRINE_SPMV_VECTORS_CUH
#define TRINE_SPMV_VECTORS_CUH

#include "core/gpu_follow.cuh"
#include "spmv/cuda/product.cuh"
#include "spmv/cuda/rows.cuh"
#include "spmv/cuda/stretch.cuh"

/** How a block of vectors.cuh is shared out: 2^vectors_shift threads have a stretch of vectors each, 2^parts_shift
 *  groups of them a part of a row's entries each. */
struct vector_threads {
    int vectors_shift, parts_shift;
    int n_vectors; /* a multiple of EACH */
};

/** Method adaptive, whose starts are known. Block y has the vectors y EACH 2^vectors_shift and following, element v of
 *  row i of X at x + i x_bytes + v sizeof(T), Y likewise. STEP: entries that a thread has on their way. */
template <class P, int BLOCK, int TILE, int EACH, int STEP, int THREADS>
__global__ void __launch_bounds__(BLOCK, THREADS / BLOCK)
    multiply_rows_of_vectors(const __grid_constant__ segmented_arguments a, const __grid_constant__ P p,
                             const vector_threads by)
{
    using T = typename P::product;
    using stored = typename P::stored;
    using several = stretch<T, EACH>;
    using memory_type = rows_memory<P, BLOCK, TILE, ROWS_BY_THREADS>;
    __shared__ memory_type m;
    const int me = threadIdx.x;
    const part_of_rows own = begin_rows(m, a);
    const int rows = own.rows, offset_shift = own.offset_shift;
    const int base = (int)own.from.nz; /* the lower halves of offsets do */
    const int shift = by.vectors_shift + by.parts_shift, parts = 1 << by.parts_shift;
    const int part = me >> by.vectors_shift & (parts - 1);
    const int vector = ((blockIdx.y << by.vectors_shift) + (me & ((1 << by.vectors_shift) - 1))) * EACH;
    const bool active = vector < by.n_vectors;
    const char *x = (const char *)p.x + (active ? vector : 0) * (int)sizeof(T);
    char *y = (char *)p.y + own.from.row * p.y_bytes + vector * (int)sizeof(T);

    const auto multiply_rows = [&](const stored *entries, const int *columns, const unsigned char *offsets) {
        const auto element = [&](int k) { return *(const several *)(x + (long long)columns[k] * p.x_bytes); };
        for (int first = 0; first < rows; first += BLOCK >> shift) {
            const int r = first + (me >> shift);
            int begin = 0, end = 0;
            if (r < rows) {
                begin = *(const int *)(offsets + ((long long)r << offset_shift)) - base;
                end = *(const int *)(offsets + ((long long)(r + 1) << offset_shift)) - base;
            }
            several sum = zeros<several>();
            int k = begin + part;
            const auto at = [&](int j) { return k + (j << by.parts_shift); };
            several operand[STEP]; /* all of them on their way before the first is waited for */
            T value[P::INDEXES ? STEP : 1];
            const auto ask = [&](int j) {
                operand[j] = element(at(j));
                if constexpr (P::INDEXES) value[j] = p.entry_value(entries, at(j));
            };
            const auto take = [&](int j) {
                if constexpr (P::INDEXES) sum = added(sum, value[j], operand[j]);
                else sum = added(sum, p.entry_value(entries, at(j)), operand[j]);
            };
#pragma unroll 1
            for (; at(STEP - 1) < end; k += STEP << by.parts_shift) {
#pragma unroll
                for (int j = 0; j < STEP; j++) ask(j);
#pragma unroll
                for (int j = 0; j < STEP; j++) take(j);
            }
            if (k < end) {
#pragma unroll
                for (int j = 0; j < STEP - 1; j++)
                    if (at(j) < end) ask(j);
#pragma unroll
                for (int j = 0; j < STEP - 1; j++)
                    if (at(j) < end) take(j);
            }
            for (int d = parts / 2; d > 0; d /= 2) sum = sum + shuffle_down(sum, d << by.vectors_shift);
            if (part == 0 && r < rows && active) {
                several *to_store = (several *)(y + (long long)r * p.y_bytes), old;
                if (p.reads_y) old = *to_store;
#pragma unroll
                for (int q = 0; q < EACH; q++) sum.at[q] = p.new_y(&old.at[q], sum.at[q]);
                *to_store = sum;
            }
        }
    };

    with_entries<BLOCK>(m, a, p, own, multiply_rows);
}

#endif
