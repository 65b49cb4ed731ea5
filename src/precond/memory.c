/* What a preconditioner takes, told before it is made: its analysis in a context that only counts (core/tally.h). Plans
 * of other modules, which may look at a device's memory, are not made there; their own queries tell what they take. */
#include "core/tally.h"
#include "precond/common/rows.h"
#include "precond/paths.h"

trine_status precond_make_product(trine_precond p, trine_matrix A, trine_spmv *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const trine_spmv_options o = {.ops = p->options.ops, .max_nrhs = p->options.max_nrhs};
    trine_spmv_info info;
    trine_memory told;
    if (ctx->is_tally) {
        TRY(trine_spmv_memory(ctx, A, &o, &told));
        trine_tally_add(ctx, &told, 1);
        return TRINE_SUCCESS;
    }
    TRY(trine_spmv_analyse(ctx, out, A, &o));
    TRY(trine_spmv_get_info(*out, &info));
    p->info.deterministic = p->info.deterministic && info.deterministic;
done:
    return status;
}

trine_status precond_make_solve(trine_precond p, trine_matrix T, const trine_triangular_options *options,
                                trine_triangular *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    trine_triangular_options wide = *options; /* the width of works, not of the plan's own */
    trine_triangular_info info;
    trine_memory told;
    if (ctx->is_tally) {
        wide.max_nrhs = p->options.max_nrhs;
        TRY(trine_triangular_memory(ctx, T, &wide, &told));
        trine_tally_add(ctx, &told, 1);
        return TRINE_SUCCESS;
    }
    TRY(trine_triangular_analyse(ctx, out, T, options));
    TRY(trine_triangular_get_info(*out, &info));
    p->info.deterministic = p->info.deterministic && info.deterministic;
done:
    return status;
}

trine_status precond_make_forest_of(trine_precond p, const trine_forest_options *options, trine_forest *out)
{
    trine_memory told;
    if (!p->base.ctx->is_tally) return trine_forest_create(p->base.ctx, out, p->matrix, options);
    const trine_status status = trine_forest_memory(p->base.ctx, p->matrix, options, &told);
    if (!status) trine_tally_add(p->base.ctx, &told, 0);
    return status;
}

/** Replace AUTO by the method that analyse would take. */
static trine_status choose(trine_context ctx, trine_matrix A, trine_precond_options *options)
{
    trine_status status = TRINE_SUCCESS;
    trine_precond p = NULL;
    if (options->method != TRINE_PRECOND_AUTO) return TRINE_SUCCESS;
    TRY(precond_new_plan(ctx, &p));
    p->given = A;
    TRY(precond_take_pattern(p, A));
    TRY(precond_choose(p, options));
done:
    trine_precond_destroy(&p);
    return status;
}

/** What the choice takes beside p. */
static void count_choice(trine_precond p)
{
    const trine_memory on_host = {.host_peak = 2 * p->base.n * (int64_t)sizeof(double)},
                       on_gpu = {.device_peak = precond_choice_bytes(p)};
    trine_tally_add(p->base.ctx, p->base.ctx->cuda ? &on_gpu : &on_host, 0);
}

enum { WORK_PART = 1024 }; /* more than any method's part of a work */

trine_status trine_precond_memory(trine_context ctx, trine_matrix A, const trine_precond_options *options,
                                  trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    REQUIRE(memory, "memory is NULL");
    trine_precond_options chosen = options ? *options : (trine_precond_options){0};
    trine_status status = precond_check_options(&chosen);
    if (!status) status = choose(ctx, A, &chosen);
    if (status) return status;
    trine_tally_context tally;
    trine_precond p = NULL;
    trine_matrix_info m;
    trine_tally_begin(&tally, ctx);
    TRY(precond_new_plan(&tally.ctx, &p));
    TRY(precond_prepare(p, A, &chosen));
    if (!options || options->method == TRINE_PRECOND_AUTO) count_choice(p);
    trine_tally_report(&tally, sizeof(struct precond_work) + WORK_PART, precond_work_bytes(p, p->options.max_nrhs),
                       memory);
    trine_matrix_get_info(A, &m);
    if (m.space == TRINE_DEVICE) /* its copy on the host */
        memory->host_peak += (m.n_rows + 1) * 8 + m.nnz * (4 + (int64_t)trine_dtype_size(m.dtype));
done:
    trine_precond_destroy(&p);
    trine_tally_end(&tally);
    return status;
}
