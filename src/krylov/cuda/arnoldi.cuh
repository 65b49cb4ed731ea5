/* Steps of GMRES on the rows of a matrix, in one cooperative launch: the product, classical Gram-Schmidt, twice, of
 * the new vector against the basis, and the division by its norm. A thread has the same rows in all phases and the new
 * vector's elements in registers; a block's part of the basis stays in its L1 cache. A step is three meetings of all
 * blocks: the projections; those of what is left, and its norm; the new vector, which the next product gathers. The
 * norm after the second projection is that before less what the projection takes (Pythagoras), unless that is so much
 * that digits would cancel. Every block has a copy of the column, adds up the sums of all blocks in the same order, and
 * takes the same steps. For one column. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_ARNOLDI_CUH
#define TRINE_KRYLOV_ARNOLDI_CUH

#include "krylov/cuda/conjugate.cuh"
#include "krylov/cuda/gram_schmidt.cuh"

namespace {

constexpr int ARNOLDI_THREADS = 512, ARNOLDI_WARPS = ARNOLDI_THREADS / 32;
/** Vectors that scratch has room for beside the new one's own norm. */
constexpr int ARNOLDI_MOST = MOST_BASIS - 1;
/** Squares: the second projection takes less than a tenth of the vector, so that no digit cancels. */
constexpr double ARNOLDI_TAKES = 0.01;

struct arnoldi_arguments {
    krylov_parameters parameters;
    krylov_column *column;
    meeting *met;
    krylov_sum *partials;            /* of all blocks: by turns in one half and in the other */
    decision decides;
    const void *offsets;
    bool wide;                       /* offsets have 64 bits */
    const int32_t *columns;
    const void *values;
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

/** A block's copy of the column, what its steps read and write, and sums. */
template <typename T> struct arnoldi_room {
    static constexpr int PARTS = scalar<T>::is_complex ? 2 : 1;
    krylov_column column;
    krylov_scalar h[MOST_BASIS], sine[MOST_BASIS], g[MOST_BASIS + 1], coefficients[C_NORMALIZE + 1];
    double cosine[MOST_BASIS], takes[MOST_BASIS]; /* |h|^2 of the second projection */
    krylov_sum below, scaled[ARNOLDI_WARPS];
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
    unsigned meetings;
    int64_t begin, end;
    T w[EACH]; /* elements of the new vector, ARNOLDI_THREADS rows apart; zero behind the end */

    __device__ int64_t row(int e) const { return begin + (int)threadIdx.x + e * ARNOLDI_THREADS; }
    /** Its own rows of V[k], which no other block writes; k beyond the basis: the new vector. */
    __device__ T element(int k, int j, int e) const
    {
        if (k > j) return w[e];
        return row(e) < end ? ((const T *)a.basis[k])[row(e)] : zero_of<T>();
    }
    __device__ krylov_sum *partials() const
    {
        return a.partials + (meetings & 1) * a.vectors * (int)gridDim.x;
    }

    __device__ T product(const T *x, int64_t i) const
    {
        constexpr int AT_ONCE = CONJUGATE_AT_ONCE;
        const T *values = (const T *)a.values;
        const int64_t first = a.wide ? ((const int64_t *)a.offsets)[i] : ((const int32_t *)a.offsets)[i],
                      last = a.wide ? ((const int64_t *)a.offsets)[i + 1] : ((const int32_t *)a.offsets)[i + 1];
        T sum = zero_of<T>();
        for (int64_t k = first; k < last; k += AT_ONCE) {
            T value[AT_ONCE], of_x[AT_ONCE];
            int32_t column[AT_ONCE];
#pragma unroll
            for (int e = 0; e < AT_ONCE; e++)
                if (k + e < last) column[e] = a.columns[k + e], value[e] = values[k + e];
#pragma unroll
            for (int e = 0; e < AT_ONCE; e++)
                if (k + e < last) of_x[e] = load_shared(x + column[e]);
#pragma unroll
            for (int e = 0; e < AT_ONCE; e++)
                if (k + e < last) sum = sum + value[e] * of_x[e];
        }
        return sum;
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

    /** Partial sums of V[k]^H w for k < count go to memory. */
    __device__ void project(int j, int first, int count)
    {
        constexpr bool squares_are_safe = sizeof(real_of<T>) < sizeof(double);
        const int me = (int)threadIdx.x;
        krylov_sum *const to = partials();
        for (int k = first; k < count; k += GROUP) add_group(k, j, count);
        __syncthreads();
        krylov_sum total = {0, 0, 0};
        const bool is_mine = me >= first && me < count;
        if (is_mine) {
            for (int i = 0; i < ARNOLDI_WARPS; i++) {
                total.re += room.of_warp[me][i];
                if constexpr (PARTS > 1) total.im += room.of_warp[MOST_BASIS + me][i];
            }
            to[me * (int)gridDim.x + (int)blockIdx.x] = total;
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
                if (me == k) to[me * (int)gridDim.x + (int)blockIdx.x] = again;
            }
        }
    }

    /** All blocks come here; meanwhile one thread of each does something else. */
    template <class Meanwhile> __device__ void meet(Meanwhile meanwhile)
    {
        __syncthreads();
        ++meetings;
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&a.met->arrived, 1u);
            while (*(const volatile unsigned *)&a.met->arrived < meetings * gridDim.x) {}
            __threadfence();
        } else if (threadIdx.x == ARNOLDI_THREADS - 1) {
            meanwhile();
        }
        __syncthreads();
    }
    /** They add up what `project` has left. take(k, sum): one thread for each. */
    template <class Take> __device__ void meet_for_sums(int first, int count, Take take)
    {
        const krylov_sum *const from = partials();
        meet([] {});
        for (int k = first + (int)threadIdx.x / 32; k < count; k += ARNOLDI_WARPS) {
            const krylov_sum sum = add_partials(from + k * (int)gridDim.x, (int)gridDim.x);
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
        for (int k = 0; k <= j; k++) {
            const T factor = room.minus[k];
#pragma unroll
            for (int e = 0; e < EACH; e++)
                if (row(e) < end) w[e] = plus_product(w[e], factor, element(k, j, e));
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

    /** V[j + 1]. */
    __device__ void take_step(const krylov_parameters *p, int j, const T *from)
    {
#pragma unroll
        for (int e = 0; e < EACH; e++) w[e] = row(e) < end ? product(from, row(e)) : zero_of<T>();
        project(j, 0, j + 1);
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
        if (square.exponent == 0 && takes < ARNOLDI_TAKES * square.re && is_safe(square.re, 0)) {
            square.re -= takes;
        } else {
            __syncthreads(); /* all have read what the sums of before were */
            project(j, j + 1, j + 2);
            meet_for_sums(j + 1, j + 2, [this](int, krylov_sum sum) { room.below = sum; });
            square = room.below;
        }
        store(j, 1 / krylov_sum_root(square));
        meet([=] {
            room.below = square;
            arnoldi_rotate(room, p, j);
        });
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
            room.column.coefficients = room.coefficients, room.column.sums = &room.below;
            room.column.sine = room.sine, room.column.cosine = room.cosine, room.column.g = room.g;
        }
        __syncthreads();
        const int64_t begin = blockIdx.x * a.chunk_rows;
        arnoldi_block<T, EACH> block = {a, room, 0, begin, begin + a.chunk_rows < a.n ? begin + a.chunk_rows : a.n, {}};
        krylov_parameters parameters = a.parameters;
        if (blockIdx.x) parameters.history = 0; /* one block writes it */
        const T *from = (const T *)a.from;
        for (int j = a.j; j < a.j + a.steps && room.column.flags & KRYLOV_RUNNING; j++) {
            block.take_step(&parameters, j, from);
            from = (const T *)(a.z ? a.z : a.basis[j + 1]);
        }
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
 *  A. */
arnoldi_arguments arnoldi_of(const struct krylov_work *w, const struct spmv_rows *rows, int j, int steps, const void *x,
                             void *z)
{
    arnoldi_arguments a = {};
    a.parameters = w->plan->parameters;
    a.column = w->own_columns;
    a.met = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    a.partials = (krylov_sum *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    a.offsets = rows->offsets, a.wide = rows->offset_bits == 64;
    a.columns = rows->columns, a.values = rows->values;
    for (int k = 0; k <= j + steps; k++) a.basis[k] = w->V[k];
    a.from = x;
    a.z = z;
    if (z) a.diagonal = w->plan->M[0]->diagonal, a.divides = w->plan->M[0]->divides;
    a.n = w->plan->base.n, a.chunk_rows = arnoldi_rows(a.n);
    a.j = j, a.steps = steps;
    a.vectors = w->most_sums; /* one more than a basis has before its last step */
    return a;
}

} // namespace

#endif
