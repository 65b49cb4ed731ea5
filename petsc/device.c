#include "device.h"

#include "errors.h"

PetscErrorCode TrineDeviceOpen(TrineDevice *device, const char *name)
{
    PetscFunctionBegin;
    TrineCall(trine_context_create(&device->ctx, name));
    TrineCall(trine_context_get_info(device->ctx, &device->info));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineDeviceClose(TrineDevice *device)
{
    PetscFunctionBegin;
    TrineCall(trine_context_destroy(&device->ctx));
    PetscFunctionReturn(0);
}
