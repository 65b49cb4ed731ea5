/* Text files in memory: reading, inflating, lines and words for error messages. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "matrix/files/text.h"

enum { smallest_buffer = 1 << 16 };

/* What a file may claim: never less than these, and so much for each of its bytes. */
enum { free_rows = 1 << 20, rows_a_byte = 16, free_text = 1 << 26, text_a_byte = 64 };

trine_status text_io_error(const char *path, const char *what, int error_number)
{
    char reason[128];
    if (strerror_r(error_number, reason, sizeof reason)) snprintf(reason, sizeof reason, "error %d", error_number);
    return trine_fail(TRINE_ERR_IO, "%.300s: %s: %s", path, what, reason);
}

/* ----------------------------------------------------------------- reading */

/** Make room for `more` bytes and the final 0 behind `used`. */
static trine_status grow(trine_context ctx, char **data, int64_t used, int64_t *room, int64_t more)
{
    if (*data && used + more + 1 <= *room) return TRINE_SUCCESS;
    int64_t wanted = *room + *room / 2;
    if (wanted < used + more + 1) wanted = used + more + 1;
    char *larger;
    if (ALLOC(ctx, larger, wanted)) return TRINE_ERR_MEMORY;
    if (used) memcpy(larger, *data, (size_t)used);
    trine_free(ctx, TRINE_HOST, *data);
    *data = larger;
    *room = wanted;
    return TRINE_SUCCESS;
}

/** All bytes of path; what fstat says of the size is only a hint (pipes have none, files grow). */
static trine_status read_bytes(struct text *text)
{
    trine_status status = TRINE_SUCCESS;
    int64_t room = 0;
    struct stat about;
    int file = open(text->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return text_io_error(text->path, "cannot be opened", errno);
    if (fstat(file, &about)) {
        TRY(text_io_error(text->path, "cannot be examined", errno));
    }
    if (S_ISDIR(about.st_mode)) FAIL(TRINE_ERR_IO, "%.300s is a directory, not a file", text->path);
    TRY(grow(text->ctx, &text->data, 0, &room, about.st_size > 0 ? about.st_size + 1 : smallest_buffer));
    for (;;) {
        TRY(grow(text->ctx, &text->data, text->size, &room, 1));
        int64_t chunk = room - text->size - 1;
        ssize_t got = read(file, text->data + text->size, (size_t)(chunk < 1 << 30 ? chunk : 1 << 30));
        if (got == 0) break;
        if (got < 0 && errno != EINTR) TRY(text_io_error(text->path, "cannot be read", errno));
        if (got > 0) text->size += got;
    }
    text->data[text->size] = 0;
done:
    close(file);
    return status;
}

static void *inflate_alloc(void *ctx, unsigned count, unsigned size) { return trine_host_alloc(ctx, count, size); }
static void inflate_release(void *ctx, void *p) { trine_free(ctx, TRINE_HOST, p); }

/** The limits for a file of text->file_size bytes. */
static void set_limits(struct text *text, const trine_read_options *options)
{
    trine_read_options *l = &text->limits;
    if (options) *l = *options;
    if (!l->max_rows)
        l->max_rows = text->file_size > free_rows / rows_a_byte ? rows_a_byte * text->file_size : free_rows;
    if (!l->max_text)
        l->max_text = text->file_size > free_text / text_a_byte ? text_a_byte * text->file_size : free_text;
}

/** Replace text's gzip data by what it holds. */
static trine_status inflate_bytes(struct text *text)
{
    trine_status status = TRINE_SUCCESS;
    char *out = NULL;
    int64_t size = 0, room = 0, used = 0;
    z_stream z = {.zalloc = inflate_alloc, .zfree = inflate_release, .opaque = text->ctx};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return trine_fail(TRINE_ERR_MEMORY, "no memory to inflate %.300s", text->path);
    /* the last four bytes give the size modulo 2^32: a hint, trusted as far as files usually compress */
    int64_t hint = 0;
    for (int k = 0; k < 4 && text->size >= 4; k++)
        hint |= (int64_t)(unsigned char)text->data[text->size - 4 + k] << 8 * k;
    TRY(grow(text->ctx, &out, 0, &room, hint / text_a_byte <= text->size && hint ? hint + 1 : 4 * text->size));
    while (used < text->size) {
        TRY(grow(text->ctx, &out, size, &room, smallest_buffer));
        const int64_t in = text->size - used < 1 << 30 ? text->size - used : 1 << 30;
        const int64_t space = room - size - 1 < 1 << 30 ? room - size - 1 : 1 << 30;
        z.next_in = (unsigned char *)text->data + used;
        z.avail_in = (unsigned)in;
        z.next_out = (unsigned char *)out + size;
        z.avail_out = (unsigned)space;
        const int result = inflate(&z, Z_NO_FLUSH);
        used += in - z.avail_in;
        size += space - z.avail_out;
        if (size > text->limits.max_text)
            FAIL(TRINE_ERR_FORMAT,
                 "%.300s: %lld bytes of gzip data hold more than %lld bytes of text; max_text allows more", text->path,
                 (long long)text->file_size, (long long)text->limits.max_text);
        if (result == Z_STREAM_END) { /* zeros may pad the last member; anything else must be another one */
            int64_t next = used;
            while (next < text->size && !text->data[next]) next++;
            if (next == text->size) goto inflated;
            inflateReset(&z);
        } else if (result == Z_MEM_ERROR) {
            FAIL(TRINE_ERR_MEMORY, "no memory to inflate %.300s", text->path);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            FAIL(TRINE_ERR_FORMAT, "%.300s: the gzip data is damaged near byte %lld: %s", text->path, (long long)used,
                 z.msg ? z.msg : "not a gzip member");
        }
        if (used == text->size && z.avail_out) break;
    }
    FAIL(TRINE_ERR_FORMAT, "%.300s: the gzip data is truncated after byte %lld, which is in line %lld of the text",
         text->path, (long long)text->size,
         (long long)text_line(&(struct text){.data = out, .size = size}, out + size));
inflated:
    trine_free(text->ctx, TRINE_HOST, text->data);
    out[size] = 0;
    text->data = out;
    text->size = size;
    out = NULL;
done:
    inflateEnd(&z);
    trine_free(text->ctx, TRINE_HOST, out);
    return status;
}

trine_status text_read(trine_context ctx, const char *path, const trine_read_options *options, struct text *text)
{
    *text = (struct text){.ctx = ctx, .path = path};
    trine_status status = TRINE_SUCCESS;
    TRY(read_bytes(text));
    text->file_size = text->size;
    set_limits(text, options);
    if (text->size >= 2 && !memcmp(text->data, "\x1f\x8b", 2)) TRY(inflate_bytes(text));
    if (!text->size) FAIL(TRINE_ERR_FORMAT, "%.300s is empty", path);
done:
    if (status) text_free(text);
    return status;
}

void text_free(struct text *text)
{
    trine_free(text->ctx, TRINE_HOST, text->data);
    text->data = NULL;
    text->size = 0;
}

/* ------------------------------------------------------------------- lines */

int64_t text_line(const struct text *text, const char *p)
{
    int64_t line = 1;
    for (const char *q = text->data; q < p && (q = memchr(q, '\n', (size_t)(p - q))); q++) line++;
    return line;
}

trine_status text_fail(const struct text *text, const char *p, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const size_t length = strlen(text->path);
    return trine_fail(TRINE_ERR_FORMAT, "%s%s, line %lld: %s", length > 200 ? "..." : "",
                      length > 200 ? text->path + length - 200 : text->path, (long long)text_line(text, p), message);
}

trine_status text_check_rows(const struct text *text, const char *p, int64_t count, const char *what)
{
    if (count <= text->limits.max_rows) return TRINE_SUCCESS;
    return text_fail(text, p, "%lld %s are more than the %lld that a file of %lld bytes may have; max_rows allows more",
                     (long long)count, what, (long long)text->limits.max_rows, (long long)text->file_size);
}

struct text_word text_word(const char *p)
{
    struct text_word word;
    int length = 0;
    for (; *p && !isspace((unsigned char)*p) && length < 40; p++) word.text[length++] = *p > ' ' && *p < 127 ? *p : '?';
    word.text[length] = 0;
    return word;
}

const char *text_next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

/** strchr for the one or two characters that begin comments, without a call a line. */
static inline bool is_among(char c, const char *few)
{
    while (*few && *few != c) few++;
    return *few != 0;
}

const char *text_next_entry(const char *p, const char *end, const char *comment)
{
    while (p < end) {
        const char *first = text_skip_blanks(p);
        if (first >= end) return end;
        if (*first != '\n' && !is_among(*first, comment)) return first;
        p = text_next_line(first, end);
    }
    return end;
}

int64_t text_count_entries(const char *begin, const char *end, const char *comment)
{
    int64_t count = 0;
    for (const char *p = begin; (p = text_next_entry(p, end, comment)) < end; p = text_next_line(p, end)) count++;
    return count;
}
