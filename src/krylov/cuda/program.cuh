/* Programs on a GPU: the kernel, and what it is given. A program goes to it by value, as operations that each thread
 * interprets for its elements of a tile: a vector that is written stays in registers until another one is, so that a
 * program is one pass over memory. Sums are made in an order that depends on the vectors' length alone, and the last
 * block of a column to end adds up those of all and takes the step that follows: no kernel more, and nothing for the
 * host to read. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_PROGRAM_CUH
#define TRINE_KRYLOV_PROGRAM_CUH

#include "core/gpu_precision.cuh"
#include "krylov/common/steps.h"
#include "krylov/krylov.h"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32, EACH = 4, TILE = THREADS * EACH;
/* Blocks for a column: as many as a large device holds, and few enough for their sums to be added by one. */
constexpr int MOST_CHUNKS = 512;
/* Of a launch: what fits into 4 KB of arguments. Longer programs are several launches. */
constexpr int MOST_OPERATIONS = 64;

/* ------------------------------------------------------------------- launches */

struct operation {
    void *y;
    const void *x, *z;
    int a, b;  /* of a dot: its sum, and which one of the launch it is */
    int need;
    uint16_t flags;
    bool is_dot, from_other, is_diagonal, divides;
    bool begins_four; /* it and the three after it: y := y + a_k x_k, or x_k^H z, with one y or z */
};

/** Of the blocks of a column, in launches of several passes. */
struct meeting {
    unsigned arrived, passed; /* blocks that have ended a phase; phases whose sums are there */
    unsigned run, left;       /* passes of programs that are done, of all launches of several */
    double factor;            /* 1 / norm of the new vector */
};
/** What the last launch of a loop's body does: decides whether there is another body, as soon as all columns have told
 *  it whether they run. */
struct decision {
    uint64_t condition, taken;     /* of the next body, and of this one if that is another; 0: not here */
    unsigned long long *decisions; /* and the other counters */
    unsigned long long most;
    int64_t columns;
};

/** A pass of a launch: operations up to `end`. */
struct pass_arguments {
    int end, dots;
    unsigned flags;
    krylov_step then;
    int j;
};

struct program_arguments {
    operation operations[MOST_OPERATIONS];
    pass_arguments pass[KRYLOV_MOST_PASSES];
    krylov_parameters parameters;
    krylov_column *columns;
    krylov_sum *partials; /* of a column: for each dot those of all chunks */
    unsigned *arrived;    /* blocks of each column */
    meeting *meetings;
    decision decides;
    int64_t n, stride, chunk_rows;
    int passes, most_dots, chunks;
};
static_assert(sizeof(program_arguments) <= 4096, "more than a kernel takes with every driver");

int64_t chunk_rows(int64_t n)
{
    const int64_t tiles = (n + TILE - 1) / TILE, each = (tiles + MOST_CHUNKS - 1) / MOST_CHUNKS;
    return (each ? each : 1) * TILE;
}
int64_t chunk_count(int64_t n) { return (n + chunk_rows(n) - 1) / chunk_rows(n); }
int most_dots(int sums) { return sums < MOST_OPERATIONS ? sums : MOST_OPERATIONS; }

/** Vectors of a basis that gram_schmidt.cuh takes, and chunks of rows whose sums are added apart: a block on each
 *  multiprocessor of a large device. */
constexpr int MOST_BASIS = 32, MEETING_CHUNKS = 132, LEAST_UNIT = 256;
int64_t meeting_chunks(int64_t n, int64_t unit)
{
    const int64_t units = (n + unit - 1) / unit;
    return units < MEETING_CHUNKS ? units : MEETING_CHUNKS;
}

/* Scratch: counters, of each column and those of loop.cu, meetings, then partial sums. */
size_t counters_at(int64_t nrhs) { return op_padded((size_t)nrhs * sizeof(unsigned)); }
size_t meetings_at(int64_t nrhs) { return counters_at(nrhs) + OP_ALIGNMENT; }
size_t counter_bytes(int64_t nrhs) { return meetings_at(nrhs) + op_padded((size_t)nrhs * sizeof(meeting)); }
size_t scratch_bytes(const struct trine_krylov_s *plan, int64_t nrhs, int sums)
{
    const int64_t of_programs = most_dots(sums) * chunk_count(plan->base.n),
                  of_a_basis = 2 * (sums < MOST_BASIS ? sums : MOST_BASIS) * meeting_chunks(plan->base.n, LEAST_UNIT);
    const int64_t of_steps = plan->parameters.method == TRINE_KRYLOV_CG ? 4 * MEETING_CHUNKS : 0; /* conjugate.cuh */
    const int64_t of_both = of_programs > of_a_basis ? of_programs : of_a_basis;
    return counter_bytes(nrhs) + (size_t)(nrhs * (of_both > of_steps ? of_both : of_steps)) * sizeof(krylov_sum);
}

/** Of a solve. */
enum { DECISIONS, TURNS, REPORTS, COUNTERS };
unsigned long long *counters_of(const struct krylov_work *w)
{
    return (unsigned long long *)((char *)w->scratch + counters_at(w->base.max_nrhs));
}
/** No solve decides so often: what goes round all the same ends here, and is told. */
uint64_t most_decisions(const struct krylov_work *w)
{
    const uint64_t of_a_column = 6 * (uint64_t)w->plan->parameters.max_steps + 64, most = UINT64_MAX / 8;
    return of_a_column < most / (uint64_t)w->nrhs ? of_a_column * (uint64_t)w->nrhs : most;
}

/** So. */
__device__ void end_too_late(krylov_column *c)
{
    krylov_choose_x(c, INFINITY);
    krylov_end(c, TRINE_OUTCOME_MAX_ITERATIONS);
}
/** One thread of each column. Where no runtime is named, a test decides. */
__device__ void decide_after(const decision &d, krylov_column *c)
{
    if (!d.condition) return;
    const bool is_over = *(volatile unsigned long long *)&d.decisions[DECISIONS] >= d.most,
               runs = c->flags & KRYLOV_RUNNING;
    if (is_over && runs) end_too_late(c);
#ifdef TRINE_CORE_GPU_CONDITION_CUH
    unsigned long long reports = 1ull << 32 | (runs && !is_over);
    if (d.columns > 1) reports += atomicAdd(&d.decisions[REPORTS], reports);
    if ((int64_t)(reports >> 32) < d.columns) return;
    d.decisions[REPORTS] = 0;
    d.decisions[DECISIONS]++;
    if (d.taken) set_condition(d.taken, false);
    set_condition(d.condition, (uint32_t)reports != 0);
#endif
}
/** For the last launch of a body. */
decision decision_of(const struct krylov_work *w, bool ends_body)
{
    if (!w->records || !ends_body) return {};
    return {w->condition, w->taken, counters_of(w), most_decisions(w), w->nrhs};
}

/* ------------------------------------------------------------------ arithmetic */

/** a x + b z, without z if there is none. A real factor leaves infinite parts as they are. */
template <typename T> __device__ T combined(krylov_scalar a, T x, krylov_scalar b, T z, bool has_z)
{
    using R = real_of<T>;
    const R s = R(a.re), t = R(b.re);
    if constexpr (scalar<T>::is_complex) {
        const R u = R(a.im), v = R(b.im);
        if (u == 0 && v == 0) return has_z ? T{s * x.x + t * z.x, s * x.y + t * z.y} : T{s * x.x, s * x.y};
        const T of_x = {s * x.x - u * x.y, s * x.y + u * x.x};
        return has_z ? of_x + T{t * z.x - v * z.y, t * z.y + v * z.x} : of_x;
    } else {
        return has_z ? s * x + t * z : s * x;
    }
}

/** The same with x of the other precision, a real a, and b = 1: the product is made in the wider of the two. */
template <typename T, typename X> __device__ T combined_other(double a, X x, T z)
{
    using R = real_of<T>;
    if constexpr (scalar<T>::is_complex) return T{R(a * double(x.x) + double(z.x)), R(a * double(x.y) + double(z.y))};
    else return R(a * double(x) + double(z));
}

__device__ double warp_sum(double a)
{
    for (int by = 16; by; by /= 2) a += __shfl_xor_sync(~0u, a, by);
    return a;
}
__device__ double warp_max(double a)
{
    for (int by = 16; by; by /= 2) a = fmax(a, __shfl_xor_sync(~0u, a, by));
    return a;
}

template <typename T> __device__ double first_part(T a)
{
    if constexpr (scalar<T>::is_complex) return double(a.x);
    else return double(a);
}
template <typename T> __device__ double second_part(T a)
{
    if constexpr (scalar<T>::is_complex) return double(a.y);
    else return 0;
}

/** Exponent of the warp's largest part, as frexp has it; *is_finite becomes false where one is not. */
template <typename T, int N> __device__ int largest_exponent(const T (&x)[N], bool *is_finite)
{
    double largest = 0;
    int e = 0;
    bool mine = true;
    for (int k = 0; k < N; k++) {
        mine = mine && isfinite(first_part(x[k])) && isfinite(second_part(x[k]));
        largest = fmax(largest, fmax(fabs(first_part(x[k])), fabs(second_part(x[k]))));
    }
    *is_finite = __all_sync(~0u, mine) && *is_finite;
    frexp(warp_max(largest), &e);
    return e;
}

/** x^H z of the warp where products leave the range of doubles: of both scaled by powers of two. */
template <typename T, int N> __device__ __noinline__ krylov_sum scaled_dot(const T (&x)[N], const T (&z)[N])
{
    bool is_finite = true;
    const int ex = largest_exponent(x, &is_finite), ez = largest_exponent(z, &is_finite);
    if (!is_finite) return {NAN, NAN, 0};
    double re = 0, im = 0;
    for (int k = 0; k < N; k++) {
        const double xr = krylov_shifted(first_part(x[k]), -ex), xi = krylov_shifted(second_part(x[k]), -ex);
        const double zr = krylov_shifted(first_part(z[k]), -ez), zi = krylov_shifted(second_part(z[k]), -ez);
        re += xr * zr + xi * zi;
        im += xr * zi - xi * zr;
    }
    return {warp_sum(re), warp_sum(im), int64_t(ex) + ez};
}

/** Is there a product that is not zero by a factor? */
template <typename T, int N> __device__ bool have_products(const T (&x)[N], const T (&z)[N])
{
    bool any = false;
    for (int k = 0; k < N; k++)
        any = any ||
              ((first_part(x[k]) != 0 || second_part(x[k]) != 0) && (first_part(z[k]) != 0 || second_part(z[k]) != 0));
    return any;
}

/** x^H z of the warp, in double; all lanes have it. */
template <typename T, int N> __device__ krylov_sum warp_dot(const T (&x)[N], const T (&z)[N])
{
    constexpr bool squares_are_safe = sizeof(real_of<T>) < sizeof(double);
    double re = 0, im = 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
        re += first_part(x[k]) * first_part(z[k]);
        if constexpr (scalar<T>::is_complex) {
            re += second_part(x[k]) * second_part(z[k]);
            im += first_part(x[k]) * second_part(z[k]) - second_part(x[k]) * first_part(z[k]);
        }
    }
    re = warp_sum(re);
    if constexpr (scalar<T>::is_complex) im = warp_sum(im);
    const double size = fmax(fabs(re), fabs(im));
    if (squares_are_safe || (size > 0x1p-900 && size < 0x1p900)) return {re, im, 0};
    if (re == 0 && im == 0 && !__any_sync(~0u, have_products(x, z))) return {0, 0, 0};
    return scaled_dot(x, z);
}

/* ------------------------------------------------------------------ operations */

struct coefficients { krylov_scalar a, b; };

/** A thread's elements of a tile, THREADS apart. What lies behind the end is zero, and not written. */
template <typename T> struct elements {
    int64_t at;   /* of the first, from the beginning of a vector of all columns */
    int64_t row;  /* its row */
    int64_t left; /* from the first on */
    T value[EACH];
    const T *held; /* whose elements they are */
    bool changed;  /* and differ from those in memory */

    template <typename X> __device__ void load_from(const X *first, X (&to)[EACH]) const
    {
#pragma unroll
        for (int k = 0; k < EACH; k++) to[k] = k * THREADS < left ? first[k * THREADS] : zero_of<X>();
    }
    template <typename X> __device__ void load(const X *x, X (&to)[EACH]) const { load_from(x + at, to); }
    __device__ void read(const void *x, T (&to)[EACH]) const
    {
        if (x != held) {
            load(static_cast<const T *>(x), to);
        } else {
#pragma unroll
            for (int k = 0; k < EACH; k++) to[k] = value[k];
        }
    }
    __device__ void flush()
    {
        if (!changed) return;
        T *y = const_cast<T *>(held);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (k * THREADS < left) y[at + k * THREADS] = value[k];
        changed = false;
    }
    __device__ void hold(const void *x)
    {
        if (x == held) return;
        flush();
        held = static_cast<const T *>(x);
        load(held, value);
    }
    __device__ void become(const void *y, const T (&from)[EACH])
    {
        if (y != held) flush();
        held = static_cast<const T *>(y);
        changed = true;
#pragma unroll
        for (int k = 0; k < EACH; k++) value[k] = from[k];
    }
};

__device__ void add_to(krylov_sum *sum, krylov_sum more)
{
    if (threadIdx.x % 32 == 0) *sum = krylov_sum_add(*sum, more);
}

/** Four at once read and write y or z a quarter as often, and have the loads of four vectors in flight. */
template <typename T> __device__ void run_four(const operation *o, const coefficients *c, elements<T> &e,
                                               krylov_sum (*sums)[WARPS])
{
    const krylov_scalar one = krylov_real(1);
    T x[4][EACH];
    e.hold(o->z);
#pragma unroll
    for (int l = 0; l < 4; l++) e.load(static_cast<const T *>(o[l].x), x[l]);
    if (!o->is_dot) {
#pragma unroll
        for (int l = 0; l < 4; l++)
#pragma unroll
            for (int k = 0; k < EACH; k++) e.value[k] = combined(c[l].a, x[l][k], one, e.value[k], true);
        e.changed = true;
        return;
    }
#pragma unroll
    for (int l = 0; l < 4; l++) add_to(&sums[o[l].b][threadIdx.x / 32], warp_dot(x[l], e.value));
}

template <typename T> __device__ void run_one(const operation *o, const coefficients *c, elements<T> &e,
                                              krylov_sum (*sums)[WARPS])
{
    using X = typename other_precision<T>::type;
    T x[EACH], z[EACH] = {};
    if (o->is_dot) {
        e.hold(o->z);
        e.read(o->x, x);
        add_to(&sums[o->b][threadIdx.x / 32], warp_dot(x, e.value));
        return;
    }
    if (o->is_diagonal) {
        e.load_from(static_cast<const T *>(o->z) + e.row, z); /* one for all columns */
        e.read(o->x, x);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            x[k] = k * THREADS >= e.left ? zero_of<T>() : o->divides ? x[k] / z[k] : x[k] * z[k];
        e.become(o->y, x);
        return;
    }
    if (o->a == C_ZERO) {
        e.become(o->y, z);
        return;
    }
    if (o->z) e.read(o->z, z);
    if (o->from_other) {
        X other[EACH];
        e.load(static_cast<const X *>(o->x), other);
#pragma unroll
        for (int k = 0; k < EACH; k++) x[k] = combined_other<T, X>(c->a.re, other[k], z[k]);
    } else {
        e.read(o->x, x);
#pragma unroll
        for (int k = 0; k < EACH; k++) x[k] = combined(c->a, x[k], c->b, z[k], o->z != nullptr);
    }
    e.become(o->y, x);
}

__device__ bool is_wanted(const operation &o, const krylov_column *c)
{
    return c->size > o.need && (c->flags & o.flags) == o.flags;
}

__device__ __noinline__ void take_step(krylov_step step, krylov_column *c, const krylov_parameters *p, int j)
{
    krylov_take_step(step, c, p, j);
}

/** Partial sums of all chunks, added in an order that depends on their number alone; the warp's lane 0 has it. */
__device__ krylov_sum add_partials(const krylov_sum *partials, int count)
{
    constexpr int AT_ONCE = 5; /* under way together */
    krylov_sum sum = {0, 0, 0};
    for (int first = threadIdx.x % 32; first < count; first += 32 * AT_ONCE) {
        krylov_sum more[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int i = first + 32 * k < count ? first + 32 * k : first;
            more[k] = {__ldcg(&partials[i].re), __ldcg(&partials[i].im),
                       (int64_t)__ldcg((const long long *)&partials[i].exponent)};
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (first + 32 * k < count) sum = krylov_sum_add(sum, more[k]);
    }
    for (int by = 16; by; by /= 2) {
        const krylov_sum more = {__shfl_down_sync(~0u, sum.re, by), __shfl_down_sync(~0u, sum.im, by),
                                 (int64_t)__shfl_down_sync(~0u, (long long)sum.exponent, by)};
        sum = krylov_sum_add(sum, more);
    }
    return sum;
}

/** The block's sums go to memory. True in all threads of the block that is the last of the column's. */
__device__ bool is_last_to_arrive(const program_arguments &a, int dots, int64_t column, int chunk,
                                  krylov_sum (*sums)[WARPS])
{
    __shared__ bool is_last;
    __syncthreads();
    if ((int)threadIdx.x < dots) {
        krylov_sum sum = sums[threadIdx.x][0];
        for (int w = 1; w < WARPS; w++) sum = krylov_sum_add(sum, sums[threadIdx.x][w]);
        a.partials[(column * a.most_dots + threadIdx.x) * a.chunks + chunk] = sum;
    }
    if (dots) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&a.arrived[column], 1u) == (unsigned)a.chunks - 1;
    __syncthreads();
    __threadfence();
    return is_last;
}

/** Until the column's `count` has come so far. It may go round. */
__device__ void wait_for_count(const unsigned *count, unsigned wanted)
{
    if (threadIdx.x == 0) {
        while ((int)(*(const volatile unsigned *)count - wanted) < 0) {}
        __threadfence();
    }
    __syncthreads();
}

__device__ krylov_column *column_in_shared_memory()
{
    __shared__ krylov_column here; /* a step reads dozens of its members, one after another */
    return &here;
}
constexpr int COLUMN_WORDS = sizeof(krylov_column) / sizeof(uint64_t);
static_assert(sizeof(krylov_column) % sizeof(uint64_t) == 0 && COLUMN_WORDS <= THREADS, "a word a thread");
__device__ void copy_column(krylov_column *to, const krylov_column *from)
{
    if (threadIdx.x < COLUMN_WORDS) ((uint64_t *)to)[threadIdx.x] = ((const uint64_t *)from)[threadIdx.x];
    __syncthreads();
}

/** Block i of a column has chunk i. In a launch of several passes all blocks are on the device, and those of a column
 *  meet between the passes. */
template <typename T> __global__ void __launch_bounds__(THREADS, 2)
    run_program(const __grid_constant__ program_arguments a)
{
    __shared__ krylov_sum sums[MOST_OPERATIONS][WARPS];
    __shared__ coefficients factors[MOST_OPERATIONS];
    __shared__ bool wanted[MOST_OPERATIONS];
    const int64_t column = blockIdx.x / a.chunks;
    const int chunk = (int)(blockIdx.x % a.chunks), me = (int)threadIdx.x;
    krylov_column *c = &a.columns[column];
    unsigned *const run = &a.meetings[column].run;
    const unsigned before = a.passes > 1 ? *(const volatile unsigned *)run : 0;
    for (int pass = 0; pass < a.passes; pass++) {
        const pass_arguments &p = a.pass[pass];
        const int first = pass ? a.pass[pass - 1].end : 0;
        if (pass) wait_for_count(run, before + (unsigned)pass);
        /* flags change when all blocks have ended a pass */
        if ((*(const volatile unsigned *)&c->flags & p.flags) != p.flags) {
            if (me == 0 && chunk == 0) decide_after(a.decides, c);
            return;
        }
        if (first + me < p.end) {
            const operation &o = a.operations[first + me];
            wanted[first + me] = is_wanted(o, c);
            if (!o.is_dot && !o.is_diagonal && wanted[first + me])
                factors[first + me] = {c->coefficients[o.a], c->coefficients[o.b]};
        }
        for (int i = me; i < p.dots * WARPS; i += THREADS) sums[i / WARPS][i % WARPS] = {0, 0, 0};
        __syncthreads();

        const int64_t begin = chunk * a.chunk_rows, end = begin + a.chunk_rows < a.n ? begin + a.chunk_rows : a.n;
        for (int64_t tile = begin; tile < end; tile += TILE) {
            elements<T> e = {column * a.stride + tile + me, tile + me, a.n - tile - me, {}, nullptr, false};
            for (int k = first; k < p.end;) {
                const operation *o = &a.operations[k];
                if (o->begins_four && wanted[k] && wanted[k + 1] && wanted[k + 2] && wanted[k + 3]) {
                    run_four(o, &factors[k], e, sums);
                    k += 4;
                } else {
                    if (wanted[k]) run_one(o, &factors[k], e, sums);
                    k++;
                }
            }
            e.flush();
        }

        if (!p.dots && !p.then) return;
        if (!is_last_to_arrive(a, p.dots, column, chunk, sums)) continue;
        for (int k = first; k < p.end; k++) {
            const operation &o = a.operations[k];
            if (!o.is_dot || o.b % WARPS != me / 32) continue;
            const krylov_sum sum = add_partials(a.partials + (column * a.most_dots + o.b) * a.chunks, a.chunks);
            if (me % 32 == 0) c->sums[o.a] = sum;
        }
        if (me == 0) a.arrived[column] = 0;
        __syncthreads();
        if (p.then) {
            krylov_column *const here = column_in_shared_memory();
            copy_column(here, c);
            if (me == 0) {
                take_step(p.then, here, &a.parameters, p.j);
                if (pass + 1 == a.passes) decide_after(a.decides, here);
            }
            __syncthreads();
            copy_column(c, here);
        }
        if (pass + 1 == a.passes) return;
        __threadfence();
        __syncthreads();
        if (me == 0) *(volatile unsigned *)run = before + (unsigned)pass + 1;
    }
}

/** A block a column. */
template <typename T> __global__ void find_row(krylov_column *columns, const T *x, int64_t n, int64_t stride,
                                               const __grid_constant__ decision decides)
{
    krylov_column *c = &columns[blockIdx.x];
    if (!krylov_needs_row(c)) {
        if (threadIdx.x == 0) decide_after(decides, c);
        return;
    }
    __shared__ long long first;
    if (threadIdx.x == 0) first = -1;
    for (int64_t begin = 0; begin < n; begin += blockDim.x) {
        const int64_t i = begin + threadIdx.x;
        const T value = i < n ? x[blockIdx.x * stride + i] : zero_of<T>();
        const bool is_bad = !isfinite(first_part(value)) || !isfinite(second_part(value));
        if (!__syncthreads_or(is_bad)) continue;
        if (threadIdx.x == 0) first = n;
        __syncthreads();
        if (is_bad) atomicMin(&first, (long long)i);
        break;
    }
    __syncthreads();
    if (threadIdx.x) return;
    c->row = first;
    decide_after(decides, c);
}

/** What all launches of a program have. */
program_arguments arguments_of(const struct krylov_work *w)
{
    program_arguments a = {};
    a.parameters = w->plan->parameters;
    a.columns = w->own_columns;
    a.arrived = (unsigned *)w->scratch;
    a.partials = (krylov_sum *)((char *)w->scratch + counter_bytes(w->base.max_nrhs));
    a.n = w->plan->base.n, a.stride = w->stride;
    a.chunk_rows = chunk_rows(a.n), a.chunks = (int)chunk_count(a.n);
    a.most_dots = most_dots(w->most_sums);
    a.meetings = (meeting *)((char *)w->scratch + meetings_at(w->base.max_nrhs));
    return a;
}

/* ---------------------------------------------------- from a program to launches */

/** Are i and the three after it one run? */
bool is_four(const krylov_instruction *i, int left)
{
    const bool is_dot = i->kind == krylov_instruction::KRYLOV_DOT;
    if (left < 4 || i->from_other || i->kind > krylov_instruction::KRYLOV_DOT ||
        (!is_dot && (i->z != i->y || i->b != C_ONE)))
        return false;
    for (int k = 0; k < 4; k++) {
        const krylov_instruction *o = i + k;
        if (o->kind != i->kind || o->z != i->z || o->y != i->y || o->from_other || o->x == o->z) return false;
        if (!is_dot && (o->b != C_ONE || o->a == C_ZERO)) return false;
    }
    return true;
}

/** A pass of a launch, of instructions from `begin` on, as many as there is room for; returns the instruction after
 *  them. */
int add_pass(program_arguments *a, const krylov_program *p, int begin)
{
    const int first = a->passes ? a->pass[a->passes - 1].end : 0, room = MOST_OPERATIONS - first;
    const int count = p->count - begin < room ? p->count - begin : room;
    pass_arguments *pass = &a->pass[a->passes++];
    *pass = {first + count, 0, p->flags, KRYLOV_NO_STEP, 0};
    for (int k = 0; k < count; k++) {
        const krylov_instruction *i = &p->instructions[begin + k];
        operation *o = &a->operations[first + k];
        o->y = i->y, o->x = i->x, o->z = i->z;
        o->a = i->a, o->b = i->b;
        o->need = i->need;
        o->flags = (uint16_t)i->flags;
        o->is_dot = i->kind == krylov_instruction::KRYLOV_DOT;
        o->from_other = i->from_other;
        o->divides = i->kind == krylov_instruction::KRYLOV_DIVIDE;
        o->is_diagonal = o->divides || i->kind == krylov_instruction::KRYLOV_MULTIPLY;
        o->begins_four = is_four(i, count - k);
        if (o->is_dot) o->b = pass->dots++;
    }
    if (begin + count == p->count) pass->then = p->then, pass->j = p->j; /* of the last launch */
    return begin + count;
}

/** Several programs as one launch, if it has room for them. */
bool add_passes(program_arguments *a, const krylov_program *programs, int count)
{
    int instructions = 0;
    for (int k = 0; k < count; k++) instructions += programs[k].count;
    for (int k = 0; k < count && instructions <= MOST_OPERATIONS; k++) (void)add_pass(a, &programs[k], 0);
    return instructions <= MOST_OPERATIONS;
}

} // namespace

#endif
