/* What trine_gtsv_csc2dense and trine_gtsv_csc2csc do between their solves, on the CPU and on the GPU. */
#ifndef TRINE_TRIDIAGONAL_SPARSE_RHS_SPARSE_RHS_H
#define TRINE_TRIDIAGONAL_SPARSE_RHS_SPARSE_RHS_H

#include "tridiagonal/gtsv/zero_tiles.h"
#include "tridiagonal/tridiagonal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Columns first .. first + count - 1 of a sparse matrix beside the same columns of a dense one (X, from its column
 *  0 on). */
typedef struct {
    trine_dtype t;
    int64_t n, first, count, ldx;
    void *X;
    void *values;
    int32_t *rows;
    const int32_t *offsets;
    gtsv_tile tile;  /* on the GPU: what each of the */
    int32_t *marks;  /* stands for */
} sparse_columns;

struct sparse_rhs_backend {
    /** X := the columns; marks := 1 where a tile has entries, else 0. */
    trine_status (*expand)(const solve_place *at, const sparse_columns *c);
    /** The columns := the largest entries of X. */
    trine_status (*keep_largest)(const solve_place *at, const sparse_columns *c);
};
extern const struct sparse_rhs_backend sparse_rhs_cpu, sparse_rhs_cuda;

#ifdef __cplusplus
}
#endif
#endif
