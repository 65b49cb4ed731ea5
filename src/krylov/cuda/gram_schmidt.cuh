/* Classical Gram-Schmidt, twice, of V[j + 1] against V[0] to V[j], in four phases: the projections; what is left and
 * its projections; what is left then and its norm; the division by it. Each phase is a pass over the vectors, in which
 * a thread has all vectors' elements of a few rows in registers: so the basis is read three times. Phases of a
 * cooperative launch are divided by meetings of the blocks of a column, of which the last one to come adds up the sums;
 * else each phase is a launch. Where each block has one item the last two phases are one: the norm is that of what the
 * first projection leaves, less what the second one takes (Pythagoras), unless that is so much that digits cancel.
 * Sums are made in an order that depends on the vectors' length and number alone. Names no runtime, so that tests run
 * it on a CPU. */
#ifndef TRINE_KRYLOV_GRAM_SCHMIDT_CUH
#define TRINE_KRYLOV_GRAM_SCHMIDT_CUH

#include "krylov/cuda/program.cuh"

namespace {

enum { PROJECT, PROJECT_AGAIN, MEASURE, NORMALIZE };
/** Of squares: the second projection takes less than a tenth of the vector, so that no digit cancels. */
constexpr double TAKES = 0.01;

struct basis_arguments {
    krylov_parameters parameters;
    krylov_column *columns;
    meeting *meetings;
    krylov_sum *partials; /* of a column: for each vector those of all chunks */
    const void *basis[MOST_BASIS];
    void *w, *z;          /* z NULL: no M */
    const void *diagonal; /* of M, or of its inverse */
    bool divides;
    decision decides;
    int64_t n, stride, items; /* items: a chunk of a column */
    int j, chunks, vectors; /* vectors: that the partial sums of a column have room for */
    int first, last;        /* phases */
};
static_assert(sizeof(basis_arguments) <= 4096, "more than a kernel takes with every driver");

__device__ krylov_sum *partials_of(const basis_arguments &a, int64_t column)
{
    return a.partials + column * a.vectors * a.chunks;
}

/** Blocks know which of their items have a column that runs: at most so many in a launch of several phases. */
constexpr int MOST_ITEMS = 64;

/** Chunks of a column, of several so few that each block has one of all: a column then costs no sums more. */
constexpr int SHARED_COLUMNS = 16;
int64_t chunks_of_column(int64_t n, int64_t unit, int64_t nrhs)
{
    const int64_t chunks = meeting_chunks(n, unit), share = nrhs <= SHARED_COLUMNS ? MEETING_CHUNKS / nrhs : chunks;
    return share < chunks ? share : chunks;
}

/** The shape of a kernel for up to NV vectors: rows a thread, so that it has some 128 bytes or more of loads under
 *  way, and threads, for which there are registers. */
template <typename T, int NV> struct shape {
    static constexpr int PARTS = scalar<T>::is_complex ? 2 : 1;
    static constexpr int WANTED = 128 / (NV * (int)sizeof(T));
    static constexpr int ROWS = WANTED >= 4 ? 4 : WANTED >= 2 ? 2 : (int)sizeof(T) < 8 ? 2 : 1;
    static constexpr int REGISTERS = NV * (2 * PARTS + ROWS * (int)sizeof(T) / 4);
    static constexpr int THREADS = REGISTERS <= 96 ? 512 : 256;
    static constexpr int UNIT = THREADS * ROWS;
};

/** Rows of a thread, one after another: loaded and stored as a whole. */
template <typename T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) pack { T of[N]; };

template <typename T> __device__ T plus_product(T w, T h, T v)
{
    if constexpr (scalar<T>::is_complex) return {w.x + h.x * v.x - h.y * v.y, w.y + h.x * v.y + h.y * v.x};
    else return w + h * v;
}

/* ------------------------------------------------------------------- sums of a block */

/** M sums of all lanes: afterwards v[0], v[1], ... are those from *first on, in each lane some of them. Half of the
 *  sums goes to the other half of the lanes, as long as their number is even. */
template <int M, int BY> __device__ void fold(double *v, int *first)
{
    if constexpr (BY > 0 && M % 2 == 0) {
        const bool is_upper = threadIdx.x & BY;
#pragma unroll
        for (int i = 0; i < M / 2; i++) {
            const double gives = is_upper ? v[i] : v[i + M / 2], keeps = is_upper ? v[i + M / 2] : v[i];
            v[i] = keeps + __shfl_xor_sync(~0u, gives, BY);
        }
        if (is_upper) *first += M / 2;
        fold<M / 2, BY / 2>(v, first);
    } else if constexpr (BY > 0) {
#pragma unroll
        for (int i = 0; i < M; i++) v[i] += __shfl_xor_sync(~0u, v[i], BY);
        fold<M, BY / 2>(v, first);
    }
}
/** How many of M are left in each lane. */
template <int M, int BY = 16> constexpr int FOLDED = M % 2 ? M : FOLDED<M / 2, BY / 2>;
template <int M> constexpr int FOLDED<M, 0> = M;

template <int PARTS, int NV> struct block_sums {
    double of_warp[PARTS * NV][17];
    krylov_sum total[NV];
    krylov_sum scaled[16]; /* of one dot product, of each warp */
    double square_of_warp[16];
};

__device__ bool is_safe(double re, double im)
{
    const double size = fmax(fabs(re), fabs(im));
    return size > 0x1p-900 && size < 0x1p900;
}

/** The chunk's x^H z again, where it leaves the range of doubles or may be zero by underflow. All threads. */
template <typename T, int ROWS> __device__ __noinline__ krylov_sum scaled_chunk(const T *x, const T *z, int64_t n,
                                                                                int64_t unit, int64_t first,
                                                                                int64_t step, krylov_sum *of_warp)
{
    const int warps = (int)blockDim.x / 32;
    krylov_sum sum = {0, 0, 0};
    for (int64_t u = first; u * unit < n; u += step) {
        const int64_t row = u * unit + (int64_t)threadIdx.x * ROWS;
        T xs[ROWS], zs[ROWS];
        for (int i = 0; i < ROWS; i++) {
            xs[i] = row + i < n ? x[row + i] : zero_of<T>();
            zs[i] = row + i < n ? z[row + i] : zero_of<T>();
        }
        sum = krylov_sum_add(sum, warp_dot(xs, zs));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = of_warp[0];
    for (int w = 1; w < warps; w++) sum = krylov_sum_add(sum, of_warp[w]);
    return sum;
}

/* ------------------------------------------------------------------------- a chunk */

template <typename T, int NV> struct chunk_pass {
    using S = shape<T, NV>;
    static constexpr int ROWS = S::ROWS, PARTS = S::PARTS;
    using rows = pack<T, ROWS>;

    const basis_arguments &a;
    int64_t column;
    int chunk;
    krylov_sum *partials; /* of the column */

    __device__ int64_t units() const { return (a.n + S::UNIT - 1) / S::UNIT; }
    __device__ T *w() const { return (T *)a.w + column * a.stride; }
    __device__ const T *basis(int k) const { return (const T *)a.basis[k] + column * a.stride; }

    /** Phases with sums; squares: and the square of the norm, behind the sums. */
    template <int PHASE, bool SQUARES = false>
    __device__ void run(const T *h, block_sums<PARTS, NV> &sums, bool squares = false) const
    {
        constexpr int SUMS = PHASE == MEASURE ? 1 : NV, PIECES = PHASE == MEASURE ? 1 : PARTS;
        const int count = a.j + 1;
        double sum[PIECES * SUMS] = {}, square = 0;
        for (int64_t u = chunk; u < units(); u += a.chunks) {
            const int64_t row = u * S::UNIT + (int64_t)threadIdx.x * ROWS;
            if (row >= a.n) continue;
            rows v[NV], *const to = (rows *)(w() + row);
            rows mine = *to;
#pragma unroll
            for (int k = 0; k < NV; k++)
                if (k < count) v[k] = *(const rows *)(basis(k) + row);
                else v[k] = {};
            if (row + ROWS > a.n) { /* what lies behind the end is any number */
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    if (row + i < a.n) continue;
                    mine.of[i] = zero_of<T>();
#pragma unroll
                    for (int k = 0; k < NV; k++) v[k].of[i] = zero_of<T>();
                }
            }
            if constexpr (PHASE != PROJECT) {
#pragma unroll
                for (int k = 0; k < NV; k++)
                    if (k < count) {
                        const T factor = h[k];
#pragma unroll
                        for (int i = 0; i < ROWS; i++) mine.of[i] = plus_product(mine.of[i], factor, v[k].of[i]);
                    }
                *to = mine;
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const double zr = first_part(mine.of[i]), zi = second_part(mine.of[i]);
                if constexpr (SQUARES) square += scalar<T>::is_complex ? zr * zr + zi * zi : zr * zr;
#pragma unroll
                for (int k = 0; k < SUMS; k++) {
                    const T &other = PHASE == MEASURE ? mine.of[i] : v[k].of[i];
                    const double xr = first_part(other), xi = second_part(other);
                    sum[k] += xr * zr;
                    if constexpr (scalar<T>::is_complex) {
                        sum[k] += xi * zi;
                        if constexpr (PIECES > 1) sum[SUMS + k] += xr * zi - xi * zr;
                    }
                }
            }
        }
        if constexpr (SQUARES) {
            square = warp_sum(square);
            if (threadIdx.x % 32 == 0) sums.square_of_warp[threadIdx.x / 32] = square;
        }
        add<PHASE, SUMS, PIECES>(sum, sums);
        if (!SQUARES || !squares || (int)threadIdx.x != count) return;
        square = 0;
        for (int w = 0; w < S::THREADS / 32; w++) square += sums.square_of_warp[w];
        partials[count * a.chunks + chunk] = {square, 0, 0}; /* outside the range of doubles it is not taken */
    }

    /** Of all threads, to where the last block to arrive finds them. */
    template <int PHASE, int SUMS, int PIECES> __device__ void add(double *sum, block_sums<PARTS, NV> &sums) const
    {
        constexpr bool squares_are_safe = sizeof(real_of<T>) < sizeof(double);
        constexpr int LEFT = FOLDED<PIECES * SUMS>, WARPS_HERE = S::THREADS / 32;
        const int me = (int)threadIdx.x, count = PHASE == MEASURE ? 1 : a.j + 1;
        int first = 0;
        fold<PIECES * SUMS, 16>(sum, &first);
#pragma unroll
        for (int i = 0; i < LEFT; i++) sums.of_warp[first + i][me / 32] = sum[i];
        __syncthreads();
        krylov_sum total = {0, 0, 0};
        if (me < count) {
            for (int w = 0; w < WARPS_HERE; w++) {
                total.re += sums.of_warp[me][w];
                if constexpr (PIECES > 1) total.im += sums.of_warp[SUMS + me][w];
            }
            sums.total[me] = total;
        }
        if constexpr (!squares_are_safe) {
            if (__syncthreads_or(me < count && !is_safe(total.re, total.im)))
                for (int k = 0; k < count; k++) {
                    if (is_safe(sums.total[k].re, sums.total[k].im)) continue;
                    const T *x = PHASE == MEASURE ? w() : basis(k);
                    const krylov_sum again = scaled_chunk<T, ROWS>(x, w(), a.n, S::UNIT, chunk, a.chunks, sums.scaled);
                    if (me == k) total = again;
                }
        }
        if (me < count) partials[me * a.chunks + chunk] = total;
    }

    /** What the second projection leaves, divided by its norm; and M times that. */
    __device__ void finish(const T *h, double factor) const
    {
        const real_of<T> f = real_of<T>(factor);
        for (int64_t u = chunk; u < units(); u += a.chunks) {
            const int64_t row = u * S::UNIT + (int64_t)threadIdx.x * ROWS;
            if (row >= a.n) continue;
            rows v[NV], mine = *(rows *)(w() + row);
#pragma unroll
            for (int k = 0; k < NV; k++)
                if (k <= a.j) v[k] = *(const rows *)(basis(k) + row);
#pragma unroll
            for (int k = 0; k < NV; k++)
                if (k <= a.j) {
                    const T by = h[k];
#pragma unroll
                    for (int i = 0; i < ROWS; i++) mine.of[i] = plus_product(mine.of[i], by, v[k].of[i]);
                }
            store(row, mine, f);
        }
    }

    __device__ void store(int64_t row, rows mine, real_of<T> f) const
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if constexpr (scalar<T>::is_complex) mine.of[i] = {f * mine.of[i].x, f * mine.of[i].y};
            else mine.of[i] = f * mine.of[i];
        *(rows *)(w() + row) = mine;
        if (!a.z) return;
        const T *d = (const T *)a.diagonal + row;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const T entry = row + i < a.n ? d[i] : one_of<T>();
            mine.of[i] = a.divides ? mine.of[i] / entry : mine.of[i] * entry;
        }
        *(rows *)((T *)a.z + column * a.stride + row) = mine;
    }

    __device__ void divide(double factor) const
    {
        const real_of<T> f = real_of<T>(factor);
        for (int64_t u = chunk; u < units(); u += a.chunks) {
            const int64_t row = u * S::UNIT + (int64_t)threadIdx.x * ROWS;
            if (row >= a.n) continue;
            store(row, *(rows *)(w() + row), f);
        }
    }
};

/* ----------------------------------------------------------------- between the phases */

/** True in the block that is the last one of the column's to end a phase. */
__device__ bool is_last_of_meeting(meeting *m, int chunks)
{
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&m->arrived, 1u) == (unsigned)chunks - 1;
    __syncthreads();
    if (is_last) __threadfence();
    return is_last;
}

/** Column j of R in shared memory while it is rotated: a step of many short reads, one after another. */
struct rotated {
    krylov_column column;
    krylov_scalar h[MOST_BASIS], sine[MOST_BASIS];
    double cosine[MOST_BASIS];
};
__device__ void rotate(krylov_column *c, const krylov_parameters *p, int j, rotated &here)
{
    const int me = (int)threadIdx.x;
    krylov_scalar *const h = krylov_R(c, j), *const sine = c->sine;
    double *const cosine = c->cosine;
    if (me <= j) here.h[me] = h[me], here.sine[me] = sine[me], here.cosine[me] = cosine[me];
    copy_column(&here.column, c);
    if (me == 0) {
        here.column.sine = here.sine;
        here.column.cosine = here.cosine;
        krylov_gmres_rotate(&here.column, p, j, here.h);
        here.column.sine = sine;
        here.column.cosine = cosine;
    }
    __syncthreads();
    if (me <= j) h[me] = here.h[me], sine[me] = here.sine[me], cosine[me] = here.cosine[me];
    copy_column(c, &here.column);
}

/** All blocks of the column have ended the phase: the sums, and what the next phase reads. */
__device__ void end_phase(const basis_arguments &a, int64_t column, int phase, rotated &room)
{
    krylov_column *c = &a.columns[column];
    meeting *m = &a.meetings[column];
    const int me = (int)threadIdx.x, count = phase == MEASURE ? 1 : a.j + 1;
    for (int k = me / 32; k < count && phase != NORMALIZE; k += (int)blockDim.x / 32) {
        const krylov_sum sum = add_partials(partials_of(a, column) + k * a.chunks, a.chunks);
        if (me % 32) continue;
        if (phase == MEASURE) c->sums[0] = sum, m->factor = 1 / krylov_sum_root(sum);
        else krylov_gmres_project(c, &a.parameters, a.j, k, phase, sum);
    }
    if (me == 0) m->arrived = 0;
    __threadfence();
    __syncthreads();
    if (phase == NORMALIZE && me == 0) decide_after(a.decides, c);
    if (me == 0) *(volatile unsigned *)&m->passed = phase == a.last ? 0 : (unsigned)phase + 1;
    /* meanwhile the others divide; nobody looks at flags before this block ends that phase, too */
    if (phase == MEASURE) rotate(c, &a.parameters, a.j, room);
}

/* -------------------------------------------------------------------------- the kernel */

template <typename T, int NV, int PHASE>
__device__ void run_items(const basis_arguments &whole, uint64_t active, T *h,
                          block_sums<shape<T, NV>::PARTS, NV> &sums, rotated &room)
{
    int k = 0;
    for (int64_t item = blockIdx.x; item < whole.items; item += gridDim.x, k++) {
        const int64_t column = item / whole.chunks;
        const int me = (int)threadIdx.x;
        if (whole.first < whole.last ? !(active >> k & 1) : !(whole.columns[column].flags & KRYLOV_RUNNING)) {
            if (PHASE == NORMALIZE && me == 0 && item % whole.chunks == 0)
                decide_after(whole.decides, &whole.columns[column]);
            continue;
        }
        const krylov_column *c = &whole.columns[column];
        meeting *m = &whole.meetings[column];
        if (PHASE > whole.first) wait_for_count(&m->passed, PHASE);
        if (PHASE == PROJECT_AGAIN || PHASE == MEASURE) {
            __syncthreads();
            if (me <= whole.j) {
                const krylov_scalar *from = c->coefficients + krylov_pass(&whole.parameters, PHASE - 1) + me;
                const krylov_scalar factor = {__ldcg(&from->re), __ldcg(&from->im)};
                if constexpr (scalar<T>::is_complex) h[me] = {real_of<T>(factor.re), real_of<T>(factor.im)};
                else h[me] = T(factor.re);
            }
            __syncthreads();
        }
        const chunk_pass<T, NV> pass = {whole, column, (int)(item % whole.chunks), partials_of(whole, column)};
        if constexpr (PHASE == NORMALIZE) pass.divide(__ldcg(&m->factor));
        else pass.template run<PHASE>(h, sums);
        if (is_last_of_meeting(m, whole.chunks)) end_phase(whole, column, PHASE, room);
    }
}

/** Of all blocks: 1 / norm; squares of what the second projection takes, and of the vector before, or -1. */
struct shared_norm { double factor, takes[MOST_BASIS], square; };

/** All blocks of the column come here; each one then adds up the sums of all, in one order, so that none waits for what
 *  another one makes of them. The first one keeps them. */
template <typename T> __device__ void share_sums(const basis_arguments &a, int64_t column, bool is_first, int phase,
                                                 bool squares, const krylov_sum *partials, T *h, shared_norm &norm)
{
    krylov_column *c = &a.columns[column];
    meeting *m = &a.meetings[column];
    const int me = (int)threadIdx.x, count = phase == MEASURE ? 1 : a.j + 1 + squares;
    __threadfence();
    __syncthreads();
    if (me == 0) {
        atomicAdd(&m->arrived, 1u);
        while (*(const volatile unsigned *)&m->arrived < (unsigned)((phase + 1) * a.chunks)) {}
        __threadfence();
    }
    __syncthreads();
    for (int k = me / 32; k < count; k += (int)blockDim.x / 32) {
        const krylov_sum sum = add_partials(partials + k * a.chunks, a.chunks);
        if (me % 32) continue;
        if (phase == MEASURE) {
            norm.factor = 1 / krylov_sum_root(sum);
            if (is_first) c->sums[0] = sum;
            continue;
        }
        if (k > a.j) {
            norm.square = sum.re;
            continue;
        }
        const krylov_scalar minus = krylov_minus(krylov_sum_value(sum));
        norm.takes[k] = minus.re * minus.re + minus.im * minus.im;
        if constexpr (scalar<T>::is_complex) h[k] = {real_of<T>(minus.re), real_of<T>(minus.im)};
        else h[k] = T(minus.re);
        if (is_first) krylov_gmres_project(c, &a.parameters, a.j, k, phase, sum);
    }
    __syncthreads();
}

/** All phases, where every block has one item. */
template <typename T, int NV>
__device__ void run_one_item(const basis_arguments &a, T *h, block_sums<shape<T, NV>::PARTS, NV> &sums, rotated &room)
{
    __shared__ shared_norm norm;
    const bool squares = a.j + 1 < a.vectors; /* is there room for one sum more? */
    const int64_t column = blockIdx.x / a.chunks;
    const int chunk = (int)(blockIdx.x % a.chunks), me = (int)threadIdx.x;
    krylov_column *c = &a.columns[column];
    meeting *m = &a.meetings[column];
    if (!(c->flags & KRYLOV_RUNNING)) { /* flags change when all blocks have met */
        if (me == 0 && chunk == 0) decide_after(a.decides, c);
        return;
    }
    /* partial sums by turns in two places: a block may be slow to read the last ones */
    krylov_sum *const one = partials_of(a, column), *const other = one + a.items * a.vectors;
    const chunk_pass<T, NV> pass = {a, column, chunk, one}, next = {a, column, chunk, other};
    pass.template run<PROJECT>(h, sums);
    share_sums(a, column, chunk == 0, PROJECT, false, one, h, norm);
    next.template run<PROJECT_AGAIN, true>(h, sums, squares);
    share_sums(a, column, chunk == 0, PROJECT_AGAIN, squares, other, h, norm);
    double left = squares ? norm.square : -1, takes = 0;
    for (int k = 0; k <= a.j; k++) takes += norm.takes[k];
    if (is_safe(left, 0) && takes < TAKES * left) {
        left -= takes;
        pass.finish(h, 1 / sqrt(left));
        if (me == 0 && chunk == 0) c->sums[0] = {left, 0, 0};
    } else {
        pass.template run<MEASURE>(h, sums);
        share_sums(a, column, chunk == 0, MEASURE, false, one, h, norm);
        pass.divide(norm.factor);
    }
    if (me == 0 && atomicAdd(&m->left, 1u) == (unsigned)a.chunks - 1) m->arrived = m->left = 0;
    if (chunk) return;
    rotate(c, &a.parameters, a.j, room);
    if (me == 0) decide_after(a.decides, c);
}

/** Blocks have the items gridDim apart. In a launch of several phases all blocks are on the device. */
template <typename T, int NV>
__global__ void __launch_bounds__((shape<T, NV>::THREADS), 1) orthogonalize(const __grid_constant__ basis_arguments a)
{
    __shared__ block_sums<shape<T, NV>::PARTS, NV> sums;
    __shared__ T h[NV];
    __shared__ rotated room;
    uint64_t active = 0;
    int k = 0;
    if (a.first == PROJECT && a.last == NORMALIZE && a.items == gridDim.x) return run_one_item<T, NV>(a, h, sums, room);
    /* flags change when all blocks have ended a phase with an item of the column, this one too */
    for (int64_t item = blockIdx.x; item < a.items && k < MOST_ITEMS; item += gridDim.x, k++)
        active |= (uint64_t)((a.columns[item / a.chunks].flags & KRYLOV_RUNNING) != 0) << k;
    if (a.first <= PROJECT) run_items<T, NV, PROJECT>(a, active, h, sums, room);
    if (a.first <= PROJECT_AGAIN && a.last >= PROJECT_AGAIN) run_items<T, NV, PROJECT_AGAIN>(a, active, h, sums, room);
    if (a.first <= MEASURE && a.last >= MEASURE) run_items<T, NV, MEASURE>(a, active, h, sums, room);
    if (a.last == NORMALIZE) run_items<T, NV, NORMALIZE>(a, active, h, sums, room);
}

/* ----------------------------------------------------------------------------- launches */

/** Vectors of the kernel for `count` of them; 0: there is none. More double complex ones find no registers. */
int kernel_vectors(trine_dtype t, int count)
{
    for (int nv : {4, 8, 12, 16, 20, 32})
        if (count <= nv) return t == TRINE_Z && nv > 20 ? 0 : nv;
    return 0;
}

/** For V[j + 1], in all phases; a.chunks and a.items are the kernel's. */
basis_arguments basis_of(const struct krylov_work *w, int j, void *z)
{
    basis_arguments a = {};
    a.parameters = w->plan->parameters;
    a.columns = w->own_columns;
    a.meetings = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    a.partials = (krylov_sum *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    for (int k = 0; k <= j; k++) a.basis[k] = w->V[k];
    a.w = w->V[j + 1];
    a.z = z;
    if (z) a.diagonal = w->plan->M[0]->diagonal, a.divides = w->plan->M[0]->divides;
    a.n = w->plan->base.n, a.stride = w->stride;
    a.j = j;
    a.vectors = w->most_sums < MOST_BASIS ? w->most_sums : MOST_BASIS;
    a.first = PROJECT, a.last = NORMALIZE;
    return a;
}
template <typename T, int NV> void set_items(basis_arguments *a, int64_t nrhs)
{
    a->chunks = (int)chunks_of_column(a->n, shape<T, NV>::UNIT, nrhs);
    a->items = nrhs * a->chunks;
}

} // namespace

#endif
