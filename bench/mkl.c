/* MKL, loaded at run time. */
#include "mkl.h"

#include <dlfcn.h>
#include <stdlib.h>

trine_status bench_load_symbols(void *library, const char *name, const bench_symbol *needed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(*(void **)needed[i].function = dlsym(library, needed[i].name)))
            return trine_fail(TRINE_ERR_NOT_BUILT, "this %s has no %s", name, needed[i].name);
    return TRINE_SUCCESS;
}

trine_status bench_mkl_load(bench *b, const bench_symbol *needed, size_t count, char version[200])
{
    static const char *const names[] = {"libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so"};
    static void *opened;
    trine_status status = TRINE_SUCCESS;
    void (*set_num_threads)(int);
    void (*get_version_string)(char *, int);
    const bench_symbol always[] = {{&set_num_threads, "MKL_Set_Num_Threads"},
                                   {&get_version_string, "mkl_get_version_string"}};
    if (b->device.space != TRINE_HOST) FAIL(TRINE_ERR_UNSUPPORTED, "MKL runs on the CPU, this is a CUDA run");
    /* one OpenMP runtime for all: the idle threads of two would spin against each other */
    setenv("MKL_THREADING_LAYER", "GNU", 0);
    for (size_t i = 0; !opened && i < sizeof names / sizeof *names; i++)
        opened = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
    if (!opened) FAIL(TRINE_ERR_NOT_BUILT, "MKL cannot be loaded: %s", dlerror());
    TRY(bench_load_symbols(opened, "MKL", always, 2));
    TRY(bench_load_symbols(opened, "MKL", needed, count));
    set_num_threads(b->device.threads);
    get_version_string(version, 200);
    version[199] = '\0';
done:
    return status;
}

trine_status bench_mkl_status(int result, const char *call)
{
    static const char *const texts[] = {"success",          "not initialized", "allocation failed", "invalid value",
                                        "execution failed", "internal error",  "not supported"};
    if (result == 0) return TRINE_SUCCESS;
    return trine_fail(result == 6   ? TRINE_ERR_UNSUPPORTED
                      : result == 2 ? TRINE_ERR_MEMORY
                                    : TRINE_ERR_DEVICE,
                      "MKL's %s: %s", call, result > 0 && result < 7 ? texts[result] : "unknown status");
}
