/* NVRTC by dlopen. Its functions are declared here: the build needs no header of CUDA's for them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nvrtc.h"

typedef struct nvrtc_program *nvrtc_program; /* nvrtcProgram */
enum { NVRTC_SUCCESS = 0, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6, NVRTC_BAD_EXPRESSION = 10 };

struct nvrtc {
    int (*version)(int *, int *);
    int (*count_architectures)(int *);
    int (*architectures)(int *);
    int (*create)(nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*destroy)(nvrtc_program *);
    int (*add_name)(nvrtc_program, const char *);
    int (*compile)(nvrtc_program, int, const char *const *);
    int (*get_name)(nvrtc_program, const char *, const char **);
    int (*log_size)(nvrtc_program, size_t *);
    int (*log)(nvrtc_program, char *);
    int (*cubin_size)(nvrtc_program, size_t *);
    int (*cubin)(nvrtc_program, char *);
    int (*ptx_size)(nvrtc_program, size_t *);
    int (*ptx)(nvrtc_program, char *);
    const char *(*error)(int);
    int (*set_flow)(nvrtc_program, int (*)(void *, void *), void *); /* NULL: this NVRTC cannot be stopped */
};

#define SYMBOL(member, name) {offsetof(struct nvrtc, member), name}
static const struct {
    size_t at;
    const char *name;
} symbols[] = {
    SYMBOL(set_flow, "nvrtcSetFlowCallback"), /* may be missing */
    SYMBOL(version, "nvrtcVersion"),
    SYMBOL(count_architectures, "nvrtcGetNumSupportedArchs"),
    SYMBOL(architectures, "nvrtcGetSupportedArchs"),
    SYMBOL(create, "nvrtcCreateProgram"),
    SYMBOL(destroy, "nvrtcDestroyProgram"),
    SYMBOL(add_name, "nvrtcAddNameExpression"),
    SYMBOL(compile, "nvrtcCompileProgram"),
    SYMBOL(get_name, "nvrtcGetLoweredName"),
    SYMBOL(log_size, "nvrtcGetProgramLogSize"),
    SYMBOL(log, "nvrtcGetProgramLog"),
    SYMBOL(cubin_size, "nvrtcGetCUBINSize"),
    SYMBOL(cubin, "nvrtcGetCUBIN"),
    SYMBOL(ptx_size, "nvrtcGetPTXSize"),
    SYMBOL(ptx, "nvrtcGetPTX"),
    SYMBOL(error, "nvrtcGetErrorString"),
};

/** The library stays loaded: the loader counts, and knows a library that is loaded again. */
static void *open_library(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
                                        "/usr/local/cuda/lib64/libnvrtc.so.12"};
    const char *chosen = getenv("TRINE_NVRTC");
    void *library = NULL;
    if (chosen && *chosen) return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    for (size_t k = 0; !library && k < sizeof names / sizeof *names; k++)
        library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static trine_status load(struct nvrtc *n)
{
    void *library = open_library();
    if (!library) {
        const char *why = dlerror();
        trine_fail(TRINE_ERR_NOT_BUILT,
                   "no NVRTC is here to compile with (a library of CUDA 12 or 13; TRINE_NVRTC may name it): %s",
                   why ? why : "not found");
        return TRINE_ERR_NOT_BUILT;
    }
    for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++) {
        void *function = dlsym(library, symbols[k].name);
        if (!function && k) {
            trine_fail(TRINE_ERR_NOT_BUILT, "this NVRTC has no %s", symbols[k].name);
            return TRINE_ERR_NOT_BUILT;
        }
        memcpy((char *)n + symbols[k].at, &function, sizeof function);
    }
    return TRINE_SUCCESS;
}

/** The latest architecture that NVRTC knows up to `capability`; 0: none. */
static int find_architecture(const struct nvrtc *n, int capability)
{
    enum { MOST = 256 };
    int count = 0, known[MOST], best = 0;
    if (n->count_architectures(&count) || count > MOST || n->architectures(known)) return 0;
    for (int k = 0; k < count; k++)
        if (known[k] <= capability && known[k] > best) best = known[k];
    return best;
}

/* ---------------------------------------------------------------- messages */

/** Every line of the compiler's log to the context's. */
static void log_lines(trine_context ctx, const char *text)
{
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        if (length) trine_log(ctx, 1, "NVRTC: %.*s", length, text);
        text += length + (text[length] == '\n');
    }
}

/** Where the line of the first error begins. */
static const char *first_error(const char *text)
{
    const char *error = strstr(text, ": error");
    while (error && error > text && error[-1] != '\n') error--;
    return error ? error : text;
}

/** The failure `error` of the compiler, with its log where it has one. */
static trine_status compiler_failure(trine_context ctx, const struct nvrtc *n, nvrtc_program program, const char *title,
                                     int error)
{
    size_t bytes = 0;
    const bool is_source = error == NVRTC_COMPILATION || error == NVRTC_BAD_EXPRESSION;
    char *text =
        n->log_size(program, &bytes) == NVRTC_SUCCESS && bytes ? trine_host_alloc(ctx, (int64_t)bytes + 1, 1) : NULL;
    if (text && n->log(program, text) == NVRTC_SUCCESS) {
        text[bytes] = 0;
        log_lines(ctx, text);
        trine_fail(TRINE_ERR_ARGUMENT, "the compiler refuses %s: %s", title, first_error(text));
    } else {
        trine_fail(TRINE_ERR_ARGUMENT, "the compiler refuses %s: %s", title, n->error(error));
    }
    trine_free(ctx, TRINE_HOST, text);
    return is_source ? TRINE_ERR_ARGUMENT : TRINE_ERR_DEVICE;
}

/* --------------------------------------------------------------- compiling */

struct deadline {
    double start, seconds;
    bool is_over;
};

/** Called by the compiler, from its threads: 1 stops it. */
static int is_too_late(void *user, void *unused)
{
    struct deadline *deadline = user;
    (void)unused;
    if (trine_wall_time() - deadline->start > deadline->seconds)
        __atomic_store_n(&deadline->is_over, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&deadline->is_over, __ATOMIC_RELAXED);
}

/** A new program, compiled; `error` is NVRTC's. To be destroyed in either case. */
static trine_status run_compiler(trine_context ctx, const struct nvrtc *n, const struct trine_program *p,
                                 const char *architecture, nvrtc_program *program)
{
    /* the last two, which older compilers do not know: less to parse, and no files of the current directory, which
     * would be no part of the key that compiled code is kept by */
    const char *options[] = {architecture, "--std=c++17", "--device-as-default-execution-space", "--minimal",
                             "--no-source-include"};
    struct deadline deadline = {trine_wall_time(), p->seconds > 0 ? p->seconds : 60, false};
    int error = NVRTC_INVALID_OPTION;
    for (int count = 5; error == NVRTC_INVALID_OPTION && count >= 3; count -= 2) {
        if (*program) n->destroy(program);
        error = n->create(program, p->source, p->title, 0, NULL, NULL);
        for (int k = 0; !error && k < p->count; k++) error = n->add_name(*program, p->expressions[k]);
        if (!error && n->set_flow) error = n->set_flow(*program, is_too_late, &deadline);
        if (!error) error = n->compile(*program, count, options);
    }
    if (error && deadline.is_over)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the compiler has not ended with %s in %g s", p->title,
                          deadline.seconds);
    return error ? compiler_failure(ctx, n, *program, p->title, error) : TRINE_SUCCESS;
}

/** The image and the names of its kernels, in one allocation. */
static trine_status take_result(trine_context ctx, const struct nvrtc *n, const struct trine_program *p,
                                nvrtc_program program, bool is_ptx, struct trine_compiled *out)
{
    size_t bytes = 0, names_bytes = 0;
    const char *name = NULL;
    int error = (is_ptx ? n->ptx_size : n->cubin_size)(program, &bytes);
    for (int k = 0; !error && k < p->count; k++) {
        error = n->get_name(program, p->expressions[k], &name);
        if (!error) names_bytes += strlen(name) + 1;
    }
    if (error || !bytes) return trine_fail(TRINE_ERR_DEVICE, "NVRTC gave no code: %s", n->error(error));
    char *image = trine_host_alloc(ctx, (int64_t)(bytes + names_bytes), 1), *end = image + bytes;
    if (!image) return TRINE_ERR_MEMORY;
    *out = (struct trine_compiled){.image = image, .bytes = bytes, .names_bytes = names_bytes, .names = end};
    error = (is_ptx ? n->ptx : n->cubin)(program, image);
    for (int k = 0; !error && k < p->count; k++) {
        error = n->get_name(program, p->expressions[k], &name);
        if (!error) end = stpcpy(end, name) + 1;
    }
    if (!error) return TRINE_SUCCESS;
    trine_free(ctx, TRINE_HOST, image);
    return trine_fail(TRINE_ERR_DEVICE, "NVRTC gave no code: %s", n->error(error));
}

trine_status trine_nvrtc_compile(trine_context ctx, const struct trine_program *p, struct trine_compiled *compiled)
{
    trine_status status = TRINE_SUCCESS;
    struct nvrtc n = {0};
    nvrtc_program program = NULL;
    char architecture[64];
    int major = 0, minor = 0;
    TRY(load(&n));
    const int known = find_architecture(&n, p->capability);
    if (n.version(&major, &minor) || !known)
        FAIL(TRINE_ERR_UNSUPPORTED, "this NVRTC (%d.%d) compiles nothing that runs on compute capability %d.%d", major,
             minor, p->capability / 10, p->capability % 10);
    const bool is_ptx = p->portable || known < p->capability; /* the driver compiles it for a later device */
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d", is_ptx ? "compute" : "sm", known);
    const double start = trine_wall_time();
    TRY(run_compiler(ctx, &n, p, architecture, &program));
    TRY(take_result(ctx, &n, p, program, is_ptx, compiled));
    compiled->nvrtc = 1000 * major + 10 * minor;
    trine_log(ctx, 2, "NVRTC %d.%d: %s compiled for %s in %.3f s", major, minor, p->title,
              architecture + strlen("--gpu-architecture="), trine_wall_time() - start);
done:
    if (program) n.destroy(&program);
    return status;
}
