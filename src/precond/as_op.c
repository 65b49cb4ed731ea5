/* One factor of a preconditioner as an operator. */
#include "operator/operator.h"
#include "precond/paths.h"

static size_t scratch_bytes(trine_op op, int64_t nrhs)
{
    return (size_t)(op->info.rows * nrhs) * trine_dtype_size(op->info.dtype);
}

/** The factor's number. */
static int part_of(trine_op op) { return (int)(intptr_t)op->user; }

static trine_status apply(trine_op op, const op_call *c, op_work *work)
{
    static const double one[2] = {1, 0};
    trine_status status = TRINE_SUCCESS;
    op_scalar_room alpha;
    const trine_exec exec = {.stream = c->stream, .work = work->plan_work};
    const trine_dtype t = op->info.dtype;
    const bool updates = !op_is_zero(c->beta);
    const trine_dense Z = updates ? op_block(work->scratch, c->Y.rows, &c->Y) : c->Y;
    TRY(precond_apply_part((trine_precond)op->plan, part_of(op), c->trans, operator_scalar(t, c->alpha, &alpha), &c->X,
                           &Z, &exec));
    if (updates) TRY(operator_run_update(op->ctx, t, one, NULL, false, t, &Z, c->beta, &c->Y, c->stream));
done:
    return status;
}
static const op_kind part_kind = {.scratch_bytes = scratch_bytes, .apply = apply};

trine_status precond_part_op(trine_precond p, int l, trine_op *op)
{
    const trine_status status = operator_of_plan(&p->base, &part_kind, p->base.n, p->base.n, op);
    if (!status) (*op)->user = (void *)(intptr_t)l;
    return status;
}
