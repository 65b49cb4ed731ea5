/* The supernodal solve as an operator. */
#include "operator/operator.h"
#include "supernodal/supernodal.h"

static trine_status work(void *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_supernodal_work(plan, nrhs, buffer, bytes, out);
}
static trine_status solve(void *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    return trine_supernodal_solve(plan, op, alpha, B, X, exec);
}
static trine_status destroy(void *plan) { return trine_supernodal_destroy(&(trine_supernodal){plan}); }
static const trine_op_plan functions = {work, solve, destroy, .takes_alpha = true};

trine_status trine_supernodal_as_op(trine_supernodal plan, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    const struct trine_plan *base = &plan->base;
    const trine_op_info info = {.dtype = base->dtype, .rows = base->n, .cols = base->n, .ops = base->ops, .max_nrhs = INT64_MAX, .capturable = 1};
    trine_retain(&plan->base.refs);
    return trine_op_from_plan(base->ctx, op, &info, plan, &functions);
}
