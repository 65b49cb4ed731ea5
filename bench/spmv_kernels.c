/* Kernels of this program as peers: products by merge paths, gathers alone, and CUB's segmented reduction. */
#include "spmv_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "spmv.h"

typedef struct {
    spmv_problem *p;
    spmv_kernel kernel;
    spmv_arrays arrays;
    void *y;             /* of SPMV_KERNEL_TOP2: columns */
    int32_t *found, *exact;
} solver;

static trine_status cuda_status(int error, const char *what)
{
    return error ? trine_fail(TRINE_ERR_DEVICE, "%s: error %d of the CUDA runtime", what, error) : TRINE_SUCCESS;
}

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    bench *b = s->p->b;
    trine_context_synchronize(b->ctx);
    trine_free(b->ctx, TRINE_DEVICE, s->arrays.work);
    trine_free(b->ctx, TRINE_DEVICE, s->y);
    trine_free(b->ctx, TRINE_HOST, s->found);
    trine_free(b->ctx, TRINE_HOST, s->exact);
    free(s);
}

static trine_status create(spmv_problem *p, spmv_kernel kernel, void **self)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    solver *s = NULL;
    *self = NULL;
    if (b->device.space != TRINE_DEVICE) FAIL(TRINE_ERR_UNSUPPORTED, "a kernel needs --device cuda");
    if (is_complex(p->dtype) || p->nrhs != 1) FAIL(TRINE_ERR_UNSUPPORTED, "for one real vector only");
    if (p->n_rows + p->nnz > INT32_MAX - (1 << 20)) FAIL(TRINE_ERR_UNSUPPORTED, "too many rows and nonzeros");
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->kernel = kernel;
    s->arrays = (spmv_arrays){.is_double = p->dtype == TRINE_D,
                              .n_rows = p->n_rows,
                              .n_cols = p->n_cols,
                              .nnz = p->nnz,
                              .offsets = p->offsets,
                              .columns = p->columns,
                              .values = p->values,
                              .x = p->X.data,
                              .alpha = p->alpha,
                              .beta = p->beta,
                              .y = p->Y.data,
                              .stream = b->stream};
    if (kernel == SPMV_KERNEL_TOP2) {
        TRY(ALLOC(b->ctx, s->found, 2 * p->n_rows));
        TRY(ALLOC(b->ctx, s->exact, 2 * p->n_rows));
        spmv_reference_of(p, "arg-max2", s->exact);
        TRY(trine_alloc(b->ctx, TRINE_DEVICE, 2 * (size_t)p->n_rows * sizeof(int32_t) + 1, &s->y));
        s->arrays.y = s->y;
    }
    TRY(cuda_status(spmv_kernel_work(kernel, &s->arrays, &s->arrays.work_bytes), "workspace"));
    TRY(trine_alloc(b->ctx, TRINE_DEVICE, s->arrays.work_bytes + 1, &s->arrays.work));
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status create_merge_path(spmv_problem *p, const char *method, void **self)
{
    (void)method;
    return create(p, SPMV_KERNEL_MERGE_PATH, self);
}
static trine_status create_gather(spmv_problem *p, const char *method, void **self)
{
    (void)method;
    return create(p, SPMV_KERNEL_GATHER, self);
}
static trine_status create_cub(spmv_problem *p, const char *method, void **self)
{
    (void)method;
    return create(p, SPMV_KERNEL_TOP2, self);
}

static trine_status multiply(void *self)
{
    const solver *s = self;
    return cuda_status(spmv_kernel_launch(s->kernel, &s->arrays), "launch");
}

static trine_status check_columns(void *self, double *error)
{
    solver *s = self;
    const size_t bytes = 2 * (size_t)s->p->n_rows * sizeof *s->found;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_copy(s->p->b->ctx, s->found, TRINE_HOST, s->y, TRINE_DEVICE, bytes));
    if (memcmp(s->found, s->exact, bytes) != 0) FAIL(TRINE_ERR_DEVICE, "wrong: not the columns of a serial loop");
    *error = 0;
done:
    return status;
}

static void describe(void *self, bench_record *r)
{
    const solver *s = self;
    const spmv_problem *p = s->p;
    const int64_t size = (int64_t)trine_dtype_size(p->dtype), entries = p->nnz * (size + 4);
    if (s->kernel == SPMV_KERNEL_GATHER) r->bytes = entries + (p->nnz < p->n_cols ? p->nnz : p->n_cols) * size;
    if (s->kernel == SPMV_KERNEL_TOP2) r->bytes = entries + 4 * (p->n_rows + 1) + 8 * p->n_rows;
    bench_record_add_number(r, "plan_bytes", (double)s->arrays.work_bytes);
}

const spmv_solver spmv_merge_path = {"kernel", SPMV_PEER, create_merge_path, NULL,   NULL,
                                     multiply, NULL,      describe,          destroy};
const spmv_solver spmv_gather = {"kernel", SPMV_FLOOR, create_gather, NULL, NULL, multiply, NULL, describe, destroy};
const spmv_solver spmv_cub = {"cub", SPMV_PEER, create_cub, NULL, NULL, multiply, check_columns, describe, destroy};
