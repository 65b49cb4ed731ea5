/* Both triangles of a factor as operators: the halves of a solve, and the whole of one. */
#ifndef TRINE_PETSC_TRIANGLES_H
#define TRINE_PETSC_TRIANGLES_H

#include <petscsys.h>
#include <trine/operator.h>
#include <trine/triangular.h>

/** diag(row_scale) A(row_perm, col_perm) diag(col_scale) = L U, on the host. Scales are those of permuted rows. */
typedef struct {
    trine_matrix lower, upper; /* one matrix may hold both; upper NULL: U = L^H */
    trine_diag diag; /* of L */
    const int32_t *row_perm, *col_perm; /* NULL: the identity */
    const double *row_scale, *col_scale; /* NULL: ones */
} TrineFactorParts;

typedef struct {
    trine_triangular lower, upper;
    trine_op forward; /* L^-1 diag(row_scale) P, with (P b)(i) = b(row_perm(i)) */
    trine_op backward; /* Q^T diag(col_scale) U^-1, with (Q^T y)(col_perm(i)) = y(i) */
    trine_op inverse; /* of A: backward forward */
} TrineTriangles;

/** Analyse both triangles and take their values, zero pivots among them. Everything of `parts` is copied. ops: mask of
 *  what will be applied; of a complex L L^H TRINE_N and TRINE_H. */
PETSC_INTERN PetscErrorCode TrineTrianglesCreate(TrineTriangles *t, trine_context ctx, const TrineFactorParts *parts,
                                                 unsigned ops);
/** New values of triangles that one matrix held, in its order, on the host. */
PETSC_INTERN PetscErrorCode TrineTrianglesNumeric(TrineTriangles *t, const void *values);
PETSC_INTERN PetscErrorCode TrineTrianglesDestroy(TrineTriangles *t);

#endif
