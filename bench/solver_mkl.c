/* The peer Intel MKL on the CPU: mkl_sparse_?_trsv and _trsm after mkl_sparse_optimize, real precisions. */
#include <stdlib.h>
#include <string.h>

#include "mkl.h"

/* One interface for both precisions: a real scalar is passed in the same register, but not in the same format. */
static struct {
    int (*create_s)(void **A, int base, int rows, int cols, int *start, int *end, int *columns, float *values);
    int (*create_d)(void **A, int base, int rows, int cols, int *start, int *end, int *columns, double *values);
    int (*set_sv_hint)(void *A, int op, struct matrix_descr descr, int calls);
    int (*set_sm_hint)(void *A, int op, struct matrix_descr descr, int layout, int nrhs, int calls);
    int (*optimize)(void *A);
    int (*trsv_s)(int op, float alpha, void *A, struct matrix_descr descr, const float *b, float *x);
    int (*trsv_d)(int op, double alpha, void *A, struct matrix_descr descr, const double *b, double *x);
    int (*trsm_s)(int op, float alpha, void *A, struct matrix_descr descr, int layout, const float *b, int nrhs,
                  int ldb, float *x, int ldx);
    int (*trsm_d)(int op, double alpha, void *A, struct matrix_descr descr, int layout, const double *b, int nrhs,
                  int ldb, double *x, int ldx);
    int (*destroy)(void *A);
} mkl;

static const bench_symbol needed[] = {
    {&mkl.create_s, "mkl_sparse_s_create_csr"},   {&mkl.create_d, "mkl_sparse_d_create_csr"},
    {&mkl.set_sv_hint, "mkl_sparse_set_sv_hint"}, {&mkl.set_sm_hint, "mkl_sparse_set_sm_hint"},
    {&mkl.optimize, "mkl_sparse_optimize"},       {&mkl.trsv_s, "mkl_sparse_s_trsv"},
    {&mkl.trsv_d, "mkl_sparse_d_trsv"},           {&mkl.trsm_s, "mkl_sparse_s_trsm"},
    {&mkl.trsm_d, "mkl_sparse_d_trsm"},           {&mkl.destroy, "mkl_sparse_destroy"}};

typedef struct {
    bench *b;
    const bench_problem *p;
    int *offsets, *columns; /* 32-bit copies */
    void *values;
    void *A;
    struct matrix_descr descr;
    int op, layout;
    char version[200];
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    if (s->A) mkl.destroy(s->A);
    trine_free(s->b->ctx, TRINE_HOST, s->offsets);
    trine_free(s->b->ctx, TRINE_HOST, s->columns);
    trine_free(s->b->ctx, TRINE_HOST, s->values);
    free(s);
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = NULL;
    (void)method;
    *self = NULL;
    if (is_complex(p->dtype)) FAIL(TRINE_ERR_UNSUPPORTED, "compared in real precisions only");
    if (p->nnz > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 nonzeros");
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    TRY(bench_mkl_load(b, needed, sizeof needed / sizeof *needed, s->version));
    s->p = p;
    s->op = p->op == TRINE_N ? OPERATION_N : OPERATION_T;
    s->layout = p->X.layout == TRINE_ROWMAJOR ? LAYOUT_ROW_MAJOR : LAYOUT_COLUMN_MAJOR;
    s->descr = (struct matrix_descr){TYPE_TRIANGULAR, p->uplo == TRINE_LOWER ? FILL_LOWER : FILL_UPPER,
                                     p->diag == TRINE_UNIT ? DIAG_UNIT : DIAG_NON_UNIT};

    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    size_t bytes = (size_t)p->nnz * trine_dtype_size(p->dtype);
    TRY(trine_matrix_get_arrays(p->T, &offsets, &columns, &values));
    TRY(ALLOC(b->ctx, s->offsets, p->n + 1));
    TRY(ALLOC(b->ctx, s->columns, p->nnz));
    TRY((s->values = bench_alloc(b->ctx, 1, bytes, false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    for (int64_t i = 0; i <= p->n; i++) s->offsets[i] = (int)offsets[i];
    memcpy(s->columns, columns, (size_t)p->nnz * sizeof *columns);
    memcpy(s->values, values, bytes);
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status reset(void *self)
{
    solver *s = self;
    if (s->A) mkl.destroy(s->A);
    s->A = NULL;
    return TRINE_SUCCESS;
}

/** Handle, hint and optimize. MKL has no update of all values of a CSR handle, so there is no numeric phase. */
static trine_status analyse(void *self)
{
    solver *s = self;
    trine_status status = TRINE_SUCCESS;
    int n = (int)s->p->n;
    TRY(bench_mkl_status(s->p->dtype == TRINE_D
                             ? mkl.create_d(&s->A, 0, n, n, s->offsets, s->offsets + 1, s->columns, s->values)
                             : mkl.create_s(&s->A, 0, n, n, s->offsets, s->offsets + 1, s->columns, s->values),
                         "create_csr"));
    TRY(bench_mkl_status(s->p->nrhs == 1
                             ? mkl.set_sv_hint(s->A, s->op, s->descr, EXPECTED_CALLS)
                             : mkl.set_sm_hint(s->A, s->op, s->descr, s->layout, (int)s->p->nrhs, EXPECTED_CALLS),
                         "set_hint"));
    TRY(bench_mkl_status(mkl.optimize(s->A), "optimize"));
done:
    return status;
}

static trine_status solve(void *self)
{
    solver *s = self;
    const bench_problem *p = s->p;
    int nrhs = (int)p->nrhs, ld = (int)p->X.ld;
    if (nrhs == 1)
        return bench_mkl_status(p->dtype == TRINE_D ? mkl.trsv_d(s->op, 1, s->A, s->descr, p->B.data, p->X.data)
                                                    : mkl.trsv_s(s->op, 1, s->A, s->descr, p->B.data, p->X.data),
                                "trsv");
    return bench_mkl_status(p->dtype == TRINE_D
                                ? mkl.trsm_d(s->op, 1, s->A, s->descr, s->layout, p->B.data, nrhs, ld, p->X.data, ld)
                                : mkl.trsm_s(s->op, 1, s->A, s->descr, s->layout, p->B.data, nrhs, ld, p->X.data, ld),
                            "trsm");
}

static trine_status as_op(void *self, trine_op *op, trine_transpose *trans)
{
    solver *s = self;
    const bench_problem *p = s->p;
    return bench_peer_as_op(s->b, &(bench_peer_solve){"MKL", p->dtype, *trans, &p->B, &p->X, solve, s}, op);
}

static void describe(void *self, bench_record *r)
{
    solver *s = self;
    r->chosen = s->p->nrhs == 1 ? "trsv" : "trsm";
    bench_record_add_text(r, "version", s->version);
}

const bench_setup bench_setup_mkl = {"mkl", create, reset, analyse, NULL, as_op, describe, destroy, NULL};
