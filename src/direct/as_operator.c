/* The direct solve as an operator. */
#include "direct/plan.h"

static trine_status work(void *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_direct_work(plan, nrhs, buffer, bytes, out);
}
static trine_status solve(void *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    (void)alpha; /* 1 */
    return trine_direct_solve(plan, op, B, X, exec);
}
static trine_status destroy(void *plan) { return trine_direct_destroy(&(trine_direct){plan}); }
static const trine_op_plan functions = {work, solve, destroy, .takes_alpha = false};

trine_status trine_direct_as_op(trine_direct plan, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    const trine_op_info info = {.dtype = plan->dtype, .rows = plan->n, .cols = plan->n, .ops = plan->ops, .max_nrhs = INT64_MAX, .capturable = 1};
    trine_retain(&plan->refs);
    return trine_op_from_plan(plan->ctx, op, &info, plan, &functions);
}
