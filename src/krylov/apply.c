/* A call of solve: between the caller's blocks and the iteration (solve.c), what it ended with, and the solver as an
 * operator. */
#include <math.h>
#include <string.h>

#include "core/test_interface.h"
#include "krylov/common/steps.h"
#include "krylov/krylov.h"

/* ------------------------------------------------------------------ solve */

/** Of a solve with nothing to do. */
static trine_status converge_all(struct krylov_work *w)
{
    w->solved = true;
    const trine_status status = krylov_do(w, KRYLOV_NOTHING, 0, 0);
    return status ? status : krylov_look(w);
}

/** NO_CONVERGENCE, with a sentence on the first column that has another outcome; as an operator: on one that is no
 *  number. */
static trine_status judge(const struct krylov_work *w, bool as_operator)
{
    for (int64_t i = 0; i < w->nrhs; i++) {
        const krylov_column *c = &w->columns[i];
        if (c->outcome == TRINE_OUTCOME_CONVERGED) continue;
        if (c->outcome == TRINE_OUTCOME_NOT_FINITE && c->row < 0)
            return trine_fail(TRINE_ERR_NO_CONVERGENCE,
                              "right-hand side %lld: numbers left the range of the precision after %lld steps of %s: "
                              "scale A or b",
                              (long long)i, (long long)c->steps, trine_krylov_method_name(w->plan->parameters.method));
        if (c->outcome == TRINE_OUTCOME_NOT_FINITE)
            return trine_fail(TRINE_ERR_NO_CONVERGENCE,
                              "right-hand side %lld: %s not finite in row %lld, after %lld steps of %s", (long long)i,
                              isfinite(c->rhs_norm) ? "x or b - A x is" : "b is", (long long)c->row,
                              (long long)c->steps, trine_krylov_method_name(w->plan->parameters.method));
        if (!as_operator)
            return trine_fail(TRINE_ERR_NO_CONVERGENCE,
                              "right-hand side %lld: %s after %lld steps of %s; the residual is %.3g, %.3g was wanted",
                              (long long)i, trine_krylov_outcome_name(c->outcome), (long long)c->steps,
                              trine_krylov_method_name(w->plan->parameters.method), c->residual, c->target);
    }
    return TRINE_SUCCESS;
}

/** Between the caller's blocks and the work's. */
static trine_status iterate(struct krylov_work *w, const trine_plan_call *call, bool as_operator)
{
    static const double one[2] = {1, 0}, zero[2];
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    const trine_dtype t = plan->base.dtype;
    trine_context ctx = plan->base.ctx;
    const bool use_guess = plan->use_guess && !as_operator;
    const trine_dense b = {w->b, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    const trine_dense x = {w->x, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    double alpha[2];
    operator_read_scalar(t, call->alpha, 1, alpha);
    TRY(operator_run_update(ctx, t, one, NULL, false, t, &call->B, zero, &b, call->stream));
    if (use_guess) TRY(operator_run_update(ctx, t, one, NULL, false, t, &call->X, zero, &x, call->stream));
    const trine_status iterated = krylov_iterate(w, use_guess);
    TRY(operator_run_update(ctx, t, alpha, NULL, false, t, &x, zero, &call->X, call->stream));
    status = iterated ? iterated : judge(w, as_operator);
done:
    return status;
}

static trine_status solve(trine_krylov plan, const void *alpha, const trine_dense *B, const trine_dense *X,
                          const trine_exec *exec, bool as_operator)
{
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(&plan->base, TRINE_N, alpha, B, X, exec, &call);
    if (status) return status;
    struct krylov_work *w = (struct krylov_work *)call.work;
    w->nrhs = call.B.cols < w->base.max_nrhs ? call.B.cols : w->base.max_nrhs; /* of no rows there may be more */
    w->has_errors = plan->reference.data && !as_operator;
    if (call.B.data == call.X.data && call.B.data)
        FAIL(TRINE_ERR_ARGUMENT, "X and B are the same array, and b is needed to the end");
    if (w->has_errors && plan->reference.cols != w->nrhs)
        FAIL(TRINE_ERR_ARGUMENT, "%lld right-hand sides, but %lld known solutions (trine_krylov_set_reference)",
             (long long)w->nrhs, (long long)plan->reference.cols);
    if (plan->base.ctx->cuda && trine_device_is_capturing(plan->base.ctx, call.stream))
        FAIL(TRINE_ERR_STATE, "a solve that ends when its residual is small cannot be recorded in a CUDA graph");
    w->stream = call.stream;
    status = call.is_done ? converge_all(w) : iterate(w, &call, as_operator);
done:
    return trine_plan_solve_end(&plan->base, &call, status);
}

trine_status trine_krylov_solve(trine_krylov plan, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    return solve(plan, NULL, B, X, exec, false);
}

trine_status krylov_solve_as_operator(struct trine_plan *plan, trine_transpose op, const void *alpha,
                                      const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    (void)op; /* N alone was announced */
    return solve((trine_krylov)plan, alpha, B, X, exec, true);
}

trine_status trine_krylov_as_op(trine_krylov plan, trine_op *op)
{
    const trine_status status = trine_plan_as_op(plan ? &plan->base : NULL, op);
    if (status) return status;
    (*op)->info.varying = 1;
    (*op)->info.capturable = 0; /* the host decides when it ends */
    return TRINE_SUCCESS;
}

/* ---------------------------------------------------------------- results */

/** The work of the last solve, with no solve in it until trine_plan_use_end. */
static trine_status read_begin(trine_krylov plan, int64_t rhs, const trine_exec *exec, struct krylov_work **out)
{
    REQUIRE(plan, "plan is NULL");
    trine_plan_work *work;
    trine_status status = trine_check_exec(exec);
    if (status) return status;
    status = trine_plan_use_begin(&plan->base, TRINE_N, "right-hand sides", 0, exec, &work);
    if (status) return status;
    *out = (struct krylov_work *)work;
    if (!(*out)->solved) status = trine_fail(TRINE_ERR_STATE, "there was no solve with this work");
    else if (rhs < 0 || rhs >= (*out)->nrhs)
        status =
            trine_fail(TRINE_ERR_ARGUMENT, "right-hand side %lld of %lld", (long long)rhs, (long long)(*out)->nrhs);
    return status ? trine_plan_use_end(&plan->base, work, status) : TRINE_SUCCESS;
}

trine_status trine_krylov_get_result(trine_krylov plan, int64_t rhs, trine_krylov_result *result,
                                     const trine_exec *exec)
{
    REQUIRE(result, "result is NULL");
    struct krylov_work *w = NULL;
    const trine_status status = read_begin(plan, rhs, exec, &w);
    if (status) return status;
    const krylov_column *c = &w->columns[rhs];
    const int m = plan->parameters.m;
    *result = (trine_krylov_result){.outcome = c->outcome,
                                    .steps = c->steps,
                                    .iterations = (c->steps + m - 1) / m,
                                    .restarts = c->restarts,
                                    .best_step = c->best_step,
                                    .row = c->row,
                                    .residual = c->residual,
                                    .first_residual = c->first_residual,
                                    .rhs_norm = c->rhs_norm};
    return trine_plan_use_end(&plan->base, &w->base, TRINE_SUCCESS);
}

/** From the work's memory. */
static trine_status fetch(const struct krylov_work *w, void *to, const void *from, size_t bytes)
{
    trine_context ctx = w->plan->base.ctx;
    if (ctx->cuda) {
        const trine_status status = trine_device_copy_async(ctx, to, from, bytes, w->stream);
        return status ? status : trine_device_synchronize(ctx, w->stream);
    }
    memcpy(to, from, bytes);
    return TRINE_SUCCESS;
}

trine_status trine_krylov_get_history(trine_krylov plan, int64_t rhs, double *residuals, double *errors, int64_t *count,
                                      const trine_exec *exec)
{
    REQUIRE(count, "count is NULL");
    *count = 0;
    struct krylov_work *w = NULL;
    trine_status status = read_begin(plan, rhs, exec, &w);
    if (status) return status;
    const krylov_column *c = &w->columns[rhs];
    const int64_t kept = plan->parameters.history, had = c->steps + 1;
    *count = kept < had ? kept : had;
    const size_t bytes = (size_t)*count * sizeof(double);
    if (residuals) TRY(fetch(w, residuals, c->residuals, bytes));
    if (errors && w->has_errors) TRY(fetch(w, errors, c->errors, bytes));
    for (int64_t k = 0; errors && !w->has_errors && k < *count; k++) errors[k] = NAN;
done:
    return trine_plan_use_end(&plan->base, &w->base, status);
}

int64_t trine_krylov_looks(trine_krylov plan) { return __atomic_load_n(&plan->looks, __ATOMIC_RELAXED); }

void trine_krylov_unroll(trine_krylov plan) { plan->unrolls = true; }
