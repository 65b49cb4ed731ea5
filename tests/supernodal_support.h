/* Supernodal factors made for tests, and the check of a solve against products with the panels in long double. */
#ifndef TRINE_SUPERNODAL_SUPPORT_H
#define TRINE_SUPERNODAL_SUPPORT_H

#include "elements.h"
#include "harness.h"

typedef struct {
    int64_t n, m;
    int32_t *first, *rows;
    int64_t *row_offsets, *value_offsets;
    double complex *exact; /* values, NaN above the diagonals */
    void *values;          /* the same in the dtype asked for */
    trine_dtype dtype;
    trine_diag diag;
} factor;

/** A random factor with panels of the given widths; each panel has `extra` random rows below and, if closed, those that
 *  elimination adds. Off-diagonal entries are below 1 / height, diagonals between 1 and 2 in modulus. */
factor make_factor(int m, const int *widths, int extra, bool closed, trine_diag diag, uint64_t seed);
/** Panels on both sides of the small thresholds that tests use, several levels of them. */
factor mixed_factor(trine_diag diag, bool closed);
void free_factor(factor *F);
/** Values in dtype t; F->exact is rounded along. */
void convert(factor *F, trine_dtype t);
trine_panels panels_of(const factor *F);
/** numeric from host values; must succeed. */
void numeric(trine_supernodal plan, const factor *F);

typedef struct {
    trine_transpose op;
    int64_t nrhs;
    trine_layout layout_b, layout_x;
    bool in_place, scaled;
    bool single; /* the plan keeps its panels in single precision */
} solve_case;

/** Entry (i, j) of the right-hand sides that check_solve uses. */
double complex right_hand_side(int64_t i, int64_t j);
/** |b - op(L) x| <= 8 n eps (|op(L)| |x| + |b|), entry by entry, of one real right-hand side in double precision. */
void check_solution(const factor *F, trine_transpose op, const double *b, const double *x);
/** Solve and check |alpha b - op(L) x| <= 8 n eps (|op(L)| |x| + |alpha b|), entry by entry. */
void check_solve(trine_context ctx, trine_supernodal plan, const factor *F, const solve_case *k, const trine_exec *exec);

#endif
