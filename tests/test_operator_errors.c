/* What operators refuse, with which sentence, and errors that come from inside. */
#include "operator_support.h"

enum { N = 9 };

static trine_space space_of(trine_context ctx)
{
    trine_context_info info;
    OK(trine_context_get_info(ctx, &info));
    return info.space;
}

static trine_status fails_always(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)user, (void)op, (void)alpha, (void)X, (void)beta, (void)Y, (void)exec;
    return TRINE_ERR_NO_CONVERGENCE;
}
static const trine_op_info real_info = {.dtype = TRINE_D, .rows = N, .cols = N};

static void errors_of_functions_are_passed_on(void **state)
{
    (void)state;
    world w = open_world();
    double x[2 * N] = {0};
    trine_op leaf, sum;
    OK(trine_op_from_callback(w.ctx, &leaf, &real_info, fails_always, NULL, NULL));
    OK(trine_op_sum(w.ctx, &sum, 1, &leaf, NULL));
    void *d = test_to_device(w.ctx, x, sizeof x);
    const trine_dense X = {d, N, 1, 0, TRINE_COLMAJOR}, Y = {(double *)d + N, N, 1, 0, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_NO_CONVERGENCE, "the function of a 9 x 9 operator returned",
          trine_op_apply(sum, TRINE_N, NULL, &X, NULL, &Y, NULL));
    OK(trine_op_apply(sum, TRINE_N, &(double){0}, &X, NULL, &Y, NULL)); /* it is not called */
    OK(trine_op_destroy(&leaf));
    OK(trine_op_destroy(&sum));
    test_release(w.ctx, d);
    close_world(&w);
}

static void wrong_parts_are_refused(void **state)
{
    (void)state;
    world w = open_world(), other = open_world();
    node *a = add_dense(&w, TRINE_D, 5, 7, 1), *s = add_dense(&w, TRINE_S, 5, 7, 2),
         *n = add_dense_with(&w, TRINE_D, 7, 7, TRINE_N, 3);
    node *t = add_dense_with(&w, TRINE_D, 7, 7, TRINE_T, 4), *foreign = add_dense(&other, TRINE_D, 7, 7, 5);
    trine_op op = a->op;
    FAILS(TRINE_ERR_ARGUMENT, "factor 0 has 7 columns, but factor 1 has 5 rows",
          trine_op_product(w.ctx, &op, 2, (trine_op[]){a->op, a->op}));
    assert_null(op);
    op = a->op;
    FAILS(TRINE_ERR_ARGUMENT, "term 1 is 7 x 7, term 0 is 5 x 7",
          trine_op_sum(w.ctx, &op, 2, (trine_op[]){a->op, n->op}, NULL));
    assert_null(op);
    FAILS(TRINE_ERR_ARGUMENT, "term 1 has dtype 1, term 0 has 2",
          trine_op_sum(w.ctx, &op, 2, (trine_op[]){a->op, s->op}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "factor 1 is of another context",
          trine_op_product(w.ctx, &op, 2, (trine_op[]){a->op, foreign->op}));
    FAILS(TRINE_ERR_ARGUMENT, "no op of N, T, H in common",
          trine_op_product(w.ctx, &op, 2, (trine_op[]){n->op, t->op}));
    FAILS(TRINE_ERR_ARGUMENT, "factor 1 is NULL", trine_op_product(w.ctx, &op, 2, (trine_op[]){n->op, NULL}));
    FAILS(TRINE_ERR_ARGUMENT, "0 factors", trine_op_product(w.ctx, &op, 0, &n->op));
    FAILS(TRINE_ERR_ARGUMENT, "-1 terms", trine_op_sum(w.ctx, &op, -1, &n->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "the array of terms is NULL", trine_op_sum(w.ctx, &op, 1, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_op_sum(NULL, &op, 1, &n->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_product(w.ctx, NULL, 1, &n->op));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_sum(w.ctx, NULL, 1, &n->op, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "not between real and complex", trine_op_cast(a->op, &op, TRINE_Z));
    FAILS(TRINE_ERR_ARGUMENT, "dtype 9", trine_op_cast(a->op, &op, (trine_dtype)9));
    FAILS(TRINE_ERR_ARGUMENT, "inner is NULL", trine_op_cast(NULL, &op, TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "inner is NULL", trine_op_transpose(NULL, &op, TRINE_T));
    FAILS(TRINE_ERR_ARGUMENT, "trans 1 is neither", trine_op_transpose(a->op, &op, TRINE_N));
    node *z = add_dense_with(&w, TRINE_Z, 5, 7, TRINE_T, 6);
    FAILS(TRINE_ERR_UNSUPPORTED, "neither op N nor H", trine_op_transpose(z->op, &op, TRINE_H));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_transpose(a->op, NULL, TRINE_T));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_cast(a->op, NULL, TRINE_S));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_diagonal(w.ctx, NULL, TRINE_D, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_identity(w.ctx, NULL, TRINE_D, 3));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_from_callback(w.ctx, NULL, &real_info, fails_always, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_op_diagonal(NULL, &op, TRINE_D, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_op_identity(NULL, &op, TRINE_D, 3));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_op_from_callback(NULL, &op, &real_info, fails_always, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_triangular_as_op((trine_triangular)a->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_supernodal_as_op((trine_supernodal)a->op, NULL));
    OK(trine_op_diagonal(w.ctx, &op, TRINE_D, 0, NULL));
    OK(trine_op_destroy(&op));
    FAILS(TRINE_ERR_ARGUMENT, "d is NULL", trine_op_diagonal(w.ctx, &op, TRINE_D, 3, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "n is -3", trine_op_identity(w.ctx, &op, TRINE_D, -3));
    FAILS(TRINE_ERR_ARGUMENT, "dtype 0", trine_op_identity(w.ctx, &op, (trine_dtype)0, 3));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_triangular_as_op(NULL, &op));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_supernodal_as_op(NULL, &op));
    const struct {
        trine_op_info info;
        const char *text;
    } wrong[] = {{{.rows = 1, .cols = 1}, "dtype 0"},
                 {{.dtype = TRINE_D, .rows = -1}, "-1 x 0"},
                 {{.dtype = TRINE_D, .ops = 8}, "ops 8"},
                 {{.dtype = TRINE_D, .max_nrhs = -2}, "max_nrhs is -2"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(TRINE_ERR_ARGUMENT, wrong[i].text,
              trine_op_from_callback(w.ctx, &op, &wrong[i].info, fails_always, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "apply is NULL", trine_op_from_callback(w.ctx, &op, &real_info, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_op_from_callback(w.ctx, &op, NULL, fails_always, NULL, NULL));
    close_world(&other);
    close_world(&w);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    world w = open_world();
    node *a = add_dense(&w, TRINE_D, 5, 7, 1), *b = add_dense(&w, TRINE_D, 5, 7, 2);
    double zeros[64] = {0};
    double *d = test_to_device(w.ctx, zeros, sizeof zeros);
    const trine_dense X = {d, 7, 2, 0, TRINE_COLMAJOR}, Y = {d + 32, 5, 2, 0, TRINE_ROWMAJOR},
                      one = {d, 7, 1, 0, TRINE_COLMAJOR};
    trine_work work;
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_apply(NULL, TRINE_N, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_op_apply(a->op, (trine_transpose)3, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X has 7 rows, not 5", trine_op_apply(a->op, TRINE_T, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "Y has 7 rows, not 5", trine_op_apply(a->op, TRINE_N, NULL, &X, NULL, &X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X has 1 columns, Y has 2", trine_op_apply(a->op, TRINE_N, NULL, &one, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "same array",
          trine_op_apply(a->op, TRINE_N, NULL, &X, NULL, &(trine_dense){d, 5, 2, 0, TRINE_COLMAJOR}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "Y is NULL", trine_op_apply(a->op, TRINE_N, NULL, &X, NULL, NULL, NULL));
    OK(trine_op_work(a->op, 1, NULL, NULL, &work));
    FAILS(TRINE_ERR_STATE, "2 vectors, but the work was made for 1",
          trine_op_apply(a->op, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_ARGUMENT, "another operator",
          trine_op_apply(b->op, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    OK(trine_work_destroy(&work));
    trine_op limited, both;
    trine_op_info info = {.dtype = TRINE_D, .rows = 5, .cols = 7, .max_nrhs = 1, .varying = 7, .capturable = 1};
    OK(trine_op_from_callback(w.ctx, &limited, &info, fails_always, NULL, NULL));
    OK(trine_op_sum(w.ctx, &both, 2, (trine_op[]){a->op, limited}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "2 vectors for an operator that takes at most 1",
          trine_op_apply(both, TRINE_N, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "at most 1", trine_op_work(both, 2, NULL, NULL, &work));
    const trine_dense one_y = {d + 32, 5, 1, 0, TRINE_COLMAJOR};
    /* as many as it takes */
    FAILS(TRINE_ERR_NO_CONVERGENCE, "5 x 7", trine_op_apply(both, TRINE_N, NULL, &one, NULL, &one_y, NULL));
    FAILS(TRINE_ERR_MEMORY, "of 7 rows is more than any memory has",
          trine_op_work(a->op, INT64_MAX, NULL, NULL, &work));
    OK(trine_op_get_info(limited, &info));
    assert_true(info.varying == 1 && info.capturable == test_on_gpu() && info.ops == TRINE_N &&
                info.space == space_of(w.ctx));
    OK(trine_op_get_info(both, &info));
    assert_true(info.varying == 1 && !info.capturable && info.ops == TRINE_N && info.max_nrhs == 1 && info.rows == 5 &&
                info.cols == 7);
    OK(trine_op_get_info(a->op, &info));
    assert_true(!info.varying && info.max_nrhs == INT64_MAX && info.dtype == TRINE_D);
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_op_get_info(a->op, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_op_get_info(NULL, &info));
    OK(trine_op_destroy(&limited));
    OK(trine_op_destroy(&both));
    test_release(w.ctx, d);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_functions_are_passed_on),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return TEST_MAIN(tests);
}
