/* The peer ILU(0) of cuSPARSE: banded systems, one below the other, as one CSR matrix, factored by csrilu02
 * (deprecated there, with no successor) and solved by two SpSV. A band has no fill outside it, so that this is LU
 * without pivoting. Loaded at run time. Method "csrilu02" times the factorization, "csrilu02+SpSV" the two solves. */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "tridiag.h"

#define REQUIRED(X)                                                                                             \
    X(Create)                                                                                                   \
    X(Destroy) X(SetStream) X(GetErrorString) X(CreateMatDescr) X(DestroyMatDescr) X(CreateCsrilu02Info)        \
        X(DestroyCsrilu02Info) X(CreateCsr) X(DestroySpMat) X(SpMatSetAttribute) X(CreateDnVec) X(DestroyDnVec) \
            X(SpSV_createDescr) X(SpSV_destroyDescr) X(SpSV_bufferSize) X(SpSV_analysis) X(SpSV_solve)
#define X(name) __typeof__(cusparse##name) *name;
static struct {
    void *library;
    REQUIRED(X)
} cusparse;
#undef X

/* One interface for both precisions. */
typedef cusparseStatus_t (*size_fn)(cusparseHandle_t, int n, int nnz, cusparseMatDescr_t, void *values,
                                    const int *offsets, const int *columns, csrilu02Info_t, int *bytes);
typedef cusparseStatus_t (*ilu_fn)(cusparseHandle_t, int n, int nnz, cusparseMatDescr_t, void *values,
                                   const int *offsets, const int *columns, csrilu02Info_t, cusparseSolvePolicy_t,
                                   void *buffer);

enum { LOWER, UPPER };

typedef struct {
    const tridiag_problem *p;
    bool factors; /* timed */
    int n, nnz;
    cusparseHandle_t handle;
    cusparseMatDescr_t descriptor;
    csrilu02Info_t info;
    ilu_fn factorize;
    cusparseSpMatDescr_t half[2];
    cusparseDnVecDescr_t d, y, x;
    cusparseSpSVDescr_t plan[2];
    cudaDataType type;
    union {
        float s;
        double d;
    } one;
    void *offsets, *columns, *given, *values, *between, *buffer, *half_buffer[2]; /* of the device */
    size_t bytes;
} solver;

static trine_status check(cusparseStatus_t result, const char *call)
{
    if (result == CUSPARSE_STATUS_SUCCESS) return TRINE_SUCCESS;
    return trine_fail(result == CUSPARSE_STATUS_NOT_SUPPORTED ? TRINE_ERR_UNSUPPORTED : TRINE_ERR_DEVICE,
                      "cusparse%s: %s", call, cusparse.GetErrorString(result));
}
#define SPARSE(name, ...) check(cusparse.name(__VA_ARGS__), #name)

static trine_status load(void)
{
    void *library = NULL;
    if (cusparse.library) return TRINE_SUCCESS;
    trine_status status = bench_cusparse_library(&library);
    if (status) return status;
#define X(name)                                                       \
    if (!(cusparse.name = dlsym(library, "cusparse" #name)))          \
        return trine_fail(TRINE_ERR_NOT_BUILT, "this cuSPARSE has no cusparse" #name);
    REQUIRED(X)
#undef X
    cusparse.library = library;
    return TRINE_SUCCESS;
}

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_context ctx = s->p->b->ctx;
    trine_context_synchronize(ctx);
    for (int k = 0; k < 2; k++) {
        if (s->plan[k]) cusparse.SpSV_destroyDescr(s->plan[k]);
        if (s->half[k]) cusparse.DestroySpMat(s->half[k]);
        trine_free(ctx, TRINE_DEVICE, s->half_buffer[k]);
    }
    if (s->d) cusparse.DestroyDnVec(s->d);
    if (s->y) cusparse.DestroyDnVec(s->y);
    if (s->x) cusparse.DestroyDnVec(s->x);
    if (s->info) cusparse.DestroyCsrilu02Info(s->info);
    if (s->descriptor) cusparse.DestroyMatDescr(s->descriptor);
    if (s->handle) cusparse.Destroy(s->handle);
    void *const arrays[] = {s->offsets, s->columns, s->given, s->values, s->between, s->buffer};
    for (int k = 0; k < 6; k++) trine_free(ctx, TRINE_DEVICE, arrays[k]);
    free(s);
}

static trine_status allocate(solver *s, size_t bytes, void **p)
{
    s->bytes += bytes;
    return trine_alloc(s->p->b->ctx, TRINE_DEVICE, bytes, p);
}
static trine_status upload(solver *s, const void *host, size_t bytes, void **p)
{
    const trine_status status = allocate(s, bytes, p);
    return status ? status : trine_copy(s->p->b->ctx, *p, TRINE_DEVICE, host, TRINE_HOST, bytes);
}

/** The bands as rows; the systems of a batch one below the other, with nothing stored between them. */
static trine_status make_matrix(solver *s)
{
    const tridiag_problem *p = s->p;
    trine_context ctx = p->b->ctx;
    trine_status status = TRINE_SUCCESS;
    int32_t *offsets = NULL, *columns = NULL;
    char *values = NULL;
    const int64_t rows = p->n * p->systems, most = rows * (p->kl + p->ku + 1);
    TRY(ALLOC(ctx, offsets, rows + 1));
    TRY(ALLOC(ctx, columns, most));
    TRY(ALLOC(ctx, values, most * (int64_t)p->element));
    s->nnz = 0;
    for (int64_t i = 0; i < rows; i++) {
        offsets[i] = s->nnz;
        for (int k = -p->kl; k <= p->ku; k++) {
            if (i % p->n + k < 0 || i % p->n + k >= p->n) continue;
            columns[s->nnz] = (int32_t)(i + k);
            memcpy(values + (size_t)s->nnz++ * p->element, p->host + (size_t)((p->kl + k) * rows + i) * p->element,
                   p->element);
        }
    }
    offsets[rows] = s->nnz;
    const size_t bytes = (size_t)s->nnz * p->element;
    TRY(upload(s, offsets, (size_t)(rows + 1) * sizeof *offsets, &s->offsets));
    TRY(upload(s, columns, (size_t)s->nnz * sizeof *columns, &s->columns));
    TRY(upload(s, values, bytes, &s->given));
    TRY(upload(s, values, bytes, &s->values));
    TRY(allocate(s, (size_t)rows * p->element, &s->between));
done:
    trine_free(ctx, TRINE_HOST, offsets);
    trine_free(ctx, TRINE_HOST, columns);
    trine_free(ctx, TRINE_HOST, values);
    return status;
}

static trine_status reset(void *self)
{
    const solver *s = self;
    return s->factors ? bench_device_copy(s->p->b, s->values, s->given, (size_t)s->nnz * s->p->element) : TRINE_SUCCESS;
}
static trine_status factorize(const solver *s)
{
    return check(s->factorize(s->handle, s->n, s->nnz, s->descriptor, s->values, s->offsets, s->columns, s->info,
                              CUSPARSE_SOLVE_POLICY_NO_LEVEL, s->buffer),
                 "csrilu02");
}
static trine_status substitute(const solver *s)
{
    trine_status status = TRINE_SUCCESS;
    TRY(SPARSE(SpSV_solve, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->half[LOWER], s->d, s->y, s->type,
               CUSPARSE_SPSV_ALG_DEFAULT, s->plan[LOWER]));
    TRY(SPARSE(SpSV_solve, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->half[UPPER], s->y, s->x, s->type,
               CUSPARSE_SPSV_ALG_DEFAULT, s->plan[UPPER]));
done:
    return status;
}

/** Factor once, and analyse the two halves of the factors. */
static trine_status prepare(solver *s)
{
    trine_status status = TRINE_SUCCESS;
    const char precision = s->p->dtype == TRINE_S ? 'S' : 'D';
    const cusparseFillMode_t fills[] = {CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER};
    const cusparseDiagType_t diagonals[] = {CUSPARSE_DIAG_TYPE_UNIT, CUSPARSE_DIAG_TYPE_NON_UNIT};
    const char *const names[] = {"csrilu02_bufferSize", "csrilu02_analysis", "csrilu02"};
    void *routines[3];
    char name[64];
    int bytes = 0;
    size_t half_bytes = 0;
    for (int k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "cusparse%c%s", precision, names[k]);
        if (!(routines[k] = dlsym(cusparse.library, name))) FAIL(TRINE_ERR_NOT_BUILT, "this cuSPARSE has no %s", name);
    }
    s->factorize = (ilu_fn)routines[2];
    TRY(SPARSE(CreateMatDescr, &s->descriptor)); /* general, from 0 */
    TRY(SPARSE(CreateCsrilu02Info, &s->info));
    TRY(check(((size_fn)routines[0])(s->handle, s->n, s->nnz, s->descriptor, s->values, s->offsets, s->columns, s->info,
                                     &bytes),
              "csrilu02_bufferSize"));
    TRY(allocate(s, (size_t)bytes, &s->buffer));
    TRY(check(((ilu_fn)routines[1])(s->handle, s->n, s->nnz, s->descriptor, s->values, s->offsets, s->columns, s->info,
                                    CUSPARSE_SOLVE_POLICY_NO_LEVEL, s->buffer),
              "csrilu02_analysis"));
    TRY(factorize(s));
    TRY(SPARSE(CreateDnVec, &s->d, s->n, s->p->D, s->type));
    TRY(SPARSE(CreateDnVec, &s->y, s->n, s->between, s->type));
    TRY(SPARSE(CreateDnVec, &s->x, s->n, s->p->X, s->type));
    for (int k = 0; k < 2; k++) {
        const cusparseDnVecDescr_t from = k == LOWER ? s->d : s->y, to = k == LOWER ? s->y : s->x;
        TRY(SPARSE(CreateCsr, &s->half[k], s->n, s->n, s->nnz, s->offsets, s->columns, s->values, CUSPARSE_INDEX_32I,
                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type));
        TRY(SPARSE(SpMatSetAttribute, s->half[k], CUSPARSE_SPMAT_FILL_MODE, (void *)&fills[k], sizeof fills[k]));
        TRY(SPARSE(SpMatSetAttribute, s->half[k], CUSPARSE_SPMAT_DIAG_TYPE, (void *)&diagonals[k],
                   sizeof diagonals[k]));
        TRY(SPARSE(SpSV_createDescr, &s->plan[k]));
        TRY(SPARSE(SpSV_bufferSize, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->half[k], from, to, s->type,
                   CUSPARSE_SPSV_ALG_DEFAULT, s->plan[k], &half_bytes));
        TRY(allocate(s, half_bytes, &s->half_buffer[k]));
        TRY(SPARSE(SpSV_analysis, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &s->one, s->half[k], from, to, s->type,
                   CUSPARSE_SPSV_ALG_DEFAULT, s->plan[k], s->half_buffer[k]));
    }
done:
    return status;
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->factors = strcmp(method, "csrilu02") == 0;
    s->n = (int)(p->n * p->systems);
    s->type = p->dtype == TRINE_S ? CUDA_R_32F : CUDA_R_64F;
    if (p->dtype == TRINE_S) s->one.s = 1;
    else s->one.d = 1;
    if (p->b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE needs --device cuda");
    if (p->interleaved || p->nrhs != 1 || p->cyclic || p->n * p->systems * p->per_row > INT32_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED,
             "systems that lie one after the other, with one right-hand side and less than 2^31 elements");
    TRY(load());
    TRY(SPARSE(Create, &s->handle));
    TRY(SPARSE(SetStream, s->handle, (cudaStream_t)p->b->stream));
    TRY(make_matrix(s));
    TRY(prepare(s));
done:
    return status;
}

static trine_status solve(void *self)
{
    const solver *s = self;
    return s->factors ? factorize(s) : substitute(s);
}
static const void *solution(const void *self)
{
    const solver *s = self;
    if (s->factors && !substitute(s)) trine_context_synchronize(s->p->b->ctx); /* what the factors are good for */
    return s->p->X;
}
static size_t work_bytes(const void *self) { return ((const solver *)self)->bytes; }

const tridiag_solver tridiag_ilu = {"cusparse", create, reset, solve, solution, work_bytes, destroy};
