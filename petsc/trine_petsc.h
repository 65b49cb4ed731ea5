/* trine inside PETSc: the PC type "trine" and the MatSolverType "trine". A program need not be built with it:
 *
 *     ./program -dll_append /usr/local/lib/libtrine_petsc.so -ksp_type gmres -pc_type bjacobi -sub_pc_type trine
 *
 * This header is for programs that link the library, and for what options cannot ask. */
#ifndef TRINE_PETSC_H
#define TRINE_PETSC_H

#include <petscpc.h>

#define PCTRINE "trine"
#define MATSOLVERTRINE "trine"

/** Register both types and the log events. Between PetscInitialize and the first use of a name; any number of times.
 *  Collective on PETSC_COMM_WORLD: ranks find out which of them share a machine. */
PETSC_EXTERN PetscErrorCode TrinePetscRegister(void);

/** Why the last PCSetUp of a PC of type trine failed (PCGetFailedReason says that it did): *row is the first row of the
 *  matrix of this rank, counted from 0, that the failure is about, or -1 if it is about none; *sentence what happened,
 *  or "" after a set-up that succeeded. It belongs to pc and is valid until its next set-up. Either may be NULL. Not
 *  collective. */
PETSC_EXTERN PetscErrorCode PCTrineGetFailure(PC pc, PetscInt *row, const char *sentence[]);

#endif
