/* Suite forest: factors, the extraction of paths, and decompositions (Klein 2024, Chapter 4; Figures 29, 31 and 32).
 * Stages are timed one after another, round after round. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"
#include "forest.h"

enum { SAMPLES = 11, DECOMPOSED = 4 };
static const double SECONDS = 4; /* of rounds on a CPU */

/** A matrix on the host, its values and the forest's arrays in the context's space. */
typedef struct {
    bench *b;
    const char *spec;
    trine_dtype dtype;
    trine_matrix A;
    int64_t n, nnz;
    const void *host_values;
    void *values, *bands[3];       /* of DECOMPOSED forests */
    int32_t *permutation;
} problem;

/** One forest of it, and what calls take. */
typedef struct {
    problem *p;
    trine_context ctx;
    trine_forest forest;
    trine_factor_rounds rounds;
    trine_forest_decomposition decomposition;
    trine_forest_part part;
    int k;
} job;

static const trine_exec *const no_exec = NULL;

/* -------------------------------------------------------------------- calls */

static trine_status call_weights(void *self)
{
    const job *j = self;
    return trine_forest_set_weights(j->forest, j->p->b->device.space, j->p->values, no_exec);
}
static trine_status call_factor(void *self)
{
    const job *j = self;
    return trine_forest_factor(j->forest, &j->rounds, no_exec);
}
static trine_status call_cycles(void *self)
{
    const job *j = self;
    return trine_forest_break_cycles(j->forest, no_exec);
}
static trine_status call_order(void *self)
{
    const job *j = self;
    return trine_forest_order(j->forest, no_exec);
}
static trine_status call_bands(void *self)
{
    const job *j = self;
    const problem *p = j->p;
    return trine_forest_extract(j->forest, p->b->device.space, p->values, p->bands[0], p->bands[1], p->bands[2],
                                no_exec);
}
static trine_status call_all(void *self)
{
    const job *j = self;
    const trine_status status = trine_forest_run(j->forest, j->p->b->device.space, j->p->values, &j->rounds, no_exec);
    return status ? status : call_bands(self);
}
static trine_status call_decompose(void *self)
{
    const job *j = self;
    return trine_forest_decompose(j->forest, j->p->b->device.space, j->p->values, &j->rounds, &j->decomposition,
                                  no_exec);
}
static trine_status call_part(void *self)
{
    const job *j = self;
    return trine_forest_run_part(j->forest, j->part, j->k, no_exec);
}

/* ----------------------------------------------------------------- problems */

static void free_problem(problem *p)
{
    trine_matrix_destroy(&p->A);
    trine_free(p->b->ctx, p->b->device.space, p->values);
    trine_free(p->b->ctx, p->b->device.space, p->permutation);
    for (int k = 0; k < 3; k++) trine_free(p->b->ctx, p->b->device.space, p->bands[k]);
}

/** "lines:PATHS:LENGTH", or what other suites take. */
static trine_status read_matrix(bench *b, const char *spec, trine_matrix *A)
{
    long long paths, length;
    if (sscanf(spec, "lines:%lld:%lld", &paths, &length) == 2) return forest_lines(b, paths, length, A);
    return bench_read_matrix(b, spec, A);
}

static trine_status make_problem(bench *b, const char *spec, trine_matrix in_double, trine_dtype dtype, problem *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info info;
    const size_t size = trine_dtype_size(dtype);
    *p = (problem){.b = b, .spec = spec, .dtype = dtype};
    if (is_complex(dtype)) FAIL(TRINE_ERR_UNSUPPORTED, "compared with real numbers only");
    TRY(trine_matrix_copy(in_double, &p->A, TRINE_HOST, TRINE_CSR, dtype));
    TRY(trine_matrix_get_info(p->A, &info));
    TRY(trine_matrix_get_arrays(p->A, NULL, NULL, &p->host_values));
    p->n = info.n_rows, p->nnz = info.nnz;
    TRY(trine_alloc(b->ctx, b->device.space, (size_t)p->nnz * size + 1, &p->values));
    TRY(trine_copy(b->ctx, p->values, b->device.space, p->host_values, TRINE_HOST, (size_t)p->nnz * size));
    for (int k = 0; k < 3; k++)
        TRY(trine_alloc(b->ctx, b->device.space, (size_t)p->n * DECOMPOSED * size + 1, &p->bands[k]));
    TRY(trine_alloc(b->ctx, b->device.space, (size_t)p->n * DECOMPOSED * sizeof *p->permutation + 1,
                    (void **)&p->permutation));
done:
    return status;
}

static trine_status begin_job(problem *p, trine_context ctx, const trine_forest_options *options, job *j)
{
    *j = (job){.p = p, .ctx = ctx};
    return trine_forest_create(ctx, &j->forest, p->A, options);
}

/* ------------------------------------------------------------------ records */

static bench_record begin_record(const problem *p, const char *impl, const char *method)
{
    bench_record r = bench_record_begin("forest", p->spec);
    r.n = p->n, r.nnz = p->nnz, r.dtype = p->dtype, r.impl = impl, r.method = method;
    return r;
}

/** Medians of samples that follow one another, which are sorted. */
static void take_times(bench_record *r, double *times, int rounds)
{
    r->solve_ms = bench_median(times, rounds);
    r->solve_min_ms = times[0];
    r->reps = rounds;
}

static trine_status write_record(bench *b, bench_record *r)
{
    fprintf(b->table, "  %-10s %-24s %10.4g %10.4g", r->impl, r->method, r->solve_ms, r->solve_min_ms);
    for (int k = 0; k < r->n_added; k++)
        if (!r->added[k].text) fprintf(b->table, "  %s %.4g", r->added[k].key, r->added[k].number);
    if (r->status) fprintf(b->table, "  FAILED: %s", r->reason);
    fputc('\n', b->table);
    fflush(b->table);
    return bench_record_write(b, r);
}

static trine_status write_times(const problem *p, const char *method, const char *chosen, double *times, int rounds)
{
    bench_record r = begin_record(p, "trine", method);
    r.chosen = chosen;
    take_times(&r, times, rounds);
    bench_record_add_number(&r, "ms_per_million", r.solve_ms / ((double)p->n * 1e-6));
    return write_record(p->b, &r);
}

/** The median over rounds of one time over another. */
static double ratio_of(const double *times, const double *others, int rounds)
{
    double ratios[1024];
    const int count = rounds < 1024 ? rounds : 1024;
    for (int r = 0; r < count; r++) ratios[r] = times[r] / others[r];
    return bench_median(ratios, count);
}

/* ------------------------------------------------------------------- stages */

typedef struct {
    problem *p;
    forest_walk walk;
    int32_t *factor;
    double *weights;
} walk_problem;

static void end_walk(walk_problem *w)
{
    void *arrays[] = {w->factor, w->weights, w->walk.neighbours, w->walk.permutation, w->walk.seen};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(w->p->b->ctx, TRINE_HOST, arrays[k]);
}

/** |a_vu|, 0 if there is none; columns ascend. */
static double modulus_at(const problem *p, const int64_t *offsets, const int32_t *columns, int32_t v, int32_t u)
{
    int64_t low = offsets[v], high = offsets[v + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < u) low = middle + 1;
        else high = middle;
    }
    if (low == offsets[v + 1] || columns[low] != u) return 0;
    return p->dtype == TRINE_S ? fabs((double)((const float *)p->host_values)[low])
                               : fabs(((const double *)p->host_values)[low]);
}

/** The factor that j has, on the host, with the weights of its edges. */
static trine_status begin_walk(const job *j, walk_problem *w)
{
    trine_status status = TRINE_SUCCESS;
    problem *p = j->p;
    trine_context ctx = p->b->ctx;
    trine_forest_arrays arrays;
    const int64_t *offsets;
    const int32_t *columns;
    *w = (walk_problem){.p = p};
    TRY(ALLOC(ctx, w->factor, 2 * p->n));
    TRY(ALLOC(ctx, w->weights, 2 * p->n));
    TRY(ALLOC(ctx, w->walk.neighbours, 2 * p->n));
    TRY(ALLOC(ctx, w->walk.permutation, p->n));
    TRY(ALLOC(ctx, w->walk.seen, p->n));
    TRY(trine_context_synchronize(ctx));
    TRY(trine_forest_get_arrays(j->forest, &arrays));
    TRY(trine_copy(ctx, w->factor, TRINE_HOST, arrays.neighbours, p->b->device.space,
                   (size_t)p->n * 2 * sizeof *w->factor));
    TRY(trine_matrix_get_arrays(p->A, &offsets, &columns, NULL));
    for (int64_t e = 0; e < 2 * p->n; e++) {
        const int32_t v = (int32_t)(e / 2), u = w->factor[e];
        w->weights[e] = u < 0 ? 0 : modulus_at(p, offsets, columns, v, u) + modulus_at(p, offsets, columns, u, v);
        if (p->dtype == TRINE_S) w->weights[e] = (float)w->weights[e];
    }
    w->walk.n = p->n;
    w->walk.factor = w->factor;
    w->walk.weights = w->weights;
    w->walk.seed = j->rounds.seed;
done:
    return status;
}

/** Does the forest have the walk's permutation? */
static trine_status compare_with_walk(const job *j, const walk_problem *w, bool *same)
{
    trine_status status = TRINE_SUCCESS;
    const problem *p = j->p;
    trine_forest_arrays arrays;
    int32_t *permutation = NULL;
    TRY(ALLOC(p->b->ctx, permutation, p->n));
    TRY(trine_context_synchronize(j->ctx));
    TRY(trine_forest_get_arrays(j->forest, &arrays));
    TRY(trine_copy(p->b->ctx, permutation, TRINE_HOST, arrays.permutation, p->b->device.space,
                   (size_t)p->n * sizeof *permutation));
    *same = memcmp(permutation, w->walk.permutation, (size_t)p->n * sizeof *permutation) == 0;
done:
    trine_free(p->b->ctx, TRINE_HOST, permutation);
    return status;
}

enum { WEIGHTS, FACTOR, CYCLES, ORDER, BANDS, STAGES };
static const bench_call stages[STAGES] = {call_weights, call_factor, call_cycles, call_order, call_bands};

/** Times of the stages one after another; extraction: of cycles and order together. */
static trine_status time_stages(job *j, double *times, double *extraction, int *rounds)
{
    trine_status status = TRINE_SUCCESS;
    void *selves[STAGES] = {j, j, j, j, j};
    for (int k = 0; k < STAGES; k++) TRY(stages[k](j));
    TRY(bench_measure_in_turn(j->p->b, STAGES, stages, NULL, selves, times, rounds));
    for (int r = 0; r < *rounds; r++) extraction[r] = times[CYCLES * *rounds + r] + times[ORDER * *rounds + r];
done:
    return status;
}

static trine_status write_extraction(job *j, walk_problem *w, const char *method, const char *chosen, double walk_ms,
                                     double *times, int rounds)
{
    trine_status status = TRINE_SUCCESS;
    bool same = false;
    bench_record r = begin_record(j->p, "trine", method);
    r.chosen = chosen;
    take_times(&r, times, rounds);
    TRY(compare_with_walk(j, w, &same));
    if (!same) bench_record_fail(&r, BENCH_FAILED, "the permutation is not that of the walk");
    bench_record_add_number(&r, "ms_per_million", r.solve_ms / ((double)j->p->n * 1e-6));
    bench_record_add_text(&r, "ratio_peer", "walk");
    bench_record_add_number(&r, "ratio", walk_ms / r.solve_ms);
    TRY(write_record(j->p->b, &r));
done:
    return status;
}

static trine_status write_walk(const problem *p, walk_problem *w, double *walk_ms)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    bench_record r = begin_record(p, "walk", "sequential");
    TRY(bench_measure_wall(p->b, forest_walk_once, forest_walk_reset, &w->walk, &time));
    *walk_ms = r.solve_ms = time.median;
    r.solve_min_ms = time.min;
    r.reps = time.reps;
    bench_record_add_number(&r, "cycles", (double)w->walk.cycles);
    TRY(write_record(p->b, &r));
done:
    return status;
}

static const char *const rankings[] = {"splitters", "scan"};

/** Each stage (Figure 32), the extraction beside a walk by one thread (Figure 31), everything at once. */
static trine_status run_stages(problem *p)
{
    static const char *const names[2][STAGES] = {{"weights", "factor", "cycles", "order", "bands"},
                                                 {NULL, NULL, "cycles:scan", "order:scan", NULL}};
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    job j = {0};
    walk_problem w = {.p = p};
    double *times = NULL, *extraction, walk_ms = 0;
    int rounds;
    TRY(ALLOC(b->ctx, times, (int64_t)b->reps * (STAGES + 1)));
    extraction = times + (int64_t)b->reps * STAGES;
    for (int s = 0; s < 2; s++) {
        TRY(begin_job(p, b->ctx, &(trine_forest_options){.ranking = s ? TRINE_RANKING_SCAN : TRINE_RANKING_SPLITTERS},
                      &j));
        if (!s) {
            TRY(call_weights(&j));
            TRY(call_factor(&j));
            TRY(begin_walk(&j, &w));
            TRY(write_walk(p, &w, &walk_ms));
        }
        TRY(time_stages(&j, times, extraction, &rounds));
        TRY(write_extraction(&j, &w, s ? "extraction:scan" : "extraction", rankings[s], walk_ms, extraction, rounds));
        for (int k = 0; k < STAGES; k++)
            if (names[s][k]) TRY(write_times(p, names[s][k], rankings[s], times + (int64_t)k * rounds, rounds));
        if (!s) {
            void *self = &j;
            TRY(call_all(&j));
            TRY(bench_measure_in_turn(b, 1, (bench_call[]){call_all}, NULL, &self, times, &rounds));
            TRY(write_times(p, "all", rankings[s], times, rounds));
        }
        trine_forest_destroy(&j.forest);
    }
done:
    trine_forest_destroy(&j.forest);
    end_walk(&w);
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

/* ------------------------------------------------------------- decomposition */

/** DECOMPOSED forests, each edge in one of them, beside one. */
static trine_status run_decomposition(problem *p)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    job j[2] = {{0}, {0}};
    double *times = NULL;
    int rounds;
    TRY(ALLOC(b->ctx, times, (int64_t)b->reps * 2));
    for (int k = 0; k < 2; k++) {
        TRY(begin_job(p, b->ctx, NULL, &j[k]));
        j[k].decomposition = (trine_forest_decomposition){.count = k ? DECOMPOSED : 1,
                                                          .permutation = p->permutation,
                                                          .a = p->bands[0],
                                                          .b = p->bands[1],
                                                          .c = p->bands[2]};
        TRY(call_decompose(&j[k]));
    }
    TRY(bench_measure_in_turn(b, 2, (bench_call[]){call_decompose, call_decompose}, NULL, (void *[]){&j[0], &j[1]},
                              times, &rounds));
    const double relative = ratio_of(times + rounds, times, rounds);
    TRY(write_times(p, "decompose:1", rankings[0], times, rounds));
    bench_record r = begin_record(p, "trine", "decompose:4");
    r.chosen = rankings[0];
    take_times(&r, times + rounds, rounds);
    bench_record_add_text(&r, "relative_to", "decompose:1");
    bench_record_add_number(&r, "relative", relative);
    TRY(write_record(b, &r));
done:
    for (int k = 0; k < 2; k++) trine_forest_destroy(&j[k].forest);
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

/* -------------------------------------------------------------- proposition */

typedef struct {
    trine_spmv plan;
    trine_dense X, Y;
    union {
        float s;
        double d;
    } one, zero; /* of the plan's dtype */
} product;

static trine_status multiply(void *self)
{
    const product *s = self;
    return trine_spmv_apply(s->plan, TRINE_N, &s->one, &s->X, &s->zero, &s->Y, no_exec);
}

/** One proposition without charges beside the product with the same matrix (Figure 29): of a later round, and the first
 *  one, which looks at whole rows. */
static trine_status run_proposition(problem *p)
{
    static const char *const names[2][4] = {{"propose:n=1", "propose:n=2", "propose:n=3", "propose:n=4"},
                                            {"first:n=1", "first:n=2", "first:n=3", "first:n=4"}};
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    const size_t size = trine_dtype_size(p->dtype), bytes = (size_t)p->n * size;
    job j = {0};
    product s = {0};
    trine_matrix here = NULL;
    double *times = NULL;
    void *vectors = NULL, *ones = NULL;
    int rounds;
    TRY(ALLOC(b->ctx, times, (int64_t)b->reps * 2));
    TRY(trine_matrix_copy(p->A, &here, b->device.space, TRINE_CSR, p->dtype));
    TRY(trine_spmv_analyse(b->ctx, &s.plan, here, NULL));
    TRY(trine_spmv_numeric(s.plan, b->device.space, p->values, no_exec));
    TRY(trine_alloc(b->ctx, b->device.space, 2 * bytes + 1, &vectors));
    TRY((ones = bench_alloc(b->ctx, p->n, size, true)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY(trine_copy(b->ctx, vectors, b->device.space, ones, TRINE_HOST, bytes));
    s.X = (trine_dense){.data = vectors, .rows = p->n, .cols = 1};
    s.Y = (trine_dense){.data = (char *)vectors + bytes, .rows = p->n, .cols = 1};
    if (p->dtype == TRINE_S) s.one.s = 1;
    else s.one.d = 1;
    TRY(begin_job(p, b->ctx, &(trine_forest_options){.max_n = 4}, &j));
    TRY(call_weights(&j));
    for (int i = 0; i < 8; i++) {
        const int n = i / 2 + 1;
        j.rounds = (trine_factor_rounds){.n = n, .rounds = 1};
        j.part = TRINE_FOREST_PROPOSE;
        j.k = 1 - i % 2;
        TRY(call_factor(&j));
        TRY(call_part(&j));
        TRY(multiply(&s));
        TRY(bench_measure_in_turn(b, 2, (bench_call[]){multiply, call_part}, NULL, (void *[]){&s, &j}, times, &rounds));
        const double speed = ratio_of(times, times + rounds, rounds);
        if (!i) TRY(write_times(p, "spmv", NULL, times, rounds));
        bench_record r = begin_record(p, "trine", names[i % 2][n - 1]);
        take_times(&r, times + rounds, rounds);
        bench_record_add_text(&r, "ratio_peer", "spmv");
        bench_record_add_number(&r, "ratio", speed);
        TRY(write_record(b, &r));
    }
done:
    trine_forest_destroy(&j.forest);
    trine_spmv_destroy(&s.plan);
    trine_matrix_destroy(&here);
    trine_free(b->ctx, b->device.space, vectors);
    trine_free(b->ctx, TRINE_HOST, ones);
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

/* -------------------------------------------------------------------- scans */

/** Every pass of both bidirectional scans (Figure 31, top). A pass may be repeated: it reads one copy of the links and
 *  writes the other. */
static trine_status run_scans(problem *p)
{
    static const char *const names[] = {"edges", "lengths"};
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    job j = {0};
    bench_time time;
    TRY(begin_job(p, b->ctx, &(trine_forest_options){.ranking = TRINE_RANKING_SCAN}, &j));
    TRY(call_weights(&j));
    TRY(call_factor(&j));
    for (int s = 0; s < 2; s++) {
        if (s) TRY(call_cycles(&j));
        j.part = s ? TRINE_FOREST_SCAN_LENGTHS : TRINE_FOREST_SCAN_EDGES;
        j.k = -1;
        TRY(call_part(&j));
        for (j.k = 0; INT64_C(1) << j.k < p->n; j.k++) {
            char method[32];
            TRY(bench_measure(b, call_part, &j, &time));
            snprintf(method, sizeof method, "pass:%s:%d", names[s], j.k);
            bench_record r = begin_record(p, "trine", method);
            r.solve_ms = time.median, r.solve_min_ms = time.min, r.reps = time.reps;
            r.bytes = 64 * p->n;
            bench_record_add_number(&r, "copy_fraction", 1e-6 * (double)r.bytes / time.median / b->copy_gbs);
            TRY(write_record(b, &r));
        }
    }
done:
    trine_forest_destroy(&j.forest);
    return status;
}

/* ----------------------------------------------------------------- coverage */

typedef struct {
    const char *name;
    trine_ties ties;
    int m;
} rule;

static trine_status write_coverage(job *j, const char *method, bench_call call, bench_call reset, double of_greedy,
                                   double *coverage)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    trine_forest_coverage c;
    trine_forest_result result;
    bench_record r = begin_record(j->p, "trine", method);
    TRY(bench_measure_wall(j->p->b, call, reset, j, &time));
    TRY(trine_forest_get_coverage(j->forest, TRINE_HOST, j->p->host_values, &c, no_exec));
    TRY(trine_forest_get_result(j->forest, &result, no_exec));
    r.solve_ms = time.median, r.solve_min_ms = time.min, r.reps = time.reps;
    *coverage = c.factor;
    bench_record_add_number(&r, "coverage", c.factor);
    bench_record_add_number(&r, "coverage_of_greedy", of_greedy > 0 ? of_greedy : c.factor);
    bench_record_add_number(&r, "rounds", (double)result.rounds);
    TRY(write_record(j->p->b, &r));
done:
    return status;
}

static trine_status call_sequential(void *self)
{
    const job *j = self;
    return trine_forest_factor_sequential(j->forest, &j->rounds, no_exec);
}

static trine_status call_forest(void *self)
{
    const job *j = self;
    return trine_forest_run(j->forest, TRINE_HOST, NULL, &j->rounds, no_exec);
}
static trine_status call_improve(void *self)
{
    const job *j = self;
    return trine_forest_improve(j->forest, j->k, no_exec);
}

/** Coverage after 1, 2, ... rounds by each rule for ties, beside the greedy factor; and of forests, after rounds of
 *  exchanges. */
static trine_status run_coverage(problem *p)
{
    static const rule rules[] = {{"hash", TRINE_TIES_HASH, 1},
                                 {"charged", TRINE_TIES_LOWEST_INDEX, 5},
                                 {"lowest-index", TRINE_TIES_LOWEST_INDEX, 1}};
    static const int exchanges[] = {1, 2, 5, 10, 20};
    enum { MOST_ROUNDS = 12 };
    trine_status status = TRINE_SUCCESS;
    job j = {0};
    double greedy = 0, coverage;
    TRY(begin_job(p, p->b->ctx, NULL, &j));
    TRY(call_weights(&j));
    TRY(write_coverage(&j, "greedy", call_sequential, NULL, 0, &greedy));
    for (int i = 0; i < 3; i++)
        for (int k = 1; k <= MOST_ROUNDS; k++) {
            char method[48];
            j.rounds = (trine_factor_rounds){.rounds = k, .ties = rules[i].ties, .m = rules[i].m};
            snprintf(method, sizeof method, "%s:rounds=%d", rules[i].name, k);
            TRY(write_coverage(&j, method, call_factor, NULL, greedy, &coverage));
        }
    j.rounds = (trine_factor_rounds){0};
    TRY(write_coverage(&j, "forest", call_forest, NULL, greedy, &coverage));
    for (int i = 0; i < 5; i++) {
        char method[48];
        j.k = exchanges[i];
        snprintf(method, sizeof method, "improve:rounds=%d", j.k);
        TRY(write_coverage(&j, method, call_improve, call_forest, greedy, &coverage));
    }
done:
    trine_forest_destroy(&j.forest);
    return status;
}

/* ------------------------------------------------------------------ threads */

/** On a CPU: every stage by all threads beside one thread, in turn. */
static trine_status run_threads(problem *p)
{
    static const char *const names[2][STAGES + 1] = {
        {"weights", "factor", "cycles", "order", "bands", "all"},
        {"weights:scan", "factor:scan", "cycles:scan", "order:scan", "bands:scan", "all:scan"}};
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    trine_context one = NULL;
    job j[2] = {{0}, {0}};
    double *times = NULL;
    int rounds;
    if (b->device.space == TRINE_DEVICE || b->device.threads == 1) return TRINE_SUCCESS;
    TRY(ALLOC(b->ctx, times, (int64_t)b->reps * 2 * (STAGES + 1)));
    TRY(trine_context_create(&one, "cpu:1"));
    for (int s = 0; s < 2; s++) {
        bench_call calls[2 * STAGES];
        void *selves[2 * STAGES];
        for (int t = 0; t < 2; t++) {
            TRY(begin_job(p, t ? one : b->ctx,
                          &(trine_forest_options){.ranking = s ? TRINE_RANKING_SCAN : TRINE_RANKING_SPLITTERS}, &j[t]));
            for (int k = 0; k < STAGES; k++) {
                calls[t * STAGES + k] = stages[k];
                selves[t * STAGES + k] = &j[t];
                TRY(stages[k](&j[t]));
            }
        }
        TRY(bench_measure_in_turn(b, 2 * STAGES, calls, NULL, selves, times, &rounds));
        double *sums = times + (int64_t)2 * STAGES * rounds;
        for (int r = 0; r < 2 * rounds; r++) {
            const double *of_round = times + (int64_t)(r / rounds) * STAGES * rounds + r % rounds;
            sums[r] = 0;
            for (int k = 0; k < STAGES; k++) sums[r] += of_round[(int64_t)k * rounds];
        }
        for (int k = 0; k <= STAGES; k++) {
            double *all = k == STAGES ? sums : times + (int64_t)k * rounds;
            double *single = k == STAGES ? sums + rounds : all + (int64_t)STAGES * rounds;
            bench_record r = begin_record(p, "trine", names[s][k]);
            const double ratio = ratio_of(single, all, rounds);
            take_times(&r, all, rounds);
            bench_record_add_text(&r, "ratio_peer", "one thread");
            bench_record_add_number(&r, "ratio", ratio);
            TRY(write_record(b, &r));
        }
        for (int t = 0; t < 2; t++) trine_forest_destroy(&j[t].forest);
    }
done:
    for (int t = 0; t < 2; t++) trine_forest_destroy(&j[t].forest);
    trine_context_destroy(&one);
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

/* ------------------------------------------------------------------- sweeps */

static const struct {
    const char *name, *of_gpu, *of_cpu; /* matrices, by blanks */
    const char *dtypes;
    trine_status (*run)(problem *p);
} sweeps[] = {
    {"main",
     "aniso1:n=2500 aniso2:n=2500 aniso3:n=2500 laplace2d:n=1000 convection3d:n=110 G3_circuit laplace3d27:n=100",
     "aniso1:n=1000 aniso2:n=1000 aniso3:n=1000 laplace2d:n=1000 convection3d:n=100 G3_circuit", "s,d", run_stages},
    {"proposition",
     "aniso1:n=2500 aniso2:n=2500 aniso3:n=2500 laplace2d:n=1000 convection3d:n=110 G3_circuit laplace3d27:n=100 "
     "elasticity3d:n=50 powerlaw:n=1000000,degree=19",
     "aniso1:n=1000 laplace2d:n=1000 convection3d:n=100 G3_circuit laplace3d27:n=60", "s,d", run_proposition},
    {"scans", "aniso1:n=2500 laplace2d:n=1000 G3_circuit lines:1:10000000", "aniso1:n=1000 laplace2d:n=1000 G3_circuit",
     "d", run_scans},
    {"decomposition", "aniso1:n=2500 laplace2d:n=1000 convection3d:n=110 G3_circuit laplace3d27:n=100",
     "aniso1:n=1000 laplace2d:n=1000 convection3d:n=100 G3_circuit", "d", run_decomposition},
    {"paths", "lines:1:10000000 lines:100000:100 lines:1000000:10", "lines:1:2000000 lines:20000:100 lines:200000:10",
     "d", run_stages},
    {"coverage", "aniso1:n=2500 laplace2d:n=1000 convection3d:n=110 G3_circuit laplace3d27:n=100",
     "aniso1:n=1000 laplace2d:n=1000 convection3d:n=100 G3_circuit laplace3d27:n=60", "d", run_coverage},
    {"threads", "", "aniso1:n=1000 laplace2d:n=1000 convection3d:n=100 G3_circuit lines:1:2000000", "d", run_threads},
};
enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };

/** A matrix that cannot be had is a record too. */
static trine_status record_missing(bench *b, const char *spec, trine_dtype dtype, trine_status why)
{
    bench_record r = bench_record_begin("forest", spec);
    const bool skipped =
        why == TRINE_ERR_IO || why == TRINE_ERR_MEMORY || why == TRINE_ERR_STRUCTURE || why == TRINE_ERR_UNSUPPORTED;
    r.dtype = dtype;
    r.impl = "trine";
    bench_record_fail(&r, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    fprintf(b->table, "\n%s  %s: %s\n", spec, skipped ? "skipped" : "FAILED", r.reason);
    return bench_record_write(b, &r);
}

static trine_status run_matrix(bench *b, int sweep, const char *spec, const bench_list *dtypes)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix A = NULL;
    const trine_status found = read_matrix(b, spec, &A);
    for (int t = 0; t < dtypes->count; t++) {
        problem p = {.b = b};
        const trine_dtype dtype = bench_dtype_of(dtypes->item[t]);
        trine_status made = found ? found : make_problem(b, spec, A, dtype, &p);
        if (!made) {
            fprintf(b->table, "\n%s  %s: n %lld, nnz %lld; ms, least\n", spec, bench_dtype_name(dtype), (long long)p.n,
                    (long long)p.nnz);
            made = sweeps[sweep].run(&p);
        }
        free_problem(&p);
        if (made) TRY(record_missing(b, spec, dtype, made));
    }
done:
    trine_matrix_destroy(&A);
    return status;
}

static trine_status run_sweep(bench *b, int sweep)
{
    trine_status status = TRINE_SUCCESS;
    char *own = strdup(b->device.space == TRINE_DEVICE ? sweeps[sweep].of_gpu : sweeps[sweep].of_cpu), *rest = own;
    bench_list dtypes = bench_list_split(sweeps[sweep].dtypes);
    if (!own) FAIL(TRINE_ERR_MEMORY, "no memory");
    b->sweep = sweep ? sweeps[sweep].name : NULL;
    for (int m = 0; m < b->matrices.count; m++)
        TRY(run_matrix(b, sweep, b->matrices.item[m], b->dtypes.count ? &b->dtypes : &dtypes));
    for (char *spec; !b->matrices.count && (spec = strsep(&rest, " "));)
        if (*spec) TRY(run_matrix(b, sweep, spec, b->dtypes.count ? &b->dtypes : &dtypes));
done:
    b->sweep = NULL;
    bench_list_free(&dtypes);
    free(own);
    return status;
}

trine_status bench_suite_forest(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    if (!b->reps_given) b->reps = SAMPLES;
    if (b->max_seconds <= 0 && b->device.space == TRINE_HOST) b->max_seconds = SECONDS;
    for (int k = 0; k < b->sweeps.count; k++) {
        int i = 0;
        while (i < N_SWEEPS && strcmp(sweeps[i].name, b->sweeps.item[k]) != 0) i++;
        if (i == N_SWEEPS) return trine_fail(TRINE_ERR_ARGUMENT, "suite forest has no sweep \"%s\"", b->sweeps.item[k]);
    }
    for (int i = 0; i < N_SWEEPS; i++) {
        bool wanted = b->sweeps.count == 0 && i == 0;
        for (int k = 0; k < b->sweeps.count; k++) wanted |= strcmp(sweeps[i].name, b->sweeps.item[k]) == 0;
        if (wanted) TRY(run_sweep(b, i));
    }
done:
    return status;
}
