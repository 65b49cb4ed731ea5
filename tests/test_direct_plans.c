/* Plans made from factors: what they share, in which order handles go, no memory. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "direct_support.h"

static void handles_may_go_in_any_order(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    double host[9];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=3,ny=3", TRINE_D));
    OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = 1}));
    OK(trine_matrix_destroy(&A)); /* the plan refines with it and keeps it */
    for (int i = 0; i < 9; i++) host[i] = i;
    void *x = test_to_device(ctx, host, sizeof host);
    const trine_dense X = {x, 9, 1, 9, TRINE_COLMAJOR};
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
    test_release(ctx, x);
    OK(trine_context_destroy(&ctx));
    OK(trine_direct_destroy(&plan));
}

static void every_allocation_of_a_plan_may_fail(void **state)
{
    (void)state;
    static const struct {
        trine_direct_method method;
        trine_direct_solver solver;
    } some[] = {{TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_SUPERNODAL},
                {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_GENERAL},
                {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_AUTO},
                {TRINE_DIRECT_LU, TRINE_SOLVER_SUPERNODAL},
                {TRINE_DIRECT_LU_UMFPACK, TRINE_SOLVER_AUTO},
                {TRINE_DIRECT_LU_KLU, TRINE_SOLVER_AUTO},
                {TRINE_DIRECT_LDL, TRINE_SOLVER_AUTO}};
    for EACH(m, some) {
        int general = 0; /* plans made without the panels that they had no memory for */
        for (int k = 1;; k++) {
            trine_context ctx;
            test_memory memory = {0};
            OK(trine_context_create(&ctx, "cpu"));
            test_fail_allocations(ctx, &memory);
            /* so dense that AUTO takes panels */
            trine_matrix A = random_matrix(ctx, TRINE_C, 12, 9, is_hermitian(some[m].method), 5);
            float complex x[12] = {1};
            const trine_dense X = {x, 12, 1, 12, TRINE_COLMAJOR};
            memory.fail_at = memory.calls + k;
            trine_direct plan;
            trine_status status = trine_direct_create(ctx, &plan, A,
                                                      &(trine_direct_options){.factor.method = some[m].method,
                                                                              .solver = some[m].solver,
                                                                              .ops = TRINE_N | TRINE_T | TRINE_H,
                                                                              .refine = 1});
            if (status) assert_null(plan);
            trine_direct_info created = {0}, info = {0};
            if (!status) OK(trine_direct_get_info(plan, &created));
            if (!status) status = trine_direct_update(plan, A);
            const int64_t before = memory.calls;
            if (!status) status = trine_direct_solve(plan, TRINE_T, &X, &X, NULL);
            assert_int_equal(memory.calls, before); /* a solve allocates nothing */
            const bool failed = memory.calls >= memory.fail_at;
            if (!status) OK(trine_direct_get_info(plan, &info));
            if (failed && !status) { /* AUTO goes on with the general solve until the next update, and says why */
                assert_int_equal(some[m].solver, TRINE_SOLVER_AUTO);
                assert_true(created.solver == TRINE_SOLVER_GENERAL || info.solver == TRINE_SOLVER_GENERAL);
                if (info.solver == TRINE_SOLVER_GENERAL) assert_non_null(strstr(info.reason, "memory"));
                general++;
            } else {
                assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
            }
            OK(trine_direct_destroy(&plan));
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
            assert_int_equal(memory.live, 0);
            if (!failed) break;
        }
        assert_int_equal(general > 0, some[m].solver == TRINE_SOLVER_AUTO && some[m].method == TRINE_DIRECT_CHOLESKY);
    }
}

static void general_and_supernodal_plans_share_a_factor(void **state)
{
    (void)state;
    enum { n = 70 };
    static const trine_direct_method some[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_LU};
    trine_context ctx = test_context();
    for EACH(m, some)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 4, is_hermitian(some[m]), 31 + t);
            trine_factor F;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = some[m]}));
            char x[n * 3 * 16], b[n * 3 * 16];
            for (int solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_GENERAL; solver++) {
                trine_direct plan;
                trine_direct_info info;
                OK(trine_direct_create_from_factor(ctx, &plan, F, A,
                                                   &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H,
                                                                           .triangular.max_nrhs = 3,
                                                                           .solver = (trine_direct_solver)solver}));
                OK(trine_direct_get_info(plan, &info));
                if (solver != TRINE_SOLVER_AUTO) assert_int_equal(info.solver, solver);
                assert_non_null(strstr(info.reason, solver == TRINE_SOLVER_AUTO ? "panels" : "asked for"));
                for EACH(o, ops) {
                    solve(ctx, plan, all_dtypes[t], ops[o], n, 3, layouts[o % 2], o == 1, b, x);
                    assert_true(backward_error(A, ops[o], 3, x, b) < 10);
                    assert_like_lapack(A, all_dtypes[t], ops[o], n, 3, x, b);
                }
                OK(trine_direct_destroy(&plan));
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** Panels large enough for several threads at once, subtrees for each of them, and all that may be done to a panel. */
static void large_factors_are_solved_with_every_inversion(void **state)
{
    (void)state;
    static const struct {
        trine_direct_method method;
        const char *matrix;
    } some[] = {{TRINE_DIRECT_CHOLESKY, "elasticity3d:n=11"}, {TRINE_DIRECT_LU, "convection3d:n=18"}};
    static const trine_supernodal_invert inverts[] = {TRINE_INVERT_NONE, TRINE_INVERT_DIAG, TRINE_INVERT_OFF};
    trine_context ctx;
    OK(trine_context_create(&ctx, test_on_gpu() ? "cuda" : "cpu:3"));
    for EACH(m, some)
        for EACH(t, all_dtypes) {
            trine_matrix A, B;
            trine_matrix_info info;
            trine_factor F;
            OK(trine_matrix_gallery(ctx, &A, some[m].matrix, TRINE_D));
            B = with_phases(A, all_dtypes[t], is_cholesky(some[m].method));
            OK(trine_matrix_get_info(B, &info));
            OK(trine_factor_create(ctx, &F, B, &(trine_factor_options){.method = some[m].method}));
            const int64_t n = info.n_rows;
            char *x = malloc((size_t)n * 3 * 16), *b = malloc((size_t)n * 3 * 16);
            for EACH(i, inverts) {
                trine_direct plan;
                trine_direct_info made;
                OK(trine_direct_create_from_factor(ctx, &plan, F, B,
                                                   &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H,
                                                                           .triangular.max_nrhs = 3,
                                                                           .solver = TRINE_SOLVER_SUPERNODAL,
                                                                           .supernodal.invert = inverts[i]}));
                OK(trine_direct_get_info(plan, &made));
                assert_int_equal(made.lower_panels.invert, inverts[i]);
                for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
                    const trine_transpose op = ops[(t + i + (size_t)nrhs) % 3];
                    solve(ctx, plan, all_dtypes[t], op, n, nrhs, layouts[t % 2], i == 1, b, x);
                    assert_true(backward_error(B, op, nrhs, x, b) < 10);
                }
                OK(trine_direct_destroy(&plan));
            }
            free(x);
            free(b);
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

/** A matrix of a context on the host and a plan of the tests' device; on a CPU it shows in whose memory the plan
 *  keeps what refinement needs. */
static void a_plan_refines_with_a_matrix_of_another_context(void **state)
{
    (void)state;
    trine_context ctx = test_context(), other;
    test_memory memory = {0};
    OK(trine_context_create(&other, "cpu:1"));
    test_fail_allocations(other, &memory);
    for EACH(t, all_dtypes)
        for EACH(m, methods) {
            enum { N = 60 };
            trine_matrix A = random_matrix(other, all_dtypes[t], N, 4, is_hermitian(methods[m]), 77 + m), turned;
            OK(trine_matrix_copy(A, &turned, TRINE_HOST, TRINE_CSC, all_dtypes[t]));
            char b[N * 16], x[N * 16];
            int64_t live[2]; /* by steps of refinement */
            for (int refine = 0; refine < 2; refine++) {
                trine_direct plan;
                const int64_t before = memory.live;
                OK(trine_direct_create(ctx, &plan, m % 2 ? A : turned,
                                       &(trine_direct_options){.factor.method = methods[m],
                                                               .ops = TRINE_N | TRINE_T | TRINE_H,
                                                               .refine = refine}));
                live[refine] = memory.live - before;
                for EACH(o, ops) {
                    solve(ctx, plan, all_dtypes[t], ops[o], N, 1, TRINE_COLMAJOR, false, b, x);
                    assert_true(!refine || backward_error(A, ops[o], 1, x, b) < 10);
                }
                OK(trine_direct_destroy(&plan));
            }
            assert_int_equal(live[0], live[1]);
            OK(trine_matrix_destroy(&turned));
            OK(trine_matrix_destroy(&A));
        }
    OK(trine_context_destroy(&other));
    OK(trine_context_destroy(&ctx));
    assert_int_equal(memory.live, 0);
}

static void wrong_arguments_of_a_plan_for_a_factor_are_named(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, small, complex_A, pattern;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    trine_factor F, simplicial;
    trine_direct plan;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=4,ny=4", TRINE_D));
    OK(trine_matrix_gallery(ctx, &complex_A, "laplace2d:nx=4,ny=4", TRINE_Z));
    OK(trine_matrix_gallery(ctx, &small, "laplace2d:nx=3,ny=4", TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, NULL));
    OK(trine_matrix_csr(ctx, &pattern, TRINE_D, info.n_rows, info.n_cols, info.nnz, TRINE_HOST, 64, offsets, 32,
                        columns, NULL));
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_create(ctx, &simplicial, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY_SIMPLICIAL}));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_create_from_factor(ctx, NULL, F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_direct_create_from_factor(NULL, &plan, F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_direct_create_from_factor(ctx, &plan, NULL, A, NULL));
    OK(trine_direct_create_from_factor(ctx, &plan, F, NULL, &(trine_direct_options){.refine = 1})); /* F's own A */
    OK(trine_direct_destroy(&plan));
    FAILS(TRINE_ERR_ARGUMENT, "12 x 12", trine_direct_create_from_factor(ctx, &plan, F, small, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "complex", trine_direct_create_from_factor(ctx, &plan, F, complex_A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "without values",
          trine_direct_create_from_factor(ctx, &plan, F, pattern, &(trine_direct_options){.refine = 1}));
    FAILS(TRINE_ERR_ARGUMENT, "no solver 4",
          trine_direct_create_from_factor(ctx, &plan, F, A, &(trine_direct_options){.solver = (trine_direct_solver)4}));
    FAILS(TRINE_ERR_UNSUPPORTED, "no supernodal panels",
          trine_direct_create_from_factor(ctx, &plan, simplicial, A,
                                          &(trine_direct_options){.solver = TRINE_SOLVER_SUPERNODAL}));
    static const int64_t absurd[] = {INT64_MAX, INT64_MAX / 2, INT64_MAX / 128 - 1, INT64_C(1) << 55};
    for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++)
        for (trine_direct_solver solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_GENERAL; solver++)
            for (int refine = 0; refine <= 1; refine++) {
                const trine_direct_options options = {
                    .solver = solver, .refine = refine, .triangular.max_nrhs = absurd[k]};
                FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                      trine_direct_create_from_factor(ctx, &plan, F, A, &options));
                FAILS(TRINE_ERR_MEMORY, "more than any memory has", trine_direct_create(ctx, &plan, A, &options));
            }
    assert_null(plan);
    OK(trine_factor_destroy(&F));
    OK(trine_factor_destroy(&simplicial));
    trine_matrix_destroy(&pattern);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&complex_A);
    trine_matrix_destroy(&small);
    OK(trine_context_destroy(&ctx));
}

/* -------------------------------------------------- several threads on one plan */

enum { THREADS = 4, ROWS = 60 * 60, ROUNDS = 60 };
struct contest {
    trine_context ctx;
    trine_direct plan;
    trine_matrix A;
    const double *exact;
    int right, refused;
    const char *failed;
};
#define NEED(condition) do { if (!(condition)) { c->failed = #condition; goto done; } } while (0)

static void *solve_in_a_thread(void *argument)
{
    struct contest *c = argument;
    trine_context_info info;
    double *x = malloc(ROWS * sizeof *x);
    void *at = NULL;
    trine_direct_info plan;
    NEED(!trine_context_get_info(c->ctx, &info) && !trine_alloc(c->ctx, info.space, ROWS * sizeof *x, &at));
    const trine_dense X = {at, ROWS, 1, ROWS, TRINE_COLMAJOR};
    for (int round = 0; round < ROUNDS || (!c->right && round < 1000000); round++) { /* the others may be quicker */
        for (int i = 0; i < ROWS; i++) x[i] = 1 + i % 7;
        NEED(!trine_copy(c->ctx, at, info.space, x, TRINE_HOST, ROWS * sizeof *x));
        const trine_status status = trine_direct_solve(c->plan, TRINE_N, &X, &X, NULL);
        if (status) {
            NEED(status == TRINE_ERR_STATE &&
                 (strstr(trine_last_error(), "trine_direct_work") || strstr(trine_last_error(), "new values")));
            c->refused++;
            sched_yield();
            continue;
        }
        NEED(!trine_copy(c->ctx, x, TRINE_HOST, at, info.space, ROWS * sizeof *x));
        for (int i = 0; i < ROWS; i++) NEED(fabs(x[i] - c->exact[i]) <= 1e-11 * fabs(c->exact[i]));
        c->right++;
        const trine_status asked = trine_direct_get_info(c->plan, &plan);
        NEED(!asked || (asked == TRINE_ERR_STATE && strstr(trine_last_error(), "new values")));
    }
done:
    if (at) trine_free(c->ctx, info.space, at);
    free(x);
    return NULL;
}

/** New values, the same ones, beside the solves. */
static void *update_in_a_thread(void *argument)
{
    struct contest *c = argument;
    for (int round = 0; round < ROUNDS / 4; round++) {
        const trine_status status = trine_direct_update(c->plan, c->A);
        NEED(!status || (status == TRINE_ERR_STATE && strstr(trine_last_error(), "in use by another thread")));
    }
done:
    return NULL;
}

static void solves_in_several_threads_are_right_or_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    static double exact[ROWS];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=60,ny=60", TRINE_D));
    for (int solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++)
        for (int refine = 0; refine < 2; refine++) {
            struct contest contests[THREADS + 1];
            pthread_t threads[THREADS + 1];
            trine_direct plan;
            OK(trine_direct_create(ctx, &plan, A,
                                   &(trine_direct_options){.solver = (trine_direct_solver)solver, .refine = refine}));
            for (int i = 0; i < ROWS; i++) exact[i] = 1 + i % 7;
            void *x = test_to_device(ctx, exact, sizeof exact);
            const trine_dense X = {x, ROWS, 1, ROWS, TRINE_COLMAJOR};
            OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
            test_from_device(ctx, exact, x, sizeof exact);
            for (int i = 0; i <= THREADS; i++) {
                contests[i] = (struct contest){.ctx = ctx, .plan = plan, .A = A, .exact = exact};
                assert_int_equal(pthread_create(&threads[i], NULL, i < THREADS ? solve_in_a_thread : update_in_a_thread,
                                                &contests[i]),
                                 0);
            }
            int right = 0, refused = 0;
            for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
            for (int i = 0; i <= THREADS; i++) {
                if (contests[i].failed)
                    fail_msg("thread %d, solver %d, refine %d: not %s", i, solver, refine, contests[i].failed);
                right += contests[i].right;
                refused += contests[i].refused;
            }
            assert_true(right > 0);
            print_message("%d solves, %d refused\n", right, refused);
            OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL)); /* nothing is left behind */
            test_release(ctx, x);
            OK(trine_direct_destroy(&plan));
        }
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/** Uses of a plan from within its update, which tells of its progress in the log: always beside it, whatever the
 *  threads do. */
struct beside {
    trine_direct plan;
    trine_matrix A;
    int messages;
    bool destroys;
    trine_status solve, update, info;
};
static void use_beside(void *user, int level, const char *message)
{
    struct beside *b = user;
    trine_direct_info info;
    (void)level, (void)message;
    if (!b->plan) return;
    double x[9] = {0};
    const trine_dense X = {x, 9, 1, 9, TRINE_COLMAJOR};
    b->messages++;
    b->solve = trine_direct_solve(b->plan, TRINE_N, &X, &X, NULL); /* refused before it looks at X */
    b->update = trine_direct_update(b->plan, b->A);
    b->info = trine_direct_get_info(b->plan, &info);
    if (b->destroys) trine_direct_destroy(&b->plan);
}

static void a_plan_that_is_updated_is_not_used_and_may_be_destroyed(void **state)
{
    (void)state;
    struct beside b = {0};
    trine_context ctx = test_context();
    OK(trine_context_set_log(ctx, use_beside, &b, 2));
    OK(trine_matrix_gallery(ctx, &b.A, "laplace2d:nx=3,ny=3", TRINE_D));
    for (int destroys = 0; destroys < 2; destroys++) {
        trine_direct plan;
        OK(trine_direct_create(ctx, &plan, b.A, NULL));
        b.plan = plan;
        b.destroys = destroys;
        b.messages = 0;
        OK(trine_direct_update(plan, b.A));
        assert_true(b.messages > 0);
        assert_int_equal(b.solve, TRINE_ERR_STATE);
        assert_int_equal(b.update, TRINE_ERR_STATE);
        assert_int_equal(b.info, TRINE_ERR_STATE);
        if (!destroys) {
            b.plan = NULL;
            trine_direct_info info;
            OK(trine_direct_get_info(plan, &info));
            OK(trine_direct_destroy(&plan));
        }
    }
    OK(trine_matrix_destroy(&b.A));
    OK(trine_context_destroy(&ctx));
}

/** The grid's Laplacian in `side` x `side` points, or that with convection, or with signs on the diagonal. */
static trine_matrix grid(trine_context ctx, int side, trine_direct_method method, double scale)
{
    struct entry *entries = malloc((size_t)(5 * side * side) * sizeof *entries);
    const double east = is_hermitian(method) ? -1 : -1.3;
    int count = 0;
    for (int i = 0; i < side * side; i++) {
        const int x = i % side, y = i / side;
        const double sign = method == TRINE_DIRECT_LDL && i % 3 == 0 ? -1 : 1;
        if (y > 0) entries[count++] = (struct entry){i, i - side, -scale};
        if (x > 0) entries[count++] = (struct entry){i, i - 1, -scale};
        entries[count++] = (struct entry){i, i, sign * scale * (4.5 + 0.1 * (i % 7))};
        if (x < side - 1) entries[count++] = (struct entry){i, i + 1, east * scale};
        if (y < side - 1) entries[count++] = (struct entry){i, i + side, -scale};
    }
    trine_matrix A = matrix_of(ctx, (int64_t)side * side, count, entries);
    free(entries);
    return A;
}

/** A plan takes over the memory of a factor that it has made itself, and frees what it has copied on the way; of one
 *  that is the caller's it copies. Their solves are the same bits, after new values too. */
static void plans_that_take_memory_over_solve_alike(void **state)
{
    (void)state;
    enum { SIDE = 90, N = SIDE * SIDE };
    static const struct {
        trine_direct_method method;
        trine_direct_solver solver;
        trine_triangular_method triangular;
    } some[] = {{TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_SUPERNODAL, TRINE_TRI_AUTO},
                {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_GENERAL, TRINE_TRI_AUTO},
                {TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_SOLVER_AUTO, TRINE_TRI_SERIAL},
                {TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_SOLVER_AUTO, TRINE_TRI_LEVELSET},
                {TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_SOLVER_AUTO, TRINE_TRI_PARTITIONED_INVERSE},
                {TRINE_DIRECT_LDL, TRINE_SOLVER_AUTO, TRINE_TRI_SERIAL},
                {TRINE_DIRECT_LU_UMFPACK, TRINE_SOLVER_AUTO, TRINE_TRI_SERIAL},
                {TRINE_DIRECT_LU_KLU, TRINE_SOLVER_AUTO, TRINE_TRI_SERIAL},
                {TRINE_DIRECT_LU, TRINE_SOLVER_SUPERNODAL, TRINE_TRI_AUTO}};
    double *b = malloc(N * sizeof *b), *x[2] = {malloc(N * sizeof **x), malloc(N * sizeof **x)};
    for (int i = 0; i < N; i++) b[i] = test_uniform(3, (uint64_t)i);
    for (int threads = 1; threads <= 2; threads++)
        for EACH(k, some) {
            trine_context ctx;
            OK(trine_context_create(&ctx, threads == 1 ? "cpu:1" : "cpu:2"));
            trine_matrix A = grid(ctx, SIDE, some[k].method, 1), other = grid(ctx, SIDE, some[k].method, 3);
            const trine_direct_options options = {.factor.method = some[k].method,
                                                  .ops = TRINE_N | TRINE_T,
                                                  .refine = 1,
                                                  .solver = some[k].solver,
                                                  .triangular.method = some[k].triangular};
            trine_factor F;
            trine_direct plans[2];
            OK(trine_factor_create(ctx, &F, A, &options.factor));
            OK(trine_direct_create_from_factor(ctx, &plans[0], F, A, &options));
            OK(trine_direct_create(ctx, &plans[1], A, &options));
            for (int update = 0; update < 3; update++) {
                for (int p = 0; p < 2 && update; p++) OK(trine_direct_update(plans[p], update == 1 ? other : A));
                for (trine_transpose op = TRINE_N; op <= TRINE_T; op = (trine_transpose)(2 * op)) {
                    for (int p = 0; p < 2; p++) {
                        const trine_dense B = {b, N, 1, N, TRINE_COLMAJOR}, X = {x[p], N, 1, N, TRINE_COLMAJOR};
                        OK(trine_direct_solve(plans[p], op, &B, &X, NULL));
                    }
                    assert_memory_equal(x[0], x[1], N * sizeof **x);
                    assert_true(backward_error(update == 1 ? other : A, op, 1, x[1], b) < 10);
                }
            }
            for (int p = 0; p < 2; p++) OK(trine_direct_destroy(&plans[p]));
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&other);
            OK(trine_context_destroy(&ctx));
        }
    free(b);
    free(x[0]);
    free(x[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_may_go_in_any_order),
        cmocka_unit_test(every_allocation_of_a_plan_may_fail),
        cmocka_unit_test(general_and_supernodal_plans_share_a_factor),
        cmocka_unit_test(large_factors_are_solved_with_every_inversion),
        cmocka_unit_test(a_plan_refines_with_a_matrix_of_another_context),
        cmocka_unit_test(wrong_arguments_of_a_plan_for_a_factor_are_named),
        cmocka_unit_test(solves_in_several_threads_are_right_or_refused),
        cmocka_unit_test(a_plan_that_is_updated_is_not_used_and_may_be_destroyed),
        cmocka_unit_test(plans_that_take_memory_over_solve_alike),
    };
    return TEST_MAIN(tests);
}
