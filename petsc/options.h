/* What a solver of trine can be asked for in PETSc, from options with the prefix of the PC or the matrix. */
#ifndef TRINE_PETSC_OPTIONS_H
#define TRINE_PETSC_OPTIONS_H

#include <petscsys.h>
#include <trine/direct.h>
#include <trine/precond.h>

#include <petsc/private/petscimpl.h>
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *TrineOptionItems;
#else
typedef PetscOptionItems TrineOptionItems;
#endif

typedef enum {
    TRINE_PETSC_DIRECT, /* trine_direct */
    TRINE_PETSC_TRIANGULAR, /* trine_triangular: the matrix is a triangle, or one of its triangles is meant */
    TRINE_PETSC_NONE, /* the identity */
    TRINE_PETSC_PRECOND /* trine_precond */
} TrineKind;

typedef struct {
    char device[32];
    TrineKind kind;
    trine_precond_method precond; /* of TRINE_PETSC_PRECOND */
    trine_direct_method factorization;
    trine_ordering ordering;
    PetscInt refine; /* steps of iterative refinement of a direct solve */
    trine_uplo uplo; /* of TRINE_PETSC_TRIANGULAR */
    trine_precond_options method; /* the rest, of TRINE_PETSC_PRECOND */
    trine_reuse reuse; /* of its forests when values change */
} TrineOptions;

/** A direct solve on one thread of the CPU. */
PETSC_INTERN void TrineOptionsSetDefaults(TrineOptions *o);
/** Those of the PC type: -pc_trine_... */
PETSC_INTERN PetscErrorCode TrineOptionsReadPC(TrineOptionItems PetscOptionsObject, TrineOptions *o);
/** The name of the method: "direct", "ilu0", ... */
PETSC_INTERN const char *TrineOptionsMethod(const TrineOptions *o);

#endif
