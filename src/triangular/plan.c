/* The triangular plan: arguments, phases, choice of method. The work itself is in the backends, one table of
 * functions for the CPU (cpu/solve.c) and one for each GPU method (cuda/syncfree_rows.cu, cuda/syncfree_columns.cu,
 * cuda/levelset/levelset.cu); partitioned inverses have one for each device (cpu/partitioned.c,
 * cuda/partitioned.cu). */
#include <float.h>
#include <string.h>

#include "triangular/triangular.h"

const char *trine_triangular_method_name(trine_triangular_method method)
{
    static const char *const names[] = {"auto",         "serial",       "levelset",
                                        "syncfree-csr", "syncfree-csc", "partitioned-inverse"};
    return (unsigned)method < sizeof names / sizeof *names ? names[method] : "unknown";
}

/* -------------------------------------------------------------------- life */

static trine_triangular as_triangular(struct trine_plan *plan) { return (trine_triangular)plan; }

/** What the plan's own method takes of a buffer. That of the plain plan, if there is one, stands behind it in a
 *  caller's buffer, and has one of its own otherwise. */
static size_t own_bytes(struct trine_plan *plan, int64_t nrhs)
{
    return (as_triangular(plan)->backend->work_bytes(as_triangular(plan), nrhs) + 255) / 256 * 256;
}

static size_t work_bytes(struct trine_plan *base, int64_t nrhs)
{
    trine_triangular plan = as_triangular(base);
    return own_bytes(base, nrhs) + (plan->plain ? own_bytes(&plan->plain->base, nrhs) : 0);
}

static trine_status work_begin(struct trine_plan *base, trine_plan_work *plan_work)
{
    trine_status status = TRINE_SUCCESS;
    trine_triangular plan = as_triangular(base);
    struct triangular_work *work = (struct triangular_work *)plan_work;
    if (plan->backend->make_work) TRY(plan->backend->make_work(plan, work));
    if (plan->plain) {
        const size_t own = own_bytes(base, plan_work->max_nrhs);
        size_t bytes = work_bytes(base, plan_work->max_nrhs) - own;
        const bool lent = bytes && plan_work->buffer && !plan_work->owns_buffer;
        char *const buffer = lent ? (char *)plan_work->buffer + own : NULL;
        TRY(trine_triangular_work(plan->plain, plan_work->max_nrhs, buffer, &bytes, &work->plain));
    }
done:
    return status;
}

static void work_end(trine_plan_work *base)
{
    struct triangular_work *work = (struct triangular_work *)base;
    if (work->forget) work->forget(work);
    trine_work_destroy(&work->plain);
}

static void release(struct trine_plan *base)
{
    trine_triangular plan = as_triangular(base);
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].part) plan->backend->release(plan, &plan->side[s]);
    trine_triangular_destroy(&plan->plain);
}

static trine_status solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec)
{
    return trine_triangular_solve(as_triangular(plan), op, alpha, B, X, exec);
}

static const trine_plan_kind kind = {.name = "triangular",
                                     .work_size = sizeof(struct triangular_work),
                                     .work_bytes = work_bytes,
                                     .own_bytes = own_bytes,
                                     .work_begin = work_begin,
                                     .work_end = work_end,
                                     .release = release,
                                     .solve = solve};

trine_status trine_triangular_destroy(trine_triangular *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_triangular plan = *out;
    *out = NULL;
    return trine_plan_drop(&plan->base);
}

trine_status trine_triangular_as_op(trine_triangular plan, trine_op *op)
{
    return trine_plan_as_op(plan ? &plan->base : NULL, op);
}

trine_status trine_triangular_work(trine_triangular plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_plan_make_work(plan ? &plan->base : NULL, nrhs, buffer, bytes, out);
}

/* ----------------------------------------------------------------- analyse */

static trine_status check_options(const trine_triangular_options *o)
{
    REQUIRE_RESERVE(trine_triangular_options, o);
    REQUIRE((unsigned)o->uplo <= TRINE_UPPER, "uplo %d is none of auto, lower, upper", (int)o->uplo);
    REQUIRE((unsigned)o->diag <= TRINE_UNIT, "diag %d is neither non-unit nor unit", (int)o->diag);
    REQUIRE(!(o->ops & ~(unsigned)(TRINE_N | TRINE_T | TRINE_H)), "ops %u has bits that are no operation", o->ops);
    REQUIRE((unsigned)o->method <= TRINE_TRI_PARTITIONED_INVERSE, "method %d does not exist", (int)o->method);
    REQUIRE((unsigned)o->summation <= TRINE_ORDER_FREE, "summation %d does not exist", (int)o->summation);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    REQUIRE(o->expected_solves >= 0, "expected_solves is %lld", (long long)o->expected_solves);
    const int lanes = o->tune.lanes_per_row;
    REQUIRE(lanes >= 0 && lanes <= 32 && !(lanes & (lanes - 1)), "lanes_per_row %d is no power of two up to 32", lanes);
    REQUIRE(o->tune.warps_per_block >= 0 && o->tune.warps_per_block <= 16, "warps_per_block %d is outside 0..16",
            o->tune.warps_per_block);
    REQUIRE(o->tune.blocks >= 0, "blocks is %d", o->tune.blocks);
    REQUIRE(o->tune.row_order >= 0 && o->tune.row_order <= 2, "row_order %d is outside 0..2", o->tune.row_order);
    REQUIRE(o->csc.warps_per_block >= 0 && o->csc.warps_per_block <= 32, "csc.warps_per_block %d is outside 0..32",
            o->csc.warps_per_block);
    REQUIRE(o->csc.scratchpad >= 0 && o->csc.scratchpad <= 2, "csc.scratchpad %d is outside 0..2", o->csc.scratchpad);
    REQUIRE((unsigned)o->csc.variant <= TRINE_CSC_OPT2, "csc.variant %d does not exist", (int)o->csc.variant);
    REQUIRE(o->csc.p >= 0 && o->csc.q >= 0, "csc.p is %lld, csc.q is %lld", (long long)o->csc.p, (long long)o->csc.q);
    REQUIRE(o->partition.memory >= 0 && o->partition.levels >= 0, "partition.memory is %lld, partition.levels is %d",
            (long long)o->partition.memory, o->partition.levels);
    REQUIRE(o->partition.refine == 0 || o->partition.refine == 1, "partition.refine is %d, neither 0 nor 1",
            o->partition.refine);
    return TRINE_SUCCESS;
}

/** Take the backend of the method asked for, if this context's device has it and it keeps what was asked of the
 *  summation. */
static trine_status find_backend(trine_triangular plan)
{
    const bool cuda = plan->base.ctx->cuda;
    const char *name = trine_triangular_method_name(plan->options.method);
    switch (plan->options.method) {
    case TRINE_TRI_AUTO: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csr) : &triangular_cpu; break;
    case TRINE_TRI_SERIAL: plan->backend = cuda ? NULL : &triangular_cpu; break;
    case TRINE_TRI_LEVELSET: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_levelset) : &triangular_cpu; break;
    case TRINE_TRI_SYNCFREE_CSR: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csr) : NULL; break;
    case TRINE_TRI_SYNCFREE_CSC: plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_syncfree_csc) : NULL; break;
    case TRINE_TRI_PARTITIONED_INVERSE:
        plan->backend = cuda ? TRINE_CUDA_TABLE(&triangular_partitioned_gpu) : &triangular_partitioned;
        break;
    }
    if (!plan->backend)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s runs on %s only", name, cuda ? "the CPU" : "a GPU");
    if (plan->options.summation == TRINE_ORDER_DETERMINISTIC && plan->backend->any_order)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "method %s adds in any order and cannot be deterministic", name);
    plan->method = plan->options.method;
    plan->reason = "by name";
    return TRINE_SUCCESS;
}

/** Both directions, as far as they are announced, from T's pattern as the backend reads it. */
static trine_status analyse_sides(trine_triangular plan, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    void *pattern = NULL;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    TRY(plan->backend->read_pattern(plan, T, &pattern));
    for (int side = 0; side < SIDES && !plan->is_too_slow; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        plan->side[side].n_levels = -1;
        TRY(plan->backend->analyse_side(plan, pattern, side));
    }
done:
    plan->backend->drop_pattern(plan, pattern);
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

/** T's size and what the options leave open. */
static trine_status settle(trine_triangular plan, trine_matrix T)
{
    trine_matrix_info m;
    trine_matrix_get_info(T, &m);
    if (m.n_rows != m.n_cols)
        return trine_fail(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows,
                          (long long)m.n_cols);
    plan->base.n = plan->info.n = m.n_rows;
    plan->base.dtype = m.dtype;
    plan->nnz_matrix = m.nnz;
    if (!plan->options.ops) plan->options.ops = TRINE_N;
    plan->base.ops = plan->options.ops;
    if (!plan->options.max_nrhs) plan->options.max_nrhs = 1;
    return trine_check_nrhs(plan->options.max_nrhs, plan->base.n);
}

static trine_status analyse(trine_triangular plan, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    TRY(settle(plan, T));
    TRY(analyse_sides(plan, T));

    const struct triangular_side *main_side = &plan->side[plan->options.ops & TRINE_N ? SIDE_N : SIDE_T];
    plan->info.levels = main_side->n_levels;
    plan->info.min_rows_per_level = main_side->min_rows_per_level;
    plan->info.max_rows_per_level = main_side->max_rows_per_level;
    plan->info.steps = (int32_t)main_side->n_steps;
    plan->info.entries = main_side->entries;
    plan->info.uplo = plan->options.uplo;
    plan->info.method = plan->method;
    plan->info.deterministic = !plan->backend->any_order;
    plan->info.reason = plan->reason;
done:
    return status;
}

trine_status triangular_make(trine_context ctx, trine_matrix T, const trine_triangular_options *options, double solves,
                             double most_seconds, trine_triangular *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_triangular plan = trine_plan_new(ctx, &kind, sizeof *plan);
    if (!plan) return TRINE_ERR_MEMORY;
    plan->T = T;
    plan->options = *options;
    plan->refines = options->method == TRINE_TRI_PARTITIONED_INVERSE && options->partition.refine;
    plan->solves = solves, plan->most_seconds = most_seconds;
    TRY(find_backend(plan));
    TRY(analyse(plan, T));
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_triangular_destroy(&plan);
    return status;
}

trine_status trine_triangular_analyse(trine_context ctx, trine_triangular *out, trine_matrix T,
                                      const trine_triangular_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    static const trine_triangular_options automatic;
    if (!options) options = &automatic;
    trine_status status = check_options(options);
    if (status) return status;

    const double start = trine_wall_time();
    trine_triangular plan = NULL;
    TRY(triangular_make(ctx, T, options, 0, 0, &plan));
    if (options->method == TRINE_TRI_AUTO) TRY(triangular_consider_inverses(&plan, T));
    TRY(trine_plan_make_own_work(&plan->base, plan->options.max_nrhs));
    trine_plan_analysed(&plan->base, start, "nnz %lld, levels %lld, %s (%s)", (long long)plan->info.nnz,
                        (long long)plan->info.levels, trine_triangular_method_name(plan->method), plan->reason);
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_triangular_destroy(&plan);
    return status;
}

/** What partitioned inverses take besides, where AUTO may look at them: levels are not known here, so the least for
 *  inverses and the most for solves without them. */
static trine_status add_inverses(struct trine_triangular_s *plan, const struct triangular_extent *e,
                                 struct triangular_bytes *host, struct triangular_bytes *device, int64_t *work)
{
    const int64_t nnz = e->nnz + e->n;
    const int sides = !!(plan->options.ops & TRINE_N) + !!(plan->options.ops & (TRINE_T | TRINE_H));
    const double seconds = sides * triangular_slowest_solve(plan, nnz);
    int64_t own = 0;
    if (plan->options.method != TRINE_TRI_AUTO || !triangular_inverses_may_pay(plan, nnz, 1, seconds))
        return TRINE_SUCCESS;
    plan->options.method = TRINE_TRI_PARTITIONED_INVERSE;
    trine_status status = find_backend(plan);
    if (!status) status = plan->backend->memory(plan, e, host, device, &own);
    if (status == TRINE_ERR_MEMORY) return TRINE_SUCCESS; /* AUTO does without them */
    *work += (own + 255) / 256 * 256;
    bytes_add(host, sizeof *plan + sizeof(struct triangular_work), 0);
    return status;
}

trine_status trine_triangular_memory(trine_context ctx, trine_matrix T, const trine_triangular_options *options,
                                     trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    REQUIRE(memory, "memory is NULL");
    static const trine_triangular_options automatic;
    struct trine_triangular_s plan = {.base.ctx = ctx, .options = options ? *options : automatic};
    struct triangular_extent extent;
    struct triangular_bytes host = {0}, device = {0};
    int64_t work;
    trine_status status = TRINE_SUCCESS;
    TRY(check_options(&plan.options));
    TRY(find_backend(&plan));
    TRY(settle(&plan, T));
    TRY(triangle_find_extent(&plan, T, &extent));
    bytes_add(&host, sizeof plan, 0);
    TRY(plan.backend->memory(&plan, &extent, &host, &device, &work));
    TRY(add_inverses(&plan, &extent, &host, &device, &work));
    bytes_add(&host, sizeof(struct triangular_work), 0);
    work = (work + 255) / 256 * 256;
    bytes_add(ctx->cuda ? &device : &host, work, 0);
    *memory = (trine_memory){.host_kept = host.kept,
                             .host_peak = host.peak,
                             .device_kept = device.kept,
                             .device_peak = device.peak,
                             .work = work};
done:
    return status;
}

/* ----------------------------------------------------------------- numeric */

trine_status trine_triangular_numeric(trine_triangular plan, trine_space space, const void *values,
                                      const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    if (!values) {
        trine_matrix_info info;
        trine_matrix_get_info(plan->T, &info);
        trine_matrix_get_arrays(plan->T, NULL, NULL, &values);
        space = info.space;
        if (!values && plan->nnz_matrix)
            return trine_fail(TRINE_ERR_STATE, "the matrix given to analyse is a pattern without values");
    }
    double start;
    trine_status status = trine_plan_numeric_begin(&plan->base, space, exec, &start);
    if (status) return status;
    void *const stream = trine_exec_stream(plan->base.ctx, exec);
    status = plan->backend->numeric(plan, space, values, stream);
    if (!status && plan->plain) status = plan->plain->backend->numeric(plan->plain, space, values, stream);
    if (!status && !plan->base.ctx->cuda) triangular_settle_growth(plan); /* a GPU's is known after check */
    return trine_plan_numeric_end(&plan->base, status, start);
}

/** Does the promise of small componentwise errors need a step of refinement? */
static trine_status settle_refinement(trine_triangular plan, void *stream)
{
    /* eps, in the median of trials. The largest error of many rows exceeds e with a chance that falls off as 1 / e^2:
     * 100 eps in 1 of 15 right-hand sides where 32 is the median, in 1 of 200 where 8 is. On a GPU the step costs what
     * inverses gain; on a CPU they gain little. */
    const double most = plan->base.ctx->cuda ? 32 : 8;
    double error = 0;
    if (!plan->backend->probe || plan->options.partition.refine) return TRINE_SUCCESS;
    const trine_status status = plan->backend->probe(plan, stream, &error);
    const double eps = trine_dtype_eps(plan->base.dtype);
    trine_log(plan->base.ctx, 3, "triangular: trial solves by inverses lose %.1f eps", error / eps);
    if (!status) __atomic_store_n(&plan->refines, error > most * eps, __ATOMIC_RELAXED);
    return status;
}

trine_status trine_triangular_check(trine_triangular plan, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    int64_t row = -1;
    trine_status status = trine_plan_check_begin(&plan->base, exec);
    void *const stream = trine_exec_stream(plan->base.ctx, exec);
    if (!status) status = plan->backend->bad_row(plan, stream, &row);
    if (!status) triangular_settle_growth(plan);
    if (!status && row < 0) status = settle_refinement(plan, stream);
    if (status || row < 0) return status;
    return trine_fail(TRINE_ERR_SINGULAR, "the pivot in row %lld is zero or NaN", (long long)row);
}

/* ------------------------------------------------------------------- solve */

trine_status trine_triangular_solve(trine_triangular plan, trine_transpose op, const void *alpha, const trine_dense *B,
                                    const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(plan ? &plan->base : NULL, op, alpha, B, X, exec, &call);
    if (status) return status;
    const bool b_rows = call.B.layout == TRINE_ROWMAJOR, x_rows = call.X.layout == TRINE_ROWMAJOR;
    const int side = op == TRINE_N ? SIDE_N : SIDE_T;
    struct triangular_work *const work = (struct triangular_work *)call.work;
    const bool plain = __atomic_load_n(&plan->runs_plain, __ATOMIC_RELAXED);
    trine_triangular runs = plain ? plan->plain : plan;
    const struct triangular_solve s = {.side = side,
                                       .part = runs->side[side].part,
                                       .conjugate = op == TRINE_H && trine_dtype_is_complex(plan->base.dtype),
                                       .alpha = alpha,
                                       .B = call.B.data,
                                       .X = call.X.data,
                                       .nrhs = call.B.cols,
                                       .b_row = b_rows ? call.B.ld : 1,
                                       .b_col = b_rows ? 1 : call.B.ld,
                                       .x_row = x_rows ? call.X.ld : 1,
                                       .x_col = x_rows ? 1 : call.X.ld,
                                       .stream = call.stream,
                                       .work = plain ? (struct triangular_work *)work->plain : work};
    if (!call.is_done) status = runs->backend->solve(runs, &s);
    return trine_plan_solve_end(&plan->base, &call, status);
}

trine_status trine_triangular_get_info(trine_triangular plan, trine_triangular_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    *info = plan->info;
    if (__atomic_load_n(&plan->runs_plain, __ATOMIC_RELAXED)) {
        info->method = plan->plain->method;
        info->deterministic = plan->plain->info.deterministic;
        info->reason = "the inverses of too many rows would lose digits";
    }
    info->refined = __atomic_load_n(&plan->refines, __ATOMIC_RELAXED);
    info->analyse_seconds = plan->base.analyse_seconds;
    info->numeric_seconds = plan->base.numeric_seconds;
    return TRINE_SUCCESS;
}
