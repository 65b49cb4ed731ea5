/* trine: the command. One file a subcommand. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"solve", command_solve, "solve A x = b with A from a file, and say how well and how fast"},
    {"info", command_info, "what a matrix looks like: bandwidth, symmetry, level sets, row lengths"},
    {"gallery", command_gallery, "list the test matrices, or write one to a file"},
    {"forest", command_forest, "draw the linear forests of a matrix on a small grid"},
    {"version", command_version, "what was compiled in, and which device was found"},
    {"bench", command_bench, "run the benchmarks (the program trine-bench)"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int help(void)
{
    printf("Usage: trine COMMAND [OPTION...]\n"
           "Sparse solves on CPUs and GPUs: triangular, tridiagonal, direct and iterative.\n\n");
    for (int i = 0; i < N_COMMANDS; i++) printf("  %-8s  %s\n", commands[i].name, commands[i].summary);
    printf("\nTo begin with:\n"
           "  trine gallery laplace2d:n=100 -o A.mtx\n"
           "  trine info A.mtx\n"
           "  trine solve A.mtx\n"
           "\n`trine COMMAND --help` lists the options of a command.\n\n%s",
           exit_code_help);
    return EXIT_OK;
}

static int run(int argc, char **argv)
{
    static char to_help[] = "--help";
    if (argc < 2) return fail(EXIT_USAGE, "no command; `trine --help` lists them");
    const char *name = argv[1];
    if (!strcmp(name, "help") && argc == 3) { /* trine help solve: trine solve --help */
        name = argv[1] = argv[2];
        argv[2] = to_help;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-?") || !strcmp(name, "-h") || !strcmp(name, "help")) return help();
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) name = "version";
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return commands[i].run(argc - 1, argv + 1);
    if (!access(name, R_OK)) return fail(EXIT_USAGE, "%s is a file, not a command: trine solve %s", name, name);
    return fail(EXIT_USAGE, "there is no command \"%s\"; `trine --help` lists them", name);
}

int main(int argc, char **argv) { return finish_output(run(argc, argv)); }
