#include "options.h"

#include <string.h>

void TrineOptionsSetDefaults(TrineOptions *o)
{
    memset(o, 0, sizeof *o); /* no bytes between members differ: options are compared by memcmp */
    strcpy(o->device, "cpu:1");
    o->kind = TRINE_PETSC_DIRECT;
}

const char *TrineOptionsMethod(const TrineOptions *o)
{
    (void)o;
    return "direct";
}

PetscErrorCode TrineOptionsReadPC(TrineOptionItems PetscOptionsObject, TrineOptions *o)
{
    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "trine");
    PetscCall(PetscOptionsString("-pc_trine_device", "auto, cpu, cpu:N (threads), cuda or cuda:K", "PCTRINE", o->device,
                                 o->device, sizeof o->device, NULL));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(0);
}
