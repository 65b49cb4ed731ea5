// Values of diagonals and of factors along paths, a thread a row: the same arithmetic as in cpu/diagonal.inc and
// cpu/paths.inc.
#include "precond/cuda/launch.cuh"

namespace {

template <typename T> __device__ real_of<T> modulus_of(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot(a.x, a.y);
    else return fabs(a);
}
template <typename T> __device__ T scaled(real_of<T> s, T a)
{
    if constexpr (scalar<T>::is_complex) return T{s * a.x, s * a.y};
    else return s * a;
}
template <typename T> __device__ T divided(T a, real_of<T> by)
{
    if constexpr (scalar<T>::is_complex) return T{a.x / by, a.y / by};
    else return a / by;
}
template <typename T> __device__ bool is_zero(T a) { return modulus_of(a) == 0; }

/** unit(x) of Eq. 43. */
template <typename T> __device__ T unit_of(T a)
{
    const real_of<T> size = modulus_of(a);
    return size == 0 ? one_of<T>() : divided(a, size);
}

template <typename R> __device__ R power_of(R x, int k)
{
    R result = 1;
    for (; k > 0; k--) result *= x;
    return result;
}

template <typename T> struct gather {
    const int64_t *positions;
    const T *from;
    T *to;
    __device__ void operator()(int64_t k) const { to[k] = from[positions[k]]; }
};

template <typename T> struct diagonal {
    precond_device_rows rows;
    trine_precond_method method;
    T *to;
    __device__ void operator()(int64_t i) const
    {
        using R = real_of<T>;
        const T *values = static_cast<const T *>(rows.values);
        T centre = zero_of<T>();
        double others = 0;
        for (int64_t k = rows.offsets[i]; k < rows.ends[i]; k++)
            if (rows.columns[k] == i) centre = values[k];
            else others += (double)modulus_of(values[k]);
        const double size = (double)modulus_of(centre);
        switch (method) {
        case TRINE_PRECOND_DIAGP1:
            if (!(size >= others && size > 0)) centre = scaled((R)others, unit_of(centre));
            break;
        case TRINE_PRECOND_DIAGP2: centre = scaled((R)(size + others), unit_of(centre)); break;
        case TRINE_PRECOND_L1: centre = centre + scaled((R)others, one_of<T>()); break;
        default: break;
        }
        to[i] = centre;
    }
};

/** scaled := T^-1 A without what is not kept; T NULL: ones. */
template <typename T> struct scale {
    precond_device_rows rows;
    const T *by;
    const uint8_t *kept;
    T *to;
    __device__ void operator()(int64_t i) const
    {
        const T *values = static_cast<const T *>(rows.values);
        for (int64_t k = rows.offsets[i]; k < rows.ends[i]; k++) {
            const bool counts = (!kept || kept[k]) && (!by || !is_zero(by[i]));
            to[k] = !counts ? zero_of<T>() : by ? values[k] / by[i] : values[k];
        }
    }
};

/** Position i of a factor whose forest is there. */
struct take_path {
    const int32_t *path, *order;
    int32_t *permutation;
    uint8_t *joined;
    __device__ void operator()(int64_t i) const
    {
        permutation[i] = order[i];
        joined[i] = i > 0 && path[order[i]] == path[order[i - 1]];
    }
};

template <typename T> struct extract {
    precond_device_rows rows;
    precond_device_factor f;
    const uint8_t *kept;
    uint8_t *taken;

    /** The entry of row i and column j, unless it does not count. */
    __device__ T take(int32_t i, int32_t j) const
    {
        int64_t low = rows.offsets[i], high = rows.ends[i];
        const int64_t end = high;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (rows.columns[middle] < j) low = middle + 1;
            else high = middle;
        }
        if (low == end || rows.columns[low] != j || (kept && !kept[low])) return zero_of<T>();
        if (i != j && taken) {
            if (taken[low]) return zero_of<T>();
            taken[low] = 1;
        }
        return static_cast<const T *>(rows.values)[low];
    }
    __device__ void operator()(int64_t i) const
    {
        const int32_t v = f.permutation[i];
        const bool has_next = i + 1 < rows.n && f.joined[i + 1];
        static_cast<T *>(f.a)[i] = f.joined[i] ? take(v, f.permutation[i - 1]) : zero_of<T>();
        static_cast<T *>(f.b)[i] = take(v, v);
        static_cast<T *>(f.c)[i] = has_next ? take(v, f.permutation[i + 1]) : zero_of<T>();
    }
};

/** Bands of A''_l to those of M_l, or of T M_l where l = m - 1 (Eqs. 57-60). */
template <typename T> struct direct {
    precond_device_factor f;
    const T *t, *d;
    int m, l;

    /** J of Eq. 58. */
    __device__ real_of<T> J(int32_t v) const { return 1 + (modulus_of(d[v]) / modulus_of(t[v]) - 1) / (real_of<T>)m; }
    __device__ void operator()(int64_t i) const
    {
        T *a = static_cast<T *>(f.a), *b = static_cast<T *>(f.b), *c = static_cast<T *>(f.c);
        const int32_t *v = f.permutation;
        const bool last = l == m - 1;
        const real_of<T> own = J(v[i]);
        const T left = divided(last ? one_of<T>() : one_of<T>() / t[v[i]], power_of(own, m - 1 - l));
        if (!is_zero(a[i])) a[i] = a[i] * divided(left, power_of(J(v[i - 1]), l));
        if (!is_zero(c[i])) c[i] = c[i] * divided(left, power_of(J(v[i + 1]), l));
        b[i] = last ? scaled(own, t[v[i]]) : scaled(own, one_of<T>());
    }
};

struct invert {
    const int32_t *permutation;
    int32_t *inverse;
    __device__ void operator()(int64_t i) const { inverse[permutation[i]] = (int32_t)i; }
};
struct follow {
    const int32_t *permutation, *position;
    int32_t *to;
    __device__ void operator()(int64_t i) const { to[i] = position[permutation[i]]; }
};

/* --------------------------------------------------------- the four precisions */

template <typename T> trine_status run_gather(trine_precond p, const int64_t *positions, const void *from, void *to,
                                              void *stream)
{
    return launch_each(p, p->nnz, stream, gather<T>{positions, static_cast<const T *>(from), static_cast<T *>(to)});
}

template <typename T> trine_status run_diagonal(trine_precond p, const precond_device_rows *rows,
                                                trine_precond_method method, void *to, void *stream)
{
    return launch_each(p, rows->n, stream, diagonal<T>{*rows, method, static_cast<T *>(to)});
}

template <typename T> trine_status run_scale(trine_precond p, const precond_device_rows *rows, const void *by,
                                             const uint8_t *kept, void *to, void *stream)
{
    return launch_each(p, rows->n, stream, scale<T>{*rows, static_cast<const T *>(by), kept, static_cast<T *>(to)});
}

template <typename T> trine_status run_extract(trine_precond p, const precond_device_rows *rows,
                                               const precond_device_factor *f, const uint8_t *kept, uint8_t *taken,
                                               void *stream)
{
    return launch_each(p, rows->n, stream, extract<T>{*rows, *f, kept, taken});
}

template <typename T> trine_status run_direct(trine_precond p, const precond_device_factor *f, const void *t,
                                              const void *d, int m, int l, void *stream)
{
    return launch_each(p, p->base.n, stream, direct<T>{*f, static_cast<const T *>(t), static_cast<const T *>(d), m, l});
}

trine_status take_paths(trine_precond p, const int32_t *path, const int32_t *order, const precond_device_factor *f,
                        void *stream)
{
    return launch_each(p, p->base.n, stream, take_path{path, order, f->permutation, f->joined});
}

trine_status locate(trine_precond p, const precond_device_factor *f, void *stream)
{
    return launch_each(p, p->base.n, stream, invert{f->permutation, f->position});
}

trine_status fuse(trine_precond p, const precond_device_factor *next, const precond_device_factor *f, void *stream)
{
    const trine_status status = launch_each(p, p->base.n, stream, follow{f->permutation, next->position, f->to_next});
    return status ? status
                  : launch_each(p, p->base.n, stream, follow{next->permutation, f->position, next->to_previous});
}

} // namespace

const struct precond_device_numeric precond_cuda_numeric = {PRECOND_TABLE(run_gather),
                                                            PRECOND_TABLE(run_diagonal),
                                                            PRECOND_TABLE(run_scale),
                                                            PRECOND_TABLE(run_extract),
                                                            PRECOND_TABLE(run_direct),
                                                            take_paths,
                                                            locate,
                                                            fuse};
