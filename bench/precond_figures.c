/* Suite precond: Table 17 and Figures 30 and 36 to 40 of the thesis (Klein 2024) in form, on what the gallery makes of
 * its matrices, on stand-ins for those that need a download, and on real ones. Figures 34 and 35 are drawn from main
 * records. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "precond.h"

/* ----------------------------------------------------------------- matrices */

/** c_diag as printed, with two digits. "like": another matrix, or other values in the same pattern. */
typedef struct {
    const char *thesis, *matrix;
    double c_diag;
} row_of_table_17;
static const row_of_table_17 table_17[] = {{"MODEL2", "laplace3d27:n=100", 0.51},
                                           {"MODEL8", "laplace2d:n=1000", 0.50},
                                           {"ANISO1", "aniso1:n=1200", 0.50},
                                           {"ANISO2", "aniso2:n=1200", 0.50},
                                           {"G3_CIRCUIT", "G3_circuit", 0.76},
                                           {"MODEL4", "rotate7:n=1000", 0.39},
                                           {"like ATMOSMODL", "convection3d:nx=198,ny=198,nz=38", 0.50},
                                           {"like MODEL3", "rotate9:n=1001", 0.44},
                                           {"like MODEL7", "rotate9:n=1001,alpha=0", 0.33},
                                           {"like ECOLOGY2", "grounded2d:n=1000", 0.50},
                                           {"like TRANSPORT", "transport15:nx=31,ny=161,nz=321", 0.50},
                                           {"like GEO_1438", "elasticity3d:n=12", 0.33},
                                           {"like THERMAL2", "thermal_monkey8K", 0.50},
                                           {"like HOOK_1498", "elas_rod300x33", 0.31},
                                           {"like AF_SHELL10", "elas_mat100x100t40", 0.39},
                                           {"like ML_GEER", "elas_Armadillo13K", 0.22}};
enum { N_TABLE_17 = sizeof table_17 / sizeof *table_17 };

/** The same at sizes that converge on a CPU while one waits, and which figures show them. */
enum { BY_BICGSTAB = 1, BY_GMRES = 2, BY_LINES = 4 }; /* Figure 30; 36 to 38, and 40; 39 */
typedef struct {
    const char *thesis, *matrix;
    int shown;
} system_of_figures;
static const system_of_figures systems[] = {{"MODEL2", "laplace3d27:n=30", BY_GMRES},
                                            {"like ATMOSMODL", "convection3d:n=50", BY_BICGSTAB | BY_GMRES},
                                            {"MODEL8", "laplace2d:n=250", BY_GMRES | BY_LINES},
                                            {"ANISO1", "aniso1:n=200", BY_BICGSTAB | BY_GMRES | BY_LINES},
                                            {"ANISO2", "aniso2:n=200", BY_BICGSTAB | BY_GMRES | BY_LINES},
                                            {"ANISO3", "aniso3:n=200", BY_BICGSTAB},
                                            {"G3_CIRCUIT", "G3_circuit", BY_GMRES},
                                            {"like GEO_1438", "elasticity3d:n=12", BY_GMRES},
                                            {"MODEL4", "rotate7:n=200", BY_GMRES},
                                            {"like MODEL3", "rotate9:n=150", BY_GMRES},
                                            {"like MODEL7", "rotate9:n=150,alpha=0", BY_GMRES},
                                            {"like ECOLOGY2", "grounded2d:n=200", BY_BICGSTAB | BY_GMRES},
                                            {"like TRANSPORT", "transport15:n=30", BY_GMRES},
                                            {"like THERMAL2", "thermal_monkey8K", BY_GMRES},
                                            {"like HOOK_1498", "elas_rod300x33", BY_GMRES},
                                            {"like AF_SHELL10", "elas_mat100x100t40", BY_BICGSTAB | BY_GMRES},
                                            {"like ML_GEER", "elas_Armadillo13K", BY_GMRES}};
enum { N_SYSTEMS = sizeof systems / sizeof *systems };

static const char *thesis_name(const char *matrix)
{
    for (int k = 0; k < N_SYSTEMS; k++)
        if (strcmp(systems[k].matrix, matrix) == 0) return systems[k].thesis;
    for (int k = 0; k < N_TABLE_17; k++)
        if (strcmp(table_17[k].matrix, matrix) == 0) return table_17[k].thesis;
    return NULL;
}

/* ----------------------------------------------------------------- Table 17 */

static trine_status describe_matrix(bench *b, const char *matrix)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix given = NULL, A = NULL;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *found;
    double diagonal = 0, all = 0;
    int64_t longest = 0;
    bench_record r = bench_record_begin("precond", matrix);
    r.dtype = TRINE_D;
    r.impl = "trine";
    r.method = "coverage";
    TRY(bench_read_matrix(b, matrix, &given));
    TRY(trine_matrix_copy(given, &A, TRINE_HOST, TRINE_CSR, TRINE_D));
    TRY(trine_matrix_get_info(A, &info));
    TRY(trine_matrix_get_arrays(A, &offsets, &columns, &found));
    const double *const values = found;
    for (int64_t i = 0; i < info.n_rows; i++) {
        if (offsets[i + 1] - offsets[i] > longest) longest = offsets[i + 1] - offsets[i];
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            all += fabs(values[k]);
            if (columns[k] == i) diagonal += fabs(values[k]);
        }
    }
    const double c_diag = diagonal / all;
    r.n = info.n_rows;
    r.nnz = info.nnz;
    bench_record_add_text(&r, "thesis", thesis_name(matrix));
    bench_record_add_number(&r, "c_diag", c_diag);
    bench_record_add_number(&r, "longest_row", (double)longest);
    for (int k = 0; k < N_TABLE_17; k++)
        if (strcmp(table_17[k].matrix, matrix) == 0) {
            bench_record_add_number(&r, "c_diag_printed", table_17[k].c_diag);
            if (strncmp(table_17[k].thesis, "like", 4) != 0 && !(fabs(c_diag - table_17[k].c_diag) < 0.005))
                bench_record_fail(&r, BENCH_FAILED, "Table 17 prints a diagonal coverage of %.2f", table_17[k].c_diag);
        }
    fprintf(b->table, "  %-34s %9" PRId64 " rows, %10" PRId64 " entries, most in a row %5" PRId64 ", c_diag %.4f  %s\n",
            matrix, r.n, r.nnz, longest, c_diag, r.reason);
done:
    if (status) bench_record_fail(&r, BENCH_SKIPPED, NULL);
    trine_matrix_destroy(&given);
    trine_matrix_destroy(&A);
    return bench_record_write(b, &r);
}

trine_status precond_table_17(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    const int count = b->matrices.count ? b->matrices.count : N_TABLE_17;
    for (int k = 0; k < count; k++)
        TRY(describe_matrix(b, b->matrices.count ? b->matrices.item[k] : table_17[k].matrix));
done:
    return status;
}

/* ---------------------------------------------------------------- histories */

enum { MOST_POINTS = 48, POINT = 40 };

/** "step:residual:error ..." of at most MOST_POINTS steps, the last one among them; both relative. */
static void write_points(const double *residuals, const double *errors, int64_t count, double of, char *text)
{
    const int64_t every = (count + MOST_POINTS - 2) / (MOST_POINTS - 1);
    char *at = text;
    *at = '\0';
    for (int64_t k = 0; k < count; k += k + every < count || k == count - 1 ? every : count - 1 - k)
        at += snprintf(at, POINT, "%s%" PRId64 ":%.3g:%.3g", k ? " " : "", k, residuals[k] / of, errors[k]);
}

/** A solve with the error of every step, as a record. coverage: of sweep figure40, else NAN. */
static trine_status run_history(precond_problem *p, const char *method, double coverage, precond_outcomes *all)
{
    trine_status status = TRINE_SUCCESS;
    precond_run run = {0};
    precond_recipe recipe;
    trine_krylov_result result = {0};
    double *residuals = NULL, *errors = NULL;
    char chosen[64] = "none", points[MOST_POINTS * POINT] = "";
    int64_t count = 0;
    const int64_t kept = PRECOND_MOST_STEPS + 1;
    const trine_krylov_options o = {.max_iterations = PRECOND_MOST_STEPS, .rtol = PRECOND_TOLERANCE, .history = kept};
    const trine_dense B = {p->rhs, p->n, 1, p->n, TRINE_COLMAJOR}, X = {p->x, p->n, 1, p->n, TRINE_COLMAJOR},
                      reference = {p->room, p->n, 1, p->n, TRINE_COLMAJOR};
    bench_record r = precond_record(p, "trine", method, chosen);
    TRY(ALLOC(p->b->ctx, residuals, kept));
    TRY(ALLOC(p->b->ctx, errors, kept));
    TRY(precond_parse(p, method, &recipe));
    if (recipe.has_precond) TRY(precond_set_up(p, &recipe, &run));
    if (recipe.has_precond) TRY(trine_precond_check(run.plan, NULL));
    if (recipe.has_precond)
        snprintf(chosen, sizeof chosen, run.info.m ? "%s:m=%d" : "%s", trine_precond_method_name(run.info.method),
                 run.info.m);
    TRY(precond_make_solver(p, &recipe, &o, &run));
    TRY(trine_copy(p->b->ctx, p->room, p->b->device.space, p->solution, TRINE_HOST,
                   (size_t)p->n * sizeof *p->solution));
    TRY(trine_krylov_set_reference(run.solver, &reference));
    run.start = trine_wall_time();
    run.seconds = p->seconds;
    const trine_status solved = trine_krylov_solve(run.solver, &B, &X, NULL);
    if (solved && solved != TRINE_ERR_NO_CONVERGENCE) TRY(solved);
    TRY(trine_krylov_get_result(run.solver, 0, &result, NULL));
    TRY(trine_krylov_get_history(run.solver, 0, residuals, errors, &count, NULL));
    write_points(residuals, errors, count, p->rhs_norm, points);
    bench_record_add_text(&r, "thesis", thesis_name(p->name));
    const char *const ended =
        result.outcome == TRINE_OUTCOME_CALLBACK_FAILED ? "out of time" : trine_krylov_outcome_name(result.outcome);
    bench_record_add_text(&r, "outcome", ended);
    bench_record_add_number(&r, "iterations", (double)result.steps);
    bench_record_add_number(&r, "m", run.info.m > 1 ? run.info.m : 1);
    bench_record_add_text(&r, "points", points);
    if (!isnan(coverage)) bench_record_add_number(&r, "coverage", coverage);
    precond_keep(all, method,
                 (precond_outcome){.matrix = p->name,
                                   .converged = result.outcome == TRINE_OUTCOME_CONVERGED,
                                   .steps = (double)result.steps});
    fprintf(p->b->table, "  %-22s %5" PRId64 " steps, error %9.3g, %s\n", method, result.steps,
            count ? errors[count - 1] : NAN, ended);
    fflush(p->b->table);
done:
    if (status) {
        bench_record_fail(&r, BENCH_SKIPPED, NULL);
        fprintf(p->b->table, "  %-22s %s\n", method, r.reason);
    }
    precond_end(&run);
    trine_free(p->b->ctx, TRINE_HOST, residuals);
    trine_free(p->b->ctx, TRINE_HOST, errors);
    return bench_record_write(p->b, &r);
}

static trine_status run_histories(precond_problem *p, int shown, precond_outcomes *all)
{
    static const struct {
        int figure;
        const char *methods;
    } lists[] = {
        {BY_GMRES,
         "alt-o:m=1,alt-o:m=2,alt-o:m=3,alt-o:m=4,alt-i:m=1,alt-i:m=2,alt-i:m=3,alt-i:m=4,mos-d:m=1,mos-d:m=2,mos-d:m=3,"
         "mos-d:m=4,mos-a:m=1,mos-a:m=2,mos-a:m=3,mos-a:m=4,isai:m=1,isai:m=2,isai:m=3,diagp0,diagp1,diagp2"},
        {BY_LINES, "adi"},
        {BY_BICGSTAB, "bicgstab/diagp0,bicgstab/tridiag,bicgstab/alg-tri,bicgstab/alg-tri-block"}};
    trine_status status = TRINE_SUCCESS;
    const bench_list *const given = &p->b->methods;
    for (int i = 0; i < given->count; i++) TRY(run_history(p, given->item[i], NAN, all));
    for (int k = 0; k < 3 && !given->count; k++) {
        if (!(shown & lists[k].figure)) continue;
        bench_list methods = bench_list_split(lists[k].methods);
        for (int i = 0; i < methods.count && !status; i++) status = run_history(p, methods.item[i], NAN, all);
        bench_list_free(&methods);
    }
done:
    return status;
}

/** The least m with a coverage of 0.99 (Eq. 53), at most 32, with forests that share no edge. */
static trine_status find_m(const precond_problem *p, int *m, double *coverage)
{
    trine_status status = TRINE_SUCCESS;
    precond_run run = {0};
    trine_precond_diagnosis found;
    const precond_recipe r = {
        .options = {
            .method = TRINE_PRECOND_ALT_I, .m = TRINE_PRECOND_MAX_M, .omega = -1, .coverage = 0.99, .stagnation = -1}};
    TRY(precond_set_up(p, &r, &run));
    TRY(trine_precond_diagnose(run.plan, &found));
    *m = found.m;
    *coverage = found.coverage[found.m - 1];
done:
    precond_end(&run);
    return status;
}

static trine_status run_figure_40(precond_problem *p, int shown, precond_outcomes *all)
{
    static const char *const schemes[] = {"alt-o", "alt-i", "mos-d", "mos-a"};
    trine_status status = TRINE_SUCCESS;
    int m = 0;
    double coverage = 0;
    char method[32];
    if (!(shown & BY_GMRES)) return TRINE_SUCCESS;
    TRY(find_m(p, &m, &coverage));
    fprintf(p->b->table, "  coverage %.4f with %d factors\n", coverage, m);
    for (int k = 0; k < 4; k++) {
        snprintf(method, sizeof method, "%s:m=%d", schemes[k], m);
        TRY(run_history(p, method, coverage, all));
    }
    TRY(run_history(p, "ilu0", coverage, all));
    TRY(run_history(p, "alt-i:m=3", coverage, all)); /* is that better? */
done:
    return status;
}

static trine_status each_system(bench *b, trine_status (*run)(precond_problem *p, int shown, precond_outcomes *all),
                                precond_outcomes *all)
{
    trine_status status = TRINE_SUCCESS;
    const int count = b->matrices.count ? b->matrices.count : N_SYSTEMS;
    for (int k = 0; k < count; k++) {
        const char *const matrix = b->matrices.count ? b->matrices.item[k] : systems[k].matrix;
        int shown = BY_GMRES;
        for (int i = 0; i < N_SYSTEMS; i++)
            if (strcmp(systems[i].matrix, matrix) == 0) shown = systems[i].shown;
        precond_problem p;
        const trine_status opened = precond_open(b, matrix, &p);
        fprintf(b->table, "%s %s\n", matrix, opened ? trine_last_error() : "");
        if (!opened) status = run(&p, shown, all);
        precond_close(&p);
        TRY(status);
    }
done:
    return status;
}

trine_status precond_histories(bench *b)
{
    precond_outcomes all = {0};
    const trine_status status = each_system(b, run_histories, &all);
    precond_forget(&all);
    return status;
}
trine_status precond_figure_40(bench *b)
{
    precond_outcomes all = {0};
    trine_status status = each_system(b, run_figure_40, &all);
    if (!status) status = precond_judge(b, &all, true);
    precond_forget(&all);
    return status;
}
