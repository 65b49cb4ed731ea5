/* Tridiagonal and banded solves, on the CPU and on the GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solvers.h"

struct band {
    trine_context ctx;
    trine_dtype t;
    int threads, kl, ku;
    int64_t n;
    trine_gtsv_options options; /* op: that of the solve in hand */
    char *bands;        /* band k (-kl..ku) at (kl + k) n: A(i, i + k) at its position i */
    char *device_bands; /* the same on the GPU; NULL on the CPU */
    void *stream;
    void *work;         /* in the context's space */
    size_t work_bytes;
    const struct band_routine *routine;
};

/** What solves: one entry for each method and device. */
struct band_routine {
    trine_status (*work_size)(const struct band *band, int64_t nrhs, size_t *bytes);
    trine_status (*solve)(const struct band *band, const trine_dense *B, const trine_dense *X);
};

static const char *band_at(const struct band *d, const char *bands, int k)
{
    return bands + (size_t)(d->kl + k) * (size_t)d->n * trine_dtype_size(d->t);
}

static trine_status gtsv_cpu_work_size(const struct band *d, int64_t nrhs, size_t *bytes)
{
    return trine_gtsv_cpu_work_size(d->t, d->n, nrhs, &d->options, bytes);
}
static trine_status gtsv_cpu(const struct band *d, const trine_dense *B, const trine_dense *X)
{
    return trine_gtsv_cpu(d->threads, d->t, d->n, B->cols, &d->options, band_at(d, d->bands, -1), band_at(d, d->bands, 0),
                          band_at(d, d->bands, 1), B->data, d->n, X->data, d->n, d->work, d->work_bytes);
}
static trine_status gtsv_cuda_work_size(const struct band *d, int64_t nrhs, size_t *bytes)
{
    return trine_gtsv_work_size(d->t, d->n, nrhs, &d->options, bytes);
}
static trine_status gtsv_cuda(const struct band *d, const trine_dense *B, const trine_dense *X)
{
    return trine_gtsv(d->stream, d->t, d->n, B->cols, &d->options, band_at(d, d->device_bands, -1), band_at(d, d->device_bands, 0),
                      band_at(d, d->device_bands, 1), B->data, d->n, X->data, d->n, d->work, d->work_bytes);
}
static trine_status gbsv_cpu_work_size(const struct band *d, int64_t nrhs, size_t *bytes)
{
    return trine_gbsv_cpu_work_size(d->t, d->n, nrhs, d->kl, d->ku, &d->options, bytes);
}
static trine_status gbsv_cpu(const struct band *d, const trine_dense *B, const trine_dense *X)
{
    return trine_gbsv_cpu(d->threads, d->t, d->n, B->cols, d->kl, d->ku, &d->options, d->bands, B->data, d->n, X->data, d->n, d->work,
                          d->work_bytes);
}
static trine_status gbsv_cuda_work_size(const struct band *d, int64_t nrhs, size_t *bytes)
{
    return trine_gbsv_work_size(d->t, d->n, nrhs, d->kl, d->ku, &d->options, bytes);
}
static trine_status gbsv_cuda(const struct band *d, const trine_dense *B, const trine_dense *X)
{
    return trine_gbsv(d->stream, d->t, d->n, B->cols, d->kl, d->ku, &d->options, d->device_bands, B->data, d->n, X->data, d->n, d->work,
                      d->work_bytes);
}

enum { ON_CPU, ON_GPU };
static const struct band_routine gtsv[] = {[ON_CPU] = {gtsv_cpu_work_size, gtsv_cpu}, [ON_GPU] = {gtsv_cuda_work_size, gtsv_cuda}};
static const struct band_routine gbsv[] = {[ON_CPU] = {gbsv_cpu_work_size, gbsv_cpu}, [ON_GPU] = {gbsv_cuda_work_size, gbsv_cuda}};

/* ------------------------------------------------------------------- setup */

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
    if (!p->on_gpu) return TRINE_SUCCESS;
    status = trine_alloc(p->ctx, TRINE_DEVICE, bytes, (void **)&band->device_bands);
    return status ? status : trine_copy(p->ctx, band->device_bands, TRINE_DEVICE, band->bands, TRINE_HOST, bytes);
}

/** Only the banded solve on the CPU reports a singular matrix; the others take any pivot. So that one is run first, with zeros. */
static trine_status check_pivots(const struct problem *p, const struct band *band)
{
    trine_status status = TRINE_SUCCESS;
    const trine_gtsv_options options = {.pivot = TRINE_PIVOT_PARTIAL, .cyclic = band->options.cyclic};
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

/** Workspace for solves with op(A), where what is there is too small. */
static trine_status make_room(const struct problem *p, struct band *band, trine_transpose op)
{
    trine_status status = TRINE_SUCCESS;
    const trine_space space = p->on_gpu ? TRINE_DEVICE : TRINE_HOST;
    size_t bytes;
    band->options.op = op;
    TRY(band->routine->work_size(band, p->nrhs, &bytes));
    if (band->work && bytes <= band->work_bytes) goto done;
    trine_free(p->ctx, space, band->work);
    band->work = NULL;
    TRY(trine_alloc(p->ctx, space, bytes, &band->work));
    band->work_bytes = bytes;
done:
    return status;
}

static trine_status band_set_up_adjoint(const struct problem *p, void *state) { return make_room(p, state, TRINE_H); }

/** kl bands below the diagonal and ku above, for one of the tables above. */
static trine_status band_setup(const struct problem *p, int kl, int ku, const struct band_routine *routines, struct band **state, struct outcome *o)
{
    trine_status status = TRINE_SUCCESS;
    struct band *band = calloc(1, sizeof *band);
    *state = band;
    if (!band) return trine_fail(TRINE_ERR_MEMORY, "no memory for the bands");
    *band = (struct band){.ctx = p->ctx, .t = p->info.dtype, .threads = p->threads, .kl = kl, .ku = ku, .n = p->n,
                          .routine = &routines[p->on_gpu ? ON_GPU : ON_CPU]};
    band->options.cyclic = p->structure.lower_bandwidth > kl || p->structure.upper_bandwidth > ku;
    const double begin = trine_wall_time();
    TRY(take_bands(p, band));
    o->numeric_seconds = trine_wall_time() - begin;
    if (band->routine != &gbsv[ON_CPU]) TRY(check_pivots(p, band));
    if (p->on_gpu) TRY(trine_context_get_stream(p->ctx, &band->stream));
    TRY(make_room(p, band, TRINE_N));
done:
    return status;
}

static trine_status tridiagonal_setup(const struct problem *p, void **state, struct outcome *o)
{
    const trine_matrix_structure *s = &p->structure;
    if ((s->lower_bandwidth > 1 || s->upper_bandwidth > 1) && !s->cyclic_tridiagonal)
        return trine_fail(TRINE_ERR_STRUCTURE, "the matrix is not tridiagonal: its bandwidth is %lld below and %lld above the diagonal",
                          (long long)s->lower_bandwidth, (long long)s->upper_bandwidth);
    struct band *band = NULL;
    const trine_status status = band_setup(p, 1, 1, gtsv, &band, o);
    *state = band;
    if (!status) snprintf(o->kernel, sizeof o->kernel, "partitioned, scaled partial pivoting%s", band->options.cyclic ? ", cyclic" : "");
    return status;
}

static trine_status banded_setup(const struct problem *p, void **state, struct outcome *o)
{
    const trine_matrix_structure *s = &p->structure;
    if (s->lower_bandwidth > MAX_BANDS || s->upper_bandwidth > MAX_BANDS)
        return trine_fail(TRINE_ERR_STRUCTURE, "the matrix has %lld bands below and %lld above the diagonal; the banded solve takes %d on either side",
                          (long long)s->lower_bandwidth, (long long)s->upper_bandwidth, MAX_BANDS);
    struct band *band = NULL;
    const trine_status status = band_setup(p, (int)s->lower_bandwidth, (int)s->upper_bandwidth, gbsv, &band, o);
    *state = band;
    if (!status) snprintf(o->kernel, sizeof o->kernel, "%d bands below and %d above the diagonal, scaled partial pivoting", band->kl, band->ku);
    return status;
}

/* ------------------------------------------------------------------- solve */

static trine_status band_solve(void *state, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    struct band *band = state;
    int saved; /* the routines run on the current CUDA device */
    band->options.op = op;
    trine_status status = trine_context_enter(band->ctx, &saved);
    if (status) return status;
    status = band->routine->solve(band, B, X);
    trine_context_leave(band->ctx, saved);
    return status;
}

static void band_destroy(void *state)
{
    struct band *band = state;
    if (!band) return;
    trine_free(band->ctx, TRINE_HOST, band->bands);
    trine_free(band->ctx, TRINE_DEVICE, band->device_bands);
    trine_free(band->ctx, band->device_bands ? TRINE_DEVICE : TRINE_HOST, band->work);
    free(band);
}

const struct solver tridiagonal_solver = {.setup = tridiagonal_setup, .solve = band_solve, .set_up_adjoint = band_set_up_adjoint,
                                          .destroy = band_destroy};
const struct solver banded_solver = {.setup = banded_setup, .solve = band_solve, .set_up_adjoint = band_set_up_adjoint,
                                     .destroy = band_destroy};
