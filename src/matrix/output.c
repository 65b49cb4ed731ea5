/* Writing text files: buffer, gzip, and the rename that makes them appear whole. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/output.h"
#include "matrix/text.h"

enum { buffer_size = 1 << 18 };

static void *deflate_alloc(void *ctx, unsigned count, unsigned size) { return trine_host_alloc(ctx, count, size); }
static void deflate_release(void *ctx, void *p) { trine_free(ctx, TRINE_HOST, p); }

/** target: where path leads. temporary: a free name beside it, opened. */
static trine_status open_temporary(struct output *out)
{
    trine_status status = TRINE_SUCCESS;
    struct stat about;
    TRY(ALLOC(out->ctx, out->target, PATH_MAX));
    const bool exists = stat(out->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) FAIL(TRINE_ERR_IO, "%.300s is a directory, not a file", out->path);
    if (exists && !S_ISREG(about.st_mode)) { /* /dev/stdout, a pipe: no name to move into place */
        out->file = open(out->path, O_WRONLY | O_CLOEXEC);
        if (out->file < 0) TRY(text_io_error(out->path, "cannot be opened for writing", errno));
        return TRINE_SUCCESS;
    }
    const size_t length = strlen(out->path);
    if (length + 32 > PATH_MAX) FAIL(TRINE_ERR_IO, "%.300s: the path is too long", out->path);
    if (!exists || !realpath(out->path, out->target)) memcpy(out->target, out->path, length + 1);
    const size_t room = strlen(out->target) + 32;
    TRY(ALLOC(out->ctx, out->temporary, (int64_t)room));
    for (int attempt = 0; attempt < 1000 && out->file < 0; attempt++) {
        snprintf(out->temporary, room, "%s.%ld-%d.tmp", out->target, (long)getpid(), attempt);
        out->file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->file < 0 && errno != EEXIST) break;
    }
    if (out->file < 0) TRY(text_io_error(out->path, "cannot be created", errno));
    out->created = true;
    if (exists && fchmod(out->file, about.st_mode & 07777)) TRY(text_io_error(out->path, "cannot keep its permissions", errno));
done:
    return status;
}

trine_status output_begin(trine_context ctx, const char *path, struct output *out)
{
    trine_status status = TRINE_SUCCESS;
    const size_t length = strlen(path);
    *out = (struct output){.ctx = ctx, .path = path, .file = -1};
    out->gzip = length > 3 && !strcmp(path + length - 3, ".gz");
    TRY(ALLOC(ctx, out->buffer, buffer_size));
    if (out->gzip) {
        TRY(ALLOC(ctx, out->packed, buffer_size));
        out->z = (z_stream){.zalloc = deflate_alloc, .zfree = deflate_release, .opaque = ctx};
        if (deflateInit2(&out->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            FAIL(TRINE_ERR_MEMORY, "no memory to deflate %.300s", path);
        out->deflating = true;
    }
    TRY(open_temporary(out));
done:
    return status;
}

static trine_status write_bytes(struct output *out, const void *data, int64_t size)
{
    const char *p = data;
    while (size > 0) {
        const ssize_t written = write(out->file, p, (size_t)size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return text_io_error(out->path, "cannot be written", errno);
        p += written;
        size -= written;
    }
    return TRINE_SUCCESS;
}

/** Hand on what the buffer holds. */
static trine_status flush(struct output *out, int mode)
{
    trine_status status = TRINE_SUCCESS;
    if (!out->gzip) {
        TRY(write_bytes(out, out->buffer, out->used));
    } else {
        out->z.next_in = (unsigned char *)out->buffer;
        out->z.avail_in = (unsigned)out->used;
        do {
            out->z.next_out = out->packed;
            out->z.avail_out = buffer_size;
            deflate(&out->z, mode); /* cannot fail: the stream is sound and there is room */
            TRY(write_bytes(out, out->packed, buffer_size - (int64_t)out->z.avail_out));
        } while (!out->z.avail_out);
    }
    out->used = 0;
done:
    return status;
}

trine_status output_text(struct output *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(out->buffer + out->used, output_piece, format, args);
    va_end(args);
    out->used += length < output_piece ? length : output_piece - 1;
    return out->used + output_piece > buffer_size ? flush(out, Z_NO_FLUSH) : TRINE_SUCCESS;
}

/** Take over `length` characters that stand behind the used ones: right-align them, put `after` behind them. */
static trine_status finish_piece(struct output *out, int length, int width, char after)
{
    char *text = out->buffer + out->used;
    if (length < width) {
        memmove(text + width - length, text, (size_t)length);
        memset(text, ' ', (size_t)(width - length));
        length = width;
    }
    if (after) text[length++] = after;
    out->used += length;
    return out->used + output_piece > buffer_size ? flush(out, Z_NO_FLUSH) : TRINE_SUCCESS;
}

trine_status output_number(struct output *out, double value, char style, int digits, int width, char after)
{
    char *text = out->buffer + out->used, *to = text;
    if (style == 'E') snprintf(text, output_piece, "%.*E", digits, value);
    else snprintf(text, output_piece, "%.*g", digits, value);
    for (const char *from = text; *from; from++) { /* the locale's decimal point may be any character, of several bytes */
        if ((unsigned char)*from < 128 && *from != ',') *to++ = *from;
        else if (to == text || to[-1] != '.') *to++ = '.';
    }
    return finish_piece(out, (int)(to - text), width, after);
}

trine_status output_count(struct output *out, int64_t value, int width, char after)
{
    char digits[24], *text = out->buffer + out->used;
    int length = 0;
    do digits[length++] = (char)('0' + value % 10); while (value /= 10);
    for (int k = 0; k < length; k++) text[k] = digits[length - 1 - k];
    return finish_piece(out, length, width, after);
}

trine_status output_end(struct output *out, trine_status status)
{
    if (!status) status = flush(out, Z_FINISH);
    if (out->file >= 0 && close(out->file) && !status) status = text_io_error(out->path, "cannot be written", errno);
    if (!status && out->created && rename(out->temporary, out->target))
        status = text_io_error(out->path, "cannot be replaced", errno);
    if (status && out->created) unlink(out->temporary);
    if (out->deflating) deflateEnd(&out->z);
    trine_free(out->ctx, TRINE_HOST, out->buffer);
    trine_free(out->ctx, TRINE_HOST, out->packed);
    trine_free(out->ctx, TRINE_HOST, out->target);
    trine_free(out->ctx, TRINE_HOST, out->temporary);
    return status;
}
