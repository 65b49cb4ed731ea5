/* trine bench: runs trine-bench, a program of its own, so that its peers and their licences stay out of the command. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

int command_bench(int argc, char **argv)
{
    (void)argc;
    char self[PATH_MAX], beside[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    argv[0] = "trine-bench";
    if (length > 0) {
        self[length] = '\0';
        snprintf(beside, sizeof beside, "%s/trine-bench", dirname(self));
        execv(beside, argv);
        if (errno != ENOENT) return fail(EXIT_MISSING, "%s cannot be run: %s", beside, strerror(errno));
    }
    execvp(argv[0], argv);
    return fail(EXIT_MISSING, "trine-bench is neither beside trine nor in PATH (CMake option TRINE_BENCH): %s",
                strerror(errno));
}
