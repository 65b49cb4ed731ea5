/* The basic level-set method that Table I of Liu et al. 2017 takes apart: rows sorted by level, a barrier between
 * levels. It also measures what part of a solve is synchronization. CPU, double, one right-hand side; written to be
 * compared with. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
    bench *b;
    const bench_problem *p;
    int64_t n_levels, *level_offsets;
    int32_t *rows;
    double synchronization, total; /* seconds of the threads, of all solves so far */
    int measuring;
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_free(s->b->ctx, TRINE_HOST, s->level_offsets);
    trine_free(s->b->ctx, TRINE_HOST, s->rows);
    free(s);
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    (void)method;
    solver *s = NULL;
    if (b->device.space != TRINE_HOST || p->dtype != TRINE_D || p->nrhs != 1)
        FAIL(TRINE_ERR_UNSUPPORTED, "the basic method is there for the CPU, double, one right-hand side");
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    TRY(ALLOC(b->ctx, s->level_offsets, p->n + 1));
    TRY(ALLOC(b->ctx, s->rows, p->n));
    *self = s;
    return TRINE_SUCCESS;
done:
    destroy(s);
    return status;
}

static bool lower(const bench_problem *p) { return (p->uplo == TRINE_LOWER) == (p->op == TRINE_N); }

static trine_status reset(void *self)
{
    (void)self;
    return TRINE_SUCCESS;
}

static trine_status analyse(void *self)
{
    solver *s = self;
    return trine_level_sets(s->b->ctx, s->p->host, lower(s->p) ? TRINE_LOWER : TRINE_UPPER, &s->n_levels,
                            s->level_offsets, s->rows, NULL);
}

static void solve_rows(const solver *s, const int64_t *offsets, const int32_t *columns, const double *values,
                       int64_t first, int64_t last)
{
    const double *b = s->p->B.data;
    double *x = s->p->X.data;
    const bool unit = s->p->diag == TRINE_UNIT;
    for (int64_t r = first; r < last; r++) {
        const int64_t i = s->rows[r];
        double sum = 0, pivot = 1;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            if (columns[k] != i) sum += values[k] * x[columns[k]];
            else if (!unit) pivot = values[k];
        }
        x[i] = (b[i] - sum) / pivot;
    }
}

/** A solve; where it is measured, what each thread spends in barriers is added up. */
static trine_status solve(void *self)
{
    solver *s = self;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    double synchronization = 0, total = 0;
    trine_matrix_get_arrays(s->p->host, &offsets, &columns, &values);
    const int threads = s->b->device.threads;
    const bool measuring = s->measuring;
#pragma omp parallel num_threads(threads) reduction(+ : synchronization, total)
    {
        const int64_t id = omp_get_thread_num(), team = omp_get_num_threads();
        const double start = measuring ? omp_get_wtime() : 0;
        for (int64_t l = 0; l < s->n_levels; l++) {
            const int64_t first = s->level_offsets[l], count = s->level_offsets[l + 1] - first;
            solve_rows(s, offsets, columns, values, first + count * id / team, first + count * (id + 1) / team);
            const double before = measuring ? omp_get_wtime() : 0;
#pragma omp barrier
            if (measuring) synchronization += omp_get_wtime() - before;
        }
        if (measuring) total += omp_get_wtime() - start;
    }
    s->synchronization += synchronization;
    s->total += total;
    return TRINE_SUCCESS;
}

static trine_status as_op(void *self, trine_op *op, trine_transpose *trans)
{
    solver *s = self;
    const bench_problem *p = s->p;
    return bench_peer_as_op(s->b, &(bench_peer_solve){"basic", p->dtype, *trans, &p->B, &p->X, solve, s}, op);
}

static void describe(void *self, bench_record *r)
{
    enum { SOLVES = 20 };
    solver *s = self;
    s->measuring = 1;
    for (int i = 0; i < SOLVES; i++) solve(s);
    s->measuring = 0;
    r->chosen = "levelset-barrier";
    bench_record_add_number(r, "synchronization", s->synchronization / s->total);
}

const bench_setup bench_setup_basic = {"basic", create, reset, analyse, NULL, as_op, describe, destroy, NULL};
