/* What the choice of a method looks at in A's values (choose.c): sums over rows, a thread a row. Names no runtime, so
 * that tests run it on a CPU. */
#ifndef TRINE_PRECOND_CUDA_LOOK_CUH
#define TRINE_PRECOND_CUDA_LOOK_CUH

#include <cmath>
#include <cstdint>

#include "core/gpu_number.cuh"
#include "precond/cuda/look.h"

namespace {

template <typename T> __device__ inline double look_modulus(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot((double)a.x, (double)a.y);
    else return fabs((double)a);
}

/** A row: |a_ii|, the sum of the others, and the two largest of them. */
struct row_seen {
    double centre, others, size[2];
    int32_t column[2];               /* -1: none */
};
template <typename T> struct rows_seen {
    const int64_t *offsets, *ends;
    const int32_t *columns;
    const T *values;
    __device__ row_seen look(int64_t i) const
    {
        row_seen r = {0, 0, {0, 0}, {-1, -1}};
        for (int64_t k = offsets[i]; k < ends[i]; k++) {
            const double size = look_modulus(values[k]);
            const int32_t j = columns[k];
            if (j == i) {
                r.centre = size;
                continue;
            }
            r.others += size;
            if (size > r.size[0]) {
                r.size[1] = r.size[0], r.column[1] = r.column[0];
                r.size[0] = size, r.column[0] = j;
            } else if (size > r.size[1]) {
                r.size[1] = size, r.column[1] = j;
            }
        }
        return r;
    }
};

/** y_i := the sum of row i's other entries over the one on the diagonal, its two largest others, and sums. */
template <typename T> struct look_at_row {
    rows_seen<T> rows;
    double *y;
    int32_t *largest; /* 2 n */
    __device__ void operator()(int64_t i, double *sums) const
    {
        const row_seen r = rows.look(i);
        const double by = r.centre > r.others ? r.centre : r.others;
        y[i] = r.others / r.centre;
        const auto length = (double)(rows.ends[i] - rows.offsets[i]);
        for (int k = 0; k < 2; k++) largest[2 * i + k] = r.column[k];
        sums[LOOK_LENGTH] += length * length;
        if (r.centre == 0) sums[LOOK_MISSING]++;
        sums[LOOK_RATIO] += y[i];
        sums[LOOK_SQUARE] += y[i] * y[i];
        if (!(by > 0)) return;
        sums[LOOK_DIAGONAL] += r.centre / by;
        sums[LOOK_NEAR] += (r.centre + r.size[0] + r.size[1]) / by;
        sums[LOOK_ALL] += (r.centre + r.others) / by;
    }
};

/** y_i := the sum of |a_ij| x_j over j != i, over |a_ii|. */
template <typename T> struct look_at_sweep {
    rows_seen<T> rows;
    const double *x;
    double *y;
    __device__ void operator()(int64_t i, double *sums) const
    {
        double centre = 0, sum = 0;
        for (int64_t k = rows.offsets[i]; k < rows.ends[i]; k++) {
            const double size = look_modulus(rows.values[k]);
            if (rows.columns[k] == i) centre = size;
            else sum += size * x[rows.columns[k]];
        }
        y[i] = sum / centre;
        sums[LOOK_SQUARE] += y[i] * y[i];
    }
};

/** What a row has on the diagonal and on edges that are among the two largest entries of both their rows: paths, and
 *  cycles, of which a forest leaves one edge out. */
template <typename T> struct look_along_paths {
    static constexpr int LONGEST = 16; /* cycle that is looked for */
    rows_seen<T> rows;
    const int32_t *largest;

    __device__ bool has(int32_t i, int32_t j) const { return largest[2 * i] == j || largest[2 * i + 1] == j; }
    /** Edges of the cycle through i that begins with j; 0: none that is short. */
    __device__ int cycle(int32_t i, int32_t j) const
    {
        int32_t before = i, at = j;
        for (int length = 2; length <= LONGEST; length++) {
            const int32_t next = largest[2 * at] == before ? largest[2 * at + 1] : largest[2 * at];
            if (next < 0 || !has(next, at)) return 0;
            if (next == i) return length;
            before = at;
            at = next;
        }
        return 0;
    }
    __device__ void operator()(int64_t at, double *sums) const
    {
        const int32_t i = (int32_t)at;
        const row_seen r = rows.look(at);
        const double by = r.centre > r.others ? r.centre : r.others;
        double along = 0;
        int edges = 0;
        for (int k = 0; k < 2; k++)
            if (r.column[k] >= 0 && has(r.column[k], i)) along += r.size[k], edges++;
        const int length = edges == 2 ? cycle(i, r.column[0]) : 0;
        if (length > 2) along *= (double)(length - 1) / length;
        if (by > 0) sums[LOOK_NEAR] += (r.centre + along) / by;
    }
};

} // namespace

#endif
