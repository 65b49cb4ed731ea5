/* Tridiagonal solve on the GPU by recursive partitioned Schur complements, stage by stage as the thesis has it; the
 * arithmetic is common/partition.h.
 *
 * A stage is two kernels. Both copy a tile of 32 partitions (16 where a block cannot have so much shared memory) into
 * shared memory, coalesced, and give one thread a partition:
 *   reduce      eliminates downwards and upwards at once and writes two rows of the coarse system;
 *   substitute  eliminates downwards again with the interface known, solves backwards, writes the solution.
 * A warp is a block: its tile needs no other synchronization than the warp's own, and several blocks on a
 * multiprocessor overlap copying and arithmetic. Rows are read in 16-byte vectors; a partition's rows are followed by
 * one vector of padding, so that eight threads reading the same vector of eight partitions touch all 32 banks once.
 * Pivot rows replace the rows just read, column by column, so that no access depends on a pivot decision, and no thread
 * branches on one.
 * The last stage is gtsv/cuda/thesis/fused.cuh. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_CUH

#include "tridiagonal/gtsv/cuda/scalar_partition.cuh"
#include "tridiagonal/common/system.cuh"

template <typename T> struct scheme_of {
    int pivot;
    real_of<T> epsilon;
};

/** One stage: kernels get it by value. */
template <typename T> struct stage_of {
    system_of<T> A;
    scheme_of<T> scheme;
    int64_t partitions, full, coarse_n, nrhs;
    int rows, last_rows;            /* of a partition, of the last one */
    unsigned vectors_magic;         /* q / (16-byte vectors of a partition) = q * vectors_magic >> 20 */
    columns_of<const T> D;
    columns_of<T> X;
    T *lower, *diag, *upper;        /* the coarse system */
    columns_of<T> coarse;           /* its right-hand sides, then its solution */
};

/* 16 bytes of elements, and what a thread takes from its partition at once. */
template <typename T> constexpr int PER_VECTOR = 16 / sizeof(T);
template <typename T> constexpr int CHUNK = PER_VECTOR<T> > 1 ? PER_VECTOR<T> : 2;
template <typename T> struct alignas(16) chunk_of { T v[CHUNK<T>]; };
template <typename T> struct alignas(2 * sizeof(T) < 16 ? 2 * sizeof(T) : 16) pair_of { T first, second; };

/** Elements from one partition of a tile to the next. */
template <typename T> __host__ __device__ constexpr int tile_stride(int rows) { return rows + PER_VECTOR<T>; }
/** Bytes of a tile of `together` partitions: three bands and `count` right-hand sides. */
template <typename T> constexpr size_t tile_bytes(int rows, int count, int together)
{
    return (size_t)(3 + count) * together * tile_stride<T>(rows) * sizeof(T);
}

/** Rows of the tile from `global` on: in 16-byte vectors, or one by one where the caller's array is not 16-byte
 *  aligned. */
template <int TOGETHER, typename T> __device__ inline void copy_tile(T *tile, const T *global, int rows, unsigned magic)
{
    const int lane = (int)threadIdx.x, vectors = TOGETHER * rows / PER_VECTOR<T>;
    if (is_aligned(global)) {
        for (int q = lane; q < vectors; q += WARP)
            copy_async<16>(tile + (q + (int)(q * magic >> 20)) * PER_VECTOR<T>, global + q * PER_VECTOR<T>);
    } else {
        constexpr int BYTES = sizeof(T) < 8 ? 4 : 8; /* of a double complex, the halves */
        for (int r = lane; r < TOGETHER * rows; r += WARP) {
            const int q = r / PER_VECTOR<T>, slot = (q + (int)(q * magic >> 20)) * PER_VECTOR<T> + r % PER_VECTOR<T>;
            for (int part = 0; part < (int)sizeof(T) / BYTES; part++)
                copy_async<BYTES>((char *)(tile + slot) + part * BYTES, (const char *)(global + r) + part * BYTES);
        }
    }
}

/** The bands and right-hand sides first .. first + count - 1 of this block's tile; rows outside the system are the
 *  identity's. */
template <int TOGETHER, typename T> __device__ inline void load_tile(const stage_of<T> &s, int64_t row, int64_t first,
                                                                     int count, T *a, T *b, T *c, T *d)
{
    const int lane = (int)threadIdx.x, tile_rows = TOGETHER * s.rows, length = TOGETHER * tile_stride<T>(s.rows);
    const bool inside = row > 0 && row + tile_rows < s.A.n;
    if (inside && !s.A.conjugate) {
        copy_tile<TOGETHER>(a, s.A.lower + row + s.A.lower_shift, s.rows, s.vectors_magic);
        copy_tile<TOGETHER>(b, s.A.diag + row, s.rows, s.vectors_magic);
        copy_tile<TOGETHER>(c, s.A.upper + row + s.A.upper_shift, s.rows, s.vectors_magic);
    } else {
        for (int r = lane; r < tile_rows; r += WARP) {
            const int q = r / PER_VECTOR<T>,
                      slot = (q + (int)(q * s.vectors_magic >> 20)) * PER_VECTOR<T> + r % PER_VECTOR<T>;
            const int64_t i = row + r;
            a[slot] = i < s.A.n ? lower_of(s.A, i) : T{};
            b[slot] = i < s.A.n ? diag_of(s.A, i) : one_of<T>();
            c[slot] = i < s.A.n ? upper_of(s.A, i) : T{};
        }
    }
    for (int k = 0; k < count; k++) {
        const T *global = s.D.data + (first + k) * s.D.ld + row;
        if (inside) {
            copy_tile<TOGETHER>(d + k * length, global, s.rows, s.vectors_magic);
        } else {
            for (int r = lane; r < tile_rows; r += WARP) {
                const int q = r / PER_VECTOR<T>,
                          slot = (q + (int)(q * s.vectors_magic >> 20)) * PER_VECTOR<T> + r % PER_VECTOR<T>;
                d[k * length + slot] = row + r < s.A.n ? global[r] : T{};
            }
        }
    }
    wait_for_copies();
    __syncwarp();
}

template <int TOGETHER, typename T> __device__ inline void store_tile(const stage_of<T> &s, int64_t row, T *global,
                                                                      const T *x)
{
    const int lane = (int)threadIdx.x, tile_rows = TOGETHER * s.rows;
    if (row + tile_rows <= s.A.n && is_aligned(global)) {
        struct alignas(16) vector16 { T v[PER_VECTOR<T>]; };
        for (int q = lane; q < tile_rows / PER_VECTOR<T>; q += WARP)
            ((vector16 *)global)[q] = ((const vector16 *)x)[q + (int)(q * s.vectors_magic >> 20)];
    } else {
        for (int r = lane; r < tile_rows && row + r < s.A.n; r += WARP) {
            const int q = r / PER_VECTOR<T>;
            global[r] = x[(q + (int)(q * s.vectors_magic >> 20)) * PER_VECTOR<T> + r % PER_VECTOR<T>];
        }
    }
}

/* ---------------------------------------------------------------- reduction */

template <typename T> __device__ __forceinline__ T of_size(real_of<T> r)
{
    if constexpr (scalar<T>::is_complex) return T{r, 0};
    else return r;
}

/** The row that an elimination carries along. */
template <typename T, int NR> struct carried_row {
    T spike, diag, right, rhs[NR];
    real_of<T> weight, scale;
    real_of<T> part; /* of the row added last, its multiple in this one */

    __device__ __forceinline__ void start(const scheme_of<T> &scheme, T a, T b, T c)
    {
        spike = a, diag = b, right = c;
        scale = rpts_scale(scheme.pivot, a, b, c, &weight);
        part = 1;
    }
    /** Remove a column with row (a, b, c), whose right-hand sides are d[k * d_stride]; the pivot row goes to
     *  inverse, u1, u2, pivot_rhs. */
    __device__ __forceinline__ void eliminate(const scheme_of<T> &scheme, T a, T b, T c, const T (&d)[NR], T &inverse,
                                              T &u1, T &u2, T (&pivot_rhs)[NR])
    {
        bool exchanged;
        T factor;
        real_of<T> weight_row;
        const real_of<T> scale_row = rpts_scale(scheme.pivot, a, b, c, &weight_row);
        rpts_eliminate(&spike, &diag, &right, &weight, &scale, a, b, c, weight_row, scale_row, scheme.epsilon,
                       &exchanged, &factor, &inverse, &u1, &u2);
        part = exchanged ? size_of(factor) : real_of<T>(1);
        /* a diagonal that is all cancellation counts as its rounding error: singular systems stay finite */
        constexpr real_of<T> ROUNDING_ERROR = sizeof(real_of<T>) == 4 ? FLT_EPSILON : DBL_EPSILON;
        const real_of<T> noise = ROUNDING_ERROR * size_of(exchanged ? factor * b : b);
        if (size_of(diag) < noise) diag = of_size<T>(noise);
#pragma unroll
        for (int k = 0; k < NR; k++) rpts_eliminate_rhs(exchanged, factor, d[k], &rhs[k], &pivot_rhs[k]);
    }
    __device__ __forceinline__ void eliminate(const scheme_of<T> &scheme, T a, T b, T c, const T (&d)[NR])
    {
        T inverse, u1, u2, pivot_rhs[NR];
        eliminate(scheme, a, b, c, d, inverse, u1, u2, pivot_rhs);
    }
};

/** Rows of one partition in shared memory; right-hand side k at d + k * length. */
template <typename T> struct partition_of {
    T *a, *b, *c, *d;
    int length;
};

template <typename T, int NR> __device__ __forceinline__ void read_rhs(const partition_of<T> &p, int j, T (&d)[NR])
{
#pragma unroll
    for (int k = 0; k < NR; k++) d[k] = p.d[k * p.length + j];
}

/** One direction of the reduction of m >= 2 rows: direction +1 downwards, -1 upwards. */
template <typename T, int NR> __device__ inline void
reduce_rows(const partition_of<T> &p, int m, int direction, const scheme_of<T> &scheme, carried_row<T, NR> &carried)
{
    T *lower = direction > 0 ? p.a : p.c, *upper = direction > 0 ? p.c : p.a;
    const int from = direction > 0 ? 0 : m - 1;
    T d[NR];
    int j = from + direction;
    carried.start(scheme, lower[j], p.b[j], upper[j]);
    read_rhs(p, j, carried.rhs);
    for (int step = 2; step < m; step++) {
        j += direction;
        read_rhs(p, j, d);
        carried.eliminate(scheme, lower[j], p.b[j], upper[j], d);
    }
}

/** Both directions of whole partitions, a chunk of rows at a time; the two chains of operations overlap. */
template <typename T, int NR> __device__ __forceinline__ void reduce_chunks(const partition_of<T> &p, int rows,
                                                                            const scheme_of<T> &scheme,
                                                                            carried_row<T, NR> &down,
                                                                            carried_row<T, NR> &up)
{
    constexpr int C = CHUNK<T>;
    using chunk = chunk_of<T>;
    const int chunks = rows / C;
#pragma unroll 1
    for (int k = 0; k < chunks; k++) {
        const int top = k * C, bottom = rows - C - top;
        const chunk ta = *(const chunk *)(p.a + top), tb = *(const chunk *)(p.b + top),
                    tc = *(const chunk *)(p.c + top);
        const chunk ba = *(const chunk *)(p.a + bottom), bb = *(const chunk *)(p.b + bottom),
                    bc = *(const chunk *)(p.c + bottom);
        chunk td[NR], bd[NR];
#pragma unroll
        for (int r = 0; r < NR; r++) {
            td[r] = *(const chunk *)(p.d + r * p.length + top);
            bd[r] = *(const chunk *)(p.d + r * p.length + bottom);
        }
#pragma unroll
        for (int i = 0; i < C; i++) {
            const int l = C - 1 - i;
            T dt[NR], db[NR];
#pragma unroll
            for (int r = 0; r < NR; r++) dt[r] = td[r].v[i], db[r] = bd[r].v[l];
            if (k == 0 && i < 2) { /* row 0 stays out, row 1 starts; likewise from below */
                down.start(scheme, ta.v[i], tb.v[i], tc.v[i]);
                up.start(scheme, bc.v[l], bb.v[l], ba.v[l]);
#pragma unroll
                for (int r = 0; r < NR; r++) down.rhs[r] = dt[r], up.rhs[r] = db[r];
            } else {
                down.eliminate(scheme, ta.v[i], tb.v[i], tc.v[i], dt);
                up.eliminate(scheme, bc.v[l], bb.v[l], ba.v[l], db);
            }
        }
    }
}

/** Rows 2p (from the upward elimination) and 2p + 1 of the coarse system. */
template <typename T, int NR> __device__ inline void write_coarse_rows(const stage_of<T> &s, int64_t p, int64_t first,
                                                                       int count, bool with_matrix,
                                                                       const carried_row<T, NR> &down,
                                                                       const carried_row<T, NR> &up)
{
    using pair = pair_of<T>;
    if (with_matrix) {
        ((pair *)s.lower)[p] = {up.right, down.spike};
        ((pair *)s.diag)[p] = {up.diag, down.diag};
        ((pair *)s.upper)[p] = {up.spike, down.right};
    }
#pragma unroll
    for (int k = 0; k < NR; k++)
        if (k < count) ((pair *)(s.coarse.data + (first + k) * s.coarse.ld))[p] = {up.rhs[k], down.rhs[k]};
}

template <typename T, int NR, int TOGETHER> __global__ void __launch_bounds__(WARP) reduce(const stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int lane = (int)threadIdx.x, stride = tile_stride<T>(s.rows), length = TOGETHER * stride;
    const int64_t p = (int64_t)blockIdx.x * TOGETHER + lane, row = (int64_t)blockIdx.x * TOGETHER * s.rows,
                  first = (int64_t)blockIdx.y * NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    T *a = (T *)shared_memory, *b = a + length, *c = b + length, *d = c + length;
    load_tile<TOGETHER>(s, row, first, count, a, b, c, d);
    const partition_of<T> part = {a + lane * stride, b + lane * stride, c + lane * stride, d + lane * stride, length};
    carried_row<T, NR> down, up;
    if (lane >= TOGETHER) return;
    if (row + (int64_t)TOGETHER * s.rows <= s.full * s.rows || s.full == s.partitions) {
        reduce_chunks(part, s.rows, s.scheme, down, up);
        if (p < s.partitions) write_coarse_rows(s, p, first, count, blockIdx.y == 0, down, up);
    } else if (p < s.partitions) { /* the tile of a short last partition */
        const int m = p < s.full ? s.rows : s.last_rows;
        if (m > 1) {
            reduce_rows(part, m, 1, s.scheme, down);
            reduce_rows(part, m, -1, s.scheme, up);
            write_coarse_rows(s, p, first, count, blockIdx.y == 0, down, up);
        } else {
            if (blockIdx.y == 0) s.lower[2 * p] = part.a[0], s.diag[2 * p] = part.b[0], s.upper[2 * p] = part.c[0];
            for (int k = 0; k < count; k++) s.coarse.data[(first + k) * s.coarse.ld + 2 * p] = part.d[k * length];
        }
    }
}

/* ------------------------------------------------------------- substitution */

/** The first inner unknown from row 0, where its coefficient there is the largest pivot. */
template <typename T, int NR> struct first_unknown {
    bool taken;
    T x[NR];
    __device__ __forceinline__ void decide(const partition_of<T> &p, const scheme_of<T> &scheme,
                                           const known_of<T, NR> &known)
    {
        using R = real_of<T>;
        const T a = p.a[0], b = p.b[0], c = p.c[0];
        R weight, weight1, weight2;
        const R scale = rpts_scale(scheme.pivot, a, b, c, &weight), own = size_of(c) * weight;
        rpts_scale(scheme.pivot, p.a[1], p.b[1], p.c[1], &weight1);
        rpts_scale(scheme.pivot, p.a[2], p.b[2], p.c[2], &weight2);
        const R carried = size_of(p.b[1]) * weight1, row = size_of(p.a[2]) * weight2;
        taken = own > (carried > row ? carried : row);
        const T inverse = reciprocal(rpts_safe_pivot(c, scale));
#pragma unroll
        for (int k = 0; k < NR; k++) x[k] = inverse * (p.d[k * p.length] - b * known.first[k] - a * known.before[k]);
    }
};

/** The last inner unknown: from the carried row, or from row m-1 = (a, b, c), d. */
template <typename T, int NR> __device__ __forceinline__ void last_unknown(const carried_row<T, NR> &carried,
                                                                           const scheme_of<T> &scheme, T a, T b, T c,
                                                                           const T (&d)[NR],
                                                                           const known_of<T, NR> &known, T (&x)[NR])
{
    real_of<T> weight;
    const real_of<T> scale = rpts_scale(scheme.pivot, a, b, c, &weight);
    const bool from_row = rpts_exchanges(carried.diag, carried.weight, a, weight);
    const T pivot = from_row ? a : rpts_above_noise(carried.diag, scheme.epsilon);
    const T inverse = reciprocal(rpts_safe_pivot(pivot, from_row ? scale : carried.scale));
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T own = carried.rhs[k] - carried.right * known.last[k],
                other = d[k] - b * known.last[k] - c * known.after[k];
        x[k] = inverse * (from_row ? other : own);
    }
}

/** Solution of m rows in place of d; the bands are overwritten by pivot rows, that of column j-1 in place of row j.
 *  Returns what pivot rows other than row 0 say of x[1] for the first right-hand side; m > 2. */
template <typename T, int NR> __device__ inline T
substitute_rows(const partition_of<T> &p, int m, const scheme_of<T> &scheme, const known_of<T, NR> &known)
{
    T next[NR] = {}, next2[NR], d[NR];
    if (m > 2) {
        first_unknown<T, NR> first;
        carried_row<T, NR> carried;
        first.decide(p, scheme, known);
        carried.start(scheme, p.a[1], p.b[1], p.c[1]);
        read_rhs(p, 1, d);
#pragma unroll
        for (int k = 0; k < NR; k++) carried.rhs[k] = d[k] - p.a[1] * known.first[k];
        for (int j = 2; j < m - 1; j++) {
            T pivot_rhs[NR];
            read_rhs(p, j, d);
            carried.eliminate(scheme, p.a[j], p.b[j], p.c[j], d, p.a[j], p.b[j], p.c[j], pivot_rhs);
#pragma unroll
            for (int k = 0; k < NR; k++) p.d[k * p.length + j] = pivot_rhs[k];
        }
        read_rhs(p, m - 1, d);
        last_unknown(carried, scheme, p.a[m - 1], p.b[m - 1], p.c[m - 1], d, known, next);
#pragma unroll
        for (int k = 0; k < NR; k++) next2[k] = known.last[k];
        for (int j = m - 2; j >= 2; j--)
#pragma unroll
            for (int k = 0; k < NR; k++) {
                const T x = p.a[j] * (p.d[k * p.length + j] - p.b[j] * next[k] - p.c[j] * next2[k]);
                p.d[k * p.length + j] = next[k];
                next2[k] = next[k];
                next[k] = x;
            }
#pragma unroll
        for (int k = 0; k < NR; k++) p.d[k * p.length + 1] = first.taken ? first.x[k] : next[k];
    }
#pragma unroll
    for (int k = 0; k < NR; k++) {
        p.d[k * p.length] = known.first[k];
        if (m > 1) p.d[k * p.length + m - 1] = known.last[k];
    }
    return next[0];
}

/** The same for a whole partition, a chunk of rows at a time. */
template <typename T, int NR> __device__ __forceinline__ void
substitute_chunks(const partition_of<T> &p, int rows, const scheme_of<T> &scheme, const known_of<T, NR> &known)
{
    constexpr int C = CHUNK<T>;
    using chunk = chunk_of<T>;
    const int chunks = rows / C;
    first_unknown<T, NR> first;
    carried_row<T, NR> carried;
    T next[NR], next2[NR];
    first.decide(p, scheme, known);
#pragma unroll 1
    for (int k = 0; k < chunks; k++) {
        chunk a = *(const chunk *)(p.a + k * C), b = *(const chunk *)(p.b + k * C), c = *(const chunk *)(p.c + k * C),
              d[NR];
#pragma unroll
        for (int r = 0; r < NR; r++) d[r] = *(const chunk *)(p.d + r * p.length + k * C);
#pragma unroll
        for (int i = 0; i < C; i++) {
            T rhs[NR], pivot_rhs[NR];
#pragma unroll
            for (int r = 0; r < NR; r++) rhs[r] = d[r].v[i];
            if (k == 0 && i < 2) {
                carried.start(scheme, a.v[i], b.v[i], c.v[i]);
#pragma unroll
                for (int r = 0; r < NR; r++) carried.rhs[r] = rhs[r] - a.v[i] * known.first[r];
            } else if (k == chunks - 1 && i == C - 1) {
                last_unknown(carried, scheme, a.v[i], b.v[i], c.v[i], rhs, known, next);
            } else {
                carried.eliminate(scheme, a.v[i], b.v[i], c.v[i], rhs, a.v[i], b.v[i], c.v[i], pivot_rhs);
#pragma unroll
                for (int r = 0; r < NR; r++) d[r].v[i] = pivot_rhs[r];
            }
        }
        *(chunk *)(p.a + k * C) = a, *(chunk *)(p.b + k * C) = b, *(chunk *)(p.c + k * C) = c;
#pragma unroll
        for (int r = 0; r < NR; r++) *(chunk *)(p.d + r * p.length + k * C) = d[r];
    }
#pragma unroll
    for (int r = 0; r < NR; r++) next2[r] = known.last[r];
#pragma unroll 1
    for (int k = chunks - 1; k >= 0; k--) {
        const chunk a = *(const chunk *)(p.a + k * C), b = *(const chunk *)(p.b + k * C),
                    c = *(const chunk *)(p.c + k * C);
        chunk d[NR];
#pragma unroll
        for (int r = 0; r < NR; r++) d[r] = *(const chunk *)(p.d + r * p.length + k * C);
#pragma unroll
        for (int i = C - 1; i >= 0; i--)
#pragma unroll
            for (int r = 0; r < NR; r++) {
                if (k == chunks - 1 && i == C - 1) {
                    d[r].v[i] = known.last[r];
                } else if (k == 0 && i < 2) {
                    d[r].v[i] = i == 0 ? known.first[r] : first.taken ? first.x[r] : next[r];
                } else {
                    const T x = a.v[i] * (d[r].v[i] - b.v[i] * next[r] - c.v[i] * next2[r]);
                    d[r].v[i] = next[r];
                    next2[r] = next[r];
                    next[r] = x;
                }
            }
#pragma unroll
        for (int r = 0; r < NR; r++) *(chunk *)(p.d + r * p.length + k * C) = d[r];
    }
}

template <typename T, int NR> __device__ inline void read_known(const T *x, int64_t ld, int count, int64_t p,
                                                                int64_t coarse_n, bool cyclic, known_of<T, NR> &known)
{
    const int64_t i = 2 * p;
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const bool there = k < count && i < coarse_n;
        const T *column = x + k * ld;
        known.first[k] = there ? column[i] : T{};
        known.last[k] = there && i + 1 < coarse_n ? column[i + 1] : T{};
        known.before[k] = there && (i > 0 || cyclic) ? column[i > 0 ? i - 1 : coarse_n - 1] : T{};
        known.after[k] = there && (i + 2 < coarse_n || cyclic) ? column[i + 2 < coarse_n ? i + 2 : 0] : T{};
    }
}

template <typename T, int NR, int TOGETHER> __global__ void __launch_bounds__(WARP) substitute(const stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int lane = (int)threadIdx.x, stride = tile_stride<T>(s.rows), length = TOGETHER * stride;
    const int64_t p = (int64_t)blockIdx.x * TOGETHER + lane, row = (int64_t)blockIdx.x * TOGETHER * s.rows,
                  first = (int64_t)blockIdx.y * NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    T *a = (T *)shared_memory, *b = a + length, *c = b + length, *d = c + length;
    known_of<T, NR> known;
    read_known(s.coarse.data + first * s.coarse.ld, s.coarse.ld, count, p, s.coarse_n, s.A.cyclic, known);
    load_tile<TOGETHER>(s, row, first, count, a, b, c, d);
    const partition_of<T> part = {a + lane * stride, b + lane * stride, c + lane * stride, d + lane * stride, length};
    if (lane >= TOGETHER) {
    } /* has no partition */
    else if (row + (int64_t)TOGETHER * s.rows <= s.full * s.rows || s.full == s.partitions)
        substitute_chunks(part, s.rows, s.scheme, known);
    else if (p < s.partitions) substitute_rows(part, p < s.full ? s.rows : s.last_rows, s.scheme, known);
    __syncwarp();
    for (int k = 0; k < count; k++) store_tile<TOGETHER>(s, row, s.X.data + (first + k) * s.X.ld + row, d + k * length);
}

#endif
