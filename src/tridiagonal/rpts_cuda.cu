/* Tridiagonal solve on the GPU by recursive partitioned Schur complements; the arithmetic is rpts_partition.h.
 *
 * A stage is two kernels. Both copy a tile of 32 partitions into shared memory, coalesced, and give one thread a partition:
 *   reduce      eliminates downwards and upwards at once and writes two rows of the coarse system;
 *   substitute  eliminates downwards again with the interface known, solves backwards, writes the solution.
 * A warp is a block: its tile needs no other synchronization than the warp's own, and several blocks on a multiprocessor
 * overlap copying and arithmetic. Rows are read in 16-byte pieces; a partition's rows are followed by one piece of padding, so
 * that eight threads reading the same piece of eight partitions touch all 32 banks once. Pivot rows replace the rows just
 * read, column by column, so that no access depends on a pivot decision, and no thread branches on one.
 * The last stage, and systems that fit, are solved by one block in shared memory, reducing by partitions of 8 rows. */
#include <cfloat>

#include "core/gpu_scalar.cuh"
#include "tridiagonal/rpts.h"

/* ------------------------------------------------- scalars for the template */

__device__ inline float reciprocal_approximation(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ inline double reciprocal_approximation(double x)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
/* To one unit in the last place, for normal x whose reciprocal is normal: pivots are made so. */
__device__ inline float reciprocal(float x) { return reciprocal_approximation(x); }
__device__ inline double reciprocal(double x)
{
    double r = reciprocal_approximation(x);
    r = fma(r, fma(-x, r, 1.0), r);
    return fma(r, fma(-x, r, 1.0), r);
}
template <typename R> __device__ inline complex_of<R> reciprocal(complex_of<R> z)
{
    const R s = reciprocal(fabs(z.x) + fabs(z.y)), x = z.x * s, y = z.y * s, q = s * reciprocal(x * x + y * y);
    return {x * q, -y * q};
}

#define RPTS_INLINE __device__ __forceinline__
#define FN(name) name
#define ZERO (T{})
#define ABS1(x) size_of(x)
#define RECIPROCAL(x) reciprocal(x)
#define SCALE_RECIPROCAL(r) reciprocal_approximation(r)

#define T float
#define R float
#define SMALLEST_NORMAL FLT_MIN
#define ROUNDING FLT_EPSILON
#define FROM_REAL(r) (T(r))
#include "tridiagonal/rpts_partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#define T double
#define R double
#define SMALLEST_NORMAL DBL_MIN
#define ROUNDING DBL_EPSILON
#include "tridiagonal/rpts_partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#undef FROM_REAL
#define T complex_of<float>
#define R float
#define SMALLEST_NORMAL FLT_MIN
#define ROUNDING FLT_EPSILON
#define FROM_REAL(r) (T{R(r), 0})
#include "tridiagonal/rpts_partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#define T complex_of<double>
#define R double
#define SMALLEST_NORMAL DBL_MIN
#define ROUNDING DBL_EPSILON
#include "tridiagonal/rpts_partition.h"
#undef T
#undef R
#undef SMALLEST_NORMAL
#undef ROUNDING
#undef FROM_REAL
#undef FN
#undef ZERO
#undef ABS1
#undef RECIPROCAL
#undef SCALE_RECIPROCAL

namespace {

constexpr int WARP = 32;

/* ------------------------------------------------------------ the arguments */

/** The bands of op(A): row i has lower[i + lower_shift], diag[i], upper[i + upper_shift], indices wrapped at the corners. */
template <typename T> struct system_of {
    int64_t n, lower_shift, upper_shift;
    bool cyclic, conjugate;
    const T *lower, *diag, *upper;
};
template <typename T> struct scheme_of { int pivot; real_of<T> epsilon; };
template <typename T> struct columns_of { T *data; int64_t ld; };

/** One stage: kernels get it by value. */
template <typename T> struct stage_of {
    system_of<T> A;
    scheme_of<T> scheme;
    int64_t partitions, full, coarse_n, nrhs;
    int rows, last_rows;            /* of a partition, of the last one */
    unsigned pieces_magic;          /* q / (pieces of a partition) = q * pieces_magic >> 20 */
    columns_of<const T> D;
    columns_of<T> X;
    T *lower, *diag, *upper;        /* the coarse system */
    columns_of<T> coarse;           /* its right-hand sides, then its solution */
};

/* 16 bytes of elements, and what a thread takes from its partition at once. */
template <typename T> constexpr int PIECE = 16 / sizeof(T);
template <typename T> constexpr int CHUNK = PIECE<T> > 1 ? PIECE<T> : 2;
template <typename T> struct alignas(16) chunk_of { T v[CHUNK<T>]; };
template <typename T> struct alignas(2 * sizeof(T) < 16 ? 2 * sizeof(T) : 16) pair_of { T first, second; };

/** Elements from one partition of a tile to the next. */
template <typename T> __host__ __device__ constexpr int tile_stride(int rows) { return rows + PIECE<T>; }
/** Bytes of a tile: three bands and `count` right-hand sides. */
template <typename T> constexpr size_t tile_bytes(int rows, int count) { return (size_t)(3 + count) * WARP * tile_stride<T>(rows) * sizeof(T); }

template <typename T> __device__ inline T lower_of(const system_of<T> &A, int64_t i)
{
    if (i == 0 && !A.cyclic) return T{};
    int64_t k = i + A.lower_shift;
    k = k < 0 ? k + A.n : k;
    return A.conjugate ? conjugate_of(A.lower[k]) : A.lower[k];
}
template <typename T> __device__ inline T diag_of(const system_of<T> &A, int64_t i) { return A.conjugate ? conjugate_of(A.diag[i]) : A.diag[i]; }
template <typename T> __device__ inline T upper_of(const system_of<T> &A, int64_t i)
{
    if (i == A.n - 1 && !A.cyclic) return T{};
    int64_t k = i + A.upper_shift;
    k = k >= A.n ? k - A.n : k;
    return A.conjugate ? conjugate_of(A.upper[k]) : A.upper[k];
}

/* -------------------------------------------------- global to shared memory */

template <int BYTES> __device__ inline void copy_async(void *shared, const void *global)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    if constexpr (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(global), "n"(BYTES) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline bool is_aligned(const void *p) { return ((uintptr_t)p & 15) == 0; }

/** Rows of the tile from `global` on: in 16-byte pieces, or one by one where the caller's array does not start on 16 bytes. */
template <typename T> __device__ inline void copy_tile(T *tile, const T *global, int rows, unsigned magic)
{
    const int lane = (int)threadIdx.x, pieces = WARP * rows / PIECE<T>;
    if (is_aligned(global)) {
        for (int q = lane; q < pieces; q += WARP)
            copy_async<16>(tile + (q + (int)(q * magic >> 20)) * PIECE<T>, global + q * PIECE<T>);
    } else {
        constexpr int BYTES = sizeof(T) < 8 ? 4 : 8; /* of a double complex, the halves */
        for (int r = lane; r < WARP * rows; r += WARP) {
            const int q = r / PIECE<T>, slot = (q + (int)(q * magic >> 20)) * PIECE<T> + r % PIECE<T>;
            for (int part = 0; part < (int)sizeof(T) / BYTES; part++)
                copy_async<BYTES>((char *)(tile + slot) + part * BYTES, (const char *)(global + r) + part * BYTES);
        }
    }
}

/** The bands and right-hand sides first .. first + count - 1 of this block's tile; rows outside the system are the identity's. */
template <typename T> __device__ inline void load_tile(const stage_of<T> &s, int64_t row, int64_t first, int count, T *a, T *b, T *c, T *d)
{
    const int lane = (int)threadIdx.x, tile_rows = WARP * s.rows, length = WARP * tile_stride<T>(s.rows);
    const bool inside = row > 0 && row + tile_rows < s.A.n;
    if (inside && !s.A.conjugate) {
        copy_tile(a, s.A.lower + row + s.A.lower_shift, s.rows, s.pieces_magic);
        copy_tile(b, s.A.diag + row, s.rows, s.pieces_magic);
        copy_tile(c, s.A.upper + row + s.A.upper_shift, s.rows, s.pieces_magic);
    } else {
        for (int r = lane; r < tile_rows; r += WARP) {
            const int q = r / PIECE<T>, slot = (q + (int)(q * s.pieces_magic >> 20)) * PIECE<T> + r % PIECE<T>;
            const int64_t i = row + r;
            a[slot] = i < s.A.n ? lower_of(s.A, i) : T{};
            b[slot] = i < s.A.n ? diag_of(s.A, i) : one_of<T>();
            c[slot] = i < s.A.n ? upper_of(s.A, i) : T{};
        }
    }
    for (int k = 0; k < count; k++) {
        const T *global = s.D.data + (first + k) * s.D.ld + row;
        if (inside) {
            copy_tile(d + k * length, global, s.rows, s.pieces_magic);
        } else {
            for (int r = lane; r < tile_rows; r += WARP) {
                const int q = r / PIECE<T>, slot = (q + (int)(q * s.pieces_magic >> 20)) * PIECE<T> + r % PIECE<T>;
                d[k * length + slot] = row + r < s.A.n ? global[r] : T{};
            }
        }
    }
    wait_for_copies();
    __syncwarp();
}

template <typename T> __device__ inline void store_tile(const stage_of<T> &s, int64_t row, T *global, const T *x)
{
    const int lane = (int)threadIdx.x, tile_rows = WARP * s.rows;
    if (row + tile_rows <= s.A.n && is_aligned(global)) {
        struct alignas(16) piece { T v[PIECE<T>]; };
        for (int q = lane; q < tile_rows / PIECE<T>; q += WARP)
            ((piece *)global)[q] = ((const piece *)x)[q + (int)(q * s.pieces_magic >> 20)];
    } else {
        for (int r = lane; r < tile_rows && row + r < s.A.n; r += WARP) {
            const int q = r / PIECE<T>;
            global[r] = x[(q + (int)(q * s.pieces_magic >> 20)) * PIECE<T> + r % PIECE<T>];
        }
    }
}

/* ---------------------------------------------------------------- reduction */

/** The row that an elimination carries along. */
template <typename T, int NR> struct carried_row {
    T spike, diag, right, rhs[NR];
    real_of<T> weight, scale;

    __device__ __forceinline__ void start(const scheme_of<T> &scheme, T a, T b, T c)
    {
        spike = a, diag = b, right = c;
        scale = rpts_scale(scheme.pivot, a, b, c, &weight);
    }
    /** Remove a column with row (a, b, c), whose right-hand sides are d[k * d_stride]; the pivot row goes to inverse, u1, u2, pivot_rhs. */
    __device__ __forceinline__ void eliminate(const scheme_of<T> &scheme, T a, T b, T c, const T (&d)[NR], T &inverse, T &u1, T &u2, T (&pivot_rhs)[NR])
    {
        bool exchanged;
        T factor;
        real_of<T> weight_row;
        const real_of<T> scale_row = rpts_scale(scheme.pivot, a, b, c, &weight_row);
        rpts_eliminate(&spike, &diag, &right, &weight, &scale, a, b, c, weight_row, scale_row, scheme.epsilon, &exchanged,
                       &factor, &inverse, &u1, &u2);
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
template <typename T> struct partition_of { T *a, *b, *c, *d; int length; };

template <typename T, int NR> __device__ __forceinline__ void read_rhs(const partition_of<T> &p, int j, T (&d)[NR])
{
#pragma unroll
    for (int k = 0; k < NR; k++) d[k] = p.d[k * p.length + j];
}

/** One direction of the reduction of m >= 2 rows: direction +1 downwards, -1 upwards. */
template <typename T, int NR> __device__ inline void reduce_rows(const partition_of<T> &p, int m, int direction, const scheme_of<T> &scheme, carried_row<T, NR> &carried)
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
template <typename T, int NR> __device__ __forceinline__ void reduce_chunks(const partition_of<T> &p, int rows, const scheme_of<T> &scheme,
                                                                           carried_row<T, NR> &down, carried_row<T, NR> &up)
{
    constexpr int C = CHUNK<T>;
    using chunk = chunk_of<T>;
    const int chunks = rows / C;
#pragma unroll 1
    for (int k = 0; k < chunks; k++) {
        const int top = k * C, bottom = rows - C - top;
        const chunk ta = *(const chunk *)(p.a + top), tb = *(const chunk *)(p.b + top), tc = *(const chunk *)(p.c + top);
        const chunk ba = *(const chunk *)(p.a + bottom), bb = *(const chunk *)(p.b + bottom), bc = *(const chunk *)(p.c + bottom);
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
template <typename T, int NR> __device__ inline void write_coarse_rows(const stage_of<T> &s, int64_t p, int64_t first, int count, bool with_matrix,
                                                                       const carried_row<T, NR> &down, const carried_row<T, NR> &up)
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

template <typename T, int NR> __global__ void __launch_bounds__(WARP) reduce(const stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int lane = (int)threadIdx.x, stride = tile_stride<T>(s.rows), length = WARP * stride;
    const int64_t p = (int64_t)blockIdx.x * WARP + lane, row = (int64_t)blockIdx.x * WARP * s.rows, first = (int64_t)blockIdx.y * NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    T *a = (T *)shared_memory, *b = a + length, *c = b + length, *d = c + length;
    load_tile(s, row, first, count, a, b, c, d);
    const partition_of<T> part = {a + lane * stride, b + lane * stride, c + lane * stride, d + lane * stride, length};
    carried_row<T, NR> down, up;
    if (row + (int64_t)WARP * s.rows <= s.full * s.rows || s.full == s.partitions) {
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

/** Known unknowns of a partition: x[-1], x[0], x[m-1], x[m]. */
template <typename T, int NR> struct interface_of { T before[NR], first[NR], last[NR], after[NR]; };

/** The first inner unknown from row 0, where its coefficient there is the largest pivot. */
template <typename T, int NR> struct first_unknown {
    bool taken;
    T x[NR];
    __device__ __forceinline__ void decide(const partition_of<T> &p, const scheme_of<T> &scheme, const interface_of<T, NR> &known)
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
template <typename T, int NR> __device__ __forceinline__ void last_unknown(const carried_row<T, NR> &carried, const scheme_of<T> &scheme, T a, T b, T c,
                                                                          const T (&d)[NR], const interface_of<T, NR> &known, T (&x)[NR])
{
    real_of<T> weight;
    const real_of<T> scale = rpts_scale(scheme.pivot, a, b, c, &weight);
    const bool from_row = rpts_exchanges(carried.diag, carried.weight, a, weight);
    const T pivot = from_row ? a : rpts_above_noise(carried.diag, scheme.epsilon);
    const T inverse = reciprocal(rpts_safe_pivot(pivot, from_row ? scale : carried.scale));
#pragma unroll
    for (int k = 0; k < NR; k++) {
        const T own = carried.rhs[k] - carried.right * known.last[k], other = d[k] - b * known.last[k] - c * known.after[k];
        x[k] = inverse * (from_row ? other : own);
    }
}

/** Solution of m rows in place of d; the bands are overwritten by pivot rows, that of column j-1 in place of row j. */
template <typename T, int NR> __device__ inline void substitute_rows(const partition_of<T> &p, int m, const scheme_of<T> &scheme, const interface_of<T, NR> &known)
{
    T next[NR], next2[NR], d[NR];
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
}

/** The same for a whole partition, a chunk of rows at a time. */
template <typename T, int NR> __device__ __forceinline__ void substitute_chunks(const partition_of<T> &p, int rows, const scheme_of<T> &scheme,
                                                                               const interface_of<T, NR> &known)
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
        chunk a = *(const chunk *)(p.a + k * C), b = *(const chunk *)(p.b + k * C), c = *(const chunk *)(p.c + k * C), d[NR];
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
        const chunk a = *(const chunk *)(p.a + k * C), b = *(const chunk *)(p.b + k * C), c = *(const chunk *)(p.c + k * C);
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

template <typename T, int NR> __device__ inline void read_interface(const T *x, int64_t ld, int count, int64_t p, int64_t coarse_n, bool cyclic, interface_of<T, NR> &known)
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

template <typename T, int NR> __global__ void __launch_bounds__(WARP) substitute(const stage_of<T> s)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    const int lane = (int)threadIdx.x, stride = tile_stride<T>(s.rows), length = WARP * stride;
    const int64_t p = (int64_t)blockIdx.x * WARP + lane, row = (int64_t)blockIdx.x * WARP * s.rows, first = (int64_t)blockIdx.y * NR;
    const int count = s.nrhs - first < NR ? (int)(s.nrhs - first) : NR;
    T *a = (T *)shared_memory, *b = a + length, *c = b + length, *d = c + length;
    interface_of<T, NR> known;
    read_interface(s.coarse.data + first * s.coarse.ld, s.coarse.ld, count, p, s.coarse_n, s.A.cyclic, known);
    load_tile(s, row, first, count, a, b, c, d);
    const partition_of<T> part = {a + lane * stride, b + lane * stride, c + lane * stride, d + lane * stride, length};
    if (row + (int64_t)WARP * s.rows <= s.full * s.rows || s.full == s.partitions)
        substitute_chunks(part, s.rows, s.scheme, known);
    else if (p < s.partitions)
        substitute_rows(part, p < s.full ? s.rows : s.last_rows, s.scheme, known);
    __syncwarp();
    for (int k = 0; k < count; k++) store_tile(s, row, s.X.data + (first + k) * s.X.ld + row, d + k * length);
}

/* -------------------------------------------------- the fused, final stage */

constexpr int FUSED_THREADS = 512;
constexpr int FUSED_PARTITION = 8; /* rows; also the largest system that one thread solves */
constexpr int FUSED_LEVELS = 12;
constexpr size_t FUSED_BYTES = 200 * 1024;

/** Level k of the hierarchy in shared memory: four arrays of `length`, row i at i + i / 8; on the last level, which one thread
 *  solves, at 1 + i, between two rows of the identity. */
struct level { int n, partitions, length, offset; };

__host__ __device__ inline int fused_levels(int n, bool cyclic, level (&levels)[FUSED_LEVELS])
{
    int count = 0, offset = 0;
    for (;;) {
        const int rest = n % FUSED_PARTITION, partitions = (n + FUSED_PARTITION - 1) / FUSED_PARTITION;
        const int length = partitions * (FUSED_PARTITION + 1) + 2;
        levels[count++] = {n, partitions, length, offset};
        offset += 4 * length;
        if (n <= FUSED_PARTITION) return count;
        n = 2 * partitions - (cyclic && rest == 1);
    }
}
template <typename T> __host__ inline size_t fused_bytes(int n, bool cyclic)
{
    level levels[FUSED_LEVELS];
    const int last = fused_levels(n, cyclic, levels) - 1;
    return (size_t)(levels[last].offset + 4 * levels[last].length) * sizeof(T);
}
/** Rows that fit: 4 arrays, 9/8 for padding, 4/3 for the coarse levels. */
template <typename T> constexpr int fused_rows() { return (int)(FUSED_BYTES / (6 * sizeof(T) + sizeof(T) / 4)); }

__device__ inline int fused_slot(const level &l, int i) { return l.n <= FUSED_PARTITION ? 1 + i : i + i / FUSED_PARTITION; }

template <typename T> __device__ inline partition_of<T> fused_arrays(T *memory, const level &l, int slot)
{
    T *a = memory + l.offset + slot;
    return {a, a + l.length, a + 2 * l.length, a + 3 * l.length, 0};
}

/** n <= 8 rows from p on; rows -1 and n are there to be made rows of the identity. */
template <typename T> __device__ inline void solve_direct(const partition_of<T> &p, int n, bool cyclic, const scheme_of<T> &scheme)
{
    interface_of<T, 1> known = {};
    if (cyclic && n > 1) { /* one partition that is its own neighbour: two rows for x[0] and x[n-1] */
        carried_row<T, 1> down, up;
        reduce_rows(p, n, 1, scheme, down);
        reduce_rows(p, n, -1, scheme, up);
        const T a = down.spike + down.right, rhs[1] = {down.rhs[0]};
        T inverse, u1, u2, pivot_rhs[1];
        up.start(scheme, T{}, up.diag, up.right + up.spike);
        up.eliminate(scheme, a, down.diag, T{}, rhs, inverse, u1, u2, pivot_rhs);
        const T last = reciprocal(rpts_safe_pivot(up.diag, up.scale)) * up.rhs[0];
        const T first = inverse * (pivot_rhs[0] - u1 * last);
        known = {{last}, {first}, {last}, {first}};
        substitute_rows(p, n, scheme, known);
        return;
    }
    if (cyclic) p.b[0] = p.a[0] + p.b[0] + p.c[0], p.a[0] = p.c[0] = T{};
    for (int i = -1; i <= n; i += n + 1) p.a[i] = p.c[i] = p.d[i] = T{}, p.b[i] = one_of<T>();
    const partition_of<T> framed = {p.a - 1, p.b - 1, p.c - 1, p.d - 1, 0};
    substitute_rows(framed, n + 2, scheme, known);
}

/** Solve a system that fits into one block's shared memory; block k takes right-hand side k. X == D is allowed. */
template <typename T> __global__ void __launch_bounds__(FUSED_THREADS) solve_fused(const system_of<T> A, const scheme_of<T> scheme, columns_of<const T> D, columns_of<T> X)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    T *memory = (T *)shared_memory;
    level levels[FUSED_LEVELS];
    const int count = fused_levels((int)A.n, A.cyclic, levels), tid = (int)threadIdx.x, n = (int)A.n;
    const T *d = D.data + blockIdx.x * D.ld;
    T *x = X.data + blockIdx.x * X.ld;
    {
        const partition_of<T> p = fused_arrays(memory, levels[0], 0);
        for (int i = tid; i < n + (n > FUSED_PARTITION); i += FUSED_THREADS) { /* one more: a row of the identity, if a partition needs it */
            const int slot = fused_slot(levels[0], i);
            p.a[slot] = i < n ? lower_of(A, i) : T{};
            p.b[slot] = i < n ? diag_of(A, i) : one_of<T>();
            p.c[slot] = i < n ? upper_of(A, i) : T{};
            p.d[slot] = i < n ? d[i] : T{};
        }
    }
    __syncthreads();
    for (int k = 0; k < count - 1; k++) {
        const level &fine = levels[k], &coarse = levels[k + 1];
        const partition_of<T> out = fused_arrays(memory, coarse, 0);
        for (int item = tid; item < 2 * fine.partitions; item += FUSED_THREADS) {
            const bool upwards = item >= fine.partitions;
            const int q = upwards ? item - fine.partitions : item, left = fine.n - q * FUSED_PARTITION;
            const int m = left >= FUSED_PARTITION ? FUSED_PARTITION : A.cyclic ? left : left + left % 2;
            const partition_of<T> p = fused_arrays(memory, fine, q * (FUSED_PARTITION + 1));
            carried_row<T, 1> carried;
            if (m > 1) {
                reduce_rows(p, m, upwards ? -1 : 1, scheme, carried);
                const int slot = fused_slot(coarse, 2 * q + !upwards);
                out.a[slot] = upwards ? carried.right : carried.spike;
                out.b[slot] = carried.diag;
                out.c[slot] = upwards ? carried.spike : carried.right;
                out.d[slot] = carried.rhs[0];
            } else if (upwards) {
                const int slot = fused_slot(coarse, 2 * q);
                out.a[slot] = p.a[0], out.b[slot] = p.b[0], out.c[slot] = p.c[0], out.d[slot] = p.d[0];
            }
        }
        __syncthreads();
    }
    if (tid == 0) solve_direct(fused_arrays(memory, levels[count - 1], 1), levels[count - 1].n, A.cyclic, scheme);
    __syncthreads();
    for (int k = count - 2; k >= 0; k--) {
        const level &fine = levels[k], &coarse = levels[k + 1];
        const partition_of<T> solution = fused_arrays(memory, coarse, 0);
        for (int q = tid; q < fine.partitions; q += FUSED_THREADS) {
            const int left = fine.n - q * FUSED_PARTITION, i = 2 * q, end = coarse.n;
            const int m = left >= FUSED_PARTITION ? FUSED_PARTITION : A.cyclic ? left : left + left % 2;
            interface_of<T, 1> known;
            known.first[0] = solution.d[fused_slot(coarse, i)];
            known.last[0] = i + 1 < end ? solution.d[fused_slot(coarse, i + 1)] : T{};
            known.before[0] = i > 0 || A.cyclic ? solution.d[fused_slot(coarse, i > 0 ? i - 1 : end - 1)] : T{};
            known.after[0] = i + 2 < end || A.cyclic ? solution.d[fused_slot(coarse, i + 2 < end ? i + 2 : 0)] : T{};
            substitute_rows(fused_arrays(memory, fine, q * (FUSED_PARTITION + 1)), m, scheme, known);
        }
        __syncthreads();
    }
    const partition_of<T> solution = fused_arrays(memory, levels[0], 0);
    for (int i = tid; i < n; i += FUSED_THREADS) x[i] = solution.d[fused_slot(levels[0], i)];
}

/* --------------------------------------------------------------- refinement */

template <typename T> __global__ void copy_columns(int64_t n, columns_of<const T> from, columns_of<T> to)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        to.data[i + blockIdx.y * to.ld] = from.data[i + blockIdx.y * from.ld];
}
/** r := r - op(A) x */
template <typename T> __global__ void subtract_product(const system_of<T> A, columns_of<const T> X, columns_of<T> residual)
{
    const T *x = X.data + blockIdx.y * X.ld;
    T *r = residual.data + blockIdx.y * residual.ld;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < A.n; i += (int64_t)gridDim.x * blockDim.x) {
        T sum = r[i] - diag_of(A, i) * x[i];
        if (i > 0 || A.cyclic) sum = sum - lower_of(A, i) * x[i > 0 ? i - 1 : A.n - 1];
        if (i < A.n - 1 || A.cyclic) sum = sum - upper_of(A, i) * x[i < A.n - 1 ? i + 1 : 0];
        r[i] = sum;
    }
}
template <typename T> __global__ void add_columns(int64_t n, columns_of<const T> from, columns_of<T> to)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        T *x = to.data + i + blockIdx.y * to.ld;
        *x = *x + from.data[i + blockIdx.y * from.ld];
    }
}

/* ------------------------------------------------------------------ launches */

template <typename T, int NR> trine_status launch_columns(bool down, const stage_of<T> &s, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    void (*kernel)(stage_of<T>) = down ? reduce<T, NR> : substitute<T, NR>;
    const size_t bytes = tile_bytes<T>(s.rows, NR);
    const dim3 grid((unsigned)((s.partitions + WARP - 1) / WARP), (unsigned)((s.nrhs + NR - 1) / NR));
    if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributePreferredSharedMemoryCarveout, gpuSharedmemCarveoutMaxShared)));
    kernel<<<grid, WARP, bytes, stream>>>(s);
    TRY(GPU_LAUNCHED("a stage of gtsv"));
done:
    return status;
}

template <typename T> trine_status launch_stage(bool down, const stage_of<T> &s, gpuStream_t stream)
{
    return s.nrhs == 1 ? launch_columns<T, 1>(down, s, stream) : launch_columns<T, 4>(down, s, stream);
}

template <typename T> trine_status launch_fused(const system_of<T> &A, const scheme_of<T> &scheme, int64_t nrhs, columns_of<const T> D, columns_of<T> X, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = fused_bytes<T>((int)A.n, A.cyclic);
    if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute((const void *)solve_fused<T>, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    solve_fused<T><<<(unsigned)nrhs, FUSED_THREADS, bytes, stream>>>(A, scheme, D, X);
    TRY(GPU_LAUNCHED("solve_fused"));
done:
    return status;
}

/** Solve on the stages from `stage` on. */
template <typename T> trine_status solve_stages(const rpts_options *o, const rpts_plan *plan, int stage, const system_of<T> &A, const scheme_of<T> &scheme,
                                                columns_of<const T> D, columns_of<T> X, T *work, gpuStream_t stream)
{
    if (stage == plan->stages) return launch_fused(A, scheme, o->nrhs, D, X, stream);
    trine_status status = TRINE_SUCCESS;
    const rpts_stage *p = &plan->stage[stage];
    const int pieces = p->partition / PIECE<T>;
    stage_of<T> s = {};
    system_of<T> coarse = {};
    s.A = A;
    s.scheme = scheme;
    s.partitions = p->partitions, s.full = p->full, s.coarse_n = p->coarse_n, s.nrhs = o->nrhs;
    s.rows = p->partition, s.last_rows = p->last_rows;
    s.pieces_magic = ((1u << 20) + (unsigned)pieces - 1) / (unsigned)pieces;
    s.D = D, s.X = X;
    s.lower = work, s.diag = s.lower + p->coarse_ld, s.upper = s.diag + p->coarse_ld;
    s.coarse = {s.upper + p->coarse_ld, p->coarse_ld};
    coarse.n = p->coarse_n;
    coarse.cyclic = A.cyclic;
    coarse.lower = s.lower, coarse.diag = s.diag, coarse.upper = s.upper;
    TRY(launch_stage(true, s, stream));
    TRY(solve_stages(o, plan, stage + 1, coarse, scheme, {s.coarse.data, s.coarse.ld}, s.coarse, s.coarse.data + o->nrhs * p->coarse_ld, stream));
    TRY(launch_stage(false, s, stream));
done:
    return status;
}

template <typename T> trine_status solve_of(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = plan->n, blocks = (n + 255) / 256;
    const bool transposed = o->op != TRINE_N;
    const gpuStream_t stream = (gpuStream_t)call->stream;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)o->nrhs);
    const columns_of<const T> D = {(const T *)call->D, call->ldd}, solution = {(const T *)call->X, call->ldx};
    const columns_of<T> X = {(T *)call->X, call->ldx}, residual = {(T *)call->work + plan->elements, n};
    const scheme_of<T> scheme = {o->pivot, (real_of<T>)o->epsilon};
    system_of<T> A = {n, 0, 0, o->cyclic, o->op == TRINE_H && scalar<T>::is_complex, (const T *)call->a, (const T *)call->b, (const T *)call->c};
    if (transposed) /* row i of A^T: c[i-1], b[i], a[i+1] */
        A.lower = (const T *)call->c, A.lower_shift = -1, A.upper = (const T *)call->a, A.upper_shift = 1;
    if (o->refine) {
        copy_columns<T><<<grid, 256, 0, stream>>>(n, D, residual);
        TRY(GPU_LAUNCHED("copy_columns"));
    }
    TRY(solve_stages(o, plan, 0, A, scheme, D, X, (T *)call->work, stream));
    if (o->refine) {
        subtract_product<T><<<grid, 256, 0, stream>>>(A, solution, residual);
        TRY(GPU_LAUNCHED("subtract_product"));
        TRY(solve_stages(o, plan, 0, A, scheme, {residual.data, n}, residual, (T *)call->work, stream));
        add_columns<T><<<grid, 256, 0, stream>>>(n, {residual.data, n}, X);
        TRY(GPU_LAUNCHED("add_columns"));
    }
done:
    return status;
}

int64_t fused_rows_of(trine_dtype t)
{
    static const int64_t rows[] = {0, fused_rows<float>(), fused_rows<double>(), fused_rows<complex_of<float>>(), fused_rows<complex_of<double>>()};
    return rows[t];
}

trine_status solve(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call)
{
    static trine_status (*const run[])(const rpts_options *, const rpts_plan *, const struct gtsv_device_call *) = {
        nullptr, solve_of<float>, solve_of<double>, solve_of<complex_of<float>>, solve_of<complex_of<double>>};
    return run[call->t](o, plan, call);
}

} // namespace

extern "C" const struct gtsv_backend gtsv_cuda = {fused_rows_of, solve};
