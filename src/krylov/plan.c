/* The plan of a Krylov solver: what it is asked for, and its operators. Memory is in memory.c, a solve in apply.c. */
#include <stdio.h>

#include "core/team.h"
#include "krylov/krylov.h"

const char *trine_krylov_method_name(trine_krylov_method method)
{
    static const char *const names[] = {"auto", "gmres", "fgmres", "bicgstab", "cg", "minres"};
    return (unsigned)method < sizeof names / sizeof *names ? names[method] : "unknown";
}

const char *trine_krylov_outcome_name(trine_krylov_outcome outcome)
{
    static const char *const names[] = {"converged",        "maximum of iterations", "stagnation",
                                        "breakdown of rho", "breakdown of omega",    "indefinite",
                                        "not finite",       "callback failed"};
    return (unsigned)outcome < sizeof names / sizeof *names ? names[outcome] : "unknown";
}

/* ------------------------------------------------------------------- life */

static void release(struct trine_plan *base)
{
    const trine_krylov plan = (trine_krylov)base;
    trine_op_destroy(&plan->A);
    trine_op_destroy(&plan->inner_A);
    for (int i = 0; plan->M && i < plan->parameters.m; i++) trine_op_destroy(&plan->M[i]);
    trine_free(base->ctx, TRINE_HOST, plan->M);
}

static const trine_plan_kind kind = {.name = "krylov",
                                     .work_size = sizeof(struct krylov_work),
                                     .work_bytes = krylov_work_bytes,
                                     .own_bytes = krylov_own_bytes,
                                     .work_begin = krylov_work_begin,
                                     .work_end = krylov_work_end,
                                     .release = release,
                                     .solve = krylov_solve_as_operator};

trine_status trine_krylov_destroy(trine_krylov *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_krylov plan = *out;
    *out = NULL;
    return trine_plan_drop(&plan->base);
}

trine_status trine_krylov_work(trine_krylov plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_plan_make_work(plan ? &plan->base : NULL, nrhs, buffer, bytes, out);
}

/* ----------------------------------------------------------------- create */

enum { DEFAULT_RESTART = 20, DEFAULT_STEPS = 1000 };
static const double default_rtol = 1e-6, default_stagnation = 1e-6;

static trine_status check_options(const trine_krylov_options *o)
{
    REQUIRE_RESERVE(trine_krylov_options, o);
    REQUIRE((unsigned)o->method <= TRINE_KRYLOV_MINRES, "method %d does not exist", (int)o->method);
    REQUIRE((unsigned)o->side <= TRINE_SIDE_LEFT, "side %d does not exist", (int)o->side);
    REQUIRE(o->restart >= 0, "restart is %d", o->restart);
    REQUIRE(o->max_iterations >= 0, "max_iterations is %lld", (long long)o->max_iterations);
    REQUIRE(o->rtol >= 0 && isfinite(o->rtol), "rtol is %g", o->rtol);
    REQUIRE(o->atol >= 0 && isfinite(o->atol), "atol is %g", o->atol);
    REQUIRE(o->stagnation >= 0 && o->stagnation < 1, "stagnation %g is outside 0..1", o->stagnation);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    REQUIRE(o->history >= 0, "history is %lld", (long long)o->history);
    REQUIRE(!o->inner || trine_dtype_is_valid(o->inner), "inner %d is none of S, D, C, Z", (int)o->inner);
    return TRINE_SUCCESS;
}

/** Check one of the operators against A; name: in the sentence. */
static trine_status check_operator(trine_context ctx, trine_op A, trine_op op, const char *name)
{
    const trine_op_info *a = &A->info, *i = &op->info;
    REQUIRE(op->ctx == ctx, "%s is of another context", name);
    REQUIRE(i->rows == a->rows && i->cols == a->rows, "%s is %lld x %lld, A has %lld rows", name, (long long)i->rows,
            (long long)i->cols, (long long)a->rows);
    REQUIRE(i->ops & TRINE_N, "%s does not have op N", name);
    REQUIRE(trine_dtype_is_complex(i->dtype) == trine_dtype_is_complex(a->dtype),
            "%s has dtype %d, A has %d: between real and complex there is no cast", name, (int)i->dtype, (int)a->dtype);
    return TRINE_SUCCESS;
}

static trine_status settle_method(trine_krylov plan, const trine_krylov_options *o, int m, const trine_op *M)
{
    krylov_parameters *p = &plan->parameters;
    const char *varies = plan->A->info.varying ? "A" : o->inner_A && o->inner_A->info.varying ? "inner_A" : NULL;
    for (int i = 0; !varies && p->has_M && i < m; i++)
        if (M[i]->info.varying) varies = "M";
    p->method = o->method;
    if (!p->method) p->method = varies || m > 1 ? TRINE_KRYLOV_FGMRES : TRINE_KRYLOV_GMRES;
    if (p->method != TRINE_KRYLOV_FGMRES) {
        REQUIRE(!varies, "%s varies from call to call, which %s does not allow: use FGMRES", varies,
                trine_krylov_method_name(p->method));
        REQUIRE(m == 1, "%d preconditioners that alternate need FGMRES, not %s", m,
                trine_krylov_method_name(p->method));
    }
    p->is_left = o->side == TRINE_SIDE_LEFT && p->has_M &&
                 (p->method == TRINE_KRYLOV_GMRES || p->method == TRINE_KRYLOV_BICGSTAB);
    REQUIRE(p->method != TRINE_KRYLOV_FGMRES || o->side != TRINE_SIDE_LEFT,
            "FGMRES has its preconditioner on the right only");
    return TRINE_SUCCESS;
}

static void settle_numbers(trine_krylov plan, const trine_krylov_options *o, int m)
{
    krylov_parameters *p = &plan->parameters;
    const int64_t n = plan->base.n, restart = o->restart ? o->restart : DEFAULT_RESTART;
    p->m = m;
    p->restart = (int)(restart < n ? restart : n > 1 ? n : 1); /* a basis of n vectors is the whole space */
    p->cycle_limit = o->restart;
    p->max_steps = o->max_iterations ? o->max_iterations : DEFAULT_STEPS;
    p->rtol = o->rtol == 0 && o->atol == 0 ? default_rtol : o->rtol;
    p->atol = o->atol;
    p->stagnation = o->stagnation > 0 ? o->stagnation : default_stagnation;
    p->stagnant_limit = m > 1 ? m + 1 : 2; /* every M has its turn */
    p->history = o->history;
    p->eps = trine_dtype_eps(plan->inner);
    plan->use_guess = o->use_guess != 0;
    plan->max_nrhs = o->max_nrhs ? o->max_nrhs : 1;
}

/** The operators, in the precision of the cycles. */
static trine_status take_operators(trine_krylov plan, const trine_krylov_options *o, int m, const trine_op *M)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    TRY(trine_op_cast(o->inner_A ? o->inner_A : plan->A, &plan->inner_A, plan->inner));
    if (!plan->parameters.has_M) return TRINE_SUCCESS;
    plan->parameters.m = m;
    TRY(CALLOC(ctx, plan->M, m)); /* handles: NOLINT(bugprone-sizeof-expression) */
    for (int i = 0; i < m; i++) TRY(trine_op_cast(M[i], &plan->M[i], plan->inner));
done:
    return status;
}

/** Who makes the loop. */
static void settle_loop(trine_krylov plan)
{
    const struct krylov_recorder *recorder = plan->backend->recorder;
    const char *why = recorder ? recorder->why_not() : "host: there is no device";
    bool all = plan->A->info.capturable && plan->inner_A->info.capturable;
    for (int i = 0; plan->M && i < plan->parameters.m; i++) all = all && plan->M[i]->info.capturable;
    if (!why && !all) why = "host: A or M cannot be recorded in a CUDA graph";
    if (!why && plan->parameters.m > KRYLOV_MOST_TURNS) why = "host: more than 32 preconditioners take turns";
    plan->records = !why;
    plan->reason = why ? why : "device: a CUDA graph with conditional nodes";
}

static const trine_krylov_options automatic;

static trine_status check_arguments(trine_context ctx, trine_op A, int m, const trine_op *M,
                                    const trine_krylov_options *o)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    trine_status status = check_options(o);
    if (status) return status;
    REQUIRE(A->info.rows == A->info.cols, "A is %lld x %lld, not square", (long long)A->info.rows,
            (long long)A->info.cols);
    status = check_operator(ctx, A, A, "A");
    if (!status && o->inner_A) status = check_operator(ctx, A, o->inner_A, "inner_A");
    char name[32] = "M";
    for (int i = 0; !status && M && i < m; i++) {
        if (m > 1) snprintf(name, sizeof name, "M[%d]", i);
        REQUIRE(M[i], "%s is NULL", name);
        status = check_operator(ctx, A, M[i], name);
    }
    if (status) return status;
    REQUIRE(!o->inner || trine_dtype_is_complex(o->inner) == trine_dtype_is_complex(A->info.dtype),
            "inner is dtype %d, A has %d: between real and complex there is no cast", (int)o->inner,
            (int)A->info.dtype);
    REQUIRE(!o->inner || trine_dtype_size(o->inner) <= trine_dtype_size(A->info.dtype),
            "inner is dtype %d, of higher precision than A's %d", (int)o->inner, (int)A->info.dtype);
    return TRINE_SUCCESS;
}

/** A new plan of checked arguments, without memory for its vectors. M NULL: none. */
static trine_status prepare(trine_context ctx, trine_krylov *out, trine_op A, int m, const trine_op *M,
                            const trine_krylov_options *o)
{
    trine_status status = check_arguments(ctx, A, m, M, o);
    if (status) return status;
    trine_krylov plan = trine_plan_new(ctx, &kind, sizeof *plan);
    if (!plan) return TRINE_ERR_MEMORY;
    *out = plan;
    trine_retain(&A->refs);
    plan->A = A;
    plan->backend = ctx->cuda ? TRINE_CUDA_TABLE(&krylov_cuda) : &krylov_cpu;
    plan->base.n = A->info.rows;
    plan->base.dtype = A->info.dtype;
    plan->base.ops = TRINE_N;
    plan->base.has_values = true;
    plan->inner = o->inner ? o->inner : A->info.dtype;
    plan->parameters.has_M = M != NULL;
    TRY(settle_method(plan, o, m, M));
    TRY(take_operators(plan, o, m, M));
    settle_numbers(plan, o, m);
    TRY(trine_check_nrhs(plan->max_nrhs, plan->base.n));
    if (krylov_own_bytes(&plan->base, plan->max_nrhs) == KRYLOV_TOO_MUCH)
        FAIL(TRINE_ERR_MEMORY, "the vectors and histories asked for need more than any memory has");
done:
    return status;
}

static trine_status create(trine_context ctx, trine_krylov *out, trine_op A, int m, const trine_op *M,
                           const trine_krylov_options *o)
{
    trine_status status = TRINE_SUCCESS;
    const double start = trine_wall_time();
    trine_krylov plan = NULL;
    TRY(prepare(ctx, &plan, A, m, M, o));
    if (!ctx->cuda) trine_team_start(ctx);
    settle_loop(plan);
    TRY(trine_plan_make_own_work(&plan->base, plan->max_nrhs));
    trine_plan_analysed(&plan->base, start, "%s, %d vectors", trine_krylov_method_name(plan->parameters.method),
                        krylov_vectors(&plan->parameters));
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_krylov_destroy(&plan);
    return status;
}

trine_status trine_krylov_memory(trine_context ctx, trine_op A, int m, const trine_op *M,
                                 const trine_krylov_options *options, trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(memory, "memory is NULL");
    REQUIRE(m >= 1, "m is %d; at least one preconditioner is needed, or M = NULL", m);
    trine_krylov plan = NULL;
    trine_status status = prepare(ctx, &plan, A, m, M, options ? options : &automatic);
    if (!status) krylov_tell_memory(plan, memory);
    trine_krylov_destroy(&plan);
    return status;
}

trine_status trine_krylov_create(trine_context ctx, trine_krylov *out, trine_op A, trine_op M,
                                 const trine_krylov_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    return create(ctx, out, A, 1, M ? &M : NULL, options ? options : &automatic);
}

trine_status trine_krylov_create_alternating(trine_context ctx, trine_krylov *out, trine_op A, int m, const trine_op *M,
                                             const trine_krylov_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(m >= 1, "m is %d; at least one preconditioner is needed", m);
    REQUIRE(M, "the array of preconditioners is NULL");
    return create(ctx, out, A, m, M, options ? options : &automatic);
}

static trine_status change_begin(trine_krylov plan)
{
    REQUIRE(plan, "plan is NULL");
    return trine_enter_alone(&plan->base.usage)
               ? TRINE_SUCCESS
               : trine_fail(TRINE_ERR_STATE, "the plan is in use by another thread: this has to wait for its solves");
}

trine_status trine_krylov_set_monitor(trine_krylov plan, trine_krylov_monitor monitor, void *user)
{
    const trine_status status = change_begin(plan);
    if (status) return status;
    plan->monitor = monitor;
    plan->monitor_user = user;
    trine_leave_alone(&plan->base.usage);
    return TRINE_SUCCESS;
}

trine_status trine_krylov_set_reference(trine_krylov plan, const trine_dense *X)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(X, "X is NULL");
    trine_dense reference = {0};
    trine_status status = X->data ? trine_check_dense(X, plan->base.n, "X", &reference) : TRINE_SUCCESS;
    if (status) return status;
    REQUIRE(plan->parameters.history || !X->data, "errors are kept in a history, and options.history is 0");
    status = change_begin(plan);
    if (status) return status;
    plan->reference = reference;
    trine_leave_alone(&plan->base.usage);
    return TRINE_SUCCESS;
}

trine_status trine_krylov_get_info(trine_krylov plan, trine_krylov_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    const krylov_parameters *p = &plan->parameters;
    *info = (trine_krylov_info){.method = p->method,
                                .restart = krylov_is_gmres(p) ? p->restart : (int)p->cycle_limit,
                                .m = p->m,
                                .dtype = plan->base.dtype,
                                .inner = plan->inner,
                                .n = plan->base.n,
                                .max_nrhs = plan->max_nrhs,
                                .vectors = krylov_vectors(p),
                                .bytes = (int64_t)krylov_own_bytes(&plan->base, plan->max_nrhs),
                                .loop = plan->records && plan->monitor          ? "host: a monitor sees each step"
                                        : plan->records && plan->reference.data ? "host: errors are kept of each step"
                                                                                : plan->reason};
    return TRINE_SUCCESS;
}
