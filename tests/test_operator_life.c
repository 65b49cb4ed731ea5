/* The life of operators: works and threads, new values, handles in any order. */
#include "operator_support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 9 };

static trine_space space_of(trine_context ctx)
{
    trine_context_info info;
    OK(trine_context_get_info(ctx, &info));
    return info.space;
}

/** S D S with a solve S and a diagonal D, plus the identity: no function of the test's in it. */
static node *add_tree(world *w, trine_dtype t)
{
    node *s = add_solve(w, t, N, BY_TRIANGULAR, TRINE_LOWER, 31), *d = add_diagonal(w, t, N, 32);
    return add_sum(w, 2, (node *[]){add_product(w, 3, (node *[]){s, d, s}), add_identity(w, t, N)}, (wide[]){0.5L, 1});
}

/* -------------------------------------------------------------------- works */

struct job {
    trine_context ctx;
    trine_op op;
    const double *expected;
    bool good;
};
static void *apply_in_a_thread(void *argument)
{
    struct job *job = argument;
    const trine_space space = space_of(job->ctx);
    trine_work work = NULL;
    double ones[N], result[N];
    void *x = NULL, *y = NULL;
    for (int i = 0; i < N; i++) ones[i] = 1;
    if (trine_op_work(job->op, 1, NULL, NULL, &work) || trine_alloc(job->ctx, space, sizeof ones, &x) ||
        trine_alloc(job->ctx, space, sizeof ones, &y))
        return NULL;
    const trine_dense X = {x, N, 1, 0, TRINE_COLMAJOR}, Y = {y, N, 1, 0, TRINE_COLMAJOR};
    for (int round = 0; round < 200; round++) {
        if (trine_copy(job->ctx, x, space, ones, TRINE_HOST, sizeof ones) ||
            trine_copy(job->ctx, y, space, ones, TRINE_HOST, sizeof ones) ||
            trine_op_apply(job->op, TRINE_N, NULL, &X, &(double){2}, &Y, &(trine_exec){.work = work}) ||
            trine_context_synchronize(job->ctx) || trine_copy(job->ctx, result, TRINE_HOST, y, space, sizeof ones) ||
            memcmp(result, job->expected, sizeof result))
            return NULL;
    }
    trine_free(job->ctx, space, x);
    trine_free(job->ctx, space, y);
    trine_work_destroy(&work);
    job->good = true;
    return NULL;
}
static void eight_threads_apply_one_tree(void **state)
{
    (void)state;
    world w = open_world();
    node *a = add_tree(&w, TRINE_D);
    double expected[N];
    for (int i = 0; i < N; i++) expected[i] = 1;
    void *x = test_to_device(w.ctx, expected, sizeof expected), *y = test_to_device(w.ctx, expected, sizeof expected);
    const trine_dense X = {x, N, 1, 0, TRINE_COLMAJOR}, Y = {y, N, 1, 0, TRINE_COLMAJOR};
    OK(trine_op_apply(a->op, TRINE_N, NULL, &X, &(double){2}, &Y, NULL));
    test_from_device(w.ctx, expected, y, sizeof expected);
    pthread_t threads[8];
    struct job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct job){w.ctx, a->op, expected, false};
        assert_int_equal(pthread_create(&threads[i], NULL, apply_in_a_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++) assert_true(jobs[i].good);
    test_release(w.ctx, x);
    test_release(w.ctx, y);
    close_world(&w);
}

/** A function that applies the operator that it is a part of, with what it is told to use. */
struct inside {
    trine_op op;
    trine_exec exec;
    trine_status expected;
    int calls;
};
static trine_status apply_inside(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    struct inside *in = user;
    (void)exec;
    if (++in->calls > 1) return TRINE_SUCCESS;
    const trine_status status = trine_op_apply(in->op, op, alpha, X, beta, Y, &in->exec);
    if (status == TRINE_ERR_STATE) assert_non_null(strstr(trine_last_error(), "trine_op_work"));
    return status == in->expected ? TRINE_SUCCESS : TRINE_ERR_FORMAT;
}
static void a_work_is_for_one_call_at_a_time(void **state)
{
    (void)state;
    world w = open_world();
    struct inside in = {.expected = TRINE_ERR_STATE};
    trine_op leaf;
    trine_work work, second;
    double zeros[N] = {0};
    void *x = test_to_device(w.ctx, zeros, sizeof zeros), *y = test_to_device(w.ctx, zeros, sizeof zeros);
    const trine_dense X = {x, N, 1, 0, TRINE_COLMAJOR}, Y = {y, N, 1, 0, TRINE_COLMAJOR};
    OK(trine_op_from_callback(w.ctx, &leaf, &(trine_op_info){.dtype = TRINE_D, .rows = N, .cols = N}, apply_inside, &in,
                              NULL));
    OK(trine_op_product(w.ctx, &in.op, 2, (trine_op[]){leaf, leaf}));
    OK(trine_op_work(in.op, 1, NULL, NULL, &work));
    OK(trine_op_work(in.op, 1, NULL, NULL, &second));
    in.exec.work = work;
    OK(trine_op_apply(in.op, TRINE_N, NULL, &X, NULL, &Y, &in.exec)); /* inside: the same work */
    assert_int_equal(in.calls, 2);
    in = (struct inside){.op = in.op, .expected = TRINE_ERR_STATE};
    OK(trine_op_apply(in.op, TRINE_N, NULL, &X, NULL, &Y, NULL)); /* twice without a work */
    in = (struct inside){.op = in.op, .exec.work = second};
    OK(trine_op_apply(in.op, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    assert_int_equal(in.calls, 4);
    OK(trine_work_destroy(&work));
    OK(trine_work_destroy(&second));
    OK(trine_op_destroy(&leaf));
    OK(trine_op_destroy(&in.op));
    test_release(w.ctx, x);
    test_release(w.ctx, y);
    close_world(&w);
}

static void works_take_memory_of_the_caller(void **state)
{
    (void)state;
    world w = open_world();
    node *a = add_tree(&w, TRINE_C);
    size_t bytes = 0, small;
    trine_work work, other;
    OK(trine_op_work(a->op, 3, NULL, &bytes, NULL));
    assert_true(bytes >= 2 * 3 * N * 8); /* two vectors between the factors */
    void *memory;
    OK(trine_alloc(w.ctx, space_of(w.ctx), bytes + 256, &memory));
    char *buffer = (char *)(((uintptr_t)memory + 255) / 256 * 256);
    OK(trine_op_work(a->op, 3, buffer, &bytes, &work));
    check_all(&w, a, &(trine_exec){.work = work});
    small = bytes - 1;
    FAILS(TRINE_ERR_ARGUMENT, "the buffer has", trine_op_work(a->op, 3, buffer, &small, &other));
    assert_null(other);
    assert_int_equal(small, bytes);
    FAILS(TRINE_ERR_ARGUMENT, "256-byte aligned", trine_op_work(a->op, 3, buffer + 64, &bytes, &other));
    FAILS(TRINE_ERR_ARGUMENT, "without its size", trine_op_work(a->op, 3, buffer, NULL, &other));
    FAILS(TRINE_ERR_ARGUMENT, "bytes and work are NULL", trine_op_work(a->op, 3, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "nrhs is -1", trine_op_work(a->op, -1, NULL, &bytes, NULL));
    FAILS(TRINE_ERR_MEMORY, "right-hand sides of 9 rows is more than any memory has",
          trine_op_work(a->op, INT64_MAX, NULL, &bytes, NULL));
    FAILS(TRINE_ERR_MEMORY, "more than any memory has", trine_op_work(a->op, INT64_MAX, NULL, &bytes, &other));
    OK(trine_work_destroy(&work));
    OK(trine_op_work(a->op, 0, NULL, &bytes, &work));
    OK(trine_work_destroy(&work));
    trine_free(w.ctx, space_of(w.ctx), memory);
    close_world(&w);
}

static size_t work_bytes(trine_op op, int64_t nrhs)
{
    size_t bytes = 0;
    OK(trine_op_work(op, nrhs, NULL, &bytes, NULL));
    return bytes;
}
static void works_are_no_larger_than_they_need_be(void **state)
{
    (void)state;
    world w = open_world();
    const int64_t nrhs = 64; /* blocks of whole 256 bytes */
    const size_t block = 64 * 8;
    node *a = add_dense(&w, TRINE_D, 5, 7, 1), *b = add_dense(&w, TRINE_D, 7, 4, 2),
         *c = add_dense(&w, TRINE_D, 4, 9, 3), *i = add_identity(&w, TRINE_D, 5);
    assert_int_equal(work_bytes(a->op, nrhs), 0);
    assert_int_equal(work_bytes(add_product(&w, 1, (node *[]){a})->op, nrhs), 0);
    assert_int_equal(work_bytes(add_product(&w, 2, (node *[]){a, b})->op, nrhs), 7 * block);
    assert_int_equal(work_bytes(add_product(&w, 3, (node *[]){a, b, c})->op, nrhs), 2 * 7 * block);
    assert_int_equal(work_bytes(add_product(&w, 4, (node *[]){i, a, b, c})->op, nrhs), 2 * 7 * block);
    assert_int_equal(work_bytes(add_sum(&w, 2, (node *[]){a, a}, NULL)->op, nrhs), 0);
    assert_int_equal(work_bytes(add_cast(&w, a, TRINE_S)->op, nrhs), (5 + 7) * block);
    close_world(&w);
}

/** Each part could be had; 512 of them cannot, and the sum does not wrap around. */
static void sums_of_sizes_do_not_overflow(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_op one, op;
    size_t bytes;
    OK(trine_op_identity(ctx, &one, TRINE_Z, 1));
    OK(trine_op_product(ctx, &op, 3, (trine_op[]){one, one, one}));
    OK(trine_op_destroy(&one));
    OK(trine_op_work(op, INT64_C(1) << 51, NULL, &bytes, NULL));
    for (int level = 0; level < 9; level++) {
        trine_op twice;
        OK(trine_op_sum(ctx, &twice, 2, (trine_op[]){op, op}, NULL));
        OK(trine_op_destroy(&op));
        op = twice;
    }
    FAILS(TRINE_ERR_MEMORY, "the works of the parts", trine_op_work(op, INT64_C(1) << 51, NULL, &bytes, NULL));
    OK(trine_op_destroy(&op));
    OK(trine_context_destroy(&ctx));
}

static void an_apply_with_a_work_allocates_nothing(void **state)
{
    (void)state;
    test_memory memory = {0};
    world w = {.ctx = test_context()};
    test_fail_allocations(w.ctx, &memory);
    node *a = add_tree(&w, TRINE_D);
    double x[4 * N] = {0};
    double *d = test_to_device(w.ctx, x, sizeof x);
    const trine_dense X = {d, N, 1, 0, TRINE_COLMAJOR}, Y = {d + 2 * N, N, 1, 0, TRINE_COLMAJOR};
    const trine_dense X2 = {d, N, 2, 0, TRINE_COLMAJOR}, Y2 = {d + 2 * N, N, 2, 0, TRINE_COLMAJOR};
    trine_work work;
    OK(trine_op_work(a->op, 1, NULL, NULL, &work));
    const int64_t before = memory.calls;
    for (int op = TRINE_N; op <= TRINE_H; op *= 2)
        OK(trine_op_apply(a->op, (trine_transpose)op, NULL, &X, &(double){1}, &Y, &(trine_exec){.work = work}));
    assert_int_equal(memory.calls, before);
    OK(trine_op_apply(a->op, TRINE_N, NULL, &X, NULL, &Y, NULL));
    const int64_t after_first = memory.calls;
    assert_true(after_first > before);
    OK(trine_op_apply(a->op, TRINE_T, NULL, &X, NULL, &Y, NULL)); /* the operator keeps it */
    assert_int_equal(memory.calls, after_first);
    OK(trine_op_apply(a->op, TRINE_T, NULL, &X2, NULL, &Y2, NULL)); /* a larger one takes its place */
    const int64_t after_second = memory.calls;
    assert_true(after_second > after_first);
    OK(trine_op_apply(a->op, TRINE_T, NULL, &X, NULL, &Y, NULL)); /* and stays */
    assert_int_equal(memory.calls, after_second);
    OK(trine_work_destroy(&work));
    test_release(w.ctx, d);
    close_world(&w);
    assert_int_equal(memory.live, 0);
}

/* --------------------------------------------------------- values, handles */

static double apply_to_one(trine_context ctx, trine_op op)
{
    double x = 1, y;
    void *dx = test_to_device(ctx, &x, sizeof x), *dy = test_to_device(ctx, &x, sizeof x);
    OK(trine_op_apply(op, TRINE_N, NULL, &(trine_dense){dx, 1, 1, 0, TRINE_COLMAJOR}, NULL,
                      &(trine_dense){dy, 1, 1, 0, TRINE_COLMAJOR}, NULL));
    test_from_device(ctx, &y, dy, sizeof y);
    test_release(ctx, dx);
    test_release(ctx, dy);
    return y;
}

static void new_values_show_through(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const double one = 1;
    trine_matrix T;
    trine_triangular triangular;
    trine_supernodal supernodal;
    trine_op parts[3], tree;
    void *d = test_to_device(ctx, &one, sizeof one);
    OK(trine_matrix_csr(ctx, &T, TRINE_D, 1, 1, 1, TRINE_HOST, 32, (int32_t[]){0, 1}, 32, (int32_t[]){0}, &one));
    OK(trine_triangular_analyse(ctx, &triangular, T, NULL));
    OK(trine_supernodal_analyse_triangle(ctx, &supernodal, T, 0, NULL, NULL, NULL));
    OK(trine_triangular_as_op(triangular, &parts[0]));
    OK(trine_supernodal_as_op(supernodal, &parts[1]));
    OK(trine_op_diagonal(ctx, &parts[2], TRINE_D, 1, d));
    OK(trine_op_product(ctx, &tree, 3, parts));
    double y;
    void *v = test_to_device(ctx, &one, sizeof one), *u = test_to_device(ctx, &one, sizeof one);
    const trine_dense V = {v, 1, 1, 0, TRINE_COLMAJOR}, U = {u, 1, 1, 0, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_op_apply(tree, TRINE_N, NULL, &V, NULL, &U, NULL));
    for (int round = 1; round < 4; round++) {
        const double a = 2 * round, b = 4, c = 16 * round;
        OK(trine_triangular_numeric(triangular, TRINE_HOST, &a, NULL));
        OK(trine_supernodal_numeric(supernodal, TRINE_HOST, &b, NULL));
        OK(trine_copy(ctx, d, space_of(ctx), &c, TRINE_HOST, sizeof c));
        y = apply_to_one(ctx, tree);
        assert_true(y > 1.999999999 && y < 2.000000001);
    }
    for (int i = 0; i < 3; i++) OK(trine_op_destroy(&parts[i]));
    OK(trine_triangular_destroy(&triangular));
    OK(trine_supernodal_destroy(&supernodal));
    OK(trine_matrix_destroy(&T));
    y = apply_to_one(ctx, tree); /* it keeps all of them alive */
    assert_true(y > 1.999999999 && y < 2.000000001);
    OK(trine_op_destroy(&tree));
    test_release(ctx, d);
    test_release(ctx, u);
    test_release(ctx, v);
    OK(trine_context_destroy(&ctx));
}

static void count_release(void *user) { ++*(int *)user; }
static trine_status fails_always(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)user, (void)op, (void)alpha, (void)X, (void)beta, (void)Y, (void)exec;
    return TRINE_ERR_NO_CONVERGENCE;
}
static const trine_op_info real_info = {.dtype = TRINE_D, .rows = N, .cols = N};

static void handles_may_be_destroyed_in_any_order(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_op leaf, product, sum, same;
    trine_work work;
    int released = 0;
    OK(trine_op_from_callback(ctx, &leaf, &real_info, fails_always, &released, count_release));
    OK(trine_op_product(ctx, &product, 2, (trine_op[]){leaf, leaf}));
    OK(trine_op_sum(ctx, &sum, 2, (trine_op[]){leaf, product}, NULL));
    OK(trine_op_cast(sum, &same, TRINE_D));
    assert_ptr_equal(sum, same);
    OK(trine_op_work(sum, 1, NULL, NULL, &work));
    OK(trine_context_destroy(&ctx));
    OK(trine_op_destroy(&leaf));
    OK(trine_op_destroy(&sum));
    assert_null(sum);
    OK(trine_op_destroy(&sum));
    OK(trine_op_destroy(NULL));
    OK(trine_op_destroy(&product));
    OK(trine_op_destroy(&same));
    assert_int_equal(released, 0);
    OK(trine_work_destroy(&work)); /* the last that kept them */
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_apply_one_tree),    cmocka_unit_test(a_work_is_for_one_call_at_a_time),
        cmocka_unit_test(works_take_memory_of_the_caller), cmocka_unit_test(works_are_no_larger_than_they_need_be),
        cmocka_unit_test(sums_of_sizes_do_not_overflow),   cmocka_unit_test(an_apply_with_a_work_allocates_nothing),
        cmocka_unit_test(new_values_show_through),         cmocka_unit_test(handles_may_be_destroyed_in_any_order),
    };
    return TEST_MAIN(tests);
}
