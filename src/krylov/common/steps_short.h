/* The methods of short recurrences: CG, BiCGStab, MINRES. The residuals of CG and BiCGStab rise and fall, so the best d
 * of a cycle is kept: x and d are advanced after the new residual is known, and d is copied before it becomes worse. */
#ifndef TRINE_KRYLOV_STEPS_SHORT_H
#define TRINE_KRYLOV_STEPS_SHORT_H

#include "krylov/common/steps_gmres.h"

/** Most steps without a better residual, as a multiple of those before it, and at least. */
enum { KRYLOV_PATIENCE = 2, KRYLOV_LEAST_PATIENCE = 1000 };

KRYLOV_BOTH bool krylov_sum_is_finite(krylov_sum a) { return isfinite(a.re) && isfinite(a.im); }

/** A step of CG or BiCGStab is about to be made, to a residual of this norm. */
KRYLOV_BOTH void krylov_short_norm(krylov_column *c, const krylov_parameters *p, double norm)
{
    c->flags &= ~(unsigned)KRYLOV_KEEPS;
    if (!isfinite(norm)) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE); /* d stays as it is */
        return;
    }
    krylov_record(c, p, norm / c->start_norm);
    if (c->estimate < c->best_estimate) {
        c->best_estimate = c->estimate;
        c->cycle_best_step = c->cycle_steps;
        c->is_best_current = true;
    } else if (c->is_best_current) {
        c->is_best_current = false;
        c->flags |= KRYLOV_KEEPS;
    }
    if (c->estimate <= c->goal) c->is_last = true;
}

/** The vectors have been advanced. */
KRYLOV_BOTH void krylov_advance(krylov_column *c, const krylov_parameters *p)
{
    const int64_t since = c->cycle_steps - c->cycle_best_step;
    if (since > KRYLOV_LEAST_PATIENCE && since > KRYLOV_PATIENCE * c->cycle_best_step && !c->is_pending)
        krylov_stop(c, TRINE_OUTCOME_STAGNATION);
    if (c->is_last || c->is_pending || c->is_exhausted || c->steps >= p->max_steps ||
        (p->cycle_limit && c->cycle_steps >= p->cycle_limit))
        c->flags &= ~(unsigned)KRYLOV_RUNNING;
}

/** What ends the iteration after this step, which is made all the same. */
KRYLOV_BOTH void krylov_stop_after(krylov_column *c, trine_krylov_outcome outcome)
{
    c->is_pending = true;
    c->pending = outcome;
}

/* -------------------------------------------------------------------------- CG */

KRYLOV_BOTH void krylov_cg_check(krylov_column *c, krylov_sum a)
{
    if (!krylov_sum_is_finite(a)) krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
    else if (!(a.re > 0)) krylov_stop(c, TRINE_OUTCOME_INDEFINITE);
}

KRYLOV_BOTH void krylov_cg_start(krylov_column *c)
{
    c->rho = c->sums[0];
    krylov_cg_check(c, c->rho);
}

KRYLOV_BOTH void krylov_cg_alpha(krylov_column *c)
{
    krylov_cg_check(c, c->sums[0]);
    if (!(c->flags & KRYLOV_RUNNING)) return;
    const double alpha = krylov_sum_ratio(c->rho, c->sums[0]).re;
    c->coefficients[C_ALPHA] = krylov_real(alpha);
    c->coefficients[C_MINUS_ALPHA] = krylov_real(-alpha);
}

KRYLOV_BOTH void krylov_cg_beta(krylov_column *c, const krylov_parameters *p)
{
    const krylov_sum rho = c->sums[p->has_M ? 1 : 0];
    krylov_short_norm(c, p, krylov_sum_root(c->sums[0]));
    c->coefficients[C_BETA] = krylov_real(0);
    if (c->is_last || !(c->flags & KRYLOV_RUNNING)) return;
    if (!krylov_sum_is_finite(rho)) krylov_stop_after(c, TRINE_OUTCOME_NOT_FINITE);
    else if (!(rho.re > 0)) krylov_stop_after(c, TRINE_OUTCOME_INDEFINITE);
    else c->coefficients[C_BETA] = krylov_real(krylov_sum_ratio(rho, c->rho).re);
    c->rho = rho;
}

/* -------------------------------------------------------------------- BiCGStab */

KRYLOV_BOTH void krylov_bicgstab_start(krylov_column *c)
{
    c->rho = c->sums[0];
    c->shadow_norm = c->start_norm = krylov_sum_root(c->rho);
    if (!isfinite(c->start_norm)) krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
    else if (c->start_norm == 0) krylov_stop(c, TRINE_OUTCOME_STAGNATION); /* M r = 0 */
}

/** |a| <= limit x y, where the product may not be a number. */
KRYLOV_BOTH bool krylov_is_small(krylov_sum a, double limit, double x, double y)
{
    int of_x, of_y;
    const krylov_scalar unscaled = {a.re, a.im};
    const double ratio = krylov_size(unscaled) / frexp(x, &of_x) / frexp(y, &of_y);
    return !(krylov_shifted(ratio, a.exponent - of_x - of_y) > limit);
}

KRYLOV_BOTH void krylov_bicgstab_alpha(krylov_column *c, const krylov_parameters *p)
{
    if (!krylov_sum_is_finite(c->sums[0]) || !krylov_sum_is_finite(c->sums[1])) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
        return;
    }
    /* r^H A r of a skew-symmetric A is zero but for rounding; later on, small ones are usual, and still have digits */
    const double norm = krylov_sum_root(c->sums[1]), limit = c->cycle_steps ? p->eps * sqrt(p->eps) : p->eps;
    if (norm == 0 || krylov_is_small(c->sums[0], limit, c->shadow_norm, norm)) {
        krylov_stop(c, TRINE_OUTCOME_BREAKDOWN_RHO);
        return;
    }
    c->alpha = krylov_sum_ratio(c->rho, c->sums[0]);
    c->coefficients[C_ALPHA] = c->alpha;
    c->coefficients[C_MINUS_ALPHA] = krylov_minus(c->alpha);
}

KRYLOV_BOTH void krylov_bicgstab_omega(krylov_column *c, const krylov_parameters *p)
{
    const double s = krylov_sum_root(c->sums[0]), t = krylov_sum_root(c->sums[2]);
    c->omega = krylov_real(0);
    if (!isfinite(s)) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
        return;
    }
    c->is_half = s / c->start_norm <= c->goal; /* the first half of the step is enough */
    if (!c->is_half) {
        if (!krylov_sum_is_finite(c->sums[1]) || !isfinite(t)) {
            krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
            return;
        }
        if (t == 0 || krylov_is_small(c->sums[1], p->eps, t, s))
            krylov_stop_after(c, TRINE_OUTCOME_BREAKDOWN_OMEGA); /* the first half of the step is still good */
        else c->omega = krylov_sum_ratio(c->sums[1], c->sums[2]);
    }
    c->coefficients[C_OMEGA] = c->omega;
    c->coefficients[C_MINUS_OMEGA] = krylov_minus(c->omega);
}

KRYLOV_BOTH void krylov_bicgstab_beta(krylov_column *c, const krylov_parameters *p)
{
    const double norm = krylov_sum_root(c->sums[0]);
    const krylov_sum rho = c->sums[1];
    krylov_scalar beta = krylov_real(0);
    krylov_short_norm(c, p, norm);
    if (!(c->flags & KRYLOV_RUNNING)) return;
    c->is_last = c->is_last || c->is_half;
    if (!c->is_last && !c->is_pending) {
        if (krylov_is_small(rho, p->eps * sqrt(p->eps), c->shadow_norm, norm))
            krylov_stop_after(c, TRINE_OUTCOME_BREAKDOWN_RHO);
        else beta = krylov_times(krylov_sum_ratio(rho, c->rho), krylov_over(c->alpha, c->omega));
    }
    c->rho = rho;
    c->coefficients[C_BETA] = beta;
    c->coefficients[C_MINUS_BETA_OMEGA] = krylov_minus(krylov_times(beta, c->omega));
}

/* ---------------------------------------------------------------------- MINRES */

/* Lanczos vectors v_j and z_j = M v_j (Elman, Silvester and Wathen 2014, Algorithm 4.1 in the notation of 6.1, where
 * gamma_j^2 = v_j^H z_j). What is stored is v_j / tau_j and z_j / tau_j, with a tau_j that is known before gamma_j is
 * and is of its size: so no vector grows with A. length_j = gamma_j / tau_j. */

KRYLOV_BOTH void krylov_minres_start(krylov_column *c)
{
    const krylov_sum square = c->sums[0];
    if (!krylov_sum_is_finite(square)) krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
    else if (!(square.re > 0)) krylov_stop(c, TRINE_OUTCOME_INDEFINITE);
    c->rho = square;
    c->length = c->eta = c->start_norm = krylov_sum_root(square);
    c->gamma = 0; /* nothing stands beside the first diagonal entry of T */
    c->last_length = 1; /* of no vector */
    c->c = c->last_c = 1;
    c->s = c->last_s = 0;
    c->w_norm = c->last_w_norm = 0;
}

KRYLOV_BOTH void krylov_minres_lanczos(krylov_column *c)
{
    if (!krylov_sum_is_finite(c->sums[0]) || !krylov_sum_is_finite(c->sums[1])) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
        return;
    }
    const double size = krylov_sum_root(c->sums[1]) / c->length;
    c->tau = size > 0 ? size : 1;
    c->delta = krylov_sum_ratio(c->sums[0], c->rho).re;
    c->coefficients[C_V] = krylov_real(1 / c->length / c->tau);
    c->coefficients[C_V1] = krylov_real(-c->delta / c->tau / c->length);
    c->coefficients[C_V2] = krylov_real(-c->gamma / c->tau / c->last_length);
}

KRYLOV_BOTH void krylov_minres_rotate(krylov_column *c, const krylov_parameters *p)
{
    krylov_sum square = c->sums[0];
    if (!krylov_sum_is_finite(square)) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
        return;
    }
    const bool is_negative = square.re < 0;
    square.re = fabs(square.re);
    const double length = krylov_sum_root(square);
    double next = length * c->tau;
    c->matrix_scale = fmax(c->matrix_scale, fmax(fabs(c->delta), next));
    if (next <= 16 * p->eps * c->matrix_scale) { /* the Krylov space has become invariant */
        next = 0;
        c->is_exhausted = true;
    } else if (is_negative) {
        krylov_stop(c, TRINE_OUTCOME_INDEFINITE);
        return;
    }
    const double gamma = c->gamma;
    const double a0 = c->c * c->delta - c->last_c * c->s * gamma, a1 = hypot(a0, next);
    const double a2 = c->s * c->delta + c->last_c * c->c * gamma, a3 = c->last_s * gamma;
    /* ||A r|| / ||r|| of d as it is (Choi, Paige and Saunders 2011): where that is zero, d is as good as it gets */
    const double slope = hypot(a0, c->c * next);
    /* what rounding leaves of z - a2 w - a3 last_w, times A: with an a1 below it, the next w would be made of that */
    const double rounding = 16 * p->eps * c->matrix_scale * (1 + fabs(a2) * c->w_norm + fabs(a3) * c->last_w_norm);
    if (slope <= p->eps * c->matrix_scale || a1 <= rounding) {
        c->flags &= ~(unsigned)KRYLOV_RUNNING;
        krylov_record(c, p, c->estimate);
        return;
    }
    c->last_c = c->c;
    c->last_s = c->s;
    c->c = a0 / a1;
    c->s = next / a1;
    c->coefficients[C_W] = krylov_real(1 / a1 / c->length);
    c->coefficients[C_W1] = krylov_real(-a2 / a1);
    c->coefficients[C_W2] = krylov_real(-a3 / a1);
    c->coefficients[C_D] = krylov_real(c->c * c->eta);
    c->eta *= -c->s;
    c->last_length = c->length;
    c->length = length;
    c->rho = square;
    c->gamma = next;
    krylov_record(c, p, fabs(c->eta) / c->start_norm);
    if (c->estimate < (1 - p->eps) * c->best_estimate) {
        c->best_estimate = c->estimate;
        c->cycle_best_step = c->cycle_steps;
    }
    if (c->estimate <= c->goal) c->is_last = true;
}

/** Norms of w are those beside a z of z^H v = 1 of norm 1; without M every such z has it. */
KRYLOV_BOTH void krylov_minres_advance(krylov_column *c, const krylov_parameters *p)
{
    c->last_w_norm = c->w_norm;
    c->w_norm = krylov_sum_root(c->sums[0]);
    if (p->has_M) c->w_norm = c->w_norm / krylov_sum_root(c->sums[1]) * c->last_length;
    krylov_advance(c, p);
}

#endif
