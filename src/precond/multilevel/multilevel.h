/* Inside of MULTILEVEL: sparse matrices of its levels on the host, and what is computed of them. */
#ifndef TRINE_PRECOND_MULTILEVEL_H
#define TRINE_PRECOND_MULTILEVEL_H

#include "precond/precond.h"

/** Compressed rows, columns in any order. */
struct level_matrix {
    int64_t rows, cols, nnz;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    bool is_lent; /* the arrays are somebody else's */
};

void level_matrix_free(trine_context ctx, struct level_matrix *A);

/** The smoother's weights, w_i = unit(a_ii)^-1 / (|a_ii| + s_i / 2) with s_i the sum of |a_ij| off the diagonal: for
 *  positive definite A, x := x + W (b - A x) converges (Baker, Falgout, Kolev and Yang 2011, have a_ii + s_i). Returns
 *  the first row of zeros, whose weight is 0; -1: none. */
int64_t level_weights(trine_dtype t, const struct level_matrix *A, void *W);

/** Of each row its aggregate, on the host, -1: none, and how many there are. Pairs of rows by a [0,1]-factor of the
 *  strongest entries (Klein 2024, Section 4.6), and pairs of pairs by one of their Q^T A Q, with Q the indicator of
 *  pairs. Rows with |a_ii| >= 5 s_i have none: smoothing alone is enough for them. */
trine_status level_aggregates(trine_context ctx, trine_dtype t, const struct level_matrix *A, int32_t *aggregate,
                              int64_t *count);

/** P = (I - W_F F) Q, with Q the indicator of `count` aggregates, F the strong part of A, |a_ij| >= max_k |a_ik| / 4 of
 *  row i or j, where the weak part is added to the diagonal, and W_F the weights of F (Vanek, Mandel and Brezina
 *  1996). */
trine_status level_prolongation(trine_context ctx, trine_dtype t, const struct level_matrix *A,
                                const int32_t *aggregate, int64_t count, struct level_matrix *P);
/** The conjugate transpose of P. */
trine_status level_transpose(trine_context ctx, trine_dtype t, const struct level_matrix *P, struct level_matrix *into);
/** C = A B. With more than `most` entries, C stays without arrays, but for its nnz. */
trine_status level_multiply(trine_context ctx, trine_dtype t, const struct level_matrix *A,
                            const struct level_matrix *B, int64_t most, struct level_matrix *C);
/** All entries of A^-1, by elimination with full pivoting, up to the rank that A has to rounding: what is beyond gives
 *  and gets nothing. */
trine_status level_invert(trine_context ctx, trine_dtype t, const struct level_matrix *A, struct level_matrix *inverse);

#endif
