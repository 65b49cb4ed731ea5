/* What the tests of the gallery share: a matrix of doubles with its arrays at hand. */
#ifndef TRINE_GALLERY_SUPPORT_H
#define TRINE_GALLERY_SUPPORT_H

#include "harness.h"

typedef struct {
    trine_matrix A;
    int64_t n, nnz;
    const int64_t *offsets;
    const int32_t *columns;
    const double *values;
} sparse;

sparse make(trine_context ctx, const char *spec);
/** The value at (i,j), 0 where nothing is stored. */
double at(const sparse *s, int64_t i, int64_t j);
void assert_rows_ascend(const sparse *s);
bool is_symmetric(const sparse *s);
/** Cholesky factorization in long double: is s positive definite, with pivots above n eps max|a|? */
bool is_positive_definite(const sparse *s);

#endif
