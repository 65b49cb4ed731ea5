/* A sequential matrix of PETSc as trine's compressed rows. */
#ifndef TRINE_PETSC_MATRIX_H
#define TRINE_PETSC_MATRIX_H

#include <petscmat.h>
#include <trine/matrix.h>

#if defined(PETSC_USE_COMPLEX)
#define TRINE_PETSC_DTYPE TRINE_Z
#else
#define TRINE_PETSC_DTYPE TRINE_D
#endif

typedef struct {
    Mat given;
    Mat rows; /* the matrix by rows: `given` itself, its diagonal block, or a conversion; NULL: closed */
    trine_matrix view; /* of the arrays of `rows`, on the host */
    PetscInt n, nnz;
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
} TrineMatrix;

/** View A, which is on one rank, by rows: arrays of PETSc are taken as they are. A conversion that `view` holds from
 *  an earlier call is used again where the pattern is the same. */
PETSC_INTERN PetscErrorCode TrineMatrixOpen(TrineMatrix *view, trine_context ctx, Mat A, PetscBool same_pattern);
/** Give the arrays back; keeps a conversion for the next call. */
PETSC_INTERN PetscErrorCode TrineMatrixClose(TrineMatrix *view);
/** And drop that. */
PETSC_INTERN PetscErrorCode TrineMatrixReset(TrineMatrix *view);

#endif
