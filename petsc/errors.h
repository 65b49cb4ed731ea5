/* Errors of trine as errors of PETSc: with trine's sentence, which names the row; PETSc names the rank. */
#ifndef TRINE_PETSC_ERRORS_H
#define TRINE_PETSC_ERRORS_H

#include <petscsys.h>
#include <trine/core.h>

static inline PetscErrorCode TrineErrorCode(trine_status status)
{
    switch (status) {
    case TRINE_SUCCESS: return 0;
    case TRINE_ERR_STATE: return PETSC_ERR_ORDER;
    case TRINE_ERR_MEMORY: return PETSC_ERR_MEM;
    case TRINE_ERR_SINGULAR: return PETSC_ERR_MAT_LU_ZRPVT;
    case TRINE_ERR_NOT_DEFINITE: return PETSC_ERR_MAT_CH_ZRPVT;
    case TRINE_ERR_UNSUPPORTED:
    case TRINE_ERR_NOT_BUILT: return PETSC_ERR_SUP;
    case TRINE_ERR_DEVICE: return PETSC_ERR_GPU;
    case TRINE_ERR_NO_CONVERGENCE: return PETSC_ERR_NOT_CONVERGED;
    case TRINE_ERR_IO:
    case TRINE_ERR_FORMAT: return PETSC_ERR_LIB;
    default: return PETSC_ERR_ARG_WRONG;
    }
}

/** A call of trine in a function of PETSc's kind. */
#define TrineCall(...)                                                                                                 \
    do {                                                                                                               \
        const trine_status trine_call_status = (__VA_ARGS__);                                                          \
        PetscCheck(trine_call_status == TRINE_SUCCESS, PETSC_COMM_SELF, TrineErrorCode(trine_call_status),             \
                   "trine: %s", trine_last_error());                                                                   \
    } while (0)

#endif
