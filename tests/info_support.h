/* Infos of solves on a GPU for tests: systems of every kind, solved with an info, which is compared with the
 * definition in long double. */
#ifndef TRINE_INFO_SUPPORT_H
#define TRINE_INFO_SUPPORT_H

#include <math.h>

#include "elements.h"
#include "harness.h"

typedef enum { TRIDIAGONAL, BLOCKS, BANDS, BATCH } info_kind;

/** op(A) X = D: bands -kl .. ku of blocks of m x m, one band after the other; a batch has `systems` of them,
 *  interleaved or not. */
typedef struct {
    info_kind kind;
    trine_dtype t;
    int64_t rows, n, nrhs, ldd, ldx, systems;
    int m, kl, ku;
    bool interleaved, shared, in_place; /* shared: one matrix for all systems */
    trine_gtsv_options options;
    int64_t band_elements, matrix_elements, d_elements, x_elements;
    void *matrix, *D, *X; /* X: after a solve */
    trine_gtsv_info *info;
} info_problem;

/** A problem of zeros, in which sizes, kind and options are those of p. */
info_problem new_problem(info_problem p);
void free_problem(info_problem *p);

/** Where entry (i, q) of block k of block row j of A lies in `matrix`; where element (i, column) of D and of X does. */
int64_t at_matrix(const info_problem *p, int64_t system, int k, int64_t j, int i, int q);
int64_t at_d(const info_problem *p, int64_t system, int64_t i, int64_t column);
int64_t at_x(const info_problem *p, int64_t system, int64_t i, int64_t column);

/** Every coefficient of every system, at its position in A; a zero row of A, a zero column of A. */
void set_coefficients(info_problem *p, wide (*value)(void *, int64_t system, int64_t row, int64_t column),
                      void *argument);
/** U(-1,1) everywhere, `dominance` added to the diagonal; right-hand sides alone. */
void fill_random(info_problem *p, uint64_t seed, double dominance);
void fill_right_hand_sides(info_problem *p, uint64_t seed);

/** Solve with an info, and again without one: X is the same to the last bit, and what is beside the infos stays as
 *  it was. */
void solve_with_info(info_problem *p);

/** What the definition says of p as it was solved. condition: exact. unknowns: of system s, scaled; NULL if the
 *  condition is not a number. */
typedef struct {
    long double condition;
    int64_t row, n;
    long double *unknowns;
} info_expected;
info_expected expected_info(const info_problem *p, int64_t system);
/** The infos of all systems agree with the definition. */
void check_infos(const info_problem *p, const char *what);

/** The condition number in the maximum norm of op(A), rows and then columns scaled; of small systems. */
long double condition_of(const info_problem *p, int64_t system);

#endif
