/* In place of tridiag_kernels.c where the library is built without CUDA. */
#include "tridiag.h"

trine_status tridiag_measure_kernels(bench *b, trine_dtype dtype, int64_t n)
{
    (void)b, (void)dtype, (void)n;
    return trine_fail(TRINE_ERR_NOT_BUILT, "this program was built without CUDA");
}
