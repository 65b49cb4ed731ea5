/* Solves with a direct plan: permutations and scales around two triangular solves (sweeps.c), and iterative
 * refinement. All that a solve writes is in its work. */
#include "direct/plan.h"

/** By cuDSS. */
static trine_status solve_in_cudss(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                                   const trine_dense *X, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dense copy = {
        .data = work->vectors, .rows = D->base.n, .cols = B->cols, .ld = D->base.n, .layout = TRINE_COLMAJOR};
    if (X->layout != TRINE_COLMAJOR)
        FAIL(TRINE_ERR_UNSUPPORTED, "cuDSS solves for vectors stored by columns, and X is stored by rows");
    const bool conjugate = factor_cudss_conjugates(D->F, op);
    if (B->data == X->data || B->layout != TRINE_COLMAJOR || conjugate) {
        TRY((conjugate ? trine_vectors_permute_conjugate : trine_vectors_permute)(D->base.ctx, D->base.dtype, NULL,
                                                                                  NULL, 0, B, &copy, stream));
        B = &copy;
    }
    TRY(D->F->backend->solve(D->F, op, B, X, stream));
    if (conjugate) TRY(trine_vectors_permute_conjugate(D->base.ctx, D->base.dtype, NULL, NULL, 0, X, X, stream));
done:
    return status;
}

/** By the factor's library on the host. A^T of a Hermitian A is conj(A). */
static trine_status solve_in_library(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                                     const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    const bool conjugate = op == TRINE_T && trine_dtype_is_complex(D->base.dtype) && factor_is_symmetric(D->F->method);
    const trine_dense Z = {
        .data = work->vectors, .rows = D->base.n, .cols = B->cols, .ld = D->base.n, .layout = TRINE_COLMAJOR};
    __typeof__(&trine_vectors_permute) copy = conjugate ? trine_vectors_permute_conjugate : trine_vectors_permute;
    TRY(copy(D->base.ctx, D->base.dtype, NULL, NULL, 0, B, &Z, NULL));
    TRY(factor_solve_in_place(D->F, op, &Z));
    TRY(copy(D->base.ctx, D->base.dtype, NULL, NULL, 0, &Z, X, NULL));
done:
    return status;
}

static trine_status solve_once(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                               const trine_dense *X, void *stream)
{
    if (D->F->method == TRINE_DIRECT_CUDSS) return solve_in_cudss(D, work, op, B, X, stream);
    if (factor_solves(D->F)) return solve_in_library(D, work, op, B, X);
    trine_status status = TRINE_SUCCESS;
    const bool forward = op == TRINE_N;
    const bool conjugate = sweeps_conjugate(&D->sweeps, op);
    /* Row by row on a CPU an entry of L or U is read once for all right-hand sides, which it finds side by side. */
    const bool side_by_side = B->cols > 1 && D->space == TRINE_HOST && !D->sweeps.supernodal;
    const trine_layout layout = side_by_side ? TRINE_ROWMAJOR : X->layout;
    const trine_dense Z = {.data = work->vectors,
                           .rows = D->base.n,
                           .cols = B->cols,
                           .layout = layout,
                           .ld = layout == TRINE_COLMAJOR ? D->base.n : B->cols};
    __typeof__(&trine_vectors_permute) permute = conjugate ? trine_vectors_permute_conjugate : trine_vectors_permute;
    const trine_context ctx = D->base.ctx;
    const trine_dtype t = D->base.dtype;
    /* From columns to rows, in the order of the columns' entries. */
    const bool turns = layout == TRINE_ROWMAJOR && D->row_place;
    if (turns && B->layout == TRINE_COLMAJOR)
        TRY(permute(ctx, t, forward ? D->row_place : D->col_place, forward ? D->row_scale_there : D->col_scale_there, 1,
                    B, &Z, stream));
    else
        TRY(permute(ctx, t, forward ? D->row_perm : D->col_perm, forward ? D->row_scale : D->col_scale, 0, B, &Z,
                    stream));
    TRY(sweeps_solve(&D->sweeps, op, &Z, work->triangles, stream));
    if (turns && X->layout == TRINE_COLMAJOR)
        TRY(permute(ctx, t, forward ? D->col_place : D->row_place, forward ? D->col_scale_there : D->row_scale_there, 0,
                    &Z, X, stream));
    else
        TRY(permute(ctx, t, forward ? D->col_perm : D->row_perm, forward ? D->col_scale : D->row_scale, 1, &Z, X,
                    stream));
done:
    return status;
}

/** x := op(A)^-1 b, then with every step r := b - op(A) x, x := x + op(A)^-1 r. */
trine_status solve_and_refine(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                              const trine_dense *X, void *stream)
{
    if (!D->refine) return solve_once(D, work, op, B, X, stream);
    trine_status status = TRINE_SUCCESS;
    const trine_dense right = {
        .data = work->right, .rows = D->base.n, .cols = B->cols, .ld = D->base.n, .layout = TRINE_COLMAJOR};
    trine_dense residual = right;
    residual.data = work->residual;
    TRY(trine_vectors_permute(D->base.ctx, D->base.dtype, NULL, NULL, 0, B, &right, stream)); /* X may be B */
    TRY(solve_once(D, work, op, B, X, stream));
    for (int step = 0; step < D->refine; step++) {
        TRY(trine_vectors_residual(D->rows[op], X, &right, &residual, stream));
        TRY(solve_once(D, work, op, &residual, &residual, stream));
        TRY(trine_vectors_add(D->base.ctx, D->base.dtype, &residual, X, stream));
    }
done:
    return status;
}

trine_status direct_solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec)
{
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(plan, op, alpha, B, X, exec, &call);
    if (status) return status;
    trine_direct D = (trine_direct)plan;
    direct_work *work = (direct_work *)call.work;
    if (work->needed > work->base.bytes)
        FAIL(
            TRINE_ERR_STATE,
            "new values changed the structure of the factor: the work needs %zu bytes now, and its buffer has %zu: make the work again "
            "(trine_direct_work)",
            work->needed, work->base.bytes);
    if (call.is_done) goto done;
    op = direct_op(plan->dtype, op);
    TRY(solve_in_range(D, work, op, &call.B, &call.X, call.stream));
    TRY(trine_plan_scale(plan, call.alpha, &call.X, &call.X, call.stream));
done:
    return trine_plan_solve_end(plan, &call, status);
}

trine_status trine_direct_solve(trine_direct D, trine_transpose op, const trine_dense *B, const trine_dense *X,
                                const trine_exec *exec)
{
    TRINE_RANGE;
    return direct_solve(D ? &D->base : NULL, op, NULL, B, X, exec);
}
