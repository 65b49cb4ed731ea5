/* Works of direct plans while the plan is given new values: those show through, whatever becomes of the structure. */
#include <stdlib.h>

#include "direct_support.h"

enum { N = 70 };

/** A work in use, made or ended from within an update, which tells of its progress in the log: always beside it. */
struct beside {
    trine_direct plan;
    trine_work first, second;
    int messages;
    trine_status solve, work, destroy;
};
static void use_beside(void *user, int level, const char *message)
{
    struct beside *b = user;
    trine_work more;
    (void)level, (void)message;
    if (!b->plan) return;
    const trine_dense X = {(double[9]){0}, 9, 1, 9, TRINE_COLMAJOR};
    b->messages++;
    /* refused before it looks at X */
    b->solve = trine_direct_solve(b->plan, TRINE_N, &X, &X, &(trine_exec){.work = b->first});
    b->work = trine_direct_work(b->plan, 1, NULL, NULL, &more);
    b->destroy = trine_work_destroy(&b->second);
}

static void a_work_beside_an_update_is_refused_but_may_be_destroyed(void **state)
{
    (void)state;
    struct beside b = {0};
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    OK(trine_context_set_log(ctx, use_beside, &b, 2));
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=3,ny=3", TRINE_D));
    OK(trine_direct_create(ctx, &plan, A, NULL));
    OK(trine_direct_work(plan, 1, NULL, NULL, &b.first));
    OK(trine_direct_work(plan, 1, NULL, NULL, &b.second));
    b.plan = plan;
    OK(trine_direct_update(plan, A));
    b.plan = NULL;
    assert_true(b.messages > 0);
    assert_int_equal(b.solve, TRINE_ERR_STATE);
    assert_int_equal(b.work, TRINE_ERR_STATE);
    assert_int_equal(b.destroy, TRINE_SUCCESS);
    assert_null(b.second);
    OK(trine_work_destroy(&b.first));
    OK(trine_direct_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- new values */

/** The first `count` works solve with what the plan has now. */
static void assert_works(trine_context ctx, trine_direct plan, trine_matrix A, trine_dtype t, int64_t n,
                         const trine_work *works, int count)
{
    char *b = malloc((size_t)n * 2 * 16), *x = malloc((size_t)n * 2 * 16), *exact = malloc((size_t)n * 2 * 16);
    for EACH(o, ops) {
        solve(ctx, plan, t, ops[o], n, 2, layouts[o % 2], false, b, exact);
        assert_true(backward_error(A, ops[o], 2, exact, b) < 10);
        for (int w = 0; w < count; w++) {
            solve_with(ctx, plan, t, ops[o], n, 2, layouts[o % 2], w == 1, b, x, &(trine_exec){.work = works[w]});
            assert_memory_equal(x, exact, (size_t)n * 2 * trine_dtype_size(t));
        }
    }
    free(b);
    free(x);
    free(exact);
}

static void new_values_show_through(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for (trine_direct_solver solver = has_panels(methods[m]) ? TRINE_SOLVER_SUPERNODAL : TRINE_SOLVER_GENERAL;
                 solver <= TRINE_SOLVER_GENERAL; solver++) {
                trine_matrix A = random_matrix(ctx, all_dtypes[t], N, 4, is_hermitian(methods[m]), 17 + t),
                             B = rescaled(ctx, A, 3);
                const trine_direct_options options = options_of(methods[m], solver, 1, 2);
                trine_direct plan;
                void *room[2];
                OK(trine_direct_create(ctx, &plan, A, &options));
                trine_work works[2] = {make_work(ctx, plan, 2, false, 0, &room[0]),
                                       make_work(ctx, plan, 2, true, 1 << 16, &room[1])};
                assert_works(ctx, plan, A, all_dtypes[t], N, works, 2);
                OK(trine_direct_update(plan, B));
                assert_works(ctx, plan, B, all_dtypes[t], N, works, 2);
                for (int w = 0; w < 2; w++) end_work(ctx, &works[w], room[w]);
                OK(trine_direct_destroy(&plan));
                OK(trine_matrix_destroy(&B));
                OK(trine_matrix_destroy(&A));
            }
    OK(trine_context_destroy(&ctx));
}

/** Factors of one order whose structures, methods and solvers differ, one after another in one plan. */
static void works_follow_the_structure(void **state)
{
    (void)state;
    enum { ROWS = 400, FACTORS = 4 };
    static const struct {
        trine_direct_method method;
        const char *matrix;
    } some[FACTORS] = {{TRINE_DIRECT_LU, "tridiag:n=400,a=-1,b=4,c=-2"},
                       {TRINE_DIRECT_LU, "laplace2d:nx=20,ny=20"},
                       {TRINE_DIRECT_CHOLESKY, "laplace2d:nx=20,ny=20"},
                       {TRINE_DIRECT_LU_UMFPACK, "laplace2d:nx=20,ny=20"}};
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for (trine_direct_solver solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_GENERAL; solver++) {
            const trine_dtype type = all_dtypes[t];
            const int count = solver == TRINE_SOLVER_SUPERNODAL ? FACTORS - 1 : FACTORS; /* UMFPACK's has no panels */
            trine_matrix A[FACTORS];
            trine_factor F[FACTORS];
            size_t bytes[FACTORS];
            bool refused = false;
            trine_direct plan;
            void *room[3];
            const trine_direct_options options = options_of(TRINE_DIRECT_AUTO, solver, (int)t % 2, 2);
            for (int f = 0; f < count; f++) {
                OK(trine_matrix_gallery(ctx, &A[f], some[f].matrix, type));
                OK(trine_factor_create(ctx, &F[f], A[f], &(trine_factor_options){.method = some[f].method}));
            }
            OK(trine_direct_create_from_factor(ctx, &plan, F[0], A[0], &options));
            trine_work works[3] = {make_work(ctx, plan, 2, false, 0, &room[0]),
                                   make_work(ctx, plan, 2, true, 1 << 22, &room[1]),
                                   make_work(ctx, plan, 2, true, 0, &room[2])};
            for (int round = 0; round < 3 * FACTORS; round++) {
                const int f = (round % 3 + round / 3) % count; /* each after each other */
                OK(trine_direct_replace_factor(plan, F[f], A[f]));
                OK(trine_direct_work(plan, 2, NULL, &bytes[f], NULL));
                const bool fits = !round || bytes[f] <= bytes[0]; /* round 0 is factor 0 */
                assert_works(ctx, plan, A[f], type, ROWS, works, fits ? 3 : 2);
                const trine_dense X = {NULL, ROWS, 0, ROWS, TRINE_COLMAJOR};
                refused = refused || !fits;
                if (!fits)
                    FAILS(TRINE_ERR_STATE, "its buffer has",
                          trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = works[2]}));
            }
            /* else nothing was seen of buffers too small */
            assert_true(refused || solver == TRINE_SOLVER_GENERAL || test_on_gpu());
            for (int w = 0; w < 3; w++) end_work(ctx, &works[w], room[w]);
            OK(trine_direct_destroy(&plan));
            for (int f = 0; f < count; f++) {
                OK(trine_factor_destroy(&F[f]));
                OK(trine_matrix_destroy(&A[f]));
            }
        }
    OK(trine_context_destroy(&ctx));
}

static void works_wait_for_an_update_that_succeeds(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, zero;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    OK(trine_matrix_gallery(ctx, &A, "convection3d:n=4", TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, NULL));
    double *values = calloc((size_t)info.nnz, sizeof *values);
    OK(trine_matrix_csr(ctx, &zero, TRINE_D, info.n_rows, info.n_cols, info.nnz, TRINE_HOST, 64, offsets, 32, columns,
                        values));
    for (trine_direct_solver solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++) {
        trine_direct plan;
        trine_work work, more;
        size_t bytes;
        const trine_direct_options options = options_of(TRINE_DIRECT_LU, solver, 0, 2);
        OK(trine_direct_create(ctx, &plan, A, &options));
        OK(trine_direct_work(plan, 2, NULL, NULL, &work));
        FAILS(TRINE_ERR_SINGULAR, NULL, trine_direct_update(plan, zero));
        const trine_dense X = {NULL, info.n_rows, 0, info.n_rows, TRINE_COLMAJOR};
        FAILS(TRINE_ERR_STATE, "no factor", trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = work}));
        FAILS(TRINE_ERR_STATE, "no factor", trine_direct_work(plan, 2, NULL, &bytes, NULL));
        FAILS(TRINE_ERR_STATE, "no factor", trine_direct_work(plan, 2, NULL, NULL, &more));
        OK(trine_direct_update(plan, A));
        assert_works(ctx, plan, A, TRINE_D, info.n_rows, &work, 1);
        OK(trine_direct_destroy(&plan));
        OK(trine_work_destroy(&work));
    }
    free(values);
    OK(trine_matrix_destroy(&zero));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------- memory */

/** The k-th allocation of an update that changes the structure, for every k: the works solve again after one that
 *  succeeds. */
static void every_allocation_of_an_update_with_works_may_fail(void **state)
{
    (void)state;
    if (test_on_gpu()) skip(); /* the allocations are the host's */
    static const struct {
        trine_direct_method method;
        const char *matrix;
    } some[2] = {{TRINE_DIRECT_LU, "laplace2d:nx=5,ny=4"}, {TRINE_DIRECT_CHOLESKY, "tridiag:n=20,a=-1,b=4,c=-1"}};
    for (trine_direct_solver solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++)
        for (int k = 1, failed = 1; failed; k++) {
            trine_context ctx = test_context();
            test_memory memory = {0};
            test_fail_allocations(ctx, &memory);
            trine_matrix A[2];
            trine_factor F[2];
            trine_direct plan;
            void *room[2];
            for (int f = 0; f < 2; f++) {
                OK(trine_matrix_gallery(ctx, &A[f], some[f].matrix, TRINE_C));
                OK(trine_factor_create(ctx, &F[f], A[f], &(trine_factor_options){.method = some[f].method}));
            }
            const trine_direct_options options = options_of(TRINE_DIRECT_AUTO, solver, 1, 2);
            OK(trine_direct_create_from_factor(ctx, &plan, F[1], A[1], &options));
            trine_work works[2] = {make_work(ctx, plan, 2, true, 1 << 16, &room[0]),
                                   make_work(ctx, plan, 2, false, 0, &room[1])};
            memory.fail_at = memory.calls + k;
            const trine_status status = trine_direct_replace_factor(plan, F[0], A[0]);
            failed = memory.calls >= memory.fail_at;
            memory.fail_at = 0;
            assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
            const trine_dense X = {NULL, 20, 0, 20, TRINE_COLMAJOR};
            for (int w = 0; w < 2 && failed; w++)
                FAILS(TRINE_ERR_STATE, "no factor",
                      trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = works[w]}));
            if (failed) OK(trine_direct_replace_factor(plan, F[k % 2], A[k % 2]));
            assert_works(ctx, plan, A[failed ? k % 2 : 0], TRINE_C, 20, works, 2);
            for (int f = 0; f < 2; f++) {
                OK(trine_factor_destroy(&F[f]));
                OK(trine_matrix_destroy(&A[f]));
            }
            OK(trine_direct_destroy(&plan));
            for (int w = 0; w < 2; w++) end_work(ctx, &works[w], room[w]);
            assert_true(failed || k > 4); /* the new works' allocations were among them */
            OK(trine_context_destroy(&ctx));
            assert_int_equal(memory.live, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_work_beside_an_update_is_refused_but_may_be_destroyed),
        cmocka_unit_test(new_values_show_through),
        cmocka_unit_test(works_follow_the_structure),
        cmocka_unit_test(works_wait_for_an_update_that_succeeds),
        cmocka_unit_test(every_allocation_of_an_update_with_works_may_fail),
    };
    return TEST_MAIN(tests);
}
