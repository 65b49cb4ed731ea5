/* One problem, all methods and the peers that solve it: set-up and solves timed, results checked, solves in turn for
 * the ratios. */
#include <math.h>
#include <string.h>

#include "bench.h"

static const bench_setup *const peers[] = {&bench_setup_cusparse, &bench_setup_mkl, &bench_setup_cholmod,
                                           &bench_setup_superlu};

enum { SLOW = 10 /* ms: of such a solve the host's part is nothing */ };
enum { MOST_SOLVERS = 32, MOST_PEERS = sizeof peers / sizeof *peers };

/** One solver on one problem. */
typedef struct {
    const bench_setup *kind;
    void *self;        /* of kind */
    bench_solve solve;
    bench_record record;
    bool is_peer;
    double ratio; /* the peer's time over this one's */
    double in_a_row_ms;
} entry;

/* Peers that have run on the problem, for its next sweep. */
static entry kept[MOST_PEERS];
static int n_kept;

static double checking_seconds;

/* ------------------------------------------------------------- measurement */

static trine_status check_result(bench *b, bench_problem *p, bench_check *found)
{
    const double start = trine_wall_time();
    const trine_status status = bench_problem_check(b, p, found);
    checking_seconds += trine_wall_time() - start;
    return status;
}

/** Analysis and value update. */
static trine_status measure_setup(bench *b, const bench_problem *p, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    TRY(bench_measure_wall(b, e->kind->analyse, e->kind->reset, e->self, &time));
    e->record.analyse_ms = time.median;
    /* SpSM's takes up to a second */
    if (b->device.space == TRINE_DEVICE && e->kind->reset && !b->wall_only && !b->wall_clock &&
        !(e->is_peer && p->nrhs > 1)) {
        TRY(bench_measure_analysis_on_device(b, e->kind->analyse, e->kind->reset, e->self, &time));
        bench_record_add_number(&e->record, "analyse_device_ms", time.median);
    }
    if (e->kind->numeric) {
        TRY(bench_measure(b, e->kind->numeric, e->self, &time));
        e->record.numeric_ms = time.median;
    }
done:
    return status;
}

/** Timed calls: few of a peer that takes a hundred times as long as what it is compared with. */
static int calls_of(const bench *b, const bench_problem *p, bool is_peer)
{
    return is_peer && p->nrhs > 1 && b->peer_reps && b->peer_reps < b->reps ? b->peer_reps : b->reps;
}

static trine_status measure_solves(bench *b, const bench_problem *p, entry *e, bench_time *time)
{
    const int reps = b->reps;
    b->reps = calls_of(b, p, e->is_peer);
    const trine_status status = bench_measure(b, bench_solve_once, &e->solve, time);
    b->reps = reps;
    return status;
}

static trine_status measure_in_a_row(bench *b, const bench_problem *p, entry *e)
{
    const int reps = b->reps;
    bench_time time;
    b->reps = calls_of(b, p, e->is_peer);
    if (b->reps > 11) b->reps = 11;
    const trine_status status = bench_measure_in_a_row(b, bench_solve_once, &e->solve, &time);
    b->reps = reps;
    if (!status) bench_record_add_number(&e->record, "in_a_row_ms", e->in_a_row_ms = time.median);
    return status;
}

/** A solve may lose what substitution does; by partitioned inverses, what they promise: 100 eps componentwise and 10
 *  normwise, or as little as substitution. */
static void judge(const bench_problem *p, entry *e, const bench_check *first, const bench_check *last)
{
    enum { COMPONENTWISE = 100, NORMWISE = 10 };
    const double eps = trine_dtype_eps(p->dtype), normwise = fmax(first->normwise, last->normwise);
    const char *const inverses = trine_triangular_method_name(TRINE_TRI_PARTITIONED_INVERSE);
    const bool by_inverses = e->record.chosen && strcmp(e->record.chosen, inverses) == 0;
    const double allowed = by_inverses ? fmax(first->bound, COMPONENTWISE * eps) : first->bound,
                 allowed_normwise = fmax(first->bound, NORMWISE * eps);
    if (!(e->record.error <= allowed))
        bench_record_fail(&e->record, BENCH_FAILED, "wrong: componentwise backward error %.2e, allowed %.2e",
                          e->record.error, allowed);
    else if (by_inverses && !(normwise <= allowed_normwise))
        bench_record_fail(&e->record, BENCH_FAILED, "wrong: normwise backward error %.2e, allowed %.2e", normwise,
                          allowed_normwise);
}

static trine_status measure(bench *b, bench_problem *p, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    bench_check first, last;
    TRY(e->kind->create(b, p, e->record.method, &e->self));
    if (b->solves_only) {
        TRY(e->kind->analyse(e->self));
        if (e->kind->numeric) TRY(e->kind->numeric(e->self));
    } else {
        TRY(measure_setup(b, p, e));
    }
    e->solve = (bench_solve){.trans = p->op, .B = &p->B, .X = &p->X};
    TRY(e->kind->as_op(e->self, &e->solve.op, &e->solve.trans));
    TRY(bench_solve_begin(&e->solve));
    TRY(bench_problem_poison(b, p, e->is_peer)); /* MKL multiplies what X holds by 0: NaN would stay NaN */
    TRY(bench_solve_once(&e->solve));
    TRY(check_result(b, p, &first));
    e->record.error = first.error;
    bench_record_add_number(&e->record, "normwise", first.normwise);
    bench_record_add_number(&e->record, "difference", first.difference);
    e->kind->describe(e->self, &e->record);
    if (b->sweep && e->kind->examine) TRY(e->kind->examine(e->self, &e->solve, &e->record));

    TRY(measure_solves(b, p, e, &time));
    e->record.solve_ms = time.median;
    e->record.solve_min_ms = time.min;
    e->record.reps = time.reps;
    if (b->device.space == TRINE_DEVICE && !b->wall_only && e->record.solve_ms < SLOW) TRY(measure_in_a_row(b, p, e));
    if (!b->solves_only) { /* once more: the last of many solves on one plan must be as right as the first */
        TRY(bench_problem_poison(b, p, e->is_peer));
        TRY(bench_solve_once(&e->solve));
        TRY(check_result(b, p, &last));
        if (!(last.error <= first.error)) e->record.error = last.error; /* a NaN stays */
    } else {
        last = first;
    }
    judge(p, e, &first, &last);
done:
    return status;
}

/** Ratios of each round of alternating solves, all solvers and the first peer that runs. */
static trine_status measure_ratios(bench *b, const bench_problem *p, entry *entries, int count)
{
    const int reps = b->reps;
    trine_status status = TRINE_SUCCESS;
    bench_call calls[MOST_SOLVERS];
    void *selves[MOST_SOLVERS];
    entry *members[MOST_SOLVERS];
    double *times = NULL, *ratios = NULL;
    int n = 0, rounds;
    for (int i = 0; i < count; i++)
        if (entries[i].is_peer && entries[i].record.status == BENCH_OK && n == 0) members[n++] = &entries[i];
    if (n == 0) return TRINE_SUCCESS;
    for (int i = 0; i < count; i++)
        if (!entries[i].is_peer && entries[i].record.status == BENCH_OK) members[n++] = &entries[i];
    for (int i = 0; i < n; i++) {
        calls[i] = bench_solve_once;
        selves[i] = &members[i]->solve;
    }
    b->reps = calls_of(b, p, true);
    TRY(ALLOC(b->ctx, times, (int64_t)n * b->reps));
    TRY(ALLOC(b->ctx, ratios, b->reps));
    TRY(bench_measure_in_turn(b, n, calls, NULL, selves, times, &rounds));
    for (int i = 1; i < n; i++) {
        for (int r = 0; r < rounds; r++) ratios[r] = times[r] / times[(int64_t)i * rounds + r];
        members[i]->ratio = bench_median(ratios, rounds);
        bench_record_add_text(&members[i]->record, "ratio_peer", members[0]->kind->impl);
        bench_record_add_number(&members[i]->record, "ratio", members[i]->ratio);
    }
done:
    b->reps = reps;
    trine_free(b->ctx, TRINE_HOST, times);
    trine_free(b->ctx, TRINE_HOST, ratios);
    return status;
}

/* ------------------------------------------------------------------ totals */

/** Asked for so few solves, AUTO never takes inverses. */
static const char *const without_inverses = "auto:solves=1";

/** What has been added to the record as a number, or NAN. */
static double added(const bench_record *r, const char *key)
{
    for (int i = 0; i < r->n_added; i++)
        if (strcmp(r->added[i].key, key) == 0) return r->added[i].number;
    return NAN;
}

static double total(const bench_record *r, double solves)
{
    return r->analyse_ms + r->numeric_ms + solves * r->solve_ms;
}

/** Analysis, numeric and all solves that AUTO was told of, beside what AUTO takes without inverses. */
static void add_totals(entry *entries, int count)
{
    const bench_record *plain = NULL;
    for (int i = 0; i < count; i++)
        if (entries[i].record.status == BENCH_OK && strcmp(entries[i].record.method, without_inverses) == 0)
            plain = &entries[i].record;
    for (int i = 0; i < count; i++) {
        bench_record *r = &entries[i].record;
        const double solves = added(r, "expected_solves"), all = total(r, solves);
        if (r->status != BENCH_OK || isnan(all)) continue;
        bench_record_add_number(r, "total_ms", all);
        if (plain) bench_record_add_number(r, "total_plain_ms", total(plain, solves));
    }
}

/* ------------------------------------------------------------------- table */

/** Columns of the longest method's name. */
static int method_width(const bench *b)
{
    int width = 13;
    for (int i = 0; i < b->methods.count; i++)
        if ((int)strlen(b->methods.item[i]) > width) width = (int)strlen(b->methods.item[i]);
    return width;
}

void bench_print_heading(bench *b, const bench_problem *p)
{
    const char *layout = p->nrhs < 2 ? "" : p->X.layout == TRINE_ROWMAJOR ? " by rows" : " by columns";
    fprintf(b->table,
            "\n%s  %s, %s, op %s, %s, nrhs %lld%s: n %lld, nnz %lld, levels %lld, rows a level %lld / %.1f / %lld\n",
            p->spec, p->direction, p->uplo == TRINE_LOWER ? "lower" : "upper", p->op == TRINE_N ? "N" : "T",
            bench_dtype_name(p->dtype), (long long)p->nrhs, layout, (long long)p->n, (long long)p->nnz,
            (long long)p->levels, (long long)p->min_rows, p->levels ? (double)p->n / (double)p->levels : 0.0,
            (long long)p->max_rows);
    if (b->programs > 0) fprintf(b->table, "  beside %d programs in endless loops\n", b->programs);
    fprintf(b->table, "  %-9s %-*s %-13s %10s %10s %10s %10s %10s %8s %9s %7s %7s %9s%s\n", "impl", method_width(b),
            "method", "chosen", "analyse ms", "numeric ms", "solve ms", "min ms", "in a row", "GFlop/s", "us/level",
            "copy %", "ratio", "error", p->panels.n_panels ? "    fill" : "");
}

/** x in the text, or - for what was not measured. */
static const char *number(char text[24], const char *format, double x)
{
    if (isnan(x)) return "-";
    snprintf(text, 24, format, x);
    return text;
}

static void print_entry(bench *b, const entry *e, double gflops, double us_per_level, double copy_fraction)
{
    const bench_record *r = &e->record;
    fprintf(b->table, "  %-9s %-*s %-13s ", r->impl, method_width(b), r->method, r->chosen ? r->chosen : "-");
    if (r->status == BENCH_SKIPPED) fprintf(b->table, "skipped: %s\n", r->reason);
    else if (isnan(r->solve_ms)) fprintf(b->table, "FAILED: %s\n", r->reason);
    else {
        char analyse[24], numeric[24], ratio[24], in_a_row[24], fill[24] = "";
        if (!isnan(added(r, "fill"))) snprintf(fill, sizeof fill, "%8.3g", added(r, "fill"));
        fprintf(b->table, "%10s %10s %10.4g %10.4g %10s %8.3g %9.3g %7.3g %7s %9.2e%s%s%s\n",
                number(analyse, "%.4g", r->analyse_ms), number(numeric, "%.4g", r->numeric_ms), r->solve_ms,
                r->solve_min_ms, number(in_a_row, "%.4g", e->in_a_row_ms), gflops, us_per_level, 100 * copy_fraction,
                number(ratio, "%.3g", e->ratio), r->error, fill, r->status == BENCH_FAILED ? "  FAILED: " : "",
                r->reason);
    }
    fflush(b->table);
}

/** Least traffic of a solve: every nonzero (value and 32-bit column) once, B in and X out. */
static int64_t least_bytes(const bench_problem *p)
{
    int64_t size = (int64_t)trine_dtype_size(p->dtype);
    return p->nnz * (size + 4) + 2 * p->n * p->nrhs * size;
}

void bench_describe_problem(bench_record *r, const bench_problem *p)
{
    r->n = p->n;
    r->nnz = p->nnz;
    r->dtype = p->dtype;
    r->op = p->op;
    r->uplo = p->uplo;
    r->direction = p->direction;
    r->nrhs = p->nrhs;
    r->bytes = least_bytes(p);
}

void bench_describe_structure(bench_record *r, const bench_problem *p)
{
    bench_record_add_number(r, "levels", (double)p->levels);
    bench_record_add_number(r, "level_rows_min", (double)p->min_rows);
    bench_record_add_number(r, "level_rows_mean", (double)p->n / (double)p->levels);
    bench_record_add_number(r, "level_rows_max", (double)p->max_rows);
}

static trine_status finish(bench *b, const bench_problem *p, entry *e)
{
    bench_record *r = &e->record;
    double flops = (is_complex(p->dtype) ? 8.0 : 2.0) * (double)p->nnz * (double)p->nrhs;
    double gflops = 1e-6 * flops / r->solve_ms, us_per_level = 1e3 * r->solve_ms / (double)p->levels;
    double copy_fraction = 1e-6 * (double)r->bytes / r->solve_ms / b->copy_gbs;
    bench_describe_structure(r, p);
    bench_record_add_number(r, "gflops", gflops);
    bench_record_add_number(r, "us_per_level", us_per_level);
    bench_record_add_number(r, "copy_fraction", copy_fraction);
    bench_record_add_text(r, "layout", p->X.layout == TRINE_ROWMAJOR ? "rowmajor" : "colmajor");
    if (b->programs >= 0) bench_record_add_number(r, "programs", b->programs);
    print_entry(b, e, gflops, us_per_level, copy_fraction);
    return bench_record_write(b, r);
}

/* -------------------------------------------------------------- comparison */

static bool is_listed(const bench_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i], name) == 0) return true;
    return list->count == 0;
}

static int add_methods(const bench *b, entry *entries)
{
    int count = 0;
    for (int i = 0; i < b->methods.count && count < MOST_SOLVERS - MOST_PEERS; i++) {
        const char *method = b->methods.item[i];
        entries[count++] = (entry){.kind = strncmp(method, "supernodal", 10) == 0 ? &bench_setup_supernodal
                                           : strcmp(method, "basic") == 0         ? &bench_setup_basic
                                                                                  : &bench_setup_trine,
                                   .record.method = method};
    }
    return count;
}

static bool has_panels(const bench_problem *p, bool lu) { return p->is_lu == lu && p->lower_panels.n_panels; }

/** Those asked for, or those of the device that the problem suits. */
static int add_peers(const bench *b, const bench_problem *p, entry *entries)
{
    int count = 0;
    for (int i = 0; i < MOST_PEERS; i++) {
        const bool gpu = peers[i] == &bench_setup_cusparse, all = b->peers.count == 0;
        if (!is_listed(&b->peers, peers[i]->impl)) continue;
        if (all && gpu != (b->device.space == TRINE_DEVICE)) continue;
        if (all && peers[i] == &bench_setup_cholmod && !has_panels(p, false)) continue;
        if (all && peers[i] == &bench_setup_superlu && !has_panels(p, true)) continue;
        const char *routine = gpu ? (p->nrhs == 1 ? "spsv" : "spsm") : (p->nrhs == 1 ? "trsv" : "trsm");
        entries[count] = (entry){.kind = peers[i], .is_peer = true, .record.method = routine};
        for (int k = 0; k < n_kept; k++)
            if (kept[k].kind == peers[i]) entries[count] = kept[k];
        count++;
    }
    return count;
}

static void destroy_entry(entry *e)
{
    bench_solve_end(&e->solve);
    if (e->self) e->kind->destroy(e->self);
}

static void run_entry(bench *b, const char *suite, bench_problem *p, entry *e)
{
    const char *method = e->record.method;
    e->ratio = e->in_a_row_ms = NAN;
    e->record = bench_record_begin(suite, p->spec);
    e->record.method = method;
    e->record.impl = e->kind->impl;
    bench_describe_problem(&e->record, p);
    const trine_status found = measure(b, p, e);
    if (found)
        bench_record_fail(&e->record,
                          found == TRINE_ERR_UNSUPPORTED || found == TRINE_ERR_NOT_BUILT ? BENCH_SKIPPED : BENCH_FAILED,
                          NULL);
    if (e->is_peer) kept[n_kept++] = *e;
}

trine_status bench_compare(bench *b, const char *suite, bench_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    entry entries[MOST_SOLVERS];
    int count = add_methods(b, entries);
    count += add_peers(b, p, entries + count);
    bench_print_heading(b, p);
    for (int i = 0; i < count; i++)
        if (!entries[i].record.suite) run_entry(b, suite, p, &entries[i]); /* a kept one has run */
    TRY(measure_ratios(b, p, entries, count));
    add_totals(entries, count);
    for (int i = 0; i < count; i++) TRY(finish(b, p, &entries[i]));
done:
    for (int i = 0; i < count; i++)
        if (!entries[i].is_peer) destroy_entry(&entries[i]);
    return status;
}

void bench_compare_end(void)
{
    while (n_kept) destroy_entry(&kept[--n_kept]);
}

double bench_compare_checking_seconds(void)
{
    const double seconds = checking_seconds;
    checking_seconds = 0;
    return seconds;
}
