/* Componentwise backward errors of solutions of banded and block tridiagonal systems: what their devices are told. */
#ifndef TRINE_TRIDIAGONAL_ERROR_H
#define TRINE_TRIDIAGONAL_ERROR_H

#include "tridiagonal/block/layout.h"

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
    double *errors;
} error_call;

struct error_backend { trine_status (*backward_errors)(void *stream, int threads, const error_call *c); };
extern const struct error_backend error_cpu, error_cuda;

/** A block of op(A): its position in a band, and which one; column < 0 outside the matrix. */
typedef struct { int64_t column, position; int band; } error_block;

#ifndef ERROR_INLINE
#define ERROR_INLINE static inline
#endif
ERROR_INLINE int error_first(const error_call *c) { return c->transposed ? -c->ku : -c->kl; }
ERROR_INLINE int error_last(const error_call *c) { return c->transposed ? c->kl : c->ku; }

/** Block k = error_first .. error_last of block row j of op(A). */
ERROR_INLINE error_block error_block_at(const error_call *c, int64_t j, int k)
{
    error_block b;
    const int64_t to = j + k, wrapped = to < 0 || to >= c->rows ? (to % c->rows + c->rows) % c->rows : to;
    b.column = wrapped == to || c->cyclic ? wrapped : -1;
    b.position = c->transposed ? wrapped : j;
    b.band = c->kl + (c->transposed ? -k : k);
    return b;
}
/** Where entry (i, q) of such a block lies in its band. */
ERROR_INLINE int64_t error_entry(const error_call *c, int64_t position, int i, int q)
{
    return (position * c->m + (c->transposed ? i : q)) * c->m + (c->transposed ? q : i);
}

#ifdef __cplusplus
}
#endif
#endif
