/* Block tridiagonal and banded systems for tests: built in any precision, solved by trine on the device under test or by LAPACK,
 * judged in long double. */
#ifndef TRINE_PANEL_SUPPORT_H
#define TRINE_PANEL_SUPPORT_H

#include "harness.h"

#include <complex.h>
#include <math.h>
#undef I

typedef long double complex wide;

/** op(A) X = D. Blocks (rows > 0): a, b, c one after the other, rows blocks of m x m each. Bands: kl + ku + 1 of n elements. */
typedef struct {
    trine_dtype t;
    int64_t n, rows, nrhs, ldd, ldx;
    int m, kl, ku;
    trine_gtsv_options options;
    void *matrix, *D, *X;
    size_t matrix_elements;
    bool factor_first; /* blocks: by bgtf and bgtfs */
} linear_system;

extern const trine_dtype all_dtypes[4];
double eps_of(trine_dtype t);
wide element(trine_dtype t, const void *p, int64_t i);
void set(trine_dtype t, void *p, int64_t i, wide value);
wide random_value(trine_dtype t, uint64_t seed, uint64_t i);

linear_system new_blocks(trine_dtype t, int64_t rows, int m, int64_t nrhs, trine_gtsv_options options);
linear_system new_bands(trine_dtype t, int64_t n, int kl, int ku, int64_t nrhs, trine_gtsv_options options);
void free_system(linear_system *s);

/** Index in `matrix` of A[i,j], j in -kl .. ku around i or, cyclic, that modulo n; the element must be stored. */
int64_t element_of_block(const linear_system *s, int64_t block_row, int side, int i, int q);
int64_t element_of_band(const linear_system *s, int64_t row, int k);

/** All elements from U(-1,1), `dominance` added to the diagonal. */
void fill_system(linear_system *s, uint64_t seed, double dominance);
/** NaN in every element outside the matrix. */
void poison_outside(linear_system *s);

/** Call visit(row, column, value) for every element of op(A), doubles included. */
void visit_elements(const linear_system *s, void (*visit)(void *, int64_t, int64_t, wide), void *argument);

/** D := op(A) x in double, bands added from the lowest to the highest (real, double, one right-hand side). */
void multiply_system(linear_system *s, const double *x);

/** The largest |d - op(A) x|_i / (|op(A)| |x| + |d|)_i; infinite if X is not finite. D is that of before the solve. */
double backward_error(const linear_system *s, const void *D);

/** Solve on the device under test; returns the status. */
trine_status solve_system(linear_system *s);

/** Solution of a real double system with one right-hand side by LAPACK's gbsv; false if that fails. */
bool solve_by_lapack(const linear_system *s, double *x);

/** |x - y|_2 / |y|_2 */
double relative_error(int64_t n, const double *x, const double *y);
double median(double *values, int count);

/** A file of the numerical test set: bands, x, d; false if it is not there. */
bool read_sample(const char *name, linear_system *s, double **x);

#endif
