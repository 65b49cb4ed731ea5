/* What plans of all modules have of operators (core/plan.h): a solve as an operator, and blocks of vectors scaled. */
#include "core/plan.h"
#include "operator/operator.h"

static trine_status work(void *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out) { return trine_plan_make_work(plan, nrhs, buffer, bytes, out); }

static trine_status solve(void *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    return ((struct trine_plan *)plan)->kind->solve(plan, op, alpha, B, X, exec);
}

static trine_status drop(void *plan) { return trine_plan_drop(plan); }

trine_status trine_plan_as_op(struct trine_plan *plan, trine_op *op)
{
    static const trine_op_plan functions = {work, solve, drop, .takes_alpha = true};
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    const trine_op_info info = {.dtype = plan->dtype, .rows = plan->n, .cols = plan->n, .ops = plan->ops, .max_nrhs = INT64_MAX, .capturable = 1};
    trine_retain(&plan->refs);
    return trine_op_from_plan(plan->ctx, op, &info, plan, &functions);
}

trine_status trine_plan_scale(const struct trine_plan *plan, const void *alpha, const trine_dense *X, const trine_dense *Y, void *stream)
{
    static const double zero[2];
    double factor[2];
    operator_read_scalar(plan->dtype, alpha, 1, factor);
    if (X->data == Y->data && factor[0] == 1 && factor[1] == 0) return TRINE_SUCCESS;
    return operator_run_update(plan->ctx, plan->dtype, factor, NULL, false, plan->dtype, X, zero, Y, stream);
}
