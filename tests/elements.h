/* Elements of arrays in any of the four precisions, read and written as the widest type there is. */
#ifndef TRINE_ELEMENTS_H
#define TRINE_ELEMENTS_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <trine/trine.h>

#undef I

typedef long double complex wide;

extern const trine_dtype all_dtypes[4];
bool is_complex(trine_dtype t);
/** Distance of 1 from the next larger number: 2^-23 or 2^-52. */
double eps_of(trine_dtype t);
static inline wide get(trine_dtype t, const void *array, int64_t i)
{
    switch (t) {
    case TRINE_S: return ((const float *)array)[i];
    case TRINE_D: return ((const double *)array)[i];
    case TRINE_C: return ((const float complex *)array)[i];
    default: return ((const double complex *)array)[i];
    }
}
/** Rounded to t; real types take the real part. */
static inline void put(trine_dtype t, void *array, int64_t i, wide value)
{
    switch (t) {
    case TRINE_S: ((float *)array)[i] = (float)creall(value); break;
    case TRINE_D: ((double *)array)[i] = (double)creall(value); break;
    case TRINE_C: ((float complex *)array)[i] = (float complex)value; break;
    default: ((double complex *)array)[i] = (double complex)value;
    }
}
/** |z| without what cabsl does about overflow, which takes most of a test's time. */
static inline long double absolute(wide z)
{
    const long double re = creall(z), im = cimagl(z);
    return im == 0 ? fabsl(re) : sqrtl(re * re + im * im);
}
/** Number `i` of a stream: uniform in (-1,1), complex types in that square. */
wide random_element(trine_dtype t, uint64_t seed, uint64_t i);

#endif
