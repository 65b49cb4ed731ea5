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
    krylov_instruction *added = &w->program.instructions[w->program.count++];
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

static trine_status run(struct krylov_work *w, trine_dtype t, unsigned flags)
{
    w->program.dtype = t;
    w->program.flags = flags;
    const trine_status status = w->plan->backend->run(w, &w->program);
    w->program.count = 0;
    return status;
}
trine_status krylov_run(struct krylov_work *w, unsigned flags) { return run(w, w->plan->inner, flags); }
trine_status krylov_run_outer(struct krylov_work *w, unsigned flags) { return run(w, w->plan->base.dtype, flags); }

trine_status krylov_do(struct krylov_work *w, krylov_step step, int j)
{
    return w->plan->backend->step(w, step, KRYLOV_RUNNING, j);
}

static bool any(const struct krylov_work *w, unsigned flags)
{
    for (int64_t i = 0; i < w->nrhs; i++)
        if ((w->columns[i].flags & flags) == flags) return true;
    return false;
}
bool krylov_runs(const struct krylov_work *w) { return any(w, KRYLOV_RUNNING); }

/* ----------------------------------------------------------------- operators */

/** From the first to the last column that has the flags: frozen ones at either end cost nothing. */
static trine_status apply(struct krylov_work *w, trine_op op, trine_work work, unsigned flags, trine_dtype t,
                          const void *x, void *y)
{
    int64_t first = 0, last = w->nrhs - 1;
    while (first <= last && !(w->columns[first].flags & flags)) first++;
    while (first <= last && !(w->columns[last].flags & flags)) last--;
    if (first > last) return TRINE_SUCCESS;
    const size_t skipped = (size_t)first * (size_t)w->stride * trine_dtype_size(t);
    const trine_dense X = {(char *)x + skipped, w->plan->base.n, last - first + 1, w->stride, TRINE_COLMAJOR};
    const trine_dense Y = {(char *)y + skipped, w->plan->base.n, last - first + 1, w->stride, TRINE_COLMAJOR};
    const trine_exec exec = {.work = work};
    return trine_op_apply(op, TRINE_N, NULL, &X, NULL, &Y, &exec);
}

trine_status krylov_apply_A(struct krylov_work *w, unsigned flags, const void *x, void *y)
{
    return apply(w, w->plan->inner_A, w->inner_A, flags, w->plan->inner, x, y);
}

trine_status krylov_apply_M(struct krylov_work *w, unsigned flags, const void *x, void *y)
{
    const int64_t turn = w->steps % w->plan->parameters.m;
    return apply(w, w->plan->M[turn], w->M[turn], flags, w->plan->inner, x, y);
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

trine_status krylov_keep(struct krylov_work *w)
{
    krylov_combine(w, w->kept, C_ONE, w->d, C_ZERO, NULL);
    return krylov_run(w, KRYLOV_RUNNING | KRYLOV_KEEPS);
}

/* ----------------------------------------------------------- what is reported */

/** r := y - X for the known solutions X, and the norms of r. */
static trine_status compute_error(struct krylov_work *w, unsigned flags)
{
    static const double one[2] = {1, 0}, minus_one[2] = {-1, 0};
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    const trine_dense R = {w->r, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    TRY(operator_run_update(plan->base.ctx, plan->base.dtype, minus_one, NULL, false, plan->base.dtype,
                            &plan->reference, one, &R, NULL));
    krylov_dot(w, 0, w->r, w->r);
    TRY(krylov_run_outer(w, flags));
    TRY(plan->backend->step(w, KRYLOV_ERROR, flags, 0));
done:
    return status;
}

trine_status krylov_report(struct krylov_work *w, trine_status (*form)(struct krylov_work *w))
{
    trine_status status = TRINE_SUCCESS;
    if (w->has_errors && w->steps) {
        if (form) TRY(form(w));
        krylov_combine(w, w->r, C_FINISH, w->d, C_ONE, w->x)->from_other = w->plan->inner != w->plan->base.dtype;
        TRY(krylov_run_outer(w, KRYLOV_CYCLED));
        TRY(compute_error(w, KRYLOV_CYCLED));
    }
    if (!w->plan->monitor) return TRINE_SUCCESS;
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

/** Of columns that have just ended as not finite: the row where it is seen. */
static void find_rows(struct krylov_work *w, const void *x)
{
    const trine_krylov plan = w->plan;
    const size_t size = (size_t)w->stride * trine_dtype_size(plan->base.dtype);
    for (int64_t i = 0; i < w->nrhs; i++) {
        krylov_column *c = &w->columns[i];
        if (!(c->flags & KRYLOV_OPEN) && c->outcome == TRINE_OUTCOME_NOT_FINITE && c->row < 0)
            c->row = plan->backend->bad_row(w, plan->base.dtype, (const char *)x + (size_t)i * size);
    }
}

/** ||b||, the first x, and how far it is from the known solution. */
static trine_status begin(struct krylov_work *w, bool use_guess)
{
    static const double one[2] = {1, 0}, zero[2];
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = w->plan;
    for (int64_t i = 0; i < w->nrhs; i++) {
        w->columns[i].flags = KRYLOV_EVERY;
        w->reported[i] = -1;
    }
    krylov_dot(w, 0, w->b, w->b);
    TRY(krylov_run_outer(w, KRYLOV_EVERY));
    TRY(plan->backend->step(w, KRYLOV_BEGIN, KRYLOV_EVERY, 0));
    find_rows(w, w->b);
    krylov_combine(w, w->x, C_ZERO, w->b, C_ZERO, NULL);
    TRY(krylov_run_outer(w, use_guess ? KRYLOV_CLEARS : KRYLOV_EVERY));
    if (!w->has_errors) return TRINE_SUCCESS;
    const trine_dense R = {w->r, plan->base.n, w->nrhs, w->stride, TRINE_COLMAJOR};
    TRY(operator_run_update(plan->base.ctx, plan->base.dtype, one, NULL, false, plan->base.dtype, &plan->reference,
                            zero, &R, NULL));
    krylov_dot(w, 0, w->r, w->r);
    TRY(krylov_run_outer(w, KRYLOV_EVERY));
    TRY(plan->backend->step(w, KRYLOV_REFERENCE, KRYLOV_EVERY, 0));
    krylov_combine(w, w->r, C_ONE, w->x, C_ZERO, NULL);
    TRY(krylov_run_outer(w, KRYLOV_EVERY));
    TRY(compute_error(w, KRYLOV_EVERY));
done:
    return status;
}

/** r := b - A x of open columns, and what follows from its norm. */
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
    TRY(krylov_run_outer(w, KRYLOV_OPEN));
    TRY(plan->backend->step(w, KRYLOV_RESIDUAL, KRYLOV_OPEN, is_first));
    find_rows(w, w->r);
    krylov_combine(w, w->best, C_ONE, w->x, C_ZERO, NULL);
    TRY(krylov_run_outer(w, KRYLOV_SAVES | KRYLOV_OPEN));
done:
    return status;
}

/** x := x + scale d of the cycle that has ended, with the best d that it came by. */
static trine_status correct(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    TRY(w->plan->backend->step(w, KRYLOV_END_OF_CYCLE, KRYLOV_CYCLED, 0));
    if (krylov_is_gmres(&w->plan->parameters)) TRY(krylov_form_gmres(w));
    krylov_combine(w, w->d, C_ONE, w->kept, C_ZERO, NULL);
    TRY(krylov_run(w, KRYLOV_RETURNS | KRYLOV_CYCLED));
    krylov_combine(w, w->x, C_FINISH, w->d, C_ONE, w->x)->from_other = w->plan->inner != w->plan->base.dtype;
    TRY(krylov_run_outer(w, KRYLOV_CYCLED));
done:
    return status;
}

/** From r to the cycle's first vector, and the cycle. */
static trine_status run_cycle(struct krylov_work *w)
{
    static trine_status (*const cycles[])(struct krylov_work *) = {[TRINE_KRYLOV_GMRES] = krylov_cycle_gmres,
                                                                   [TRINE_KRYLOV_FGMRES] = krylov_cycle_gmres,
                                                                   [TRINE_KRYLOV_BICGSTAB] = krylov_cycle_bicgstab,
                                                                   [TRINE_KRYLOV_CG] = krylov_cycle_cg,
                                                                   [TRINE_KRYLOV_MINRES] = krylov_cycle_minres};
    trine_status status = TRINE_SUCCESS;
    krylov_combine(w, w->V[0], C_START, w->r, C_ZERO, NULL)->from_other = w->plan->inner != w->plan->base.dtype;
    TRY(krylov_run(w, KRYLOV_RUNNING));
    TRY(cycles[w->plan->parameters.method](w));
done:
    return status;
}

/* ------------------------------------------------------------------- failures */

/** The first failure of a solve, which it returns in the end. */
struct failure {
    trine_status status;
    char sentence[512];
};

/** An operator or the monitor has failed: whoever still iterates ends with that. */
static void stop_all(struct krylov_work *w, struct failure *f, trine_status status)
{
    if (!f->status) {
        f->status = status;
        snprintf(f->sentence, sizeof f->sentence, "%s", trine_last_error());
    }
    w->program.count = 0;
    for (int64_t i = 0; i < w->nrhs; i++)
        if (w->columns[i].flags & KRYLOV_OPEN) krylov_stop(&w->columns[i], TRINE_OUTCOME_CALLBACK_FAILED);
}

/** b - A x cannot be computed: x is one of which that is known, or, after a cycle, one with an estimate. */
static void end_without_residual(struct krylov_work *w, bool is_after_cycle)
{
    for (int64_t i = 0; i < w->nrhs; i++) {
        krylov_column *c = &w->columns[i];
        if (!(c->flags & KRYLOV_OPEN)) continue;
        if (is_after_cycle) c->residual = c->best_estimate * c->scale;
        if (c->residual < c->best_residual) c->best_step = c->steps;
        krylov_choose_x(c, c->residual);
        krylov_end(c, TRINE_OUTCOME_CALLBACK_FAILED);
    }
}

/* ----------------------------------------------------------------- all together */

trine_status krylov_iterate(struct krylov_work *w, bool use_guess)
{
    trine_status status = TRINE_SUCCESS;
    struct failure failure = {TRINE_SUCCESS, ""};
    w->steps = 0;
    w->program.count = 0;
    w->solved = true;
    TRY(begin(w, use_guess));
    status = compute_residual(w, true, !use_guess);
    if (!status) status = krylov_report(w, NULL);
    if (status) {
        stop_all(w, &failure, status);
        end_without_residual(w, false);
    }
    while (krylov_runs(w)) {
        bool has_x = false;
        status = run_cycle(w);
        if (status) stop_all(w, &failure, status);
        status = correct(w);
        has_x = !status;
        if (!status) status = compute_residual(w, false, false);
        if (!status) continue;
        stop_all(w, &failure, status);
        end_without_residual(w, has_x);
    }
    krylov_combine(w, w->x, C_ONE, w->best, C_ZERO, NULL);
    TRY(krylov_run_outer(w, KRYLOV_RESTORES));
    if (failure.status) return trine_fail(failure.status, "%s", failure.sentence);
done:
    return status;
}
