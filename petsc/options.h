/* What a solver of trine can be asked for in PETSc, from options with the prefix of the PC or the matrix. */
#ifndef TRINE_PETSC_OPTIONS_H
#define TRINE_PETSC_OPTIONS_H

#include <petscsys.h>
#include <petsc/private/petscimpl.h>
#include <trine/direct.h>
#include <trine/precond.h>

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *TrineOptionItems;
#else
typedef PetscOptionItems TrineOptionItems;
#endif

/** The method, by its place in the list of names: these, and the others are methods of trine_precond. */
typedef enum {
    TRINE_PETSC_DIRECT, /* trine_direct */
    TRINE_PETSC_TRIANGULAR, /* trine_triangular: the matrix is a triangle, or one of its two is meant */
    TRINE_PETSC_NONE, /* the identity */
    TRINE_PETSC_AUTO /* the first of trine_precond's */
} TrineMethod;

/** All members are integers or text, so that options are compared by PetscMemcmp: TrineOptionsSetDefaults clears the
 *  bytes between them. */
typedef struct {
    char device[32];
    PetscInt method; /* a TrineMethod, or one that comes after AUTO */
    PetscInt factorization; /* a trine_direct_method */
    PetscInt ordering; /* a trine_ordering */
    PetscInt solver; /* a trine_direct_solver */
    PetscInt refine; /* steps of iterative refinement of a direct solve, as in trine_direct_options */
    PetscInt uplo; /* of triangular: a trine_uplo */
    PetscInt m, fill_level, row_entries, sweeps, nx, ny; /* as in trine_precond_options; 0: its default */
    PetscReal omega, coverage, drop_tolerance, shift;
    PetscBool homogeneous;
    PetscBool keep_forests; /* when values change */
} TrineOptions;

/** A direct solve on one thread of the CPU. */
PETSC_INTERN PetscErrorCode TrineOptionsSetDefaults(TrineOptions *o);
/** Those of the PC type: -pc_trine_... */
PETSC_INTERN PetscErrorCode TrineOptionsReadPC(TrineOptionItems items, TrineOptions *o);
/** Of a direct solve, with `group` ("pc_trine", "mat_trine") before their names: device, factorization,
 *  ordering, solver, refine. */
PETSC_INTERN PetscErrorCode TrineOptionsReadDirect(TrineOptionItems items, const char *group, TrineOptions *o);
/** The name of the method: "direct", "ilu0", ... */
PETSC_INTERN const char *TrineOptionsMethodName(const TrineOptions *o);
/** The method of trine_precond, one of those that have a name here. */
PETSC_INTERN void TrineOptionsSetPrecond(TrineOptions *o, trine_precond_method method);
/** What trine_precond is asked for, if the method is one of its own. */
PETSC_INTERN trine_precond_options TrineOptionsPrecond(const TrineOptions *o);

#endif
