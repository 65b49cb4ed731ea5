/* Whether there is memory for a factor, asked when its symbolic part knows how large it becomes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "direct/direct.h"

/** What the system can give without taking it from others: memory, and swap space. Infinite where it does not say. */
static double free_of_system(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    static const char available[] = "MemAvailable:", swap[] = "SwapFree:";
    char line[128];
    double sum = 0;
    bool told = false;
    while (file && fgets(line, sizeof line, file)) {
        const bool is_available = !strncmp(line, available, sizeof available - 1);
        if (is_available) sum += strtod(line + sizeof available - 1, NULL), told = true;
        else if (!strncmp(line, swap, sizeof swap - 1)) sum += strtod(line + sizeof swap - 1, NULL);
    }
    if (file) fclose(file);
    return told ? sum * 1024 : INFINITY;
}

/** What is left of the process's address space, where that is limited. */
static double free_of_limit(void)
{
    struct rlimit limit;
    char line[128];
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return INFINITY;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool told = file && fgets(line, sizeof line, file);
    if (file) fclose(file);
    return told ? (double)limit.rlim_cur - strtod(line, NULL) * (double)sysconf(_SC_PAGESIZE) : INFINITY; /* in pages */
}

enum { MEGA = 1000000, SMALL = 64 }; /* SMALL, in MEGA: to look takes longer than to fail */

void factor_tell_room(trine_factor F, double bytes)
{
    if (bytes < (double)SMALL * MEGA) return;
    const double room = fmin(free_of_system(), free_of_limit());
    trine_log(F->ctx, bytes <= room ? 2 : 1, "%s: the factorization takes at most %.0f MB, and %.0f MB are free",
              trine_direct_method_name(F->method), bytes / MEGA, room / MEGA);
}

trine_status factor_check_room(trine_factor F, double bytes)
{
    if (bytes < (double)SMALL * MEGA) return TRINE_SUCCESS;
    const double room = fmin(free_of_system(), free_of_limit());
    trine_log(F->ctx, 2, "%s: the factor takes %.0f MB, and %.0f MB are free", trine_direct_method_name(F->method),
              bytes / MEGA, room / MEGA);
    if (bytes <= room) return TRINE_SUCCESS;
    return trine_fail(
        TRINE_ERR_MEMORY,
        "the %s factor of this matrix takes %.0f MB (%.3g entries), and %.0f MB are free: the factorization "
        "was not begun",
        trine_direct_method_name(F->method), bytes / MEGA, F->count.entries, room / MEGA);
}
