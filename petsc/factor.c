/* MatSolverType "trine". */
#include "events.h"

PetscErrorCode TrineRegisterSolverTypes(void)
{
    PetscFunctionBegin;
    PetscFunctionReturn(0);
}
