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

/** A factor, its panels, and a plan in a context of its own. */
typedef struct {
    trine_context ctx;
    factor F;
    trine_panels panels;
    trine_supernodal plan; /* NULL until set_plan */
} scene;

/** Takes F over, with values in double. */
scene open_scene(factor F);
scene small_scene(void); /* four panels of 2, 3, 1 and 4 columns */
scene mixed_scene(void); /* of mixed_factor, closed, with a diagonal of its own */
/** A new plan for the scene's panels, with their values. */
void set_plan(scene *s, const trine_supernodal_options *options);
void close_scene(scene *s);

typedef struct {
    trine_transpose op;
    int64_t nrhs;
    trine_layout layout_b, layout_x;
    bool in_place, scaled;
    bool single; /* the plan keeps its panels in single precision */
} solve_case;

/** x := op(L)^-1 x, one column of F's dtype, by the module's reference. */
void reference_solve(const factor *F, trine_transpose op, void *x);
/** Entry (i, j) of the right-hand sides that check_solve uses. */
double complex right_hand_side(int64_t i, int64_t j);
/** |b - op(L) x| <= 8 n eps (|op(L)| |x| + |b|), entry by entry, of one real right-hand side in double precision. */
void check_solution(const factor *F, trine_transpose op, const double *b, const double *x);
/** The largest of ||b - op(L) x|| / (||op(L)|| ||x|| + ||b||) in units of eps, infinity norms, over nrhs columns of
 *  n elements of F's dtype; NaN if there is one. single: eps is that of single precision. */
double normwise_error(const factor *F, trine_transpose op, int64_t nrhs, bool single, const void *b, const void *x);
/** b := op(L) x for one column of F's dtype. */
void apply(const factor *F, trine_transpose op, const void *x, void *b);
/** Solve and check |alpha b - op(L) x| <= r = 8 n eps (|op(L)| |x| + |alpha b|), entry by entry, and that x differs
 *  from the reference's solution by at most 2 M^-1 r. M is the comparison matrix of op(L), which has |diagonal| and
 *  -|the rest|: |op(L)^-1| <= M^-1 (Higham 2002, Accuracy and Stability of Numerical Algorithms, theorem 8.12). */
void check_solve(trine_context ctx, trine_supernodal plan, const factor *F, const solve_case *k,
                 const trine_exec *exec);
/** Ten solves by the scene's plan (in double) with one right-hand side, and ten with `most`, give the same bits. */
void check_reproducible(const scene *s, trine_transpose op, int64_t most);
/** Analysis, numeric and a work for three right-hand sides with the k-th allocation failing, for every k until none
 *  does: an error each time, and nothing left behind. limit: makes a context count and fail. */
void fail_every_allocation(const factor *F, const trine_supernodal_options *options,
                           void (*limit)(trine_context ctx, test_memory *memory));

#endif
