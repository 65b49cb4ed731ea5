/* The estimate of a condition beside the exact one of small matrices, whose inverses are known. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"

enum { MOST = 50 };
#define EACH_TYPE(t) for (const trine_dtype *at = all_dtypes, t = *at; at < all_dtypes + 4; at++)

/** A system that is solved with its inverse; n x n, row after row. */
struct dense {
    trine_context ctx;
    trine_dtype t;
    int n, calls, fail_at;        /* fail_at: the call that returns `failure` */
    trine_status failure;
    wide A[MOST * MOST], inverse[MOST * MOST];
};

/** Gauss and Jordan, with row exchanges; A is what values of type t make of it. */
static void invert(struct dense *d)
{
    const int n = d->n;
    wide(*work)[2 * MOST] = calloc(MOST, sizeof *work);
    for (int i = 0; i < n; i++) {
        memcpy(work[i], d->A + i * n, (size_t)n * sizeof(wide));
        work[i][n + i] = 1;
    }
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k; i < n; i++)
            if (cabsl(work[i][k]) > cabsl(work[pivot][k])) pivot = i;
        for (int j = 0; j < 2 * n; j++) {
            const wide a = work[pivot][j];
            work[pivot][j] = work[k][j];
            work[k][j] = a;
        }
        const wide diagonal = work[k][k];
        for (int j = 0; j < 2 * n; j++) work[k][j] /= diagonal;
        for (int i = 0; i < n; i++) {
            const wide factor = i == k ? 0 : work[i][k];
            for (int j = 0; j < 2 * n && factor != 0; j++) work[i][j] -= factor * work[k][j];
        }
    }
    for (int i = 0; i < n; i++) memcpy(d->inverse + i * n, work[i] + n, (size_t)n * sizeof(wide));
    free(work);
}

static trine_status solve(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    struct dense *d = user;
    const size_t bytes = (size_t)(d->n * B->cols) * trine_dtype_size(d->t);
    assert_true(op == TRINE_N || op == TRINE_H);
    assert_true(B->rows == d->n && X->rows == d->n && B->cols == X->cols && B->cols <= 2 &&
                B->layout == TRINE_COLMAJOR);
    if (++d->calls == d->fail_at) return d->failure;
    void *b = malloc(bytes), *x = malloc(bytes);
    test_from_device(d->ctx, b, B->data, bytes);
    for (int64_t j = 0; j < B->cols; j++)
        for (int i = 0; i < d->n; i++) {
            wide sum = 0;
            for (int k = 0; k < d->n; k++)
                sum += (op == TRINE_N ? d->inverse[i * d->n + k] : conjl(d->inverse[k * d->n + i])) *
                       get(d->t, b, k + j * d->n);
            put(d->t, x, i + j * d->n, sum);
        }
    OK(trine_copy(d->ctx, X->data, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, x, TRINE_HOST, bytes));
    free(b);
    free(x);
    return TRINE_SUCCESS;
}

static double norm_one(const wide *A, int n)
{
    long double norm = 0;
    for (int j = 0; j < n; j++) {
        long double sum = 0;
        for (int i = 0; i < n; i++) sum += cabsl(A[i * n + j]);
        norm = fmaxl(norm, sum);
    }
    return (double)norm;
}

/** The matrix of d, all entries stored; a CSC one of every second size. d->A takes the values as they are rounded. */
static trine_matrix stored(struct dense *d)
{
    const int n = d->n;
    const bool by_rows = n % 2;
    trine_matrix A;
    int64_t *offsets;
    int32_t *indices;
    void *values;
    OK(trine_matrix_allocate(d->ctx, &A, by_rows ? TRINE_CSR : TRINE_CSC, d->t, n, n, (int64_t)n * n, &offsets,
                             &indices, &values));
    for (int i = 0; i <= n; i++) offsets[i] = (int64_t)i * n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const int64_t k = by_rows ? i * n + j : j * n + i;
            indices[k] = by_rows ? j : i;
            put(d->t, values, k, d->A[i * n + j]);
            d->A[i * n + j] = get(d->t, values, k);
        }
    return A;
}

enum kind { RANDOM, TRIANGULAR, LAPLACIAN, GRADED, KINDS };

static struct dense *make(trine_context ctx, trine_dtype t, enum kind kind, int n)
{
    struct dense *d = calloc(1, sizeof *d);
    *d = (struct dense){.ctx = ctx, .t = t, .n = n};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const wide r = random_element(t, (uint64_t)(kind + 10 * n), (uint64_t)(i * n + j));
            d->A[i * n + j] = kind == RANDOM       ? r
                              : kind == TRIANGULAR ? (i == j  ? 1
                                                      : i < j ? 0.3L * r
                                                              : 0)
                              : kind == LAPLACIAN  ? (i == j            ? 2
                                                      : abs(i - j) == 1 ? -1
                                                                        : 0)
                                                   : powl(10, -2.0L * i / n) * (r + (i == j ? 2 : 0));
        }
    return d;
}

static void estimates_are_near_and_not_above(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    EACH_TYPE(t)
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 1; n <= MOST; n += n < 8 ? 1 : 7) {
            struct dense *d = make(ctx, t, (enum kind)kind, n);
            trine_matrix A = stored(d);
            trine_condition c, again;
            invert(d);
            const double exact = norm_one(d->A, n) * norm_one(d->inverse, n);
            OK(trine_estimate_condition(ctx, A, solve, d, &c));
            assert_true(fabs(c.norm - norm_one(d->A, n)) <= 1e-14 * c.norm);
            assert_true(c.condition <= exact * (1 + 4 * (double)eps_of(t)));
            assert_true(c.condition >= exact / 3);
            const bool looked_into = c.condition * (double)eps_of(t) >= 1e-3;
            assert_true(c.singular == 0 && (looked_into ? c.scaled <= c.condition : c.scaled == c.condition));
            assert_true(c.solves == d->calls && c.solves <= (looked_into ? 25 : 9));
            OK(trine_estimate_condition(ctx, A, solve, d, &again));
            assert_memory_equal(&c, &again, sizeof c);
            OK(trine_matrix_destroy(&A));
            free(d);
        }
    OK(trine_context_destroy(&ctx));
}

/** What is rounded away when A is stored: the inverse is that of a matrix with eps / 100 on the diagonal, of which
 *  kappa is 1e2 / eps and more. */
static void make_singular(struct dense *d)
{
    wide kept[MOST * MOST];
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++)
            d->A[i * d->n + j] = abs(i - j) == 1 ? -1 : i == j ? (i > 0) + (i < d->n - 1) : 0;
    memcpy(kept, d->A, sizeof kept);
    for (int i = 0; i < d->n; i++) d->A[i * d->n + i] += eps_of(d->t) / 100;
    invert(d);
    memcpy(d->A, kept, sizeof kept);
}

/** A = R A C with powers of two from 2^-most to 2^most, and the inverse. */
static void scale(struct dense *d, int most, bool rows, bool columns)
{
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++) {
            const long double row = rows ? powl(2, rintl(most * (2 * test_uniform(1, (uint64_t)i) - 1))) : 1;
            const long double column = columns ? powl(2, rintl(most * (2 * test_uniform(2, (uint64_t)j) - 1))) : 1;
            d->A[i * d->n + j] *= row * column;
            d->inverse[j * d->n + i] /= row * column;
        }
}

static void scaling_is_told_from_singularity(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    EACH_TYPE(t)
    for (int n = 2; n <= 40; n += n < 5 ? 1 : 17)
        for (int how = 0; how < 4; how++)
            for (int singular = 0; singular < 2; singular++) {
                struct dense *d = make(ctx, t, LAPLACIAN, n);
                trine_condition c;
                if (singular) make_singular(d);
                else invert(d);
                const double before = norm_one(d->A, n) * norm_one(d->inverse, n);
                scale(d, eps_of(t) > 1e-10L ? 40 : 100, how & 1, how & 2);
                const double after = norm_one(d->A, n) * norm_one(d->inverse, n);
                trine_matrix A = stored(d);
                OK(trine_estimate_condition(ctx, A, solve, d, &c));
                assert_true(c.condition <= after * (1 + 4 * (double)eps_of(t)) && c.condition >= after / 3);
                assert_int_equal(c.singular, singular);
                assert_true(singular ? c.scaled >= 1 / (double)eps_of(t) : c.scaled <= 100 * before);
                assert_true(c.solves <= 25);
                OK(trine_matrix_destroy(&A));
                free(d);
            }
    OK(trine_context_destroy(&ctx));
}

/** Entries at the ends of the range, whose inverses or sums leave it. */
static void size_is_no_condition(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    EACH_TYPE(t)
    {
        const bool single = eps_of(t) > 1e-10L;
        const long double sizes[] = {single ? FLT_MIN / 1024 : DBL_MIN / 1024, single ? FLT_MAX / 8 : DBL_MAX / 8};
        for (int k = 0; k < 2; k++) {
            struct dense *d = make(ctx, t, LAPLACIAN, 10);
            trine_condition c;
            for (int i = 0; i < 100; i++) d->A[i] *= sizes[k];
            trine_matrix A = stored(d);
            invert(d);
            OK(trine_estimate_condition(ctx, A, solve, d, &c));
            assert_int_equal(c.singular, 0);
            assert_true(c.scaled < 1e4);
            OK(trine_matrix_destroy(&A));
            free(d);
        }
    }
    OK(trine_context_destroy(&ctx));
}

static void solves_that_fail_make_it_infinite(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    EACH_TYPE(t)
    {
        struct dense *d = make(ctx, t, LAPLACIAN, 12);
        trine_matrix A = stored(d);
        trine_condition c;
        for (int i = 0; i < 144; i++) d->inverse[i] = i == 17 ? NAN : 1;
        OK(trine_estimate_condition(ctx, A, solve, d, &c));
        assert_true(isinf(c.condition) && isinf(c.scaled) && c.singular);
        for (int i = 0; i < 144; i++) d->inverse[i] = INFINITY;
        OK(trine_estimate_condition(ctx, A, solve, d, &c));
        assert_true(isinf(c.condition) && isinf(c.scaled) && c.singular);
        invert(d);
        for (int k = 0; k < 4; k++) { /* with A, and with its adjoint */
            const int call = 1 + k % 2;
            d->failure = k < 2 ? TRINE_ERR_SINGULAR : TRINE_ERR_NO_CONVERGENCE;
            d->fail_at = call;
            d->calls = 0;
            OK(trine_estimate_condition(ctx, A, solve, d, &c));
            assert_true(isinf(c.condition) && c.scaled < 1000 && !c.singular); /* the solves after it say so */
            d->failure = TRINE_ERR_DEVICE;
            d->calls = 0;
            assert_int_equal(trine_estimate_condition(ctx, A, solve, d, &c), TRINE_ERR_DEVICE);
            assert_int_equal(d->calls, call);
        }
        OK(trine_matrix_destroy(&A));
        free(d);
    }
    OK(trine_context_destroy(&ctx));
}

static trine_status triangular_solve(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    return trine_triangular_solve(user, op, NULL, B, X, NULL);
}

/** The plan's solve as it is. Bidiagonal, n = 1000: 1 on the diagonal, -1/2 below, so that the inverse has 2^-k k
 *  below it. */
static void plans_are_callbacks(void **state)
{
    (void)state;
    enum { N = 1000 };
    trine_context ctx = test_context();
    EACH_TYPE(t)
    {
        trine_matrix A;
        int64_t *offsets;
        int32_t *columns;
        void *values;
        trine_triangular plan;
        trine_condition c;
        OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, N, N, 2 * N - 1, &offsets, &columns, &values));
        for (int64_t i = 0, k = 0; i < N; i++) {
            if (i) columns[k] = (int32_t)(i - 1), put(t, values, k++, -0.5L);
            columns[k] = (int32_t)i, put(t, values, k++, 1);
            offsets[i + 1] = k;
        }
        OK(trine_triangular_analyse(ctx, &plan, A,
                                    &(trine_triangular_options){.ops = TRINE_N | TRINE_H, .max_nrhs = 2}));
        OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
        OK(trine_estimate_condition(ctx, A, triangular_solve, plan, &c));
        assert_true(c.norm == 1.5 && c.condition > 2.99 && c.condition < 3.001);
        OK(trine_triangular_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    trine_context ctx;
    test_memory memory = {0};
    OK(trine_context_create(&ctx, test_device()));
    test_fail_allocations(ctx, &memory);
    struct dense *d = make(ctx, TRINE_D, LAPLACIAN, 6);
    make_singular(d); /* so that all of it runs */
    trine_matrix A = stored(d);
    trine_condition c;
    memory.calls = 0;
    OK(trine_estimate_condition(ctx, A, solve, d, &c));
    const int64_t count = memory.calls, live = memory.live;
    assert_true(count > 5);
    for (int64_t k = 1; k <= count; k++) {
        memory.calls = 0;
        memory.fail_at = k;
        FAILS(TRINE_ERR_MEMORY, NULL, trine_estimate_condition(ctx, A, solve, d, &c));
        assert_int_equal(memory.live, live);
    }
    memory.fail_at = 0;
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
    free(d);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    struct dense *d = make(ctx, TRINE_D, RANDOM, 3);
    trine_matrix A = stored(d), wide_one, pattern, empty;
    trine_condition c = {.solves = 7};
    const int offsets[] = {0, 1, 2}, columns[] = {0, 1};
    const double values[] = {1, 2};
    const trine_status wrong = TRINE_ERR_ARGUMENT;
    FAILS(wrong, "ctx is NULL", trine_estimate_condition(NULL, A, solve, d, &c));
    FAILS(wrong, "A is NULL", trine_estimate_condition(ctx, NULL, solve, d, &c));
    FAILS(wrong, "solve is NULL", trine_estimate_condition(ctx, A, NULL, d, &c));
    FAILS(wrong, "condition is NULL", trine_estimate_condition(ctx, A, solve, d, NULL));
    OK(trine_matrix_csr(ctx, &wide_one, TRINE_D, 2, 3, 2, TRINE_HOST, 32, offsets, 32, columns, values));
    OK(trine_matrix_csr(ctx, &pattern, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, columns, NULL));
    OK(trine_matrix_csr(ctx, &empty, TRINE_D, 0, 0, 0, TRINE_HOST, 32, offsets, 32, columns, values));
    FAILS(TRINE_ERR_STRUCTURE, "2 x 3 is not square", trine_estimate_condition(ctx, wide_one, solve, d, &c));
    FAILS(wrong, "pattern", trine_estimate_condition(ctx, pattern, solve, d, &c));
    assert_int_equal(d->calls, 0);
    OK(trine_estimate_condition(ctx, empty, solve, d, &c));
    assert_true(c.condition == 0 && c.solves == 0 && !c.singular);
    OK(trine_matrix_destroy(&wide_one));
    OK(trine_matrix_destroy(&pattern));
    OK(trine_matrix_destroy(&empty));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_near_and_not_above),
        cmocka_unit_test(scaling_is_told_from_singularity),
        cmocka_unit_test(size_is_no_condition),
        cmocka_unit_test(solves_that_fail_make_it_infinite),
        cmocka_unit_test(plans_are_callbacks),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return TEST_MAIN(tests);
}
