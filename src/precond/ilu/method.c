/* Incomplete factorizations as preconditioners (precond.h): phases, and applications by plans of other modules. */
#include <string.h>

#include "precond/cuda/cuda.h"
#include "precond/ilu/ilu.h"
#include "precond/precond.h"

enum { FIRST, SECOND, SIDES }; /* L and U; of IC0 L alone, and L^H is its transposed solve */

/** ISAI, of one triangle. */
struct side_inverse {
    struct ilu_inverse arrays;
    trine_matrix matrix_t, matrix_w;
    trine_spmv t, w;
};

struct ilu_state {
    struct ilu_pattern pattern;   /* of the factors */
    struct ilu_schedule schedule; /* not of ILUT */
    void *values, *scratch;       /* of struct ilu_factor */
    void *shifted;                /* its diagonal; NULL: there is no shift */
    trine_matrix factors;         /* a view of pattern and values */
    trine_triangular solves[SIDES];
    struct side_inverse inverses[SIDES];
    int64_t made;                 /* numerics of ILUT, each with new plans */
    /* Of numeric on a GPU: the pattern and values there, and on the host where levels begin among its rows */
    struct precond_device_pattern on_device;
    void *device_values;
    int64_t n_levels, *levels;    /* n_levels + 1 */
};

/** What a work has: works of the plans. */
struct ilu_part {
    int64_t made; /* the numeric of ILUT that they belong to */
    trine_work solves[SIDES];
    trine_work products[SIDES][2];
};

static bool is_method(trine_precond p, trine_precond_method method) { return p->options.method == method; }

/* ----------------------------------------------------------------- analyse */

static trine_status check_options(const trine_precond_options *o)
{
    REQUIRE(o->fill_level >= 0, "fill_level is %d", o->fill_level);
    REQUIRE(o->drop_tolerance >= 0 && o->drop_tolerance <= 1, "drop_tolerance %g is outside 0..1", o->drop_tolerance);
    REQUIRE(o->row_entries >= 0, "row_entries is %lld", (long long)o->row_entries);
    REQUIRE(o->shift >= 0 && o->shift <= 1e6, "shift %g is outside 0..1e6", o->shift);
    REQUIRE(o->sweeps >= 0, "sweeps is %d", o->sweeps);
    REQUIRE(o->expected_solves >= 0, "expected_solves is %lld", (long long)o->expected_solves);
    return TRINE_SUCCESS;
}

/** The pattern of A, whose diagonal must be there. */
static trine_status pattern_of(trine_precond p, struct ilu_pattern *a)
{
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->diagonal[i] < 0)
            return trine_fail(TRINE_ERR_SINGULAR, "row %lld has no entry on the diagonal", (long long)i);
    *a = (struct ilu_pattern){.n = p->base.n,
                              .nnz = p->nnz,
                              .offsets = p->offsets,
                              .columns = p->columns,
                              .diagonal = p->diagonal,
                              .is_lent = true};
    return TRINE_SUCCESS;
}

static trine_status view(trine_precond p, int64_t nnz, const int64_t *offsets, const int32_t *columns,
                         const void *values, trine_matrix *A)
{
    return trine_matrix_csr(p->base.ctx, A, p->base.dtype, p->base.n, p->base.n, nnz, TRINE_HOST, 64, offsets, 32,
                            columns, values);
}

/** Solves with the triangles of the factors. */
static trine_status make_solves(trine_precond p, struct ilu_state *s)
{
    trine_status status = TRINE_SUCCESS;
    /* Some hundred steps, a few times; with a new pattern in every numeric a part of them. */
    const int64_t applications = is_method(p, TRINE_PRECOND_ILUT) ? 100 : 1000, asked = p->options.expected_solves;
    const bool cholesky = is_method(p, TRINE_PRECOND_IC0);
    trine_triangular_options o = {.uplo = TRINE_LOWER,
                                  .diag = TRINE_UNIT,
                                  .ops = p->options.ops,
                                  /* works may be wider than the plan: fewer steps are for one vector */
                                  .expected_solves = asked                     ? asked
                                                     : p->options.max_nrhs > 1 ? 1
                                                                               : applications};
    if (cholesky) o.diag = TRINE_NONUNIT, o.ops = TRINE_N | TRINE_H;
    TRY(view(p, s->pattern.nnz, s->pattern.offsets, s->pattern.columns, s->values, &s->factors));
    TRY(precond_make_solve(p, s->factors, &o, &s->solves[FIRST]));
    if (cholesky) return TRINE_SUCCESS;
    o.uplo = TRINE_UPPER;
    o.diag = TRINE_NONUNIT;
    TRY(precond_make_solve(p, s->factors, &o, &s->solves[SECOND]));
done:
    return status;
}

static trine_status make_inverses(trine_precond p, struct ilu_state *s)
{
    trine_status status = TRINE_SUCCESS;
    for (int side = 0; side < SIDES; side++) {
        struct side_inverse *i = &s->inverses[side];
        TRY(ilu_inverse_make(p->base.ctx, &s->pattern, side == FIRST ? TRINE_LOWER : TRINE_UPPER, p->base.dtype,
                             &i->arrays));
        TRY(view(p, i->arrays.nnz, i->arrays.offsets, i->arrays.columns, i->arrays.t, &i->matrix_t));
        TRY(precond_make_product(p, i->matrix_t, &i->t));
        TRY(view(p, i->arrays.nnz, i->arrays.offsets, i->arrays.columns, i->arrays.w, &i->matrix_w));
        TRY(precond_make_product(p, i->matrix_w, &i->w));
    }
done:
    return status;
}

/** Levels of rows: of each row, in the order of rows, and how many there are. */
static int64_t find_levels(const struct ilu_pattern *q, int32_t *level)
{
    int64_t count = 0;
    for (int64_t i = 0; i < q->n; i++) {
        level[i] = 0;
        for (int64_t k = q->offsets[i]; k < q->diagonal[i]; k++)
            if (level[q->columns[k]] >= level[i]) level[i] = level[q->columns[k]] + 1;
        if (level[i] >= count) count = level[i] + 1;
    }
    return count;
}

/** Rows by level into `order`, and where levels begin into s->levels. */
static void sort_by_level(struct ilu_state *s, const int32_t *level, int32_t *order)
{
    const int64_t n = s->pattern.n;
    memset(s->levels, 0, (size_t)(s->n_levels + 1) * sizeof *s->levels);
    for (int64_t i = 0; i < n; i++) s->levels[level[i] + 1]++;
    for (int64_t l = 0; l < s->n_levels; l++) s->levels[l + 1] += s->levels[l];
    for (int64_t i = 0; i < n; i++) order[s->levels[level[i]]++] = (int32_t)i;
    for (int64_t l = s->n_levels; l > 0; l--) s->levels[l] = s->levels[l - 1];
    s->levels[0] = 0;
}

enum { ROWS_A_LEVEL = 16 }; /* on average: of fewer, the host is through before a GPU has launched the level */

/** Let numeric run on a GPU, if there is one, and if levels are worth it. */
static trine_status open_device(trine_precond p, struct ilu_state *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct ilu_pattern *q = &s->pattern;
    struct precond_device_pattern *d = &s->on_device;
    const size_t n = (size_t)q->n, nnz = (size_t)q->nnz;
    int32_t *level = NULL, *order = NULL;
    if (!ctx->cuda || s->shifted || is_method(p, TRINE_PRECOND_ISAI)) return TRINE_SUCCESS;
    TRY(ALLOC(ctx, level, q->n));
    TRY(ALLOC(ctx, order, q->n));
    s->n_levels = find_levels(q, level);
    if (s->n_levels * ROWS_A_LEVEL > q->n || !q->n) goto done;
    TRY(ALLOC(ctx, s->levels, s->n_levels + 1));
    sort_by_level(s, level, order);
    d->n = q->n;
    d->nnz = q->nnz;
    TRY(trine_device_upload(ctx, q->offsets, (n + 1) * sizeof *q->offsets, (void **)&d->offsets));
    TRY(trine_device_upload(ctx, q->columns, nnz * sizeof *q->columns, (void **)&d->columns));
    TRY(trine_device_upload(ctx, q->diagonal, n * sizeof *q->diagonal, (void **)&d->diagonal));
    if (q->source) TRY(trine_device_upload(ctx, q->source, nnz * sizeof *q->source, (void **)&d->source));
    TRY(trine_device_upload(ctx, order, n * sizeof *order, (void **)&d->order));
    TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * trine_dtype_size(p->base.dtype), &s->device_values));
    TRY(precond_open_device(p));
done:
    trine_free(ctx, TRINE_HOST, level);
    trine_free(ctx, TRINE_HOST, order);
    return status;
}

static void close_device(trine_context ctx, struct ilu_state *s)
{
    struct precond_device_pattern *d = &s->on_device;
    void *arrays[] = {d->offsets, d->columns, d->diagonal, d->source, d->order, s->device_values};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, TRINE_DEVICE, arrays[k]);
    trine_free(ctx, TRINE_HOST, s->levels);
}

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const size_t size = trine_dtype_size(p->base.dtype);
    struct ilu_state *s = NULL;
    struct ilu_pattern a;
    if (!p->options.fill_level) p->options.fill_level = 1;
    if (p->options.drop_tolerance == 0) p->options.drop_tolerance = 1e-3;
    if (!p->options.row_entries) p->options.row_entries = 20;
    if (!p->options.sweeps) p->options.sweeps = 1;
    TRY(CALLOC(ctx, s, 1));
    p->state = s;
    TRY(pattern_of(p, &a));
    if (p->options.shift > 0) TRY((s->shifted = trine_host_alloc(ctx, a.n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    if (is_method(p, TRINE_PRECOND_ILUT)) return TRINE_SUCCESS;
    if (is_method(p, TRINE_PRECOND_ILUK)) TRY(ilu_pattern_fill(ctx, &a, p->options.fill_level, &s->pattern));
    else if (is_method(p, TRINE_PRECOND_IC0)) TRY(ilu_pattern_lower(ctx, &a, &s->pattern));
    else s->pattern = a;
    TRY(ilu_schedule_make(ctx, &s->pattern, &s->schedule));
    TRY((s->values = trine_host_alloc(ctx, s->pattern.nnz, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((s->scratch = trine_host_alloc(ctx, s->schedule.threads * a.n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY(is_method(p, TRINE_PRECOND_ISAI) ? make_inverses(p, s) : make_solves(p, s));
    p->info.factor_entries = s->pattern.nnz;
    TRY(open_device(p, s));
done:
    return status;
}

/* ----------------------------------------------------------------- numeric */

static trine_status numeric_on_device(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    struct ilu_state *s = p->state;
    const struct precond_device_incomplete *device = precond_device_incomplete_of(p);
    const trine_dtype t = p->base.dtype;
    void *stream = p->base.ctx->stream;
    (void)reuse;
    if (!device) return TRINE_ERR_DEVICE; /* not called without one */
    TRY(device->begin[t](p, &s->on_device, p->device->rows.values, s->device_values, stream));
    for (int64_t l = 0; l < s->n_levels; l++)
        TRY((is_method(p, TRINE_PRECOND_IC0) ? device->cholesky : device->lu)[t](
            p, &s->on_device, s->levels[l], s->levels[l + 1], s->device_values, stream));
    for (int side = 0; side < SIDES; side++)
        if (s->solves[side]) TRY(trine_triangular_numeric(s->solves[side], TRINE_DEVICE, s->device_values, NULL));
done:
    return status;
}

static void drop_factors(trine_context ctx, struct ilu_state *s)
{
    for (int side = 0; side < SIDES; side++) trine_triangular_destroy(&s->solves[side]);
    trine_matrix_destroy(&s->factors);
    ilu_pattern_free(ctx, &s->pattern);
    trine_free(ctx, TRINE_HOST, s->values);
    s->values = NULL;
}

static trine_status numeric(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct ilu_state *s = p->state;
    struct ilu_factor f = {.ctx = ctx,
                           .dtype = p->base.dtype,
                           .pattern = &s->pattern,
                           .schedule = &s->schedule,
                           .a = p->values,
                           .diagonal = s->shifted,
                           .values = s->values,
                           .scratch = s->scratch};
    (void)reuse;
    struct ilu_pattern a;
    TRY(pattern_of(p, &a));
    if (s->shifted)
        ilu_shift_diagonal(is_method(p, TRINE_PRECOND_IC0) ? &s->pattern : &a, f.dtype, p->values, p->options.shift,
                           s->shifted);
    if (is_method(p, TRINE_PRECOND_ILUT)) {
        drop_factors(ctx, s);
        TRY(ilu_factor_threshold(&f, &a, p->options.drop_tolerance, p->options.row_entries, &s->pattern));
        s->values = f.values;
        s->made++;
        TRY(make_solves(p, s));
        p->info.factor_entries = s->pattern.nnz;
    } else if (is_method(p, TRINE_PRECOND_IC0)) {
        ilu_factor_cholesky(&f);
    } else {
        ilu_factor_lu(&f);
    }
    if (f.bad_row >= 0)
        precond_note_pivot(p, f.bad_row, is_method(p, TRINE_PRECOND_IC0) ? TRINE_ERR_NOT_DEFINITE : TRINE_ERR_SINGULAR);
    if (p->device) /* pivots are noted, and the factors are those of the GPU */
        return trine_copy(ctx, s->values, TRINE_HOST, s->device_values, TRINE_DEVICE,
                          (size_t)s->pattern.nnz * trine_dtype_size(p->base.dtype));
    for (int side = 0; side < SIDES; side++) {
        struct side_inverse *i = &s->inverses[side];
        if (s->solves[side]) TRY(trine_triangular_numeric(s->solves[side], TRINE_HOST, s->values, NULL));
        if (!i->t) continue;
        ilu_inverse_numeric(ctx, &s->pattern, s->values, p->base.dtype, &i->arrays);
        TRY(trine_spmv_numeric(i->t, TRINE_HOST, i->arrays.t, NULL));
        TRY(trine_spmv_numeric(i->w, TRINE_HOST, i->arrays.w, NULL));
    }
done:
    return status;
}

/** Triangular plans may solve by inverses: whether their errors need a step of refinement, and whether too many rows
 *  lose digits, their checks find out. */
static trine_status check(trine_precond p, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const struct ilu_state *s = p->state;
    const trine_exec exec = {.stream = stream};
    for (int side = 0; side < SIDES; side++)
        if (s->solves[side]) TRY(trine_triangular_check(s->solves[side], &exec));
done:
    return status;
}

/* -------------------------------------------------------------------- works */

static size_t scratch_bytes(trine_precond p, int64_t nrhs)
{
    const int64_t vectors = !is_method(p, TRINE_PRECOND_ISAI) ? 0 : p->options.sweeps > 1 ? 2 : 1;
    return (size_t)(vectors * nrhs * p->base.n) * trine_dtype_size(p->base.dtype);
}

static void drop_works(struct ilu_part *part)
{
    for (int side = 0; side < SIDES; side++) {
        trine_work_destroy(&part->solves[side]);
        for (int k = 0; k < 2; k++) trine_work_destroy(&part->products[side][k]);
    }
}

static trine_status make_works(trine_precond p, struct ilu_part *part, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    struct ilu_state *s = p->state;
    for (int side = 0; side < SIDES; side++) {
        if (s->solves[side]) TRY(trine_triangular_work(s->solves[side], nrhs, NULL, NULL, &part->solves[side]));
        if (!s->inverses[side].t) continue;
        TRY(trine_spmv_work(s->inverses[side].t, nrhs, NULL, NULL, &part->products[side][0]));
        TRY(trine_spmv_work(s->inverses[side].w, nrhs, NULL, NULL, &part->products[side][1]));
    }
    part->made = s->made;
done:
    return status;
}

static trine_status work_begin(trine_precond p, struct precond_work *work, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    struct ilu_part *part;
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
    work->part = NULL;
}

/* -------------------------------------------------------------------- apply */

/** One call, and vectors as it goes on. */
struct application {
    trine_precond p;
    struct ilu_state *s;
    struct ilu_part *part;
    trine_transpose op;
    void *stream;
};

static trine_status solve(const struct application *a, int side, trine_transpose op, const trine_dense *B,
                          const trine_dense *X)
{
    const trine_exec exec = {.stream = a->stream, .work = a->part->solves[side]};
    return trine_triangular_solve(a->s->solves[side], op, NULL, B, X, &exec);
}

/** M = L L^H is its own H, and of M^T = conj(M) there is conj(M^-1 conj(b)). */
static trine_status apply_cholesky(const struct application *a, const trine_dense *B, const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = a->p->base.ctx;
    const trine_dtype t = a->p->base.dtype;
    const bool conjugates = a->op == TRINE_T && trine_dtype_is_complex(t);
    if (conjugates) {
        TRY(trine_vectors_permute_conjugate(ctx, t, NULL, NULL, 0, B, X, a->stream));
        B = X;
    }
    TRY(solve(a, FIRST, TRINE_N, B, X));
    TRY(solve(a, FIRST, TRINE_H, X, X));
    if (conjugates) TRY(trine_vectors_permute_conjugate(ctx, t, NULL, NULL, 0, X, X, a->stream));
done:
    return status;
}

/** Y := sweeps steps y := y + op(W) (z - op(T) y) from y = 0. R: scratch, not used if there is one step. The steps of
 *  transposes are the transposed steps: W^T (I - T^T W^T)^q = (I - W^T T^T)^q W^T. */
static trine_status iterate(const struct application *a, int side, const trine_dense *Z, const trine_dense *Y,
                            const trine_dense *R)
{
    static const float minus_one_s[2] = {-1, 0}, one_s[2] = {1, 0};
    static const double minus_one_d[2] = {-1, 0}, one_d[2] = {1, 0};
    const bool single = trine_dtype_is_single(a->p->base.dtype);
    const void *one = single ? (const void *)one_s : one_d,
               *minus_one = single ? (const void *)minus_one_s : minus_one_d;
    const struct side_inverse *i = &a->s->inverses[side];
    const trine_exec with_t = {.stream = a->stream, .work = a->part->products[side][0]},
                     with_w = {.stream = a->stream, .work = a->part->products[side][1]};
    trine_status status = TRINE_SUCCESS;
    TRY(trine_spmv_apply(i->w, a->op, NULL, Z, NULL, Y, &with_w));
    for (int step = 1; step < a->p->options.sweeps; step++) {
        TRY(trine_plan_scale(&a->p->base, NULL, Z, R, a->stream));
        TRY(trine_spmv_apply(i->t, a->op, minus_one, Y, one, R, &with_t));
        TRY(trine_spmv_apply(i->w, a->op, NULL, R, one, Y, &with_w));
    }
done:
    return status;
}

static trine_status apply_inverses(const struct application *a, const struct precond_call *c)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = a->p->base.n;
    const int first = a->op == TRINE_N ? FIRST : SECOND;
    const trine_dense between = {c->work->scratch, n, c->X->cols, n, TRINE_COLMAJOR};
    trine_dense R = between;
    R.data = (char *)R.data + (size_t)(n * R.cols) * trine_dtype_size(a->p->base.dtype);
    TRY(iterate(a, first, c->B, &between, &R));
    TRY(iterate(a, !first, &between, c->X, &R));
done:
    return status;
}

static trine_status apply(trine_precond p, const struct precond_call *c)
{
    trine_status status = TRINE_SUCCESS;
    struct ilu_state *s = p->state;
    struct ilu_part *part = c->work->part;
    const struct application a = {.p = p, .s = s, .part = part, .op = c->op, .stream = c->stream};
    const int first = c->op == TRINE_N ? FIRST : SECOND;
    if (part->made != s->made) { /* ILUT: new plans since */
        drop_works(part);
        TRY(make_works(p, part, c->work->base.max_nrhs));
    }
    if (is_method(p, TRINE_PRECOND_ISAI)) return apply_inverses(&a, c);
    if (is_method(p, TRINE_PRECOND_IC0)) return apply_cholesky(&a, c->B, c->X);
    TRY(solve(&a, first, c->op, c->B, c->X));
    TRY(solve(&a, !first, c->op, c->X, c->X));
done:
    return status;
}

/* --------------------------------------------------------------------- life */

static int64_t pattern_bytes(const struct ilu_pattern *q)
{
    if (q->is_lent) return 0;
    return (q->n + 1) * 8 + q->n * 8 + q->nnz * (4 + (q->source ? 8 : 0));
}

static int64_t memory(trine_precond p)
{
    const struct ilu_state *s = p->state;
    const int64_t size = (int64_t)trine_dtype_size(p->base.dtype), n = p->base.n;
    int64_t bytes = (int64_t)sizeof *s + pattern_bytes(&s->pattern) + s->pattern.nnz * size;
    if (s->shifted) bytes += n * size;
    if (s->levels) {
        const struct precond_device_pattern *d = &s->on_device;
        bytes += (s->n_levels + 1) * 8 + (d->n + 1) * 8 + d->n * 12 + d->nnz * (4 + (d->source ? 8 : 0) + size);
    }
    if (s->schedule.threads) bytes += s->schedule.threads * n * size;
    if (s->schedule.threads > 1) bytes += (s->schedule.n_tasks + 1) * 8 + n;
    for (int side = 0; side < SIDES; side++) {
        const struct ilu_inverse *v = &s->inverses[side].arrays;
        trine_triangular_info info;
        if (s->solves[side] && !trine_triangular_get_info(s->solves[side], &info)) bytes += info.bytes;
        if (v->offsets) bytes += (n + 1) * 8 + v->nnz * (4 + 2 * size) + v->threads * n * size;
    }
    return bytes;
}

static void release(trine_precond p)
{
    trine_context ctx = p->base.ctx;
    struct ilu_state *s = p->state;
    if (!s) return;
    drop_factors(ctx, s);
    close_device(ctx, s);
    ilu_schedule_free(ctx, &s->schedule);
    trine_free(ctx, TRINE_HOST, s->scratch);
    trine_free(ctx, TRINE_HOST, s->shifted);
    for (int side = 0; side < SIDES; side++) {
        struct side_inverse *i = &s->inverses[side];
        trine_spmv_destroy(&i->t);
        trine_spmv_destroy(&i->w);
        trine_matrix_destroy(&i->matrix_t);
        trine_matrix_destroy(&i->matrix_w);
        ilu_inverse_free(ctx, &i->arrays);
    }
    trine_free(ctx, TRINE_HOST, s);
    p->state = NULL;
}

const struct precond_method precond_ilu = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                           .check_options = check_options,
                                           .analyse = analyse,
                                           .numeric = numeric,
                                           .numeric_on_device = numeric_on_device,
                                           .check = check,
                                           .apply = apply,
                                           .scratch_bytes = scratch_bytes,
                                           .work_begin = work_begin,
                                           .work_end = work_end,
                                           .memory = memory,
                                           .release = release};

/* ------------------------------------------------------------------ factors */

trine_status trine_precond_get_triangles(trine_precond p, int64_t *nnz, const int64_t **offsets,
                                         const int32_t **columns, const void **values)
{
    REQUIRE(p, "plan is NULL");
    if (p->method != &precond_ilu)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s is no incomplete factorization",
                          trine_precond_method_name(p->options.method));
    trine_status status = trine_plan_needs_values(&p->base, "the triangles");
    if (!status) status = precond_bring_home(p);
    if (status) return status;
    const struct ilu_state *s = p->state;
    if (nnz) *nnz = s->pattern.nnz;
    if (offsets) *offsets = s->pattern.offsets;
    if (columns) *columns = s->pattern.columns;
    if (values) *values = s->values;
    return TRINE_SUCCESS;
}
