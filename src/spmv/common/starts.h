/* Where blocks of equally much work begin (thesis, 3.4.1). Rows may count as entries too: the work before row i is
 * key(i) = offsets[i] + row_weight i, and blocks hold w of it each. Plain C for the CPU and the tests; a GPU has the
 * same in kernels. */
#ifndef TRINE_SPMV_STARTS_H
#define TRINE_SPMV_STARTS_H

#include <trine/core.h>

#include "core/test_interface.h"

/** n_rows + 1 offsets of 32 or 64 bits. */
static inline int64_t spmv_offset(int bits, const void *offsets, int64_t i)
{
    return bits == 32 ? ((const int32_t *)offsets)[i] : ((const int64_t *)offsets)[i];
}

#endif
