/* Factorizations when memory ends, with libtrine_direct opened by RTLD_LOCAL as the command does it: the process
 * goes on, whatever the libraries behind it do by themselves. Allocations of the context, which SuperLU's are too,
 * fail one by one; where no sanitizer is in the way, all of malloc does, from the k-th call on, and the address
 * space is limited, each time in a child process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trine/direct.h>

#include "harness.h"

/* libtrine_direct's functions. */
static trine_status (*create)(trine_context, trine_direct *, trine_matrix, const trine_direct_options *);
static trine_status (*solve)(trine_direct, trine_transpose, const trine_dense *, const trine_dense *,
                             const trine_exec *);
static trine_status (*get_info)(trine_direct, trine_direct_info *);
static trine_status (*destroy)(trine_direct *);

static int open_library(void **state)
{
    (void)state;
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* each of its threads would wait for a buffer of its own, for ever */
    void *library = dlopen(TRINE_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_error("%s\n", dlerror());
        return -1;
    }
    *(void **)&create = dlsym(library, "trine_direct_create");
    *(void **)&solve = dlsym(library, "trine_direct_solve");
    *(void **)&get_info = dlsym(library, "trine_direct_get_info");
    *(void **)&destroy = dlsym(library, "trine_direct_destroy");
    return create && solve && get_info && destroy ? 0 : -1;
}

static void find_advice(void *user, int level, const char *message)
{
    if (level == 1 && strstr(message, "SuperLU was loaded before") && strstr(message, "TRINE_DIRECT_LU_UMFPACK"))
        *(bool *)user = true;
}

/** What a program does that has brought SuperLU in by itself; 0 if all is well. */
static int factor_beside_superlu(void)
{
    trine_context ctx;
    trine_matrix A;
    trine_direct plan;
    trine_direct_info info;
    bool advised = false;
    void *state = NULL;
    if (!dlopen(TRINE_TEST_SUPERLU, RTLD_NOW | RTLD_GLOBAL) || open_library(&state)) return 2;
    if (trine_context_create(&ctx, "cpu:1") || trine_context_set_log(ctx, find_advice, &advised, 1)) return 3;
    if (trine_matrix_gallery(ctx, &A, "convection3d:n=5", TRINE_D)) return 4;
    if (create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU}) || get_info(plan, &info))
        return 5;
    if (info.factor.method != TRINE_DIRECT_LU_UMFPACK || !advised) return 6;
    return destroy(&plan) || trine_matrix_destroy(&A) || trine_context_destroy(&ctx) ? 7 : 0;
}

/** The first test: here libtrine_direct is not open yet. */
static void superlu_that_was_loaded_before_is_left_alone(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(factor_beside_superlu());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct {
    trine_direct_method method;
    trine_ordering ordering;
} ways[] = {{TRINE_DIRECT_LU, TRINE_ORDERING_COLAMD},       {TRINE_DIRECT_LU, TRINE_ORDERING_METIS},
            {TRINE_DIRECT_LU_UMFPACK, TRINE_ORDERING_AUTO}, {TRINE_DIRECT_LU_UMFPACK, TRINE_ORDERING_METIS},
            {TRINE_DIRECT_LU_KLU, TRINE_ORDERING_AUTO},     {TRINE_DIRECT_LU_KLU, TRINE_ORDERING_METIS},
            {TRINE_DIRECT_LDL, TRINE_ORDERING_AMD},         {TRINE_DIRECT_CHOLESKY, TRINE_ORDERING_AMD},
            {TRINE_DIRECT_CHOLESKY, TRINE_ORDERING_METIS},  {TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_ORDERING_METIS}};
enum { WAYS = sizeof ways / sizeof *ways };

/** Factor, solve and look at the result: TRINE_ERR_NO_CONVERGENCE for a wrong one. */
static trine_status factor_and_solve(trine_context ctx, trine_matrix A, int way)
{
    trine_matrix_info info;
    trine_direct plan = NULL;
    trine_accuracy accuracy;
    trine_status status = trine_matrix_get_info(A, &info);
    double *b = calloc((size_t)(2 * info.n_rows), sizeof *b);
    if (!b) return TRINE_ERR_MEMORY;
    const trine_dense B = {b, info.n_rows, 1, 0, TRINE_COLMAJOR},
                      X = {b + info.n_rows, info.n_rows, 1, 0, TRINE_COLMAJOR};
    for (int64_t i = 0; i < info.n_rows; i++) b[i] = 1 + (double)(i % 7);
    if (!status)
        status = create(ctx, &plan, A,
                        &(trine_direct_options){.factor = {.method = ways[way].method, .ordering = ways[way].ordering},
                                                .solver = TRINE_SOLVER_GENERAL});
    if (!status) status = solve(plan, TRINE_N, &B, &X, NULL);
    if (!status) status = trine_matrix_accuracy(A, 1, b + info.n_rows, b, NULL, &accuracy);
    if (!status && !(accuracy.backward_error < 10)) status = TRINE_ERR_NO_CONVERGENCE;
    destroy(&plan);
    free(b);
    return status;
}

static void superlu_gives_up_its_call_and_not_the_process(void **state)
{
    (void)state;
    trine_context ctx;
    trine_matrix A;
    test_memory memory = {0};
    trine_direct plan;
    trine_direct_info info;
    OK(trine_context_create(&ctx, "cpu:1"));
    test_fail_allocations(ctx, &memory);
    OK(trine_matrix_gallery(ctx, &A, "convection3d:n=5", TRINE_D));
    OK(create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU}));
    OK(get_info(plan, &info));
    /* SuperLU, not UMFPACK in its place: its requests come to the context */
    assert_int_equal(info.factor.method, TRINE_DIRECT_LU);
    OK(destroy(&plan));
    const int64_t before = memory.live;
    for (int way = 0; way < 2; way++) {
        bool failed = true;
        int64_t k = 0;
        while (failed) {
            memory.fail_at = memory.calls + ++k;
            const trine_status status = factor_and_solve(ctx, A, way);
            failed = memory.calls >= memory.fail_at;
            assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
            assert_int_equal(memory.live, before);
        }
        assert_true(k > 60); /* more than trine's own: SuperLU has about 30 */
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
    assert_int_equal(memory.live, 0);
}

/* --------------------------------------------------- everybody's memory, in a child */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define FAILS_EVERYWHERE
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static int64_t calls, first_failure; /* 0: none */

/** Not for OpenMP's runtime, which ends the process by itself (docs/explanation/factorizations.md). */
static bool fails(void *caller)
{
    Dl_info who;
    if (!first_failure || (dladdr(caller, &who) && who.dli_fname && strstr(who.dli_fname, "libgomp"))) return false;
    return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) >= first_failure;
}
__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}
__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, bytes);
}
__attribute__((visibility("default"))) void *aligned_alloc(size_t to, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(to, bytes);
}

/** The status of a factorization in a child that has only so much memory; how many allocations there were goes to
 *  *used. */
static trine_status in_a_child(const char *spec, int way, int64_t failure, int64_t megabytes, int64_t *used)
{
    struct {
        trine_status status;
        int64_t used;
    } result;
    int ends[2], child_status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        trine_context ctx;
        trine_matrix A;
        long pages = 0;
        alarm(60);
        const int nowhere = open("/dev/null", O_WRONLY); /* METIS tells that it has no memory */
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        if (trine_context_create(&ctx, "cpu:1") || trine_matrix_gallery(ctx, &A, spec, TRINE_D)) _exit(3);
        if (!megabytes && factor_and_solve(ctx, A, way)) _exit(4); /* whatever is set up once is */
        if (megabytes) {
            FILE *f = fopen("/proc/self/statm", "r");
            if (!f || fscanf(f, "%ld", &pages) != 1) _exit(5);
            fclose(f);
            const rlim_t most = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + (megabytes << 20));
            if (setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY})) _exit(5);
        }
        calls = 0;
        first_failure = failure;
        result.status = factor_and_solve(ctx, A, way);
        first_failure = 0;
        result.used = calls;
        if (write(ends[1], &result, sizeof result) != sizeof result) _exit(6);
        _exit(0);
    }
    close(ends[1]);
    const bool told = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    assert_int_equal(waitpid(child, &child_status, 0), child);
    if (!told || !WIFEXITED(child_status) || WEXITSTATUS(child_status))
        fail_msg("way %d, allocation %d, %d MB: the process ended (%s %d)", way, (int)failure, (int)megabytes,
                 WIFSIGNALED(child_status) ? "signal" : "exit code",
                 WIFSIGNALED(child_status) ? WTERMSIG(child_status) : WEXITSTATUS(child_status));
    *used = result.used;
    return result.status;
}

static void no_library_ends_the_process_when_malloc_fails(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        int64_t used = INT64_MAX, failures = 0;
        for (int64_t k = 1; used >= k; k += k < 60 ? 1 : 29) { /* until it takes fewer than k, none of which fails */
            const bool hermitian = ways[way].method < TRINE_DIRECT_LU || ways[way].method == TRINE_DIRECT_LDL;
            const trine_status status = in_a_child(hermitian ? "laplace3d:n=7" : "convection3d:n=7", way, k, 0, &used);
            if (status && status != TRINE_ERR_MEMORY)
                fail_msg("way %d, allocation %d: %s", way, (int)k, trine_status_string(status));
            failures += status != TRINE_SUCCESS;
            if (status) used = INT64_MAX;
        }
        assert_true(failures > 20);
    }
}

static void no_library_ends_the_process_in_a_small_address_space(void **state)
{
    (void)state;
    static const int64_t megabytes[] = {4, 40, 137, 140, 150, 180, 230, 2000};
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < sizeof megabytes / sizeof *megabytes; i++) {
            int64_t used;
            const trine_status status = in_a_child("laplace3d:n=14", way, 0, megabytes[i], &used);
            if (status && status != TRINE_ERR_MEMORY)
                fail_msg("way %d, %d MB: %s", way, (int)megabytes[i], trine_status_string(status));
            if (i == 0) assert_int_equal(status, TRINE_ERR_MEMORY);
            if (megabytes[i] == 2000) assert_int_equal(status, TRINE_SUCCESS);
        }
}

static void find_bound(void *user, int level, const char *message)
{
    int *found = user;
    if (strstr(message, "the factorization takes at most") && strstr(message, "MB are free")) found[level > 1]++;
}

/** UMFPACK's bound is told where there is room for it, and is a warning where there is not: in a child. */
static int bound_of_umfpack(void)
{
    trine_context ctx;
    trine_matrix A;
    trine_direct plan;
    int found[2] = {0, 0};
    long pages = 0;
    const trine_direct_options options = {.factor.method = TRINE_DIRECT_LU_UMFPACK};
    alarm(60);
    if (trine_context_create(&ctx, "cpu:1") || trine_matrix_gallery(ctx, &A, "laplace3d:n=20", TRINE_D)) return 3;
    if (trine_context_set_log(ctx, find_bound, found, 2)) return 3;
    if (create(ctx, &plan, A, &options) || found[0] || found[1] != 1) return 4;
    if (destroy(&plan)) return 4;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) return 5;
    fclose(f);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)20 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY})) return 5;
    const trine_status status = create(ctx, &plan, A, &options);
    if (status != TRINE_SUCCESS && status != TRINE_ERR_MEMORY) return 6;
    return found[0] == 1 ? 0 : 7;
}

static void umfpack_says_what_it_takes_at_most(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(bound_of_umfpack());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/** Where a factor has no room, what it takes is said before the factorization, which is not begun: in a child. */
static int factor_without_room(void)
{
    trine_context ctx;
    trine_matrix A;
    trine_direct plan;
    long pages = 0;
    const trine_direct_options options = {
        .factor = {.method = TRINE_DIRECT_CHOLESKY, .ordering = TRINE_ORDERING_NATURAL}};
    alarm(60);
    if (trine_context_create(&ctx, "cpu:1") || trine_matrix_gallery(ctx, &A, "laplace3d:n=34", TRINE_D)) return 3;
    FILE *f = fopen("/proc/self/statm", "r"); /* L has n^5 entries, 363 MB; OpenBLAS may take 128 MiB first */
    if (!f || fscanf(f, "%ld", &pages) != 1) return 5;
    fclose(f);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)290 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY})) return 5;
    const trine_status status = create(ctx, &plan, A, &options);
    if (status != TRINE_ERR_MEMORY) return 6;
    if (!strstr(trine_last_error(), "MB are free: the factorization was not begun")) {
        print_error("%s\n", trine_last_error());
        return 7;
    }
    return 0;
}

static void a_factor_without_room_is_refused_before_it_is_begun(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(factor_without_room());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superlu_that_was_loaded_before_is_left_alone),
        cmocka_unit_test_setup(superlu_gives_up_its_call_and_not_the_process, open_library),
#ifdef FAILS_EVERYWHERE
        cmocka_unit_test_setup(no_library_ends_the_process_when_malloc_fails, open_library),
        cmocka_unit_test_setup(no_library_ends_the_process_in_a_small_address_space, open_library),
        cmocka_unit_test_setup(a_factor_without_room_is_refused_before_it_is_begun, open_library),
        cmocka_unit_test_setup(umfpack_says_what_it_takes_at_most, open_library),
#endif
    };
    return TEST_MAIN(tests);
}
