/* Read matrices and show what the library logs about it: sizes, duplicates, and the time of each step.
 *     read cpu:1 FILE...                                                                               */
#include <stdio.h>
#include <trine/trine.h>

static void print(void *user, int level, const char *message)
{
    (void)user;
    (void)level;
    puts(message);
}

int main(int argc, char **argv)
{
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    int failures = argc < 3;
    if (failures) fprintf(stderr, "usage: read DEVICE FILE...\n");
    else if (trine_context_create(&ctx, argv[1])) failures = 1, fprintf(stderr, "%s\n", trine_last_error());
    else trine_context_set_log(ctx, print, NULL, 2);
    for (int i = 2; ctx && i < argc; i++) {
        if (trine_matrix_read(ctx, &A, argv[i], TRINE_D)) failures++, fprintf(stderr, "%s\n", trine_last_error());
        trine_matrix_destroy(&A);
    }
    trine_context_destroy(&ctx);
    return failures != 0;
}
