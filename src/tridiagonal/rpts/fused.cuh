/* The final stage: a system that fits into one block's shared memory, reduced there by partitions of 8 rows, level by level, down
 * to what one thread solves. */
#ifndef TRINE_RPTS_FUSED_CUH
#define TRINE_RPTS_FUSED_CUH

#include "tridiagonal/rpts/stages.cuh"
#include "tridiagonal/rpts/wide.cuh"

constexpr int FUSED_THREADS = 512;
constexpr int FUSED_PARTITION = 8; /* rows; also the largest system that one thread solves */
constexpr int FUSED_LEVELS = 12;
constexpr size_t FUSED_BYTES = 200 * 1024; /* of shared memory, at most */
constexpr int FUSED_MARKS = 64;            /* words with a bit for each partition of each level */

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
/** Rows with elements of `size` bytes that fit into a block's shared memory: 4 arrays, 9/8 for padding, 4/3 for the coarse levels. */
inline int64_t fused_rows(size_t size, size_t shared_bytes) { return (int64_t)((shared_bytes < FUSED_BYTES ? shared_bytes : FUSED_BYTES) / (6 * size + size / 4)); }

__device__ inline int fused_slot(const level &l, int i) { return l.n <= FUSED_PARTITION ? 1 + i : i + i / FUSED_PARTITION; }

template <typename T> __device__ inline partition_of<T> fused_arrays(T *memory, const level &l, int slot)
{
    T *a = memory + l.offset + slot;
    return {a, a + l.length, a + 2 * l.length, a + 3 * l.length, 0};
}

/** The size of the outermost row in what is left of a partition: row i of it, if its rows are not normalized. */
template <typename T, int NR> __device__ inline real_of<T> part_left(const carried_row<T, NR> &carried, const partition_of<T> &p, int i, bool normalized)
{
    return normalized ? carried.part : carried.part * fmax(fmax(size_of(p.a[i]), size_of(p.b[i])), size_of(p.c[i]));
}
template <typename T, int NR> __device__ inline real_of<T> largest_left(const carried_row<T, NR> &carried)
{
    return fmax(fmax(size_of(carried.spike), size_of(carried.diag)), size_of(carried.right));
}
/** Is it no longer to be seen (rows.cuh)? lost: by how much others may be larger; infinite: never. */
template <typename T, int NR> __device__ inline bool is_lost(const carried_row<T, NR> &carried, real_of<T> part, float lost)
{
    return lost < INFINITY && !(largest_left(carried) < lost * part);
}

/** Row 0 of a partition and the pivot rows both say what x[1] is: do they agree? */
template <typename T> struct row0_check {
    T a, b, c, d;
    __device__ explicit row0_check(const partition_of<T> &p) : a(p.a[0]), b(p.b[0]), c(p.c[0]), d(p.d[0]) {}
    __device__ bool fails(T x1, const interface_of<T, 1> &known, float lost) const
    {
        constexpr real_of<T> rounding = precision_of<real_of<T>>::ROUNDING_UNIT;
        const T before = a * known.before[0], own = b * known.first[0], next = c * x1;
        return lost < INFINITY && !(size_of(d - before - own - next) <= lost * rounding * (size_of(d) + size_of(before) + size_of(own) + size_of(next)));
    }
};

/** n rows from p on; rows -1 and n are there to be made rows of the identity. True if digits may be lost: it is to be done carefully. */
template <typename T> __device__ inline bool solve_direct(const partition_of<T> &p, int n, bool cyclic, const scheme_of<T> &scheme, bool normalized, float lost)
{
    interface_of<T, 1> known = {};
    if (cyclic && n > 1) { /* one partition that is its own neighbour: two rows for x[0] and x[n-1] */
        carried_row<T, 1> down, up;
        reduce_rows(p, n, 1, scheme, down);
        reduce_rows(p, n, -1, scheme, up);
        const bool both_lost = is_lost(down, part_left(down, p, n - 1, normalized), lost) && is_lost(up, part_left(up, p, 0, normalized), lost);
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
template <typename T> __global__ void __launch_bounds__(WARP) solve_by_one_thread(const system_of<T> A, const scheme_of<T> scheme, columns_of<const T> D, columns_of<T> X)
{
    constexpr int LENGTH = WARP + 2;
    __shared__ T memory[4 * LENGTH];
    const int i = (int)threadIdx.x, n = (int)A.n;
    const partition_of<T> p = {memory + 1, memory + LENGTH + 1, memory + 2 * LENGTH + 1, memory + 3 * LENGTH + 1, 0};
    if (i < n) p.a[i] = lower_of(A, i), p.b[i] = diag_of(A, i), p.c[i] = upper_of(A, i), p.d[i] = D.data[i + blockIdx.x * D.ld];
    __syncwarp();
    if (i == 0) solve_direct(p, n, A.cyclic, scheme, false, INFINITY);
    __syncwarp();
    if (i < n) X.data[i + blockIdx.x * X.ld] = p.d[i];
}

/** How much may be lost in a system of n rows whose solve has these options: rows may be exchanged, nothing but zeros count as zero. */
inline float fused_lost(int pivot, double epsilon, int64_t n) { return epsilon > 0 ? INFINITY : pivoting_of(pivot, n, false).lost; }

/** Solve a system that fits into one block's shared memory; block k takes column k of D, with the matrix `next` elements behind
 *  that of block k - 1 (0: one matrix for all). lost: fused_lost; where more is, everything is done once more, carefully. X == D is allowed. */
template <typename T> __global__ void __launch_bounds__(FUSED_THREADS) solve_fused(system_of<T> A, int64_t next, const scheme_of<T> scheme, float lost, columns_of<const T> D, columns_of<T> X)
{
    using R = real_of<T>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    __shared__ unsigned lost_rows[2][FUSED_MARKS]; /* one bit for each partition of each level: its last row, its first row */
    T *memory = (T *)shared_memory;
    level levels[FUSED_LEVELS];
    const int count = fused_levels((int)A.n, A.cyclic, levels), tid = (int)threadIdx.x, n = (int)A.n;
    bool careful = false;
    if (tid < 2 * FUSED_MARKS) lost_rows[tid / FUSED_MARKS][tid % FUSED_MARKS] = 0;
    A.lower += blockIdx.x * next, A.diag += blockIdx.x * next, A.upper += blockIdx.x * next;
    const T *d = D.data + blockIdx.x * D.ld;
    T *x = X.data + blockIdx.x * X.ld;
    const auto solve_carefully_instead = [&] {
        constexpr int WARPS = FUSED_THREADS / WARP, EACH = 64 / sizeof(T);
        static_assert(WARPS * WARP * EACH * (6 * sizeof(T) + sizeof(T) / 4) >= FUSED_BYTES, "enough lanes");
        solve_block_carefully<T, 1, EACH>(A, scheme.pivot, columns_of<const T>{d, 0}, columns_of<T>{x, 0}, 0, 1, *(parts_of<T, 1, WARPS> *)shared_memory);
    };
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
    for (int k = 0, marks = 0; k < count - 1; marks += levels[k++].partitions) {
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
                const R part = part_left(carried, p, upwards ? 0 : m - 1, k > 0), g = reciprocal_approximation(fmax(fmax(part, R(0x1p-40) * largest_left(carried)), precision_of<R>::SMALLEST_NORMAL_NUMBER));
                if (is_lost(carried, part, lost)) atomicOr(&lost_rows[upwards][(marks + q) / WARP], 1u << (marks + q) % WARP);
                out.a[slot] = scaled(upwards ? carried.right : carried.spike, g);
                out.b[slot] = scaled(carried.diag, g);
                out.c[slot] = scaled(upwards ? carried.spike : carried.right, g);
                out.d[slot] = scaled(carried.rhs[0], g);
            } else if (upwards) {
                const int slot = fused_slot(coarse, 2 * q);
                const R g = k > 0 ? R(1) : reciprocal_approximation(fmax(fmax(fmax(size_of(p.a[0]), size_of(p.b[0])), size_of(p.c[0])), precision_of<R>::SMALLEST_NORMAL_NUMBER));
                out.a[slot] = scaled(p.a[0], g), out.b[slot] = scaled(p.b[0], g), out.c[slot] = scaled(p.c[0], g), out.d[slot] = scaled(p.d[0], g);
            }
        }
        __syncthreads();
    }
    if (tid < FUSED_MARKS) careful = lost_rows[0][tid] & lost_rows[1][tid];
    if (tid == 0) careful |= solve_direct(fused_arrays(memory, levels[count - 1], 1), levels[count - 1].n, A.cyclic, scheme, count > 1, lost);
    if (__builtin_expect(__syncthreads_or(careful), 0)) return solve_carefully_instead();
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
            const partition_of<T> p = fused_arrays(memory, fine, q * (FUSED_PARTITION + 1));
            const row0_check<T> row0(p);
            const T x1 = substitute_rows(p, m, scheme, known);
            if (m > 2) careful |= row0.fails(x1, known, lost);
        }
        if (k > 0) __syncthreads();
    }
    if (__builtin_expect(__syncthreads_or(careful), 0)) return solve_carefully_instead();
    const partition_of<T> solution = fused_arrays(memory, levels[0], 0);
    for (int i = tid; i < n; i += FUSED_THREADS) x[i] = solution.d[fused_slot(levels[0], i)];
}

#endif
