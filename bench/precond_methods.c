/* Suite precond: a method on a system: set-up, applications, steps, the whole solve. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"
#include "precond.h"

enum { SETUPS = 3, SOLVES = 3, TIMED_STEPS = 2 * PRECOND_RESTART };
static const double SLOW_MS = 300;

/* ------------------------------------------------------------------ recipes */

trine_status precond_parse(const precond_problem *p, const char *text, precond_recipe *r)
{
    char name[32];
    const char *slash = strchr(text, '/'), *begin = slash ? slash + 1 : text, *colon = strchr(begin, ':');
    const int length = (int)(colon ? (size_t)(colon - begin) : strlen(begin));
    snprintf(name, sizeof name, "%.*s", length, begin);
    *r = (precond_recipe){.solver = TRINE_KRYLOV_GMRES, .options = {.homogeneous = 1}};
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

/* ------------------------------------------------------------------- set-up */

static void end_solver(precond_run *run)
{
    trine_krylov_destroy(&run->solver);
    for (int l = 0; l < run->count; l++) trine_op_destroy(&run->M[l]);
    run->count = 0;
}

void precond_end(precond_run *run)
{
    end_solver(run);
    trine_precond_destroy(&run->plan);
}

trine_status precond_set_up(const precond_problem *p, const precond_recipe *r, precond_run *run)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_precond_analyse(p->b->ctx, &run->plan, p->A, &r->options));
    TRY(trine_precond_numeric(run->plan, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    TRY(trine_precond_get_info(run->plan, &run->info));
done:
    return status;
}

static trine_status stop_when_late(void *user, int64_t rhs, int64_t step, double residual)
{
    const precond_run *run = user;
    (void)rhs, (void)step, (void)residual;
    if (trine_wall_time() - run->start < run->seconds) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_NO_CONVERGENCE, "out of time");
}

trine_status precond_make_solver(const precond_problem *p, const precond_recipe *r, const trine_krylov_options *more,
                                 precond_run *run)
{
    trine_status status = TRINE_SUCCESS;
    trine_krylov_options o = *more;
    end_solver(run);
    o.method = r->solver;
    o.restart = r->solver == TRINE_KRYLOV_GMRES ? PRECOND_RESTART : 0;
    if (r->has_precond && run->info.method == TRINE_PRECOND_ALT_O && run->info.m > 1) {
        for (; run->count < run->info.m; run->count++)
            TRY(trine_precond_part(run->plan, run->count, &run->M[run->count]));
        o.method = TRINE_KRYLOV_FGMRES;
        TRY(trine_krylov_create_alternating(p->b->ctx, &run->solver, p->product, run->count, run->M, &o));
    } else {
        if (r->has_precond) TRY(trine_precond_as_op(run->plan, &run->M[run->count++]));
        TRY(trine_krylov_create(p->b->ctx, &run->solver, p->product, run->count ? run->M[0] : NULL, &o));
    }
    if (p->b->device.space == TRINE_HOST || o.history) TRY(trine_krylov_set_monitor(run->solver, stop_when_late, run));
done:
    return status;
}

/** Set up up to SETUPS times; the least times. */
static trine_status time_set_up(const precond_problem *p, const precond_recipe *r, precond_run *run,
                                bench_record *record)
{
    trine_status status = TRINE_SUCCESS;
    record->analyse_ms = record->numeric_ms = 0;
    double spent = 0;
    for (int k = 0; k < SETUPS && r->has_precond && spent < SLOW_MS; k++) {
        precond_end(run);
        TRY(precond_set_up(p, r, run));
        const double analyse = 1e3 * run->info.analyse_seconds, numeric = 1e3 * run->info.numeric_seconds;
        spent += analyse + numeric;
        if (!k || analyse + numeric < record->analyse_ms + record->numeric_ms)
            record->analyse_ms = analyse, record->numeric_ms = numeric;
    }
    /* of factors that a GPU has made it would factor anew, on the host; there a solve shows them */
    if (r->has_precond && p->b->device.space == TRINE_HOST) TRY(trine_precond_check(run->plan, NULL));
done:
    return status;
}

/* -------------------------------------------------------------------- bytes */

static double matrix_bytes(const precond_problem *p) { return 12.0 * (double)p->nnz + 4.0 * (double)(p->n + 1); }

/** Of one application: bands, permutations, factors, and each vector that is read or written. */
static double application_bytes(const precond_problem *p, const precond_run *run, double columns)
{
    enum { VALUE = 8, INDEX = 4 };
    const double n = (double)p->n, m = run->info.m, vectors = 2 * VALUE * n * columns, bands = 3 * VALUE * n,
                 factor_bytes = (VALUE + INDEX) * (double)run->info.factor_entries;
    switch (run->info.method) {
    case TRINE_PRECOND_DIAGP0:
    case TRINE_PRECOND_DIAGP1:
    case TRINE_PRECOND_DIAGP2:
    case TRINE_PRECOND_L1: return VALUE * n + vectors;
    case TRINE_PRECOND_TRIDIAG: return bands + vectors;
    case TRINE_PRECOND_ALG_TRI:
    case TRINE_PRECOND_ALT_O: return bands + vectors + 2 * INDEX * n; /* of one step */
    case TRINE_PRECOND_MOS_D:
    case TRINE_PRECOND_MOS_A: return m * (bands + vectors) + (m + 1) * INDEX * n;
    case TRINE_PRECOND_ALT_I:
    case TRINE_PRECOND_ADI: /* a residual reads x and b, and writes; a correction reads x as well */
        return m * (bands + vectors + 2 * INDEX * n) + (m - 1) * (matrix_bytes(p) + 2 * vectors);
    case TRINE_PRECOND_ILU0:
    case TRINE_PRECOND_ILUK:
    case TRINE_PRECOND_ILUT: return factor_bytes + 2 * vectors;
    case TRINE_PRECOND_IC0: return 2 * factor_bytes + 2 * vectors;
    default: return NAN;
    }
}

double precond_step_bytes(const precond_problem *p, const precond_recipe *r, const precond_run *run, int64_t nrhs)
{
    const double columns = (double)nrhs, vector = 8 * (double)p->n * columns;
    const double M = r->has_precond ? application_bytes(p, run, columns) : 0;
    /* GMRES: two projections and subtractions in three passes over the basis, 3 j + 10 vectors in step j of a restart,
     * and the product's two; CG: its dot products and updates */
    const double vectors = r->solver == TRINE_KRYLOV_GMRES ? 1.5 * (PRECOND_RESTART - 1) + 12
                           : r->solver == TRINE_KRYLOV_CG  ? (r->has_precond ? 14 : 12)
                                                           : NAN;
    return matrix_bytes(p) + M + vectors * vector;
}

/* ------------------------------------------------------------------- solves */

/** One solve; *seconds until x is there. */
static trine_status solve_once(const precond_problem *p, precond_run *run, double *seconds, trine_krylov_result *result)
{
    const trine_dense B = {p->rhs, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->x, p->n, 1, p->n, TRINE_COLMAJOR};
    trine_status status = TRINE_SUCCESS;
    TRY(trine_context_synchronize(p->b->ctx));
    run->start = trine_wall_time();
    const trine_status solved = trine_krylov_solve(run->solver, &B, &X, NULL);
    if (solved && solved != TRINE_ERR_NO_CONVERGENCE) return solved;
    TRY(trine_context_synchronize(p->b->ctx));
    *seconds = trine_wall_time() - run->start;
    TRY(trine_krylov_get_result(run->solver, 0, result, NULL));
done:
    return status;
}

/** A step in milliseconds: of solves with so many of them that no tolerance ends, the second and the third. */
static trine_status time_steps(const precond_problem *p, precond_run *run, double *ms)
{
    trine_status status = TRINE_SUCCESS;
    double seconds, best = INFINITY;
    trine_krylov_result result = {0};
    run->seconds = INFINITY;
    for (int k = 0; k < 3; k++) {
        TRY(solve_once(p, run, &seconds, &result));
        if (k && seconds < best) best = seconds;
    }
    *ms = result.steps ? 1e3 * best / (double)result.steps : NAN;
done:
    return status;
}

static trine_status ignore(void *user, int64_t rhs, int64_t step, double residual)
{
    (void)user, (void)rhs, (void)step, (void)residual;
    return TRINE_SUCCESS;
}

/** A step in the middle of a solve, on a GPU by the device's loop and by the host's; and one application of M. */
static trine_status time_parts(const precond_problem *p, const precond_recipe *r, precond_run *run,
                               bench_record *record, double *step_ms)
{
    trine_status status = TRINE_SUCCESS;
    const trine_krylov_options o = {.max_iterations = TIMED_STEPS, .rtol = 1e-300};
    trine_krylov_info info;
    bench_time time;
    double host_ms, kernels_ms;
    if (p->b->device.space == TRINE_DEVICE) {
        TRY(precond_make_solver(p, r, &o, run));
        trine_krylov_unroll(run->solver);
        TRY(time_steps(p, run, &kernels_ms));
        bench_record_add_number(record, "kernels_step_ms", kernels_ms);
    }
    TRY(precond_make_solver(p, r, &o, run));
    TRY(time_steps(p, run, step_ms));
    TRY(trine_krylov_get_info(run->solver, &info));
    bench_record_add_number(record, "step_ms", *step_ms);
    bench_record_add_text(record, "loop", info.loop);
    if (p->b->device.space == TRINE_DEVICE) {
        TRY(trine_krylov_set_monitor(run->solver, ignore, NULL));
        TRY(time_steps(p, run, &host_ms));
        bench_record_add_number(record, "host_step_ms", host_ms);
    }
    const double bytes = precond_step_bytes(p, r, run, 1);
    record->bytes = isnan(bytes) ? -1 : (int64_t)bytes;
    bench_record_add_number(record, "copy_fraction", 1e-6 * bytes / *step_ms / p->b->copy_gbs);
    if (!run->count) return TRINE_SUCCESS;
    const trine_dense B = {p->rhs, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->room, p->n, 1, p->n, TRINE_COLMAJOR};
    bench_solve apply = {.op = run->M[0], .trans = TRINE_N, .B = &B, .X = &X};
    status = bench_solve_begin(&apply);
    if (!status) status = bench_measure(p->b, bench_solve_once, &apply, &time);
    trine_work_destroy(&apply.exec.work);
    if (!status) bench_record_add_number(record, "apply_ms", time.median);
done:
    return status;
}

/** Solve up to SOLVES times; the median. On a GPU the first solve, which records the loop, is told apart. *ended: how,
 *  by its name. */
static trine_status time_solve(precond_problem *p, const precond_recipe *r, precond_run *run, double step_ms,
                               bench_record *record, trine_krylov_result *result, const char **ended, double *first_ms)
{
    trine_status status = TRINE_SUCCESS;
    const bool on_gpu = p->b->device.space == TRINE_DEVICE;
    const double affordable = on_gpu && step_ms > 0 ? 1e3 * p->seconds / step_ms : PRECOND_MOST_STEPS;
    const int64_t most = affordable < PRECOND_MOST_STEPS ? (int64_t)affordable + 1 : PRECOND_MOST_STEPS;
    const trine_krylov_options o = {.max_iterations = most, .rtol = PRECOND_TOLERANCE};
    double times[SOLVES], spent = 0, seconds, forward;
    int count = 0;
    const double start = trine_wall_time();
    TRY(precond_make_solver(p, r, &o, run));
    run->seconds = p->seconds;
    if (on_gpu) TRY(solve_once(p, run, &seconds, result));
    *first_ms = 1e3 * (trine_wall_time() - start);
    while (count < SOLVES && (!count || spent < SLOW_MS)) {
        TRY(solve_once(p, run, &seconds, result));
        times[count] = 1e3 * seconds;
        spent += times[count++];
    }
    record->solve_ms = bench_median(times, count);
    record->solve_min_ms = times[0];
    record->reps = count;
    const bool is_late = result->outcome == TRINE_OUTCOME_CALLBACK_FAILED ||
                         (result->outcome == TRINE_OUTCOME_MAX_ITERATIONS && most < PRECOND_MOST_STEPS);
    *ended = is_late ? "out of time" : trine_krylov_outcome_name(result->outcome);
    if (!on_gpu) *first_ms = record->solve_ms;
    TRY(precond_check(p, &record->error, &forward));
    bench_record_add_number(record, "forward_error", forward);
    if (result->outcome == TRINE_OUTCOME_CONVERGED && !(record->error <= 1.01 * PRECOND_TOLERANCE))
        bench_record_fail(record, BENCH_FAILED, "converged, with a residual of %.3g", record->error);
done:
    return status;
}

/* ------------------------------------------------------------------ records */

void precond_keep(precond_outcomes *all, const char *method, precond_outcome one)
{
    if (all->count == all->room) {
        const int room = 2 * all->room + 64;
        precond_outcome *more = realloc(all->of, (size_t)room * sizeof *more);
        if (!more) return; /* a claim that is not testable */
        all->of = more;
        all->room = room;
    }
    snprintf(one.method, sizeof one.method, "%s", method);
    all->of[all->count++] = one;
}

void precond_forget(precond_outcomes *all)
{
    free(all->of);
    *all = (precond_outcomes){0};
}

bench_record precond_record(const precond_problem *p, const char *impl, const char *method, const char *chosen)
{
    bench_record r = bench_record_begin("precond", p->name);
    r.n = p->n;
    r.nnz = p->nnz;
    r.dtype = TRINE_D;
    r.impl = impl;
    r.method = method;
    r.chosen = chosen;
    return r;
}

/** What all have, and the line of the table. */
static trine_status finish_record(precond_problem *p, bench_record *r, trine_status status, const char *ended,
                                  double steps, double setup_ms, double total_ms)
{
    bench *b = p->b;
    if (status) {
        bench_record_fail(r, BENCH_SKIPPED, NULL);
        fprintf(b->table, "  %-14s %s\n", r->method, r->reason);
        return bench_record_write(b, r);
    }
    bench_record_add_text(r, "outcome", ended);
    bench_record_add_number(r, "iterations", steps);
    bench_record_add_number(r, "setup_ms", setup_ms);
    bench_record_add_number(r, "total_ms", total_ms);
    bench_record_add_number(r, "iteration_ms", steps > 0 ? r->solve_ms / steps : NAN);
    fprintf(b->table, "  %-14s %-14s set-up %9.3f  solve %10.3f ms  %5.0f steps of %8.4f ms  %8.2g  %s\n", r->method,
            r->chosen, setup_ms, r->solve_ms, steps, r->solve_ms / steps, r->error, ended);
    fflush(b->table);
    return bench_record_write(b, r);
}

trine_status precond_measure(precond_problem *p, const char *method, precond_outcomes *all)
{
    trine_status status = TRINE_SUCCESS;
    precond_run run = {0};
    precond_recipe r;
    trine_krylov_result result = {0};
    char chosen[64] = "none";
    const char *ended = NULL;
    double steps = 0, setup_ms = 0, step_ms = NAN, first_ms = 0;
    bench_record record = precond_record(p, "trine", method, chosen);
    TRY(precond_parse(p, method, &r));
    TRY(time_set_up(p, &r, &run, &record));
    if (r.has_precond)
        snprintf(chosen, sizeof chosen, run.info.m ? "%s:m=%d" : "%s", trine_precond_method_name(run.info.method),
                 run.info.m);
    TRY(time_parts(p, &r, &run, &record, &step_ms));
    TRY(time_solve(p, &r, &run, step_ms, &record, &result, &ended, &first_ms));
    steps = (double)result.steps;
    setup_ms = record.analyse_ms + record.numeric_ms;
    bench_record_add_number(&record, "first_solve_ms", first_ms);
    bench_record_add_number(&record, "plan_bytes", r.has_precond ? (double)run.info.bytes : 0);
    if (r.has_precond) bench_record_add_text(&record, "why", run.info.reason);
    precond_keep(all, method,
                 (precond_outcome){.matrix = p->name,
                                   .converged = result.outcome == TRINE_OUTCOME_CONVERGED,
                                   .steps = steps,
                                   .step_ms = record.solve_ms / steps,
                                   .setup_ms = setup_ms,
                                   .solve_ms = record.solve_ms});
done:;
    const trine_status written =
        finish_record(p, &record, status, ended, steps, setup_ms, p->product_ms + setup_ms + first_ms);
    precond_end(&run);
    return written;
}

trine_status precond_measure_peer(precond_problem *p, const char *method)
{
    trine_status status = TRINE_SUCCESS;
    precond_cusparse peer = NULL;
    bench_time setup = {0};
    int64_t steps = 0, most = PRECOND_MOST_STEPS;
    double residual = 1, times[SOLVES], spent = 0, forward;
    int count = 0;
    bench_record record = precond_record(p, "cusparse", method, method);
    TRY(precond_cusparse_create(p, method, &peer));
    TRY(bench_measure_wall(p->b, precond_cusparse_set_up, NULL, peer, &setup));
    TRY(precond_cusparse_solve(peer, TIMED_STEPS, &steps, &residual)); /* to warm up, and to see what a step takes */
    const double start = trine_wall_time();
    TRY(precond_cusparse_solve(peer, TIMED_STEPS, &steps, &residual));
    const double step_ms = 1e3 * (trine_wall_time() - start) / (double)steps;
    if (1e3 * p->seconds / step_ms < (double)most) most = (int64_t)(1e3 * p->seconds / step_ms) + 1;
    while (count < SOLVES && (!count || spent < SLOW_MS)) {
        const double begun = trine_wall_time();
        TRY(precond_cusparse_solve(peer, most, &steps, &residual));
        times[count] = 1e3 * (trine_wall_time() - begun);
        spent += times[count++];
    }
    record.solve_ms = bench_median(times, count);
    record.solve_min_ms = times[0];
    record.reps = count;
    bench_record_add_text(&record, "version", precond_cusparse_version(peer));
    bench_record_add_number(&record, "step_ms", step_ms);
    TRY(precond_check(p, &record.error, &forward));
    bench_record_add_number(&record, "forward_error", forward);
done:;
    const char *const ended = record.error <= 1.01 * PRECOND_TOLERANCE ? "converged"
                              : steps < most                           ? "breakdown"
                              : most < PRECOND_MOST_STEPS              ? "out of time"
                                                                       : "maximum of iterations";
    const trine_status written =
        finish_record(p, &record, status, ended, (double)steps, setup.min, setup.min + record.solve_ms);
    precond_cusparse_destroy(&peer);
    return written;
}
