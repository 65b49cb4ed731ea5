/* Specifications of test matrices: "name:key=value,key=value". */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trine_matrix A;
    if (fuzz_status(trine_matrix_gallery(fuzz_context(), &A, fuzz_text(data, size), fuzz_dtype(data, size)))) {
        MUST(!A);
        return 0;
    }
    MUST(trine_matrix_check(A, TRINE_CHECK_SORTED) == TRINE_SUCCESS);
    MUST(trine_matrix_destroy(&A) == TRINE_SUCCESS);
    return 0;
}
