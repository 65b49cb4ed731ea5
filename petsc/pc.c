/* PC type "trine". */
#include "trine_petsc.h"

#include <petsc/private/pcimpl.h>

#include "events.h"
#include "solver.h"

static PetscErrorCode PCSetUp_Trine(PC pc)
{
    TrineSolver *s = pc->data;

    PetscFunctionBegin;
    pc->failedreason = PC_NOERROR;
    PetscCall(TrineSolverSetUp(s, (PetscObject)pc, pc->pmat, pc->flag == SAME_NONZERO_PATTERN));
    pc->failedreason = (PCFailedReason)s->failure;
    PetscFunctionReturn(0);
}

static PetscErrorCode PCApply_Trine(PC pc, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverApply(pc->data, TRINE_N, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCApplyTranspose_Trine(PC pc, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverApply(pc->data, TRINE_T, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCSetFromOptions_Trine(PC pc, TrineOptionItems PetscOptionsObject)
{
    TrineSolver *s = pc->data;

    PetscFunctionBegin;
    PetscCall(TrineOptionsReadPC(PetscOptionsObject, &s->options));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCView_Trine(PC pc, PetscViewer viewer)
{
    PetscBool ascii;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (ascii) PetscCall(TrineSolverView(pc->data, viewer));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCReset_Trine(PC pc)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverReset(pc->data));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCDestroy_Trine(PC pc)
{
    PetscFunctionBegin;
    PetscCall(PCReset_Trine(pc));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCTrineGetFailure_C", NULL));
    PetscCall(PetscFree(pc->data));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCTrineGetFailure_Trine(PC pc, PetscInt *row, const char *sentence[])
{
    const TrineSolver *s = pc->data;

    PetscFunctionBegin;
    if (row) *row = s->failed_row;
    if (sentence) *sentence = s->sentence;
    PetscFunctionReturn(0);
}

PetscErrorCode PCTrineGetFailure(PC pc, PetscInt *row, const char *sentence[])
{
    PetscFunctionBegin;
    PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
    PetscUseMethod(pc, "PCTrineGetFailure_C", (PC, PetscInt *, const char **), (pc, row, sentence));
    PetscFunctionReturn(0);
}

PetscErrorCode PCCreate_Trine(PC pc)
{
    TrineSolver *s;

    PetscFunctionBegin;
    PetscCall(PetscNew(&s));
    TrineOptionsSetDefaults(&s->options);
    s->failed_row = -1;
    pc->data = s;
    pc->ops->setup = PCSetUp_Trine;
    pc->ops->apply = PCApply_Trine;
    pc->ops->applytranspose = PCApplyTranspose_Trine;
    pc->ops->setfromoptions = PCSetFromOptions_Trine;
    pc->ops->view = PCView_Trine;
    pc->ops->reset = PCReset_Trine;
    pc->ops->destroy = PCDestroy_Trine;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCTrineGetFailure_C", PCTrineGetFailure_Trine));
    PetscFunctionReturn(0);
}
