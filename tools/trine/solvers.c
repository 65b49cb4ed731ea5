/* Triangular, Cholesky and LU; which of all solvers is taken. Tridiagonal and banded: bands.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solvers.h"

const struct choice method_choices[] = {{"auto", METHOD_AUTO}, {"cholesky", METHOD_CHOLESKY}, {"lu", METHOD_LU},
                                        {"triangular", METHOD_TRIANGULAR}, {"tridiagonal", METHOD_TRIDIAGONAL},
                                        {"banded", METHOD_BANDED}, {NULL, 0}};

/* -------------------------------------------------------------- triangular */

struct triangular {
    trine_triangular plan, adjoint; /* a plan for each, so that the times are those of A alone */
};

static trine_status triangular_plan(const struct problem *p, trine_transpose op, trine_triangular *plan)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_options options = {.other_triangle_is_error = 1, .max_nrhs = p->nrhs, .ops = op};
    TRY(trine_triangular_analyse(p->ctx, plan, p->A, &options));
    TRY(trine_triangular_numeric(*plan, TRINE_HOST, NULL, NULL));
    TRY(trine_triangular_check(*plan, NULL));
done:
    return status;
}

static trine_status triangular_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_triangular_info info;
    struct triangular *s = calloc(1, sizeof *s);
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    TRY(triangular_plan(p, TRINE_N, &s->plan));
    TRY(trine_triangular_get_info(s->plan, &info));
    o->analyse_seconds = info.analyse_seconds;
    o->numeric_seconds = info.numeric_seconds;
    o->levels_lower = info.uplo == TRINE_LOWER ? info.levels : -1;
    o->levels_upper = info.uplo == TRINE_UPPER ? info.levels : -1;
    snprintf(o->kernel, sizeof o->kernel, "%s, %s", trine_triangular_method_name(info.method), info.uplo == TRINE_LOWER ? "lower" : "upper");
done:
    *state = s;
    return status;
}

static trine_status triangular_set_up_adjoint(const struct problem *p, void *state)
{
    return triangular_plan(p, TRINE_H, &((struct triangular *)state)->adjoint);
}

static trine_status triangular_solve(void *state, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    const struct triangular *s = state;
    return trine_triangular_solve(op == TRINE_N ? s->plan : s->adjoint, op, NULL, B, X, NULL);
}

static void triangular_destroy(void *state)
{
    struct triangular *s = state;
    if (!s) return;
    trine_triangular_destroy(&s->plan);
    trine_triangular_destroy(&s->adjoint);
    free(s);
}

static const struct solver triangular = {.setup = triangular_setup, .solve = triangular_solve, .set_up_adjoint = triangular_set_up_adjoint,
                                         .destroy = triangular_destroy};

/* ----------------------------------------------------------- Cholesky and LU */

static const struct direct_library *library;

struct direct {
    trine_factor F;
    trine_direct plan;
};

static void direct_destroy(void *state)
{
    struct direct *d = state;
    if (!d) return;
    library->destroy(&d->plan);
    library->factor_destroy(&d->F);
    free(d);
}

/** Adds ", 812 panels in L", and how many of them are not inverted as the others are. */
static int add_panels(char *text, size_t size, const trine_supernodal_info *info, const char *triangle)
{
    int used = snprintf(text, size, ", %s panels in %s", grouped(info->panels_merged), triangle);
    if (info->invert != TRINE_INVERT_NONE && info->substituted_panels > 0)
        used += snprintf(text + used, size - (size_t)used, ", %s of them by substitution", grouped(info->substituted_panels));
    return used;
}

/** What solves: "supernodal, 812 panels in L" or the methods' names. */
static void describe_kernel(const trine_direct_info *info, char *text, size_t size)
{
    const bool lu = info->factor.diag_L == TRINE_UNIT;
    if (info->solver == TRINE_SOLVER_SUPERNODAL) {
        static const char *const inverted[] = {[TRINE_INVERT_NONE] = "", [TRINE_INVERT_OFF] = ", inverted", [TRINE_INVERT_DIAG] = ", diagonal blocks inverted"};
        int used = snprintf(text, size, "supernodal%s%s", info->lower_panels.single ? ", in single precision" : "", inverted[info->lower_panels.invert]);
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

static trine_status direct_setup(const struct problem *p, trine_direct_method method, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    struct direct *d = NULL;
    trine_direct_info info;
    /* H costs the panels nothing, and Cholesky nothing; the general solves of LU keep a second copy of the factor for it. */
    const trine_direct_options options = {.triangular = {.max_nrhs = p->nrhs}, .supernodal = {.single = p->single_factor},
                                          .ops = p->adjoint ? TRINE_N | TRINE_H : TRINE_N};
    TRY(direct_load(&library));
    d = calloc(1, sizeof *d);
    if (!d) FAIL(TRINE_ERR_MEMORY, "no memory");
    TRY(library->factor(p->ctx, &d->F, p->A, &(trine_factor_options){.method = method, .ordering = p->ordering}));
    TRY(library->create(p->ctx, &d->plan, d->F, p->A, &options));
    TRY(library->get_info(d->plan, &info));
    o->method = info.factor.method == TRINE_DIRECT_CHOLESKY ? "cholesky" : info.factor.method == TRINE_DIRECT_LU ? "lu" : library->method_name(info.factor.method);
    if (method == TRINE_DIRECT_AUTO) snprintf(o->reason, sizeof o->reason, "%s", info.factor.reason);
    o->ordering = library->ordering_name(info.factor.ordering);
    o->nnz_factor = info.factor.nnz_L + info.factor.nnz_U - info.factor.n;
    o->fill = info.factor.fill;
    o->supernodal = info.solver == TRINE_SOLVER_SUPERNODAL;
    o->levels_lower = o->supernodal ? info.lower_panels.levels_merged : info.lower.levels;
    o->levels_upper = o->supernodal ? info.upper_panels.levels_merged : info.upper.levels;
    o->order_seconds = info.factor.order_seconds;
    o->factor_seconds = info.factor.factor_seconds;
    o->analyse_seconds = info.analyse_seconds;
    o->numeric_seconds = info.numeric_seconds;
    describe_kernel(&info, o->kernel, sizeof o->kernel);
done:
    *state = d;
    return status;
}

static trine_status direct_set_up_general(const struct problem *p, void *state, void **other, double *seconds)
{
    trine_status status = TRINE_SUCCESS;
    const trine_direct_options options = {.triangular = {.max_nrhs = p->nrhs}, .solver = TRINE_SOLVER_GENERAL};
    trine_direct_info info;
    struct direct *d = calloc(1, sizeof *d);
    if (!d) FAIL(TRINE_ERR_MEMORY, "no memory");
    TRY(library->create(p->ctx, &d->plan, ((struct direct *)state)->F, p->A, &options));
    TRY(library->get_info(d->plan, &info));
    *seconds = info.analyse_seconds + info.numeric_seconds;
done:
    *other = d;
    return status;
}

static trine_status direct_auto_setup(const struct problem *p, void **state, struct outcome *o)
{
    return direct_setup(p, TRINE_DIRECT_AUTO, state, o);
}
static trine_status cholesky_setup(const struct problem *p, void **state, struct outcome *o)
{
    return direct_setup(p, TRINE_DIRECT_CHOLESKY, state, o);
}
static trine_status lu_setup(const struct problem *p, void **state, struct outcome *o) { return direct_setup(p, TRINE_DIRECT_LU, state, o); }

static trine_status direct_solve(void *state, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    return library->solve(((struct direct *)state)->plan, op, B, X, NULL);
}

#define DIRECT_SOLVER(setup_function) \
    {.setup = setup_function, .solve = direct_solve, .destroy = direct_destroy, .set_up_general = direct_set_up_general}
static const struct solver direct_auto = DIRECT_SOLVER(direct_auto_setup);
static const struct solver cholesky = DIRECT_SOLVER(cholesky_setup);
static const struct solver lu = DIRECT_SOLVER(lu_setup);

/* ------------------------------------------------------------------ choice */

const struct solver *choose_solver(const struct problem *p, enum method method, enum method *chosen, const char **reason)
{
    static const struct solver *const solvers[] = {&direct_auto, &cholesky, &lu, &triangular, &tridiagonal_solver, &banded_solver};
    const trine_matrix_structure *s = &p->structure;
    *reason = "asked for";
    if (method == METHOD_AUTO) {
        if (s->lower_triangular || s->upper_triangular) {
            method = METHOD_TRIANGULAR;
            *reason = s->lower_triangular && s->upper_triangular ? "the matrix is diagonal"
                    : s->lower_triangular                        ? "the matrix is lower triangular"
                                                                 : "the matrix is upper triangular";
        } else if ((s->lower_bandwidth <= 1 && s->upper_bandwidth <= 1) || s->cyclic_tridiagonal) {
            method = METHOD_TRIDIAGONAL;
            *reason = s->lower_bandwidth > 1 || s->upper_bandwidth > 1 ? "the matrix is cyclic tridiagonal" : "the matrix is tridiagonal";
        } else if (s->lower_bandwidth <= MAX_BANDS && s->upper_bandwidth <= MAX_BANDS) {
            method = METHOD_BANDED;
            *reason = "the matrix has at most 8 bands on either side of the diagonal";
        }
    }
    *chosen = method;
    return solvers[method];
}
