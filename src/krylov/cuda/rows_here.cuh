/* The rows of A that a block multiplies by, in its shared memory from the first product of a launch to the last, if
 * there is room. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_ROWS_HERE_CUH
#define TRINE_KRYLOV_ROWS_HERE_CUH

#include "krylov/cuda/program.cuh"
#include "spmv/rows_of.h"

namespace {

/** Of a launch: A, and entries of a block that there is room for. */
struct matrix_rows {
    const void *offsets;
    const int32_t *columns;
    const void *values;
    bool wide; /* offsets have 64 bits */
    int room;
    __device__ int64_t offset(int64_t i) const
    {
        return wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
    }
};

/** Every 17th place stays free: threads with a row each find their entries in different banks. */
KRYLOV_BOTH int place_of_entry(int i) { return i + i / 16; }

/** Bytes for `room` entries and `rows` rows. */
size_t bytes_of_rows(size_t size, int room, int64_t rows)
{
    return (size_t)(place_of_entry(room) + 1) * (size + sizeof(int32_t)) + (size_t)(rows + 1) * sizeof(int32_t);
}
/** Entries that `bytes` have room for, of so many rows of A; no more than there may be, and none if most blocks have
 *  more. */
int room_of_rows(size_t size, size_t bytes, int64_t rows, const struct spmv_rows *A)
{
    const size_t of_rows = bytes_of_rows(size, 0, rows);
    const int64_t most = rows * A->longest_row, mean = A->n ? A->nnz / A->n * rows : 0,
                  room = bytes > of_rows ? (int64_t)((bytes - of_rows) * 16 / 17 / (size + sizeof(int32_t))) : 0;
    return mean > room ? 0 : (int)(room < most ? room : most);
}
matrix_rows matrix_of(const struct spmv_rows *rows)
{
    return {rows->offsets, rows->columns, rows->values, rows->offset_bits == 64, 0};
}

/** Rows from `begin` to `end`. */
template <typename T> struct rows_here {
    const matrix_rows &a;
    int64_t begin, end, first; /* first: entry */
    T *values;
    int32_t *columns, *offsets; /* offsets: from the first entry on */
    bool are_here;              /* the same in all threads */

    /** All threads, of which there are `threads`. */
    __device__ rows_here(const matrix_rows &A, int64_t from, int64_t to, void *memory, int threads)
        : a(A), begin(from), end(to), first(A.offset(from)), values((T *)memory)
    {
        const int64_t count = a.offset(end) - first;
        are_here = count <= a.room;
        columns = (int32_t *)(values + place_of_entry(a.room) + 1);
        offsets = columns + place_of_entry(a.room) + 1;
        if (!are_here) return;
        for (int64_t i = threadIdx.x; i <= end - begin; i += threads)
            offsets[i] = (int32_t)(a.offset(begin + i) - first);
#pragma unroll 4
        for (int i = (int)threadIdx.x; i < (int)count; i += threads) {
            values[place_of_entry(i)] = ((const T *)a.values)[first + i];
            columns[place_of_entry(i)] = a.columns[first + i];
        }
        __syncthreads();
    }

    /** Rows i, i + step, ... of A times x, as far as they are below `end`; AT_ONCE entries of each together. */
    template <int EACH, int AT_ONCE = 5> __device__ void product(int64_t i, int64_t step, const T *x,
                                                                 T (&sum)[EACH]) const
    {
        int64_t at[EACH];
        int count[EACH], most = 0;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t row = i + e * step;
            sum[e] = zero_of<T>();
            at[e] = count[e] = 0;
            if (row >= end) continue;
            at[e] = are_here ? offsets[row - begin] : a.offset(row);
            count[e] = (int)((are_here ? offsets[row - begin + 1] : a.offset(row + 1)) - at[e]);
            most = count[e] > most ? count[e] : most;
        }
        for (int k = 0; k < most; k += AT_ONCE) {
            T of_x[EACH][AT_ONCE], value[EACH][AT_ONCE];
#pragma unroll
            for (int e = 0; e < EACH; e++)
#pragma unroll
                for (int l = 0; l < AT_ONCE; l++) {
                    if (k + l >= count[e]) continue;
                    if (are_here) of_x[e][l] = x[columns[place_of_entry((int)at[e] + k + l)]];
                    else of_x[e][l] = x[a.columns[at[e] + k + l]], value[e][l] = ((const T *)a.values)[at[e] + k + l];
                }
#pragma unroll
            for (int e = 0; e < EACH; e++)
#pragma unroll
                for (int l = 0; l < AT_ONCE; l++) {
                    if (k + l >= count[e]) continue;
                    if (are_here) value[e][l] = values[place_of_entry((int)at[e] + k + l)];
                    sum[e] = sum[e] + value[e][l] * of_x[e][l];
                }
        }
    }
};

} // namespace

#endif
