/* Krylov solvers: solutions against dense solves in long double, numbers of steps against theory. */
#include "krylov_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"
#include "krylov/common/numbers.h"

static trine_krylov_result result_of(trine_krylov k, int64_t rhs)
{
    trine_krylov_result r;
    memset(&r, 0xFF, sizeof r);
    OK(trine_krylov_get_result(k, rhs, &r, NULL));
    return r;
}

/** Solve, one right-hand side, without asking for convergence. */
static trine_krylov_result run(trine_context ctx, trine_op A, trine_op M, trine_krylov_options o, void *b, void *x,
                               int n)
{
    trine_krylov k;
    OK(trine_krylov_create(ctx, &k, A, M, &o));
    const trine_dense B = block(b, n, 1), X = block(x, n, 1);
    const trine_status status = solve(k, &B, &X, NULL);
    const trine_krylov_result r = result_of(k, 0);
    assert_int_equal(status, r.outcome == TRINE_OUTCOME_CONVERGED ? TRINE_SUCCESS : TRINE_ERR_NO_CONVERGENCE);
    OK(trine_krylov_destroy(&k));
    return r;
}

/** The residual that is told is that of x, and so small as was asked for, but for rounding in its computation. */
static void check_residual(const dense *d, const trine_krylov_result *r, double target, const void *b, const void *x)
{
    long double size = 0, x_norm = 0;
    for (int i = 0; i < d->n; i++) x_norm += cabsl(get(d->t, x, i)) * cabsl(get(d->t, x, i));
    for (int k = 0; k < d->n * d->n; k++) size += cabsl(d->A[k]) * cabsl(d->A[k]);
    const long double rounding = 4 * eps_of(d->t) * (sqrtl(size * x_norm) + r->rhs_norm);
    const long double residual = true_residual(d, b, x);
    if (!(fabsl(residual - r->residual) <= rounding))
        fail_msg("the residual is %Lg, told was %g", residual, r->residual);
    if (r->outcome == TRINE_OUTCOME_CONVERGED && !(residual <= target + rounding))
        fail_msg("the residual is %Lg, asked for was %g", residual, target);
}

/* ------------------------------------------------------------- all combinations */

enum { N = 37, RHS = 3 };

/** As the block has it, or by rows. */
static void arrange(trine_dtype t, const void *columns, void *to, trine_layout layout, int64_t ld)
{
    for (int64_t c = 0; c < RHS; c++)
        for (int64_t i = 0; i < N; i++)
            put(t, to, layout == TRINE_COLMAJOR ? i + c * ld : i * ld + c, get(t, columns, i + c * N));
}

static void check_combination(trine_context ctx, trine_krylov_method method, trine_dtype t, int preconditioner,
                              trine_layout layout, uint64_t seed)
{
    dense *A = system_for(ctx, method, t, N, seed), *M = preconditioner ? jacobi_of(ctx, A, t) : NULL;
    const double rtol = 100 * eps_of(t);
    const int64_t ld = (layout == TRINE_COLMAJOR ? N : RHS) + 2;
    const size_t size = trine_dtype_size(t);
    void *b = random_vector(t, N * RHS, seed + 7), *B = calloc((size_t)(ld * N), size),
         *X = calloc((size_t)(ld * N), size);
    char *x = malloc(N * RHS * size);
    trine_krylov k;
    const trine_krylov_options o = {.method = method,
                                    .rtol = rtol,
                                    .restart = 15,
                                    .max_nrhs = RHS,
                                    .side = preconditioner == 2 ? TRINE_SIDE_LEFT : TRINE_SIDE_RIGHT};
    OK(trine_krylov_create(ctx, &k, A->op, M ? M->op : NULL, &o));
    arrange(t, b, B, layout, ld);
    const trine_dense b_block = {B, N, RHS, ld, layout}, x_block = {X, N, RHS, ld, layout};
    OK(solve(k, &b_block, &x_block, NULL));
    for (int64_t c = 0; c < RHS; c++) {
        wide exact[N], wanted[N], error[N];
        for (int64_t i = 0; i < N; i++) {
            put(t, x, i, get(t, X, layout == TRINE_COLMAJOR ? i + c * ld : i * ld + c));
            wanted[i] = get(t, b, i + c * N);
        }
        solve_wide(A, wanted, exact);
        for (int i = 0; i < N; i++) error[i] = get(t, x, i) - exact[i];
        const trine_krylov_result r = result_of(k, c);
        assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
        check_residual(A, &r, rtol * r.rhs_norm, (char *)b + (size_t)(c * N) * size, x);
        assert_true(r.steps > 2 && r.steps <= 200 && r.iterations == r.steps);
        /* the smallest singular value is above 0.1 */
        if (!(norm_wide(N, error) <= 10 * (long double)rtol * r.rhs_norm))
            fail_msg("%s: an error of %Lg", trine_krylov_method_name(method), norm_wide(N, error));
    }
    for (int64_t i = 0; i < ld * (layout == TRINE_COLMAJOR ? RHS : N); i++) /* what is between columns or rows */
        if (i % ld >= (layout == TRINE_COLMAJOR ? N : RHS)) assert_true(get(t, X, i) == 0);
    OK(trine_krylov_destroy(&k));
    free_dense(A);
    free_dense(M);
    free(b), free(B), free(X), free(x);
}

static void every_method_finds_the_solution(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++)
            for (int preconditioner = 0; preconditioner < 3; preconditioner++) { /* none, right, left */
                if (!test_is_to_do()) continue;
                if (preconditioner == 2 && all_methods[m] == TRINE_KRYLOV_FGMRES) continue;
                check_combination(ctx, all_methods[m], all_dtypes[d], preconditioner,
                                  (m + d + preconditioner) % 2 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                  (uint64_t)(100 * m + 10 * d + preconditioner));
            }
    OK(trine_context_destroy(&ctx));
}

/* --------------------------------------------------------------------- theory */

static void multiply_double(void *user, const double *x, double *y)
{
    const dense *d = user;
    for (int i = 0; i < d->n; i++) {
        y[i] = 0;
        for (int j = 0; j < d->n; j++) y[i] += (double)creall(d->A[i + j * d->n]) * x[j];
    }
}

/** GMRES without a restart, and MINRES, have the smallest residual of each Krylov space. */
static void residuals_are_the_smallest(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { STEPS = 20 };
    for (int m = 0; m < 3; m++) {
        if (!test_is_to_do()) continue;
        static const trine_krylov_method methods[] = {TRINE_KRYLOV_GMRES, TRINE_KRYLOV_FGMRES, TRINE_KRYLOV_MINRES};
        dense *A = system_for(ctx, methods[m], TRINE_D, N, 31);
        double *b = random_vector(TRINE_D, N, 32), x[N], work[(2 * STEPS + 1) * N], best[STEPS + 1], had[STEPS + 1];
        trine_krylov_reference(N, multiply_double, A, b, x, STEPS, work, best);
        trine_krylov k;
        int64_t count;
        OK(trine_krylov_create(
            ctx, &k, A->op, NULL,
            &(trine_krylov_options){
                .method = methods[m], .restart = N, .rtol = 1e-13, .history = STEPS + 1, .max_iterations = STEPS}));
        const trine_dense B = block(b, N, 1), X = block(x, N, 1);
        FAILS(TRINE_ERR_NO_CONVERGENCE, "maximum of iterations after 20 steps", solve(k, &B, &X, NULL));
        OK(trine_krylov_get_history(k, 0, had, NULL, &count, NULL));
        assert_int_equal(count, STEPS + 1);
        for (int i = 0; i <= STEPS; i++) {
            assert_true(fabs(had[i] - best[i]) <= 1e-12 * best[0]);
            assert_true(i == 0 || had[i] <= had[i - 1] * (1 + 1e-14));
        }
        OK(trine_krylov_destroy(&k));
        free_dense(A);
        free(b);
    }
    OK(trine_context_destroy(&ctx));
}

/** At a restart the estimate meets the residual that is computed: the basis is orthonormal, in complex too. */
static trine_status keep_last(void *user, int64_t rhs, int64_t step, double residual)
{
    (void)rhs;
    if (step < 16) *(double *)user = residual;
    return TRINE_SUCCESS;
}
static void estimates_are_residuals(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int flexible = 0; flexible < 2; flexible++)
        for (int d = 0; d < 4; d++) {
            if (!test_is_to_do()) continue;
            const trine_dtype t = all_dtypes[d];
            dense *A = general_system(ctx, t, N, 41), *M = jacobi_of(ctx, A, t);
            void *b = random_vector(t, N, 42);
            double x[2 * N], residuals[17], estimate = 0;
            int64_t count;
            trine_krylov k;
            OK(trine_krylov_create(
                ctx, &k, A->op, M->op,
                &(trine_krylov_options){.method = flexible ? TRINE_KRYLOV_FGMRES : TRINE_KRYLOV_GMRES,
                                        .restart = 15,
                                        .max_iterations = 15,
                                        .rtol = 1e-30,
                                        .history = 17}));
            OK(trine_krylov_set_monitor(k, keep_last, &estimate));
            const trine_dense B = block(b, N, 1), X = block(x, N, 1);
            (void)solve(k, &B, &X, NULL);
            OK(trine_krylov_get_history(k, 0, residuals, NULL, &count, NULL));
            assert_int_equal(count, 16);
            assert_true(fabs(estimate - residuals[15]) <= 50 * eps_of(t) * residuals[0]);
            assert_true(residuals[15] < 0.02 * residuals[0]);
            OK(trine_krylov_destroy(&k));
            free_dense(A);
            free_dense(M);
            free(b);
        }
    OK(trine_context_destroy(&ctx));
}

static void sums_have_exponents(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    for (int e = -3001; e <= 3001; e += 667) {
        const krylov_sum a = {3, 4, e}, b = {0.5, 0, e - 1}, c = {2, 0, -e};
        const krylov_scalar ratio = krylov_sum_ratio(a, b);
        assert_true(ratio.re == 12 && ratio.im == 16);
        assert_true(krylov_sum_root((krylov_sum){9, 0, 2 * (e / 4)}) == ldexp(3, e / 4));
        assert_true(fabs(krylov_sum_root((krylov_sum){8, 0, 2 * (e / 4) + 1}) / ldexp(4, e / 4) - 1) < 1e-15);
        const krylov_sum both = krylov_sum_add(a, b);
        assert_true(both.exponent == e && both.re == 3.25 && both.im == 4);
        assert_true(krylov_sum_add(b, a).re == 3.25 && krylov_sum_add((krylov_sum){0, 0, 0}, c).exponent == -e);
        if (abs(e) > 1100) assert_true(krylov_sum_add(a, c).re == (e > 0 ? 3 : 2));
    }
    const krylov_scalar one = krylov_over((krylov_scalar){1e200, 2e200}, (krylov_scalar){1e200, 2e200});
    assert_true(fabs(one.re - 1) < 1e-15 && fabs(one.im) < 1e-15);
}

/** A matrix of k distinct eigenvalues takes k steps; BiCGStab, of two products a step, at most so
 *  many. */
static void steps_are_as_many_as_eigenvalues(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++)
            for (int distinct = 1; distinct <= 5; distinct++) {
                if (!test_is_to_do()) continue;
                const trine_dtype t = all_dtypes[d];
                double entries[N], x[2 * N];
                for (int i = 0; i < N; i++) entries[i] = 1 + i % distinct;
                dense *A = diagonal_system(ctx, t, N, entries);
                void *b = random_vector(t, N, 5);
                const trine_krylov_result r =
                    run(ctx, A->op, NULL, (trine_krylov_options){.method = all_methods[m], .rtol = 1e4 * eps_of(t)}, b,
                        x, N);
                assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
                const bool is_right = all_methods[m] == TRINE_KRYLOV_BICGSTAB
                                          ? r.steps <= distinct && 2 * r.steps >= distinct
                                          : r.steps == distinct;
                if (!is_right)
                    fail_msg("%s: %d steps for %d eigenvalues", trine_krylov_method_name(all_methods[m]), (int)r.steps,
                             distinct);
                free(b);
                free_dense(A);
            }
    OK(trine_context_destroy(&ctx));
}

/** Restarts of 20, right-hand side and limit as in the thesis (5.3): independently computed counts. */
static void a_laplacian_takes_as_many_steps_as_elsewhere(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct {
        trine_krylov_method method;
        trine_dtype inner;
        int least, most;
    } cases[] = {{TRINE_KRYLOV_GMRES, 0, 210, 212},
                 {TRINE_KRYLOV_FGMRES, 0, 210, 212},
                 {TRINE_KRYLOV_GMRES, TRINE_S, 208, 214},
                 {TRINE_KRYLOV_CG, 0, 143, 145},
                 {TRINE_KRYLOV_MINRES, 0, 133, 135}};
    trine_matrix A;
    trine_spmv plan;
    trine_op op;
    enum { SIDE = 100 };
    static double s[SIDE * SIDE], b[SIDE * SIDE], x[SIDE * SIDE];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=100,ny=100", TRINE_D));
    OK(trine_spmv_analyse(ctx, &plan, A, NULL));
    OK(trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_spmv_as_op(plan, &op));
    for (int i = 0; i < SIDE * SIDE; i++) s[i] = sin(2 * acos(-1) * 8 * i / (SIDE * SIDE));
    trine_context cpu = test_cpu(1);
    trine_matrix on_cpu;
    OK(trine_matrix_gallery(cpu, &on_cpu, "laplace2d:nx=100,ny=100", TRINE_D));
    OK(trine_matrix_multiply(on_cpu, TRINE_N, NULL, s, NULL, b));
    OK(trine_matrix_destroy(&on_cpu));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (!test_is_to_do()) continue;
        const trine_krylov_result r =
            run(ctx, op, NULL, (trine_krylov_options){.method = cases[c].method, .inner = cases[c].inner}, b, x,
                SIDE * SIDE);
        assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
        assert_in_range(r.steps, cases[c].least, cases[c].most);
        assert_true(r.residual <= 1e-6 * r.rhs_norm);
    }
    OK(trine_op_destroy(&op));
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

/** Lengths about those of blocks and of what a block goes over more than once: diagonal systems, whose solution is
 *  known in every row; the same bits again. */
static void vectors_of_any_length(void **state)
{
    (void)state;
    enum { RIGHT = 2 };
    static const int64_t lengths[] = {1023, 1025, 33000, 70001, 600011};
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++)
            for (int l = 0; l < (test_on_gpu() ? 5 : 4); l++) {
                if (!test_is_to_do()) continue;
                const trine_dtype t = all_dtypes[d];
                const int64_t n = lengths[l];
                const size_t size = trine_dtype_size(t), bytes = (size_t)(RIGHT * n) * size;
                trine_context ctx = test_shared(2);
                void *entries = random_vector(t, n, 1), *b = random_vector(t, RIGHT * n, 2), *x = malloc(bytes),
                     *again = malloc(bytes);
                for (int64_t i = 0; i < n; i++) put(t, entries, i, 1 + (double)(i % 97) / 40);
                void *there = test_to_device(ctx, entries, (size_t)n * size);
                trine_op A;
                trine_krylov k;
                OK(trine_op_diagonal(ctx, &A, t, n, there));
                OK(trine_krylov_create(
                    ctx, &k, A, NULL,
                    &(trine_krylov_options){.method = all_methods[m], .rtol = 1e-5, .max_nrhs = RIGHT}));
                const trine_dense B = block(b, n, RIGHT), X = block(x, n, RIGHT), Y = block(again, n, RIGHT);
                OK(solve(k, &B, &X, NULL));
                OK(solve(k, &B, &Y, NULL));
                assert_memory_equal(x, again, bytes);
                for (int64_t i = 0; i < RIGHT * n; i++)
                    if (!(cabsl(get(t, x, i) * (1 + (double)(i % n % 97) / 40) - get(t, b, i)) <= 1e-2L))
                        fail_msg("row %lld of %lld", (long long)i, (long long)n);
                OK(trine_krylov_destroy(&k));
                OK(trine_op_destroy(&A));
                test_release(ctx, there);
                free(entries), free(b), free(x), free(again);
            }
}

/* --------------------------------------------------------------- happy breakdown */

static void invariant_spaces_end_the_iteration(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++) {
        if (!test_is_to_do()) continue;
        const double entries[4] = {2, 2, 2, 5}, singular[4] = {1, 2, 3, 0};
        double x[4];
        dense *A = diagonal_system(ctx, TRINE_D, 4, entries), *S = diagonal_system(ctx, TRINE_D, 4, singular);
        trine_krylov_options o = {.method = all_methods[m], .rtol = 1e-12};
        double eigenvector[4] = {1, -3, 2, 0}, consistent[4] = {1, 1, 1, 0};
        trine_krylov_result r = run(ctx, A->op, NULL, o, eigenvector, x, 4);
        assert_true(r.outcome == TRINE_OUTCOME_CONVERGED && r.steps == 1);
        for (int i = 0; i < 4; i++) assert_true(fabs(x[i] - eigenvector[i] / 2) <= 1e-15);
        r = run(ctx, S->op, NULL, o, consistent, x, 4);
        assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
        assert_int_equal(r.steps, 3);
        for (int i = 0; i < 3; i++) assert_true(fabs(x[i] - 1 / singular[i]) <= 1e-11);
        free_dense(A);
        free_dense(S);
    }
    OK(trine_context_destroy(&ctx));
}

/** Nothing can be gained from the part of b that A does not reach. */
static void singular_systems_stagnate(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const double entries[4] = {1, 2, 3, 0};
    double b[4] = {1, 1, 1, 1}, x[4];
    for (int m = 0; m < METHODS; m++) {
        if (!test_is_to_do()) continue;
        if (all_methods[m] == TRINE_KRYLOV_BICGSTAB || all_methods[m] == TRINE_KRYLOV_CG) continue;
        dense *A = diagonal_system(ctx, TRINE_D, 4, entries);
        const trine_krylov_result r = run(ctx, A->op, NULL, (trine_krylov_options){.method = all_methods[m]}, b, x, 4);
        if (r.outcome != TRINE_OUTCOME_STAGNATION || r.steps > 20)
            fail_msg("%s: %s after %d steps, %g", trine_krylov_method_name(all_methods[m]),
                     trine_krylov_outcome_name(r.outcome), (int)r.steps, r.residual);
        assert_true(fabs(r.residual - 1) <= 1e-12); /* the least-squares solution */
        check_residual(A, &r, 0, b, x);
        free_dense(A);
    }
    OK(trine_context_destroy(&ctx));
}

/** A system with a known least-squares residual, the part of b that A does not reach: diagonal with a zero, or the
 *  Laplacian of a graph, whose rows have the sum zero exactly. M: 0 none, 1 right, 2 left; A and b are scaled. */
static void check_singular(trine_context ctx, trine_krylov_method method, trine_dtype t, int n, bool is_laplacian,
                           int M, double scale, uint64_t seed)
{
    double entries[N] = {0}, of_M[N], x[2 * N];
    void *b = random_vector(t, n, seed);
    wide beyond = is_laplacian ? 0 : scale * get(t, b, 0);
    for (int i = 0; i < n; i++) {
        if (i) entries[i] = scale * (1 + i + test_uniform(seed + 1, (uint64_t)i));
        of_M[i] = 0.5 + test_uniform(seed + 2, (uint64_t)i);
    }
    dense *A = diagonal_system(ctx, t, n, entries), *P = M ? diagonal_system(ctx, t, n, of_M) : NULL;
    for (int i = 0; is_laplacian && i < n; i++) {
        set_entry(A, i, i, 0);
        beyond += scale * get(t, b, i) / sqrtl(n);
    }
    for (int k = 0; is_laplacian && k < n * n; k++) {
        const int i = k % n, j = k / n;
        if (i <= j) continue;
        const double weight = ldexp(floor(64 * test_uniform(seed + 3, (uint64_t)k)) + 1, -6) * scale;
        set_entry(A, i, j, -weight);
        set_entry(A, j, i, -weight);
        set_entry(A, i, i, A->A[i + i * n] + weight);
        set_entry(A, j, j, A->A[j + j * n] + weight);
    }
    for (int i = 0; i < n; i++) put(t, b, i, scale * get(t, b, i));
    const trine_krylov_result r =
        run(ctx, A->op, P ? P->op : NULL,
            (trine_krylov_options){.method = method, .side = M == 2 ? TRINE_SIDE_LEFT : TRINE_SIDE_RIGHT}, b, x, n);
    const char *name = trine_krylov_method_name(method);
    if (r.outcome != TRINE_OUTCOME_STAGNATION || r.steps > 20 * n)
        fail_msg("%s, %d unknowns: %s after %d steps", name, n, trine_krylov_outcome_name(r.outcome), (int)r.steps);
    /* less than the default of `stagnation`, beside what single precision can give */
    const double excess = r.residual - (double)cabsl(beyond),
                 limit = is_laplacian ? 1e-6 + 50 * eps_of(t) : 50 * eps_of(t);
    if (!(fabs(excess) <= limit * r.rhs_norm))
        fail_msg("%s in %d, %d unknowns, M %d: a residual of %g, not %g", name, (int)t, n, M, r.residual,
                 (double)cabsl(beyond));
    check_residual(A, &r, 0, b, x);
    free(b);
    free_dense(A);
    free_dense(P);
}

static void least_squares_residuals_are_reached(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    /* 1e30 and 1e-30, and in single precision what leaves room for rounding errors of numbers of that size */
    static const int scales[][3] = {{0, 100, -100}, {0, 75, -75}};
    static const trine_krylov_method methods[] = {TRINE_KRYLOV_GMRES, TRINE_KRYLOV_FGMRES, TRINE_KRYLOV_MINRES};
    for (int k = 0; k < 3 * 4 * 12; k++)
        for (uint64_t seed = 0; seed < 12; seed += 3) {
            if (!test_is_to_do()) continue;
            const trine_krylov_method method = methods[k % 3];
            const trine_dtype t = all_dtypes[k / 3 % 4];
            const int kind = k / 12 % 4, M = kind == 2 && method == TRINE_KRYLOV_FGMRES ? 1 : kind % 3;
            const double scale = ldexp(1, scales[t == TRINE_S || t == TRINE_C][k / 48]);
            check_singular(ctx, method, t, seed % 2 ? 6 : 11, kind == 3, M, scale, seed + 1000 * (uint64_t)k);
        }
    OK(trine_context_destroy(&ctx));
}

/** The shift e_i -> e_{i+1}, cyclic: GMRES finds nothing before step n. */
static void short_restarts_stagnate(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_context();
    enum { SHIFT = 12 };
    dense *A = new_dense(ctx, TRINE_D, SHIFT, false);
    for (int i = 0; i < SHIFT; i++) set_entry(A, (i + 1) % SHIFT, i, 1);
    double b[SHIFT] = {1}, x[SHIFT];
    trine_krylov_result r = run(ctx, A->op, NULL, (trine_krylov_options){.restart = SHIFT}, b, x, SHIFT);
    assert_true(r.outcome == TRINE_OUTCOME_CONVERGED && r.steps == SHIFT);
    assert_true(fabs(x[SHIFT - 1] - 1) <= 1e-14);
    r = run(ctx, A->op, NULL, (trine_krylov_options){.restart = SHIFT - 1}, b, x, SHIFT);
    assert_true(r.outcome == TRINE_OUTCOME_STAGNATION && r.steps == 2 * (SHIFT - 1) && r.residual == 1);
    free_dense(A);
    OK(trine_context_destroy(&ctx));
}

/* -------------------------------------------------------------------- breakdown */

static void breakdowns_are_named(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int d = 0; d < 4; d++) {
        if (!test_is_to_do()) continue;
        const trine_dtype t = all_dtypes[d];
        double x[2 * N];
        dense *skew = new_dense(ctx, t, N, false);
        for (int j = 0; j < N; j++)
            for (int i = j + 1; i < N; i++) {
                const wide value = random_element(t, 3, (uint64_t)(i + j * N));
                set_entry(skew, i, j, value);
                set_entry(skew, j, i, -value);
            }
        void *b = random_vector(t, N, 4);
        for (int i = 0; i < N; i++) put(t, b, i, test_uniform(4, (uint64_t)i)); /* real: b^T A b = 0 */
        trine_krylov_result r =
            run(ctx, skew->op, NULL, (trine_krylov_options){.method = TRINE_KRYLOV_BICGSTAB}, b, x, N);
        assert_int_equal(r.outcome, TRINE_OUTCOME_BREAKDOWN_RHO);
        assert_true(r.steps == 0 && r.residual == r.rhs_norm);
        for (int i = 0; i < N; i++) assert_true(get(t, x, i) == 0);
        free(b);
        free_dense(skew);

        dense *omega = new_dense(ctx, t, 2, false); /* s = (0, 1), A s = (1, 0) */
        set_entry(omega, 0, 0, 1);
        set_entry(omega, 0, 1, 1);
        set_entry(omega, 1, 0, -1);
        double e[4] = {0}, y[4];
        put(t, e, 0, 1);
        r = run(ctx, omega->op, NULL, (trine_krylov_options){.method = TRINE_KRYLOV_BICGSTAB}, e, y, 2);
        assert_int_equal(r.outcome, TRINE_OUTCOME_BREAKDOWN_OMEGA);
        check_residual(omega, &r, 0, e, y);
        assert_true(r.residual <= r.rhs_norm);
        free_dense(omega);

        dense *indefinite = hermitian_system(ctx, t, N, false, 8);
        b = random_vector(t, N, 9);
        r = run(ctx, indefinite->op, NULL, (trine_krylov_options){.method = TRINE_KRYLOV_CG}, b, x, N);
        assert_int_equal(r.outcome, TRINE_OUTCOME_INDEFINITE);
        check_residual(indefinite, &r, 0, b, x);
        assert_true(r.residual <= r.rhs_norm);
        double minus[N];
        for (int i = 0; i < N; i++) minus[i] = i % 2 ? 1 : -1;
        dense *M = diagonal_system(ctx, t, N, minus), *A = hermitian_system(ctx, t, N, true, 10);
        for (int m = 3; m < 5; m++) { /* CG and MINRES with an indefinite M */
            r = run(ctx, A->op, M->op, (trine_krylov_options){.method = all_methods[m]}, b, x, N);
            assert_int_equal(r.outcome, TRINE_OUTCOME_INDEFINITE);
            check_residual(A, &r, 0, b, x);
        }
        free(b);
        free_dense(indefinite);
        free_dense(A);
        free_dense(M);
    }
    OK(trine_context_destroy(&ctx));
}

/* ----------------------------------------------------------------------- scaling */

/** A, b and M multiplied by powers of two: the same steps, and x as it follows from them. */
static void steps_do_not_depend_on_scales(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int far[][3] = {{498, 0, 0},       {-498, 0, 0}, {0, 498, 0},  {0, -498, 0},   {498, 498, -498},
                                 {-498, -498, 498}, {0, 0, 498},  {0, 0, -498}, {498, -498, 0}, {-498, 498, 100}};
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++)
            for (int side = 0; side < 2; side++) {
                if (!test_is_to_do()) continue;
                const trine_dtype t = all_dtypes[d];
                const bool is_single = t == TRINE_S || t == TRINE_C;
                dense *A = system_for(ctx, all_methods[m], t, N, 77), *M = jacobi_of(ctx, A, t);
                wide kept_A[N * N], kept_M[N * N];
                void *b = random_vector(t, N, 78);
                double x[2 * N], y[2 * N];
                wide kept_b[N];
                memcpy(kept_A, A->A, sizeof kept_A);
                memcpy(kept_M, M->A, sizeof kept_M);
                for (int i = 0; i < N; i++) kept_b[i] = get(t, b, i);
                trine_krylov_options o = {.method = all_methods[m], .rtol = 1e3 * eps_of(t)};
                if (side && all_methods[m] != TRINE_KRYLOV_FGMRES) o.side = TRINE_SIDE_LEFT;
                const trine_krylov_result plain = run(ctx, A->op, M->op, o, b, x, N);
                assert_int_equal(plain.outcome, TRINE_OUTCOME_CONVERGED);
                for (size_t s = 0; s < sizeof far / sizeof *far; s++) {
                    /* in single precision numbers of 1e30 to 1e-30: what is far beside what stays in the middle */
                    const int by = is_single ? 10 : 1, of_A = far[s][0] / by, of_b = far[s][1] / by,
                              of_M = far[s][2] / by;
                    for (int k = 0; k < N * N; k++) {
                        A->A[k] = kept_A[k] * ldexpl(1, of_A);
                        M->A[k] = kept_M[k] * ldexpl(1, of_M);
                    }
                    for (int i = 0; i < N; i++) put(t, b, i, kept_b[i] * ldexpl(1, of_b));
                    const trine_krylov_result r = run(ctx, A->op, M->op, o, b, y, N);
                    if (r.outcome)
                        fail_msg("%s in %d, side %d, scales 2^%d, 2^%d, 2^%d: %s after %d steps, not %d",
                                 trine_krylov_method_name(all_methods[m]), (int)t, side, of_A, of_b, of_M,
                                 trine_krylov_outcome_name(r.outcome), (int)r.steps, (int)plain.steps);
                    if (labs((long)(r.steps - plain.steps)) > 1)
                        fail_msg("%s, scales 2^%d, 2^%d, 2^%d: %d steps, not %d",
                                 trine_krylov_method_name(all_methods[m]), of_A, of_b, of_M, (int)r.steps,
                                 (int)plain.steps);
                    check_residual(A, &r, o.rtol * r.rhs_norm, b, y);
                }
                free(b);
                free_dense(A);
                free_dense(M);
            }
    OK(trine_context_destroy(&ctx));
}

/** Rows of 1e30 to 1e-30: a diagonal on the left undoes them for the iteration. Whatever comes out has a name, and
 *  the residual that is told is the one that x has. */
static void rows_of_any_scale(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < 3; m++)
        for (int d = 0; d < 4; d++)
            for (int side = 0; side < 3; side++) {
                if (!test_is_to_do()) continue;
                const trine_dtype t = all_dtypes[d];
                if (side == 2 && all_methods[m] == TRINE_KRYLOV_FGMRES) continue;
                dense *A = general_system(ctx, t, N, 91);
                for (int i = 0; i < N; i++) {
                    const long double scale = powl(10, 60 * test_uniform(92, (uint64_t)i) - 30);
                    for (int j = 0; j < N; j++) set_entry(A, i, j, A->A[i + j * N] * scale);
                }
                dense *M = jacobi_of(ctx, A, t);
                wide s[N], product[N];
                for (int i = 0; i < N; i++) s[i] = 1;
                multiply_wide(A, s, product);
                double b[2 * N], x[2 * N];
                for (int i = 0; i < N; i++) put(t, b, i, product[i]);
                const trine_krylov_result r =
                    run(ctx, A->op, side ? M->op : NULL,
                        (trine_krylov_options){.method = all_methods[m],
                                               .side = side == 2 ? TRINE_SIDE_LEFT : TRINE_SIDE_RIGHT},
                        b, x, N);
                for (int i = 0; i < N; i++) assert_true(isfinite((double)cabsl(get(t, x, i))));
                assert_true(r.outcome != TRINE_OUTCOME_CALLBACK_FAILED && r.residual <= r.rhs_norm);
                check_residual(A, &r, 1e-6 * r.rhs_norm, b, x);
                if (side == 2 && eps_of(t) < 1e-10) assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
                free_dense(A);
                free_dense(M);
            }
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------ mixed precision */

/** The cycle in single precision, x in double: as accurate as all double. */
static void mixed_precision_is_accurate(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 8; d++) {
            if (!test_is_to_do()) continue;
            const trine_dtype t = d % 2 ? TRINE_Z : TRINE_D, inner = d % 2 ? TRINE_C : TRINE_S;
            dense *A = system_for(ctx, all_methods[m], t, N, 55),
                  *M = d / 2 % 2 ? jacobi_of(ctx, A, d / 4 ? t : inner) : NULL;
            dense *single = d / 4 ? NULL : new_dense(ctx, inner, N, false);
            for (int k = 0; single && k < N * N; k++) set_entry(single, k % N, k / N, A->A[k]);
            void *b = random_vector(t, N, 56);
            double x[2 * N];
            const trine_krylov_result r =
                run(ctx, A->op, M ? M->op : NULL,
                    (trine_krylov_options){
                        .method = all_methods[m], .inner = inner, .inner_A = single ? single->op : NULL, .rtol = 1e-13},
                    b, x, N);
            assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
            check_residual(A, &r, 1e-13 * r.rhs_norm, b, x);
            assert_true(r.restarts >= 2); /* each brings at most what single precision has */
            const int per_restart = all_methods[m] == TRINE_KRYLOV_BICGSTAB ? 25 : 40;
            assert_true(r.steps <= r.restarts * per_restart); /* and does not go on for more */
            if (single) assert_true(A->calls == r.restarts && single->calls >= r.steps);
            free(b);
            free_dense(A);
            free_dense(M);
            free_dense(single);
        }
    OK(trine_context_destroy(&ctx));
}

/** What the precision cannot give ends, and with the best x. */
static void unreachable_tolerances_end(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++) {
            if (!test_is_to_do()) continue;
            const trine_dtype t = all_dtypes[d];
            dense *A = system_for(ctx, all_methods[m], t, N, 61);
            void *b = random_vector(t, N, 62);
            double x[2 * N];
            const trine_krylov_result r =
                run(ctx, A->op, NULL, (trine_krylov_options){.method = all_methods[m], .rtol = 1e-30}, b, x, N);
            assert_int_equal(r.outcome, TRINE_OUTCOME_STAGNATION);
            assert_true(r.steps < 1000);
            assert_true(r.residual <= 100 * eps_of(t) * r.rhs_norm);
            check_residual(A, &r, 0, b, x);
            free(b);
            free_dense(A);
        }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_finds_the_solution),
        cmocka_unit_test(residuals_are_the_smallest),
        cmocka_unit_test(estimates_are_residuals),
        cmocka_unit_test(sums_have_exponents),
        cmocka_unit_test(steps_are_as_many_as_eigenvalues),
        cmocka_unit_test(a_laplacian_takes_as_many_steps_as_elsewhere),
        cmocka_unit_test(vectors_of_any_length),
        cmocka_unit_test(invariant_spaces_end_the_iteration),
        cmocka_unit_test(singular_systems_stagnate),
        cmocka_unit_test(least_squares_residuals_are_reached),
        cmocka_unit_test(short_restarts_stagnate),
        cmocka_unit_test(breakdowns_are_named),
        cmocka_unit_test(steps_do_not_depend_on_scales),
        cmocka_unit_test(rows_of_any_scale),
        cmocka_unit_test(mixed_precision_is_accurate),
        cmocka_unit_test(unreachable_tolerances_end),
    };
    return TEST_MAIN(tests);
}
