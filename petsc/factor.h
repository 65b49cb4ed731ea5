/* MatSolverType "trine": what the phases of a factored matrix share. */
#ifndef TRINE_PETSC_FACTOR_H
#define TRINE_PETSC_FACTOR_H

#include <petsc/private/matimpl.h>

#include "solver.h"
#include "triangles.h"

/** The data of a factored matrix F. */
typedef struct {
    TrineSolver *solver;
    /* What was analysed: another matrix, or another pattern, is analysed anew. */
    PetscObjectId matrix;
    PetscObjectState pattern;
    Mat mirrored; /* in place of a matrix that is Hermitian but for rounding; NULL: none */
    PetscReal fill_given;
    PetscReal shift; /* of the last numeric part, over the largest entry of each row; 0: none */

    /* The factor's triangles by themselves: made when they are asked for, and for PETSc's factor by numeric. */
    TrineTriangles triangles;
    unsigned triangle_ops;

    PetscBool by_petsc; /* PETSc factors, and trine solves with its triangles */
    Mat petsc; /* its factor */
    IS row, column; /* its permutations */
    trine_matrix rows; /* both triangles of it, by rows */
    PetscScalar *values; /* of `rows` */
} TrineFactor;

static inline TrineFactor *TrineFactorOf(Mat F) { return F->data; }

/** factor_matrix.c. What Cholesky and ICC are to factor: a matrix that the program calls Hermitian may be so but for
 *  rounding, and its upper triangle counts, as in PETSc's own Cholesky, with the real part of its diagonal. *A becomes
 *  f->mirrored, or stays; same: the pattern is that of the last call. An ICC factor of a complex matrix that is not
 *  Hermitian is refused. */
PETSC_INTERN PetscErrorCode TrineFactorMirror(Mat F, PetscBool same, Mat *A);
/** A with `shift` times the largest entry of its row added to each a_ii, in its direction. */
PETSC_INTERN PetscErrorCode TrineFactorShift(Mat A, PetscReal shift, Mat *shifted);

/** factor_petsc.c: the phases of PETSc's own ILU factor; same: the pattern of A is that of the last numeric part. */
PETSC_INTERN PetscErrorCode TrineFactorSymbolicByPETSc(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info);
PETSC_INTERN PetscErrorCode TrineFactorNumericByPETSc(Mat F, Mat A, PetscBool same, const MatFactorInfo *info);
PETSC_INTERN PetscErrorCode TrineFactorResetPETSc(Mat F);

/** factor_solve.c: what is solved with a factor. */
PETSC_INTERN void TrineFactorSetSolves(Mat F);

#endif
