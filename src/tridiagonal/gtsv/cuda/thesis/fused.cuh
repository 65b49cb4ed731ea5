/* The final stage: a system that fits into one block's shared memory, reduced there by partitions of 8 rows, level
 * by level, down to what one thread solves. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_FUSED_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_FUSED_CUH

#include "tridiagonal/gtsv/cuda/thesis/staged.cuh"
#include "tridiagonal/gtsv/cuda/wide_warp.cuh"

constexpr int FUSED_THREADS = 512;
constexpr int FUSED_PARTITION = 8; /* rows; also the largest system that one thread solves */
constexpr int FUSED_LEVELS = 12;
constexpr size_t FUSED_BYTES = 200 * 1024; /* of shared memory, at most */
/** Blocks on a multiprocessor at once, registers permitting: what is rarely called must not take more of them. */
template <typename T> constexpr int FUSED_BLOCKS = sizeof(T) == 16 ? 1 : 2;
constexpr int FUSED_MARKS = 64;            /* words with a bit for each partition of each level */

/** Level k of the hierarchy in shared memory: four arrays of `length`, row i at i + i / 8; on the last level, which
 *  one thread solves, at 1 + i, between two rows of the identity. */
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
/** Rows with elements of `size` bytes that fit into a block's shared memory: 4 arrays, 9/8 for padding, 4/3 for the
 *  coarse levels. */
inline int64_t fused_rows(size_t size, size_t shared_bytes)
{
    return (int64_t)((shared_bytes < FUSED_BYTES ? shared_bytes : FUSED_BYTES) / (6 * size + size / 4));
}

__device__ inline int fused_slot(const level &l, int i)
{
    return l.n <= FUSED_PARTITION ? 1 + i : i + i / FUSED_PARTITION;
}

template <typename T> __device__ inline partition_of<T> fused_arrays(T *memory, const level &l, int slot)
{
    T *a = memory + l.offset + slot;
    return {a, a + l.length, a + 2 * l.length, a + 3 * l.length, 0};
}

/** The size of the outermost row in what is left of a partition: row i of it, if its rows are not normalized. */
template <typename T, int NR> __device__ inline real_of<T> part_left(const carried_row<T, NR> &carried,
                                                                     const partition_of<T> &p, int i, bool normalized)
{
    return normalized ? carried.part : carried.part * fmax(fmax(size_of(p.a[i]), size_of(p.b[i])), size_of(p.c[i]));
}
template <typename T, int NR> __device__ inline real_of<T> largest_left(const carried_row<T, NR> &carried)
{
    return fmax(fmax(size_of(carried.spike), size_of(carried.diag)), size_of(carried.right));
}
/** Is it no longer to be seen (rows.cuh)? lost: by how much others may be larger; infinite: never. */
template <typename T, int NR> __device__ inline bool is_lost(const carried_row<T, NR> &carried, real_of<T> part,
                                                             float lost)
{
    return lost < INFINITY && !(largest_left(carried) < lost * part);
}

/** Row 0 of a partition and the pivot rows both say what x[1] is: do they agree? */
template <typename T> struct row0_check {
    T a, b, c, d;
    __device__ explicit row0_check(const partition_of<T> &p) : a(p.a[0]), b(p.b[0]), c(p.c[0]), d(p.d[0]) {}
    __device__ bool fails(T x1, const known_of<T, 1> &known, float lost) const
    {
        constexpr real_of<T> rounding = precision_of<real_of<T>>::ROUNDING_UNIT;
        const T before = a * known.before[0], own = b * known.first[0], next = c * x1;
        return lost < INFINITY && !(size_of(d - before - own - next) <=
                                    lost * rounding * (size_of(d) + size_of(before) + size_of(own) + size_of(next)));
    }
};

/** n rows from p on; rows -1 and n are there to be made rows of the identity. True if digits may be lost: it is to
 *  be done carefully. */
template <typename T> __device__ inline bool solve_direct(const partition_of<T> &p, int n, bool cyclic,
                                                          const scheme_of<T> &scheme, bool normalized, float lost)
{
    known_of<T, 1> known = {};
    if (cyclic && n > 1) { /* one partition that is its own neighbour: two rows for x[0] and x[n-1] */
        carried_row<T, 1> down, up;
        reduce_rows(p, n, 1, scheme, down);
        reduce_rows(p, n, -1, scheme, up);
        const bool both_lost = is_lost(down, part_left(down, p, n - 1, normalized), lost) &&
                               is_lost(up, part_left(up, p, 0, normalized), lost);
        const T a = down.spike + down.right, rhs[1] = {down.rhs[0]};
        T inverse, u1, u2, pivot_rhs[1];
        up.start(scheme, T{}, up.diag, up.right + up.spike);
        up.eliminate(scheme, a, down.diag, T{}, rhs, inverse, u1, u2, pivot_rhs);
        const T last = reciprocal(rpts_safe_pivot(up.diag, up.scale)) * up.rhs[0];
        const T first = inverse * (pivot_rhs[0] - u1 * last);
        known = {{last}, {first}, {last}, {first}};
        const row0_check<T> row0(p);
        const T x1 = substitute_rows(p, n, scheme, known);
        return both_lost || (n > 2 && row0.fails(x1, known, lost));
    }
    if (cyclic) p.b[0] = p.a[0] + p.b[0] + p.c[0], p.a[0] = p.c[0] = T{};
    for (int i = -1; i <= n; i += n + 1) p.a[i] = p.c[i] = p.d[i] = T{}, p.b[i] = one_of<T>();
    const partition_of<T> framed = {p.a - 1, p.b - 1, p.c - 1, p.d - 1, 0};
    substitute_rows(framed, n + 2, scheme, known);
    return false;
}

/** Solve a system of n <= 32 rows, one thread for each column. X == D is allowed. */
template <typename T> __global__ void __launch_bounds__(WARP)
    solve_by_one_thread(const system_of<T> A, const scheme_of<T> scheme, columns_of<const T> D, columns_of<T> X)
{
    constexpr int LENGTH = WARP + 2;
    __shared__ T memory[4 * LENGTH];
    const int i = (int)threadIdx.x, n = (int)A.n;
    const partition_of<T> p = {memory + 1, memory + LENGTH + 1, memory + 2 * LENGTH + 1, memory + 3 * LENGTH + 1, 0};
    if (i < n)
        p.a[i] = lower_of(A, i), p.b[i] = diag_of(A, i), p.c[i] = upper_of(A, i),
        p.d[i] = D.data[i + blockIdx.x * D.ld];
    __syncwarp();
    if (i == 0) solve_direct(p, n, A.cyclic, scheme, false, INFINITY);
    __syncwarp();
    if (i < n) X.data[i + blockIdx.x * X.ld] = p.d[i];
}

/** How much may be lost in a system of n rows whose solve has these options: rows may be exchanged, nothing but
 *  zeros count as zero. Partitions of 8 rows lose digits often, one in a system. */
inline float fused_lost(int pivot, double epsilon, int64_t n)
{
    return epsilon > 0 || pivot == TRINE_PIVOT_NONE ? INFINITY : (float)(1 << (rpts_lost_digits(n) + 2));
}

/** What a solve has lost: nothing that matters; what a step of refinement brings back; more. */
enum fused_outcome { FUSED_FINE, FUSED_SOME_LOST, FUSED_MUCH_LOST };
/** From how much on it is that. */
template <typename T> constexpr float FUSED_MUCH = sizeof(real_of<T>) == 4 ? 0x1p10f : 0x1p20f;

/** A block that solves a system in its shared memory. */
template <typename T> struct fused_block {
    using R = real_of<T>;
    static constexpr int EACH = 64 / sizeof(T); /* rows of a thread, at most */
    system_of<T> A;
    scheme_of<T> scheme;
    float lost;
    T *memory;
    /* one bit for each partition of each level: its last row has lost something, its first row; much, much */
    unsigned (*marks)[FUSED_MARKS];
    const level *levels;
    int count;

    __device__ __forceinline__ void load(const T *d) const
    {
        const partition_of<T> p = fused_arrays(memory, levels[0], 0);
        const int n = (int)A.n;
        /* one more: a row of the identity, if a partition needs it */
        for (int i = (int)threadIdx.x; i < n + (n > FUSED_PARTITION); i += FUSED_THREADS) {
            const int slot = fused_slot(levels[0], i);
            p.a[slot] = i < n ? lower_of(A, i) : T{};
            p.b[slot] = i < n ? diag_of(A, i) : one_of<T>();
            p.c[slot] = i < n ? upper_of(A, i) : T{};
            if (d) p.d[slot] = i < n ? d[i] : T{};
        }
    }
    __device__ __forceinline__ T *unknown(int i) const
    {
        return &fused_arrays(memory, levels[0], 0).d[fused_slot(levels[0], i)];
    }

    /** The system that load has brought, and afterwards its solution in place of right-hand sides. The same answer
     *  for all threads. */
    __device__ __forceinline__ fused_outcome solve() const
    {
        const int tid = (int)threadIdx.x;
        const bool normalizes = lost < INFINITY; /* else noise may be told from numbers by its size */
        bool some = false, much = false;
        if (tid < 4 * FUSED_MARKS) marks[tid / FUSED_MARKS][tid % FUSED_MARKS] = 0;
        __syncthreads();
        for (int k = 0, first = 0; k < count - 1; first += levels[k++].partitions) {
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
                    const R part = part_left(carried, p, upwards ? 0 : m - 1, k > 0);
                    const R g = normalizes
                                    ? reciprocal_approximation(fmax(fmax(part, R(0x1p-40) * largest_left(carried)),
                                                                    precision_of<R>::SMALLEST_NORMAL_NUMBER))
                                    : R(1);
                    if (is_lost(carried, part, lost))
                        atomicOr(&marks[upwards][(first + q) / WARP], 1u << (first + q) % WARP);
                    if (is_lost(carried, part, fmaxf(lost, FUSED_MUCH<T>)))
                        atomicOr(&marks[2 + upwards][(first + q) / WARP], 1u << (first + q) % WARP);
                    out.a[slot] = scaled(upwards ? carried.right : carried.spike, g);
                    out.b[slot] = scaled(carried.diag, g);
                    out.c[slot] = scaled(upwards ? carried.spike : carried.right, g);
                    out.d[slot] = scaled(carried.rhs[0], g);
                } else if (upwards) {
                    const int slot = fused_slot(coarse, 2 * q);
                    const R g = k > 0 || !normalizes
                                    ? R(1)
                                    : reciprocal_approximation(
                                          fmax(fmax(fmax(size_of(p.a[0]), size_of(p.b[0])), size_of(p.c[0])),
                                               precision_of<R>::SMALLEST_NORMAL_NUMBER));
                    out.a[slot] = scaled(p.a[0], g), out.b[slot] = scaled(p.b[0], g), out.c[slot] = scaled(p.c[0], g),
                    out.d[slot] = scaled(p.d[0], g);
                }
            }
            __syncthreads();
        }
        if (tid < FUSED_MARKS) some = marks[0][tid] & marks[1][tid], much = marks[2][tid] & marks[3][tid];
        if (tid == 0)
            much |= solve_direct(fused_arrays(memory, levels[count - 1], 1), levels[count - 1].n, A.cyclic, scheme,
                                 count > 1, lost);
        if (__builtin_expect(__syncthreads_or(much), 0)) return FUSED_MUCH_LOST;
        for (int k = count - 2; k >= 0; k--) {
            const level &fine = levels[k], &coarse = levels[k + 1];
            const partition_of<T> solution = fused_arrays(memory, coarse, 0);
            for (int q = tid; q < fine.partitions; q += FUSED_THREADS) {
                const int left = fine.n - q * FUSED_PARTITION, i = 2 * q, end = coarse.n;
                const int m = left >= FUSED_PARTITION ? FUSED_PARTITION : A.cyclic ? left : left + left % 2;
                known_of<T, 1> known;
                known.first[0] = solution.d[fused_slot(coarse, i)];
                known.last[0] = i + 1 < end ? solution.d[fused_slot(coarse, i + 1)] : T{};
                known.before[0] = i > 0 || A.cyclic ? solution.d[fused_slot(coarse, i > 0 ? i - 1 : end - 1)] : T{};
                known.after[0] =
                    i + 2 < end || A.cyclic ? solution.d[fused_slot(coarse, i + 2 < end ? i + 2 : 0)] : T{};
                const partition_of<T> p = fused_arrays(memory, fine, q * (FUSED_PARTITION + 1));
                const row0_check<T> row0(p);
                const T x1 = substitute_rows(p, m, scheme, known);
                if (m > 2)
                    some |= row0.fails(x1, known, lost), much |= row0.fails(x1, known, fmaxf(lost, FUSED_MUCH<T>));
            }
            if (k > 0) __syncthreads();
        }
        if (__builtin_expect(!__syncthreads_or(some), 1)) return FUSED_FINE;
        return __syncthreads_or(much) ? FUSED_MUCH_LOST : FUSED_SOME_LOST;
    }

    /** A step of refinement of the solution that is there, X from D, which may be the same. False if that does not
     *  do: X is as it was. */
    __device__ __noinline__ bool refine(const T *d, T *x) const
    {
        const int n = (int)A.n;
        T own[EACH], residual[EACH];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int i = (int)threadIdx.x + j * FUSED_THREADS;
            if (i >= n) continue;
            own[j] = *unknown(i);
            residual[j] = d[i] - diag_of(A, i) * own[j];
            if (i > 0 || A.cyclic) residual[j] = residual[j] - lower_of(A, i) * *unknown(i > 0 ? i - 1 : n - 1);
            if (i < n - 1 || A.cyclic) residual[j] = residual[j] - upper_of(A, i) * *unknown(i < n - 1 ? i + 1 : 0);
        }
        __syncthreads();
        load(nullptr);
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int i = (int)threadIdx.x + j * FUSED_THREADS;
            if (i < n) *unknown(i) = residual[j];
            else if (i == n && n > FUSED_PARTITION) *unknown(i) = T{};
        }
        if (solve() == FUSED_MUCH_LOST) return false;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int i = (int)threadIdx.x + j * FUSED_THREADS;
            if (i < n) x[i] = own[j] + *unknown(i);
        }
        return true;
    }
};

/** Solve a system that fits into one block's shared memory; block k takes column k of D, with the matrix `next`
 *  elements behind that of block k - 1 (0: one matrix for all). lost: fused_lost; where more is, the solution is
 *  refined, or found anew, carefully. X == D is allowed. */
template <typename T> __global__ void __launch_bounds__(FUSED_THREADS, FUSED_BLOCKS<T>)
    solve_fused(system_of<T> A, int64_t next, const scheme_of<T> scheme, float lost, columns_of<const T> D,
                columns_of<T> X)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    __shared__ unsigned marks[4][FUSED_MARKS];
    level levels[FUSED_LEVELS];
    const int count = fused_levels((int)A.n, A.cyclic, levels), n = (int)A.n;
    A.lower += blockIdx.x * next, A.diag += blockIdx.x * next, A.upper += blockIdx.x * next;
    const T *d = D.data + blockIdx.x * D.ld;
    T *x = X.data + blockIdx.x * X.ld;
    const fused_block<T> block = {A, scheme, lost, (T *)shared_memory, marks, levels, count};
    block.load(d);
    const fused_outcome outcome = block.solve();
    if (__builtin_expect(outcome != FUSED_FINE, 0)) {
        constexpr int WARPS = FUSED_THREADS / WARP, EACH = fused_block<T>::EACH;
        static_assert(FUSED_THREADS * EACH * (6 * sizeof(T) + sizeof(T) / 4) >= FUSED_BYTES,
                      "enough rows for each thread");
        if (outcome == FUSED_MUCH_LOST || !block.refine(d, x))
            solve_block_carefully<T, 1, EACH>(A, {{d, 0}, {}}, {x, 0}, 0, 1, *(parts_of<T, 1, WARPS> *)shared_memory);
        return;
    }
    for (int i = (int)threadIdx.x; i < n; i += FUSED_THREADS) x[i] = *block.unknown(i);
}

#endif
