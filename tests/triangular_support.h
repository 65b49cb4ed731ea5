/* What the tests of triangular solves share: problems in four precisions, and the definition they are held to. */
#ifndef TRINE_TRIANGULAR_SUPPORT_H
#define TRINE_TRIANGULAR_SUPPORT_H

#include "elements.h"
#include "harness.h"

typedef double complex value;

value random_value(uint64_t seed, uint64_t k);

/** A square matrix in compressed rows, or the same arrays read as compressed columns. */
struct problem {
    int64_t n, nnz;
    int64_t *offsets;
    int32_t *indices;
    value *values;
    bool csc;
};
void problem_free(struct problem *P);

/** n rows, row i with the columns that wants(i, j) accepts; well conditioned; some rows unsorted; the other triangle
 *  holds NaN if `poison`. */
typedef bool (*pattern_fn)(int64_t i, int64_t j, int64_t n);
struct problem make_problem(int64_t n, pattern_fn wants, bool lower, bool csc, bool poison, bool poison_diagonal,
                            uint64_t seed);
bool sparse_random(int64_t i, int64_t j, int64_t n);

/** Rows given one by one: row i depends on from(i, 0), from(i, 1), ... until -1. */
struct problem make_rows(int64_t n, int64_t per_row, int64_t (*from)(int64_t i, int64_t k, int64_t n));
int64_t chain(int64_t i, int64_t k, int64_t n);
int64_t diagonal(int64_t i, int64_t k, int64_t n);
int64_t dense_last_row(int64_t i, int64_t k, int64_t n);
int64_t dense_first_column(int64_t i, int64_t k, int64_t n);
int64_t arrow(int64_t i, int64_t k, int64_t n);
int64_t grid(int64_t i, int64_t k, int64_t n);
int64_t hubs(int64_t i, int64_t k, int64_t n); /* a grid in which every 4096th row depends on the 2000 before it */
int64_t layers(int64_t i, int64_t k, int64_t n); /* levels of 2000 rows */
/* What rows need not wait for inside a kernel. */
int64_t dense_groups(int64_t i, int64_t k, int64_t n);   /* dense diagonal blocks of 30 rows */
int64_t uneven_groups(int64_t i, int64_t k, int64_t n);  /* of 1, 30, 7, 32 and 2 rows, where entries are */
int64_t single_rows(int64_t i, int64_t k, int64_t n);    /* of a row and of 5, few of the latter */
int64_t too_long_groups(int64_t i, int64_t k, int64_t n); /* a chain of 33 rows, the others alone */
int64_t two_levels(int64_t i, int64_t k, int64_t n);     /* two rows need half of all rows, others three */
int64_t three_levels(int64_t i, int64_t k, int64_t n);   /* as well, and the last one needs the other long one */
int64_t few_levels_one_way(int64_t i, int64_t k, int64_t n); /* chains of three, and a last row that needs 200 of
                                                                their ends */
int64_t dense_corner(int64_t i, int64_t k, int64_t n);   /* 40 levels of a row, and one of all the others, which need
                                                            those 40 */
int64_t broad_levels(int64_t i, int64_t k, int64_t n); /* by turns a broad level and a few narrow ones; 80,100 rows */

/** The problem in dtype t as a matrix of ctx: on the device, or a view of host memory. Arrays are kept in *arrays
 *  for release. */
struct arrays {
    void *offsets, *indices, *values;
    trine_context ctx;
    bool device;
};
trine_matrix make_matrix(trine_context ctx, const struct problem *P, trine_dtype t, bool on_device, struct arrays *a);
void free_arrays(struct arrays *a);

/** trine_triangular_reference_* of dtype t, with a problem's pattern in compressed rows. */
void reference_solve(trine_dtype t, trine_uplo uplo, trine_transpose op, trine_diag diag, const struct problem *csr,
                     const void *values, void *x);
/** Componentwise: |alpha b - op(T) x| <= c (entries + 4) eps (|op(T)| |x| + |alpha b|), everything rounded to t
 *  first, in long double; and x is what the reference solve gives, within what such residuals can make of the
 *  difference. */
void check_solution(const struct problem *P, trine_dtype t, bool lower, bool unit, trine_transpose op, value alpha,
                    const void *B, const trine_dense *b, const void *X, const trine_dense *x);
/** The methods that the device of this run has; AUTO first. */
enum { MOST_METHODS = 5 };
int methods_here(trine_triangular_method *list);

/** A problem as a matrix of dtype t in a context of its own, and a plan. */
struct fixture {
    trine_context ctx;
    struct problem P;
    trine_dtype t;
    struct arrays a;
    trine_matrix A;
    trine_triangular plan; /* NULL until there is one */
    bool lower, unit;
};
/** Takes P over; no plan. */
struct fixture open_problem(struct problem P, trine_dtype t, bool on_device);
/** A plan with the matrix's values in place of the one before. */
void set_plan(struct fixture *f, trine_triangular_options options);
/** A plan without values for a random lower triangle in double. */
struct fixture open_fixture_with(trine_triangular_method method, int64_t n, unsigned mask, int64_t max_nrhs);
struct fixture open_fixture(int64_t n, unsigned mask, int64_t max_nrhs);
void close_fixture(struct fixture *f);

/** Solve with random right-hand sides in one shape and check. Memory outside the block must stay as it was. */
void solve_and_check(const struct fixture *f, trine_transpose op, int64_t nrhs, trine_layout layout, bool in_place,
                     value alpha, bool null_alpha);
/** The same with a leading dimension `padding` larger than need be (3 above), `skip` elements behind an aligned
 *  address. */
void solve_and_check_padded(const struct fixture *f, trine_transpose op, int64_t nrhs, trine_layout layout,
                            bool in_place, value alpha, bool null_alpha, int64_t padding, int64_t skip);

#endif
