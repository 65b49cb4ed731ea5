/* GMRES and FGMRES: the columns of the Hessenberg matrix, Givens rotations, and the small triangular solve at the end
 * (Saad and Schultz 1986). Rotations and R are kept in double. */
#ifndef TRINE_KRYLOV_STEPS_GMRES_H
#define TRINE_KRYLOV_STEPS_GMRES_H

#include "krylov/common/column.h"

/* ------------------------------------------------------- what all methods share */

/** Iterating ends with this outcome, unless x turns out good when b - A x is computed. */
KRYLOV_BOTH void krylov_stop(krylov_column *c, trine_krylov_outcome outcome)
{
    c->is_pending = true;
    c->pending = outcome;
    c->flags &= ~(unsigned)KRYLOV_RUNNING;
}

/** A step is done: its estimate goes to the history. */
KRYLOV_BOTH void krylov_record(krylov_column *c, const krylov_parameters *p, double estimate)
{
    c->estimate = estimate;
    c->steps++;
    c->cycle_steps++;
    if (c->steps < p->history) c->residuals[c->steps] = estimate * c->scale;
}

/* ------------------------------------------------------------------------ GMRES */

/** Column j of R, upper triangular, packed. */
KRYLOV_BOTH krylov_scalar *krylov_R(const krylov_column *c, int j) { return c->R + (int64_t)j * (j + 1) / 2; }
/** Where the coefficients of a pass begin: 0 and 1 of the projections, 2 of the solution. */
KRYLOV_BOTH int krylov_pass(const krylov_parameters *p, int pass) { return C_PROJECTIONS + pass * (p->restart + 1); }

/** The first vector is M r, where M is on the left; it is normalized next. */
KRYLOV_BOTH void krylov_gmres_start(krylov_column *c, const krylov_parameters *p)
{
    c->start_norm = p->is_left ? krylov_sum_root(c->sums[0]) : 1;
    c->g[0] = krylov_real(c->start_norm);
    c->coefficients[C_NORMALIZE] = krylov_real(1 / c->start_norm);
    if (!isfinite(c->start_norm)) krylov_stop(c, TRINE_OUTCOME_NOT_FINITE);
    if (c->start_norm == 0) krylov_stop(c, TRINE_OUTCOME_STAGNATION); /* M is singular */
}

/** Entry k of column j: the projection on vector k of the first pass (0), and what the second (1) adds to it. */
KRYLOV_BOTH void krylov_gmres_project(krylov_column *c, const krylov_parameters *p, int j, int k, int pass,
                                      krylov_sum sum)
{
    krylov_scalar *h = krylov_R(c, j) + k;
    const krylov_scalar value = krylov_sum_value(sum);
    *h = pass ? krylov_add(*h, value) : value;
    c->coefficients[krylov_pass(p, pass) + k] = krylov_minus(value);
}
KRYLOV_BOTH void krylov_gmres_projected(krylov_column *c, const krylov_parameters *p, int j, int pass)
{
    for (int k = 0; k <= j; k++) krylov_gmres_project(c, p, j, k, pass, c->sums[k]);
}

/** The entry (j+1, j) is known: column j of R, h, and the new estimate. */
KRYLOV_BOTH void krylov_gmres_rotate(krylov_column *c, const krylov_parameters *p, int j, krylov_scalar *h)
{
    double below = krylov_sum_root(c->sums[0]), largest = below;
    for (int k = 0; k <= j; k++) largest = fmax(largest, krylov_size(h[k]));
    bool is_finite = isfinite(below);
    for (int k = 0; k <= j; k++) is_finite = is_finite && krylov_is_finite(h[k]);
    if (!is_finite) {
        krylov_stop(c, TRINE_OUTCOME_NOT_FINITE); /* d is made of the vectors before */
        return;
    }
    if (below <= p->eps * largest) below = 0; /* the Krylov space has become invariant */
    for (int k = 0; k < j; k++) {
        const krylov_scalar upper = h[k], lower = h[k + 1];
        h[k] = krylov_add(krylov_scaled(upper, c->cosine[k]), krylov_times(c->sine[k], lower));
        h[k + 1] =
            krylov_add(krylov_scaled(lower, c->cosine[k]), krylov_minus(krylov_times(krylov_conj(c->sine[k]), upper)));
    }
    const double size = krylov_size(h[j]), radius = hypot(size, below);
    /* several M may differ in scale; one M makes columns of the size of A M, less where A M takes the vector to zero */
    c->matrix_scale = fmax(p->m > 1 ? 0 : c->matrix_scale, largest);
    if (radius <=
        4 * p->eps * c->matrix_scale) { /* A M is singular on the invariant space: this vector does not help */
        c->flags &= ~(unsigned)KRYLOV_RUNNING;
        krylov_record(c, p, c->estimate);
        return;
    }
    const krylov_scalar phase = size > 0 ? krylov_scaled(h[j], 1 / size) : krylov_real(1);
    c->cosine[j] = size / radius;
    c->sine[j] = krylov_scaled(phase, below / radius);
    h[j] = krylov_scaled(phase, radius);
    c->g[j + 1] = krylov_minus(krylov_times(krylov_conj(c->sine[j]), c->g[j]));
    c->g[j] = krylov_scaled(c->g[j], c->cosine[j]);
    c->size = j + 1;
    c->coefficients[C_NORMALIZE] = krylov_real(1 / below);
    krylov_record(c, p, krylov_size(c->g[j + 1]) / c->start_norm);
    c->best_estimate = c->estimate;
    if (c->estimate <= c->goal || below == 0 || c->size == p->restart || c->steps >= p->max_steps)
        c->flags &= ~(unsigned)KRYLOV_RUNNING;
}

/** R y = g for the first `size` columns. Returns what rounding may add to the residual of V y: each column of R is
 *  known to a few eps of its size. */
KRYLOV_BOTH double krylov_gmres_solve_first(krylov_column *c, const krylov_parameters *p, int size)
{
    krylov_scalar *y = c->coefficients + krylov_pass(p, 2);
    double rounding = 0;
    for (int k = size - 1; k >= 0; k--) {
        double of_column = 0;
        krylov_scalar sum = c->g[k];
        for (int l = k + 1; l < size; l++) sum = krylov_add(sum, krylov_minus(krylov_times(krylov_R(c, l)[k], y[l])));
        y[k] = krylov_over(sum, krylov_R(c, k)[k]);
        for (int l = 0; l <= k; l++) of_column += krylov_size(krylov_R(c, k)[l]);
        rounding += 4 * p->eps * of_column * krylov_size(y[k]);
    }
    return rounding;
}

/** R y = g, with as many columns as promise the smallest residual, rounding included. Where A M is singular on the
 *  Krylov space, the diagonal of R ends with rounding errors, and a y of all columns would be large and meaningless. */
KRYLOV_BOTH void krylov_gmres_solve(krylov_column *c, const krylov_parameters *p)
{
    int best = c->size, solved = best;
    double estimate = krylov_size(c->g[best]), least = estimate + krylov_gmres_solve_first(c, p, best);
    for (int size = best - 1; size >= 0; size--) {
        estimate = hypot(estimate, krylov_size(c->g[size]));
        if (!(estimate < least)) break; /* with fewer columns it is larger still */
        const double promised = estimate + krylov_gmres_solve_first(c, p, size);
        solved = size;
        if (promised < least) {
            least = promised;
            best = size;
        }
    }
    if (solved < best) (void)krylov_gmres_solve_first(c, p, best);
    for (int k = best; k < c->size; k++) c->coefficients[krylov_pass(p, 2) + k] = krylov_real(0);
}

#endif
