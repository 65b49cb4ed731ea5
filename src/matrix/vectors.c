/* Blocks of vectors: rows permuted and scaled, on the device they live on. */
#include <limits.h>

#include <trine/matrix.h>

#include "matrix/vectors.h"

#define TEMPLATE "matrix/vectors_cpu.inc"
#include "core/each_dtype.h"

const struct vectors_backend vectors_cpu = {.permute = TABLE(permute)};

static trine_status permute(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale, bool inverse, bool conjugate,
                            const trine_dense *X, const trine_dense *Y, void *stream)
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
    REQUIRE(to.data != from.data, "X and Y are the same array");
    const bool from_columns = from.layout == TRINE_COLMAJOR, to_columns = to.layout == TRINE_COLMAJOR;
    const vectors_move move = {from.rows, from.cols, from.data, to.data,
                               from_columns ? 1 : from.ld, from_columns ? from.ld : 1, to_columns ? 1 : to.ld, to_columns ? to.ld : 1,
                               perm, scale, inverse, conjugate};
    const struct vectors_backend *backend = ctx->cuda ? TRINE_CUDA_TABLE(&vectors_cuda) : &vectors_cpu;
    status = backend->permute[t](ctx, &move, stream ? stream : ctx->stream);
done:
    return status;
}

trine_status trine_vectors_permute(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale, int inverse,
                                   const trine_dense *X, const trine_dense *Y, void *stream)
{
    return permute(ctx, t, perm, scale, inverse != 0, false, X, Y, stream);
}

trine_status trine_vectors_permute_conjugate(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale, int inverse,
                                             const trine_dense *X, const trine_dense *Y, void *stream)
{
    return permute(ctx, t, perm, scale, inverse != 0, true, X, Y, stream);
}
