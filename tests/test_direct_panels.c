/* How a direct plan uses a factor's panels: what it does where their inverses are not accurate, and panels in single
 * precision with iterative refinement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trine/direct.h>

#include "matrix_support.h"

/** Backward error in eps of op(A) X = op(A) S for nrhs random columns of S, B stored row by row. */
static double error_of_solve(trine_context ctx, trine_direct plan, trine_matrix A, trine_dtype t, trine_transpose op,
                             int64_t n, int64_t nrhs)
{
    const size_t element = trine_dtype_size(t), bytes = (size_t)(n * nrhs) * element;
    const int64_t parts = t == TRINE_Z || t == TRINE_C ? 2 : 1;
    char *s = malloc(bytes), *b = malloc(bytes), *x = malloc(bytes), *rows = malloc(bytes);
    for (int64_t k = 0; k < n * nrhs * parts; k++) {
        const double u = 2 * test_uniform(5, (uint64_t)k) - 1;
        if (t == TRINE_S || t == TRINE_C) ((float *)s)[k] = (float)u;
        else ((double *)s)[k] = u;
    }
    trine_matrix op_A = NULL;
    if (op == TRINE_N) OK(trine_matrix_copy(A, &op_A, TRINE_HOST, TRINE_CSR, t));
    else OK(trine_matrix_transpose(A, &op_A, op));
    for (int64_t j = 0; j < nrhs; j++) {
        OK(trine_matrix_multiply(op_A, TRINE_N, NULL, s + (size_t)(j * n) * element, NULL,
                                 b + (size_t)(j * n) * element));
        for (int64_t i = 0; i < n; i++)
            memcpy(rows + (size_t)(i * nrhs + j) * element, b + (size_t)(i + j * n) * element, element);
    }
    void *db = test_to_device(ctx, rows, bytes), *dx = test_to_device(ctx, rows, bytes);
    const trine_dense B = {db, n, nrhs, nrhs, TRINE_ROWMAJOR}, X = {dx, n, nrhs, n, TRINE_COLMAJOR};
    OK(trine_direct_solve(plan, op, &B, &X, NULL));
    test_from_device(ctx, x, dx, bytes);
    trine_accuracy accuracy;
    OK(trine_matrix_accuracy(op_A, nrhs, x, b, NULL, &accuracy));
    test_release(ctx, db);
    test_release(ctx, dx);
    trine_matrix_destroy(&op_A);
    free(s);
    free(b);
    free(x);
    free(rows);
    return accuracy.backward_error;
}

/** Upper triangular: n / side dense blocks with ones on the diagonal and -1 above, whose inverses hold 2^(side-2). */
static trine_matrix growing_blocks(trine_context ctx, int n, int side)
{
    triplet *list = malloc((size_t)n * (size_t)side * sizeof *list);
    int64_t count = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < (i / side + 1) * side && j < n; j++) list[count++] = (triplet){i, j, i == j ? 1 : -1, 0};
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, n, n, count, list);
    free(list);
    return A;
}

static void inaccurate_inverses_are_not_used(void **state)
{
    (void)state;
    enum { N = 240 };
    trine_context ctx = test_context();
    trine_matrix A = growing_blocks(ctx, N, 60);
    trine_direct plan;
    trine_direct_info info;
    OK(trine_direct_create(
        ctx, &plan, A,
        &(trine_direct_options){.factor = {.method = TRINE_DIRECT_LU, .ordering = TRINE_ORDERING_NATURAL},
                                .ops = TRINE_N | TRINE_T,
                                .solver = TRINE_SOLVER_SUPERNODAL,
                                .triangular.max_nrhs = 3}));
    OK(trine_direct_get_info(plan, &info));
    assert_true(info.upper_panels.substituted_panels > 0);
    if (!test_on_gpu()) assert_int_equal(info.upper_panels.invert, TRINE_INVERT_NONE);
    if (test_on_gpu()) {
        assert_int_equal(info.upper_panels.variant, TRINE_VARIANT_DYNAMIC);
        assert_non_null(strstr(info.reason, "gave a backward error of"));
    }
    for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2) {
        assert_true(error_of_solve(ctx, plan, A, TRINE_D, TRINE_N, N, nrhs) < 10);
        assert_true(error_of_solve(ctx, plan, A, TRINE_D, TRINE_T, N, nrhs) < 10);
    }
    OK(trine_direct_destroy(&plan));
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
}

/** Solves with N and T, before and after new values, of 1, 3 and `most` right-hand sides. */
static void check_solves(trine_context ctx, trine_direct plan, trine_matrix A, int64_t n, int64_t most,
                         const char *what)
{
    const int64_t numbers[] = {1, 3, most};
    EACH(k, numbers) for (trine_transpose op = TRINE_N; op <= TRINE_T; op = (trine_transpose)(2 * op))
    {
        const double error = error_of_solve(ctx, plan, A, TRINE_D, op, n, numbers[k]);
        trine_direct_info info;
        OK(trine_direct_get_info(plan, &info));
        if (!(error < 10))
            print_error("%s, op %d, %d right-hand sides: %g eps; growth %g and %g; %s\n", what, (int)op,
                        (int)numbers[k], error, info.lower_panels.growth, info.upper_panels.growth, info.reason);
        assert_true(error < 10);
    }
}

/** Whatever AUTO makes of inverses that lose from three digits to all: substitution, refinement, or another factor,
 *  whose panels for several right-hand sides lose as much. */
static void solves_are_accurate_whatever_inverses_lose(void **state)
{
    (void)state;
    enum { N = 240 };
    static const int sides[] = {8, 9, 10, 11, 12, 20, 30, 48, 60};
    trine_context ctx = test_context();
    EACH(k, sides) for (int64_t most = 3; most <= 9; most += 6)
    {
        trine_matrix A = growing_blocks(ctx, N, sides[k]);
        trine_direct plan;
        char what[40];
        snprintf(what, sizeof what, "blocks of %d, for %d", sides[k], (int)most);
        OK(trine_direct_create(ctx, &plan, A,
                               &(trine_direct_options){.ops = TRINE_N | TRINE_T, .triangular.max_nrhs = most}));
        for (int update = 0; update <= 1; update++) {
            trine_direct_info info;
            if (update) OK(trine_direct_update(plan, A));
            OK(trine_direct_get_info(plan, &info));
            if (test_on_gpu() && sides[k] == 60) { /* growth beyond refinement: no panels, of either factor */
                assert_int_equal(info.factor.method, TRINE_DIRECT_LU_UMFPACK);
                assert_int_equal(info.solver, TRINE_SOLVER_GENERAL);
                assert_non_null(strstr(info.factor.reason, "substituted"));
            }
            check_solves(ctx, plan, A, N, most, what);
        }
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
    }
    trine_context_destroy(&ctx);
}

/** On a GPU: airfoil_2d's U by SuperLU has inverses that lose five digits, and UMFPACK's has not. */
static void slow_panels_give_way_to_another_factor(void **state)
{
    (void)state;
    if (!test_on_gpu()) skip();
    const char *path = test_real_matrix("airfoil_2d");
    trine_context ctx = test_context();
    trine_matrix A;
    trine_matrix_info size;
    int shared_bytes;
    const bool little_shared = test_shape(&shared_bytes) && shared_bytes < 160 * 1024;
    OK(trine_matrix_read(ctx, &A, path, TRINE_D));
    OK(trine_matrix_get_info(A, &size));
    for (int64_t most = 3; most <= 9; most += 6) {
        trine_direct plan;
        trine_direct_info info;
        OK(trine_direct_create(ctx, &plan, A,
                               &(trine_direct_options){.ops = TRINE_N | TRINE_T, .triangular.max_nrhs = most}));
        for (int update = 0; update <= 1; update++) {
            if (update) OK(trine_direct_update(plan, A));
            OK(trine_direct_get_info(plan, &info));
            if (little_shared && info.factor.method == TRINE_DIRECT_LU) { /* panels are narrower, and need not wait */
                assert_int_equal(info.solver, TRINE_SOLVER_SUPERNODAL);
                assert_true(info.lower_panels.levels_merged + info.upper_panels.levels_merged <= 300);
            } else {
                assert_int_equal(info.factor.method, TRINE_DIRECT_LU_UMFPACK);
                assert_int_equal(info.solver, most > 3 ? TRINE_SOLVER_SUPERNODAL : TRINE_SOLVER_GENERAL);
            }
            check_solves(ctx, plan, A, size.n_rows, most, "airfoil_2d");
        }
        OK(trine_direct_destroy(&plan));
        /* asked for by name, SuperLU's panels stay */
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU}));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.factor.method, TRINE_DIRECT_LU);
        assert_int_equal(info.solver, TRINE_SOLVER_SUPERNODAL);
        OK(trine_direct_destroy(&plan));
    }
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
}

/** A block of 5 rows is a panel of 15 entries, one of 6 rows has 21. */
static void tiny_panels_are_left_to_rows_on_a_cpu(void **state)
{
    (void)state;
    static const char *const names[] = {"block_diagonal:blocks=100,size=5", "block_diagonal:blocks=100,size=6"};
    trine_context ctx;
    OK(trine_context_create(&ctx, test_on_gpu() ? test_device() : "cpu:2")); /* one thread has rules of its own */
    for (int k = 0; k < 2; k++) {
        const bool tiny = k == 0 && !test_on_gpu();
        trine_matrix A;
        trine_direct plan;
        trine_direct_info info;
        OK(trine_matrix_gallery(ctx, &A, names[k], TRINE_D));
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_CHOLESKY}));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.solver, tiny ? TRINE_SOLVER_GENERAL : TRINE_SOLVER_SUPERNODAL);
        assert_int_equal(strstr(info.reason, "tiny") != NULL, tiny);
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
    }
    trine_context_destroy(&ctx);
}

/** A block of s rows has (s + 1) / 2 entries a column. On one thread columns have to be longer, the more so for panels
 *  beyond the cache and for several right-hand sides, unless few solves are expected, or something is asked of
 *  panels. */
static void one_thread_takes_panels_of_long_columns(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool one, several; /* panels for 1 and for 3 right-hand sides */
    } cases[] = {{"block_diagonal:blocks=30,size=60", false, false},
                 {"block_diagonal:blocks=30,size=70", true, false},
                 {"block_diagonal:blocks=480,size=80", false, false}, /* 1.6 million entries */
                 {"block_diagonal:blocks=200,size=130", true, false},
                 {"block_diagonal:blocks=30,size=260", true, true}};
    if (test_on_gpu()) skip();
    EACH(k, cases)
    {
        trine_context contexts[2];
        trine_matrix A;
        trine_factor F;
        OK(trine_context_create(&contexts[0], "cpu:1"));
        OK(trine_context_create(&contexts[1], "cpu:2"));
        OK(trine_matrix_gallery(contexts[0], &A, cases[k].name, TRINE_D));
        OK(trine_factor_create(contexts[0], &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
        trine_direct_options options[7] = {{.triangular.max_nrhs = 1}, {.triangular.max_nrhs = 3}};
        options[2].triangular.expected_solves = 5;
        options[3].supernodal.single = 1;
        options[4].supernodal.invert = TRINE_INVERT_NONE;
        options[5].solver = TRINE_SOLVER_SUPERNODAL;
        EACH(o, options)
        { /* the last: on two threads */
            const bool panels = o == 0 ? cases[k].one : o == 1 ? cases[k].several : true;
            trine_direct plan;
            trine_direct_info info;
            OK(trine_direct_create_from_factor(contexts[o == 6], &plan, F, NULL, &options[o]));
            OK(trine_direct_get_info(plan, &info));
            assert_int_equal(info.solver, panels ? TRINE_SOLVER_SUPERNODAL : TRINE_SOLVER_GENERAL);
            assert_int_equal(strstr(info.reason, "one thread") != NULL, !panels);
            OK(trine_direct_destroy(&plan));
        }
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
        for (int c = 0; c < 2; c++) OK(trine_context_destroy(&contexts[c]));
    }
}

static void accurate_inverses_are_kept(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    trine_direct_info info;
    /* large enough for rounding errors to add up, and for substitution to take ten times as long */
    for (int large = 0; large <= test_on_gpu(); large++) {
        OK(trine_matrix_gallery(ctx, &A, large ? "laplace3d:n=40" : "elasticity3d:n=5", TRINE_D));
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.solver = TRINE_SOLVER_SUPERNODAL}));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.lower_panels.invert, test_on_gpu() ? TRINE_INVERT_OFF : TRINE_INVERT_NONE);
        assert_int_equal(info.lower_panels.substituted_panels, test_on_gpu() ? 0 : info.lower_panels.panels_merged);
        assert_string_equal(info.reason, "asked for");
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
    }
    trine_context_destroy(&ctx);
}

/** Panels in single precision: every op, one right-hand side and several, after `refine` steps. */
static void check_single(const char *name, trine_dtype t, trine_direct_method method, int refine, double least,
                         double most)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    trine_context ctx = test_context();
    trine_matrix A;
    trine_matrix_info size;
    trine_direct plan;
    trine_direct_info info;
    OK(trine_matrix_gallery(ctx, &A, name, t));
    OK(trine_matrix_get_info(A, &size));
    OK(trine_direct_create(ctx, &plan, A,
                           &(trine_direct_options){.factor.method = method,
                                                   .ops = TRINE_N | TRINE_T | TRINE_H,
                                                   .refine = refine,
                                                   .triangular.max_nrhs = 9,
                                                   .solver = TRINE_SOLVER_SUPERNODAL,
                                                   .supernodal.single = 1}));
    OK(trine_direct_get_info(plan, &info));
    assert_int_equal(info.lower_panels.single, t == TRINE_D || t == TRINE_Z);
    for (size_t k = 0; k < 3; k++)
        for (int64_t nrhs = 1; nrhs <= 9; nrhs += 8) {
            const double error = error_of_solve(ctx, plan, A, t, ops[k], size.n_rows, nrhs);
            if (!(error >= least && error <= most))
                print_error("%s, dtype %d, op %d, refine %d: %g eps\n", name, (int)t, (int)ops[k], refine, error);
            assert_true(error >= least && error <= most);
        }
    OK(trine_direct_destroy(&plan));
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
}

static void factors_in_single_precision_are_refined_to_double(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_D; t <= TRINE_Z; t = (trine_dtype)(t + TRINE_Z - TRINE_D)) {
        check_single("elasticity3d:n=5", t, TRINE_DIRECT_CHOLESKY, 2, 0, 1);
        check_single("laplace3d:n=9", t, TRINE_DIRECT_CHOLESKY, 2, 0, 1);
        check_single("convection3d:n=7", t, TRINE_DIRECT_LU, 2, 0, 1);
    }
}

static void without_refinement_they_give_single_accuracy(void **state)
{
    (void)state;
    const double ratio = 0x1p29; /* of the two eps */
    check_single("laplace3d:n=9", TRINE_D, TRINE_DIRECT_CHOLESKY, 0, ratio / 1000, 10 * ratio);
    check_single("laplace3d:n=9", TRINE_S, TRINE_DIRECT_CHOLESKY, 0, 0, 10); /* nothing to lower */
}

/** Columns of 1e30: a factor within the range of single precision whose solutions are not, or not with every op.
 *  Right-hand sides are taken times powers of two, so that most of them are solved. */
static void solves_beyond_single_precision_are_right_or_refused(void **state)
{
    (void)state;
    enum { N = 12 };
    trine_context ctx = test_context();
    int solved = 0;
    for (int seed = 0; seed < 20; seed++) {
        triplet list[3 * N];
        int64_t count = 0;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) {
                const int j = (i + k * k) % N;
                const double scale = test_uniform(90 + (uint64_t)seed, (uint64_t)j) < 0.5 ? 1e30 : 1e-8;
                list[count++] = (triplet){i, j, scale * (k ? 1 + test_uniform(7, (uint64_t)(k * N + i)) : 4), 0};
            }
        trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, N, N, count, list);
        trine_direct plan;
        const trine_status status = trine_direct_create(ctx, &plan, A,
                                                        &(trine_direct_options){.factor.method = TRINE_DIRECT_LU,
                                                                                .ops = TRINE_N | TRINE_T,
                                                                                .solver = TRINE_SOLVER_SUPERNODAL,
                                                                                .triangular.max_nrhs = 3,
                                                                                .supernodal.single = 1});
        assert_true(status == TRINE_SUCCESS || status == TRINE_ERR_NO_CONVERGENCE || status == TRINE_ERR_SINGULAR);
        solved += status == TRINE_SUCCESS;
        for (trine_transpose op = TRINE_N; op <= TRINE_T && !status; op = (trine_transpose)(2 * op))
            assert_true(error_of_solve(ctx, plan, A, TRINE_D, op, N, 3) < 10 * 0x1p29);
        if (!status) OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
    }
    assert_true(solved > 0);
    trine_context_destroy(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inaccurate_inverses_are_not_used),
                                       cmocka_unit_test(solves_are_accurate_whatever_inverses_lose),
                                       cmocka_unit_test(slow_panels_give_way_to_another_factor),
                                       cmocka_unit_test(tiny_panels_are_left_to_rows_on_a_cpu),
                                       cmocka_unit_test(one_thread_takes_panels_of_long_columns),
                                       cmocka_unit_test(accurate_inverses_are_kept),
                                       cmocka_unit_test(factors_in_single_precision_are_refined_to_double),
                                       cmocka_unit_test(without_refinement_they_give_single_accuracy),
                                       cmocka_unit_test(solves_beyond_single_precision_are_right_or_refused)};
    return TEST_MAIN(tests);
}
