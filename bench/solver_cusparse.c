/* The peer cuSPARSE: SpSV for one right-hand side, SpSM for several. Loaded at run time, so that the program starts
 * without it. */
#include <cusparse.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cuda.h"

/* Everything used of cuSPARSE; the last two are missing in releases before 12.1 and 12.4. */
#define REQUIRED(X)                                                                                             \
    X(Create)                                                                                                   \
    X(Destroy) X(SetStream) X(GetErrorString) X(GetVersion) X(CreateCsr) X(CreateConstDnVec) X(CreateDnVec)     \
        X(CreateConstDnMat) X(CreateDnMat) X(DestroySpMat) X(DestroyDnVec) X(DestroyDnMat) X(SpMatSetAttribute) \
            X(SpSV_createDescr) X(SpSV_destroyDescr) X(SpSV_bufferSize) X(SpSV_analysis) X(SpSV_solve)          \
                X(SpSM_createDescr) X(SpSM_destroyDescr) X(SpSM_bufferSize) X(SpSM_analysis) X(SpSM_solve)
#define OPTIONAL(X) X(SpSV_updateMatrix) X(SpSM_updateMatrix)
#define X(name) __typeof__(cusparse##name) *name;
static struct {
    void *library;
    REQUIRED(X)
    OPTIONAL(X)
} cusparse;
#undef X

trine_status bench_cusparse_library(void **library)
{
    static const char *const names[] = {"libcusparse.so.13", "libcusparse.so.12", "libcusparse.so",
                                        "/usr/local/cuda/lib64/libcusparse.so.13",
                                        "/usr/local/cuda/lib64/libcusparse.so.12"};
    static void *opened;
    for (size_t i = 0; !opened && i < sizeof names / sizeof *names; i++)
        opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!opened) return trine_fail(TRINE_ERR_NOT_BUILT, "cuSPARSE cannot be loaded: %s", dlerror());
    *library = opened;
    return TRINE_SUCCESS;
}

static trine_status load(void)
{
    void *library = NULL;
    if (cusparse.library) return TRINE_SUCCESS;
    trine_status status = bench_cusparse_library(&library);
    if (status) return status;
#define X(name) cusparse.name = dlsym(library, "cusparse" #name);
    REQUIRED(X)
    OPTIONAL(X)
#undef X
#define X(name) if (!cusparse.name) return trine_fail(TRINE_ERR_NOT_BUILT, "this cuSPARSE has no cusparse" #name);
    REQUIRED(X)
#undef X
    cusparse.library = library;
    return TRINE_SUCCESS;
}

static trine_status cusparse_status(cusparseStatus_t result, const char *call)
{
    if (result == CUSPARSE_STATUS_SUCCESS) return TRINE_SUCCESS;
    trine_status status = result == CUSPARSE_STATUS_NOT_SUPPORTED ? TRINE_ERR_UNSUPPORTED
                          : result == CUSPARSE_STATUS_ALLOC_FAILED || result == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                              ? TRINE_ERR_MEMORY
                              : TRINE_ERR_DEVICE;
    return trine_fail(status, "cusparse%s: %s", call, cusparse.GetErrorString(result));
}
#define SPARSE(name, ...) cusparse_status(cusparse.name(__VA_ARGS__), #name)

typedef struct {
    bench *b;
    const bench_problem *p;
    cusparseHandle_t handle;
    cusparseSpMatDescr_t T;
    cusparseConstDnVecDescr_t b_vector;
    cusparseDnVecDescr_t x_vector;
    cusparseConstDnMatDescr_t B;
    cusparseDnMatDescr_t X;
    cusparseSpSVDescr_t sv;
    cusparseSpSMDescr_t sm;
    cusparseOperation_t op;
    cudaDataType type;
    union {
        float s[2];
        double d[2];
    } one; /* real or complex */
    int32_t *offsets;    /* 32-bit: what SpSV runs fastest with */
    void *buffer;        /* allocated once, outside every timing */
    size_t buffer_bytes;
    char version[24];
} solver;

static bool single(const solver *s) { return s->p->nrhs == 1; }

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_context_synchronize(s->b->ctx);
    if (s->sv) cusparse.SpSV_destroyDescr(s->sv);
    if (s->sm) cusparse.SpSM_destroyDescr(s->sm);
    if (s->b_vector) cusparse.DestroyDnVec(s->b_vector);
    if (s->x_vector) cusparse.DestroyDnVec(s->x_vector);
    if (s->B) cusparse.DestroyDnMat(s->B);
    if (s->X) cusparse.DestroyDnMat(s->X);
    if (s->T) cusparse.DestroySpMat(s->T);
    if (s->handle) cusparse.Destroy(s->handle);
    trine_free(s->b->ctx, TRINE_DEVICE, s->offsets);
    trine_free(s->b->ctx, TRINE_DEVICE, s->buffer);
    free(s);
}

/** The descriptor that an analysis fills; made again for every analysis. */
static trine_status make_descriptor(solver *s)
{
    return single(s) ? SPARSE(SpSV_createDescr, &s->sv) : SPARSE(SpSM_createDescr, &s->sm);
}

static trine_status buffer_size(solver *s, size_t *bytes)
{
    return single(s) ? SPARSE(SpSV_bufferSize, s->handle, s->op, &s->one, s->T, s->b_vector, s->x_vector, s->type,
                              CUSPARSE_SPSV_ALG_DEFAULT, s->sv, bytes)
                     : SPARSE(SpSM_bufferSize, s->handle, s->op, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->T, s->B,
                              s->X, s->type, CUSPARSE_SPSM_ALG_DEFAULT, s->sm, bytes);
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    static const cudaDataType types[] = {
        [TRINE_S] = CUDA_R_32F, [TRINE_D] = CUDA_R_64F, [TRINE_C] = CUDA_C_32F, [TRINE_Z] = CUDA_C_64F};
    trine_status status = TRINE_SUCCESS;
    int32_t *narrow = NULL;
    solver *s = NULL;
    (void)method;
    *self = NULL;
    if (b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE needs --device cuda");
    if (p->nnz > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 nonzeros");
    TRY(load());
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    s->type = types[p->dtype];
    s->op = p->op == TRINE_T   ? CUSPARSE_OPERATION_TRANSPOSE
            : p->op == TRINE_H ? CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE
                               : CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (p->dtype == TRINE_S || p->dtype == TRINE_C) s->one.s[0] = 1;
    else s->one.d[0] = 1;
    TRY(SPARSE(Create, &s->handle));
    TRY(SPARSE(SetStream, s->handle, (cudaStream_t)b->stream));
    int version = 0;
    TRY(SPARSE(GetVersion, s->handle, &version));
    snprintf(s->version, sizeof s->version, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);

    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    int64_t *wide = NULL;
    TRY(trine_matrix_get_arrays(p->T, &offsets, &columns, &values));
    TRY(ALLOC(b->ctx, narrow, p->n + 1));
    status = ALLOC(b->ctx, wide, p->n + 1);
    if (!status)
        status = trine_copy(b->ctx, wide, TRINE_HOST, offsets, TRINE_DEVICE, (size_t)(p->n + 1) * sizeof *wide);
    for (int64_t i = 0; !status && i <= p->n; i++) narrow[i] = (int32_t)wide[i];
    trine_free(b->ctx, TRINE_HOST, wide);
    TRY(status);
    TRY(trine_alloc(b->ctx, TRINE_DEVICE, (size_t)(p->n + 1) * sizeof *narrow, (void **)&s->offsets));
    TRY(trine_copy(b->ctx, s->offsets, TRINE_DEVICE, narrow, TRINE_HOST, (size_t)(p->n + 1) * sizeof *narrow));

    TRY(SPARSE(CreateCsr, &s->T, p->n, p->n, p->nnz, s->offsets, (void *)columns, (void *)values, CUSPARSE_INDEX_32I,
               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type));
    cusparseFillMode_t fill = p->uplo == TRINE_LOWER ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t diag = p->diag == TRINE_UNIT ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
    TRY(SPARSE(SpMatSetAttribute, s->T, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    TRY(SPARSE(SpMatSetAttribute, s->T, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
    if (single(s)) {
        TRY(SPARSE(CreateConstDnVec, &s->b_vector, p->n, p->B.data, s->type));
        TRY(SPARSE(CreateDnVec, &s->x_vector, p->n, p->X.data, s->type));
    } else {
        cusparseOrder_t order = p->X.layout == TRINE_ROWMAJOR ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
        TRY(SPARSE(CreateConstDnMat, &s->B, p->n, p->nrhs, p->B.ld, p->B.data, s->type, order));
        TRY(SPARSE(CreateDnMat, &s->X, p->n, p->nrhs, p->X.ld, p->X.data, s->type, order));
    }
    TRY(make_descriptor(s));
    TRY(buffer_size(s, &s->buffer_bytes));
    TRY(trine_alloc(b->ctx, TRINE_DEVICE, s->buffer_bytes, &s->buffer));
    *self = s;
    s = NULL;
done:
    trine_free(b->ctx, TRINE_HOST, narrow);
    destroy(s);
    return status;
}

static trine_status reset(void *self)
{
    solver *s = self;
    size_t bytes;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_context_synchronize(s->b->ctx));
    if (s->sv) TRY(SPARSE(SpSV_destroyDescr, s->sv));
    if (s->sm) TRY(SPARSE(SpSM_destroyDescr, s->sm));
    s->sv = NULL;
    s->sm = NULL;
    TRY(make_descriptor(s));
    TRY(buffer_size(s, &bytes)); /* the analysis needs a descriptor that has been through it */
done:
    return status;
}

static trine_status analyse(void *self)
{
    solver *s = self;
    return single(s) ? SPARSE(SpSV_analysis, s->handle, s->op, &s->one, s->T, s->b_vector, s->x_vector, s->type,
                              CUSPARSE_SPSV_ALG_DEFAULT, s->sv, s->buffer)
                     : SPARSE(SpSM_analysis, s->handle, s->op, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->T, s->B,
                              s->X, s->type, CUSPARSE_SPSM_ALG_DEFAULT, s->sm, s->buffer);
}

/** Its analysis reads the values already; this is the update of them. */
static trine_status numeric(void *self)
{
    solver *s = self;
    const void *values;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_matrix_get_arrays(s->p->T, NULL, NULL, &values));
    if (single(s)) {
        if (!cusparse.SpSV_updateMatrix) FAIL(TRINE_ERR_UNSUPPORTED, "this cuSPARSE has no cusparseSpSV_updateMatrix");
        TRY(SPARSE(SpSV_updateMatrix, s->handle, s->sv, (void *)values, CUSPARSE_SPSV_UPDATE_GENERAL));
    } else {
        if (!cusparse.SpSM_updateMatrix) FAIL(TRINE_ERR_UNSUPPORTED, "this cuSPARSE has no cusparseSpSM_updateMatrix");
        TRY(SPARSE(SpSM_updateMatrix, s->handle, s->sm, (void *)values, CUSPARSE_SPSM_UPDATE_GENERAL));
    }
done:
    return status;
}

static trine_status solve(void *self)
{
    solver *s = self;
    return single(s) ? SPARSE(SpSV_solve, s->handle, s->op, &s->one, s->T, s->b_vector, s->x_vector, s->type,
                              CUSPARSE_SPSV_ALG_DEFAULT, s->sv)
                     : SPARSE(SpSM_solve, s->handle, s->op, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->T, s->B, s->X,
                              s->type, CUSPARSE_SPSM_ALG_DEFAULT, s->sm);
}

static trine_status as_op(void *self, trine_op *op, trine_transpose *trans)
{
    solver *s = self;
    const bench_problem *p = s->p;
    return bench_peer_as_op(s->b, &(bench_peer_solve){"cuSPARSE", p->dtype, *trans, &p->B, &p->X, solve, s}, op);
}

static void describe(void *self, bench_record *r)
{
    solver *s = self;
    r->chosen = single(s) ? "spsv" : "spsm";
    bench_record_add_number(r, "plan_bytes", (double)s->buffer_bytes);
    bench_record_add_text(r, "version", s->version);
}

const bench_setup bench_setup_cusparse = {"cusparse", create, reset, analyse, numeric, as_op, describe, destroy, NULL};
