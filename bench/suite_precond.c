/* Suite precond: A x = b by a Krylov solver with each preconditioner: set-up, steps, time. Thesis protocol (Klein 2024,
 * Section 5.3.2) in double precision: GMRES(20), preconditioned on the right, b = A x with x_i = sin(2 pi 8 i / N),
 * from zero until ||b - A x|| <= 1e-6 ||b||. At the end, what Sections 4.6 and 5.3 claim beside what was found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { MOST_STEPS = 5000, SETUPS = 3, SOLVES = 3 };
static const double TOLERANCE = 1e-6, SLOW_MS = 300, DEFAULT_SECONDS = 5;

static const char every_method[] =
    "auto,none,diagp0,diagp1,diagp2,l1,tridiag,alg-tri,alg-tri-block,alt-o:m=2,alt-o:m=4,alt-i:m=1,alt-i:m=2,alt-i:m=3,"
    "alt-i:m=4,mos-d:m=1,mos-d:m=2,mos-d:m=3,mos-d:m=4,mos-a:m=1,mos-a:m=2,mos-a:m=3,mos-a:m=4,adi,ilu0,iluk:m=1,ilut,"
    "isai:m=1,isai:m=2,cg/ic0,cg/diagp0";
static const char *const every_matrix[] = {"laplace2d:n=250",
                                           "aniso1:n=200",
                                           "aniso2:n=200",
                                           "rotate7:n=200",
                                           "rotate9:n=150",
                                           "rotate9:n=150,alpha=0",
                                           "grounded2d:n=200",
                                           "laplace3d:n=50",
                                           "laplace3d27:n=30",
                                           "convection3d:n=50",
                                           "elasticity3d:n=12",
                                           "G3_circuit",
                                           "lap_igea",
                                           "delaunay_n16_lap",
                                           "thermal_monkey8K",
                                           "elas_rod300x33",
                                           "airfoil_2d",
                                           "cage11",
                                           "convdiff_alien",
                                           "pde2961",
                                           "EX5",
                                           "add32",
                                           "memplus",
                                           "orsreg_1",
                                           "rdb2048",
                                           "sherman5"};
enum { N_MATRICES = sizeof every_matrix / sizeof *every_matrix };

typedef struct {
    bench *b;
    const char *name;
    trine_matrix A;
    trine_op product;
    double product_ms; /* its set-up */
    int64_t n, nnz;
    double *solution, *rhs, *x, rhs_norm;
} problem;

/** What a method did on a matrix: for the claims. */
typedef struct {
    const char *matrix, *method;
    bool converged;
    double steps, step_ms, setup_ms, solve_ms;
} outcome;

typedef struct {
    outcome *of;
    int count, room;
} outcomes;

/* ------------------------------------------------------------------ methods */

/** "cg/ic0", "alt-i:m=3": a solver (GMRES else), a preconditioner, its m (steps of isai, level of iluk). */
typedef struct {
    trine_krylov_method solver;
    bool has_precond;
    trine_precond_options options;
} recipe;

static trine_status parse(const problem *p, const char *text, recipe *r)
{
    char name[32];
    const char *slash = strchr(text, '/'), *begin = slash ? slash + 1 : text, *colon = strchr(begin, ':');
    const int length = (int)(colon ? (size_t)(colon - begin) : strlen(begin));
    snprintf(name, sizeof name, "%.*s", length, begin);
    *r = (recipe){.solver = TRINE_KRYLOV_GMRES, .options = {.homogeneous = 1}};
    for (int k = TRINE_KRYLOV_GMRES; slash && k <= TRINE_KRYLOV_MINRES; k++)
        if (strncmp(text, trine_krylov_method_name(k), (size_t)(slash - text)) == 0) r->solver = k;
    if (colon && sscanf(colon, ":m=%d", &r->options.m) != 1)
        return trine_fail(TRINE_ERR_ARGUMENT, "\"%s\" is no method: :m=M follows its name", text);
    r->options.sweeps = r->options.fill_level = r->options.m;
    if (strcmp(name, "none") == 0) return TRINE_SUCCESS;
    int found = -1;
    for (int k = 0; k < TRINE_PRECOND_METHODS; k++)
        if (strcmp(name, trine_precond_method_name(k)) == 0) found = k;
    if (found < 0) return trine_fail(TRINE_ERR_ARGUMENT, "there is no preconditioner \"%s\"", name);
    r->has_precond = true;
    r->options.method = found;
    const int64_t side = (int64_t)(sqrt((double)p->n) + 0.5);
    if (found != TRINE_PRECOND_ADI) return TRINE_SUCCESS;
    const bool is_grid = strstr(p->name, ":n=") && side * side == p->n && !strstr(p->name, "3d");
    if (!is_grid) return trine_fail(TRINE_ERR_UNSUPPORTED, "no grid of n x n points is known");
    r->options.nx = r->options.ny = side;
    return TRINE_SUCCESS;
}

/** One preconditioner and the solver with it. */
typedef struct {
    trine_precond plan;
    trine_op M[TRINE_PRECOND_MAX_M];
    int count;
    trine_krylov solver;
    trine_precond_info info;
    double start, seconds; /* of a solve, and what it may take */
} method_run;

static void end_run(method_run *run)
{
    trine_krylov_destroy(&run->solver);
    for (int l = 0; l < run->count; l++) trine_op_destroy(&run->M[l]);
    trine_precond_destroy(&run->plan);
    run->count = 0;
}

static trine_status set_up_precond(const problem *p, const recipe *r, method_run *run)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_precond_analyse(p->b->ctx, &run->plan, p->A, &r->options));
    TRY(trine_precond_numeric(run->plan, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    TRY(trine_precond_check(run->plan, NULL));
    TRY(trine_precond_get_info(run->plan, &run->info));
done:
    return status;
}

static trine_status stop_when_late(void *user, int64_t rhs, int64_t step, double residual)
{
    const method_run *run = user;
    (void)rhs, (void)step, (void)residual;
    if (trine_wall_time() - run->start < run->seconds) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_NO_CONVERGENCE, "out of time");
}

static trine_status set_up_solver(const problem *p, const recipe *r, method_run *run)
{
    trine_status status = TRINE_SUCCESS;
    trine_krylov_options o = {.method = r->solver,
                              .restart = r->solver == TRINE_KRYLOV_GMRES ? 20 : 0,
                              .max_iterations = MOST_STEPS,
                              .rtol = TOLERANCE};
    if (r->has_precond && run->info.method == TRINE_PRECOND_ALT_O && run->info.m > 1) {
        for (; run->count < run->info.m; run->count++)
            TRY(trine_precond_part(run->plan, run->count, &run->M[run->count]));
        o.method = TRINE_KRYLOV_FGMRES;
        TRY(trine_krylov_create_alternating(p->b->ctx, &run->solver, p->product, run->count, run->M, &o));
    } else {
        if (r->has_precond) TRY(trine_precond_as_op(run->plan, &run->M[run->count++]));
        TRY(trine_krylov_create(p->b->ctx, &run->solver, p->product, run->count ? run->M[0] : NULL, &o));
    }
    TRY(trine_krylov_set_monitor(run->solver, stop_when_late, run));
done:
    return status;
}

/** Set up up to SETUPS times; the least times. */
static trine_status time_set_up(const problem *p, const recipe *r, method_run *run, bench_record *record)
{
    trine_status status = TRINE_SUCCESS;
    record->analyse_ms = record->numeric_ms = 0;
    double spent = 0;
    for (int k = 0; k < SETUPS && r->has_precond && spent < SLOW_MS; k++) {
        end_run(run);
        TRY(set_up_precond(p, r, run));
        const double analyse = 1e3 * run->info.analyse_seconds, numeric = 1e3 * run->info.numeric_seconds;
        spent += analyse + numeric;
        if (!k || analyse + numeric < record->analyse_ms + record->numeric_ms)
            record->analyse_ms = analyse, record->numeric_ms = numeric;
    }
    TRY(set_up_solver(p, r, run));
done:
    return status;
}

static double norm(int64_t n, const double *x, const double *minus)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - (minus ? minus[i] : 0)) * (x[i] - (minus ? minus[i] : 0));
    return sqrt(sum);
}

/** Solve up to SOLVES times; the median. *ended: how, by its name. */
static trine_status time_solve(const problem *p, method_run *run, bench_record *record, trine_krylov_result *result,
                               const char **ended)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dense B = {p->rhs, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->x, p->n, 1, p->n, TRINE_COLMAJOR};
    double times[SOLVES], spent = 0, *back = NULL;
    int count = 0;
    run->seconds = p->b->max_seconds > 0 ? p->b->max_seconds : DEFAULT_SECONDS;
    while (count < SOLVES && (!count || spent < SLOW_MS)) {
        run->start = trine_wall_time();
        const trine_status solved = trine_krylov_solve(run->solver, &B, &X, NULL);
        times[count] = 1e3 * (trine_wall_time() - run->start);
        spent += times[count++];
        if (solved && solved != TRINE_ERR_NO_CONVERGENCE) return solved;
        TRY(trine_krylov_get_result(run->solver, 0, result, NULL));
    }
    record->solve_ms = bench_median(times, count);
    record->solve_min_ms = times[0];
    record->reps = count;
    *ended =
        result->outcome == TRINE_OUTCOME_CALLBACK_FAILED ? "out of time" : trine_krylov_outcome_name(result->outcome);
    TRY(ALLOC(p->b->ctx, back, p->n));
    TRY(trine_matrix_multiply(p->A, TRINE_N, NULL, p->x, NULL, back));
    record->error = norm(p->n, back, p->rhs) / p->rhs_norm;
    if (result->outcome == TRINE_OUTCOME_CONVERGED && !(record->error <= 1.01 * TOLERANCE))
        bench_record_fail(record, BENCH_FAILED, "converged, with a residual of %.3g", record->error);
done:
    trine_free(p->b->ctx, TRINE_HOST, back);
    return status;
}

/* ------------------------------------------------------------------ a record */

static void keep(outcomes *all, outcome one)
{
    if (all->count == all->room) {
        const int room = 2 * all->room + 64;
        outcome *more = realloc(all->of, (size_t)room * sizeof *more);
        if (!more) return; /* a claim that is not testable */
        all->of = more;
        all->room = room;
    }
    all->of[all->count++] = one;
}

static trine_status run_method(const problem *p, const char *method, outcomes *all)
{
    trine_status status = TRINE_SUCCESS;
    method_run run = {0};
    recipe r;
    trine_krylov_result result = {0};
    char chosen[64] = "none";
    const char *ended = NULL;
    bench_record record = bench_record_begin("precond", p->name);
    record.n = p->n;
    record.nnz = p->nnz;
    record.dtype = TRINE_D;
    record.impl = "trine";
    record.method = method;
    record.chosen = chosen;
    TRY(parse(p, method, &r));
    TRY(time_set_up(p, &r, &run, &record));
    if (r.has_precond)
        snprintf(chosen, sizeof chosen, run.info.m ? "%s:m=%d" : "%s", trine_precond_method_name(run.info.method),
                 run.info.m);
    TRY(time_solve(p, &run, &record, &result, &ended));
    const double steps = (double)result.steps, setup = record.analyse_ms + record.numeric_ms,
                 step_ms = steps > 0 ? record.solve_ms / steps : NAN;
    bench_record_add_text(&record, "outcome", ended);
    bench_record_add_number(&record, "iterations", steps);
    bench_record_add_number(&record, "setup_ms", setup);
    bench_record_add_number(&record, "total_ms", p->product_ms + setup + record.solve_ms);
    bench_record_add_number(&record, "iteration_ms", step_ms);
    bench_record_add_number(&record, "forward_error", norm(p->n, p->x, p->solution) / norm(p->n, p->solution, NULL));
    bench_record_add_number(&record, "plan_bytes", r.has_precond ? (double)run.info.bytes : 0);
    if (r.has_precond) bench_record_add_text(&record, "why", run.info.reason);
    keep(all,
         (outcome){p->name, method, result.outcome == TRINE_OUTCOME_CONVERGED, steps, step_ms, setup, record.solve_ms});
    fprintf(p->b->table, "  %-14s %-14s set-up %9.3f  solve %10.3f ms  %5.0f steps of %8.4f ms  %8.2g  %s\n", method,
            chosen, setup, record.solve_ms, steps, step_ms, record.error, ended);
done:
    if (status) {
        bench_record_fail(&record, BENCH_SKIPPED, NULL);
        fprintf(p->b->table, "  %-14s %s\n", method, record.reason);
    }
    const trine_status written = bench_record_write(p->b, &record);
    end_run(&run);
    return written;
}

/* ------------------------------------------------------------------- claims */

typedef enum { STEPS, STEP_TIME, SETUP_TIME, SOLVE_TIME } measure;
static const char *const measures[] = {"steps", "time of a step", "time of numeric", "time of the solve"};

/** Of the matrix (by its name before the size) the measure of `method` over that of `other` lies in least..most. */
typedef struct {
    const char *text, *matrix, *method, *other;
    measure of;
    double least, most;
} claim;
static const claim claims[] = {
    {"5.3.3: ALT-i gains nothing from m > 2 on MODEL8", "laplace2d", "alt-i:m=4", "alt-i:m=2", STEPS, 0.95, INFINITY},
    {"5.3.3: ALT-i takes fewer steps with every factor on ANISO2", "aniso2", "alt-i:m=4", "alt-i:m=3", STEPS, 0, 1},
    {"5.3.3: ALT-i is faster than ILU on G3_CIRCUIT", "G3_circuit", "alt-i:m=2", "isai:m=1", SOLVE_TIME, 0, 1},
    {"5.3.3: ALT-i improves from m = 3 to 4 on MODEL4", "rotate7", "alt-i:m=4", "alt-i:m=3", STEPS, 0, 0.9},
    {"5.3.3: MOS-d hardly improves for m > 2 on MODEL4", "rotate7", "mos-d:m=4", "mos-d:m=2", STEPS, 0.9, INFINITY},
    {"5.3.3: MOS-a gains from more factors on MODEL4", "rotate7", "mos-a:m=4", "mos-a:m=2", STEPS, 0, 0.9},
    {"5.3.3: ILU is the fastest on MODEL4", "rotate7", "isai:m=1", "mos-a:m=2", SOLVE_TIME, 0, 1},
    {"5.3.3: MOS-a is the best choice on MODEL3", "rotate9:n=150", "mos-a:m=4", "alt-i:m=4", STEPS, 0, 1},
    {"5.3.3: ILU-ISAI gains nothing from sweeps on MODEL3", "rotate9:n=150", "isai:m=2", "isai:m=1", STEPS, 0.95,
     INFINITY},
    {"5.3.3: ILU-ISAI needs over three times the steps of MOS-a on MODEL7", "rotate9:n=150,alpha=0", "isai:m=1",
     "mos-a:m=1", STEPS, 3, INFINITY},
    {"5.3.3: MOS-a takes more steps with a second factor on MODEL7", "rotate9:n=150,alpha=0", "mos-a:m=2", "mos-a:m=1",
     STEPS, 1, INFINITY},
    {"5.3.3: and fewer again with more of them", "rotate9:n=150,alpha=0", "mos-a:m=4", "mos-a:m=2", STEPS, 0, 1},
    {"5.3.3: ALT-i is far superior to exact ILU(0) on ECOLOGY2", "grounded2d", "alt-i:m=4", "ilu0", STEPS, 0, 0.7},
    {"5.3.3: ALT-i is faster than ILU-ISAI on ECOLOGY2", "grounded2d", "alt-i:m=4", "isai:m=1", SOLVE_TIME, 0, 1},
    {"5.3.3: MOS-d does better with more factors than MOS-a on HOOK_1498", "HOOK_1498", "mos-d:m=4", "mos-a:m=4", STEPS,
     0, 1},
    {"5.3.3: diagp1 is almost as good as the others on ML_GEER", "ML_Geer", "diagp1", "alt-i:m=4", STEPS, 0, 1.2},
    {"Figure 35: a step with MOS-a(1) is faster than with ILU-ISAI(1)", "rotate7", "mos-a:m=1", "isai:m=1", STEP_TIME,
     0, 1},
    {"Figure 35: a step with MOS-a(4) is slower than with ILU-ISAI(1)", "rotate7", "mos-a:m=4", "isai:m=1", STEP_TIME,
     1, INFINITY},
    {"Figure 35: the tridiagonal part is a little faster than MOS-a(1)", "rotate7", "tridiag", "mos-a:m=1", STEP_TIME,
     0, 1},
    {"Figure 34: set-up is linear in m", "rotate7", "mos-a:m=4", "mos-a:m=1", SETUP_TIME, 2, 6},
    {"5.3.4: ALT-i is as good as geometric ADI on ANISO1", "aniso1", "alt-i:m=2", "adi", STEPS, 0.9, 1.1},
    {"5.3.4: geometric ADI is the worst on ANISO2", "aniso2", "adi", "alt-i:m=2", STEPS, 1.1, INFINITY},
    {"5.3.4: mixed directions are better than ADI's on MODEL8", "laplace2d", "alt-i:m=2", "adi", STEPS, 0, 1},
    {"4.6: blocks are better than single rows on ANISO2", "aniso2", "alg-tri-block", "alg-tri", STEPS, 0, 1},
    {"4.6: paths of strong entries are better than the given order on ANISO2", "aniso2", "alg-tri", "tridiag", STEPS, 0,
     0.9},
    {"5.3.5: MOS-a with coverage 0.99 converges faster than exact ILU(0) on GEO_1438", "Geo_1438", "mos-a:m=4", "ilu0",
     STEPS, 0, 1},
};
enum { N_CLAIMS = sizeof claims / sizeof *claims };

static double value_of(const outcome *o, measure of)
{
    return of == STEPS ? o->steps : of == STEP_TIME ? o->step_ms : of == SETUP_TIME ? o->setup_ms : o->solve_ms;
}

/** Whether the suite's own matrices have that one. */
static bool is_known(const char *matrix)
{
    for (int m = 0; m < N_MATRICES; m++)
        if (strncmp(every_matrix[m], matrix, strlen(matrix)) == 0) return true;
    return false;
}

/** Of the first matrix of this name, with or without its size. */
static const outcome *find(const outcomes *all, const char *matrix, const char *method)
{
    const size_t length = strlen(matrix);
    for (int k = 0; k < all->count; k++) {
        const outcome *o = &all->of[k];
        const bool is_it = strncmp(o->matrix, matrix, length) == 0 &&
                           (!o->matrix[length] || (o->matrix[length] == ':' && !strchr(matrix, ':')));
        if (is_it && strcmp(o->method, method) == 0) return o;
    }
    return NULL;
}

/** Held, not held or not testable, each with its numbers: a line; and a record, unless another run could test it. */
static trine_status judge_claims(bench *b, const outcomes *all)
{
    trine_status status = TRINE_SUCCESS;
    fprintf(b->table, "\nwhat the thesis claims\n");
    for (int k = 0; k < N_CLAIMS; k++) {
        const claim *c = &claims[k];
        const outcome *x = find(all, c->matrix, c->method), *y = find(all, c->matrix, c->other);
        const bool testable = x && y && (x->converged || y->converged);
        const double one = x && x->converged ? value_of(x, c->of) : INFINITY,
                     two = y && y->converged ? value_of(y, c->of) : INFINITY, ratio = one / two;
        const bool held = testable && ratio >= c->least && ratio <= c->most;
        char numbers[200];
        bench_record r = bench_record_begin("precond", testable ? x->matrix : c->matrix);
        r.dtype = TRINE_D;
        r.impl = "trine";
        r.method = c->text;
        r.chosen = held ? "held" : testable ? "not held" : "not testable";
        if (!testable) snprintf(numbers, sizeof numbers, "there is no record of both methods on %s", c->matrix);
        else snprintf(numbers, sizeof numbers, "%s: %s %.4g, %s %.4g", measures[c->of], c->method, one, c->other, two);
        bench_record_add_text(&r, "numbers", numbers);
        fprintf(b->table, "  %-12s  %s (%s)\n", r.chosen, c->text, numbers);
        b->sweep = "claims";
        if (testable || !is_known(c->matrix)) TRY(bench_record_write(b, &r));
    }
done:
    b->sweep = NULL;
    return status;
}

/* -------------------------------------------------------------------- suite */

static void close_problem(problem *p)
{
    trine_op_destroy(&p->product);
    trine_matrix_destroy(&p->A);
    trine_free(p->b->ctx, TRINE_HOST, p->solution);
    trine_free(p->b->ctx, TRINE_HOST, p->rhs);
    trine_free(p->b->ctx, TRINE_HOST, p->x);
}

static trine_status open_problem(problem *p)
{
    const double pi = 3.14159265358979323846;
    trine_status status = TRINE_SUCCESS;
    trine_matrix given = NULL;
    trine_matrix_info info;
    trine_spmv plan = NULL;
    TRY(bench_read_matrix(p->b, p->name, &given));
    TRY(trine_matrix_copy(given, &p->A, TRINE_HOST, TRINE_CSR, TRINE_D));
    TRY(trine_matrix_get_info(p->A, &info));
    if (info.n_rows != info.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "%lld x %lld is not square", (long long)info.n_rows, (long long)info.n_cols);
    p->n = info.n_rows;
    p->nnz = info.nnz;
    const double start = trine_wall_time();
    TRY(trine_spmv_analyse(p->b->ctx, &plan, p->A, NULL));
    TRY(trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_spmv_as_op(plan, &p->product));
    p->product_ms = 1e3 * (trine_wall_time() - start);
    TRY(ALLOC(p->b->ctx, p->solution, p->n));
    TRY(ALLOC(p->b->ctx, p->rhs, p->n));
    TRY(ALLOC(p->b->ctx, p->x, p->n));
    for (int64_t i = 0; i < p->n; i++) p->solution[i] = sin(2 * pi * 8 * (double)i / (double)p->n);
    TRY(trine_matrix_multiply(p->A, TRINE_N, NULL, p->solution, NULL, p->rhs));
    p->rhs_norm = norm(p->n, p->rhs, NULL);
done:
    trine_spmv_destroy(&plan);
    trine_matrix_destroy(&given);
    return status;
}

trine_status bench_suite_precond(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    outcomes all = {0};
    if (b->device.space == TRINE_DEVICE) return trine_fail(TRINE_ERR_UNSUPPORTED, "suite precond runs on a CPU");
    bench_list methods = b->methods.count ? b->methods : bench_list_split(every_method);
    const int count = b->matrices.count ? b->matrices.count : N_MATRICES;
    for (int m = 0; m < count; m++) {
        problem p = {.b = b, .name = b->matrices.count ? b->matrices.item[m] : every_matrix[m]};
        const trine_status opened = open_problem(&p);
        if (opened) fprintf(b->table, "%s: %s\n", p.name, trine_last_error());
        else fprintf(b->table, "%s, %lld rows, %lld entries\n", p.name, (long long)p.n, (long long)p.nnz);
        for (int k = 0; k < methods.count && !opened && !status; k++) status = run_method(&p, methods.item[k], &all);
        close_problem(&p);
        TRY(status);
    }
    TRY(judge_claims(b, &all));
done:
    free(all.of);
    if (!b->methods.count) bench_list_free(&methods);
    return status;
}
