/* The peers of cuSPARSE: gtsv2, gtsv2_nopivot and the batched gtsv and gpsv. Loaded at run time. Every routine works
 * in place: the right-hand side, and where the routine overwrites them the bands, are copied before each call,
 * outside the timing. */
#include <cusparse.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "tridiag.h"

/* One interface for both precisions. */
typedef int (*gtsv2_fn)(cusparseHandle_t, int m, int n, const void *dl, const void *d, const void *du, void *B, int ldb,
                        void *buffer);
typedef int (*strided_fn)(cusparseHandle_t, int m, const void *dl, const void *d, const void *du, void *x, int batch,
                          int stride, void *buffer);
typedef int (*gtsv_batch_fn)(cusparseHandle_t, int algorithm, int m, void *dl, void *d, void *du, void *x, int batch,
                             void *buffer);
typedef int (*gpsv_batch_fn)(cusparseHandle_t, int algorithm, int m, void *ds, void *dl, void *d, void *du, void *dw,
                             void *x, int batch, void *buffer);

typedef struct {
    const tridiag_problem *p;
    cusparseHandle_t handle;
    void *library;
    void *routine;    /* one of the above; its query has the same arguments but the last, a size_t * */
    enum { GTSV2, STRIDED, GTSV_BATCH, GPSV_BATCH } kind;
    int algorithm;
    bool transposed;  /* interleaved batches of systems that are given one after the other */
    char *given;      /* the bands and right-hand sides to start from, if they are not the problem's */
    char *bands, *buffer; /* bands: a copy to be overwritten, NULL if it is not */
    size_t buffer_bytes;
    int (*destroy_handle)(cusparseHandle_t);
} solver;

static trine_status check(int result, const char *what)
{
    if (result == CUSPARSE_STATUS_SUCCESS) return TRINE_SUCCESS;
    return trine_fail(result == CUSPARSE_STATUS_NOT_SUPPORTED ? TRINE_ERR_UNSUPPORTED : TRINE_ERR_DEVICE,
                      "cuSPARSE's %s failed with status %d", what, result);
}

static char *band(const solver *s, int k)
{
    return s->bands ? s->bands + (size_t)(s->p->kl + k) * tridiag_band_bytes(s->p) : tridiag_band(s->p, k);
}

static int call(const solver *s, void *routine, void *buffer)
{
    const tridiag_problem *p = s->p;
    const int n = (int)p->n, systems = (int)p->systems;
    switch (s->kind) {
    case GTSV2:
        return ((gtsv2_fn)routine)(s->handle, n, (int)p->nrhs, band(s, -1), band(s, 0), band(s, 1), p->X, n, buffer);
    case STRIDED:
        return ((strided_fn)routine)(s->handle, n, band(s, -1), band(s, 0), band(s, 1), p->X, systems, n, buffer);
    case GTSV_BATCH:
        return ((gtsv_batch_fn)routine)(s->handle, s->algorithm, n, band(s, -1), band(s, 0), band(s, 1), p->X, systems,
                                        buffer);
    default:
        return ((gpsv_batch_fn)routine)(s->handle, s->algorithm, n, band(s, -2), band(s, -1), band(s, 0), band(s, 1),
                                        band(s, 2), p->X, systems, buffer);
    }
}

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_context_synchronize(s->p->b->ctx);
    if (s->handle) s->destroy_handle(s->handle);
    trine_free(s->p->b->ctx, TRINE_DEVICE, s->given);
    trine_free(s->p->b->ctx, TRINE_DEVICE, s->bands);
    trine_free(s->p->b->ctx, TRINE_DEVICE, s->buffer);
    free(s);
}

static void *symbol(const solver *s, const char *precision, const char *routine, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "cusparse%s%s%s", precision, routine, suffix);
    return dlsym(s->library, name);
}

/** Vectors of systems one after the other become interleaved ones, or the other way round. */
static void transpose(const tridiag_problem *p, int64_t vectors, bool back, const char *from, char *to)
{
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < vectors * p->systems; at++)
        for (int64_t i = 0; i < p->n; i++) {
            const size_t one = (size_t)(at * p->n + i) * p->element,
                         other = (size_t)(at / p->systems * p->systems * p->n + i * p->systems + at % p->systems) *
                                 p->element;
            memcpy(to + (back ? one : other), from + (back ? other : one), p->element);
        }
}
static trine_status interleave(solver *s)
{
    const tridiag_problem *p = s->p;
    const int64_t vectors = p->kl + p->ku + 1 + p->nrhs;
    const size_t bytes = (size_t)vectors * tridiag_band_bytes(p);
    trine_status status = TRINE_SUCCESS;
    char *host = NULL;
    void *at;
    TRY(ALLOC(p->b->ctx, host, (int64_t)bytes));
    TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, bytes, &at));
    s->given = at;
    transpose(p, vectors, false, p->host, host);
    TRY(trine_copy(p->b->ctx, s->given, TRINE_DEVICE, host, TRINE_HOST, bytes));
done:
    trine_free(p->b->ctx, TRINE_HOST, host);
    return status;
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    char routine[32];
    const char *precision = p->dtype == TRINE_S ? "S" : "D", *colon = strchr(method, ':');
    solver *s = calloc(1, sizeof *s);
    void *query, *at;
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    if (p->b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE needs --device cuda");
    if (strncmp(method, "gpsv", 4) == 0 && (p->kl != 2 || p->ku != 2))
        FAIL(TRINE_ERR_UNSUPPORTED, "gpsv solves pentadiagonal systems");
    if (p->n * p->systems > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 rows");
    TRY(bench_cusparse_library(&s->library));
    int (*create_handle)(cusparseHandle_t *) = (int (*)(cusparseHandle_t *))dlsym(s->library, "cusparseCreate");
    int (*set_stream)(cusparseHandle_t, void *) =
        (int (*)(cusparseHandle_t, void *))dlsym(s->library, "cusparseSetStream");
    s->destroy_handle = (int (*)(cusparseHandle_t))dlsym(s->library, "cusparseDestroy");
    snprintf(routine, sizeof routine, "%.*s", (int)(colon ? colon - method : (long)strlen(method)), method);
    s->algorithm = colon ? atoi(colon + 1) : 0;
    s->kind = strstr(routine, "gpsv")          ? GPSV_BATCH
              : strstr(routine, "Interleaved") ? GTSV_BATCH
              : strstr(routine, "Strided")     ? STRIDED
                                               : GTSV2;
    const bool batch = s->kind == GTSV_BATCH || s->kind == GPSV_BATCH;
    s->transposed = batch && !p->interleaved && p->systems > 1;
    if (!batch && p->interleaved && p->systems > 1)
        FAIL(TRINE_ERR_UNSUPPORTED, "%s does not solve systems that lie like this", routine);
    if (!(s->routine = symbol(s, precision, routine, "")) || !(query = symbol(s, precision, routine, "_bufferSizeExt")))
        FAIL(TRINE_ERR_NOT_BUILT, "this cuSPARSE has no %s", routine);
    TRY(check(create_handle(&s->handle), "Create"));
    TRY(check(set_stream(s->handle, p->b->stream), "SetStream"));
    if (batch) {
        TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, (size_t)(p->kl + p->ku + 1) * tridiag_band_bytes(p), &at));
        s->bands = at;
    }
    if (s->transposed) TRY(interleave(s));
    TRY(check(call(s, query, &s->buffer_bytes), "bufferSizeExt"));
    /* with what it meant, 7.65 GB for 2^27 rows in double, the solve writes outside its memory */
    if (s->buffer_bytes >> 48)
        FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE's %s counts its buffer in 32 bits, which is too little for %lld rows",
             routine, (long long)p->n);
    TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, s->buffer_bytes, &at));
    s->buffer = at;
done:
    return status;
}

static trine_status reset(void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const size_t bands = (size_t)(p->kl + p->ku + 1) * tridiag_band_bytes(p);
    trine_status status =
        bench_device_copy(p->b, p->X, s->given ? s->given + bands : p->D, (size_t)p->nrhs * tridiag_band_bytes(p));
    if (!status && s->bands) status = bench_device_copy(p->b, s->bands, s->given ? s->given : p->bands, bands);
    return status;
}

static trine_status solve(void *self)
{
    const solver *s = self;
    return check(call(s, s->routine, s->buffer), "solve");
}

static const void *solution(const void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const size_t bytes = (size_t)p->nrhs * tridiag_band_bytes(p);
    char *x = s->transposed ? malloc(2 * bytes) : NULL;
    if (x && !trine_copy(p->b->ctx, x, TRINE_HOST, p->X, TRINE_DEVICE, bytes)) {
        transpose(p, p->nrhs, true, x, x + bytes);
        trine_copy(p->b->ctx, p->X, TRINE_DEVICE, x + bytes, TRINE_HOST, bytes);
    }
    free(x);
    return p->X;
}
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->buffer_bytes;
}

const tridiag_solver tridiag_cusparse = {"cusparse", create, reset, solve, solution, work_bytes, destroy};
