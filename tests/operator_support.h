/* What the tests of operators share: operators beside the dense matrices in long double that they stand for. */
#ifndef TRINE_OPERATOR_SUPPORT_H
#define TRINE_OPERATOR_SUPPORT_H

#include "elements.h"
#include "harness.h"

/** (re, im), infinite parts as they are. */
static inline wide wide_of(long double re, long double im)
{
    wide value = re;
    __imag__ value = im;
    return value;
}

/** An operator, the matrix A that it is, and a matrix M of absolute values: what comes out may be wrong by
 *  growth eps (|alpha| |op(M)| |x| + |beta| |y|). Column-major. */
typedef struct {
    trine_op op;
    trine_dtype t;
    int64_t rows, cols;
    wide *A;
    long double *M;
    double eps, growth;
} node;

/** A context and all nodes made in it. */
enum { MOST_NODES = 64 };
typedef struct {
    trine_context ctx;
    int count;
    node nodes[MOST_NODES];
    void *arrays[MOST_NODES]; /* in the context's space */
    int arrays_count;
} world;
world open_world(void);
void close_world(world *w);

/** A caller's function with a random dense matrix, and one with the ops announced. */
node *add_dense(world *w, trine_dtype t, int64_t rows, int64_t cols, uint64_t seed);
node *add_dense_with(world *w, trine_dtype t, int64_t rows, int64_t cols, unsigned ops, uint64_t seed);
node *add_diagonal(world *w, trine_dtype t, int64_t n, uint64_t seed);
node *add_identity(world *w, trine_dtype t, int64_t n);
/** op(T)^-1 of a dense triangle; the plan's handle is destroyed at once. */
typedef enum { BY_TRIANGULAR, BY_SUPERNODAL } solver;
node *add_solve(world *w, trine_dtype t, int64_t n, solver by, trine_uplo uplo, uint64_t seed);
node *add_product(world *w, int count, node *const *factors);
/** coefficients: NULL = ones. */
node *add_sum(world *w, int count, node *const *terms, const wide *coefficients);
node *add_transpose(world *w, node *inner, trine_transpose trans);
node *add_cast(world *w, node *inner, trine_dtype outer);
trine_dtype other_precision(trine_dtype t);

/** A dense triangle of n rows in dtype t with its CSR arrays, in host memory; diagonal entries are 2 to 3 in
 *  modulus. */
typedef struct {
    int64_t offsets[33];
    int32_t columns[32 * 32];
    void *values;
    trine_matrix T;
} triangle;
void make_triangle(trine_context ctx, triangle *F, trine_dtype t, int64_t n, trine_uplo uplo, uint64_t seed,
                   wide *dense);
void free_triangle(triangle *F);

/** Apply with random vectors and compare, entry by entry. alpha zero: X is full of NaN; beta zero: Y is. What is
 *  between the columns or rows of the blocks stays. NULL for alpha or beta: 1 and 0. */
void check_apply(world *w, const node *a, trine_transpose trans, int64_t nrhs, trine_layout x_layout,
                 trine_layout y_layout, const wide *alpha, const wide *beta, const trine_exec *exec);
/** In all ops that there are, layouts, with 1 and 3 vectors and several alpha and beta. */
void check_all(world *w, const node *a, const trine_exec *exec);

#endif
