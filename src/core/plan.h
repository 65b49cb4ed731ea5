/* What the plans of all modules have in common, written once: who keeps a plan alive, its work objects, which calls
 * may meet, and what is asked of the arguments of numeric and solve. A module's plan begins with a struct
 * trine_plan, its work with a trine_plan_work. libtrine_direct's plan is one as well: what is marked TRINE_API
 * belongs to the private interface, whose number stands in direct_interface.h. */
#ifndef TRINE_CORE_PLAN_H
#define TRINE_CORE_PLAN_H

#include "core/direct_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trine_plan;

/** Scratch of one solve in flight: first member of every module's work. */
typedef struct {
    struct trine_work_s base;
    int64_t max_nrhs;
    void *buffer;                    /* in the context's space; NULL: nothing needed */
    size_t bytes;                    /* of the buffer */
    bool owns_buffer;
} trine_plan_work;

/** What the plans of a module do in their own way. */
typedef struct {
    const char *name;                /* of the module: "triangular" */
    const char *without_values;      /* why a plan may have no values, a sentence; NULL: numeric has not been called,
                                        or has failed */
    bool works_need_values;          /* the size of a work depends on the values, so works are made between two
                                        numerics */
    size_t work_size;                /* of the module's work struct */
    size_t (*work_bytes)(struct trine_plan *plan, int64_t nrhs);
    /** What is allocated as the buffer where the caller gives none; work_begin allocates the rest. NULL: work_bytes,
     *  all of it. */
    size_t (*own_bytes)(struct trine_plan *plan, int64_t nrhs);
    /** Fill the work beyond its first member, whose buffer is there. A failure is followed by work_end. NULL:
     *  nothing to do. */
    trine_status (*work_begin)(struct trine_plan *plan, trine_plan_work *work);
    void (*work_end)(trine_plan_work *work);
    /** Free the plan's parts; of what is below, nothing. Also of a plan whose analysis has failed. */
    void (*release)(struct trine_plan *plan);
    /** trine_MODULE_solve, with alpha; for trine_plan_as_op alone. */
    trine_status (*solve)(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec);
} trine_plan_kind;

/** First member of every plan. */
struct trine_plan {
    const trine_plan_kind *kind;
    trine_context ctx;
    int refs;                        /* the caller's, one for each work, one for each solve in flight */
    int64_t n;                       /* rows of right-hand sides and solutions */
    trine_dtype dtype;               /* of the caller's values and vectors */
    unsigned ops;                    /* that solves may ask for; with real numbers T and H are one */
    bool has_values;                 /* the last numeric went well */
    trine_work own_work;             /* of solves that bring none */
    trine_usage usage;               /* by solves; alone: by numeric */
    double analyse_seconds, numeric_seconds; /* host time of analyse and of the last numeric that went well */
};

/** A new plan of `size` bytes, with one reference, zeroed beyond struct trine_plan. NULL: no memory, and the
 *  sentence is set. */
TRINE_API void *trine_plan_new(trine_context ctx, const trine_plan_kind *kind, size_t size);
/** Drop a reference; the last one frees. */
TRINE_API trine_status trine_plan_drop(struct trine_plan *plan);
/** The analysis that began at `start` has ended: its time, and the plan's line in the log, "MODULE: n N, what,
 *  analysed in ... s". */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
TRINE_API void trine_plan_analysed(struct trine_plan *plan, double start, const char *what, ...);

/** trine_MODULE_work. `bytes` may be NULL where no buffer is given. */
TRINE_API trine_status trine_plan_make_work(struct trine_plan *plan, int64_t nrhs, void *buffer, size_t *bytes,
                                            trine_work *out);
/** The plan's own work, at the end of its analysis. It does not keep the plan alive. */
TRINE_API trine_status trine_plan_make_own_work(struct trine_plan *plan, int64_t nrhs);

/** Around taking new values, which are in `space`: no solve may be in flight, and there are no values if it fails.
 *  The plan stays alive from begin to end. Always end what has begun; returns `status`. */
TRINE_API trine_status trine_plan_numeric_begin(struct trine_plan *plan, trine_space space, const trine_exec *exec,
                                                double *start);
TRINE_API trine_status trine_plan_numeric_end(struct trine_plan *plan, trine_status status, double start);

/** Around whatever uses a plan as it is, with exec's work or else the plan's own: the plan stays alive and as it is,
 *  and the work is this use's, until the end. `vectors`: how a sentence calls what there are nrhs of. Asks whether the
 *  work is the plan's and large enough, and whether op was announced; whether there are values is for the caller to
 *  ask. After a failure nothing has begun. The end returns `status`; the plan may be gone afterwards. */
trine_status trine_plan_use_begin(struct trine_plan *plan, trine_transpose op, const char *vectors, int64_t nrhs,
                                  const trine_exec *exec, trine_plan_work **work);
trine_status trine_plan_use_end(struct trine_plan *plan, trine_plan_work *work, trine_status status);

/** What a solve X := alpha op(A)^-1 B has been asked for, checked. */
typedef struct {
    trine_transpose op;
    const void *alpha;               /* one element of the plan's dtype; never NULL */
    trine_dense B, X;                /* with ld set */
    trine_plan_work *work;
    void *stream;
    bool is_done;                    /* nothing to compute: no rows, no columns, or alpha = 0, for which X is zero */
} trine_plan_call;

/** Check a solve's arguments and begin it: the plan stays alive and as it is, and the work is this solve's, until
 *  trine_plan_solve_end. After a failure nothing has begun. */
TRINE_API trine_status trine_plan_solve_begin(struct trine_plan *plan, trine_transpose op, const void *alpha,
                                              const trine_dense *B, const trine_dense *X, const trine_exec *exec,
                                              trine_plan_call *call);
/** Returns `status`. The plan may be gone afterwards. */
TRINE_API trine_status trine_plan_solve_end(struct trine_plan *plan, const trine_plan_call *call, trine_status status);

/** trine_MODULE_as_op: the operator op(A)^-1 (src/operator/leaves.c). */
TRINE_API trine_status trine_plan_as_op(struct trine_plan *plan, trine_op *op);

/** Y := alpha X for blocks of the plan's rows and dtype, in the context's space; layouts may differ, and Y may be X.
 *  alpha NULL = 1. Asynchronous on stream (src/operator/update.c). */
TRINE_API trine_status trine_plan_scale(const struct trine_plan *plan, const void *alpha, const trine_dense *X,
                                        const trine_dense *Y, void *stream);

/** Of trine_MODULE_check: its arguments, and TRINE_ERR_STATE before the first numeric that went well. */
trine_status trine_plan_check_begin(const struct trine_plan *plan, const trine_exec *exec);
/** TRINE_ERR_STATE unless the last numeric went well; `what`: the function that asks. */
trine_status trine_plan_needs_values(const struct trine_plan *plan, const char *what);
/** Around reading what numeric writes: TRINE_ERR_STATE beside another thread's numeric, or without values. After a
 *  failure nothing has begun; trine_leave(&plan->usage) ends it. */
TRINE_API trine_status trine_plan_read_begin(struct trine_plan *plan, const char *what);

#ifdef __cplusplus
}
#endif
#endif
