/* Suites sptrsv and sptrsm: trine's methods and the peers on the same triangles, in the same process. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const bench_solver *const peers[] = {&bench_solver_cusparse, &bench_solver_mkl, &bench_solver_cholmod, &bench_solver_superlu};

/* The matrices that ../shared/anchors compares everybody on: 2-D and 3-D meshes, a circuit, a road map, graphs, and factors. */
static const char *const default_matrices[] = {
    "chol:elasticity3d:n=20", "chol:laplace3d:n=40", "chol:lap_igea", "tri:elas_Armadillo13K", "tri:G3_circuit", "tri:laplace3d:n=108",
    "tri:airfoil_2d", "tri:cage11", "tri:luxembourg_osm_lap", "tri:vsp_model1_crew1_cr42_south31_lap", "tri:memplus"};
static const char *const default_methods[] = {"auto", "serial", "levelset", "syncfree-csr", "syncfree-csr:order=1", "syncfree-csc"};

/* The tables and figures of Liu et al. 2017: what --sweep NAME puts where no option says otherwise. */
static const struct sweep {
    const char *name, *methods, *nrhs, *peers, *dtypes;
    bool solves_only;
} sweeps[] = {
    {"structure", "structure", "1", "none", "", false},                        /* Figure 2, Table III: no solves */
    {"synchronization", "basic,levelset,auto", "1", "none", "", false},        /* Table I */
    {"preprocessing", "syncfree-csc,syncfree-csr,auto", "1,8", "", "", false}, /* Tables IV and V */
    {"speed", "auto,syncfree-csc,syncfree-csr", "1", "", "s,d", false},     /* Figures 7 and 8 */
    {"scratchpad",                                                  /* Figure 9 */
     "syncfree-csc:warps=4:scratchpad=1,syncfree-csc:warps=4:scratchpad=2,syncfree-csc:warps=8:scratchpad=1,syncfree-csc:warps=8:scratchpad=2,"
     "syncfree-csc:warps=16:scratchpad=1,syncfree-csc:warps=16:scratchpad=2,syncfree-csc:warps=32:scratchpad=1,syncfree-csc:warps=32:scratchpad=2",
     "1", "none", "", false},
    {"variants", "syncfree-csc:variant=1,syncfree-csc:variant=2,syncfree-csc,auto", "1,2,4,8,16,32,64,128", "", "", true}, /* Figures 10 and 11 */
    {"p", "syncfree-csc:p=4,syncfree-csc:p=8,syncfree-csc:p=16,syncfree-csc:p=32,syncfree-csc:p=64", "2,4,8,16,32,64", "none", "", true}, /* Figure 12 */
    {"q",
     "syncfree-csc:q=16,syncfree-csc:q=32,syncfree-csc:q=64,syncfree-csc:q=128,syncfree-csc:q=256,syncfree-csc:q=512,syncfree-csc:q=1024,"
     "syncfree-csc:q=2048,syncfree-csc:q=4096,syncfree-csc:q=8192,syncfree-csc:q=16384",
     "2,16,64", "none", "", true},
};

const char *bench_sweep_names(void) { return "structure|synchronization|preprocessing|speed|scratchpad|variants|p|q|full|sizes|spd|levels|launch"; }

/** The sweep that was asked for, NULL if none or one of suite supernodal's. */
static const struct sweep *find_sweep(const bench *b, const char *suite)
{
    const bool ours = b->sweep && strcmp(suite, "supernodal") != 0;
    for (size_t i = 0; ours && i < sizeof sweeps / sizeof *sweeps; i++)
        if (strcmp(sweeps[i].name, b->sweep) == 0) return &sweeps[i];
    return NULL;
}

/** Take the sweep's own lists where the command line gave none. */
static void take_sweep(bench *b, const struct sweep *sweep)
{
    if (!b->methods.count) b->methods = bench_list_split(sweep->methods);
    if (!b->nrhs.count) b->nrhs = bench_list_split(sweep->nrhs);
    if (!b->peers.count) b->peers = bench_list_split(sweep->peers);
    if (!b->dtypes.count) b->dtypes = bench_list_split(sweep->dtypes);
    b->solves_only = sweep->solves_only;
}

enum { MOST_SOLVERS = 32 };

/** One solver on one problem. */
typedef struct {
    const bench_solver *kind;
    void *self;
    bench_record record;
    bool is_peer;
    double ratio; /* the peer's time over this one's */
} entry;

/* Wall-clock seconds that the run has spent on the host beside the measurements. */
static struct { double opening, making, checking; } spent;

/* ------------------------------------------------------------- measurement */

static trine_status check_result(bench *b, bench_problem *p, bench_check *found)
{
    const double start = trine_wall_time();
    const trine_status status = bench_problem_check(b, p, found);
    spent.checking += trine_wall_time() - start;
    return status;
}

/** Analysis and value update. */
static trine_status measure_setup(bench *b, const bench_problem *p, entry *e)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    TRY(bench_measure_wall(b, e->kind->analyse, e->kind->reset, e->self, &time));
    e->record.analyse_ms = time.median;
    if (b->device.space == TRINE_DEVICE && e->kind->reset && !(e->is_peer && p->nrhs > 1)) { /* SpSM's takes up to a second */
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
    TRY(bench_problem_poison(b, p, e->is_peer)); /* MKL multiplies what X holds by 0: NaN would stay NaN */
    TRY(e->kind->solve(e->self));
    TRY(check_result(b, p, &first));
    e->record.error = first.error;
    bench_record_add_number(&e->record, "normwise", first.normwise);
    bench_record_add_number(&e->record, "difference", first.difference);
    e->record.chosen = e->kind->chosen(e->self);
    if (e->kind->describe) e->kind->describe(e->self, &e->record);
    if (b->sweep && e->kind->examine) TRY(e->kind->examine(e->self, &e->record));

    TRY(bench_measure(b, e->kind->solve, e->self, &time));
    e->record.solve_ms = time.median;
    e->record.solve_min_ms = time.min;
    e->record.reps = time.reps;
    if (!b->solves_only) { /* once more: the last of many solves on one plan must be as right as the first */
        TRY(bench_problem_poison(b, p, e->is_peer));
        TRY(e->kind->solve(e->self));
        TRY(check_result(b, p, &last));
        if (!(last.error <= first.error)) e->record.error = last.error; /* a NaN stays */
    }
    if (!(e->record.error <= first.bound))
        bench_record_fail(&e->record, BENCH_FAILED, "wrong: componentwise backward error %.2e, allowed %.2e", e->record.error, first.bound);
done:
    return status;
}

/** Ratios of each round of alternating solves, all solvers and the first peer that runs. */
static trine_status measure_ratios(bench *b, entry *entries, int count)
{
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
        calls[i] = members[i]->kind->solve;
        selves[i] = members[i]->self;
    }
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
    trine_free(b->ctx, TRINE_HOST, times);
    trine_free(b->ctx, TRINE_HOST, ratios);
    return status;
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

static void print_heading(bench *b, const bench_problem *p)
{
    fprintf(b->table, "\n%s  %s, %s, op %s, %s, nrhs %lld: n %lld, nnz %lld, levels %lld, rows a level %lld / %.1f / %lld\n", p->spec,
            p->direction, p->uplo == TRINE_LOWER ? "lower" : "upper", p->op == TRINE_N ? "N" : "T", bench_dtype_name(p->dtype),
            (long long)p->nrhs, (long long)p->n, (long long)p->nnz, (long long)p->levels, (long long)p->min_rows,
            p->levels ? (double)p->n / (double)p->levels : 0.0, (long long)p->max_rows);
    fprintf(b->table, "  %-9s %-*s %-13s %10s %10s %10s %10s %8s %9s %7s %7s %9s%s\n", "impl", method_width(b), "method", "chosen",
            "analyse ms", "numeric ms", "solve ms", "min ms", "GFlop/s", "us/level", "copy %", "ratio", "error", p->panels.n_panels ? "    fill" : "");
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
        char analyse[24], numeric[24], ratio[24], fill[24] = "";
        for (int i = 0; i < r->n_added; i++)
            if (strcmp(r->added[i].key, "fill") == 0) snprintf(fill, sizeof fill, "%8.3g", r->added[i].number);
        fprintf(b->table, "%10s %10s %10.4g %10.4g %8.3g %9.3g %7.3g %7s %9.2e%s%s%s\n", number(analyse, "%.4g", r->analyse_ms),
                number(numeric, "%.4g", r->numeric_ms), r->solve_ms, r->solve_min_ms, gflops, us_per_level, 100 * copy_fraction,
                number(ratio, "%.3g", e->ratio), r->error, fill, r->status == BENCH_FAILED ? "  FAILED: " : "", r->reason);
    }
    fflush(b->table);
}

/** Least traffic of a solve: every nonzero (value and 32-bit column) once, B in and X out. */
static int64_t least_bytes(const bench_problem *p)
{
    int64_t size = (int64_t)trine_dtype_size(p->dtype);
    return p->nnz * (size + 4) + 2 * p->n * p->nrhs * size;
}

static void describe_problem(bench_record *r, const bench_problem *p)
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

static void add_structure(bench_record *r, const bench_problem *p)
{
    bench_record_add_number(r, "levels", (double)p->levels);
    bench_record_add_number(r, "level_rows_min", (double)p->min_rows);
    bench_record_add_number(r, "level_rows_mean", (double)p->n / (double)p->levels);
    bench_record_add_number(r, "level_rows_max", (double)p->max_rows);
}

static trine_status finish(bench *b, const bench_problem *p, entry *e)
{
    bench_record *r = &e->record;
    double flops = (trine_dtype_is_complex(p->dtype) ? 8.0 : 2.0) * (double)p->nnz * (double)p->nrhs;
    double gflops = 1e-6 * flops / r->solve_ms, us_per_level = 1e3 * r->solve_ms / (double)p->levels;
    double copy_fraction = 1e-6 * (double)r->bytes / r->solve_ms / b->copy_gbs;
    add_structure(r, p);
    bench_record_add_number(r, "gflops", gflops);
    bench_record_add_number(r, "us_per_level", us_per_level);
    bench_record_add_number(r, "copy_fraction", copy_fraction);
    bench_record_add_text(r, "layout", p->X.layout == TRINE_ROWMAJOR ? "rowmajor" : "colmajor");
    print_entry(b, e, gflops, us_per_level, copy_fraction);
    return bench_record_write(b, r);
}

/* -------------------------------------------------------------------- runs */

static bool is_listed(const bench_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i], name) == 0) return true;
    return list->count == 0;
}

static trine_status compare_all(bench *b, const char *suite, bench_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    entry entries[MOST_SOLVERS];
    int count = 0;
    int n_methods = b->methods.count ? b->methods.count : (int)(sizeof default_methods / sizeof *default_methods);
    for (int i = 0; i < n_methods && count < MOST_SOLVERS - (int)(sizeof peers / sizeof *peers); i++) {
        const char *method = b->methods.count ? b->methods.item[i] : default_methods[i];
        entries[count++] = (entry){.kind = strncmp(method, "supernodal", 10) == 0 ? &bench_solver_supernodal
                                           : strcmp(method, "basic") == 0         ? &bench_solver_basic
                                                                                  : &bench_solver_trine,
                                   .record.method = method};
    }
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        if (!is_listed(&b->peers, peers[i]->impl)) continue;
        bool gpu = peers[i] == &bench_solver_cusparse;
        if (b->peers.count == 0 && gpu != (b->device.space == TRINE_DEVICE)) continue; /* not asked for, not for this device */
        if (b->peers.count == 0 && peers[i] == &bench_solver_cholmod && (p->is_lu || !p->lower_panels.n_panels)) continue; /* not its factor */
        if (b->peers.count == 0 && peers[i] == &bench_solver_superlu && (!p->is_lu || !p->lower_panels.n_panels)) continue;
        const char *routine = gpu ? (p->nrhs == 1 ? "spsv" : "spsm") : (p->nrhs == 1 ? "trsv" : "trsm");
        entries[count++] = (entry){.kind = peers[i], .is_peer = true, .record.method = routine};
    }

    print_heading(b, p);
    for (int i = 0; i < count; i++) {
        entry *e = &entries[i];
        const char *method = e->record.method;
        e->ratio = NAN;
        e->record = bench_record_begin(suite, p->spec);
        e->record.method = method;
        e->record.impl = e->kind->impl;
        describe_problem(&e->record, p);
        trine_status found = measure(b, p, e);
        if (found) bench_record_fail(&e->record, found == TRINE_ERR_UNSUPPORTED || found == TRINE_ERR_NOT_BUILT ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    }
    TRY(measure_ratios(b, entries, count));
    for (int i = 0; i < count; i++) TRY(finish(b, p, &entries[i]));
done:
    for (int i = 0; i < count; i++)
        if (entries[i].self) entries[i].kind->destroy(entries[i].self);
    return status;
}

/** How many columns of op(T) have 1, 2, 3-4, 5-8, ... entries, as "1:10 2:4 4:7 8:1". */
static trine_status column_lengths(bench *b, const bench_problem *p, char *text, size_t room)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t *offsets;
    const int32_t *columns;
    int64_t *length = NULL, count[33] = {0};
    size_t used = 0;
    text[0] = '\0';
    TRY(trine_matrix_get_arrays(p->host, &offsets, &columns, NULL));
    TRY(CALLOC(b->ctx, length, p->n));
    for (int64_t k = 0; k < p->nnz; k++) length[columns[k]]++;
    for (int64_t j = 0; j < p->n; j++) {
        int bin = 0;
        while (((int64_t)1 << bin) < length[j]) bin++;
        count[bin]++;
    }
    for (int bin = 0; bin < 33 && used < room; bin++)
        if (count[bin]) used += (size_t)snprintf(text + used, room - used, "%s%lld:%lld", used ? " " : "", 1LL << bin, (long long)count[bin]);
done:
    trine_free(b->ctx, TRINE_HOST, length);
    return status;
}

/** A record of what is solved with, and no solve. */
static trine_status record_structure(bench *b, const char *suite, const bench_problem *p)
{
    char lengths[600];
    trine_status status = column_lengths(b, p, lengths, sizeof lengths);
    if (status) return status;
    bench_record r = bench_record_begin(suite, p->spec);
    describe_problem(&r, p);
    r.impl = "trine";
    r.method = "structure";
    add_structure(&r, p);
    bench_record_add_text(&r, "column_lengths", lengths);
    print_heading(b, p);
    fprintf(b->table, "  columns of up to 1, 2, 4, ... entries: %s\n", lengths);
    return bench_record_write(b, &r);
}

/** A matrix that cannot be had is a record too. */
static trine_status record_missing(bench *b, const char *suite, const char *spec, const char *direction, trine_status why)
{
    bench_record r = bench_record_begin(suite, spec);
    r.direction = direction;
    r.impl = "trine";
    bool skipped = why == TRINE_ERR_NOT_BUILT || why == TRINE_ERR_UNSUPPORTED || why == TRINE_ERR_IO;
    bench_record_fail(&r, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    fprintf(b->table, "\n%s  %s: %s\n", spec, skipped ? "skipped" : "FAILED", r.reason);
    return bench_record_write(b, &r);
}

static trine_dtype dtype_of(const char *name) { return strcmp(name, "s") == 0 ? TRINE_S : strcmp(name, "c") == 0 ? TRINE_C : strcmp(name, "z") == 0 ? TRINE_Z : TRINE_D; }

static trine_status run_problem(bench *b, const char *suite, bench_source source, const char *spec, const char *direction, trine_dtype dtype,
                                const int64_t *nrhs, int n_nrhs)
{
    trine_status status = TRINE_SUCCESS;
    bench_problem p;
    double start = trine_wall_time();
    trine_status made = bench_problem_make(b, source, direction, dtype, &p);
    spent.making += trine_wall_time() - start;
    if (made) return record_missing(b, suite, spec, direction, made);
    if (b->sweep && strcmp(b->sweep, "structure") == 0) {
        p.nrhs = 1;
        TRY(record_structure(b, suite, &p));
        goto done;
    }
    for (int i = 0; i < n_nrhs; i++) {
        start = trine_wall_time();
        TRY(bench_problem_set_nrhs(b, &p, nrhs[i]));
        spent.making += trine_wall_time() - start;
        TRY(compare_all(b, suite, &p));
    }
done:
    bench_problem_free(b, &p);
    return status;
}

trine_status bench_run_triangular(bench *b, const char *suite, const int64_t *nrhs, int n_nrhs)
{
    static char *both[] = {"forward", "backward"};
    trine_status status = TRINE_SUCCESS;
    int64_t chosen[64];
    if (find_sweep(b, suite)) take_sweep(b, find_sweep(b, suite));
    int n_matrices = b->matrices.count ? b->matrices.count : (int)(sizeof default_matrices / sizeof *default_matrices);
    char *const *directions = b->directions.count ? b->directions.item : both;
    int n_directions = b->directions.count ? b->directions.count : 2;
    for (int i = 0; i < b->nrhs.count; i++) chosen[i] = strtoll(b->nrhs.item[i], NULL, 10);
    if (b->nrhs.count) {
        nrhs = chosen;
        n_nrhs = b->nrhs.count;
    }
    for (int m = 0; m < n_matrices; m++) {
        const char *spec = b->matrices.count ? b->matrices.item[m] : default_matrices[m];
        bench_source source;
        const double start = trine_wall_time();
        memset(&spent, 0, sizeof spent);
        trine_status opened = bench_source_open(b, &source, spec);
        spent.opening = trine_wall_time() - start;
        if (opened) {
            TRY(record_missing(b, suite, spec, NULL, opened));
            continue;
        }
        for (int t = 0; t < (b->dtypes.count ? b->dtypes.count : 1) && !status; t++)
            for (int d = 0; d < n_directions && !status; d++)
                status = run_problem(b, suite, source, spec, directions[d], b->dtypes.count ? dtype_of(b->dtypes.item[t]) : TRINE_D, nrhs, n_nrhs);
        bench_source_close(&source);
        TRY(status);
        fprintf(b->table, "%s took %.2f s: read and factored %.2f, problems and references %.2f, results checked %.2f\n", spec,
                trine_wall_time() - start, spent.opening, spent.making, spent.checking);
    }
done:
    return status;
}

trine_status bench_suite_sptrsv(bench *b) { return bench_run_triangular(b, "sptrsv", (const int64_t[]){1}, 1); }
trine_status bench_suite_sptrsm(bench *b) { return bench_run_triangular(b, "sptrsm", (const int64_t[]){1, 8, 32, 64}, 4); }
