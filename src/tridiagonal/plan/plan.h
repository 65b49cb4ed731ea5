/* The tridiagonal plan: where the entries of a sparse matrix go in its bands or blocks. C11, and C++17 in .cu files. */
#ifndef TRINE_TRIDIAGONAL_PLAN_PLAN_H
#define TRINE_TRIDIAGONAL_PLAN_PLAN_H

#include <trine/tridiagonal_plan.h>

#include "core/internal.h"
#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BANDS_NO_ENTRY = 255 };

/** The matrix is rows x rows blocks of block x block elements; bands are those of blocks of one. Band
 *  b = 0 .. bands - 1 is diagonal b - kl of blocks: the block of each block row, one after the other and column-major.
 *  Rows (by_columns: columns) of the sparse matrix begin at starts[]. */
typedef struct {
    int64_t rows;
    int kl, bands;
    bool by_columns;
    int block;
    int64_t *starts; /* rows x block + 1, in the context's space */
    uint8_t *slots; /* bands x bands_positions: which entry of its row (column) is there, or BANDS_NO_ENTRY */
} bands_map;

/** Elements of a band. */
static inline int64_t bands_positions(const bands_map *m) { return m->rows * m->block * m->block; }

/** The row or column of the sparse matrix that holds row i, column j of the block of band b in block row `row`.
 *  block: m->block, which the compiler may know. */
#if defined(__CUDACC__) || defined(__HIPCC__)
__host__ __device__
#endif
    static inline int64_t bands_line(const bands_map *m, int block, int b, int64_t row, int i, int j)
{
    if (!m->by_columns) return row * block + i;
    const int64_t column = row + b - m->kl;
    return (column < 0 ? column + m->rows : column >= m->rows ? column - m->rows : column) * block + j;
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
