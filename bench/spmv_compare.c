/* One matrix, trine's methods and the peers: preprocessing timed, results checked, batches of products in turn for
 * times and ratios. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "spmv.h"

/* A sample: 300 products in a row, as in the thesis, or as many as take so long. */
enum { PRODUCTS = 300, SAMPLE = 25 /* ms */, POLLING = 10000 /* us */ };

typedef struct {
    const spmv_solver *solver;
    void *self;
    int products; /* of a sample */
    int runs;     /* position among those that run; -1: it does not */
    bench_record record;
    double against_base, of_peer;
} entry;

void spmv_list_add(spmv_list *list, const spmv_solver *solver, const char *method)
{
    if (list->count == SPMV_MOST_SOLVERS) return;
    list->solver[list->count] = solver;
    list->method[list->count++] = method;
}

/* ------------------------------------------------------------------- table */

void spmv_print_heading(const spmv_problem *p)
{
    const char *layout = p->nrhs < 2 ? "" : p->X.layout == TRINE_ROWMAJOR ? " by rows" : " by columns";
    fprintf(p->b->table, "\n%s  %s, nrhs %lld%s, beta %g: %lld x %lld, nnz %lld, longest row %lld\n", p->spec,
            bench_dtype_name(p->dtype), (long long)p->nrhs, layout, p->beta, (long long)p->n_rows, (long long)p->n_cols,
            (long long)p->nnz, (long long)p->longest_row);
    fprintf(p->b->table, "  %-9s %-28s %-19s %10s %10s %10s %10s %8s %7s %8s %8s %9s\n", "impl", "method", "chosen",
            "analyse ms", "on device", "solve us", "min us", "GB/s", "copy %", "relative", "ratio", "error");
}

/** x in the text, or - for what was not measured. */
static const char *number(char text[24], const char *format, double x)
{
    if (!isfinite(x)) return "-";
    snprintf(text, 24, format, x);
    return text;
}

static double added_number(const bench_record *r, const char *key)
{
    for (int k = 0; k < r->n_added; k++)
        if (strcmp(r->added[k].key, key) == 0) return r->added[k].number;
    return NAN;
}

static void print_entry(FILE *table, const entry *e)
{
    const bench_record *r = &e->record;
    fprintf(table, "  %-9s %-28s %-19s ", r->impl, r->method, r->chosen ? r->chosen : "-");
    if (r->status == BENCH_SKIPPED) fprintf(table, "skipped: %s\n", r->reason);
    else if (!isfinite(r->solve_ms)) fprintf(table, "FAILED: %s\n", r->reason);
    else {
        char text[6][24];
        fprintf(table, "%10s %10s %10.4g %10.4g %8.4g %7.3g %8s %8s %9s%s%s\n", number(text[0], "%.4g", r->analyse_ms),
                number(text[1], "%.4g", added_number(r, "analyse_device_ms")), 1e3 * r->solve_ms, 1e3 * r->solve_min_ms,
                added_number(r, "gbs"), 100 * added_number(r, "copy_fraction"),
                number(text[2], "%.3f", e->against_base), number(text[3], "%.3f", e->of_peer),
                number(text[4], "%.2e", r->error), r->status == BENCH_FAILED ? "  FAILED: " : "", r->reason);
    }
    fflush(table);
}

/* ------------------------------------------------------------- measurement */

bench_record spmv_record_begin(const spmv_problem *p, const spmv_solver *solver, const char *method)
{
    bench_record r = bench_record_begin("spmv", p->spec);
    const int64_t element = (int64_t)trine_dtype_size(p->dtype);
    r.n = p->n_rows, r.nnz = p->nnz, r.dtype = p->dtype, r.nrhs = p->nrhs;
    r.impl = solver->impl, r.method = method;
    /* of x, no more than the entries ask for */
    const int64_t read = p->nnz < p->n_cols ? p->nnz : p->n_cols, moved = (p->beta != 0 ? 2 : 1) * p->n_rows;
    r.bytes = p->nnz * (element + 4) + 4 * (p->n_rows + 1) + p->nrhs * element * (read + moved);
    bench_record_add_number(&r, "beta", p->beta);
    bench_record_add_number(&r, "columns", (double)p->n_cols);
    bench_record_add_number(&r, "longest_row", (double)p->longest_row);
    bench_record_add_text(&r, "layout", p->X.layout == TRINE_ROWMAJOR ? "rowmajor" : "colmajor");
    return r;
}

static trine_status measure_preprocessing(bench *b, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    if (!e->solver->preprocess) return TRINE_SUCCESS;
    TRY(bench_measure_wall(b, e->solver->preprocess, e->solver->forget, e->self, &time));
    e->record.analyse_ms = time.median;
    if (b->device.space == TRINE_DEVICE) {
        TRY(bench_measure_analysis_on_device(b, e->solver->preprocess, e->solver->forget, e->self, &time));
        bench_record_add_number(&e->record, "analyse_device_ms", time.median);
    }
done:
    return status;
}

/** One product, and whether it is right. */
static trine_status check(spmv_problem *p, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    double error = NAN, of_bound = 0;
    TRY(spmv_problem_prepare(p, e->solver->role != SPMV_OWN)); /* NaN times 0 would stay NaN */
    TRY(e->solver->multiply(e->self));
    TRY(trine_context_synchronize(p->b->ctx));
    if (e->solver->role == SPMV_FLOOR) return TRINE_SUCCESS;
    if (e->solver->check) TRY(e->solver->check(e->self, &error));
    else TRY(spmv_problem_check(p, &error, &of_bound));
    if (!(error <= e->record.error)) e->record.error = error; /* the largest; a NaN stays */
    if (!(of_bound <= 1))
        bench_record_fail(&e->record, BENCH_FAILED, "wrong: componentwise error %.2e, %.1f times what is allowed",
                          error, of_bound);
done:
    return status;
}

static trine_status multiply_often(void *argument)
{
    const entry *e = argument;
    trine_status status = TRINE_SUCCESS;
    for (int k = 0; k < e->products && !status; k++) status = e->solver->multiply(e->self);
    return status;
}

/** Before a sample on a CPU: idle threads of another library poll for a while, on a core that this one needs. They fall
 *  asleep, and one product wakes the threads that come. */
static trine_status settle(void *argument)
{
    const entry *e = argument;
    usleep(POLLING);
    return e->solver->multiply(e->self);
}

/** Products of a sample, by the time of a few. */
static trine_status size_sample(bench *b, entry *e)
{
    enum { TRIAL = 3 };
    const int reps = b->reps;
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    b->reps = TRIAL;
    e->products = TRIAL;
    TRY(bench_measure(b, multiply_often, e, &time));
    const double count = (b->sample_ms > 0 ? b->sample_ms : SAMPLE) * TRIAL / (time.median > 0 ? time.median : 1e-6);
    e->products = count < 1 ? 1 : count > PRODUCTS ? PRODUCTS : (int)count;
done:
    b->reps = reps;
    return status;
}

static void record_failure(entry *e, trine_status status)
{
    const bool skipped = status == TRINE_ERR_NOT_BUILT || status == TRINE_ERR_UNSUPPORTED || status == TRINE_ERR_MEMORY;
    bench_record_fail(&e->record, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
}

static void start(spmv_problem *p, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    TRY(e->solver->create(p, e->record.method, &e->self));
    TRY(measure_preprocessing(p->b, e));
    TRY(check(p, e));
    TRY(size_sample(p->b, e));
    return;
done:
    record_failure(e, status);
    if (e->self) e->solver->destroy(e->self);
    e->self = NULL;
}

/** What the times of one round say of two: median of a_r / b_r, or with `difference` of a_r - b_r. */
static double median_of(const double *a, const double *b, int rounds, bool difference, double *work)
{
    for (int r = 0; r < rounds; r++) work[r] = difference ? a[r] - b[r] : a[r] / b[r];
    return bench_median(work, rounds);
}

static double median_alone(const double *a, int rounds, double *work)
{
    memcpy(work, a, (size_t)rounds * sizeof *work);
    return bench_median(work, rounds);
}

/** Is e what trine is compared with, rather than the peer so far (or none)? */
static bool is_better_peer(const entry *e, const entry *peer)
{
    if (e->solver->role != SPMV_PEER && e->solver->role != SPMV_LOOP) return false;
    if (!peer || peer->solver->role != e->solver->role) return !peer || e->solver->role == SPMV_PEER;
    return e->record.solve_ms < peer->record.solve_ms;
}

/** times: ms a product, `rounds` of each that runs. */
static void record_times(spmv_problem *p, entry *entries, int count, const entry *base, double *times, int rounds,
                         double *work)
{
    const entry *peer = NULL, *floor = NULL;
    for (int i = 0; i < count; i++) {
        entry *e = &entries[i];
        if (e->runs < 0) continue;
        e->record.solve_ms = median_alone(times + (int64_t)e->runs * rounds, rounds, work);
        e->record.solve_min_ms = work[0]; /* sorted */
        e->record.reps = rounds;
        if (e->solver->role == SPMV_FLOOR) floor = e;
        else if (e->record.status == BENCH_OK && is_better_peer(e, peer)) peer = e;
    }
    for (int i = 0; i < count; i++) {
        entry *e = &entries[i];
        bench_record *r = &e->record;
        if (e->runs < 0) continue;
        const double *own = times + (int64_t)e->runs * rounds;
        if (e->solver->describe) e->solver->describe(e->self, r);
        const double gbs = 1e-6 * (double)r->bytes / r->solve_ms;
        bench_record_add_number(r, "products", e->products);
        bench_record_add_number(r, "gbs", gbs);
        bench_record_add_number(r, "copy_fraction", gbs / p->b->copy_gbs);
        if (base && base->runs >= 0) {
            e->against_base = median_of(own, times + (int64_t)base->runs * rounds, rounds, false, work);
            bench_record_add_text(r, "relative_to", base->record.method);
            bench_record_add_number(r, "relative", e->against_base);
        }
        if (e->solver->role != SPMV_OWN) continue;
        if (floor)
            bench_record_add_number(r, "floor_fraction",
                                    median_of(times + (int64_t)floor->runs * rounds, own, rounds, false, work));
        if (!peer) continue;
        const double *other = times + (int64_t)peer->runs * rounds;
        e->of_peer = median_of(other, own, rounds, false, work);
        bench_record_add_text(r, "ratio_peer", peer->record.impl);
        bench_record_add_text(r, "ratio_peer_method", peer->record.method);
        bench_record_add_number(r, "ratio", e->of_peer);
        bench_record_add_number(r, "slower_us", 1e3 * median_of(own, other, rounds, true, work));
    }
}

static trine_status measure(spmv_problem *p, entry *entries, int count, const entry *base)
{
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    bench_call calls[SPMV_MOST_SOLVERS], settles[SPMV_MOST_SOLVERS];
    void *selves[SPMV_MOST_SOLVERS];
    double *times = NULL, *work = NULL;
    int n = 0, rounds;
    for (int i = 0; i < count; i++) {
        if (entries[i].runs < 0) continue;
        calls[n] = multiply_often;
        settles[n] = settle;
        selves[n] = &entries[i];
        entries[i].runs = n++;
    }
    TRY(ALLOC(b->ctx, times, (int64_t)n * b->reps));
    TRY(ALLOC(b->ctx, work, b->reps));
    TRY(bench_measure_in_turn(b, n, calls, b->device.space == TRINE_HOST ? settles : NULL, selves, times, &rounds));
    for (int k = 0; k < n; k++)
        for (int r = 0; r < rounds; r++) times[(int64_t)k * rounds + r] /= ((const entry *)selves[k])->products;
    record_times(p, entries, count, base, times, rounds, work);
done:
    trine_free(b->ctx, TRINE_HOST, times);
    trine_free(b->ctx, TRINE_HOST, work);
    return status;
}

trine_status spmv_compare(spmv_problem *p, const spmv_list *list)
{
    trine_status status = TRINE_SUCCESS;
    entry *entries = NULL;
    TRY(CALLOC(p->b->ctx, entries, list->count));
    spmv_print_heading(p);
    for (int i = 0; i < list->count; i++) {
        entry *e = &entries[i];
        *e = (entry){.solver = list->solver[i], .against_base = NAN, .of_peer = NAN};
        e->record = spmv_record_begin(p, e->solver, list->method[i]);
        e->record.error = -1; /* below every error that a check finds */
        start(p, e);
        e->runs = e->self ? 0 : -1;
    }
    TRY(measure(p, entries, list->count, list->base >= 0 ? &entries[list->base] : NULL));
    for (int i = 0; i < list->count; i++) {
        entry *e = &entries[i];
        /* the last of many products must be as right as the first */
        const trine_status checked = e->runs >= 0 ? check(p, e) : TRINE_SUCCESS;
        if (checked) record_failure(e, checked);
        if (e->record.error < 0) e->record.error = NAN;
        print_entry(p->b->table, e);
        TRY(bench_record_write(p->b, &e->record));
    }
done:
    for (int i = 0; entries && i < list->count; i++)
        if (entries[i].self) entries[i].solver->destroy(entries[i].self);
    trine_free(p->b->ctx, TRINE_HOST, entries);
    return status;
}
