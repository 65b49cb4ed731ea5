/* What modules share below the public headers: failing with a sentence, reference counts, memory, the device.
 * C11, and C++17 in .cu files. */
#ifndef TRINE_INTERNAL_H
#define TRINE_INTERNAL_H

#include <stdbool.h>
#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- failing */

/** Store the sentence for trine_last_error and return status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
TRINE_API trine_status trine_fail(trine_status status, const char *format, ...);

/* One clean-up path: a function with `trine_status status = TRINE_SUCCESS;` and a label `done`. */
#define TRY(call) do { status = (call); if (status != TRINE_SUCCESS) goto done; } while (0)
#define FAIL(...) do { status = trine_fail(__VA_ARGS__); goto done; } while (0)
/** Argument checks at the top of a public function: return at once. */
#define REQUIRE(condition, ...) do { if (!(condition)) return trine_fail(TRINE_ERR_ARGUMENT, __VA_ARGS__); } while (0)

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
};

TRINE_API trine_context trine_retain_context(trine_context ctx);
/** Reference counts of every handle: first member `int refs`. */
static inline void trine_retain(int *refs) { __atomic_add_fetch(refs, 1, __ATOMIC_RELAXED); }
/** True when that was the last reference. */
static inline bool trine_release(int *refs) { return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0; }

/** Log at level 1 warnings, 2 decisions and timings, 3 detail. Cheap when nobody listens. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
TRINE_API void trine_log(trine_context ctx, int level, const char *format, ...);

/* ------------------------------------------------------------------ memory */

/** count * size bytes of host memory, 64-byte aligned, not cleared; never NULL for count = 0. NULL and a sentence on failure. */
TRINE_API void *trine_host_alloc(trine_context ctx, int64_t count, size_t size);
/** The same, cleared. */
TRINE_API void *trine_host_calloc(trine_context ctx, int64_t count, size_t size);
/** status of p = count elements of *p: TRY(ALLOC(ctx, p, n)). Released with trine_free(ctx, TRINE_HOST, p). C only. */
#define ALLOC(ctx, p, count) (((p) = trine_host_alloc((ctx), (count), sizeof *(p))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)
#define CALLOC(ctx, p, count) (((p) = trine_host_calloc((ctx), (count), sizeof *(p))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)

/* ------------------------------------------------------------------ device */
/* device_cuda.c, or device_none.c in a build without CUDA. All make ctx's device current for their duration only. */

/** Fill ctx from CUDA device `ordinal`, make its stream. TRINE_ERR_NOT_BUILT, TRINE_ERR_DEVICE with the reason. */
TRINE_API trine_status trine_device_open(trine_context ctx, int ordinal);
TRINE_API void trine_device_close(trine_context ctx);
TRINE_API trine_status trine_device_alloc(trine_context ctx, size_t bytes, void **p);
TRINE_API void trine_device_free(trine_context ctx, void *p);
/** Asynchronous copy, any direction (pageable host memory: the runtime may wait). */
TRINE_API trine_status trine_device_copy_async(trine_context ctx, void *dst, const void *src, size_t bytes, void *stream);
TRINE_API trine_status trine_device_fill_async(trine_context ctx, void *dst, int byte, size_t bytes, void *stream);
/** `lines` times `length` bytes, `step` apart. */
trine_status trine_device_fill_lines_async(trine_context ctx, void *dst, size_t step, int byte, size_t length, int64_t lines, void *stream);
TRINE_API trine_status trine_device_synchronize(trine_context ctx, void *stream);
TRINE_API bool trine_device_is_capturing(trine_context ctx, void *stream);
/** Make ctx's device current; *saved goes to leave. For launches in .cu files. No-ops on the CPU. */
TRINE_API void trine_device_enter(trine_context ctx, int *saved);
TRINE_API void trine_device_leave(trine_context ctx, int saved);
/** New device array with a copy of a host array, finished when it returns. */
TRINE_API trine_status trine_device_upload(trine_context ctx, const void *src, size_t bytes, void **dst);

/** The stream a call runs on. */
static inline void *trine_exec_stream(trine_context ctx, const trine_exec *exec)
{
    return exec && exec->stream ? exec->stream : ctx->stream;
}
TRINE_API void trine_fill_build_info(trine_build_info *info); /* the CUDA part */

/** A module's table for CUDA, or NULL in a build without it (the reference is then folded away):
 *  ctx->cuda ? TRINE_CUDA_TABLE(&triangular_cuda) : &triangular_cpu. No #ifdef outside src/core. */
#ifdef TRINE_WITH_CUDA
#define TRINE_CUDA_TABLE(p) (p)
#else
#define TRINE_CUDA_TABLE(p) (0 ? (p) : NULL)
#endif

/* --------------------------------------------------- calls at the same time */

/** Who uses an object right now: any number of calls that leave it as it is, or one that changes it. Nobody waits: a call that does not
 *  fit beside those in flight is refused. Zeroed: nobody. */
typedef struct {
    int calls; /* atomic; -1: one that changes it */
} trine_usage;

static inline bool trine_enter(trine_usage *usage)
{
    int calls = __atomic_load_n(&usage->calls, __ATOMIC_RELAXED);
    while (calls >= 0)
        if (__atomic_compare_exchange_n(&usage->calls, &calls, calls + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return true;
    return false;
}
static inline void trine_leave(trine_usage *usage) { __atomic_sub_fetch(&usage->calls, 1, __ATOMIC_RELEASE); }
static inline bool trine_enter_alone(trine_usage *usage)
{
    int nobody = 0;
    return __atomic_compare_exchange_n(&usage->calls, &nobody, -1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline void trine_leave_alone(trine_usage *usage) { __atomic_store_n(&usage->calls, 0, __ATOMIC_RELEASE); }

/* -------------------------------------------------------------------- work */

/** First member of every module's work object. A work keeps its plan alive, but not the plan's own one: that would never die. */
struct trine_work_s {
    trine_context ctx;
    void *plan;                               /* whose solves it is for */
    trine_status (*destroy_plan)(void *plan); /* drops the work's reference; NULL: it has none */
    void (*destroy)(trine_work work);         /* frees the module's part and the struct itself; plan and ctx are released after it */
    trine_usage usage;                        /* by solves: one at a time */
};

/** A solve begins: the plan must not be changing, the memory of the solve (of its work) not be in use; else TRINE_ERR_STATE, whose
 *  sentence ends with `advice`: how to solve several at a time. */
TRINE_API trine_status trine_solve_begin(trine_usage *plan, trine_usage *memory, const char *advice);
TRINE_API void trine_solve_end(trine_usage *plan, trine_usage *memory);
/** A plan is about to be given new values: no solve with it may be in flight; else TRINE_ERR_STATE. trine_leave_alone ends it. */
TRINE_API trine_status trine_update_begin(trine_usage *plan);

/* ----------------------------------------------------- checks of arguments */

static inline bool trine_dtype_is_valid(trine_dtype t) { return t >= TRINE_S && t <= TRINE_Z; }
static inline bool trine_dtype_is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }
static inline bool trine_dtype_is_single(trine_dtype t) { return t == TRINE_S || t == TRINE_C; }
/** Unit roundoff as reports use it: 2^-23 for S and C, 2^-52 for D and Z. */
static inline double trine_dtype_eps(trine_dtype t) { return trine_dtype_is_single(t) ? 1.1920928955078125e-07 : 2.220446049250313e-16; }
/** TRINE_ERR_MEMORY for more vectors of n rows than any memory holds, so that sizes of works do not overflow. nrhs >= 0. */
TRINE_API trine_status trine_check_nrhs(int64_t nrhs, int64_t n);
/** Check a block of vectors of `rows` rows, put its smallest ld where it is 0; name is used in the sentence. */
TRINE_API trine_status trine_check_dense(const trine_dense *X, int64_t rows, const char *name, trine_dense *out);

#ifdef __cplusplus
}
#endif
#endif
