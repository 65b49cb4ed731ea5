#include "solver.h"

#include <string.h>

#include "errors.h"
#include "events.h"

PetscErrorCode TrineSolverReset(TrineSolver *s)
{
    PetscFunctionBegin;
    TrineCall(trine_op_destroy(&s->inverse));
    TrineCall(trine_direct_destroy(&s->direct));
    PetscCall(TrineMatrixReset(&s->matrix));
    PetscCall(TrineDeviceClose(&s->device));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverSetUp(TrineSolver *s, PetscObject owner, Mat A, PetscBool same_pattern)
{
    const trine_direct_options options = {.ops = TRINE_N | TRINE_T};

    PetscFunctionBegin;
    (void)owner;
    s->failure = MAT_FACTOR_NOERROR;
    s->failed_row = -1;
    if (!s->device.ctx) PetscCall(TrineDeviceOpen(&s->device, s->options.device));
    PetscCall(TrineMatrixOpen(&s->matrix, s->device.ctx, A, same_pattern));
    s->n = s->matrix.n;
    TrineCall(trine_op_destroy(&s->inverse));
    TrineCall(trine_direct_destroy(&s->direct));
    PetscCall(PetscLogEventBegin(TRINE_SetUp, A, 0, 0, 0));
    TrineCall(trine_direct_create(s->device.ctx, &s->direct, s->matrix.view, &options));
    TrineCall(trine_direct_as_op(s->direct, &s->inverse));
    PetscCall(PetscLogEventEnd(TRINE_SetUp, A, 0, 0, 0));
    PetscCall(TrineMatrixClose(&s->matrix));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverApply(TrineSolver *s, trine_transpose op, Vec b, Vec x)
{
    const PetscScalar *from;
    PetscScalar *to;

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(TRINE_Solve, b, x, 0, 0));
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    const trine_dense B = {(void *)from, s->n, 1, 0, TRINE_COLMAJOR}, X = {to, s->n, 1, 0, TRINE_COLMAJOR};
    TrineCall(trine_op_apply(s->inverse, op, NULL, &B, NULL, &X, NULL));
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscCall(PetscLogEventEnd(TRINE_Solve, b, x, 0, 0));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverView(const TrineSolver *s, PetscViewer viewer)
{
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "method %s on %s\n", TrineOptionsMethod(&s->options), s->options.device));
    PetscFunctionReturn(0);
}
