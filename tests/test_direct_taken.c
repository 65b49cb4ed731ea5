/* Factors that a program has made by CHOLMOD or SuperLU itself: taken, solved with, beside the library's own solves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "direct_support.h"
#include "foreign_factors.h"

static const trine_direct_solver solvers[] = {TRINE_SOLVER_GENERAL, TRINE_SOLVER_SUPERNODAL, TRINE_SOLVER_AUTO};

/** Every op by a plan of F, of A if `with` says so, is as accurate as the library's own solve, of op N, whose
 *  backward error this is. */
static void check_plan(trine_context ctx, trine_factor F, trine_matrix A, bool with_A, trine_direct_solver solver,
                       int64_t n, trine_dtype t, double own)
{
    const double bar = fmax(10, 4 * own);
    trine_direct plan;
    OK(trine_direct_create_from_factor(
        ctx, &plan, F, with_A ? A : NULL,
        &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H, .solver = solver, .triangular.max_nrhs = 3}));
    char *b = malloc((size_t)n * 3 * 16), *x = malloc((size_t)n * 3 * 16);
    for EACH(o, ops)
        for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2) {
            solve(ctx, plan, t, ops[o], n, nrhs, layouts[o % 2], nrhs == 1, b, x);
            const double error = backward_error(A, ops[o], nrhs, x, b);
            if (!(error <= bar)) {
                print_error("n %lld, dtype %d, op %d, nrhs %lld, solver %d: backward error %g, the library's own %g\n",
                            (long long)n, (int)t, (int)ops[o], (long long)nrhs, (int)solver, error, own);
                fail();
            }
        }
    free(b);
    free(x);
    trine_direct_destroy(&plan);
}

static void *random_block(trine_dtype t, int64_t count)
{
    void *b = malloc((size_t)count * 16 + 1);
    for (int64_t k = 0; k < count; k++) put(t, b, k, random_element(t, 4, (uint64_t)k));
    return b;
}

/* ----------------------------------------------------------------- SuperLU */

static double superlu_error(const superlu_factor *f, trine_matrix A)
{
    void *b = random_block(f->t, 3 * f->n), *x = malloc((size_t)f->n * 3 * 16);
    double worst = 0;
    for EACH(o, ops) {
        superlu_own_solve(f, ops[o], 3, b, x);
        worst = fmax(worst, backward_error(A, ops[o], 3, x, b));
    }
    free(b);
    free(x);
    return worst;
}

/** Rows and columns of sizes that differ by ten thousands, which SuperLU scales. */
static trine_matrix badly_scaled(trine_context ctx, trine_dtype t, int64_t n)
{
    trine_matrix A = random_matrix(ctx, t, n, 4, false, 31);
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
            put(t, (void *)values, k,
                get(t, values, k) * ldexpl(1, (int)(i % 15)) * ldexpl(1, -(int)(columns[k] % 14)));
    return A;
}

static void factors_of_superlu_are_taken(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 31, 120};
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for EACH(s, sizes)
            for (int kind = 0; kind < 3; kind++) { /* SuperLU's, with scales, as SuperLU_MT stores it */
                trine_matrix A = kind == 1 ? badly_scaled(ctx, all_dtypes[t], sizes[s])
                                           : random_matrix(ctx, all_dtypes[t], sizes[s], 4, false, 11 + s);
                superlu_factor f = superlu_of(A, kind == 1);
                if (kind == 1 && sizes[s] > 2) assert_true(f.R &&f.C);
                if (kind == 2) superlu_like_mt(&f);
                const double own = superlu_error(&f, A);
                trine_factor F;
                trine_factor_info info;
                OK(trine_factor_from_superlu(ctx, &F, kind == 2 ? f.MT_L : f.L, kind == 2 ? f.MT_U : f.U, f.perm_r,
                                             f.perm_c, f.R, f.C));
                superlu_factor_free(&f); /* nothing of it is borrowed */
                OK(trine_factor_get_info(F, &info));
                assert_int_equal(info.n, sizes[s]);
                assert_int_equal(info.method, TRINE_DIRECT_LU);
                assert_int_equal(info.dtype, all_dtypes[t]);
                assert_int_equal(info.diag_L, TRINE_UNIT);
                assert_int_equal(info.nnz_matrix, 0);
                assert_identity(F, A);
                assert_panels(F);
                for EACH(v, solvers) check_plan(ctx, F, A, v == 1, solvers[v], sizes[s], all_dtypes[t], own);
                OK(trine_factor_destroy(&F));
                trine_matrix_destroy(&A);
            }
    OK(trine_context_destroy(&ctx));
}

/** L's and U^T's panels, by trine_supernodal alone. */
static void panels_of_superlu_serve_the_supernodal_plan(void **state)
{
    (void)state;
    enum { n = 100 };
    trine_context ctx = test_context();
    for EACH(t, all_dtypes) {
        const trine_dtype dtype = all_dtypes[t];
        const size_t bytes = n * trine_dtype_size(dtype);
        trine_matrix A = random_matrix(ctx, dtype, n, 4, false, 17);
        superlu_factor f = superlu_of(A, false);
        trine_factor F;
        trine_panels L, Ut;
        trine_supernodal lower, upper;
        OK(trine_factor_from_superlu(ctx, &F, f.L, f.U, f.perm_r, f.perm_c, NULL, NULL));
        OK(trine_factor_get_panels(F, TRINE_LOWER, &L));
        OK(trine_factor_get_panels(F, TRINE_UPPER, &Ut));
        assert_int_equal(L.dtype, dtype);
        OK(trine_supernodal_analyse(ctx, &lower, &L, NULL));
        OK(trine_supernodal_numeric(lower, TRINE_HOST, L.values, NULL));
        OK(trine_supernodal_analyse(ctx, &upper, &Ut, NULL));
        OK(trine_supernodal_numeric(upper, TRINE_HOST, Ut.values, NULL));
        void *b = random_block(dtype, n), *x = malloc(bytes), *permuted = malloc(bytes), *y = malloc(bytes);
        for (int i = 0; i < n; i++) put(dtype, permuted, f.perm_r[i], get(dtype, b, i));
        void *data = test_to_device(ctx, permuted, bytes);
        const trine_dense X = {.data = data, .rows = n, .cols = 1};
        OK(trine_supernodal_solve(lower, TRINE_N, NULL, &X, &X, NULL));
        OK(trine_supernodal_solve(upper, TRINE_T, NULL, &X, &X, NULL));
        test_from_device(ctx, y, data, bytes);
        for (int j = 0; j < n; j++) put(dtype, x, j, get(dtype, y, f.perm_c[j]));
        assert_true(backward_error(A, TRINE_N, 1, x, b) <= fmax(10, 4 * superlu_error(&f, A)));
        test_release(ctx, data);
        free(b);
        free(x);
        free(permuted);
        free(y);
        trine_supernodal_destroy(&lower);
        trine_supernodal_destroy(&upper);
        OK(trine_factor_destroy(&F));
        superlu_factor_free(&f);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/* ----------------------------------------------------------------- CHOLMOD */

/** -A. */
static void negate(trine_matrix A, trine_dtype t)
{
    trine_matrix_info info;
    const void *values;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, NULL, NULL, &values));
    for (int64_t k = 0; k < info.nnz; k++) put(t, (void *)values, k, -get(t, values, k));
}

static void factors_of_cholmod_are_taken(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 31, 120};
    static const trine_dtype types[] = {TRINE_D, TRINE_Z};
    trine_context ctx = test_context();
    for EACH(t, types)
        for EACH(s, sizes)
            for (int kind = FOREIGN_SUPERNODAL; kind <= FOREIGN_ZOMPLEX_LDL; kind++)
                for (int is_long = 0; is_long < 2; is_long++) {
                    if (kind == FOREIGN_ZOMPLEX_LDL && types[t] == TRINE_D) continue;
                    const int64_t n = sizes[s];
                    const bool ldl = kind >= FOREIGN_LDL;
                    trine_matrix A = random_matrix(ctx, types[t], n, 4, true, 3 + s);
                    if (ldl) negate(A, types[t]); /* negative definite: LDL^H alone */
                    cholmod_program f = cholmod_of(A, (foreign_kind)kind, is_long);
                    void *b = random_block(types[t], 3 * n), *x = malloc((size_t)n * 3 * 16);
                    cholmod_own_solve(&f, types[t], n, 3, b, x);
                    const double own = backward_error(A, TRINE_N, 3, x, b);
                    free(b);
                    free(x);
                    trine_factor F;
                    trine_factor_info info;
                    OK(trine_factor_from_cholmod(ctx, &F, f.L));
                    cholmod_program_free(&f);
                    OK(trine_factor_get_info(F, &info));
                    assert_int_equal(info.n, n);
                    assert_int_equal(info.method, kind == FOREIGN_SUPERNODAL ? TRINE_DIRECT_CHOLESKY
                                                                             : TRINE_DIRECT_CHOLESKY_SIMPLICIAL);
                    assert_int_equal(info.dtype, types[t]);
                    assert_int_equal(info.diag_L, ldl ? TRINE_UNIT : TRINE_NONUNIT);
                    assert_identity(F, A);
                    assert_panels(F);
                    for EACH(v, solvers)
                        if (kind == FOREIGN_SUPERNODAL || solvers[v] != TRINE_SOLVER_SUPERNODAL)
                            check_plan(ctx, F, A, v == 0, solvers[v], n, types[t], own);
                    OK(trine_factor_destroy(&F));
                    trine_matrix_destroy(&A);
                }
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------- plans */

/** A plan goes on with the factor of new values; with A of another precision; what it does not know, it refuses. */
static void plans_go_on_with_another_factor(void **state)
{
    (void)state;
    enum { n = 90 };
    trine_context ctx = test_context();
    char *b = malloc(n * 16), *x = malloc(n * 16);
    for EACH(v, solvers) {
        trine_matrix A = random_matrix(ctx, TRINE_S, n, 4, false, 5), B = rescaled(ctx, A, 6), wide_A,
                     other = random_matrix(ctx, TRINE_S, 20, 2, false, 5);
        superlu_factor f = superlu_of(A, false), g = superlu_of(B, false), h = superlu_of(other, false);
        trine_factor F, G, H;
        trine_direct plan, wide_plan;
        OK(trine_matrix_copy(A, &wide_A, TRINE_HOST, TRINE_CSR, TRINE_D));
        OK(trine_factor_from_superlu(ctx, &F, f.L, f.U, f.perm_r, f.perm_c, NULL, NULL));
        OK(trine_factor_from_superlu(ctx, &G, g.L, g.U, g.perm_r, g.perm_c, NULL, NULL));
        OK(trine_factor_from_superlu(ctx, &H, h.L, h.U, h.perm_r, h.perm_c, NULL, NULL));
        superlu_factor_free(&f);
        superlu_factor_free(&g);
        superlu_factor_free(&h);
        OK(trine_direct_create_from_factor(ctx, &plan, F, NULL, &(trine_direct_options){.solver = solvers[v]}));
        solve(ctx, plan, TRINE_S, TRINE_N, n, 1, TRINE_COLMAJOR, false, b, x);
        assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
        OK(trine_direct_replace_factor(plan, G, NULL));
        trine_factor_destroy(&G); /* the plan has it */
        solve(ctx, plan, TRINE_S, TRINE_N, n, 1, TRINE_COLMAJOR, false, b, x);
        assert_true(backward_error(B, TRINE_N, 1, x, b) < 10);
        FAILS(TRINE_ERR_ARGUMENT, "was made for 90", trine_direct_replace_factor(plan, H, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "dtype", trine_direct_replace_factor(plan, F, wide_A));
        FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_direct_replace_factor(plan, NULL, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_replace_factor(NULL, F, NULL));
        FAILS(TRINE_ERR_UNSUPPORTED, "another program", trine_direct_update(plan, A));
        FAILS(TRINE_ERR_UNSUPPORTED, "another program", trine_factor_update(F, A));
        solve(ctx, plan, TRINE_S, TRINE_N, n, 1, TRINE_COLMAJOR, false, b, x); /* as before */
        assert_true(backward_error(B, TRINE_N, 1, x, b) < 10);
        FAILS(TRINE_ERR_ARGUMENT, "refinement needs A, which is not known",
              trine_direct_create_from_factor(ctx, &wide_plan, F, NULL, &(trine_direct_options){.refine = 1}));
        /* a factor in single precision, refined in double */
        OK(trine_direct_create_from_factor(ctx, &wide_plan, F, wide_A,
                                           &(trine_direct_options){.solver = solvers[v], .refine = 3}));
        solve(ctx, wide_plan, TRINE_D, TRINE_N, n, 1, TRINE_COLMAJOR, false, b, x);
        assert_true(backward_error(wide_A, TRINE_N, 1, x, b) < 10);
        trine_direct_destroy(&plan);
        trine_direct_destroy(&wide_plan);
        trine_factor_destroy(&F);
        trine_factor_destroy(&H);
        trine_matrix_destroy(&A);
        trine_matrix_destroy(&B);
        trine_matrix_destroy(&wide_A);
        trine_matrix_destroy(&other);
    }
    free(b);
    free(x);
    OK(trine_context_destroy(&ctx));
}

static void what_cannot_be_taken_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = random_matrix(ctx, TRINE_D, 20, 3, true, 3),
                 indefinite = random_matrix(ctx, TRINE_D, 20, 3, true, 3);
    negate(indefinite, TRINE_D);
    trine_factor F;
    cholmod_program symbolic = cholmod_of(A, FOREIGN_SYMBOLIC, false),
                    broken = cholmod_of(indefinite, FOREIGN_SUPERNODAL, true);
    assert_true(cholmod_columns_done(&broken) < 20);
    FAILS(TRINE_ERR_ARGUMENT, "symbolic", trine_factor_from_cholmod(ctx, &F, symbolic.L));
    FAILS(TRINE_ERR_NOT_DEFINITE, "broke down at pivot 0 of 20", trine_factor_from_cholmod(ctx, &F, broken.L));
    assert_null(F);
    FAILS(TRINE_ERR_ARGUMENT, "L is NULL", trine_factor_from_cholmod(ctx, &F, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_factor_from_cholmod(NULL, &F, broken.L));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_from_cholmod(ctx, NULL, broken.L));
    superlu_factor f = superlu_of(A, false);
    int *perm = malloc(20 * sizeof *perm);
    memcpy(perm, f.perm_r, 20 * sizeof *perm);
    FAILS(TRINE_ERR_ARGUMENT, "not stored by supernodes",
          trine_factor_from_superlu(ctx, &F, f.U, f.L, f.perm_r, f.perm_c, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "not stored by columns",
          trine_factor_from_superlu(ctx, &F, f.L, f.L, f.perm_r, f.perm_c, NULL, NULL));
    perm[3] = perm[7];
    FAILS(TRINE_ERR_ARGUMENT, "perm_r is no permutation",
          trine_factor_from_superlu(ctx, &F, f.L, f.U, perm, f.perm_c, NULL, NULL));
    perm[3] = 20;
    FAILS(TRINE_ERR_ARGUMENT, "perm_c[3] is 20, outside 0..19",
          trine_factor_from_superlu(ctx, &F, f.L, f.U, f.perm_r, perm, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "L or U is NULL",
          trine_factor_from_superlu(ctx, &F, f.L, NULL, f.perm_r, f.perm_c, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "R[",
          trine_factor_from_superlu(ctx, &F, f.L, f.U, f.perm_r, f.perm_c, (double[20]){0}, NULL));
    assert_null(F);
    free(perm);
    superlu_factor_free(&f);
    cholmod_program_free(&symbolic);
    cholmod_program_free(&broken);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&indefinite);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_of_superlu_are_taken),
        cmocka_unit_test(panels_of_superlu_serve_the_supernodal_plan),
        cmocka_unit_test(factors_of_cholmod_are_taken),
        cmocka_unit_test(plans_go_on_with_another_factor),
        cmocka_unit_test(what_cannot_be_taken_is_refused),
    };
    return TEST_MAIN(tests);
}
