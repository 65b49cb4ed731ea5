/* Log events and the registration of each part. */
#ifndef TRINE_PETSC_EVENTS_H
#define TRINE_PETSC_EVENTS_H

#include <petsclog.h>
#include <petscpc.h>

PETSC_INTERN PetscLogEvent TRINE_SetUp; /* analysis, of a direct solver with its factorization */
PETSC_INTERN PetscLogEvent TRINE_Numeric; /* new values */
PETSC_INTERN PetscLogEvent TRINE_Solve;
PETSC_INTERN PetscLogEvent TRINE_Copy; /* between host and device */

PETSC_INTERN PetscMPIInt TRINE_local_rank; /* of this rank among those of its machine */

PETSC_INTERN PetscErrorCode PCCreate_Trine(PC pc);
PETSC_INTERN PetscErrorCode TrineRegisterSolverTypes(void); /* factor.c */

#endif
