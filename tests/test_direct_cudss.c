/* cuDSS: what is said where it is not, and on a GPU that has it its solves. */
#include <string.h>

#include "direct_support.h"

static const trine_factor_options with_cudss = {.method = TRINE_DIRECT_CUDSS};

/** Whether it is installed here, on a GPU. */
static bool is_there(trine_context ctx)
{
    trine_matrix A = random_matrix(ctx, TRINE_D, 10, 3, true, 1);
    trine_factor F = NULL;
    const trine_status status = trine_factor_create(ctx, &F, A, &with_cudss);
    trine_factor_destroy(&F);
    trine_matrix_destroy(&A);
    return status == TRINE_SUCCESS;
}

static void it_says_that_it_is_not_there(void **state)
{
    (void)state;
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu"));
    trine_matrix A = random_matrix(ctx, TRINE_D, 10, 3, true, 1);
    trine_factor F = (trine_factor)ctx;
    trine_direct plan = (trine_direct)ctx;
    const trine_direct_options options = {.factor = with_cudss};
    const trine_status status = trine_factor_create(ctx, &F, A, &with_cudss);
    assert_null(F);
    assert_true(status == TRINE_ERR_NOT_BUILT || status == TRINE_ERR_UNSUPPORTED);
    assert_non_null(strstr(trine_last_error(), status == TRINE_ERR_NOT_BUILT
                                                   ? "cuDSS, an optional library of NVIDIA's, cannot be loaded: "
                                                   : "cuDSS factors on a GPU, and the context is one on the CPU"));
    assert_int_equal(trine_direct_create(ctx, &plan, A, &options), status);
    assert_null(plan);
    FAILS(TRINE_ERR_ARGUMENT, "its own ordering, and amd was asked for",
          trine_factor_create(ctx, &F, A,
                              &(trine_factor_options){.method = TRINE_DIRECT_CUDSS, .ordering = TRINE_ORDERING_AMD}));
    FAILS(TRINE_ERR_ARGUMENT, "there is no solver 4",
          trine_direct_create(ctx, &plan, A, &(trine_direct_options){.solver = (trine_direct_solver)4}));
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_CUDSS), "cudss");
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void its_solves_are_backward_stable(void **state)
{
    (void)state;
    enum { N = 300, MOST = 3 };
    trine_context ctx = test_context();
    if (!is_there(ctx)) {
        OK(trine_context_destroy(&ctx));
        skip();
    }
    static const trine_dtype types[] = {TRINE_D, TRINE_Z};
    for EACH(t, types)
        for (int hermitian = 0; hermitian < 2; hermitian++)
            for (int refine = 0; refine < 2; refine++) {
                trine_matrix A = random_matrix(ctx, types[t], N, 5, hermitian, 7 + t);
                trine_matrix other = rescaled(ctx, A, 11);
                const trine_direct_options options = {.factor = with_cudss,
                                                      .ops = TRINE_N | TRINE_T | TRINE_H,
                                                      .refine = refine,
                                                      .triangular.max_nrhs = MOST};
                trine_direct plan;
                trine_direct_info info;
                trine_factor F;
                trine_panels panels;
                trine_matrix T;
                const int32_t *perm;
                char b[N * MOST * 16], x[N * MOST * 16];
                OK(trine_direct_create(ctx, &plan, A, &options));
                OK(trine_direct_get_info(plan, &info));
                assert_int_equal(info.solver, TRINE_SOLVER_LIBRARY);
                assert_int_equal(info.factor.method, TRINE_DIRECT_CUDSS);
                assert_true(info.factor.nnz_L + info.factor.nnz_U >= 2 * N);
                for (int update = 0; update < 2; update++) {
                    if (update) OK(trine_direct_update(plan, other));
                    for EACH(o, ops)
                        for (int64_t nrhs = 1; nrhs <= MOST; nrhs += 2)
                            for (int in_place = 0; in_place < 2; in_place++) {
                                solve(ctx, plan, types[t], ops[o], N, nrhs, TRINE_COLMAJOR, in_place, b, x);
                                const double error = backward_error(update ? other : A, ops[o], nrhs, x, b);
                                if (!(error < 10))
                                    print_error(
                                        "dtype %d, hermitian %d, refine %d, update %d, op %d, %d right-hand sides, in "
                                        "place %d: %g eps\n",
                                        (int)types[t], hermitian, refine, update, (int)ops[o], (int)nrhs, in_place,
                                        error);
                                assert_true(error < 10);
                            }
                }
                OK(trine_direct_destroy(&plan));
                OK(trine_factor_create(ctx, &F, A, &with_cudss));
                FAILS(TRINE_ERR_UNSUPPORTED, "panels", trine_factor_get_panels(F, TRINE_LOWER, &panels));
                FAILS(TRINE_ERR_UNSUPPORTED, "stay in cuDSS", trine_factor_get_triangle(F, TRINE_LOWER, &T));
                FAILS(TRINE_ERR_UNSUPPORTED, "stay in cuDSS",
                      trine_factor_get_permutations(F, &perm, NULL, NULL, NULL));
                FAILS(TRINE_ERR_UNSUPPORTED, "another solver",
                      trine_direct_create_from_factor(ctx, &plan, F, A,
                                                      &(trine_direct_options){.solver = TRINE_SOLVER_GENERAL}));
                OK(trine_factor_destroy(&F));
                OK(trine_matrix_destroy(&other));
                OK(trine_matrix_destroy(&A));
            }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_that_it_is_not_there),
        cmocka_unit_test(its_solves_are_backward_stable),
    };
    return TEST_MAIN(tests);
}
