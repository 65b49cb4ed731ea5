/* Tridiagonal, banded and block tridiagonal systems for tests: built in any precision, solved by trine on the device
 * under test or by LAPACK, judged in long double. */
#ifndef TRINE_BANDED_SUPPORT_H
#define TRINE_BANDED_SUPPORT_H

#include <math.h>

#include "elements.h"
#include "harness.h"

/** op(A) X = D. Blocks (rows > 0): a, b, c one after the other, rows blocks of m x m each. Bands: kl + ku + 1 of n
 *  elements. */
typedef struct {
    trine_dtype t;
    int64_t n, rows, nrhs, ldd, ldx;
    int m, kl, ku;
    trine_gtsv_options options;
    void *matrix, *D, *X;
    size_t matrix_elements;
    bool factor_first; /* blocks: by bgtf and bgtfs */
    bool tridiagonal;  /* bands -1, 0, 1: by gtsv */
    int threads;       /* on a CPU */
} linear_system;

linear_system new_blocks(trine_dtype t, int64_t rows, int m, int64_t nrhs, trine_gtsv_options options);
linear_system new_bands(trine_dtype t, int64_t n, int kl, int ku, int64_t nrhs, trine_gtsv_options options);
linear_system new_tridiagonal(trine_dtype t, int64_t n, int64_t nrhs, trine_gtsv_options options);
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

/** The backward error of each column, as trine finds it on the device under test. */
void find_errors(const linear_system *s, double *errors);

/** Solve on the device under test; returns the status. */
trine_status solve_system(linear_system *s);

/** Solve s with random coefficients, NaN outside the matrix, require a backward error of at most `bound` eps, and
 *  free s. */
void check_random(linear_system s, double dominance, double bound);

/** Solve s, whose pivots are zero or tiny; require a backward error of at most 50 eps, and free s. */
void check_exchanges(linear_system s);

/** Pairs of rows [1 1; 1 1 + noise] with solution 1: where the noise counts as zero, there is nothing left to divide
 *  by, and the solution is huge. Frees s. */
void check_epsilon(linear_system s);

/** One after the other, columns of s (double, 1000 unknowns) have no entries: named on a CPU, survived on a GPU.
 *  Frees s. */
void check_singular(linear_system s);

/** NaN in the second of two right-hand sides (double, 1000 unknowns) is seen in its solution, not in the first
 *  one's. Frees s. */
void check_nan(linear_system s);

/** Rows and right-hand sides (one column) times powers of two, the same solution to the last bit. Frees s. */
void check_scaled_rows(linear_system s);

/** Any number of threads gives the same bits. Frees s. */
void check_threads(linear_system s);

/** Solve, and again with the solution in the place of D: the same bits, and what is no part of the result stays as
 *  it was. */
void check_in_place_and_inputs(linear_system *s);

/** Errors of trine and of LAPACK's gbsv (infinite where that fails) on real double systems with one right-hand side. */
#define SEEDS 20
typedef struct {
    double ours[SEEDS], lapack[SEEDS], backward[SEEDS];
    int count;
} error_samples;
/** Solve s, whose solution is x, with both. */
void compare_with_lapack(linear_system *s, const double *x, error_samples *e);
/** Forward errors, |x - y|_2 / |y|_2, at most 50 times LAPACK's in the median; hopeless, a condition above 1e15: the
 *  backward error at most 50 eps. */
void check_errors(const char *name, error_samples *e, bool hopeless);

/** A file of the numerical test set: bands, x, d; false if it is not there. */
bool read_sample(const char *name, linear_system *s, double **x);

#endif
