/* Contexts, status codes, logging, memory: what every other part of trine stands on.
 *
 * Structs. Those that are options, arguments of a call (trine_exec) or reports (..._info, trine_condition,
 * trine_matrix_structure, trine_memory) end with `reserved`: a later version puts new members there, so that no size
 * changes and programs need no new build. Clear a struct before setting members ({0} in C, {} in C++; NULL where a
 * function takes that). What is given with reserve that is not zero is refused with TRINE_ERR_ARGUMENT: a program
 * that sets a member which this library does not know fails instead of being misunderstood. Reports are written as a
 * whole, their reserve as zeros. Descriptions of arrays (trine_dense, trine_panels, trine_strides), elements of
 * arrays (trine_gtsv_info, which a GPU writes, trine_supernodal_level), trine_allocator and trine_accuracy never
 * change. */
#ifndef TRINE_CORE_H
#define TRINE_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TRINE_API __attribute__((visibility("default")))
#else
#define TRINE_API
#endif

#define TRINE_VERSION_MAJOR 0
#define TRINE_VERSION_MINOR 1
#define TRINE_VERSION_PATCH 0

/* ------------------------------------------------------------------ status */

/** Every function that can fail returns a trine_status; 0 is success. Names and texts come from this one list. */
#define TRINE_STATUS_LIST(X)                                                      \
    X(TRINE_SUCCESS,            "success")                                        \
    X(TRINE_ERR_ARGUMENT,       "invalid argument")                               \
    X(TRINE_ERR_STATE,          "called before the phase it needs, or beside a call that excludes it") \
    X(TRINE_ERR_MEMORY,         "out of host or device memory")                   \
    X(TRINE_ERR_STRUCTURE,      "the matrix does not have the structure asked for") \
    X(TRINE_ERR_SINGULAR,       "zero or missing pivot")                          \
    X(TRINE_ERR_NOT_DEFINITE,   "the matrix is not positive definite")            \
    X(TRINE_ERR_UNSUPPORTED,    "this combination is not supported")              \
    X(TRINE_ERR_NOT_BUILT,      "this part was not built into the library")       \
    X(TRINE_ERR_DEVICE,         "the device or its runtime failed")               \
    X(TRINE_ERR_IO,             "a file cannot be read or written")               \
    X(TRINE_ERR_FORMAT,         "a file does not follow its format")              \
    X(TRINE_ERR_NO_CONVERGENCE, "iteration limit or breakdown")
#define TRINE_X(name, text) name,
typedef enum { TRINE_STATUS_LIST(TRINE_X) TRINE_STATUS_COUNT } trine_status;
#undef TRINE_X

/** Text of a status, for example "zero or missing pivot". Never NULL. */
TRINE_API const char *trine_status_string(trine_status status);

/** The whole sentence of this thread's last failure: what, where, which value ("column index 40 in row 3 is outside
 *  0..39"). Valid until the next failure on this thread; never NULL; "" when nothing failed yet. The only state of the
 *  library that is not in a handle. */
TRINE_API const char *trine_last_error(void);

/** Store a sentence, written as printf would, for this thread's trine_last_error, and return status. For code that
 *  trine calls back, and for code around trine that fails in its way: `return trine_fail(TRINE_ERR_ARGUMENT, "%d
 *  steps", steps);`. More than 511 bytes are cut off. Never fails itself. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
TRINE_API trine_status trine_fail(trine_status status, const char *format, ...);

/* ------------------------------------------------------------------- enums */
/* Every enum of an options struct has 0 = automatic or the common default: a zeroed struct means "choose for me". */

typedef enum {
    TRINE_S = 1,
    TRINE_D,
    TRINE_C,
    TRINE_Z
} trine_dtype;    /* float, double, float complex, double
                     complex */
typedef enum { TRINE_N = 1, TRINE_T = 2, TRINE_H = 4 } trine_transpose; /* op(A) = A, A^T, A^H; a bit each, for masks */
typedef enum { TRINE_UPLO_AUTO, TRINE_LOWER, TRINE_UPPER } trine_uplo;
typedef enum { TRINE_NONUNIT, TRINE_UNIT } trine_diag;
typedef enum { TRINE_COLMAJOR, TRINE_ROWMAJOR } trine_layout;
typedef enum { TRINE_HOST, TRINE_DEVICE } trine_space;
/** The order that sums are made in: DETERMINISTIC, the same bits in every run, or the plan is refused. */
typedef enum { TRINE_ORDER_AUTO, TRINE_ORDER_DETERMINISTIC, TRINE_ORDER_FREE } trine_summation;

/** Bytes of one element of t: 4, 8, 8, 16; 0 for anything else. */
TRINE_API size_t trine_dtype_size(trine_dtype t);
/** The eps of t, in which errors are reported: the distance from 1 to the next number, 2^-23 for S and C, 2^-52 for
 *  D and Z; 0 for anything else. */
TRINE_API double trine_dtype_eps(trine_dtype t);

/* ----------------------------------------------------------------- context */

/* Handles are reference counted: a plan keeps its context alive, and a work its plan, so that handles may be destroyed
 * in any order, also while another thread's call with them runs. A destroy function drops the caller's reference, sets
 * the handle to NULL, and accepts NULL.
 * Several threads may solve with one plan at the same time, each with a work of its own. Whatever would not go well
 * beside a call that runs in another thread is refused with TRINE_ERR_STATE: a second solve with the same work (or
 * without one: that of the plan), new values while a solve runs, a solve while new values are taken. On a GPU a call
 * is over when it returns; what it has put on one stream is in order there, and streams are for the caller to keep
 * apart. */
typedef struct trine_context_s *trine_context; /* one device, CPU threads, an allocator, a log */
typedef struct trine_work_s *trine_work; /* scratch and state of one solve in flight */

/** Open a device: "auto", "cpu", "cpu:4" (threads), "cuda", "cuda:1" (ordinal); NULL = "auto". "auto" takes the first
 *  CUDA device and falls back to the CPU (trine_context_get_info says why). Threads default to OMP_NUM_THREADS or all
 *  cores. An explicit device that is not there or not built in fails with TRINE_ERR_DEVICE or TRINE_ERR_NOT_BUILT.
 *  fork(): threads do not pass to the child, and OpenMP does not notice: a child whose parent ran anything on several
 *  OpenMP threads hangs in its first call on several. A context of one thread ("cpu:1", made in the child or before)
 *  never starts any, nor lets the libraries behind direct.h start OpenMP's; BLAS threads are the caller's to set.
 *  Triangular, supernodal and tridiagonal solves go on with contexts of more threads too (on the one thread that there
 *  is), but for the level-by-level variants. CUDA contexts do not survive a fork.
 *  The caller's current CUDA device stays as it was, here and in every other call. */
TRINE_API trine_status trine_context_create(trine_context *ctx, const char *device);
TRINE_API trine_status trine_context_destroy(trine_context *ctx);

typedef struct {
    trine_space space; /* where this context's vectors live: TRINE_HOST (cpu) or TRINE_DEVICE (cuda) */
    int device; /* CUDA ordinal, -1 on the CPU */
    int threads; /* that CPU code may use: the caller's and helpers of the context, or OpenMP's */
    int multiprocessors; /* 0 on the CPU */
    int64_t memory_bytes; /* of the device; 0 on the CPU */
    int compute_capability; /* 90 for Hopper; 0 on the CPU */
    char name[96]; /* "NVIDIA H200", or "cpu, 2 threads" */
    char fallback[160]; /* why "auto" did not take a GPU; "" if it did or was not asked to */
    int64_t reserved[4]; /* zeros */
} trine_context_info;
TRINE_API trine_status trine_context_get_info(trine_context ctx, trine_context_info *info);

/** What this libtrine was built with, on any machine: "0.1.0", 1 if CUDA kernels are in it,
 *  "80-real;90-real;90-virtual". Does nothing for NULL. */
typedef struct {
    const char *version;
    int cuda;
    const char *cuda_architectures;
    int cuda_runtime_version;
    int openmp;
    int64_t reserved[4]; /* zeros */
} trine_build_info;
TRINE_API void trine_get_build_info(trine_build_info *info);

/** Messages of at most `level` (1 warnings, 2 decisions and timings, 3 detail) go to fn(user, level, message),
 *  without a newline. The library never prints by itself. fn NULL = silence (the default). */
typedef void (*trine_log_fn)(void *user, int level, const char *message);
TRINE_API trine_status trine_context_set_log(trine_context ctx, trine_log_fn fn, void *user, int level);

/** Host memory through the caller: alloc returns NULL when there is none (reported as TRINE_ERR_MEMORY), 64-byte
 *  aligned. Only before the first handle is made from ctx, else TRINE_ERR_STATE. */
typedef struct {
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *p);
    void *user;
} trine_allocator;
TRINE_API trine_status trine_context_set_allocator(trine_context ctx, const trine_allocator *host,
                                                   const trine_allocator *device);

/** The stream (a cudaStream_t) that calls without a trine_exec run on; a stream of the context's own by default.
 *  CUDA only. */
TRINE_API trine_status trine_context_set_stream(trine_context ctx, void *stream);
TRINE_API trine_status trine_context_get_stream(trine_context ctx, void **stream);
/** Wait for everything on the context's stream, and report what failed there. No-op on the CPU. */
TRINE_API trine_status trine_context_synchronize(trine_context ctx);

/** Between these two, ctx's device is the current CUDA device of this thread, and the one that was is so again
 *  afterwards: for CUDA calls of your own, and for functions that run on the current device (tridigpu.h). *saved
 *  goes from one to the other. No-op on the CPU. */
TRINE_API trine_status trine_context_enter(trine_context ctx, int *saved);
TRINE_API trine_status trine_context_leave(trine_context ctx, int saved);

/** Memory from the context's allocator: host, or (space TRINE_DEVICE, CUDA contexts only) device memory. bytes = 0
 *  gives NULL. */
TRINE_API trine_status trine_alloc(trine_context ctx, trine_space space, size_t bytes, void **p);
/** Accepts NULL. Frees what trine_alloc gave, from the same space. */
TRINE_API void trine_free(trine_context ctx, trine_space space, void *p);
/** Copy between spaces on the context's stream and wait for it. */
TRINE_API trine_status trine_copy(trine_context ctx, void *dst, trine_space dst_space, const void *src,
                                  trine_space src_space, size_t bytes);

/** Monotonic wall clock in seconds. */
TRINE_API double trine_wall_time(void);

/* ----------------------------------------------------- arguments of a solve */

/** How one call runs. NULL or zeroed: the context's stream, the plan's own work (then one solve at a time, a second
 *  one that another thread begins is refused: TRINE_ERR_STATE). */
typedef struct {
    void *stream; /* cudaStream_t; ignored on the CPU */
    trine_work work;
    int64_t reserved[2]; /* zeros */
} trine_exec;

/** A dense block of vectors in the context's space: rows x cols of the plan's dtype, element (i,j) at data[i + j*ld]
 *  (TRINE_COLMAJOR, ld >= rows) or data[i*ld + j] (TRINE_ROWMAJOR, ld >= cols). ld = 0 means the smallest. */
typedef struct {
    void *data;
    int64_t rows, cols, ld;
    trine_layout layout;
} trine_dense;

/** Bytes that a plan takes, told before it is made by trine_triangular_memory and its like, from the context's
 *  allocators: never less than what is then allocated. Graphs and streams of the GPU's driver and what threads need
 *  are not in it, nor is what a numeric with values of the host takes meanwhile on a GPU, which is their copy. */
typedef struct {
    int64_t host_kept, device_kept; /* by the plan, its own work included */
    int64_t host_peak, device_peak; /* at most at a time while it is made, what is kept included */
    int64_t work; /* of a work for max_nrhs right-hand sides, in the context's space */
    int64_t reserved[4]; /* zeros */
} trine_memory;

/** Release a work object made by one of the plans (trine_triangular_work, ...), and the plan with the last of them
 *  and its handle. TRINE_ERR_STATE: a solve with it runs in another thread. */
TRINE_API trine_status trine_work_destroy(trine_work *work);

#ifdef __cplusplus
}
#endif
#endif
