#include "elements.h"

#include "harness.h"

const trine_dtype all_dtypes[4] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};

bool is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }
double eps_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? 0x1p-23 : 0x1p-52; }

wide get(trine_dtype t, const void *array, int64_t i)
{
    switch (t) {
    case TRINE_S: return ((const float *)array)[i];
    case TRINE_D: return ((const double *)array)[i];
    case TRINE_C: return ((const float complex *)array)[i];
    default: return ((const double complex *)array)[i];
    }
}

void put(trine_dtype t, void *array, int64_t i, wide value)
{
    switch (t) {
    case TRINE_S: ((float *)array)[i] = (float)creall(value); break;
    case TRINE_D: ((double *)array)[i] = (double)creall(value); break;
    case TRINE_C: ((float complex *)array)[i] = (float complex)value; break;
    default: ((double complex *)array)[i] = (double complex)value;
    }
}

wide random_element(trine_dtype t, uint64_t seed, uint64_t i)
{
    wide value = 2 * test_uniform(seed, 2 * i) - 1;
    if (is_complex(t)) __imag__ value = 2 * test_uniform(seed, 2 * i + 1) - 1;
    return value;
}
