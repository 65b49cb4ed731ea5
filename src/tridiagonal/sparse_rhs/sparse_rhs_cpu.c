/* Sparse columns expanded and pruned on the CPU. */
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/common/loops.h"
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

#define TEMPLATE "tridiagonal/sparse_rhs/sparse_rhs_cpu.inc"
#include "core/each_dtype.h"

static const trine_team_range expand_of[] = TABLE(expand), keep_largest_of[] = TABLE(keep_largest);

/** Column by column. */
static trine_status run(const solve_place *at, const sparse_columns *c, trine_team_range range)
{
    rpts_for(at->ctx, at->ctx->threads, c->n * c->count, c->count, 1, range, (void *)(uintptr_t)c);
    return TRINE_SUCCESS;
}
static trine_status expand(const solve_place *at, const sparse_columns *c) { return run(at, c, expand_of[c->t]); }
static trine_status keep_largest(const solve_place *at, const sparse_columns *c)
{
    return run(at, c, keep_largest_of[c->t]);
}

const struct sparse_rhs_backend sparse_rhs_cpu = {expand, keep_largest};
