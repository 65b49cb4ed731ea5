/* Text files in memory, plain or gzipped, and the numbers in them; seen by src/matrix only. */
#ifndef TRINE_MATRIX_FILES_TEXT_H
#define TRINE_MATRIX_FILES_TEXT_H

#include <trine/matrix.h>

#include "core/internal.h"

/* --------------------------------------------------------------- the file */

/** A whole file in memory. data[size] is 0, so that a scan stops at the end without comparing pointers. */
struct text {
    trine_context ctx;
    const char *path; /* the caller's */
    char *data;
    int64_t size;
    int64_t file_size;          /* of the file: less than size if that was inflated */
    trine_read_options limits;  /* for this file, none of them 0 */
};

/** Read path, inflating it if it starts with gzip's magic bytes (several members are joined). options: NULL, or
 *  limits that are not negative. TRINE_ERR_IO if it cannot be read, TRINE_ERR_FORMAT if the gzip data is truncated,
 *  damaged, or beyond its limit. */
trine_status text_read(trine_context ctx, const char *path, const trine_read_options *options, struct text *text);
void text_free(struct text *text);

/** Line number, from 1, of the character at p. Counted when asked for: only errors do. */
int64_t text_line(const struct text *text, const char *p);

/** TRINE_ERR_FORMAT with the sentence "path, line N: ..." for the line that p is in. */
__attribute__((format(printf, 3, 4))) trine_status text_fail(const struct text *text, const char *p, const char *format,
                                                             ...);
/** TRINE_ERR_FORMAT for the line at p if `count` rows, or whatever `what` names, are more than a file of this size
 *  may have. */
trine_status text_check_rows(const struct text *text, const char *p, int64_t count, const char *what);
/** TRINE_ERR_IO with the sentence "path: what: reason of error_number". */
trine_status text_io_error(const char *path, const char *what, int error_number);

/** The word at p, for a sentence: at most 40 printable characters. */
struct text_word { char text[48]; };
struct text_word text_word(const char *p);

/** Blanks within a line. The CR of a CRLF counts as one. */
static inline const char *text_skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r') p++;
    return p;
}
/** The start of the line after p's, or end. */
const char *text_next_line(const char *p, const char *end);
/** First character of the first line from p (a line's start) on that is neither blank nor a comment starting with
 *  one of the characters of `comment`; end if there is none. */
const char *text_next_entry(const char *p, const char *end, const char *comment);
/** The number of such lines in [begin, end). */
int64_t text_count_entries(const char *begin, const char *end, const char *comment);

/* ------------------------------------------------------------------ numbers */
/* Each reads the longest number at p (no blanks before it) and returns its end, or NULL if there is none. What they
 * read: digits with at most one point, an exponent after e, E, d or D, and inf, infinity and nan in any case. The
 * result is rounded to nearest, exactly as strtod and strtof do; it does not depend on the locale. */

const char *number_double(const char *p, double *value);
const char *number_float(const char *p, float *value);
#define NUMBER(p, value) _Generic((value), float *: number_float, double *: number_double)((p), (value))

/** A decimal integer without sign. NULL if there is none or it exceeds 2^63 - 1. */
static inline const char *number_count(const char *p, int64_t *value)
{
    const char *first = p;
    uint64_t v = 0;
    while ((unsigned)(*p - '0') < 10) {
        if (v > (INT64_MAX - 9) / 10) return NULL;
        v = 10 * v + (uint64_t)(*p++ - '0');
    }
    *value = (int64_t)v;
    return p == first ? NULL : p;
}

#endif
