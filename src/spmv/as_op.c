/* A plan of products as an operator: alpha and beta are the product's own, so there is no scratch. */
#include "operator/operator.h"
#include "spmv/rows_of.h"
#include "spmv/spmv.h"

static trine_status apply(trine_op op, const op_call *c, op_work *work)
{
    op_scalar_room alpha, beta;
    const trine_dtype t = op->info.dtype;
    const trine_exec exec = {.stream = c->stream, .work = work->plan_work};
    return trine_spmv_apply((trine_spmv)op->plan, c->trans, operator_scalar(t, c->alpha, &alpha), &c->X,
                            operator_scalar(t, c->beta, &beta), &c->Y, &exec);
}
static const op_kind product_kind = {.apply = apply};

trine_status trine_spmv_as_op(trine_spmv plan, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    return operator_of_plan(&plan->base, &product_kind, plan->n_rows, plan->n_cols, op);
}

bool spmv_rows_of(trine_op op, struct spmv_rows *rows)
{
    if (!op || op->kind != &product_kind) return false;
    const struct trine_spmv_s *plan = (const struct trine_spmv_s *)op->plan;
    const struct spmv_side *side = &plan->side[SPMV_N];
    *rows = (struct spmv_rows){plan->n_rows,  plan->nnz,     side->longest_row, side->offset_bits,
                               side->offsets, side->columns, plan->values};
    return side->announced && plan->n_rows == plan->n_cols && !side->position_bits && plan->values &&
           plan->stored == plan->base.dtype;
}
