/* Matrix Market files as blocks of vectors. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_vectors(data, size);
    return 0;
}
