/* The methods: a plan each, handed out as an operator, and what is known of it. */
#include <stdio.h>
#include <string.h>

#include "solvers.h"

#include "iterative.h"

const struct choice method_choices[] = {{"auto", METHOD_AUTO},
                                        {"cholesky", METHOD_CHOLESKY},
                                        {"cholesky-simplicial", METHOD_CHOLESKY_SIMPLICIAL},
                                        {"ldl", METHOD_LDL},
                                        {"lu", METHOD_LU},
                                        {"lu-umfpack", METHOD_LU_UMFPACK},
                                        {"lu-klu", METHOD_LU_KLU},
                                        {"triangular", METHOD_TRIANGULAR},
                                        {"partitioned-inverse", METHOD_PARTITIONED_INVERSE},
                                        {"tridiagonal", METHOD_TRIDIAGONAL},
                                        {"banded", METHOD_BANDED},
                                        {"cudss", METHOD_CUDSS},
                                        {"gmres", METHOD_GMRES},
                                        {"fgmres", METHOD_FGMRES},
                                        {"bicgstab", METHOD_BICGSTAB},
                                        {"cg", METHOD_CG},
                                        {"minres", METHOD_MINRES},
                                        {NULL, 0}};
const struct choice triangle_choices[] = {{"auto", TRINE_TRI_AUTO},
                                          {"serial", TRINE_TRI_SERIAL},
                                          {"levelset", TRINE_TRI_LEVELSET},
                                          {"syncfree-csr", TRINE_TRI_SYNCFREE_CSR},
                                          {"syncfree-csc", TRINE_TRI_SYNCFREE_CSC},
                                          {"partitioned-inverse", TRINE_TRI_PARTITIONED_INVERSE},
                                          {NULL, 0}};

bool is_factorization(enum method method)
{
    switch (method) {
    case METHOD_AUTO:
    case METHOD_CHOLESKY:
    case METHOD_CHOLESKY_SIMPLICIAL:
    case METHOD_LDL:
    case METHOD_LU:
    case METHOD_LU_UMFPACK:
    case METHOD_LU_KLU:
    case METHOD_CUDSS: return true;
    default: return false;
    }
}

/* -------------------------------------------------------------- triangular */

static trine_status set_up_triangular(const struct problem *p, trine_triangular_method method, unsigned ops,
                                      trine_op *op, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_options options = {
        .other_triangle_is_error = 1, .max_nrhs = p->nrhs, .ops = ops, .method = method, .expected_solves = p->repeat};
    trine_triangular plan = NULL;
    trine_triangular_info info;
    if (!p->structure.lower_triangular && !p->structure.upper_triangular)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is not triangular: it has entries on both sides of the diagonal");
    TRY(trine_triangular_analyse(p->ctx, &plan, p->A, &options));
    TRY(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_triangular_check(plan, NULL));
    TRY(trine_triangular_get_info(plan, &info));
    TRY(trine_triangular_as_op(plan, op));
    o->analyse_seconds = info.analyse_seconds;
    o->numeric_seconds = info.numeric_seconds;
    o->levels_lower = info.uplo == TRINE_LOWER ? info.levels : -1;
    o->levels_upper = info.uplo == TRINE_UPPER ? info.levels : -1;
    const char *uplo = info.uplo == TRINE_LOWER ? "lower" : "upper";
    if (info.steps)
        snprintf(o->kernel, sizeof o->kernel, "%s, %s, %d steps, %.3g times the entries, growth %.3g",
                 trine_triangular_method_name(info.method), uplo, info.steps, (double)info.entries / (double)info.nnz,
                 info.growth);
    else snprintf(o->kernel, sizeof o->kernel, "%s, %s", trine_triangular_method_name(info.method), uplo);
done:
    trine_triangular_destroy(&plan);
    return status;
}

/* --------------------------------------------------- tridiagonal and banded */

/** Of a singular matrix the banded solve on the CPU says so itself; the others take any pivot, and so it is asked
 *  beforehand. */
static trine_status set_up_bands(const struct problem *p, trine_bands bands, trine_op *op, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    const trine_tridiagonal_options options = {.bands = bands, .max_nrhs = p->nrhs};
    trine_tridiagonal plan = NULL;
    trine_tridiagonal_info info;
    TRY(trine_tridiagonal_analyse(p->ctx, &plan, p->A, &options));
    TRY(trine_tridiagonal_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_tridiagonal_get_info(plan, &info));
    if (bands == TRINE_BANDS_TRIDIAGONAL || p->on_gpu) TRY(trine_tridiagonal_check(plan, NULL));
    TRY(trine_tridiagonal_as_op(plan, op));
    o->numeric_seconds = info.analyse_seconds + info.numeric_seconds;
    const char *cyclic = info.cyclic ? ", cyclic" : "";
    if (bands == TRINE_BANDS_TRIDIAGONAL)
        snprintf(o->kernel, sizeof o->kernel, "partitioned, scaled partial pivoting%s", cyclic);
    else
        snprintf(o->kernel, sizeof o->kernel, "%d bands below and %d above the diagonal, scaled partial pivoting%s",
                 info.kl, info.ku, cyclic);
done:
    trine_tridiagonal_destroy(&plan);
    return status;
}

/* ----------------------------------------------------------- Cholesky and LU */

static const struct direct_library *library;

/** Adds ", 812 panels in L", and how many of them are not inverted as the others are. */
static int add_panels(char *text, size_t size, const trine_supernodal_info *info, const char *triangle)
{
    int used = snprintf(text, size, ", %s panels in %s", grouped(info->panels_merged), triangle);
    if (info->invert != TRINE_INVERT_NONE && info->substituted_panels > 0)
        used += snprintf(text + used, size - (size_t)used, ", %s of them by substitution",
                         grouped(info->substituted_panels));
    return used;
}

static const char *factoring_library(trine_direct_method method)
{
    switch (method) {
    case TRINE_DIRECT_CUDSS: return "cuDSS";
    case TRINE_DIRECT_LU: return "SuperLU";
    case TRINE_DIRECT_LU_UMFPACK: return "UMFPACK";
    case TRINE_DIRECT_LU_KLU: return "KLU";
    default: return "CHOLMOD";
    }
}

/** What solves: "supernodal, 812 panels in L" or the methods' names. */
static void describe_kernel(const trine_direct_info *info, char *text, size_t size)
{
    const bool lu = info->factor.diag_L == TRINE_UNIT;
    if (info->solver == TRINE_SOLVER_LIBRARY) {
        snprintf(text, size, "%s's own", factoring_library(info->factor.method));
    } else if (info->solver == TRINE_SOLVER_SUPERNODAL) {
        static const char *const inverted[] = {[TRINE_INVERT_NONE] = "",
                                               [TRINE_INVERT_OFF] = ", inverted",
                                               [TRINE_INVERT_DIAG] = ", diagonal blocks inverted"};
        int used = snprintf(text, size, "supernodal%s%s", info->lower_panels.single ? ", in single precision" : "",
                            inverted[info->lower_panels.invert]);
        used += add_panels(text + used, size - (size_t)used, &info->lower_panels, "L");
        if (lu) used += add_panels(text + used, size - (size_t)used, &info->upper_panels, "U");
        const int64_t entries = info->lower_panels.nnz_merged + (lu ? info->upper_panels.nnz_merged : 0);
        snprintf(text + used, size - (size_t)used, ", %.2f stored entries for one of the factor",
                 (double)entries / (double)(info->factor.nnz_L + (lu ? info->factor.nnz_U : 0)));
    } else {
        snprintf(text, size, "L by %s, %s by %s", trine_triangular_method_name(info->lower.method), lu ? "U" : "L^H",
                 trine_triangular_method_name(info->upper.method));
    }
}

static void report_direct(const trine_direct_info *info, trine_direct_method method, struct outcome *o)
{
    const trine_factor_info *F = &info->factor;
    o->method = library->method_name(F->method);
    if (method == TRINE_DIRECT_AUTO) snprintf(o->reason, sizeof o->reason, "%s", F->reason);
    o->ordering = library->ordering_name(F->ordering);
    o->nnz_factor = F->nnz_L + F->nnz_U - F->n;
    o->fill = F->fill;
    o->supernodal = info->solver == TRINE_SOLVER_SUPERNODAL;
    o->solver = choice_name(solver_choices, info->solver);
    snprintf(o->solver_reason, sizeof o->solver_reason, "%s", info->reason);
    o->trial_error = F->trial_error;
    o->plan_refine = F->refine;
    o->analyse_seconds = o->numeric_seconds = -1;
    if (info->solver != TRINE_SOLVER_LIBRARY) {
        o->analyse_seconds = info->analyse_seconds;
        o->numeric_seconds = info->numeric_seconds;
        o->levels_lower = o->supernodal ? info->lower_panels.levels_merged : info->lower.levels;
        o->levels_upper = o->supernodal ? info->upper_panels.levels_merged : info->upper.levels;
    }
    o->order_seconds = F->order_seconds;
    o->symbolic_seconds = F->symbolic_seconds;
    o->factor_seconds = F->factor_seconds;
    describe_kernel(info, o->kernel, sizeof o->kernel);
}

/** The order of the columns that the plan's factorization took, where somebody wants it. */
static trine_status copy_order(const struct problem *p, trine_direct plan, struct inverse *inverse)
{
    trine_status status = TRINE_SUCCESS;
    const int32_t *order;
    if (!p->factoring->permutation_out) return TRINE_SUCCESS;
    TRY(library->get_permutations(plan, NULL, &order, NULL, NULL));
    if (!order) FAIL(TRINE_ERR_UNSUPPORTED, "--permutation-out: this factorization keeps its order to itself");
    TRY(trine_alloc(p->ctx, TRINE_HOST, (size_t)p->n * sizeof *order, (void **)&inverse->order));
    memcpy(inverse->order, order, (size_t)p->n * sizeof *order);
done:
    return status;
}

/** With the right-hand sides at once: those asked for, and those that an estimate of the condition takes. */
static int64_t expected_solves(const struct problem *p)
{
    enum { OF_ESTIMATE = 10 }; /* right-hand sides: most matrices take 8 to 16 */
    return p->repeat + (p->adjoint ? (OF_ESTIMATE + p->nrhs - 1) / p->nrhs : 0);
}

static trine_status set_up_direct(const struct problem *p, trine_direct_method method, unsigned ops,
                                  struct inverse *inverse, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_direct plan = NULL;
    trine_direct_info info;
    const struct factoring_options *f = p->factoring;
    /* H costs the panels nothing, and Cholesky nothing; the general solves of LU keep a second copy of the factor
     * for it. */
    const trine_direct_options options = {
        .factor = {.method = method,
                   .ordering = (trine_ordering)f->ordering,
                   .pivot_threshold = f->pivot_threshold,
                   .need_panels = p->single_factor || f->solver == TRINE_SOLVER_SUPERNODAL,
                   .permutation = p->order},
        .triangular = {.max_nrhs = p->nrhs, .method = p->triangles, .expected_solves = expected_solves(p)},
        .solver = (trine_direct_solver)f->solver,
        .supernodal = {.single = p->single_factor},
        .ops = p->adjoint ? ops | TRINE_H : ops};
    /* to compare other solves with it, or to take it in double precision */
    const bool keeps_factor = options.solver != TRINE_SOLVER_LIBRARY && (p->repeat != 1 || p->single_factor);
    TRY(direct_load(&library));
    if (!keeps_factor) {
        TRY(library->create(p->ctx, &plan, p->A, &options));
    } else {
        if (!inverse->factor) TRY(library->factor(p->ctx, &inverse->factor, p->A, &options.factor));
        TRY(library->create_from_factor(p->ctx, &plan, inverse->factor, p->A, &options));
    }
    TRY(library->get_info(plan, &info));
    TRY(library->as_op(plan, &inverse->op));
    TRY(copy_order(p, plan, inverse));
    report_direct(&info, method, o);
done:
    if (plan) library->destroy(&plan);
    return status;
}

/* -------------------------------------------------------------- the inverse */

static void drop_operator(const struct problem *p, struct inverse *inverse)
{
    trine_work_destroy(&inverse->work);
    trine_op_destroy(&inverse->op);
    trine_free(p->ctx, TRINE_HOST, inverse->order);
    inverse->order = NULL;
}

/** The work with which it is applied. */
static trine_status complete(const struct problem *p, struct inverse *inverse)
{
    return trine_op_work(inverse->op, p->nrhs, NULL, NULL, &inverse->work);
}

trine_status set_up_inverse(const struct problem *p, enum method method, unsigned ops, struct inverse *inverse,
                            struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    drop_operator(p, inverse);
    if (is_iterative(method)) return set_up_iteration(p, method, p->iteration, &inverse->iteration, o);
    switch (method) {
    case METHOD_AUTO: TRY(set_up_direct(p, TRINE_DIRECT_AUTO, ops, inverse, o)); break;
    case METHOD_CHOLESKY: TRY(set_up_direct(p, TRINE_DIRECT_CHOLESKY, ops, inverse, o)); break;
    case METHOD_CHOLESKY_SIMPLICIAL: TRY(set_up_direct(p, TRINE_DIRECT_CHOLESKY_SIMPLICIAL, ops, inverse, o)); break;
    case METHOD_LDL: TRY(set_up_direct(p, TRINE_DIRECT_LDL, ops, inverse, o)); break;
    case METHOD_LU: TRY(set_up_direct(p, TRINE_DIRECT_LU, ops, inverse, o)); break;
    case METHOD_CUDSS: TRY(set_up_direct(p, TRINE_DIRECT_CUDSS, ops, inverse, o)); break;
    case METHOD_LU_UMFPACK: TRY(set_up_direct(p, TRINE_DIRECT_LU_UMFPACK, ops, inverse, o)); break;
    case METHOD_LU_KLU: TRY(set_up_direct(p, TRINE_DIRECT_LU_KLU, ops, inverse, o)); break;
    case METHOD_TRIANGULAR: TRY(set_up_triangular(p, p->triangles, ops, &inverse->op, o)); break;
    case METHOD_PARTITIONED_INVERSE:
        TRY(set_up_triangular(p, TRINE_TRI_PARTITIONED_INVERSE, ops, &inverse->op, o));
        break;
    case METHOD_TRIDIAGONAL: TRY(set_up_bands(p, TRINE_BANDS_TRIDIAGONAL, &inverse->op, o)); break;
    case METHOD_BANDED: TRY(set_up_bands(p, TRINE_BANDS_GENERAL, &inverse->op, o)); break;
    default: break;
    }
    TRY(complete(p, inverse));
done:
    return status;
}

trine_status set_up_general(const struct problem *p, const struct inverse *inverse, struct inverse *general,
                            double *seconds)
{
    trine_status status = TRINE_SUCCESS;
    const trine_direct_options options = {.triangular = {.max_nrhs = p->nrhs}, .solver = TRINE_SOLVER_GENERAL};
    trine_direct plan = NULL;
    trine_direct_info info;
    *general = (struct inverse){0};
    TRY(library->create_from_factor(p->ctx, &plan, inverse->factor, p->A, &options));
    TRY(library->get_info(plan, &info));
    TRY(library->as_op(plan, &general->op));
    TRY(complete(p, general));
    *seconds = info.analyse_seconds + info.numeric_seconds;
done:
    library->destroy(&plan);
    return status;
}

trine_status apply_inverse(const struct inverse *inverse, trine_transpose op, const trine_dense *B,
                           const trine_dense *X)
{
    if (inverse->iteration) return iterate(inverse->iteration, B, X);
    const trine_exec exec = {.work = inverse->work};
    return trine_op_apply(inverse->op, op, NULL, B, NULL, X, &exec);
}

void destroy_inverse(const struct problem *p, struct inverse *inverse)
{
    destroy_iteration(&inverse->iteration);
    drop_operator(p, inverse);
    if (inverse->factor) library->factor_destroy(&inverse->factor);
}

/* ------------------------------------------------------------------ choice */

enum { MAX_BANDS = 8 }; /* on either side of the diagonal, of the banded solve */

enum method choose_method(const struct problem *p, enum method method, const char **reason)
{
    const trine_matrix_structure *s = &p->structure;
    *reason = "asked for";
    if (method == METHOD_AUTO && p->iteration->precond_given) return METHOD_ITERATIVE;
    if (method == METHOD_AUTO && !p->factoring->given) {
        if (s->lower_triangular || s->upper_triangular) {
            method = METHOD_TRIANGULAR;
            *reason = s->lower_triangular && s->upper_triangular ? "the matrix is diagonal"
                      : s->lower_triangular                      ? "the matrix is lower triangular"
                                                                 : "the matrix is upper triangular";
        } else if (p->triangles) {
            return METHOD_AUTO; /* which bands have none of */
        } else if ((s->lower_bandwidth <= 1 && s->upper_bandwidth <= 1) || s->cyclic_tridiagonal) {
            method = METHOD_TRIDIAGONAL;
            *reason = s->lower_bandwidth > 1 || s->upper_bandwidth > 1 ? "the matrix is cyclic tridiagonal"
                                                                       : "the matrix is tridiagonal";
        } else if (s->lower_bandwidth <= MAX_BANDS && s->upper_bandwidth <= MAX_BANDS) {
            method = METHOD_BANDED;
            *reason = "the matrix has at most 8 bands on either side of the diagonal";
        }
    }
    return method;
}
