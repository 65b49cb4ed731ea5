/* The loop around the cycles, which is the same for all methods: r = b - A x decides; a cycle gives a correction d of
 * A d = r, and x := x + d. So every method has its residuals computed where they decide, starts from any x, may work in
 * a lower precision than x and r (a restart is then a step of iterative refinement), and meets vectors of norm 1
 * whatever b is scaled by. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "krylov/common/steps.h"
#include "krylov/krylov.h"

/* ------------------------------------------------------------------ programs */

static krylov_instruction *add(struct krylov_work *w, krylov_instruction i)
{
    i.need = -1;
    krylov_program *p = &w->program[w->passes];
    krylov_instruction *added = &p->instructions[p->count++];
    *added = i;
    return added;
}

krylov_instruction *krylov_combine(struct krylov_work *w, void *y, int a, const void *x, int b, const void *z)
{
    return add(w, (krylov_instruction){.kind = KRYLOV_COMBINE, .a = a, .b = b, .y = y, .x = x, .z = z});
}

void krylov_dot(struct krylov_work *w, int sum, const void *x, const void *z)
{
    add(w, (krylov_instruction){.kind = KRYLOV_DOT, .a = sum, .x = x, .z = z});
}

static bool has_instructions(const struct krylov_work *w) { return w->passes || w->program[0].count; }
static void forget_programs(struct krylov_work *w) { w->passes = w->program[0].count = 0; }

static void end_pass(struct krylov_work *w, trine_dtype t, unsigned flags, krylov_step then, int j)
{
    krylov_program *p = &w->program[w->passes++];
    p->dtype = t;
    p->flags = flags;
    p->then = then;
    p->j = j;
    p->ends_body = false;
    if (then) w->is_fresh = false;
}
void krylov_then(struct krylov_work *w, unsigned flags, krylov_step step, int j)
{
    const krylov_program *p = &w->program[w->passes];
    end_pass(w, w->plan->inner, flags, step, j);
    w->program[w->passes].instructions = p->instructions + p->count;
    w->program[w->passes].count = 0;
}

static trine_status run_passes(struct krylov_work *w)
{
    const trine_status status = w->plan->backend->run(w, w->program, w->passes);
    forget_programs(w);
    return status;
}
static trine_status run(struct krylov_work *w, trine_dtype t, unsigned flags, krylov_step then, int j)
{
    end_pass(w, t, flags, then, j);
    return run_passes(w);
}
trine_status krylov_end_body(struct krylov_work *w, unsigned flags, krylov_step step, int j)
{
    end_pass(w, w->plan->inner, flags, step, j);
    w->program[w->passes - 1].ends_body = true;
    return run_passes(w);
}
trine_status krylov_run(struct krylov_work *w, unsigned flags)
{
    return run(w, w->plan->inner, flags, KRYLOV_NO_STEP, 0);
}
trine_status krylov_run_then(struct krylov_work *w, unsigned flags, krylov_step step, int j)
{
    return run(w, w->plan->inner, flags, step, j);
}
trine_status krylov_run_outer(struct krylov_work *w, unsigned flags)
{
    return run(w, w->plan->base.dtype, flags, KRYLOV_NO_STEP, 0);
}
static trine_status run_outer_then(struct krylov_work *w, unsigned flags, krylov_step step, int j)
{
    return run(w, w->plan->base.dtype, flags, step, j);
}

trine_status krylov_do(struct krylov_work *w, krylov_step step, unsigned flags, int j)
{
    w->is_fresh = false;
    return w->plan->backend->step(w, step, flags, j);
}

trine_status krylov_look(struct krylov_work *w)
{
    if (w->is_fresh || w->records || !w->plan->backend->look) return TRINE_SUCCESS;
    __atomic_add_fetch(&w->plan->looks, 1, __ATOMIC_RELAXED);
    const trine_status status = w->plan->backend->look(w);
    w->is_fresh = !status;
    return status;
}

static bool any(const struct krylov_work *w, unsigned flags)
{
    for (int64_t i = 0; i < w->nrhs; i++)
        if ((w->columns[i].flags & flags) == flags) return true;
    return false;
}

trine_status krylov_loop(struct krylov_work *w, int period, krylov_body body)
{
    trine_status status = TRINE_SUCCESS;
    if (w->records) return w->plan->backend->recorder->loop(w, period, body);
    for (int j = 0;; j = (j + 1) % period) {
        TRY(krylov_look(w));
        if (!any(w, KRYLOV_RUNNING)) break;
        TRY(body(w, j));
    }
done:
    return status;
}

/* ----------------------------------------------------------------- operators */

/** From the first to the last column that has the flags, or had them when the host looked: frozen ones at either end
 *  cost nothing. */
static trine_status apply(struct krylov_work *w, trine_op op, trine_work work, unsigned flags, trine_dtype t,
                          const void *x, void *y)
{
    int64_t first = 0, last = w->nrhs - 1;
    while (!w->records && first <= last && !(w->columns[first].flags & flags)) first++;
    while (!w->records && first <= last && !(w->columns[last].flags & flags)) last--;
    if (first > last) return TRINE_SUCCESS;
    const size_t skipped = (size_t)first * (size_t)w->stride * trine_dtype_size(t);
    const trine_dense X = {(char *)x + skipped, w->plan->base.n, last - first + 1, w->stride, TRINE_COLMAJOR};
    const trine_dense Y = {(char *)y + skipped, w->plan->base.n, last - first + 1, w->stride, TRINE_COLMAJOR};
    const trine_exec exec = {.work = work, .stream = w->stream};
    return trine_op_apply(op, TRINE_N, NULL, &X, NULL, &Y, &exec);
}

trine_status krylov_apply_A(struct krylov_work *w, unsigned flags, const void *x, void *y)
{
    return apply(w, w->plan->inner_A, w->inner_A, flags, w->plan->inner, x, y);
}

static trine_status apply_turn(struct krylov_work *w, int turn)
{
    return apply(w, w->plan->M[turn], w->M[turn], KRYLOV_RUNNING, w->plan->inner, w->turn_from, w->turn_to);
}

trine_status krylov_apply_M(struct krylov_work *w, unsigned flags, const void *x, void *y)
{
    const int m = w->plan->parameters.m, turn = (int)(w->steps % m);
    if (!w->records || m == 1) return apply(w, w->plan->M[turn], w->M[turn], flags, w->plan->inner, x, y);
    w->turn_from = x;
    w->turn_to = y;
    return w->plan->backend->recorder->take_turns(w, m, apply_turn);
}

bool krylov_has_diagonal(const struct krylov_work *w)
{
    return w->plan->parameters.has_M && w->plan->parameters.m == 1 && w->plan->M[0]->diagonal;
}

trine_status krylov_then_M(struct krylov_work *w, unsigned flags, const void *x, void *y)
{
    const trine_op M = w->plan->M[0];
    if (krylov_has_diagonal(w)) {
        add(w, (krylov_instruction){
                   .kind = M->divides ? KRYLOV_DIVIDE : KRYLOV_MULTIPLY, .y = y, .x = x, .z = M->diagonal});
        return TRINE_SUCCESS;
    }
    const trine_status status = krylov_run(w, flags);
    return status ? status : krylov_apply_M(w, flags, x, y);
}

trine_status krylov_apply_system(struct krylov_work *w, void *x, void *room, void **z, void *y)
{
    trine_status status = TRINE_SUCCESS;
    const krylov_parameters *p = &w->plan->parameters;
    *z = x;
    if (!p->has_M) return krylov_apply_A(w, KRYLOV_RUNNING, x, y);
    if (p->is_left) {
        TRY(krylov_apply_A(w, KRYLOV_RUNNING, x, room));
        TRY(krylov_apply_M(w, KRYLOV_RUNNING, room, y));
    } else {
        TRY(krylov_apply_M(w, KRYLOV_RUNNING, x, room));
        TRY(krylov_apply_A(w, KRYLOV_RUNNING, room, y));
        *z = room;
    }
done:
    return status;
}

void krylov_keep(struct krylov_work *w) { krylov_combine(w, w->kept, C_ONE, w->d, C_ZERO, NULL)->flags = KRYLOV_KEEPS; }

/* ----------------------------------------------------------- what is reported */

/** r := y - X for the known solutions X, and the norms of r. */
static trine_status compute_error(struct krylov_work *w, unsigned flags)
{
    static const double one[2] = {1, 0}, minus_one[2] = {-1, 0};
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    const trine_dense R = {w->r, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    TRY(operator_run_update(plan->base.ctx, plan->base.dtype, minus_one, NULL, false, plan->base.dtype,
                            &plan->reference, one, &R, w->stream));
    krylov_dot(w, 0, w->r, w->r);
    TRY(run_outer_then(w, flags, KRYLOV_ERROR, 0));
done:
    return status;
}

trine_status krylov_report(struct krylov_work *w, trine_status (*form)(struct krylov_work *w))
{
    trine_status status = TRINE_SUCCESS;
    if (w->has_errors && w->steps) {
        TRY(krylov_look(w));
        if (form) TRY(form(w));
        if (form && has_instructions(w)) TRY(krylov_run(w, KRYLOV_CYCLED));
        krylov_combine(w, w->r, C_FINISH, w->d, C_ONE, w->x)->from_other = w->plan->inner != w->plan->base.dtype;
        TRY(krylov_run_outer(w, KRYLOV_CYCLED));
        TRY(compute_error(w, KRYLOV_CYCLED));
    }
    if (!w->plan->monitor) return TRINE_SUCCESS;
    TRY(krylov_look(w));
    for (int64_t i = 0; i < w->nrhs; i++) {
        const krylov_column *c = &w->columns[i];
        if (!(c->flags & KRYLOV_CYCLED) || c->steps <= w->reported[i]) continue;
        w->reported[i] = c->steps;
        TRY(w->plan->monitor(w->plan->monitor_user, i, c->steps, c->estimate * c->scale));
    }
done:
    return status;
}

/* --------------------------------------------------------------- the outer loop */

/** ||b||, the first x, and how far it is from the known solution. */
static trine_status begin(struct krylov_work *w, bool use_guess)
{
    static const double one[2] = {1, 0}, zero[2];
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    for (int64_t i = 0; i < w->nrhs; i++) w->reported[i] = -1;
    TRY(krylov_do(w, KRYLOV_RESET, 0, 0));
    krylov_dot(w, 0, w->b, w->b);
    TRY(run_outer_then(w, KRYLOV_EVERY, KRYLOV_BEGIN, use_guess));
    TRY(plan->backend->find_rows(w, w->b));
    krylov_combine(w, w->x, C_ZERO, w->b, C_ZERO, NULL);
    TRY(krylov_run_outer(w, use_guess ? KRYLOV_CLEARS : KRYLOV_EVERY));
    TRY(krylov_look(w));
    if (!w->has_errors) return TRINE_SUCCESS;
    const trine_dense R = {w->r, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    TRY(operator_run_update(plan->base.ctx, plan->base.dtype, one, NULL, false, plan->base.dtype, &plan->reference,
                            zero, &R, w->stream));
    krylov_dot(w, 0, w->r, w->r);
    TRY(run_outer_then(w, KRYLOV_EVERY, KRYLOV_REFERENCE, 0));
    krylov_combine(w, w->r, C_ONE, w->x, C_ZERO, NULL);
    TRY(krylov_run_outer(w, KRYLOV_EVERY));
    TRY(compute_error(w, KRYLOV_EVERY));
done:
    return status;
}

static bool is_mixed(const struct krylov_work *w) { return w->plan->inner != w->plan->base.dtype; }

/** r := b - A x of open columns, and what follows from its norm: columns end, or begin a cycle with V[0]. */
static trine_status compute_residual(struct krylov_work *w, bool is_first, bool x_is_zero)
{
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    if (x_is_zero) {
        krylov_combine(w, w->r, C_ONE, w->b, C_ZERO, NULL);
    } else {
        TRY(apply(w, plan->A, w->A, KRYLOV_OPEN, plan->base.dtype, w->x, w->r));
        krylov_combine(w, w->r, C_MINUS_ONE, w->r, C_ONE, w->b);
    }
    krylov_dot(w, 0, w->r, w->r);
    if (is_mixed(w)) TRY(run_outer_then(w, KRYLOV_OPEN, KRYLOV_RESIDUAL, is_first));
    else krylov_then(w, KRYLOV_OPEN, KRYLOV_RESIDUAL, is_first);
    krylov_combine(w, w->best, C_ONE, w->x, C_ZERO, NULL)->flags = KRYLOV_SAVES;
    if (is_mixed(w)) TRY(krylov_run_outer(w, KRYLOV_RUNNING));
    krylov_combine(w, w->V[0], C_START, w->r, C_ZERO, NULL)->from_other = is_mixed(w);
    TRY(krylov_is_gmres(&plan->parameters) ? krylov_begin_gmres(w) : krylov_run(w, KRYLOV_RUNNING));
    TRY(plan->backend->find_rows(w, w->r));
done:
    return status;
}

/** x := x + scale d of the cycle that has ended, with the best d that it came by. */
static trine_status correct(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    if (krylov_is_gmres(&w->plan->parameters)) {
        TRY(krylov_do(w, KRYLOV_GMRES_END, KRYLOV_CYCLED, 0));
        TRY(krylov_combine_basis(w));
    } else {
        TRY(krylov_do(w, KRYLOV_END_OF_CYCLE, KRYLOV_CYCLED, 0));
        if (w->kept) krylov_combine(w, w->d, C_ONE, w->kept, C_ZERO, NULL)->flags = KRYLOV_RETURNS;
    }
    if (is_mixed(w) && has_instructions(w)) TRY(krylov_run(w, KRYLOV_CYCLED));
    krylov_combine(w, w->x, C_FINISH, w->d, C_ONE, w->x)->from_other = is_mixed(w);
    TRY(krylov_run_outer(w, KRYLOV_CYCLED));
done:
    return status;
}

static trine_status run_cycle(struct krylov_work *w)
{
    static trine_status (*const cycles[])(struct krylov_work *) = {[TRINE_KRYLOV_GMRES] = krylov_cycle_gmres,
                                                                   [TRINE_KRYLOV_FGMRES] = krylov_cycle_gmres,
                                                                   [TRINE_KRYLOV_BICGSTAB] = krylov_cycle_bicgstab,
                                                                   [TRINE_KRYLOV_CG] = krylov_cycle_cg,
                                                                   [TRINE_KRYLOV_MINRES] = krylov_cycle_minres};
    return cycles[w->plan->parameters.method](w);
}

/* ------------------------------------------------------------------- failures */

/** An operator or the monitor has failed: whoever still iterates ends with that, and the solve returns the first
 *  failure in the end. */
static trine_status stop_all(struct krylov_work *w, trine_status status)
{
    if (w->records) return status;
    if (!w->failure) {
        w->failure = status;
        snprintf(w->sentence, sizeof w->sentence, "%s", trine_last_error());
    }
    forget_programs(w);
    return krylov_do(w, KRYLOV_FAIL, KRYLOV_OPEN, 0);
}

/** The same where b - A x cannot be computed. */
static trine_status end_without_residual(struct krylov_work *w, trine_status status, bool is_after_cycle)
{
    const trine_status stopped = stop_all(w, status);
    return stopped ? stopped : krylov_do(w, KRYLOV_END_WITHOUT_RESIDUAL, KRYLOV_OPEN, is_after_cycle);
}

/* ----------------------------------------------------------------- all together */

/** A cycle, and what it has brought. */
static trine_status go_round(struct krylov_work *w, int j)
{
    (void)j;
    trine_status status = run_cycle(w);
    if (status) status = stop_all(w, status);
    if (status) return status;
    status = correct(w);
    const bool has_x = !status;
    if (!status) status = compute_residual(w, false, false);
    return status ? end_without_residual(w, status, has_x) : TRINE_SUCCESS;
}

static trine_status iterate(struct krylov_work *w, bool use_guess)
{
    trine_status status = TRINE_SUCCESS;
    w->steps = 0;
    forget_programs(w);
    w->failure = TRINE_SUCCESS;
    TRY(begin(w, use_guess));
    status = compute_residual(w, true, !use_guess);
    if (!status) status = krylov_report(w, NULL);
    if (status) TRY(end_without_residual(w, status, false));
    TRY(krylov_loop(w, 1, go_round));
    krylov_combine(w, w->x, C_ONE, w->best, C_ZERO, NULL);
    TRY(krylov_run_outer(w, KRYLOV_RESTORES));
    if (w->failure) return trine_fail(w->failure, "%s", w->sentence);
done:
    return status;
}

/* ---------------------------------------------------------------- on the device */

/** All plans in it have values: what was recorded could not refuse. */
static bool has_values(trine_op op)
{
    bool all = !op->plan || op->plan->has_values;
    for (int i = 0; all && i < op->count; i++) all = has_values(op->parts[i]);
    return all;
}

static bool can_replay(const struct krylov_work *w)
{
    const trine_krylov plan = w->plan;
    if (!__atomic_load_n(&plan->records, __ATOMIC_RELAXED) || plan->monitor || w->has_errors) return false;
    if (!has_values(plan->A) || !has_values(plan->inner_A)) return false;
    for (int i = 0; plan->M && i < plan->parameters.m; i++)
        if (!has_values(plan->M[i])) return false;
    return true;
}

/** A failure is none of the solve's: the host makes the loop from now on. */
static bool record(struct krylov_work *w, bool use_guess)
{
    const trine_krylov plan = w->plan;
    const struct krylov_recorder *r = plan->backend->recorder;
    if (w->recording && w->recorded_nrhs == w->nrhs && w->recorded_guess == use_guess) return true;
    trine_status status = r->begin(w);
    if (!status) {
        w->records = true;
        status = iterate(w, use_guess);
        w->records = false;
        status = r->end(w, status);
    }
    w->recorded_nrhs = w->nrhs;
    w->recorded_guess = use_guess;
    if (!status) return true;
    r->forget(w);
    trine_log(plan->base.ctx, 1, "krylov: the host makes the loop, since recording it has failed: %s",
              trine_last_error());
    plan->reason = "host: the operators could not be recorded in a CUDA graph";
    __atomic_store_n(&plan->records, false, __ATOMIC_RELAXED);
    return false;
}

trine_status krylov_iterate(struct krylov_work *w, bool use_guess)
{
    w->solved = true;
    if (!can_replay(w) || !record(w, use_guess)) return iterate(w, use_guess);
    w->is_fresh = false;
    const trine_status status = w->plan->backend->recorder->replay(w);
    return status ? status : krylov_look(w);
}
