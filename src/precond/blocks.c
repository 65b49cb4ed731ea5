/* AlgTriBlockPrecond (Klein 2024, Section 4.6): pairs of strongly coupled rows as blocks, and the blocks along the
 * paths of the coarse graph's forest. Each block row is factored once for each op that was announced. */
#include <string.h>
#include <trine/tridiagonal.h>

#include "precond/paths.h"

enum { OPS = 3 };
static const trine_transpose ops[OPS] = {TRINE_N, TRINE_T, TRINE_H};

struct blocks_state {
    trine_forest forest, coarse;
    bool has_forests;
    int64_t rows; /* of blocks */
    /* In the context's space */
    void *a, *b, *c; /* n blocks each */
    int32_t *permutation; /* 2 n */
    void *factor[OPS]; /* of op(A); NULL: not announced */
    size_t factor_bytes[OPS];
};

static trine_gtsv_options options_for(int k) { return (trine_gtsv_options){.op = ops[k]}; }

/** The place of op among those that were announced: of a real matrix T and H are one. */
static int place_of(trine_precond p, trine_transpose op)
{
    if (op == TRINE_N) return 0;
    return trine_dtype_is_complex(p->base.dtype) && op == TRINE_H ? 2 : 1;
}

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct blocks_state *s;
    const int64_t n = p->base.n;
    TRY(CALLOC(ctx, s, 1));
    p->state = s;
    TRY(precond_make_forest_of(p, &(trine_forest_options){.blocks = 1}, &s->forest));
    void **const bands[] = {&s->a, &s->b, &s->c};
    for (int k = 0; k < 3; k++)
        TRY(trine_alloc(ctx, ctx->info.space, (size_t)(4 * n) * trine_dtype_size(p->base.dtype), bands[k]));
    TRY(trine_alloc(ctx, ctx->info.space, (size_t)(2 * n) * sizeof *s->permutation, (void **)&s->permutation));
    for (int k = 0; k < OPS; k++) {
        if (!(p->options.ops & ops[k])) continue;
        const int at = place_of(p, ops[k]);
        if (s->factor[at]) continue;
        const trine_gtsv_options o = options_for(at);
        TRY(trine_bgtf_size(ctx, p->base.dtype, n, 2, &o, &s->factor_bytes[at]));
        TRY(trine_alloc(ctx, ctx->info.space, s->factor_bytes[at], &s->factor[at]));
    }
done:
    return status;
}

static void release(trine_precond p)
{
    struct blocks_state *s = p->state;
    if (!s) return;
    trine_forest_destroy(&s->coarse);
    trine_forest_destroy(&s->forest);
    trine_context ctx = p->base.ctx;
    void *arrays[] = {s->a, s->b, s->c, s->permutation, s->factor[0], s->factor[1], s->factor[2]};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, ctx->info.space, arrays[k]);
    trine_free(ctx, TRINE_HOST, s);
}

static int64_t memory(trine_precond p)
{
    const struct blocks_state *s = p->state;
    trine_forest_info info;
    trine_forest_get_info(s->forest, &info);
    int64_t bytes = info.bytes + p->base.n * (12 * (int64_t)trine_dtype_size(p->base.dtype) + 8);
    for (int k = 0; k < OPS; k++) bytes += (int64_t)s->factor_bytes[k];
    return bytes;
}

/** Of trine_bgtfs, with whatever op. */
static size_t work_of_solve(trine_precond p, int64_t rows, int64_t nrhs)
{
    size_t most = 0;
    for (int k = 0; k < OPS; k++) {
        const trine_gtsv_options o = options_for(k);
        size_t bytes = 0;
        if (((struct blocks_state *)p->state)->factor[k])
            trine_bgtfs_work_size(p->base.ctx, p->base.dtype, rows, 2, nrhs, &o, &bytes);
        if (bytes > most) most = bytes;
    }
    return most;
}

/** Whether what n blocks need is enough for fewer of them: partitions of fewer rows may be shorter. */
static bool fits(trine_precond p, int64_t rows)
{
    const struct blocks_state *s = p->state;
    for (int k = 0; k < OPS; k++) {
        const trine_gtsv_options o = options_for(k);
        size_t bytes = 0;
        if (s->factor[k] &&
            (trine_bgtf_size(p->base.ctx, p->base.dtype, rows, 2, &o, &bytes) || bytes > s->factor_bytes[k]))
            return false;
    }
    return work_of_solve(p, rows, 1) <= work_of_solve(p, p->base.n, 1);
}

static trine_status find_blocks(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    struct blocks_state *s = p->state;
    trine_factor_rounds rounds = p->options.forest;
    trine_forest_result result;
    s->has_forests = false;
    TRY(trine_forest_set_weights(s->forest, TRINE_HOST, p->values, NULL));
    rounds.n = 1;
    TRY(trine_forest_factor(s->forest, &rounds, NULL));
    trine_forest_destroy(&s->coarse);
    TRY(trine_forest_coarsen(s->forest, &s->coarse, NULL));
    rounds.n = 2;
    TRY(trine_forest_factor(s->coarse, &rounds, NULL));
    TRY(trine_forest_break_cycles(s->coarse, NULL));
    TRY(trine_forest_order(s->coarse, NULL));
    TRY(trine_forest_get_result(s->coarse, &result, NULL));
    s->rows = fits(p, result.vertices) ? result.vertices : p->base.n; /* the others are the identity */
    s->has_forests = true;
done:
    return status;
}

/** Whether a path ends before block row r: nothing couples it with the row before. */
static bool begins_path(trine_precond p, int64_t r)
{
    static const char zeros[4 * 16];
    const struct blocks_state *s = p->state;
    const size_t block = 4 * trine_dtype_size(p->base.dtype);
    return !memcmp((const char *)s->a + (size_t)r * block, zeros, block) &&
           !memcmp((const char *)s->c + (size_t)(r - 1) * block, zeros, block);
}

/** The lowest row of A among those of the first path without an inverse; factor k is overwritten. Rows of such a path
 *  depend on each other, and none of them is the one at fault. */
static int64_t find_singular(trine_precond p, int k)
{
    const struct blocks_state *s = p->state;
    const trine_gtsv_options o = options_for(k);
    const size_t block = 4 * trine_dtype_size(p->base.dtype);
    for (int64_t begin = 0, end; begin < s->rows; begin = end) {
        for (end = begin + 1; end < s->rows && !begins_path(p, end);) end++;
        const size_t skipped = (size_t)begin * block;
        if (trine_bgtf(p->base.ctx, p->base.dtype, end - begin, 2, &o, (char *)s->a + skipped, (char *)s->b + skipped,
                       (char *)s->c + skipped, s->factor[k], s->factor_bytes[k], NULL) != TRINE_ERR_SINGULAR)
            continue;
        int64_t lowest = s->permutation[2 * begin];
        for (int64_t i = 2 * begin; i < 2 * end; i++)
            if (s->permutation[i] >= 0 && s->permutation[i] < lowest) lowest = s->permutation[i];
        return lowest;
    }
    return 0;
}

static trine_status numeric(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct blocks_state *s = p->state;
    if (!p->base.n) return TRINE_SUCCESS;
    if (!s->has_forests || reuse == TRINE_REUSE_NOTHING) TRY(find_blocks(p));
    TRY(trine_forest_extract_blocks(s->forest, TRINE_HOST, p->values, s->a, s->b, s->c, s->permutation, NULL));
    for (int k = 0; k < OPS; k++) {
        if (!s->factor[k]) continue;
        const trine_gtsv_options o = options_for(k);
        status =
            trine_bgtf(ctx, p->base.dtype, s->rows, 2, &o, s->a, s->b, s->c, s->factor[k], s->factor_bytes[k], NULL);
        if (status != TRINE_ERR_SINGULAR) TRY(status);
        else precond_note_pivot(p, find_singular(p, k), status), status = TRINE_SUCCESS;
    }
done:
    return status;
}

static trine_dense blocks_of(trine_precond p, const struct precond_call *call)
{
    const int64_t rows = 2 * ((struct blocks_state *)p->state)->rows;
    return (trine_dense){call->work->scratch, rows, call->B->cols, rows, TRINE_COLMAJOR};
}

enum { ALIGNMENT = 64 };
static size_t vector_bytes(trine_precond p, int64_t nrhs)
{
    const size_t bytes = 2 * (size_t)p->base.n * (size_t)nrhs * trine_dtype_size(p->base.dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
static size_t scratch_bytes(trine_precond p, int64_t nrhs)
{
    return vector_bytes(p, nrhs) + work_of_solve(p, p->base.n, nrhs);
}

/** Row i of D := row permutation[i] of B, or ones where a block has no such row; and back to X. */
static trine_status pick(trine_precond p, const trine_dense *B, const trine_dense *D, void *stream)
{
    const struct blocks_state *s = p->state;
    const struct precond_device *device = precond_device_of(p);
    const trine_dtype t = p->base.dtype;
    const size_t element = trine_dtype_size(t);
    if (device) return device->pick[t](p, s->permutation, B, D, stream);
    for (int64_t j = 0; j < B->cols; j++)
        precond_cpu.pick[t](D->rows, s->permutation, (const char *)B->data + (size_t)(j * B->ld) * element,
                            (char *)D->data + (size_t)(j * D->ld) * element, p->base.ctx);
    return TRINE_SUCCESS;
}

static trine_status place(trine_precond p, const trine_dense *D, const trine_dense *X, void *stream)
{
    const struct blocks_state *s = p->state;
    const struct precond_device *device = precond_device_of(p);
    const trine_dtype t = p->base.dtype;
    const size_t element = trine_dtype_size(t);
    if (device) return device->place[t](p, s->permutation, D, X, stream);
    for (int64_t j = 0; j < D->cols; j++)
        precond_cpu.place[t](D->rows, s->permutation, (const char *)D->data + (size_t)(j * D->ld) * element,
                             (char *)X->data + (size_t)(j * X->ld) * element, p->base.ctx);
    return TRINE_SUCCESS;
}

static trine_status apply(trine_precond p, const struct precond_call *call)
{
    trine_status status = TRINE_SUCCESS;
    struct blocks_state *s = p->state;
    const trine_dtype t = p->base.dtype;
    const trine_exec exec = {.stream = call->stream};
    const int64_t cols = call->B->cols;
    const int k = place_of(p, call->op);
    const trine_gtsv_options o = options_for(k);
    const trine_dense D = blocks_of(p, call);
    if (p->pivot_row >= 0)
        return trine_fail(TRINE_ERR_SINGULAR, "alg-tri-block: the block of row %lld has no inverse",
                          (long long)p->pivot_row);
    TRY(pick(p, call->B, &D, call->stream));
    TRY(trine_bgtfs(p->base.ctx, t, s->rows, 2, cols, &o, s->factor[k], s->factor_bytes[k], D.data, D.ld, D.data, D.ld,
                    (char *)D.data + vector_bytes(p, call->work->base.max_nrhs),
                    work_of_solve(p, p->base.n, call->work->base.max_nrhs), &exec));
    TRY(place(p, &D, call->X, call->stream));
done:
    return status;
}

const struct precond_method precond_blocks = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                              .analyse = analyse,
                                              .numeric = numeric,
                                              .apply = apply,
                                              .scratch_bytes = scratch_bytes,
                                              .memory = memory,
                                              .release = release};
