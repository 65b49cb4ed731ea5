/* Suite precond, sweep steps: what a step of each solver takes, of one right-hand side and of several, by who makes the
 * loop. Nothing converges: all solves take as many steps. */
#include <math.h>
#include <stdlib.h>

#include "core/test_interface.h"
#include "precond.h"

enum { STEPS = 2 * PRECOND_RESTART, SOLVES = 4 };

static const char every_method[] = "diagp0,mos-a:m=1,cg/diagp0,bicgstab/diagp0,minres/diagp0";
static const char *const every_matrix[] = {"aniso2:n=316", "aniso2:n=1000", "aniso2:n=2000"};
enum { N_MATRICES = sizeof every_matrix / sizeof *every_matrix };

/** As many right-hand sides, all the same, and room for the solutions. */
typedef struct { trine_dense B, X; } columns;

static void close_columns(const precond_problem *p, columns *c)
{
    trine_free(p->b->ctx, p->b->device.space, c->B.data);
    trine_free(p->b->ctx, p->b->device.space, c->X.data);
    *c = (columns){0};
}

static trine_status open_columns(const precond_problem *p, int64_t nrhs, columns *c)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->b->ctx;
    const trine_space space = p->b->device.space;
    const size_t bytes = (size_t)p->n * sizeof(double);
    void *b = NULL, *x = NULL;
    *c = (columns){0};
    TRY(trine_alloc(ctx, space, (size_t)nrhs * bytes + 1, &b));
    c->B = (trine_dense){b, p->n, nrhs, p->n, TRINE_COLMAJOR};
    TRY(trine_alloc(ctx, space, (size_t)nrhs * bytes + 1, &x));
    c->X = (trine_dense){x, p->n, nrhs, p->n, TRINE_COLMAJOR};
    for (int64_t k = 0; k < nrhs; k++)
        TRY(trine_copy(ctx, (char *)b + (size_t)k * bytes, space, p->host_b, TRINE_HOST, bytes));
done:
    return status;
}

static trine_status ignore(void *user, int64_t rhs, int64_t step, double residual)
{
    (void)user, (void)rhs, (void)step, (void)residual;
    return TRINE_SUCCESS;
}

typedef enum { KERNELS, DEVICE_LOOP, HOST_LOOP } loop;

/** The least time of a step in some solves, the first of which warms up. */
static trine_status time_loop(const precond_problem *p, const precond_recipe *r, const columns *c, loop which,
                              precond_run *run, double *ms)
{
    trine_status status = TRINE_SUCCESS;
    const trine_krylov_options o = {.max_iterations = STEPS, .rtol = 1e-300, .max_nrhs = c->B.cols};
    trine_krylov_result result;
    TRY(precond_make_solver(p, r, &o, run));
    run->seconds = INFINITY;
    if (which == KERNELS) trine_krylov_unroll(run->solver);
    if (which == HOST_LOOP) TRY(trine_krylov_set_monitor(run->solver, ignore, NULL));
    *ms = INFINITY;
    for (int k = 0; k < SOLVES; k++) {
        TRY(trine_context_synchronize(p->b->ctx));
        const double start = trine_wall_time();
        const trine_status solved = trine_krylov_solve(run->solver, &c->B, &c->X, NULL);
        if (solved && solved != TRINE_ERR_NO_CONVERGENCE) return solved;
        TRY(trine_context_synchronize(p->b->ctx));
        const double spent = 1e3 * (trine_wall_time() - start);
        TRY(trine_krylov_get_result(run->solver, 0, &result, NULL));
        if (k && spent / (double)result.steps < *ms) *ms = spent / (double)result.steps;
    }
done:
    return status;
}

static trine_status measure(const precond_problem *p, const char *method, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    precond_run run = {0};
    precond_recipe r;
    columns c = {0};
    trine_krylov_info info;
    double ms = NAN, kernels = NAN, host = NAN;
    char chosen[64] = "none";
    bench_record record = precond_record(p, "trine", method, chosen);
    const bool on_gpu = b->device.space == TRINE_DEVICE;
    record.nrhs = nrhs;
    TRY(precond_parse(p, method, &r));
    if (r.has_precond) {
        TRY(precond_set_up(p, &r, &run));
        snprintf(chosen, sizeof chosen, "%s", trine_precond_method_name(run.info.method));
    }
    TRY(open_columns(p, nrhs, &c));
    if (on_gpu) TRY(time_loop(p, &r, &c, KERNELS, &run, &kernels));
    if (on_gpu) TRY(time_loop(p, &r, &c, HOST_LOOP, &run, &host));
    TRY(time_loop(p, &r, &c, DEVICE_LOOP, &run, &ms));
    TRY(trine_krylov_get_info(run.solver, &info));
    bench_record_add_text(&record, "loop", info.loop);
    bench_record_add_number(&record, "step_ms", ms);
    if (on_gpu) bench_record_add_number(&record, "kernels_step_ms", kernels);
    if (on_gpu) bench_record_add_number(&record, "host_step_ms", host);
    record.solve_ms = record.solve_min_ms = ms * STEPS;
    record.reps = SOLVES - 1;
    const double bytes = precond_step_bytes(p, &r, &run, nrhs);
    record.bytes = isnan(bytes) ? -1 : (int64_t)bytes;
    bench_record_add_number(&record, "copy_fraction", 1e-6 * bytes / ms / b->copy_gbs);
done:;
    if (status) {
        bench_record_fail(&record, BENCH_SKIPPED, NULL);
        fprintf(b->table, "  %-16s %2lld  %s\n", method, (long long)nrhs, record.reason);
    } else {
        fprintf(b->table, "  %-16s %2lld  a step %8.1f us, %4.2f of copy", method, (long long)nrhs, 1e3 * ms,
                1e-6 * bytes / ms / b->copy_gbs);
        if (on_gpu) fprintf(b->table, ", kernels %8.1f, by the host's loop %8.1f", 1e3 * kernels, 1e3 * host);
        fprintf(b->table, "  %s\n", info.loop);
        fflush(b->table);
    }
    const trine_status written = bench_record_write(b, &record);
    close_columns(p, &c);
    precond_end(&run);
    return written;
}

trine_status precond_steps(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    bench_list methods = b->methods.count ? b->methods : bench_list_split(every_method);
    bench_list columns = b->nrhs.count ? b->nrhs : bench_list_split("1,8");
    const int count = b->matrices.count ? b->matrices.count : N_MATRICES;
    for (int m = 0; m < count && !status; m++) {
        precond_problem p;
        const char *const name = b->matrices.count ? b->matrices.item[m] : every_matrix[m];
        const trine_status opened = precond_open(b, name, &p);
        if (opened) fprintf(b->table, "%s: %s\n", name, trine_last_error());
        else fprintf(b->table, "%s, %lld rows, %lld entries\n", name, (long long)p.n, (long long)p.nnz);
        for (int k = 0; k < methods.count && !opened && !status; k++)
            for (int l = 0; l < columns.count && !status; l++)
                status = measure(&p, methods.item[k], strtoll(columns.item[l], NULL, 10));
        precond_close(&p);
    }
    if (!b->methods.count) bench_list_free(&methods);
    if (!b->nrhs.count) bench_list_free(&columns);
    return status;
}
