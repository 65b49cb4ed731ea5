/* MULTILEVEL: a V-cycle of smoothed aggregation, whose aggregates are pairs of pairs by [0,1]-factors. What the thesis
 * gives as an outlook of its forests (Klein 2024, Chapter 6), with the prolongation of Vanek, Mandel and Brezina 1996.
 * Levels are made on the host; a cycle is products and weights, wherever the context computes. */
#include "precond/multilevel/multilevel.h"

#include <string.h>

#include "operator/operator.h"

enum { MOST_LEVELS = 32, COARSEST = 100 }; /* rows that are inverted at once */
/** Entries of all levels, of A's, that are too many; then the level that needs them is left out. */
enum { MOST_ENTRIES = 5 };

struct level {
    struct level_matrix A, P, R; /* P, R: to and from the next level; on the coarsest A^-1 in P, if it has one */
    trine_matrix A_view, P_view, R_view;
    trine_spmv A_product, P_product, R_product;
    void *W;            /* rows of A, in the context's space */
    int32_t *aggregate; /* of each row; NULL: coarsest */
    int64_t aggregates;
};

struct multilevel_state {
    int levels;
    struct level level[MOST_LEVELS];
    int64_t made; /* numerics, each with new plans */
};

/** What a work has: works of the plans. */
struct multilevel_part {
    int64_t made; /* the numeric that they belong to */
    trine_work A[MOST_LEVELS], P[MOST_LEVELS], R[MOST_LEVELS];
};

static trine_status check_options(const trine_precond_options *o)
{
    REQUIRE(o->sweeps >= 0, "sweeps is %d", o->sweeps);
    return TRINE_SUCCESS;
}

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    struct multilevel_state *s;
    if (!p->options.sweeps) p->options.sweeps = 1;
    TRY(CALLOC(p->base.ctx, s, 1));
    p->state = s;
done:
    return status;
}

/* ----------------------------------------------------------------- numeric */

static void drop_level(trine_context ctx, struct level *v)
{
    trine_spmv_destroy(&v->A_product);
    trine_spmv_destroy(&v->P_product);
    trine_spmv_destroy(&v->R_product);
    trine_matrix_destroy(&v->A_view);
    trine_matrix_destroy(&v->P_view);
    trine_matrix_destroy(&v->R_view);
    level_matrix_free(ctx, &v->A);
    level_matrix_free(ctx, &v->P);
    level_matrix_free(ctx, &v->R);
    trine_free(ctx, ctx->info.space, v->W);
    v->W = NULL;
}

static void forget_aggregates(trine_context ctx, struct multilevel_state *s)
{
    for (int l = 0; l < MOST_LEVELS; l++) {
        trine_free(ctx, TRINE_HOST, s->level[l].aggregate);
        s->level[l].aggregate = NULL;
    }
}

/** The plan of products with a level's matrix. */
static trine_status make_product(trine_precond p, const struct level_matrix *A, trine_matrix *view, trine_spmv *plan)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_matrix_csr(p->base.ctx, view, p->base.dtype, A->rows, A->cols, A->nnz, TRINE_HOST, 64, A->offsets, 32,
                         A->columns, A->values));
    TRY(precond_make_product(p, *view, plan));
    TRY(trine_spmv_numeric(*plan, TRINE_HOST, A->values, NULL));
done:
    return status;
}

static trine_status make_weights(trine_precond p, int l, struct level *v)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const size_t bytes = (size_t)v->A.rows * trine_dtype_size(p->base.dtype);
    void *W = trine_host_alloc(ctx, v->A.rows, trine_dtype_size(p->base.dtype));
    if (!W) return TRINE_ERR_MEMORY;
    const int64_t zero = level_weights(p->base.dtype, &v->A, W);
    if (l == 0 && zero >= 0) precond_note_pivot(p, zero, TRINE_ERR_SINGULAR);
    TRY(trine_alloc(ctx, ctx->info.space, bytes, &v->W));
    TRY(trine_copy(ctx, v->W, ctx->info.space, W, TRINE_HOST, bytes));
done:
    trine_free(ctx, TRINE_HOST, W);
    return status;
}

/** From level v to `next`, unless it has more than half of v's rows, or more than `most` entries: then next->A.rows
 *  is 0. */
static trine_status coarsen(trine_precond p, struct level *v, int64_t most, struct level *next)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const trine_dtype t = p->base.dtype;
    struct level_matrix AP = {0};
    if (!v->aggregate) {
        TRY(ALLOC(ctx, v->aggregate, v->A.rows));
        TRY(level_aggregates(ctx, t, &v->A, v->aggregate, &v->aggregates));
    }
    if (!v->aggregates || 2 * v->aggregates > v->A.rows) goto done;
    TRY(level_prolongation(ctx, t, &v->A, v->aggregate, v->aggregates, &v->P));
    TRY(level_transpose(ctx, t, &v->P, &v->R));
    TRY(level_multiply(ctx, t, &v->A, &v->P, most, &AP));
    if (AP.nnz > most) goto done;
    TRY(level_multiply(ctx, t, &v->R, &AP, most, &next->A));
    if (next->A.nnz > most) level_matrix_free(ctx, &next->A);
done:
    level_matrix_free(ctx, &AP);
    return status;
}

/** All levels, from A on. */
static trine_status make_levels(trine_precond p, struct multilevel_state *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    int64_t entries = 0;
    s->level[0].A = (struct level_matrix){.rows = p->base.n,
                                          .cols = p->base.n,
                                          .nnz = p->nnz,
                                          .offsets = p->offsets,
                                          .columns = p->columns,
                                          .values = p->values,
                                          .is_lent = true};
    for (s->levels = 1;; s->levels++) {
        struct level *v = &s->level[s->levels - 1];
        entries += v->A.nnz;
        TRY(make_weights(p, s->levels - 1, v));
        if (v->A.rows <= COARSEST) {
            TRY(level_invert(ctx, p->base.dtype, &v->A, &v->P));
            break;
        }
        if (s->levels == MOST_LEVELS) break;
        TRY(coarsen(p, v, MOST_ENTRIES * p->nnz - entries, v + 1));
        if (v[1].A.rows) continue;
        level_matrix_free(ctx, &v->P);
        level_matrix_free(ctx, &v->R);
        break;
    }
done:
    return status;
}

static trine_status numeric(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct multilevel_state *s = p->state;
    for (int l = 0; l < MOST_LEVELS; l++) drop_level(ctx, &s->level[l]);
    s->levels = 0;
    if (reuse == TRINE_REUSE_NOTHING) forget_aggregates(ctx, s);
    if (!p->base.n) return TRINE_SUCCESS;
    s->made++;
    TRY(make_levels(p, s));
    p->info.levels = s->levels;
    p->info.factor_entries = 0;
    for (int l = 0; l < s->levels; l++) {
        struct level *v = &s->level[l];
        const bool inverts = l == s->levels - 1 && v->P.rows;
        if (!inverts) TRY(make_product(p, &v->A, &v->A_view, &v->A_product));
        if (v->P.rows) TRY(make_product(p, &v->P, &v->P_view, &v->P_product));
        if (v->R.rows) TRY(make_product(p, &v->R, &v->R_view, &v->R_product));
        p->info.factor_entries += (l ? v->A.nnz : 0) + v->P.nnz + v->R.nnz;
    }
done:
    if (status) forget_aggregates(ctx, s);
    return status;
}

/* -------------------------------------------------------------------- works */

static void drop_works(struct multilevel_part *part)
{
    for (int l = 0; l < MOST_LEVELS; l++) {
        trine_work_destroy(&part->A[l]);
        trine_work_destroy(&part->P[l]);
        trine_work_destroy(&part->R[l]);
    }
}

static trine_status make_works(trine_precond p, struct multilevel_part *part, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    struct multilevel_state *s = p->state;
    for (int l = 0; l < s->levels; l++) {
        struct level *v = &s->level[l];
        if (v->A_product) TRY(trine_spmv_work(v->A_product, nrhs, NULL, NULL, &part->A[l]));
        if (v->P_product) TRY(trine_spmv_work(v->P_product, nrhs, NULL, NULL, &part->P[l]));
        if (v->R_product) TRY(trine_spmv_work(v->R_product, nrhs, NULL, NULL, &part->R[l]));
    }
    part->made = s->made;
done:
    return status;
}

static trine_status work_begin(trine_precond p, struct precond_work *work, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    struct multilevel_part *part;
    TRY(CALLOC(p->base.ctx, part, 1));
    work->part = part;
    TRY(make_works(p, part, nrhs));
done:
    return status;
}

static void work_end(trine_precond p, struct precond_work *work)
{
    if (!work->part) return;
    drop_works(work->part);
    trine_free(p->base.ctx, TRINE_HOST, work->part);
}

/** A residual and the right-hand side and the solution of a level, whose rows are at most half of those of the one
 *  before, so that all have at most two times n. Of each level's vectors the lengths are those of `rows`. */
enum { ALIGNMENT = 64, VECTORS = 3 };
static size_t vector_bytes(trine_precond p, int64_t rows, int64_t nrhs)
{
    const size_t bytes = (size_t)rows * (size_t)nrhs * trine_dtype_size(p->base.dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
static size_t scratch_bytes(trine_precond p, int64_t nrhs)
{
    return VECTORS * (2 * vector_bytes(p, p->base.n, nrhs) + (size_t)MOST_LEVELS * ALIGNMENT);
}

/* -------------------------------------------------------------------- apply */

struct cycle {
    trine_precond p;
    const struct precond_call *call;
    struct multilevel_part *part;
};

static trine_status multiply(const struct cycle *c, trine_spmv plan, trine_work work, trine_transpose op, double alpha,
                             const trine_dense *X, double beta, const trine_dense *Y)
{
    op_scalar_room a, b;
    const trine_dtype t = c->p->base.dtype;
    const trine_exec exec = {.stream = c->call->stream, .work = work};
    return trine_spmv_apply(plan, op, operator_scalar(t, (double[]){alpha, 0}, &a), X,
                            operator_scalar(t, (double[]){beta, 0}, &b), Y, &exec);
}

/** Y := d X + beta Y; d NULL: ones. */
static trine_status add(const struct cycle *c, const void *d, const trine_dense *X, double beta, const trine_dense *Y)
{
    const double one[2] = {1, 0}, factor[2] = {beta, 0};
    const trine_dtype t = c->p->base.dtype;
    return operator_run_update(c->p->base.ctx, t, one, d, c->call->op == TRINE_H, t, X, factor, Y, c->call->stream);
}

static trine_dense place(const struct cycle *c, char **room, int64_t rows)
{
    const int64_t cols = c->call->B->cols;
    const trine_dense block = {*room, rows, cols, rows, TRINE_COLMAJOR};
    *room += vector_bytes(c->p, rows, cols);
    return block;
}

/** r := b - A x. */
static trine_status find_residual(const struct cycle *c, int l, const trine_dense *b, const trine_dense *x,
                                  const trine_dense *r)
{
    const struct multilevel_state *s = c->p->state;
    const trine_status status = add(c, NULL, b, 0, r);
    return status ? status : multiply(c, s->level[l].A_product, c->part->A[l], c->call->op, -1, x, 1, r);
}

/** x := x + W (b - A x), so many times; from_zero: x is 0, and not read. */
static trine_status smooth(const struct cycle *c, int l, const trine_dense *b, bool from_zero, const trine_dense *x,
                           const trine_dense *r)
{
    trine_status status = TRINE_SUCCESS;
    const struct multilevel_state *s = c->p->state;
    for (int k = 0; k < c->p->options.sweeps; k++) {
        const bool first = from_zero && k == 0;
        if (!first) TRY(find_residual(c, l, b, x, r));
        TRY(add(c, s->level[l].W, first ? b : r, first ? 0 : 1, x));
    }
done:
    return status;
}

/** What a level begins with: x from zero, and the right-hand side of the next one. */
static trine_status go_down(const struct cycle *c, int l, const trine_dense *b, const trine_dense *x,
                            const trine_dense *r, const trine_dense *next)
{
    trine_status status = TRINE_SUCCESS;
    const struct level *v = &((struct multilevel_state *)c->p->state)->level[l];
    const bool plain = c->call->op == TRINE_N;
    TRY(smooth(c, l, b, true, x, r));
    TRY(find_residual(c, l, b, x, r));
    TRY(multiply(c, plain ? v->R_product : v->P_product, plain ? c->part->R[l] : c->part->P[l], c->call->op, 1, r, 0,
                 next));
done:
    return status;
}

static trine_status go_up(const struct cycle *c, int l, const trine_dense *b, const trine_dense *x,
                          const trine_dense *r, const trine_dense *correction)
{
    trine_status status = TRINE_SUCCESS;
    const struct level *v = &((struct multilevel_state *)c->p->state)->level[l];
    const bool plain = c->call->op == TRINE_N;
    TRY(multiply(c, plain ? v->P_product : v->R_product, plain ? c->part->P[l] : c->part->R[l], c->call->op, 1,
                 correction, 1, x));
    TRY(smooth(c, l, b, false, x, r));
done:
    return status;
}

/** The V-cycle M^-1 b, from x = 0. Its transpose is the same with A^T, and P and R^T exchanged, since W is between the
 *  same residuals on the way down and up. */
static trine_status apply(trine_precond p, const struct precond_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const struct multilevel_state *s = p->state;
    const int last = s->levels - 1;
    struct cycle c = {p, call, call->work->part};
    trine_dense b[MOST_LEVELS], x[MOST_LEVELS], r[MOST_LEVELS];
    char *room = call->work->scratch;
    if (c.part->made != s->made) {
        drop_works(c.part);
        TRY(make_works(p, c.part, call->work->base.max_nrhs));
    }
    for (int l = 0; l <= last; l++) {
        r[l] = place(&c, &room, s->level[l].A.rows);
        b[l] = place(&c, &room, s->level[l].A.rows);
        x[l] = l ? place(&c, &room, s->level[l].A.rows) : *call->X;
    }
    if (call->B->data == call->X->data) TRY(add(&c, NULL, call->B, 0, &b[0]));
    else b[0] = *call->B;
    for (int l = 0; l < last; l++) TRY(go_down(&c, l, &b[l], &x[l], &r[l], &b[l + 1]));
    if (s->level[last].P_product)
        TRY(multiply(&c, s->level[last].P_product, c.part->P[last], call->op, 1, &b[last], 0, &x[last]));
    else TRY(smooth(&c, last, &b[last], true, &x[last], &r[last]));
    for (int l = last - 1; l >= 0; l--) TRY(go_up(&c, l, &b[l], &x[l], &r[l], &x[l + 1]));
done:
    return status;
}

static void release(trine_precond p)
{
    struct multilevel_state *s = p->state;
    if (!s) return;
    for (int l = 0; l < MOST_LEVELS; l++) drop_level(p->base.ctx, &s->level[l]);
    forget_aggregates(p->base.ctx, s);
    trine_free(p->base.ctx, TRINE_HOST, s);
}

static int64_t memory(trine_precond p)
{
    (void)p;
    return (int64_t)sizeof(struct multilevel_state);
}

const struct precond_method precond_multilevel = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                                  .check_options = check_options,
                                                  .analyse = analyse,
                                                  .numeric = numeric,
                                                  .apply = apply,
                                                  .scratch_bytes = scratch_bytes,
                                                  .work_begin = work_begin,
                                                  .work_end = work_end,
                                                  .memory = memory,
                                                  .release = release};
