/* Kernels of the adaptive construction (MOS_A): generators of a factor's inverse, and rows of prune(B M^-1). The same
 * arithmetic as in cpu/adapt.inc, but for the order in which products and sums along a path are made. Names no runtime,
 * so that tests run it on a CPU. */
#ifndef TRINE_PRECOND_CUDA_ADAPT_CUH
#define TRINE_PRECOND_CUDA_ADAPT_CUH

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "core/gpu_number.cuh"

namespace {

constexpr int ADAPT_THREADS = 128, ADAPT_CHUNK = 32, ADAPT_SCAN = 256, ADAPT_FAN = 16, ADAPT_LEVELS = 9,
              ADAPT_REACH = 2, ADAPT_PLACES = 2 * ADAPT_REACH + 1, ADAPT_LONGEST = 1024;

template <typename T> __device__ inline real_of<T> adapt_modulus(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot(a.x, a.y);
    else return fabs(a);
}
template <typename T> __device__ inline T adapt_scaled(real_of<T> s, T a)
{
    if constexpr (scalar<T>::is_complex) return T{s * a.x, s * a.y};
    else return s * a;
}
template <typename T> __device__ inline bool adapt_is_zero(T a)
{
    if constexpr (scalar<T>::is_complex) return a.x == 0 && a.y == 0;
    else return a == 0;
}

/* ------------------------------------------------------- generators of M^-1 */

/** Factors of linear fractional maps are composed in double. */
template <typename T> struct wide_of { using type = double; };
template <typename R> struct wide_of<complex_of<R>> { using type = complex_of<double>; };
template <typename T> using wide = typename wide_of<T>::type;

__device__ inline double widened(float a) { return a; }
__device__ inline double widened(double a) { return a; }
template <typename R> __device__ inline complex_of<double> widened(complex_of<R> a) { return {a.x, a.y}; }
template <typename T> __device__ inline T narrowed(wide<T> a)
{
    if constexpr (scalar<T>::is_complex) return T{(real_of<T>)a.x, (real_of<T>)a.y};
    else return (T)a;
}

/** x -> (p x + q) / (r x + s). */
template <typename W> struct fractional { W p, q, r, s; };

template <typename W> __device__ inline fractional<W> scaled_to_one(fractional<W> m)
{
    const double size =
        fmax(fmax(adapt_modulus(m.p), adapt_modulus(m.q)), fmax(adapt_modulus(m.r), adapt_modulus(m.s)));
    if (!(size > 1e100 || size < 1e-100) || !(size > 0)) return m;
    const double by = 1 / size;
    return {adapt_scaled(by, m.p), adapt_scaled(by, m.q), adapt_scaled(by, m.r), adapt_scaled(by, m.s)};
}
/** First m, then `after`. */
template <typename W> __device__ inline fractional<W> followed(fractional<W> m, fractional<W> after)
{
    return scaled_to_one(fractional<W>{after.p * m.p + after.q * m.r, after.p * m.q + after.q * m.s,
                                       after.r * m.p + after.s * m.r, after.r * m.q + after.s * m.s});
}

/** Positions in chunks of ADAPT_CHUNK. */
template <typename T> struct generator_arguments {
    int64_t n, chunks;
    const T *a, *b, *c;
    const uint8_t *joined;
    fractional<wide<T>> *forward, *backward; /* of a chunk; then p: the sum that comes into it */
    int32_t *last;                   /* beginning of a path in a chunk, then before it; -1: none */
    T *before, *after, *centre;
    int32_t *start;                  /* of a position's path */
    int32_t *bad;                    /* 1: a path has no generators */

    __device__ bool is_last(int64_t k) const { return k + 1 >= n || !joined[k + 1]; }
    /** What row k is divided by while maps are composed: a power of two. */
    __device__ double size_of_row(int64_t k) const
    {
        const double most =
            fmax(fmax((double)adapt_modulus(a[k]), (double)adapt_modulus(c[k])), (double)adapt_modulus(b[k]));
        int exponent = 0;
        if (!(most > 0) || !(most < 1e308)) return 1;
        frexp(most, &exponent);
        return ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
    }
};

/** The maps of every chunk, from the sum before it to that of its last row, and the other way round. */
template <typename T> __global__ void __launch_bounds__(ADAPT_THREADS) adapt_compose(const generator_arguments<T> g)
{
    using W = wide<T>;
    const int64_t chunk = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (chunk >= g.chunks) return;
    const int64_t begin = chunk * ADAPT_CHUNK, end = begin + ADAPT_CHUNK < g.n ? begin + ADAPT_CHUNK : g.n;
    const W zero = zero_of<W>(), one = one_of<W>();
    fractional<W> all = {one, zero, zero, one};
    int32_t last = -1;
    double before = begin > 0 ? g.size_of_row(begin - 1) : 1;
    for (int64_t k = begin; k < end; k++) {
        const double size = g.size_of_row(k);
        const W centre = adapt_scaled(1 / size, widened(g.b[k]));
        if (!g.joined[k]) {
            all = {zero, centre, zero, one};
            last = (int32_t)k;
        } else {
            const W product = adapt_scaled(1 / size, widened(g.a[k])) * adapt_scaled(1 / before, widened(g.c[k - 1]));
            all = followed(all, fractional<W>{centre, zero - product, one, zero});
        }
        before = size;
    }
    g.forward[chunk] = all;
    g.last[chunk] = last;
    all = {one, zero, zero, one};
    before = end < g.n ? g.size_of_row(end) : 1;
    for (int64_t k = end - 1; k >= begin; k--) {
        const double size = g.size_of_row(k);
        const W centre = adapt_scaled(1 / size, widened(g.b[k]));
        if (g.is_last(k)) {
            all = {zero, centre, zero, one};
        } else {
            const W product = adapt_scaled(1 / size, widened(g.c[k])) * adapt_scaled(1 / before, widened(g.a[k + 1]));
            all = followed(all, fractional<W>{centre, zero - product, one, zero});
        }
        before = size;
    }
    g.backward[chunk] = all;
}

/** What comes into every chunk: block 0 forward, block 1 backward. The first of all begins a path. */
template <typename T> __global__ void __launch_bounds__(ADAPT_SCAN) adapt_scan(const generator_arguments<T> g)
{
    using W = wide<T>;
    __shared__ fractional<W> shared[ADAPT_SCAN];
    __shared__ int32_t lasts[ADAPT_SCAN];
    const bool back = blockIdx.x == 1;
    fractional<W> *const maps = back ? g.backward : g.forward;
    const int64_t each = (g.chunks + ADAPT_SCAN - 1) / ADAPT_SCAN, first = threadIdx.x * each;
    const int64_t count = first + each < g.chunks ? each : first < g.chunks ? g.chunks - first : 0;
    const fractional<W> identity = {one_of<W>(), zero_of<W>(), zero_of<W>(), one_of<W>()};
    fractional<W> all = identity;
    int32_t last = -1;
    for (int64_t k = first; k < first + count; k++) {
        all = followed(all, maps[back ? g.chunks - 1 - k : k]);
        if (!back && g.last[k] >= 0) last = g.last[k];
    }
    shared[threadIdx.x] = all;
    lasts[threadIdx.x] = last;
    __syncthreads();
    for (int step = 1; step < ADAPT_SCAN; step *= 2) {
        const bool has = (int)threadIdx.x >= step;
        const fractional<W> other = has ? shared[threadIdx.x - step] : identity;
        const int32_t seen = has ? lasts[threadIdx.x - step] : -1;
        __syncthreads();
        if (has) {
            shared[threadIdx.x] = followed(other, shared[threadIdx.x]);
            if (lasts[threadIdx.x] < seen) lasts[threadIdx.x] = seen;
        }
        __syncthreads();
    }
    all = threadIdx.x ? shared[threadIdx.x - 1] : identity;
    last = threadIdx.x ? lasts[threadIdx.x - 1] : -1;
    for (int64_t k = first; k < first + count; k++) {
        const int64_t chunk = back ? g.chunks - 1 - k : k;
        const fractional<W> mine = maps[chunk];
        maps[chunk].p = all.q / all.s; /* a path begins somewhere before: p and r are zero */
        all = followed(all, mine);
        if (back) continue;
        const int32_t here = g.last[k];
        g.last[k] = last;
        if (here >= 0) last = here;
    }
}

/** Whether a sum of two terms kept enough of its digits to be divided by. */
template <typename T> __device__ inline bool adapt_is_sound(T sum, T term)
{
    using R = real_of<T>;
    const R size = adapt_modulus(sum), digits = sizeof(R) == 4 ? R(3.4526698e-4) : R(1.4901161193847656e-8);
    return size <= (sizeof(R) == 4 ? R(FLT_MAX) : R(DBL_MAX)) && size > digits * adapt_modulus(term) && size > 0;
}

/** lambda, rho and g of every chunk. */
template <typename T> __global__ void __launch_bounds__(ADAPT_THREADS) adapt_generate(const generator_arguments<T> g)
{
    const int64_t chunk = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (chunk >= g.chunks) return;
    const int64_t begin = chunk * ADAPT_CHUNK, end = begin + ADAPT_CHUNK < g.n ? begin + ADAPT_CHUNK : g.n;
    const T zero = zero_of<T>(), one = one_of<T>();
    bool sound = true;
    T other = zero; /* c_{k-1} lambda_{k-1}, a_{k+1} rho_{k+1} */
    int32_t start = g.last[chunk];
    if (g.joined[begin]) {
        const T sum = narrowed<T>(adapt_scaled(g.size_of_row(begin - 1), g.forward[chunk].p));
        other = g.c[begin - 1] * (zero - g.a[begin] / sum);
    }
    for (int64_t k = begin; k < end; k++) {
        if (!g.joined[k]) other = zero, start = (int32_t)k;
        const T sum = g.b[k] + other;
        const bool last = g.is_last(k);
        sound = sound && (last || adapt_is_sound(sum, g.b[k]));
        g.centre[k] = sum;
        g.start[k] = start;
        const T lambda = last ? zero : zero - g.a[k + 1] / sum;
        g.before[k] = lambda;
        other = last ? zero : g.c[k] * lambda;
    }
    other = zero;
    if (!g.is_last(end - 1)) {
        const T sum = narrowed<T>(adapt_scaled(g.size_of_row(end), g.backward[chunk].p));
        other = g.a[end] * (zero - g.c[end - 1] / sum);
    }
    for (int64_t k = end - 1; k >= begin; k--) {
        if (g.is_last(k)) other = zero;
        const bool first = !g.joined[k];
        const T sum = g.b[k] + other, pivot = g.centre[k] + other;
        sound = sound && (first || adapt_is_sound(sum, g.b[k])) && adapt_is_sound(pivot, g.b[k]);
        g.centre[k] = one / pivot;
        const T rho = first ? zero : zero - g.c[k - 1] / sum;
        g.after[k] = rho;
        other = first ? zero : g.a[k] * rho;
    }
    if (!sound) *g.bad = 1;
}

/** Products of ADAPT_FAN neighbours, level by level, in one array behind the numbers themselves. */
struct product_levels {
    int64_t level[ADAPT_LEVELS + 1];
    int levels;
};
inline product_levels lay_products(int64_t n)
{
    product_levels p = {};
    int64_t size = n;
    for (p.levels = 1; size > ADAPT_FAN && p.levels < ADAPT_LEVELS; p.levels++) {
        p.level[p.levels] = p.level[p.levels - 1] + size;
        size = (size + ADAPT_FAN - 1) / ADAPT_FAN;
    }
    p.level[p.levels] = p.level[p.levels - 1] + size;
    return p;
}

/** Level l + 1 of both arrays. */
template <typename T> __global__ void __launch_bounds__(ADAPT_THREADS)
    adapt_multiply_up(const product_levels p, int l, T *before, T *after)
{
    const int64_t k = p.level[l + 1] + blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (k >= p.level[l + 2]) return;
    const int64_t from = p.level[l] + (k - p.level[l + 1]) * ADAPT_FAN;
    const int64_t end = from + ADAPT_FAN < p.level[l + 1] ? from + ADAPT_FAN : p.level[l + 1];
    T one = before[from], other = after[from];
    for (int64_t i = from + 1; i < end; i++) one = one * before[i], other = other * after[i];
    before[k] = one;
    after[k] = other;
}

/** The product of x[low] to x[high - 1]; 0 if it is so small that it is lost beside a number of size 1. */
template <typename T> __device__ inline T adapt_product(const product_levels &p, const T *x, int64_t low, int64_t high)
{
    const real_of<T> tiny = real_of<T>(1e-30);
    T product = one_of<T>();
    for (int l = 0; low < high; l++) {
        const bool top = l + 1 == p.levels;
        while (low < high && (top || low % ADAPT_FAN)) {
            product = product * x[p.level[l] + low++];
            if (!(adapt_modulus(product) > tiny)) return zero_of<T>();
        }
        while (low < high && high % ADAPT_FAN) {
            product = product * x[p.level[l] + --high];
            if (!(adapt_modulus(product) > tiny)) return zero_of<T>();
        }
        low /= ADAPT_FAN;
        high /= ADAPT_FAN;
    }
    return product;
}

/* ---------------------------------------------------------- rows of B M^-1 */

/** LANES threads that share a row, one of its entries each: a part of a warp, or, above 32, a block. What they do
 *  together all threads of the warp or block do at the same time. */
template <int LANES> struct team {
    static constexpr int THREADS = LANES > 32 ? LANES : ADAPT_THREADS;
    static constexpr bool IS_BLOCK = LANES > 32;
    int me;
    unsigned long long *shared;      /* THREADS, of a block */

    __device__ explicit team(unsigned long long *s) : me((int)(threadIdx.x % LANES)), shared(s) {}
    __device__ int base() const { return IS_BLOCK ? 0 : (int)threadIdx.x / LANES * LANES; }
    __device__ void wait() const
    {
        if constexpr (IS_BLOCK) __syncthreads();
        else __syncwarp();
    }
    /** value of thread `from`, modulo LANES. */
    template <typename V> __device__ V get(V value, int from) const
    {
        from &= LANES - 1;
        if constexpr (scalar<V>::is_complex) {
            return V{get(value.x, from), get(value.y, from)};
        } else if constexpr (IS_BLOCK) {
            V other;
            __syncthreads();
            *(V *)(shared + me) = value;
            __syncthreads();
            other = *(const V *)(shared + from);
            return other;
        } else {
            return __shfl_sync(~0u, value, (int)(threadIdx.x % 32) / LANES * LANES + from);
        }
    }
    template <typename V, typename F> __device__ V reduce(V value, const F &f) const
    {
        for (int mask = 1; mask < LANES; mask *= 2) value = f(value, get(value, me ^ mask));
        return value;
    }
    template <typename V> __device__ V sum(V value) const
    {
        return reduce(value, [](V a, V b) { return a + b; });
    }
    template <typename V> __device__ V most(V value) const
    {
        return reduce(value, [](V a, V b) { return a > b ? a : b; });
    }
    /** Is it so for any thread that this one waits for? */
    __device__ bool any(bool mine) const
    {
        if constexpr (IS_BLOCK) return __syncthreads_or(mine);
        else return __any_sync(~0u, mine);
    }
    /** The part of a warp's ballot that is this row's, from bit 0 on. */
    __device__ unsigned mine(unsigned ballot) const
    {
        if constexpr (LANES >= 32) return ballot;
        else return ballot >> (threadIdx.x % 32 / LANES * LANES) & ((1u << LANES) - 1);
    }
    /** Ascending. */
    __device__ unsigned long long sort(unsigned long long key) const
    {
        for (int size = 2; size <= LANES; size *= 2)
            for (int step = size / 2; step > 0; step /= 2) {
                const unsigned long long other = get(key, me ^ step);
                const bool keeps_lower = ((me & step) == 0) == ((me & size) == 0);
                if (keeps_lower ? other < key : other > key) key = other;
            }
        return key;
    }
};

template <typename T> struct row_arguments {
    int64_t count;                   /* rows of this launch */
    const int32_t *list;             /* them; NULL: the first ones */
    /* B */
    const int64_t *begin, *end;
    const int32_t *columns;
    const T *values;
    /* the factor */
    int64_t n;
    const int32_t *position, *permutation, *start;
    const uint8_t *joined;
    const T *before, *after, *centre;
    product_levels products;
    /* the result */
    double threshold;
    const int64_t *room;             /* n + 1: where rows may begin */
    int64_t *to_end;                 /* NULL: rows are not wanted */
    int32_t *to_columns;
    T *to_values;
    T *to_diagonal;                  /* diagp1 of the result */
    double *sums;                    /* 2 n: |b_ii| and the sum of |b_ij|; NULL: not wanted */
};

/** The bits of a number that is not negative ascend as it does. */
__device__ inline unsigned long long adapt_bits(double a)
{
    unsigned long long bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
__device__ inline double adapt_number(unsigned long long bits)
{
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/** Candidates of one thread: the places around the position of its entry that no other thread has. */
template <typename T> struct candidates_of {
    T value[ADAPT_PLACES];
    int32_t column[ADAPT_PLACES];    /* -1: none */
    unsigned long long key[ADAPT_PLACES]; /* bits of the modulus; 0: not to be kept */
};

/** y at the candidates of row i. */
template <typename T, int LANES>
__device__ inline candidates_of<T> adapt_multiply(const row_arguments<T> &a, const team<LANES> &t, int64_t i, bool has)
{
    constexpr unsigned long long NONE = ~0ull;
    const int64_t begin = has ? a.begin[i] : 0;
    const int count = has ? (int)(a.end[i] - begin) : 0, me = t.me;
    const int32_t column = me < count ? a.columns[begin + me] : -1;
    const bool has_diagonal = t.sum((int)(has && column == i)) > 0;
    unsigned long long key = NONE;
    if (me < count) key = (unsigned long long)a.position[column] << 32 | (unsigned)me;
    else if (has && me == count && !has_diagonal) key = (unsigned long long)a.position[i] << 32 | 0xFFFFFFFFu;
    key = t.sort(key);
    const bool valid = key != NONE;
    const int64_t p = valid ? (int64_t)(key >> 32) : 0;
    const unsigned which = (unsigned)key;
    const T zero = zero_of<T>(), value = valid && which != 0xFFFFFFFFu ? a.values[begin + which] : zero;
    const int32_t start = valid ? a.start[p] : -1 - me;
    const int32_t mine = (int32_t)p, previous = t.get(mine, me - 1), next = t.get(mine, me + 1);
    const int32_t path_before = t.get(start, me - 1), path_after = t.get(start, me + 1);
    const bool has_previous = valid && me > 0 && path_before == start,
               has_next = valid && me + 1 < LANES && path_after == start;
    candidates_of<T> c;
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++) c.value[k] = zero, c.column[k] = -1, c.key[k] = 0;

    /* Which places are this thread's, and factors from the entry before and from the one after to all of them. */
    const int gap_before = has_previous ? mine - previous : 0, gap_after = has_next ? next - mine : 0;
    const bool far = valid && p - 2 >= start && (!has_previous || gap_before >= 5),
               near = valid && p - 1 >= start && (!has_previous || gap_before >= 4),
               on_path = valid && p + 1 < a.n && a.joined[p + 1] && (!has_next || gap_after >= 2),
               beyond = on_path && p + 2 < a.n && a.joined[p + 2] && (!has_next || gap_after >= 3);
    T to_far = zero, to_near = zero, to_here = zero;
    if (has_previous) {
        if (gap_before >= 3) to_far = adapt_product(a.products, a.after, previous + 1, p - 1);
        if (gap_before >= 2) to_near = gap_before >= 3 ? to_far * a.after[p - 1] : a.after[p - 1];
        to_here = gap_before >= 2 ? to_near * a.after[p] : a.after[p];
    }
    T from_beyond = zero, from_next = zero, from_here = zero;
    if (has_next) {
        if (gap_after >= 3) from_beyond = adapt_product(a.products, a.before, p + 2, next);
        if (gap_after >= 2) from_next = gap_after >= 3 ? a.before[p + 1] * from_beyond : a.before[p + 1];
        from_here = gap_after >= 2 ? a.before[p] * from_next : a.before[p];
    }

    /* Contributions of entries up to this one, and of this one and those after it. */
    const T own = valid ? value * a.centre[p] : zero;
    T forward = own, by = to_here;
    for (int step = 1; step < LANES; step *= 2) {
        const T other = t.get(forward, me - step), factor = t.get(by, me - step);
        if (me >= step) {
            forward = by * other + forward;
            by = by * factor;
        }
    }
    T backward = own;
    by = from_here;
    for (int step = 1; step < LANES; step *= 2) {
        const T other = t.get(backward, me + step), factor = t.get(by, me + step);
        if (me + step < LANES) {
            backward = by * other + backward;
            by = by * factor;
        }
    }
    T up_to = t.get(forward, me - 1), rest = t.get(backward, me + 1);
    if (!has_previous) up_to = zero;
    if (!has_next) rest = zero;
    if (valid) c.value[2] = forward + from_here * rest, c.column[2] = a.permutation[p];
    if (near) {
        const T one_back = a.before[p - 1] * backward;
        c.value[1] = to_near * up_to + one_back, c.column[1] = a.permutation[p - 1];
        if (far) c.value[0] = to_far * up_to + a.before[p - 2] * one_back, c.column[0] = a.permutation[p - 2];
    }
    if (on_path) {
        const T one_on = forward * a.after[p + 1];
        c.value[3] = one_on + from_next * rest, c.column[3] = a.permutation[p + 1];
        if (beyond) c.value[4] = one_on * a.after[p + 2] + from_beyond * rest, c.column[4] = a.permutation[p + 2];
    }
    return c;
}

/** Keys of what is not among the `most` largest become 0; of equal ones those of lower columns stay. */
template <typename T, int LANES>
__device__ inline void adapt_select(candidates_of<T> &c, const team<LANES> &t, int most, int64_t n)
{
    const auto how_many = [&](auto counts) {
        int mine = 0;
#pragma unroll
        for (int k = 0; k < ADAPT_PLACES; k++) mine += counts(k) ? 1 : 0;
        return t.sum(mine);
    };
    const int all = how_many([&](int k) { return c.key[k] > 0; });
    bool goes_on = all > most && most > 0, is_exact = false;
    unsigned long long low = 1, high = ~0ull; /* the least key that stays lies between */
    if constexpr (team<LANES>::IS_BLOCK) {
        unsigned long long largest = 0;
#pragma unroll
        for (int k = 0; k < ADAPT_PLACES; k++) largest = c.key[k] > largest ? c.key[k] : largest;
        high = t.most(largest);
        while (t.any(goes_on && low < high)) {
            const bool looks = goes_on && low < high;
            const unsigned long long middle = low + (high - low) / 2 + 1;
            const int count = how_many([&](int k) { return c.key[k] >= middle; });
            if (!looks) continue;
            if (count >= most) low = middle;
            else high = middle - 1;
            if (count == most) goes_on = false, is_exact = true;
        }
    } else { /* some thread's key divides those that are left */
        for (int turn = 0; t.any(goes_on); turn++) {
            unsigned long long pivot = 0;
#pragma unroll
            for (int k = 0; k < ADAPT_PLACES; k++)
                if (c.key[k] >= low && c.key[k] <= high) pivot = c.key[k];
            const unsigned has = t.mine(__ballot_sync(~0u, goes_on && pivot > 0));
            pivot = t.get(pivot, has == 0 ? 0 : turn % 2 ? __ffs((int)has) - 1 : 31 - __clz((int)has));
            int counts = 0; /* of keys not below it, and of those above it */
#pragma unroll
            for (int k = 0; k < ADAPT_PLACES; k++)
                counts += (c.key[k] >= pivot ? 1 : 0) + (c.key[k] > pivot ? 1 << 16 : 0);
            counts = t.sum(counts);
            if (!goes_on) continue;
            if (counts >> 16 >= most) {
                low = pivot + 1;
            } else if ((counts & 0xFFFF) >= most) {
                low = pivot, goes_on = false, is_exact = (counts & 0xFFFF) == most;
            } else {
                high = pivot - 1;
            }
        }
    }
    if (most <= 0) low = ~0ull;
    const int above = how_many([&](int k) { return c.key[k] > low; });
    const bool has_ties = all > most && most > 0 && !is_exact;
    int64_t first = 0, last = n - 1; /* columns up to `first` stay, of keys that are `low` */
    while (t.any(has_ties && first < last)) {
        const int64_t middle = first + (last - first) / 2;
        const int count = above + how_many([&](int k) { return c.key[k] == low && c.column[k] <= middle; });
        if (count >= most) last = middle;
        else first = middle + 1;
    }
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++)
        if (c.key[k] < low || (has_ties && c.key[k] == low && c.column[k] > first)) c.key[k] = 0;
}

/** Rows of the result: a.room's pattern of largest entries, in ascending order of columns, and diagp1. */
template <typename T, int LANES> __global__ void __launch_bounds__(team<LANES>::THREADS)
    adapt_rows(const row_arguments<T> a)
{
    constexpr int THREADS = team<LANES>::THREADS;
    __shared__ unsigned long long words[THREADS];
    __shared__ T kept[THREADS];
    using R = real_of<T>;
    const team<LANES> t(words);
    const int64_t index = blockIdx.x * (int64_t)(THREADS / LANES) + threadIdx.x / LANES;
    const bool has = index < a.count;
    const int64_t i = !has ? 0 : a.list ? a.list[index] : index;
    const int64_t room = has ? a.room[i] : 0;
    const int most = has ? (int)(a.room[i + 1] - room) - 1 : 0;
    candidates_of<T> c = adapt_multiply(a, t, i, has);

    double largest = 0;
    int where = -1; /* the diagonal's place */
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++) {
        if (c.column[k] < 0) continue;
        const double size = (double)adapt_modulus(c.value[k]);
        largest = fmax(largest, size);
        if (c.column[k] == i) where = k;
        else if (size > 0) c.key[k] = adapt_bits(size); /* NaN is seen in the diagonal */
    }
    if (a.threshold > 0) {
        largest = t.most(largest);
#pragma unroll
        for (int k = 0; k < ADAPT_PLACES; k++)
            if (!(adapt_number(c.key[k]) >= a.threshold * largest)) c.key[k] = 0;
    }
    adapt_select(c, t, most, a.n);

    T centre = zero_of<T>();
    double others = 0;
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++) {
        others += adapt_number(c.key[k]);
        if (k == where) centre = c.value[k];
    }
    others = t.sum(others);
    const int owner = t.most(where >= 0 ? t.me : 0);
    const T diagonal = t.get(centre, owner);
    const double size = (double)adapt_modulus(diagonal);
    if (has && t.me == 0) {
        T scaled = diagonal;
        if (!(size >= others && size > 0)) {
            const R modulus = (R)size;
            T unit = one_of<T>();
            if constexpr (scalar<T>::is_complex) {
                if (modulus != 0) unit = T{diagonal.x / modulus, diagonal.y / modulus};
            } else {
                if (modulus != 0) unit = diagonal / modulus;
            }
            scaled = adapt_scaled((R)others, unit);
        }
        a.to_diagonal[i] = scaled;
        if (a.sums) a.sums[2 * i] = size, a.sums[2 * i + 1] = size + others;
    }
    if (!a.to_end) return;

    int mine = 0;
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++) mine += c.key[k] > 0 || k == where ? 1 : 0;
    int slot = mine; /* inclusive sum, then where this thread's begin */
    for (int step = 1; step < LANES; step *= 2) {
        const int other = t.get(slot, t.me - step);
        if (t.me >= step) slot += other;
    }
    const int total = t.get(slot, LANES - 1);
    slot -= mine;
    t.wait();
#pragma unroll
    for (int k = 0; k < ADAPT_PLACES; k++) {
        if (!(c.key[k] > 0 || k == where)) continue;
        words[t.base() + slot] = (unsigned long long)c.column[k] << 32 | (unsigned)slot;
        kept[t.base() + slot] = c.value[k];
        slot++;
    }
    t.wait();
    unsigned long long key = t.me < total ? words[t.base() + t.me] : ~0ull;
    key = t.sort(key);
    if (!has) return;
    if (t.me < total) {
        a.to_columns[room + t.me] = (int32_t)(key >> 32);
        a.to_values[room + t.me] = kept[t.base() + (unsigned)key];
    }
    if (t.me == 0) a.to_end[i] = room + total;
}

} // namespace

#endif
