/* Writing text files: buffer, gzip, and the rename that makes them appear whole. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/files/output.h"
#include "matrix/files/text.h"

enum { buffer_size = 1 << 18 };

static void *deflate_alloc(void *ctx, unsigned count, unsigned size) { return trine_host_alloc(ctx, count, size); }
static void deflate_release(void *ctx, void *p) { trine_free(ctx, TRINE_HOST, p); }

/** Where the symbolic links of a path lead at whose end nothing is; target has room for PATH_MAX characters. */
static trine_status follow_dangling(const char *path, char *target)
{
    snprintf(target, PATH_MAX, "%s", path);
    for (int links = 0; links < 40; links++) { /* as many as the kernel follows */
        char link[PATH_MAX];
        const ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0) return TRINE_SUCCESS;
        link[length] = 0;
        const char *slash = strrchr(target, '/');
        const size_t folder = *link == '/' || !slash ? 0 : (size_t)(slash + 1 - target);
        if (folder + (size_t)length >= PATH_MAX) return text_io_error(path, "cannot be created", ENAMETOOLONG);
        memcpy(target + folder, link, (size_t)length + 1);
    }
    return text_io_error(path, "cannot be created", ELOOP);
}

/** Give the file a free name beside the target: by a link if it is there already without a name, else by making it. */
static trine_status name_file(struct output *out)
{
    char unnamed[32];
    const int folder = (int)(strrchr(out->target, '/') ? strrchr(out->target, '/') + 1 - out->target : 0);
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", out->file);
    for (int attempt = 0; attempt < 1000 && !out->named; attempt++) {
        if (snprintf(out->temporary, PATH_MAX, "%.*strine-%ld-%d.tmp", folder, out->target, (long)getpid(), attempt) >=
            PATH_MAX)
            return text_io_error(out->path, "cannot be created", ENAMETOOLONG);
        if (out->file >= 0) {
            out->named = !linkat(AT_FDCWD, unnamed, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW);
        } else {
            out->file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            out->named = out->file >= 0;
        }
        if (!out->named && errno != EEXIST) break;
    }
    return out->named ? TRINE_SUCCESS : text_io_error(out->path, "cannot be created", errno);
}

/** A file without a name in the folder of target: nothing of it is left if the process ends. -1 where the file
 *  system or /proc does not allow for it. */
static int open_unnamed(const char *target)
{
    char folder[PATH_MAX], unnamed[32];
    const char *slash = strrchr(target, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - target) : 1, slash ? target : ".");
    const int file = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", file);
    if (file < 0 || !access(unnamed, F_OK)) return file;
    close(file);
    return -1;
}

/** Open what is written: the device or the pipe itself, or a file that takes target's place when it is complete. */
static trine_status open_file(struct output *out)
{
    trine_status status = TRINE_SUCCESS;
    struct stat about;
    const bool exists = stat(out->path, &about) == 0;
    if (!exists && errno != ENOENT) TRY(text_io_error(out->path, "cannot be created", errno));
    if (exists && S_ISDIR(about.st_mode)) FAIL(TRINE_ERR_IO, "%.300s is a directory, not a file", out->path);
    if (exists && !S_ISREG(about.st_mode)) { /* /dev/stdout, a pipe: no name to move into place */
        out->file = open(out->path, O_WRONLY | O_CLOEXEC);
        if (out->file < 0) TRY(text_io_error(out->path, "cannot be opened for writing", errno));
        return TRINE_SUCCESS;
    }
    TRY(ALLOC(out->ctx, out->target, PATH_MAX));
    TRY(ALLOC(out->ctx, out->temporary, PATH_MAX));
    if (!exists) TRY(follow_dangling(out->path, out->target));
    else if (!realpath(out->path, out->target)) TRY(text_io_error(out->path, "cannot be created", errno));
    out->file = open_unnamed(out->target);
    if (out->file < 0) TRY(name_file(out));
    if (exists && fchmod(out->file, about.st_mode & 07777))
        TRY(text_io_error(out->path, "cannot keep its permissions", errno));
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
    TRY(open_file(out));
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
    /* the locale's decimal point may be any character, of several bytes */
    for (const char *from = text; *from; from++) {
        if ((unsigned char)*from < 128 && *from != ',') *to++ = *from;
        else if (to == text || to[-1] != '.') *to++ = '.';
    }
    return finish_piece(out, (int)(to - text), width, after);
}

trine_status output_count(struct output *out, int64_t value, int width, char after)
{
    char digits[24], *text = out->buffer + out->used;
    int length = 0;
    do digits[length++] = (char)('0' + value % 10);
    while (value /= 10);
    for (int k = 0; k < length; k++) text[k] = digits[length - 1 - k];
    return finish_piece(out, length, width, after);
}

trine_status output_end(struct output *out, trine_status status)
{
    if (!status) status = flush(out, Z_FINISH);
    if (!status && out->target && !out->named) status = name_file(out);
    if (out->file >= 0 && close(out->file) && !status) status = text_io_error(out->path, "cannot be written", errno);
    if (!status && out->named && rename(out->temporary, out->target))
        status = text_io_error(out->path, "cannot be replaced", errno);
    if (status && out->named) unlink(out->temporary);
    if (out->deflating) deflateEnd(&out->z);
    trine_free(out->ctx, TRINE_HOST, out->buffer);
    trine_free(out->ctx, TRINE_HOST, out->packed);
    trine_free(out->ctx, TRINE_HOST, out->target);
    trine_free(out->ctx, TRINE_HOST, out->temporary);
    return status;
}
