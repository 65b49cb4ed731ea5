/* The scalar half of the methods: one function a step, for one column. Vectors are the other half (cycle_cg.c and
 * its like). For the host and for kernels. */
#ifndef TRINE_KRYLOV_STEPS_H
#define TRINE_KRYLOV_STEPS_H

#include "krylov/common/column.h"
#include "krylov/common/steps_gmres.h"
#include "krylov/common/steps_short.h"

/* ---------------------------------------------------------- around the cycles */

KRYLOV_BOTH void krylov_end(krylov_column *c, trine_krylov_outcome outcome)
{
    c->outcome = outcome;
    c->flags &= ~(unsigned)(KRYLOV_OPEN | KRYLOV_RUNNING);
}

/** has_guess: the residual of the first x is not known before b - A x is computed, and NaN until then. */
KRYLOV_BOTH void krylov_begin(krylov_column *c, const krylov_parameters *p, bool has_guess)
{
    c->coefficients[C_ZERO] = krylov_real(0);
    c->coefficients[C_ONE] = krylov_real(1);
    c->coefficients[C_MINUS_ONE] = krylov_real(-1);
    c->flags = KRYLOV_OPEN | KRYLOV_EVERY;
    c->rhs_norm = krylov_sum_root(c->sums[0]);
    c->target = fmax(p->rtol * c->rhs_norm, p->atol);
    c->row = -1;
    c->best_residual = c->first_residual = c->residual = c->rhs_norm;
    c->stagnant = c->steps = c->restarts = c->best_step = 0;
    c->matrix_scale = 0;
    c->is_pending = c->claimed = false;
    if (!isfinite(c->rhs_norm)) krylov_end(c, TRINE_OUTCOME_NOT_FINITE);
    if (c->rhs_norm == 0) {
        c->flags |= KRYLOV_CLEARS;
        krylov_end(c, TRINE_OUTCOME_CONVERGED);
    }
    if (has_guess && (c->flags & KRYLOV_OPEN)) c->first_residual = c->residual = NAN;
    if (p->history) c->residuals[0] = c->residual;
}

/** The x of the end is the best one, whatever happened since. */
KRYLOV_BOTH void krylov_choose_x(krylov_column *c, double norm)
{
    if (norm <= c->best_residual) return;
    c->flags |= KRYLOV_RESTORES;
    c->residual = c->best_residual;
}

/** Into the next cycle. */
KRYLOV_BOTH void krylov_enter_cycle(krylov_column *c, const krylov_parameters *p)
{
    /* 1 / scale must be a number; a norm below is that of denormal numbers */
    c->scale = fmax(c->residual, 0x1p-1000);
    c->coefficients[C_START] = krylov_real(1 / c->scale);
    c->coefficients[C_FINISH] = krylov_real(c->scale);
    c->floor = 16 * p->eps;
    c->goal = c->target / c->scale;
    if (c->claimed) c->goal = fmin(c->goal, 0.1); /* estimates are too small: go on for long enough */
    c->goal = fmax(c->goal, c->floor);
    c->estimate = c->best_estimate = c->start_norm = 1;
    c->cycle_steps = c->cycle_best_step = 0;
    c->size = 0;
    c->is_half = c->is_last = c->is_exhausted = false;
    c->is_best_current = true;
    c->flags |= KRYLOV_RUNNING | KRYLOV_CYCLED;
}

KRYLOV_BOTH void krylov_residual(krylov_column *c, const krylov_parameters *p, bool is_first)
{
    const double norm = krylov_sum_root(c->sums[0]), before = c->best_residual;
    c->flags &= ~(unsigned)(KRYLOV_SAVES | KRYLOV_CYCLED);
    if (is_first) c->first_residual = norm;
    else c->restarts++;
    if (c->steps < p->history) c->residuals[c->steps] = norm;
    if (!isfinite(norm)) {
        if (!is_first) krylov_choose_x(c, norm); /* else there is no other x */
        krylov_end(c, TRINE_OUTCOME_NOT_FINITE);
        return;
    }
    c->residual = norm;
    if (is_first || norm < c->best_residual) {
        c->best_residual = norm;
        c->best_step = c->steps;
        c->flags |= KRYLOV_SAVES;
    }
    if (norm <= c->target) {
        krylov_end(c, TRINE_OUTCOME_CONVERGED);
        return;
    }
    if (!is_first) c->stagnant = norm > (1 - p->stagnation) * before ? c->stagnant + 1 : 0;
    if (c->is_pending || c->steps >= p->max_steps || c->stagnant >= p->stagnant_limit) {
        krylov_end(c, c->is_pending              ? c->pending
                      : c->steps >= p->max_steps ? TRINE_OUTCOME_MAX_ITERATIONS
                                                 : TRINE_OUTCOME_STAGNATION);
        krylov_choose_x(c, norm);
        return;
    }
    krylov_enter_cycle(c, p);
}

KRYLOV_BOTH void krylov_end_of_cycle(krylov_column *c)
{
    c->flags &= ~(unsigned)(KRYLOV_RUNNING | KRYLOV_RETURNS);
    c->claimed = c->estimate <= c->goal && c->goal > c->floor;
    if (!c->is_best_current && (c->flags & KRYLOV_CYCLED)) c->flags |= KRYLOV_RETURNS;
}

/** b - A x cannot be computed: x is one of which that is known, or, after a cycle, one with an estimate. */
KRYLOV_BOTH void krylov_end_without_residual(krylov_column *c, bool is_after_cycle)
{
    if (is_after_cycle) c->residual = c->best_estimate * c->scale;
    if (c->residual < c->best_residual) c->best_step = c->steps;
    if (!isnan(c->residual)) krylov_choose_x(c, c->residual); /* else the guess is the only x there is */
    krylov_end(c, TRINE_OUTCOME_CALLBACK_FAILED);
}

/** Has just ended as not finite: the row where it is seen is to be found. */
KRYLOV_BOTH bool krylov_needs_row(const krylov_column *c)
{
    return !(c->flags & KRYLOV_OPEN) && c->outcome == TRINE_OUTCOME_NOT_FINITE && c->row < 0;
}

/* ---------------------------------------------------------------- dispatch */

/** One step of one column; j: number of the basis vector, or what the step's comment says. */
KRYLOV_BOTH void krylov_take_step(krylov_step step, krylov_column *c, const krylov_parameters *p, int j)
{
    switch (step) {
    case KRYLOV_NO_STEP: break;
    case KRYLOV_RESET: c->flags = KRYLOV_EVERY; break;
    case KRYLOV_NOTHING:
        c->sums[0].re = c->sums[0].im = 0;
        c->sums[0].exponent = 0;
        krylov_begin(c, p, false);
        break;
    case KRYLOV_BEGIN: krylov_begin(c, p, j); break;
    case KRYLOV_REFERENCE: c->reference_norm = krylov_sum_root(c->sums[0]); break;
    case KRYLOV_RESIDUAL: krylov_residual(c, p, j); break;
    case KRYLOV_ERROR:
        if (c->steps < p->history)
            c->errors[c->steps] = krylov_sum_root(c->sums[0]) / (c->reference_norm > 0 ? c->reference_norm : 1);
        break;
    case KRYLOV_END_OF_CYCLE: krylov_end_of_cycle(c); break;
    case KRYLOV_FAIL: krylov_stop(c, TRINE_OUTCOME_CALLBACK_FAILED); break;
    case KRYLOV_END_WITHOUT_RESIDUAL: krylov_end_without_residual(c, j); break;
    case KRYLOV_GMRES_START: krylov_gmres_start(c, p); break;
    case KRYLOV_GMRES_FIRST: krylov_gmres_projected(c, p, j, 0); break;
    case KRYLOV_GMRES_SECOND: krylov_gmres_projected(c, p, j, 1); break;
    case KRYLOV_GMRES_ROTATE: krylov_gmres_rotate(c, p, j, krylov_R(c, j)); break;
    case KRYLOV_GMRES_SOLVE: krylov_gmres_solve(c, p); break;
    case KRYLOV_GMRES_END:
        krylov_end_of_cycle(c);
        krylov_gmres_solve(c, p);
        break;
    case KRYLOV_CG_START: krylov_cg_start(c); break;
    case KRYLOV_CG_ALPHA: krylov_cg_alpha(c); break;
    case KRYLOV_CG_BETA: krylov_cg_beta(c, p); break;
    case KRYLOV_ADVANCE: krylov_advance(c, p); break;
    case KRYLOV_BICGSTAB_START: krylov_bicgstab_start(c); break;
    case KRYLOV_BICGSTAB_ALPHA: krylov_bicgstab_alpha(c, p); break;
    case KRYLOV_BICGSTAB_OMEGA: krylov_bicgstab_omega(c, p); break;
    case KRYLOV_BICGSTAB_BETA: krylov_bicgstab_beta(c, p); break;
    case KRYLOV_MINRES_START: krylov_minres_start(c); break;
    case KRYLOV_MINRES_LANCZOS: krylov_minres_lanczos(c); break;
    case KRYLOV_MINRES_ROTATE: krylov_minres_rotate(c, p); break;
    case KRYLOV_MINRES_ADVANCE: krylov_minres_advance(c, p); break;
    }
}

#endif
