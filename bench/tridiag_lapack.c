/* The peer LAPACK: gtsv and gbsv on one thread, from the library that liblapack.so.3 is on this system. Both
 * overwrite the matrix and the right-hand sides: these are copied before each call, outside the timing. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

/* One interface for both precisions. */
typedef void (*gtsv_fn)(const int *n, const int *nrhs, void *dl, void *d, void *du, void *b, const int *ldb, int *info);
typedef void (*gbsv_fn)(const int *n, const int *kl, const int *ku, const int *nrhs, void *ab, const int *ldab,
                        int *pivots, void *b, const int *ldb, int *info);

typedef struct {
    const tridiag_problem *p;
    void *routine;
    bool general;      /* gbsv */
    char *bands, *packed, *x; /* bands, x: what is overwritten; packed: gbsv's columns, made once. All on the host */
    size_t band_bytes;
    int *pivots, ldab;
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_free(s->p->b->ctx, TRINE_HOST, s->bands);
    trine_free(s->p->b->ctx, TRINE_HOST, s->x);
    trine_free(s->p->b->ctx, TRINE_HOST, s->packed);
    trine_free(s->p->b->ctx, TRINE_HOST, s->pivots);
    free(s);
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    static void *library;
    trine_status status = TRINE_SUCCESS;
    solver *s = calloc(1, sizeof *s);
    char name[16];
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    if (p->systems != 1) FAIL(TRINE_ERR_UNSUPPORTED, "LAPACK solves one system");
    s->general = strcmp(method, "gbsv") == 0;
    if (!s->general && (p->kl != 1 || p->ku != 1)) FAIL(TRINE_ERR_UNSUPPORTED, "gtsv solves tridiagonal systems");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (!library) library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) FAIL(TRINE_ERR_NOT_BUILT, "LAPACK cannot be loaded: %s", dlerror());
    snprintf(name, sizeof name, "%c%s_", p->dtype == TRINE_S ? 's' : 'd', s->general ? "gbsv" : "gtsv");
    if (!(s->routine = dlsym(library, name))) FAIL(TRINE_ERR_NOT_BUILT, "this LAPACK has no %s", name);
    s->ldab = 2 * p->kl + p->ku + 1;
    s->band_bytes = (size_t)(s->general ? s->ldab : 3) * tridiag_band_bytes(p);
    TRY(ALLOC(p->b->ctx, s->bands, (int64_t)s->band_bytes));
    TRY(ALLOC(p->b->ctx, s->x, (int64_t)((size_t)p->nrhs * tridiag_band_bytes(p))));
    if (s->general) { /* A[i,j] in row kl + ku + i - j of column j */
        TRY(CALLOC(p->b->ctx, s->packed, (int64_t)s->band_bytes));
        TRY(ALLOC(p->b->ctx, s->pivots, p->n));
        for (int k = -p->kl; k <= p->ku; k++)
            for (int64_t i = k < 0 ? -k : 0; i < (k > 0 ? p->n - k : p->n); i++)
                memcpy(s->packed + (size_t)(p->kl + p->ku - k + (i + k) * s->ldab) * p->element,
                       p->host + ((size_t)(p->kl + k) * (size_t)p->n + (size_t)i) * p->element, p->element);
    }
done:
    return status;
}

static trine_status reset(void *self)
{
    const solver *s = self;
    const size_t bands = (size_t)(s->p->kl + s->p->ku + 1) * tridiag_band_bytes(s->p);
    memcpy(s->x, s->p->host + bands, (size_t)s->p->nrhs * tridiag_band_bytes(s->p));
    memcpy(s->bands, s->general ? s->packed : s->p->host, s->band_bytes);
    return TRINE_SUCCESS;
}

static trine_status solve(void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const int n = (int)p->n, nrhs = (int)p->nrhs;
    const size_t step = tridiag_band_bytes(p);
    int info = 0;
    /* LAPACK's lower band starts with row 1 */
    if (s->general) ((gbsv_fn)s->routine)(&n, &p->kl, &p->ku, &nrhs, s->bands, &s->ldab, s->pivots, s->x, &n, &info);
    else ((gtsv_fn)s->routine)(&n, &nrhs, s->bands + p->element, s->bands + step, s->bands + 2 * step, s->x, &n, &info);
    return info ? trine_fail(TRINE_ERR_SINGULAR, "LAPACK's info is %d", info) : TRINE_SUCCESS;
}

static const void *solution(const void *self) { return ((const solver *)self)->x; }
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->general ? s->band_bytes - (size_t)(s->p->kl + s->p->ku + 1) * tridiag_band_bytes(s->p) : 0;
}

const tridiag_solver tridiag_lapack = {"lapack", create, reset, solve, solution, work_bytes, destroy};
