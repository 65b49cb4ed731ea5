/* Operators that are not made of others: diagonals, callers' functions, plans. */
#include <stdio.h>

#include "operator/operator.h"

static const unsigned all_ops = TRINE_N | TRINE_T | TRINE_H;

/* ----------------------------------------------------------------- diagonal */

static trine_status apply_diagonal(trine_op op, const op_call *c, op_work *work)
{
    (void)work;
    const trine_dtype t = op->info.dtype;
    return operator_run_update(op->ctx, t, c->alpha, op->diagonal, c->trans == TRINE_H, t, &c->X, c->beta, &c->Y,
                               c->stream);
}
static const op_kind diagonal_kind = {.apply = apply_diagonal};

static trine_status new_diagonal(trine_context ctx, trine_op *out, trine_dtype dtype, int64_t n, const void *d)
{
    REQUIRE(trine_dtype_is_valid(dtype), "dtype %d is none of S, D, C, Z", (int)dtype);
    REQUIRE(n >= 0, "n is %lld", (long long)n);
    const trine_op_info info = {
        .dtype = dtype, .rows = n, .cols = n, .ops = all_ops, .max_nrhs = INT64_MAX, .capturable = 1};
    const trine_status status = operator_create(ctx, &diagonal_kind, &info, 0, out);
    if (!status) (*out)->diagonal = d;
    return status;
}

trine_status trine_op_diagonal(trine_context ctx, trine_op *out, trine_dtype dtype, int64_t n, const void *d)
{
    REQUIRE(out, "op is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(d || n <= 0, "d is NULL");
    return new_diagonal(ctx, out, dtype, n, d);
}

trine_status trine_op_identity(trine_context ctx, trine_op *out, trine_dtype dtype, int64_t n)
{
    REQUIRE(out, "op is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    return new_diagonal(ctx, out, dtype, n, NULL);
}

/* ----------------------------------------------------------------- callback */

static trine_status apply_callback(trine_op op, const op_call *c, op_work *work)
{
    (void)work;
    op_scalar_room alpha, beta;
    const trine_exec exec = {.stream = c->stream};
    const trine_status status = op->function(op->user, c->trans, operator_scalar(op->info.dtype, c->alpha, &alpha),
                                             &c->X, operator_scalar(op->info.dtype, c->beta, &beta), &c->Y, &exec);
    if (!status) return TRINE_SUCCESS;
    char last[256];
    snprintf(last, sizeof last, "%s", trine_last_error());
    return trine_fail(status,
                      "the function of a %lld x %lld operator returned status %d (%s); this thread's error before: %s",
                      (long long)op->info.rows, (long long)op->info.cols, (int)status, trine_status_string(status),
                      last[0] ? last : "none");
}

static void release_callback(trine_op op)
{
    if (op->release) op->release(op->user);
}
static const op_kind callback_kind = {.apply = apply_callback, .release = release_callback};

trine_status trine_op_from_callback(trine_context ctx, trine_op *out, const trine_op_info *given, trine_apply_fn apply,
                                    void *user, void (*release)(void *))
{
    REQUIRE(out, "op is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(given, "info is NULL");
    REQUIRE(apply, "apply is NULL");
    REQUIRE_RESERVE(trine_op_info, given);
    REQUIRE(trine_dtype_is_valid(given->dtype), "dtype %d is none of S, D, C, Z", (int)given->dtype);
    REQUIRE(given->rows >= 0 && given->cols >= 0, "an operator of %lld x %lld", (long long)given->rows,
            (long long)given->cols);
    REQUIRE(!(given->ops & ~all_ops), "ops %u has bits that are no operation", given->ops);
    REQUIRE(given->max_nrhs >= 0, "max_nrhs is %lld", (long long)given->max_nrhs);
    trine_op_info info = *given;
    if (!info.ops) info.ops = TRINE_N;
    if (!info.max_nrhs) info.max_nrhs = INT64_MAX;
    const trine_status status = operator_create(ctx, &callback_kind, &info, 0, out);
    if (status) return status;
    (*out)->function = apply;
    (*out)->user = user;
    (*out)->release = release;
    return TRINE_SUCCESS;
}

/* --------------------------------------------------------------------- plan */

/** The solution, where it is to be added to Y. */
static size_t solve_scratch_bytes(trine_op op, int64_t nrhs)
{
    return (size_t)(op->info.rows * nrhs) * trine_dtype_size(op->info.dtype);
}

static trine_status apply_solve(trine_op op, const op_call *c, op_work *work)
{
    static const double one[2] = {1, 0};
    trine_status status = TRINE_SUCCESS;
    op_scalar_room alpha;
    const trine_exec exec = {.stream = c->stream, .work = work->plan_work};
    const bool updates = !op_is_zero(c->beta);
    const trine_dense Z = updates ? op_block(work->scratch, c->Y.rows, &c->Y) : c->Y;
    TRY(op->plan->kind->solve(op->plan, c->trans, operator_scalar(op->info.dtype, c->alpha, &alpha), &c->X, &Z, &exec));
    if (updates)
        TRY(operator_run_update(op->ctx, op->info.dtype, one, NULL, false, op->info.dtype, &Z, c->beta, &c->Y,
                                c->stream));
done:
    return status;
}

trine_status operator_of_plan(struct trine_plan *plan, const op_kind *kind, int64_t rows, int64_t cols, trine_op *op)
{
    const trine_op_info info = {
        .dtype = plan->dtype, .rows = rows, .cols = cols, .ops = plan->ops, .max_nrhs = INT64_MAX, .capturable = 1};
    const trine_status status = operator_create(plan->ctx, kind, &info, 0, op);
    if (status) return status;
    trine_retain(&plan->refs);
    (*op)->plan = plan;
    return TRINE_SUCCESS;
}

static const op_kind solve_kind = {.scratch_bytes = solve_scratch_bytes, .apply = apply_solve};

trine_status trine_plan_as_op(struct trine_plan *plan, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    REQUIRE(plan, "plan is NULL");
    return operator_of_plan(plan, &solve_kind, plan->n, plan->n, op);
}
