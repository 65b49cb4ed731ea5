/* What the fuzz targets share. A target is one function, LLVMFuzzerTestOneInput (README.md). */
#ifndef TRINE_FUZZ_H
#define TRINE_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trine/trine.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Stop if what must hold does not: libFuzzer then keeps the input. */
#define MUST(condition) do { if (!(condition)) fuzz_stop(__FILE__, __LINE__, #condition); } while (0)
_Noreturn void fuzz_stop(const char *file, int line, const char *condition);
/** A failure must have a sentence, in one line. */
trine_status fuzz_status(trine_status status);

/** A context of one thread whose allocator gives at most 4 MiB at a time. */
trine_context fuzz_context(void);
/** Path of a file in memory that holds these bytes, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);
/** The same bytes with a final 0, until the next call. */
char *fuzz_text(const uint8_t *data, size_t size);
/** One of the four types, by the input. */
trine_dtype fuzz_dtype(const uint8_t *data, size_t size);
/** What a file may claim: little, so that an input takes little time. */
extern const trine_read_options fuzz_limits;

/** Read the bytes as a matrix, which must then be a matrix: sorted, in range, finite. */
void fuzz_matrix(const uint8_t *data, size_t size);
/** Read the bytes as a block of vectors. */
void fuzz_vectors(const uint8_t *data, size_t size);

#endif
