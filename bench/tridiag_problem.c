/* Random banded systems, their residuals, and the comparison of several solvers on one of them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t tridiag_band_bytes(const tridiag_problem *p) { return (size_t)(p->n * p->systems) * p->element; }

char *tridiag_band(const tridiag_problem *p, int k) { return p->bands + (size_t)(p->kl + k) * tridiag_band_bytes(p); }

static trine_status make(bench *b, const tridiag_shape *shape, tridiag_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = shape->n, nrhs = shape->nrhs, systems = shape->systems;
    const int kl = shape->kl, ku = shape->ku;
    *p = (tridiag_problem){.b = b,
                           .dtype = shape->dtype,
                           .n = n,
                           .nrhs = nrhs,
                           .systems = systems,
                           .kl = kl,
                           .ku = ku,
                           .per_row = kl + ku + 1,
                           .interleaved = shape->interleaved,
                           .element = trine_dtype_size(shape->dtype)};
    const trine_space space = b->device.space;
    const size_t band = tridiag_band_bytes(p), bands = (size_t)(kl + ku + 1) * band, vectors = (size_t)nrhs * band;
    const int64_t count = n * systems * (kl + ku + 1 + nrhs);
    void *at;
    TRY(ALLOC(b->ctx, p->host, (int64_t)(bands + vectors)));
    float *singles = (void *)p->host;
    double *doubles = (void *)p->host;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        double u = (double)(mix((uint64_t)i) >> 11) * 0x1p-52 - 1;
        const int64_t k = i / (n * systems) - kl, column = i % n + k;
        /* so that they can be solved as one */
        if (systems > 1 && !p->interleaved && k <= ku && (column < 0 || column >= n)) u = 0;
        if (p->dtype == TRINE_S) singles[i] = (float)u;
        else doubles[i] = u;
    }
    TRY(trine_alloc(b->ctx, space, bands + vectors, &at));
    p->bands = at;
    p->D = p->bands + bands;
    TRY(trine_alloc(b->ctx, space, vectors, &at));
    p->X = at;
    TRY(trine_copy(b->ctx, p->bands, space, p->host, TRINE_HOST, bands + vectors));
done:
    return status;
}

trine_status tridiag_problem_make(bench *b, const tridiag_shape *given, tridiag_problem *p)
{
    tridiag_shape shape = *given;
    if (!shape.nrhs) shape.nrhs = 1;
    if (!shape.systems) shape.systems = 1;
    if (!shape.kl && !shape.ku) shape.kl = shape.ku = 1;
    return make(b, &shape, p);
}

trine_status tridiag_problem_from_bands(bench *b, int64_t n, int kl, int ku, const double *bands, const double *blocks,
                                        const double *x, tridiag_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    void *at;
    TRY(make(b, &(tridiag_shape){.dtype = TRINE_D, .n = n, .nrhs = 1, .systems = 1, .kl = kl, .ku = ku}, p));
    double *host = (void *)p->host, *d = host + (kl + ku + 1) * n;
    memcpy(host, bands, (size_t)((kl + ku + 1) * n) * sizeof *bands);
    for (int64_t i = 0; i < n; i++) {
        d[i] = 0;
        for (int k = -kl; k <= ku; k++)
            if (i + k >= 0 && i + k < n) d[i] += bands[(kl + k) * n + i] * x[i + k];
    }
    TRY(trine_copy(b->ctx, p->bands, b->device.space, host, TRINE_HOST, (size_t)((kl + ku + 2) * n) * sizeof *host));
    if (blocks) { /* 2x2: 2 n elements a band */
        p->block = 2;
        TRY(trine_alloc(b->ctx, b->device.space, (size_t)(6 * n) * sizeof *blocks, &at));
        p->blocks = at;
        TRY(trine_copy(b->ctx, p->blocks, b->device.space, blocks, TRINE_HOST, (size_t)(6 * n) * sizeof *blocks));
    }
done:
    return status;
}

void tridiag_problem_free(tridiag_problem *p)
{
    if (!p->b) return;
    trine_free(p->b->ctx, TRINE_HOST, p->host);
    trine_free(p->b->ctx, p->b->device.space, p->bands);
    trine_free(p->b->ctx, p->b->device.space, p->X);
    trine_free(p->b->ctx, p->b->device.space, p->blocks);
    p->b = NULL;
}

static double value_of(trine_dtype t, const void *p, int64_t i)
{
    return t == TRINE_S ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

trine_status tridiag_problem_check(const tridiag_problem *p, const void *there, double *error)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t per_vector = p->n * p->systems, row_step = p->interleaved ? p->systems : 1,
                  system_step = p->interleaved ? 1 : p->n;
    const char *D = p->host + (size_t)(p->kl + p->ku + 1) * tridiag_band_bytes(p);
    char *x = NULL;
    double worst = 0;
    /* far from the entries of a sparse d, x fades away */
    const long double underflow = 10 * (p->dtype == TRINE_S ? (long double)FLT_MIN : (long double)DBL_MIN);
    bool finite = true;
    TRY(ALLOC(p->b->ctx, x, (int64_t)((size_t)p->nrhs * tridiag_band_bytes(p))));
    TRY(trine_copy(p->b->ctx, x, TRINE_HOST, there, p->b->device.space, (size_t)p->nrhs * tridiag_band_bytes(p)));
#pragma omp parallel for schedule(static) reduction(max : worst) reduction(&& : finite)
    for (int64_t at = 0; at < p->nrhs * per_vector; at++) {
        const int64_t vector = at / per_vector, rest = at % per_vector, i = rest / row_step % p->n,
                      s = p->interleaved ? rest % p->systems : rest / p->n;
        const int64_t base = s * system_step;
        long double r = value_of(p->dtype, D, at), size = fabsl(r);
        for (int k = -p->kl; k <= p->ku; k++) {
            int64_t j = i + k;
            if (j < 0 || j >= p->n) {
                if (!p->cyclic) continue;
                j += j < 0 ? p->n : -p->n;
            }
            const long double term =
                (long double)value_of(p->dtype, p->host, (p->kl + k) * per_vector + base + i * row_step) *
                value_of(p->dtype, x, vector * per_vector + base + j * row_step);
            r -= term;
            size += fabsl(term);
        }
        const double e = fabsl(r) > underflow ? (double)(fabsl(r) / size) : r == r ? 0 : NAN;
        if (!isfinite(e)) finite = false;
        else if (e > worst) worst = e;
    }
    *error = finite ? worst : INFINITY;
done:
    trine_free(p->b->ctx, TRINE_HOST, x);
    return status;
}

void tridiag_print_head(bench *b)
{
    fprintf(b->table, "%-22s %-24s %s %10s %8s %5s %10s %10s %8s %8s %9s %9s %8s\n", "problem", "solver", "t", "n",
            "systems", "nrhs", "ms", "min ms", "Grows/s", "of copy", "work %", "error", "speed-up");
}

void tridiag_list_add(tridiag_list *list, const tridiag_solver *solver, const char *method)
{
    if (list->count == TRIDIAG_MOST_SOLVERS) return;
    list->solver[list->count] = solver;
    list->method[list->count++] = method;
}

bool tridiag_wants_peer(const bench *b, const char *name)
{
    for (int i = 0; i < b->peers.count; i++)
        if (strcmp(b->peers.item[i], name) == 0) return true;
    return b->peers.count == 0;
}

/** The solvers of a list on one problem: a record of each, and those that run. */
typedef struct {
    const tridiag_problem *p;
    const char *variant;
    const tridiag_list *list;
    bench_record records[TRIDIAG_MOST_SOLVERS];
    int running, index[TRIDIAG_MOST_SOLVERS]; /* index[i]: place in the list of the i-th that runs */
    void *selves[TRIDIAG_MOST_SOLVERS];       /* of those that run */
} comparison;

static bench_record begin_record(const comparison *c, const char *name, int i)
{
    const tridiag_problem *p = c->p;
    bench_record r = bench_record_begin("tridiag", name);
    r.n = p->n, r.dtype = p->dtype, r.nrhs = p->nrhs;
    r.impl = c->list->solver[i]->impl;
    r.method = r.chosen = c->list->method[i];
    r.nnz = p->systems * p->n * p->per_row;
    r.bytes = (int64_t)tridiag_band_bytes(p) * (p->per_row + 2 * p->nrhs);
    bench_record_add_text(&r, "problem", c->variant);
    bench_record_add_number(&r, "systems", (double)p->systems);
    return r;
}

/** Set up solver i and solve once. */
static trine_status solve_first(const comparison *c, int i, void **self, double *error)
{
    const tridiag_solver *solver = c->list->solver[i];
    trine_status status = TRINE_SUCCESS;
    TRY(solver->create(c->p, c->list->method[i], self));
    if (solver->reset) TRY(solver->reset(*self));
    TRY(solver->solve(*self));
    TRY(trine_context_synchronize(c->p->b->ctx));
    TRY(tridiag_problem_check(c->p, solver->solution(*self), error));
done:
    return status;
}

/** Solver i runs, or its record says why not. */
static void start(comparison *c, int i)
{
    const tridiag_solver *solver = c->list->solver[i];
    bench_record *r = &c->records[i];
    void *self = NULL;
    const trine_status status = solve_first(c, i, &self, &r->error);
    if (status) {
        const bool skipped =
            status == TRINE_ERR_NOT_BUILT || status == TRINE_ERR_UNSUPPORTED || status == TRINE_ERR_MEMORY;
        bench_record_fail(r, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
        solver->destroy(self);
        return;
    }
    bench_record_add_number(r, "work_bytes", (double)solver->work_bytes(self));
    c->selves[c->running] = self;
    c->index[c->running++] = i;
}

/** How much faster the first solver is than the others, by rounds. */
static void record_ratios(comparison *c, const double *times, int rounds)
{
    enum { MOST = 1024 };
    const int count = rounds < MOST ? rounds : MOST;
    for (int i = 1; i < c->running; i++) {
        bench_record *r = &c->records[c->index[i]];
        double ratio[MOST];
        for (int k = 0; k < count; k++) ratio[k] = times[(int64_t)i * rounds + k] / times[k];
        bench_record_add_text(r, "ratio_to", c->records[c->index[0]].method);
        bench_record_add_number(r, "ratio", bench_median(ratio, count));
    }
}

/** times: of one solver; sorted here. */
static void record_times(const tridiag_problem *p, bench_record *r, double *times, int rounds)
{
    const double rows = (double)(p->n * p->nrhs * p->systems);
    /* Two passes over the system: 9 elements a row of a tridiagonal system with one right-hand side. */
    const double moved = (double)(p->n * p->systems * (2 * p->per_row + 3 * p->nrhs)) * (double)p->element;
    r->solve_ms = bench_median(times, rounds);
    r->solve_min_ms = times[0];
    r->reps = rounds;
    bench_record_add_number(r, "grows_per_second", 1e-6 * rows / r->solve_ms);
    bench_record_add_number(r, "copy_fraction", 1e-6 * moved / r->solve_ms / p->b->copy_gbs);
    /* 5 elements a row */
    bench_record_add_number(r, "copy_fraction_one_pass", 1e-6 * (double)r->bytes / r->solve_ms / p->b->copy_gbs);
}

/** All that run, in turn. */
static trine_status measure(comparison *c)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = c->p->b;
    bench_call resets[TRIDIAG_MOST_SOLVERS], solves[TRIDIAG_MOST_SOLVERS];
    double *times = NULL;
    int rounds = 0;
    TRY(ALLOC(b->ctx, times, (int64_t)c->running * b->reps));
    for (int i = 0; i < c->running; i++) {
        resets[i] = c->list->solver[c->index[i]]->reset;
        solves[i] = c->list->solver[c->index[i]]->solve;
    }
    TRY(bench_measure_in_turn(b, c->running, solves, resets, c->selves, times, &rounds));
    record_ratios(c, times, rounds); /* before the times are sorted */
    for (int i = 0; i < c->running; i++)
        record_times(c->p, &c->records[c->index[i]], times + (int64_t)i * rounds, rounds);
done:
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

/** NAN: not in the record. */
static double added_number(const bench_record *r, const char *key)
{
    for (int k = 0; k < r->n_added; k++)
        if (strcmp(r->added[k].key, key) == 0) return r->added[k].number;
    return NAN;
}

static void print_record(const tridiag_problem *p, const char *variant, const bench_record *r)
{
    FILE *table = p->b->table;
    char solver[64];
    snprintf(solver, sizeof solver, "%s %s", r->impl, r->method);
    fprintf(table, "%-22s %-24s %s %10lld %8lld %5lld ", variant, solver, bench_dtype_name(p->dtype), (long long)p->n,
            (long long)p->systems, (long long)p->nrhs);
    if (r->status != BENCH_OK) {
        fprintf(table, "%s\n", r->reason);
        return;
    }
    const double system_bytes = (double)tridiag_band_bytes(p) * (double)(p->per_row + p->nrhs),
                 ratio = added_number(r, "ratio");
    fprintf(table, "%10.4f %10.4f %8.3f %8.3f %9.1f %9.1e ", r->solve_ms, r->solve_min_ms,
            added_number(r, "grows_per_second"), added_number(r, "copy_fraction"),
            100 * added_number(r, "work_bytes") / system_bytes, r->error);
    if (ratio == ratio) fprintf(table, "%8.2f\n", ratio);
    else fprintf(table, "%8s\n", "");
}

trine_status tridiag_compare(const tridiag_problem *p, const char *variant, const tridiag_list *list)
{
    trine_status status = TRINE_SUCCESS;
    comparison c = {.p = p, .variant = variant, .list = list};
    char name[96];
    if (p->systems == 1) snprintf(name, sizeof name, "%s: n=%lld", variant, (long long)p->n);
    else snprintf(name, sizeof name, "%s: n=%lld, %lld systems", variant, (long long)p->n, (long long)p->systems);
    for (int i = 0; i < list->count; i++) {
        c.records[i] = begin_record(&c, name, i);
        start(&c, i);
    }
    TRY(measure(&c));
    for (int i = 0; i < list->count; i++) {
        print_record(p, variant, &c.records[i]);
        TRY(bench_record_write(p->b, &c.records[i]));
    }
    fflush(p->b->table);
done:
    for (int i = 0; i < c.running; i++) list->solver[c.index[i]]->destroy(c.selves[i]);
    return status;
}

trine_status tridiag_compare_on_random(bench *b, const char *variant, const tridiag_shape *shape,
                                       const tridiag_list *list)
{
    trine_status status = TRINE_SUCCESS;
    tridiag_problem p = {0};
    TRY(tridiag_problem_make(b, shape, &p));
    TRY(tridiag_compare(&p, variant, list));
done:
    tridiag_problem_free(&p);
    return status;
}
