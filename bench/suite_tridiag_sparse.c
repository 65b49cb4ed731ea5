/* Suite tridiag, part sparse (Klein 2024, Section 2.7.3): sparse right-hand sides with dense solutions (csc2dense) and with the
 * largest entries of each (csc2csc), 128 at a time; beside cuSPARSE's gtsv2 with the same right-hand sides expanded. */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { COLUMNS = 128, ENTRIES = 5 };

typedef struct {
    const tridiag_problem *p;
    bool select;                       /* csc2csc */
    char *values, *x_values;           /* of D and, of csc2csc, of X */
    int32_t *rows, *offsets, *x_rows;
    void *work;
    size_t work_bytes;
} solver;

/** Row of entry k of column j, ascending in k. */
static int64_t row_of(const tridiag_problem *p, int64_t j, int k) { return j * 97 % (p->n / ENTRIES) + k * (p->n / ENTRIES); }

/** A scalar random system whose right-hand sides have ENTRIES entries each. */
static trine_status make_problem(bench *b, trine_dtype dtype, int64_t n, tridiag_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    TRY(tridiag_problem_make(b, dtype, n, COLUMNS, 1, 1, 1, false, p));
    char *D = p->host + 3 * tridiag_band_bytes(p);
    for (int64_t j = 0; j < COLUMNS; j++) {
        char *column = D + (size_t)(j * n) * p->element;
        char kept[ENTRIES * 8];
        for (int k = 0; k < ENTRIES; k++) memcpy(kept + (size_t)k * p->element, column + (size_t)row_of(p, j, k) * p->element, p->element);
        memset(column, 0, (size_t)n * p->element);
        for (int k = 0; k < ENTRIES; k++) memcpy(column + (size_t)row_of(p, j, k) * p->element, kept + (size_t)k * p->element, p->element);
    }
    TRY(trine_copy(b->ctx, p->D, b->device.space, D, TRINE_HOST, COLUMNS * tridiag_band_bytes(p)));
done:
    return status;
}

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    const trine_space space = s->p->b->device.space;
    void *device[] = {s->values, s->x_values, s->rows, s->offsets, s->x_rows, s->work};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) trine_free(s->p->b->ctx, space, device[i]);
    free(s);
}

static trine_status dense(const solver *s)
{
    const tridiag_problem *p = s->p;
    const void *a = tridiag_band(p, -1), *b = tridiag_band(p, 0), *c = tridiag_band(p, 1);
    return p->b->device.space == TRINE_HOST
               ? trine_gtsv_csc2dense_cpu(p->b->device.threads, p->dtype, p->n, COLUMNS, NULL, a, b, c, s->values, s->rows, s->offsets, p->X, p->n, s->work, s->work_bytes)
               : trine_gtsv_csc2dense(trine_exec_stream(p->b->ctx, NULL), p->dtype, p->n, COLUMNS, NULL, a, b, c, s->values, s->rows, s->offsets, p->X, p->n, s->work, s->work_bytes);
}
static trine_status selected(const solver *s)
{
    const tridiag_problem *p = s->p;
    const void *a = tridiag_band(p, -1), *b = tridiag_band(p, 0), *c = tridiag_band(p, 1);
    return p->b->device.space == TRINE_HOST
               ? trine_gtsv_csc2csc_cpu(p->b->device.threads, p->dtype, p->n, COLUMNS, NULL, a, b, c, s->values, s->rows, s->offsets, s->x_values, s->x_rows, s->offsets, s->work, s->work_bytes)
               : trine_gtsv_csc2csc(trine_exec_stream(p->b->ctx, NULL), p->dtype, p->n, COLUMNS, NULL, a, b, c, s->values, s->rows, s->offsets, s->x_values, s->x_rows, s->offsets, s->work, s->work_bytes);
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = p->b->device.space == TRINE_HOST;
    const trine_space space = p->b->device.space;
    const trine_context ctx = p->b->ctx;
    const size_t e = p->element;
    const char *D = p->host + 3 * tridiag_band_bytes(p);
    char values[COLUMNS * ENTRIES * 8];
    int32_t rows[COLUMNS * ENTRIES], offsets[COLUMNS + 1];
    size_t dense_bytes = 0, select_bytes = 0;
    void *at;
    solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->select = strcmp(method, "csc2csc") == 0;
    for (int j = 0; j <= COLUMNS; j++) offsets[j] = j * ENTRIES;
    for (int j = 0; j < COLUMNS; j++)
        for (int k = 0; k < ENTRIES; k++) {
            rows[j * ENTRIES + k] = (int32_t)row_of(p, j, k);
            memcpy(values + (size_t)(j * ENTRIES + k) * e, D + (size_t)(j * p->n + row_of(p, j, k)) * e, e);
        }
    TRY((host ? trine_gtsv_csc2dense_cpu_work_size : trine_gtsv_csc2dense_work_size)(p->dtype, p->n, COLUMNS, NULL, &dense_bytes));
    if (s->select) TRY((host ? trine_gtsv_csc2csc_cpu_work_size : trine_gtsv_csc2csc_work_size)(p->dtype, p->n, COLUMNS, NULL, &select_bytes));
    s->work_bytes = dense_bytes > select_bytes ? dense_bytes : select_bytes;
    TRY(trine_alloc(ctx, space, s->work_bytes, &s->work));
    TRY(trine_alloc(ctx, space, COLUMNS * ENTRIES * e, &at));
    s->values = at;
    TRY(trine_alloc(ctx, space, sizeof rows, &at));
    s->rows = at;
    TRY(trine_alloc(ctx, space, sizeof offsets, &at));
    s->offsets = at;
    TRY(trine_alloc(ctx, space, COLUMNS * ENTRIES * e, &at));
    s->x_values = at;
    TRY(trine_alloc(ctx, space, sizeof rows, &at));
    s->x_rows = at;
    TRY(trine_copy(ctx, s->values, space, values, TRINE_HOST, COLUMNS * ENTRIES * e));
    TRY(trine_copy(ctx, s->rows, space, rows, TRINE_HOST, sizeof rows));
    TRY(trine_copy(ctx, s->offsets, space, offsets, TRINE_HOST, sizeof offsets));
done:
    return status;
}

static trine_status solve(void *self)
{
    const solver *s = self;
    return s->select ? selected(s) : dense(s);
}

/** Of csc2csc: the dense solution with its entries put over it, so that a wrong one shows in the residual. */
static const void *solution(const void *self)
{
    const solver *s = self;
    const tridiag_problem *p = s->p;
    const trine_space space = p->b->device.space;
    char values[COLUMNS * ENTRIES * 8];
    int32_t rows[COLUMNS * ENTRIES];
    if (!s->select) return p->X;
    trine_status status = dense(s);
    if (!status) status = trine_context_synchronize(p->b->ctx);
    if (!status) status = trine_copy(p->b->ctx, values, TRINE_HOST, s->x_values, space, COLUMNS * ENTRIES * p->element);
    if (!status) status = trine_copy(p->b->ctx, rows, TRINE_HOST, s->x_rows, space, sizeof rows);
    for (int i = 0; i < COLUMNS * ENTRIES && !status; i++)
        if (rows[i] >= 0)
            status = trine_copy(p->b->ctx, p->X + (size_t)(i / ENTRIES * p->n + rows[i]) * p->element, space, values + (size_t)i * p->element, TRINE_HOST, p->element);
    return p->X;
}
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->work_bytes;
}

static const tridiag_solver trine_sparse = {"trine", create, NULL, solve, solution, work_bytes, destroy};

trine_status bench_tridiag_sparse(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    const tridiag_solver *const solvers[] = {&trine_sparse, &trine_sparse, &tridiag_trine, host ? &tridiag_lapack : &tridiag_cusparse};
    const char *const methods[] = {"csc2dense", "csc2csc", "auto", host ? "gtsv" : "gtsv2"};
    for (int power = host ? 10 : 14; power <= (host ? 14 : 18); power += 2) {
        tridiag_problem p = {0};
        status = make_problem(b, dtype, INT64_C(1) << power, &p);
        if (!status) status = tridiag_compare(&p, "sparse", solvers, methods, 4);
        tridiag_problem_free(&p);
        TRY(status);
    }
done:
    return status;
}
