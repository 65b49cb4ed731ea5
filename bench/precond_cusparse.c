/* The peer of suite precond on a GPU: GMRES(20) with ILU(0), and CG with IC(0), put together from cuSPARSE and cuBLAS
 * as their users do: csrilu02 or csric02 (deprecated there, with no successor), two SpSV, SpMV; the basis in one block,
 * so that Gram-Schmidt, classical and twice, is four Dgemv a step. The host has the small numbers, and waits for them
 * once a step of GMRES, and for three dot products a step of CG. Both libraries are loaded at run time. */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cublas_v2.h>
#include <cusparse.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "precond.h"

#define NEEDED_OF_CUSPARSE(X)                                                                                      \
    X(Create)                                                                                                      \
    X(Destroy) X(SetStream) X(GetErrorString) X(GetVersion) X(CreateMatDescr) X(DestroyMatDescr)                   \
        X(CreateCsrilu02Info) X(DestroyCsrilu02Info) X(Dcsrilu02_bufferSize) X(Dcsrilu02_analysis) X(Dcsrilu02)    \
            X(Xcsrilu02_zeroPivot) X(CreateCsric02Info) X(DestroyCsric02Info) X(Dcsric02_bufferSize)               \
                X(Dcsric02_analysis) X(Dcsric02) X(Xcsric02_zeroPivot) X(CreateCsr) X(DestroySpMat)                \
                    X(SpMatSetAttribute) X(CreateDnVec) X(DestroyDnVec) X(DnVecSetValues) X(SpMV_bufferSize)       \
                        X(SpMV_preprocess) X(SpMV) X(SpSV_createDescr) X(SpSV_destroyDescr) X(SpSV_bufferSize)     \
                            X(SpSV_analysis) X(SpSV_solve)
#define NEEDED_OF_CUBLAS(X) \
    X(Create) X(Destroy) X(SetStream) X(SetPointerMode) X(Dgemv) X(Ddot) X(Dnrm2) X(Daxpy) X(Dscal) X(Dcopy)
#define X(name) __typeof__(cusparse##name) *name;
static struct {
    void *library;
    NEEDED_OF_CUSPARSE(X)
} cusparse;
#undef X
#define X(name) __typeof__(cublas##name##_v2) *name;
static struct {
    void *library;
    NEEDED_OF_CUBLAS(X)
} cublas;
#undef X

static trine_status load(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so.13",
                                        "/usr/local/cuda/lib64/libcublas.so.12"};
    void *sparse = NULL, *blas = NULL;
    if (cublas.library) return TRINE_SUCCESS;
    const trine_status status = bench_cusparse_library(&sparse);
    if (status) return status;
    for (size_t i = 0; !blas && i < sizeof names / sizeof *names; i++) blas = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!blas) return trine_fail(TRINE_ERR_NOT_BUILT, "cuBLAS cannot be loaded: %s", dlerror());
#define X(name) {&cusparse.name, "cusparse" #name},
    const bench_symbol of_cusparse[] = {NEEDED_OF_CUSPARSE(X)};
#undef X
#define X(name) {&cublas.name, "cublas" #name "_v2"},
    const bench_symbol of_cublas[] = {NEEDED_OF_CUBLAS(X)};
#undef X
    trine_status found = bench_load_symbols(sparse, "cuSPARSE", of_cusparse, sizeof of_cusparse / sizeof *of_cusparse);
    if (!found) found = bench_load_symbols(blas, "cuBLAS", of_cublas, sizeof of_cublas / sizeof *of_cublas);
    if (found) return found;
    cusparse.library = sparse;
    cublas.library = blas;
    return TRINE_SUCCESS;
}

static trine_status sparse_status(cusparseStatus_t result, const char *call)
{
    if (result == CUSPARSE_STATUS_SUCCESS) return TRINE_SUCCESS;
    return trine_fail(result == CUSPARSE_STATUS_NOT_SUPPORTED ? TRINE_ERR_UNSUPPORTED : TRINE_ERR_DEVICE,
                      "cusparse%s: %s", call, cusparse.GetErrorString(result));
}
static trine_status blas_status(cublasStatus_t result, const char *call)
{
    if (result == CUBLAS_STATUS_SUCCESS) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_DEVICE, "cublas%s: status %d", call, (int)result);
}
#define SPARSE(name, ...) sparse_status(cusparse.name(__VA_ARGS__), #name)
#define BLAS(name, ...) blas_status(cublas.name(__VA_ARGS__), #name)

enum { RESTART = PRECOND_RESTART, SLOTS = 3 * (RESTART + 1) };
enum { LOWER, UPPER };

struct precond_cusparse_s {
    precond_problem *p;
    bool is_cg;
    int n, nnz;
    cusparseHandle_t sparse;
    cublasHandle_t blas;
    char version[24];
    int *offsets, *columns;
    double *values; /* A's; offsets, columns and these in one allocation each */
    double *basis, *z, *y, *w, *small;

    /* of the set-up */
    cusparseMatDescr_t descriptor;
    csrilu02Info_t ilu;
    csric02Info_t ic;
    cusparseSpMatDescr_t A, half[2];
    cusparseDnVecDescr_t in, out;
    cusparseSpSVDescr_t plan[2];
    double *factors;
    void *factor_buffer, *product_buffer, *half_buffer[2];
};

static const double one = 1, zero = 0, minus_one = -1;
static const cusparseOperation_t N = CUSPARSE_OPERATION_NON_TRANSPOSE, T = CUSPARSE_OPERATION_TRANSPOSE;

/* ------------------------------------------------------------------- set-up */

static void forget(precond_cusparse s)
{
    for (int k = 0; k < 2; k++) {
        if (s->plan[k]) cusparse.SpSV_destroyDescr(s->plan[k]);
        if (s->half[k]) cusparse.DestroySpMat(s->half[k]);
        cudaFree(s->half_buffer[k]);
        s->plan[k] = NULL, s->half[k] = NULL, s->half_buffer[k] = NULL;
    }
    if (s->in) cusparse.DestroyDnVec(s->in);
    if (s->out) cusparse.DestroyDnVec(s->out);
    if (s->A) cusparse.DestroySpMat(s->A);
    if (s->ilu) cusparse.DestroyCsrilu02Info(s->ilu);
    if (s->ic) cusparse.DestroyCsric02Info(s->ic);
    if (s->descriptor) cusparse.DestroyMatDescr(s->descriptor);
    void *const buffers[] = {s->factors, s->factor_buffer, s->product_buffer};
    for (int k = 0; k < 3; k++) cudaFree(buffers[k]);
    s->in = s->out = NULL, s->A = NULL, s->ilu = NULL, s->ic = NULL, s->descriptor = NULL;
    s->factors = NULL, s->factor_buffer = s->product_buffer = NULL;
}

/** L and U, or L of L L^T, in place of A's values. */
static trine_status factorize(precond_cusparse s)
{
    const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
    trine_status status = TRINE_SUCCESS;
    int bytes = 0, row = -1;
    TRY(SPARSE(CreateMatDescr, &s->descriptor)); /* general, from 0 */
    if (s->is_cg) {
        TRY(SPARSE(CreateCsric02Info, &s->ic));
        TRY(SPARSE(Dcsric02_bufferSize, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns,
                   s->ic, &bytes));
        TRY(CUDA(cudaMalloc(&s->factor_buffer, (size_t)bytes + 1)));
        TRY(SPARSE(Dcsric02_analysis, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns, s->ic,
                   policy, s->factor_buffer));
        TRY(SPARSE(Dcsric02, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns, s->ic, policy,
                   s->factor_buffer));
        if (cusparse.Xcsric02_zeroPivot(s->sparse, s->ic, &row) == CUSPARSE_STATUS_ZERO_PIVOT)
            FAIL(TRINE_ERR_NOT_DEFINITE, "csric02: a pivot of row %d is not positive", row);
        return TRINE_SUCCESS;
    }
    TRY(SPARSE(CreateCsrilu02Info, &s->ilu));
    TRY(SPARSE(Dcsrilu02_bufferSize, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns, s->ilu,
               &bytes));
    TRY(CUDA(cudaMalloc(&s->factor_buffer, (size_t)bytes + 1)));
    TRY(SPARSE(Dcsrilu02_analysis, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns, s->ilu,
               policy, s->factor_buffer));
    TRY(SPARSE(Dcsrilu02, s->sparse, s->n, s->nnz, s->descriptor, s->factors, s->offsets, s->columns, s->ilu, policy,
               s->factor_buffer));
    if (cusparse.Xcsrilu02_zeroPivot(s->sparse, s->ilu, &row) == CUSPARSE_STATUS_ZERO_PIVOT)
        FAIL(TRINE_ERR_SINGULAR, "csrilu02: the pivot of row %d is zero", row);
done:
    return status;
}

/** Of IC(0), the second triangle is the first one's transpose. */
static cusparseOperation_t op_of(const struct precond_cusparse_s *s, int k) { return s->is_cg && k == UPPER ? T : N; }

static trine_status analyse_half(precond_cusparse s, int k)
{
    const cusparseFillMode_t fill = k == LOWER || s->is_cg ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    const cusparseDiagType_t diagonal = k == LOWER && !s->is_cg ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
    trine_status status = TRINE_SUCCESS;
    size_t bytes = 0;
    TRY(SPARSE(CreateCsr, &s->half[k], s->n, s->n, s->nnz, s->offsets, s->columns, s->factors, CUSPARSE_INDEX_32I,
               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    TRY(SPARSE(SpMatSetAttribute, s->half[k], CUSPARSE_SPMAT_FILL_MODE, (void *)&fill, sizeof fill));
    TRY(SPARSE(SpMatSetAttribute, s->half[k], CUSPARSE_SPMAT_DIAG_TYPE, (void *)&diagonal, sizeof diagonal));
    TRY(SPARSE(SpSV_createDescr, &s->plan[k]));
    TRY(SPARSE(SpSV_bufferSize, s->sparse, op_of(s, k), &one, s->half[k], s->in, s->out, CUDA_R_64F,
               CUSPARSE_SPSV_ALG_DEFAULT, s->plan[k], &bytes));
    TRY(CUDA(cudaMalloc(&s->half_buffer[k], bytes + 1)));
    TRY(SPARSE(SpSV_analysis, s->sparse, op_of(s, k), &one, s->half[k], s->in, s->out, CUDA_R_64F,
               CUSPARSE_SPSV_ALG_DEFAULT, s->plan[k], s->half_buffer[k]));
done:
    return status;
}

trine_status precond_cusparse_set_up(void *peer)
{
    precond_cusparse s = peer;
    const cudaStream_t stream = s->p->b->stream;
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = (size_t)s->nnz * sizeof *s->factors;
    size_t product_bytes = 0;
    forget(s);
    TRY(CUDA(cudaMalloc((void **)&s->factors, bytes + 1)));
    TRY(CUDA(cudaMemcpyAsync(s->factors, s->values, bytes, cudaMemcpyDeviceToDevice, stream)));
    TRY(factorize(s));
    TRY(SPARSE(CreateDnVec, &s->in, s->n, s->w, CUDA_R_64F));
    TRY(SPARSE(CreateDnVec, &s->out, s->n, s->z, CUDA_R_64F));
    for (int k = 0; k < 2; k++) TRY(analyse_half(s, k));
    TRY(SPARSE(CreateCsr, &s->A, s->n, s->n, s->nnz, s->offsets, s->columns, s->values, CUSPARSE_INDEX_32I,
               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    TRY(SPARSE(SpMV_bufferSize, s->sparse, N, &one, s->A, s->in, &zero, s->out, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
               &product_bytes));
    TRY(CUDA(cudaMalloc(&s->product_buffer, product_bytes + 1)));
    TRY(SPARSE(SpMV_preprocess, s->sparse, N, &one, s->A, s->in, &zero, s->out, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
               s->product_buffer));
    TRY(CUDA(cudaStreamSynchronize(stream)));
done:
    return status;
}

static trine_status upload_matrix(precond_cusparse s)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    int *narrow = NULL;
    TRY(trine_matrix_get_arrays(s->p->host_A, &offsets, &columns, &values));
    TRY(ALLOC(s->p->b->ctx, narrow, s->n + 1));
    for (int i = 0; i <= s->n; i++) narrow[i] = (int)offsets[i];
    const size_t rows = (size_t)(s->n + 1) * sizeof *narrow, entries = (size_t)s->nnz;
    TRY(CUDA(cudaMalloc((void **)&s->offsets, rows)));
    TRY(CUDA(cudaMalloc((void **)&s->columns, entries * sizeof *columns + 1)));
    TRY(CUDA(cudaMalloc((void **)&s->values, entries * sizeof *s->values + 1)));
    TRY(CUDA(cudaMemcpy(s->offsets, narrow, rows, cudaMemcpyHostToDevice)));
    TRY(CUDA(cudaMemcpy(s->columns, columns, entries * sizeof *columns, cudaMemcpyHostToDevice)));
    TRY(CUDA(cudaMemcpy(s->values, values, entries * sizeof *s->values, cudaMemcpyHostToDevice)));
done:
    trine_free(s->p->b->ctx, TRINE_HOST, narrow);
    return status;
}

trine_status precond_cusparse_create(precond_problem *p, const char *method, precond_cusparse *out)
{
    trine_status status = TRINE_SUCCESS;
    precond_cusparse s = NULL;
    int version = 0;
    *out = NULL;
    if (p->b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE needs --device cuda");
    if (p->nnz > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "cuSPARSE's factorizations take less than 2^31 entries");
    TRY(load());
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->is_cg = strncmp(method, "cg", 2) == 0;
    s->n = (int)p->n;
    s->nnz = (int)p->nnz;
    TRY(SPARSE(Create, &s->sparse));
    TRY(SPARSE(SetStream, s->sparse, (cudaStream_t)p->b->stream));
    TRY(SPARSE(GetVersion, s->sparse, &version));
    snprintf(s->version, sizeof s->version, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    TRY(BLAS(Create, &s->blas));
    TRY(BLAS(SetStream, s->blas, (cudaStream_t)p->b->stream));
    TRY(upload_matrix(s));
    const size_t vector = (size_t)p->n * sizeof(double), basis = s->is_cg ? 2 : RESTART + 1;
    TRY(CUDA(cudaMalloc((void **)&s->basis, basis * vector + 1)));
    TRY(CUDA(cudaMalloc((void **)&s->w, vector + 1)));
    TRY(CUDA(cudaMalloc((void **)&s->y, vector + 1)));
    TRY(CUDA(cudaMalloc((void **)&s->z, vector + 1)));
    TRY(CUDA(cudaMalloc((void **)&s->small, SLOTS * sizeof(double))));
    *out = s;
    s = NULL;
done:
    precond_cusparse_destroy(&s);
    return status;
}

const char *precond_cusparse_version(precond_cusparse s) { return s->version; }

void precond_cusparse_destroy(precond_cusparse *out)
{
    precond_cusparse s = *out;
    *out = NULL;
    if (!s) return;
    trine_context_synchronize(s->p->b->ctx);
    forget(s);
    void *const arrays[] = {s->offsets, s->columns, s->values, s->basis, s->w, s->y, s->z, s->small};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) cudaFree(arrays[k]);
    if (s->sparse) cusparse.Destroy(s->sparse);
    if (s->blas) cublas.Destroy(s->blas);
    free(s);
}

/* -------------------------------------------------------------------- steps */

static trine_status multiply(precond_cusparse s, const double *x, double *y)
{
    trine_status status = TRINE_SUCCESS;
    TRY(SPARSE(DnVecSetValues, s->in, (void *)x));
    TRY(SPARSE(DnVecSetValues, s->out, y));
    TRY(SPARSE(SpMV, s->sparse, N, &one, s->A, s->in, &zero, s->out, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
               s->product_buffer));
done:
    return status;
}

/** z := M^-1 x, by way of s->y. */
static trine_status precondition(precond_cusparse s, const double *x, double *z)
{
    trine_status status = TRINE_SUCCESS;
    for (int k = 0; k < 2; k++) {
        TRY(SPARSE(DnVecSetValues, s->in, k ? s->y : (void *)x));
        TRY(SPARSE(DnVecSetValues, s->out, k ? z : s->y));
        TRY(SPARSE(SpSV_solve, s->sparse, op_of(s, k), &one, s->half[k], s->in, s->out, CUDA_R_64F,
                   CUSPARSE_SPSV_ALG_DEFAULT, s->plan[k]));
    }
done:
    return status;
}

/** r := b - A x, and its norm. */
static trine_status compute_residual(precond_cusparse s, double *r, double *norm)
{
    trine_status status = TRINE_SUCCESS;
    TRY(multiply(s, s->p->x, r));
    TRY(BLAS(Dscal, s->blas, s->n, &minus_one, r, 1));
    TRY(BLAS(Daxpy, s->blas, s->n, &one, s->p->rhs, 1, r, 1));
    TRY(BLAS(Dnrm2, s->blas, s->n, r, 1, norm));
done:
    return status;
}

/** w := A M^-1 V[j], orthogonal to V[0] to V[j]: h gets the coefficients, and the norm of what is left. */
static trine_status expand(precond_cusparse s, int j, double *h)
{
    const cudaStream_t stream = s->p->b->stream;
    double *const w = s->basis + (size_t)(j + 1) * (size_t)s->n, twice[SLOTS];
    trine_status status = TRINE_SUCCESS;
    TRY(precondition(s, s->basis + (size_t)j * (size_t)s->n, s->z));
    TRY(multiply(s, s->z, w));
    for (int pass = 0; pass < 2; pass++) {
        double *const of_pass = s->small + pass * (RESTART + 1);
        TRY(BLAS(Dgemv, s->blas, CUBLAS_OP_T, s->n, j + 1, &one, s->basis, s->n, w, 1, &zero, of_pass, 1));
        TRY(BLAS(Dgemv, s->blas, CUBLAS_OP_N, s->n, j + 1, &minus_one, s->basis, s->n, of_pass, 1, &one, w, 1));
    }
    TRY(BLAS(SetPointerMode, s->blas, CUBLAS_POINTER_MODE_DEVICE));
    const trine_status found = BLAS(Dnrm2, s->blas, s->n, w, 1, s->small + SLOTS - 1);
    TRY(BLAS(SetPointerMode, s->blas, CUBLAS_POINTER_MODE_HOST));
    TRY(found);
    TRY(CUDA(cudaMemcpyAsync(twice, s->small, sizeof twice, cudaMemcpyDeviceToHost, stream)));
    TRY(CUDA(cudaStreamSynchronize(stream)));
    for (int i = 0; i <= j; i++) h[i] = twice[i] + twice[RESTART + 1 + i];
    h[j + 1] = twice[SLOTS - 1];
    const double scale = 1 / h[j + 1];
    TRY(BLAS(Dscal, s->blas, s->n, &scale, w, 1));
done:
    return status;
}

/** x := x + M^-1 V y with R y = g. */
static trine_status correct(precond_cusparse s, int steps, double (*R)[RESTART + 1], const double *g)
{
    double y[RESTART];
    trine_status status = TRINE_SUCCESS;
    for (int i = steps - 1; i >= 0; i--) {
        y[i] = g[i];
        for (int k = i + 1; k < steps; k++) y[i] -= R[k][i] * y[k];
        y[i] /= R[i][i];
    }
    TRY(CUDA(cudaMemcpyAsync(s->small, y, (size_t)steps * sizeof *y, cudaMemcpyHostToDevice, s->p->b->stream)));
    TRY(BLAS(Dgemv, s->blas, CUBLAS_OP_N, s->n, steps, &one, s->basis, s->n, s->small, 1, &zero, s->w, 1));
    TRY(precondition(s, s->w, s->z));
    TRY(BLAS(Daxpy, s->blas, s->n, &one, s->z, 1, s->p->x, 1));
done:
    return status;
}

static trine_status run_gmres(precond_cusparse s, int64_t most, int64_t *steps, double *residual)
{
    double R[RESTART][RESTART + 1], g[RESTART + 1], cosine[RESTART], sine[RESTART], norm;
    trine_status status = TRINE_SUCCESS;
    TRY(compute_residual(s, s->basis, &norm));
    while (*residual = norm / s->p->rhs_norm, *residual > PRECOND_TOLERANCE && *steps < most) {
        const double scale = 1 / norm;
        int j = 0;
        TRY(BLAS(Dscal, s->blas, s->n, &scale, s->basis, 1));
        g[0] = norm;
        for (; j < RESTART && *steps < most && fabs(g[j]) > PRECOND_TOLERANCE * s->p->rhs_norm; j++, ++*steps) {
            double *const h = R[j];
            TRY(expand(s, j, h));
            for (int i = 0; i < j; i++) {
                const double above = h[i];
                h[i] = cosine[i] * above + sine[i] * h[i + 1];
                h[i + 1] = cosine[i] * h[i + 1] - sine[i] * above;
            }
            const double length = hypot(h[j], h[j + 1]);
            if (!(length > 0 && length < INFINITY)) return TRINE_SUCCESS; /* a breakdown, with x as it is */
            cosine[j] = h[j] / length;
            sine[j] = h[j + 1] / length;
            h[j] = length;
            g[j + 1] = -sine[j] * g[j];
            g[j] *= cosine[j];
        }
        TRY(correct(s, j, R, g));
        TRY(compute_residual(s, s->basis, &norm));
    }
done:
    return status;
}

static trine_status run_cg(precond_cusparse s, int64_t most, int64_t *steps, double *residual)
{
    double *const r = s->basis, *const p = s->basis + s->n, *const q = s->w, norm, rho, next, pq;
    trine_status status = TRINE_SUCCESS;
    TRY(compute_residual(s, r, &norm));
    TRY(precondition(s, r, s->z));
    TRY(BLAS(Dcopy, s->blas, s->n, s->z, 1, p, 1));
    TRY(BLAS(Ddot, s->blas, s->n, r, 1, s->z, 1, &rho));
    while (*residual = norm / s->p->rhs_norm, *residual > PRECOND_TOLERANCE && *steps < most) {
        TRY(multiply(s, p, q));
        TRY(BLAS(Ddot, s->blas, s->n, p, 1, q, 1, &pq));
        const double alpha = rho / pq, back = -alpha;
        if (!(pq > 0 && rho > 0)) return TRINE_SUCCESS; /* not definite */
        TRY(BLAS(Daxpy, s->blas, s->n, &alpha, p, 1, s->p->x, 1));
        TRY(BLAS(Daxpy, s->blas, s->n, &back, q, 1, r, 1));
        TRY(BLAS(Dnrm2, s->blas, s->n, r, 1, &norm));
        TRY(precondition(s, r, s->z));
        TRY(BLAS(Ddot, s->blas, s->n, r, 1, s->z, 1, &next));
        const double beta = next / rho;
        TRY(BLAS(Dscal, s->blas, s->n, &beta, p, 1));
        TRY(BLAS(Daxpy, s->blas, s->n, &one, s->z, 1, p, 1));
        rho = next;
        ++*steps;
    }
done:
    return status;
}

trine_status precond_cusparse_solve(precond_cusparse s, int64_t most, int64_t *steps, double *residual)
{
    const cudaStream_t stream = s->p->b->stream;
    trine_status status = TRINE_SUCCESS;
    *steps = 0;
    TRY(CUDA(cudaMemsetAsync(s->p->x, 0, (size_t)s->n * sizeof(double), stream)));
    TRY(s->is_cg ? run_cg(s, most, steps, residual) : run_gmres(s, most, steps, residual));
    TRY(CUDA(cudaStreamSynchronize(stream)));
done:
    return status;
}
