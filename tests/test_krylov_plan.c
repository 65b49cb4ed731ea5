/* Krylov solvers in use: arguments, works, right-hand sides side by side, guesses, histories, operators that vary,
 * callbacks that fail. */
#include "krylov_support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan.h"

enum { N = 23 };

/** A system with everything made. */
typedef struct {
    trine_context ctx;
    dense *A, *M;
    double *b, x[4 * N];
    trine_dense B, X;
} scene;

static scene open_scene(trine_krylov_method method)
{
    scene s = {.ctx = test_context()};
    s.A = system_for(s.ctx, method, TRINE_D, N, 5);
    s.M = jacobi_of(s.ctx, s.A, TRINE_D);
    s.b = random_vector(TRINE_D, 4 * N, 6);
    return s;
}
static void close_scene(scene *s)
{
    free_dense(s->A);
    free_dense(s->M);
    free(s->b);
    OK(trine_context_destroy(&s->ctx));
}
static trine_krylov_result result_of(trine_krylov k, int64_t rhs)
{
    trine_krylov_result r;
    OK(trine_krylov_get_result(k, rhs, &r, NULL));
    return r;
}

/* ------------------------------------------------------------------- arguments */

static trine_status never_called(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)user, (void)op, (void)alpha, (void)X, (void)beta, (void)Y, (void)exec;
    return TRINE_ERR_IO;
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    dense *varying = new_dense(s.ctx, TRINE_D, N, true), *other = new_dense(s.ctx, TRINE_D, N + 1, false),
          *complex_one = new_dense(s.ctx, TRINE_Z, N, false);
    const struct {
        const char *text;
        trine_krylov_options o;
    } wrong[] = {{"reserved", {.reserved = {0, 0, 0, 1}}},
                 {"method 6", {.method = (trine_krylov_method)6}},
                 {"restart is -1", {.restart = -1}},
                 {"max_iterations is -2", {.max_iterations = -2}},
                 {"rtol is -1", {.rtol = -1}},
                 {"rtol is nan", {.rtol = NAN}},
                 {"atol is inf", {.atol = INFINITY}},
                 {"atol is -3", {.atol = -3}},
                 {"side 3", {.side = (trine_krylov_side)3}},
                 {"inner 7", {.inner = (trine_dtype)7}},
                 {"no cast", {.inner = TRINE_C}},
                 {"max_nrhs is -1", {.max_nrhs = -1}},
                 {"history is -1", {.history = -1}},
                 {"stagnation 1 is outside", {.stagnation = 1}},
                 {"stagnation nan is outside", {.stagnation = NAN}},
                 {"on the right only", {.method = TRINE_KRYLOV_FGMRES, .side = TRINE_SIDE_LEFT}},
                 {"inner_A is 24 x 24", {.inner_A = other->op}},
                 {"inner_A has dtype 4", {.inner_A = complex_one->op}}};
    trine_krylov k;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        k = (trine_krylov)&s;
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text, trine_krylov_create(s.ctx, &k, s.A->op, s.M->op, &wrong[i].o));
        assert_null(k);
    }
    trine_op rectangle, only_T;
    OK(trine_op_from_callback(s.ctx, &rectangle, &(trine_op_info){.dtype = TRINE_D, .rows = 2, .cols = 3}, never_called,
                              NULL, NULL));
    OK(trine_op_from_callback(s.ctx, &only_T, &(trine_op_info){.dtype = TRINE_D, .rows = N, .cols = N, .ops = TRINE_T},
                              never_called, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_krylov_create(s.ctx, NULL, s.A->op, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_krylov_create(NULL, &k, s.A->op, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_krylov_create(s.ctx, &k, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A is 2 x 3, not square", trine_krylov_create(s.ctx, &k, rectangle, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A does not have op N", trine_krylov_create(s.ctx, &k, only_T, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "M is 24 x 24, A has 23 rows", trine_krylov_create(s.ctx, &k, s.A->op, other->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "M has dtype 4", trine_krylov_create(s.ctx, &k, s.A->op, complex_one->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "M[1] is NULL",
          trine_krylov_create_alternating(s.ctx, &k, s.A->op, 2, (trine_op[]){s.M->op, NULL}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "m is 0", trine_krylov_create_alternating(s.ctx, &k, s.A->op, 0, &s.M->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "array of preconditioners is NULL",
          trine_krylov_create_alternating(s.ctx, &k, s.A->op, 1, NULL, NULL));
    for (int m = 0; m < METHODS; m++) {
        const trine_krylov_options o = {.method = all_methods[m]};
        if (all_methods[m] == TRINE_KRYLOV_FGMRES) continue;
        FAILS(TRINE_ERR_ARGUMENT, "M varies from call to call",
              trine_krylov_create(s.ctx, &k, s.A->op, varying->op, &o));
        FAILS(TRINE_ERR_ARGUMENT, "A varies from call to call", trine_krylov_create(s.ctx, &k, varying->op, NULL, &o));
        FAILS(TRINE_ERR_ARGUMENT, "2 preconditioners that alternate",
              trine_krylov_create_alternating(s.ctx, &k, s.A->op, 2, (trine_op[]){s.M->op, s.M->op}, &o));
    }
    FAILS(TRINE_ERR_MEMORY, NULL,
          trine_krylov_create(s.ctx, &k, s.A->op, NULL, &(trine_krylov_options){.max_nrhs = INT64_MAX}));
    FAILS(TRINE_ERR_MEMORY, "more than any memory has",
          trine_krylov_create(s.ctx, &k, s.A->op, NULL, &(trine_krylov_options){.history = INT64_MAX / 2}));
    assert_null(k);
    trine_context another = test_context();
    trine_op foreign;
    OK(trine_op_identity(another, &foreign, TRINE_D, N));
    FAILS(TRINE_ERR_ARGUMENT, "M is of another context", trine_krylov_create(s.ctx, &k, s.A->op, foreign, NULL));
    OK(trine_op_destroy(&foreign));
    OK(trine_context_destroy(&another));

    /* of a solve */
    OK(trine_krylov_create(s.ctx, &k, s.A->op, NULL, &(trine_krylov_options){.history = 5}));
    const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1);
    trine_krylov_result r;
    int64_t count;
    FAILS(TRINE_ERR_STATE, "there was no solve", trine_krylov_get_result(k, 0, &r, NULL));
    FAILS(TRINE_ERR_STATE, "there was no solve", trine_krylov_get_history(k, 0, NULL, NULL, &count, NULL));
    size_t few = 0, twice = 0, many = 0; /* told without a look at each column; a GPU has some for all */
    OK(trine_krylov_work(k, INT64_C(1) << 10, NULL, &few, NULL));
    OK(trine_krylov_work(k, INT64_C(1) << 11, NULL, &twice, NULL));
    OK(trine_krylov_work(k, INT64_C(1) << 40, NULL, &many, NULL));
    const size_t each = twice - few; /* of 2^10 right-hand sides */
    assert_true(twice > few && few - each < each && many == few + each * ((INT64_C(1) << 30) - 1));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", solve(NULL, &B, &X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B is NULL", solve(k, NULL, &X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", solve(k, &B, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "same array", solve(k, &B, &B, NULL));
    const trine_dense two = block(s.x, N, 2), two_b = block(s.b, N, 2), short_b = block(s.b, N - 1, 1);
    FAILS(TRINE_ERR_ARGUMENT, "B has 1 columns, X has 2", solve(k, &B, &two, NULL));
    FAILS(TRINE_ERR_STATE, "2 right-hand sides, but the plan was made for 1", solve(k, &two_b, &two, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 22 rows", solve(k, &short_b, &X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "reserved", solve(k, &B, &X, &(trine_exec){.reserved = {1}}));
    OK(solve(k, &B, &X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "right-hand side 1 of 1", trine_krylov_get_result(k, 1, &r, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "right-hand side -1 of 1", trine_krylov_get_history(k, -1, NULL, NULL, &count, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "result is NULL", trine_krylov_get_result(k, 0, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "count is NULL", trine_krylov_get_history(k, 0, NULL, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_krylov_get_result(NULL, 0, &r, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_krylov_get_info(NULL, &(trine_krylov_info){0}));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_krylov_get_info(k, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_krylov_set_monitor(NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", trine_krylov_set_reference(k, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X has 22 rows", trine_krylov_set_reference(k, &short_b));
    OK(trine_krylov_set_reference(k, &two));
    FAILS(TRINE_ERR_ARGUMENT, "1 right-hand sides, but 2 known solutions", solve(k, &B, &X, NULL));
    OK(trine_krylov_set_reference(k, &(trine_dense){0}));
    OK(solve(k, &B, &X, NULL));
    assert_true(trine_enter(&((struct trine_plan *)k)->usage)); /* as a solve in another thread does */
    FAILS(TRINE_ERR_STATE, "in use by another thread", trine_krylov_set_monitor(k, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "in use by another thread", trine_krylov_set_reference(k, &(trine_dense){0}));
    trine_leave(&((struct trine_plan *)k)->usage);
    OK(trine_krylov_destroy(&k));
    OK(trine_krylov_create(s.ctx, &k, s.A->op, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "options.history is 0", trine_krylov_set_reference(k, &X));
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&rectangle));
    OK(trine_op_destroy(&only_T));
    free_dense(varying);
    free_dense(other);
    free_dense(complex_one);
    close_scene(&s);
}

static void a_plan_tells_what_it_is(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    dense *varying = new_dense(s.ctx, TRINE_D, N, true);
    trine_krylov k;
    trine_krylov_info info;
    memset(&info, 0xFF, sizeof info);
    OK(trine_krylov_create(s.ctx, &k, s.A->op, s.M->op, NULL));
    OK(trine_krylov_get_info(k, &info));
    assert_int_equal(info.method, TRINE_KRYLOV_GMRES);
    assert_true(info.restart == 20 && info.m == 1 && info.n == N && info.max_nrhs == 1);
    assert_true(info.dtype == TRINE_D && info.inner == TRINE_D && info.reserved[0] == 0);
    assert_int_equal(info.vectors, 21 + 1 + 1 + 4); /* basis, M v, d; b, x, the best x, r */
    assert_true(info.bytes >= info.vectors * N * 8 && strstr(info.loop, "host"));
    OK(trine_krylov_destroy(&k));
    OK(trine_krylov_create(s.ctx, &k, s.A->op, varying->op,
                           &(trine_krylov_options){.restart = 1000, .inner = TRINE_S}));
    OK(trine_krylov_get_info(k, &info));
    assert_int_equal(info.method, TRINE_KRYLOV_FGMRES);
    assert_int_equal(info.inner, TRINE_S);
    assert_int_equal(info.restart, N); /* the whole space */
    OK(trine_krylov_destroy(&k));
    OK(trine_krylov_create_alternating(s.ctx, &k, s.A->op, 3, (trine_op[]){s.M->op, s.M->op, s.M->op}, NULL));
    OK(trine_krylov_get_info(k, &info));
    assert_true(info.method == TRINE_KRYLOV_FGMRES && info.m == 3);
    OK(trine_krylov_destroy(&k));
    assert_string_equal(trine_krylov_method_name(TRINE_KRYLOV_MINRES), "minres");
    assert_string_equal(trine_krylov_outcome_name(TRINE_OUTCOME_BREAKDOWN_OMEGA), "breakdown of omega");
    assert_string_equal(trine_krylov_method_name((trine_krylov_method)99), "unknown");
    assert_string_equal(trine_krylov_outcome_name((trine_krylov_outcome)-1), "unknown");
    free_dense(varying);
    close_scene(&s);
}

/* ------------------------------------------------------------------ right-hand sides */

static void nothing_to_solve(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++) {
        dense *empty = new_dense(ctx, TRINE_D, 0, false), *A = system_for(ctx, all_methods[m], TRINE_D, N, 3);
        const trine_krylov_options o = {.method = all_methods[m], .max_nrhs = 2, .history = 2, .use_guess = 1};
        double b[2 * N] = {0}, x[2 * N];
        trine_krylov k;
        OK(trine_krylov_create(ctx, &k, empty->op, empty->op, &o));
        const trine_dense none = {NULL, 0, 2, 0, TRINE_COLMAJOR}, many = {NULL, 0, 7, 0, TRINE_COLMAJOR};
        OK(solve(k, &many, &many, NULL));
        OK(solve(k, &none, &none, NULL));
        assert_true(result_of(k, 1).outcome == TRINE_OUTCOME_CONVERGED && result_of(k, 1).steps == 0);
        OK(trine_krylov_destroy(&k));
        OK(trine_krylov_create(ctx, &k, A->op, NULL, &o));
        const trine_dense B0 = block(b, N, 0), X0 = block(x, N, 0), B = block(b, N, 2), X = block(x, N, 2);
        OK(solve(k, &B0, &X0, NULL));
        A->calls = 0;
        for (int i = 0; i < 2 * N; i++) x[i] = NAN; /* a guess that is not needed */
        OK(solve(k, &B, &X, NULL));
        for (int i = 0; i < 2 * N; i++) assert_true(x[i] == 0);
        assert_true(result_of(k, 1).outcome == TRINE_OUTCOME_CONVERGED && result_of(k, 1).steps == 0);
        assert_true(result_of(k, 0).residual == 0 && A->calls == 0);
        OK(trine_krylov_destroy(&k));
        free_dense(empty);
        free_dense(A);
        for (int n = 1; n <= 2; n++) { /* the smallest */
            dense *small = system_for(ctx, all_methods[m], TRINE_D, n, 4);
            double c[2] = {3, -1}, y[2];
            OK(trine_krylov_create(ctx, &k, small->op, NULL,
                                   &(trine_krylov_options){.method = all_methods[m], .rtol = 1e-13}));
            const trine_dense C = block(c, n, 1), Y = block(y, n, 1);
            OK(solve(k, &C, &Y, NULL));
            assert_true(true_residual(small, c, y) <= 2e-13L * 4);
            assert_true(result_of(k, 0).steps <= n);
            OK(trine_krylov_destroy(&k));
            free_dense(small);
        }
    }
    OK(trine_context_destroy(&ctx));
}

/** Each right-hand side goes its own way, as if it were alone, and costs nothing once it has converged. */
static void columns_are_frozen(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++) {
        trine_context ctx = test_context();
        dense *A = system_for(ctx, all_methods[m], TRINE_D, N, 15), *M = jacobi_of(ctx, A, TRINE_D);
        double *b = random_vector(TRINE_D, 4 * N, 16), x[4 * N], alone[N];
        for (int i = 0; i < N; i++) { /* a zero column, and the images of a guess and of near it */
            b[i] = 0;
            b[i + N] = (double)creall(A->A[i + 3 * N]);
            b[i + 2 * N] = b[i + N] + 1e-9 * b[i + 3 * N];
        }
        trine_krylov_options o = {.method = all_methods[m], .max_nrhs = 4, .use_guess = 1, .restart = 7, .rtol = 1e-10};
        trine_krylov k;
        OK(trine_krylov_create(ctx, &k, A->op, M->op, &o));
        const trine_dense B = block(b, N, 4), X = block(x, N, 4);
        for (int i = 0; i < 4 * N; i++) x[i] = i % N == 3;
        A->columns = 0;
        OK(solve(k, &B, &X, NULL));
        int64_t most = 0;
        for (int c = 0; c < 4; c++) {
            const trine_krylov_result r = result_of(k, c);
            assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
            if (c < 2) assert_int_equal(r.steps, 0);
            else assert_true(r.steps > 0);
            most += r.steps * (all_methods[m] == TRINE_KRYLOV_BICGSTAB ? 2 : 1) + r.restarts + 1;
        }
        assert_true(result_of(k, 2).steps < result_of(k, 3).steps);
        assert_true(A->columns <= most); /* zero columns before, so that the active ones are together */
        for (int c = 0; c < 4; c++) {
            const trine_dense b1 = block(b + c * N, N, 1), x1 = block(alone, N, 1);
            for (int i = 0; i < N; i++) alone[i] = i == 3;
            OK(solve(k, &b1, &x1, NULL));
            assert_memory_equal(alone, x + c * N, sizeof alone);
        }
        OK(trine_krylov_destroy(&k));
        free_dense(A);
        free_dense(M);
        free(b);
        OK(trine_context_destroy(&ctx));
    }
}

static void guesses_are_used_where_asked_for(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++) {
        scene s = open_scene(all_methods[m]);
        const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1);
        trine_krylov k;
        trine_krylov_options o = {.method = all_methods[m], .rtol = 1e-10};
        OK(trine_krylov_create(s.ctx, &k, s.A->op, NULL, &o));
        for (int i = 0; i < N; i++) s.x[i] = NAN; /* is not read */
        OK(solve(k, &B, &X, NULL));
        const trine_krylov_result cold = result_of(k, 0);
        assert_true(cold.first_residual == cold.rhs_norm);
        OK(trine_krylov_destroy(&k));
        o.use_guess = 1;
        OK(trine_krylov_create(s.ctx, &k, s.A->op, NULL, &o));
        OK(solve(k, &B, &X, NULL));
        assert_int_equal(result_of(k, 0).steps, 0);
        s.x[2] += 1e-5;
        OK(solve(k, &B, &X, NULL));
        const trine_krylov_result warm = result_of(k, 0);
        assert_true(warm.steps > 0 && warm.steps < cold.steps && warm.first_residual < 1e-4);
        for (int i = 0; i < N; i++) s.x[i] = 1e8; /* worse than zero */
        OK(solve(k, &B, &X, NULL));
        assert_true((double)true_residual(s.A, s.b, s.x) <= 1.001e-10 * warm.rhs_norm);
        s.x[4] = NAN;
        FAILS(TRINE_ERR_NO_CONVERGENCE, "x or b - A x is not finite in row", solve(k, &B, &X, NULL));
        OK(trine_krylov_destroy(&k));
        close_scene(&s);
    }
}

static void tolerances(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1);
    static const struct {
        double rtol, atol, relative, absolute;
    } cases[] = {{0, 0, 1e-6, 0},       {1e-3, 0, 1e-3, 0},    {0, 1e-2, 0, 1e-2},
                 {1e-9, 1e-3, 0, 1e-3}, {1e-2, 1e-9, 1e-2, 0}, {0, 1e9, 0, 1e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trine_krylov k;
        OK(trine_krylov_create(s.ctx, &k, s.A->op, NULL,
                               &(trine_krylov_options){.rtol = cases[i].rtol, .atol = cases[i].atol, .history = 100}));
        OK(solve(k, &B, &X, NULL));
        const trine_krylov_result r = result_of(k, 0);
        double residuals[100];
        int64_t count;
        OK(trine_krylov_get_history(k, 0, residuals, NULL, &count, NULL));
        const double target = fmax(cases[i].relative * r.rhs_norm, cases[i].absolute);
        assert_true(r.residual <= target && count == r.steps + 1);
        for (int64_t j = 0; j + 1 < count; j++) assert_true(residuals[j] > target); /* and not a step too many */
        OK(trine_krylov_destroy(&k));
    }
    close_scene(&s);
}

/* --------------------------------------------------------------------- histories */

/** The error of step k is that of a solve which ends there. */
static void histories_tell_what_happened(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    enum { MOST = 25, CYCLE = 6 };
    for (int m = 0; m < METHODS; m++)
        for (int side = 0; side < 3; side++) {
            scene s = open_scene(all_methods[m]);
            trine_krylov_options o = {
                .method = all_methods[m], .restart = CYCLE, .rtol = 1e-12, .history = MOST, .max_iterations = MOST - 1};
            if (side == 2 && all_methods[m] != TRINE_KRYLOV_FGMRES) o.side = TRINE_SIDE_LEFT;
            const trine_op M = side ? s.M->op : NULL;
            wide b[N], exact[N];
            double reference[N], residuals[MOST], errors[MOST], norm = 0;
            for (int i = 0; i < N; i++) b[i] = s.b[i];
            solve_wide(s.A, b, exact);
            for (int i = 0; i < N; i++) reference[i] = (double)creall(exact[i]);
            for (int i = 0; i < N; i++) norm += reference[i] * reference[i];
            const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1), known = block(reference, N, 1);
            trine_dense there;
            trine_krylov k;
            int64_t count;
            OK(trine_krylov_create(s.ctx, &k, s.A->op, M, &o));
            (void)solve(k, &B, &X, NULL);
            OK(trine_krylov_get_history(k, 0, residuals, errors, &count, NULL));
            assert_true(isnan(errors[0]) && isnan(errors[count - 1]));
            set_reference(k, &known, &there);
            (void)solve(k, &B, &X, NULL);
            double again[MOST];
            OK(trine_krylov_get_history(k, 0, again, errors, &count, NULL));
            assert_memory_equal(again, residuals, (size_t)count * sizeof *again); /* looking on changes nothing */
            assert_true(errors[0] == 1);
            release_reference(k, &there);
            OK(trine_krylov_destroy(&k));
            for (int64_t steps = 1; steps < count; steps++) {
                o.max_iterations = steps;
                OK(trine_krylov_create(s.ctx, &k, s.A->op, M, &o));
                (void)solve(k, &B, &X, NULL);
                const trine_krylov_result r = result_of(k, 0);
                assert_int_equal(r.steps, steps);
                if (r.best_step == steps) {
                    double square = 0;
                    for (int i = 0; i < N; i++) square += (s.x[i] - reference[i]) * (s.x[i] - reference[i]);
                    assert_true(fabs(sqrt(square / norm) - errors[steps]) <= 1e-9 * errors[steps] + 1e-14);
                    if (side < 2 && all_methods[m] != TRINE_KRYLOV_MINRES) /* whose estimates are in another norm */
                        assert_true(fabs(r.residual - residuals[steps]) <= 1e-9 * r.residual + 1e-13);
                } else { /* no residual before was better */
                    for (int64_t j = 0; j < steps; j++) assert_true(residuals[j] >= r.residual * (1 - 1e-9));
                }
                OK(trine_krylov_destroy(&k));
            }
            close_scene(&s);
        }
}

/** CG's residuals rise and fall: the x of the smallest one is what a limit leaves. */
static void the_best_iterate_is_kept(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    enum { LARGE = 60, MOST = 200 };
    for (int m = 0; m < 2; m++) {
        double entries[LARGE], b[LARGE], x[LARGE], residuals[MOST];
        for (int i = 0; i < LARGE; i++) {
            entries[i] = pow(10, -6.0 * i / (LARGE - 1));
            b[i] = 1 + test_uniform(2, (uint64_t)i);
        }
        dense *A = diagonal_system(ctx, TRINE_D, LARGE, entries);
        const trine_dense B = block(b, LARGE, 1), X = block(x, LARGE, 1);
        int rises = 0;
        for (int64_t most = 1; most < 100; most += 3) {
            trine_krylov k;
            int64_t count;
            const trine_krylov_options o = {.method = m ? TRINE_KRYLOV_BICGSTAB : TRINE_KRYLOV_CG,
                                            .max_iterations = most,
                                            .history = MOST,
                                            .rtol = 1e-14};
            OK(trine_krylov_create(ctx, &k, A->op, NULL, &o));
            const trine_status status = solve(k, &B, &X, NULL);
            OK(trine_krylov_get_history(k, 0, residuals, NULL, &count, NULL));
            const trine_krylov_result r = result_of(k, 0);
            double best = residuals[0];
            for (int64_t j = 1; j < count; j++) {
                rises += residuals[j] > residuals[j - 1];
                if (j < count - 1) best = fmin(best, residuals[j]);
            }
            assert_true(r.residual <= best * (1 + 1e-6) && r.best_step <= r.steps);
            assert_true(fabs((double)true_residual(A, b, x) - r.residual) <= 1e-14 * r.rhs_norm);
            assert_true(status == (r.outcome ? TRINE_ERR_NO_CONVERGENCE : TRINE_SUCCESS));
            if (r.outcome == TRINE_OUTCOME_MAX_ITERATIONS) assert_int_equal(r.steps, most);
            OK(trine_krylov_destroy(&k));
        }
        assert_true(rises > 20);
        free_dense(A);
    }
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------- varying operators */

/** The M of step s is M[s mod m], across restarts. */
static void preconditioners_take_turns(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    enum { M = 3, STEPS = 20 };
    int log[4 * STEPS], used = 0;
    dense *parts[M];
    trine_op ops[M];
    for (int l = 0; l < M; l++) {
        parts[l] = jacobi_of(s.ctx, s.A, TRINE_D);
        for (int i = 0; i < N; i++) parts[l]->A[i + i * N] *= 1 + (i + l) % 3;
        parts[l]->log = log;
        parts[l]->log_used = &used;
        parts[l]->name = l;
        ops[l] = parts[l]->op;
    }
    const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1);
    trine_krylov k;
    OK(trine_krylov_create_alternating(
        s.ctx, &k, s.A->op, M, ops,
        &(trine_krylov_options){.restart = 4, .max_iterations = STEPS, .rtol = 1e-15, .stagnation = 1e-12}));
    FAILS(TRINE_ERR_NO_CONVERGENCE, "maximum of iterations after 20 steps of fgmres", solve(k, &B, &X, NULL));
    const trine_krylov_result r = result_of(k, 0);
    assert_true(r.steps == STEPS && r.iterations == (STEPS + M - 1) / M && r.restarts == STEPS / 4);
    assert_int_equal(used, STEPS);
    for (int i = 0; i < STEPS; i++) assert_int_equal(log[i], i % M);
    assert_true(r.residual < 1e-3 * r.rhs_norm);
    OK(trine_krylov_destroy(&k));
    for (int l = 0; l < M; l++) free_dense(parts[l]);
    close_scene(&s);
}

/** Preconditioners that bring nothing do not end what another of them goes on with. */
static void every_preconditioner_has_its_turn(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    dense *nothing = new_dense(s.ctx, TRINE_D, N, false);
    const trine_op ops[] = {nothing->op, nothing->op, nothing->op, nothing->op, s.M->op};
    const trine_dense B = block(s.b, N, 1), X = block(s.x, N, 1);
    for (int m = 4; m <= 5; m++) {
        trine_krylov k;
        OK(trine_krylov_create_alternating(s.ctx, &k, s.A->op, m, ops,
                                           &(trine_krylov_options){.restart = 3, .max_iterations = 40, .rtol = 1e-12}));
        FAILS(TRINE_ERR_NO_CONVERGENCE, NULL, solve(k, &B, &X, NULL));
        const trine_krylov_result r = result_of(k, 0);
        assert_int_equal(r.outcome, m == 4 ? TRINE_OUTCOME_STAGNATION : TRINE_OUTCOME_MAX_ITERATIONS);
        assert_true(m == 4 ? r.residual == r.rhs_norm : r.residual < 0.1 * r.rhs_norm);
        OK(trine_krylov_destroy(&k));
    }
    free_dense(nothing);
    close_scene(&s);
}

/** A solver inside of a solver: FGMRES with some steps of another method. */
static void a_solver_is_an_operator(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++) {
        scene s = open_scene(all_methods[m]);
        trine_krylov inner, outer;
        trine_op op;
        trine_op_info info;
        OK(trine_krylov_create(s.ctx, &inner, s.A->op, s.M->op,
                               &(trine_krylov_options){.method = all_methods[m], .max_iterations = 3, .rtol = 1e-2}));
        OK(trine_krylov_as_op(inner, &op));
        FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_krylov_as_op(inner, NULL));
        OK(trine_op_get_info(op, &info));
        assert_true(info.varying && !info.capturable && info.rows == N && info.cols == N && info.ops == TRINE_N);
        const trine_dense B = block(s.b, N, 2), X = block(s.x, N, 2);
        double y[2 * N], alpha = -2, beta = 3;
        trine_work work;
        OK(trine_krylov_work(inner, 2, NULL, NULL, &work));
        (void)solve(inner, &B, &X, &(trine_exec){.work = work});
        for (int i = 0; i < 2 * N; i++) y[i] = 1;
        trine_dense Y = block(y, N, 2), from = B;
        if (test_on_gpu()) {
            from.data = test_to_device(s.ctx, s.b, sizeof y);
            Y.data = test_to_device(s.ctx, y, sizeof y);
        }
        OK(trine_op_apply(op, TRINE_N, &alpha, &from, &beta, &Y, NULL));
        if (test_on_gpu()) {
            OK(trine_context_synchronize(s.ctx));
            test_from_device(s.ctx, y, Y.data, sizeof y);
            test_release(s.ctx, from.data);
            test_release(s.ctx, Y.data);
        }
        for (int i = 0; i < 2 * N; i++) assert_true(fabs(y[i] - (-2 * s.x[i] + 3)) <= 1e-14);
        OK(trine_work_destroy(&work));
        FAILS(TRINE_ERR_ARGUMENT, "M varies",
              trine_krylov_create(s.ctx, &outer, s.A->op, op, &(trine_krylov_options){.method = TRINE_KRYLOV_GMRES}));
        OK(trine_krylov_destroy(&inner)); /* the operator keeps it */
        OK(trine_krylov_create(s.ctx, &outer, s.A->op, op, &(trine_krylov_options){.max_nrhs = 2, .rtol = 1e-12}));
        OK(trine_op_destroy(&op));
        OK(solve(outer, &B, &X, NULL));
        for (int c = 0; c < 2; c++) {
            assert_true(result_of(outer, c).steps <= 15);
            assert_true((double)true_residual(s.A, s.b + c * N, s.x + c * N) <=
                        1.01e-12 * result_of(outer, c).rhs_norm);
        }
        OK(trine_krylov_destroy(&outer));
        close_scene(&s);
    }
}

/* ----------------------------------------------------------------------- failures */

static void failing_operators_end_the_solve(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++)
        for (int side = 0; side < 2; side++)
            for (int which = 0; which < 2; which++) {
                scene s = open_scene(all_methods[m]);
                const trine_dense B = block(s.b, N, 2), X = block(s.x, N, 2);
                trine_krylov_options o = {.method = all_methods[m], .max_nrhs = 2, .restart = 5, .use_guess = 1};
                if (side && all_methods[m] != TRINE_KRYLOV_FGMRES) o.side = TRINE_SIDE_LEFT;
                trine_krylov k;
                OK(trine_krylov_create(s.ctx, &k, s.A->op, s.M->op, &o));
                dense *failing = which ? s.M : s.A;
                bool has_failed = true;
                for (int call = 1; has_failed; call++) {
                    failing->calls = 0;
                    failing->fail_at = call;
                    for (int i = 0; i < 2 * N; i++) s.x[i] = 0.25;
                    const trine_status status = solve(k, &B, &X, NULL);
                    has_failed = failing->calls >= call;
                    if (has_failed) {
                        assert_int_equal(status, TRINE_ERR_DEVICE);
                        assert_non_null(strstr(trine_last_error(), "operator returned status"));
                    } else assert_int_equal(status, TRINE_SUCCESS);
                    bool any = false;
                    for (int c = 0; c < 2; c++) {
                        const trine_krylov_result r = result_of(k, c);
                        double guess[N];
                        for (int i = 0; i < N; i++) {
                            guess[i] = 0.25;
                            assert_true(isfinite(s.x[i + c * N]));
                        }
                        assert_true(r.outcome == TRINE_OUTCOME_CONVERGED || r.outcome == TRINE_OUTCOME_CALLBACK_FAILED);
                        any = any || r.outcome == TRINE_OUTCOME_CALLBACK_FAILED;
                        const bool is_unknown = !which && call == 1; /* the residual of the guess */
                        assert_true(isnan(r.residual) == is_unknown && isnan(r.first_residual) == is_unknown);
                        /* estimates of MINRES and of what is on the left are in another norm */
                        const long double before = true_residual(s.A, s.b + c * N, guess),
                                          after = true_residual(s.A, s.b + c * N, s.x + c * N);
                        assert_true(after <= before * (side || all_methods[m] == TRINE_KRYLOV_MINRES ? 2 : 1 + 1e-9L));
                    }
                    assert_true(any || !has_failed || status == TRINE_ERR_DEVICE);
                }
                OK(trine_krylov_destroy(&k));
                close_scene(&s);
            }
}

typedef struct {
    int64_t last[2];
    double residual[2];
    int calls, stop_at;
} watched;

static trine_status watch(void *user, int64_t rhs, int64_t step, double residual)
{
    watched *w = user;
    assert_int_equal(step, w->last[rhs] + 1);
    w->last[rhs] = step;
    w->residual[rhs] = residual;
    return ++w->calls == w->stop_at ? trine_fail(TRINE_ERR_IO, "enough") : TRINE_SUCCESS;
}

static void monitors_see_and_stop(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++) {
        scene s = open_scene(all_methods[m]);
        const trine_dense B = block(s.b, N, 2), X = block(s.x, N, 2);
        trine_krylov k;
        OK(trine_krylov_create(
            s.ctx, &k, s.A->op, s.M->op,
            &(trine_krylov_options){.method = all_methods[m], .max_nrhs = 2, .restart = 5, .history = 50}));
        watched w = {.last = {-1, -1}};
        OK(trine_krylov_set_monitor(k, watch, &w));
        OK(solve(k, &B, &X, NULL));
        const int calls = w.calls;
        for (int c = 0; c < 2; c++) {
            assert_int_equal(w.last[c], result_of(k, c).steps);
            assert_true(w.residual[c] <= 1e-5 * result_of(k, c).rhs_norm);
        }
        for (int stop = 1; stop <= calls; stop++) {
            w = (watched){.last = {-1, -1}, .stop_at = stop};
            FAILS(TRINE_ERR_IO, "enough", solve(k, &B, &X, NULL));
            assert_int_equal(w.calls, stop);
            for (int c = 0; c < 2; c++) {
                const trine_krylov_result r = result_of(k, c);
                const long double residual = true_residual(s.A, s.b + c * N, s.x + c * N);
                assert_true(fabsl(residual - r.residual) <= 1e-13L * r.rhs_norm && r.residual <= r.rhs_norm);
                if (stop > 16) assert_true(r.residual < 0.9 * r.rhs_norm); /* what was done is not lost */
            }
        }
        OK(trine_krylov_set_monitor(k, NULL, NULL));
        OK(solve(k, &B, &X, NULL));
        OK(trine_krylov_destroy(&k));
        close_scene(&s);
    }
}

static void what_is_no_number_is_named(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int m = 0; m < METHODS; m++)
        for (int kind = 0; kind < 2; kind++) {
            const double bad = kind ? INFINITY : NAN;
            scene s = open_scene(all_methods[m]);
            const trine_dense B = block(s.b, N, 2), X = block(s.x, N, 2);
            trine_krylov k;
            OK(trine_krylov_create(s.ctx, &k, s.A->op, s.M->op,
                                   &(trine_krylov_options){.method = all_methods[m], .max_nrhs = 2, .rtol = 1e-10}));
            const double kept = s.b[N + 7];
            s.b[N + 7] = bad;
            FAILS(TRINE_ERR_NO_CONVERGENCE, "right-hand side 1: b is not finite in row 7", solve(k, &B, &X, NULL));
            assert_int_equal(result_of(k, 0).outcome, TRINE_OUTCOME_CONVERGED); /* the other one */
            assert_true((double)true_residual(s.A, s.b, s.x) <= 1.01e-10 * result_of(k, 0).rhs_norm);
            assert_true(result_of(k, 1).outcome == TRINE_OUTCOME_NOT_FINITE && result_of(k, 1).row == 7);
            s.b[N + 7] = kept;
            dense *const parts[2] = {s.A, s.M};
            for (int p = 0; p < 2; p++) {
                wide *entry = &parts[p]->A[5 + 5 * N];
                const wide good = *entry;
                *entry = bad;
                assert_int_equal(solve(k, &B, &X, NULL), TRINE_ERR_NO_CONVERGENCE);
                for (int c = 0; c < 2; c++) {
                    assert_int_equal(result_of(k, c).outcome, TRINE_OUTCOME_NOT_FINITE);
                    for (int i = 0; i < N; i++) assert_true(s.x[i + c * N] == 0); /* the best there was */
                }
                *entry = good;
            }
            OK(solve(k, &B, &X, NULL)); /* nothing of it stays */
            OK(trine_krylov_destroy(&k));
            close_scene(&s);
        }
}

/* ------------------------------------------------------------------------ threads */

typedef struct {
    trine_krylov k;
    const double *b;
    double x[N];
    trine_status status;
} task;

static void *solve_often(void *user)
{
    task *t = user;
    trine_work work;
    t->status = trine_krylov_work(t->k, 1, NULL, NULL, &work);
    const trine_dense B = block((double *)t->b, N, 1), X = block(t->x, N, 1);
    for (int i = 0; i < 50 && !t->status; i++) t->status = solve(t->k, &B, &X, &(trine_exec){.work = work});
    trine_work_destroy(&work);
    return NULL;
}

static void threads_have_works_of_their_own(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    if (test_on_gpu()) return;
    enum { THREADS = 4 };
    scene s = open_scene(TRINE_KRYLOV_GMRES);
    trine_op diagonal, M;
    double entries[N], other[N], x[N];
    for (int i = 0; i < N; i++) {
        entries[i] = 1 + i;
        other[i] = 1 / (1.5 + i % 4);
    }
    OK(trine_op_diagonal(s.ctx, &diagonal, TRINE_D, N, entries));
    OK(trine_op_diagonal(s.ctx, &M, TRINE_D, N, other));
    trine_krylov k;
    OK(trine_krylov_create(s.ctx, &k, diagonal, M, &(trine_krylov_options){.rtol = 1e-10}));
    pthread_t threads[THREADS];
    task tasks[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (task){.k = k, .b = s.b + i * N};
        assert_int_equal(pthread_create(&threads[i], NULL, solve_often, &tasks[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(tasks[i].status, TRINE_SUCCESS);
        const trine_dense B = block(s.b + i * N, N, 1), X = block(x, N, 1);
        OK(solve(k, &B, &X, NULL));
        assert_memory_equal(x, tasks[i].x, sizeof x);
    }
    trine_work work;
    OK(trine_krylov_work(k, 1, NULL, NULL, &work));
    assert_true(trine_enter_alone(&work->usage)); /* as a solve in another thread does */
    const trine_dense B = block(s.b, N, 1), X = block(x, N, 1);
    trine_krylov_result r;
    const trine_exec exec = {.work = work};
    FAILS(TRINE_ERR_STATE, "trine_krylov_work", solve(k, &B, &X, &exec));
    FAILS(TRINE_ERR_STATE, "trine_krylov_work", trine_krylov_get_result(k, 0, &r, &exec));
    trine_leave_alone(&work->usage);
    FAILS(TRINE_ERR_STATE, "there was no solve", trine_krylov_get_result(k, 0, &r, &exec));
    OK(trine_work_destroy(&work));

    /* in a caller's buffer, operators and all */
    size_t bytes = 0;
    OK(trine_krylov_work(k, 2, NULL, &bytes, NULL));
    char *memory = malloc(bytes + 512), *buffer = memory + 256 - (uintptr_t)memory % 256;
    memset(buffer, 0xAB, bytes + 256);
    OK(trine_krylov_work(k, 2, buffer, &bytes, &work));
    const trine_dense B2 = block(s.b, N, 2), X2 = block(s.x, N, 2);
    OK(solve(k, &B2, &X2, &(trine_exec){.work = work}));
    for (int i = 0; i < 2; i++) assert_memory_equal(s.x + i * N, tasks[i].x, sizeof x);
    for (size_t i = 0; i < 256; i++) assert_true(buffer[bytes + i] == (char)0xAB);
    OK(trine_krylov_destroy(&k)); /* the work keeps it */
    OK(trine_work_destroy(&work));
    free(memory);
    OK(trine_op_destroy(&diagonal));
    OK(trine_op_destroy(&M));
    close_scene(&s);
}

/** Large enough for several chunks and threads: the same bits for any number of them. */
static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    if (test_on_gpu()) return;
    enum { LARGE = 30011 };
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++) {
            const trine_dtype t = all_dtypes[d];
            const size_t size = trine_dtype_size(t);
            void *entries = random_vector(t, LARGE, 1), *b = random_vector(t, LARGE, 2), *first = malloc(LARGE * size),
                 *second = malloc(LARGE * size);
            for (int64_t i = 0; i < LARGE; i++) put(t, entries, i, 1 + (double)(i % 97) / 40);
            for (int threads = 1; threads <= 3; threads++) {
                trine_context ctx = test_cpu(threads);
                trine_op A;
                trine_krylov k;
                OK(trine_op_diagonal(ctx, &A, t, LARGE, entries));
                OK(trine_krylov_create(ctx, &k, A, NULL,
                                       &(trine_krylov_options){.method = all_methods[m], .rtol = 1e-5}));
                const trine_dense B = block(b, LARGE, 1), X = block(threads == 1 ? first : second, LARGE, 1);
                OK(solve(k, &B, &X, NULL));
                if (threads > 1) assert_memory_equal(first, second, LARGE * size);
                OK(trine_krylov_destroy(&k));
                OK(trine_op_destroy(&A));
            }
            for (int64_t i = 0; i < LARGE; i++)
                assert_true(cabsl(get(t, first, i) * (1 + (double)(i % 97) / 40) - get(t, b, i)) <= 1e-2L);
            free(entries), free(b), free(first), free(second);
        }
}

/* ------------------------------------------------------------------- diagonals */

/** A diagonal M is part of the programs of CG and MINRES, whether it multiplies or, as a preconditioner does, divides:
 *  what they return is what they return with the same M as a caller's function. */
static void diagonals_are_applied_in_programs(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    enum { ROWS = 301, COLUMNS = 3 };
    const trine_krylov_method methods[] = {TRINE_KRYLOV_CG, TRINE_KRYLOV_MINRES};
    for (int run = 0; run < 2 * 4; run++) {
        const trine_dtype t = all_dtypes[run / 2];
        const bool is_single = trine_dtype_is_single(t);
        trine_context ctx = test_context();
        dense *A = new_dense(ctx, t, ROWS, false), *hidden = new_dense(ctx, t, ROWS, false);
        int64_t offsets[ROWS + 1];
        int32_t columns[ROWS];
        const size_t size = trine_dtype_size(t);
        void *inverses = random_vector(t, ROWS, 1), *entries = random_vector(t, ROWS, 1);
        void *b = random_vector(t, ROWS * COLUMNS, 7), *x[3], *on_device = inverses;
        for (int i = 0; i < ROWS; i++) {
            const double scale = 1 + (i * 37) % 101;
            offsets[i] = columns[i] = i;
            put(t, entries, i, scale);
            put(t, inverses, i, 1 / scale);
            set_entry(A, i, i, scale * (1 + (i % 11) / 20.0)); /* with M: eleven eigenvalues */
            set_entry(hidden, i, i, get(t, inverses, i));
        }
        offsets[ROWS] = ROWS;
        trine_matrix D;
        trine_precond precond;
        trine_op M[3];
        OK(trine_matrix_csr(ctx, &D, t, ROWS, ROWS, ROWS, TRINE_HOST, 64, offsets, 32, columns, entries));
        OK(trine_precond_analyse(ctx, &precond, D, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP0}));
        OK(trine_precond_numeric(precond, TRINE_HOST, entries, TRINE_REUSE_NOTHING, NULL));
        if (test_on_gpu()) {
            OK(trine_alloc(ctx, TRINE_DEVICE, ROWS * size, &on_device));
            OK(trine_copy(ctx, on_device, TRINE_DEVICE, inverses, TRINE_HOST, ROWS * size));
        }
        OK(trine_op_diagonal(ctx, &M[0], t, ROWS, on_device));
        OK(trine_precond_as_op(precond, &M[1]));
        M[2] = hidden->op;
        for (int k = 0; k < 3; k++) {
            trine_krylov solver;
            const trine_krylov_options options = {
                .method = methods[run % 2], .max_nrhs = COLUMNS, .rtol = is_single ? 1e-4 : 1e-11};
            x[k] = malloc(ROWS * COLUMNS * size);
            OK(trine_krylov_create(ctx, &solver, A->op, M[k], &options));
            const trine_dense B = block(b, ROWS, COLUMNS), X = block(x[k], ROWS, COLUMNS);
            OK(solve(solver, &B, &X, NULL));
            for (int j = 0; j < COLUMNS; j++) {
                const trine_krylov_result r = result_of(solver, j);
                assert_in_range(r.steps, 2, 14);
            }
            OK(trine_krylov_destroy(&solver));
        }
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            for (int k = 0; k < 2; k++)
                assert_true(cabsl(get(t, x[k], i) - get(t, x[2], i)) <= (is_single ? 1e-3L : 1e-9L));
        for (int k = 0; k < 3; k++) free(x[k]);
        OK(trine_op_destroy(&M[0]));
        OK(trine_op_destroy(&M[1]));
        OK(trine_precond_destroy(&precond));
        OK(trine_matrix_destroy(&D));
        if (test_on_gpu()) trine_free(ctx, TRINE_DEVICE, on_device);
        free(inverses), free(entries), free(b);
        free_dense(A);
        free_dense(hidden);
        OK(trine_context_destroy(&ctx));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_plan_tells_what_it_is),
        cmocka_unit_test(nothing_to_solve),
        cmocka_unit_test(columns_are_frozen),
        cmocka_unit_test(guesses_are_used_where_asked_for),
        cmocka_unit_test(tolerances),
        cmocka_unit_test(histories_tell_what_happened),
        cmocka_unit_test(the_best_iterate_is_kept),
        cmocka_unit_test(preconditioners_take_turns),
        cmocka_unit_test(every_preconditioner_has_its_turn),
        cmocka_unit_test(a_solver_is_an_operator),
        cmocka_unit_test(failing_operators_end_the_solve),
        cmocka_unit_test(monitors_see_and_stop),
        cmocka_unit_test(what_is_no_number_is_named),
        cmocka_unit_test(threads_have_works_of_their_own),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(diagonals_are_applied_in_programs),
    };
    return TEST_MAIN(tests);
}
