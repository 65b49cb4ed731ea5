/* Componentwise backward errors of solutions of banded and block tridiagonal systems: what their devices are told. */
#ifndef TRINE_TRIDIAGONAL_ERROR_ERROR_H
#define TRINE_TRIDIAGONAL_ERROR_ERROR_H

#include "tridiagonal/common/banded_system.h"
#include "tridiagonal/tridiagonal.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    banded_system s;
    double *errors;
} error_call;

struct error_backend { trine_status (*backward_errors)(const solve_place *at, const error_call *c); };
extern const struct error_backend error_cpu, error_cuda;

#ifdef __cplusplus
}
#endif
#endif
