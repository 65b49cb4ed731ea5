/* Suite whole: set-up, new values and solves of A x = b, trine's and those of other libraries by their own defaults,
 * and the peak of memory in the set-up. */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "whole.h"

/* ------------------------------------------------------------------- trine */

typedef struct {
    const whole_problem *p;
    trine_direct_method method;
    int64_t expected_solves; /* 0: as many as the library expects */
    trine_direct plan;
    trine_work work;
    trine_dense B, X; /* the problem's in the context's space */
} trine_solver;

static trine_status trine_open_with(const whole_problem *p, trine_direct_method method, void **self)
{
    trine_solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->method = method;
    return TRINE_SUCCESS;
}
static trine_status trine_open(const whole_problem *p, void **self)
{
    return trine_open_with(p, TRINE_DIRECT_AUTO, self);
}
static trine_status cudss_open(const whole_problem *p, void **self)
{
    return trine_open_with(p, TRINE_DIRECT_CUDSS, self);
}
/** The ordering has a time of its own in the plan's info; here all of it is one call. */
static trine_status trine_analyse(void *self)
{
    (void)self;
    return TRINE_SUCCESS;
}
static void trine_drop(trine_solver *s)
{
    const trine_context ctx = s->p->b->ctx;
    trine_work_destroy(&s->work);
    trine_direct_destroy(&s->plan);
    if (s->B.data != s->p->rhs) trine_free(ctx, TRINE_DEVICE, s->B.data);
    if (s->X.data != s->p->x) trine_free(ctx, TRINE_DEVICE, s->X.data);
    s->B = s->X = (trine_dense){0};
}
static trine_status trine_factor_all(void *self)
{
    trine_solver *s = self;
    const whole_problem *p = s->p;
    const trine_direct_options options = {.factor.method = s->method,
                                          .triangular = {.max_nrhs = p->nrhs, .expected_solves = s->expected_solves}};
    trine_drop(s);
    return trine_direct_create(p->b->ctx, &s->plan, p->A, &options);
}
static trine_status trine_refactor(void *self)
{
    trine_solver *s = self;
    return trine_direct_update(s->plan, s->p->A);
}
/** The method that was taken, and under `key` what solves. */
static const char *chosen_method(const trine_solver *s, bench_record *r, const char *key)
{
    trine_direct_info info;
    if (trine_direct_get_info(s->plan, &info)) return NULL;
    bench_record_add_text(r, key,
                          info.solver == TRINE_SOLVER_LIBRARY      ? "library"
                          : info.solver == TRINE_SOLVER_SUPERNODAL ? "supernodal"
                                                                   : "general");
    return trine_direct_method_name(info.factor.method);
}
/** What the first solve needs besides: untimed, as the peers' arrays are. */
static trine_status place_vectors(trine_solver *s)
{
    trine_status status = TRINE_SUCCESS;
    const whole_problem *p = s->p;
    const size_t bytes = (size_t)(p->n * p->nrhs) * sizeof(double);
    s->B = (trine_dense){.data = p->rhs, .rows = p->n, .cols = p->nrhs};
    s->X = (trine_dense){.data = p->x, .rows = p->n, .cols = p->nrhs};
    if (p->b->device.space == TRINE_DEVICE) {
        s->B.data = s->X.data = NULL;
        TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, bytes, &s->B.data));
        TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, bytes, &s->X.data));
        TRY(trine_copy(p->b->ctx, s->B.data, TRINE_DEVICE, p->rhs, TRINE_HOST, bytes));
    }
    TRY(trine_direct_work(s->plan, p->nrhs, NULL, NULL, &s->work));
done:
    return status;
}
static trine_status trine_solve(void *self)
{
    trine_solver *s = self;
    trine_status status = TRINE_SUCCESS;
    if (s->expected_solves == 1) {
        const trine_dense B = {.data = s->p->rhs, .rows = s->p->n, .cols = s->p->nrhs},
                          X = {.data = s->p->x, .rows = s->p->n, .cols = s->p->nrhs};
        return trine_direct_solve(s->plan, TRINE_N, &B, &X, NULL);
    }
    if (!s->work) TRY(place_vectors(s));
    TRY(trine_direct_solve(s->plan, TRINE_N, &s->B, &s->X, &(trine_exec){.work = s->work}));
done:
    return status;
}
static void trine_close(void *self)
{
    trine_solver *s = self;
    if (!s) return;
    trine_drop(s);
    free(s);
}

static const whole_solver own = {"trine",          "auto",         false,       trine_open, trine_analyse,
                                 trine_factor_all, trine_refactor, trine_solve, trine_close},
                          cudss = {"cudss",          "cudssExecute", false,       cudss_open, trine_analyse,
                                   trine_factor_all, trine_refactor, trine_solve, trine_close};
static const whole_solver *const solvers[] = {
    &own,         &whole_cholmod, &whole_superlu, &whole_umfpack, &whole_klu, &whole_pardiso, &cudss,
#ifdef TRINE_BENCH_MUMPS
    &whole_mumps,
#endif
};
static const char every_method[] = "trine,cholmod,superlu,umfpack,klu,mumps,mkl,cudss";

/* ------------------------------------------------------------------- suite */

/** From here on peaks are counted; memory that was freed is given back. */
static void begin_peak(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file); /* the peak is what there is: Linux, proc(5) */
    fclose(file);
}

/** The most memory that this process has had since, in MiB; 0 where the system does not say. */
static double peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (file && !kib && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kib) != 1) kib = 0;
    if (file) fclose(file);
    return (double)kib / 1024;
}

typedef struct { double analyse_ms, factor_ms, refactor_ms, peak_before, peak_mib; } set_up_times;

static trine_status set_up(whole_problem *p, const whole_solver *solver, void *self, set_up_times *times)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    begin_peak();
    times->peak_before = peak_mib();
    TRY(bench_measure_wall(p->b, solver->analyse, NULL, self, &time));
    times->analyse_ms = time.min;
    TRY(bench_measure_wall(p->b, solver->factor, NULL, self, &time));
    times->factor_ms = time.min;
    times->peak_mib = peak_mib();
    TRY(bench_measure_wall(p->b, solver->refactor, NULL, self, &time));
    times->refactor_ms = time.min;
done:
    return status;
}

/** A library, with a solver of its own for whole_solve. */
typedef struct {
    const whole_solver *solver;
    void *self;
} whole_call;

/** From the matrix on to one solution, in one call. */
static trine_status whole_solve(void *call)
{
    const whole_call *c = call;
    trine_status status = TRINE_SUCCESS;
    TRY(c->solver->analyse(c->self));
    TRY(c->solver->factor(c->self));
    TRY(c->solver->solve(c->self));
done:
    return status;
}

/** One solve and no more with that factor, which trine is told: times, the peak of memory, and the error. */
static trine_status measure_once(whole_problem *p, const whole_solver *solver, bench_record *r)
{
    trine_status status = TRINE_SUCCESS;
    bench_time whole, update;
    trine_accuracy accuracy;
    whole_call call = {.solver = solver};
    TRY(solver->open(p, &call.self));
    if (solver == &own) ((trine_solver *)call.self)->expected_solves = 1;
    begin_peak();
    const double before = peak_mib();
    TRY(bench_measure_wall(p->b, whole_solve, NULL, &call, &whole));
    bench_record_add_number(r, "once_peak_mib", peak_mib() - before);
    TRY(trine_matrix_accuracy(p->A, p->nrhs, p->x, p->rhs, NULL, &accuracy));
    TRY(bench_measure_wall(p->b, solver->refactor, NULL, call.self, &update));
    bench_record_add_number(r, "once_ms", whole.min);
    bench_record_add_number(r, "once_numeric_ms", update.min);
    bench_record_add_number(r, "once_error", accuracy.backward_error);
    if (solver == &own) chosen_method(call.self, r, "once_solver");
done:
    solver->close(call.self);
    return status;
}

static trine_status fetch_solution(const whole_problem *p, const whole_solver *solver, void *self)
{
    const trine_solver *s = self;
    if ((solver != &own && solver != &cudss) || s->X.data == p->x) return TRINE_SUCCESS;
    return trine_copy(p->b->ctx, p->x, TRINE_HOST, s->X.data, TRINE_DEVICE, (size_t)(p->n * p->nrhs) * sizeof *p->x);
}

static trine_status solve_and_check(whole_problem *p, const whole_solver *solver, void *self, bench_record *r)
{
    enum { MOST_EPS = 450000 }; /* 1e-10 */
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    trine_accuracy accuracy;
    TRY(bench_measure(p->b, solver->solve, self, &time));
    TRY(fetch_solution(p, solver, self));
    TRY(trine_matrix_accuracy(p->A, p->nrhs, p->x, p->rhs, NULL, &accuracy));
    bench_record_solve(r, &time, accuracy.backward_error, MOST_EPS);
done:
    return status;
}

static trine_status make_rhs(whole_problem *p, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    trine_free(p->b->ctx, TRINE_HOST, p->rhs);
    trine_free(p->b->ctx, TRINE_HOST, p->x);
    p->rhs = p->x = NULL;
    p->nrhs = nrhs;
    TRY(ALLOC(p->b->ctx, p->rhs, p->n * nrhs));
    TRY(ALLOC(p->b->ctx, p->x, p->n * nrhs));
    for (int64_t i = 0; i < p->n * nrhs; i++) p->x[i] = 2 * bench_uniform(1, (uint64_t)i) - 1;
    for (int64_t j = 0; j < nrhs; j++)
        TRY(trine_matrix_multiply(p->A, TRINE_N, NULL, p->x + j * p->n, NULL, p->rhs + j * p->n));
done:
    return status;
}

static void run_solver(whole_problem *p, const whole_solver *solver, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    void *self = NULL;
    set_up_times times = {0};
    bench_record r = bench_record_begin("whole", p->name);
    r.n = p->n;
    r.nnz = p->nnz;
    r.dtype = TRINE_D;
    r.direction = "both";
    r.nrhs = nrhs;
    r.impl = solver->impl;
    r.method = solver->method;
    if (solver->definite && !(p->structure.hermitian && p->structure.positive_diagonal)) return;
    TRY(make_rhs(p, nrhs));
    TRY(solver->open(p, &self));
    TRY(set_up(p, solver, self, &times));
    if (solver == &own) r.chosen = chosen_method(self, &r, "solver");
    r.analyse_ms = times.analyse_ms;
    r.numeric_ms = times.refactor_ms;
    bench_record_add_number(&r, "setup_ms", times.analyse_ms + times.factor_ms);
    bench_record_add_number(&r, "factor_ms", times.factor_ms);
    bench_record_add_number(&r, "peak_mib", times.peak_mib);
    bench_record_add_number(&r, "peak_before_mib", times.peak_before);
    TRY(solve_and_check(p, solver, self, &r));
    if (nrhs == 1 && p->b->device.space == TRINE_HOST) TRY(measure_once(p, solver, &r));
done:
    if (status)
        bench_record_fail(
            &r, status == TRINE_ERR_NOT_BUILT || status == TRINE_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    solver->close(self);
    bench_record_write(p->b, &r);
    fprintf(p->b->table, "%-28.28s %-8s %3lld  set-up %10.3f  new values %10.3f  solve %10.4f ms  %9.3g eps  %s\n",
            r.matrix, r.impl, (long long)nrhs, times.analyse_ms + times.factor_ms, times.refactor_ms, r.solve_ms,
            r.error, r.reason);
}

static trine_status open_matrix(whole_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix copy = NULL;
    trine_matrix_info info;
    const void *values;
    TRY(bench_read_matrix(p->b, p->name, &p->A));
    TRY(trine_matrix_get_structure(p->A, &p->structure));
    TRY(trine_matrix_copy(p->A, &copy, TRINE_HOST, TRINE_CSC, TRINE_D));
    TRY(trine_matrix_sort(copy, &p->columns, 1));
    TRY(trine_matrix_get_info(p->columns, &info));
    TRY(trine_matrix_get_arrays(p->columns, &p->offsets, &p->rows, &values));
    p->values = values;
    p->n = info.n_rows;
    p->nnz = info.nnz;
    TRY(ALLOC(p->b->ctx, p->wide_rows, p->nnz));
    TRY(ALLOC(p->b->ctx, p->narrow_offsets, p->n + 1));
    for (int64_t k = 0; k < p->nnz; k++) p->wide_rows[k] = p->rows[k];
    for (int64_t j = 0; j <= p->n; j++) p->narrow_offsets[j] = (int32_t)p->offsets[j];
done:
    trine_matrix_destroy(&copy);
    return status;
}

static void close_matrix(whole_problem *p)
{
    const trine_context ctx = p->b->ctx;
    trine_free(ctx, TRINE_HOST, p->rhs);
    trine_free(ctx, TRINE_HOST, p->x);
    trine_free(ctx, TRINE_HOST, p->wide_rows);
    trine_free(ctx, TRINE_HOST, p->narrow_offsets);
    trine_matrix_destroy(&p->A);
    trine_matrix_destroy(&p->columns);
}

trine_status bench_suite_whole(bench *b)
{
    bench_list methods = b->methods.count ? b->methods : bench_list_split(every_method);
    bench_list nrhs = b->nrhs.count ? b->nrhs : bench_list_split("1,32");
    if (!b->matrices.count) return trine_fail(TRINE_ERR_ARGUMENT, "suite whole: name the matrices (bench/README.md)");
    for (int m = 0; m < b->matrices.count; m++) {
        whole_problem p = {.b = b, .name = b->matrices.item[m]};
        const trine_status status = open_matrix(&p);
        if (status) fprintf(b->table, "%s: %s\n", p.name, trine_last_error());
        for (int k = 0; k < methods.count && !status; k++)
            for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
                if (strcmp(methods.item[k], solvers[i]->impl) == 0)
                    for (int j = 0; j < nrhs.count; j++) run_solver(&p, solvers[i], atoll(nrhs.item[j]));
        close_matrix(&p);
    }
    if (!b->methods.count) bench_list_free(&methods);
    if (!b->nrhs.count) bench_list_free(&nrhs);
    return TRINE_SUCCESS;
}
