/* Preconditioners given what they cannot take: arguments wrong in turn, calls out of order, zero rows, NaN, several
 * threads. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "precond_support.h"

enum { N = 12 };

static trine_matrix gallery(const char *spec)
{
    trine_matrix A;
    OK(trine_matrix_gallery(test_cpu(2), &A, spec, TRINE_D));
    return A;
}

static trine_precond make(trine_matrix A, const trine_precond_options *options)
{
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(2), &p, A, options));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    return p;
}

#define REFUSES(status, text, ...) \
    FAILS(status, text, trine_precond_analyse(test_cpu(2), &p, A, &(trine_precond_options){__VA_ARGS__}))

static void test_options(void **state)
{
    (void)state;
    trine_matrix A = gallery("laplace2d:nx=4,ny=3"), other = gallery("laplace2d:nx=4,ny=4");
    trine_precond p = (trine_precond)A;
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_analyse(test_cpu(2), NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_precond_analyse(NULL, &p, A, NULL));
    assert_null(p);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_precond_analyse(test_cpu(2), &p, NULL, NULL));
    REFUSES(TRINE_ERR_ARGUMENT, "reserved", .reserved = {0, 1});
    REFUSES(TRINE_ERR_ARGUMENT, "method 99", .method = (trine_precond_method)99);
    REFUSES(TRINE_ERR_ARGUMENT, "trine_precond_product", .method = TRINE_PRECOND_PRODUCT);
    REFUSES(TRINE_ERR_ARGUMENT, "ops 8", .method = TRINE_PRECOND_DIAGP0, .ops = 8);
    REFUSES(TRINE_ERR_ARGUMENT, "max_nrhs is -1", .method = TRINE_PRECOND_DIAGP0, .max_nrhs = -1);
    REFUSES(TRINE_ERR_MEMORY, NULL, .method = TRINE_PRECOND_DIAGP0, .max_nrhs = INT64_MAX / 2);
    REFUSES(TRINE_ERR_ARGUMENT, "m is 33", .method = TRINE_PRECOND_ALT_I, .m = 33);
    REFUSES(TRINE_ERR_ARGUMENT, "m is -1", .method = TRINE_PRECOND_MOS_A, .m = -1);
    REFUSES(TRINE_ERR_ARGUMENT, "omega", .method = TRINE_PRECOND_ALT_I, .omega = NAN);
    REFUSES(TRINE_ERR_ARGUMENT, "omega", .method = TRINE_PRECOND_ALT_I, .omega = INFINITY);
    REFUSES(TRINE_ERR_ARGUMENT, "coverage", .method = TRINE_PRECOND_ALT_I, .coverage = 1.1);
    REFUSES(TRINE_ERR_ARGUMENT, "coverage", .method = TRINE_PRECOND_ALT_I, .coverage = NAN);
    REFUSES(TRINE_ERR_ARGUMENT, "stagnation", .method = TRINE_PRECOND_MOS_D, .stagnation = NAN);
    REFUSES(TRINE_ERR_ARGUMENT, "pattern 4", .method = TRINE_PRECOND_MOS_D, .pattern = (trine_pattern)4);
    REFUSES(TRINE_ERR_ARGUMENT, "pattern_entries", .method = TRINE_PRECOND_MOS_D, .pattern = TRINE_PATTERN_MAX_N,
            .pattern_entries = -1);
    REFUSES(TRINE_ERR_ARGUMENT, "pattern_threshold", .method = TRINE_PRECOND_MOS_D, .pattern = TRINE_PATTERN_MAX_T,
            .pattern_threshold = 1.5);
    REFUSES(TRINE_ERR_ARGUMENT, "pattern_matrix is NULL", .method = TRINE_PRECOND_MOS_A,
            .pattern = TRINE_PATTERN_GIVEN);
    REFUSES(TRINE_ERR_STRUCTURE, "16 x 16", .method = TRINE_PRECOND_MOS_A, .pattern = TRINE_PATTERN_GIVEN,
            .pattern_matrix = other);
    REFUSES(TRINE_ERR_STRUCTURE, "16 x 16", .method = TRINE_PRECOND_ALT_I, .pattern = TRINE_PATTERN_GIVEN,
            .pattern_matrix = other);
    REFUSES(TRINE_ERR_ARGUMENT, "12 rows", .method = TRINE_PRECOND_ADI, .nx = 5, .ny = 2);
    REFUSES(TRINE_ERR_ARGUMENT, "12 rows", .method = TRINE_PRECOND_ADI, .nx = 4, .ny = 4);
    REFUSES(TRINE_ERR_ARGUMENT, "the grid is -4 x 3", .method = TRINE_PRECOND_ADI, .nx = -4, .ny = 3);
    REFUSES(TRINE_ERR_ARGUMENT, "2 factors", .method = TRINE_PRECOND_ADI, .nx = 4, .ny = 3, .m = 3);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&other);
}

static void test_matrices(void **state)
{
    (void)state;
    trine_precond p;
    trine_matrix A;
    int64_t offsets[] = {0, 2, 3};
    int32_t twice[] = {1, 1, 0}, outside[] = {0, 7, 1};
    double values[] = {1, 2, 3};
    OK(trine_matrix_csr(test_cpu(2), &A, TRINE_D, 2, 2, 3, TRINE_HOST, 64, offsets, 32, twice, values));
    REFUSES(TRINE_ERR_STRUCTURE, "row 0 has two entries in column 1", .method = TRINE_PRECOND_DIAGP0);
    trine_matrix_destroy(&A);
    OK(trine_matrix_csr(test_cpu(2), &A, TRINE_D, 2, 2, 3, TRINE_HOST, 64, offsets, 32, outside, values));
    REFUSES(TRINE_ERR_STRUCTURE, NULL, .method = TRINE_PRECOND_DIAGP0);
    trine_matrix_destroy(&A);
    OK(trine_matrix_csr(test_cpu(2), &A, TRINE_D, 2, 8, 3, TRINE_HOST, 64, offsets, 32, outside, values));
    REFUSES(TRINE_ERR_STRUCTURE, "2 x 8", .method = TRINE_PRECOND_DIAGP0);
    trine_matrix_destroy(&A);
    int32_t columns[] = {0, 1, 1};
    OK(trine_matrix_csr(test_cpu(2), &A, TRINE_D, 2, 2, 3, TRINE_HOST, 64, offsets, 32, columns, NULL));
    OK(trine_precond_analyse(test_cpu(2), &p, A, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP0}));
    FAILS(TRINE_ERR_STATE, "pattern without values", trine_precond_numeric(p, TRINE_HOST, NULL, 0, NULL));
    OK(trine_precond_numeric(p, TRINE_HOST, values, 0, NULL));
    trine_precond_destroy(&p);
    trine_matrix_destroy(&A);
}

/** Everything before numeric, and what does not fit after it. */
static void test_states(void **state)
{
    (void)state;
    trine_matrix A = gallery("laplace2d:nx=4,ny=3");
    trine_precond p, q;
    trine_op op;
    trine_precond_diagnosis d;
    trine_precond_info info;
    trine_work work;
    double x[4 * N] = {0}, y[4 * N];
    const trine_dense X = {x, N, 1, N, TRINE_COLMAJOR}, Y = {y, N, 1, N, TRINE_COLMAJOR},
                      wide_X = {x, N, 3, N, TRINE_COLMAJOR}, wide_Y = {y, N, 3, N, TRINE_COLMAJOR};
    const trine_precond_options options = {.method = TRINE_PRECOND_ALT_O, .m = 2};
    OK(trine_precond_analyse(test_cpu(2), &p, A, &options));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_apply(p, TRINE_N, NULL, &X, &Y, NULL));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_check(p, NULL));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_diagnose(p, &d));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_part(p, 0, &op));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_get_factor(p, 0, NULL, NULL, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_precond_get_diagonal(p, x));
    FAILS(TRINE_ERR_ARGUMENT, "reuse 7", trine_precond_numeric(p, TRINE_HOST, NULL, (trine_reuse)7, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "no device memory", trine_precond_numeric(p, TRINE_DEVICE, x, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_numeric(NULL, TRINE_HOST, NULL, 0, NULL));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, 0, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "2 parts", trine_precond_apply(p, TRINE_N, NULL, &X, &Y, NULL));
    FAILS(TRINE_ERR_STATE, "not announced", trine_precond_apply(p, TRINE_T, NULL, &X, &Y, NULL));
    FAILS(TRINE_ERR_STATE, "3 right-hand sides", trine_precond_apply(p, TRINE_N, NULL, &wide_X, &wide_Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 3 columns", trine_precond_apply(p, TRINE_N, NULL, &wide_X, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_apply(NULL, TRINE_N, NULL, &X, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "factor 2", trine_precond_part(p, 2, &op));
    FAILS(TRINE_ERR_ARGUMENT, "factor -1", trine_precond_get_factor(p, -1, NULL, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_precond_part(p, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "diagnosis is NULL", trine_precond_diagnose(p, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_precond_get_info(p, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "no diagonal", trine_precond_get_diagonal(p, x));
    OK(trine_precond_analyse(test_cpu(2), &q, A, &options));
    OK(trine_precond_work(q, 1, NULL, NULL, &work));
    FAILS(TRINE_ERR_ARGUMENT, "another plan",
          trine_precond_apply(p, TRINE_N, NULL, &X, &Y, &(trine_exec){.work = work}));
    OK(trine_precond_destroy(&q)); /* the work keeps it alive */
    OK(trine_work_destroy(&work));
    OK(trine_precond_part(p, 1, &op)); /* a part outlives the plan's handle */
    OK(trine_precond_destroy(&p));
    x[0] = 1;
    OK(trine_op_apply(op, TRINE_N, NULL, &X, NULL, &Y, NULL));
    OK(trine_op_destroy(&op));
    p = make(A, &(trine_precond_options){.method = TRINE_PRECOND_L1});
    FAILS(TRINE_ERR_UNSUPPORTED, "l1 has no factors", trine_precond_part(p, 0, &op));
    OK(trine_precond_get_info(p, &info));
    assert_true(info.n == N && info.method == TRINE_PRECOND_L1 && info.bytes > N * 8 && info.m == 0);
    assert_string_equal(trine_precond_method_name(TRINE_PRECOND_MOS_A), "mos-a");
    assert_string_equal(trine_precond_method_name((trine_precond_method)77), "unknown");
    OK(trine_precond_destroy(&p));
    OK(trine_precond_destroy(&p));
    OK(trine_precond_destroy(NULL));
    trine_matrix_destroy(&A);
}

static void test_product_arguments(void **state)
{
    (void)state;
    trine_precond p;
    trine_op small, large, single, none = NULL;
    double T[3] = {1, 1, 1};
    OK(trine_op_identity(test_cpu(2), &small, TRINE_D, 2));
    OK(trine_op_identity(test_cpu(2), &large, TRINE_D, 3));
    OK(trine_op_identity(test_cpu(2), &single, TRINE_S, 3));
    const trine_op sizes[] = {large, small}, types[] = {large, single}, same[] = {large, large};
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_product(test_cpu(2), NULL, T, 1, &large, 0));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_precond_product(NULL, &p, T, 1, &large, 0));
    FAILS(TRINE_ERR_ARGUMENT, "m is 0", trine_precond_product(test_cpu(2), &p, T, 0, &large, 0));
    FAILS(TRINE_ERR_ARGUMENT, "m is 33", trine_precond_product(test_cpu(2), &p, T, 33, &large, 0));
    FAILS(TRINE_ERR_ARGUMENT, "inverse_factors is NULL", trine_precond_product(test_cpu(2), &p, T, 1, NULL, 0));
    FAILS(TRINE_ERR_ARGUMENT, "factor 0 is NULL", trine_precond_product(test_cpu(2), &p, T, 1, &none, 0));
    FAILS(TRINE_ERR_ARGUMENT, "factor 1 has 2 rows", trine_precond_product(test_cpu(2), &p, T, 2, sizes, 0));
    FAILS(TRINE_ERR_ARGUMENT, "another dtype", trine_precond_product(test_cpu(2), &p, T, 2, types, 0));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_precond_product(test_cpu(2), &p, NULL, 2, same, 0));
    FAILS(TRINE_ERR_ARGUMENT, "max_nrhs is -2", trine_precond_product(test_cpu(2), &p, T, 2, same, -2));
    trine_op_destroy(&small);
    trine_op_destroy(&large);
    trine_op_destroy(&single);
}

/** A row of zeros, a zero on the diagonal, NaN: named by check, and never a finite wrong answer. */
static void test_bad_values(void **state)
{
    static const trine_precond_method methods[] = {
        TRINE_PRECOND_DIAGP0,  TRINE_PRECOND_DIAGP1, TRINE_PRECOND_DIAGP2, TRINE_PRECOND_L1,    TRINE_PRECOND_TRIDIAG,
        TRINE_PRECOND_ALG_TRI, TRINE_PRECOND_ALT_I,  TRINE_PRECOND_MOS_D,  TRINE_PRECOND_MOS_A, TRINE_PRECOND_ADI};
    (void)state;
    trine_matrix A = gallery("laplace2d:nx=4,ny=3");
    const int64_t *offsets;
    const double *values;
    OK(trine_matrix_get_arrays(A, &offsets, NULL, (const void **)&values));
    double *bad = malloc((size_t)offsets[N] * sizeof *bad), x[N];
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        trine_precond p =
            make(A, &(trine_precond_options){
                        .method = methods[k], .m = methods[k] == TRINE_PRECOND_ADI ? 2 : 3, .nx = 4, .ny = 3});
        OK(trine_precond_check(p, NULL));
        memcpy(bad, values, (size_t)offsets[N] * sizeof *bad);
        for (int64_t e = offsets[5]; e < offsets[6]; e++) bad[e] = 0; /* row 5 */
        OK(trine_precond_numeric(p, TRINE_HOST, bad, TRINE_REUSE_NOTHING, NULL));
        FAILS(TRINE_ERR_SINGULAR, trine_precond_method_name(methods[k]), trine_precond_check(p, NULL));
        if (methods[k] <= TRINE_PRECOND_L1 || methods[k] == TRINE_PRECOND_MOS_D)
            FAILS(TRINE_ERR_SINGULAR, "row 5", trine_precond_check(p, NULL));
        for (int i = 0; i < N; i++) x[i] = 1 + i;
        const trine_dense X = {x, N, 1, N, TRINE_COLMAJOR};
        OK(trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
        bool finite = true;
        for (int i = 0; i < N; i++) finite = finite && isfinite(x[i]);
        assert_false(finite);
        memcpy(bad, values, (size_t)offsets[N] * sizeof *bad);
        bad[offsets[7]] = k % 2 ? NAN : INFINITY;
        OK(trine_precond_numeric(p, TRINE_HOST, bad, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "row 7", trine_precond_check(p, NULL));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL)); /* and it recovers */
        OK(trine_precond_check(p, NULL));
        for (int i = 0; i < N; i++) x[i] = 1;
        OK(trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
        for (int i = 0; i < N; i++) assert_true(isfinite(x[i]));
        trine_precond_destroy(&p);
    }
    free(bad);
    trine_matrix_destroy(&A);
}

/* ----------------------------------------------------------------- threads */

enum { ROWS = 5000, USERS = 4, TIMES = 10 };
typedef struct {
    trine_precond p;
    const double *b, *expected;
    bool same;
} user;

static void *apply_often(void *given)
{
    user *u = given;
    trine_work work;
    double *x = malloc(ROWS * sizeof *x);
    u->same = true;
    OK(trine_precond_work(u->p, 1, NULL, NULL, &work));
    for (int k = 0; k < TIMES; k++) {
        OK(trine_precond_apply(u->p, TRINE_N, NULL, &(trine_dense){(void *)u->b, ROWS, 1, ROWS, TRINE_COLMAJOR},
                               &(trine_dense){x, ROWS, 1, ROWS, TRINE_COLMAJOR}, &(trine_exec){.work = work}));
        u->same = u->same && !memcmp(x, u->expected, ROWS * sizeof *x);
    }
    trine_work_destroy(&work);
    free(x);
    return NULL;
}

/** Works of their own, and the same bits each time. */
static void test_threads(void **state)
{
    static const trine_precond_options all[] = {{.method = TRINE_PRECOND_ALT_I, .m = 3},
                                                {.method = TRINE_PRECOND_MOS_A, .m = 2},
                                                {.method = TRINE_PRECOND_ALG_TRI_BLOCK}};
    (void)state;
    trine_matrix A = gallery("rotate7:nx=100,ny=50");
    double *b = malloc(ROWS * sizeof *b), *x = malloc(ROWS * sizeof *x);
    for (int i = 0; i < ROWS; i++) b[i] = test_uniform(1, (uint64_t)i);
    for (size_t o = 0; o < sizeof all / sizeof *all; o++) {
        trine_precond p = make(A, &all[o]);
        OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){b, ROWS, 1, ROWS, TRINE_COLMAJOR},
                               &(trine_dense){x, ROWS, 1, ROWS, TRINE_COLMAJOR}, NULL));
        user users[USERS];
        pthread_t thread[USERS];
        for (int k = 0; k < USERS; k++) {
            users[k] = (user){.p = p, .b = b, .expected = x};
            assert_int_equal(pthread_create(&thread[k], NULL, apply_often, &users[k]), 0);
        }
        for (int k = 0; k < USERS; k++) pthread_join(thread[k], NULL);
        for (int k = 0; k < USERS; k++) assert_true(users[k].same);
        trine_precond_destroy(&p);
    }
    free(b), free(x);
    trine_matrix_destroy(&A);
}

/** A pair of rows without an inverse, far from the first one: blocks name the path that they are on. */
static void test_singular_block(void **state)
{
    (void)state;
    enum { ROWS = 12, FIRST = 6 };
    int64_t offsets[ROWS + 1] = {0};
    int32_t columns[ROWS + 2];
    double values[ROWS + 2];
    int64_t count = 0;
    for (int i = 0; i < ROWS; i++) {
        const bool is_pair = i == FIRST || i == FIRST + 1;
        for (int j = is_pair ? FIRST : i; j <= (is_pair ? FIRST + 1 : i); j++) columns[count] = j, values[count++] = 2;
        offsets[i + 1] = count;
    }
    trine_matrix A;
    OK(trine_matrix_csr(test_cpu(2), &A, TRINE_D, ROWS, ROWS, count, TRINE_HOST, 64, offsets, 32, columns, values));
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(2), &p, A, &(trine_precond_options){.method = TRINE_PRECOND_ALG_TRI_BLOCK}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    FAILS(TRINE_ERR_SINGULAR, "row 6", trine_precond_check(p, NULL));
    double b[ROWS] = {1}, x[ROWS];
    FAILS(TRINE_ERR_SINGULAR, "block of row 6",
          trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){b, ROWS, 1, ROWS, TRINE_COLMAJOR},
                              &(trine_dense){x, ROWS, 1, ROWS, TRINE_COLMAJOR}, NULL));
    trine_precond_destroy(&p);
    trine_matrix_destroy(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options),       cmocka_unit_test(test_matrices),
                                       cmocka_unit_test(test_states),        cmocka_unit_test(test_product_arguments),
                                       cmocka_unit_test(test_bad_values),    cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_singular_block)};
    return TEST_MAIN(tests);
}
