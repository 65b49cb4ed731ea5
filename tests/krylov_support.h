/* What the tests of Krylov solvers share: dense systems as callers' functions, and their solutions in long double. */
#ifndef TRINE_KRYLOV_SUPPORT_H
#define TRINE_KRYLOV_SUPPORT_H

#include "elements.h"
#include "harness.h"

static const trine_krylov_method all_methods[] = {TRINE_KRYLOV_GMRES, TRINE_KRYLOV_FGMRES, TRINE_KRYLOV_BICGSTAB,
                                                  TRINE_KRYLOV_CG, TRINE_KRYLOV_MINRES};
enum { METHODS = 5 };

/** A dense n x n matrix, column-major, rounded to t, as an operator that counts. */
typedef struct {
    trine_context ctx;
    trine_dtype t;
    int n;
    wide *A;
    int calls, columns;  /* applications, and vectors in all of them */
    int fail_at;         /* the call that fails; 0: none */
    int *log, *log_used; /* where `name` is written in every call; NULL: nowhere */
    int name;
    trine_op op;
} dense;

dense *new_dense(trine_context ctx, trine_dtype t, int n, bool varies);
void free_dense(dense *d);
void set_entry(dense *d, int i, int j, wide value);

/** Regular, its condition some tens: random about a diagonal of 1 to 3. */
dense *general_system(trine_context ctx, trine_dtype t, int n, uint64_t seed);
/** Hermitian; positive definite, or with every third eigenvalue negative. */
dense *hermitian_system(trine_context ctx, trine_dtype t, int n, bool definite, uint64_t seed);
dense *diagonal_system(trine_context ctx, trine_dtype t, int n, const double *entries);
/** What suits the method. */
dense *system_for(trine_context ctx, trine_krylov_method method, trine_dtype t, int n, uint64_t seed);
/** diag(A)^-1, in the precision t. */
dense *jacobi_of(trine_context ctx, const dense *A, trine_dtype t);

/** y = A x and x = A^-1 b in long double. */
void multiply_wide(const dense *d, const wide *x, wide *y);
void solve_wide(const dense *d, const wide *b, wide *x);
long double norm_wide(int n, const wide *x);
/** ||b - A x||, of arrays of the system's dtype. */
long double true_residual(const dense *d, const void *b, const void *x);
/** Random numbers in the dtype. */
void *random_vector(trine_dtype t, int64_t n, uint64_t seed);

/** trine_krylov_solve and trine_krylov_set_reference with blocks on the host, wherever the plan runs. A reference is
 *  given back with release_reference. */
trine_status solve(trine_krylov plan, const trine_dense *B, const trine_dense *X, const trine_exec *exec);
void set_reference(trine_krylov plan, const trine_dense *X, trine_dense *there);
void release_reference(trine_krylov plan, trine_dense *there);

static inline trine_dense block(void *data, int64_t n, int64_t nrhs)
{
    return (trine_dense){data, n, nrhs, n, TRINE_COLMAJOR};
}

#endif
