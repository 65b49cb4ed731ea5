/* What modules of libtrine share below the public headers: the context, the device, and what libtrine_direct uses as
 * well (failing with a sentence, reference counts, memory). C11, and C++17 in .cu files. */
#ifndef TRINE_CORE_INTERNAL_H
#define TRINE_CORE_INTERNAL_H

#include <pthread.h>

#include "core/direct_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- context */

struct trine_context_s {
    int refs;                      /* atomic */
    int threads;
    bool cuda;
    int device;                    /* ordinal */
    void *stream, *own_stream;
    trine_allocator host, gpu;
    trine_log_fn log;
    void *log_user;
    int log_level;
    trine_context_info info;
    struct trine_team_s *team;     /* of helpers (team.h); NULL: none yet, or none needed */
    pthread_mutex_t kernels_lock;  /* of the next four */
    struct trine_kernels *kernels; /* compiled at run time and in use (kernel_cache.h) */
    char *kernel_directory;        /* trine_context_set_kernel_cache; NULL: none */
    bool kernel_directory_is_set;  /* else the environment says */
    struct trine_choice *choices;  /* measured on the device (choices.h); under the lock */
    int64_t kernels_compiled;      /* programs, by this context; atomic */
    bool is_tally;                 /* one that only counts (tally.h): no device memory is behind what it gives */
};

/* ------------------------------------------------------------------ device */
/* device_cuda.c, or device_none.c in a build without CUDA. All make ctx's device current for their duration only. */

/** Fill ctx from CUDA device `ordinal`, make its stream. TRINE_ERR_NOT_BUILT, TRINE_ERR_DEVICE with the reason. */
trine_status trine_device_open(trine_context ctx, int ordinal);
void trine_device_close(trine_context ctx);
trine_status trine_device_alloc(trine_context ctx, size_t bytes, void **p);
void trine_device_free(trine_context ctx, void *p);
/** Asynchronous copy, any direction (pageable host memory: the runtime may wait). */
trine_status trine_device_copy_async(trine_context ctx, void *dst, const void *src, size_t bytes, void *stream);
trine_status trine_device_fill_async(trine_context ctx, void *dst, int byte, size_t bytes, void *stream);
/** `lines` times `length` bytes, `step` apart. */
trine_status trine_device_fill_lines_async(trine_context ctx, void *dst, size_t step, int byte, size_t length,
                                           int64_t lines, void *stream);
trine_status trine_device_synchronize(trine_context ctx, void *stream);
bool trine_device_is_capturing(trine_context ctx, void *stream);
/** New device array with a copy of a host array, finished when it returns. */
trine_status trine_device_upload(trine_context ctx, const void *src, size_t bytes, void **dst);

/** The stream a call runs on. */
static inline void *trine_exec_stream(trine_context ctx, const trine_exec *exec)
{
    return exec && exec->stream ? exec->stream : ctx->stream;
}
void trine_fill_build_info(trine_build_info *info); /* the CUDA part */

/** Check a block of vectors of `rows` rows, put its smallest ld where it is 0; name is used in the sentence. */
trine_status trine_check_dense(const trine_dense *X, int64_t rows, const char *name, trine_dense *out);

/** A module's table for CUDA, or NULL in a build without it (the reference is then folded away):
 *  ctx->cuda ? TRINE_CUDA_TABLE(&triangular_cuda) : &triangular_cpu. No #ifdef outside src/core. */
#ifdef TRINE_WITH_CUDA
#define TRINE_CUDA_TABLE(p) (p)
#else
#define TRINE_CUDA_TABLE(p) (0 ? (p) : NULL)
#endif

#ifdef __cplusplus
}
#endif
#endif
