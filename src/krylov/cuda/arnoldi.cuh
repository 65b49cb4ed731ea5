/* Steps of GMRES on the rows of a matrix, in one cooperative launch: the product, classical Gram-Schmidt, twice, of
 * the new vector against the basis, and the division by its norm. A thread has the same rows in all phases and the new
 * vector's elements in registers; a block's part of the basis stays in its L1 cache. A step is three meetings of all
 * blocks: the projections; those of what is left, and its norm; the new vector, which the next product gathers. The
 * norm after the second projection is that before less what the projection takes (Pythagoras), unless that is so much
 * that digits would cancel. Every block has a copy of the column, adds up the sums of all blocks in the same order, and
 * takes the same steps. For one column. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_ARNOLDI_CUH
#define TRINE_KRYLOV_ARNOLDI_CUH

#include "krylov/cuda/gram_schmidt.cuh"
#include "krylov/cuda/rows_here.cuh"

namespace {

/** The last warp has no rows: one of its threads takes the steps of the machine, while the others make a product. */
constexpr int ARNOLDI_THREADS = 512, ARNOLDI_WARPS = ARNOLDI_THREADS / 32, ARNOLDI_ROWS = ARNOLDI_THREADS - 32;
/** Vectors that scratch has room for beside the new one's own norm. */
constexpr int ARNOLDI_MOST = MOST_BASIS - 1;

struct arnoldi_arguments {
    krylov_parameters parameters;
    krylov_column *column;
    meeting *met;
    double *partials;                /* of all blocks: by turns in one half and in the other */
    decision decides;
    matrix_rows A;
    void *basis[MOST_BASIS];
    const void *from;                /* the first product is A times this */
    void *z;                         /* M V[j + 1] goes there, for the next product; NULL: that is A V[j + 1] */
    const void *diagonal;            /* of M, or of its inverse */
    bool divides;
    int64_t n, chunk_rows;
    int j, steps;                    /* from V[j + 1] on, so many at most */
    int vectors;                     /* that each half of the partial sums has room for */
};
static_assert(sizeof(arnoldi_arguments) <= 4096, "more than a kernel takes with every driver");

/** Rows of a block: of as many blocks as there may be partial sums of a basis. */
int64_t arnoldi_rows(int64_t n)
{
    const int64_t blocks = meeting_chunks(n, LEAST_UNIT), each = (n + blocks - 1) / blocks;
    return (each + 31) / 32 * 32;
}

/** Of a block whose rows of A have no room in its shared memory: products that a warp has at a time. */
template <typename T> constexpr int ARNOLDI_PRODUCTS = sizeof(T) > 8 ? 128 : 256;
template <typename T> constexpr size_t ARNOLDI_PRODUCT_BYTES = (ARNOLDI_WARPS - 1) * ARNOLDI_PRODUCTS<T> * sizeof(T);
constexpr size_t ARNOLDI_SHARED = 100 << 10; /* of rows of A, at most: the L1 cache has the basis */

/** A block's copy of the column, what its steps read and write, and sums. */
template <typename T> struct arnoldi_room {
    static constexpr int PARTS = scalar<T>::is_complex ? 2 : 1;
    krylov_column column;
    krylov_scalar h[MOST_BASIS], sine[MOST_BASIS], g[MOST_BASIS + 1], coefficients[C_NORMALIZE + 1];
    double cosine[MOST_BASIS], takes[MOST_BASIS]; /* |h|^2 of the second projection */
    krylov_sum below, scaled[ARNOLDI_WARPS];
    unsigned seen;          /* blocks that have arrived, and in the upper half those with exponents */
    bool has_exponents;     /* this one */
    double of_warp[PARTS * MOST_BASIS][ARNOLDI_WARPS + 1];
    T minus[MOST_BASIS];
};

/** A block's v^H w again, where it leaves the range of doubles or may be zero by underflow. All threads. */
template <typename T, int EACH> __device__ __noinline__ krylov_sum arnoldi_scaled(arnoldi_room<T> &room,
                                                                                  const T (&v)[EACH],
                                                                                  const T (&w)[EACH])
{
    const krylov_sum sum = warp_dot(v, w);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room.scaled[threadIdx.x / 32] = sum;
    __syncthreads();
    krylov_sum total = room.scaled[0];
    for (int i = 1; i < ARNOLDI_WARPS; i++) total = krylov_sum_add(total, room.scaled[i]);
    return total;
}

/** Column j of R, and whether there is another step. One thread. */
template <typename T> __device__ __noinline__ void arnoldi_rotate(arnoldi_room<T> &room, const krylov_parameters *p,
                                                                  int j)
{
    krylov_gmres_rotate(&room.column, p, j, room.h);
    if (blockIdx.x) return;
    krylov_scalar *const R = krylov_R(&room.column, j);
    for (int k = 0; k <= j; k++) R[k] = room.h[k];
}

template <typename T, int EACH> struct arnoldi_block {
    static constexpr int PARTS = arnoldi_room<T>::PARTS, GROUP = 8;
    const arnoldi_arguments &a;
    arnoldi_room<T> &room;
    const rows_here<T> &A;
    unsigned meetings;
    int64_t begin, end;
    T w[EACH]; /* elements of the new vector, ARNOLDI_ROWS apart; zero behind the end */

    __device__ int64_t row(int e) const
    {
        return (int)threadIdx.x < ARNOLDI_ROWS ? begin + (int)threadIdx.x + e * ARNOLDI_ROWS : end;
    }
    /** Its own rows of V[k], which no other block writes; k beyond the basis: the new vector. */
    __device__ T element(int k, int j, int e) const
    {
        if (k > j) return w[e];
        return row(e) < end ? ((const T *)a.basis[k])[row(e)] : zero_of<T>();
    }
    /** Of a meeting: parts of all vectors' sums, and then exponents, a block after the other. */
    __device__ double *partials(int part, int k) const
    {
        return a.partials + (((meetings & 1) * 3 + part) * a.vectors + k) * (int)gridDim.x;
    }

    /** A x of rows that are not in shared memory: a warp takes the entries of its 32 rows in the order of memory, and
     *  leaves products where the threads of these rows find them. */
    __device__ void multiply_from_memory(const T *x)
    {
        constexpr int TILE_HERE = ARNOLDI_PRODUCTS<T>, EACH_HERE = TILE_HERE / 32;
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        const T *values = (const T *)a.A.values;
        if (warp + 1 == ARNOLDI_WARPS) {
#pragma unroll
            for (int e = 0; e < EACH; e++) w[e] = zero_of<T>();
            return;
        }
        T *const products = A.values + warp * TILE_HERE;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t i = row(e) < end ? row(e) : end, next = i < end ? i + 1 : end;
            const int64_t at = a.A.offset(i), last = a.A.offset(next);
            const int64_t first = __shfl_sync(~0u, (long long)at, 0), stop = __shfl_sync(~0u, (long long)last, 31);
            T sum = zero_of<T>();
            for (int64_t tile = first; tile < stop; tile += TILE_HERE) {
                T value[EACH_HERE];
                int32_t column[EACH_HERE];
#pragma unroll
                for (int k = 0; k < EACH_HERE; k++) {
                    const int64_t entry = tile + lane + 32 * k;
                    if (entry < stop) column[k] = a.A.columns[entry], value[k] = values[entry];
                }
#pragma unroll
                for (int k = 0; k < EACH_HERE; k++)
                    if (tile + lane + 32 * k < stop) value[k] = value[k] * x[column[k]];
#pragma unroll
                for (int k = 0; k < EACH_HERE; k++)
                    if (tile + lane + 32 * k < stop) products[lane + 32 * k] = value[k];
                __syncwarp();
                const int64_t mine = at > tile ? at : tile,
                              mine_ends = last < tile + TILE_HERE ? last : tile + TILE_HERE;
                for (int64_t entry = mine; entry < mine_ends; entry++) sum = sum + products[entry - tile];
                __syncwarp();
            }
            w[e] = sum;
        }
    }

    __device__ void multiply(const T *x)
    {
        if (A.are_here) A.template product<EACH>(row(0), ARNOLDI_ROWS, x, w);
        else multiply_from_memory(x);
    }

    /** The warps' V[k]^H w for `group` vectors from k on; those from `count` on are zero. */
    __device__ void add_group(int k, int j, int count)
    {
        double sum[PARTS * GROUP] = {};
        int first = 0;
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
            if (k + g >= count) break;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const T v = element(k + g, j, e);
                const double xr = first_part(v), zr = first_part(w[e]);
                sum[g] += xr * zr;
                if constexpr (PARTS > 1) {
                    const double xi = second_part(v), zi = second_part(w[e]);
                    sum[g] += xi * zi;
                    sum[GROUP + g] += xr * zi - xi * zr;
                }
            }
        }
        fold<PARTS * GROUP, 16>(sum, &first);
        constexpr int LEFT = FOLDED<PARTS * GROUP>;
#pragma unroll
        for (int i = 0; i < LEFT; i++) {
            const int part = (first + i) / GROUP, at = k + (first + i) % GROUP;
            if (at < count) room.of_warp[part * MOST_BASIS + at][threadIdx.x / 32] = sum[i];
        }
    }

    __device__ void leave(int k, krylov_sum sum)
    {
        const int me = (int)blockIdx.x;
        partials(0, k)[me] = sum.re;
        if constexpr (PARTS > 1) partials(1, k)[me] = sum.im;
        *(long long *)&partials(2, k)[me] = sum.exponent;
        if (sum.exponent) room.has_exponents = true;
    }

    /** Partial sums of V[k]^H w for k < count go to memory. */
    __device__ void project(int j, int first, int count)
    {
        constexpr bool squares_are_safe = sizeof(real_of<T>) < sizeof(double);
        const int me = (int)threadIdx.x;
        for (int k = first; k < count; k += GROUP) add_group(k, j, count);
        __syncthreads();
        krylov_sum total = {0, 0, 0};
        const bool is_mine = me >= first && me < count;
        if (is_mine) {
            for (int i = 0; i < ARNOLDI_WARPS; i++) {
                total.re += room.of_warp[me][i];
                if constexpr (PARTS > 1) total.im += room.of_warp[MOST_BASIS + me][i];
            }
            leave(me, total);
        }
        if constexpr (!squares_are_safe) {
            const bool is_bad = is_mine && !is_safe(total.re, total.im);
            if (me < MOST_BASIS) room.takes[me] = is_bad;
            if (!__syncthreads_or(is_bad)) return;
            for (int k = first; k < count; k++) {
                if (room.takes[k] == 0) continue;
                T v[EACH], mine[EACH];
                for (int e = 0; e < EACH; e++) v[e] = element(k, j, e), mine[e] = w[e];
                const krylov_sum again = arnoldi_scaled(room, v, mine);
                if (me == k) leave(k, again);
            }
        }
    }

    /** All blocks come here. */
    __device__ void meet()
    {
        __syncthreads();
        ++meetings;
        if (threadIdx.x == 0) {
            constexpr unsigned COUNT = 0xffff;
            __threadfence();
            atomicAdd(&a.met->arrived, room.has_exponents ? COUNT + 2 : 1u);
            unsigned seen;
            do seen = *(const volatile unsigned *)&a.met->arrived;
            while ((seen & COUNT) < meetings * gridDim.x);
            __threadfence();
            room.seen = seen;
            room.has_exponents = false;
        }
        __syncthreads();
    }

    /** The warp's sum of all blocks' partial ones, in an order that depends on their number alone. Exponents are looked
     *  at as soon as a block has had one that is not zero; where all are zero that makes no difference. */
    __device__ krylov_sum total(const double *re, const double *im, const double *exponents) const
    {
        constexpr int AT_ONCE = 5; /* under way together; there are no more than MEETING_CHUNKS */
        static_assert(32 * AT_ONCE >= MEETING_CHUNKS, "all blocks");
        const int first = (int)threadIdx.x % 32, blocks = (int)gridDim.x;
        double x[AT_ONCE], y[AT_ONCE] = {};
        krylov_sum sum = {0, 0, 0};
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int i = first + 32 * k;
            x[k] = i < blocks ? __ldcg(re + i) : 0;
            if constexpr (PARTS > 1) y[k] = i < blocks ? __ldcg(im + i) : 0;
        }
        if (room.seen > 0xffff) {
            int64_t mine[AT_ONCE];
            double largest = -1e18;
            for (int k = 0; k < AT_ONCE; k++) {
                const int i = first + 32 * k;
                mine[k] = i < blocks ? (int64_t)__ldcg((const long long *)exponents + i) : 0;
                if (x[k] != 0 || y[k] != 0) largest = fmax(largest, (double)mine[k]);
            }
            largest = warp_max(largest);
            if (largest > -1e18) {
                sum.exponent = (int64_t)largest;
                for (int k = 0; k < AT_ONCE; k++) {
                    if (x[k] == 0 && y[k] == 0) continue;
                    x[k] = krylov_shifted(x[k], mine[k] - sum.exponent);
                    y[k] = krylov_shifted(y[k], mine[k] - sum.exponent);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) sum.re += x[k], sum.im += y[k];
        sum.re = warp_sum(sum.re);
        if constexpr (PARTS > 1) sum.im = warp_sum(sum.im);
        return sum;
    }
    /** They add up what `project` has left. take(k, sum): one thread for each. */
    template <class Take> __device__ void meet_for_sums(int first, int count, Take take)
    {
        const double *const re = partials(0, 0), *const im = partials(1, 0), *const exponents = partials(2, 0);
        meet();
        for (int k = first + (int)threadIdx.x / 32; k < count; k += ARNOLDI_WARPS) {
            const int at = k * (int)gridDim.x;
            const krylov_sum sum = total(re + at, im + at, exponents + at);
            if (threadIdx.x % 32 == 0) take(k, sum);
        }
        __syncthreads();
    }
    __device__ void keep_factor(int k, krylov_scalar value)
    {
        const krylov_scalar minus = krylov_minus(value);
        if constexpr (PARTS > 1) room.minus[k] = {real_of<T>(minus.re), real_of<T>(minus.im)};
        else room.minus[k] = T(minus.re);
    }
    __device__ void subtract(int j)
    {
        constexpr int AT_ONCE = EACH * sizeof(T) <= 16 ? 4 : 2;
        for (int k = 0; k <= j; k += AT_ONCE) {
            T v[AT_ONCE][EACH];
#pragma unroll
            for (int l = 0; l < AT_ONCE; l++)
#pragma unroll
                for (int e = 0; e < EACH; e++) v[l][e] = k + l <= j ? element(k + l, j, e) : zero_of<T>();
#pragma unroll
            for (int l = 0; l < AT_ONCE; l++) {
                if (k + l > j) break;
                const T factor = room.minus[k + l];
#pragma unroll
                for (int e = 0; e < EACH; e++)
                    if (row(e) < end) w[e] = plus_product(w[e], factor, v[l][e]);
            }
        }
    }

    __device__ void store(int j, double factor) const
    {
        const real_of<T> f = real_of<T>(factor);
        T *const to = (T *)a.basis[j + 1], *const z = (T *)a.z;
        const T *const diagonal = (const T *)a.diagonal;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            if (row(e) >= end) continue;
            T v;
            if constexpr (PARTS > 1) v = {f * w[e].x, f * w[e].y};
            else v = f * w[e];
            to[row(e)] = v;
            if (z) z[row(e)] = a.divides ? v / diagonal[row(e)] : v * diagonal[row(e)];
        }
    }

    /** The column's step after V[before + 1], if there is one that has not been taken; x: of the product that is made
     *  meanwhile. False: the column does not run any longer. */
    __device__ bool begin_step(const krylov_parameters *p, int before, int j, const T *x)
    {
        if (threadIdx.x == ARNOLDI_THREADS - 1 && before >= 0) arnoldi_rotate(room, p, before);
        multiply(x);
        project(j, 0, j + 1);
        __syncthreads();
        return room.column.flags & KRYLOV_RUNNING;
    }

    /** V[j + 1], of which begin_step has made the first projections. others: blocks read it. */
    __device__ void take_step(int j, bool others)
    {
        meet_for_sums(0, j + 1, [this](int k, krylov_sum sum) {
            room.h[k] = krylov_sum_value(sum);
            keep_factor(k, room.h[k]);
        });
        subtract(j);
        project(j, 0, j + 2);
        meet_for_sums(0, j + 2, [this, j](int k, krylov_sum sum) {
            const krylov_scalar value = krylov_sum_value(sum);
            if (k > j) {
                room.below = sum;
                return;
            }
            room.h[k] = krylov_add(room.h[k], value);
            room.takes[k] = value.re * value.re + value.im * value.im;
            keep_factor(k, value);
        });
        subtract(j);
        krylov_sum square = room.below;
        double takes = 0;
        for (int k = 0; k <= j; k++) takes += room.takes[k];
        __syncthreads(); /* all have read them */
        if (square.exponent == 0 && takes < TAKES * square.re && is_safe(square.re, 0)) {
            square.re -= takes;
            if (threadIdx.x == 0) room.below = square;
        } else {
            project(j, j + 1, j + 2);
            meet_for_sums(j + 1, j + 2, [this](int, krylov_sum sum) { room.below = sum; });
            square = room.below;
        }
        store(j, 1 / krylov_sum_root(square));
        if (others) meet();
        else __syncthreads();
    }
};

/** All blocks are on the device. */
template <typename T, int EACH> __global__ void __launch_bounds__(ARNOLDI_THREADS, 1)
    arnoldi_steps(const __grid_constant__ arnoldi_arguments a)
{
    __shared__ arnoldi_room<T> room;
    const int me = (int)threadIdx.x;
    krylov_column *const c = a.column;
    copy_column(&room.column, c);
    if (room.column.flags & KRYLOV_RUNNING) {
        krylov_scalar *const coefficients = room.column.coefficients, *const sine = room.column.sine,
                             *const g = room.column.g;
        krylov_sum *const sums = room.column.sums;
        double *const cosine = room.column.cosine;
        if (me < a.j) room.sine[me] = sine[me], room.cosine[me] = cosine[me];
        if (me <= a.j) room.g[me] = g[me];
        __syncthreads();
        if (me == 0) {
            room.has_exponents = false, room.seen = 0;
            room.column.coefficients = room.coefficients, room.column.sums = &room.below;
            room.column.sine = room.sine, room.column.cosine = room.cosine, room.column.g = room.g;
        }
        __syncthreads();
        const int64_t begin = blockIdx.x * a.chunk_rows;
        const int64_t end = begin + a.chunk_rows < a.n ? begin + a.chunk_rows : a.n;
        const rows_here<T> A(a.A, begin, end, dynamic_shared(), ARNOLDI_THREADS);
        arnoldi_block<T, EACH> block = {a, room, A, 0, begin, end, {}};
        krylov_parameters parameters = a.parameters;
        if (blockIdx.x) parameters.history = 0; /* one block writes it */
        const T *from = (const T *)a.from;
        int before = -1;
        for (int j = a.j; j < a.j + a.steps && block.begin_step(&parameters, before, j, from); j++) {
            block.take_step(j, j + 1 < a.j + a.steps);
            from = (const T *)(a.z ? a.z : a.basis[j + 1]);
            before = j;
        }
        if (me == ARNOLDI_THREADS - 1 && before == a.j + a.steps - 1) arnoldi_rotate(room, &parameters, before);
        __syncthreads();
        if (me == 0) {
            room.column.coefficients = coefficients, room.column.sums = sums;
            room.column.sine = sine, room.column.cosine = cosine, room.column.g = g;
            if (atomicAdd(&a.met->left, 1u) == gridDim.x - 1) a.met->arrived = a.met->left = 0;
        }
        __syncthreads();
        if (blockIdx.x) return;
        const int size = room.column.size;
        if (me < size) sine[me] = room.sine[me], cosine[me] = room.cosine[me];
        if (me <= size) g[me] = room.g[me];
        copy_column(c, &room.column);
    }
    if (me == 0 && blockIdx.x == 0) decide_after(a.decides, c);
}

/** Steps from V[j + 1] on, of which the first is that of A x; z NULL or where M V[j + 1] goes, M a diagonal; rows: of
 *  A; shared: bytes of shared memory for them. */
arnoldi_arguments arnoldi_of(const struct krylov_work *w, const struct spmv_rows *rows, int j, int steps, const void *x,
                             void *z, size_t shared)
{
    arnoldi_arguments a = {};
    a.parameters = w->plan->parameters;
    a.column = w->own_columns;
    a.met = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    a.partials = (double *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    a.A = matrix_of(rows);
    for (int k = 0; k <= j + steps; k++) a.basis[k] = w->V[k];
    a.from = x;
    a.z = z;
    if (z) a.diagonal = w->plan->M[0]->diagonal, a.divides = w->plan->M[0]->divides;
    a.n = w->plan->base.n, a.chunk_rows = arnoldi_rows(a.n);
    a.A.room = room_of_rows(trine_dtype_size(w->plan->inner), shared, a.chunk_rows, rows);
    a.j = j, a.steps = steps;
    a.vectors = w->most_sums; /* one more than a basis has before its last step */
    return a;
}

} // namespace

#endif
