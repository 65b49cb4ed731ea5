/* Several threads solve with one plan at the same time: each has a work object of its own.
 *     threads [cpu:1 | cuda | auto]                                                         */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <trine/trine.h>

enum { n = 20 * 20 * 20, workers = 4, solves = 25 };

/** What a thread needs. The context's own stream is used, so that solves on a GPU are in order there. */
struct worker {
    trine_context ctx;
    trine_space space;
    trine_triangular plan;
    int number, failed;
    double error;
};

static void *run(void *argument)
{
    struct worker *w = argument;
    trine_exec exec = {0};
    size_t bytes = 0;
    void *there = NULL;
    double *b = malloc(2 * n * sizeof *b), *x = b ? b + n : NULL;
    w->failed = !b || trine_triangular_work(w->plan, 1, NULL, &bytes, &exec.work) ||
                trine_alloc(w->ctx, w->space, n * sizeof *b, &there);
    const trine_dense X = {.data = there, .rows = n, .cols = 1};
    for (int k = 1; k <= solves && !w->failed; k++) {
        const double scale = w->number * solves + k;
        for (int i = 0; i < n; i++) b[i] = scale;
        w->failed = trine_copy(w->ctx, there, w->space, b, TRINE_HOST, n * sizeof *b) ||
                    trine_triangular_solve(w->plan, TRINE_N, NULL, &X, &X, &exec) ||
                    trine_copy(w->ctx, x, TRINE_HOST, there, w->space, n * sizeof *b);
        w->error = fmax(w->error, fabs(6 * x[0] / scale - 1)); /* row 0 of L: 6 on the diagonal */
    }
    /* the sentence is this thread's own */
    if (w->failed) fprintf(stderr, "thread %d: %s\n", w->number, trine_last_error());
    trine_free(w->ctx, w->space, there);
    trine_work_destroy(&exec.work);
    free(b);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[workers];
    struct worker worker[workers];
    trine_context ctx = NULL;
    trine_context_info device;
    trine_matrix A = NULL, L = NULL;
    trine_triangular plan = NULL;
    int started = 0;
    int failed = trine_context_create(&ctx, argc > 1 ? argv[1] : "cpu:1") || trine_context_get_info(ctx, &device) ||
                 trine_matrix_gallery(ctx, &A, "laplace3d:n=20", TRINE_D) ||
                 trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0) ||
                 trine_triangular_analyse(ctx, &plan, L, NULL) ||
                 trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL);
    if (failed) fprintf(stderr, "threads: %s\n", trine_last_error());
    for (; started < workers && !failed; started++) {
        worker[started] = (struct worker){.ctx = ctx, .space = device.space, .plan = plan, .number = started};
        failed = pthread_create(&threads[started], NULL, run, &worker[started]);
        if (failed) break;
    }
    for (int k = 0; k < started; k++) {
        pthread_join(threads[k], NULL);
        failed |= worker[k].failed || !(worker[k].error < 1e-14);
    }
    if (!failed) printf("%d solves in %d threads\n", workers * solves, workers);
    trine_triangular_destroy(&plan);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return failed;
}
