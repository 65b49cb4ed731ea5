/* Suite tridiag, sparse right-hand sides (Klein 2024, Sections 2.7.2 and 2.7.3): part sparse, with dense solutions
 * (csc2dense) and with the largest entries of each (csc2csc), 128 at a time (Figure 19), beside cuSPARSE's gtsv2
 * with the same right-hand sides expanded; and of part figures csc2dense with 1 to 64 of them (Figure 15). */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { MOST_COLUMNS = 128, ENTRIES = 10 };

typedef struct {
    const tridiag_problem *p;
    bool select;                       /* csc2csc */
    char *values, *x_values;           /* of D and, of csc2csc, of X */
    int32_t *rows, *offsets, *x_rows;
    void *work;
    size_t work_bytes;
} solver;

/** Row of entry k of column j, ascending in k. */
static int64_t row_of(const tridiag_problem *p, int64_t j, int k)
{
    return j * 97 % (p->n / ENTRIES) + k * (p->n / ENTRIES);
}

/** A scalar random system whose right-hand sides have ENTRIES entries each. */
static trine_status make_problem(bench *b, trine_dtype dtype, int64_t n, int64_t nrhs, tridiag_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    TRY(tridiag_problem_make(b, &(tridiag_shape){.dtype = dtype, .n = n, .nrhs = nrhs}, p));
    char *D = p->host + 3 * tridiag_band_bytes(p);
    for (int64_t j = 0; j < nrhs; j++) {
        char *column = D + (size_t)(j * n) * p->element;
        char kept[ENTRIES * 8];
        for (int k = 0; k < ENTRIES; k++)
            memcpy(kept + (size_t)k * p->element, column + (size_t)row_of(p, j, k) * p->element, p->element);
        memset(column, 0, (size_t)n * p->element);
        for (int k = 0; k < ENTRIES; k++)
            memcpy(column + (size_t)row_of(p, j, k) * p->element, kept + (size_t)k * p->element, p->element);
    }
    TRY(trine_copy(b->ctx, p->D, b->device.space, D, TRINE_HOST, (size_t)nrhs * tridiag_band_bytes(p)));
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
    return trine_gtsv_csc2dense(p->b->ctx, p->dtype, p->n, p->nrhs, NULL, a, b, c, s->values, s->rows, s->offsets, p->X,
                                p->n, s->work, s->work_bytes, &(trine_exec){.stream = p->b->stream});
}
static trine_status selected(const solver *s)
{
    const tridiag_problem *p = s->p;
    const void *a = tridiag_band(p, -1), *b = tridiag_band(p, 0), *c = tridiag_band(p, 1);
    return trine_gtsv_csc2csc(p->b->ctx, p->dtype, p->n, p->nrhs, NULL, a, b, c, s->values, s->rows, s->offsets,
                              s->x_values, s->x_rows, s->offsets, s->work, s->work_bytes,
                              &(trine_exec){.stream = p->b->stream});
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    const trine_space space = p->b->device.space;
    const trine_context ctx = p->b->ctx;
    const size_t e = p->element, entries = (size_t)p->nrhs * ENTRIES;
    const char *D = p->host + 3 * tridiag_band_bytes(p);
    char values[MOST_COLUMNS * ENTRIES * 8];
    int32_t rows[MOST_COLUMNS * ENTRIES], offsets[MOST_COLUMNS + 1];
    size_t dense_bytes = 0, select_bytes = 0;
    void *at;
    solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->select = strcmp(method, "csc2csc") == 0;
    for (int j = 0; j <= p->nrhs; j++) offsets[j] = j * ENTRIES;
    for (int j = 0; j < p->nrhs; j++)
        for (int k = 0; k < ENTRIES; k++) {
            rows[j * ENTRIES + k] = (int32_t)row_of(p, j, k);
            memcpy(values + (size_t)(j * ENTRIES + k) * e, D + (size_t)(j * p->n + row_of(p, j, k)) * e, e);
        }
    TRY(trine_gtsv_csc2dense_work_size(ctx, p->dtype, p->n, p->nrhs, NULL, &dense_bytes));
    if (s->select) TRY(trine_gtsv_csc2csc_work_size(ctx, p->dtype, p->n, p->nrhs, NULL, &select_bytes));
    s->work_bytes = dense_bytes > select_bytes ? dense_bytes : select_bytes;
    TRY(trine_alloc(ctx, space, s->work_bytes, &s->work));
    TRY(trine_alloc(ctx, space, entries * e, &at));
    s->values = at;
    TRY(trine_alloc(ctx, space, entries * sizeof *rows, &at));
    s->rows = at;
    TRY(trine_alloc(ctx, space, (size_t)(p->nrhs + 1) * sizeof *offsets, &at));
    s->offsets = at;
    TRY(trine_alloc(ctx, space, entries * e, &at));
    s->x_values = at;
    TRY(trine_alloc(ctx, space, entries * sizeof *rows, &at));
    s->x_rows = at;
    TRY(trine_copy(ctx, s->values, space, values, TRINE_HOST, entries * e));
    TRY(trine_copy(ctx, s->rows, space, rows, TRINE_HOST, entries * sizeof *rows));
    TRY(trine_copy(ctx, s->offsets, space, offsets, TRINE_HOST, (size_t)(p->nrhs + 1) * sizeof *offsets));
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
    char values[MOST_COLUMNS * ENTRIES * 8];
    int32_t rows[MOST_COLUMNS * ENTRIES];
    if (!s->select) return p->X;
    trine_status status = dense(s);
    if (!status) status = trine_context_synchronize(p->b->ctx);
    if (!status)
        status = trine_copy(p->b->ctx, values, TRINE_HOST, s->x_values, space, (size_t)p->nrhs * ENTRIES * p->element);
    if (!status)
        status = trine_copy(p->b->ctx, rows, TRINE_HOST, s->x_rows, space, (size_t)p->nrhs * ENTRIES * sizeof *rows);
    for (int i = 0; i < p->nrhs * ENTRIES && !status; i++)
        if (rows[i] >= 0)
            status = trine_copy(p->b->ctx, p->X + (size_t)(i / ENTRIES * p->n + rows[i]) * p->element, space,
                                values + (size_t)i * p->element, TRINE_HOST, p->element);
    return p->X;
}
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->work_bytes;
}

static const tridiag_solver trine_sparse = {"trine", create, NULL, solve, solution, work_bytes, destroy};

static trine_status run_one(bench *b, trine_dtype dtype, const char *name, int64_t n, int64_t nrhs,
                            const tridiag_list *list)
{
    trine_status status = TRINE_SUCCESS;
    tridiag_problem p = {0};
    TRY(make_problem(b, dtype, n, nrhs, &p));
    TRY(tridiag_compare(&p, name, list));
done:
    tridiag_problem_free(&p);
    return status;
}

trine_status bench_tridiag_sparse(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    tridiag_list list = {0};
    tridiag_list_add(&list, &trine_sparse, "csc2dense");
    tridiag_list_add(&list, &trine_sparse, "csc2csc");
    tridiag_list_add(&list, &tridiag_trine, "auto");
    if (host && tridiag_wants_peer(b, "lapack")) tridiag_list_add(&list, &tridiag_lapack, "gtsv");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2");
    for (int power = host ? 10 : 14; power <= (host ? 14 : 20); power += 2)
        TRY(run_one(b, dtype, "sparse", INT64_C(1) << power, MOST_COLUMNS, &list));
done:
    return status;
}

trine_status bench_tridiag_sparse_columns(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    tridiag_list list = {0};
    tridiag_list_add(&list, &trine_sparse, "csc2dense");
    for (int power = host ? 17 : 12; power <= (host ? 17 : 20); power += 2)
        for (int64_t nrhs = 1; nrhs <= 64; nrhs *= 2)
            TRY(run_one(b, dtype, "sparse right-hand sides", INT64_C(1) << power, nrhs, &list));
done:
    return status;
}
