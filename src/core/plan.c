#include "core/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"

/* ------------------------------------------------------------------ life */

void *trine_plan_new(trine_context ctx, const trine_plan_kind *kind, size_t size)
{
    struct trine_plan *plan = trine_host_calloc(ctx, 1, size);
    if (!plan) return NULL;
    *plan = (struct trine_plan){.kind = kind, .ctx = trine_retain_context(ctx), .refs = 1};
    return plan;
}

trine_status trine_plan_drop(struct trine_plan *plan)
{
    if (!trine_release(&plan->refs)) return TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    trine_work_destroy(&plan->own_work);
    plan->kind->release(plan);
    trine_free(ctx, TRINE_HOST, plan);
    return trine_context_destroy(&ctx);
}

void trine_plan_analysed(struct trine_plan *plan, double start, const char *what, ...)
{
    plan->analyse_seconds = trine_wall_time() - start;
    if (!plan->ctx->log || plan->ctx->log_level < 2) return;
    char said[300];
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(said, sizeof said, what, arguments);
    va_end(arguments);
    trine_log(plan->ctx, 2, "%s: n %lld, %s, analysed in %.3g s", plan->kind->name, (long long)plan->n, said,
              plan->analyse_seconds);
}

/* ------------------------------------------------------------------ work */

static trine_status drop_plan(void *plan) { return trine_plan_drop(plan); }

static void destroy_work(trine_work base)
{
    trine_plan_work *work = (trine_plan_work *)base;
    trine_context ctx = base->ctx;
    const struct trine_plan *plan = base->plan;
    if (plan->kind->work_end) plan->kind->work_end(work);
    if (work->owns_buffer) trine_free(ctx, ctx->info.space, work->buffer);
    trine_free(ctx, TRINE_HOST, work);
}

static trine_status new_work(struct trine_plan *plan, int64_t nrhs, void *buffer, size_t given, bool keeps_plan,
                             trine_work *out)
{
    trine_status status = TRINE_SUCCESS;
    const size_t needed = (plan->kind->own_bytes ? plan->kind->own_bytes : plan->kind->work_bytes)(plan, nrhs);
    trine_plan_work *work = trine_host_calloc(plan->ctx, 1, plan->kind->work_size);
    if (!work) return TRINE_ERR_MEMORY;
    work->base = (struct trine_work_s){.ctx = trine_retain_context(plan->ctx), .plan = plan, .destroy = destroy_work};
    if (keeps_plan) {
        trine_retain(&plan->refs);
        work->base.destroy_plan = drop_plan;
    }
    work->max_nrhs = nrhs;
    work->buffer = buffer;
    work->bytes = given;
    *out = &work->base;
    if (!buffer && needed) {
        work->bytes = needed;
        TRY(trine_alloc(plan->ctx, plan->ctx->info.space, needed, &work->buffer));
        work->owns_buffer = true;
    }
    if (plan->kind->work_begin) TRY(plan->kind->work_begin(plan, work));
done:
    if (status) trine_work_destroy(out);
    return status;
}

trine_status trine_plan_make_work(struct trine_plan *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    if (out) *out = NULL;
    REQUIRE(plan, "plan is NULL");
    REQUIRE(nrhs >= 0, "nrhs is %lld", (long long)nrhs);
    REQUIRE(bytes || out, "bytes and work are NULL");
    REQUIRE(bytes || !buffer, "a buffer is given, but its bytes are not");
    REQUIRE((uintptr_t)buffer % 256 == 0, "the buffer is not 256-byte aligned");
    trine_status status = trine_check_nrhs(nrhs, plan->n);
    if (status) return status;
    const bool reads = plan->kind->works_need_values;
    if (reads) status = trine_plan_read_begin(plan, "a work");
    if (status) return status;
    const size_t needed = plan->kind->work_bytes(plan, nrhs), given = bytes ? *bytes : 0;
    if (bytes) *bytes = needed;
    if (out && buffer && given < needed)
        FAIL(TRINE_ERR_ARGUMENT, "the work needs %zu bytes, the buffer has %zu", needed, given);
    if (out) TRY(new_work(plan, nrhs, buffer, given, true, out));
done:
    if (reads) trine_leave(&plan->usage);
    return status;
}

trine_status trine_plan_make_own_work(struct trine_plan *plan, int64_t nrhs)
{
    return new_work(plan, nrhs, NULL, 0, false, &plan->own_work);
}

/* --------------------------------------------------------------- numeric */

trine_status trine_plan_numeric_begin(struct trine_plan *plan, trine_space space, const trine_exec *exec, double *start)
{
    REQUIRE(space == TRINE_HOST || space == TRINE_DEVICE, "space %d is neither host nor device", (int)space);
    REQUIRE(space == TRINE_HOST || plan->ctx->cuda, "a CPU context has no device memory");
    trine_status status = trine_check_exec(exec);
    if (status) return status;
    *start = trine_wall_time();
    status = trine_update_begin(&plan->usage);
    if (status) return status;
    trine_retain(&plan->refs); /* whoever destroys the plan meanwhile */
    plan->has_values = false;
    return TRINE_SUCCESS;
}

trine_status trine_plan_numeric_end(struct trine_plan *plan, trine_status status, double start)
{
    plan->has_values = !status;
    if (!status) plan->numeric_seconds = trine_wall_time() - start;
    trine_leave_alone(&plan->usage);
    trine_plan_drop(plan);
    return status;
}

trine_status trine_plan_needs_values(const struct trine_plan *plan, const char *what)
{
    if (plan->has_values) return TRINE_SUCCESS;
    if (plan->kind->without_values) return trine_fail(TRINE_ERR_STATE, "%s", plan->kind->without_values);
    return trine_fail(TRINE_ERR_STATE, "%s comes after numeric", what);
}

trine_status trine_plan_read_begin(struct trine_plan *plan, const char *what)
{
    if (!trine_enter(&plan->usage)) return trine_fail(TRINE_ERR_STATE, "another thread is giving the plan new values");
    const trine_status status = trine_plan_needs_values(plan, what);
    if (status) trine_leave(&plan->usage);
    return status;
}

trine_status trine_plan_check_begin(const struct trine_plan *plan, const trine_exec *exec)
{
    const trine_status status = trine_check_exec(exec);
    return status ? status : trine_plan_needs_values(plan, "check");
}

/* ------------------------------------------------------------------- use */

static bool is_announced(const struct trine_plan *plan, trine_transpose op)
{
    return plan->ops &
           (op == TRINE_N || trine_dtype_is_complex(plan->dtype) ? (unsigned)op : (unsigned)(TRINE_T | TRINE_H));
}

trine_status trine_plan_use_begin(struct trine_plan *plan, trine_transpose op, const char *vectors, int64_t nrhs,
                                  const trine_exec *exec, trine_plan_work **out)
{
    trine_plan_work *work = (trine_plan_work *)(exec && exec->work ? exec->work : plan->own_work);
    REQUIRE(work->base.plan == plan, "the work object belongs to another plan");
    if (!is_announced(plan, op)) return trine_fail(TRINE_ERR_STATE, "this op was not announced to analyse");
    if (plan->n && nrhs > work->max_nrhs)
        return trine_fail(TRINE_ERR_STATE, "%lld %s, but the %s was made for %lld", (long long)nrhs, vectors,
                          exec && exec->work ? "work" : "plan", (long long)work->max_nrhs);
    trine_retain(&plan->refs); /* whoever destroys the plan meanwhile */
    const trine_status status = trine_solve_begin(&plan->usage, &work->base.usage, plan->kind->name);
    if (status) trine_plan_drop(plan);
    *out = work;
    return status;
}

trine_status trine_plan_use_end(struct trine_plan *plan, trine_plan_work *work, trine_status status)
{
    trine_solve_end(&plan->usage, &work->base.usage);
    trine_plan_drop(plan);
    return status;
}

/* ----------------------------------------------------------------- solve */

static const void *one_of_dtype(trine_dtype t)
{
    static const float single[2] = {1, 0};
    static const double wide[2] = {1, 0};
    return trine_dtype_is_single(t) ? (const void *)single : (const void *)wide;
}

static bool is_zero(trine_dtype t, const void *a)
{
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    for (int k = 0; k < parts; k++)
        if (trine_dtype_is_single(t) ? ((const float *)a)[k] != 0 : ((const double *)a)[k] != 0) return false;
    return true;
}

/** X := 0, asynchronously on a GPU. */
static trine_status clear(const struct trine_plan *plan, const trine_dense *X, void *stream)
{
    const bool by_rows = X->layout == TRINE_ROWMAJOR;
    const size_t element = trine_dtype_size(plan->dtype), step = (size_t)X->ld * element;
    const size_t length = (size_t)(by_rows ? X->cols : plan->n) * element;
    const int64_t lines = by_rows ? plan->n : X->cols;
    if (plan->ctx->cuda) return trine_device_fill_lines_async(plan->ctx, X->data, step, 0, length, lines, stream);
    for (int64_t i = 0; i < lines; i++) memset((char *)X->data + (size_t)i * step, 0, length);
    return TRINE_SUCCESS;
}

trine_status trine_plan_solve_begin(struct trine_plan *plan, trine_transpose op, const void *alpha,
                                    const trine_dense *B, const trine_dense *X, const trine_exec *exec,
                                    trine_plan_call *call)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(op == TRINE_N || op == TRINE_T || op == TRINE_H, "op %d is none of N, T, H", (int)op);
    *call = (trine_plan_call){
        .op = op, .alpha = alpha ? alpha : one_of_dtype(plan->dtype), .stream = trine_exec_stream(plan->ctx, exec)};
    trine_status status = trine_check_dense(B, plan->n, "B", &call->B);
    if (!status) status = trine_check_dense(X, plan->n, "X", &call->X);
    if (!status) status = trine_check_exec(exec);
    if (status) return status;
    const trine_dense *b = &call->B, *x = &call->X;
    REQUIRE(b->cols == x->cols, "B has %lld columns, X has %lld", (long long)b->cols, (long long)x->cols);
    REQUIRE(b->data != x->data || !b->data || (b->ld == x->ld && b->layout == x->layout),
            "X and B share their data but not their layout and leading dimension");
    status = trine_plan_use_begin(plan, op, "right-hand sides", b->cols, exec, &call->work);
    if (status) return status;
    status = trine_plan_needs_values(plan, "solve");
    call->is_done = !plan->n || !b->cols;
    if (!status && !call->is_done && is_zero(plan->dtype, call->alpha)) {
        status = clear(plan, x, call->stream);
        call->is_done = true;
    }
    return status ? trine_plan_solve_end(plan, call, status) : TRINE_SUCCESS;
}

trine_status trine_plan_solve_end(struct trine_plan *plan, const trine_plan_call *call, trine_status status)
{
    return trine_plan_use_end(plan, call->work, status);
}
