/* A text file being written, plain or gzipped, that appears whole or not at all; seen by src/matrix only. */
#ifndef TRINE_MATRIX_FILES_OUTPUT_H
#define TRINE_MATRIX_FILES_OUTPUT_H

#include <zlib.h>

#include "core/internal.h"

/** Room that every output_text leaves for one more token. */
enum { output_piece = 512 };

struct output {
    trine_context ctx;
    const char *path;      /* the caller's */
    char *target;          /* path with symbolic links followed; NULL where it is a device or a pipe, which is
                              written directly */
    char *temporary;       /* room for a name beside it, which the file has if named */
    int file;
    bool named;
    char *buffer;
    int64_t used;
    unsigned char *packed; /* gzip only */
    z_stream z;
    bool gzip, deflating;
};

/** Begin to write path; its ending .gz asks for gzip. Every begin is followed by output_end, also when it failed. */
trine_status output_begin(trine_context ctx, const char *path, struct output *out);
/** Append at most output_piece - 1 characters. */
__attribute__((format(printf, 2, 3))) trine_status output_text(struct output *out, const char *format, ...);
/** Append the number as printf's %.{digits}{style} (style g or E) shows it in the C locale, right-aligned in `width`
 *  characters, and the character `after` unless it is 0. */
trine_status output_number(struct output *out, double value, char style, int digits, int width, char after);
/** Append a non-negative integer, right-aligned in `width` characters, and the character `after` unless it is 0. */
trine_status output_count(struct output *out, int64_t value, int width, char after);
/** With status success: write the rest and move the file into place. Otherwise remove it. Returns the first failure. */
trine_status output_end(struct output *out, trine_status status);

#endif
