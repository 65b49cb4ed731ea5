/* Factors along paths: how they are applied, one after another, alternating, and fused. (Klein 2024, Sections 4.6 and
 * 5.2.) */
#include <trine/tridiagonal.h>

#include "precond/paths.h"
#include "tridiagonal/gtsv/permuted.h"

enum { ALIGNMENT = 64 };
static size_t column_bytes(trine_precond p, int64_t count)
{
    const size_t bytes = (size_t)p->base.n * (size_t)count * trine_dtype_size(p->base.dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/** Columns that go through a factor at a time: a CPU takes one after another. */
static int64_t width_of(trine_precond p, int64_t nrhs) { return p->base.ctx->cuda ? nrhs : 1; }

/** Of trine_gtsv, with whatever op. */
static size_t solve_bytes(trine_precond p, int64_t nrhs)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    size_t most = 0;
    for (int k = 0; p->base.ctx->cuda && k < 3; k++) {
        const trine_gtsv_options o = {.op = ops[k]};
        size_t bytes = 0;
        if (!trine_gtsv_work_size(p->base.ctx, p->base.dtype, p->base.n, nrhs, &o, &bytes) && bytes > most)
            most = bytes;
    }
    return most;
}

/** Two blocks as wide as what goes through a factor; of alternating methods the residuals and a copy of right-hand
 *  sides; on a GPU the workspace of solves. */
size_t precond_paths_scratch(trine_precond p, int64_t nrhs)
{
    return 2 * column_bytes(p, width_of(p, nrhs)) + (precond_has_product(p) ? 2 * column_bytes(p, nrhs) : 0) +
           solve_bytes(p, nrhs);
}

/** Where these are in a work. */
struct scratch {
    char *room[2], *residual, *copy, *solve;
    size_t solve_bytes;
};
static struct scratch scratch_of(trine_precond p, const struct precond_call *call)
{
    const trine_plan_work *work = &call->work->base;
    const size_t wide = column_bytes(p, width_of(p, work->max_nrhs)),
                 block = precond_has_product(p) ? column_bytes(p, work->max_nrhs) : 0;
    char *const at = call->work->scratch, *const residual = at + 2 * wide, *const solve = residual + 2 * block;
    return (struct scratch){.room = {at, at + wide},
                            .residual = residual,
                            .copy = residual + block,
                            .solve = solve,
                            .solve_bytes = work->bytes - (size_t)(solve - (char *)work->buffer)};
}

trine_status precond_paths_work_begin(trine_precond p, struct precond_work *work, int64_t nrhs)
{
    struct paths_state *s = paths_of(p);
    return s->product ? trine_spmv_work(s->product, nrhs, NULL, NULL, (trine_work *)&work->part) : TRINE_SUCCESS;
}

void precond_paths_work_end(trine_precond p, struct precond_work *work)
{
    (void)p;
    trine_work_destroy((trine_work *)&work->part);
}

static trine_dense block_at(trine_precond p, void *data, int64_t cols)
{
    return (trine_dense){data, p->base.n, cols, p->base.n, TRINE_COLMAJOR};
}

/** Columns j and following of X. */
static trine_dense columns_of(trine_precond p, const trine_dense *X, int64_t j, int64_t count)
{
    trine_dense part = *X;
    part.data = (char *)X->data + (size_t)(j * X->ld) * trine_dtype_size(p->base.dtype);
    part.cols = count;
    return part;
}

/** Where vertices of factor l stand in the caller's order, or in that of the factor that is applied after it. NULL: in
 *  path order, of paths that go through A as it stands. */
static const int32_t *order_of(trine_precond p, int l, bool fused)
{
    const struct paths_state *s = paths_of(p);
    if (s->on_device && p->options.method == TRINE_PRECOND_TRIDIAG) return NULL;
    if (s->on_device) return fused ? s->on_device[l].to_next : s->on_device[l].permutation;
    return fused ? s->factor[l].to_next : s->factor[l].permutation;
}

/** A block through op(F_l)^-1: row i in path order is row from[i] of B, its result goes to row to[i] of X. */
struct pass {
    int l;
    trine_dense B;
    const int32_t *from; /* NULL: in path order */
    char *middle; /* on a CPU: B's data if from is NULL; X's if `to` is */
    trine_dense X;
    const int32_t *to;
    bool adds; /* to X */
};

static void pass_on_cpu(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    for (int64_t j = 0; j < q->B.cols; j++) {
        const struct precond_pass pass = {.factor = &paths_of(p)->factor[q->l],
                                          .op = call->op,
                                          .n = p->base.n,
                                          .in = columns_of(p, &q->B, j, 1).data,
                                          .from = q->from,
                                          .middle = q->middle,
                                          .out = columns_of(p, &q->X, j, 1).data,
                                          .to = q->to,
                                          .adds = q->adds,
                                          .ctx = p->base.ctx};
        precond_cpu.solve[p->base.dtype](&pass);
    }
}

static trine_status pass_on_gpu(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    const struct precond_device_factor *f = &paths_of(p)->on_device[q->l];
    const struct scratch scratch = scratch_of(p, call);
    const gtsv_places places = {q->from, q->to, q->adds};
    return gtsv_permuted(p->base.ctx, p->base.dtype, q->B.rows, q->B.cols, call->op, f->a, f->b, f->c, q->B.data,
                         q->B.ld, q->X.data, q->X.ld, &places, scratch.solve, scratch.solve_bytes, call->stream);
}

static trine_status run_pass(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    if (p->base.ctx->cuda) return pass_on_gpu(p, call, q);
    pass_on_cpu(p, call, q);
    return TRINE_SUCCESS;
}

/** X := op(F_l)^-1 B, or X := X + it. */
static trine_status solve_factor(trine_precond p, const struct precond_call *call, int l, const trine_dense *B,
                                 bool adds)
{
    const int32_t *order = order_of(p, l, false);
    const struct pass pass = {.l = l,
                              .B = *B,
                              .from = order,
                              .middle = scratch_of(p, call).room[0],
                              .X = *call->X,
                              .to = order,
                              .adds = adds};
    return run_pass(p, call, &pass);
}

trine_status precond_run_part(trine_precond p, const struct precond_call *call, int l)
{
    return solve_factor(p, call, l, call->B, false);
}

/** X := M^-1 B: vectors go from path order to path order without a stop in between (Section 5.2.4). op T meets the
 *  factors the other way round, and gathers where N scatters. */
static trine_status run_product(trine_precond p, const struct precond_call *call, const trine_dense *B,
                                const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    const int m = p->info.m;
    const bool forward = call->op == TRINE_N;
    const struct scratch scratch = scratch_of(p, call);
    trine_dense in = *B;
    for (int step = 0; step < m; step++) {
        const int l = forward ? m - 1 - step : step;
        const bool first = step == 0, last = step == m - 1;
        const struct pass pass = {.l = l,
                                  .B = in,
                                  .from = first     ? order_of(p, l, false)
                                          : forward ? NULL
                                                    : order_of(p, l, true),
                                  .middle = forward ? (first ? scratch.room[0] : in.data) : scratch.room[1 - step % 2],
                                  .X = last ? *X : block_at(p, scratch.room[1 - step % 2], B->cols),
                                  .to = last      ? order_of(p, l, false)
                                        : forward ? order_of(p, l, true)
                                                  : NULL};
        TRY(run_pass(p, call, &pass));
        in = pass.X;
    }
done:
    return status;
}

/** Eq. 28 from x = 0. Of A^T the same with the transposed splittings in the opposite order. */
static trine_status run_alternating(trine_precond p, const struct precond_call *call)
{
    static const double minus_one[2] = {-1, 0}, plus_one[2] = {1, 0};
    static const float minus_one_s[2] = {-1, 0}, plus_one_s[2] = {1, 0};
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    const int m = p->info.m;
    const bool single = trine_dtype_is_single(p->base.dtype);
    const struct scratch scratch = scratch_of(p, call);
    const trine_dense residual = block_at(p, scratch.residual, call->B->cols);
    trine_dense B = *call->B;
    const trine_exec exec = {.stream = call->stream, .work = call->work->part};
    if (m > 1 && B.data == call->X->data) {
        const trine_dense copy = block_at(p, scratch.copy, B.cols);
        TRY(trine_plan_scale(&p->base, NULL, &B, &copy, call->stream));
        B = copy;
    }
    for (int step = 0; step < m; step++) {
        const int l = call->op == TRINE_N ? step : m - 1 - step;
        if (!step) {
            TRY(solve_factor(p, call, l, &B, false));
            continue;
        }
        TRY(trine_plan_scale(&p->base, NULL, &B, &residual, call->stream));
        TRY(trine_spmv_apply(s->product, call->op, single ? (const void *)minus_one_s : minus_one, call->X,
                             single ? (const void *)plus_one_s : plus_one, &residual, &exec));
        TRY(solve_factor(p, call, l, &residual, true));
    }
done:
    return status;
}

trine_status precond_paths_apply(trine_precond p, const struct precond_call *call)
{
    const trine_precond_method method = p->options.method;
    if (method == TRINE_PRECOND_ALT_O && p->info.m > 1)
        return trine_fail(TRINE_ERR_UNSUPPORTED,
                          "alt-o changes from step to step: take its %d parts to a flexible method, or alt-i",
                          p->info.m);
    if (precond_alternates(method)) return run_alternating(p, call);
    if (!precond_is_product(method)) return precond_run_part(p, call, 0);
    const int64_t width = width_of(p, call->B->cols);
    for (int64_t j = 0; j < call->B->cols; j += width) {
        const trine_dense B = columns_of(p, call->B, j, width), X = columns_of(p, call->X, j, width);
        const trine_status status = run_product(p, call, &B, &X);
        if (status) return status;
    }
    return TRINE_SUCCESS;
}
