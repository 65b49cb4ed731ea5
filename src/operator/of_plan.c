/* The solve of a plan as an operator, whatever the module (core/plan.h). */
#include "core/plan.h"

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
