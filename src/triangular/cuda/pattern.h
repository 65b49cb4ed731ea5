/* T's pattern on the device while it is analysed: read and checked by cuda/pattern.cu, brought into solve order by
 * cuda/forms.cu. */
#ifndef TRINE_TRIANGULAR_CUDA_PATTERN_H
#define TRINE_TRIANGULAR_CUDA_PATTERN_H

#include "triangular/cuda/triangle.h"

struct device_pattern {
    const int64_t *offsets;
    const int32_t *indices;
    const int64_t *source;     /* entry k is T's source[k]-th; NULL: its k-th */
    int64_t n, nnz, n_strict;
    bool csr, lower_major;     /* lower_major: lower, as the compressed rows see it */
    bool inspected;            /* what follows is known */
    const int64_t *start;      /* off-diagonal entries of the triangle before row i: start[i] - i * step */
    int64_t step;
    int64_t longest, long_rows;
    double squares;
    int reach;
    void *owned[5];
};

constexpr int PATTERN_THREADS = 256;

/** What a pass over all rows found. Starts at zero. */
struct pattern_report {
    unsigned long long bad;    /* n - the first wrong row, or 0 */
    unsigned long long n_strict, n_diagonal, squares, longest, long_rows;
    unsigned unsorted, lower, upper;
    int reach;                 /* how far from the diagonal entries are, at most */
};

/** Sum over the lanes of a row that fits a warp, or over a warp. */
template <typename V> __device__ V sum_over(V v, int lanes)
{
    const unsigned row = lanes == 32 ? ~0u : ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
    for (int o = lanes / 2; o > 0; o /= 2) v += __shfl_xor_sync(row, v, o);
    return v;
}

int pattern_bits(int64_t count);           /* of a key below count */
trine_status pattern_read_back(trine_triangular plan, const pattern_report *from, pattern_report *to);

/** A form along the compressed rows that the pass over them fills at once, if it can. */
struct pattern_placement {
    device_triangle *d;        /* NULL: not wanted */
    bool forward;              /* the row at position p is row p, or n - 1 - p */
    bool done;
};
/** Check the pattern, sort its rows if need be, find where every row's entries start. */
trine_status pattern_inspect(trine_triangular plan, device_pattern *m, pattern_placement *place);

#endif
