/* Sparse columns expanded and pruned on the CPU. */
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

#define TEMPLATE "tridiagonal/sparse_rhs/sparse_rhs_cpu.inc"
#include "core/each_dtype.h"

typedef void (*columns_fn)(const sparse_columns *c, int threads);
static const columns_fn expand_of[] = TABLE(expand), keep_largest_of[] = TABLE(keep_largest);

static trine_status expand(void *stream, int threads, const sparse_columns *c)
{
    (void)stream;
    expand_of[c->t](c, threads ? threads : omp_get_max_threads());
    return TRINE_SUCCESS;
}

static trine_status keep_largest(void *stream, int threads, const sparse_columns *c)
{
    (void)stream;
    keep_largest_of[c->t](c, threads ? threads : omp_get_max_threads());
    return TRINE_SUCCESS;
}

const struct sparse_rhs_backend sparse_rhs_cpu = {expand, keep_largest};
