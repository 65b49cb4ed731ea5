/* Blocks of vectors scaled, added and converted: the dispatch, and the CPU's part. */
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "operator/operator.h"

typedef double other_s;
typedef float other_d;
typedef double complex other_c;
typedef float complex other_z;

#define TEMPLATE "operator/update_cpu.inc"
#include "core/each_dtype.h"

const struct operator_backend operator_cpu = {.update = TABLE(update)};

static int64_t row_stride(const trine_dense *X) { return X->layout == TRINE_COLMAJOR ? 1 : X->ld; }
static int64_t column_stride(const trine_dense *X) { return X->layout == TRINE_COLMAJOR ? X->ld : 1; }

trine_status operator_run_update(trine_context ctx, trine_dtype t, const double alpha[2], const void *d, bool conjugate,
                                 trine_dtype x_dtype, const trine_dense *X, const double beta[2], const trine_dense *Y,
                                 void *stream)
{
    const struct operator_backend *backend = ctx->cuda ? TRINE_CUDA_TABLE(&operator_cuda) : &operator_cpu;
    op_update u = {.rows = Y->rows,
                   .cols = Y->cols,
                   .x = X->data,
                   .d = d,
                   .y = Y->data,
                   .x_row = row_stride(X),
                   .x_col = column_stride(X),
                   .y_row = row_stride(Y),
                   .y_col = column_stride(Y),
                   .conjugate = conjugate,
                   .other = x_dtype != t};
    memcpy(u.alpha, alpha, sizeof u.alpha);
    memcpy(u.beta, beta, sizeof u.beta);
    return u.rows && u.cols ? backend->update[t](ctx, &u, stream) : TRINE_SUCCESS;
}

trine_status trine_plan_scale(const struct trine_plan *plan, const void *alpha, const trine_dense *X,
                              const trine_dense *Y, void *stream)
{
    static const double zero[2];
    double factor[2];
    operator_read_scalar(plan->dtype, alpha, 1, factor);
    if (X->data == Y->data && factor[0] == 1 && factor[1] == 0) return TRINE_SUCCESS;
    return operator_run_update(plan->ctx, plan->dtype, factor, NULL, false, plan->dtype, X, zero, Y, stream);
}
