/* The loop on the device: the same steps as the host's, whatever ends them, and the host waits once. */
#include "krylov_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"

enum { N = 61, RIGHT = 3, MANY = 17 };

/* ------------------------------------------------------- operators that can be recorded */

/** A dense system's entries as a product: row by row, without zeros. */
static trine_op product_of(trine_context ctx, const dense *d)
{
    int64_t *offsets = malloc(((size_t)d->n + 1) * sizeof *offsets), nnz = 0;
    int32_t *columns = malloc((size_t)(d->n * d->n + 1) * sizeof *columns);
    void *values = malloc((size_t)(d->n * d->n + 1) * trine_dtype_size(d->t));
    for (int i = 0; i < d->n; i++) {
        offsets[i] = nnz;
        for (int j = 0; j < d->n; j++) {
            if (d->A[i + j * d->n] == 0) continue;
            columns[nnz] = j;
            put(d->t, values, nnz++, d->A[i + j * d->n]);
        }
    }
    offsets[d->n] = nnz;
    trine_matrix A;
    trine_spmv plan;
    trine_op op;
    OK(trine_matrix_csr(ctx, &A, d->t, d->n, d->n, nnz, TRINE_HOST, 64, offsets, 32, columns, values));
    OK(trine_spmv_analyse(ctx, &plan, A, NULL));
    OK(trine_spmv_numeric(plan, TRINE_HOST, values, NULL));
    OK(trine_context_synchronize(ctx));
    OK(trine_spmv_as_op(plan, &op));
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    free(offsets), free(columns), free(values);
    return op;
}

static void expect_loop(trine_krylov k, const char *loop)
{
    trine_krylov_info info;
    OK(trine_krylov_get_info(k, &info));
    if (strncmp(info.loop, loop, strlen(loop)) != 0)
        fail_msg("the loop is \"%s\", not \"%s\"; the last failure: %s", info.loop, loop, trine_last_error());
}

static trine_status say_nothing(void *user, int64_t rhs, int64_t step, double residual)
{
    (void)user, (void)rhs, (void)step, (void)residual;
    return TRINE_SUCCESS;
}

/** A solve by the device's loop and one by the host's: the same steps, outcome and history, and the same x. Returns the
 *  first right-hand side's result. */
static trine_krylov_result compare_turns(trine_context ctx, trine_op A, int m, const trine_op *M,
                                         trine_krylov_options o, trine_dtype t, const void *b, int n, int nrhs)
{
    enum { MOST = 400 };
    trine_krylov k;
    trine_krylov_result r[2], first = {0};
    const size_t bytes = (size_t)(n * nrhs) * trine_dtype_size(t);
    void *x[2] = {calloc(1, bytes), calloc(1, bytes)};
    static double residuals[2][MOST];
    int64_t count[2];
    trine_status status[2];
    o.max_nrhs = nrhs;
    o.history = MOST;
    for (int i = 0; i < n * nrhs; i++)
        for (int by = 0; by < 2; by++) put(t, x[by], i, i % 5 == 0);
    if (m) OK(trine_krylov_create_alternating(ctx, &k, A, m, M, &o));
    else OK(trine_krylov_create(ctx, &k, A, NULL, &o));
    expect_loop(k, "device");
    const trine_dense B = block((void *)b, n, nrhs), X[2] = {block(x[0], n, nrhs), block(x[1], n, nrhs)};
    for (int by = 0; by < 2; by++) {
        const int64_t looks = trine_krylov_looks(k);
        OK(trine_krylov_set_monitor(k, by ? say_nothing : NULL, NULL));
        status[by] = solve(k, &B, &X[by], NULL);
        expect_loop(k, by ? "host: a monitor" : "device"); /* recording went well */
        OK(trine_krylov_get_result(k, 0, &r[by], NULL));
        if (by) assert_true(trine_krylov_looks(k) - looks > r[by].steps);
        else assert_int_equal(trine_krylov_looks(k) - looks, 1);
    }
    assert_int_equal(status[0], status[1]);
    for (int c = 0; c < nrhs; c++) {
        for (int by = 0; by < 2; by++) {
            OK(trine_krylov_set_monitor(k, by ? say_nothing : NULL, NULL));
            (void)solve(k, &B, &X[by], NULL);
            OK(trine_krylov_get_result(k, c, &r[by], NULL));
            OK(trine_krylov_get_history(k, c, residuals[by], NULL, &count[by], NULL));
            if (c == 0 && !by) first = r[0];
        }
        if (nrhs == 1) { /* products of several vectors need not have the bits of one's */
            assert_memory_equal(&r[0].residual, &r[1].residual, sizeof(double));
            assert_true(r[0].steps == r[1].steps && r[0].restarts == r[1].restarts && r[0].best_step == r[1].best_step);
            assert_int_equal(count[0], count[1]);
            assert_memory_equal(residuals[0], residuals[1], (size_t)count[0] * sizeof(double));
        }
        assert_int_equal(r[0].outcome, r[1].outcome);
        assert_true(llabs(r[0].steps - r[1].steps) <= 1 && r[0].row == r[1].row);
        if (isfinite(r[0].rhs_norm)) assert_true(r[0].rhs_norm == r[1].rhs_norm);
    }
    if (nrhs == 1 && !o.use_guess) assert_memory_equal(x[0], x[1], bytes);
    OK(trine_krylov_destroy(&k));
    free(x[0]), free(x[1]);
    return first;
}

static trine_krylov_result compare(trine_context ctx, trine_op A, trine_op M, trine_krylov_options o, trine_dtype t,
                                   const void *b, int n, int nrhs)
{
    return compare_turns(ctx, A, M ? 1 : 0, &M, o, t, b, n, nrhs);
}

/* --------------------------------------------------------------------------- tests */

/** A system that can be recorded, with what suits it on the other side. */
typedef struct {
    trine_context ctx;
    dense *A, *M;
    trine_op a, m;
    void *b;
} scene;

/** M: in the precision t. */
static scene open_scene(dense *A, trine_dtype t, uint64_t seed)
{
    scene s = {.ctx = A->ctx, .A = A, .M = jacobi_of(A->ctx, A, t), .b = random_vector(A->t, RIGHT * N, seed)};
    s.a = product_of(s.ctx, A);
    s.m = product_of(s.ctx, s.M);
    return s;
}
static void close_scene(scene *s)
{
    OK(trine_op_destroy(&s->a));
    OK(trine_op_destroy(&s->m));
    free_dense(s->A);
    free_dense(s->M);
    free(s->b);
}

static void every_method_takes_the_same_steps(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++)
        for (int d = 0; d < 4; d++)
            for (int preconditioner = 0; preconditioner < 3; preconditioner++) {
                if (preconditioner == 2 && all_methods[m] == TRINE_KRYLOV_FGMRES) continue;
                const trine_dtype t = all_dtypes[d];
                scene s = open_scene(system_for(ctx, all_methods[m], t, N, (uint64_t)(10 * m + d)), t, 7);
                trine_krylov_options o = {.method = all_methods[m],
                                          .restart = 11,
                                          .rtol = 1e3 * eps_of(t),
                                          .side = preconditioner == 2 ? TRINE_SIDE_LEFT : TRINE_SIDE_AUTO};
                for (int nrhs = 1; nrhs <= RIGHT; nrhs += 2)
                    for (int guess = 0; guess < 2; guess++) {
                        o.use_guess = guess;
                        const trine_krylov_result r =
                            compare(ctx, s.a, preconditioner ? s.m : NULL, o, t, s.b, N, nrhs);
                        assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
                    }
                close_scene(&s);
            }
    OK(trine_context_destroy(&ctx));
}

static void cycles_in_single_precision(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++) {
        scene s = open_scene(system_for(ctx, all_methods[m], TRINE_D, N, 3), TRINE_S, 8);
        const trine_krylov_result r =
            compare(ctx, s.a, s.m, (trine_krylov_options){.method = all_methods[m], .inner = TRINE_S, .rtol = 1e-12},
                    TRINE_D, s.b, N, 1);
        assert_true(r.outcome == TRINE_OUTCOME_CONVERGED && r.restarts >= 2);
        close_scene(&s);
    }
    OK(trine_context_destroy(&ctx));
}

/** Three preconditioners in cycles of four steps: turns go on across restarts, and begin anew in each solve. */
static void preconditioners_take_turns(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int d = 0; d < 4; d++) {
        const trine_dtype t = all_dtypes[d];
        scene s = open_scene(general_system(ctx, t, N, 31), t, 32);
        trine_op ops[3];
        for (int l = 0; l < 3; l++) {
            for (int i = 0; i < N; i++) set_entry(s.M, i, i, (1 + (i + l) % 3) / s.A->A[i + i * N]);
            ops[l] = product_of(ctx, s.M);
        }
        const trine_krylov_result r = compare_turns(
            ctx, s.a, 3, ops, (trine_krylov_options){.restart = 4, .rtol = 1e3 * eps_of(t)}, t, s.b, N, 1);
        assert_true(r.outcome == TRINE_OUTCOME_CONVERGED && r.restarts >= 2 && r.iterations == (r.steps + 2) / 3);
        for (int l = 0; l < 3; l++) OK(trine_op_destroy(&ops[l]));
        close_scene(&s);
    }
    OK(trine_context_destroy(&ctx));
}

/** Rows of five entries, two of them far away, of no symmetry. */
typedef struct {
    int64_t *offsets;
    int32_t *columns;
    void *values;
} far_rows;
static far_rows make_far_rows(trine_dtype t, int n)
{
    static const int away[] = {-997, -1, 0, 1, 4099};
    far_rows r = {malloc(((size_t)n + 1) * sizeof *r.offsets), malloc(5 * (size_t)n * sizeof *r.columns),
                  malloc(5 * (size_t)n * trine_dtype_size(t))};
    int64_t nnz = 0;
    for (int i = 0; i < n; i++) {
        r.offsets[i] = nnz;
        for (int k = 0; k < 5; k++) {
            const int j = i + away[k];
            if (j < 0 || j >= n) continue;
            r.columns[nnz] = j;
            put(t, r.values, nnz++, away[k] ? random_element(t, 5, (uint64_t)(5 * i + k)) : 4 + (wide)(i % 7));
        }
    }
    r.offsets[n] = nnz;
    return r;
}
static trine_op far_product(trine_context ctx, trine_dtype t, int n, const far_rows *r)
{
    trine_matrix A;
    trine_spmv plan;
    trine_op op;
    OK(trine_matrix_csr(ctx, &A, t, n, n, r->offsets[n], TRINE_HOST, 64, r->offsets, 32, r->columns, r->values));
    OK(trine_spmv_analyse(ctx, &plan, A, NULL));
    OK(trine_spmv_numeric(plan, TRINE_HOST, r->values, NULL));
    OK(trine_context_synchronize(ctx));
    OK(trine_spmv_as_op(plan, &op));
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&A));
    return op;
}

/** Vectors of many blocks, which meet: beside the host's loop, and beside a CPU. */
static void many_blocks_take_the_same_steps(void **state)
{
    (void)state;
    trine_context ctx = test_context(), cpu;
    OK(trine_context_create(&cpu, "cpu"));
    static const int sizes[] = {300, 70001, 150001};
    for (int d = 0; d < 4; d++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
            for (int with = 0; with < 3; with++) {
                const trine_dtype t = all_dtypes[d];
                const int n = sizes[size];
                const trine_krylov_options o = {.method = with == 2 ? TRINE_KRYLOV_FGMRES : TRINE_KRYLOV_GMRES,
                                                .restart = with ? 7 : 0,
                                                .rtol = 1e4 * eps_of(t)};
                void *b = random_vector(t, n, 41), *m = malloc((size_t)n * trine_dtype_size(t)),
                     *x = malloc((size_t)n * trine_dtype_size(t));
                for (int i = 0; i < n; i++) put(t, m, i, 1 / (4 + (wide)(i % 7)));
                const far_rows rows = make_far_rows(t, n);
                trine_op A = far_product(ctx, t, n, &rows), there = far_product(cpu, t, n, &rows), M = NULL,
                         M_there = NULL;
                void *copy = NULL;
                if (with) {
                    OK(trine_alloc(ctx, TRINE_DEVICE, (size_t)n * trine_dtype_size(t), &copy));
                    OK(trine_copy(ctx, copy, TRINE_DEVICE, m, TRINE_HOST, (size_t)n * trine_dtype_size(t)));
                    OK(trine_op_diagonal(ctx, &M, t, n, copy));
                    OK(trine_op_diagonal(cpu, &M_there, t, n, m));
                }
                const trine_krylov_result r = compare(ctx, A, M, o, t, b, n, 1);
                assert_int_equal(r.outcome, TRINE_OUTCOME_CONVERGED);
                trine_krylov k;
                trine_krylov_result q;
                const trine_dense B = block(b, n, 1), X = block(x, n, 1);
                OK(trine_krylov_create(cpu, &k, there, M_there, &o));
                OK(trine_krylov_solve(k, &B, &X, NULL));
                OK(trine_krylov_get_result(k, 0, &q, NULL));
                assert_true(llabs(q.steps - r.steps) <= 1 && q.restarts == r.restarts);
                OK(trine_krylov_destroy(&k));
                OK(trine_op_destroy(&A));
                OK(trine_op_destroy(&there));
                OK(trine_op_destroy(&M));
                OK(trine_op_destroy(&M_there));
                trine_free(ctx, TRINE_DEVICE, copy);
                free(rows.offsets), free(rows.columns), free(rows.values);
                free(b), free(m), free(x);
            }
    OK(trine_context_destroy(&cpu));
    OK(trine_context_destroy(&ctx));
}

/** A symmetric system for CG, and one for the others. */
static far_rows make_rows_for(trine_krylov_method method, trine_dtype t, int n)
{
    far_rows r = make_far_rows(t, n);
    for (int i = 0; i < n && method == TRINE_KRYLOV_CG; i++)
        for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; k++) {
            const int away = r.columns[k] - i;
            put(t, r.values, k, away == 1 || away == -1 ? -1 : away ? 0 : 4 + (wide)(i % 7));
        }
    return r;
}

/** Right-hand sides of which one is zero, one larger than the others, and the last, if there are three, no number in
 *  one row: beside the host's loop and beside a CPU; and what is no number changes no bit of the others. */
static void compare_several(trine_context ctx, trine_context cpu, trine_krylov_method method, trine_dtype t, int n,
                            int nrhs, bool has_M)
{
    const size_t size = trine_dtype_size(t), bytes = (size_t)n * (size_t)nrhs * size;
    const int bad = nrhs > 2 ? n / 3 : -1;
    const trine_krylov_options o = {
        .method = method, .restart = has_M ? 7 : 0, .rtol = 1e4 * eps_of(t), .max_nrhs = nrhs, .history = 30};
    char *b = random_vector(t, (int64_t)n * nrhs, 43), *x[3] = {malloc(bytes), malloc(bytes), malloc(bytes)},
         *m = malloc((size_t)n * size);
    const far_rows rows = make_rows_for(method, t, n);
    trine_op A = far_product(ctx, t, n, &rows), there = far_product(cpu, t, n, &rows), M = NULL, M_there = NULL;
    void *copy = NULL;
    trine_krylov k;
    trine_krylov_result r, q[MANY];
    for (int i = 0; i < n; i++) put(t, m, i, 1 / (4 + (wide)(i % 7)));
    for (int i = 0; i < n; i++) put(t, b, n + i, nrhs > 3 ? 0 : get(t, b, n + i));
    for (int i = 0; i < n; i++) put(t, b, i, 1000 * get(t, b, i));
    const wide good = get(t, b, (nrhs - 1) * n + (bad < 0 ? 0 : bad));
    if (bad >= 0) put(t, b, (nrhs - 1) * n + bad, NAN);
    if (has_M) {
        OK(trine_alloc(ctx, TRINE_DEVICE, (size_t)n * size, &copy));
        OK(trine_copy(ctx, copy, TRINE_DEVICE, m, TRINE_HOST, (size_t)n * size));
        OK(trine_op_diagonal(ctx, &M, t, n, copy));
        OK(trine_op_diagonal(cpu, &M_there, t, n, m));
    }
    (void)compare(ctx, A, M, o, t, b, n, nrhs);
    OK(trine_krylov_create(cpu, &k, there, M_there, &o));
    const trine_dense B = block(b, n, nrhs);
    for (int by = 0; by < 3; by++) {
        const trine_dense X = block(x[by], n, nrhs);
        if (by == 1) {
            OK(trine_krylov_destroy(&k));
            OK(trine_krylov_create(ctx, &k, A, M, &o));
        }
        if (by == 2 && bad >= 0) put(t, b, (nrhs - 1) * n + bad, good);
        const trine_status status = solve(k, &B, &X, NULL);
        assert_true(status == TRINE_SUCCESS || (by < 2 && bad >= 0 && status == TRINE_ERR_NO_CONVERGENCE));
        for (int c = 0; c < nrhs; c++) {
            OK(trine_krylov_get_result(k, c, by ? &r : &q[c], NULL));
            if (by != 1) continue;
            assert_true(r.outcome == q[c].outcome && r.row == q[c].row);
            assert_true(llabs(r.steps - q[c].steps) <= 1 && r.restarts == q[c].restarts);
            const double tolerance = isfinite(r.rhs_norm) ? 4 * o.rtol * r.rhs_norm : INFINITY;
            for (int i = c * n; i < (c + 1) * n && isfinite(tolerance); i++)
                assert_true(cabs((complex double)(get(t, x[0], i) - get(t, x[1], i))) <= tolerance);
        }
    }
    assert_memory_equal(x[1], x[2], (size_t)n * (size_t)(bad >= 0 ? nrhs - 1 : nrhs) * size);
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&A));
    OK(trine_op_destroy(&there));
    OK(trine_op_destroy(&M));
    OK(trine_op_destroy(&M_there));
    trine_free(ctx, TRINE_DEVICE, copy);
    free(rows.offsets), free(rows.columns), free(rows.values);
    free(b), free(x[0]), free(x[1]), free(x[2]), free(m);
}

static void several_columns_share_a_launch(void **state)
{
    (void)state;
    trine_context ctx = test_context(), cpu;
    OK(trine_context_create(&cpu, "cpu"));
    static const int columns[] = {2, 3, 5, 8, 9, MANY};
    for (int d = 0; d < 4; d++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int m = 0; m < METHODS; m++) {
                const int n = m == (int)c ? 30011 : m % 2 ? 1033 : 300;
                compare_several(ctx, cpu,
                                m % 3 == 0   ? TRINE_KRYLOV_CG
                                : m % 3 == 1 ? TRINE_KRYLOV_GMRES
                                             : TRINE_KRYLOV_FGMRES,
                                all_dtypes[d], n, columns[c], (d + (int)c + m) % 2);
            }
    OK(trine_context_destroy(&cpu));
    OK(trine_context_destroy(&ctx));
}

/** Everything that ends an iteration but failures, which a graph has none of. */
static void outcomes_are_the_same(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int m = 0; m < METHODS; m++) {
        const trine_krylov_method method = all_methods[m];
        trine_krylov_options o = {.method = method, .restart = 6};
        dense *A = system_for(ctx, method, TRINE_D, N, 13);
        double *b = random_vector(TRINE_D, N, 14), zeros[N] = {0};
        trine_op a = product_of(ctx, A);
        o.max_iterations = 4;
        o.rtol = 1e-14;
        trine_krylov_result r = compare(ctx, a, NULL, o, TRINE_D, b, N, 1);
        assert_true(r.outcome == TRINE_OUTCOME_MAX_ITERATIONS && r.steps == 4);
        r = compare(ctx, a, NULL, o, TRINE_D, zeros, N, 1);
        assert_true(r.outcome == TRINE_OUTCOME_CONVERGED && r.steps == 0);
        o.max_iterations = 0;
        o.rtol = 1e-30;
        r = compare(ctx, a, NULL, o, TRINE_D, b, N, 1);
        assert_int_equal(r.outcome, TRINE_OUTCOME_STAGNATION);
        o.rtol = 1e-8;
        b[17] = NAN;
        r = compare(ctx, a, NULL, o, TRINE_D, b, N, 1);
        assert_true(r.outcome == TRINE_OUTCOME_NOT_FINITE && r.row == 17);
        b[17] = 1;
        OK(trine_op_destroy(&a));
        A->A[5 + 5 * N] = INFINITY;
        a = product_of(ctx, A);
        r = compare(ctx, a, NULL, o, TRINE_D, b, N, 1);
        assert_int_equal(r.outcome, TRINE_OUTCOME_NOT_FINITE);
        OK(trine_op_destroy(&a));
        free_dense(A);
        if (method == TRINE_KRYLOV_CG) {
            A = hermitian_system(ctx, TRINE_D, N, false, 8);
        } else if (method == TRINE_KRYLOV_BICGSTAB) { /* skew-symmetric */
            A = new_dense(ctx, TRINE_D, N, false);
            for (int j = 0; j < N; j++)
                for (int i = j + 1; i < N; i++) {
                    const wide value = random_element(TRINE_D, 3, (uint64_t)(i + j * N));
                    set_entry(A, i, j, value);
                    set_entry(A, j, i, -value);
                }
        } else {
            free(b);
            continue;
        }
        a = product_of(ctx, A);
        r = compare(ctx, a, NULL, o, TRINE_D, b, N, 1);
        assert_int_equal(r.outcome, method == TRINE_KRYLOV_CG ? TRINE_OUTCOME_INDEFINITE : TRINE_OUTCOME_BREAKDOWN_RHO);
        OK(trine_op_destroy(&a));
        free_dense(A);
        free(b);
    }
    OK(trine_context_destroy(&ctx));
}

/** What was recorded is replayed, for other right-hand sides, other numbers of them, new values; and is not where a
 *  plan has lost its values. */
static void recorded_loops_are_used_again(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix L;
    trine_spmv plan;
    trine_op op;
    trine_krylov k;
    enum { SIDE = 70, ROWS = SIDE * SIDE };
    OK(trine_matrix_gallery(ctx, &L, "laplace2d:nx=70,ny=70", TRINE_D));
    OK(trine_spmv_analyse(ctx, &plan, L, NULL));
    OK(trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_spmv_as_op(plan, &op));
    const trine_krylov_options o = {.method = TRINE_KRYLOV_CG, .rtol = 1e-10, .max_nrhs = 2};
    OK(trine_krylov_create(ctx, &k, op, NULL, &o));
    double *b = random_vector(TRINE_D, 2 * ROWS, 1), *x = malloc(2 * ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    for (int round = 0; round < 6; round++) {
        const int nrhs = 1 + round / 2 % 2;
        const trine_dense B = block(b, ROWS, nrhs), X = block(x, ROWS, nrhs),
                          B1 = block(b + ROWS * (nrhs - 1), ROWS, 1), Y = block(y, ROWS, 1);
        trine_krylov_result r;
        const int64_t looks = trine_krylov_looks(k);
        OK(solve(k, &B, &X, NULL));
        assert_int_equal(trine_krylov_looks(k) - looks, 1);
        OK(trine_krylov_get_result(k, nrhs - 1, &r, NULL));
        assert_true(r.steps > 100 && r.residual <= 1e-10 * r.rhs_norm);
        OK(trine_krylov_set_monitor(k, say_nothing, NULL));
        OK(solve(k, &B1, &Y, NULL));
        OK(trine_krylov_set_monitor(k, NULL, NULL));
        for (int i = 0; i < ROWS; i++) assert_true(fabs(y[i] - x[i + ROWS * (nrhs - 1)]) <= 1e-6 * r.rhs_norm);
        for (int i = 0; i < 2 * ROWS; i++) b[i] = b[i] * b[i] - 0.3;
    }
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&op));
    OK(trine_spmv_destroy(&plan));
    OK(trine_matrix_destroy(&L));
    free(b), free(x), free(y);
    OK(trine_context_destroy(&ctx));
}

/** The steps of a solve that takes all it may, without conditions, are those with them. They are few: no cycle ends
 *  before its last step because its residual is down to rounding, after which only a loop begins another one. */
static void unrolled_loops_take_the_same_steps(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    trine_context ctx = test_context();
    scene s = open_scene(hermitian_system(ctx, TRINE_D, N, true, 91), TRINE_D, 92);
    for (trine_krylov_method m = TRINE_KRYLOV_GMRES; m <= TRINE_KRYLOV_MINRES; m++) {
        const trine_krylov_options o = {
            .method = m, .restart = m <= TRINE_KRYLOV_FGMRES ? 4 : 0, .rtol = 1e-300, .max_iterations = STEPS};
        double x[2][N];
        trine_krylov_result r[2];
        for (int unrolled = 0; unrolled < 2; unrolled++) {
            trine_krylov k;
            const trine_dense B = block(s.b, N, 1), X = block(x[unrolled], N, 1);
            OK(trine_krylov_create(ctx, &k, s.a, s.m, &o));
            if (unrolled) trine_krylov_unroll(k);
            assert_int_equal(solve(k, &B, &X, NULL), TRINE_ERR_NO_CONVERGENCE);
            expect_loop(k, "device");
            OK(trine_krylov_get_result(k, 0, &r[unrolled], NULL));
            OK(trine_krylov_destroy(&k));
        }
        for (int unrolled = 0; unrolled < 2; unrolled++) assert_int_equal(r[unrolled].steps, STEPS);
        assert_memory_equal(&r[0].residual, &r[1].residual, sizeof r[0].residual);
        assert_memory_equal(x[0], x[1], sizeof x[0]);
    }
    close_scene(&s);
    OK(trine_context_destroy(&ctx));
}

/** A caller's function cannot be recorded: the host makes the loop, and says so. */
static void callbacks_leave_the_loop_to_the_host(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    dense *A = general_system(ctx, TRINE_D, N, 5);
    trine_op a = product_of(ctx, A);
    trine_krylov k;
    OK(trine_krylov_create(ctx, &k, A->op, NULL, NULL));
    expect_loop(k, "host: A or M cannot be recorded");
    OK(trine_krylov_destroy(&k));
    OK(trine_krylov_create(ctx, &k, a, A->op, NULL));
    expect_loop(k, "host: A or M cannot be recorded");
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&a));
    free_dense(A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_takes_the_same_steps),  cmocka_unit_test(cycles_in_single_precision),
        cmocka_unit_test(preconditioners_take_turns),         cmocka_unit_test(outcomes_are_the_same),
        cmocka_unit_test(recorded_loops_are_used_again),      cmocka_unit_test(callbacks_leave_the_loop_to_the_host),
        cmocka_unit_test(unrolled_loops_take_the_same_steps), cmocka_unit_test(many_blocks_take_the_same_steps),
        cmocka_unit_test(several_columns_share_a_launch),
    };
    return TEST_MAIN(tests);
}
