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
    PetscCall(TrineSolverSetUp(s, pc->pmat, pc->flag == SAME_NONZERO_PATTERN ? PETSC_TRUE : PETSC_FALSE));
    pc->failedreason = (PCFailedReason)s->failure; /* the same names in the same order */
    PetscCheck(!s->failure || !pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "%s", s->sentence);
    PetscFunctionReturn(0);
}

static PetscErrorCode PCApply_Trine(PC pc, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverApply(pc->data, TRINE_N, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCMatApply_Trine(PC pc, Mat B, Mat X)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverMatApply(pc->data, TRINE_N, B, X));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCApplyTranspose_Trine(PC pc, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(TrineSolverAddTranspose(pc->data, pc->pmat));
    PetscCall(TrineSolverApply(pc->data, TRINE_T, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCSetFromOptions_Trine(PC pc, TrineOptionItems items)
{
    TrineSolver *s = pc->data;
    const TrineOptions before = s->options;
    PetscBool same;

    PetscFunctionBegin;
    PetscCall(TrineOptionsReadPC(items, &s->options));
    PetscCall(PetscMemcmp(&before, &s->options, sizeof before, &same));
    if (same) PetscFunctionReturn(0);
    PetscCall(TrineSolverReset(s));
    pc->setupcalled = 0; /* the same values again are a reason for a set-up */
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
    TrineSolver *s = pc->data;

    PetscFunctionBegin;
    pc->data = NULL;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCTrineGetFailure_C", NULL));
    PetscCall(TrineSolverDestroy(&s));
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
    PetscCall(TrineSolverCreate((PetscObject)pc, "pc_trine", &s));
    pc->data = s;
    pc->ops->setup = PCSetUp_Trine;
    pc->ops->apply = PCApply_Trine;
    pc->ops->matapply = PCMatApply_Trine;
    pc->ops->applytranspose = PCApplyTranspose_Trine;
    pc->ops->setfromoptions = PCSetFromOptions_Trine;
    pc->ops->view = PCView_Trine;
    pc->ops->reset = PCReset_Trine;
    pc->ops->destroy = PCDestroy_Trine;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCTrineGetFailure_C", PCTrineGetFailure_Trine));
    PetscFunctionReturn(0);
}
