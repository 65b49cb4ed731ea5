/* Backward errors on the CPU. */
#include "core/scalar.h"
#include "tridiagonal/error/error.h"

enum { SERIAL_ROWS = 4096 };

#define TEMPLATE "tridiagonal/error/error_cpu.inc"
#include "core/each_dtype.h"

typedef double (*worst_fn)(const error_call *c, int64_t column, int threads);
static const worst_fn worst_of[] = TABLE(worst_row);

static trine_status backward_errors(const solve_place *at, const error_call *c)
{
    for (int64_t column = 0; column < c->s.nrhs; column++) c->errors[column] = worst_of[c->s.t](c, column, at->ctx->threads);
    return TRINE_SUCCESS;
}

const struct error_backend error_cpu = {backward_errors};
