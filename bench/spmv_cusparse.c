/* The peer cuSPARSE: SpMV for one vector, SpMM for several, by every algorithm of compressed rows. Loaded at run
 * time. */
#include <cusparse.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "spmv.h"

#define NEEDED(X)                                                                                          \
    X(Create)                                                                                              \
    X(Destroy) X(SetStream) X(GetErrorString) X(GetVersion) X(CreateConstCsr) X(CreateConstDnVec)          \
        X(CreateDnVec) X(CreateConstDnMat) X(CreateDnMat) X(DestroySpMat) X(DestroyDnVec) X(DestroyDnMat)  \
            X(SpMV) X(SpMV_bufferSize) X(SpMV_preprocess) X(SpMM) X(SpMM_bufferSize) X(SpMM_preprocess)
#define X(name) __typeof__(cusparse##name) *name;
static struct {
    void *library;
    NEEDED(X)
} cusparse;
#undef X

static trine_status load(void)
{
    void *library = NULL;
    if (cusparse.library) return TRINE_SUCCESS;
    const trine_status status = bench_cusparse_library(&library);
    if (status) return status;
#define X(name)                                            \
    cusparse.name = dlsym(library, "cusparse" #name);      \
    if (!cusparse.name) return trine_fail(TRINE_ERR_NOT_BUILT, "this cuSPARSE has no cusparse" #name);
    NEEDED(X)
#undef X
    cusparse.library = library;
    return TRINE_SUCCESS;
}

static trine_status cusparse_status(cusparseStatus_t result, const char *call)
{
    if (result == CUSPARSE_STATUS_SUCCESS) return TRINE_SUCCESS;
    return trine_fail(result == CUSPARSE_STATUS_NOT_SUPPORTED ? TRINE_ERR_UNSUPPORTED
                      : result == CUSPARSE_STATUS_ALLOC_FAILED || result == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                          ? TRINE_ERR_MEMORY
                          : TRINE_ERR_DEVICE,
                      "cusparse%s: %s", call, cusparse.GetErrorString(result));
}
#define SPARSE(name, ...) cusparse_status(cusparse.name(__VA_ARGS__), #name)

typedef struct {
    spmv_problem *p;
    cusparseHandle_t handle;
    cusparseConstSpMatDescr_t A;   /* holds what the preprocessing finds */
    cusparseConstDnVecDescr_t x;
    cusparseDnVecDescr_t y;
    cusparseConstDnMatDescr_t X;
    cusparseDnMatDescr_t Y;
    spmv_scalar alpha, beta;
    cudaDataType type;
    cusparseSpMVAlg_t mv;
    cusparseSpMMAlg_t mm;
    const char *chosen;
    void *buffer;                  /* allocated once, outside every timing */
    size_t buffer_bytes;
    char version[24];
} solver;

static const cusparseOperation_t N = CUSPARSE_OPERATION_NON_TRANSPOSE;

static bool single(const solver *s) { return s->p->nrhs == 1; }

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_context_synchronize(s->p->b->ctx);
    if (s->x) cusparse.DestroyDnVec(s->x);
    if (s->y) cusparse.DestroyDnVec(s->y);
    if (s->X) cusparse.DestroyDnMat(s->X);
    if (s->Y) cusparse.DestroyDnMat(s->Y);
    if (s->A) cusparse.DestroySpMat(s->A);
    if (s->handle) cusparse.Destroy(s->handle);
    trine_free(s->p->b->ctx, TRINE_DEVICE, s->buffer);
    free(s);
}

static trine_status choose(solver *s, const char *method)
{
    static const struct {
        const char *name, *mv_name, *mm_name;
        int mv, mm; /* -1: there is none */
    } algorithms[] = {{"default", "SpMV default", "SpMM default", CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMM_ALG_DEFAULT},
                      {"alg1", "SpMV CSR_ALG1", "SpMM CSR_ALG1", CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG1},
                      {"alg2", "SpMV CSR_ALG2", "SpMM CSR_ALG2", CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG2},
                      {"alg3", NULL, "SpMM CSR_ALG3", -1, CUSPARSE_SPMM_CSR_ALG3}};
    const size_t length = strcspn(method, ":");
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        if (strlen(algorithms[i].name) != length || strncmp(algorithms[i].name, method, length) != 0) continue;
        if (single(s) && algorithms[i].mv < 0) break;
        s->mv = (cusparseSpMVAlg_t)algorithms[i].mv;
        s->mm = (cusparseSpMMAlg_t)algorithms[i].mm;
        s->chosen = single(s) ? algorithms[i].mv_name : algorithms[i].mm_name;
        return TRINE_SUCCESS;
    }
    return trine_fail(TRINE_ERR_UNSUPPORTED, "cuSPARSE has no algorithm \"%s\" for %s", method,
                      single(s) ? "one vector" : "several vectors");
}

static trine_status make_matrix(solver *s)
{
    const spmv_problem *p = s->p;
    return SPARSE(CreateConstCsr, &s->A, p->n_rows, p->n_cols, p->nnz, p->offsets, p->columns, p->values,
                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type);
}

static trine_status buffer_size(solver *s, size_t *bytes)
{
    return single(s)
               ? SPARSE(SpMV_bufferSize, s->handle, N, &s->alpha, s->A, s->x, &s->beta, s->y, s->type, s->mv, bytes)
               : SPARSE(SpMM_bufferSize, s->handle, N, N, &s->alpha, s->A, s->X, &s->beta, s->Y, s->type, s->mm, bytes);
}

static trine_status create(spmv_problem *p, const char *method, void **self)
{
    static const cudaDataType types[] = {
        [TRINE_S] = CUDA_R_32F, [TRINE_D] = CUDA_R_64F, [TRINE_C] = CUDA_C_32F, [TRINE_Z] = CUDA_C_64F};
    trine_status status = TRINE_SUCCESS;
    solver *s = NULL;
    int version = 0;
    *self = NULL;
    if (p->b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE needs --device cuda");
    TRY(load());
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->type = types[p->dtype];
    s->alpha = spmv_scalar_of(p->dtype, p->alpha);
    s->beta = spmv_scalar_of(p->dtype, p->beta);
    TRY(choose(s, method));
    TRY(SPARSE(Create, &s->handle));
    TRY(SPARSE(SetStream, s->handle, (cudaStream_t)p->b->stream));
    TRY(SPARSE(GetVersion, s->handle, &version));
    snprintf(s->version, sizeof s->version, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    TRY(make_matrix(s));
    if (single(s)) {
        TRY(SPARSE(CreateConstDnVec, &s->x, p->n_cols, p->X.data, s->type));
        TRY(SPARSE(CreateDnVec, &s->y, p->n_rows, p->Y.data, s->type));
    } else {
        const cusparseOrder_t order = p->X.layout == TRINE_ROWMAJOR ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
        TRY(SPARSE(CreateConstDnMat, &s->X, p->n_cols, p->nrhs, p->X.ld, p->X.data, s->type, order));
        TRY(SPARSE(CreateDnMat, &s->Y, p->n_rows, p->nrhs, p->Y.ld, p->Y.data, s->type, order));
    }
    TRY(buffer_size(s, &s->buffer_bytes));
    TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, s->buffer_bytes + 1, &s->buffer));
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status forget(void *self)
{
    solver *s = self;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_context_synchronize(s->p->b->ctx));
    TRY(SPARSE(DestroySpMat, s->A));
    s->A = NULL;
    TRY(make_matrix(s));
done:
    return status;
}

static trine_status preprocess(void *self)
{
    solver *s = self;
    size_t bytes;
    trine_status status = TRINE_SUCCESS;
    TRY(buffer_size(s, &bytes));
    if (bytes > s->buffer_bytes) FAIL(TRINE_ERR_DEVICE, "cuSPARSE's buffer has grown");
    TRY(single(s)
            ? SPARSE(SpMV_preprocess, s->handle, N, &s->alpha, s->A, s->x, &s->beta, s->y, s->type, s->mv, s->buffer)
            : SPARSE(SpMM_preprocess, s->handle, N, N, &s->alpha, s->A, s->X, &s->beta, s->Y, s->type, s->mm,
                     s->buffer));
done:
    return status;
}

static trine_status multiply(void *self)
{
    const solver *s = self;
    return single(s) ? SPARSE(SpMV, s->handle, N, &s->alpha, s->A, s->x, &s->beta, s->y, s->type, s->mv, s->buffer)
                     : SPARSE(SpMM, s->handle, N, N, &s->alpha, s->A, s->X, &s->beta, s->Y, s->type, s->mm, s->buffer);
}

static void describe(void *self, bench_record *r)
{
    const solver *s = self;
    r->chosen = s->chosen;
    bench_record_add_number(r, "plan_bytes", (double)s->buffer_bytes);
    bench_record_add_text(r, "version", s->version);
}

const spmv_solver spmv_cusparse = {"cusparse", SPMV_PEER, create, NULL, NULL, multiply, NULL, describe, destroy};
const spmv_solver spmv_cusparse_preprocessed = {"cusparse", SPMV_PEER, create,   preprocess, forget,
                                                multiply,   NULL,      describe, destroy};
