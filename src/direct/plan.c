/* A direct solve as a plan: the factor's permutations and scales around two of trine's triangular solves (sweeps.c,
 * solve.c).
 *
 *     diag(r) A(p,q) diag(c) = L U   gives   A x = b:    x(q) = c .* (U^-1 L^-1 (r .* b(p))),
 *                                            A^T x = b:  x(p) = r .* (L^-T U^-T (c .* b(q))),
 *
 * and A^H with H in place of T, the scales being real. Cholesky has q = p and U = L^H. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/scalar.h"
#include "direct/plan.h"

/* ------------------------------------------------------------------- setup */

/** Copy of a host array in the context's space; *to is reused if it is there already. */
static trine_status place(trine_direct D, const void *host, size_t bytes, void **to)
{
    trine_status status = TRINE_SUCCESS;
    if (!*to) TRY(trine_alloc(D->base.ctx, D->space, bytes, to));
    TRY(trine_copy(D->base.ctx, *to, D->space, host, TRINE_HOST, bytes));
done:
    return status;
}

static trine_status place_scale(trine_direct D, const double *scale, void **to)
{
    if (!scale) {
        trine_free(D->base.ctx, D->space, *to);
        *to = NULL;
        return TRINE_SUCCESS;
    }
    if (!trine_dtype_is_single(D->base.dtype)) return place(D, scale, (size_t)D->base.n * sizeof(double), to);
    trine_status status = TRINE_SUCCESS;
    float *single = NULL;
    TRY(ALLOC(D->base.ctx, single, D->base.n));
    for (int64_t i = 0; i < D->base.n; i++) {
        single[i] = (float)scale[i];
        if (!(single[i] > 0) || isinf(single[i]))
            FAIL(
                TRINE_ERR_NO_CONVERGENCE,
                "the factor scales rows by numbers such as %.2g, beyond the range of single precision: scale the matrix, or solve in "
                "double precision",
                scale[i]);
    }
    TRY(place(D, single, (size_t)D->base.n * sizeof(float), to));
done:
    trine_free(D->base.ctx, TRINE_HOST, single);
    return status;
}

/** The inverse of a permutation, and a scale of permuted rows in the order of the rows. */
static trine_status invert_permutation(trine_direct D, const int32_t *perm, const void *scale, int32_t **place,
                                       void **there)
{
    trine_status status = TRINE_SUCCESS;
    const size_t size = trine_dtype_is_single(D->base.dtype) ? sizeof(float) : sizeof(double);
    trine_free(D->base.ctx, TRINE_HOST, *there);
    *there = NULL;
    if (!*place) TRY(ALLOC(D->base.ctx, *place, D->base.n));
    for (int64_t k = 0; k < D->base.n; k++) (*place)[perm[k]] = (int32_t)k;
    if (!scale) goto done;
    TRY(trine_alloc(D->base.ctx, TRINE_HOST, (size_t)D->base.n * size, there));
    for (int64_t k = 0; k < D->base.n; k++)
        memcpy((char *)*there + (size_t)perm[k] * size, (const char *)scale + (size_t)k * size, size);
done:
    return status;
}

static trine_status place_permutations(trine_direct D)
{
    trine_status status = TRINE_SUCCESS;
    const int32_t *row_perm, *col_perm;
    const double *row_scale, *col_scale;
    TRY(trine_factor_get_permutations(D->F, &row_perm, &col_perm, &row_scale, &col_scale));
    TRY(place(D, row_perm, (size_t)D->base.n * sizeof *row_perm, &D->row_perm));
    TRY(place(D, col_perm, (size_t)D->base.n * sizeof *col_perm, &D->col_perm));
    TRY(place_scale(D, row_scale, &D->row_scale));
    TRY(place_scale(D, col_scale, &D->col_scale));
    if (D->space == TRINE_HOST && D->sweeps.max_nrhs > 1) {
        TRY(invert_permutation(D, row_perm, D->row_scale, &D->row_place, &D->row_scale_there));
        TRY(invert_permutation(D, col_perm, D->col_scale, &D->col_place, &D->col_scale_there));
    }
done:
    return status;
}

/** op(A) as CSR: a copy of the plan's context, whatever A's is, because residuals are computed on the device of the
 *  copy's. */
static trine_status place_rows(trine_direct D, trine_transpose op)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix turned = NULL, view = NULL;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *indices;
    const void *values;
    if (op != TRINE_N) TRY(trine_matrix_transpose(D->A, &turned, op));
    const trine_matrix from = turned ? turned : D->A;
    TRY(trine_matrix_get_info(from, &info));
    TRY(trine_matrix_get_arrays(from, &offsets, &indices, &values));
    TRY((info.format == TRINE_CSR ? trine_matrix_csr : trine_matrix_csc)(D->base.ctx, &view, info.dtype, info.n_rows,
                                                                         info.n_cols, info.nnz, TRINE_HOST, 64, offsets,
                                                                         32, indices, values));
    TRY(trine_matrix_copy(view, &D->rows[op], D->space, TRINE_CSR, D->base.dtype));
done:
    trine_matrix_destroy(&view);
    trine_matrix_destroy(&turned);
    return status;
}

/** The columns of the plan's own factor's A, read as rows, which are those of A^T: *is there. Of a symmetric A they are
 *  A's too. They stay as long as the values that the plan has. */
static trine_status view_columns(trine_direct D, trine_transpose op, bool *is)
{
    const trine_factor F = D->F;
    const bool alike = op == TRINE_T || (op == TRINE_N && F->structure.known && F->structure.symmetric);
    *is = alike && D->space == TRINE_HOST && F->of_plan && F->A && !F->lender && F->dtype == D->base.dtype;
    if (!*is) return TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    return trine_matrix_csr(D->base.ctx, &D->rows[op], D->base.dtype, in.n, in.n, in.nnz, TRINE_HOST, 64, in.offsets,
                            32, in.indices, in.values);
}

static trine_status place_all_rows(trine_direct D)
{
    bool is;
    trine_status status = TRINE_SUCCESS;
    for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op))
        if (D->sweeps.ops & op && !D->rows[op]) {
            TRY(view_columns(D, op, &is));
            if (!is) TRY(place_rows(D, op));
        }
done:
    return status;
}

static void destroy_rows(trine_direct D)
{
    for (int op = 0; op <= TRINE_H; op++) trine_matrix_destroy(&D->rows[op]);
}

/** Keep A, and what else refinement needs. */
static trine_status take_matrix(trine_direct D, trine_matrix A)
{
    trine_status status = TRINE_SUCCESS;
    if (A) trine_retain_matrix(A);
    trine_matrix_destroy(&D->A);
    destroy_rows(D);
    D->A = A;
    D->refine = D->options.refine > 0 ? D->options.refine : 0;
    if (A && D->may_refine && D->F->refine > D->refine) D->refine = D->F->refine;
    if (D->refine) TRY(place_all_rows(D));
done:
    return status;
}

/** No plan of a factor whose trial solves are no solutions, refined or not: L D L^H asked for by name, where pivots
 *  would have been needed. Without refinement it may be a preconditioner. */
static trine_status check_trial(trine_direct D)
{
    if (!D->A || D->options.refine < 0 || factor_is_usable(D->F)) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_NO_CONVERGENCE,
                      "a trial solve with the %s factor has a backward error of %.3g eps after %d steps of refinement: "
                      "this matrix needs another factorization (TRINE_DIRECT_AUTO finds one)",
                      trine_direct_method_name(D->F->method), D->F->trial_error, D->F->refine);
}

static trine_status check_options(const trine_direct_options *o)
{
    REQUIRE_RESERVE(trine_direct_options, o);
    REQUIRE_RESERVE(trine_factor_options, &o->factor);
    REQUIRE_RESERVE(trine_triangular_options, &o->triangular);
    REQUIRE_RESERVE(trine_supernodal_options, &o->supernodal);
    REQUIRE((o->ops & ~(unsigned)(TRINE_N | TRINE_T | TRINE_H)) == 0,
            "ops %#x has bits other than TRINE_N, TRINE_T, TRINE_H", o->ops);
    REQUIRE(o->refine >= -1, "%d steps of refinement", o->refine);
    REQUIRE(o->triangular.max_nrhs >= 0, "max_nrhs is %lld", (long long)o->triangular.max_nrhs);
    REQUIRE(o->triangular.expected_solves >= 0, "expected_solves is %lld", (long long)o->triangular.expected_solves);
    REQUIRE((unsigned)o->triangular.summation <= TRINE_ORDER_FREE, "summation %d does not exist",
            (int)o->triangular.summation);
    REQUIRE((unsigned)o->solver <= TRINE_SOLVER_LIBRARY, "there is no solver %d", (int)o->solver);
    return TRINE_SUCCESS;
}

/** Backward error, in eps, of a solve for b = op(A) s with a random s, or for b = s. matrix: op(A); x: n elements in
 *  the plan's space. */
static trine_status try_op(trine_direct D, trine_matrix matrix, trine_transpose op, uint32_t seed, bool multiply,
                           void *s, void *b, void *x, double *error)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = (size_t)D->base.n * trine_dtype_size(D->base.dtype);
    const int64_t parts = D->base.n * (trine_dtype_is_complex(D->base.dtype) ? 2 : 1);
    const double size = D->options.supernodal.single ? 1024 : 1; /* room in its range for right-hand sides of others */
    uint32_t state = seed;
    for (int64_t i = 0; i < parts; i++) {
        state = state * 1664525u + 1013904223u; /* Numerical Recipes */
        const double u = size * ((double)state / 2147483648.0 - 1);
        if (trine_dtype_is_single(D->base.dtype)) ((float *)s)[i] = (float)u;
        else ((double *)s)[i] = u;
    }
    if (multiply) TRY(trine_matrix_multiply(matrix, TRINE_N, NULL, s, NULL, b));
    else memcpy(b, s, bytes);
    TRY(trine_copy(D->base.ctx, x, D->space, b, TRINE_HOST, bytes));
    const trine_dense X = {.data = x, .rows = D->base.n, .cols = 1, .ld = D->base.n, .layout = TRINE_COLMAJOR};
    TRY(solve_and_refine(D, (direct_work *)D->base.own_work, op, &X, &X, NULL));
    TRY(trine_context_synchronize(D->base.ctx));
    TRY(trine_copy(D->base.ctx, s, TRINE_HOST, x, D->space, bytes));
    trine_accuracy accuracy;
    TRY(trine_matrix_accuracy(matrix, 1, s, b, NULL, &accuracy));
    *error = accuracy.backward_error;
done:
    return status;
}

enum trial_kinds { SOLUTIONS = 1, SOLUTIONS_AND_RHS = 2 };

/** The largest backward error, in eps, of solves for so many random solutions (and right-hand sides) with each op that
 *  was announced; NaN if one is. */
static trine_status try_solves(trine_direct D, int trials, enum trial_kinds of, double *error)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = (size_t)D->base.n * trine_dtype_size(D->base.dtype);
    const int kinds = of;
    trine_matrix turned = NULL;
    void *s = NULL, *b = NULL, *x = NULL;
    TRY(trine_alloc(D->base.ctx, TRINE_HOST, bytes, &s));
    TRY(trine_alloc(D->base.ctx, TRINE_HOST, bytes, &b));
    TRY(trine_alloc(D->base.ctx, D->space, bytes, &x));
    *error = 0;
    for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op)) {
        if (!(D->sweeps.ops & op)) continue;
        if (op != TRINE_N) TRY(trine_matrix_transpose(D->A, &turned, op));
        for (int k = 0; k < kinds * trials; k++) {
            double one;
            TRY(try_op(D, turned ? turned : D->A, op, 1 + (uint32_t)(k / kinds), k % kinds == 0, s, b, x, &one));
            if (!(one <= *error) && !isnan(*error)) *error = one;
        }
        trine_matrix_destroy(&turned);
    }
done:
    trine_matrix_destroy(&turned);
    trine_free(D->base.ctx, TRINE_HOST, s);
    trine_free(D->base.ctx, TRINE_HOST, b);
    trine_free(D->base.ctx, D->space, x);
    return status;
}

/** In eps of the vectors, what a trial with inverses of the plans' own idea may leave. 10 is what the paper calls
 *  stable; the pivots of LU make blocks of any condition, and one right-hand side may not show all of it. */
static double most_error(trine_direct D)
{
    const double most = D->F->diag_L == TRINE_UNIT ? 4 : 10;
    return most * sweeps_eps(&D->sweeps) / trine_dtype_eps(D->base.dtype);
}

/** Plans for D's factor. Where the inverses of panels were the plans' own idea, a solve shows whether they are
 *  accurate: for an ill-conditioned block of U they are not. */
static trine_status take_accurate(trine_direct D)
{
    trine_status status = TRINE_SUCCESS;
    double error = 0;
    TRY(sweeps_take_factor(&D->sweeps, D->F));
    while (D->A && sweeps_on_trial(&D->sweeps)) {
        TRY(try_solves(D, 1, SOLUTIONS, &error));
        if (error <= most_error(D)) break;
        TRY(sweeps_step_back(&D->sweeps, D->F, error));
    }
done:
    return status;
}

/** Of inverses that a step of refinement makes up for. What it leaves is the growth times what the first solve leaves,
 *  times the condition of A, which nobody knows: so trials decide as well. Where the step does what it should they end
 *  far below one eps, and where it does not, some right-hand side of several shows it. */
static const double MOST_GROWTH = 1e5, MOST_REFINED = 1;
enum { REFINED_TRIALS = 4 };

/** All panels inverted, and solutions refined once; *taken: a trial solve is accurate so. */
static trine_status take_refined(trine_direct D, bool *taken)
{
    trine_status status = TRINE_SUCCESS;
    double error = 0;
    D->sweeps.invert_all = true;
    TRY(sweeps_take_factor(&D->sweeps, D->F));
    D->refine = 1;
    TRY(place_all_rows(D));
    TRY(try_solves(D, REFINED_TRIALS, SOLUTIONS, &error));
    const double growth = sweeps_count_panels(&D->sweeps).growth;
    *taken = D->sweeps.supernodal && growth <= MOST_GROWTH && error <= MOST_REFINED;
    trine_log(D->base.ctx, 2,
              "supernodal: a growth of %.3g, and a backward error of %.3g eps with all panels inverted, refined once",
              growth, error);
    if (!*taken) {
        D->sweeps.invert_all = false;
        D->refine = 0;
        destroy_rows(D);
        goto done;
    }
    const size_t used = strlen(D->sweeps.reason);
    snprintf(D->sweeps.reason + used, sizeof D->sweeps.reason - used,
             "; all are inverted, which takes a step of refinement");
done:
    return status;
}

/** On a GPU levels wait for a panel that is substituted: for three of 1193, or 29 of 3077, so long that a second solve
 *  with inverses, of the residual, is faster (docs/notes/direct-choices.md). */
static bool refinement_is_faster(trine_direct D)
{
    if (D->space != TRINE_DEVICE || !D->A || !D->may_refine || D->refine || D->options.supernodal.invert ||
        D->options.supernodal.single)
        return false;
    const direct_panels found = sweeps_count_panels(&D->sweeps);
    return found.substituted > 0 && found.growth <= MOST_GROWTH;
}

/** On a GPU panels of LU that stay substituted, or make hundreds of levels, take several times as long as rows of
 *  another factor (docs/notes/direct-choices.md), which nobody may have ruled out. */
static bool rows_are_faster(trine_direct D)
{
    enum { MOST_LEVELS = 300 };
    const trine_direct_options *o = &D->options;
    const direct_panels found = sweeps_count_panels(&D->sweeps);
    if (D->space != TRINE_DEVICE || !D->F->of_plan || D->F->method != TRINE_DIRECT_LU || o->factor.method ||
        o->factor.need_panels || o->factor.ordering || o->factor.permutation || o->solver || o->supernodal.invert ||
        o->supernodal.single || D->sweeps.rows_tried)
        return false;
    return (found.substituted > 0 && !D->sweeps.invert_all) || found.levels > MOST_LEVELS;
}

/** Panels in single precision, whose solves may leave its range where the factor does not: NaN is no solution. */
static trine_status check_range(trine_direct D)
{
    enum { FEW_ROWS = 500 }; /* of which chance decides what overflows */
    trine_status status = TRINE_SUCCESS;
    double error;
    if (!D->options.supernodal.single || trine_dtype_is_single(D->base.dtype) || !D->sweeps.supernodal || !D->A)
        return TRINE_SUCCESS;
    TRY(try_solves(D, D->base.n < FEW_ROWS ? 8 : 2, SOLUTIONS_AND_RHS, &error));
    if (!isfinite(error))
        FAIL(TRINE_ERR_NO_CONVERGENCE,
             "solves with panels in single precision leave its range: scale the matrix, or solve in double precision");
done:
    return status;
}

static trine_status make_panels_or_rows(trine_direct D)
{
    trine_status status = TRINE_SUCCESS;
    bool refined = false;
    if (D->sweeps.invert_all) TRY(take_refined(D, &refined));
    if (refined) goto done;
    TRY(take_accurate(D));
    if (!refinement_is_faster(D)) goto done;
    TRY(take_refined(D, &refined));
    if (!refined) TRY(take_accurate(D));
done:
    return status;
}

/** SuperLU's panels wait too long: UMFPACK's factor in their place, where it is accurate. */
static trine_status replace_panels(trine_direct D)
{
    enum { SEVERAL = 8 }; /* right-hand sides, for which found panels are faster than rows */
    trine_status status = TRINE_SUCCESS;
    char why[80];
    bool taken;
    const direct_panels found = sweeps_count_panels(&D->sweeps);
    snprintf(why, sizeof why, "of SuperLU's %lld panels in %lld levels %lld are substituted", (long long)found.panels,
             (long long)found.levels, (long long)found.substituted);
    sweeps_destroy(&D->sweeps);
    D->sweeps.invert_all = false;
    TRY(factor_lu_by_rows(D->F, why, &taken));
    D->sweeps.rows_tried = true;
    D->sweeps.after_panels = taken;
    D->sweeps.find_panels = taken && D->sweeps.max_nrhs >= SEVERAL;
    TRY(take_matrix(D, D->A));
    TRY(place_permutations(D));
    TRY(make_panels_or_rows(D));
done:
    return status;
}

/** Panels that were found in triangles, which rows are to solve with after all. */
static bool found_panels_wait(trine_direct D)
{
    enum { MOST_LEVELS = 100 };
    const direct_panels found = sweeps_count_panels(&D->sweeps);
    return D->sweeps.find_panels && ((found.substituted > 0 && !D->sweeps.invert_all) || found.levels > MOST_LEVELS);
}

static trine_status make_sweeps(trine_direct D)
{
    trine_status status = TRINE_SUCCESS;
    TRY(make_panels_or_rows(D));
    if (rows_are_faster(D)) TRY(replace_panels(D));
    if (found_panels_wait(D)) {
        sweeps_destroy(&D->sweeps);
        D->sweeps.find_panels = D->sweeps.invert_all = false;
        TRY(take_matrix(D, D->A));
        TRY(make_panels_or_rows(D));
    }
    for (int k = 0; k < 2 && D->sweeps.find_panels && !D->F->updated; k++) /* as those that rows are made of */
        trine_matrix_destroy(&D->F->triangles[k]);
done:
    return status;
}

static trine_status set_up_sweeps(trine_direct D)
{
    const trine_status status = make_sweeps(D);
    return status ? status : check_range(D);
}

/** Work arrays of orderings and factorizations leave holes in the heap. The arrays of a large factor's plan are mapped,
 *  and would come on top: the holes go back to the system first. */
static void give_back_holes(trine_factor F)
{
#ifdef __GLIBC__
    enum { LARGE = 2 << 20 }; /* bytes of L's values */
    if (F->nnz_L * (int64_t)trine_dtype_size(F->dtype) >= LARGE) malloc_trim(0);
#else
    (void)F;
#endif
}

/** cuDSS makes pivots that are too small larger: trial solves with each op say how many steps of refinement that takes,
 *  where refinement may be. */
static trine_status set_up_cudss(trine_direct D)
{
    enum { MOST_STEPS = 3, TRIALS = 2 };
    trine_status status = TRINE_SUCCESS;
    const double most = 10; /* eps */
    double error = 0;
    const int asked = D->refine;
    if (trine_dtype_is_single(D->base.dtype)) FAIL(TRINE_ERR_UNSUPPORTED, "cuDSS is used in double precision only");
    if (D->options.solver != TRINE_SOLVER_AUTO && D->options.solver != TRINE_SOLVER_LIBRARY)
        FAIL(TRINE_ERR_UNSUPPORTED, "cuDSS solves by itself, and another solver was asked for");
    while (D->A) {
        TRY(try_solves(D, TRIALS, SOLUTIONS, &error));
        if (error <= most) break;
        if (!D->may_refine || D->refine == asked + MOST_STEPS)
            FAIL(TRINE_ERR_NO_CONVERGENCE, "cuDSS leaves backward errors of %.3g eps after %d steps of refinement",
                 error, D->refine);
        D->refine++;
        TRY(place_all_rows(D));
    }
    trine_log(D->base.ctx, 2, "cuDSS: a trial solve has a backward error of %.3g eps after %d steps of refinement",
              error, D->refine);
done:
    return status;
}

/** What solves: the factor's library, or plans for the factor. */
static trine_status set_up_solver(trine_direct D)
{
    if (!factor_solves(D->F)) return set_up_sweeps(D);
    sweeps_destroy(&D->sweeps);
    D->sweeps.analyse_seconds = D->sweeps.numeric_seconds = 0;
    solver_tell_library(D->F, &D->options, D->sweeps.reason, sizeof D->sweeps.reason);
    return D->F->method == TRINE_DIRECT_CUDSS ? set_up_cudss(D) : TRINE_SUCCESS;
}

static void release(struct trine_plan *plan)
{
    trine_direct D = (trine_direct)plan;
    trine_context ctx = plan->ctx;
    sweeps_destroy(&D->sweeps);
    trine_matrix_destroy(&D->A);
    destroy_rows(D);
    trine_factor_destroy(&D->F);
    trine_free(ctx, D->space, D->row_perm);
    trine_free(ctx, D->space, D->col_perm);
    trine_free(ctx, D->space, D->row_scale);
    trine_free(ctx, D->space, D->col_scale);
    trine_free(ctx, TRINE_HOST, D->row_place);
    trine_free(ctx, TRINE_HOST, D->col_place);
    trine_free(ctx, TRINE_HOST, D->row_scale_there);
    trine_free(ctx, TRINE_HOST, D->col_scale_there);
    pthread_mutex_destroy(&D->sweeps.works.lock);
}

static const trine_plan_kind kind = {.name = "direct",
                                     .without_values = "the plan has no factor: the last trine_direct_update failed",
                                     .works_need_values = true,
                                     .work_size = sizeof(direct_work),
                                     .work_bytes = direct_work_bytes,
                                     .own_bytes = direct_work_own_bytes,
                                     .work_begin = direct_work_begin,
                                     .work_end = direct_work_end,
                                     .release = release,
                                     .solve = direct_solve};

/** Whether new values may make a trial solve find that refinement is needed. */
static bool has_trials(trine_factor F)
{
    const trine_direct_method asked = F->options.method;
    return F->A && asked != TRINE_DIRECT_CHOLESKY && asked != TRINE_DIRECT_CHOLESKY_SIMPLICIAL &&
           asked != TRINE_DIRECT_LU;
}

/** The plan for F, whose reference passes to it, also in a failure. */
static trine_status create(trine_context ctx, trine_direct *plan, trine_factor F, trine_matrix A, trine_dtype dtype,
                           const trine_direct_options *options, double start)
{
    trine_status status = TRINE_SUCCESS;
    trine_direct D = trine_plan_new(ctx, &kind, sizeof *D);
    if (!D) {
        trine_factor_destroy(&F);
        return TRINE_ERR_MEMORY;
    }
    const int64_t max_nrhs = options->triangular.max_nrhs ? options->triangular.max_nrhs : 1;
    D->base.n = F->n;
    D->base.dtype = dtype;
    D->base.ops = options->ops ? options->ops : TRINE_N;
    D->F = F;
    D->options = *options;
    D->may_refine = options->refine > 0 || (options->refine == 0 && A && has_trials(F));
    D->space = direct_space(ctx);
    D->sweeps = (direct_sweeps){
        .ctx = ctx, .dtype = dtype, .options = *options, .max_nrhs = max_nrhs, .works.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int op = TRINE_N; op <= TRINE_H; op *= 2)
        if (D->base.ops & (unsigned)op) D->sweeps.ops |= direct_op(dtype, (trine_transpose)op);
    TRY(take_matrix(D, A));
    TRY(check_trial(D));
    if (!factor_solves(F)) TRY(place_permutations(D));
    TRY(trine_plan_make_own_work(&D->base, max_nrhs));
    TRY(set_up_solver(D));
    D->base.has_values = true;
    trine_plan_analysed(&D->base, start, "%s, nnz of L %lld, %s solver (%s)", trine_direct_method_name(F->method),
                        (long long)F->nnz_L,
                        factor_solves(F)       ? "library"
                        : D->sweeps.supernodal ? "supernodal"
                                               : "general",
                        D->sweeps.reason);
    *plan = D;
    return TRINE_SUCCESS;
done:
    trine_direct_destroy(&D);
    return status;
}

trine_status trine_direct_create(trine_context ctx, trine_direct *plan, trine_matrix A,
                                 const trine_direct_options *options)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    *plan = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    trine_direct_options chosen = options ? *options : (trine_direct_options){0};
    const double start = trine_wall_time();
    trine_matrix_info info;
    trine_factor F;
    trine_status status = TRINE_SUCCESS;
    TRY(check_options(&chosen));
    if (chosen.solver == TRINE_SOLVER_SUPERNODAL) chosen.factor.need_panels = 1;
    TRY(trine_matrix_get_info(A, &info));
    TRY(trine_check_nrhs(chosen.triangular.max_nrhs, info.n_rows));
    TRY(factor_create(ctx, &F, A, &chosen.factor, solver_use(ctx, info.dtype, &chosen),
                      chosen.ops ? chosen.ops : TRINE_N));
    F->of_plan = true;
    solver_choose_library(F, &chosen);
    if (!factor_solves(F)) give_back_holes(F);
    TRY(create(ctx, plan, F, A, info.dtype, &chosen, start));
done:
    return status;
}

trine_status trine_direct_create_from_factor(trine_context ctx, trine_direct *plan, trine_factor F, trine_matrix A,
                                             const trine_direct_options *options)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    *plan = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(F, "F is NULL");
    const trine_direct_options chosen = options ? *options : (trine_direct_options){0};
    if (!A) A = F->A;
    trine_matrix_info info = {.n_rows = F->n, .n_cols = F->n, .dtype = F->dtype};
    trine_status status = TRINE_SUCCESS;
    TRY(check_options(&chosen));
    REQUIRE(A || chosen.refine <= 0, "refinement needs A, which is not known here");
    if (A) TRY(factor_check_matrix(A, &info));
    REQUIRE(info.n_rows == F->n, "A is %lld x %lld, and the factor of order %lld", (long long)info.n_rows,
            (long long)info.n_cols, (long long)F->n);
    REQUIRE(trine_dtype_is_complex(info.dtype) == trine_dtype_is_complex(F->dtype),
            "of A and its factor one is complex, the other is not");
    if (!F->factored) return trine_fail(TRINE_ERR_STATE, "there is no factor: the last trine_factor_update failed");
    TRY(trine_check_nrhs(chosen.triangular.max_nrhs, F->n));
    trine_retain(&F->refs);
    TRY(create(ctx, plan, F, A, info.dtype, &chosen, trine_wall_time()));
done:
    return status;
}

/** D goes on with what D->F is now, of A. */
static trine_status take_factor(trine_direct D, trine_matrix A)
{
    trine_status status = TRINE_SUCCESS;
    TRY(take_matrix(D, A));
    TRY(check_trial(D));
    if (!factor_solves(D->F)) TRY(place_permutations(D));
    TRY(set_up_solver(D));
    TRY(works_complete(D));
done:
    return status;
}

trine_status trine_direct_update(trine_direct D, trine_matrix A)
{
    TRINE_RANGE;
    REQUIRE(D, "plan is NULL");
    REQUIRE(A, "A is NULL");
    trine_matrix_info info;
    trine_status status = trine_matrix_get_info(A, &info);
    if (status) return status;
    REQUIRE(info.dtype == D->base.dtype, "A is of dtype %d, and the plan of dtype %d", (int)info.dtype,
            (int)D->base.dtype);
    if (!D->F->A)
        return trine_fail(TRINE_ERR_UNSUPPORTED,
                          "the plan's factor was taken from another program: make a plan from its new factor");
    double start;
    status = trine_plan_numeric_begin(&D->base, TRINE_HOST, NULL, &start);
    if (status) return status;
    status = trine_factor_update(D->F, A);
    if (!status) status = take_factor(D, A);
    return trine_plan_numeric_end(&D->base, status, start);
}

trine_status trine_direct_replace_factor(trine_direct D, trine_factor F, trine_matrix A)
{
    TRINE_RANGE;
    REQUIRE(D, "plan is NULL");
    REQUIRE(F, "F is NULL");
    if (!A && F->dtype == D->base.dtype) A = F->A;
    trine_matrix_info info = {.n_rows = D->base.n, .dtype = D->base.dtype};
    trine_status status = A ? factor_check_matrix(A, &info) : TRINE_SUCCESS;
    if (status) return status;
    REQUIRE(A || D->options.refine <= 0, "refinement needs A, which is not known here");
    REQUIRE(F->n == D->base.n && info.n_rows == D->base.n,
            "A has %lld rows and the factor %lld, and the plan was made for %lld", (long long)info.n_rows,
            (long long)F->n, (long long)D->base.n);
    REQUIRE(info.dtype == D->base.dtype, "A is of dtype %d, and the plan of dtype %d", (int)info.dtype,
            (int)D->base.dtype);
    REQUIRE(trine_dtype_is_complex(F->dtype) == trine_dtype_is_complex(D->base.dtype),
            "of the plan and the factor one is complex, the other is not");
    if (!F->factored) return trine_fail(TRINE_ERR_STATE, "there is no factor: the last trine_factor_update failed");
    if (factor_solves(F) != factor_solves(D->F))
        return trine_fail(TRINE_ERR_UNSUPPORTED, "of both factors one is solved with by its library, the other is not");
    double start;
    status = trine_plan_numeric_begin(&D->base, TRINE_HOST, NULL, &start);
    if (status) return status;
    trine_retain(&F->refs);
    trine_factor_destroy(&D->F);
    D->F = F;
    return trine_plan_numeric_end(&D->base, take_factor(D, A), start);
}

trine_status trine_direct_get_permutations(trine_direct D, const int32_t **row_perm, const int32_t **col_perm,
                                           const double **row_scale, const double **col_scale)
{
    REQUIRE(D, "plan is NULL");
    trine_status status = trine_plan_read_begin(&D->base, "trine_direct_get_permutations");
    if (status) return status;
    status = trine_factor_get_permutations(D->F, row_perm, col_perm, row_scale, col_scale);
    trine_leave(&D->base.usage);
    return status;
}

/* -------------------------------------------------------------------- info */

trine_status trine_direct_get_info(trine_direct D, trine_direct_info *info)
{
    REQUIRE(D, "plan is NULL");
    REQUIRE(info, "info is NULL");
    const direct_sweeps *sweeps = &D->sweeps;
    trine_status status = trine_plan_read_begin(&D->base, "trine_direct_get_info");
    if (status) return status;
    *info = (trine_direct_info){.analyse_seconds = sweeps->analyse_seconds,
                                .numeric_seconds = sweeps->numeric_seconds,
                                .solver = factor_solves(D->F)  ? TRINE_SOLVER_LIBRARY
                                          : sweeps->supernodal ? TRINE_SOLVER_SUPERNODAL
                                                               : TRINE_SOLVER_GENERAL,
                                .reason = sweeps->reason};
    TRY(trine_factor_get_info(D->F, &info->factor));
    info->deterministic = D->F->by_library;
    if (factor_solves(D->F)) goto done;
    if (sweeps->supernodal) { /* Cholesky: L serves for both */
        TRY(trine_supernodal_get_info(sweeps->L_panels, &info->lower_panels));
        TRY(trine_supernodal_get_info(sweeps->Ut_panels ? sweeps->Ut_panels : sweeps->L_panels, &info->upper_panels));
        info->deterministic = info->lower_panels.deterministic && info->upper_panels.deterministic;
    } else {
        TRY(trine_triangular_get_info(sweeps->lower, &info->lower));
        TRY(trine_triangular_get_info(sweeps->upper ? sweeps->upper : sweeps->lower, &info->upper));
        if (sweeps->few_entries) info->lower.reason = info->upper.reason = "few entries: threads gain nothing";
        info->deterministic = info->lower.deterministic && info->upper.deterministic;
    }
done:
    trine_leave(&D->base.usage);
    return status;
}

trine_status trine_direct_destroy(trine_direct *plan)
{
    if (!plan || !*plan) return TRINE_SUCCESS;
    trine_direct D = *plan;
    *plan = NULL;
    return trine_plan_drop(&D->base);
}

trine_status trine_direct_as_op(trine_direct plan, trine_op *op)
{
    return trine_plan_as_op(plan ? &plan->base : NULL, op);
}
