/* Products: arguments, what needs no kernel of products, and the call of the backend. */
#include "core/choices.h"
#include "operator/operator.h"
#include "spmv/spmv.h"

/** Put the strides of a block into a call: element (i,j) at [i*row + j*col]. */
static void set_strides(const trine_dense *X, int64_t *row, int64_t *col)
{
    *row = X->layout == TRINE_ROWMAJOR ? X->ld : 1;
    *col = X->layout == TRINE_ROWMAJOR ? 1 : X->ld;
}

/** Rows begin <= i < end of a block of vectors of dtype t. */
static trine_dense rows_of(trine_dtype t, const trine_dense *Y, int64_t begin, int64_t end)
{
    const int64_t step = Y->layout == TRINE_ROWMAJOR ? Y->ld : 1;
    const trine_dense rows = {(char *)Y->data + (size_t)(begin * step) * trine_dtype_size(t), end - begin, Y->cols,
                              Y->ld, Y->layout};
    return rows;
}

/** Whether the plan, in use, has the values that the semiring (NULL: the plain product) takes. */
static trine_status check_values(trine_spmv plan, trine_semiring semiring)
{
    const trine_semiring_source *s = semiring ? &semiring->source : NULL;
    if (s && (!s->value.name || !plan->nnz)) return TRINE_SUCCESS;
    const trine_status status = trine_plan_needs_values(&plan->base, s ? "a semiring with values" : "apply");
    if (status || !s) return status;
    REQUIRE(s->value.size == plan->value_size, "the plan's values have %zu bytes each, the semiring's %zu",
            plan->value_size, s->value.size);
    return TRINE_SUCCESS;
}

/** The backend's call, or Y := beta Y where nothing is added to it. X and Y are checked, the plan is in use. */
static trine_status run(trine_spmv plan, struct spmv_call *c, const trine_dense *X, const trine_dense *Y)
{
    static const double zero[2];
    trine_context ctx = plan->base.ctx;
    const trine_dtype t = plan->base.dtype;
    if (!plan->nnz) c->alpha[0] = c->alpha[1] = 0;
    if (!c->epilogue && (!c->nrhs || c->row_begin == c->row_end)) return TRINE_SUCCESS;
    if (!c->epilogue && op_is_zero(c->alpha)) {
        const trine_dense rows = rows_of(t, Y, c->row_begin, c->row_end);
        return operator_run_update(ctx, t, zero, NULL, false, t, &rows, c->beta, &rows, c->stream);
    }
    c->X = X->data;
    c->Y = Y->data;
    c->nrhs = X->cols;
    set_strides(X, &c->x_row, &c->x_col);
    set_strides(Y, &c->y_row, &c->y_col);
    int saved;
    trine_device_enter(ctx, &saved);
    const trine_status status = plan->backend->apply(plan, c);
    trine_device_leave(ctx, saved);
    return status;
}

/** c: rows, may_alias and epilogue are set; row_end -1: all rows. */
static trine_status product(trine_spmv plan, trine_transpose op, const void *alpha, const trine_dense *X_given,
                            const void *beta, const trine_dense *Y_given, const trine_exec *exec, struct spmv_call *c)
{
    trine_dense X, Y;
    REQUIRE(op == TRINE_N || op == TRINE_T || op == TRINE_H, "op %d is none of N, T, H", (int)op);
    c->side = &plan->side[op == TRINE_N ? SPMV_N : SPMV_T];
    trine_status status = trine_check_dense(X_given, c->side->n_cols, "X", &X);
    if (!status) status = trine_check_dense(Y_given, c->side->n_rows, "Y", &Y);
    if (!status) status = trine_check_exec(exec);
    if (status) return status;
    REQUIRE(X.cols == Y.cols, "X has %lld columns, Y has %lld", (long long)X.cols, (long long)Y.cols);
    const bool same = X.data == Y.data && X.data;
    REQUIRE(!same || c->may_alias, "X and Y are the same array");
    REQUIRE(!same || (X.ld == Y.ld && X.layout == Y.layout),
            "X and Y share their data but not their layout and leading dimension");
    c->may_alias = same;
    if (c->epilogue) {
        REQUIRE(X.cols == 1, "an epilogue belongs to one vector, and X has %lld", (long long)X.cols);
        REQUIRE(!c->epilogue->axpy || (c->epilogue->axpy != X.data && c->epilogue->axpy != Y.data),
                "the vector of the axpy is X or Y");
        operator_read_scalar(plan->base.dtype, c->epilogue->gamma, 1, c->gamma);
    }
    if (c->row_end < 0) c->row_end = c->side->n_rows;
    c->conjugate = op == TRINE_H && trine_dtype_is_complex(plan->base.dtype);
    c->nrhs = X.cols;
    c->stream = trine_exec_stream(plan->base.ctx, exec);
    operator_read_scalar(plan->base.dtype, alpha, 1, c->alpha);
    operator_read_scalar(plan->base.dtype, beta, 0, c->beta);
    trine_plan_work *work;
    status = trine_plan_use_begin(&plan->base, op, "vectors", X.cols, exec, &work);
    if (status) return status;
    c->work = (struct spmv_work *)work;
    status = check_values(plan, NULL);
    if (!status) status = run(plan, c, &X, &Y);
    return trine_plan_use_end(&plan->base, work, status);
}

trine_status trine_spmv_apply(trine_spmv plan, trine_transpose op, const void *alpha, const trine_dense *X,
                              const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    struct spmv_call c = {.row_end = -1};
    return product(plan, op, alpha, X, beta, Y, exec, &c);
}

static trine_status check_rows(trine_spmv plan, int64_t row_begin, int64_t row_end)
{
    REQUIRE(0 <= row_begin && row_begin <= row_end && row_end <= plan->n_rows,
            "rows %lld to %lld of a matrix of %lld rows", (long long)row_begin, (long long)row_end,
            (long long)plan->n_rows);
    return TRINE_SUCCESS;
}

trine_status trine_spmv_apply_rows(trine_spmv plan, int64_t row_begin, int64_t row_end, const void *alpha,
                                   const trine_dense *X, const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    const trine_status status = check_rows(plan, row_begin, row_end);
    if (status) return status;
    struct spmv_call c = {.row_begin = row_begin, .row_end = row_end, .may_alias = true};
    return product(plan, TRINE_N, alpha, X, beta, Y, exec, &c);
}

trine_status trine_spmv_apply_fused(trine_spmv plan, trine_transpose op, const void *alpha, const trine_dense *X,
                                    const void *beta, const trine_dense *Y, const trine_spmv_epilogue *epilogue,
                                    const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    REQUIRE(epilogue, "epilogue is NULL");
    REQUIRE_RESERVE(trine_spmv_epilogue, epilogue);
    REQUIRE(epilogue->results || (!epilogue->dot && !epilogue->norm), "results is NULL, but a dot or a norm is wanted");
    struct spmv_call c = {.row_end = -1, .epilogue = epilogue};
    return product(plan, op, alpha, X, beta, Y, exec, &c);
}

/* --------------------------------------------------------------- semirings */

/** Whether the semiring and what it is given belong to the plan. */
static trine_status check_semiring(trine_spmv plan, trine_semiring semiring, const void *y, const void *args)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(semiring, "semiring is NULL");
    REQUIRE(semiring->ctx == plan->base.ctx, "the semiring was made for another context");
    const trine_semiring_source *s = &semiring->source;
    REQUIRE(y || !plan->n_rows, "y is NULL");
    REQUIRE(args || !s->args.name, "args is NULL, but the semiring has a type of them");
    REQUIRE(!args || s->args.name, "args is given to a semiring that has none");
    if (plan->options.method == TRINE_SPMV_BALANCED_ATOMIC)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a balanced-atomic plan adds by atomics, which no semiring has");
    return TRINE_SUCCESS;
}

trine_status trine_spmv_apply_semiring(trine_spmv plan, trine_semiring semiring, const void *x, void *y,
                                       const void *args, int64_t row_begin, int64_t row_end, const trine_exec *exec)
{
    TRINE_RANGE;
    trine_status status = check_semiring(plan, semiring, y, args);
    if (status) return status;
    if (row_begin == 0 && row_end == -1) row_end = plan->n_rows;
    status = check_rows(plan, row_begin, row_end);
    if (!status) status = trine_check_exec(exec);
    trine_plan_work *work;
    if (!status) status = trine_plan_use_begin(&plan->base, TRINE_N, "vectors", 1, exec, &work);
    if (status) return status;
    const struct spmv_semiring_call c = {.side = &plan->side[SPMV_N],
                                         .semiring = semiring,
                                         .x = x,
                                         .y = y,
                                         .args = args,
                                         .row_begin = row_begin,
                                         .row_end = row_end,
                                         .stream = trine_exec_stream(plan->base.ctx, exec),
                                         .work = (struct spmv_work *)work};
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    status = check_values(plan, semiring);
    if (!status && row_begin < row_end) status = plan->backend->apply_semiring(plan, &c);
    trine_device_leave(plan->base.ctx, saved);
    return trine_plan_use_end(&plan->base, work, status);
}

/* ------------------------------------------------------------------ tuning */

trine_status trine_spmv_tune(trine_spmv plan, trine_semiring semiring, const void *x, void *y, const void *args,
                             const char *path)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    trine_status status = semiring ? check_semiring(plan, semiring, y, args) : TRINE_SUCCESS;
    if (status) return status;
    REQUIRE(semiring || (x && y) || !plan->base.n, "x or y is NULL");
    REQUIRE(semiring || !args, "args is given without a semiring");
    if (!plan->backend->tune) return trine_fail(TRINE_ERR_UNSUPPORTED, "products are tuned on a GPU only");
    trine_plan_work *work; /* nobody else takes the plan's own while it is tuned */
    status = trine_plan_use_begin(&plan->base, TRINE_N, "vectors", 1, NULL, &work);
    if (status) return status;
    status = check_values(plan, semiring);
    if (!status) status = plan->backend->tune(plan, semiring, x, y, args, path);
    return trine_plan_use_end(&plan->base, work, status);
}

trine_status trine_context_load_tuning(trine_context ctx, const char *path)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(path, "path is NULL");
    return trine_choices_load(ctx, path);
}
