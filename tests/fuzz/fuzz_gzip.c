/* Gzipped files, mangled: as they are, and behind a sound header. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    fuzz_matrix(data, size);
    fuzz_vectors(data, size);
    uint8_t *whole = malloc(sizeof header + size);
    MUST(whole);
    memcpy(whole, header, sizeof header);
    memcpy(whole + sizeof header, data, size);
    fuzz_matrix(whole, sizeof header + size);
    free(whole);
    return 0;
}
