/* CHOLMOD's views of arrays that it does not own, for its long interface in double precision. */
#ifndef TRINE_BENCH_CHOLMOD_VIEW_H
#define TRINE_BENCH_CHOLMOD_VIEW_H

#include <cholmod.h>
#include <stdint.h>

/** A Hermitian matrix by sorted columns, of whose full pattern the lower triangle is read. */
static inline cholmod_sparse cholmod_matrix_view(int64_t n, int64_t nnz, const int64_t *offsets, int64_t *rows,
                                                 const double *values)
{
    return (cholmod_sparse){.nrow = (size_t)n,
                            .ncol = (size_t)n,
                            .nzmax = (size_t)nnz,
                            .p = (void *)offsets,
                            .i = rows,
                            .x = (void *)values,
                            .stype = -1,
                            .itype = CHOLMOD_LONG,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

/** nrhs vectors by columns. */
static inline cholmod_dense cholmod_vectors_view(int64_t n, int64_t nrhs, double *values)
{
    return (cholmod_dense){.nrow = (size_t)n,
                           .ncol = (size_t)nrhs,
                           .nzmax = (size_t)(n * nrhs),
                           .d = (size_t)n,
                           .x = values,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE};
}

#endif
