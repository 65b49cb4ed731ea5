/* The triangular plan: arguments, phases, choice of method. The work itself is in symbolic.c and in the backends, one
 * table of functions for the CPU and one for each GPU method. */
#include <string.h>

#include "triangular/triangular.h"

const char *trine_triangular_method_name(trine_triangular_method method)
{
    static const char *const names[] = {"auto", "serial", "levelset", "syncfree-csr", "syncfree-csc"};
    return (unsigned)method < sizeof names / sizeof *names ? names[method] : "unknown";
}

/* -------------------------------------------------------------------- work */

static trine_status destroy_plan(void *plan) { return trine_triangular_destroy(&(trine_triangular){plan}); }

static void destroy_work(trine_work base)
{
    struct triangular_work *work = (struct triangular_work *)base;
    trine_context ctx = base->ctx;
    if (work->forget) work->forget(work);
    if (work->owns_buffer) trine_free(ctx, ctx->info.space, work->buffer);
    trine_free(ctx, TRINE_HOST, work);
}

static trine_status new_work(trine_triangular plan, int64_t nrhs, void *buffer, bool keeps_plan, trine_work *out)
{
    trine_status status = TRINE_SUCCESS;
    const size_t needed = plan->backend->work_bytes(plan, nrhs);
    struct triangular_work *work = trine_host_calloc(plan->ctx, 1, sizeof *work);
    if (!work) return TRINE_ERR_MEMORY;
    work->max_nrhs = nrhs;
    work->buffer = buffer;
    work->base = (struct trine_work_s){.ctx = trine_retain_context(plan->ctx), .plan = plan, .destroy = destroy_work};
    if (keeps_plan) {
        trine_retain(&plan->refs);
        work->base.destroy_plan = destroy_plan;
    }
    *out = &work->base;
    if (!buffer && needed) {
        TRY(trine_alloc(plan->ctx, plan->ctx->info.space, needed, &work->buffer));
        work->owns_buffer = true;
    }
    if (plan->backend->make_work) status = plan->backend->make_work(plan, work);
done:
    if (status) trine_work_destroy(out);
    return status;
}

trine_status trine_triangular_work(trine_triangular plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    if (out) *out = NULL;
    REQUIRE(plan, "plan is NULL");
    REQUIRE(bytes, "bytes is NULL");
    REQUIRE(nrhs >= 0, "nrhs is %lld", (long long)nrhs);
    const trine_status status = trine_check_nrhs(nrhs, plan->n);
    if (status) return status;
    const size_t needed = plan->backend->work_bytes(plan, nrhs), given = *bytes;
    *bytes = needed;
    if (!out) return TRINE_SUCCESS;
    REQUIRE(!buffer || given >= needed, "the work needs %zu bytes, the buffer has %zu", needed, given);
    return new_work(plan, nrhs, buffer, true, out);
}

/* ----------------------------------------------------------------- analyse */

static trine_status check_options(const trine_triangular_options *o)
{
    REQUIRE((unsigned)o->uplo <= TRINE_UPPER, "uplo %d is none of auto, lower, upper", (int)o->uplo);
    REQUIRE((unsigned)o->diag <= TRINE_UNIT, "diag %d is neither non-unit nor unit", (int)o->diag);
    REQUIRE(!(o->ops & ~(unsigned)(TRINE_N | TRINE_T | TRINE_H)), "ops %u has bits that are no operation", o->ops);
    REQUIRE((unsigned)o->method <= TRINE_TRI_SYNCFREE_CSC, "method %d does not exist", (int)o->method);
    REQUIRE((unsigned)o->summation <= TRINE_ORDER_FREE, "summation %d does not exist", (int)o->summation);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    const int lanes = o->tune.lanes_per_row;
    REQUIRE(lanes >= 0 && lanes <= 32 && !(lanes & (lanes - 1)), "lanes_per_row %d is no power of two up to 32", lanes);
    REQUIRE(o->tune.warps_per_block >= 0 && o->tune.warps_per_block <= 16, "warps_per_block %d is outside 0..16", o->tune.warps_per_block);
    REQUIRE(o->tune.blocks >= 0, "blocks is %d", o->tune.blocks);
    REQUIRE(o->tune.row_order >= 0 && o->tune.row_order <= 2, "row_order %d is outside 0..2", o->tune.row_order);
    REQUIRE(o->csc.warps_per_block >= 0 && o->csc.warps_per_block <= 32, "csc.warps_per_block %d is outside 0..32", o->csc.warps_per_block);
    REQUIRE(o->csc.scratchpad >= 0 && o->csc.scratchpad <= 2, "csc.scratchpad %d is outside 0..2", o->csc.scratchpad);
    REQUIRE((unsigned)o->csc.variant <= TRINE_CSC_OPT2, "csc.variant %d does not exist", (int)o->csc.variant);
    REQUIRE(o->csc.p >= 0 && o->csc.q >= 0, "csc.p is %lld, csc.q is %lld", (long long)o->csc.p, (long long)o->csc.q);
    return TRINE_SUCCESS;
}

/** Take the backend of the method asked for, if this context's device has it and it keeps what was asked of the summation. */
static trine_status find_backend(trine_triangular plan)
{
    const bool cuda = plan->ctx->cuda;
    const char *name = trine_triangular_method_name(plan->options.method);
    switch (plan->options.method) {
    case TRINE_TRI_AUTO: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csr) : &triangular_cpu; break;
    case TRINE_TRI_SERIAL: plan->backend = cuda ? NULL : &triangular_cpu; break;
    case TRINE_TRI_LEVELSET: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_levelset) : &triangular_cpu; break;
    case TRINE_TRI_SYNCFREE_CSR: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csr) : NULL; break;
    case TRINE_TRI_SYNCFREE_CSC: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csc) : NULL; break;
    }
    if (!plan->backend) return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s runs on %s only", name, cuda ? "the CPU" : "a GPU");
    if (plan->options.summation == TRINE_ORDER_DETERMINISTIC && plan->backend->any_order)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s adds in any order and cannot be deterministic", name);
    plan->method = plan->options.method;
    plan->reason = "asked for";
    return TRINE_SUCCESS;
}

static trine_status analyse(trine_triangular plan, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info m;
    trine_matrix_get_info(T, &m);
    if (m.n_rows != m.n_cols) FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows, (long long)m.n_cols);
    plan->n = plan->info.n = m.n_rows;
    plan->dtype = m.dtype;
    plan->nnz_matrix = m.nnz;
    if (!plan->options.ops) plan->options.ops = TRINE_N;
    if (!plan->options.max_nrhs) plan->options.max_nrhs = 1;
    TRY(trine_check_nrhs(plan->options.max_nrhs, plan->n));
    TRY(plan->backend->analyse(plan, T));

    const struct triangle *main_side = &plan->side[plan->options.ops & TRINE_N ? SIDE_N : SIDE_T];
    plan->info.levels = main_side->n_levels;
    plan->info.min_rows_per_level = main_side->min_rows_per_level;
    plan->info.max_rows_per_level = main_side->max_rows_per_level;
    plan->info.uplo = plan->options.uplo;
    plan->info.method = plan->method;
    plan->info.deterministic = !plan->backend->any_order;
    plan->info.reason = plan->reason;
done:
    return status;
}

trine_status trine_triangular_analyse(trine_context ctx, trine_triangular *out, trine_matrix T, const trine_triangular_options *options)
{
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    static const trine_triangular_options automatic;
    if (!options) options = &automatic;
    trine_status status = check_options(options);
    if (status) return status;

    const double start = trine_wall_time();
    trine_triangular plan = trine_host_calloc(ctx, 1, sizeof *plan);
    if (!plan) return TRINE_ERR_MEMORY;
    plan->refs = 1;
    plan->ctx = trine_retain_context(ctx);
    plan->T = T;
    plan->options = *options;
    plan->bad_row = -1;
    TRY(find_backend(plan));
    TRY(analyse(plan, T));
    TRY(new_work(plan, plan->options.max_nrhs, NULL, false, &plan->work));
    plan->info.analyse_seconds = trine_wall_time() - start;
    trine_log(ctx, 2, "triangular: n %lld, nnz %lld, levels %lld, %s (%s), analysed in %.3g s", (long long)plan->n, (long long)plan->info.nnz,
              (long long)plan->info.levels, trine_triangular_method_name(plan->method), plan->reason, plan->info.analyse_seconds);
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_triangular_destroy(&plan);
    return status;
}

trine_status trine_triangular_destroy(trine_triangular *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_triangular plan = *out;
    *out = NULL;
    if (!trine_release(&plan->refs)) return TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    trine_work_destroy(&plan->work);
    for (int s = 0; s < SIDES; s++) {
        if (plan->backend) plan->backend->release(plan, &plan->side[s]);
        triangle_free(plan, &plan->side[s]);
    }
    trine_free(ctx, TRINE_HOST, plan);
    return trine_context_destroy(&ctx);
}

/* ----------------------------------------------------------------- numeric */

trine_status trine_triangular_numeric(trine_triangular plan, trine_space space, const void *values, const trine_exec *exec)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(space == TRINE_HOST || plan->ctx->cuda, "a CPU context has no device memory");
    const double start = trine_wall_time();
    if (!values) {
        trine_matrix_info info;
        trine_matrix_get_info(plan->T, &info);
        trine_matrix_get_arrays(plan->T, NULL, NULL, &values);
        space = info.space;
        if (!values && plan->nnz_matrix) return trine_fail(TRINE_ERR_STATE, "the matrix given to analyse is a pattern without values");
    }
    trine_status status = trine_update_begin(&plan->usage);
    if (status) return status;
    status = plan->backend->numeric(plan, space, values, trine_exec_stream(plan->ctx, exec));
    if (!status) {
        plan->has_values = true;
        plan->info.numeric_seconds = trine_wall_time() - start;
    }
    trine_leave_alone(&plan->usage);
    return status;
}

trine_status trine_triangular_check(trine_triangular plan, const trine_exec *exec)
{
    REQUIRE(plan, "plan is NULL");
    if (!plan->has_values) return trine_fail(TRINE_ERR_STATE, "check comes after numeric");
    int64_t row = -1;
    trine_status status = plan->backend->bad_row(plan, trine_exec_stream(plan->ctx, exec), &row);
    if (status || row < 0) return status;
    return trine_fail(TRINE_ERR_SINGULAR, "the pivot in row %lld is zero or NaN", (long long)row);
}

/* ------------------------------------------------------------------- solve */

trine_status trine_triangular_solve(trine_triangular plan, trine_transpose op, const void *alpha, const trine_dense *B,
                                    const trine_dense *X, const trine_exec *exec)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(op == TRINE_N || op == TRINE_T || op == TRINE_H, "op %d is none of N, T, H", (int)op);
    trine_dense b, x;
    trine_status status = trine_check_dense(B, plan->n, "B", &b);
    if (!status) status = trine_check_dense(X, plan->n, "X", &x);
    if (status) return status;
    REQUIRE(b.cols == x.cols, "B has %lld columns, X has %lld", (long long)b.cols, (long long)x.cols);
    REQUIRE(b.data != x.data || (b.ld == x.ld && b.layout == x.layout), "X and B share their data but not their layout");
    struct triangular_work *work = (struct triangular_work *)(exec && exec->work ? exec->work : plan->work);
    REQUIRE(work->base.plan == plan, "the work object belongs to another plan");
    if (!(plan->options.ops & op)) return trine_fail(TRINE_ERR_STATE, "this op was not announced to analyse");
    if (b.cols > work->max_nrhs)
        return trine_fail(TRINE_ERR_STATE, "%lld right-hand sides, but the work was made for %lld", (long long)b.cols, (long long)work->max_nrhs);
    const bool b_rows = b.layout == TRINE_ROWMAJOR, x_rows = x.layout == TRINE_ROWMAJOR;
    const struct triangular_solve s = {
        .side = &plan->side[op == TRINE_N ? SIDE_N : SIDE_T],
        .conjugate = op == TRINE_H && trine_dtype_is_complex(plan->dtype),
        .alpha = alpha, .B = b.data, .X = x.data, .nrhs = b.cols,
        .b_row = b_rows ? b.ld : 1, .b_col = b_rows ? 1 : b.ld,
        .x_row = x_rows ? x.ld : 1, .x_col = x_rows ? 1 : x.ld,
        .stream = trine_exec_stream(plan->ctx, exec), .work = work};
    trine_retain(&plan->refs); /* whoever destroys the plan meanwhile */
    TRY(trine_solve_begin(&plan->usage, &work->base.usage, "give each thread a work of its own (trine_triangular_work)"));
    if (!plan->has_values) status = trine_fail(TRINE_ERR_STATE, "solve comes after numeric");
    else if (plan->n && b.cols) status = plan->backend->solve(plan, &s);
    trine_solve_end(&plan->usage, &work->base.usage);
done:
    trine_triangular_destroy(&plan);
    return status;
}

trine_status trine_triangular_get_info(trine_triangular plan, trine_triangular_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    *info = plan->info;
    return TRINE_SUCCESS;
}
