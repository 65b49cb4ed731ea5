/* Operators made of others: products, sums, transposes, a change of precision. */
#include <string.h>

#include "operator/operator.h"

static const double one[2] = {1, 0}, zero[2];

/* ------------------------------------------------------------- what they share */

static bool same_dtype(const trine_op *parts, int i) { return parts[i]->info.dtype == parts[0]->info.dtype; }

/** Check `count` parts; info: dtype, ops, limits and properties of all together, shape of the first. name: "factor". */
static trine_status check_parts(trine_context ctx, int count, const trine_op *parts, const char *name,
                                trine_op_info *info)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(count >= 1, "%d %ss; at least one is needed", count, name);
    REQUIRE(parts, "the array of %ss is NULL", name);
    for (int i = 0; i < count; i++) {
        REQUIRE(parts[i], "%s %d is NULL", name, i);
        REQUIRE(parts[i]->ctx == ctx, "%s %d is of another context", name, i);
        REQUIRE(same_dtype(parts, i), "%s %d has dtype %d, %s 0 has %d; trine_op_cast changes it", name, i,
                (int)parts[i]->info.dtype, name, (int)parts[0]->info.dtype);
    }
    *info = parts[0]->info;
    for (int i = 1; i < count; i++) {
        const trine_op_info *p = &parts[i]->info;
        info->ops &= p->ops;
        if (p->max_nrhs < info->max_nrhs) info->max_nrhs = p->max_nrhs;
        info->capturable = info->capturable && p->capturable;
        info->varying = info->varying || p->varying;
    }
    REQUIRE(info->ops, "the %ss have no op of N, T, H in common", name);
    return TRINE_SUCCESS;
}

static trine_status create(trine_context ctx, const op_kind *kind, const trine_op_info *info, int count,
                           const trine_op *parts, trine_op *out)
{
    const trine_status status = operator_create(ctx, kind, info, count, out);
    for (int i = 0; !status && i < count; i++) {
        trine_retain(&parts[i]->refs);
        (*out)->parts[i] = parts[i];
    }
    return status;
}

/* ------------------------------------------------------------------ product */

/** The longest vector between two factors. */
static int64_t most_between(trine_op op)
{
    int64_t most = 0;
    for (int i = 1; i < op->count; i++)
        if (op->parts[i]->info.rows > most) most = op->parts[i]->info.rows;
    return most;
}

static size_t product_half(trine_op op, int64_t nrhs)
{
    return op_padded((size_t)(most_between(op) * nrhs) * trine_dtype_size(op->info.dtype));
}

/** What one factor leaves for the next; two blocks in turn where there are more than two factors. */
static size_t product_bytes(trine_op op, int64_t nrhs)
{
    return product_half(op, nrhs) * (size_t)(op->count < 3 ? op->count - 1 : 2);
}

static trine_status apply_product(trine_op op, const op_call *c, op_work *work)
{
    trine_status status = TRINE_SUCCESS;
    const size_t half = product_half(op, work->nrhs);
    trine_dense from = c->X;
    for (int k = 0; k < op->count; k++) {
        const int i = c->trans == TRINE_N ? op->count - 1 - k : k;
        const trine_op part = op->parts[i];
        const bool last = k == op->count - 1;
        op_call step = {.trans = c->trans, .alpha = {1, 0}, .X = from, .stream = c->stream};
        if (last) {
            memcpy(step.alpha, c->alpha, sizeof step.alpha);
            memcpy(step.beta, c->beta, sizeof step.beta);
        }
        step.Y = last ? c->Y
                      : op_block((char *)work->scratch + (k % 2 ? half : 0),
                                 c->trans == TRINE_N ? part->info.rows : part->info.cols, &c->Y);
        TRY(operator_apply(part, &step, work->parts[i]));
        from = step.Y;
    }
done:
    return status;
}
static const op_kind product_kind = {.scratch_bytes = product_bytes, .apply = apply_product};

trine_status trine_op_product(trine_context ctx, trine_op *out, int count, const trine_op *factors)
{
    REQUIRE(out, "op is NULL");
    trine_op_info info;
    trine_op op = NULL;
    trine_status status = TRINE_SUCCESS;
    TRY(check_parts(ctx, count, factors, "factor", &info));
    for (int i = 1; i < count; i++) {
        const trine_op_info *left = &factors[i - 1]->info, *right = &factors[i]->info;
        if (left->cols != right->rows)
            FAIL(TRINE_ERR_ARGUMENT, "factor %d has %lld columns, but factor %d has %lld rows", i - 1,
                 (long long)left->cols, i, (long long)right->rows);
    }
    info.cols = factors[count - 1]->info.cols;
    TRY(create(ctx, &product_kind, &info, count, factors, &op));
done:
    *out = op;
    return status;
}

/* ---------------------------------------------------------------------- sum */

/** c := alpha times coefficient i, conjugated for op H, rounded to the operator's precision. */
static void scale_coefficient(trine_op op, int i, const op_call *call, double c[2])
{
    const trine_dtype t = op->info.dtype;
    const double *alpha = call->alpha;
    double a[2] = {1, 0}, product[2] = {alpha[0], 0};
    op_scalar_room room;
    if (op->coefficients)
        operator_read_scalar(t, (const char *)op->coefficients + (size_t)i * trine_dtype_size(t), 1, a);
    if (call->trans == TRINE_H) a[1] = -a[1];
    product[0] *= a[0];
    if (trine_dtype_is_complex(t)) {
        product[0] -= alpha[1] * a[1];
        product[1] = alpha[0] * a[1] + alpha[1] * a[0];
    }
    operator_read_scalar(t, operator_scalar(t, product, &room), 1, c);
}

static trine_status apply_sum(trine_op op, const op_call *call, op_work *work)
{
    trine_status status = TRINE_SUCCESS;
    op_call term = *call;
    for (int i = 0; i < op->count; i++) {
        scale_coefficient(op, i, call, term.alpha);
        if (i && op_is_zero(term.alpha)) continue; /* the first one takes beta in any case */
        TRY(operator_apply(op->parts[i], &term, work->parts[i]));
        memcpy(term.beta, one, sizeof one);
    }
done:
    return status;
}
static const op_kind sum_kind = {.apply = apply_sum};

trine_status trine_op_sum(trine_context ctx, trine_op *out, int count, const trine_op *terms, const void *coefficients)
{
    REQUIRE(out, "op is NULL");
    trine_op_info info = {0};
    trine_op op = NULL, sum = NULL;
    trine_status status = TRINE_SUCCESS;
    TRY(check_parts(ctx, count, terms, "term", &info));
    for (int i = 1; i < count; i++) {
        const trine_op_info *p = &terms[i]->info;
        if (p->rows != info.rows || p->cols != info.cols)
            FAIL(TRINE_ERR_ARGUMENT, "term %d is %lld x %lld, term 0 is %lld x %lld", i, (long long)p->rows,
                 (long long)p->cols, (long long)info.rows, (long long)info.cols);
    }
    TRY(create(ctx, &sum_kind, &info, count, terms, &op));
    if (coefficients) {
        const size_t size = trine_dtype_size(info.dtype);
        op->coefficients = trine_host_alloc(ctx, count, size);
        if (!op->coefficients) {
            status = TRINE_ERR_MEMORY;
            goto done;
        }
        memcpy(op->coefficients, coefficients, (size_t)count * size);
    }
    sum = op;
    op = NULL;
done:
    trine_op_destroy(&op);
    *out = sum;
    return status;
}

/* ---------------------------------------------------------------- transpose */

static trine_status apply_transpose(trine_op op, const op_call *c, op_work *work)
{
    op_call call = *c;
    call.trans = c->trans == TRINE_N ? op->transposes : TRINE_N;
    return operator_apply(op->parts[0], &call, work->parts[0]);
}
static const op_kind transpose_kind = {.apply = apply_transpose};

trine_status trine_op_transpose(trine_op inner, trine_op *out, trine_transpose trans)
{
    REQUIRE(out, "op is NULL");
    trine_op op = NULL;
    trine_status status = TRINE_SUCCESS;
    if (!inner) FAIL(TRINE_ERR_ARGUMENT, "inner is NULL");
    if (trans != TRINE_T && trans != TRINE_H) FAIL(TRINE_ERR_ARGUMENT, "trans %d is neither T nor H", (int)trans);
    trine_op_info info = inner->info;
    info.rows = inner->info.cols;
    info.cols = inner->info.rows;
    info.ops = (inner->info.ops & trans ? TRINE_N : 0) | (inner->info.ops & TRINE_N ? trans : 0);
    if (!info.ops) FAIL(TRINE_ERR_UNSUPPORTED, "the operator has neither op N nor %s", trans == TRINE_T ? "T" : "H");
    TRY(create(inner->ctx, &transpose_kind, &info, 1, &inner, &op));
    op->transposes = trans;
done:
    *out = op;
    return status;
}

/* ------------------------------------------------------------ other precision */

static trine_dtype other_precision(trine_dtype t)
{
    static const trine_dtype other[] = {
        [TRINE_S] = TRINE_D, [TRINE_D] = TRINE_S, [TRINE_C] = TRINE_Z, [TRINE_Z] = TRINE_C};
    return other[t];
}

/** X in the inner precision at the front of the scratch, Y behind it. */
static size_t inner_bytes(trine_op op, int64_t rows, int64_t nrhs)
{
    return op_padded((size_t)(rows * nrhs) * trine_dtype_size(op->parts[0]->info.dtype));
}
static size_t cast_bytes(trine_op op, int64_t nrhs)
{
    return inner_bytes(op, op->info.cols, nrhs) + inner_bytes(op, op->info.rows, nrhs);
}

static trine_status apply_cast(trine_op op, const op_call *c, op_work *work)
{
    trine_status status = TRINE_SUCCESS;
    const trine_dtype outer = op->info.dtype, inner = op->parts[0]->info.dtype;
    op_call call = {.trans = c->trans, .alpha = {1, 0}, .stream = c->stream};
    call.X = op_block(work->scratch, c->X.rows, &c->X);
    call.Y = op_block((char *)work->scratch + inner_bytes(op, c->X.rows, work->nrhs), c->Y.rows, &c->Y);
    TRY(operator_run_update(op->ctx, inner, one, NULL, false, outer, &c->X, zero, &call.X, c->stream));
    TRY(operator_apply(op->parts[0], &call, work->parts[0]));
    TRY(operator_run_update(op->ctx, outer, c->alpha, NULL, false, inner, &call.Y, c->beta, &c->Y, c->stream));
done:
    return status;
}
static const op_kind cast_kind = {.scratch_bytes = cast_bytes, .apply = apply_cast};

trine_status trine_op_cast(trine_op inner, trine_op *out, trine_dtype outer)
{
    REQUIRE(out, "op is NULL");
    trine_op op = NULL;
    trine_status status = TRINE_SUCCESS;
    if (!inner) FAIL(TRINE_ERR_ARGUMENT, "inner is NULL");
    if (!trine_dtype_is_valid(outer)) FAIL(TRINE_ERR_ARGUMENT, "dtype %d is none of S, D, C, Z", (int)outer);
    if (outer == inner->info.dtype) {
        trine_retain(&inner->refs);
        op = inner;
    } else {
        if (outer != other_precision(inner->info.dtype))
            FAIL(TRINE_ERR_UNSUPPORTED, "a cast changes the precision, not between real and complex (dtype %d to %d)",
                 (int)inner->info.dtype, (int)outer);
        trine_op_info info = inner->info;
        info.dtype = outer;
        TRY(create(inner->ctx, &cast_kind, &info, 1, &inner, &op));
    }
done:
    *out = op;
    return status;
}
