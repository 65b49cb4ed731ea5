/* Scalars of the recurrences: in double for every precision of vectors, on the host and in kernels. Sums over vectors
 * carry an exponent of two, so that those of vectors of 1e150 or 1e-150 neither overflow nor vanish. */
#ifndef TRINE_KRYLOV_NUMBERS_H
#define TRINE_KRYLOV_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define KRYLOV_BOTH __host__ __device__ static inline
#else
#define KRYLOV_BOTH static inline
#endif

typedef struct { double re, im; } krylov_scalar;

/** (re + i im) 2^exponent; the exponent is 0 wherever doubles do without. */
typedef struct {
    double re, im;
    int64_t exponent;
} krylov_sum;

KRYLOV_BOTH krylov_scalar krylov_real(double re)
{
    const krylov_scalar a = {re, 0};
    return a;
}
KRYLOV_BOTH krylov_scalar krylov_add(krylov_scalar a, krylov_scalar b)
{
    const krylov_scalar c = {a.re + b.re, a.im + b.im};
    return c;
}
KRYLOV_BOTH krylov_scalar krylov_times(krylov_scalar a, krylov_scalar b)
{
    const krylov_scalar c = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return c;
}
KRYLOV_BOTH krylov_scalar krylov_scaled(krylov_scalar a, double factor)
{
    const krylov_scalar c = {a.re * factor, a.im * factor};
    return c;
}
KRYLOV_BOTH krylov_scalar krylov_minus(krylov_scalar a) { return krylov_scaled(a, -1); }
KRYLOV_BOTH krylov_scalar krylov_conj(krylov_scalar a)
{
    const krylov_scalar c = {a.re, -a.im};
    return c;
}
KRYLOV_BOTH double krylov_size(krylov_scalar a) { return a.im != 0 ? hypot(a.re, a.im) : fabs(a.re); }
KRYLOV_BOTH bool krylov_is_finite(krylov_scalar a) { return isfinite(a.re) && isfinite(a.im); }

/** a / b, where b is not zero: scaled so that no intermediate leaves the range that the result does not leave (Smith
 *  1962, with both divided by the larger part of b). */
KRYLOV_BOTH krylov_scalar krylov_over(krylov_scalar a, krylov_scalar b)
{
    if (b.im == 0) {
        const krylov_scalar c = {a.re / b.re, a.im / b.re};
        return c;
    }
    const double largest = fmax(fabs(b.re), fabs(b.im));
    const krylov_scalar d = {b.re / largest, b.im / largest};
    const double square = d.re * d.re + d.im * d.im;
    const krylov_scalar c = krylov_times(a, krylov_conj(d));
    return krylov_scaled(c, 1 / square / largest);
}

/** x 2^e for any e: ldexp takes an int. */
KRYLOV_BOTH double krylov_shifted(double x, int64_t e)
{
    const int64_t most = 5000; /* beyond which every double is 0 or Inf */
    return ldexp(x, (int)(e > most ? most : e < -most ? -most : e));
}

KRYLOV_BOTH krylov_sum krylov_sum_add(krylov_sum a, krylov_sum b)
{
    if (a.exponent == b.exponent) {
        a.re += b.re;
        a.im += b.im;
        return a;
    }
    if (a.re == 0 && a.im == 0) return b;
    if (b.re == 0 && b.im == 0) return a;
    if (a.exponent < b.exponent) {
        const krylov_sum c = a;
        a = b;
        b = c;
    }
    a.re += krylov_shifted(b.re, b.exponent - a.exponent);
    a.im += krylov_shifted(b.im, b.exponent - a.exponent);
    return a;
}
KRYLOV_BOTH krylov_scalar krylov_sum_value(krylov_sum a)
{
    const krylov_scalar c = {krylov_shifted(a.re, a.exponent), krylov_shifted(a.im, a.exponent)};
    return c;
}
/** a / b, where b is not zero. */
KRYLOV_BOTH krylov_scalar krylov_sum_ratio(krylov_sum a, krylov_sum b)
{
    const krylov_scalar x = {a.re, a.im}, y = {b.re, b.im}, c = krylov_over(x, y);
    const int64_t e = a.exponent - b.exponent;
    const krylov_scalar scaled = {krylov_shifted(c.re, e), krylov_shifted(c.im, e)};
    return scaled;
}
/** sqrt(a), of the square of a norm. */
KRYLOV_BOTH double krylov_sum_root(krylov_sum a)
{
    const bool is_odd = a.exponent % 2 != 0;
    return krylov_shifted(sqrt(is_odd ? 2 * a.re : a.re), (is_odd ? a.exponent - 1 : a.exponent) / 2);
}

#endif
