#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

void fuzz_stop(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not (%s); last error: %s\n", file, line, condition, trine_last_error());
    abort();
}

trine_status fuzz_status(trine_status status)
{
    if (status) MUST(strlen(trine_last_error()) > 10 && status < TRINE_STATUS_COUNT);
    return status;
}

static void *limited_alloc(void *user, size_t bytes)
{
    (void)user;
    return bytes > 4 << 20 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void limited_release(void *user, void *p)
{
    (void)user;
    free(p);
}

trine_context fuzz_context(void)
{
    static trine_context ctx;
    if (ctx) return ctx;
    MUST(trine_context_create(&ctx, "cpu:1") == TRINE_SUCCESS);
    MUST(trine_context_set_allocator(ctx, &(trine_allocator){limited_alloc, limited_release, NULL}, NULL) ==
         TRINE_SUCCESS);
    return ctx;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[32];
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        MUST(file >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    MUST(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    static char *text;
    free(text);
    text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

trine_dtype fuzz_dtype(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t k = 0; k < size; k++) sum += data[k];
    return (trine_dtype)(TRINE_S + sum % 4);
}

const trine_read_options fuzz_limits = {.max_rows = 1 << 12, .max_text = 1 << 20};

void fuzz_matrix(const uint8_t *data, size_t size)
{
    trine_matrix A;
    if (fuzz_status(
            trine_matrix_read_with(fuzz_context(), &A, fuzz_file(data, size), fuzz_dtype(data, size), &fuzz_limits))) {
        MUST(!A);
        return;
    }
    MUST(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE) == TRINE_SUCCESS);
    MUST(trine_matrix_destroy(&A) == TRINE_SUCCESS);
}

void fuzz_vectors(const uint8_t *data, size_t size)
{
    void *x;
    int64_t rows, cols;
    const trine_dtype t = fuzz_dtype(data, size);
    if (fuzz_status(
            trine_vectors_read_with(fuzz_context(), fuzz_file(data, size), t, &x, &rows, &cols, &fuzz_limits))) {
        MUST(!x);
        return;
    }
    int64_t sum = 0; /* all of it is there */
    for (int64_t k = 0; k < rows * cols * (int64_t)trine_dtype_size(t); k++) sum += ((uint8_t *)x)[k];
    MUST(sum >= 0);
    trine_free(fuzz_context(), TRINE_HOST, x);
}
