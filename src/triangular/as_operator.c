/* The triangular solve as an operator. */
#include "operator/operator.h"
#include "triangular/triangular.h"

static trine_status work(void *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_triangular_work(plan, nrhs, buffer, bytes, out);
}
static trine_status solve(void *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    return trine_triangular_solve(plan, op, alpha, B, X, exec);
}
static trine_status destroy(void *plan) { return trine_triangular_destroy(&(trine_triangular){plan}); }
static const trine_op_plan functions = {work, solve, destroy, .takes_alpha = true};

trine_status trine_triangular_as_op(trine_triangular plan, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    const struct trine_plan *base = &plan->base;
    const trine_op_info info = {.dtype = base->dtype, .rows = base->n, .cols = base->n, .ops = base->ops, .max_nrhs = INT64_MAX, .capturable = 1};
    trine_retain(&plan->base.refs);
    return trine_op_from_plan(base->ctx, op, &info, plan, &functions);
}
