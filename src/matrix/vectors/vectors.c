/* Blocks of vectors: rows permuted and scaled, sums, residuals, on the device they live on. */
#include <limits.h>

#include <trine/matrix.h>

#include "core/team.h"
#include "matrix/matrix.h"
#include "matrix/vectors/vectors.h"

#define TEMPLATE "matrix/vectors/vectors_cpu.inc"
#include "core/each_dtype.h"

const struct vectors_backend vectors_cpu = {.permute = TABLE(permute), .residual = TABLE(residual)};

static const struct vectors_backend *backend_of(trine_context ctx)
{
    return ctx->cuda ? TRINE_CUDA_TABLE(&vectors_cuda) : &vectors_cpu;
}

static int64_t row_stride(const trine_dense *X) { return X->layout == TRINE_COLMAJOR ? 1 : X->ld; }
static int64_t column_stride(const trine_dense *X) { return X->layout == TRINE_COLMAJOR ? X->ld : 1; }

static trine_status permute(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale, bool inverse,
                            bool conjugate, bool add, const trine_dense *X, const trine_dense *Y, void *stream)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    REQUIRE(X, "X is NULL");
    REQUIRE(X->rows >= 0 && (!perm || X->rows <= INT_MAX), "X has %lld rows", (long long)X->rows);
    trine_dense from, to;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_check_dense(X, X->rows, "X", &from));
    TRY(trine_check_dense(Y, X->rows, "Y", &to));
    REQUIRE(to.cols == from.cols, "Y has %lld columns, not %lld", (long long)to.cols, (long long)from.cols);
    if (!from.rows || !from.cols) return TRINE_SUCCESS;
    REQUIRE(to.data != from.data || (!perm && !add && to.ld == from.ld && to.layout == from.layout),
            "X and Y are the same array");
    const vectors_move move = {from.rows,
                               from.cols,
                               from.data,
                               to.data,
                               row_stride(&from),
                               column_stride(&from),
                               row_stride(&to),
                               column_stride(&to),
                               perm,
                               scale,
                               inverse,
                               conjugate,
                               add};
    status = backend_of(ctx)->permute[t](ctx, &move, stream ? stream : ctx->stream);
done:
    return status;
}

trine_status trine_vectors_permute(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale,
                                   int inverse, const trine_dense *X, const trine_dense *Y, void *stream)
{
    return permute(ctx, t, perm, scale, inverse != 0, false, false, X, Y, stream);
}

trine_status trine_vectors_permute_conjugate(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale,
                                             int inverse, const trine_dense *X, const trine_dense *Y, void *stream)
{
    return permute(ctx, t, perm, scale, inverse != 0, true, false, X, Y, stream);
}

trine_status vectors_gather_add(trine_context ctx, trine_dtype t, const int32_t *perm, const trine_dense *X,
                                const trine_dense *Y, void *stream)
{
    return permute(ctx, t, perm, NULL, false, false, true, X, Y, stream);
}

trine_status trine_vectors_add(trine_context ctx, trine_dtype t, const trine_dense *X, const trine_dense *Y,
                               void *stream)
{
    return permute(ctx, t, NULL, NULL, false, false, true, X, Y, stream);
}

trine_status trine_vectors_residual(trine_matrix A, const trine_dense *X, const trine_dense *B, const trine_dense *R,
                                    void *stream)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(A->format == TRINE_CSR, "A is not CSR");
    REQUIRE(A->space == A->ctx->info.space, "A is not in its context's space");
    REQUIRE(trine_dtype_is_valid(A->dtype), "A is a pattern, it has no values");
    trine_dense x, b, r;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_check_dense(X, A->n_cols, "X", &x));
    TRY(trine_check_dense(B, A->n_rows, "B", &b));
    TRY(trine_check_dense(R, A->n_rows, "R", &r));
    REQUIRE(x.cols == r.cols && b.cols == r.cols, "X has %lld columns, B %lld and R %lld", (long long)x.cols,
            (long long)b.cols, (long long)r.cols);
    if (!r.rows || !r.cols) return TRINE_SUCCESS;
    REQUIRE(r.data != x.data, "X and R are the same array");
    const vectors_residual v = {
        A->n_rows,      r.cols,           A->offsets,     A->indices,        A->values,      x.data,
        b.data,         r.data,           row_stride(&x), column_stride(&x), row_stride(&b), column_stride(&b),
        row_stride(&r), column_stride(&r)};
    status = backend_of(A->ctx)->residual[A->dtype](A->ctx, &v, stream ? stream : A->ctx->stream);
done:
    return status;
}
