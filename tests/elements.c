#include "elements.h"

#include "harness.h"

const trine_dtype all_dtypes[4] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};

bool is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }
double eps_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? 0x1p-23 : 0x1p-52; }

wide random_element(trine_dtype t, uint64_t seed, uint64_t i)
{
    wide value = 2 * test_uniform(seed, 2 * i) - 1;
    if (is_complex(t)) __imag__ value = 2 * test_uniform(seed, 2 * i + 1) - 1;
    return value;
}
