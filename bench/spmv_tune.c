/* Sweep "tuning": trine_spmv_tune on a matrix. A line for every combination that it times, and its choices in a file of
 * the kind that trine_context_load_tuning reads. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commit.h"
#include "core/test_interface.h"
#include "spmv.h"

/* The values of src/spmv/cuda/tune.cu. */
enum { VALUES = 4, COMPILATIONS = VALUES * VALUES * VALUES, MOST_WORKERS = 14 };
static const int blocks[VALUES] = {64, 128, 256, 512}, tiles[VALUES] = {5, 7, 9, 15};

typedef struct {
    const spmv_problem *p;
    const char *method; /* "product", or a semiring's name */
    int tried;
    double least_us;
    char best[96];
} sweep;

/** What the library logs of a combination becomes a record. */
static void take_line(void *user, int level, const char *text)
{
    sweep *s = user;
    const bench *b = s->p->b;
    int block = 0, tile = 0;
    long long entries = 0;
    char reduction[32];
    double us;
    (void)level;
    if (sscanf(text, "spmv: block %d, tile %d, %31[^,], %lld entries a block: %lf us", &block, &tile, reduction,
               &entries, &us) != 5 &&
        sscanf(text, "spmv: %31[^:,]: %lf us", reduction, &us) != 2)
        return;
    if (!s->tried++ || us < s->least_us) {
        s->least_us = us;
        snprintf(s->best, sizeof s->best, "%s, block %d, tile %d, %lld entries a block", reduction, block, tile,
                 entries);
    }
    if (!b->json) return;
    fprintf(b->json,
            "{\"suite\": \"spmv-tune\", \"matrix\": \"%s\", \"dtype\": \"%s\", \"method\": \"%s\", \"block\": %d, "
            "\"tile\": %d, \"reduction\": \"%s\", \"entries_per_block\": %lld, \"ms\": %.6g, \"device\": \"%s\", "
            "\"device_full\": \"%s\", \"commit\": \"%s\"}\n",
            s->p->spec, bench_dtype_name(s->p->dtype), s->method, block, tile, reduction, entries, 1e-3 * us,
            b->device_name, b->device.name, TRINE_COMMIT);
}

/** Every step-th instance of the product from the first on, into the kernel cache that all contexts of this program
 *  have. */
static trine_status compile_some(const sweep *s, int first, int step)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = NULL;
    const trine_dtype dtype = s->p->dtype;
    const int capability = s->p->b->device.compute_capability;
    TRY(trine_context_create(&ctx, "cpu:1"));
    for (int k = first; k < COMPILATIONS; k += step)
        TRY(trine_product_compile(ctx, dtype, dtype, false, blocks[k / 16], tiles[k / 4 % 4],
                                  TRINE_REDUCTION_RAKING + k % 4, capability));
done:
    trine_context_destroy(&ctx);
    return status;
}

/** Many compilers at once, in programs of their own that leave the device alone. What they do not compile, the sweep
 *  does. */
static void compile_ahead(const sweep *s)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int workers = cores > MOST_WORKERS ? MOST_WORKERS : cores > 1 ? (int)cores : 1;
    pid_t worker[MOST_WORKERS];
    fflush(NULL);
    for (int k = 0; k < workers; k++)
        if ((worker[k] = fork()) == 0) _exit(compile_some(s, k, workers) != TRINE_SUCCESS);
    for (int k = 0; k < workers; k++)
        if (worker[k] > 0) waitpid(worker[k], NULL, 0);
}

static trine_status tune(sweep *s, const char *choices)
{
    const spmv_problem *p = s->p;
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    trine_spmv plan = NULL;
    trine_semiring semiring = NULL;
    void *y = NULL; /* outputs of any semiring of the library's */
    TRY(trine_alloc(b->ctx, TRINE_DEVICE, 16 * (size_t)p->n_rows + 16, &y));
    TRY(trine_spmv_analyse(b->ctx, &plan, p->A, NULL));
    TRY(trine_spmv_numeric(plan, TRINE_DEVICE, p->values, NULL));
    if (strcmp(s->method, "product") != 0) TRY(trine_semiring_builtin(b->ctx, &semiring, s->method, p->dtype));
    TRY(trine_context_set_log(b->ctx, take_line, s, 2));
    TRY(trine_spmv_tune(plan, semiring, p->X.data, y, NULL, choices));
done:
    trine_context_set_log(b->ctx, NULL, NULL, 0);
    trine_semiring_destroy(&semiring);
    trine_spmv_destroy(&plan);
    trine_free(b->ctx, TRINE_DEVICE, y);
    return status;
}

trine_status spmv_measure_tuning(const spmv_problem *p, const char *method, const char *choices)
{
    sweep s = {.p = p, .method = method};
    if (strcmp(method, "product") == 0) compile_ahead(&s);
    trine_status status = bench_turn_begin(p->b);
    if (!status) status = tune(&s, choices);
    bench_turn_end(p->b);
    fprintf(p->b->table, "  %s, %s: %d combinations, the fastest %.4g us: %s\n", method, bench_dtype_name(p->dtype),
            s.tried, s.least_us, s.tried ? s.best : "none");
    return status;
}
