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
    Mat mirrored; /* a Hermitian matrix of the values in the upper triangle of the one that was given; NULL: none */
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

/** factor_petsc.c: the phases of PETSc's own ILU factor. */
PETSC_INTERN PetscErrorCode TrineFactorSymbolicByPETSc(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info);
PETSC_INTERN PetscErrorCode TrineFactorNumericByPETSc(Mat F, Mat A, const MatFactorInfo *info);
PETSC_INTERN PetscErrorCode TrineFactorResetPETSc(Mat F);

/** factor_solve.c: what is solved with a factor. */
PETSC_INTERN void TrineFactorSetSolves(Mat F);

#endif
