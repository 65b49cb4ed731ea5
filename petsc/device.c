#include "device.h"

#if defined(TRINE_PETSC_PINNED)
#include <cuda_runtime_api.h>
#endif
#include <petscdevice.h>

#include "errors.h"
#include "events.h"

/* ------------------------------------------------------------------- opening */

/** The context of the GPU of this rank. A machine may have less of them than ranks; no function of trine counts them,
 *  and the first number that is there, from this rank's downward, is the last one. */
static PetscErrorCode OpenOwnGpu(trine_context *ctx, trine_status *status)
{
    char name[32];
    int own = TRINE_local_rank;

    PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
    PetscDeviceContext petsc;
    PetscDevice device;
    PetscDeviceType type;
    PetscInt id;
    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscCall(PetscDeviceContextGetCurrentContext(&petsc));
    PetscCall(PetscDeviceContextGetDevice(petsc, &device));
    PetscCall(PetscDeviceGetType(device, &type));
    if (type == PETSC_DEVICE_CUDA) {
        PetscCall(PetscDeviceGetDeviceId(device, &id));
        own = (int)id;
    }
#endif
    int found = own + 1;
    do {
        PetscCall(PetscSNPrintf(name, sizeof name, "cuda:%d", --found));
        *status = trine_context_create(ctx, name);
    } while (*status == TRINE_ERR_DEVICE && found > 0);
    if (*status == TRINE_SUCCESS && found != own && own % (found + 1) != found) {
        TrineCall(trine_context_destroy(ctx));
        PetscCall(PetscSNPrintf(name, sizeof name, "cuda:%d", own % (found + 1)));
        *status = trine_context_create(ctx, name);
    }
    PetscFunctionReturn(0);
}

PetscErrorCode TrineDeviceOpen(TrineDevice *device, const char *name, trine_status *status)
{
    PetscBool is_auto, is_cuda;

    PetscFunctionBegin;
    PetscCall(PetscStrcmp(name, "auto", &is_auto));
    PetscCall(PetscStrcmp(name, "cuda", &is_cuda));
    if (is_auto || is_cuda) PetscCall(OpenOwnGpu(&device->ctx, status));
    if (!is_auto && !is_cuda) *status = trine_context_create(&device->ctx, name);
    else if (is_auto && *status != TRINE_SUCCESS) *status = trine_context_create(&device->ctx, "cpu:1");
    if (*status == TRINE_SUCCESS) *status = trine_context_get_info(device->ctx, &device->info);
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------- copying */

static PetscErrorCode AllocatePinned(size_t bytes, PetscScalar **p)
{
    PetscFunctionBegin;
#if defined(TRINE_PETSC_PINNED)
    const cudaError_t error = cudaHostAlloc((void **)p, bytes, cudaHostAllocPortable);
    PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_MEM,
               "trine: no %zu bytes of page-locked memory for the copies to a GPU: %s", bytes, cudaGetErrorString(error));
#else
    PetscCall(PetscMalloc(bytes, p));
#endif
    PetscFunctionReturn(0);
}

static PetscErrorCode FreePinned(PetscScalar **p)
{
    PetscFunctionBegin;
#if defined(TRINE_PETSC_PINNED)
    if (*p) cudaFreeHost(*p);
    *p = NULL;
#else
    PetscCall(PetscFree(*p));
#endif
    PetscFunctionReturn(0);
}

static PetscErrorCode FreeStaging(TrineDevice *device)
{
    PetscFunctionBegin;
    if (!device->room) PetscFunctionReturn(0);
    PetscCall(FreePinned(&device->pinned));
    for (int i = 0; i < 2; i++) {
        trine_free(device->ctx, TRINE_DEVICE, device->staged[i]);
        device->staged[i] = NULL;
    }
    device->room = 0;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineDeviceClose(TrineDevice *device)
{
    PetscFunctionBegin;
    PetscCall(FreeStaging(device));
    TrineCall(trine_context_destroy(&device->ctx));
    PetscFunctionReturn(0);
}

static PetscErrorCode GrowStaging(TrineDevice *device, size_t bytes)
{
    PetscFunctionBegin;
    if (bytes <= device->room) PetscFunctionReturn(0);
    PetscCall(FreeStaging(device));
    PetscCall(AllocatePinned(bytes, &device->pinned));
    device->room = bytes; /* from here on there is something to be freed */
    for (int i = 0; i < 2; i++) TrineCall(trine_alloc(device->ctx, TRINE_DEVICE, bytes, (void **)&device->staged[i]));
    PetscFunctionReturn(0);
}

/** Whether trine's device can use the block where it is. */
static PetscBool IsAtHome(const TrineDevice *device, const TrineBlock *block)
{
    return device->info.space == TRINE_HOST || !PetscMemTypeHost(block->where) ? PETSC_TRUE : PETSC_FALSE;
}

static trine_dense InPlace(const TrineBlock *b)
{
    return (trine_dense){b->data, b->rows, b->columns, b->ld, TRINE_COLMAJOR};
}

static trine_dense Staged(const TrineDevice *device, int i, const TrineBlock *b)
{
    return (trine_dense){device->staged[i], b->rows, b->columns, b->rows, TRINE_COLMAJOR};
}

static size_t BlockBytes(const TrineBlock *b) { return sizeof(PetscScalar) * (size_t)b->rows * (size_t)b->columns; }

PetscErrorCode TrineDeviceTake(TrineDevice *device, const TrineBlock *b, const TrineBlock *x, trine_dense *B,
                               trine_dense *X)
{
    const PetscBool b_at_home = IsAtHome(device, b), x_at_home = IsAtHome(device, x);

    PetscFunctionBegin;
    if (!b_at_home || !x_at_home) PetscCall(GrowStaging(device, BlockBytes(x)));
    *B = b_at_home ? InPlace(b) : Staged(device, 0, b);
    *X = x_at_home ? InPlace(x) : Staged(device, 1, x);
    if (!b_at_home) {
        PetscCall(PetscLogEventBegin(TRINE_Copy, 0, 0, 0, 0));
        for (PetscInt j = 0; j < b->columns; j++)
            PetscCall(PetscArraycpy(device->pinned + j * b->rows, b->data + j * b->ld, b->rows));
        TrineCall(trine_copy(device->ctx, B->data, TRINE_DEVICE, device->pinned, TRINE_HOST, BlockBytes(b)));
        PetscCall(PetscLogCpuToGpu((PetscLogDouble)BlockBytes(b)));
        PetscCall(PetscLogEventEnd(TRINE_Copy, 0, 0, 0, 0));
    }
#if PetscDefined(HAVE_CUDA)
    if (device->info.space == TRINE_DEVICE && (b_at_home || x_at_home)) { /* trine's stream is not PETSc's */
        PetscDeviceContext petsc;
        PetscCall(PetscDeviceContextGetCurrentContext(&petsc));
        PetscCall(PetscDeviceContextSynchronize(petsc));
    }
#endif
    PetscFunctionReturn(0);
}

PetscErrorCode TrineDeviceGive(TrineDevice *device, const trine_dense *X, const TrineBlock *x)
{
    PetscFunctionBegin;
    TrineCall(trine_context_synchronize(device->ctx));
    if (X->data != x->data) {
        PetscCall(PetscLogEventBegin(TRINE_Copy, 0, 0, 0, 0));
        TrineCall(trine_copy(device->ctx, device->pinned, TRINE_HOST, X->data, TRINE_DEVICE, BlockBytes(x)));
        for (PetscInt j = 0; j < x->columns; j++)
            PetscCall(PetscArraycpy(x->data + j * x->ld, device->pinned + j * x->rows, x->rows));
        PetscCall(PetscLogGpuToCpu((PetscLogDouble)BlockBytes(x)));
        PetscCall(PetscLogEventEnd(TRINE_Copy, 0, 0, 0, 0));
    }
    PetscFunctionReturn(0);
}
