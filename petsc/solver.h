/* A solver of trine for one matrix of PETSc: what the PC and the factored matrix have in common. */
#ifndef TRINE_PETSC_SOLVER_H
#define TRINE_PETSC_SOLVER_H

#include <petscmat.h>
#include <trine/operator.h>

#include "device.h"
#include "matrix.h"
#include "options.h"

typedef struct {
    TrineOptions options; /* to be set before the first set-up */
    TrineDevice device;
    TrineMatrix matrix;
    trine_direct direct;
    trine_op inverse; /* of the matrix, or of its approximation; NULL: no set-up, or one that failed */
    PetscInt n;
    /* The last set-up. */
    MatFactorError failure; /* as PETSc has it, MAT_FACTOR_NOERROR after a success */
    PetscInt failed_row; /* of this rank, from 0; -1: none */
    char sentence[512]; /* what failed */
} TrineSolver;

/** Take the values of A; with same_pattern those of the last set-up are replaced, and its analysis is kept. A matrix
 *  without inverse, or whose values are not finite, is no error: s->failure says so. */
PETSC_INTERN PetscErrorCode TrineSolverSetUp(TrineSolver *s, PetscObject owner, Mat A, PetscBool same_pattern);
/** x := op(A)^-1 b, or Inf after a set-up that failed. op: TRINE_N or TRINE_T. */
PETSC_INTERN PetscErrorCode TrineSolverApply(TrineSolver *s, trine_transpose op, Vec b, Vec x);
/** Drop everything but the options. */
PETSC_INTERN PetscErrorCode TrineSolverReset(TrineSolver *s);
/** Lines of -ksp_view. */
PETSC_INTERN PetscErrorCode TrineSolverView(const TrineSolver *s, PetscViewer viewer);

#endif
