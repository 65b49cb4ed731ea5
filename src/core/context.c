/* A context: one device, its threads, its allocator, its log. */
#include <errno.h>
#include <limits.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <trine/spmv.h>
#include <unistd.h>

#include "core/choices.h"
#include "core/consume.h"
#include "core/team.h"

enum { LINE = 64, HUGE_PAGE = 1 << 21 };

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/** Large arrays lie in huge pages where the system has them: the first touch of a small page takes longer than the
 *  arithmetic that most analyses do with what it holds. What is left of the last huge page has small ones. */
static void *default_alloc(void *user, size_t bytes)
{
    (void)user;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE) {
        void *p = aligned_alloc(HUGE_PAGE, round_up(bytes, HUGE_PAGE));
        if (p) madvise(p, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* advice: a failure changes nothing */
        return p;
    }
#endif
    return aligned_alloc(LINE, round_up(bytes, LINE));
}
static void default_release(void *user, void *p)
{
    (void)user;
    free(p);
}

/** "3" -> 3; anything else, or a number outside lowest..highest, is refused. */
static bool parse_number(const char *text, int lowest, int highest, int *number)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < lowest || v > highest) return false;
    *number = (int)v;
    return true;
}

static trine_status open_cpu(trine_context ctx, int threads)
{
    ctx->cuda = false;
    ctx->device = ctx->info.device = -1;
    ctx->threads = threads > 0 ? threads : omp_get_max_threads();
    /* the first call of it allocates, or ends the process: here, not later */
    if (ctx->threads == 1) trine_openmp_restore(trine_openmp_limit());
    ctx->info.space = TRINE_HOST;
    ctx->info.threads = ctx->threads;
    snprintf(ctx->info.name, sizeof ctx->info.name, "cpu, %d thread%s", ctx->threads, ctx->threads == 1 ? "" : "s");
    return TRINE_SUCCESS;
}

static trine_status open_cuda(trine_context ctx, int ordinal)
{
    trine_status status = trine_device_open(ctx, ordinal);
    if (status) return status;
    ctx->cuda = true;
    ctx->device = ctx->info.device = ordinal;
    ctx->stream = ctx->own_stream;
    ctx->threads = ctx->info.threads = omp_get_max_threads();
    ctx->info.space = TRINE_DEVICE;
    return TRINE_SUCCESS;
}

static void free_context(trine_context ctx)
{
    trine_choices_free(ctx);
    pthread_mutex_destroy(&ctx->kernels_lock);
    free(ctx->kernel_directory);
    free(ctx);
}

trine_status trine_context_create(trine_context *out, const char *device)
{
    REQUIRE(out, "ctx is NULL");
    *out = NULL;
    if (!device) device = "auto";
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = calloc(1, sizeof *ctx);
    if (!ctx) return trine_fail(TRINE_ERR_MEMORY, "no memory for a context");
    ctx->refs = 1;
    ctx->host = (trine_allocator){default_alloc, default_release, NULL};
    pthread_mutex_init(&ctx->kernels_lock, NULL);
    int number = 0;
    if (!strcmp(device, "auto")) {
        if (open_cuda(ctx, 0)) {
            snprintf(ctx->info.fallback, sizeof ctx->info.fallback, "%s", trine_last_error());
            TRY(open_cpu(ctx, 0));
        }
    } else if (!strcmp(device, "cpu")) {
        TRY(open_cpu(ctx, 0));
    } else if (!strncmp(device, "cpu:", 4) && parse_number(device + 4, 1, 4096, &number)) {
        TRY(open_cpu(ctx, number));
    } else if (!strcmp(device, "cuda")) {
        TRY(open_cuda(ctx, 0));
    } else if (!strncmp(device, "cuda:", 5) && parse_number(device + 5, 0, INT_MAX, &number)) {
        TRY(open_cuda(ctx, number));
    } else {
        FAIL(TRINE_ERR_ARGUMENT, "device \"%.60s\" is not one of auto, cpu, cpu:THREADS, cuda, cuda:ORDINAL", device);
    }
    *out = ctx;
    return TRINE_SUCCESS;
done:
    free_context(ctx);
    return status;
}

trine_context trine_retain_context(trine_context ctx)
{
    trine_retain(&ctx->refs);
    return ctx;
}

trine_status trine_context_destroy(trine_context *ctx)
{
    if (!ctx || !*ctx) return TRINE_SUCCESS;
    if (trine_release(&(*ctx)->refs)) {
        trine_team_end(*ctx);
        if ((*ctx)->cuda) trine_device_close(*ctx);
        free_context(*ctx);
    }
    *ctx = NULL;
    return TRINE_SUCCESS;
}

trine_status trine_context_get_info(trine_context ctx, trine_context_info *info)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(info, "info is NULL");
    *info = ctx->info;
    return TRINE_SUCCESS;
}

void trine_get_build_info(trine_build_info *info)
{
#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)
    if (!info) return;
    memset(info, 0, sizeof *info);
    info->version = VERSION(TRINE_VERSION_MAJOR, TRINE_VERSION_MINOR, TRINE_VERSION_PATCH);
#undef VERSION
#undef TEXT
    info->openmp = _OPENMP;
    trine_fill_build_info(info);
}

trine_status trine_context_enter(trine_context ctx, int *saved)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(saved, "saved is NULL");
    trine_device_enter(ctx, saved);
    return TRINE_SUCCESS;
}

trine_status trine_context_leave(trine_context ctx, int saved)
{
    REQUIRE(ctx, "ctx is NULL");
    trine_device_leave(ctx, saved);
    return TRINE_SUCCESS;
}

/* ----------------------------------------------------------------- kernels */

trine_status trine_context_set_kernel_cache(trine_context ctx, const char *directory)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(!directory || *directory, "the directory has no name");
    char *copy = NULL;
    if (directory) {
        copy = malloc(strlen(directory) + 1);
        if (!copy) return trine_fail(TRINE_ERR_MEMORY, "no memory for the name of a directory");
        memcpy(copy, directory, strlen(directory) + 1);
    }
    pthread_mutex_lock(&ctx->kernels_lock);
    char *before = ctx->kernel_directory;
    ctx->kernel_directory = copy;
    ctx->kernel_directory_is_set = true;
    pthread_mutex_unlock(&ctx->kernels_lock);
    free(before);
    return TRINE_SUCCESS;
}

/* -------------------------------------------------------------------- logs */

trine_status trine_context_set_log(trine_context ctx, trine_log_fn fn, void *user, int level)
{
    REQUIRE(ctx, "ctx is NULL");
    ctx->log = fn;
    ctx->log_user = user;
    ctx->log_level = level;
    return TRINE_SUCCESS;
}

void trine_log(trine_context ctx, int level, const char *format, ...)
{
    if (!ctx->log || level > ctx->log_level) return;
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ctx->log(ctx->log_user, level, message);
}

/* ------------------------------------------------------------------ memory */

trine_status trine_context_set_allocator(trine_context ctx, const trine_allocator *host, const trine_allocator *device)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(!host || (host->alloc && host->release), "the host allocator needs both functions");
    REQUIRE(!device || (device->alloc && device->release), "the device allocator needs both functions");
    if (ctx->refs != 1)
        return trine_fail(TRINE_ERR_STATE, "the allocator cannot change once a handle was made from the context");
    if (host) ctx->host = *host;
    if (device) ctx->gpu = *device;
    return TRINE_SUCCESS;
}

void *trine_host_alloc(trine_context ctx, int64_t count, size_t size)
{
    size_t bytes;
    void *p = NULL;
    if (count >= 0 && !__builtin_mul_overflow((uint64_t)count, size, &bytes) && bytes <= PTRDIFF_MAX)
        p = ctx->host.alloc(ctx->host.user, bytes ? bytes : 1);
    if (!p) trine_fail(TRINE_ERR_MEMORY, "no host memory for %lld elements of %zu bytes", (long long)count, size);
    return p;
}

void trine_give_back(const void *p, size_t bytes)
{
#ifdef MADV_DONTNEED
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)p + page - 1) / page * page,
                    end = ((uintptr_t)p + bytes) / page * page;
    if (end > first) madvise((void *)first, end - first, MADV_DONTNEED); /* it may refuse, of locked memory */
#else
    (void)p, (void)bytes;
#endif
}

static _Thread_local bool values_may_go;

void trine_let_values_go(bool on) { values_may_go = on; }
bool trine_values_may_go(void) { return values_may_go; }

void *trine_host_calloc(trine_context ctx, int64_t count, size_t size)
{
    void *p = trine_host_alloc(ctx, count, size);
    if (p) memset(p, 0, (size_t)count * size);
    return p;
}

trine_status trine_alloc(trine_context ctx, trine_space space, size_t bytes, void **p)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(p, "p is NULL");
    *p = NULL;
    if (!bytes) return TRINE_SUCCESS;
    if (space == TRINE_HOST) {
        REQUIRE(bytes <= PTRDIFF_MAX, "%zu bytes is no size", bytes);
        *p = trine_host_alloc(ctx, (int64_t)bytes, 1);
        return *p ? TRINE_SUCCESS : TRINE_ERR_MEMORY;
    }
    REQUIRE(ctx->cuda, "a CPU context has no device memory");
    if (!ctx->gpu.alloc) return trine_device_alloc(ctx, bytes, p);
    *p = ctx->gpu.alloc(ctx->gpu.user, bytes);
    return *p ? TRINE_SUCCESS : trine_fail(TRINE_ERR_MEMORY, "no device memory for %zu bytes", bytes);
}

void trine_free(trine_context ctx, trine_space space, void *p)
{
    if (!ctx || !p) return;
    if (space == TRINE_HOST) ctx->host.release(ctx->host.user, p);
    else if (ctx->gpu.release) ctx->gpu.release(ctx->gpu.user, p);
    else trine_device_free(ctx, p);
}

trine_status trine_copy(trine_context ctx, void *dst, trine_space dst_space, const void *src, trine_space src_space,
                        size_t bytes)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(!bytes || (dst && src), "dst or src is NULL");
    REQUIRE(ctx->cuda || (dst_space == TRINE_HOST && src_space == TRINE_HOST), "a CPU context has no device memory");
    if (!bytes || (ctx->is_tally && (dst_space == TRINE_DEVICE || src_space == TRINE_DEVICE))) return TRINE_SUCCESS;
    if (dst_space == TRINE_HOST && src_space == TRINE_HOST) {
        memmove(dst, src, bytes);
        return TRINE_SUCCESS;
    }
    trine_status status = trine_device_copy_async(ctx, dst, src, bytes, ctx->stream);
    return status ? status : trine_device_synchronize(ctx, ctx->stream);
}

trine_status trine_device_upload(trine_context ctx, const void *src, size_t bytes, void **dst)
{
    trine_status status = trine_alloc(ctx, TRINE_DEVICE, bytes, dst);
    if (!status) status = trine_copy(ctx, *dst, TRINE_DEVICE, src, TRINE_HOST, bytes);
    if (status) {
        trine_free(ctx, TRINE_DEVICE, *dst);
        *dst = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ stream */

trine_status trine_context_set_stream(trine_context ctx, void *stream)
{
    REQUIRE(ctx, "ctx is NULL");
    ctx->stream = stream ? stream : ctx->own_stream;
    return TRINE_SUCCESS;
}

trine_status trine_context_get_stream(trine_context ctx, void **stream)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(stream, "stream is NULL");
    *stream = ctx->stream;
    return TRINE_SUCCESS;
}

trine_status trine_context_synchronize(trine_context ctx)
{
    REQUIRE(ctx, "ctx is NULL");
    return ctx->cuda ? trine_device_synchronize(ctx, ctx->stream) : TRINE_SUCCESS;
}

/* -------------------------------------------------------------------- work */

trine_status trine_work_destroy(trine_work *work)
{
    if (!work || !*work) return TRINE_SUCCESS;
    if (!trine_enter_alone(&(*work)->usage))
        return trine_fail(TRINE_ERR_STATE, "a solve with this work is in flight in another thread");
    trine_context ctx = (*work)->ctx;
    void *plan = (*work)->plan;
    trine_status (*destroy_plan)(void *) = (*work)->destroy_plan;
    (*work)->destroy(*work);
    *work = NULL;
    if (destroy_plan) destroy_plan(plan);
    return trine_context_destroy(&ctx);
}

/* ------------------------------------------------------------------- small */

size_t trine_dtype_size(trine_dtype t)
{
    static const size_t sizes[] = {0, 4, 8, 8, 16};
    return trine_dtype_is_valid(t) ? sizes[t] : 0;
}

double trine_dtype_eps(trine_dtype t)
{
    if (!trine_dtype_is_valid(t)) return 0;
    return trine_dtype_is_single(t) ? 0x1p-23 : 0x1p-52;
}

double trine_wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

trine_status trine_check_nrhs(int64_t nrhs, int64_t n)
{
    /* elements: what a work adds to its vectors is less than 2^8 times as much */
    const int64_t most = INT64_C(1) << 51;
    if (nrhs <= most / (n > 0 ? n : 1)) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_MEMORY, "room for %lld right-hand sides of %lld rows is more than any memory has",
                      (long long)nrhs, (long long)n);
}

trine_status trine_check_dense(const trine_dense *X, int64_t rows, const char *name, trine_dense *out)
{
    REQUIRE(X, "%s is NULL", name);
    REQUIRE(X->rows == rows, "%s has %lld rows, not %lld", name, (long long)X->rows, (long long)rows);
    REQUIRE(X->cols >= 0, "%s has %lld columns", name, (long long)X->cols);
    REQUIRE(X->layout == TRINE_COLMAJOR || X->layout == TRINE_ROWMAJOR, "%s has no layout %d", name, (int)X->layout);
    int64_t smallest = X->layout == TRINE_COLMAJOR ? X->rows : X->cols;
    REQUIRE(X->ld == 0 || X->ld >= smallest, "%s has leading dimension %lld, less than %lld", name, (long long)X->ld,
            (long long)smallest);
    REQUIRE(X->data || !X->rows || !X->cols, "%s has no data", name);
    *out = *X;
    if (!out->ld) out->ld = smallest;
    return TRINE_SUCCESS;
}
