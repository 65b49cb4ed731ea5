/* Operators against the dense matrices that they stand for, in long double: every kind, compositions, trees, four
 * precisions. */
#include "operator_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_with_and_without_a_work(world *w, node *a)
{
    trine_work work;
    size_t bytes;
    OK(trine_op_work(a->op, 3, NULL, &bytes, &work));
    check_all(w, a, &(trine_exec){.work = work});
    OK(trine_work_destroy(&work));
    check_all(w, a, NULL);
}

static void leaves(world *w, trine_dtype t)
{
    check_with_and_without_a_work(w, add_dense(w, t, 5, 7, 1));
    check_with_and_without_a_work(w, add_diagonal(w, t, 6, 2));
    check_with_and_without_a_work(w, add_identity(w, t, 6));
}

static void solves(world *w, trine_dtype t)
{
    for (int by = BY_TRIANGULAR; by <= BY_SUPERNODAL; by++) {
        check_with_and_without_a_work(w, add_solve(w, t, 9, (solver)by, TRINE_LOWER, 3));
        check_with_and_without_a_work(w, add_solve(w, t, 8, (solver)by, TRINE_UPPER, 4));
    }
}

static void products(world *w, trine_dtype t)
{
    node *a = add_dense(w, t, 5, 7, 5), *b = add_dense(w, t, 7, 4, 6), *c = add_dense(w, t, 4, 9, 7),
         *d = add_diagonal(w, t, 9, 9);
    node *s = add_solve(w, t, 9, BY_TRIANGULAR, TRINE_LOWER, 8);
    check_with_and_without_a_work(w, add_product(w, 1, (node *[]){a}));
    check_with_and_without_a_work(w, add_product(w, 2, (node *[]){a, b}));
    check_with_and_without_a_work(w, add_product(w, 3, (node *[]){d, s, d}));
    check_with_and_without_a_work(w, add_product(w, 4, (node *[]){a, b, c, add_dense(w, t, 9, 6, 33)}));
    check_with_and_without_a_work(w, add_product(w, 6, (node *[]){a, b, c, s, d, s}));
}

static void sums(world *w, trine_dtype t)
{
    node *a = add_dense(w, t, 5, 7, 10), *b = add_dense(w, t, 5, 7, 11), *d = add_diagonal(w, t, 9, 13);
    node *s = add_solve(w, t, 9, BY_SUPERNODAL, TRINE_UPPER, 12);
    const wide c[] = {wide_of(0.5L, -1.5L), wide_of(-2, 0.25L), 0};
    check_with_and_without_a_work(w, add_sum(w, 1, (node *[]){a}, NULL));
    check_with_and_without_a_work(w, add_sum(w, 3, (node *[]){a, b, a}, NULL));
    check_with_and_without_a_work(w, add_sum(w, 2, (node *[]){a, b}, c));
    check_with_and_without_a_work(w, add_sum(w, 3, (node *[]){s, d, s}, c));
    check_with_and_without_a_work(w, add_sum(w, 2, (node *[]){s, d}, (wide[]){0, 1}));
    check_with_and_without_a_work(w, add_sum(w, 2, (node *[]){s, d}, (wide[]){0, 0}));
}

static void casts(world *w, trine_dtype t)
{
    const trine_dtype inner = other_precision(t);
    node *a = add_dense(w, inner, 5, 7, 14), *s = add_solve(w, inner, 9, BY_TRIANGULAR, TRINE_UPPER, 15);
    check_with_and_without_a_work(w, add_cast(w, a, t));
    check_with_and_without_a_work(w, add_cast(w, s, t));
    check_with_and_without_a_work(w, add_cast(w, a, inner));
    check_with_and_without_a_work(w, add_cast(w, add_cast(w, s, t), inner));
}

static void expect_ops(const node *a, unsigned ops)
{
    trine_op_info info;
    OK(trine_op_get_info(a->op, &info));
    assert_int_equal(info.ops, ops);
}
static void transposes(world *w, trine_dtype t)
{
    const unsigned all = TRINE_N | TRINE_T | TRINE_H;
    node *a = add_dense(w, t, 5, 7, 27), *s = add_solve(w, t, 9, BY_TRIANGULAR, TRINE_LOWER, 28),
         *d = add_diagonal(w, t, 9, 29);
    expect_ops(a, all);
    for (int trans = TRINE_T; trans <= TRINE_H; trans *= 2) {
        node *b = add_transpose(w, a, (trine_transpose)trans);
        expect_ops(b, is_complex(t) ? TRINE_N | (unsigned)trans : all);
        check_with_and_without_a_work(w, b);
        check_with_and_without_a_work(w, add_transpose(w, b, (trine_transpose)trans));
        check_with_and_without_a_work(w,
                                      add_product(w, 3, (node *[]){add_transpose(w, s, (trine_transpose)trans), d, s}));
    }
    node *forward = add_dense_with(w, t, 5, 7, TRINE_N, 30), *b = add_transpose(w, forward, TRINE_H);
    expect_ops(b, is_complex(t) ? TRINE_H : TRINE_T | TRINE_H);
    check_with_and_without_a_work(w, b);
}

/** Four levels: a preconditioner of a smoother and a coarse correction, say. */
static void trees(world *w, trine_dtype t)
{
    node *s = add_solve(w, t, 9, BY_TRIANGULAR, TRINE_LOWER, 16), *d = add_diagonal(w, t, 9, 19);
    node *p = add_dense(w, t, 9, 4, 17), *r = add_dense(w, t, 4, 9, 18);
    node *coarse = add_cast(w, add_solve(w, other_precision(t), 4, BY_SUPERNODAL, TRINE_UPPER, 20), t);
    node *correction = add_product(w, 3, (node *[]){p, coarse, r});
    node *step = add_sum(w, 3, (node *[]){s, correction, add_identity(w, t, 9)}, (wide[]){wide_of(0.5L, 0.5L), 1, -1});
    check_with_and_without_a_work(w, add_product(w, 3, (node *[]){step, d, step}));
}

static void for_all_dtypes(void (*check)(world *w, trine_dtype t))
{
    for (int t = 0; t < 4; t++) {
        if (!test_is_to_do()) continue;
        world w = open_world();
        check(&w, all_dtypes[t]);
        close_world(&w);
    }
}
static void leaves_are_their_matrices(void **state)
{
    (void)state;
    for_all_dtypes(leaves);
}
static void solves_are_inverses(void **state)
{
    (void)state;
    for_all_dtypes(solves);
}
static void products_apply_in_order_and_transposed_in_reverse(void **state)
{
    (void)state;
    for_all_dtypes(products);
}
static void sums_conjugate_their_coefficients(void **state)
{
    (void)state;
    for_all_dtypes(sums);
}
static void transposes_have_what_their_operators_have(void **state)
{
    (void)state;
    for_all_dtypes(transposes);
}
static void casts_change_the_precision(void **state)
{
    (void)state;
    for_all_dtypes(casts);
}
static void trees_are_what_their_parts_make(void **state)
{
    (void)state;
    for_all_dtypes(trees);
}

/** Blocks of thousands of rows and of vectors: more than a block of threads, on the CPU more than one thread. */
static void large_blocks_are_right(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{600001, 1}, {300, 2000}, {1, 70000}};
    trine_context ctx = test_context();
    for (int s = 0; s < 3; s++)
        for (int row_major = 0; row_major < 2; row_major++) {
            const int64_t n = shapes[s][0], nrhs = shapes[s][1];
            const size_t bytes = (size_t)(n * nrhs) * sizeof(double);
            double *x = malloc(bytes), *y = malloc(bytes), *found = malloc(bytes), *d = malloc((size_t)n * sizeof *d);
            /* small integers: no rounding */
            for (int64_t i = 0; i < n * nrhs; i++) x[i] = (double)(i % 1000), y[i] = (double)(i % 777);
            for (int64_t i = 0; i < n; i++) d[i] = (double)(i % 100);
            void *dx = test_to_device(ctx, x, bytes), *dy = test_to_device(ctx, y, bytes),
                 *dd = test_to_device(ctx, d, (size_t)n * sizeof *d);
            const trine_dense X = {dx, n, nrhs, 0, TRINE_COLMAJOR},
                              Y = {dy, n, nrhs, 0, row_major ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
            trine_op op;
            OK(trine_op_diagonal(ctx, &op, TRINE_D, n, dd));
            OK(trine_op_apply(op, TRINE_T, &(double){2}, &X, &(double){-3}, &Y, NULL));
            test_from_device(ctx, found, dy, bytes);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < nrhs; j++) {
                    const int64_t k = row_major ? i * nrhs + j : i + j * n;
                    assert_true(found[k] == 2 * d[i] * x[i + j * n] - 3 * y[k]);
                }
            OK(trine_op_destroy(&op));
            test_release(ctx, dx);
            test_release(ctx, dy);
            test_release(ctx, dd);
            free(x), free(y), free(found), free(d);
        }
    OK(trine_context_destroy(&ctx));
}

/** Infinite entries do not become NaN where a factor is real. */
static void infinite_parts_stay_what_they_are(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const double complex x[] = {wide_of(INFINITY, 0), wide_of(1, -INFINITY)};
    double complex y[2] = {wide_of(0, INFINITY), 0};
    void *dx = test_to_device(ctx, x, sizeof x), *dy = test_to_device(ctx, y, sizeof y);
    const trine_dense X = {dx, 2, 1, 0, TRINE_COLMAJOR}, Y = {dy, 2, 1, 0, TRINE_COLMAJOR};
    trine_op op;
    OK(trine_op_identity(ctx, &op, TRINE_Z, 2));
    OK(trine_op_apply(op, TRINE_N, (double[]){2, 0}, &X, (double[]){3, 0}, &Y, NULL));
    test_from_device(ctx, y, dy, sizeof y);
    assert_true(creal(y[0]) == INFINITY && cimag(y[0]) == INFINITY && creal(y[1]) == 2 && cimag(y[1]) == -INFINITY);
    OK(trine_op_destroy(&op));
    test_release(ctx, dx);
    test_release(ctx, dy);
    OK(trine_context_destroy(&ctx));
}

/** alpha c = 1e-60 is zero in single precision: the term is not applied, as its function is promised
 *  (operator_support.c looks). */
static void coefficients_are_rounded_before_they_are_compared_with_zero(void **state)
{
    (void)state;
    world w = open_world();
    const wide tiny = 1e-30L, keep = 0.5L;
    for (int t = 0; t < 4; t++) {
        node *a = add_dense(&w, all_dtypes[t], 5, 7, 34);
        check_apply(&w, add_sum(&w, 2, (node *[]){a, a}, (wide[]){tiny, tiny}), TRINE_N, 1, TRINE_COLMAJOR,
                    TRINE_COLMAJOR, &tiny, &keep, NULL);
    }
    close_world(&w);
}

/** Dimensions of zero between factors make a zero matrix; vectors of length zero, and none at all, are nothing to
 *  do. */
static void empty_operators_do_nothing_but_beta(void **state)
{
    (void)state;
    world w = open_world();
    const wide r = 0.5L;
    node *a = add_dense(&w, TRINE_D, 5, 0, 21), *b = add_dense(&w, TRINE_D, 0, 4, 22);
    node *p = add_product(&w, 2, (node *[]){a, b});
    for (int op = TRINE_N; op <= TRINE_H; op *= 2) {
        check_apply(&w, p, (trine_transpose)op, 2, TRINE_COLMAJOR, TRINE_ROWMAJOR, &r, &r, NULL);
        check_apply(&w, p, (trine_transpose)op, 2, TRINE_COLMAJOR, TRINE_ROWMAJOR, &r, NULL, NULL);
    }
    node *s = add_solve(&w, TRINE_D, 4, BY_TRIANGULAR, TRINE_LOWER, 23);
    const trine_dense none = {NULL, 4, 0, 0, TRINE_COLMAJOR};
    OK(trine_op_apply(s->op, TRINE_N, NULL, &none, NULL, &none, NULL));
    close_world(&w);
}

/** A real operator that has T has H, whatever its parts were told; they get the name that they know. */
static void real_operators_have_both_transposes(void **state)
{
    (void)state;
    world w = open_world();
    trine_op_info info;
    for (int t = 0; t < 2; t++)
        for (int known = TRINE_T; known <= TRINE_H; known *= 2) {
            node *a = add_dense_with(&w, all_dtypes[t], 5, 7, (unsigned)known, 24),
                 *b = add_dense_with(&w, all_dtypes[t], 7, 3, TRINE_T, 25);
            node *p = add_product(&w, 2, (node *[]){a, b});
            OK(trine_op_get_info(p->op, &info));
            assert_int_equal(info.ops, TRINE_T | TRINE_H);
            check_apply(&w, p, TRINE_T, 1, TRINE_COLMAJOR, TRINE_COLMAJOR, NULL, NULL, NULL);
            check_apply(&w, p, TRINE_H, 1, TRINE_COLMAJOR, TRINE_COLMAJOR, NULL, NULL, NULL);
        }
    node *z = add_dense_with(&w, TRINE_Z, 5, 7, TRINE_T, 26);
    OK(trine_op_get_info(z->op, &info));
    assert_int_equal(info.ops, TRINE_T);
    double complex x[7] = {0};
    const trine_dense X = {x, 5, 1, 0, TRINE_COLMAJOR}, Y = {x + 1, 7, 1, 0, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_UNSUPPORTED, "does not have op H", trine_op_apply(z->op, TRINE_H, NULL, &X, NULL, &Y, NULL));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_their_matrices),
        cmocka_unit_test(solves_are_inverses),
        cmocka_unit_test(products_apply_in_order_and_transposed_in_reverse),
        cmocka_unit_test(sums_conjugate_their_coefficients),
        cmocka_unit_test(transposes_have_what_their_operators_have),
        cmocka_unit_test(casts_change_the_precision),
        cmocka_unit_test(trees_are_what_their_parts_make),
        cmocka_unit_test(large_blocks_are_right),
        cmocka_unit_test(infinite_parts_stay_what_they_are),
        cmocka_unit_test(coefficients_are_rounded_before_they_are_compared_with_zero),
        cmocka_unit_test(empty_operators_do_nothing_but_beta),
        cmocka_unit_test(real_operators_have_both_transposes),
    };
    return TEST_MAIN(tests);
}
