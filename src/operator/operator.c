/* Operators: life, works, apply. What a node does is in leaves.c and combine.c. */
#include "operator/operator.h"

/* --------------------------------------------------------------------- life */

trine_status operator_create(trine_context ctx, const op_kind *kind, const trine_op_info *info, int count,
                             trine_op *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = NULL;
    trine_op op = trine_host_calloc(ctx, 1, sizeof *op);
    if (!op) return TRINE_ERR_MEMORY;
    op->refs = 1;
    op->ctx = trine_retain_context(ctx);
    op->kind = kind;
    op->info = *info;
    op->info.space = ctx->info.space;
    op->info.capturable = info->capturable && ctx->cuda;
    op->info.varying = info->varying != 0;
    op->announced = info->ops;
    if (!trine_dtype_is_complex(info->dtype) && info->ops & (TRINE_T | TRINE_H)) op->info.ops |= TRINE_T | TRINE_H;
    if (count) {
        TRY(CALLOC(ctx, op->parts, count)); /* handles: NOLINT(bugprone-sizeof-expression) */
        op->count = count;
    }
    *out = op;
    op = NULL;
done:
    trine_op_destroy(&op);
    return status;
}

trine_status trine_op_destroy(trine_op *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_op op = *out;
    *out = NULL;
    if (!trine_release(&op->refs)) return TRINE_SUCCESS;
    trine_context ctx = op->ctx;
    trine_work_destroy(&op->own_work);
    if (op->kind->release) op->kind->release(op);
    if (op->plan) trine_plan_drop(op->plan);
    for (int i = 0; i < op->count; i++) trine_op_destroy(&op->parts[i]);
    trine_free(ctx, TRINE_HOST, op->parts);
    trine_free(ctx, TRINE_HOST, op->coefficients);
    trine_free(ctx, TRINE_HOST, op);
    return trine_context_destroy(&ctx);
}

trine_status trine_op_get_info(trine_op op, trine_op_info *info)
{
    REQUIRE(op, "op is NULL");
    REQUIRE(info, "info is NULL");
    *info = op->info;
    return TRINE_SUCCESS;
}

/* -------------------------------------------------------------------- works */

static trine_status destroy_op(void *op) { return trine_op_destroy(&(trine_op){op}); }

static void destroy_work(trine_work base)
{
    op_work *work = (op_work *)base;
    trine_context ctx = base->ctx;
    const int count = ((trine_op)base->plan)->count;
    trine_work_destroy(&work->plan_work);
    for (int i = 0; work->parts && i < count; i++) trine_work_destroy(&work->parts[i]);
    trine_free(ctx, TRINE_HOST, work->parts);
    trine_free(ctx, ctx->info.space, work->buffer);
    trine_free(ctx, TRINE_HOST, work);
}

static trine_status add_bytes(size_t *sum, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 || *sum > SIZE_MAX / 2 - bytes)
        return trine_fail(TRINE_ERR_MEMORY, "the works of the parts of this operator need more than any memory has");
    *sum += op_padded(bytes);
    return TRINE_SUCCESS;
}

static size_t scratch_bytes(trine_op op, int64_t nrhs)
{
    return op->kind->scratch_bytes ? op->kind->scratch_bytes(op, nrhs) : 0;
}

/* Plans' works are in the buffer only if it is a caller's. Else each allocates its own, which some solves on a GPU
 * are faster with: nobody else can have written to it since the last one. */

/** Bytes of a work for the whole tree, those of plans among them or not, each part a multiple of OP_ALIGNMENT. */
static trine_status work_bytes(trine_op op, int64_t nrhs, bool with_plans, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    size_t sum = 0, part = 0;
    TRY(trine_check_nrhs(nrhs, op->info.rows > op->info.cols ? op->info.rows : op->info.cols));
    if (op->plan) {
        TRY(trine_plan_make_work(op->plan, nrhs, NULL, &part, NULL));
        if (with_plans) TRY(add_bytes(&sum, part));
    }
    for (int i = 0; i < op->count; i++) {
        TRY(work_bytes(op->parts[i], nrhs, with_plans, &part));
        TRY(add_bytes(&sum, part));
    }
    /* whose vectors are as long as those of the parts, which were checked */
    TRY(add_bytes(&sum, scratch_bytes(op, nrhs)));
    *bytes = sum;
done:
    return status;
}

/** A work for the tree in the memory from *at on, which moves behind what is used. It does not keep the operator
 *  alive. */
static trine_status make_work(trine_op op, int64_t nrhs, bool with_plans, char **at, trine_work *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = NULL;
    op_work *work = trine_host_calloc(op->ctx, 1, sizeof *work);
    if (!work) return TRINE_ERR_MEMORY;
    work->base = (struct trine_work_s){.ctx = trine_retain_context(op->ctx), .plan = op, .destroy = destroy_work};
    *out = &work->base;
    work->nrhs = nrhs;
    work->scratch = *at;
    *at += op_padded(scratch_bytes(op, nrhs));
    if (op->plan) {
        size_t bytes = 0;
        TRY(trine_plan_make_work(op->plan, nrhs, NULL, &bytes, NULL));
        TRY(trine_plan_make_work(op->plan, nrhs, with_plans && bytes ? *at : NULL, &bytes, &work->plan_work));
        if (with_plans) *at += op_padded(bytes);
    }
    if (op->count) TRY(CALLOC(op->ctx, work->parts, op->count)); /* handles: NOLINT(bugprone-sizeof-expression) */
    for (int i = 0; i < op->count; i++) TRY(make_work(op->parts[i], nrhs, with_plans, at, &work->parts[i]));
done:
    if (status) trine_work_destroy(out);
    return status;
}

/** buffer: as large as work_bytes with plans says; NULL: allocated. */
static trine_status new_work(trine_op op, int64_t nrhs, void *buffer, trine_work *out)
{
    trine_status status = TRINE_SUCCESS;
    void *own = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (!buffer) TRY(work_bytes(op, nrhs, false, &bytes));
    /* allocators on the host align by 64 bytes */
    if (bytes) TRY(trine_alloc(op->ctx, op->ctx->info.space, bytes + OP_ALIGNMENT, &own));
    char *at = buffer ? buffer : (char *)(((uintptr_t)own + OP_ALIGNMENT - 1) / OP_ALIGNMENT * OP_ALIGNMENT);
    TRY(make_work(op, nrhs, buffer != NULL, &at, out));
    ((op_work *)*out)->buffer = own;
    own = NULL;
done:
    trine_free(op->ctx, op->ctx->info.space, own);
    return status;
}

trine_status trine_op_work(trine_op op, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    if (out) *out = NULL;
    REQUIRE(op, "op is NULL");
    REQUIRE(bytes || out, "bytes and work are NULL");
    REQUIRE(nrhs >= 0, "nrhs is %lld", (long long)nrhs);
    REQUIRE(nrhs <= op->info.max_nrhs, "a work for %lld vectors of an operator that takes at most %lld",
            (long long)nrhs, (long long)op->info.max_nrhs);
    REQUIRE(!buffer || bytes, "a buffer without its size");
    REQUIRE(((uintptr_t)buffer & (OP_ALIGNMENT - 1)) == 0, "the buffer is not 256-byte aligned");
    size_t needed = 0;
    trine_status status = work_bytes(op, nrhs, true, &needed);
    if (status) return status;
    const size_t given = bytes ? *bytes : 0;
    if (bytes) *bytes = needed;
    if (!out) return TRINE_SUCCESS;
    REQUIRE(!buffer || given >= needed, "the work needs %zu bytes, the buffer has %zu", needed, given);
    status = new_work(op, nrhs, buffer, out);
    if (status) return status;
    trine_retain(&op->refs);
    (*out)->destroy_plan = destroy_op;
    return TRINE_SUCCESS;
}

/** The operator's own work, for at least nrhs vectors. The caller has it for itself. */
static trine_status own_work(trine_op op, int64_t nrhs, void *stream, trine_work *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = op->own_work;
    if (op->own_work && ((op_work *)op->own_work)->nrhs >= nrhs) return TRINE_SUCCESS;
    if (op->ctx->cuda) {
        if (trine_device_is_capturing(op->ctx, stream))
            return trine_fail(TRINE_ERR_STATE,
                              "to be recorded in a CUDA graph, an operator needs a work object (trine_op_work)");
        if (op->own_work) TRY(trine_device_synchronize(op->ctx, stream)); /* what still runs in the one that goes */
    }
    TRY(trine_work_destroy(&op->own_work));
    TRY(new_work(op, nrhs, NULL, &op->own_work));
    *out = op->own_work;
done:
    return status;
}

/* -------------------------------------------------------------------- apply */

trine_status operator_apply(trine_op op, const op_call *call, trine_work work)
{
    static const double zero[2];
    if (!call->Y.rows || !call->Y.cols) return TRINE_SUCCESS;
    if (op_is_zero(call->alpha) || !call->X.rows)
        return operator_run_update(op->ctx, op->info.dtype, zero, NULL, false, op->info.dtype, &call->Y, call->beta,
                                   &call->Y, call->stream);
    op_call c = *call;
    if (!(op->announced & c.trans)) c.trans = c.trans == TRINE_T ? TRINE_H : TRINE_T; /* a real leaf's other name */
    return op->kind->apply(op, &c, (op_work *)work);
}

static const char *op_name(trine_transpose op) { return op == TRINE_N ? "N" : op == TRINE_T ? "T" : "H"; }

trine_status trine_op_apply(trine_op op, trine_transpose trans, const void *alpha, const trine_dense *X,
                            const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(op, "op is NULL");
    REQUIRE(trans == TRINE_N || trans == TRINE_T || trans == TRINE_H, "op %d is none of N, T, H", (int)trans);
    op_call call = {.trans = trans, .stream = trine_exec_stream(op->ctx, exec)};
    trine_status status = trine_check_dense(X, trans == TRINE_N ? op->info.cols : op->info.rows, "X", &call.X);
    if (!status) status = trine_check_dense(Y, trans == TRINE_N ? op->info.rows : op->info.cols, "Y", &call.Y);
    if (!status) status = trine_check_exec(exec);
    if (status) return status;
    const int64_t nrhs = call.X.cols;
    REQUIRE(call.Y.cols == nrhs, "X has %lld columns, Y has %lld", (long long)nrhs, (long long)call.Y.cols);
    REQUIRE(call.X.data != call.Y.data || !call.X.data, "X and Y are the same array");
    REQUIRE(nrhs <= op->info.max_nrhs, "%lld vectors for an operator that takes at most %lld", (long long)nrhs,
            (long long)op->info.max_nrhs);
    if (!(op->info.ops & trans))
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the operator does not have op %s", op_name(trans));
    trine_work work = exec ? exec->work : NULL;
    REQUIRE(!work || work->plan == op, "the work object belongs to another operator");
    const int64_t most = work ? ((op_work *)work)->nrhs : nrhs;
    if (nrhs > most)
        return trine_fail(TRINE_ERR_STATE, "%lld vectors, but the work was made for %lld", (long long)nrhs,
                          (long long)most);
    operator_read_scalar(op->info.dtype, alpha, 1, call.alpha);
    operator_read_scalar(op->info.dtype, beta, 0, call.beta);

    trine_usage *memory = work ? &work->usage : &op->own_usage;
    trine_retain(&op->refs); /* whoever destroys the operator meanwhile */
    TRY(trine_solve_begin(&op->usage, memory, "op"));
    if (!work) status = own_work(op, nrhs, call.stream, &work);
    if (!status) status = operator_apply(op, &call, work);
    trine_solve_end(&op->usage, memory);
done:
    trine_op_destroy(&op);
    return status;
}

/* ------------------------------------------------------------------ scalars */

void operator_read_scalar(trine_dtype t, const void *p, double value, double scalar[2])
{
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    scalar[0] = value;
    scalar[1] = 0;
    for (int k = 0; p && k < parts; k++)
        scalar[k] = trine_dtype_is_single(t) ? (double)((const float *)p)[k] : ((const double *)p)[k];
}

const void *operator_scalar(trine_dtype t, const double scalar[2], op_scalar_room *room)
{
    for (int k = 0; k < 2; k++)
        if (trine_dtype_is_single(t)) room->s[k] = (float)scalar[k];
        else room->d[k] = scalar[k];
    return room;
}
