/* Direct plans as operators: alpha and beta around the plan's solve, its bits, its new values, its life. */
#include <complex.h>
#include <string.h>

#include "direct_support.h"

enum { N = 60, NRHS = 3 };

/** y := alpha x + beta y as the operator does: in double for S and C, too. */
static wide expected(trine_dtype t, const void *x, const void *y, int64_t i, wide alpha, wide beta)
{
    return alpha * get(t, x, i) + (beta == 0 ? 0 : beta * get(t, y, i));
}

static void solves_are_scaled_and_added(void **state)
{
    (void)state;
    static const double complex scalars[][2] = {{1, 0}, {-2, 0}, {1, 1}, {0.5 + 2i, -3 + 1i}, {0, 2}};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for (int refine = 0; refine < 2; refine++) {
                const trine_dtype type = all_dtypes[t];
                const size_t element = trine_dtype_size(type);
                trine_matrix A = random_matrix(ctx, type, N, 4, is_hermitian(methods[m]), 3 + t);
                const trine_direct_options options = options_of(methods[m], TRINE_SOLVER_AUTO, refine, 1);
                trine_direct plan;
                trine_op op;
                trine_work work;
                trine_op_info info;
                OK(trine_direct_create(ctx, &plan, A, &options));
                OK(trine_direct_as_op(plan, &op));
                OK(trine_op_get_info(op, &info));
                assert_true(info.rows == N && info.cols == N && info.dtype == type &&
                            info.ops == (TRINE_N | TRINE_T | TRINE_H) && !info.varying);
                OK(trine_op_work(op, NRHS, NULL, NULL, &work));
                trine_work plan_work;
                OK(trine_direct_work(plan, NRHS, NULL, NULL, &plan_work));
                char b[N * NRHS * 16], x[N * NRHS * 16], y[N * NRHS * 16], z[N * NRHS * 16];
                for EACH(o, ops)
                    for EACH(s, scalars) {
                        solve_with(ctx, plan, type, ops[o], N, NRHS, TRINE_COLMAJOR, false, b, x,
                                   &(trine_exec){.work = plan_work});
                        for (int64_t i = 0; i < N * NRHS; i++) put(type, y, i, test_uniform(5, (uint64_t)i) - 0.5);
                        if (s < 2) memset(y, 0xFF, sizeof y); /* NaN, not to be read */
                        char alpha[16], beta[16];
                        put(type, alpha, 0, scalars[s][0]);
                        put(type, beta, 0, scalars[s][1]);
                        void *from = test_to_device(ctx, b, sizeof b), *to = test_to_device(ctx, y, sizeof y);
                        const trine_dense X = {from, N, NRHS, N, TRINE_COLMAJOR}, Y = {to, N, NRHS, N, TRINE_COLMAJOR};
                        OK(trine_op_apply(op, ops[o], alpha, &X, beta, &Y, &(trine_exec){.work = work}));
                        OK(trine_context_synchronize(ctx));
                        test_from_device(ctx, z, to, sizeof z);
                        for (int64_t i = 0; i < N * NRHS; i++) {
                            const wide value = expected(type, x, y, i, get(type, alpha, 0), get(type, beta, 0));
                            const wide error = get(type, z, i) - value;
                            const double size = (double)cabsl(get(type, x, i)) * 3 + 3;
                            assert_true((double)cabsl(error) <= 4 * eps_of(type) * size);
                        }
                        /* alpha = 1, beta = 0: the solve itself */
                        if (s == 0) assert_memory_equal(z, x, (size_t)N * NRHS * element);
                        test_release(ctx, from);
                        test_release(ctx, to);
                    }
                OK(trine_work_destroy(&plan_work));
                OK(trine_work_destroy(&work));
                OK(trine_op_destroy(&op));
                OK(trine_direct_destroy(&plan));
                OK(trine_matrix_destroy(&A));
            }
    OK(trine_context_destroy(&ctx));
}

static void new_values_show_through_and_plans_are_kept(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = random_matrix(ctx, TRINE_D, N, 4, false, 8), B = rescaled(ctx, A, 2);
    const trine_direct_options options = options_of(TRINE_DIRECT_LU, TRINE_SOLVER_AUTO, 0, 1);
    trine_direct plan;
    trine_op op;
    trine_work work;
    double b[N], x[N], y[N];
    OK(trine_direct_create(ctx, &plan, A, &options));
    OK(trine_direct_as_op(plan, &op));
    OK(trine_op_work(op, 1, NULL, NULL, &work));
    OK(trine_direct_update(plan, B));
    solve(ctx, plan, TRINE_D, TRINE_N, N, 1, TRINE_COLMAJOR, false, b, x);
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_as_op(NULL, &(trine_op){0}));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_direct_as_op(plan, NULL));
    OK(trine_direct_destroy(&plan)); /* the operator keeps it */
    void *from = test_to_device(ctx, b, sizeof b), *to = test_to_device(ctx, b, sizeof b);
    const trine_dense X = {from, N, 1, N, TRINE_COLMAJOR}, Y = {to, N, 1, N, TRINE_COLMAJOR};
    OK(trine_op_apply(op, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, y, to, sizeof y);
    assert_memory_equal(x, y, sizeof x);
    OK(trine_op_destroy(&op)); /* the work keeps that */
    OK(trine_work_destroy(&work));
    test_release(ctx, from);
    test_release(ctx, to);
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&B));
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_are_scaled_and_added),
        cmocka_unit_test(new_values_show_through_and_plans_are_kept),
    };
    return TEST_MAIN(tests);
}
