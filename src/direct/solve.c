/* Solves with a direct plan: permutations and scales around two triangular solves (sweeps.c), and iterative refinement. All that a solve
 * writes is in its work. */
#include "direct/plan.h"

trine_status plan_without_factor(void) { return trine_fail(TRINE_ERR_STATE, "the plan has no factor: the last trine_direct_update failed"); }

trine_status solve_once(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const bool forward = op == TRINE_N;
    const bool conjugate = sweeps_conjugate(&D->sweeps, op);
    const trine_dense Z = {.data = work->vectors, .rows = D->n, .cols = B->cols, .layout = X->layout,
                           .ld = X->layout == TRINE_COLMAJOR ? D->n : B->cols};
    __typeof__(&trine_vectors_permute) permute = conjugate ? trine_vectors_permute_conjugate : trine_vectors_permute;
    TRY(permute(D->ctx, D->dtype, forward ? D->row_perm : D->col_perm, forward ? D->row_scale : D->col_scale, 0, B, &Z, stream));
    TRY(sweeps_solve(&D->sweeps, op, &Z, work->triangles, stream));
    TRY(permute(D->ctx, D->dtype, forward ? D->col_perm : D->row_perm, forward ? D->col_scale : D->row_scale, 1, &Z, X, stream));
done:
    return status;
}

/** x := op(A)^-1 b, then with every step r := b - op(A) x, x := x + op(A)^-1 r. */
static trine_status solve_and_refine(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dense right = {.data = work->right, .rows = D->n, .cols = B->cols, .ld = D->n, .layout = TRINE_COLMAJOR};
    trine_dense residual = right;
    residual.data = work->residual;
    TRY(trine_vectors_permute(D->ctx, D->dtype, NULL, NULL, 0, B, &right, stream)); /* X may be B */
    TRY(solve_once(D, work, op, B, X, stream));
    for (int step = 0; step < D->options.refine; step++) {
        TRY(trine_vectors_residual(D->rows[op], X, &right, &residual, stream));
        TRY(solve_once(D, work, op, &residual, &residual, stream));
        TRY(trine_vectors_add(D->ctx, D->dtype, &residual, X, stream));
    }
done:
    return status;
}

/** The solve itself, of what trine_solve_begin has admitted. */
static trine_status solve(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    if (!D->ready) return plan_without_factor();
    if (work->buffer && work->needed > work->buffer_bytes)
        return trine_fail(TRINE_ERR_STATE, "new values changed the structure of the factor: the work needs %zu bytes now, and its buffer has %zu: make the "
                          "work again (trine_direct_work)", work->needed, work->buffer_bytes);
    if (!D->n || !B->cols) return TRINE_SUCCESS;
    return D->options.refine ? solve_and_refine(D, work, op, B, X, stream) : solve_once(D, work, op, B, X, stream);
}

trine_status trine_direct_solve(trine_direct D, trine_transpose op, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(D, "plan is NULL");
    REQUIRE(op == TRINE_N || op == TRINE_T || op == TRINE_H, "op %d is none of N, T, H", (int)op);
    trine_dense from, to;
    trine_status status = trine_check_dense(B, D->n, "B", &from);
    if (status) return status;
    status = trine_check_dense(X, D->n, "X", &to);
    if (!status) status = trine_check_exec(exec);
    if (status) return status;
    REQUIRE(from.cols == to.cols, "B has %lld columns and X %lld", (long long)from.cols, (long long)to.cols);
    const bool brings_work = exec && exec->work;
    direct_work *work = brings_work ? (direct_work *)exec->work : D->own_work;
    REQUIRE(work->base.plan == D, "the work was made for another plan");
    if (!(D->ops & op)) return trine_fail(TRINE_ERR_STATE, "op %d was not announced to trine_direct_create (ops %#x)", (int)op, D->ops);
    if (from.cols > work->nrhs)
        return trine_fail(TRINE_ERR_STATE, "%lld right-hand sides, and the %s was made for %lld", (long long)from.cols, brings_work ? "work" : "plan",
                          (long long)work->nrhs);
    trine_retain(&D->refs); /* whoever destroys the plan meanwhile */
    TRY(trine_solve_begin(&D->usage, &work->base.usage, "give each thread a work of its own (trine_direct_work)"));
    status = solve(D, work, op, &from, &to, exec ? exec->stream : NULL);
    trine_solve_end(&D->usage, &work->base.usage);
done:
    trine_direct_destroy(&D);
    return status;
}
