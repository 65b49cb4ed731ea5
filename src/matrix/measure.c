/* Numbers from a matrix: norms, products, and how right a solution is. */
#include "core/scalar.h"
#include "matrix/matrix.h"

/** Fewer entries than this are not worth waking the threads for. */
enum { PARALLEL_FROM = 20000 };

/** Maximum that keeps a NaN. */
static inline double larger(double a, double b) { return b > a || isnan(b) ? b : a; }
static inline long double larger_l(long double a, long double b) { return b > a || isnan(b) ? b : a; }

/** |z|, several times faster than cabsl: the squares of what is no larger than a double fit a long double. */
static inline long double magnitude(long double complex z)
{
    return sqrtl(creall(z) * creall(z) + cimagl(z) * cimagl(z));
}

static double largest(int64_t count, const double *v)
{
    double maximum = 0;
    for (int64_t i = 0; i < count; i++) maximum = larger(maximum, v[i]);
    return maximum;
}

#define TEMPLATE "matrix/measure.inc"
#include "core/each_dtype.h"

typedef trine_status (*norm_fn)(trine_matrix A, trine_norm which, double *norm);
typedef void (*multiply_fn)(trine_matrix A, bool by_rows, bool conjugate, const void *alpha, const void *x,
                            const void *beta, void *y);
typedef void (*accuracy_fn)(trine_matrix A, int64_t nrhs, const void *x, const void *b, void *r,
                            trine_accuracy *accuracy);
static const norm_fn norm_of[] = TABLE(norm);
static const multiply_fn multiply[] = TABLE(multiply);
static const accuracy_fn accuracy_of[] = TABLE(accuracy);

trine_status trine_matrix_norm(trine_matrix A, trine_norm which, double *norm)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(norm, "norm is NULL");
    REQUIRE(which >= TRINE_NORM_INF && which <= TRINE_NORM_MAX, "norm %d is none of infinity, one, Frobenius, max",
            (int)which);
    REQUIRE(A->values || !A->nnz, "A is a pattern without values");
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host(A, &H));
    TRY(norm_of[H->dtype](H, which, norm));
done:
    trine_matrix_destroy(&H);
    return status;
}

trine_status trine_matrix_multiply(trine_matrix A, trine_transpose op, const void *alpha, const void *x,
                                   const void *beta, void *y)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(op == TRINE_N || op == TRINE_T || op == TRINE_H, "op %d is none of N, T, H", (int)op);
    const int64_t n_in = op == TRINE_N ? A->n_cols : A->n_rows, n_out = op == TRINE_N ? A->n_rows : A->n_cols;
    REQUIRE(x || !n_in, "x is NULL");
    REQUIRE(y || !n_out, "y is NULL");
    REQUIRE(x != y || !x, "x and y are the same array");
    REQUIRE(A->values || !A->nnz, "A is a pattern without values");
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host(A, &H));
    multiply[H->dtype](H, (H->format == TRINE_CSR) == (op == TRINE_N), op == TRINE_H, alpha, x, beta, y);
done:
    trine_matrix_destroy(&H);
    return status;
}

trine_status trine_matrix_accuracy(trine_matrix A, int64_t nrhs, const void *x, const void *b, void *r,
                                   trine_accuracy *accuracy)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(accuracy, "accuracy is NULL");
    REQUIRE(nrhs >= 0, "%lld right-hand sides", (long long)nrhs);
    REQUIRE(x || !nrhs || !A->n_cols, "x is NULL");
    REQUIRE(b || !nrhs || !A->n_rows, "b is NULL");
    REQUIRE(x != r || !x, "x and r are the same array");
    REQUIRE(A->values || !A->nnz, "A is a pattern without values");
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host_format(A, &H, TRINE_CSR)); /* rows, so that a residual is one running sum */
    accuracy_of[H->dtype](H, nrhs, x, b, r, accuracy);
done:
    trine_matrix_destroy(&H);
    return status;
}
