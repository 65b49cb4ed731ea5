/* `trine solve` by a Krylov solver. */
#include "iterative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convergence_plot.h"

enum { DEFAULT_STEPS = 10000, MOST_STEPS = 100000000, MOST_RESTART = 100000 };

static error_t parse_grid(struct argp_state *state, const char *arg, int *nx, int *ny)
{
    const long most = 1 << 30;
    char *end;
    long x = strtol(arg, &end, 10), y = 0;
    if (*end == 'x') y = strtol(end + 1, &end, 10);
    if (*end || x < 1 || y < 1 || x > most || y > most)
        return refuse(state, "--grid \"%s\" is not NXxNY, as 100x80", arg);
    *nx = (int)x;
    *ny = (int)y;
    return 0;
}

error_t parse_iteration(int key, char *arg, struct argp_state *state, struct iteration_options *o)
{
    switch (key) {
    case KEY_PRECOND:
        o->given = "--precond";
        o->precond_given = true;
        return choose(state, "--precond", arg, preconditioner_choices, &o->precond.method);
    case KEY_FACTORS: o->given = "--m"; return parse_count(state, "--m", arg, 1, TRINE_PRECOND_MAX_M, &o->precond.m);
    case KEY_GRID: o->given = "--grid"; return parse_grid(state, arg, &o->precond.nx, &o->precond.ny);
    case KEY_RESTART: o->given = "--restart"; return parse_count(state, "--restart", arg, 1, MOST_RESTART, &o->restart);
    case KEY_TOLERANCE: o->given = "--tol"; return parse_fraction(state, "--tol", arg, false, &o->tolerance);
    case KEY_MOST_STEPS: o->given = "--maxit"; return parse_count(state, "--maxit", arg, 1, MOST_STEPS, &o->most_steps);
    case KEY_MIXED:
        o->given = "--mixed";
        o->mixed = true;
        return 0;
    case KEY_PLOT:
        o->given = "--plot";
        o->plot = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ------------------------------------------------------------------ set-up */

static trine_krylov_method krylov_method(enum method method)
{
    switch (method) {
    case METHOD_GMRES: return TRINE_KRYLOV_GMRES;
    case METHOD_FGMRES: return TRINE_KRYLOV_FGMRES;
    case METHOD_BICGSTAB: return TRINE_KRYLOV_BICGSTAB;
    case METHOD_CG: return TRINE_KRYLOV_CG;
    case METHOD_MINRES: return TRINE_KRYLOV_MINRES;
    default: return TRINE_KRYLOV_AUTO;
    }
}
bool is_iterative(enum method method) { return method == METHOD_ITERATIVE || krylov_method(method); }

/** Progress, some times a second. */
static trine_status show(void *user, int64_t rhs, int64_t step, double residual)
{
    struct iteration *it = user;
    const double time = trine_wall_time(), often = 0.2;
    if (time - it->shown < often) return TRINE_SUCCESS;
    if (it->shown > 0) {
        fprintf(stderr, "\r%s: step %s, right-hand side %lld: residual %.3e \033[K",
                trine_krylov_method_name(it->info.method), grouped(step), (long long)rhs, residual);
        it->is_shown = true;
    }
    it->shown = time;
    return TRINE_SUCCESS;
}

/** Products with A, which stays alive by them, in its precision or another. */
static trine_status product_op(trine_context ctx, trine_matrix A, trine_op *op, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_spmv plan = NULL;
    trine_spmv_info info;
    TRY(trine_spmv_analyse(ctx, &plan, A, NULL));
    TRY(trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_spmv_get_info(plan, &info));
    TRY(trine_spmv_as_op(plan, op));
    o->analyse_seconds = fmax(o->analyse_seconds, 0) + info.analyse_seconds;
    o->numeric_seconds = fmax(o->numeric_seconds, 0) + info.numeric_seconds;
done:
    trine_spmv_destroy(&plan);
    return status;
}

static void describe(const struct iteration *it, enum method asked, const char *reason, struct outcome *o)
{
    const trine_krylov_info *info = &it->info;
    o->method = trine_krylov_method_name(info->method);
    if (asked == METHOD_ITERATIVE) snprintf(o->reason, sizeof o->reason, "a preconditioner is asked for");
    int used = snprintf(o->kernel, sizeof o->kernel, "preconditioner %s", it->precond);
    if (it->o->precond.method == TRINE_PRECOND_AUTO && *reason)
        used += snprintf(o->kernel + used, sizeof o->kernel - (size_t)used, " (%s)", reason);
    if (info->restart)
        used += snprintf(o->kernel + used, sizeof o->kernel - (size_t)used, ", restart %d", info->restart);
    snprintf(o->kernel + used, sizeof o->kernel - (size_t)used, "%s, tolerance %g",
             it->o->mixed ? ", cycles in single precision" : "", it->o->tolerance);
}

trine_status set_up_iteration(const struct problem *p, enum method method, const struct iteration_options *options,
                              struct iteration **out, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dtype t = p->info.dtype, single = t == TRINE_Z ? TRINE_C : TRINE_S;
    trine_op A = NULL, inner_A = NULL;
    trine_matrix rounded = NULL;
    struct preconditioner M = {0};
    struct iteration *it = calloc(1, sizeof *it);
    if (!it) FAIL(TRINE_ERR_MEMORY, "no memory for a solver");
    it->o = options;
    it->nrhs = p->nrhs;
    if (options->mixed && t != TRINE_D && t != TRINE_Z)
        FAIL(TRINE_ERR_UNSUPPORTED, "--mixed is for double precision, not for precision %s",
             choice_name(precision_choices, (int)t));
    if ((method == METHOD_CG || method == METHOD_MINRES) && !p->structure.hermitian)
        FAIL(TRINE_ERR_ARGUMENT, "%s is for Hermitian matrices, and this one is not; gmres and bicgstab are for any",
             choice_name(method_choices, (int)method));
    TRY(product_op(p->ctx, p->A, &A, o));
    if (options->mixed) {
        TRY(trine_matrix_copy(p->A, &rounded, TRINE_HOST, TRINE_CSR, single));
        TRY(product_op(p->ctx, rounded, &inner_A, o));
    }
    TRY(make_preconditioner(p, &options->precond, &M));
    if (M.m) snprintf(it->precond, sizeof it->precond, "%s, m = %d", M.name, M.m);
    else snprintf(it->precond, sizeof it->precond, "%s", M.name);
    if ((method == METHOD_CG || method == METHOD_MINRES) && M.count && !M.hermitian)
        snprintf(it->advice, sizeof it->advice, "; %s takes Hermitian preconditioners, and %s is none: gmres takes any",
                 choice_name(method_choices, (int)method), M.name);
    o->analyse_seconds += M.analyse_seconds;
    o->numeric_seconds += M.numeric_seconds;
    const int most = options->most_steps ? options->most_steps : DEFAULT_STEPS;
    const trine_krylov_options k = {.method = krylov_method(method),
                                    .restart = options->restart,
                                    .max_iterations = most,
                                    .rtol = options->tolerance,
                                    .inner = options->mixed ? single : (trine_dtype)0,
                                    .inner_A = inner_A,
                                    .max_nrhs = p->nrhs,
                                    .history = (int64_t)most + 1};
    if (M.count > 1) TRY(trine_krylov_create_alternating(p->ctx, &it->solver, A, M.count, M.M, &k));
    else TRY(trine_krylov_create(p->ctx, &it->solver, A, M.count ? M.M[0] : NULL, &k));
    TRY(trine_krylov_get_info(it->solver, &it->info));
    if (isatty(STDERR_FILENO)) TRY(trine_krylov_set_monitor(it->solver, show, it));
    describe(it, method, M.reason, o);
    *out = it;
    it = NULL;
done:
    destroy_iteration(&it);
    destroy_preconditioner(&M);
    trine_op_destroy(&A);
    trine_op_destroy(&inner_A);
    trine_matrix_destroy(&rounded);
    return status;
}

void destroy_iteration(struct iteration **it)
{
    if (!*it) return;
    trine_krylov_destroy(&(*it)->solver);
    free(*it);
    *it = NULL;
}

/* ------------------------------------------------------------------- solve */

trine_status iterate(struct iteration *it, const trine_dense *B, const trine_dense *X)
{
    const trine_status status = trine_krylov_solve(it->solver, B, X, NULL);
    if (it->is_shown) fprintf(stderr, "\r\033[K");
    it->is_shown = false;
    it->shown = 0;
    it->failure[0] = '\0';
    if (status != TRINE_ERR_NO_CONVERGENCE) return status;
    snprintf(it->failure, sizeof it->failure, "%s%s", trine_last_error(), it->advice);
    return TRINE_SUCCESS;
}

/** The right-hand side that has the last word: the first that did not converge, else the one of most steps. */
static int64_t slowest(const struct iteration *it, trine_krylov_result *result)
{
    int64_t found = 0;
    for (int64_t c = 0; c < it->nrhs; c++) {
        trine_krylov_result r;
        if (trine_krylov_get_result(it->solver, c, &r, NULL)) break;
        if (c == 0 || (r.outcome && !result->outcome) || (!r.outcome && !result->outcome && r.steps > result->steps)) {
            *result = r;
            found = c;
        }
    }
    return found;
}

void print_iteration_text(const struct iteration *it)
{
    trine_krylov_result r = {0};
    const int64_t c = slowest(it, &r);
    printf("iteration       %s after %s step%s", trine_krylov_outcome_name(r.outcome), grouped(r.steps),
           r.steps == 1 ? "" : "s");
    if (it->info.m > 1) printf(" (%s of %d)", grouped(r.iterations), it->info.m);
    printf(", %s restart%s", grouped(r.restarts), r.restarts == 1 ? "" : "s");
    if (r.rhs_norm > 0) printf("; residual %.3g of b in the 2-norm", r.residual / r.rhs_norm);
    if (it->nrhs > 1) printf(" (right-hand side %lld)", (long long)c);
    printf("\n");
}

/** Room for a history; NULL: none. */
static double *history_of(const struct iteration *it, int64_t c, double **errors, int64_t *count)
{
    const int64_t most = (it->o->most_steps ? it->o->most_steps : DEFAULT_STEPS) + 1;
    double *residuals = malloc(2 * (size_t)most * sizeof *residuals);
    *count = 0;
    if (!residuals) return NULL;
    *errors = residuals + most;
    if (trine_krylov_get_history(it->solver, c, residuals, *errors, count, NULL)) *count = 0;
    return residuals;
}

void print_iteration_json(const struct iteration *it)
{
    trine_krylov_result r = {0};
    int64_t count;
    double *errors = NULL, *residuals = history_of(it, slowest(it, &r), &errors, &count);
    json_string("outcome", trine_krylov_outcome_name(r.outcome));
    json_string("precond", it->precond);
    json_integer("steps", r.steps);
    json_integer("iterations", r.iterations);
    json_integer("restarts", r.restarts);
    json_integer("restart", it->info.restart);
    json_boolean("mixed", it->o->mixed);
    json_number("tolerance", it->o->tolerance);
    json_number("rhs_norm", r.rhs_norm);
    json_numbers("history", residuals, count);
    free(residuals);
}

trine_status plot_iteration(struct iteration *it, const trine_dense *B, const trine_dense *X, const trine_dense *known)
{
    trine_status status = TRINE_SUCCESS;
    trine_krylov_result r = {0};
    int64_t count;
    double *errors = NULL, *residuals = NULL;
    TRY(trine_krylov_set_monitor(it->solver, NULL, NULL));
    TRY(trine_krylov_set_reference(it->solver, known));
    TRY(iterate(it, B, X));
    TRY(trine_krylov_set_reference(it->solver, &(trine_dense){0}));
    residuals = history_of(it, slowest(it, &r), &errors, &count);
    if (!residuals) FAIL(TRINE_ERR_MEMORY, "no memory for the history");
    for (int64_t k = 0; k < count && r.rhs_norm > 0; k++) residuals[k] /= r.rhs_norm;
    TRY(write_convergence(it->o->plot, trine_krylov_method_name(it->info.method), count, residuals,
                          known->data ? errors : NULL, it->o->tolerance));
done:
    free(residuals);
    return status;
}
