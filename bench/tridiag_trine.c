/* trine's own tridiagonal and banded solves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

typedef struct {
    const tridiag_problem *p;
    trine_gtsv_options options;
    trine_context ctx, own; /* own: of another number of threads than the benchmark's, or NULL */
    bool blocks, banded; /* by bgtsv; by gbsv */
    bool wants_info;
    void *work;
    size_t work_bytes;
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_free(s->p->b->ctx, s->p->b->device.space, s->work);
    trine_free(s->p->b->ctx, s->p->b->device.space, s->options.info);
    trine_context_destroy(&s->own);
    free(s);
}

static trine_status use_threads(solver *s, const char *count)
{
    char device[32];
    if (s->p->b->device.space != TRINE_HOST || s->own)
        return trine_fail(TRINE_ERR_ARGUMENT, "threads=%s is for a CPU, once", count);
    snprintf(device, sizeof device, "cpu:%s", count);
    const trine_status status = trine_context_create(&s->own, device);
    s->ctx = s->own;
    return status;
}

static trine_status read_method(solver *s, const char *method)
{
    trine_status status = TRINE_SUCCESS;
    char *copy = strdup(method), *rest = copy;
    if (!copy) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    for (char *word; (word = strsep(&rest, ":")) != NULL;) {
        if (strncmp(word, "M=", 2) == 0) s->options.partition = atoi(word + 2);
        else if (strncmp(word, "threads=", 8) == 0) TRY(use_threads(s, word + 8));
        else if (strcmp(word, "none") == 0) s->options.pivot = TRINE_PIVOT_NONE;
        else if (strcmp(word, "partial") == 0) s->options.pivot = TRINE_PIVOT_PARTIAL;
        else if (strcmp(word, "partial-determinant") == 0) s->options.pivot = TRINE_PIVOT_PARTIAL_DETERMINANT;
        else if (strcmp(word, "scaled-determinant") == 0) s->options.pivot = TRINE_PIVOT_SCALED_DETERMINANT;
        else if (strcmp(word, "stages") == 0) s->options.path = TRINE_GTSV_STAGES;
        else if (strcmp(word, "two-pass") == 0) s->options.path = TRINE_GTSV_TWO_PASS;
        else if (strcmp(word, "one-pass") == 0) s->options.path = TRINE_GTSV_ONE_PASS;
        else if (strcmp(word, "on-chip") == 0) s->options.path = TRINE_GTSV_ON_CHIP;
        else if (strcmp(word, "one-thread") == 0) s->options.final_stage = TRINE_GTSV_ONE_THREAD;
        else if (strcmp(word, "two-rows") == 0) s->options.final_stage = TRINE_GTSV_TWO_ROWS;
        else if (strcmp(word, "refine") == 0) s->options.refine = 1;
        else if (strcmp(word, "info") == 0) s->wants_info = true;
        else if (strcmp(word, "small") == 0) s->options.memory = TRINE_MEMORY_SMALL;
        else if (strcmp(word, "blocks") == 0 && s->p->blocks) s->blocks = true;
        else if (strcmp(word, "auto") != 0) FAIL(TRINE_ERR_ARGUMENT, "a method of gtsv cannot say \"%s\"", word);
    }
done:
    free(copy);
    return status;
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->options.cyclic = p->cyclic;
    s->ctx = p->b->ctx;
    TRY(read_method(s, method));
    s->banded = p->kl != 1 || p->ku != 1;
    if (s->banded && p->interleaved && p->systems > 1)
        FAIL(TRINE_ERR_UNSUPPORTED, "gbsv solves bands that lie together");
    if (p->systems > 1 && !s->banded)
        TRY(trine_gtsv_batch_work_size(s->ctx, p->dtype, p->n, p->systems, &s->options, &s->work_bytes));
    else if (s->blocks) TRY(trine_bgtsv_work_size(s->ctx, p->dtype, p->n / 2, 2, p->nrhs, &s->options, &s->work_bytes));
    else if (s->banded)
        TRY(trine_gbsv_work_size(s->ctx, p->dtype, p->n * p->systems, p->nrhs, p->kl, p->ku, &s->options,
                                 &s->work_bytes));
    else TRY(trine_gtsv_work_size(s->ctx, p->dtype, p->n, p->nrhs, &s->options, &s->work_bytes));
    TRY(trine_alloc(p->b->ctx, p->b->device.space, s->work_bytes, &s->work));
    if (s->wants_info)
        TRY(trine_alloc(p->b->ctx, p->b->device.space, (size_t)p->systems * sizeof *s->options.info,
                        (void **)&s->options.info));
done:
    return status;
}

/** cuSPARSE solves in place, behind a copy of its right-hand sides that is under way when its timing starts and
 *  hides part of its first launch. So that all find the stream as busy, something is copied here too, but not as
 *  much as would bring D into the cache. */
static trine_status reset(void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const size_t bytes = (size_t)p->nrhs * tridiag_band_bytes(p), most = (size_t)1 << 17;
    if (p->b->device.space == TRINE_HOST) return TRINE_SUCCESS;
    return bench_device_copy(p->b, p->X, p->D, bytes < most ? bytes : most);
}

static trine_status solve(void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const trine_exec exec = {.stream = p->b->stream};
    if (s->blocks) {
        const size_t step = (size_t)(2 * p->n) * p->element;
        const char *blocks = p->blocks;
        return trine_bgtsv(s->ctx, p->dtype, p->n / 2, 2, p->nrhs, &s->options, blocks, blocks + step,
                           blocks + 2 * step, p->D, p->n, p->X, p->n, s->work, s->work_bytes, &exec);
    }
    if (s->banded) { /* systems one below the other are one */
        const int64_t n = p->n * p->systems;
        return trine_gbsv(s->ctx, p->dtype, n, p->nrhs, p->kl, p->ku, &s->options, p->bands, p->D, n, p->X, n, s->work,
                          s->work_bytes, &exec);
    }
    const void *a = tridiag_band(p, -1), *b = tridiag_band(p, 0), *c = tridiag_band(p, 1);
    if (p->systems > 1) {
        const trine_strides strides = p->interleaved ? (trine_strides){p->systems, 1} : (trine_strides){1, p->n};
        return trine_gtsv_batch(s->ctx, p->dtype, p->n, p->systems, &s->options, a, b, c, strides, p->D, p->X, strides,
                                s->work, s->work_bytes, &exec);
    }
    return trine_gtsv(s->ctx, p->dtype, p->n, p->nrhs, &s->options, a, b, c, p->D, p->n, p->X, p->n, s->work,
                      s->work_bytes, &exec);
}

static const void *solution(const void *self) { return ((const solver *)self)->p->X; }
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->work_bytes;
}

const tridiag_solver tridiag_trine = {"trine", create, reset, solve, solution, work_bytes, destroy};
