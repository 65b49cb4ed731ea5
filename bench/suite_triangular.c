/* Suites sptrsv and sptrsm, and what runs them and suite supernodal: every matrix, direction and number of
 * right-hand sides, trine's methods and the peers on the same triangles, in the same process. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* What runs without --sweep, on meshes in two and three dimensions, a circuit, a road map, graphs, and factors; and
 * the tables and figures of Liu et al. 2017. */
static const bench_sweep sweeps[] = {
    {.name = "main",
     .matrices =
         "chol:elasticity3d:n=20,chol:laplace3d:n=40,chol:lap_igea,tri:elas_Armadillo13K,tri:G3_circuit,tri:laplace3d:n=108,"
         "tri:airfoil_2d,tri:cage11,tri:luxembourg_osm_lap,tri:vsp_model1_crew1_cr42_south31_lap,tri:memplus",
     .methods =
         "auto,serial,levelset,syncfree-csr,syncfree-csr:order=1,syncfree-csc,partitioned-inverse,auto:solves=1,auto:solves=10,auto:solves=1000"},
    {.name = "structure", .methods = "structure", .nrhs = "1", .peers = "none"}, /* Figure 2, Table III: no solves */
    {.name = "synchronization", .methods = "basic,levelset,auto", .nrhs = "1", .peers = "none"}, /* Table I */
    {.name = "preprocessing", .methods = "syncfree-csc,syncfree-csr,auto", .nrhs = "1,8"}, /* Tables IV and V */
    {.name = "speed", .methods = "auto,syncfree-csc,syncfree-csr", .nrhs = "1", .dtypes = "s,d"}, /* Figures 7 and 8 */
    {.name = "scratchpad", /* Figure 9 */
     .methods =
         "syncfree-csc:warps=4:scratchpad=1,syncfree-csc:warps=4:scratchpad=2,syncfree-csc:warps=8:scratchpad=1,"
         "syncfree-csc:warps=8:scratchpad=2,syncfree-csc:warps=16:scratchpad=1,syncfree-csc:warps=16:scratchpad=2,"
         "syncfree-csc:warps=32:scratchpad=1,syncfree-csc:warps=32:scratchpad=2",
     .nrhs = "1",
     .peers = "none"},
    {.name = "variants", /* Figures 10 and 11 */
     .methods = "syncfree-csc:variant=1,syncfree-csc:variant=2,syncfree-csc,auto",
     .nrhs = "1,2,4,8,16,32,64,128",
     .solves_only = true},
    {.name = "p", /* Figure 12 */
     .methods = "syncfree-csc:p=4,syncfree-csc:p=8,syncfree-csc:p=16,syncfree-csc:p=32,syncfree-csc:p=64",
     .nrhs = "2,4,8,16,32,64",
     .peers = "none",
     .solves_only = true},
    {.name = "q",
     .methods =
         "syncfree-csc:q=16,syncfree-csc:q=32,syncfree-csc:q=64,syncfree-csc:q=128,syncfree-csc:q=256,syncfree-csc:q=512,"
         "syncfree-csc:q=1024,syncfree-csc:q=2048,syncfree-csc:q=4096,syncfree-csc:q=8192,syncfree-csc:q=16384",
     .nrhs = "2,16,64",
     .peers = "none",
     .solves_only = true},
    {.name = "busy", /* CPU: one thread and several, with the cores to themselves and not. Long enough for many turns
                        of the scheduler */
     .matrices =
         "tri:laplace3d:n=40,tri:laplace3d:n=108,tri:elasticity3d:n=20,tri:airfoil_2d,tri:cage11,tri:G3_circuit,chol:elasticity3d:n=20",
     .methods = "serial,levelset,auto",
     .nrhs = "1",
     .peers = "none",
     .solves_only = true,
     .busy = true,
     .reps = 20000,
     .least_reps = 30,
     .max_seconds = 2},
};

const char *bench_sweep_names(void)
{
    return "main|structure|synchronization|preprocessing|speed|scratchpad|variants|p|q|busy|full|sizes|spd|levels|launch|lu|types|creation|values|fused|few-entries|applications|operators|tuning|proposition|scans|decomposition|paths|coverage|threads|table17|histories|figure40|steps";
}

/* --------------------------------------------------------------- structure */

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
        if (count[bin])
            used += (size_t)snprintf(text + used, room - used, "%s%lld:%lld", used ? " " : "", 1LL << bin,
                                     (long long)count[bin]);
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
    bench_describe_problem(&r, p);
    r.impl = "trine";
    r.method = "structure";
    bench_describe_structure(&r, p);
    bench_record_add_text(&r, "column_lengths", lengths);
    bench_print_heading(b, p);
    fprintf(b->table, "  columns of up to 1, 2, 4, ... entries: %s\n", lengths);
    return bench_record_write(b, &r);
}

/* -------------------------------------------------------------------- runs */

/** A matrix that cannot be had is a record too. */
static trine_status record_missing(bench *b, const char *suite, const char *spec, const char *direction,
                                   trine_status why)
{
    bench_record r = bench_record_begin(suite, spec);
    r.direction = direction;
    r.impl = "trine";
    bool skipped = why == TRINE_ERR_NOT_BUILT || why == TRINE_ERR_UNSUPPORTED || why == TRINE_ERR_IO;
    bench_record_fail(&r, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    fprintf(b->table, "\n%s  %s: %s\n", spec, skipped ? "skipped" : "FAILED", r.reason);
    return bench_record_write(b, &r);
}

/** A sweep of this run: the options with its own lists where the command line gave none. */
typedef struct {
    bench b;
    bench_list own[5];
} sweep_run;

static void take(bench_list *list, bench_list *own, const char *words)
{
    if (list->count) return;
    *own = bench_list_split(words ? words : "");
    *list = *own;
}

static sweep_run start(const bench *b, const bench_sweep *sweep, const char *matrices, const char *nrhs)
{
    sweep_run run = {.b = *b};
    run.b.sweep = strcmp(sweep->name, "main") == 0 ? NULL : sweep->name;
    run.b.failures = 0;
    run.b.solves_only = sweep->solves_only || b->solves_only;
    run.b.wall_only = sweep->wall_only;
    run.b.programs = sweep->busy ? 0 : -1;
    run.b.peer_reps = sweep->peer_reps;
    if (sweep->reps && !b->reps_given) run.b.reps = sweep->reps;
    if (sweep->least_reps) run.b.least_reps = sweep->least_reps;
    if (!b->max_seconds) run.b.max_seconds = sweep->max_seconds;
    take(&run.b.matrices, &run.own[0], sweep->matrices ? sweep->matrices : matrices);
    take(&run.b.methods, &run.own[1], sweep->methods);
    take(&run.b.nrhs, &run.own[2], sweep->nrhs ? sweep->nrhs : nrhs);
    take(&run.b.peers, &run.own[3], sweep->peers);
    take(&run.b.dtypes, &run.own[4], sweep->dtypes ? sweep->dtypes : "d");
    return run;
}

static bool lists(const bench_list *list, const char *word)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i], word) == 0) return true;
    return false;
}

/** All words of one list (by its offset in struct bench) of the runs that have `matrix` (NULL: of all). */
static bench_list unite(const sweep_run *runs, int n_runs, size_t list, const char *matrix)
{
    bench_list all = {0};
    for (int k = 0; k < n_runs; k++) {
        const bench_list *words = (const bench_list *)((const char *)&runs[k].b + list);
        if (matrix && !lists(&runs[k].b.matrices, matrix)) continue;
        for (int i = 0; i < words->count && all.count < (int)(sizeof all.item / sizeof *all.item); i++)
            if (!lists(&all, words->item[i])) all.item[all.count++] = words->item[i];
    }
    return all;
}

/* Wall-clock seconds that a matrix has taken on the host beside the measurements. */
static struct { double opening, making; } spent;

/** The same again beside other programs. */
static trine_status compare_beside_programs(bench *b, const char *suite, bench_problem *p)
{
    enum { PROGRAMS = 2 };
    trine_status status = bench_start_programs(PROGRAMS);
    if (status) return status;
    b->programs = PROGRAMS;
    status = bench_compare(b, suite, p);
    b->programs = 0;
    bench_end_programs();
    return status;
}

/** A number of right-hand sides in one layout: all sweeps that want it. */
static trine_status run_block(sweep_run *runs, int n_runs, const char *suite, bench_problem *p, const char *dtype,
                              const char *nrhs, trine_layout layout)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = &runs[0].b;
    const double start = trine_wall_time();
    b->layout = layout;
    TRY(bench_problem_set_nrhs(b, p, strtoll(nrhs, NULL, 10)));
    spent.making += trine_wall_time() - start;
    for (int k = 0; k < n_runs; k++) {
        bench *with = &runs[k].b;
        if (!lists(&with->matrices, p->spec) || !lists(&with->dtypes, dtype) || !lists(&with->nrhs, nrhs)) continue;
        if (with->sweep && strcmp(with->sweep, "structure") == 0) TRY(record_structure(with, suite, p));
        else TRY(bench_compare(with, suite, p));
        if (with->programs >= 0) TRY(compare_beside_programs(with, suite, p));
    }
done:
    bench_compare_end();
    return status;
}

/** One direction and precision of a matrix: every number of right-hand sides, in every layout. */
static trine_status run_problem(sweep_run *runs, int n_runs, const char *suite, bench_source source, const char *spec,
                                const char *direction, const char *dtype)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = &runs[0].b;
    bench_problem p;
    const double start = trine_wall_time();
    const trine_status made = bench_problem_make(b, source, direction, bench_dtype_of(dtype), &p);
    spent.making += trine_wall_time() - start;
    if (made) return record_missing(b, suite, spec, direction, made);
    const bench_list nrhs = unite(runs, n_runs, offsetof(bench, nrhs), spec);
    for (int i = 0; i < nrhs.count; i++) {
        /* one column has one */
        const int layouts = b->layouts.count && strtoll(nrhs.item[i], NULL, 10) > 1 ? b->layouts.count : 1;
        for (int k = 0; k < layouts; k++) {
            const bool by_columns = b->layouts.count && strcmp(b->layouts.item[k], "colmajor") == 0;
            TRY(run_block(runs, n_runs, suite, &p, dtype, nrhs.item[i], by_columns ? TRINE_COLMAJOR : TRINE_ROWMAJOR));
        }
    }
done:
    bench_problem_free(b, &p);
    return status;
}

static trine_status run_matrix(sweep_run *runs, int n_runs, const char *suite, const char *spec)
{
    static char *both[] = {"forward", "backward"};
    trine_status status = TRINE_SUCCESS;
    bench *b = &runs[0].b;
    bench_source source;
    const double start = trine_wall_time();
    char *const *directions = b->directions.count ? b->directions.item : both;
    const int n_directions = b->directions.count ? b->directions.count : 2;
    memset(&spent, 0, sizeof spent);
    const trine_status opened = bench_source_open(b, &source, spec);
    spent.opening = trine_wall_time() - start;
    if (opened) return record_missing(b, suite, spec, NULL, opened);
    const bench_list dtypes = unite(runs, n_runs, offsetof(bench, dtypes), spec);
    for (int t = 0; t < dtypes.count; t++)
        for (int d = 0; d < n_directions; d++)
            TRY(run_problem(runs, n_runs, suite, source, spec, directions[d], dtypes.item[t]));
    fprintf(b->table, "%s took %.2f s: read and factored %.2f, problems and references %.2f, results checked %.2f\n",
            spec, trine_wall_time() - start, spent.opening, spent.making, bench_compare_checking_seconds());
done:
    bench_source_close(&source);
    return status;
}

trine_status bench_run_triangular(bench *b, const char *suite, const bench_sweep *table, int count, const char *nrhs)
{
    static char *main_alone[] = {"main"};
    trine_status status = TRINE_SUCCESS;
    sweep_run *runs = NULL;
    int n_runs = 0;
    char *const *names = b->sweeps.count ? b->sweeps.item : main_alone;
    const int n_names = b->sweeps.count ? b->sweeps.count : 1;
    TRY(ALLOC(b->ctx, runs, n_names));
    for (int k = 0; k < n_names; k++) {
        int i = 0;
        while (i < count && strcmp(table[i].name, names[k]) != 0) i++;
        if (i == count) FAIL(TRINE_ERR_ARGUMENT, "suite %s has no sweep \"%s\"", suite, names[k]);
        runs[n_runs++] = start(b, &table[i], table[0].matrices, nrhs);
    }
    const bench_list matrices = unite(runs, n_runs, offsetof(bench, matrices), NULL);
    for (int m = 0; m < matrices.count; m++) TRY(run_matrix(runs, n_runs, suite, matrices.item[m]));
done:
    for (int k = 0; k < n_runs; k++) {
        b->failures += runs[k].b.failures;
        for (int i = 0; i < 5; i++) bench_list_free(&runs[k].own[i]);
    }
    trine_free(b->ctx, TRINE_HOST, runs);
    return status;
}

enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };
trine_status bench_suite_sptrsv(bench *b) { return bench_run_triangular(b, "sptrsv", sweeps, N_SWEEPS, "1"); }
trine_status bench_suite_sptrsm(bench *b) { return bench_run_triangular(b, "sptrsm", sweeps, N_SWEEPS, "1,8,32,64"); }
