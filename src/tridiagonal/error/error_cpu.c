/* Backward errors on the CPU. */
#include "core/scalar.h"
#include "tridiagonal/common/loops.h"
#include "tridiagonal/error/error.h"

enum { ROWS_AT_ONCE = 1024 }; /* block rows, in long double */

/** The rows of one column. */
typedef struct {
    const error_call *call;
    int64_t column;
    double worst;  /* atomic */
    int undefined; /* atomic: an error was no number */
} error_loop;

#define TEMPLATE "tridiagonal/error/error_cpu.inc"
#include "core/each_dtype.h"

static const trine_team_range worst_of[] = TABLE(find_worst);

static trine_status backward_errors(const solve_place *at, const error_call *c)
{
    const int64_t work = 4 * c->s.rows * c->s.m; /* long double */
    for (int64_t column = 0; column < c->s.nrhs; column++) {
        error_loop loop = {.call = c, .column = column};
        rpts_for(at->ctx, at->ctx->threads, work, c->s.rows, ROWS_AT_ONCE, worst_of[c->s.t], &loop);
        c->errors[column] = loop.undefined ? NAN : loop.worst;
    }
    return TRINE_SUCCESS;
}

const struct error_backend error_cpu = {backward_errors};
