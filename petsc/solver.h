/* A solver of trine for one matrix of PETSc: what the PC and the factored matrix have in common. */
#ifndef TRINE_PETSC_SOLVER_H
#define TRINE_PETSC_SOLVER_H

#include <petscmat.h>
#include <trine/operator.h>
#include <trine/triangular.h>

#include "device.h"
#include "matrix.h"
#include "options.h"

typedef struct {
    PetscObject owner; /* the PC or the matrix: of messages and their prefix; not counted as a reference */
    const char *group; /* of its options: "pc_trine", "mat_trine" */
    TrineOptions options; /* to be set before the first set-up, or with TrineSolverReset */
    int32_t *permutation; /* direct: the order of the columns, whose owner frees it; NULL: options.ordering says it */
    unsigned ops; /* that can be applied: TRINE_N, and TRINE_T after TrineSolverAddTranspose */

    TrineDevice device;
    TrineMatrix matrix;
    PetscInt n, nnz; /* of the last set-up */
    trine_factor factor; /* of direct */
    trine_direct direct;
    trine_triangular triangular;
    trine_precond precond;
    char reason[256]; /* precond auto: why another method stands in for the one that was chosen; "" */

    trine_op inverse[TRINE_PRECOND_MAX_M]; /* alt-o: they take turns; else the first one alone */
    int count; /* of them; 0 of the identity, and where there is no plan */
    int turn;
    PetscBool ready; /* the last set-up succeeded */
    PetscLogDouble flops; /* of one solution, multiplications and additions with the entries of the factors */

    /* Of the last set-up. */
    MatFactorError failure; /* MAT_FACTOR_NOERROR after a success */
    PetscInt failed_row; /* of this rank, from 0; -1: none is known */
    char sentence[640]; /* what failed: rank, option, row; "" */
} TrineSolver;

PETSC_INTERN PetscErrorCode TrineSolverCreate(PetscObject owner, const char *group, TrineSolver **s);
PETSC_INTERN PetscErrorCode TrineSolverDestroy(TrineSolver **s);
/** Drop everything but the options. */
PETSC_INTERN PetscErrorCode TrineSolverReset(TrineSolver *s);

/** Open the device that the options ask for, unless it is open. */
PETSC_INTERN PetscErrorCode TrineSolverOpenDevice(TrineSolver *s);
/** Take the values of A; with same_pattern those of the last set-up are replaced, and its analysis is kept. A matrix
 *  without inverse or with values that are not finite, and memory that ends, are no errors: s->failure says so. */
PETSC_INTERN PetscErrorCode TrineSolverSetUp(TrineSolver *s, Mat A, PetscBool same_pattern);
/** So that TRINE_T can be applied: plans are made anew from the factor that is there, or from A. */
PETSC_INTERN PetscErrorCode TrineSolverAddTranspose(TrineSolver *s, Mat A);
/** x := op(A)^-1 b, op TRINE_N or TRINE_T; Inf after a set-up that failed. */
PETSC_INTERN PetscErrorCode TrineSolverApply(TrineSolver *s, trine_transpose op, Vec b, Vec x);
/** The same for the columns of dense matrices. */
PETSC_INTERN PetscErrorCode TrineSolverMatApply(TrineSolver *s, trine_transpose op, Mat B, Mat X);
/** Both with another operator of the solver's device and size; NULL: Inf. */
PETSC_INTERN PetscErrorCode TrineSolverApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Vec b, Vec x);
PETSC_INTERN PetscErrorCode TrineSolverMatApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Mat B, Mat X);
/** Lines of -ksp_view. */
PETSC_INTERN PetscErrorCode TrineSolverView(const TrineSolver *s, PetscViewer viewer);

#endif
