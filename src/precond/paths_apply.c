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

/* ----------------------------------------------------------- factors on a CPU */

/** A column through op(F_l)^-1: row i in path order is row from[i] of B, its result goes to row to[i] of X. */
struct pass {
    int l;
    void *B;
    const int32_t *from; /* NULL: in path order */
    void *middle;        /* B if from is NULL; X if `to` is */
    void *X;
    const int32_t *to;
    bool adds;           /* to X */
};

static void run_pass(trine_precond p, trine_transpose op, const struct pass *q)
{
    const struct precond_pass pass = {.factor = &paths_of(p)->factor[q->l],
                                      .op = op,
                                      .n = p->base.n,
                                      .in = q->B,
                                      .from = q->from,
                                      .middle = q->middle,
                                      .out = q->X,
                                      .to = q->to,
                                      .adds = q->adds,
                                      .ctx = p->base.ctx};
    precond_cpu.solve[p->base.dtype](&pass);
}

/** X := M^-1 B, a column: from path order to path order without a stop in between (Section 5.2.4). op T meets the
 *  factors the other way round, and gathers where N scatters. */
static void run_product_on_cpu(trine_precond p, const struct precond_call *call, void *B, void *X)
{
    const struct precond_factor *factor = paths_of(p)->factor;
    const int m = p->info.m;
    const bool forward = call->op == TRINE_N;
    const struct scratch scratch = scratch_of(p, call);
    for (int step = 0; step < m; step++) {
        const int l = forward ? m - 1 - step : step;
        const bool first = step == 0, last = step == m - 1;
        char *const next = scratch.room[1 - step % 2];
        const struct pass pass = {.l = l,
                                  .B = B,
                                  .from = first     ? factor[l].permutation
                                          : forward ? NULL
                                                    : factor[l].to_next,
                                  .middle = !forward ? next
                                            : first  ? scratch.room[0]
                                                     : B,
                                  .X = last ? X : next,
                                  .to = last      ? factor[l].permutation
                                        : forward ? factor[l].to_next
                                                  : NULL};
        run_pass(p, call->op, &pass);
        B = pass.X;
    }
}

/* ----------------------------------------------------------- factors on a GPU */

static trine_status solve_on_gpu(trine_precond p, const struct precond_call *call, int l, const trine_dense *B,
                                 const trine_dense *X, const gtsv_places *places, void *room)
{
    const struct precond_device_factor *f = &paths_of(p)->on_device[l];
    const struct scratch scratch = scratch_of(p, call);
    return gtsv_permuted(p->base.ctx, p->base.dtype, B->rows, B->cols, call->op, f->a, f->b, f->c, B->data, B->ld,
                         X->data, X->ld, places, room, scratch.solve, scratch.solve_bytes, call->stream);
}

/** X := M^-1 B: each factor gathers from the order of the one before it, which leaves vectors in its own (Section
 *  5.2.4). */
static trine_status run_product_on_gpu(trine_precond p, const struct precond_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const struct precond_device_factor *factor = paths_of(p)->on_device;
    const int m = p->info.m;
    const bool forward = call->op == TRINE_N;
    const struct scratch scratch = scratch_of(p, call);
    trine_dense in = *call->B;
    for (int step = 0; step < m; step++) {
        const int l = forward ? m - 1 - step : step;
        const bool first = step == 0, last = step == m - 1;
        char *const next = scratch.room[step % 2];
        const gtsv_places places = {.from = first     ? factor[l].permutation
                                            : forward ? factor[l].to_previous
                                                      : factor[l].to_next,
                                    .to = last ? factor[l].permutation : NULL,
                                    .position = last ? factor[l].position : NULL};
        const trine_dense X = last ? *call->X : block_at(p, next, in.cols);
        TRY(solve_on_gpu(p, call, l, &in, &X, &places, next));
        in = X;
    }
done:
    return status;
}

/* ------------------------------------------------------------- on either */

/** X := op(F_l)^-1 B, or X := X + it. */
static trine_status solve_factor(trine_precond p, const struct precond_call *call, int l, const trine_dense *B,
                                 bool adds)
{
    const struct paths_state *s = paths_of(p);
    char *const room = scratch_of(p, call).room[0];
    if (s->on_device) {
        /* TRIDIAG goes through A as it stands */
        const bool in_order = p->options.method == TRINE_PRECOND_TRIDIAG;
        const int32_t *order = in_order ? NULL : s->on_device[l].permutation,
                      *position = in_order ? NULL : s->on_device[l].position;
        const gtsv_places places = {.from = order, .to = order, .position = position, .adds = adds};
        return solve_on_gpu(p, call, l, B, call->X, &places, room);
    }
    const int32_t *order = s->factor[l].permutation;
    for (int64_t j = 0; j < B->cols; j++) {
        const struct pass pass = {.l = l,
                                  .B = columns_of(p, B, j, 1).data,
                                  .from = order,
                                  .middle = room,
                                  .X = columns_of(p, call->X, j, 1).data,
                                  .to = order,
                                  .adds = adds};
        run_pass(p, call->op, &pass);
    }
    return TRINE_SUCCESS;
}

trine_status precond_run_part(trine_precond p, const struct precond_call *call, int l)
{
    return solve_factor(p, call, l, call->B, false);
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
    if (p->base.ctx->cuda) return run_product_on_gpu(p, call);
    for (int64_t j = 0; j < call->B->cols; j++)
        run_product_on_cpu(p, call, columns_of(p, call->B, j, 1).data, columns_of(p, call->X, j, 1).data);
    return TRINE_SUCCESS;
}
