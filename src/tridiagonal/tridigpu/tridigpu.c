/* tridigpu.h: every function fills in trine's arguments and passes them on to what solves on the current device. */
#include <tridigpu.h>

#include "core/gpu.h"
#include "tridiagonal/tridiagonal.h"

static tridigpu_status_t status_of(trine_status status)
{
    switch (status) {
    case TRINE_SUCCESS: return TRIDIGPU_STATUS_SUCCESS;
    case TRINE_ERR_ARGUMENT: return TRIDIGPU_STATUS_INVALID_VALUE;
    case TRINE_ERR_MEMORY: return TRIDIGPU_STATUS_ALLOC_FAILED;
    case TRINE_ERR_UNSUPPORTED:
    case TRINE_ERR_NOT_BUILT: return TRIDIGPU_STATUS_NOT_SUPPORTED;
    default: return TRIDIGPU_STATUS_EXECUTION_FAILED;
    }
}

/** An unknown scheme stays one. */
static trine_gtsv_options options_of(tridigpu_pivoting_t p, int cyclic)
{
    static const trine_pivot pivots[] = {[TRIDIGPU_NO_PIVOTING] = TRINE_PIVOT_NONE,
                                         [TRIDIGPU_PARTIAL_PIVOTING] = TRINE_PIVOT_PARTIAL,
                                         [TRIDIGPU_SCALED_PARTIAL_PIVOTING] = TRINE_PIVOT_SCALED_PARTIAL,
                                         [TRIDIGPU_DEFAULT_PIVOTING] = TRINE_PIVOT_DEFAULT};
    const unsigned known = sizeof pivots / sizeof *pivots;
    return (trine_gtsv_options){.pivot = (unsigned)p < known ? pivots[p] : (trine_pivot)-1, .cyclic = cyclic};
}

static const solve_place default_stream = {.cuda = true}; /* for sizes, too, which need none */

#define JOIN(a, b, c) a##b##c
#define JOINED(a, b, c) JOIN(a, b, c)
#define NAME(function) JOINED(tridigpu, LETTER, function)

#define LETTER S
#define T float
#define DTYPE TRINE_S
#include "tridiagonal/tridigpu/tridigpu.inc"
#define LETTER D
#define T double
#define DTYPE TRINE_D
#include "tridiagonal/tridigpu/tridigpu.inc"
#define LETTER C
#define T cuComplex
#define DTYPE TRINE_C
#include "tridiagonal/tridigpu/tridigpu.inc"
#define LETTER Z
#define T cuDoubleComplex
#define DTYPE TRINE_Z
#include "tridiagonal/tridigpu/tridigpu.inc"
