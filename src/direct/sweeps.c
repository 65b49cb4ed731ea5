#include "direct/sweeps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/consume.h"

/* ----------------------------------------------------------------- ends of plans */
/* The works made for a plan would keep it alive: they go before it does. */

static void end_panels(direct_sweeps *s, trine_supernodal *plan)
{
    if (*plan) works_drop(&s->works, plan == &s->Ut_panels);
    trine_supernodal_destroy(plan);
}

static void end_triangle(direct_sweeps *s, trine_triangular *plan)
{
    if (*plan) works_drop(&s->works, plan == &s->upper);
    trine_triangular_destroy(plan);
}

/* ------------------------------------------------------------ supernodal plans */

/** Entries of the factor that single precision would make Inf are refused: they would make solutions 0. */
static trine_status check_single(const double *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (isinf((float)values[k]))
            return trine_fail(
                TRINE_ERR_NO_CONVERGENCE,
                "the factor has entries such as %.2g, beyond the range of single precision: scale the matrix, or "
                "solve in double precision",
                values[k]);
    return TRINE_SUCCESS;
}

/** What a plan's check of its pivots says, of a factor that was rounded to single precision: that it may be
 *  rounding's doing. */
static trine_status explain_single(trine_status status, bool single)
{
    if (status != TRINE_ERR_SINGULAR || !single) return status;
    char found[200];
    snprintf(found, sizeof found, "%s", trine_last_error());
    return trine_fail(
        status, "%s after rounding the factor to single precision: scale the matrix, or solve in double precision",
        found);
}

/** Panel values in the vectors' precision: of a factor in double rounded to single, or of one in single widened. */
static trine_status convert_values(direct_sweeps *s, const trine_panels *panels, void **converted)
{
    trine_status status = TRINE_SUCCESS;
    const int parts = trine_dtype_is_complex(panels->dtype) ? 2 : 1;
    const int64_t begin = panels->value_offsets[0] * parts, count = panels->value_offsets[panels->n_panels] * parts;
    const bool rounds = trine_dtype_is_single(s->dtype);
    TRY(trine_alloc(s->ctx, TRINE_HOST, (size_t)count * (rounds ? sizeof(float) : sizeof(double)), converted));
    for (int64_t k = begin; k < count && rounds; k++)
        ((float *)*converted)[k] = (float)((const double *)panels->values)[k];
    for (int64_t k = begin; k < count && !rounds; k++) ((double *)*converted)[k] = ((const float *)panels->values)[k];
done:
    return status;
}

/** *plan from the panels, which may be of another precision than the vectors. consume: nobody needs their values if
 *  the plan is a new one. */
static trine_status set_panels(direct_sweeps *s, const trine_panels *given, bool consume,
                               trine_supernodal_invert invert, trine_supernodal *plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_panels panels = *given;
    void *converted = NULL;
    double start = trine_wall_time();
    const bool single = trine_dtype_is_single(s->dtype) || s->options.supernodal.single;
    panels.dtype = s->dtype;
    if (single && !trine_dtype_is_single(given->dtype) && panels.n)
        TRY(check_single(given->values, given->value_offsets[given->n_panels] * (given->dtype == TRINE_Z ? 2 : 1)));
    if (given->dtype != s->dtype && panels.n) {
        TRY(convert_values(s, given, &converted));
        panels.values = converted;
    }
    status = *plan ? trine_supernodal_update(*plan, &panels, NULL) : TRINE_ERR_STRUCTURE;
    if (status == TRINE_ERR_STRUCTURE) { /* no plan yet, or the pivots moved */
        end_panels(s, plan);
        trine_supernodal_options options = s->options.supernodal;
        options.max_nrhs = s->max_nrhs;
        options.invert = invert;
        if (s->options.triangular.summation) options.summation = s->options.triangular.summation;
        options.single = options.single && !trine_dtype_is_single(s->dtype);
        TRY(trine_supernodal_analyse(s->ctx, plan, &panels, &options));
        s->analyse_seconds += trine_wall_time() - start;
        start = trine_wall_time();
        trine_let_values_go(consume);
        status = trine_supernodal_numeric(*plan, TRINE_HOST, panels.values, NULL);
        trine_let_values_go(false);
    }
    TRY(status);
    TRY(explain_single(trine_supernodal_check(*plan, NULL), single));
    s->numeric_seconds += trine_wall_time() - start;
done:
    trine_free(s->ctx, TRINE_HOST, converted);
    return status;
}

/** Adds to the reason where numeric has found inverses of its own choice too inaccurate and keeps panels as they
 *  are. */
static void note_growth(direct_sweeps *s, trine_supernodal plan, trine_supernodal_invert asked, const char *triangle)
{
    trine_supernodal_info info;
    if (!plan || asked || trine_supernodal_get_info(plan, &info) || info.substituted_panels <= 0 || info.growth == 0)
        return;
    const size_t used = strlen(s->reason);
    snprintf(s->reason + used, sizeof s->reason - used,
             "; inverted panels of %s gave a backward error of %.3g eps: %lld of %lld are substituted", triangle,
             info.growth, (long long)info.substituted_panels, (long long)info.panels_merged);
}

/** A plan for panels that are found in F's triangle, which stays. */
static trine_status set_found_panels(direct_sweeps *s, trine_factor F, trine_uplo which, trine_supernodal *plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix T = NULL;
    trine_panels panels = {0};
    const double start = trine_wall_time();
    TRY(factor_any_triangle(F, which, &T));
    TRY(trine_panels_detect(
        s->ctx, T, &(trine_panels_options){.uplo = which, .diag = which == TRINE_LOWER ? F->diag_L : TRINE_NONUNIT},
        &panels));
    s->analyse_seconds += trine_wall_time() - start;
    TRY(set_panels(s, &panels, false, s->invert[which == TRINE_UPPER], plan));
done:
    trine_panels_free(s->ctx, &panels);
    trine_matrix_destroy(&T);
    return status;
}

static trine_status set_supernodal(direct_sweeps *s, trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    trine_panels panels;
    if (sweeps_find_panels(s, F)) {
        TRY(set_found_panels(s, F, TRINE_LOWER, &s->L_panels));
        TRY(set_found_panels(s, F, TRINE_UPPER, &s->Ut_panels));
        goto done;
    }
    TRY(trine_factor_get_panels(F, TRINE_LOWER, &panels));
    /* On a CPU nothing is inverted without having been asked for, and no trial asks for the panels again. */
    const bool consume = s->cholesky && F->of_plan && !F->updated && F->backend && F->backend->drop_panels &&
                         !s->L_panels && direct_space(s->ctx) == TRINE_HOST && !s->options.supernodal.invert;
    TRY(set_panels(s, &panels, consume, s->invert[0], &s->L_panels));
    if (s->cholesky) {
        end_panels(s, &s->Ut_panels);
        if (consume) F->backend->drop_panels(F);
    } else {
        const double start = trine_wall_time();
        TRY(trine_factor_get_panels(F, TRINE_UPPER, &panels));
        s->analyse_seconds += trine_wall_time() - start;
        TRY(set_panels(s, &panels, false, s->invert[1], &s->Ut_panels));
    }
done:
    if (!status) note_growth(s, s->L_panels, s->invert[0], "L");
    if (!status) note_growth(s, s->Ut_panels, s->invert[1], "U");
    factor_drop_upper_panels(F);
    return status;
}

/* --------------------------------------------------------------- general plans */

static void drop_pattern(direct_sweeps *s, direct_pattern *p)
{
    trine_free(s->ctx, TRINE_HOST, p->offsets);
    trine_free(s->ctx, TRINE_HOST, p->indices);
    *p = (direct_pattern){0};
}

/** number: of T's pattern, or 0. */
static bool has_pattern(trine_matrix T, uint64_t number, const direct_pattern *p)
{
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *indices;
    if (trine_matrix_get_info(T, &info) || info.nnz != p->nnz || info.n_cols != p->n || info.format != p->format)
        return false;
    if (p->number) return number == p->number;
    if (!p->offsets || trine_matrix_get_arrays(T, &offsets, &indices, NULL)) return false;
    return !memcmp(offsets, p->offsets, (size_t)(p->n + 1) * sizeof *offsets) &&
           !memcmp(indices, p->indices, (size_t)p->nnz * sizeof *indices);
}

static trine_status keep_pattern(direct_sweeps *s, trine_matrix T, uint64_t number, direct_pattern *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *indices;
    drop_pattern(s, p);
    TRY(trine_matrix_get_info(T, &info));
    p->format = info.format;
    p->n = info.n_cols;
    p->nnz = info.nnz;
    p->number = number;
    if (number) goto done;
    TRY(trine_matrix_get_arrays(T, &offsets, &indices, NULL));
    TRY(ALLOC(s->ctx, p->offsets, info.n_cols + 1));
    TRY(ALLOC(s->ctx, p->indices, info.nnz));
    memcpy(p->offsets, offsets, (size_t)(p->n + 1) * sizeof *offsets);
    memcpy(p->indices, indices, (size_t)p->nnz * sizeof *indices);
done:
    if (status) drop_pattern(s, p);
    return status;
}

/** Give the triangle T to *plan. The pattern of a factor, number or 0, may change with its values: pivots move, and
 *  zeros in the panels are left out. Where it did not, only the values are replaced. consume: nobody needs T's values
 *  any more. */
static trine_status set_triangle(direct_sweeps *s, trine_matrix T, uint64_t number, bool consume, direct_pattern *kept,
                                 trine_triangular *plan, const trine_triangular_options *options)
{
    trine_status status = TRINE_SUCCESS;
    double start = trine_wall_time();
    if (!*plan || !has_pattern(T, number, kept)) {
        end_triangle(s, plan);
        TRY(trine_triangular_analyse(s->ctx, plan, T, options));
        TRY(keep_pattern(s, T, number, kept));
        s->analyse_seconds += trine_wall_time() - start;
        start = trine_wall_time();
    }
    const int64_t *offsets;
    const int32_t *indices;
    const void *values;
    TRY(trine_matrix_get_arrays(T, &offsets, &indices, &values));
    if (consume) trine_give_back(indices, (size_t)kept->nnz * sizeof *indices);
    trine_let_values_go(consume);
    status = trine_triangular_numeric(*plan, TRINE_HOST, values, NULL);
    trine_let_values_go(false);
    TRY(status);
    TRY(explain_single(trine_triangular_check(*plan, NULL), trine_dtype_is_single(s->dtype)));
    s->numeric_seconds += trine_wall_time() - start;
done:
    return status;
}

/** The factor's triangle in the vectors' dtype, which leaves a factor of the plan's own, until there are new values. */
static trine_status get_triangle(direct_sweeps *s, trine_factor F, trine_uplo which, trine_matrix *T)
{
    trine_matrix stored = NULL;
    trine_matrix_info info;
    const void *values;
    *T = NULL;
    trine_status status = factor_any_triangle(F, which, &stored);
    if (F->of_plan && !F->updated) trine_matrix_destroy(&F->triangles[which == TRINE_UPPER]);
    if (status || F->dtype == s->dtype) {
        *T = stored;
        return status;
    }
    TRY(trine_matrix_get_info(stored, &info));
    TRY(trine_matrix_get_arrays(stored, NULL, NULL, &values));
    if (!trine_dtype_is_single(F->dtype)) TRY(check_single(values, info.nnz * factor_parts(F)));
    TRY(trine_matrix_copy(stored, T, TRINE_HOST, info.format, s->dtype));
done:
    trine_matrix_destroy(&stored);
    return status;
}

/** Which ops the triangular plans need for the ops of A. */
static unsigned ops_of_lower(const direct_sweeps *s)
{
    if (!s->cholesky) return s->ops;
    if (!trine_dtype_is_complex(s->dtype)) return TRINE_N | TRINE_T;
    return (s->ops & (TRINE_N | TRINE_H) ? TRINE_N | TRINE_H : 0u) | (s->ops & TRINE_T);
}
static unsigned ops_of_upper(const direct_sweeps *s)
{
    if (!s->cholesky) return s->ops;
    return trine_dtype_is_complex(s->dtype) ? s->ops & TRINE_T : 0;
}

static trine_status set_general(direct_sweeps *s, trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix T = NULL, L = NULL;
    /* Entries of L, below which threads gain nothing over one in a solve, and their schedule takes as long as the
     * factorization of the sparsest matrices. */
    enum { SMALL = 100000 };
    trine_triangular_options options = s->options.triangular;
    /* Two factorizations were made for few levels, and rows that wait take ten times as long as inverses
     * (docs/notes/direct-choices.md): these are to be looked at for fewer solves than elsewhere. */
    enum { SOLVES_FOR_ONE = 10 };
    if (!options.expected_solves && s->after_panels) options.expected_solves = SOLVES_FOR_ONE * 100;
    s->few_entries = !options.method && direct_space(s->ctx) == TRINE_HOST && F->nnz_L < SMALL;
    if (s->few_entries) options.method = TRINE_TRI_SERIAL;
    options.diag = s->cholesky ? TRINE_NONUNIT : TRINE_UNIT;
    options.other_triangle_is_error = 0;
    options.max_nrhs = s->max_nrhs;
    options.uplo = TRINE_LOWER;
    options.ops = ops_of_lower(s);
    /* A plan's own factor has left its triangles to it, until there are new values. */
    const bool own = F->of_plan && !F->updated && direct_space(s->ctx) == TRINE_HOST, has_upper = ops_of_upper(s) != 0;
    TRY(get_triangle(s, F, TRINE_LOWER, &L));
    if (own && s->cholesky && F->panels.n_panels && F->backend->drop_panels) F->backend->drop_panels(F);
    TRY(set_triangle(s, L, F->pattern, own && !(s->cholesky && has_upper), &s->L, &s->lower, &options));
    options.uplo = TRINE_UPPER;
    options.diag = TRINE_NONUNIT;
    options.ops = ops_of_upper(s);
    if (!s->cholesky) trine_matrix_destroy(&L);
    if (options.ops) {
        TRY(s->cholesky ? trine_matrix_transpose(L, &T, TRINE_H) : get_triangle(s, F, TRINE_UPPER, &T));
        TRY(set_triangle(s, T, F->pattern, own, &s->U, &s->upper, &options));
    } else {
        end_triangle(s, &s->upper);
        drop_pattern(s, &s->U);
    }
done:
    trine_matrix_destroy(&T);
    trine_matrix_destroy(&L);
    return status;
}

/* --------------------------------------------------------- plans for a factor */

static void destroy_general(direct_sweeps *s)
{
    end_triangle(s, &s->lower);
    end_triangle(s, &s->upper);
    drop_pattern(s, &s->L);
    drop_pattern(s, &s->U);
}

static void destroy_supernodal(direct_sweeps *s)
{
    end_panels(s, &s->L_panels);
    end_panels(s, &s->Ut_panels);
}

void sweeps_destroy(direct_sweeps *s)
{
    destroy_general(s);
    destroy_supernodal(s);
}

trine_status sweeps_take_factor(direct_sweeps *s, trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const bool cholesky = F->diag_L == TRINE_NONUNIT;
    if (s->cholesky != cholesky) sweeps_destroy(s); /* other diagonals, other ops: whatever the structures are */
    s->cholesky = cholesky;
    s->analyse_seconds = s->numeric_seconds = 0;
    const trine_supernodal_invert invert = s->invert_all ? TRINE_INVERT_OFF : s->options.supernodal.invert;
    for (int k = 0; k < 2; k++) {
        /* the last factor's trial counts for that one only */
        if (s->invert[k] != invert) destroy_supernodal(s);
        s->invert[k] = invert;
    }
    s->supernodal = sweeps_want_panels(s, F);
    if (s->supernodal) {
        destroy_general(s);
        status = set_supernodal(s, F);
        if (status != TRINE_ERR_MEMORY || s->options.solver == TRINE_SOLVER_SUPERNODAL) goto done;
        snprintf(s->reason, sizeof s->reason, "%s", trine_last_error());
        trine_log(s->ctx, 1, "%s: the general triangular solve is used", s->reason);
        s->supernodal = false;
    }
    destroy_supernodal(s);
    status = set_general(s, F);
done:
    return status;
}

bool sweeps_on_trial(const direct_sweeps *s)
{
    const trine_supernodal plans[] = {s->L_panels, s->Ut_panels};
    for (int k = 0; k < 2 && s->supernodal && !s->options.supernodal.invert && plans[k]; k++) {
        trine_supernodal_info info;
        if (!trine_supernodal_get_info(plans[k], &info) && info.n && info.invert != TRINE_INVERT_NONE) return true;
    }
    return false;
}

direct_panels sweeps_count_panels(const direct_sweeps *s)
{
    const trine_supernodal plans[] = {s->L_panels, s->Ut_panels};
    direct_panels found = {0};
    for (int k = 0; k < 2 && s->supernodal && plans[k]; k++) {
        trine_supernodal_info info;
        if (trine_supernodal_get_info(plans[k], &info)) continue;
        found.panels += info.panels_merged;
        found.levels += info.levels_merged;
        if (!(info.growth <= found.growth)) found.growth = isnan(info.growth) ? INFINITY : info.growth;
        found.substituted += info.substituted_panels > 0 ? info.substituted_panels : 0;
    }
    return found;
}

double sweeps_eps(const direct_sweeps *s) { return trine_dtype_eps(s->options.supernodal.single ? TRINE_S : s->dtype); }

/** Whether a plan has substituted some panels but not all. */
static bool is_in_part(trine_supernodal plan)
{
    trine_supernodal_info info;
    return plan && !trine_supernodal_get_info(plan, &info) && info.invert != TRINE_INVERT_NONE &&
           info.substituted_panels > 0;
}

trine_status sweeps_step_back(direct_sweeps *s, trine_factor F, double backward_error)
{
    trine_supernodal *const plans[] = {&s->L_panels, &s->Ut_panels};
    const bool in_part = is_in_part(s->L_panels) || is_in_part(s->Ut_panels);
    trine_log(s->ctx, 2, "supernodal: a backward error of %.3g eps with inverted panels", backward_error);
    for (int k = 0; k < 2; k++) {
        if (in_part && !is_in_part(*plans[k])) continue;
        end_panels(s, plans[k]);
        s->invert[k] = TRINE_INVERT_NONE;
    }
    const size_t used = strcspn(s->reason, ";"); /* why panels are used stays; what was said of one triangle goes */
    snprintf(s->reason + used, sizeof s->reason - used, "; inverted panels gave a backward error of %.3g eps: %s",
             backward_error, in_part ? "no triangle is inverted in part" : "nothing is inverted");
    return set_supernodal(s, F);
}

/* ---------------------------------------------------------------------- solve */

bool sweeps_conjugate(const direct_sweeps *s, trine_transpose op)
{
    if (!s->supernodal || !trine_dtype_is_complex(s->dtype)) return false;
    return op == (s->cholesky ? TRINE_T : TRINE_H); /* A^T = conj(A); A^H = conj(A^T) */
}

bool sweeps_have(const direct_sweeps *s, int which)
{
    const void *const plans[2][2] = {{s->lower, s->upper}, {s->L_panels, s->Ut_panels}};
    return plans[s->supernodal][which];
}

trine_status sweeps_work(const direct_sweeps *s, int which, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work)
{
    if (!sweeps_have(s, which)) {
        *bytes = 0;
        return TRINE_SUCCESS;
    }
    if (s->supernodal) return trine_supernodal_work(which ? s->Ut_panels : s->L_panels, nrhs, buffer, bytes, work);
    return trine_triangular_work(which ? s->upper : s->lower, nrhs, buffer, bytes, work);
}

static trine_status solve_supernodal(const direct_sweeps *s, trine_transpose op, const trine_dense *Z,
                                     const trine_exec execs[2])
{
    const trine_supernodal plans[2] = {s->L_panels, s->Ut_panels};
    const int first = !s->cholesky && op != TRINE_N, second = !s->cholesky && !first;
    const trine_transpose transposed = s->cholesky && trine_dtype_is_complex(s->dtype) ? TRINE_H : TRINE_T;
    const trine_status status = trine_supernodal_solve(plans[first], TRINE_N, NULL, Z, Z, &execs[first]);
    return status ? status : trine_supernodal_solve(plans[second], transposed, NULL, Z, Z, &execs[second]);
}

static trine_status solve_general(const direct_sweeps *s, trine_transpose op, const trine_dense *Z,
                                  const trine_exec execs[2])
{
    const trine_triangular plans[2] = {s->lower, s->upper};
    const bool real = !trine_dtype_is_complex(s->dtype);
    int first = op != TRINE_N, second = op == TRINE_N;
    trine_transpose first_op = op, second_op = op;
    if (s->cholesky && (op != TRINE_T || real)) { /* else conj(L) = U^T */
        first = second = 0;
        first_op = TRINE_N;
        second_op = real ? TRINE_T : TRINE_H;
    }
    const trine_status status = trine_triangular_solve(plans[first], first_op, NULL, Z, Z, &execs[first]);
    return status ? status : trine_triangular_solve(plans[second], second_op, NULL, Z, Z, &execs[second]);
}

trine_status sweeps_solve(const direct_sweeps *s, trine_transpose op, const trine_dense *Z, const trine_work works[2],
                          void *stream)
{
    const trine_exec execs[2] = {{.stream = stream, .work = works[0]}, {.stream = stream, .work = works[1]}};
    return s->supernodal ? solve_supernodal(s, op, Z, execs) : solve_general(s, op, Z, execs);
}
