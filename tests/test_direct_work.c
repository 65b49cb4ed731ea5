/* Works of direct plans: what they compute, what is refused, how long they keep what. */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "direct_support.h"

enum { N = 70 };

static void a_work_gives_the_bits_of_the_plans_own(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for (trine_direct_solver solver = has_panels(methods[m]) ? TRINE_SOLVER_SUPERNODAL : TRINE_SOLVER_GENERAL;
                 solver <= TRINE_SOLVER_GENERAL; solver++)
                for (int refine = 0; refine < 2; refine++) {
                    const trine_dtype type = all_dtypes[t];
                    trine_matrix A = random_matrix(ctx, type, N, 4, is_hermitian(methods[m]), 31 + t);
                    const trine_direct_options options = options_of(methods[m], solver, refine, 3);
                    trine_direct plan;
                    void *room[3];
                    OK(trine_direct_create(ctx, &plan, A, &options));
                    trine_work works[3] = {make_work(ctx, plan, 3, false, 0, &room[0]),
                                           make_work(ctx, plan, 3, true, 0, &room[1]),
                                           make_work(ctx, plan, 8, true, 0, &room[2])};
                    char b[N * 8 * 16], x[N * 8 * 16], exact[N * 8 * 16];
                    for EACH(o, ops)
                        for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
                            const trine_layout layout = layouts[(o + (size_t)nrhs / 2) % 2];
                            solve(ctx, plan, type, ops[o], N, nrhs, layout, false, b, exact);
                            for EACH(w, works) {
                                solve_with(ctx, plan, type, ops[o], N, nrhs, layout, w == 1, b, x,
                                           &(trine_exec){.work = works[w]});
                                assert_memory_equal(x, exact, (size_t)(N * nrhs) * trine_dtype_size(type));
                            }
                        }
                    /* more than max_nrhs */
                    solve_with(ctx, plan, type, ops[t % 3], N, 8, layouts[m % 2], false, b, x,
                               &(trine_exec){.work = works[2]});
                    assert_true((is_relaxed(methods[m]) && !refine) || backward_error(A, ops[t % 3], 8, x, b) < 10);
                    for EACH(w, works) end_work(ctx, &works[w], room[w]);
                    OK(trine_direct_destroy(&plan));
                    OK(trine_matrix_destroy(&A));
                }
    OK(trine_context_destroy(&ctx));
}

/** What lies before and behind a caller's buffer. */
static void a_buffer_is_not_left(void **state)
{
    (void)state;
    enum { FENCE = 512, NRHS = 3 };
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for (trine_direct_solver solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], N, 4, false, 9);
            trine_direct_options options = options_of(TRINE_DIRECT_LU, solver, 1, 1);
            options.supernodal.single = all_dtypes[t] == TRINE_Z; /* room for what is converted */
            trine_direct plan;
            trine_work work;
            size_t bytes;
            char b[N * NRHS * 16], x[N * NRHS * 16];
            OK(trine_direct_create(ctx, &plan, A, &options));
            OK(trine_direct_work(plan, NRHS, NULL, &bytes, NULL));
            unsigned char *host = malloc(bytes + 2 * FENCE);
            memset(host, 0x5A, bytes + 2 * FENCE);
            char *room = test_to_device(ctx, host, bytes + 2 * FENCE), *buffer = room + (FENCE - (uintptr_t)room % 256);
            OK(trine_direct_work(plan, NRHS, buffer, &bytes, &work));
            for EACH(o, ops)
                solve_with(ctx, plan, all_dtypes[t], ops[o], N, NRHS, layouts[o % 2], false, b, x,
                           &(trine_exec){.work = work});
            OK(trine_work_destroy(&work));
            test_from_device(ctx, host, room, bytes + 2 * FENCE);
            for (int64_t i = 0; i < buffer - room; i++) assert_int_equal(host[i], 0x5A);
            for (size_t i = (size_t)(buffer - room) + bytes; i < bytes + 2 * FENCE; i++)
                assert_int_equal(host[i], 0x5A);
            free(host);
            test_release(ctx, room);
            OK(trine_direct_destroy(&plan));
            OK(trine_matrix_destroy(&A));
        }
    OK(trine_context_destroy(&ctx));
}

/** n = 0 and no right-hand sides: works of nothing. */
static void works_may_be_empty(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int n = 0; n <= N; n += N) {
        trine_matrix A = random_matrix(ctx, TRINE_D, n, 3, false, 5);
        trine_direct plan;
        trine_work work;
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = 1}));
        OK(trine_direct_work(plan, n ? 0 : 4, NULL, NULL, &work));
        const trine_dense X = {NULL, n, n ? 0 : 4, 0, TRINE_COLMAJOR};
        OK(trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = work}));
        OK(trine_work_destroy(&work));
        OK(trine_direct_destroy(&plan));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* ----------------------------------------------------------------- refusals */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, L;
    trine_direct plan, second;
    trine_triangular triangular;
    trine_work work, foreign, fits_none = (trine_work)1;
    size_t bytes = 77, less;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=4,ny=4", TRINE_D));
    OK(trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_direct_create(ctx, &plan, A, NULL));
    OK(trine_direct_create(ctx, &second, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_work(NULL, 1, NULL, &bytes, &fits_none));
    assert_null(fits_none);
    FAILS(TRINE_ERR_ARGUMENT, "nrhs is -1", trine_direct_work(plan, -1, NULL, &bytes, &fits_none));
    FAILS(TRINE_ERR_ARGUMENT, "bytes and work are NULL", trine_direct_work(plan, 1, NULL, NULL, NULL));
    static const int64_t absurd[] = {INT64_MAX, INT64_MAX / 2, INT64_C(1) << 55};
    for EACH(k, absurd) {
        FAILS(TRINE_ERR_MEMORY, "more than any memory has", trine_direct_work(plan, absurd[k], NULL, &bytes, NULL));
        FAILS(TRINE_ERR_MEMORY, "more than any memory has", trine_direct_work(plan, absurd[k], NULL, NULL, &fits_none));
    }
    assert_int_equal(bytes, 77);

    void *x = test_to_device(ctx, (double[1024]){0}, 1024 * sizeof(double));
    char *aligned = (char *)x + (256 - (uintptr_t)x % 256);
    FAILS(TRINE_ERR_ARGUMENT, "its bytes are not", trine_direct_work(plan, 1, aligned, NULL, &fits_none));
    FAILS(TRINE_ERR_ARGUMENT, "256-byte aligned", trine_direct_work(plan, 1, aligned + 64, &bytes, &fits_none));
    OK(trine_direct_work(plan, 1, NULL, &bytes, NULL));
    less = bytes - 1;
    FAILS(TRINE_ERR_ARGUMENT, "the buffer has", trine_direct_work(plan, 1, aligned, &less, &fits_none));
    assert_int_equal(less, bytes); /* what it needs */
    assert_null(fits_none);

    OK(trine_direct_work(plan, 2, NULL, &bytes, &work));
    OK(trine_triangular_analyse(ctx, &triangular, L, NULL));
    OK(trine_triangular_work(triangular, 1, NULL, &bytes, &foreign));
    const trine_dense X = {x, 16, 1, 16, TRINE_COLMAJOR}, X2 = {x, 16, 2, 16, TRINE_COLMAJOR},
                      X3 = {x, 16, 3, 16, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_ARGUMENT, "another plan", trine_direct_solve(second, TRINE_N, &X, &X, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_ARGUMENT, "another plan",
          trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = foreign}));
    FAILS(TRINE_ERR_STATE, "3 right-hand sides, but the work was made for 2",
          trine_direct_solve(plan, TRINE_N, &X3, &X3, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_STATE, "2 right-hand sides, but the plan was made for 1",
          trine_direct_solve(plan, TRINE_N, &X2, &X2, NULL));
    OK(trine_direct_solve(plan, TRINE_N, &X2, &X2, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_STATE, "not announced", trine_direct_solve(plan, TRINE_T, &X, &X, &(trine_exec){.work = work}));

    assert_true(trine_enter_alone(&work->usage)); /* as a solve in another thread does */
    FAILS(TRINE_ERR_STATE, "a work of its own (trine_direct_work)",
          trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_STATE, "in flight", trine_work_destroy(&work));
    assert_non_null(work);
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL)); /* others are free */
    trine_leave_alone(&work->usage);
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, &(trine_exec){.work = work}));

    test_release(ctx, x);
    OK(trine_work_destroy(&foreign));
    OK(trine_work_destroy(&work));
    OK(trine_triangular_destroy(&triangular));
    OK(trine_direct_destroy(&plan));
    OK(trine_direct_destroy(&second));
    OK(trine_matrix_destroy(&L));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- lifetimes */

static void a_work_keeps_its_plan_alive(void **state)
{
    (void)state;
    for (trine_direct_solver solver = TRINE_SOLVER_SUPERNODAL; solver <= TRINE_SOLVER_GENERAL; solver++)
        for (int first = 0; first < 2; first++) { /* which of two works goes first */
            trine_context ctx = test_context();
            test_memory memory = {0};
            if (!test_on_gpu()) test_fail_allocations(ctx, &memory);
            trine_matrix A;
            trine_direct plan;
            void *room[2];
            const trine_direct_options options = options_of(TRINE_DIRECT_AUTO, solver, 1, 1);
            OK(trine_matrix_gallery(ctx, &A, "convection3d:n=4", TRINE_D));
            OK(trine_direct_create(ctx, &plan, A, &options));
            OK(trine_matrix_destroy(&A));
            trine_work works[2] = {make_work(ctx, plan, 1, false, 0, &room[0]),
                                   make_work(ctx, plan, 1, true, 0, &room[1])};
            const int64_t all = memory.live;
            const trine_direct kept = plan; /* the works hold it */
            OK(trine_direct_destroy(&plan));
            assert_null(plan);
            assert_int_equal(memory.live, all);
            double host[64];
            for (int i = 0; i < 64; i++) host[i] = i;
            void *x = test_to_device(ctx, host, sizeof host);
            const trine_dense X = {x, 64, 1, 64, TRINE_COLMAJOR};
            for (int w = 0; w < 2; w++) OK(trine_direct_solve(kept, TRINE_N, &X, &X, &(trine_exec){.work = works[w]}));
            test_release(ctx, x);
            OK(trine_work_destroy(&works[first]));
            trine_context_info info;
            OK(trine_context_get_info(ctx, &info));
            if (first) { /* the buffer that nobody uses any more */
                trine_free(ctx, info.space, room[1]);
                OK(trine_context_destroy(&ctx));
                OK(trine_work_destroy(&works[0])); /* the last of plan and context */
            } else {
                end_work(ctx, &works[1], room[1]);
                OK(trine_context_destroy(&ctx));
            }
            assert_int_equal(memory.live, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_work_gives_the_bits_of_the_plans_own),
        cmocka_unit_test(a_buffer_is_not_left),
        cmocka_unit_test(works_may_be_empty),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_work_keeps_its_plan_alive),
    };
    return TEST_MAIN(tests);
}
