/* Back substitution in a first stage that reduce_narrow has done: a lane a partition, which reads its pivot rows, a
 * block column at a time, next to those of the neighbouring lanes. The solution leaves by way of shared memory. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_NARROW_BACK_SUBSTITUTION_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_NARROW_BACK_SUBSTITUTION_CUH

#include "tridiagonal/block/cuda/panel_rows.cuh"

namespace trine_block {

constexpr int SOLUTION_CHUNK = 8; /* block rows that leave together */

/** Where a lane's pivot rows are: the vectors, of up to 16 bytes, of a block column, of all partitions of a warp,
 *  one after the other. */
template <typename T, int N> struct kept_rows {
    /* behind the diagonal, and the right-hand side */
    static constexpr int COLUMNS = 5 * N, STRIDE = N * COLUMNS, ELEMENTS = STRIDE - N * (N - 1) / 2;
    static constexpr int BYTES = STRIDE * (int)sizeof(T), VECTOR_BYTES = BYTES % 16 == 0 ? 16 : (int)sizeof(T),
                         PER_VECTOR = VECTOR_BYTES / (int)sizeof(T);
    static constexpr int VECTORS = (ELEMENTS + PER_VECTOR - 1) / PER_VECTOR;
    struct alignas(VECTOR_BYTES) vector { T v[PER_VECTOR]; };
    vector *of_lane;
    int step; /* vectors from one to the next */

    __device__ kept_rows(const stage_of<T> &s, const place<1> &at)
        : of_lane((vector *)(s.chunks + (at.first_group - s.first_group) * STRIDE) +
                  (at.there ? at.slot : at.count - 1)),
          step(at.count)
    {}
    __device__ __forceinline__ void write(int j, const T (&row)[STRIDE]) const
    {
        vector *to = of_lane + (int64_t)j * (STRIDE / PER_VECTOR) * step;
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            vector here;
#pragma unroll
            for (int i = 0; i < PER_VECTOR; i++) here.v[i] = row[e * PER_VECTOR + i];
            to[e * step] = here;
        }
    }
    __device__ __forceinline__ void read(int j, T (&row)[STRIDE]) const
    {
        const vector *from = of_lane + (int64_t)j * (STRIDE / PER_VECTOR) * step;
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            const vector here = from[e * step];
#pragma unroll
            for (int i = 0; i < PER_VECTOR; i++) row[e * PER_VECTOR + i] = here.v[i];
        }
    }
    /** Where element c of row k is, k < c <= COLUMNS: COLUMNS is the right-hand side. */
    static constexpr __device__ int number(int k, int c) { return k * COLUMNS - k * (k - 1) / 2 + c - k - 1; }
};

template <typename T, int N> constexpr size_t solution_bytes()
{
    return (size_t)WARP * (SOLUTION_CHUNK * N | 1) * sizeof(T);
}

/** `backward` behind reduce_narrow. */
template <typename T, int N> __global__ void __launch_bounds__(WARP)
    substitute_narrow(const __grid_constant__ stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    constexpr int STEP = SOLUTION_CHUNK * N | 1, COLUMNS = 5 * N;
    constexpr bool AHEAD = N == 2 && sizeof(T) <= 8; /* else there are enough loads at once anyway */
    const place<1> at(s, blockIdx.x);
    const kept_rows<T, N> kept(s, at);
    T *solution = (T *)shared_memory, *mine = solution + at.slot * STEP;
    /* right: the block columns behind */
    T left[N], first[N], right[2][N], x[N], row[kept_rows<T, N>::STRIDE], next_row[AHEAD ? kept_rows<T, N>::STRIDE : 1];
    const int64_t groups = 2 * s.partitions, before = at.p > 0 ? 2 * at.p - 1 : groups - 1,
                  behind = at.p + 1 < s.partitions ? 2 * at.p + 2 : 0;
    const bool begins = !s.cyclic && at.p == 0, ends = !s.cyclic && at.p == s.partitions - 1;
    const auto leave = [&](int j, const T (&values)[N]) {
#pragma unroll
        for (int q = 0; q < N; q++) mine[j % SOLUTION_CHUNK * N + q] = values[q];
        if (j % SOLUTION_CHUNK) return;
        const int rows = at.m - j < SOLUTION_CHUNK ? at.m - j : SOLUTION_CHUNK;
        const int64_t unknown = (at.first_group + j) * N, there = s.A.n - unknown;
        T *X = s.X + unknown;
        __syncwarp();
        for_each_vector<1>(rows * N, at.count, STEP, at.m * N, [&](int, int from, int to) {
            if (to < there) X[to] = solution[from];
        });
        __syncwarp();
    };
    if constexpr (AHEAD)
        if (at.m > 2) kept.read(at.m - 2, next_row);
#pragma unroll
    for (int q = 0; q < N; q++) {
        left[q] = begins ? T{} : s.coarse_x[before * N + q];
        first[q] = s.coarse_x[2 * at.p * N + q];
        right[0][q] = s.coarse_x[(2 * at.p + 1) * N + q];
        right[1][q] = ends ? T{} : s.coarse_x[behind * N + q];
    }
    leave(at.m - 1, right[0]);
#pragma unroll 1
    for (int j = at.m - 2; j > 0; j--) {
        if constexpr (AHEAD) {
#pragma unroll
            for (int e = 0; e < kept_rows<T, N>::ELEMENTS; e++) row[e] = next_row[e];
            if (j > 1) kept.read(j - 1, next_row); /* well before it is used */
        } else {
            kept.read(j, row);
        }
#pragma unroll
        for (int k = N - 1; k >= 0; k--) {
            const auto element = [&](int c) { return row[kept_rows<T, N>::number(k, c)]; };
            x[k] = element(COLUMNS);
#pragma unroll
            for (int c = 0; c < N; c++) x[k] = x[k] - element(3 * N + c) * left[c];
#pragma unroll
            for (int c = 0; c < N; c++) x[k] = x[k] - element(4 * N + c) * first[c];
#pragma unroll
            for (int b = 2; b > 0; b--)
#pragma unroll
                for (int c = 0; c < N; c++) x[k] = x[k] - element(b * N + c) * right[b - 1][c];
#pragma unroll
            for (int c = N - 1; c > k; c--) x[k] = x[k] - element(c) * x[c];
        }
        leave(j, x);
#pragma unroll
        for (int q = 0; q < N; q++) right[1][q] = right[0][q], right[0][q] = x[q];
    }
    leave(0, first);
}

} // namespace trine_block

#endif
