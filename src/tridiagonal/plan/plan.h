/* The tridiagonal plan: where the entries of a sparse matrix go in its bands. C11, and C++17 in .cu files. */
#ifndef TRINE_TRIDIAGONAL_PLAN_PLAN_H
#define TRINE_TRIDIAGONAL_PLAN_PLAN_H

#include <trine/tridiagonal_plan.h>

#include "core/internal.h"
#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BANDS_NO_ENTRY = 255 };

/** Band b = 0 .. bands - 1 is diagonal b - kl; position i of it is row i. Rows (by_columns: columns) of the sparse
 *  matrix begin at starts[]. */
typedef struct {
    int64_t n;
    int kl, bands;
    bool by_columns;
    int64_t *starts;  /* n + 1, in the context's space */
    uint8_t *slots;   /* bands x n: which entry of its row (column) is there, or BANDS_NO_ENTRY */
} bands_map;

/** The row or column of the sparse matrix that holds what is at position i of band b. */
#if defined(__CUDACC__) || defined(__HIPCC__)
__host__ __device__
#endif
    static inline int64_t bands_line(const bands_map *m, int b, int64_t i)
{
    if (!m->by_columns) return i;
    const int64_t j = i + b - m->kl;
    return j < 0 ? j + m->n : j >= m->n ? j - m->n : j;
}

/** bands := values, in the sparse matrix's order; zero where it has no entry. Everything in the context's space. */
typedef trine_status (*bands_gather_fn)(trine_context ctx, const bands_map *m, trine_dtype t, const void *values,
                                        void *bands, void *stream);
struct bands_backend { bands_gather_fn gather; };
extern const struct bands_backend bands_cpu, bands_cuda;

#ifdef __cplusplus
}
#endif
#endif
