/* What libtrine_direct uses of libtrine beside the public headers: all of it stands here, in plan.h and in consume.h,
 * and libtrine_direct includes no other header of src/core that declares functions. What they mark TRINE_API is
 * exported by libtrine as TRINE_PRIVATE_<number>, with the number below (cmake/exports.cmake): the dynamic linker
 * then refuses a libtrine_direct that was made for another number. No promise to anybody else. C11, and C++17 in .cu
 * files. */
#ifndef TRINE_CORE_DIRECT_INTERFACE_H
#define TRINE_CORE_DIRECT_INTERFACE_H

#include <stdbool.h>
#include <trine/core.h>
#include <trine/operator.h>
#include <trine/triangular.h>

/** One more with every change of a declaration or a struct of the two files that a libtrine_direct made before would
 *  not survive. */
#define TRINE_DIRECT_INTERFACE 3

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- failing */

/* One clean-up path: a function with `trine_status status = TRINE_SUCCESS;` and a label `done`. */
#define TRY(call) do { status = (call); if (status != TRINE_SUCCESS) goto done; } while (0)
#define FAIL(...) do { status = trine_fail(__VA_ARGS__); goto done; } while (0)
/** Argument checks at the top of a public function: return at once. */
#define REQUIRE(condition, ...) do { if (!(condition)) return trine_fail(TRINE_ERR_ARGUMENT, __VA_ARGS__); } while (0)
/** The same of the reserve at the end of *p, a public struct (core.h). */
#define REQUIRE_RESERVE(type, p)                                                                     \
    REQUIRE(trine_is_zeros((p)->reserved, (int)(sizeof(p)->reserved / sizeof *(p)->reserved)), #type \
            ".reserved is not zero: the struct was not cleared, or the program was made for a later version of trine")
static inline bool trine_is_zeros(const int64_t *words, int count)
{
    int64_t any = 0;
    for (int k = 0; k < count; k++) any |= words[k];
    return !any;
}

/** Log at level 1 warnings, 2 decisions and timings, 3 detail. Cheap when nobody listens. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
TRINE_API void trine_log(trine_context ctx, int level, const char *format, ...);

/* ------------------------------------------------------------------ device */

/** Make ctx's device current; *saved goes to leave. For what launches by itself. No-ops on the CPU. */
TRINE_API void trine_device_enter(trine_context ctx, int *saved);
TRINE_API void trine_device_leave(trine_context ctx, int saved);

/* -------------------------------------------------------- reference counts */

/** Reference counts of every handle: first member `int refs`. */
static inline void trine_retain(int *refs) { __atomic_add_fetch(refs, 1, __ATOMIC_RELAXED); }
/** True when that was the last reference. */
static inline bool trine_release(int *refs) { return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0; }
/** One more reference to a handle of libtrine's, which the destroy function takes back. */
TRINE_API trine_context trine_retain_context(trine_context ctx);
TRINE_API trine_matrix trine_retain_matrix(trine_matrix A);

/* ------------------------------------------------------------------ memory */

/** count * size bytes of host memory, 64-byte aligned, not cleared; never NULL for count = 0. NULL and a sentence on
 *  failure. */
TRINE_API void *trine_host_alloc(trine_context ctx, int64_t count, size_t size);
/** The same, cleared. */
TRINE_API void *trine_host_calloc(trine_context ctx, int64_t count, size_t size);
/** status of p = count elements of *p: TRY(ALLOC(ctx, p, n)). Released with trine_free(ctx, TRINE_HOST, p). C only. */
#define ALLOC(ctx, p, count) (((p) = trine_host_alloc((ctx), (count), sizeof *(p))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)
#define CALLOC(ctx, p, count) \
    (((p) = trine_host_calloc((ctx), (count), sizeof *(p))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)

/* --------------------------------------------------- calls at the same time */

/** Who uses an object right now: any number of calls that leave it as it is, or one that changes it. Nobody waits: a
 *  call that does not fit beside those in flight is refused. Zeroed: nobody. */
typedef struct { int calls; /* atomic; -1: one that changes it */ } trine_usage;

static inline bool trine_enter(trine_usage *usage)
{
    int calls = __atomic_load_n(&usage->calls, __ATOMIC_RELAXED);
    while (calls >= 0)
        if (__atomic_compare_exchange_n(&usage->calls, &calls, calls + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    return false;
}
static inline void trine_leave(trine_usage *usage) { __atomic_sub_fetch(&usage->calls, 1, __ATOMIC_RELEASE); }
static inline bool trine_enter_alone(trine_usage *usage)
{
    int nobody = 0;
    return __atomic_compare_exchange_n(&usage->calls, &nobody, -1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline void trine_leave_alone(trine_usage *usage) { __atomic_store_n(&usage->calls, 0, __ATOMIC_RELEASE); }

/** A solve begins: the plan must not be changing, the memory of the solve (of its work) not be in use; else
 *  TRINE_ERR_STATE, whose sentence ends with the advice to use works of trine_MODULE_work. */
static inline trine_status trine_solve_begin(trine_usage *plan, trine_usage *memory, const char *module)
{
    if (!trine_enter(plan)) return trine_fail(TRINE_ERR_STATE, "another thread is giving the plan new values");
    if (trine_enter_alone(memory)) return TRINE_SUCCESS;
    trine_leave(plan);
    return trine_fail(
        TRINE_ERR_STATE,
        "a solve with the same memory is in flight in another thread: give each thread a work of its own (trine_%s_work)",
        module);
}
static inline void trine_solve_end(trine_usage *plan, trine_usage *memory)
{
    trine_leave_alone(memory);
    trine_leave(plan);
}
/** A plan is about to be given new values: no solve with it may be in flight; else TRINE_ERR_STATE.
 *  trine_leave_alone ends it. */
static inline trine_status trine_update_begin(trine_usage *plan)
{
    if (trine_enter_alone(plan)) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STATE, "the plan is in use by another thread: new values have to wait for its solves");
}

/* -------------------------------------------------------------------- work */

/** First member of every module's work object. A work keeps its plan alive, but not the plan's own one: that would
 *  never die. */
struct trine_work_s {
    trine_context ctx;
    void *plan;                               /* whose solves it is for */
    trine_status (*destroy_plan)(void *plan); /* drops the work's reference; NULL: it has none */
    void (*destroy)(trine_work work);         /* frees the module's part and the struct itself; plan and ctx are
                                                 released after it */
    trine_usage usage;                        /* by solves: one at a time */
};

/* ----------------------------------------------------- checks of arguments */

static inline bool trine_dtype_is_valid(trine_dtype t) { return t >= TRINE_S && t <= TRINE_Z; }
static inline bool trine_dtype_is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }
static inline bool trine_dtype_is_single(trine_dtype t) { return t == TRINE_S || t == TRINE_C; }
/** TRINE_ERR_MEMORY for more vectors of n rows than any memory holds, so that sizes of works do not overflow. nrhs
 *  >= 0. */
TRINE_API trine_status trine_check_nrhs(int64_t nrhs, int64_t n);
/** exec may be NULL. */
static inline trine_status trine_check_exec(const trine_exec *exec)
{
    if (exec) REQUIRE_RESERVE(trine_exec, exec);
    return TRINE_SUCCESS;
}
/** What trine_supernodal_analyse asks of panels. */
TRINE_API trine_status trine_panels_check(const trine_panels *panels);

/* ----------------------------------------------------------------- vectors */

/** Y := Y + X, in the context's space, where the layouts may differ; X != Y. Asynchronous on stream (NULL = the
 *  context's), capturable. */
TRINE_API trine_status trine_vectors_add(trine_context ctx, trine_dtype t, const trine_dense *X, const trine_dense *Y,
                                         void *stream);
/** R := B - A X with a CSR matrix A in its context's space, for vectors of A's dtype there. Every row is summed to
 *  about twice the precision (on a CPU in long double) and rounded once. R may be B, not X. Asynchronous as well. */
TRINE_API trine_status trine_vectors_residual(trine_matrix A, const trine_dense *X, const trine_dense *B,
                                              const trine_dense *R, void *stream);

/* ----------------------------------------------------------------- threads */

/** Between these two, OpenMP regions that other libraries enter from this thread run on it alone. `before` goes from
 *  one to the other. */
TRINE_API int trine_openmp_limit(void);
TRINE_API void trine_openmp_restore(int before);

/* ------------------------------------------------------------------ ranges */

/** First statement of a public function: from here to its end is a range with its name in a profile (NVTX, for
 *  Nsight Systems). Costs some nanoseconds where no profiler listens, and a call that does nothing in a build
 *  without CUDA. */
#define TRINE_RANGE __attribute__((cleanup(trine_range_end), unused)) int trine_range_ = trine_range_begin(__func__)
TRINE_API int trine_range_begin(const char *name);
TRINE_API void trine_range_end(int *range);

#ifdef __cplusplus
}
#endif
#endif
