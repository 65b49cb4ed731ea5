/* What the plans of all modules have in common, written once: who keeps a plan alive, its work objects, which calls may meet, and what
 * is asked of the arguments of numeric and solve. A module's plan begins with a struct trine_plan, its work with a trine_plan_work. */
#ifndef TRINE_CORE_PLAN_H
#define TRINE_CORE_PLAN_H

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trine_plan;

/** Scratch of one solve in flight: first member of every module's work. */
typedef struct {
    struct trine_work_s base;
    int64_t max_nrhs;
    void *buffer;                    /* in the context's space; NULL: nothing needed */
    bool owns_buffer;
} trine_plan_work;

/** What the plans of a module do in their own way. */
typedef struct {
    const char *advice;              /* how to solve several at a time, for trine_solve_begin */
    size_t work_size;                /* of the module's work struct */
    size_t (*work_bytes)(struct trine_plan *plan, int64_t nrhs);
    /** Fill the work beyond its first member, whose buffer is there. A failure is followed by work_end. */
    trine_status (*work_begin)(struct trine_plan *plan, trine_plan_work *work);
    void (*work_end)(trine_plan_work *work);
    /** Free the plan's parts; of what is below, nothing. Also of a plan whose analysis has failed. */
    void (*release)(struct trine_plan *plan);
    /** trine_MODULE_solve. */
    trine_status (*solve)(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X, const trine_exec *exec);
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
    double analyse_seconds, numeric_seconds;
};

/** A new plan of `size` bytes, with one reference, zeroed beyond struct trine_plan. NULL: no memory, and the sentence is set. */
void *trine_plan_new(trine_context ctx, const trine_plan_kind *kind, size_t size);
/** Drop a reference; the last one frees. */
trine_status trine_plan_drop(struct trine_plan *plan);

/** trine_MODULE_work. `bytes` may be NULL where no buffer is given. */
trine_status trine_plan_make_work(struct trine_plan *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out);
/** The plan's own work, at the end of its analysis. It does not keep the plan alive. */
trine_status trine_plan_make_own_work(struct trine_plan *plan, int64_t nrhs);

/** Around taking new values: no solve may be in flight, and there are none if it fails. Always end what has begun; returns `status`. */
trine_status trine_plan_numeric_begin(struct trine_plan *plan, trine_space space, const trine_exec *exec, double *start);
trine_status trine_plan_numeric_end(struct trine_plan *plan, trine_status status, double start);

/** What a solve X := alpha op(A)^-1 B has been asked for, checked. */
typedef struct {
    trine_transpose op;
    const void *alpha;               /* one element of the plan's dtype; never NULL */
    trine_dense B, X;                /* with ld set */
    trine_plan_work *work;
    void *stream;
    bool is_done;                    /* nothing to compute: no rows, no columns, or alpha = 0, for which X is zero */
} trine_plan_call;

/** Check a solve's arguments and begin it: the plan stays alive and as it is, and the work is this solve's, until trine_plan_solve_end. After
 *  a failure nothing has begun. */
trine_status trine_plan_solve_begin(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                                              const trine_exec *exec, trine_plan_call *call);
/** Returns `status`. The plan may be gone afterwards. */
trine_status trine_plan_solve_end(struct trine_plan *plan, const trine_plan_call *call, trine_status status);

/** trine_MODULE_as_op: the operator op(A)^-1 (src/operator/of_plan.c). */
trine_status trine_plan_as_op(struct trine_plan *plan, trine_op *op);

/** Y := alpha X for blocks of the plan's rows and dtype, in the context's space; layouts may differ, and Y may be X. alpha NULL = 1. Asynchronous
 *  on stream (src/operator/of_plan.c). */
trine_status trine_plan_scale(const struct trine_plan *plan, const void *alpha, const trine_dense *X, const trine_dense *Y, void *stream);

/** Of trine_MODULE_check: its arguments, and TRINE_ERR_STATE before the first numeric that went well. */
trine_status trine_plan_check_begin(const struct trine_plan *plan, const trine_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
