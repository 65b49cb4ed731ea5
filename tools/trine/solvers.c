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

static const struct solver triangular = {triangular_setup, triangular_solve, triangular_destroy, NULL};

/* --------------------------------------------------- tridiagonal and banded */

enum { MAX_BANDS = 8 }; /* on either side, of trine_gbsv_cpu */

struct band {
    trine_context ctx;
    trine_dtype t;
    int threads, kl, ku;
    int64_t n;
    trine_gtsv_options options;
    char *bands; /* band k (-kl..ku) at (kl + k) n: A(i, i + k) at its position i */
    void *work;
    size_t work_bytes;
};

/** The bands of A; with cyclic != 0 the corner A(0, n-1) is in front of the lower band and A(n-1, 0) behind the upper one. */
static trine_status take_bands(const struct problem *p, struct band *band)
{
    const size_t size = trine_dtype_size(band->t), bytes = (size_t)(band->kl + band->ku + 1) * (size_t)band->n * size;
    const int64_t *offsets, n = band->n;
    const int32_t *columns;
    const void *values;
    trine_status status = trine_alloc(p->ctx, TRINE_HOST, bytes, (void **)&band->bands);
    if (!status) status = trine_matrix_get_arrays(p->A, &offsets, &columns, &values);
    if (status) return status;
    memset(band->bands, 0, bytes);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
            int64_t k = columns[e] - i;
            if (band->options.cyclic && i == 0 && columns[e] == n - 1) k = -1;
            else if (band->options.cyclic && i == n - 1 && columns[e] == 0) k = 1;
            memcpy(band->bands + (size_t)((band->kl + k) * n + i) * size, (const char *)values + (size_t)e * size, size);
        }
    return TRINE_SUCCESS;
}

static trine_status band_create(const struct problem *p, int kl, int ku, struct outcome *o, struct band **out)
{
    struct band *band = calloc(1, sizeof *band);
    *out = band;
    if (!band) return trine_fail(TRINE_ERR_MEMORY, "no memory for the bands");
    *band = (struct band){.ctx = p->ctx, .t = p->info.dtype, .threads = p->threads, .kl = kl, .ku = ku, .n = p->n};
    const double begin = trine_wall_time();
    const bool corners = p->structure.lower_bandwidth > kl || p->structure.upper_bandwidth > ku;
    band->options.cyclic = corners;
    trine_status status = take_bands(p, band);
    o->numeric_seconds = trine_wall_time() - begin;
    return status;
}

static void band_destroy(void *state)
{
    struct band *band = state;
    if (!band) return;
    trine_free(band->ctx, TRINE_HOST, band->bands);
    trine_free(band->ctx, TRINE_HOST, band->work);
    free(band);
}

/** The partitioned solve takes any pivot: an elimination with row exchanges says which one is zero. */
static trine_status check_pivots(const struct problem *p, const struct band *band)
{
    trine_status status = TRINE_SUCCESS;
    const trine_gtsv_options options = {.pivot = TRINE_PIVOT_PARTIAL};
    const size_t bytes = (size_t)p->n * trine_dtype_size(band->t);
    size_t work_bytes;
    void *zeros = NULL, *work = NULL;
    TRY(trine_gbsv_cpu_work_size(band->t, p->n, 1, band->kl, band->ku, &options, &work_bytes));
    TRY(trine_alloc(p->ctx, TRINE_HOST, work_bytes, &work));
    TRY(trine_alloc(p->ctx, TRINE_HOST, bytes, &zeros));
    memset(zeros, 0, bytes);
    TRY(trine_gbsv_cpu(band->threads, band->t, p->n, 1, band->kl, band->ku, &options, band->bands, zeros, p->n, zeros, p->n, work, work_bytes));
done:
    trine_free(p->ctx, TRINE_HOST, work);
    trine_free(p->ctx, TRINE_HOST, zeros);
    return status;
}

static trine_status tridiagonal_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    const trine_matrix_structure *s = &p->structure;
    struct band *band = NULL;
    if ((s->lower_bandwidth > 1 || s->upper_bandwidth > 1) && !s->cyclic_tridiagonal)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is not tridiagonal: its bandwidth is %lld below and %lld above the diagonal",
             (long long)s->lower_bandwidth, (long long)s->upper_bandwidth);
    if (p->on_gpu) FAIL(TRINE_ERR_UNSUPPORTED, "the tridiagonal solve of the command runs on the CPU: use --device cpu");
    TRY(band_create(p, 1, 1, o, &band));
    if (band->options.cyclic) o->zero_pivots_are_hidden = true;
    else TRY(check_pivots(p, band));
    TRY(trine_gtsv_cpu_work_size(band->t, p->n, p->nrhs, &band->options, &band->work_bytes));
    TRY(trine_alloc(p->ctx, TRINE_HOST, band->work_bytes, &band->work));
    snprintf(o->kernel, sizeof o->kernel, "partitioned, scaled partial pivoting%s", band->options.cyclic ? ", cyclic" : "");
done:
    *state = band;
    return status;
}

static trine_status tridiagonal_solve(void *state, const trine_dense *B, const trine_dense *X)
{
    const struct band *d = state;
    const size_t stride = (size_t)d->n * trine_dtype_size(d->t);
    return trine_gtsv_cpu(d->threads, d->t, d->n, B->cols, &d->options, d->bands, d->bands + stride, d->bands + 2 * stride, B->data, d->n,
                          X->data, d->n, d->work, d->work_bytes);
}

static trine_status banded_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    const trine_matrix_structure *s = &p->structure;
    struct band *band = NULL;
    if (s->lower_bandwidth > MAX_BANDS || s->upper_bandwidth > MAX_BANDS)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix has %lld bands below and %lld above the diagonal; the banded solve takes %d on either side",
             (long long)s->lower_bandwidth, (long long)s->upper_bandwidth, MAX_BANDS);
    if (p->on_gpu) FAIL(TRINE_ERR_UNSUPPORTED, "the banded solve runs on the CPU: use --device cpu");
    TRY(band_create(p, (int)s->lower_bandwidth, (int)s->upper_bandwidth, o, &band));
    TRY(trine_gbsv_cpu_work_size(band->t, p->n, p->nrhs, band->kl, band->ku, &band->options, &band->work_bytes));
    TRY(trine_alloc(p->ctx, TRINE_HOST, band->work_bytes, &band->work));
    snprintf(o->kernel, sizeof o->kernel, "%d bands below and %d above the diagonal, partial pivoting", band->kl, band->ku);
done:
    *state = band;
    return status;
}

static trine_status banded_solve(void *state, const trine_dense *B, const trine_dense *X)
{
    const struct band *d = state;
    return trine_gbsv_cpu(d->threads, d->t, d->n, B->cols, d->kl, d->ku, &d->options, d->bands, B->data, d->n, X->data, d->n, d->work, d->work_bytes);
}

static const struct solver tridiagonal = {tridiagonal_setup, tridiagonal_solve, band_destroy, NULL};
static const struct solver banded = {banded_setup, banded_solve, band_destroy, NULL};

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

/** What solves: "supernodal, 812 panels in L" or the methods' names. */
static void describe_kernel(const trine_direct_info *info, char *text, size_t size)
{
    const bool lu = info->factor.diag_L == TRINE_UNIT;
    if (info->solver == TRINE_SOLVER_SUPERNODAL) {
        int used = snprintf(text, size, "supernodal, %s panels in L", grouped(info->lower_panels.panels_merged));
        if (lu) used += snprintf(text + used, size - (size_t)used, ", %s in U", grouped(info->upper_panels.panels_merged));
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
    const trine_direct_options options = {.triangular = {.max_nrhs = p->nrhs}};
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

static trine_status direct_solve(void *state, const trine_dense *B, const trine_dense *X)
{
    return library->solve(((struct direct *)state)->plan, TRINE_N, B, X, NULL);
}

static const struct solver direct_auto = {direct_auto_setup, direct_solve, direct_destroy, direct_set_up_general};
static const struct solver cholesky = {cholesky_setup, direct_solve, direct_destroy, direct_set_up_general};
static const struct solver lu = {lu_setup, direct_solve, direct_destroy, direct_set_up_general};

/* ------------------------------------------------------------------ choice */

const struct solver *choose_solver(const struct problem *p, enum method method, enum method *chosen, const char **reason)
{
    static const struct solver *const solvers[] = {&direct_auto, &cholesky, &lu, &triangular, &tridiagonal, &banded};
    const trine_matrix_structure *s = &p->structure;
    *reason = "asked for";
    if (method == METHOD_AUTO) {
        if (s->lower_triangular || s->upper_triangular) {
            method = METHOD_TRIANGULAR;
            *reason = s->lower_triangular && s->upper_triangular ? "the matrix is diagonal"
                    : s->lower_triangular                        ? "the matrix is lower triangular"
                                                                 : "the matrix is upper triangular";
        } else if (!p->on_gpu && ((s->lower_bandwidth <= 1 && s->upper_bandwidth <= 1) || s->cyclic_tridiagonal)) {
            method = METHOD_TRIDIAGONAL;
            *reason = s->cyclic_tridiagonal ? "the matrix is cyclic tridiagonal" : "the matrix is tridiagonal";
        } else if (!p->on_gpu && s->lower_bandwidth <= MAX_BANDS && s->upper_bandwidth <= MAX_BANDS) {
            method = METHOD_BANDED;
            *reason = "the matrix has at most 8 bands on either side of the diagonal";
        }
    }
    *chosen = method;
    return solvers[method];
}
