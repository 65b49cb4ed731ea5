/* The general form of Eq. 37, M = (T + M'_{m-1}) T^-1 ... T^-1 (T + M'_0), of operators that apply the inverses of its
 * factors: M^-1 = (T + M'_0)^-1 T (T + M'_1)^-1 T ... T (T + M'_{m-1})^-1. */
#include <string.h>

#include "precond/paths.h"

struct operators_state {
    int m;
    void *T;
    trine_op factor[TRINE_PRECOND_MAX_M];
};

struct operators_part { trine_work work[TRINE_PRECOND_MAX_M]; };

static size_t vector_bytes(trine_precond p, int64_t nrhs)
{
    const size_t bytes = (size_t)p->base.n * (size_t)nrhs * trine_dtype_size(p->base.dtype);
    return (bytes + 63) / 64 * 64;
}
/** Two vectors: what a factor is given, and what it gives. */
static size_t scratch_bytes(trine_precond p, int64_t nrhs) { return 2 * vector_bytes(p, nrhs); }

static trine_status work_begin(trine_precond p, struct precond_work *work, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    struct operators_state *s = p->state;
    struct operators_part *part;
    TRY(CALLOC(p->base.ctx, part, 1));
    work->part = part;
    for (int l = 0; l < s->m; l++) TRY(trine_op_work(s->factor[l], nrhs, NULL, NULL, &part->work[l]));
done:
    return status;
}

static void work_end(trine_precond p, struct precond_work *work)
{
    struct operators_part *part = work->part;
    for (int l = 0; part && l < TRINE_PRECOND_MAX_M; l++) trine_work_destroy(&part->work[l]);
    trine_free(p->base.ctx, TRINE_HOST, part);
}

static trine_status apply(trine_precond p, const struct precond_call *call)
{
    trine_status status = TRINE_SUCCESS;
    struct operators_state *s = p->state;
    const struct operators_part *part = call->work->part;
    const size_t size = trine_dtype_size(p->base.dtype);
    const int64_t n = p->base.n, cols = call->B->cols;
    char *const room[2] = {call->work->scratch, (char *)call->work->scratch + vector_bytes(p, cols)};
    trine_dense in = *call->B;
    for (int step = 0; step < s->m; step++) {
        const int l = call->op == TRINE_N ? s->m - 1 - step : step;
        const bool last = step == s->m - 1;
        const trine_dense out =
            last && call->X->data != in.data ? *call->X : (trine_dense){room[1], n, cols, n, TRINE_COLMAJOR};
        const trine_exec exec = {.stream = call->stream, .work = part->work[l]};
        TRY(trine_op_apply(s->factor[l], call->op, NULL, &in, NULL, &out, &exec));
        if (last && out.data == room[1])
            for (int64_t j = 0; j < cols; j++)
                memcpy((char *)call->X->data + (size_t)(j * call->X->ld) * size, room[1] + (size_t)(j * n) * size,
                       (size_t)n * size);
        if (last) break;
        in = (trine_dense){room[0], n, cols, n, TRINE_COLMAJOR};
        for (int64_t j = 0; j < cols; j++)
            precond_cpu.multiply[p->base.dtype](n, s->T, call->op == TRINE_H, room[1] + (size_t)(j * n) * size,
                                                room[0] + (size_t)(j * n) * size, p->base.ctx);
    }
done:
    return status;
}

static void release(trine_precond p)
{
    struct operators_state *s = p->state;
    if (!s) return;
    for (int l = 0; l < s->m; l++) trine_op_destroy(&s->factor[l]);
    trine_free(p->base.ctx, TRINE_HOST, s->T);
    trine_free(p->base.ctx, TRINE_HOST, s);
}

const struct precond_method precond_operators = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                                 .apply = apply,
                                                 .scratch_bytes = scratch_bytes,
                                                 .work_begin = work_begin,
                                                 .work_end = work_end,
                                                 .release = release};

/** Of what the factors are; they must be square, of one size and dtype. */
static trine_status check_factors(int m, const trine_op *factors, trine_op_info *all)
{
    for (int l = 0; l < m; l++) {
        trine_op_info info;
        REQUIRE(factors[l], "factor %d is NULL", l);
        const trine_status status = trine_op_get_info(factors[l], &info);
        if (status) return status;
        if (!l) *all = info;
        REQUIRE(info.rows == info.cols, "factor %d is %lld x %lld, not square", l, (long long)info.rows,
                (long long)info.cols);
        REQUIRE(info.rows == all->rows, "factor %d has %lld rows, factor 0 has %lld", l, (long long)info.rows,
                (long long)all->rows);
        REQUIRE(info.dtype == all->dtype, "factor %d has another dtype than factor 0", l);
        REQUIRE(!info.varying, "factor %d is not the same from call to call", l);
        all->ops &= info.ops;
        if (info.max_nrhs < all->max_nrhs) all->max_nrhs = info.max_nrhs;
    }
    REQUIRE(all->ops, "the factors have no op in common");
    return TRINE_SUCCESS;
}

trine_status trine_precond_product(trine_context ctx, trine_precond *out, const void *T, int m, const trine_op *factors,
                                   int64_t max_nrhs)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(m >= 1 && m <= TRINE_PRECOND_MAX_M, "m is %d, not 1 to %d factors", m, TRINE_PRECOND_MAX_M);
    REQUIRE(factors, "inverse_factors is NULL");
    REQUIRE(max_nrhs >= 0, "max_nrhs is %lld", (long long)max_nrhs);
    trine_status status = precond_refuse_gpu(ctx);
    trine_op_info info = {0};
    if (!status) status = check_factors(m, factors, &info);
    if (status) return status;
    REQUIRE(T || !info.rows, "T is NULL");
    if (!max_nrhs) max_nrhs = 1;
    REQUIRE(max_nrhs <= info.max_nrhs, "max_nrhs is %lld, a factor takes %lld", (long long)max_nrhs,
            (long long)info.max_nrhs);
    status = trine_check_nrhs(max_nrhs, info.rows);
    if (status) return status;

    const double start = trine_wall_time();
    const size_t bytes = (size_t)info.rows * trine_dtype_size(info.dtype);
    trine_precond p = NULL;
    struct operators_state *s;
    TRY(precond_new_plan(ctx, &p));
    p->method = &precond_operators;
    p->options =
        (trine_precond_options){.method = TRINE_PRECOND_PRODUCT, .ops = info.ops, .max_nrhs = max_nrhs, .m = m};
    p->base.n = info.rows;
    p->base.dtype = info.dtype;
    p->base.ops = info.ops;
    p->info = (trine_precond_info){.n = info.rows,
                                   .method = TRINE_PRECOND_PRODUCT,
                                   .reason = "operators of the caller's",
                                   .m = m,
                                   .bytes = (int64_t)bytes,
                                   .deterministic = 1};
    TRY(CALLOC(ctx, s, 1));
    p->state = s;
    s->T = trine_host_alloc(ctx, (int64_t)bytes, 1);
    if (!s->T) status = TRINE_ERR_MEMORY;
    if (status) goto done;
    if (bytes) memcpy(s->T, T, bytes);
    for (int l = 0; l < m; l++) {
        TRY(trine_op_cast(factors[l], &s->factor[l], info.dtype)); /* one more handle of it */
        s->m = l + 1;
    }
    p->base.has_values = true;
    TRY(trine_plan_make_own_work(&p->base, max_nrhs));
    trine_plan_analysed(&p->base, start, "a product of %d operators", m);
    *out = p;
    return TRINE_SUCCESS;
done:
    trine_precond_destroy(&p);
    return status;
}
