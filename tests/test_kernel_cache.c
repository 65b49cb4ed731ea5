/* Strings of semirings compiled by NVRTC, which needs no GPU, and the directory that compiled kernels are kept in.
 * Skipped where there is no NVRTC. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/test_interface.h"
#include "harness.h"

#define TYPE(type) {.name = #type, .size = sizeof(type), .align = _Alignof(type)}
#define COUNT(array) (sizeof(array) / sizeof *(array))

static char folder[] = "/tmp/trine-kernels-XXXXXX";

/** A context that keeps kernels in a new folder of the test's. */
static trine_context new_context(const char *name)
{
    static char path[256];
    trine_context ctx;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    OK(trine_context_create(&ctx, "cpu:1"));
    OK(trine_context_set_kernel_cache(ctx, path));
    return ctx;
}

static void need_nvrtc(void)
{
    trine_context ctx = new_context("unused");
    trine_semiring_source s;
    OK(trine_semiring_find("plus-times", TRINE_S, &s));
    OK(trine_context_set_kernel_cache(ctx, NULL));
    const trine_status status = trine_semiring_compile(ctx, &s, 0, 90, 0);
    OK(trine_context_destroy(&ctx));
    if (status != TRINE_ERR_NOT_BUILT) return;
    print_message("skipped: %s\n", trine_last_error());
    skip();
}

static trine_semiring_source plus_times(void)
{
    return (trine_semiring_source){.value = TYPE(float),
                                   .vector = TYPE(float),
                                   .product = TYPE(float),
                                   .output = TYPE(float),
                                   .multiply = "a * x",
                                   .add = "acc + p"};
}

/** Files in a folder of the test's; the path of the last one whose name ends so. */
static int files_in(const char *name, const char *ending, char *path, size_t bytes)
{
    char directory[256];
    int count = 0;
    snprintf(directory, sizeof directory, "%s/%s", folder, name);
    DIR *listing = opendir(directory);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (entry->d_name[0] == '.') continue;
        const size_t length = strlen(entry->d_name), end = strlen(ending);
        if (length < end || strcmp(entry->d_name + length - end, ending) != 0) continue;
        if (path) snprintf(path, bytes, "%s/%s", directory, entry->d_name);
        count++;
    }
    if (listing) closedir(listing);
    return count;
}

struct messages {
    int warnings;
    char text[4096];
};
static void take_message(void *user, int level, const char *message)
{
    struct messages *m = user;
    if (level > 1) return;
    m->warnings++;
    const size_t length = strlen(m->text);
    snprintf(m->text + length, sizeof m->text - length, "%s\n", message);
}

/* ----------------------------------------------------------------- strings */

/* What NVRTC takes is not sanitized, and takes its time: the tree without sanitizers compiles all of it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 5 };
#else
enum { STEP = 1 };
#endif

static void builtins_compile(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("builtins");
    for (int k = 0, at = 0; trine_semiring_name(k); k++)
        for (trine_dtype t = TRINE_S; t <= TRINE_D; t++) {
            trine_semiring_source s;
            if (at++ % STEP) continue;
            OK(trine_semiring_find(trine_semiring_name(k), t, &s));
            OK(trine_semiring_compile(ctx, &s, 0, k % 2 ? 80 : 90, 0));
        }
    OK(trine_context_destroy(&ctx));
}

typedef struct {
    float value;
    int column;
} entry;
typedef struct {
    double t;
    int64_t shift;
} settings;

/** All members at once, types that are structs, names that the generated code might have used itself. */
static void every_string_compiles(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("strings");
    const trine_semiring_source s = {
        .value = {"half", NULL, 2, 2},
        .vector = TYPE(double),
        .product = {"entry", "struct entry { float value; int column; };", sizeof(entry), _Alignof(entry)},
        .accumulator = {"wide", "struct wide { double value; long long row; };", 16, 8},
        .result = TYPE(double),
        .output = TYPE(float),
        .args = {"settings", "struct settings { double t; int64_t shift; };", sizeof(settings), 8},
        .preamble = "wide add(wide a, wide b) { return {a.value + b.value, a.row}; }\n"
                    "float multiply(float a) { return 2 * a; }\nint data, store, sum, lift, call, operator_;",
        .multiply = "{multiply(a) * (float)x + (float)values[nz] + (float)vector[col], col + (int)row}",
        .lift = "{p.value * args.t, p.column} // a comment",
        .add = "add(acc, p)",
        .project = "acc.value",
        .identity = "{-INFINITY, args.shift}",
        .store = "empty ? y : float(z + y * args.t + row)",
        .needs_row = 1,
        .reads_y = 1};
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    OK(trine_semiring_compile(ctx, &s, 32, 80, 0));
    trine_semiring_source no_values = {.product = TYPE(int32_t),
                                       .output = TYPE(uint8_t),
                                       .multiply = "col",
                                       .add = "acc < p ? acc : p",
                                       .store = "uint8_t(z % 7)"};
    OK(trine_semiring_compile(ctx, &no_values, 0, 90, 0));
    trine_semiring_source large = plus_times();
    large.product = (trine_type){"large", "struct large { float v[64]; };", 256, 4};
    large.multiply = "{{a * x}}", large.add = "acc", large.result = large.output;
    large.project = "acc.v[0]";
    OK(trine_semiring_compile(ctx, &large, 0, 80, 0));
    OK(trine_context_destroy(&ctx));
}

/** The plain product of tuned plans: every type, the largest block and tile, every reduction. */
static void tuned_products_compile(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("products");
    const trine_dtype half = (trine_dtype)0;
    const struct {
        trine_dtype dtype, stored;
        int block, tile;
    } of[] = {{TRINE_S, half, 64, 4},     {TRINE_D, TRINE_S, 256, 11}, {TRINE_D, TRINE_D, 512, 16},
              {TRINE_C, TRINE_C, 128, 5}, {TRINE_Z, TRINE_C, 256, 7},  {TRINE_Z, TRINE_Z, 512, 16}};
    for (int k = 0; k < 6; k += STEP)
        OK(trine_product_compile(ctx, of[k].dtype, of[k].stored, k % 2, of[k].block, of[k].tile,
                                 TRINE_REDUCTION_RAKING + k % 4, k % 2 ? 80 : 90));
    OK(trine_context_destroy(&ctx));
}

/** The compiler's message names the string and the line in it. */
static void wrong_strings_are_named(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("wrong");
    struct messages m = {0};
    trine_semiring_source s = plus_times();
    OK(trine_context_set_log(ctx, take_message, &m, 1));
    s.multiply = "a * foo";
    FAILS(TRINE_ERR_ARGUMENT, "multiply(1): error: identifier \"foo\"", trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_non_null(strstr(m.text, "multiply(1): error: identifier \"foo\""));
    s.multiply = "a *\n  x +\n  row"; /* not asked for */
    FAILS(TRINE_ERR_ARGUMENT, "multiply(3): error: identifier \"row\"", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.add = "acc +";
    FAILS(TRINE_ERR_ARGUMENT, "the compiler refuses the semiring: ", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.add = "bar(acc, p)";
    FAILS(TRINE_ERR_ARGUMENT, "add(1): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.store = "y"; /* reads_y is not set */
    FAILS(TRINE_ERR_ARGUMENT, "store(1): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.preamble = "float f(float x)\n{\n    return g(x);\n}";
    FAILS(TRINE_ERR_ARGUMENT, "preamble(3): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.preamble = "#include \"secret.h\"";
    FAILS(TRINE_ERR_ARGUMENT, "preamble(1)", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.identity = "nothing";
    FAILS(TRINE_ERR_ARGUMENT, "identity(1): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.lift = "nothing";
    FAILS(TRINE_ERR_ARGUMENT, "lift(1): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.project = "nothing";
    FAILS(TRINE_ERR_ARGUMENT, "project(1): error", trine_semiring_compile(ctx, &s, 0, 90, 0));
    s = plus_times(), s.product = (trine_type){"pair", "struct pair { double a; int b; };", 12, 4};
    FAILS(TRINE_ERR_ARGUMENT, "the type has another size on the device than the 12 bytes given",
          trine_semiring_compile(ctx, &s, 0, 90, 0));
    s.product = (trine_type){"pair", "struct pair { int a, b; };", 8, 8};
    FAILS(TRINE_ERR_ARGUMENT, "the type has another alignment on the device than the 8 bytes given",
          trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), 0);
    assert_int_equal(files_in("wrong", "", NULL, 0), 0);
    s = plus_times();
    FAILS(TRINE_ERR_UNSUPPORTED, "compiles nothing that runs on compute capability 2.0",
          trine_semiring_compile(ctx, &s, 0, 20, 0));
    OK(trine_semiring_compile(ctx, &s, 0, 999, 0)); /* a later device gets PTX */
    OK(trine_context_destroy(&ctx));
}

/** The limit, so short that every compilation exceeds it. */
static void the_compiler_is_stopped(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("stopped");
    const trine_semiring_source s = plus_times();
    const trine_status status = trine_semiring_compile(ctx, &s, 0, 90, 1e-9);
    if (status == TRINE_SUCCESS) skip(); /* an NVRTC that cannot be stopped */
    FAILS(TRINE_ERR_UNSUPPORTED, "the compiler has not ended with the semiring in 1e-09 s", status);
    assert_int_equal(files_in("stopped", "", NULL, 0), 0);
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------- files */

/** With TRINE_NVRTC naming no library: what is kept is found without the compiler, what is not is refused. */
static void a_hit_loads_no_compiler(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("hit");
    trine_semiring_source s = plus_times();
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), 1);
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), 1);
    OK(trine_context_destroy(&ctx));
    const char *library = getenv("TRINE_NVRTC");
    char *before = library ? strdup(library) : NULL;
    setenv("TRINE_NVRTC", "/nowhere/libnvrtc.so", 1);
    ctx = new_context("hit");
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    FAILS(TRINE_ERR_NOT_BUILT, "no NVRTC is here", trine_semiring_compile(ctx, &s, 0, 80, 0));
    s.multiply = "a + x";
    FAILS(TRINE_ERR_NOT_BUILT, "no NVRTC is here", trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), 0);
    OK(trine_context_destroy(&ctx));
    if (before) setenv("TRINE_NVRTC", before, 1);
    else unsetenv("TRINE_NVRTC");
    free(before);
}

static char *read_file(const char *path, long *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = ftell(f);
    rewind(f);
    char *text = malloc((size_t)*bytes);
    assert_int_equal(fread(text, 1, (size_t)*bytes, f), *bytes);
    fclose(f);
    return text;
}

static void write_file(const char *path, const char *text, long bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, (size_t)bytes, f), bytes);
    fclose(f);
}

/** The file is damaged: compiled anew, said so, and whole afterwards. */
static void assert_mended(trine_context ctx, const trine_semiring_source *s)
{
    struct messages m = {0};
    const int64_t compiled = trine_kernels_compiled(ctx);
    OK(trine_context_set_log(ctx, take_message, &m, 1));
    OK(trine_semiring_compile(ctx, s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), compiled + 1);
    assert_non_null(strstr(m.text, "is damaged: compiling anew"));
    m = (struct messages){0};
    OK(trine_semiring_compile(ctx, s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), compiled + 1);
    assert_int_equal(m.warnings, 0);
}

static void damaged_files_are_compiled_anew(void **state)
{
    (void)state;
    need_nvrtc();
    trine_context ctx = new_context("damaged");
    const trine_semiring_source s = plus_times();
    char path[512], *bad;
    long bytes;
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(files_in("damaged", ".kernel", path, sizeof path), 1);
    char *good = read_file(path, &bytes);
    const long lengths[] = {0, 7, 47, 48, 100, bytes / 2, bytes - 1};
    for (size_t k = 0; k < COUNT(lengths); k += STEP) {
        write_file(path, good, lengths[k]);
        assert_mended(ctx, &s);
    }
    bad = malloc((size_t)bytes + 1);
    const long places[] = {0, 8, 16, 24, 31, 32, 40, 48, 60, bytes / 2, bytes - 2, bytes - 1};
    for (size_t k = 0; k < COUNT(places); k += STEP) {
        memcpy(bad, good, (size_t)bytes);
        bad[places[k]] ^= 0x41;
        write_file(path, bad, bytes);
        assert_mended(ctx, &s);
    }
    memcpy(bad, good, (size_t)bytes);
    bad[bytes] = 0;
    write_file(path, bad, bytes + 1);
    assert_mended(ctx, &s);
    free(bad);
    free(good);
    OK(trine_context_destroy(&ctx));
}

/** A whole file of another program, as if the hashes of both were the same: of keys of one length, and of others. */
static void other_programs_are_not_taken(void **state)
{
    (void)state;
    need_nvrtc();
    const char *const others[] = {"a - x", "a - x - x"};
    for (size_t k = 0; k < COUNT(others); k++) {
        char path[512], foreign[512];
        long bytes;
        const trine_semiring_source s = plus_times();
        trine_semiring_source other = s;
        other.multiply = others[k];
        trine_context ctx = new_context(k ? "mine2" : "mine"), ctx2 = new_context(k ? "other2" : "other");
        OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
        OK(trine_semiring_compile(ctx2, &other, 0, 90, 0));
        assert_int_equal(files_in(k ? "mine2" : "mine", ".kernel", path, sizeof path), 1);
        assert_int_equal(files_in(k ? "other2" : "other", ".kernel", foreign, sizeof foreign), 1);
        char *wrong = read_file(foreign, &bytes);
        write_file(path, wrong, bytes);
        assert_mended(ctx, &s);
        free(wrong);
        OK(trine_context_destroy(&ctx));
        OK(trine_context_destroy(&ctx2));
    }
}

static void unwritable_directories_are_a_warning(void **state)
{
    (void)state;
    need_nvrtc();
    char path[256];
    struct messages m = {0};
    snprintf(path, sizeof path, "%s/file", folder);
    write_file(path, "no folder", 9);
    trine_context ctx = new_context("file/below");
    const trine_semiring_source s = plus_times();
    OK(trine_context_set_log(ctx, take_message, &m, 1));
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(m.warnings, 1);
    assert_non_null(strstr(m.text, "compiled kernels are not kept"));
    OK(trine_context_destroy(&ctx));
}

static void directories_are_found(void **state)
{
    (void)state;
    need_nvrtc();
    const trine_semiring_source s = plus_times();
    char path[256], *home = strdup(getenv("HOME") ? getenv("HOME") : "");
    trine_context ctx = new_context("never");
    OK(trine_context_set_kernel_cache(ctx, NULL));
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
    assert_int_equal(trine_kernels_compiled(ctx), 2);
    FAILS(TRINE_ERR_ARGUMENT, "no name", trine_context_set_kernel_cache(ctx, ""));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_context_set_kernel_cache(NULL, "/tmp"));
    OK(trine_context_destroy(&ctx));
    static const struct {
        const char *variable, *value, *found;
    } places[] = {{"HOME", "home", "home/.cache/trine"},
                  {"XDG_CACHE_HOME", "xdg", "xdg/trine"},
                  {"TRINE_KERNEL_CACHE", "own/deep/down", "own/deep/down"}};
    unsetenv("XDG_CACHE_HOME");
    unsetenv("TRINE_KERNEL_CACHE");
    for (size_t k = 0; k < COUNT(places); k++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[k].value);
        setenv(places[k].variable, path, 1);
        OK(trine_context_create(&ctx, "cpu:1"));
        OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
        assert_int_equal(files_in(places[k].found, ".kernel", NULL, 0), 1);
        OK(trine_context_destroy(&ctx));
    }
    unsetenv("XDG_CACHE_HOME");
    unsetenv("TRINE_KERNEL_CACHE");
    setenv("HOME", home, 1);
    free(home);
}

/** Every host allocation fails in turn: compiling, and taking a file. */
static void memory_ends(void **state)
{
    (void)state;
    need_nvrtc();
    const trine_semiring_source s = plus_times();
    for (int from_file = 0; from_file < 2; from_file++) {
        trine_context ctx = new_context("memory");
        test_memory memory = {0};
        if (from_file) OK(trine_semiring_compile(ctx, &s, 0, 90, 0));
        else OK(trine_context_set_kernel_cache(ctx, NULL));
        test_fail_allocations(ctx, &memory);
        trine_status status = TRINE_ERR_MEMORY;
        for (int64_t k = 1; status; k++) {
            assert_in_range(k, 1, 100);
            memory = (test_memory){.fail_at = k};
            status = trine_semiring_compile(ctx, &s, 0, 90, 0);
            assert_true(status == TRINE_SUCCESS || status == TRINE_ERR_MEMORY);
            assert_int_equal(memory.live, 0);
        }
        assert_true(memory.calls > 3);
        OK(trine_context_destroy(&ctx));
    }
}

/** Eight processes that fill one directory with the same three programs, five times each. */
static void processes_fill_it_together(void **state)
{
    (void)state;
    need_nvrtc();
    enum { PROCESSES = 8 };
    static const char *const multiply[] = {"a * x", "a + x", "a - x"};
    pid_t child[PROCESSES];
    for (int k = 0; k < PROCESSES; k++) {
        child[k] = fork();
        assert_true(child[k] >= 0);
        if (child[k]) continue;
        for (int round = 0; round < 15; round++) {
            trine_context ctx;
            trine_semiring_source s = plus_times();
            char path[256];
            s.multiply = multiply[(round + k) % 3];
            snprintf(path, sizeof path, "%s/together", folder);
            if (trine_context_create(&ctx, "cpu:1") || trine_context_set_kernel_cache(ctx, path) ||
                trine_semiring_compile(ctx, &s, 0, 90, 0) || (round >= 3 && trine_kernels_compiled(ctx)))
                _exit(1);
            trine_context_destroy(&ctx);
        }
        _exit(0);
    }
    for (int k = 0; k < PROCESSES; k++) {
        int end;
        assert_int_equal(waitpid(child[k], &end, 0), child[k]);
        assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    }
    assert_int_equal(files_in("together", ".kernel", NULL, 0), 3);
    assert_int_equal(files_in("together", "", NULL, 0), 3); /* and no other files */
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}
static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtins_compile),
        cmocka_unit_test(every_string_compiles),
        cmocka_unit_test(tuned_products_compile),
        cmocka_unit_test(wrong_strings_are_named),
        cmocka_unit_test(the_compiler_is_stopped),
        cmocka_unit_test(a_hit_loads_no_compiler),
        cmocka_unit_test(damaged_files_are_compiled_anew),
        cmocka_unit_test(other_programs_are_not_taken),
        cmocka_unit_test(unwritable_directories_are_a_warning),
        cmocka_unit_test(directories_are_found),
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(processes_fill_it_together),
    };
    if (!test_device_is_there()) return 77;
    return cmocka_run_group_tests_name("kernel_cache", tests, make_folder, remove_folder);
}
