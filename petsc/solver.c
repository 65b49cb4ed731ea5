#include "solver.h"

#include <petsc/private/matimpl.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "events.h"

PetscErrorCode TrineSolverReset(TrineSolver *s)
{
    PetscFunctionBegin;
    TrineCall(trine_op_destroy(&s->inverse));
    TrineCall(trine_direct_destroy(&s->direct));
    TrineCall(trine_factor_destroy(&s->factor));
    TrineCall(trine_precond_destroy(&s->precond));
    PetscCall(TrineMatrixReset(&s->matrix));
    PetscCall(TrineDeviceClose(&s->device));
    PetscFunctionReturn(0);
}

static trine_status TempDirect(TrineSolver *s, PetscBool same)
{
    const trine_direct_options options = {.ops = TRINE_N | TRINE_T, .refine = (int)s->options.refine,
        .factor = {.method = s->options.factorization, .ordering = s->options.ordering, .permutation = s->permutation}};
    trine_status status;
    if (same && s->direct) return trine_direct_update(s->direct, s->matrix.view);
    trine_direct_destroy(&s->direct);
    trine_factor_destroy(&s->factor);
    status = trine_factor_create(s->device.ctx, &s->factor, s->matrix.view, &options.factor);
    if (!status) status = trine_direct_create_from_factor(s->device.ctx, &s->direct, s->factor, NULL, &options);
    if (!status && !s->inverse) status = trine_direct_as_op(s->direct, &s->inverse);
    return status;
}
static trine_status TempPrecond(TrineSolver *s, PetscBool same)
{
    trine_status status = TRINE_SUCCESS;
    trine_precond_options options = s->options.method;
    options.method = s->options.precond;
    options.ops = TRINE_N | TRINE_T;
    if (!same || !s->precond) {
        trine_precond_destroy(&s->precond);
        status = trine_precond_analyse(s->device.ctx, &s->precond, s->matrix.view, &options);
    }
    if (!status) status = trine_precond_numeric(s->precond, TRINE_HOST, s->matrix.values, TRINE_REUSE_NOTHING, NULL);
    if (!status) status = trine_precond_check(s->precond, NULL);
    if (!status) status = trine_precond_as_op(s->precond, &s->inverse);
    return status;
}

PetscErrorCode TrineSolverSetUp(TrineSolver *s, PetscObject owner, Mat A, PetscBool same_pattern)
{
    PetscFunctionBegin;
    (void)owner;
    s->failure = MAT_FACTOR_NOERROR;
    s->failed_row = -1;
    if (!s->device.ctx) PetscCall(TrineDeviceOpen(&s->device, s->options.device));
    PetscCall(TrineMatrixOpen(&s->matrix, s->device.ctx, A, same_pattern));
    s->n = s->matrix.n;
    TrineCall(trine_op_destroy(&s->inverse));
    trine_status status = s->options.kind == TRINE_PETSC_DIRECT ? TempDirect(s, same_pattern) : TempPrecond(s, same_pattern);
    if (!status && s->direct && !s->inverse) status = trine_direct_as_op(s->direct, &s->inverse);
    PetscCall(TrineMatrixClose(&s->matrix));
    if (status == TRINE_ERR_SINGULAR || status == TRINE_ERR_NOT_DEFINITE) {
        s->failure = MAT_FACTOR_NUMERIC_ZEROPIVOT;
        snprintf(s->sentence, sizeof s->sentence, "%s", trine_last_error());
        const char *row = strstr(s->sentence, "row ");
        if (!row) row = strstr(s->sentence, "column ");
        if (row) sscanf(strchr(row, ' '), "%d", &s->failed_row);
    } else if (status == TRINE_ERR_ARGUMENT || status == TRINE_ERR_STRUCTURE) {
        s->failure = MAT_FACTOR_OTHER;
        snprintf(s->sentence, sizeof s->sentence, "%s", trine_last_error());
    } else TrineCall(status);
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Vec b, Vec x)
{
    const PetscScalar *from;
    PetscScalar *to;

    PetscFunctionBegin;
    if (!inverse) {
        PetscCall(VecSetInf(x));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscLogEventBegin(TRINE_Solve, b, x, 0, 0));
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    const trine_dense B = {(void *)from, s->n, 1, 0, TRINE_COLMAJOR}, X = {to, s->n, 1, 0, TRINE_COLMAJOR};
    TrineCall(trine_op_apply(inverse, op, NULL, &B, NULL, &X, NULL));
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscCall(PetscLogEventEnd(TRINE_Solve, b, x, 0, 0));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverMatApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Mat B, Mat X)
{
    const PetscScalar *from;
    PetscScalar *to;
    PetscInt ldb, ldx;

    PetscFunctionBegin;
    PetscCall(MatDenseGetArrayRead(B, &from));
    PetscCall(MatDenseGetArrayWrite(X, &to));
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(X, &ldx));
    const trine_dense from_block = {(void *)from, s->n, B->cmap->n, ldb, TRINE_COLMAJOR}, to_block = {to, s->n, B->cmap->n, ldx, TRINE_COLMAJOR};
    TrineCall(trine_op_apply(inverse, op, NULL, &from_block, NULL, &to_block, NULL));
    PetscCall(MatDenseRestoreArrayWrite(X, &to));
    PetscCall(MatDenseRestoreArrayRead(B, &from));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverApply(TrineSolver *s, trine_transpose op, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverApplyOp(s, s->inverse, op, b, x));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverView(const TrineSolver *s, PetscViewer viewer)
{
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "method %s on %s\n", TrineOptionsMethod(&s->options), s->options.device));
    PetscFunctionReturn(0);
}
