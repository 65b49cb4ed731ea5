/* Reading files: what a user may hand over, and what to do about it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"

bool is_same_file(const char *path, const char *other)
{
    struct stat a, b;
    return !stat(path, &a) && S_ISREG(a.st_mode) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_regular(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

/** The program that unpacks a file of these first bytes; NULL: none is known. */
static const char *unpacker(const char *path)
{
    static const struct {
        const char *bytes, *command;
    } formats[] = {{"\xFD"
                    "7zXZ",
                    "xz -dc"},
                   {"BZh", "bzip2 -dc"},
                   {"\x28\xB5\x2F\xFD", "zstd -dc"},
                   {"PK\x03\x04", "unzip -p"}};
    char begin[8] = "";
    FILE *file = is_regular(path) ? fopen(path, "rb") : NULL;
    if (!file) return NULL;
    const size_t count = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const size_t length = strlen(formats[k].bytes);
        if (count >= length && !memcmp(begin, formats[k].bytes, length)) return formats[k].command;
    }
    return NULL;
}

/** The library's sentence, and what helps. */
static trine_status explain(trine_status status, const char *path, trine_dtype t)
{
    char said[512];
    snprintf(said, sizeof said, "%s", trine_last_error());
    const char *unpack = status == TRINE_ERR_FORMAT ? unpacker(path) : NULL;
    if (unpack)
        return trine_fail(status, "%s is packed, and only gzip is read as it is: %s %s > FILE", path, unpack, path);
    if (status == TRINE_ERR_ARGUMENT && strstr(said, "is complex") && (t == TRINE_S || t == TRINE_D))
        return trine_fail(status, "%s; --precision z or c can", said);
    return status;
}

trine_status read_matrix(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t,
                         const trine_read_options *limits)
{
    if (!strcmp(path, "-")) path = "/dev/stdin";
    trine_status status = trine_matrix_read_with(ctx, A, path, t ? t : TRINE_D, limits);
    if (t || (status != TRINE_ERR_ARGUMENT && status != TRINE_ERR_UNSUPPORTED)) return explain(status, path, t);
    if (!is_regular(path))
        return trine_fail(status, "%s is complex, and a pipe cannot be read again: put it into a file%s", path,
                          ", or solve with --precision z");
    return explain(trine_matrix_read_with(ctx, A, path, TRINE_Z, limits), path, t);
}

trine_status read_vectors(trine_context ctx, const char *path, trine_dtype t, void **data, int64_t *rows, int64_t *cols,
                          const trine_read_options *limits)
{
    return explain(trine_vectors_read_with(ctx, path, t, data, rows, cols, limits), path, t);
}

error_t parse_limit(int key, char *arg, struct argp_state *state, trine_read_options *limits)
{
    if (key == KEY_MAX_ROWS) return parse_size(state, "--max-rows", arg, &limits->max_rows);
    if (key == KEY_MAX_TEXT) return parse_size(state, "--max-text", arg, &limits->max_text);
    return ARGP_ERR_UNKNOWN;
}
