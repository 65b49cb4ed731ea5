/* The device of a solver, and the way of PETSc's vectors to it. */
#ifndef TRINE_PETSC_DEVICE_H
#define TRINE_PETSC_DEVICE_H

#include <petscvec.h>
#include <trine/core.h>

typedef struct {
    trine_context ctx;
    trine_context_info info;
} TrineDevice;

/** "cpu", "cpu:N", "cuda:K"; "cuda": the GPU with the number of this rank among those of its machine; "auto": that
 *  one where there is one, else one thread of the CPU. */
PETSC_INTERN PetscErrorCode TrineDeviceOpen(TrineDevice *device, const char *name);
PETSC_INTERN PetscErrorCode TrineDeviceClose(TrineDevice *device);

#endif
