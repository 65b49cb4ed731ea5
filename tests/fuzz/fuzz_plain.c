/* Vectors in plain text: one value a line. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_vectors(data, size);
    return 0;
}
