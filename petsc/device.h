/* The device of a solver, and vectors on their way to it. */
#ifndef TRINE_PETSC_DEVICE_H
#define TRINE_PETSC_DEVICE_H

#include <petscvec.h>
#include <trine/core.h>

typedef struct {
    trine_context ctx; /* NULL: not open */
    trine_context_info info;
    /* Of a GPU, for arrays of the host: made when they are first needed. */
    PetscScalar *pinned; /* page-locked host memory */
    PetscScalar *staged[2]; /* of the right-hand sides and of the solutions, on the device */
    size_t room; /* of each of the three, in bytes */
} TrineDevice;

/** Open "cpu", "cpu:N", "cuda:K"; "cuda": the GPU of this rank, counted over the ranks of its machine (in a PETSc with
 *  CUDA, PETSc's own); "auto": that one where there is one, else one thread of the CPU. trine's errors: see
 *  trine_last_error. */
PETSC_INTERN PetscErrorCode TrineDeviceOpen(TrineDevice *device, const char *name, trine_status *status);
PETSC_INTERN PetscErrorCode TrineDeviceClose(TrineDevice *device);

/** A block of vectors by columns, wherever PETSc has it. */
typedef struct {
    PetscScalar *data;
    PetscMemType where;
    PetscInt rows, columns, ld;
} TrineBlock;

/** What trine reads for b, and what it writes for x: their own arrays where the device can use them, else memory that b
 *  has been copied to. b or x is NULL: nothing to be done. */
PETSC_INTERN PetscErrorCode TrineDeviceTake(TrineDevice *device, const TrineBlock *b, const TrineBlock *x,
                                            trine_dense *B, trine_dense *X);
/** After the solve, which has ended then: x has the solutions. */
PETSC_INTERN PetscErrorCode TrineDeviceGive(TrineDevice *device, const trine_dense *X, const TrineBlock *x);

#endif
