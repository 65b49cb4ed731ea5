/* Rutherford-Boeing and Harwell-Boeing files, with and without right-hand sides. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_matrix(data, size);
    return 0;
}
