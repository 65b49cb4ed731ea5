/* What every test program shares: the device it runs on, the real matrices, random numbers, an allocator that fails.
 * Link with trine_test_support. A test source ends with
 *     int main(void) { const struct CMUnitTest tests[] = {...}; return TEST_MAIN(tests); }              */
#ifndef TRINE_HARNESS_H
#define TRINE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <trine/trine.h>

/** "cpu" or "cuda", from the environment variable TRINE_TEST_DEVICE (ctest sets it). */
const char *test_device(void);
bool test_on_gpu(void);
/** A new context on test_device(); fails the test if that is impossible. */
trine_context test_context(void);
/** A context on the CPU of so many threads, and one on test_device() (threads: if that is the CPU), which every
 *  caller in the program shares and nobody ends. */
trine_context test_cpu(int threads);
trine_context test_shared(int threads);

/** Run the tests, or those that the environment variable TRINE_TEST_FILTER names ("*nan*"); on a GPU device that is
 *  not there print why and return 77 (ctest: skipped). */
#define TEST_MAIN(tests) (test_device_is_there() ? cmocka_run_group_tests_name(test_device(), tests, NULL, NULL) : 77)
bool test_device_is_there(void);

/** Compute capability (86) and shared memory a block of the smaller device that TRINE_TEST_SHAPE=8.6:99 (kilobytes)
 *  in the environment asks for, in place of the one that is there; 0 and 0 without it. test_take_shape, which
 *  TEST_MAIN calls, makes the library take the device for that. */
int test_shape(int *shared_bytes);
void test_take_shape(void);

/** Assert success and print trine_last_error otherwise. */
#define OK(call) test_ok((call), #call, __FILE__, __LINE__)
void test_ok(trine_status status, const char *call, const char *file, int line);
/** Assert that call returns `expected` and that trine_last_error then contains `text` (NULL: any). */
#define FAILS(expected, text, call) test_fails((expected), (text), (call), #call, __FILE__, __LINE__)
void test_fails(trine_status expected, const char *text, trine_status status, const char *call, const char *file,
                int line);

/** Is the next piece of a test's work to be done? Yes, unless TRINE_TEST_PART=k/n in the environment asks for every
 *  n-th piece from the k-th on (1 <= k <= n): n processes then share tests that would take one of them too long
 *  under compute-sanitizer. */
bool test_is_to_do(void);

/** A run under compute-sanitizer, which looks for errors of memory and synchronization, sets TRINE_TEST_ROWS=n in
 *  the environment: tests then leave systems of more than n rows out, and of random samples whose median is asserted
 *  they take one, and do not. */
bool test_is_reduced(void);
bool test_is_small(int64_t rows);
static inline int test_samples(int count) { return test_is_reduced() ? 1 : count; }
/** A tool of compute-sanitizer watches, which TRINE_TEST_TOOL names. */
bool test_is_watched(void);

/** Path of a real matrix ("nos3"), or the running test is skipped, visibly, when it is not there: in the folder
 *  TRINE_MATRICES, by default ../shared/matrices beside the project. The text lives until the next call. */
const char *test_real_matrix(const char *name);
/** Path of a recorded system of the numerical test set ("T4_07"), in ../numerics/data beside the real matrices; NULL
 *  if it is not there. The text lives until the next call. */
const char *test_recorded_system(const char *name);

/** Portable random numbers: u in (0,1), by a counter (splitmix64). */
double test_uniform(uint64_t seed, uint64_t counter);
/** What random tests that can be repeated with other numbers add to their seeds: TRINE_TEST_SEED, or 0. */
uint64_t test_seed(void);

/** Make ctx's k-th host allocation from now on fail (k = 0: none), and every one of more than 2^30 bytes; count them
 *  all. */
typedef struct { int64_t calls, fail_at, live; } test_memory;
void test_fail_allocations(trine_context ctx, test_memory *memory);

/** A vector block in the context's space from host data, and back. */
void *test_to_device(trine_context ctx, const void *host, size_t bytes);
void test_from_device(trine_context ctx, void *host, const void *device, size_t bytes);
void test_release(trine_context ctx, void *p);

#endif
