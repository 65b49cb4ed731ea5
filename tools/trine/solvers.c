/* Triangular, tridiagonal, banded, Cholesky and LU behind one table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "solvers.h"

const struct choice method_choices[] = {{"auto", METHOD_AUTO}, {"cholesky", METHOD_CHOLESKY}, {"lu", METHOD_LU},
                                        {"triangular", METHOD_TRIANGULAR}, {"tridiagonal", METHOD_TRIDIAGONAL},
                                        {"banded", METHOD_BANDED}, {NULL, 0}};

/* -------------------------------------------------------------- triangular */

static trine_status triangular_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_triangular plan = NULL;
    trine_triangular_info info;
    const trine_triangular_options options = {.other_triangle_is_error = 1, .max_nrhs = p->nrhs};
    TRY(trine_triangular_analyse(p->ctx, &plan, p->A, &options));
    TRY(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_triangular_check(plan, NULL));
    TRY(trine_triangular_get_info(plan, &info));
    o->analyse_seconds = info.analyse_seconds;
    o->numeric_seconds = info.numeric_seconds;
    o->levels_lower = info.uplo == TRINE_LOWER ? info.levels : -1;
    o->levels_upper = info.uplo == TRINE_UPPER ? info.levels : -1;
    snprintf(o->kernel, sizeof o->kernel, "%s, %s", trine_triangular_method_name(info.method), info.uplo == TRINE_LOWER ? "lower" : "upper");
done:
    *state = plan;
    return status;
}

static trine_status triangular_solve(void *state, const trine_dense *B, const trine_dense *X)
{
    return trine_triangular_solve(state, TRINE_N, NULL, B, X, NULL);
}

static void triangular_destroy(void *state)
{
    trine_triangular plan = state;
    trine_triangular_destroy(&plan);
}

static const struct solver triangular = {triangular_setup, triangular_solve, triangular_destroy};

/* ----------------------------------------------------------- Cholesky and LU */

static const struct direct_library *library;

static trine_status direct_setup(const struct problem *p, trine_direct_method method, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_direct plan = NULL;
    trine_direct_info info;
    const trine_direct_options options = {.factor = {.method = method, .ordering = p->ordering}, .triangular = {.max_nrhs = p->nrhs}};
    TRY(direct_load(&library));
    TRY(library->create(p->ctx, &plan, p->A, &options));
    TRY(library->get_info(plan, &info));
    o->method = info.factor.method == TRINE_DIRECT_CHOLESKY ? "cholesky" : info.factor.method == TRINE_DIRECT_LU ? "lu" : library->method_name(info.factor.method);
    if (method == TRINE_DIRECT_AUTO) snprintf(o->reason, sizeof o->reason, "%s", info.factor.reason);
    o->ordering = library->ordering_name(info.factor.ordering);
    o->nnz_factor = info.factor.nnz_L + info.factor.nnz_U - info.factor.n;
    o->fill = info.factor.fill;
    o->levels_lower = info.lower.levels;
    o->levels_upper = info.upper.levels;
    o->order_seconds = info.factor.order_seconds;
    o->factor_seconds = info.factor.factor_seconds;
    o->analyse_seconds = info.analyse_seconds;
    o->numeric_seconds = info.numeric_seconds;
    snprintf(o->kernel, sizeof o->kernel, "L by %s, %s by %s", trine_triangular_method_name(info.lower.method),
             info.factor.diag_L == TRINE_UNIT ? "U" : "L^H", trine_triangular_method_name(info.upper.method));
done:
    *state = plan;
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

static trine_status direct_solve(void *state, const trine_dense *B, const trine_dense *X)
{
    return library->solve(state, TRINE_N, B, X, NULL);
}

static void direct_destroy(void *state)
{
    trine_direct plan = state;
    if (plan) library->destroy(&plan);
}

static const struct solver direct_auto = {direct_auto_setup, direct_solve, direct_destroy};
static const struct solver cholesky = {cholesky_setup, direct_solve, direct_destroy};
static const struct solver lu = {lu_setup, direct_solve, direct_destroy};

/* ------------------------------------------------------------------ choice */

const struct solver *choose_solver(const struct problem *p, enum method method, enum method *chosen, const char **reason)
{
    static const struct solver *const solvers[] = {&direct_auto, &cholesky, &lu, &triangular};
    const trine_matrix_structure *s = &p->structure;
    *reason = "asked for";
    if (method == METHOD_AUTO) {
        if (s->lower_triangular || s->upper_triangular) {
            method = METHOD_TRIANGULAR;
            *reason = s->lower_triangular && s->upper_triangular ? "the matrix is diagonal"
                    : s->lower_triangular                        ? "the matrix is lower triangular"
                                                                 : "the matrix is upper triangular";
        }
    }
    *chosen = method;
    return solvers[method];
}
