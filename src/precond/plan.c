/* The plan of preconditioners: arguments, phases, layouts. What a method does is in its table (precond.h). */
#include <math.h>
#include <string.h>

#include "core/team.h"
#include "operator/operator.h"
#include "precond/common/rows.h"
#include "precond/paths.h"

static const char *const names[] = {
    [TRINE_PRECOND_AUTO] = "auto",       [TRINE_PRECOND_DIAGP0] = "diagp0",
    [TRINE_PRECOND_DIAGP1] = "diagp1",   [TRINE_PRECOND_DIAGP2] = "diagp2",
    [TRINE_PRECOND_L1] = "l1",           [TRINE_PRECOND_TRIDIAG] = "tridiag",
    [TRINE_PRECOND_ALG_TRI] = "alg-tri", [TRINE_PRECOND_ALG_TRI_BLOCK] = "alg-tri-block",
    [TRINE_PRECOND_ALT_O] = "alt-o",     [TRINE_PRECOND_ALT_I] = "alt-i",
    [TRINE_PRECOND_MOS_D] = "mos-d",     [TRINE_PRECOND_MOS_A] = "mos-a",
    [TRINE_PRECOND_ADI] = "adi",         [TRINE_PRECOND_PRODUCT] = "product",
    [TRINE_PRECOND_ILU0] = "ilu0",       [TRINE_PRECOND_ILUK] = "iluk",
    [TRINE_PRECOND_ILUT] = "ilut",       [TRINE_PRECOND_IC0] = "ic0",
    [TRINE_PRECOND_ISAI] = "isai",       [TRINE_PRECOND_MULTILEVEL] = "multilevel"};

const char *trine_precond_method_name(trine_precond_method method)
{
    return (unsigned)method < TRINE_PRECOND_METHODS ? names[method] : "unknown";
}

static const struct precond_method *find_method(trine_precond_method method)
{
    switch (method) {
    case TRINE_PRECOND_DIAGP0:
    case TRINE_PRECOND_DIAGP1:
    case TRINE_PRECOND_DIAGP2:
    case TRINE_PRECOND_L1: return &precond_diagonal;
    case TRINE_PRECOND_TRIDIAG:
    case TRINE_PRECOND_ALG_TRI:
    case TRINE_PRECOND_ALT_O:
    case TRINE_PRECOND_ALT_I:
    case TRINE_PRECOND_MOS_D:
    case TRINE_PRECOND_MOS_A:
    case TRINE_PRECOND_ADI: return &precond_paths;
    case TRINE_PRECOND_ALG_TRI_BLOCK: return &precond_blocks;
    case TRINE_PRECOND_ILU0:
    case TRINE_PRECOND_ILUK:
    case TRINE_PRECOND_ILUT:
    case TRINE_PRECOND_IC0:
    case TRINE_PRECOND_ISAI: return &precond_ilu;
    case TRINE_PRECOND_MULTILEVEL: return &precond_multilevel;
    default: return NULL;
    }
}

/* -------------------------------------------------------------------- life */

enum { ALIGNMENT = 256 };

/** Bytes of a work's block of packed columns, at its beginning: row-major blocks pass through it. */
static size_t packed_bytes(const struct trine_plan *plan, int64_t nrhs)
{
    const size_t bytes = (size_t)plan->n * (size_t)nrhs * trine_dtype_size(plan->dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t precond_work_bytes(trine_precond p, int64_t nrhs)
{
    return packed_bytes(&p->base, nrhs) + (p->method->scratch_bytes ? p->method->scratch_bytes(p, nrhs) : 0);
}
static size_t work_bytes(struct trine_plan *base, int64_t nrhs)
{
    return precond_work_bytes((trine_precond)base, nrhs);
}

static trine_status work_begin(struct trine_plan *base, trine_plan_work *work)
{
    trine_precond p = (trine_precond)base;
    struct precond_work *w = (struct precond_work *)work;
    w->scratch = work->buffer ? (char *)work->buffer + packed_bytes(base, work->max_nrhs) : NULL;
    return p->method->work_begin ? p->method->work_begin(p, w, work->max_nrhs) : TRINE_SUCCESS;
}

static void work_end(trine_plan_work *work)
{
    trine_precond p = (trine_precond)(void *)work->base.plan;
    if (p->method->work_end) p->method->work_end(p, (struct precond_work *)work);
}

static void release(struct trine_plan *base)
{
    trine_precond p = (trine_precond)base;
    if (p->method && p->method->release) p->method->release(p);
    precond_close_device(p);
    pthread_mutex_destroy(&p->home_lock);
    trine_matrix_destroy(&p->matrix);
    void *arrays[] = {p->offsets, p->columns, p->diagonal, p->values, p->positions};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(base->ctx, TRINE_HOST, arrays[k]);
}

static trine_status solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec)
{
    return trine_precond_apply((trine_precond)plan, op, alpha, B, X, exec);
}

static const trine_plan_kind kind = {.name = "precond",
                                     .work_size = sizeof(struct precond_work),
                                     .work_bytes = work_bytes,
                                     .work_begin = work_begin,
                                     .work_end = work_end,
                                     .release = release,
                                     .solve = solve};

trine_status trine_precond_destroy(trine_precond *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_precond p = *out;
    *out = NULL;
    return trine_plan_drop(&p->base);
}

trine_status trine_precond_work(trine_precond p, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_plan_make_work(p ? &p->base : NULL, nrhs, buffer, bytes, out);
}

trine_status trine_precond_as_op(trine_precond p, trine_op *op)
{
    const trine_status status = trine_plan_as_op(p ? &p->base : NULL, op);
    if (status || !p->method->diagonal) return status;
    (*op)->diagonal = p->method->diagonal(p);
    (*op)->divides = true;
    return TRINE_SUCCESS;
}

/* ----------------------------------------------------------------- analyse */

trine_status precond_check_options(const trine_precond_options *o)
{
    REQUIRE_RESERVE(trine_precond_options, o);
    REQUIRE((unsigned)o->method < TRINE_PRECOND_METHODS, "method %d does not exist", (int)o->method);
    REQUIRE(o->method != TRINE_PRECOND_PRODUCT, "method product is made by trine_precond_product");
    REQUIRE(!(o->ops & ~(unsigned)(TRINE_N | TRINE_T | TRINE_H)), "ops %u has bits that are no operation", o->ops);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    return TRINE_SUCCESS;
}

/** What options leave open, the method's own apart. */
static trine_status settle(trine_precond p, const trine_precond_options *options)
{
    trine_status status = TRINE_SUCCESS;
    p->options = *options;
    p->method = find_method(options->method);
    if (!p->method)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s is not there", trine_precond_method_name(options->method));
    if (!p->options.ops) p->options.ops = TRINE_N;
    if (!p->options.max_nrhs) p->options.max_nrhs = 1;
    p->base.ops = p->options.ops;
    p->info.method = options->method;
    if (p->options.ops & ~p->method->ops)
        FAIL(TRINE_ERR_UNSUPPORTED, "method %s has no transposed application",
             trine_precond_method_name(options->method));
    if (p->method->check_options) TRY(p->method->check_options(&p->options));
done:
    return status;
}

trine_status precond_new_plan(trine_context ctx, trine_precond *out)
{
    trine_precond p = trine_plan_new(ctx, &kind, sizeof *p);
    *out = p;
    if (!p) return TRINE_ERR_MEMORY;
    trine_team_start(ctx);
    p->not_finite_row = p->pivot_row = -1;
    pthread_mutex_init(&p->home_lock, NULL);
    p->info.reason = "asked for";
    p->info.deterministic = 1;
    return TRINE_SUCCESS;
}

trine_status precond_prepare(trine_precond p, trine_matrix A, const trine_precond_options *options)
{
    trine_status status = TRINE_SUCCESS;
    trine_precond_options chosen = *options;
    p->given = A;
    if (chosen.method != TRINE_PRECOND_AUTO) TRY(settle(p, &chosen)); /* options first */
    TRY(precond_take_pattern(p, A));
    if (chosen.method == TRINE_PRECOND_AUTO) {
        TRY(precond_choose(p, &chosen));
        TRY(settle(p, &chosen));
    }
    TRY(trine_check_nrhs(p->options.max_nrhs, p->base.n));
    TRY(p->method->analyse(p));
    precond_close_look(p);
done:
    return status;
}

static const trine_precond_options automatic;

trine_status trine_precond_analyse(trine_context ctx, trine_precond *out, trine_matrix A,
                                   const trine_precond_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    if (!options) options = &automatic;
    trine_status status = precond_check_options(options);
    if (status) return status;

    const double start = trine_wall_time();
    trine_precond p = NULL;
    TRY(precond_new_plan(ctx, &p));
    TRY(precond_prepare(p, A, options));
    if (p->method->memory) p->info.bytes += p->method->memory(p);
    p->info.bytes += precond_device_bytes(p);
    TRY(trine_plan_make_own_work(&p->base, p->options.max_nrhs));
    trine_plan_analysed(&p->base, start, "nnz %lld, %s (%s)", (long long)p->nnz,
                        trine_precond_method_name(p->options.method), p->info.reason);
    *out = p;
    return TRINE_SUCCESS;
done:
    trine_precond_destroy(&p);
    return status;
}

/* ----------------------------------------------------------------- numeric */

static trine_status values_of_matrix(trine_precond p, trine_space *space, const void **values)
{
    trine_matrix_info m;
    trine_matrix_get_info(p->given, &m);
    trine_matrix_get_arrays(p->given, NULL, NULL, values);
    *space = m.space;
    if (!*values && p->nnz)
        return trine_fail(TRINE_ERR_STATE, "the matrix given to analyse is a pattern without values");
    return TRINE_SUCCESS;
}

/** On a GPU everything runs on the context's stream, between what the caller's stream has before and after it. */
static trine_status run_numeric(trine_precond p, trine_space space, const void *values, trine_reuse reuse,
                                const trine_exec *exec)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    if (ctx->cuda) TRY(trine_device_synchronize(ctx, trine_exec_stream(ctx, exec)));
    p->pivot_row = -1;
    p->is_home = false;
    TRY((p->device ? precond_take_device_values : precond_take_values)(p, space, values));
    TRY((p->device ? p->method->numeric_on_device : p->method->numeric)(p, reuse));
    if (ctx->cuda) TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    return status;
}

trine_status trine_precond_numeric(trine_precond p, trine_space space, const void *values, trine_reuse reuse,
                                   const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(p, "plan is NULL");
    REQUIRE(p->options.method != TRINE_PRECOND_PRODUCT, "a product of operators takes no values");
    REQUIRE(reuse == TRINE_REUSE_FORESTS || reuse == TRINE_REUSE_NOTHING, "reuse %d does not exist", (int)reuse);
    trine_status status = values ? TRINE_SUCCESS : values_of_matrix(p, &space, &values);
    if (status) return status;
    double start;
    status = trine_plan_numeric_begin(&p->base, space, exec, &start);
    if (status) return status;
    return trine_plan_numeric_end(&p->base, run_numeric(p, space, values, reuse, exec), start);
}

trine_status trine_precond_check(trine_precond p, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(p, "plan is NULL");
    trine_status status = trine_plan_check_begin(&p->base, exec);
    if (!status) status = precond_bring_home(p);
    if (status) return status;
    if (p->not_finite_row >= 0)
        return trine_fail(TRINE_ERR_ARGUMENT, "row %lld of the matrix has a NaN or Inf", (long long)p->not_finite_row);
    if (p->pivot_row >= 0)
        return trine_fail(p->pivot_status, "%s: the pivot of row %lld is %s",
                          trine_precond_method_name(p->options.method), (long long)p->pivot_row,
                          p->pivot_status == TRINE_ERR_NOT_DEFINITE ? "not positive" : "zero or not finite");
    return p->method->check ? p->method->check(p, trine_exec_stream(p->base.ctx, exec)) : TRINE_SUCCESS;
}

/* ------------------------------------------------------------------- apply */

/** One column without gaps is the same in both layouts. */
static trine_dense by_columns(const trine_dense *X, int64_t n)
{
    trine_dense columns = *X;
    if (X->layout == TRINE_ROWMAJOR && X->cols == 1 && X->ld == 1) columns.layout = TRINE_COLMAJOR, columns.ld = n;
    return columns;
}

typedef trine_status (*run_fn)(trine_precond p, const struct precond_call *call, int part);

/** X := alpha run(B), from and to any layout. */
static trine_status run_in_columns(trine_precond p, const trine_plan_call *call, run_fn run, int part)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = p->base.n;
    struct precond_work *work = (struct precond_work *)call->work;
    trine_dense B = by_columns(&call->B, n), X = by_columns(&call->X, n);
    const trine_dense packed = {work->base.buffer, n, X.cols, n, TRINE_COLMAJOR};
    const bool is_packed = X.layout == TRINE_ROWMAJOR || B.layout == TRINE_ROWMAJOR;
    const trine_dense columns = is_packed ? packed : X;
    if (is_packed) {
        TRY(trine_plan_scale(&p->base, NULL, &B, &columns, call->stream));
        B = columns;
    }
    const struct precond_call inner = {.op = call->op, .B = &B, .X = &columns, .work = work, .stream = call->stream};
    TRY(run(p, &inner, part));
    TRY(trine_plan_scale(&p->base, call->alpha, &columns, &X, call->stream));
done:
    return status;
}

static trine_status run_method(trine_precond p, const struct precond_call *call, int part)
{
    (void)part;
    return p->method->apply(p, call);
}

static trine_status apply(trine_precond p, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec, run_fn run, int part)
{
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(p ? &p->base : NULL, op, alpha, B, X, exec, &call);
    if (status) return status;
    if (!call.is_done) status = run_in_columns(p, &call, run, part);
    return trine_plan_solve_end(&p->base, &call, status);
}

trine_status trine_precond_apply(trine_precond p, trine_transpose op, const void *alpha, const trine_dense *B,
                                 const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    return apply(p, op, alpha, B, X, exec, run_method, 0);
}

/* ------------------------------------------------------------------- parts */

trine_status precond_apply_part(trine_precond p, int part, trine_transpose op, const void *alpha, const trine_dense *B,
                                const trine_dense *X, const trine_exec *exec)
{
    return apply(p, op, alpha, B, X, exec, precond_run_part, part);
}

/** What has a factor l, and values. */
static trine_status check_part(trine_precond p, int l)
{
    REQUIRE(p, "plan is NULL");
    if (p->method != &precond_paths)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s has no factors",
                          trine_precond_method_name(p->options.method));
    const trine_status status = trine_plan_needs_values(&p->base, "a factor");
    if (status) return status;
    REQUIRE(l >= 0 && l < p->info.m, "factor %d is outside 0..%d", l, p->info.m - 1);
    return TRINE_SUCCESS;
}

trine_status trine_precond_part(trine_precond p, int l, trine_op *op)
{
    REQUIRE(op, "op is NULL");
    *op = NULL;
    const trine_status status = check_part(p, l);
    return status ? status : precond_part_op(p, l, op);
}

trine_status trine_precond_get_factor(trine_precond p, int l, void *a, void *b, void *c, int32_t *permutation)
{
    trine_status status = check_part(p, l);
    if (!status) status = precond_bring_home(p);
    if (status) return status;
    precond_copy_factor(p, l, a, b, c, permutation);
    return TRINE_SUCCESS;
}

trine_status trine_precond_diagnose(trine_precond p, trine_precond_diagnosis *diagnosis)
{
    TRINE_RANGE;
    REQUIRE(p, "plan is NULL");
    REQUIRE(diagnosis, "diagnosis is NULL");
    REQUIRE(p->options.method != TRINE_PRECOND_PRODUCT, "a product of operators has no values to diagnose");
    trine_status status = trine_plan_read_begin(&p->base, "diagnose");
    if (status) return status;
    *diagnosis = (trine_precond_diagnosis){.m = p->info.m, .R_norm = NAN};
    for (int l = 0; l < TRINE_PRECOND_MAX_M; l++) diagnosis->coverage[l] = NAN;
    for (int l = 0; l <= TRINE_PRECOND_MAX_M; l++) diagnosis->c_diag[l] = NAN;
    status = precond_bring_home(p);
    if (!status) diagnosis->diagonal = precond_diagonal_coverage(p);
    if (!status && p->method == &precond_paths) status = precond_diagnose_paths(p, diagnosis);
    trine_leave(&p->base.usage);
    return status;
}

trine_status trine_precond_get_diagonal(trine_precond p, void *T)
{
    REQUIRE(p, "plan is NULL");
    REQUIRE(T || !p->base.n, "T is NULL");
    trine_status status = trine_plan_needs_values(&p->base, "the diagonal");
    if (!status) status = precond_bring_home(p);
    if (status) return status;
    const void *diagonal = precond_get_T(p);
    if (!diagonal)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s has no diagonal T",
                          trine_precond_method_name(p->options.method));
    if (p->base.n) memcpy(T, diagonal, (size_t)p->base.n *trine_dtype_size(p->base.dtype));
    return TRINE_SUCCESS;
}

trine_status trine_precond_get_info(trine_precond p, trine_precond_info *info)
{
    REQUIRE(p, "plan is NULL");
    REQUIRE(info, "info is NULL");
    *info = p->info;
    info->analyse_seconds = p->base.analyse_seconds;
    info->numeric_seconds = p->base.numeric_seconds;
    return TRINE_SUCCESS;
}
