/* Whether there is memory for a factor, asked when its symbolic part knows how large it becomes. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "direct/direct.h"

/** What the system can give without taking it from others: memory, and swap space. Infinite where it does not say. */
static double free_of_system(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double kib, sum = 0;
    bool told = false;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %lf", &kib) == 1) sum += kib, told = true;
        else if (sscanf(line, "SwapFree: %lf", &kib) == 1) sum += kib;
    }
    if (file) fclose(file);
    return told ? sum * 1024 : INFINITY;
}

/** What is left of the process's address space, where that is limited. */
static double free_of_limit(void)
{
    struct rlimit limit;
    long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return INFINITY;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool told = file && fscanf(file, "%ld", &pages) == 1;
    if (file) fclose(file);
    return told ? (double)limit.rlim_cur - (double)pages * (double)sysconf(_SC_PAGESIZE) : INFINITY;
}

trine_status factor_check_room(trine_factor F, double bytes)
{
    const double small = 64e6, mega = 1e-6; /* small: to look takes longer than to fail */
    if (bytes < small) return TRINE_SUCCESS;
    const double room = fmin(free_of_system(), free_of_limit());
    trine_log(F->ctx, 2, "%s: the factor takes %.0f MB, and %.0f MB are free", trine_direct_method_name(F->method),
              bytes * mega, room * mega);
    if (bytes <= room) return TRINE_SUCCESS;
    return trine_fail(
        TRINE_ERR_MEMORY,
        "the %s factor of this matrix takes %.0f MB (%.3g entries), and %.0f MB are free: the factorization "
        "was not begun",
        trine_direct_method_name(F->method), bytes * mega, F->count.entries, room * mega);
}
