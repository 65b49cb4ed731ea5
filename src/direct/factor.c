/* A factorization: choice of the library, checks, the life of the handle. What is special to a library is in its
 * adapter. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "direct/direct.h"
#include "direct/isolation.h"

static const char *const method_names[] = {"auto", "cholesky", "cholesky-simplicial", "lu", "lu-umfpack", "lu-klu",
                                           "ldl",  "cudss"};
static const char *const ordering_names[] = {"auto", "metis", "amd", "colamd", "natural", "given"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

const char *trine_direct_method_name(trine_direct_method method)
{
    return (unsigned)method < COUNT(method_names) ? method_names[method] : "unknown";
}
const char *trine_ordering_name(trine_ordering ordering)
{
    return (unsigned)ordering < COUNT(ordering_names) ? ordering_names[ordering] : "unknown";
}

static bool is_cholesky(trine_direct_method method)
{
    return method == TRINE_DIRECT_CHOLESKY || method == TRINE_DIRECT_CHOLESKY_SIMPLICIAL;
}
bool factor_is_symmetric(trine_direct_method method) { return is_cholesky(method) || method == TRINE_DIRECT_LDL; }

double value_abs(const double *v, int parts) { return parts == 1 ? fabs(v[0]) : hypot(v[0], v[1]); }

void factor_warn_if_nearly_singular(trine_factor F, double smallest_over_largest)
{
    if (!(smallest_over_largest > trine_dtype_eps(F->dtype)))
        trine_log(
            F->ctx, 1,
            "smallest over largest pivot of the %s factorization is %.2g: the matrix is nearly singular, or badly scaled",
            trine_direct_method_name(F->method), smallest_over_largest);
}

/* --------------------------------------------------------------- breakdowns */

/** The magnitudes of A's entries, zeros aside. */
static void find_range(trine_factor F, double *smallest, double *largest)
{
    const struct factor_input in = factor_get_input(F);
    const int parts = factor_parts(F);
    *smallest = INFINITY, *largest = 0;
    for (int64_t k = 0; k < in.nnz; k++) {
        const double size = value_abs(value_at(in.values, k, parts), parts);
        if (size > 0 && size < *smallest) *smallest = size;
        if (size > *largest) *largest = size;
    }
}

/** status with what was found, and the reasons there may be for it: rounding, and entries that have lost digits
 *  before it. */
static trine_status fail_at_pivot(trine_factor F, trine_status status, const char *found)
{
    double smallest, largest;
    char remark[100] = "";
    find_range(F, &smallest, &largest);
    if (smallest < DBL_MIN)
        snprintf(remark, sizeof remark, " (A has entries down to %.2g, where double precision loses digits: scale it)",
                 smallest);
    return trine_fail(status, "%s, or rounding made it so%s", found, remark);
}

trine_status factor_fail_zero_pivot(trine_factor F, int64_t column, int64_t number)
{
    char found[200];
    snprintf(found, sizeof found,
             "the pivot of column %lld (number %lld of %lld) is exactly zero: the matrix is singular",
             (long long)column, (long long)number, (long long)F->n);
    return fail_at_pivot(F, TRINE_ERR_SINGULAR, found);
}

trine_status factor_fail_not_definite(trine_factor F, int64_t column, int64_t number)
{
    char found[200];
    snprintf(found, sizeof found, "%s at column %lld (pivot %lld of %lld): the matrix is not %s",
             F->method == TRINE_DIRECT_LDL ? "a pivot of L D L^H is zero" : "Cholesky broke down", (long long)column,
             (long long)number, (long long)F->n, F->method == TRINE_DIRECT_LDL ? "quasidefinite" : "positive definite");
    return fail_at_pivot(F, TRINE_ERR_NOT_DEFINITE, found);
}

trine_status factor_fail_range(trine_factor F)
{
    double smallest, largest;
    find_range(F, &smallest, &largest);
    return trine_fail(
        TRINE_ERR_NO_CONVERGENCE,
        "the %s factorization left the range of double precision (A has entries of %.2g to %.2g): scale the matrix",
        trine_direct_method_name(F->method), smallest, largest);
}

bool factor_values_are_finite(const void *values, int64_t count, int parts)
{
    /* One added to an exponent of all ones, which Inf and NaN have, carries into the sign's bit. */
    const uint64_t magnitude = UINT64_MAX >> 1, one = (uint64_t)1 << (DBL_MANT_DIG - 1);
    const char *from = values;
    uint64_t carries = 0;
    for (int64_t k = 0; k < count * parts; k++) {
        uint64_t bits;
        memcpy(&bits, from + (size_t)k * sizeof bits, sizeof bits);
        carries |= (bits & magnitude) + one;
    }
    return !(carries >> 63);
}

bool factor_scales_are_good(trine_factor F)
{
    for (int64_t k = 0; k < F->n; k++)
        if (!(F->row_scale[k] > 0 && isfinite(F->row_scale[k]))) return false;
    return true;
}

/* ------------------------------------------------------------------- input */

/** What can be said of A without a look at its arrays. */
static trine_status check_shape(trine_matrix A, trine_matrix_info *info)
{
    REQUIRE(A, "A is NULL");
    trine_status status = trine_matrix_get_info(A, info);
    if (status) return status;
    const void *values;
    trine_matrix_get_arrays(A, NULL, NULL, &values);
    REQUIRE(info->space == TRINE_HOST, "A is in device memory; a factorization runs on the host");
    REQUIRE(info->n_rows == info->n_cols, "A is %lld x %lld, not square", (long long)info->n_rows,
            (long long)info->n_cols);
    REQUIRE(values || info->nnz == 0, "A is a pattern without values");
    return TRINE_SUCCESS;
}

trine_status factor_check_matrix(trine_matrix A, trine_matrix_info *info)
{
    const trine_status status = check_shape(A, info);
    return status ? status : trine_matrix_check(A, TRINE_CHECK_FINITE);
}

/** A matrix without entries may have no values, and a library takes NULL for a wrong argument: arrays all the same. */
static trine_status make_empty(trine_factor F, trine_matrix *W)
{
    int64_t *offsets;
    const trine_status status =
        trine_matrix_allocate(F->ctx, W, TRINE_CSC, F->dtype, F->n, F->n, 0, &offsets, NULL, NULL);
    if (!status) memset(offsets, 0, (size_t)(F->n + 1) * sizeof *offsets);
    return status;
}

/** The caller's matrix the way every adapter wants it: CSC, D or Z, sorted, without duplicates. */
static trine_status normalize(trine_factor F, trine_matrix A, trine_matrix *W)
{
    trine_matrix copy = NULL;
    trine_status status = TRINE_SUCCESS;
    *W = NULL;
    if (!F->nnz_given) return make_empty(F, W);
    TRY(trine_matrix_copy(A, &copy, TRINE_HOST, TRINE_CSC, F->dtype));
    if (!trine_matrix_check(copy, TRINE_CHECK_SORTED)) { /* as most matrices leave trine_matrix_copy */
        *W = copy;
        return TRINE_SUCCESS;
    }
    TRY(trine_matrix_sort(copy, W, 1));
    TRY(trine_matrix_check(*W, TRINE_CHECK_FINITE)); /* sums of duplicates may overflow */
done:
    trine_matrix_destroy(&copy);
    if (status) trine_matrix_destroy(W);
    return status;
}

static trine_status check_hermitian(const struct factor_structure *s)
{
    return s->hermitian
               ? TRINE_SUCCESS
               : trine_fail(TRINE_ERR_STRUCTURE, "Cholesky and L D L^H need a %s matrix, and A is not (value by value)",
                            s->pattern_symmetric ? "symmetric or Hermitian" : "symmetric");
}

/* ----------------------------------------------------------- factorization */

uint64_t factor_new_pattern(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void factor_drop_upper_panels(trine_factor F)
{
    trine_context ctx = F->ctx;
    trine_free(ctx, TRINE_HOST, (void *)F->upper.first_column);
    trine_free(ctx, TRINE_HOST, (void *)F->upper.row_offsets);
    trine_free(ctx, TRINE_HOST, (void *)F->upper.value_offsets);
    trine_free(ctx, TRINE_HOST, (void *)F->upper.rows);
    trine_free(ctx, TRINE_HOST, (void *)F->upper.values);
    F->upper = (trine_panels){0};
}

trine_status factor_make_matrix(trine_factor F, int which, trine_format format, int64_t count, trine_matrix *M,
                                int64_t **offsets, int32_t **indices, void **values, bool *again)
{
    trine_matrix_info info;
    const int64_t *o;
    const int32_t *i;
    const void *v;
    trine_matrix *spare = &F->spare[which];
    const bool fits = *spare && !trine_matrix_get_info(*spare, &info) && info.nnz == count && info.format == format &&
                      info.dtype == F->dtype && !trine_matrix_get_arrays(*spare, &o, &i, &v);
    if (again) *again = fits;
    if (fits) {
        *M = *spare;
        *spare = NULL;
        *offsets = (int64_t *)o, *indices = (int32_t *)i, *values = (void *)v; /* nobody else has them */
        return TRINE_SUCCESS;
    }
    trine_matrix_destroy(spare);
    return trine_matrix_allocate(F->ctx, M, format, F->dtype, F->n, F->n, count, offsets, indices, values);
}

void factor_spare_matrix(trine_factor F, int which, trine_matrix *M)
{
    trine_matrix *spare = &F->spare[which];
    if (F->of_plan && F->updated && *M) {
        trine_matrix_destroy(spare);
        *spare = *M;
        *M = NULL;
    } else {
        trine_matrix_destroy(M);
    }
}

void factor_clear_numeric(trine_factor F)
{
    F->factored = false;
    trine_context ctx = F->ctx;
    if (F->col_perm != F->row_perm) trine_free(ctx, TRINE_HOST, F->col_perm);
    trine_free(ctx, TRINE_HOST, F->row_perm);
    trine_free(ctx, TRINE_HOST, F->row_scale);
    trine_free(ctx, TRINE_HOST, F->col_scale);
    trine_free(ctx, TRINE_HOST, F->first_column);
    trine_free(ctx, TRINE_HOST, F->panel_rows);
    trine_free(ctx, TRINE_HOST, F->row_offsets);
    trine_free(ctx, TRINE_HOST, F->value_offsets);
    F->row_perm = F->col_perm = F->first_column = F->panel_rows = NULL;
    F->row_scale = F->col_scale = NULL;
    F->row_offsets = F->value_offsets = NULL;
    F->panels = (trine_panels){0};
    F->nnz_L = F->nnz_U = 0;
    F->has_parts = false;
    F->pattern = 0;
    F->trial_error = -1;
    F->refine = 0;
    for (int k = 0; k < 2; k++) factor_spare_matrix(F, k, &F->triangles[k]);
    factor_drop_upper_panels(F);
}

static void release_backend(trine_factor F)
{
    factor_clear_numeric(F);
    for (int k = 0; k < 2; k++) trine_matrix_destroy(&F->spare[k]);
    if (F->backend) F->backend->release(F);
    F->backend = NULL;
    F->state = NULL;
}

static trine_status empty_factor(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(F->ctx, F->row_perm, 0));
    F->col_perm = F->row_perm;
done:
    return status;
}

trine_status factor_take_parts(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    if (!F->backend || !F->backend->take_parts) return TRINE_SUCCESS;
    pthread_mutex_lock(&F->lock);
    if (!F->has_parts) status = F->backend->take_parts(F);
    F->has_parts = !status;
    pthread_mutex_unlock(&F->lock);
    return status;
}

/** Cholesky and partial pivoting are stable. */
static bool needs_trial(trine_factor F)
{
    return factor_solves(F) ? !is_cholesky(F->method) && F->method != TRINE_DIRECT_CUDSS : F->triangles[1] != NULL;
}

static trine_status numeric_and_trial(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    factor_clear_numeric(F);
    TRY(F->backend ? F->backend->numeric(F) : empty_factor(F));
    if (!factor_solves(F)) TRY(factor_take_parts(F));
    const bool trusted = F->trusted && F->refine_new == 0 && factor_trial_ops(F) == TRINE_N;
    if (trusted) F->trial_error = F->trial_new;
    else if (needs_trial(F)) TRY(factor_try(F));
done:
    return status;
}

trine_status factor_numeric(trine_factor F)
{
    double start = trine_wall_time();
    trine_status status = TRINE_SUCCESS;
    F->kept_pivots = F->trusted = false;
    TRY(numeric_and_trial(F));
    if (F->kept_pivots && factor_solves(F) && !(factor_is_accurate(F) && F->refine <= F->refine_new)) {
        trine_log(F->ctx, 2, "%s: pivots are chosen anew", trine_direct_method_name(F->method));
        factor_klu_set_tolerance(F, F->options.pivot_threshold);
        F->trusted = false;
        TRY(numeric_and_trial(F));
    }
    if (!F->kept_pivots) {
        F->refine_new = F->refine;
        F->trial_new = F->trial_error;
    }
    factor_drop_copies(F);
    F->factor_seconds = trine_wall_time() - start;
    F->factored = true;
    trine_log(
        F->ctx, 2,
        "%s (%s): n %lld, nnz(A) %lld, ordering %s %.3g s, symbolic %.3g s, factorization %.3g s, nnz(L) %lld, nnz(U) %lld",
        trine_direct_method_name(F->method), F->reason, (long long)F->n, (long long)factor_get_input(F).nnz,
        trine_ordering_name(F->ordering), F->order_seconds, F->symbolic_seconds, F->factor_seconds, (long long)F->nnz_L,
        (long long)F->nnz_U);
done:
    if (status) factor_clear_numeric(F);
    return status;
}

trine_status factor_analyse(trine_factor F, trine_direct_method method, const char *reason, ...)
{
    trine_status status = TRINE_SUCCESS;
    char text[sizeof F->reason]; /* the reason's words may be F's */
    va_list words;
    va_start(words, reason);
    vsnprintf(text, sizeof text, reason, words);
    va_end(words);
    memcpy(F->reason, text, sizeof text);
    release_backend(F);
    F->method = method;
    F->diag_L = is_cholesky(method) ? TRINE_NONUNIT : TRINE_UNIT;
    F->ordering = F->options.ordering ? F->options.ordering : TRINE_ORDERING_NATURAL; /* a backend says better */
    F->order_seconds = F->symbolic_seconds = 0;
    if (!F->n) goto done;
    const double start = trine_wall_time();
    F->backend = factor_is_symmetric(method)         ? &factor_cholmod
                 : method == TRINE_DIRECT_LU         ? &factor_superlu
                 : method == TRINE_DIRECT_LU_UMFPACK ? &factor_umfpack
                 : method == TRINE_DIRECT_CUDSS      ? &factor_cudss
                                                     : &factor_klu;
    TRY(blas_prepare());
    if (!factor_is_symmetric(method) && method != TRINE_DIRECT_LU_KLU) TRY(factor_check_structural_rank(F));
    TRY(F->backend->analyse(F));
    F->order_seconds = trine_wall_time() - start - F->symbolic_seconds;
done:
    return status;
}

static trine_status factor_with(trine_factor F, trine_direct_method method)
{
    const trine_status status = factor_analyse(F, method, "asked for");
    return status ? status : factor_numeric(F);
}

trine_status factor_superlu_or_umfpack(trine_factor F, const char *reason)
{
    trine_status status = factor_analyse(F, TRINE_DIRECT_LU, "%s", reason);
    if (!status) status = factor_numeric(F);
    if (status != TRINE_ERR_UNSUPPORTED) return status;
    trine_log(F->ctx, 1, "%s; UMFPACK is tried instead", trine_last_error());
    status = factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "SuperLU cannot factor it (the log says why)");
    return status ? status : factor_numeric(F);
}

/** What was asked for by name is kept, whatever its accuracy. */
static void warn_if_inaccurate(trine_factor F)
{
    if (!factor_is_accurate(F))
        trine_log(F->ctx, 1,
                  "a trial solve with the %s factor has a backward error of %.3g eps after %d steps of refinement",
                  trine_direct_method_name(F->method), F->trial_error, F->refine);
}

/* ----------------------------------------------------------------- options */

static trine_status check_options(const trine_factor_options *o)
{
    REQUIRE_RESERVE(trine_factor_options, o);
    REQUIRE((unsigned)o->method < COUNT(method_names), "there is no method %d", (int)o->method);
    REQUIRE((unsigned)o->ordering < COUNT(ordering_names), "there is no ordering %d", (int)o->ordering);
    REQUIRE(o->pivot_threshold >= 0 && o->pivot_threshold <= 1, "pivot_threshold %g is not in 0..1",
            o->pivot_threshold);
    REQUIRE(o->keep_zeros == 0, "keep_zeros is reserved and must be 0, not %d", o->keep_zeros);
    REQUIRE(o->need_panels == 0 || o->need_panels == 1, "need_panels is %d, neither 0 nor 1", o->need_panels);
    REQUIRE(!factor_is_symmetric(o->method) || o->ordering != TRINE_ORDERING_COLAMD,
            "COLAMD orders columns for LU, not for Cholesky or L D L^H");
    REQUIRE(o->ordering != TRINE_ORDERING_GIVEN || o->permutation, "a given ordering, but permutation is NULL");
    REQUIRE(!o->permutation || o->ordering == TRINE_ORDERING_AUTO || o->ordering == TRINE_ORDERING_GIVEN,
            "a permutation and the ordering %s were both asked for", trine_ordering_name(o->ordering));
    REQUIRE(o->method != TRINE_DIRECT_CUDSS || (o->ordering == TRINE_ORDERING_AUTO && !o->permutation),
            "cuDSS takes its own ordering, and %s was asked for", trine_ordering_name(o->ordering));
    return TRINE_SUCCESS;
}

/** A copy of the caller's order, which may go. */
static trine_status take_order(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *mark = NULL;
    if (!F->options.permutation) return TRINE_SUCCESS;
    TRY(ALLOC(F->ctx, mark, F->n));
    TRY(factor_check_permutation("permutation", F->options.permutation, F->n, mark));
    TRY(ALLOC(F->ctx, F->given_order, F->n));
    memcpy(F->given_order, F->options.permutation, (size_t)F->n * sizeof *F->given_order);
    F->options.permutation = NULL;
    F->options.ordering = TRINE_ORDERING_GIVEN;
done:
    trine_free(F->ctx, TRINE_HOST, mark);
    return status;
}

trine_status factor_create(trine_context ctx, trine_factor *out, trine_matrix A, const trine_factor_options *options,
                           enum factor_use use, unsigned ops)
{
    REQUIRE(out, "F is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    trine_matrix_info info = {0};
    trine_factor_options chosen = options ? *options : (trine_factor_options){0};
    trine_status status = check_options(&chosen);
    if (status) return status;
    status = check_shape(A, &info);
    if (status) return status;
    trine_factor F = trine_host_calloc(ctx, 1, sizeof *F);
    if (!F) return TRINE_ERR_MEMORY;
    F->refs = 1;
    pthread_mutex_init(&F->lock, NULL);
    F->ctx = trine_retain_context(ctx);
    F->options = chosen;
    F->use = use;
    F->ops = ops;
    F->by_library = use != FACTOR_FOR_PLANS;
    F->n = info.n_rows;
    F->nnz_given = info.nnz;
    F->dtype = trine_dtype_is_complex(info.dtype) ? TRINE_Z : TRINE_D;
    TRY(factor_take_matrix(F, A, &F->A, &F->structure));
    if (!F->A) {
        TRY(trine_matrix_check(A, TRINE_CHECK_FINITE));
        TRY(normalize(F, A, &F->A));
    }
    TRY(take_order(F));
    switch (chosen.method) {
    case TRINE_DIRECT_AUTO: TRY(factor_auto(F)); break;
    case TRINE_DIRECT_LU: TRY(factor_superlu_or_umfpack(F, "asked for")); break;
    default:
        if (factor_is_symmetric(chosen.method)) {
            TRY(factor_know_structure(F));
            TRY(check_hermitian(&F->structure));
        }
        TRY(factor_with(F, chosen.method));
    }
    warn_if_inaccurate(F);
    *out = F;
    return TRINE_SUCCESS;
done:
    trine_factor_destroy(&F);
    return status;
}

trine_status trine_factor_create(trine_context ctx, trine_factor *out, trine_matrix A,
                                 const trine_factor_options *options)
{
    TRINE_RANGE;
    return factor_create(ctx, out, A, options, FACTOR_FOR_PLANS, TRINE_N | TRINE_T);
}

static trine_status same_pattern(trine_factor F, trine_matrix W)
{
    const struct factor_input old = factor_get_input(F);
    const int64_t *offsets;
    const int32_t *indices;
    trine_matrix_get_arrays(W, &offsets, &indices, NULL);
    for (int64_t j = 0; j < F->n; j++)
        if (offsets[j + 1] != old.offsets[j + 1] || memcmp(indices + offsets[j], old.indices + offsets[j],
                                                           (size_t)(offsets[j + 1] - offsets[j]) * sizeof *indices))
            return trine_fail(TRINE_ERR_ARGUMENT,
                              "the pattern of column %lld of A is not that of the matrix factored first", (long long)j);
    return TRINE_SUCCESS;
}

/** New values of any storage, checked as a first matrix is. */
static trine_status normalize_update(trine_factor F, trine_matrix A, trine_matrix *W)
{
    trine_matrix_info info = {0};
    trine_status status = factor_check_matrix(A, &info);
    if (status) return status;
    REQUIRE(info.n_rows == F->n && info.nnz == F->nnz_given, "A is of order %lld with %lld entries, not %lld with %lld",
            (long long)info.n_rows, (long long)info.nnz, (long long)F->n, (long long)F->nnz_given);
    REQUIRE(trine_dtype_is_complex(info.dtype) == (F->dtype == TRINE_Z),
            "A is %s, and the matrix factored first was not", F->dtype == TRINE_Z ? "real" : "complex");
    TRY(normalize(F, A, W));
    TRY(same_pattern(F, *W));
done:
    if (status) trine_matrix_destroy(W);
    return status;
}

trine_status trine_factor_update(trine_factor F, trine_matrix A)
{
    REQUIRE(F, "F is NULL");
    if (!F->A)
        return trine_fail(
            TRINE_ERR_UNSUPPORTED,
            "this factor was taken from another program, which factors new values too: take its factor again");
    REQUIRE(A, "A is NULL");
    struct factor_structure structure = {0};
    trine_matrix W = NULL;
    trine_status status = TRINE_SUCCESS;
    TRY(factor_check_borrowed(F));
    TRY(factor_take_values(F, A, &W, &structure));
    if (!W) TRY(normalize_update(F, A, &W));
    const bool automatic = F->options.method == TRINE_DIRECT_AUTO;
    if (factor_is_symmetric(F->method)) {
        if (!structure.known) TRY(factor_find_structure(F->ctx, W, &structure));
        status = check_hermitian(&structure);
        if (status && !automatic) goto done;
    }
    factor_drop_copies(F);
    F->updated = true;
    if (F->lender) trine_matrix_destroy(&F->A);
    else factor_spare_matrix(F, SPARE_MATRIX, &F->A);
    trine_matrix_destroy(&F->lender);
    F->A = W;
    F->structure = structure;
    W = NULL;
    if (status == TRINE_SUCCESS) status = factor_numeric(F);
    if (automatic) status = factor_auto_update(F, status);
    else if (F->method == TRINE_DIRECT_LU && status == TRINE_ERR_UNSUPPORTED)
        status = factor_superlu_or_umfpack(F, F->reason);
    if (status == TRINE_SUCCESS) warn_if_inaccurate(F);
done:
    trine_matrix_destroy(&W);
    return status;
}

/* ------------------------------------------------------------------- parts */

trine_status factor_solve_in_place(trine_factor F, trine_transpose op, const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    pthread_mutex_lock(&F->lock);
    TRY(F->backend->solve(F, op, X, X, NULL));
done:
    pthread_mutex_unlock(&F->lock);
    return status;
}

#define REQUIRE_FACTORED(F)                                                                                \
    do {                                                                                                   \
        REQUIRE(F, "F is NULL");                                                                           \
        if (!(F)->factored)                                                                                \
            return trine_fail(TRINE_ERR_STATE, "there is no factor: the last trine_factor_update failed"); \
    } while (0)

trine_status trine_factor_get_info(trine_factor F, trine_factor_info *info)
{
    REQUIRE_FACTORED(F);
    REQUIRE(info, "info is NULL");
    const int64_t nnz = factor_get_input(F).nnz;
    *info = (trine_factor_info){.n = F->n,
                                .nnz_matrix = nnz,
                                .nnz_L = F->nnz_L,
                                .nnz_U = F->nnz_U,
                                .fill = nnz ? (double)(F->nnz_L + F->nnz_U - F->n) / (double)nnz : 0,
                                .method = F->method,
                                .ordering = F->ordering,
                                .dtype = F->dtype,
                                .diag_L = F->diag_L,
                                .order_seconds = F->order_seconds,
                                .factor_seconds = F->factor_seconds,
                                .reason = F->reason,
                                .symbolic_seconds = F->symbolic_seconds,
                                .trial_error = F->trial_error,
                                .refine = F->refine};
    return TRINE_SUCCESS;
}

trine_status trine_factor_get_permutations(trine_factor F, const int32_t **row_perm, const int32_t **col_perm,
                                           const double **row_scale, const double **col_scale)
{
    REQUIRE_FACTORED(F);
    if (F->method == TRINE_DIRECT_CUDSS)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the permutations of cuDSS stay in cuDSS");
    const trine_status status = factor_take_parts(F);
    if (status) return status;
    if (row_perm) *row_perm = F->row_perm;
    if (col_perm) *col_perm = F->col_perm;
    if (row_scale) *row_scale = F->row_scale;
    if (col_scale) *col_scale = F->col_scale;
    return TRINE_SUCCESS;
}

trine_status trine_factor_get_triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    REQUIRE(T, "T is NULL");
    *T = NULL;
    REQUIRE_FACTORED(F);
    REQUIRE(which == TRINE_LOWER || which == TRINE_UPPER, "which is %d, neither TRINE_LOWER nor TRINE_UPPER",
            (int)which);
    if (which == TRINE_UPPER && F->diag_L == TRINE_NONUNIT) /* an LDL^H factor, taken from another program, has its U */
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the upper factor of Cholesky is L^H: solve with op TRINE_H on L");
    if (!F->backend) return trine_matrix_allocate(F->ctx, T, TRINE_CSC, F->dtype, 0, 0, 0, NULL, NULL, NULL);
    const trine_status status = factor_take_parts(F);
    return status ? status : F->backend->triangle(F, which, T);
}

trine_status factor_held_triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    const trine_matrix held = F->triangles[which == TRINE_UPPER];
    trine_matrix_info info;
    const trine_status status = trine_matrix_get_info(held, &info);
    if (status || info.format != TRINE_CSC) return trine_matrix_copy(held, T, TRINE_HOST, TRINE_CSC, F->dtype);
    *T = trine_retain_matrix(held);
    return TRINE_SUCCESS;
}

trine_status factor_any_triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    const trine_matrix held = F->triangles[which == TRINE_UPPER];
    if (!held) return trine_factor_get_triangle(F, which, T);
    *T = trine_retain_matrix(held);
    return TRINE_SUCCESS;
}

trine_status trine_factor_get_panels(trine_factor F, trine_uplo which, trine_panels *panels)
{
    REQUIRE_FACTORED(F);
    REQUIRE(panels, "panels is NULL");
    REQUIRE(which == TRINE_LOWER || which == TRINE_UPPER, "which is %d, neither TRINE_LOWER nor TRINE_UPPER",
            (int)which);
    if (F->method != TRINE_DIRECT_CHOLESKY && F->method != TRINE_DIRECT_LU)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a %s factor has no supernodal panels",
                          trine_direct_method_name(F->method));
    if (which == TRINE_UPPER && is_cholesky(F->method))
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the upper factor of Cholesky is L^H: the panels of L serve for both");
    static const int64_t zero = 0;
    static const int32_t zero_column = 0;
    if (!F->n) {
        *panels = (trine_panels){.first_column = &zero_column,
                                 .row_offsets = &zero,
                                 .value_offsets = &zero,
                                 .dtype = F->dtype,
                                 .diag = which == TRINE_UPPER ? TRINE_NONUNIT : F->diag_L};
        return TRINE_SUCCESS;
    }
    if (which == TRINE_UPPER && !F->upper.n_panels) {
        const trine_status status = F->backend->upper_panels(F);
        if (status) {
            factor_drop_upper_panels(F);
            return status;
        }
    }
    *panels = which == TRINE_LOWER ? F->panels : F->upper;
    return TRINE_SUCCESS;
}

trine_status trine_factor_destroy(trine_factor *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_factor F = *out;
    *out = NULL;
    if (!trine_release(&F->refs)) return TRINE_SUCCESS;
    trine_context ctx = F->ctx;
    release_backend(F);
    trine_free(ctx, TRINE_HOST, F->given_order);
    trine_free(ctx, TRINE_HOST, F->symmetric_order);
    trine_free(ctx, TRINE_HOST, F->given_offsets);
    trine_free(ctx, TRINE_HOST, F->given_indices);
    trine_free(ctx, TRINE_HOST, F->given_places);
    factor_drop_copies(F);
    pthread_mutex_destroy(&F->lock);
    trine_matrix_destroy(&F->spare[SPARE_MATRIX]);
    trine_matrix_destroy(&F->A);
    trine_matrix_destroy(&F->lender);
    trine_free(ctx, TRINE_HOST, F);
    return trine_context_destroy(&ctx);
}
