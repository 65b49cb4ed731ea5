/* Systems as the caller has them, from the arguments of a solve that have been checked. */
#include "tridiagonal/common/banded_system.h"

static banded_system of_options(trine_dtype t, int64_t rows, int m, int kl, int ku, const trine_gtsv_options *options)
{
    return (banded_system){.t = t,
                           .rows = rows,
                           .m = m,
                           .kl = kl,
                           .ku = ku,
                           .cyclic = options && options->cyclic,
                           .transposed = options && (options->op == TRINE_T || options->op == TRINE_H),
                           .conjugate = options && options->op == TRINE_H};
}

banded_system banded_of_blocks(trine_dtype t, int64_t rows, int m, const trine_gtsv_options *options, const void *a,
                               const void *b, const void *c)
{
    banded_system s = of_options(t, rows, m, 1, 1, options);
    s.band[0] = a, s.band[1] = b, s.band[2] = c;
    return s;
}

banded_system banded_of_bands(trine_dtype t, int64_t n, int kl, int ku, const trine_gtsv_options *options,
                              const void *AB)
{
    banded_system s = of_options(t, n, 1, kl, ku, options);
    for (int k = 0; AB && k <= kl + ku; k++) s.band[k] = (const char *)AB + (size_t)(k * n) * trine_dtype_size(t);
    return s;
}
