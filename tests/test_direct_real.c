/* Factorizations and direct solves of real matrices. */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "direct_support.h"

static void real_matrices_are_solved_to_a_small_backward_error(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3",     "bcsstk14",     "bcsstk16", "ex10hs",  "sherman3",
                                        "sherman5", "add32",        "orsreg_1", "rajat01", "adder_dcop_05",
                                        "cryg2500", "hangGlider_2", "pde2961",  "tub1000"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names) {
        trine_matrix A;
        trine_matrix_structure s;
        OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
        OK(trine_matrix_get_structure(A, &s));
        const int64_t n = s.n_rows;
        char *x = malloc((size_t)n * 3 * 16), *b = malloc((size_t)n * 3 * 16);
        for EACH(t, all_dtypes)
            for (int umfpack = 0; umfpack < 2; umfpack++) {
                const bool single = trine_dtype_is_single(all_dtypes[t]),
                           pair = all_dtypes[t] == TRINE_D || all_dtypes[t] == TRINE_C;
                /* to save time */
                if (((umfpack || n > 4000) && !pair) || (s.nnz > 200000 && (umfpack || single))) continue;
                if (!strcmp(names[m], "ex10hs") && single) continue; /* condition 5e11: no solution in single */
                trine_matrix B = with_phases(A, all_dtypes[t], s.hermitian);
                trine_direct plan;
                trine_direct_info info;
                /* One step of refinement, two in UMFPACK's: partial and threshold pivoting leave some growth. */
                OK(trine_direct_create(
                    ctx, &plan, B,
                    &(trine_direct_options){.factor.method = umfpack ? TRINE_DIRECT_LU_UMFPACK : TRINE_DIRECT_AUTO,
                                            .ops = TRINE_N | TRINE_T | TRINE_H,
                                            .triangular.max_nrhs = 3,
                                            .refine = 1 + umfpack}));
                OK(trine_direct_get_info(plan, &info));
                /* rounding to single may cost definiteness */
                if (!umfpack && (all_dtypes[t] == TRINE_D || all_dtypes[t] == TRINE_Z))
                    assert_int_equal(is_cholesky(info.factor.method), s.hermitian && s.positive_diagonal);
                for EACH(o, ops) {
                    const int nrhs = o == 1 ? 1 : 3;
                    solve(ctx, plan, all_dtypes[t], ops[o], n, nrhs, layouts[(t + o) % 2], o == 2, b, x);
                    const double error = backward_error(B, ops[o], nrhs, x, b);
                    if (!(error < 10))
                        print_error("%s, dtype %d, %s, op %d: backward error %g eps\n", names[m], (int)all_dtypes[t],
                                    trine_direct_method_name(info.factor.method), (int)ops[o], error);
                    assert_true(error < 10);
                }
                OK(trine_direct_destroy(&plan));
                trine_matrix_destroy(&B);
            }
        free(x);
        free(b);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void cholesky_needs_no_refinement_on_real_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3", "bcsstk14", "bcsstk16", "ex10hs"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names)
        for (int simplicial = 0; simplicial < 2; simplicial++) {
            trine_matrix A;
            trine_matrix_info info;
            trine_direct plan;
            OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
            OK(trine_matrix_get_info(A, &info));
            char *x = malloc((size_t)info.n_rows * 8), *b = malloc((size_t)info.n_rows * 8);
            OK(trine_direct_create(ctx, &plan, A,
                                   &(trine_direct_options){.factor.method = simplicial
                                                                                ? TRINE_DIRECT_CHOLESKY_SIMPLICIAL
                                                                                : TRINE_DIRECT_CHOLESKY}));
            solve(ctx, plan, TRINE_D, TRINE_N, info.n_rows, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
            OK(trine_direct_destroy(&plan));
            trine_matrix_destroy(&A);
            free(x);
            free(b);
        }
    OK(trine_context_destroy(&ctx));
}

/** airfoil_2d's U has ill-conditioned blocks, whose inverses are no good. */
static void lu_needs_no_refinement_on_real_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"airfoil_2d", "orsreg_1", "pde2961", "cryg2500"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names) {
        trine_matrix A;
        trine_matrix_info info;
        trine_direct plan;
        trine_direct_info made;
        OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
        OK(trine_matrix_get_info(A, &info));
        double *x = malloc((size_t)info.n_rows * sizeof *x), *b = malloc((size_t)info.n_rows * sizeof *b),
               *s = malloc((size_t)info.n_rows * sizeof *s);
        for (int64_t i = 0; i < info.n_rows; i++) s[i] = 2 * test_uniform(6, (uint64_t)i) - 1;
        /* x is of the size of s: an error cannot hide behind a huge one */
        OK(trine_matrix_multiply(A, TRINE_N, NULL, s, NULL, b));
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU}));
        OK(trine_direct_get_info(plan, &made));
        void *data = test_to_device(ctx, b, (size_t)info.n_rows * sizeof *b);
        const trine_dense X = {.data = data, .rows = info.n_rows, .cols = 1};
        OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
        test_from_device(ctx, x, data, (size_t)info.n_rows * sizeof *x);
        test_release(ctx, data);
        print_message("%s: backward error %.2f eps, %s\n", names[m], backward_error(A, TRINE_N, 1, x, b), made.reason);
        assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
        free(x);
        free(b);
        free(s);
    }
    OK(trine_context_destroy(&ctx));
}

static void real_factors_multiply_to_the_matrix(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3", "tub1000", "adder_dcop_05", "cryg2500"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names)
        for EACH(f, methods) {
            trine_matrix A;
            trine_factor F;
            OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
            if (!is_hermitian(methods[f]) || m == 0) {
                OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[f]}));
                assert_identity(F, A);
                assert_panels(F);
                OK(trine_factor_destroy(&F));
            }
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

static void a_real_singular_matrix_ends_with_a_sentence(void **state)
{
    (void)state;
    static const char *const names[] = {"zenios"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    OK(trine_matrix_read(ctx, &A, test_real_matrix(names[0]), TRINE_D));
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LDL; method++) {
        const bool hermitian = is_hermitian((trine_direct_method)method);
        FAILS(
            hermitian ? TRINE_ERR_NOT_DEFINITE : TRINE_ERR_SINGULAR, "column",
            trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = (trine_direct_method)method}));
        assert_null(plan);
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_matrices_are_solved_to_a_small_backward_error),
        cmocka_unit_test(cholesky_needs_no_refinement_on_real_matrices),
        cmocka_unit_test(lu_needs_no_refinement_on_real_matrices),
        cmocka_unit_test(real_factors_multiply_to_the_matrix),
        cmocka_unit_test(a_real_singular_matrix_ends_with_a_sentence),
    };
    return TEST_MAIN(tests);
}
