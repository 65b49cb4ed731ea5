/* Contexts, status texts, logging, memory. */
#include "harness.h"

#include <float.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TEXT(x) #x
#define VERSION_TEXT(x) TEXT(x)

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int s = 0; s < TRINE_STATUS_COUNT; s++) assert_true(strlen(trine_status_string((trine_status)s)) > 5);
    assert_string_equal(trine_status_string((trine_status)-1), "unknown status");
    assert_string_equal(trine_status_string(TRINE_STATUS_COUNT), "unknown status");
}

static void devices_that_do_not_exist_are_refused_with_a_reason(void **state)
{
    (void)state;
    trine_context ctx = (trine_context)1;
    static const char *const wrong[] = {"",      "gpu",    "cpu:", "cpu:0", "cpu:-1", "cpu:two", "cpu:99999999999999",
                                        "cuda:", "cuda:x", "CPU"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FAILS(TRINE_ERR_ARGUMENT, "is not one of auto, cpu", trine_context_create(&ctx, wrong[i]));
        assert_null(ctx);
    }
    trine_build_info build;
    trine_get_build_info(&build);
    FAILS(build.cuda ? TRINE_ERR_DEVICE : TRINE_ERR_NOT_BUILT, NULL, trine_context_create(&ctx, "cuda:4096"));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_context_create(NULL, "cpu"));
    trine_get_build_info(NULL); /* nothing to fill, and no status to say so */
    assert_string_equal(build.version, VERSION_TEXT(TRINE_VERSION_MAJOR) "." VERSION_TEXT(
                                           TRINE_VERSION_MINOR) "." VERSION_TEXT(TRINE_VERSION_PATCH));
}

static void a_program_fails_in_trines_way(void **state)
{
    (void)state;
    FAILS(TRINE_ERR_IO, "row 7 of b.txt", trine_fail(TRINE_ERR_IO, "row %d of %s", 7, "b.txt"));
    assert_string_equal(trine_last_error(), "row 7 of b.txt");
    assert_int_equal(trine_fail(TRINE_SUCCESS, "%s", "nothing failed"), TRINE_SUCCESS);
    assert_string_equal(trine_last_error(), "nothing failed");
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(trine_fail(TRINE_ERR_STATE, "%s", text), TRINE_ERR_STATE);
    assert_int_equal(strlen(trine_last_error()), 511);
    text[511] = 0;
    assert_string_equal(trine_last_error(), text);
}

static void a_dtype_has_a_size_and_an_eps(void **state)
{
    (void)state;
    static const struct {
        trine_dtype t;
        size_t size;
        double eps;
    } known[] = {{TRINE_S, sizeof(float), FLT_EPSILON},
                 {TRINE_D, sizeof(double), DBL_EPSILON},
                 {TRINE_C, 2 * sizeof(float), FLT_EPSILON},
                 {TRINE_Z, 2 * sizeof(double), DBL_EPSILON},
                 {(trine_dtype)0, 0, 0},
                 {(trine_dtype)(TRINE_Z + 1), 0, 0}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        assert_int_equal(trine_dtype_size(known[k].t), known[k].size);
        assert_true(trine_dtype_eps(known[k].t) == known[k].eps);
    }
}

static void a_device_is_entered_and_left(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int saved = -2, inner = -2;
    OK(trine_context_enter(ctx, &saved));
    assert_int_equal(saved >= 0, test_on_gpu()); /* the runtime always has a current device */
    OK(trine_context_enter(ctx, &inner)); /* they nest */
    if (test_on_gpu()) {
        trine_context_info info;
        OK(trine_context_get_info(ctx, &info));
        assert_int_equal(inner, info.device);
    }
    OK(trine_context_leave(ctx, inner));
    OK(trine_context_leave(ctx, saved));
    FAILS(TRINE_ERR_ARGUMENT, "saved is NULL", trine_context_enter(ctx, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_context_enter(NULL, &saved));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_context_leave(NULL, saved));
    OK(trine_context_destroy(&ctx));
}

static void auto_takes_a_device_or_says_why_not(void **state)
{
    (void)state;
    trine_context ctx;
    trine_context_info info;
    OK(trine_context_create(&ctx, NULL));
    OK(trine_context_get_info(ctx, &info));
    if (info.space == TRINE_HOST) {
        assert_int_equal(info.device, -1);
        assert_true(strlen(info.fallback) > 0);
    } else {
        assert_int_equal(info.device, 0);
        assert_true(info.multiprocessors > 0 && info.compute_capability >= 80);
    }
    OK(trine_context_destroy(&ctx));
    assert_null(ctx);
    OK(trine_context_destroy(&ctx));
    OK(trine_context_destroy(NULL));
}

static void threads_are_taken_from_the_name(void **state)
{
    (void)state;
    trine_context ctx;
    trine_context_info info;
    OK(trine_context_create(&ctx, "cpu:3"));
    OK(trine_context_get_info(ctx, &info));
    assert_int_equal(info.threads, 3);
    assert_string_equal(info.name, "cpu, 3 threads");
    OK(trine_context_destroy(&ctx));
    OK(trine_context_create(&ctx, "cpu:1"));
    OK(trine_context_get_info(ctx, &info));
    assert_string_equal(info.name, "cpu, 1 thread");
    OK(trine_context_destroy(&ctx));
}

static void memory_goes_through_the_callers_allocator(void **state)
{
    (void)state;
    trine_context ctx;
    test_memory memory = {0};
    void *p;
    OK(trine_context_create(&ctx, "cpu"));
    test_fail_allocations(ctx, &memory);
    OK(trine_alloc(ctx, TRINE_HOST, 100, &p));
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal(memory.live, 1);
    trine_free(ctx, TRINE_HOST, p);
    assert_int_equal(memory.live, 0);
    OK(trine_alloc(ctx, TRINE_HOST, 0, &p));
    assert_null(p);
    memory.fail_at = memory.calls + 1;
    FAILS(TRINE_ERR_MEMORY, "no host memory for", trine_alloc(ctx, TRINE_HOST, 8, &p));
    assert_null(p);
    FAILS(TRINE_ERR_ARGUMENT, "no device memory", trine_alloc(ctx, TRINE_DEVICE, 8, &p));
    FAILS(TRINE_ERR_ARGUMENT, "is no size", trine_alloc(ctx, TRINE_HOST, SIZE_MAX, &p));
    OK(trine_context_destroy(&ctx));
}

static void an_allocator_cannot_change_under_living_handles(void **state)
{
    (void)state;
    trine_context ctx;
    trine_matrix A;
    OK(trine_context_create(&ctx, "cpu"));
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, 2, 2, 0, NULL, NULL, NULL));
    trine_context second = ctx;
    FAILS(TRINE_ERR_STATE, "cannot change", trine_context_set_allocator(ctx, NULL, NULL));
    OK(trine_context_destroy(&second)); /* the matrix keeps it alive */
    OK(trine_matrix_destroy(&A));
}

static void every_allocation_of_a_matrix_may_fail(void **state)
{
    (void)state;
    for (int k = 1;; k++) {
        trine_context ctx;
        trine_matrix A;
        test_memory memory = {.fail_at = k};
        OK(trine_context_create(&ctx, "cpu"));
        test_fail_allocations(ctx, &memory);
        trine_status status = trine_matrix_allocate(ctx, &A, TRINE_CSC, TRINE_Z, 5, 7, 11, NULL, NULL, NULL);
        if (status) assert_null(A);
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
        assert_int_equal(memory.live, 0);
        if (!status) {
            assert_int_equal(k, memory.calls + 1);
            return;
        }
        assert_int_equal(status, TRINE_ERR_MEMORY);
    }
}

static void copies_go_through_the_device(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    double in[1000], out[1000] = {0};
    for (int i = 0; i < 1000; i++) in[i] = test_uniform(1, (uint64_t)i);
    void *p = test_to_device(ctx, in, sizeof in);
    test_from_device(ctx, out, p, sizeof out);
    assert_memory_equal(in, out, sizeof in);
    test_release(ctx, p);
    OK(trine_context_destroy(&ctx));
}

static void *thread_with_its_own_context(void *argument)
{
    trine_context ctx;
    if (trine_context_create(&ctx, "cpu:1")) return NULL;
    for (int i = 0; i < 200; i++) {
        char name[40];
        snprintf(name, sizeof name, "thread-%d-%d", *(int *)argument, i);
        trine_context other;
        if (trine_context_create(&other, name) != TRINE_ERR_ARGUMENT) return NULL;
        if (!strstr(trine_last_error(), name)) return NULL; /* the sentence is this thread's own */
    }
    trine_context_destroy(&ctx);
    return argument;
}
static void two_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[4];
    int number[4];
    for (int i = 0; i < 4; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, thread_with_its_own_context, &number[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &number[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(devices_that_do_not_exist_are_refused_with_a_reason),
        cmocka_unit_test(a_program_fails_in_trines_way),
        cmocka_unit_test(a_dtype_has_a_size_and_an_eps),
        cmocka_unit_test(a_device_is_entered_and_left),
        cmocka_unit_test(auto_takes_a_device_or_says_why_not),
        cmocka_unit_test(threads_are_taken_from_the_name),
        cmocka_unit_test(memory_goes_through_the_callers_allocator),
        cmocka_unit_test(an_allocator_cannot_change_under_living_handles),
        cmocka_unit_test(every_allocation_of_a_matrix_may_fail),
        cmocka_unit_test(copies_go_through_the_device),
        cmocka_unit_test(two_threads_do_not_disturb_each_other),
    };
    return TEST_MAIN(tests);
}
