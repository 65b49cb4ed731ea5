/* Sparse columns expanded and pruned on the CPU. */
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

#define TEMPLATE "tridiagonal/sparse_rhs/sparse_rhs_cpu.inc"
#include "core/each_dtype.h"

typedef void (*columns_fn)(const sparse_columns *c, int threads);
static const columns_fn expand_of[] = TABLE(expand), keep_largest_of[] = TABLE(keep_largest);

static trine_status expand(const solve_place *at, const sparse_columns *c)
{
    expand_of[c->t](c, at->ctx->threads);
    return TRINE_SUCCESS;
}

static trine_status keep_largest(const solve_place *at, const sparse_columns *c)
{
    keep_largest_of[c->t](c, at->ctx->threads);
    return TRINE_SUCCESS;
}

const struct sparse_rhs_backend sparse_rhs_cpu = {expand, keep_largest};
