/* Life of a supernodal plan; the method is in common/ and in the backends, cpu/ and cuda/. */
#include <string.h>

#include "core/tally.h"
#include "supernodal/supernodal.h"

/* -------------------------------------------------------------------- life */

static trine_supernodal as_supernodal(struct trine_plan *plan) { return (trine_supernodal)plan; }

/** Whether values and vectors are to be converted around the backend's calls; a GPU's kernels do it themselves. */
static bool converts_outside(trine_supernodal plan) { return plan->base.dtype != plan->dtype && !plan->base.ctx->cuda; }

static size_t work_bytes(struct trine_plan *base, int64_t nrhs)
{
    trine_supernodal plan = as_supernodal(base);
    return plan->backend->work_bytes(plan, nrhs) +
           (converts_outside(plan) ? supernodal_single_work_bytes(plan, nrhs) : 0);
}

static trine_status work_begin(struct trine_plan *base, trine_plan_work *work)
{
    trine_supernodal plan = as_supernodal(base);
    return plan->backend->work_init(plan, (supernodal_work *)work);
}

static void work_end(trine_plan_work *work)
{
    const trine_supernodal plan = work->base.plan;
    if (plan->backend->work_free) plan->backend->work_free(work->base.ctx, (supernodal_work *)work);
}

static void release(struct trine_plan *base)
{
    trine_supernodal P = as_supernodal(base);
    trine_context ctx = base->ctx;
    if (P->device) P->backend->destroy(P);
    trine_free(ctx, ctx->info.space, P->values);
    trine_free(ctx, TRINE_HOST, P->factor_values);
    trine_free(ctx, ctx->info.space, P->places.of_entry);
    trine_free(ctx, ctx->info.space, P->panel_values);
    supernodal_structure_free(&P->S);
}

static trine_status solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec)
{
    return trine_supernodal_solve(as_supernodal(plan), op, alpha, B, X, exec);
}

static const trine_plan_kind kind = {.name = "supernodal",
                                     .work_size = sizeof(supernodal_work),
                                     .work_bytes = work_bytes,
                                     .work_begin = work_begin,
                                     .work_end = work_end,
                                     .release = release,
                                     .solve = solve};

trine_status trine_supernodal_destroy(trine_supernodal *plan)
{
    if (!plan || !*plan) return TRINE_SUCCESS;
    trine_supernodal P = *plan;
    *plan = NULL;
    return trine_plan_drop(&P->base);
}

trine_status trine_supernodal_as_op(trine_supernodal plan, trine_op *op)
{
    return trine_plan_as_op(plan ? &plan->base : NULL, op);
}

trine_status trine_supernodal_work(trine_supernodal plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work)
{
    return trine_plan_make_work(plan ? &plan->base : NULL, nrhs, buffer, bytes, work);
}

/* ----------------------------------------------------------------- analyse */

/** What is known of the number of panels solved by substitution. */
static int64_t substituted_before_check(trine_supernodal plan)
{
    return plan->invert == TRINE_INVERT_NONE ? plan->S.n_panels : plan->chooses && plan->S.n ? -1 : 0;
}

/** Whether solves with op N do, as those with T and H always do. */
static bool sums_in_order(trine_context ctx, const trine_supernodal_options *o)
{
    return o->access == TRINE_ACCESS_PULL || o->variant == TRINE_VARIANT_SPMV ||
           (o->variant == TRINE_VARIANT_DYNAMIC && !ctx->cuda);
}

/** Check what is asked for and replace what is automatic. */
static trine_status settle(trine_context ctx, trine_supernodal_options *o)
{
    REQUIRE_RESERVE(trine_supernodal_options, o);
    REQUIRE(o->invert >= TRINE_INVERT_AUTO && o->invert <= TRINE_INVERT_FULL, "there is no inversion %d",
            (int)o->invert);
    REQUIRE(o->variant >= TRINE_VARIANT_AUTO && o->variant <= TRINE_VARIANT_SPMV, "there is no variant %d",
            (int)o->variant);
    REQUIRE(o->access >= TRINE_ACCESS_AUTO && o->access <= TRINE_ACCESS_PULL, "there is no access %d", (int)o->access);
    REQUIRE(o->fill < 1, "a fill limit of %g leaves no entries; below 1 is possible", o->fill);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    REQUIRE(o->threshold >= 0, "threshold is %lld", (long long)o->threshold);
    REQUIRE(o->streams >= 0 && o->streams <= 32, "%d streams; 1 to 32 are possible", o->streams);
    REQUIRE(o->teams >= 0, "teams is %lld", (long long)o->teams);
    REQUIRE((unsigned)o->summation <= TRINE_ORDER_FREE, "summation %d does not exist", (int)o->summation);
    if (!o->max_nrhs) o->max_nrhs = 1;
    if (!o->threshold) o->threshold = 250;
    if (!o->streams) o->streams = 5;
    if (o->fill == 0) o->fill = ctx->cuda ? 0.1 : 0.03;
    if (!o->variant) o->variant = TRINE_VARIANT_DYNAMIC;
    if (!o->invert)
        o->invert = o->variant == TRINE_VARIANT_SPMV || (ctx->cuda && o->variant == TRINE_VARIANT_DYNAMIC)
                        ? TRINE_INVERT_OFF
                        : TRINE_INVERT_NONE;
    if (o->summation == TRINE_ORDER_DETERMINISTIC && !sums_in_order(ctx, o)) {
        if (o->access == TRINE_ACCESS_PUSH)
            return trine_fail(TRINE_ERR_UNSUPPORTED, "TRINE_ACCESS_PUSH adds in any order and cannot be deterministic");
        o->access = TRINE_ACCESS_PULL;
    }
    if (o->variant == TRINE_VARIANT_SPMV && o->invert == TRINE_INVERT_NONE)
        return trine_fail(
            TRINE_ERR_UNSUPPORTED,
            "TRINE_VARIANT_SPMV takes inverted diagonal blocks only (TRINE_INVERT_OFF, TRINE_INVERT_DIAG)");
    return TRINE_SUCCESS;
}

/** All but the plan's own work. */
static trine_status analyse(trine_context ctx, trine_supernodal *plan, const trine_panels *panels,
                            const trine_supernodal_options *options)
{
    REQUIRE(panels, "panels is NULL");
    REQUIRE(trine_dtype_is_valid(panels->dtype), "dtype %d is none of S, D, C, Z", (int)panels->dtype);
    REQUIRE(panels->diag == TRINE_NONUNIT || panels->diag == TRINE_UNIT, "diag %d is neither NONUNIT nor UNIT",
            (int)panels->diag);
    trine_supernodal_options given = options ? *options : (trine_supernodal_options){0};
    trine_status status = settle(ctx, &given);
    if (status) return status;
    REQUIRE(!given.single || !trine_dtype_is_single(panels->dtype), "the factor is in single precision already");
    status = trine_check_nrhs(given.max_nrhs, panels->n);
    if (status) return status;

    trine_supernodal P = trine_plan_new(ctx, &kind, sizeof *P);
    if (!P) return TRINE_ERR_MEMORY;
    P->base.dtype = panels->dtype;
    P->base.n = panels->n;
    P->base.ops = TRINE_N | TRINE_T | TRINE_H;
    P->dtype = !given.single ? panels->dtype : panels->dtype == TRINE_D ? TRINE_S : TRINE_C;
    P->diag = panels->diag;
    P->options = given;
    P->invert = given.invert == TRINE_INVERT_FULL ? TRINE_INVERT_OFF : given.invert;
    P->chooses = ctx->cuda && (!options || !options->invert) && given.variant == TRINE_VARIANT_DYNAMIC;
    P->backend = ctx->cuda ? TRINE_CUDA_TABLE(&supernodal_cuda) : &supernodal_cpu;
    const int padding = (int)(16 / trine_dtype_size(P->dtype)); /* columns start on 16 bytes */
    /* A GPU spends one to two microseconds on the step from one level to the next; meanwhile it could read this
     * (measured). */
    const double level_zeros = ctx->cuda && given.fill > 0 ? 2.4e6 / (double)trine_dtype_size(P->dtype) : 0;
    TRY(supernodal_symbolic(ctx, panels, given.invert == TRINE_INVERT_FULL ? 1 : given.fill, level_zeros, padding,
                            &P->S));
    /* vector instructions read beyond the last value */
    const size_t bytes = (size_t)P->S.n_values * trine_dtype_size(P->dtype) + 64;
    if (trine_alloc_untouched(ctx, bytes, &P->values))
        FAIL(TRINE_ERR_MEMORY,
             "no memory for %zu bytes of panels (%lld entries); the general triangular solve needs less", bytes,
             (long long)P->S.n_values);
    P->bytes = (int64_t)bytes;
    P->substituted = substituted_before_check(P);
    TRY(P->backend->analyse(P));
    *plan = P;
    P = NULL;
done:
    trine_supernodal_destroy(&P);
    return status;
}

trine_status trine_supernodal_analyse(trine_context ctx, trine_supernodal *plan, const trine_panels *panels,
                                      const trine_supernodal_options *options)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    *plan = NULL;
    REQUIRE(ctx, "ctx is NULL");
    trine_status status = TRINE_SUCCESS;
    const double start = trine_wall_time();
    trine_supernodal P = NULL;
    TRY(analyse(ctx, &P, panels, options));
    TRY(trine_plan_make_own_work(&P->base, P->options.max_nrhs));
    trine_plan_analysed(&P->base, start, "nnz %lld (%lld given), levels %lld, panels %lld (%lld given)",
                        (long long)P->S.nnz_merged, (long long)P->S.nnz, (long long)P->S.levels,
                        (long long)P->S.n_panels, (long long)P->S.n_sources);
    *plan = P;
    P = NULL;
done:
    trine_supernodal_destroy(&P);
    return status;
}

trine_status trine_supernodal_memory(trine_context ctx, const trine_panels *panels,
                                     const trine_supernodal_options *options, trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(memory, "memory is NULL");
    trine_tally_context tally;
    trine_supernodal P = NULL;
    trine_tally_begin(&tally, ctx);
    const trine_status status = analyse(&tally.ctx, &P, panels, options);
    if (!status)
        trine_tally_report(&tally, sizeof(supernodal_work) + (ctx->cuda ? SUPERNODAL_WORK_PART : 0),
                           work_bytes(&P->base, P->options.max_nrhs), memory);
    trine_supernodal_destroy(&P);
    trine_tally_end(&tally);
    return status;
}

trine_status supernodal_take_values(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    return converts_outside(plan) ? supernodal_single_numeric(plan, values)
                                  : plan->backend->numeric(plan, space, values, stream);
}

typedef trine_status (*take_values_fn)(trine_supernodal plan, trine_space space, const void *values, void *stream);
static trine_status numeric(trine_supernodal plan, trine_space space, const void *values, const trine_exec *exec,
                            take_values_fn take)
{
    REQUIRE(values || !plan->S.n, "values is NULL");
    double start;
    trine_status status = trine_plan_numeric_begin(&plan->base, space, exec, &start);
    if (status) return status;
    plan->substituted = substituted_before_check(plan);
    plan->growth = plan->invert == TRINE_INVERT_NONE || !plan->S.n ? 0 : -1;
    plan->beyond_single = plan->given_is_nan = false;
    if (plan->S.n) status = take(plan, space, values, trine_exec_stream(plan->base.ctx, exec));
    return trine_plan_numeric_end(&plan->base, status, start);
}

trine_status trine_supernodal_numeric(trine_supernodal plan, trine_space space, const void *values,
                                      const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    return numeric(plan, space, values, exec,
                   plan->from_triangle ? supernodal_triangle_numeric : supernodal_take_values);
}

/** TRINE_ERR_STRUCTURE unless the panels are those analysed. */
static trine_status same_structure(const supernodal_structure *S, const trine_panels *panels)
{
    if (panels->n != S->n || panels->n_panels != S->n_sources)
        return trine_fail(TRINE_ERR_STRUCTURE, "%lld panels of %lld columns, but %lld of %lld were analysed",
                          (long long)panels->n_panels, (long long)panels->n, (long long)S->n_sources, (long long)S->n);
    for (int64_t s = 0; s < S->n_sources; s++) {
        const supernodal_panel *p = &S->panels[S->target[s]];
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s];
        const int32_t *rows = panels->rows + panels->row_offsets[s], *place = S->source_rows + S->source_row_offsets[s];
        bool same = panels->first_column[s + 1] - panels->first_column[s] == S->source_width[s] &&
                    panels->row_offsets[s + 1] - panels->row_offsets[s] == height &&
                    panels->value_offsets[s] == S->source_value_offsets[s];
        for (int64_t r = 0; same && r < height; r++) same = rows[r] == S->original[S->rows[p->rows + place[r]]];
        if (!same)
            return trine_fail(TRINE_ERR_STRUCTURE, "the structure of panel %lld is not the one analysed", (long long)s);
    }
    return TRINE_SUCCESS;
}

trine_status trine_supernodal_update(trine_supernodal plan, const trine_panels *panels, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    REQUIRE(panels, "panels is NULL");
    REQUIRE(panels->dtype == plan->base.dtype && panels->diag == plan->diag,
            "dtype %d and diag %d, but %d and %d were analysed", (int)panels->dtype, (int)panels->diag,
            (int)plan->base.dtype, (int)plan->diag);
    REQUIRE(!panels->n_panels || (panels->first_column && panels->row_offsets && panels->rows && panels->value_offsets),
            "first_column, row_offsets, rows or value_offsets is NULL");
    const trine_status status = same_structure(&plan->S, panels);
    return status ? status : numeric(plan, TRINE_HOST, panels->values, exec, supernodal_take_values);
}

trine_status trine_supernodal_check(trine_supernodal plan, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    int64_t row;
    trine_status status = trine_plan_check_begin(&plan->base, exec);
    if (status || !plan->S.n) return status;
    status = plan->backend->examine(plan, trine_exec_stream(plan->base.ctx, exec), &row);
    if (status) return status;
    if (!(plan->growth <= SUPERNODAL_MOST_GROWTH) && plan->substituted)
        trine_log(plan->base.ctx, 2,
                  "supernodal: inverted panels give backward errors of %.3g eps: %lld of %lld are substituted",
                  plan->growth, (long long)plan->substituted, (long long)plan->S.n_panels);
    else if (!(plan->growth <= SUPERNODAL_MOST_GROWTH))
        trine_log(plan->base.ctx, 1, "supernodal: inverted panels give backward errors of %.3g eps", plan->growth);
    if (plan->beyond_single)
        return trine_fail(
            TRINE_ERR_NO_CONVERGENCE,
            "values of the factor are beyond the range of single precision: scale the matrix, or keep the factor in double");
    if (row >= 0)
        return trine_fail(TRINE_ERR_SINGULAR, "the pivot in row %lld is zero%s or NaN%s", (long long)row,
                          plan->base.dtype != plan->dtype ? ", subnormal" : "",
                          plan->base.dtype != plan->dtype ? ", rounded to single precision" : "");
    return TRINE_SUCCESS;
}

/* ------------------------------------------------------------------- solve */

static trine_status solve_panels(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                                 const trine_dense *X, supernodal_work *work, void *stream)
{
    return converts_outside(plan) ? supernodal_single_solve(plan, op, alpha, B, X, work)
                                  : plan->backend->solve(plan, op, alpha, B, X, work, stream);
}

/** With T = L^T of a plan from an upper triangle, op(T)^-1 is L^-T, L^-1 or conj(L)^-1, which is conj(L^-1 conj(.)). */
static trine_status solve_upper(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                                const trine_dense *X, supernodal_work *work, void *stream)
{
    if (op == TRINE_N) return solve_panels(plan, TRINE_T, alpha, B, X, work, stream);
    if (op == TRINE_T || !trine_dtype_is_complex(plan->base.dtype))
        return solve_panels(plan, TRINE_N, alpha, B, X, work, stream);
    float single[2] = {0, 0};
    double wide[2] = {0, 0};
    const bool is_single = trine_dtype_is_single(plan->base.dtype);
    memcpy(is_single ? (void *)single : wide, alpha, trine_dtype_size(plan->base.dtype));
    single[1] = -single[1];
    wide[1] = -wide[1];
    trine_status status = TRINE_SUCCESS;
    TRY(trine_vectors_permute_conjugate(plan->base.ctx, plan->base.dtype, NULL, NULL, 0, B, X, stream));
    TRY(solve_panels(plan, TRINE_N, is_single ? (const void *)single : wide, X, X, work, stream));
    TRY(trine_vectors_permute_conjugate(plan->base.ctx, plan->base.dtype, NULL, NULL, 0, X, X, stream));
done:
    return status;
}

trine_status trine_supernodal_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                                    const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(plan ? &plan->base : NULL, op, alpha, B, X, exec, &call);
    if (status) return status;
    if (!call.is_done)
        status = (plan->places.upper ? solve_upper : solve_panels)(plan, op, call.alpha, &call.B, &call.X,
                                                                   (supernodal_work *)call.work, call.stream);
    return trine_plan_solve_end(&plan->base, &call, status);
}

trine_status trine_supernodal_get_info(trine_supernodal plan, trine_supernodal_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    const supernodal_structure *S = &plan->S;
    *info = (trine_supernodal_info){.n = S->n,
                                    .nnz_triangle = plan->from_triangle ? plan->places.entries : S->nnz,
                                    .nnz = S->nnz,
                                    .nnz_merged = S->nnz_merged,
                                    .panels = S->n_sources,
                                    .panels_merged = S->n_panels,
                                    .levels = S->levels_given,
                                    .levels_merged = S->levels,
                                    .min_panels_per_level = S->min_panels_per_level,
                                    .max_panels_per_level = S->max_panels_per_level,
                                    .bytes = plan->bytes,
                                    .analyse_seconds = plan->base.analyse_seconds,
                                    .numeric_seconds = plan->base.numeric_seconds,
                                    .deterministic = sums_in_order(plan->base.ctx, &plan->options),
                                    .growth = plan->growth,
                                    .invert = S->n_panels && plan->substituted == S->n_panels ? TRINE_INVERT_NONE
                                                                                              : plan->options.invert,
                                    .substituted_panels = plan->substituted,
                                    .variant = plan->options.variant,
                                    .single = plan->options.single};
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        if (!s || p->width < info->min_width) info->min_width = p->width;
        if (!s || p->height < info->min_height) info->min_height = p->height;
        if (p->width > info->max_width) info->max_width = p->width;
        if (p->height > info->max_height) info->max_height = p->height;
        info->mean_width += (double)p->width / (double)S->n_panels;
        info->mean_height += (double)p->height / (double)S->n_panels;
    }
    return TRINE_SUCCESS;
}

void trine_supernodal_watch_levels(trine_supernodal plan, supernodal_level_watch watch, void *user)
{
    plan->watch = watch;
    plan->watch_user = user;
}

trine_status trine_supernodal_get_levels(trine_supernodal plan, int64_t count, trine_supernodal_level *levels)
{
    REQUIRE(plan, "plan is NULL");
    const supernodal_structure *S = &plan->S;
    REQUIRE(count == S->levels, "room for %lld levels, but there are %lld", (long long)count, (long long)S->levels);
    REQUIRE(levels || !count, "levels is NULL");
    for (int64_t k = 0; k < count; k++)
        levels[k] = (trine_supernodal_level){.min_width = INT64_MAX, .min_height = INT64_MAX};
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        trine_supernodal_level *l = &levels[p->level];
        const int64_t w = p->width, h = p->height;
        l->panels++;
        if (w < l->min_width) l->min_width = w;
        if (w > l->max_width) l->max_width = w;
        if (h < l->min_height) l->min_height = h;
        if (h > l->max_height) l->max_height = h;
        l->mean_width += (double)w;
        l->mean_height += (double)h;
        l->entries += w * h - w * (w - 1) / 2;
    }
    for (int64_t k = 0; k < count; k++) { /* every level has a panel */
        levels[k].mean_width /= (double)levels[k].panels;
        levels[k].mean_height /= (double)levels[k].panels;
    }
    return TRINE_SUCCESS;
}
