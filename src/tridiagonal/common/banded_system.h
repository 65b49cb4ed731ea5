/* A tridiagonal, block tridiagonal or banded system with its right-hand sides and solutions, as the caller has it:
 * what looks at it row by row sees. */
#ifndef TRINE_TRIDIAGONAL_COMMON_BANDED_SYSTEM_H
#define TRINE_TRIDIAGONAL_COMMON_BANDED_SYSTEM_H

#include "tridiagonal/block/common/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Blocks of m x m in bands -kl .. ku of A, column-major; block k of block row j of A is the j-th of band[kl + k]. */
typedef struct {
    trine_dtype t;
    int64_t rows, nrhs, ldd, ldx; /* block rows */
    int m, kl, ku;
    bool cyclic, transposed, conjugate;
    const void *band[2 * BLOCK_MAX + 1];
    const void *D, *X;
} banded_system;

/** The matrix op(A) of a solve: from blocks, and from bands one below the other. */
banded_system banded_of_blocks(trine_dtype t, int64_t rows, int m, const trine_gtsv_options *options, const void *a,
                               const void *b, const void *c);
banded_system banded_of_bands(trine_dtype t, int64_t n, int kl, int ku, const trine_gtsv_options *options,
                              const void *AB);

/** A block of op(A): its position in a band, and which one; column < 0 outside the matrix. */
typedef struct {
    int64_t column, position;
    int band;
} banded_block;

#ifndef BANDED_INLINE
#define BANDED_INLINE static inline
#endif
BANDED_INLINE int banded_first(const banded_system *s) { return s->transposed ? -s->ku : -s->kl; }
BANDED_INLINE int banded_last(const banded_system *s) { return s->transposed ? s->kl : s->ku; }

/** Block k = banded_first .. banded_last of block row j of op(A). */
BANDED_INLINE banded_block banded_block_at(const banded_system *s, int64_t j, int k)
{
    banded_block b;
    const int64_t to = j + k, wrapped = to < 0 || to >= s->rows ? (to % s->rows + s->rows) % s->rows : to;
    b.column = wrapped == to || s->cyclic ? wrapped : -1;
    b.position = s->transposed ? wrapped : j;
    b.band = s->kl + (s->transposed ? -k : k);
    return b;
}
/** Where entry (i, q) of such a block lies in its band. */
BANDED_INLINE int64_t banded_entry(const banded_system *s, int64_t position, int i, int q)
{
    return (position * s->m + (s->transposed ? i : q)) * s->m + (s->transposed ? q : i);
}

#ifdef __cplusplus
}
#endif
#endif
