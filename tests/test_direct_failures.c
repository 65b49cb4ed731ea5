/* Factorizations that fail: singular and indefinite matrices, updates that do not fit, wrong arguments, no memory. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "direct_support.h"

static void updates_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix bigger = MATRIX(ctx, 4, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix other = MATRIX(ctx, 3, {0, 0, 4}, {0, 2, 1}, {1, 1, 4}, {2, 0, 1}, {2, 2, 4});
    trine_matrix unsymmetric = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 2}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix indefinite = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}, {2, 2, 4});
    trine_matrix singular = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {2, 2, 4});
    trine_matrix complex_A;
    OK(trine_matrix_copy(A, &complex_A, TRINE_HOST, TRINE_CSR, TRINE_Z));
    trine_factor F;
    trine_factor_info info;
    trine_matrix T;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_update(NULL, A));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_factor_update(F, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "order 4 with 5 entries, not 3 with 5", trine_factor_update(F, bigger));
    FAILS(TRINE_ERR_ARGUMENT, "pattern of column 0", trine_factor_update(F, other));
    FAILS(TRINE_ERR_ARGUMENT, "complex", trine_factor_update(F, complex_A));
    FAILS(TRINE_ERR_STRUCTURE, "symmetric", trine_factor_update(F, unsymmetric));
    assert_identity(F, A); /* nothing happened so far */
    FAILS(TRINE_ERR_NOT_DEFINITE, "column", trine_factor_update(F, indefinite));
    FAILS(TRINE_ERR_STATE, "update failed", trine_factor_get_info(F, &info));
    FAILS(TRINE_ERR_STATE, "update failed", trine_factor_get_triangle(F, TRINE_LOWER, &T));
    OK(trine_factor_update(F, A)); /* and recovers */
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));

    OK(trine_factor_create(ctx, &F, A, NULL)); /* automatic: others take over where Cholesky cannot */
    OK(trine_factor_update(F, indefinite));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LDL);
    assert_non_null(strstr(info.reason, "new values"));
    assert_identity(F, indefinite);
    OK(trine_factor_update(F, unsymmetric));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, test_on_gpu() ? TRINE_DIRECT_LU : TRINE_DIRECT_LU_KLU);
    assert_identity(F, unsymmetric);
    FAILS(TRINE_ERR_SINGULAR, "exactly zero", trine_factor_update(F, singular));
    OK(trine_factor_update(F, A));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&bigger);
    trine_matrix_destroy(&other);
    trine_matrix_destroy(&unsymmetric);
    trine_matrix_destroy(&indefinite);
    trine_matrix_destroy(&singular);
    trine_matrix_destroy(&complex_A);
    OK(trine_context_destroy(&ctx));
}

struct capture {
    int saved[2];
    FILE *file;
};
static struct capture capture_output(void)
{
    struct capture c = {.file = tmpfile()};
    assert_non_null(c.file);
    fflush(stdout);
    fflush(stderr);
    for (int fd = 0; fd < 2; fd++) {
        c.saved[fd] = dup(fd + 1);
        dup2(fileno(c.file), fd + 1);
    }
    return c;
}
static long captured_bytes(struct capture *c)
{
    fflush(stdout);
    fflush(stderr);
    for (int fd = 0; fd < 2; fd++) {
        dup2(c->saved[fd], fd + 1);
        close(c->saved[fd]);
    }
    fseek(c->file, 0, SEEK_END);
    long bytes = ftell(c->file);
    fclose(c->file);
    return bytes;
}

static void singular_and_indefinite_matrices_are_named_and_nothing_is_printed(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix missing_row = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 2}, {2, 1, 1}, {2, 2, 1});
    trine_matrix rank_two = MATRIX(ctx, 3, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1});
    trine_matrix twins = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {2, 2, 1});
    trine_matrix zeros = MATRIX(ctx, 2, {0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0});
    static const int64_t no_entries[4];
    trine_matrix empty;
    OK(trine_matrix_csr(ctx, &empty, TRINE_D, 3, 3, 0, TRINE_HOST, 64, no_entries, 32, NULL, NULL));
    trine_matrix negative = MATRIX(ctx, 3, {0, 0, 1}, {1, 1, -1}, {2, 2, 1});
    trine_matrix skewed = MATRIX(ctx, 2, {0, 0, 4}, {0, 1, 1}, {1, 0, 2}, {1, 1, 4});
    trine_factor F;
    struct {
        trine_status status, expected;
        char text[300];
    } results[30];
    int count = 0;
    struct capture c = capture_output();
#define TRY_FACTOR(A, m, e)                                                                     \
    do {                                                                                        \
        trine_status s = trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = m}); \
        results[count].status = s;                                                              \
        results[count].expected = e;                                                            \
        snprintf(results[count++].text, sizeof results->text, "%s", trine_last_error());        \
        trine_factor_destroy(&F);                                                               \
    } while (0)
    static const trine_direct_method lu[] = {TRINE_DIRECT_LU, TRINE_DIRECT_LU_UMFPACK, TRINE_DIRECT_LU_KLU};
    for EACH(m, lu) {
        TRY_FACTOR(missing_row, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(rank_two, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(twins, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(zeros, lu[m], TRINE_ERR_SINGULAR);
    }
    static const trine_direct_method cholesky[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL};
    for EACH(m, cholesky) {
        TRY_FACTOR(negative, cholesky[m], TRINE_ERR_NOT_DEFINITE);
        TRY_FACTOR(zeros, cholesky[m], TRINE_ERR_NOT_DEFINITE);
        TRY_FACTOR(skewed, cholesky[m], TRINE_ERR_STRUCTURE);
    }
    TRY_FACTOR(empty, TRINE_DIRECT_AUTO, TRINE_ERR_SINGULAR);
    for EACH(m, lu) TRY_FACTOR(empty, lu[m], TRINE_ERR_SINGULAR);
    for EACH(m, cholesky) TRY_FACTOR(empty, cholesky[m], TRINE_ERR_NOT_DEFINITE);
    const long bytes = captured_bytes(&c);
    for (int i = 0; i < count; i++) {
        if (results[i].status != results[i].expected) print_error("%d: %s\n", i, results[i].text);
        assert_int_equal(results[i].status, results[i].expected);
    }
    assert_int_equal(bytes, 0);
    assert_non_null(strstr(results[0].text, "structurally singular"));
    assert_non_null(strstr(results[0].text, "row 1"));
    assert_non_null(strstr(results[1].text, "rank at most 2 of 3"));
    assert_non_null(strstr(results[2].text, "exactly zero"));
    assert_non_null(strstr(results[6].text, "exactly zero"));
    assert_non_null(strstr(results[10].text, "exactly zero"));
    assert_non_null(strstr(results[12].text, "column 1 "));
    assert_non_null(strstr(results[15].text, "column 1 "));
    trine_matrix_destroy(&missing_row);
    trine_matrix_destroy(&rank_two);
    trine_matrix_destroy(&twins);
    trine_matrix_destroy(&zeros);
    trine_matrix_destroy(&negative);
    trine_matrix_destroy(&empty);
    trine_matrix_destroy(&skewed);
    OK(trine_context_destroy(&ctx));
}

static void singular_matrices_of_any_shape_never_crash(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int singular = 0;
    for (uint64_t seed = 0; seed < 60; seed++)
        for EACH(m, methods) {
            if (is_hermitian(methods[m])) continue;
            /* Small integers, and a column or a row that is the sum of two others: exact zeros appear in the
             * elimination. */
            const int n = 3 + (int)(20 * test_uniform(seed, 1));
            double dense[23][23] = {{0}};
            for (int k = 0; k < 3 * n; k++)
                dense[(int)(n * test_uniform(seed, 10 + 3 * (uint64_t)k))]
                     [(int)(n * test_uniform(seed, 11 + 3 * (uint64_t)k))] =
                         (double)(int)(5 * test_uniform(seed, 12 + 3 * (uint64_t)k)) - 2;
            for (int i = 0; i < n; i++)
                if (seed % 2) dense[i][0] = dense[i][1] + dense[i][2];
                else dense[0][i] = dense[1][i] + dense[2][i];
            struct entry entries[23 * 23];
            int count = 0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    if (dense[i][j] != 0 || seed % 3 == 0) entries[count++] = (struct entry){i, j, dense[i][j]};
            trine_matrix A = matrix_of(ctx, n, count, entries);
            trine_factor F;
            trine_status status = trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]});
            if (status) {
                assert_int_equal(status, TRINE_ERR_SINGULAR);
                singular++;
            } else {
                assert_identity(F, A); /* rounding made a tiny pivot of the zero */
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    assert_true(singular > 60);
    OK(trine_context_destroy(&ctx));
}

static void count_warnings(void *user, int level, const char *message)
{
    if (level == 1 && strstr(message, "nearly singular")) ++*(int *)user;
}

static void nearly_singular_matrices_are_factored_with_a_warning(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int warnings = 0;
    OK(trine_context_set_log(ctx, count_warnings, &warnings, 1));
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 1}, {1, 1, 1e-20}, {2, 2, 1});
    for EACH(m, methods) {
        trine_factor F;
        /* their row scaling repairs a diagonal matrix */
        if (methods[m] == TRINE_DIRECT_LU_UMFPACK || methods[m] == TRINE_DIRECT_LU_KLU) continue;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
        OK(trine_factor_destroy(&F));
    }
    assert_int_equal(warnings, 4);
    trine_matrix_destroy(&A);
    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1 + 0x1p-52});
    trine_factor F;
    static const trine_direct_method scaling[] = {TRINE_DIRECT_LU_UMFPACK, TRINE_DIRECT_LU_KLU};
    for EACH(m, scaling) {
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = scaling[m]}));
        assert_int_equal(warnings, 5 + (int)m);
        OK(trine_factor_destroy(&F));
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** Denormal, overflowing and badly scaled systems, none of them singular: the sentence must not say that they are,
 *  and a factor that would give 0, NaN or Inf for every right-hand side must not pass for one. */
static void breakdowns_of_regular_matrices_are_not_called_singular(void **state)
{
    (void)state;
    static const char *const range = "left the range of double precision", *const single = "single precision",
                             *const rounding = "or rounding made it so";
    static const struct {
        trine_dtype t;
        trine_direct_method method;
        trine_status status;
        const char *says;
        double a[9]; /* 3 x 3, zeros stored as well */
    } cases[] = {
        {TRINE_D,
         TRINE_DIRECT_LU,
         TRINE_ERR_NO_CONVERGENCE,
         range,
         {1e-310, 0, 0, 0, 1, 0, 0, 0, 1}}, /* 1 / pivot overflows */
        {TRINE_Z, TRINE_DIRECT_LU, TRINE_ERR_NO_CONVERGENCE, range, {5e-324, 0, 0, 0, 5e-324, 0, 0, 0, 5e-324}},
        {TRINE_D, TRINE_DIRECT_LU, TRINE_ERR_NO_CONVERGENCE, range, {1e308, 1e308, 0, 1e308, -1e308, 0, 0, 0, 1}},
        {TRINE_D, TRINE_DIRECT_AUTO, TRINE_ERR_NO_CONVERGENCE, range, {1e308, 1e308, 0, 1e308, -1e308, 0, 0, 0, 1}},
        {TRINE_D,
         TRINE_DIRECT_LU_UMFPACK,
         TRINE_ERR_NO_CONVERGENCE,
         range,
         {1e308, 1e308, 0, 1e308, -1e308, 0, 0, 0, 1}}, /* a row's sum does */
        {TRINE_D, TRINE_DIRECT_LU_UMFPACK, TRINE_ERR_NO_CONVERGENCE, range, {1e-310, 0, 0, 0, 1, 0, 0, 0, 1}},
        {TRINE_D, TRINE_DIRECT_LU_KLU, TRINE_ERR_NO_CONVERGENCE, range, {1e308, 1e308, 0, 1e308, -1e308, 0, 0, 0, 1}},
        {TRINE_Z, TRINE_DIRECT_LU_KLU, TRINE_ERR_NO_CONVERGENCE, range, {1e-310, 0, 0, 0, 1, 0, 0, 0, 1}},
        {TRINE_D, TRINE_DIRECT_LDL, TRINE_ERR_NOT_DEFINITE, rounding, {0, 1, 0, 1, 0, 0, 0, 0, 1}},
        {TRINE_D,
         TRINE_DIRECT_LU,
         TRINE_ERR_SINGULAR,
         rounding,
         {1, 1e20, 0, 1, 1, 1, 1, 2, 1}}, /* its determinant is -1 */
        {TRINE_D,
         TRINE_DIRECT_CHOLESKY,
         TRINE_ERR_NOT_DEFINITE,
         rounding,
         {3, 1, 0, 1, 0.33333333333333337, 0, 0, 0, 1}}, /* 1.1e-16 */
        {TRINE_D,
         TRINE_DIRECT_CHOLESKY,
         TRINE_ERR_NOT_DEFINITE,
         "digits: scale it",
         {1e-310, 2e-310, 0, 2e-310, 1e-310, 0, 0, 0, 1}}, /* -3e-620 */
        {TRINE_S,
         TRINE_DIRECT_LU,
         TRINE_ERR_NO_CONVERGENCE,
         single,
         {3e38, 3e38, 0, 3e38, -3e38, 0, 0, 0, 1}}, /* -6e38 in U */
        {TRINE_C, TRINE_DIRECT_LU, TRINE_ERR_NO_CONVERGENCE, single, {3e38, 3e38, 0, 3e38, -3e38, 0, 0, 0, 1}},
        {TRINE_S, TRINE_DIRECT_LU, TRINE_ERR_SINGULAR, single, {1, 1e-23, 0, 1e-23, 0, 0, 0, 0, 1}}, /* -1e-46 in U */
        {TRINE_S, TRINE_DIRECT_LU_UMFPACK, TRINE_ERR_NO_CONVERGENCE, single, {1e-44, 0, 0, 0, 1, 0, 0, 0, 1}},
    };
    trine_context ctx = test_context();
    for EACH(i, cases)
        for (int solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_GENERAL; solver++) {
            if (solver == TRINE_SOLVER_SUPERNODAL && cases[i].method && !has_panels(cases[i].method)) continue;
            int64_t *offsets;
            int32_t *columns;
            void *values;
            trine_matrix A;
            trine_direct plan;
            OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, cases[i].t, 3, 3, 9, &offsets, &columns, &values));
            for (int k = 0; k < 9; k++) {
                offsets[k / 3 + 1] = 3 * (k / 3 + 1);
                columns[k] = k % 3;
                put(cases[i].t, values, k, cases[i].a[k]);
            }
            const trine_status status = trine_direct_create(
                ctx, &plan, A,
                &(trine_direct_options){.factor = {.method = cases[i].method, .ordering = TRINE_ORDERING_NATURAL},
                                        .solver = (trine_direct_solver)solver});
            const char *text = trine_last_error();
            if (status != cases[i].status || !strstr(text, cases[i].says) ||
                (strstr(text, "singular") && !strstr(text, rounding)))
                fail_msg("case %d, solver %d: %s (%s)", (int)i, solver, trine_status_string(status), text);
            assert_null(plan);
            OK(trine_matrix_destroy(&A));
        }
    OK(trine_context_destroy(&ctx));
}

/** New values whose row sums overflow, by which KLU and UMFPACK scale: AUTO goes on to SuperLU, as it does for first
 *  values. */
static void new_values_fall_back_as_first_ones_do(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int dense = 0; dense < 2; dense++) {
        trine_matrix A = random_matrix(ctx, TRINE_D, dense ? 150 : 60, dense ? 40 : 3, false, 3), huge;
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        trine_matrix_info of_A;
        OK(trine_matrix_get_info(A, &of_A));
        OK(trine_matrix_copy(A, &huge, TRINE_HOST, TRINE_CSR, TRINE_D));
        OK(trine_matrix_get_arrays(huge, &offsets, &columns, &values));
        double *numbers = (double *)values, largest = 0; /* the copy's own */
        for (int64_t k = 0; k < of_A.nnz; k++) largest = fmax(largest, fabs(numbers[k]));
        for (int64_t k = 0; k < of_A.nnz; k++) numbers[k] *= 1.2e308 / largest;
        trine_factor F, G;
        trine_factor_info info;
        OK(trine_factor_create(ctx, &G, huge, NULL));
        OK(trine_factor_get_info(G, &info));
        assert_int_equal(info.method, TRINE_DIRECT_LU);
        OK(trine_factor_create(ctx, &F, A, NULL));
        OK(trine_factor_get_info(F, &info));
        if (!test_on_gpu()) assert_int_equal(info.method, dense ? TRINE_DIRECT_LU_UMFPACK : TRINE_DIRECT_LU_KLU);
        OK(trine_factor_update(F, huge));
        OK(trine_factor_get_info(F, &info));
        assert_int_equal(info.method, TRINE_DIRECT_LU);
        if (!test_on_gpu()) assert_non_null(strstr(info.reason, "new values"));
        OK(trine_factor_update(F, A)); /* and stays there */
        assert_identity(F, A);
        OK(trine_factor_destroy(&F));
        OK(trine_factor_destroy(&G));
        trine_matrix_destroy(&huge);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** L D L^H by name where pivots are needed: 3e-17 before a one. No plan solves so, or says that it did. */
static void ldl_that_is_no_solution_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { N = 6 };
    trine_matrix tiny = MATRIX(ctx, N, {0, 0, 3e-17}, {0, 1, 0.9}, {0, 2, 0.7}, {0, 3, 0.3}, {1, 0, 0.9}, {1, 1, 2},
                               {1, 2, -1}, {2, 0, 0.7}, {2, 1, -1}, {2, 2, 1.5}, {3, 0, 0.3}, {3, 3, 1}, {4, 4, 1},
                               {4, 5, 1}, {5, 4, 1}, {5, 5, -1});
    trine_matrix good =
        MATRIX(ctx, N, {0, 0, 5}, {0, 1, 1}, {0, 2, 0.7}, {0, 3, 0.3}, {1, 0, 1}, {1, 1, -9}, {1, 2, -1}, {2, 0, 0.7},
               {2, 1, -1}, {2, 2, 7}, {3, 0, 0.3}, {3, 3, 8}, {4, 4, 4}, {4, 5, 1}, {5, 4, 1}, {5, 5, -4});
    double b[N] = {1, 2, 3, 4, 5, 6}, x[N];
    for (int solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_LIBRARY; solver++) {
        if (solver == TRINE_SOLVER_SUPERNODAL) continue;
        trine_direct_options options = {.factor = {.method = TRINE_DIRECT_LDL, .ordering = TRINE_ORDERING_NATURAL},
                                        .solver = (trine_direct_solver)solver};
        trine_direct plan;
        FAILS(TRINE_ERR_NO_CONVERGENCE, "a trial solve with the ldl factor has a backward error of",
              trine_direct_create(ctx, &plan, tiny, &options));
        assert_null(plan);
        OK(trine_direct_create(ctx, &plan, good, &options));
        FAILS(TRINE_ERR_NO_CONVERGENCE, "another factorization", trine_direct_update(plan, tiny));
        void *db = test_to_device(ctx, b, sizeof b), *dx = test_to_device(ctx, b, sizeof b);
        const trine_dense B = {db, N, 1, N, TRINE_COLMAJOR}, X = {dx, N, 1, N, TRINE_COLMAJOR};
        FAILS(TRINE_ERR_STATE, "update failed", trine_direct_solve(plan, TRINE_N, &B, &X, NULL));
        OK(trine_direct_update(plan, good));
        OK(trine_direct_solve(plan, TRINE_N, &B, &X, NULL));
        test_from_device(ctx, x, dx, sizeof x);
        assert_true(backward_error(good, TRINE_N, 1, x, b) < 10);
        OK(trine_direct_destroy(&plan));
        options.refine = -1; /* a preconditioner may be anything */
        OK(trine_direct_create(ctx, &plan, tiny, &options));
        OK(trine_direct_destroy(&plan));
        options = (trine_direct_options){.solver = (trine_direct_solver)solver};
        OK(trine_direct_create(ctx, &plan, tiny, &options));
        OK(trine_direct_solve(plan, TRINE_N, &B, &X, NULL));
        test_from_device(ctx, x, dx, sizeof x);
        assert_true(backward_error(tiny, TRINE_N, 1, x, b) < 10);
        OK(trine_direct_destroy(&plan));
        test_release(ctx, db);
        test_release(ctx, dx);
    }
    trine_factor F;
    trine_factor_info info;
    OK(trine_factor_create(ctx, &F, tiny,
                           &(trine_factor_options){.method = TRINE_DIRECT_LDL, .ordering = TRINE_ORDERING_NATURAL}));
    OK(trine_factor_get_info(F, &info)); /* the factor alone is what it is */
    assert_true(info.trial_error > 1e6);
    trine_direct plan;
    FAILS(TRINE_ERR_NO_CONVERGENCE, "ldl factor", trine_direct_create_from_factor(ctx, &plan, F, NULL, NULL));
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&tiny);
    trine_matrix_destroy(&good);
    OK(trine_context_destroy(&ctx));
}

static void every_wrong_argument_of_a_factor_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 0, 2}, {1, 1, 2});
    trine_factor F = (trine_factor)1;
    trine_factor_info info;
    trine_panels P;
    trine_matrix T;
    static const int64_t offsets[] = {0, 1, 2};
    static const int32_t columns[] = {0, 1};
    static const double values[] = {1, 1};
    static const double broken[] = {1, NAN}, infinite[] = {INFINITY, 1};
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_create(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_factor_create(NULL, &F, A, NULL));
    assert_null(F);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_factor_create(ctx, &F, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "no method 17",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = (trine_direct_method)17}));
    FAILS(TRINE_ERR_ARGUMENT, "no ordering -1",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.ordering = (trine_ordering)-1}));
    FAILS(TRINE_ERR_ARGUMENT, "pivot_threshold 1.5",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.pivot_threshold = 1.5}));
    FAILS(TRINE_ERR_ARGUMENT, "pivot_threshold",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.pivot_threshold = NAN}));
    FAILS(TRINE_ERR_ARGUMENT, "keep_zeros", trine_factor_create(ctx, &F, A, &(trine_factor_options){.keep_zeros = 1}));
    FAILS(TRINE_ERR_ARGUMENT, "need_panels",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.need_panels = 2}));
    FAILS(TRINE_ERR_ARGUMENT, "COLAMD",
          trine_factor_create(
              ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY, .ordering = TRINE_ORDERING_COLAMD}));
    trine_matrix wrong;
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 3, 2, TRINE_HOST, 64, offsets, 32, columns, values));
    FAILS(TRINE_ERR_ARGUMENT, "2 x 3, not square", trine_factor_create(ctx, &F, wrong, NULL));
    trine_matrix_destroy(&wrong);
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 2, 2, TRINE_HOST, 64, offsets, 32, columns, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "without values", trine_factor_create(ctx, &F, wrong, NULL));
    trine_matrix_destroy(&wrong);
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LDL; method++)
        for (int which = 0; which < 2; which++) {
            OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 2, 2, TRINE_HOST, 64, offsets, 32, columns,
                                which ? broken : infinite));
            FAILS(TRINE_ERR_STRUCTURE, which ? "row 1" : "row 0",
                  trine_factor_create(ctx, &F, wrong, &(trine_factor_options){.method = (trine_direct_method)method}));
            trine_matrix_destroy(&wrong);
        }
    static const double huge[] = {1e308, 1e308};
    static const int32_t twice[] = {0, 0};
    static const int64_t one_row[] = {0, 2};
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 1, 1, 2, TRINE_HOST, 64, one_row, 32, twice, huge));
    FAILS(TRINE_ERR_STRUCTURE, NULL, trine_factor_create(ctx, &F, wrong, NULL)); /* duplicates that sum to infinity */
    trine_matrix_destroy(&wrong);
    if (test_on_gpu()) {
        OK(trine_matrix_copy(A, &wrong, TRINE_DEVICE, TRINE_CSR, TRINE_D));
        FAILS(TRINE_ERR_ARGUMENT, "device memory", trine_factor_create(ctx, &F, wrong, NULL));
        trine_matrix_destroy(&wrong);
    }
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_info(NULL, &info));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_permutations(NULL, NULL, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_triangle(NULL, TRINE_LOWER, &T));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_panels(NULL, TRINE_LOWER, &P));
    OK(trine_factor_create(ctx, &F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_factor_get_info(F, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_factor_get_triangle(F, TRINE_LOWER, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "which is 0", trine_factor_get_triangle(F, TRINE_UPLO_AUTO, &T));
    FAILS(TRINE_ERR_UNSUPPORTED, "TRINE_H on L", trine_factor_get_triangle(F, TRINE_UPPER, &T));
    assert_null(T);
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_factor_get_panels(F, TRINE_LOWER, NULL));
    OK(trine_factor_get_permutations(F, NULL, NULL, NULL, NULL));
    OK(trine_factor_destroy(&F));
    assert_null(F);
    OK(trine_factor_destroy(&F));
    OK(trine_factor_destroy(NULL));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void methods_and_orderings_have_names(void **state)
{
    (void)state;
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_CHOLESKY_SIMPLICIAL), "cholesky-simplicial");
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_LU_UMFPACK), "lu-umfpack");
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_LU_KLU), "lu-klu");
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_LDL), "ldl");
    assert_string_equal(trine_ordering_name(TRINE_ORDERING_GIVEN), "given");
    assert_string_equal(trine_direct_method_name((trine_direct_method)99), "unknown");
    assert_string_equal(trine_ordering_name(TRINE_ORDERING_METIS), "metis");
    assert_string_equal(trine_ordering_name((trine_ordering)-1), "unknown");
}

static void every_allocation_of_a_factor_may_fail(void **state)
{
    (void)state;
    for EACH(m, methods)
        for (int ordering = TRINE_ORDERING_METIS; ordering <= TRINE_ORDERING_COLAMD; ordering++) {
            if (is_hermitian(methods[m]) && ordering != TRINE_ORDERING_METIS) continue;
            for (int k = 1;; k++) {
                trine_context ctx;
                test_memory memory = {0};
                OK(trine_context_create(&ctx, "cpu"));
                test_fail_allocations(ctx, &memory);
                trine_matrix A = random_matrix(ctx, TRINE_C, 12, 2, is_hermitian(methods[m]), 5), L = NULL, U = NULL;
                memory.fail_at = memory.calls + k;
                trine_factor F;
                trine_status status = trine_factor_create(
                    ctx, &F, A, &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering});
                if (status) assert_null(F);
                if (!status) status = trine_factor_update(F, A);
                if (!status) status = trine_factor_get_triangle(F, TRINE_LOWER, &L);
                if (!status && !is_cholesky(methods[m])) status = trine_factor_get_triangle(F, TRINE_UPPER, &U);
                const bool failed = memory.calls >= memory.fail_at;
                assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
                OK(trine_factor_destroy(&F));
                OK(trine_matrix_destroy(&L));
                OK(trine_matrix_destroy(&U));
                OK(trine_matrix_destroy(&A));
                OK(trine_context_destroy(&ctx));
                assert_int_equal(memory.live, 0);
                if (!failed) break;
            }
        }
}

/** Other patterns, also with as many entries in each row and column, arrays that do not fit, and numbers that are none
 *  are found however the matrix is stored. The factor stays. */
static void updates_with_broken_arrays_are_refused(void **state)
{
    (void)state;
    enum { n = 3, nnz = 5 };
    static const struct broken {
        trine_status status;
        int64_t offsets[n + 1];
        int32_t indices[nnz];
        double values[nnz];
    } broken[] = {
        {TRINE_ERR_ARGUMENT, {0, 2, 4, 5}, {0, 1, 1, 2, 0}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_ARGUMENT, {0, 2, 3, 5}, {0, 1, 0, 1, 2}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, -1, 4, 5}, {0, 1, 0, 1, 2}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 9, 4, 5}, {0, 1, 0, 1, 2}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 4, 2, 5}, {0, 1, 0, 1, 2}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 2, 4, 5}, {0, 1, 0, 1, 3}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 2, 4, 5}, {-1, 1, 0, 1, 2}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 2, 4, 5}, {0, 1, 0, 1, INT32_MAX}, {4, 1, 1, 4, 4}},
        {TRINE_ERR_STRUCTURE, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {4, 1, 1, 4, NAN}},
        {TRINE_ERR_STRUCTURE, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {INFINITY, 1, 1, 4, 4}},
    };
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, n, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    for EACH(m, methods)
        for (int by_columns = 0; by_columns < 2; by_columns++) {
            trine_factor F;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
            for EACH(k, broken) {
                const struct broken *bad = &broken[k];
                trine_matrix B;
                OK((by_columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &B, TRINE_D, n, n, nnz, TRINE_HOST, 64,
                                                                      bad->offsets, 32, bad->indices, bad->values));
                assert_int_equal(trine_factor_update(F, B), bad->status);
                assert_identity(F, A);
                trine_matrix_destroy(&B);
            }
            OK(trine_factor_update(F, A));
            OK(trine_factor_destroy(&F));
        }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_that_do_not_fit_are_refused),
        cmocka_unit_test(updates_with_broken_arrays_are_refused),
        cmocka_unit_test(singular_and_indefinite_matrices_are_named_and_nothing_is_printed),
        cmocka_unit_test(singular_matrices_of_any_shape_never_crash),
        cmocka_unit_test(nearly_singular_matrices_are_factored_with_a_warning),
        cmocka_unit_test(breakdowns_of_regular_matrices_are_not_called_singular),
        cmocka_unit_test(new_values_fall_back_as_first_ones_do),
        cmocka_unit_test(ldl_that_is_no_solution_is_refused),
        cmocka_unit_test(every_wrong_argument_of_a_factor_is_refused),
        cmocka_unit_test(methods_and_orderings_have_names),
        cmocka_unit_test(every_allocation_of_a_factor_may_fail),
    };
    return TEST_MAIN(tests);
}
