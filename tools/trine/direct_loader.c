/* libtrine_direct by dlopen: beside libtrine, or wherever the loader finds its soname. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "direct_loader.h"

static struct direct_library functions;
static char path[PATH_MAX];

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"trine_direct_method_name", offsetof(struct direct_library, method_name)},
    {"trine_ordering_name", offsetof(struct direct_library, ordering_name)},
    {"trine_factor_create", offsetof(struct direct_library, factor)},
    {"trine_factor_get_info", offsetof(struct direct_library, factor_info)},
    {"trine_factor_get_panels", offsetof(struct direct_library, factor_panels)},
    {"trine_factor_destroy", offsetof(struct direct_library, factor_destroy)},
    {"trine_direct_create", offsetof(struct direct_library, create)},
    {"trine_direct_create_from_factor", offsetof(struct direct_library, create_from_factor)},
    {"trine_direct_as_op", offsetof(struct direct_library, as_op)},
    {"trine_direct_get_info", offsetof(struct direct_library, get_info)},
    {"trine_direct_get_permutations", offsetof(struct direct_library, get_permutations)},
    {"trine_direct_destroy", offsetof(struct direct_library, destroy)},
};

trine_status direct_load(const struct direct_library **library)
{
    *library = &functions;
    if (functions.path) return TRINE_SUCCESS;
    Dl_info libtrine;
    void *handle = NULL;
    if (dladdr((void *)trine_last_error, &libtrine) && libtrine.dli_fname && strrchr(libtrine.dli_fname, '/')) {
        const int folder = (int)(strrchr(libtrine.dli_fname, '/') - libtrine.dli_fname);
        snprintf(path, sizeof path, "%.*s/%s", folder, libtrine.dli_fname, TRINE_DIRECT_SONAME);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle && access(path, F_OK)) { /* a file that is there and does not load keeps its own reason */
        snprintf(path, sizeof path, "%s", TRINE_DIRECT_SONAME);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle)
        return trine_fail(TRINE_ERR_NOT_BUILT, "Cholesky and LU need libtrine_direct, which cannot be loaded: %s",
                          dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol) {
            dlclose(handle);
            return trine_fail(TRINE_ERR_NOT_BUILT, "%s is of another version: it has no %s", path, symbols[i].name);
        }
        memcpy((char *)&functions + symbols[i].offset, &symbol, sizeof symbol);
    }
    functions.path = path;
    return TRINE_SUCCESS;
}
