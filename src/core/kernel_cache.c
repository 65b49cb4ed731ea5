/* A file of the cache: a head, the key (all that the code was made of), the kernels' symbols, the image. It is written
 * under another name and then renamed, so that other processes see whole files or none. What is not exactly as it
 * was written, or is of another key with the same hash, counts as not there. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/kernel_cache.h"
#include "core/test_interface.h"

struct head {
    char magic[8];
    uint64_t checksum;               /* of the rest of the file */
    uint64_t key_bytes, names_bytes, bytes, nvrtc;
};
static const char magic[8] = "trineK1";
enum { FILE_BYTES = PATH_MAX + 64 }; /* of the path of a file in a directory */

/** FNV-1a with 64 bits, to go on with from `hash`. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    for (size_t k = 0; k < count; k++) hash = (hash ^ b[k]) * UINT64_C(0x100000001b3);
    return hash;
}
static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* ------------------------------------------------------------------- files */

static bool read_all(int file, void *to, size_t bytes)
{
    for (char *at = to; bytes;) {
        const ssize_t count = read(file, at, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count, bytes -= (size_t)count;
    }
    return true;
}

static bool write_all(int file, const void *from, size_t bytes)
{
    for (const char *at = from; bytes;) {
        const ssize_t count = write(file, at, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count, bytes -= (size_t)count;
    }
    return true;
}

/** Where the context keeps kernels; false: nowhere. */
static bool find_directory(trine_context ctx, char *path)
{
    const char *chosen = getenv("TRINE_KERNEL_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    pthread_mutex_lock(&ctx->kernels_lock);
    const bool is_set = ctx->kernel_directory_is_set;
    if (is_set && ctx->kernel_directory) length = snprintf(path, PATH_MAX, "%s", ctx->kernel_directory);
    pthread_mutex_unlock(&ctx->kernels_lock);
    if (!is_set && chosen) length = snprintf(path, PATH_MAX, "%s", chosen);
    else if (!is_set && cache && *cache == '/') length = snprintf(path, PATH_MAX, "%s/trine", cache);
    else if (!is_set && home && *home) length = snprintf(path, PATH_MAX, "%s/.cache/trine", home);
    return length > 0 && length < PATH_MAX;
}

/** The directory and those above it, for the user alone. Failures show when a file is written. */
static void make_directory(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    mkdir(path, 0700);
}

/** directory/HASH.kernel, of two hashes: a second one of the same bytes that begins elsewhere. */
static void name_file(const struct trine_kernels *k, const char *directory, char path[FILE_BYTES])
{
    snprintf(path, FILE_BYTES, "%s/%016llx%016llx.kernel", directory,
             (unsigned long long)hash_bytes(hash_start, k->key, k->key_bytes),
             (unsigned long long)hash_bytes(~hash_start, k->key, k->key_bytes));
}

static uint64_t checksum(const struct head *h, const char *key, const struct trine_compiled *code)
{
    const uint64_t hash = hash_bytes(hash_start, &h->key_bytes, sizeof *h - offsetof(struct head, key_bytes));
    return hash_bytes(hash_bytes(hash, key, h->key_bytes), code->image, code->bytes + code->names_bytes);
}

/** Are there `count` names, each ended? */
static bool names_are_whole(const struct trine_compiled *code, int count)
{
    int ends = 0;
    for (size_t k = 0; k < code->names_bytes; k++) ends += !code->names[k];
    return ends == count && code->names_bytes && !code->names[code->names_bytes - 1];
}

/** What the file says, if it is whole and of k's key. A failure is one of memory. */
static trine_status take_file(trine_context ctx, int file, int count, struct trine_kernels *k, bool *found)
{
    trine_status status = TRINE_SUCCESS;
    struct head h;
    struct stat is;
    char *key = NULL, *image = NULL;
    *found = false;
    if (fstat(file, &is) || !read_all(file, &h, sizeof h) || memcmp(h.magic, magic, sizeof magic) ||
        h.key_bytes != k->key_bytes || h.bytes > (uint64_t)is.st_size || h.names_bytes > (uint64_t)is.st_size ||
        !h.bytes || sizeof h + h.key_bytes + h.bytes + h.names_bytes != (uint64_t)is.st_size)
        return TRINE_SUCCESS;
    TRY(ALLOC(ctx, key, (int64_t)h.key_bytes));
    TRY(ALLOC(ctx, image, (int64_t)(h.bytes + h.names_bytes)));
    if (!read_all(file, key, h.key_bytes) || !read_all(file, image, h.bytes + h.names_bytes)) goto done;
    k->code = (struct trine_compiled){image, h.bytes, h.names_bytes, image + h.bytes, (int)h.nvrtc};
    *found = h.checksum == checksum(&h, key, &k->code) && !memcmp(key, k->key, k->key_bytes) &&
             names_are_whole(&k->code, count);
done:
    trine_free(ctx, TRINE_HOST, key);
    if (*found) return status;
    trine_free(ctx, TRINE_HOST, image);
    k->code = (struct trine_compiled){0};
    return status;
}

static trine_status read_file(trine_context ctx, const char *directory, int count, struct trine_kernels *k, bool *found)
{
    char path[FILE_BYTES];
    name_file(k, directory, path);
    *found = false;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return TRINE_SUCCESS;
    const trine_status status = take_file(ctx, file, count, k, found);
    close(file);
    if (!status && !*found) trine_log(ctx, 1, "%s is damaged: compiling anew", path);
    if (*found) trine_log(ctx, 3, "kernels from %s", path);
    return status;
}

static void write_file(trine_context ctx, char *directory, const struct trine_kernels *k)
{
    char path[FILE_BYTES], temporary[FILE_BYTES + 8];
    struct head h = {.key_bytes = k->key_bytes,
                     .names_bytes = k->code.names_bytes,
                     .bytes = k->code.bytes,
                     .nvrtc = (uint64_t)k->code.nvrtc};
    memcpy(h.magic, magic, sizeof magic);
    h.checksum = checksum(&h, k->key, &k->code);
    make_directory(directory);
    name_file(k, directory, path);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    const int file = mkstemp(temporary);
    bool is_written = file >= 0 && write_all(file, &h, sizeof h) && write_all(file, k->key, k->key_bytes) &&
                      write_all(file, k->code.image, k->code.bytes + k->code.names_bytes);
    const int error = errno;
    if (file >= 0 && close(file)) is_written = false;
    if (is_written && !rename(temporary, path)) return;
    if (file >= 0) unlink(temporary);
    trine_log(ctx, 1, "compiled kernels are not kept, %s cannot be written: %s", directory,
              strerror(is_written ? errno : error));
}

/* ------------------------------------------------------------------ memory */

/** Everything that the code depends on, and nothing that asking for would load the compiler. */
static trine_status make_key(trine_context ctx, const struct trine_program *p, char **key, size_t *bytes)
{
    char head[128];
    size_t count = (size_t)snprintf(head, sizeof head, "trine %d.%d.%d, %s %d\n", TRINE_VERSION_MAJOR,
                                    TRINE_VERSION_MINOR, TRINE_VERSION_PATCH, p->portable ? "compute" : "sm",
                                    p->capability);
    *bytes = count + strlen(p->source) + 1;
    for (int k = 0; k < p->count; k++) *bytes += strlen(p->expressions[k]) + 1;
    char *end = *key = trine_host_alloc(ctx, (int64_t)*bytes, 1);
    if (!end) return TRINE_ERR_MEMORY;
    end = stpcpy(end, head);
    for (int k = 0; k < p->count; k++) end = stpcpy(stpcpy(end, p->expressions[k]), "\n");
    memcpy(end, p->source, strlen(p->source) + 1);
    return TRINE_SUCCESS;
}

/** One of the context's with the same key, which then has one user more; NULL: there is none. */
static struct trine_kernels *find_in_memory(trine_context ctx, const struct trine_kernels *like)
{
    pthread_mutex_lock(&ctx->kernels_lock);
    struct trine_kernels *k = ctx->kernels;
    while (k && (k->key_bytes != like->key_bytes || memcmp(k->key, like->key, k->key_bytes) != 0)) k = k->next;
    if (k) k->refs++;
    pthread_mutex_unlock(&ctx->kernels_lock);
    return k;
}

static void free_kernels(trine_context ctx, struct trine_kernels *k)
{
    if (!k) return;
    if (k->loaded) k->unload(k->loaded);
    trine_free(ctx, TRINE_HOST, k->code.image);
    trine_free(ctx, TRINE_HOST, k->key);
    trine_free(ctx, TRINE_HOST, k);
}

trine_status trine_kernels_get(trine_context ctx, const struct trine_program *program, bool anew,
                               struct trine_kernels **kernels)
{
    trine_status status = TRINE_SUCCESS;
    char directory[PATH_MAX];
    struct trine_kernels *k = NULL;
    *kernels = NULL;
    TRY(CALLOC(ctx, k, 1));
    k->refs = 1;
    TRY(make_key(ctx, program, &k->key, &k->key_bytes));
    *kernels = anew ? NULL : find_in_memory(ctx, k);
    if (*kernels) goto done;
    const bool has_directory = find_directory(ctx, directory);
    if (has_directory && !anew) TRY(read_file(ctx, directory, program->count, k, &k->from_file));
    if (!k->from_file) {
        TRY(trine_nvrtc_compile(ctx, program, &k->code));
        __atomic_add_fetch(&ctx->kernels_compiled, 1, __ATOMIC_RELAXED);
        if (has_directory) write_file(ctx, directory, k);
    }
    pthread_mutex_lock(&ctx->kernels_lock);
    k->next = ctx->kernels;
    ctx->kernels = *kernels = k;
    pthread_mutex_unlock(&ctx->kernels_lock);
    k = NULL;
done:
    free_kernels(ctx, k);
    return status;
}

void trine_kernels_drop(trine_context ctx, struct trine_kernels *kernels)
{
    if (!kernels) return;
    pthread_mutex_lock(&ctx->kernels_lock);
    const bool is_last = !--kernels->refs;
    struct trine_kernels **at = &ctx->kernels;
    while (is_last && *at != kernels) at = &(*at)->next;
    if (is_last) *at = kernels->next;
    pthread_mutex_unlock(&ctx->kernels_lock);
    if (is_last) free_kernels(ctx, kernels);
}

int64_t trine_kernels_compiled(trine_context ctx) { return __atomic_load_n(&ctx->kernels_compiled, __ATOMIC_RELAXED); }
