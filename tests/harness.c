#include "harness.h"

#include "core/test_interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *test_device(void)
{
    const char *device = getenv("TRINE_TEST_DEVICE");
    return device && *device ? device : "cpu";
}

bool test_on_gpu(void) { return strncmp(test_device(), "cuda", 4) == 0; }

int test_shape(int *shared_bytes)
{
    const char *shape = getenv("TRINE_TEST_SHAPE");
    int major = 0, minor = 0, kilobytes = 0;
    if (shape && *shape &&
        (sscanf(shape, "%d.%d:%d", &major, &minor, &kilobytes) != 3 || major < 8 || kilobytes < 99)) {
        fprintf(stderr, "TRINE_TEST_SHAPE=%s is no capability and kilobytes, as 8.6:99\n", shape);
        exit(1);
    }
    *shared_bytes = 1024 * kilobytes;
    return 10 * major + minor;
}

void test_take_shape(void)
{
    int shared_bytes;
    const int capability = test_shape(&shared_bytes);
    trine_gpu_pretend(capability, shared_bytes);
}

bool test_device_is_there(void)
{
    trine_context ctx;
    test_take_shape();
    if (getenv("TRINE_TEST_FILTER")) cmocka_set_test_filter(getenv("TRINE_TEST_FILTER"));
    if (trine_context_create(&ctx, test_device()) == TRINE_SUCCESS) {
        trine_context_destroy(&ctx);
        return true;
    }
    printf("skipped, no device \"%s\": %s\n", test_device(), trine_last_error());
    return false;
}

trine_context test_context(void)
{
    trine_context ctx;
    OK(trine_context_create(&ctx, test_device()));
    return ctx;
}

trine_context test_cpu(int threads)
{
    enum { MOST = 16 };
    static trine_context contexts[MOST + 1];
    char device[16];
    assert_in_range(threads, 1, MOST);
    snprintf(device, sizeof device, "cpu:%d", threads);
    if (!contexts[threads]) OK(trine_context_create(&contexts[threads], device));
    return contexts[threads];
}

trine_context test_shared(int threads)
{
    static trine_context gpu;
    if (!test_on_gpu()) return test_cpu(threads);
    if (!gpu) gpu = test_context();
    return gpu;
}

void test_ok(trine_status status, const char *call, const char *file, int line)
{
    if (status == TRINE_SUCCESS) return;
    print_error("%s: %s (%s)\n", call, trine_last_error(), trine_status_string(status));
    _fail(file, line);
}

void test_fails(trine_status expected, const char *text, trine_status status, const char *call, const char *file,
                int line)
{
    if (status != expected) {
        print_error("%s: status \"%s\", expected \"%s\"; last error: %s\n", call, trine_status_string(status),
                    trine_status_string(expected), trine_last_error());
        _fail(file, line);
    }
    if (text && !strstr(trine_last_error(), text)) {
        print_error("%s: \"%s\" does not say \"%s\"\n", call, trine_last_error(), text);
        _fail(file, line);
    }
}

bool test_is_to_do(void)
{
    static long next = 0;
    const char *part = getenv("TRINE_TEST_PART");
    long k = 1, n = 1;
    if (part && *part && (sscanf(part, "%ld/%ld", &k, &n) != 2 || k < 1 || k > n))
        fail_msg("TRINE_TEST_PART=%s is no k/n", part);
    return next++ % n == k - 1;
}

bool test_is_reduced(void) { return getenv("TRINE_TEST_ROWS") && *getenv("TRINE_TEST_ROWS"); }
bool test_is_small(int64_t rows) { return !test_is_reduced() || rows <= atoll(getenv("TRINE_TEST_ROWS")); }

bool test_is_watched(void) { return getenv("TRINE_TEST_TOOL") && *getenv("TRINE_TEST_TOOL"); }

static const char *matrix_folder(void)
{
    const char *folder = getenv("TRINE_MATRICES");
    if (!folder || !*folder) folder = getenv("TRINE_TEST_MATRICES");
    return folder && *folder ? folder : "../shared/matrices";
}

const char *test_real_matrix(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s.mtx.gz", matrix_folder(), name);
    if (access(path, R_OK) != 0) {
        print_message("skipped: no real matrix %s\n", name);
        skip();
    }
    return path;
}

const char *test_recorded_system(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/../numerics/data/%s.bin", matrix_folder(), name);
    if (access(path, R_OK) == 0) return path;
    print_message("no recorded system %s\n", name);
    return NULL;
}

uint64_t test_seed(void)
{
    const char *seed = getenv("TRINE_TEST_SEED");
    return seed ? strtoull(seed, NULL, 10) : 0;
}

double test_uniform(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed * 0x100000001B3u + counter + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

enum { MOST_BYTES = 1 << 30 }; /* of one block: sanitizers end a program that asks malloc for too much */
static void *counting_alloc(void *user, size_t bytes)
{
    test_memory *memory = user;
    int64_t call = __atomic_add_fetch(&memory->calls, 1, __ATOMIC_RELAXED);
    if (call == memory->fail_at || bytes > MOST_BYTES) return NULL;
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p) __atomic_add_fetch(&memory->live, 1, __ATOMIC_RELAXED);
    return p;
}
static void counting_release(void *user, void *p)
{
    test_memory *memory = user;
    if (p) __atomic_sub_fetch(&memory->live, 1, __ATOMIC_RELAXED);
    free(p);
}

void test_fail_allocations(trine_context ctx, test_memory *memory)
{
    OK(trine_context_set_allocator(ctx, &(trine_allocator){counting_alloc, counting_release, memory}, NULL));
}

static trine_space context_space(trine_context ctx)
{
    trine_context_info info;
    OK(trine_context_get_info(ctx, &info));
    return info.space;
}

void *test_to_device(trine_context ctx, const void *host, size_t bytes)
{
    void *p;
    OK(trine_alloc(ctx, context_space(ctx), bytes, &p));
    OK(trine_copy(ctx, p, context_space(ctx), host, TRINE_HOST, bytes));
    return p;
}

void test_from_device(trine_context ctx, void *host, const void *device, size_t bytes)
{
    OK(trine_context_synchronize(ctx));
    OK(trine_copy(ctx, host, TRINE_HOST, device, context_space(ctx), bytes));
}

void test_release(trine_context ctx, void *p) { trine_free(ctx, context_space(ctx), p); }
