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
    Mat given; /* not counted as a reference: only compared */
    Mat rows; /* the matrix by rows: `given` itself, its diagonal block, or a conversion */
    PetscBool converted;
    trine_matrix view; /* the arrays of `rows` on the host, while open */
    PetscInt n, nnz;
    /* The values for numeric, while open: those of the view, or where the matrix has them on a GPU. */
    trine_space space;
    const void *values;
    /* Held of PETSc while open. */
    PetscInt row_count;
    const PetscInt *offsets, *columns;
    const PetscScalar *host_values;
} TrineMatrix;

/** View A, which must be on one rank, by rows: arrays of PETSc are taken as they are. Matrices of blocks are converted,
 *  with same_pattern into the conversion that an earlier call has made. The view's context is that of the solver. */
PETSC_INTERN PetscErrorCode TrineMatrixOpen(TrineMatrix *m, trine_context ctx, Mat A, PetscBool same_pattern);
/** Give the arrays back; a conversion stays for the next call. */
PETSC_INTERN PetscErrorCode TrineMatrixClose(TrineMatrix *m);
/** And drop that. */
PETSC_INTERN PetscErrorCode TrineMatrixReset(TrineMatrix *m);

#endif
