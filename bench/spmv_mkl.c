/* The peer Intel MKL on the CPU: mkl_sparse_?_mv and _mm after hints and mkl_sparse_optimize. */
#include <complex.h>
#include <stdlib.h>

#include "mkl.h"
#include "spmv.h"

/* MKL's complex scalars are structs of two numbers, which are passed as C's complex numbers are. */
#define EACH_PRECISION(X) X(s, float) X(d, double) X(c, float complex) X(z, double complex)
#define X(letter, T)                                                                                              \
    int (*create_##letter)(void **A, int base, int rows, int cols, int *start, int *end, int *columns, T *values); \
    int (*mv_##letter)(int op, T alpha, void *A, struct matrix_descr descr, const T *x, T beta, T *y);              \
    int (*mm_##letter)(int op, T alpha, void *A, struct matrix_descr descr, int layout, const T *X, int columns,    \
                       int ldx, T beta, T *Y, int ldy);
static struct {
    EACH_PRECISION(X)
    int (*set_mv_hint)(void *A, int op, struct matrix_descr descr, int calls);
    int (*set_mm_hint)(void *A, int op, struct matrix_descr descr, int layout, int columns, int calls);
    int (*optimize)(void *A);
    int (*destroy)(void *A);
} mkl;
#undef X

static const bench_symbol needed[] = {
#define X(letter, T)                                              \
    {&mkl.create_##letter, "mkl_sparse_" #letter "_create_csr"},   \
    {&mkl.mv_##letter, "mkl_sparse_" #letter "_mv"},               \
    {&mkl.mm_##letter, "mkl_sparse_" #letter "_mm"},
    EACH_PRECISION(X)
#undef X
        {&mkl.set_mv_hint, "mkl_sparse_set_mv_hint"},
    {&mkl.set_mm_hint, "mkl_sparse_set_mm_hint"},
    {&mkl.optimize, "mkl_sparse_optimize"},
    {&mkl.destroy, "mkl_sparse_destroy"}};

typedef struct {
    spmv_problem *p;
    void *A;
    struct matrix_descr descr;
    char version[200];
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (s && s->A) mkl.destroy(s->A);
    free(s);
}

static trine_status create(spmv_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = NULL;
    (void)method;
    *self = NULL;
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    TRY(bench_mkl_load(p->b, needed, sizeof needed / sizeof *needed, s->version));
    s->p = p;
    s->descr = (struct matrix_descr){.type = TYPE_GENERAL};
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status forget(void *self)
{
    solver *s = self;
    if (s->A) mkl.destroy(s->A);
    s->A = NULL;
    return TRINE_SUCCESS;
}

static int layout(const spmv_problem *p)
{
    return p->X.layout == TRINE_ROWMAJOR ? LAYOUT_ROW_MAJOR : LAYOUT_COLUMN_MAJOR;
}

static trine_status preprocess(void *self)
{
    solver *s = self;
    const spmv_problem *p = s->p;
    const int rows = (int)p->n_rows, cols = (int)p->n_cols;
    trine_status status = TRINE_SUCCESS;
    int made = 0;
    switch (p->dtype) {
#define X(letter, T)                                                                                            \
    made = mkl.create_##letter(&s->A, 0, rows, cols, p->offsets, p->offsets + 1, p->columns, (T *)p->values); \
    break;
    case TRINE_S: X(s, float)
    case TRINE_D: X(d, double)
    case TRINE_C: X(c, float complex)
    default: X(z, double complex)
#undef X
    }
    TRY(bench_mkl_status(made, "create_csr"));
    TRY(bench_mkl_status(p->nrhs == 1
                             ? mkl.set_mv_hint(s->A, OPERATION_N, s->descr, EXPECTED_CALLS)
                             : mkl.set_mm_hint(s->A, OPERATION_N, s->descr, layout(p), (int)p->nrhs, EXPECTED_CALLS),
                         "set_hint"));
    TRY(bench_mkl_status(mkl.optimize(s->A), "optimize"));
done:
    return status;
}

static trine_status multiply(void *self)
{
    const solver *s = self;
    const spmv_problem *p = s->p;
    const int nrhs = (int)p->nrhs, ldx = (int)p->X.ld, ldy = (int)p->Y.ld;
    int result = 0;
    switch (p->dtype) {
#define X(letter, T)                                                                                                 \
    result = nrhs == 1 ? mkl.mv_##letter(OPERATION_N, (T)p->alpha, s->A, s->descr, p->X.data, (T)p->beta, p->Y.data) \
                       : mkl.mm_##letter(OPERATION_N, (T)p->alpha, s->A, s->descr, layout(p), p->X.data, nrhs, ldx,  \
                                         (T)p->beta, p->Y.data, ldy);                                                \
    break;
    case TRINE_S: X(s, float)
    case TRINE_D: X(d, double)
    case TRINE_C: X(c, float complex)
    default: X(z, double complex)
#undef X
    }
    return bench_mkl_status(result, p->nrhs == 1 ? "mv" : "mm");
}

static void describe(void *self, bench_record *r)
{
    const solver *s = self;
    r->chosen = s->p->nrhs == 1 ? "mkl_sparse_mv" : "mkl_sparse_mm";
    bench_record_add_text(r, "version", s->version);
}

const spmv_solver spmv_mkl = {"mkl", SPMV_PEER, create, preprocess, forget, multiply, NULL, describe, destroy};
